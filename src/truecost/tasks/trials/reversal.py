"""Scores that are the wrong way round: they rank nontargets above targets, beyond chance."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from truecost.core.subsets import kish
from truecost.core.unit_index import Sides
from truecost.tasks.trials.records import Codes, Floats, Mask

LEVEL = 0.999  # of the interval of the AUC that must lie below 0.5


def beyond_chance(
    scores: Floats, targets: Mask, sides: Sides, weights: Floats | None = None
) -> bool:
    """Whether the two-sided 99.9 % interval of the AUC lies below 0.5.

    The variance of the AUC is that of the placement values of the trials (DeLong et al. 1988),
    added up within units (Obuchowski 1997); over crossed factors the sum of theirs. It is at least
    that of a system that knows nothing, (N + 1) / (12 m n), so that it is not 0 where all pairs are
    reversed. t quantile with one degree of freedom less than the class that stands in fewer units
    has units (Kish's number, where they are not of equal size); never where a class stands in one
    unit only. Arrays have the shape (N,); both classes must be there, and `sides` is as
    `counting.sides_of` gives it.
    """
    from scipy.special import stdtrit

    own = np.ones(len(scores)) if weights is None else weights
    each = np.where(targets, own, 0.0), np.where(targets, 0.0, own)
    sums = [float(weight.sum()) for weight in each]
    below = [share / total for share, total in zip(_below(scores, each), sums, strict=True)]
    placed = np.where(targets, below[1], 1 - below[0])
    area = float(each[0] @ placed) / sums[0]
    shares = [weight / total * (placed - area) for weight, total in zip(each, sums, strict=True)]
    of_chance = [kish(weight) for weight in each]
    chance = (sum(of_chance) + 1) / (12 * of_chance[0] * of_chance[1])
    variance, fewest = 0.0, np.inf
    for _, same in groupby(sides, key=lambda side: side[0].name):
        codes = [code for _, code in same]
        units = min(kish(_by_unit(weight, codes)) for weight in each)
        fewest = min(fewest, units)
        if units > 1:
            squares = float(np.square(_by_unit(shares[0] + shares[1], codes)).sum())
            variance += squares * units / (units - 1)
    if not fewest > 1:
        return False
    reach = stdtrit(fewest - 1, (1 + LEVEL) / 2)
    return bool(area + reach * np.sqrt(max(variance, chance)) < 0.5)


def _below(scores: Floats, weights: Sequence[Floats]) -> list[Floats]:
    """For each weighting the weight below each score, and half of that at the same score."""
    levels, places = np.unique(scores, return_inverse=True)
    at = [np.bincount(places, each, minlength=len(levels)) for each in weights]
    return [np.asarray((np.cumsum(each) - each / 2)[places]) for each in at]


def _by_unit(values: Floats, codes: Sequence[Codes]) -> Floats:
    """Sum of the values of each unit, over all sides on which it stands."""
    length = 1 + max(int(code.max()) for code in codes)
    return np.asarray(sum(np.bincount(code, values, minlength=length) for code in codes))
