"""What was scored, and what a system said of it, as hashes that know no files and no order of rows.

Two studies have the same evaluation set when ids and labels (or references) are the same, whatever
the files, their formats and the names of systems. Trials without ids are told apart by their row.
"""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

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
