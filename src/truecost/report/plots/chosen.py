"""Both ratios of AB/BA against the threshold of the candidate, with limits and what they choose."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.report.plots.look import (
    COLOURS,
    SMALL,
    WIDE,
    figure_of,
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
from truecost.report.words import rule_said
from truecost.tasks.abba.describing import Plane

RATIOS = ("rrecall", "rfpr")
LOWEST, HIGHEST = 0.05, 20.0  # ratios that are drawn
DOTTED, DEPLOYED = (0, (1, 1.6)), (0, (5, 1.5, 1, 1.5))
RULED = ((COLOURS[2], "-"), (COLOURS[3], (0, (7, 2))))  # colour and dashes of each rule
AT = ("\N{GREATER-THAN OR EQUAL TO}", "\N{LESS-THAN OR EQUAL TO}")  # of a lowest, a highest
FIRST_BAR, NEXT_BAR = 5, 6  # points above the axes: where a rule's replicates choose


def ratios_by_threshold(plane: Plane, ax: Axes | None = None) -> Axes:
    """Both ratios against the threshold with pointwise bands, limits and the chosen thresholds.

    Each rule has a colour and dashes: an upright line at the threshold that it chooses, a bar above
    the axes where replicates choose theirs, and a dotted line across at its limit.

    Parameters
    ----------
    plane : Plane
        As `truecost.tasks.abba.thresholds.choose` gives it.

    Raises
    ------
    UsageError
        When no ratio is defined.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.describing import Plane
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
    low, high = _span(path.between(left, right), _limits(plane))
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


def _span(path: Path, limits: Sequence[float]) -> tuple[float, float]:
    """Ratios that are drawn: the curves, and bands and limits as far as they matter."""
    values = np.concatenate([path.rrecall, path.rfpr])
    with np.errstate(invalid="ignore"):
        values = values[(values > 0) & np.isfinite(values)]
        needed(values.tolist(), "no ratio is defined")
        bands = np.concatenate([path.rrecall_ends.ravel(), path.rfpr_ends.ravel(), limits])
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


def _limits(plane: Plane) -> list[float]:
    return [float(chosen.rule.partition("=")[2]) for chosen in plane.chosen]


def _rules(ax: Axes, plane: Plane) -> None:
    """Limits, chosen thresholds and where replicates choose theirs, in the look of each rule."""
    low, high = ax.get_ylim()
    order = [(limit, c.rule) for limit, c in zip(_limits(plane), plane.chosen, strict=True)]
    for k, (chosen, (limit, rule)) in enumerate(zip(plane.chosen, order, strict=True)):
        colour, dashes = RULED[k % len(RULED)]
        if low < limit < high and limit != 1:
            ax.axhline(limit, color=colour, linewidth=1.3, linestyle=DOTTED, zorder=1.6)
            side = "bottom" if (limit, rule) == max(order) else "top"
            said = f"{AT[rule.startswith('max')]} {limit:g}"
            _beside(ax, said, limit, side if len(order) > 1 else "center")
        if chosen.lower is not None and chosen.upper is not None:
            _bar(ax, (chosen.lower, chosen.upper), k, colour)
        if chosen.threshold is not None:
            ax.axvline(chosen.threshold, color=colour, linewidth=1.5, linestyle=dashes, zorder=1.6)


def _beside(ax: Axes, text: str, limit: float, side: Any) -> None:
    """A limit at the right of its line; of two the higher one above its line, the other below."""
    ax.annotate(
        text,
        (1, limit),
        (4, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va=side,
        fontsize=SMALL,
    )


def _bar(ax: Axes, ends: tuple[float, float], k: int, colour: str) -> None:
    """Where replicates choose, above the axes: what is drawn on them stays clear."""
    from matplotlib.transforms import offset_copy

    above = FIRST_BAR + NEXT_BAR * k
    place = offset_copy(ax.get_xaxis_transform(), figure_of(ax), y=above, units="points")
    look: Any = {"color": colour, "linewidth": 4, "solid_capstyle": "butt"}
    ax.plot(ends, [1, 1], transform=place, clip_on=False, **look)


def _handles(plane: Plane) -> list[Any]:
    """Both ratios, each rule, and the lines that there are."""
    found: list[Any] = []
    for name, look in looks(RATIOS).items():
        dashes: Any = "-" if name == RATIOS[0] else (0, (5, 2))
        found.append(line_handle(name, {**look, "marker": "", "linestyle": dashes}))
    if plane.deployed is not None:
        found.append(Line2D([], [], color=ink(), linestyle=DEPLOYED, label="deployed"))
    found.append(one_handle())
    for k, chosen in enumerate(plane.chosen):
        colour, dashes = RULED[k % len(RULED)]
        label = rule_said(chosen.rule, plane.by)
        if chosen.threshold is None:
            label = f"no threshold has {label.partition(' with ')[2]}"
        found.append(Line2D([], [], color=colour, linewidth=1.5, linestyle=dashes, label=label))
    return found


def by_threshold_height(plane: Plane, width: float = WIDE) -> float:
    """Height in inches that shows these curves at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(plane)]
    return 3.4 + legend_height(labels, width)
