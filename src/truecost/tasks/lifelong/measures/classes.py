"""Measures of decisions about classes at a stated cost, as sums over items.

`classified` holds `cost` (of the decisions made), `n` (items), and `constant0`, `constant1`, ...:
what each decision would cost if it were made of every item. The naive baseline always decides as
costs least. Costs come with the items (`truecost.tasks.lifelong.kinds.classes`), so that corrected
and impaired decisions are sums with rows exchanged.
"""

from itertools import count

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Measure, Rate, Result, Rule, share
from truecost.core.tally import Tally


def classification_cost(totals: Totals, application: Application) -> Result:
    """Mean cost of a decision: sum of c(class, decision) / items; the share of errors by default.

    Range [0, largest cost], lower is better; the reference is the constant decision that costs
    least on the same items, found anew in each replicate. Undefined without items. Paper 004,
    sections 2.2 and 4; paper 002, section 2.3.
    """
    del application
    items = totals.sums("classified", "n")
    constant = _constant(totals)
    least = np.min(constant, axis=0) if constant else np.full(np.shape(items), np.nan)
    return share(totals.sums("classified", "cost"), items), share(least, items)


def _constant(totals: Totals) -> list[Array]:
    """What each constant decision costs, as far as there are any."""
    found: list[Array] = []
    for decision in count():
        try:
            found.append(totals.sums("classified", f"constant{decision}"))
        except KeyError:
            break
    return found


def _costly(totals: Totals, application: Application) -> list[Rate]:
    """The cost over the largest that a decision of these items could have: a rate of one kind."""
    del application
    tally = totals.evidence.parts["classified"]
    assert isinstance(tally, Tally)
    own = tally.statistics.index("n")
    costs = np.delete(tally.values, own, axis=1).max(axis=1, initial=0)
    most = float(share(costs, tally.values[:, own]).max(initial=0.0))
    if most <= 0:
        return []
    ones = np.ones(int(np.prod(tally.shape)))
    names = ("cost", "n")
    return [Rate("classified", ones / most, ones, most, names, "error", "item")]


MEASURES = (
    Measure(
        "classification_cost",
        classification_cost,
        ("classified",),
        "Cost of decisions",
        "lower",
        "paper 004, 2.2",
        uses=(),
        undefined="there are no items",
        interval=Rule(rates=_costly, size=("classified", "n")),
    ),
)
