"""UnitIndex: the index from each row of a part to its weights (see `truecost.core.evidence`)."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import PIECE, Array, Factor, encode
from truecost.core.weights import Block, Columns, Rows
from truecost.errors import InputError, counted, first_five

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
UnitColumns = Sequence[tuple[Factor, Codes]]


def digest_of(*arrays: npt.NDArray[Any]) -> str:
    """A short hash of arrays: equal ones hold the same numbers in the same order."""
    found = hashlib.sha256()  # processors have instructions for it: half the time of blake2b
    for array in arrays:
        found.update(str(array.shape).encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def refuse_outside(codes: npt.ArrayLike, count: int, what: str) -> None:
    """Refuse codes outside 0 to count - 1; `what` is their noun in messages."""
    found = np.asarray(codes)
    if len(found) and not 0 <= int(found.min()) <= int(found.max()) < count:
        raise InputError(
            f"{what} run from {found.min()} to {found.max()}; they must lie in 0 to {count - 1}"
        )


@dataclass(frozen=True, eq=False)
class Computed:
    """A column that is computed piece by piece when it is needed, and never held as a whole."""

    make: Callable[[slice], Array]
    rows: int
    dtype: npt.DTypeLike = np.float64

    @property
    def shape(self) -> tuple[int]:
        """The shape of the column: one entry for each row."""
        return (self.rows,)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, part: slice) -> Array:
        return self.make(part)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        pieces = [self.make(slice(k, k + PIECE)) for k in range(0, self.rows, PIECE)]
        return np.concatenate(pieces or [np.zeros(0)]).astype(dtype or self.dtype)


@dataclass(frozen=True, eq=False)
class UnitIndex:
    """The index from each row to its weights: columns of the joined weights of `factors`, int32
    (rows, sides).

    The last column of the joined weights is always one; the second side of a row points to it when
    both sides have the same unit.
    """

    factors: tuple[Factor, ...]
    codes: Codes

    @staticmethod
    def join(sides: UnitColumns) -> "UnitIndex":
        """The index of several sides; one factor may be on several."""
        factors: list[Factor] = []
        offsets: dict[str, int] = {}
        for factor, codes in sides:
            refuse_outside(codes, len(factor), f"unit codes of {factor.name!r}")
            if factor.name not in offsets:
                offsets[factor.name] = sum(len(f) for f in factors)
                factors.append(factor)
            elif factor.sizes is not None:
                raise InputError(
                    f"factor {factor.name!r} occurs on several sides, but each label represents "
                    f"several units: give every unit its own label"
                )
        if len(sides) == 1:
            return UnitIndex(
                (sides[0][0],), sides[0][1].astype(np.int32, copy=False).reshape(-1, 1)
            )
        columns = [codes.astype(np.int32) + np.int32(offsets[f.name]) for f, codes in sides]
        slots = np.stack(columns, axis=1) if columns else np.zeros((0, 1), np.int32)
        ones = np.int32(sum(len(f) for f in factors))
        for later in range(1, slots.shape[1]):
            repeated = (slots[:, :later] == slots[:, later : later + 1]).any(axis=1)
            slots[repeated, later] = ones
        return UnitIndex(tuple(factors), slots)

    def of_units(self, factor: Factor, values: Floats | None = None) -> Floats:
        """Sum of values, (rows,), or number of rows without them, over the rows that have each unit
        of a factor on any side: the amount that leaving out (one unit of) each label removes; all 0
        for another factor.
        """
        sums, first = np.zeros(len(factor)), 0
        alone = len(self.factors) == self.codes.shape[1] == 1
        for known in self.factors:
            last = first + len(known)
            # In pieces, as numpy copies what it counts to 64 bits; a piece makes sums of all units.
            step = max(COUNTED, len(known))
            for start in range(0, len(self.codes) if known.name == factor.name else 0, step):
                own = None if values is None else values[start : start + step]
                for codes in self.codes[start : start + step].T:
                    here = slice(None) if alone else (codes >= first) & (codes < last)
                    held = None if own is None else own[here]
                    sums += np.bincount(codes[here] - first, held, len(known))
            first = last
        return sums

    def rows(self, block: Block) -> Rows:
        """The joined weights under a block: shape (replicates, slots)."""
        if len(self.factors) == 1 and self.codes.shape[1] == 1:
            return block[self.factors[0].name]
        ones = np.ones((block.count, 1), np.uint16)
        return np.concatenate([*(block[f.name] for f in self.factors), ones], axis=1)

    def columns(self, block: Block) -> Columns:
        """The joined weights transposed: shape (slots, replicates)."""
        return block.columns(tuple(f.name for f in self.factors))


CHUNK = 1 << 16  # rows converted at a time
COUNTED = 1 << 18  # rows counted at a time
EXACT = 2**53  # below it floats hold all whole numbers


def count_entries(
    slots: UnitIndex,
    cells: npt.NDArray[Any],
    width: int,
    columns: Sequence[npt.NDArray[Any] | Computed],
    weights: Floats | None,
) -> tuple[UnitIndex, npt.NDArray[np.int64], Floats]:
    """Sums of the columns for each (cell, units) that occurs; `width`: number of cells.

    With one side, and a table of all cells and units not much larger than the data, rows are added
    directly into the table, as floats; otherwise rows are grouped by sorting, as are whole numbers
    whose sums floats cannot represent.
    """
    units = sum(len(f) for f in slots.factors)
    size = width * units
    whole = weights is None and all(np.dtype(c.dtype).kind in "iub" for c in columns)
    dense = size <= max(4 * len(cells), 1 << 16) and size < 1 << 31
    if slots.codes.shape[1] > 1 or not dense or (whole and any(map(_may_exceed, columns))):
        values = np.stack([np.asarray(c) for c in columns], axis=1)
        values = values.astype(np.int64 if whole else np.float64)
        if weights is not None:
            values *= weights[:, None]
        return group(slots, cells.astype(np.int64), values)
    sums = _sums_by_key(slots.codes[:, 0], cells, units, columns, weights, size)
    found = np.flatnonzero(sums[-1])
    places = (found % units).astype(np.int32).reshape(-1, 1)
    kept = np.stack([column[found] for column in sums[:-1]], axis=1)
    return UnitIndex(slots.factors, places), found // units, kept


def _sums_by_key(
    codes: Codes,
    cells: npt.NDArray[Any],
    units: int,
    columns: Sequence[npt.NDArray[Any] | Computed],
    weights: Floats | None,
    size: int,
) -> list[Floats]:
    """Sums of the columns and the number of rows by cell and unit, in one pass, independent of the
    order of the rows; whole numbers need no exact accumulator.
    """
    from truecost.kernels import FEW
    from truecost.kernels.exact import ExactSums
    from truecost.kernels.sums import add_by_key

    whole = [weights is None and np.dtype(c.dtype).kind in "iub" for c in columns]
    plain = [np.zeros(size) if one else np.zeros(0) for one in (*whole, True)]
    exact = [ExactSums(0 if one else size) for one in whole]
    add = _add_counts if len(cells) <= FEW else add_by_key
    for start in range(0, len(cells), CHUNK):
        part = slice(start, start + CHUNK)
        keys = cells[part].astype(np.int32)
        keys *= units
        keys += codes[part]
        add(keys, np.ones(len(keys)), plain[-1])
        for k, column in enumerate(columns):
            value = column[part].astype(np.float64)
            if whole[k]:
                add(keys, value, plain[k])
            else:
                exact[k].add(keys, value if weights is None else value * weights[part])
    sums = [own if one else digits.sums()
            for own, one, digits in zip(plain, whole, exact, strict=False)]  # fmt: skip
    return [*sums, plain[-1]]


def _add_counts(keys: Codes, values: Floats, out: Floats) -> None:
    """Add whole numbers at the indices of their keys."""
    out += np.bincount(keys, values, len(out))


def _may_exceed(column: npt.NDArray[Any] | Computed) -> bool:
    """Whether sums of whole numbers may be too large for floats to be exact."""
    if isinstance(column, Computed) or np.dtype(column.dtype).itemsize < 8 or not len(column):
        return False
    held = column[:1] if column.strides == (0,) else column
    return max(int(held.max()), -int(held.min())) * len(column) >= EXACT


def _sums_of(keys: npt.NDArray[np.int64], values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Sum of the values of each key, independent of the order of rows; int64 for whole types."""
    from truecost.kernels.exact import exact_sums

    if values.dtype.kind in "iu":
        sums = np.zeros(size, np.int64)
        np.add.at(sums, keys, values)
        return sums
    if np.abs(values).sum() < EXACT and bool((values == np.rint(values)).all()):
        return np.bincount(keys, values, size)  # whole numbers need no exact digits
    return exact_sums(keys, values, size)


