"""The pictures of searches for terms: values, queries one by one, what a score is worth, and what
searches took; `curves` has those of thresholds.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from truecost.core.digits import amount, counted, figure, percent, uncertain
from truecost.core.results import Row
from truecost.pictures.picture import Axis, Kind, Mark, Picture, keys_of, span
from truecost.pictures.rows import Rows, figures_of, needed, value_of
from truecost.pictures.tables import Table, both
from truecost.report.sums import clock
from truecost.resources.loads import Load
from truecost.tasks.terms import curves
from truecost.tasks.terms.curves import (
    EDGE,
    MARKED,
    REJECTING,
    ZERO,
    Found,
    near_span,
    spans_of,
    value_axis,
    whole_span,
)
from truecost.tasks.terms.describing import SearchDescription

det_of_terms, twv_by_threshold = curves.det_of_terms, curves.twv_by_threshold
Quantity = Literal["time", "memory"]
BEST = "at its best threshold"
VALUES = ("atwv", "twv_bayes", "mtwv", "otwv", "stwv")
OTHERS: dict[Kind, str] = {"hollow": "mtwv", "limit": "stwv"}
ORDER = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # shares of the queries in words
ORDERED = ("system", "lowest", *(percent(q) for q in ORDER[1:-1]), "highest")
PHASES = ("indexing", "searching")
TIMES = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
QUANTITIES: Mapping[Quantity, str] = {
    "time": "CPU time",
    "memory": "Peak memory",
}


def term_weighted(found: Mapping[str, Mapping[str, Row]], *, title: str = "") -> Picture:
    """Term-weighted value (TWV) of each system with its interval, one row for each system.

    A hollow dot marks the value at the best threshold (`mtwv`). A vertical line marks `stwv`:
    the mean share of the targets with a matching detection, whatever the score.

    Parameters
    ----------
    found : mapping of str to mapping of str to Row
        Result rows by name of the system, then by label of the measure (`atwv`, `mtwv`, `stwv`,
        ...).

    Raises
    ------
    UsageError
        If there are no rows.
    """
    needed([*found], "there is no term-weighted value")
    known = [name for name in VALUES if any(name in rows for rows in found.values())]
    lines, dots = Rows(tuple(known), what="system"), dict[str, None]()
    for system, rows in found.items():
        first = next(n for n in known if n in rows)
        dots[first] = None
        shown = {n: value_of(r) for n, r in rows.items()} | {first: figures_of(rows[first])}
        y = lines.add(system, *(shown.get(n, "") for n in known))
        for kind, name in OTHERS.items():
            if name in rows and (value := rows[name].value) is not None:
                words = f"{system}, {name}: {figures_of(rows[name])}"
                lines.mark(kind, y, x=value, series=system, label=words, size=2.0)
        lines.estimate(y, rows[first], f"{system}, {first}", series=system, filled=True)
    every = [row for rows in found.values() for row in rows.values() if row.label in VALUES]
    figures = [v for r in every for v in (r.value, r.lower) if v is not None]
    return lines.picture(
        "values",
        value_axis("TWV", whole_span(figures)),
        title=title,
        rules=(Mark(kind="rule", x=0.0, text="naive"),),
        key=(("dot", " or ".join(dots)), *keys_of(lines.marks, OTHERS)),
    )


def alike(found: Found) -> bool:
    """Whether the scores of searches share an axis: each covers a good part of all of them."""
    spans = spans_of(found)
    if not spans or all(d.llr for d in found):
        return True
    whole = max(s[1] for s in spans) - min(s[0] for s in spans)
    return all(high - low >= 0.3 * whole for low, high in spans)


def queries_in_order(found: Found, *, title: str = "") -> Picture:
    """Term-weighted values (TWV) of all queries in ascending order, against their rank as a share
    of the queries.

    Parameters
    ----------
    found : sequence of SearchDescription
        Descriptions of searches, as `tc.terms.describe` returns them.

    Raises
    ------
    UsageError
        If no query has a target.
    """
    found = [d for d in found if d.values]
    needed(found, "no query has a target")
    marks, cells = [ZERO], []
    for d in found:
        count = len(d.values)
        low, *shown, high = (figure(d.values[max(0, math.ceil(q * count) - 1)]) for q in ORDER)
        said = (f"{percent(q)} at most {v}" for q, v in zip(ORDER[1:-1], shown, strict=True))
        cells.append((d.system, low, *shown, high))
        x, y = np.arange(count + 1) / count, np.append(d.values, d.values[-1])
        label = f"{d.system}: lowest {low}; of the queries {', '.join(said)}; highest {high}"
        marks.append(Mark(kind="line", x=x, y=y, series=d.system, step=True, label=label))
    return Picture(
        name="queries",
        title=title,
        x=Axis(label="queries with targets, lowest value first", domain=(0.0, 1.0), scale="%"),
        y=value_axis("TWV of a query", whole_span([v for d in found for v in d.values])),
        marks=tuple(marks),
        table=Table("TWV that a share of the queries does not exceed", ORDERED, tuple(cells)),
        zoom=True,
    )


def query_forest(found: SearchDescription, *, title: str = "") -> Picture:
    """Term-weighted value (TWV) of single queries, the lowest value first, with intervals over
    documents.

    A hollow dot marks the TWV at the best threshold of the query. A vertical line marks the share
    of the query's targets with a matching detection, whatever the score.

    Parameters
    ----------
    found : SearchDescription
        Description of a search, as `tc.terms.describe` returns it.

    Raises
    ------
    UsageError
        If no query has a target.
    """
    needed(found.worst, "no query has a target")
    further = ("interval", BEST, "share of targets found at all")
    lines = Rows(("TWV", "found", "false alarms"), further, "query")
    how: Any = {"series": found.system}
    for w in found.worst:
        text = " ".join(w.text.split())
        name = w.query if text in ("", w.query) else f"{w.query} {text}"
        value, ends = both(uncertain(w.twv, w.lower, w.upper), w.twv, w.lower, w.upper)
        targets, right, false = map(amount, (w.targets, w.correct, w.false_alarms))
        best, reached = figure(w.optimum), figure(w.supremum, "%")
        y = lines.add(name, value, f"{right} of {targets}", false, ends, best, reached)
        if w.lower is not None and w.upper is not None:
            lines.mark("interval", y, lo=w.lower, hi=w.upper, **how)
        lines.mark("hollow", y, x=w.optimum, size=2.0, **how)  # is seen around the dot
        lines.mark("limit", y, x=w.supremum)
        counts = f"{right} of {targets} found, {counted(w.false_alarms, 'false alarm')}"
        own = f"{best} {BEST}, {reached} of its targets found at all"
        said = f"{name}: {f'{value} {ends}'.strip()}, {counts}; {own}"
        lines.mark("dot", y, x=w.twv, lo=w.lower, hi=w.upper, label=said, **how)
    ends_of = [v for w in found.worst for v in (w.twv, w.lower, w.upper) if v is not None]
    level = "" if found.curve is None else f"{percent(found.curve.level)} "
    banded = any(w.lower is not None for w in found.worst)
    return lines.picture(
        "worst_queries",
        value_axis("TWV of a query", whole_span(ends_of)),
        title=title,
        caption=f"Lines are {level}intervals over documents." if banded else "",
        rules=(Mark(kind="rule", x=0.0, text=REJECTING),),
        key=(("dot", MARKED["dot"]), ("hollow", BEST), ("limit", "targets found at all")),
    )


def score_map(found: SearchDescription, *, title: str = "") -> Picture:
    """Empirical log-likelihood ratio against the score of detections, with the best affine
    calibration.

    Each dot is a bin; all bins have about the same number of targets. The height of a dot is
    ln(share of all targets that are in the bin / share of all nontargets that are in the bin), with
    an interval of two standard errors. The pale bar is the range of the target scores of the bin.
    On the diagonal, scores are calibrated log-likelihood ratios.

    Parameters
    ----------
    found : SearchDescription
        Description of a search, as `tc.terms.describe` returns it.

    Raises
    ------
    UsageError
        If there are too few detections for a bin.
    """
    needed(found.bins, "the detections are too few for a bin of scores")
    llr, how = found.llr, dict[str, Any](series=found.system)
    scores = [v for b in found.bins for v in (b.lowest, b.highest)]
    crossing = crossing_of(found)
    matter = (found.least_accepted, crossing, found.bayes if llr else None)
    left, right = near_span(scores, matter)
    height = [found.bayes, *(v for b in found.bins for v in (b.lower, b.upper))]
    height += [b.score for b in found.bins if llr]
    marks = [Mark(kind="rule", y=found.bayes, text="Bayes")]
    if found.least_accepted is not None:
        marks.append(Mark(kind="rule", x=found.least_accepted, text="lowest accepted score"))
    marks += [Mark(kind="diagonal")] if llr else []
    for b in found.bins:
        reach = f"(from {figure(b.lowest)} to {figure(b.highest)})"
        score = f"{found.system}, score {figure(b.score)} {reach}"
        seen = f"log-likelihood ratio {' '.join(uncertain(b.llr, b.lower, b.upper))}"
        said = f"{score}: {seen}, {b.targets} targets, {b.nontargets} nontargets"
        marks.append(Mark(kind="gap", y=b.llr, lo=b.lowest, hi=b.highest, **how))
        marks.append(Mark(kind="interval", x=b.score, lo=b.lower, hi=b.upper, **how))
        marks.append(Mark(kind="dot", x=b.score, y=b.llr, label=said, **how))
    least = "none" if found.least_accepted is None else figure(found.least_accepted)
    caption = f"Lowest accepted score: {least}."
    if found.gamma is not None and found.delta is not None:
        ends = np.array([left, right])
        line = found.gamma * ends + found.delta
        marks.append(Mark(kind="line", x=ends, y=line, series="best affine calibration"))
        caption += " The best affine calibration "
        caption += (
            "puts no score on the Bayes threshold."
            if crossing is None
            else f"puts the score {figure(crossing)} on the Bayes threshold."
        )
    return Picture(
        name="scores",
        title=title,
        caption=caption,
        x=Axis(
            label=f"submitted {'log-likelihood ratio (nats)' if llr else 'score'}",
            domain=(left, right),
        ),
        y=Axis(label="empirical log-likelihood ratio (nats)", domain=span(height, pad=EDGE)),
        marks=tuple(marks),
        key=(("dot", "bins, two standard errors"), ("gap", "scores of their targets")),
        square=True,
        zoom=True,
    )


def crossing_of(found: SearchDescription) -> float | None:
    """The score that the best affine calibration puts on the Bayes threshold."""
    if found.gamma is None or found.delta is None or found.gamma <= 0:
        return None
    at = (found.bayes - found.delta) / found.gamma
    return at if math.isfinite(at) else None


def resources(loads: Mapping[str, Load], of: Quantity = "time", *, title: str = "") -> Picture:
    """CPU time or memory of each system: one bar for indexing and one bar for searching.

    Parameters
    ----------
    loads : mapping of str to Load
        Resources by name of the system.
    of : {"time", "memory"}
        Quantity. `time`: CPU time of all processes. `memory`: peak memory of the largest process.

    Raises
    ------
    UsageError
        If `loads` is empty.

    Examples
    --------
    >>> from truecost.resources import Machine, Resources, load_of
    >>> from truecost.tasks.terms import pictures
    >>> record = Resources(
    ...     status=0, user_s=9000, system_s=0, wall_s=800, peak_bytes=2 * 10**9, nodes=(Machine(),)
    ... )
    >>> picture = pictures.resources({"mine": load_of(36000, indexing=record)})
    >>> picture.x.label, picture.columns
    ('CPU time (hours)', (('time', ('2:30:00', 'not measured')),))
    """
    needed([*loads], "there is no record of resources")
    values = {name: of_phases(load, of) for name, load in loads.items()}
    most = max((v for parts in values.values() for v in parts if v is not None), default=0.0)
    size, unit = next((u for u in TIMES if most >= 2 * u[0]), TIMES[-1])
    size, unit = (size, unit) if of == "time" else (1.0, "GB")
    lines = Rows((of,), what="phase", above="system")
    for name, parts in values.items():
        if len(values) > 1:
            lines.head(name)
        for phase, value in zip(PHASES, parts, strict=True):
            y = lines.add(phase, text := _amount(of, value))
            if value is not None:
                said = f"{name}, {phase}: {text}"
                lines.mark("bar", y, lo=0.0, hi=value / size, series=name, label=said)
    return lines.picture(
        f"resources_{of}",
        Axis(label=f"{QUANTITIES[of]} ({unit})", domain=(0.0, 1.04 * most / size or 1.0)),
        title=title,
    )


def of_phases(load: Load, of: Quantity) -> list[float | None]:
    """Seconds, or GB (1e9 bytes), of indexing and searching; None where it was not measured."""
    if of == "memory":
        return [load.pmu_indexing, load.pmu_searching]
    return [None if record is None else record.cpu_s for record in (load.indexing, load.searching)]


def _amount(of: Quantity, found: float | None) -> str:
    """A figure with its unit."""
    if found is None:
        return "not measured"
    if of == "memory":
        return f"{figure(found)} GB"
    return clock(found) if found >= 1 else f"{figure(found)} s"
