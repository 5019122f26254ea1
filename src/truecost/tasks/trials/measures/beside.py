"""Further metrics, which `--also` reports: F scores, correlations, balanced accuracy, top-k
accuracy, calibration error.

Each has an interval and advice on its limits (Ferrer et al. 2024, sections 3.1 and 3.6); gates and
leaderboards refuse them.

All but two read `decisions` (class x decision, statistic `n`). Its shares J[k, d] = P_k R[k, d], R
the share of class k that is decided d and P_k the prior of the class, sum to 1; abstaining is one
more decision, which is never right. `ranks` counts the trials of each class by the place of the
true class among the posteriors, `bins` trials, confidence and right decisions by bin of confidence.
"""

from functools import partial

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats, Measure, Rate, Result, Rule, share, weigh
from truecost.errors import UsageError
from truecost.tasks.trials.measures.decisions import (
    balanced_error,
    class_rates,
    measure,
    rates_of_costs,
    stated_priors,
)


def joint(totals: Totals, application: Application) -> tuple[Floats, Floats]:
    """J, shape (replicates, classes, decisions), and the priors."""
    counts, rates = class_rates(totals)
    priors = application.class_priors(counts)
    weight = priors[..., None]
    return np.asarray(np.where(weight == 0, 0.0, weight * rates)), np.asarray(priors)


def f1(totals: Totals, application: Application) -> Result:
    """F1 score: `2 precision recall / (precision + recall) = 2 J[1, 1] / (P + sum_k J[k, 1])`.

    Index 1 is the target class and the decision to accept. Range [0, 1]; higher is better. Naive
    baseline: `2 P / (1 + P)` (always accept). Undefined if there are no targets and no trial is
    accepted. Ferrer et al. 2024, section 3.1.
    """
    application.require_detection()
    shares, priors = joint(totals, application)
    target = priors[:, 1]
    return share(2 * shares[:, 1, 1], target + shares[:, :, 1].sum(axis=1)), 2 * target / (
        1 + target
    )


def macro_f1(totals: Totals, application: Application) -> Result:
    """Mean of the F1 scores of the classes. The F1 score of class k is: `2 J[k, k] / (P_k + sum_j
    J[j, k])`.

    Classes with neither trials nor decisions are excluded. Range [0, 1]; higher is better. Naive
    baseline: `2 m / (1 + m) / K` with `m = max_k P_k` (always the class of highest prior). Ferrer
    et al. 2024, section 3.1.
    """
    shares, priors = joint(totals, application)
    right = np.diagonal(shares, axis1=-2, axis2=-1)
    both = priors + shares[..., : priors.shape[1]].sum(axis=-2)
    found = np.where(both == 0, 0.0, share(2 * right, both))
    there = (both != 0).sum(axis=-1)  # NaN stays: a class that has a prior and no trials
    largest = priors.max(axis=-1)
    return share(found.sum(axis=-1), there), 2 * largest / (1 + largest) / priors.shape[1]


def mcc(totals: Totals, application: Application) -> Result:
    """Matthews correlation of classes and decisions, for any number of classes (Gorodkin 2004):
    `(sum_k J[k, k] - sum_k P_k Q_k) / sqrt((1 - sum_k P_k^2) (1 - sum_k Q_k^2))`.

    Range [-1, 1]; higher is better. Naive baseline: 0 (random decisions). Undefined if all trials
    have one class or all decisions are equal. Ferrer et al. 2024, section 3.1.
    """
    shares, priors = joint(totals, application)
    decided = shares.sum(axis=-2)
    both = (priors * decided[:, : priors.shape[1]]).sum(axis=-1)
    room = (1 - (priors**2).sum(axis=-1)) * (1 - (decided**2).sum(axis=-1))
    return share(_right(shares) - both, np.sqrt(np.where(room > 1e-15, room, np.nan))), 0.0


def kappa(totals: Totals, application: Application) -> Result:
    """Cohen's kappa: `(sum_k J[k, k] - sum_k P_k Q_k) / (1 - sum_k P_k Q_k)`.

    The sum of P_k Q_k is the agreement by chance. Range [-1, 1]; higher is better. Naive baseline:
    0 (random decisions). Undefined if all trials have one class and all decisions are this class.
    Cohen (1960).
    """
    shares, priors = joint(totals, application)
    both = (priors * shares.sum(axis=-2)[:, : priors.shape[1]]).sum(axis=-1)
    return share(_right(shares) - both, np.where(1 - both > 1e-15, 1 - both, np.nan)), 0.0


