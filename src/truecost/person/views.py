"""What people see and hear of an item: its sound, its image or a text, and its known answer.

A file is named by a pattern (`clips/{id}.wav`), or stands in a column of the table that the items
come from.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from truecost.errors import InputError, UsageError
from truecost.names import real
from truecost.person.media import check

if TYPE_CHECKING:
    from truecost.formats import Table

PLACE = "{id}"  # of the id in a pattern
FILES = ("audio", "image")
TEXTS = ("text", "gold")


class Views(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of each item.

    `audio`, `image`: a pattern, or a column of paths; `text`, `gold`: a column; `folder`: the one
    that paths are relative to.
    """

    audio: str | None = None
    image: str | None = None
    text: str | None = None
    gold: str | None = None
    folder: str = "."


def one_line(text: str) -> str:
    """A text as answers are kept: single blanks between words."""
    return " ".join(text.split())


def named(text: str, classes: Sequence[str]) -> str:
    """One of the classes; ValueError, which names them, where it is none."""
    if text not in classes:
        raise ValueError(f"the classes {', '.join(classes)}")
    return text


@dataclass(frozen=True)
class View:
    """What is shown of one item; `audio` and `image` are files that there are."""

    audio: str | None = None
    image: str | None = None
    text: str | None = None
    gold: str | None = None


def viewed(
    views: Views,
    table: "Table | None",
    ids: Sequence[str],
    known: Callable[[str], str] = one_line,
) -> Callable[[str], View]:
    """A function from ids to what is shown of them.

    Parameters
    ----------
    table : Table, optional
        Where the items come from.
    ids : sequence of str
        Of its rows.
    known : callable
        From a known answer as it stands in the table to what people would answer; ValueError where
        nobody can.

    Raises
    ------
    UsageError
        When there is no table or no such column.
    InputError
        When nobody can give a known answer; by the function, for a file that there is not.
    """
    columns = {}
    for key in (*FILES, *TEXTS):
        name = getattr(views, key)
        if name is None or (key in FILES and PLACE in name):
            continue
        if table is None:
            other = f"name files by their ids, {key} = 'folder/{PLACE}.wav'"
            raise UsageError(
                f"[expert] {key} = {name!r} is a column, and these items come from no table: "
                f"{other if key in FILES else 'leave it out'}"
            )
        table.require(name, key)
        columns[key] = dict(zip(ids, table.texts(name, key).to_list(), strict=True))
    if "gold" in columns:
        columns["gold"] = _known(columns["gold"], known, f"{table.source}: " if table else "")

    folder = str(real(views.folder))  # once: a list may have 100,000 files
    patterns = {key: getattr(views, key) for key in FILES if key not in columns}

    def view(item: str) -> View:
        found = {key: column.get(item) for key, column in columns.items()} | patterns
        for key in FILES:
            name = found[key]
            found[key] = _file(folder, name.replace(PLACE, item), item, key) if name else None
        return View(**found)

    return view


def _known(
    column: dict[str, str | None], known: Callable[[str], str], source: str
) -> dict[str, str | None]:
    """Known answers as people would give them; items with an empty cell have none."""
    found: dict[str, str | None] = {}
    for item, text in column.items():
        try:
            found[item] = known(text) if text and text.strip() else None
        except ValueError as error:
            raise InputError(
                f"{source}the gold answer {text!r} of item {item!r} is none of {error}"
            ) from None
    return found


def _file(folder: str, name: str, item: str, key: str) -> str:
    """A file of an item; InputError where there is none, or browsers cannot show it."""
    path = os.path.join(folder, name)  # noqa: PTH118  four times as fast as Path
    if not os.path.isfile(path):  # noqa: PTH113
        raise InputError(f"{path}: there is no such file; it is the {key} of item {item!r}")
    check(path, key)
    return path
