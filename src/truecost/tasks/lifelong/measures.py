"""Scores across time (lifelong learning): penalties for help, forgetting and transfer.

Each takes a score (`wer`, `bleu`, `der`, ...) as its parameter and the choices `Across`. The parts
of the score are tallies with the cell axes version x time x state. The effort of help:
`supervision`. Signs hold for scores of which lower is better and of which higher is: a penalty is
added to an error and taken from a quality. Source: Prokopalo et al. 2020.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import (
    NONE,
    Array,
    Floats,
    Function,
    Measure,
    Rate,
    Rates,
    Result,
    Rule,
    Told,
    difference,
    share,
)
from truecost.core.tally import Tally
from truecost.errors import TruecostError
from truecost.tasks.lifelong.supervision import (
    ADAPTED,
    BASE,
    CLASSIFICATION_COST,
    CORRECTED,
    CURVE,
    IMPAIRED,
    OF_HELP,
    STREAM,
    TASK,
    Across,
    View,
    allies_2020,
    averaged,
    scores,
    stepped,
)
from truecost.tasks.measures import find


def inner_of(text: str) -> Measure:
    """The score that a parameter names; ValueError when there is none of that name."""
    try:
        return find(text, TASK)
    except TruecostError as error:
        raise ValueError(str(error)) from error


def _state_score(name: str, state: int, what: str) -> Callable[..., Result]:
    """The score of a state under the policy; its naive baseline is the initial version."""

    def function(totals: Totals, application: Application, inner: Measure, how: Across) -> Result:
        values, naive = scores(totals, application, inner)
        frozen = values[:, how.initial, :, BASE]
        alone = how.initial < 0 or not np.isfinite(frozen[:, how.window]).any()
        other = naive[:, how.version, :, state] if alone else frozen
        return how.weighed(values[:, how.version, :, state]), how.weighed(other)

    function.__name__ = name
    function.__doc__ = f"""Score of {what}, summed over time as in `policy_score`.

    Direction and range: as for `policy_score`. Naive baseline: that of `policy_score`. Prokopalo et
    al. 2020, section 2.2 and Eq. 2.
    """
    return function


_PARTS = "the outputs before help, with the corrected parts made"
base_score = _state_score("base_score", BASE, "the outputs before help (S_base)")
adapted_score = _state_score("adapted_score", ADAPTED, "the final outputs after help (S_adapt)")
impaired_score = _state_score("impaired_score", IMPAIRED, f"{_PARTS} wrong (S_imp)")
corrected_score = _state_score("corrected_score", CORRECTED, f"{_PARTS} right (S_cor)")


def policy_score(totals: Totals, application: Application, inner: Measure, how: Across) -> Result:
    """Score of version M_i across time, without help on the test set: `sum_j P(t_j) s(M_i, t_j)`.

    A user policy (`--policy`) weights the test times t_j from l_1 to l_i, by default equally. The
    direction is that of the score; so is the range, if the weights sum to 1 (default). Naive
    baseline: the initial version without learning; if there is none, that of the score. Undefined
    without a test time from l_1 to l_i, or if a score is undefined. Prokopalo et al. 2020, Eq. 2.
    """
    return base_score(totals, application, inner, how)


def penalty(totals: Totals, application: Application, inner: Measure, how: Across) -> Result:
    """Cost of the help, as the change of the score by the corrected parts: `S_imp - S_cor`.

    Above 0 if a lower score is better, otherwise below 0; 0 without corrections. `penalised_score`
    contains this penalty. No naive baseline. Prokopalo et al. 2020, Eq. 1.
    """
    values, _ = scores(totals, application, inner)
    of = values[:, how.version]
    return how.weighed(difference(of[..., IMPAIRED], of[..., CORRECTED])), NONE


def penalised_score(totals: Totals, application: Application, inner: Measure, how: Across) -> Told:
    """Score after help with a penalty for the help: `S_adapt + (S_imp - S_cor)`.

    The scores are weighted sums over time, as in `policy_score`. The value can be outside the range
    of the score. `result.json` also contains `no_learning`, S_base + S_imp - S_cor (the value if
    the system learned nothing from the help), and `no_generalisation`, S_imp (the value if only the
    corrected parts changed). Naive baseline: that of `policy_score`. Undefined without a test time
    from l_1 to l_i, or if a score is undefined. Prokopalo et al. 2020, Eq. 1 and 3.
    """
    values, _ = scores(totals, application, inner)
    of = values[:, how.version]
    cost = of[..., IMPAIRED] - of[..., CORRECTED]
    _, reference = adapted_score(totals, application, inner, how)
    if how.compat:
        return how.weighed(allies_2020(totals, application, inner, how)), reference, {}
    beside = {
        "no_learning": how.weighed(of[..., BASE] + cost),
        "no_generalisation": how.weighed(of[..., IMPAIRED]),
    }
    return how.weighed(of[..., ADAPTED] + cost), reference, beside


def generalisation_gain(
    totals: Totals, application: Application, inner: Measure, how: Across
) -> Result:
    """Improvement of the penalised score against the score before help: `S_base - S_pen`.

    If a higher score is better, the sign is reversed. Above 0, the corrections improved the system
    by more than they cost. Higher is better. Naive baseline: S_base - S_imp (a system that applies
    the corrections and learns nothing else). Prokopalo et al. 2020, section 2.2 and Fig. 4.
    """
    values, _ = scores(totals, application, inner)
    of, sign = values[:, how.version], _sign(inner, how)
    pasted = how.weighed(sign * difference(of[..., BASE], of[..., IMPAIRED]))
    base, pen = how.weighed(of[..., BASE]), penalised_score(totals, application, inner, how)[0]
    return (difference(base, pen) if sign > 0 else difference(pen, base)), pasted


def _sign(inner: Measure, how: Across) -> int:
    """1 where a lower score is better, -1 where a higher one is."""
    higher = inner.direction == "higher" if how.higher is None else how.higher
    return -1 if higher else 1


def _loss(totals: Totals, application: Application, inner: Measure, how: Across) -> Floats:
    """The scores before help, lower is better; shape (replicates, versions, times)."""
    return np.asarray(_sign(inner, how) * scores(totals, application, inner)[0][..., BASE])


def _past(how: Across) -> Array:
    """Times whose own version, the newest at that time, is older than the one that is scored."""
    return np.asarray((how.own >= how.learnt) & (how.own < how.version))


def forgetting_max(totals: Totals, application: Application, inner: Measure, how: Across) -> Result:
    """Forgetting, max minus last: best score of an earlier version minus score of version M_i.

    Mean over the times t_j at which the newest version was older than M_i; the best score is the
    best of M_1 to M_(i-1) at t_j, chosen again in each replicate. If a lower score is better, the
    sign is reversed. Below 0, M_i is the best on average. Lower is better. Naive baseline: 0 (a
    version that changes nothing). Chaudhry et al. 2018; Prokopalo et al. 2020, section 3.1.
    """
    loss = _loss(totals, application, inner, how)
    earlier = loss[:, how.learnt : how.version]
    if not earlier.shape[1]:
        return np.full(len(loss), np.nan), 0.0
    best = np.where(np.isnan(earlier), np.inf, earlier).min(axis=1)
    best[np.isinf(best)] = np.nan  # no earlier version was scored there
    return averaged(difference(loss[:, how.version], best), _past(how)), 0.0


def _since(totals: Totals, application: Application, inner: Measure, how: Across) -> Floats:
    """Mean excess of the errors of a version over those of the newest version of each time."""
    loss = _loss(totals, application, inner, how)
    past = _past(how)
    first = loss[:, np.where(past, how.own, 0), np.arange(len(past))]
    return averaged(difference(loss[:, how.version], first), past)


def forgetting_first(
    totals: Totals, application: Application, inner: Measure, how: Across
) -> Result:
    """Forgetting, first minus last: score of the version that was newest at a time, minus score of
    version M_i.

    Mean over the times t_j at which the newest version was older than M_i. If a lower score is
    better, the sign is reversed. Below 0, later learning helped. The value is minus
    `backward_transfer`. Lower is better. Naive baseline: 0 (a version that changes nothing).
    Lopez-Paz and Ranzato 2017.
    """
    return _since(totals, application, inner, how), 0.0


def backward_transfer(
    totals: Totals, application: Application, inner: Measure, how: Across
) -> Result:
    """Backward transfer: advantage of version M_i over the versions that were newest at past times.

    Mean of `R_(i,j) - R_(j,j)` over past times j, at which M_j was newest; `R_(i,j)` is the score
    of version i at time j. If a lower score is better, the sign is reversed. Above 0, later
    learning helped. Higher is better. Naive baseline: 0 (a version that changes nothing). Lopez-Paz
    and Ranzato 2017.
    """
    return 0.0 - _since(totals, application, inner, how), 0.0  # 0, and never -0


def forward_transfer(
    totals: Totals, application: Application, inner: Measure, how: Across
) -> Result:
    """Forward transfer: advantage of a version over the initial one on the next version's data.

    Mean of `R_(j-1,j) - R_(0,j)` over the times j at which the newest version, M_j, is M_2 to M_i;
    `R_(i,j)` is the score of version i at time j. If a lower score is better, the sign is reversed.
    Higher is better. Naive baseline: 0 (the initial version). Undefined without an initial version.
    Lopez-Paz and Ranzato 2017.
    """
    loss = _loss(totals, application, inner, how)
    if how.initial < 0:
        return np.full(len(loss), np.nan), 0.0
    chosen = (how.own > how.learnt) & (how.own <= how.version)
    before = np.where(chosen, how.own - 1, 0)
    ahead = loss[:, before, np.arange(len(before))]
    return averaged(difference(loss[:, how.initial], ahead), chosen), 0.0


def lifelong_score(totals: Totals, application: Application, inner: Measure, how: Across) -> Result:
    """Mean score of the versions up to M_i; each version is scored on the data that it learned
    from (the lifelong set). The score of version M_k is: `s(M_k, l_k)`.

    All versions have equal weight. The direction is that of the score. Naive baseline: the mean
    score on these data before adaptation. Prokopalo et al. 2020, section 3.
    """
    values, _ = scores(totals, application, inner, STREAM)
    places = np.arange(how.learnt, how.version + 1)
    times = places - how.learnt
    kept = times < values.shape[2]
    own = values[:, places[kept], times[kept]]
    adapted = own[..., ADAPTED] if np.isfinite(own[..., ADAPTED]).any() else own[..., BASE]
    every = np.ones(len(times[kept]), bool)
    return averaged(adapted, every), averaged(own[..., BASE], every)


def area_under_curve(
    totals: Totals, application: Application, inner: Measure, how: Across
) -> Result:
    """Area under the curve of the score against the cost of help, divided by the range of costs.

    The curve is a step function: each score, of all test items together, is valid up to the next
    cost, and the last score up to `--max-cost` (default: the largest cost of all runs). The area is
    averaged over runs. The direction is that of the score. Naive baseline: the first score at all
    costs. Undefined if the range of costs is empty. Prokopalo et al. 2020, section 2.1 and Fig. 2.
    """
    values, _ = scores(totals, application, inner, CURVE)  # replicates, seeds, versions
    areas = [stepped(costs, values[:, seed], how.maximum) for seed, costs in enumerate(how.costs)]
    weights = totals.weights("seed") if "seed" in totals.block.rows else np.ones((1, how.runs))
    return _mean(np.stack(areas, axis=1), weights), _mean(values[:, :, 0], weights)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Weighed mean over the last axis."""
    return share((values * weights).sum(axis=1), np.broadcast_to(weights, values.shape).sum(axis=1))


