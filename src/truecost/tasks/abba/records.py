"""Deployments of two models: the collected items, facts for every figure, and rows of the log and
of its users.

Two models run on random shares of the traffic, A (deployed) and B (candidate). Only what a model
accepts is collected; the other model decodes it offline. Every item lies in one of four *cells*,
arm x agreement, in the order of `CELLS`: collected by A and accepted by B too (`11A`), collected by
A alone (`10A`), collected by B and accepted by A too (`11B`), collected by B alone (`01B`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.estimates import Context
from truecost.core.factors import encode
from truecost.core.flags import raised
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import filled
from truecost.names import NO_NUMBER
from truecost.task import Rows

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ARMS = ("A", "B")
CELLS = ("11A", "10A", "11B", "01B")
FEW = 5  # items of a label in a cell, below which intervals are those of the delta method
BY_ITEM = (  # fields of a deployment that have an entry for each item
    *("ids", "arm", "other", "label", "machine", "inclusion", "score_a", "score_b", "strata"),
    "seconds",
)
CELL_WORDS = {
    "11A": "collected by A, accepted by both",
    "10A": "collected by A, accepted by A alone",
    "11B": "collected by B, accepted by both",
    "01B": "collected by B, accepted by B alone",
}


@dataclass(frozen=True, eq=False)
class Traffic:
    """Traffic of the two arms, as far as it is known.

    Attributes
    ----------
    exposure, units, split
        Exposures, numbers of units, and intended share of units for A (see `collected_items`).
    users : polars.DataFrame, optional
        All units: columns `unit` (text), `arm` (0 for A, 1 for B) and `exposure` (float).
    """

    exposure: tuple[float, float] | None = None
    units: tuple[int, int] | None = None
    split: float | None = None
    users: pl.DataFrame | None = None

    @property
    def exposures(self) -> tuple[float, float] | None:
        """Exposures of A and B: given, sums over `users`, or numbers of units; None if unknown."""
        if self.exposure is not None:
            return self.exposure
        if self.users is not None:
            arm, exposure = self.users["arm"].to_numpy(), self.users["exposure"].to_numpy()
            return float(exposure[arm == 0].sum()), float(exposure[arm == 1].sum())
        return None if self.units is None else (float(self.units[0]), float(self.units[1]))


@dataclass(frozen=True, eq=False, repr=False)
class Deployment(Rows):
    """Items that two models collected in an AB/BA deployment.

    Attributes
    ----------
    name : str
        Name of the deployment, usually that of the candidate.
    ids : ndarray of str, shape (N,)
        Ids of the items, sorted.
    arm : ndarray of uint8, shape (N,)
        Model that collected the item: 0 for A, 1 for B.
    other : ndarray of bool, shape (N,)
        Whether the other model accepts the item offline.
    label, machine, inclusion, score_a, score_b, strata : ndarray, shape (N,)
        Value of each item (see `collected_items`). All except the labels may be None.
    threshold_a, threshold_b : float, optional
        Deployed thresholds. A model accepts scores at or above its threshold.
    seconds : ndarray, shape (N,), optional
        Seconds that a person needed for the label; NaN without a measurement.
    units : mapping of str to tuple of ndarray, shape (N,)
        User or device of each item, by factor. Empty: each item is its own unit.
    traffic : Traffic
        Exposures and numbers of units of both arms.
    frame : polars.DataFrame
        All columns of the log, a row for each item in the order of the ids; used for subsets.
    signature : str
        Settings with which the log was read, separated by `|`.
    problems : tuple of str
        Warnings for the reader.
    """

    name: str
    ids: Array
    arm: npt.NDArray[np.uint8]
    other: npt.NDArray[np.bool_]
    label: Floats
    machine: Floats | None = None
    inclusion: Floats | None = None
    score_a: Floats | None = None
    score_b: Floats | None = None
    threshold_a: float | None = None
    threshold_b: float | None = None
    strata: Array | None = None
    seconds: Floats | None = None
    units: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    frame: pl.DataFrame = field(default_factory=pl.DataFrame)
    signature: str = ""
    problems: tuple[str, ...] = ()
    about: ClassVar[Mapping[str, str]] = {}
    item: ClassVar[str] = "item"
    task: ClassVar[str] = "abba"

    def __len__(self) -> int:
        return len(self.ids)

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Ids, collecting models, labels: the hash identifies the evaluation set in the ledger."""
        return (pl.DataFrame({"id": self.ids, "arm": self.arm, "label": self.label}),)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Ids, offline decisions, scores: the hash identifies the system in the ledger."""
        scores = {"a": self.score_a, "b": self.score_b, "machine": self.machine}
        known = {name: values for name, values in scores.items() if values is not None}
        return (pl.DataFrame({"id": self.ids, "other": self.other, **known}),)

    @property
    def summary(self) -> str:
        """Numbers of items and of labels, in words."""
        labels = counted(int(self.labelled.sum()), "label")
        machine = "" if self.machine is None else ", machine scores"
        return f"{counted(len(self), 'collected item')}, {labels}{machine}"

    @cached_property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Whether each item has a human label."""
        return ~np.isnan(self.label)

    @cached_property
    def cell(self) -> npt.NDArray[np.uint8]:
        """Cell of each item: index of "11A", "10A", "11B" or "01B". The digits are the decisions of
        A and of B (1: accepted); the letter is the collecting model.
        """
        return (2 * self.arm + ~self.other).astype(np.uint8)

    @cached_property
    def stratum_codes(self) -> tuple[Array, Array]:
        """Sorted names of the strata (default: the cells), and the stratum of each item."""
        return (np.array(CELLS), self.cell) if self.strata is None else encode(self.strata)

    @cached_property
    def unit_codes(self) -> tuple[Array, npt.NDArray[np.int32]]:
        """Sorted units as text, and the unit of each item. Default: each item is its own unit."""
        if not self.units:
            return self.ids, np.arange(len(self), dtype=np.int32)
        [(column,)] = self.units.values()
        labels, codes = encode(column)  # as they are: numbers are encoded faster than texts
        texts, places = encode(labels.astype(str).astype(object))
        return texts, places[codes]

    @cached_property
    def label_weights(self) -> Floats:
        """Number of items that each label represents, shape (N,): 1 / inclusion probability.

        Without these probabilities, the labels of a stratum (default: of a cell) are regarded as a
        simple random sample of it. Items without a label have the unused value 1.
        """
        weights = np.ones(len(self))
        known = self.labelled
        if self.inclusion is not None:
            weights[known] = 1 / self.inclusion[known]
        elif not known.all():
            codes = self.stratum_codes[1]
            found = np.bincount(codes[known], minlength=int(codes.max(initial=0)) + 1)
            share = np.bincount(codes, minlength=len(found)) / np.maximum(found, 1)
            weights[known] = share[codes[known]]
        return weights

    @cached_property
    def effective_labels(self) -> Floats:
        """Effective number of labels in each cell: (sum w)^2 / sum w^2 for label weights w."""
        known, weights = self.labelled, self.label_weights
        sums = np.bincount(self.cell[known], weights[known], minlength=4)
        squares = np.bincount(self.cell[known], weights[known] ** 2, minlength=4)
        return np.asarray(sums**2 / np.where(squares > 0, squares, 1.0))

    @cached_property
    def items_by_cell(self) -> npt.NDArray[np.int64]:
        """Number of items in each cell, in the order of `cell`."""
        return np.bincount(self.cell, minlength=4)

    @cached_property
    def labels_by_cell(self) -> npt.NDArray[np.int64]:
        """Number of human labels in each cell, in the order of `cell`."""
        return np.bincount(self.cell[self.labelled], minlength=4)

    def at_threshold(self, threshold: float) -> "Deployment":
        """Deployment as if B had this threshold, which must not be below the deployed one. The
        labels keep their weights.
        """
        assert self.score_b is not None
        reaches, by_a = self.score_b >= threshold, self.arm == 0
        found = replace(
            self, other=np.where(by_a, reaches, self.other), inclusion=1 / self.label_weights
        ).take(np.flatnonzero(by_a | reaches))
        return replace(found, traffic=self.traffic, threshold_b=threshold)

    def take(self, rows: Array) -> "Deployment":
        """Deployment of selected items (indices or a mask), with an unknown `traffic`."""
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        columns = {name: getattr(self, name) for name in BY_ITEM}
        return replace(
            self,
            **{name: column[rows] for name, column in columns.items() if column is not None},
            units={name: tuple(side[rows] for side in of) for name, of in self.units.items()},
            traffic=Traffic(),
            frame=self.frame[rows] if self.frame.width else self.frame,
        )


