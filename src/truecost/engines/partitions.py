"""Partitions: stretches of rows of files, each read by itself.

Their size follows from the data: a number of rows of a Parquet file, a number of bytes of whole
lines of a text file. No partition depends on the number of workers, and no result on the
partitions.

Labels of columns that are read in parts have separate codes in each part, until they are merged.
"""

import gzip
import io
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import parquet
from truecost.formats.declared import by_content, by_ending
from truecost.formats.opening import GZIP, LINE, opened
from truecost.formats.reading import formats_of, table_of_bytes
from truecost.formats.table import Table
from truecost.formats.tables import FAULTS
from truecost.names import in_store

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sets:
    """Sets of label columns that have their labels in common.

    `shared`: the set of a column, where it is not its own; `numbers`: sets whose labels are whole
    numbers if all of them can be; `units`: the columns by which rows of equal score and class are
    ordered first, as in rankings in memory.
    """

    shared: Mapping[str, str] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    units: tuple[str, ...] = ()

    def set_of(self, column: str) -> str:
        """The set of a column."""
        return self.shared.get(column, column)


def merged_labels(
    parts: Sequence[Mapping[str, Array]], sets: Sets
) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """All labels of each set, sorted, and for each part the new code of each old one by column.

    `parts`: labels of each part by column.
    """
    found: dict[str, set[str]] = {}
    for part in parts:
        for column, labels in part.items():
            found.setdefault(sets.set_of(column), set()).update(labels.tolist())
    every = {name: _sorted(labels, numbers=name in sets.numbers) for name, labels in found.items()}
    codes = {name: {str(label): k for k, label in enumerate(of)} for name, of in every.items()}
    tables = [
        {
            column: np.array([codes[sets.set_of(column)][label] for label in labels], np.int32)
            for column, labels in part.items()
        }
        for part in parts
    ]
    return every, tables


def _sorted(labels: Collection[str], *, numbers: bool) -> Array:
    """Labels in order; as whole numbers where this is allowed and all of them are."""
    if numbers and all(map(_is_whole, labels)):
        return np.array(sorted(map(int, labels)), np.int64)
    return np.array(sorted(labels), object)


def _is_whole(label: str) -> bool:
    """Whether a label is a whole number in its usual form."""
    return (
        label.removeprefix("-").isdecimal()
        and str(int(label)) == label
        and -(2**63) <= int(label) < 2**63
    )


LARGE = 20_000_000  # rows from which files are read in parts without being asked
ROWS = 1 << 20  # of a partition of Parquet
BYTES = 1 << 25  # of a partition of text
WIDTH = 32  # bytes that a text of a table takes in memory, about
SMALL = 1 << 16  # bytes that tell a format
LOOKED_AT = 1 << 20  # bytes of whose lines the mean length is taken
NAMED = ("csv", "tsv")  # whose first line names the columns
PACKED = (".gz", ".npy", ".npz")


@dataclass(frozen=True)
class Partition:
    """A stretch of a file: rows of Parquet, or bytes of whole lines of text.

    `line`: number of the first line; `head`: line with the names of the columns.
    """

    path: str
    start: int
    stop: int
    line: int = 0
    head: bytes = b""
    format: str | None = None

    @property
    def is_parquet(self) -> bool:
        """Whether a file is Parquet, by its first bytes, or by its name in an object store."""
        return self.format == "parquet"

    def table(self, columns: Sequence[str] | None = None) -> Table:
        """The rows of the partition; for Parquet only the given columns."""
        if self.is_parquet:
            return self._rows(columns)
        try:
            with opened(self.path) as file:
                file.seek(self.start)
                data = file.read(self.stop - self.start)
        except OSError as error:
            raise unreadable(self.path, error) from error
        if self.head and data.count(b'"') % 2:
            raise InputError(
                f"{self.path}, line {self.line}: a quoted text continues on the next line, so the "
                f"file cannot be read in parts: write it as Parquet"
            )
        table = table_of_bytes(self.head + data, self.path, self.format, "trials")
        offset = self.line - bool(self.head) - 1
        lines = None if table.lines is None else table.lines + offset
        first = table.first_line + offset if table.first_line >= 0 else table.first_line
        return replace(table, lines=lines, first_line=first)

    def _rows(self, columns: Sequence[str] | None) -> Table:
        """Rows of a Parquet file, numbered as in the whole file."""
        rows = self.stop - self.start
        try:
            frame = pl.scan_parquet(self.path, glob=False).slice(self.start, rows)
            named = set(frame.collect_schema())
            chosen = [name for name in columns or () if name in named]
            found = (frame.select(chosen) if columns else frame).collect()
        except FAULTS as error:
            raise unreadable(self.path, error) from error
        table = Table(self.path, found, first_line=self.start, noun="row", format="parquet")
        for name in columns or ():
            table.require(name, name)
        return table


