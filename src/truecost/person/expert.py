"""A person as the expert of a live run: questions are put into the store, and the answers awaited.

A question is identified by its stream, item and part, and by the output where it is shown: another
strategy or seed with the same question gets the stored answer, and nobody is asked twice. Answers
are read when all questions of a batch have theirs; until then they can be undone.
`truecost.person.records` states which answer is valid where several people answer a question; where
all people are asked and stay divided, it is the earliest one. The seconds of all of them count.

In a life cycle with volunteered corrections, the answer about a region of a recording may change
more than the region: each changed region outside it is a volunteered correction.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from truecost.corrections import corrector
from truecost.corrections.texts import region_name, region_of, text_of, turns_of
from truecost.errors import InputError
from truecost.learning.system import Answer, Batch, Outputs, Question, Stream
from truecost.person.measured import seconds_by
from truecost.person.records import FAILED, Kind, answer_of, decided
from truecost.person.regions import changed, inside, put_in
from truecost.person.requests import number_as_kept
from truecost.person.seconds import Timing
from truecost.person.store import Asked, Store
from truecost.person.views import View, Views, length_of, named
from truecost.speech.spans import MICRO

if TYPE_CHECKING:
    from truecost.learning.lifelong.helping import Help

YES_NO = {"0": "no", "1": "yes"}  # classes of a detection, as people read them
CODES = {name: code for code, name in YES_NO.items()}
POLL = 0.05  # seconds between two looks at the store
AROUND = 5 * MICRO  # on both sides of a region, what people hear of it and may correct
STOPPED = "the person has stopped: the answers are kept; continue with --resume"


class LivePerson(msgspec.Struct, frozen=True, kw_only=True):
    """People who answer on a page: the settings that decide the logs of `[expert] name = "person"`.

    `shown`: whether the output of the system is in view; None: where it is corrected
    (`LiveExpert.corrects`).
    """

    people: tuple[str, ...] = ("me",)
    overlap: int = 1
    shown: bool | None = None
    ask: str = ""
    views: Views = Views()
    idle: float = 30.0
    tail: float = 0.0
    store: str = ""
    port: int | None = None

    @property
    def timing(self) -> Timing:
        """The settings of active time."""
        return Timing(self.idle, self.tail)


def known_answer(stream: Stream, text: str) -> str:
    """A known answer of the source, such as its label, in the form of an answer to questions of a
    stream.

    ValueError with the expected form where people could not give it.
    """
    text = text.strip()
    if stream.kind == "numbers":
        try:
            return number_as_kept(text)
        except InputError:
            raise ValueError("the finite numbers") from None
    names = stream.classes
    if stream.kind == "detection":
        if stream.target is not None:
            text = names[text == stream.target]
        return YES_NO[named(text, names)]
    return named(text, names)


@dataclass(eq=False)
class LiveExpert:
    """An expert whose answers people give on a page.

    Parameters
    ----------
    live : LivePerson
        Settings of the people who answer, with the path of the store.
    kind : str
        Kind of the outputs: "detection", "classes", "numbers", or one that `truecost.corrections`
        corrects.
    classes : tuple of str
        Classes of the outputs, for "detection" and "classes".
    view : callable
        Function that returns what the page shows of an item, from its id.
    says : {"corrections", "verdicts"}
        Content of an answer. `corrections`: the right output; `verdicts`: only whether the output
        is right.
    corrects : bool
        Whether people correct outputs, as in life cycles: the page then shows the outputs unless
        they are hidden, and counts words and actions of each answer.
    """

    live: LivePerson
    kind: str
    classes: tuple[str, ...]
    view: Callable[[str], View]
    says: str = "corrections"
    corrects: bool = False
    store: Store = field(init=False)
    simulated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.live.store)
        self._waited: list[str] = []  # keys that are answered before any is taken
        self._taken: dict[str, Answer] = {}
        self._charged: set[str] = set()  # questions whose time some correction holds
        self._spent, self._volunteers = 0.0, False  # seconds on this batch
        self._looks: set[str] = set()  # questions whose time `_spent` holds
        self._limit: float | None = None  # seconds after which help with it ends

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def expect(
        self, questions: Sequence[Question], batch: Batch, outputs: Sequence[str | None]
    ) -> None:
        """Announce all questions of a batch at once, so that people see them and may undo answers;
        where help ends after some seconds one after the other, as there may be no time for the last
        ones.
        """
        if self._limit is not None:
            return
        every = zip(questions, outputs, strict=True)
        asked = [self._asked(one, batch, output) for one, output in every]
        self.store.put(asked)
        self._waited = [one.key for one in asked]

    def note_recorded(self, asked: Iterable[str]) -> None:
        """Record the times that the log has already: `asked` of its answers."""
        self._charged |= {one for several in asked for one in several.split("+")}

    def note_help(self, how: "Help", given: Sequence[Answer]) -> None:
        """Record the limit of the help with a batch, and the help given so far."""
        self._limit, self._volunteers = how.seconds, how.corrections > 0
        self._spent, self._looks = sum(answer.seconds for answer in given), set()

    def answer(self, question: Question, batch: Batch) -> Answer:
        """The answer of people about an item whose output they do not see; waits for it."""
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer:
        """The answer of people about an item or a part of it; waits for it.

        InputError when somebody stops the run on the page.
        """
        asked = self._asked(question, batch, output)
        return self._answer(question, self._heard(asked), output)

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """The next correction: a change outside a region that was asked about; then people look at
        the outputs in their order, and confirm or correct each. The time of confirmed outputs
        counts to the correction after them, once in a log.

        None when no output or no time is left; InputError when somebody stops the run on the page.
        """
        for answer in given:
            if more := self._beyond(answer, batch, outputs, given):
                return more
        told = {answer.id for answer in given}
        looked_at = list[Answer]()  # since the last correction
        for item, output in zip(batch.ids, outputs.decisions, strict=True):
            if item in told:
                continue
            if self._limit is not None and self._spent >= self._limit:
                return None
            said = self._heard(self._asked(Question(item), batch, output, volunteered=True))
            if said.asked in self._charged:
                continue
            looked_at.append(said)
            if said.asked not in self._looks:
                self._looks.add(said.asked)
                self._spent += said.seconds
            if said.label is not None:
                self._charged |= {one.asked for one in looked_at}
                return _with_time(self._answer(Question(item), said, output), looked_at)
        return None

    def _beyond(
        self, answer: Answer, batch: Batch, outputs: Outputs, given: Sequence[Answer]
    ) -> Answer | None:
        """The first unreported change outside a region that was asked about."""
        if self.kind != "diarization" or not answer.part or answer.id not in batch.ids:
            return None
        output = outputs.decisions[batch.ids.index(answer.id)]
        asked = self._asked(Question(answer.id, answer.part), batch, output)
        if "wide" not in asked.payload or not self.store.answers(asked.key):
            return None
        if asked.key not in self._taken:  # before the run went on
            self._read([asked.key])
        said = self._taken[asked.key]
        told = [region_of(one.part) for one in given if one.id == answer.id and one.part]
        for start, end in changed(output, said.label, asked.payload["wide"], told):
            part = Question(answer.id, region_name(start, end))
            return _with_time(self._answer(part, said, output), ())  # measured with the other
        return None

    def _heard(self, asked: Asked) -> Answer:
        """The answers to a question, with those of all other waiting questions; it is asked first
        if necessary.
        """
        if asked.key not in self._taken:
            if asked.key not in self._waited:
                self.store.put([asked])
                self._waited = [asked.key]
            self._wait()
            self._read(self._waited)
        return self._taken[asked.key]

    def _asked(
        self, question: Question, batch: Batch, output: str | None, *, volunteered: bool = False
    ) -> Asked:
        """A question in the form of the page; `volunteered`: whether people first give a verdict on
        the output.
        """
        seen = self.view(question.id)
        shown = self._shows(output)
        in_view = output if shown else None
        form = self._form()
        about = [batch.stream, question.id, question.part, in_view, self.says, volunteered]
        payload: dict[str, Any] = {
            "ask": self.live.ask,
            "source": self._source(question, batch, seen),
        }
        span = None
        if in_view is not None:
            payload["output"] = YES_NO.get(in_view) if self.kind == "detection" else in_view
        if self._limit is not None:
            payload["budget"] = round(self._spent, 1), self._limit
        if self.classes:
            names = YES_NO.values() if self.kind == "detection" else self.classes
            payload["classes"] = [*names]
        if volunteered and form != "verdict":
            payload["correct"] = form
        if self.kind == "diarization" and output is not None:
            span = self._region(payload, question, output, seen.audio)
        return Asked(
            key=json.dumps(about, ensure_ascii=False),
            kind="verdict" if volunteered else form,
            payload={name: value for name, value in payload.items() if value is not None},
            media=seen.audio,
            image=seen.image,
            span=span,
            overlap=self.live.overlap,
            gold=seen.gold,
            batch=batch.index + 1,
        )

    def _form(self) -> Kind:
        """Kind of the questions on the page."""
        if self.says == "verdicts":
            return "verdict"
        if self.kind == "diarization":
            return "region"
        if self.kind == "numbers":
            return "number"
        return "classes" if self.classes else "text"

    def _shows(self, output: str | None) -> bool:
        """Whether the output is shown."""
        if output is None or self.says == "verdicts":
            return output is not None
        return self.corrects if self.live.shown is None else self.live.shown

    def _source(self, question: Question, batch: Batch, seen: View) -> str | None:
        """The text that the question is about: of the view, or the input of a system of texts."""
        if seen.text is not None or question.id not in batch.ids:
            return seen.text
        feature = batch.features[batch.ids.index(question.id)]
        return feature if isinstance(feature, str) else None

    def _region(
        self, payload: dict[str, Any], question: Question, output: str, sound: str | None
    ) -> tuple[float, float]:
        """The part of a recording for the question: in seconds, with the shown speakers."""
        turns = turns_of(output) if "output" in payload else []
        payload["speakers"] = sorted({turn.speaker for turn in turns})
        if question.part:
            start, end = region_of(question.part)
        else:
            start, end = 0, max([turn.end for turn in turns], default=0)
            end = max(end, round(length_of(sound) * MICRO)) if sound else end
        if end <= start:
            raise InputError(
                f"item {question.id!r}: the length of its recording is not known: its output "
                f"has no turns, and no sound is named; name it with audio under [expert]"
            )
        payload["base"], payload["length"] = start / MICRO, (end - start) / MICRO
        if "output" in payload and question.part and self._volunteers:
            start, end = max(0, start - AROUND), end + AROUND
            payload["wide"] = start / MICRO, end / MICRO
        if "output" in payload:
            payload["output"] = text_of(inside(output, start, end))
        return start / MICRO, end / MICRO

    def _wait(self) -> None:
        """Wait until all expected questions have as many answers as they need, and mark them as
        taken.
        """
        seen = -1
        while True:
            state = self.store.meta("state")
            if state in ("stopped", "failed"):
                raise InputError(STOPPED if state == "stopped" else FAILED)
            latest = self.store.latest()
            if latest != seen and self.store.take_all(self._waited):
                return
            seen = latest
            time.sleep(POLL)

    def _read(self, keys: Iterable[str]) -> None:
        """The answers of a batch, which are marked as taken."""
        seconds = seconds_by(self.store, self.live.timing)
        for key in keys:
            given = self.store.answers(key)
            label, verdict = decided(given) or answer_of(given[0])
            spent = [seconds(row.key, row.person) for row in given]
            known = [one for one in spent if one is not None]
            if len(known) < len(spent):
                raise InputError(
                    f"{self.store.path}: the events of the page were deleted (--forget), so the "
                    f"time of question {key[:80]} is not known: begin a run with another --output"
                )
            active, wall, heard = (
                round(sum(getattr(one, name) for one in known), 3)
                for name in ("active", "wall", "heard")
            )
            self._taken[key] = Answer(
                id="",
                label=self._code(label),
                seconds=active,
                expert="+".join(sorted(row.person for row in given)),
                verdict=verdict,
                timing=self.live.timing.signature,
                asked=str(given[0].qid),
                wall=wall,
                heard=heard,
                waited=round(max(row.t for row in given) - given[0].asked, 3),
            )

    def _code(self, label: str | None) -> str | None:
        """A class as a label of the system."""
        return CODES[label] if label is not None and self.kind == "detection" else label

    def _answer(self, question: Question, said: Answer, output: str | None) -> Answer:
        """An answer to this question, with the effort that it took."""
        guess = "" if output is None else "shown" if self._shows(output) else "hidden"
        said = replace(said, id=question.id, part=question.part, guess=guess)
        if said.verdict:
            return replace(said, words=0, actions=1)
        if said.label is None or not self.corrects:
            return said
        label, before = said.label, output or ""
        if self.kind == "diarization":
            label, words, actions = put_in(before, label, question.part)
        else:
            parts = corrector(self.kind).parts(before, label)
            words, actions = (sum(getattr(p, n) for p in parts) for n in ("words", "actions"))
        return replace(said, label=label, words=words, actions=actions)


def _with_time(answer: Answer, looked_at: Sequence[Answer]) -> Answer:
    """A correction with the time of all these answers; the system did not wait for a volunteered
    one.
    """
    seconds, wall, heard = (
        round(sum(getattr(one, name) or 0.0 for one in looked_at), 3)
        for name in ("seconds", "wall", "heard")
    )
    asked = "+".join(one.asked for one in looked_at) or answer.asked
    return replace(answer, seconds=seconds, wall=wall, heard=heard, waited=None, asked=asked)
