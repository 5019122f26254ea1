"""Pool adjacent violators: the monotone step function of least loss, whatever the prior.

Sources: Ayer et al. (1955); Brümmer and du Preez (2006) for likelihood ratios and Laplace's rule.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration.base import Floats, Ints, Sample, sample


@dataclass(frozen=True, eq=False)
class Pav:
    """llr = llrs[k] for a score of block k, in nats.

    A new score takes the value of the block that it lies in, or of the nearest one: between two
    blocks the value changes half way. Steps, not interpolation: the fit says nothing of the values
    in between, and half way treats targets and nontargets alike.

    Parameters
    ----------
    edges : ndarray of float64, shape (blocks - 1,)
        Scores at which the next block starts, rising.
    llrs : ndarray of float64, shape (blocks,)
        Strictly rising; -inf for a first block without targets and +inf for a last one without
        nontargets, unless fitted with Laplace's rule.
    laplace : bool
        Whether Laplace's rule was used.

    Examples
    --------
    >>> from truecost.calibration import Pav
    >>> found = Pav.fit([-2.0, 0.0, 1.0, -1.0, 1.0, 3.0], [0, 0, 0, 1, 1, 1])
    >>> found.edges.tolist(), found.llrs.round(3).tolist()
    ([-1.5, 2.0], [-inf, 0.0, inf])
    >>> Pav.fit([-1.0, 1.0], [0, 1], laplace=True).llrs.round(3).tolist()
    [-0.693, 0.693]
    """

    edges: Floats
    llrs: Floats
    laplace: bool = False

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        laplace: bool = False,
    ) -> "Pav":
        """Pool adjacent violators over groups of tied scores.

        The llr of a block is ln(t/n) - ln(T/N): t and n are the weights of its targets and
        nontargets, T and N those of all. It minimises every proper scoring rule among monotone
        maps, so no prior enters.

        Parameters
        ----------
        scores : array_like, shape (N,)
            Infinite ones are allowed.
        labels : array_like, shape (N,)
            1 for a target, 0 for a nontarget.
        weights : array_like, shape (N,), optional
            Trial weights, at least 0.
        laplace : bool
            Add a target and a nontarget of weight 1 below all scores, and the same above all of
            them, so that every llr is finite (Brümmer and du Preez 2006).

        Raises
        ------
        InputError
            When a class has no trials, or a score is missing.
        """
        from truecost.kernels.calibrating import pool_blocks

        data = sample(scores, labels, None, weights, finite=False)
        values, targets, nontargets = _groups(data)
        total_t, total_n = targets.sum(), nontargets.sum()
        if laplace:
            targets = np.concatenate([[1.0], targets, [1.0]])
            nontargets = np.concatenate([[1.0], nontargets, [1.0]])
        lasts = np.empty(len(targets), np.int64)
        count = pool_blocks(targets, nontargets, lasts)
        with np.errstate(divide="ignore"):
            llrs = np.log(targets[:count]) - np.log(nontargets[:count]) - np.log(total_t / total_n)
        ends = lasts[: count - 1] - (1 if laplace else 0)
        return Pav(*_inside(values, ends, llrs), laplace)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        given = np.asarray(scores, np.float64)
        found = self.llrs[np.searchsorted(self.edges, given, side="right")]
        return np.asarray(np.where(np.isnan(given), np.nan, found))

    @property
    def parameters(self) -> dict[str, Any]:
        """Edges and values of the steps."""
        return {"edges": self.edges.tolist(), "llrs": self.llrs.tolist(), "laplace": self.laplace}

    @property
    def problems(self) -> tuple[str, ...]:
        """Whether nothing could be told apart."""
        if len(self.llrs) > 1:
            return ()
        return ("one block: no monotone map makes the scores tell anything (reversed?)",)


def _groups(data: Sample) -> tuple[Floats, Floats, Floats]:
    """Distinct scores, rising, with the weight of their targets and nontargets."""
    order = np.argsort(data.scores, kind="stable")
    ranked, own = data.scores[order], data.own[order]
    is_target = data.codes[order] == 1
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    targets = np.add.reduceat(np.where(is_target, own, 0.0), starts)
    return ranked[starts], targets, np.add.reduceat(np.where(is_target, 0.0, own), starts)


def _inside(values: Floats, ends: Ints, llrs: Floats) -> tuple[Floats, Floats]:
    """Edges half way between the last score of a block and the first of the next.

    Blocks of Laplace's trials alone hold no score: they are left out.
    """
    kept = (ends >= 0) & (ends < len(values) - 1)
    first = int((ends < 0).sum())
    llrs = llrs[first : first + int(kept.sum()) + 1]
    low, high = values[ends[kept]], values[ends[kept] + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    return np.where((middle > low) & np.isfinite(middle), middle, high), llrs
