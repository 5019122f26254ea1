"""Strategies: which items of a batch a person is asked about.

Each has `choose(batch, outputs, count)`, which gives exactly min(count, len(batch)) different rows,
the most useful first, and, when it follows what was answered, `learn(batch, outputs, answered)`.
Every module of this package is searched for its `STRATEGIES`: a new one is one file, and one test.
Of items that are equally useful the one with the lowest row number comes first. Random numbers
depend on the seed, the strategy, the stream and the batch number, and on nothing else.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.asking import Strategy as Strategy
    from truecost.learning.strategies.finding import NAMES as NAMES
    from truecost.learning.strategies.finding import OPTIONS as OPTIONS
    from truecost.learning.strategies.finding import build as build
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "truecost.learning.asking": ("Strategy",),
            ".finding": ("NAMES", "OPTIONS", "build"),
        },
    )
