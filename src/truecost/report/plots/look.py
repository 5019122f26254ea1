"""How all pictures look: colours, markers, ink, legends, and how a picture is saved.

Drawn through `Figure` objects, never pyplot state. Colours are told apart by colour-blind readers
(after Okabe and Ito, darkened for contrast on white and black paper) and doubled by markers and
dashes. Text and neutral lines take matplotlib's own text colour: black in a paper, a marker colour
that the page replaces by its own, or whatever an author has set.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from truecost.core.digits import Scale, figure
from truecost.errors import UsageError

INK = "#808181"  # replaced by the page's text colour in HTML; a mid grey elsewhere
COLOURS = ("#0072B2", "#C75000", "#008060", "#B0408A", "#8A6A00", "#5A66C8")  # 3:1 on both papers
MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # one more than colours: 42 pairs
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (5, 1.5, 1, 1.5)))
HATCHES = ("", "///", "\\\\\\", "xxx")  # of lines: dots take 100 kB in an SVG
_BREAK = "\x1f"  # where a name may be broken without a space
MANY = 4  # with more systems bands and histograms hide each other and are left out
SMALL = 9  # font size of legends, labels of rows and figures beside bars
WIDE = 7.2  # inches: the width of a page
ACROSS = 12.5  # letters on an inch
_SHAPE: Any = {  # matplotlib types each key
    "svg.fonttype": "none",
    "svg.hashsalt": "truecost",
    "pdf.fonttype": 42,
    "text.parse_math": False,  # names are names, dollars and all
    "font.size": 10,
    "font.family": "sans-serif",
    "legend.frameon": False,
}
_INKS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_PAPERS = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
STYLE: Mapping[str, Any] = {**_SHAPE, **dict.fromkeys(_INKS, INK), **dict.fromkeys(_PAPERS, "none")}


@contextmanager
def style(ink: str = "black", paper: str = "white") -> Iterator[None]:
    """The look of the report, for what is drawn and saved inside `with style():`.

    Parameters
    ----------
    ink, paper : str
        Colour of text and neutral lines, and of the ground ("none" for a transparent one).

    Examples
    --------
    >>> from truecost.report import plots
    >>> with plots.style(ink="white", paper="black"):
    ...     ax = plots.new_axes(4.2, 3)
    >>> ax.xaxis.label.get_color()
    'white'
    """
    colours: Any = dict.fromkeys(_INKS, ink) | dict.fromkeys(_PAPERS, paper)
    with mpl.rc_context({**_SHAPE, **colours}):
        yield


def save(ax: Axes, path: str | Path) -> Path:
    """Write the figure of some axes as PDF, PNG or SVG; equal pictures give equal bytes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        As every picture returns it.
    path : str or Path
        Its ending says the format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from truecost.report import plots
    >>> with TemporaryDirectory() as folder:
    ...     plots.save(plots.new_axes(4.2, 3), Path(folder) / "empty.svg").name
    'empty.svg'
    """
    target = Path(path)
    times = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    salted: Any = {key: _SHAPE[key] for key in ("svg.hashsalt", "svg.fonttype", "pdf.fonttype")}
    with mpl.rc_context(salted):
        figure_of(ax).savefig(target, metadata=times.get(target.suffix.lower()), dpi=200)
    return target


def new_axes(width: float, height: float) -> Axes:
    """Axes that fill a new figure of this size in inches."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def figure_of(ax: Axes) -> Figure:
    """The whole figure in which axes stand."""
    return cast("Figure", ax.get_figure(root=True))


def width_of(ax: Axes) -> float:
    """About how wide axes are with their labels, in inches."""
    whole = figure_of(ax)
    if whole.axes == [ax]:
        return float(whole.get_figwidth())
    return float(ax.get_position().width * whole.get_figwidth() * 1.15)


def needed(found: Sequence[Any], what: str) -> None:
    """Refuse to draw nothing: UsageError."""
    if not found:
        raise UsageError(f"there is nothing to draw: {what}")


def needed_curves(found: Sequence[Any], kind: type, maker: str, what: str) -> None:
    """Refuse to draw nothing, or anything but curves of a kind: UsageError."""
    needed(found, what)
    other = next((c for c in found if not isinstance(c, kind)), None)
    if other is not None:
        raise UsageError(
            f"a {type(other).__name__} is not a curve: this picture draws what {maker} gives; "
            f"call curves = {maker}(systems, scoring) first"
        )


def ink() -> str:
    """The colour of text and neutral lines."""
    return str(mpl.rcParams["text.color"])


def filled(colour: str, hatch: str = "") -> dict[str, Any]:
    """The look of a filled area of one of several kinds, which a hatch tells apart too."""
    return {"facecolor": colour, "hatch": hatch, "edgecolor": ink(), "linewidth": 0}


def looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker, dashes and hatch of each system, in order."""
    return {
        name: {
            "color": COLOURS[k % len(COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
            "linestyle": DASHES[k // len(COLOURS) % len(DASHES)],
            "hatch": HATCHES[k // len(COLOURS) % len(HATCHES)],
        }
        for k, name in enumerate(dict.fromkeys(names))
    }


def short(name: str, most: int = 26) -> str:
    """A long name with its middle left out."""
    return name if len(name) <= most else f"{name[: most // 2]}\u2026{name[-(most // 2 - 1) :]}"


def wrapped(name: str, width: float) -> str:
    """A long name in as few lines as fit a width in inches, about equally long.

    Broken at spaces, and after hyphens, underscores, slashes and equals signs.
    """
    marked = re.sub(r"(?<=[_=/])(?=[^\s=])", f"{_BREAK} ", name)

    def lines_of(across: int) -> list[str]:
        return [line.replace(f"{_BREAK} ", "").replace(_BREAK, "") for line in wrap(marked, across)]

    across = max(12, int(width * ACROSS))
    lines = lines_of(across)
    while across > 12 and len(lines_of(across - 1)) == len(lines):
        across -= 1
    return "\n".join(lines_of(across))


def columns_of(labels: Sequence[str], width: float) -> int:
    """In how many columns labels of a legend fit a width in inches."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    return max(1, min(len(labels), int(width / (0.075 * longest + 0.6))))


