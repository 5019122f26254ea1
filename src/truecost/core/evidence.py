"""Evidence: what is counted once and weighed many times.

- A `Tally` holds sums by unit, cell and statistic. It is stored as *entries*: one row for each
  distinct (units, cell) that occurs, so memory follows the data, not the product of the axes.
  Cells are labelled axes that are not resampled (class, decision, query, stream, version, ...).
- A `Ranking` holds trials sorted by score with a class code, an own weight and their units: what
  threshold sweeps need.
- `Evidence` names the parts of one system; parts share factors.
- `totals(evidence, block)` is the one place where data and weights meet.

A part has one or more *sides*: (factor, unit code of each row). A row weighs the product of the
weights of its units; a unit that stands on two sides of a row (the same speaker enrolled and
tested) counts once. Plain counts come out as int64, weighted ones as float64.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Array, Factor
from truecost.core.ranking import Ranking
from truecost.core.tally import Tally
from truecost.core.weights import Block
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.core.sweep import Sweep


Part = Tally | Ranking
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts and rankings of one system on one set of trials, from which measures are computed.

    Attributes
    ----------
    parts : mapping of str to Tally or Ranking
        Tallies (sums by unit) and rankings (sorted scores), by name.
    outer : tuple of Factor
        Factors whose units are not summed: each unit is a cell of a tally, and the function of the
        measure applies the weights of the units (`Totals.weights`). Example: queries, for a mean
        over queries.
    """

    parts: Mapping[str, Part]
    outer: tuple[Factor, ...] = ()

    @cached_property
    def factors(self) -> dict[str, Factor]:
        """Factors by name: first the factors of the parts, then the outer factors.

        Raises
        ------
        InputError
            If parts with the same factor have different units, or an outer factor and the axis of
            the same name have different labels.
        """
        found: dict[str, Factor] = {}
        for factor in [*(f for p in self.parts.values() for f in p.slots.factors), *self.outer]:
            known = found.setdefault(factor.name, factor)
            if known is not factor and not known.same_units(factor):
                raise InputError(
                    f"factor {factor.name!r} has different units in two parts of the evidence "
                    f"({known.count} and {factor.count}): give both parts the same units"
                )
        for factor in self.outer:
            for name, part in self.parts.items():
                labels = part.axes.get(factor.name) if isinstance(part, Tally) else None
                if labels is not None and labels != tuple(str(x) for x in factor.labels):
                    raise InputError(
                        f"axis {factor.name!r} of part {name!r} and the outer factor of that name "
                        "have different labels or a different order: give both the same labels "
                        "in the same order"
                    )
        return found

    @property
    def cells(self) -> int:
        """Number of sums over all tallies, for one replicate."""
        tallies = [p for p in self.parts.values() if isinstance(p, Tally)]
        return sum(t.fixed.size for t in tallies)

    def digest(self, parts: Sequence[str]) -> str:
        """Hash of the named parts; of all parts if none is named."""
        names = [name for name in self.parts if name in parts or not parts]
        return "".join(self.parts[name].digest for name in names)

    def prepare(self) -> None:
        """Compute data that all sweeps share, before several threads need them at once."""
        for part in self.parts.values():
            if isinstance(part, Ranking):
                _ = part.cut, part.histogram


@dataclass(frozen=True, eq=False)
class Totals:
    """Evidence with the weights of some replicates: the input of a measure.

    The first axis of every array is the replicate.
    """

    evidence: Evidence
    block: Block
    _sums: dict[str, dict[str, Array]] = field(default_factory=dict, init=False, repr=False)
    _sweeps: dict[str, "Sweep"] = field(default_factory=dict, init=False, repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Result of `make()`, computed once for all measures that use the same name.

        The name must contain everything on which the result depends, besides these totals.
        """
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found

    def sums(self, part: str, statistic: str) -> Array:
        """Weighted sums of one statistic of a tally, shape (replicates, cells...).

        The type is int64 if all values of the tally are whole, otherwise float64. Raises InputError
        if the part is a ranking.
        """
        if part not in self._sums:
            tally = self.evidence.parts[part]
            if not isinstance(tally, Tally):
                raise InputError(f"part {part!r} is a ranking: use sweep({part!r})")
            self._sums[part] = tally.sums(self.block)
        return self._sums[part][statistic]

    def sweep(self, part: str) -> "Sweep":
        """Threshold sweep of a ranking in each replicate.

        Raises InputError if the part is a tally.
        """
        if part not in self._sweeps:
            from truecost.core.sweep import Sweep

            ranking = self.evidence.parts[part]
            if not isinstance(ranking, Ranking):
                raise InputError(f"part {part!r} is a tally: use sums({part!r}, statistic)")
            self._sweeps[part] = Sweep(ranking, self.block)
        return self._sweeps[part]

    def weights(self, factor: str) -> npt.NDArray[np.float64]:
        """Weights of the units of a factor in each replicate, float64 (replicates, units).

        A measure uses them to weight the units of an outer factor (`Evidence.outer`). The units are
        in the order of `Factor.labels`. Raises InputError if no factor has this name.
        """
        if factor not in self.block.rows:
            raise InputError(
                f"there is no factor {factor!r} to weigh; the factors are "
                f"{', '.join(self.block.rows)}: name it in Evidence(..., outer=(factor,))"
            )
        return self.block[factor].astype(np.float64)


def totals(evidence: Evidence, block: Block) -> Totals:
    """Evidence with the weights of some replicates; sums and sweeps are computed when they are
    used.
    """
    return Totals(evidence, block)
