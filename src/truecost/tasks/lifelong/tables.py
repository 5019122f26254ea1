"""Tables of scores across time, made elsewhere: score matrices, curves against cost, user weights.

- A *long* matrix has a row for each score: `version`, `time`, `score`; perhaps `learnt` (the time
  of the data that the version adapted to), `seed`, `id` (an item), `unit`, `weight`, `system`,
  `set` (test, or lifelong: the data that the version learnt from), and columns for subsets. In
  place of `score` it may have `base`, `adapted`, `impaired` and `corrected`, for penalised scores.
- A *wide* matrix has a row for each version, `version` and perhaps `learnt`, `seed` and `system`;
  every other column is named by a test time: the matrix of continual learning as it is.
- A *curve* has a row for each cost of interaction: `cost` (or seconds, words, actions, answers),
  and `score`, or `errors` and `n`; perhaps `seed`, `id`, `unit`, `weight`.

A version whose `learnt` is empty is the initial one, M_0. Without that column versions are named by
their times, and `initial`, or 0 where all tests are later, is M_0. Times are numbers or ISO dates.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.formats.moments import place_of
from truecost.tasks.lifelong import curves, matrix
from truecost.tasks.lifelong.cells import (
    COSTS,
    PLACE,
    ROW,
    WIDE,
    TableOptions,
    cells_of,
    close_to,
    renamed,
)
from truecost.tasks.lifelong.records import Lifelong

EVENT = "event"  # column of event logs


def is_log(columns: Sequence[str]) -> bool:
    """Whether a table is an event log, and no table of scores."""
    return EVENT in columns


def read_scores(table: Table, name: str, options: TableOptions | None = None) -> Lifelong:
    """The record of one system from a table of scores.

    Parameters
    ----------
    table : Table
        A long or wide matrix, or a curve.
    name : str
        Of the system; its rows are taken where the table has a column `system`.

    Returns
    -------
    Lifelong
        Of the kind `scores`, whose measure is `mean_score`.

    Raises
    ------
    UsageError
        When a column is missing or not known.
    InputError
        When a cell is not what it should be, scores repeat or are missing, or versions and times
        cannot be put in order; with the line.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.formats import Table
    >>> frame = pl.DataFrame({"version": [1, 2], "1": [0.9, 0.7], "2": [0.2, 0.8]})
    >>> read_scores(Table("m", frame), "mine", TableOptions(higher=True))
    <Lifelong 'mine': 2 versions, 2 times, 2 items>
    """
    how = options or TableOptions()
    known = renamed(table, how)
    if is_log(known.columns):
        raise UsageError(
            f"{table.source}: this is an event log (it has a column {EVENT!r}), and no table of "
            f"scores"
        )
    _refuse_headless(known)
    _refuse_own_names(known)
    if _is_curve(known):
        return curves.curve_of(known, name, how)
    _require_version(known)
    return matrix.lifelong_of(cells_of(known, name, how), name, how)


def _refuse_headless(table: Table) -> None:
    """A first line of numbers alone is a matrix without its names."""
    names = table.columns
    if len(names) > 1 and all((place_of(n) or ("date",))[0] == "number" for n in names):
        raise InputError(
            f"{table.source}, line 1: numbers ({first_five(names)}) where names of columns were "
            f"expected: begin with a line version,1,2,3 and each further line with its version"
        )


def _refuse_own_names(table: Table) -> None:
    """Refuse columns that are named as those which are laid beside them here."""
    for column in (ROW, PLACE):
        if column in table.columns:
            raise InputError(
                f"{table.source}, line 1: no column may be named {column!r}: give it another name"
            )


def _is_curve(table: Table) -> bool:
    """Whether a table has scores by cost, and neither versions nor times."""
    has = {*table.columns}
    return bool(has & {*COSTS}) and not has & {"version", "time"}


def _require_version(table: Table) -> None:
    """Refuse a table that is none of the three, saying what each has."""
    if "version" in table.columns:
        return
    if "" in table.columns and all(place_of(c) for c in table.columns if c not in ("", *WIDE)):
        raise InputError(
            f"{table.source}, line 1: the column of the versions has no name: call it version"
        )
    close = next((hint for c in table.columns if (hint := close_to(c, ["version"]))), "")
    raise UsageError(
        f"{table.source}: there is no column version{close}; {table.listed}: a score matrix has "
        f"version, time and score, or version and a column for each time; a curve has cost and "
        f"score; name other columns with --map version=COLUMN"
    )


def from_matrix(
    scores: npt.ArrayLike,
    *,
    times: Sequence[object] | None = None,
    versions: Sequence[object] | None = None,
    higher: bool | None = None,
    name: str = "matrix",
) -> Lifelong:
    """The record of a system from an array of scores: `s[i, j]` of version i on the test of time j.

    Parameters
    ----------
    scores : array_like, shape (versions, times) or (seeds, versions, times)
        NaN where there is no score.
    times : sequence, optional
        Numbers or ISO dates; 1, 2, ... when left out.
    versions : sequence, optional
        Times that they learnt at, or `initial`; those of the tests when left out, with the initial
        version first where there is one version more than there are times.
    higher : bool, optional
        Whether higher scores are better; nothing can be scored before that is said.
    name : str
        Of the system.

    Raises
    ------
    UsageError
        When the shape does not go with the names.
    InputError
        As `read_scores` says.
    """
    array = np.asarray(scores, np.float64)
    if array.ndim not in (2, 3):
        raise UsageError(
            f"scores have shape {array.shape}: (versions, times) or (seeds, versions, times) was "
            f"expected"
        )
    runs = array if array.ndim == 3 else array[None]
    at = [str(t) for t in (range(1, runs.shape[2] + 1) if times is None else times)]
    learnt = [str(v) for v in versions] if versions is not None else _as_times(at, runs.shape[1])
    if (len(learnt), len(at)) != runs.shape[1:]:
        raise UsageError(
            f"scores have shape {array.shape}, but there are {len(learnt)} versions and {len(at)} "
            f"times"
        )
    seeds = np.repeat(np.arange(runs.shape[0]), runs.shape[1]).astype(str)
    flat = runs.reshape(-1, len(at))
    frame = pl.DataFrame(
        {"version": learnt * runs.shape[0], "seed": seeds, **dict(zip(at, flat.T, strict=True))}
    )
    return read_scores(Table(name, frame), name, TableOptions(higher=higher))


def _as_times(times: list[str], versions: int) -> list[str]:
    """Versions that learnt at the times of the tests, in turn."""
    if versions == len(times) + 1:
        return ["initial", *times]
    return times


def read_weights(table: Table) -> dict[str, float]:
    """The weights of a user policy: a table with `time` and `weight`.

    Returns
    -------
    dict of str to float
        Weight of each time, by name.

    Raises
    ------
    UsageError
        When a column is missing.
    InputError
        When a time repeats or is empty, a weight is no number of 0 or more, or all are 0; with the
        line.
    """
    times, weights = table.texts("time", "time"), table.numbers("weight", "weight")
    found: dict[str, float] = {}
    for row, (time, weight) in enumerate(zip(times.to_list(), weights.tolist(), strict=True)):
        where = f"{table.source}, {table.where(row)}"
        if time is None:
            raise InputError(f"{where}: the time is empty: each weight needs its time")
        if time in found:
            raise InputError(f"{where}: time {time} has a weight already: give one for each time")
        if not (np.isfinite(weight) and weight >= 0):
            raise InputError(
                f"{where}: the weight of time {time} is {weight:g}: it must be a number of 0 or "
                f"more"
            )
        found[time] = weight
    if not any(found.values()):
        raise InputError(
            f"{table.source}: every weight is 0: at least one time must matter to the user"
        )
    return found


__all__ = [
    "TableOptions",
    "from_matrix",
    "is_log",
    "read_scores",
    "read_weights",
]
