"""Values and differences in rows: subsets as a forest plot, and paired comparisons."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import median_low
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import counted
from truecost.core.flags import FLAGS
from truecost.core.results import Comparison, Row, shown, verdict_of
from truecost.errors import UsageError
from truecost.report.plots.look import (
    COLOURS,
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
    points_of,
    scaled,
    short,
    width_of,
    wrapped,
)
from truecost.report.plots.slots import Slots, arrows, far_off, label_of, word_beside
from truecost.report.sums import size_said
from truecost.report.tables import slot_of
from truecost.report.words import measure_of

WEAK = {flag.name for flag in FLAGS.values() if flag.weak}
COLUMN = re.compile(r"[^=<>!,]+=(?!=)")  # a subset that is one value of a column
FAR = 8.0  # times as bad as most others is far off
MOST_WHY = 40  # letters of a reason inside a picture


def forest(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """One measure by subset: value and interval of each system, with counts.

    Rows that rest on few units or errors are hollow and dotted, and do not widen the axis: an
    interval that leaves it ends in an arrow. Neither does a value that is many times as bad as
    others: an arrow points to it, with its figure.

    Parameters
    ----------
    rows : sequence of Row
        Rows of one measure; a slot for each subset (or collection and so on), "all" for the whole.

    Raises
    ------
    UsageError
        When there are none, or they are of several measures.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> labels, rooms = np.arange(400) % 2, np.arange(400) // 2 % 3
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine", room=rooms)
    >>> scoring = tc.Scoring(measures=("cllr",), plan=tc.Plan(100), subsets=("room",))
    >>> ax = plots.forest(tc.score_system(trials, scoring))
    >>> [text.get_text().split()[0] for text in ax.get_yticklabels()]
    ['all', '0', '1', '2']
    >>> ax.get_ylabel()
    'room'
    """
    needed(rows, "there are no rows")
    if len(labels := dict.fromkeys(r.label for r in rows)) > 1:
        raise UsageError(
            f"rows of {counted(len(labels), 'measure')} ({', '.join(labels)}) share no axis: draw "
            f"one at a time, such as [r for r in rows if r.label == '{rows[0].label}']"
        )
    systems = list(dict.fromkeys(r.dims["system"] for r in rows))
    look = looks(systems)
    ax = ax or new_axes(WIDE, forest_height(rows))
    slots = _forest_slots(rows, width_of(ax))
    subsets = list(dict.fromkeys(slot_of(r) for r in rows))
    shared = prefix_of(subsets)
    span = _span(rows, rows[0].naive if rows[0].item == "trial" else None)
    for row in rows:
        middle = slots.middles[subsets.index(slot_of(row))]
        place = middle + 0.16 * (systems.index(row.dims["system"]) - (len(systems) - 1) / 2)
        marked(ax, row, place, look[row.dims["system"]], span)
    if rows[0].naive is not None and len({r.naive for r in rows}) == 1:
        naive_line(ax, rows[0].naive, vertical=True)
    slots.set_on(ax)
    ax.set_xlim(*span)
    ax.set_xlabel(rows[0].label)
    scaled(ax, [r.scale for r in rows])
    if shared:
        ax.set_ylabel(short(shared.rstrip("=")))
    handles = forest_handles(rows)
    if len(handles) > 1:
        legend_below(ax, handles)
    return finish(ax, grid="x")


def _forest_slots(rows: Sequence[Row], width: float) -> Slots:
    slots = {slot_of(r): r for r in rows}
    left = prefix_of([*slots])
    labels = [
        f"{label_of(s.removeprefix(left), width)}\n{_counts(r, width)}" for s, r in slots.items()
    ]
    return Slots.of(labels, len({r.dims["system"] for r in rows}))


def prefix_of(slots: Sequence[str]) -> str:
    """`room=` when each subset is a value of the same column; empty when not."""
    some = [s for s in slots if s != "all"]
    found = {s.partition("=")[0] for s in some if COLUMN.match(s)}
    same = len(some) > 1 and len(found) == 1 and all(map(COLUMN.match, some))
    return f"{found.pop()}=" if same else ""


def why(row: Row) -> str:
    """Why there is no value, as short as fits a picture."""
    reason = row.reason or ""
    return reason if reason and len(reason) <= MOST_WHY else "undefined"


def _counts(row: Row, width: float) -> str:
    if "trials_of_a_query" in row.counts:
        said = (counted(row.counts["queries"], "query"), counted(row.n_units, "unit"))
    elif "targets" in row.counts:
        said = (counted(row.counts["targets"], "target"), counted(row.n_trials, row.item))
    elif row.item != "trial":
        said = (counted(row.n_trials, row.item), _size(row))
    else:
        said = (counted(row.n_trials, "trial"), counted(row.n_units, "unit"))
    return (", " if width > 5 or sum(map(len, said)) < 22 else ",\n").join(said)


def _size(row: Row) -> str:
    """How much reference a row of items has; how many units where the sums do not tell."""
    measure = measure_of(row.label, row.task)
    said = "" if measure is None else size_said(measure, row.counts)
    return said or counted(row.n_units, "unit")


def _span(rows: Sequence[Row], line: float | None) -> tuple[float, float]:
    """Ends of the axis: values, and intervals as far as they are no more than three times as wide
    as all that rests on enough.
    """
    values = [r.value for r in rows if r.value is not None]
    strong = [r for r in rows if not WEAK & set(r.flags)]
    sure = [v for r in strong for v in (r.lower, r.upper) if v is not None]
    sure += values + ([] if line is None else [line])
    bad = _bad(rows)
    sure = [v for v in sure if not bad(v)]
    if not sure:
        return 0.0, 1.0
    low, high = min(sure), max(sure)
    room = (high - low) or abs(high) or 1.0
    all_ends = [v for r in rows for v in (r.lower, r.upper) if v is not None and not bad(v)]
    low = max(min([low, *all_ends]), low - 0.5 * room)
    high = min(max([high, *all_ends]), high + 0.5 * room)
    edge = 0.04 * (high - low) or 0.1
    return low - edge, high + edge


def _bad(rows: Sequence[Row]) -> Callable[[float], bool]:
    """Whether a figure is so many times as bad as those of most rows that it would hide them."""
    sign = 1.0 if rows[0].direction == "lower" else -1.0
    reaches = [max(map(abs, _figures(r)), default=0.0) for r in rows]
    usual = median_low([reach for reach in reaches if reach] or [math.inf])
    return lambda figure: sign * figure > FAR * usual


def near(rows: Sequence[Row]) -> list[Row]:
    """The rows whose value is not many times as bad as that of most."""
    bad = _bad(rows)
    return [r for r in rows if r.value is None or not bad(r.value)]


def forest_handles(rows: Sequence[Row]) -> list[Any]:
    """The systems, and that hollow marks rest on too little, for legends."""
    look = looks([r.dims["system"] for r in rows])
    handles = [
        Line2D([], [], label=short(s), color=look[s]["color"], marker=look[s]["marker"])
        for s in look
    ]
    if any(WEAK & set(r.flags) and r.value is not None for r in rows):
        handles.append(mark_handle("too few units or errors", filled=False, linestyle=":"))
    return handles


def forest_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    handles = forest_handles(rows)
    below = legend_height([str(h.get_label()) for h in handles], width) if len(handles) > 1 else 0.0
    return 0.7 + _forest_slots(rows, width).height + below


def marked(
    ax: Axes,
    row: Row,
    place: float,
    look: Mapping[str, Any],
    span: tuple[float, float],
    *,
    hollow: bool = False,
) -> None:
    """A marker with its interval; hollow and dotted when it rests on too little."""
    if row.value is None:
        ax.annotate(
            why(row),
            (0.01, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=SMALL - 1,
        )
        return
    weak = bool(WEAK & set(row.flags))
    if row.lower is not None and row.upper is not None:
        ax.plot(
            [min(max(end, span[0]), span[1]) for end in (row.lower, row.upper)],
            [place, place],
            color=look["color"],
            linewidth=2,
            linestyle=":" if weak else "-",
        )
    ends = _figures(row)
    arrows(ax, (min(ends), max(ends)), span, place, look["color"])
    if not span[0] <= row.value <= span[1]:  # far off: the figure, for there is no mark
        far_off(ax, shown(row, row.value), place, left=row.value < span[0])
        return
    ax.plot(
        row.value,
        place,
        marker=look["marker"],
        color=look["color"],
        markersize=6,
        markerfacecolor="none" if weak or hollow else look["color"],
        linestyle="none",
    )


def _figures(row: Row) -> list[float]:
    return [v for v in (row.value, row.lower, row.upper) if v is not None]


VERDICTS: dict[str, dict[str, Any]] = {
    "better": {"color": COLOURS[2], "marker": "o"},
    "worse": {"color": COLOURS[1], "marker": "X"},
}


def differences(found: Sequence[Comparison | Row], ax: Axes | None = None) -> Axes:
    """Paired differences with intervals, a line at 0 and the verdict in words.

    A row a difference, in their order; what differs between the rows stands at the left, what they
    share below. Inconclusive rows are hollow.

    Parameters
    ----------
    found : sequence of Comparison or Row
        As `compare` gives them, or rows of kind "difference" (others are left out): of any
        measures, subsets and systems.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.core.comparison import compare
    >>> from truecost.report import plots
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200, seed=0))
    >>> labels, speakers = np.arange(60) % 2, np.arange(60) // 2
    >>> guess = tc.Trials.of(np.arange(60) % 3 == 0, labels, kind="decision", unit=speakers)
    >>> better = tc.Trials.of(labels, labels, kind="decision", unit=speakers)
    >>> [old], [new] = tc.score_system(guess, scoring), tc.score_system(better, scoring)
    >>> ax = plots.differences([compare(new, old)])
    >>> [text.get_text() for text in ax.texts]
    ['better']
    """
    rows = _differences(found)
    needed(rows, "there is no comparison, nor a row of kind difference")
    ax = ax or new_axes(WIDE, differences_height(rows))
    slots = _difference_slots(rows, width_of(ax))
    span = _span(rows, 0.0)
    naive_line(ax, 0, vertical=True)
    for row, place in zip(rows, slots.middles, strict=True):
        verdict = verdict_of(row)
        look = VERDICTS.get(verdict, {"color": ink(), "marker": "o"})
        marked(ax, row, place, look, span, hollow=verdict == "inconclusive")
        word_beside(ax, verdict, place)
    slots.set_on(ax)
    ax.set_xlim(*span)
    scaled(ax, [r.scale for r in rows])
    ax.set_xlabel(wrapped(_shared(rows), 0.75 * width_of(ax)))
    return finish(ax, grid="x")


def _differences(found: Sequence[Comparison | Row]) -> list[Row]:
    rows = [c.difference if isinstance(c, Comparison) else c for c in found]
    return [r for r in rows if r.kind == "difference"]


def _words(row: Row) -> tuple[str, str, str]:
    """System, measure, and what it is about."""
    return short(row.dims["system"]), row.label, slot_of(row)


def _varying(rows: Sequence[Row]) -> list[int]:
    """Which of the words differ between the rows."""
    words = [(*_words(r), r.baseline) for r in rows]
    found = [k for k in range(3) if len({w[k] for w in words}) > 1]
    return found if 0 in found or len({w[3] for w in words}) == 1 else [0, *found]


def _shared(rows: Sequence[Row]) -> str:
    """What the rows share: the label of the axis."""
    varying = _varying(rows)
    system, measure, subset = _words(rows[0])
    said = "difference" if 1 in varying else f"difference in {measure}"
    said += points_of([r.scale for r in rows])
    baselines = {r.baseline for r in rows}
    against = f"minus {short(rows[0].baseline or '')}" if len(baselines) == 1 else ""
    if 0 not in varying:
        said += f", {system} {against}"
    elif against:  # named once, and not beside each row
        said += f", each {against}"
    if 2 in varying and (shared := prefix_of([slot_of(r) for r in rows])):
        said += f", by {short(shared.rstrip('='))}"
    return said + (f", {subset}" if 2 not in varying and subset != "all" else "")


def _difference_slots(rows: Sequence[Row], width: float) -> Slots:
    varying = _varying(rows) or [1]
    several = len({r.baseline for r in rows}) > 1
    shared = prefix_of([slot_of(r) for r in rows])
    labels = []
    for row in rows:
        words = (*_words(row)[:2], slot_of(row).removeprefix(shared))
        if several:
            words = (f"{words[0]} minus {short(row.baseline or '')}", *words[1:])
        labels.append("\n".join(label_of(words[k], width) for k in varying))
    return Slots.of(labels, 1)


def differences_height(found: Sequence[Comparison | Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    rows = _differences(found)
    below = wrapped(_shared(rows), 0.75 * width).count("\n") * 0.17
    return 0.75 + below + _difference_slots(rows, width).height
