"""Validation of the log of a deployment: every fault, what is odd, and the labels of each cell."""

import numpy as np

from truecost.errors import counted
from truecost.formats import Table
from truecost.study.checks import Check
from truecost.tasks.abba.columns import LogOptions, load
from truecost.tasks.abba.log import Log
from truecost.tasks.abba.records import CELL_WORDS, CELLS, FEW, Deployment

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
    "without any the direct ratios cannot be told",
    "one model accepts all that the other collected",
)


def checks(
    table: Table, options: LogOptions, name: str = "deployment", users: Table | None = None
) -> list[Check]:
    """All checks of a log.

    Parameters
    ----------
    table : Table
        One row for each collected item.
    name : str
        Name of the deployment.
    users : Table, optional
        Every unit and its arm.

    Returns
    -------
    list of Check
        Every fault there is; warnings and the number of items and labels of each cell when there is
        none.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.formats import Table
    >>> from truecost.tasks.abba.checking import checks
    >>> from truecost.tasks.abba.columns import LogOptions
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
        told = str(error)
        faults.setdefault(told, Check(NAMES.get(part, part), "error", told))
    if faults:
        return [rows, *faults.values()]
    deployment = load(table, options, name, users)
    odd = [Check("log", "warning", f"{table.source}: {text}") for text in deployment.problems]
    return [rows, *odd, *_cells(deployment, table.source)]


def _cells(deployment: Deployment, source: str) -> list[Check]:
    """How many items and labels each cell has, and where labels are few."""
    found = [_cell(deployment, k, source) for k in range(len(CELLS))]
    if not deployment.labelled.any():
        told = "no item has a label: only estimates from machine scores, which nothing corrects"
        if deployment.machine is None:
            told = "neither labels nor machine scores yet: truecost abba select says what to label"
        found.append(Check("labels", "warning", f"{source}: {told}"))
    machine = deployment.machine
    if machine is not None and (machine.min() < 0 or machine.max() > 1):
        told = "machine scores are no probabilities yet: truecost abba calibrate makes them so"
        found.append(Check("machine", "warning", f"{source}: {told}"))
    return found


def _cell(deployment: Deployment, k: int, source: str) -> Check:
    labels = deployment.label[deployment.cell == k]
    counts = {y: int((labels == y).sum()) for y in (1, 0)}
    number = sum(counts.values())
    known = f"{counted(number, 'label')} ({counts[1]} of 1, {counts[0]} of 0)"
    told = f"{source}: {CELLS[k]} ({CELL_WORDS[CELLS[k]]}): {counted(len(labels), 'item')}, "
    told += known if number else "no labels"
    if not len(labels):
        return Check(CELLS[k], "warning", f"{told}; {EMPTY[k % 2]}")
    if np.isnan(deployment.label).all():
        return Check(CELLS[k], "ok", told)
    if not number:
        more = "; without a label here human labels alone give no ratio"
        return Check(CELLS[k], "warning", told + more)
    few = [f"{y}" for y in (1, 0) if counts[y] < FEW]
    if few:
        return Check(CELLS[k], "warning", f"{told}; fewer than {FEW} of {' and of '.join(few)}")
    return Check(CELLS[k], "ok", told)
