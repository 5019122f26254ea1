"""Simulated persons: mistakes as like a right answer as can be, and what was said once, said
again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.learning.recorded import LIFELONG_SETS
from truecost.learning.system import Answer, Batch, Outputs, Question, generator

if TYPE_CHECKING:
    from truecost.formats.events import EventLog


def mistaken(
    kind: str,
    said: str,
    draw: float,
    classes: tuple[str, ...],
    references: Mapping[str, str],
    output: str = "",
) -> str:
    """A wrong answer in place of a right one.

    Parameters
    ----------
    kind : str
        Of the outputs.
    said : str
        What is right.
    draw : float
        In [0, 1): decides which mistake it is.
    classes : tuple of str
        Of the kind `classes`: another one is said, each as likely.
    references : mapping of str to str
        Of texts: one word becomes another word of them; of diarizations: one turn gets another
        speaker of all of them.
    output : str
        Of diarizations: what the system said, whose speakers are taken instead.

    Returns
    -------
    str
        Different from `said`, unless there is no other class, word or speaker: then a text loses a
        word, and a diarization a turn. An empty diarization stays empty.
    """
    if kind == "classes":
        others = [name for name in classes if name != said]
        return others[int(draw * len(others))] if others else said
    if kind == "diarization":
        known = _Known({"": output} if output else references)
        return _other_turn(said, draw, _speakers(known))
    return _other_word(said, draw, _words(_Known(references)))


class _Known:
    """References that are kept apart by who they are: a mapping has no hash."""

    def __init__(self, references: Mapping[str, str]) -> None:
        self.references = references

    def __hash__(self) -> int:
        return id(self.references)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.references is other.references


@lru_cache(maxsize=4)
def _words(known: _Known) -> tuple[str, ...]:
    """All words of texts, sorted."""
    return tuple(sorted({word for text in known.references.values() for word in text.split()}))


@lru_cache(maxsize=4)
def _speakers(known: _Known) -> tuple[str, ...]:
    """All speakers of diarizations, sorted."""
    from truecost.corrections.speech_text import turns_of

    said = known.references.values()
    return tuple(sorted({turn.speaker for text in said for turn in turns_of(text)}))


def _other_word(said: str, draw: float, words: tuple[str, ...]) -> str:
    """A text with one word that is another."""
    own = said.split()
    if not own:
        return words[int(draw * len(words))] if words else said
    draws = generator(0, "mistake", repr(draw))
    place = int(draws.integers(len(own)))
    others = [word for word in words if word != own[place]]
    own[place : place + 1] = [others[int(draws.integers(len(others)))]] if others else []
    return " ".join(own)


def _other_turn(said: str, draw: float, speakers: tuple[str, ...]) -> str:
    """A diarization with one turn that is another's."""
    from truecost.corrections.speech_text import text_of, turns_of

    own = [*turns_of(said)]
    if not own:
        return said
    draws = generator(0, "mistake", repr(draw))
    place = int(draws.integers(len(own)))
    turn = own[place]
    others = [name for name in speakers if name != turn.speaker]
    own[place : place + 1] = (
        [turn._replace(speaker=others[int(draws.integers(len(others)))])] if others else []
    )
    return text_of(own)


NEVER = 1 << 31  # batches after which an answer arrives that does not


Key = tuple[Any, ...]


