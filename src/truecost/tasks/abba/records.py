"""What a deployment of two models collected: each accepted item, with what the other model says.

Two models run on random shares of the traffic, A (deployed) and B (candidate). Only what a model
accepts is collected; the other model decodes it offline. Every item lies in one of four *cells*,
arm x agreement, in the order of `CELLS`: collected by A and accepted by B too (`11A`), collected by
A alone (`10A`), collected by B and accepted by A too (`11B`), collected by B alone (`01B`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.core.subsets import Masks, masks_of
from truecost.errors import counted

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
ARMS = ("A", "B")
CELLS = ("11A", "10A", "11B", "01B")
FEW = 5  # items of a label in a cell, below which intervals are those of the delta method
CELL_WORDS = {
    "11A": "collected by A, accepted by both",
    "10A": "collected by A, accepted by A alone",
    "11B": "collected by B, accepted by both",
    "01B": "collected by B, accepted by B alone",
}


@dataclass(frozen=True, eq=False)
class Traffic:
    """What is known of the traffic that the two arms saw.

    Attributes
    ----------
    exposure : tuple of float, optional
        Amount of traffic of A and of B in one unit: streams, hours, devices.
    units : tuple of int, optional
        Number of units (users, devices, streams) of A and of B, those included of which nothing was
        accepted.
    split : float, optional
        Share of the units that was meant for A, between 0 and 1.
    users : polars.DataFrame, optional
        Every unit: columns `unit` (text), `arm` (0 for A, 1 for B) and `exposure` (float).
    """

    exposure: tuple[float, float] | None = None
    units: tuple[int, int] | None = None
    split: float | None = None
    users: pl.DataFrame | None = None

    @property
    def exposures(self) -> tuple[float, float] | None:
        """Exposure of A and of B: as given, of all users, or their numbers; None when unknown."""
        if self.exposure is not None:
            return self.exposure
        if self.users is not None:
            arm, exposure = self.users["arm"].to_numpy(), self.users["exposure"].to_numpy()
            return float(exposure[arm == 0].sum()), float(exposure[arm == 1].sum())
        return None if self.units is None else (float(self.units[0]), float(self.units[1]))


@dataclass(frozen=True, eq=False)
class Deployment:
    """The items that two models collected.

    Attributes
    ----------
    name : str
        Name of the deployment (of the candidate, say).
    ids : ndarray of str, shape (N,)
        Sorted.
    arm : ndarray of uint8, shape (N,)
        The model that collected the item: 0 for A, 1 for B.
    other : ndarray of bool, shape (N,)
        Whether the other model accepts the item offline.
    label : ndarray of float64, shape (N,)
        1 for a true accept, 0 for a false one, NaN where nobody labelled it.
    machine : ndarray of float64, shape (N,), optional
        Probability of label 1 that a machine gives each item.
    inclusion : ndarray of float64, shape (N,), optional
        Probability with which an item was chosen for a label, in (0, 1]; 1 when left out.
    score_a, score_b : ndarray of float64, shape (N,), optional
        Scores of the two models; None where only decisions are known.
    threshold_a, threshold_b : float, optional
        Deployed thresholds: a model accepts a score at or above its own.
    strata : ndarray of str, shape (N,), optional
        Strata in which items were chosen, or are to be chosen, for labels; the cells when left out.
    units : mapping of str to tuple of ndarray, shape (N,)
        By name of the factor the user or device of each item; each item on its own when empty.
    traffic : Traffic
        Exposures and numbers of units.
    frame : polars.DataFrame
        All columns, one row an item, in the order of the ids: for subsets.
    signature : str
        Choices made while reading, separated by bars.
    problems : tuple of str
        What a reader should know.
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

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """The columns that subsets are told by, and what a row of them is."""
        return ((self.frame, self.item),)

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Ids with the models that collected them and their labels; rows have no order."""
        return (pl.DataFrame({"id": self.ids, "arm": self.arm, "label": self.label}),)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Ids with what the other model said, and the scores; rows have no order."""
        scores = {"a": self.score_a, "b": self.score_b, "machine": self.machine}
        known = {name: values for name, values in scores.items() if values is not None}
        return (pl.DataFrame({"id": self.ids, "other": self.other, **known}),)

    def __repr__(self) -> str:
        return f"<Deployment {self.name!r}: {self.summary}>"

    @property
    def summary(self) -> str:
        """What there is, in a few words."""
        labels = counted(int(self.labelled.sum()), "label")
        machine = "" if self.machine is None else ", machine scores"
        return f"{counted(len(self), 'collected item')}, {labels}{machine}"

    @cached_property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which items have a human label."""
        return ~np.isnan(self.label)

    @cached_property
    def cell(self) -> npt.NDArray[np.uint8]:
        """Cell of each item, its place in `CELLS`."""
        return (2 * self.arm + ~self.other).astype(np.uint8)

    @cached_property
    def unit_codes(self) -> tuple[Array, npt.NDArray[np.int32]]:
        """Sorted units as text, and the unit of each item; the items themselves without units."""
        if not self.units:
            return self.ids, np.arange(len(self), dtype=np.int32)
        [(column,)] = self.units.values()
        labels, codes = encode(column)  # as they are: numbers are encoded faster than texts
        texts, places = encode(labels.astype(str).astype(object))
        return texts, places[codes]

    @cached_property
    def label_weights(self) -> Floats:
        """How many items each labelled one stands for: 1 over its inclusion probability.

        Without such probabilities the labels of a stratum (of a cell where there are no strata)
        count as a simple random sample of it. 1 for items without a label; shape (N,).
        """
        weights = np.ones(len(self))
        known = self.labelled
        if self.inclusion is not None:
            weights[known] = 1 / self.inclusion[known]
        elif not known.all():
            codes = self.cell if self.strata is None else encode(self.strata)[1]
            found = np.bincount(codes[known], minlength=int(codes.max(initial=0)) + 1)
            share = np.bincount(codes, minlength=len(found)) / np.maximum(found, 1)
            weights[known] = share[codes[known]]
        return weights

    @cached_property
    def effective_labels(self) -> Floats:
        """Labels of each cell, counted less where they weigh unequally: (sum w)^2 / sum w^2."""
        known, weights = self.labelled, self.label_weights
        sums = np.bincount(self.cell[known], weights[known], minlength=4)
        squares = np.bincount(self.cell[known], weights[known] ** 2, minlength=4)
        return np.asarray(sums**2 / np.where(squares > 0, squares, 1.0))

    @cached_property
    def items_by_cell(self) -> npt.NDArray[np.int64]:
        """Number of items in each cell, in the order of `CELLS`."""
        return np.bincount(self.cell, minlength=4)

    @cached_property
    def labels_by_cell(self) -> npt.NDArray[np.int64]:
        """Number of human labels in each cell, in the order of `CELLS`."""
        return np.bincount(self.cell[self.labelled], minlength=4)

    def at_threshold(self, threshold: float) -> "Deployment":
        """What would have been collected had B accepted at this threshold, at or above its own.

        Returns
        -------
        Deployment
            With the labels weighing what they weigh here.
        """
        assert self.score_b is not None
        reaches, by_a = self.score_b >= threshold, self.arm == 0
        found = replace(
            self,
            other=np.where(by_a, reaches, self.other),
            inclusion=1 / self.label_weights,
        ).take(np.flatnonzero(by_a | reaches))
        return replace(found, traffic=self.traffic, threshold_b=threshold)

    def take(self, rows: Array) -> "Deployment":
        """The items at these rows (indices or a mask), as of a subset: its traffic is unknown."""

        def some(column: Array | None) -> Any:
            return None if column is None else column[rows]

        return replace(
            self,
            ids=self.ids[rows],
            arm=self.arm[rows],
            other=self.other[rows],
            label=self.label[rows],
            machine=some(self.machine),
            inclusion=some(self.inclusion),
            score_a=some(self.score_a),
            score_b=some(self.score_b),
            strata=some(self.strata),
            units={name: tuple(side[rows] for side in of) for name, of in self.units.items()},
            traffic=Traffic(),
            frame=self.frame[np.flatnonzero(rows) if rows.dtype == bool else rows]
            if self.frame.width
            else self.frame,
        )

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Name and rows of each subset that a column or a condition gives (see `masks_of`)."""
        return masks_of(self.frame, subset, self.name, "item")
