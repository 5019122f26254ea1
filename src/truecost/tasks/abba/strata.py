"""Strata of a deployment, and how a budget of labels is shared among them (Neyman allocation).

A stratum gets labels in proportion to its size times its standard deviation (Petegrosso et al.
2022, A.2). A
*group* is the part of a stratum that lies in one cell; arrays of groups have the shape (strata,
cells), with the cells in the order of `CELLS`. A rate is a share of false accepts.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import UsageError, counted, first_five, named
from truecost.options import check
from truecost.tasks.abba.options import SelectionTable
from truecost.tasks.abba.records import CELLS, Array, Deployment, Floats, Ints

APART = 1e-9  # an overall rate further from that of the strata contradicts them


def neyman(weights: npt.ArrayLike, rates: npt.ArrayLike) -> Floats:
    """Neyman allocation: shares of a budget of labels, proportional to w sqrt(p (1-p)).

    These shares minimise the variance of the estimated overall rate (Petegrosso et al. 2022, Eq.
    14).

    Parameters
    ----------
    weights : array_like, shape (strata,)
        Sizes w of the strata, or their shares.
    rates : array_like, shape (strata,)
        Expected rate p in each stratum, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (strata,)
        Shares; NaN if every rate is 0 or 1.

    Raises
    ------
    UsageError
        If the lengths differ, a weight is negative, all are 0, or a rate is outside [0, 1].

    Examples
    --------
    A tenth of the items is in the stratum in which the models disagree:

    >>> from truecost.tasks.abba.strata import neyman
    >>> neyman([0.1, 0.9], [0.20, 0.05]).round(4).tolist()
    [0.1694, 0.8306]
    """
    shares, p = _checked(weights, rates)
    spreads = shares * np.sqrt(p * (1 - p))
    with np.errstate(invalid="ignore"):
        return np.asarray(spreads / spreads.sum())


@dataclass(frozen=True)
class Gain:
    """Gain of Neyman allocation over a simple random sample.

    Attributes
    ----------
    gain, overall : float
        Share of labels saved at the given overall rate, and this rate.
    gain_of_strata, overall_of_strata : float
        Share of labels saved at the overall rate of the strata, and this overall rate: the sum of w
        p over the strata, with the share w and the rate p of a stratum.
    problems : tuple of str
        Warning if the two rates differ.
    """

    gain: float
    overall: float
    gain_of_strata: float
    overall_of_strata: float
    problems: tuple[str, ...] = ()


def gain(weights: npt.ArrayLike, rates: npt.ArrayLike, overall: float | None = None) -> Gain:
    """Share of labels that Neyman allocation saves: 1 - (sum w sqrt(p (1-p)))^2 / (P (1-P)).

    P is the overall rate. Range [0, 1] if P is the mean rate of the strata, sum w p; higher is
    better (Petegrosso et al. 2022, Eq. 15).

    Parameters
    ----------
    weights, rates : array_like, shape (strata,)
        Sizes w and rates p of the strata (see `neyman`).
    overall : float, optional
        Overall rate P, in [0, 1]. Default: the rate of the strata, sum w p.

    Returns
    -------
    Gain
        Gain at both rates; NaN at a rate of 0 or 1.

    Raises
    ------
    UsageError
        If `neyman` raises this error, or the overall rate is outside [0, 1].

    Examples
    --------
    In the example of the paper, the gain is 24%, at an overall rate that the strata do not have:

    >>> from truecost.tasks.abba.strata import gain
    >>> found = gain([0.1, 0.9], [0.20, 0.05], overall=0.08)
    >>> round(found.gain, 4), round(found.gain_of_strata, 4)
    (0.2423, 0.0824)
    >>> print(found.problems[0])
    the overall rate is given as 0.08, but the rates of the strata give 0.065: only the gain at ...
    """
    shares, p = _checked(weights, rates)
    together = float((shares * p).sum())
    rate = together if overall is None else overall
    if not 0 <= rate <= 1:
        raise UsageError(f"the overall rate is {rate}: it must lie between 0 and 1")
    least = float((shares * np.sqrt(p * (1 - p))).sum()) ** 2
    problems: tuple[str, ...] = ()
    if abs(rate - together) > APART:
        problems = (
            f"the overall rate is given as {rate:g}, but the rates of the strata give "
            f"{together:g}: only the gain at {together:g} can be expected",
        )
    return Gain(_saved(least, rate), rate, _saved(least, together), together, problems)


def _saved(least: float, rate: float) -> float:
    """One less the variance `least` over that of a simple random sample."""
    variance = rate * (1 - rate)
    return 1 - least / variance if variance > 0 else np.nan


def _checked(weights: npt.ArrayLike, rates: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Weights that sum to one, and rates: UsageError when they cannot be used."""
    w, p = np.asarray(weights, np.float64), np.asarray(rates, np.float64)
    if w.ndim != 1 or w.shape != p.shape:
        raise UsageError(
            f"{counted(w.size, 'weight')} for {counted(p.size, 'rate')}: each stratum needs both"
        )
    if not (np.isfinite(w) & (w >= 0)).all() or not w.sum() > 0:
        raise UsageError(f"weights are {w.tolist()}: sizes or shares of strata are needed")
    if not ((p >= 0) & (p <= 1)).all():
        raise UsageError(f"rates are {p.tolist()}: each must lie between 0 and 1")
    return w / w.sum(), p


