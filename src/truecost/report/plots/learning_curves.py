"""Scores against the cost of help (paper 004, Fig. 2), with the area under each curve."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from truecost.core.digits import figure
from truecost.errors import UsageError
from truecost.report.plots.look import (
    MANY,
    WIDE,
    finish,
    legend_below,
    legend_height,
    line_handle,
    looks,
    needed,
    new_axes,
    short,
    width_of,
)
from truecost.report.plots.policy_forest import name_in
from truecost.report.plots.shades import scale_in
from truecost.report.plots.timeline import upright
from truecost.tasks.lifelong.descriptions import LearningCurve, LifelongDescription

Found = Sequence[LifelongDescription]
UNITS = {
    "seconds": "seconds of a person's time",
    "words": "words put in",
    "actions": "actions of a person",
    "answers": "answers of a person",
    "cost": "cost of the help",
}
MARKED = 40  # points; of more only the line is drawn


def learning_curves(found: Found, ax: Axes | None = None) -> Axes:
    """The score of each system against the cost of help: a step function up to the largest cost.

    The last value holds up to the largest cost; the area under the curve, divided by the range of
    costs, stands in the legend. Of one system it is filled; of few the intervals are bands.

    Parameters
    ----------
    found : sequence of LifelongDescription
        Systems of a result, of one score, their costs in one unit.

    Raises
    ------
    UsageError
        When no system has a curve, or units or scores differ.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.lifelong.descriptions import (
    ...     CurvePoint,
    ...     Figure,
    ...     LearningCurve,
    ...     LifelongDescription,
    ... )
    >>> points = [CurvePoint(cost=0, value=0.4), CurvePoint(cost=30, value=0.2)]
    >>> mine = LifelongDescription(
    ...     dims={"system": "mine"},
    ...     score="wer",
    ...     title="Word error rate",
    ...     direction="lower",
    ...     versions=[],
    ...     learnt=[],
    ...     times=[],
    ...     at=[],
    ...     cells=[],
    ...     curve=LearningCurve(cost="seconds", points=points, maximum=60, area=Figure(value=0.3)),
    ... )
    >>> ax = plots.learning_curves([mine])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ("seconds of a person's time", 'wer')
    """
    curves = curves_with(found)
    ax = ax or new_axes(WIDE, learning_curves_height(found))
    look = looks([*curves])
    for name, curve in curves.items():
        _curve(ax, curve, look[name], alone=len(curves) == 1, few=len(curves) <= MANY)
    first = next(d for d in found if d.curve is not None)
    scale = scale_in(first.shown_in)
    ax.yaxis.set_major_formatter(lambda y, _: figure(y, scale))
    ax.set_xlim(0, max(c.maximum for c in curves.values()) or 1.0)
    points = [p for c in curves.values() for p in c.points]
    ends = [v for p in points for v in (p.value, p.lower, p.upper) if v is not None]
    ax.set_ylim(min([0.0, *ends]), 1.05 * max([0.0, *ends]) or 1.0)
    ax.locator_params(axis="x", nbins=7 if width_of(ax) > 5 else 4)
    ax.set_xlabel(UNITS.get(next(iter(curves.values())).cost, "cost of the help"))
    ax.set_ylabel(upright(first.score))
    legend_below(ax, _handles(found))
    return finish(ax, grid="y")


def curves_with(found: Found) -> dict[str, LearningCurve]:
    """Curves by system; UsageError where there are none, or what they count or score differs."""
    own = [d for d in found if d.curve is not None]
    needed(own, "no system was helped at a known cost")
    for what, known in (
        ("costs", {d.curve.cost for d in own if d.curve is not None}),
        ("scores", {d.score for d in own}),
    ):
        if len(known) > 1:
            raise UsageError(f"curves of several {what} ({', '.join(sorted(known))}): draw one")
    return {name_of(d): d.curve for d in own if d.curve is not None}


def name_of(found: LifelongDescription) -> str:
    """The system, with the way it lived where that is not as it was configured."""
    return name_in(found.dims)


def _curve(ax: Axes, curve: LearningCurve, look: dict[str, Any], *, alone: bool, few: bool) -> None:
    """The steps of one system with their band; the last value is carried on."""
    points = [p for p in curve.points if p.value is not None]
    if not points:
        return
    costs = [p.cost for p in points]
    values = [p.value for p in points if p.value is not None]
    on = [*costs, max(curve.maximum, costs[-1])]
    if alone:
        ax.fill_between(on, 0, [*values, values[-1]], step="post", color=look["color"], alpha=0.1)
    banded = [p for p in points if p.lower is not None and p.upper is not None]
    if few and len(banded) == len(points):
        lower = [p.lower for p in points if p.lower is not None]
        upper = [p.upper for p in points if p.upper is not None]
        ends = ([*lower, lower[-1]], [*upper, upper[-1]])
        ax.fill_between(on, *ends, step="post", color=look["color"], alpha=0.2, linewidth=0)
    line = {k: look[k] for k in ("color", "linestyle")}
    ax.step(on, [*values, values[-1]], where="post", linewidth=1.8, **line)
    if len(points) <= MARKED:
        ax.plot(costs, values, look["marker"], color=look["color"], markersize=5, clip_on=False)


def _handles(found: Found) -> list[Any]:
    curves = curves_with(found)
    first = next(d for d in found if d.curve is not None)
    scale = scale_in(first.shown_in)
    look = looks([*curves])
    said = {
        name: f"{short(name)}: area {figure(c.area.value, scale)}"
        if c.area.value is not None
        else short(name)
        for name, c in curves.items()
    }
    return [line_handle(said[name], look[name]) for name in curves]


def learning_curves_height(found: Found, width: float = WIDE) -> float:
    """Height in inches that shows these curves at a width in inches."""
    return 2.9 + legend_height([str(h.get_label()) for h in _handles(found)], width)
