"""Dealing units to sets so that every cell is spread as the shares say; how well it is, and what a
reader should know of it.

Of the samples n_c of a cell (a class, a level of a condition, all samples), set f with share s_f
should have s_f n_c; it has n_fc. What is made small is the *imbalance*, the mean over axes of the
mean over their cells of

    1 / (F - 1)  sum_f (n_fc - s_f n_c)^2 / (s_f sum_u m_uc^2)

where m_uc is the number of samples of unit u, and F the number of sets. It is 0 for a perfect
split, and 1 on average where units are dealt at random with the shares as probabilities: so cells
that fall into few units, which nobody can spread, do not outweigh those that can be.

Units are dealt, the largest first, each to where sum_c (n_fc / n_c)^2 / s_f grows least; then
whole units are moved and swapped as long as the imbalance falls. The same is done from some random
assignments, the more the fewer units there are, and the best is kept. Where there are very few
units, every assignment is tried, and the imbalance is the least possible.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecost.core.digits import figure
from truecost.core.factors import generator
from truecost.errors import counted, first_five
from truecost.protocol.grouping import Axis, Units
from truecost.protocol.samples import Floats, Ints, Marks, Samples

TRIED = 100_000  # assignments: as many as this are tried one by one
PAIRS = 4_000_000  # of units that are tried as swaps in a pass
PASSES = 20
STARTS, STARTED = 50, 4_000  # random assignments that are improved; with all their units at most


@dataclass(frozen=True, eq=False)
class Profiles:
    """How many samples each unit has in each cell: a sparse matrix of units by cells.

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
    """The set of each unit, shape (units,).

    Parameters
    ----------
    profiles : Profiles
        At least as many units as sets.
    shares : ndarray of float64, shape (sets,)
        Share of the samples of each set; they sum to 1.
    seed : int
        It decides only in which order units of equal size are dealt.
    purpose : str
        Purpose of the draw; draws of different purposes are independent.
    tried : int
        Largest number of assignments for an exhaustive search.
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
    """The imbalance of an assignment; see the head of this module. NaN for one set.

    `places`, shape (units,), is the set of each unit. Lower is better; 0 for a perfect split.
    """
    off = profiles.placed(places, len(shares)) - shares[:, None] * profiles.totals
    squares = (off**2 / shares[:, None]).sum(axis=0)
    axes = int(profiles.axes.max()) + 1
    if len(shares) < 2:
        return float("nan")
    return float((squares * profiles.weights()).sum() / (axes * (len(shares) - 1)))


@dataclass(frozen=True)
class Part:
    """One set of a split: the share of samples that it was to have, and what it has."""

    name: str
    target: float
    samples: int
    units: int


@dataclass(frozen=True)
class Level:
    """How one level of an axis (a class, a level of a condition) is spread.

    Attributes
    ----------
    axis, level : str
        `samples` and `all` for the sizes of the sets.
    counts : tuple of int
        Its samples in each set.
    units : int
        Units that have any.
    deviation : float
        Largest `|n_f - s_f n|` over the sets f, in samples: how far a set is from its share.
    part : str
        The set that is furthest from it.
    largest_unit : int
        Most samples that one unit has. No deal of whole units promises less than that.
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
        """Its name in messages."""
        return "all samples" if self.axis == "samples" else f"{self.axis} {self.level}"


@dataclass(frozen=True)
class Balance:
    """How well one column of a split is spread.

    Attributes
    ----------
    levels : tuple of Level
        By axis: the sizes, the classes, the conditions.
    imbalance : float
        0 for a perfect split, 1 for what random dealing gives on average.
    """

    parts: tuple[Part, ...]
    levels: tuple[Level, ...]
    imbalance: float

    @property
    def worst(self) -> Level:
        """The level with the largest deviation in samples."""
        return max(self.levels, key=lambda level: level.deviation)

    def to_dict(self) -> dict[str, Any]:
        """The form in which the plan of a split stores it."""
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
    """How well units are spread; `places`, shape (units,), is the set of each."""
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


@dataclass(frozen=True)
class Note:
    """Warning for the reader of a split: "advice" on a choice, or something odd about
    the "data" (`kind`); `rule` is the id of its rule of `truecost.advice`, or empty.
    """

    rule: str
    message: str
    kind: str = "advice"

    def to_dict(self) -> dict[str, str]:
        """As it is stored."""
        return {"rule": self.rule, "kind": self.kind, "message": self.message}


def notes_on_units(
    samples: Samples, units: Units, profiles: Profiles, first: Balance, odd: Sequence[str]
) -> list[Note]:
    """The notes on what is kept whole."""
    found = [Note("", text, "data") for text in odd]
    if not units.columns:
        found.append(
            Note(
                "no-groups-named",
                "no groups are named, so each sample is assigned on its own, and samples of one "
                "speaker, session or recording may be on both sides: name the column, --map "
                "group=COLUMN",
            )
        )
    if units.chained:
        found.append(Note("", units.joined, "data"))
    largest = int(np.argmax(profiles.sizes))
    share = profiles.sizes[largest] / len(samples)
    most = max(part.target for part in first.parts)
    if share > most:
        found.append(
            Note(
                "too-few-units",
                f"{units.noun} {units.title(largest)} has {figure(share, '%')} of the samples, "
                f"more than the share of any set ({figure(most, '%')}): no split can be even",
                "data",
            )
        )
    return found


def notes_on(column: str, balance: Balance, units: Units) -> list[Note]:
    """The notes on how one column is spread."""
    if column.startswith("inner_"):
        return []  # what holds of the rest of a fold was said of the whole
    sets = "folds" if column == "fold" else "sets"
    lone: dict[str, list[str]] = {}
    few: dict[str, list[str]] = {}
    for level in balance.levels:
        if level.units == 1:
            lone.setdefault(level.axis, []).append(level.level)
        elif not all(level.counts):
            few.setdefault(level.axis, []).append(level.level)
    alone = f"all in one {units.noun}, and so in one of the {sets} only; collect more"
    lacking = f"not in every one of the {sets}, as too few have any; collect more"
    if not units.columns:
        alone = f"one sample only, and so in one of the {sets}; collect more"
    return [
        Note(
            "missing-classes" if axis == "label" else "missing-conditions",
            f"{axis} {first_five(levels)}: {said}",
        )
        for by_axis, said in ((lone, alone), (few, lacking))
        for axis, levels in by_axis.items()
    ]


def deviation_sentence(column: str, balance: Balance, units: Units) -> str:
    """The largest deviation of a column, in one sentence, and what one unit amounts to there."""
    worst = balance.worst
    if worst.deviation < 1:
        return "every share is met to within one sample"
    where = worst.part if column == "set" else f"{column} {worst.part}"
    most = f"; one {units.noun} has up to {worst.largest_unit} of it" if units.columns else ""
    of = counted(sum(worst.counts), "sample")
    off = figure(worst.deviation)
    return f"furthest from its share by {off} of {of}: {worst.title} in {where}{most}"


def balance_sentences(balances: Mapping[str, Balance], units: Units) -> list[str]:
    """The largest deviation of each column, and of all inner folds together; the imbalance."""
    inner = {c: b for c, b in balances.items() if c.startswith("inner_")}
    said = [
        f"{c}: {deviation_sentence(c, b, units)}" for c, b in balances.items() if c not in inner
    ]
    if inner:
        column = max(inner, key=lambda name: inner[name].worst.deviation)
        said.append(f"inner folds: {deviation_sentence(column, inner[column], units)}")
    worst = max(balance.imbalance for balance in balances.values())
    return [*said, f"imbalance {figure(worst)} (dealt at random: 1 on average)"]
