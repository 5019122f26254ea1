"""Who helps a system through its life: a simulated domain expert.

Beside `answer(question, batch)`, as experts of streams have it, a person in a life cycle may have

- `correct(question, batch, output)`: the answer with the output in view, None to stop;
- `volunteer(batch, outputs, given)`: the correction that helps most, None when there is nothing
  left that is worth one; `given` is what was told about this batch before;
- `visit(version, where)`: called before help begins: which version asks, and on which set.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from truecost.corrections import WHOLE, Part, corrector
from truecost.errors import InputError, UsageError, first_five
from truecost.learning.expert import Spread, check_spread, drawn, range_of
from truecost.learning.lifelong.replayed import mistaken
from truecost.learning.options import OF_PERSON, ExpertTable, HelpTable, Says
from truecost.learning.system import Answer, Batch, Outputs, Question, generator
from truecost.options import check, check_fields

Fixed = tuple[str, tuple[str, ...], str]  # an output, parts, and the output with these in place


@dataclass(frozen=True, eq=False)
class DomainExpert:
    """Answers and corrects from the references, with the time and the mistakes of a person.

    Every draw is keyed by the seed, the course, the item and its part: the same item gets the same
    answer from whichever version asks.

    Parameters
    ----------
    kind : {"classes", "transcripts", "translation", "diarization"}
    references : mapping of str to str
        What is right, by id.
    classes : tuple of str
        Of the kind `classes`.
    seconds : float or (float, float)
        Time of an answer: always the same, or mean and standard deviation of a lognormal
        distribution.
    word_seconds, action_seconds : float
        Time on top for each word put in, and for each simple action.
    error_rate : float
        Probability [0, 1] of a wrong answer: another class; a text with a word that is another; a
        turn that is given to another speaker.
    delay : int or (int, int)
        Batches of the lifelong set until the system gets to know. Where an output waits for the
        person (on the test set), offline, and for what is volunteered there is none.
    refusal : float
        Probability [0, 1] that the person gives no answer, and overlooks what could be volunteered.
    cost : mapping of str to float or (float, float)
        `seconds` of items of a class, where they differ.
    says : {"corrections", "verdicts"}
        What is right, or only whether the output is.
    seed : int
        Experts with the same seed make the same mistakes.
    name : str
        Stands in the log.

    Raises
    ------
    UsageError
        When a setting is out of its range.
    """

    kind: str
    references: Mapping[str, str]
    classes: tuple[str, ...] = ()
    seconds: Spread = 1.0
    word_seconds: float = 0.0
    action_seconds: float = 0.0
    error_rate: float = 0.0
    delay: int | tuple[int, int] = 0
    refusal: float = 0.0
    cost: Mapping[str, Spread] = field(default_factory=dict)
    says: Says = "corrections"
    seed: int = 0
    name: str = "reference"
    simulated: bool = field(default=True, init=False)  # may be asked again: it says the same
    _last: dict[str, Fixed] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        corrector(self.kind)
        check_fields(self, ExpertTable, "key")
        check(HelpTable(**{key: getattr(self, key) for key in OF_PERSON}), "key")
        check_spread("seconds", self.seconds)
        for name, seconds in self.cost.items():
            if name not in self.classes:
                known = first_five(self.classes) or "none: texts have one time, `seconds`"
                raise UsageError(f"cost names the class {name!r}; the classes are {known}")
            check_spread(f"cost of {name!r}", seconds)
        range_of(self.delay)
        if self.error_rate and self.says == "corrections" and len(self.classes) == 1:
            raise UsageError(
                f"error_rate is {self.error_rate:g}, but no wrong answer is possible: there is "
                "one class"
            )

    def answer(self, question: Question, batch: Batch) -> Answer:
        """What this person says of an item without seeing an output of it."""
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer:
        """What this person says of an item, or of a part of it; the same whenever it is asked.

        Raises
        ------
        InputError
            When no reference is known, there is no such part, or a verdict is asked for where
            there is no output.
        """
        known = self._reference(question.id)
        draws = generator(self.seed, "expert", batch.stream, question.id, question.part)
        refuses, errs, which, late = draws.random(4)  # always all, so that none moves another
        words, actions = self._effort(output or "", known, question.part)
        base = drawn(self.cost.get(known, self.seconds), draws)
        low, high = range_of(self.delay)
        plain = Answer(
            id=question.id,
            label=None,
            seconds=base,
            expert=self.name,
            delay=low + int(late * (high - low + 1)),
            part=question.part,
        )
        if refuses < self.refusal:
            return plain
        if self.says == "verdicts":
            verdict = self._verdict(question, output, known, errs < self.error_rate)
            return replace(plain, verdict=verdict, words=0, actions=1)
        said = self._told(output or "", known, question.part)
        if errs < self.error_rate:
            others = output if self.kind == "diarization" and output else ""
            said = mistaken(self.kind, said, float(which), self.classes, self.references, others)
        more = self.word_seconds * words + self.action_seconds * actions
        return replace(plain, label=said, seconds=base + more, words=words, actions=actions)

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """The correction that helps most: of the part with the most errors.

        Parameters
        ----------
        outputs : Outputs
            What the system says of it now.
        given : sequence of Answer
            What was told about these items before; it is not told again.

        Returns
        -------
        Answer or None
            None when nothing is left to correct.
        """
        worst: tuple[float, int, str] | None = None
        for row, (item, output) in enumerate(zip(batch.ids, outputs.decisions, strict=True)):
            told = [answer.part for answer in given if answer.id == item]
            for part in self._open(batch, item, output, told):
                if worst is None or part.errors > worst[0]:
                    worst = (part.errors, row, part.name)
        if worst is None:
            return None
        _, row, name = worst
        question = Question(batch.ids[row], name)
        return replace(self.correct(question, batch, outputs.decisions[row]), delay=0)

    def _open(self, batch: Batch, item: str, output: str, told: Sequence[str]) -> Iterator[Part]:
        """Parts of an item that are still wrong when what was told is put in place."""
        if WHOLE in told:
            return
        fixed, known = self._fixed(item, output, tuple(told)), self._reference(item)
        for found in _parts(self.kind, fixed, known):
            if not _touches(found.name, told) and not self._overlooks(batch, item, found.name):
                yield found

    def _fixed(self, item: str, output: str, told: tuple[str, ...]) -> str:
        """An output with what was told put in place, one part after the other.

        What comes of it is kept for the next correction, so that many take time in proportion.
        """
        known, right = self._reference(item), corrector(self.kind)
        base, before, fixed = self._last.get(item, ("", (), ""))
        if base != output or told[: len(before)] != before:
            before, fixed = (), output
        for part in told[len(before) :]:
            fixed = right.correct(fixed, known, part, output)
        self._last[item] = output, told, fixed
        return fixed

    def _overlooks(self, batch: Batch, item: str, part: str) -> bool:
        """Whether this person would refuse."""
        if not self.refusal:
            return False
        draws = generator(self.seed, "expert", batch.stream, item, part)
        return bool(draws.random(4)[0] < self.refusal)

    def _reference(self, item: str) -> str:
        try:
            return self.references[item]
        except KeyError:
            raise InputError(
                f"item {item!r} has no reference, so that nobody can answer for it: references "
                f"are known of {len(self.references)} items; give one of each item"
            ) from None

    def _told(self, output: str, known: str, part: str) -> str:
        """What is right there; speakers under the names that the output has for them."""
        if self.kind == "diarization":
            part = part or all_of(output, known)
            return corrector(self.kind).told(output, known, part) if part else known
        return corrector(self.kind).told(output, known, part)

    def _effort(self, output: str, known: str, part: str) -> tuple[int, int]:
        """Words put in, and simple actions."""
        found = _parts(self.kind, output, known)
        if part == WHOLE:
            return sum(one.words for one in found), sum(one.actions for one in found)
        for one in found:
            if one.name == part:
                return one.words, one.actions
        return turns_changed(output, known, part)

    def _verdict(self, question: Question, output: str | None, known: str, errs: bool) -> str:
        """Right or wrong; the other one by mistake."""
        if output is None:
            raise InputError(
                f"item {question.id!r}: a person who says only right or wrong needs an output to "
                "judge; offline questions need says = corrections"
            )
        if question.part == WHOLE:
            right = corrector(self.kind).is_right(output, known)
        else:
            found = _parts(self.kind, output, known)
            right = not any(overlap(one.name, question.part) for one in found)
        return "right" if right != errs else "wrong"


@lru_cache(maxsize=4096)
def _parts(kind: str, output: str, reference: str) -> tuple[Part, ...]:
    """What is wrong with an output, counted once."""
    return corrector(kind).parts(output, reference)


def _touches(part: str, told: Sequence[str]) -> bool:
    """Whether a part has anything in common with what was told."""
    if not told:
        return False
    if WHOLE in (part, *told):
        return True
    start, end = _span(part)
    return any(start < last and first < end for first, last in map(_span, told))


@lru_cache(maxsize=65536)
def _span(part: str) -> tuple[int, int]:
    """A region in microseconds, read once."""
    from truecost.corrections.speech_text import region_of

    return region_of(part)


def all_of(output: str, reference: str) -> str:
    """The region of two diarizations that holds all turns; empty where there are none."""
    from truecost.corrections.speech_text import region_name, turns_of

    ends = [turn.end for text in (output, reference) for turn in turns_of(text)]
    return region_name(0, max(ends)) if ends else WHOLE


def turns_changed(output: str, reference: str, part: str) -> tuple[int, int]:
    """Turns put in and changed when any region of a diarization is put in place.

    Parameters
    ----------
    part : str
        `START-END`.

    Returns
    -------
    (int, int)
        Turns of the reference there, none where the output has the same, and the larger one of
        turns added and taken away.
    """
    from truecost.corrections.speech_text import turns_of

    right = corrector("diarization")
    before = {*turns_of(right.told(output, output, part))}
    target = right.correct(output, reference, part)
    after = {*turns_of(right.told(target, target, part))}
    if before == after:
        return 0, 0
    return len(after), max(len(after - before), len(before - after))


def overlap(one: str, other: str) -> bool:
    """Whether two parts of an item have anything in common.

    Parameters
    ----------
    one, other : str
        The whole (empty) or regions.

    Examples
    --------
    >>> from truecost.learning.lifelong.person import overlap
    >>> overlap("0-2", "1.5-3"), overlap("0-2", "2-3"), overlap("", "2-3")
    (True, False, True)
    """
    if WHOLE in (one, other):
        return True
    from truecost.corrections.speech_text import region_of

    (a, b), (c, d) = region_of(one), region_of(other)
    return a < d and c < b
