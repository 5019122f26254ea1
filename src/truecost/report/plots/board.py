"""Leaderboards: values with their intervals in the order of the ranks."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes

from truecost.core.digits import figure, scale_of
from truecost.core.results import Standing
from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    naive_line,
    needed,
    new_axes,
    scaled,
    width_of,
)
from truecost.report.plots.slots import Slots, arrows, far_off, label_of, word_beside

FAR = 3.0


def leaderboard(
    board: Sequence[Standing], ax: Axes | None = None, *, naive: float | None = None
) -> Axes:
    """A row a system, best first: its value with its interval, its rank at the right.

    Systems that the data do not tell apart from the first are filled, those that are worse are
    hollow. One far from the others does not widen the axis: an arrow points to it.

    Parameters
    ----------
    board : sequence of Standing
        As `truecost.core.leaderboard.standings` gives them.
    naive : float, optional
        The naive baseline's value, drawn as a line where it lies among the values.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.core.leaderboard import standings
    >>> from truecost.report import plots
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200, seed=0))
    >>> labels, rows = np.arange(60) % 2, []
    >>> for name, wrong in (("a", np.arange(60) % 3 == 0), ("b", labels > 1)):
    ...     decisions = np.where(wrong, 1 - labels, labels)
    ...     trials = tc.Trials.of(decisions, labels, kind="decision", name=name)
    ...     rows += tc.score_system(trials, scoring)
    >>> ax = plots.leaderboard(standings(rows))
    >>> [text.get_text() for text in ax.get_yticklabels()], [t.get_text() for t in ax.texts]
    (['b', 'a'], ['rank 1', 'rank 2'])
    """
    needed(board, "there are no submissions")
    ax = ax or new_axes(WIDE, leaderboard_height(board))
    slots = _slots(board, width_of(ax))
    low, high = _span(board)
    edge = 0.05 * (high - low) or 0.1
    if naive is not None and low - edge <= naive <= high + edge:
        naive_line(ax, naive, vertical=True)
    for standing, place in zip(board, slots.middles, strict=True):
        _row(ax, standing, place, (low - edge, high + edge))
        word_beside(ax, f"rank {standing.rank}", place)
    slots.set_on(ax)
    ax.set_xlim(low - edge, high + edge)
    scaled(ax, [scale_of(s.shown_in) for s in board])
    ax.set_xlabel(board[0].measure)
    return finish(ax, grid="x")


def _span(board: Sequence[Standing]) -> tuple[float, float]:
    """From the least to the highest end, without what lies far from the middle half of the values.

    Far is more than three times the width of that half and of a typical interval.
    """
    ends = [v for s in board for v in (s.value, s.lower, s.upper) if v is not None] or [0.0, 1.0]
    values = sorted(s.value for s in board if s.value is not None) or ends
    widths = [s.upper - s.lower for s in board if None not in (s.upper, s.lower)]  # type: ignore[operator]
    first, third = (values[int(k * (len(values) - 1) / 4)] for k in (1, 3))
    room = FAR * (third - first + (median(widths) if widths else 0.0)) or max(ends) - min(ends)
    return max(min(ends), first - room), min(max(ends), third + room)


def _row(ax: Axes, standing: Standing, place: float, span: tuple[float, float]) -> None:
    """The interval and the value; hollow when it is told apart from the first."""
    colour, apart = COLOURS[0], standing.verdict == "worse"
    if standing.lower is not None and standing.upper is not None:
        ends = standing.lower, standing.upper
        drawn = [min(max(end, span[0]), span[1]) for end in ends]
        ax.plot(drawn, [place, place], color=colour, linewidth=2)
        arrows(ax, ends, span, place, colour)
    if standing.value is None:
        ax.annotate("undefined", (0.01, place), xycoords=("axes fraction", "data"), va="center")
        return
    if not span[0] <= standing.value <= span[1]:  # far off: the figure, for there is no mark
        far_off(
            ax,
            figure(standing.value, scale_of(standing.shown_in)),
            place,
            left=standing.value < span[0],
        )
        return
    fill = "none" if apart else colour
    ax.plot(standing.value, place, "o", color=colour, markersize=6, markerfacecolor=fill, zorder=3)


def _slots(board: Sequence[Standing], width: float) -> Slots:
    return Slots.of([label_of(s.system, width) for s in board], 1)


def leaderboard_height(board: Sequence[Standing], width: float = WIDE) -> float:
    """Height in inches that shows these submissions at a width in inches."""
    return 0.75 + _slots(board, width).height
