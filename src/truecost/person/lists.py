"""A list of items that people label: its questions, and the labels with their seconds.

The store records the list and classes that it belongs to, and refuses others. Only the columns that
are asked for are shown: the page never reveals the arm or system of an item. The export has all
columns.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table, read
from truecost.formats.table import filled
from truecost.person.measured import Answered
from truecost.person.options import LIST
from truecost.person.records import answer_of, decided
from truecost.person.seconds import Seconds
from truecost.person.store import Asked, Row, Store
from truecost.person.tables import faults
from truecost.person.views import Views, named, one_line, viewed

KINDS = dict.fromkeys(("answers", "agreeing", "revision"), pl.Int64)  # of columns of the export
KEPT = ("idle", "tail", "overlap", "people")  # what the store notes for reports made later


class _Listed(msgspec.Struct, frozen=True):
    """The position of an item in its list, and its columns as texts."""

    row: int
    columns: dict[str, str | None]


@dataclass(frozen=True)
class Items:
    """A list and how it is asked about: the options as `truecost annotate` has them, settled."""

    table: Table
    ids: tuple[str, ...]
    how: Mapping[str, Any]

    @cached_property
    def texts(self) -> pl.DataFrame:
        """All columns as texts; lists and structures as JSON."""
        return self.table.frame.select(_as_texts(column) for column in self.table.frame)

    @cached_property
    def digest(self) -> str:
        """The facts that a continued store must share: items, classes, and what people see."""
        frame = self.texts
        columns = {name: frame[name].to_list() for name in sorted(frame.columns)}
        seen = [self.how[key] for key in ("classes", "id", "guess", "audio", "image", "text")]
        text = json.dumps([columns, seen, self.how["gold"]], ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def questions(self) -> list[Asked]:
        """All questions, in the order of the list."""
        how = self.how
        seen = ("audio", "image", "text", "gold")
        folder = how["folder"] or str(Path(self.table.source).parent)
        views = Views(**{key: how[key] for key in seen}, folder=folder)
        known = partial(named, classes=how["classes"]) if how["classes"] else one_line
        view = viewed(views, self.table, self.ids, known)
        guesses = dict.fromkeys(self.ids)
        if how["guess"] is not None:
            self.table.require(how["guess"], "guess")
            said = self.table.texts(how["guess"], "guess").to_list()
            guesses = dict(zip(self.ids, said, strict=True))
        found, rows = [], self.texts.to_dicts()
        for k, item in enumerate(self.ids):
            shown = view(item)
            payload = {"source": shown.text, "output": guesses[item]}
            found.append(
                Asked(
                    key=item,
                    kind="classes" if how["classes"] else "text",
                    payload={name: text for name, text in payload.items() if text is not None},
                    hidden={"row": k, "columns": rows[k]},
                    media=shown.audio,
                    image=shown.image,
                    overlap=how["overlap"],
                    gold=shown.gold,
                )
            )
        return found


def _as_texts(column: pl.Series) -> pl.Series:
    """A column as texts."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        cells = (json.dumps(cell, ensure_ascii=False, default=str) for cell in column.to_list())
        return pl.Series(column.name, cells, pl.String)
    if column.dtype == pl.Binary:
        return column.bin.encode("base64")
    return column.cast(pl.String)


def _beside(own: Collection[str], names: Iterable[str]) -> dict[str, str]:
    """Names of the list columns beside those of the export."""
    names, found = [*names], dict[str, str]()
    for name in names:
        free = name
        while free in own or (free != name and (free in names or free in found.values())):
            free = f"{free}_before"
        found[name] = free
    return found


def items_of(file: str, how: Mapping[str, Any]) -> Items:
    """A list of items, and their questions.

    Raises
    ------
    UsageError
        When there is no such column.
    InputError
        When an id is missing or stands twice, or a gold answer is no class.
    """
    table = replace(read(file), mapped_by="")  # each column has an option of its own
    if not len(table):
        raise InputError(f"{file}: the list has no items; expected a row for each item")
    table.require(how["id"], "id")
    ids = tuple(filled(table, how["id"], "id"))
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(
            f"{file}: {first_five(twice)} {'occurs' if len(twice) == 1 else 'occur'} more than "
            "once: give each item an id of its own"
        )
    return Items(table, ids, how)


