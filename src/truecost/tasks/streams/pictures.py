"""The pictures of streams: budgets, phases over the stream, streams one by one."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from truecost.core.digits import amount, counted, figure, percent, uncertain
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.outputs.page import thinned
from truecost.pictures.picture import Axis, Kind, Mark, Picture, span
from truecost.pictures.rows import Rows, figures_of, needed
from truecost.report.section import joined
from truecost.tasks.streams.describing import Curve, OfStream, OnlineDescription
from truecost.tasks.streams.sweep import (
    WITHOUT_QUESTIONS,
    Swept,
    best_of,
    budget_of,
    swept_of,
)

AFTER = "post"
PHASES = {"pre": "before adapting to the batch", AFTER: "after adapting to it"}
SAVED = "saving by adaptation"
BY_HAND, NAIVE = "all by hand", "naive baseline"
LARGE = 6.0  # times the smallest budget: from here on the axis is logarithmic
NEAR = 0.7  # of the naive value: from here on its line is shown
POINTS = 24  # windows that have a dot
FEW_BATCHES = 12  # all of which have a tick
MOST_STREAMS = 200

Systems = Sequence[OnlineDescription]


def budgets(rows: Sequence[Row], *, title: str = "") -> Picture:
    """One measure against the number of questions per batch: one line for each strategy.

    A filled dot marks the best budget of a strategy. The passive baseline, which asks no questions,
    is a horizontal line with its interval as a band; if it is outside the axis, only the legend
    shows it. The axis of budgets is logarithmic if the largest budget is at least six times the
    smallest. The axis of values does not start at 0.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of one measure with the entries `strategy` and `budget` in `dims`. If there are
        rows after adaptation (phase `post`), only these are drawn.

    Raises
    ------
    UsageError
        If no row has a budget, or a strategy has two rows for one budget.
    """
    found = swept_of(rows)
    needed(found.asking, "no row has the number of questions per batch (dims.budget)")
    some, known = found.asking[0], found.budgets
    logarithmic = known[0] > 0 and known[-1] >= LARGE * known[0]
    across = span(known, kind="log" if logarithmic else "linear", pad=0.06)
    up = _span(found.asking, found.baselines)
    best = [best_of(own) for own in found.strategies.values()]
    word = "lowest value" if some.measure in WITHOUT_QUESTIONS else "best budget"
    marks = _naive(found, up)
    key: list[tuple[Kind, str]] = [("dot", f"{word} of its strategy"), ("hollow", "other budgets")]
    key.append(("band", f"{percent(some.level)} confidence interval"))
    for row in found.baselines:
        drawn, said = _across(row, across, up)
        marks += drawn
        key.append(("rule", said))
    for (name, own), chosen in zip(found.strategies.items(), best, strict=True):
        marks += _strategy(name, own, chosen, word)
    first = [budget_of(row) for row in best if row is not None]
    return Picture(
        name="budgets",
        title=title,
        x=Axis(
            label="questions a batch",
            kind="log" if logarithmic else "linear",
            domain=across,
            ticks=tuple(dict.fromkeys([*first, known[0], known[-1], *known])),
        ),
        y=Axis(label=some.label, domain=up, scale=some.scale),
        marks=tuple(marks),
        key=tuple(key),
        zoom=True,
    )


def _name(row: Row) -> str:
    """The strategy of a row, or its system where it has none."""
    return row.dims.get("strategy") or row.dims.get("system", "")


def _span(rows: Sequence[Row | OfStream], beside: Sequence[Row] = ()) -> tuple[float, float]:
    """Values, and intervals as far as they are no wider than the values lie apart; `beside`: what
    is seen where it is near.
    """
    low, high = span([r.value for r in rows], pad=1.0)
    near = [r for r in beside if r.value is not None and low <= r.value <= high]
    figures = np.array([(r.value, r.lower, r.upper) for r in (*rows, *near)], float)
    return span([np.clip(figures, low, high)])


def _naive(found: Swept, up: tuple[float, float]) -> list[Mark]:
    """A line at the naive value where it is one for all and lies among the others."""
    first, values = found.asking[0], {row.naive for row in found.asking}
    if len(values) > 1 or first.naive is None or not up[0] <= first.naive <= up[1]:
        return []
    other = first.measure in ("act_dcf", "total_cost")  # one may be to reject everything
    return [Mark(kind="rule", y=first.naive, text=NAIVE if other else BY_HAND)]


def _across(
    row: Row, across: tuple[float, float], up: tuple[float, float]
) -> tuple[list[Mark], str]:
    """The baseline without questions: a line with its band, and its text in the legend."""
    said = f"{_name(row)}: {figures_of(row)}"
    if row.value is None:
        return [], said
    if not up[0] <= row.value <= up[1]:
        return [], f"{said}, {'above' if row.value > up[1] else 'below'}"
    marks = [Mark(kind="rule", y=row.value, text=_name(row), label=f"{said}, no questions")]
    if row.lower is not None and row.upper is not None:
        low, high = np.repeat([[row.lower], [row.upper]], 2, axis=1)
        marks.insert(0, Mark(kind="band", x=np.array(across), lo=low, hi=high))
    return marks, said


def _strategy(name: str, rows: Sequence[Row], best: Row | None, word: str) -> list[Mark]:
    """Line, band and dots of a strategy."""
    at = np.array([budget_of(row) for row in rows])
    marks = _banded(at, [(r.value, r.lower, r.upper) for r in rows], name)
    for row in (row for row in rows if row.value is not None):
        asks = f"{counted(budget_of(row), 'question')} a batch"
        said = f"{joined(name, asks)}: {figures_of(row)}"
        how: dict[str, Any] = {"kind": "hollow", "label": said}
        if row is best:
            how = {"kind": "dot", "label": f"{said}, {word}", "size": 1.5}
        marks.append(Mark(x=budget_of(row), y=row.value, series=name, **how))
    return marks


def _banded(x: Any, figures: Iterable[Sequence[float | None]], name: str) -> list[Mark]:
    """A line through values with the band of their intervals."""
    value, lo, hi = np.array([*figures], float).T
    return [
        Mark(kind="band", x=x, lo=lo, hi=hi, series=name),
        Mark(kind="line", x=x, y=value, series=name),
    ]


def phases(
    found: OnlineDescription,
    measure: str = "imlm",
    *,
    so_far: bool = True,
    beside: Systems = (),
    title: str = "",
) -> Picture:
    """One measure along a stream, before and after adaptation.

    Pale bars show the saving by adaptation.

    Parameters
    ----------
    found : OnlineDescription
        Description of a system, as `tc.streams.describe` returns it.
    measure : {"imlm", "act_dcf"}
        Measure to draw.
    so_far : bool
        Whether a value covers everything from the start of the stream to the end of a window of
        consecutive batches. If False, a value covers one window only.
    beside : sequence of OnlineDescription
        Systems whose pictures are shown side by side with this one; all have a common axis of
        values.

    Raises
    ------
    UsageError
        If the log contains predictions of one phase only, or the measure has no curve.
    """
    curves, ends = curves_of(found, measure, so_far=so_far), np.array(found.ends, float)
    starts = np.append(0.0, ends[:-1])
    places = ends if so_far else (starts + ends) / 2
    shown = thinned(range(len(ends)), POINTS)
    names = [f"up to batch {e}" for e in found.ends]
    if not so_far:
        pairs = zip(starts, ends, strict=True)
        names = [f"batches {s + 1:g} to {e:g}" if e > s + 1 else f"batch {e:g}" for s, e in pairs]
    top = _top([found, *beside], measure, so_far=so_far)
    naive = measure == "imlm" and top >= NEAR
    marks = [Mark(kind="rule", y=1.0, text=BY_HAND)] if naive else []
    for k in shown if len(curves) == 2 else ():
        before, after = (c.values[k] for c in curves)
        if before is not None and after is not None:
            said = f"{names[k]}: {figure(before)} before, {figure(after)} after adapting"
            marks.append(Mark(kind="gap", x=places[k], lo=before, hi=after, label=said))
    for curve in curves:
        marks += _curve(curve, places, names, shown)
    return Picture(
        name="phases",
        title=title,
        x=Axis(
            label="batches of the stream",
            domain=(0.0, 1.02 * ends[-1]),
            ticks=tuple(range(int(ends[-1]) + 1)) if ends[-1] <= FEW_BATCHES else (),
        ),
        y=Axis(
            label=f"{measure} {'so far' if so_far else 'of a window'}",
            domain=(0.0, 1.05 * (max(top, 1.0) if naive else top)),
        ),
        marks=tuple(marks),
        key=(("gap", SAVED),) if len(curves) == 2 else (),
        zoom=True,
    )


def curves_of(found: OnlineDescription, measure: str, *, so_far: bool) -> list[Curve]:
    """The curves of a measure, before adaptation first; UsageError where there is none."""
    needed(found.curves, "the log does not have predictions of both phases, before and after")
    known = dict.fromkeys(c.measure for c in found.curves)
    if measure not in known:
        raise UsageError(f"there is no curve of {measure}: draw one of {', '.join(known)}")
    own = [c for c in found.curves if (c.measure, c.so_far) == (measure, so_far)]
    return sorted(own, key=lambda c: [*PHASES].index(c.phase))


def _top(systems: Systems, measure: str, *, so_far: bool) -> float:
    """The highest value of the lines and bands of all systems."""
    curves = [c for d in systems for c in d.curves if (c.measure, c.so_far) == (measure, so_far)]
    return max((v for c in curves for v in (*c.values, *c.upper) if v is not None), default=0) or 1


def _curve(curve: Curve, places: Any, names: Sequence[str], shown: Sequence[int]) -> list[Mark]:
    """Band and line of one phase, and dots at some windows."""
    name = PHASES[curve.phase]
    marks = _banded(places, zip(curve.values, curve.lower, curve.upper, strict=True), name)
    kind: Kind = "dot" if curve.phase == AFTER else "hollow"
    for k in shown:
        if (at := curve.values[k]) is not None:
            what = " ".join(uncertain(at, curve.lower[k], curve.upper[k])).strip()
            said = f"{names[k]}, {name}: {what}"
            marks.append(Mark(kind=kind, x=places[k], y=at, series=name, label=said, size=0.5))
    return marks


def streams_forest(found: Systems, measure: str = "imlm", *, title: str = "") -> Picture:
    """Value of each stream with its interval, for at most 200 streams.

    The streams are sorted by the value of the first system, the costliest first. For one system,
    both phases are drawn (hollow: before adaptation). For several systems, only the phase after
    adaptation is drawn.

    Parameters
    ----------
    found : sequence of OnlineDescription
        Descriptions of systems on the same streams, as `tc.streams.describe` returns them.
    measure : {"imlm", "act_dcf"}
        Measure to draw.

    Raises
    ------
    UsageError
        If no system has several streams, or none has this measure.
    """
    needed([d for d in found if d.by_stream], "no system has several streams")
    known = dict.fromkeys(of.measure for d in found for of in d.by_stream)
    if measure not in known:
        raise UsageError(f"streams have no {measure}: draw one of {', '.join(known)}")
    values: dict[str, Phases] = {}
    for d in found:
        for of in sorted(d.by_stream, key=lambda of: of.phase != AFTER):
            if of.measure == measure:
                own = values.setdefault(of.stream, {}).setdefault(d.dims.get("system", ""), [])
                own.append(of)
    first, several = found[0].dims.get("system", ""), len(found) > 1
    order = sorted(values, key=lambda s: _cost(values[s].get(first, ())))
    detected = any(d.kind == "detection" for d in found if d.by_stream)
    columns = (measure, "before", "targets / items" if detected else "items")
    lines = Rows(columns, what="system" if several else "stream", above="stream")
    shown = list[OfStream]()
    for stream in order[:MOST_STREAMS]:
        name = f"stream {stream}" if stream.isdecimal() else stream
        sizes = _sizes(found, stream)
        if several:
            nouns = ("target", "item")[-len(sizes) :]
            lines.head(f"{name}: {', '.join(map(counted, sizes, nouns))}")
        for system, both in values[stream].items():
            own = both[:1] if several else both
            _stream(lines, own, name, system, "" if several else " / ".join(map(amount, sizes)))
            shown += own
    ends = _span(shown)
    naive = measure == "imlm" and ends[0] <= 1 <= ends[1]
    left = f"The first {MOST_STREAMS} of {len(order)}." if order[MOST_STREAMS:] else ""
    key: list[tuple[Kind, str]] = [("dot", "after adapting"), ("hollow", "before"), ("gap", SAVED)]
    return lines.picture(
        "streams",
        Axis(label=measure, domain=ends),
        title=title,
        caption=left,
        rules=(Mark(kind="rule", x=1.0, text=BY_HAND),) if naive else (),
        key=tuple(key) if len(shown) > len(order) and not several else (),
    )


Phases = dict[str, list[OfStream]]  # of a stream by system, the later phase first


def _sizes(found: Systems, stream: str) -> list[float]:
    """Targets of a stream in a run, where such are detected, and its items."""
    d, of = next((d, of) for d in found for of in d.by_stream if of.stream == stream)
    return [n / d.runs for n in ([of.targets] if d.kind == "detection" else []) + [of.items]]


def _cost(of: Sequence[OfStream]) -> float:
    """A key that sorts streams by what they cost a system, the most first, undefined last."""
    return next((-one.value for one in of[:1] if one.value is not None), np.inf)


def _stream(lines: Rows, own: Sequence[OfStream], name: str, system: str, size: str) -> None:
    """A row: the later phase with its interval, the earlier one hollow beside it."""
    after, *others = own
    earlier = figures_of(others[0]).partition(" [")[0] if others else ""
    y = lines.add(name if size else system, figures_of(after), earlier, size)
    words = joined(name, system)
    for before in (of for of in others if of.value is not None):
        if after.value is not None:
            lines.mark("gap", y, lo=after.value, hi=before.value, series=system)
        said = f"{words}, before adapting: {figures_of(before)}"
        lines.mark("hollow", y, x=before.value, series=system, label=said)
    lines.estimate(y, after, f"{words}, after adapting" if others else words, series=system)
