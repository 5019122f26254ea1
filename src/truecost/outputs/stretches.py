"""Stretches of time that are wrong, as text: who spoke in the reference, and who in the output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.speech.spans import MICRO, Ints
from truecost.speech.sweeping import Marks, Pairs, Scene

MOST = 10  # stretches that are shown
Names = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Stretches:
    """The worst stretches of each recording.

    Attributes
    ----------
    scene : Scene
        What was swept.
    pairs : sequence of (ndarray, ndarray)
        For each recording the reference and system speakers that are mapped to each other.
    """

    scene: Scene
    pairs: Sequence[Pairs]

    def lines(self, item: int) -> tuple[tuple[str, str], ...]:
        """Labelled lines: the mapping, then the stretches with most error, the worst first.

        A stretch is a time in which the same speakers speak in reference and output; its error is
        T (max(Nref, Nsys) - Ncorrect), paper 004, Eq. 4.

        Parameters
        ----------
        item : int
            The place of the recording.
        """
        references, systems = self._names(item)
        edges, speaks, systems_speak, scored = self.scene.states(item)
        found = _worst(edges, speaks, systems_speak, scored, self.pairs[item])
        width = max((len(_seconds(end)) for _, _, end, _ in found), default=0)
        said = [("mapping", _mapping(references, systems, self.pairs[item]))]
        for kind, begin, end, place in found:
            who = f"reference: {_listed(references[speaks[:, place]])}"
            other = f"output: {_listed(systems[systems_speak[:, place]])}"
            times = f"{_seconds(begin):>{width}} - {_seconds(end):>{width}} s"
            said.append((kind, f"{times}  {who}  {other}"))
        return tuple(said)

    def _names(self, item: int) -> tuple[Names, Names]:
        """The speakers of both sides."""
        reference, output = (
            side.names[side.first[item] : side.first[item + 1]]
            for side in (self.scene.reference, self.scene.output)
        )
        return reference, output


def _worst(
    edges: Ints, reference: Marks, output: Marks, scored: Marks, pairs: Pairs
) -> list[tuple[str, int, int, int]]:
    """Kind, begin, end and place of the stretches with most error, the worst first."""
    if not scored.any():
        return []
    state = np.vstack([reference, output, scored])
    first = np.flatnonzero(np.append(True, (state[:, 1:] != state[:, :-1]).any(axis=0)))
    last = np.append(first[1:], len(scored))
    places, last = first[scored[first]], last[scored[first]]
    begins, ends = edges[places], edges[last]
    heard, said = (side[:, places].sum(axis=0) for side in (reference, output))
    correct = (reference[pairs[0]] & output[pairs[1]])[:, places].sum(axis=0)
    errors = (np.maximum(heard, said) - correct) * (ends - begins)
    order = np.lexsort((begins, -errors))[:MOST]
    wrong = {
        "missed": heard > said,
        "false alarm": said > heard,
        "confusion": np.minimum(heard, said) > correct,
    }
    return [
        (
            ", ".join(kind for kind, marks in wrong.items() if marks[k]),
            int(begins[k]),
            int(ends[k]),
            int(places[k]),
        )
        for k in order[errors[order] > 0]
    ]


def _mapping(references: Names, systems: Names, pairs: Pairs) -> str:
    """Which speaker of the output each reference speaker is, and who is left over."""
    said = [f"{references[r]} = {systems[s]}" for r, s in zip(*pairs, strict=True)]
    for names, taken, side in ((references, pairs[0], "reference"), (systems, pairs[1], "output")):
        alone = np.delete(names, taken)
        if len(alone):
            said.append(f"{side} only: {_listed(alone)}")
    return ", ".join(said) or "no speech"


def _listed(names: Names) -> str:
    """Names, or a dash where there is none."""
    return " ".join(names.tolist()) or "-"


def _seconds(time: int) -> str:
    """Microseconds as seconds."""
    return f"{time / MICRO:.2f}"
