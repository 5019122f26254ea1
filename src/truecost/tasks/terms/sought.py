"""Where queries occur, and files that do not go together: other audio, nothing to be found."""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.formats.lexemes import Speech
from truecost.formats.terms import Listing
from truecost.tasks.terms.aligning import Ints, Places
from truecost.tasks.terms.occurrences import find_terms, split_characters, words_of
from truecost.tasks.terms.records import Reference
from truecost.tasks.terms.stretches import (
    TICKS,
    meant,
    named_channels,
    refuse,
    require,
    rows_of,
    ticks,
)

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


FAR = 100  # times the end of the audio: beyond, times are rather of another unit


NEARLY = 0.9  # share of detections that are nearly all


EARLY = 0.01  # of the audio: where nothing is after it, the audio is rather of another unit


FEW = 10  # times; so few may all lie at the begin of the audio


APART = 20  # times; seconds that are said of audio, and seconds that there are


DURATION = "source_signal_duration"  # in the head of an ECF


def why_outside(start: float, end: float) -> str:
    """What is said of times that lie behind the end of the audio.

    Parameters
    ----------
    start : float
        The largest, in seconds.
    end : float
        Of the audio, in seconds.
    """
    question = "are times in milliseconds?" if start >= FAR * end else "is this their audio?"
    return f"the largest start is {start:.10g} s and the audio ends at {end:.10g} s: {question}"


def refuse_outside(detections: DetectionList, places: Places, group: Ints) -> None:
    """Refuse a list of which all detections lie before or behind the audio, or nearly all far.

    Parameters
    ----------
    places : Places
        The audio.
    group : ndarray of int64, shape (detections,)
        The channel of each detection, -1 for none.

    Raises
    ------
    InputError
    """
    rows = np.flatnonzero(group >= 0)
    first, last = (edge[group[rows]] for edge in places.bounds())
    start, duration = detections.start[rows], detections.duration[rows]
    late = ticks(start) > last
    early = ticks(start + duration) < first
    count = int((late | early).sum())
    if not count or count < NEARLY * len(rows):
        return
    ends = float(last.max() / TICKS)
    if count < len(rows) and start.max() < FAR * ends:
        return
    why = why_outside(float(start.max()), ends)
    if not late.any():
        why = (
            f"the last one ends at {(start + duration).max():.10g} s and the audio begins at "
            f"{first.min() / TICKS:.10g} s: are times counted from the begin of an excerpt?"
        )
    share = f"{count} of " if count < len(detections) else "all " if count > 1 else ""
    what = counted(len(detections), "detection", "lie")
    raise InputError(f"{detections.source}: {share}{what} outside the audio; {why}")


def early_note(detections: DetectionList, reference: Reference) -> tuple[str, ...]:
    """What is said where all that occurs or was detected lies at the very begin of the audio."""
    ends = np.append(reference.occurrences["end"], detections.start + detections.duration)
    audio = reference.excerpts["end"].max()
    if len(ends) < FEW or not isinstance(audio, float) or ends.max() >= EARLY * audio:
        return ()
    return (
        f"all that occurs or was detected ends before {ends.max():.10g} s, and the audio at "
        f"{audio:.10g} s: are the times of the audio in milliseconds?",
    )


def duration_note(audio: Listing) -> tuple[str, ...]:
    """What is said where the head of an ECF speaks of much more or much less audio than it lists.

    Heads often tell of the whole collection of which excerpts are scored, so that only what no
    choice of excerpts explains is said.

    Parameters
    ----------
    audio : Listing
        As `read_ecf` gives it.
    """
    said = pl.Series([audio.header.get(DURATION, "")]).cast(pl.Float64, strict=False)[0]
    listed = float(audio.frame["duration"].sum())
    if said is None or not 0 < said < np.inf or 1 / APART <= listed / said <= APART:
        return ()
    return (
        f"the head of {audio.source} says {said:.10g} s of audio ({DURATION}), and its excerpts "
        f"are {listed:.10g} s: is one of the two in milliseconds?",
    )


CHANNEL = ["document", "channel"]


def refuse_nothing(
    sought: Sought, excerpts: pl.DataFrame, inside: int, said: Speech | Listing
) -> NoReturn:
    """Refuse a reference in which no query occurs.

    Parameters
    ----------
    sought : Sought
        Queries, and where they occur before the audio has its say.
    excerpts : polars.DataFrame
        The audio that is scored: `document`, `channel`, `end` in ticks.
    inside : int
        Occurrences within the audio; they lie across the edges of segments.
    said : Speech or Listing
        The words, or the list of occurrences.

    Raises
    ------
    InputError
    """
    rows = sought.rows
    here = excerpts.select(CHANNEL).unique(maintain_order=True)
    if inside:
        why = f"{_all(inside)} across the edges of segments"
    elif not rows.height:
        why = _unsaid(sought, here, said) if isinstance(said, Speech) else "no occurrence is listed"
    else:
        why = f"{_all(rows.height)} outside the audio that is scored: "
        why += _elsewhere(rows, excerpts, here)
    raise InputError(f"{said.source}: no query occurs in the audio: {why}")


def _all(number: int) -> str:
    return f"{'all ' if number > 1 else ''}{counted(number, 'occurrence', 'lie')}"


def _unsaid(sought: Sought, here: pl.DataFrame, said: Speech) -> str:
    """Why no word belongs to a query."""
    read = f"{counted(said.words.height, 'word')} were read"
    heard = said.words["document"].cast(pl.String).unique(maintain_order=True)
    if not heard.is_in(here["document"].implode()).any():
        return (
            f"{read}, of the documents {first_five(heard)}; the audio has "
            f"{first_five(here['document'].unique(maintain_order=True))}: documents are called as "
            f"in the ECF"
        )
    words = said.words["word"].cast(pl.String).unique(maintain_order=True)
    return (
        f"{read} ({first_five(words)}), and no text of a query is among them "
        f"({first_five(sought.queries['text'].drop_nulls())}): are these the queries of this audio?"
    )


def _elsewhere(rows: pl.DataFrame, excerpts: pl.DataFrame, here: pl.DataFrame) -> str:
    """Where all occurrences lie, and where the audio is."""
    known = rows.join(here, on=CHANNEL, how="semi")
    if not known.height:
        return (
            f"they are in {named_channels(rows)}, the audio has {named_channels(here)}: documents "
            f"and channels are called as in the ECF"
        )
    ends = excerpts.join(known.select(CHANNEL).unique(), on=CHANNEL, how="semi")["end"]
    return why_outside(float(known["start"].to_numpy().max()), ends.to_numpy().max() / TICKS)
