"""Tables of scores, cell by cell: long or wide, with seeds, items, weights and states, checked.

Long tables have a row for each score, wide ones a row for each version and a column for each test
time. Both become the same frame of cells; every message names the line, and the column of a wide
table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.moments import place_of
from truecost.tasks.lifelong.records import STATES

ROW, PLACE = "@row", "@place"  # of the table, and of a frame: no column is named so
ONE_SEED, ONE_ITEM, TEST, STREAM = "0", "all", "test", "lifelong"
WIDE = ("version", "learnt", "seed", "system")  # what is no time in a wide table
LONG = (*WIDE, "time", "score", "id", "unit", "weight", "set", *STATES)
COSTS = ("cost", "seconds", "words", "actions", "answers")
CURVE = (*COSTS, "score", "errors", "n", "seed", "id", "unit", "weight", "system")


@dataclass(frozen=True)
class TableOptions:
    """What a table of scores does not say of itself.

    Parameters
    ----------
    higher : bool, optional
        Whether higher scores are better; a curve of errors knows, other scores cannot be scored
        without.
    bounds : (float, float), optional
        Lowest and highest score that there can be. Scores are held against it where it is given,
        and where they are to be penalised: then it is 0 to infinity unless given.
    map : mapping of str to str
        Columns that have other names: `score` to `wer`, say.
    cost : str
        The column of the cost in a table of a curve that has several.

    Raises
    ------
    UsageError
        When the bounds are not two ascending numbers, or a column is not known.
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
                f"--map {unknown[0]}=... is not known{close_to(unknown[0], known)}: map one of "
                f"{', '.join(known)}"
            )

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds that hold where scores are penalised."""
        return (0.0, math.inf) if self.bounds is None else self.bounds


def check_bounds(bounds: Sequence[float]) -> None:
    """Refuse bounds that are not two ascending numbers.

    Raises
    ------
    UsageError
    """
    if len(bounds) != 2 or any(map(math.isnan, bounds)) or not bounds[0] < bounds[1]:
        said = ",".join(f"{b:g}" for b in bounds)
        raise UsageError(
            f"bounds {said} are not understood: give the lowest and the highest score, such as "
            f"0,1 or 0,inf"
        )


@dataclass(frozen=True, eq=False)
class Cells:
    """The scores of one system.

    Attributes
    ----------
    table : Table
        That they come from.
    frame : polars.DataFrame
        One row a score: `ROW` (of the table), `version`, `time`, `seed`, `id`, `set`, `weight`, the
        states that there are (null where there is no score), `learnt` and `unit` where there are
        some, and further columns.
    states : tuple of str
        Those that have a column.
    """

    table: Table
    frame: pl.DataFrame
    states: tuple[str, ...]
    wide: bool = False

    def where(self, k: int) -> str:
        """How the k-th row of the frame is named in messages."""
        row = self.table.where(int(self.frame[ROW][k]))
        return f"{row}, column {self.frame['time'][k]!r}" if self.wide else row

    def firsts(self, column: str) -> dict[str, str]:
        """Each name in a column, and where it stands first."""
        seen = self.frame.with_row_index(PLACE).unique(column, keep="first", maintain_order=True)
        plain = self.wide and column != "time"
        return {
            name: self.table.where(row) if plain else self.where(k)
            for name, k, row in seen.select(column, PLACE, ROW).iter_rows()
        }


def renamed(table: Table, options: TableOptions) -> Table:
    """A table with its columns under the names that are known.

    Raises
    ------
    UsageError
        When a column that is mapped is not there, or another has its name already.
    """
    from dataclasses import replace

    for key, column in options.map.items():
        table.require(column, key)
        if key != column and key in table.columns:
            raise UsageError(
                f"{table.source}: column {column!r} is to be the {key}, and there is a column "
                f"{key!r} too: rename one of the two"
            )
    own = {column: key for key, column in options.map.items()}
    return replace(table, frame=table.frame.rename(own))


def cells_of(table: Table, name: str, options: TableOptions) -> Cells:
    """The cells of a system.

    Parameters
    ----------
    table : Table
        With columns under their names.
    name : str
        Of the system: its rows are taken where the table holds several.

    Raises
    ------
    UsageError
        When a column is missing.
    InputError
        When a cell is not what it should be; with its line.
    """
    wide = "time" not in table.columns and not {"score", *STATES} & {*table.columns}
    frame = _unpivoted(table) if wide else table.frame.with_row_index(ROW)
    states = _states_of(table, wide=wide)
    cells = Cells(table, _read(table, frame, states, wide=wide), states, wide)
    chosen = of_system(cells, name)
    _check_values(chosen, options)
    return chosen


def _unpivoted(table: Table) -> pl.DataFrame:
    """A wide table as a long one."""
    times = [column for column in table.columns if column not in WIDE]
    for column in times:
        if place_of(column) is None:
            hint = close_to(column, [name for name in LONG if name != column])
            raise InputError(
                f"{table.source}, line 1: column {column!r} is no time (a number or an ISO date), "
                f"and none of {', '.join(WIDE)}{hint}; a table with a row for "
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
    """Which states of the outputs have a column; a plain score is the base."""
    if wide:
        return ("base",)
    found = tuple(state for state in STATES if state in table.columns)
    if "score" in table.columns and found:
        raise InputError(
            f"{table.source}: there is a column score and {named('column', found, 'are')} there "
            f"too; a score is the base, before anyone helped: keep score alone, or base with the "
            f"others"
        )
    if not found:
        table.require("score", "score")
        return ("base",)
    if "base" not in found:
        raise InputError(f"{table.source}: there is a column {found[0]}, but none for the base")
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
    from dataclasses import replace

    # In a wide table a row stands for several cells: the lines are those of the row.
    lines = None if table.lines is None else table.lines[frame[ROW].to_numpy()]
    first = -1 if wide else table.first_line
    long = replace(table, frame=frame, first_line=first, lines=lines)
    own = {ROW: frame[ROW].cast(pl.Int64)}
    for column in ("version", "time"):
        own[column] = without_empty(table, frame, long.texts(column, column), column)
    given = {"seed": ONE_SEED, "id": ONE_ITEM, "set": TEST}
    for column, otherwise in given.items():
        if column in frame.columns:
            own[column] = without_empty(table, frame, long.texts(column, column), column)
        else:
            own[column] = pl.repeat(otherwise, frame.height, dtype=pl.String, eager=True)
    for column in ("learnt", "system", "unit"):
        if column in frame.columns:
            own[column] = long.texts(column, column)
    if "unit" in own:
        without_empty(table, frame, own["unit"], "unit")
    own["weight"] = read_weights_of(long)
    for state in states:
        column = state if state in frame.columns else "score"
        own[state] = pl.Series(long.numbers(column, column)).fill_nan(None)
    further = (
        []
        if wide
        else [c for c in frame.columns if c not in (*LONG, ROW) and not frame[c].dtype.is_nested()]
    )
    _refuse_unlike_known(table, further)
    return pl.DataFrame({**own, **{column: frame[column] for column in further}})


def without_empty(table: Table, frame: pl.DataFrame, column: pl.Series, name: str) -> pl.Series:
    """A column without empty cells."""
    empty = column.is_null().arg_true()
    if len(empty):
        raise InputError(
            f"{table.source}: {counted(len(empty), name, 'are')} empty, the first at "
            f"{table.where(int(frame[ROW][int(empty[0])]))}: each score needs its {name}"
        )
    return column


def read_weights_of(table: Table) -> pl.Series:
    """Weights of the scores, 0 or more; 1 unless given."""
    if "weight" not in table.columns:
        return pl.repeat(1.0, len(table), dtype=pl.Float64, eager=True)
    found = table.numbers("weight", "weight")
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        raise InputError(
            f"{table.source}, {table.where(int(bad[0]))}: the weight is {found[bad[0]]:g}: it must "
            f"be a number of 0 or more"
        )
    return pl.Series(found)


def _refuse_unlike_known(table: Table, further: Sequence[str]) -> None:
    """A column that is almost named as one that means something is a mistake."""
    for column in further:
        if hint := close_to(column, [n for n in LONG if n not in table.columns]):
            raise InputError(
                f"{table.source}, line 1: column {column!r} is not known{hint}; columns are "
                f"{', '.join(LONG)}, and any for subsets"
            )


def close_to(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """`(did you mean ...?)`, where a known name is close."""
    near = get_close_matches(name.lower(), [*known], n=1, cutoff=0.8)
    return f" (did you mean {near[0]!r}?)" if near else ""


def of_system(cells: Cells, name: str) -> Cells:
    """The cells of one system: those of its name, where the table holds several.

    Raises
    ------
    InputError
        When none of several systems has the name, or a cell has none.
    """
    from dataclasses import replace

    if "system" not in cells.frame.columns:
        return cells
    frame = cells.frame
    without_empty(cells.table, frame, frame["system"], "system")
    there = frame["system"].unique(maintain_order=True).to_list()
    if name not in there and len(there) > 1:
        file = cells.table.source
        shown = " ".join(f"{one}={file}" for one in there[:5])
        raise InputError(
            f"{file}: holds {counted(len(there), 'system')} ({first_five(there)}), none of which "
            f"is {name}: name those to score, {shown}"
        )
    taken = frame.filter(frame["system"] == (name if name in there else there[0]))
    return replace(cells, frame=taken.drop("system"))


def _check_values(cells: Cells, options: TableOptions) -> None:
    """Refuse infinite scores, unknown sets, and scores out of their bounds."""
    sets = cells.frame["set"]
    wrong = (~sets.is_in([TEST, STREAM])).arg_true()
    if len(wrong):
        k = int(wrong[0])
        raise InputError(
            f"{cells.table.source}, {cells.where(k)}: the set is {sets[k]!r}: {TEST} or {STREAM} "
            f"was expected"
        )
    refuse_out_of_bounds(cells, options)


def refuse_out_of_bounds(cells: Cells, options: TableOptions) -> None:
    """Refuse scores that are infinite, or that there cannot be."""
    held = options.bounds is not None or len(cells.states) == len(STATES)
    low, high = options.limits if held else (-math.inf, math.inf)
    for state in cells.states:
        values = cells.frame[state].fill_null(float("nan")).to_numpy()
        bad = np.flatnonzero(np.isinf(values))
        if len(bad):
            raise InputError(
                f"{cells.table.source}, {cells.where(int(bad[0]))}: the score is "
                f"{values[bad[0]]:g}: a finite number was expected, or an empty cell where there "
                f"is none"
            )
        bad = np.flatnonzero((values < low) | (values > high))
        if len(bad):
            raise InputError(
                f"{cells.table.source}, {cells.where(int(bad[0]))}: the score is "
                f"{values[bad[0]]:g}, out of its bounds {low:g},{high:g}: say which scores there "
                f"can be, --bounds LOW,HIGH"
            )
