"""The curves of searches for terms: error trade-off, and values by threshold.

From -1 up term-weighted values lie on a linear axis; where some lie far below, it is logarithmic
there: a few false alarms cost a rare query many times what it can ever win.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from truecost.core.digits import figure, uncertain
from truecost.pictures.picture import Axis, Kind, Mark, Picture, keys_of, span
from truecost.pictures.rows import needed
from truecost.pictures.tables import Table, without_empty_columns
from truecost.tasks.terms.describing import Operating, SearchDescription, TwvCurve

Floats = npt.NDArray[np.float64]
Span = tuple[float, float]
Found = Sequence[SearchDescription]
MARKED: dict[Kind, str] = {"dot": "the system's decisions", "hollow": "maximum"}
REJECTING = "rejecting everything"
ZERO = Mark(kind="rule", y=0.0, text="naive")
DEEP, TOP = -2.0, 1.25  # values below are drawn on a logarithmic scale, which ends there
BELOW = 0.35  # of the height between marks: how far the curve is followed below them
FOUND = 0.98  # share of the targets that is missed at the highest threshold that is shown
MOST = 0.99  # of the rates that are drawn
POINTS = 12  # thresholds of a table
EDGE = 0.06  # of an axis of scores


def points_of(found: SearchDescription) -> dict[Kind, tuple[Operating, float | None]]:
    """The system's decisions ("dot") and the maximum ("hollow"), each with its threshold."""
    curve, points = found.curve, dict[Kind, tuple[Operating, float | None]]()
    if curve is not None and curve.actual is not None:
        points["dot"] = curve.actual, found.least_accepted
    if curve is not None and curve.maximum is not None:
        points["hollow"] = curve.maximum, curve.maximum.threshold
    return points


def _curves(found: Found) -> list[tuple[SearchDescription, TwvCurve]]:
    return [(d, d.curve) for d in found if d.curve is not None]


def _columns(curve: TwvCurve, *names: str) -> list[Floats]:
    """Columns of a curve where thresholds are finite; one that it does not have is NaN."""
    known = np.isfinite(np.array(curve.thresholds, np.float64))
    columns = (np.array(getattr(curve, name), np.float64) for name in names)
    return [c[known] if len(c) else np.full(int(known.sum()), np.nan) for c in columns]


def with_false_alarms(found: Found) -> list[SearchDescription]:
    """The searches that a DET curve can show."""
    return [d for d in found if d.curve is not None and any(rate > 0 for rate in d.curve.p_fa)]


def det_of_terms(found: Found, *, title: str = "") -> Picture:
    """DET curves of term searches: mean miss rate against mean false-alarm rate, on normal-deviate
    axes.

    An operating point without false alarms is drawn on the edge.

    Parameters
    ----------
    found : sequence of SearchDescription
        Descriptions of searches, as `tc.terms.describe` returns them.

    Raises
    ------
    UsageError
        If no search has a false alarm.
    """
    found = with_false_alarms(found)
    needed(found, "no system has a false alarm")
    step = min(0.5 / max(1, d.queries * d.trials) for d in found)  # less is 0, but for rounding
    bands, drawn = list[Mark](), list[Mark]()
    for d, c in _curves(found):
        missed, false = (v[::-1] for v in _columns(c, "p_miss", "p_fa"))
        x, y = false[false > step], missed[false > step]
        rates, low, high = (np.array(v, np.float64) for v in (c.det_p_fa, c.det_lower, c.det_upper))
        bands.append(Mark(kind="band", x=rates, lo=low, hi=high, series=d.system))
        drawn.append(Mark(kind="line", x=x, y=y, series=d.system))
    drawn += _points(found, lambda p, _: (p.p_fa, p.p_miss))
    alarms, miss = np.hstack([m.x for m in drawn]), np.hstack([m.y for m in drawn])
    ends = np.hstack([(m.lo, m.hi) for m in bands]).ravel()
    least = min(miss[miss > step], default=step) / 2  # bands may go down to 0
    return Picture(
        name="det",
        title=title,
        x=_rates("mean false-alarm rate of queries", alarms, step),
        y=_rates("mean miss rate of queries", np.append(miss, ends[ends > least]), step),
        marks=(*bands, *drawn),
        key=keys_of(drawn, MARKED),
        table=_table(found, DET),
        square=True,
        zoom=True,
    )


def _points(
    found: Found, place: Callable[[Operating, float | None], tuple[float, float]]
) -> Iterator[Mark]:
    """The decisions and the maximum of each search."""
    for d in found:
        for kind, (p, threshold) in points_of(d).items():
            how = f", {REJECTING}" if threshold is None else f" at {figure(threshold)}"
            rates = f"{figure(p.p_miss, '%')} missed, {figure(p.p_fa, '%')} false alarms"
            said = f"{d.system}, {MARKED[kind]}{how}: TWV {figure(p.twv)}, {rates}"
            x, y = place(p, threshold)
            yield Mark(kind=kind, x=x, y=y, series=d.system, label=said)


def _rates(label: str, rates: Floats, step: float) -> Axis:
    """An axis around rates; 0 and 1 have no place on it."""
    low, high = span([rates[(step < rates) & (rates < MOST)]], kind="probit")
    high = MOST if max(rates, default=0.0) >= MOST else min(high, MOST)
    return Axis(label=label, kind="probit", domain=(low, high), scale="%")


DET = ("miss rate", "interval of misses", "false-alarm rate")  # columns that a picture shows
VALUES = ("TWV", "interval")


