"""Reading the log of a deployment: what is refused with its line, and what is odd about it.

A threshold that was not the deployed one, arms or columns that are swapped and labels that were
lost leave no trace in a ratio or its interval: here they are held against the scores, the cells and
the inclusion probabilities.

Each collected item is a row: which model collected it, what both models say of it, and what is
known of its truth. `load` stops at the first fault; `checking` lists all of them.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from truecost.core.digits import figure
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.names import Mismatch
from truecost.options import check, check_fields, check_keys
from truecost.study.tables import DataTable
from truecost.study.validation import Check
from truecost.tasks.abba import MAP_KEYS
from truecost.tasks.abba.log import KINDS, Log
from truecost.tasks.abba.options import AbbaTable
from truecost.tasks.abba.records import ARMS, CELL_WORDS, CELLS, FEW, Array, Deployment, Floats

ENOUGH = 100  # items of an arm, from which the least of their scores tells of the threshold
LOWEST = 20  # scores of an arm, whose spacing the gap below them is held against
GAP, STEPS = 40, 2  # times the mean spacing of the lowest scores, and of the lowest values of them
ITEMS, RARE = 50, 0.01  # of an arm; and share of them that the other model rejects
LABELS = 20  # that are all alike
DEVIATIONS, APART = 4, 0.01  # standard deviations, and share of a stratum
ONE_LABEL = "are the labels of the other class missing?"
NAMES = {  # of the parts of a log that are not called as their columns
    "arm": "collected_by",
    "a": "model A",
    "b": "model B",
    "rejected_a": "mismatch A",
    "rejected_b": "mismatch B",
    "judged": "label",
    "units": "unit",
    "strata": "stratum",
}
EMPTY = (  # what a cell without items means, by whether the other model rejects them
    "without such items the direct ratios cannot be estimated",
    "one model accepts all that the other collected",
)


def plausibility_warnings(deployment: Deployment) -> tuple[str, ...]:
    """A warning about a log.

    - A threshold that lies below all scores of its arm by more than 40 times the mean spacing of
      the 20 lowest of them, and by more than twice that of their 20 lowest values (for scores that
      are rounded); from 100 items on. In an honest log the chance of it is (5/9)^19, once in
      70,000, where the density of the scores rises linearly from the threshold, far less where it
      is flat there, and once in 800 where it rises as the square.
    - A model that accepts all that the other collected, or all but 1%; from 50 items on.
    - At least 20 labels that are all alike.
    - Strata that have items but no label, where others have.
    - Inclusion probabilities pi_i of the labelled items of a stratum (a cell without strata) whose
      sum of 1/pi_i is off its number of items N by more than 1% and 4 standard deviations. These
      are of items chosen one by one: the variance is sum (1-pi_i)/pi_i^2, and N over the sum of
      1/pi_i times as much where that is short of N.
    """
    known = deployment.label[deployment.labelled]
    said = (*_thresholds(deployment), *_agreement(deployment))
    if is_one_label(known):
        said += (f"all {len(known)} labels are {known[0]:g}: {ONE_LABEL}",)
    return (*said, *_strata(deployment))


def _thresholds(deployment: Deployment) -> Iterator[str]:
    """Thresholds far below all that their models collected."""
    d = deployment
    sides = ((d.score_a, d.threshold_a), (d.score_b, d.threshold_b))
    for k, (scores, threshold) in enumerate(sides):
        if scores is None or threshold is None:
            continue
        own = scores[d.arm == k]
        if is_far_below(threshold, own):
            name = ARMS[k]
            yield (
                f"{name}'s threshold is {threshold:.10g}, but none of the "
                f"{counted(len(own), 'item')} that it collected scores below {own.min():.10g}: is "
                f"{threshold:.10g} the deployed one? (--threshold-{name.lower()})"
            )


def is_far_below(threshold: float, scores: Floats) -> bool:
    """Whether a threshold is too far below what it let through (see `plausibility_warnings`)."""
    if len(scores) < ENOUGH:
        return False
    values = np.unique(scores)[:LOWEST]
    lowest = np.sort(np.partition(scores, LOWEST)[:LOWEST])
    apart = (GAP * _spacing(lowest), STEPS * _spacing(values))
    return bool(lowest[0] - threshold > max(apart))


def _spacing(ordered: Floats) -> float:
    """Mean spacing of numbers in order; infinite for a single one, which tells nothing."""
    return float(np.ptp(ordered) / (len(ordered) - 1)) if len(ordered) > 1 else np.inf


def _agreement(deployment: Deployment) -> Iterator[str]:
    """Models that accept nearly all that the other collected."""
    found = []
    for k, cells in enumerate(deployment.items_by_cell.reshape(2, 2)):
        both, own = int(cells[0]), int(cells.sum())
        if own >= ITEMS and own - both < RARE * own:
            share = "all" if both == own else "nearly all"
            more = "" if both == own else f" ({figure(both / own, '%')})"
            found.append(f"{ARMS[1 - k]} accepts {share} that {ARMS[k]} collected{more}")
    if found:
        what = "decisions" if deployment.score_a is None else "scores"
        asked = f"are the arms, or the columns of {what}, swapped?"
        if len(found) == 1:
            asked = f"unless it is the same model at a lower threshold, {asked}"
        yield f"{' and '.join(found)}: {asked}"


def is_one_label(known: Floats) -> bool:
    """Whether there are labels enough to expect both, and all are alike."""
    return len(known) >= LABELS and bool((known == known[0]).all())


def _strata(deployment: Deployment) -> Iterator[str]:
    """Strata without labels, and those that the probabilities of their labels contradict."""
    d = deployment
    known = d.labelled
    if not known.any():
        return
    names, codes = d.stratum_codes
    sizes = np.bincount(codes, minlength=len(names))
    labels = np.bincount(codes[known], minlength=len(names))
    bare = names[(labels == 0) & (sizes > 0)]
    if d.strata is not None and len(bare):
        yield (
            f"{len(bare)} {'stratum has' if len(bare) == 1 else 'strata have'} items but no label "
            f"({first_five(bare)}): estimates use labels of other strata for them"
        )
    if d.inclusion is not None:
        yield from _inclusion(d, names, codes, sizes)


def _inclusion(deployment: Deployment, names: Array, codes: Array, sizes: Array) -> Iterator[str]:
    """Strata that have other numbers of items than their labels stand for."""
    known = deployment.labelled
    assert deployment.inclusion is not None
    pi, of = deployment.inclusion[known], codes[known]
    stands = np.bincount(of, 1 / pi, len(names))
    variance = np.bincount(of, (1 - pi) / pi**2, len(names))
    variance *= np.maximum(sizes / np.where(stands > 0, stands, 1), 1)
    off = np.abs(stands - sizes)
    wrong = (stands > 0) & (off > DEVIATIONS * np.sqrt(variance)) & (off > APART * sizes)
    if wrong.any():
        told = first_five(
            f"{figure(stands[k])} items in {names[k]}, which has {sizes[k]}"
            for k in np.flatnonzero(wrong)
        )
        yield (
            f"the labels and their inclusion probabilities do not fit the number of items: they "
            f"represent {told}. Rows of labels are missing, or the probabilities are those of "
            f"another choice"
        )


@dataclass(frozen=True)
class LogOptions:
    """Meaning of the columns of a log, and facts about the deployment.

    Parameters
    ----------
    columns : mapping of str to str
        Column for each key (`truecost list map`). A column with the name of a key needs no entry.
        Map the scores of both models, or the decisions of both. If scores and decisions are both
        found by name, the scores are used.
    threshold_a, threshold_b, exposure, units, split, mismatch, raw_machine, unlabelled
        Arguments of `collected_items`. A model accepts scores at or above its threshold.

    Raises
    ------
    UsageError
        If a choice or a key does not exist, a number is out of range, or scores and decisions are
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
        for arm, value in zip("ab", self.thresholds, strict=True):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"--threshold-{arm} is {value:g}: a threshold is a finite number")
        given = _numbers_by_arm("exposure", self.exposure) | _numbers_by_arm("units", self.units)
        check(DataTable(split=self.split, **given))

    @property
    def thresholds(self) -> tuple[float | None, float | None]:
        """Deployed thresholds of A and of B; None for one that was not given."""
        return self.threshold_a, self.threshold_b

    @property
    def mapped_kinds(self) -> list[str]:
        """Kinds of the mapped columns: `score`, `accept`, or both."""
        return [kind for kind in KINDS if any(f"{kind}_{arm}" in self.columns for arm in "ab")]

    def column(self, key: str, table: Table) -> str | None:
        """Column that is mapped to a key, else the column named as the key, else None."""
        return self.columns.get(key, key if key in table.columns else None)


