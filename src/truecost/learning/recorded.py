"""The expert who repeats what the log of a stream or life cycle holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.learning.log import LIFELONG_SETS
from truecost.learning.system import Answer, Batch, Outputs, Question

if TYPE_CHECKING:
    import polars as pl

    from truecost.formats.events import EventLog


NEVER = 1 << 31  # batches after which an answer arrives that does not


Key = tuple[Any, ...]


@dataclass(eq=False)
class RecordedExpert:
    """Expert who repeats the recorded answers of an event log of a stream or a lifelong run.

    The delay of an answer is the number of batches from its question to its arrival in the log.

    Attributes
    ----------
    log : EventLog
        Log with the recorded answers.
    run : str, optional
        Name of the run to repeat; required if the log contains several runs.

    Raises
    ------
    UsageError
        If `run` is needed, or the log does not contain it.
    InputError
        If an item of a stream has two answers.
    """

    log: "EventLog"
    run: str | None = None

    def __post_init__(self) -> None:
        self._answers: dict[Key, Answer] = {}
        self._asked: dict[Key, dict[Key, int]] = {}  # of a visit, in order: their batches
        self._learnt: set[Key] = set()  # visits after whose help the system adapted
        self._open: set[Key] = set()  # questions after which the help went on
        self._volunteered: dict[Key, list[Answer]] = {}
        self._silent: dict[Key, int] = {}  # what was volunteered -> rounds without help before it
        self._rounds: dict[Key, list[int]] = {}  # of a visit: help since it adapted, silent rounds
        self._where: tuple[int | None, str | None] = (None, None)
        rows = recorded_rows(self.log, self.run)
        self._lives = rows["version"].null_count() < len(rows)  # through a life cycle
        for row in rows.iter_rows(named=True):
            if row["batch"] is not None or not self._lives:  # none from before the life cycle
                self._read(row)

    def visit(self, version: int, where: str | None) -> None:
        """Set the model version and the data set that the next answers belong to (lifelong
        learning).

        Parameters
        ----------
        version : int
            Version of the model that receives help.
        where : str or None
            Subject of the answers: `test`: the test set; `offline`: earlier data (offline
            help); None: the data that the version learns from.

        Raises
        ------
        InputError
            If the log is that of a stream, whose answers have no version.
        """
        if not self._lives:
            raise InputError(
                f"{self.log.source}: questions and answers have no version: this is the log of a "
                "stream; only the log of a lifelong run can be replayed here"
            )
        self._where = (version, where)

    def answer(self, question: Question, batch: Batch) -> Answer | None:
        """Recorded answer to a question; None if the person had stopped answering."""
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer | None:
        """Same as `answer`, for runs that also pass the output of the system (lifelong learning).

        If the log contains later help but no answer to the question, the answer was late and never
        arrived. The result is then an answer whose delay is longer than any run.

        Parameters
        ----------
        question : Question
            Question to answer.
        batch : Batch
            Batch of the question.
        output : str or None
            Output of the system; not used.

        Raises
        ------
        InputError
            If the log does not contain the question.
        """
        del output
        visit = self._visit(batch)
        key = (*visit, question.id, question.part)
        if key in self._answers:
            return self._answers[key]
        if key in self._open:
            return Answer(question.id, None, delay=NEVER, part=question.part)
        if self._lives and key in self._asked.get(visit, ()):
            return None
        part = f" (part {question.part!r})" if question.part else ""
        (version, where), stream = self._where, f" of stream {batch.stream!r}"
        at = "" if version is None else f" to version {version} on the {where or 'lifelong'} set"
        raise InputError(
            f"{self.log.source}: no answer is recorded for item {question.id!r}{part}"
            f"{stream if batch.stream else ''}{at}: it has "
            f"{counted(len(self._answers), 'answer')} to questions; replay it with the system and "
            "the strategy that asked, or let an expert with the reference answer"
        )

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """Next correction that the person volunteered for this batch; None if the log
        contains no further correction at this point.

        Parameters
        ----------
        batch : Batch
            Batch that the person sees.
        outputs : Outputs
            Outputs of the system; not used.
        given : sequence of Answer
            Corrections of this batch so far.
        """
        del outputs
        before = {(answer.id, answer.part) for answer in given}
        visit = self._visit(batch)
        for one in self._volunteered.get(visit, []):
            key = (*visit, one.id, one.part)
            if (one.id, one.part) not in before:
                self._silent[key] -= 1
                return None if self._silent[key] >= 0 else one
        return None

    def _visit(self, batch: Batch) -> Key:
        return _visit(*self._where, batch.index, batch.stream)

    def _read(self, row: Mapping[str, Any]) -> None:
        """One question or answer of the log, or that the system learnt from some."""
        where = row["set"] if row["set"] in LIFELONG_SETS else None
        event, version, batch, stream = (row[k] for k in ("event", "version", "batch", "stream"))
        if event == "adapt" and self._lives:
            # on the lifelong set it names the version that comes out
            visit = _visit(version - (where is None), where, batch, stream or "")
            self._learnt.add(visit)
            helped, silent = self._rounds.get(visit, (0, 0))
            self._rounds[visit] = [0, silent + (not helped)]
            return
        visit = _visit(version, where, batch, stream or "")
        _, silent = self._rounds.get(visit, (0, 0))
        self._rounds[visit] = [1, 0]
        key, asked = (*visit, row["id"] or "", row["part"] or ""), self._asked.setdefault(visit, {})
        if event == "adapt":  # in a stream no more answers to this batch come at once
            self._open.update(asked)
        elif event == "query":
            if visit in self._learnt:  # another round
                self._open.update(asked)
            asked[key] = batch
        elif key in asked or not self._lives:
            if (row["count"] or 1) > 1:  # one for many items names none of them
                return
            if key in self._answers and not self._lives:
                raise InputError(
                    f"{self.log.source}: item {row['id']!r} has two answers, so the replay is "
                    f"ambiguous: keep one"
                )
            self._open.update(takewhile(lambda other: other != key, asked))
            late = where is None and key in asked and batch is not None
            self._answers[key] = recorded_answer(row, max(0, batch - asked[key]) if late else 0)
        else:
            self._open.update(asked)
            self._volunteered.setdefault(visit, []).append(recorded_answer(row, 0))
            self._silent[key] = silent


def _visit(version: int | None, where: str | None, batch: int | None, stream: str) -> Key:
    """The key of a visit of a person; late answers are in later batches."""
    return version, where, batch if where == "test" else None, stream


def recorded_rows(log: "EventLog", run: str | None) -> "pl.DataFrame":
    """Questions, answers and what was learnt in one run, in order."""
    import polars as pl

    names = log.frame["run"].cast(pl.String).fill_null("")
    known = sorted(names.unique())
    if run is None and len(known) > 1:
        raise UsageError(
            f"{log.source} has {len(known)} runs ({first_five(known)}): choose one to replay"
        )
    if run is not None and run not in known:
        raise UsageError(f"{log.source} has no run {run!r}; there are {first_five(known)}")
    frame = log.frame if run is None else log.frame.filter(names == run)
    return frame.filter(frame["event"].cast(pl.String).is_in(["query", "answer", "adapt"]))


def recorded_answer(row: Mapping[str, Any], late: int, unnamed: str = "recorded") -> Answer:
    """One row of a log as an answer; `unnamed` is the person if the log has no name."""
    return Answer(
        id=row["id"] or "",
        label=row["label"],
        seconds=row["active_seconds"] or 0.0,
        expert=row["expert"] or unnamed,
        delay=late,
        part=row["part"] or "",
        words=row["words"],
        actions=row["actions"],
        verdict=row["verdict"] or "",
        timing=row["timing"] or "",
        asked=row["asked"] or "",
        wall=row["wall_seconds"],
        heard=row["heard_seconds"],
        waited=row["waited_seconds"],
        guess=row["guess"] or "",
    )
