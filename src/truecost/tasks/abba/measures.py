"""AB/BA and A/B tests: candidate against deployed model, from accepted items only.

All read the tally `collected` with the axes arm (A, B) and other (accepts, rejects): the cells 11A,
10A, 11B, 01B. Its statistics: `items` counts the collected items and `labels` those with a human
label; `labelled` sums the inverse inclusion probabilities of the latter, `positive` and `negative`
those of label 1 and 0. `machine` has `all`, the sum of the machine's probabilities over all items,
and `known`, their weighted sum over the labelled ones. `traffic` has the `exposure` of each arm
(axis arm).

Every estimator first finds the cell totals T_h of a class (label 1 for the recall, 0 for the false
positives), then divides. Conventions: arrays of totals have the axes (..., arm, other).
Source: Petegrosso et al. 2022, as docs/errata.md corrects it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats, Measure, Rate, Result, Rule, Told, one_of

Sums = Callable[[str, str], Array]
Lean = tuple[Array, Array]  # a residual by arm and other, and where there is one
CORRECTION = 1e-9  # of a cell: what rounding may take a total beyond it without being clipped


@dataclass(frozen=True)
class Estimator:
    """One way to a ratio: everything that other modules know of it.

    `totals` goes from sums, and a lean or None, to the items of label 1 and of label 0 by arm and
    other; `divide` from the totals of a label and the sums to the ratio.
    """

    reads: tuple[str, ...]  # parts of the evidence
    totals: Callable[[Sums, Lean | None], tuple[Array, Array]]
    divide: Callable[[Array, Sums], Floats]
    words: str  # how it comes about, for readers
    labels: bool = True  # whether it needs human labels

    @property
    def machine(self) -> bool:
        """Whether it reads machine scores."""
        return "machine" in self.reads


def human(sums: Sums, _: Lean | None = None) -> tuple[Array, Array]:
    """Totals of both labels from human labels alone: N_h times the share among the labelled.

    Post-stratified: how many items a cell has is known, however few of them were labelled.
    """
    n = sums("collected", "items")
    labelled, positive = sums("collected", "labelled"), sums("collected", "positive")
    # Products first, and not n minus the other: whole where all items are labelled.
    one, other = (np.where(n == 0, 0.0, n * k / labelled) for k in (positive, labelled - positive))
    return one, other


def soft(sums: Sums, _: Lean | None = None) -> tuple[Array, Array]:
    """Totals of both labels from the machine's probabilities (Petegrosso et al. 2022, Eq. 8-9)."""
    p = sums("machine", "all")
    return p, sums("collected", "items") - p


def corrected(sums: Sums, lean: Lean | None = None) -> tuple[Array, Array]:
    """Totals of both labels: the machine's, corrected by the labelled items of each cell.

    T_h = N_h [mean_all(m) + mean_labelled(L - m)], clipped to [0, N_h]. `lean` adds one labelled
    item with some residual L - m to some cells.
    """
    n = sums("collected", "items")
    within = np.clip(_unclipped(sums, lean), 0.0, n)
    return within, n - within


def clipped(sums: Sums) -> Array:
    """Number of cells with a corrected total outside 0 to their number of items."""
    n, total = sums("collected", "items"), _unclipped(sums, None)
    beyond = np.abs(total - np.clip(total, 0.0, n)) > CORRECTION * n
    return np.asarray(beyond.sum(axis=(-2, -1)))


def _unclipped(sums: Sums, lean: Lean | None) -> Array:
    n = sums("collected", "items")
    labelled = sums("collected", "labelled")
    residual = sums("collected", "positive") - sums("machine", "known")
    if lean is not None:
        labels = sums("collected", "labels")
        one = np.where(labels == 0, 1.0, labelled / labels)  # what an item weighs on average
        residual = residual + lean[0] * one
        labelled = labelled + np.where(lean[1], one, 0.0)
    return np.where(n == 0, 0.0, sums("machine", "all") + n * (residual / labelled))


def direct_ratio(total: Array, _: Sums | None = None) -> Floats:
    """[T11A / (T11A + T10A)] [(T11B + T01B) / T11B] (Petegrosso et al. 2022, Eq. 1-3); traffic
    shares cancel.
    """
    a, b = total[..., 0, :], total[..., 1, :]
    return np.asarray(a[..., 0] / a.sum(axis=-1) * (b.sum(axis=-1) / b[..., 0]))


def pooled_ratio(total: Array, sums: Sums) -> Floats:
    """(T01B / beta + T11) / (T10A / alpha + T11) with T11 of both arms (Petegrosso et al. 2022, Eq.
    4-6).

    alpha is the share of A among the items of both labels that both accept, beta = 1 - alpha.
    """
    both = sums("collected", "items")[..., 0]
    alpha = both[..., 0] / both.sum(axis=-1)
    shared = total[..., 0].sum(axis=-1)
    over = total[..., 1, 1] / (1 - alpha) + shared
    return np.asarray(over / (total[..., 0, 1] / alpha + shared))


