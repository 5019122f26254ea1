"""Aligning texts and showing what is wrong: alignments, and stretches of time, as text.

Edit distances come from rapidfuzz. The number of errors of a minimal alignment is unique; how it
splits into substitutions, deletions and insertions is not: of several minimal alignments that of
rapidfuzz is taken, as jiwer does.

Every unit has a column of its own, wide enough for both sides; `***` stands where a side has none.
Words are never changed. Long utterances go on below, in groups of the same lines; of very long ones
only the first groups that hold an error are shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.digits import width
from truecost.errors import counted
from truecost.extras import need
from truecost.speech.spans import MICRO, Ints, Marks, Pairs, Scene

Counts = npt.NDArray[np.int64]


Step = tuple[str, str | None, str | None]


Cut = Callable[[str], Sequence[str]]


KINDS = ("replace", "delete", "insert")  # rapidfuzz's names


def count_words(reference: pl.Series, hypothesis: pl.Series) -> dict[str, Counts]:
    """Statistics of the words of each pair of texts.

    Parameters
    ----------
    reference, hypothesis : polars.Series of str, length N
        Words apart by single blanks, as `normalise` leaves them.

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        `reference`, `hypothesis` (words on each side), `hits`, `substitutions`, `deletions`,
        `insertions` and `longest` (the longer side).

    Raises
    ------
    MissingExtraError
        When rapidfuzz is not installed.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.outputs.aligning import count_words
    >>> counts = count_words(pl.Series(["a b c"]), pl.Series(["a x c d"]))
    >>> {name: int(of[0]) for name, of in counts.items() if name not in ("hypothesis", "longest")}
    {'reference': 3, 'hits': 2, 'substitutions': 1, 'deletions': 0, 'insertions': 1}
    """
    return _aligned(reference, hypothesis, words_of)


def words_of(text: str) -> list[str]:
    """The words of a text in which they stand apart by single blanks."""
    return text.split(" ") if text else []


def count_characters(reference: pl.Series, hypothesis: pl.Series) -> dict[str, Counts]:
    """Statistics of the characters (code points) of each pair of texts, blanks among them.

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        As `count_words`.
    """
    return _aligned(reference, hypothesis, str)


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[Step]:
    """The alignment that is counted, unit by unit.

    Parameters
    ----------
    reference, hypothesis : sequence of str
        Units, such as words.

    Returns
    -------
    list of (str, str or None, str or None)
        `equal`, `replace`, `delete` or `insert`; the unit of the reference, that of the hypothesis.

    Examples
    --------
    >>> from truecost.outputs.aligning import align
    >>> align(["a", "b"], ["a", "c", "b"])
    [('equal', 'a', 'a'), ('insert', None, 'c'), ('equal', 'b', 'b')]
    """
    steps: list[Step] = []
    levenshtein = need("rapidfuzz.distance", "speech").Levenshtein
    for kind, a, b, c, d in levenshtein.opcodes(reference, hypothesis).as_list():
        here: list[str | None] = [*reference[a:b]] or [None] * (d - c)
        there: list[str | None] = [*hypothesis[c:d]] or [None] * (b - a)
        steps += [(kind, r, h) for r, h in zip(here, there, strict=True)]
    return steps


def _aligned(reference: pl.Series, hypothesis: pl.Series, cut: Cut) -> dict[str, Counts]:
    """Statistics of pairs of texts, each cut into units."""
    editops = need("rapidfuzz.distance", "speech").Levenshtein.editops
    here, there, errors = (np.zeros((len(reference), n), np.int64) for n in (1, 1, len(KINDS)))
    for k, (right, found) in enumerate(zip(reference, hypothesis, strict=True)):
        units, others = cut(right), cut(found)
        here[k], there[k] = len(units), len(others)
        if right != found:
            kinds = [step.tag for step in editops(units, others)]
            errors[k] = [kinds.count(kind) for kind in KINDS]
    substitutions, deletions, insertions = errors.T
    return {
        "reference": here[:, 0],
        "hypothesis": there[:, 0],
        "hits": here[:, 0] - substitutions - deletions,
        "substitutions": substitutions,
        "deletions": deletions,
        "insertions": insertions,
        "longest": np.maximum(here, there)[:, 0],
    }


WIDTH = 96  # of a line, without its label


GAP = "***"


MOST = 20  # groups of lines


MARKS = {"equal": "", "replace": "S", "delete": "D", "insert": "I"}


def alignment_lines(reference: str, hypothesis: str) -> tuple[tuple[str, str], ...]:
    """Labelled lines of an alignment.

    Parameters
    ----------
    reference, hypothesis : str
        Words apart by single blanks.

    Returns
    -------
    tuple of (str, str)
        `REF`, `HYP` and an empty label for the line of marks: S, D and I below substitutions,
        deletions and insertions. Of an utterance of more than 20 groups of lines those with errors,
        20 at most, and how many were left out.

    Examples
    --------
    >>> from truecost.outputs.aligning import alignment_lines
    >>> for label, line in alignment_lines("it is a long way", "it was long way home"):
    ...     print(f"{label:4}{line}")
    REF it is  a   long way ***
    HYP it was *** long way home
           S   D            I
    """
    lines: list[tuple[str, str]] = []
    groups = list(_groups(align(words_of(reference), words_of(hypothesis))))
    shown = groups if len(groups) <= MOST else [*filter(_has_errors, groups)][:MOST]
    for group in shown:
        columns = [(r or GAP, h or GAP, MARKS[kind]) for kind, r, h in group]
        for label, row in zip(("REF", "HYP", ""), zip(*columns, strict=True), strict=True):
            lines.append((label, _padded(row, [_wide(column) for column in columns])))
    if len(shown) < len(groups):
        left = counted(len(groups) - len(shown), "further line", "are")
        lines.append(("", f"({left} not shown)"))
    return tuple(lines)


def _has_errors(group: Sequence[Step]) -> bool:
    return any(MARKS[kind] for kind, *_ in group)


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that fit on a line together; at least one."""
    group: list[Step] = []
    used = 0
    for step in steps:
        wide = _wide((step[1] or GAP, step[2] or GAP)) + 1
        if group and used + wide > WIDTH:
            yield group
            group, used = [], 0
        group.append(step)
        used += wide
    if group:
        yield group


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True))
    return " ".join(cells).rstrip()


def _wide(cells: Sequence[str]) -> int:
    return max(map(width, cells))


MOST_STRETCHES = 10  # stretches that are shown


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
    order = np.lexsort((begins, -errors))[:MOST_STRETCHES]
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
