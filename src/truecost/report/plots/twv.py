"""Term-weighted value against the threshold, of all queries in order, and the scale it is drawn on.

From -1 up the scale is linear; where values lie far below, it is logarithmic there: a few false
alarms cost a rare query as much as it can never win.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.report.plots.look import (
    ACROSS,
    MANY,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    line_handle,
    looks,
    mark_handle,
    naive_line,
    needed,
    new_axes,
    point,
    short,
    width_of,
)
from truecost.tasks.terms.curves import Operating
from truecost.tasks.terms.describing import SearchDescription

Floats = npt.NDArray[np.float64]
Span = tuple[float, float]
TOP = 1.25  # where the logarithmic scale ends, so that marks at 1 have room
DEEP = -2.0  # values below are drawn on a logarithmic scale
LINEAR = 2.0  # decades that the values from 0 to 1 take there
BELOW = 0.35  # of the height between marks: how far the curve is followed below them
FOUND = 0.98  # share of the targets that is missed at the highest threshold that is shown
BAYES, IN_USE = (0, (7, 1.5, 1.5, 1.5)), (0, (1, 2.5))  # dashes
OVER = (0, (4, 4))  # dashes of a curve on another, without a band of its own
MARKED = ("the system's decisions", "maximum")


def twv_by_threshold(found: Sequence[SearchDescription], ax: Axes | None = None) -> Axes:
    """TWV against the threshold, with bands, decisions in use, maximum and Bayes threshold.

    A filled marker has the value of the system's decisions at the lowest score that it accepts, a
    hollow one the maximum; the height between them is what a better threshold would gain. What lies
    far below the marks is not followed. Above the highest score everything is rejected: value 0. Of
    more than four systems no bands are drawn. An upright line is the Bayes threshold, where scores
    claim to be log-likelihood ratios.

    Parameters
    ----------
    found : sequence of SearchDescription
        Those of the searches of a result, whose scores share an axis.

    Raises
    ------
    UsageError
        When nothing was submitted, or no query has a target.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.terms.curves import Operating, TwvCurve
    >>> from truecost.tasks.terms.describing import SearchDescription
    >>> curve = TwvCurve(
    ...     thresholds=(0.1, 0.4, 0.8),
    ...     p_miss=(0.2, 0.4, 0.7),
    ...     p_fa=(4e-4, 1e-4, 2e-5),
    ...     twv=(0.4, 0.5, 0.28),
    ...     actual=Operating(p_miss=0.2, p_fa=4e-4, twv=0.4),
    ...     maximum=Operating(threshold=0.4, p_miss=0.4, p_fa=1e-4, twv=0.5),
    ... )
    >>> search = SearchDescription(
    ...     system="mine",
    ...     unit="occurrence",
    ...     queries=30,
    ...     queries_with_targets=28,
    ...     queries_answered=30,
    ...     documents=10,
    ...     seconds=12000.0,
    ...     trials=12000,
    ...     detections=300,
    ...     accepted=200,
    ...     least_accepted=0.1,
    ...     bayes=6.9,
    ...     effective_prior=0.001,
    ...     beta=999.9,
    ...     curve=curve,
    ... )
    >>> ax = plots.twv_by_threshold([search])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('threshold on the score', 'TWV')
    """
    found = [d for d in found if d.curve is not None]
    needed(found, "no search has both detections and queries with targets")
    ax = ax or new_axes(WIDE, twv_height(found))
    look = looks_of(found)
    across, up = _across(found), _up(found)
    ax.set_xlim(*across)
    value_scale(ax, "y", up, 2.6)
    naive_line(ax, 0, vertical=False)
    for d in found:
        band = len(found) <= MANY and look[d.system]["linestyle"] != OVER
        _curve(ax, d, look[d.system], across, up, band=band)
    for at in sorted({d.least_accepted for d in found if d.least_accepted is not None}):
        ax.axvline(at, color=ink(), linewidth=0.8, linestyle=IN_USE, zorder=1.5)
    for at in _bayes(found, across):
        ax.axvline(at, color=ink(), linewidth=1.2, linestyle=BAYES, zorder=1.5)
    ax.set_xlabel("threshold (LLR, nats)" if _are_llrs(found) else "threshold on the score")
    ax.set_ylabel("TWV")
    ax.locator_params(axis="x", nbins=8 if width_of(ax) > 5 else 4)
    legend_below(ax, _handles(found))
    return finish(ax, grid="y")


def looks_of(found: Sequence[SearchDescription]) -> dict[str, dict[str, Any]]:
    """The look of each search; dashed on an earlier one with the same scores, which stays seen."""
    look = looks([d.system for d in found])
    for k, d in enumerate(found):
        if any(_same(d, other) for other in found[:k]):
            look[d.system]["linestyle"] = OVER
    return look


def _same(a: SearchDescription, b: SearchDescription) -> bool:
    """Whether searches have one curve: the same scores, whatever their decisions."""
    if a.curve is None or b.curve is None or a.system == b.system:
        return False
    return (a.curve.thresholds, a.curve.twv) == (b.curve.thresholds, b.curve.twv)


def value_scale(ax: Axes, which: Literal["x", "y"], span: Span, length: float) -> None:
    """Set limits, scale and ticks of an axis of term-weighted values.

    Parameters
    ----------
    which : {"x", "y"}
    span : tuple of float
        Lowest and highest value.
    length : float
        Of the axis, in inches.
    """
    axis = ax.xaxis if which == "x" else ax.yaxis
    scale, limits = (ax.set_xscale, ax.set_xlim) if which == "x" else (ax.set_yscale, ax.set_ylim)
    if span[0] < DEEP:
        scale("symlog", linthresh=1.0, linscale=LINEAR)
        axis.set_ticks(_ticks(span, length, which), minor=False)
        axis.set_ticks([], minor=True)
    else:
        ax.locator_params(axis=which, nbins=max(3, min(8, int(2.2 * length))))
    axis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    limits(*span)


def _ticks(span: Span, length: float, which: str) -> list[float]:
    """Ticks of the logarithmic scale that do not collide: 0 and 1, then the lowest ones."""

    def place(value: float) -> float:
        far = abs(value)
        return math.copysign(LINEAR * far if far <= 1 else LINEAR + math.log10(far), value)

    inch = length / (place(span[1]) - place(span[0]))
    decades = int(math.log10(-span[0]))
    kept: list[float] = []
    powers = [-(10.0**k) for k in range(decades, -1, -1)]
    for tick in (0.0, 1.0, *powers, 0.5, *(step * p for p in powers for step in (2, 5))):
        room = 0.2 if which == "y" else 0.12 + len(f"{tick:g}") / ACROSS
        inside = span[0] <= tick <= span[1]
        if inside and all(inch * abs(place(tick) - place(other)) > room for other in kept):
            kept.append(tick)
    return sorted(kept)


def points_of(found: SearchDescription) -> list[tuple[Operating, float | None, bool]]:
    """The system's decisions and the maximum: values, threshold, and whether in use."""
    if found.curve is None:
        return []
    actual, maximum = found.curve.actual, found.curve.maximum
    points = [] if actual is None else [(actual, found.least_accepted, True)]
    return points + ([] if maximum is None else [(maximum, maximum.threshold, False)])