def _numbers_by_arm(option: str, given: tuple[float, float] | None) -> dict[str, Any]:
    """The number of each arm by its key; none where nothing was given."""
    if given is not None and len(given) != len(ARMS):
        raise UsageError(
            f"{option} has {counted(len(given), 'number')}: give two, of arm A and of arm B"
        )
    return {f"{option}_{arm}": number for arm, number in zip("ab", given or (), strict=False)}


def load(
    table: Table, options: LogOptions, name: str = "deployment", users: Table | None = None
) -> Deployment:
    """Make a deployment from a log.

    Parameters
    ----------
    table : Table
        Log with a row for each collected item.
    options : LogOptions
        Meaning of the columns, and facts about the deployment.
    name : str
        Name of the deployment.
    users : Table, optional
        All units with their arm, including units without a collected item: columns `unit` and
        `collected_by` (or the names of the log), and `exposure` if it differs between units.

    Returns
    -------
    Deployment
        Items in the order of their ids.

    Raises
    ------
    InputError
        If an arm has no items, a collecting model is neither A nor B, an item lacks a value or is
        rejected by its collecting model, a label or a probability is out of range, ids repeat, or
        there are neither labels nor machine scores. The message contains the file, and the lines
        and ids of the first five items.
    UsageError
        If a column does not exist, or the options contradict each other or the table.
    """
    if len(table) == 0:
        raise InputError(f"{table.source}: there are no items")
    log = Log(table, options, users)
    for _, fault in log.faults():
        raise fault
    order = log.ids.arg_sort().to_numpy()
    every = Deployment(
        name=name,
        ids=log.ids.to_numpy(),
        arm=log.arm,
        other=np.where(log.arm == 0, log.b.accepts, log.a.accepts),
        label=log.label,
        machine=log.machine,
        inclusion=log.inclusion,
        seconds=log.seconds,
        score_a=log.a.scores,
        score_b=log.b.scores,
        threshold_a=log.a.threshold,
        threshold_b=log.b.threshold,
        strata=None if log.strata is None else log.strata.to_numpy(),
        units=log.units,
        frame=table.frame,
        signature=log.signature,
    )
    found = every.take(order[~(log.rejected_a | log.rejected_b)[order]])
    found = replace(found, traffic=log.traffic)
    return replace(found, problems=(*log.problems(), *plausibility_warnings(found)))


