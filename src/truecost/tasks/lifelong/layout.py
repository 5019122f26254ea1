"""`Laid`: a life cycle as evidence, laid out by version, time and state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.costs import COMPUTING, HOUR, TOOK
from truecost.core.evidence import Evidence
from truecost.core.factors import Factor
from truecost.core.measure import Floats
from truecost.core.tally import Tally
from truecost.core.weights import Plan
from truecost.corrections import corrector
from truecost.errors import UsageError
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import EFFORT, SPENT, STATES, Lifelong, Scored, no_units
from truecost.tasks.lifelong.supervision import BY_HAND, CURVE, OFFLINE, STREAM
from truecost.tasks.lifelong.supervision import EFFORT as HELP

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
    def factors(self) -> str:
        """The resampled factors: item, seed, `item,seed`, or none."""
        if self.how.factors is not None:
            if self.how.factors != "item" and len(self.lifelong.seeds) < 2:
                raise UsageError(
                    f"{self.lifelong.name} has one run, so no seeds to resample: use --factors item"
                )
            return self.how.factors
        return "item" if self.several else "seed" if len(self.lifelong.seeds) > 1 else ""

    @cached_property
    def cost(self) -> str:
        """The unit of help: as asked, else the first one with data."""
        if self.how.cost is not None:
            return self.how.cost
        frames = (self.lifelong.offline, self.lifelong.test.effort)
        if "cost" in frames[0].columns:
            return "cost"
        put_in = any(f.height and f["words"].sum() for f in frames)
        return "words" if put_in and self.lifelong.kind.name != "classes" else "answers"

    @cached_property
    def by_words(self) -> bool:
        """Whether people put in words, so that more words take them longer."""
        frames = (self.lifelong.offline, self.lifelong.test.effort, self.lifelong.spent)
        told = (frame["words"] for frame in frames if "words" in frame.columns)
        put_in = any(words.sum() for words in told)
        return put_in and self.lifelong.kind.name != "classes"

    def plan(self, plan: Plan, evidence: Evidence) -> Plan:
        """The plan of some evidence, with what is not resampled held."""
        items = (self._named, self._streamed) if self.factors in ("", "seed") else ()
        runs = ("seed",) if self.factors in ("", "item") else ()
        held = dict.fromkeys((*plan.hold, *runs, *items))
        return replace(plan, hold=tuple(name for name in held if name in evidence.factors))

    @cached_property
    def _named(self) -> str:
        """The name of the unit of the test set."""
        return self.how.unit or next(iter(self.lifelong.units), "item")

    @cached_property
    def _streamed(self) -> str:
        """The name of the unit of the lifelong set: the same column, where its items have it."""
        scored = self.lifelong.stream
        there = scored is not None and self._named in scored.items.columns
        return STREAM + (self._named if there else "item")

    @cached_property
    def seeds(self) -> Factor:
        """The runs as units."""
        return Factor("seed", np.array(self.lifelong.seeds))

    def _units(self, scored: Scored, name: str) -> Units:
        """The units of the items of a set, within their times unless they span several."""
        items, times = scored.items, scored.items["time"].to_numpy()
        column: Any = items["id"].to_numpy()
        if name == self._named and name != "item":
            if self.how.unit and name not in items.columns:
                raise UsageError(no_units(self.lifelong, name))
            column = items[name].to_numpy() if self.how.unit else self.lifelong.units[name]
        elif name == f"{STREAM}{self._named}" and self._named in items.columns:
            column = items[self._named].to_numpy()
        _, codes = np.unique(column, return_inverse=True)
        pairs = len(np.unique(codes.astype(np.int64) * (times.max(initial=0) + 1) + times))
        if name != "item" and pairs > codes.max(initial=-1) + 1:
            return Factor.encode(name, column)  # a unit of several times is drawn with all of them
        return Factor.encode(name, column, times)

    def row_units(self, frame: pl.DataFrame, units: Units) -> list[Units]:
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
        axes = {"version": (self.lifelong.versions, scored.effort["version"].to_numpy())}
        columns = {name: scored.effort[name].to_numpy() for name in EFFORT}
        effort = Tally.count(self.row_units(scored.effort, units), columns, axes)
        return Evidence({**self._tallies(scored, units, parts), HELP: effort})

    def stream(self, parts: Sequence[str]) -> Evidence:
        """Evidence from the lifelong set."""
        scored = self.lifelong.stream
        if scored is None:
            raise UsageError(f"{self.lifelong.name} has no scores on the lifelong set itself")
        return Evidence(self._tallies(scored, self._units(scored, self._streamed), parts, STREAM))

    def curve(self, parts: Sequence[str]) -> Evidence:
        """All test items together, by seed and version, before help on them."""
        scored = self.lifelong.test
        base = (scored.rows["state"] == 0).to_numpy()
        rows = scored.rows.filter(pl.Series(base))
        factor, codes = self._units(scored, self._named)
        axes = {
            "seed": (self.lifelong.seeds, rows["seed"].to_numpy()),
            "version": (self.lifelong.versions, rows["version"].to_numpy()),
        }
        sides = [(factor, codes[rows["item"].to_numpy()])]
        found = {}
        for part in parts:
            columns = {name: column[base] for name, column in scored.statistics[part].items()}
            found[f"{CURVE}{part}"] = Tally.count(sides, columns, axes)
        return Evidence(found, outer=(self.seeds,) if len(self.lifelong.seeds) > 1 else ())

    def spending(self, parts: Sequence[str]) -> Evidence:
        """The errors and the help on the test set, what each run took beside (`TOOK`), and what a
        person does who does everything (`BY_HAND`).
        """
        spent, runs = self.lifelong.spent, len(self.lifelong.seeds)
        found = {key: np.full(runs, hours / runs) for key, hours in self.lifelong.took.items()}
        for name in ("seconds", "helped", *COMPUTING):
            hours = spent[name].fill_null(0.0).to_numpy() / HOUR if spent.height else np.zeros(runs)
            found[name] = found.get(name, np.zeros(runs)) + hours
        for name in ("answers", "words"):
            found[name] = (
                spent[name].cast(pl.Float64).to_numpy() if spent.height else np.zeros(runs)
            )
        codes = np.arange(runs, dtype=np.int32)
        took = Tally.count([(self.seeds, codes)], found)
        return Evidence({**self.test(parts).parts, TOOK: took, **self._by_hand()})

    def _by_hand(self) -> dict[str, Tally]:
        """Parts and words that correcting an empty output of every test item takes; nothing where
        it is not known what is right.
        """
        scored = self.lifelong.test
        if not scored.right:
            return {}
        by = corrector(self.lifelong.kind.name)
        whole = [by.parts("", right) for right in scored.right]
        columns = {"parts": [*map(len, whole)], "words": [sum(p.words for p in of) for of in whole]}
        last = len(self.lifelong.versions) - 1
        rows = scored.rows.filter((pl.col("state") == 0) & (pl.col("version") == last))
        item = rows["item"].to_numpy()
        counts = {name: np.array(of, np.int64)[item] for name, of in columns.items()}
        units = self.row_units(rows, self._units(scored, self._named))
        return {BY_HAND: Tally.count(units, counts)}

    def offline(self) -> Evidence:
        """The help of people outside the test set, up to each version."""
        frame, (seeds, versions) = self.lifelong.offline, self.spent("answers").shape
        kinds = {n: np.int64 if frame[n].dtype.is_integer() else np.float64 for n in SPENT}
        columns = {name: self.spent(name).ravel().astype(kind) for name, kind in kinds.items()}
        runs = np.repeat(np.arange(seeds, dtype=np.int32), versions)
        axes = {"version": (self.lifelong.versions, np.tile(np.arange(versions), seeds))}
        return Evidence({OFFLINE: Tally.count([(self.seeds, runs)], columns, axes)})

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
        sides = self.row_units(rows, units)
        return {prefix + part: Tally.count(sides, scored.statistics[part], axes) for part in parts}
