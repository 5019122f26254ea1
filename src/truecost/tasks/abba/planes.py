"""The pictures of AB/BA over the thresholds of the candidate: trade-off plane, both ratios."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.digits import between, figure, uncertain
from truecost.outputs.page import thinned
from truecost.pictures.picture import Axis, Kind, Mark, Picture, span
from truecost.pictures.rows import needed
from truecost.pictures.tables import Table, without_empty_columns
from truecost.report.section import joined
from truecost.report.words import listed, rule_words
from truecost.tasks.abba.describing import Chosen, Plane
from truecost.tasks.abba.options import RATIOS

BOTH_RATIOS = ("rrecall", "interval of rrecall", "rfpr", "interval of rfpr")
BY_THRESHOLD = ("threshold of B", *BOTH_RATIOS, "use")
ONE = "no change"
MARKED: dict[Kind, str] = {"dot": "deployed", "hollow": "chosen"}
CROSSES = 8  # thresholds that have a cross
CROSSED = 2  # of more curves only the deployed and the chosen thresholds have one
NEAR = 0.05  # of the curve: no cross so near to a deployed or chosen threshold
DEEPEST = 0.8  # of the least recall that matters, below which a curve is not drawn
FEWEST = 0.2  # the same of false accepts
LOWEST, HIGHEST = 0.05, 20.0  # ratios that are drawn
DIGITS = 9  # curves that agree to so many lie on each other
MOST_THRESHOLDS = 20  # rows of a table of them


class Path:
    """A plane as arrays over its thresholds, NaN where undefined."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.thresholds = np.array(plane.thresholds, float)
        self.ratio = {name: np.array(getattr(plane, name), float) for name in RATIOS}
        self.ends = {
            name: np.array([getattr(plane, name + end) for end in ("_lower", "_upper")], float)
            for name in RATIOS
        }
        with np.errstate(invalid="ignore"):
            self.defined = (self.ratio["rrecall"] > 0) & (self.ratio["rfpr"] > 0)

    def place(self, threshold: float | None) -> int | None:
        """The position of a threshold in the grid, if both ratios have a logarithm there."""
        if threshold is None or threshold not in self.thresholds:
            return None
        at = int(np.searchsorted(self.thresholds, threshold))
        return at if self.defined[at] else None

    @property
    def marked(self) -> dict[int, str]:
        """Places of the deployed threshold and of those that rules chose: what they are."""
        found = {self.place(self.plane.deployed): "deployed"}
        for chosen in self.plane.chosen:
            found.setdefault(self.place(chosen.threshold), rule_words(chosen.rule, self.plane.by))
        return {at: said for at, said in found.items() if at is not None}

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        """The part of the curve that is drawn: recall not far below all that matters."""
        marks = [*self.marked]
        least = DEEPEST * min([1.0, *self.ratio["rrecall"][marks]])
        fewest = FEWEST * min([1.0, *self.ratio["rfpr"][marks]])
        with np.errstate(invalid="ignore"):
            high = (self.ratio["rrecall"] >= least) & (self.ratio["rfpr"] >= fewest)
        return self.defined & high if (self.defined & high).any() else self.defined

    def crosses(self, count: int) -> list[int]:
        """Places of further thresholds with a cross, about equally far apart along the curve."""
        shown = np.flatnonzero(self.shown)
        if not len(shown):
            return []
        logs = [np.log(self.ratio[name][shown]) for name in RATIOS]
        steps = [np.abs(np.diff(v)) / (np.ptp(v) or 1.0) for v in logs]
        way = np.append(0.0, np.cumsum(np.hypot(*steps)))
        wanted = np.linspace(0, way[-1], min(count, len(shown)))
        places = np.unique(np.abs(way[:, None] - wanted).argmin(axis=0))
        far = np.abs(way[:, None] - way[np.isin(shown, [*self.marked])]) > NEAR * way[-1]
        return [int(shown[at]) for at in places if far[at].all()]

    def figures(self, at: int, name: str) -> tuple[str, str]:
        """A ratio of a place with its interval."""
        return uncertain(*(getattr(self.plane, name + end)[at] for end in ("", "_lower", "_upper")))

    def words(self, at: int, *names: str) -> str:
        """Threshold and ratios of a place."""
        said = (" ".join((name, *self.figures(at, name))).strip() for name in names or RATIOS)
        return f"threshold {self.thresholds[at]:.4g}: {', '.join(said)}"

    def row(self, at: int) -> tuple[str, ...]:
        """The figures as cells of a table."""
        value = self.thresholds[at]
        cells = (text for name in RATIOS for text in self.figures(at, name))
        kinds = ["deployed"] if value == self.plane.deployed else []
        kinds += [
            rule_words(c.rule, self.plane.by) for c in self.plane.chosen if c.threshold == value
        ]
        return f"{value:.4g}", *cells, joined(*kinds)


