"""Measures of decisions: what the user pays for what the system does.

All read one tally, `decisions`, with the axes class x decision and the statistic `n`. For
detection the classes are (nontarget, target) and the decisions (reject, accept).
R[k, d] is the share of class k that is decided d, P_k the prior of class k, c[k, d] a cost; K is
the number of classes. Rates are undefined (NaN) for a class without trials; so is every cost that
gives it a prior.
Sources: paper 002, Eq. 7-11; paper 003, sections 3.1 and 3.5.
"""

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Floats, Measure, Result, Rule, share, weigh
from truecost.tasks.trials.measures.decision_rules import (
    abstaining,
    accepting,
    balanced,
    erring,
    erring_normalised,
    normalised,
    not_erring,
    priced,
    share_of,
)

DECISIONS = ("decisions",)


def _rates(totals: Totals) -> tuple[Floats, Floats]:
    """Class counts (replicates, classes) and R[k, d], the share of class k that is decided d."""
    counts = totals.sums("decisions", "n")
    classes = counts.sum(axis=-1)
    return np.asarray(classes, np.float64), share(counts, classes[..., None])


def _costs(totals: Totals, application: Application) -> tuple[Floats, Floats]:
    """Expected cost and the cost of the best constant decision, for each replicate."""
    counts, rates = _rates(totals)
    costs = application.matrix(counts.shape[-1])
    priors = application.class_priors(counts)
    by_class = (rates * costs).sum(axis=-1)
    constant = (priors[..., None] * costs).sum(axis=-2)
    return weigh(priors, by_class), np.asarray(constant.min(axis=-1))


def expected_cost(totals: Totals, application: Application) -> Result:
    """Expected cost: sum_k P_k sum_d c[k, d] R[k, d].

    R[k, d] is the share of class k that is decided d. Range [0, max c] in the unit of the costs,
    lower is better; the reference is the best constant decision, min_d sum_k P_k c[k, d]. Undefined
    when a class that has a prior has no trials. Paper 003, section 3.1.
    """
    return _costs(totals, application)


def nec(totals: Totals, application: Application) -> Result:
    """Normalised expected cost: expected cost / cost of the best constant decision.

    sum_k P_k sum_d c[k, d] R[k, d] / min_d sum_k P_k c[k, d]. Range [0, inf), lower is better; 1.0
    is the naive baseline that knows only the priors. Its cost is computed anew in each replicate;
    undefined where it is 0. Paper 003, section 3.5.
    """
    cost, naive = _costs(totals, application)
    return share(cost, naive), 1.0


def act_dcf(totals: Totals, application: Application) -> Result:
    """Actual detection cost, normalised: at the Bayes threshold, or of the decisions given.

    (Cm P Pmiss + Cf (1-P) Pfa) / min(Cm P, Cf (1-P)). Range [0, inf), lower is better; 1.0 is
    the naive baseline. 1 - TWV when rejecting is the cheaper naive choice. Paper 002, Eq. 8-11.
    """
    application.require_detection()
    return nec(totals, application)


def detection_cost(totals: Totals, application: Application) -> Result:
    """Actual detection cost, not normalised: Cm P Pmiss + Cf (1-P) Pfa.

    Range [0, Cm P + Cf (1-P)] in the unit of the costs, lower is better; the reference always
    rejects or always accepts, min(Cm P, Cf (1-P)). Paper 002, Eq. 8 and 9.
    """
    application.require_detection()
    return expected_cost(totals, application)


def nte(totals: Totals, application: Application) -> Result:
    """Normalised total error: the normalised expected cost with 0/1 costs.

    sum_k P_k (1 - R[k, k]) / (1 - max_k P_k). Range [0, inf), lower is better; 1.0 is the naive
    system. Abstaining counts as an error. Paper 003, section 3.5 (accuracy 90 % with a majority
    class of 95 %: 2.0).
    """
    error, naive = total_error(totals, application)
    return share(error, naive), 1.0


