"""Reading the log of a deployment: what its columns may hold, and what is refused with its line.

Each collected item is a row: which model collected it, what both models say of it, and what is
known of its truth. `load` stops at the first fault; `checking` lists all of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.names import Mismatch
from truecost.options import check_fields, check_keys, declared
from truecost.study.tables import DataTable
from truecost.tasks.abba import MAP_KEYS
from truecost.tasks.abba.log import KINDS, Log
from truecost.tasks.abba.options import AbbaTable
from truecost.tasks.abba.records import ARMS, Deployment
from truecost.tasks.abba.warnings import doubts


@dataclass(frozen=True)
class LogOptions:
    """How to read the log of a deployment.

    Parameters
    ----------
    columns : mapping of str to str
        Column for each of the keys of `truecost list map`; a column of the very name of a key needs
        no mapping. Scores of both models are mapped, or decisions of both; where both are found by
        name, the scores count.
    threshold_a, threshold_b : float, optional
        Deployed thresholds: a model accepts a score at or above its own. The least score that a
        model collected when left out.
    exposure : tuple of float, optional
        Amount of traffic of A and of B in one unit, such as hours.
    units : tuple of int, optional
        Number of units (users, devices) of A and of B, with those of which nothing was
        accepted.
    split : float, optional
        Share of the units that was meant for A.
    mismatch : {"error", "drop"}
        What to do with items that the model which collected them rejects offline: refuse them, or
        leave them out.
    raw_machine : bool
        Accept any finite numbers as machine scores; they must be probabilities otherwise.
    unlabelled : bool
        Accept a log without labels and without machine scores.

    Raises
    ------
    UsageError
        When a choice or a key is not known, a number is out of range, or scores and decisions are
        both mapped.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    threshold_a: float | None = None
    threshold_b: float | None = None
    exposure: tuple[float, float] | None = None
    units: tuple[int, int] | None = None
    split: float | None = None
    mismatch: Mismatch = "error"
    raw_machine: bool = False
    unlabelled: bool = False

    def __post_init__(self) -> None:
        check_keys(self.columns, MAP_KEYS)
        if len(self.mapped_kinds) == 2:
            raise UsageError(
                "scores and decisions of the models are both mapped: map score_a and score_b, or "
                "accept_a and accept_b"
            )
        check_fields(self, AbbaTable)
        self._check_numbers()

    def _check_numbers(self) -> None:
        """Refuse numbers out of range."""
        for arm, value in zip("ab", self.thresholds, strict=True):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"--threshold-{arm} is {value:g}: a threshold is a finite number")
        known = {option.key: option for option in declared(DataTable)}
        both = {"exposure": self.exposure, "units": self.units}
        for name, given in both.items():
            for arm, value in _of_both(name, given):
                known[f"{name}_{arm}"].check(value, f"--{name}-{arm}")
        if self.split is not None:
            known["split"].check(self.split, "--split")

    @property
    def thresholds(self) -> tuple[float | None, float | None]:
        """Of A and of B, as given."""
        return self.threshold_a, self.threshold_b

    @property
    def mapped_kinds(self) -> list[str]:
        """Which of scores and decisions are mapped."""
        return [kind for kind in KINDS if any(f"{kind}_{arm}" in self.columns for arm in "ab")]

    def column(self, key: str, table: Table) -> str | None:
        """The mapped column of a key, or the one that has its name; None without either."""
        return self.columns.get(key, key if key in table.columns else None)


def _of_both(option: str, given: tuple[float, float] | None) -> list[tuple[str, float]]:
    """Each arm with its number; none where nothing was given."""
    if given is not None and len(given) != len(ARMS):
        raise UsageError(
            f"{option} has {counted(len(given), 'number')}: give two, of arm A and of arm B"
        )
    return [*zip("ab", given or (), strict=False)]


def load(
    table: Table, options: LogOptions, name: str = "deployment", users: Table | None = None
) -> Deployment:
    """The deployment that a log tells of.

    Parameters
    ----------
    table : Table
        One row for each collected item, as `truecost.read` gives it.
    options : LogOptions
        What the columns mean, and what is known beside them.
    name : str
        Name of the deployment.
    users : Table, optional
        Every unit and its arm, those included of which nothing was accepted: columns `unit` and
        `collected_by` (or as they are called in the log), and `exposure` where it differs.

    Returns
    -------
    Deployment
        Items in the order of their ids.

    Raises
    ------
    InputError
        When an arm is empty or not known, an item lacks what it needs, the model that collected it
        rejects it, a label or a probability is out of range, ids repeat, or nothing is known of the
        truth; names the file, and the lines and ids of the first five.
    UsageError
        When columns are not found, or the options do not go together or with the table.
    """
    if len(table) == 0:
        raise InputError(f"{table.source}: there are no items")
    log = Log(table, options, users)
    for _, fault in log.faults():
        raise fault
    order = log.ids.arg_sort().to_numpy()
    rows = order[~(log.rejected_a | log.rejected_b)[order]]

    def some(column: npt.NDArray[Any] | None) -> Any:
        return None if column is None else column[rows]

    other = np.where(log.arm == 0, log.b.accepts, log.a.accepts)
    found = Deployment(
        name=name,
        ids=log.ids.gather(rows).to_numpy(),
        arm=some(log.arm),
        other=some(other),
        label=some(log.label),
        machine=some(log.machine),
        inclusion=some(log.inclusion),
        score_a=some(log.a.scores),
        score_b=some(log.b.scores),
        threshold_a=log.a.threshold,
        threshold_b=log.b.threshold,
        strata=None if log.strata is None else log.strata.gather(rows).to_numpy(),
        units={key: tuple(map(some, sides)) for key, sides in log.units.items()},
        traffic=log.traffic,
        frame=table.frame[rows],
        signature=log.signature,
    )
    return replace(found, problems=(*log.problems, *doubts(found)))
