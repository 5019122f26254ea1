"""A measure over the stream, before and after each batch is learnt from (paper 000, Fig. 4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.errors import UsageError
from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    naive_line,
    needed,
    new_axes,
    width_of,
)
from truecost.tasks.streams.describing import Curve, OnlineDescription

Floats = npt.NDArray[np.float64]
LOOKS: dict[str, dict[str, Any]] = {
    "pre": {"color": COLOURS[1], "marker": "s", "linestyle": (0, (5, 2))},
    "post": {"color": COLOURS[0], "marker": "o", "linestyle": "-"},
}
SAID = {"pre": "before adapting to the batch (pre)", "post": "after it (post)"}
GAP = "gap: what adapting saves"
BY_HAND = "all by hand"
MARKED = 30  # windows; of more only the lines are drawn
NEAR = 0.7  # of the naive value: from here on its line is shown


def phases(
    found: OnlineDescription,
    measure: str = "imlm",
    ax: Axes | None = None,
    *,
    so_far: bool = True,
    beside: Sequence[OnlineDescription] = (),
) -> Axes:
    """A measure over the stream before (dashed) and after adaptation, with bands and the gap.

    The rungs between the lines are what adapting to a batch saves on that same batch.

    Parameters
    ----------
    found : OnlineDescription
        Of a system of a result.
    measure : {"imlm", "act_dcf"}
    so_far : bool
        Everything from the start of the stream to the end of each window; each window alone when
        False.
    beside : sequence of OnlineDescription
        Systems whose pictures stand beside this one: the axis of values goes as far for all.

    Raises
    ------
    UsageError
        When there is no such curve: the log has predictions of one phase only, say.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.streams.describing import Curve, OnlineDescription
    >>> def curve(phase, *values):
    ...     ends = {"lower": (0.2, 0.2, 0.2), "upper": (0.6, 0.6, 0.6)}
    ...     return Curve(measure="imlm", phase=phase, so_far=True, values=values, **ends)
    >>> mine = OnlineDescription(
    ...     dims={"system": "mine"},
    ...     kind="detection",
    ...     runs=8,
    ...     streams=1,
    ...     batches=12,
    ...     items=720,
    ...     queries=48,
    ...     window=4,
    ...     ends=(4, 8, 12),
    ...     resampled="seed",
    ...     level=0.95,
    ...     curves=(curve("pre", 0.5, 0.45, 0.4), curve("post", 0.4, 0.38, 0.35)),
    ... )
    >>> ax = plots.phases(mine)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('batches of the stream', 'imlm so far')
    """
    curves = curves_of(found, measure, so_far=so_far)
    top = _top([found, *beside], measure, so_far=so_far)
    ax = ax or new_axes(WIDE, phases_height(found, measure=measure, so_far=so_far, beside=beside))
    places = places_of(found, so_far=so_far)
    if len(curves) == 2:
        _gap(ax, places, *(_floats(curve.values) for curve in curves))
    for curve in curves:
        _curve(ax, places, curve)
    _set_up(ax, top, measure)
    ax.set_xlim(0, found.ends[-1] * 1.02)
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    ax.locator_params(axis="x", nbins=8 if width_of(ax) > 5 else 5)
    ax.set_xlabel("batches of the stream")
    ax.set_ylabel(f"{measure} so far" if so_far else f"{measure} of a window")
    legend_below(ax, _handles(curves, measure, top))
    return finish(ax, grid="y")


def curves_of(found: OnlineDescription, measure: str, *, so_far: bool) -> list[Curve]:
    """The curves of a measure, before adaptation first; UsageError where there is none."""
    needed(found.curves, "the log does not have predictions of both phases, before and after")
    known = dict.fromkeys(c.measure for c in found.curves)
    if measure not in known:
        raise UsageError(f"there is no curve of {measure}: draw one of {', '.join(known)}")
    own = [c for c in found.curves if c.measure == measure and c.so_far == so_far]
    return sorted(own, key=lambda c: [*LOOKS].index(c.phase))


def places_of(found: OnlineDescription, *, so_far: bool) -> Floats:
    """Where windows stand on the axis: at their end what came so far, each alone in its middle."""
    ends = np.array(found.ends, np.float64)
    return ends if so_far else (np.append(0.0, ends[:-1]) + ends) / 2


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if v is None else v for v in values], np.float64)


def _curve(ax: Axes, places: Floats, curve: Curve) -> None:
    """Band and line of one phase."""
    look = LOOKS[curve.phase]
    lower, upper, values = map(_floats, (curve.lower, curve.upper, curve.values))
    known = np.isfinite(lower) & np.isfinite(upper)
    ax.fill_between(
        places, lower, upper, where=known.tolist(), color=look["color"], alpha=0.2, linewidth=0
    )
    marks = {} if len(places) > MARKED else {"marker": look["marker"], "markersize": 4.5}
    ax.plot(
        places, values, color=look["color"], linestyle=look["linestyle"], linewidth=1.6, **marks
    )


def _gap(ax: Axes, places: Floats, before: Floats, after: Floats) -> None:
    """Rungs between the phases; of many windows at some of them."""
    count = len(places)
    at = np.unique(np.linspace(0, count - 1, min(count, MARKED)).round().astype(int))
    known = at[np.isfinite(before[at]) & np.isfinite(after[at])]
    ax.vlines(places[known], before[known], after[known], color=ink(), linewidth=1.0, zorder=1.8)


def _top(systems: Sequence[OnlineDescription], measure: str, *, so_far: bool) -> float:
    """As high as the lines and bands of all systems go."""
    curves = [c for d in systems for c in d.curves if (c.measure, c.so_far) == (measure, so_far)]
    known = [v for c in curves for v in (*c.values, *c.upper) if v is not None]
    return max(known, default=1.0) or 1.0


def _shows_naive(top: float, measure: str) -> bool:
    """Whether the value of doing all by hand is near."""
    return measure == "imlm" and top >= NEAR


def _set_up(ax: Axes, top: float, measure: str) -> None:
    """Limits of the values, from 0 on."""
    if _shows_naive(top, measure):
        naive_line(ax, 1, vertical=False)
        top = max(top, 1.0)
    ax.set_ylim(0, 1.05 * top)


def _handles(curves: Sequence[Curve], measure: str, top: float) -> list[Any]:
    handles: list[Any] = [
        Line2D([], [], label=SAID[curve.phase], markersize=4.5, **LOOKS[curve.phase])
        for curve in curves
    ]
    if len(curves) == 2:
        rung: Any = {"marker": "|", "markersize": 10, "linestyle": "none"}
        handles.append(Line2D([], [], color=ink(), label=GAP, **rung))
    if _shows_naive(top, measure):
        naive: Any = {"color": ink(), "linewidth": 1.2, "linestyle": (0, (4, 3))}
        handles.append(Line2D([], [], label=BY_HAND, **naive))
    return handles


def phases_height(
    found: OnlineDescription,
    width: float = WIDE,
    *,
    measure: str = "imlm",
    so_far: bool = True,
    beside: Sequence[OnlineDescription] = (),
) -> float:
    """Height in inches that shows these curves at a width in inches."""
    curves = curves_of(found, measure, so_far=so_far)
    handles = _handles(curves, measure, _top([found, *beside], measure, so_far=so_far))
    return 3.0 + legend_height([str(h.get_label()) for h in handles], width)
