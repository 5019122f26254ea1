"""Sorted segments on disk: any number of rows in order of score, opened as memory maps.

Four steps, of which the first and the third are jobs that may run anywhere::

    count(partition)   -> a file of its rows, range by range of the scores; labels of its own
    merge(parts)       -> all labels, sorted; the first row of each range
    sort(range)        -> the rows of a range of all partitions, sorted, at their place
    open               -> memory maps of all columns

The edges of the ranges are scores of a sample: no tie is split, and they affect speed, never a
result. Rows are ordered by all of their values, so that equal rows are interchangeable, and the
bytes do not depend on the order of rows, partitions or workers.
"""

import os
import pickle
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.core.factors import Coded
from truecost.engines.mapping import Done, Engine
from truecost.engines.partitions import Partition, Sets, merged_labels
from truecost.errors import InputError, first_five

Array = npt.NDArray[Any]
ROWS = 1 << 21  # of a range, about
RANGES = 1 << 16  # at most: 16 bits tell that of each row
SAMPLED = 8  # partitions of which scores are sampled
EVERY = 37  # of their rows
PACKED_UNITS = 1 << 24  # a key of 64 bits holds so many units beside a 32-bit score and a class


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """The rows of a partition in memory.

    Attributes
    ----------
    scores : ndarray of float64, shape (rows,)
        Scores, finite or infinite, never NaN.
    codes : ndarray of uint8, shape (rows,)
        Class codes.
    texts : mapping of str to Coded
        Columns of labels: units and columns of subsets.
    numbers : mapping of str to ndarray of float64 or int64, shape (rows,)
        Other columns: weights, numbers of rows.
    facts : object
        Further facts about the partition; `Sorted.facts` lists those of all partitions in order.
    """

    scores: Array
    codes: Array
    texts: Mapping[str, Coded] = field(default_factory=dict)
    numbers: Mapping[str, Array] = field(default_factory=dict)
    facts: Any = None


class Reader(Protocol):
    """A reader of partitions, which is sent to the workers."""

    def sample(self, partition: Partition) -> Array:
        """Scores of a partition, without NaN, from which the ranges are made."""

    def __call__(self, partition: Partition) -> MemoryRows:
        """The rows of a partition."""


MANIFEST = "sorted.json"  # written last: where it lies, all columns are whole
ROW = "row"  # column of numbers: the row in its partition, which becomes that in the data


@dataclass(frozen=True, eq=False)
class Part:
    """The description of a counted partition: where its ranges begin in its files, the types of its
    columns, its labels.
    """

    name: str
    starts: npt.NDArray[np.int64]
    kinds: Mapping[str, str]
    labels: Mapping[str, Array]
    facts: Any

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])


@dataclass(frozen=True, eq=False)
class Sorted:
    """Columns of all rows in order of score, as memory maps."""

    scores: Array
    codes: npt.NDArray[np.uint8]
    texts: Mapping[str, Coded]
    numbers: Mapping[str, Array]
    facts: Sequence[Any]


@dataclass(frozen=True)
class Layout:
    """The sorted columns: name and type of each, and the number of rows."""

    rows: int
    kinds: Mapping[str, str]
    folder: str

    def place(self, name: str) -> str:
        """The file of a column."""
        return str(Path(self.folder) / f"sorted.{name}")

    def column(self, name: str) -> Array:
        """A column as a memory map, copied on write: a read-only one would make kernels compile
        anew. An empty array where there are no rows.
        """
        if self.rows == 0:
            return np.zeros(0, self.kinds[name])
        return np.asarray(np.memmap(self.place(name), self.kinds[name], "c", shape=(self.rows,)))


