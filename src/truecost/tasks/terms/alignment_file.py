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

import numpy as np
import polars as pl

from truecost.tasks.terms.records import Search

CORRECT, MISSED, FALSE, REJECTED = "CORR", "MISS", "FA", "CORR!DET"
COLUMNS = (
    *("language", "file", "channel", "termid", "term", "ref_bt", "ref_et"),
    *("sys_bt", "sys_et", "sys_score", "sys_decision", "alignment"),
)
DIGITS = 6  # of seconds: sums of decimals end in them


def alignment_of(search: Search) -> pl.DataFrame:
    """The alignment of a search.

    Parameters
    ----------
    search : Search

    Returns
    -------
    polars.DataFrame
        Columns `COLUMNS`, times in seconds, null where there is no target or no detection; sorted
        by query, file, channel and time (of the target where there is one).
    """
    reference, targets = search.reference, search.reference.targets
    rows = _rows(search)
    query, place, target, row = (rows[name] for name in ("query", "place", "target", "row"))
    submitted = pl.DataFrame(
        {
            "sys_bt": search.start,
            "sys_et": search.start + search.duration,
            "sys_score": search.score,
            "accepted": search.accepted,
        }
    )
    told = {
        "row": row,
        "channel": rows["channel"],
        "file": reference.documents["document"].gather(place),
        "termid": reference.queries["query"].gather(query),
        "term": _texts(reference.queries).gather(query),
        "ref_bt": targets["start"].gather(target),
        "ref_et": targets["end"].gather(target),
        **{name: submitted[name].gather(row) for name in submitted.columns},
    }
    return pl.DataFrame(told).select(
        pl.lit(search.reference.language).alias("language"),
        "file",
        "channel",
        "termid",
        "term",
        pl.col("ref_bt", "ref_et", "sys_bt", "sys_et").round(DIGITS),
        "sys_score",
        _decision(),
        _counts_as(),
    )


def _rows(search: Search) -> pl.DataFrame:
    """Rows of queries, documents, targets and detections (null for none), sorted; channels."""
    reference, targets = search.reference, search.reference.targets
    alone = np.flatnonzero(~search.found)
    target = np.append(search.target, alone).astype(np.int32)
    row = pl.int_range(len(search), dtype=pl.Int32, eager=True).extend_constant(None, len(alone))
    channels = pl.Series(search.channels, dtype=pl.String).gather(search.channel)
    place = np.append(search.place, targets["place"].gather(alone))
    rows = pl.DataFrame(
        {
            "query": np.append(search.query, targets["query"].gather(alone)),
            "file": reference.documents["document"].rle_id().gather(place),
            "channel": pl.concat([channels, targets["channel"].gather(alone)]),
            "time": np.append(search.start, np.zeros(len(alone))),
            "place": place,
            "target": pl.Series(target).replace(-1, None),
            "row": row,
        }
    )
    sought = targets["start"].gather(rows["target"])
    own = pl.when(sought.is_null()).then("time").otherwise(sought)
    return rows.sort("query", "file", "channel", own, "time", "row")


def _texts(queries: pl.DataFrame) -> pl.Series:
    """The text of each query, empty where it has none."""
    if "text" not in queries.columns:
        return pl.Series([""] * queries.height, dtype=pl.String)
    return queries["text"].fill_null("")


def _decision() -> pl.Expr:
    """YES or NO; null without a detection."""
    said = pl.when("accepted").then(pl.lit("YES")).otherwise(pl.lit("NO"))
    return pl.when(pl.col("row").is_not_null()).then(said).alias("sys_decision")


def _counts_as() -> pl.Expr:
    """What each row counts as."""
    accepted, sought = pl.col("accepted").fill_null(False), pl.col("ref_bt").is_not_null()
    with_target = pl.when(accepted).then(pl.lit(CORRECT)).otherwise(pl.lit(MISSED))
    without = pl.when(accepted).then(pl.lit(FALSE)).otherwise(pl.lit(REJECTED))
    return pl.when(sought).then(with_target).otherwise(without).alias("alignment")
