"""Methods on trials: from tables that hold runs to the estimates of each method.

A table holds one run or many; columns have the run of each row, and another one its method. Every
run is loaded and checked as a system is, and all runs must be scored on the same trials.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import polars as pl

from truecost.core import methods as core_methods
from truecost.core.results import Comparison, Side
from truecost.core.runs import Runs
from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError, counted, first_five, near, refuse_text
from truecost.formats import Table
from truecost.study.columns import Options
from truecost.tasks.trials.loading import check_classes, load
from truecost.tasks.trials.pairing import pair
from truecost.tasks.trials.records import Ints, Trials

FILE = "file"  # in place of a column: each file is a run
UNNAMED = "method"


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="claim"):
    """The claim about two methods that the data support, for one measure.

    Attributes
    ----------
    system, against : str
        The two methods.
    measure : str
        Label of the measure.
    dims : dict of str to str
        Application, where there are several.
    verdict : {"better", "worse", "same", "inconclusive"}
        Verdict on `system`; with `inconclusive` nothing is claimed.
    text : str
        Sentence with the difference, its size, what varied and what was held.
    """

    system: str
    against: str
    measure: str
    dims: dict[str, str] = {}
    verdict: Side
    text: str


@dataclass(frozen=True, eq=False)
class MethodTrials:
    """The runs of one method on their trials."""

    runs: Runs
    trials: tuple[Trials, ...]


@dataclass(frozen=True)
class RunColumns:
    """The columns with method and run of a row.

    `runs`: one or two columns, such as a seed and a training set; `file` stands for the file
    itself. `hold`: those of them that the mean does not resample.
    """

    runs: tuple[str, ...] = ("seed",)
    method: str | None = None
    hold: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_text(runs=self.runs, hold=self.hold)
        if not 1 <= len(self.runs) <= 2 or "" in self.runs or len({*self.runs}) < len(self.runs):
            raise UsageError(
                f"--runs {'+'.join(self.runs)} is not understood: name one column or two different "
                f"ones, such as seed or seed+training, or use {FILE} if each file is a run"
            )
        if self.method in (*self.runs, FILE):
            raise UsageError(
                f"--methods {self.method}: a column that distinguishes runs cannot name the "
                f"method; name another, or give files as NAME=PATTERN"
            )
        if unknown := [name for name in self.hold if name not in self.runs]:
            raise UsageError(
                f"--hold {'+'.join(unknown)}: only columns of --runs can be named "
                f"({', '.join(self.runs)})"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that every table must have."""
        own = (*self.runs, self.method)
        return tuple(name for name in own if name is not None and name != FILE)


Found = dict[str, dict[tuple[str, ...], Table]]


def load_methods(
    tables: Sequence[tuple[str, str, Table]],
    options: Options,
    columns: RunColumns | None = None,
    key: Table | None = None,
    metadata: Sequence[tuple[str, Table]] = (),
) -> list[MethodTrials]:
    """The methods that some tables hold.

    `tables`: method, file and content of each; the method is "" when a column names it, or there is
    only one. `columns`: a column `seed` when left out. `key` is joined to each run by id;
    `metadata` as `load` takes it. Methods are in the order in which they first occur, the runs of
    each in the order of their levels.
    """
    columns = columns or RunColumns()
    named = [bool(method) for method, _, _ in tables]
    if any(named) and (columns.method is not None or not all(named)):
        raise UsageError(
            "name the method of every file with NAME=PATTERN, or none and use --methods COLUMN"
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
                f"{name} {said}: its rows are in {known[run].source} and in {table.source}; a "
                f"run is in one file (when these are two methods, name them: NAME=PATTERN)"
            )
        known[run] = _part(table, np.array(row[""], np.int64), columns)


def _require(table: Table, column: str) -> None:
    if column in table.frame.columns:
        return
    raise UsageError(
        f"{table.source}: there is no column {column!r} to distinguish runs or methods"
        f"{near(column, table.frame.columns)}; {table.listed}: name one with --runs COLUMN, or use "
        f"--runs {FILE} when each file is a run"
    )


def _levels(table: Table, column: str) -> pl.Series:
    """A column that tells rows apart, as text; refused where it is empty."""
    texts = table.texts(column, "run")
    if texts.null_count():
        rows = texts.is_null().arg_true().head(6)
        raise InputError(
            f"{table.source}: column {column!r} is empty in {counted(texts.null_count(), 'row')} "
            f"({first_five(map(table.where, rows))}): fill in the run of every row"
        )
    return texts


def _part(table: Table, rows: Ints, columns: RunColumns) -> Table:
    """Some rows of a table, which know their lines in the file, without the columns that are the
    same in all of them.
    """
    noun, lines = table.places
    frame = table.frame.drop(columns.columns)[rows]
    matrices = {name: matrix[rows] for name, matrix in table.matrices.items()}
    return replace(table, frame=frame, matrices=matrices, lines=lines[rows], noun=noun)


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
) -> list[list[core_methods.MethodEstimate]]:
    """The results of the runs of each method: the whole, then each subset.

    All runs of all methods are scored on the same trials. For each method one for each measure,
    then one for each subset and measure; `dims` is what rows are about besides: an application.
    """
    from truecost.tasks.trials.work import WORK

    core_methods.refuse_bca(scoring.method)
    every = [trials for method in methods for trials in method.trials]
    if len(every) > 1:
        every = pair(every)
    masks = [mask for subset in scoring.subsets for mask in every[0].masks(subset)]
    rows = iter([WORK.score(trials, scoring, masks, dims) for trials in every])
    found = []
    for method in methods:
        by_run = [next(rows) for _ in method.trials]
        found.append(
            [
                core_methods.estimate_method(e, method.runs, scoring.plan)
                for e in zip(*by_run, strict=True)
            ]
        )
    return found


def against_first(
    found: Sequence[Sequence[core_methods.MethodEstimate]],
    estimator: core_methods.Estimator = "mean",
) -> list[list[Comparison]]:
    """Each later method against the first, row by row."""
    if len(found) < 2:
        only = found[0][0].runs.method if found else "none"
        raise UsageError(
            f"a comparison needs at least two methods, and there is only {only!r}: give files as "
            f"NAME=PATTERN, or use --methods COLUMN"
        )
    return [
        [
            core_methods.compare_methods(a, b, estimator)
            for a, b in zip(other, found[0], strict=True)
        ]
        for other in found[1:]
    ]
