"""Neyman allocation: how a budget of labels is shared among strata, and what that gains.

A stratum gets labels in proportion to its size times its standard deviation (paper 001, A.2).
"""

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError, counted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
APART = 1e-9  # an overall rate further from that of the strata contradicts them


def neyman(weights: npt.ArrayLike, rates: npt.ArrayLike) -> Floats:
    """Shares of a budget that estimate the overall rate best: w sqrt(p (1-p)), made to sum to one.

    Paper 001, Eq. 14.

    Parameters
    ----------
    weights : array_like, shape (strata,)
        Sizes of the strata, or their shares: only ratios count.
    rates : array_like, shape (strata,)
        Rate expected in each stratum, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (strata,)
        NaN when every rate is 0 or 1.

    Raises
    ------
    UsageError
        When the lengths differ, a weight is negative or none is positive, or a rate lies outside
        [0, 1].

    Examples
    --------
    One item in ten lies in the stratum of disagreement:

    >>> from truecost.tasks.abba.allocating import neyman
    >>> neyman([0.1, 0.9], [0.20, 0.05]).round(4).tolist()
    [0.1694, 0.8306]
    """
    shares, p = _checked(weights, rates)
    spreads = shares * np.sqrt(p * (1 - p))
    with np.errstate(invalid="ignore"):
        return np.asarray(spreads / spreads.sum())


@dataclass(frozen=True)
class Gain:
    """What Neyman allocation saves.

    Attributes
    ----------
    gain : float
        Share of the labels that it saves, at the overall rate that was given.
    overall : float
        This rate.
    gain_of_strata : float
        The same at the rate of the strata together: what can be expected.
    overall_of_strata : float
        This rate, sum w p.
    problems : tuple of str
        Says that the two rates differ, when they do.
    """

    gain: float
    overall: float
    gain_of_strata: float
    overall_of_strata: float
    problems: tuple[str, ...] = ()


def gain(weights: npt.ArrayLike, rates: npt.ArrayLike, overall: float | None = None) -> Gain:
    """Share of the labels that Neyman allocation saves against a simple random sample.

    1 - (sum w sqrt(p (1-p)))^2 / (P (1-P)), with P the overall rate. Range [0, 1] when P is that
    of the strata, higher is better; paper 001, Eq. 15.

    Parameters
    ----------
    weights, rates : array_like, shape (strata,)
        As in `neyman`.
    overall : float, optional
        Overall rate, in [0, 1]; that of the strata, sum w p, when left out.

    Returns
    -------
    Gain
        NaN when the overall rate is 0 or 1.

    Raises
    ------
    UsageError
        As `neyman` says, or when the overall rate lies outside [0, 1].

    Examples
    --------
    The paper's example prints a gain of 24 %, from an overall rate that its strata do not have:

    >>> from truecost.tasks.abba.allocating import gain
    >>> found = gain([0.1, 0.9], [0.20, 0.05], overall=0.08)
    >>> round(found.gain, 4), round(found.gain_of_strata, 4)
    (0.2423, 0.0824)
    >>> print(found.problems[0])
    the overall rate is given as 0.08, but the strata have 0.065 together: only the gain at 0.065 \
can be expected
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
            f"the overall rate is given as {rate:g}, but the strata have {together:g} together: "
            f"only the gain at {together:g} can be expected",
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

    Without limits n is proportional to the spread. A stratum that meets a limit keeps to it, and
    the others share the rest alike. The last labels go one by one to where they help most, the
    first stratum of equal ones; that gives the least of all integer allocations (Wright 2012).

    Parameters
    ----------
    spreads : ndarray of float64, shape (strata,)
        Size of each stratum times its standard deviation.
    low, high : ndarray of int64, shape (strata,)
        Least and most labels of each stratum.
    total : int
        Number of labels, between the sums of `low` and `high`.

    Returns
    -------
    ndarray of int64, shape (strata,)

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.abba.allocating import allocate
    >>> allocate(np.array([8.0, 2.0, 1.0]), np.array([0, 0, 15]), np.array([60, 90, 20]), 100)
    array([60, 25, 15])
    """
    there = spreads > 0
    full = np.where(there, high, low)
    if full.sum() < total:  # more labels than can help: in proportion to what is there
        return allocate(np.where(there, 0.0, high), full, high, total)
    found = _most(spreads, low, high, total)
    queue = [_offer(spreads, found, s) for s in np.flatnonzero(there & (found < high))]
    heapq.heapify(queue)
    for _ in range(total - int(found.sum())):
        _, s = heapq.heappop(queue)
        found[s] += 1
        if found[s] < high[s]:
            heapq.heappush(queue, _offer(spreads, found, s))
    return found


def _most(spreads: Floats, low: Ints, high: Ints, total: int) -> Ints:
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
    """How much one more label of a stratum changes the sum, for a heap."""
    n = int(found[stratum])
    return -float(spreads[stratum] ** 2) / (n * (n + 1)) if n else -np.inf, stratum
