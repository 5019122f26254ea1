"""Strata of a deployment: what is assumed of each, and how sure its labels would make a result.

A *group* is the part of a stratum that lies in one cell; arrays of groups have the shape
(strata, cells), with the cells in the order of `CELLS`. A rate is a share of false accepts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import UsageError, first_five, named
from truecost.options import check
from truecost.tasks.abba.options import SelectionTable
from truecost.tasks.abba.records import CELLS, Array, Deployment, Floats

Ints = npt.NDArray[np.int64]
MEASURES = ("rrecall", "rfpr", "fpr")
SOURCES = ("given", "labels", "machine", "nothing")  # where rates come from


@dataclass(frozen=True, eq=False)
class Strata:
    """The strata in which items are chosen for labels.

    Attributes
    ----------
    names : ndarray of str, shape (S,)
    codes : ndarray of int, shape (N,)
        Stratum of each item.
    sizes, labelled : ndarray of int64, shape (S, 4)
        Items of each group, and how many of them have a label.
    rates : ndarray of float64, shape (S, 4)
        Share of false accepts that is assumed in each group.
    sources : ndarray of str, shape (S, 4)
        Where it comes from, one of `SOURCES`.
    """

    names: Array
    codes: Array
    sizes: Ints
    labelled: Ints
    rates: Floats
    sources: Array

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
        """Where the rates of each stratum come from, joined by +."""
        rows = zip(self.sources, self.sizes > 0, strict=True)
        return ["+".join(sorted(set(row[there]))) for row, there in rows]


def stratify(deployment: Deployment, rates: Mapping[str, float] | None = None) -> Strata:
    """The strata of a deployment, with a rate for each group.

    A rate is the one given, else that of the group's labels, weighted by inverse inclusion
    probability, else the mean of the machine's probabilities, else that of the cell's labels, else
    one half. Half a label of each kind is added to the labels of a cell; to those of a part of a
    cell one label, shared as the cell is. No rate is nearer to 0 or 1 than half an item.

    Parameters
    ----------
    deployment : Deployment
        Its strata, or else its cells. Without inclusion probabilities the labels of a stratum
        count as a simple random sample of it.
    rates : mapping of str to float, optional
        Share of false accepts by cell, or by stratum, of some or all.

    Raises
    ------
    UsageError
        When rates name what is not there, or lie outside [0, 1].
    """
    names, codes = _places(deployment)
    groups = codes * len(CELLS) + deployment.cell

    def summed(values: Array, among: Array) -> Array:
        found = np.bincount(groups[among], values[among], len(names) * len(CELLS))
        return found.reshape(-1, len(CELLS)).astype(np.float64)

    known, everyone = deployment.labelled, np.ones(len(deployment), bool)
    sizes = summed(everyone, everyone).astype(np.int64)
    labelled = summed(everyone, known).astype(np.int64)
    weights = deployment.label_weights
    false = summed(weights * (deployment.label == 0), known)
    found, sources = _of_labels(false, summed(weights, known), labelled, sizes)
    if is_probable(deployment.machine):
        bare = labelled == 0
        accepted = summed(np.asarray(deployment.machine), everyone)
        found[bare] = 1 - accepted[bare] / np.maximum(1, sizes[bare])
        sources[bare] = "machine"
    for place, rate in _given(rates or {}, names):
        found[place], sources[place] = rate, "given"
    least = 0.5 / (sizes + 1)
    return Strata(names, codes, sizes, labelled, np.clip(found, least, 1 - least), sources)


def is_probable(machine: Floats | None) -> bool:
    """Whether there are machine scores and all of them can be probabilities."""
    return machine is not None and bool(((machine >= 0) & (machine <= 1)).all())


def _places(deployment: Deployment) -> tuple[Array, Array]:
    """Names of the strata, sorted or in the order of the cells, and that of each item."""
    if deployment.strata is not None:
        return encode(deployment.strata)
    there, codes = encode(deployment.cell)
    return np.array(CELLS)[there], codes


def _of_labels(false: Floats, weight: Floats, labelled: Ints, sizes: Ints) -> tuple[Floats, Array]:
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


def _given(rates: Mapping[str, float], names: Array) -> Iterator[tuple[tuple[Array, ...], float]]:
    """Which groups a given rate is for, and the rate: UsageError when it is for none."""
    strata, cells = np.arange(len(names)), np.arange(len(CELLS))
    by_stratum = set(rates) <= set(names)
    unknown = [] if by_stratum else [name for name in rates if name not in CELLS]
    if unknown:
        also = "" if set(names) <= set(CELLS) else f", or by stratum: {first_five(names)}"
        raise UsageError(
            f"{named('rate', unknown, 'are')} not known: rates go by cell: {', '.join(CELLS)}{also}"
        )
    check(SelectionTable(rates=dict(rates)))
    for name, rate in rates.items():
        if by_stratum:
            yield np.ix_(strata[names == name], cells), rate
        else:
            yield np.ix_(strata, cells[np.array(CELLS) == name]), rate


@dataclass(frozen=True, eq=False)
class Precision:
    """How the standard error of a result depends on the numbers of labels.

    Attributes
    ----------
    sizes : ndarray of int64, shape (S,)
        Items of each stratum.
    spreads : ndarray of float64, shape (S,)
        Size of each stratum times the standard deviation of an item's part in the result.
    sampling : float
        Variance that stays when every item has a label; NaN when the result is undefined.
    """

    sizes: Ints
    spreads: Floats
    sampling: float

    def variance(self, labels: Ints) -> float:
        """Sampling variance and that of the labels: sum spread^2 (1/n - 1/N).

        Parameters
        ----------
        labels : ndarray of int64, shape (S,)
            Labels of each stratum.

        Returns
        -------
        float
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
    """What the standard error of a result depends on, by linearisation at the assumed rates.

    Of log r (direct estimator), with g_h its derivative by the total T_h of a class in cell h and
    p_sh the rate of that class in a group of N_sh items:

    Var(log r) = sum_s N_s^2 S_s^2 (1/n_s - 1/N_s) + 1/T_11A - 1/T_A + 1/T_11B - 1/T_B,

    S_s^2 being the variance in stratum s of g_h (y - p_h). With the cells as strata this is
    sum_h g_h^2 N_h^2 p_h (1 - p_h)/n_h (1 - n_h/N_h) and the sampling variance of the counts. Items
    count as independent, and only human labels are used: users with many items widen an interval,
    good machine scores narrow it. Of the share of false accepts, g = 1/N and S_s^2 = p_s (1 - p_s).

    Parameters
    ----------
    measure : {"rrecall", "rfpr", "fpr"}
        Logarithm of a ratio, or the share of false accepts among all items.

    Returns
    -------
    Precision
        Undefined (NaN) for a ratio when one arm has no item that both models accept.
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
    T_B = T_11B + T_01B.

    Parameters
    ----------
    totals : array_like, shape (4,)
        Items of one class in each cell, in the order of `CELLS`; both models accept some in each
        arm.

    Returns
    -------
    ndarray of float64, shape (4,)

    Examples
    --------
    >>> from truecost.tasks.abba.strata import gradient
    >>> gradient([20, 5, 10, 10]).round(9).tolist()
    [0.01, -0.04, -0.05, 0.05]
    """
    both_a, alone_a, both_b, alone_b = np.asarray(totals, np.float64)
    a, b = both_a + alone_a, both_b + alone_b
    return np.array([1 / both_a - 1 / a, -1 / a, 1 / b - 1 / both_b, 1 / b])
