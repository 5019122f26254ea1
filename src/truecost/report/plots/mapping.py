"""How machine scores become probabilities of a true accept (Fig. 3 of paper 001)."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    new_axes,
)
from truecost.tasks.abba.calibrating import MachineCalibration


def probability_mapping(found: MachineCalibration, ax: Axes | None = None) -> Axes:
    """Probability of a true accept against the machine score, and the isotonic one as a check.

    Parameters
    ----------
    found : MachineCalibration
        As `truecost.tasks.abba.calibrating.calibrate_machine` gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.calibrating import calibrate_machine
    >>> from truecost.tasks.abba.records import Deployment
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.uniform(0, 50, 300)
    >>> label = (rng.random(300) < 1 / (1 + np.exp((25 - scores) / 5))).astype(float)
    >>> arm, ids = np.arange(300, dtype=np.uint8) % 2, np.arange(300).astype(str)
    >>> log = Deployment("new", ids, arm, rng.random(300) < 0.8, label, machine=scores)
    >>> ax = plots.probability_mapping(calibrate_machine(log))
    >>> [text.get_text() for text in ax.figure.legends[0].get_texts()]
    ['spline', 'isotonic, as a check']
    """
    ax = ax or new_axes(WIDE, mapping_height(found))
    score = found.curve["score"].to_numpy()
    lines = zip(("isotonic", "probability"), reversed(_handles(found)), strict=True)
    for column, handle in lines:
        look: Any = {"color": handle.get_color(), "linewidth": handle.get_linewidth()}
        steps: Any = {"drawstyle": "steps-mid"} if column == "isotonic" else {}
        ax.plot(score, found.curve[column].to_numpy(), **look, **steps)
    ax.set_ylim(-0.02, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    ax.set_xlabel("machine score")
    ax.set_ylabel("probability of a true accept")
    legend_below(ax, _handles(found))
    return finish(ax, grid="both")


def _handles(found: MachineCalibration) -> list[Line2D]:
    fitted = Line2D([], [], color=COLOURS[0], linewidth=2.2, label=found.method)
    check = Line2D([], [], color=ink(), linewidth=1.1, label="isotonic, as a check")
    return [fitted, check]


def mapping_height(found: MachineCalibration, width: float = WIDE) -> float:
    """Height in inches that shows the mapping at a width in inches."""
    return 3.2 + legend_height([str(handle.get_label()) for handle in _handles(found)], width)
