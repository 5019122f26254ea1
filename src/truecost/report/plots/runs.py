"""Single runs of methods: how far they lie apart, beside the interval of their mean."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import counted
from truecost.core.results import Row
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
    scaled,
    width_of,
)
from truecost.report.plots.slots import Slots, label_of

SAID = ("mean over runs with its interval", "lowest and highest run")


def runs(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """A row a method: the mean over its runs with its interval, and the range of the single runs.

    Parameters
    ----------
    rows : sequence of Row
        Of one measure; those without `lowest_run` and `highest_run` among their counts are left
        out, and so is what one run would give.

    Raises
    ------
    UsageError
        When no row has runs, or rows are of several measures.

    Examples
    --------
    >>> from truecost.report import plots
    >>> plots.runs([])
    Traceback (most recent call last):
    ...
    truecost.errors.UsageError: there is nothing to draw: no row is a mean over runs
    """
    drawn = having_runs(rows)
    needed(drawn, "no row is a mean over runs")
    if len(labels := dict.fromkeys(r.label for r in drawn)) > 1:
        raise UsageError(f"rows of {counted(len(labels), 'measure')} share no axis: draw one")
    ax = ax or new_axes(WIDE, runs_height(rows))
    slots = _slots(drawn, width_of(ax))
    for row, place in zip(drawn, slots.middles, strict=True):
        _row(ax, row, place)
    references = {r.naive for r in drawn}
    low, high = ax.get_xlim()
    reference = references.pop() if len(references) == 1 else None
    if reference is not None and low <= reference <= high:
        naive_line(ax, reference, vertical=True)
    slots.set_on(ax)
    scaled(ax, [r.scale for r in drawn])
    ax.set_xlabel(drawn[0].label)
    legend_below(ax, _handles())
    return finish(ax, grid="x")


def having_runs(rows: Sequence[Row]) -> list[Row]:
    """The means over runs whose runs are told."""
    return [
        r
        for r in rows
        if r.counts.get("runs", 0) > 1
        and {"lowest_run", "highest_run"} <= set(r.counts)
        and r.dims.get("estimator", "mean") == "mean"
    ]


def _row(ax: Axes, row: Row, place: float) -> None:
    """The interval in colour, and below it the range of the runs with a stroke at either end."""
    mean, each = place - 0.05, place + 0.07
    if row.lower is not None and row.upper is not None:
        ax.plot([row.lower, row.upper], [mean, mean], color=COLOURS[0], linewidth=2)
    if row.value is not None:
        ax.plot(row.value, mean, "o", color=COLOURS[0], markersize=6)
    ends = [row.counts["lowest_run"], row.counts["highest_run"]]
    ax.plot(ends, [each, each], "|-", color=ink(), linewidth=1.2, markersize=7)


def _slots(rows: Sequence[Row], width: float) -> Slots:
    """Names of methods with how many runs each has."""
    labels = []
    for row in rows:
        about = ", ".join(v for k, v in row.dims.items() if k != "estimator")
        labels.append(f"{label_of(about, width)}\n{counted(row.counts['runs'], 'run')}")
    return Slots.of(labels, 2)


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color=COLOURS[0], marker="o", linewidth=2, label=SAID[0]),
        Line2D([], [], color=ink(), marker="|", linewidth=1.2, label=SAID[1]),
    ]


def runs_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these methods at a width in inches."""
    return 0.75 + _slots(having_runs(rows), width).height + legend_height(SAID, width)
