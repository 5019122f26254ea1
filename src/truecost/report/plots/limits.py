"""Gates: values with their intervals against their limits, and how each turned out in words."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from truecost.gates import Verdict
from truecost.report.plots.look import COLOURS, WIDE, finish, ink, needed, new_axes, width_of
from truecost.report.plots.rows import Slots, label_of, word_beside

STATES: dict[str, tuple[str, str]] = {"pass": (COLOURS[2], "o"), "fail": (COLOURS[1], "X")}


def gates(verdicts: Sequence[Verdict], ax: Axes | None = None) -> Axes:
    """A row a gate: its interval, its limit as a bar across the row, and its state in words.

    When limits are far apart (the largest more than five times the least) each row is drawn as a
    share of its limit.

    Parameters
    ----------
    verdicts : sequence of Verdict
        As `truecost.gates.check` gives them.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.gates import check
    >>> from truecost.report import plots
    >>> labels = np.arange(400) % 2
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> rows = tc.score(trials, tc.Scoring(measures=("cllr",), plan=tc.Plan(100)))
    >>> ax = plots.gates(check([tc.Gate(measure="cllr", max_upper=0.8)], rows))
    >>> [text.get_text() for text in ax.texts]
    ['pass']
    """
    needed(verdicts, "there are no gates")
    ax = ax or new_axes(WIDE, gates_height(verdicts))
    slots = _slots(verdicts, width_of(ax))
    shares = _as_shares(verdicts)
    drawn = []
    for verdict, place in zip(verdicts, slots.middles, strict=True):
        scale = 1 / verdict.limit if shares else 1.0
        figures = (verdict.limit, verdict.value, verdict.lower, verdict.upper)
        drawn += [v * scale for v in figures if v is not None]
        _gate(ax, verdict, place, scale)
    slots.set_on(ax)
    low, high = min(0.0, *drawn), max(0.0, *drawn)
    edge = 0.06 * (high - low) or 0.1
    ax.set_xlim(low - edge if low < 0 else 0.0, high + edge)
    ax.set_xlabel("share of the limit" if shares else "value, and its limit as a bar")
    return finish(ax, grid="x")


def _as_shares(verdicts: Sequence[Verdict]) -> bool:
    """Whether limits are so far apart that rows need a common unit."""
    limits = [v.limit for v in verdicts]
    return min(limits) > 0 and max(limits) > 5 * min(limits)


def _gate(ax: Axes, verdict: Verdict, place: float, scale: float) -> None:
    colour, marker = STATES.get(verdict.state, (ink(), "o"))
    if verdict.lower is not None and verdict.upper is not None:
        ends = [verdict.lower * scale, verdict.upper * scale]
        ax.plot(ends, [place, place], color=colour, linewidth=2)
    ax.plot([verdict.limit * scale] * 2, [place - 0.1, place + 0.1], color=ink(), linewidth=3)
    if verdict.value is not None:
        ax.plot(
            verdict.value * scale,
            place,
            marker=marker,
            color=colour,
            markersize=7,
            markerfacecolor=colour if verdict.state in STATES else "none",
            linestyle="none",
        )
    word_beside(ax, verdict.state, place, bold=verdict.state == "fail")


def _slots(verdicts: Sequence[Verdict], width: float) -> Slots:
    labels = [
        "\n".join(label_of(part, width) for part in (v.gate.name or v.measure, v.about) if part)
        for v in verdicts
    ]
    return Slots.of(labels, 1)


def gates_height(verdicts: Sequence[Verdict], width: float = WIDE) -> float:
    """Height in inches that shows these gates at a width in inches."""
    return 0.75 + _slots(verdicts, width).height
