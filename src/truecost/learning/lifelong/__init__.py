"""Lifelong learning: a life cycle of time-labelled data, a system that lives through it, a log.

A `Course` holds the data: a lifelong set that the system adapts to, batch after batch, and a test
set over the same period, on which every version of it is tried. `run_lifelong` (in `living`)
takes a system through it, with a person's help (`helping`), and writes the event log::

    from truecost.learning import LogWriter
    from truecost.learning.lifelong import Course, DomainExpert, Help, Life, run_lifelong

    course = Course.of("classes", lifelong, test, references, classes=("cat", "dog"))
    expert = DomainExpert(course.kind, course.references, course.classes, seconds=4.0)
    life = Life(stream=Help(questions=5), test=Help(corrections=2))
    with LogWriter.open("events.jsonl") as log:
        run_lifelong(course, system, expert, life, log)
        log.finish()

Paper 004 is the source of all of it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.learning.lifelong.course import Course
    from truecost.learning.lifelong.helping import Help
    from truecost.learning.lifelong.living import Life, run_lifelong
    from truecost.learning.lifelong.person import DomainExpert
    from truecost.learning.lifelong.replayed import RecordedPerson

_MODULE = {
    "Course": "course",
    "DomainExpert": "person",
    "Help": "helping",
    "Life": "living",
    "RecordedPerson": "replayed",
    "run_lifelong": "living",
}

__all__ = ["Course", "DomainExpert", "Help", "Life", "RecordedPerson", "run_lifelong"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE[name]}"), name)
