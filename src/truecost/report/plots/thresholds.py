"""The detection cost against the threshold: what is paid, what could be, and the naive baseline."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from truecost.report.curves import CostCurve
from truecost.report.plots.look import (
    MANY,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    line_handle,
    looks,
    naive_handle,
    naive_line,
    needed_curves,
    new_axes,
    operating_handles,
    point,
    short,
)

NEEDED = "costs need scores of both classes, and a cost of a miss and of a false alarm"
LABEL = "cost, as a share of\nthe naive baseline's"  # in two lines: it fits low pictures too
LINEAR = 2.5  # costs up to this many times the naive one are drawn on a linear axis


def cost_against_threshold(curves: Sequence[CostCurve], ax: Axes | None = None) -> Axes:
    """Normalised detection cost against the threshold, with bands and the naive baseline at 1.

    A filled marker stands at the threshold in use, a hollow one at the threshold of least cost; the
    height between them is what setting the threshold costs. The cost axis is logarithmic when a
    system costs more than 2.5 times the naive one. Of more than four systems no bands are drawn.

    Parameters
    ----------
    curves : sequence of CostCurve
        As `curves.cost_curves` gives them.

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
    >>> ax = plots.cost_against_threshold(curves.cost_curves([trials], scoring))
    >>> ax.get_xlabel()
    'threshold (LLR, nats)'
    """
    needed_curves(curves, CostCurve, "curves.cost_curves", NEEDED)
    ax = ax or new_axes(WIDE, threshold_height(curves))
    look = looks([c.system for c in curves])
    left, right = _span(curves)
    bottom, top = _range(curves)
    ax.set_xlim(left, right)
    if top > LINEAR:
        ax.set_yscale("log")
    ax.set_ylim(bottom, top)
    naive_line(ax, 1, vertical=False)
    for c in curves:
        _curve(ax, c, look[c.system], (left, right, bottom, top), band=len(curves) <= MANY)
    for at in sorted({c.actual[0] for c in curves if c.actual is not None}):
        ax.axvline(at, color=ink(), linewidth=0.8, linestyle=(0, (1, 2)), zorder=1.5)
    units = {c.unit for c in curves}
    ax.set_xlabel("threshold on the score" if "score" in units else "threshold (LLR, nats)")
    ax.set_ylabel(LABEL)
    _ticks(ax, bottom, top)
    legend_below(ax, _handles(curves))
    return finish(ax, grid="y")


def _curve(
    ax: Axes,
    c: CostCurve,
    look: dict[str, Any],
    box: tuple[float, float, float, float],
    *,
    band: bool,
) -> None:
    """Band, curve and operating points; what lies outside the box stands on its edge."""
    left, right, bottom, top = box
    seen = np.isfinite(c.lower) & np.isfinite(c.upper) & band
    ax.fill_between(
        c.grid[seen],
        np.maximum(c.lower[seen], bottom),
        np.maximum(c.upper[seen], bottom),
        color=look["color"],
        alpha=0.18,
        linewidth=0,
    )
    # The last threshold rejects all: its cost holds from the highest score to the edge.
    ends = np.append(c.threshold[:-1], max(right, c.threshold[-2] if len(c.threshold) > 1 else 0))
    ax.step(
        np.append(min(left, ends[0]), ends),
        np.maximum(np.append(c.cost[0], c.cost), bottom),
        where="pre",
        color=look["color"],
        linestyle=look["linestyle"],
        linewidth=1.6,
    )
    for at, filled in ((c.actual, True), (c.minimum, False)):
        if at is not None:
            x, y = np.clip(at[0], left, right), np.clip(at[1], bottom, top)
            point(ax, float(x), float(y), look, filled=filled)


def _span(curves: Sequence[CostCurve]) -> tuple[float, float]:
    """Thresholds that are shown: the cheap ones of every system, and those in use."""
    ends = []
    for c in curves:
        cheap = c.threshold[(c.cost <= LINEAR) & np.isfinite(c.threshold)]
        low = max(c.shown[0], cheap.min()) if len(cheap) else c.shown[0]
        marked = [t[0] for t in (c.actual, c.minimum) if t is not None and np.isfinite(t[0])]
        ends += [(min([low, *marked]), max([c.shown[1], *marked]))]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    edge = 0.05 * (high - low) or 1.0
    return low - edge, high + edge


def _range(curves: Sequence[CostCurve]) -> tuple[float, float]:
    """Costs that are shown: from 0, or from the least on a logarithmic axis."""
    marked = [at[1] for c in curves for at in (c.actual, c.minimum) if at is not None]
    if max(marked, default=1.0) <= LINEAR * 0.9:
        return 0.0, max(1.5, 1.15 * max(marked, default=1.0))
    least = min([v for v in marked if v > 0], default=0.1)
    return min(0.5, 0.6 * least), 1.6 * max(marked)


def _ticks(ax: Axes, bottom: float, top: float) -> None:
    """Ticks of a logarithmic axis as plain numbers, so many that they do not collide."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if ax.get_yscale() != "log":
        return
    decades = np.log10(top / bottom)
    steps = (1, 2, 5) if decades <= 2.5 else (1,)
    every = 1 if decades <= 7 else 2
    first, last = int(np.floor(np.log10(bottom))), int(np.ceil(np.log10(top)))
    ticks = [s * 10.0**e for e in range(first, last + 1, every) for s in steps]
    ax.yaxis.set_major_locator(FixedLocator([t for t in ticks if bottom <= t <= top]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _handles(curves: Sequence[CostCurve]) -> list[Any]:
    look = looks([c.system for c in curves])
    systems = [line_handle(short(c.system), look[c.system]) for c in curves]
    actual = any(c.actual is not None for c in curves)
    least = any(c.minimum is not None for c in curves)
    return [*systems, *operating_handles(actual, least), naive_handle()]


def threshold_height(curves: Sequence[CostCurve], width: float = WIDE) -> float:
    """Height in inches that shows these curves at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(curves)]
    return 3.4 + legend_height(labels, width)
