"""Rounds of help with one batch: what the system asks, what a person volunteers, what it is told.

*Active*: the system asks, within a budget. *Interactive*: the person volunteers the correction that
helps most (paper 004, section 2.2). After each round the system adapts; where another one follows,
it says again what it puts out, and the person sees that.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from truecost.corrections import WHOLE
from truecost.errors import InputError, first_five
from truecost.learning.checking import check_answer, check_questions, described
from truecost.learning.checkpoint import Keeper, Waiting
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.telling import (
    Acting,
    answer_of,
    check_parts,
    keep_stop,
    part_with,
    refuse_another,
    said_event,
)
from truecost.learning.options import HelpTable
from truecost.learning.stepping import Arrived, joined
from truecost.learning.system import Answer, Answered, Batch, Expert, Outputs, Question
from truecost.options import check_fields


@dataclass(frozen=True)
class Help:
    """How much a person helps with a batch.

    Parameters
    ----------
    questions : int
        That the system may ask (active).
    corrections : int
        That the person volunteers (interactive).
    document : int, optional
        Questions and corrections together of one document (an item, unless the course says
        otherwise).
    seconds : float, optional
        Busy time after which the person stops.
    rounds : int
        In which they come: after each the system adapts.

    Raises
    ------
    UsageError
        When one is out of its range.
    """

    questions: int = 0
    corrections: int = 0
    document: int | None = None
    seconds: float | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        check_fields(self, HelpTable, "key")

    @property
    def mode(self) -> str:
        """`none`, `active`, `interactive` or `both`."""
        if self.questions and self.corrections:
            return "both"
        return "active" if self.questions else "interactive" if self.corrections else "none"


NO_HELP = Help()


@dataclass(eq=False)
class Session:
    """The help with one batch.

    Attributes
    ----------
    acting : Acting
        The system; its version and set are those of the help.
    """

    course: Course
    acting: Acting
    expert: Expert
    keeper: Keeper
    batch: Batch
    how: Help
    given: list[Answer] = field(default_factory=list)
    stopped: bool = False  # the person has no more time
    _asked: int = 0
    _volunteered: int = 0
    _documents: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        visit = getattr(self.expert, "visit", None)
        if visit is not None:
            visit(self.acting.version, self.acting.where)

    def round(self, number: int, outputs: Outputs) -> tuple[Batch, Answered]:
        """One round.

        Parameters
        ----------
        number : int
            From 0.
        outputs : Outputs
            What the system says of the batch now.

        Returns
        -------
        batch : Batch
            What the system adapts to: the items that it could ask about.
        answered : Answered
            What it gets to know.
        """
        left = self.how.rounds - number
        arrived = self._due() if number == 0 else []
        batch = self._open()
        share = math.ceil((self.how.questions - self._asked) / left)
        if share and len(batch) and not self.stopped:
            arrived += self._ask(batch, outputs, share)
        for _ in range(math.ceil((self.how.corrections - self._volunteered) / left)):
            answer = None if self.stopped else self._volunteer(outputs)
            if answer is None:
                break
            arrived.append((self.batch, self.batch.ids.index(answer.id), answer))
        told = batch if number and len(batch) else self.batch
        self._refuse_verdicts(arrived)
        return told, joined(told, arrived)

    @property
    def over(self) -> bool:
        """Whether no further round can bring anything."""
        spent = self._asked >= self.how.questions and self._volunteered >= self.how.corrections
        return spent or self.stopped or not len(self._open())

    def _open(self) -> Batch:
        """The items that may still be asked about: the batch itself while these are all."""
        rows = self._rows()
        return self.batch if len(rows) == len(self.batch) else self.batch.take(rows)

    def _rows(self) -> list[int]:
        """Items that were not told as a whole, of documents whose budget is not spent."""
        whole = {answer.id for answer in self.given if answer.part == WHOLE}
        return [
            row
            for row, name in enumerate(self.batch.ids)
            if name not in whole and not self._spent(name)
        ]

    def _spent(self, item: str) -> bool:
        """Whether the person is done with the document of an item."""
        limit = self.how.document
        return limit is not None and self._documents[self.course.document(item)] >= limit

    # questions of the system

    def _ask(self, batch: Batch, outputs: Outputs, share: int) -> list[Arrived]:
        """What the system asks, and what it is told at once."""
        allowed = share if self.course.kind == "diarization" else min(share, len(batch))
        said = self.acting.call(batch, part_with(self.acting.learner, "ask"), batch, allowed)
        asked = check_questions(said, allowed, batch, self.acting.who)
        check_parts(self.course.kind, [*self.given, *asked], len(self.given), self._where(batch))
        asked = self._within_documents(asked)
        known = len(self.acting.log.recorded) - self.acting.log.position
        self.acting.log.emit_many(
            self.acting.event("query", batch, id=one.id, part=one.part or None) for one in asked
        )
        arrived: list[Arrived] = []
        for place, question in enumerate(asked):
            row = self.batch.ids.index(question.id)
            answer = self._answer(question, outputs.decisions[row], place < known)
            if answer is None:
                self.stopped = True
                break
            self._asked += 1
            self.given.append(answer)
            if answer.delay:
                due = self.batch.index + answer.delay
                late = Waiting(self.batch.index, due, answer)
                self.acting.state.waiting.append(late)
            else:
                self.acting.log.emit(said_event(self.acting, answer, self.batch))
                arrived.append((self.batch, row, answer))
            if self._tired():
                break
        return arrived

    def _within_documents(self, asked: Sequence[Question]) -> tuple[Question, ...]:
        """The questions that the budgets of documents leave, in their order."""
        kept = []
        for question in asked:
            if not self._spent(question.id):
                self._documents[self.course.document(question.id)] += 1
                kept.append(question)
        return tuple(kept)

    def _answer(self, question: Question, output: str, recorded: bool) -> Answer | None:
        """The recorded answer, or that of the person; None when the person stops."""
        acting = self.acting
        event = acting.log.recorded_answer(
            question.id,
            question.part,
            stream=self.course.name,
            run=acting.run,
            version=acting.version,
            where=acting.where,
        )
        if event is None and recorded:
            event = self.keeper.late(question.id, question.part, acting.version, acting.where)
        if event is not None and event.event == "query":
            return None  # the person had stopped here
        simulated = getattr(self.expert, "simulated", False)
        fresh = None
        if event is None or simulated:
            fresh = self._said(question, output)
        if event is not None:
            late = 0 if event.batch is None else max(0, event.batch - self.batch.index)
            answer = answer_of(event, late)
            refuse_another(acting, self.expert, answer, fresh)
            return check_answer(answer, question, self.course.stream, self.batch)
        if fresh is None:
            keep_stop(acting, self.keeper, question, self.batch)
            return None
        if fresh.delay:
            due = self.batch.index + fresh.delay
            event = said_event(acting, fresh, self.batch)
            self.keeper.put_late(msgspec.structs.replace(event, batch=due))
        return fresh

    def _said(self, question: Question, output: str) -> Answer | None:
        """What the person says, checked; at once but for the lifelong set."""
        correct = getattr(self.expert, "correct", None)
        said = (
            self.expert.answer(question, self.batch)
            if correct is None
            else correct(question, self.batch, output)
        )
        if said is None:
            return None
        answer = check_answer(said, question, self.course.stream, self.batch)
        return answer if self.acting.where is None else replace(answer, delay=0)

    def _due(self) -> list[Arrived]:
        """Late answers that arrive in this batch of the lifelong set."""
        if self.acting.where is not None:
            return []
        state, batches = self.acting.state, self.course.lifelong
        arrived = []
        for late in state.waiting:
            if late.due <= self.batch.index:
                event = said_event(self.acting, late.answer, self.batch, version=late.asked)
                self.acting.log.emit(event)
                source = batches[late.asked]
                arrived.append((source, source.ids.index(late.answer.id), late.answer))
        state.waiting = [late for late in state.waiting if late.due > self.batch.index]
        return arrived

    # what the person volunteers

    def _volunteer(self, outputs: Outputs) -> Answer | None:
        """The next correction; None when there is none."""
        rows = self._rows()
        if not rows:
            return None
        log = self.acting.log
        simulated = getattr(self.expert, "simulated", False)
        fresh = None
        if simulated or not log.replaying:
            open_ = self.batch if len(rows) == len(self.batch) else self.batch.take(rows)
            fresh = self._offered(open_, _take(outputs, rows))
        answer = fresh
        if log.replaying:
            event = log.next_recorded
            answer = answer_of(event, 0) if event and event.event == "answer" else None
            if simulated:
                refuse_another(self.acting, self.expert, answer, fresh)
        if answer is None:
            return None
        question = Question(answer.id, answer.part)
        check_answer(answer, question, self.course.stream, self.batch)
        log.emit(said_event(self.acting, answer, self.batch))
        self._volunteered += 1
        self._documents[self.course.document(answer.id)] += 1
        self.given.append(answer)
        self._tired()
        return answer

    def _offered(self, batch: Batch, outputs: Outputs) -> Answer | None:
        """What the person offers, checked."""
        said = self.expert.volunteer(batch, outputs, tuple(self.given))  # type: ignore[attr-defined]
        if said is None:
            return None
        where = f"expert {getattr(said, 'expert', self.expert)!s:.80}, {described(self.batch)}"
        if not isinstance(said, Answer):
            raise InputError(f"{where}: it volunteered {said!r:.200}, expected an Answer or None")
        if said.id not in batch.ids:
            raise InputError(
                f"{where}: it volunteered a correction of {said.id!r}, expected one of the items "
                f"that are open ({first_five(batch.ids)})"
            )
        told = [*self.given, Question(said.id, said.part)]
        check_parts(self.course.kind, told, len(self.given), where)
        return replace(said, delay=0)

    # both

    def _tired(self) -> bool:
        """Whether the person has no more time for this batch."""
        if self.how.seconds is not None:
            self.stopped = sum(answer.seconds for answer in self.given) >= self.how.seconds
        return self.stopped

    def _refuse_verdicts(self, arrived: Sequence[Arrived]) -> None:
        """A system that needs labels cannot be told only right or wrong."""
        said = [answer for _, _, answer in arrived if answer.verdict]
        if said and not part_with(self.acting.learner, "verdicts", False):
            raise InputError(
                f"{self.acting.who}, {described(self.batch)}, item {said[0].id!r}: the person said "
                f"only {said[0].verdict!r}, and this system needs to know what is right: let the "
                "expert give corrections, or a system that can learn from verdicts say verdicts = "
                "True"
            )

    def _where(self, batch: Batch) -> str:
        return f"{self.acting.who}, {described(batch)}"


def _take(outputs: Outputs, rows: Sequence[int]) -> Outputs:
    """What was said of some items: decisions and scores."""
    if len(rows) == len(outputs.decisions):
        return outputs
    places = [*rows]
    return Outputs(tuple(outputs.decisions[row] for row in places), outputs.scores[places])
