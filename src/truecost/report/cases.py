"""The worst items of each system: how they were aligned, as text in columns.

Texts of users stand in them, in any script. In columns every word of a script that is written from
right to left is isolated, so that it is read in its own direction and the columns keep their order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup

from truecost.core.digits import counted, figure, width
from truecost.core.measure import Measure
from truecost.core.results import Row
from truecost.errors import plural
from truecost.report.story import Story
from truecost.report.sums import worst_said
from truecost.report.units import counts_of, has_sums
from truecost.report.words import measure_of, turns

if TYPE_CHECKING:
    from truecost.study.outcome import Case

Place = tuple[str, str, str]  # collection, system and item
OPEN = 3  # of a system
OPEN_SYSTEMS = 3  # of the others all are folded
MOST_LINES, LEAST_LINES = 420, 12  # of all items together, and of each
UNMATCHED = "without a match, put out or left out"
RANKED = {  # of a part what its worst items have most of
    "words": "errors",
    "characters": "errors in characters",
    "ngrams": f"words {UNMATCHED}",
    "chrf": f"characters {UNMATCHED}",
    "edits": "edits",
    "speech": "time in error",
    "speakers": "Jaccard error",
    "activity": "time in error",
}


@dataclass(frozen=True)
class Aligned:
    """One item.

    Attributes
    ----------
    name, said : str
        Its id; its errors in words, by which it is one of the worst, and its value.
    text : Markup
        Its lines, ready for a page.
    """

    name: str
    said: str
    text: Markup


@dataclass(frozen=True)
class Worst:
    """The worst items of a system."""

    title: str
    open: tuple[Aligned, ...]
    folded: tuple[Aligned, ...]


def worst_of(story: Story) -> tuple[Worst, ...]:
    """The stored cases by collection and system, the worst first."""
    errors = _errors(story)
    found = []
    cases = story.result.cases
    most = max(LEAST_LINES, MOST_LINES // max(len(cases), 1))
    for number, (place, own) in enumerate(groupby(cases, lambda c: (c.collection, c.system))):
        label = next((r for r in story.whole if r.dims["system"] == place[1]), None)
        shown = tuple(_aligned(c, label, errors, story.page.reading.columns, most) for c in own)
        first = OPEN if number < OPEN_SYSTEMS else 0
        title = ", ".join(filter(None, reversed(place)))
        found.append(Worst(title, shown[:first], shown[first:]))
    return tuple(found)


def about_worst(story: Story) -> tuple[str, str]:
    """Heading and text of the section."""
    item = plural(next((r.item for r in story.whole), "item"))
    measure = _ranking(story)
    most = "" if measure is None else RANKED.get(measure.parts[0], "errors")
    first = f"The {item} with most {most}, the worst first." if most else "The worst first."
    return f"Worst {item}", f"{first} {story.page.reading.text}".strip()


def _ranking(story: Story) -> Measure | None:
    """The first measure that reads the part by which items are the worst; None when not known."""
    found = [measure_of(label) for label in dict.fromkeys(r.label for r in story.whole)]
    measures = [m for m in found if m is not None]
    if story.items is None:
        return None
    worst = story.page.reading.parts or [m.parts[0] for m in measures[:1]]
    return next((m for part in worst for m in measures if m.parts[0] == part), None)


def _aligned(
    case: "Case", row: Row | None, errors: Mapping[Place, str], columns: bool, most: int
) -> Aligned:
    value = "" if row is None else f"{row.label} {figure(case.value, row.scale)}"
    said = (errors.get((case.collection, case.system, case.item), ""), value)
    text = text_of(case.lines[:most], columns=columns)
    if (left := len(case.lines) - most) > 0:
        text += Markup("\n\u2026 {} in result.json").format(counted(left, "more line"))
    return Aligned(case.item, "; ".join(filter(None, said)), text)


def _errors(story: Story) -> dict[tuple[str, str, str], str]:
    """The errors of the items that are shown, in words, by collection, system and item."""
    items, measure = story.items, _ranking(story)
    if items is None or measure is None or not has_sums(items, measure):
        return {}
    own = items.filter(items["item"].is_in([case.item for case in story.result.cases]))
    places = own.select("system", "item").rows()
    collections = own["collection"].to_list() if "collection" in own.columns else [""] * len(own)
    return {
        (collection or "", *place): worst_said(measure, counts)
        for collection, place, counts in zip(
            collections, places, counts_of(own, measure), strict=True
        )
    }


def text_of(lines: Sequence[tuple[str, str]], *, columns: bool = True) -> Markup:
    """Labelled lines as text of a page, the labels in a column.

    Parameters
    ----------
    lines : sequence of (str, str)
        Label and text.
    columns : bool
        Whether words stand in columns; else each line is text with one direction as a whole.

    Examples
    --------
    >>> from truecost.report.cases import text_of
    >>> print(text_of([("REF", "a < b"), ("HYP", "a   b")]))
    REF  a &lt; b
    HYP  a   b
    """
    wide = max((len(label) for label, _ in lines), default=0)
    isolate = _by_word if columns else _whole
    rows: list[Markup] = []
    for label, text in lines:
        if rows and label == lines[0][0]:
            rows.append(Markup(""))  # a further group of the same lines
        if label or text:
            rows.append(Markup("{}  {}").format(label.ljust(wide), isolate(text)))
    return Markup("\n").join(rows)


def _whole(text: str) -> Markup:
    return Markup("<bdi>{}</bdi>").format(text) if turns(text) else Markup.escape(text)


def _by_word(text: str) -> Markup:
    """Blanks stay as they are; a word of a script whose letters are not as wide as others, or that
    is written from right to left, stands alone, as wide as its columns.
    """
    return Markup("").join(
        Markup('<bdi style="width:{}ch">{}</bdi>').format(width(word), word)
        if turns(word) or width(word) != len(word)
        else word
        for word in re.split(r"(\s+)", text)
    )
