"""Human-assisted and lifelong learning: streams, systems, experts and the loop that joins them.

All events are written to an event log; `tc.streams` computes every figure from the log alone::

    from truecost import learning

    [stream] = learning.streams_of(learning.Source(name="digits", targets=("3",)), 60, seed=0)
    task = learning.Task(stream.kind, stream.classes, seed=0)
    learner = learning.build_learner("logistic", task)
    system = learning.Asking(learner, learning.build_strategy("margin", {}, seed=0))
    expert = learning.ReferenceExpert(stream.labels, stream.classes, seconds=4.0)
    with learning.LogWriter.open("events.jsonl") as log:
        learning.run_stream(stream, system, expert, learning.Budget(4), log)

A system of one's own needs `predict` and `adapt` (`Learner`), and `ask` if it asks itself
(`System`); a strategy needs `choose` (`Strategy`), an expert `answer` (`Expert`). Nothing here is
imported by the tasks.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.expert import ReferenceExpert as ReferenceExpert
    from truecost.learning.learners.building import build as _build_learner
    from truecost.learning.log import LogWriter as LogWriter
    from truecost.learning.loop import Asking as Asking
    from truecost.learning.loop import Budget as Budget
    from truecost.learning.loop import run_passive as run_passive
    from truecost.learning.loop import run_stream as run_stream
    from truecost.learning.recorded import RecordedExpert as RecordedExpert
    from truecost.learning.source import Source as Source
    from truecost.learning.strategies.mixtures import build as _build_strategy
    from truecost.learning.streams import streams_of as streams_of
    from truecost.learning.system import Answer as Answer
    from truecost.learning.system import Answered as Answered
    from truecost.learning.system import Batch as Batch
    from truecost.learning.system import Expert as Expert
    from truecost.learning.system import Learner as Learner
    from truecost.learning.system import Outputs as Outputs
    from truecost.learning.system import Question as Question
    from truecost.learning.system import Restorable as Restorable
    from truecost.learning.system import Strategy as Strategy
    from truecost.learning.system import Stream as Stream
    from truecost.learning.system import System as System
    from truecost.learning.system import Task as Task
    from truecost.learning.system import generator as generator

    build_learner = _build_learner
    build_strategy = _build_strategy
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
