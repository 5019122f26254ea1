"""The two error rates against each other: DET on probit axes, and ROC."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from truecost.report.curves import Curve
from truecost.report.plots.look import (
    MANY,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    line_handle,
    looks,
    needed_curves,
    new_axes,
    operating_handles,
    point,
    short,
    width_of,
)

ENDS_FA, ENDS_MISS = (0.05, 0.2, 0.4, 0.6), (0.05, 0.2, 0.4, 0.6, 0.8, 0.96)  # of the DET axes
NEEDED = "curves need a detection system whose scores rank trials"
TICKS = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99)


def det(curves: Sequence[Curve], ax: Axes | None = None) -> Axes:
    """DET curves on probit axes with the band of Pmiss and the operating points.

    Of more than four systems no bands are drawn: they would hide each other.

    Parameters
    ----------
    curves : sequence of Curve
        As `curves.det_curves` gives them.

    Raises
    ------
    UsageError
        When there is nothing to draw, or it is no curve.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import curves, plots
    >>> labels = np.arange(400) % 2
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> scoring = tc.Scoring(tc.Application.detection(prior=0.1), plan=tc.Plan(100))
    >>> ax = plots.det(curves.det_curves([trials], scoring))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('false-alarm rate', 'miss rate')
    """
    from scipy.special import ndtri

    needed_curves(curves, Curve, "curves.det_curves", NEEDED)
    floor = min(0.5 / max(1 / c.rates[0], 20) for c in curves)
    most_fa, most_miss = _ends(curves)
    ax = ax or new_axes(6.4, det_height(curves, 6.4))
    box = Box((floor, most_fa), (floor, most_miss))
    on_probit_axes(ax, curves, box, looks([c.system for c in curves]))
    lines = ndtri([floor, min(most_fa, most_miss)])
    ax.plot(lines, lines, color=ink(), linewidth=0.7, linestyle=(0, (1, 3)))
    legend_below(ax, _handles(curves))
    return finish(ax, grid="both")


@dataclass(frozen=True)
class Box:
    """The rates between which DET axes are drawn.

    Attributes
    ----------
    fa, miss : tuple of float
        Lowest and highest; what lies outside stands on the edge.
    """

    fa: tuple[float, float]
    miss: tuple[float, float]


def on_probit_axes(
    ax: Axes,
    curves: Sequence[Curve],
    box: Box,
    look: Mapping[str, Mapping[str, Any]],
    ticks: Sequence[Sequence[float]] = (TICKS,),
) -> None:
    """Bands, curves, operating points and axes of a DET plot.

    Parameters
    ----------
    look : mapping of str to mapping
        Colour, marker and dashes by system.
    ticks : sequence of sequence of float
        Rates that may have a tick, ascending; of several such the first of which none collide.
    """
    from scipy.special import ndtri

    def place(rates: Any, ends: tuple[float, float]) -> Any:
        return ndtri(np.clip(rates, *ends))

    for c in curves:
        seen = np.isfinite(c.lower) & np.isfinite(c.upper) & (len(curves) <= MANY)
        ax.fill_between(
            place(c.rates[seen], box.fa),
            place(c.lower[seen], box.miss),
            place(c.upper[seen], box.miss),
            color=look[c.system]["color"],
            alpha=0.18,
            linewidth=0,
        )
        drawn = c.p_fa > 0  # no false alarms lies infinitely far left
        ax.step(
            ndtri(np.clip(c.p_fa[drawn], box.fa[0], 1 - 1e-3)),
            ndtri(np.clip(c.p_miss[drawn], box.miss[0], 1 - 1e-3)),
            where="pre",
            color=look[c.system]["color"],
            linestyle=look[c.system]["linestyle"],
            linewidth=1.6,
        )
        for at, filled in ((c.actual, True), (c.minimum, False)):
            if at is not None and np.isfinite(at).all():  # what lies outside stands on the edge
                x, y = place(at[0], box.fa), place(at[1], box.miss)
                point(ax, x, y, look[c.system], filled=filled)
    ax.set_xlim(*ndtri(box.fa))
    ax.set_ylim(*ndtri(box.miss))
    _ticks(ax, box, ticks)
    ax.set_xlabel("false-alarm rate")
    ax.set_ylabel("miss rate")


def _ends(curves: Sequence[Curve]) -> tuple[float, float]:
    """Where the DET axes end: so that curves, bands and operating points are seen."""
    fa, miss = [ENDS_FA[0]], [ENDS_MISS[0]]
    for c in curves:
        fa += [p[0] for p in (c.actual, c.minimum) if p is not None]
        miss += [p[1] for p in (c.actual, c.minimum) if p is not None]
        fa += [float(r) for r in c.rates[c.middle > 0]]
        miss += [float(m) for m in (*c.p_miss[c.p_fa > 0], *c.upper) if np.isfinite(m)]
    return tuple(
        next((end for end in ends if end > max(rates)), ends[-1])
        for ends, rates in ((ENDS_FA, fa), (ENDS_MISS, miss))
    )  # type: ignore[return-value]


def _ticks(ax: Axes, box: Box, ticks: Sequence[Sequence[float]]) -> None:
    """Rates as ticks, as many as do not collide."""
    from scipy.special import ndtri

    width = 0.8 * width_of(ax)
    axes = ((ax.xaxis, box.fa, 0.085), (ax.yaxis, box.miss, 0.0))
    for axis, (low, high), room in axes:
        scale = width / (ndtri(high) - ndtri(low))  # inches of the axis
        for some in ticks:
            wanted = [t for t in reversed(some) if low <= t <= high]
            kept: list[float] = []
            for rate in wanted:
                apart = scale * (ndtri(kept[-1]) - ndtri(rate)) if kept else np.inf
                if apart > 0.2 + room * len(_percents(rate)):
                    kept.append(rate)
            if len(kept) == len(wanted):
                break
        axis.set_ticks(ndtri(kept), [f"{_percents(t)}%" for t in kept])


def _percents(rate: float) -> str:
    """A rate in percent, never with an exponent."""
    return f"{100 * rate:.8f}".rstrip("0").rstrip(".")


def _handles(curves: Sequence[Curve]) -> list[Any]:
    look = looks([c.system for c in curves])
    systems = [line_handle(short(c.system), look[c.system]) for c in curves]
    points = operating_handles(
        any(c.actual is not None for c in curves), any(c.minimum is not None for c in curves)
    )
    return [*systems, *points]


def det_height(curves: Sequence[Curve], width: float = WIDE) -> float:
    """Height in inches that shows these curves about square at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(curves)]
    return min(width, 6.0) * 0.92 + legend_height(labels, width)


