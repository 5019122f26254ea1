"""Joins of tables: scores with a key by trial ids, and trials with metadata by any column."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.compound import STEM, stem_hint
from truecost.formats.table import refuse_repeated
from truecost.formats.text import refuse_unnamed
from truecost.names import full_name
from truecost.study.columns import Options

A_PART = (
    "; if the key covers a part of the trials only, give the whole key with a column for the "
    "part and use --subset (in a study [subsets]), or remove the other ids from the files"
)


def join(scores: Table, key: Table, options: Options, role: str = "the key") -> Table:
    """Join scores with a key by trial id, in the order of the key.

    Parameters
    ----------
    scores, key : Table
        Table of scores, and table with labels, units and other columns.
    options : Options
        Meaning of the columns.
    role : str
        Name of the key in messages.

    Returns
    -------
    Table
        Columns of both tables. Trials without a score have empty cells; if `options.missing` is
        "error", they raise InputError. A column that is equal in both tables (enroll, test) occurs
        once.

    Raises
    ------
    InputError
        If the tables have different ids, an id repeats, or a column that both tables contain has
        different values.
    UsageError
        If there is no column of ids.
    """
    column = options.column("id", scores)
    if column is None:
        raise UsageError(
            f"{scores.source}: {scores.headless}a key needs ids, by which it is joined; "
            f"{scores.listed}: name the column of ids with --map id=COLUMN"
        )
    left, right = scores.texts(column, "id"), key.texts(column, "id")
    same = not left.null_count() and left.equals(right)  # in one order: nothing is joined
    for table, ids in ((scores, left), *(((key, right),) * (not same))):
        refuse_repeated(table.source, ids, where=table.where)
    places = pl.int_range(len(left), eager=True) if same else _places(right, left)
    absent = right.filter(places.is_null()).fill_null("(empty)")
    if len(left) > len(right) - len(absent):  # ids do not repeat, so that counts tell
        known = left.is_in(right.implode()).fill_null(value=False)
        extra = left.filter(~known).fill_null("(empty)")
        part = "" if len(absent) or role != "the key" else A_PART
        raise InputError(
            f"{scores.source}: {counted(len(extra), 'id', 'are')} not in {role} {key.source}: "
            f"{first_five(extra)}{stem_hint(extra, absent, {'id': column}) or part}"
        )
    if len(absent) and options.missing == "error":
        advice = ", or use --missing drop|worst" if role == "the key" else ""
        raise InputError(
            f"{scores.source}: {counted(len(absent), 'trial')} of {role} {key.source} without a "
            f"score: {first_five(absent)}; score them{advice}"
        )
    placed = scores.frame.drop(column)
    placed = placed if same else placed.select(pl.all().gather(places))
    both = [name for name in placed.columns if name in key.frame.columns]
    for name in (n for n in both if n != column.removesuffix(STEM)):
        here, there = (t.texts(name, name) for t in (replace(scores, frame=placed), key))
        rows = (~(here.eq_missing(there) | places.is_null())).arg_true()
        if len(rows):
            examples = first_five(f"{right[r]} ({here[r]!r}, {there[r]!r})" for r in rows.head(6))
            raise InputError(
                f"column {name!r} is in both {scores.source} and {key.source} and differs in "
                f"{counted(len(rows), 'row')}: {examples}; rename it in one of them, or leave it "
                f"out there"
            )
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


def _places(wanted: pl.Series, known: pl.Series) -> pl.Series:
    """Row of each wanted value among known unique ones; null for an unknown value."""
    rows = pl.DataFrame({"value": known}).with_row_index("row")
    asked = pl.DataFrame({"value": wanted})
    return asked.join(rows, on="value", how="left", maintain_order="left")["row"]


def _rows(matrix: npt.NDArray[Any], places: pl.Series) -> npt.NDArray[Any]:
    """Rows of a matrix, NaN for a missing one."""
    rows = matrix[places.fill_null(0).to_numpy()]
    return np.where(places.is_null().to_numpy()[:, None], np.nan, rows)


def join_metadata(
    table: Table, metadata: Table, column: str = "id", id_column: str = "id"
) -> Table:
    """Add the columns of a metadata table, looked up by the values of one column.

    Parameters
    ----------
    table : Table
        Table to which columns are added.
    metadata : Table
        Table in which the values are looked up: in its column `id`, or else in the column that
        `column` names, or else in its first column. It may contain more rows than needed.
    column : str
        Column of `table` whose values are looked up. Default: the ids.

        - `id`: the new columns keep their names.
        - Another column, such as `enroll`: the new names begin with it (`enroll.speaker`).
        - `enroll.age`, if `table` has no column of this name: the values of `enroll` are looked up.
          The metadata must have only one other column, which gets the name `enroll.age`. With
          `id.age`, its name is `age`.

        A short name such as `speaker` stands for the only column of `table` that ends with
        `.speaker`.
    id_column : str
        Column of `table` with the ids.

    Returns
    -------
    Table
        Table with the added columns.

    Raises
    ------
    UsageError
        If the column does not exist, or a new column has the name of an existing one.
    InputError
        If a value has several rows in the metadata, or none.
    """
    column, name = _looked_up(table, metadata, column, id_column)
    asked, file = "id" if column == id_column else column, metadata.source
    there = metadata.frame.columns
    by = next((name for name in ("id", column) if name in there), there[0])
    known, wanted = metadata.texts(by, by), table.texts(column, column)
    rows = known.is_not_null().arg_true()
    refuse_repeated(
        file,
        known.drop_nulls(),
        "each id has one row: keep one of them",
        lambda row: metadata.where(int(rows[row])),
        mapped=False,
    )
    absent = wanted.filter(~wanted.is_in(known.implode()).fill_null(value=False))
    if len(absent):
        values = absent.fill_null("(empty)").unique(maintain_order=True)
        hint = stem_hint(values, known, {"id": column})
        if "enroll" in table.columns:
            hint = f"; to look up a side of a trial use --metadata enroll={file} or test={file}"
        raise InputError(
            f"{file}: the column {by!r} lacks {counted(len(values), 'value')} of the column "
            f"{column!r} of {table.source}: {first_five(values)}; add rows for all of them"
            f"{hint if asked == 'id' else ''}"
        )
    found = metadata.frame.drop(by).select(pl.all().gather(_places(wanted, known)))
    if name:
        if found.width != 1:
            raise UsageError(
                f"{file}: --metadata {column}.{name}= names one column, and the file has "
                f"{', '.join(found.columns)} beside {by}: use --metadata {column}={file}, and "
                f"the new columns are {column}.NAME"
            )
        found.columns = [name]
    else:
        refuse_unnamed(metadata, asked)
    if asked != "id":
        found = found.rename(lambda name: f"{column}.{name}")
    clash = [name for name in found.columns if name in table.columns]
    if clash:
        how = f"give another name with --metadata {asked}.NAME={file}"
        how = how if found.width == 1 else "give other names in one of the two files"
        raise UsageError(f"{file}: {named('column', clash, 'are')} in {table.source} too: {how}")
    return replace(table, frame=pl.concat([table.frame, found], how="horizontal"))


def _looked_up(table: Table, metadata: Table, asked: str, id_column: str) -> tuple[str, str]:
    """The column with the wanted metadata, and the name of the new column, if one is given."""
    known = table.frame.columns
    for column, name in ((asked, ""), asked.rpartition(".")[::2]):
        found = id_column if column == "id" else full_name(column, known)
        if found in known:
            return found, name
    raise UsageError(
        f"{table.source}: there is no column {asked!r} to look up in {metadata.source}; "
        f"{table.listed}: use --metadata COLUMN={metadata.source}, or "
        f"COLUMN.NAME={metadata.source}, "
        f"which names the new column"
    )
