"""How wide texts are, without asking a browser: in the widest of the fonts that it may choose."""

import re
from functools import cache
from unicodedata import east_asian_width

LINE, SIZE = 14.0, 12.0  # pixels: height of a line of several, size of letters
NAME = 90.0  # widest name below an axis
_NARROW, _BROAD, _SIGNS = (
    frozenset("iljtfr.,'|!:;()[] -"),
    frozenset("mwMW%@"),
    frozenset("<>+=~\N{MINUS SIGN}"),
)


@cache
def _room(letter: str) -> float:
    """Width of a letter as a share of its size (DejaVu Sans, Verdana)."""
    if letter in _NARROW:
        return 0.42
    if letter in _BROAD:
        return 0.98
    if letter in _SIGNS:
        return 0.84
    if east_asian_width(letter) in "WF":
        return 1.05
    return 0.74 if letter.isupper() else 0.64


def width_of(text: str, size: float = SIZE) -> float:
    """Pixels that a text needs at most."""
    return size * sum(map(_room, text))


def cut(text: str, room: float, size: float = SIZE) -> str:
    """A text as far as it fits: of one that is too long its two ends, which tell names apart."""
    if width_of(text, size) <= room:
        return text
    first, last, left = 0, len(text), room - width_of("…", size)
    while first < last:  # a letter of the beginning, then one of the end
        k = first if first <= len(text) - last else last - 1
        left -= width_of(text[k], size)
        if left < 0:
            break
        first, last = (first + 1, last) if k == first else (first, last - 1)
    return f"{text[:first].rstrip()}…{text[last:].lstrip()}"


def wrapped(text: str, room: float, most: int = 2, size: float = SIZE) -> list[str]:
    """A text in lines that fit; names break after `-`, `_`, `/` and `.` where they have to.

    The last of too many lines has the two ends of what is left.
    """
    lines = [""]
    for piece in _pieces(text, room, size):
        longer = lines[-1] + piece
        if lines[-1] and width_of(longer.strip(), size) > room:
            lines.append(piece)
        else:
            lines[-1] = longer
    lines = [*lines[: most - 1], *(["".join(lines[most - 1 :])] if lines[most - 1 :] else [])]
    return [cut(line.strip(), room, size) for line in lines]


def _pieces(text: str, room: float, size: float) -> list[str]:
    """Words with the space before them; what is wider than the room in its parts."""
    found: list[str] = []
    for k, word in enumerate(text.split()):
        whole = f" {word}" if k else word
        found += [whole] if width_of(word, size) <= room else re.split(r"(?<=[-_/.:])", whole)
    return found
