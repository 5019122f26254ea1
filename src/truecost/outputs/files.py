"""The files of one system of a task of items, read, and their rows where an item has several.

`Files` is what a task's `count` is given. Where an item is a recording, a document, and each row
of a file is something in it, `Files.rows` gives the rows of both sides and the items to score.
"""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from truecost.errors import InputError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import filled, refuse_rows
from truecost.names import Missing
from truecost.options import check_fields, check_keys
from truecost.outputs.items import Counting, Items, Lines
from truecost.study.tables import DataTable

Chosen = TypeVar("Chosen")
MICRO = 1_000_000
LATEST = 9e12  # seconds: beyond, microseconds are no whole numbers of 64 bits


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The reading of the files of a task; UsageError when a choice or a key is not known.

    Parameters
    ----------
    missing : {"error", "drop", "worst"}
        Treatment of items that a system lacks. `error`: refuse the system; `drop`: leave the items
        out; `worst`: count them as empty outputs.
    columns, reference_columns : mapping of str to str
        Column names by key, for the output and for the reference. Default: the keys themselves; in
        the reference, those of the output.
    """

    missing: Missing = "error"
    columns: Mapping[str, str] = field(default_factory=dict)
    reference_columns: Mapping[str, str] | None = None
    known: ClassVar[Collection[str]] = ()  # keys of columns
    tables: ClassVar[tuple[type, ...]] = ()  # that declare the further choices

    def __post_init__(self) -> None:
        check_keys({**self.columns, **(self.reference_columns or {})}, self.known)
        for table in (*self.tables, DataTable):
            check_fields(self, table)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of both sides of the items that are scored, sorted by item: a column for each key,
    times in whole microseconds.
    """

    ids: list[str]
    reference: pl.DataFrame
    output: pl.DataFrame
    problems: tuple[str, ...]

    def counted(
        self, count: Callable[[pl.DataFrame, pl.DataFrame], Mapping[str, int]], *by: str
    ) -> pl.DataFrame:
        """The results of `count` on the rows of the reference and of the output, for each item and
        each value of further keys of texts (`by`); columns `item`, those of the keys and of the
        statistics, sorted.
        """
        keys = [self.reference.columns[0], *by]
        sides = [side.partition_by(keys, as_dict=True) for side in (self.reference, self.output)]
        none = self.reference.clear()
        places = sorted({**sides[0], **sides[1]})
        found = [count(sides[0].get(p, none), sides[1].get(p, none)) for p in places]
        texts = pl.DataFrame(places, dict.fromkeys(("item", *by), pl.String), orient="row")
        names = count(none, none)  # which there are where nothing is counted
        return texts.with_columns(pl.Series(n, [f[n] for f in found], pl.Int64) for n in names)


@dataclass(frozen=True, kw_only=True, eq=False)
class Files:
    """The files of one system, and the choices by which they are counted.

    Attributes
    ----------
    item : str
        Noun of a counted item, in the singular.
    columns, reference_columns : mapping of str to str
        Column names by mapped key, in the output and in the references.
    missing : {"error", "drop", "worst"}
        Treatment of items that the output lacks, as in `FileOptions`.
    parts : frozenset of str
        Names of the evidence that the measures read.
    given, defaults : mapping of str to object
        Keys of the task's own table that were given, and its defaults.
    further : callable
        Function that returns the table of a further file, from its path and format.
    """

    name: str
    collection: str
    item: str
    output: Table
    references: tuple[Table, ...]
    columns: Mapping[str, str]
    reference_columns: Mapping[str, str]
    missing: Missing
    allow_duplicates: bool
    parts: frozenset[str]
    given: Mapping[str, Any]
    defaults: Mapping[str, Any]
    further: Callable[[str, str | None], Table]

    def items(
        self, counting: Counting, rows: Rows, counts: Mapping[str, pl.DataFrame], *described: object
    ) -> Items:
        """The items of the system, from what was counted of each: for each part a column `item` and
        one for each statistic, of which those of an item are added up. `described` are structs that
        the page draws beside the rows.
        """
        return Items(
            self.name,
            counting,
            np.array(rows.ids),
            {part: _by_item(frame, rows.ids) for part, frame in counts.items()},
            pl.DataFrame({counting.key: rows.ids}),
            signatures=dict.fromkeys(counts, self.signature),
            problems=rows.problems,
            show=partial(_lines, rows.ids, counts),
            described=described,
        )

    def chosen(self, make: Callable[..., Chosen], **further: Any) -> Chosen:
        """The choices for these files, as the options of a task hold them."""
        columns, theirs = self.columns, self.reference_columns
        return make(missing=self.missing, columns=columns, reference_columns=theirs, **further)

    @property
    def title(self) -> str:
        """The system, and its collection where there are several."""
        return ", ".join(filter(None, (self.name, self.collection)))

    @property
    def options(self) -> dict[str, Any]:
        """The keys of the task's own table, with their defaults."""
        return {**self.defaults, **self.given}

    @property
    def signature(self) -> str:
        """The choices that decide what is counted, separated by bars."""
        missing = {} if self.missing == "error" else {"missing": self.missing}
        return "|".join(f"{k}:{_choice_text(v)}" for k, v in {**self.options, **missing}.items())

    def rows(self, texts: Sequence[str], times: Sequence[str] = ()) -> Rows:
        """The rows of the reference and of the output, and the items that are scored.

        A row that holds the name of an item alone says that there is nothing in it.

        Parameters
        ----------
        texts : sequence of str
            Keys of columns of texts, the one that names the items first.
        times : sequence of str
            Keys of columns of moments in seconds, none of them before the one that it follows.
        """
        reference = self.references[0]
        sides = [
            _rows(table, columns, texts, times)
            for table, columns in ((reference, self.reference_columns), (self.output, self.columns))
        ]
        there, given = ({*side[texts[0]]} for side in sides)
        refuse_unknown(self.output, [reference], given - there, there - given, self.item)
        said = lacking_warning(self.output, reference, there - given, self.missing, self.item)
        ids = sorted(there & given if self.missing == "drop" else there)
        if not ids:
            raise InputError(f"{self.output.source}: no {self.item} is left to score")
        kept = [side.filter(pl.col(texts[0]).is_in(ids)).drop_nulls() for side in sides]
        return Rows(ids, kept[0], kept[1], said)


