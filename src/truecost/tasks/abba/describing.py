"""The description of a deployment beside its ratios: cells, traffic, checks, and the plane of
thresholds.

Pure arrays: the last axis is the threshold, ascending. Only thresholds at or above the deployed one
are identified, because what B would accept below it was never collected (Petegrosso et al. 2022,
2.3 and A.3).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from truecost.core.digits import figure, percent, uncertain
from truecost.core.results import Estimate, Row
from truecost.errors import UsageError
from truecost.names import ChosenBy
from truecost.tasks.abba import checks as made
from truecost.tasks.abba.checks import BIASED, CheckFinding, LabelledCell, hold_cells
from truecost.tasks.abba.records import CELL_WORDS, CELLS, Array, Deployment, Ints, Mask

MOST = 20.0  # of a limit: no two models that are held against each other lie further apart


@dataclass(frozen=True)
class Rule:
    """A rule for thresholds: highest rRecall with rFPR <= limit, or lowest rFPR with rRecall >=
    limit.
    """

    name: Literal["max-rfpr", "min-rrecall"]
    limit: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.limit) and self.limit > 0):
            raise UsageError(f"--{self.name} is {self.limit:g}: give a ratio above 0, such as 1")
        if self.limit > MOST:
            raise UsageError(
                f"--{self.name} is {self.limit:g}: ratios of the two models are around 1 (did you "
                f"mean {self.limit / 100:g}?)"
            )

    def __str__(self) -> str:
        return f"{self.name}={self.limit:g}"

    @property
    def limits(self) -> str:
        """The measure that has to keep to the limit."""
        return "rfpr" if self.name == "max-rfpr" else "rrecall"

    def chosen(self, rrecall: Array, rfpr: Array) -> Ints:
        """Place of the chosen threshold in the last axis, -1 where none will do; shape (...).

        Of thresholds that tie the highest is taken (fewer false accepts) where the recall decides,
        the lowest (more recall) where the false accepts do. The ratios are (..., thresholds).
        """
        return self.bounded(rrecall, rfpr, rfpr if self.limits == "rfpr" else rrecall)

    def bounded(self, rrecall: Array, rfpr: Array, bound: Array) -> Ints:
        """Index of the best point whose bound keeps the limit; -1 without one; NaN keeps none."""
        known = np.isfinite(rrecall) & np.isfinite(rfpr) & ~np.isnan(bound)
        if self.limits == "rfpr":
            goal = np.where(known & (bound <= self.limit), rrecall, -np.inf)[..., ::-1]
            place = goal.shape[-1] - 1 - goal.argmax(axis=-1)
        else:
            goal = np.where(known & (bound >= self.limit), -rfpr, -np.inf)
            place = goal.argmax(axis=-1)
        return np.where(goal.max(axis=-1) > -np.inf, place, -1)


def improving(rrecall: Array, rfpr: Array) -> Mask:
    """Whether neither ratio is worse than 1 and one of them is better (the region of Figure 2)."""
    better = (rrecall >= 1) & (rfpr <= 1) & ((rrecall > 1) | (rfpr < 1))
    return np.asarray(better & np.isfinite(rrecall))


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold that a rule chose.

    `lower`, `upper`: interval of the thresholds chosen in the replicates. `feasible`: share of the
    replicates in which a threshold meets the limit. `binds`: false if a limit of rfpr is met at the
    lowest threshold that can be estimated, or a limit of rrecall at the highest one.
    """

    rule: str
    threshold: float | None  # None where none will do
    lower: float | None
    upper: float | None
    feasible: float  # share of the replicates in which some threshold will do
    binds: bool = True

    @property
    def limits(self) -> str:
        """The measure that has to keep to the limit."""
        return "rfpr" if self.rule.startswith("max-rfpr") else "rrecall"

    @property
    def limit(self) -> float:
        """The limit that it has to keep."""
        return float(self.rule.partition("=")[2])


