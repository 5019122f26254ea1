"""What a person said: checked, as an event of the log and back, and compared with what it was."""

from collections.abc import Sequence
from typing import Any

from truecost.errors import InputError, counted
from truecost.learning.checking import TEXTS
from truecost.learning.checkpoint import Keeper
from truecost.learning.lifelong.acting import Acting
from truecost.learning.lifelong.person import overlap
from truecost.learning.recorded import Event
from truecost.learning.system import Answer, Batch, Expert, Question


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


def said_event(acting: Acting, answer: Answer, batch: Batch, **columns: Any) -> Event:
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


def answer_of(event: Event, delay: int) -> Answer:
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
