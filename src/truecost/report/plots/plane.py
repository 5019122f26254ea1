"""The trade-off plane of AB/BA: relative recall against relative false positives, by threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    legend_below,
    legend_height,
    line_handle,
    looks,
    mark_handle,
    naive_line,
    needed,
    new_axes,
    point,
    short,
    width_of,
)
from truecost.report.plots.placing import Page
from truecost.report.plots.ratio_rows import TEST_SET, one_handle, ratio_axis
from truecost.tasks.abba.describing import Plane
from truecost.tasks.abba.measures import ESTIMATORS

Arm = tuple[list[float], list[float]]
Labelled = tuple[float, float, float]  # threshold, rFPR and rRecall
Floats = npt.NDArray[np.float64]
CROSSES = 8  # thresholds of a curve that have a cross
CROSSED = 2  # of more curves only the deployed and the chosen thresholds have one
NEAR = 0.05  # of the curve: no cross so near to a deployed or chosen threshold
DEEPEST = 0.8  # of the least recall that matters, below which a curve is not drawn
OVER = (0, (4, 4))  # dashes of a curve on another
SAME = 1e-9  # curves that differ by less lie on each other
BEYOND = 1e-9  # 0 has no place on a logarithmic axis
FEWEST = 0.2  # the same of false accepts
BOTH = "both improve"
CORNERS = {  # what happens in a quadrant, by whether rFPR and rRecall lie above 1
    (True, True): "more recall,\nmore false accepts",
    (False, False): "less recall,\nfewer false accepts",
    (True, False): "both get worse",
}


@dataclass(frozen=True, eq=False)
class Path:
    """A plane as arrays, NaN where undefined.

    Attributes
    ----------
    thresholds, rrecall, rfpr : ndarray, shape (thresholds,)
    rrecall_ends, rfpr_ends : ndarray, shape (2, thresholds)
    """

    thresholds: Floats
    rrecall: Floats
    rfpr: Floats
    rrecall_ends: Floats
    rfpr_ends: Floats

    @staticmethod
    def of(plane: Plane) -> "Path":
        """The arrays of a plane."""

        def array(*columns: Any) -> Floats:
            found = np.array(columns, dtype=np.float64)
            return found if len(columns) > 1 else found[0]

        return Path(
            array(plane.thresholds),
            array(plane.rrecall),
            array(plane.rfpr),
            array(plane.rrecall_lower, plane.rrecall_upper),
            array(plane.rfpr_lower, plane.rfpr_upper),
        )

    def between(self, low: float, high: float) -> "Path":
        """The part with thresholds between two."""
        some = (self.thresholds >= low) & (self.thresholds <= high)
        ends = self.rrecall_ends[:, some], self.rfpr_ends[:, some]
        return Path(self.thresholds[some], self.rrecall[some], self.rfpr[some], *ends)

    def place(self, threshold: float | None) -> int | None:
        """Where a threshold stands in the grid, if both ratios have a place on the axes there."""
        if threshold is None or threshold not in self.thresholds:
            return None
        at = int(np.searchsorted(self.thresholds, threshold))
        return at if self.rrecall[at] > 0 and self.rfpr[at] > 0 else None

    def point(self, at: int) -> tuple[float, float, float]:
        """Threshold, rFPR and rRecall of a place."""
        return float(self.thresholds[at]), float(self.rfpr[at]), float(self.rrecall[at])

    def arms(self, at: int) -> tuple[Arm, Arm]:
        """The two lines of a cross, across and upwards; an undefined interval has no length."""
        _, x, y = self.point(at)
        ends = []
        for middle, interval in ((x, self.rfpr_ends[:, at]), (y, self.rrecall_ends[:, at])):
            whole = interval if np.isfinite(interval).all() else [middle, middle]
            ends.append([max(float(end), BEYOND) for end in whole])
        return (ends[0], [y, y]), ([x, x], ends[1])


def trade_off(planes: Sequence[Plane], ax: Axes | None = None) -> Axes:
    """Relative recall against relative FPR, a curve over the thresholds of B for each plane.

    Both axes are logarithmic; where both ratios improve the plane is shaded. The deployed threshold
    is filled, a chosen one hollow, each with a cross of its intervals. Of up to two curves some
    eight further thresholds have a cross, and thresholds stand beside them where there is room. Of
    planes on the very same curve the first is drawn, and the legend names the others.

    Parameters
    ----------
    planes : sequence of Plane
        As `truecost.tasks.abba.thresholds.choose` gives them.

    Raises
    ------
    UsageError
        When there are none, or no ratio is defined.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.abba.describing import Plane
    >>> plane = Plane(
    ...     system="new",
    ...     estimator="direct",
    ...     thresholds=(0.1, 0.2, 0.3, 0.4),
    ...     rrecall=(1.2, 1.05, 1.02, 0.9),
    ...     rrecall_lower=(1.1, 1.0, 0.98, 0.8),
    ...     rrecall_upper=(1.3, 1.1, 1.07, 1.0),
    ...     rfpr=(1.6, 1.0, 0.8, 0.7),
    ...     rfpr_lower=(1.3, 0.8, 0.6, 0.5),
    ...     rfpr_upper=(1.9, 1.2, 1.0, 0.9),
    ...     deployed=0.1,
    ...     level=0.95,
    ... )
    >>> ax = plots.trade_off([plane])
    >>> ax.get_xlabel(), sorted(t.get_text() for t in ax.texts)[:4]
    ('rfpr', ['0.1', '0.2', '0.3', '0.4'])
    """
    paths = [Path.of(plane) for plane in planes]
    needed([p for p in paths if _seen(p).any()], "no plane has defined ratios")
    ax = ax or new_axes(6.4, trade_off_height(planes, 6.4))
    look = _dashed(planes)
    box = _box(planes, paths)
    drawn = apart(planes)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    ax.fill_between([box[0][0], 1], 1, box[1][1], color=COLOURS[2], alpha=0.13, linewidth=0)
    naive_line(ax, 1, vertical=True)
    naive_line(ax, 1, vertical=False)
    for k in drawn:
        _draw(ax, planes[k], paths[k], look[k], crossed=len(drawn) <= CROSSED)
    wide = width_of(ax)
    ratio_axis(ax.xaxis, box[0], 0.75 * wide)
    ratio_axis(ax.yaxis, box[1], 0.6 * wide)
    ax.set_xlabel("rfpr")
    ax.set_ylabel("rrecall")
    legend_below(ax, _handles(planes))
    finish(ax, grid="both")
    _write(ax, [planes[k] for k in drawn], [paths[k] for k in drawn])
    return finish(ax)


def names_of(planes: Sequence[Plane]) -> list[str]:
    """What tells each plane from the others: `new, direct`."""
    columns = [
        [plane.subset for plane in planes],
        [plane.collection for plane in planes],
        [plane.system for plane in planes],
        [plane.estimator.replace("_", " ") for plane in planes],
    ]
    told = [column for column in columns if len(set(column)) > 1] or [columns[3]]
    return [", ".join(filter(None, parts)) for parts in zip(*told, strict=True)]


def apart(planes: Sequence[Plane]) -> dict[int, list[int]]:
    """Places of the planes that are drawn, each with those of later ones on the very same curve.

    The corrected estimate is the direct one where every item has a label.
    """
    found: dict[int, list[int]] = {}
    for k, plane in enumerate(planes):
        same = next((first for first in found if _coincide(planes[first], plane)), None)
        if same is None:
            found[k] = []
        else:
            found[same].append(k)
    return found


def _coincide(a: Plane, b: Plane) -> bool:
    """Whether curves lie on each other, with the same chosen thresholds."""
    marks = [[c.threshold for c in plane.chosen] for plane in (a, b)]
    return marks[0] == marks[1] and a.deployed == b.deployed and _one_curve(a, b)


def _one_curve(a: Plane, b: Plane) -> bool:
    """Whether curves lie on each other."""
    if a.thresholds != b.thresholds:
        return False
    one, other = Path.of(a), Path.of(b)
    pairs = ((one.rrecall, other.rrecall), (one.rfpr, other.rfpr))
    return all(np.allclose(*pair, rtol=SAME, equal_nan=True) for pair in pairs)


def looks_of(planes: Sequence[Plane]) -> Mapping[str, dict[str, Any]]:
    """Colour and marker by name; those of the estimator where only estimators differ."""
    names = names_of(planes)
    known = [e.replace("_", " ") for e in (*ESTIMATORS, TEST_SET)]
    return looks([*known, *names]) if {*names} <= {*known} else looks(names)


def _dashed(planes: Sequence[Plane]) -> list[Mapping[str, Any]]:
    """The look of each plane; dashed where it lies on an earlier one that stays to be seen."""
    look = looks_of(planes)
    found: list[Mapping[str, Any]] = []
    for k, (plane, name) in enumerate(zip(planes, names_of(planes), strict=True)):
        over = any(_one_curve(plane, other) for other in planes[:k])
        found.append({**look[name], "linestyle": OVER} if over else look[name])
    return found


def _seen(path: Path) -> npt.NDArray[np.bool_]:
    """Where both ratios have a logarithm."""
    with np.errstate(invalid="ignore"):
        return np.asarray((path.rrecall > 0) & (path.rfpr > 0))


def marked_places(plane: Plane, path: Path) -> list[tuple[int, bool]]:
    """The deployed threshold, and those that rules chose: place, and whether it is the former."""
    deployed = path.place(plane.deployed)
    chosen = dict.fromkeys(path.place(c.threshold) for c in plane.chosen)
    found = [] if deployed is None else [(deployed, True)]
    return found + [(at, False) for at in chosen if at is not None and at != deployed]


def shown_part(plane: Plane, path: Path) -> npt.NDArray[np.bool_]:
    """The part of the curve that is drawn: where the recall is not far below all that matters."""
    seen = _seen(path)
    marks = [at for at, _ in marked_places(plane, path)]
    least = DEEPEST * min([1.0, *path.rrecall[marks]])
    fewest = FEWEST * min([1.0, *path.rfpr[marks]])
    with np.errstate(invalid="ignore"):
        found = seen & (path.rrecall >= least) & (path.rfpr >= fewest)
    return found if found.any() else seen


def crosses_of(plane: Plane, path: Path) -> list[int]:
    """Places of further thresholds with a cross: about equally far apart along the curve."""
    shown = np.flatnonzero(shown_part(plane, path))
    if not len(shown):
        return []
    across, up = (np.log(values[shown]) for values in (path.rfpr, path.rrecall))
    steps = [np.abs(np.diff(v)) / (np.ptp(v) or 1.0) for v in (across, up)]
    way = np.append(0.0, np.cumsum(np.hypot(*steps)))
    wanted = np.linspace(0, way[-1], min(CROSSES, len(shown)))
    places = np.unique(np.abs(way[:, None] - wanted).argmin(axis=0))
    marks = np.isin(shown, [at for at, _ in marked_places(plane, path)])
    far = np.abs(way[:, None] - way[marks]) > NEAR * way[-1]
    return [int(shown[at]) for at in places if far[at].all()]


def _box(
    planes: Sequence[Plane], paths: Sequence[Path]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of both axes: curves, crosses of marked thresholds, and some of either side of 1."""
    across: list[float] = []
    up: list[float] = []
    for plane, path in zip(planes, paths, strict=True):
        shown = shown_part(plane, path)
        marked = [at for at, _ in marked_places(plane, path)]
        across += [*path.rfpr[shown], *path.rfpr_ends[:, marked].ravel()]
        up += [*path.rrecall[shown], *path.rrecall_ends[:, marked].ravel()]
    return _ends(across), _ends(up)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    logs = np.log([v for v in values if v > 0])
    low, high = min(float(logs.min()), 0.0), max(float(logs.max()), 0.0)
    room = (high - low) or 0.1
    return (
        math.exp(min(low - 0.1 * room, -0.15 * room)),
        math.exp(max(high + 0.1 * room, 0.15 * room)),
    )


