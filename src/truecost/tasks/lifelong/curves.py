"""The pictures of systems across time that are curves: scores over test times and versions, under
the policies of users, against the cost of help (Prokopalo et al. 2020, Fig. 2 and 5).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from truecost.core.digits import figure
from truecost.errors import UsageError
from truecost.outputs.page import thinned
from truecost.pictures.picture import Axis, Kind, Mark, Picture, span
from truecost.pictures.rows import needed
from truecost.report.words import listed
from truecost.tasks.lifelong.descriptions import (
    Cell,
    Figure,
    LifelongDescription,
    PolicyCurve,
    PolicyFigure,
)

Found = LifelongDescription
POLICIES = 4  # that curves show
MOST = 30  # versions, times or points that have a mark of their own
MOST_AREAS = 8  # in a caption
LATER = "not yet seen"
DOTS: dict[bool, Kind] = {False: "dot", True: "hollow"}  # by whether it is still to come
ZERO = Figure(value=0.0)
COSTS = {
    "seconds": "seconds of a person's time",
    "words": "words entered",
    "actions": "actions of a person",
    "answers": "answers of a person",
    "cost": "cost of the help",
}
SEQUENCE = {"base": "before learning from it", "adapted": "after learning from it"}


def some_of(every: Sequence[Any], what: str) -> str:
    """A note that not all have a mark of their own."""
    return f" {MOST} of {len(every)} {what}; curves.parquet has all." if len(every) > MOST else ""


class _Curves:
    """The curves of a picture as they are added.

    `of`: whose figures they are. `word`: what a place along the axis is. `across`: what else is on
    the axis of scores: 0, unless others are given.
    """

    def __init__(self, of: Found, word: str, across: Sequence[Figure] = (ZERO,)) -> None:
        self.of, self.word, self.across = of, word, [*across]
        self.marks: list[Mark] = []

    def add(
        self,
        series: str,
        at: Sequence[float],
        names: Sequence[str],
        figures: Sequence[Figure],
        notes: Sequence[str] = (),
        end: float | None = None,
    ) -> None:
        """A line with its band and its dots; with an `end` steps, the last of which lasts to there.

        `notes`: what a dot rests on. What is still to come has hollow dots, and a dotted line.
        """
        y, low, high = np.array([(f.value, f.lower, f.upper) for f in figures], float).T
        x = band = np.array(at, float)
        later = np.array([isinstance(f, Cell) and not f.seen for f in figures])
        if end is not None:
            x, y = np.append(x, end), np.append(y, y[-1:])
            band, low, high = np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)
        self.marks.append(Mark(kind="band", x=band, lo=low, hi=high, series=series))
        if later.any():
            self.marks.append(Mark(kind="line", x=x, y=y, series=series, weak=True))
            y = np.where(later, np.nan, y)
        self.marks.append(Mark(kind="line", x=x, y=y, series=series, step=end is not None))
        self.across += figures
        for k in thinned(range(len(at)), MOST):
            said = f"{series}, {self.word} {names[k]}: {self.of.text_of(figures[k])}"
            known = (said, notes[k] if notes else "", LATER if later[k] else "")
            label, kind = "; ".join(filter(None, known)), DOTS[bool(later[k])]
            if (value := figures[k].value) is not None:
                self.marks.append(Mark(kind=kind, x=at[k], y=value, series=series, label=label))

    def picture(self, name: str, x: Axis, label: str, caption: str, **more: Any) -> Picture:
        """The picture of all curves."""
        ends = [v for f in self.across for v in (f.value, f.lower, f.upper) if v is not None]
        low, high = span(ends)
        low = low if min(ends, default=0.0) else 0.0
        return Picture(
            name=name,
            caption=caption.strip(),
            x=x,
            y=Axis(label=label, domain=(low, high), scale=self.of.scale),
            marks=tuple(self.marks),
            zoom=True,
            **more,
        )


def _named(
    label: str, names: Sequence[str], at: Sequence[float], ends: Sequence[float] = ()
) -> Axis:
    """An axis with names at places; numbers where the names are just these."""
    ticks = tuple(map(float, at))
    domain = (ends[0], ends[-1]) if ends else (ticks[0] - 0.3, ticks[-1] + 0.3)
    if all(name == f"{t:g}" for name, t in zip(names, ticks, strict=True)):
        whole = all(t == int(t) for t in ticks)
        return Axis(label=label, domain=domain, ticks=ticks if whole else ())
    return Axis(label=label, domain=domain, ticks=ticks, names=tuple(names))


def _edges(found: Found) -> list[float]:
    """The middles between test times, with as much at both ends."""
    at = np.array(found.at, float)
    half = np.diff(at) / 2 if len(at) > 1 else np.array([0.5])
    return [at[0] - half[0], *(at[:-1] + half[: len(at) - 1]), at[-1] + half[-1]]


def cells_of(found: Found, state: str) -> dict[tuple[str, str], Cell]:
    """Cells in a state by version and time; UsageError where there are none."""
    needed(found.cells, "no version was scored on a test time")
    known = dict.fromkeys(c.state for c in found.cells)
    if state not in known:
        raise UsageError(f"no cell is in the state {state!r}: draw one of {', '.join(known)}")
    return {(c.version, c.time): c for c in found.cells if c.state == state}


def _is_penalised(found: Found) -> bool:
    """Whether policies weigh scores with the penalty of the person's help."""
    return any(c.state == "penalised" for c in found.cells)


