"""Where life cycles come from: digits whose classes arrive in turn, tables of one's own, and more.

Every module of this package is searched for its `SOURCES`, a mapping of names to `Kind`: a new
source is one file. For a seed it makes a `Course`: the items of the lifelong set and of the
test set with their times, and what is right.

>>> from truecost.learning.lifelong.course import course_of
>>> course = course_of("digits", {"days": 2, "items": 10, "test_items": 10}, seed=0)
>>> len(course.lifelong), len(course.test)
(10, 10)
"""
