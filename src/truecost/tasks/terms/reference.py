"""The reference of a search: read once, for all systems.

The audio that is scored comes from an ECF (or documents with their seconds), the queries from a
list of terms, and where they occur from the words of an RTTM, or from a list of occurrences, which
audio queries without text need. Occurrences that lie outside the audio, or across its edges, are
not looked for.
"""

from typing import NoReturn

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.formats.terms import Listing, Speech
from truecost.names import TrialUnit
from truecost.tasks.terms import stretches as times
from truecost.tasks.terms.occurrences import Sought, sought_in_list, sought_in_words
from truecost.tasks.terms.options import ReferenceOptions
from truecost.tasks.terms.records import Floats, Ints, Reference

FAR = 100  # times the end of the audio: beyond, times are rather of another unit
NEARLY = 0.9  # share of detections that are nearly all
EARLY = 0.01  # of the audio: where nothing is after it, the audio is rather of another unit
FEW = 10  # times; so few may all lie at the begin of the audio
APART = 20  # times; seconds that are said of audio, and seconds that there are
DURATION = "source_signal_duration"  # in the head of an ECF


def why_outside(start: float, end: float) -> str:
    """The hint if the largest start is behind the end of the audio, in seconds."""
    question = "are times in milliseconds?" if start >= FAR * end else "is this their audio?"
    return f"the largest start is {start:.10g} s and the audio ends at {end:.10g} s: {question}"


def refuse_outside(detections: DetectionList, bounds: tuple[Ints, Ints], group: Ints) -> None:
    """Refuse a list of which all detections lie before or behind the audio, or nearly all far.

    `group` is the channel of each detection, -1 for none; `bounds` are those of `Places`.
    """
    rows = np.flatnonzero(group >= 0)
    first, last = (edge[group[rows]] for edge in bounds)
    start, duration = detections.start[rows], detections.duration[rows]
    late = times.ticks(start) > last
    early = times.ticks(start + duration) < first
    count = int((late | early).sum())
    if not count or count < NEARLY * len(rows):
        return
    ends = float(last.max() / times.TICKS)
    if count < len(rows) and start.max() < FAR * ends:
        return
    why = why_outside(float(start.max()), ends)
    if not late.any():
        why = (
            f"the last one ends at {(start + duration).max():.10g} s and the audio begins at "
            f"{first.min() / times.TICKS:.10g} s: do times count from the beginning of an excerpt?"
        )
    share = f"{count} of " if count < len(detections) else "all " if count > 1 else ""
    what = counted(len(detections), "detection", "lie")
    raise InputError(f"{detections.source}: {share}{what} outside the audio; {why}")


def early_note(detections: DetectionList, reference: Reference) -> tuple[str, ...]:
    """The hint if all occurrences or detections are at the very beginning of the audio."""
    ends = np.append(reference.occurrences["end"], detections.start + detections.duration)
    audio = reference.excerpts["end"].max()
    if len(ends) < FEW or not isinstance(audio, float) or ends.max() >= EARLY * audio:
        return ()
    return (
        f"all occurrences and detections end before {ends.max():.10g} s, but the audio ends at "
        f"{audio:.10g} s: are the times of the audio in milliseconds?",
    )


def duration_note(audio: Listing) -> tuple[str, ...]:
    """The hint if the head of an ECF has much more or less audio than its list.

    Heads often tell of the whole collection of which excerpts are scored, so that only what no
    choice of excerpts explains is said.
    """
    said = pl.Series([audio.header.get(DURATION, "")]).cast(pl.Float64, strict=False)[0]
    listed = float(audio.frame["duration"].sum())
    if said is None or not 0 < said < np.inf or 1 / APART <= listed / said <= APART:
        return ()
    return (
        f"the head of {audio.source} has {said:.10g} s of audio ({DURATION}), but its excerpts "
        f"have {listed:.10g} s: is one of the two in milliseconds?",
    )


def refuse_nothing(
    sought: Sought, excerpts: pl.DataFrame, inside: int, said: Speech | Listing
) -> NoReturn:
    """Refuse a reference in which no query occurs, after the words or the list that say where.

    Excerpts are the audio that is scored, `end` in ticks; the occurrences inside it lie across the
    edges of segments.
    """
    rows = sought.rows
    here = excerpts.select(times.CHANNEL).unique(maintain_order=True)
    if inside:
        why = f"{_occurrences_lie(inside)} across the edges of segments"
    elif not rows.height:
        why = (
            _missing_words(sought, here, said)
            if isinstance(said, Speech)
            else "no occurrence is listed"
        )
    else:
        why = f"{_occurrences_lie(rows.height)} outside the audio that is scored: "
        why += _elsewhere(rows, excerpts, here)
    raise InputError(f"{said.source}: no query occurs in the audio: {why}")


