"""The kinds of output whose scores can be penalised, one module each.

A module that has a `KIND` is a kind: it is found by search, and named nowhere else.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.tasks.lifelong.kinds.base import Kind as Kind
    from truecost.tasks.lifelong.kinds.base import kind_of as kind_of
    from truecost.tasks.lifelong.kinds.base import kinds as kinds
    from truecost.tasks.lifelong.kinds.base import penalisable as penalisable
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".base": ("Kind", "kind_of", "kinds", "penalisable"),
        },
    )
