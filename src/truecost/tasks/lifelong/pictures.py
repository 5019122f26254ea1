"""The pictures of systems across time (Prokopalo et al. 2020): versions by test time, scores under
the policies of users, the price of help. Those that are curves stand in `curves`.
"""

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np

from truecost.core.digits import Scale, counted, shown_naive, uncertain
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.outputs.page import thinned
from truecost.pictures.picture import Axis, Mark, Picture, span
from truecost.pictures.rows import Rows, common_scale, figures_of, needed, reach
from truecost.pictures.tables import Shown, Table
from truecost.report.section import joined
from truecost.tasks.lifelong.curves import (
    LATER,
    MOST,
    Found,
    cells_of,
    learning_curves,
    lifelong_sequence,
    policy_times,
    policy_versions,
    some_of,
)
from truecost.tasks.lifelong.descriptions import name_in

__all__ = ["learning_curves", "lifelong_sequence", "policy_times", "policy_versions"]
SHADES = 6
SAME_AS_BASE = "policy_score"  # of a version: its score before the help, under the policy
BESIDE = ("penalised_score", "generalisation_gain", "base_score", "adapted_score", "penalty")
APART = ("system", "strategy", "version", "time", "subset", "collection", "application")
KEPT = {"lower": "score after the help", "higher": "penalised score"}
WHOLE = {"lower": "penalised score", "higher": "score after the help"}
WHEN = {True: "seen", False: LATER}  # the version has seen data of that time


def score_matrix(
    found: Found, *, state: str = "base", beside: Sequence[Found] = (), title: str = ""
) -> Picture:
    """Matrix of scores: versions in rows, test times in columns; a lighter cell is better.

    In each row, a line separates the test times up to the newest training data of the version from
    later test times.

    Parameters
    ----------
    found : LifelongDescription
        Description of a system, as `tc.lifelong.describe` returns it.
    state : {"base", "adapted", "impaired", "corrected", "penalised"}
        Scored output. `base`, `adapted`: before and after a person's help. `impaired`, `corrected`:
        base output in which the parts that the person corrected are wrong or right. `penalised`:
        adapted score with the penalty of the help.
    beside : sequence of LifelongDescription
        Systems whose pictures are shown side by side with this one; all have common shades.

    Raises
    ------
    UsageError
        If there are no scores, or none in this state.
    """
    cells = cells_of(found, state)
    versions, times = thinned(found.versions, MOST), thinned(found.times, MOST)
    low, high = _range([found, *beside], state)
    best, worst = (low, high) if found.direction == "lower" else (high, low)
    marks, rows = [], []
    for (row, version), (column, time) in product(enumerate(versions), enumerate(times)):
        cell = cells.get((version, time))
        if cell is not None and cell.value is not None:
            ends = cell.value, cell.lower, cell.upper
            rows.append((version, time, Shown(found.text_of(cell), *ends), WHEN[cell.seen]))
            share = (cell.value - best) / ((worst - best) or 1.0)
            said = f"{found.name}, version {version} at {time}: {found.text_of(cell)}"
            marks.append(
                Mark(
                    kind="cell",
                    x=column,
                    y=row,
                    tone=int(np.clip(SHADES * share, 0, SHADES - 1)),
                    text=_rounded(cell.value, high - low, found.scale).removesuffix("%"),
                    label=said if cell.seen else f"{said}, {LATER}",
                )
            )
    seen = {at for at, cell in cells.items() if cell.seen}
    edges = _edges([[(v, t) in seen for t in times] for v in versions])
    empty = "Empty cells have no score." * (len(marks) < len(versions) * len(times))
    some = some_of(found.versions, "versions") + some_of(found.times, "times")
    return Picture(
        name="matrix",
        title=title,
        caption=(empty + some).strip(),
        x=Axis(label="test time", kind="columns", names=tuple(times)),
        y=Axis(kind="rows", names=tuple(f"version {v}" for v in versions)),
        marks=(*marks, *edges),
        shades=_shades(low, high, found.direction, found.scale),
        key=(("edge", "seen | not yet seen"),) if edges else (),
        table=Table(
            title or "matrix", ("version", "test time", found.score, "test data"), (*rows,)
        ),
    )


def _range(systems: Sequence[Found], state: str) -> tuple[float, float]:
    """The least and the largest score of pictures that stand side by side."""
    states = {state, "base", "penalised"}
    return span([c.value for d in systems for c in d.cells if c.state in states], pad=0.0)


def _rounded(value: float, width: float, scale: Scale) -> str:
    """A figure with two significant digits of half a range."""
    return uncertain(value, 0.0, width or abs(value), scale)[0]


def _shades(low: float, high: float, direction: str, scale: Scale) -> tuple[str, ...]:
    """The meaning of each shade, the best first."""
    if high <= low:
        return (_rounded(low, 0.0, scale),)
    ends = [_rounded(float(v), high - low, scale) for v in np.linspace(low, high, SHADES + 1)]
    ranges = [f"{a} to {b}" for a, b in pairwise(ends)]
    best, *others = ranges if direction == "lower" else ranges[::-1]
    return (f"{best} (best)", *others)


def _edges(seen: Sequence[Sequence[bool]]) -> list[Mark]:
    """The staircase between what each version had seen and what came later.

    Another line stands where times lie before all windows.
    """
    if all(map(all, seen)):
        return []
    first = min((row.index(True) for row in seen if any(row)), default=0)
    ends = [max((k + 1 for k, s in enumerate(row) if s), default=first) for row in seen]
    y = np.arange(len(ends) + 1)
    edges = [Mark(kind="edge", x=np.repeat(ends, 2), y=np.repeat(y, 2)[1:-1])]
    before = [Mark(kind="edge", x=[first, first], y=[0, len(ends)])]
    return edges + before * bool(first and any(map(any, seen)))


