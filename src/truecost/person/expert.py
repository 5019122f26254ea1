"""A person as the expert of a live run: puts questions into the store, and waits for the answers.

A question is known by its stream, item and part, and by the output where that is in view: another
strategy or seed that asks the same is told what was answered, and nobody is asked twice. Answers
are taken when all questions of a batch have theirs; until then they can be taken back. Where
several people answer a question, what most of them say holds; people who are divided equally are
joined by one more. The seconds of all of them count.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from truecost.corrections import corrector
from truecost.corrections.kinds import joined, put_in_place
from truecost.corrections.texts import Turn, region_of, text_of, turns_of
from truecost.errors import InputError
from truecost.learning.system import Answer, Batch, Outputs, Question
from truecost.person.agreement import majority
from truecost.person.records import Kind
from truecost.person.seconds import Event, Seconds, Timing, seconds_of
from truecost.person.store import Asked, Row, Store
from truecost.person.views import View, Views
from truecost.speech.spans import MICRO

YES_NO = {"0": "no", "1": "yes"}  # classes of a detection, as people read them
CODES = {name: code for code, name in YES_NO.items()}
POLL = 0.05  # seconds between two looks at the store
STOPPED = (
    "the person has stopped: what was answered is kept, and --resume goes on with the next question"
)


class LivePerson(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers on a page: what decides the logs of `[expert] name = "person"`.

    `shown`: whether the output of the system is in view; None: where it is corrected.
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
        """What counts as work."""
        return Timing(self.idle, self.tail)


@dataclass(eq=False)
class LiveExpert:
    """Asks people on a page.

    Parameters
    ----------
    live : LivePerson
        Who answers, and where the store is.
    kind : str
        Of the outputs: "detection", "classes", or what `truecost.corrections` corrects.
    classes : tuple of str
        Of the first two.
    view : callable
        From an id to what is shown of the item.
    says : {"corrections", "verdicts"}
        What is right, or only whether the output is.
    effort : bool
        Whether words and actions of an answer are counted, as life cycles do.
    """

    live: LivePerson
    kind: str
    classes: tuple[str, ...]
    view: Callable[[str], View]
    says: str = "corrections"
    effort: bool = False
    store: Store = field(init=False)
    simulated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.live.store)
        self._waited: list[str] = []  # keys that are answered before any is taken
        self._taken: dict[str, Answer] = {}
        self._passed: set[str] = set()  # what was looked at, and is left or was corrected

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def expect(
        self, questions: Sequence[Question], batch: Batch, outputs: Sequence[str | None]
    ) -> None:
        """All questions of a batch at once, so that people see them and may take them back."""
        every = zip(questions, outputs, strict=True)
        asked = [self._asked(one, batch, output) for one, output in every]
        self.store.put(asked)
        self._waited = [one.key for one in asked]

    def answer(self, question: Question, batch: Batch) -> Answer:
        """What people say of an item without seeing an output of it; waits for it."""
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer:
        """What people say of an item or a part of it; waits for it.

        InputError when somebody stops the run on the page.
        """
        said = self._heard(self._asked(question, batch, output))
        return self._answer(question, said, output or "")

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """The next correction: people look at the outputs in their order, and say that one is right
        or correct it. The time of those that are right counts to the correction after them.

        None when no output is left, or InputError when somebody stops the run on the page.
        """
        told, spent = {answer.id for answer in given}, 0.0
        looked_at = list[str]()  # since the last correction
        for item, output in zip(batch.ids, outputs.decisions, strict=True):
            if item in told:
                continue
            asked = self._asked(Question(item), batch, output, volunteered=True)
            fresh = asked.key not in self._passed
            said = self._heard(asked)
            if fresh:
                spent += said.seconds
                looked_at.append(said.asked)
            self._passed.add(asked.key)
            if said.label is not None and fresh:
                found = self._answer(Question(item), said, output)
                return replace(found, seconds=round(spent, 3), asked="+".join(looked_at))
        return None

    def _heard(self, asked: Asked) -> Answer:
        """What people say to a question, with all others that wait; asks unless that was done."""
        if asked.key not in self._taken:
            if asked.key not in self._waited:
                self.store.put([asked])
                self._waited = [asked.key]
            self._wait()
            while not self.store.take_all(self._waited):  # somebody took an answer back
                self._wait()
            self._read(self._waited)
        return self._taken[asked.key]

    def _asked(
        self, question: Question, batch: Batch, output: str | None, *, volunteered: bool = False
    ) -> Asked:
        """A question as the page shows it; `volunteered`: whether there is anything to correct."""
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
        if self.classes:
            names = YES_NO.values() if self.kind == "detection" else self.classes
            payload["classes"] = [*names]
        if volunteered and form != "verdict":
            payload["correct"] = form
        if self.kind == "diarization" and output is not None:
            span = self._region(payload, question, output)
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
        """How the page asks."""
        if self.says == "verdicts":
            return "verdict"
        if self.kind == "diarization":
            return "region"
        return "classes" if self.classes else "text"

    def _shows(self, output: str | None) -> bool:
        """Whether the output is in view."""
        if self.live.shown is None or self.says == "verdicts":
            return output is not None
        return self.live.shown and output is not None

    def _source(self, question: Question, batch: Batch, seen: View) -> str | None:
        """The text that is answered about: that of the view, or what a system of texts reads."""
        if seen.text is not None or question.id not in batch.ids:
            return seen.text
        feature = batch.features[batch.ids.index(question.id)]
        return feature if isinstance(feature, str) else None

    def _region(
        self, payload: dict[str, Any], question: Question, output: str
    ) -> tuple[float, float] | None:
        """What of a recording is asked about: in seconds, with the speakers that there are."""
        turns = turns_of(output)
        ends = [turn.end for turn in turns]
        start, end = region_of(question.part) if question.part else (0, max(ends, default=0))
        payload["speakers"] = sorted({turn.speaker for turn in turns})
        payload["base"], payload["length"] = start / MICRO, (end - start) / MICRO
        payload["output"] = text_of(_inside(output, start, end))
        return (start / MICRO, end / MICRO) if end else None

    def _wait(self) -> None:
        """Until all that was expected is answered by as many people as it needs."""
        seen = -1
        while True:
            if self.store.meta("state") == "stopped":
                raise InputError(STOPPED)
            latest = self.store.latest()
            if latest != seen:
                seen = latest
                if all(self._decided(key) for key in self._waited):
                    return
            time.sleep(POLL)

    def _decided(self, key: str) -> bool:
        """Whether a question has its answer; one more person is asked where people are divided."""
        given = self.store.answers(key)
        divided = majority([said_of(row) for row in given]) is None
        if divided and self.live.overlap <= len(given) < len(self.live.people):
            self.store.widen(key, len(given) + 1)
        return len(given) >= self.live.overlap and not (
            divided and len(given) < len(self.live.people)
        )

    def _read(self, keys: Iterable[str]) -> None:
        """The answers of a batch, which were taken."""
        seconds = seconds_by(self.store, self.live.timing)
        for key in keys:
            given = self.store.answers(key)
            most = majority([said_of(row) for row in given]) or said_of(given[0])
            said = next(row for row in given if said_of(row) == most)
            self._taken[key] = Answer(
                id="",
                label=self._code(said.label),
                seconds=round(sum(seconds(key, row.person).active for row in given), 3),
                expert="+".join(sorted(row.person for row in given)),
                verdict=said.verdict,
                timing=self.live.timing.signature,
                asked=str(said.qid),
            )

    def _code(self, label: str | None) -> str | None:
        """A class as the system knows it."""
        return CODES[label] if label is not None and self.kind == "detection" else label

    def _answer(self, question: Question, said: Answer, output: str) -> Answer:
        """An answer to this question, with what it took to put it in."""
        said = replace(said, id=question.id, part=question.part)
        if said.verdict:
            return replace(said, words=0, actions=1)
        if said.label is None or not self.effort:
            return said
        label = said.label
        if self.kind == "diarization":
            label, words, actions = _turns_put_in(output, label, question.part)
        else:
            parts = corrector(self.kind).parts(output, label)
            words, actions = (sum(getattr(p, n) for p in parts) for n in ("words", "actions"))
        return replace(said, label=label, words=words, actions=actions)


def seconds_by(store: Store, timing: Timing) -> Callable[[str, str], Seconds]:
    """From the key of a question and a person to the seconds of the answer."""
    sessions = [
        [Event(one.kind, one.pid, one.mono, one.wall, one.t) for one in session]
        for session in store.history()
    ]
    measured, pids = seconds_of(sessions, timing), dict[tuple[str, str], list[str]]()
    for one in store.presentations():
        pids.setdefault((one.key, one.person), []).append(one.pid)
    return lambda key, person: measured(pids.get((key, person), ()))


def said_of(row: Row) -> tuple[str | None, str]:
    """What somebody answered; nothing where it was refused."""
    return row.label, row.verdict


def _inside(text: str, start: int, end: int) -> list[Turn]:
    """The turns of a region, cut to it."""
    cut = ((max(t.start, start), min(t.end, end), t.speaker) for t in turns_of(text))
    return [Turn(*one) for one in cut if one[0] < one[1]]


def _turns_put_in(output: str, label: str, part: str) -> tuple[str, int, int]:
    """Who speaks in a region, as told; turns that were put in and changed there."""
    from truecost.learning.lifelong.person import all_of, turns_changed

    region = part or all_of(output, label)
    start, end = region_of(region)
    told = _inside(label, start, end)
    right = text_of(put_in_place(turns_of(output), told, start, end))
    return text_of(joined(told)), *turns_changed(output, right, region)
