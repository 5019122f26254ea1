"""Pictures as functions that take results and optional axes.

Drawn through `Figure` objects, never pyplot state. Colours tell systems apart for colour-blind
readers (Okabe and Ito) and are doubled by markers. Text and lines that must follow the page's
colours are drawn in one marker colour that the page replaces.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from truecost.report.curves import Curve
from truecost.results import Row, label_of

INK = "#808181"  # replaced by the page's text colour in HTML; a mid grey elsewhere
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
TICKS = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99)
STYLE = {
    "svg.fonttype": "none",
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


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    return (
        ax
        if ax is not None
        else Figure(figsize=(width, height), layout="constrained").add_subplot()
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
    from matplotlib.transforms import blended_transform_factory

    measures = list(dict.fromkeys(label_of(r.measure, r.parameters) for r in rows))
    systems = list(dict.fromkeys(r.dims["system"] for r in rows))
    look = styles(systems)
    ax = _axes(ax, 7.2, 0.75 + 0.34 * len(rows) + 0.18 * len(measures))
    ticks, place = [], 0.0
    for measure in measures:
        group = [r for r in rows if label_of(r.measure, r.parameters) == measure]
        ticks.append(place + (len(group) - 1) / 2)
        for row in group:
            _bar(ax, row, place, look[row.dims["system"]]["color"])
            place += 1
        place += 0.6
    ax.axvline(1, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.text(
        1,
        1.01,
        "naive system",
        ha="center",
        va="bottom",
        transform=blended_transform_factory(ax.transData, ax.transAxes),
        fontsize=9,
    )
    ax.set_yticks(ticks, measures)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    drawn = [v for r in rows for v in (r.value, r.upper) if v is not None]
    ax.set_xlim(0, 1.22 * max([1.0, *drawn]))
    ax.set_xlabel("cost, as a share of the naive system's")
    _legend(ax, systems, look)
    return ax


def _bar(ax: Axes, row: Row, place: float, colour: str) -> None:
    if row.value is None:
        ax.text(0.01, place, "undefined", va="center", fontsize=9)
        return
    ax.barh(place, row.value, height=0.8, color=colour, alpha=0.55)
    end = row.value
    if row.lower is not None and row.upper is not None:
        ax.plot(
            [row.lower, row.upper], [place, place], color=INK, linewidth=1.6, solid_capstyle="butt"
        )
        end = max(end, row.upper)
    ax.annotate(
        f"{row.value:.3g}",
        (end, place),
        (5, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
    )


def _legend(ax: Axes, systems: Sequence[str], look: Mapping[str, Mapping[str, Any]]) -> None:
    from matplotlib.patches import Patch

    if len(systems) > 1:
        ax.legend(
            handles=[Patch(color=look[s]["color"], alpha=0.55, label=s) for s in systems],
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2 if len(ax.get_yticks()) > 2 else -0.3),
            ncols=3,
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
    from scipy.special import ndtri

    def probit(rates: Any) -> Any:
        return ndtri(np.clip(rates, floor, 1 - 1e-3))

    ax = _axes(ax, 6.4, 6.0)
    floor = min(0.5 / max(1 / c.rates[0], 20) for c in curves)
    look = styles([c.system for c in curves])
    for c in curves:
        colour, marker = look[c.system]["color"], look[c.system]["marker"]
        seen = np.isfinite(c.lower)
        ax.fill_between(
            probit(c.rates[seen]),
            probit(c.lower[seen]),
            probit(c.upper[seen]),
            color=colour,
            alpha=0.16,
            linewidth=0,
        )
        drawn = c.p_fa > 0  # no false alarms lies infinitely far left
        ax.step(
            probit(c.p_fa[drawn]),
            probit(c.p_miss[drawn]),
            where="pre",
            color=colour,
            linewidth=1.6,
            label=c.system,
        )
        for point, filled in ((c.actual, True), (c.minimum, False)):
            if point is not None:
                ax.plot(
                    probit(point[0]),
                    probit(point[1]),
                    marker=marker,
                    color=colour,
                    markersize=8,
                    markerfacecolor=colour if filled else "none",
                    markeredgewidth=1.6,
                    linestyle="none",
                )
    span = ndtri([floor, 0.6])
    ax.plot(span, span, color=INK, linewidth=0.7, linestyle=(0, (1, 3)))
    for axis, name in ((ax.xaxis, "false-alarm rate"), (ax.yaxis, "miss rate")):
        shown = [t for t in TICKS if floor <= t <= 0.96]
        axis.set_ticks(ndtri(shown), [_percent(t) for t in shown])
        axis.set_label_text(name)
    ax.set_xlim(ndtri(floor), ndtri(0.6))
    ax.set_ylim(ndtri(floor), ndtri(0.96))
    ax.grid(color=INK, alpha=0.18, linewidth=0.6)
    _det_legend(ax, curves, look)
    return ax


def _det_legend(ax: Axes, curves: Sequence[Curve], look: Mapping[str, Mapping[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], color=look[c.system]["color"], marker=look[c.system]["marker"], label=c.system
        )
        for c in curves
    ]
    if any(c.actual for c in curves):
        handles.append(
            Line2D([], [], color=INK, marker="o", linestyle="none", label="at the Bayes threshold")
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
    ax.legend(handles=handles, loc="upper right", fontsize=9)


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
    subsets = list(dict.fromkeys(r.dims.get("subset", "all") for r in rows))
    systems = list(dict.fromkeys(r.dims["system"] for r in rows))
    look = styles(systems)
    ax = _axes(ax, 7.2, 1.0 + 0.22 * len(rows) + 0.16 * len(subsets))
    step = 0.7 / max(1, len(systems))
    for row in rows:
        place = subsets.index(row.dims.get("subset", "all")) + step * (
            systems.index(row.dims["system"]) - (len(systems) - 1) / 2
        )
        if row.value is None:
            continue
        colour, marker = look[row.dims["system"]]["color"], look[row.dims["system"]]["marker"]
        faint = 0.45 if {"few_units", "few_errors"} & set(row.flags) else 1.0
        if row.lower is not None and row.upper is not None:
            ax.plot([row.lower, row.upper], [place, place], color=colour, linewidth=2, alpha=faint)
        ax.plot(
            row.value,
            place,
            marker=marker,
            color=colour,
            markersize=6,
            alpha=faint,
            linestyle="none",
        )
    if rows[0].reference is not None and len({r.reference for r in rows}) == 1:
        ax.axvline(rows[0].reference, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    names = {
        r.dims.get("subset", "all"): f"{r.dims.get('subset', 'all')}\n{_counts(r)}" for r in rows
    }
    ax.set_yticks(range(len(subsets)), [names[s] for s in subsets], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(subsets) - 0.5, -0.5)
    ax.set_xlabel(label_of(rows[0].measure, rows[0].parameters))
    ax.grid(axis="x", color=INK, alpha=0.18, linewidth=0.6)
    _forest_legend(ax, systems, look, rows)
    return ax


def _forest_legend(
    ax: Axes, systems: Sequence[str], look: Mapping[str, Mapping[str, Any]], rows: Sequence[Row]
) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look[s]["color"], marker=look[s]["marker"], label=s) for s in systems
    ]
    if any({"few_units", "few_errors"} & set(r.flags) for r in rows):
        handles.append(
            Line2D([], [], color=INK, alpha=0.45, linewidth=2, label="too few units or errors")
        )
    ax.figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)


def _counts(row: Row) -> str:
    if "targets" in row.counts:
        return f"{row.counts['targets']:g} targets, {row.n_trials} trials"
    return f"{row.n_trials} trials, {row.n_units} units"