def trade_off(planes: Sequence[Plane], *, title: str = "") -> Picture:
    """Trade-off of candidate B: relative recall against relative false-positive rate, one curve
    over the thresholds of B.

    Both axes are logarithmic. The area where both ratios improve is shaded. A filled dot is the
    deployed threshold, a hollow dot a chosen threshold; crosses show the intervals of both ratios.
    With one or two curves, other thresholds have crosses, too. Of identical curves, only the first
    is drawn, and the legend names the others.

    Parameters
    ----------
    planes : sequence of Plane
        Planes (the second result of `tc.abba.choose`), of one or several deployments; one curve for
        each.

    Raises
    ------
    UsageError
        If there are no planes, or no ratio is defined.
    """
    paths = [Path(plane) for plane in planes]
    needed([p for p in paths if p.defined.any()], "no plane has defined ratios")
    names, drawn = names_of(planes), _distinct(paths)
    across, up = (_box(paths, name) for name in ("rfpr", "rrecall"))
    left = np.array([across[0], 1.0])
    marks = [
        Mark(kind="band", x=left, lo=np.ones(2), hi=np.full(2, up[1])),
        Mark(kind="rule", x=1.0, text=ONE),
        Mark(kind="rule", y=1.0),
    ]
    for k, others in drawn.items():
        same = f" (the same: {', '.join(names[other] for other in others)})" if others else ""
        crosses = paths[k].crosses(CROSSES // len(drawn)) if len(drawn) <= CROSSED else []
        marks += _curve(paths[k], names[k] + same, crosses)
    key: list[tuple[Kind, str]] = [("band", "both improve")]
    marked = [(p.thresholds[at], what) for p in paths for at, what in p.marked.items()]
    for kind, word in MARKED.items():
        own = (t for t, what in marked if (what == "deployed") == (kind == "dot"))
        if found := dict.fromkeys(map(figure, own)):
            key.append((kind, f"{word} threshold: {listed([*found], 4)}"))
    chosen = [(p, c.threshold) for p in paths for c in p.plane.chosen if c.threshold is not None]
    lost = any(path.place(at) is None for path, at in chosen)
    return Picture(
        name="plane",
        title=title,
        caption="A chosen threshold with a ratio of 0 is not drawn." if lost else "",
        x=Axis(label="rfpr, B over A; fewer false accepts to the left", kind="log", domain=across),
        y=Axis(label="rrecall, B over A; more recall upwards", kind="log", domain=up),
        marks=tuple(marks),
        key=tuple(key),
        square=True,
        zoom=True,
    )


def _curve(path: Path, name: str, crosses: Sequence[int]) -> list[Mark]:
    """The curve with its crosses and marks."""
    x, y = path.ratio["rfpr"], path.ratio["rrecall"]
    marks = [Mark(kind="line", x=x[path.shown], y=y[path.shown], series=name)]
    for at in (*crosses, *path.marked):
        for own, ratio in (({"y": y[at]}, "rfpr"), ({"x": x[at]}, "rrecall")):
            low, high = path.ends[ratio][:, at]
            if np.isfinite([low, high]).all():
                marks.append(Mark(kind="interval", lo=low, hi=high, series=name, **own))
    for at in (*crosses, *path.marked):
        what = path.marked.get(at, "")
        said = joined(name, what, path.words(at))
        kind: Kind = "dot" if what in ("", "deployed") else "hollow"
        how: dict[str, Any] = {"series": name, "label": said, "size": 1.0 if what else 0.3}
        marks.append(Mark(kind=kind, x=x[at], y=y[at], **how))
    return marks


def names_of(planes: Sequence[Plane]) -> list[str]:
    """The names that distinguish planes: `new, direct`."""
    columns = [[getattr(plane, n) for plane in planes] for n in ("subset", "collection", "system")]
    columns.append([plane.estimator.replace("_", " ") for plane in planes])
    return [*map(joined, *told_apart(columns, columns[3]))]


def told_apart(columns: Sequence[list[str]], otherwise: list[str]) -> list[list[str]]:
    """The columns of names that differ between rows; `otherwise` where none does."""
    return [column for column in columns if len({*column}) > 1] or [otherwise]


def _distinct(paths: Sequence[Path]) -> dict[int, list[int]]:
    """Places of the planes that are drawn, each with those of later ones on the very same curve
    with the same marks. The corrected estimate is the direct one where every item has a label.
    """
    found: dict[Any, list[int]] = {}
    for k, path in enumerate(paths):
        plane, ratios = path.plane, (np.round(path.ratio[name], DIGITS) for name in RATIOS)
        chosen = tuple(c.threshold for c in plane.chosen)
        key = (plane.thresholds, plane.deployed, chosen, *(r.tobytes() for r in ratios))
        found.setdefault(key, []).append(k)
    return {first: others for first, *others in found.values()}


def _box(paths: Sequence[Path], name: str) -> tuple[float, float]:
    """Ends of an axis: curves, crosses of marked thresholds, and 1."""
    found = [path.ratio[name][path.shown] for path in paths]
    found += [path.ends[name][:, [*path.marked]].ravel() for path in paths]
    return span([1.0, *found], kind="log", pad=0.1)


def ratios_by_threshold(plane: Plane, *, title: str = "") -> Picture:
    """Relative recall and relative false-positive rate of candidate B against its threshold, with
    pointwise intervals.

    Vertical lines are the deployed threshold and the chosen thresholds. The pale bar of a chosen
    threshold is the range of thresholds chosen in the bootstrap replicates. Horizontal lines are
    limits for the choice of a threshold.

    Parameters
    ----------
    plane : Plane
        One plane from the second result of `tc.abba.choose`.

    Raises
    ------
    UsageError
        If no ratio is defined.
    """
    path = Path(plane)
    across = _across(path)
    up = _up(path, across)
    marks = [Mark(kind="rule", y=1.0), *(m for c in plane.chosen for m in _chosen(path, c))]
    none = (rule_words(c.rule, plane.by) for c in plane.chosen if c.threshold is None)
    key: list[tuple[Kind, str]]
    key = [("rule", f"no threshold has {said.partition(' with ')[2]}") for said in none]
    if any(m.kind == "gap" for m in marks):
        key.append(("gap", "thresholds that replicates choose"))
    if plane.deployed is not None:
        marks.append(Mark(kind="rule", x=plane.deployed, text="deployed"))
    for name in RATIOS:
        lo, hi = (np.clip(end, *up) for end in path.ends[name])
        value = np.clip(path.ratio[name], up[0], None)
        marks.append(Mark(kind="band", x=path.thresholds, lo=lo, hi=hi, series=name))
        marks.append(Mark(kind="line", x=path.thresholds, y=value, series=name))
    for at, what in path.marked.items():
        for name in RATIOS:
            label = joined(what, path.words(at, name))
            kind: Kind = "dot" if what == "deployed" else "hollow"
            x, y = path.thresholds[at], path.ratio[name][at]
            marks.append(Mark(kind=kind, x=x, y=y, series=name, label=label))
    return Picture(
        name="ratios-by-threshold",
        title=title,
        x=Axis(label="threshold of B", domain=across),
        y=Axis(label="B over A; 1 is no change", kind="log", domain=up),
        marks=tuple(marks),
        key=tuple(key),
        table=_thresholds(path),
        zoom=True,
    )


def _up(path: Path, across: tuple[float, float]) -> tuple[float, float]:
    """Ratios that are drawn: the curves, and bands and limits as far as they matter."""
    seen = (path.thresholds >= across[0]) & (path.thresholds <= across[1])
    values = np.concatenate([path.ratio[name][seen] for name in RATIOS])
    values = values[np.isfinite(values) & (values > 0)]
    needed(values.tolist(), "no ratio is defined")
    bands = np.concatenate([path.ends[name][:, seen].ravel() for name in RATIOS])
    bands = np.append(bands, [c.limit for c in path.plane.chosen])
    bands = bands[(bands > 0.7 * values.min()) & (bands < 1.4 * values.max())]
    return span([np.clip([1.0, *values, *bands], LOWEST, HIGHEST)], kind="log", pad=0.06)


def _across(path: Path) -> tuple[float, float]:
    """Thresholds that are drawn: those that matter, and where replicates choose theirs."""
    ends = [c.upper for c in path.plane.chosen]
    return span([path.thresholds[0], *path.thresholds[path.shown], *ends], pad=0.02)


def _chosen(path: Path, chosen: Chosen) -> Iterator[Mark]:
    """A rule: its limit, the threshold that it chooses, and where replicates choose theirs."""
    said, limit = rule_words(chosen.rule, path.plane.by), chosen.limit
    sign = "\u2264" if chosen.limits == "rfpr" else "\u2265"  # at most, at least
    if limit != 1:
        yield Mark(kind="rule", y=limit, text=f"{sign} {limit:g}", label=said)
    if chosen.threshold is None:
        return
    text = f"{figure(chosen.threshold)} ({chosen.limits} {sign} {limit:g})"
    label = f"{said}: threshold {figure(chosen.threshold)} {between(chosen.lower, chosen.upper)}"
    yield Mark(kind="rule", x=chosen.threshold, text=text, label=label.strip())
    at = path.place(chosen.threshold)
    if at is not None and chosen.lower is not None and chosen.upper is not None:
        y, low, high = path.ratio[chosen.limits][at], chosen.lower, chosen.upper
        yield Mark(kind="gap", y=y, lo=low, hi=high, label=label)


def _thresholds(path: Path) -> Table:
    """Some twenty thresholds with both ratios (Table 5 of Petegrosso et al. 2022)."""
    plane = path.plane
    wanted = {plane.deployed, *plane.better, *(c.threshold for c in plane.chosen)}
    places = {k for k, t in enumerate(plane.thresholds) if t in wanted}
    even = thinned(range(len(plane.thresholds)), MOST_THRESHOLDS - len(places))
    cells = [path.row(k) for k in sorted({*places, *even})]
    return without_empty_columns("Ratios by threshold", BY_THRESHOLD, cells)
