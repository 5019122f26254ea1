"""Cells of tables of scores, and their versions and times as numbers; which way round scores are.

Every message names the line, and the column of a wide table.

A time is a number or an ISO date (2026-03, 2026-03-01, 2026-03-01T12:00; days since 1970). The time
of a version is that of the data that it adapted to: what its column `learnt` says, or its own name.

A table of accuracies that is taken for errors gives every figure with the wrong sign. A version
should be better on data that it has just learnt than the version before it: if the scores of all
test times show the opposite, a warning is given.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from truecost.core.measure import Floats
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import Way, filled, place_of, refuse_values
from truecost.tasks.lifelong.kind_whole import SCORED, SCORES
from truecost.tasks.lifelong.records import INITIAL, STATES, Lifelong

if TYPE_CHECKING:
    from truecost.tasks.lifelong.tables import TableOptions

ROW, PLACE = "@row", "@place"  # of the table, and of a frame: no column is named so
ONE_SEED, ONE_ITEM, TEST, STREAM = "0", "all", "test", "lifelong"
WIDE = ("version", "learnt", "seed", "system")  # what is no time in a wide table
LONG = (*WIDE, "time", "score", "id", "unit", "weight", "set", *STATES)
CLOSE = 0.8  # from this likeness on a column is taken for a misspelt one
OTHERWISE = {"seed": ONE_SEED, "id": ONE_ITEM, "set": TEST}  # where a table does not say it


@dataclass(frozen=True, eq=False)
class Cells:
    """The scores of one system, a row of `frame` each.

    The frame has `ROW` (of the table), `version`, `time`, `seed`, `id`, `set`, `weight`, the states
    that have a column (null where there is no score), `learnt` and `unit` where there are some, and
    further columns.
    """

    table: Table
    frame: pl.DataFrame
    states: tuple[str, ...]
    wide: bool = False

    def where(self, k: int) -> str:
        """The name of the k-th row of the frame in messages."""
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

    def refuse_repeated(self, key: Sequence[str], of: Callable[[dict[str, Any]], str]) -> None:
        """Refuse a score that stands twice; `of` says what one is of."""
        frame = self.frame.with_row_index(PLACE)
        same = frame.filter(pl.struct(key).is_duplicated())
        if not same.height:
            return
        one, other = (self.where(k) for k in same.join(same[:1], on=key)[PLACE].sort()[:2])
        lost = [c for c in ("seed", "id") if c not in self.table.columns]
        hint = " (several runs or items? distinguish them with a column "
        raise InputError(
            f"{self.table.source}: {counted(same.height, 'score')} repeat; the score "
            f"{of(same.row(0, named=True))} is at {one} and at {other}: keep one"
            + (f"{hint}{' or '.join(lost)})" if lost else "")
        )

    def of_system(self, name: str) -> "Cells":
        """The cells of one system: those of its name, where the table holds several."""
        if "system" not in self.frame.columns:
            return self
        frame = self.frame
        there = frame["system"].unique(maintain_order=True).to_list()
        if name not in there and len(there) > 1:
            file = self.table.source
            shown = " ".join(f"{one}={file}" for one in there[:5])
            raise InputError(
                f"{file}: has {counted(len(there), 'system')} ({first_five(there)}), none of "
                f"which is {name}: name the systems to score, {shown}"
            )
        taken = frame.filter(frame["system"] == (name if name in there else there[0]))
        return replace(self, frame=taken.drop("system"))

    def refuse_out_of_bounds(self, options: "TableOptions") -> None:
        """Refuse scores that are infinite, or that there cannot be."""
        held = options.bounds is not None or len(self.states) == len(STATES)
        low, high = options.limits if held else (-math.inf, math.inf)
        endless = ": a finite number was expected, or an empty cell"
        beyond = f", out of its bounds {low:g},{high:g}: give the range of scores, "
        for state in self.states:
            values = self.frame[state].fill_null(float("nan")).to_numpy()
            for bad, what in (
                (np.isinf(values), endless),
                ((values < low) | (values > high), f"{beyond}--bounds LOW,HIGH"),
            ):
                if bad.any():
                    k = int(bad.argmax())
                    where = f"{self.table.source}, {self.where(k)}"
                    raise InputError(f"{where}: the score is {values[k]:g}{what}")


def names_in(table: Table, *needed: str) -> dict[str, pl.Series]:
    """The columns that say what a score is of; one run and one item where none are told apart."""
    given = [name for name in ("system", "unit", *OTHERWISE) if name in table.columns]
    found = {name: filled(table, name, name) for name in (*needed, *given)}
    for name, text in OTHERWISE.items():
        found.setdefault(name, pl.repeat(text, len(table), dtype=pl.String, eager=True))
    return found


def further_in(table: Table, known: Collection[str]) -> dict[str, pl.Series]:
    """The further columns of a table, for subsets."""
    others = [column for column in table.frame.get_columns() if column.name not in known]
    return {column.name: column for column in others if not column.dtype.is_nested()}


def finite(table: Table, column: str, least: float, meaning: str = "") -> pl.Series:
    """Numbers of at least some value, in every row."""
    found = table.numbers(column, meaning or column)
    bad = ~(np.isfinite(found) & (found >= least))
    what = "a finite number" if np.isinf(least) else "a number of 0 or more"
    refuse_values(table, bad, "value", f"of {column} where {what} was expected", found.__getitem__)
    return pl.Series(found)


def read_weights_of(table: Table) -> pl.Series:
    """Weights of the scores, 0 or more; default 1."""
    if "weight" not in table.columns:
        return pl.repeat(1.0, len(table), dtype=pl.Float64, eager=True)
    return finite(table, "weight", 0.0)


LEARNT = "give the table a column `learnt` with the time of the data that each version adapted to"
NAMED_INITIAL = ("initial", "m_0", "m0")  # in lower case: names of the version before everything


@dataclass(frozen=True)
class Axis:
    """Names in the order of their places `at` in time: ascending, minus infinity of the initial
    one.
    """

    names: tuple[str, ...]
    at: Floats
    way: Way


def times_of(names: Mapping[str, str], source: str) -> Axis:
    """The test times in order, from each and where it stands first (for messages)."""
    placed = {name: _placed(name, where, source, "time") for name, where in names.items()}
    return _in_order(placed, names, source, "times")


def versions_of(
    names: Mapping[str, str],
    learnt: Mapping[str, str | None] | None,
    times: Axis,
    source: str,
) -> tuple[Axis, list[str]]:
    """The versions in the order in which they came to be, and what a reader should know of it.

    From each version and where it stands first, the time of the data that each adapted to as text
    (none of the initial version), if there is such a column, and the times of the test.
    """
    said: list[str] = []
    texts = _named_by_time(names, times, said) if learnt is None else dict(learnt)
    initial = [name for name, text in texts.items() if text is None]
    if len(initial) > 1:
        raise InputError(
            f"{source}: versions {first_five(initial)} have no time of learning: only the initial "
            f"version may have none; write the times of the others into the column learnt"
        )
    what, hint = "time of version {}", ""
    if learnt is None:
        what, hint = "time of version", f"; or {LEARNT}"
    placed = {
        name: _placed(text, names[name], source, what.format(name), hint)
        for name, text in texts.items()
        if text is not None
    }
    if not placed:
        raise InputError(
            f"{source}: there is only the initial version ({first_five(initial)}): add the "
            "scores of the versions that learnt"
        )
    begun = _in_order(placed, names, source, "versions")
    if begun.way != times.way:
        as_tests = f"write `learnt` as the test times are written, such as {times.names[0]}"
        raise InputError(
            f"{source}: the versions learnt at times that are {begun.way}s, and the test times are "
            f"{times.way}s: {LEARNT if learnt is None else as_tests}"
        )
    axis = Axis((*initial, *begun.names), np.append([INITIAL] * len(initial), begun.at), begun.way)
    if learnt is not None:
        _refuse_descending(axis, names, source)
    _refuse_unseen(begun, times, source)
    # Tasks that are learnt and tested in turn are nothing odd.
    in_turn = {*begun.at} <= {*times.at}
    return axis, [*said, *(() if in_turn else interleaved(begun, times))]


def _named_by_time(names: Mapping[str, str], times: Axis, said: list[str]) -> dict[str, str | None]:
    """Versions that are named by their times; the initial one has none."""
    texts: dict[str, str | None] = {
        name: None if name.lower() in NAMED_INITIAL else name for name in names
    }
    if None in texts.values():
        return texts
    zero = [name for name in names if place_of(name) == ("number", 0.0)]
    least = min((found[1] for name in names if (found := place_of(name))), default=1.0)
    if len(zero) != 1 or least < 0:
        return texts
    if times.way == "number" and times.at[0] <= 0:
        said.append(
            f"version {zero[0]} is taken to have learnt at time {zero[0]}, as there is a test of "
            f"that time; name it `initial` if it had learnt nothing yet"
        )
        return texts
    return {name: None if name in zero else text for name, text in texts.items()}


def _placed(text: str, where: str, source: str, what: str, hint: str = "") -> tuple[Way, float]:
    """A time as a number; InputError with its line."""
    if found := place_of(text):
        return found
    raise InputError(
        f"{source}, {where}: the {what} is {text!r}: a number or an ISO date such as 2026-03-01 "
        f"was expected{hint}"
    )


def _in_order(
    placed: Mapping[str, tuple[Way, float]], names: Mapping[str, str], source: str, what: str
) -> Axis:
    """Names by their places; InputError where some are numbers and some dates, or two are alike."""
    by_way: dict[Way, str] = {}
    for name, (way, _) in placed.items():
        by_way.setdefault(way, name)
    if len(by_way) > 1:
        shown = " and ".join(f"{name} ({names[name]}) is a {way}" for way, name in by_way.items())
        raise InputError(f"{source}: {what} are numbers and dates ({shown}): write all in one way")
    ordered = sorted(placed, key=lambda name: placed[name][1])
    for one, other in pairwise(ordered):
        if placed[one] == placed[other]:
            raise InputError(
                f"{source}: {what} {one} ({names[one]}) and {other} ({names[other]}) are at one "
                "time: write them in one way, or give each its own time"
            )
    return Axis(tuple(ordered), np.array([placed[name][1] for name in ordered]), next(iter(by_way)))


def _refuse_descending(versions: Axis, names: Mapping[str, str], source: str) -> None:
    """Numbered versions must have learnt in the order of their numbers."""
    numbered = [(*(place_of(name) or ("", 0.0)), name) for name in versions.names]
    for k, (one, other) in enumerate(pairwise(numbered)):
        if one[0] and one[0] == other[0] and one[1] > other[1]:
            late, early, when = one[2], other[2], versions.at[k]
            before = "is the initial one" if when == INITIAL else f"learnt at {when:g}"
            raise InputError(
                f"{source}: version {late} ({names[late]}) {before}, before version {early} "
                f"({names[early]}), which learnt at {versions.at[k + 1]:g}: times of versions must "
                f"rise"
            )


def _refuse_unseen(begun: Axis, times: Axis, source: str) -> None:
    if not ((times.at >= begun.at[0]) & (times.at <= begun.at[-1])).any():
        raise InputError(
            f"{source}: no test time ({first_five(times.names)}) lies between the first version "
            f"that learnt ({begun.names[0]}) and the last ({begun.names[-1]}), so that no version "
            f"has seen data of the time of any test: check the column learnt, or the times"
        )


def interleaved(begun: Axis, times: Axis) -> list[str]:
    """The warning where l_1 < t_1 < l_T < t_N is not true."""
    at, learnt = begun.at, begun.names
    if not learnt or at[0] < times.at[0] < at[-1] < times.at[-1]:
        return []
    return [
        f"learning goes from {learnt[0]} to {learnt[-1]} and the tests from {times.names[0]} to "
        f"{times.names[-1]}: tests that begin after the first learning time and end after the last "
        f"would also show forgetting and transfer to the future (Prokopalo et al. 2020, section 3)"
    ]


LEAST = 2  # test times that have to agree
UNSAID = (
    "it is not known whether higher or lower scores are better: use --higher (of accuracies) or "
    "--lower (of errors)"
)
CLEAR = 0.25  # share of the range of all scores that they have to change by, on average


def refuse_without_direction(lifelong: Lifelong) -> None:
    """Refuse to score ready-made scores of which nothing says what is better (UsageError)."""
    if lifelong.kind is SCORES and lifelong.higher is None:
        raise UsageError(f"{lifelong.name}: {UNSAID}")


def odd_direction(lifelong: Lifelong) -> tuple[str, ...]:
    """The warning about a table whose scores get worse with all learning.

    A sentence, or nothing: also where fewer than two times were scored just before and just after
    they were learnt. That nothing says the direction, where that is so.
    """
    if lifelong.higher is None:
        return (UNSAID,)
    means = _mean_scores(lifelong)
    own = np.searchsorted(lifelong.learnt, lifelong.test.at, side="right") - 1  # the newest
    times = np.flatnonzero(own > 0)
    pairs = np.stack([means[own[times] - 1, times], means[own[times], times]], axis=1)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    if len(pairs) < LEAST:
        return ()
    before, after = pairs.T
    clear = CLEAR * (np.nanmax(means) - np.nanmin(means))
    lost = before - after if lifelong.higher else after - before
    if not (lost > 0).all() or lost.mean() < clear:
        return ()
    way, say = ("lower", "false") if lifelong.higher else ("higher", "true")
    return (
        f"at each of {len(pairs)} times, the score just after learning the data of that time is "
        f"{way} than just before (mean {before.mean():.3g} before, {after.mean():.3g} after), "
        f"which here counts as worse: if {way} is better, use --{way} (higher = {say} under "
        "[lifelong])",
    )


def _mean_scores(lifelong: Lifelong) -> Floats:
    """Mean score before any help of each version at each time; NaN where there is none."""
    test = lifelong.test
    base = (test.rows["state"] == STATES.index("base")).to_numpy()
    versions = test.rows["version"].to_numpy()[base]
    times = test.items["time"].to_numpy()[test.rows["item"].to_numpy()[base]]
    sums = {}
    for name in ("score", "weight"):
        sums[name] = np.zeros((len(lifelong.versions), len(test.times)))
        np.add.at(sums[name], (versions, times), test.statistics[SCORED][name][base])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums["score"] / sums["weight"])
