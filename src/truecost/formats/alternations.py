"""Alternations in NIST's transcripts, `i've { um / uh / @ } as far`: are they well formed?

    ALTERNATE := "{" TEXT ALT+ "}"      ALT := "/" TEXT      TEXT := words, "@" or ALTERNATEs

`@` stands for no word, and alternations may be nested. Braces and slashes stand apart by blanks.
NIST's scorer also splits words at a brace or, within braces, at a slash; the grammar does not. What
the two read differently is refused. Outside braces a slash is a word.
Source: NIST SCTK, `doc/infmts.htm`.
"""

from itertools import pairwise

import polars as pl

from truecost.formats.field_lines import cut, refuse


def check_alternations(texts: pl.DataFrame, source: str) -> None:
    """Refuse texts whose alternations are malformed.

    Parameters
    ----------
    texts : polars.DataFrame
        `line` and `text`.
    source : str
        Name for messages.

    Raises
    ------
    InputError
        With the line of the first.
    """
    braced = texts.filter(pl.col("text").str.contains(r"[{}]"))
    faults = braced["text"].map_elements(_fault, return_dtype=pl.String)
    refuse(
        source,
        braced.with_columns(faults.alias("fault")),
        faults != "",
        lambda row: f"{row['fault']}: {cut(row['text'])!r}; an alternation is {{ a / b / @ }}",
    )


def _fault(text: str) -> str:
    """What is wrong with the alternations of a text; empty for nothing."""
    words = [word for word in text.replace("\t", " ").split(" ") if word]
    depth, slashes = 0, [0]
    for before, word in pairwise(["", *words]):
        if word == "{":
            depth += 1
            slashes.append(0)
        elif word == "}" and not depth:
            return "a brace is closed that was not opened"
        elif word in ("/", "}") and depth:
            if before in ("{", "/"):
                return "an alternative is empty (@ stands for no word)"
            slashes[-1] += word == "/"
            if word == "}":
                depth -= 1
                if not slashes.pop():
                    return "an alternation has one alternative only"
        elif "{" in word or "}" in word or (depth and "/" in word and word != "/"):
            return f"{word!r}: braces and slashes of alternations stand apart by blanks"
    return "a brace is never closed" if depth else ""
