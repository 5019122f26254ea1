"""Utterances, sentences and recordings: read and counted for a study, stored one by one."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.intervals import finite
from truecost.measures import find
from truecost.names import ITEM_MAP_KEYS
from truecost.study.outcome import Case, Outcome, Part
from truecost.study.reader import Reader
from truecost.study.tables import DataTable
from truecost.tasks.columns import unit_columns
from truecost.tasks.items import Counting, Items, measures_of
from truecost.tasks.joining import join_metadata

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.sources import Source

WORST = 5


def counting_of(task: str) -> Counting:
    """What a task counts."""
    module = import_module(f"truecost.tasks.{task}")
    counting: Counting = module.COUNTING
    return counting


def read_items(source: "Source", reader: Reader, study: "Study") -> Items:
    """The counted items of a system, with its units and the columns of metadata.

    Parameters
    ----------
    source : Source
    reader : Reader
    study : Study
        Of a task that counts items.

    Returns
    -------
    Items

    Raises
    ------
    UsageError
        When a key, a column or an option does not go with the task.
    InputError
        When files cannot be read or do not belong together.
    """
    _check_map(source.data)
    table = reader.table(source.file, source.data.input_format)
    references = [reader.table(p, source.data.reference_format) for p in source.data.reference]
    reader.note(source.file, source.name, source.collection)
    for path in source.data.reference:
        reader.note(path, collection=source.collection)
    items = _count(source, study, reader, references, table)
    return _with_columns(items, source, reader)


def _check_map(data: DataTable) -> None:
    for key in data.map:
        if key not in ITEM_MAP_KEYS:
            raise UsageError(f"--map {key}=... is not known: map one of {', '.join(ITEM_MAP_KEYS)}")


def _count(
    source: "Source", study: "Study", reader: Reader, references: Sequence[Table], table: Table
) -> Items:
    """What the task of the study counts, as far as its measures need it."""
    from truecost.tasks import diarization, transcripts, translation
    from truecost.tasks.utterances import TextOptions

    task = study.task or "trials"
    asked = measures_of(study.measures, counting_of(task))
    parts = frozenset(part for measure in asked for part in measure.parts)
    common: dict[str, Any] = {"missing": source.data.missing or "error"}
    given = getattr(study, task).given()
    if task == "translation":
        chosen = translation.TranslationOptions(columns=source.data.map, **common, **given)
        return translation.count(references, table, chosen, source.name, parts)
    if task == "diarization":
        uem = None
        if (path := given.pop("uem", None)) is not None:
            uem = reader.table(path, "uem")
            reader.note(path, collection=source.collection)
        options = diarization.DiarizationOptions(**common, **given)
        return diarization.count(references[0], table, options, source.name, uem, parts)
    texts = TextOptions(columns=source.data.map, **common, **given)
    return transcripts.count(references[0], table, texts, source.name, parts)


def _with_columns(items: Items, source: "Source", reader: Reader) -> Items:
    """Items with the columns of metadata, and the units that are mapped."""
    key = "id" if "id" in items.frame.columns else items.frame.columns[0]
    table = Table(items.name, items.frame, ids=key)
    _, metadata = reader.joined(source.data, source.collection)
    metadata += [("id", _by_line(path, reader, source)) for path in source.data.lines]
    for column, further in metadata:
        table = join_metadata(table, further, column, key)
    return replace(items, frame=table.frame, units=unit_columns(table, source.data.map))


def _by_line(given: str, reader: Reader, source: "Source") -> Table:
    """A column from a file with one value a line, for texts that have one a line."""
    name, mark, path = given.partition("=")
    if not mark:
        raise UsageError(f"--lines {given!r} is not understood: write COLUMN=FILE")
    reference = reader.table(source.data.reference[0], source.data.reference_format)
    values = reader.table(path, "lines")
    reader.note(path, collection=source.collection)
    if len(values) != len(reference):
        raise InputError(
            f"{values.source}: {counted(len(values), 'line')} for the "
            f"{counted(len(reference), 'line')} of {reference.source}: one for each is needed"
        )
    return Table(values.source, values.frame.select("id", pl.col("text").alias(name)))


def cases_of(parts: Sequence[Part], most: int | None) -> tuple[Case, ...]:
    """The worst items of each system, those with most errors first.

    Parameters
    ----------
    parts : sequence of Part
    most : int, optional
        Of each system; 5 unless given.

    Returns
    -------
    tuple of Case
    """
    found: list[Case] = []
    for part in parts:
        for items in part.systems:
            if isinstance(items, Items) and items.show is not None:
                measure = find(next(e.label for e in part.estimates))
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
    return tuple(found)


def frame_of_items(outcome: Outcome) -> pl.DataFrame | None:
    """What `items.parquet` holds: a row for each system and item; None without items.

    Returns
    -------
    polars.DataFrame or None
        Columns `collection` (where there are several), `system`, `item`, the measures of each item
        alone (null where undefined), the statistics as `part.statistic`, and the columns for units
        and subsets.
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
    columns |= {label: items.each(find(label)) for label in labels}
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
    own = items.frame.select(c for c in items.frame.columns if c not in (*columns, *items.texts))
    return pl.concat(
        [pl.DataFrame(columns).with_columns(pl.col(*labels).fill_nan(None)), own],
        how="horizontal",
    )
