"""Gates: values with their intervals against their limits, and how each turned out in words."""

from collections.abc import Sequence
from statistics import median_low

from matplotlib.axes import Axes

from truecost.core.results import shown
from truecost.errors import UsageError
from truecost.gates import Verdict
from truecost.report.plots.look import (
    ACROSS,
    COLOURS,
    WIDE,
    finish,
    ink,
    naive_line,
    needed,
    new_axes,
    points_of,
    scaled,
    width_of,
    wrapped,
)
from truecost.report.plots.slots import Slots, arrows, far_off, label_of, word_beside

STATES: dict[str, tuple[str, str]] = {"pass": (COLOURS[2], "o"), "fail": (COLOURS[1], "X")}


def gates(verdicts: Sequence[Verdict], ax: Axes | None = None) -> Axes:
    """A row a gate: its interval, its limit as a bar across the row, and its state in words.

    The axis is in the unit of the measure. Where measures differ and their limits are far apart
    (the largest more than five times the least) each row is drawn as a share of its limit. What
    keeps its limit by far more than others does not widen the axis: it ends in an arrow.

    Parameters
    ----------
    verdicts : sequence of Verdict
        As `truecost.gates.check` gives them: all on values, or all on differences.

    Raises
    ------
    UsageError
        When there are none, or gates on values stand among gates on differences.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.gates import check
    >>> from truecost.report import plots
    >>> labels = np.arange(400) % 2
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> rows = tc.score_system(trials, tc.Scoring(measures=("cllr",), plan=tc.Plan(100)))
    >>> ax = plots.gates(check([tc.Gate(measure="cllr", max_upper=0.8)], rows))
    >>> [text.get_text() for text in ax.texts]
    ['pass']
    """
    needed(verdicts, "there are no gates")
    differences = {is_difference(v) for v in verdicts}
    if len(differences) > 1:
        raise UsageError(
            "gates on values and gates on differences share no axis: draw them apart, such as "
            "[v for v in verdicts if v.gate.baseline is None]"
        )
    ax = ax or new_axes(WIDE, gates_height(verdicts))
    slots = _slots(verdicts, width_of(ax))
    shares = _as_shares(verdicts)
    scales = [1 / v.limit if shares else 1.0 for v in verdicts]
    span = _span(verdicts, scales)
    if span[0] < 0 < span[1]:
        naive_line(ax, 0, vertical=True)
    for verdict, scale, place in zip(verdicts, scales, slots.middles, strict=True):
        _gate(ax, verdict, place, scale, span)
    slots.set_on(ax)
    ax.set_xlim(*span)
    scaled(ax, [""] if shares else [v.scale for v in verdicts])
    ax.set_xlabel(_axis(verdicts, width_of(ax)))
    return finish(ax, grid="x")


def is_difference(verdict: Verdict) -> bool:
    """Whether a gate is on the difference from a baseline."""
    return verdict.gate.baseline is not None


def _axis(verdicts: Sequence[Verdict], width: float) -> str:
    """What the axis shows."""
    if _as_shares(verdicts):
        return "share of the limit"
    measures = list(dict.fromkeys(v.measure for v in verdicts))
    of = measures[0] if len(measures) == 1 else "value"
    of = f"difference in {of}" if is_difference(verdicts[0]) else of
    text = f"{of}{points_of([v.scale for v in verdicts])}; the bar is the limit"
    return wrapped(text, 0.75 * width) if len(text) > ACROSS * width else text


def _as_shares(verdicts: Sequence[Verdict]) -> bool:
    """Whether several measures have limits so far apart that rows need a common unit."""
    limits = [v.limit for v in verdicts]
    several = len({v.measure for v in verdicts}) > 1 and not is_difference(verdicts[0])
    return several and min(limits) > 0 and max(limits) > 5 * min(limits)


def _span(verdicts: Sequence[Verdict], scales: Sequence[float]) -> tuple[float, float]:
    """Ends of the axis: limits and what did not pass; what passed as far as others go."""
    sure, every, reaches = [], [], []
    for verdict, scale in zip(verdicts, scales, strict=True):
        found = [v * scale for v in (verdict.lower, verdict.value, verdict.upper) if v is not None]
        every += [verdict.limit * scale, *found]
        sure += [verdict.limit * scale, *(found if verdict.state != "pass" else [])]
        reaches += [max(abs(v - verdict.limit * scale) for v in found)] if found else []
    sure += [0.0] if is_difference(verdicts[0]) else []
    usual = median_low(reaches or [0.0])
    room = 1.5 * max(max(sure) - min(sure), usual, 0.2 * max(map(abs, sure)))
    low = max(min(every + sure), min(sure) - room)
    if min(every) >= 0 and not is_difference(verdicts[0]):
        low = min(every)  # between 0 and the limits there is room for all
    high = min(max(every + sure), max(sure) + room)
    if 0 < low < 0.5 * high:
        low = 0.0  # the whole is seen at little cost
    edge = 0.06 * (high - low) or 0.1
    return low - edge if low else low, high + edge


def _gate(
    ax: Axes, verdict: Verdict, place: float, scale: float, span: tuple[float, float]
) -> None:
    colour, marker = STATES.get(verdict.state, (ink(), "o"))
    found = None if verdict.value is None else verdict.value * scale
    ends = tuple(v * scale for v in (verdict.lower, verdict.upper) if v is not None)
    if len(ends) == 2:
        drawn = [min(max(end, span[0]), span[1]) for end in ends]
        ax.plot(drawn, [place, place], color=colour, linewidth=2)
        arrows(ax, (ends[0], ends[1]), span, place, colour)
    ax.plot([verdict.limit * scale] * 2, [place - 0.1, place + 0.1], color=ink(), linewidth=3)
    if found is not None and span[0] <= found <= span[1]:
        ax.plot(
            found,
            place,
            marker=marker,
            color=colour,
            markersize=7,
            markerfacecolor=colour if verdict.state in STATES else "none",
            linestyle="none",
        )
    elif found is not None:  # far off: the arrow is there, the figure beside it
        far_off(ax, shown(verdict, verdict.value), place, left=found < span[0])
    word_beside(ax, verdict.state, place, bold=verdict.state == "fail")


def _slots(verdicts: Sequence[Verdict], width: float) -> Slots:
    labels = [
        "\n".join(label_of(part, width) for part in (v.gate.name or v.measure, v.about) if part)
        for v in verdicts
    ]
    return Slots.of(labels, 1)


def gates_height(verdicts: Sequence[Verdict], width: float = WIDE) -> float:
    """Height in inches that shows these gates at a width in inches."""
    return 0.75 + 0.17 * _axis(verdicts, width).count("\n") + _slots(verdicts, width).height
