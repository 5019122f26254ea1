"""The sections of systems across time: scores under policies, and version by time as heat maps."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from truecost.core.digits import between, figure
from truecost.core.results import Row, figures, shown
from truecost.report import plots
from truecost.report.plots.by_version import figures_of
from truecost.report.plots.policies import row_of, state_of, version_of, weights_of
from truecost.report.plots.policy_forest import name_in
from truecost.report.plots.score_matrix import POLICIES, STATES, Of, cells_of
from truecost.report.plots.shades import scale_in
from truecost.report.section import NARROW, WIDE, Drawing, Section, drawing_of, told
from truecost.report.story import Part, Story, bare, part_of
from truecost.report.tables import Table, used
from truecost.report.words import isolated, value
from truecost.tasks.lifelong.descriptions import Cell, LifelongDescription, PolicyFigure
from truecost.tasks.lifelong.newest_rows import FROZEN, MAINS, lived, newest

Found = LifelongDescription
MOST_SYSTEMS = 4  # whose matrices and curves are drawn
MOST_PLACES = 20  # versions and times of a table; curves.parquet has all
DRAWN = ("base", "penalised")
SAID = {
    "base": "before the help",
    "adapted": "after the help",
    "impaired": "impaired",
    "corrected": "corrected",
    "penalised": "with the penalty of the help",
}


def lives_of(story: Story, part: Part) -> list[Found]:
    """The systems of a part that learn, in their order."""
    dims = dict(part.dims)
    own = [
        d
        for d in story.described_as(LifelongDescription)
        if all(d.dims.get(name, "") == dims.get(name, "") for name in ("collection", "application"))
        if d.dims.get("strategy") != FROZEN
    ]
    return sorted(own, key=lambda d: "strategy" in d.dims)  # stable: as configured first


def shown_lives(story: Story) -> tuple[list[tuple[Part, Found]], int]:
    """The systems whose pictures are drawn, and how many there are."""
    every = [(part, d) for part in story.parts for d in lives_of(story, part)]
    return every[:MOST_SYSTEMS], len(every)


def name_of(found: Found, part: Part) -> str:
    """System, the way it lived where that is not as configured, and part."""
    return ", ".join(filter(None, (isolated(name_in(found.dims)), part.name)))


def figure_in(found: Found, number: float | None) -> str:
    """A figure of a description; nothing where there is none."""
    return "" if number is None else figure(number, scale_in(found.shown_in))


def ends_in(found: Found, lower: float | None, upper: float | None) -> str:
    """An interval of a description."""
    return between(lower, upper, scale_in(found.shown_in))


def thinned(places: Sequence[str], most: int = MOST_PLACES) -> list[str]:
    """Some of many places, evenly, the first and the last among them."""
    count = len(places)
    if count <= most:
        return list(places)
    return [places[k] for k in sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})]


def left_out_of(shown: int, every: int) -> str:
    """That more systems are there than are drawn."""
    return f" The first {shown} of {every} systems are drawn." if shown < every else ""


def under_policies(story: Story) -> Section | None:
    """Scores under the policies of users, and from version to version (paper 004, Fig. 5-3)."""
    shown, every = shown_lives(story)
    drawings = [d for part in story.parts for d in _forests(story, part)]
    for part, found in shown:
        if any(len(figures_of(p, found)) > 1 for p in found.policies[:POLICIES]):
            drawings.append(_versions(found, name_of(found, part) if every > 1 else ""))
    if not drawings:
        return None
    text = (
        "A policy says how much a user cares about the data of each time; the score under it is "
        "the sum of s(M, t) P(t) over the test times up to the version (paper 004, Eq. 2; with the "
        "penalty of the person's help Eq. 3). Bands and lines are intervals."
    )
    text += _some_policies(shown) + left_out_of(len(shown), every)
    return Section("Under the policies of users", text, tuple(drawings))


def _some_policies(shown: Sequence[tuple[Part, Found]]) -> str:
    """That there are more policies than curves show."""
    many = any(len(d.policies) > POLICIES for _, d in shown)
    return f" Curves show the first {POLICIES} policies." if many else ""


def how_it_adds_up(story: Story) -> Section | None:
    """Scores over the test times with the weights, and their products (paper 004, Fig. 5)."""
    shown, every = shown_lives(story)
    drawings = []
    for part, found in shown:
        if found.policies and found.cells:
            drawings += _panels(found, name_of(found, part) if every > 1 else "")
    if not drawings:
        return None
    text = (
        "The newest version over the test times with the weights of each policy, and what each "
        "time adds to the score under it: score times weight."
    )
    text += _some_policies(shown) + left_out_of(len(shown), every)
    return Section("How a score under a policy adds up", text, tuple(drawings))


def _forests(story: Story, part: Part) -> list[Drawing]:
    """The score of every system under every policy, one picture for each measure."""
    rows = [
        r for r in newest(story.whole) if part_of(r) == part and lived(r) and "policy" in r.dims
    ]
    labels = dict.fromkeys(r.label for name in MAINS for r in rows if r.measure == name)
    return [_forest([r for r in rows if r.label == label], label, part) for label in labels]


def _forest(rows: Sequence[Row], label: str, part: Part) -> Drawing:
    of = [bare(r) for r in rows]
    words = f"{label} under each policy: " + told(
        f"{r.dims['policy']} {r.dims['system']} {r.dims.get('strategy', '')} {value(r)}" for r in of
    )
    cells = [
        (
            *(r.dims["policy"], r.dims["system"], r.dims.get("strategy", "")),
            *figures(r),
            "" if r.naive is None else shown(r, r.naive),
        )
        for r in of
    ]
    header = ("policy", "system", "strategy", label, "its interval", "initial version")
    title = ", ".join(filter(None, (label, part.name)))
    table = used(f"{title}: numbers", header, cells)
    return drawing_of(
        plots.policy_scores, of, plots.policy_scores_height, words, table, title=title
    )


def _panels(found: Found, name: str) -> list[Drawing]:
    """Scores over the test times, and what each adds."""
    version, state = version_of(found), state_of(found)
    if not any(c.version == version and c.state == state for c in found.cells):
        return []
    panels = [_times(found, name, version, state)]
    if any(any(w) for w in weights_of(found, version).values()):
        panels.append(_shares(found, name, version, state))
    return panels


def _times(found: Found, name: str, version: str, state: str) -> Drawing:
    """The first panel with the weights of the policies."""
    cells = row_of(found, version, state)
    weights = weights_of(found, version)
    kept = thinned(found.times)
    rows = [
        (
            *(c.time, figure_in(found, c.value), ends_in(found, c.lower, c.upper)),
            *(f"{w[k]:.4g}" for w in weights.values()),
            "" if c.seen else "the future",
        )
        for k, c in enumerate(cells)
        if c.time in kept
    ]
    header = ("test time", found.score, "its interval", *weights, "window")
    title = ", ".join(filter(None, (name, f"scores of version {version} and weights")))
    words = f"{found.score} of version {version} by test time: " + told(
        f"{c.time} {figure_in(found, c.value)}" for c in cells
    )
    table = used(_caption(title, found), header, rows)
    return drawing_of(
        plots.policy_times, found, plots.policy_times_height, words, table, title=title
    )


def _caption(title: str, found: Found) -> str:
    """Caption of a table, that says whether it is thinned."""
    thin = max(len(found.versions), len(found.times)) > MOST_PLACES
    return f"{title}: numbers" + (
        f", {MOST_PLACES} of each at most; curves.parquet has all" if thin else ""
    )


def _shares(found: Found, name: str, version: str, state: str) -> Drawing:
    """The second panel: weighted scores."""
    cells, weights = row_of(found, version, state), weights_of(found, version)
    kept = thinned(found.times)
    rows = [
        (
            c.time,
            *(
                figure_in(found, None if c.value is None else c.value * w[k])
                for w in weights.values()
            ),
        )
        for k, c in enumerate(cells)
        if c.time in kept
    ]
    title = ", ".join(filter(None, (name, "what each time adds")))
    sums = {
        policy: sum(c.value * w[k] for k, c in enumerate(cells) if c.value is not None)
        for policy, w in weights.items()
    }
    words = f"{found.score} times the weight, by test time; the sums: " + told(
        f"{policy} {figure_in(found, total)}" for policy, total in sums.items()
    )
    table = used(_caption(title, found), ("test time", *weights), rows)
    return drawing_of(
        plots.policy_shares, found, plots.policy_shares_height, words, table, title=title
    )


def _versions(found: Found, name: str) -> Drawing:
    """Scores under each policy from version to version."""
    policies = found.policies[:POLICIES]
    of = {p.name: figures_of(p, found) for p in policies}
    kept = [v for v in thinned(found.versions) if any(v in known for known in of.values())]
    rows = []
    for version in kept:
        cells = [version]
        for known in of.values():
            f = known.get(version)
            if f is None:
                cells += ["", "", ""]
                continue
            cells += [figure_in(found, f.value), ends_in(found, f.lower, f.upper)]
            cells.append(figure_in(found, f.naive))
        rows.append(cells)
    columns = [c for p in of for c in (p, "its interval", "initial version")]
    title = ", ".join(filter(None, (name, "from version to version")))
    words = f"{found.score} under each policy from version to version: " + told(
        f"{p} from {_first(found, known)} to {_last(found, known)}"
        for p, known in of.items()
        if known
    )
    table = used(_caption(title, found), ("version", *columns), rows)
    return drawing_of(
        plots.policy_versions, found, plots.policy_versions_height, words, table, title=title
    )


def _first(found: Found, known: dict[str, PolicyFigure]) -> str:
    return figure_in(found, next(iter(known.values())).value)


def _last(found: Found, known: dict[str, PolicyFigure]) -> str:
    return figure_in(found, list(known.values())[-1].value)


def across_time(story: Story) -> Section | None:
    """Every version on every test time as heat maps."""
    shown, every = shown_lives(story)
    shown = [(part, d) for part, d in shown if d.cells and len(d.times) * len(d.versions) > 1]
    if not shown:
        return None
    wanted = [(p, d, s) for s in DRAWN for p, d in shown if any(c.state == s for c in d.cells)]
    of = [d for _, d in shown if d.score == shown[0][1].score]
    alone = len(wanted) == 1
    drawings, widths = [], []
    for part, d, state in wanted:
        name = ", ".join(
            filter(None, (name_of(d, part) if every > 1 else "", _state(wanted, state)))
        )
        beside = of if d in of else []
        drawings.append(_matrix(d, state, "value", name, beside))
        if _wide(d, state) and not _fit(d, state, beside, alone):
            widths.append(_matrix(d, state, "width", name, beside))
    drawings += widths
    return Section("Version by time", _about_matrix(shown, drawings, every), tuple(drawings))


def _state(wanted: Sequence[tuple[Part, Found, str]], state: str) -> str:
    return SAID[state] if len({s for *_, s in wanted}) > 1 else ""


def _fit(found: Found, state: str, beside: Sequence[Found], alone: bool) -> bool:
    """Whether the cells hold figures at the width at which the page draws them."""
    return plots.figures_fit(found, WIDE if alone else NARROW, state=state, beside=beside)


def _wide(found: Found, state: str) -> bool:
    """Whether any cell has an interval."""
    return any(c.lower is not None and c.upper is not None for c in cells_of(found, state))


def _about_matrix(
    shown: Sequence[tuple[Part, Found]], drawings: Sequence[Drawing], every: int
) -> str:
    text = (
        "The score of each version (rows) on the test data of each time (columns): light is "
        "better. A row that gets darker to the left forgets. What lies beyond the staircase came "
        "later than the version. Columns above are the weights of policies for the newest version."
    )
    if any("half-width" in d.title for d in drawings):
        text += " Cells too small for figures have the half-widths of their intervals beside them."
    others = [s for s in STATES if any(c.state == s for _, d in shown for c in d.cells)]
    if set(others) - {*DRAWN}:
        text += " The adapted, impaired and corrected scores stand in curves.parquet."
    return text + left_out_of(len(shown), every)


def _matrix(found: Found, state: str, of: Of, name: str, beside: Sequence[Found]) -> Drawing:
    """One heat map with its table."""
    cells = cells_of(found, state)
    what = f"{found.score}" if of == "value" else f"half-width of the interval of {found.score}"
    title = ", ".join(filter(None, (name, what)))
    words = f"{what} {SAID[state]} of each version on each test time. " + _corners(found, cells)
    options: dict[str, Any] = {"state": state, "of": of, "beside": beside}
    return drawing_of(
        plots.score_matrix,
        found,
        partial(plots.score_matrix_height, **options),
        words,
        _table(found, cells, title),
        title=title,
        **options,
    )


def _corners(found: Found, cells: Sequence[Cell]) -> str:
    """What the newest version gets on the oldest and on its newest data, and the initial one."""
    known = {(c.version, c.time): c for c in cells}
    said = []
    for version in dict.fromkeys((found.versions[0], found.versions[-1])):
        for time in dict.fromkeys((found.times[0], found.times[-1])):
            cell = known.get((version, time))
            if cell is not None and cell.value is not None:
                said.append(f"version {version} at {time}: {figure_in(found, cell.value)}")
    return told(said)


def _table(found: Found, cells: Sequence[Cell], title: str) -> Table:
    """Every cell with its interval; of large matrices some versions and times."""
    versions, times = thinned(found.versions), thinned(found.times)
    rows = [
        (
            *(c.version, c.time, figure_in(found, c.value), ends_in(found, c.lower, c.upper)),
            "" if c.seen else "the future",
        )
        for c in cells
        if c.version in versions and c.time in times
    ]
    header = ("version", "test time", found.score, "its interval", "window")
    return used(_caption(title, found), header, rows)
