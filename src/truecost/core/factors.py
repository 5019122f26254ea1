"""Factors: the ways in which trials are dependent, and their units; the draw of units in replicates
(used by `truecost.core.weights` block by block).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, counted, first_five

if TYPE_CHECKING:
    import polars as pl

    from truecost.core.weights import Plan


Array = npt.NDArray[Any]
PIECE = 1 << 22  # rows looked at in one go
FIRST_ROWS = 1 << 14  # of a column of texts, whose labels may be those of all rows
MOST_UNITS = 4_000_000_000  # of a factor with sizes: its weights are 32-bit numbers
Counts = npt.NDArray[np.unsignedinteger[Any]]
ONE_BY_ONE = 8  # labels of up to so many units: drawing unit by unit is five times faster there


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as its sorted distinct labels and the index of each row's label.

    Labels without rows are allowed, as in a subset.
    """

    labels: Array
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "Coded":
        return Coded(self.labels, self.codes[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.labels[self.codes], dtype)


def sizes_of(codes: Array, count: int) -> npt.NDArray[np.int64]:
    """Number of rows of each code from 0 to count - 1, in pieces: numpy makes 64-bit copies."""
    found = np.zeros(count, np.int64)
    for start in range(0, len(codes), PIECE):
        found += np.bincount(codes[start : start + PIECE], minlength=count)
    return found


Labels = Array | Coded  # of units, one a row
Column = npt.ArrayLike | Coded


def encode_sides(columns: Sequence[Column]) -> tuple[Array, list[npt.NDArray[np.int32]]]:
    """Sorted distinct values of several columns of one population, and the codes of each column."""
    coded = [column for column in columns if isinstance(column, Coded)]
    if len(coded) == len(columns) and all(one.labels is coded[0].labels for one in coded):
        there = np.zeros(len(coded[0].labels), np.bool_)
        for one in coded:
            for start in range(0, len(one), PIECE):  # fancy indices are 64-bit copies
                there[one.codes[start : start + PIECE]] = True
        if there.all():
            return coded[0].labels, [one.codes for one in coded]
        places = (np.cumsum(there) - 1).astype(np.int32)
        return coded[0].labels[there], [places[one.codes] for one in coded]
    arrays = [np.asarray(column) for column in columns]
    labels, codes = encode(np.concatenate(arrays) if len(arrays) > 1 else arrays[0])
    return labels, [*np.split(codes, len(arrays))]


def coded_texts(texts: "pl.Series") -> Coded:
    """A column of polars texts without nulls, as labels and codes.

    Where the first rows have few labels, all rows are coded by these, and only the others are
    searched for more labels: one pass over the texts instead of two.
    """
    import polars as pl

    found = texts.head(FIRST_ROWS).unique().sort()
    if not len(texts) > FIRST_ROWS > 4 * len(found):
        found = texts.unique().sort()
    coded = texts.cast(pl.Enum(found), strict=False)
    if coded.null_count():
        found = pl.concat([found, texts.filter(coded.is_null()).unique()]).sort()
        coded = texts.cast(pl.Enum(found))
    return Coded(found.to_numpy(), coded.to_physical().to_numpy().astype(np.int32))


def encode(column: Column) -> tuple[Array, npt.NDArray[np.int32]]:
    """Sorted distinct values, and the index of each row's value among them; int32."""
    if isinstance(column, Coded):
        present, [own] = encode_sides([column])
        return present, own
    values = np.asarray(column)
    if values.dtype.kind in "OU":
        import polars as pl

        texts = pl.Series(values.astype(object) if values.dtype.kind == "U" else values)
        coded = coded_texts(texts.cast(pl.String))
        return coded.labels, coded.codes
    if values.dtype.kind in "iub" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values):  # a table of the range beats sorting tenfold
            present = np.bincount(values.astype(np.int64) - low) > 0
            places = (np.cumsum(present) - 1).astype(np.int32)
            return np.flatnonzero(present) + low, places[values.astype(np.int64) - low]
    labels, codes = np.unique(values, return_inverse=True)
    return labels, codes.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Factor:
    """Units of one factor, such as speakers, in sorted order, with the stratum of each unit.

    Parameters
    ----------
    name : str
        Name of the factor, on which the random weights and the signature depend.
    labels : ndarray, shape (units,)
        Sorted labels of the units.
    strata : ndarray of int, shape (units,), optional
        Stratum of each unit. Units are drawn within their stratum. Default: one stratum.
    sizes : ndarray of int, shape (units,), optional
        Number of units with equal data that each label represents. Default: 1. The counts of a
        label are the counts of one such unit; the weight of the label in a replicate is the number
        of draws of its units. A million units with a hundred different counts are drawn as fast
        as a hundred units.
    tied : ndarray of int, shape (labels,), optional
        Unit of each label, from 0, if several labels form one unit and have the same weight in
        every replicate. Example: the queries of one voice.
    pairs : tuple of two ndarrays, shape (units,), optional
        Names of the stratum and of the unit, from which the label of each unit was made.

    Raises
    ------
    InputError
        If the sizes are not one positive whole number for each label, or their sum is above
        4,000,000,000; if ties are combined with strata or sizes, or a label has no unit.

    Examples
    --------
    Two users with data, and one label that represents 7 users without data:

    >>> import numpy as np
    >>> import truecost as tc
    >>> users = tc.Factor("user", np.array(["ann", "bob", "others"]), sizes=np.array([1, 1, 7]))
    >>> len(users), users.count
    (3, 9)
    >>> tc.Plan(replicates=3, seed=1).weights({"user": users}).block()["user"].tolist()
    [[0, 1, 8], [1, 0, 8], [0, 0, 9]]
    """

    name: str
    labels: Array
    strata: npt.NDArray[np.int64] | None = None
    sizes: npt.NDArray[np.int64] | None = None
    tied: npt.NDArray[np.int64] | None = None
    pairs: tuple[Array, Array] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.sizes is not None:
            _refuse_sizes(np.asarray(self.sizes), self.name, len(self.labels))
        if self.tied is not None:
            _refuse_ties(self)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def count(self) -> int:
        """Number of units: the sum of `sizes`, or the number of units in `tied`, or the number of
        labels.
        """
        if self.tied is not None:
            return int(self.tied.max(initial=-1)) + 1
        return len(self.labels) if self.sizes is None else int(np.sum(self.sizes))

    @cached_property
    def digest(self) -> str:
        """Hash of the units with their strata, sizes and ties."""
        labels = self.labels
        if labels.dtype.kind in "OU":
            data = "\0".join(labels.tolist()).encode()
        else:
            data = np.ascontiguousarray(labels).tobytes()
        found = hashlib.sha256(data)
        if self.strata is not None:
            found.update(np.asarray(self.strata, np.int64).tobytes())
        if self.sizes is not None:
            found.update(b"sizes" + np.asarray(self.sizes, np.int64).tobytes())
        if self.tied is not None:
            found.update(b"tied" + np.asarray(self.tied, np.int64).tobytes())
        return found.hexdigest()[:16]

    @staticmethod
    def encode(
        name: str, column: Column, strata: Column | None = None
    ) -> tuple["Factor", npt.NDArray[np.int32]]:
        """Factor of a column, and the code (int32) of the unit of each row.

        If `strata` gives the stratum of each row, each distinct pair of stratum and label is a unit
        with the label "stratum/label". Units are sorted by stratum, then by label.

        Examples
        --------
        >>> import truecost as tc
        >>> speakers, codes = tc.Factor.encode("speaker", ["bob", "ann", "bob"])
        >>> speakers.labels.tolist(), codes.tolist()
        (['ann', 'bob'], [1, 0, 1])
        """
        labels, codes = encode(column)
        if strata is None:
            return Factor(name, labels), codes
        names, stratum = encode(strata)
        pairs, codes = encode(stratum.astype(np.int64) * len(labels) + codes)
        of_unit, inside = pairs // max(1, len(labels)), labels[pairs % max(1, len(labels))]
        given = names[of_unit], inside
        named = np.array([f"{stratum}/{label}" for stratum, label in zip(*given, strict=True)])
        return Factor(name, named, of_unit, pairs=given), codes

    @staticmethod
    def trials(count: int, name: str = "trial") -> tuple["Factor", npt.NDArray[np.int32]]:
        """Factor in which each of `count` trials is its own unit, and the codes 0 to count - 1."""
        codes = np.arange(count, dtype=np.int32)
        return Factor(name, codes), codes

    def same_units(self, other: "Factor") -> bool:
        """Whether two factors have the same name, labels, strata, sizes and ties."""
        return (
            self.name == other.name
            and _equal(self.strata, other.strata)
            and _equal(self.sizes, other.sizes)
            and _equal(self.tied, other.tied)
            and np.array_equal(self.labels, other.labels)
        )


