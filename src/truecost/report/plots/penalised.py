"""Scores with the penalty of the person's help as bars (paper 004, Fig. 4).

Each system has its base, what it says before the help, and below it the adapted score (plain) with
the penalty S_imp - S_cor (hatched): together S_pen = S_adapt + (S_imp - S_cor) (Eq. 1). Where
higher is better the penalty is taken off: the hatched part ends at the adapted score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from truecost.core.digits import figure
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.report.plots.look import (
    COLOURS,
    SMALL,
    WIDE,
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

PARTS = ("base_score", "adapted_score", "penalty", "penalised_score", "generalisation_gain")
SAME_AS_BASE = "policy_score"  # of a version: its score before the help, under the policy
APART = ("strategy", "version", "time", "policy", "subset", "collection", "application")
BAR, STEP = 0.2, 0.24  # inches: a bar, and from one to the next
BASE = "base: before the help"
PLAIN = {"lower": "adapted: after it", "higher": "penalised score"}
HATCHED = {
    "lower": "penalty: both are the penalised score",
    "higher": "penalty: both are the adapted score",
}


@dataclass(frozen=True)
class Penalised:
    """The rows of one system (and version, time, policy) that make a group of bars.

    Attributes
    ----------
    rows : mapping of str to Row
        By measure; `adapted_score` and `penalised_score` are there.
    """

    name: str
    rows: Mapping[str, Row]

    def value(self, measure: str) -> float | None:
        """The value of one measure; None where it is undefined or not there."""
        row = self.rows.get(measure)
        return None if row is None else row.value


def groups_of(rows: Sequence[Row]) -> list[Penalised]:
    """The groups of bars of some rows, in their order; what has no penalised score has none."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        if row.kind == "value" and row.measure in (*PARTS, SAME_AS_BASE):
            key = tuple(row.dims.get(name, "") for name in ("system", *APART))
            found.setdefault((row.parameters.get("variant", ""), *key), {})[row.measure] = row
    for rows_of in found.values():
        same = rows_of.pop(SAME_AS_BASE, None)
        if same is not None:
            rows_of.setdefault("base_score", same)
    kept = {k: v for k, v in found.items() if {"adapted_score", "penalised_score"} <= v.keys()}
    differ = [n for n in range(len(APART) + 2) if len({key[n] for key in kept}) > 1 or n == 1]
    return [
        Penalised(", ".join(filter(None, (key[n] for n in differ))), v) for key, v in kept.items()
    ]