SCORE = "classification_cost"
OF_SCORES: tuple[tuple[Function, str, str, str, tuple[str, ...]], ...] = (
    (policy_score, "Policy-weighted score", "lower", "Eq. 2", ()),
    (penalised_score, "Penalised score", "lower", "Eq. 1, 3", ()),
    (base_score, "Score before help", "lower", "section 2.2", ()),
    (adapted_score, "Score after help", "lower", "section 2.2", ()),
    (impaired_score, "Impaired score", "lower", "section 2.2", ()),
    (corrected_score, "Corrected score", "lower", "section 2.2", ()),
    (penalty, "Penalty of help", "lower", "Eq. 1", ()),
    (generalisation_gain, "Gain by generalisation", "higher", "Fig. 4", ()),
    (forgetting_max, "Forgetting (max minus last)", "lower", "section 3.1", ("forgetting",)),
    (forgetting_first, "Forgetting (first minus last)", "lower", "section 3.1", ("transfer",)),
    (backward_transfer, "Backward transfer", "higher", "section 3.1", ("transfer",)),
    (forward_transfer, "Forward transfer", "higher", "section 3.1", ("transfer",)),
    (lifelong_score, "Score on the lifelong set", "lower", "section 3", ()),
    (area_under_curve, "Area under the learning curve", "lower", "section 2.1", ()),
)
WITHOUT_INITIAL = (
    "a needed score is missing or undefined, or no first row is the initial version: add it"
)
UNDEFINED = "a needed score is missing or undefined, or no test time lies in the window"
OWN_DIRECTION = (
    *("generalisation_gain", "forgetting_max", "forgetting_first"),
    *("backward_transfer", "forward_transfer"),
)  # the others are better as their score is
DIFFERENCES = (*OWN_DIRECTION, "penalty", "penalised_score")
STATES = {
    "policy_score": BASE,
    "base_score": BASE,
    "adapted_score": ADAPTED,
    "impaired_score": IMPAIRED,
    "corrected_score": CORRECTED,
}  # scores of one state: their intervals are those of the score
PREFIXES = {"lifelong_score": STREAM, "area_under_curve": CURVE}


