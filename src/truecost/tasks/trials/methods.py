"""Methods on trials: from tables that hold runs to the estimates of each method.

A table holds one run or many; columns tell the run of each row, and another one its method. Every
run is loaded and checked as a system is, and all runs must be scored on the same trials.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.methods import (
    Estimator,
    MethodEstimate,
    compare_methods,
    estimate_method,
    refuse_bca,
)
from truecost.core.results import Comparison
from truecost.core.runs import Runs
from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError, counted, first_five, near, refuse_text
from truecost.formats import Table
from truecost.study.columns import Options
from truecost.tasks.trials.loading import check_classes, load, pair
from truecost.tasks.trials.records import Trials

FILE = "file"  # in place of a column: each file is a run
UNNAMED = "method"


@dataclass(frozen=True, eq=False)
class MethodTrials:
    """The runs of one method on their trials.

    Attributes
    ----------
    runs : Runs
        What tells the runs apart.
    trials : tuple of Trials
        One for each run, in their order.
    """

    runs: Runs
    trials: tuple[Trials, ...]

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.runs.method


@dataclass(frozen=True)
class RunColumns:
    """Which columns tell method and run of a row.

    Parameters
    ----------
    runs : tuple of str
        One or two columns, such as a seed and a training set; `file` stands for the file itself.
    method : str, optional
        Column that names the method of each row.
    hold : tuple of str
        Those of `runs` that the mean does not resample.

    Raises
    ------
    UsageError
        When there is not one column or two, one stands twice, or a held one is not among them.
    """

    runs: tuple[str, ...] = ("seed",)
    method: str | None = None
    hold: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_text(runs=self.runs, hold=self.hold)
        if not 1 <= len(self.runs) <= 2 or "" in self.runs or len({*self.runs}) < len(self.runs):
            raise UsageError(
                f"--runs {'+'.join(self.runs)} is not understood: name one column or two different "
                f"ones, such as seed or seed+training, or say {FILE} when each file is a run"
            )
        if self.method in (*self.runs, FILE):
            raise UsageError(
                f"--methods {self.method}: a column that tells runs apart cannot name the method; "
                f"name another, or give files as NAME=PATTERN"
            )
        if unknown := [name for name in self.hold if name not in self.runs]:
            raise UsageError(
                f"--hold {'+'.join(unknown)}: only what --runs names can be held "
                f"({', '.join(self.runs)})"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that every table must have."""
        return (
            *(name for name in self.runs if name != FILE),
            *((self.method,) if self.method is not None else ()),
        )


@dataclass(frozen=True, eq=False)
class RunTable(Table):
    """The rows of one run, which know their lines in the file.

    Attributes
    ----------
    rows : ndarray of int, shape (rows,)
        Place of each row in the file.
    """

    rows: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def where(self, row: int) -> str:
        """How a row is named in messages: by its line in the file where it has one."""
        return super().where(int(self.rows[row]))


Found = dict[str, dict[tuple[str, ...], Table]]


def load_methods(
    tables: Sequence[tuple[str, str, Table]],
    options: Options,
    columns: RunColumns | None = None,
    key: Table | None = None,
    metadata: Sequence[tuple[str, Table]] = (),
) -> list[MethodTrials]:
    """The methods that some tables hold.

    Parameters
    ----------
    tables : sequence of (str, str, Table)
        Method, file and content of each; the method is "" when a column names it, or there is only
        one.
    options : Options
        What the columns of the trials mean.
    columns : RunColumns, optional
        What tells runs and methods apart; a column `seed` when left out.
    key : Table, optional
        Labels and units, joined to each run by id.
    metadata : sequence of (str, Table)
        Further columns of the trials (see `load`).

    Returns
    -------
    list of MethodTrials
        In the order in which they first occur, the runs of each in the order of their levels.

    Raises
    ------
    UsageError
        When a column is missing, only some tables have a method, or as `load` says.
    InputError
        When a run stands in several tables, a level is empty, or as `load` says.

    Examples
    --------
    >>> import polars as pl
    >>> import truecost as tc
    >>> from truecost.formats import Table
    >>> from truecost.tasks.trials.methods import load_methods
    >>> frame = pl.DataFrame({"id": [1, 2, 1, 2], "label": [1, 0, 1, 0], "score": [2, -1, 1, -3]})
    >>> table = Table("runs.csv", frame.with_columns(seed=pl.Series([1, 1, 2, 2])))
    >>> [method] = load_methods([("cnn", "runs.csv", table)], tc.trials.Options("llr"))
    >>> method.runs.levels, [len(trials) for trials in method.trials]
    ({'seed': ('1', '2')}, [2, 2])
    """
    columns = columns or RunColumns()
    named = [bool(method) for method, _, _ in tables]
    if any(named) and (columns.method is not None or not all(named)):
        raise UsageError(
            "name the method of every file with NAME=PATTERN, or none and say --methods COLUMN"
        )
    found: Found = {}
    for method, file, table in tables:
        _split(found, method or UNNAMED, file, table, columns)

    def read(name: str, table: Table) -> Trials:
        trials = load(table, options, name, key, metadata)
        check_classes(trials)
        return trials

    return [_method(name, runs, columns, read) for name, runs in found.items()]


