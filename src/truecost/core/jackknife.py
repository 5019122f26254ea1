"""The jackknife: how units are left out, one at a time or in groups, and what was found without.

A label of a factor is in one *group*; replicate g leaves out group g. Up to 1,000 units each is a
group; above, about 1,000 groups are dealt round the sorted units (in runs of neighbours where their
order is that of time), within each stratum. Where labels stand for several equal units, one of
them is left out, and the value counts as often as there are such units.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Factor

Floats = npt.NDArray[np.float64]
T = TypeVar("T")
Ints = npt.NDArray[np.int64]

MOST_ALONE = 1000  # units that are left out one at a time: as many as replicates are drawn
GROUPS = 1000  # groups of more units: as wide and as good as one at a time (200 are not)


@dataclass(frozen=True, eq=False)
class Groups:
    """Which units of a factor are left out together.

    Attributes
    ----------
    codes : ndarray of int64, shape (labels,)
        Group of each label.
    count : int
        Number of groups.
    units : int
        Number of units of the factor.
    removed : ndarray of float64, shape (groups,)
        Units that each replicate leaves out.
    copies : ndarray of float64, shape (groups,), optional
        How many equal units each value stands for, where labels have sizes.
    strata : ndarray of int64, shape (groups,), optional
        Stratum of each group.
    ordered : bool
        Whether the order of the units is that of time.
    """

    codes: Ints
    count: int
    units: int
    removed: Floats
    copies: Floats | None = None
    strata: Ints | None = None
    ordered: bool = False

    @staticmethod
    def of(factor: Factor, ordered: bool = False) -> "Groups":
        """Deal the units of a factor into groups.

        Parameters
        ----------
        ordered : bool
            Whether neighbours stay together: for units in order of time.
        """
        units = np.arange(len(factor)) if factor.tied is None else factor.tied.astype(np.int64)
        if factor.sizes is not None:
            sizes = factor.sizes.astype(np.float64)
            return Groups(
                units, len(factor), factor.count, np.ones(len(factor)), sizes, _strata(factor)
            )
        strata = _strata(factor)
        within = np.zeros(factor.count, np.int64) if strata is None else strata
        codes, of_group = _dealt(within, ordered)
        return Groups(
            codes[units],
            len(of_group),
            factor.count,
            np.bincount(codes, minlength=len(of_group)).astype(np.float64),
            None,
            None if strata is None else of_group,
            ordered,
        )


def _strata(factor: Factor) -> Ints | None:
    return None if factor.strata is None else np.asarray(factor.strata, np.int64)


def _dealt(strata: Ints, ordered: bool) -> tuple[Ints, Ints]:
    """Group of each unit, and the stratum of each group."""
    count = len(strata)
    sizes = np.bincount(strata)
    groups = sizes
    if count > MOST_ALONE:
        groups = np.minimum(sizes, np.maximum(2, np.round(GROUPS * sizes / count))).astype(np.int64)
    order = np.argsort(strata, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(count, np.int64)
    place[order] = np.arange(count) - np.repeat(starts, sizes)
    mine = groups[strata]
    inside = (
        place * mine // np.maximum(1, sizes[strata]) if ordered else place % np.maximum(1, mine)
    )
    offsets = np.cumsum(groups) - groups
    return offsets[strata] + inside, np.repeat(np.arange(len(sizes)), groups)


class Later(Generic[T]):
    """What is computed when it is first asked for: many an interval needs no value without units.

    Parameters
    ----------
    make : callable
        Forgotten with all that it holds once it was called.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._found: list[T] = []
        self._lock = Lock()

    def __call__(self) -> T:
        """Give it."""
        with self._lock:
            if self._make is not None:
                self._found, self._make = [self._make()], None
        return self._found[0]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A figure without each group of units of one factor.

    Attributes
    ----------
    made : ndarray of float64, shape (groups,), or Later
        The values, or what makes them.
    units : int
        Number of units, n.
    kish : float
        Effective number of units, (sum m)^2 / sum m^2 with m what each unit holds (trials, words,
        seconds); at most n (Kish 1965).
    copies, strata, ordered
        As in `Groups`.
    """

    factor: str
    made: Floats | Later[Floats]
    units: int
    kish: float
    copies: Floats | None = None
    strata: Ints | None = None
    ordered: bool = False

    @property
    def values(self) -> Floats:
        """The figure without each group, shape (groups,)."""
        return self.made() if isinstance(self.made, Later) else self.made

    @staticmethod
    def of(name: str, groups: Groups, made: Floats | Later[Floats], kish: float) -> "LeftOut":
        """The values found without each of these groups."""
        return LeftOut(name, made, groups.units, kish, groups.copies, groups.strata, groups.ordered)

    @property
    def lone(self) -> str:
        """Why no spread can be told; empty when it can."""
        if self.units < 2:
            return "there is one unit, so nothing can be left out"
        if self.strata is None:
            return ""
        held = np.bincount(self.strata, self.copies)
        alone = int((held == 1).sum())
        if alone == 0:
            return ""
        strata = "1 stratum has" if alone == 1 else f"{alone} strata have"
        return f"{strata} one unit, which tells no spread: add units, or join strata"


def kish(held: Floats, copies: Floats | None = None) -> float:
    """Effective number of units, (sum m)^2 / sum m^2; 0 when they hold nothing (Kish 1965)."""
    each = np.ones(len(held)) if copies is None else copies
    squares = float((each * held**2).sum())
    return float((each * held).sum()) ** 2 / squares if squares > 0 else 0.0
