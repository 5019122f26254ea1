"""Advice: every pitfall and recommendation of paper 003 as a rule, each with a page.

A rule has an id that stays, one line that says what is wrong and what to do, the command that
checks it where one can, and a page in `docs/advice`. Findings of `truecost protocol`, problems of a
result, flags and measures name the rule that they belong to. `truecost list advice` lists them.
"""

from truecost.advice import data, intervals, metrics
from truecost.advice.rule import Rule

__all__ = ["RULES", "Rule"]

RULES = {rule.id: rule for rule in (*data.RULES, *metrics.RULES, *intervals.RULES)}
