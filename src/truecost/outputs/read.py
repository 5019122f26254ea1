"""Utterances, sentences and recordings: read and counted for a study, stored one by one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.core.columns import part_of, sums_of
from truecost.core.intervals.smooth import finite
from truecost.errors import InputError, TruecostError, UsageError, counted, first_five, near
from truecost.formats import Table, read_bytes
from truecost.formats.compound import identified, resolved
from truecost.formats.manifests import MANIFEST, as_output
from truecost.formats.opening import first_line
from truecost.formats.segments import KEYS
from truecost.formats.table import optional_texts, unit_columns
from truecost.formats.transcripts import one_a_line
from truecost.names import ITEM_MAP_KEYS, MEAN
from truecost.options import check_keys, defaults_of
from truecost.outputs.files import Files
from truecost.outputs.items import Counting, Items, measures_of
from truecost.outputs.normalising import FIRST, FIXED
from truecost.study.columns import weights_of
from truecost.study.config import Study
from truecost.study.joining import join_metadata
from truecost.study.outcome import Case, Outcome, Part
from truecost.study.settings import Reader, Source
from truecost.study.tables import DataTable
from truecost.tasks import find as face_of
from truecost.tasks.measures import columns_of, find, registry

WORST = 5
_BOTH = "a table of both sides needs --map and --reference-map KEY=COLUMN"


def no_faults(_table: Table, _data: DataTable) -> None:
    """Nothing that is wrong with an output by itself."""


@dataclass(frozen=True, kw_only=True)
class Itemised:
    """The counting and the checks of the files of a task of items.

    `refuse` raises what is wrong with an output by itself; `named_by` is the key of the task's
    table that gives other columns that name an item; a check counts for the measures `checked`
    where none is asked for.
    """

    counting: Counting
    count: Callable[[Files], Items]
    refuse: Callable[[Table, DataTable], None] = no_faults
    named_by: str = ""
    checked: tuple[str, ...] = ()


def read_items(of: Itemised, source: Source, reader: Reader, study: Study) -> Items:
    """The counted items of a system, with its units and the columns of metadata."""
    check_maps(source.data, of.counting.task)
    files = _files(of.counting, source, study, reader)
    reader.note(source.file, source.name, source.collection)
    for path in source.data.reference:
        reader.note(path, collection=source.collection)
    items = of.count(files)
    problems = (*_twice(source, reader, files.output), *items.problems)
    tables = [(reference, files.reference_columns) for reference in files.references]
    tables.append((files.output, files.columns))
    contents = tuple(_content_of(table, columns, reader.task) for table, columns in tables)
    found = with_columns(replace(items, problems=problems, sources=contents), source, reader)
    return with_means(found, files.output, files.columns, columns_of(study.measures))


def _content_of(table: Table, columns: Mapping[str, str], task: str) -> pl.DataFrame:
    """The columns of ids, texts and times, under their keys; all columns of a file without
    these.
    """
    keys = dict.fromkeys((*_own_keys(task), *FIRST, *KEYS))
    names = {key: columns.get(key, key) for key in keys}
    found = {key: name for key, name in names.items() if name in table.frame.columns}
    named = [pl.col(name).alias(key) for key, name in found.items()]
    return table.frame.select(named) if found else table.frame


def read_output(source: Source, reader: Reader) -> Table:
    """The file of a system, which may be empty where what is missing counts as empty."""
    data = source.data
    table = reader.table(source.file, data.input_format, empty=data.missing == "worst")
    return identified(as_output(table, data.map), data.map)


def read_reference(path: str, stated: str | None, reader: Reader) -> Table:
    """A reference, whose columns have an option of their own."""
    try:
        table = reader.table(path, stated)
    except UsageError as error:  # readers do not know which of the two files they read
        said = error.args[0].replace("--input-format", "--reference-format")
        also = "; outputs of this format need --input-format too" * (said != error.args[0])
        raise UsageError(said + also) from error
    return replace(table, mapped_by="--reference-map")


def _own_keys(task: str) -> tuple[str, ...]:
    """The keys of `--map` that are of a task's own columns, not of units."""
    known = face_of(task).map_keys
    return tuple(key for key in known if key in FIRST or key not in ITEM_MAP_KEYS)


def check_maps(data: DataTable, task: str) -> None:
    """Refuse keys of the maps that a task does not have: UsageError."""
    known, own = tuple(face_of(task).map_keys), _own_keys(task)
    check_keys(data.map, known)
    for key in data.reference_map:
        if key not in own:
            raise UsageError(
                f"--reference-map {key}=... is not known: map one of {', '.join(own)} (units "
                f"belong to --map)"
            )


def reference_map(source: Source) -> dict[str, str]:
    """Columns of the reference: the map of a system is of its own file."""
    return source.shared | source.data.reference_map


