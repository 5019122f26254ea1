"""Pictures as functions that take results and optional axes.

Drawn through `Figure` objects, never pyplot state. Colours are told apart by colour-blind readers
(after Okabe and Ito, darkened for contrast) and doubled by markers. Text and lines that must follow
the page's colours are drawn in one marker colour that the page replaces.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from truecost.report.curves import Curve
from truecost.results import Row

INK = "#808181"  # replaced by the page's text colour in HTML; a mid grey elsewhere
COLOURS = ("#0072B2", "#C75000", "#008060", "#B0408A", "#8A6A00", "#5A66C8")  # 3:1 on both papers
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST_FA, MOST_MISS = 0.6, 0.96  # where the DET axes end
TICKS = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99)
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # names are names, dollars and all
    "svg.hashsalt": "truecost",
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each system, in order."""
    return {
        name: {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        for k, name in enumerate(dict.fromkeys(names))
    }


def new_axes(width: float, height: float) -> Axes:
    """Axes that fill a new figure of this size in inches."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def short(name: str, most: int = 26) -> str:
    """A long name with its middle left out."""
    return name if len(name) <= most else f"{name[: most // 2]}\u2026{name[-(most // 2 - 1) :]}"


def _legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """A legend below the axes, in as many columns as its names allow."""
    figure = cast("Figure", ax.figure)
    longest = max(len(str(h.get_label())) for h in handles)
    across = figure.get_figwidth() if figure.axes == [ax] else ax.get_position().width * 8
    columns = max(1, min(len(handles), int(across * 9 / (longest + 7))))
    if figure.axes == [ax]:
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=9)
    else:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            ncols=columns,
            fontsize=9,
        )


def cost_bars(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """Values of normalised costs with intervals, the naive system as a line at 1.

    Parameters
    ----------
    rows : sequence of Row
        Rows whose reference is 1; grouped by measure, a bar a system.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.patches import Patch
    from matplotlib.transforms import blended_transform_factory

    measures = list(dict.fromkeys(r.label for r in rows))
    systems = list(dict.fromkeys(r.dims["system"] for r in rows))
    look = styles(systems)
    ax = ax or new_axes(7.2, bars_height(rows))
    ticks, place = [], 0.0
    for measure in measures:
        group = [r for r in rows if r.label == measure]
        ticks.append(place + (len(group) - 1) / 2)
        for row in group:
            _bar(ax, row, place, look[row.dims["system"]]["color"])
            place += 1
        place += 0.6
    ax.axvline(1, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    above = blended_transform_factory(ax.transData, ax.transAxes)
    ax.text(1, 1.01, "naive system", ha="center", va="bottom", transform=above, fontsize=9)
    ax.set_yticks(ticks, measures)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(place - 0.9, -0.7)
    drawn = [v for r in rows for v in (r.value, r.upper) if v is not None]
    ax.set_xlim(0, 1.08 * max([1.0, *drawn]))
    ax.set_xlabel("cost, as a share of the naive system's")
    if len(systems) > 1:
        _legend_below(ax, [Patch(color=look[s]["color"], label=short(s)) for s in systems])
    return ax


def bars_height(rows: Sequence[Row]) -> float:
    """Height in inches for this many bars and systems."""
    systems = len({r.dims["system"] for r in rows})
    return 1.0 + 0.3 * len(rows) + 0.18 * len({r.label for r in rows}) + 0.12 * systems


def _bar(ax: Axes, row: Row, place: float, colour: str) -> None:
    """A bar with its interval; the value stands at the right edge, where nothing collides."""
    if row.value is not None:
        ax.barh(place, row.value, height=0.8, color=colour)
    if row.lower is not None and row.upper is not None:
        for ink, width in ((colour, 4.2), (INK, 1.8)):  # ink on a rim of the bar's own colour
            ax.plot(
                [row.lower, row.upper],
                [place, place],
                color=ink,
                linewidth=width,
                solid_capstyle="butt",
            )
    text = "undefined" if row.value is None else f"{row.value:.3g}"
    ax.annotate(
        text,
        (1.0, place),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=9,
    )


def det(curves: Sequence[Curve], ax: Axes | None = None) -> Axes:
    """DET curves on probit axes with the band of Pmiss and the operating points.

    Parameters
    ----------
    curves : sequence of Curve
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.lines import Line2D
    from scipy.special import ndtri

    floor = min(0.5 / max(1 / c.rates[0], 20) for c in curves)

    def place(rates: Any, highest: float) -> Any:
        return ndtri(np.clip(rates, floor, highest))

    ax = ax or new_axes(6.4, 6.2)
    look = styles([c.system for c in curves])
    for c in curves:
        colour, marker = look[c.system]["color"], look[c.system]["marker"]
        seen = np.isfinite(c.lower)
        ax.fill_between(
            place(c.rates[seen], MOST_FA),
            place(c.lower[seen], MOST_MISS),
            place(c.upper[seen], MOST_MISS),
            color=colour,
            alpha=0.18,
            linewidth=0,
        )
        drawn = c.p_fa > 0  # no false alarms lies infinitely far left
        ax.step(
            ndtri(np.clip(c.p_fa[drawn], floor, 1 - 1e-3)),
            ndtri(np.clip(c.p_miss[drawn], floor, 1 - 1e-3)),
            where="pre",
            color=colour,
            linewidth=1.6,
        )
        for point, filled in ((c.actual, True), (c.minimum, False)):
            if point is not None:  # what lies outside stands on the edge
                ax.plot(
                    place(point[0], MOST_FA),
                    place(point[1], MOST_MISS),
                    marker=marker,
                    color=colour,
                    markersize=8,
                    markeredgewidth=1.6,
                    linestyle="none",
                    markerfacecolor=colour if filled else "none",
                    clip_on=False,
                    zorder=5,
                )
    span = ndtri([floor, MOST_FA])
    ax.plot(span, span, color=INK, linewidth=0.7, linestyle=(0, (1, 3)))
    for axis, name in ((ax.xaxis, "false-alarm rate"), (ax.yaxis, "miss rate")):
        shown = [t for t in TICKS if floor <= t <= MOST_MISS]
        axis.set_ticks(ndtri(shown), [_percent(t) for t in shown])
        axis.set_label_text(name)
    ax.set_xlim(ndtri(floor), ndtri(MOST_FA))
    ax.set_ylim(ndtri(floor), ndtri(MOST_MISS))
    ax.grid(color=INK, alpha=0.18, linewidth=0.6)
    handles = [
        Line2D(
            [],
            [],
            color=look[c.system]["color"],
            marker=look[c.system]["marker"],
            label=short(c.system),
        )
        for c in curves
    ]
    if any(c.actual for c in curves):
        handles.append(
            Line2D([], [], color=INK, marker="o", linestyle="none", label="at the threshold in use")
        )
    if any(c.minimum for c in curves):
        handles.append(
            Line2D(
                [],
                [],
                color=INK,
                marker="o",
                markerfacecolor="none",
                markeredgewidth=1.6,
                linestyle="none",
                label="least cost",
            )
        )
    _legend_below(ax, handles)
    return ax


def _percent(rate: float) -> str:
    return f"{100 * rate:g}%"


def forest(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """One measure by subset: value and interval of each system, with counts.

    Parameters
    ----------
    rows : sequence of Row
        Rows of one measure; those without a subset are the whole.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.lines import Line2D

    subsets = list(dict.fromkeys(r.dims.get("subset", "all") for r in rows))
    systems = list(dict.fromkeys(r.dims["system"] for r in rows))
    look = styles(systems)
    ax = ax or new_axes(7.2, forest_height(rows))
    step = 0.7 / max(1, len(systems))
    for row in rows:
        place = subsets.index(row.dims.get("subset", "all")) + step * (
            systems.index(row.dims["system"]) - (len(systems) - 1) / 2
        )
        _interval(ax, row, place, look[row.dims["system"]])
    if rows[0].reference is not None and len({r.reference for r in rows}) == 1:
        ax.axvline(rows[0].reference, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    across = int(cast("Figure", ax.figure).get_figwidth() * 4)
    names = {r.dims.get("subset", "all"): r for r in rows}
    labels = [f"{fill(s, max(14, across))}\n{_counts(names[s])}" for s in subsets]
    ax.set_yticks(range(len(subsets)), labels, fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(subsets) - 0.5, -0.5)
    ax.set_xlabel(rows[0].label)
    ax.grid(axis="x", color=INK, alpha=0.18, linewidth=0.6)
    handles = [
        Line2D([], [], color=look[s]["color"], marker=look[s]["marker"], label=short(s))
        for s in systems
    ]
    if any(WEAK & set(r.flags) for r in rows):
        handles.append(
            Line2D(
                [],
                [],
                color=INK,
                marker="o",
                markerfacecolor="none",
                linestyle=":",
                label="too few units or errors",
            )
        )
    if len(handles) > 1:
        _legend_below(ax, handles)
    return ax


WEAK = {"few_units", "few_errors", "no_spread"}


def forest_height(rows: Sequence[Row]) -> float:
    """Height in inches for this many rows and subsets."""
    return 1.0 + 0.22 * len(rows) + 0.2 * len({r.dims.get("subset", "all") for r in rows})


def _interval(ax: Axes, row: Row, place: float, look: Mapping[str, Any]) -> None:
    """A marker with its interval; hollow and dotted when it rests on too little."""
    if row.value is None:
        ax.annotate(
            "undefined", (0.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=8
        )
        return
    weak = bool(WEAK & set(row.flags))
    if row.lower is not None and row.upper is not None:
        ax.plot(
            [row.lower, row.upper],
            [place, place],
            color=look["color"],
            linewidth=2,
            linestyle=":" if weak else "-",
        )
    ax.plot(
        row.value,
        place,
        marker=look["marker"],
        color=look["color"],
        markersize=6,
        markerfacecolor="none" if weak else look["color"],
        linestyle="none",
    )


def _counts(row: Row) -> str:
    if "targets" in row.counts:
        return f"{row.counts['targets']:g} targets, {row.n_trials} trials"
    return f"{row.n_trials} trials, {row.n_units} units"
