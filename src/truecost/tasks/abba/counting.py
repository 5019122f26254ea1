"""From collected items to evidence: totals by cell, resampled by user.

Users are drawn within their arm; one that stands in both arms has one weight for both. Where the
number of units of each arm is known, units of which nothing was accepted are drawn too (rows of
zeros), so that totals vary as they do in the world; where it is not, weights are Poisson, which
lets them vary as well. Multinomial weights over the logged items alone would freeze the totals.

Where every item is a unit of its own, equal rows are one unit of some size. Machine scores make
nearly every row another one: beyond `MOST_GROUPS` different rows those of a cell and label are
grouped by score, each group at its mean, which keeps every total (the variance inside a group is
lost: 0.2 % of the width at `LEAST_BINS`, which large grids need, nothing to be seen otherwise).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError
from truecost.evidence import Evidence
from truecost.factors import Factor, encode
from truecost.tally import Tally
from truecost.tasks.abba.records import ARMS, Deployment
from truecost.weights import Plan

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
MOST_GROUPS = 4096  # different rows that are kept as they are; 2,000 replicates take 0.1 s
LEAST_BINS, MOST_BINS = 8, 256  # of the machine scores of a cell and label
OTHER = ("accepts", "rejects")
Axes = Mapping[str, tuple[Sequence[str], Array]]


@dataclass(frozen=True)
class Rows:
    """What is counted: one row an item, or one for a group of equal items.

    Attributes
    ----------
    factor : Factor
        What is resampled.
    codes : ndarray of int32, shape (rows,)
        Unit of each row.
    arm, other, label, weight, machine, place : ndarray, shape (rows,)
        As those of a deployment; `weight` is 1 over the inclusion probability, `place` a code of
        the caller.
    """

    factor: Factor
    codes: npt.NDArray[np.int32]
    arm: Array
    other: Array
    label: Array
    weight: Array
    machine: Array | None
    place: Array


def plan_of(deployment: Deployment, plan: Plan) -> Plan:
    """How a deployment is resampled: Poisson weights unless the number of units is known.

    Parameters
    ----------
    deployment : Deployment
    plan : Plan

    Returns
    -------
    Plan

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
    deployment: Deployment,
    plan: Plan,
    columns: Sequence[str] = (),
    accepts: Axes | None = None,
    *,
    machine: bool = True,
) -> Evidence:
    """The parts `collected`, `machine` and `traffic`, as far as the deployment has them.

    Parameters
    ----------
    deployment : Deployment
    plan : Plan
        As `plan_of` gives it.
    columns : sequence of str
        Numeric columns whose sums are counted too (part `columns`).
    accepts : mapping of str to (labels, codes), optional
        In place of the axis other, further axes with the code of each item.
    machine : bool
        Whether machine scores are counted.

    Returns
    -------
    Evidence
    """
    if not machine:
        deployment = replace(deployment, machine=None)
    axes = accepts or {"other": (OTHER, (~deployment.other).astype(np.int64))}
    place, sizes = _joined(axes)
    numbers = {name: _numbers(deployment, name) for name in columns}
    rows = _rows(deployment, place, plan, alone=not columns)
    shape: dict[str, tuple[Sequence[str], Array]] = {"arm": (ARMS, rows.arm)}
    codes = rows.place
    for name, size in reversed(sizes.items()):
        codes, own = np.divmod(codes, size)
        shape[name] = (axes[name][0], own)
    shape = {"arm": shape["arm"], **{name: shape[name] for name in axes}}
    sides = [(rows.factor, rows.codes)]
    known = ~np.isnan(rows.label)
    one = np.ones(len(rows.codes), np.int64)
    labelled = np.where(known, rows.weight, 0.0)
    positive = np.where(known, rows.weight * rows.label, 0.0)
    if (rows.weight[known] == 1).all():
        labelled, positive = labelled.astype(np.int64), positive.astype(np.int64)
    parts = {
        "collected": Tally.count(
            sides,
            {
                "items": one,
                "labels": known.astype(np.int64),
                "labelled": labelled,
                "positive": positive,
            },
            shape,
        )
    }
    if rows.machine is not None:
        seen = np.where(known, rows.weight * rows.machine, 0.0)
        parts["machine"] = Tally.count(sides, {"all": rows.machine, "known": seen}, shape)
    if deployment.traffic.exposures is not None:
        parts["traffic"] = _traffic(deployment, rows.factor)
    if columns:
        parts["columns"] = Tally.count(sides, numbers, shape)
    return Evidence(parts)


