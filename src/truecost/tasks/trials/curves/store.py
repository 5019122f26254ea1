"""Curves as one table, `curves.parquet`, and back: a stored result draws the same page again.

Each row has `part` (collection and application, empty when there is one), `system` and `kind`:

- `det` (threshold, p_fa, p_miss), `band` (p_fa, p_miss, lower, upper), `det point` (name,
  threshold, p_fa, p_miss);
- `cost` (threshold, cost), `cost band` (threshold, cost, lower, upper), `cost point` (name,
  threshold, cost, unit), where the names `from` and `to` say what is shown, `cost step`
  (threshold, p_fa, p_miss: exact);
- `reliability` (said, seen), `reliability bin` (said, seen, lower, upper, trials), `reliability
  histogram` (said: where a column begins, share) and `reliability score` (name, actual, minimum,
  prior, unit).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from truecost.errors import InputError, first_five
from truecost.tasks.trials.curves.cost import CostCurve, cost_curves
from truecost.tasks.trials.curves.det import Curve, det_curves
from truecost.tasks.trials.curves.reliability import Reliability, reliabilities
from truecost.tasks.trials.records import Trials

if TYPE_CHECKING:
    from truecost.study import Outcome

FILE = "curves.parquet"
MEND = "run the study again"
BIN = tuple(f.name[4:] for f in fields(Reliability) if f.name.startswith("bin_"))  # columns
SCALES = ("llr", "posterior", "top")
# Fields of a curve by kind of row and column; each column says something in every row of the kind.
COLUMNS: dict[str, dict[str, str]] = {
    "det": {name: name for name in ("threshold", "p_fa", "p_miss")},
    "band": {"p_fa": "rates", "p_miss": "middle", "lower": "lower", "upper": "upper"},
    "cost": {name: name for name in ("threshold", "cost")},
    "cost band": {"threshold": "grid", "lower": "lower", "upper": "upper"},
    "cost step": {"threshold": "steps", "p_fa": "step_fa", "p_miss": "step_miss"},
    "reliability": {name: name for name in ("said", "seen")},
    "reliability bin": {name: f"bin_{name}" for name in BIN},
    "reliability histogram": {"said": "edges", "share": "counts"},
}
DET = ("name", "threshold", "p_fa", "p_miss")  # columns of points
COST = ("name", "threshold", "cost", "unit")
NUMBERS = {  # columns that say something in every row of a kind
    **{kind: tuple(columns) for kind, columns in COLUMNS.items()},
    "cost point": COST[1:3],
    "reliability score": ("actual", "minimum"),
}
Kinds = dict[str, pl.DataFrame]  # the rows of each kind
AnyCurve = Curve | CostCurve | Reliability
FAMILIES: dict[type[AnyCurve], dict[str, int]] = {  # kinds that belong together: their fewest rows
    Curve: {"det": 1, "band": 1, "det point": 0},
    CostCurve: {"cost": 1, "cost band": 1, "cost point": 2, "cost step": 1},
    Reliability: {
        "reliability": 1,
        "reliability bin": 1,
        "reliability histogram": 2,
        "reliability score": 1,
    },
}
TEXTS = ("part", "system", "kind", "name", "unit")
FLOATS = (*("threshold", "p_fa", "p_miss", "cost", *BIN), *("share", "actual", "minimum", "prior"))


def frame_of(curves: Sequence[AnyCurve], part: str = "") -> pl.DataFrame:
    """Points of several curves as one frame, in the format of `curves.parquet`.

    Parameters
    ----------
    curves : sequence of Curve, CostCurve or Reliability
        Curves to store.
    part : str
        Name of the collection and application; empty if there is only one of each.

    Returns
    -------
    polars.DataFrame
        One row for each point, with the columns `part`, `system`, `kind`, and the columns of each
        kind; columns of other kinds are null. Kinds: `det`, `band`, `det point`, `cost`, `cost
        band`, `cost point`, `cost step`, `reliability`, `reliability bin`, `reliability histogram`,
        `reliability score`.
    """
    schema = dict.fromkeys(TEXTS, pl.String()) | dict.fromkeys(FLOATS, pl.Float64())
    frames = [pl.DataFrame(schema=schema)]
    for curve in curves:
        for kind, columns in _rows(curve).items():
            named = pl.DataFrame({"part": part, "system": curve.system, "kind": kind, **columns})
            frames.append(
                named.cast({name: schema[name] for name in columns})  # empty columns have no type
            )
    return pl.concat(frames, how="diagonal")


def _rows(c: AnyCurve) -> dict[str, dict[str, Any]]:
    """The columns of each kind that a curve has."""
    found: dict[str, dict[str, Any]] = {
        kind: {name: getattr(c, field) for name, field in COLUMNS.get(kind, {}).items()}
        for kind in FAMILIES[type(c)]
    }
    if isinstance(c, Reliability):
        score: dict[str, Any] = {"actual": c.actual, "minimum": c.minimum, "prior": c.prior}
        score |= {"name": c.measure, "unit": c.scale}
        found["reliability score"] = {name: [value] for name, value in score.items()}
        found["reliability histogram"]["share"] = np.append(c.counts, np.nan)
    elif isinstance(c, CostCurve):
        points = {"actual": c.actual, "minimum": c.minimum}
        points |= {name: (end, np.nan) for name, end in zip(("from", "to"), c.shown, strict=True)}
        rows = [(name, *point, c.unit) for name, point in points.items() if point is not None]
        found["cost point"] = _by_column(COST, rows)
        found["cost band"]["cost"] = c.at(c.grid)
    else:
        ends = (("actual", c.actual_threshold, c.actual), ("minimum", None, c.minimum))
        kept = [(name, at, *(p or (None, None))) for name, at, p in ends if (at, p) != (None, None)]
        found["det point"] = _by_column(DET, kept)
    return found


def _by_column(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


@dataclass(frozen=True)
class Curves:
    """All curves of the systems of one part of an outcome.

    `part`: collection and application, where there are several.
    """

    det: tuple[Curve, ...]
    cost: tuple[CostCurve, ...]
    reliability: tuple[Reliability, ...]
    part: str = ""

    @property
    def all(self) -> tuple[AnyCurve, ...]:
        """All of them, by kind."""
        return (*self.det, *self.cost, *self.reliability)


def curves_of(part: Any, title: str = "") -> Curves:
    """All curves of the systems of a part of an outcome, or of anything that has systems.

    `part` has `systems` and `scoring`. Systems that a curve is not defined for are left out of it.
    """
    makers = (det_curves, cost_curves, reliabilities)
    return _joined((curves(part.systems, part.scoring) for curves in makers), title)


def _joined(made: Iterable[Iterable[Any]], part: str) -> Curves:
    det, cost, reliability = map(tuple, made)
    return Curves(det, cost, reliability, part)


def of_outcome(outcome: "Outcome") -> tuple[Curves, ...]:
    """The curves of each part of an outcome that has some."""
    found = (
        curves_of(part, part.title)
        for part in outcome.parts  # scores or decisions of trials have curves
        if all(isinstance(system, Trials) for system in part.systems)
    )
    return tuple(curves for curves in found if curves.all)


def frame_of_outcome(outcome: "Outcome") -> pl.DataFrame | None:
    """The content of `curves.parquet` holds of an outcome; None when there are no curves."""
    found = [frame_of(curves.all, curves.part) for curves in of_outcome(outcome)]
    return pl.concat(found) if found else None


def from_frame(frame: pl.DataFrame | None) -> tuple[Curves, ...]:
    """The curves of each part that a frame holds: what `of_outcome` gave.

    `frame`: as `frame_of_outcome` gives it; no curves when left out.
    """
    if frame is None:
        return ()
    _check(frame)
    makers = {next(iter(kinds)): of for of, kinds in FAMILIES.items()}
    every = frame.partition_by("part", "system", "kind", as_dict=True)
    systems: dict[tuple[str, str], Kinds] = {}
    for (part, system, kind), rows in every.items():
        systems.setdefault((part, system), {})[kind] = rows
    found: dict[str, dict[type[AnyCurve], list[Any]]] = {}
    for part, system, kind in every:
        if kind in makers:
            made = _curve(makers[kind], system, systems[part, system])
            found.setdefault(part, {of: [] for of in FAMILIES})[makers[kind]].append(made)
    return tuple(_joined(of.values(), part) for part, of in found.items())


def _check(frame: pl.DataFrame) -> None:
    """Refuse a table that lacks columns, or a curve that lacks rows: InputError."""
    wanted = dict.fromkeys(TEXTS, pl.String) | dict.fromkeys(FLOATS, pl.Float64)
    if lacking := [name for name in wanted if name not in frame.columns]:
        raise InputError(f"{FILE}: it has no column {first_five(lacking)}; {MEND}")
    other = [n for n, kind in wanted.items() if frame.schema[n] not in (kind, pl.Null)]
    if other:
        raise InputError(f"{FILE}: {first_five(other)} should be {wanted[other[0]]}; {MEND}")
    keys = frame.select("part", "system", "kind")
    if keys.null_count().sum_horizontal()[0]:
        raise InputError(f"{FILE}: rows without a part, a system or a kind; {MEND}")
    for kind, names in NUMBERS.items():
        gaps = frame.filter(kind=kind).select(names).null_count()
        if empty := [name for name in names if gaps[name][0]]:
            raise InputError(f"{FILE}: rows of {kind!r} without {first_five(empty)}; {MEND}")
    kinds: dict[tuple[str, str], dict[str, int]] = {}
    for part, system, kind, count in keys.group_by(keys.columns).len().iter_rows():
        kinds.setdefault((part, system), {})[kind] = count
    for (_, system), found in sorted(kinds.items()):
        families = (kinds for kinds in FAMILIES.values() if not found.keys().isdisjoint(kinds))
        for kind, least in (one for family in families for one in family.items()):
            if found.get(kind, 0) < least:
                raise InputError(f"{FILE}: {system} has too few rows of {kind!r}; {MEND}")
    _check_points(frame)


def _check_points(frame: pl.DataFrame) -> None:
    """Refuse curves whose points are damaged: InputError."""
    named = frame.filter(pl.col("kind").is_in(["cost point", "reliability score", "det point"]))
    points = named.group_by("part", "system", "kind", maintain_order=True).agg("name", "unit")
    costs = frame.filter(kind="cost").group_by("part", "system").agg(pl.col("threshold").last())
    last = {(part, system): threshold for part, system, threshold in costs.iter_rows()}
    for part, system, kind, names, units in points.iter_rows():
        wanted = {"from", "to"} if kind == "cost point" else set()
        lacks = wanted - set(names) or None in names
        doubled = len(names) != len(set(names)) or (kind == "reliability score" and len(names) > 1)
        scales = {"cost point": ("llr", "score"), "reliability score": SCALES}.get(kind)
        if kind == "cost point":  # beyond its last threshold a curve has no cost
            lacks = lacks or last[part, system] != np.inf
        if lacks or doubled or (scales and not set(units) <= set(scales)):
            raise InputError(f"{FILE}: {kind!r} of {system} is damaged; {MEND}")


def _points(rows: Kinds, kind: str, *names: str) -> dict[str, tuple[Any, ...]]:
    """The named columns of each named point; none where the kind is not there."""
    if kind not in rows:
        return {}
    return {row[0]: row[1:] for row in rows[kind].select("name", *names).iter_rows()}


def _curve(of: type[AnyCurve], system: str, rows: Kinds) -> AnyCurve:
    """A curve from its rows of each kind."""
    own: dict[str, Any] = {
        field: rows[kind][name].to_numpy().astype(np.float64)
        for kind in FAMILIES[of]
        for name, field in COLUMNS.get(kind, {}).items()
    }
    if of is Reliability:
        [score] = rows["reliability score"].iter_rows(named=True)
        own |= {name: score[name] for name in ("prior", "actual", "minimum")}
        own |= {"scale": score["unit"], "measure": score["name"], "counts": own["counts"][:-1]}
    elif of is CostCurve:
        points = _points(rows, "cost point", "threshold", "cost")
        own |= {name: points.get(name) for name in ("actual", "minimum")}
        own["shown"] = points["from"][0], points["to"][0]
        own["unit"] = rows["cost point"]["unit"][0]
    else:
        points = _points(rows, "det point", "p_fa", "p_miss", "threshold")
        for name in ("actual", "minimum"):
            *place, at = points.get(name, (None,) * 3)
            own[name] = None if place[0] is None else tuple(place)
            own.setdefault("actual_threshold", at)  # that of the first
    return of(system=system, **own)