Mask = npt.NDArray[np.bool_]
Values = Sequence[Any] | npt.NDArray[Any] | pl.Series | None
ARM_WORDS = {"a": 0.0, "b": 1.0}  # in lower case, as all words here
NOS, YESES = ("0", "0.0", "false", "no"), ("1", "1.0", "true", "yes")
LABEL_WORDS = dict.fromkeys(NOS, 0.0) | dict.fromkeys(YESES, 1.0)
NO_CHANCE = "a label and no inclusion probability"


@dataclass(frozen=True, eq=False)
class LogRows:
    """Rows of a table, and how messages name them."""

    table: Table
    ids: pl.Series | None = None  # named beside the lines; null where a row has none

    def refuse(
        self, bad: Mask, said: tuple[str, str, str], hint: str = "", values: Values = None
    ) -> None:
        """Refuse when any row is bad: noun in the singular, verb in the plural, and what is wrong.

        The hint says what to do about it; the values are what stands there, for the examples.
        """
        if not bad.any():
            return
        rows = np.flatnonzero(bad)
        told = f"{counted(len(rows), *said[:2])} {said[2]}"
        advice = f"; {hint}" if hint else ""
        raise InputError(f"{self.table.source}: {told}: {self.places(rows, values)}{advice}")

    def places(self, rows: npt.NDArray[np.int64], values: Values = None) -> str:
        """Lines, ids and values of the first five of some rows."""
        return first_five(self._place(int(row), values) for row in rows[:6])

    def _place(self, row: int, values: Any) -> str:
        where = self.table.where(row)
        own = None if self.ids is None else self.ids[row]
        more = [] if own is None or where == f"id {own}" else [f"id {own}"]
        more += [] if values is None else [_value_text(values[row])]
        return f"{where} ({', '.join(more)})" if more else where

    def coded(
        self, column: str, key: str, words: Mapping[str, float]
    ) -> tuple[Floats, pl.Series, Mask]:
        """The numbers of a column of words; `words` are in lower case.

        Returns
        -------
        codes : ndarray of float64, shape (rows,)
            Number of each word; NaN for another text or none.
        texts : polars.Series of str
            Text of each cell; null for an empty cell, NA, NaN, null or none.
        unknown : ndarray of bool, shape (rows,)
            Whether a cell holds another text.
        """
        texts = self.table.texts(column, key)
        lower = texts.str.to_lowercase()
        texts = texts.set(lower.is_in(list(NO_NUMBER)).fill_null(value=False), None)
        numbers = list(words.values())
        codes = lower.replace_strict(list(words), numbers, default=None, return_dtype=pl.Float64)
        unknown = (codes.is_null() & texts.is_not_null()).to_numpy()
        return codes.fill_null(float("nan")).to_numpy(), texts, unknown

    def arms(self, column: str, key: str, said: tuple[str, str, str]) -> npt.NDArray[np.uint8]:
        """The arm of each row: 0 for A, 1 for B; `said` is what to say of other words."""
        codes, texts, _ = self.coded(column, key, ARM_WORDS)
        hint = (
            "write A for the deployed model and B for the candidate, or give the names of the "
            "models in the file: --a NAME --b NAME"
        )
        self.refuse(np.isnan(codes), said, hint, texts)
        return codes.astype(np.uint8)

    def chances(self, column: str) -> Floats:
        """Inclusion probabilities; NaN where a cell is empty."""
        found = self.table.numbers(column, "inclusion")
        outside = ~np.isnan(found) & ~((found > 0) & (found <= 1))
        said = ("inclusion probability", "lie", "outside (0, 1]")
        hint = "it is the probability that the item was chosen for a label"
        self.refuse(outside, said, hint, found)
        return found


