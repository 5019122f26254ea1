"""The work of all tasks of items: files are checked as for scoring, read, counted and scored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import msgspec
import numpy as np
import polars as pl

from truecost.errors import InputError, TruecostError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import refuse_repeated
from truecost.formats.transcripts import read_ids
from truecost.outputs import read as reading
from truecost.outputs.files import Files
from truecost.outputs.items import Counting, Items, batches, measures_for, pair_items
from truecost.outputs.normalising import columns_of
from truecost.outputs.utterances import SEPARATOR, UNSCORED
from truecost.study.config import Study
from truecost.study.outcome import Part
from truecost.study.settings import Reader, Source
from truecost.study.tables import DataTable
from truecost.study.validation import Check, State
from truecost.task import Work

_MISSING = {False: "missing", True: "missing, which is right where nobody speaks"}


def _item_column(
    of: reading.Itemised, by: str | None, table: Table, columns: Mapping[str, str]
) -> str:
    """The column, or columns joined by +, that name the items of an output; `by` in place of the
    id.
    """
    if by or (key := of.counting.key) != "id":
        return by or columns.get(key, key)
    return "recording" if table.format in ("ctm", "seglst") else columns.get("id", "id")


def _checked_ids(
    of: reading.Itemised, source: Source, by: str | None, table: Table, wanted: Table | None
) -> list[Check]:
    """All that is wrong with the ids of an output, or one check that is "ok".

    `wanted` is what it has to hold: ids, or the columns that name items.
    """
    item = of.counting.item
    if table.format == "lines":
        return [] if wanted is None else [_line_check(table, wanted, item)]
    known = [] if wanted is None else [wanted]
    *theirs, columns = columns_of(known, reading.reference_map(source), table, source.data.map)
    column = _item_column(of, by, table, columns)
    own = _names(table, column)
    if own is None:
        table.require(column.split(SEPARATOR)[0], "id")
        raise UsageError(
            f"{table.source}: the name {column} needs columns that this table lacks; {table.listed}"
        )
    once = not of.counting.rows and column == columns.get("id", "id")
    found = _own_faults(table, own, once=once)
    what = ", none empty" + (", none repeated" if once else "")
    what += "; not compared with other ids (--reference or --ids FILE)" * (wanted is None)
    if wanted is not None:
        names = (_item_column(of, by, table, theirs[0]), theirs[0].get("id", "id"), "id")
        ids = own.drop_nulls(), _wanted_ids(wanted, names)
        found += _other_faults(of, source, table, wanted, ids)
        what = f", exactly those of {wanted.source}"
    said = f"{table.source}: {counted(own.n_unique(), item)}{what}"
    return found or [Check("ids", "ok", said)]


def _line_check(table: Table, wanted: Table, item: str) -> Check:
    """Texts without ids correspond line by line."""
    many = f"{table.source}: {counted(len(table), 'line')}"
    if len(table) == len(wanted):
        return Check("ids", "ok", f"{many}, one for each {item} of {wanted.source}")
    said = f"{many} for the {counted(len(wanted), item)} of {wanted.source}: one for each"
    return Check("ids", "error", said)


def _names(table: Table, column: str) -> pl.Series | None:
    """The names that a column, or several joined by +, give; None where there is no such column."""
    columns = column.split(SEPARATOR)
    if not set(columns) <= set(table.columns):
        return None
    texts = pl.DataFrame([table.texts(name, "id").alias(name) for name in columns])
    return texts.select(pl.concat_str(pl.all(), separator=SEPARATOR)).to_series()


def _own_faults(table: Table, own: pl.Series, *, once: bool) -> list[Check]:
    """Empty ids, and those that occur more than once where each may stand `once`."""
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
    of: reading.Itemised,
    source: Source,
    table: Table,
    wanted: Table,
    ids: tuple[pl.Series, pl.Series],
) -> list[Check]:
    """Ids that are not wanted, and those that are and are not there, of those that a file has and
    those that are known.
    """
    own, known = ids
    needed = known
    if wanted.format == "stm":  # what is not scored may be there or not
        needed = known.filter(wanted.frame["text"].str.to_uppercase() != UNSCORED)
    known, needed = known.drop_nulls(), needed.drop_nulls()
    item, rows = of.counting.item, of.counting.rows
    extra = own.filter(~own.is_in(known.implode())).unique().sort()
    absent = needed.filter(~needed.is_in(own.implode())).unique().sort()
    found = []
    if len(extra):
        said = f"{counted(len(extra), item, 'are')} not in {wanted.source}"
        found.append(Check("ids", "error", f"{table.source}: {said}: {first_five(extra)}"))
    if len(absent):
        rows = reading.reference_map(source).get(rows, rows)
        silent = bool(rows) and rows not in wanted.columns
        may_lack = silent or source.data.missing not in (None, "error")
        state: State = "warning" if may_lack else "error"
        said = f"{counted(len(absent), item)} of {wanted.source} {_MISSING[silent]}"
        found.append(Check("ids", state, f"{table.source}: {said}: {first_five(absent)}"))
    return found


def _wanted_ids(wanted: Table, columns: Sequence[str]) -> pl.Series:
    """The ids that are wanted: those of the first column there is."""
    for column in columns:
        if (names := _names(wanted, column)) is not None:
            return names
    raise UsageError(
        f"{wanted.source}: a list of ids needs a column {columns[0]!r}; {wanted.listed}"
    )


def unjudged_items(study: Study, ids: str | None) -> Study:
    """A study that may lack its reference, as a whole one: nothing else may be wrong with it."""
    alone = _lacks_reference(study)
    if ids is not None and not alone:
        raise UsageError("--ids is used instead of --reference: give one of them")
    named = msgspec.structs.replace(study.data, reference=("none",))
    return msgspec.structs.replace(study, data=named) if alone else study


def _lacks_reference(study: Study) -> bool:
    return not study.data.reference and not study.collections


def checks_of_items(
    of: reading.Itemised, source: Source, reader: Reader, study: Study, ids: str | None
) -> list[Check]:
    """All checks of an output; without a reference it is read, and held against ids."""
    alone, wanted = _lacks_reference(study), None
    if alone and ids is not None:
        form = study.data.reference_format
        wanted = reader.held.get(ids) or reader.once(
            ("ids", ids), lambda: read_ids(ids, form, reader.task)
        )
    if alone:
        reading.check_maps(source.data, of.counting.task)
    table, found = _read(of, source, reader)
    if table is None:
        return found
    if not alone:
        return [*found, *_with_reference(of, table, source, reader, study)]
    found += _ids(of, table, wanted, source, study)
    if column := source.data.map.get("unit"):  # it stands in the reference, or beside it
        said = f"{source.file}: --map unit={column} is not checked: no reference is given"
        found.append(Check("units", "ok", said))
    return found


def _read(of: reading.Itemised, source: Source, reader: Reader) -> tuple[Table | None, list[Check]]:
    """The file of a system, and what is to be said of it."""
    try:
        table = reading.read_output(source, reader)
        of.refuse(table, source.data)
    except TruecostError as error:
        return None, [Check("file", "error", str(error))]
    read = f"{table.source}: {counted(len(table), 'row')} read"
    return table, [Check("file", "ok", f"{read} as {table.layout}" if table.layout else read)]


def _with_reference(
    of: reading.Itemised, table: Table, source: Source, reader: Reader, study: Study
) -> list[Check]:
    """The file held against the reference of a study, as scoring holds it."""
    if of.checked and not study.measures:  # which are asked for is not known yet
        study = msgspec.structs.replace(study, measures=of.checked)
    try:
        items = reading.read_items(of, source, reader, study)
    except TruecostError as error:
        faults = _faults(of, table, source, reader, study)
        return faults if len(faults) > 1 else [Check("reference", "error", str(error))]
    said = f"{table.source}: {counted(len(items), items.counting.item)} as in the reference"
    notes = [Check("reference", "warning", f"{table.source}: {text}") for text in items.problems]
    return [Check("reference", "ok", said), *notes]


def _faults(
    of: reading.Itemised, table: Table, source: Source, reader: Reader, study: Study
) -> list[Check]:
    """All that is wrong with the ids, where scoring stops at the first of it."""
    if of.counting.rows:
        return []
    try:
        wanted = reader.table(source.data.reference[0], source.data.reference_format)
    except TruecostError:
        return []
    return [check for check in _ids(of, table, wanted, source, study) if check.state == "error"]


def _ids(
    of: reading.Itemised, table: Table, wanted: Table | None, source: Source, study: Study
) -> list[Check]:
    """The ids of a file, held against those that are wanted."""
    by = study.given(of.counting.task).get(of.named_by)
    try:
        return _checked_ids(of, source, by, table, wanted)
    except TruecostError as error:
        return [Check("ids", "error", str(error))]


def item_work(
    counting: Counting,
    count: Callable[[Files], Items],
    *,
    page: str,
    several: bool = False,
    refuse: Callable[[Table, DataTable], None] = reading.no_faults,
    named_by: str = "",
    checked: tuple[str, ...] = (),
    descriptions: tuple[str, ...] = (),
    check: Callable[[Study], None] | None = None,
) -> Work[Items]:
    """The work of a task of items. `refuse`, `named_by` and `checked` are passed to `Itemised`.

    Parameters
    ----------
    page : str
        Place of its page, `module:NAME`.
    several : bool
        Whether an output may have several references.
    descriptions : tuple of str
        Places of the types that describe items (`Items.described`), `module:NAME`.
    check : callable, optional
        Check of the words in the options of a study; raises UsageError for an unknown word.
    """
    of = reading.Itemised(
        counting=counting, count=count, refuse=refuse, named_by=named_by, checked=checked
    )
    return Work(
        check=partial(check_references, several=several, own=check),
        read=partial(reading.read_items, of),
        pair=pair_items,
        measures=measures_for,
        defaults=lambda _: counting.measures,
        count=batches,
        same=same_counts,
        apart=True,
        advise=True,
        cases=reading.worst_of,
        unjudged=unjudged_items,
        checks=partial(checks_of_items, of),
        describe=_described,
        descriptions=descriptions,
        page=page,
    )


def _described(part: Part, _study: Study) -> Part:
    """A part with what its items are described by."""
    found = (d for items in part.systems if isinstance(items, Items) for d in items.described)
    return replace(part, described=(*part.described, *found))


def check_references(
    study: Study, *, several: bool, own: Callable[[Study], None] | None = None
) -> None:
    """A reference for each collection, and only one unless several are known: UsageError.

    The checks of the task's `own` options come first: they need no reference.
    """
    if own is not None:
        own(study)
    for name in study.collections or ("",):
        data = study.collections.get(name, DataTable()).over(study.data)
        where = f" for {name}" if name else ""
        if not data.reference:
            raise UsageError(
                f"no reference is named{where}: give its file first, or reference = [FILE] under "
                f"[data]"
            )
        if len(data.reference) > 1 and not several:
            raise UsageError(
                f"{counted(len(data.reference), 'reference', 'are')} given{where} "
                f"({first_five(data.reference)}), but {study.task} needs one: keep one of them (a "
                f"transcript may contain alternatives, {{ a / b }})"
            )


def same_counts(a: Items, b: Items) -> str:
    """The content that two systems share to the last item; empty if they differ."""
    alike = all(
        np.array_equal(v, b.parts[p][k]) for p, of in a.parts.items() for k, v in of.items()
    )
    return "counts everywhere" if alike else ""
