"""Rows of a log or of a list of users: what a cell may hold, and what is refused with its line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats import Table
from truecost.names import NO_NUMBER

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

ARM_WORDS = {"a": 0.0, "b": 1.0}  # in lower case, as all words here
LABEL_WORDS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0}
ACCEPT_WORDS = LABEL_WORDS | {"no": 0.0, "yes": 1.0}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, and how messages name them.

    Attributes
    ----------
    ids : polars.Series of str, optional
        Named in messages beside the lines; null where a row has none.
    """

    table: Table
    ids: pl.Series | None = None

    def refuse(
        self,
        bad: Mask,
        said: tuple[str, str, str],
        hint: str = "",
        values: Sequence[Any] | npt.NDArray[Any] | pl.Series | None = None,
    ) -> None:
        """Refuse when any row is bad.

        Parameters
        ----------
        bad : ndarray of bool, shape (rows,)
        said : (str, str, str)
            Noun in the singular, verb in the plural, and what is wrong.
        hint : str
            What to do about it.
        values : sequence, optional
            What stands there, for the examples.

        Raises
        ------
        InputError
            With the number of bad rows and the places of the first five.
        """
        if not bad.any():
            return
        rows = np.flatnonzero(bad)
        told = f"{counted(len(rows), *said[:2])} {said[2]}"
        advice = f"; {hint}" if hint else ""
        raise InputError(f"{self.table.source}: {told}: {self.places(rows, values)}{advice}")

    def places(
        self,
        rows: npt.NDArray[np.int64],
        values: Sequence[Any] | npt.NDArray[Any] | pl.Series | None = None,
    ) -> str:
        """Lines, ids and values of the first five of some rows."""
        return first_five(self._place(int(row), values) for row in rows[:6])

    def _place(self, row: int, values: Any) -> str:
        where = self.table.where(row)
        own = None if self.ids is None else self.ids[row]
        more = [] if own is None or where == f"id {own}" else [f"id {own}"]
        more += [] if values is None else [_shown(values[row])]
        return f"{where} ({', '.join(more)})" if more else where

    def coded(
        self, column: str, key: str, words: Mapping[str, float]
    ) -> tuple[Floats, pl.Series, Mask]:
        """A column of words as numbers.

        Parameters
        ----------
        column, key : str
            The column, and what it is mapped to.
        words : mapping of str to float
            In lower case.

        Returns
        -------
        codes : ndarray of float64, shape (rows,)
            NaN where there is no word of these.
        texts : polars.Series of str
            What stands there; null where it is empty or says NA, NaN, null or none.
        unknown : ndarray of bool, shape (rows,)
            Where something else stands.

        Raises
        ------
        UsageError
            When there is no such column.
        """
        texts = self.table.texts(column, key)
        lower = texts.str.to_lowercase()
        texts = texts.set(lower.is_in(list(NO_NUMBER)).fill_null(value=False), None)
        numbers = list(words.values())
        codes = lower.replace_strict(list(words), numbers, default=None, return_dtype=pl.Float64)
        unknown = (codes.is_null() & texts.is_not_null()).to_numpy()
        return codes.fill_null(float("nan")).to_numpy(), texts, unknown

    def arms(self, column: str, key: str, said: tuple[str, str, str]) -> npt.NDArray[np.uint8]:
        """The arm of each row: 0 for A, 1 for B.

        Parameters
        ----------
        said : (str, str, str)
            Noun in the singular, verb in the plural, and what is wrong.

        Returns
        -------
        ndarray of uint8, shape (rows,)

        Raises
        ------
        InputError
            When a cell holds anything else; names the values and the lines.
        """
        codes, texts, _ = self.coded(column, key, ARM_WORDS)
        hint = "write A for the deployed model and B for the candidate"
        self.refuse(np.isnan(codes), said, hint, texts)
        return codes.astype(np.uint8)


def _shown(value: Any) -> str:
    """A value in a message: texts in quotes, numbers with all their digits."""
    if value is None:
        return "empty"
    if isinstance(value, str):
        return repr(value)
    return "empty" if np.isnan(value) else str(float(value))