def ab_ratio(total: Array, sums: Sums) -> Floats:
    """(T_B / exposure of B) / (T_A / exposure of A), of all that each arm collected."""
    return _over(total.sum(axis=-1) / sums("traffic", "exposure"))


def _over(figures: Array) -> Floats:
    """The figure of arm B over that of arm A."""
    return np.asarray(figures[..., 1] / figures[..., 0])


ESTIMATORS = {  # the one to trust first
    "corrected": Estimator(
        ("collected", "machine"),
        corrected,
        direct_ratio,
        "machine labels corrected by the human ones of each cell",
    ),
    "direct": Estimator(("collected",), human, direct_ratio, "human labels, the arms apart"),
    "pooled": Estimator(("collected",), human, pooled_ratio, "human labels, the arms together"),
    "ab": Estimator(
        ("collected", "traffic"),
        human,
        ab_ratio,
        "counts of each arm for its traffic, without offline decoding",
    ),
    "soft": Estimator(
        ("collected", "machine"), soft, direct_ratio, "machine labels alone", labels=False
    ),
}


def ratio(sums: Sums, estimator: str, label: int, lean: Lean | None = None) -> Floats:
    """The ratio of one estimator for the items of a label, shape (...).

    NaN or infinite where a cell that divides is empty. Sums are (..., arm, other), the exposure
    (..., arm). Label 1 is for the recall, 0 for the false positives. A `lean` is for the ends of
    the corrected interval: a pseudo-residual, 0 where there is none, and which cells have one.
    """
    chosen = ESTIMATORS[estimator]
    with np.errstate(divide="ignore", invalid="ignore"):
        return chosen.divide(chosen.totals(sums, lean)[1 - label], sums)


def _column(text: str) -> str:
    if not text:
        raise ValueError("name a numeric column of the log, such as rmean:latency")
    return text


def _with_clipped(label: int, totals: Totals, estimator: str) -> Told:
    values = ratio(totals.sums, estimator, label)
    if estimator != "corrected":
        return values, 1.0, {}
    with np.errstate(divide="ignore", invalid="ignore"):
        return values, 1.0, {"clipped": clipped(totals.sums)}


def rrecall(totals: Totals, _: Application, estimator: str) -> Told:
    """Recall of the candidate model B divided by that of the deployed model A: `P(B = 1 | L = 1) /
    P(A = 1 | L = 1)`.

    By Bayes' theorem, this equals `P(B = 1 | A = 1, L = 1) / P(A = 1 | B = 1, L = 1)`, which can be
    estimated from accepted items. Arm A contains the items that model A accepted in use, and arm B
    the items that model B accepted; each model later judges the items of the other arm (offline
    decisions). The parameter is the estimator. `direct`: human labels; arm A gives the numerator,
    and arm B the denominator. `pooled`: human labels; the items that both models accept are joined
    over both arms. `ab`: human labels and accepted items per exposure (hours or users) of each arm,
    without offline decisions. `soft`: as `direct`, with machine labels. `corrected`: as `direct`,
    with machine labels that human labels correct. Range [0, inf); higher is better. Naive baseline:
    1 (the deployed model itself). Petegrosso et al. 2022, Eq. 1, 2, 6, 9.
    """
    return _with_clipped(1, totals, estimator)


def rfpr(totals: Totals, _: Application, estimator: str) -> Told:
    """False-positive rate of the candidate model B divided by that of the deployed model A: `P(B =
    1 | L = 0) / P(A = 1 | L = 0)`.

    The parameter is one of the estimators of `rrecall`. Range [0, inf); lower is better. Naive
    baseline: 1 (the deployed model itself). Petegrosso et al. 2022, Eq. 3, 6, 7, 8.
    """
    return _with_clipped(0, totals, estimator)


def rfdr(totals: Totals, _: Application) -> Result:
    """False-discovery rate of arm B divided by that of arm A.

    The false-discovery rate is the share of nontargets among the accepted items of an arm. This is
    a plain A/B test: it needs no offline decisions of the other model. Range [0, inf); lower is
    better. Naive baseline: 1 (no difference). Petegrosso et al. 2022, Eq. 13 and A.1.3.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        false = human(totals.sums)[1].sum(axis=-1)
        return _over(false / totals.sums("collected", "items").sum(axis=-1)), 1.0


def raccepts(totals: Totals, _: Application) -> Result:
    """Accepted items per exposure of arm B divided by those of arm A; labels are not needed.

    The exposure is the traffic of an arm, such as its hours or users. This is a plain A/B test.
    Range [0, inf). Naive baseline: 1 (no difference). Neither direction is better by itself; gates
    treat fewer accepted items as better. Petegrosso et al. 2022, A.1.3.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return ab_ratio(totals.sums("collected", "items"), totals.sums), 1.0