def allocate(spreads: Floats, low: Ints, high: Ints, total: int) -> Ints:
    """The whole numbers n of labels that minimise sum spread^2 / n, within limits.

    A spread is the size of a stratum times its standard deviation; `total` lies between the sums of
    the limits. Without limits n is proportional to the spread. A stratum that meets a limit keeps
    to it, and the others share the rest alike. The last labels go one by one to where they help
    most, the first stratum of equal ones; that gives the least of all integer allocations (Wright
    2012).

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.abba.strata import allocate
    >>> allocate(np.array([8.0, 2.0, 1.0]), np.array([0, 0, 15]), np.array([60, 90, 20]), 100)
    array([60, 25, 15])
    """
    there = spreads > 0
    full = np.where(there, high, low)
    if full.sum() < total:  # more labels than can help: in proportion to what is there
        return allocate(np.where(there, 0.0, high), full, high, total)
    found = _label_counts(spreads, low, high, total)
    queue = [_offer(spreads, found, s) for s in np.flatnonzero(there & (found < high))]
    heapq.heapify(queue)
    for _ in range(total - int(found.sum())):
        _, s = heapq.heappop(queue)
        found[s] += 1
        if found[s] < high[s]:
            heapq.heappush(queue, _offer(spreads, found, s))
    return found


def _label_counts(spreads: Floats, low: Ints, high: Ints, total: int) -> Ints:
    """Labels that each help more than some least amount, as many as `total` holds."""

    def worth(scale: float) -> Ints:
        # the n-th label lowers spread^2 / n by spread^2 / (n (n-1)), which is to be 1 / scale^2
        n = np.floor(0.5 + np.sqrt(0.25 + (scale * spreads) ** 2))
        return np.where(spreads > 0, np.clip(n, low, high), low).astype(np.int64)

    if low.sum() == total or worth(0).sum() > total:
        return low.astype(np.int64)
    below, above = 0.0, (high.max() + 1) / spreads[spreads > 0].min()
    while below < (middle := (below + above) / 2) < above:
        if worth(middle).sum() <= total:
            below = middle
        else:
            above = middle
    return worth(below)


def _offer(spreads: Floats, found: Ints, stratum: np.intp) -> tuple[float, np.intp]:
    """The change of the sum by one more label of a stratum, for a heap."""
    n = int(found[stratum])
    return -float(spreads[stratum] ** 2) / (n * (n + 1)) if n else -np.inf, stratum


MEASURES = ("rrecall", "rfpr", "fpr")
SOURCES = ("given", "labels", "machine", "nothing")  # where rates come from