class Plane(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="plane"):
    """Ratios of recalls and of false-positive rates at the thresholds of a grid, with pointwise
    intervals.

    Attributes
    ----------
    system, estimator : str
        Names of the deployment and of the estimator.
    thresholds : tuple of float
        Thresholds, ascending. The first one is the deployed threshold, unless a grid was given.
    rrecall, rrecall_lower, rrecall_upper, rfpr, rfpr_lower, rfpr_upper : tuple of float or None
        Ratio of recalls and ratio of false-positive rates at each threshold, with the ends of their
        intervals; None if undefined.
    deployed : float or None
        Deployed threshold of B; None for a test set.
    level : float
        Level of the intervals.
    better : tuple of float
        Lowest and highest threshold at which one ratio is better than 1 and the other is not worse;
        empty if there is none.
    chosen : tuple of Chosen
        Chosen threshold of each rule.
    by : {"point", "upper"}
        Quantity that meets the limits: the value (`point`), or the end of its interval (`upper`).
    collection, subset : str
        Names of the collection (empty if there is only one) and the subset (empty for all items).
    """

    system: str
    estimator: str
    thresholds: tuple[float, ...]
    rrecall: tuple[float | None, ...]
    rrecall_lower: tuple[float | None, ...]
    rrecall_upper: tuple[float | None, ...]
    rfpr: tuple[float | None, ...]
    rfpr_lower: tuple[float | None, ...]
    rfpr_upper: tuple[float | None, ...]
    deployed: float | None
    level: float
    better: tuple[float, ...] = ()
    chosen: tuple[Chosen, ...] = ()
    by: ChosenBy = "point"
    collection: str = ""
    subset: str = ""

    @property
    def about(self) -> str:
        """Name of the plane: collection, deployment and subset, then the estimator."""
        whose = filter(None, (self.collection, self.system, self.subset))
        return f"{', '.join(whose)} ({self.estimator})"

    def rows(self, rows: Iterable[Row], chosen: Chosen) -> dict[str, Row]:
        """Row of each measure for a `chosen` threshold; `rows` are those that `choose` returns."""
        variant = chosen.rule + (",by=upper" if self.by == "upper" else "")
        dims = {k: getattr(self, k) for k in ("system", "estimator", "collection", "subset")}
        about = {k: name for k, name in dims.items() if name}
        return {
            r.measure: r
            for r in rows
            if r.parameters.get("variant") == variant
            and {k: v for k, v in r.dims.items() if k != "application"} == about
        }


LEVEL = 0.95  # where no row has one


class CellCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of one cell: items, human labels, and labels 1 (`positives`).

    `share`: share of label 1, weighted by inverse inclusion probabilities. `machine`,
    `machine_known`: mean machine probability of all items, and of the labelled ones.
    `human_minus_machine`: `share` minus `machine_known`. `off`: whether this exceeds chance.
    """

    cell: str
    words: str
    items: int
    labels: int  # items with a human label
    positives: int  # with label 1
    share: float | None = None  # of label 1 among the labelled, by inverse inclusion probability
    machine: float | None = None  # mean probability that it gives all items
    machine_known: float | None = None  # the labelled ones, weighted as the share is
    human_minus_machine: float | None = None
    lower: float | None = None
    upper: float | None = None
    off: bool = False  # more than chance explains


class Description(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="deployment"):
    """Description of a deployment, stored with its rows.

    Attributes
    ----------
    system : str
        Name of the deployment.
    collection : str
        Name of the collection; empty if there is only one.
    items, labels : int
        Numbers of collected items, and of items with a human label.
    unit : str
        Name of the unit that is resampled; empty if each item is its own unit.
    units : tuple of int
        Numbers of units of A and of B: of all units if `units_known`, else of units with a
        collected item. Empty if unknown.
    units_known : bool
        Whether `units` counts all units.
    exposures : tuple of float
        Exposures of A and of B; empty if unknown.
    thresholds : tuple of float
        Deployed thresholds of A and of B; empty if only decisions are known.
    level : float
        Level of the confidence intervals of the cells.
    cells : tuple of CellCounts
        Counts of the cells 11A, 10A, 11B and 01B (see `Deployment.cell`).
    checks : tuple of CheckFinding
        Findings of the checks.
    """

    system: str
    collection: str = ""
    items: int
    labels: int
    unit: str = ""
    units: tuple[int, ...] = ()
    units_known: bool = False
    exposures: tuple[float, ...] = ()
    thresholds: tuple[float, ...] = ()
    level: float
    cells: tuple[CellCounts, ...]
    checks: tuple[CheckFinding, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Texts of the warnings. All cells whose machine scores are biased share one text."""
        found = [check for check in self.checks if check.state == "warning"]
        names = {check.name for check in found}
        wrong = [cell for cell in self.cells if f"machine {cell.cell}" in names]
        if len(wrong) < 2:
            return tuple(check.text for check in found)
        texts = (_where_wrong(wrong) if c.name.startswith("machine ") else c.text for c in found)
        return tuple(dict.fromkeys(texts))


