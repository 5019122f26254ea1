"""Ids of an output held against those that are wanted: every fault of them, not only the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.mapped import refuse_repeated
from truecost.names import Missing
from truecost.outputs.text_columns import columns_of
from truecost.outputs.utterances import SEPARATOR, UNSCORED
from truecost.study.checks import Check, State

_MISSING = {False: "missing", True: "missing, which is right where nobody speaks"}


@dataclass(frozen=True)
class Naming:
    """What names the items of a task.

    Parameters
    ----------
    item : str
        In the singular, for messages.
    columns, reference_columns : mapping of str to str
        Column of each key in an output, and in what is wanted.
    key : str
        The key of the names of items: `id`, or `recording` of a diarization.
    rows : str
        The key that tells the rows of an item apart, where one has several.
    by : str, optional
        Columns that name an utterance in place of the id, joined by +.
    missing : {"error", "drop", "worst"}
        Whether an output may lack some.
    """

    item: str
    columns: Mapping[str, str]
    reference_columns: Mapping[str, str]
    key: str = "id"
    rows: str = ""
    by: str | None = None
    missing: Missing = "error"

    def column(self, table: Table, columns: Mapping[str, str]) -> str:
        """The column, or columns joined by +, that name the items of an output."""
        if self.by:
            return self.by
        if self.key != "id":
            return columns.get(self.key, self.key)
        return "recording" if table.format in ("ctm", "seglst") else columns.get("id", "id")


def check_ids(table: Table, wanted: Table | None, naming: Naming) -> list[Check]:
    """All that is wrong with the ids of an output.

    Parameters
    ----------
    table : Table
        The output.
    wanted : Table, optional
        What it has to hold: ids, or the columns that name items.

    Returns
    -------
    list of Check
        One that is "ok" when nothing is wrong.

    Raises
    ------
    UsageError
        When the output or what is wanted has no such column.
    """
    if table.format == "lines":
        return [] if wanted is None else [_as_many(table, wanted, naming)]
    *theirs, columns = columns_of(naming, [wanted] if wanted is not None else [], table)
    column = naming.column(table, columns)
    own = _names(table, column)
    if own is None:
        table.require(column.split(SEPARATOR)[0], "id")
        raise UsageError(f"{table.source}: {column} needs columns that it lacks; {table.listed}")
    once = not naming.rows and column == columns.get("id", "id")
    found = _own_faults(table, own, once=once)
    if wanted is not None:
        names = (naming.column(table, theirs[0]), theirs[0].get("id", "id"), "id")
        found += _other_faults(table, own.drop_nulls(), wanted, _wanted(wanted, names), naming)
    what = ", none empty" + (", none repeated" if once else "")
    if wanted is not None:
        what = f", all that {wanted.source} names and no other"
    said = f"{table.source}: {counted(own.n_unique(), naming.item)}{what}"
    return found or [Check("ids", "ok", said)]


def _as_many(table: Table, wanted: Table, naming: Naming) -> Check:
    """Texts without ids correspond line by line."""
    many = f"{table.source}: {counted(len(table), 'line')}"
    if len(table) == len(wanted):
        return Check("ids", "ok", f"{many}, one for each {naming.item} of {wanted.source}")
    said = f"{many} for the {counted(len(wanted), naming.item)} of {wanted.source}: one for each"
    return Check("ids", "error", said)


def _names(table: Table, column: str) -> pl.Series | None:
    """The names that a column, or several joined by +, give; None where there is no such column."""
    columns = column.split(SEPARATOR)
    if not set(columns) <= set(table.columns):
        return None
    texts = pl.DataFrame([table.texts(name, "id").alias(name) for name in columns])
    return texts.select(pl.concat_str(pl.all(), separator=SEPARATOR)).to_series()


def _own_faults(table: Table, own: pl.Series, *, once: bool) -> list[Check]:
    """Empty ids, and those that stand more than once where each may stand `once`."""
    found = []
    if own.null_count():
        said = f"{counted(own.null_count(), 'id', 'are')} empty, the first at "
        said += table.where(int(own.is_null().arg_true()[0]))
        found.append(Check("ids", "error", f"{table.source}: {said}"))
    rows = own.is_not_null().arg_true()
    try:
        if once:
            refuse_repeated(
                table.source, own[rows], "each has one text", lambda k: table.where(rows[k])
            )
    except InputError as error:
        found.append(Check("ids", "error", str(error)))
    return found


def _other_faults(
    table: Table, own: pl.Series, wanted: Table, known: pl.Series, naming: Naming
) -> list[Check]:
    """Ids that are not wanted, and those that are and are not there."""
    needed = known
    if wanted.format == "stm":  # what is not scored may be there or not
        needed = known.filter(wanted.frame["text"].str.to_uppercase() != UNSCORED)
    known, needed = known.drop_nulls(), needed.drop_nulls()
    extra = own.filter(~own.is_in(known.implode())).unique().sort()
    absent = needed.filter(~needed.is_in(own.implode())).unique().sort()
    found = []
    if len(extra):
        said = f"{counted(len(extra), naming.item, 'are')} not in {wanted.source}"
        found.append(Check("ids", "error", f"{table.source}: {said}: {first_five(extra)}"))
    if len(absent):
        rows = naming.reference_columns.get(naming.rows, naming.rows)
        silent = bool(rows) and rows not in wanted.columns
        state: State = "warning" if silent or naming.missing != "error" else "error"
        said = f"{counted(len(absent), naming.item)} of {wanted.source} {_MISSING[silent]}"
        found.append(Check("ids", state, f"{table.source}: {said}: {first_five(absent)}"))
    return found


def _wanted(wanted: Table, columns: Sequence[str]) -> pl.Series:
    """The ids that are wanted: those of the first column there is."""
    for column in columns:
        if (names := _names(wanted, column)) is not None:
            return names
    raise UsageError(f"{wanted.source}: there is no column {columns[0]!r}; {wanted.listed}")
