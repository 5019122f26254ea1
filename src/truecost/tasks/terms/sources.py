"""What a reference is made from has to hold: columns, and rows that go together."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.terms import Listing


def require(listing: Listing, names: Sequence[str], row: str) -> None:
    """Refuse when a column is missing.

    Parameters
    ----------
    names : sequence of str
        The columns that are needed.
    row : str
        What a row is, for the message.

    Raises
    ------
    UsageError
    """
    for name in names:
        if name not in listing.frame.columns:
            raise UsageError(
                f"{listing.source}: {row} needs a column {name!r}; the columns are "
                f"{', '.join(listing.frame.columns)}"
            )


def refuse(
    listing: Listing, wrong: pl.Series, what: str, advice: str, columns: Sequence[str]
) -> None:
    """Refuse when rows are wrong.

    Parameters
    ----------
    what : str
        What a wrong row is: a noun and what is wrong with it.
    advice : str
        What to do.
    columns : sequence of str
        What the message shows of the first five.

    Raises
    ------
    InputError
    """
    at = wrong.arg_true()
    if len(at):
        shown = listing.frame[at.head(6)].select(columns).rows()
        examples = first_five(
            f"{' '.join(map(str, values))} at {listing.where(row)}"
            for values, row in zip(shown, at.head(6).to_list(), strict=True)
        )
        noun, _, fault = what.partition(" ")
        raise InputError(
            f"{listing.source}: {counted(len(at), noun)} {fault}: {examples}: {advice}"
        )


def rows_of(values: pl.Series, labels: pl.Series) -> npt.NDArray[np.int32]:
    """The row of each value among distinct labels, -1 for none."""
    name = labels.name
    numbered = labels.to_frame().with_row_index("row").cast({"row": pl.Int32})
    found = values.alias(name).to_frame().join(numbered, on=name, how="left", maintain_order="left")
    return found["row"].fill_null(-1).to_numpy()


def named_channels(rows: pl.DataFrame) -> str:
    """The first five channels of a frame with `document` and `channel`, for messages."""
    found = rows.select(pl.col("document", "channel").cast(pl.String)).unique(maintain_order=True)
    return first_five(f"{document} (channel {channel})" for document, channel in found.rows())


def meant(asked: str, known: Iterable[str]) -> str:
    """A hint at the name that is almost the same, but for no number in it; nothing without one."""
    names = [name for name in known if _numbers(name) == _numbers(asked)]
    folded = {name.casefold(): name for name in names}
    if (same := folded.get(asked.casefold())) is not None:
        return f" ({asked!r}: did you mean {same!r}? case counts)"
    close = get_close_matches(asked, names, n=1)
    return f" ({asked!r}: did you mean {close[0]!r}?)" if close else ""


def _numbers(name: str) -> list[str]:
    """The numbers in a name: q07 and q08 are no misspellings of each other."""
    return [digits.lstrip("0") for digits in re.findall(r"[0-9]+", name)]
