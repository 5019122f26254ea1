"""Human-assisted and lifelong learning: streams, systems, experts and the loop that joins them.

What happens is written to an event log; every figure is computed from the log alone (`tc.stream`)::

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

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.learning.asking import Asking, Strategy
    from truecost.learning.expert import RecordedExpert, ReferenceExpert
    from truecost.learning.learners import build as build_learner
    from truecost.learning.log import LogWriter
    from truecost.learning.loop import Budget, run_passive, run_stream
    from truecost.learning.strategies import build as build_strategy
    from truecost.learning.stream import Stream
    from truecost.learning.streams import Source, streams_of
    from truecost.learning.system import (
        Answer,
        Answered,
        Batch,
        Expert,
        Learner,
        Outputs,
        Question,
        Restorable,
        System,
        Task,
        generator,
    )

_HOME = {
    "asking": ("Asking", "Strategy"),
    "expert": ("RecordedExpert", "ReferenceExpert"),
    "log": ("LogWriter",),
    "loop": ("Budget", "run_passive", "run_stream"),
    "stream": ("Stream",),
    "streams": ("Source", "streams_of"),
    "system": (
        *("Answer", "Answered", "Batch", "Expert", "Learner", "Outputs", "Question"),
        *("Restorable", "System", "Task", "generator"),
    ),
}
_BUILDERS = {"build_learner": "learners", "build_strategy": "strategies"}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Answer",
    "Answered",
    "Asking",
    "Batch",
    "Budget",
    "Expert",
    "Learner",
    "LogWriter",
    "Outputs",
    "Question",
    "RecordedExpert",
    "ReferenceExpert",
    "Restorable",
    "Source",
    "Strategy",
    "Stream",
    "System",
    "Task",
    "build_learner",
    "build_strategy",
    "generator",
    "run_passive",
    "run_stream",
    "streams_of",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name in _BUILDERS:
        return importlib.import_module(f"truecost.learning.{_BUILDERS[name]}").build
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"truecost.learning.{_MODULE[name]}"), name)
