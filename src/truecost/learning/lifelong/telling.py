"""What passes between system and person in a life cycle: checked, logged, also offline.

It holds the initialisation data and the lifelong set up to now, never the test set. Nothing is put
out meanwhile, so that the help is counted in its own units and penalises no score (paper 004,
section 3.2).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truecost.errors import InputError, counted, first_five
from truecost.learning.asking import Asking
from truecost.learning.checking import TEXTS, check_answer, check_outputs, described
from truecost.learning.checkpoint import Keeper
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.person import overlap
from truecost.learning.log import Event
from truecost.learning.recorded import Event as recorded_Event
from truecost.learning.stepping import Arrived, Learning, joined
from truecost.learning.system import Answer, Answered, Batch, Expert, Outputs, Question

MISSING = object()


@dataclass(eq=False)
class Acting(Learning):
    """Calls of a system through its life.

    Attributes
    ----------
    version : int
        Of the model now: i after it has adapted to the data of l_i, 0 before all.
    where : str or None
        The set that it works on: None is the lifelong set.
    """

    version: int = 0
    where: str | None = None
    _time: float | None = None
    _plain: str = ""

    def at(self, version: int, time: float | None, where: str | None) -> None:
        """Go to a set at a time, with a version."""
        self.version, self.where, self._time = version, where, time
        place = {None: "on the lifelong set", "test": "on the test set", "offline": "offline"}
        self.who = f"{self._plain} (version {version}, {place[where]})"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._plain = self.who

    def event(self, kind: str, batch: Batch, **columns: Any) -> Event:
        """An event of a batch: its time is the label of the batch."""
        return Event(
            t=self._time,
            batch=batch.index if batch.index >= 0 else None,
            event=kind,
            stream=self.stream.name or None,
            run=self.run or None,
            **({"version": self.version, "set": self.where} | columns),
        )

    def say(self, batch: Batch) -> Outputs:
        """What the system says of a batch, checked; it is not logged."""
        said = self.call(batch, self.learner.predict, batch)
        return check_outputs(said, self.stream, batch, self.who)

    def learn(self, batch: Batch, answered: Answered, version: int) -> None:
        """The system adapts; the version that comes out."""
        self.call(batch, self.learner.adapt, batch, answered)
        self.log.emit(self.event("adapt", batch, version=version, cpu_seconds=self.cpu()))

    def refuse_change(self, batch: Batch, before: Outputs, why: str) -> None:
        """Refuse a system that no longer says of a batch what it said.

        Parameters
        ----------
        why : str
            What follows when it does.

        Raises
        ------
        InputError
        """
        now = self.say(batch)
        self.cpu()
        same = now.decisions == before.decisions and bool((now.scores == before.scores).all())
        if same:
            return
        row = next(
            row
            for row in range(len(batch))
            if now.decisions[row] != before.decisions[row] or now.scores[row] != before.scores[row]
        )
        raise InputError(
            f"{self.who}, {described(batch)}, item {batch.ids[row]!r}: it said "
            f"{before.decisions[row]!r:.80} (score {before.scores[row]:g}), and says "
            f"{now.decisions[row]!r:.80} (score {now.scores[row]:g}) when it is asked again: {why}"
        )


def part_with(system: Any, name: str, without: Any = MISSING) -> Any:
    """What a system has of this name; that of its learner, where a strategy asks for it.

    Parameters
    ----------
    without : object, optional
        What there is otherwise; an `AttributeError` unless given.
    """
    inner = system.learner if isinstance(system, Asking) else system
    if hasattr(system, name):
        return getattr(system, name)
    if without is MISSING:
        return getattr(inner, name)
    return getattr(inner, name, without)


def check_parts(kind: str, told: Sequence[Any], before: int, where: str) -> None:
    """Refuse parts that there are not, and what was told before.

    Parameters
    ----------
    kind : str
        Of the outputs.
    told : sequence of Answer or Question
        First what was told before, then what is asked or volunteered now.
    before : int
        How many were told before.
    where : str
        For messages.

    Raises
    ------
    InputError
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
            _check_region(item, part, where)
        for other in told[:place]:
            if other.id == item and overlap(other.part, part):
                raise InputError(
                    f"{where}: item {item!r}, part {part!r}, was told before (part "
                    f"{other.part!r}): nothing is corrected twice in a batch"
                )


def _check_region(item: str, part: str, where: str) -> None:
    """Refuse what is no region."""
    from truecost.corrections.speech_text import region_of

    try:
        region_of(part)
    except InputError as error:
        raise InputError(f"{where}: item {item!r}: {error}") from error


def said_event(acting: Acting, answer: Answer, batch: Batch, **columns: Any) -> recorded_Event:
    """An answer as an event."""
    return acting.event(
        "answer",
        batch,
        id=answer.id,
        part=answer.part or None,
        label=answer.label,
        expert=answer.expert,
        active_seconds=float(answer.seconds),
        words=answer.words,
        actions=answer.actions,
        verdict=answer.verdict or None,
        **columns,
    )


