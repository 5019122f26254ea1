"""From collected items to evidence: totals by cell, resampled by user.

Users are drawn within their arm; one that stands in both arms has one weight for both. Where the
number of units of each arm is known, units of which nothing was accepted are drawn too (rows of
zeros), so that totals vary as they do in the world; where it is not, weights are Poisson, which
lets them vary as well. Multinomial weights over the logged items alone would freeze the totals.

Where every item is a unit of its own, equal rows are one unit of some size. Weights and machine
scores make nearly every row another one: beyond `MOST_GROUPS` different rows those of a cell and
label are grouped by them, each group at its mean, which keeps every total (the variance inside a
group is lost: 0.2 % of the width at `LEAST_BINS`, which large grids need, nothing to be seen
otherwise). What is drawn does not depend on what is asked: a log with machine scores is grouped by
them for every estimator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence
from truecost.core.factors import Factor, encode
from truecost.core.tally import Tally
from truecost.core.weights import Plan
from truecost.errors import UsageError
from truecost.tasks.abba.records import ARMS, Deployment

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
MOST_GROUPS = 4096  # different rows that are kept as they are; 2,000 replicates take 0.1 s
LEAST_BINS, MOST_BINS = 8, 256  # of the machine scores of a cell and label
OTHER = ("accepts", "rejects")
Axes = Mapping[str, tuple[Sequence[str], Array]]
Parts = dict[str, dict[str, Array]]  # statistics of each row by part


def plan_of(deployment: Deployment, plan: Plan) -> Plan:
    """How a deployment is resampled: Poisson weights unless the number of units is known.

    Raises
    ------
    UsageError
        When moving blocks are asked for: arms have no order in time.
    """
    if plan.scheme == "blocks":
        raise UsageError("moving blocks need items in time order: AB/BA draws users within arms")
    known = deployment.traffic.units is not None or deployment.traffic.users is not None
    return plan if known else replace(plan, scheme="poisson")


def evidence_of(
    deployment: Deployment, plan: Plan, accepts: Axes | None = None, *, machine: bool = True
) -> Evidence:
    """The parts `collected`, `machine` and `traffic`, as far as the deployment has them.

    Parameters
    ----------
    plan : Plan
        As `plan_of` gives it.
    accepts : mapping of str to (labels, codes), optional
        In place of the axis other, further axes with the code of each item.
    machine : bool
        Whether machine scores are counted.
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
        parts["collected"] |= {
            "squares": labelled**2,
            "true": (known & (d.label == 1)).astype(np.int64),
        }
    if machine and d.machine is not None:
        parts["machine"] = {"all": d.machine, "known": labelled * d.machine}
    fine = [x for x in (weights, d.machine) if x is not None]
    state = np.where(known, d.label, 2).astype(np.int64)
    evidence = _counted(d, plan, parts, _axes(d, accepts), state, fine)
    [factor] = evidence.factors.values()
    if d.traffic.exposures is None:
        return evidence
    return Evidence({**evidence.parts, "traffic": _traffic(d, factor)})


def evidence_of_column(deployment: Deployment, plan: Plan, name: str) -> Evidence:
    """The parts `collected` (items alone) and `columns`, for the mean of a numeric column.

    Parameters
    ----------
    plan : Plan
        As `plan_of` gives it.

    Raises
    ------
    UsageError
        When there is no such column, or not every cell of it is a finite number.
    """
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
            f"{deployment.name}: there is no column {name!r} for rmean; the columns are "
            f"{', '.join(columns)}"
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
        unseen = _unseen(d, stands.sum(axis=1))
        labels = np.concatenate([labels, [f"({arm}: nothing accepted)" for arm in ARMS]])
        strata, sizes = np.append(strata, [0, 1]), np.append(sizes, unseen)
        kept = sizes > 0
        labels, strata, sizes = labels[kept], strata[kept], sizes[kept]
    return Factor(name, labels, strata.astype(np.int64), sizes=sizes), own


def _unseen(d: Deployment, seen: Array) -> Ints:
    """Units of each arm of which nothing was accepted."""
    assert d.traffic.units is not None
    return np.asarray(d.traffic.units, np.int64) - seen


def _grouped(d: Deployment, plan: Plan, groups: Array) -> tuple[Factor, npt.NDArray[np.int32]]:
    """Groups of items as units of some size, and the unit of each group."""
    sizes = np.bincount(groups).astype(np.int64)
    codes = np.arange(len(sizes), dtype=np.int32)
    if plan.scheme == "poisson":
        return Factor("item", np.arange(len(sizes)), sizes=sizes), codes
    arm = np.zeros(len(sizes), np.int64)
    arm[groups] = d.arm
    unseen = _unseen(d, np.bincount(d.arm, minlength=2))
    strata, sizes = np.append(arm, [0, 1]), np.append(sizes, unseen)
    kept = sizes > 0
    return Factor("item", np.arange(int(kept.sum())), strata[kept], sizes=sizes[kept]), codes


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
    users = d.traffic.users
    if users is None:
        none = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int32))
        fixed = np.array(d.traffic.exposures)[:, None]
        return Tally.count(
            [(factor, none[2])], {"exposure": none[0]}, {"arm": (ARMS, none[1])}, fixed=fixed
        )
    places = {label: k for k, label in enumerate(factor.labels.tolist())}
    codes = np.array([places[unit] for unit in users["unit"].to_list()], np.int32)
    return Tally.count(
        [(factor, codes)],
        {"exposure": users["exposure"].to_numpy()},
        {"arm": (ARMS, users["arm"].to_numpy().astype(np.int64))},
    )
