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
from truecost.learning.snapshots import can_keep, restorable, stored
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
    described,
    name_of,
)
from truecost.options import check, check_fields


@dataclass(eq=False)
class Asking:
    """A system that consists of a learner and a query strategy.

    Attributes
    ----------
    learner : Learner
        Predicts, and learns from the answers.
    strategy : Strategy
        Chooses the items to ask about, from the learner's outputs before adaptation.
    """

    learner: Learner
    strategy: Strategy

    def __post_init__(self) -> None:
        self._seen: tuple[Batch, Outputs] | None = None  # the last prediction

    @property
    def name(self) -> str:
        """Names of the learner and the strategy, for messages."""
        return f"{name_of(self.learner)} with {name_of(self.strategy)}"

    def predict(self, batch: Batch) -> Outputs:
        """Outputs of the learner for the items of a batch."""
        outputs = self.learner.predict(batch)
        self._seen = (batch, outputs)
        return outputs

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """Questions about the items that the strategy chooses by the learner's latest outputs for
        the batch.

        Raises
        ------
        InputError
            If the strategy does not choose exactly min(budget, len(batch)) different items.
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
        """Let the learner, then the strategy, learn from the answers."""
        outputs = self._outputs(batch)
        self.learner.adapt(batch, answered)
        learn = getattr(self.strategy, "learn", None)
        if learn is not None:
            learn(batch, outputs, answered)

    def _outputs(self, batch: Batch) -> Outputs | None:
        """The last prediction, where it was made on this batch."""
        return self._seen[1] if self._seen is not None and self._seen[0] is batch else None

    def __getattr__(self, name: str) -> Any:
        """An optional method of the learner, such as `adapt_offline`."""
        if name == "learner":  # before it is there
            raise AttributeError(name)
        return getattr(self.learner, name)

    @property
    def restorable(self) -> bool:
        """Whether `snapshot` and `restore` work: both the learner and the strategy must have these
        methods.

        A strategy with `stateless = True` needs neither method.
        """
        return restorable(self.learner) and can_keep(self.strategy)

    def snapshot(self) -> bytes:
        """States of the learner and the strategy as bytes."""
        parts = [stored(part) if restorable(part) else b"" for part in self._parts()]
        return msgspec.msgpack.encode(parts)

    def restore(self, state: bytes) -> None:
        """Restore the states of the learner and the strategy from a result of `snapshot`."""
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
    """Limit for the number of questions: a number per batch, or a share of all items.

    Parameters
    ----------
    count : int
        Number of questions per batch; at least 0. A batch with fewer items has one question for
        each item.
    rate : float, optional
        Share of all items to ask about, in [0, 1], instead of `count`. The questions are spread
        evenly: a batch has floor(rate x n) - a questions, where n is the number of items so far,
        including this batch, and a the number of questions in earlier batches.

    Raises
    ------
    UsageError
        If a value is out of range, or both `count` and `rate` are given.
    """

    count: int = 0
    rate: float | None = None

    def __post_init__(self) -> None:
        check(LoopTable(budget=self.count), "key")
        check_fields(self, LoopTable, "key")
        if self.rate is not None and self.count:
            raise UsageError("a budget is a number of questions a batch or a rate, not both")

    def allowed(self, size: int, items: int, asked: int) -> int:
        """Number of questions that the system may ask in a batch.

        Parameters
        ----------
        size : int
            Number of items of the batch.
        items : int
            Number of items so far, including the items of the batch.
        asked : int
            Number of questions in earlier batches.
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
    """Let a system learn from a stream with a person's help, and write an event log.

    Parameters
    ----------
    stream : Stream
        Stream to process. The system receives all labels of its bootstrap set before the first
        batch.
    system : System
        System to run, in its initial state.
    expert : Expert
        Person who answers the questions.
    budget : Budget
        Limit for the number of questions.
    log : LogWriter
        Open event log, which may already contain other streams. The function does not close the
        log.
    run : str
        Name of the run in each event.
    record_cpu : bool
        Whether to record CPU seconds, which differ between two runs with identical settings.
    labelled : bool
        Whether to write the correct label into each prediction. The log can then be scored without
        a label file.
    checkpoint : int
        Number of batches between two checkpoints; 0 for no checkpoints. The system needs `snapshot`
        and `restore`.
    progress : callable, optional
        Function that is called after each batch with the number of processed batches and the number
        of all batches.

    Raises
    ------
    UsageError
        If the budget is above the size of the largest batch, or the system has no method `ask`.
        Nothing has run then.
    InputError
        If the system fails, the system or the expert gives an invalid value, or the log contains
        events that this run would not write.
    """
    if not isinstance(system, System):
        raise UsageError(
            f"{name_of(system)} has no method ask: combine it with a strategy, Asking(learner, "
            "strategy)"
        )
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
    """Run the passive baseline: learn once from a labelled training pool, then predict the stream.

    The log contains one `answer` event of the set `training` with the number of items of the pool.
    The learner does not change during the stream, so the outputs before and after adaptation are
    identical.

    Parameters
    ----------
    stream : Stream
        Stream with a pool.
    learner : Learner
        Learner to run; its method `adapt` is called once.
    log : LogWriter
        Open event log.
    run, record_cpu, labelled, progress
        Parameters as in `run_stream`.

    Raises
    ------
    UsageError
        If the stream has no pool.
    InputError
        If an item of the pool has no label, the learner fails or gives an invalid value, or the log
        contains events that this run would not write.
    """
    pool = stream.pool
    if pool is None:
        raise UsageError("the passive baseline needs a training pool: set pool under [source]")
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
