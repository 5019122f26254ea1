"""Measures of decisions when any of several labels is right: what several annotators accept.

All read one tally, `accepted`, with the axis decision. A trial has a set A of accepted labels, and
the decision d costs the least that any of them makes it cost, min over k in A of c[k, d]. The
statistics: `n` counts the trials that are decided d, `cost` and `error` what their decisions cost
under the costs given and under 0/1 costs; `constant_cost` and `constant_error` what all trials
would cost if every one were decided d.
Sources: paper 003, section 3.7 (an error is what the user takes for one), and 3.1 and 3.5 for the
expected cost and its naive baseline.
"""

from functools import partial

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats, Rate, Result, Rule, share
from truecost.tasks.trials.measures.decisions import measure


def _paid(totals: Totals, what: str) -> tuple[Floats, Floats]:
    """Mean over the trials of a replicate, and that of its best constant decision."""
    n = totals.sums("accepted", "n").sum(axis=-1)
    paid = totals.sums("accepted", what).sum(axis=-1)
    constant = totals.sums("accepted", f"constant_{what}").min(axis=-1)
    return share(paid, n), share(constant, n)


def accepted_cost(totals: Totals, _: Application) -> Result:
    """Expected cost when any accepted label is right: mean over trials of min_{k in A} c[k, d].

    A is the set of accepted labels of a trial and d its decision. Range [0, max c] in the unit of
    the costs, lower is better; the naive baseline is the best constant decision under the same
    rule, min_d mean min_{k in A} c[k, d], chosen anew in each replicate. Equal to `expected_cost`
    at the shares of the data when each trial has one label. Paper 003, sections 3.1 and 3.7.
    """
    return _paid(totals, "cost")


def accepted_nec(totals: Totals, _: Application) -> Result:
    """Normalised expected cost when any accepted label is right: `accepted_cost` over that of its
    naive baseline.

    Range [0, inf), lower is better; 1.0 is the best constant decision under the same rule.
    Undefined where that costs nothing (one label is accepted everywhere). Equal to `nec` at the
    shares of the data when each trial has one label. Paper 003, sections 3.5 and 3.7.
    """
    cost, naive = _paid(totals, "cost")
    return share(cost, naive), 1.0


def accepted_error(totals: Totals, _: Application) -> Result:
    """Share of decisions that no accepted label makes right.

    Range [0, 1], lower is better; the naive baseline always decides the label that most trials
    accept. Abstaining counts as an error. Equal to `total_error` at the shares of the data when
    each trial has one label. Paper 003, section 3.7.
    """
    return _paid(totals, "error")


def _per_trial(totals: Totals, what: str, most: float, naive: float = 1.0) -> list[Rate]:
    """What is paid over the most that a trial can cost, as a rate of trials."""
    trials = np.ones(totals.sums("accepted", "n").shape[-1])
    return [Rate("accepted", trials / most, trials, weight=most / naive, statistics=(what, "n"))]


def _costing(totals: Totals, application: Application, naive: float = 1.0) -> list[Rate]:
    most = 1.0 if application.costs is None else float(np.max(application.costs))
    return _per_trial(totals, "cost", most, naive) if most > 0 else []


def _relative_to_constant(totals: Totals, application: Application) -> list[Rate]:
    return _costing(totals, application, float(_paid(totals, "cost")[1][0]))


_of = partial(measure, ("accepted",))

MEASURES = (
    _of(
        accepted_nec,
        "Normalised expected cost, any accepted label right",
        "paper 003, 3.5 and 3.7",
        Rule(rates=_relative_to_constant, edge=True),
        uses=("costs",),
    ),
    _of(
        accepted_cost,
        "Expected cost, any accepted label right",
        "paper 003, 3.1 and 3.7",
        Rule(rates=_costing, edge=True),
        uses=("costs",),
    ),
    _of(
        accepted_error,
        "Share of decisions that nobody accepts",
        "paper 003, 3.7",
        Rule(rates=lambda totals, _: _per_trial(totals, "error", 1.0)),
        uses=(),
    ),
)
