"""Segments: who speaks when, in whole microseconds, from tables of recordings and times.

Tables have the columns `recording`, `start` and `end` (seconds); who speaks has `speaker`; there
may be a `channel` and a `type`. Of the types only SPEAKER is speech, and NOSCORE in the reference
is left out of scoring; NON-LEX (a laugh, a breath) is counted and scored as the rest is, where
md-eval leaves it out; the others of RTTM say nothing of speech.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats import Table
from truecost.formats.rttm import LEFT_OUT, ROWS
from truecost.formats.segments import FIXED, segments_of
from truecost.tasks.columns import filled, refuse_rows

Ints = npt.NDArray[np.int64]

MICRO = 1_000_000  # microseconds of a second
LATEST = 1e10  # seconds; beyond any clock, and sums of such times still fit into 64 bits
SPEECH, UNSCORED, NOISES = "SPEAKER", "NOSCORE", "NON-LEX"  # types of RTTM
NO_NAME = "<NA>"


@dataclass(frozen=True, eq=False)
class Spans:
    """Stretches of time of items, sorted by item.

    Attributes
    ----------
    items : ndarray of int64, shape (M,)
        The place of the item.
    starts, ends : ndarray of int64, shape (M,)
        Microseconds.
    """

    items: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.items)

    def of(self, item: int) -> slice:
        """Where the stretches of an item are."""
        first, last = np.searchsorted(self.items, [item, item + 1])
        return slice(int(first), int(last))

    def plus(self, other: "Spans") -> "Spans":
        """These stretches and others; they may overlap."""
        items = np.concatenate([self.items, other.items])
        order = np.argsort(items, kind="stable")
        starts = np.concatenate([self.starts, other.starts])[order]
        ends = np.concatenate([self.ends, other.ends])[order]
        return Spans(items[order], starts, ends)

    def merged(self, gap: int = 0) -> "Spans":
        """One stretch for those of an item that overlap, touch or lie less than `gap` apart."""
        return Spans(*merge(self.items, self.starts, self.ends, gap))


@dataclass(frozen=True, eq=False)
class Speech:
    """Who speaks when; no speaker overlaps or touches himself.

    Attributes
    ----------
    spans : Spans
        Sorted by item and speaker.
    who : ndarray of int64, shape (M,)
        The number of the speaker in the item.
    first : ndarray of int64, shape (items + 1,)
        Where the speakers of each item begin.
    names : ndarray of str, shape (speakers,)
        Sorted by item, then name.
    """

    spans: Spans
    who: Ints
    first: Ints
    names: npt.NDArray[Any]

    @staticmethod
    def of(rows: pl.DataFrame, items: Ints, size: int) -> "Speech":
        """Speech of the rows of a table.

        Parameters
        ----------
        rows : polars.DataFrame
            With `speaker`, `start` and `end`, as `rows_of` gives them.
        items : ndarray of int64, shape (rows,)
            The item of each row.
        size : int
            How many items there are.

        Returns
        -------
        Speech
        """
        labels = rows["speaker"].unique().sort()
        codes = rows["speaker"].cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64)
        pairs, groups = np.unique(items * max(len(labels), 1) + codes, return_inverse=True)
        owner, label = np.divmod(pairs, max(len(labels), 1))
        first = np.searchsorted(owner, np.arange(size + 1))
        found, starts, ends = merge(
            groups.astype(np.int64), rows["start"].to_numpy(), rows["end"].to_numpy()
        )
        spans = Spans(owner[found], starts, ends)
        return Speech(spans, found - first[spans.items], first, labels.to_numpy()[label])

    @property
    def speakers(self) -> Ints:
        """How many speakers each item has; int64 (items,)."""
        return np.diff(self.first)

    def joined(self, gap: int) -> "Speech":
        """All speakers as one, gaps shorter than `gap` filled."""
        spans, size = self.spans.merged(gap), len(self.first) - 1
        return Speech(
            spans, np.zeros(len(spans), np.int64), np.arange(size + 1), np.full(size, "speech")
        )

    def collars(self, width: int) -> Spans:
        """Zones of `width` on each side of every boundary; none for no width."""
        if width == 0:
            return Spans(*(np.zeros(0, np.int64) for _ in range(3)))
        items = np.tile(self.spans.items, 2)
        edges = np.concatenate([self.spans.starts, self.spans.ends])
        order = np.argsort(items, kind="stable")
        return Spans(items[order], edges[order] - width, edges[order] + width)


def merge(groups: Ints, starts: Ints, ends: Ints, gap: int = 0) -> tuple[Ints, Ints, Ints]:
    """Group, start and end of what is left when near segments of a group become one.

    Parameters
    ----------
    groups, starts, ends : ndarray of int64, shape (N,)
    gap : int
        Segments of a group that overlap, touch, or lie less than this apart are merged.

    Returns
    -------
    groups, starts, ends : ndarray of int64, shape (M,)
        Sorted by group, then start.
    """
    from truecost.kernels.diarization import merge as kernel

    order = np.lexsort((starts, groups))
    into = tuple(np.empty(len(groups), np.int64) for _ in range(3))
    found = kernel(groups[order], starts[order], ends[order], gap, *into)
    return into[0][:found], into[1][:found], into[2][:found]


def turns_of(table: Table, columns: Mapping[str, str]) -> Table:
    """A reference or an output as segments of speakers, its mapped columns under their names.

    Parameters
    ----------
    table : Table
    columns : mapping of str to str
        Column of each key of `SEGMENT_MAP_KEYS` that is mapped; RTTM and SegLST have their own.

    Returns
    -------
    Table

    Raises
    ------
    UsageError
        When a mapped column is missing.
    InputError
        When it is a UEM, or a row is invalid.
    """
    if table.format == "uem":
        raise InputError(
            f"{table.source}: is a uem, regions that are scored, and says nothing of speakers: "
            f"give it with --uem, and segments of speakers (rttm, say) in its place"
        )
    return table if table.format in FIXED else segments_of(table, columns)


def rows_of(table: Table, noun: str = "segment", speaker: bool = True) -> pl.DataFrame:
    """The checked rows of a table, times in whole microseconds.

    Parameters
    ----------
    table : Table
    noun : str
        What a row is, for messages.
    speaker : bool
        Whether rows have a speaker.

    Returns
    -------
    polars.DataFrame
        recording, channel, type, start, end and, if asked for, speaker.

    Raises
    ------
    UsageError
        When a column is missing.
    InputError
        When a cell is empty, a time is no number, or a row ends before it starts; with lines.
    """
    columns = {"recording": filled(table, "recording", "recording")}
    columns["channel"] = _texts(table, "channel", "")
    columns["type"] = _texts(table, "type", SPEECH).str.to_uppercase()
    unknown = ~columns["type"].is_in([*ROWS, *LEFT_OUT])
    refuse_rows(table, unknown.to_numpy(), (noun, "have", "a type that RTTM has not"), None)
    if speaker:
        names = table.texts("speaker", "speaker")
        nobody = names.is_null() & (columns["type"] == SPEECH)
        refuse_rows(table, nobody.to_numpy(), (noun, "have", "no speaker"), None)
        columns["speaker"] = names
    starts, ends = (table.numbers(name, name) for name in ("start", "end"))
    for times in (starts, ends):
        bad = ~(np.abs(times) <= LATEST)
        refuse_rows(
            table,
            bad,
            (noun, "have", "a time that is missing or no number of seconds"),
            None,
            times,
        )
    refuse_rows(table, ends < starts, (noun, "end", "before its start"), None)
    for name, times in (("start", starts), ("end", ends)):
        columns[name] = pl.Series(np.rint(times * MICRO).astype(np.int64))
    return pl.DataFrame(columns)


def _texts(table: Table, name: str, default: str) -> pl.Series:
    """A column that need not be there, nor be filled."""
    if name not in table.columns:
        return pl.repeat(default, len(table), dtype=pl.String, eager=True)
    return table.texts(name, name).fill_null(default)


def lasting(rows: pl.DataFrame, source: str, noun: str) -> tuple[pl.DataFrame, list[str]]:
    """Rows that last, and what to say about the others."""
    kept = rows.filter(pl.col("end") > pl.col("start"))
    lost = len(rows) - len(kept)
    said = f"{counted(lost, noun)} of {source} {'has' if lost == 1 else 'have'} no length: left out"
    return kept, [said] if lost else []
