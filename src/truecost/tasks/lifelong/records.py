"""`Lifelong`: the outputs of each version of a system on each test set, counted by item.

A *version* M_i is the model after adapting to the data of time l_i; M_0 is the initial one. Every
version is scored on every test set Y_t (`test`), and each on the data that it adapted to
(`stream`, the lifelong set). Where a person helped there are four *states* of the output: `base`
(before the help), `adapted` (after it), `impaired` and `corrected` (the base with what the person
corrected made strictly wrong, or put in place). All are additive statistics of items, counted once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.measure import Array, Floats
from truecost.errors import counted
from truecost.task import Rows
from truecost.tasks.lifelong.kinds import Kind

STATES = ("base", "adapted", "impaired", "corrected")
INITIAL = -np.inf  # when the initial version was learnt: before everything
OWN = ("id", "time")  # columns of the items; others come with them
TIME = "test time"
# What a person did about an item of a version: parts corrected, busy seconds, words put in, simple
# actions; what correcting all of it would take; and whether the final output is still wrong.
EFFORT = ("corrections", "seconds", "words", "actions", "all_parts", "all_words", "wrong")
SPENT = ("answers", "seconds", "words", "actions")  # of help away from both sets


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one data set (the test set or the lifelong set), as sums of each item and version.

    Attributes
    ----------
    times : tuple of str
        Names of the times of the data, ascending.
    at : ndarray of float64, shape (times,)
        Times as numbers; dates are days since 1970-01-01.
    items : polars.DataFrame
        Items sorted by time and id: `id`, `time` (position in `times`), and columns for units and
        subsets.
    rows : polars.DataFrame
        Counted outputs: `item` (row of `items`), `version`, `state` and `seed` (positions in the
        versions, `STATES` and the seeds).
    statistics : mapping of str to mapping of str to ndarray, shape (rows,)
        Sums of each row of `rows`, by part of the evidence (words, n-grams, ...) and name.
    effort : polars.DataFrame
        Work of the person: `item`, `version`, `seed` and the columns of `EFFORT`; `seconds` are
        null if not measured.
    right : tuple of tuple of str
        Correct outputs of each item; empty if unknown.
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
    """The outputs of all versions of one system on the test data of several times, ready for
    scoring.

    A version is the model after it adapted to the data of one time. Version M_i is version number
    i; M_0 is the initial version.

    Attributes
    ----------
    name : str
        Name of the system.
    kind : Kind
        Kind of the outputs (classes, transcripts, translation, diarization, or ready-made scores),
        and the scores that can be computed from such outputs.
    versions : tuple of str
        Names of the versions, in the order in which they were made.
    learnt : ndarray of float64, shape (versions,)
        Time l_i of the data to which each version adapted, ascending; minus infinity for the
        initial version. Dates are days since 1970-01-01.
    seeds : tuple of str
        Names of the runs (for example their seeds), sorted.
    test : Scored
        Outputs of each version on the test data of each time.
    stream : Scored, optional
        Outputs on the lifelong set, the data to which the versions adapted, in two states. `base`:
        output of version M_(i-1) on the data of time l_i, before the adaptation to these data.
        `adapted`: output of version M_i on these data, after this adaptation.
    offline : polars.DataFrame
        Offline help of people: with earlier items, after a batch of the lifelong set (events with
        the set `offline`). Scores are not penalised for this help. One row for each run and
        version.

        - `version`: the version that resulted from the help, as a position in `versions`.
        - `seed`: position in `seeds`.
        - `answers`, `words`, `actions`: numbers of answers, entered words and simple actions
          (edits).
        - `seconds`: active time of the person; null if any answer was not timed.
        - `cost`: cost of the help; replaces the numbers and the time if a learning curve was read
          from a table.
    experts : tuple of str
        Names of the people who helped. Only systems with the same people can be compared.
    about : mapping of str to str
        Further entries for the column `dims` of result rows; the only key is `strategy`.
    higher : bool, optional
        Whether higher scores are better, for tables of scores. None for logs of outputs, because
        the score determines the direction.
    units : mapping of str to ndarray, shape (items of the test set,)
        For each unit column: number of the unit of each test item. If empty, each item is a unit.
    signatures : mapping of str to str
        For each group of counts (such as `words`): settings of reading and counting, separated by
        `|`.
    problems : tuple of str
        Warnings about the data.
    no_penalty : str
        Reason why penalised scores are impossible, for example answers that only say "wrong";
        otherwise empty.
    spent : polars.DataFrame
        Resources of each run; empty if the logs contain none. On the test set, only the resources
        of the last version are included.

        - `seed`: position in `seeds`.
        - `seconds`: active time of people with data outside the test set; null if any answer was
          not timed.
        - `helped`: seconds of help with the lifelong set and of offline help, without the labels
          of the data from which the initial version learned.
        - `answers`, `words`: numbers of answers and entered words in this help.
        - `cpu`, `gpu`: seconds of computing; null if not recorded.
    took : mapping of str to float
        Resources of all runs together, measured outside the logs with `truecost resources`: `cpu`
        and `gpu` in hours, `memory` in GB-hours.
    timing : str
        Settings with which an annotation page measured the active time; empty if no page was used.
    guess : str
        `guess:shown` or `guess:hidden`: whether the annotation page showed the output of the
        system; `guess:hidden+shown` if only for some answers; empty if no page was used.
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
        """Numbers of versions, times and items as text."""
        found = {"version": len(self.versions), "time": len(self.test.times)}
        found |= {} if self.item == TIME else {self.item: len(self)}
        return ", ".join(counted(n, what) for what, n in found.items())

    @property
    def item(self) -> str:
        """Name of one scored item, in the singular: item, utterance, sentence, recording, or test
        time (for a matrix with one score for each time).
        """
        alone = 1 < len(self) == len(self.test.times)
        return TIME if alone and self.kind.name == "scores" else self.kind.item

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Test items and their times, as a tuple with one frame. The order of the rows has no
        meaning.
        """
        return (self.test.items.select("id").with_columns(self.frame["time"]),)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Statistics of the output of each version for each test item, as a tuple with one frame.

        The order of the rows has no meaning.
        """
        test = self.test
        of = {f"{p}.{n}": c for p, part in test.statistics.items() for n, c in part.items()}
        return (test.rows.hstack(pl.DataFrame(of)),)

    @property
    def helped(self) -> bool:
        """Whether a person helped on the test set, which penalised scores require."""
        return all(self.test.has(state) for state in STATES)

    @property
    def frame(self) -> pl.DataFrame:
        """Frame with one row for each test item: its time and the columns that can define
        subsets.
        """
        named = pl.Series("time", self.test.times).gather(self.test.items["time"])
        return self.test.items.drop(OWN).with_columns(time=named)

    def take(self, mask: npt.NDArray[np.bool_]) -> "Lifelong":
        """Record of a subset of the test items.

        Parameters
        ----------
        mask : ndarray of bool, shape (items of the test set,)
            True for the selected items.
        """
        units = {name: codes[mask] for name, codes in self.units.items()}
        return replace(self, test=self.test.take(mask), units=units)


def no_units(found: Lifelong, name: str) -> str:
    """A message: the items have no column of this name, with those they have."""
    known = ", ".join(c for c in found.test.items.columns if c not in OWN)
    said = f"the columns of the items are {known}" if known else "the items have no columns"
    return f"{found.name}: there is no column {name!r} for units; {said}"
