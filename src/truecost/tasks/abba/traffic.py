"""Rows of a log or of a list of users, read cell by cell, and what is known of the traffic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import filled
from truecost.names import NO_NUMBER
from truecost.tasks.abba.records import ARMS

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


def seen_units(units: pl.Series, arm: npt.NDArray[np.uint8]) -> pl.DataFrame:
    """Each unit of a log once for each arm in which it collected: columns `unit` and `arm`."""
    return pl.DataFrame({"unit": units, "arm": arm}).unique().sort("unit", "arm")


def read_users(users: Table, columns: Mapping[str, str]) -> pl.DataFrame:
    """A list of all users, those included of which nothing was accepted.

    Parameters
    ----------
    users : Table
        Columns `unit` and `collected_by`, or those of the same names as in the log, and `exposure`,
        which is 1 when left out, and 0 of a unit that was idle.
    columns : mapping of str to str
        Of the log.

    Returns
    -------
    polars.DataFrame
        Columns `unit` (text), `arm` (0 for A, 1 for B) and `exposure`, sorted.

    Raises
    ------
    UsageError
        When it has no such column.
    InputError
        When a unit is empty or stands twice in an arm, an arm is neither A nor B or has no user, or
        an exposure is below 0 or not finite, or those of an arm are all 0.
    """
    mine = {key: _column(users, columns, key) for key in ("unit", "collected_by")}
    units = filled(users, mine["unit"], "unit")
    rows = Rows(users, units)
    said = ("user", "are", f"in neither arm, A or B (column {mine['collected_by']!r})")
    found = pl.DataFrame(
        {
            "unit": units,
            "arm": rows.arms(mine["collected_by"], "collected_by", said),
            "exposure": _exposures(rows),
        }
    )
    again = found.select(pl.struct("unit", "arm").is_duplicated()).to_series().to_numpy()
    rows.refuse(again, ("line", "repeat", "a user in the same arm"), "each stands once in an arm")
    for k, model in enumerate(ARMS):
        if not (found["arm"] == k).any():
            raise InputError(f"{users.source}: there is no user in arm {model}")
        if not (found.filter(pl.col("arm") == k)["exposure"] > 0).any():
            raise InputError(f"{users.source}: the exposures of arm {model} are all 0")
    return found.sort("unit", "arm")


def _column(users: Table, columns: Mapping[str, str], key: str) -> str:
    """The column of the list that is named as in the log, or as what it holds."""
    mapped = columns.get(key, key)
    if mapped in users.columns:
        return mapped
    if key not in users.columns:
        either = key if mapped == key else f"{mapped!r} or {key!r}"
        raise UsageError(f"{users.source}: a list of users needs a column {either}; {users.listed}")
    return key


def _exposures(rows: Rows) -> npt.NDArray[np.float64]:
    if "exposure" not in rows.table.columns:
        return np.ones(len(rows.table))
    exposure = rows.table.numbers("exposure", "exposure")
    bad = ~(np.isfinite(exposure) & (exposure >= 0))
    rows.refuse(bad, ("exposure", "are", "below 0 or not finite"), values=exposure)
    return exposure


def refuse_unlisted(seen: pl.DataFrame, source: str, users: pl.DataFrame, listed: str) -> None:
    """Refuse units of a log that a list of users lacks, or has in the other arm only: InputError.

    Parameters
    ----------
    seen : polars.DataFrame
        As `seen_units` gives it.
    source, listed : str
        Names of the log and of the list.
    users : polars.DataFrame
        As `read_users` gives it.
    """
    absent = seen.join(users, on=["unit", "arm"], how="anti").sort("unit", "arm")
    if absent.height:
        shown = first_five(f"{unit} ({ARMS[arm]})" for unit, arm in absent.iter_rows())
        raise InputError(
            f"{listed}: {counted(absent.height, 'unit')} of {source} not listed in the arm that "
            f"collected: {shown}; list every unit of each arm, those of which nothing was accepted "
            f"included"
        )


def refuse_too_few(given: tuple[int, int], seen: npt.NDArray[np.uint8], noun: str) -> None:
    """Refuse numbers of units below those that the log shows: UsageError.

    Parameters
    ----------
    given : tuple of int
        Of A and of B.
    seen : ndarray of uint8
        Arm of each unit that collected something.
    noun : str
        What was counted, in the singular: units, or items where no unit is mapped.
    """
    for number, found, model in zip(given, np.bincount(seen, minlength=2), ARMS, strict=True):
        if number < found:
            raise UsageError(
                f"--units-{model.lower()} is {number}, but the log has "
                f"{counted(int(found), noun)} in arm {model}: count every unit of the arm, those "
                f"of which nothing was accepted included"
            )


def in_both_arms(seen: pl.DataFrame) -> tuple[str, ...]:
    """What is to be said of units that collected in both arms."""
    both = seen.filter(pl.col("unit").is_duplicated())["unit"].unique().sort()
    if not len(both):
        return ()
    return (
        f"{len(both)} of {counted(seen['unit'].n_unique(), 'unit')} collected in both arms "
        f"({first_five(both)}): units were not randomised as wholes, or have several devices; the "
        f"items of one are resampled together",
    )


def idle_collectors(seen: pl.DataFrame, users: pl.DataFrame | None) -> tuple[str, ...]:
    """What is to be said of units that collected items without any exposure."""
    if users is None:
        return ()
    idle = seen.join(users.filter(pl.col("exposure") == 0), on=["unit", "arm"]).sort("unit", "arm")
    if not idle.height:
        return ()
    return (
        f"{counted(idle.height, 'unit', 'have')} items but the exposure 0 "
        f"({first_five(idle['unit'])}): the A/B-only estimate counts the items all the same",
    )
