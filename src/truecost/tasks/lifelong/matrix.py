"""The score matrix s(M_i, t_j) from a table, long or wide: cells, then one record.

Long tables have a row for each score, wide ones a row for each version and a column for each test
time. Both become the same frame of cells. A cell (version, time) is there for all seeds and all
items of its time, or missing as a whole: otherwise versions would be compared on other items.
Measures that need missing cells are undefined, with a reason.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from truecost.errors import InputError, counted, first_five, named, near
from truecost.formats import Table
from truecost.formats.table import place_of
from truecost.tasks.lifelong.cells import (
    CLOSE,
    LONG,
    ONE_ITEM,
    PLACE,
    ROW,
    STREAM,
    TEST,
    WIDE,
    Axis,
    Cells,
    further_in,
    names_in,
    odd_direction,
    read_weights_of,
    times_of,
    versions_of,
)
from truecost.tasks.lifelong.kind_whole import SCORED, SCORES
from truecost.tasks.lifelong.records import STATES, Lifelong, Scored, no_effort

if TYPE_CHECKING:
    from truecost.tasks.lifelong.tables import TableOptions

KEY = ("version", "time", "seed", "id")
UNBOUNDED = (
    "scores that are bounded on neither side have no worst value, so there is no strictly wrong "
    "output (Prokopalo et al. 2020, section 2.2): give --bounds LOW,HIGH if there are bounds"
)


def cells_of(table: Table, name: str, options: "TableOptions") -> Cells:
    """The cells of a system in a table with columns under their names."""
    wide = "time" not in table.columns and not {"score", *STATES} & {*table.columns}
    frame = _unpivoted(table) if wide else table.frame.with_row_index(ROW)
    states = _states_of(table, wide=wide)
    cells = Cells(table, _read(table, frame, states, wide=wide), states, wide)
    chosen = cells.of_system(name)
    _check_values(chosen, options)
    return chosen


def _unpivoted(table: Table) -> pl.DataFrame:
    """A wide table as a long one."""
    times = [column for column in table.columns if column not in WIDE]
    for column in times:
        if place_of(column) is None:
            hint = near(column, [name for name in LONG if name != column], CLOSE)
            raise InputError(
                f"{table.source}, line 1: column {column!r} is neither a time (a number or an ISO "
                f"date) nor one of {', '.join(WIDE)}{hint}; a table with a row for "
                f"each score has the columns version, time and score"
            )
        table.numbers(column, "score")  # refuses what is no number, with its line
    if not times:
        raise InputError(
            f"{table.source}: there is no column for any test time; {table.listed}: name each "
            f"column by its time, or have columns version, time and score"
        )
    index = [column for column in WIDE if column in table.columns]
    frame = table.frame.with_row_index(ROW)
    return frame.unpivot(times, index=[ROW, *index], variable_name="time", value_name="score")


def _states_of(table: Table, *, wide: bool) -> tuple[str, ...]:
    """The states of outputs that have a column; a plain score is the base."""
    if wide:
        return ("base",)
    found = tuple(state for state in STATES if state in table.columns)
    if "score" in table.columns and found:
        raise InputError(
            f"{table.source}: there is a column score beside {named('column', found)}: score is "
            f"the score before help; rename it to base, or leave it out"
        )
    if not found:
        table.require("score", "score")
        return ("base",)
    if "base" not in found:
        raise InputError(f"{table.source}: {found[0]} needs a column base, the score before help")
    pair = [state for state in STATES[2:] if state in found]
    if len(pair) == 1 or (pair and "adapted" not in found):
        lost = [state for state in STATES if state not in found]
        raise InputError(
            f"{table.source}: there is a column {pair[0]}, but none for {first_five(lost)}: a "
            f"penalised score is adapted + (impaired - corrected)"
        )
    return found


def _read(table: Table, frame: pl.DataFrame, states: Sequence[str], *, wide: bool) -> pl.DataFrame:
    """Cells under their names and of their types."""
    # In a wide table a row stands for several cells: the lines are those of the row.
    lines, rows = table.lines, frame[ROW].cast(pl.Int64)
    if lines is None and table.first_line >= 0:
        lines = np.arange(len(table)) + table.first_line
    long = replace(
        table, frame=frame.drop(ROW), lines=None if lines is None else lines[rows.to_numpy()]
    )
    own = {ROW: rows, **names_in(long, "version", "time")}
    if "learnt" in frame.columns:
        own["learnt"] = long.texts("learnt", "learnt")
    own["weight"] = read_weights_of(long)
    for state in states:
        column = state if state in frame.columns else "score"
        own[state] = pl.Series(long.numbers(column, column)).fill_nan(None)
    own |= {} if wide else further_in(table, (*LONG, ROW))
    _refuse_unlike_known(table, own)
    return pl.DataFrame(own)


def _refuse_unlike_known(table: Table, further: Iterable[str]) -> None:
    """A column that is almost named as one that means something is a mistake."""
    unused = [name for name in LONG if name not in table.columns]
    for column in further:
        if column not in (*LONG, ROW) and (hint := near(column, unused, CLOSE)):
            raise InputError(
                f"{table.source}, line 1: column {column!r} is not known{hint}; columns are "
                f"{', '.join(LONG)}, and any for subsets"
            )


def _check_values(cells: Cells, options: "TableOptions") -> None:
    """Refuse infinite scores, unknown sets, and scores out of their bounds."""
    sets = cells.frame["set"]
    wrong = (~sets.is_in([TEST, STREAM])).arg_true()
    if len(wrong):
        k = int(wrong[0])
        raise InputError(
            f"{cells.table.source}, {cells.where(k)}: the set is {sets[k]!r}: {TEST} or {STREAM} "
            f"was expected"
        )
    cells.refuse_out_of_bounds(options)


def lifelong_of(cells: Cells, name: str, options: "TableOptions") -> Lifelong:
    """The record of a system from its cells."""
    cells.refuse_repeated(("set", *KEY), _cell_name)
    source = cells.table.source
    tested = replace(cells, frame=cells.frame.filter(pl.col("set") == TEST))
    if not tested.frame.height:
        raise InputError(f"{source}: all scores are of the lifelong set, and none of the test set")
    times = times_of(tested.firsts("time"), source)
    versions, more = versions_of(cells.firsts("version"), _learnt(cells), times, source)
    seeds = in_order(cells.frame["seed"].unique().to_list())
    scored = _present(tested)
    if not scored.frame.height:
        raise InputError(f"{source}: every score is empty: at least one number is needed")
    _refuse_partial(scored, seeds)
    lacking = _missing_cells(scored, versions, times)
    test, left = set_of(scored, times, versions, seeds)
    found = record_of(
        name,
        (versions, seeds, test),
        (*more, *left, *lacking, *nothing_varies(test, seeds, "cell")),
        stream=_stream_of(cells, versions, seeds),
        higher=options.higher,
        no_penalty=UNBOUNDED if np.isinf(options.limits).all() else "",
    )
    return replace(found, problems=(*odd_direction(found), *found.problems))


def record_of(
    name: str, of: tuple[Axis, tuple[str, ...], Scored], problems: tuple[str, ...], **more: Any
) -> Lifelong:
    """A record of ready-made scores: of versions, seeds and a test set."""
    versions, seeds, test = of
    return Lifelong(
        name=name,
        kind=SCORES,
        versions=versions.names,
        learnt=versions.at,
        seeds=seeds,
        test=test,
        units={"unit": test.items["unit"].to_numpy()} if "unit" in test.items.columns else {},
        signatures={SCORED: SCORES.signature(None, SCORED)},
        problems=problems,
        **more,
    )


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Names of runs, by number where all are numbers."""
    places = [place_of(name) for name in names]
    if all(found is not None and found[0] == "number" for found in places):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def _cell_name(row: dict[str, Any]) -> str:
    """The name of the cell of a score."""
    item = "" if row["id"] == ONE_ITEM else f" for item {row['id']}"
    return f"of version {row['version']} at time {row['time']}{item}"


