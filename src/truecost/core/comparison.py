"""Two systems on the same trials: the difference and the ratio, paired replicate by replicate."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from truecost.core.flags import raised
from truecost.core.intervals import smooth
from truecost.core.intervals.rates import Limits, arms, difference_limits, ratio_limits
from truecost.core.measure import difference
from truecost.core.results import Comparison, Estimate
from truecost.core.subsets import Floats, LeftOut
from truecost.errors import InputError

CARRIED, UNITS = 10, 20  # from which replicates tell how far a difference may be off
SHARED = (  # by estimates that are paired
    *("measure", "parameters", "factors", "n_units", "n_trials", "n_replicates"),
    *("level", "method", "icc", "subset", "resampling"),
)
ON_BOTH_SIDES = "no ratio: the baseline has replicates on both sides of 0"


class Paired(NamedTuple):
    """Ends of a paired difference or ratio, with the reason for a missing end.

    `carrying`: where two intervals were combined, the effective number of units in which the
    systems differ, or the number of units if they are fewer than 20.
    """

    lower: float | None
    upper: float | None
    reason: str | None = None
    carrying: float | None = None


def compare(system: Estimate, baseline: Estimate) -> Comparison:
    """Comparison of two systems by one measure: difference and ratio, paired replicate by
    replicate.

    Both estimates must be from the same trials and plan, so that each replicate has the same
    weights for both. The intervals have the method of the estimates. The difference or ratio is
    undefined in replicates in which it is not finite. There is no ratio if the value and the
    replicates of the baseline are on both sides of 0, because ratios to values near 0 are
    unlimited.

    Parameters
    ----------
    system, baseline : Estimate
        Estimates of the same measure.

    Returns
    -------
    Comparison
        Difference (system minus baseline) and ratio (system over baseline), with a verdict.

    Raises
    ------
    InputError
        If the estimates cannot be paired: measure, parameters, units, trials or plan differ.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.core.comparison import compare
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200, seed=0))
    >>> labels, speakers = np.arange(60) % 2, np.arange(60) // 2
    >>> guessed = np.arange(60) % 3 == 0
    >>> guess = tc.Trials.from_arrays(guessed, labels, kind="decision", unit=speakers)
    >>> better = tc.Trials.from_arrays(labels, labels, kind="decision", unit=speakers)
    >>> [old], [new] = tc.score_system(guess, scoring), tc.score_system(better, scoring)
    >>> comparison = compare(new, old)
    >>> print(comparison.difference, comparison.verdict)
    total_error -50 pp [-63, -33] pp better
    """
    refuse_apart(system, baseline, "the estimates cannot be paired")
    return Comparison(
        system,
        baseline,
        derived("difference", difference, system, baseline),
        derived("ratio", np.divide, system, baseline),
    )


def refuse_apart(one: Estimate, other: Estimate, fault: str) -> None:
    """Refuse estimates of different trials, or made in different ways: InputError."""
    for name in SHARED:
        a, b = (getattr(e, name, None) or e.dims.get(name) for e in (one, other))
        if a != b:
            raise InputError(
                f"{fault}: {name} is {a} against {b}; score all on the same trials with the same "
                f"options"
            )


def derived(
    kind: Literal["difference", "ratio"], operation: Any, system: Estimate, baseline: Estimate
) -> Estimate:
    """System against baseline by an operation (`difference` or `numpy.divide`), for the point and
    every replicate; infinite results are undefined.

    Replicates must correspond: `compare` checks this, other callers must. The result has the dims,
    factors and units of `system`, and the flags of both except `no_spread`.
    """

    def both(a: Any, b: Any) -> Floats:
        return _finite(operation, a, b)

    point = float(both(system.point, baseline.point))
    replicates = both(system.replicates, baseline.replicates)
    crossed = kind == "ratio" and _crosses(baseline)
    if crossed:
        point, replicates = float("nan"), np.full_like(replicates, np.nan)
    why = "one of the two is"
    if kind == "ratio" and baseline.point == 0:
        why = "the baseline is 0"
    elif crossed:
        why = ON_BOTH_SIDES
    left_out = paired(system, baseline, both)
    counts: dict[str, float] = {}
    if system.method == "auto" and np.isfinite(point) and left_out:
        found = paired_ends(kind, system, baseline, point, replicates)
        lower, upper, reason, _ = found
        counts = _hidden_by_width(found, point, replicates, system) if kind == "difference" else {}
    else:
        alone = left_out[0].values if system.method == "bca" and left_out else None
        lower, upper, reason = smooth.ends(
            replicates, system.level, system.method, point, alone, why
        )
    if reason is None and system.n_units < 2:
        lower, upper, reason = None, None, smooth.ONE_UNIT
    undefined = int(np.isnan(replicates).sum())
    # Whether it spreads is its own matter; systems that never differ have no spread to show.
    inherited = (flag for flag in (*system.flags, *baseline.flags) if flag != "no_spread")
    still = lower is not None and lower == upper and point != (kind == "ratio")
    flags = [
        *inherited,
        *raised(no_spread=still, undefined_replicates=undefined > 0 and not crossed),
        *raised(combined=bool(counts)),
    ]
    return msgspec.structs.replace(
        system,
        kind=kind,
        baseline=baseline.dims.get("system", "baseline"),
        point=point,
        value=smooth.finite(point),
        lower=lower,
        upper=upper,
        naive=None,
        shown_in=system.shown_in if kind == "difference" else "",
        counts=counts,
        rates=(),
        threshold=None,
        n_replicates=len(replicates),
        n_undefined=undefined,
        reason=reason,
        flags=tuple(dict.fromkeys(flags)),
        signature=f"paired {kind}|{system.signature}",
        replicates=replicates,
        left_out=left_out,
        support=None,
        counted="",
    )


def paired(system: Estimate, baseline: Estimate, both: Any) -> tuple[LeftOut, ...]:
    """The result of an operation on both systems, without each unit in turn. Leaving out a unit of
    a factor that one system lacks leaves that system unchanged.
    """
    found = []
    theirs = {one.factor: one for one in baseline.left_out}
    for one in system.left_out:
        other = theirs.pop(one.factor, None)
        values = both(one.values, baseline.point if other is None else other.values)
        smaller = one.kish if other is None else min(one.kish, other.kish)
        found.append(replace(one, made=values, kish=smaller))
    found += [replace(one, made=both(system.point, one.values)) for one in theirs.values()]
    return tuple(found)


def paired_ends(
    kind: Literal["difference", "ratio"],
    system: Estimate,
    baseline: Estimate,
    point: float,
    replicates: Floats,
) -> Paired:
    """Ends of a paired difference or ratio, and why one is missing.

    Percentiles of the replicates where at least 10 of at least 20 units effectively carry the
    difference; otherwise MOVER-R of the intervals of both, correlated as their values without
    single units are (Donner and Zou 2012), no further than the ends of the two intervals lie apart.
    Units in order of time take the t limits of their low frequencies.
    """
    level = system.level
    apart = paired(system, baseline, difference)
    found = smooth.spread(apart, float(difference(system.point, baseline.point)))
    if _are_one_system(system, baseline):
        return Paired(point, point)
    scale = "log" if kind == "ratio" else "identity"
    over = partial(_finite, np.divide)
    plain = smooth.smooth_limits(
        point, paired(system, baseline, over) if kind == "ratio" else apart,
        replicates, level, scale, system.direction,
    )  # fmt: skip
    if any(one.ordered for one in apart) and plain is not None:
        return Paired(*plain)
    classes = _class_differences(system, baseline)
    whole = 0.0 if found is None else found.carrying
    carrying, units = min([whole, *(one.carrying for _, one in classes)]), _fewest_units(apart)
    if carrying >= CARRIED and units >= UNITS:
        return Paired(*smooth.ends(replicates, level, "percentile", point))
    told = min(carrying, units)
    a, b = _limits(system), _limits(baseline)
    if kind == "difference" and len(classes) > 1:
        down, up = arms(*zip(*classes, strict=True))
        lower, upper = point - math.hypot(*down), point + math.hypot(*up)
        if a is not None and b is not None:
            lower = max(lower, min(point, a.lower - b.upper))
            upper = min(upper, max(point, a.upper - b.lower))
        return Paired(lower, upper, None, told)
    if a is None or b is None:
        why = system.reason if a is None else baseline.reason
        return Paired(None, None, why or "no interval: one of the two systems has no interval")
    if kind == "ratio" and min(a.lower, b.lower) < 0:
        if plain is None:
            return Paired(None, None, "no interval: the sign of the ratio depends on single units")
        return Paired(*plain)
    r = smooth.correlation(system.left_out, baseline.left_out)
    limits = difference_limits if kind == "difference" else ratio_limits
    lower, upper = limits(a, b, r)
    if np.isinf(upper):
        return Paired(lower, None, "the upper end is infinite")
    return Paired(lower, upper, None, told)


def _hidden_by_width(
    found: Paired, point: float, replicates: Floats, system: Estimate
) -> dict[str, float]:
    """Counts that explain a combined interval that includes 0 although the paired percentiles
    exclude it: the units in which the systems differ, and the paired percentiles; otherwise empty.
    """
    if found.carrying is None or found.lower is None or found.upper is None:
        return {}
    low, high, _ = smooth.ends(replicates, system.level, "percentile", point)
    if low is None or high is None or not found.lower <= 0 <= found.upper or low <= 0 <= high:
        return {}
    return {"carrying": found.carrying, "paired_lower": low, "paired_upper": high}


def _class_differences(system: Estimate, baseline: Estimate) -> list[tuple[float, Limits]]:
    """The difference of each rate that both figures add up, with its weight and the units that
    carry it.

    The limits are t limits where enough units carry the difference, and MOVER-R otherwise: a class
    in which the systems never differ is no better known than its errors.
    """
    ours, theirs = system.support, baseline.support
    if ours is None or theirs is None or not ours.weights or ours.weights != theirs.weights:
        return []
    found = []
    pairs = zip(ours.weights, ours.kinds, ours.limits, theirs.kinds, theirs.limits, strict=True)
    for weight, one, a, other, b in pairs:
        apart = _left_out_differences(one.every, other.every)
        value = a.value - b.value
        told = smooth.spread(apart, value)
        carrying = 0.0 if told is None else told.carrying
        limits = difference_limits(a, b, smooth.correlation(one.every, other.every))
        if carrying >= CARRIED and _fewest_units(apart) >= UNITS:
            t = smooth.smooth_limits(value, apart, np.zeros(0), system.level, "identity", "lower")
            limits = limits if t is None else t
        found.append((weight, Limits(value, *limits, carrying=carrying)))
    return found


def _left_out_differences(one: Sequence[LeftOut], other: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    """Differences of two rates, without each unit in turn."""
    return tuple(replace(a, made=a.values - b.values) for a, b in zip(one, other, strict=True))


def _are_one_system(system: Estimate, baseline: Estimate) -> bool:
    """Whether both replicates vary and come from the same counts: the two are one system."""
    return (
        system.point == baseline.point
        and bool(system.counted)
        and system.counted == baseline.counted
        and np.array_equal(system.replicates, baseline.replicates, equal_nan=True)
        and bool((system.replicates[np.isfinite(system.replicates)] != system.point).any())
    )


def _fewest_units(left: Sequence[LeftOut]) -> int:
    return min((one.units for one in left), default=0)


def _limits(estimate: Estimate) -> Limits | None:
    if estimate.lower is None or estimate.upper is None:
        return None
    return Limits(estimate.point, estimate.lower, estimate.upper)


def _finite(operation: Any, a: Any, b: Any) -> Floats:
    """The result of an operation on two figures; NaN where a figure or the result is not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
        found = operation(left, right)
    return np.where(np.isfinite(found) & np.isfinite(left) & np.isfinite(right), found, np.nan)


def _crosses(baseline: Estimate) -> bool:
    """Whether the value and the replicates of a baseline lie on both sides of 0."""
    found = np.append(baseline.replicates, baseline.point)
    return bool((found < 0).any() and (found > 0).any())