def penalised_bars(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """Base, and adapted with its penalty hatched, of each system.

    Parameters
    ----------
    rows : sequence of Row
        `base_score` (or `policy_score`, the same figure), `adapted_score`, `penalty` and
        `penalised_score` of one score.

    Raises
    ------
    UsageError
        When no system has both an adapted and a penalised score, or the scores are several.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.core.results import Row
    >>> def row(measure, value):
    ...     return Row(
    ...         measure=measure,
    ...         task="lifelong",
    ...         parameters={"variant": "wer"},
    ...         dims={"system": "mine"},
    ...         value=value,
    ...         lower=None,
    ...         upper=None,
    ...         level=0.95,
    ...         method="percentile",
    ...         naive=None,
    ...         direction="lower",
    ...         factors=("item",),
    ...         n_units=40,
    ...         n_trials=40,
    ...         n_replicates=0,
    ...         n_undefined=0,
    ...         flags=(),
    ...         signature="",
    ...     )
    >>> ax = plots.penalised_bars([row("adapted_score", 0.2), row("penalised_score", 0.3)])
    >>> [round(float(bar.get_width()), 2) for bar in ax.patches]
    [0.2, 0.1]
    """
    groups = drawn_of(rows)
    ax = ax or new_axes(WIDE, penalised_bars_height(rows))
    slots = _slots(groups, width_of(ax))
    for group, middle in zip(groups, slots.middles, strict=True):
        _group(ax, group, middle)
    slots.set_on(ax)
    ax.set_xlim(*_span(groups))
    ax.axvline(0, color=ink(), linewidth=0.8)
    first = groups[0].rows["penalised_score"]
    scaled(ax, [first.scale])
    ax.set_xlabel(f"{first.parameters.get('variant', '')} ({first.direction} is better)".strip())
    legend_below(ax, _handles(groups))
    return finish(ax, grid="x")


def drawn_of(rows: Sequence[Row]) -> list[Penalised]:
    """The groups that are drawn; UsageError where there are none, or of several scores."""
    groups = groups_of(rows)
    needed(groups, "no system has both an adapted and a penalised score")
    scores = {g.rows["penalised_score"].label for g in groups}
    if len(scores) > 1:
        raise UsageError(
            f"rows of {len(scores)} scores ({', '.join(sorted(scores))}) share no axis: draw one"
        )
    return groups


def _group(ax: Axes, group: Penalised, middle: float) -> None:
    """The bars of a system."""
    two = group.value("base_score") is not None
    upper, lower = (middle - STEP / 2, middle + STEP / 2) if two else (middle, middle)
    if two:
        base = group.rows["base_score"]
        ax.barh(upper, base.value or 0.0, BAR, facecolor="none", edgecolor=ink(), linewidth=1.0)
        _interval(ax, base, upper)
    adapted, penalised = (group.value(m) for m in ("adapted_score", "penalised_score"))
    if adapted is None or penalised is None:
        ax.annotate(
            "undefined", (0, lower), (6, 0), textcoords="offset points", va="center", fontsize=SMALL
        )
        return
    kept = min(adapted, penalised) if min(adapted, penalised) >= 0 else adapted
    if group.rows["penalised_score"].direction == "lower":
        kept = adapted  # a penalty below 0 would take off: the hatched part shows it all the same
    ax.barh(lower, kept, BAR, facecolor=COLOURS[0], linewidth=0)
    left, right = sorted((adapted, penalised))
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": COLOURS[1], "hatch": "////"}
    ax.barh(lower, right - left, BAR, left, linewidth=1.0, **look)
    _interval(ax, group.rows["penalised_score"], lower)


def _interval(ax: Axes, row: Row, place: float) -> None:
    """The interval of a bar as a thin line with ends."""
    if row.lower is None or row.upper is None:
        return
    ax.plot([row.lower, row.upper], [place] * 2, color=ink(), linewidth=1.4, zorder=4)
    ends: Any = {"marker": "|", "markersize": 7, "markeredgewidth": 1.4, "linestyle": "none"}
    ax.plot([row.lower, row.upper], [place] * 2, color=ink(), zorder=4, **ends)


def _span(groups: Sequence[Penalised]) -> tuple[float, float]:
    """From 0, or below it, to the farthest end."""
    ends = [0.0]
    for group in groups:
        for name in ("base_score", "adapted_score", "penalised_score"):
            row = group.rows.get(name)
            if row is not None:
                ends += [v for v in (row.value, row.lower, row.upper) if v is not None]
    low, high = min(ends), max(ends)
    edge = 0.03 * (high - low) or 0.1
    return (low - edge if low < 0 else 0.0), high + edge


def _slots(groups: Sequence[Penalised], width: float) -> Slots:
    labels = []
    for group in groups:
        gain = group.rows.get("generalisation_gain")
        said = ""
        if gain is not None and gain.value is not None:
            said = f"gain {figure(gain.value, gain.scale)}"
        labels.append("\n".join(filter(None, (label_of(group.name, width), said))))
    return Slots.of(labels, 3)


def _handles(groups: Sequence[Penalised]) -> list[Any]:
    handles: list[Any] = []
    if any(g.value("base_score") is not None for g in groups):
        handles.append(Patch(facecolor="none", edgecolor=ink(), linewidth=1.0, label=BASE))
    direction = groups[0].rows["penalised_score"].direction
    handles.append(Patch(facecolor=COLOURS[0], linewidth=0, label=PLAIN[direction]))
    look: Any = {"facecolor": "none", "edgecolor": COLOURS[1], "hatch": "////"}
    return [*handles, Patch(label=HATCHED[direction], linewidth=1.0, **look)]


def penalised_bars_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    groups = drawn_of(rows)
    labels = [str(h.get_label()) for h in _handles(groups)]
    return 0.75 + _slots(groups, width).height + legend_height(labels, width)
