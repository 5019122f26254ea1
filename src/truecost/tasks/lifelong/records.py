"""`Lifelong`: what each version of a system puts out on each test set, counted by item.

A *version* M_i is the model after adapting to the data of time l_i; M_0 is the initial one. Every
version is scored on every test set Y_t (`test`), and each on the data that it adapted to
(`stream`, the lifelong set). Where a person helped there are four *states* of the output: `base`
(before the help), `adapted` (after it), `impaired` and `corrected` (the base with what the person
corrected made strictly wrong, or put in place). All are additive statistics of items, counted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.subsets import Masks, masks_of
from truecost.errors import InputError, counted, first_five, plural
from truecost.tasks.lifelong.kinds.base import Kind

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
STATES = ("base", "adapted", "impaired", "corrected")
INITIAL = -np.inf  # when the initial version was learnt: before everything
OWN = ("id", "time")  # columns of the items; others come with them
# What a person did about an item of a version: parts corrected, busy seconds, words put in, simple
# actions; what correcting all of it would take; and whether the final output is still wrong.
EFFORT = ("corrections", "seconds", "words", "actions", "all_parts", "all_words", "wrong")


@dataclass(frozen=True, eq=False)
class Scored:
    """One of the two sets: the statistics of its items under every version.

    Attributes
    ----------
    times : tuple of str
        Names of the times, in order.
    at : ndarray of float64, shape (times,)
        The times as numbers (days for dates), ascending.
    items : polars.DataFrame
        One row an item, sorted by time and id: `id`, `time` (its place in `times`), and columns for
        units and subsets.
    rows : polars.DataFrame
        What was counted, one row each: `item` (row of `items`), `version`, `state` and `seed`
        (places in versions, `STATES` and seeds).
    statistics : mapping of str to (mapping of str to ndarray, shape (rows,))
        Of each part of the evidence (words, ngrams, ...) the sums of each row.
    effort : polars.DataFrame
        What a person did: `item`, `version`, `seed` and the columns of `EFFORT`; seconds are null
        where they were not measured.
    """

    times: tuple[str, ...]
    at: Floats
    items: pl.DataFrame
    rows: pl.DataFrame
    statistics: Mapping[str, Mapping[str, Array]]
    effort: pl.DataFrame

    def take(self, mask: npt.NDArray[np.bool_]) -> "Scored":
        """The items of a subset; times and versions stay."""
        place = pl.Series(np.cumsum(mask) - 1)
        kept = pl.Series(mask)
        stays = kept.gather(self.rows["item"])
        moved = _moved(self.rows.filter(stays), place)
        helped = self.effort.filter(kept.gather(self.effort["item"]))
        where = stays.to_numpy()
        statistics = {
            part: {name: column[where] for name, column in columns.items()}
            for part, columns in self.statistics.items()
        }
        return Scored(
            self.times,
            self.at,
            self.items.filter(kept),
            moved,
            statistics,
            _moved(helped, place),
        )

    def has(self, state: str) -> bool:
        """Whether any output in this state was counted."""
        return bool((self.rows["state"] == STATES.index(state)).any())


def _moved(frame: pl.DataFrame, place: pl.Series) -> pl.DataFrame:
    """Rows whose items stand elsewhere now."""
    kind = frame["item"].dtype
    return frame.with_columns(item=place.gather(frame["item"]).cast(kind))


def no_effort() -> pl.DataFrame:
    """The effort of nobody."""
    codes = dict.fromkeys(("item", "version", "seed"), pl.Int64())
    whole = dict.fromkeys(EFFORT, pl.Int64())
    return pl.DataFrame(schema={**codes, **whole, "seconds": pl.Float64()})


@dataclass(frozen=True, eq=False)
class Lifelong:
    """The versions of one system, scored across time.

    Attributes
    ----------
    kind : Kind
        What its outputs are, and which scores they have.
    versions : tuple of str
        Names of the versions in the order in which they came to be.
    learnt : ndarray of float64, shape (versions,)
        Time l_i of the data that each adapted to, ascending; `INITIAL` of the initial version.
    seeds : tuple of str
        Names of the runs.
    test : Scored
        The test set.
    stream : Scored, optional
        The lifelong set: outputs on the data of l_i before (`base`, by M_(i-1)) and after
        (`adapted`, by M_i) adapting to it, under version i.
    offline : polars.DataFrame
        What people did away from any output that is scored: `version` (that came of it), `seed`,
        `answers`, `seconds`, `words`, `actions`. Reported beside, never added to a score.
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
    problems : tuple of str
        What a reader should know.
    no_penalty : str
        Why nothing can be penalised (the person said only "wrong", say); empty when it can.
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
    task: ClassVar[str] = "lifelong"

    def __len__(self) -> int:
        return self.test.items.height

    def __repr__(self) -> str:
        return f"<Lifelong {self.name!r}: {self.summary}>"

    @property
    def summary(self) -> str:
        """What there is, in a few words."""
        sizes = (
            counted(len(self.versions), "version"),
            counted(len(self.test.times), "time"),
            counted(len(self), self.kind.item),
        )
        return ", ".join(sizes)

    @property
    def item(self) -> str:
        """What is scored, in the singular."""
        return self.kind.item

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """The columns that subsets are told by, and what a row of them is."""
        return ((self.columns(), self.item),)

    def right(self) -> tuple[pl.DataFrame, ...]:
        """The test items with their times, as a frame whose rows have no order."""
        times = pl.Series(self.test.times).gather(self.test.items["time"])
        return (pl.DataFrame({"id": self.test.items["id"], "time": times}),)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """The statistics of every version on every item, as a frame whose rows have no order."""
        test = self.test
        of = {f"{p}.{n}": c for p, part in test.statistics.items() for n, c in part.items()}
        return (test.rows.hstack(pl.DataFrame(of)),)

    @property
    def helped(self) -> bool:
        """Whether a person helped on the test set, so that scores can be penalised."""
        return all(self.test.has(state) for state in STATES)

    def columns(self) -> pl.DataFrame:
        """What subsets are made of: the time, and what came with the items."""
        named = pl.Series("time", self.test.times).gather(self.test.items["time"])
        return self.test.items.drop(OWN).with_columns(time=named)

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Name and items of each subset; UsageError and InputError as `masks_of` says."""
        return masks_of(self.columns(), subset, self.name, self.kind.item)

    def take(self, mask: npt.NDArray[np.bool_]) -> "Lifelong":
        """The test items of a subset."""
        units = {name: codes[mask] for name, codes in self.units.items()}
        return replace(self, test=self.test.take(mask), units=units)


def pair_lifelong(systems: Sequence[Lifelong]) -> list[Lifelong]:
    """Systems that were scored on the same items, with the help of the same people.

    Raises
    ------
    UsageError
        When some systems are of another task.
    InputError
        When items, times (of the tests, or of what was learnt), seeds or experts are not the same.
    """
    first = systems[0]
    for other in systems[1:]:
        _refuse_unlike(first, other)
    return [*systems]


def _refuse_unlike(one: Lifelong, other: Lifelong) -> None:
    """Refuse what cannot be compared item by item."""
    named = f"{one.name} and {other.name}"
    if one.kind is not other.kind or one.higher != other.higher:
        raise InputError(f"{named} put out other things, or are scored the other way round")
    for what, a, b in (
        ("test times", one.test.times, other.test.times),
        ("seeds", one.seeds, other.seeds),
    ):
        if a != b:
            raise InputError(
                f"{named} have other {what} ({first_five(a) or 'none'} against "
                f"{first_five(b) or 'none'}): only runs of the same life cycle can be compared"
            )
    _refuse_other_windows(one, other)
    if one.experts and other.experts and one.experts != other.experts:
        raise InputError(
            f"{named} had the help of others ({first_five(one.experts)} against "
            f"{first_five(other.experts)}): all that are compared need the same simulation of the "
            f"person (paper 004, section 4)"
        )
    mine, theirs = (system.test.items.select(OWN) for system in (one, other))
    if not mine.equals(theirs):
        lost = mine.join(theirs, on=OWN, how="anti")["id"]
        more = theirs.join(mine, on=OWN, how="anti")["id"]
        raise InputError(
            f"{named} are not scored on the same {plural(one.kind.item)} at the same times: only "
            f"in {one.name} {first_five(lost) or 'none'}, only in {other.name} "
            f"{first_five(more) or 'none'}"
        )
    for part in one.signatures.keys() & other.signatures.keys():
        if one.signatures[part] != other.signatures[part]:
            raise InputError(
                f"{named} were counted otherwise: {one.signatures[part]} against "
                f"{other.signatures[part]}"
            )


def _refuse_other_windows(one: Lifelong, other: Lifelong) -> None:
    """Refuse versions that learnt at other times: the same policy weighs other tests of theirs.

    Points of learning curves are versions by their cost alone.
    """
    if "cost" in one.offline.columns and "cost" in other.offline.columns:
        return
    mine, theirs = (system.learnt[np.isfinite(system.learnt)] for system in (one, other))
    if not np.array_equal(mine, theirs):
        said, told = (first_five(f"{t:g}" for t in times) or "never" for times in (mine, theirs))
        raise InputError(
            f"{one.name} and {other.name} have versions that learnt at other times ({said} against "
            f"{told}): each is scored from the first time that was learnt to its own, so that only "
            f"runs of the same life cycle can be compared"
        )
