"""The score of each version on each test time as a heat map, the policies of users above it.

Rows are versions, the initial one first; columns are test times. What is later than a version, and
so in no window [l_1, l_i] of Eq. 2 (paper 004), is dimmed beyond a staircase line.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.path import Path

from truecost.errors import UsageError
from truecost.report.plots.bars import patch
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
    short,
    width_of,
)
from truecost.report.plots.shades import Shades, colour, rounded, scale_in, text_on
from truecost.report.plots.timeline import LETTER, name_times, stacked
from truecost.tasks.lifelong.descriptions import Cell, LifelongDescription

Found = LifelongDescription
Of = Literal["value", "width"]
STATES = ("base", "adapted", "impaired", "corrected", "penalised")
DIMMED = 0.3  # of the colour of what is later than a version
STRIP, HEAD = 0.3, 0.2  # inches: the weights of a policy, and the word above the versions
ROW, LEAST, MOST = 0.38, 0.05, 4.6  # inches: the highest and the lowest row, and all of them
TALL = 0.36  # inches of a row that has a figure and its half-width
POLICIES = 4  # strips
LATER = "the future"
UNDEFINED = "undefined"


def score_matrix(
    found: Found,
    ax: Axes | None = None,
    *,
    state: str = "base",
    of: Of = "value",
    beside: Sequence[Found] = (),
) -> Axes:
    """Version by test time: light is better. Figures stand in the cells where they fit.

    Below a figure stands half the width of its interval. Above the matrix are the weights that
    policies give the test times, for the last version.

    Parameters
    ----------
    found : LifelongDescription
        Of a system of a result.
    state : {"base", "adapted", "impaired", "corrected", "penalised"}
        Before the person's help, after it, or with its penalty.
    of : {"value", "width"}
        The score, or the half-width of its interval.
    beside : sequence of LifelongDescription
        Systems whose pictures stand beside this one: colours mean the same in all.

    Raises
    ------
    UsageError
        When there are no cells in that state.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.lifelong.descriptions import Cell, LifelongDescription
    >>> cells = [Cell(version="0", time="1.5", value=0.4), Cell(version="1", time="1.5", value=0.2)]
    >>> mine = LifelongDescription(
    ...     dims={"system": "mine"},
    ...     score="wer",
    ...     title="Word error rate",
    ...     direction="lower",
    ...     versions=["0", "1"],
    ...     learnt=[None, 1],
    ...     times=["1.5"],
    ...     at=[1.5],
    ...     cells=cells,
    ... )
    >>> ax = plots.score_matrix(mine)
    >>> [text.get_text() for text in ax.texts]
    ['0.40', '0.20']
    """
    cells = cells_of(found, state)
    ax = ax or new_axes(WIDE, score_matrix_height(found, state=state, of=of, beside=beside))
    width = width_of(ax)
    shades = shades_of([found, *beside], state, of)
    height = _row(found)
    top = _strips(ax, found)
    ax.set_xlim(0, len(found.times))
    ax.set_ylim(top + height * len(found.versions), 0)
    places = {v: top + k * height for k, v in enumerate(found.versions)}
    _fill(ax, found, cells, shades, places, of)
    _edge(ax, found, cells, places)
    if of == "value" and figures_fit(found, width, state=state, beside=beside):
        for cell in cells:
            _figure(ax, found, cell, shades, places[cell.version] + height / 2)
    _name(ax, found, places, width)
    legend_below(ax, _handles(found, cells, shades, of))
    finish(ax)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def cells_of(found: Found, state: str) -> list[Cell]:
    """A cell for every version and time, in a state; UsageError where none has a value.

    What was not scored, or is undefined, is a cell without a value.
    """
    needed(found.cells, "no version was scored on a test time")
    known = [s for s in STATES if any(c.state == s for c in found.cells)]
    if state not in known:
        raise UsageError(f"no cell is in the state {state!r}: draw one of {', '.join(known)}")
    cells = {(c.version, c.time): c for c in found.cells if c.state == state}
    window = {(c.version, c.time): c.seen for c in found.cells}
    return [
        cells.get((v, t), Cell(version=v, time=t, state=state, seen=window.get((v, t), False)))
        for v in found.versions
        for t in found.times
    ]


def half_width(cell: Cell) -> float | None:
    """Half of the width of the interval of a cell."""
    if cell.lower is None or cell.upper is None:
        return None
    return (cell.upper - cell.lower) / 2


def _shown(cell: Cell, of: Of) -> float | None:
    return cell.value if of == "value" else half_width(cell)


def shades_of(systems: Sequence[Found], state: str, of: Of = "value") -> Shades:
    """The range of colours that pictures side by side share."""
    wanted = {state, "base", "penalised"} if of == "value" else {state}
    cells = [c for d in systems for c in d.cells if c.state in wanted]
    direction = systems[0].direction if of == "value" else "lower"
    return Shades.of((_shown(c, of) for c in cells), direction)


def _row(found: Found) -> float:
    """Height of a row in inches."""
    return max(LEAST, min(ROW, MOST / max(1, len(found.versions))))


def _column(found: Found, width: float) -> float:
    """About the width of a column in inches."""
    names = max(len(short(v, 12)) for v in ["version", *found.versions, *_policies(found)])
    return (width - 0.25 - LETTER * names) / max(1, len(found.times))


def _policies(found: Found) -> list[str]:
    return [short(p.name, 14) for p in found.policies[:POLICIES]]


def figures_fit(
    found: Found, width: float = WIDE, *, state: str = "base", beside: Sequence[Found] = ()
) -> bool:
    """Whether the cells of a picture of this width in inches hold figures and half-widths."""
    shades = shades_of([found, *beside], state)
    said = [
        text
        for c in cells_of(found, state)
        for text in _texts(found, c, shades)
        if c.value is not None
    ]
    longest = max((len(text) for text in said), default=0)
    return _row(found) >= TALL and LETTER * longest + 0.04 <= _column(found, width)


def _texts(found: Found, cell: Cell, shades: Shades) -> tuple[str, str]:
    """The figure of a cell and its half-width."""
    if cell.value is None:
        return "\N{EN DASH}", ""
    scale = scale_in(found.shown_in)
    half = half_width(cell)
    if half is None:
        return shades.text(cell.value, scale), ""
    said = shades.text(half, scale)
    if half and not float(said):  # an interval has a width
        said = rounded(half, half * 10, scale).removesuffix("%")
    return shades.text(cell.value, scale), f"\N{PLUS-MINUS SIGN}{said}"


def _fill(
    ax: Axes, found: Found, cells: Sequence[Cell], shades: Shades, places: dict[str, float], of: Of
) -> None:
    """One shape for each colour, so that thousands of cells stay small in a file."""
    from matplotlib.patches import PathPatch

    boxes: dict[tuple[int, bool], list[tuple[float, float]]] = {}
    empty: list[tuple[float, float]] = []
    for cell in cells:
        place = (float(found.times.index(cell.time)), places[cell.version])
        value = _shown(cell, of)
        if value is None:
            empty.append(place)
        else:
            boxes.setdefault((shades.step(value), cell.seen), []).append(place)
    for (step, seen), corners in sorted(boxes.items()):
        path = _boxes(corners, _row(found))
        alpha = 1.0 if seen else DIMMED
        ax.add_patch(PathPatch(path, facecolor=colour(step), alpha=alpha, linewidth=0))
    if empty:
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": ink(), "linewidth": 0}
        ax.add_patch(PathPatch(_boxes(empty, _row(found)), hatch="xxx", **look))


def _boxes(corners: Sequence[tuple[float, float]], height: float) -> Path:
    """Boxes one wide at their upper left corners; those side by side are one."""
    runs: list[list[float]] = []  # left, right, top
    for x, y in sorted(corners, key=lambda at: (at[1], at[0])):
        if runs and runs[-1][2] == y and runs[-1][1] == x:
            runs[-1][1] = x + 1
        else:
            runs.append([x, x + 1, y])
    points: list[tuple[float, float]] = []
    for left, right, y in runs:
        lower = y + height
        points += [(left, y), (right, y), (right, lower), (left, lower), (left, y)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(runs)
    return Path(points, codes)


def _edge(ax: Axes, found: Found, cells: Sequence[Cell], places: dict[str, float]) -> None:
    """The staircase between what is in the window of a version and what is later."""
    from matplotlib.patches import PathPatch

    points = [at for line in _stairs(found, cells, places) for at in line]
    if points:
        codes = [Path.MOVETO, Path.LINETO] * (len(points) // 2)
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": ink(), "linewidth": 1.4}
        ax.add_patch(PathPatch(Path(points, codes), **look))


def _stairs(
    found: Found, cells: Sequence[Cell], places: dict[str, float]
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Its lines: between neighbours of which one is seen and the other is not."""
    known = {(c.version, c.time) for c in found.cells}
    seen = {at: c.seen for c in cells if (at := (c.version, c.time)) in known}
    height = _row(found)
    for version, y in places.items():
        row = [seen.get((version, t)) for t in found.times]
        for x in range(1, len(row)):
            if None not in row[x - 1 : x + 1] and row[x - 1] != row[x]:
                yield (float(x), y), (float(x), y + height)
    for above, below in zip(found.versions, found.versions[1:], strict=False):
        for x, time in enumerate(found.times):
            both = (seen.get((above, time)), seen.get((below, time)))
            if None not in both and both[0] != both[1]:
                yield (float(x), places[below]), (float(x + 1), places[below])


