"""The presentation of an item: its sound, its image or a text, and its known answer.

A file is named by a pattern (`clips/{id}.wav`), or in a column of the table of the items. Sounds
and images are sent without their file names, which may contain the label.
"""

import io
import os
import wave
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from truecost.errors import InputError, UsageError
from truecost.names import real

if TYPE_CHECKING:
    from truecost.formats import Table


SOUNDS = {b"RIFF": "audio/wav", b"fLaC": "audio/flac", b"OggS": "audio/ogg"}
PICTURES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
HEAD = 12  # bytes that tell the format


def check(path: str, kind: str) -> None:
    """InputError where a file cannot be read, or is no `audio` or `image` that browsers know."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  as long lists are looked at
            head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if kind == "image" and not _is_picture(head):
        raise InputError(f"{path}: is not a picture: expected PNG, JPEG, GIF or WebP")
    if kind == "audio" and not _is_sound(head):
        raise InputError(f"{path}: is not a sound file: expected wav, flac, ogg, mp3, m4a or webm")


def _is_picture(head: bytes) -> bool:
    if head.startswith(b"RIFF"):
        return head[8:] == b"WEBP"
    return head.startswith(tuple(PICTURES))


def _is_sound(head: bytes) -> bool:
    if head.startswith(b"RIFF"):
        return head[8:] == b"WAVE"
    framed = head[:1] == b"\xff" and head[1:2] >= b"\xe0"  # mp3 and aac without a header
    known = (*SOUNDS, b"ID3", b"\x1a\x45\xdf\xa3")
    return framed or head[4:8] == b"ftyp" or head.startswith(known)


def sound_of(path: str, span: tuple[float, float] | None) -> tuple[bytes, str]:
    """A sound, or the stretch that the question is about, and its media type.

    Raises
    ------
    InputError
        When it cannot be read; a stretch needs uncompressed wav.
    """
    data = _read(path) if span is None else _stretch(path, span)
    return data, next(
        (kind for head, kind in SOUNDS.items() if data.startswith(head)), "audio/mpeg"
    )


def length_of(path: str) -> float:
    """Seconds of a sound; InputError where it is not an uncompressed wav file."""
    with _opened(path) as file:
        return file.getnframes() / file.getframerate()


def picture_of(path: str) -> tuple[bytes, str]:
    """A picture and its media type; InputError when browsers may not show it."""
    check(path, "image")
    data = _read(path)
    return data, next(kind for head, kind in PICTURES.items() if data.startswith(head))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _stretch(path: str, span: tuple[float, float]) -> bytes:
    """A stretch of a wav file as a wav file, so that a meeting is not sent whole."""
    out = io.BytesIO()
    with _opened(path) as file:
        rate, length = file.getframerate(), file.getnframes()
        first, last = (min(max(0, round(edge * rate)), length) for edge in span)
        file.setpos(first)
        frames = file.readframes(max(0, last - first))
        with wave.open(out, "wb") as made:
            made.setparams(file.getparams())
            made.writeframes(frames)
    return out.getvalue()


@contextmanager
def _opened(path: str) -> Iterator[wave.Wave_read]:
    """A wav file; InputError for any other file, or an impossible header."""
    try:
        with wave.open(path, "rb") as file:
            frame = file.getnchannels() * file.getsampwidth()
            if not 0 < file.getframerate() * frame < 1 << 32 or frame >= 1 << 16:
                raise wave.Error("impossible rate or number of channels in its header")
            yield file
    except (OSError, EOFError, RuntimeError, wave.Error) as error:
        reason = getattr(error, "strerror", None) or str(error) or "cut short"
        raise InputError(
            f"{path}: part of it cannot be read ({reason}): expected uncompressed wav"
        ) from error


PLACE = "{id}"  # of the id in a pattern
FILES = ("audio", "image")
TEXTS = ("text", "gold")


class Views(msgspec.Struct, frozen=True, kw_only=True):
    """The presentation of each item.

    `audio`, `image`: a pattern, or a column of paths; `text`, `gold`: a column; `folder`: the
    folder that paths are relative to.
    """

    audio: str | None = None
    image: str | None = None
    text: str | None = None
    gold: str | None = None
    folder: str = "."


def one_line(text: str) -> str:
    """A text in the stored form of answers: single blanks between words."""
    return " ".join(text.split())


def named(text: str, classes: Sequence[str]) -> str:
    """One of the classes; ValueError with the classes for another text."""
    if text not in classes:
        raise ValueError(f"the classes {', '.join(classes)}")
    return text


@dataclass(frozen=True)
class View:
    """The presentation of one item; `audio` and `image` are existing files."""

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
    """A function that returns what the page shows of an item, from its id.

    Parameters
    ----------
    table : Table, optional
        Table of the items; None where they come from no table.
    ids : sequence of str
        Ids of its rows.
    known : callable
        Function that returns the answer that people would give, from a known answer in the table;
        raises ValueError where people cannot give it.

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
                f"[expert] {key} = {name!r} is a column, but these items do not come from a table: "
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
    """Known answers in the form of answers by people; items with an empty cell have none."""
    found: dict[str, str | None] = {}
    for item, text in column.items():
        try:
            found[item] = known(text) if text and text.strip() else None
        except ValueError as error:
            raise InputError(
                f"{source}the gold answer {text!r} of item {item!r} is not among {error}"
            ) from None
    return found


def _file(folder: str, name: str, item: str, key: str) -> str:
    """A file of an item; InputError where it is missing, or browsers cannot show it."""
    path = os.path.join(folder, name)  # noqa: PTH118  four times as fast as Path
    if not os.path.isfile(path):  # noqa: PTH113
        raise InputError(f"{path}: there is no such file; it is the {key} of item {item!r}")
    check(path, key)
    return path
