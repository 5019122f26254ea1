"""Items of one's own with a time each: a table of features or of texts.

One row an item: an id, a time (a number, or an ISO date), the set that it belongs to (`lifelong`,
`test`, or `initial` for what the initial version learns from), what is right, and what the learner
sees. All items of a set with the same time are one batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table, read
from truecost.learning.lifelong.course import Course, Timed, moment
from truecost.learning.lifelong.sources.finding import Kind
from truecost.learning.streams.items import (
    IDS,
    LABELS,
    MATRICES,
    filled,
    first_of,
    ids_of,
    matrix,
    sorted_classes,
)
from truecost.learning.system import Array, Floats

SETS = ("lifelong", "test", "initial")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[source]` where name = "table".

    Attributes
    ----------
    file : str
        .npz, .csv, .tsv, .parquet or .ndjson.
    kind : {"classes", "transcripts", "translation", "diarization"}
        What is said of an item.
    id, label : str, optional
        Columns; the first of id, ids, path, paths, and of label, labels, y, unless given. A
        recording without label has nobody speaking (diarization).
    time, set : str
        Columns.
    document : str, optional
        Column of the document that an item belongs to, for budgets of documents.
    features : tuple of str
        Columns or matrices of numbers; unless given the matrix of an archive, or all other columns.
    text : str, optional
        Column of what the learner reads (a sentence, the name of a recording), in place of
        features.
    """

    file: str
    kind: Literal["classes", "transcripts", "translation", "diarization"] = "classes"
    id: str | None = None
    label: str | None = None
    time: str = "time"
    set: str = "set"
    document: str | None = None
    features: tuple[str, ...] = ()
    text: str | None = None


def make(settings: Settings, seed: int) -> Course:
    """The course of a table; the same for every seed.

    Parameters
    ----------
    seed : int
        Draws nothing.

    Raises
    ------
    UsageError
        When a column is not there, or features and a text are named.
    InputError
        When a row has no id, time, set or label, or a feature is no number; with column and line.
    """
    del seed
    if settings.text is not None and settings.features:
        raise UsageError("[source] text and features are given: name what the learner sees once")
    table = replace(read(settings.file), mapped_by="[source]")
    key, label = settings.id or first_of(table, IDS), _label(table, settings)
    ids = ids_of(table, key)
    right = _right(table, label, settings, ids)
    times = _times(table, settings.time, ids)
    sets = _sets(table, settings.set, ids)
    used = {key, label, settings.time, settings.set, settings.document}
    features = _features(table, settings, used, ids)
    documents = filled(table, settings.document, "document", ids) if settings.document else ()
    parts = {name: [*_batches(name, sets, times, ids, features)] for name in SETS}
    return Course.of(
        settings.kind,
        parts["lifelong"],
        parts["test"],
        dict(zip(ids, right, strict=True)),
        classes=sorted_classes(right) if settings.kind == "classes" else (),
        bootstrap=_initial(table, parts["initial"]),
        documents=dict(zip(ids, documents, strict=True)) if documents else None,
        signature=f"table|{settings.kind}",
    )


def _label(table: Table, settings: Settings) -> str:
    """The column of what is right."""
    label = settings.label or first_of(table, LABELS)
    if label is None:
        raise UsageError(
            f"{table.source}: there is no column of what is right (label, labels or y); "
            f'{table.listed}: name it under [source], label = "NAME"'
        )
    return label


def _right(table: Table, label: str, settings: Settings, ids: tuple[str, ...]) -> tuple[str, ...]:
    """What is right of each item."""
    if settings.kind == "diarization":
        return tuple(table.texts(label, "label").fill_null(""))
    return filled(table, label, "label", ids)


def _sets(table: Table, name: str, ids: tuple[str, ...]) -> Array:
    """The set of each item."""
    found = np.array(filled(table, name, "set", ids))
    wrong = np.flatnonzero(~np.isin(found, SETS))
    if len(wrong):
        said = first_five(f"{found[row]!r} ({table.where(int(row))})" for row in wrong)
        raise InputError(
            f"{table.source}: {counted(len(wrong), 'item', 'are')} of another set than "
            f"{', '.join(SETS)} (column {name!r}): {said}"
        )
    return found


def _times(table: Table, name: str, ids: tuple[str, ...]) -> Floats:
    """The time of each item: a number, or a date as days since 1970-01-01."""
    found = []
    for row, text in enumerate(filled(table, name, "time", ids)):
        try:
            found.append(moment(text))
        except InputError as error:
            raise InputError(
                f"{table.source}, {table.where(row)}: {error} (column {name!r})"
            ) from error
    return np.array(found, np.float64)


def _features(
    table: Table, settings: Settings, used: set[str | None], ids: tuple[str, ...]
) -> Array:
    """What the learner sees of each item."""
    if settings.text is not None:
        return np.array(filled(table, settings.text, "text", ids), dtype=object)
    names = list(settings.features) or [name for name in MATRICES if name in table.matrices][:1]
    names = names or [name for name in table.columns if name not in used]
    if not names:
        raise InputError(
            f"{table.source}: no features are left beside {', '.join(sorted(filter(None, used)))}; "
            f'{table.listed}; where the learner reads a text, name its column: text = "NAME"'
        )
    return matrix(table, names)


def _batches(
    name: str, sets: Array, times: Floats, ids: Sequence[str], features: Array
) -> Iterator[Timed]:
    """The items of a set by time, those of one time in the order of the table."""
    inside = np.flatnonzero(sets == name)
    for time in np.unique(times[inside]).tolist():
        rows = inside[times[inside] == time]
        yield time, tuple(ids[row] for row in rows.tolist()), features[rows]


def _initial(table: Table, found: Sequence[Timed]) -> tuple[Sequence[str], Array] | None:
    """What the initial version learns from, all at once."""
    if len(found) > 1:
        raise InputError(
            f"{table.source}: the items of set 'initial' have {len(found)} times: the initial "
            f"version learns from all at once, so give them one time"
        )
    return (found[0][1], found[0][2]) if found else None


SOURCES = {
    "table": Kind(
        "items of your own with times: .npz, .csv, .tsv, .parquet or .ndjson",
        Settings,
        make,
        files=("file",),
    )
}
