"""The sections of the page that every task may have, one function each.

A section function takes a `Story` and gives a `Section`, or None when the result has nothing for
it. The `Page` of a task names its sections in their order.
"""

from collections.abc import Sequence
from dataclasses import replace

from truecost.core.digits import between, counted, figure, scale_of
from truecost.core.results import Row, shown, verdict_of
from truecost.gates import Verdict
from truecost.names import PARTS
from truecost.report import plots
from truecost.report.cases import about_worst, worst_of
from truecost.report.declared import Page
from truecost.report.plots.limits import is_difference
from truecost.report.plots.rows import WEAK
from truecost.report.section import MOST_LINES, Drawing, Section, comma, drawing_of, told
from truecost.report.story import Story, bare, goodness, means, part_of
from truecost.report.tables import (
    of_differences,
    of_gates,
    of_numbers,
    of_pairs,
    of_rows,
    of_standings,
    slot_of,
    used,
)
from truecost.report.words import listed, measure_of, system_of, value

ABOUT_PARTS = (*PARTS, "strategy", "budget", "phase")  # what pictures of subsets leave out
MOST_ROWS = 400  # of one table


def leaderboard(story: Story) -> Section | None:
    """Submissions by rank, with the intervals of their values and the places left open."""
    board = story.result.leaderboard
    if not board:
        return None
    row = next(iter(story.mains(story.parts[0])), None) if story.parts else None
    if row is None:
        return None
    drawing = drawing_of(
        plots.leaderboard,
        board,
        plots.leaderboard_height,
        "Values with intervals by rank: "
        + told(f"{s.rank} {s.system} {figure(s.value, scale_of(s.shown_in))}" for s in board),
        None,
        naive=row.naive,
    )
    text = (
        f"{story.title} ({story.main}) of each submission with its interval. Submissions of one "
        f"rank are tied; hollow ones are worse than the first."
    )
    tables = [of_standings("Submissions by rank", board, row.level)]
    if story.left_out:
        caption = f"{counted(len(story.left_out), 'submission')} left out: not scored"
        tables.append(used(caption, ("submission", "why"), story.left_out))
    return Section("Leaderboard", text, (drawing,), tuple(tables))


def subsets(story: Story) -> Section | None:
    """The main measure by subset, for each part."""
    labels = dict.fromkeys(r.label for r in story.values if "subset" in r.dims)
    if not labels:
        return None
    main = story.main if story.main in labels else next(iter(labels))
    drawings = []
    for part in story.parts:
        rows = [r for r in story.values if r.label == main and part_of(r) == part]
        rows = [r for r in rows if story.in_phase(r)]
        of = [bare(r, (*ABOUT_PARTS, "estimator")) for r in means(rows)]
        shown, said = chosen_slots(of)
        table = of_numbers(f"Subsets{comma(part.name)}: numbers", [of_rows(shown)])
        words = in_words("Values by subset with intervals", shown)
        title = ": ".join(filter(None, (part.name, said)))
        drawings.append(
            drawing_of(plots.forest, shown, plots.forest_height, words, table, title=title)
        )
    measure = measure_of(main, story.result.task)
    text = f"{measure.title if measure else main} ({main}) of each subset, with its own counts"
    some = [r for r in story.values if "subset" in r.dims and r.value is not None]
    weak = any(WEAK & {*r.flags} for r in some)
    text += ". Hollow marks rest on too few units or errors to say anything." if weak else "."
    if any("estimator" in r.dims for r in story.values):
        text += " Means over runs; what one run gives stands under All values."
    return Section("Subsets", text, tuple(drawings))


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
    which = f"The {len(bad)} worst and the largest others" if bad else "The largest"
    return shown, f"{which}, {len(kept & set(some))} of {counted(len(some), 'subset')}"


def runs(story: Story) -> Section | None:
    """How far single runs of methods lie apart, for the main measure."""
    rows = [r for r in story.whole if r.label == story.main]
    drawn = plots.having_runs(rows)
    if not drawn:
        return None
    words = "Ranges of runs: " + told(
        f"{system_of(r)} {shown(r, r.counts['lowest_run'])} to {shown(r, r.counts['highest_run'])}"
        for r in drawn
    )
    header = ("method", "of", story.main, "lower", "upper", "runs", "lowest run", "highest run")
    cells = [
        (
            *(r.dims["system"], part_of(r).name or "all", shown(r, r.value)),
            *(shown(r, r.lower), shown(r, r.upper), str(int(r.counts["runs"]))),
            *(shown(r, r.counts["lowest_run"]), shown(r, r.counts["highest_run"])),
        )
        for r in drawn
    ]
    text = (
        "The interval of the mean says how well a method does over runs and data; the range of the "
        "single runs how much chance in training decides."
    )
    table = used("Runs: numbers", header, cells)
    return Section(
        "Single runs", text, (drawing_of(plots.runs, drawn, plots.runs_height, words, table),)
    )