def _score(found: Found) -> str:
    return f"penalised {found.score}" if _is_penalised(found) else found.score


def newest_cells(found: Found) -> list[Cell]:
    """The cells of the last version in the order of the test times."""
    needed(found.versions, "there is no version")
    version = found.versions[-1]
    known = cells_of(found, "penalised" if _is_penalised(found) else "base")
    empty = (Cell(version=version, time=t, seen=False) for t in found.times)
    cells = [known.get((version, c.time), c) for c in empty]
    needed([c for c in cells if c.value is not None], f"version {version} has no score")
    return cells


def policy_times(found: Found, *, title: str = "") -> Picture:
    """Scores of the last version at each test time.

    Histograms above the picture show the weights of the user policies.

    Parameters
    ----------
    found : LifelongDescription
        Description of a system, as `tc.lifelong.describe` returns it.

    Raises
    ------
    UsageError
        If the last version has no score.
    """
    cells, count = newest_cells(found), len(found.versions)
    known = [p for p in found.policies[:POLICIES] if len(p.weights) == count]
    weights = {p.name: p.weights[-1] for p in known}
    shares = [", ".join(f"{n} {w[k]:.2g}" for n, w in weights.items()) for k in range(len(cells))]
    largest = max((w for of in weights.values() for w in of), default=0.0)
    caption = (
        f"Bars above: weights of the policies (the largest is {largest:.2g})." if weights else ""
    )
    curves, edges = _Curves(found, "test time"), _edges(found)
    curves.add(found.name, found.at, found.times, cells, [f"weight {s}" * bool(s) for s in shares])
    return curves.picture(
        "times",
        _named("test time", found.times, found.at, edges),
        f"{_score(found)} of version {found.versions[-1]}",
        caption + some_of(cells, "times have a dot"),
        title=title,
        key=(("hollow", LATER),) if not all(c.seen for c in cells) else (),
        strip=tuple((name, edges, np.append(w, 0.0)) for name, w in weights.items()),
    )


def by_version(policy: PolicyCurve, found: Found) -> dict[str, PolicyFigure]:
    """Figures of a policy by version; with the penalty if any."""
    for measure in ("penalised_score", "policy_score")[not _is_penalised(found) :]:
        own = {f.version: f for f in policy.figures if f.measure == measure}
        if any(f.value is not None for f in own.values()):
            return {v: own[v] for v in found.versions if v in own}
    return {}