def _draw(ax: Axes, plane: Plane, path: Path, look: Mapping[str, Any], *, crossed: bool) -> None:
    """The curve, its crosses and marks."""
    shown = shown_part(plane, path)
    line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.6}
    ax.plot(path.rfpr[shown], path.rrecall[shown], **line)
    marks = marked_places(plane, path)
    crosses = crosses_of(plane, path) if crossed else []
    for at in (*crosses, *(at for at, _ in marks)):
        for arm in path.arms(at):
            ax.plot(*arm, color=look["color"], linewidth=0.9, alpha=0.8)
    for at in crosses:
        _, x, y = path.point(at)
        ax.plot(x, y, look["marker"], color=look["color"], markersize=3.5)
    for at, deployed in marks:
        _, x, y = path.point(at)
        point(ax, x, y, dict(look), filled=deployed)


def _write(ax: Axes, planes: Sequence[Plane], paths: Sequence[Path]) -> None:
    """What the quadrants mean, and thresholds beside their marks, where there is room."""
    page = Page.of(ax)
    page.line([1, 1], ax.get_ylim())
    page.line(ax.get_xlim(), [1, 1])
    marked: list[Labelled] = []
    crossed: list[Labelled] = []
    for plane, path in zip(planes, paths, strict=True):
        shown = shown_part(plane, path)
        page.line(path.rfpr[shown], path.rrecall[shown])
        marks = [at for at, _ in marked_places(plane, path)]
        crosses = crosses_of(plane, path) if len(planes) <= CROSSED else []
        marked += [path.point(at) for at in marks]
        crossed += [path.point(at) for at in crosses]
        for at in (*marks, *crosses):
            page.line(*path.arms(at)[0])
            page.line(*path.arms(at)[1])
    for _, x, y in (*marked, *crossed):
        page.mark(x, y)
    page.in_quadrant(BOTH, right=False, top=True)
    if len(planes) <= CROSSED:
        _thresholds(page, marked, crossed)
    for (right, top), text in CORNERS.items():
        page.in_quadrant(text, right=right, top=top)


