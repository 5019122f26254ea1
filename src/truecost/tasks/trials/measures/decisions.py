"""Costs and error rates of decisions: measures, and the rates that they add up, for their
intervals.

An error of a class is its cost above that of its cheapest decision, over the largest such cost. All
read one tally, `decisions`, with the axes class x decision and the statistic `n`. For detection the
classes are (nontarget, target) and the decisions (reject, accept). R[k, d] is the share of class k
that is decided d, P_k the prior of class k, c[k, d] a cost; K is the number of classes. Rates are
undefined (NaN) for a class without trials; so is every cost that gives it a prior. Sources:
Rodriguez-Fuentes & Penagarikano 2013, Eq. 7-11; Ferrer et al. 2024, sections 3.1 and 3.5.
"""

from functools import partial
from typing import Any, Literal

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import (
    NONE,
    SMOOTH,
    Floats,
    Function,
    Measure,
    Rate,
    Result,
    Rule,
    share,
    weigh,
)
from truecost.core.tally import Tally


def measure(
    parts: tuple[str, ...],
    function: Function,
    title: str,
    source: str,
    interval: Rule = SMOOTH,
    *,
    name: str = "",
    direction: Literal["lower", "higher"] = "lower",
    **more: Any,
) -> Measure:
    """A measure under the name of its function; lower is better by default."""
    called = name or function.__name__
    return Measure(called, function, parts, title, direction, source, interval=interval, **more)


def rates_of_costs(
    totals: Totals, costs: Floats, priors: Floats | None, naive: float = 1.0
) -> list[Rate]:
    """The rates that a cost adds up, with what each weighs.

    `totals` have weights of one; `costs` has the shape (classes, decisions), `priors` (classes,),
    those of the data when left out. `naive` is what the cost is divided by. Classes without a
    prior, or whose decisions all cost the same, are left out.
    """
    above = costs - costs.min(axis=1, keepdims=True)
    largest = above.max(axis=1)
    if priors is None:
        most = float(largest.max())
        if most <= 0:
            return []
        trials = np.ones(above.size)
        return [Rate("decisions", (above / most).ravel(), trials, weight=most / naive)]
    tally = totals.evidence.parts["decisions"]
    names = tally.axes["class"] if isinstance(tally, Tally) else ()
    found = []
    for k in np.flatnonzero((priors > 0) & (largest > 0)):
        errors, trials = np.zeros(above.shape), np.zeros(above.shape)
        errors[k], trials[k] = above[k] / largest[k], 1.0
        what, of = _NAMES.get(names[k], ("error", f"trial of class {names[k]}"))
        weight = float(priors[k] * largest[k] / naive)
        found.append(Rate("decisions", errors.ravel(), trials.ravel(), weight, what=what, of=of))
    return found


_NAMES = {"target": ("miss", "target"), "nontarget": ("false alarm", "nontarget")}


def stated_priors(
    totals: Totals, application: Application, part: str = "decisions"
) -> Floats | None:
    """Priors that the application states; None where they are left to the data."""
    if application.priors is None:
        return None
    counts = totals.sums(part, "n").sum(axis=-1)
    return np.asarray(np.broadcast_to(application.class_priors(counts), counts.shape)[0])


def _wrong(totals: Totals) -> Floats:
    """0/1 costs of the decisions, abstaining included."""
    return 1 - np.eye(*totals.sums("decisions", "n").shape[1:])


def _matrix(totals: Totals, application: Application) -> Floats:
    """The costs of the application."""
    return application.matrix(totals.sums("decisions", "n").shape[1])


def _over_naive(totals: Totals, application: Application, costs: Floats) -> list[Rate]:
    """The rates of a cost over that of the best constant decision."""
    counts = totals.sums("decisions", "n").sum(axis=-1)
    priors = np.broadcast_to(application.class_priors(counts), counts.shape)[0]
    naive = float((priors @ costs).min())
    return (
        rates_of_costs(totals, costs, stated_priors(totals, application), naive)
        if naive > 0
        else []
    )


def priced(totals: Totals, application: Application) -> list[Rate]:
    """The rates of a cost of the application."""
    return rates_of_costs(totals, _matrix(totals, application), stated_priors(totals, application))


def normalised(totals: Totals, application: Application) -> list[Rate]:
    """The rates of that cost over the naive one."""
    return _over_naive(totals, application, _matrix(totals, application))


