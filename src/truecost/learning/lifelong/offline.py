"""Offline adaptation: questions about anything that the system holds, and what it makes of them.

It holds the initialisation data and the lifelong set up to now, never the test set. Nothing is put
out meanwhile, so that the help is counted in its own units and penalises no score (paper 004,
section 3.2).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from truecost.errors import InputError, first_five
from truecost.learning.checking import check_answer
from truecost.learning.checkpoint import Keeper
from truecost.learning.lifelong.acting import Acting, part_with
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.telling import (
    answer_of,
    check_parts,
    keep_stop,
    refuse_another,
    said_event,
)
from truecost.learning.stepping import Arrived, joined
from truecost.learning.system import Answer, Batch, Expert, Question

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
