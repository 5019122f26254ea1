"""Advice: every pitfall and recommendation of paper 003 as a rule, each with a page.

A rule has an id that stays, one line that says what is wrong and what to do, the command that
checks it where one can, and a page in `docs/advice`. Findings of `truecost protocol`, problems of a
result, flags and measures name the rule that they belong to. `truecost list advice` lists them.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.advice.catalogue import RULES as RULES
    from truecost.advice.rule import Rule as Rule
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".catalogue": ("RULES",),
            ".rule": ("Rule",),
        },
    )
