"""The two sides of texts: which columns hold them in each, and whether blanks keep words apart."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import polars as pl

from truecost.formats import Table

FIXED = ("kaldi-text", "trn", "lines", "stm", "ctm")  # formats that name their columns themselves
FIRST = ("id", "text")
# Scripts without blanks between words, and more letters than a word has on average where texts are
# cut into words all the same: in Chinese and Japanese about two, in Thai about four.
UNSPACED = {
    r"[\p{Han}\p{Hiragana}\p{Katakana}ー]": 2.5,
    r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]": 8.0,
}


class Mapped(Protocol):
    """Options that say which columns hold ids and texts."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Of the output."""

    @property
    def reference_columns(self) -> Mapping[str, str] | None:
        """Of the reference; None where they are those of the output."""


def columns_of(
    options: Mapped, references: Sequence[Table], hypothesis: Table
) -> list[Mapping[str, str]]:
    """The columns of each reference, then those of the output.

    Beside a table, a file whose format names its columns keeps their names: the mapping is of the
    table then.

    Returns
    -------
    list of mapping of str to str
        As many as there are tables.
    """
    theirs = options.columns if options.reference_columns is None else options.reference_columns
    fixed = [table.format in FIXED for table in (*references, hypothesis)]
    given = [*[theirs] * len(references), options.columns]
    if all(fixed):
        return given
    return [_own(columns) if own else columns for columns, own in zip(given, fixed, strict=True)]


def _own(columns: Mapping[str, str]) -> Mapping[str, str]:
    """A mapping without ids and texts."""
    return {key: column for key, column in columns.items() if key not in FIRST}


def unspaced(texts: pl.Series) -> bool:
    """Whether texts are of a script without blanks between words, and have few blanks.

    Returns
    -------
    bool
        A whole sentence would count as one word then.
    """
    letters = _matches(texts, r"\p{L}")
    return any(
        2 * _matches(texts, script) > letters
        and _matches(texts, script) > longest * _matches(texts, f"{script}+")
        for script, longest in UNSPACED.items()
    )


def _matches(texts: pl.Series, pattern: str) -> int:
    return int(texts.str.count_matches(pattern).sum())
