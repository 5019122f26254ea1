"""The loop: a stream, a system that learns from it, an expert who answers, a log of it all.

For each batch in turn::

    predict (pre)  ->  ask  ->  answers  ->  adapt  ->  predict (post)

Each step is written to the log when it is done. There is one code path for a run that begins and
for one that resumes: a run that resumes does everything again, the log compares instead of writing
as long as it holds recorded events, and recorded answers are taken from it, so that nobody is asked
twice. Late answers reach the system in the batch where they are due, before those to the batch's
own questions; what is due after the end never arrives. A person may refuse: that is logged as an
answer without label, and the system does not get to know.

`t` in the log is simulated, so that the same run writes the same bytes: where the stream has times
it is the latest of an item that has arrived (0 before the first), otherwise the seconds that the
person has been active.
`cpu_seconds` is written when asked for: the CPU time of this process for a prediction in equal
shares on its items, that of asking and adapting on the event `adapt`. Nothing here knows of a GPU:
`gpu_seconds` are for logs of others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from truecost.errors import InputError, UsageError, first_five
from truecost.learning.checking import check_budget, check_questions, check_stream
from truecost.learning.log import LogWriter
from truecost.learning.options import LoopTable
from truecost.learning.stepping import Learning, Progress, with_items
from truecost.learning.system import (
    Answer,
    Answered,
    Batch,
    Expert,
    Learner,
    Outputs,
    Question,
    Strategy,
    Stream,
    System,
    can_keep,
    described,
    name_of,
    restorable,
    stored,
)
from truecost.options import check, check_fields


@dataclass(eq=False)
class Asking:
    """A system made of a learner and a strategy.

    Attributes
    ----------
    strategy : Strategy
        Chooses from the learner's output on the batch before adaptation.
    """

    learner: Learner
    strategy: Strategy

    def __post_init__(self) -> None:
        self._seen: tuple[Batch, Outputs] | None = None  # the last prediction

    @property
    def name(self) -> str:
        """Both names, for messages."""
        return f"{name_of(self.learner)} with {name_of(self.strategy)}"

    def predict(self, batch: Batch) -> Outputs:
        """The learner's outputs."""
        outputs = self.learner.predict(batch)
        self._seen = (batch, outputs)
        return outputs

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """The strategy's choice from the last prediction on this batch.

        Raises
        ------
        InputError
            When the strategy does not choose exactly min(budget, len(batch)) different items.
        """
        outputs = self._outputs(batch) or self.predict(batch)
        count = min(budget, len(batch))
        rows = [int(row) for row in self.strategy.choose(batch, outputs, count)]
        if len(rows) != count or len(set(rows)) != count or not set(rows) <= {*range(len(batch))}:
            raise InputError(
                f"the strategy {name_of(self.strategy)} chose the places {first_five(rows)} "
                f"({len(rows)} of them) in {described(batch)} of {len(batch)} items: expected "
                f"{count} different places from 0 to {len(batch) - 1}"
            )
        return [Question(batch.ids[row]) for row in rows]

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """The learner adapts, then the strategy learns from what was answered."""
        outputs = self._outputs(batch)
        self.learner.adapt(batch, answered)
        learn = getattr(self.strategy, "learn", None)
        if learn is not None:
            learn(batch, outputs, answered)

    def _outputs(self, batch: Batch) -> Outputs | None:
        """The last prediction, where it was made on this batch."""
        return self._seen[1] if self._seen is not None and self._seen[0] is batch else None

    def __getattr__(self, name: str) -> Any:
        """What a learner may have beside these methods, such as `adapt_offline`."""
        if name == "learner":  # before it is there
            raise AttributeError(name)
        return getattr(self.learner, name)

    @property
    def restorable(self) -> bool:
        """Whether `snapshot` and `restore` work: learner and strategy must have them.

        A strategy that says `stateless = True` keeps nothing and needs none.
        """
        return restorable(self.learner) and can_keep(self.strategy)

    def snapshot(self) -> bytes:
        """The states of learner and strategy."""
        parts = [stored(part) if restorable(part) else b"" for part in self._parts()]
        return msgspec.msgpack.encode(parts)

    def restore(self, state: bytes) -> None:
        """Both go back to a snapshot."""
        self._seen = None
        for part, kept in zip(
            self._parts(), msgspec.msgpack.decode(state, type=list[bytes]), strict=True
        ):
            if restorable(part):
                part.restore(kept)

    def _parts(self) -> tuple[Learner | Strategy, ...]:
        return self.learner, self.strategy


@dataclass(frozen=True)
class Budget:
    """How many questions a person answers.

    Parameters
    ----------
    count : int
        Number of questions per batch; a smaller batch has one question for each item.
    rate : float, optional
        Instead of it, the share [0, 1] of all items so far, spread evenly: a batch has
        floor(rate x items so far) - questions so far.

    Raises
    ------
    UsageError
        When one is out of its range, or both are given.
    """

    count: int = 0
    rate: float | None = None

    def __post_init__(self) -> None:
        check(LoopTable(budget=self.count), "key")
        check_fields(self, LoopTable, "key")
        if self.rate is not None and self.count:
            raise UsageError("a budget is a number of questions a batch or a rate, not both")

    def allowed(self, size: int, items: int, asked: int) -> int:
        """Questions that a batch may have.

        Parameters
        ----------
        size : int
            Items of the batch.
        items : int
            Number of items so far, including the items of the batch.
        asked : int
            Questions so far.
        """
        if self.rate is None:
            return min(self.count, size)
        due = math.floor(Fraction(str(self.rate)) * items) - asked  # 0.29 x 100 is 29
        return max(0, min(due, size))


