"""Curves as one table, `curves.parquet`, and back: a stored result draws the same page again.

Each row has `part` (collection and application, empty when there is one), `system` and `kind`:

- `det` (threshold, p_fa, p_miss), `band` (p_fa, p_miss, lower, upper), `det point` (name,
  threshold, p_fa, p_miss);
- `cost` (threshold, cost), `cost band` (threshold, cost, lower, upper), `cost point` (name,
  threshold, cost, unit), where the names `from` and `to` say what is shown;
- `reliability` (said, seen), `reliability bin` (said, seen, lower, upper, trials), `reliability
  histogram` (said: where a column begins, share) and `reliability score` (name, actual, minimum,
  prior, unit).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError, first_five
from truecost.report.curves.base import Floats
from truecost.report.curves.cost import CostCurve
from truecost.report.curves.det import Curve
from truecost.report.curves.reliability import Reliability

FILE = "curves.parquet"
MEND = "run the study again"
SCALES = ("llr", "posterior", "top")
FAMILIES: tuple[dict[str, int], ...] = (  # kinds that belong together, with their fewest rows
    {"det": 1, "band": 1},
    {"cost": 1, "cost band": 1, "cost point": 2},
    {
        "reliability": 1,
        "reliability bin": 1,
        "reliability histogram": 2,
        "reliability score": 1,
    },
)
NUMBERS = {  # columns that say something in every row of a kind
    "det": ("threshold", "p_fa", "p_miss"),
    "band": ("p_fa", "p_miss", "lower", "upper"),
    "cost": ("threshold", "cost"),
    "cost band": ("threshold", "lower", "upper"),
    "cost point": ("threshold", "cost"),
    "reliability": ("said", "seen"),
    "reliability bin": ("said", "seen", "lower", "upper", "trials"),
    "reliability histogram": ("said", "share"),
    "reliability score": ("actual", "minimum"),
}
AnyCurve = Curve | CostCurve | Reliability
TEXTS = ("part", "system", "kind", "name", "unit")
FLOATS = (
    *("threshold", "p_fa", "p_miss", "cost", "said", "seen", "lower", "upper", "trials", "share"),
    *("actual", "minimum", "prior"),
)


def frame_of(curves: Sequence[AnyCurve], part: str = "") -> pl.DataFrame:
    """Curves as one table: `part`, `system`, `kind`, and the columns of each kind.

    Parameters
    ----------
    part : str
        Collection and application, where there are several.

    Returns
    -------
    polars.DataFrame
        Kinds `det`, `band`, `det point`, `cost`, `cost band`, `cost point`, `reliability`,
        `reliability bin`, `reliability histogram` and `reliability score`; columns that a kind does
        not have are null.
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


def _rows(curve: AnyCurve) -> dict[str, dict[str, Any]]:
    """The columns of each kind that a curve has."""
    if isinstance(curve, Curve):
        return _of_det(curve)
    return _of_cost(curve) if isinstance(curve, CostCurve) else _of_reliability(curve)


def _of_det(c: Curve) -> dict[str, dict[str, Any]]:
    points = {"actual": (c.actual, c.actual_threshold), "minimum": (c.minimum, None)}
    kept = {k: v for k, v in points.items() if v != (None, None)}
    return {
        "det": {"threshold": c.threshold, "p_fa": c.p_fa, "p_miss": c.p_miss},
        "band": {"p_fa": c.rates, "p_miss": c.middle, "lower": c.lower, "upper": c.upper},
        "det point": {
            "name": list(kept),
            "threshold": [at for _, at in kept.values()],
            "p_fa": [None if p is None else p[0] for p, _ in kept.values()],
            "p_miss": [None if p is None else p[1] for p, _ in kept.values()],
        },
    }


def _of_cost(c: CostCurve) -> dict[str, dict[str, Any]]:
    points = {"actual": c.actual, "minimum": c.minimum}
    points |= {"from": (c.shown[0], np.nan), "to": (c.shown[1], np.nan)}
    kept = {name: p for name, p in points.items() if p is not None}
    return {
        "cost": {"threshold": c.threshold, "cost": c.cost},
        "cost band": {
            "threshold": c.grid,
            "cost": c.at(c.grid),
            "lower": c.lower,
            "upper": c.upper,
        },
        "cost point": {
            "name": list(kept),
            "threshold": [p[0] for p in kept.values()],
            "cost": [p[1] for p in kept.values()],
            "unit": [c.unit] * len(kept),
        },
    }


def _of_reliability(c: Reliability) -> dict[str, dict[str, Any]]:
    return {
        "reliability": {"said": c.said, "seen": c.seen},
        "reliability bin": {
            "said": c.bin_said,
            "seen": c.bin_seen,
            "lower": c.bin_lower,
            "upper": c.bin_upper,
            "trials": c.bin_trials,
        },
        "reliability histogram": {"said": c.edges, "share": np.append(c.counts, np.nan)},
        "reliability score": {
            "name": [c.measure],
            "actual": [c.actual],
            "minimum": [c.minimum],
            "prior": [c.prior],
            "unit": [c.scale],
        },
    }


