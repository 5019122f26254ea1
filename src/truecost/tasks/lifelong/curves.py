"""Learning curves from a table: scores of a test set against the cost of interaction.

Each cost is a version, learnt with the help up to it. A curve is a step function: between two costs
of a run its last score holds, so that runs whose costs differ are put on all costs of any of them.
Source: paper 004, section 2.1 and Fig. 2.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.tasks.lifelong.axes import UNSAID, Axis
from truecost.tasks.lifelong.cells import (
    COSTS,
    ONE_ITEM,
    ONE_SEED,
    PLACE,
    ROW,
    TEST,
    Cells,
    TableOptions,
    of_system,
    read_weights_of,
    refuse_out_of_bounds,
    without_empty,
)
from truecost.tasks.lifelong.kinds.ready import KIND, PART
from truecost.tasks.lifelong.matrix import in_order, nothing_varies, set_of
from truecost.tasks.lifelong.records import INITIAL, Lifelong

POINT = ("cost", "seed", "id")
AT = Axis((TEST,), np.ones(1), "number")  # the one time of the test set


def curve_of(table: Table, name: str, options: TableOptions) -> Lifelong:
    """The record of a system from a table of its curve.

    Parameters
    ----------
    table : Table
        With columns under their names.
    name : str
        Of the system.

    Returns
    -------
    Lifelong
        One version for each cost, one test time; `offline` has the column `cost`.

    Raises
    ------
    UsageError
        When a column is missing, or there are several costs.
    InputError
        When a cell is not what it should be, points repeat, or items are missing; with the line.
    """
    column = _cost_column(table, options.cost)
    cells = of_system(_read(table, column), name)
    refuse_out_of_bounds(cells, options)
    _refuse_repeated(cells)
    seeds = in_order(cells.frame["seed"].unique().to_list())
    _refuse_partial(cells, seeds)
    costs = np.sort(cells.frame["cost"].unique().to_numpy())
    if len(costs) < 2:
        raise InputError(
            f"{table.source}: every {column} is {costs[0]:g}: a curve needs two costs at least"
        )
    names = tuple(str(int(c)) if float(c).is_integer() else repr(float(c)) for c in costs)
    versions = Axis(names, np.array([INITIAL, *range(1, len(costs))], np.float64), "number")
    whole = replace(cells, frame=_carried(cells.frame, costs, names))
    test, left = set_of(whole, AT, versions, seeds)
    higher = False if "errors" in table.columns else options.higher
    return Lifelong(
        name=name,
        kind=KIND,
        versions=names,
        learnt=versions.at,
        seeds=seeds,
        test=test,
        offline=_spent(costs, len(seeds), column),
        higher=higher,
        units={"unit": test.items["unit"].to_numpy()} if "unit" in test.items.columns else {},
        signatures={PART: KIND.signature(None, PART)},
        problems=(
            *((UNSAID,) if higher is None else ()),
            *left,
            *nothing_varies(test, seeds, "point"),
        ),
    )


def _cost_column(table: Table, asked: str) -> str:
    """The column of the cost."""
    there = [column for column in COSTS if column in table.columns]
    if asked in there:
        return asked
    if len(there) > 1:
        raise UsageError(
            f"{table.source}: there are the columns {first_five(there)}: say which is the cost, "
            f"--cost {there[0]}"
        )
    if asked and asked != "cost":
        raise UsageError(f"{table.source}: there is no column {asked!r}; {table.listed}")
    return there[0]


def _read(table: Table, column: str) -> Cells:
    """The points of a table, of the one time that there is."""
    frame = table.frame.with_row_index(ROW)
    own = {ROW: frame[ROW].cast(pl.Int64), "cost": _costs(table, column)}
    for key, otherwise in (("seed", ONE_SEED), ("id", ONE_ITEM)):
        own[key] = pl.repeat(otherwise, frame.height, dtype=pl.String, eager=True)
        if key in table.columns:
            own[key] = without_empty(table, frame, table.texts(key, key), key)
    for key in ("system", "unit"):
        if key in table.columns:
            own[key] = without_empty(table, frame, table.texts(key, key), key)
    values, weight = _scores(table)
    own |= {"weight": weight, "base": values}
    taken = (*own, *COSTS, "score", "errors", "n")
    further = {
        c: frame[c] for c in table.columns if c not in taken and not frame[c].dtype.is_nested()
    }
    fixed = pl.DataFrame({**own, **further}).with_columns(
        version=pl.lit(""), time=pl.lit(TEST), set=pl.lit(TEST)
    )
    return Cells(table, fixed, ("base",))


def _costs(table: Table, column: str) -> pl.Series:
    """Costs of 0 or more."""
    found = table.numbers(column, "cost")
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        raise InputError(
            f"{table.source}, {table.where(int(bad[0]))}: the {column} is {found[bad[0]]:g}: a "
            f"number of 0 or more was expected"
        )
    return pl.Series(found)


def _scores(table: Table) -> tuple[pl.Series, pl.Series]:
    """The score of each point and its weight: errors / n weighs n."""
    if "score" in table.columns and {"errors", "n"} & {*table.columns}:
        raise InputError(
            f"{table.source}: there is a column score, and errors or n too: keep score, or errors "
            f"and n"
        )
    if "errors" not in table.columns:
        return _finite(table, "score", -np.inf), read_weights_of(table)
    if "weight" in table.columns:
        raise InputError(f"{table.source}: errors / n weighs n: leave out the column weight")
    errors, n = _finite(table, "errors", 0.0), _finite(table, "n", 0.0)
    none = (n == 0).arg_true()
    if len(none):
        raise InputError(
            f"{table.source}, {table.where(int(none[0]))}: n is 0: errors of nothing are no score"
        )
    return errors / n, n


def _finite(table: Table, column: str, least: float) -> pl.Series:
    """Numbers of at least some value, in every row."""
    found = table.numbers(column, column)
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= least)))
    if len(bad):
        what = "a finite number" if np.isinf(least) else "a number of 0 or more"
        raise InputError(
            f"{table.source}, {table.where(int(bad[0]))}: the {column} is {found[bad[0]]:g}: "
            f"{what} was expected"
        )
    return pl.Series(found)


def _refuse_repeated(cells: Cells) -> None:
    """Each point once for a seed and an item."""
    same = cells.frame.with_row_index(PLACE).filter(pl.struct(POINT).is_duplicated())
    if same.height:
        row = same.row(0, named=True)
        one, other = (cells.where(k) for k in same.join(same[:1], on=POINT)[PLACE].sort()[:2])
        raise InputError(
            f"{cells.table.source}: the score at cost {row['cost']:g} stands at {one} and at "
            f"{other}: keep one, or tell runs and items apart with columns seed and id"
        )


def _refuse_partial(cells: Cells, seeds: Sequence[str]) -> None:
    """Every run begins at the same cost, and scores all items at each of its costs."""
    frame, source = cells.frame, cells.table.source
    begun = frame.group_by("seed").agg(pl.col("cost").min())
    starts = dict(begun.iter_rows())
    late = next((seed for seed in seeds if starts[seed] != starts[seeds[0]]), None)
    if late is not None:
        raise InputError(
            f"{source}: the curve of seed {late} begins at cost {starts[late]:g}, that of seed "
            f"{seeds[0]} at {starts[seeds[0]]:g}: give each the score of the first cost"
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


def _carried(
    frame: pl.DataFrame, costs: npt.NDArray[np.float64], names: Sequence[str]
) -> pl.DataFrame:
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


def _spent(costs: npt.NDArray[np.float64], seeds: int, column: str) -> pl.DataFrame:
    """The cost that each version took more than the one before it."""
    more = np.diff(costs, prepend=0.0)
    frame = pl.DataFrame(
        {
            "version": np.tile(np.arange(len(costs), dtype=np.int64), seeds),
            "seed": np.repeat(np.arange(seeds, dtype=np.int64), len(costs)),
            **{
                name: pl.repeat(None, len(costs) * seeds, dtype=pl.Float64, eager=True)
                for name in COSTS[1:]
            },
            "cost": np.tile(more, seeds),
        }
    )
    return frame if column == "cost" else frame.with_columns(pl.col("cost").alias(column))