def _table(found: Found, shows: Sequence[str]) -> Table:
    """Marks, and a few points of each curve, with the columns that a picture `shows`."""
    cells = []
    none: tuple[float | None, float | None] = (None, None)
    for d, c in _curves(found):
        value = list(zip(c.twv_lower, c.twv_upper, strict=True))
        miss = dict(zip(c.det_p_fa, zip(c.det_lower, c.det_upper, strict=True), strict=True))
        rows = [(MARKED[k], p, at, none, none) for k, (p, at) in points_of(d).items()]
        for k in np.unique(np.linspace(0, len(c.twv) - 1, POINTS).round().astype(int)).tolist():
            p = Operating(p_miss=c.p_miss[k], p_fa=c.p_fa[k], twv=c.twv[k])
            ends = value[k] if value else none
            rows.append(("curve", p, c.thresholds[k], ends, miss.get(p.p_fa, none)))
        for name, p, at, of_value, of_miss in rows:
            rates = *uncertain(p.p_miss, *of_miss, "%"), figure(p.p_fa, "%")
            shown = "none" if at is None else figure(at), *uncertain(p.twv, *of_value)
            cells.append((d.system, name, *shown, *rates))
    header = ("system", "point", "threshold", *VALUES, *DET)
    kept = [k for k, name in enumerate(header) if name in (*header[:3], *shows)]
    own = [[row[k] for k in kept] for row in cells]
    return without_empty_columns("Points of the curves", [header[k] for k in kept], own)


def twv_by_threshold(found: Found, *, title: str = "") -> Picture:
    """Term-weighted value (TWV) against the threshold, with bands; dots mark the decisions in use
    and the maximum.

    The TWV axis ends below 0 and below the lowest dot; lower parts of the curve are hidden. If the
    scores are log-likelihood ratios, a vertical line marks the Bayes threshold.

    Parameters
    ----------
    found : sequence of SearchDescription
        Descriptions of searches with comparable scores, as `tc.terms.describe` returns them.

    Raises
    ------
    UsageError
        If no search has detections, or no query has a target.
    """
    found = [d for d, _ in _curves(found)]
    needed(found, "no system has both detections and queries with targets")
    ends = [v for s in spans_of(found) for v in s] or [0.0, 1.0]
    left, right = near_span(ends, [d.bayes for d in found if d.llr])
    llrs = sorted({d.bayes for d in found if d.llr and left <= d.bayes <= right})
    marks = [Mark(kind="rule", x=at, text="Bayes threshold") for at in llrs]
    for d, c in _curves(found):
        at, twv, low, high = _columns(c, "thresholds", "twv", "twv_lower", "twv_upper")
        marks.append(Mark(kind="band", x=at, lo=low, hi=high, series=d.system))
        # A value holds down to the next lower threshold; above the highest nothing is accepted.
        x, y = np.r_[min([left, *at]), at, max([right, *at])], np.r_[twv, 0.0, 0.0]
        marks.append(Mark(kind="line", x=x, y=y, series=d.system, step=True))

    def place(point: Operating, threshold: float | None) -> tuple[float, float]:
        at = right if threshold is None else float(np.clip(threshold, left, right))
        return at, point.twv

    points = list(_points(found, place))
    unit = "(log-likelihood ratio, nats)" if all(d.llr for d in found) else "on the score"
    return Picture(
        name="threshold",
        title=title,
        x=Axis(label=f"threshold {unit}", domain=(left, right)),
        y=value_axis("TWV", _up(found)),
        marks=(ZERO, *marks, *points),
        key=keys_of(points, MARKED),
        table=_table(found, VALUES),
        zoom=True,
    )


def value_axis(label: str, ends: Span) -> Axis:
    """An axis of term-weighted values."""
    return Axis(label=label, kind="asinh" if ends[0] < DEEP else "linear", domain=ends)


def whole_span(values: Sequence[float]) -> Span:
    """Ends of an axis that shows all of some values, 0 and 1."""
    low = min(0.0, *values)
    return (1.3 * low, TOP) if low < DEEP else (low - 0.05 * (1 - low), 1.06)


def _up(found: Found) -> Span:
    """Values that are shown: marks, upper ends of bands, and some way down the curves."""
    marks = [0.0, *(p.twv for d in found for p, _ in points_of(d).values())]
    columns = [_columns(c, "twv", "twv_lower", "twv_upper") for _, c in _curves(found)]
    every = np.concatenate([marks, *(v for of_one in columns for v in of_one)])
    high, low = min(1.06 * max(0.1, float(np.nanmax(every))), 1.04), min(marks)
    if low < -1:
        return min(1.5 * low, 1.2 * DEEP), TOP if high > 1 else high
    lowest = float(np.nanmin(every))
    return max(lowest, low - BELOW * (high - low)) - 0.04 * (high - low), high


def spans_of(found: Found) -> list[Span]:
    """Thresholds between which each curve says something."""
    bottom, spans = _up(found)[0], []
    for d, c in _curves(found):
        every, twv, p_miss = _columns(c, "thresholds", "twv", "p_miss")
        at = [t for _, t in points_of(d).values() if t is not None and math.isfinite(t)]
        some = [*every[(twv >= bottom) & (p_miss <= FOUND)].tolist(), *at] or every.tolist()
        spans += [(min(some), max(some))] if some else []
    return spans


def near_span(ends: Sequence[float], others: Sequence[float | None]) -> Span:
    """Ends of an axis: around some numbers, and around others that are not far from them."""
    low, high = min(ends), max(ends)
    wide = high - low
    near = [v for v in others if v is not None and low - wide <= v <= high + wide]
    low, high = min([low, *near]), max([high, *near])
    room = EDGE * (high - low) or 0.05 * abs(high) or 0.5
    return low - room, high + room