def rule_of(measure: Measure, inner: Measure, how: Across) -> Rule:
    """The rule of a measure of a score: differences have their own, others that of the score."""
    of, prefix = inner.interval, PREFIXES.get(measure.name, "")
    size = None if of.size is None else (prefix + of.size[0], of.size[1])
    if measure.name in DIFFERENCES:
        return replace(measure.interval, size=size)
    state, rates = STATES.get(measure.name), None
    if state is not None and of.rates is not None and of.joined == "sum":
        rates = _cell_rates(how, state)
    return Rule(of.scale, rates, edge=rates is not None and of.edge, size=size, bounds=of.bounds)


def _cell_rates(how: Across, state: int) -> Rates:
    """The rates of a score in the cells of its window, each with the weight of its time."""

    def found(totals: Totals, application: Application, inner: Measure) -> list[Rate]:
        own: list[Rate] = []
        rates = inner.interval.rates
        assert rates is not None
        for j in how.window:
            cell = View(totals, change=partial(_cell, at=(how.version, int(j), state)))
            for rate in rates(cast("Totals", cell), application):
                tally = totals.evidence.parts[rate.part]
                assert isinstance(tally, Tally)
                here = np.zeros(tally.shape)
                here[how.version, j, state] = 1.0
                errors, trials = rate.errors * here.ravel(), rate.trials * here.ravel()
                weight = rate.weight * float(how.weights[j])
                own.append(replace(rate, errors=errors, trials=trials, weight=weight))
        return own

    return found


