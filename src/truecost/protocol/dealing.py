"""Dealing units to sets so that every cell is spread as the shares say.

A cell is a class, a level of a condition, or all samples. The `imbalance` is made small, in which
cells that fall into few units, which nobody can spread, do not outweigh those that can be.

Units are dealt, the largest first, each to where sum_c (n_fc / n_c)^2 / s_f grows least; then
whole units are moved and swapped as long as the imbalance falls. The same is done from some random
assignments, the more the fewer units there are, and the best is kept. Where there are very few
units, every assignment is tried, and the imbalance is the least possible.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from truecost.core.factors import generator
from truecost.protocol.grouping import Axis
from truecost.protocol.samples import Floats, Ints, Marks

TRIED = 100_000  # assignments: as many as this are tried one by one
PAIRS = 4_000_000  # of units that are tried as swaps in a pass
PASSES = 20
STARTS, STARTED = 50, 4_000  # random assignments that are improved; with all their units at most


@dataclass(frozen=True, eq=False)
class Profiles:
    """Number of samples of each unit in each cell: a sparse matrix of units by cells.

    `starts`, shape (units + 1,), says where the entries of each unit begin; `cells` and `counts`,
    shape (entries,), ascend within a unit; `axes`, shape (cells,), is the axis of each cell, the
    first of which has one cell, which counts all samples.
    """

    starts: Ints
    cells: Ints
    counts: Ints
    axes: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def units(self) -> Ints:
        """Unit of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def totals(self) -> Ints:
        """Samples of each cell."""
        return np.bincount(self.cells, self.counts, len(self.axes)).astype(np.int64)

    @property
    def sizes(self) -> Ints:
        """Samples of each unit."""
        return self.counts[self.starts[:-1]]  # cell 0, which every unit has, comes first

    def take(self, units: Marks) -> "Profiles":
        """The profiles of some units."""
        kept = np.repeat(units, np.diff(self.starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[units])])
        return Profiles(starts, self.cells[kept], self.counts[kept], self.axes)

    def weights(self) -> Floats:
        """Weight of each cell in the imbalance: 1 / (cells of its axis x sum_u m_uc^2)."""
        squares = np.bincount(self.cells, self.counts.astype(np.float64) ** 2, len(self.axes))
        there = squares > 0
        of_axis = np.bincount(self.axes[there], minlength=int(self.axes.max()) + 1)
        found = np.zeros(len(self.axes))
        found[there] = 1 / (squares[there] * of_axis[self.axes[there]])
        return found

    def placed(self, places: Ints, sets: int) -> Ints:
        """Samples of each cell in each set (sets x cells)."""
        width = len(self.axes)
        where = places[self.units] * width + self.cells
        return np.bincount(where, self.counts, sets * width).astype(np.int64).reshape(sets, width)


def profiles_of(units: Ints, axes: tuple[Axis, ...]) -> Profiles:
    """The profiles of units, from the unit of each sample; the first axis counts all samples."""
    widths = np.array([len(axis.levels) for axis in axes], np.int64)
    bases, width = np.cumsum(widths) - widths, int(widths.sum())
    keys = np.concatenate(
        [units * width + base + a.codes for a, base in zip(axes, bases, strict=True)]
    )
    entries, counts = np.unique(keys, return_counts=True)
    starts = np.searchsorted(entries, np.arange(int(units.max()) + 2) * width)
    return Profiles(
        starts.astype(np.int64), entries % width, counts, np.repeat(np.arange(len(axes)), widths)
    )