def erring(totals: Totals, application: Application) -> list[Rate]:
    """The rates of the total error: every decision but the right one costs 1."""
    return rates_of_costs(totals, _wrong(totals), stated_priors(totals, application))


def not_erring(totals: Totals, application: Application) -> list[Rate]:
    """The rates of 1 - total error: those of the total error, with negative weights."""
    return rates_of_costs(totals, _wrong(totals), stated_priors(totals, application), -1.0)


def erring_normalised(totals: Totals, application: Application) -> list[Rate]:
    """The rates of the total error over the naive total error."""
    return _over_naive(totals, application, _wrong(totals))


def balanced(totals: Totals, _: Application) -> list[Rate]:
    """The rates of the balanced error: every class weighs the same."""
    costs = _wrong(totals)
    return rates_of_costs(totals, costs, np.full(len(costs), 1 / len(costs)))


def abstaining(totals: Totals, application: Application) -> list[Rate]:
    """The rates at which trials of each class are left to someone else."""
    classes, decisions = totals.sums("decisions", "n").shape[1:]
    costs = np.zeros((classes, decisions))
    costs[:, classes:] = 1.0
    return rates_of_costs(totals, costs, stated_priors(totals, application))


def _class_rate(code: int, decision: int, weight: float = 1.0, what: str = "") -> Rate:
    """The rate at which one class (0 nontarget, 1 target) gets a decision."""
    errors, trials = np.zeros((2, 2)), np.zeros((2, 2))
    errors[code, decision], trials[code] = 1.0, 1.0
    named, of = _NAMES["target" if code else "nontarget"]
    return Rate("decisions", errors.ravel(), trials.ravel(), weight, what=what or named, of=of)


def share_of(code: int, decision: int) -> Rule:
    """The rule of the share of one class (0 nontarget, 1 target) that is decided so."""
    rate = _class_rate(code, decision)
    return Rule(rates=lambda *_: [rate])


def of_accepted(wanted: int) -> Rule:
    """The rule of the share of one class (0 nontarget, 1 target) among what is accepted."""
    return Rule(rates=partial(_accepting, wanted), joined="odds")


def _accepting(wanted: int, totals: Totals, application: Application) -> list[Rate]:
    """The share of accepted trials as a rate; with stated priors the odds Pfa / recall."""
    priors = stated_priors(totals, application)
    if priors is None:
        errors, accepted = np.zeros((2, 2)), np.zeros((2, 2))
        errors[wanted, 1], accepted[:, 1] = 1.0, 1.0
        return [Rate("decisions", errors.ravel(), accepted.ravel(), of="accepted trial")]
    false, right = map(float, priors)
    return [_class_rate(0, 1, false), _class_rate(1, 1, right, "accepted target")]


def class_rates(totals: Totals) -> tuple[Floats, Floats]:
    """Class counts (replicates, classes) and R[k, d], the share of class k that is decided d."""
    counts = totals.sums("decisions", "n")
    classes = counts.sum(axis=-1)
    return np.asarray(classes, np.float64), share(counts, classes[..., None])


def _costs(totals: Totals, application: Application) -> tuple[Floats, Floats]:
    """Expected cost and the cost of the best constant decision, for each replicate."""
    counts, rates = class_rates(totals)
    costs = application.matrix(counts.shape[-1])
    priors = application.class_priors(counts)
    by_class = (rates * costs).sum(axis=-1)
    constant = (priors[..., None] * costs).sum(axis=-2)
    return weigh(priors, by_class), np.asarray(constant.min(axis=-1))


def expected_cost(totals: Totals, application: Application) -> Result:
    """Expected cost of a decision: `sum_k P_k sum_d c[k, d] R[k, d]`.

    Range [0, largest cost] in the unit of the costs; lower is better. Naive baseline: `min_d sum_k
    P_k c[k, d]` (the best constant decision). Ferrer et al. 2024, section 3.1.
    """
    return _costs(totals, application)


def nec(totals: Totals, application: Application) -> Result:
    """Expected cost divided by the cost of the best constant decision: `sum_k P_k sum_d c[k, d]
    R[k, d] / min_d sum_k P_k c[k, d]`.

    Range [0, inf); lower is better. Naive baseline: 1.0 (the best constant decision). The divisor
    is computed again in each replicate. Ferrer et al. 2024, section 3.5.
    """
    cost, naive = _costs(totals, application)
    return share(cost, naive), 1.0


