"""The sections of a person's help across time, of forgetting and of the lifelong set."""

from collections.abc import Sequence
from functools import partial

from truecost.core.digits import figure
from truecost.core.results import Row, figures
from truecost.names import PARTS
from truecost.report import plots
from truecost.report.plots.lifelong_sequence import SAID, versions_of
from truecost.report.plots.penalised import SAME_AS_BASE, Penalised, groups_of
from truecost.report.section import MOST_LINES, Drawing, Section, drawing_of, told
from truecost.report.story import Part, Story, bare, part_of
from truecost.report.tables import Table, used
from truecost.report.words import value
from truecost.tasks.lifelong.descriptions import LifelongDescription
from truecost.tasks.lifelong.newest_rows import FORGETTING, HELP, OFFLINE, STATES, lived, newest
from truecost.tasks.lifelong.sections import (
    MOST_PLACES,
    ends_in,
    figure_in,
    left_out_of,
    lives_of,
    name_of,
    shown_lives,
    thinned,
)

LOST = (
    "Of the newest version, from the same matrix of versions and times. Forgetting: how much worse "
    "it is on past data than the version that was newest then (forgetting_first; what it gained "
    "there is the backward transfer), and than the best of all versions before it "
    "(forgetting_max: a maximum lies above the truth by chance, the more so with few items). "
    "Forward transfer: what was gained on data before it was learnt from."
)
TOOK = "Help is counted for a run, in its own units; help offline is in no score."
ABOUT = (*PARTS, "system", "strategy")
NAMES = {
    "base_score": "base",
    "adapted_score": "adapted",
    "penalty": "penalty",
    "penalised_score": "penalised",
    "generalisation_gain": "gain",
}


def with_penalty(story: Story) -> Section | None:
    """Base, adapted and penalised scores as bars (paper 004, Fig. 4)."""
    drawings = [d for part in story.parts for d in _bars(story, part)]
    if not drawings:
        return None
    text = (
        "The cost of the person's help in the unit of the score: what was corrected, made strictly "
        "wrong, less the same put right (S_imp - S_cor; paper 004, Eq. 1). The hatched part counts "
        "it; the thin lines are the intervals of the base and of the penalised score. The gain is "
        "what the system made of the help beyond the corrections themselves."
    )
    return Section("The price of help", text, tuple(drawings))


def _bars(story: Story, part: Part) -> list[Drawing]:
    """One picture for each score and policy."""
    rows = [r for r in newest(story.whole) if part_of(r) == part and lived(r)]
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.measure in (*STATES, SAME_AS_BASE):
            key = (row.parameters.get("variant", ""), row.dims.get("policy", ""))
            found.setdefault(key, []).append(bare(row, ("policy", "collection", "application")))
    several = len({score for score, _ in found}) > 1
    return [
        _bar(of, ", ".join(filter(None, (score if several else "", policy, part.name))))
        for (score, policy), of in found.items()
        if groups_of(of)
    ]


def _bar(rows: Sequence[Row], title: str) -> Drawing:
    groups = groups_of(rows)[:MOST_LINES]
    kept = [r for g in groups for r in g.rows.values()]
    words = "Scores with the penalty of the help: " + told(
        f"{g.name} {NAMES[m]} {value(g.rows[m])}"
        for g in groups
        for m in ("base_score", "adapted_score", "penalised_score")
        if m in g.rows
    )
    return drawing_of(
        plots.penalised_bars,
        kept,
        plots.penalised_bars_height,
        words,
        _penalised(groups, title),
        title=title,
    )


def _penalised(groups: Sequence[Penalised], title: str) -> Table:
    """All of a system in a row, with the intervals."""
    columns = [c for name in NAMES.values() for c in (name, "its interval")]
    cells = [
        (g.name, *(t for m in NAMES for t in (figures(g.rows[m]) if m in g.rows else ("", ""))))
        for g in groups
    ]
    caption = ", ".join(filter(None, ("Penalised scores", title)))
    return used(f"{caption}: numbers", ("system", *columns), cells)


def forgetting(story: Story) -> Section | None:
    """Forgetting and transfer of each system, and what people did, as tables."""
    rows = [r for r in newest(story.whole) if lived(r)]
    lost = _by_system(rows, FORGETTING, "Forgetting and transfer")
    helped = [
        _by_system(rows, (*HELP, "msr"), "Help on the test data"),
        _by_system(rows, [*OFFLINE], "Help offline"),
    ]
    took = tuple(t for t in helped if t is not None)
    texts = [LOST] * (lost is not None) + [TOOK] * bool(took)
    kept = (*(() if lost is None else (lost,)), *took)
    title = "Help" if lost is None else "Forgetting and transfer"
    title = "Forgetting, transfer and help" if lost is not None and took else title
    return Section(title, " ".join(texts), tables=kept) if kept else None