def _figure(ax: Axes, found: Found, cell: Cell, shades: Shades, middle: float) -> None:
    """Value and half-width in a cell."""
    said, half = _texts(found, cell, shades)
    known = cell.value is not None and cell.seen
    tone = text_on(shades.step(cell.value)) if known else ink()  # type: ignore[arg-type]
    look: dict[str, Any] = {"ha": "center", "fontsize": SMALL, "color": tone}
    x = found.times.index(cell.time) + 0.5
    ax.text(x, middle, said, va="bottom" if half else "center", **look)
    if half:
        ax.text(x, middle, half, va="top", **{**look, "fontsize": 8})


def _strips(ax: Axes, found: Found) -> float:
    """The weights of each policy as columns above the times; where the matrix begins, in inches."""
    for k, policy in enumerate(found.policies[:POLICIES]):
        base = STRIP * (k + 1) - 0.03
        weights = policy.weights[-1] if policy.weights else []
        largest = max(weights, default=0.0) or 1.0
        heights = [0.8 * STRIP * w / largest for w in weights]
        lefts = [x + 0.5 for x in range(len(heights))]
        ax.bar(lefts, [-h for h in heights], 0.9, base, color=COLOURS[k], linewidth=0)
        ax.plot([0, len(found.times)], [base, base], color=ink(), linewidth=0.6)
    count = min(len(found.policies), POLICIES)
    return STRIP * count + HEAD


