"""Tables of scores across time, made elsewhere: score matrices, curves against cost, user weights.

- A *long* matrix has a row for each score: `version`, `time`, `score`; perhaps `learnt` (the time
  of the data that the version adapted to), `seed`, `id` (an item), `unit`, `weight`, `system`,
  `set` (test, or lifelong: the data that the version learnt from), and columns for subsets. In
  place of `score` it may have `base`, `adapted`, `impaired` and `corrected`, for penalised scores.
- A *wide* matrix has a row for each version, `version` and perhaps `learnt`, `seed` and `system`;
  every other column is named by a test time: the matrix of continual learning as it is.
- A *curve* has a row for each cost of interaction: `cost` (or seconds, words, actions, answers),
  and `score`, or `errors` and `n`; perhaps `seed`, `id`, `unit`, `weight`. Each cost is a version.
  Between two costs the last score holds (Prokopalo et al. 2020, section 2.1 and Fig. 2).

An empty `learnt` is that of the initial version, M_0. Without that column, versions are named by
their times; `initial`, or 0 before all tests, is M_0. Times are numbers or ISO dates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.measure import Floats
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import Table
from truecost.formats.matrices import tidied
from truecost.formats.table import place_of, refuse_values
from truecost.tasks.lifelong.cells import (
    CLOSE,
    LONG,
    PLACE,
    ROW,
    TEST,
    UNSAID,
    Axis,
    Cells,
    finite,
    further_in,
    names_in,
    read_weights_of,
)
from truecost.tasks.lifelong.matrix import (
    cells_of,
    in_order,
    lifelong_of,
    nothing_varies,
    record_of,
    set_of,
)
from truecost.tasks.lifelong.records import INITIAL, Lifelong

COSTS = ("cost", "seconds", "words", "actions", "answers")
CURVE = (*COSTS, "score", "errors", "n", "seed", "id", "unit", "weight", "system")
POINT = ("cost", "seed", "id")
AT = Axis((TEST,), np.ones(1), "number")  # the one time of the test set
EVENT = "event"  # column of event logs


@dataclass(frozen=True)
class TableOptions:
    """Facts about a table of scores that the table itself does not contain.

    Parameters
    ----------
    higher : bool, optional
        Whether higher scores are better. Required for scoring, except with the column `errors`.
    bounds : (float, float), optional
        Lowest and highest possible score. A score outside is refused. Default: no check, or 0 to
        infinity for penalised scores.
    map : mapping of str to str
        Other names of columns: {"score": "wer"} reads the scores from the column `wer`.
    cost : str
        Column with the cost of help, if the table of a learning curve has several such columns.

    Raises
    ------
    UsageError
        If the bounds are not two ascending numbers, or `map` contains an unknown column.
    """

    higher: bool | None = None
    bounds: tuple[float, float] | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    cost: str = ""

    def __post_init__(self) -> None:
        if self.bounds is not None:
            check_bounds(self.bounds)
        known = dict.fromkeys((*LONG, *CURVE))
        if unknown := [key for key in self.map if key not in known]:
            raise UsageError(
                f"--map {unknown[0]}=... is not known{near(unknown[0], known, CLOSE)}: map one of "
                f"{', '.join(known)}"
            )

    @property
    def limits(self) -> tuple[float, float]:
        """Bounds of penalised scores: the given `bounds`, otherwise (0, infinity)."""
        return (0.0, math.inf) if self.bounds is None else self.bounds


def check_bounds(bounds: Sequence[float]) -> None:
    """Refuse bounds that are not two ascending numbers."""
    if len(bounds) != 2 or any(map(math.isnan, bounds)) or not bounds[0] < bounds[1]:
        said = ",".join(f"{b:g}" for b in bounds)
        raise UsageError(
            f"bounds {said} are not understood: give the lowest and the highest score, such as "
            f"0,1 or 0,inf"
        )


def curve_of(table: Table, name: str, options: TableOptions) -> Lifelong:
    """The record of a curve: a version for each cost, one test time, and `cost` in `offline`."""
    column = _cost_column(table, options.cost)
    cells = _read(table, column).of_system(name)
    cells.refuse_out_of_bounds(options)
    cells.refuse_repeated(POINT, lambda row: f"at cost {row['cost']:g}")
    seeds = in_order(cells.frame["seed"].unique().to_list())
    _refuse_partial(cells, seeds)
    costs = np.sort(cells.frame["cost"].unique().to_numpy())
    if len(costs) < 2:
        raise InputError(
            f"{table.source}: every {column} is {costs[0]:g}: a curve needs at least two costs"
        )
    names = tuple(str(int(c)) if float(c).is_integer() else repr(float(c)) for c in costs)
    versions = Axis(names, np.array([INITIAL, *range(1, len(costs))], np.float64), "number")
    whole = replace(cells, frame=_carried_scores(cells.frame, costs, names))
    test, left = set_of(whole, AT, versions, seeds)
    higher = False if "errors" in table.columns else options.higher
    return record_of(
        name,
        (versions, seeds, test),
        (*((UNSAID,) if higher is None else ()), *left, *nothing_varies(test, seeds, "point")),
        offline=_spent(costs, len(seeds), column),
        higher=higher,
    )


def _cost_column(table: Table, asked: str) -> str:
    """The column of the cost."""
    there = [column for column in COSTS if column in table.columns]
    if asked in there:
        return asked
    if len(there) > 1:
        raise UsageError(
            f"{table.source}: several columns may be the cost of help ({first_five(there)}): "
            f"name one, such as --cost {there[0]}"
        )
    if asked and asked != "cost":
        raise UsageError(f"{table.source}: there is no column {asked!r}; {table.listed}")
    return there[0]


def _read(table: Table, column: str) -> Cells:
    """The points of a table, of the one time that there is."""
    rows = pl.Series(range(len(table)), dtype=pl.Int64)
    own = {ROW: rows, "cost": finite(table, column, 0.0, "cost"), **names_in(table)}
    own["base"], own["weight"] = _scores(table)
    own |= further_in(table, (*own, *COSTS, "score", "errors", "n"))
    fixed = pl.DataFrame(own).with_columns(version=pl.lit(""), time=pl.lit(TEST), set=pl.lit(TEST))
    return Cells(table, fixed, ("base",))


def _scores(table: Table) -> tuple[pl.Series, pl.Series]:
    """The score of each point and its weight: errors / n weighs n."""
    if "score" in table.columns and {"errors", "n"} & {*table.columns}:
        raise InputError(
            f"{table.source}: there is a column score, and errors or n too: keep score, or errors "
            f"and n"
        )
    if "errors" not in table.columns:
        return finite(table, "score", -np.inf), read_weights_of(table)
    if "weight" in table.columns:
        raise InputError(
            f"{table.source}: the weight of errors / n is n: leave out the column weight"
        )
    errors, n = finite(table, "errors", 0.0), finite(table, "n", 0.0)
    nothing = "with n = 0: a score needs at least one item"
    refuse_values(table, (n == 0).to_numpy(), "row", nothing, errors.__getitem__)
    return errors / n, n


def _refuse_partial(cells: Cells, seeds: Sequence[str]) -> None:
    """Every run begins at the same cost, and scores all items at each of its costs."""
    frame, source = cells.frame, cells.table.source
    begun = frame.group_by("seed").agg(pl.col("cost").min())
    starts = dict(begun.iter_rows())
    late = next((seed for seed in seeds if starts[seed] != starts[seeds[0]]), None)
    if late is not None:
        raise InputError(
            f"{source}: the curve of seed {late} begins at cost {starts[late]:g}, and that of seed "
            f"{seeds[0]} at {starts[seeds[0]]:g}: give the score of each seed at the lowest cost"
        )
    items = frame["id"].n_unique()
    points = frame.group_by("seed", "cost").agg(pl.col("id").n_unique()).sort("seed", "cost")
    lacking = points.filter(pl.col("id") < items)
    if lacking.height:
        seed, cost, there = lacking.row(0)
        raise InputError(
            f"{source}: at cost {cost:g} seed {seed} has {counted(there, 'item')} of {items}: "
            f"score every item at each cost"
        )


def _carried_scores(frame: pl.DataFrame, costs: Floats, names: Sequence[str]) -> pl.DataFrame:
    """Every run at every cost: its last score up to there."""
    points = frame.select("seed", "cost").unique().sort("cost")
    grid = pl.DataFrame({"at": costs, "version": [*names]})
    every = grid.join(points.select("seed").unique(), how="cross").sort("at", "seed")
    last = every.join_asof(
        points.with_columns(found=pl.col("cost")),
        left_on="at",
        right_on="cost",
        by="seed",
        check_sortedness=False,
    )
    chosen = last.select("version", "seed", cost=pl.col("found"))
    return chosen.join(frame.drop("version"), on=["seed", "cost"]).drop("cost")


def _spent(costs: Floats, seeds: int, column: str) -> pl.DataFrame:
    """The cost that each version took more than the one before it."""
    frame = pl.DataFrame(
        {
            "version": np.tile(np.arange(len(costs), dtype=np.int64), seeds),
            "seed": np.repeat(np.arange(seeds, dtype=np.int64), len(costs)),
            "cost": np.tile(np.diff(costs, prepend=0.0), seeds),
        }
    )
    unknown = {name: pl.lit(None, pl.Float64) for name in COSTS[1:]}
    return frame.with_columns(**{**unknown, column: pl.col("cost")})


def is_log(columns: Sequence[str]) -> bool:
    """Whether a table is an event log, and no table of scores."""
    return EVENT in columns


def read_scores(table: Table, name: str, options: TableOptions | None = None) -> Lifelong:
    """Read the scores of one system across time from a table.

    A long table has one row for each score: `version`, `time`, `score` and optional columns. A wide
    table has one row for each version and one column for each test time. A learning curve has one
    row for each cost: `cost` and `score`, or `errors` and `n`.

    Parameters
    ----------
    table : Table
        Table of scores.
    name : str
        Name of the system. If the table has a column `system`, rows of other systems are ignored.
    options : TableOptions, optional
        Direction and bounds of the scores, and other names of columns.

    Returns
    -------
    Lifelong
        Record of the kind `scores`; its score is `mean_score`.

    Raises
    ------
    UsageError
        If a column is missing or unknown.
    InputError
        If a value is invalid, scores are repeated or missing, or versions and times cannot be
        sorted. The message contains the line number.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.formats import Table
    >>> from truecost.tasks.lifelong import TableOptions, read_scores
    >>> frame = pl.DataFrame({"version": [1, 2], "1": [0.9, 0.7], "2": [0.2, 0.8]})
    >>> read_scores(Table("m", frame), "mine", TableOptions(higher=True))
    <Lifelong 'mine': 2 versions, 2 times>
    """
    how = options or TableOptions()
    known = tidied(_renamed(table, how))
    if is_log(known.columns):
        raise UsageError(
            f"{table.source}: this is an event log (it has a column {EVENT!r}), not a table of "
            f"scores"
        )
    _refuse_headless(known)
    _refuse_own_names(known)
    if _is_curve(known):
        return curve_of(known, name, how)
    _require_version(known)
    return lifelong_of(cells_of(known, name, how), name, how)


def _renamed(table: Table, options: TableOptions) -> Table:
    """A table with its columns under the names that are known."""
    for key, column in options.map.items():
        table.require(column, key)
        if key != column and key in table.columns:
            raise UsageError(
                f"{table.source}: column {column!r} is to be the {key}, and there is a column "
                f"{key!r} too: rename one of the two"
            )
    own = {column: key for key, column in options.map.items()}
    return replace(table, frame=table.frame.rename(own))


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
    close = next((hint for c in table.columns if (hint := near(c, ["version"], CLOSE))), "")
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
    """Make the record of a system from an array of scores.

    Parameters
    ----------
    scores : array_like, shape (versions, times) or (seeds, versions, times)
        Score of each version on the test data of each time; NaN for missing scores.
    times : sequence, optional
        Test times: numbers or ISO dates, ascending. Default: 1, 2, ...
    versions : sequence, optional
        Time of the data to which each version adapted, or `initial` for the initial version.
        Default: the test times; with one version more than times, the first version is `initial`.
    higher : bool, optional
        Whether higher scores are better. Required for scoring.
    name : str
        Name of the system.

    Returns
    -------
    Lifelong
        Record of the kind `scores`; its score is `mean_score`.

    Raises
    ------
    UsageError
        If the shape does not match the numbers of versions and times.
    InputError
        If a value is invalid; see `read_scores`.
    """
    array = np.asarray(scores, np.float64)
    if array.ndim not in (2, 3):
        raise UsageError(
            f"scores have shape {array.shape}: (versions, times) or (seeds, versions, times) was "
            f"expected"
        )
    runs = array if array.ndim == 3 else array[None]
    at = [str(t) for t in (range(1, runs.shape[2] + 1) if times is None else times)]
    learnt = ["initial", *at][runs.shape[1] != len(at) + 1 :]  # at the times of the tests, in turn
    learnt = learnt if versions is None else [str(v) for v in versions]
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
