"""The queries that cost most: value, interval, best threshold, and what was found at all."""

from typing import Any
from unicodedata import east_asian_width

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import amount, percent
from truecost.report.plots.look import (
    ACROSS,
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
from truecost.report.plots.slots import Slots, label_of, word_beside
from truecost.report.plots.twv import DEEP, TOP, rejecting_handle, value_scale
from truecost.tasks.terms.describing import QueryValue, SearchDescription

OPTIMUM, SUPREMUM = "at its best threshold", "its targets that are found at all"


def query_forest(found: SearchDescription, ax: Axes | None = None) -> Axes:
    """A row a query, those that cost most first: TWV with its interval over documents.

    A hollow diamond is the value at the query's own best threshold, an upright stroke the share of
    its targets that any detection is aligned with. At the right stand targets found and false
    alarms. Where values lie below -2 the scale is logarithmic below -1.

    Parameters
    ----------
    found : SearchDescription
        Of a search of a result.

    Raises
    ------
    UsageError
        When no query has a target.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.terms.describing import QueryValue, SearchDescription
    >>> worst = QueryValue(
    ...     query="K7",
    ...     text="ways",
    ...     targets=5,
    ...     correct=2,
    ...     false_alarms=6,
    ...     twv=-0.1,
    ...     lower=-0.5,
    ...     upper=0.4,
    ...     optimum=0.3,
    ...     supremum=0.4,
    ... )
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
    ...     worst=(worst,),
    ... )
    >>> ax = plots.query_forest(search)
    >>> [text.get_text() for text in ax.get_yticklabels()], [t.get_text() for t in ax.texts]
    (['K7 ways'], ['2 of 5, 6 false'])
    """
    needed(found.worst, "no query has a target")
    ax = ax or new_axes(WIDE, query_forest_height(found))
    wide = width_of(ax)
    slots = _slots(found, wide)
    value_scale(ax, "x", _span(found), _room(found, wide))
    naive_line(ax, 0, vertical=True)
    for value, middle in zip(found.worst, slots.middles, strict=True):
        _row(ax, value, middle)
        word_beside(ax, _counts(value, wide), middle)
    slots.set_on(ax)
    ax.set_xlabel("TWV of a query")
    legend_below(ax, _handles(found))
    return finish(ax, grid="x")


def name_of(value: QueryValue) -> str:
    """The id of a query with its text, where it has another one."""
    text = " ".join(value.text.split())
    return value.query if text in ("", value.query) else f"{value.query} {text}"


def _slots(found: SearchDescription, width: float) -> Slots:
    return Slots.of([_label(name_of(value), width) for value in found.worst], 1)


def _label(name: str, width: float) -> str:
    """A name in lines; letters of some scripts are as wide as two."""
    wide = sum(east_asian_width(letter) in "WF" for letter in name)
    return label_of(name, width * len(name) / (len(name) + wide))


def _counts(value: QueryValue, width: float) -> str:
    of = " of " if width > 5 else "/"
    right = f"{amount(value.correct)}{of}{amount(value.targets)}"
    return f"{right}, {amount(value.false_alarms)} false"


def _room(found: SearchDescription, width: float) -> float:
    """Inches that are left for the axis between names and counts."""
    names = max(len(line) for label in _slots(found, width).labels for line in label.split("\n"))
    counts = max(len(_counts(value, width)) for value in found.worst)
    return max(0.8, width - 0.4 - (names + counts) / ACROSS)


def _span(found: SearchDescription) -> tuple[float, float]:
    """Values and intervals of all rows; 0 and 1 always."""
    ends = [v for w in found.worst for v in (w.twv, w.lower, w.upper) if v is not None]
    low = min(0.0, *ends)
    return (1.3 * low, TOP) if low < DEEP else (low - 0.05 * (1 - low), 1.06)


def _row(ax: Axes, value: QueryValue, place: float) -> None:
    """The interval, the value, the optimum and the supremum of a query."""
    look: Any = {"color": COLOURS[0], "linestyle": "none", "clip_on": False}
    stroke: Any = {"color": ink(), "markersize": 10, "markeredgewidth": 1.8, "clip_on": False}
    if value.lower is not None and value.upper is not None:
        ax.plot([value.lower, value.upper], [place, place], color=COLOURS[0], linewidth=2)
    ax.plot(value.supremum, place, "|", **stroke)
    ax.plot(
        value.optimum, place, "D", markersize=6, markerfacecolor="none", markeredgewidth=1.3, **look
    )
    ax.plot(value.twv, place, "o", markersize=5.5, **look)


def _handles(found: SearchDescription) -> list[Any]:
    look: Any = {"color": COLOURS[0], "linestyle": "none"}
    banded = any(value.lower is not None for value in found.worst)
    level = percent(found.curve.level) if found.curve is not None else ""
    said = f", {level} interval over documents".replace(",  ", ", ") if banded else ""
    line: Any = {**look, "linestyle": "-" if banded else "none"}
    return [
        Line2D([], [], marker="o", label=f"at the system's decisions{said}", **line),
        Line2D(
            [], [], marker="D", markerfacecolor="none", markeredgewidth=1.3, label=OPTIMUM, **look
        ),
        Line2D(
            [],
            [],
            color=ink(),
            marker="|",
            markersize=10,
            markeredgewidth=1.8,
            linestyle="none",
            label=SUPREMUM,
        ),
        rejecting_handle(),
    ]


def query_forest_height(found: SearchDescription, width: float = WIDE) -> float:
    """Height in inches that shows these queries at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(found)]
    return 0.7 + _slots(found, width).height + legend_height(labels, width)
