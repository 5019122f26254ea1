"""Rounds of help with one batch: what the system asks, what a person volunteers, the answers; help
outside both sets (`adapt_offline`).

The offline set holds the initialisation data and the lifelong set up to now, never the test set.
Nothing is put out meanwhile, so that the help is counted in its own units and penalises no score
(Prokopalo et al. 2020, section 3.2).

*Active*: the system asks, within a budget. *Interactive*: the person volunteers the correction that
helps most (Prokopalo et al. 2020, section 2.2). After each round the system adapts; where another
one follows, it says again what it puts out, and the person sees that.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from truecost.corrections import WHOLE
from truecost.corrections.texts import region_of
from truecost.errors import InputError, first_five
from truecost.learning.checking import (
    TEXTS,
    check_answer,
    check_asked,
    check_questions,
    error_context,
)
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.person import overlap
from truecost.learning.options import HelpTable
from truecost.learning.stepping import Arrived, Learning, answer_of, with_items
from truecost.learning.strategies.settings import part_of
from truecost.learning.system import Answer, Answered, Batch, Outputs, Question, described
from truecost.options import check_fields


@dataclass(eq=False)
class Acting(Learning):
    """Calls of a system through its life: version i has adapted to the data of l_i, 0 to none."""

    version: int = 0
    _time: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.system: Any = self.learner  # it has what it is asked for: that was checked
        self._plain = self.who

    @property
    def now(self) -> float | None:
        """The label of the batch."""
        return self._time

    def at(self, version: int, time: float | None, where: str | None) -> None:
        """Go to a set at a time, with a version."""
        self.version, self.where, self._time = version, where, time
        place = {None: "on the lifelong set", "test": "on the test set", "offline": "offline"}
        self.who = f"{self._plain} (version {version}, {place[where]})"

    def visit(self, how: "Help | None" = None) -> None:
        """Tell the person, who may want to know, which version is helped now, where, and `how`."""
        if hasattr(self.expert, "visit"):
            self.expert.visit(self.version, self.where)
        self.note_help(how or NO_HELP, ())

    def note_help(self, how: "Help", given: Sequence[Answer]) -> None:
        """Tell the person, who may want to know, how much help there may be, and what was given."""
        if hasattr(self.expert, "note_help"):
            self.expert.note_help(how, given)

    def refuse_change(self, batch: Batch, before: Outputs, why: str) -> None:
        """Refuse a system that no longer says of a batch what it said; `why` is what follows."""
        now = self.say(batch)
        self.cpu()
        for row, item in enumerate(batch.ids):
            said = [(one.decisions[row], one.scores[row]) for one in (before, now)]
            if said[0] != said[1]:
                (old, score), (new, other) = said
                raise InputError(
                    f"{self.who}, {described(batch)}, item {item!r}: its output was {old!r:.80} "
                    f"(score {score:g}), and is {new!r:.80} (score {other:g}) when it predicts "
                    f"again: {why}"
                )


def check_parts(kind: str, told: Sequence[Any], before: int, where: str) -> None:
    """Refuse parts that do not exist, and repeated corrections.

    `told` holds the earlier answers, so many, then what is asked or volunteered now.
    """
    for place in range(before, len(told)):
        item, part = told[place].id, told[place].part
        if part and kind != "diarization":
            what = "a text" if kind in TEXTS else "a class"
            raise InputError(
                f"{where}: part {part!r} of item {item!r}: {what} is corrected as a whole; only "
                "diarizations have parts, START-END in seconds"
            )
        if part:
            with error_context(f"{where}: item {item!r}"):
                region_of(part)
        for other in told[:place]:
            if other.id == item and overlap(other.part, part):
                raise InputError(
                    f"{where}: item {item!r}, part {part!r}, was corrected before (part "
                    f"{other.part!r}): a part is corrected once in a batch"
                )


def adapt_offline(course: Course, acting: Acting, budget: int) -> None:
    """The system adapts offline, with the help of a person where it asks, so often at most.

    Its questions stand in the batch of l_i, which its version adapted to last.
    """
    batch = course.lifelong[acting.version - 1]
    arrived: list[Arrived] = []
    if budget and acting.expert is not None:
        first = () if course.bootstrap is None else (course.bootstrap,)
        known = (*first, *course.lifelong[: acting.version])
        held = {name: source for source in known for name in source.ids}
        said = acting.call(batch, acting.system.ask_offline, budget)
        why = (
            "but offline questions can only be about the initialisation data and the lifelong set "
            f"so far ({len(held)} items)"
        )
        asked = check_asked(said, budget, held, acting.who, why)
        check_parts(course.kind, asked, 0, acting.who)
        questions = acting.log_questions(asked, batch)
        acting.visit()
        acting.expect(questions, batch)
        for question, recorded in questions:
            source = held[question.id]
            answer = acting.hear(question, source, recorded)
            if answer is None:
                break
            acting.tell(answer, batch)
            arrived.append((source, source.ids.index(answer.id), answer))
    acting.call(batch, acting.system.adapt_offline, with_items(batch, arrived))
    acting.log.emit(acting.event("adapt", batch, cpu_seconds=acting.cpu()))


@dataclass(frozen=True)
class Help:
    """Largest amount of a person's help with one batch.

    Parameters
    ----------
    questions : int
        Largest number of questions that the system asks.
    corrections : int
        Largest number of corrections that the person makes without a question.
    document : int, optional
        Largest number of questions and corrections about one document. An item without an entry in
        `Course.documents` counts as a document. Default: no limit.
    seconds : float, optional
        Active time in seconds after which the person stops. Default: no limit.
    rounds : int
        Largest number of rounds of help with a batch. After each round, the system adapts; before
        the next round, it predicts the batch again.

    Raises
    ------
    UsageError
        If a value is out of range.
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

    `acting`: the system; its version and set are those of the help.
    """

    course: Course
    acting: Acting
    batch: Batch
    how: Help
    given: list[Answer] = field(default_factory=list)
    stopped: bool = False  # the person has no more time
    _asked: int = 0
    _volunteered: int = 0
    _documents: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.acting.visit(self.how)

    def round(self, number: int, outputs: Outputs) -> tuple[Batch, Answered]:
        """One round, from 0: the items that the system could ask about, and the answers.

        `outputs` is what the system says of the batch now; it adapts to what this gives.
        """
        left = self.how.rounds - number
        late = number == 0 and self.acting.where is None  # they arrive on the lifelong set
        arrived = self.acting.due(self.batch) if late else []
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
        return told, with_items(told, arrived)

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
        """Ask the questions of the system, and pass it the immediate answers."""
        acting = self.acting
        allowed = share if self.course.kind == "diarization" else min(share, len(batch))
        said = acting.call(batch, acting.system.ask, batch, allowed)
        asked = check_questions(said, allowed, batch, acting.who)
        where = f"{acting.who}, {described(batch)}"
        check_parts(self.course.kind, [*self.given, *asked], len(self.given), where)
        arrived: list[Arrived] = []
        questions = acting.log_questions(self._within_documents(asked), batch)
        place = {name: row for row, name in enumerate(self.batch.ids)}
        seen = [outputs.decisions[place[one.id]] for one, _ in questions]
        acting.expect(questions, self.batch, seen)
        for question, recorded in questions:
            row = place[question.id]
            answer = acting.hear(question, self.batch, recorded, outputs.decisions[row])
            if answer is None:
                self.stopped = True
                break
            self._asked += 1
            self.given.append(answer)
            arrived += acting.take(answer, self.batch)
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

    # what the person volunteers

    def _volunteer(self, outputs: Outputs) -> Answer | None:
        """The next correction; None when there is none."""
        rows = self._rows()
        if not rows:
            return None
        acting, log = self.acting, self.acting.log
        answer = None
        if acting.simulated or not log.replaying:
            answer = self._offered(self._open(), part_of(outputs, rows))
        if log.replaying:
            event, fresh = log.next_recorded, answer
            answer = answer_of(event, 0) if event and event.event == "answer" else None
            acting.refuse_another(answer, fresh)
        if answer is None:
            return None
        check_answer(answer, Question(answer.id, answer.part), acting.stream, self.batch)
        acting.tell(answer, self.batch)
        self._volunteered += 1
        self._documents[self.course.document(answer.id)] += 1
        self.given.append(answer)
        self._tired()
        return answer

    def _offered(self, batch: Batch, outputs: Outputs) -> Answer | None:
        """A correction that the person volunteers, checked; None when there is no further one."""
        expert = self.acting.expert
        said = expert.volunteer(batch, outputs, tuple(self.given))
        if said is None:
            return None
        where = f"expert {getattr(said, 'expert', expert)!s:.80}, {described(self.batch)}"
        if not isinstance(said, Answer):
            raise InputError(f"{where}: it volunteered {said!r:.200}, expected an Answer or None")
        if said.id not in batch.ids:
            raise InputError(
                f"{where}: it volunteered a correction of {said.id!r}, expected one of the items "
                f"of this batch ({first_five(batch.ids)})"
            )
        told = [*self.given, Question(said.id, said.part)]
        check_parts(self.course.kind, told, len(self.given), where)
        return replace(said, delay=0)

    # both

    def _tired(self) -> bool:
        """Whether the person has no more time for this batch; called after each answer."""
        self.acting.note_help(self.how, self.given)
        if self.how.seconds is not None:
            self.stopped = sum(answer.seconds for answer in self.given) >= self.how.seconds
        return self.stopped

    def _refuse_verdicts(self, arrived: Sequence[Arrived]) -> None:
        """A system that needs labels cannot be told only right or wrong."""
        said = [answer for _, _, answer in arrived if answer.verdict]
        if said and not getattr(self.acting.learner, "verdicts", False):
            raise InputError(
                f"{self.acting.who}, {described(self.batch)}, item {said[0].id!r}: the person gave "
                f"only the verdict {said[0].verdict!r}, but this system needs the right output: "
                f"let the expert give corrections, or set verdicts = True for a system that "
                "learns from verdicts"
            )
