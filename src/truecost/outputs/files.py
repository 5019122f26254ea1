"""The files of one system of a task of items, read, and their rows where an item has several.

`Files` is what a task's `count` is given. Where an item is a recording, a document, and each row
of a file is something in it, `Files.rows` gives the rows of both sides and the items to score.
"""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from truecost.errors import InputError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import filled, refuse_rows
from truecost.names import Missing
from truecost.outputs.items import Counting, Items, Lines

MICRO = 1_000_000
LATEST = 9e12  # seconds: beyond, microseconds are no whole numbers of 64 bits


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of both sides of the items that are scored.

    Attributes
    ----------
    ids : list of str
        The items, sorted.
    reference, output : polars.DataFrame
        A column for each key; times are whole microseconds.
    problems : tuple of str
        What a reader should know.
    """

    ids: list[str]
    reference: pl.DataFrame
    output: pl.DataFrame
    problems: tuple[str, ...]

    def counted(
        self, count: Callable[[pl.DataFrame, pl.DataFrame], Mapping[str, int]], *by: str
    ) -> pl.DataFrame:
        """What there is of each item, and of each value of further keys.

        Parameters
        ----------
        count : callable
            From the rows of the reference and of the output to statistics.
        by : str
            Keys of texts.

        Returns
        -------
        polars.DataFrame
            Columns `item`, those of the keys, and a column for each statistic; sorted.
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
    """The files of one system, and how to count them.

    Attributes
    ----------
    name : str
        Name of the system.
    collection : str
        Where it is scored; empty where there is one collection.
    item : str
        What it is counted by, in the singular.
    columns, reference_columns : mapping of str to str
        Column of each key that is mapped, in the output and in the references.
    missing : {"error", "drop", "worst"}
        What to do with items that the output lacks.
    parts : frozenset of str
        What the measures read.
    given : mapping of str to object
        The keys of the task's own table that were given.
    defaults : mapping of str to object
        Its defaults.
    further : callable
        From a path, and its format, to the table of a further file.
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
        self,
        counting: Counting,
        rows: Rows,
        counts: Mapping[str, pl.DataFrame],
        *described: object,
    ) -> Items:
        """The items of the system, from what was counted of each.

        Parameters
        ----------
        counts : mapping of str to polars.DataFrame
            For each part a column `item` and one for each statistic, of which those of an item are
            added up.
        *described : Struct
            What the page draws beside the rows.
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
        return "|".join(f"{k}:{_shown(v)}" for k, v in {**self.options, **missing}.items())

    def rows(self, texts: Sequence[str], times: Sequence[str] = ()) -> Rows:
        """The rows of the reference and of the output, and the items that are scored.

        A row that holds the name of an item alone says that there is nothing in it.

        Parameters
        ----------
        texts : sequence of str
            Keys of columns of texts, the one that names the items first.
        times : sequence of str
            Keys of columns of moments in seconds, none of them before the one that it follows.

        Raises
        ------
        UsageError
            When there is no such column.
        InputError
            When a cell is empty or no number, a moment is before the one that it follows, the
            output has items that the reference lacks, or the reverse and `missing` is "error".
        """
        reference = self.references[0]
        sides = [
            _rows(table, columns, texts, times)
            for table, columns in (
                (reference, self.reference_columns),
                (self.output, self.columns),
            )
        ]
        there, given = ({*side[texts[0]]} for side in sides)
        refuse_unknown(self.output, [reference], given - there, there - given, self.item)
        said = lacking_said(self.output, reference, there - given, self.missing, self.item)
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
    """What was counted of an item, a line for each row of its counts."""
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
        refuse_rows(table, bad, ("row", "have", f"{key} that is no number of seconds"), None)
    for start, end in itertools.pairwise(times):
        late = seconds[end] < seconds[start]
        refuse_rows(table, late, ("row", "have", f"{end} before {start}"), None)
    return frame.with_columns((pl.col(times) * MICRO).round().cast(pl.Int64))


def _shown(value: Any) -> str:
    """A choice as signatures say it."""
    if isinstance(value, tuple):
        return "+".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def refuse_unknown(
    output: Table,
    known: Sequence[Table],
    unknown: Collection[str],
    lacking: Collection[str],
    item: str,
) -> None:
    """Refuse items that only the output has: InputError.

    Parameters
    ----------
    known : sequence of Table
        What names items.
    unknown, lacking : collection of str
        What the output has too much, and what it lacks.
    item : str
        What an item is, in the singular.
    """
    if not unknown:
        return
    sources = " or ".join(table.source for table in known)
    without = f"; without output are {first_five(sorted(lacking))}" if lacking else ""
    raise InputError(
        f"{output.source}: {counted(len(unknown), item, 'are')} not in {sources}: "
        f"{first_five(sorted(unknown))}{without}; names must be the same"
    )


def lacking_said(
    output: Table, reference: Table, lacking: Collection[str], missing: Missing, item: str
) -> tuple[str, ...]:
    """What to say of items without output; InputError when they are an error.

    Parameters
    ----------
    missing : {"error", "drop", "worst"}
    item : str
        What an item is, in the singular.

    Returns
    -------
    tuple of str
        Empty when nothing is lacking.
    """
    if not lacking:
        return ()
    said = f"{counted(len(lacking), item)} of {reference.source} without output"
    examples = first_five(sorted(lacking))
    if missing == "error":
        raise InputError(
            f"{output.source}: {said}: {examples}; add them, or say --missing drop (leave them "
            f"out) or --missing worst (take their output as empty)"
        )
    done = "left out" if missing == "drop" else "taken as empty output"
    return (f"{said}: {done} (--missing {missing}): {examples}",)