def _joined(axes: Axes) -> tuple[Ints, dict[str, int]]:
    """One code for several axes, and their lengths."""
    sizes = {name: len(labels) for name, (labels, _) in axes.items()}
    place = np.zeros(1, np.int64)
    for name, (_, codes) in axes.items():
        place = place * sizes[name] + codes
    return place, sizes


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


def _rows(deployment: Deployment, place: Ints, plan: Plan, *, alone: bool) -> Rows:
    """The rows to count, with what is resampled."""
    d = deployment
    weight = np.ones(len(d)) if d.inclusion is None else _inverse(d)
    rows = Rows(
        Factor("item", np.arange(0)),
        np.zeros(len(d), np.int32),
        d.arm.astype(np.int64),
        d.other,
        d.label,
        weight,
        d.machine,
        np.broadcast_to(place, d.arm.shape),
    )
    if d.units or d.traffic.users is not None:
        factor, codes = _users(d, plan)
        return replace(rows, factor=factor, codes=codes)
    return _grouped(d, rows, plan, alone=alone)


def _inverse(d: Deployment) -> Array:
    """1 over the inclusion probability of the labelled items; 1 for the others."""
    assert d.inclusion is not None
    return np.where(d.labelled, 1 / np.where(d.labelled, d.inclusion, 1.0), 1.0)


def _users(d: Deployment, plan: Plan) -> tuple[Factor, npt.NDArray[np.int32]]:
    """Users as units, in strata by the arms in which they stand where their number is known."""
    [(name, (column,))] = d.units.items()
    texts = column.astype(str).astype(object)
    if d.traffic.users is not None:
        every, arms = d.traffic.users["unit"].to_numpy(), d.traffic.users["arm"].to_numpy()
        labels, codes = encode(np.concatenate([every, texts]))
        arm = np.concatenate([arms, d.arm])
    else:
        labels, codes = encode(texts)
        arm = d.arm
    own = codes[len(codes) - len(texts) :]
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


def _grouped(d: Deployment, rows: Rows, plan: Plan, *, alone: bool) -> Rows:
    """Equal items as one row of some size; every item a unit of its own."""
    codes = encode(_equal(rows) if alone else np.arange(len(d)))[1]
    sizes = np.bincount(codes)
    first = np.empty(len(sizes), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the first item of each group stands last
    arm = rows.arm[first]
    strata: Ints | None = None if plan.scheme == "poisson" else arm
    sizes = sizes.astype(np.int64)
    if strata is not None:
        unseen = _unseen(d, np.bincount(rows.arm, minlength=2))
        strata, sizes = np.append(strata, [0, 1]), np.append(sizes, unseen)
        kept = sizes > 0
        strata, sizes = strata[kept], sizes[kept]
    machine = None
    if rows.machine is not None:
        machine = np.bincount(codes, rows.machine) / np.bincount(codes)
    factor = Factor("item", np.arange(len(sizes)), strata, sizes=sizes)
    return Rows(
        factor,
        np.arange(len(first), dtype=np.int32),
        arm,
        rows.other[first],
        rows.label[first],
        rows.weight[first],
        machine,
        rows.place[first],
    )


def _equal(rows: Rows) -> Ints:
    """A code that equal items share; many different machine scores are cut into bins."""
    state = np.where(np.isnan(rows.label), 2.0, rows.label).astype(np.int64)
    _, weight = encode(rows.weight) if (rows.weight != 1).any() else (None, np.zeros_like(state))
    key = (rows.arm * 3 + state) * (int(weight.max(initial=0)) + 1) + weight
    key = key * (int(rows.place.max(initial=0)) + 1) + rows.place
    key = encode(key)[1].astype(np.int64)
    if rows.machine is None:
        return key
    many = len(np.unique(rows.machine[: 4 * MOST_GROUPS])) > MOST_GROUPS
    if not many:
        scores, score = np.unique(rows.machine, return_inverse=True)
        exact = encode(key * len(scores) + score)[1].astype(np.int64)
        if exact.max(initial=0) < MOST_GROUPS:
            return exact
    return _binned(key, rows.machine)


def _binned(key: Ints, machine: Array) -> Ints:
    """A code of a key and of the bin of a machine score between its least and largest."""
    width = int(key.max()) + 1
    bins = int(np.clip(4 * MOST_GROUPS // width, LEAST_BINS, MOST_BINS))
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(low, key, machine)
    np.maximum.at(high, key, machine)
    scale = bins / np.where(high > low, high - low, 1.0)
    place = np.minimum((machine - low[key]) * scale[key], bins - 1).astype(np.int64)
    return np.asarray(key * bins + place)


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