def _value_text(value: Any) -> str:
    """A value in a message: texts in quotes, numbers with all their digits."""
    if value is None:
        return "empty"
    if isinstance(value, str):
        return repr(value)
    return "empty" if np.isnan(value) else str(float(value))


def read_users(users: Table, columns: Mapping[str, str]) -> pl.DataFrame:
    """A list of all users, those included of which nothing was accepted.

    Its columns are `unit` and `collected_by`, or those of the same names as in the log, and
    `exposure`, which is 1 when left out, and 0 of a unit that was idle. The result has the columns
    `unit` (text), `arm` (0 for A, 1 for B) and `exposure`, sorted.
    """
    keys, holds = ("unit", "collected_by"), "a list of users has the columns unit and collected_by"
    mine = {key: named_column(users, key, columns.get(key), holds) for key in keys}
    units = filled(users, mine["unit"], "unit")
    rows = LogRows(users, units)
    said = ("user", "are", f"in neither arm, A or B (column {mine['collected_by']!r})")
    arm, exposure = rows.arms(mine["collected_by"], "collected_by", said), np.ones(len(users))
    if "exposure" in users.columns:
        exposure = users.numbers("exposure", "exposure")
        bad = ~(np.isfinite(exposure) & (exposure >= 0))
        rows.refuse(bad, ("exposure", "are", "below 0 or not finite"), values=exposure)
    found = pl.DataFrame({"unit": units, "arm": arm, "exposure": exposure})
    again = found.select(pl.struct("unit", "arm").is_duplicated()).to_series().to_numpy()
    rows.refuse(again, ("line", "repeat", "a user in the same arm"), "each occurs once in an arm")
    for k, model in enumerate(ARMS):
        if not (found["arm"] == k).any():
            raise InputError(f"{users.source}: there is no user in arm {model}")
        if not (found.filter(pl.col("arm") == k)["exposure"] > 0).any():
            raise InputError(f"{users.source}: the exposures of arm {model} are all 0")
    return found.sort("unit", "arm")


