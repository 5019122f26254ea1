"""Sections of pages of several tasks: systems described one by one, over a stream or across time;
kinds of errors, units, and the worst items.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from truecost.core.digits import counted, figures, title_of
from truecost.core.results import Row
from truecost.errors import plural
from truecost.names import PARTS
from truecost.outputs import pictures
from truecost.outputs.read import frame_of_items
from truecost.report.items import Units, has_sums, units_of
from truecost.report.section import Section, joined
from truecost.report.sections import comparison, gates, of_each, subsets, worst_items
from truecost.report.story import Page, Part, Reading, Story, without_dims
from truecost.report.words import measure_of

MOST_CURVES = 4  # whose curves are drawn


class Described(Protocol):
    """The description of a system in a result, besides its rows."""

    @property
    def dims(self) -> dict[str, str]:
        """The scope of the description: system, collection, application, strategy."""


D = TypeVar("D", bound=Described)
T = TypeVar("T")


def of_part(found: Iterable[D], part: Part) -> list[D]:
    """The descriptions of a part, in their order."""
    dims = dict(part.dims)
    return [d for d in found if all(d.dims.get(n, "") == dims.get(n, "") for n in PARTS)]


def whose(dims: dict[str, str]) -> dict[str, str | None]:
    """Part, system and strategy of a row of a stored table."""
    return {
        "part": title_of({name: dims[name] for name in PARTS if name in dims}),
        "system": dims.get("system", ""),
        "strategy": dims.get("strategy"),
    }


def thinned(places: Sequence[T], most: int) -> list[T]:
    """Some of many places, evenly, the first and the last among them."""
    count = len(places)
    if count <= most:
        return [*places]
    return [places[k] for k in sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})]


def left_out_of(shown: int, every: int) -> str:
    """A note that not all systems are drawn."""
    return f" The first {shown} of {every} systems are drawn." if shown < every else ""


def plain(row: Row) -> str:
    """A value with its interval, or why there is none."""
    if row.value is None:
        return row.reason or "undefined"
    return " ".join(filter(None, figures(row)))


MOST_SYSTEMS = 6  # in one row
MOST_DOTS = 800  # of all pictures of two systems
MOST_ROWS = 48  # of a picture of units
FEW_ITEMS = 24  # where each is a unit of its own


def breakdown(story: Story) -> Section:
    """The errors that rates add up, a picture a measure."""
    found = _by_measure(story, pictures.shares_of)
    text = "The parts of a bar add up to the value, which is the dot on its interval."
    return Section("Kinds of errors", text, of_each(pictures.error_breakdown, found))


def matching(story: Story) -> Section:
    """The parts of BLEU."""
    found = _by_measure(story, pictures.has_ngrams)
    text = (
        "BLEU is the geometric mean of the shares of n-grams that a reference has, times the "
        "brevity penalty, which is below 1 where the output is shorter than the references."
    )
    return Section("Parts of BLEU", text, of_each(pictures.matching, found))


def _by_measure(story: Story, fits: Callable[[Row], object]) -> dict[str, list[Row]]:
    """The fitting rows of each measure."""
    rows: dict[str, list[Row]] = {}
    for row in filter(fits, story.whole):
        rows.setdefault(row.label, []).append(without_dims(row, ("application",)))
    return rows


def unit_by_unit(story: Story) -> Section:
    """The main measure of each unit alone: a picture a part."""
    drawn, factor, system = [], "", ""
    for part in story.parts:
        every = _units(story, part)
        found = every[:MOST_SYSTEMS]
        if not found or len(found[0]) < 2:
            continue
        first = found[0]
        if "items_as_units" in first.row.flags and len(first) > FEW_ITEMS:
            continue  # each utterance would be a row: the worst stand below
        factor, system = first.factor, first.system
        sign = 1.0 if first.row.direction == "lower" else -1.0
        worst = np.argsort(-np.nan_to_num(sign * first.values, nan=-np.inf), kind="stable").tolist()
        many = len(first) > MOST_ROWS
        said = f"the {MOST_ROWS} worst of {counted(len(first), factor)}" if many else ""
        cut = f"the first {len(found)} systems" if len(every) > len(found) else ""
        shown = [units.take(worst[:MOST_ROWS]) for units in found]
        drawn.append(pictures.by_unit(shown, title=joined(part.name, said, cut)))
    text = f"{story.title} of each {factor} alone, the worst of {system} on top."
    return Section(f"By {factor}", text, tuple(drawn))


def _units(story: Story, part: Part) -> list[Units]:
    """The units of each system of a part that have the same names."""
    rows, measure = story.mains(part), measure_of(story.main, story.result.task)
    if story.items is None or measure is None or not has_sums(story.items, measure):
        return []
    found = [units_of(story.items, row) for row in rows]
    return [u for u in found if u.names == found[0].names and len(u)]


def paired(story: Story) -> Section:
    """The units that got better and worse, for each system against its baseline."""
    drawn, factor, left = [], "", MOST_DOTS
    for part in story.parts:
        found = {u.system: u for u in _units(story, part)}
        for row, _ in story.main_pairs(part):
            sides = (found.get(row.baseline or ""), found.get(row.dims["system"]))
            both = [u for u in sides if u is not None and 2 <= len(u) <= left]
            if len(both) == 2:
                left -= len(both[0])
                factor, pair = both[0].factor, f"{row.dims['system']} against {row.baseline}"
                drawn.append(pictures.paired_units(both, title=joined(pair, part.name)))
    text = (
        f"Each mark is one {factor}. A single {factor} shows little; see the paired comparison of "
        f"all."
    )
    return Section(f"Better and worse {plural(factor)}", text, tuple(drawn))


Drawn = Callable[[Story], Section | None]
PLAIN = Reading()


def item_page(reading: Reading = PLAIN, sections: Sequence[Drawn] = ()) -> Page:
    """The page of a task of items: sections of its own first; how its worst items are shown
    (`reading`).
    """
    return Page(
        sections=(
            *sections,
            *(breakdown, matching, subsets, comparison, gates),
            *(unit_by_unit, paired, worst_items),
        ),
        reading=reading,
        items=frame_of_items,
    )
