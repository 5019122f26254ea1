"""From ratios over a grid of thresholds to the chosen one: rows, and the plane that is stored.

The interval of the ratio that a rule makes best is too narrow unless the choice is part of what is
resampled (it covered .78 in place of .95 when frozen): each replicate chooses its own. The ratio
that the rule limits is another matter: every replicate that chooses keeps to the limit, so its
interval would end there whatever is true (it held the true rFPR in 40 % of 300 deployments). It is
that of the threshold that the data chose, in every replicate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.core.estimates import Setting
from truecost.core.flags import raised
from truecost.core.intervals import finite
from truecost.core.measure import Values
from truecost.core.results import Estimate
from truecost.tasks.abba.describing import By, Chosen, Plane, Rule, improving
from truecost.tasks.measures import find

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ends = tuple[float, float]
OPEN = "the upper end is infinite: there are too few labels to bound it"
FEW_CHOOSE = "no interval: fewer than half of the replicates have such a threshold"


@dataclass(frozen=True, eq=False)
class Curve:
    """One ratio over a grid of thresholds.

    Attributes
    ----------
    point : ndarray, shape (thresholds,)
    drawn : ndarray, shape (replicates, thresholds)
    below, above : ndarray, shape (replicates, thresholds)
        Replicates for the lower and the upper ends of intervals: those drawn, unless cells have few
        labels.
    widened, small, broken : ndarray of bool, shape (thresholds,)
        Where cells have few labels, where they have few items of the label, and where too many
        replicates are undefined or infinite.
    rescue : callable, optional
        From the place of a threshold to the ends of the interval of the delta method.
    union : bool
        Whether that interval is never narrower than the one of the replicates.
    """

    point: Array
    drawn: Array
    below: Array
    above: Array
    widened: npt.NDArray[np.bool_]
    small: npt.NDArray[np.bool_]
    broken: npt.NDArray[np.bool_]
    rescue: Callable[[int], Ends] | None = None
    union: bool = False

    @staticmethod
    def plain(point: Array, drawn: Array) -> "Curve":
        """A ratio whose replicates tell its intervals."""
        nowhere = np.zeros(len(point), bool)
        return Curve(point, drawn, drawn, drawn, nowhere, nowhere, nowhere)

    def ends(self, tails: Ends) -> tuple[Floats, Floats]:
        """Pointwise ends of the interval at each threshold, NaN where it is undefined.

        Parameters
        ----------
        tails : tuple of float
            Shares of the replicates below them.

        Returns
        -------
        lower, upper : ndarray of float64, shape (thresholds,)
        """
        lower, upper = _quantile(self.below, tails[0]), _quantile(self.above, tails[1])
        for k in np.flatnonzero(self.small | self.broken):
            lower[k], upper[k] = self.rescued(int(k), (lower[k], upper[k]), union=self.union)
        return lower, upper

    def rescued(self, k: int, ends: Ends, *, union: bool) -> Ends:
        """The ends of the delta method where the replicates cannot be trusted."""
        weak = self.small[k] or self.broken[k]
        if not weak or self.rescue is None or not np.isfinite(self.point[k]):
            return ends
        lower, upper = self.rescue(k)
        if union:
            lower, upper = np.fmin(lower, ends[0]), np.fmax(upper, ends[1])
        return float(np.fmin(lower, self.point[k])), float(np.fmax(upper, self.point[k]))


def _quantile(values: Array, tail: float) -> Floats:
    """Quantile of each column that most replicates define; NaN for the others."""
    known = np.isfinite(values)
    enough = known.mean(axis=0) > 0.5
    found = np.full(values.shape[1], np.nan)
    if enough.any():
        some = np.where(known, values, np.nan)[:, enough]
        found[enough] = np.nanquantile(some, tail, axis=0)
    return found


@dataclass(frozen=True, eq=False)
class Choosing:
    """From curves over a grid to rows and a plane.

    Attributes
    ----------
    grid : ndarray, shape (thresholds,)
    by : {"point", "upper"}
    curves : mapping of str to Curve
        `rrecall` and `rfpr`.
    setting : Setting
        What rows share.
    flags : tuple of str
        Of every row.
    """

    grid: Floats
    rules: tuple[Rule, ...]
    by: By
    curves: Mapping[str, Curve]
    setting: Setting
    flags: tuple[str, ...] = ()
    _ends: dict[str, tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)

    @property
    def tails(self) -> Ends:
        """Shares of the replicates below the ends of an interval."""
        return (1 - self.setting.level) / 2, (1 + self.setting.level) / 2

    def bounds(self, name: str) -> tuple[Floats, Floats]:
        """Pointwise ends of a ratio at each threshold."""
        if name not in self._ends:
            self._ends[name] = self.curves[name].ends(self.tails)
        return self._ends[name]

    @cached_property
    def chosen(self) -> dict[str, tuple[int, Array]]:
        """By rule the place of the threshold at the point, and in each replicate; -1 for none."""
        return {str(rule): self._places(rule) for rule in self.rules}

    def _places(self, rule: Rule) -> tuple[int, Array]:
        recall, fpr = (self.curves[name] for name in ("rrecall", "rfpr"))
        if self.by == "point":
            at = rule.chosen(recall.point, fpr.point)
            return int(at), rule.chosen(recall.drawn, fpr.drawn)
        limited = self.curves[rule.limits]
        bound = self.bounds(rule.limits)[rule.limits == "rfpr"]
        at = rule.bounded(recall.point, fpr.point, bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The bound keeps its distance from the value, as a factor; where there is no value to
            # be multiplied, the bound itself stays.
            moved = np.where(limited.point > 0, limited.drawn * (bound / limited.point), bound)
        return int(at), rule.bounded(recall.drawn, fpr.drawn, moved)

    def rows(self) -> list[Estimate]:
        """`rrecall` and `rfpr` at the threshold of each rule."""
        return [self._row(rule, name) for rule in self.rules for name in self.curves]

    def _row(self, rule: Rule, name: str) -> Estimate:
        at, places = self.chosen[str(rule)]
        curve = self.curves[name]
        if rule.limits == name:
            places = np.full_like(places, at)
        one, none = np.ones(1), places < 0

        def taken(replicates: Array) -> Floats:
            values = replicates[np.arange(len(places)), places]
            return np.where(none, np.nan, values)

        drawn = taken(curve.drawn)
        measure = replace(
            find(name, "abba"),
            parameter=f"{rule}{',by=upper' if self.by == 'upper' else ''}",
            undefined=self._nothing(rule),
        )
        row = self.setting.row(
            measure,
            Values(curve.point[[at]] if at >= 0 else np.array([np.nan]), one, {}),
            Values(drawn, np.ones(len(drawn)), {}),
            (),
        )
        if at < 0:
            return row
        lower, upper = (
            _quantile(taken(side)[:, None], tail)[0]
            for side, tail in zip((curve.below, curve.above), self.tails, strict=True)
        )
        # A choice that every replicate repeats varies more than the delta method knows.
        union = curve.union or rule.limits != name
        ends = curve.rescued(at, (lower, upper), union=union)
        return self._finished(row, rule, at, curve, ends)

    def _nothing(self, rule: Rule) -> str:
        """Why no threshold is chosen."""
        kept = self.curves[rule.limits].point
        keeps = kept <= rule.limit if rule.limits == "rfpr" else kept >= rule.limit
        if not keeps.any():
            return f"no threshold of the grid has {rule}"
        [other] = [name for name in self.curves if name != rule.limits]
        return f"{other} is undefined at every threshold that has {rule}"

    def _finished(self, row: Estimate, rule: Rule, at: int, curve: Curve, ends: Ends) -> Estimate:
        """A row with its interval, its threshold, and where the replicates chose theirs."""
        chosen = self.summary(rule)
        places = {"threshold_lower": chosen.lower, "threshold_upper": chosen.upper}
        small, widened = bool(curve.small[at]), bool(curve.widened[at])
        broken = bool(curve.broken[at]) and not small
        reason = None
        if not np.isfinite(ends).all():
            reason = OPEN if np.isfinite(ends[0]) else FEW_CHOOSE
        weak = small or broken
        flags = [f for f in row.flags if not (weak and f == "no_spread")]
        own = raised(few_labels=widened, small_cells=small, broken_replicates=broken)
        return structs.replace(
            row,
            lower=finite(ends[0]),
            upper=finite(ends[1]),
            method="delta" if weak else row.method,
            reason=reason,
            threshold=chosen.threshold,
            counts={**row.counts, **{k: v for k, v in places.items() if v is not None}},
            flags=(*flags, *self.flags, *own),
        )

    def summary(self, rule: Rule) -> Chosen:
        """What a rule chose, and where the replicates did."""
        at, drawn = self.chosen[str(rule)]
        some = drawn[drawn >= 0]
        ends: list[float | None] = [None, None]
        if len(some):
            found = np.quantile(self.grid[some], self.tails, method="nearest")
            ends = [float(t) for t in found]
        highest = rule.limits == "rfpr"
        limited = self.curves[rule.limits].point
        if self.by == "upper":
            limited = self.bounds(rule.limits)[highest]
        # The lowest threshold accepts falsely the most, the highest recalls the least.
        kept = limited[0] <= rule.limit if highest else limited[-1] >= rule.limit
        return Chosen(
            rule=str(rule),
            threshold=float(self.grid[at]) if at >= 0 else None,
            lower=ends[0],
            upper=ends[1],
            feasible=float((drawn >= 0).mean()),
            binds=not kept,
        )

    def plane(self, deployed: float | None) -> Plane:
        """Both ratios over the grid, as they are stored."""
        dims = self.setting.context.dims
        found: dict[str, Any] = {}
        for name, curve in self.curves.items():
            lower, upper = self.bounds(name)
            found |= {name: _listed(curve.point)}
            found |= {f"{name}_lower": _listed(lower), f"{name}_upper": _listed(upper)}
        better = self.grid[improving(self.curves["rrecall"].point, self.curves["rfpr"].point)]
        return Plane(
            system=dims["system"],
            estimator=dims["estimator"],
            thresholds=tuple(self.grid.tolist()),
            **found,
            deployed=deployed,
            level=self.setting.level,
            better=() if len(better) == 0 else (float(better.min()), float(better.max())),
            chosen=tuple(map(self.summary, self.rules)),
            by=self.by,
            collection=dims.get("collection", ""),
            subset=dims.get("subset", ""),
        )


def _listed(values: Array) -> tuple[float | None, ...]:
    return tuple(finite(float(v)) for v in values)