def stored(frame: pl.DataFrame) -> dict[str, list[AnyCurve]]:
    """The curves of a table, by part, in the order in which they were stored.

    Parameters
    ----------
    frame : polars.DataFrame
        As `frame_of` gives it.

    Raises
    ------
    InputError
        When a column is missing or of another type, or rows that a curve needs.
    """
    _check(frame)
    makers: dict[str, Callable[[str, pl.DataFrame], AnyCurve]]
    makers = {"det": _to_det, "cost": _to_cost, "reliability score": _to_reliability}
    found: dict[str, list[AnyCurve]] = {}
    keys = ("part", "system", "kind")
    for part, system, kind in frame.select(keys).unique(maintain_order=True).iter_rows():
        if kind in makers:
            rows = frame.filter(part=part, system=system)
            found.setdefault(part, []).append(makers[kind](system, rows))
    return found


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
        for kind, least in _needed(found).items():
            if found.get(kind, 0) < least:
                raise InputError(f"{FILE}: {system} has too few rows of {kind!r}; {MEND}")
    _check_points(frame)


def _needed(found: Mapping[str, int]) -> dict[str, int]:
    """The fewest rows of each kind of the curves of which any row is there."""
    wanted: dict[str, int] = {}
    for family in FAMILIES:
        if not found.keys().isdisjoint(family):
            wanted |= family
    return wanted


def _check_points(frame: pl.DataFrame) -> None:
    """Refuse curves whose points are damaged: InputError."""
    named = frame.filter(pl.col("kind").is_in(["cost point", "reliability score", "det point"]))
    points = named.group_by("part", "system", "kind", maintain_order=True).agg("name", "unit")
    for part, system, kind, names, units in points.iter_rows():
        wanted = {"from", "to"} if kind == "cost point" else set()
        lacks = wanted - set(names) or None in names
        doubled = len(names) != len(set(names)) or (kind == "reliability score" and len(names) > 1)
        scales = {"cost point": ("llr", "score"), "reliability score": SCALES}.get(kind)
        if kind == "cost point":  # beyond its last threshold a curve has no cost
            last = frame.filter(part=part, system=system, kind="cost")["threshold"][-1]
            lacks = lacks or last != np.inf
        if lacks or doubled or (scales and not set(units) <= set(scales)):
            raise InputError(f"{FILE}: {kind!r} of {system} is damaged; {MEND}")


def _column(rows: pl.DataFrame, kind: str, name: str) -> Floats:
    return rows.filter(kind=kind)[name].to_numpy().astype(np.float64)


def _points(rows: pl.DataFrame, kind: str, *names: str) -> dict[str, tuple[Any, ...]]:
    """The named columns of each named point."""
    return {row[0]: row[1:] for row in rows.filter(kind=kind).select("name", *names).iter_rows()}


def _to_det(system: str, rows: pl.DataFrame) -> Curve:
    points = _points(rows, "det point", "p_fa", "p_miss", "threshold")
    actual, minimum = (points.get(name, (None,) * 3) for name in ("actual", "minimum"))
    return Curve(
        system=system,
        threshold=_column(rows, "det", "threshold"),
        p_miss=_column(rows, "det", "p_miss"),
        p_fa=_column(rows, "det", "p_fa"),
        rates=_column(rows, "band", "p_fa"),
        lower=_column(rows, "band", "lower"),
        middle=_column(rows, "band", "p_miss"),
        upper=_column(rows, "band", "upper"),
        actual=None if actual[0] is None else (actual[0], actual[1]),
        minimum=None if minimum[0] is None else (minimum[0], minimum[1]),
        actual_threshold=actual[2],
    )


def _to_cost(system: str, rows: pl.DataFrame) -> CostCurve:
    points = _points(rows, "cost point", "threshold", "cost")
    return CostCurve(
        system=system,
        unit=rows.filter(kind="cost point")["unit"][0],
        threshold=_column(rows, "cost", "threshold"),
        cost=_column(rows, "cost", "cost"),
        grid=_column(rows, "cost band", "threshold"),
        lower=_column(rows, "cost band", "lower"),
        upper=_column(rows, "cost band", "upper"),
        actual=points.get("actual"),
        minimum=points.get("minimum"),
        shown=(points["from"][0], points["to"][0]),
    )


def _to_reliability(system: str, rows: pl.DataFrame) -> Reliability:
    [score] = rows.filter(kind="reliability score").iter_rows(named=True)
    bins = "reliability bin"
    return Reliability(
        system=system,
        scale=score["unit"],
        prior=score["prior"],
        said=_column(rows, "reliability", "said"),
        seen=_column(rows, "reliability", "seen"),
        bin_said=_column(rows, bins, "said"),
        bin_seen=_column(rows, bins, "seen"),
        bin_lower=_column(rows, bins, "lower"),
        bin_upper=_column(rows, bins, "upper"),
        bin_trials=_column(rows, bins, "trials"),
        edges=_column(rows, "reliability histogram", "said"),
        counts=_column(rows, "reliability histogram", "share")[:-1],
        measure=score["name"],
        actual=score["actual"],
        minimum=score["minimum"],
    )