def _right(shares: Floats) -> Floats:
    return np.asarray(np.diagonal(shares, axis1=-2, axis2=-1).sum(axis=-1))


def balanced_accuracy(totals: Totals, application: Application) -> Result:
    """Mean over classes of the share of correct decisions: `sum_k R[k, k] / K`.

    This is 1 - `balanced_error`. Range [0, 1]; higher is better. Naive baseline: `1 / K` (any
    constant decision). Undefined if a class has no trials. Ferrer et al. 2024, section 3.1.
    """
    value, reference = balanced_error(totals, application)
    return 1 - np.asarray(value), 1 - np.asarray(reference)


def top_k(totals: Totals, application: Application, k: int) -> Result:
    """Share of trials whose true class is among the k classes of highest probability; k is the
    parameter.

    Classes are weighted by their priors. If several classes have equal probabilities, the true
    class gets the last of their ranks. Range [0, 1]; higher is better. Naive baseline: always the k
    classes of highest prior.
    """
    counts = totals.sums("ranks", "n")
    if k >= counts.shape[-1]:
        raise UsageError(
            f"top_k:{k}: with {counts.shape[-1]} classes it is always 1: take fewer, such as "
            f"top_k:{max(1, counts.shape[-1] // 2)}"
        )
    sizes = counts.sum(axis=-1)
    priors = application.class_priors(sizes)
    among = share(counts[..., :k].sum(axis=-1), sizes)
    return weigh(priors, among), np.sort(priors, axis=-1)[:, -k:].sum(axis=-1)


def ece(totals: Totals, application: Application) -> Result:
    """Expected calibration error: difference between confidence and accuracy, in 15 bins of
    confidence: `sum_b abs(sum_k P_k D_bk)`.

    D_bk is the confidence, minus 1 if the decision is right, summed over the trials of class k in
    bin b and divided by the number of all trials of class k. Confidence is the largest posterior at
    the priors of the application, and the decision is its class. In detection, the confidence is
    the posterior of the target, and a trial counts as right if it is a target. The bins have equal
    width. Range [0, 1]; lower is better. Naive baseline: 0 (the priors as probabilities). Guo et
    al. (2017); Ferrer et al. 2024, section 3.6.
    """
    sizes = totals.sums("bins", "n").sum(axis=-1)
    priors = application.class_priors(sizes)
    gaps = totals.sums("bins", "confidence") - totals.sums("bins", "right")
    weight = np.where(priors == 0, 0.0, share(priors, sizes))
    return np.abs((weight[..., None] * gaps).sum(axis=-2)).sum(axis=-1), 0.0


def _of_chance(totals: Totals, application: Application) -> float:
    """The calibration error that trials whose confidence is right show by chance: of each bin the
    mean absolute deviation of what is right, of one trial 2 p (1 - p).
    """
    n, confidence = (totals.sums("bins", name)[0] for name in ("n", "confidence"))
    sizes = n.sum(axis=-1)
    priors = application.class_priors(sizes[None])[0]
    weight = np.where(priors == 0, 0.0, share(priors, sizes))[:, None]
    held = n.sum(axis=0)
    p = np.clip(share(confidence.sum(axis=0), held), 0, 1)
    many = np.sqrt(2 / np.pi * (weight**2 * n).sum(axis=0) * p * (1 - p))
    one = (weight * n).sum(axis=0) * 2 * p * (1 - p)
    return float(np.nansum(np.where(held <= 1, one, many)))


def _of_f1(totals: Totals, _: Application) -> list[Rate]:
    """1 - F1 as a share, taken away: half of the errors over the right targets and that half."""
    shape = totals.sums("decisions", "n").shape[1:]
    errors, trials = np.zeros(shape), np.zeros(shape)
    errors[0, 1] = errors[1, 0] = trials[0, 1] = trials[1, 0] = 0.5
    trials[1, 1] = 1.0
    return [Rate("decisions", errors.ravel(), trials.ravel(), -1.0)]


