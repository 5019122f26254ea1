"""The simulated domain expert who helps a system through its life.

Beside `answer(question, batch)`, as experts of streams have it, a person in a life cycle may have

- `correct(question, batch, output)`: the answer with the output in view, None to stop;
- `volunteer(batch, outputs, given)`: the correction that helps most, None when there is nothing
  left that is worth one; `given` is the earlier answers about this batch;
- `visit(version, where)`: called before help begins: which version asks, and on which set;
- `note_help(how, given)`: called then and after each answer: the `Help` that there may be with the
  batch, and what was given of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from truecost.corrections import WHOLE, Part, corrector
from truecost.corrections.texts import region_name, region_of, text_of, turns_of
from truecost.errors import InputError, UsageError
from truecost.learning.expert import SimulatedPerson, right_of
from truecost.learning.options import OF_PERSON, HelpTable, Says
from truecost.learning.system import Answer, Batch, Outputs, Question, generator
from truecost.options import check


def mistaken(kind: str, said: str, draw: float, known: Sequence[str]) -> str:
    """A wrong answer in place of a right one, which `said` is.

    `draw` in [0, 1) decides which mistake it is; `known` holds what may be said instead. Of
    `classes` another one is said, each as likely; of texts one word becomes another word; of
    diarizations one turn gets another speaker. Where there is no other, a text loses a word and a
    diarization a turn. An empty diarization stays empty.
    """
    if kind == "classes":
        others = [name for name in known if name != said]
        return others[int(draw * len(others))] if others else said
    return (_other_turn if kind == "diarization" else _other_word)(said, draw, known)


def speakers_of(texts: Iterable[str]) -> tuple[str, ...]:
    """All speakers of diarizations, sorted."""
    return tuple(sorted({turn.speaker for text in texts for turn in turns_of(text)}))


def _other_word(said: str, draw: float, words: Sequence[str]) -> str:
    """A text with one word that is another."""
    own = said.split()
    if not own:
        return words[int(draw * len(words))] if words else said
    place, other = _other_one(own, words, draw)
    own[place : place + 1] = [other] if other else []
    return " ".join(own)


def _other_turn(said: str, draw: float, speakers: Sequence[str]) -> str:
    """A diarization with one turn that is another's."""
    own = [*turns_of(said)]
    if not own:
        return said
    place, other = _other_one([turn.speaker for turn in own], speakers, draw)
    own[place : place + 1] = [own[place]._replace(speaker=other)] if other else []
    return text_of(own)


def _other_one(own: Sequence[str], known: Sequence[str], draw: float) -> tuple[int, str]:
    """Position of the simulated mistake, and the wrong answer there; empty where there is no other
    answer.
    """
    draws = generator(0, "mistake", repr(draw))
    place = int(draws.integers(len(own)))
    others = [name for name in known if name != own[place]]
    return place, others[int(draws.integers(len(others)))] if others else ""


Fixed = tuple[str, tuple[str, ...], str]  # an output, parts, and the output with these in place


