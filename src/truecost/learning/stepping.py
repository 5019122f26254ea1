"""The steps of the loop: what a learner does and what a person says, checked and logged."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np

from truecost.errors import InputError, TruecostError
from truecost.learning.checking import (
    check_answer,
    check_outputs,
    check_questions,
    described,
    name_of,
)
from truecost.learning.checkpoint import Keeper, State, Waiting
from truecost.learning.log import Event, LogWriter
from truecost.learning.system import (
    Answer,
    Answered,
    Batch,
    Expert,
    Learner,
    Outputs,
    Question,
    Stream,
    System,
)

R = TypeVar("R")
Arrived = tuple[Batch, int, Answer]  # an answer, and where its item stands


@dataclass(eq=False)
class Learning:
    """Calls of a learner, checked and logged.

    Attributes
    ----------
    state : State
        Whose clock goes on here.
    run : str
        Stands in every event.
    record_cpu, labelled : bool
        Whether to write CPU seconds, and the right labels of predictions.
    """

    stream: Stream
    learner: Learner
    log: LogWriter
    state: State
    run: str = ""
    record_cpu: bool = False
    labelled: bool = True

    def __post_init__(self) -> None:
        self.who = name_of(self.learner)
        self.timed = any(batch.times is not None for batch in self.stream.batches)
        self.spent = 0.0  # CPU seconds of calls that no event tells yet

    def arrive(self, batch: Batch) -> None:
        """A batch comes: the clock goes on."""
        if batch.times is not None:
            self.state.clock = max(self.state.clock, float(np.max(batch.times)))

    def event(self, kind: str, batch: Batch, **columns: Any) -> Event:
        """An event of a batch, now."""
        return Event(
            t=self.state.clock,
            batch=batch.index if batch.index >= 0 else None,
            event=kind,
            stream=self.stream.name or None,
            run=self.run or None,
            **columns,
        )

    def call(self, batch: Batch, function: Callable[..., R], *arguments: object) -> R:
        """Call a method of the learner.

        Raises
        ------
        InputError
            When it fails, naming learner, batch and method.
        """
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

    def predict(self, batch: Batch, phase: str) -> Outputs:
        """What the learner says of a batch."""
        said = self.call(batch, self.learner.predict, batch)
        outputs = check_outputs(said, self.stream, batch, self.who)
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

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """The learner learns."""
        self.call(batch, self.learner.adapt, batch, answered)
        self.log.emit(self.event("adapt", batch, cpu_seconds=self.cpu()))


@dataclass(eq=False)
class Teaching:
    """Questions and answers, checked and logged."""

    learning: Learning
    system: System
    expert: Expert
    keeper: Keeper

    def bootstrap(self) -> None:
        """The items before the stream are answered, and learnt."""
        batch = self.learning.stream.bootstrap
        if batch is None:
            return
        self.learning.arrive(batch)
        arrived = []
        for row, name in enumerate(batch.ids):
            answer = self._answer(Question(name), batch, self.learning.log.replaying)
            self._tell(answer, batch, set="bootstrap")
            arrived.append((batch, row, answer))
        self.learning.adapt(batch, joined(batch, arrived))

    def ask(self, batch: Batch, allowed: int) -> Answered:
        """What the system gets to know in a batch.

        Parameters
        ----------
        allowed : int
            Questions at most; at 0 the system does not ask.

        Returns
        -------
        Answered
            Late answers that are due, in the order of their questions, then those to this batch's.
        """
        questions = self._questions(batch, allowed) if allowed else ()
        arrived = self._due(batch)
        for question, recorded in questions:
            answer = self._answer(question, batch, recorded)
            if answer.delay:
                due = batch.index + answer.delay
                self.learning.state.waiting.append(Waiting(batch.index, due, answer))
            else:
                self._tell(answer, batch)
                arrived.append((batch, batch.ids.index(answer.id), answer))
        return joined(batch, arrived)

    def _questions(self, batch: Batch, allowed: int) -> list[tuple[Question, bool]]:
        """What the system asks, logged; and whether it was recorded before."""
        learning = self.learning
        asked = learning.call(batch, self.system.ask, batch, allowed)
        questions = check_questions(asked, allowed, batch, learning.who)
        before = learning.log.position
        known = len(learning.log.recorded) - before
        learning.log.emit_many(
            learning.event("query", batch, id=question.id, part=question.part or None)
            for question in questions
        )
        learning.state.asked += len(questions)
        return [(question, place < known) for place, question in enumerate(questions)]

    def _due(self, batch: Batch) -> list[Arrived]:
        """Late answers that arrive in this batch."""
        state, batches = self.learning.state, self.learning.stream.batches
        arrived = []
        for late in state.waiting:
            if late.due <= batch.index:
                self._tell(late.answer, batch)
                source = batches[late.asked]
                arrived.append((source, source.ids.index(late.answer.id), late.answer))
        state.waiting = [late for late in state.waiting if late.due > batch.index]
        return arrived

    def _answer(self, question: Question, batch: Batch, recorded: bool) -> Answer:
        """The recorded answer, or that of the expert.

        `recorded` says whether the log holds the question: only then may the answer be on its way.
        """
        log, stream, run = self.learning.log, self.learning.stream, self.learning.run
        event = log.recorded_answer(question.id, question.part, stream=stream.name, run=run)
        if event is None and recorded:
            event = self.keeper.late(question.id, question.part)
        if event is not None:
            return check_answer(_told(event, batch), question, stream, batch)
        answer = check_answer(self.expert.answer(question, batch), question, stream, batch)
        if answer.delay and batch.index >= 0:
            due = batch.index + answer.delay
            self.keeper.put_late(msgspec.structs.replace(self._said(answer, batch), batch=due))
        return answer

    def _tell(self, answer: Answer, batch: Batch, **columns: Any) -> None:
        """An answer arrives: the clock goes on, and it is logged."""
        if not self.learning.timed:
            self.learning.state.clock += answer.seconds
        self.learning.log.emit(self._said(answer, batch, **columns))

    def _said(self, answer: Answer, batch: Batch, **columns: Any) -> Event:
        """An answer as an event of a batch."""
        return self.learning.event(
            "answer",
            batch,
            id=answer.id,
            part=answer.part or None,
            label=answer.label,
            expert=answer.expert,
            active_seconds=float(answer.seconds),
            **columns,
        )


def _told(event: Event, batch: Batch) -> Answer:
    """A recorded answer to a question of this batch."""
    return Answer(
        id=event.id or "",
        label=event.label,
        seconds=event.active_seconds or 0.0,
        expert=event.expert or "",
        delay=0 if event.batch is None else max(0, event.batch - batch.index),
        part=event.part or "",
    )


def joined(batch: Batch, arrived: Sequence[Arrived]) -> Answered:
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
