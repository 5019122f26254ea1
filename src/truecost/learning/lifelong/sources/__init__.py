"""Where life cycles come from: digits whose classes arrive in turn, tables of one's own, and more.

Every module of this package is searched for its `SOURCES`, a mapping of names to `Kind`: a new
source is one file. What it makes for a seed is a `Course`: the items of the lifelong set and of the
test set with their times, and what is right.

>>> from truecost.learning.lifelong.sources import course_of
>>> course = course_of("digits", {"days": 2, "items": 10, "test_items": 10}, seed=0)
>>> len(course.lifelong), len(course.test)
(10, 10)
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.lifelong.sources.finding import Kind as Kind
    from truecost.learning.lifelong.sources.finding import course_of as course_of
    from truecost.learning.lifelong.sources.finding import files_of as files_of
    from truecost.learning.lifelong.sources.finding import kinds as kinds
    from truecost.learning.lifelong.sources.finding import outputs_of as outputs_of
    from truecost.learning.lifelong.sources.finding import settings_of as settings_of
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".finding": ("Kind", "course_of", "files_of", "kinds", "outputs_of", "settings_of"),
        },
    )
