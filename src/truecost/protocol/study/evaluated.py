"""What was scored, as hashes that know no order, and the best of several figures on one set.

Two studies have the same evaluation set when ids and labels (or references) are the same, whatever
the files, their formats and the names of systems. Trials without ids are told apart by their row.

The value of the best of n systems is its true value plus its error, and the error of the one that
was chosen is at most the largest error of all n. Where errors are about normal with the deviation
s of its replicates, their largest is s times c_n on average, the mean of the largest of n standard
normal values (0.56 for 2, 1.16 for 5, 1.54 for 10), if the systems err independently, and less if
they err on the same trials (Slepian 1962). So c_n s is a bound on how much too good the best value
is on average, reached by n systems that are equally good and err independently. The replicates of
the other systems are not kept, so that s is that of the best: the bound holds if the errors of the
others deviate no more than its errors do.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from msgspec import structs

from truecost.core.flags import raised
from truecost.core.results import Estimate
from truecost.protocol.ledger import Line
from truecost.task import Record

ROWS = 1_000_000  # rows of texts that are hashed at once


Frames = Sequence[pl.DataFrame]


class Hasher:
    """Hashes of what systems were scored on, and of what they put out.

    To sort texts is what takes long: systems with the same ids share one sort of them.
    """

    def __init__(self) -> None:
        self._known: tuple[pl.Series, pl.Series | None] | None = None

    def evaluation_of(self, system: Record) -> str:
        """The hash of what a system was scored on.

        Returns
        -------
        str
            Sha256 over sorted ids with their labels or references.
        """
        return self._hash(system.right())

    def output_of(self, system: Record) -> str:
        """The hash of what a system put out.

        Returns
        -------
        str
            Sha256 over ids with their scores, sorted.
        """
        return self._hash(system.outputs())

    def _hash(self, frames: Frames) -> str:
        found = hashlib.sha256()
        for frame in frames:
            plain = frame.select(map(_plain, frame.iter_columns()))
            rows = self._order(plain.to_series(0))
            for column in plain.sort(plain.columns) if rows is None else plain[rows]:
                found.update(f"{column.name}\0{column.dtype}\0{len(column)}\0".encode())
                for piece in _pieces(column):
                    found.update(piece)
        return found.hexdigest()

    def _order(self, names: pl.Series) -> pl.Series | None:
        """The order of rows by their first column; None where it does not tell all of them."""
        if names.dtype != pl.String:
            return None
        if self._known is None or not self._known[0].equals(names):
            self._known = names, _order(names)
        return self._known[1]


def _order(names: pl.Series) -> pl.Series | None:
    """The order of texts; None where two are the same."""
    rows = pl.Series("row", np.arange(len(names)))
    # By two columns, of which polars makes keys, it takes half as long as by texts alone.
    found = pl.DataFrame([names.alias("name"), rows]).sort("name", "row")
    same = found["name"] == found["name"].shift()
    return None if same.any() else found["row"]


def joined(hashes: Sequence[str]) -> str:
    """One hash for several, whatever their order: of the runs of a method, say."""
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()


def _plain(column: pl.Series) -> pl.Series:
    """Numbers as float64 with one zero and one NaN (no value is NaN too), the rest as text."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return (column.cast(pl.Float64) + 0.0).fill_null(float("nan"))
    if column.dtype.is_nested():
        return column.map_elements(str, pl.String)
    return column.cast(pl.String).fill_null("")


def _pieces(column: pl.Series) -> Iterator[bytes]:
    """The bytes of a column: little-endian numbers, or lengths of texts and the texts."""
    if column.dtype == pl.Float64:
        values = column.to_numpy()
        yield np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes()
        return
    for start in range(0, len(column), ROWS):
        some = column[start : start + ROWS]
        yield some.str.len_bytes().to_numpy().astype("<u4").tobytes()
        yield some.str.join("")[0].encode()


@dataclass(frozen=True)
class Standing:
    """The best value of a figure over several scorings.

    Attributes
    ----------
    count : int
        Systems that have a value.
    """

    best: float
    count: int


def standings(lines: Sequence[Line]) -> dict[str, Standing]:
    """The best of each figure of which scorings tell several systems apart.

    Parameters
    ----------
    lines : sequence of Line
        Scorings of one evaluation set.

    Returns
    -------
    dict of str to Standing
        By key of the figure. What all scorings tell of the same systems is left out: they were
        compared once, and not chosen one after another; so is what is equal for all.
    """
    values: dict[str, dict[str, set[float]]] = {}
    systems: dict[str, set[frozenset[str]]] = {}
    directions: dict[str, str] = {}
    for line in lines:
        own = line.hashes
        for figure in line.figures:
            told = {own[name]: v for name, v in figure.values.items() if v is not None}
            systems.setdefault(figure.key, set()).add(frozenset(told))
            directions[figure.key] = figure.direction
            for sha, value in told.items():
                values.setdefault(figure.key, {}).setdefault(sha, set()).add(value)
    found = {}
    for key, of in values.items():
        seen = set().union(*of.values())
        if len(of) > 1 and len(systems[key]) > 1 and len(seen) > 1:
            best = min(seen) if directions[key] == "lower" else max(seen)
            found[key] = Standing(best, len(of))
    return found


def marked(row: Estimate, standing: Standing) -> Estimate:
    """A row with the flag `best_of_many` where it is the best.

    Returns
    -------
    Estimate
        With `best_of` and, where the replicates tell it, `best_of_optimism` among its counts.
    """
    if row.value != standing.best:
        return row
    counts = {**row.counts, "best_of": standing.count}
    deviation = _deviation(row)
    if math.isfinite(deviation):
        counts["best_of_optimism"] = largest_of(standing.count) * deviation
    return structs.replace(row, counts=counts, flags=(*row.flags, *raised(best_of_many=True)))


def _deviation(row: Estimate) -> float:
    """Standard deviation of the replicates; NaN where they do not tell it."""
    values = row.replicates
    if row.n_undefined or len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(np.std(values, ddof=1))


@cache
def largest_of(count: int) -> float:
    """c_n: the mean of the largest of n independent standard normal values.

    The integral of 1 - F(x)^n - F(-x)^n over x > 0, with the distribution function F.

    Parameters
    ----------
    count : int
        n, 1 or more.

    Returns
    -------
    float
        0 for 1; grows as sqrt(2 log n).
    """
    x = np.linspace(0, 12, 24001)
    below = np.array([math.erf(v / math.sqrt(2)) for v in x]) / 2 + 0.5
    return float(np.trapezoid(1 - below**count - (1 - below) ** count, x))
