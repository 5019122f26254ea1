"""Ratios of two models in rows on a logarithmic axis: by deployment, estimator and subset."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D

from truecost.core.digits import counted
from truecost.core.results import Row, figures
from truecost.errors import UsageError
from truecost.report.plots.look import (
    SMALL,
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
    short,
    width_of,
)
from truecost.report.plots.rows import WEAK, marked, prefix_of
from truecost.report.plots.slots import Slots, arrows, label_of, phrases, word_beside
from truecost.report.words import against_naive, endless
from truecost.tasks.abba.measures import ESTIMATORS

TEST_SET = "test_set"
AIMLESS = ("raccepts", "rmean")  # neither way is better by itself
ROUND = ((1, 1.5, 2, 3, 4, 5, 7), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # in a decade
NARROW = 2.5  # up to this factor between the ends steps are even
SAID = {"hollow": "machine labels alone", "weak": "too few items", "one": "no change"}


def ratios(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """Ratios with intervals, a row each, a line at 1 and the verdict in words.

    A value from machine labels alone is hollow; one that rests on too little is hollow and dotted,
    and does not widen the axis. Colours and markers tell estimators apart, or deployments where
    there is one estimator.

    Parameters
    ----------
    rows : sequence of Row
        Values of one measure of AB/BA, in their order: by deployment, estimator, subset.

    Raises
    ------
    UsageError
        When there are none, or they are of several measures.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.records import Deployment
    >>> rng = np.random.default_rng(0)
    >>> arm, label = np.arange(800, dtype=np.uint8) % 2, (rng.random(800) < 0.8).astype(float)
    >>> other = rng.random(800) < np.where(label == 1, 0.95, 0.6 - 0.2 * arm)
    >>> log = Deployment("new", np.arange(800).astype(str), arm, other, label)
    >>> rows = tc.score_system(log, tc.Scoring(plan=tc.Plan(100)))
    >>> ax = plots.ratios([r for r in rows if r.measure == "rfpr"])
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xscale()
    (['direct', 'pooled'], 'log')
    """
    needed(rows, "there are no rows")
    if len(labels := dict.fromkeys(r.label for r in rows)) > 1:
        raise UsageError(
            f"rows of {counted(len(labels), 'measure')} ({', '.join(labels)}) share no axis: draw "
            f"one at a time, such as [r for r in rows if r.label == '{rows[0].label}']"
        )
    ax = ax or new_axes(WIDE, ratios_height(rows))
    slots = _slots(rows, width_of(ax))
    span = span_of(rows)
    look = looks_of(rows)
    ax.set_xscale("log")
    ax.set_xlim(*span)
    naive_line(ax, 1, vertical=True)
    for row, place in zip(rows, slots.middles, strict=True):
        own = look[_key(row, rows)]
        word_beside(ax, _verdict(row), place)
        if (value := _value(row)) is None:
            continue
        if span[0] <= value <= span[1]:
            marked(ax, row, place, own, span, hollow=machine_alone(row))
            _open_ended(ax, row, place, own["color"], span)
        else:
            _off_axis(ax, row, value, place, own["color"], span)
    slots.set_on(ax)
    ratio_axis(ax.xaxis, span, 0.5 * width_of(ax))
    ax.set_xlabel(f"{rows[0].label}, B over A")
    if prefix := prefix_of(_subsets(rows)):
        ax.set_ylabel(short(prefix.rstrip("=")))
    legend_below(ax, _handles(rows))
    return finish(ax, grid="x")


def _value(row: Row) -> float | None:
    """The value of a row, infinite where its reason says so."""
    return math.inf if row.value is None and endless(row) else row.value


def _open_ended(ax: Axes, row: Row, place: float, colour: str, span: tuple[float, float]) -> None:
    """An interval without an upper end, up to an arrow at the edge."""
    if row.value is None or row.lower is None or row.upper is not None:
        return
    start = min(max(row.lower, span[0]), span[1])
    style = ":" if WEAK & {*row.flags} else "-"
    ax.plot([start, span[1]], [place, place], color=colour, linewidth=2, linestyle=style)
    arrows(ax, (row.lower, math.inf), span, place, colour)


def _off_axis(
    ax: Axes, row: Row, value: float, place: float, colour: str, span: tuple[float, float]
) -> None:
    """A value such as 0 that has no place: its figure above the arrow of its interval."""
    ends = [value, *(end for end in (row.lower, row.upper) if end is not None)]
    inside = [min(max(end, span[0]), span[1]) for end in (min(ends), max(ends))]
    ax.plot(inside, [place, place], color=colour, linewidth=2, linestyle=":")
    arrows(ax, (min(ends), max(ends)), span, place, colour)
    left = value < span[0]
    ax.annotate(
        figures(row)[0],
        (0.0 if left else 1.0, place),
        (4 if left else -4, 4),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="left" if left else "right",
        fontsize=SMALL - 1,
    )


def machine_alone(row: Row) -> bool:
    """Whether no human label entered."""
    return "uncorrected" in row.flags


def _verdict(row: Row) -> str:
    """On which side of 1 the interval lies, in a word."""
    said = against_naive(row) or ("" if row.value is not None else "undefined")
    if row.measure not in AIMLESS or said not in ("better", "worse"):
        return said
    return "lower" if said == "better" else "higher"


def looks_of(rows: Sequence[Row]) -> Mapping[str, dict[str, Any]]:
    """Colour and marker of each estimator, or of each deployment where there is one estimator."""
    if by_estimator(rows):
        return looks([*ESTIMATORS, TEST_SET, *(r.dims.get("estimator", "") for r in rows)])
    return looks([r.dims["system"] for r in rows])


def by_estimator(rows: Sequence[Row]) -> bool:
    """Whether colours tell estimators apart."""
    return len({r.dims.get("estimator") for r in rows}) > 1


def _key(row: Row, rows: Sequence[Row]) -> str:
    return row.dims.get("estimator", "") if by_estimator(rows) else row.dims["system"]


def _subsets(rows: Sequence[Row]) -> list[str]:
    return [r.dims.get("subset", "all") for r in rows]


def names_of(rows: Sequence[Row]) -> list[str]:
    """What tells each row from the others: `car, new, direct`."""
    prefix = prefix_of(_subsets(rows))
    columns = [
        [subset.removeprefix(prefix) for subset in _subsets(rows)],
        *([r.dims.get(key, "") for r in rows] for key in ("collection", "system")),
        [r.dims.get("estimator", "").replace("_", " ") for r in rows],
    ]
    told = [column for column in columns if len(set(column)) > 1] or [columns[2]]
    return [", ".join(filter(None, parts)) for parts in zip(*told, strict=True)]


def _slots(rows: Sequence[Row], width: float) -> Slots:
    """A slot a row; subsets with their counts."""
    labels = [label_of(name, width) for name in names_of(rows)]
    if any("subset" in r.dims for r in rows):
        sizes = [phrases(_size(row), width) for row in rows]
        labels = [f"{name}\n{size}" for name, size in zip(labels, sizes, strict=True)]
    return Slots.of(labels, 1)


def _size(row: Row) -> str:
    said = counted(row.n_trials, row.item)
    return f"{said}, {counted(row.counts['labels'], 'label')}" if "labels" in row.counts else said


def span_of(rows: Sequence[Row]) -> tuple[float, float]:
    """Ends of a logarithmic axis: all values and 1, and intervals as far as they rest on enough.

    Others widen it by half at most; where there are no such, to four times or a quarter.
    """
    strong = [r for r in rows if not WEAK & {*r.flags}]
    sure = _logs([1.0, *(r.value for r in rows), *_ends(strong)])
    low, high = min(sure), max(sure)
    room = (0.5 * (high - low) or 0.1) if strong else math.log(4)
    every = _logs([1.0, *_ends(rows)])
    low, high = max(min([low, *every]), low - room), min(max([high, *every]), high + room)
    edge = 0.05 * (high - low) or 0.05
    beyond = 3 if any(map(endless, rows)) else 1  # for the arrow
    return math.exp(low - edge), math.exp(high + beyond * edge)


def _ends(rows: Sequence[Row]) -> list[float | None]:
    return [end for r in rows for end in (r.lower, r.upper)]


def _logs(values: Sequence[float | None]) -> list[float]:
    """Logarithms of those that have one."""
    return [math.log(v) for v in values if v is not None and v > 0]


def ratio_axis(axis: Axis, span: tuple[float, float], inches: float) -> None:
    """Round ratios along a logarithmic axis, as many as stand apart, and no other ticks."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(ratio_ticks(*span, inches)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axis.set_minor_locator(NullLocator())