def named_column(table: Table, key: str, mapped: str | None, holds: str) -> str:
    """The column of a key in a file beside the log, called as in the log or by the key, which has
    to be there; `holds` says which columns such a file has.
    """
    names = [*filter(None, dict.fromkeys((mapped, key)))]
    for name in names:
        if name in table.columns:
            return name
    said = " or ".join(map(repr, names))
    raise UsageError(f"{table.source}: there is no column {said}; {table.listed}: {holds}")


def context_of(deployment: Deployment, dims: Mapping[str, str]) -> Context:
    """The facts of a deployment's rows besides their values."""
    labels = int(deployment.labelled.sum())
    counts = {"items_a": int((deployment.arm == 0).sum()), "items_b": int(deployment.arm.sum())}
    alone = not deployment.units and deployment.traffic.units is None
    return Context(
        dict(dims),
        len(deployment),
        counts={**counts, "labels": labels},
        signature=deployment.signature,
        flags=raised(items_as_units=alone),
        item="item",
        part_signatures={"collected": _weighing(deployment)},
    )


def _weighing(deployment: Deployment) -> str:
    """The weighting of labels for items without one, for signatures."""
    if deployment.inclusion is not None:
        return "weighted"
    if deployment.labelled.all() or not deployment.labelled.any():
        return ""
    return f"labels-of:{'cells' if deployment.strata is None else 'strata'}"


def untimed(deployment: Deployment) -> dict[str, str]:
    """The reason why labels without a measured time cost nothing, by the key of the price."""
    d = deployment
    if d.seconds is not None and (d.labelled & np.isfinite(d.seconds)).any():
        return {}
    return {
        "person": "no label was timed: give the seconds of the labels (--map "
        "active_seconds=COLUMN, or a column active_seconds in the file of labels)"
    }
