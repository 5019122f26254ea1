"""What two models collected: items and labels by cell, and what a machine says of each cell."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.digits import amount
from truecost.report.plots.bars import note_beside
from truecost.report.plots.look import (
    COLOURS,
    HATCHES,
    WIDE,
    filled,
    finish,
    ink,
    legend_below,
    legend_height,
    needed,
    new_axes,
    scaled,
    width_of,
)
from truecost.report.plots.slots import Slots, label_of
from truecost.tasks.abba.describing import CellCounts, Description

BAR, BESIDE = 0.2, 0.09  # inches
KINDS = ("labelled true", "labelled false", "no human label")


def collected(description: Description, ax: Axes | None = None) -> Axes:
    """Items of the four cells as stacked bars: labelled true, labelled false, and without a label.

    Parameters
    ----------
    description : Description
        As `truecost.tasks.abba.describing.describe` gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.describing import describe
    >>> from truecost.tasks.abba.records import Deployment
    >>> arm, other = np.repeat([0, 1], 4).astype(np.uint8), np.arange(8) % 4 > 0
    >>> log = Deployment("new", np.arange(8).astype(str), arm, other, np.arange(8) % 2.0)
    >>> ax = plots.collected(describe(log))
    >>> [text.get_text() for text in ax.texts]
    ['3', '1', '3', '1']
    """
    ax = ax or new_axes(WIDE, collected_height(description))
    slots = _slots(description.cells, width_of(ax))
    for cell, place in zip(description.cells, slots.middles, strict=True):
        left = 0
        for kind, part in zip(KINDS, parts_of(cell), strict=True):
            if part:
                ax.barh(place, part, BAR, left, **_look(kind))
            left += part
        note_beside(ax, amount(cell.items), 8, place)
    slots.set_on(ax)
    ax.set_xlim(0, 1.02 * max(1, *(cell.items for cell in description.cells)))
    ax.xaxis.set_major_formatter(lambda value, _: amount(round(value)))
    ax.locator_params(axis="x", nbins=4 if width_of(ax) > 5 else 2, integer=True)
    ax.set_xlabel("collected items")
    legend_below(ax, _parts(description))
    return finish(ax, grid="x")


def parts_of(cell: CellCounts) -> tuple[int, int, int]:
    """Items with label 1, with label 0 and without one."""
    return cell.positives, cell.labels - cell.positives, cell.items - cell.labels


def _look(kind: str) -> dict[str, Any]:
    known = KINDS.index(kind)
    if known == 2:
        return {"facecolor": "none", "edgecolor": ink(), "linewidth": 0.9}
    return filled(COLOURS[known], HATCHES[known])


def _parts(description: Description) -> list[Any]:
    """The kinds of items that there are, for the legend."""
    from matplotlib.patches import Patch

    totals = [sum(column) for column in zip(*map(parts_of, description.cells), strict=True)]
    kinds = [kind for kind, total in zip(KINDS, totals, strict=True) if total]
    return [Patch(label=kind, **_look(kind)) for kind in kinds or KINDS]


def _slots(cells: tuple[CellCounts, ...], width: float) -> Slots:
    return Slots.of([f"{c.cell}\n{label_of(c.words, width)}" for c in cells], 1)


def collected_height(description: Description, width: float = WIDE) -> float:
    """Height in inches that shows the four cells at a width in inches."""
    labels = [str(handle.get_label()) for handle in _parts(description)]
    return 0.7 + _slots(description.cells, width).height + legend_height(labels, width)


def machine_labels(description: Description, ax: Axes | None = None) -> Axes:
    """By cell the mean probability of a machine against the share of true accepts, where labelled.

    The interval is that of the share less the mean: where it leaves the machine's mark out, the
    machine errs.

    Parameters
    ----------
    description : Description
        As `truecost.tasks.abba.describing.describe` gives it, of a deployment with machine scores.

    Raises
    ------
    UsageError
        When no cell has both machine scores and labels.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.describing import describe
    >>> from truecost.tasks.abba.records import Deployment
    >>> arm, other = np.repeat([0, 1], 40).astype(np.uint8), np.arange(80) % 4 > 0
    >>> ids, label = np.arange(80).astype(str), np.arange(80) % 2.0
    >>> log = Deployment("new", ids, arm, other, label, machine=0.4 + label / 5)
    >>> plots.machine_labels(describe(log)).get_xlabel()
    'share of true accepts'
    """
    cells = held_cells(description)
    needed(cells, "no cell has both machine scores and human labels")
    ax = ax or new_axes(WIDE, machine_labels_height(description))
    slots = _slots(cells, width_of(ax))
    for cell, place in zip(cells, slots.middles, strict=True):
        _held(ax, cell, place)
    slots.set_on(ax)
    ax.set_xlim(-0.02, 1.02)
    scaled(ax, ["%"])
    ax.set_xlabel("share of true accepts")
    legend_below(ax, _sides())
    return finish(ax, grid="x")


def held_cells(description: Description) -> tuple[CellCounts, ...]:
    """The cells that have machine scores and labels."""
    return tuple(
        c for c in description.cells if c.share is not None and c.machine_known is not None
    )


def _held(ax: Axes, cell: CellCounts, place: float) -> None:
    """Human share with its interval above, the machine's mean below."""
    assert cell.share is not None
    assert cell.machine_known is not None
    human, machine = COLOURS[0], COLOURS[1]
    if cell.lower is not None and cell.upper is not None:
        ends = [min(max(cell.machine_known + end, 0), 1) for end in (cell.lower, cell.upper)]
        ax.plot(ends, [place - BESIDE] * 2, color=human, linewidth=2, clip_on=False)
    look: Any = {"linestyle": "none", "markersize": 6.5, "clip_on": False}
    ax.plot(cell.share, place - BESIDE, "o", color=human, **look)
    ax.plot(cell.machine_known, place + BESIDE, "s", color=machine, markerfacecolor="none", **look)


def _sides() -> list[Any]:
    """What the marks mean."""
    look: Any = {"marker": "s", "markerfacecolor": "none", "linestyle": "none"}
    human = Line2D([], [], color=COLOURS[0], marker="o", label="human labels")
    return [human, Line2D([], [], color=COLOURS[1], label="mean of the machine", **look)]


def machine_labels_height(description: Description, width: float = WIDE) -> float:
    """Height in inches that shows these cells at a width in inches."""
    labels = [str(handle.get_label()) for handle in _sides()]
    return 0.7 + _slots(held_cells(description), width).height + legend_height(labels, width)
