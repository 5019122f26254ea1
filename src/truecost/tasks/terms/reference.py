"""What the queries of a search should find: read once, for all systems.

The audio that is scored comes from an ECF (or documents with their seconds), the queries from a
list of terms, and where they occur from the words of an RTTM, or from a list of occurrences, which
audio queries without text need. Occurrences that lie outside the audio, or across its edges, are
not looked for.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import UsageError, counted
from truecost.formats.lexemes import Speech
from truecost.formats.terms import Listing
from truecost.names import Normalise, TrialUnit
from truecost.options import check_fields
from truecost.tasks.terms.options import TermsTable, choose, parse_compat
from truecost.tasks.terms.records import Reference
from truecost.tasks.terms.sought import (
    Sought,
    duration_note,
    refuse_nothing,
    sought_in_list,
    sought_in_words,
)
from truecost.tasks.terms.stretches import (
    TICKS,
    Stretches,
    documents_of,
    excerpts_of,
    segments_of,
    ticks,
)

SPAN = ("place", "channel", "start", "end")
Split = Literal["words", "characters"]


@dataclass(frozen=True)
class ReferenceOptions:
    """What a trial is, and where terms occur.

    Attributes
    ----------
    unit : {"occurrence", "segment", "document"}
        What a trial is.
    trials_per_second : float
        Trials of a query in a second of audio, of occurrences; above 0.
    max_gap : float
        Longest gap between the words of a term, in seconds.
    normalise : {"lowercase", "none"}, optional
        Whether case is ignored (Unicode's case folding); as the list of queries says when left out.
    split : {"words", "characters"}
        Whether every character is a word, of terms and of words that were said.
    compat : frozenset of str
        Quirks of the reference scorer that are followed: names, `f4de` for all of them; any
        iterable of these will do.

    Raises
    ------
    UsageError
        When a number is none or out of its range, or a name is not known.
    """

    unit: TrialUnit = "occurrence"
    trials_per_second: float = 1.0
    max_gap: float = 0.5
    normalise: Normalise | None = None
    split: Split = "words"
    compat: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "compat", parse_compat(self.compat))
        choose(self.split, get_args(Split), "split")
        check_fields(self, TermsTable)


def load_reference(
    audio: Listing,
    queries: Listing | None = None,
    *,
    speech: Speech | None = None,
    occurrences: Listing | None = None,
    options: ReferenceOptions | None = None,
    empty: bool = False,
) -> Reference:
    """The reference of a search.

    Parameters
    ----------
    audio : Listing
        As `read_ecf` gives it.
    queries : Listing, optional
        As `read_kwlist` gives it. Audio queries have no text; they are those of `occurrences` when
        left out.
    speech : Speech, optional
        As `read_lexemes` gives it: the words that were said, and turns for segments.
    occurrences : Listing, optional
        In place of speech, as `read_occurrences` gives it.
    empty : bool
        Whether a reference will do in which no query occurs.

    Raises
    ------
    UsageError
        When there is neither speech nor a list of occurrences, or both; when speech comes without
        terms, or terms without saying whether case counts; when there are no turns for segments.
    InputError
        When an occurrence is of no query of the list, ends before it starts or stands twice; when
        excerpts contradict each other; when no query occurs in the audio.
    """
    options = options or ReferenceOptions()
    if options.unit == "segment" and (speech is None or not speech.turns.height):
        said = "there is none" if speech is None else f"{speech.source} has none"
        raise UsageError(f"segments are made of the SPEAKER lines of an RTTM, and {said}")
    excerpts = excerpts_of(audio, options.compat)
    if options.unit == "document":  # one trial, of whatever kinds of audio it has
        kinds = pl.col("source").unique().sort().str.join("+").over("document")
        excerpts = excerpts.with_columns(kinds)
    documents = documents_of(excerpts, options.compat)
    excerpts = excerpts.with_columns(pl.Series("place", _places(excerpts, documents)))
    sought = _sought(queries, speech, occurrences, excerpts, options)
    found, problems = _inside(sought.rows, excerpts, options.compat)
    segments, inside = None, found.height
    if speech is not None and options.unit == "segment":
        segments = segments_of(excerpts, speech.turns)
        found, across = _within(found, segments)
        problems += across
    source = speech or occurrences
    if not (found.height or empty) and source is not None:
        refuse_nothing(sought, excerpts, inside, source)
    found, targets = _targets(found, excerpts, segments, options.unit)
    return Reference(
        name=(source or audio).source,
        queries=sought.queries,
        documents=documents.with_columns(
            pl.Series("trials", _trials(documents, segments, options))
        ),
        excerpts=_in_seconds(excerpts.sort(*SPAN)),
        occurrences=found,
        targets=targets,
        segments=None if segments is None else _in_seconds(segments),
        unit=options.unit,
        trials_per_second=options.trials_per_second,
        compat=options.compat,
        language="" if queries is None else queries.header.get("language", ""),
        signature="|".join((*_choices(options), *sought.choices)),
        problems=(*duration_note(audio), *sought.problems, *problems),
    )


def _sought(
    queries: Listing | None,
    speech: Speech | None,
    occurrences: Listing | None,
    excerpts: pl.DataFrame,
    options: ReferenceOptions,
) -> Sought:
    """Where queries occur: in speech, or in a list."""
    if occurrences is not None and speech is None:
        found = sought_in_list(queries, occurrences, excerpts)
        return replace(found, problems=(*_idle(options), *found.problems))
    if speech is None or occurrences is not None:
        raise UsageError(
            "where queries occur is said by the words of an RTTM or by a list of occurrences: give "
            "one of the two"
        )
    if queries is None:
        raise UsageError("the words of an RTTM are searched for terms: give --kwlist FILE")
    return sought_in_words(
        queries,
        speech,
        excerpts,
        normalise=options.normalise,
        characters=options.split == "characters",
        max_gap=options.max_gap,
        compat=options.compat,
    )


def _idle(options: ReferenceOptions) -> tuple[str, ...]:
    """What is said of options that change nothing without an RTTM."""
    idle = [
        option
        for option, given in (
            ("--normalise", options.normalise is not None),
            ("--split-characters", options.split == "characters"),
            ("--max-gap", options.max_gap != ReferenceOptions.max_gap),
        )
        if given
    ]
    if not idle:
        return ()
    return (f"{' and '.join(idle)} changed nothing: a list says where queries occur, no RTTM",)


def _places(excerpts: pl.DataFrame, documents: pl.DataFrame) -> pl.Series:
    """The row of `documents` that each excerpt belongs to."""
    by = ["document", "source"]
    numbered = documents.select(by).with_row_index("place").cast({"place": pl.Int32})
    return excerpts.join(numbered, on=by, how="left", maintain_order="left")["place"]


def _inside(
    rows: pl.DataFrame, excerpts: pl.DataFrame, compat: frozenset[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Occurrences that lie within an excerpt, with their place, and what is odd about them."""
    audio = Stretches.of(excerpts)
    end = rows["first_end" if "first-word-in-ecf" in compat else "end"]
    held = audio.holding(audio.groups_of(rows), ticks(rows["start"]), ticks(end))
    inside = np.flatnonzero(held >= 0)
    found = rows[inside].with_columns(excerpts["place"][held[inside]])
    found = found.select(pl.col("query").cast(pl.Int32), *SPAN).sort("query", *SPAN)
    notes = []
    if outside := rows.height - len(inside):
        notes.append(
            f"{counted(outside, 'occurrence', 'lie')} outside the audio that is scored or across "
            f"its edges and {'is' if outside == 1 else 'are'} left out"
        )
    if twice := found.height - found.n_unique():
        notes.append(
            f"{counted(twice, 'occurrence', 'have')} the query, place and times of another one"
        )
    return found, tuple(notes)


def _within(found: pl.DataFrame, segments: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Occurrences that lie within a segment, with its row, and how many do not."""
    stretches = Stretches.of(segments, ("place", "channel"))
    group = stretches.groups_of(found)
    held = stretches.holding(group, ticks(found["start"]), ticks(found["end"]))
    inside = np.flatnonzero(held >= 0)
    kept = found[inside].with_columns(pl.Series("segment", held[inside]))
    across = found.height - len(inside)
    note = f"{counted(across, 'occurrence', 'lie')} across the edges of segments"
    return kept, (f"{note} and {'is' if across == 1 else 'are'} left out",) if across else ()


def _targets(
    found: pl.DataFrame, excerpts: pl.DataFrame, segments: pl.DataFrame | None, unit: TrialUnit
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Occurrences with the target of each, and the targets."""
    if unit == "occurrence":
        number = pl.int_range(pl.len(), dtype=pl.Int32).alias("target")
        return found.with_columns(number), found
    key = ["query", "place" if segments is None else "segment"]
    # Both keys rise with the order of the occurrences of a query.
    number = pl.struct(key).rle_id().cast(pl.Int32).alias("target")
    firsts = found.unique(key, keep="first", maintain_order=True).select("query", key[1])
    if segments is None:
        bounds = excerpts.group_by("place").agg(pl.col("start").min(), pl.col("end").max())
        of_place = _in_seconds(bounds).with_columns(channel=pl.lit(""))
        targets = firsts.join(of_place, on="place", how="left", maintain_order="left")
    else:
        targets = firsts.select("query").hstack(_in_seconds(segments[firsts["segment"]]))
    return found.with_columns(number).select("query", *SPAN, "target"), targets.select(
        "query", *SPAN
    )


def _trials(
    documents: pl.DataFrame, segments: pl.DataFrame | None, options: ReferenceOptions
) -> npt.NDArray[np.float64]:
    """Trials of one query in each document."""
    if segments is not None:
        found = np.bincount(segments["place"].to_numpy(), minlength=documents.height)
        return found.astype(np.float64)
    if options.unit == "document":
        return np.ones(documents.height)
    seconds, rate = documents["seconds"].to_numpy(), options.trials_per_second
    return seconds / rate if "divide-trials" in options.compat else seconds * rate


def _in_seconds(rows: pl.DataFrame) -> pl.DataFrame:
    """`place`, `channel`, `start` and `end` of rows whose times are ticks."""
    times = [(pl.col(name) / TICKS).alias(name) for name in ("start", "end")]
    return rows.with_columns(times).select([c for c in SPAN if c in rows.columns])


def _choices(options: ReferenceOptions) -> tuple[str, ...]:
    """What of the signature does not depend on where queries occur."""
    rate = f"trials-per-second:{options.trials_per_second:g}"
    compat = f"compat:{'+'.join(sorted(options.compat))}"
    return (
        f"unit:{options.unit}",
        *((rate,) if options.unit == "occurrence" else ()),
        *((compat,) if options.compat else ()),
    )