def act_dcf(totals: Totals, application: Application) -> Result:
    """Detection cost of the decisions, divided by that of the naive baseline: `(Cm P Pmiss + Cf
    (1-P) Pfa) / min(Cm P, Cf (1-P))`.

    The decisions are those in the file or, for scores, those at the threshold (`--threshold`;
    default: the Bayes threshold). Range [0, inf); lower is better. Naive baseline: 1.0 (always
    reject or always accept). Equal to 1 - TWV of a single query if always rejecting costs less than
    always accepting. Rodriguez-Fuentes & Penagarikano 2013, Eq. 8-11.
    """
    application.require_detection()
    return nec(totals, application)


def detection_cost(totals: Totals, application: Application) -> Result:
    """Detection cost of the decisions, not normalised: `Cm P Pmiss + Cf (1-P) Pfa`.

    The decisions are those of `act_dcf`. Range [0, Cm P + Cf (1-P)] in the unit of the costs; lower
    is better. Naive baseline: `min(Cm P, Cf (1-P))` (always reject or always accept).
    Rodriguez-Fuentes & Penagarikano 2013, Eq. 8 and 9.
    """
    application.require_detection()
    return expected_cost(totals, application)


def nte(totals: Totals, application: Application) -> Result:
    """Total error rate divided by that of the best constant decision: `sum_k P_k (1 - R[k, k]) / (1
    - max_k P_k)`.

    Abstaining counts as an error. Example: an accuracy of 90% gives 2.0 if the largest class has a
    prior of 95%. Range [0, inf); lower is better. Naive baseline: 1.0 (always the class of highest
    prior). Ferrer et al. 2024, section 3.5.
    """
    error, naive = total_error(totals, application)
    return share(error, naive), 1.0


def total_error(totals: Totals, application: Application) -> Result:
    """Share of wrong decisions, with classes weighted by their priors: `sum_k P_k (1 - R[k, k])`.

    Abstaining counts as an error. Range [0, 1]; lower is better. Naive baseline: `1 - max_k P_k`
    (always the class of highest prior). Ferrer et al. 2024, section 3.1.
    """
    counts, rates = class_rates(totals)
    priors = application.class_priors(counts)
    right = np.diagonal(rates, axis1=-2, axis2=-1)
    return weigh(priors, 1 - right), 1 - priors.max(axis=-1)


def accuracy(totals: Totals, application: Application) -> Result:
    """Share of correct decisions, with classes weighted by their priors: `sum_k P_k R[k, k]`.

    Abstaining counts as an error. Range [0, 1]; higher is better. Naive baseline: `max_k P_k`
    (always the class of highest prior). Ferrer et al. 2024, section 3.5.
    """
    error, naive = total_error(totals, application)
    return 1 - np.asarray(error), 1 - np.asarray(naive)


def balanced_error(totals: Totals, _: Application) -> Result:
    """Mean over classes of the share of wrong decisions: `1 - sum_k R[k, k] / K`.

    1 minus this measure is also called unweighted average recall. Range [0, 1]; lower is better.
    Naive baseline: `1 - 1/K` (any constant decision). Undefined if a class has no trials. Ferrer et
    al. 2024, section 3.1.
    """
    rates = class_rates(totals)[1]
    right = np.diagonal(rates, axis1=-2, axis2=-1)
    return 1 - right.mean(axis=-1), 1 - 1 / rates.shape[-2]


def p_miss(totals: Totals, _: Application) -> Result:
    """Share of targets that are rejected: `rejected targets / targets`.

    Range [0, 1]; lower is better. No naive baseline: a constant decision can reach 0.
    Undefined without targets. Rodriguez-Fuentes & Penagarikano 2013, Eq. 1.
    """
    return class_rates(totals)[1][:, 1, 0], NONE


def p_fa(totals: Totals, _: Application) -> Result:
    """Share of nontargets that are accepted: `accepted nontargets / nontargets`.

    Range [0, 1]; lower is better. No naive baseline: a constant decision can reach 0.
    Undefined without nontargets. Rodriguez-Fuentes & Penagarikano 2013, Eq. 3; Petegrosso et al.
    2022, A.1.2 (Eq. 12).
    """
    return class_rates(totals)[1][:, 0, 1], NONE