def group(
    slots: UnitIndex, cells: npt.NDArray[np.int64], values: npt.NDArray[Any]
) -> tuple[UnitIndex, npt.NDArray[np.int64], npt.NDArray[Any]]:
    """One entry for each distinct (cell, units), in that order: slots, cells (entries,) and sums
    (entries, statistics), independent of the order of the rows.
    """
    width = 1 + (int(slots.codes.max()) if len(slots.codes) else 0)
    entry: npt.NDArray[np.int64] = cells
    for side in range(slots.codes.shape[1]):
        # Encoded side by side, so that the key never outgrows 64 bits.
        entry = encode(entry * width + slots.codes[:, side])[1].astype(np.int64)
    count = int(entry.max()) + 1 if len(entry) else 0
    if count == len(entry) and bool((entry == np.arange(count)).all()):
        return slots, cells, values
    sums = np.stack([_sums_of(entry, column, count) for column in values.T], axis=1)
    place = np.empty(count, np.int64)
    place[entry] = np.arange(len(entry))
    return UnitIndex(slots.factors, slots.codes[place]), cells[place], sums


def join(left: UnitIndex, right: UnitIndex) -> UnitIndex:
    """Rows of `left`, then those of `right`, with the units of each factor united by label; the
    same factors in the same order.
    """
    if [f.name for f in left.factors] != [f.name for f in right.factors] or (
        left.codes.shape[1] != right.codes.shape[1]
    ):
        raise InputError(
            f"factors do not match: {[f.name for f in left.factors]} against "
            f"{[f.name for f in right.factors]}"
        )
    factors, maps = [], [np.zeros(0, np.int32), np.zeros(0, np.int32)]
    offset = 0
    for a, b in zip(left.factors, right.factors, strict=True):
        factor, places = united(a, b)
        for k, own in enumerate(np.split(places + np.int32(offset), [len(a)])):
            maps[k] = np.concatenate([maps[k], own])
        factors.append(factor)
        offset += len(factor)
    codes = [
        np.append(m, np.int32(offset))[s.codes] for m, s in zip(maps, (left, right), strict=True)
    ]
    return UnitIndex(tuple(factors), np.concatenate(codes).astype(np.int32))