def _twice(source: Source, reader: Reader, table: Table) -> list[str]:
    """A hint where a system is its own reference."""
    theirs, own = reference_map(source), source.data.map
    keys = (*_own_keys(reader.task), *FIRST, *KEYS)
    if any(theirs.get(key) != own.get(key) for key in keys) or table.format == MANIFEST:
        return []
    same = [path for path in source.data.reference if reader.same(path, source.file)]
    said = "byte for byte: is it one file twice?"
    if table.format not in (*FIXED, "rttm"):
        said += f" ({_BOTH})"
    return [f"the output {table.source} is the reference {path}, {said}" for path in same]


def _files(counting: Counting, source: Source, study: Study, reader: Reader) -> Files:
    """The files of a system, for what its task counts as far as its measures need it."""
    face = face_of(study.task)
    own = face.table_types()[face.options[0]] if face.options else None
    stated = source.data.reference_format
    counted_by = [m for m in study.measures if not columns_of([m])]  # means need no counts

    def further(path: str, input_format: str | None = None) -> Table:
        found = reader.table(path, input_format)
        reader.note(path, collection=source.collection)
        return found

    references = [read_reference(path, stated, reader) for path in source.data.reference]
    theirs = reference_map(source)
    if any(table.format == MANIFEST for table in references):  # its text is what is right
        theirs = {**theirs, "text": source.data.reference_map.get("text", "text")}
    return Files(
        name=source.name,
        collection=source.collection,
        item=counting.item,
        output=read_output(source, reader),
        references=tuple(identified(table, theirs) for table in references),
        columns=source.data.map,
        reference_columns=theirs,
        missing=source.data.missing or "error",
        allow_duplicates=bool(source.data.allow_duplicates),
        parts=frozenset(p for m in measures_of(counted_by, counting) for p in m.parts),
        given={} if own is None else study.table(own).given(),
        defaults={} if own is None else defaults_of(own),
        further=further,
    )


def with_columns(items: Items, source: Source, reader: Reader) -> Items:
    """Items with the columns of metadata, and the units that are mapped."""
    key = "id" if "id" in items.frame.columns else items.frame.columns[0]
    table = Table(f"{source.file} and its reference", items.frame, ids=key)
    try:
        _, metadata = reader.joined(source.data, source.collection)
        for column, further in metadata:
            table = join_metadata(table, further, column, key)
    except TruecostError as error:
        said = str(error)
        if not items.counting.rows:
            said = _with_lines(said, source, reader)
        raise type(error)(said) from error
    for path in source.data.lines:
        table = join_metadata(table, _by_line(path, reader, source), "id", key)
    # Without the texts that counting put in, unless asked for: messages would show them.
    asked = {s for key in ("unit", "unit2") for s in source.data.map.get(key, "").split("+")}
    plain = table.frame.drop([name for name in items.texts if name not in asked])
    columns = resolved(source.data.map, table)
    units = unit_columns(replace(table, frame=plain), columns)
    for name in units:
        if taken := reserved(name, items):
            raise UsageError(f"--map unit={name}: results have {taken} of that name: rename it")
        alone = len(units[name]) == 1 and np.array_equal(units[name][0], items.ids)
        if name == items.counting.item and not alone:
            raise UsageError(
                f"--map unit={name}: this name is used where there is no unit column: rename it"
            )
    weights = weights_of(table, columns, items.ids)
    strata = optional_texts(table, columns, "stratum")
    return replace(items, frame=table.frame, units=units, weights=weights, strata=strata)


def with_means(
    items: Items, output: Table, named: Mapping[str, str], columns: Sequence[str]
) -> Items:
    """Items with the columns whose means are asked for as parts: those of the output, where it has
    a row for each item, or else of the reference and of metadata.

    Raises
    ------
    UsageError, InputError
        When there is no such column, or it is not a number of every item.
    """
    parts = {part_of(name): sums_of(_numbers(items, output, named, name)) for name in columns}
    known = {**items.counting.parts, **dict.fromkeys(parts, 1.0)}
    return replace(
        items, parts={**items.parts, **parts}, counting=replace(items.counting, parts=known)
    )


def _numbers(items: Items, output: Table, named: Mapping[str, str], column: str) -> Any:
    """A column as a number of each item; float64 (N,)."""
    key = items.counting.key
    own = named.get(key, key)
    if column in output.columns and own in output.columns:
        ids = output.texts(own, key)
        if ids.n_unique() < len(ids):
            raise InputError(
                f"{output.source}: column {column!r} of {MEAN}:{column} has several rows for "
                f"{first_five(sorted({*ids.filter(ids.is_duplicated()).drop_nulls()}))}: "
                f"{_alone(column)}"
            )
        numbers = pl.DataFrame({"id": ids, column: output.numbers(column, "metric")})
        there = pl.DataFrame({"id": items.ids.astype(str)})
        found = there.join(numbers, on="id", how="left", maintain_order="left")[column]
        values, where = found.cast(pl.Float64).fill_null(float("nan")).to_numpy(), output.source
    elif column in items.frame.columns and column not in items.texts:
        values = Table(items.name, items.frame).numbers(column, "metric")
        where = items.name
    else:
        others = (c for c in items.frame.columns if c not in output.columns)
        names = (*output.columns, *others)
        raise UsageError(
            f"{output.source}: there is no column {column!r} for {MEAN}:{column}"
            f"{near(column, names)}; the columns of the output, the reference and --metadata are "
            f"{first_five(names)}; {_alone(column)}"
        )
    if (lacking := ~np.isfinite(values)).any():
        raise InputError(
            f"{where}: {counted(int(lacking.sum()), items.item, 'have')} no number in the column "
            f"{column!r} of {MEAN}:{column}: {first_five(items.ids[lacking])}; fill them in"
        )
    return values


