"""What pages of tasks show that count items: what the errors are, unit by unit, the worst
items.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from truecost.core.digits import between, counted, figure, scale_of, signed
from truecost.core.results import Row, shown
from truecost.errors import plural
from truecost.outputs.read import frame_of_items
from truecost.report import plots
from truecost.report.declared import Page, Reading
from truecost.report.plots.errors import BREAKDOWNS
from truecost.report.plots.look import short
from truecost.report.plots.units import BANDS
from truecost.report.section import MOST_LINES, Section, drawing_of, told
from truecost.report.sections import comparison, gates, subsets, worst
from truecost.report.story import Part, Story, bare
from truecost.report.sums import ORDERS, clock, precisions
from truecost.report.tables import Table, of_numbers, slot_of, used
from truecost.report.units import Units, has_sums, units_of
from truecost.report.words import measure_of, value

MOST_SYSTEMS = 6  # side by side


MOST_PAIRS = 4  # pictures of two systems


MOST_UNITS = 400  # of a picture of two systems


MOST_SIDES = 60  # rows of the table below such a picture


MOST_MARKS = 60  # of all systems in one picture


ENOUGH = 0.5  # of the usual amount of reference, for a unit to count among the worst


def breakdown(story: Story) -> Section | None:
    """The errors that rates add up, a picture a measure."""
    rows: dict[str, list[Row]] = {}
    for row in story.whole:
        if plots.shares_of(row):
            rows.setdefault(row.label, []).append(bare(row, ("application",)))
    if not rows:
        return None
    drawings = tuple(
        drawing_of(
            plots.error_breakdown,
            of[:MOST_LINES],
            plots.breakdown_height,
            f"Stacked bars of {label}: " + told(f"{_name(r)} {value(r)}" for r in of),
            _of_shares(label, of),
            title=_title(label, of, alone=len(rows) == 1),
        )
        for label, of in rows.items()
    )
    said = [f"{label}: {_kinds(of[0])}" for label, of in rows.items()]
    naive = story.page.naive.output(story.main)
    text = f"{'; '.join(said)}. 100% is {naive}. The thin line is the interval of the whole."
    return Section("What the errors are", text, drawings)


def _kinds(row: Row) -> str:
    """`substitutions, deletions and insertions as shares of the words of the reference`."""
    kinds, _, over = BREAKDOWNS[row.measure]
    names = [name.replace("_", " ") for name in kinds]
    return f"{', '.join(names[:-1])} and {names[-1]} as shares of the {over} of the reference"


def _name(row: Row) -> str:
    slot = slot_of(row)
    return row.dims["system"] + ("" if slot == "all" else f" ({slot})")


def _title(label: str, rows: Sequence[Row], *, alone: bool) -> str:
    """The measure where there are several; of many rows how many are drawn."""
    cut = f"the first {MOST_LINES} of {len(rows)}" if len(rows) > MOST_LINES else ""
    return ", ".join(filter(None, ("" if alone else label, cut)))


def _of_shares(label: str, rows: Sequence[Row]) -> Table:
    """Every kind of error as a share and as an amount."""
    kinds = BREAKDOWNS[rows[0].measure][0]
    over = BREAKDOWNS[rows[0].measure][1]
    timed = rows[0].measure in ("der", "speech_error")

    def said(amount: float) -> str:
        return clock(amount) if timed else f"{amount:.0f}"

    cells = [
        (
            *(r.dims["system"], slot_of(r), shown(r, r.value)),
            between(r.lower, r.upper, r.scale),
            *(figure(share, "%") for share in plots.shares_of(r).values()),
            *(said(r.counts[name]) for name in (*kinds, over)),
        )
        for r in rows
    ]
    names = [name.replace("_", " ") for name in kinds]
    amounts = [f"{name}: {'time' if timed else 'number'}" for name in names]
    header = ("system", "of", label, "interval", *names, *amounts, "reference")
    return used(f"Errors in {label}: numbers", header, cells)


def matching(story: Story) -> Section | None:
    """What BLEU is made of."""
    rows = [bare(r, ("application",)) for r in story.whole]
    rows = plots.with_ngrams(rows)
    if not rows:
        return None
    header = ("system", "of", rows[0].label, *(f"{n}-grams" for n in ORDERS), "brevity penalty")
    cells = [
        (
            *(r.dims["system"], slot_of(r), shown(r, r.value)),
            *(figure(share, "%") for share in precisions(r.counts)),
            *(figure(r.counts.get("brevity_penalty")), f"{r.counts['hypothesis']:.0f}"),
            f"{r.counts['reference']:.0f}",
        )
        for r in rows
    ]
    drawing = drawing_of(
        plots.matching,
        rows[:MOST_LINES],
        plots.matching_height,
        "Shares of n-grams that match: "
        + told(
            f"{_name(r)} {', '.join(figure(p, '%') for p in precisions(r.counts))}" for r in rows
        ),
        used("n-grams: numbers", (*header, "tokens", "reference tokens"), cells),
        title=_title("", rows, alone=True),
    )
    text = (
        "BLEU is the geometric mean of the shares of the n-grams of the output that a reference "
        "has, times the brevity penalty, which is below 1 where the output is shorter than the "
        "references."
    )
    return Section("What BLEU is made of", text, (drawing,))


def unit_by_unit(story: Story) -> Section | None:
    """The main measure of each unit alone: a picture a part."""
    drawings, factor = [], ""
    for part in story.parts:
        every = _units(story, part)
        found = every[:MOST_SYSTEMS]
        if not found or len(found[0]) < 2 or _too_many_items(found[0]):
            continue
        factor = found[0].factor
        chosen, said = _chosen(found)
        drawn = [units.take(chosen) for units in found]
        if len(every) > len(found):
            said = ", ".join(filter(None, (said, f"the first {len(found)} systems")))
        words = f"{story.main} by {factor}: " + told(
            f"{u.names[k]} {u.value(k) or 'undefined'} ({u.system})"
            for k in range(len(chosen))
            for u in drawn
        )
        table = of_numbers(f"{story.main} by {factor}: numbers", [u.numbers() for u in drawn])
        title = ": ".join(filter(None, (part.name, said)))
        drawings.append(
            drawing_of(plots.by_unit, drawn, plots.by_unit_height, words, table, title=title)
        )
    if not drawings:
        return None
    text = (
        f"{story.title} ({story.main}) of each {factor} alone, the worst of the first system on "
        f"top; a single {factor} has no interval of its own. Larger marks rest on more reference."
    )
    if any(len(_units(story, part)) <= BANDS for part in story.parts):
        text += " The band is the interval of the whole."
    return Section(f"By {factor}", text, tuple(drawings))


def _units(story: Story, part: Part) -> list[Units]:
    """The units of each system of a part that have the same names."""
    rows, measure = story.mains(part), measure_of(story.main, story.result.task)
    if story.items is None or measure is None:
        return []
    if not has_sums(story.items, measure):
        return []
    found = [units_of(story.items, row) for row in rows]
    return [u for u in found if u.names == found[0].names and len(u)]


def _too_many_items(units: Units) -> bool:
    """Whether each of many utterances or sentences would be a row: the worst stand below."""
    return "items_as_units" in units.row.flags and len(units) > MOST_LINES


def _chosen(found: Sequence[Units]) -> tuple[list[int], str]:
    """The units that a picture holds, the worst of the first system first, and what is said.

    Of many those with the worst value of any system, where they have half of the usual amount of
    reference, and the largest others.
    """
    first, sign = found[0], 1.0 if found[0].row.direction == "lower" else -1.0
    every = np.array([np.nan_to_num(sign * u.values, nan=-np.inf) for u in found])
    order = np.lexsort((np.arange(len(first)), -every[0]))
    if len(first) <= MOST_LINES and len(first) * len(found) <= 2 * MOST_MARKS:
        return order.tolist(), ""
    most = max(6, min(MOST_LINES, MOST_MARKS // len(found)))
    enough = first.amounts >= ENOUGH * float(np.median(first.amounts))
    rank = np.argsort(np.where(enough, -every.max(axis=0), np.inf), kind="stable")
    kept = dict.fromkeys(rank[: most // 2].tolist())
    largest = np.argsort(-first.amounts, kind="stable").tolist()
    kept |= dict.fromkeys([k for k in largest if k not in kept][: most - len(kept)])
    said = f"The {most // 2} worst and the largest others, {most} of "
    return [k for k in order.tolist() if k in kept], said + counted(len(first), first.factor)


def paired(story: Story) -> Section | None:
    """Which units got better and which worse, of each system against its baseline."""
    drawings, text, edge = [], "", False
    for part in story.parts:
        found = {u.system: u for u in _units(story, part)}
        for row, _ in story.main_pairs(part)[:MOST_PAIRS]:
            pair = [found.get(row.baseline or ""), found.get(row.dims["system"])]
            both = [u for u in pair if u is not None and len(u) <= MOST_UNITS]
            if len(both) < 2 or len(both[0]) < 2:
                continue
            title = f"{row.dims['system']} against {row.baseline}"
            title = ", ".join(filter(None, (title, part.name)))
            sides = plots.sides_of(*both)
            words = f"{title}: " + _told_sides(sides, both[0].factor)
            table = _of_sides(title, both, sides)
            drawings.append(
                drawing_of(
                    *(plots.paired_units, both, plots.paired_units_height, words, table),
                    title=title,
                    square=True,
                )
            )
            text = text or _about_sides(both[0])
            edge = edge or plots.beyond(both) > 0
    if not drawings:
        return None
    if len(drawings) == 1:  # the axes name both systems
        drawings = [replace(drawings[0], title="")]
    text += " Hollow marks on the edge lie further out: the table has their values." if edge else ""
    factor = plural(next(iter(found.values())).factor)
    return Section(f"Better and worse {factor}", text, tuple(drawings))


def _about_sides(units: Units) -> str:
    side = "below" if units.row.direction == "lower" else "above"
    return (
        f"Each mark is one {units.factor}: {side} the diagonal it got better. Larger marks rest on "
        f"more reference. A single {units.factor} decides nothing; the paired comparison of all "
        f"does."
    )


def _told_sides(sides: Sequence[str], factor: str) -> str:
    said = [f"{state} {sides.count(state)}" for state in ("better", "worse", "same")]
    return f"{', '.join(said)} of {counted(len(sides), factor)}"


def _of_sides(title: str, both: Sequence[Units], sides: Sequence[str]) -> Table:
    """Both values and their difference, the largest change for the worse first; of many units the
    largest changes either way.
    """
    old, new = both
    sign = 1.0 if old.row.direction == "lower" else -1.0
    change = new.values - old.values
    order = np.argsort(-np.nan_to_num(sign * change, nan=-np.inf), kind="stable").tolist()
    caption = f"{title}: numbers"
    if len(order) > MOST_SIDES:
        caption += f", the {MOST_SIDES} largest changes of {counted(len(order), old.factor)}"
        large = np.argsort(-np.abs(np.nan_to_num(change)), kind="stable")[:MOST_SIDES]
        order = [k for k in order if k in {*large.tolist()}]
    scale = scale_of(old.row.shown_in, difference=True)
    cells = [
        (
            *(old.names[k], old.sizes[k], old.value(k), new.value(k)),
            *(signed(float(change[k]), scale) if sides[k] else "", sides[k]),
        )
        for k in order
    ]
    names = (old.factor, "of", short(old.system), short(new.system))
    return used(caption, (*names, f"difference in {old.row.label}", "verdict"), cells)


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
