"""Labels of columns read in parts: each part has codes of its own, until they are merged."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sets:
    """Which columns of labels have their labels in common.

    `shared`: the set of a column, where it is not its own; `numbers`: sets whose labels are whole
    numbers where all of them can be; `units`: the columns by which rows of one score and class
    are ordered first, as rankings in memory are.
    """

    shared: Mapping[str, str] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    units: tuple[str, ...] = ()

    def of(self, column: str) -> str:
        """The set of a column."""
        return self.shared.get(column, column)


def merged_labels(
    parts: Sequence[Mapping[str, Array]], sets: Sets
) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """All labels of each set, sorted, and for each part the new code of each old one by column.

    `parts`: the labels of each part by column.
    """
    found: dict[str, set[str]] = {}
    for part in parts:
        for column, labels in part.items():
            found.setdefault(sets.of(column), set()).update(labels.tolist())
    every = {name: _sorted(labels, numbers=name in sets.numbers) for name, labels in found.items()}
    codes = {name: {str(label): k for k, label in enumerate(of)} for name, of in every.items()}
    tables = [
        {
            column: np.array([codes[sets.of(column)][label] for label in labels], np.int32)
            for column, labels in part.items()
        }
        for part in parts
    ]
    return every, tables


def _sorted(labels: Collection[str], *, numbers: bool) -> Array:
    """Labels in order; as whole numbers where they may be, and all of them are."""
    if numbers and all(map(_is_whole, labels)):
        return np.array(sorted(map(int, labels)), np.int64)
    return np.array(sorted(labels), object)


def _is_whole(label: str) -> bool:
    """Whether a label is a whole number, written as numbers are."""
    return (
        label.removeprefix("-").isdecimal()
        and str(int(label)) == label
        and -(2**63) <= int(label) < 2**63
    )