def _cell(sums: Array, _statistic: str, at: tuple[int, int, int]) -> Array:
    """The sums of one version at one time in one state."""
    return np.asarray(sums[:, at[0], at[1], at[2]])


def _score_measure(row: "tuple[Function, str, str, str, tuple[str, ...]]") -> Measure:
    function, title, direction, where, cites = row
    plain = Measure(
        function.__name__,
        function,
        (),
        title,
        "higher" if direction == "higher" else "lower",
        f"paper 004, {where}",
        parameter=SCORE,
        parse=inner_of,
        open=True,
        follows=function.__name__ not in OWN_DIRECTION,
        undefined=WITHOUT_INITIAL if function is forward_transfer else UNDEFINED,
        uses=(),
        task=TASK,
        interval=Rule(
            "identity" if function.__name__ in DIFFERENCES else "log",
            excess=function is forgetting_max,
            fewest=10 if "forgetting" in function.__name__ else 0,
        ),
    )
    return replace(plain, cites=("004", *cites)) if cites else plain


def mean_score(totals: Totals, _: Application) -> Result:
    """Weighted mean of scores that another program computed: `sum_i w_i s_i / sum_i w_i`.

    w_i is the weight of the score s_i. Range and unit are those of the scores; lower is better
    without `--higher`. No naive baseline. Undefined if all weights are 0. Prokopalo et al. 2020,
    section 3.1.
    """
    weight = totals.sums("scored", "weight")
    return share(totals.sums("scored", "score"), weight), NONE


MEASURES = (
    CLASSIFICATION_COST,
    *(_score_measure(row) for row in OF_SCORES),
    Measure(
        "mean_score",
        mean_score,
        ("scored",),
        "Mean score",
        "lower",
        "paper 004, 3.1",
        uses=(),
        undefined="there are no scores",
        interval=Rule("identity", size=("scored", "weight")),  # their range is not known
    ),
    *OF_HELP,
)
