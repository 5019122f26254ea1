"""Posteriors under other priors, and the decisions of least expected cost."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def move_posteriors(log_posteriors: Floats, old: npt.ArrayLike, new: npt.ArrayLike) -> Floats:
    """Log-posteriors under new priors: log p + log(new/old), normalised again.

    A class whose old prior is 0 cannot be moved: its posterior only takes part in the normalisation
    (a value that gives such a class a prior is undefined anyway).

    Parameters
    ----------
    log_posteriors : ndarray of float64, shape (trials, classes)
        Natural logarithms; -inf for a probability of 0, which stays 0.
    old, new : array_like, shape (classes,)
        The priors that the posteriors contain, and those that they shall contain.

    Returns
    -------
    ndarray of float64, shape (trials, classes)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.log(np.asarray(new, np.float64)) - np.log(np.asarray(old, np.float64))
        step = np.where(np.isneginf(step) | np.isfinite(step), step, 0.0)
        moved = np.where(np.isneginf(log_posteriors), -np.inf, log_posteriors + step)
    return log_normalise(moved)


def log_normalise(logs: Floats) -> Floats:
    """Rows of logarithms shifted so that their exponentials sum to one (softmax, in logs).

    Parameters
    ----------
    logs : ndarray of float64, shape (trials, classes)

    Returns
    -------
    ndarray of float64, shape (trials, classes)
    """
    top = logs.max(axis=1, keepdims=True)
    shifted = logs - np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def bayes_decisions(log_posteriors: Floats, costs: Floats) -> npt.NDArray[np.int64]:
    """Decisions of least expected cost: argmin_d sum_k c[k, d] p_k; the lowest wins ties.

    Paper 002, Eq. 25-26, for any number of classes and decisions.

    Parameters
    ----------
    log_posteriors : ndarray of float64, shape (trials, classes)
        Natural logarithms.
    costs : ndarray of float64, shape (classes, decisions)

    Returns
    -------
    ndarray of int64, shape (trials,)
        Index of the decision.
    """
    posteriors = np.exp(log_posteriors)
    expected = np.zeros((len(posteriors), costs.shape[1]))
    for k in range(costs.shape[0]):  # by class: a sum in fixed order, whatever the thread count
        expected += posteriors[:, k, None] * costs[k]
    return np.asarray(expected.argmin(axis=1))
