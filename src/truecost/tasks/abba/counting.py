"""From collected items to evidence: totals by cell, resampled by user.

Users are drawn within their arm; one that stands in both arms has one weight for both. Where the
number of units of each arm is known, units of which nothing was accepted are drawn too (rows of
zeros), so that totals vary as they do in the world; where it is not, weights are Poisson, which
lets them vary as well. Multinomial weights over the logged items alone would freeze the totals.

Where every item is a unit of its own, equal rows are one unit of some size. Weights and machine
scores make nearly every row another one: beyond `MOST_GROUPS` different rows those of a cell and
label are grouped by them, each group at its mean, which keeps every total (the variance inside a
group is lost: 0.2% of the width at `LEAST_BINS`, which large grids need, nothing to be seen
otherwise). The draws do not depend on the measures asked for: a log with machine scores is grouped
by them for every estimator.

The delta method linearises what is counted: Var log r = sum over units u of (influence of u)^2,
with influence = sum over the statistics of u of d log r / d statistic. The derivatives are taken
numerically from the measure itself, so that every estimator has its variance without a formula of
its own. With every item its own unit it is the textbook one: direct
1/n11A - 1/(n11A + n10A) + 1/n11B - 1/(n11B + n01B) (docs/errata.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence, totals
from truecost.core.factors import Factor, encode
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import UsageError, the_columns
from truecost.tasks.abba.measures import Lean, Sums
from truecost.tasks.abba.records import ARMS, Array, Deployment, Ints, Mask

MOST_GROUPS = 4096  # different rows that are kept as they are; 2,000 replicates take 0.1 s
LEAST_BINS, MOST_BINS = 8, 256  # of the machine scores of a cell and label
OTHER = ("accepts", "rejects")
STEP = 1e-5  # of the size of a sum: central differences are right to some ten digits
ENOUGH = 100  # labels of a cell
WIDENING = np.array([[1.0, -1.0], [-1.0, 1.0]])  # residuals that raise rRecall, by arm and other
HALF = 0.5  # pseudo-counts of either label in a cell
Axes = Mapping[str, tuple[Sequence[str], Array]]
Parts = dict[str, dict[str, Array]]  # statistics of each row by part


def plan_of(deployment: Deployment, plan: Plan) -> Plan:
    """The resampling plan of a deployment: Poisson weights unless the number of units is known."""
    if plan.scheme == "blocks":
        raise UsageError("moving blocks need items in time order: AB/BA draws users within arms")
    known = deployment.traffic.units is not None or deployment.traffic.users is not None
    return plan if known else replace(plan, scheme="poisson")


def evidence_of(
    deployment: Deployment,
    plan: Plan,
    accepts: Axes | None = None,
    *,
    machine: bool = True,
    timed: bool = False,
) -> Evidence:
    """The parts `collected`, `machine` and `traffic`, as far as the deployment has them.

    The plan is as `plan_of` gives it. `accepts` are axes, labels with the code of each item, in
    place of the axis other; `machine` says whether machine scores are counted, `timed` whether the
    seconds of the labels are (`labelling`).
    """
    d = deployment
    known, weights = d.labelled, d.label_weights
    labelled = np.where(known, weights, 0.0)
    positive = np.where(known, weights * d.label, 0.0)
    if (weights == 1).all():
        labelled, positive = known.astype(np.int64), positive.astype(np.int64)
    negative = np.where(known & (d.label == 0), labelled, 0)
    parts: Parts = {
        "collected": {
            "items": np.ones(len(d), np.int64),
            "labels": known.astype(np.int64),
            "labelled": labelled,
            "positive": positive,
            "negative": negative,
        }
    }
    if labelled.dtype.kind == "f":  # unequal weights count as fewer labels
        true = (known & (d.label == 1)).astype(np.int64)
        parts["collected"] |= {"squares": labelled**2, "true": true}
    if machine and d.machine is not None:
        parts["machine"] = {"all": d.machine, "known": labelled * d.machine}
    fine = [x for x in (weights, d.machine) if x is not None]
    if timed and d.seconds is not None:
        measured = known & np.isfinite(d.seconds)
        seconds = np.where(measured, d.seconds, 0.0)
        parts["labelling"] = {"seconds": seconds, "timed": measured.astype(np.float64)}
        fine.append(np.where(measured, seconds, -1.0))
    state = np.where(known, d.label, 2).astype(np.int64)
    evidence = _counted(d, plan, parts, _axes(d, accepts), state, fine)
    [factor] = evidence.factors.values()
    if d.traffic.exposures is None:
        return evidence
    return Evidence({**evidence.parts, "traffic": _traffic(d, factor)})


def evidence_of_column(deployment: Deployment, plan: Plan, name: str) -> Evidence:
    """The parts `collected` (items alone) and `columns`, for the mean of a numeric column."""
    values = _numbers(deployment, name)
    one = np.ones(len(deployment), np.int64)
    parts: Parts = {"collected": {"items": one}, "columns": {name: values}}
    return _counted(deployment, plan, parts, _axes(deployment, None), np.zeros_like(one), [values])


def _axes(d: Deployment, accepts: Axes | None) -> dict[str, tuple[Sequence[str], Array]]:
    """The axis arm, and either other or those that were given."""
    other: Axes = {"other": (OTHER, (~d.other).astype(np.int64))}
    return {"arm": (ARMS, d.arm.astype(np.int64)), **(accepts or other)}


def _numbers(deployment: Deployment, name: str) -> Array:
    """A numeric column of the log, every cell filled."""
    from truecost.formats import Table

    columns = deployment.frame.columns
    if name not in columns:
        raise UsageError(
            f"{deployment.name}: there is no column {name!r} for rmean; {the_columns(columns)}"
        )
    values = Table(deployment.name, deployment.frame).numbers(name, "rmean")
    if not np.isfinite(values).all():
        raise UsageError(f"{deployment.name}: column {name!r} has empty or infinite cells")
    return values


def _counted(
    d: Deployment, plan: Plan, parts: Parts, axes: Axes, state: Ints, fine: Sequence[Array]
) -> Evidence:
    """Parts by unit; items that are units of their own by groups of equal ones.

    `state` tells items of a cell apart, and so do the values in `fine`.
    """
    if d.units or d.traffic.users is not None:
        factor, codes = _users(d, plan)
    else:
        lengths = tuple(len(labels) for labels, _ in axes.values())
        cell = np.ravel_multi_index(tuple(c for _, c in axes.values()), lengths).astype(np.int64)
        groups = encode(_equal(cell * 3 + state, fine))[1]
        factor, codes = _grouped(d, plan, groups)
        first = np.empty(len(codes), np.int64)
        first[groups[::-1]] = np.arange(len(groups))[::-1]  # the first item stands last
        axes = {name: (labels, c[first]) for name, (labels, c) in axes.items()}
        parts = {p: {k: _mean(c, groups, first) for k, c in of.items()} for p, of in parts.items()}
    return Evidence({p: Tally.count([(factor, codes)], of, axes) for p, of in parts.items()})


def _mean(column: Array, groups: Array, first: Ints) -> Array:
    """A statistic of one item of each group: its mean, which keeps the total."""
    if column.dtype.kind == "i":  # the same for all
        return column[first]
    return np.asarray(np.bincount(groups, column) / np.bincount(groups))


def _users(d: Deployment, plan: Plan) -> tuple[Factor, npt.NDArray[np.int32]]:
    """Users as units, in strata by the arms in which they stand where their number is known."""
    [name] = d.units
    labels, own = d.unit_codes
    codes, arm = own, d.arm
    if d.traffic.users is not None:
        every, arms = d.traffic.users["unit"].to_numpy(), d.traffic.users["arm"].to_numpy()
        labels, found = encode(np.concatenate([every, labels]))
        own = found[len(every) :][own]
        codes, arm = np.concatenate([found[: len(every)], own]), np.concatenate([arms, d.arm])
    if plan.scheme == "poisson":
        return Factor(name, labels), own
    stands = np.zeros((2, len(labels)), bool)
    stands[arm, codes] = True
    strata = np.where(stands.all(axis=0), 2, stands[1].astype(np.int64))
    sizes = np.ones(len(labels), np.int64)
    if d.traffic.users is None:
        labels = np.concatenate([labels, [f"({arm}: nothing accepted)" for arm in ARMS]])
        strata, sizes, kept = _with_unseen(d, strata, sizes, stands.sum(axis=1))
        labels = labels[kept]
    return Factor(name, labels, strata.astype(np.int64), sizes=sizes), own


def _with_unseen(
    d: Deployment, strata: Array, sizes: Ints, seen: Array
) -> tuple[Array, Ints, Mask]:
    """Strata and sizes with the units of each arm of which nothing was accepted; and which of all
    these there are.
    """
    assert d.traffic.units is not None
    strata, sizes = np.append(strata, [0, 1]), np.append(sizes, np.array(d.traffic.units) - seen)
    kept = sizes > 0
    return strata[kept], sizes[kept], kept


def _grouped(d: Deployment, plan: Plan, groups: Array) -> tuple[Factor, npt.NDArray[np.int32]]:
    """Groups of items as units of some size, and the unit of each group."""
    sizes = np.bincount(groups).astype(np.int64)
    codes = np.arange(len(sizes), dtype=np.int32)
    if plan.scheme == "poisson":
        return Factor("item", np.arange(len(sizes)), sizes=sizes), codes
    arm = np.zeros(len(sizes), np.int64)
    arm[groups] = d.arm
    strata, sizes, _ = _with_unseen(d, arm, sizes, np.bincount(d.arm, minlength=2))
    return Factor("item", np.arange(len(sizes)), strata, sizes=sizes), codes


def _equal(key: Ints, fine: Sequence[Array]) -> Ints:
    """A code that equal items share; values of which there are many are cut into bins."""
    key = encode(key)[1].astype(np.int64)
    for values in fine:
        key = _split(key, values)
    return key


def _split(key: Ints, values: Array) -> Ints:
    """A finer code: by value where there are few, by bins between least and largest else."""
    if (values == values[:1]).all():
        return key
    if len(np.unique(values[: 4 * MOST_GROUPS])) <= MOST_GROUPS:
        distinct, place = np.unique(values, return_inverse=True)
        exact = encode(key * len(distinct) + place)[1].astype(np.int64)
        if exact.max(initial=0) < MOST_GROUPS:
            return exact
    width = int(key.max()) + 1
    bins = int(np.clip(4 * MOST_GROUPS // width, LEAST_BINS, MOST_BINS))
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(low, key, values)
    np.maximum.at(high, key, values)
    scale = bins / np.where(high > low, high - low, 1.0)
    place = np.minimum((values - low[key]) * scale[key], bins - 1).astype(np.int64)
    return encode(key * bins + place)[1].astype(np.int64)


def _traffic(d: Deployment, factor: Factor) -> Tally:
    """The exposure of each arm: of every user where it is known so, fixed otherwise."""
    users, fixed = d.traffic.users, None
    codes, arm, exposure = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)
    if users is None:
        fixed = np.array(d.traffic.exposures)[:, None]
    else:
        places = {label: k for k, label in enumerate(factor.labels.tolist())}
        codes = np.array([places[unit] for unit in users["unit"].to_list()], np.int32)
        arm, exposure = users["arm"].to_numpy().astype(np.int64), users["exposure"].to_numpy()
    return Tally.count([(factor, codes)], {"exposure": exposure}, {"arm": (ARMS, arm)}, fixed=fixed)


@dataclass(frozen=True, eq=False)
class Linear:
    """Sums of evidence at weights of one, and how a function of them changes with each.

    A function goes from `sums(part, statistic)`, each of shape (R, *cells), to (R,) values.
    """

    evidence: Evidence
    sums: dict[tuple[str, str], Array]  # by part and statistic, of shape (*cells)

    @staticmethod
    def from_evidence(evidence: Evidence) -> "Linear":
        """The sums of evidence."""
        seen = totals(evidence, Weights.ones(evidence.factors).block())
        found = {}
        for name, part in evidence.parts.items():
            assert isinstance(part, Tally)
            for statistic in part.statistics:
                found[name, statistic] = seen.sums(name, statistic)[0].astype(np.float64)
        return Linear(evidence, found)

    def adjusted(self) -> "Linear":
        """The cells with half an item of either label added to each, known to the machine."""
        found = dict(self.sums)
        for label in (0, 1):
            for key, one in self.pseudo(label).items():
                found[key] = found[key] + HALF * one
        return Linear(self.evidence, found)

    def pseudo(self, label: int) -> dict[tuple[str, str], Array | float]:
        """The contribution of a labelled item to the sums of its cell, with the weights of the
        cell.
        """
        labels, labelled = self.sums["collected", "labels"], self.sums["collected", "labelled"]
        weight = np.where(labels > 0, labelled / np.maximum(labels, 1), 1.0)
        added: dict[tuple[str, str], Array | float] = {
            ("collected", "items"): 1.0,
            ("collected", "labels"): 1.0,
            ("collected", "labelled"): weight,
            ("collected", "positive"): weight * label,
            ("machine", "all"): float(label),
            ("machine", "known"): weight * label,
        }
        return {key: one for key, one in added.items() if key in self.sums}

    def value(self, function: Callable[[Sums], Array]) -> float:
        """A function at the sums."""
        return float(function(lambda *key: self.sums[key][None])[0])

    def gradient(self, function: Callable[[Sums], Array]) -> dict[tuple[str, str], Array]:
        """Derivatives of a function with respect to each sum, by central differences."""
        offsets, size = {}, 0
        for key, values in self.sums.items():
            offsets[key], size = size, size + values.size
        steps = np.concatenate(
            [STEP * np.maximum(np.abs(v.ravel()), 1) for v in self.sums.values()]
        )

        def moved(sign: float) -> Array:
            def sums(part: str, statistic: str) -> Array:
                at = self.sums[part, statistic]
                out = np.repeat(at.reshape(1, -1), size, axis=0)
                place = offsets[part, statistic] + np.arange(at.size)
                out[place, np.arange(at.size)] += sign * steps[place]
                return out.reshape(size, *at.shape)

            return function(sums)

        with np.errstate(invalid="ignore"):  # infinite on both sides where a cell is empty
            slopes = (moved(1.0) - moved(-1.0)) / (2 * steps)
        return {k: slopes[offsets[k] :][: v.size].reshape(v.shape) for k, v in self.sums.items()}

    def influences(self, gradient: dict[tuple[str, str], Array]) -> Array:
        """The contribution of one unit of each slot to the function; shape (units,)."""
        [factor] = self.evidence.factors.values()
        found = np.zeros(len(factor))
        for name, part in self.evidence.parts.items():
            assert isinstance(part, Tally)
            slopes = np.stack([gradient[name, s].ravel() for s in part.statistics], axis=-1)
            own = (part.values * slopes[part.cells]).sum(axis=-1)
            found += np.bincount(part.slots.codes[:, 0], own, minlength=len(found))
        return found


def standard_error(linear: Linear, function: Callable[[Sums], Array], *, adjusted: bool) -> float:
    """Standard error of a function of the sums, by units; NaN where a derivative is undefined.

    Adjusted by half an item of either label in each cell, in the derivatives and in what varies.
    """
    at = linear.adjusted() if adjusted else linear
    gradient = at.gradient(function)
    [factor] = linear.evidence.factors.values()
    own = linear.influences(gradient)
    sizes = np.ones(len(own)) if factor.sizes is None else factor.sizes.astype(np.float64)
    variance = float((sizes * own**2).sum())
    if factor.strata is not None:  # a stratum has a fixed number of units
        sums = np.bincount(factor.strata, sizes * own)
        counts = np.bincount(factor.strata, sizes)
        seen = counts > 0
        variance -= float((sums[seen] ** 2 / counts[seen]).sum())
    if adjusted:
        for label in (0, 1):
            added = linear.pseudo(label).items()
            own = np.sum([gradient[key] * one for key, one in added], axis=0)
            variance += HALF * float((own**2).sum())
    return float(np.sqrt(max(variance, 0.0)))


def log_interval(
    linear: Linear, function: Callable[[Sums], Array], level: float, *, adjusted: bool
) -> tuple[float, float]:
    """exp(log r -+ z SE) of a positive ratio r; NaN where it or its error is not defined.

    Adjusted as `standard_error` is; the middle is then the ratio of the adjusted counts.
    """
    from scipy.special import ndtri

    def log(sums: Sums) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(function(sums))

    middle = (linear.adjusted() if adjusted else linear).value(log)
    width = float(ndtri((1 + level) / 2)) * standard_error(linear, log, adjusted=adjusted)
    if not np.isfinite(middle) or not np.isfinite(width):
        return float("nan"), float("nan")
    return float(np.exp(middle - width)), float(np.exp(middle + width))


def leans(few: Array, label: int) -> tuple[Lean, Lean]:
    """Pseudo-residuals that lower and that raise the ratio of a label, in cells of few labels.

    They are as `ratio` takes them; `few` has the shape (..., arm, other).
    """
    up = np.where(few, WIDENING, 0.0) * (1 if label else -1)
    return (-up, few), (up, few)


def few_labels(deployment: Deployment) -> Mask:
    """Whether each cell has fewer than `ENOUGH` human labels, and items without; shape (arm,
    other).
    """
    least = np.minimum(deployment.items_by_cell, ENOUGH)
    short = deployment.labels_by_cell < least
    unequal = deployment.effective_labels < least * (1 - 1e-9)
    return np.asarray(short | (unequal & (deployment.inclusion is not None))).reshape(2, 2)


def least_count(n: Array, estimator: str) -> Array:
    """The least count of one label that an estimator rests on, of counts (..., arm, other)."""
    if estimator == "pooled":
        alone = np.minimum(n[..., 0, 1], n[..., 1, 1])
        return np.asarray(np.minimum(alone, n[..., 0].sum(axis=-1)))
    return np.asarray((n.sum(axis=-1) if estimator == "ab" else n.min(axis=-1)).min(axis=-1))
