"""Methods: what a way of making systems gives, told from runs of it.

A *system* is scored as it is. A *method* (Ferrer et al. 2024, section 4.2) is known from several
runs: each is a system trained with another seed, perhaps on another training set. Two estimates
tell of it:

- `run`: the replicates of all runs pooled; what one more run will give;
- `mean`: the mean over runs, with the runs resampled as an outer factor; what the method gives on
  average.

All runs are scored on the same test units with the same plan, so a replicate weighs the test units
of all runs alike. Run weights multiply the mean over runs, never the inside of a ratio. They are
keyed by the method: equal seeds do not pair methods, the test units do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np

from truecost.core.comparison import derived, refuse_apart
from truecost.core.factors import generator
from truecost.core.flags import raised
from truecost.core.intervals.auto import FEW_UNITS
from truecost.core.intervals.smooth import ONE_UNIT, ends, finite
from truecost.core.measure import difference as apart
from truecost.core.results import Comparison, Estimate
from truecost.core.runs import RunInterval, Runs, limits_of_mean, limits_of_one
from truecost.core.subsets import Floats, Ints
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError, counted
from truecost.names import Ends

Estimator = Literal["run", "mean"]
MOST_MET = 2_000_000  # differences of a run and a run: more take memory and make nothing surer
FEW_RUNS = FEW_UNITS  # runs are resampled as units are: too few make as narrow an interval


@dataclass(frozen=True)
class MethodEstimate:
    """Values of the runs of a method for one measure, and the estimates that summarise them.

    Attributes
    ----------
    runs : Runs
        Columns that distinguish the runs.
    members : tuple of Estimate
        Value of each run, in the order of ``runs``.
    run : Estimate
        Estimate for one new run of the method, with the interval in which its value is expected.
    mean : Estimate
        Estimate of the mean value of the method over all possible runs, with its interval.
    plan : Plan
        Number of replicates and seed.
    """

    runs: Runs
    members: tuple[Estimate, ...]
    run: Estimate
    mean: Estimate
    plan: Plan


def estimate_method(members: Sequence[Estimate], runs: Runs, plan: Plan) -> MethodEstimate:
    """Estimate the value of a method from the values of its runs, for one new run and for the mean
    over runs.

    With x_j the value of run j, J the number of runs, x_j^(r) the value of run j in replicate r,
    and v_j^(r) the weight of the run in replicate r:

    - The value of both estimates is the mean over runs, sum_j x_j / J. The naive baseline is the
      mean over runs, too.
    - The replicates of the estimate ``run`` are all x_j^(r).
    - The replicates of the estimate ``mean`` are sum_j v_j^(r) x_j^(r) / sum_j v_j^(r). A replicate
      is undefined if a run with a weight above 0 is undefined.

    The intervals with the method ``percentile`` are percentiles of these replicates. With the
    method ``auto``, the variation of the test and the variation of the runs are combined on the
    scale of the measure (:mod:`truecost.core.runs`). With a single run, both intervals are the
    interval of this run.

    Counts that differ between runs are averaged. The counts ``runs``, ``lowest_run`` and
    ``highest_run`` are added. The threshold is kept if all runs have the same threshold.

    Parameters
    ----------
    members : sequence of Estimate
        Value of each run, computed on the same trials with the same measure and plan.
    runs : Runs
        Columns that distinguish the runs, in the order of ``members``.
    plan : Plan
        Plan of the bootstrap with which ``members`` were computed; its seed also draws the weights
        of the runs.

    Raises
    ------
    UsageError
        If ``members`` have intervals by the method ``bca``.
    InputError
        If ``members`` differ in measure, trials or plan, or if their number is not the number of
        runs.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> plan = tc.Plan(500, seed=0)
    >>> scoring = tc.Scoring(measures=("total_error",), plan=plan)
    >>> labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    >>> members = []
    >>> for seed, error in enumerate((0.1, 0.15, 0.2)):
    ...     wrong = np.random.default_rng(seed).random(400) < error
    ...     decided = np.where(wrong, 1 - labels, labels)
    ...     trials = tc.Trials.from_arrays(decided, labels, kind="decision", unit=speakers)
    ...     members += tc.score_system(trials, scoring)
    >>> method = tc.estimate_method(members, tc.Runs("cnn", {"seed": ("1", "2", "3")}), plan)
    >>> print("one run:", method.run)
    one run: total_error 15% [4%, 63%]
    >>> print("mean:   ", method.mean)
    mean:    total_error 15% [8%, 32%]
    """
    _check(members, runs, plan)
    # In the order of the levels: the result does not depend on the order of the files.
    order = sorted(range(len(runs)), key=lambda j: [column[j] for column in runs.levels.values()])
    levels = {name: tuple(column[j] for j in order) for name, column in runs.levels.items()}
    runs = replace(runs, levels=levels)
    members = [members[j] for j in order]
    drawn = np.array([e.replicates for e in members])  # (runs, replicates)
    sizes = {runs.key(name): size for name, size in runs.sizes.items() if size > 1}
    outer = {runs.key(name): size for name, size in runs.varied.items()}
    return MethodEstimate(
        runs,
        tuple(members),
        _summary(members, runs, "run", drawn.ravel(), sizes),
        _summary(members, runs, "mean", weighted_mean(drawn, runs.weights(plan)), outer),
        plan,
    )


def weighted_mean(drawn: Floats, weights: Floats) -> Floats:
    """Mean over runs in each replicate, from values (runs, replicates) and weights (replicates,
    runs). A run with the weight 0 does not count even when undefined; NaN where a run with a weight
    is undefined, or all weights are 0.
    """
    seen = weights.T
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(seen > 0, seen * drawn, 0.0).sum(axis=0) / seen.sum(axis=0)
    return found


def _check(members: Sequence[Estimate], runs: Runs, plan: Plan) -> None:
    """Refuse estimates of anything but the runs of one method."""
    refuse_bca(members[0].method if members else "percentile")
    if len(members) != len(runs):
        raise InputError(
            f"method {runs.method!r} has {counted(len(runs), 'run')} but "
            f"{counted(len(members), 'estimate')}: one for each is needed"
        )
    for other in members[1:]:
        refuse_apart(members[0], other, "these are not runs of a method on the same test")
    made = members[0].resampling
    if not {f"replicates:{plan.replicates}", f"seed:{plan.seed}"} <= set(made.split("|")):
        raise InputError(
            f"the estimates were made with another plan ({made}) than the {plan.replicates} "
            f"replicates with seed {plan.seed} given: give the plan that they were made with"
        )


def refuse_bca(method: Ends) -> None:
    """Refuse bca intervals for methods: UsageError."""
    if method == "bca":
        raise UsageError(
            "bca intervals are not defined for methods, whose replicates come from several "
            "runs: use --method auto or percentile"
        )


def _summary(
    members: Sequence[Estimate],
    runs: Runs,
    estimator: Estimator,
    replicates: Floats,
    sizes: Mapping[str, int],
) -> Estimate:
    """An estimate of a method; `sizes`: number of levels of each run factor that varied."""
    first = members[0]
    point = float(np.mean([e.point for e in members]))
    told = _ends(members, runs, estimator, point, replicates)
    lower, upper, reason = told.lower, told.upper, told.reason
    if len(members) > 1 and reason and np.isnan(point):
        reason = next((e.reason for e in members if np.isnan(e.point)), reason)
    tests = first.units_by_factor or dict.fromkeys(first.factors, first.n_units)
    few = len(runs) if estimator == "run" else min(sizes.values(), default=FEW_RUNS)
    undefined = int(np.isnan(replicates).sum())
    found = raised(
        crossed=estimator == "mean" and len(tests) + len(sizes) > 1 and bool(sizes),
        few_runs=len(runs) == 1 or few < FEW_RUNS,
        no_spread=lower is not None and lower == upper,
        undefined_replicates=undefined > 0,
    )
    flags = [f for e in members for f in e.flags if f not in ("no_spread", "undefined_replicates")]
    thresholds = {e.threshold for e in members}
    naive = [e.naive for e in members]
    return msgspec.structs.replace(
        first,
        dims={**first.dims, "system": runs.method, "estimator": estimator},
        point=point,
        value=finite(point),
        lower=lower,
        upper=upper,
        naive=None if None in naive else float(np.mean([r or 0.0 for r in naive])),
        factors=(*first.factors, *sizes),
        units_by_factor={**tests, **sizes} if len(tests) + len(sizes) > 1 else {},
        counts=_counts(members),
        threshold=thresholds.pop() if len(thresholds) == 1 else None,
        n_replicates=len(replicates),
        n_undefined=undefined,
        reason=reason,
        flags=tuple(dict.fromkeys([*flags, *found])),
        signature=f"{_manner(estimator, runs)}|{first.signature}",
        replicates=replicates,
        support=None,
        counted="",
        left_out=told.left_out,
        resampling=f"{first.resampling}|{_manner(estimator, runs)}",
    )


def _ends(
    members: Sequence[Estimate], runs: Runs, estimator: Estimator, point: float, replicates: Floats
) -> RunInterval:
    """The interval by the method of the members; none when the test has one unit, however many
    runs.
    """
    member = members[0]
    sizes = member.units_by_factor.values() or [member.n_units]
    if member.method == "auto" and np.isfinite(point):
        told = (limits_of_mean if estimator == "mean" else limits_of_one)(members, runs)
    else:
        told = RunInterval(*ends(replicates, member.level, "percentile", point), ())
    if member.factors and max(sizes) < 2 and told.reason is None:
        return RunInterval(None, None, ONE_UNIT, ())
    return told


def _manner(estimator: Estimator, *methods: Runs) -> str:
    """A text for the signature: the estimator, the runs, and the way in which they were drawn."""
    words = [f"estimator:{estimator}", f"runs:{'+'.join(str(len(runs)) for runs in methods)}"]
    if estimator == "mean":
        outer = [runs.key(name) for runs in methods for name in runs.varied]
        outer = [*dict.fromkeys(outer)]
        held = [*dict.fromkeys(runs.key(name) for runs in methods for name in runs.hold)]
        words += [f"outer:{'+'.join(outer)}"] if outer else []
        words += [f"held:{'+'.join(held)}"] if held else []
    return "|".join(words)


def _counts(members: Sequence[Estimate]) -> dict[str, float]:
    """Counts of a run, on average, and the range of the runs' values (Ferrer et al. 2024, section
    4.2).
    """
    found: dict[str, float] = {}
    for name in dict.fromkeys(n for e in members for n in e.counts):
        seen = [e.counts.get(name, 0) for e in members]
        found[name] = seen[0] if len(set(seen)) == 1 else float(np.mean(seen))
    points = [e.point for e in members]
    found["runs"] = len(members)
    if np.isfinite(points).all():
        found |= {"lowest_run": min(points), "highest_run": max(points)}
    return found


def compare_methods(
    system: MethodEstimate, baseline: MethodEstimate, estimator: Estimator = "mean"
) -> Comparison:
    """Compare two methods for one measure: their difference and ratio, with intervals.

    A bootstrap replicate gives the test units the same weights for both methods. The runs of the
    methods are drawn independently, because equal seeds do not make runs of different methods
    comparable (Ferrer et al. 2024, section 4.2). Training sets that both methods share get the same
    draw.

    With the method ``auto``, the limits of the difference are computed as in
    :func:`truecost.compare`, from the variation of the test data and of the runs of both methods;
    percentiles are used only from 20 units and 20 runs of each method on.

    Parameters
    ----------
    system, baseline : MethodEstimate
        Methods to compare; the difference is ``system`` minus ``baseline``.
    estimator : {"mean", "run"}
        ``mean`` compares the means of the methods over their runs. ``run`` compares a run of one
        method with a run of the other: the replicates of all pairs of runs are pooled. If this
        gives more than two million differences, a random part of the pairs is used, and each run is
        in equally many pairs. ``n_replicates`` of the result is the number of differences.

    Raises
    ------
    InputError
        If the methods have the same name, or differ in measure, trials or plan.
    """
    refuse_apart(
        system.members[0], baseline.members[0], "these are not two methods on the same test"
    )
    if system.plan != baseline.plan or system.runs.method == baseline.runs.method:
        raise InputError(
            f"{system.runs.method} and {baseline.runs.method} cannot be compared: two methods "
            f"of different names, scored with the same plan, are needed"
        )
    left: Estimate = getattr(system, estimator)
    right: Estimate = getattr(baseline, estimator)
    pair = (left, _drawn_apart(system, baseline)) if estimator == "mean" else _met(system, baseline)
    test = system.members[0]
    said = _manner(estimator, system.runs, baseline.runs)
    units = {**left.units_by_factor, **right.units_by_factor}
    factors = tuple(dict.fromkeys([*left.factors, *right.factors]))

    def named(found: Estimate) -> Estimate:
        """The estimate with the run factors of both methods."""
        return msgspec.structs.replace(
            found,
            factors=factors,
            units_by_factor=units,
            signature=f"paired {found.kind}|{said}|{test.signature}",
            resampling=f"{test.resampling}|{said}",
        )

    difference = derived("difference", apart, *pair)
    return Comparison(left, right, named(difference), named(derived("ratio", np.divide, *pair)))


def _drawn_apart(system: MethodEstimate, baseline: MethodEstimate) -> Estimate:
    """The mean of the baseline, whose training sets are paired with equal ones of the system."""
    mine, theirs = ({*m.runs.levels.get(m.runs.sets, ())} for m in (system, baseline))
    if mine == theirs:
        return baseline.mean
    name = baseline.runs.sets
    left = (
        replace(one, factor=f"{name} of {baseline.runs.method}") if one.factor == name else one
        for one in baseline.mean.left_out
    )
    return msgspec.structs.replace(baseline.mean, left_out=tuple(left))


def _met(system: MethodEstimate, baseline: MethodEstimate) -> tuple[Estimate, Estimate]:
    """Replicates of two methods, laid out so that each run of one meets runs of the other."""
    left, right = _pairs(system, baseline)

    def laid(found: MethodEstimate, rows: Ints) -> Estimate:
        drawn = np.array([e.replicates for e in found.members])
        return msgspec.structs.replace(found.run, replicates=drawn[rows].ravel())

    return laid(system, left), laid(baseline, right)


def _pairs(system: MethodEstimate, baseline: MethodEstimate) -> tuple[Ints, Ints]:
    """The pairs of a run of one method and a run of the other: all of them, or as many as fit into
    memory.

    The pairs do not follow run numbers, which are in order of training set and seed. They are drawn
    in shuffled rounds: each round has every run of the method with more runs once, and the runs of
    the other as equally often as possible.
    """
    runs = len(system.runs), len(baseline.runs)
    larger = max(runs)
    rounds = max(1, MOST_MET // (larger * system.plan.replicates))
    if rounds >= min(runs):
        left, right = np.divmod(np.arange(runs[0] * runs[1]), runs[1])
        return left, right
    about = (*(m.runs.method for m in (system, baseline)), str(system.plan.seed))
    random = generator("truecost pairs of runs", *about)
    dealt = [[random.permutation(n)[np.arange(larger) % n] for n in runs] for _ in range(rounds)]
    left, right = np.hstack(dealt)
    return left, right