def _equal(one: Array | None, other: Array | None) -> bool:
    """Whether both arrays are None, or both given and equal."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _refuse_ties(factor: Factor) -> None:
    """Refuse ties that do not give a unit for each label."""
    tied = np.asarray(factor.tied)
    if factor.strata is not None or factor.sizes is not None:
        raise InputError(
            f"factor {factor.name!r} has ties: these cannot be combined with strata or sizes"
        )
    units = np.unique(tied)
    if tied.shape != factor.labels.shape or not np.array_equal(units, np.arange(len(units))):
        raise InputError(
            f"ties of factor {factor.name!r} must give each of "
            f"{counted(len(factor.labels), 'label')} its unit, numbered from 0 without gaps"
        )


def _refuse_sizes(sizes: Array, name: str, labels: int) -> None:
    """Refuse sizes that cannot be numbers of units."""
    if sizes.shape != (labels,) or sizes.dtype.kind not in "iu":
        raise InputError(
            f"sizes of factor {name!r} have shape {sizes.shape} and type {sizes.dtype}: one whole "
            f"number for each of {counted(labels, 'label')} is needed"
        )
    if labels and int(sizes.min()) < 1:
        at = int(np.argmin(sizes))
        raise InputError(
            f"label {at} of factor {name!r} represents {sizes[at]} units: leave out labels "
            f"that represent no unit"
        )
    if (total := int(sizes.sum())) > MOST_UNITS:
        raise InputError(f"factor {name!r} has {total} units: at most {MOST_UNITS} can be drawn")


def refuse_divided(name: str, column: Column, codes: npt.NDArray[np.int32]) -> None:
    """Refuse a unit that occurs in two strata: it would be drawn twice."""
    labels, units = encode(column)
    pairs = np.unique(np.stack([units, codes], axis=1), axis=0)[:, 0]
    if len(pairs) > len(labels):
        divided = labels[np.flatnonzero(np.bincount(pairs) > 1)]
        raise InputError(
            f"{counted(len(divided), 'unit')} of {name!r} in more than one stratum: "
            f"{first_five(divided)}; each unit belongs to one stratum"
        )


def draw_rows(rows: Counts, first: int, factor: Factor, plan: "Plan") -> None:
    """Fill `rows` with the weights of replicates first, first + 1, ..."""
    scheme = plan.scheme_of(factor.name)
    if scheme == "poisson" and factor.strata is not None:
        raise UsageError(f"factor {factor.name!r} has strata: Poisson weights ignore strata")
    if scheme == "blocks" and factor.sizes is not None:
        raise UsageError(
            f"moving blocks join single units, but labels of factor {factor.name!r} represent "
            f"several each: choose another scheme, or give every unit its own label"
        )
    draw = _draw_units if factor.sizes is None else _draw_sized
    draw(rows, first, factor, plan, *_key(plan.seed, factor.name))


def _draw_sized(
    rows: Counts, first: int, factor: Factor, plan: "Plan", k0: np.uint64, k1: np.uint64
) -> None:
    """Fill `rows` where labels represent several units."""
    from truecost.kernels import draws
    from truecost.kernels import sums as counts

    sizes = np.asarray(factor.sizes, np.int64)
    if plan.scheme_of(factor.name) == "poisson":
        if bool((sizes == 1).any()):
            draws.poisson_rows(rows, first, draws.POISSON_TABLE, draws.POISSON_GUIDE, k0, k1)
        counts.poisson_counts(rows, first, sizes, np.flatnonzero(sizes > 1), k0, k1)
        return
    members, start = _strata(factor)
    members = members if len(members) else np.arange(len(factor))
    large = sizes[members] > ONE_BY_ONE
    alone = np.where(large, 0, sizes[members])
    counts.multinomial_counts(
        rows,
        first,
        sizes,
        members[large],
        np.append(0, np.cumsum(large))[start],
        np.repeat(members, alone),
        np.append(0, np.cumsum(alone))[start],
        k0,
        k1,
    )


def _draw_units(
    rows: Counts, first: int, factor: Factor, plan: "Plan", k0: np.uint64, k1: np.uint64
) -> None:
    """Fill `rows` where each label is one unit."""
    from truecost.kernels import FEW, draws

    scheme = plan.scheme_of(factor.name)
    if scheme == "poisson":
        draws.poisson_rows(rows, first, draws.POISSON_TABLE, draws.POISSON_GUIDE, k0, k1)
        return
    members, start = _strata(factor)
    if scheme == "multinomial":
        draw = draws.multinomial_few if rows.size <= FEW else draws.multinomial_rows
        draw(rows, first, members, start, k0, k1)
        return
    sizes = np.diff(start)
    if plan.block_length is not None and plan.block_length >= sizes.max(initial=0):
        raise UsageError(
            f"block length is {plan.block_length}, but the longest stratum of {factor.name!r} has "
            f"{sizes.max(initial=0)} units: every replicate would be the data themselves. Give a "
            f"smaller --block-length"
        )
    lengths = np.full(len(sizes), plan.block_length or 0, np.int64)
    if plan.block_length is None:
        lengths = np.array([cube_root_up(int(n)) for n in sizes], np.int64)
    draws.block_rows(rows, first, members, start, np.minimum(lengths, sizes), k0, k1)


def cube_root_up(n: int) -> int:
    """Least whole number whose cube is at least n (27 gives 3, 28 gives 4)."""
    root = int(np.rint(np.cbrt(n)))
    return root if root**3 >= n else root + 1


def _strata(factor: Factor) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Units by stratum (empty when in that order), and the first index of each stratum."""
    if factor.strata is None:
        return np.arange(0), np.array([0, len(factor)])
    if len(factor.strata) != len(factor):
        raise InputError(
            f"factor {factor.name!r} has {counted(len(factor), 'unit')} but "
            f"{counted(len(factor.strata), 'stratum code')}: one for each unit is needed"
        )
    members = np.argsort(factor.strata, kind="stable")
    changes = np.flatnonzero(np.diff(factor.strata[members])) + 1
    return members, np.concatenate([[0], changes, [len(factor)]]).astype(np.int64)


def _key(seed: int, name: str) -> tuple[np.uint64, np.uint64]:
    """The Philox key of (seed, factor name)."""
    digest = hashlib.sha256(f"truecost weights\x00{seed}\x00{name}".encode()).digest()
    low, high = np.frombuffer(digest[:8], "<u4")
    return np.uint64(low), np.uint64(high)


def generator(*about: str) -> np.random.Generator:
    """A random generator that is keyed by the given words and nothing else."""
    key = hashlib.sha256("\x00".join(about).encode()).digest()[:16]
    return np.random.Generator(np.random.Philox(key=np.frombuffer(key, np.uint64)))
