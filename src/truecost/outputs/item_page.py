"""What pages of tasks show that count items: utterances, sentences, recordings."""

from collections.abc import Callable, Sequence

from truecost.outputs.item_sections import breakdown, matching, paired, unit_by_unit
from truecost.outputs.read import frame_of_items
from truecost.report.section import Section
from truecost.report.sections import comparison, gates, subsets, worst
from truecost.report.story import Story
from truecost.task import Page, Reading

Drawn = Callable[[Story], Section | None]
PLAIN = Reading()


def item_page(reading: Reading = PLAIN, sections: Sequence[Drawn] = ()) -> Page:
    """The page of a task of items.

    Parameters
    ----------
    reading : Reading
        How its worst items are shown.
    sections : sequence of callable
        Sections of its own, which come first.
    """
    return Page(
        sections=(
            *sections,
            *(breakdown, matching, subsets, comparison, gates),
            *(unit_by_unit, paired, worst),
        ),
        reading=reading,
        items=frame_of_items,
    )