def run_stream(
    stream: Stream,
    system: System,
    expert: Expert,
    budget: Budget,
    log: LogWriter,
    *,
    run: str = "",
    record_cpu: bool = False,
    labelled: bool = True,
    checkpoint: int = 0,
    progress: Progress | None = None,
) -> None:
    """Let a system learn from a stream with a person's help, and log what happens.

    Parameters
    ----------
    stream : Stream
        Its bootstrap set is answered, without questions and at once, before it starts.
    system : System
        New, or as it shall start.
    log : LogWriter
        Open; may hold other streams before. The code that opened it closes it.
    run : str
        Stands in every event.
    record_cpu : bool
        Write CPU seconds; two runs then no longer write the same bytes.
    labelled : bool
        Write the right label into predictions, so that the log can be scored alone.
    checkpoint : int
        Batches between two checkpoints, for systems with `snapshot` and `restore`; 0 for none.
    progress : callable, optional
        Called after each batch with the number of batches done and their total.

    Raises
    ------
    UsageError
        Before anything runs, when the budget is above the batch size.
    InputError
        When the system or the expert says what cannot be, the system fails, or the log holds
        events of a run that did something else.
    """
    if not isinstance(system, System):
        raise UsageError(f"{name_of(system)} cannot ask: join it with a strategy (`Asking`)")
    check_budget(budget.count, stream)
    check_stream(stream, stream.bootstrap)
    what = (stream, system, expert, log, str(budget))
    learning = Learning(*what, run, record_cpu, labelled, checkpoint)
    if learning.state.batch < 0 and stream.bootstrap is not None:
        _bootstrap(stream.bootstrap, learning)
    for step in learning.steps(len(stream.batches), progress):
        _step(stream.batches[step], system, learning, budget)


def _bootstrap(batch: Batch, learning: Learning) -> None:
    """The items before the stream are answered, and learnt."""
    learning.arrive(batch)
    arrived, recorded = [], learning.log.replaying
    learning.expect([(Question(name), recorded) for name in batch.ids], batch)
    for row, name in enumerate(batch.ids):
        answer = _answer(Question(name), batch, learning.log.replaying, learning)
        learning.tell(answer, batch, set="bootstrap")
        arrived.append((batch, row, answer))
    learning.adapt(batch, with_items(batch, arrived))


def _step(batch: Batch, system: System, learning: Learning, budget: Budget) -> None:
    """One batch; late answers that are due come before those to its own questions."""
    state, questions = learning.state, list[tuple[Question, bool]]()
    learning.arrive(batch)
    state.items += len(batch)
    outputs = learning.predict(batch, "pre")
    seen = dict(zip(batch.ids, outputs.decisions, strict=True))
    if allowed := budget.allowed(len(batch), state.items, state.asked):
        said = learning.call(batch, system.ask, batch, allowed)
        asked = check_questions(said, allowed, batch, learning.who)
        state.asked += len(asked)
        questions = learning.log_questions(asked, batch)
    arrived = learning.due(batch)
    learning.expect(questions, batch, [seen[question.id] for question, _ in questions])
    for question, recorded in questions:
        answer = _answer(question, batch, recorded, learning, seen[question.id])
        arrived += learning.take(answer, batch)
    learning.adapt(batch, with_items(batch, arrived))
    learning.predict(batch, "post")


def _answer(
    question: Question,
    batch: Batch,
    recorded: bool,
    learning: Learning,
    output: str | None = None,
) -> Answer:
    """The recorded answer, or that of the expert, who may see the output."""
    answer = learning.hear(question, batch, recorded, output)
    if answer is None:
        raise InputError(
            f"{described(batch)}, item {question.id!r}: the expert gave no answer; one who "
            "refuses gives an Answer without a label"
        )
    return answer


def run_passive(
    stream: Stream,
    learner: Learner,
    log: LogWriter,
    *,
    run: str = "",
    record_cpu: bool = False,
    labelled: bool = True,
    progress: Progress | None = None,
) -> None:
    """The passive baseline: learn once from a training pool with its labels, then only predict.

    The pool is one event `answer` of the set `training` that counts its items. The outputs after
    adaptation are those before, as nothing is learnt in between.

    Parameters
    ----------
    stream : Stream
        With a pool.
    learner : Learner
        Its `adapt` is called once.
    log, run, record_cpu, labelled, progress
        As for `run_stream`.

    Raises
    ------
    UsageError
        When the stream has no pool.
    InputError
        As for `run_stream`, and when an item of the pool has no label.
    """
    pool = stream.pool
    if pool is None:
        raise UsageError("the passive baseline needs a training pool, and the stream has none")
    check_stream(stream, pool)
    unknown = next((name for name in pool.ids if name not in stream.labels), None)
    if unknown is not None:
        raise InputError(f"item {unknown!r} of the training pool has no label: give labels of all")
    learning = Learning(stream, learner, None, log, "passive", run, record_cpu, labelled)
    learning.arrive(pool)
    learning.learn_labels(pool, "training")
    for step in learning.steps(len(stream.batches), progress):
        batch = stream.batches[step]
        learning.arrive(batch)
        learning.write(batch, learning.predict(batch, "pre"), "post", None)
