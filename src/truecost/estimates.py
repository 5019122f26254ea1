"""Estimates: a value with its interval, naive reference, counts and signature.

`estimate` runs measures over the replicates of a plan; `compare` pairs two estimates that were made
with the same weights. Results are frozen. Intervals are percentile intervals by default (paper 003,
section 4); `bca` corrects bias and skewness for one factor (Efron 1987; DiCiccio and Efron 1996).
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truecost.application import Application
from truecost.errors import InputError, UsageError
from truecost.evidence import Evidence, totals
from truecost.intervals import interval
from truecost.measures.base import Measure
from truecost.names import Method
from truecost.results import Comparison, Estimate
from truecost.version import __version__
from truecost.weights import Plan, Weights

Floats = npt.NDArray[np.float64]
FEW_UNITS = 20  # below this a percentile interval covers too little (0.92 at 20, 0.83 at 6 units)
FEW_ERRORS = 10
JACKKNIFE_GROUPS = 500


@dataclass(frozen=True)
class Context:
    """What a task knows of its evidence and a row should say."""

    dims: dict[str, str] = field(default_factory=dict)
    n_trials: int = 0
    counts: dict[str, float] = field(default_factory=dict)
    signature: str = ""
    flags: tuple[str, ...] = ()
    thresholds: dict[str, float] = field(default_factory=dict)
    errors: float | None = None


def replicate(
    evidence: Evidence,
    measures: Sequence[Measure],
    application: Application,
    weights: Weights,
    jobs: int | None = None,
) -> list[tuple[Floats, Floats]]:
    """Values and references of each measure for every replicate.

    Blocks of replicates run in `jobs` threads (all cores by default); the result does not depend
    on their number.
    """

    def run(bounds: tuple[int, int]) -> list[tuple[Floats, Floats]]:
        seen = totals(evidence, weights.block(*bounds))
        return [measure(seen, application) for measure in measures]

    workers = jobs or os.cpu_count() or 1
    if workers == 1 or weights.count == 1:
        parts = [run(bounds) for bounds in weights.blocks()]
    else:
        _prepare(evidence)
        with ThreadPoolExecutor(workers) as pool:
            parts = list(pool.map(run, weights.blocks()))
    return [
        (
            np.concatenate([part[m][0] for part in parts]),
            np.concatenate([part[m][1] for part in parts]),
        )
        for m in range(len(measures))
    ]


def _prepare(evidence: Evidence) -> None:
    """Touch what threads would otherwise all compute: sorted histograms and knots."""
    from truecost.evidence import Ranking

    for part in evidence.parts.values():
        if isinstance(part, Ranking):
            _ = part.cut, part.histogram, part.knots


def estimate(
    evidence: Evidence,
    measures: Sequence[Measure],
    application: Application,
    plan: Plan | None = None,
    *,
    level: float = 0.95,
    method: Method = "percentile",
    context: Context | None = None,
    jobs: int | None = None,
) -> list[Estimate]:
    """The value of each measure with its interval.

    Parameters
    ----------
    evidence : Evidence
    measures : sequence of Measure
    application : Application
    plan : Plan, optional
        How units are resampled; 2,000 multinomial replicates with seed 0 by default.
    level : float
        Level of the intervals.
    method : {"percentile", "bca"}
    context : Context, optional
        Counts, names and signature from the task that made the evidence.
    jobs : int, optional
        Threads.

    Returns
    -------
    list of Estimate
        One for each measure.
    """
    plan, context = plan or Plan(), context or Context()
    if not 0 < level < 1:
        raise UsageError(
            f"level is {level:g}: it must lie between 0 and 1, such as 0.95"
            + (f" (did you mean {level / 100:g}?)" if 1 < level < 100 else "")
        )
    if method == "bca":
        _refuse_bca(evidence, plan)
    # The point first, in this thread: it also compiles what the threads will run.
    points = replicate(evidence, measures, application, Weights.ones(evidence.factors), 1)
    drawn = replicate(evidence, measures, application, plan.weights(evidence.factors), jobs)
    left_out: list[Floats | None] = [None] * len(measures)
    if method == "bca":
        left_out = [
            v for v, _ in replicate(evidence, measures, application, _jackknife(evidence), jobs)
        ]
    return [
        _assemble(
            m,
            application,
            plan,
            level,
            method,
            context,
            evidence,
            float(p[0][0]),
            float(p[1][0]),
            d[0],
            j,
        )
        for m, p, d, j in zip(measures, points, drawn, left_out, strict=True)
    ]


def _refuse_bca(evidence: Evidence, plan: Plan) -> None:
    sides = {p.slots.codes.shape[1] for p in evidence.parts.values()}
    if len(evidence.factors) > 1 or max(sides) > 1:
        raise UsageError(
            f"bca intervals are not defined for crossed factors "
            f"({', '.join(evidence.factors)}): a unit left out takes trials of the "
            f"others with it; use the percentile method"
        )
    if "blocks" in plan.schemes.values():
        raise UsageError(
            "bca intervals are not defined for moving blocks: units are not "
            "exchangeable; use the percentile method"
        )


def _jackknife(evidence: Evidence) -> Weights:
    (factor,) = evidence.factors.values()
    return Weights.leave_out(factor, JACKKNIFE_GROUPS if len(factor) > JACKKNIFE_GROUPS else None)


def _assemble(
    measure: Measure,
    application: Application,
    plan: Plan,
    level: float,
    method: Method,
    context: Context,
    evidence: Evidence,
    point: float,
    reference: float,
    replicates: Floats,
    left_out: Floats | None,
) -> Estimate:
    resampled = {n: f for n, f in evidence.factors.items() if n not in plan.hold}
    units = {name: len(factor) for name, factor in resampled.items()}
    parameters = _parameters(measure, application)
    undefined = int(np.isnan(replicates).sum())
    flags = list(context.flags)
    if units and min(units.values()) < FEW_UNITS:
        flags.append("few_units")
    if "decisions" in measure.parts and context.errors is not None and context.errors < FEW_ERRORS:
        flags.append("few_errors")
    if undefined:
        flags.append("undefined_replicates")
    lower, upper = interval(replicates, level, method, point, left_out)
    if np.isnan(lower) or np.isnan(point):
        lower = upper = float("nan")
    signature = "|".join(
        filter(
            None,
            [
                measure.label,
                *(f"{k}:{_compact(v)}" for k, v in parameters.items() if k != "variant"),
                context.signature,
                plan.describe(evidence.factors),
                f"{method}:{level:g}",
                f"truecost:{__version__}",
            ],
        )
    )
    return Estimate(
        measure=measure.name,
        parameters=parameters,
        dims=context.dims,
        point=point,
        value=_finite(point),
        lower=_finite(lower),
        upper=_finite(upper),
        level=level,
        method=method,
        reference=_finite(reference),
        direction=measure.direction,
        factors=tuple(units),
        n_units=min(units.values(), default=0),
        units_by_factor=units if len(units) > 1 else {},
        n_trials=context.n_trials,
        counts=context.counts,
        threshold=context.thresholds.get(measure.name),
        n_replicates=len(replicates),
        n_undefined=undefined,
        reason=_reason(point, upper),
        flags=tuple(flags),
        signature=signature,
        replicates=replicates,
        resampling=plan.describe(evidence.factors),
    )


def _parameters(measure: Measure, application: Application) -> dict[str, Any]:
    """What of the application enters this measure, and its own parameter."""
    said = application.describe()
    keep = {"preset"} if measure.uses else set()
    keep |= {"costs"} if "costs" in measure.uses else set()
    keep |= {"prior", "priors"} if "prior" in measure.uses else set()
    chosen = {key: value for key, value in said.items() if key in keep}
    if measure.parameter is not None:
        chosen["variant"] = measure.parameter
    return chosen  # `variant` is named by the label, so signatures leave it out


def _compact(value: Any) -> str:
    """A parameter for the signature: no quotes, whole numbers without a point."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{_compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_compact(v) for v in value) + "]"
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _reason(point: float, upper: float) -> str | None:
    if np.isnan(point):
        return "undefined: a class or a denominator that the measure needs has no weight"
    if np.isinf(point):
        return "infinite: a truth was given probability 0"
    if np.isnan(upper):
        return "no replicate defines the measure"
    return "the upper end is infinite" if np.isinf(upper) else None


