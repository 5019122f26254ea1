"""All rules by their id."""

from truecost.advice import data, intervals, metrics

RULES = {rule.id: rule for rule in (*data.RULES, *metrics.RULES, *intervals.RULES)}
