"""The evidence of a life cycle: statistics of items, laid out by version, time and state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.evidence import Evidence
from truecost.core.factors import Factor
from truecost.core.tally import Tally
from truecost.core.weights import Plan
from truecost.errors import UsageError
from truecost.tasks.lifelong import records
from truecost.tasks.lifelong.measures.across import CURVE, STREAM
from truecost.tasks.lifelong.measures.supervision import EFFORT, OFFLINE
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import STATES, Lifelong, Scored

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
CODED = ("item", "version", "seed")
SPENT = ("answers", "seconds", "words", "actions")
Units = tuple[Factor, npt.NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Laid:
    """A life cycle laid out for weighing."""

    lifelong: Lifelong
    how: LifelongScoring

    @cached_property
    def several(self) -> bool:
        """Whether any time has several units, so that there is something to resample."""
        factor, _ = self._units(self.lifelong.test, self._named)
        strata = factor.strata
        return factor.count > 1 if strata is None else bool((np.bincount(strata) > 1).any())

    @cached_property
    def resample(self) -> str:
        """What is resampled: item, seed, both, or nothing."""
        if self.how.resample is not None:
            if self.how.resample != "item" and len(self.lifelong.seeds) < 2:
                raise UsageError(
                    f"{self.lifelong.name} has one run: there are no seeds to resample; "
                    f"--resample item"
                )
            return self.how.resample
        if self.several:
            return "item"
        return "seed" if len(self.lifelong.seeds) > 1 else ""

    @cached_property
    def cost(self) -> str:
        """What help is counted in: as asked, else the first of which there is any."""
        if self.how.cost is not None:
            return self.how.cost
        frames = (self.lifelong.offline, self.lifelong.test.effort)
        if "cost" in frames[0].columns:
            return "cost"
        put_in = any(f.height and f["words"].sum() for f in frames)
        return "words" if put_in and self.lifelong.kind.name != "classes" else "answers"

    def plan(self, plan: Plan) -> Plan:
        """The plan with what is not resampled held."""
        holds = {
            "": ("seed", "item", self._streamed),
            "item": ("seed",),
            "seed": ("item", self._streamed),
        }
        held = list(holds.get(self.resample, ()))
        unit = self._named
        held = [unit if name == "item" else name for name in held]
        return replace(plan, hold=tuple(dict.fromkeys((*plan.hold, *held))))

    @cached_property
    def _named(self) -> str:
        """What a unit of the test set is called."""
        if self.how.unit:
            return self.how.unit
        return next(iter(self.lifelong.units), "item")

    @cached_property
    def _streamed(self) -> str:
        """What a unit of the lifelong set is called: the same column, where its items have it."""
        scored = self.lifelong.stream
        there = scored is not None and self._named in scored.items.columns
        return f"{STREAM}{self._named if there else 'item'}"

    @cached_property
    def seeds(self) -> Factor:
        """The runs as units."""
        return Factor("seed", np.array(self.lifelong.seeds))

    def _units(self, scored: Scored, name: str) -> Units:
        """The units of the items of a set, within their times unless they span several."""
        items, times = scored.items, scored.items["time"].to_numpy()
        column: Any = items["id"].to_numpy()
        if name == self._named and name != "item":
            column = self._column(name)
        elif name == f"{STREAM}{self._named}" and self._named in items.columns:
            column = items[self._named].to_numpy()
        _, codes = np.unique(column, return_inverse=True)
        pairs = len(np.unique(codes.astype(np.int64) * (times.max(initial=0) + 1) + times))
        if name != "item" and pairs > codes.max(initial=-1) + 1:
            return Factor.of(name, column)  # a unit of several times is drawn with all of them
        return Factor.of(name, column, times)

    def _column(self, name: str) -> Any:
        """The unit of each test item."""
        if not self.how.unit:
            return self.lifelong.units[name]
        items = self.lifelong.test.items
        if name not in items.columns:
            known = [c for c in items.columns if c not in records.OWN]
            raise UsageError(
                f"{self.lifelong.name}: there is no column {name!r} for units; the columns of the "
                f"items are {', '.join(known) or 'none'}"
            )
        return items[name].to_numpy()

    def sides(self, frame: pl.DataFrame, units: Units) -> list[Units]:
        """Units and seed of each row."""
        factor, codes = units
        of_items = (factor, codes[frame["item"].to_numpy()])
        if len(self.lifelong.seeds) < 2:
            return [of_items]
        return [of_items, (self.seeds, frame["seed"].to_numpy().astype(np.int32))]

    def test(self, parts: Sequence[str]) -> Evidence:
        """The parts of a score on the test set, by version, time and state; and `effort`."""
        scored = self.lifelong.test
        units = self._units(scored, self._named)
        return Evidence({**self._tallies(scored, units, parts), EFFORT: self._effort(units)})

    def stream(self, parts: Sequence[str]) -> Evidence:
        """The same on the lifelong set."""
        scored = self.lifelong.stream
        if scored is None:
            raise UsageError(f"{self.lifelong.name} has no scores on the lifelong set itself")
        units = self._units(scored, self._streamed)
        return Evidence(self._tallies(scored, units, parts, STREAM))

    def curve(self, parts: Sequence[str]) -> Evidence:
        """All test items together, by seed and version, before help on them."""
        scored, versions = self.lifelong.test, self.lifelong.versions
        base = (scored.rows["state"] == 0).to_numpy()
        rows = scored.rows.filter(pl.Series(base))
        factor, codes = self._units(scored, self._named)
        axes = {
            "seed": (self.lifelong.seeds, rows["seed"].to_numpy()),
            "version": (versions, rows["version"].to_numpy()),
        }
        sides = [(factor, codes[rows["item"].to_numpy()])]
        parts_of = {
            f"{CURVE}{part}": Tally.count(
                sides, {n: c[base] for n, c in scored.statistics[part].items()}, axes
            )
            for part in parts
        }
        return Evidence(parts_of, outer=(self.seeds,) if len(self.lifelong.seeds) > 1 else ())

    def offline(self) -> Evidence:
        """What people did away from the test set, up to each version."""
        frame, versions = self.lifelong.offline, len(self.lifelong.versions)
        spent = {
            name: self.spent(name).astype(np.int64 if frame[name].dtype.is_integer() else float)
            for name in SPENT
        }
        seeds = np.repeat(np.arange(len(self.lifelong.seeds), dtype=np.int32), versions)
        places = np.tile(np.arange(versions), len(self.lifelong.seeds))
        axes = {"version": (self.lifelong.versions, places)}
        columns = {name: of.reshape(-1) for name, of in spent.items()}
        return Evidence({OFFLINE: Tally.count([(self.seeds, seeds)], columns, axes)})

    def spent(self, name: str) -> Floats:
        """Cost of the offline help up to each version, shape (seeds, versions)."""
        frame = self.lifelong.offline
        found = np.zeros((len(self.lifelong.seeds), len(self.lifelong.versions)))
        if name not in frame.columns:
            return found
        places = (frame["seed"].to_numpy(), frame["version"].to_numpy())
        np.add.at(found, places, frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy())
        return found.cumsum(axis=1)

    def _tallies(
        self, scored: Scored, units: Units, parts: Sequence[str], prefix: str = ""
    ) -> dict[str, Tally]:
        rows = scored.rows
        axes = {
            "version": (self.lifelong.versions, rows["version"].to_numpy()),
            "time": (scored.times, scored.items["time"].gather(rows["item"]).to_numpy()),
            "state": (STATES, rows["state"].to_numpy()),
        }
        sides = self.sides(rows, units)
        return {prefix + part: Tally.count(sides, scored.statistics[part], axes) for part in parts}

    def _effort(self, units: Units) -> Tally:
        frame = self.lifelong.test.effort
        axes = {"version": (self.lifelong.versions, frame["version"].to_numpy())}
        columns: Mapping[str, Array] = {name: frame[name].to_numpy() for name in records.EFFORT}
        return Tally.count(self.sides(frame, units), columns, axes)