def policy_scores(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Scores of systems under user policies: one heading for each policy, one row for each system.

    A vertical line marks the score of the initial version without learning. A system without help
    has no penalty, so its `policy_score` is drawn beside the penalised scores of the other systems.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of `policy_score` or `penalised_score`, one version of each system. The naive
        baseline of a row is the score of the initial version.

    Raises
    ------
    UsageError
        If there are no rows.
    """
    needed(rows, "no system has a score under a policy")
    label, lines = rows[0].label, Rows((rows[0].measure, "frozen"), what="system", above="policy")
    for policy in dict.fromkeys(row.dims.get("policy", "all times") for row in rows):
        lines.head(policy)
        for row in (r for r in rows if r.dims.get("policy", "all times") == policy):
            name = name_in(row.dims) + ", without help" * (row.label != label)
            start = shown_naive(row)
            y = lines.add(name, figures_of(row), start)
            said = f"{name} under {policy}"
            if row.naive is not None:
                lines.mark("limit", y, x=row.naive)
                said += f" (initial version {start})"
            lines.estimate(y, row, said, series=name_in(row.dims))
    naive = [row.naive for row in rows if row.naive is not None]
    ends = [reach(rows, line) for line in (min(naive, default=None), max(naive, default=None))]
    return lines.picture(
        "policies",
        Axis(
            label=f"{label} ({rows[0].direction} is better)",
            domain=(float(np.min(ends)), float(np.max(ends))),
            scale=common_scale([row.scale for row in rows]),
        ),
        title=title,
        key=(("limit", "frozen"),) if naive else (),
    )


def helped(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    """Rows by policy and name, then by measure: of what has an adapted and a penalised score."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        if row.kind == "value" and row.measure in (*BESIDE, SAME_AS_BASE):
            key = tuple(row.dims.get(name, "") for name in ("policy", *APART))
            found.setdefault(key, {})[row.measure] = row
    for of in found.values():
        same = of.pop(SAME_AS_BASE, None)
        if same is not None:
            of.setdefault("base_score", same)
    kept = {k: of for k, of in found.items() if {"adapted_score", "penalised_score"} <= of.keys()}
    differ = [n for n in range(1, len(APART) + 1) if n == 1 or len({k[n] for k in kept}) > 1]
    return {(k[0], joined(*(k[n] for n in differ))): of for k, of in kept.items()}


def penalised_bars(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Stacked bars: score after the help, and penalty of the help (Prokopalo et al. 2020, Fig. 4).

    The penalised score is S_adapt + (S_imp - S_cor) (Eq. 1): score of the adapted output, plus the
    difference between the scores of the impaired and of the corrected output. If higher scores are
    better, the penalty is subtracted, and both bars together end at the adapted score. A vertical
    line marks the score before the help.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of `adapted_score`, `penalised_score`, and optionally `penalty` and `base_score`
        (or `policy_score`, which has the same value), all for one score, such as `wer`. If there
        are several policies, each has a heading.

    Raises
    ------
    UsageError
        If no system has both an adapted and a penalised score, or there are several scores.
    """
    scores = {r.label for r in rows if r.measure == "penalised_score" and r.kind == "value"}
    if len(scores) > 1:
        names = ", ".join(sorted(scores))
        raise UsageError(
            f"rows of {counted(len(scores), 'score')} ({names}) share no axis: draw one at a time"
        )
    groups = helped(rows)
    needed([*groups], "no system has both an adapted and a penalised score")
    policies = dict.fromkeys(policy for policy, _ in groups)
    lines = Rows(
        ("penalised score", "gain"),
        ("before the help", "after the help", "penalty"),
        "system",
        "policy",
    )
    for policy in policies:
        if len(policies) > 1:
            lines.head(policy or "all times")
        for name, of in ((n, of) for (p, n), of in groups.items() if p == policy):
            _bar(lines, name, of)
    first = next(of["penalised_score"] for of in groups.values())
    based = any(m.kind == "limit" for m in lines.marks)
    return lines.picture(
        "penalised",
        Axis(
            label=f"{first.parameters.get('variant', '')} ({first.direction} is better)".strip(),
            scale=first.scale,
        ),
        title=title,
        caption=f"Both parts together are the {WHOLE[first.direction]}.",
        parts=(KEPT[first.direction], "penalty of the help"),
        key=(("limit", "before the help"),) if based else (),
    )


def _bar(lines: Rows, name: str, of: dict[str, Row]) -> None:
    """The row of a system: both parts, the interval of the penalised score, the base."""
    row = of["penalised_score"]
    y = lines.add(name, *(figures_of(of[m]) if m in of else "" for m in BESIDE))
    adapted, penalised = of["adapted_score"].value, row.value
    if adapted is not None and penalised is not None:
        kept = min(adapted, penalised)
        kept = adapted if kept < 0 or row.direction == "lower" else kept
        words = [f"score after the help {figures_of(of['adapted_score'])}"]
        words.insert(row.direction == "lower", f"penalised score {figures_of(row)}")
        cost = f"penalty {figures_of(of['penalty'])}, " if "penalty" in of else ""
        sides = sorted((0.0, kept)), sorted((adapted, penalised))
        for tone, (left, right) in enumerate(sides):
            said = f"{name}: {cost * tone}{words[tone]}"
            lines.mark("bar", y, lo=left, hi=right, tone=tone, label=said)
        if row.lower is not None or row.upper is not None:
            lines.mark("interval", y, lo=row.lower, hi=row.upper)
    base = of.get("base_score")
    if base is not None and base.value is not None:
        said = f"{name}: {figures_of(base)} before the help"
        lines.mark("limit", y, x=base.value, label=said)