def legend_height(labels: Sequence[str], width: float) -> float:
    """Height in inches of a legend with these labels."""
    rows = -(-len(labels) // columns_of(labels, width))
    return 0.1 + 0.19 * rows * (1 + max(label.count("\n") for label in labels))


def legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """A legend below the axes, in as many columns as its names allow, read row by row."""
    whole = figure_of(ax)
    labels = [str(h.get_label()) for h in handles]
    columns = columns_of(labels, width_of(ax))
    handles = [handle for k in range(columns) for handle in handles[k::columns]]
    look: dict[str, Any] = {"ncols": columns, "fontsize": SMALL, "frameon": False}
    if whole.axes == [ax] and whole.get_layout_engine() is not None:
        whole.legend(handles=handles, loc="outside lower center", **look)
        return
    from matplotlib.transforms import ScaledTranslation

    below = ax.transAxes + ScaledTranslation(0, -36 / 72, whole.dpi_scale_trans)
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, **look
    )


def finish(ax: Axes, *, grid: Literal["x", "y", "both"] | None = None) -> Axes:
    """What all pictures end with: no box, a faint grid, and names that are names, dollars and all.

    `grid` is "x", "y" or "both".
    """
    from matplotlib.text import Text

    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color=ink(), alpha=0.18, linewidth=0.6)
    legends = figure_of(ax).legends
    for text in [*ax.findobj(Text), *(t for box in legends for t in box.findobj(Text))]:
        text.set_parse_math(False)
    return ax


def scaled(ax: Axes, scales: Collection[Scale], which: Literal["x", "both"] = "x") -> None:
    """Figures along the axis as readers see those of all rows; plain ones for several scales."""
    if scale := one_of(scales):
        for axis in (ax.xaxis, ax.yaxis) if which == "both" else (ax.xaxis,):
            axis.set_major_formatter(
                lambda x, _: figure(x, scale).removesuffix(" pp").replace("-", "\N{MINUS SIGN}")
            )
    if ax.get_xscale() == "linear":
        _apart(ax)


def _apart(ax: Axes) -> None:
    """As many figures below the axes as stand apart, with half of the width for names and words."""
    low, high = ax.get_xlim()
    shown = [at for at in ax.get_xticks() if low <= at <= high]
    longest = max(
        (len(text) for text in ax.xaxis.get_major_formatter().format_ticks(shown)), default=0
    )
    most = max(2, int(0.5 * width_of(ax) * ACROSS / (longest + 1)))
    if len(shown) > most:
        ax.xaxis.set_major_locator(MaxNLocator(most - 1, steps=(1, 2, 2.5, 5, 10)))


def one_of(scales: Collection[Scale]) -> Scale:
    """The scale that all rows share; none for several."""
    return next(iter(scales)) if len(set(scales)) == 1 else ""


def points_of(scales: Collection[Scale]) -> str:
    """What the label of an axis says of its unit: that differences are percentage points."""
    return ", percentage points" if one_of(scales) == "pp" else ""


def naive_line(ax: Axes, at: float, *, vertical: bool) -> None:
    """A dashed line where the naive baseline stands."""
    draw = ax.axvline if vertical else ax.axhline
    draw(at, color=ink(), linewidth=1.2, linestyle=(0, (4, 3)), zorder=1.5)


def naive_handle() -> Line2D:
    """The dashed line of the naive baseline, for legends."""
    return Line2D([], [], color=ink(), linewidth=1.2, linestyle=(0, (4, 3)), label="naive baseline")


def point(ax: Axes, x: float, y: float, look: Mapping[str, Any], *, filled: bool) -> None:
    """The marker of a system: filled, or hollow; whole where it stands on the edge."""
    ax.plot(
        x,
        y,
        marker=look["marker"],
        color=look["color"],
        markersize=8,
        markeredgewidth=1.6,
        linestyle="none",
        markerfacecolor=look["color"] if filled else "none",
        clip_on=False,
        zorder=5,
    )


def line_handle(label: str, look: Mapping[str, Any]) -> Line2D:
    """A line with its marker, for legends."""
    keys = ("color", "marker", "linestyle")
    return Line2D([], [], label=label, markersize=6, **{key: look[key] for key in keys})


def mark_handle(label: str, *, filled: bool, linestyle: Any = "none") -> Line2D:
    """A marker of no system, for legends."""
    return Line2D(
        [],
        [],
        color=ink(),
        marker="o",
        markerfacecolor=ink() if filled else "none",
        markeredgewidth=1.6,
        linestyle=linestyle,
        label=label,
    )


OPERATING = ("at the threshold in use", "least cost")


def operating_handles(actual: bool, minimum: bool) -> list[Line2D]:
    """Legend entries of the operating points that are drawn."""
    drawn = ((OPERATING[0], True, actual), (OPERATING[1], False, minimum))
    return [mark_handle(label, filled=filled) for label, filled, there in drawn if there]
