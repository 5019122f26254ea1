"""The score matrix s(M_i, t_j) from a table: versions, times, items and seeds as one record.

A cell (version, time) is there for all seeds and all items of its time, or it is missing as a
whole: otherwise versions would be compared on other items. Missing cells are no error; what needs
them is undefined, and that is said.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from truecost.errors import InputError, counted, first_five, named
from truecost.formats.moments import place_of
from truecost.tasks.lifelong.axes import Axis, odd_direction, times_of, versions_of
from truecost.tasks.lifelong.cells import (
    ONE_ITEM,
    PLACE,
    ROW,
    STREAM,
    TEST,
    Cells,
    TableOptions,
)
from truecost.tasks.lifelong.kinds.ready import KIND, PART
from truecost.tasks.lifelong.records import STATES, Lifelong, Scored, no_effort

KEY = ("version", "time", "seed", "id")
UNBOUNDED = (
    "scores that are bounded on neither side have no worst value, so that nothing can be made "
    "strictly wrong (paper 004, section 2.2): give --bounds LOW,HIGH where there are some"
)


def lifelong_of(cells: Cells, name: str, options: TableOptions) -> Lifelong:
    """The record of a system from its cells.

    Raises
    ------
    InputError
        When cells repeat, versions or times cannot be put in order, some items or seeds of a cell
        are missing, or there is no score at all.
    """
    _refuse_repeated(cells)
    source = cells.table.source
    tested = _of_set(cells, TEST)
    if not tested.frame.height:
        raise InputError(f"{source}: no score of the test set is there, only of the lifelong set")
    times = times_of(tested.firsts("time"), source)
    versions, more = versions_of(cells.firsts("version"), _learnt(cells), times, source)
    seeds = in_order(cells.frame["seed"].unique().to_list())
    scored = _present(tested)
    if not scored.frame.height:
        raise InputError(f"{source}: every score is empty: at least one number is needed")
    _refuse_partial(scored, seeds)
    test, left = set_of(scored, times, versions, seeds)
    units = {"unit": test.items["unit"].to_numpy()} if "unit" in test.items.columns else {}
    found = Lifelong(
        name=name,
        kind=KIND,
        versions=versions.names,
        learnt=versions.at,
        seeds=seeds,
        test=test,
        stream=_stream_of(cells, versions, seeds),
        higher=options.higher,
        units=units,
        signatures={PART: KIND.signature(None, PART)},
        problems=(
            *more,
            *left,
            *_lacking(scored, versions, times),
            *nothing_varies(test, seeds, "cell"),
        ),
        no_penalty=UNBOUNDED if np.isinf(options.limits).all() else "",
    )
    return replace(found, problems=(*odd_direction(found), *found.problems))


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Names of runs, by number where all are numbers."""
    places = [place_of(name) for name in names]
    if all(found is not None and found[0] == "number" for found in places):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def _of_set(cells: Cells, wanted: str) -> Cells:
    """The cells of one of the two sets."""
    return Cells(cells.table, cells.frame.filter(pl.col("set") == wanted), cells.states, cells.wide)


def _refuse_repeated(cells: Cells) -> None:
    """Each score once: in a set by version, time, seed and item."""
    frame = cells.frame.with_row_index(PLACE)
    same = frame.filter(pl.struct("set", *KEY).is_duplicated())
    if not same.height:
        return
    one, other = (cells.where(k) for k in same.join(same[:1], on=["set", *KEY])[PLACE].sort()[:2])
    row = same.row(0, named=True)
    of = f"version {row['version']} at time {row['time']}"
    if row["id"] != ONE_ITEM:
        of += f" for item {row['id']}"
    lost = [c for c in ("seed", "id") if c not in cells.table.columns]
    hint = (
        f" (several runs or items? tell them apart with a column {' or '.join(lost)})"
        if lost
        else ""
    )
    raise InputError(
        f"{cells.table.source}: {counted(same.height, 'score')} repeat; the score of {of} stands "
        f"at {one} and at {other}: keep one{hint}"
    )