def _learnt(cells: Cells) -> dict[str, str | None] | None:
    """The column `learnt` by version; None without such a column."""
    if "learnt" not in cells.frame.columns:
        return None
    found: dict[str, str | None] = {}
    rows = cells.frame.unique(["version", "learnt"], keep="first", maintain_order=True)
    for version, learnt, row in rows.select("version", "learnt", ROW).iter_rows():
        if version in found and found[version] != learnt:
            raise InputError(
                f"{cells.table.source}, {cells.table.where(row)}: version {version} learnt at "
                f"{learnt or 'no time'} here, and at {found[version] or 'no time'} before: give "
                f"each version one time"
            )
        found[version] = learnt
    return found


def _present(cells: Cells) -> Cells:
    """The cells that have scores; those that have some states but not all are refused."""
    empty = [pl.col(state).is_null() for state in cells.states]
    partly = cells.frame.with_row_index(PLACE).filter(pl.any_horizontal(empty))
    partly = partly.filter(~pl.all_horizontal(empty))
    if partly.height:
        row = partly.row(0, named=True)
        lost = [state for state in cells.states if row[state] is None]
        raise InputError(
            f"{cells.table.source}, {cells.where(row[PLACE])}: there is no {first_five(lost)} "
            f"score, but others are there: give all of {', '.join(cells.states)}, or none"
        )
    return replace(cells, frame=cells.frame.filter(~pl.all_horizontal(empty)))


