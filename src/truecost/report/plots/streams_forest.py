"""Streams one by one: what each comes to, with its interval, those that cost most first."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import counted
from truecost.errors import UsageError
from truecost.report.plots.look import (
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
from truecost.report.plots.slots import Slots, arrows, far_off, label_of, phrases
from truecost.tasks.streams.describing import OfStream, OnlineDescription

Found = Sequence[OnlineDescription]
AFTER = "post"
SAID = {"post": "after adapting to the batch", "pre": "before it"}
STEP = 0.16  # inches between the marks of a row


def streams_forest(found: Found, measure: str = "imlm", ax: Axes | None = None) -> Axes:
    """A row a stream: the value of each system with its interval, items and targets of a run.

    Of one system both phases are drawn, before adaptation hollow; of several only the later one.
    Streams stand in the order of the first system's values, those that cost most first.

    Parameters
    ----------
    found : sequence of OnlineDescription
        Systems of a result, on the same streams.
    measure : {"imlm", "act_dcf"}

    Raises
    ------
    UsageError
        When no system has several streams, or none has that measure.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.streams.describing import OfStream, OnlineDescription
    >>> def of(stream, value):
    ...     ends = {"value": value, "lower": value - 0.1, "upper": value + 0.1}
    ...     about = {"measure": "imlm", "phase": "post", "items": 600, "targets": 60}
    ...     return OfStream(stream=stream, **about, **ends)
    >>> mine = OnlineDescription(
    ...     dims={"system": "mine"},
    ...     kind="detection",
    ...     runs=1,
    ...     streams=2,
    ...     batches=20,
    ...     items=1200,
    ...     queries=40,
    ...     window=1,
    ...     ends=(10,),
    ...     resampled="batch",
    ...     level=0.95,
    ...     by_stream=(of("hindi", 0.3), of("odia", 0.5)),
    ... )
    >>> ax = plots.streams_forest([mine])
    >>> [text.get_text().splitlines()[0] for text in ax.get_yticklabels()]
    ['odia', 'hindi']
    """
    ordered = streams_in_order(found, measure)
    ax = ax or new_axes(WIDE, streams_height(found, measure=measure))
    slots = _slots(found, ordered, measure, width_of(ax))
    series = _series(found, measure)
    span = _span([of for _, _, rows in series for of in rows.values()])
    look = looks([name for name, _, _ in series])
    for k, (name, phase, rows) in enumerate(series):
        aside = STEP * (k - (len(series) - 1) / 2)
        for stream, middle in zip(ordered, slots.middles, strict=True):
            if stream in rows:
                _row(ax, rows[stream], middle + aside, look[name], span, filled=phase == AFTER)
    if measure == "imlm" and span[0] <= 1 <= span[1]:
        naive_line(ax, 1, vertical=True)
    slots.set_on(ax)
    ax.set_xlim(*span)
    ax.set_xlabel(measure)
    if handles := _handles(found, measure):
        legend_below(ax, handles)
    return finish(ax, grid="x")


Series = tuple[str, str, dict[str, OfStream]]  # system, phase, and its streams by name


def _series(found: Found, measure: str) -> list[Series]:
    """What is drawn side by side: systems, or both phases of one."""
    series = []
    for d in found:
        own = [of for of in d.by_stream if of.measure == measure]
        both = dict.fromkeys(of.phase for of in own)
        later = AFTER if AFTER in both else next(iter(both), AFTER)
        shown = [phase for phase in both if len(found) == 1 or phase == later]
        series += [
            (d.dims.get("system", ""), p, {of.stream: of for of in own if of.phase == p})
            for p in shown
        ]
    return series


def streams_in_order(found: Found, measure: str) -> list[str]:
    """Names of the streams, those that cost the first system most first, undefined ones last."""
    needed([d for d in found if d.by_stream], "no system has several streams")
    known = dict.fromkeys(of.measure for d in found for of in d.by_stream)
    if measure not in known:
        raise UsageError(f"streams have no {measure}: draw one of {', '.join(known)}")
    first = _series(found, measure)[-1 if len(found) == 1 else 0][2]
    values = {name: of.value for name, of in first.items()}
    every = dict.fromkeys(s for _, _, rows in _series(found, measure) for s in rows)
    return sorted(every, key=lambda s: (values.get(s) is None, -(values.get(s) or 0.0)))


def _slots(found: Found, ordered: Sequence[str], measure: str, width: float) -> Slots:
    sizes = sizes_of(found)
    labels = []
    for name in ordered:
        items, targets = sizes[name]
        size = counted(items, "item")
        if targets is not None:
            size = f"{counted(targets, 'target')}, {size}"
        labels.append(f"{label_of(named(name), width)}\n{phrases(size, width)}")
    return Slots.of(labels, len(_series(found, measure)))


def named(stream: str) -> str:
    """The name of a stream; a bare number says what it is of."""
    return f"stream {stream}" if stream.isdecimal() else stream


def sizes_of(found: Found) -> dict[str, tuple[float, float | None]]:
    """Items and targets of each stream in a run; None for targets where nothing is detected."""
    sizes: dict[str, tuple[float, float | None]] = {}
    for d in found:
        for of in d.by_stream:
            targets = of.targets / d.runs if d.kind == "detection" else None
            sizes.setdefault(of.stream, (of.items / d.runs, targets))
    return sizes


def _ends(of: OfStream) -> list[float]:
    return [v for v in (of.value, of.lower, of.upper) if v is not None]


def _span(rows: Sequence[OfStream]) -> tuple[float, float]:
    """Values, and intervals as far as they are no wider than the values lie apart."""
    values = [of.value for of in rows if of.value is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = (high - low) or abs(high) or 1.0
    ends = [v for of in rows for v in _ends(of)]
    low, high = max(min(ends), low - room), min(max(ends), high + room)
    edge = 0.05 * (high - low) or 0.1
    return low - edge, high + edge


def _row(
    ax: Axes,
    of: OfStream,
    place: float,
    look: dict[str, Any],
    span: tuple[float, float],
    *,
    filled: bool,
) -> None:
    """The interval and the value of a stream."""
    if of.value is None:
        far_off(ax, "undefined", place, left=True)
        return
    if of.lower is not None and of.upper is not None:
        ends = [min(max(end, span[0]), span[1]) for end in (of.lower, of.upper)]
        dashes: Any = "-" if filled else (0, (2, 1.5))
        ax.plot(ends, [place] * 2, color=look["color"], linewidth=2, linestyle=dashes)
    ends = _ends(of)
    arrows(ax, (min(ends), max(ends)), span, place, look["color"])
    ax.plot(
        of.value,
        place,
        marker=look["marker"],
        color=look["color"],
        markersize=6,
        markerfacecolor=look["color"] if filled else "none",
        linestyle="none",
    )


def _handles(found: Found, measure: str) -> list[Any]:
    series = _series(found, measure)
    look = looks([name for name, _, _ in series])
    handles: list[Any] = []
    if len(found) > 1:
        handles = [
            Line2D(
                [], [], label=short(name), color=look[name]["color"], marker=look[name]["marker"]
            )
            for name in look
        ]
    elif len(series) > 1:
        handles = [mark_handle(SAID[p], filled=p == AFTER) for p in SAID]
    span = _span([of for _, _, rows in series for of in rows.values()])
    if measure == "imlm" and span[0] <= 1 <= span[1]:
        naive: Any = {"color": ink(), "linewidth": 1.2, "linestyle": (0, (4, 3))}
        handles.append(Line2D([], [], label="all by hand", **naive))
    return handles


def streams_height(found: Found, width: float = WIDE, *, measure: str = "imlm") -> float:
    """Height in inches that shows these streams at a width in inches."""
    ordered = streams_in_order(found, measure)
    labels = [str(h.get_label()) for h in _handles(found, measure)]
    below = legend_height(labels, width) if labels else 0.0
    return 0.7 + _slots(found, ordered, measure, width).height + below
