"""Scores under each policy, all systems side by side: the third panel of Figure 5 (paper 004)."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.core.results import Row
from truecost.report.plots.look import (
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    line_handle,
    looks,
    needed,
    new_axes,
    scaled,
    short,
    width_of,
)
from truecost.report.plots.slots import Slots, arrows, far_off, label_of

STEP = 0.17  # inches between the marks of a policy
FROZEN = "its initial version, frozen"


def policy_scores(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """A row for each policy: the score of each system with its interval, and that of its start.

    Parameters
    ----------
    rows : sequence of Row
        `policy_score` or `penalised_score` of systems under policies, one version each; the
        reference of a row is the score of the initial version, kept frozen.

    Raises
    ------
    UsageError
        When there are no rows.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.core.results import Row
    >>> def row(policy, value):
    ...     return Row(
    ...         measure="policy_score",
    ...         task="lifelong",
    ...         dims={"system": "mine", "policy": policy},
    ...         value=value,
    ...         lower=value - 0.1,
    ...         upper=value + 0.1,
    ...         level=0.95,
    ...         method="percentile",
    ...         naive=0.5,
    ...         direction="lower",
    ...         factors=("item",),
    ...         n_units=40,
    ...         n_trials=40,
    ...         n_replicates=100,
    ...         n_undefined=0,
    ...         flags=(),
    ...         signature="",
    ...     )
    >>> ax = plots.policy_scores([row("recent:3", 0.2), row("uniform", 0.3)])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['recent:3', 'uniform']
    """
    needed(rows, "no system has a score under a policy")
    ax = ax or new_axes(WIDE, policy_scores_height(rows))
    names, look = systems_of(rows), looks(systems_of(rows))
    slots = _slots(rows, width_of(ax))
    span = _span(rows)
    policies = [*dict.fromkeys(map(policy_of, rows))]
    for row in rows:
        middle = slots.middles[policies.index(policy_of(row))]
        place = middle + STEP * (names.index(name_of(row)) - (len(names) - 1) / 2)
        _mark(ax, row, place, look[name_of(row)], span)
    slots.set_on(ax)
    ax.set_xlim(*span)
    scaled(ax, [row.scale for row in rows])
    ax.set_xlabel(label_of_rows(rows))
    legend_below(ax, _handles(rows))
    return finish(ax, grid="x")


def policy_of(row: Row) -> str:
    """The policy of a row."""
    return row.dims.get("policy", "all times")


def name_of(row: Row) -> str:
    """The system of a row, with the way it lived where that is not as it was configured."""
    return name_in(row.dims)


def name_in(dims: Mapping[str, str]) -> str:
    """The system that dimensions name, and its strategy unless the name ends with it."""
    system, strategy = dims.get("system", ""), dims.get("strategy", "")
    return ", ".join(filter(None, (system, "" if system.endswith(strategy) else strategy)))


def systems_of(rows: Sequence[Row]) -> list[str]:
    """Names of systems in their order."""
    return [*dict.fromkeys(map(name_of, rows))]


def label_of_rows(rows: Sequence[Row]) -> str:
    """The measure of the rows; several, one after the other."""
    return ", ".join(dict.fromkeys(row.label for row in rows))


def _slots(rows: Sequence[Row], width: float) -> Slots:
    labels = [label_of(name, width) for name in dict.fromkeys(map(policy_of, rows))]
    return Slots.of(labels, len(systems_of(rows)) + 1)


def _ends(row: Row) -> list[float]:
    return [v for v in (row.value, row.lower, row.upper) if v is not None]


def _span(rows: Sequence[Row]) -> tuple[float, float]:
    """Values and references, and intervals as far as they are no wider than these lie apart."""
    values = [v for r in rows for v in (r.value, r.naive) if v is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = (high - low) or abs(high) or 1.0
    ends = [v for r in rows for v in _ends(r)] + values
    low, high = max(min(ends), low - room), min(max(ends), high + room)
    edge = 0.05 * (high - low) or 0.1
    return low - edge, high + edge


def _mark(
    ax: Axes, row: Row, place: float, look: dict[str, Any], span: tuple[float, float]
) -> None:
    """Interval, value and frozen reference of a system under a policy."""
    if row.naive is not None:
        tick: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.6}
        ax.plot(row.naive, place, color=ink(), linestyle="none", **tick)
    if row.value is None:
        far_off(ax, "undefined", place, left=True)
        return
    if row.lower is not None and row.upper is not None:
        ends = [min(max(end, span[0]), span[1]) for end in (row.lower, row.upper)]
        ax.plot(ends, [place] * 2, color=look["color"], linewidth=2)
    arrows(ax, (min(_ends(row)), max(_ends(row))), span, place, look["color"])
    ax.plot(row.value, place, look["marker"], color=look["color"], markersize=6)


def _handles(rows: Sequence[Row]) -> list[Any]:
    look = looks(systems_of(rows))
    handles: list[Any] = [
        line_handle(short(name), {**look[name], "linestyle": "-"}) for name in look
    ]
    if any(row.naive is not None for row in rows):
        tick: Any = {"marker": "|", "markersize": 9, "markeredgewidth": 1.6, "linestyle": "none"}
        handles.append(Line2D([], [], color=ink(), label=FROZEN, **tick))
    return handles


def policy_scores_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    labels = [str(h.get_label()) for h in _handles(rows)]
    return 0.7 + _slots(rows, width).height + legend_height(labels, width)