def united(a: Factor, b: Factor) -> tuple[Factor, Codes]:
    """The units of both factors, and the index among them of each label of `a`, then of `b`.

    Equal labels are the same units, with one stratum (by name where strata have names, `pairs`) and
    one size. Labels that are tied in either factor are tied, and so are those tied to the same
    label; where the ties differ, units are numbered by their first label.

    Raises
    ------
    InputError
        When one factor has strata or ties and the other has none, or a label has two strata or
        sizes.
    """
    if a.same_units(b):
        return a, np.tile(np.arange(len(a), dtype=np.int32), 2)
    for what in ("strata", "tied", "pairs"):
        if (getattr(a, what) is None) != (getattr(b, what) is None):
            said = "ties" if what == "tied" else "strata"
            raise InputError(
                f"factor {a.name!r} has {said} in one part only: give them to both, or join the "
                f"data before counting"
            )
    sides = [(a.labels, b.labels), *zip(a.pairs or (), b.pairs or (), strict=True)]
    if any((one.dtype.kind in "OU") != (other.dtype.kind in "OU") for one, other in sides):
        raise InputError(
            f"the units of {a.name!r} are text in one part and numbers in the other: read both as "
            f"text"
        )
    both = [np.concatenate(pair) for pair in sides]
    if a.pairs is not None:
        return Factor.encode(a.name, both[2], both[1])
    labels, places = encode(both[0])
    strata = sizes = tied = None
    if a.strata is not None and b.strata is not None:
        strata = _of_labels(a.name, "strata", labels, places, [a.strata, b.strata])
    if a.sizes is not None or b.sizes is not None:
        own = [np.ones(len(f), np.int64) if f.sizes is None else f.sizes for f in (a, b)]
        sizes = _of_labels(a.name, "sizes", labels, places, own)
    if a.tied is not None and b.tied is not None:
        tied = _ties(len(labels), places, np.concatenate([a.tied, b.tied + a.count]))
    return Factor(a.name, labels, strata, sizes, tied), places


def _of_labels(
    name: str, what: str, labels: Array, places: Codes, own: Sequence[Array]
) -> npt.NDArray[np.int64]:
    """The value of each label, which must be the same in both parts."""
    values = np.concatenate(own).astype(np.int64)
    found = np.zeros(len(labels), np.int64)
    found[places] = values
    if (differs := found[places] != values).any():
        raise InputError(
            f"parts differ in the {what} of {counted(int(differs.sum()), 'unit')} of {name!r}: "
            f"{first_five(labels[places[differs]])}"
        )
    return found


def _ties(labels: int, places: Codes, groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Unit of each label, where the labels of a group are one unit; units are numbered by their
    first label.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = labels + int(groups.max(initial=-1)) + 1
    edges = coo_array((np.ones(len(groups)), (places, labels + groups)), shape=(size, size))
    found = connected_components(edges, directed=False)[1][:labels]
    firsts = np.unique(found, return_index=True)[1]
    return np.asarray(np.argsort(np.argsort(firsts))[encode(found)[1]], np.int64)