def _thresholds(page: Page, marked: Sequence[Labelled], crossed: Sequence[Labelled]) -> None:
    """Thresholds beside their marks: of marks that lie on each other one text.

    In ink: text in the colours of the curves is too pale in the dark.
    """
    for group in page.merged([x for _, x, _ in marked], [y for _, _, y in marked]):
        thresholds, x, y = zip(*(marked[k] for k in group), strict=True)
        text = ", ".join(dict.fromkeys(f"{threshold:.3g}" for threshold in thresholds))
        page.beside(text, x, y, leader=True)
    for at, across, up in crossed:
        page.beside(f"{at:.3g}", across, up)


def _handles(planes: Sequence[Plane]) -> list[Any]:
    look, names = _dashed(planes), names_of(planes)
    found = []
    for k, others in apart(planes).items():
        said = short(names[k], 34)
        if others:
            said += f"\n(the same: {', '.join(names[other] for other in others)})"
        found.append(line_handle(said, look[k]))
    marks = [m for p in planes for m in marked_places(p, Path.of(p))]
    if any(deployed for _, deployed in marks):
        found.append(mark_handle("deployed threshold", filled=True))
    if not all(deployed for _, deployed in marks):
        found.append(mark_handle("chosen threshold", filled=False))
    return [*found, one_handle()]


def trade_off_height(planes: Sequence[Plane], width: float = WIDE) -> float:
    """Height in inches that shows these planes at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(planes)]
    return min(width, 5.6) * 0.82 + legend_height(labels, width)
