"""The sections of the page that every task may have, one function each.

A section function takes a `Story` and gives a `Section`, or None when the result has nothing for
it. The `Page` of a task names its sections in their order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from truecost.core.digits import counted
from truecost.core.results import Row
from truecost.errors import plural
from truecost.gates import Verdict
from truecost.names import PARTS
from truecost.pictures import boards, rows
from truecost.pictures.boards import is_difference
from truecost.pictures.picture import Picture
from truecost.pictures.rows import WEAK
from truecost.pictures.tables import Table, by_measure, of_pairs, slot_of, without_empty_columns
from truecost.prices import COSTS
from truecost.report.items import worst_of
from truecost.report.section import MOST_LINES, Section, joined
from truecost.report.story import Page, Part, Story, goodness, mean_rows, part_of, without_dims
from truecost.report.sums import size_words
from truecost.report.words import listed, measure_of

MEASURES_BESIDE = 5  # each other, with intervals, in a table that is printed
ABOUT_PARTS = (*PARTS, "strategy", "budget", "phase")  # what pictures of subsets leave out


def of_each(draw: Callable[..., Picture], found: Mapping[str, Any]) -> tuple[Picture, ...]:
    """A picture of each part or system that has something to show, named where there are several.

    `found`: by title what is drawn; nothing where that is empty.
    """
    several = len(found) > 1
    return tuple(draw(one, title=name * several) for name, one in found.items() if one)


def leaderboard(story: Story) -> Section | None:
    """Submissions by rank, with the intervals of their values and the places left open."""
    board = story.result.leaderboard
    row = next((r for part in story.parts for r in story.mains(part)), None)
    if not board or row is None:
        return None
    caption = f"{counted(len(story.left_out), 'submission')} left out: not scored"
    table = without_empty_columns(caption, ("submission", "why"), story.left_out)
    picture = boards.leaderboard(board, naive=row.naive, level=row.level)
    text = f"{story.title} of each submission; those of one rank are tied. Data: {_size(row)}."
    return Section("Leaderboard", text, (picture,), (table,))


def subsets(story: Story) -> Section | None:
    """The main measure by subset, for each part; every measure in a table."""
    labels = dict.fromkeys(r.label for r in story.values if "subset" in r.dims)
    if not labels:
        return None
    main = story.main if story.main in labels else next(iter(labels))
    pictures = []
    for name, own in _by_part(story, mean_rows(r for r in story.values if r.label == main)):
        shown, said = chosen_slots(own)
        title = ": ".join(filter(None, (name, said)))
        pictures.append(rows.forest(shown, title=title, size=_size))
    measure = measure_of(main, story.result.task)
    text = f"{measure.title if measure else main} of each subset."
    if any("estimator" in r.dims for r in story.values):
        text += " Means over runs; values of single runs are under All values."
    every = [without_dims(r, ("estimator",)) for r in mean_rows(story.values) if story.in_phase(r)]
    tables = tuple(_every_measure(every)) if len(labels) > 1 else ()
    return Section("Subsets", text, tuple(pictures), tables)


def _every_measure(found: Sequence[Row]) -> Iterator[Table]:
    """Tables that fit a printed page: every measure that has a value, by subset."""
    labels = [*dict.fromkeys(row.label for row in found if row.value is not None)]
    parts = [labels[k : k + MEASURES_BESIDE] for k in range(0, len(labels), MEASURES_BESIDE)]
    for number, part in enumerate(parts, 1):
        place = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        caption = f"Every measure by subset{place}"
        yield by_measure(caption, [row for row in found if row.label in part])


def _by_part(story: Story, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Each part that has rows in the phase of the verdict: its name and these rows."""
    for part in story.parts:
        own = [r for r in rows if part_of(r) == part and story.in_phase(r)]
        if own:
            yield part.name, [without_dims(r, (*ABOUT_PARTS, "estimator")) for r in own]


def _size(row: Row) -> str:
    """The amount of reference of a row of items, or its counts where the sums do not show it."""
    measure = measure_of(row.label, row.task) if row.item != "trial" else None
    said = "" if measure is None else size_words(measure, row.counts)
    return f"{counted(row.n_trials, row.item)}, {said}" if said else rows.rests_on(row)


def chosen_slots(rows: Sequence[Row], most: int = MOST_LINES) -> tuple[list[Row], str]:
    """The rows of as many subsets as a picture holds, the largest and the worst, and what is said.

    They keep their order. A value that rests on too little does not make a subset one of the worst.
    """
    slots = dict.fromkeys(map(slot_of, rows))
    some = [s for s in slots if s != "all"]
    if len(slots) <= most:
        return list(rows), ""
    trials = {slot_of(r): r.n_trials for r in rows}
    sure = [r for r in rows if r.value is not None and not WEAK & {*r.flags}]
    worst = dict.fromkeys(slot_of(r) for r in sorted(sure, key=goodness, reverse=True))
    half = (most - 1) // 2
    bad = [s for s in worst if s != "all"][:half]
    large = [s for s in sorted(some, key=lambda s: -trials[s]) if s not in bad]
    kept = {"all", *bad, *large[: most - 1 - len(bad)]}
    shown = [r for r in rows if slot_of(r) in kept]
    which = f"The {len(bad)} worst subsets and the largest others" if bad else "The largest"
    return shown, f"{which}, {len(kept & set(some))} of {counted(len(some), 'subset')}"