def _by_system(rows: Sequence[Row], names: Sequence[str], caption: str) -> Table | None:
    """A row for each system and score, and the measures with their intervals side by side."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        if row.measure in names:
            about = (row.dims.get(n, "") for n in ABOUT)
            score = row.parameters.get("variant", "")
            found.setdefault((*about, score), {}).setdefault(row.measure, row)
    known = [n for n in names if any(n in of for of in found.values())]
    if not known:
        return None
    cells = [
        (*about, *(t for n in known for t in (figures(of[n]) if n in of else ("", ""))))
        for about, of in found.items()
    ]
    columns = [c for name in known for c in (name, "its interval")]
    header = (*ABOUT, "score", *columns)
    return used(caption, header, cells)


def lifelong_set(story: Story) -> Section | None:
    """The scores on the lifelong set, before and after each version learnt from it."""
    shown, every = shown_lives(story)
    shown = [(part, d) for part, d in shown if d.stream]
    if not shown:
        return None
    beside = [d for _, d in shown if d.score == shown[0][1].score]
    drawings = [
        _sequence(d, name_of(d, part) if every > 1 else "", beside if d in beside else [])
        for part, d in shown
    ]
    text = (
        "What each version says of the very data that it learns from, before and after: "
        "S(M_i, l_i) of paper 004, section 3. These data were learnt from: the test data tell how "
        "well it generalises."
    )
    return Section("On the lifelong set", text + left_out_of(len(shown), every), tuple(drawings))


def _sequence(
    found: LifelongDescription, name: str, beside: Sequence[LifelongDescription]
) -> Drawing:
    """One picture with its table."""
    by = {(f.version, f.state): f for f in found.stream}
    states = [s for s in SAID if any(f.state == s for f in found.stream)]
    order = versions_of(found)
    rows = []
    for version in thinned(order):
        cells = [version]
        for state in states:
            f = by.get((version, state))
            cells += (
                ["", ""]
                if f is None
                else [figure_in(found, f.value), ends_in(found, f.lower, f.upper)]
            )
        rows.append(cells)
    columns = [c for s in states for c in ("before" if s == "base" else "after", "its interval")]
    title = name or f"{found.score} of each batch"
    thin = f", {MOST_PLACES} of {len(order)}; curves.parquet has all"
    caption = f"{title}: numbers{thin if len(order) > MOST_PLACES else ''}"
    words = f"{found.score} on the lifelong set: " + told(
        f"version {f.version} {f.state} {figure_in(found, f.value)}" for f in found.stream
    )
    return drawing_of(
        plots.lifelong_sequence,
        found,
        partial(_height, beside=beside),
        words,
        used(caption, ("version", *columns), rows),
        title=name,
        beside=beside,
    )


def _height(
    found: LifelongDescription, width: float, *, beside: Sequence[LifelongDescription]
) -> float:
    del beside
    return plots.lifelong_sequence_height(found, width)


def against_cost(story: Story) -> Section | None:
    """Scores against the cost of help, with the area under each curve (paper 004, Fig. 2)."""
    groups: dict[tuple[str, str, str], list[LifelongDescription]] = {}
    for part in story.parts:
        for d in lives_of(story, part):
            if d.curve is not None and d.curve.points:
                groups.setdefault((part.name, d.score, d.curve.cost), []).append(d)
    if not groups:
        return None
    drawings = [_costs(of, part if len(groups) > 1 else "") for (part, _, _), of in groups.items()]
    text = (
        "The score against what the help cost so far: a value holds until the next, the last one "
        "up to the largest cost. The area under it, divided by the range of costs, is one figure "
        "for the whole curve (paper 004, Fig. 2). Bands are pointwise intervals."
    )
    return Section("Score against cost of help", text, tuple(drawings))


def _costs(found: Sequence[LifelongDescription], part: str) -> Drawing:
    """One picture with the points of all its curves."""
    curves = plots.curves_with(found)
    first = found[0]
    words = f"{first.score} against {next(iter(curves.values())).cost} of help. " + told(
        f"{name}: area {figure_in(first, c.area.value)} "
        f"{ends_in(first, c.area.lower, c.area.upper)}, from {figure_in(first, c.points[0].value)} "
        f"to {figure_in(first, c.points[-1].value)}"
        for name, c in curves.items()
    )
    cells = []
    for name, curve in curves.items():
        kept = thinned([str(k) for k in range(len(curve.points))])
        points = [curve.points[int(k)] for k in kept]
        cells += [
            (name, figure(p.cost), figure_in(first, p.value), ends_in(first, p.lower, p.upper))
            for p in points
        ]
        area = (
            figure_in(first, curve.area.value),
            ends_in(first, curve.area.lower, curve.area.upper),
        )
        cells.append((name, f"area up to {figure(curve.maximum)}", *area))
    cost = next(iter(curves.values())).cost
    title = ", ".join(filter(None, (first.score, cost if cost != "cost" else "", part)))
    header = ("system", cost, first.score, "its interval")
    table = used(f"{title}: numbers", header, cells)
    return drawing_of(
        plots.learning_curves, found, plots.learning_curves_height, words, table, title=title
    )
