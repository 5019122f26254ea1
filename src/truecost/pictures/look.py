"""How marks and texts look: one table of colours and strokes, as a style sheet and as resolved
attributes, and how wide texts are, without asking a browser, in the widest of the fonts that it may
choose.

Colours of systems (s) and components (c) are told apart by colour-blind readers and have a contrast
of at least 3:1 on both papers; shades (q) go from light to dark. A series has a dash too.
"""

import re
from functools import cache
from typing import Any
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


SYSTEMS = 8  # that have a colour
COMPONENTS = 6
SHADES = 6


def _palette(paper: str, ink: str, soft: str, faint: str, **kinds: str) -> dict[str, str]:
    """Colours by class: of systems s0, s1 and so on, of components c0, of shades q0."""
    plain = {"paper": paper, "ink": ink, "soft": soft, "faint": faint}
    return plain | {f"{of}{k}": c for of, some in kinds.items() for k, c in enumerate(some.split())}


LIGHT = _palette(
    *("#ffffff", "#16191d", "#5a626b", "#dfe3e7"),
    s="#0067a5 #c44e00 #007a5e #a8477f #8a6500 #4b5bd1 #1a93bd #9c2f2f",
    c="#7a55a8 #a8760d #2f8582 #b94d78 #66783a #8a6458",
    q="#fdf6d8 #d9e2a4 #9cc39a #5d9f9b #35718f #1d3a6e",
)
DARK = _palette(
    *("#14171b", "#e8eaed", "#a7b0ba", "#30363d"),
    s="#5fb2ef #f59a4c #45c79c #e793c4 #d7b44a #a3adff #8fd8e8 #f08b8b",
    c="#b79be0 #d9ac4f #68bdb9 #e88fb2 #a9bc78 #c5a094",
)
OWN = "own"  # the colour of a mark's series, component or shade
RULES: dict[str, dict[str, str]] = {  # classes that a mark has to have, joined by dots -> its look
    "text": {"fill": "ink", "font-size": "12px"},
    "tick": {"fill": "soft"},
    "label": {"fill": "soft"},
    "note": {"fill": "soft"},
    "head": {  # stands where lines of the grid and of the naive baseline pass
        "font-weight": "600",
        "stroke": "paper",
        "stroke-width": "5",
        "stroke-linejoin": "round",
        "paint-order": "stroke",
    },
    "figure": {"font-size": "10px", "fill": LIGHT["ink"]},
    "figure.q4": {"fill": "#ffffff"},
    "figure.q5": {"fill": "#ffffff"},
    "grid": {"fill": "none", "stroke": "faint", "stroke-width": "0.7"},
    "line": {"fill": "none", "stroke": OWN, "stroke-width": "1.7", "stroke-linejoin": "round"},
    "line.thin": {"stroke-width": "1"},
    **{
        f"line.{kind}{k}": {"stroke-dasharray": dash}
        for kind in "sc"
        for k, dash in enumerate(("none", "7 2", "2 2", "8 2 2 2", "4 3", "1 2", "12 3", "5 2 1 2"))
        if k and (kind == "s" or k < COMPONENTS)
    },
    "line.more": {"stroke-width": "0.8", "opacity": "0.55"},
    "line.weak": {"stroke-width": "1.4", "stroke-dasharray": "1 3"},
    "band": {"fill": OWN, "fill-opacity": "0.14", "stroke": "none"},
    "interval": {"fill": "none", "stroke": OWN, "stroke-width": "1.6", "opacity": "0.8"},
    "gap": {"fill": "none", "stroke": OWN, "stroke-width": "5", "opacity": "0.32"},
    "weak": {"stroke-dasharray": "2 2"},
    "rule": {"fill": "none", "stroke": "soft", "stroke-width": "1", "stroke-dasharray": "4 3"},
    "limit": {"fill": "none", "stroke": "ink", "stroke-width": "3"},
    "edge": {"fill": "none", "stroke": "ink", "stroke-width": "2"},
    "bar": {"fill": OWN, "stroke": "paper", "stroke-width": "0.8"},
    "bar.pale": {"fill-opacity": "0.38"},
    "cell": {"fill": OWN, "stroke": "paper", "stroke-width": "1"},
    "dot": {"fill": OWN, "stroke": "paper", "stroke-width": "1.2"},
    "far": {"fill": OWN, "stroke": "none"},
    "hollow": {"fill": "paper", "stroke": OWN, "stroke-width": "1.9"},
    "probe": {"fill": "paper", "stroke": OWN, "stroke-width": "2.4"},
}


def _value(name: str, text: str) -> str:
    if text == OWN:
        return "var(--c,var(--ink))"
    return f"var(--{text})" if text in LIGHT and name in ("fill", "stroke") else text


def _block(rules: dict[str, str]) -> str:
    return ";".join(f"{name}:{text}" for name, text in rules.items())


@cache
def sheet() -> str:
    """The look as a style sheet, with the colours as variables, for light, dark and paper."""
    light = _block({f"--{k}": v for k, v in LIGHT.items()})
    variables = [f":root{{{light};color-scheme:light dark}}"]
    dark = _block({f"--{k}": v for k, v in DARK.items()})
    variables.append(f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}")
    own = [f".{k}{{--c:var(--{k})}}" for k in LIGHT if k[0] in "scq" and k[1:].isdigit()]
    looks = []
    for classes, rules in RULES.items():
        selector = "svg text" if classes == "text" else f"svg .{classes}"
        looks.append(f"{selector}{{{_block({n: _value(n, v) for n, v in rules.items()})}}}")
    return "\n".join([*variables, "".join(own), ".more{--c:var(--soft)}", *looks])


def attributes(tag: str, classes: list[str]) -> dict[str, str]:
    """The look of one element in light colours, as attributes."""
    colour = next((LIGHT[c] for c in classes if c[1:].isdigit() and c in LIGHT), LIGHT["ink"])
    colour = LIGHT["soft"] if "more" in classes else colour
    have, found = {tag, *classes}, dict[str, Any]()
    for needed, rules in RULES.items():
        if have.issuperset(needed.split(".")):
            found |= rules
    return {n: colour if v == OWN else LIGHT.get(v, v) for n, v in found.items()}
