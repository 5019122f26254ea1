"""What people see and hear of an item: its sound, its image or a text, and its known answer.

A file is named by a pattern (`clips/{id}.wav`), or stands in a column of the table that the items
come from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from truecost.errors import InputError, UsageError
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


@dataclass(frozen=True)
class View:
    """What is shown of one item; `audio` and `image` are files that there are."""

    audio: str | None = None
    image: str | None = None
    text: str | None = None
    gold: str | None = None


def viewed(views: Views, table: "Table | None", ids: Sequence[str]) -> Callable[[str], View]:
    """A function from ids to what is shown of them.

    Parameters
    ----------
    table : Table, optional
        Where the items come from.
    ids : sequence of str
        Of its rows.

    Raises
    ------
    UsageError
        When there is no table or no such column. The function raises InputError for a file that
        there is not.
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

    def view(item: str) -> View:
        found = {key: column.get(item) for key, column in columns.items()}
        for key in FILES:
            name = found[key] if key in columns else getattr(views, key)
            found[key] = _file(views.folder, name.replace(PLACE, item), item, key) if name else None
        return View(**found)

    return view


def _file(folder: str, name: str, item: str, key: str) -> str:
    """A file of an item; InputError where there is none, or browsers cannot show it."""
    path = Path(folder) / name
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; it is the {key} of item {item!r}")
    check(str(path), key)
    return str(path.resolve())
