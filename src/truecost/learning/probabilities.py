"""Probabilities of classes: what counts as such, and those that logits stand for."""

import numpy as np

from truecost.learning.system import Array, Floats

ROUNDING = 1e-4  # by which a sum may differ from 1: learners with 32-bit numbers


def improper(values: Array) -> Array:
    """Which rows are no probabilities: one is negative or NaN, or |sum - 1| is above 1e-4.

    Parameters
    ----------
    values : ndarray, shape (..., classes)

    Returns
    -------
    ndarray of bool, shape (...)
    """
    near = np.abs(values.sum(axis=-1) - 1) <= ROUNDING
    bad: Array = ~(near & (values >= 0).all(axis=-1))
    return bad


def softmax(logits: Floats) -> Floats:
    """Probabilities whose logarithms differ as the logits do: exp(logit) / sum of exp(logits).

    Parameters
    ----------
    logits : ndarray of float64, shape (items, classes)
        -inf for what cannot be; not for every class of an item.

    Returns
    -------
    ndarray of float64, shape (items, classes)
        In [0, 1]; each row adds up to 1.
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares
