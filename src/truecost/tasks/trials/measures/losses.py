"""Quality of scores, probabilities and predicted numbers: proper scoring rules, likelihood-ratio
costs and errors, each with the best constant predictor as naive baseline.

`losses` is a tally with the axis class and the statistics `n`, `log` (-ln p of the truth, finite
part), `impossible` (truths given probability 0) and `brier`. `llr` is a tally with the axis class
(nontarget, target) and the statistics `n`, `cllr`, `cnxe` (bits, finite parts) and `impossible`. A
truth given probability 0 costs infinity: it is counted beside the sums, because 0 x infinity in a
replicate that leaves it out would be NaN. Sources: Ferrer et al. 2024, sections 3.3 and 3.5;
Rodriguez-Fuentes & Penagarikano 2013, section 4.2.

`errors` is a tally with the statistics `n`, `absolute`, `squared` (of the error), `truth` and
`truth2` (sums of the true value and its square, about a fixed origin); `truths` ranks the true
values. The best constant is found again in each replicate. Source: Ferrer et al. 2024, sections 3.4
and 3.5.

The total cost of trials, errors by number and recorded computing, reads the tally `decisions` (see
`decisions.py`), and `took` where there are records.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import Spent, cost_measures, took
from truecost.core.evidence import Totals
from truecost.core.measure import (
    FALSE_ALARM,
    MISS,
    NONE,
    NONTARGETS,
    TARGETS,
    Floats,
    Rate,
    Result,
    Rule,
    share,
    weigh,
)
from truecost.tasks.trials.measures.decisions import measure


def _mean_losses(totals: Totals, part: str, statistic: str) -> tuple[Floats, Floats]:
    """Class counts and the mean loss of each class (replicates, classes)."""
    counts = np.asarray(totals.sums(part, "n"), np.float64)
    return counts, share(totals.sums(part, statistic), counts)


def _with_impossible(
    values: Floats, totals: Totals, part: str, priors: Floats | float = 1.0
) -> Floats:
    """Infinity where a replicate holds a truth, of a class with a prior, that was given 0."""
    counted = np.where(np.asarray(priors) > 0, totals.sums(part, "impossible"), 0)
    hopeless = counted.sum(axis=-1) > 0
    return np.asarray(np.where(hopeless, np.inf, values))


def entropy(priors: Floats) -> Floats:
    """Entropy of priors in nats: -sum_k P_k ln P_k over the last axis.

    `priors` has the shape (replicates, classes).
    """
    return weigh(priors, -np.log(np.where(priors > 0, priors, 1.0)))


def ce(totals: Totals, application: Application) -> Result:
    """Cross entropy in nats: `sum_k P_k mean_k(-ln p_k)`.

    p_k is the posterior of class k at the priors of the application. Range [0, inf]; lower is
    better. Naive baseline: the entropy of the priors (the priors as probabilities). Infinite if the
    true class of a trial has probability 0. Ferrer et al. 2024, section 3.3.
    """
    counts, means = _mean_losses(totals, "losses", "log")
    priors = application.class_priors(counts)
    return _with_impossible(weigh(priors, means), totals, "losses", priors), entropy(priors)


def nce(totals: Totals, application: Application) -> Result:
    """Cross entropy divided by the entropy of the priors.

    The divisor is computed again in each replicate. Range [0, inf]; lower is better. Naive
    baseline: 1.0 (the priors as probabilities). Infinite if the true class of a trial has
    probability 0. Ferrer et al. 2024, section 3.5.
    """
    value, reference = ce(totals, application)
    return share(value, reference), 1.0


def brier(totals: Totals, application: Application) -> Result:
    """Brier score: `sum_k P_k mean_k(sum_j (p_j - [j = k])^2)`.

    p_j is the posterior of class j at the priors of the application; [j = k] is 1 for the true
    class, otherwise 0. Range [0, 2]; lower is better. Naive baseline: `1 - sum_k P_k^2` (the priors
    as probabilities). Ferrer et al. 2024, section 3.3.
    """
    counts, means = _mean_losses(totals, "losses", "brier")
    priors = application.class_priors(counts)
    return weigh(priors, means), 1 - (priors**2).sum(axis=-1)


def nbs(totals: Totals, application: Application) -> Result:
    """Brier score divided by the Brier score of the priors as probabilities.

    The divisor is computed again in each replicate. Range [0, inf); lower is better. Naive
    baseline: 1.0 (the priors as probabilities). Ferrer et al. 2024, section 3.5.
    """
    value, reference = brier(totals, application)
    return share(value, reference), 1.0


def cllr(totals: Totals, _: Application) -> Result:
    """Log-likelihood-ratio cost in bits: `(mean_tar A + mean_non B) / 2`.

    A is the cost of a target, `log2(1 + exp(-llr))`, and B is the cost of a nontarget, `log2(1 +
    exp(llr))`. The value does not depend on costs and priors. Range [0, inf]; lower is better.
    Naive baseline: 1.0 (llr = 0 for every trial). Infinite if a target has `llr = -inf` or a
    nontarget has `llr = inf`. Undefined if a class has no trials. Brümmer and du Preez (2006);
    Rodriguez-Fuentes & Penagarikano 2013, Eq. 36-38 at an effective prior of 1/2.
    """
    means = _mean_losses(totals, "llr", "cllr")[1]
    return _with_impossible(means.mean(axis=-1), totals, "llr"), 1.0


def cnxe(totals: Totals, application: Application) -> Result:
    """Cross entropy of likelihood ratios at the effective prior, divided by the entropy H of that
    prior: `(Ptar mean_tar Clog + (1-Ptar) mean_non Clog) / H(Ptar)`.

    Clog is `log2(1 + exp(-llr - logit(Ptar)))` for a target and `log2(1 + exp(llr + logit(Ptar)))`
    for a nontarget. H is also in bits. If the application has no prior, P is a share of targets: in
    logit(Ptar), the share in all data; in the weights and in H, the share in the replicate. Range
    [0, inf]; lower is better. Naive baseline: 1.0 (llr = 0 for every trial). Infinite if a target
    has `llr = -inf` or a nontarget has `llr = inf`. Rodriguez-Fuentes & Penagarikano 2013, Eq.
    36-43.
    """
    counts, means = _mean_losses(totals, "llr", "cnxe")
    priors = application.class_priors(counts)
    prior = _effective(application, priors)
    value = share(weigh(prior, means) * np.log(2), entropy(prior))
    return _with_impossible(value, totals, "llr", prior), 1.0


def _effective(application: Application, priors: Floats) -> Floats:
    """(1-Ptar, Ptar) for each replicate (Rodriguez-Fuentes & Penagarikano 2013, Eq. 23)."""
    risks = priors * np.array([application.cost_fa, application.cost_miss])
    return np.asarray(risks / risks.sum(axis=-1, keepdims=True))


def min_cllr(totals: Totals, _: Application) -> Result:
    """Cllr after the best monotone calibration of the scores (pool adjacent violators), in bits.

    The calibration is computed again in each replicate; equal scores get equal likelihood ratios.
    Range [0, 1]; lower is better. Naive baseline: 1.0 (llr = 0 for every trial). Undefined if a
    class has no trials. Brümmer and du Preez (2006).
    """
    return totals.sweep("ranking").pav_entropy(0.5), 1.0


def cllr_loss(totals: Totals, application: Application) -> Result:
    """Cllr minus minimum Cllr, in bits: the part of Cllr that better calibration can remove.

    The value 0 means that no monotone calibration improves the scores. Range [0, inf); lower is
    better. No naive baseline. Brümmer and du Preez (2006).
    """
    return np.asarray(cllr(totals, application)[0]) - min_cllr(totals, application)[0], NONE


def mae(totals: Totals, _: Application) -> Result:
    """Mean over trials of `abs(prediction - true value)`.

    Range [0, inf) in the unit of the predicted quantity; lower is better. Naive baseline: the
    median of the true values for every trial, computed again in each replicate. Ferrer et al. 2024,
    section 3.4.
    """
    n = totals.sums("errors", "n")
    return share(totals.sums("errors", "absolute"), n), share(totals.sweep("truths").median()[1], n)


def nmae(totals: Totals, application: Application) -> Result:
    """Mean absolute error divided by that of the best constant prediction, the median of the true
    values.

    Range [0, inf); lower is better. Naive baseline: 1.0 (the median for every trial). Undefined if
    all true values are equal. Ferrer et al. 2024, sections 3.4 and 3.5.
    """
    value, reference = mae(totals, application)
    return share(value, reference), 1.0


def mse(totals: Totals, _: Application) -> Result:
    """Mean over trials of `(prediction - true value)^2`.

    Range [0, inf) in the squared unit of the predicted quantity; lower is better. Naive baseline:
    the mean of the true values for every trial, computed again in each replicate; the value of this
    baseline is the variance of the true values. Ferrer et al. 2024, section 3.4.
    """
    n = totals.sums("errors", "n")
    mean = share(totals.sums("errors", "truth"), n)
    square = share(totals.sums("errors", "truth2"), n)
    variance = square - mean**2
    # Equal truths leave only rounding, which must not pass for a reference to divide by.
    variance = np.where(variance <= 1e-12 * square, 0.0, variance)
    return share(totals.sums("errors", "squared"), n), variance


def nmse(totals: Totals, application: Application) -> Result:
    """Mean squared error divided by the variance of the true values.

    Range [0, inf); lower is better. Naive baseline: 1.0 (the mean of the true values for every
    trial). Undefined if all true values are equal. Ferrer et al. 2024, sections 3.4 and 3.5.
    """
    value, reference = mse(totals, application)
    return share(value, reference), 1.0


def r2(totals: Totals, application: Application) -> Result:
    """Coefficient of determination: `1 - mean squared error / variance of the true values`.

    Range (-inf, 1]; higher is better. Naive baseline: 0 (the mean of the true values for every
    trial). Undefined if all true values are equal. Ferrer et al. 2024, section 3.5.
    """
    return 1 - np.asarray(nmse(totals, application)[0]), 0.0


_CHOSEN = (
    "its calibration is fitted on the evaluation data: it shows the best possible calibration, not "
    "the quality in use"
)
_loss = partial(measure, ("losses",), uses=("prior",))
_cllr = partial(measure, source="Brümmer & du Preez 2006", detection=True, uses=(), cites=("pav",))
_RARE = Rule(rare=True)
_number = partial(measure, uses=())
_BOTH = ("errors", "truths")


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
    """A function that returns the cost of the errors of one class, as a rate with the weight price
    times trials.
    """

    def rates(totals: Totals, application: Application) -> list[Rate]:
        number = float((totals.sums("decisions", "n")[0].ravel() * trials).sum())
        weight = application.prices.amounts.get(key, 0.0) * number
        return [Rate("decisions", errors, trials, weight, what=what, of=of)] if weight else []

    return rates


def _rule(*of: Any) -> Rule:
    return Rule(rates=_numbered(*of), edge=True, bounds=(0.0, np.inf))


_SPENT = cost_measures(
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
MEASURES = (
    _loss(nce, "Normalised cross entropy", "paper 003, 3.5", _RARE),
    _loss(ce, "Cross entropy (nats)", "paper 003, 3.3", _RARE),
    _loss(nbs, "Normalised Brier score", "paper 003, 3.5"),
    _loss(brier, "Brier score", "paper 003, 3.3", Rule(bounds=(0.0, 2.0))),
    _cllr(("llr",), cllr, "Cllr (bits)", interval=_RARE),
    measure(
        ("llr",),
        cnxe,
        "Normalised cross entropy at the effective prior",
        "paper 002, Eq. 38-43",
        _RARE,
        detection=True,
    ),
    _cllr(
        ("ranking",),
        min_cllr,
        "Minimum Cllr (bits)",
        interval=Rule(optimistic=True, bounds=(0.0, 1.0)),
        advice=_CHOSEN,
        rule="threshold-on-evaluation-data",
        minimum_of="cllr",
    ),
    _cllr(
        ("llr", "ranking"),
        cllr_loss,
        "Calibration loss of Cllr (bits)",
        interval=Rule("identity", excess=True, rare=True, bounds=(0.0, float("inf"))),
    ),
    _number(_BOTH, nmae, "Normalised mean absolute error", "paper 003, 3.4"),
    _number(_BOTH, mae, "Mean absolute error", "paper 003, 3.4"),
    _number(("errors",), nmse, "Normalised mean squared error", "paper 003, 3.4"),
    _number(("errors",), mse, "Mean squared error", "paper 003, 3.4"),
    _number(("errors",), r2, "R squared", "paper 003, 3.5", Rule("log1m"), direction="higher"),
    *_SPENT,
)
