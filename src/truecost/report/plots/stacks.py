"""Counts of several kinds as stacked bars, a bar a name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from truecost.report.plots.bars import patch
from truecost.report.plots.look import (
    COLOURS,
    HATCHES,
    WIDE,
    filled,
    finish,
    legend_below,
    legend_height,
    needed,
    new_axes,
    width_of,
)
from truecost.report.plots.slots import Slots, label_of


@dataclass(frozen=True)
class Stacks:
    """Counts of several kinds.

    Attributes
    ----------
    counts : mapping of str to sequence of float
        For each name the count of each kind.
    kinds : tuple of str
        How they are called.
    across : str
        What is counted, for the axis.
    """

    counts: Mapping[str, Sequence[float]]
    kinds: tuple[str, ...]
    across: str


def stacks(found: Stacks, ax: Axes | None = None) -> Axes:
    """Stacked bars, one a name, a colour and hatch a kind.

    Raises
    ------
    UsageError
        When nothing was counted.

    Examples
    --------
    >>> from truecost.report import plots
    >>> counts = {"bell": (3, 0), "dog": (1, 2)}
    >>> ax = plots.stacks(plots.Stacks(counts, ("found", "missed"), "events"))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['bell', 'dog']
    """
    needed([*found.counts], "nothing was counted")
    ax = ax or new_axes(WIDE, stacks_height(found))
    slots = _slots(found, width_of(ax))
    ends = [0.0] * len(found.counts)
    for k, values in enumerate(zip(*found.counts.values(), strict=True)):
        look = filled(COLOURS[k % len(COLOURS)], HATCHES[k % len(HATCHES)])
        ax.barh(slots.middles, values, 0.24, left=ends, **look)
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    slots.set_on(ax)
    ax.set_xlim(0, 1.04 * max(*ends, 1))
    ax.set_xlabel(found.across)
    legend_below(ax, _handles(found))
    return finish(ax, grid="x")


def _slots(found: Stacks, width: float) -> Slots:
    return Slots.of([label_of(name, width) for name in found.counts], 1)


def _handles(found: Stacks) -> list[object]:
    """What the colours mean."""
    return [
        patch(kind, COLOURS[k % len(COLOURS)], HATCHES[k % len(HATCHES)])
        for k, kind in enumerate(found.kinds)
    ]


def stacks_height(found: Stacks, width: float = WIDE) -> float:
    """Height in inches that shows these bars at a width in inches."""
    return 0.7 + _slots(found, width).height + legend_height(found.kinds, width)