def _name(ax: Axes, found: Found, places: dict[str, float], width: float) -> None:
    """Names of policies and versions at the left, of times below."""
    height = _row(found)
    middles = [top + height / 2 for top in places.values()]
    shown = stacked(middles, 0.17)
    strips = {STRIP * (k + 0.6): name for k, name in enumerate(_policies(found))}
    word = min(places.values()) - HEAD / 2 + 0.01
    at = [*strips, word, *(middles[k] for k in shown)]
    names = [*strips.values(), "version", *(short(found.versions[k], 12) for k in shown)]
    ax.set_yticks(at, names, fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    inches = _column(found, width) * len(found.times)
    name_times(ax, [x + 0.5 for x in range(len(found.times))], found.times, inches)
    ax.set_xlabel("test time")


def _handles(found: Found, cells: Sequence[Cell], shades: Shades, of: Of) -> list[Any]:
    """What the colours mean."""
    scale = scale_in(found.shown_in)
    named = shades.named(scale)
    if of == "width":
        named = {k: f"\N{PLUS-MINUS SIGN}{said.partition(' ')[0]}" for k, said in named.items()}
    handles = [patch(said, colour(step)) for step, said in named.items()]
    if any(not c.seen for c in cells):
        handles.append(patch(LATER, colour(10), alpha=DIMMED))
    if any(_shown(c, of) is None for c in cells):
        empty = patch(UNDEFINED if of == "value" else "no interval", "none", "xxx")
        handles.append(empty)
    return handles


def score_matrix_height(
    found: Found,
    width: float = WIDE,
    *,
    state: str = "base",
    of: Of = "value",
    beside: Sequence[Found] = (),
) -> float:
    """Height in inches that shows this matrix at a width in inches."""
    cells, shades = cells_of(found, state), shades_of([found, *beside], state, of)
    labels = [str(h.get_label()) for h in _handles(found, cells, shades, of)]
    strips = STRIP * min(len(found.policies), POLICIES) + HEAD
    return 0.6 + strips + _row(found) * len(found.versions) + legend_height(labels, width)
