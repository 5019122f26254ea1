"""A list of items that people label: its questions, and the labels with their seconds.

The store notes which list and classes it belongs to; it goes on with no others. All columns of the
list stay hidden but those that are asked for: the page never tells from which arm or system an item
comes. The export has all of them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table, read
from truecost.formats.table import filled
from truecost.person.places import LIST
from truecost.person.seconds import Timing
from truecost.person.store import Asked, Row, Store
from truecost.person.views import Views, viewed

KEPT = ("idle", "tail", "overlap", "people")  # what the store notes for reports made later


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

    @property
    def digest(self) -> str:
        """What a store must not be continued without: items, classes, and what is in view."""
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
        view = viewed(Views(**{key: how[key] for key in seen}, folder=folder), self.table, self.ids)
        guesses = dict.fromkeys(self.ids)
        if how["guess"] is not None:
            self.table.require(how["guess"], "guess")
            said = self.table.texts(how["guess"], "guess").to_list()
            guesses = dict(zip(self.ids, said, strict=True))
        found, rows = [], self.texts.to_dicts()
        for k, item in enumerate(self.ids):
            shown = view(item)
            if shown.gold is not None and how["classes"] and shown.gold not in how["classes"]:
                raise InputError(
                    f"{self.table.source}: the gold answer {shown.gold!r} of item {item!r} is none "
                    f"of the classes {', '.join(how['classes'])}"
                )
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
    """A column of any kind as texts."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        cells = (json.dumps(cell, ensure_ascii=False, default=str) for cell in column.to_list())
        return pl.Series(column.name, cells, pl.String)
    if column.dtype == pl.Binary:
        return column.bin.encode("base64")
    return column.cast(pl.String)


def _beside(own: Collection[str], names: Iterable[str]) -> dict[str, str]:
    """Names that columns of the list have beside those of the export."""
    names, found = [*names], dict[str, str]()
    for name in names:
        free = name
        while free in own or (free != name and (free in names or free in found.values())):
            free = f"{free}_before"
        found[name] = free
    return found


def items_of(file: str, how: Mapping[str, Any]) -> Items:
    """A list, and how it is asked about.

    Raises
    ------
    UsageError
        When there is no such column.
    InputError
        When an id is missing or stands twice, or a gold answer is no class.
    """
    table = replace(read(file), mapped_by="")  # each column has an option of its own
    if not len(table):
        raise InputError(f"{file}: there is no item in it; expected a row for each")
    table.require(how["id"], "id")
    ids = tuple(filled(table, how["id"], "id"))
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{file}: {first_five(twice)} stand more than once; each id is one item")
    return Items(table, ids, how)


def begin(items: Items, place: Path) -> None:
    """Put the questions of a list into its store; UsageError where that is of another list."""
    questions = items.questions()
    with Store(place) as store:
        if store.meta(LIST, items.digest) != items.digest:
            raise UsageError(
                f"{place.parent}: its answers are to another list, or were asked with other "
                f"classes or columns: give those, or choose another --output"
            )
        how = {key: items.how[key] for key in KEPT}
        store.put(questions, items.how["order"])
        store.set_meta(**{LIST: items.digest}, **how)


def settle(store: Store, people: Sequence[str], overlap: int) -> bool:
    """Ask one more person where people are divided; whether all questions have their answers."""
    from truecost.person.agreement import majority  # after the links are shown
    from truecost.person.expert import said_of

    given: dict[str, list[Row]] = {}
    for row in store.answers() if overlap > 1 else ():
        given.setdefault(row.key, []).append(row)
    for key, rows in given.items():
        divided = majority([said_of(row) for row in rows]) is None
        if divided and overlap <= len(rows) < len(people):
            store.widen(key, len(rows) + 1)
    progress = store.progress()
    return progress.full == progress.total


def labels(store: Store, timing: Timing) -> pl.DataFrame:
    """A row for each answer with all columns of the list, in its order; items without one are not
    there.
    """
    from truecost.person.expert import seconds_by

    seconds = seconds_by(store, timing)
    listed = {key: hidden for key, hidden in store.hidden().items() if "row" in hidden}
    rows = sorted(store.answers(), key=lambda row: (listed[row.key]["row"], row.person))
    spent = [seconds(row.key, row.person) for row in rows]
    measured = {
        f"{name}_seconds": [round(getattr(one, name), 3) for one in spent]
        for name in ("active", "wall", "heard")
    }
    own = {
        "label": [row.label for row in rows],
        "annotator": [row.person for row in rows],
        **measured,
        "refusal": [row.refusal for row in rows],
        "revision": [row.revision for row in rows],
        "gold": [row.gold for row in rows],
    }
    kinds = {name: pl.Float64 if name in measured else pl.String for name in own}
    columns = [listed[row.key]["columns"] for row in rows]
    names = dict.fromkeys(name for of in columns for name in of)
    kept = _beside(own, names)
    before = {kept[name]: [of.get(name) for of in columns] for name in names}
    return pl.DataFrame({**before, **own}, schema_overrides=kinds | {"revision": pl.Int64})


def agreed(rows: Sequence[Row]) -> list[Any]:
    """Alpha and kappas of all answers that were no refusals."""
    from truecost.person.agreement import agreement

    return agreement([(row.key, row.person, row.label) for row in rows if row.label is not None])
