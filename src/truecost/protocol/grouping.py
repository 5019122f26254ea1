"""`Units`: what a split keeps whole.

Samples that share a level of any group column, that are copies (`content`) or that were made of one
another (`source`) hang together, directly or over others: a unit is a connected component of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import counted, plural
from truecost.names import NO_NUMBER
from truecost.protocol.samples import Samples

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of samples.

    Attributes
    ----------
    codes : ndarray of int64, shape (N,)
        Unit of each sample: from 0, in the order of the smallest id of each, so that the order of
        the rows means nothing.
    columns : tuple of str
        Columns whose levels stay whole.
    levels : tuple of int
        Number of levels of each of them.
    first : ndarray of int64, shape (units,)
        Row of the smallest id of each unit.
    titles : ndarray of str, shape (N,)
        What names a sample's unit in messages: its level of the first column, or its id.
    """

    codes: Ints
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    first: Ints
    titles: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def noun(self) -> str:
        """What a unit is called: its column, `sample` where there is none, `unit` for several."""
        if not self.columns:
            return "sample"
        return self.columns[0] if len(self.columns) == 1 else "unit"

    @property
    def chained(self) -> bool:
        """Whether units are fewer than the levels of any column: some hang together over others."""
        return len(self.columns) > 1 and len(self) < min(self.levels)

    def title(self, unit: int) -> str:
        """What a unit is called in messages."""
        return str(self.titles[self.first[unit]])

    @property
    def joined(self) -> str:
        """How several columns hang together; empty where there are not several."""
        if len(self.columns) < 2:
            return ""
        each = (f"{n} of {c}" for c, n in zip(self.columns, self.levels, strict=True))
        return f"{' and '.join(each)} hang together in {counted(len(self), 'unit')}"


def units_of(samples: Samples) -> Units:
    """The units of samples: components of all group columns, and of `source` and `content`.

    Returns
    -------
    Units
    """
    from truecost.kernels.uniting import unite

    columns, nodes, levels, base = [], [], [], 0
    for name, texts in _shared(samples):
        labels, codes = encode(texts)
        columns.append(name)
        levels.append(len(labels))
        nodes.append(codes + base)
        base += len(labels)
    if samples.origins is not None:  # a sample may itself be what others were made of
        labels, codes = encode(np.concatenate([samples.origins, samples.ids]))
        columns.append(samples.columns.get("source", "source"))
        levels.append(len(np.unique(codes[: len(samples)])))
        nodes += [codes[: len(samples)] + base, codes[len(samples) :] + base]
        base += len(labels)
    roots = np.arange(len(samples), dtype=np.int64)
    if nodes:
        unite(np.stack(nodes).astype(np.int64), roots, np.arange(base, dtype=np.int64))
    ids = pl.Series(samples.ids, dtype=pl.String)
    ranked = ids.arg_sort().to_numpy().astype(np.int64)  # rows by id
    _, first = np.unique(roots[ranked], return_index=True)  # by root: place of its smallest id
    places = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    of_row = places[np.unique(roots, return_inverse=True)[1]].astype(np.int64)
    titles = next(iter(samples.groups.values()), samples.ids)
    return Units(of_row, tuple(columns), tuple(levels), ranked[np.sort(first)], titles)


def odd_groups(samples: Samples) -> list[str]:
    """What looks like a missing value in group columns, one sentence each."""
    found = []
    for column, texts in samples.groups.items():
        labels, codes = encode(texts)
        sizes = np.bincount(codes)
        for k, label in enumerate(labels):
            if str(label).lower() in NO_NUMBER:
                found.append(
                    f"{counted(int(sizes[k]), 'sample')} with {column} {str(label)!r}, which are "
                    f"kept together: if it says that nothing is known, give each a name of its own"
                )
    return found


def _shared(samples: Samples) -> Sequence[tuple[str, npt.NDArray[Any]]]:
    """The columns whose equal values hang together."""
    found = [*samples.groups.items()]
    if samples.contents is not None:
        found.append((samples.columns.get("content", "content"), samples.contents))
    return found


def people(units: Units, number: int) -> str:
    """A number of units with their noun: `5 spk`, `1 sample`."""
    noun = units.noun
    return f"{number} {noun if number == 1 or noun not in ('sample', 'unit') else plural(noun)}"
