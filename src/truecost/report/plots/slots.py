"""Rows of a picture: how high each is, its label, the word beside it, arrows to what is outside."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from truecost.report.plots.look import ACROSS, SMALL, figure_of, short, wrapped

LINE = 0.165  # inches: a line of a label
MOST_LINES = 3  # of a name; a longer one loses its middle


def label_of(name: str, width: float) -> str:
    """A name in at most three lines that leave room for the rows."""
    across = 0.32 * width if width > 5 else 0.43 * width
    lines = wrapped(name, across)
    most = len(name)
    while lines.count("\n") >= MOST_LINES:
        most -= 2
        lines = wrapped(short(name, most), across)
    return lines


def phrases(text: str, width: float) -> str:
    """Phrases between commas in as few lines as fit below a name, each whole."""
    across = ACROSS * (0.32 * width if width > 5 else 0.43 * width)
    lines: list[str] = []
    for phrase in text.split(", "):
        if lines and len(lines[-1]) + len(phrase) + 2 <= across:
            lines[-1] += f", {phrase}"
        else:
            lines.append(phrase)
    return ",\n".join(lines)


@dataclass(frozen=True)
class Slots:
    """Where rows stand: a slot for each label, as high as its label and its markers need.

    Attributes
    ----------
    middles : tuple of float
        Middle of each slot, in inches from the top.
    height : float
        Of all slots, in inches.
    """

    labels: tuple[str, ...]
    middles: tuple[float, ...]
    height: float

    @staticmethod
    def of(labels: Sequence[str], markers: int) -> "Slots":
        """Slots for these labels, of some lines each, with so many markers one below the other."""
        middles, top = [], 0.0
        for label in labels:
            height = max(0.1 + LINE * (1 + label.count("\n")), 0.12 + 0.16 * markers)
            middles.append(top + height / 2)
            top += height
        return Slots(tuple(labels), tuple(middles), top)

    def set_on(self, ax: Axes) -> None:
        """Labels and limits of the axes."""
        ax.set_yticks(self.middles, self.labels, fontsize=SMALL)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(self.height, 0)


def arrows(
    ax: Axes, ends: tuple[float, float], span: tuple[float, float], place: float, colour: str
) -> None:
    """Arrows just inside the axes where an interval leaves them."""
    from matplotlib.transforms import offset_copy

    leaves = ((ends[0] < span[0], span[0], "<", 4), (ends[1] > span[1], span[1], ">", -4))
    for out, edge, arrow, inside in leaves:
        if out:
            moved = offset_copy(ax.transData, figure_of(ax), x=inside, units="points")
            ax.plot(edge, place, arrow, color=colour, markersize=6, transform=moved)


def far_off(ax: Axes, text: str, place: float, *, left: bool) -> None:
    """The figure of a row that lies outside, beside its arrow."""
    ax.annotate(
        text,
        (0.0 if left else 1.0, place),
        (12 if left else -12, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="left" if left else "right",
        va="center",
        fontsize=SMALL,
    )


def word_beside(ax: Axes, word: str, place: float, *, bold: bool = False) -> None:
    """A word at the right of a row."""
    ax.annotate(
        word,
        (1, place),
        (8, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        fontweight="bold" if bold else "normal",
    )
