"""Units one by one: each recording, speaker or document in a row, and two systems on each."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import counted
from truecost.errors import UsageError
from truecost.report.plots.look import (
    SMALL,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    looks,
    naive_handle,
    naive_line,
    needed,
    new_axes,
    scaled,
    short,
    width_of,
)
from truecost.report.plots.rows import VERDICTS, forest_handles, marked, near
from truecost.report.plots.slots import Slots, far_off, label_of, phrases
from truecost.report.units import Units

SMALLEST, LARGEST = 4.0, 9.5  # points across a mark
CROWD, CROWDED = 60, 6.5  # among so many units marks are no larger than this
BANDS = 2  # with more systems the bands of the whole hide each other and are left out
FAR = 3.0  # far off is so many times the middle half of all values beyond it
STEP = 0.16  # inches from the mark of a system to that of the next
Span = tuple[float, float]
Floats = npt.NDArray[np.float64]


def by_unit(found: Sequence[Units], ax: Axes | None = None) -> Axes:
    """A row a unit with its value alone, for each system; all of them together on top.

    Larger marks rest on more reference. A single unit has no interval; that of the whole is drawn
    on top, and for up to two systems as a band behind the units. A value far from the others does
    not widen the axis: an arrow points to it, with its figure.

    Parameters
    ----------
    found : sequence of Units
        As `truecost.report.units.units_of` gives them, one for each system: the same units in the
        same order.

    Raises
    ------
    UsageError
        When there are none, or they are of several measures or of other units.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> from truecost.report.units import units_of
    >>> right, heard = ["it is late", "so it is", "no"], ["it was late", "so it is", "no no"]
    >>> items = tc.count_transcripts(right, heard, ids=["a", "b", "c"], measures=("wer",))
    >>> [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(100)))
    >>> ax = plots.by_unit([units_of(items, row)])
    >>> [label.get_text().splitlines() for label in ax.get_yticklabels()]
    [['all', '3 utterances'], ['a', '3 words'], ['b', '3 words'], ['c', '1 word']]
    """
    _check(found)
    ax = ax or new_axes(WIDE, by_unit_height(found))
    slots = _slots(found, width_of(ax))
    span = _span_of(found)
    look = looks([u.system for u in found])
    if _has_naive(found, span):
        naive_line(ax, found[0].row.naive or 0.0, vertical=True)
    for k, units in enumerate(found):
        shift = STEP * (k - (len(found) - 1) / 2)
        own = look[units.system]
        if len(found) <= BANDS and units.row.lower is not None and units.row.upper is not None:
            ax.axvspan(units.row.lower, units.row.upper, color=own["color"], alpha=0.13, zorder=0)
        marked(ax, units.row, slots.middles[0] + shift, own, span)
        sizes = _sizes(units.amounts)
        for unit, middle in enumerate(slots.middles[1:]):
            _unit(ax, units, unit, middle + shift, {**own, "markersize": sizes[unit]}, span)
    ax.axhline(2 * slots.middles[0], color=ink(), linewidth=0.6, alpha=0.5)
    slots.set_on(ax)
    ax.set_xlim(*span)
    scaled(ax, [u.row.scale for u in found])
    ax.set_xlabel(found[0].row.label)
    handles = _unit_handles(found, span)
    if len(handles) > 1:
        legend_below(ax, handles)
    return finish(ax, grid="x")


def _unit_handles(found: Sequence[Units], span: Span) -> list[Any]:
    """The systems, and the lines and marks that there are."""
    return forest_handles([u.row for u in found]) + [naive_handle()] * _has_naive(found, span)


def _has_naive(found: Sequence[Units], span: Span) -> bool:
    """Whether the value of the naive baseline lies among the others."""
    reference = found[0].row.naive
    return reference is not None and span[0] <= reference <= span[1]


def _span_of(found: Sequence[Units]) -> Span:
    some = _near(found)
    return _span(np.concatenate([u.values for u in some]), [u.row for u in some])


def _near(found: Sequence[Units]) -> list[Units]:
    """Without the systems that are so much worse than others that they would hide them."""
    rows = near([u.row for u in found])
    return [u for u in found if u.row in rows]


def _check(found: Sequence[Units]) -> None:
    """Refuse to draw nothing, or what has no rows or no axis in common: UsageError."""
    needed(found, "there are no units")
    if len(labels := dict.fromkeys(u.row.label for u in found)) > 1:
        raise UsageError(f"units measured by {', '.join(labels)} share no axis: draw one measure")
    if any(u.names != found[0].names for u in found):
        raise UsageError("the systems have other units: give each the same, in the same order")


def _slots(found: Sequence[Units], width: float) -> Slots:
    """All, then the units, each with how much reference it has."""
    first = found[0]
    heads = [("all", counted(first.row.n_trials, first.row.item))]
    heads += [*zip(first.names, first.sizes, strict=True)]
    labels = ["\n".join((label_of(name, width), phrases(size, width))) for name, size in heads]
    return Slots.of(labels, len(found))


def _span(values: Floats, rows: Sequence[Any] = ()) -> Span:
    """Ends of the axis: intervals of the whole, and values that are not far off."""
    known = np.sort(values[np.isfinite(values)])
    whole = [v for r in rows for v in (r.value, r.lower, r.upper) if v is not None]
    if not len(known):
        known = np.array(whole or [0.0, 1.0])
    first, third = np.quantile(known, [0.25, 0.75])
    wide = max(whole) - min(whole) if whole else 0.0
    room = FAR * (third - first + wide) or known[-1] - known[0]
    low = min([max(known[0], first - room), *whole])
    high = max([min(known[-1], third + room), *whole])
    edge = 0.04 * (high - low) or 0.05 * (abs(high) or 1.0)
    return float(low - edge), float(high + edge)


def _sizes(amounts: npt.NDArray[np.float64], largest: float = LARGEST) -> Floats:
    """Points across each mark, in halves: its area grows with the reference."""
    most = float(amounts.max(initial=0.0)) or 1.0
    exact: Floats = np.maximum(SMALLEST, largest * np.sqrt(amounts / most))
    return np.round(2 * exact) / 2


def _unit(ax: Axes, units: Units, unit: int, place: float, look: Any, span: Span) -> None:
    """The mark of a unit, or why there is none."""
    value = float(units.values[unit])
    if np.isnan(value):
        text, at = "undefined", (0.01, place)
        ax.annotate(text, at, xycoords=("axes fraction", "data"), va="center", fontsize=SMALL)
    elif span[0] <= value <= span[1]:
        size = {"markersize": look["markersize"], "linestyle": "none"}
        ax.plot(value, place, look["marker"], color=look["color"], **size)
    else:
        arrow, edge = ("<", span[0]) if value < span[0] else (">", span[1])
        ax.plot(edge, place, arrow, color=look["color"], markersize=7, clip_on=False, zorder=4)
        far_off(ax, units.value(unit), place, left=value < span[0])


def by_unit_height(found: Sequence[Units], width: float = WIDE) -> float:
    """Height in inches that shows these units at a width in inches."""
    labels = [str(h.get_label()) for h in _unit_handles(found, _span_of(found))]
    below = legend_height(labels, width) if len(labels) > 1 else 0.0
    return 0.7 + _slots(found, width).height + below


def paired_units(found: Sequence[Units], ax: Axes | None = None) -> Axes:
    """Two systems on each unit: the value of the first across, that of the second upwards.

    What lies on the diagonal is the same for both; larger marks rest on more reference. Values far
    from the others stand hollow on the edge.

    Parameters
    ----------
    found : sequence of Units
        The baseline and the system that is compared with it, the same units in the same order.

    Raises
    ------
    UsageError
        When there are not two, or they are of several measures or of other units.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> from truecost.report.units import units_of
    >>> right = ["it is late", "so it is"]
    >>> outputs = {"old": ["it was late", "so it is"], "new": ["it is late", "so"]}
    >>> found = []
    >>> for name, heard in outputs.items():
    ...     items = tc.count_transcripts(right, heard, name=name, measures=("wer",))
    ...     [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(100)))
    ...     found.append(units_of(items, row))
    >>> ax = plots.paired_units(found)
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_figure().legends[0].get_texts()]
    ('wer of new', ['better (1)', 'worse (1)'])
    """
    _check(found)
    if len(found) != 2:
        raise UsageError(f"two systems are compared, and {len(found)} are given")
    ax = ax or new_axes(0.78 * WIDE, paired_units_height(found, 0.78 * WIDE))
    span = _span(np.concatenate([u.values for u in _near(found)]))
    ax.plot(span, span, color=ink(), linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    verdicts = np.array(sides_of(*found))
    sizes = _sizes(found[0].amounts, LARGEST if len(verdicts) < CROWD else CROWDED)
    across, upwards = (np.clip(u.values, *span) for u in found)
    inside = (across == found[0].values) & (upwards == found[1].values)
    for state, look in _looks().items():
        for size, full in itertools.product(np.unique(sizes), (True, False)):
            some = (verdicts == state) & (sizes == size) & (inside == full)
            ax.plot(
                *(across[some], upwards[some], look["marker"]),
                color=look["color"],
                markerfacecolor=look["color"] if full and state != "same" else "none",
                markersize=size,
                clip_on=False,
            )
    ax.set_xlim(*span)
    ax.set_ylim(*span)
    ax.set_box_aspect(1)
    scaled(ax, [u.row.scale for u in found], "both")
    ax.set_xlabel(f"{found[0].row.label} of {short(found[0].system)}")
    ax.set_ylabel(f"{found[1].row.label} of {short(found[1].system)}")
    legend_below(ax, _handles(found))
    return finish(ax, grid="both")


def beyond(found: Sequence[Units]) -> int:
    """How many units `paired_units` draws on the edge, because a value lies far from the others."""
    low, high = _span(np.concatenate([u.values for u in _near(found)]))
    values = np.array([u.values for u in found])
    return int(((values < low) | (values > high)).any(axis=0).sum())


def sides_of(baseline: Units, system: Units) -> list[str]:
    """Of each unit whether the system is better, worse or the same; empty where undefined."""
    signed = system.values - baseline.values
    if baseline.row.direction == "higher":
        signed = -signed
    states = {-1.0: "better", 0.0: "same", 1.0: "worse"}
    return [states.get(sign, "") for sign in np.sign(signed).tolist()]


def _looks() -> dict[str, dict[str, Any]]:
    return {**VERDICTS, "same": {"color": ink(), "marker": "o"}}


def _handles(found: Sequence[Units]) -> list[Line2D]:
    """What the marks mean, and how many there are of each."""
    sides = sides_of(*found)
    return [
        Line2D(
            [],
            [],
            color=look["color"],
            marker=look["marker"],
            linestyle="none",
            markerfacecolor="none" if state == "same" else look["color"],
            label=f"{state} ({sides.count(state)})",
        )
        for state, look in _looks().items()
        if state in sides
    ]


def paired_units_height(found: Sequence[Units], width: float = WIDE) -> float:
    """Height in inches that shows these units about square at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(found)]
    return min(width, 6.0) * 0.92 + (legend_height(labels, width) if labels else 0.0)