def comparison(story: Story) -> Section | None:
    """Paired differences: the costs of the whole data, the main measure by subset, all of them."""
    if not story.pairs:
        return None
    parts = len(story.parts) > 1
    shown = [story.main] if parts else [*_drawn(story), story.main]
    labels = list(dict.fromkeys(p[0].label for p in story.pairs))
    pairs = sorted(story.pairs, key=lambda p: labels.index(p[0].label))  # stable
    whole = [p for p in pairs if "subset" not in p[0].dims]
    last = story.page.newest([p[0] for p in whole])
    some = [bare(row, story.page.named) for row in last if row.label in shown]
    of_measures = {r.label: [s for s in some if s.label == r.label] for r in some}
    apart = len(of_measures) > 1 and len({r.dims["system"] for r in some}) > 1
    groups = of_measures if apart else _by_scale(some)
    several = len(groups) > 1
    drawings = [_differences(rows, name if several else "") for name, rows in groups.items()]
    for part in story.parts:
        of = [
            bare(p[0], (*ABOUT_PARTS, "estimator"))
            for p in story.pairs
            if p[0].label == story.main and part_of(p[0]) == part and "subset" in p[0].dims
            if story.in_phase(p[0])
        ]
        if of:
            of, said = chosen_slots(of, MOST_LINES // len({r.dims["system"] for r in of}))
            title = f"subsets{comma(part.name)}"
            drawings.append(
                _differences(of, f"{title}: {said[:1].lower()}{said[1:]}" if said else title)
            )
    if len(drawings) > 1 and groups and not several:
        drawings[0] = _differences(some, "whole data")
    by_subset = [p for p in pairs if "subset" in p[0].dims]
    tables = [of_pairs("Differences and ratios", whole, MOST_ROWS)] if whole else []
    if by_subset:
        tables.append(of_pairs("Differences and ratios by subset", by_subset, MOST_ROWS))
    text = (
        "The same resampled units weigh both systems: an interval of the difference that holds 0 "
        "decides nothing."
    )
    if left := [name for name in labels if whole and name not in of_measures]:
        text += f" Not drawn, but in the table: {listed(left)}."
    estimators = {p[0].dims["estimator"] for p in story.pairs if "estimator" in p[0].dims}
    if estimators:
        text += f" Of each method {_ESTIMATED[min(estimators)]} is compared."
    return Section("Paired comparison", text, tuple(drawings), tuple(tables))


def _drawn(story: Story) -> Sequence[str]:
    """The measures whose differences are drawn: all, unless the page of the task chooses."""
    if story.page.drawn is not None:
        return story.page.drawn(story)
    return list(dict.fromkeys(r.label for r in story.whole))


def _by_scale(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Differences that share an axis, by the names of their measures."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.scale, []).append(row)
    return {listed([*dict.fromkeys(r.label for r in of)]): of for of in found.values()}


_ESTIMATED = {"mean": "the mean over runs", "run": "one run"}


def _differences(every: Sequence[Row], title: str) -> Drawing:
    rows = every[:MOST_LINES]
    if len(every) > len(rows):
        title = ", ".join(
            filter(None, (title, f"the first {len(rows)} of {len(every)} differences"))
        )
    words = "Differences with intervals: " + told(
        f"{r.dims['system']} against {r.baseline}{_about(r)} {r.label} {value(r)} {verdict_of(r)}"
        for r in rows
    )
    caption = f"Differences{comma(title)}: numbers"
    return drawing_of(
        plots.differences,
        rows,
        plots.differences_height,
        words,
        of_numbers(caption, [of_differences(rows)]),
        title=title,
    )


def gates(story: Story) -> Section | None:
    """Values with their intervals against the limits of the gates."""
    verdicts = story.result.gates
    if not verdicts:
        return None
    found: dict[tuple[bool, str], list[Verdict]] = {}
    for v in verdicts:
        found.setdefault((is_difference(v), v.measure), []).append(v)
    drawings = tuple(_gates(of, name, difference) for (difference, name), of in found.items())
    if len(drawings) == 1:
        drawings = (replace(drawings[0], title=""),)
    text = "Each interval against its limit; a gate whose interval holds the limit is undecided."
    return Section("Gates", text, drawings)


def _gates(verdicts: Sequence[Verdict], measure: str, difference: bool) -> Drawing:
    """The gates on one measure, or on differences in it; those that did not pass before others."""
    shown = sorted(verdicts, key=lambda v: v.state == "pass")[:MOST_LINES]
    title = f"Differences in {measure}" if difference else f"Values of {measure}"
    if len(verdicts) > len(shown):
        title += f", {len(shown)} of {counted(len(verdicts), 'gate')}"
    words = f"{title}: " + told(f"{v.about} {v.found} {v.bound} {v.state}" for v in shown)
    table = of_numbers(f"Gates, {title[:1].lower()}{title[1:]}: numbers", [of_gates(shown)])
    return drawing_of(plots.gates, shown, plots.gates_height, words, table, title=title)


def worst(story: Story) -> Section | None:
    """How the worst items were aligned."""
    cases = worst_of(story)
    return Section(*about_worst(story), cases=cases) if cases else None


def in_words(what: str, rows: Sequence[Row]) -> str:
    """A picture of rows in words: whose values they are, and their intervals."""
    return f"{what}: " + told(
        f"{r.dims['system']}{_about(r)} {r.label} {shown(r, r.value)} "
        f"{between(r.lower, r.upper, r.scale)}"
        for r in rows
    )


def _about(row: Row) -> str:
    slot = slot_of(row)
    return "" if slot == "all" else f" ({slot})"


PAGE = Page(sections=(subsets, comparison, gates, worst))  # of tasks that have none of their own