def _occurrences_lie(number: int) -> str:
    return f"{'all ' if number > 1 else ''}{counted(number, 'occurrence', 'lie')}"


def _missing_words(sought: Sought, here: pl.DataFrame, said: Speech) -> str:
    """The reason why no word belongs to a query."""
    read = f"{counted(said.words.height, 'word')} were read"
    heard = said.words["document"].cast(pl.String).unique(maintain_order=True)
    if not heard.is_in(here["document"].implode()).any():
        return (
            f"{read}, of the documents {first_five(heard)}, but the audio has "
            f"{first_five(here['document'].unique(maintain_order=True))}: use the names of "
            f"documents of the ECF"
        )
    words = said.words["word"].cast(pl.String).unique(maintain_order=True)
    return (
        f"{read} ({first_five(words)}), and no text of a query is among them "
        f"({first_five(sought.queries['text'].drop_nulls())}): are these the queries of this audio?"
    )


def _elsewhere(rows: pl.DataFrame, excerpts: pl.DataFrame, here: pl.DataFrame) -> str:
    """A message: all occurrences are outside the audio, with the places of both."""
    known = rows.join(here, on=times.CHANNEL, how="semi")
    if not known.height:
        return (
            f"they are in {times.named_channels(rows)}, the audio has "
            f"{times.named_channels(here)}: use the names of documents and channels of the ECF"
        )
    ends = excerpts.join(known.select(times.CHANNEL).unique(), on=times.CHANNEL, how="semi")["end"]
    return why_outside(float(known["start"].to_numpy().max()), ends.to_numpy().max() / times.TICKS)


SPAN = ("place", "channel", "start", "end")