@dataclass(frozen=True, eq=False)
class DomainExpert(SimulatedPerson):
    """Simulated person who answers questions and corrects outputs, with working times and mistakes.

    All random numbers depend only on the seed, the course, the item and its part. Different
    versions of a system therefore receive identical answers to a question.

    Parameters
    ----------
    kind : {"classes", "transcripts", "translation", "diarization"}
        Kind of the outputs.
    references : mapping of str to str
        Correct output of each item, by id.
    classes : tuple of str
        Names of the classes; only for the kind `classes`.
    seconds : float or (float, float)
        Active time for an answer or a refusal, in seconds: a constant, or mean and standard
        deviation of a lognormal distribution.
    word_seconds, action_seconds : float
        Additional seconds for each word that the person enters, and for each simple action.
    error_rate : float
        Probability of a wrong answer, in [0, 1]: another class, a text with one wrong word, or a
        speech turn with another speaker.
    delay : int or (int, int)
        Number of batches of the lifelong set from the question to the arrival of the answer: a
        constant, or minimum and maximum of a uniform distribution. Answers about the test set,
        offline answers and corrections have no delay.
    refusal : float
        Probability, in [0, 1], that the person refuses to answer, or overlooks an error that could
        be corrected.
    cost : mapping of str to float or (float, float)
        Active time for items of certain classes, by class, if it differs from `seconds`.
    says : {"corrections", "verdicts"}
        Content of an answer. `corrections`: the correct output. `verdicts`: only whether the output
        is right.
    seed : int
        Seed of the random numbers. Experts with the same seed make the same mistakes.
    name : str
        Name of the person in the log.

    Raises
    ------
    UsageError
        If a setting is out of range.
    """

    kind: str
    references: Mapping[str, str]
    classes: tuple[str, ...] = ()
    word_seconds: float = 0.0
    action_seconds: float = 0.0
    says: Says = "corrections"
    simulated: bool = field(default=True, init=False)  # may be asked again: it says the same
    _last: dict[str, Fixed] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        corrector(self.kind)
        check(HelpTable(**{key: getattr(self, key) for key in OF_PERSON}), "key")
        self.check(self.classes, "texts have one time, `seconds`")
        if self.error_rate and self.says == "corrections" and len(self.classes) == 1:
            raise UsageError(
                f"error_rate is {self.error_rate:g}, but no wrong answer is possible: there is "
                "one class"
            )

    def answer(self, question: Question, batch: Batch) -> Answer:
        """Simulated answer to a question about an item; it does not depend on the output of the
        system.
        """
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer:
        """The person's answer about an item, or a part of it; the same whenever it is asked.

        InputError when no reference is known, there is no such part, or a verdict is asked for
        where there is no output.
        """
        known = self._reference(question.id)
        words, actions = self._effort(output or "", known, question.part)
        plain, refuses, errs, which = self.draft(question, batch, known)
        if refuses < self.refusal:
            return plain
        if self.says == "verdicts":
            verdict = self._verdict(question, output, known, errs < self.error_rate)
            return replace(plain, verdict=verdict, words=0, actions=1)
        said = self._right_answer(output or "", known, question.part)
        if errs < self.error_rate:
            turns = output if self.kind == "diarization" else None
            seen = speakers_of((turns,)) if turns else self._candidates
            said = mistaken(self.kind, said, which, seen)
        more = self.word_seconds * words + self.action_seconds * actions
        return replace(
            plain, label=said, seconds=plain.seconds + more, words=words, actions=actions
        )

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """Correction of the part with the most errors in a batch.

        Parameters
        ----------
        batch : Batch
            Batch that the person sees.
        outputs : Outputs
            Current outputs of the system for the batch.
        given : sequence of Answer
            Earlier answers and corrections for the batch, which are not repeated.

        Returns
        -------
        Answer or None
            The correction; None if no error is left.
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
            if not any(overlap(found.name, one) for one in told) and not self._overlooks(
                batch, item, found.name
            ):
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
        _, refuses, _, _ = self.draft(Question(item, part), batch, "")
        return refuses < self.refusal

    def _reference(self, item: str) -> str:
        return right_of(self.references, item, "reference")

    @cached_property
    def _candidates(self) -> tuple[str, ...]:
        """Possible wrong answers: classes, or all words or speakers of the references."""
        texts = self.references.values()
        if self.kind == "diarization":
            return speakers_of(texts)
        return self.classes or tuple(sorted({word for text in texts for word in text.split()}))

    def _right_answer(self, output: str, known: str, part: str) -> str:
        """The right answer about a part; speakers have the names of the output."""
        if self.kind == "diarization" and not (part := part or all_of(output, known)):
            return known
        return corrector(self.kind).answer(output, known, part)

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
    """The errors of an output, computed once."""
    return corrector(kind).parts(output, reference)


@lru_cache(maxsize=65536)
def _span(part: str) -> tuple[int, int]:
    """A region in microseconds, read once."""
    return region_of(part)


def all_of(output: str, reference: str) -> str:
    """The region of two diarizations that holds all turns; empty where there are none."""
    ends = [turn.end for text in (output, reference) for turn in turns_of(text)]
    return region_name(0, max(ends)) if ends else WHOLE


def turns_changed(output: str, reference: str, part: str) -> tuple[int, int]:
    """Turns put in and changed when any region (`START-END`) of a diarization is put in place.

    The first are turns of the reference there, none where the output has the same; the second the
    larger one of turns added and taken away.
    """
    right = corrector("diarization")
    before = {*turns_of(right.answer(output, output, part))}
    target = right.correct(output, reference, part)
    after = {*turns_of(right.answer(target, target, part))}
    if before == after:
        return 0, 0
    return len(after), max(len(after - before), len(before - after))


def overlap(one: str, other: str) -> bool:
    """Whether two parts of an item, the whole (empty) or regions, have anything in common.

    Examples
    --------
    >>> from truecost.learning.lifelong.person import overlap
    >>> overlap("0-2", "1.5-3"), overlap("0-2", "2-3"), overlap("", "2-3")
    (True, False, True)
    """
    if WHOLE in (one, other):
        return True
    (a, b), (c, d) = _span(one), _span(other)
    return a < d and c < b