def rmean(totals: Totals, _: Application, column: str) -> Result:
    """Mean of a numeric column over the items of arm B divided by that of arm A.

    The parameter is the name of the column. This is a plain A/B test. Range (-inf, inf). Naive
    baseline: 1 (no difference). Which direction is better depends on the column; gates treat a
    lower mean as better, as for latency. Petegrosso et al. 2022, A.1.3.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        items = totals.sums("collected", "items").sum(axis=-1)
        return _over(totals.sums("columns", column).sum(axis=-1) / items), 1.0


def _share(arm: int, statistic: str, of: str = "", cells: tuple[float, float] = (1, 1)) -> Rate:
    """The rate of a statistic in some cells of an arm: where the other model accepts, rejects."""
    errors, trials = np.zeros((2, 2)), np.zeros((2, 2))
    errors[arm], trials[arm] = cells, 1.0
    names = (statistic, of or statistic)
    said = {"positive": "true accept", "negative": "false accept"}
    kind = "accepted item" if of else said[statistic]
    what, of = said[statistic] if of else "accept by both models", f"{kind} of arm {'AB'[arm]}"
    return Rate("collected", errors.ravel(), trials.ravel(), statistics=names, what=what, of=of)


def _both_ways(statistic: str) -> Rule:
    """P(B = 1 | A = 1) over P(A = 1 | B = 1) among the items of a label."""
    rates = [_share(arm, statistic, cells=(1, 0)) for arm in (0, 1)]
    return Rule(rates=lambda *_: rates, joined="ratio")


def _pooled_rule(statistic: str) -> Rule:
    """The interval rule of the pooled estimate: items that both models accept come from both arms,
    in proportion to their numbers.
    """

    def rates(totals: Totals, *_: object) -> list[Rate]:
        both = np.asarray(totals.sums("collected", "items"), np.float64)[0, :, 0]
        found = []
        for arm, part in enumerate(both / both.sum()):
            own = _share(arm, statistic)
            errors, trials = np.zeros((2, 2)), np.zeros((2, 2))
            errors[:, 0] = trials[:, 0] = part
            trials[arm, 1] = 1.0
            found.append(replace(own, errors=errors.ravel(), trials=trials.ravel()))
        return found

    return Rule(rates=rates, joined="shared")


_FALSE = [_share(arm, "negative", of="items") for arm in (1, 0)]
WHOLE = {  # intervals where a human labelled every item: of two rates
    "rrecall:direct": _both_ways("positive"),
    "rrecall:pooled": _pooled_rule("positive"),
    "rfpr:direct": _both_ways("negative"),
    "rfpr:pooled": _pooled_rule("negative"),
    "rfdr": Rule(rates=lambda *_: _FALSE, joined="ratio"),
}
SMOOTH = Rule("log", size=("collected", "items"))
DIFFERENT_SIGNS = Rule("identity", size=("collected", "items"))  # of means of any sign

_ESTIMATOR = partial(one_of, ESTIMATORS)
_BY_ESTIMATOR: dict[str, Any] = {"parameter": "direct", "parse": _ESTIMATOR, "open": True}


def _ratio(
    function: Callable[..., Any], title: str, source: str, *parts: str, **more: Any
) -> Measure:
    """A ratio of the candidate over the deployed model, named as its function."""
    more = {"direction": "lower", "uses": (), "interval": SMOOTH, **more}
    return Measure(function.__name__, function, ("collected", *parts), title, source=source, **more)


MEASURES = (
    _ratio(
        rrecall,
        "Recall of the candidate over that of the deployed model",
        "paper 001, Eq. 1, 2, 6, 9",
        direction="higher",
        **_BY_ESTIMATOR,
    ),
    _ratio(
        rfpr,
        "False-positive rate of the candidate over that of the deployed model",
        "paper 001, Eq. 3, 6, 7, 8",
        **_BY_ESTIMATOR,
    ),
    _ratio(
        rfdr,
        "False-discovery rate of arm B over that of arm A (A/B test)",
        "paper 001, Eq. 13 and A.1.3",
    ),
    _ratio(
        raccepts,
        "Accepted items per exposure of arm B over those of arm A (A/B test)",
        *("paper 001, A.1.3", "traffic"),
    ),
    _ratio(
        rmean,
        "Mean of a column in arm B over that in arm A (A/B test)",
        *("paper 001, A.1.3", "columns"),
        parameter="",
        parse=_column,
    ),
)
