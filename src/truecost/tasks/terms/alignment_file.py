"""The alignment of a search as a table, with the columns of the reference scorer's alignment file.

    language,file,channel,termid,term,ref_bt,ref_et,sys_bt,sys_et,sys_score,sys_decision,alignment

A row is a detection, a target that nothing goes with, or both. `alignment` says what it counts as:

- `CORR`: a target and a YES;
- `MISS`: a target and a NO (with the times of both), or a target alone;
- `FA`: a YES alone;
- `CORR!DET`: a NO alone.

In segment and document units the times of a target are those of its segment or document, and
detections that do not count have no row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.tasks.terms.records import Search

COUNTS_AS = ("CORR!DET", "FA", "MISS", "CORR")  # by target (0, 1) and YES (0, 1)
DECISIONS = ("NO", "YES")
COLUMNS = (
    *("language", "file", "channel", "termid", "term", "ref_bt", "ref_et"),
    *("sys_bt", "sys_et", "sys_score", "sys_decision", "alignment"),
)
DIGITS = 6  # of seconds: sums of decimals end in them
Codes = npt.NDArray[np.int32] | npt.NDArray[Any] | pl.Series


def alignment_of(search: Search) -> pl.DataFrame:
    """The alignment of a search.

    Returns
    -------
    polars.DataFrame
        Columns `COLUMNS`, texts as categories (4 bytes a row), times in seconds, null where there
        is no target or no detection; sorted by query, file, channel and time (of the target where
        there is one).
    """
    reference, rows = search.reference, _rows(search)
    targets, row, sought = reference.targets, rows["row"], rows["target"]
    accepted = pl.Series(search.accepted).gather(row).cast(pl.Int32)
    counts_as = 2 * sought.is_not_null().cast(pl.Int32) + accepted.fill_null(0)
    ends = search.start + search.duration
    return pl.DataFrame(
        {
            "language": _named([reference.language], np.zeros(rows.height, np.int32)),
            "file": _named(reference.documents["document"], rows["place"]),
            "channel": _named(_channels(search), rows["channel"]),
            "termid": _named(reference.queries["query"], rows["query"]),
            "term": _named(_texts(reference.queries), rows["query"]),
            "ref_bt": targets["start"].gather(sought).round(DIGITS),
            "ref_et": targets["end"].gather(sought).round(DIGITS),
            "sys_bt": pl.Series(search.start).gather(row).round(DIGITS),
            "sys_et": pl.Series(ends).gather(row).round(DIGITS),
            "sys_score": pl.Series(search.score).gather(row),
            "sys_decision": _named(DECISIONS, accepted),
            "alignment": _named(COUNTS_AS, counts_as),
        }
    )


def _named(texts: Sequence[str] | pl.Series, codes: Codes) -> pl.Series:
    """The text of each code, as categories: a list has millions of rows."""
    return pl.Series(texts, dtype=pl.String).cast(pl.Categorical).gather(codes)


def _rows(search: Search) -> pl.DataFrame:
    """Sorted rows of numbers: of queries, documents, channels, targets and detections.

    There is a row for each detection and for each target that is left alone; null stands for no
    target and for no detection.
    """
    reference, targets = search.reference, search.reference.targets
    alone = np.flatnonzero(~search.found)
    row = pl.int_range(len(search), dtype=pl.Int32, eager=True).extend_constant(None, len(alone))
    channels = _channels(search).to_numpy()
    here, there = (np.searchsorted(channels, [*c]) for c in (search.channels, targets["channel"]))
    rows = pl.DataFrame(
        {
            "query": np.append(search.query, targets["query"].gather(alone)),
            "place": np.append(search.place, targets["place"].gather(alone)),
            "channel": np.append(here[search.channel], there[alone]).astype(np.int32),
            "time": np.append(search.start, np.zeros(len(alone))),
            "target": pl.Series(np.append(search.target, alone).astype(np.int32)).replace(-1, None),
            "row": row,
        }
    )
    file = reference.documents["document"].rle_id().gather(rows["place"])  # of several sources
    sought = targets["start"].gather(rows["target"])
    own = pl.when(sought.is_null()).then("time").otherwise(sought)
    return rows.sort("query", file, "channel", own, "time", "row").drop("time")


def _channels(search: Search) -> pl.Series:
    """The channels of detections and targets, sorted."""
    listed = pl.Series(search.channels, dtype=pl.String)
    return pl.concat([listed, search.reference.targets["channel"]]).unique().sort()


def _texts(queries: pl.DataFrame) -> pl.Series:
    """The text of each query, empty where it has none."""
    if "text" not in queries.columns:
        return pl.Series([""] * queries.height, dtype=pl.String)
    return queries["text"].fill_null("")
