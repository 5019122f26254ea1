"""The scope of the figure of a method, and the verdicts that single runs would have given.

An experimenter who trains each of two methods once compares two systems, and may take the interval
of that test for one of the methods. This module counts how often that interval alone would have
decided, and for which method, over all pairs of a run of one method and a run of the other (of one
training set, where both methods were trained on the same sets). Pairs with opposite verdicts cannot
both be right.
"""

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.core.comparison import paired_ends
from truecost.core.methods import Estimator, MethodEstimate
from truecost.core.replication import defined_quantiles
from truecost.core.results import MOST_UNDEFINED, Estimate
from truecost.core.subsets import Floats
from truecost.errors import counted


def shared_data(*methods: MethodEstimate) -> str:
    """The training data that the runs of each method share, in words; empty if not known.

    Where runs differ in more than the seed, their training data may differ.
    """
    if any(m.runs.sets in m.runs.varied for m in methods):
        return "the list that training sets are drawn from"
    varied = {name for m in methods for name, size in m.runs.sizes.items() if size > 1}
    return "training data" if varied <= {"seed"} else ""


def scope(found: MethodEstimate, estimator: Estimator = "mean") -> str:
    """The factors that varied and those held fixed, in words: one line without a full stop, the
    same for both estimators ("mean", "run") unless a column is held.
    """
    runs, test = found.runs, found.members[0]
    sampled = test.units_by_factor or dict.fromkeys(test.factors, test.n_units)
    units = [f"{name} ({size})" for name, size in sampled.items()]
    many = {name: size for name, size in runs.sizes.items() if size > 1}
    nested = runs.sets in runs.varied
    varied = runs.varied if estimator == "mean" and not nested else many
    held = [f"{name} ({size})" for name, size in runs.sizes.items() if name not in varied]
    data = shared_data(found)
    shared = f", such as {data}" if data else ""
    count = counted(len(runs), "run")
    head = {"mean": f", mean of {count}", "run": f", one run, from {count}"}[estimator]
    tests = [f"units of the test: {', '.join(units)}"] if units else []
    said = [
        runs.method + (head if runs.varied != many and not nested else f": {count}"),
        "varied: " + (", ".join([*(f"{n} ({s})" for n, s in varied.items()), *tests])),
        "held fixed: " + ", ".join([*held, f"all else that the runs share{shared}"]),
    ]
    if len(runs) == 1:
        said.append(f"one run does not show the variation over {' and '.join(runs.levels)}")
    return "; ".join(said)


class SingleRuns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="single runs"):
    """Numbers of verdicts that comparisons of single runs of two methods would give, for one
    measure.

    Attributes
    ----------
    system, against : str
        Names of the two methods.
    measure : str
        Name of the measure.
    dims : dict of str to str
        Further description of the values, such as their application.
    within : str
        Column of training sets, if both methods were trained on the same sets; only runs of the
        same set are paired. Empty otherwise.
    pairs : int
        Number of pairs: a run of ``system`` and a run of ``against``.
    better, worse : int
        Number of pairs in which ``system`` is better (or worse) and the interval of the difference
        excludes 0.
    inconclusive : int
        All other pairs: the interval contains 0 or does not contain the difference itself, or too
        few replicates are defined.
    level : float
        Confidence level of the intervals.
    """

    system: str
    against: str
    measure: str
    dims: dict[str, str] = {}
    within: str = ""
    pairs: int
    better: int
    worse: int
    inconclusive: int
    level: float


def single_runs(system: MethodEstimate, baseline: MethodEstimate) -> SingleRuns:
    """Compare every run of one method with every run of another, as if each method had been trained
    once.

    The interval of each pair is that of :func:`truecost.compare`: both runs are scored on the same
    test units, so the interval contains the variation of the test but not the variation of seeds
    and training sets. Contradicting verdicts of different pairs show how misleading one training
    can be.

    Parameters
    ----------
    system, baseline : MethodEstimate
        Methods to compare.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.core.claims import single_runs
    >>> plan = tc.Plan(200, seed=0)
    >>> scoring = tc.Scoring(measures=("total_error",), plan=plan)
    >>> labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    >>> def method(name, errors):
    ...     members = []
    ...     for seed, error in enumerate(errors):
    ...         wrong = np.random.default_rng([len(name), seed]).random(400) < error
    ...         decided = np.where(wrong, 1 - labels, labels)
    ...         trials = tc.Trials.from_arrays(decided, labels, kind="decision", unit=speakers)
    ...         members += tc.score_system(trials, scoring)
    ...     return tc.estimate_method(members, tc.Runs(name, {"seed": ("1", "2", "3")}), plan)
    >>> found = single_runs(method("new", (0.05, 0.2, 0.2)), method("before", (0.1, 0.2, 0.1)))
    >>> found.pairs, found.better, found.worse, found.inconclusive
    (9, 3, 4, 2)
    """
    first = system.members[0]
    sides = (0.5 - first.level / 2, 0.5 + first.level / 2)
    others = np.array([e.replicates for e in baseline.members])
    every = np.array(baseline.members, object)
    lower_is_better = first.direction == "lower"
    within = system.runs.sets if system.runs.sets == baseline.runs.sets else ""
    mine, their = (m.runs.levels.get(within, ("",) * len(m.runs)) for m in (system, baseline))
    pairs = low = high = 0
    for member, level in zip(system.members, mine, strict=True):
        same = np.array([other == level for other in their])
        met = others[same]
        pairs += len(met)
        apart = member.replicates - met
        finite = np.isfinite(apart)
        sure = finite.mean(axis=1) >= 1 - MOST_UNDEFINED
        drawn = np.where(finite, apart, np.nan)[sure]
        if first.method == "auto":
            ends = _paired(member, every[same][sure], drawn)
        else:
            ends = defined_quantiles(drawn.T, sides)
        value = member.point - np.array([e.point for e in every[same][sure]])
        inside = (ends[0] <= value) & (value <= ends[1])  # else it speaks for no side
        low += int(((ends[1] < 0) & inside).sum())
        high += int(((ends[0] > 0) & inside).sum())
    return SingleRuns(
        system=system.runs.method,
        against=baseline.runs.method,
        measure=first.label,
        dims={k: v for k, v in first.dims.items() if k not in ("system", "estimator")},
        within=within,
        pairs=pairs,
        better=low if lower_is_better else high,
        worse=high if lower_is_better else low,
        inconclusive=pairs - low - high,
        level=first.level,
    )


def _paired(member: Estimate, others: npt.NDArray[np.object_], drawn: Floats) -> Floats:
    """Ends of the difference of a run and each of others, (2, others); NaN for a missing end."""
    found = [
        paired_ends("difference", member, other, member.point - other.point, row)[:2]
        for other, row in zip(others, drawn, strict=True)
    ]
    return np.array(found, np.float64).reshape(-1, 2).T
