"""Joining files: scores with a key by the ids of trials, trials with metadata by any column."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.table import refuse_repeated
from truecost.study.columns import Options


def join(scores: Table, key: Table, options: Options, role: str = "the key") -> Table:
    """Scores with the columns of the key, row by row in the order of the key.

    Parameters
    ----------
    role : str
        What the second table is, for messages.

    Returns
    -------
    Table
        Trials of the key without a score have empty cells, unless `missing` is "error". A column
        of both that agrees row by row (enroll, test) is kept once.

    Raises
    ------
    InputError
        When the ids are not the same set, or repeat, or a column of both differs.
    UsageError
        When there is no id column.
    """
    column = options.column("id", scores)
    if column is None:
        raise UsageError(f"{scores.source}: a key joins by id; {scores.listed}: --map id=COLUMN")
    left, right = scores.texts(column, "id"), key.texts(column, "id")
    for table, ids in ((scores, left), (key, right)):
        refuse_repeated(table.source, ids)
    places = _places(right, left)
    absent = right.filter(places.is_null()).fill_null("(empty)")
    if len(left) > len(right) - len(absent):  # ids do not repeat, so that counts tell
        known = left.is_in(right.implode()).fill_null(value=False)
        extra = left.filter(~known).fill_null("(empty)")
        raise InputError(
            f"{scores.source}: {counted(len(extra), 'id', 'are')} not in {role} {key.source}: "
            f"{first_five(extra)}"
        )
    if len(absent) and options.missing == "error":
        advice = ", or say --missing drop|worst" if role == "the key" else ""
        raise InputError(
            f"{scores.source}: {counted(len(absent), 'trial')} of {role} {key.source} without a "
            f"score: {first_five(absent)}; score them{advice}"
        )
    placed = scores.frame.drop(column).select(pl.all().gather(places))
    both = [name for name in placed.columns if name in key.frame.columns]
    for name in both:
        here, there = (t.texts(name, name) for t in (replace(scores, frame=placed), key))
        same = here.eq_missing(there) | places.is_null()
        _refuse_disagreement(scores, key, name, [right, here, there, same])
    first = pl.DataFrame({column: right})
    frame = pl.concat([first, placed.drop(both), key.frame.drop(column)], how="horizontal")
    matrices = {name: _rows(matrix, places) for name, matrix in scores.matrices.items()}
    return Table(
        f"{scores.source} with {key.source}",
        frame,
        key.matrices | matrices,
        layout=scores.layout,
        kind=scores.kind,
        ids=column,
    )


def _sides(table: Table, metadata: Table) -> str:
    """A hint where metadata of one side of a trial were looked up by the id of the trial."""
    if "enroll" not in table.columns:
        return ""
    return f"; to look up one side of a trial say --metadata enroll={metadata.source}"


def _places(wanted: pl.Series, known: pl.Series) -> pl.Series:
    """Row of each wanted value among known ones that do not repeat; null where there is none."""
    rows = pl.DataFrame({"value": known}).with_row_index("row")
    asked = pl.DataFrame({"value": wanted})
    return asked.join(rows, on="value", how="left", maintain_order="left")["row"]


def _rows(matrix: npt.NDArray[Any], places: pl.Series) -> npt.NDArray[Any]:
    """Rows of a matrix, NaN where there is none."""
    rows = matrix[places.fill_null(0).to_numpy()]
    return np.where(places.is_null().to_numpy()[:, None], np.nan, rows)


def _refuse_disagreement(
    scores: Table, key: Table, name: str, columns: Sequence[pl.Series]
) -> None:
    """Refuse a column of both whose values differ: how many rows, the first five, both values."""
    ids, here, there, same = columns
    rows = (~same).arg_true()
    if len(rows):
        examples = first_five(f"{ids[r]} ({here[r]!r}, {there[r]!r})" for r in rows.head(6))
        raise InputError(
            f"column {name!r} stands in both {scores.source} and {key.source} and differs in "
            f"{counted(len(rows), 'row')}: {examples}; rename it in one of them, or "
            f"leave it out there"
        )


def join_metadata(
    table: Table, metadata: Table, column: str = "id", id_column: str = "id"
) -> Table:
    """A table with the columns of a metadata file, looked up by the value of one column.

    Parameters
    ----------
    metadata : Table
        Its column `id`, or else that of the looked-up column's name, or else its first one, holds
        the values that are looked up. It may have more rows than are needed.
    column : str
        Column of the table whose values are looked up; "id" means the ids of the trials. Columns
        looked up by id keep their names; those looked up by another one (enroll, say) are named
        after it: `enroll.speaker`.
    id_column : str
        The column of the table that holds the ids.

    Raises
    ------
    UsageError
        When there is no such column, or a column of that name is there already.
    InputError
        When values repeat in the metadata, or are missing there.

    Examples
    --------
    Trials of pairs, with the speakers of both sides as units: look up `enroll` and `test`, then map
    `unit=enroll.speaker+test.speaker`.
    """
    by_id = column in ("id", id_column)
    column = id_column if by_id else column
    if column not in table.frame.columns:
        raise UsageError(
            f"{table.source}: there is no column {column!r} to look up in {metadata.source}; "
            f"{table.listed}: --metadata COLUMN={metadata.source}"
        )
    there = metadata.frame.columns
    by = next((name for name in ("id", column) if name in there), there[0])
    known, wanted = metadata.texts(by, by), table.texts(column, column)
    refuse_repeated(metadata.source, known.drop_nulls(), "each may name one row only")
    absent = wanted.filter(~wanted.is_in(known.implode()).fill_null(value=False))
    if len(absent):
        values = absent.fill_null("(empty)").unique(maintain_order=True)
        raise InputError(
            f"{table.source}: {counted(len(values), 'value')} of the column {column!r} without a "
            f"row in the column {by!r} of {metadata.source}: {first_five(values)}"
            + (_sides(table, metadata) if by_id else "")
        )
    found = metadata.frame.drop(by).select(pl.all().gather(_places(wanted, known)))
    if not by_id:
        found = found.rename(lambda name: f"{column}.{name}")
    clash = [name for name in found.columns if name in table.columns]
    if clash:
        raise UsageError(
            f"{metadata.source}: {named('column', clash)} would stand "
            f"twice, for {table.source} has them: rename them in one of the two"
        )
    return replace(table, frame=pl.concat([table.frame, found], how="horizontal"))