def is_parquet(path: str) -> bool:
    """Whether a file is one, by its first bytes; by its name where it lies in an object store."""
    if in_store(path):
        return path.endswith(".parquet")
    return _begins(path, b"PAR1")


def _begins(path: str, mark: bytes) -> bool:
    """Whether a file begins with these bytes; false where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False


def stored_files(pattern: str) -> list[str]:
    """The Parquet files of an object store that match a pattern, sorted."""
    if not is_parquet(pattern):
        raise UsageError(f"{pattern}: only Parquet is read from object stores: end it in .parquet")
    try:
        files = pl.scan_parquet(pattern, include_file_paths="its file").select("its file")
        found: list[str] = files.unique().sort("its file").collect().to_series().to_list()
    except FAULTS as error:
        raise unreadable(pattern, error) from error
    return found


def unreadable(path: str, error: BaseException) -> InputError:
    """The message for a file that cannot be read."""
    return InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")


def size_of(paths: Sequence[str]) -> int:
    """Approximate number of rows of files: counted for Parquet, estimated from lines for others."""
    try:
        return sum(_rows_of(path) if is_parquet(path) else _lines_of(path) for path in paths)
    except InputError:
        return 0  # reading says what is wrong


def do_not_fit(paths: Sequence[str]) -> bool:
    """Whether twice the size of files in memory exceeds the free memory, where this is known."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return False
    return 2 * sum(map(_bytes_of, paths)) > 1024 * free


def _bytes_of(path: str) -> int:
    """Approximate size of a file in memory; 0 for a file that cannot be read, as the reader reports
    it.
    """
    try:
        if not is_parquet(path):
            return Path(path).stat().st_size
        kinds = pl.read_parquet_schema(path).values()
        wide = sum(WIDTH if kind == pl.String else 8 for kind in kinds)
        return _rows_of(path) * wide
    except (InputError, *FAULTS):
        return 0


def _rows_of(path: str) -> int:
    try:
        found: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        return found
    except FAULTS as error:
        raise unreadable(path, error) from error


def _lines_of(path: str) -> int:
    place = Path(path)
    try:
        with place.open("rb") as file:
            head = file.read(LOOKED_AT)
        size = place.stat().st_size
    except OSError:
        return 0
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(head)) as packed:
            try:
                head = packed.read(LOOKED_AT)
            except (OSError, EOFError):
                return 0
        size *= 5  # what texts of numbers are packed by, more or less
    return size * head.count(b"\n") // max(1, len(head))


def partitions_of(paths: Sequence[str], stated: str | None = None) -> list[Partition]:
    """The partitions of files, in the order of the files and their rows.

    UsageError where a file cannot be read in parts; InputError where one cannot be read.
    """
    found: list[Partition] = []
    for path in paths:
        if is_parquet(path):
            rows = _rows_of(path)
            _check_pages(path)
            found += [
                Partition(path, at, min(at + ROWS, rows), format="parquet")
                for at in range(0, rows, ROWS)
            ]
            continue
        if in_store(path):
            raise UsageError(f"{path}: only Parquet is read from object stores: end it in .parquet")
        if path.lower().endswith(PACKED) or _begins(path, GZIP):
            raise UsageError(f"{path}: cannot be read in parts: unpack it, or write it as Parquet")
        found += _stretches(path, stated)
    heads = {part.head for part in found if part.start < part.stop}
    found = [p for p in found if p.start < p.stop or not p.head or p.head not in heads]
    if not found:
        raise InputError(f"{first_five(paths)}: there are no rows")
    return found


def _check_pages(path: str) -> None:
    """Refuse a file with a page whose header would end the process, once for all its parts."""
    if in_store(path):
        return
    try:
        parquet.check_file(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _stretches(path: str, stated: str | None) -> Iterator[Partition]:
    """Stretches of whole lines of a text file, `BYTES` long or a little more; an empty one for a
    file without rows.
    """
    try:
        with opened(path) as file:
            kind = stated or by_ending(path, formats_of("trials")) or by_content(file.read(SMALL))
            file.seek(0)
            head = _line(file, path) if kind in NAMED else b""
            start, line, first = len(head), 1 + bool(head), True
            while (data := file.read(BYTES)) or first:
                data += _line(file, path)
                yield Partition(path, start, start + len(data), line, head, stated)
                start, line, first = start + len(data), line + data.count(b"\n"), False
    except OSError as error:
        raise unreadable(path, error) from error


def _line(file: IO[bytes], path: str) -> bytes:
    """The rest of a line; InputError where it is too long."""
    size = LINE.size
    found = file.readline(-1 if math.isinf(size) else int(size) + 1)
    if len(found) > size:
        raise InputError(f"{path}: a line is longer than {LINE.lifted()}")
    return found