@dataclass(eq=False)
class RecordedPerson:
    """Says what the log of a life cycle says: every answer that was given before.

    Parameters
    ----------
    run : str, optional
        Which run of the log, where it holds several.

    Raises
    ------
    UsageError
        When the log holds several runs and none is named, or the one named is not there.
    """

    log: "EventLog"
    run: str | None = None

    def __post_init__(self) -> None:
        self._answers: dict[Key, Answer] = {}
        self._waiting: dict[Key, list[Key]] = {}  # questions of a visit, in order
        self._learnt: set[Key] = set()  # visits after whose help the system adapted
        self._open: set[Key] = set()  # questions after which the help went on
        self._volunteered: dict[Key, list[Answer]] = {}
        self._where: tuple[int | None, str | None] = (None, None)
        for row in _rows(self.log, self.run):
            self._read(row)

    def visit(self, version: int, where: str | None) -> None:
        """Which version is helped, and on which set."""
        self._where = (version, where)

    def answer(self, question: Question, batch: Batch) -> Answer | None:
        """The recorded answer; as `correct`."""
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer | None:
        """The recorded answer; None where the person had stopped.

        A question that has no answer although the help went on stays open: its answer was late, and
        never arrived.

        Raises
        ------
        InputError
            When the log does not have the question.
        """
        del output
        visit = _visit(*self._where, batch.index)
        key = (*visit, batch.stream, question.id, question.part)
        if key in self._answers:
            return self._answers[key]
        if key in self._open:
            return Answer(question.id, None, delay=NEVER, part=question.part)
        if key in self._waiting.get(visit, ()):
            return None
        part = f" (part {question.part!r})" if question.part else ""
        version, where = self._where
        raise InputError(
            f"{self.log.source}: no answer is recorded for item {question.id!r}{part} to version "
            f"{version} on the {where or 'lifelong'} set: it has "
            f"{counted(len(self._answers), 'answer')} to questions; replay it with the system that "
            "asked, or let an expert answer who knows the references"
        )

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """What was volunteered next about this batch; None when that was all."""
        del outputs
        before = {(answer.id, answer.part) for answer in given}
        said = self._volunteered.get((*_visit(*self._where, batch.index), batch.stream), [])
        return next((one for one in said if (one.id, one.part) not in before), None)

    def _read(self, row: Mapping[str, Any]) -> None:
        """One question or answer of the log, or that the system learnt from some."""
        where = row["set"] if row["set"] in LIFELONG_SETS else None
        if row["event"] == "adapt":  # on the lifelong set it names the version that comes out
            self._learnt.add(_visit(row["version"] - (where is None), where, row["batch"]))
            return
        visit = _visit(row["version"], where, row["batch"])
        key = (*visit, row["stream"] or "", row["id"], row["part"] or "")
        asked = self._waiting.setdefault(visit, [])
        if row["event"] == "query":
            if visit in self._learnt:  # another round
                self._open.update(asked)
            asked.append(key)
        elif key in asked:
            self._open.update(asked[: asked.index(key)])
            late = 0 if where else max(0, row["batch"] - row["version"])
            self._answers[key] = _answer(row, late)
        else:
            self._open.update(asked)
            about = (*visit, row["stream"] or "")
            self._volunteered.setdefault(about, []).append(_answer(row, 0))


def _visit(version: int | None, where: str | None, batch: int) -> Key:
    """What tells the visits of a person apart: late answers stand in later batches."""
    return version, where, batch if where == "test" else None


def _answer(row: Mapping[str, Any], late: int) -> Answer:
    """A row of a log as an answer."""
    return Answer(
        id=row["id"],
        label=row["label"],
        seconds=row["active_seconds"] or 0.0,
        expert=row["expert"] or "recorded",
        delay=late,
        part=row["part"] or "",
        words=row["words"],
        actions=row["actions"],
        verdict=row["verdict"] or "",
    )


def _rows(log: "EventLog", run: str | None) -> Iterator[Mapping[str, Any]]:
    """Questions, answers and adaptations of one run, in order; none from before the life cycle."""
    import polars as pl

    names = log.frame["run"].cast(pl.String).fill_null("")
    known = sorted(names.unique())
    if run is None and len(known) > 1:
        raise UsageError(
            f"{log.source} holds {len(known)} runs ({first_five(known)}): say which to replay"
        )
    if run is not None and run not in known:
        raise UsageError(f"{log.source} has no run {run!r}; there are {first_five(known)}")
    frame = log.frame if run is None else log.frame.filter(names == run)
    kinds = frame["event"].cast(pl.String).is_in(["query", "answer", "adapt"])
    rows = frame.filter(kinds & frame["batch"].is_not_null())
    if rows["version"].null_count():
        raise InputError(
            f"{log.source}: questions and answers have no version: this is the log of a stream; "
            "only the log of a lifelong run can be replayed here"
        )
    yield from rows.iter_rows(named=True)