def _bayes(found: Sequence[SearchDescription], across: Span) -> list[float]:
    """The Bayes thresholds that scores which claim to be log-likelihood ratios have."""
    known = {d.bayes for d in found if d.llr}
    return sorted(at for at in known if across[0] <= at <= across[1])


def _are_llrs(found: Sequence[SearchDescription]) -> bool:
    return all(d.llr for d in found)


def columns_of_curve(found: SearchDescription, *names: str) -> list[Floats]:
    """Columns of a curve where thresholds are finite; one that it does not have is NaN."""
    assert found.curve is not None
    thresholds = np.array(found.curve.thresholds, np.float64)
    known = np.isfinite(thresholds)
    columns = (np.array(getattr(found.curve, name), np.float64) for name in names)
    return [c[known] if len(c) else np.full(int(known.sum()), np.nan) for c in columns]


def _up(found: Sequence[SearchDescription]) -> Span:
    """Values that are shown: marks, upper ends of bands, and some way down the curves."""
    marks = [0.0, *(p.twv for d in found for p, _, _ in points_of(d))]
    high = min(1.06 * max([0.1, *marks, *_known(found, "twv", "twv_upper")]), 1.04)
    low = min(marks)
    if low < -1:
        return min(1.5 * low, 1.2 * DEEP), TOP if high > 1 else high
    lowest = min([low, *_known(found, "twv", "twv_lower")])
    return max(lowest, low - BELOW * (high - low)) - 0.04 * (high - low), high


def _known(found: Sequence[SearchDescription], *names: str) -> list[float]:
    """All finite figures of some columns of the curves."""
    columns = np.concatenate([c for d in found for c in columns_of_curve(d, *names)])
    return [float(v) for v in columns[np.isfinite(columns)]]


def shown_of(found: SearchDescription, bottom: float) -> Span | None:
    """Thresholds between which the curve says something; None where there are none."""
    thresholds, twv, p_miss = columns_of_curve(found, "thresholds", "twv", "p_miss")
    at = [t for _, t, _ in points_of(found) if t is not None and math.isfinite(t)]
    some = [*thresholds[(twv >= bottom) & (p_miss <= FOUND)].tolist(), *at]
    some = some or thresholds.tolist()
    return (min(some), max(some)) if some else None


def _across(found: Sequence[SearchDescription]) -> Span:
    """Thresholds that are shown, and some room above the highest, where nothing is accepted."""
    bottom = _up(found)[0]
    spans = [s for s in (shown_of(d, bottom) for d in found) if s is not None] or [(0.0, 1.0)]
    bayes = [d.bayes for d in found if d.llr]
    low, high = min(s[0] for s in spans), max(s[1] for s in spans)
    near = [at for at in bayes if low - (high - low) <= at <= high + (high - low)]
    low, high = min([low, *near]), max([high, *near])
    edge = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    return low - edge, high + edge


