"""Shares of variance of methods: what seed, training set and test add, as one bar a method."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from truecost.core.digits import counted
from truecost.core.variance import TEST, Variance
from truecost.errors import UsageError
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
    scaled,
    width_of,
)
from truecost.report.plots.slots import Slots, label_of

THICK = 0.22  # inches


def variance_shares(found: Sequence[Variance], ax: Axes | None = None) -> Axes:
    """A bar a method, divided into what each source adds to the variance of one run.

    Parameters
    ----------
    found : sequence of Variance
        Of one measure; those without shares are left out.

    Raises
    ------
    UsageError
        When there are no shares, or they are of several measures.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.core.variance import Share, Variance
    >>> shares = [
    ...     Share(source=name, variance=v, share=v, lower=0.0, upper=1.0)
    ...     for name, v in (("seed", 0.3), ("test", 0.7))
    ... ]
    >>> cnn = Variance(
    ...     system="cnn", measure="nec", runs=5, sets=1, shares=tuple(shares), level=0.95
    ... )
    >>> ax = plots.variance_shares([cnn])
    >>> ax.get_xlabel(), [float(round(bar.get_width(), 2)) for bar in ax.patches]
    ('share of the variance of nec', [0.3, 0.7])
    """
    drawn = having_shares(found)
    needed(drawn, "no method has shares of variance")
    if len(labels := {one.measure for one in drawn}) > 1:
        raise UsageError(f"shares of {counted(len(labels), 'measure')} share no axis: draw one")
    ax = ax or new_axes(WIDE, variance_shares_height(found))
    slots, looks = _slots(drawn, width_of(ax)), _looks(drawn)
    for one, place in zip(drawn, slots.middles, strict=True):
        left = 0.0
        for share in one.shares:
            ax.barh(place, share.share or 0.0, THICK, left, **filled(*looks[share.source]))
            left += share.share or 0.0
    slots.set_on(ax)
    scaled(ax, ["%"])
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"share of the variance of {drawn[0].measure}")
    legend_below(ax, [patch(name, *looks[name]) for name in looks])
    return finish(ax, grid="x")


def having_shares(found: Sequence[Variance]) -> list[Variance]:
    """Those of which something is known."""
    return [one for one in found if any(s.share is not None for s in one.shares)]


def _looks(found: Sequence[Variance]) -> dict[str, tuple[str, str]]:
    """Colour and hatch of each source; that of the test is the last, and plain."""
    names = dict.fromkeys(s.source for one in found for s in one.shares)
    order = [*(n for n in names if n != TEST), *(n for n in names if n == TEST)]
    hatches = {n: "" if n == TEST else HATCHES[1 + k % 3] for k, n in enumerate(order)}
    colours = {n: COLOURS[0] if n == TEST else COLOURS[1 + k % 5] for k, n in enumerate(order)}
    return {name: (colours[name], hatches[name]) for name in order}


def _slots(found: Sequence[Variance], width: float) -> Slots:
    """Names of methods with how many runs each has."""
    labels = []
    for one in found:
        about = ", ".join([*one.dims.values(), one.system])
        labels.append(f"{label_of(about, width)}\n{counted(one.runs, 'run')}")
    return Slots.of(labels, 2)


def variance_shares_height(found: Sequence[Variance], width: float = WIDE) -> float:
    """Height in inches that shows these methods at a width in inches."""
    drawn = having_shares(found)
    return 0.75 + _slots(drawn, width).height + legend_height([*_looks(drawn)], width)