def ratio_ticks(low: float, high: float, inches: float) -> list[float]:
    """Round ratios between two, 1 among them where it lies there.

    Examples
    --------
    >>> from truecost.report.plots.ratio_rows import ratio_ticks
    >>> ratio_ticks(0.2, 1.8, 3.0)
    [0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5]
    >>> ratio_ticks(0.96, 1.07, 2.0)
    [0.975, 1.0, 1.025, 1.05]
    """
    if high / low <= NARROW:
        return _even(low, high, inches)
    scale = inches / math.log(high / low)
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high))
    found: list[float] = []
    for steps in ROUND:
        every = [round(step * 10.0**k, 12) for k in range(first, last + 1) for step in steps]
        found = [tick for tick in every if low <= tick <= high]
        gaps = [math.log(b / a) for a, b in itertools.pairwise(found)]
        if not gaps or scale * min(gaps) >= 0.08 * max(len(f"{tick:.4g}") for tick in found):
            return found
    every_nth = -(-len(found) // max(2, int(2 * inches)))
    return [tick for tick in found if round(math.log10(tick)) % every_nth == 0]


def _even(low: float, high: float, inches: float) -> list[float]:
    """Even steps of a narrow axis."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(max(2, int(2.8 * inches)), steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [round(float(tick), 12) for tick in ticks if low <= tick <= high]


def _handles(rows: Sequence[Row]) -> list[Any]:
    """The line at 1, and what hollow marks mean; what the rows are stands beside them."""
    found: list[Any] = []
    if any(machine_alone(r) and r.value is not None for r in rows):
        found.append(mark_handle(SAID["hollow"], filled=False, linestyle="-"))
    if any(WEAK & {*r.flags} and r.value is not None for r in rows):
        found.append(mark_handle(SAID["weak"], filled=False, linestyle=":"))
    return [*found, one_handle()]


def one_handle() -> Line2D:
    """The dashed line at 1, for legends."""
    return Line2D([], [], color=ink(), linewidth=1.2, linestyle=(0, (4, 3)), label=SAID["one"])


def ratios_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(rows)]
    return 0.75 + _slots(rows, width).height + legend_height(labels, width)