def sort_partitions(
    partitions: Sequence[Partition],
    read: Reader,
    sets: Sets,
    folder: str,
    engine: Engine,
    done: Callable[[str, int, int], None] | None = None,
) -> Sorted:
    """Sort the rows of all partitions by score, into files that `Sorted` maps.

    Parameters
    ----------
    sets : Sets
        Sets of label columns that have their labels in common.
    folder : str
        Folder of the files, which the result maps: keep it as long as the result is used.
    done : callable, optional
        Progress callback: name of the step, amount done, total amount.
    """
    edges = _edges(partitions, read)

    def progress_of(step: str, total: int) -> Done | None:
        return done and (lambda jobs, every: done(step, jobs * total // every, total))

    noun = "rows" if partitions[0].is_parquet else "bytes"
    size = sum(one.stop - one.start for one in partitions)
    counted = [(one, read, edges, folder, f"{k:06}") for k, one in enumerate(partitions)]
    parts = engine.map(count, counted, progress_of(f"reading {noun}", size))
    labels, tables = merged_labels([part.labels for part in parts], sets)
    layout, starts = _layout(parts, folder, sets)
    for name, kind in layout.kinds.items():
        with Path(layout.place(name)).open("wb") as file:
            file.truncate(layout.rows * np.dtype(kind).itemsize)
    units = len(labels.get(sets.set_of(_unit(layout)), ()))
    small = [replace(part, labels={}, facts=None) for part in parts]
    plan = _written((small, tables, layout, units), folder)
    jobs = [(k, plan, int(at)) for k, at in enumerate(starts)]
    sums = engine.map(sort_range, jobs, progress_of("sorting rows", layout.rows))
    Path(plan).unlink()
    for part in parts:
        for run in Path(folder).glob(f"{part.name}.*"):
            run.unlink()
    manifest = {"rows": layout.rows, "kinds": dict(layout.kinds), "facts": [p.facts for p in parts],
            "labels": {name: of.tolist() for name, of in labels.items()},
            "starts": starts.tolist(), "sums": sums}  # fmt: skip
    told, place = msgspec.json.encode(manifest), Path(folder) / MANIFEST
    place.with_suffix(".part").write_bytes(b"%08x\n%s" % (zlib.crc32(told), told))
    place.with_suffix(".part").replace(place)
    return open_sorted(folder, sets, check=False)


Plan = tuple[Sequence["Part"], Sequence[Mapping[str, Array]], "Layout", int]


def _written(plan: Plan, folder: str) -> str:
    """The file with the data that sorting any range needs. Their size grows with the partitions, as
    does the number of ranges, so that each worker reads them once instead of with each job.
    """
    number, name = mkstemp(".plan", dir=folder)
    with os.fdopen(number, "wb") as file:
        pickle.dump(plan, file)
    return str(Path(name).absolute())


@lru_cache(1)
def _read(plan: str) -> Plan:
    """The data that sorting any range needs, read once by each worker."""
    with Path(plan).open("rb") as file:
        found: Plan = pickle.load(file)
    return found


def open_sorted(folder: str, sets: Sets, *, check: bool = True) -> Sorted:
    """The data that `sort_partitions` wrote to a folder; InputError if they are incomplete or
    changed. Without `check` the columns are taken as they are.
    """
    try:
        known, _, data = (Path(folder) / MANIFEST).read_bytes().partition(b"\n")
        if known != b"%08x" % zlib.crc32(data):
            raise ValueError(f"the checksum of {MANIFEST} does not match")
        told = msgspec.json.decode(data)
        layout = Layout(told["rows"], told["kinds"], folder)
        if check:
            _check_sums(layout, told["starts"], told["sums"])
        labels = {name: np.array(of, np.int64 if of and isinstance(of[0], int) else object)
                  for name, of in told["labels"].items()}  # fmt: skip
        return _opened(layout, labels, sets, told["facts"])
    except (OSError, ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise InputError(
            f"{folder}: this folder does not contain sorted data of truecost ({error}): delete "
            "the folder"
        ) from error


def _check_sums(layout: Layout, starts: Sequence[int], sums: Sequence[Sequence[int]]) -> None:
    """Check size and bytes of each column against those written: ValueError."""
    for k, (name, kind) in enumerate(layout.kinds.items()):
        size = Path(layout.place(name)).stat().st_size
        if size != (wanted := layout.rows * np.dtype(kind).itemsize):
            raise ValueError(f"the column {name} has {size} bytes, not {wanted}")
        column = layout.column(name)
        for start, end, known in zip(starts, [*starts[1:], layout.rows], sums, strict=True):
            if zlib.crc32(column[start:end].data) != known[k]:
                raise ValueError(f"the checksum of the column {name} does not match")


def _edges(partitions: Sequence[Partition], read: Reader) -> Array:
    """Scores that part the rows into ranges of about `ROWS`, from a few partitions."""
    if len(partitions) == 1:
        return np.zeros(0)
    step = max(1, len(partitions) // SAMPLED)
    found = [read.sample(one) for one in partitions[::step][:SAMPLED]]
    rows = sum(map(len, found)) * len(partitions) / len(found)
    ranges = min(max(1, int(rows / ROWS)), RANGES)
    sample = np.sort(np.concatenate([scores[::EVERY] for scores in found]))
    if not len(sample):
        return np.zeros(0)
    return np.unique(sample[np.arange(1, ranges) * len(sample) // ranges]).astype(np.float64)


def count(partition: Partition, read: Reader, edges: Array, folder: str, name: str) -> Part:
    """A partition as files of its columns, whose rows stand range by range."""
    from truecost.kernels.order import first_ranges, order_by_range

    held = read(partition)
    scores = np.ascontiguousarray(held.scores, np.float64)
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32) + np.float32(0)  # + 0: no two kinds of zero
    order = np.empty(len(scores), np.int64)
    starts = order_by_range(scores, narrow, edges, first_ranges(edges), order)
    kept = narrow if np.array_equal(narrow, scores) else scores + 0.0
    columns: dict[str, Array] = {"scores": kept, "codes": held.codes.astype(np.uint8, copy=False)}
    columns |= {f"text {key}": _narrow(one) for key, one in held.texts.items()}
    columns |= {f"number {key}": column for key, column in held.numbers.items()}
    for key, column in columns.items():
        _publish(Path(folder) / f"{name}.{_safe(key)}", column[order])
    labels = {key: one.labels for key, one in held.texts.items()}
    kinds = {key: column.dtype.str for key, column in columns.items()}
    return Part(name, starts, kinds, labels, held.facts)


def _narrow(column: Coded) -> Array:
    """The codes of a column in two bytes where they fit: a quarter less to write and read."""
    fits = len(column.labels) <= np.iinfo(np.uint16).max
    return column.codes.astype(np.uint16) if fits else column.codes


def _safe(key: str) -> str:
    """A file name for a column of any name."""
    return key.encode().hex()


def _publish(place: Path, column: Array) -> None:
    """Write a whole file: a killed worker leaves either no file or a complete one."""
    made = place.with_name(f"{place.name}.{os.getpid()}.part")
    column.tofile(made)
    made.replace(place)


def _layout(parts: Sequence[Part], folder: str, sets: Sets) -> tuple[Layout, npt.NDArray[np.int64]]:
    """The sorted columns, in the order of the sort keys, and the first row of each range."""
    sizes = np.sum([np.diff(part.starts) for part in parts], axis=0)
    for part in parts:
        if other := parts[0].kinds.keys() ^ part.kinds.keys():
            names = first_five(sorted({name.partition(" ")[2] for name in other}))
            raise InputError(
                f"column {names} contains numbers in one part of the files and texts in another: "
                "write it with one type"
            )
    kinds = {
        name: np.dtype(np.int32).str
        if name.startswith("text ")
        else np.result_type(*{part.kinds[name] for part in parts}).str
        for name in parts[0].kinds
    }
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    units = [name for name in kinds if name.partition(" ")[2] in sets.units]
    ordered = dict.fromkeys(("scores", "codes", *units, *kinds))
    return Layout(int(sizes.sum()), {name: kinds[name] for name in ordered}, folder), starts


def _unit(layout: Layout) -> str:
    """The name of the label column, if it is the only column beside scores and classes."""
    others = [name for name in layout.kinds if name not in ("scores", "codes")]
    alone = len(others) == 1 and others[0].startswith("text ")
    return others[0].removeprefix("text ") if alone else ""


def sort_range(k: int, plan: str, start: int) -> list[int]:
    """Sort the rows of a range and write them to their place; the checksum of each column."""
    parts, tables, layout, units = _read(plan)
    columns = {name: _of_range(k, name, parts, tables, layout) for name in layout.kinds}
    rows = len(columns["scores"])
    if not rows:
        return [0] * len(columns)
    unit = _unit(layout)
    if columns["scores"].dtype == np.float32 and unit and units < PACKED_UNITS:
        columns = _packed(columns, f"text {unit}")
    else:  # the last key is the first one that rows are sorted by
        order = np.lexsort([*reversed([*columns.values()])])
        columns = {name: column[order] for name, column in columns.items()}
    for name, column in columns.items():
        with Path(layout.place(name)).open("r+b") as file:  # a map would die on a full disk
            file.seek(start * column.dtype.itemsize)
            column.tofile(file)
    return [zlib.crc32(np.ascontiguousarray(columns[name]).data) for name in layout.kinds]


def _packed(columns: Mapping[str, Array], unit: str) -> dict[str, Array]:
    """Rows of a 32-bit score, a unit and a class, sorted as keys of 64 bits."""
    from truecost.kernels.order import pack_keys, unpack_keys

    rows = len(columns["scores"])
    keys = np.empty(rows, np.uint64)
    pack_keys(columns["scores"], columns[unit], columns["codes"], keys)
    keys.sort()
    bits, units = np.empty(rows, np.uint32), np.empty(rows, np.int32)
    codes = np.empty(rows, np.uint8)
    unpack_keys(keys, bits, units, codes)
    found: dict[str, Array] = {"scores": bits.view(np.float32), "codes": codes, unit: units}
    return found


def _of_range(
    k: int,
    name: str,
    parts: Sequence[Part],
    tables: Sequence[Mapping[str, Array]],
    layout: Layout,
) -> Array:
    """A column of a range, of all parts in their order, with the codes of all labels."""
    kind = np.dtype(layout.kinds[name])
    found, before = [], 0
    for part, table in zip(parts, tables, strict=True):
        first, last = int(part.starts[k]), int(part.starts[k + 1])
        own = np.dtype(part.kinds[name])
        place = Path(layout.folder) / f"{part.name}.{_safe(name)}"
        column: Array = np.fromfile(place, own, last - first, offset=first * own.itemsize)
        if name.startswith("text "):
            column = table[name.removeprefix("text ")][column]
        if name == f"number {ROW}":
            column = column + before
        before += part.rows
        found.append(column.astype(kind, copy=False))
    return np.concatenate(found)


def _opened(
    layout: Layout, labels: Mapping[str, Array], sets: Sets, facts: Sequence[Any]
) -> Sorted:
    """The sorted columns."""
    maps = {name: layout.column(name) for name in layout.kinds}
    texts = {
        column: Coded(labels[sets.set_of(column)], maps[f"text {column}"])
        for name in layout.kinds
        if (column := name.removeprefix("text ")) != name
    }
    numbers = {
        name.removeprefix("number "): maps[name] for name in maps if name.startswith("number ")
    }
    return Sorted(maps["scores"], maps["codes"], texts, numbers, facts)