def answer_of(event: recorded_Event, delay: int) -> Answer:
    """A recorded answer."""
    return Answer(
        id=event.id or "",
        label=event.label,
        seconds=event.active_seconds or 0.0,
        expert=event.expert or "",
        delay=delay,
        part=event.part or "",
        words=event.words,
        actions=event.actions,
        verdict=event.verdict or "",
    )


def keep_stop(acting: Acting, keeper: Keeper, question: Question, batch: Batch) -> None:
    """Remember that the person stopped, so that a run that resumes does not ask again."""
    part = question.part or None
    keeper.put_late(acting.event("query", batch, id=question.id, part=part))


def refuse_another(
    acting: Acting, expert: Expert, known: Answer | None, fresh: Answer | None
) -> None:
    """Refuse to go on with another person than the one of the log.

    A simulated person is asked again, as that costs nothing; others never are.

    Raises
    ------
    InputError
    """
    if not getattr(expert, "simulated", False) or known == fresh:
        return
    raise InputError(
        f"{acting.log.path}: the run cannot be resumed with another expert: {_shown(known)} was "
        f"recorded, and this one says {_shown(fresh)}; use the same settings, or start a new run "
        "at another place"
    )


def _shown(answer: Answer | None) -> str:
    """An answer for a message."""
    if answer is None:
        return "nothing"
    of = f" (part {answer.part!r})" if answer.part else ""
    time = counted(answer.seconds, "second")
    return f"{answer.verdict or answer.label!r:.80} on item {answer.id!r}{of} in {time}"


Held = Mapping[str, Batch]  # the batch of each item


def adapt_offline(
    course: Course, acting: Acting, expert: Expert | None, keeper: Keeper, budget: int
) -> None:
    """The system adapts offline, with the help of a person where it asks.

    Parameters
    ----------
    acting : Acting
        Version i; its questions stand in the batch of l_i.
    expert : Expert or None
        Not needed without questions.
    budget : int
        Questions at most.

    Raises
    ------
    InputError
        When it asks too much, twice, or about what it does not hold.
    """
    batch = course.lifelong[acting.version - 1]
    arrived: list[Arrived] = []
    if budget and expert is not None:
        held = held_items(course, acting.version)
        said = acting.call(batch, part_with(acting.learner, "ask_offline"), budget)
        asked = _checked(said, budget, held, course.kind, acting.who)
        acting.log.emit_many(
            acting.event("query", batch, id=one.id, part=one.part or None) for one in asked
        )
        visit = getattr(expert, "visit", None)
        if visit is not None:
            visit(acting.version, acting.where)
        for question in asked:
            source = held[question.id]
            answer = _answer(course, acting, expert, keeper, question, source)
            if answer is None:
                keep_stop(acting, keeper, question, batch)
                break
            acting.log.emit(said_event(acting, answer, batch))
            arrived.append((source, source.ids.index(answer.id), answer))
    acting.call(batch, part_with(acting.learner, "adapt_offline"), joined(batch, arrived))
    acting.log.emit(acting.event("adapt", batch, cpu_seconds=acting.cpu()))


def held_items(course: Course, version: int) -> dict[str, Batch]:
    """The items that a version may ask about offline, each with its batch."""
    first = () if course.bootstrap is None else (course.bootstrap,)
    return {name: batch for batch in (*first, *course.lifelong[:version]) for name in batch.ids}


def _checked(said: object, budget: int, held: Held, kind: str, who: str) -> tuple[Question, ...]:
    """Questions that may be asked."""
    if not isinstance(said, Sequence) or not all(isinstance(one, Question) for one in said):
        raise InputError(f"{who}: it asked {said!r:.200}, expected a list of Question")
    if len(said) > budget:
        raise InputError(
            f"{who}: it asked {len(said)} offline questions where the budget is {budget}; a system "
            "may ask fewer, never more"
        )
    strange = [one.id for one in said if one.id not in held]
    if strange:
        raise InputError(
            f"{who}: it asked about {first_five(map(repr, strange))}, which it does not hold: only "
            f"the initialisation data and the lifelong set up to now ({len(held)} items) can be "
            "asked about, never test data"
        )
    if len(set(said)) < len(said):
        twice = [one.id for one, times in Counter(said).items() if times > 1]
        raise InputError(
            f"{who}: it asked twice about {first_five(map(repr, twice))}; once will do"
        )
    check_parts(kind, said, 0, who)
    return tuple(said)


def _answer(
    course: Course,
    acting: Acting,
    expert: Expert,
    keeper: Keeper,
    question: Question,
    source: Batch,
) -> Answer | None:
    """The recorded answer, or that of the person; None when the person stops."""
    event = acting.log.recorded_answer(
        question.id,
        question.part,
        stream=course.name,
        run=acting.run,
        version=acting.version,
        where=acting.where,
    )
    if event is None and keeper.late(question.id, question.part, acting.version, acting.where):
        return None  # the person had stopped here
    simulated = getattr(expert, "simulated", False)
    fresh: Answer | None = None
    if event is None or simulated:
        said = expert.answer(question, source)
        fresh = None if said is None else replace(said, delay=0)
    known = fresh if event is None else answer_of(event, 0)
    if event is not None:
        refuse_another(acting, expert, known, fresh)
    return None if known is None else check_answer(known, question, course.stream, source)