def _where_wrong(cells: Sequence[CellCounts]) -> str:
    """The cells in which humans find other shares than the machine expects."""
    shares = ", ".join(
        f"{figure(cell.share, '%')} for {figure(cell.machine_known, '%')} in {cell.cell}"
        for cell in cells
        if cell.share is not None and cell.machine_known is not None
    )
    return f"shares of true accepts differ between humans and the machine: {shares}{BIASED}"


def describe(
    deployment: Deployment,
    estimates: Sequence[Estimate] = (),
    dims: Mapping[str, str] | None = None,
) -> Description:
    """Describe a deployment, and check it.

    Parameters
    ----------
    deployment : Deployment
        Deployment to describe.
    estimates : sequence of Estimate
        Result rows of the deployment, for the checks. Rows of other deployments and of subsets are
        ignored.
    dims : mapping of str to str, optional
        Key `collection`: name of the collection, if there are several.

    Returns
    -------
    Description
        Counts, exposures and findings.
    """
    about = {**(dims or {}), "system": deployment.name}
    rows = [r for r in estimates if "subset" not in r.dims and about.items() <= r.dims.items()]
    level = rows[0].level if rows else LEVEL
    machine = deployment.machine
    held = None if machine is None else hold_cells(deployment, machine, level)
    cells = tuple(_cell(deployment, k, held[k] if held else None) for k in range(len(CELLS)))
    traffic = deployment.traffic
    known, units = made.units_of(traffic), _units(deployment)
    thresholds = deployment.threshold_a, deployment.threshold_b
    return Description(
        system=deployment.name,
        collection=about.get("collection", ""),
        items=len(deployment),
        labels=int(deployment.labelled.sum()),
        unit=next(iter(deployment.units), ""),
        units=units if known is None else known,
        units_known=known is not None,
        exposures=traffic.exposures or (),
        thresholds=tuple(t for t in thresholds if t is not None),
        level=level,
        cells=cells,
        checks=(
            *made.split_found(traffic),
            *made.labels_found(deployment),
            *made.mix_found(made.label_mix(deployment)),
            *(f for cell in cells for f in _machine(cell, level)),
            *made.intervals_found(rows),
            *made.narrower_found(rows),
            CheckFinding(name="fixed size", state="note", text=made.FIXED_SIZE),
        ),
    )


def _units(deployment: Deployment) -> tuple[int, ...]:
    """Units of A and of B that collected something; nothing where items are on their own."""
    if not deployment.units:
        return ()
    codes = deployment.unit_codes[1]
    return tuple(len(np.unique(codes[deployment.arm == arm])) for arm in (0, 1))


def _cell(deployment: Deployment, k: int, held: LabelledCell | None) -> CellCounts:
    """One cell, with what humans and the machine, where there is one, say of it."""
    own = deployment.cell == k
    items, known = np.flatnonzero(own), np.flatnonzero(own & deployment.labelled)
    label, weight = deployment.label[known], deployment.label_weights[known]
    said: dict[str, Any] = {}
    if len(known):
        said["share"] = float(np.average(label, weights=weight))
    if deployment.machine is not None and len(items):
        said["machine"] = float(deployment.machine[items].mean())
    if held is not None and len(known):
        said |= {"machine_known": held.mean_probability, "human_minus_machine": held.difference}
        said["off"] = held.off
        if np.isfinite(held.standard_error):
            said |= {"lower": held.lower, "upper": held.upper}
    return CellCounts(
        cell=CELLS[k],
        words=CELL_WORDS[CELLS[k]],
        items=len(items),
        labels=len(known),
        positives=int(label.sum()),
        **said,
    )


def _machine(cell: CellCounts, level: float) -> list[CheckFinding]:
    """The distance of the machine from humans in a cell; None without machine scores or labels."""
    name, human, machine = cell.cell, cell.share, cell.machine_known
    if human is None or machine is None:
        return []
    text = f"{name}: humans find {figure(human, '%')} true accepts where the machine expects "
    off, ends = uncertain(human - machine, cell.lower, cell.upper, "pp", sign=True)
    text += f"{figure(machine, '%')}, a difference of {off} ({percent(level)} interval {ends})"
    text += BIASED if cell.off else ""
    return [CheckFinding(name=f"machine {name}", state=made.state(cell.off), text=text)]
