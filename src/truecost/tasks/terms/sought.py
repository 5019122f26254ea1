"""Where queries occur: in the words of a transcript, or as a list says."""

from dataclasses import dataclass

import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.lexemes import Speech
from truecost.formats.terms import Listing
from truecost.tasks.terms.occurrences import find_terms, split_characters, words_of
from truecost.tasks.terms.sources import meant, refuse, require, rows_of
from truecost.tasks.terms.stretches import ticks

NORMALISE = "compareNormalize"  # in the head of a list of queries
FOLDS = {"lowercase": True, "none": False, "": False}
OCCURRENCE = ["query", "document", "channel", "start", "end"]


@dataclass(frozen=True, eq=False)
class Sought:
    """Queries and where they occur.

    Attributes
    ----------
    queries : polars.DataFrame
        `query`, sorted; `text`, where they have one; attributes.
    rows : polars.DataFrame
        `query` (row of `queries`), `document`, `channel`; `start`, `end` and the end of the first
        word, `first_end`, in seconds.
    choices : tuple of str
        Of the signature.
    """

    queries: pl.DataFrame
    rows: pl.DataFrame
    choices: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def sought_in_words(
    queries: Listing,
    speech: Speech,
    excerpts: pl.DataFrame,
    *,
    normalise: str | None,
    characters: bool,
    max_gap: float,
    compat: frozenset[str],
) -> Sought:
    """Terms in the words that were said.

    Parameters
    ----------
    excerpts : polars.DataFrame
        The audio that is scored: `document`.
    normalise : str, optional
        Whether case is ignored; as the queries' file says when left out.
    characters : bool
        Every character is a word.
    max_gap : float
        Seconds.

    Raises
    ------
    UsageError
        When no query has a text, or nothing says whether case counts.
    InputError
        When the list of queries says of case what is not known.
    """
    if not _has_texts(queries):
        raise UsageError(
            f"{queries.source} has queries without text, which are not found in words: give "
            f"--occurrences FILE"
        )
    fold = _folds(queries, normalise)
    asked = _sorted(queries)
    terms = [words_of(text, characters) for text in asked["text"]]
    heard, notes = _heard(speech, excerpts)
    if characters:
        heard = split_characters(heard)
    rows = find_terms(heard, terms, fold=fold, max_gap=max_gap, compat=compat)
    silent = [query for query, term in zip(asked["query"], terms, strict=True) if not term]
    if silent:
        notes.append(
            f"{counted(len(silent), 'query', 'have')} no text, and so no occurrence: "
            f"{first_five(silent)}"
        )
    choices = (
        f"normalise:{'lowercase' if fold else 'none'}",
        *(("split:characters",) if characters else ()),
        f"max-gap:{max_gap:g}",
    )
    return Sought(asked, rows, choices, tuple(notes))


def _folds(queries: Listing, normalise: str | None) -> bool:
    """Whether case is ignored."""
    said = queries.header.get(NORMALISE) if normalise is None else normalise
    if said is None:
        raise UsageError(
            f"{queries.source} does not say whether case counts ({NORMALISE}): give --normalise "
            f"lowercase or none"
        )
    if said not in FOLDS:
        raise InputError(
            f"{queries.source}: {NORMALISE} is {said!r}, which is not known; it may be lowercase "
            f"or empty: mend it, or give --normalise lowercase or none"
        )
    return FOLDS[said]


def _has_texts(queries: Listing) -> bool:
    """Whether any query has a text."""
    frame = queries.frame
    return "text" in frame.columns and frame["text"].null_count() < frame.height


def _sorted(queries: Listing) -> pl.DataFrame:
    return queries.frame.drop("line", strict=False).sort("query")


def _heard(speech: Speech, excerpts: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Words of the documents that are scored, and what is odd about the others."""
    words, scored = speech.words, excerpts["document"].unique()
    said = words["document"].unique().cast(pl.String)
    unscored = said.filter(~said.is_in(scored.implode())).sort()
    unsaid = scored.filter(~scored.is_in(said.implode())).sort()
    notes = _documents(speech.source, unscored)
    if len(unsaid):
        notes.append(
            f"{counted(len(unsaid), 'document', 'have')} no words in {speech.source}: "
            f"{first_five(unsaid)}"
        )
    if len(unscored):
        words = words.filter(pl.col("document").cast(pl.String).is_in(scored.implode()))
    return words, notes


def _documents(source: str, unscored: pl.Series) -> list[str]:
    if not len(unscored):
        return []
    return [
        f"{counted(len(unscored), 'document')} of {source} {'is' if len(unscored) == 1 else 'are'} "
        f"not scored: the audio has no {first_five(unscored)}"
    ]


def sought_in_list(queries: Listing | None, occurrences: Listing, excerpts: pl.DataFrame) -> Sought:
    """Occurrences as a list says.

    Parameters
    ----------
    queries : Listing, optional
        `query`; those that occur when left out.
    occurrences : Listing
        `query`, `document`, `channel`, `start`, `end`.
    excerpts : polars.DataFrame
        The audio that is scored: `document`.

    Raises
    ------
    UsageError
        When a column is missing.
    InputError
        When an occurrence is of no query of the list, ends before it starts or stands twice.
    """
    require(occurrences, OCCURRENCE, "an occurrence")
    frame = occurrences.frame
    if queries is None:
        asked = frame.select(pl.col("query").unique()).sort("query")
    else:
        require(queries, ("query",), "a query")
        asked = _sorted(queries)
        unknown = pl.Series(rows_of(frame["query"], asked["query"]) < 0)
        absent = asked["query"].filter(~asked["query"].is_in(frame["query"].implode()))
        hint = meant(frame["query"].filter(unknown)[0], absent) if unknown.any() else ""
        refuse(
            occurrences,
            unknown,
            "occurrence of no query of the list",
            f"give occurrences of the queries of {queries.source}, which are "
            f"{first_five(asked['query'])}{hint}",
            ("query",),
        )
    backward = pl.Series(ticks(frame["end"]) < ticks(frame["start"]))
    fault = "occurrence with an end before its start"
    refuse(occurrences, backward, fault, "mend it", ("start", "end"))
    twice = ~frame.select(pl.struct(OCCURRENCE).is_first_distinct()).to_series()
    refuse(occurrences, twice, "occurrence given before", "give each one once", OCCURRENCE)
    said = frame["document"].unique()
    unscored = said.filter(~said.is_in(excerpts["document"].implode())).sort()
    rows = frame.select(
        pl.Series("query", rows_of(frame["query"], asked["query"])),
        *OCCURRENCE[1:],
        first_end="end",
    )
    return Sought(asked, rows, (), tuple(_documents(occurrences.source, unscored)))
