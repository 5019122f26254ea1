"""Pairing: systems are compared trial by trial, so their trials must be the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.tasks.trials.records import Trials


def check_classes(trials: Trials) -> None:
    """Refuse data in which only one class occurs: InputError."""
    if trials.classes and len(np.unique(trials.labels)) < 2:
        only, n = trials.classes[int(trials.labels[0])], len(trials)
        they = f"all {n} trials are" if n > 1 else "the only trial is"
        raise InputError(
            f"{trials.name}: {they} {only}; errors of one kind cannot be measured: add trials of "
            f"another class"
        )
    if trials.classes and trials.weights is not None:
        shares = np.bincount(trials.labels, trials.weights, len(trials.classes))
        present = np.bincount(trials.labels, minlength=len(trials.classes)) > 0
        if not np.isfinite(shares.sum()):
            raise InputError(f"{trials.name}: the weights add up to more than a number can hold")
        if (shares[present] == 0).any():
            light = trials.classes[int(np.flatnonzero(present & (shares == 0))[0])]
            raise InputError(f"{trials.name}: all trials of {light} have weight 0")


def pair(trials: Sequence[Trials]) -> list[Trials]:
    """The systems with their trials in one order.

    Parameters
    ----------
    trials : sequence of Trials
        One for each system.

    Returns
    -------
    list of Trials
        In the order of the first system.

    Raises
    ------
    UsageError
        When a system has no ids.
    InputError
        When ids, labels, weights, strata or units do not agree.
    """
    for system in trials:
        if system.ids is None:
            raise UsageError(
                f"{system.name}: systems are compared trial by trial, which needs an id: "
                f"--map id=COLUMN"
            )
    first = trials[0]
    paired = [first]
    for other in trials[1:]:
        aligned = _aligned(first, other)
        _same_trials(first, aligned)
        paired.append(replace(aligned, origin=first.origin))
    return paired


def _aligned(a: Trials, b: Trials) -> Trials:
    """The trials of `b` in the order of those of `a`; refused where they are not the same.

    The two rows of a soft label stay in their order.
    """
    ids, other = np.asarray(a.ids), np.asarray(b.ids)
    same = np.array_equal(ids, other)
    places = None if same else _places(a, b, ids, other)
    if a.classes != b.classes:
        raise InputError(
            f"{a.name} and {b.name} have other classes: {first_five(a.classes)} against "
            f"{first_five(b.classes)}; name them all with --classes"
        )
    return b if places is None else b.take(places)


def _places(
    a: Trials, b: Trials, ids: npt.NDArray[Any], other: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """The row of `b` that stands for each row of `a`."""
    if (ids.dtype.kind in "iu") != (other.dtype.kind in "iu"):
        named, numbered = (b, a) if ids.dtype.kind in "iu" else (a, b)
        raise InputError(
            f"{a.name} and {b.name} cannot be paired: the trials of {named.name} have ids, those "
            f"of {numbered.name} only their rows; give both ids (--map id=COLUMN)"
        )
    if len(ids) == len(other):
        places = _matched(*(pl.Series(column).hash(seed=0).to_numpy() for column in (ids, other)))
        if np.array_equal(ids, other[places]):
            return places
    names, codes = encode(np.concatenate([ids, other]))  # other ids, or two with one hash
    left, right = np.split(codes, [len(ids)])
    here, there = (np.bincount(part, minlength=len(names)) for part in (left, right))
    missing, extra = names[there == 0], names[here == 0]
    if len(missing) or len(extra):
        raise InputError(
            f"{a.name} and {b.name} are not scored on the same trials: "
            f"{counted(len(missing), 'trial')} only in {a.name} ({_shown(missing)}), "
            f"{len(extra)} only in {b.name} ({_shown(extra)})"
        )
    differing = names[here != there]  # a soft label of 0 or 1 is one row, not two
    if len(differing):
        raise InputError(
            f"{a.name} and {b.name} give {counted(len(differing), 'trial')} another soft label: "
            f"{first_five(differing)}"
        )
    return _matched(left, right)


def _matched(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The place in the right column of each value of the left one, copies in their order."""
    places = np.empty(len(left), np.int64)
    places[np.argsort(left, kind="stable")] = np.argsort(right, kind="stable")
    return places


def _shown(names: npt.NDArray[Any]) -> str:
    return first_five(names) or "none"


def _votes(trials: Trials) -> npt.NDArray[np.int64] | None:
    return None if trials.annotation is None else trials.annotation.votes


def _same_trials(a: Trials, b: Trials) -> None:
    """Refuse trials of another label, weight, stratum or unit."""
    if set(a.units) != set(b.units):
        raise InputError(f"{a.name} and {b.name} have other units: {[*a.units]}, {[*b.units]}")
    units = [
        (f"unit {n}", s, t) for n in a.units for s, t in zip(a.units[n], b.units[n], strict=True)
    ]
    for what, left, right in (
        ("label", a.labels, b.labels),
        ("weight", a.weights, b.weights),
        ("stratum", a.strata, b.strata),
        ("set of annotator labels", _votes(a), _votes(b)),
        *units,
    ):
        if left is None and right is None:
            continue
        if left is None or right is None:
            raise InputError(f"only one of {a.name} and {b.name} has a {what} for its trials")
        same = len(left) == len(right)
        other = (left != right).reshape(len(left), -1).any(axis=1) if same else np.ones(len(left))
        different = np.flatnonzero(other)
        if len(different):
            raise InputError(
                f"{a.name} and {b.name} give {counted(len(different), 'trial')} another {what}: "
                f"{first_five(np.asarray(a.ids)[different[:6]])}"
            )