def compare(system: Estimate, baseline: Estimate) -> Comparison:
    """Difference and ratio of two estimates of one measure, paired replicate by replicate.

    Both must come from the same trials, plan and measure, so that a replicate weighs the units of
    both alike; otherwise `InputError`.
    """
    for name, a, b in (
        ("measure", system.measure, baseline.measure),
        ("parameters", system.parameters, baseline.parameters),
        ("factors", system.factors, baseline.factors),
        ("number of units", system.n_units, baseline.n_units),
        ("number of trials", system.n_trials, baseline.n_trials),
        ("number of replicates", system.n_replicates, baseline.n_replicates),
        ("level", system.level, baseline.level),
        ("resampling", system.resampling, baseline.resampling),
    ):
        if a != b:
            raise InputError(
                f"the estimates cannot be paired: {name} is {a} against {b}; score "
                f"both on the same trials with the same options"
            )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = system.replicates / baseline.replicates
        ratio = float(np.float64(system.point) / np.float64(baseline.point))
        difference = _derived(
            "difference",
            system,
            baseline,
            system.point - baseline.point,
            system.replicates - baseline.replicates,
        )
    return Comparison(
        system, baseline, difference, _derived("ratio", system, baseline, ratio, ratios)
    )


def _derived(
    kind: Literal["difference", "ratio"],
    system: Estimate,
    baseline: Estimate,
    point: float,
    replicates: Floats,
) -> Estimate:
    replicates = np.where(np.isfinite(replicates), replicates, np.nan)
    lower, upper = interval(replicates, system.level)
    undefined = int(np.isnan(replicates).sum())
    flags = tuple(
        dict.fromkeys(
            [*system.flags, *baseline.flags, *(["undefined_replicates"] if undefined else [])]
        )
    )
    return Estimate(
        measure=system.measure,
        kind=kind,
        baseline=baseline.dims.get("system", "baseline"),
        parameters=system.parameters,
        dims=system.dims,
        point=point,
        value=_finite(point),
        lower=_finite(lower),
        upper=_finite(upper),
        level=system.level,
        method="percentile",
        reference=None,
        direction=system.direction,
        factors=system.factors,
        n_units=system.n_units,
        units_by_factor=system.units_by_factor,
        n_trials=system.n_trials,
        n_replicates=len(replicates),
        n_undefined=undefined,
        reason=None
        if np.isfinite(point)
        else "undefined: one of the two values is, or divides by 0",
        flags=flags,
        signature=f"paired {kind}|{system.signature}",
        replicates=replicates,
    )


def rows(estimates: Iterable[Estimate]) -> list[dict[str, Any]]:
    """JSON-ready rows."""
    return [e.row().to_dict() for e in estimates]