@dataclass(frozen=True, eq=False)
class Strata:
    """The S strata in which items are chosen for labels; arrays of groups have the shape (S, 4)."""

    names: Array
    codes: Array  # stratum of each item, (N,)
    sizes: Ints  # items of each group
    labelled: Ints  # those of them that have a label
    rates: Floats  # share of false accepts that is assumed
    sources: Array  # where it comes from, one of `SOURCES`

    @property
    def size(self) -> Ints:
        """Items of each stratum."""
        return np.asarray(self.sizes.sum(axis=1))

    @property
    def done(self) -> Ints:
        """Items of each stratum that have a label."""
        return np.asarray(self.labelled.sum(axis=1))

    @property
    def rate(self) -> Floats:
        """Share of false accepts that is assumed in each stratum."""
        return np.asarray((self.sizes * self.rates).sum(axis=1) / self.size)

    @property
    def source(self) -> list[str]:
        """The origins of the rates of each stratum, joined by +."""
        rows = zip(self.sources, self.sizes > 0, strict=True)
        return ["+".join(sorted(set(row[there]))) for row, there in rows]


def stratify(deployment: Deployment, rates: Mapping[str, float] | None = None) -> Strata:
    """The strata of a deployment, with a rate for each group.

    A rate is the one given, else that of the group's labels, weighted by inverse inclusion
    probability, else the mean of the machine's probabilities, else that of the cell's labels, else
    one half. Half a label of each kind is added to the labels of a cell; to those of a part of a
    cell one label, shared as the cell is. No rate is nearer to 0 or 1 than half an item. Rates are
    given by cell or by stratum, of some or all; strata are those of the log, or else its cells.
    """
    every, places = deployment.stratum_codes
    there, codes = encode(places)  # of the cells those that have items
    names = every[there]
    groups = codes * len(CELLS) + deployment.cell

    def summed(values: Array, among: Array) -> Array:
        found = np.bincount(groups[among], values[among], len(names) * len(CELLS))
        return found.reshape(-1, len(CELLS)).astype(np.float64)

    known, everyone = deployment.labelled, np.ones(len(deployment), bool)
    sizes = summed(everyone, everyone).astype(np.int64)
    labelled = summed(everyone, known).astype(np.int64)
    weights = deployment.label_weights
    false = summed(weights * (deployment.label == 0), known)
    found, sources = _label_rates(false, summed(weights, known), labelled, sizes)
    if is_probable(deployment.machine):
        bare = labelled == 0
        accepted = summed(np.asarray(deployment.machine), everyone)
        found[bare] = 1 - accepted[bare] / np.maximum(1, sizes[bare])
        sources[bare] = "machine"
    for place, rate in _groups_of_rates(rates or {}, names):
        found[place], sources[place] = rate, "given"
    least = 0.5 / (sizes + 1)
    return Strata(names, codes, sizes, labelled, np.clip(found, least, 1 - least), sources)


def is_probable(machine: Floats | None) -> bool:
    """Whether there are machine scores and all of them can be probabilities."""
    return machine is not None and bool(((machine >= 0) & (machine <= 1)).all())


def _label_rates(
    false: Floats, weight: Floats, labelled: Ints, sizes: Ints
) -> tuple[Floats, Array]:
    """Rates of groups by their labels or those of their cells, one half without any."""
    in_cell = labelled.sum(axis=0)
    cell = _smoothed(false.sum(axis=0), weight.sum(axis=0), in_cell, np.full(len(CELLS), 0.5))
    part = _smoothed(false, weight, labelled, np.broadcast_to(cell, sizes.shape))
    rates = np.where(sizes == sizes.sum(axis=0), cell, part)
    return rates, np.where(np.broadcast_to(in_cell > 0, sizes.shape), "labels", "nothing")


def _smoothed(false: Floats, weight: Floats, labelled: Ints, rate: Floats) -> Floats:
    """Weighted share of the false accepts among labels and one more that is shared as `rate`."""
    share = np.divide(false, weight, out=np.zeros_like(false), where=weight > 0)
    return np.asarray((labelled * share + rate) / (labelled + 1))


def _groups_of_rates(
    rates: Mapping[str, float], names: Array
) -> Iterator[tuple[tuple[Array, ...], float]]:
    """The groups that a given rate is for, and the rate; UsageError when there is no such group."""
    strata, cells = np.arange(len(names)), np.arange(len(CELLS))
    by_stratum = set(rates) <= set(names)
    unknown = [] if by_stratum else [name for name in rates if name not in CELLS]
    if unknown:
        also = "" if set(names) <= set(CELLS) else f", or by stratum: {first_five(names)}"
        raise UsageError(
            f"rates: there is no {named('cell', unknown)}: name {', '.join(CELLS)}{also}"
        )
    check(SelectionTable(rates=dict(rates)))
    for name, rate in rates.items():
        if by_stratum:
            yield np.ix_(strata[names == name], cells), rate
        else:
            yield np.ix_(strata, cells[np.array(CELLS) == name]), rate


