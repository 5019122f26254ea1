"""Folds that keep together what belongs together.

A unit (a speaker, a session) lies in one fold as a whole, so that nothing is fitted on a unit and
judged on it too.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five

Ints = npt.NDArray[np.int64]


def folds(
    units: npt.ArrayLike, k: int = 5, seed: int = 0, labels: npt.ArrayLike | None = None
) -> Ints:
    """The fold of each trial: units whole, folds balanced and stratified as far as units allow.

    The largest units are dealt first, those of equal size in an order drawn by the seed over the
    sorted unit labels. Each goes to the fold f where sum_c (n_fc / n_c)^2 grows least, of equal
    ones to the one with the fewest trials: n_fc is the number of trials of class c in the fold,
    n_c that of all. When every trial is a unit, the counts of a class differ by at most one.

    Parameters
    ----------
    units : array_like, shape (N,)
        Unit of each trial: text or numbers.
    k : int
        Number of folds, at least 2.
    seed : int
        Of the order in which equal units are dealt, from 0 up.
    labels : array_like, shape (N,), optional
        Class of each trial; one class when left out.

    Returns
    -------
    ndarray of int64, shape (N,)
        0 to k - 1. It does not depend on the order of the trials.

    Raises
    ------
    UsageError
        When there are fewer than 2 folds, or the seed is below 0.
    InputError
        When there are fewer units than folds, or the lengths differ.

    Examples
    --------
    >>> from truecost.core.splits import folds
    >>> folds(["ann", "bob", "ann", "cem", "dan"], k=2).tolist()
    [0, 0, 0, 1, 1]
    """
    names, codes = encode(units)
    classes = np.zeros(len(codes), np.int32) if labels is None else encode(labels)[1]
    if len(classes) != len(codes):
        raise InputError(
            f"{counted(len(codes), 'unit')} for {counted(len(classes), 'label')}: each trial needs "
            f"both"
        )
    width = int(classes.max(initial=0)) + 1
    sizes = np.bincount(codes.astype(np.int64) * width + classes, minlength=len(names) * width)
    return deal_units(sizes.reshape(len(names), width), k, seed)[codes]


def deal_units(sizes: Ints, k: int, seed: int) -> Ints:
    """The fold of each unit, from its number of trials of each class.

    Parameters
    ----------
    sizes : ndarray of int64, shape (units, classes)
        In sorted order of the units.
    k, seed : int
        As in `folds`.

    Returns
    -------
    ndarray of int64, shape (units,)
    """
    from truecost.kernels.dealing import deal

    if k < 2:
        raise UsageError(f"{counted(k, 'fold')}: at least 2 are needed")
    if seed < 0:
        raise UsageError(f"seed is {seed}: it must be a whole number from 0 up")
    units = len(sizes)
    if units < k:
        raise InputError(
            f"{counted(units, 'unit')} for {k} folds: a unit lies in one fold "
            f"as a whole; use fewer folds, or other data to train on"
        )
    drawn = np.random.Generator(np.random.Philox(seed)).permutation(units)
    order = drawn[np.argsort(-sizes.sum(axis=1)[drawn], kind="stable")]
    held = np.asarray(sizes, np.int64)
    which, cells = np.nonzero(held)
    starts = np.searchsorted(which, np.arange(units + 1))
    out = np.empty(units, np.int64)
    alike = np.ones(held.shape[1]), np.full(k, 1 / k)
    deal(starts, cells, held[which, cells], order.astype(np.int64), *alike, out)
    return out


def shared_units(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[int, str]:
    """How many labels stand in both columns, and the first five.

    Parameters
    ----------
    one, other : ndarray
        Labels; numbers and text are compared as text.
    """
    both = np.intersect1d(np.unique(one.astype(str)), np.unique(other.astype(str)))
    return len(both), first_five(both)