def _balanced(totals: Totals, _: Application) -> list[Rate]:
    """The rates of the balanced error, taken away; what other metrics rest on without errors."""
    costs = 1 - np.eye(*totals.sums("decisions", "n").shape[1:])
    return rates_of_costs(totals, costs, np.full(len(costs), 1 / len(costs)), -1.0)


def _among(totals: Totals, application: Application, k: int) -> list[Rate]:
    """Trials whose true class is among the k most probable: of all, or of each class."""
    counts = totals.sums("ranks", "n")
    first = np.zeros(counts.shape[1:])
    first[:, :k] = 1.0
    priors = stated_priors(totals, application, "ranks")
    if priors is None:
        return [Rate("ranks", first.ravel(), np.ones(first.size))]
    found = []
    for c in np.flatnonzero(priors > 0):
        own = np.zeros(first.shape)
        own[c] = 1.0
        weight = float(priors[c])
        found.append(Rate("ranks", (own * first).ravel(), own.ravel(), weight))
    return found


def _places(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError("give a whole number from 1 on, such as top_k:5")
    return int(text)


_of = partial(measure, ("decisions",), direction="higher", beside=True, uses=("prior",))
_UNIT = (0.0, 1.0)
MEASURES: tuple[Measure, ...] = (
    _of(
        f1,
        "F1",
        "paper 003, 3.1",
        Rule("log1m", _of_f1, edge=True, bounds=_UNIT),
        detection=True,
        advice="ignores correct rejections and the costs of errors, and depends on the prevalence: "
        "compare by nec with your own costs (Ferrer et al. 2024, 3.1)",
        rule="f-score",
    ),
    _of(
        macro_f1,
        "Macro F1",
        "paper 003, 3.1",
        Rule("log1m", _balanced, edge=True, bounds=_UNIT),
        advice="turns one decision among several classes into many decisions between two classes, "
        "and ignores the costs of errors: compare by nec with a cost matrix (Ferrer et al. 2024, "
        "3.1)",
        rule="macro-f1",
    ),
    _of(
        mcc,
        "Matthews correlation",
        "paper 003, 3.1",
        Rule("log1m", _balanced, edge=True, bounds=(-1.0, 1.0)),
        advice="corresponds to no cost in use, and depends on the prevalence: compare by nec with "
        "your own costs (Ferrer et al. 2024, 3.1)",
        rule="f-score",
    ),
    _of(
        kappa,
        "Cohen's kappa",
        "Cohen 1960",
        Rule("log1m", _balanced, edge=True, bounds=(-1.0, 1.0)),
        advice="its chance agreement depends on the decisions of the system itself, and it ignores "
        "the costs of errors: use nte, which divides by the naive baseline (Ferrer et al. 2024, "
        "3.1)",
        rule="f-score",
    ),
    _of(
        balanced_accuracy,
        "Balanced accuracy",
        "paper 003, 3.1",
        Rule(rates=_balanced),
        uses=(),
        shown_in="percent",
        advice="treats classes as equally frequent and errors as equally costly: state priors and "
        "costs, and compare by nec (Ferrer et al. 2024, 3.1)",
        rule="accuracy-without-reference",
    ),
    measure(
        ("ranks",),
        top_k,
        "Top-k accuracy",
        "paper 003, 3.1",
        Rule(rates=_among),
        direction="higher",
        beside=True,
        parameter="5",
        parse=_places,
        uses=("prior",),
        shown_in="percent",
        advice="is appropriate only if users see a list of k answers: then also state the cost of "
        "a long list and of a list without the right answer. Otherwise, compare systems by nec "
        "(Ferrer et al. 2024, 3.1)",
        rule="accuracy-without-reference",
    ),
    measure(
        ("bins",),
        ece,
        "Expected calibration error (15 bins)",
        "paper 003, 3.6",
        Rule("identity", excess=True, chance=_of_chance, bounds=_UNIT),
        beside=True,
        uses=("prior",),
        advice="does not measure quality (the priors alone have an error of 0), depends on the "
        "bins, and is too large on few trials: compare by nce or cllr, and read the reliability "
        "diagram (Ferrer et al. 2024, 3.6)",
        rule="ece-is-no-quality",
    ),
)