def deal_shares(
    profiles: Profiles, shares: Floats, seed: int, purpose: str, tried: int = TRIED
) -> Ints:
    """Assign units to sets so that the imbalance is small; returns the index of the set of each
    unit, shape (units,).

    Parameters
    ----------
    profiles : Profiles
        Number of samples of each cell (level of an axis) in each unit; there are at least as many
        units as sets.
    shares : ndarray of float64, shape (sets,)
        Wanted share of the samples of each set; the shares sum to 1.
    seed : int
        Seed, which only changes the order in which units of equal size are assigned.
    purpose : str
        Name of the random draw; draws with different names are independent.
    tried : int
        If there are at most this many possible assignments, all of them are tried; otherwise, the
        result may not be the best. Default: 100,000.
    """
    from truecost.kernels.dealing import deal, improve, try_all

    units, sets = len(profiles), len(shares)
    drawn = generator("truecost split", str(seed), purpose).permutation(units)
    order = drawn[np.argsort(-profiles.sizes[drawn], kind="stable")].astype(np.int64)
    totals, weights = profiles.totals, profiles.weights()
    parts = profiles.starts, profiles.cells, profiles.counts, order
    places = np.empty(units, np.int64)
    deal(*parts, weights * totals.astype(np.float64) ** 2, shares, places)
    off = profiles.placed(places, sets) - shares[:, None] * totals
    window = max(8, PAIRS // max(units, 1))
    improve(*parts, weights, shares, off, places, window, PASSES)
    least = imbalance(profiles, places, shares)
    # Not by the seed, which decides among equals.
    starts = generator("truecost split", "0", f"starts of {purpose}")
    for _ in range(min(STARTS, STARTED // units)):
        other = starts.permutation(np.arange(units) % sets)
        beyond = profiles.placed(other, sets) - shares[:, None] * totals
        improve(*parts, weights, shares, beyond, other, window, PASSES)
        if (found := imbalance(profiles, other, shares)) < least - 1e-9:
            places, off, least = other, beyond, found
    if units * np.log(sets) <= np.log(max(tried, 1)):
        try_all(*parts, weights, shares, off, places)
    return places


def imbalance(profiles: Profiles, places: Ints, shares: Floats) -> float:
    """The imbalance of an assignment of units to sets.

    It is the mean over the axes (set sizes, classes, conditions) of the mean over the cells c of
    the axis (its levels) of

        1 / (F - 1)  sum_f (n_fc - s_f n_c)^2 / (s_f sum_u m_uc^2)

    with F the number of sets, s_f the wanted share of set f, n_c, n_fc and m_uc the
    number of samples of cell c in all sets, in set f and in unit u. Range: from 0 up, lower is
    better. 0 is a perfect split; 1 is the average of random assignments. NaN for a single set.

    Parameters
    ----------
    profiles : Profiles
        Number of samples of each cell (level of an axis) in each unit.
    places : ndarray of int64, shape (units,)
        Index of the set of each unit.
    shares : ndarray of float64, shape (sets,)
        Wanted share of each set; the shares sum to 1.
    """
    off = profiles.placed(places, len(shares)) - shares[:, None] * profiles.totals
    squares = (off**2 / shares[:, None]).sum(axis=0)
    axes = int(profiles.axes.max()) + 1
    if len(shares) < 2:
        return float("nan")
    return float((squares * profiles.weights()).sum() / (axes * (len(shares) - 1)))


@dataclass(frozen=True)
class Part:
    """Size of one set of a split.

    Attributes
    ----------
    name : str
        Name of the set.
    target : float
        Wanted share of the samples, from 0 to 1.
    samples, units : int
        Numbers of samples and units that were assigned to the set.
    """

    name: str
    target: float
    samples: int
    units: int


@dataclass(frozen=True)
class Level:
    """Distribution of one class, or of one level of a condition, over the sets of a split.

    Attributes
    ----------
    axis, level : str
        Name of the axis (``label``, or the column of a condition) and of the level. The set sizes
        have the axis ``samples`` and the level ``all``.
    counts : tuple of int
        Samples of the level in each set.
    units : int
        Number of units that contain a sample of the level.
    deviation : float
        Largest `|n_f - s_f n|` over the sets f, in samples: n samples have the level, n_f of them
        are in set f, and s_f is the wanted share of set f.
    part : str
        Name of the set with the largest deviation.
    largest_unit : int
        Largest number of samples of the level in a single unit. The deviation cannot be guaranteed
        to be smaller than this number, because units are not divided.
    """

    axis: str
    level: str
    counts: tuple[int, ...]
    units: int
    deviation: float
    part: str
    largest_unit: int

    @property
    def title(self) -> str:
        """Name in messages."""
        return "all samples" if self.axis == "samples" else f"{self.axis} {self.level}"


@dataclass(frozen=True)
class Balance:
    """How well one assignment of a split, such as its column `set` or `fold`, divides the samples:
    the size of each set, and how far the numbers of samples of each set, class and condition (a
    balanced column) are from the wanted numbers.

    Attributes
    ----------
    parts : tuple of Part
        Wanted and actual size of each set.
    levels : tuple of Level
        Deviation of each level of each axis. The axes are the set sizes, the classes and the
        conditions, in this order.
    imbalance : float
        Weighted squared deviation of all levels from the wanted numbers of samples (see
        :func:`truecost.protocol.dealing.imbalance`). Range: from 0 up, lower is better; 0 is a
        perfect split, 1 is the average of random assignments.
    """

    parts: tuple[Part, ...]
    levels: tuple[Level, ...]
    imbalance: float

    @property
    def worst(self) -> Level:
        """The level with the largest deviation from the wanted number of samples."""
        return max(self.levels, key=lambda level: level.deviation)

    def to_dict(self) -> dict[str, Any]:
        """The balance as a dictionary, in the form of the JSON file that is stored with a split."""
        total = sum(part.samples for part in self.parts)
        return {
            "imbalance": self.imbalance,
            "largest_deviation": self.worst.deviation,
            "sets": [
                {
                    "set": part.name,
                    "target": part.target,
                    "share": part.samples / total,
                    "samples": part.samples,
                    "units": part.units,
                }
                for part in self.parts
            ],
            "levels": [
                {
                    "axis": level.axis,
                    "level": level.level,
                    "samples": sum(level.counts),
                    "units": level.units,
                    "counts": {p.name: n for p, n in zip(self.parts, level.counts, strict=True)},
                    "largest_deviation": level.deviation,
                    "in": level.part,
                    "largest_unit": level.largest_unit,
                }
                for level in self.levels
            ],
        }


def balance_of(
    profiles: Profiles, places: Ints, shares: Floats, names: tuple[str, ...], axes: tuple[Axis, ...]
) -> Balance:
    """The balance of the units over the sets; `places`, shape (units,), is the set of each."""
    held, totals = profiles.placed(places, len(shares)), profiles.totals
    off = np.abs(held - shares[:, None] * totals)
    largest = np.zeros(len(totals), np.int64)
    np.maximum.at(largest, profiles.cells, profiles.counts)
    units = np.bincount(profiles.cells, minlength=len(totals))
    cells = [(axis.name, level) for axis in axes for level in axis.levels]
    levels = tuple(
        Level(
            axis,
            level,
            tuple(held[:, c].tolist()),
            int(units[c]),
            round(float(off[:, c].max()), 9),
            names[int(off[:, c].argmax())],
            int(largest[c]),
        )
        for c, (axis, level) in enumerate(cells)
        if totals[c]
    )
    members = np.bincount(places, minlength=len(shares))
    parts = tuple(
        Part(name, float(share), int(held[f, 0]), int(members[f]))
        for f, (name, share) in enumerate(zip(names, shares, strict=True))
    )
    return Balance(parts, levels, imbalance(profiles, places, shares))
