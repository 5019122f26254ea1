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
shares on its items, that of asking and adapting on the event `adapt`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from truecost.errors import InputError, UsageError
from truecost.learning.checking import check_budget, check_stream, name_of
from truecost.learning.checkpoint import Keeper, State
from truecost.learning.log import LogWriter
from truecost.learning.options import LoopTable
from truecost.learning.stepping import Learning, Teaching
from truecost.learning.system import Answer, Answered, Batch, Expert, Learner, Stream, System
from truecost.options import check, check_fields

LABELS = "labels"  # the expert of the passive baseline
Progress = Callable[[int, int], None]  # batches done, of how many


@dataclass(frozen=True)
class Budget:
    """How many questions a person answers.

    Parameters
    ----------
    count : int
        Of each batch; a batch with fewer items has as many as items.
    rate : float, optional
        In place of it, the share [0, 1] of all items so far, spread evenly: a batch has
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
            So far, those of the batch included.
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
        Open; may hold other streams before. Who opened it finishes it.
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
    settings = f"{stream.digest}\n{budget}\n{labelled}\n{name_of(system)}"
    keeper = Keeper(log, run, stream.name, settings, checkpoint)
    state = keeper.resume(system)
    learning = Learning(stream, system, log, state, run, record_cpu, labelled)
    teaching = Teaching(learning, system, expert, keeper)
    if state.batch < 0:
        teaching.bootstrap()
        state.batch = 0
    total = len(stream.batches)
    for batch in stream.batches[state.batch :]:
        _step(batch, learning, teaching, budget)
        keeper.keep(state, system, last=state.batch == total)
        if progress is not None:
            progress(state.batch, total)


def _step(batch: Batch, learning: Learning, teaching: Teaching, budget: Budget) -> None:
    """One batch."""
    state = learning.state
    learning.arrive(batch)
    state.items += len(batch)
    learning.predict(batch, "pre")
    allowed = budget.allowed(len(batch), state.items, state.asked)
    answered = teaching.ask(batch, allowed)
    learning.adapt(batch, answered)
    learning.predict(batch, "post")
    state.batch += 1


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

    The pool is one event `answer` of the set `training` that counts its items. What is said after
    adaptation is what was said before, as nothing is learnt in between.

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
    learning = Learning(stream, learner, log, State(), run, record_cpu, labelled)
    learning.arrive(pool)
    answers = tuple(Answer(name, stream.labels[name], expert=LABELS) for name in pool.ids)
    log.emit(learning.event("answer", pool, expert=LABELS, set="training", count=len(pool)))
    learning.adapt(pool, Answered(pool, answers))
    for batch in stream.batches:
        learning.arrive(batch)
        outputs = learning.predict(batch, "pre")
        learning.write(batch, outputs, "post", None)
        if progress is not None:
            progress(batch.index + 1, len(stream.batches))