def alike(found: Sequence[SearchDescription]) -> bool:
    """Whether the scores of searches share an axis: each covers a good part of all of them."""
    bottom = _up(found)[0]
    spans = [s for s in (shown_of(d, bottom) for d in found) if s is not None]
    if not spans:
        return True
    whole = max(s[1] for s in spans) - min(s[0] for s in spans)
    return _are_llrs(found) or all(high - low >= 0.3 * whole for low, high in spans)


def _curve(
    ax: Axes, found: SearchDescription, look: dict[str, Any], across: Span, up: Span, *, band: bool
) -> None:
    """Band, curve and marks; what lies outside stands on the edge."""
    names = ("thresholds", "twv", "twv_lower", "twv_upper")
    thresholds, twv, lower, upper = columns_of_curve(found, *names)
    seen = np.isfinite(lower) & np.isfinite(upper) & band
    ax.fill_between(
        thresholds[seen],
        np.clip(lower[seen], *up),
        np.clip(upper[seen], *up),
        step="pre",
        color=look["color"],
        alpha=0.18,
        linewidth=0,
    )
    ax.step(  # above the highest score everything is rejected
        np.append(thresholds, max(across[1], thresholds[-1] if len(thresholds) else 0.0)),
        np.append(twv, 0.0),
        where="pre",
        color=look["color"],
        linestyle=look["linestyle"],
        linewidth=1.6,
    )
    for at, threshold, filled in points_of(found):
        x = across[1] if threshold is None else float(np.clip(threshold, *across))
        point(ax, x, float(np.clip(at.twv, *up)), look, filled=filled)


def _handles(found: Sequence[SearchDescription]) -> list[Any]:
    look = looks_of(found)
    handles: list[Any] = [line_handle(short(name), look[name]) for name in look]
    handles += marked_handles(found)
    if _bayes(found, _across(found)):
        handles.append(Line2D([], [], color=ink(), linestyle=BAYES, label="Bayes threshold"))
    return [*handles, rejecting_handle()]


def marked_handles(found: Sequence[SearchDescription]) -> list[Any]:
    """Legend entries of the decisions in use and of the maximum, as far as they are known."""
    filled = {of for d in found for _, _, of in points_of(d)}
    return [
        mark_handle(label, filled=of)
        for label, of in zip(MARKED, (True, False), strict=True)
        if of in filled
    ]


def rejecting_handle() -> Line2D:
    """The dashed line of the value 0, for legends."""
    label = "rejecting everything"
    return Line2D([], [], color=ink(), linewidth=1.2, linestyle=(0, (4, 3)), label=label)


def twv_height(found: Sequence[SearchDescription], width: float = WIDE) -> float:
    """Height in inches that shows these curves at a width in inches."""
    return 3.4 + legend_height([str(h.get_label()) for h in _handles(found)], width)


def queries_in_order(found: Sequence[SearchDescription], ax: Axes | None = None) -> Axes:
    """TWV of all queries, lowest first, against the share of the queries.

    Raises
    ------
    UsageError
        When no query has a target.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.terms.describing import SearchDescription
    >>> search = SearchDescription(
    ...     system="mine",
    ...     unit="occurrence",
    ...     queries=5,
    ...     queries_with_targets=4,
    ...     queries_answered=5,
    ...     documents=10,
    ...     seconds=12000.0,
    ...     trials=12000,
    ...     detections=300,
    ...     accepted=200,
    ...     bayes=6.9,
    ...     effective_prior=0.001,
    ...     beta=999.9,
    ...     values=(-30.0, 0.0, 0.5, 1.0),
    ... )
    >>> ax = plots.queries_in_order([search])
    >>> ax.get_yscale()
    'symlog'
    """
    found = [d for d in found if d.values]
    needed(found, "no query has a target")
    ax = ax or new_axes(WIDE, in_order_height(found))
    values = [v for d in found for v in d.values]
    low = min(0.0, *values)
    span = (1.3 * low, TOP) if low < DEEP else (low - 0.05 * (1 - low), 1.05)
    value_scale(ax, "y", span, 1.9)
    naive_line(ax, 0, vertical=False)
    for d, look in zip(found, looks([d.system for d in found]).values(), strict=False):
        shares = 100 * (np.arange(len(d.values) + 1)) / len(d.values)
        line: Any = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.6}
        ax.stairs(d.values, shares, baseline=None, **line)
    ax.set_xlim(0, 100)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:g}%")
    ax.set_xlabel("queries with targets, lowest value first")
    ax.set_ylabel("TWV of a query")
    legend_below(ax, _in_order_handles(found))
    return finish(ax, grid="y")


def _in_order_handles(found: Sequence[SearchDescription]) -> list[Any]:
    look = looks([d.system for d in found])
    handles: list[Any] = [line_handle(short(n), {**look[n], "marker": ""}) for n in look]
    return [*(handles if len(handles) > 1 else []), rejecting_handle()]


def in_order_height(found: Sequence[SearchDescription], width: float = WIDE) -> float:
    """Height in inches that shows all queries at a width in inches."""
    return 2.6 + legend_height([str(h.get_label()) for h in _in_order_handles(found)], width)