def total_error(totals: Totals, application: Application) -> Result:
    """Total error rate: sum_k P_k (1 - R[k, k]).

    Range [0, 1], lower is better; the reference always decides the class of highest prior and gets
    1 - max_k P_k. Abstaining counts as an error. Paper 003, section 3.1.
    """
    counts, rates = _rates(totals)
    priors = application.class_priors(counts)
    right = np.diagonal(rates, axis1=-2, axis2=-1)
    return weigh(priors, 1 - right), 1 - priors.max(axis=-1)


def accuracy(totals: Totals, application: Application) -> Result:
    """Accuracy: sum_k P_k R[k, k].

    Range [0, 1], higher is better; the reference always decides the class of highest prior and gets
    max_k P_k. Abstaining counts as an error. Paper 003, section 3.5.
    """
    error, naive = total_error(totals, application)
    return 1 - np.asarray(error), 1 - np.asarray(naive)


def balanced_error(totals: Totals, application: Application) -> Result:
    """Balanced error rate: 1 - mean_k R[k, k] (1 - unweighted average recall).

    Range [0, 1], lower is better; the reference is any constant decision, 1 - 1/K. Undefined when
    any class has no trials. Paper 003, section 3.1.
    """
    del application
    _, rates = _rates(totals)
    right = np.diagonal(rates, axis1=-2, axis2=-1)
    return 1 - right.mean(axis=-1), 1 - 1 / rates.shape[-2]


def p_miss(totals: Totals, application: Application) -> Result:
    """Miss rate: rejected targets / targets.

    Range [0, 1], lower is better; no reference (a naive baseline can have any rate). Undefined
    without targets. Paper 002, Eq. 1.
    """
    del application
    return _rates(totals)[1][:, 1, 0], NONE


def p_fa(totals: Totals, application: Application) -> Result:
    """False-alarm rate: accepted nontargets / nontargets (also called false-positive rate).

    Range [0, 1], lower is better; no reference (a naive baseline can have any rate). Undefined
    without nontargets. Paper 002, Eq. 3; paper 001, A.1.2 (Eq. 12).
    """
    del application
    return _rates(totals)[1][:, 0, 1], NONE


def recall(totals: Totals, application: Application) -> Result:
    """Recall: accepted targets / targets.

    Range [0, 1], higher is better; no reference (a naive baseline can have any rate). Undefined
    without targets. Paper 001, A.1.1 (Eq. 11).
    """
    del application
    return _rates(totals)[1][:, 1, 1], NONE


def precision(totals: Totals, application: Application) -> Result:
    """Precision: share of targets among what is accepted, at the application's prior.

    P (1-Pmiss) / (P (1-Pmiss) + (1-P) Pfa). Range [0, 1], higher is better; the reference accepts
    everything and gets P. Undefined when nothing is accepted. Paper 001, A.1.1 (Eq. 10).
    """
    counts, rates = _rates(totals)
    accepted = application.class_priors(counts) * rates[:, :, 1]
    return share(accepted[:, 1], accepted.sum(axis=1)), application.class_priors(counts)[:, 1]


def fdr(totals: Totals, application: Application) -> Result:
    """False-discovery rate: share of nontargets among what is accepted, 1 - precision.

    (1-P) Pfa / (P (1-Pmiss) + (1-P) Pfa). Range [0, 1], lower is better; the reference accepts
    everything and gets 1-P. Undefined when nothing is accepted. Paper 001, A.1.2 (Eq. 13).
    """
    value, reference = precision(totals, application)
    return 1 - np.asarray(value), 1 - np.asarray(reference)


def abstained(totals: Totals, application: Application) -> Result:
    """Share of trials on which the system abstains: sum_k P_k R[k, abstain].

    Range [0, 1], lower is better: what is left to someone else; 0 when the cost matrix has no
    column for it. No reference. Read it beside the expected cost, which prices abstaining as one
    more decision (paper 003, section 3.1).
    """
    counts, rates = _rates(totals)
    classes = counts.shape[-1]
    if rates.shape[-1] == classes:
        return np.zeros(len(counts)), NONE
    return weigh(application.class_priors(counts), rates[..., classes]), NONE


