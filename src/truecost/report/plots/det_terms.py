"""The DET curve of a search for terms: mean miss rate against mean false-alarm rate."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from truecost.report.curves import Curve
from truecost.report.plots.look import (
    WIDE,
    finish,
    legend_below,
    legend_height,
    line_handle,
    needed,
    new_axes,
    short,
)
from truecost.report.plots.tradeoff import Box, on_probit_axes
from truecost.report.plots.twv import OVER, columns_of_curve, looks_of, marked_handles, points_of
from truecost.tasks.terms.describing import SearchDescription

_TENTHS = tuple(10.0**k for k in range(-10, -1))
_HIGH = (0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98)
TICKS = (
    (*(step * t for t in _TENTHS for step in (1, 2, 5)), *_HIGH),
    (*_TENTHS, 0.05, *_HIGH),
)
MOST = 0.99  # of the rates that are drawn


def det_of_terms(found: Sequence[SearchDescription], ax: Axes | None = None) -> Axes:
    """Mean miss rate against mean false-alarm rate on probit axes, with the band of the miss rate.

    The filled marker stands at the system's decisions, the hollow one at the maximum TWV; an
    operating point without false alarms stands on the edge. Of more than four systems no bands are
    drawn.

    Parameters
    ----------
    found : sequence of SearchDescription
        Those of the searches of a result.

    Raises
    ------
    UsageError
        When no search has a false alarm.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.terms.curves import TwvCurve
    >>> from truecost.tasks.terms.describing import SearchDescription
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
    ...     bayes=6.9,
    ...     effective_prior=0.001,
    ...     beta=999.9,
    ...     curve=TwvCurve(
    ...         thresholds=(0.1, 0.4, 0.8),
    ...         p_miss=(0.2, 0.4, 0.7),
    ...         p_fa=(4e-4, 1e-4, 2e-5),
    ...         twv=(-0.2, 0.5, 0.28),
    ...     ),
    ... )
    >>> ax = plots.det_of_terms([search])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('mean false-alarm rate of queries', 'mean miss rate of queries')
    """
    found = with_false_alarms(found)
    needed(found, "no search has a false alarm")
    ax = ax or new_axes(6.4, det_of_terms_height(found, 6.4))
    look = looks_of(found)
    curves = [_curve(d, band=look[d.system]["linestyle"] != OVER) for d in found]
    on_probit_axes(ax, curves, _box(curves, _step(found)), look, TICKS)
    ax.set_xlabel("mean false-alarm rate of queries")
    ax.set_ylabel("mean miss rate of queries")
    legend_below(ax, _handles(found))
    return finish(ax, grid="both")


def with_false_alarms(found: Sequence[SearchDescription]) -> list[SearchDescription]:
    """The searches that a DET curve can show."""
    return [d for d in found if d.curve is not None and any(rate > 0 for rate in d.curve.p_fa)]


def _curve(found: SearchDescription, *, band: bool) -> Curve:
    """What the DET plot draws of a search."""
    threshold, miss, fa = columns_of_curve(found, "thresholds", "p_miss", "p_fa")
    assert found.curve is not None
    rates, lower, upper = (
        np.array(getattr(found.curve, name) if band else (), np.float64)
        for name in ("det_p_fa", "det_lower", "det_upper")
    )
    points = {filled: (p.p_fa, p.p_miss) for p, _, filled in points_of(found)}
    return Curve(
        system=found.system,
        threshold=threshold,
        p_miss=miss,
        p_fa=fa,
        rates=rates,
        lower=lower,
        middle=np.interp(rates, fa[::-1], miss[::-1]),
        upper=upper,
        actual=points.get(True),
        minimum=points.get(False),
        actual_threshold=found.least_accepted,
    )


def _step(found: Sequence[SearchDescription]) -> float:
    """Half of what one error changes a mean rate by: what lies below it is 0, but for rounding."""
    return min(0.5 / max(1, d.queries * d.trials) for d in found)


def _box(curves: Sequence[Curve], step: float) -> Box:
    """Where the axes end: around curves, operating points and most of the bands.

    A band may go down to 0, which has no place on the axis: it is followed to half of the lowest
    miss rate that some threshold has.
    """
    marks = [p for c in curves for p in (c.actual, c.minimum) if p is not None]
    fa = [*(p[0] for p in marks), *(float(r) for c in curves for r in c.p_fa)]
    miss = [*(p[1] for p in marks), *(float(m) for c in curves for m in c.p_miss[c.p_fa > 0])]
    ends = np.concatenate([v for c in curves for v in (c.lower, c.upper)])
    least = min((m for m in miss if m > step), default=step) / 2
    return Box(_ends(fa, step), _ends([*miss, *ends[ends > least].tolist()], step))


def _ends(rates: Sequence[float], step: float) -> tuple[float, float]:
    """Some way around rates; 0 and 1 have no place on a probit axis."""
    from scipy.special import ndtr, ndtri

    some = [rate for rate in rates if step < rate < MOST] or [0.5]
    low, high = ndtri(min(some)), ndtri(max(some))
    edge = 0.05 * (high - low) + 0.08
    most = MOST if max(rates) >= MOST else min(float(ndtr(high + edge)), MOST)
    return float(ndtr(low - edge)), most


def _handles(found: Sequence[SearchDescription]) -> list[object]:
    look = looks_of(found)
    return [*(line_handle(short(name), look[name]) for name in look), *marked_handles(found)]


def det_of_terms_height(found: Sequence[SearchDescription], width: float = WIDE) -> float:
    """Height in inches that shows these curves about square at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(with_false_alarms(found))]  # type: ignore[attr-defined]
    return min(width, 6.0) * 0.86 + legend_height(labels, width)