def load_reference(
    audio: Listing,
    queries: Listing | None = None,
    *,
    speech: Speech | None = None,
    occurrences: Listing | None = None,
    options: ReferenceOptions | None = None,
    empty: bool = False,
) -> Reference:
    """The reference of a search; with `empty` one will do in which no query occurs.

    The audio is as `read_ecf` gives it, the queries as `read_kwlist` (audio queries have no text;
    those of the occurrences when left out), speech as `read_lexemes` or in its place occurrences as
    `read_occurrences`.
    """
    options = options or ReferenceOptions()
    if options.trial == "segment" and (speech is None or not speech.turns.height):
        lack = "there is none" if speech is None else f"{speech.source} has none"
        raise UsageError(f"segments are made of the SPEAKER lines of an RTTM, and {lack}")
    excerpts = times.excerpts_of(audio, options.compat)
    if options.trial == "document":  # one trial, of whatever kinds of audio it has
        kinds = pl.col("source").unique().sort().str.join("+").over("document")
        excerpts = excerpts.with_columns(kinds)
    documents = times.documents_of(excerpts, options.compat)
    excerpts = excerpts.with_columns(pl.Series("place", _places(excerpts, documents)))
    sought = _sought(queries, speech, occurrences, excerpts, options)
    found, problems = _inside(sought.rows, excerpts, options.compat)
    segments, inside = None, found.height
    if speech is not None and options.trial == "segment":
        segments = times.segments_of(excerpts, speech.turns)
        stretches = times.Stretches.from_frame(segments, ("place", "channel"))
        found, across = _inside_stretches(found, stretches, "end", "across the edges of segments")
        problems += across
    source = speech or occurrences
    if not (found.height or empty) and source is not None:
        refuse_nothing(sought, excerpts, inside, source)
    found, targets = _targets(found, excerpts, segments, options.trial)
    trials = pl.Series("trials", _trials(documents, segments, options))
    return Reference(
        name=(source or audio).source,
        queries=sought.queries,
        documents=documents.with_columns(trials),
        excerpts=_in_seconds(excerpts.sort(*SPAN)),
        occurrences=found,
        targets=targets,
        segments=None if segments is None else _in_seconds(segments),
        trial=options.trial,
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
    """The occurrences of queries: in the words of speech, or in a list."""
    if occurrences is not None and speech is None:
        return sought_in_list(queries, occurrences, excerpts)
    if speech is None or occurrences is not None:
        raise UsageError("give either an RTTM or a list of occurrences, not both")
    if queries is None:
        raise UsageError("to find the terms in the words of an RTTM, give --kwlist FILE")
    return sought_in_words(queries, speech, excerpts, options)


def _places(excerpts: pl.DataFrame, documents: pl.DataFrame) -> pl.Series:
    """The row of `documents` that each excerpt belongs to."""
    by = ["document", "source"]
    numbered = documents.select(by).with_row_index("place").cast({"place": pl.Int32})
    return excerpts.join(numbered, on=by, how="left", maintain_order="left")["place"]


def _inside(
    rows: pl.DataFrame, excerpts: pl.DataFrame, compat: frozenset[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Occurrences that lie within an excerpt, with their place, and what is odd about them."""
    end = "first_end" if "first-word-in-ecf" in compat else "end"
    where = "outside the audio that is scored or across its edges"
    found, notes = _inside_stretches(rows, times.Stretches.from_frame(excerpts), end, where)
    found = found.with_columns(excerpts["place"][found["held"]])
    found = found.select(pl.col("query").cast(pl.Int32), *SPAN).sort("query", *SPAN)
    if twice := found.height - found.n_unique():
        notes += (
            f"{counted(twice, 'occurrence', 'have')} the query, place and times of another one",
        )
    return found, notes


def _inside_stretches(
    rows: pl.DataFrame, stretches: times.Stretches, end: str, where: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Occurrences that a stretch holds, with its row, and how many lie elsewhere."""
    ends = times.ticks(rows["start"]), times.ticks(rows[end])
    held = pl.Series("held", stretches.holding(stretches.groups_of(rows), *ends))
    found = rows.with_columns(held).filter(held >= 0)
    out = rows.height - found.height
    note = f"{counted(out, 'occurrence', 'lie')} {where} and {'is' if out == 1 else 'are'} left out"
    return found, (note,) if out else ()


def _targets(
    found: pl.DataFrame, excerpts: pl.DataFrame, segments: pl.DataFrame | None, trial: TrialUnit
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Occurrences with the target of each, and the targets."""
    if trial == "occurrence":
        number = pl.int_range(pl.len(), dtype=pl.Int32).alias("target")
        return found.with_columns(number), found
    key = ["query", "place" if segments is None else "held"]
    # Both keys rise with the order of the occurrences of a query.
    number = pl.struct(key).rle_id().cast(pl.Int32).alias("target")
    firsts = found.unique(key, keep="first", maintain_order=True).select("query", key[1])
    if segments is None:
        bounds = excerpts.group_by("place").agg(pl.col("start").min(), pl.col("end").max())
        of_place = _in_seconds(bounds).with_columns(channel=pl.lit(""))
        targets = firsts.join(of_place, on="place", how="left", maintain_order="left")
    else:
        targets = firsts.select("query").hstack(_in_seconds(segments[firsts["held"]]))
    found = found.with_columns(number).select("query", *SPAN, "target")
    return found, targets.select("query", *SPAN)


def _trials(
    documents: pl.DataFrame, segments: pl.DataFrame | None, options: ReferenceOptions
) -> Floats:
    """Trials of one query in each document."""
    if segments is not None:
        found = np.bincount(segments["place"].to_numpy(), minlength=documents.height)
        return found.astype(np.float64)
    if options.trial == "document":
        return np.ones(documents.height)
    seconds, rate = documents["seconds"].to_numpy(), options.trials_per_second
    return seconds / rate if "divide-trials" in options.compat else seconds * rate


def _in_seconds(rows: pl.DataFrame) -> pl.DataFrame:
    """`place`, `channel`, `start` and `end` of rows whose times are ticks."""
    seconds = [(pl.col(name) / times.TICKS).alias(name) for name in ("start", "end")]
    return rows.with_columns(seconds).select([c for c in SPAN if c in rows.columns])


def _choices(options: ReferenceOptions) -> tuple[str, ...]:
    """The parts of the signature that do not depend on occurrences."""
    choices = [f"trial:{options.trial}"]
    if options.trial == "occurrence":
        choices.append(f"trials-per-second:{options.trials_per_second:g}")
    if options.compat:
        choices.append(f"compat:{'+'.join(sorted(options.compat))}")
    return tuple(choices)