@dataclass(frozen=True, eq=False)
class Precision:
    """The standard error of a result as a function of the numbers of labels of the S strata.

    A spread is the size of a stratum times the standard deviation of an item's part in the result.
    """

    sizes: Ints  # items of each stratum, (S,)
    spreads: Floats  # (S,)
    sampling: float  # variance that stays when every item has a label; NaN when undefined

    def variance(self, labels: Ints) -> float:
        """Sampling variance and that of the labels (S,): sum spread^2 (1/n - 1/N).

        NaN when a stratum that matters has no label.
        """
        needed = self.spreads > 0
        n, size = labels[needed], self.sizes[needed]
        if not n.all():
            return np.nan
        return self.sampling + float((self.spreads[needed] ** 2 * (1 / n - 1 / size)).sum())

    def error(self, labels: Ints) -> float:
        """The standard error: the root of `variance`."""
        return float(np.sqrt(self.variance(labels)))


def precision(strata: Strata, measure: str) -> Precision:
    """The terms of the standard error of a result, by linearisation at the assumed rates.

    Of log r (direct estimator), with g_h its derivative by the total T_h of a class in cell h and
    p_sh the rate of that class in a group of N_sh items:

    Var(log r) = sum_s N_s^2 S_s^2 (1/n_s - 1/N_s) + 1/T_11A - 1/T_A + 1/T_11B - 1/T_B,

    S_s^2 being the variance in stratum s of g_h (y - p_h). With the cells as strata this is
    sum_h g_h^2 N_h^2 p_h (1 - p_h)/n_h (1 - n_h/N_h) and the sampling variance of the counts. Items
    count as independent, and only human labels are used: users with many items widen an interval,
    good machine scores narrow it. Of the share of false accepts, g = 1/N and S_s^2 = p_s (1 - p_s).
    The measure is the logarithm of a ratio, undefined (NaN) when one arm has no item that both
    models accept, or `fpr`, the share of false accepts among all items.
    """
    size = strata.size
    if measure == "fpr":
        rate, everyone = strata.rate, int(size.sum())
        overall = float((size * rate).sum()) / everyone
        spreads = size / everyone * np.sqrt(rate * (1 - rate))
        return Precision(size, spreads, overall * (1 - overall) / everyone)
    rates = strata.rates if measure == "rfpr" else 1 - strata.rates
    in_cell = strata.sizes.sum(axis=0)
    if 0 in in_cell[[0, 2]]:
        return Precision(size, np.full(len(size), np.nan), np.nan)
    totals = (strata.sizes * rates).sum(axis=0)
    g = gradient(totals)
    shares = strata.sizes / size[:, None]
    apart = g * (rates - totals / np.maximum(1, in_cell))
    square = (shares * (g**2 * rates * (1 - rates) + apart**2)).sum(axis=1)
    variance = np.maximum(0, square - (shares * apart).sum(axis=1) ** 2)
    sampling = float(g[0] - g[2])  # 1/T_11A - 1/T_A, and 1/T_11B - 1/T_B
    return Precision(size, size * np.sqrt(variance), sampling)


def gradient(totals: npt.ArrayLike) -> Floats:
    """Derivative of log r by the total of each cell, r as the direct estimator has it.

    log r = log T_11A - log T_A + log T_B - log T_11B, with T_A = T_11A + T_10A and
    T_B = T_11B + T_01B: items of one class in each of the `CELLS`, some of which both models accept
    in each arm.

    Examples
    --------
    >>> from truecost.tasks.abba.strata import gradient
    >>> gradient([20, 5, 10, 10]).round(9).tolist()
    [0.01, -0.04, -0.05, 0.05]
    """
    both_a, alone_a, both_b, alone_b = np.asarray(totals, np.float64)
    a, b = both_a + alone_a, both_b + alone_b
    return np.array([1 / both_a - 1 / a, -1 / a, 1 / b - 1 / both_b, 1 / b])