def _refuse_partial(cells: Cells, seeds: Sequence[str]) -> None:
    """A cell has all seeds and all items of its time, or none."""
    frame = cells.frame
    items = frame.group_by("time").agg(pl.col("id").n_unique().alias("items"))
    found = frame.group_by("version", "time", maintain_order=True).len().join(items, on="time")
    lacking = found.filter(pl.col("len") != pl.col("items") * len(seeds))
    if not lacking.height:
        return
    version, time = lacking.row(0)[:2]
    there = frame.filter((pl.col("version") == version) & (pl.col("time") == time))
    ids = frame.filter(pl.col("time") == time)["id"].unique(maintain_order=True)
    whole = pl.DataFrame({"id": ids}).join(pl.DataFrame({"seed": [*seeds]}), how="cross")
    lost = whole.join(there, on=["id", "seed"], how="anti").row(0, named=True)
    named_so = [] if lost["id"] == ONE_ITEM else [f"item {lost['id']}"]
    named_so += [f"seed {lost['seed']}"] if len(seeds) > 1 else []
    raise InputError(
        f"{cells.table.source}: version {version} at time {time} has no score for "
        f"{', '.join(named_so)}, which other cells have: score every item with every seed, or "
        f"leave the whole cell out"
    )


def set_of(
    cells: Cells, times: Axis, versions: Axis, seeds: Sequence[str]
) -> tuple[Scored, list[str]]:
    """One of the two sets, from the cells that have scores, and what a reader should know of it."""
    frame = cells.frame.with_columns(
        *(
            pl.col(column).replace_strict(names, range(len(names)), return_dtype=pl.Int64)
            for column, names in (
                ("time", [*times.names]),
                ("version", [*versions.names]),
                ("seed", [*seeds]),
            )
        )
    )
    items, left = _items(frame, cells.table.source)
    codes = items.select("id", "time", item=pl.int_range(pl.len(), dtype=pl.Int64))
    rows = (
        frame.select(*KEY, "weight", *cells.states)
        .join(codes, on=["id", "time"])
        .unpivot(
            cells.states,
            index=["item", "version", "seed", "weight"],
            variable_name="state",
            value_name="score",
        )
        .drop_nulls("score")
        .with_columns(
            pl.col("score") * pl.col("weight"),
            pl.col("state").replace_strict(STATES, range(len(STATES)), return_dtype=pl.Int64),
        )
        .sort("version", "state", "seed", "item")
    )
    statistics = {name: rows[name].to_numpy() for name in ("score", "weight")}
    found = rows.select("item", "version", "state", "seed")
    return Scored(times.names, times.at, items, found, {SCORED: statistics}, no_effort()), left