def _learnt(cells: Cells) -> dict[str, str | None] | None:
    """What the column `learnt` says of each version; None where there is no such column."""
    if "learnt" not in cells.frame.columns:
        return None
    found: dict[str, str | None] = {}
    rows = cells.frame.unique(["version", "learnt"], keep="first", maintain_order=True)
    for version, learnt, row in rows.select("version", "learnt", ROW).iter_rows():
        if version in found and found[version] != learnt:
            raise InputError(
                f"{cells.table.source}, {cells.table.where(row)}: version {version} learnt at "
                f"{learnt or 'no time'} here, and at {found[version] or 'no time'} before: a "
                f"version has one time"
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
    kept = cells.frame.filter(~pl.all_horizontal(empty))
    return Cells(cells.table, kept, cells.states, cells.wide)


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
        f"{', '.join(named_so)}, which others have: score every item with every seed, or leave the "
        f"whole cell out"
    )


def set_of(
    cells: Cells, times: Axis, versions: Axis, seeds: Sequence[str]
) -> tuple[Scored, list[str]]:
    """One of the two sets, from the cells that have scores.

    Returns
    -------
    Scored, list of str
        And what a reader should know of it.
    """
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
    scored = frame.select(*KEY, "weight", *cells.states)
    placed = scored.join(items.select("id", "time").with_row_index("item"), on=["id", "time"])
    rows, values, weights = [], [], []
    for place, state in enumerate(STATES):
        if state in cells.states:
            there = placed.filter(pl.col(state).is_not_null())
            rows.append(_codes(there, place))
            values.append(there[state] * there["weight"])
            weights.append(there["weight"])
    counted_rows = pl.concat(rows).with_columns(
        score=pl.concat([pl.Series("score", v) for v in values]),
        weight=pl.concat([pl.Series("weight", w) for w in weights]),
    )
    counted_rows = counted_rows.sort("version", "state", "seed", "item")
    statistics = {name: counted_rows[name].to_numpy() for name in ("score", "weight")}
    found = counted_rows.select("item", "version", "state", "seed")
    return Scored(times.names, times.at, items, found, {PART: statistics}, no_effort()), left


def _codes(frame: pl.DataFrame, state: int) -> pl.DataFrame:
    """Places of some scores."""
    return frame.select(
        pl.col("item").cast(pl.Int64),
        "version",
        pl.lit(state, pl.Int64).alias("state"),
        "seed",
    )


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
        raise InputError(f"{source}: units are of items: tell these apart with a column id")
    if "unit" in left:
        several = groups.agg(pl.col("unit").unique()).filter(pl.col("unit").list.len() > 1)
        one = several.sort("time", "id").row(0, named=True)
        raise InputError(
            f"{source}: item {one['id']} is of several units ({first_five(one['unit'])}): an item "
            f"is of one unit in all of its rows"
        )
    said = f"{named('column', left, 'are')} left out: not the same in all rows of an item"
    return items.select("id", "time", *steady), [said] if left else []


def _stream_of(cells: Cells, versions: Axis, seeds: Sequence[str]) -> Scored | None:
    """The lifelong set: each version on the data that it adapted to; None where it is not there.

    A plain score is what a version says after adapting to them.
    """
    stream = _of_set(cells, STREAM)
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
                f"time {time}, which is not the one that it learnt from: of that set each version "
                f"has its own data"
            )


def _lacking(cells: Cells, versions: Axis, times: Axis) -> list[str]:
    """What is said of cells that are missing: of the future, and of what a version has seen."""
    there = set(cells.frame.select("version", "time").unique().iter_rows())
    first = versions.at[np.isfinite(versions.at)][0]
    seen, future = [], 0
    for version, learnt in zip(versions.names, versions.at, strict=True):
        for time, at in zip(times.names, times.at, strict=True):
            if (version, time) in there:
                continue
            if first <= at <= learnt:
                seen.append(f"version {version} at time {time}")
            else:
                future += 1
    said = []
    if seen:
        said.append(
            f"{counted(len(seen), 'cell')} of what versions have seen without a score "
            f"({first_five(seen)}): what needs them is undefined"
        )
    if future:
        said.append(
            f"{counted(future, 'cell')} of times that a version has not seen without a score: "
            f"forward transfer needs them"
        )
    return said


def nothing_varies(test: Scored, seeds: Sequence[str], what: str) -> list[str]:
    """What to add where there is nothing to resample.

    Parameters
    ----------
    what : str
        That is one number.

    Returns
    -------
    list of str
        A sentence, or nothing.
    """
    several = test.items.group_by("time").len()["len"].max()
    if len(seeds) > 1 or (isinstance(several, int) and several > 1):
        return []
    return [
        f"there are no intervals: each {what} is one number; add a column seed (runs that were "
        f"repeated), or id (scores of single items)"
    ]