def checks(
    table: Table, options: LogOptions, name: str = "deployment", users: Table | None = None
) -> list[Check]:
    """Every fault of a log; where there is none, warnings, and how many items and labels each cell
    has.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.formats import Table
    >>> from truecost.tasks.abba.columns import LogOptions, checks
    >>> columns = {"collected_by": ["A", "C"], "accept_a": [1, 0], "accept_b": [1, 1]}
    >>> log = Table("log.csv", pl.DataFrame({**columns, "label": [1, 2]}))
    >>> for check in checks(log, LogOptions()):
    ...     print(check.state, check.name)
    ok rows
    error collected_by
    error label
    """
    read = f" ({table.layout})" if table.layout else ""
    rows = Check("rows", "ok", f"{table.source}: {counted(len(table), 'row')} read{read}")
    faults: dict[str, Check] = {}  # by message: what one fault spoils fails for the same
    for part, error in Log(table, options, users).faults():
        faults.setdefault(str(error), Check(NAMES.get(part, part), "error", str(error)))
    if faults:
        return [rows, *faults.values()]
    deployment = load(table, options, name, users)
    odd = [Check("log", "warning", f"{table.source}: {text}") for text in deployment.problems]
    return [rows, *odd, *_cell_checks(deployment, table.source)]


def _cell_checks(deployment: Deployment, source: str) -> list[Check]:
    """Numbers of items and labels of each cell, with warnings about few labels."""
    found = [_cell(deployment, k, source) for k in range(len(CELLS))]
    machine = deployment.machine
    if not deployment.labelled.any():
        text = "no item has a label: only estimates from machine scores, without correction"
        if machine is None:
            text = (
                "neither labels nor machine scores yet: choose items to label with truecost "
                "abba select"
            )
        found.append(Check("labels", "warning", f"{source}: {text}"))
    if machine is not None and (machine.min() < 0 or machine.max() > 1):
        text = (
            "machine scores are not probabilities yet: calibrate them with truecost abba calibrate"
        )
        found.append(Check("machine", "warning", f"{source}: {text}"))
    return found


def _cell(deployment: Deployment, k: int, source: str) -> Check:
    labels = deployment.label[deployment.cell == k]
    counts = {y: int((labels == y).sum()) for y in (1, 0)}
    number = sum(counts.values())
    known = f"{counted(number, 'label')} ({counts[1]} of 1, {counts[0]} of 0)"
    text = f"{source}: {CELLS[k]} ({CELL_WORDS[CELLS[k]]}): {counted(len(labels), 'item')}, "
    text += known if number else "no labels"
    few = [f"{y}" for y in (1, 0) if counts[y] < FEW]
    warning = ""
    if not len(labels):
        warning = EMPTY[k % 2]
    elif deployment.labelled.any() and not number:
        warning = "without labels in this cell, human labels alone give no ratio"
    elif number and few:
        warning = f"fewer than {FEW} labels of {' and of '.join(few)}"
    return Check(CELLS[k], "warning" if warning else "ok", text + f"; {warning}" * bool(warning))