def _split(found: Found, method: str, file: str, table: Table, columns: RunColumns) -> None:
    """Put the rows of each run where they belong."""
    for column in columns.columns:
        _require(table, column)
    if len(table) == 0:
        raise InputError(f"{table.source}: there are no trials")
    levels = {name: _levels(table, name) for name in columns.columns}
    frame = pl.DataFrame([column.alias(name) for name, column in levels.items()])
    places = pl.Series("", np.arange(len(table)))
    groups = pl.DataFrame({"": [places]})
    if levels:
        keys = list(levels)
        groups = frame.with_columns(places).group_by(keys, maintain_order=True).agg("")
    for row in groups.iter_rows(named=True):
        name = row[columns.method] if columns.method is not None else method
        run = tuple(file if column == FILE else row[column] for column in columns.runs)
        known = found.setdefault(name, {})
        said = ", ".join(f"{k} {v}" for k, v in zip(columns.runs, run, strict=True))
        if run in known:
            raise InputError(
                f"{name} {said}: its rows stand in {known[run].source} and in {table.source}; a "
                f"run is in one file (when these are two methods, name them: NAME=PATTERN)"
            )
        known[run] = _part(table, np.array(row[""], np.int64), columns)


def _require(table: Table, column: str) -> None:
    if column in table.frame.columns:
        return
    raise UsageError(
        f"{table.source}: there is no column {column!r} that tells runs or methods apart"
        f"{near(column, table.frame.columns)}; {table.listed}: name one with --runs COLUMN, or say "
        f"--runs {FILE} when each file is a run"
    )


def _levels(table: Table, column: str) -> pl.Series:
    """A column that tells rows apart, as text; refused where it is empty."""
    texts = table.texts(column, "run")
    if texts.null_count():
        rows = texts.is_null().arg_true().head(6)
        raise InputError(
            f"{table.source}: column {column!r} is empty in "
            f"{counted(texts.null_count(), 'row')} ({first_five(map(table.where, rows))}): say "
            f"of every row to which run it belongs"
        )
    return texts


def _part(table: Table, rows: npt.NDArray[np.int64], columns: RunColumns) -> RunTable:
    """Some rows of a table, without the columns that are the same in all of them."""
    parts = {
        "frame": table.frame.drop(columns.columns)[rows],
        "matrices": {name: matrix[rows] for name, matrix in table.matrices.items()},
        "rows": rows,
    }
    return RunTable(**{f.name: getattr(table, f.name) for f in fields(Table)} | parts)


def _method(
    name: str,
    found: Mapping[tuple[str, ...], Table],
    columns: RunColumns,
    read: Callable[[str, Table], Trials],
) -> MethodTrials:
    """The runs of one method, in the order of their levels."""
    order = sorted(found)
    levels = {column: tuple(run[k] for run in order) for k, column in enumerate(columns.runs)}
    runs = Runs(name, levels, columns.hold)
    trials = [read(f"{name} {runs.named(run)}", found[run]) for run in order]
    return MethodTrials(runs, tuple(trials))


def score_methods(
    methods: Sequence[MethodTrials], scoring: Scoring, dims: Mapping[str, str] | None = None
) -> list[list[MethodEstimate]]:
    """What the runs of each method tell: the whole, then each subset.

    Parameters
    ----------
    methods : sequence of MethodTrials
        All runs of all methods scored on the same trials.
    dims : mapping of str to str, optional
        What the rows are about besides the method: an application.

    Returns
    -------
    list of list of MethodEstimate
        For each method one for each measure, then one for each subset and measure.

    Raises
    ------
    UsageError
        When trials have no ids, bca intervals are asked for, or as `score` says.
    InputError
        When ids, labels or units of the trials do not agree, or as `score` says.
    """
    from truecost.tasks.trials.work import WORK

    refuse_bca(scoring.method)
    every = [trials for method in methods for trials in method.trials]
    if len(every) > 1:
        every = pair(every)
    masks = [mask for subset in scoring.subsets for mask in every[0].masks(subset)]
    rows = iter([WORK.score(trials, scoring, masks, dims) for trials in every])
    found = []
    for method in methods:
        by_run = [next(rows) for _ in method.trials]
        found.append(
            [estimate_method(e, method.runs, scoring.plan) for e in zip(*by_run, strict=True)]
        )
    return found


def against_first(
    found: Sequence[Sequence[MethodEstimate]], estimator: Estimator = "mean"
) -> list[list[Comparison]]:
    """Each later method against the first, row by row.

    Parameters
    ----------
    found : sequence of sequence of MethodEstimate
        As `score_methods` gives them.
    estimator : {"mean", "run"}

    Raises
    ------
    UsageError
        When there is only one method.
    """
    if len(found) < 2:
        only = found[0][0].runs.method if found else "none"
        raise UsageError(
            f"a comparison needs at least two methods, and there is only {only!r}: give files as "
            f"NAME=PATTERN, or say --methods COLUMN"
        )
    return [
        [compare_methods(a, b, estimator) for a, b in zip(other, found[0], strict=True)]
        for other in found[1:]
    ]
