"""What a source holds before anything is put in order: ids, features and labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truecost.errors import InputError, counted, first_five
from truecost.learning.system import Array, Floats


@dataclass(frozen=True, eq=False)
class Items:
    """Everything that is known of the items of a source, in the order of the source.

    Attributes
    ----------
    source : str
        Name for messages.
    ids : tuple of str
        Each once in its part.
    features : ndarray of float64, shape (items, features)
        Finite.
    labels : tuple of str
        Classes as the source has them, or numbers as text.
    times : ndarray of float64, shape (items,), optional
        Seconds; for instants since 1970.
    parts : tuple of str
        The stream that each item belongs to, where the source says so; else empty.
    said : tuple of str
        What the signature says of the source.
    """

    source: str
    ids: tuple[str, ...]
    features: Floats
    labels: tuple[str, ...]
    times: Floats | None = None
    parts: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __post_init__(self) -> None:
        keys = list(zip(self.parts, self.ids, strict=True)) if self.parts else list(self.ids)
        if len(set(keys)) == len(keys):
            return
        repeated = sorted({str(key) for key, number in _counts(keys) if number > 1})
        raise InputError(
            f"{self.source}: {counted(len(repeated), 'id')} of several items "
            f"({first_five(repeated)}); each item needs an id of its own"
        )


def _counts(keys: Sequence[object]) -> list[tuple[object, int]]:
    from collections import Counter

    return list(Counter(keys).items())


def sorted_classes(labels: Sequence[str]) -> tuple[str, ...]:
    """Each label once: whole numbers by value, anything else as text."""
    names = set(labels)
    if all(name.isascii() and name.removeprefix("-").isdigit() for name in names):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def stacked(vectors: Sequence[Array], ids: Sequence[str], what: str) -> Floats:
    """Vectors of single items as a matrix.

    Parameters
    ----------
    vectors : sequence of ndarray, shape (features,)
    ids : sequence of str
        For messages.
    what : str
        Who made them, for messages.

    Returns
    -------
    ndarray of float64, shape (items, features)

    Raises
    ------
    InputError
        When one is no vector of finite numbers, or of another length than the first.
    """
    rows: list[Array] = []
    for name, vector in zip(ids, vectors, strict=True):
        row = np.asarray(vector)
        expected = rows[0].shape if rows else (row.size,)
        if row.dtype.kind not in "biuf" or row.ndim != 1 or row.shape != expected or not row.size:
            raise InputError(
                f"{what} gave for {name} {row.dtype} of shape {row.shape}; expected a vector of "
                + (f"{expected[0]} numbers, as for {ids[0]}" if rows else "numbers")
            )
        if not np.isfinite(row).all():
            raise InputError(
                f"{what} gave for {name} numbers that are not finite: {first_five(row)}"
            )
        rows.append(row)
    return np.asarray(rows, np.float64)