def policy_versions(found: Found, *, title: str = "") -> Picture:
    """Score under each user policy, from version to version (Prokopalo et al. 2020, Eq. 2 and 3).

    A dotted line is the score of the initial version without learning, on the same test times. A
    part of this line that is far from the other scores is not shown.

    Parameters
    ----------
    found : LifelongDescription
        Description of a system, as `tc.lifelong.describe` returns it.

    Raises
    ------
    UsageError
        If no policy has a value for any version.
    """
    shown = {p.name: of for p in found.policies[:POLICIES] if (of := by_version(p, found))}
    names = [v for v in found.versions if any(v in of for of in shown.values())]
    needed(names, "no policy has a figure for any version")
    curves = _Curves(found, "version", ())
    for name, of in shown.items():
        at = [names.index(v) for v in of]
        naive = [Figure(value=f.naive) for f in of.values()]
        y = np.array([f.value for f in naive], float)
        curves.marks.append(Mark(kind="line", x=at, y=y, series=name, weak=True))
        notes = [f"initial version {found.text_of(f)}" * (f.value is not None) for f in naive]
        curves.add(name, at, [*of], [*of.values()], notes)
    curves.across += _near(curves.across, [f.naive for of in shown.values() for f in of.values()])
    x = _named("version", names, range(len(names)))
    return curves.picture(
        "versions", x, _score(found), some_of(names, "versions have a dot"), title=title
    )


def _near(shown: Sequence[Figure], others: Sequence[float | None]) -> list[Figure]:
    """Other figures that widen the axis of those shown by half its length, and no further."""
    low, high = span([v for f in shown for v in (f.value, f.lower, f.upper) if v is not None])
    most = (high - low) / 2
    return [Figure(value=v) for v in others if v is not None and low - most <= v <= high + most]


def lifelong_sequence(found: Found, *, beside: Sequence[Found] = (), title: str = "") -> Picture:
    """Score on each batch of the lifelong set (the data that the versions learn from), before and
    after the system adapted to this batch.

    Parameters
    ----------
    found : LifelongDescription
        Description of a system, as `tc.lifelong.describe` returns it.
    beside : sequence of LifelongDescription
        Systems whose pictures are shown side by side with this one; all have a common axis of
        scores.

    Raises
    ------
    UsageError
        If there are no scores on the lifelong set.
    """
    needed(found.stream, "the lifelong set was not scored")
    scored = {f.version for f in found.stream}
    names = [v for v in found.versions if v in scored]
    curves = _Curves(found, "version", [ZERO, *(f for d in beside for f in d.stream)])
    for state, series in SEQUENCE.items():
        of = {f.version: f for f in found.stream if f.state == state}
        if of:
            curves.add(series, [names.index(v) for v in of], [*of], [*of.values()])
    x = _named("version trained on the data", names, range(len(names)))
    label = f"{found.score} on the lifelong set"
    return curves.picture("sequence", x, label, some_of(names, "versions have a dot"), title=title)


def learning_curves(found: Sequence[Found], *, title: str = "") -> Picture:
    """Learning curves: score of each system against the cost of help, as step functions.

    The caption shows the area under each curve, divided by the range of costs (Prokopalo et al.
    2020, Fig. 2).

    Parameters
    ----------
    found : sequence of LifelongDescription
        Descriptions of systems with one score and one unit of cost, as `tc.lifelong.describe`
        returns them.

    Raises
    ------
    UsageError
        If there are no curves, or several scores or units of cost.
    """
    known = [(d, d.curve) for d in found if d.curve is not None and d.curve.points]
    needed(known, "no system has help at a known cost")
    first, cost = known[0][0], known[0][1].cost
    several = {"costs": {c.cost for _, c in known}, "scores": {d.score for d, _ in known}}
    for what, said in several.items():
        if len(said) > 1:
            raise UsageError(f"curves of several {what} ({', '.join(sorted(said))}): draw one")
    curves, areas = _Curves(first, cost), []
    for d, curve in known:
        at = [p.cost for p in curve.points]
        end = max(curve.maximum, at[-1])
        curves.add(d.name, at, [*map(figure, at)], curve.points, end=end)
        areas.append(f"{d.name} {d.text_of(curve.area)}")
    most = max((curve.points for _, curve in known), key=len)
    shown = listed(areas, MOST_AREAS)
    caption = f"Areas under the curves: {shown}.{some_of(most, 'points have a dot')}"
    end = max(curve.maximum for _, curve in known) or 1.0
    x = Axis(label=COSTS.get(cost, COSTS["cost"]), domain=(0.0, end))
    return curves.picture("learning", x, first.score, caption, title=title)
