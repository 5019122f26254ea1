"""What trials cost in one currency: errors by number, and the computing that records tell of.

All read the tally `decisions` (see `decisions.py`), and `took` where there are records.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import Spent, cost_measures, took
from truecost.core.evidence import Totals
from truecost.core.measure import FALSE_ALARM, MISS, NONTARGETS, TARGETS, Rate, Rule

PRICES = ("miss", "false_alarm", "error", "cpu", "gpu", "memory", "waiting")


def spending(totals: Totals, application: Application) -> Spent:
    """Errors by number: misses and false alarms, or of several classes (and where a system may
    abstain) the sum of the cost matrix.

    The naive baseline rejects everything, or decides all alike as is cheapest, and takes nothing.
    """
    n = np.asarray(totals.sums("decisions", "n"), np.float64)
    if "error" not in application.prices.amounts:
        made = {"miss": n[:, 1, 0], "false_alarm": n[:, 0, 1]}
        return Spent({**took(totals), **made}, {"miss": n[:, 1].sum(axis=1)})
    costs = application.matrix(n.shape[1])
    alike = (n.sum(axis=2)[..., None] * costs).sum(axis=1).min(axis=1)
    error = (n * costs).sum(axis=(1, 2))
    return Spent({**took(totals), "error": error}, {"error": alike})


def _numbered(key: str, errors: Any, trials: Any, what: str, of: str) -> Callable[..., list[Rate]]:
    """What the errors of one class cost, as a rate that weighs price times trials."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        number = float((totals.sums("decisions", "n")[0].ravel() * trials).sum())
        weight = application.prices.amounts.get(key, 0.0) * number
        return [Rate("decisions", errors, trials, weight, what=what, of=of)] if weight else []

    return rates


def _rule(*of: Any) -> Rule:
    return Rule(rates=_numbered(*of), edge=True, bounds=(0.0, np.inf))


MEASURES = cost_measures(
    "trials",
    spending,
    ("decisions",),
    PRICES,
    source="paper 002, Eq. 8",
    intervals={
        "cost_misses": _rule("miss", MISS, TARGETS, "miss", "target"),
        "cost_false_alarms": _rule(
            "false_alarm", FALSE_ALARM, NONTARGETS, "false alarm", "nontarget"
        ),
    },
)