def check_same(items: Items, place: Path) -> None:
    """Refuse a store that is of another list (UsageError)."""
    with Store(place) as store:
        if store.meta(LIST, items.digest) != items.digest:
            raise UsageError(
                f"{place.parent}: its answers are for another list, or for other classes or "
                f"columns: give those, or choose another --output"
            )


def begin(items: Items, place: Path) -> None:
    """Put the questions of a list into its store."""
    questions = items.questions()
    with Store(place) as store:
        noted = {key: items.how[key] for key in KEPT}
        store.set_meta(**noted, **{LIST: items.digest})  # before people answer the first of them
        store.put(questions, items.how["order"])


def labels(store: Store, answered: Answered) -> pl.DataFrame:
    """A row for each item with answers, with all columns of the list, in its order: the answer of
    most people, the number of answers, and how many agree with it. There is no label where people
    are divided. Seconds and `revision` cover all answers; seconds are unknown where those of one
    answer are.
    """
    listed = _listed(store, answered)
    answers = _in_order(listed, answered)
    found: dict[str, list[tuple[Row, Seconds | None]]] = {}
    for row, seconds in answers:
        found.setdefault(row.key, []).append((row, seconds))
    items = [[row for row, _ in of] for of in found.values()]
    most = [decided(rows) for rows in items]
    own: dict[str, Sequence[Any]] = {
        "label": [None if one is None else one[0] for one in most],
        "annotator": ["+".join(row.person for row in rows) for rows in items],
        "answers": [len(rows) for rows in items],
        "agreeing": [
            sum(answer_of(row) == one for row in rows)
            for rows, one in zip(items, most, strict=True)
        ],
        **_measured([[seconds for _, seconds in of] for of in found.values()]),
        "refusal": [
            "+".join(row.refusal for row in rows if row.refusal) or None
            if one is not None and one[0] is None
            else None
            for rows, one in zip(items, most, strict=True)
        ],
        "revision": [sum(row.revision for row in rows) for rows in items],
        "gold": [rows[0].gold for rows in items],
    }
    return _beside_list(listed, [*found], own)


def answers_given(store: Store, answered: Answered) -> pl.DataFrame:
    """A row for each answer with all columns of the list, in its order."""
    listed = _listed(store, answered)
    answers = _in_order(listed, answered)
    rows = [row for row, _ in answers]
    own: dict[str, Sequence[Any]] = {
        "label": [row.label for row in rows],
        "annotator": [row.person for row in rows],
        **_measured([[seconds] for _, seconds in answers]),
        "refusal": [row.refusal for row in rows],
        "revision": [row.revision for row in rows],
        "gold": [row.gold for row in rows],
    }
    return _beside_list(listed, [row.key for row in rows], own)


def _in_order(
    listed: Mapping[str, _Listed], answered: Answered
) -> list[tuple[Row, Seconds | None]]:
    """Answers with their seconds, in the order of the list and of the names of people."""
    found = zip(answered.rows, answered.seconds, strict=True)
    return sorted(found, key=lambda one: (listed[one[0].key].row, one[0].person))


def _listed(store: Store, answered: Answered) -> dict[str, _Listed]:
    """Positions of items in the list, and their columns; InputError where answered items are not in
    it.
    """
    with faults(store.path):
        found = msgspec.convert(store.hidden(), dict[str, _Listed])
        if lost := {row.key for row in answered.rows} - {*found}:
            raise msgspec.ValidationError(
                f"items without a row of the list: {first_five(sorted(lost))}"
            )
        return found


def _measured(spent: Sequence[Sequence[Seconds | None]]) -> dict[str, list[float | None]]:
    """Columns of seconds, each a sum; None where one of its terms is not known."""
    return {
        f"{name}_seconds": [
            None if None in some else round(sum(getattr(one, name) for one in some), 3)
            for some in spent
        ]
        for name in ("active", "wall", "heard")
    }


def _beside_list(
    listed: Mapping[str, _Listed], keys: Sequence[str], own: Mapping[str, Sequence[Any]]
) -> pl.DataFrame:
    """Columns of the list for the items with these keys, followed by those of the export."""
    columns = [listed[key].columns for key in keys]
    names = dict.fromkeys(name for of in columns for name in of)
    kept = _beside(own, names)
    before = {kept[name]: [of.get(name) for of in columns] for name in names}
    kinds = {
        name: KINDS.get(name, pl.Float64 if name.endswith("_seconds") else pl.String)
        for name in own
    }
    return pl.DataFrame({**before, **own}, schema_overrides=kinds)
