"""The score files and keys of NIST's speaker recognition evaluations (SRE).

Tab-separated columns with a header line, in any order. A system output has
`modelid segmentid side LLR` (LLR: natural logarithm of the likelihood ratio), a key has
`modelid segmentid side targettype` and columns that partition the trials (such as `gender` and
`num_enroll_segs`); `targettype` is target or nontarget. The first three columns name a trial.
Source: NIST SRE evaluation plans, "System Output" (since 2016).

A table has `id` (the three joined by blanks), `modelid`, `segmentid`, `side`, then `score` (LLR)
and `label` (targettype) where there are any, then the partition columns. As LLR says what the
scores are, the table's `kind` is "llr".
"""

from dataclasses import replace

import polars as pl

from truecost.errors import InputError, counted, first_five, named
from truecost.formats.table import Table
from truecost.formats.tables import read_columns
from truecost.formats.trial_lists import WORDS, is_number
from truecost.names import ScoreType

TRIAL = ("modelid", "segmentid", "side")
RENAMED = {"LLR": "score", "targettype": "label"}
FIRST = ("id", *TRIAL, "score", "label")


def is_header(names: list[str]) -> bool:
    """Whether the names of a TSV file are those of an SRE."""
    return {"modelid", "segmentid"} <= set(names)


def read_tsv(data: bytes, source: str) -> Table:
    """A table from the bytes of a score file or a key.

    Parameters
    ----------
    source : str
        Name for messages.

    Raises
    ------
    InputError
        When it is no TSV, lacks a column of the trial, or an LLR or a targettype is none.
    """
    return from_columns(read_columns(data, "tsv", source))


def from_columns(table: Table) -> Table:
    """A TSV table with the canonical names.

    Raises
    ------
    InputError
        When a column of the trial is missing, or an LLR or a targettype is none.
    """
    absent = [name for name in TRIAL if name not in table.columns]
    clash = [name for name in ("id", "score", "label") if name in table.columns]
    if absent or clash:
        names, what = (absent, "missing") if absent else (clash, "not expected")
        said = f"{named('column', names)} {what}"
        raise InputError(
            f"{table.source}, line 1: {said}; nist-sre has modelid, segmentid, side, then "
            f"LLR or targettype, then partitions; read any other columns with --input-format tsv"
        )
    header = " ".join(table.columns)
    frame = table.frame.rename(RENAMED, strict=False)
    for name, original in (("score", "LLR"), ("label", "targettype")):
        if name in frame.columns:
            _refuse(table, original, frame[name])
    frame = frame.with_columns(pl.concat_str(TRIAL, separator=" ", ignore_nulls=True).alias("id"))
    first = [name for name in FIRST if name in frame.columns]
    kind: ScoreType | None = "llr" if "score" in frame.columns else None
    frame = frame.select(*first, pl.exclude(first))
    layout = f"nist-sre: {header}"
    return replace(table, frame=frame, format="nist-sre", layout=layout, kind=kind)


def _refuse(table: Table, name: str, column: pl.Series) -> None:
    """Refuse LLRs that are no numbers, and labels of another set."""
    good = is_number(column) if name == "LLR" else column.is_in(list(WORDS))
    rows = (~good.fill_null(name == "LLR")).arg_true()
    if len(rows):
        expected = "numbers" if name == "LLR" else " or ".join(WORDS)
        examples = first_five(f"{column[r]!r} at {table.where(r)}" for r in rows.head(6))
        raise InputError(
            f"{table.source}: {counted(len(rows), 'value')} of {name}: {examples}; "
            f"{expected} were expected"
        )