def spending(story: Story) -> Section | None:
    """The total cost of systems, or of budgets, in one currency, stacked by its parts."""
    found = {
        part.name: own
        for part in story.parts
        if any(r.measure == "total_cost" for r in story.whole)
        if len(own := _in_currency(story, part)) > 1
    }
    if not found:
        return None
    text = "Prices times measured amounts, errors included."
    if any("budget" in r.dims for own in found.values() for r in own):
        text += " At the minimum, one more question costs as much as it saves."
    return Section("Total cost", text, of_each(boards.spending, found))


def _in_currency(story: Story, part: Part) -> list[Row]:
    """The total costs of a part of the page and what they are made of, in the phase of the verdict;
    nothing without parts of a cost.
    """
    own = [r for r in story.whole if r.measure in COSTS and part_of(r) == part]
    shown = [r for r in own if story.in_phase(r)]
    return shown if any(r.measure in boards.NAMES and r.value is not None for r in shown) else []


def runs(story: Story) -> Section | None:
    """How far single runs of methods lie apart, for the main measure."""
    drawn = boards.having_runs([r for r in story.whole if r.label == story.main])
    if not drawn:
        return None
    text = "The range of the single runs shows how much depends on chance in training."
    return Section("Single runs", text, (boards.runs(drawn),))


def comparison(story: Story) -> Section | None:
    """Paired differences: the costs of the whole data, the main measure by subset, all of them."""
    if not story.pairs:
        return None
    parts = len(story.parts) > 1
    shown = [story.main] if parts else [*_drawn_measures(story), story.main]
    labels = list(dict.fromkeys(p[0].label for p in story.pairs))
    pairs = sorted(story.pairs, key=lambda p: labels.index(p[0].label))  # stable
    whole = [p for p in pairs if "subset" not in p[0].dims]
    last = story.page.newest([p[0] for p in whole])
    some = [without_dims(row, story.page.named) for row in last if row.label in shown]
    of_measures = {r.label: [s for s in some if s.label == r.label] for r in some}
    apart = len(of_measures) > 1 and len({r.dims["system"] for r in some}) > 1
    groups = of_measures if apart else _by_scale(some)
    pictures = [*of_each(rows.differences, groups)]
    of_subsets = [p[0] for p in pairs if p[0].label == story.main and "subset" in p[0].dims]
    for name, of in _by_part(story, of_subsets):
        chosen, said = chosen_slots(of, MOST_LINES // len({r.dims["system"] for r in of}))
        title = joined("subsets", name)
        title += f": {said[:1].lower()}{said[1:]}" if said else ""
        pictures.append(rows.differences(chosen, title=title))
    if len(pictures) > 1 and len(groups) == 1:
        pictures[0] = replace(pictures[0], title="whole data")
    tables = (of_pairs("Differences and ratios", pairs),)
    text = "If the interval of the paired difference contains 0, the comparison is inconclusive."
    if left := [name for name in labels if whole and name not in of_measures]:
        text += f" Not drawn, but in the table: {listed(left)}."
    return Section("Paired comparison", text, tuple(pictures), tables)


def _drawn_measures(story: Story) -> Sequence[str]:
    """The measures whose differences are drawn: all, unless the page of the task chooses."""
    if story.page.drawn is not None:
        return story.page.drawn(story)
    return list(dict.fromkeys(r.label for r in story.whole))


def _by_scale(found: Sequence[Row]) -> dict[str, list[Row]]:
    """Differences that share an axis, by the names of their measures."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        alike.setdefault((row.scale, row.direction), []).append(row)
    return {listed([*dict.fromkeys(r.label for r in own)]): own for own in alike.values()}


def gates(story: Story) -> Section | None:
    """Values with their intervals against the limits of the gates."""
    if not story.result.gates:
        return None
    found: dict[str, list[Verdict]] = {}
    for v in story.result.gates:
        what = "Differences in" if is_difference(v) else "Values of"
        found.setdefault(f"{what} {v.measure}", []).append(v)
    first = {name: sorted(own, key=lambda v: v.verdict == "pass") for name, own in found.items()}
    text = "A gate is undecided if the interval contains the limit."
    return Section("Gates", text, of_each(boards.gates, first))


def worst_items(story: Story) -> Section:
    """The section of the worst items with their alignments."""
    item = plural(next((r.item for r in story.whole), "item"))
    text = f"The worst first. {story.page.reading.text}".strip()
    return Section(f"Worst {item}", text, cases=worst_of(story))


PAGE = Page(
    sections=(subsets, comparison, gates, worst_items)
)  # of tasks that have none of their own
