"""`Balance`: how well the sets of a split are spread, in samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.protocol.dealing import Profiles, imbalance
from truecost.protocol.strata import Axis

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """One set of a split.

    Attributes
    ----------
    target : float
        Share of the samples that it was to have.
    samples, units : int
        What it has.
    """

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
    def within_one_unit(self) -> bool:
        """Whether no set is further from its share than one unit can bring it."""
        return self.deviation <= self.largest_unit

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return "all samples" if self.axis == "samples" else f"{self.axis} {self.level}"


@dataclass(frozen=True)
class Balance:
    """How well one column of a split is spread.

    Attributes
    ----------
    levels : tuple of Level
        By axis: the sizes, the classes, the conditions.
    imbalance : float
        0 for a perfect split, 1 for what random dealing gives on average (`dealing.py`).
    """

    parts: tuple[Part, ...]
    levels: tuple[Level, ...]
    imbalance: float

    @property
    def worst(self) -> Level:
        """The level with the largest deviation in samples."""
        return max(self.levels, key=lambda level: level.deviation)

    def to_dict(self) -> dict[str, Any]:
        """As the plan beside a split stores it."""
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
            "levels": [self._level(level) for level in self.levels],
        }

    def _level(self, level: Level) -> dict[str, Any]:
        return {
            "axis": level.axis,
            "level": level.level,
            "samples": sum(level.counts),
            "units": level.units,
            "counts": {p.name: n for p, n in zip(self.parts, level.counts, strict=True)},
            "largest_deviation": level.deviation,
            "in": level.part,
            "largest_unit": level.largest_unit,
        }


def balance_of(
    profiles: Profiles,
    places: Ints,
    shares: npt.NDArray[np.float64],
    names: tuple[str, ...],
    axes: tuple[Axis, ...],
) -> Balance:
    """How well units are spread.

    Parameters
    ----------
    places : ndarray of int64, shape (units,)
        Set of each unit.
    shares : ndarray of float64, shape (sets,)
    names : tuple of str
        Of the sets.
    """
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
