"""Lifelong learning: a life cycle of time-labelled data, a system that lives through it, a log.

A `Course` holds the data: a lifelong set that the system adapts to, batch after batch, and a test
set over the same period, on which every version of it is tried. `run_lifelong` (in `life_cycle`)
takes a system through it, with a person's help (`helping`), and writes the event log::

    from truecost.learning import LogWriter
    from truecost.learning.lifelong import Course, DomainExpert, Help, Life, run_lifelong

    course = Course.from_parts("classes", lifelong, test, references, classes=("cat", "dog"))
    expert = DomainExpert(course.kind, course.references, course.classes, seconds=4.0)
    life = Life(stream=Help(questions=5), test=Help(corrections=2))
    with LogWriter.open("events.jsonl") as log:
        run_lifelong(course, system, expert, life, log)
        log.finish()

Prokopalo et al. 2020 is the source of all of it.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.lifelong.course import Course as Course
    from truecost.learning.lifelong.helping import Help as Help
    from truecost.learning.lifelong.life_cycle import Life as Life
    from truecost.learning.lifelong.life_cycle import run_lifelong as run_lifelong
    from truecost.learning.lifelong.person import DomainExpert as DomainExpert
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
