"""Both ratios of AB/BA against the threshold of the candidate, with limits and what they choose."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    line_handle,
    looks,
    naive_line,
    needed,
    new_axes,
    width_of,
)
from truecost.report.plots.plane import Path, shown_part
from truecost.report.plots.ratio_rows import one_handle, ratio_axis
from truecost.tasks.abba.planes import Plane

RATIOS = ("rrecall", "rfpr")
LOWEST, HIGHEST = 0.05, 20.0  # ratios that are drawn
DOTTED, DEPLOYED = (0, (1, 1.6)), (0, (5, 1.5, 1, 1.5))


def ratios_by_threshold(plane: Plane, ax: Axes | None = None) -> Axes:
    """Both ratios against the threshold with pointwise bands, limits and the chosen thresholds.

    A dotted line across is the limit of a rule, an upright line the threshold that it chooses, and
    the grey range behind it where replicates choose theirs.

    Parameters
    ----------
    plane : Plane
        As `truecost.tasks.abba.thresholds.choose` gives it.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    UsageError
        When no ratio is defined.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.planes import Plane
    >>> plane = Plane(
    ...     system="new",
    ...     estimator="direct",
    ...     thresholds=(0.1, 0.2, 0.3),
    ...     rrecall=(1.2, 1.05, 1.02),
    ...     rrecall_lower=(1.1, 1.0, 0.98),
    ...     rrecall_upper=(1.3, 1.1, 1.07),
    ...     rfpr=(1.6, 1.0, 0.8),
    ...     rfpr_lower=(1.3, 0.8, 0.6),
    ...     rfpr_upper=(1.9, 1.2, 1.0),
    ...     deployed=0.1,
    ...     level=0.95,
    ... )
    >>> ax = plots.ratios_by_threshold(plane)
    >>> ax.get_xlabel(), ax.get_yscale()
    ('threshold of B', 'log')
    """
    path = Path.of(plane)
    left, right = _across(plane, path)
    low, high = _span(path.between(left, right))
    ax = ax or new_axes(WIDE, by_threshold_height(plane))
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    ax.set_xlim(left, right)
    naive_line(ax, 1, vertical=False)
    for name, look in looks(RATIOS).items():
        _curve(ax, path, name, look, (low, high))
    _rules(ax, plane)
    if plane.deployed is not None:
        ax.axvline(plane.deployed, color=ink(), linewidth=1.0, linestyle=DEPLOYED)
    ratio_axis(ax.yaxis, (low, high), 2.2)
    ax.set_xlabel("threshold of B")
    ax.set_ylabel("B over A")
    ax.locator_params(axis="x", nbins=8 if width_of(ax) > 5 else 4)
    legend_below(ax, _handles(plane))
    return finish(ax, grid="y")


def _span(path: Path) -> tuple[float, float]:
    """Ratios that are drawn: the curves, and bands as far as they matter."""
    values = np.concatenate([path.rrecall, path.rfpr])
    with np.errstate(invalid="ignore"):
        values = values[(values > 0) & np.isfinite(values)]
        needed(values.tolist(), "no ratio is defined")
        bands = np.concatenate([path.rrecall_ends.ravel(), path.rfpr_ends.ravel()])
        bands = bands[(bands > 0.7 * values.min()) & (bands < 1.4 * values.max())]
    logs = np.log(np.clip([1.0, *values, *bands], LOWEST, HIGHEST))
    edge = 0.06 * (logs.max() - logs.min()) or 0.1
    return float(np.exp(logs.min() - edge)), float(np.exp(logs.max() + edge))


def _across(plane: Plane, path: Path) -> tuple[float, float]:
    """Thresholds that are drawn: those that matter, and where replicates choose theirs."""
    some = path.thresholds[shown_part(plane, path)]
    ends = [c.upper for c in plane.chosen if c.upper is not None]
    low, high = float(path.thresholds[0]), max([*some, *ends], default=path.thresholds[-1])
    edge = 0.02 * (high - low) or 0.05 * abs(low) or 0.1
    return low - edge, high + edge


def _curve(
    ax: Axes, path: Path, name: str, look: dict[str, Any], span: tuple[float, float]
) -> None:
    """One ratio with its band; what leaves the axes ends at their edge."""
    values, ends = getattr(path, name), getattr(path, f"{name}_ends")
    ax.fill_between(
        path.thresholds,
        np.clip(ends[0], *span),
        np.clip(ends[1], *span),
        where=np.isfinite(ends).all(axis=0),
        color=look["color"],
        alpha=0.18,
        linewidth=0,
    )
    line = {"color": look["color"], "linewidth": 1.8}
    dashes = "-" if name == RATIOS[0] else (0, (5, 2))
    ax.plot(path.thresholds, np.clip(values, span[0], None), linestyle=dashes, **line)


def _rules(ax: Axes, plane: Plane) -> None:
    """Limits, chosen thresholds and their ranges."""
    for chosen in plane.chosen:
        name, _, limit = chosen.rule.partition("=")
        colour = COLOURS[RATIOS.index(name.removeprefix("max-").removeprefix("min-"))]
        if float(limit) != 1:
            ax.axhline(float(limit), color=colour, linewidth=1.3, linestyle=DOTTED, zorder=1.6)
        if chosen.lower is not None and chosen.upper is not None:
            ax.axvspan(chosen.lower, chosen.upper, color=ink(), alpha=0.14, linewidth=0, zorder=0)
        if chosen.threshold is not None:
            ax.axvline(chosen.threshold, color=colour, linewidth=1.3, zorder=1.6)


def _handles(plane: Plane) -> list[Any]:
    """Both ratios, and the lines that there are."""
    found: list[Any] = []
    for name, look in looks(RATIOS).items():
        dashes: Any = "-" if name == RATIOS[0] else (0, (5, 2))
        found.append(line_handle(name, {**look, "marker": "", "linestyle": dashes}))
    path = Path.of(plane)
    low, high = _span(path.between(*_across(plane, path)))
    limits = [float(chosen.rule.partition("=")[2]) for chosen in plane.chosen]
    if any(low < limit < high and limit != 1 for limit in limits):
        found.append(Line2D([], [], color=ink(), linestyle=DOTTED, label="limit"))
    if any(chosen.threshold is not None for chosen in plane.chosen):
        found.append(Line2D([], [], color=ink(), linewidth=1.3, label="chosen"))
    if plane.deployed is not None:
        found.append(Line2D([], [], color=ink(), linestyle=DEPLOYED, label="deployed"))
    return [*found, one_handle()]


def by_threshold_height(plane: Plane, width: float = WIDE) -> float:
    """Height in inches that shows these curves at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(plane)]
    return 3.4 + legend_height(labels, width)
