"""Deployments without files: what two models collected, from arrays."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, checked, counted
from truecost.formats import Table
from truecost.names import Mismatch
from truecost.study.arguments import column_in, columns_in, further_columns, ids_in
from truecost.tasks.abba import MAP_KEYS
from truecost.tasks.abba.columns import LogOptions, load
from truecost.tasks.abba.records import Deployment

USERS = "give columns, {'unit': [...], 'collected_by': [...]}, or a frame of polars or pandas"


def collected_items(
    collected_by: npt.ArrayLike,
    *,
    score_a: npt.ArrayLike | None = None,
    score_b: npt.ArrayLike | None = None,
    accept_a: npt.ArrayLike | None = None,
    accept_b: npt.ArrayLike | None = None,
    label: npt.ArrayLike | None = None,
    machine: npt.ArrayLike | None = None,
    inclusion: npt.ArrayLike | None = None,
    stratum: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    threshold_a: float | None = None,
    threshold_b: float | None = None,
    exposure: tuple[float, float] | None = None,
    units: tuple[int, int] | None = None,
    split: float | None = None,
    users: Mapping[str, npt.ArrayLike] | pl.DataFrame | Any | None = None,
    mismatch: Mismatch = "error",
    raw_machine: bool = False,
    unlabelled: bool = False,
    name: str = "deployment",
    **columns: npt.ArrayLike,
) -> Deployment:
    """What two models collected, from arrays, with the same checks as files.

    Parameters
    ----------
    collected_by : array_like of str, shape (N,)
        The model that collected each item: "A" (deployed) or "B" (candidate).
    score_a, score_b : array_like of float, shape (N,), optional
        Scores of both models; decisions are needed in their place otherwise.
    accept_a, accept_b : array_like, shape (N,), optional
        Whether each model accepts an item.
    label : array_like, shape (N,), optional
        1 for a true accept, 0 for a false one, NaN or None where nobody labelled it.
    machine : array_like of float, shape (N,), optional
        Probability of label 1 that a machine gives.
    inclusion : array_like of float, shape (N,), optional
        Probability with which an item was chosen for a label, in (0, 1]; 1 when left out.
    stratum : array_like, shape (N,), optional
        Stratum in which items were chosen for labels; the cells when left out.
    unit : array_like, shape (N,), optional
        User or device, whose items are resampled together.
    ids : array_like, shape (N,), optional
        Ids of the items; their places when left out.
    threshold_a, threshold_b : float, optional
        Deployed thresholds; the least score that each model collected when left out.
    exposure : (float, float), optional
        Amount of traffic of A and of B in one unit, such as hours.
    units : (int, int), optional
        Number of units of A and of B, with those of which nothing was accepted.
    split : float, optional
        Share of the units that was meant for A, between 0 and 1.
    users : mapping of str to array_like, or frame of polars or pandas, optional
        Every unit, with those of which nothing was accepted: columns `unit`, `collected_by` and,
        where it differs, `exposure`.
    mismatch : {"error", "drop"}
        What to do with items that the model which collected them rejects offline.
    raw_machine : bool
        Accept any finite numbers as machine scores, to calibrate them.
    unlabelled : bool
        Accept neither labels nor machine scores, to select items for labels.
    name : str
        Name of the deployment.
    **columns : array_like, shape (N,)
        Further columns, for subsets.

    Returns
    -------
    Deployment
        Items in the order of their ids. Its `problems` say what a reader should know.

    Raises
    ------
    InputError
        When lengths differ, an arm is empty or not known, an item lacks what it needs, the model
        that collected it rejects it, a label or a probability is out of range, ids repeat, or
        nothing is known of the truth.
    UsageError
        When scores and decisions are both given, or of one model only, a number is out of range, or
        the name of a column is nearly that of an option.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.tasks.abba.arrays import collected_items
    >>> deployment = collected_items(
    ...     ["A", "A", "B", "B"],
    ...     score_a=[0.9, 0.6, 0.7, 0.2],
    ...     score_b=[0.8, 0.1, 0.9, 0.7],
    ...     label=[1, 0, 1, None],
    ...     threshold_a=0.5,
    ...     threshold_b=0.6,
    ... )
    >>> deployment.summary, deployment.cell.tolist()
    ('4 collected items, 3 labels', [0, 1, 2, 3])
    """
    further = further_columns(columns, collected_items, "item", MAP_KEYS)
    arrays = {
        "collected_by": collected_by,
        "score_a": score_a,
        "score_b": score_b,
        "accept_a": accept_a,
        "accept_b": accept_b,
        "label": label,
        "machine": machine,
        "inclusion": inclusion,
        "stratum": stratum,
        "unit": unit,
    }
    given = {key: column_in(key, array) for key, array in arrays.items() if array is not None}
    if ids is not None:
        given["id"] = ids_in(ids, "item")
    numbers = {"threshold_a": threshold_a, "threshold_b": threshold_b, "split": split}
    for parameter, number in numbers.items():
        if number is not None:
            checked(parameter, number, Real, "a number")
    options = LogOptions(
        {key: key for key in given},
        threshold_a,
        threshold_b,
        _pair("exposure", exposure),
        _pair("units", units),
        split,
        mismatch,
        _switch("raw_machine", raw_machine),
        _switch("unlabelled", unlabelled),
    )
    checked("name", name, str, "a text")
    listed = None if users is None else Table("users", columns_in("users", users, lambda: USERS))
    return load(Table(name, _frame(given | further)), options, name, listed)


def _frame(columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Columns of one length."""
    size = len(columns["collected_by"])
    for name, column in columns.items():
        if len(column) != size:
            what = "ids" if name == "id" else name
            raise InputError(
                f"{what}: {counted(len(column), 'entry', 'stand')} against {size} of collected_by: "
                f"one for each of the items is needed"
            )
    return pl.DataFrame(dict(columns))


def _pair(parameter: str, given: Any) -> Any:
    """Numbers of A and of B, as they are; UsageError for anything else."""
    if given is None:
        return None
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__len__"):
        raise UsageError(f"{parameter}: give two numbers, of arm A and of arm B")
    for k, number in enumerate(given):
        checked(f"{parameter}[{k}]", number, Real, "a number")
    return tuple(given)


def _switch(parameter: str, given: bool) -> bool:
    checked(parameter, given, (bool, np.bool_), "True or False")
    return bool(given)