def recall(totals: Totals, _: Application) -> Result:
    """Share of targets that are accepted: `accepted targets / targets`.

    Range [0, 1]; higher is better. No naive baseline: a constant decision can reach 1.
    Undefined without targets. Petegrosso et al. 2022, A.1.1 (Eq. 11).
    """
    return class_rates(totals)[1][:, 1, 1], NONE


def precision(totals: Totals, application: Application) -> Result:
    """Share of targets among accepted trials, at the prior of the application: `P (1-Pmiss) / (P
    (1-Pmiss) + (1-P) Pfa)`.

    Range [0, 1]; higher is better. Naive baseline: P (always accept). Undefined if no trial is
    accepted. Petegrosso et al. 2022, A.1.1 (Eq. 10).
    """
    counts, rates = class_rates(totals)
    accepted = application.class_priors(counts) * rates[:, :, 1]
    return share(accepted[:, 1], accepted.sum(axis=1)), application.class_priors(counts)[:, 1]


def fdr(totals: Totals, application: Application) -> Result:
    """Share of nontargets among accepted trials, at the prior of the application: `(1-P) Pfa / (P
    (1-Pmiss) + (1-P) Pfa)`.

    This is 1 - precision. Range [0, 1]; lower is better. Naive baseline: 1 - P (always accept).
    Undefined if no trial is accepted. Petegrosso et al. 2022, A.1.2 (Eq. 13).
    """
    value, reference = precision(totals, application)
    return 1 - np.asarray(value), 1 - np.asarray(reference)


def abstained(totals: Totals, application: Application) -> Result:
    """Share of trials on which the system abstains, with classes weighted by their priors: `sum_k
    P_k R[k, abstain]`.

    The value is 0 if the cost matrix has no column for abstaining. Read the value together with the
    expected cost, which includes the cost of abstaining. Range [0, 1]; lower is better. No naive
    baseline. Ferrer et al. 2024, section 3.1.
    """
    counts, rates = class_rates(totals)
    classes = counts.shape[-1]
    if rates.shape[-1] == classes:
        return np.zeros(len(counts)), NONE
    return weigh(application.class_priors(counts), rates[..., classes]), NONE


_ACCURACY = "it means little without its naive baseline, the share of the largest class; prefer nte"
_of = partial(measure, ("decisions",))
_detection = partial(_of, detection=True)
_rate = partial(_of, shown_in="percent")
_miss = partial(_rate, detection=True, errors="misses")
_false = partial(_rate, detection=True, errors="false_alarms")
_PRIOR = ("prior",)
MEASURES = (
    _of(nec, "Normalised expected cost", "paper 003, 3.5", Rule(rates=normalised)),
    _of(expected_cost, "Expected cost", "paper 003, 3.1", Rule(rates=priced)),
    _detection(
        act_dcf, "Actual detection cost (normalised)", "paper 002, Eq. 8-11", Rule(rates=normalised)
    ),
    _detection(
        detection_cost, "Detection cost (not normalised)", "paper 002, Eq. 8", Rule(rates=priced)
    ),
    _of(
        nte, "Normalised total error", "paper 003, 3.5", Rule(rates=erring_normalised), uses=_PRIOR
    ),
    _rate(total_error, "Total error rate", "paper 003, 3.1", Rule(rates=erring), uses=_PRIOR),
    _rate(
        accuracy,
        "Accuracy",
        "paper 003, 3.5",
        Rule(rates=not_erring),
        direction="higher",
        advice=_ACCURACY,
        rule="accuracy-without-reference",
        uses=_PRIOR,
    ),
    _rate(balanced_error, "Balanced error rate", "paper 003, 3.1", Rule(rates=balanced), uses=()),
    _miss(p_miss, "Miss rate", "paper 002, Eq. 1", share_of(1, 0), uses=()),
    _false(p_fa, "False-alarm rate", "paper 002, Eq. 3", share_of(0, 1), uses=()),
    _miss(recall, "Recall", "paper 001, A.1.1", share_of(1, 1), direction="higher", uses=()),
    _false(
        precision, "Precision", "paper 001, A.1.1", of_accepted(1), direction="higher", uses=_PRIOR
    ),
    _false(p_fa, "False-positive rate", "paper 001, A.1.2", share_of(0, 1), name="fpr", uses=()),
    _false(fdr, "False-discovery rate", "paper 001, A.1.2", of_accepted(0), uses=_PRIOR),
    _rate(abstained, "Share abstained", "paper 003, 3.1", Rule(rates=abstaining), uses=_PRIOR),
)
