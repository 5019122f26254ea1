"""The scores on the lifelong set itself, S(M_i, l_i): before and after it was learnt from."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import figure
from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    legend_below,
    legend_height,
    needed,
    new_axes,
    width_of,
)
from truecost.report.plots.shades import scale_in
from truecost.report.plots.timeline import name_times, upright
from truecost.tasks.lifelong.descriptions import LifelongDescription, StreamFigure

Found = LifelongDescription
LOOKS: dict[str, dict[str, Any]] = {
    "base": {"color": COLOURS[1], "marker": "s", "linestyle": (0, (5, 2))},
    "adapted": {"color": COLOURS[0], "marker": "o", "linestyle": "-"},
}
SAID = {"base": "the version before said", "adapted": "the version that came of it says"}
MARKED = 30  # versions; of more only the lines are drawn


def lifelong_sequence(
    found: Found, ax: Axes | None = None, *, beside: Sequence[Found] = ()
) -> Axes:
    """The score of each batch of the lifelong set, before and after it was learnt from.

    Parameters
    ----------
    found : LifelongDescription
        Of a system of a result.
    beside : sequence of LifelongDescription
        Systems whose pictures stand beside this one: the axis of scores is that of all.

    Raises
    ------
    UsageError
        When the lifelong set was not scored.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.lifelong.descriptions import LifelongDescription, StreamFigure
    >>> mine = LifelongDescription(
    ...     dims={"system": "mine"},
    ...     score="wer",
    ...     title="Word error rate",
    ...     direction="lower",
    ...     versions=["0", "1"],
    ...     learnt=[None, 1],
    ...     times=[],
    ...     at=[],
    ...     cells=[],
    ...     stream=[StreamFigure(version="1", state="base", value=0.3)],
    ... )
    >>> ax = plots.lifelong_sequence(mine)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('version that came of the data', 'wer on the lifelong set')
    """
    needed(found.stream, "the lifelong set was not scored")
    ax = ax or new_axes(WIDE, lifelong_sequence_height(found))
    order = versions_of(found)
    for state, look in LOOKS.items():
        _line(ax, [f for f in found.stream if f.state == state], order, look)
    ends = [v for d in (found, *beside) for f in d.stream for v in _ends(f)]
    low, high = min([0.0, *ends]), max([0.0, *ends]) or 1.0
    ax.set_ylim(low, high + 0.05 * (high - low))
    scale = scale_in(found.shown_in)
    ax.yaxis.set_major_formatter(lambda y, _: figure(y, scale))
    ax.set_xlim(-0.3, len(order) - 0.7)
    name_times(ax, range(len(order)), order, width_of(ax) - 1.0)
    ax.set_xlabel("version that came of the data")
    ax.set_ylabel(upright(f"{found.score} on the lifelong set", 24))
    legend_below(ax, _handles(found))
    return finish(ax, grid="y")


def versions_of(found: Found) -> list[str]:
    """The versions that came of a batch of the lifelong set, in order."""
    known = {f.version for f in found.stream}
    return [v for v in found.versions if v in known]


def _ends(of: StreamFigure) -> list[float]:
    return [v for v in (of.value, of.lower, of.upper) if v is not None]


def _line(
    ax: Axes, figures: Sequence[StreamFigure], order: Sequence[str], look: dict[str, Any]
) -> None:
    """Band and line of one state."""
    kept = [(order.index(f.version), f) for f in figures if f.version in order]
    known = [(x, f) for x, f in kept if f.lower is not None and f.upper is not None]
    if known:
        lower = [f.lower for _, f in known if f.lower is not None]
        upper = [f.upper for _, f in known if f.upper is not None]
        at = [x for x, _ in known]
        ax.fill_between(at, lower, upper, color=look["color"], alpha=0.2, linewidth=0)
    marks = {"markersize": 4.5} if len(order) <= MARKED else {"marker": ""}
    values = [float("nan") if f.value is None else f.value for _, f in kept]
    ax.plot([x for x, _ in kept], values, linewidth=1.6, **{**look, **marks})


def _handles(found: Found) -> list[Any]:
    states = [s for s in LOOKS if any(f.state == s for f in found.stream)]
    return [Line2D([], [], label=SAID[s], markersize=4.5, **LOOKS[s]) for s in states]


def lifelong_sequence_height(found: Found, width: float = WIDE) -> float:
    """Height in inches that shows this sequence at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(found)] or [""]
    return 2.8 + legend_height(labels, width)
