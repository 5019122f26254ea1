"""Reliability: what systems say against what is seen, with the decomposition of Cllr."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from truecost.core.digits import figure
from truecost.errors import UsageError
from truecost.report.curves import Reliability
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
    short,
)

NEEDED = "reliability needs likelihood ratios or posteriors of both classes"
FEW = 3  # with more systems the intervals of bins are left out
LABELS = {
    "llr": ("log-likelihood ratio that the system says (nats)", "that the data show (nats)"),
    "posterior": ("posterior of the target that the system says", "share of targets seen"),
    "top": ("posterior of the most probable class", "share of them that is right"),
}


def reliability(curves: Sequence[Reliability], ax: Axes | None = None) -> Axes:
    """What each system says against what is seen; on the diagonal it is calibrated.

    The line is the best monotone calibration (pool adjacent violators), markers are bins of about
    equally many trials with intervals for up to three systems, and the strip above shows how often
    what is said, for up to four. Where only one class is seen the log odds are infinite: there the
    line has a gap and the hollow marker stands on the edge. The legend has the proper score that
    matters: calibration error is no measure of quality, a system that always says the prior lies on
    the diagonal (paper 003, section 3.6).

    Parameters
    ----------
    curves : sequence of Reliability
        As `curves.reliabilities` gives them; all on one scale.

    Raises
    ------
    UsageError
        When the curves have different scales, there are none, or they are no reliabilities.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import curves, plots
    >>> labels = np.arange(400) % 2
    >>> llrs = 4 * np.random.default_rng(0).normal(2 * labels - 1)  # twice too sure
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> found = curves.reliabilities([trials], tc.Scoring(plan=tc.Plan(100)))
    >>> ax = plots.reliability(found)
    >>> print(ax.figure.legends[0].get_texts()[0].get_text())
    mine
    Cllr 0.5296 = min 0.4075 + loss 0.122
    """
    needed_curves(curves, Reliability, "curves.reliabilities", NEEDED)
    scales = sorted({c.scale for c in curves})
    if len(scales) != 1:
        raise UsageError(f"reliabilities on the scales {', '.join(scales)}: draw one scale at once")
    ax = ax or new_axes(6.4, reliability_height(curves, 6.4))
    look = looks([c.system for c in curves])
    low, high = _span(curves)
    ax.plot([low, high], [low, high], color=ink(), linewidth=0.8, linestyle=(0, (1, 2)))
    for c in curves:
        _curve(ax, c, look[c.system], (low, high), intervals=len(curves) <= FEW)
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    ax.set_xlabel(LABELS[scales[0]][0])
    ax.set_ylabel(LABELS[scales[0]][1])
    if len(curves) <= MANY:
        _strip(ax, curves)
    legend_below(ax, _handles(curves))
    return finish(ax, grid="both")


def _span(curves: Sequence[Reliability]) -> tuple[float, float]:
    """Ends of both axes: all of what is said but its outermost parts."""
    if curves[0].scale != "llr":
        return 0.0, 1.0
    return min(float(c.edges[0]) for c in curves), max(float(c.edges[-1]) for c in curves)


def _curve(
    ax: Axes, c: Reliability, look: dict[str, Any], span: tuple[float, float], *, intervals: bool
) -> None:
    """The monotone map, and the bins with their intervals; the infinite stands on the edge."""
    from scipy.special import expit

    def place(values: Any) -> Any:
        return np.clip(values, *span)

    said, seen = (v if c.scale == "llr" else expit(v) for v in _broken(c))
    if not np.isnan(seen).all():  # an empty line that is not clipped spoils the layout
        ax.plot(
            place(said),
            place(seen),
            color=look["color"],
            linestyle=look["linestyle"],
            linewidth=1.6,
            clip_on=False,
        )
    x, y = place(c.drawn(c.bin_said)), place(c.drawn(c.bin_seen))
    lower, upper = place(c.drawn(c.bin_lower)), place(c.drawn(c.bin_upper))
    if intervals:
        ax.vlines(x, lower, upper, color=look["color"], linewidth=1.0)
    for one_class in (False, True):
        chosen = ((c.bin_seen <= 0) | (c.bin_seen >= 1)) == one_class
        if not chosen.any():
            continue
        ax.plot(
            x[chosen],
            y[chosen],
            marker=look["marker"],
            markersize=5.5,
            color=look["color"],
            markerfacecolor="none" if one_class else look["color"],
            linestyle="none",
            clip_on=False,
            zorder=4,
        )


def _broken(c: Reliability) -> tuple[Any, Any]:
    """The monotone map; log odds that are infinite are left out, for no line can show them."""
    if c.scale != "llr":
        return c.said, c.seen
    return c.said, np.where(np.isinf(c.seen), np.nan, c.seen)


def _strip(ax: Axes, curves: Sequence[Reliability]) -> None:
    """How often what is said, above the axes."""
    look = looks([c.system for c in curves])
    strip = ax.inset_axes((0, 1.02, 1, 0.13))
    strip.set_xlim(ax.get_xlim())
    for c in curves:
        width = np.diff(c.edges)
        heights = c.counts / width
        strip.stairs(
            heights / max(heights.max(), 1e-300),
            c.edges,
            fill=len(curves) == 1,
            color=look[c.system]["color"],
            linestyle="-" if len(curves) == 1 else look[c.system]["linestyle"],
            linewidth=1.2,
            alpha=0.7 if len(curves) == 1 else 1.0,
        )
    strip.set_ylim(0, 1.08)
    strip.set_axis_off()


def _handles(curves: Sequence[Reliability]) -> list[Any]:
    look = looks([c.system for c in curves])
    return [line_handle(f"{short(c.system)}\n{decomposed(c)}", look[c.system]) for c in curves]


def decomposed(curve: Reliability) -> str:
    """The proper score in words: `Cllr 0.5296 = min 0.4075 + loss 0.122`, or `NCE 0.504`."""
    actual = figure(curve.actual) if np.isfinite(curve.actual) else "infinite"
    if curve.measure != "cllr":
        return f"normalised cross entropy {actual}"
    return f"Cllr {actual} = min {figure(curve.minimum)} + loss " + (
        figure(curve.loss) if np.isfinite(curve.loss) else "infinite"
    )


def reliability_height(curves: Sequence[Reliability], width: float = WIDE) -> float:
    """Height in inches that shows these curves about square at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(curves)]
    return min(width, 5.6) * 0.95 + legend_height(labels, width)
