"""A list of items that people label: its questions, and the labels with their seconds.

The store notes which list and classes it belongs to; it goes on with no others. All columns of the
list stay hidden but those that are asked for: the page never tells from which arm or system an item
comes. The export has all of them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table, read
from truecost.formats.table import filled
from truecost.learning.options import ExpertTable
from truecost.options import defaults_of
from truecost.person.options import AnnotateTable
from truecost.person.records import STORE
from truecost.person.seconds import Timing
from truecost.person.store import Asked, Row, Store
from truecost.person.views import Views, viewed

KEPT = ("idle", "tail", "overlap")  # what the store notes for reports made later


@dataclass(frozen=True)
class Items:
    """A list and how it is asked about: the options as `truecost annotate` has them, settled."""

    table: Table
    ids: tuple[str, ...]
    how: Mapping[str, Any]

    @property
    def people(self) -> tuple[str, ...]:
        """Who answers."""
        return self.how["people"] or ("me",)

    @property
    def timing(self) -> Timing:
        """What counts as work."""
        return Timing(self.how["idle"], self.how["tail"])

    @property
    def digest(self) -> str:
        """What a store must not be continued without: items, classes, and what is in view."""
        frame = self.table.frame
        columns = {name: frame[name].cast(pl.String).to_list() for name in sorted(frame.columns)}
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
        found, rows = [], self.table.frame.with_columns(pl.all().cast(pl.String)).to_dicts()
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


def items_of(file: str, given: Mapping[str, Any]) -> Items:
    """A list with what was given about it.

    Raises
    ------
    UsageError
        When options contradict each other, or there is no such column.
    InputError
        When an id is missing or stands twice, or a gold answer is no class.
    """
    fields = (*AnnotateTable.__struct_fields__, *ExpertTable.__struct_fields__)
    how: dict[str, Any] = dict.fromkeys(fields, None) | {"classes": (), "people": ()}
    how |= {**defaults_of(ExpertTable), **defaults_of(AnnotateTable), **given}
    classes, people = how["classes"], how["people"] or ("me",)
    if len(classes) == 1 or len({*classes}) < len(classes):
        raise UsageError(f"--classes {','.join(classes)}: give two different classes or more")
    if how["overlap"] > len(people):
        raise UsageError(
            f"--overlap {how['overlap']}: there are fewer people ({', '.join(people)}): name more"
        )
    table = read(file)
    if not len(table):
        raise InputError(f"{file}: there is no item in it; expected a row for each")
    table.require(how["id"], "id")
    ids = tuple(filled(table, how["id"], "id"))
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{file}: {first_five(twice)} stand more than once; each id is one item")
    return Items(table, ids, how)


def begin(items: Items, folder: Path, *, resume: bool) -> Path:
    """The store of a list, with its questions; made, or with `resume` the one that is there.

    Raises
    ------
    UsageError
        When there is one already, none to resume, or that of another list.
    """
    place = folder / STORE
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: this is a file; choose another --output")
    there = place.exists()
    if there and not resume:
        raise UsageError(
            f"{folder}: answers are there already: go on with them (--resume), or "
            "choose another --output"
        )
    if not there and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: exists and is no folder of answers; choose another --output")
    questions = items.questions()  # before anything is made
    folder.mkdir(parents=True, exist_ok=True)
    with Store(place) as store:
        if store.meta("list", items.digest) != items.digest:
            raise UsageError(
                f"{folder}: its answers are to another list, or were asked with other classes or "
                f"columns: give those, or choose another --output"
            )
        how = {key: items.how[key] for key in KEPT}
        store.set_meta(list=items.digest, **how, people=[*items.people])
        store.put(questions, items.how["order"])
    return place


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
    before = {
        f"{name}_before" if name in own else name: [of.get(name) for of in columns]
        for name in names
    }
    return pl.DataFrame({**before, **own}, schema_overrides=kinds | {"revision": pl.Int64})


def agreed(rows: Sequence[Row]) -> list[Any]:
    """Alpha and kappas of all answers that were no refusals."""
    from truecost.person.agreement import agreement

    return agreement([(row.key, row.person, row.label) for row in rows if row.label is not None])
