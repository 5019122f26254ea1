"""What searches take, by phase: CPU time, peak memory, and the parts of the processing load."""

from collections.abc import Mapping
from typing import Any, Literal

from matplotlib.axes import Axes

from truecost.core.digits import figure
from truecost.report.plots.bars import patch
from truecost.report.plots.look import (
    COLOURS,
    HATCHES,
    SMALL,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    needed,
    new_axes,
    width_of,
)
from truecost.report.plots.slots import Slots, label_of
from truecost.resources.load import Load

Quantity = Literal["time", "memory", "load"]
PHASES = ("indexing", "searching")
UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
LABELS = {
    "memory": "peak memory of the largest process (GB)",
    "load": "part of the processing load",
}
STEP = 0.19  # inches from one bar to the next


def resources(loads: Mapping[str, Load], of: Quantity = "time", ax: Axes | None = None) -> Axes:
    """A bar for indexing and one for searching, for each system.

    Parameters
    ----------
    loads : mapping of str to Load
        By system, as a result has them.
    of : {"time", "memory", "load"}
        CPU time of all processes, peak memory of the largest one, or what each phase adds to the
        processing load: weight x ISF x PMU, and (1 - weight) x SSF x PMU (paper 002, Eq. 48).

    Raises
    ------
    UsageError
        When there is no record.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.resources import Machine, Resources, load_of
    >>> record = Resources(
    ...     status=0, user_s=9000, system_s=0, wall_s=800, peak_bytes=2 * 10**9, nodes=(Machine(),)
    ... )
    >>> ax = plots.resources({"mine": load_of(36000, indexing=record)})
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
    ('CPU time (hours)', ['2.5', 'not measured'])
    """
    needed([*loads], "there is no record of what a search took")
    ax = ax or new_axes(WIDE, resources_height(loads))
    values = {name: parts_of_load(load, of) for name, load in loads.items()}
    known = [v for parts in values.values() for v in parts if v is not None]
    size, unit = _unit(max(known, default=0.0)) if of == "time" else (1.0, "")
    slots = _slots(loads, width_of(ax))
    for parts, middle in zip(values.values(), slots.middles, strict=True):
        for k, value in enumerate(parts):
            _bar(ax, None if value is None else value / size, middle + STEP * (k - 0.5), k)
    slots.set_on(ax)
    ax.set_xlim(0, 1.04 * max(known, default=0.0) / size or 1.0)
    ax.locator_params(axis="x", nbins=6 if width_of(ax) > 5 else 4)
    ax.set_xlabel(f"CPU time ({unit})" if of == "time" else LABELS[of])
    legend_below(ax, _handles())
    return finish(ax, grid="x")


def parts_of_load(load: Load, of: Quantity) -> tuple[float | None, float | None]:
    """Figures of indexing and searching; None where it was not measured.

    Parameters
    ----------
    of : {"time", "memory", "load"}

    Returns
    -------
    tuple of float or None
        Seconds, GB (1e9 bytes), or parts of the processing load.
    """
    if of == "time":
        seconds = [None if r is None else r.cpu_s for r in (load.indexing, load.searching)]
        return seconds[0], seconds[1]
    if of == "memory":
        return load.pmu_indexing, load.pmu_searching
    one = _product(load.weight, load.isf, load.pmu_indexing)
    return one, _product(1 - load.weight, load.ssf, load.pmu_searching)


def _product(weight: float, factor: float | None, peak: float | None) -> float | None:
    return None if factor is None or peak is None else weight * factor * peak


def _unit(seconds: float) -> tuple[float, str]:
    """In what a time is shown: twice as much of it at least."""
    return next(((size, name) for size, name in UNITS if seconds >= 2 * size), UNITS[-1])


def _bar(ax: Axes, value: float | None, place: float, phase: int) -> None:
    """The bar of a phase, with its figure at the right edge."""
    look: Any = {"hatch": HATCHES[phase], "edgecolor": ink(), "linewidth": 0}
    if value is not None:
        ax.barh(place, value, height=0.85 * STEP, facecolor=COLOURS[phase], **look)
    ax.annotate(
        "not measured" if value is None else figure(value),
        (1.0, place),
        (8, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
    )


def _slots(loads: Mapping[str, Load], width: float) -> Slots:
    return Slots.of([label_of(name, width) for name in loads], 3)


def _handles() -> list[Any]:
    return [patch(name, COLOURS[k], HATCHES[k]) for k, name in enumerate(PHASES)]


def resources_height(loads: Mapping[str, Load], width: float = WIDE) -> float:
    """Height in inches that shows these systems at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles()]
    return 0.7 + _slots(loads, width).height + legend_height(labels, width)
