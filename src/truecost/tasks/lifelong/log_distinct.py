"""Distinct outputs beside what is right of them: what is the same is counted once.

A version says most of what the version before it said: a log of 20 versions has few more outputs
than one of 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.tasks.lifelong.kinds.base import Statistics

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Reference = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct outputs beside what is right.

    Attributes
    ----------
    mended : list of tuple of str
        Parts that were put right.
    place : ndarray of int64, shape (rows,)
        Which of these each row is.
    """

    texts: list[str]
    right: list[Reference]
    mended: list[Reference]
    place: Codes

    @classmethod
    def of(
        cls,
        said: pl.Series,
        item: pl.Series,
        right: Sequence[Reference],
        mended: Sequence[Reference] = (),
    ) -> "Distinct":
        """The distinct ones of some rows.

        Parameters
        ----------
        right : sequence of tuple of str
            Of each item.
        mended : sequence of tuple of str
            Of each row; none when left out.
        """
        texts = said.unique().sort()
        codes = said.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
        sides, wanted = numbered(right)
        parts, put = numbered(mended) if mended else ([()], np.zeros(len(codes), np.int64))
        keys = (codes * len(sides) + wanted[item.to_numpy()]) * len(parts) + put
        found, place = np.unique(keys, return_inverse=True)
        pairs = found // len(parts)
        return cls(
            texts.gather(pairs // len(sides)).to_list(),
            [sides[k] for k in pairs % len(sides)],
            [parts[k] for k in found % len(parts)],
            place.astype(np.int64),
        )

    def spread(self, count: Callable[[list[str], list[Reference]], Statistics]) -> dict[str, Array]:
        """The statistics of each row, counted once."""
        return {n: values[self.place] for n, values in count(self.texts, self.right).items()}


def numbered(values: Sequence[Reference]) -> tuple[list[Reference], Codes]:
    """The distinct values, in the order in which they come, and the number of each."""
    codes = {value: k for k, value in enumerate(dict.fromkeys(values))}
    return list(codes), np.array([codes[value] for value in values], np.int64)
