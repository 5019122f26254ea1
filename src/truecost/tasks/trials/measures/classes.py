"""Single classes, and trials with several accepted labels: recall and precision of one class of
several, and costs when any of several labels is right, as several annotators accept them.

Both read the tally `decisions` (class x decision, statistic `n`); R[k, d] is the share of class k
that is decided d, P_k the prior of class k.

The others read the tally `accepted`, with the axis decision. A trial has a set A of accepted
labels, and the decision d costs the least that any of them makes it cost, min over k in A of c[k,
d]. The statistics: `n` counts the trials that are decided d, `cost` and `error` what their
decisions cost under the costs given and under 0/1 costs; `constant_cost` and `constant_error` what
all trials would cost if every one were decided d.
Sources: Ferrer et al. 2024, section 3.7 (an error is what the user takes for one), and 3.1 and 3.5
for the expected cost and its naive baseline.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Floats, Measure, Rate, Result, Rule, share
from truecost.core.tally import Tally
from truecost.errors import UsageError, first_five, near
from truecost.tasks.trials.measures.decisions import class_rates, measure, stated_priors


def _paid(totals: Totals, what: str) -> tuple[Floats, Floats]:
    """Mean over the trials of a replicate, and that of its best constant decision."""
    n = totals.sums("accepted", "n").sum(axis=-1)
    paid = totals.sums("accepted", what).sum(axis=-1)
    constant = totals.sums("accepted", f"constant_{what}").min(axis=-1)
    return share(paid, n), share(constant, n)


def accepted_cost(totals: Totals, _: Application) -> Result:
    """Expected cost if any accepted label counts as right: mean of `min_{k in A} c[k, d]`.

    A is the set of accepted labels of a trial, and d is its decision; the mean is over trials.
    Range [0, largest cost] in the unit of the costs; lower is better. Naive baseline: the best
    constant decision, chosen again in each replicate. Equal to `expected_cost` with the priors of
    the data if each trial has one label. Ferrer et al. 2024, sections 3.1 and 3.7.
    """
    return _paid(totals, "cost")


def accepted_nec(totals: Totals, _: Application) -> Result:
    """Expected cost if any accepted label counts as right, divided by that of the best constant
    decision.

    Range [0, inf); lower is better. Naive baseline: 1.0 (the best constant decision). Undefined if
    the best constant decision costs nothing, because one label is accepted for all trials. Equal to
    `nec` with the priors of the data if each trial has one label. Ferrer et al. 2024, sections 3.5
    and 3.7.
    """
    cost, naive = _paid(totals, "cost")
    return share(cost, naive), 1.0


def accepted_error(totals: Totals, _: Application) -> Result:
    """Share of decisions that are not among the accepted labels of their trial.

    Abstaining counts as an error. Range [0, 1]; lower is better. Naive baseline: always the label
    that is accepted for most trials. Equal to `total_error` with the priors of the data if each
    trial has one label. Ferrer et al. 2024, section 3.7.
    """
    return _paid(totals, "error")


def _per_trial(totals: Totals, what: str, most: float, naive: float = 1.0) -> list[Rate]:
    """The cost over the largest possible cost of a trial, as a rate of trials."""
    trials = np.ones(totals.sums("accepted", "n").shape[-1])
    return [Rate("accepted", trials / most, trials, weight=most / naive, statistics=(what, "n"))]


def _costing(totals: Totals, application: Application, naive: float = 1.0) -> list[Rate]:
    most = 1.0 if application.costs is None else float(np.max(application.costs))
    return _per_trial(totals, "cost", most, naive) if most > 0 else []


def _relative_to_constant(totals: Totals, application: Application) -> list[Rate]:
    return _costing(totals, application, float(_paid(totals, "cost")[1][0]))


_accepting = partial(measure, ("accepted",))

_ACCEPTED = (
    _accepting(
        accepted_nec,
        "Normalised expected cost, any accepted label right",
        "paper 003, 3.5 and 3.7",
        Rule(rates=_relative_to_constant, edge=True),
        uses=("costs",),
    ),
    _accepting(
        accepted_cost,
        "Expected cost, any accepted label right",
        "paper 003, 3.1 and 3.7",
        Rule(rates=_costing, edge=True),
        uses=("costs",),
    ),
    _accepting(
        accepted_error,
        "Share of decisions that no annotator accepts",
        "paper 003, 3.7",
        Rule(rates=lambda totals, _: _per_trial(totals, "error", 1.0)),
        uses=(),
        shown_in="percent",
    ),
)


def class_recall(totals: Totals, _: Application, name: str) -> Result:
    """Recall of one class: share of the trials of class k for which class k is decided, `R[k, k]`.

    The parameter is the name of the class. Abstaining counts as an error. Range [0, 1]; higher is
    better. No naive baseline: a constant decision can reach 1. Undefined if the class has no
    trials. Ferrer et al. 2024, section 3.1.
    """
    k = place_of(totals, name)
    return class_rates(totals)[1][:, k, k], NONE


def class_precision(totals: Totals, application: Application, name: str) -> Result:
    """Precision of one class: share of trials of class k among the decisions for class k: `P_k R[k,
    k] / sum_j P_j R[j, k]`.

    The parameter is the name of the class. Range [0, 1]; higher is better. Naive baseline: P_k
    (always this class). Undefined if the class is never decided. Petegrosso et al. 2022, A.1.1 (Eq.
    10), with a class in place of the target.
    """
    k = place_of(totals, name)
    counts, rates = class_rates(totals)
    priors = application.class_priors(counts)
    decided = np.where(priors == 0, 0.0, priors * rates[:, :, k])
    return share(decided[:, k], decided.sum(axis=1)), priors[:, k]


def place_of(totals: Totals, name: str) -> int:
    """The index of a class by its name: UsageError with the nearest one when there is none."""
    tally = totals.evidence.parts["decisions"]
    names = tally.axes["class"] if isinstance(tally, Tally) else ()
    if name not in names:
        raise UsageError(
            f"there is no class {name!r}{near(name, names)}: the classes are {first_five(names)}"
        )
    return names.index(name)


def _recalling(totals: Totals, _: Application, name: str) -> list[Rate]:
    k = place_of(totals, name)
    right, trials = _cells(totals), _cells(totals)
    right[k, k], trials[k] = 1.0, 1.0
    return [_rate(right, trials, what="right decision", of=f"trial of class {name}")]


def _deciding(totals: Totals, application: Application, name: str) -> list[Rate]:
    """Precision as a rate of what is decided so; with stated priors as the odds of the rate of all
    other classes, each weighed by its prior, over the recall.
    """
    k = place_of(totals, name)
    right, decided = _cells(totals), _cells(totals)
    right[k, k], decided[:, k] = 1.0, 1.0
    if (priors := stated_priors(totals, application)) is None:
        return [_rate(right, decided, what="right decision", of=f"trial decided {name}")]
    sizes = totals.sums("decisions", "n")[0].sum(axis=1)
    own = np.where(sizes > 0, priors / np.maximum(sizes, 1e-300), 0.0)
    own[k] = 0.0
    if not own.any():
        return []
    false, others = _cells(totals), _cells(totals)
    others[:] = (own / own.max())[:, None]
    false[:, k] = others[:, k]
    [recalled] = _recalling(totals, application, name)
    wrong = _rate(
        false,
        others,
        1 - float(priors[k]),
        what=f"decision for {name}",
        of="trial of another class",
        weighted=True,
    )
    return [wrong, replace(recalled, weight=float(priors[k]))]


def _cells(totals: Totals) -> Floats:
    return np.zeros(totals.sums("decisions", "n").shape[1:])


def _rate(errors: Floats, trials: Floats, weight: float = 1.0, **said: Any) -> Rate:
    return Rate("decisions", errors.ravel(), trials.ravel(), weight, **said)


def _named(text: str) -> str:
    if not text:
        raise ValueError("name a class after the colon")
    return text


_of = partial(
    measure,
    ("decisions",),
    direction="higher",
    parameter="",
    parse=_named,
    open=True,
    uses=(),
    shown_in="percent",
)
MEASURES: tuple[Measure, ...] = (
    *_ACCEPTED,
    _of(class_recall, "Recall of a class", "paper 003, 3.1", Rule(rates=_recalling)),
    _of(
        class_precision,
        "Precision of a class",
        "paper 001, A.1.1",
        Rule(rates=_deciding, joined="odds"),
        uses=("prior",),
    ),
)
