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

from truecost.digits import figure
from truecost.errors import plural
from truecost.names import Task
from truecost.report.story import Story
from truecost.report.sums import errors_said
from truecost.report.units import counts_of, has_sums
from truecost.report.words import measure_of, turns
from truecost.results import Row
from truecost.tasks.showing import width

if TYPE_CHECKING:
    from truecost.study.outcome import Case

OPEN = 3  # of a system
OPEN_SYSTEMS = 3  # of the others all are folded
READING = {
    "transcripts": "The utterances with most errors, the worst first. S, D and I stand below a "
    "substitution, a deletion and an insertion, *** where a side has no word.",
    "translation": "The sentences with most words that no reference has, the worst first. Such "
    "words stand in brackets.",
    "diarization": "The recordings with most time in error, the worst first: which speaker of the "
    "output was taken for which, then the stretches of time with most error.",
}


@dataclass(frozen=True)
class Aligned:
    """One item.

    Attributes
    ----------
    name, said : str
        Its id; its value and errors in words.
    text : Markup
        Its lines, ready for a page.
    """

    name: str
    said: str
    text: Markup


@dataclass(frozen=True)
class Worst:
    """The worst items of a system.

    Attributes
    ----------
    title : str
    open, folded : tuple of Aligned
    """

    title: str
    open: tuple[Aligned, ...]
    folded: tuple[Aligned, ...]


def worst_of(story: Story) -> tuple[Worst, ...]:
    """The stored cases by collection and system, the worst first."""
    errors = _errors(story)
    found = []
    cases = story.result.cases
    for number, (place, own) in enumerate(groupby(cases, lambda c: (c.collection, c.system))):
        label = next((r for r in story.whole if r.dims["system"] == place[1]), None)
        shown = tuple(_aligned(c, label, errors, story.result.task) for c in own)
        first = OPEN if number < OPEN_SYSTEMS else 0
        title = ", ".join(filter(None, reversed(place)))
        found.append(Worst(title, shown[:first], shown[first:]))
    return tuple(found)


def about_worst(story: Story) -> tuple[str, str]:
    """Heading and text of the section."""
    item = plural(next((r.item for r in story.whole), "item"))
    return f"Worst {item}", READING.get(story.result.task, "The worst first.")


def _aligned(
    case: "Case", row: Row | None, errors: Mapping[tuple[str, str, str], str], task: Task
) -> Aligned:
    value = "" if row is None else f"{row.label} {figure(case.value, row.scale)}"
    said = (value, errors.get((case.collection, case.system, case.item), ""))
    return Aligned(case.item, "; ".join(filter(None, said)), text_of(case.lines, task))


def _errors(story: Story) -> dict[tuple[str, str, str], str]:
    """The errors of the items that are shown, in words, by collection, system and item."""
    items, row = story.items, next(iter(story.whole), None)
    measure = None if row is None else measure_of(row.label)
    if items is None or measure is None or not has_sums(items, measure):
        return {}
    if story.result.task == "translation":  # the lines say which n-grams match
        return {}
    own = items.filter(items["item"].is_in([case.item for case in story.result.cases]))
    places = own.select("system", "item").rows()
    collections = own["collection"].to_list() if "collection" in own.columns else [""] * len(own)
    return {
        (collection or "", *place): errors_said(measure, counts)
        for collection, place, counts in zip(
            collections, places, counts_of(own, measure), strict=True
        )
    }


def text_of(lines: Sequence[tuple[str, str]], task: Task) -> Markup:
    """Labelled lines as text of a page, the labels in a column.

    Parameters
    ----------
    lines : sequence of (str, str)
        Label and text.
    task : str
        Translations are sentences, each in its own direction as a whole; of all others the words
        stand in columns.

    Returns
    -------
    Markup

    Examples
    --------
    >>> from truecost.report.cases import text_of
    >>> print(text_of([("REF", "a < b"), ("HYP", "a   b")], "transcripts"))
    REF  a &lt; b
    HYP  a   b
    """
    wide = max((len(label) for label, _ in lines), default=0)
    isolate = _whole if task == "translation" else _by_word
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
