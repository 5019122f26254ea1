"""Learners: who predicts and adapts, built by name.

>>> from truecost.learning.learners import build
>>> from truecost.learning.system import Task
>>> learner = build("logistic", Task("detection", ("0", "1"), options={"C": 0.5}))
>>> learner.name
'logistic'
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.learners.building import NAMES as NAMES
    from truecost.learning.learners.building import build as build
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".building": ("NAMES", "build"),
        },
    )