def _by_item(counts: pl.DataFrame, ids: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """The sums of every statistic of each item, 0 where nothing was counted."""
    sums = counts.group_by("item").agg(cs.numeric().sum())
    order = pl.DataFrame({"item": ids})
    found = order.join(sums, on="item", how="left", maintain_order="left").fill_null(0)
    return {name: found[name].to_numpy() for name in found.columns[1:]}


def _lines(ids: Sequence[str], counts: Mapping[str, pl.DataFrame], item: int) -> Lines:
    """The counts of an item as text, a line for each row."""
    found = []
    for frame in counts.values():
        own = frame.filter(pl.col("item") == ids[item]).drop("item")
        for row in own.rows(named=True):
            texts = [value for value in row.values() if isinstance(value, str)]
            said = [f"{name.replace('_', ' ')} {n}" for name, n in row.items() if n not in texts]
            found.append((" ".join(texts), ", ".join(said)))
    return tuple(found)


def _rows(
    table: Table, columns: Mapping[str, str], texts: Sequence[str], times: Sequence[str]
) -> pl.DataFrame:
    """Some columns of a table under the names of their keys; null in rows of an item alone."""
    named = {key: columns.get(key, key) for key in (*texts, *times)}
    first, *others = texts
    found = {first: filled(table, named[first], first)}
    found |= {key: table.texts(named[key], key) for key in others}
    seconds = {key: table.numbers(named[key], key) for key in times}
    frame = pl.DataFrame({**found, **seconds}).with_columns(pl.col(times).fill_nan(None))
    nothing = frame.select(pl.all_horizontal(pl.exclude(first).is_null())).to_series()
    cells = frame.filter(~nothing).null_count().row(0, named=True)
    if lacking := [key for key, n in cells.items() if n]:
        bad = (~nothing & frame[lacking[0]].is_null()).to_numpy()
        refuse_rows(table, bad, ("row", "have", f"no {lacking[0]}"), None)
    for key, values in seconds.items():
        bad = np.abs(values) > LATEST
        refuse_rows(table, bad, ("row", "have", f"{key} that is not a number of seconds"), None)
    for start, end in itertools.pairwise(times):
        late = seconds[end] < seconds[start]
        refuse_rows(table, late, ("row", "have", f"{end} before {start}"), None)
    return frame.with_columns((pl.col(times) * MICRO).round().cast(pl.Int64))


def _choice_text(value: Any) -> str:
    """A choice as signatures say it."""
    if isinstance(value, tuple):
        return "+".join(map(_choice_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def refuse_unknown(
    output: Table,
    known: Sequence[Table],
    unknown: Collection[str],
    lacking: Collection[str],
    item: str,
) -> None:
    """Refuse items that only the output has, `unknown` in what names items, with those that it
    lacks.
    """
    if not unknown:
        return
    sources = " or ".join(table.source for table in known)
    rest = first_five(sorted(lacking))
    without = f"; {output.source} has no output for {rest}" if lacking else ""
    raise InputError(
        f"{output.source}: {counted(len(unknown), item, 'are')} not in {sources}: "
        f"{first_five(sorted(unknown))}{without}; names must be the same"
    )


def lacking_warning(
    output: Table, reference: Table, lacking: Collection[str], missing: Missing, item: str
) -> tuple[str, ...]:
    """The warning about items without output, empty if there are none; InputError if they are an
    error.
    """
    if not lacking:
        return ()
    said = f"{counted(len(lacking), item)} of {reference.source} without output"
    examples = first_five(sorted(lacking))
    if missing == "error":
        raise InputError(
            f"{output.source}: {said}: {examples}; add them, or use --missing drop (leave them "
            "out) or --missing worst (count their output as empty)"
        )
    done = "left out" if missing == "drop" else "taken as empty output"
    return (f"{said}: {done} (--missing {missing}): {examples}",)
