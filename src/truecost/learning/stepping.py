"""The steps of the loop: what a learner does and what a person says, checked and logged."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from msgspec import structs

from truecost.errors import InputError, TruecostError, counted
from truecost.learning.checking import check_answer, check_outputs
from truecost.learning.jobs import Keeper
from truecost.learning.log import Event, LogWriter
from truecost.learning.recorded import recorded_answer
from truecost.learning.system import (
    Answer,
    Answered,
    Batch,
    Learner,
    Outputs,
    Question,
    Stream,
    Waiting,
    described,
    name_of,
)

R = TypeVar("R")
Arrived = tuple[Batch, int, Answer]  # an answer, and where its item stands
Progress = Callable[[int, int], None]  # steps done, of how many
LABELS = "labels"  # the expert of what is learnt with its labels, all at once


@dataclass(eq=False)
class Learning:
    """Calls of a learner and of an expert, checked and logged; they begin where a run resumes.

    `how` is what must be the same in a run that resumes. `run` stands in every event; the clock of
    `state` goes on here. CPU seconds and the right labels of predictions are written where
    `record_cpu` and `labelled` say so. `expert` is an `Expert`, or None where nobody is asked. In a
    life cycle `version` is that of the model, and `where` the set that it works on (None: the
    lifelong set).
    """

    stream: Stream
    learner: Learner
    expert: Any
    log: LogWriter
    how: str
    run: str = ""
    record_cpu: bool = False
    labelled: bool = True
    checkpoint: int = 0
    version: int | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        self.who = name_of(self.learner)
        settings = f"{self.stream.digest}\n{self.how}\n{self.labelled}\n{self.who}"
        self.keeper = Keeper(self.log, self.run, self.stream.name, settings, self.checkpoint)
        self.state = self.keeper.resume(self.learner)
        if hasattr(self.expert, "note_recorded"):
            self.expert.note_recorded(event.asked for event in self.log.recorded if event.asked)
        self.simulated = getattr(self.expert, "simulated", False)
        self.timed = any(batch.times is not None for batch in self.stream.batches)
        self.spent = 0.0  # CPU seconds of calls that no event tells yet

    def steps(self, total: int, progress: Progress | None) -> Iterator[int]:
        """The steps that are left of so many; what was learnt is stored after each, when due."""
        state = self.state
        for step in range(max(state.batch, 0), total):
            yield step
            state.batch = step + 1
            self.keeper.keep(state, self.learner, last=state.batch == total)
            if progress is not None:
                progress(state.batch, total)

    @property
    def now(self) -> float | None:
        """The time of events."""
        return self.state.clock

    def arrive(self, batch: Batch) -> None:
        """A batch comes: the clock goes on."""
        if batch.times is not None:
            self.state.clock = max(self.state.clock, float(np.max(batch.times)))

    def event(self, kind: str, batch: Batch, **columns: Any) -> Event:
        """An event of a batch, now."""
        return Event(
            t=self.now,
            batch=batch.index if batch.index >= 0 else None,
            event=kind,
            stream=self.stream.name or None,
            run=self.run or None,
            **({"version": self.version, "set": self.where} | columns),
        )

    def answer_event(self, answer: Answer, batch: Batch, **columns: Any) -> Event:
        """An answer as an event of a batch."""
        return self.event(
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
            timing=answer.timing or None,
            asked=answer.asked or None,
            wall_seconds=answer.wall,
            heard_seconds=answer.heard,
            waited_seconds=answer.waited,
            guess=answer.guess or None,
            **columns,
        )

    def log_questions(
        self, questions: Sequence[Question], batch: Batch
    ) -> list[tuple[Question, bool]]:
        """Log what the system asks; and whether each question was recorded before."""
        known = len(self.log.recorded) - self.log.position
        self.log.emit_many(
            self.event("query", batch, id=one.id, part=one.part or None) for one in questions
        )
        return [(question, place < known) for place, question in enumerate(questions)]

    def call(self, batch: Batch, function: Callable[..., R], *arguments: object) -> R:
        """Call a method of the learner."""
        start = time.process_time() if self.record_cpu else 0.0  # the clock itself takes time
        try:
            result = function(*arguments)
        except TruecostError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.who}, {described(batch)}: {getattr(function, '__name__', 'it')} failed "
                f"({type(error).__name__}: {error})"
            ) from error
        if self.record_cpu:
            self.spent += time.process_time() - start
        return result

    def cpu(self, share: int = 1) -> float | None:
        """CPU seconds that no event tells yet, in equal shares; None when they are not wanted."""
        spent, self.spent = self.spent, 0.0
        return spent / share if self.record_cpu else None

    def say(self, batch: Batch) -> Outputs:
        """The learner's outputs for a batch, checked; they are not logged."""
        said = self.call(batch, self.learner.predict, batch)
        return check_outputs(said, self.stream, batch, f"{self.who}, {described(batch)}")

    def predict(self, batch: Batch, phase: str) -> Outputs:
        """The learner's outputs for a batch."""
        outputs = self.say(batch)
        self.write(batch, outputs, phase, self.cpu(len(batch)))
        return outputs

    def write(self, batch: Batch, outputs: Outputs, phase: str, cpu: float | None) -> None:
        """Log what was said of a batch."""
        known = self.stream.labels if self.labelled else {}
        rows = zip(batch.ids, outputs.scores.tolist(), outputs.decisions, strict=True)
        self.log.emit_many(
            self.event(
                "predict",
                batch,
                id=name,
                phase=phase,
                score=float(score),
                decision=decision,
                label=known.get(name),
                cpu_seconds=cpu,
            )
            for name, score, decision in rows
        )

    def adapt(self, batch: Batch, answered: Answered, **columns: Any) -> None:
        """The learner learns."""
        self.call(batch, self.learner.adapt, batch, answered)
        self.log.emit(self.event("adapt", batch, **columns, cpu_seconds=self.cpu()))

    def learn_labels(self, batch: Batch, where: str, **columns: Any) -> None:
        """Learn items with their labels, all at once: one event says how many there were."""
        known = self.stream.labels
        answers = tuple(Answer(name, known[name], expert=LABELS) for name in batch.ids)
        told = {"expert": LABELS, "set": where, "count": len(batch), "version": None}
        self.log.emit(self.event("answer", batch, **told))
        self.adapt(batch, Answered(batch, answers), **columns)

    def expect(
        self,
        questions: Sequence[tuple[Question, bool]],
        batch: Batch,
        outputs: Sequence[str | None] | None = None,
    ) -> None:
        """Tell a person, who may want to know, all questions of a batch that have no answer yet.

        `questions`: as of `hear`; `outputs`: what the person sees of each.
        """
        if not hasattr(self.expert, "expect"):
            return
        seen = outputs or [None] * len(questions)
        left = [
            (one, output)
            for (one, recorded), output in zip(questions, seen, strict=True)
            if not (recorded and self._recorded(one, batch))
        ]
        if left:
            self.expert.expect([one for one, _ in left], batch, [output for _, output in left])

    def _recorded(self, question: Question, batch: Batch) -> Event | None:
        """The answer that the log or what is kept beside it has."""
        asked = self.event("query", batch, id=question.id, part=question.part or None)
        return self.log.recorded_answer(asked) or self.keeper.late.get(asked.key)

    def hear(
        self, question: Question, batch: Batch, recorded: bool, output: str | None = None
    ) -> Answer | None:
        """The recorded answer, or that of the person; None when the person stops.

        `recorded` says whether the log holds the question: only then may the answer be on its way.
        A simulated person is asked again, as that costs nothing, and has to say the same; others
        never are. `output` is what the person sees of the item.
        """
        asked = self.event("query", batch, id=question.id, part=question.part or None)
        event = self.log.recorded_answer(asked)
        if event is None and recorded:
            event = self.keeper.late.get(asked.key)
        if event is not None and event.event == "query":
            return None  # the person had stopped here
        fresh = self._fresh(question, batch, output) if event is None or self.simulated else None
        if event is not None:
            late = event.batch is not None and self.where is None
            known = answer_of(event, max(0, (event.batch or 0) - batch.index) if late else 0)
            self.refuse_another(known, fresh)
            return check_answer(known, question, self.stream, batch)
        if fresh is None:  # so that a run that resumes does not ask again
            self.keeper.put_late(asked)
        elif fresh.delay and batch.index >= 0:
            late_event = self.answer_event(fresh, batch)
            self.keeper.put_late(structs.replace(late_event, batch=batch.index + fresh.delay))
        return fresh

    def _fresh(self, question: Question, batch: Batch, output: str | None) -> Answer | None:
        """A checked answer of the person; without delay except in streams and the lifelong set."""
        if output is not None and hasattr(self.expert, "correct"):
            said = self.expert.correct(question, batch, output)
        else:
            said = self.expert.answer(question, batch)
        if said is None:
            return None
        answer = check_answer(said, question, self.stream, batch)
        return answer if self.where is None else replace(answer, delay=0)

    def refuse_another(self, known: Answer | None, fresh: Answer | None) -> None:
        """Refuse to go on with another simulated person than the one of the log."""
        if self.simulated and known != fresh:
            raise InputError(
                f"{self.log.path}: the run cannot be resumed with another expert: "
                f"the log has the answer {_answer_text(known)}, but this expert gives "
                f"{_answer_text(fresh)}; use the earlier settings, or start a new run in another "
                "folder"
            )

    def tell(self, answer: Answer, batch: Batch, **columns: Any) -> None:
        """An answer arrives: the clock goes on, and it is logged."""
        if not self.timed:
            self.state.clock += answer.seconds
        self.log.emit(self.answer_event(answer, batch, **columns))

    def take(self, answer: Answer, batch: Batch) -> list[Arrived]:
        """An answer to a question about this batch: told at once, or on its way."""
        if answer.delay:
            due = batch.index + answer.delay
            self.state.waiting.append(Waiting(batch.index, due, answer))
            return []
        self.tell(answer, batch)
        return [(batch, batch.ids.index(answer.id), answer)]

    def due(self, batch: Batch) -> list[Arrived]:
        """Late answers that arrive in this batch, in the order of their questions."""
        arrived = []
        for late in self.state.waiting:
            if late.due <= batch.index:
                self.tell(late.answer, batch, **({"version": late.asked} if self.version else {}))
                source = self.stream.batches[late.asked]
                arrived.append((source, source.ids.index(late.answer.id), late.answer))
        self.state.waiting = [late for late in self.state.waiting if late.due > batch.index]
        return arrived


def answer_of(event: Event, delay: int) -> Answer:
    """A recorded answer."""
    return recorded_answer(structs.asdict(event), delay, "")


def _answer_text(answer: Answer | None) -> str:
    """An answer for a message."""
    if answer is None:
        return "nothing"
    part = f" (part {answer.part!r})" if answer.part else ""
    time = counted(answer.seconds, "second")
    return f"{answer.verdict or answer.label!r:.80} on item {answer.id!r}{part} in {time}"


def with_items(batch: Batch, arrived: Sequence[Arrived]) -> Answered:
    """Answers with their items; refusals are left out."""
    given = [one for one in arrived if one[2].label is not None or one[2].verdict]
    answers = tuple(answer for _, _, answer in given)
    if all(source is batch for source, _, _ in given):
        return Answered(batch.take([row for _, row, _ in given]), answers)
    items = [source.take([row]) for source, row, _ in given]
    times = None
    if batch.times is not None:
        times = np.concatenate([item.times for item in items if item.times is not None])
    return Answered(
        Batch(
            batch.index,
            tuple(answer.id for answer in answers),
            np.concatenate([item.features for item in items]),
            batch.stream,
            times,
        ),
        answers,
    )
