"""Pairing: systems are compared trial by trial, so their trials must be the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, first_five
from truecost.tasks.records import Trials


def check_classes(trials: Trials) -> None:
    """Refuse data in which only one class occurs: InputError."""
    if trials.classes and len(np.unique(trials.labels)) < 2:
        only = trials.classes[int(trials.labels[0])]
        raise InputError(
            f"{trials.name}: all {len(trials)} trials are {only}; errors of one kind "
            f"cannot be measured: add trials of another class"
        )


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
        _same_ids(first, other)
        aligned = other.take(_places(other.ids)[np.argsort(_places(first.ids))])
        _same_trials(first, aligned)
        paired.append(replace(aligned, origin=first.origin))
    return paired


def _places(ids: npt.NDArray[Any] | None) -> npt.NDArray[np.int64]:
    """The rows in order of id; the two rows of a soft label stay in their order."""
    return np.argsort(np.asarray(ids), kind="stable")


def _same_ids(a: Trials, b: Trials) -> None:
    missing = sorted(set(a.ids.tolist()) - set(b.ids.tolist()))  # type: ignore[union-attr]
    extra = sorted(set(b.ids.tolist()) - set(a.ids.tolist()))  # type: ignore[union-attr]
    if missing or extra:
        raise InputError(
            f"{a.name} and {b.name} are not scored on the same trials: "
            f"{len(missing)} trials only in {a.name} ({first_five(missing) or 'none'}), "
            f"{len(extra)} only in {b.name} ({first_five(extra) or 'none'})"
        )
    counts = [np.unique(np.asarray(t.ids, str), return_counts=True) for t in (a, b)]
    other = counts[0][0][counts[0][1] != counts[1][1]]  # a soft label of 0 or 1 is one row, not two
    if len(other):
        raise InputError(
            f"{a.name} and {b.name} give {len(other)} trials another soft label: "
            f"{first_five(other)}"
        )
    if a.classes != b.classes:
        raise InputError(
            f"{a.name} and {b.name} have other classes: {first_five(a.classes)} against "
            f"{first_five(b.classes)}; name them all with --classes"
        )


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
                f"{a.name} and {b.name} give {len(different)} trials another {what}: "
                f"{first_five(np.asarray(a.ids)[different[:6]])}"
            )