def _alone(column: str) -> str:
    return f"for a metric in each row of a table use truecost score FILE --measure {MEAN}:{column}"


def reserved(name: str, items: Items) -> str:
    """The use of this name in results; empty if there is none."""
    if name in ("collection", "system", "item"):
        return "a column"
    part, dot, _ = name.partition(".")
    if dot and part in items.counting.parts:
        return "a statistic"
    return "a measure" if name.partition(":")[0] in registry(items.task) else ""


def _with_lines(said: str, source: Source, reader: Reader) -> str:
    """The fault of metadata, with a hint where they, or the data they describe, have no ids."""
    for given in source.data.metadata:
        path = given.rpartition("=")[2]
        table = Path(path).is_file() and b"," in first_line(path)  # the header of one
        if Path(path).is_file() and not table and one_a_line(read_bytes(path)):
            return f"{path}: has one value a line and no ids: use --lines COLUMN={path}"
    reference = reader.table(source.data.reference[0], source.data.reference_format)
    if reference.format != "lines":
        return said
    return (
        f"{said}; {reference.source} has no ids: give a column from a file with one value a line "
        f"by --lines COLUMN=FILE"
    )


def _by_line(given: str, reader: Reader, source: Source) -> Table:
    """A column from a file with one value a line, for texts that have one a line."""
    name, mark, path = given.partition("=")
    if name in ("id", "text"):
        raise UsageError(f"--lines {given}: choose another name for the column than {name}")
    if not mark or not name:
        raise UsageError(
            f"--lines {given!r} is not understood: write COLUMN=FILE, such as document=docs.txt"
        )
    reference = reader.table(source.data.reference[0], source.data.reference_format)
    if reference.format != "lines":
        raise UsageError(
            f"--lines {given}: a file with one value per line fits texts with one sentence per "
            f"line, but {reference.source} has ids: give a file with ids to --metadata"
        )
    values = reader.table(path, "lines")
    reader.note(path, collection=source.collection)
    if len(values) != len(reference):
        raise InputError(
            f"{values.source}: {counted(len(values), 'line')}, but {reference.source} has "
            f"{len(reference)}: give one value for each line"
        )
    return Table(values.source, values.frame.select("id", pl.col("text").alias(name)))


def worst_of(part: Part, most: int | None) -> list[Case]:
    """The worst items of each system, those with most errors first; 5 of each unless `most` is
    given.
    """
    found: list[Case] = []
    for items in part.systems:
        if isinstance(items, Items) and items.show is not None:
            measure = find(next(e.label for e in part.estimates), items.task)
            values, bad = items.each(measure), items.badness()
            order = np.argsort(-bad, kind="stable")[: WORST if most is None else most]
            found += [
                Case(
                    system=items.name,
                    item=str(items.ids[k]),
                    value=finite(values[k]),
                    lines=items.show(int(k)),
                    collection=part.dims.get("collection", ""),
                )
                for k in order
                if bad[k] > 0
            ]
    return found


def frame_of_items(outcome: Outcome) -> pl.DataFrame | None:
    """The content of `items.parquet` holds: a row for each system and item; None without items.

    Columns `collection` (where there are several), `system`, `item`, the measures of each item
    alone (null where undefined), the statistics as `part.statistic`, and the columns for units and
    subsets.
    """
    frames = [
        _frame(items, part)
        for part in outcome.parts
        for items in part.systems
        if isinstance(items, Items)
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else None


def _frame(items: Items, part: Part) -> pl.DataFrame:
    labels = dict.fromkeys(e.label for e in part.estimates)
    collection = part.dims.get("collection")
    columns: dict[str, Any] = {} if collection is None else {"collection": collection}
    columns |= {"system": items.name, "item": items.ids.astype(str)}
    columns |= {label: items.each(find(label, items.task)) for label in labels}
    columns |= {
        f"{name}.{statistic}": values
        for name, of in items.parts.items()
        for statistic, values in of.items()
    }
    columns |= {
        name if k == 0 else f"{name} {k + 1}": side.astype(str)
        for name, sides in items.units.items()
        for k, side in enumerate(sides)
    }
    others = [c for c in items.frame.columns if c not in (*items.texts, *items.units)]
    own = items.frame.select(
        pl.col(c).alias(f"given {c}" if reserved(c, items) else c) for c in others
    )
    return pl.concat(
        [pl.DataFrame(columns).with_columns(pl.col(*labels).fill_nan(None)), own], how="horizontal"
    )
