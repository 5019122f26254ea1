"""`Lifelong`: what each version of a system puts out on each test set, counted by item; `Laid`: the
same as evidence, laid out by version, time and state.

A *version* M_i is the model after adapting to the data of time l_i; M_0 is the initial one. Every
version is scored on every test set Y_t (`test`), and each on the data that it adapted to
(`stream`, the lifelong set). Where a person helped there are four *states* of the output: `base`
(before the help), `adapted` (after it), `impaired` and `corrected` (the base with what the person
corrected made strictly wrong, or put in place). All are additive statistics of items, counted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.costs import COMPUTING, HOUR, TOOK
from truecost.core.evidence import Evidence
from truecost.core.factors import Factor
from truecost.core.measure import Array, Floats
from truecost.core.tally import Tally
from truecost.core.weights import Plan
from truecost.corrections import corrector
from truecost.errors import UsageError, counted
from truecost.task import Rows
from truecost.tasks.lifelong.kinds import Kind
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.supervision import BY_HAND, CURVE, OFFLINE, STREAM
from truecost.tasks.lifelong.supervision import EFFORT as HELP

STATES = ("base", "adapted", "impaired", "corrected")
INITIAL = -np.inf  # when the initial version was learnt: before everything
OWN = ("id", "time")  # columns of the items; others come with them
TIME = "test time"
EFFORT = ("corrections", "seconds", "words", "actions", "all_parts", "all_words", "wrong")
SPENT = ("answers", "seconds", "words", "actions")  # of help away from both sets
Units = tuple[Factor, npt.NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Scored:
    """One of the two sets: the statistics of its items under every version.

    `at` are the times as numbers (days for dates), ascending, (times,). `items`, sorted by time and
    id, have `id`, `time` (its place in `times`), and columns for units and subsets. `rows` are what
    was counted: `item` (row of `items`), `version`, `state` and `seed` (places in versions,
    `STATES` and seeds); `statistics` the sums of each row, (rows,), in each part of the evidence
    (words, ngrams, ...). `effort` is what a person did: `item`, `version`, `seed` and the columns
    of `EFFORT`; seconds are null where they were not measured. `right` are the right outputs of
    each item; none where they are not known.
    """

    times: tuple[str, ...]
    at: Floats
    items: pl.DataFrame
    rows: pl.DataFrame
    statistics: Mapping[str, Mapping[str, Array]]
    effort: pl.DataFrame
    right: tuple[tuple[str, ...], ...] = ()

    def take(self, mask: npt.NDArray[np.bool_]) -> "Scored":
        """The items of a subset; times and versions stay."""
        place, kept = pl.Series(np.cumsum(mask) - 1), pl.Series(mask)
        stays = kept.gather(self.rows["item"])

        def moved(frame: pl.DataFrame) -> pl.DataFrame:
            rows = frame.filter(kept.gather(frame["item"]))
            return rows.with_columns(item=place.gather(rows["item"]).cast(rows["item"].dtype))

        statistics = {
            part: {name: column[stays.to_numpy()] for name, column in columns.items()}
            for part, columns in self.statistics.items()
        }
        return replace(
            self,
            items=self.items.filter(kept),
            rows=moved(self.rows),
            statistics=statistics,
            effort=moved(self.effort),
            right=tuple(compress(self.right, mask)),
        )

    def has(self, state: str) -> bool:
        """Whether any output in this state was counted."""
        return bool((self.rows["state"] == STATES.index(state)).any())


def no_effort() -> pl.DataFrame:
    """The effort of nobody."""
    whole = dict.fromkeys(("item", "version", "seed", *EFFORT), pl.Int64())
    return pl.DataFrame(schema={**whole, "seconds": pl.Float64()})


@dataclass(frozen=True, eq=False, repr=False)
class Lifelong(Rows):
    """The versions of one system, scored across time.

    Attributes
    ----------
    kind : Kind
        Kind of its outputs, and their scores.
    versions : tuple of str
        Names of the versions in the order in which they came to be.
    learnt : ndarray of float64, shape (versions,)
        Time l_i of the data that each version adapted to, ascending; `INITIAL` for the first.
    stream : Scored, optional
        The lifelong set: for version i, outputs on the data of l_i before adaptation (`base`, by
        M_(i-1)) and after it (`adapted`, by M_i).
    offline : polars.DataFrame
        Help that is not on a scored output: `version` (that came of it), `seed`,
        `answers`, `seconds`, `words`, `actions`. Reported separately, never added to a score.
    experts : tuple of str
        Names of who helped: systems are compared only when they had the same help.
    about : mapping of str to str
        Further dims of the rows: `strategy`.
    higher : bool, optional
        Whether higher scores are better, where the scores came ready-made.
    units : mapping of str to ndarray, shape (items of the test set,)
        For each factor the unit of each item; each item its own unit when empty.
    signatures : mapping of str to str
        Choices made while reading and counting each part, separated by bars.
    spent : polars.DataFrame
        What each run took in all: `seed`, `seconds` of people away from the test set (null where
        one answer was not timed), of it `helped` by `answers` with `words`, and seconds of `cpu`
        and `gpu` (null where none were recorded), earlier versions on the test set left out. Empty
        if no log has it.
    took : mapping of str to float
        The same of all runs, of records: hours of `cpu` and `gpu`, GB-hours of `memory`.
    timing, guess : str
        Settings of the active time on a page, and the visible content. Empty where no page asked.
    no_penalty : str
        Reason if no penalty is possible (such as answers "wrong" only); otherwise empty.
    """

    name: str
    kind: Kind
    versions: tuple[str, ...]
    learnt: Floats
    seeds: tuple[str, ...]
    test: Scored
    stream: Scored | None = None
    offline: pl.DataFrame = field(default_factory=pl.DataFrame)
    experts: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    higher: bool | None = None
    units: Mapping[str, Array] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    no_penalty: str = ""
    spent: pl.DataFrame = field(default_factory=pl.DataFrame)
    took: Mapping[str, float] = field(default_factory=dict)
    timing: str = ""
    guess: str = ""
    task: ClassVar[str] = "lifelong"

    def __len__(self) -> int:
        return self.test.items.height

    @property
    def summary(self) -> str:
        """The content in a few words."""
        found = {"version": len(self.versions), "time": len(self.test.times)}
        found |= {} if self.item == TIME else {self.item: len(self)}
        return ", ".join(counted(n, what) for what, n in found.items())

    @property
    def item(self) -> str:
        """The word for a scored item, in the singular; a matrix has one score a test time."""
        alone = len(self) == len(self.test.times)
        return TIME if alone and self.kind.name == "scores" else self.kind.item

    def right(self) -> tuple[pl.DataFrame, ...]:
        """The test items with their times, as a frame whose rows have no order."""
        return (self.test.items.select("id").with_columns(self.frame["time"]),)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """The statistics of every version on every item, as a frame whose rows have no order."""
        test = self.test
        of = {f"{p}.{n}": c for p, part in test.statistics.items() for n, c in part.items()}
        return (test.rows.hstack(pl.DataFrame(of)),)

    @property
    def helped(self) -> bool:
        """Whether a person helped on the test set, so that scores can be penalised."""
        return all(self.test.has(state) for state in STATES)

    @property
    def frame(self) -> pl.DataFrame:
        """The columns of subsets: the time, and the columns of the items."""
        named = pl.Series("time", self.test.times).gather(self.test.items["time"])
        return self.test.items.drop(OWN).with_columns(time=named)

    def take(self, mask: npt.NDArray[np.bool_]) -> "Lifelong":
        """The test items of a subset."""
        units = {name: codes[mask] for name, codes in self.units.items()}
        return replace(self, test=self.test.take(mask), units=units)


def no_units(found: Lifelong, name: str) -> str:
    """That the items have no column of a name, and which they have."""
    known = ", ".join(c for c in found.test.items.columns if c not in OWN) or "none"
    return (
        f"{found.name}: there is no column {name!r} for units; the columns of the items are {known}"
    )


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
                    f"{self.lifelong.name} has one run: there are no seeds to resample; "
                    f"--factors item"
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
        """What a unit of the test set is called."""
        return self.how.unit or next(iter(self.lifelong.units), "item")

    @cached_property
    def _streamed(self) -> str:
        """What a unit of the lifelong set is called: the same column, where its items have it."""
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
        """The same on the lifelong set."""
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
