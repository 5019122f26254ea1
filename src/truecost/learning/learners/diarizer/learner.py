"""The diarizer: an output that is corrected, and what was learnt from its corrections."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated

import msgspec
import numpy as np

from truecost.corrections import corrector
from truecost.corrections.kinds import joined, put_in_place
from truecost.corrections.speech_text import region_of, text_of, turns_of
from truecost.errors import InputError, UsageError
from truecost.learning.learners.diarizer.grid import (
    NEVER,
    Evidence,
    Grid,
    evidence_of,
    threshold,
    without_heaps,
)
from truecost.learning.learners.options import settings_of
from truecost.learning.system import Answered, Array, Batch, Outputs, Question, Task

Told = dict[str, str]  # of a recording: who speaks in each region that was told


class DiarizerSettings(msgspec.Struct, frozen=True):
    """Options of `diarizer`.

    Attributes
    ----------
    output : int
        Which of the outputs in the features it starts from, from 0.
    heaps : bool
        Learn which speakers are nobody; otherwise it keeps what was told and no more.
    """

    output: Annotated[int, msgspec.Meta(ge=0)] = 0
    heaps: bool = True


class Diarizer:
    """An output that is corrected, and what was learnt from it."""

    name = "diarizer"

    def __init__(self, settings: DiarizerSettings) -> None:
        self._settings = settings
        self._told: dict[str, Told] = {}
        self._evidence: dict[str, list[Evidence]] = {}

    def predict(self, batch: Batch) -> Outputs:
        """Who speaks when; the score is the share of speech in which one person speaks."""
        said = tuple(text for text, _ in self._outputs(batch))
        return Outputs(said, np.array([_alone(text) for text in said], np.float64))

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """The regions with most difference to the next output that the features have."""
        found = []
        for row, (said, others) in enumerate(self._outputs(batch)):
            told = [region_of(part) for part in self._told.get(batch.ids[row], {})]
            for other in others[:1]:
                for part in corrector("diarization").parts(said, other):
                    start, end = region_of(part.name)
                    if not any(start < last and first < end for first, last in told):
                        found.append((-part.errors, row, start, part.name))
        return [Question(batch.ids[row], part) for _, row, _, part in sorted(found)[:budget]]

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Remember what was told, and what it says about the speakers of the output."""
        del batch  # recordings of which nothing was told teach it nothing
        rows = _rows(answered.items, self._settings.output)
        for output, answer in zip(rows, answered.answers, strict=True):
            if answer.label is None:
                continue
            told = self._told.setdefault(answer.id, {})
            told[answer.part or _everything(output[0], answer.label)] = answer.label
            found = evidence_of(output[0], told)
            self._evidence[answer.id] = [found[name] for name in sorted(found)]

    def snapshot(self) -> bytes:
        """What was told, and what it says about the speakers."""
        return msgspec.msgpack.encode((self._told, self._evidence))

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot."""
        kind = tuple[dict[str, Told], dict[str, list[Evidence]]]
        try:
            self._told, self._evidence = msgspec.msgpack.decode(state, type=kind)
        except msgspec.MsgspecError as error:
            raise InputError(
                f"learner diarizer: this snapshot cannot be used ({error}); delete the "
                "checkpoint, and the run resumes from its log"
            ) from error

    def _outputs(self, batch: Batch) -> Iterator[tuple[str, tuple[str, ...]]]:
        """For each recording what it says, and what other systems say."""
        heap = NEVER
        if self._settings.heaps:
            heap = threshold([one for known in self._evidence.values() for one in known])
        for item, (output, *others) in zip(
            batch.ids, _rows(batch, self._settings.output), strict=True
        ):
            told = tuple(self._told.get(item, {}).items())
            yield _corrected(output, heap, told), tuple(others)


def _rows(batch: Batch, first: int) -> list[tuple[str, ...]]:
    """The outputs of each recording, the chosen one first."""
    features: Array = batch.features if batch.features.ndim > 1 else batch.features[:, None]
    width = features.shape[1]
    if first >= width:
        raise InputError(
            f"learner diarizer: batch {batch.index} has {width} outputs a recording: output = "
            f"{first} is not there; they are numbered from 0"
        )
    order = [first, *(place for place in range(width) if place != first)]
    return [tuple(str(row[place]) for place in order) for row in features]


def _everything(output: str, told: str) -> str:
    """The region of a whole recording."""
    last = max((turn.end for text in (output, told) for turn in turns_of(text)), default=1)
    return f"0-{last / 1_000_000:.6f}"


def _alone(text: str) -> float:
    """Share of the time with speech in which one person speaks; 1 for silence."""
    grid = Grid.of(turns_of(text))
    speakers = grid.speaks.sum(axis=0)
    time = int(grid.lengths[speakers > 0].sum())
    return float(grid.lengths[speakers == 1].sum() / time) if time else 1.0


@lru_cache(maxsize=256)
def _corrected(output: str, heap: float, told: tuple[tuple[str, str], ...]) -> str:
    """An output with what was learnt and told."""
    known = evidence_of(output, dict(told))
    overlaps = Grid.of(turns_of(output)).overlaps()
    heaps = [name for name, share in overlaps.items() if share >= heap]
    heaps = heaps if len(heaps) < len(overlaps) else []  # somebody must be left
    names: Mapping[str, str] = {name: one.name for name, one in known.items()}
    turns = joined(without_heaps(output, heaps, names))
    for part, text in told:
        turns = put_in_place(turns, turns_of(text), *region_of(part))
    return text_of(turns)


def diarizer(task: Task) -> Diarizer:
    """A diarizer that was told nothing yet.

    Parameters
    ----------
    task : Task
        Of the kind `diarization`; options as `DiarizerSettings`.

    Raises
    ------
    UsageError
        When the task is another, or an option is wrong.
    """
    if task.kind != "diarization":
        raise UsageError(f"learner diarizer: it says who speaks, but the task is {task.kind}")
    return Diarizer(settings_of(DiarizerSettings, "diarizer", task))
