"""The sections of the page that show pictures, one function each.

A section function takes a `Story` and gives a `Section`, or None when the result has nothing for
it. To add one, write it and name it in `SECTIONS`, in the order of the page.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from truecost.digits import between, figure, scale_of
from truecost.gates import Verdict
from truecost.names import PARTS
from truecost.report import plots
from truecost.report.cases import about_worst, worst_of
from truecost.report.curve_sections import calibration, det, threshold
from truecost.report.deployed_checks import checks
from truecost.report.deployed_sections import (
    by_subset,
    machine_against_human,
    parts_with,
    ratios,
    what_was_collected,
)
from truecost.report.drawing import Drawing
from truecost.report.item_sections import breakdown, matching, paired, unit_by_unit
from truecost.report.lifelong_helped import (
    against_cost,
    forgetting,
    lifelong_set,
    with_penalty,
)
from truecost.report.lifelong_rows import newest
from truecost.report.lifelong_sections import across_time, how_it_adds_up, under_policies
from truecost.report.many import counted
from truecost.report.method_sections import claims, variance
from truecost.report.numbers import of_differences, of_gates, of_rows, slot_of
from truecost.report.online_curves import over_the_stream, streams
from truecost.report.online_sections import (
    DRAWN,
    before_and_after,
    by_budget,
    passive_and_active,
)
from truecost.report.plane_sections import by_threshold, trade_off
from truecost.report.plots.bars import costs_of
from truecost.report.plots.limits import is_difference
from truecost.report.plots.rows import WEAK
from truecost.report.resource_sections import resources
from truecost.report.search_sections import (
    all_queries,
    det_of_terms,
    scores,
    side_by_side,
    value_by_threshold,
    worst_queries,
)
from truecost.report.search_verdict import VALUES
from truecost.report.section import MOST_LINES, Section, comma, drawing_of, told
from truecost.report.spurious_sections import is_predictor, spurious
from truecost.report.story import Story, bare, goodness, means, part_of
from truecost.report.tables import of_numbers, of_pairs, of_standings, used
from truecost.report.words import at_best, listed, measure_of, naive_of, system_of, value
from truecost.results import Row, shown, verdict_of

ABOUT_PARTS = (*PARTS, "strategy", "budget", "phase")  # what pictures of subsets leave out
MOST_BARS = 16  # of one picture; more are drawn by application
MOST_ROWS = 400  # of one table
ENTROPIES = ("cnxe", "min_cnxe")  # of searches: they and their values share an axis


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
        reference=row.reference,
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


def bars(story: Story) -> Section | None:
    """Actual and minimum normalised costs; one picture, or one an application."""
    if story.by_items:  # what their errors are says more
        return None
    costs = [r for r in means(story.whole) if r.label in story.costs and not is_predictor(r)]
    rows = [bare(r, ("estimator",)) for r in costs_of(costs)]
    # Costs of one kind together, and the collections of an application side by side.
    rows.sort(key=lambda r: (story.costs.index(r.label), story.parts.index(part_of(r))))
    rows = list({(r.label, *r.dims.items()): r for r in map(_bound, rows)}.values())
    if not rows:
        return None
    groups = {"": rows}
    if len(plots.bars_of(rows)) > MOST_BARS:
        groups = {}
        for row in rows:
            groups.setdefault(row.dims.get("application", ""), []).append(
                bare(row, ("application",))
            )
    drawings = [
        drawing_of(
            plots.cost_bars,
            of,
            plots.bars_height,
            _in_words("Bars with intervals", of),
            of_numbers("Normalised costs: numbers", [of_rows(of)]),
            title=name or ("in every application" if len(groups) > 1 else ""),
        )
        for name, of in groups.items()
    ]
    text = f"1 is the naive system: {naive_of('trials')}. The thin line is the interval."
    if any("estimator" in r.dims for r in story.whole):
        text += " Means over runs."
    alone = [b.actual.label for b in plots.bars_of(rows) if b.minimum is None]
    if best := [name for name in dict.fromkeys(alone) if at_best(name)]:
        text += (
            f" {listed(best)} {'takes' if len(best) == 1 else 'take'} what is best for these very "
            f"data and {'stays' if len(best) == 1 else 'stay'} below 1 even with random scores."
        )
    if any(bar.minimum is not None for bar in plots.bars_of(rows)):
        text += (
            " The full part of a bar is the least cost that another threshold or calibration would "
            "give."
        )
    return Section("Normalised costs", text, tuple(drawings))


def _bound(row: Row) -> Row:
    """A row without its application when that does not enter the value."""
    measure = measure_of(row.label, row.task)
    return bare(row, ("application",)) if measure is not None and not measure.uses else row


def subsets(story: Story) -> Section | None:
    """The main measure by subset, for each part; of AB/BA every ratio."""
    if story.deployed:
        return _ratios_by_subset(story)
    labels = dict.fromkeys(r.label for r in story.values if "subset" in r.dims)
    if not labels:
        return None
    main = story.main if story.main in labels else next(iter(labels))
    drawings = []
    for part in story.parts:
        rows = [r for r in story.values if r.label == main and part_of(r) == part]
        rows = [r for r in rows if story.in_phase(r)]
        of = [bare(r, (*ABOUT_PARTS, "estimator")) for r in means(rows)]
        shown, said = _chosen_slots(of)
        table = of_numbers(f"Subsets{comma(part.name)}: numbers", [of_rows(shown)])
        words = _in_words("Values by subset with intervals", shown)
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


def _ratios_by_subset(story: Story) -> Section | None:
    """Every ratio by subset, of the estimator to trust."""
    drawings = []
    for label in dict.fromkeys(r.label for r in story.values if "subset" in r.dims):
        for name, rows in parts_with([r for r in story.values if r.label == label], story):
            of = [bare(r, ("estimator",)) for r in means(rows)]
            shown, said = _chosen_slots(of, MOST_LINES // len({r.dims["system"] for r in of}))
            slots = [*dict.fromkeys(map(slot_of, shown))]
            shown.sort(key=lambda r: slots.index(slot_of(r)))  # deployments side by side
            words = _in_words("Ratios by subset with intervals", shown)
            drawings.append(by_subset(shown, ": ".join(filter(None, (name, said))), words))
    text = "Each subset by the estimator to trust, with its own items and labels."
    return Section("Subsets", text, tuple(drawings)) if drawings else None


def _chosen_slots(rows: Sequence[Row], most: int = MOST_LINES) -> tuple[list[Row], str]:
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
    if story.lifelong:  # strategies tell systems apart
        last = newest([p[0] for p in whole])
        some = [bare(row, ("version",)) for row in last if row.label in shown]
    else:
        some = [bare(p[0], ("strategy", "budget")) for p in whole if p[0].label in shown]
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
            of, said = _chosen_slots(of, MOST_LINES // len({r.dims["system"] for r in of}))
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


def _drawn(story: Story) -> list[str]:
    """The measures whose differences are drawn: costs; of items all, of searches their values."""
    if story.online:
        return [name for name in DRAWN if any(r.label == name for r in story.whole)]
    if story.lifelong:
        return []  # the main measure under each policy; all others stand in the table
    if story.searched:
        return [*VALUES, *(r.label for r in story.whole if r.measure in ENTROPIES)]
    return list(dict.fromkeys(r.label for r in story.whole)) if story.by_items else [*story.costs]


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


SECTIONS: tuple[Callable[[Story], Section | None], ...] = (
    *(claims, bars, spurious, breakdown, matching, ratios, trade_off, by_threshold),
    *(runs, variance, det, threshold),
    *(side_by_side, det_of_terms, value_by_threshold),
    *(before_and_after, by_budget, over_the_stream, streams, passive_and_active),
    *(under_policies, across_time, how_it_adds_up, with_penalty, forgetting),
    *(lifelong_set, against_cost),
    *(calibration, scores, subsets, comparison, gates, unit_by_unit, paired, worst),
    *(what_was_collected, machine_against_human, checks),
    *(all_queries, worst_queries, resources),
)


def _in_words(what: str, rows: Sequence[Row]) -> str:
    return f"{what}: " + told(
        f"{r.dims['system']}{_about(r)} {r.label} {shown(r, r.value)} "
        f"{between(r.lower, r.upper, r.scale)}"
        for r in rows
    )


def _about(row: Row) -> str:
    slot = slot_of(row)
    return "" if slot == "all" else f" ({slot})"
