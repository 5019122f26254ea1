"""A measure against the questions a batch: which budget pays off (paper 000, Fig. 3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.results import Row, shown
from truecost.report.plots.look import (
    ACROSS,
    MANY,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    looks,
    mark_handle,
    naive_line,
    needed,
    new_axes,
    point,
    short,
    width_of,
)
from truecost.tasks.streams.swept import WITHOUT_QUESTIONS, Swept, best_of, budget_of, swept_of

PASSIVE: Any = (0, (6, 2, 1, 2))  # dashes
LARGE = 6.0  # times the smallest budget: from here on the axis is logarithmic
APART = 3.5  # points between the intervals of two strategies
BY_HAND = "all by hand"
NAIVE = "naive baseline"
LEAST = "best budget"
LOWEST = "lowest value"  # of what leaves out questions


def budgets(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """One measure by budget: a line a strategy, its best value filled, the passive baseline.

    Intervals stand at each budget; of more than four strategies they hide each other and are left
    out. A strategy without questions, the passive baseline, is a horizontal line with its interval
    as a band; the legend says what it has, also where that is too far off to be drawn. The axis of
    budgets is logarithmic when the largest is at least six times the smallest; that of values does
    not start at 0.

    Parameters
    ----------
    rows : sequence of Row
        Of one measure, with the dims `strategy` and `budget`; those after adaptation (`phase` post)
        where there are any.

    Raises
    ------
    UsageError
        When no row has a budget, they are of several measures, or two have one strategy and budget.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.core.results import Row
    >>> def row(budget, value):
    ...     return Row(
    ...         measure="imlm",
    ...         task="stream",
    ...         dims={"system": "mine", "strategy": "margin", "budget": budget, "phase": "post"},
    ...         value=value,
    ...         lower=value - 0.03,
    ...         upper=value + 0.03,
    ...         level=0.95,
    ...         method="percentile",
    ...         naive=1.0,
    ...         direction="lower",
    ...         factors=("seed",),
    ...         n_units=8,
    ...         n_trials=1500,
    ...         n_replicates=2000,
    ...         n_undefined=0,
    ...         flags=(),
    ...         signature="",
    ...     )
    >>> ax = plots.budgets([row("2", 0.34), row("4", 0.31), row("8", 0.33)])
    >>> ax.get_xlabel(), ax.get_ylabel(), [t.get_text() for t in ax.get_xticklabels()]
    ('questions a batch', 'imlm', ['2', '4', '8'])
    """
    found = swept_of(rows)
    needed(found.asking, "no row says how many questions a batch there were (dims.budget)")
    ax = ax or new_axes(WIDE, budgets_height(rows))
    names = [*found.strategies, *map(_name, found.baselines)]
    look = looks(names)
    _set_across(ax, found)
    ax.set_ylim(*_up(found))
    for k, (name, own) in enumerate(found.strategies.items()):
        _line(ax, own, look[name], APART * (k - (len(found.strategies) - 1) / 2), found)
    for row in found.baselines:
        _baseline(ax, row, look[_name(row)])
    if _shows_naive(found):
        naive_line(ax, found.asking[0].naive or 0.0, vertical=False)
    if found.asking[0].scale:
        ax.yaxis.set_major_formatter(lambda value, _: shown(found.asking[0], value))
    ax.set_xlabel("questions a batch")
    ax.set_ylabel(found.asking[0].label)
    legend_below(ax, _handles(found))
    return finish(ax, grid="y")


def _name(row: Row) -> str:
    """The strategy of a row, or its system where it has none."""
    return row.dims.get("strategy") or row.dims.get("system", "")


def _set_across(ax: Axes, found: Swept) -> None:
    """Scale, limits and ticks of the budgets: labels at those that were tried, none colliding."""
    known = found.budgets
    low, high = known[0], known[-1]
    logarithmic = low > 0 and high >= LARGE * low
    if logarithmic:
        ax.set_xscale("log", base=2)
    places = np.log2(known) if logarithmic else np.array(known)
    edge = 0.06 * (places[-1] - places[0]) or 0.5
    ends = np.array([places[0] - edge, places[-1] + edge])
    ax.set_xlim(*(2**ends if logarithmic else ends))
    inch = 0.82 * width_of(ax) / (ends[1] - ends[0])
    ax.set_xticks(_labelled(known, places * inch, _bests(found)), minor=False)
    ax.set_xticks(known, minor=True)
    ax.xaxis.set_major_formatter(lambda budget, _: f"{budget:g}")
    ax.xaxis.set_minor_formatter(lambda *_: "")


def _bests(found: Swept) -> list[float]:
    """The best budget of each strategy."""
    best = (best_of(rows) for rows in found.strategies.values())
    return [budget_of(row) for row in best if row is not None]


def _labelled(known: Sequence[float], places: Any, first: Sequence[float]) -> list[float]:
    """Budgets whose figures stand apart: the best ones, the ends, then from the smallest on."""
    kept: dict[float, float] = {}
    at = dict(zip(known, places, strict=True))
    for budget in (*first, known[0], known[-1], *known):
        room = 0.06 + len(f"{budget:g}") / ACROSS
        if all(abs(at[budget] - place) > room for place in kept.values()):
            kept[budget] = at[budget]
    return sorted(kept)


def _up(found: Swept) -> tuple[float, float]:
    """Values, and intervals as far as they are no wider than the values lie apart."""
    values = [r.value for r in found.asking if r.value is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = (high - low) or abs(high) or 1.0
    near = [r for r in found.baselines if _is_near(r, low - room, high + room)]
    values += [r.value for r in near if r.value is not None]
    low, high = min(values), max(values)
    rows = [*found.asking, *near]
    ends = [v for r in rows for v in (r.lower, r.upper) if v is not None]
    low, high = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    edge = 0.05 * (high - low) or 0.1
    return low - edge, high + edge


def _is_near(row: Row, low: float, high: float) -> bool:
    return row.value is not None and low <= row.value <= high


def _shows_naive(found: Swept) -> bool:
    """Whether the naive value, one for all, lies among those that are shown."""
    references = {row.naive for row in found.asking}
    low, high = _up(found)
    return len(references) == 1 and all(r is not None and low <= r <= high for r in references)


def _line(ax: Axes, rows: Sequence[Row], look: dict[str, Any], aside: float, found: Swept) -> None:
    """Values of a strategy with their intervals, a little aside of those of others."""
    from matplotlib.transforms import offset_copy

    from truecost.report.plots.look import figure_of

    few = len(found.strategies) <= MANY
    moved = offset_copy(ax.transData, figure_of(ax), x=aside if few else 0.0, units="points")
    best = best_of(rows)
    at = [budget_of(row) for row in rows]
    values = [np.nan if row.value is None else row.value for row in rows]
    line: Any = {"color": look["color"], "transform": moved}
    ax.plot(at, values, linestyle=look["linestyle"], linewidth=1.4, **line)
    for row in rows:
        if few and row.lower is not None and row.upper is not None:
            ends = [row.lower, row.upper]
            ax.plot([budget_of(row)] * 2, ends, linewidth=1.3, **line)
        if row.value is not None and row is not best:
            mark: Any = {"marker": look["marker"], "markersize": 6, "linestyle": "none"}
            ax.plot(budget_of(row), row.value, markerfacecolor="none", **mark, **line)
    if best is not None and best.value is not None:
        point(ax, budget_of(best), best.value, look, filled=True)
        ax.lines[-1].set_transform(moved)


def _baseline(ax: Axes, row: Row, look: dict[str, Any]) -> None:
    """What asks nothing: a line across, with its interval as a band."""
    if row.value is None or not _is_near(row, *ax.get_ylim()):
        return
    if row.lower is not None and row.upper is not None:
        ax.axhspan(row.lower, row.upper, color=look["color"], alpha=0.2, linewidth=0)
    ax.axhline(row.value, color=look["color"], linewidth=1.4, linestyle=PASSIVE)


def _handles(found: Swept) -> list[Any]:
    look = looks([*found.strategies, *map(_name, found.baselines)])
    handles: list[Any] = [
        Line2D(
            [],
            [],
            label=short(name) or "budgets",
            markerfacecolor="none",
            markersize=6,
            **{key: look[name][key] for key in ("color", "marker", "linestyle")},
        )
        for name in found.strategies
    ]
    handles += [
        Line2D(
            [],
            [],
            color=look[_name(row)]["color"],
            linestyle=PASSIVE,
            label=_asks_nothing(row, _up(found)),
        )
        for row in found.baselines
    ]
    without = found.asking[0].measure in WITHOUT_QUESTIONS
    handles.append(mark_handle(LOWEST if without else LEAST, filled=True))
    if _shows_naive(found):
        naive: Any = {"color": ink(), "linewidth": 1.2, "linestyle": (0, (4, 3))}
        by_hand = (
            found.asking[0].measure != "act_dcf"
        )  # whose naive baseline accepts or rejects all
        handles.append(Line2D([], [], label=BY_HAND if by_hand else NAIVE, **naive))
    return handles


def _asks_nothing(row: Row, up: tuple[float, float]) -> str:
    """`passive: 1.05`, and where that is when it is not drawn."""
    said = f"{short(_name(row))}: {shown(row, row.value)}"
    if row.value is None or up[0] <= row.value <= up[1]:
        return said
    return f"{said} ({'above' if row.value > up[1] else 'below'})"


def budgets_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(swept_of(rows))]
    return 3.2 + legend_height(labels, width)