def _items(frame: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[str]]:
    """The items by time and id, with the columns that are the same wherever an item stands."""
    own = (ROW, *KEY, "set", "weight", "learnt", *STATES)
    further = [column for column in frame.columns if column not in own]
    groups = frame.group_by("id", "time")
    kinds = groups.agg(pl.col(column).n_unique() for column in further)
    steady = [column for column in further if bool((kinds[column] == 1).all())]
    left = [column for column in further if column not in steady]
    items = groups.agg(pl.col(column).first() for column in steady).sort("time", "id")
    if "unit" in left and set(frame["id"]) == {ONE_ITEM}:
        raise InputError(f"{source}: a unit is a group of items: add a column id with the items")
    if "unit" in left:
        several = groups.agg(pl.col("unit").unique()).filter(pl.col("unit").list.len() > 1)
        one = several.sort("time", "id").row(0, named=True)
        raise InputError(
            f"{source}: item {one['id']} has several units ({first_five(one['unit'])}): give all "
            f"rows of an item one unit"
        )
    said = f"{named('column', left, 'are')} left out: not the same in all rows of an item"
    return items.select("id", "time", *steady), [said] if left else []


def _stream_of(cells: Cells, versions: Axis, seeds: Sequence[str]) -> Scored | None:
    """The lifelong set: each version on the data that it adapted to; None where it is not there.

    A plain score is what a version says after adapting to them.
    """
    stream = replace(cells, frame=cells.frame.filter(pl.col("set") == STREAM))
    if not stream.frame.height:
        return None
    _refuse_others_data(stream, versions)
    frame = stream.frame.with_columns(time=pl.col("version"))
    states = tuple(state for state in stream.states if frame[state].count())
    if not states:
        return None
    if stream.wide or "score" in stream.table.columns:
        frame, states = frame.rename({"base": "adapted"}), ("adapted",)
    begun = np.isfinite(versions.at)
    names = tuple(name for name, of in zip(versions.names, begun, strict=True) if of)
    times = Axis(names, versions.at[begun], versions.way)
    scored = _present(replace(stream, frame=frame, states=states))
    _refuse_partial(scored, seeds)
    return set_of(scored, times, versions, seeds)[0]


def _refuse_others_data(stream: Cells, versions: Axis) -> None:
    """On the lifelong set each version is scored on the data that it adapted to, and no other."""
    source = stream.table.source
    when = times_of(stream.firsts("time"), source)
    places = dict(zip(when.names, when.at, strict=True))
    learnt = dict(zip(versions.names, versions.at, strict=True))
    pairs = stream.frame.with_row_index(PLACE).select(PLACE, "version", "time")
    for k, version, time in pairs.iter_rows():
        if places[time] != learnt[version]:
            raise InputError(
                f"{source}, {stream.where(k)}: version {version} is scored on the lifelong set at "
                f"time {time}, but it learnt at another time: on that set, each version is scored "
                f"on its own data only"
            )


def _missing_cells(cells: Cells, versions: Axis, times: Axis) -> list[str]:
    """Notes on missing cells: of future times, and of times that a version has seen."""
    there = set(cells.frame.select("version", "time").unique().iter_rows())
    first = versions.at[np.isfinite(versions.at)][0]
    lacking = [
        (f"version {version} at time {time}", first <= at <= learnt)
        for version, learnt in zip(versions.names, versions.at, strict=True)
        for time, at in zip(times.names, times.at, strict=True)
        if (version, time) not in there
    ]
    seen = [cell for cell, known in lacking if known]
    said = []
    if seen:
        said.append(
            f"{counted(len(seen), 'cell', 'have')} no score, although the version has seen data of "
            f"this time ({first_five(seen)}): measures that need these are undefined"
        )
    if future := len(lacking) - len(seen):
        said.append(
            f"the score before learning is missing in {counted(future, 'cell')} (version, time): "
            f"forward transfer needs it"
        )
    return said


def nothing_varies(test: Scored, seeds: Sequence[str], what: str) -> list[str]:
    """The advice if there is nothing to resample: a sentence, or an empty text."""
    several = test.items.group_by("time").len()["len"].max()
    if len(seeds) > 1 or (isinstance(several, int) and several > 1):
        return []
    return [
        f"there are no intervals: each {what} is one number; add a column seed (repeated runs), or "
        f"id (scores of single items)"
    ]