def roc(curves: Sequence[Curve], ax: Axes | None = None) -> Axes:
    """ROC curves: 1 - Pmiss against Pfa, with the band and the operating points.

    The area under the curve weighs thresholds that nobody would use (paper 003, section 3.1);
    `det` shows the same trade-off where it matters.

    Parameters
    ----------
    curves : sequence of Curve
        As `curves.det_curves` gives them.

    Raises
    ------
    UsageError
        When there is nothing to draw, or it is no curve.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import curves, plots
    >>> trials = tc.Trials.of([0.1, 0.4, 0.3, 0.9], [0, 0, 1, 1], kind="score", name="mine")
    >>> ax = plots.roc(curves.det_curves([trials], tc.Scoring(plan=tc.Plan(50))))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('false-alarm rate', 'detection rate')
    """
    needed_curves(curves, Curve, "curves.det_curves", NEEDED)
    ax = ax or new_axes(6.4, det_height(curves, 6.4))
    look = looks([c.system for c in curves])
    for c in curves:
        seen = np.isfinite(c.lower) & np.isfinite(c.upper) & (len(curves) <= MANY)
        ax.fill_between(
            c.rates[seen],
            1 - c.upper[seen],
            1 - c.lower[seen],
            color=look[c.system]["color"],
            alpha=0.18,
            linewidth=0,
        )
        ax.plot(
            c.p_fa,
            1 - c.p_miss,
            color=look[c.system]["color"],
            linestyle=look[c.system]["linestyle"],
            linewidth=1.6,
        )
        for at, filled in ((c.actual, True), (c.minimum, False)):
            if at is not None:
                point(ax, at[0], 1 - at[1], look[c.system], filled=filled)
    ax.plot([0, 1], [0, 1], color=ink(), linewidth=0.7, linestyle=(0, (1, 3)))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("false-alarm rate")
    ax.set_ylabel("detection rate")
    legend_below(ax, _handles(curves))
    return finish(ax, grid="both")
