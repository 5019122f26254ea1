"""Normalised costs as bars, minimum and calibration loss stacked, the naive baseline at 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from truecost.core.results import Row, shown
from truecost.report.plots.look import (
    SMALL,
    WIDE,
    filled,
    finish,
    ink,
    legend_below,
    legend_height,
    looks,
    naive_line,
    needed,
    new_axes,
    short,
    width_of,
    wrapped,
)
from truecost.report.plots.slots import arrows
from truecost.report.tables import slot_of
from truecost.tasks.measures import find_of_any_task, registry

COLUMNS = (10, 63)  # of figures, in points from the right end of the axes
MOST_KEYS = 5  # systems of a legend
HEAD = 0.9  # bars: the room of a heading
FURTHEST = 3.0  # bars are cut at so many times the naive cost


@dataclass(frozen=True)
class Bar:
    """One bar: a cost of a system, and the least that another threshold or calibration would give.

    Attributes
    ----------
    system, name : str
        Name of the system and of the cost.
    minimum : Row or None
    """

    system: str
    name: str
    actual: Row
    minimum: Row | None = None


def minima() -> dict[str, str]:
    """The measures of which another is the minimum, with the name of that one."""
    return {m.minimum_of: m.name for m in registry().values() if m.minimum_of}


def _pair_name(actual: Row) -> str:
    """An actual cost with its title, for a bar that shows its minimum too."""
    measure = find_of_any_task(actual.label, actual.task)
    title = measure.title.partition(" (")[0].removeprefix("Actual ")
    return actual.label if title.lower() == actual.label else f"{actual.label}\n({title})"


def bars_of(rows: Sequence[Row]) -> list[Bar]:
    """Bars of some rows: an actual cost takes its minimum with it, the others stand alone.

    Parameters
    ----------
    rows : sequence of Row
        Of any measures and systems; subsets are left out.

    Returns
    -------
    list of Bar
        By measure in the order of the rows, then by system.
    """
    whole = [r for r in rows if r.kind == "value" and "subset" not in r.dims]
    found = {(r.dims["system"], slot_of(r), r.label): r for r in whole}
    bars, pairs = [], minima()
    for (system, slot, label), row in found.items():
        actual = next((a for a, m in pairs.items() if m == label), None)
        if actual is not None and (system, slot, actual) in found:
            continue  # stands in the bar of its actual cost
        least = found.get((system, slot, pairs[label])) if label in pairs else None
        name = label if least is None else _pair_name(row)
        bars.append(Bar(system, name if slot == "all" else f"{name}\n{slot}", row, least))
    order = {name: k for k, name in enumerate(dict.fromkeys(b.name for b in bars))}
    return sorted(bars, key=lambda b: order[b.name])


def cost_bars(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """Normalised costs with intervals, the naive baseline as a line at 1.

    Where a row has its minimum (`act_dcf` and `min_dcf`, `cllr` and `min_cllr`) the full part of
    the bar is the minimum and the pale part on it the calibration loss; together they are the
    actual cost. Bars end at three times the naive cost; the figures stand at the right. The names
    of more than five systems stand beside their bars.

    Parameters
    ----------
    rows : sequence of Row
        Grouped by measure, a bar a system; values whose reference is not 1 are left out.

    Raises
    ------
    UsageError
        When no row of the whole data has the reference 1.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> labels = np.arange(400) % 2
    >>> llrs = 4 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> rows = tc.score_system(trials, tc.Scoring(measures=("cllr", "min_cllr"), plan=tc.Plan(100)))
    >>> ax = plots.cost_bars(rows)
    >>> [text.get_text() for text in ax.texts]
    ['naive baseline', '0.5296', '0.4075', 'actual', 'minimum']
    """
    bars = _drawn(rows)
    needed(bars, "there is no row of the whole data whose naive value is 1 (row.naive == 1)")
    look = looks([b.system for b in bars])
    ax = ax or new_axes(WIDE, bars_height(rows))
    drawn = [v for b in bars for v in (b.actual.value, b.actual.upper) if v is not None]
    most = min(1.12 * max([1.0, *drawn]), FURTHEST)
    ticks: dict[float, str] = {}
    place = 0.0
    names = list(dict.fromkeys(b.name for b in bars))
    named = _named(bars)
    heads: list[float] = []
    split = any(b.minimum is not None for b in bars)
    _naive(ax)
    for name in names:
        group = [b for b in bars if b.name == name]
        if named:
            ticks[place] = _head(name, width_of(ax))
            heads.append(place)
            place += HEAD
        else:
            ticks[place + (len(group) - 1) / 2] = _label(name, 1.7 if width_of(ax) > 5 else 1.3)
        for bar in group:
            if named:
                ticks[place] = short(bar.system, 26 if width_of(ax) > 5 else 18)
            _bar(ax, bar, place, look[bar.system], most)
            place += 1
        place += 0.6
    ax.set_yticks([*ticks], [*ticks.values()], fontsize=SMALL if named else None)
    ax.tick_params(axis="y", length=0)
    for label, at in zip(ax.get_yticklabels(), ticks, strict=True):
        label.set_fontweight("bold" if at in heads else "normal")
    ax.set_ylim(place - 0.9, -0.7)
    ax.set_xlim(0, most)
    ax.set_xlabel("cost, as a share of the naive baseline's")
    if split:
        for head, at in zip(("actual", "minimum"), COLUMNS, strict=True):
            note_beside(ax, head, at, None)
    handles = _handles(bars)
    if handles:
        legend_below(ax, handles)
    return finish(ax)


def costs_of(rows: Sequence[Row]) -> list[Row]:
    """The rows whose naive value is 1, and undefined ones of the same measures."""
    labels = {r.label for r in rows if r.naive == 1}
    return [
        r
        for r in rows
        if r.naive == 1 or (r.naive is None and r.value is None and r.label in labels)
    ]


def _drawn(rows: Sequence[Row]) -> list[Bar]:
    """The bars of those rows that have a place on the axis."""
    return bars_of(costs_of(rows))


def _named(bars: Sequence[Bar]) -> bool:
    """Whether names stand beside the bars: a legend of so many could not be read."""
    return len({b.system for b in bars}) > MOST_KEYS


def _head(name: str, width: float) -> str:
    """The name of a measure above its bars: without its title where there is no room."""
    return name.replace("\n", " ") if width > 5 else name.partition("\n(")[0]


def _label(name: str, width: float) -> str:
    return "\n".join(wrapped(part, width) for part in name.split("\n"))


def _naive(ax: Axes) -> None:
    """The line of the naive baseline, with its name above it, clear of the heads at the right."""
    from matplotlib.transforms import blended_transform_factory

    naive_line(ax, 1, vertical=True)
    above = blended_transform_factory(ax.transData, ax.transAxes)
    ax.text(1, 1.01, "naive baseline", ha="right", va="bottom", transform=above, fontsize=SMALL)


def _bar(ax: Axes, bar: Bar, place: float, look: Mapping[str, Any], most: float) -> None:
    """A bar with its interval; the value stands at the right edge, where nothing collides."""
    row, least, colour = bar.actual, bar.minimum, look["color"]
    how = {**filled(colour, look["hatch"]), "height": 0.8}
    if row.value is not None:
        solid = row.value if least is None or least.value is None else least.value
        ax.barh(place, min(solid, most), **how)
        if solid < row.value:
            ax.barh(place, row.value - solid, left=solid, alpha=0.35, **how)
        if row.value > most:  # the bar goes on
            ax.plot(most, place, ">", color=colour, markersize=9, clip_on=False, zorder=4)
    shift = 0.17 if least is not None else 0.0
    interval_on(ax, row, place - shift, colour, most)
    note_beside(ax, _text(row), COLUMNS[0], place)
    if least is not None:
        interval_on(ax, least, place + shift, colour, most)
        note_beside(ax, _text(least), COLUMNS[1], place)


def interval_on(ax: Axes, row: Row, place: float, colour: str, most: float) -> None:
    """The interval of a row on its bar; an arrow where it leaves axes that go from 0 to `most`."""
    if row.lower is None or row.upper is None:
        return
    for stroke, width in ((colour, 4.2), (ink(), 1.8)):  # ink on a rim of the bar's own colour
        ax.plot(
            [min(row.lower, most), min(row.upper, most)],
            [place, place],
            color=stroke,
            linewidth=width,
            solid_capstyle="butt",
        )
    if row.value is not None and row.value <= most:  # else the arrow of the bar is there
        arrows(ax, (row.lower, row.upper), (0.0, most), place, colour)


def _text(row: Row) -> str:
    if row.value is None:
        return "infinite" if (row.reason or "").startswith("infinite") else "none"
    return shown(row, row.value)


def note_beside(ax: Axes, text: str, right: float, place: float | None) -> None:
    """Text at the right of the axes beside a bar, or above all of them."""
    ax.annotate(
        text,
        (1.0, 1.01 if place is None else place),
        (right, 0),
        xycoords="axes fraction" if place is None else ("axes fraction", "data"),
        textcoords="offset points",
        va="bottom" if place is None else "center",
        fontsize=SMALL,
    )


def _handles(bars: Sequence[Bar]) -> list[Any]:
    """What the colours and the pale part mean."""
    systems = list(dict.fromkeys(b.system for b in bars))
    look = looks(systems)
    found: list[Any] = []
    if len(systems) > 1 and not _named(bars):
        found = [patch(short(s), look[s]["color"], look[s]["hatch"]) for s in systems]
    if any(b.minimum is not None for b in bars):
        found += [patch("minimum", ink()), patch("calibration loss", ink(), alpha=0.35)]
    return found


def patch(label: str, colour: str, hatch: str = "", alpha: float = 1.0) -> Any:
    """What a colour and a hatch mean, for legends."""
    from matplotlib.patches import Patch

    return Patch(**filled(colour, hatch), alpha=alpha, label=label)


def bars_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    bars = _drawn(rows)
    labels = [str(h.get_label()) for h in _handles(bars)]
    below = legend_height(labels, width) if labels else 0.0
    groups = len({b.name for b in bars}) * (0.18 + (0.3 * HEAD if _named(bars) else 0.0))
    return 1.0 + 0.3 * len(bars) + groups + below
