"""Names of times and versions along an axis: as many as stand apart."""

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap

from matplotlib.axes import Axes

from truecost.report.plots.look import SMALL, short

LETTER = 0.085  # inches of a letter of a small label
GAP = 0.12  # inches between labels
LONGEST = 12  # letters of the name of a time


def apart(places: Sequence[float], labels: Sequence[str], per_inch: float) -> list[int]:
    """Which labels are shown: the last, and from the first on those that keep their distance.

    Parameters
    ----------
    places : sequence of float
        Rising.
    labels : sequence of str
        Their width counts, in the middle of their places.
    per_inch : float
        Units of the axis that make an inch.

    Returns
    -------
    list of int
        Indices, rising. Where places are even and labels alike, every second, third and so on.
    """
    if not places:
        return []
    wide = [(LETTER * len(label) + GAP) * per_inch for label in labels]

    def fits(a: int, b: int) -> bool:
        return abs(places[b] - places[a]) >= (wide[a] + wide[b]) / 2

    for every in range(1, len(places)):
        shown = list(range(0, len(places), every))
        if all(fits(a, b) for a, b in pairwise(shown)):
            return shown
    kept = [0]
    for k in range(1, len(places)):
        if fits(kept[-1], k):
            kept.append(k)
    return kept


def stacked(places: Sequence[float], line: float) -> list[int]:
    """Which of the labels one below the other are shown, for lines of a height."""
    if len(places) < 2:
        return list(range(len(places)))
    each = abs(places[1] - places[0])
    every = max(1, round(line / each + 0.499)) if each else 1
    return list(range(0, len(places), every))


def upright(text: str, letters: int = 22) -> str:
    """A label along an upright axis in lines of so many letters, broken at blanks only."""
    return "\n".join(wrap(text, letters, break_long_words=False, break_on_hyphens=False))


def name_times(ax: Axes, places: Sequence[float], names: Sequence[str], inches: float) -> None:
    """Ticks along the axis at the bottom, with as many names as stand apart.

    The limits of the axis must be set; `inches` is about its width.
    """
    low, high = ax.get_xlim()
    labels = [short(name, LONGEST) for name in names]
    shown = apart(places, labels, abs(high - low) / inches)
    ax.set_xticks([places[k] for k in shown], [labels[k] for k in shown], fontsize=SMALL)