_ACCURACY = (
    "accuracy means little without its reference, the share of the largest class; prefer nte"
)

MEASURES = (
    Measure(
        "nec",
        nec,
        DECISIONS,
        "Normalised expected cost",
        "lower",
        "paper 003, 3.5",
        interval=Rule(rates=normalised),
    ),
    Measure(
        "expected_cost",
        expected_cost,
        DECISIONS,
        "Expected cost",
        "lower",
        "paper 003, 3.1",
        interval=Rule(rates=priced),
    ),
    Measure(
        "act_dcf",
        act_dcf,
        DECISIONS,
        "Actual detection cost (normalised)",
        "lower",
        "paper 002, Eq. 8-11",
        detection=True,
        interval=Rule(rates=normalised),
    ),
    Measure(
        "detection_cost",
        detection_cost,
        DECISIONS,
        "Detection cost (not normalised)",
        "lower",
        "paper 002, Eq. 8",
        detection=True,
        interval=Rule(rates=priced),
    ),
    Measure(
        "nte",
        nte,
        DECISIONS,
        "Normalised total error",
        "lower",
        "paper 003, 3.5",
        uses=("prior",),
        interval=Rule(rates=erring_normalised),
    ),
    Measure(
        "total_error",
        total_error,
        DECISIONS,
        "Total error rate",
        "lower",
        "paper 003, 3.1",
        uses=("prior",),
        interval=Rule(rates=erring),
    ),
    Measure(
        "accuracy",
        accuracy,
        DECISIONS,
        "Accuracy",
        "higher",
        "paper 003, 3.5",
        advice=_ACCURACY,
        rule="accuracy-without-reference",
        uses=("prior",),
        interval=Rule(rates=not_erring),
    ),
    Measure(
        "balanced_error",
        balanced_error,
        DECISIONS,
        "Balanced error rate",
        "lower",
        "paper 003, 3.1",
        uses=(),
        interval=Rule(rates=balanced),
    ),
    Measure(
        "p_miss",
        p_miss,
        DECISIONS,
        "Miss rate",
        "lower",
        "paper 002, Eq. 1",
        detection=True,
        uses=(),
        errors="misses",
        interval=share_of(1, 0),
    ),
    Measure(
        "p_fa",
        p_fa,
        DECISIONS,
        "False-alarm rate",
        "lower",
        "paper 002, Eq. 3",
        detection=True,
        uses=(),
        errors="false_alarms",
        interval=share_of(0, 1),
    ),
    Measure(
        "recall",
        recall,
        DECISIONS,
        "Recall",
        "higher",
        "paper 001, A.1.1",
        detection=True,
        uses=(),
        errors="misses",
        interval=share_of(1, 1),
    ),
    Measure(
        "precision",
        precision,
        DECISIONS,
        "Precision",
        "higher",
        "paper 001, A.1.1",
        detection=True,
        uses=("prior",),
        errors="false_alarms",
        interval=Rule(rates=lambda t, a: accepting(t, a, 1), joined="odds"),
    ),
    Measure(
        "fpr",
        p_fa,
        DECISIONS,
        "False-positive rate",
        "lower",
        "paper 001, A.1.2",
        detection=True,
        uses=(),
        errors="false_alarms",
        interval=share_of(0, 1),
    ),
    Measure(
        "fdr",
        fdr,
        DECISIONS,
        "False-discovery rate",
        "lower",
        "paper 001, A.1.2",
        detection=True,
        uses=("prior",),
        errors="false_alarms",
        interval=Rule(rates=lambda t, a: accepting(t, a, 0), joined="odds"),
    ),
    Measure(
        "abstained",
        abstained,
        DECISIONS,
        "Share abstained",
        "lower",
        "paper 003, 3.1",
        uses=("prior",),
        interval=Rule(rates=abstaining),
    ),
)
