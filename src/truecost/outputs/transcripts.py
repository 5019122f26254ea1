"""Counts of transcripts: errors in words and characters by utterance; words with times.

A word belongs to the segment of its recording and channel in whose span its midpoint lies; a span
has its begin and not its end. Segments that are not to be scored take their words away with them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.formats.table import examples_of, refuse_rows
from truecost.outputs import normalising, sessions, utterances
from truecost.outputs.aligning import Counts, alignment_lines, count_characters, count_words
from truecost.outputs.items import Counting, Items, Lines

Ints = npt.NDArray[np.int64]
LATEST = 10_000_000  # seconds; times of 200,000 channels side by side still fit into 64 bits
MICRO = 1_000_000  # microseconds of a second: whole numbers, so that spans meet exactly
NONE, SEVERAL = -1, -2  # in place of the row of a segment


def words_of_segments(
    reference: Table, hypothesis: Table, options: utterances.TextOptions
) -> tuple[utterances.Texts, utterances.Texts, tuple[str, ...]]:
    """The segments of a reference (STM) that are scored, the words of a system (CTM) in each, and
    notes on words that were left out.

    A segment of a recording and channel without any word is missing in the hypothesis; every other
    segment without words is empty.
    """
    scored = utterances.texts_of(reference, options)
    if not options.allow_duplicates:
        utterances.refuse_repeated_texts(hypothesis, "word")
    times = _Times.from_tables(reference, hypothesis)
    place = _segments(times)
    if (several := place == SEVERAL).any():
        raise InputError(_overlapping(reference, hypothesis, times, several))
    lost = place == NONE
    if lost.any() and options.outside == "error":
        raise InputError(_lost(hypothesis, reference, lost, ~np.isin(times.channels, times.known)))
    spoken = pl.DataFrame({"row": place, "word": hypothesis.texts("word", "word")})
    spoken = spoken[np.argsort(times.starts, kind="stable")]
    spoken = spoken.group_by("row").agg(pl.col("word").str.join(" "))
    rows = scored.frame["row"].to_numpy()
    heard = pl.Series(np.isin(times.known, times.channels)[rows])
    texts = scored.frame.filter(heard).with_columns(pl.col("row").cast(pl.Int64))
    texts = texts.join(spoken, on="row", how="left", maintain_order="left")
    texts = texts.select("id", pl.col("word").fill_null("").alias("text"), "row")
    unscored = ~lost & ~np.isin(place, rows)
    notes = {
        "no segment: left out (--outside drop)": int(lost.sum()),
        "segments that are not scored: left out": int(unscored.sum()),
    }
    problems = tuple(f"{counted(n, 'word')} in {said}" for said, n in notes.items() if n)
    return scored, utterances.Texts(hypothesis, texts, ()), problems


@dataclass(frozen=True, eq=False)
class _Times:
    """Spans of segments and midpoints of words, in half microseconds, with their channels."""

    known: Ints
    begins: Ints
    ends: Ints
    channels: Ints
    starts: Ints
    middles: Ints

    @staticmethod
    def from_tables(reference: Table, hypothesis: Table) -> "_Times":
        names = [
            table.frame.select(pl.concat_str("recording", "channel", separator="\t")).to_series()
            for table in (reference, hypothesis)
        ]
        codes = encode(pl.concat(names).to_numpy())[1].astype(np.int64)
        starts = _micro(hypothesis, "start")
        return _Times(
            codes[: len(reference)],
            2 * _micro(reference, "start"),
            2 * _micro(reference, "end"),
            codes[len(reference) :],
            starts,
            2 * starts + _micro(hypothesis, "duration"),
        )


def _micro(table: Table, column: str) -> Ints:
    """Times in whole microseconds."""
    times = table.numbers(column, column)
    said = ("time", "lie", f"beyond {LATEST:,} s, or are not numbers of seconds")
    refuse_rows(table, ~(np.abs(times) <= LATEST), said, None, times)
    return np.rint(times * MICRO).astype(np.int64)


def _segments(times: _Times) -> Ints:
    """Row of the segment that each word lies in; `NONE` or `SEVERAL`.

    Of the segments that have begun at a time, those that have ended are taken away: their number
    says how many hold the time, the sum of their rows which one does when it is one.
    """
    span = 1 + int(max(times.ends.max(initial=0), times.middles.max(initial=0)))
    now = times.channels * span + times.middles
    many, rows = np.zeros((2, len(now)), np.int64)
    for edges, sign in ((times.begins, 1), (times.ends, -1)):
        moments = times.known * span + edges
        order = np.argsort(moments, kind="stable")
        passed = np.searchsorted(moments[order], now, side="right")
        many += sign * passed
        rows += sign * np.concatenate([[0], np.cumsum(order)])[passed]
    return np.where(many == 1, rows, np.where(many == 0, NONE, SEVERAL))


def _first_words(table: Table, rows: npt.NDArray[np.bool_]) -> str:
    """The first words of some, with their places."""
    words = table.texts("word", "word")
    return examples_of(table, np.flatnonzero(rows), lambda r: repr(words[r]))


def _overlapping(
    reference: Table, hypothesis: Table, times: _Times, several: npt.NDArray[np.bool_]
) -> str:
    """Words in segments that overlap, and two of the segments."""
    word = int(np.flatnonzero(several)[0])
    holds = times.known == times.channels[word]
    holds &= (times.begins <= times.middles[word]) & (times.middles[word] < times.ends)
    where = " and ".join(reference.where(int(r)) for r in np.flatnonzero(holds)[:2])
    return (
        f"{hypothesis.source}: {counted(int(several.sum()), 'word', 'lie')} in several segments of "
        f"{reference.source} at once: {_first_words(hypothesis, several)}; the first in the "
        f"segments of {where}: times do not determine the speaker of a word: give each speaker a "
        f"channel, or score utterances with ids (trn, Kaldi text)"
    )


def _lost(
    hypothesis: Table, reference: Table, lost: npt.NDArray[np.bool_], strange: npt.NDArray[np.bool_]
) -> str:
    """Words outside all segments, and how many of them are of recordings that are not known."""
    other = int((lost & strange).sum())
    of_these = (
        (f" ({other} of them in a recording or channel that the reference lacks)") if other else ""
    )
    return (
        f"{hypothesis.source}: {counted(int(lost.sum()), 'word', 'lie')} in no segment of "
        f"{reference.source}{of_these}: {_first_words(hypothesis, lost)}; a word belongs to the "
        f"segment of its midpoint: correct the times or names, or use --outside drop"
    )


PARTS = ("words", "characters")
COUNTING = Counting(
    task="transcripts",
    item="utterance",
    parts=dict.fromkeys((*PARTS, sessions.PART), 1.0),
    measures=("wer", "cer", "unit_accuracy"),
    worst=dict.fromkeys((*PARTS, sessions.PART), ("substitutions", "deletions", "insertions")),
    events=frozenset((*PARTS, sessions.PART)),
    alone=frozenset({sessions.PART}),
)


def _has_marks(texts: pl.Series) -> bool:
    """Whether a letter and its marks stand apart; ASCII, which has none, is passed over quickly."""
    wide = texts.filter(texts.str.len_bytes() != texts.str.len_chars())
    return bool(wide.str.contains(r"\p{M}").any())


MIXED: dict[str, tuple[str, Callable[[pl.Series], bool]]] = {  # what should not be on one side only
    "lower": ("capital letters", lambda texts: bool((texts.str.to_lowercase() != texts).any())),
    "no-punctuation": ("punctuation", lambda texts: bool(texts.str.contains(r"[.,;:!?]").any())),
    "nfc": ("letters apart from their marks", _has_marks),
}


def count(
    reference: Table,
    hypothesis: Table,
    options: utterances.TextOptions,
    name: str,
    parts: frozenset[str] = frozenset(PARTS),
) -> Items:
    """Count the word or character errors of a system in each utterance, from tables that were read
    from files.

    Parameters
    ----------
    reference, hypothesis : Table
        Tables of the reference and of the output, read with ``truecost.read(path,
        task="transcripts")``. Words of a CTM file are assigned to the segments of an STM reference
        by their times.
    options : TextOptions
        Normalisation, columns, and handling of missing utterances.
    name : str
        Name of the system.
    parts : frozenset of str
        Groups of counts: ``words``, ``characters`` or both; or only ``cp_words``, the words of
        each recording after output speakers are mapped to reference speakers. If a reference
        contains alternatives, the alternative with the fewest word errors is used.

    Returns
    -------
    Items
        Counted utterances, sorted by id.

    Raises
    ------
    UsageError
        If a normalisation step, an option or a column does not exist.
    InputError
        If reference and output have different utterances, an utterance is repeated, a word cannot
        be assigned to a segment, or an output contains alternatives.
    """
    steps = normalising.checked_steps(options.normalise)
    if sessions.PART in parts:
        return _sessions(reference, hypothesis, options, name, parts)
    joined = _joined(reference, hypothesis, options)
    said, texts = joined.reference.frame["text"], normalising.normalise(joined.hypothesis, steps)
    settled = reference.format in utterances.ALTERNATIONS
    right = (
        normalising.resolve(said, texts, steps) if settled else normalising.normalise(said, steps)
    )

    return Items(
        name,
        COUNTING,
        joined.reference.frame["id"].to_numpy(),
        {part: counts_of(part, right, texts, steps) for part in PARTS if part in parts},
        joined.columns.with_columns(right.alias("text")),
        dict.fromkeys(PARTS, _signature(joined, options, steps)),
        (*joined.problems, *_problems(right, texts, steps), *_unspaced(right, steps, parts)),
        texts=("text",),
        show=partial(_lines, right, texts),
    )


def _sessions(
    reference: Table,
    hypothesis: Table,
    options: utterances.TextOptions,
    name: str,
    parts: frozenset[str],
) -> Items:
    """Recordings whose speakers are assigned."""
    if len(parts) > 1:
        raise UsageError(
            "cpwer counts recordings, the other measures count utterances: compute it alone, "
            "--measure cpwer"
        )
    sessions.refuse_without_speakers(reference, hypothesis)
    options = replace(options, by=options.by or "recording")
    joined = _joined(reference, hypothesis, options)
    both = _own_options(reference, hypothesis, options)
    signature = _signature(joined, options, normalising.checked_steps(options.normalise))
    return sessions.count_sessions(reference, hypothesis, joined, both, name, signature)


def _lines(right: pl.Series, texts: pl.Series, item: int) -> Lines:
    """The alignment of an utterance."""
    return alignment_lines(right[item], texts[item])


def _joined(
    reference: Table, hypothesis: Table, options: utterances.TextOptions
) -> utterances.Joined:
    """References with outputs."""
    theirs, own = _own_options(reference, hypothesis, options)
    if hypothesis.format in utterances.ALTERNATIONS:
        normalising.refuse_alternations(hypothesis, own.columns.get("text", "text"))
    if hypothesis.format == "ctm" and reference.format == "stm" and not options.by:
        right, found, notes = words_of_segments(reference, hypothesis, theirs)
        joined = utterances.join_texts(right, found, options)
        return replace(joined, problems=(*notes, *joined.problems), timed=True)
    if options.outside != "error":
        raise UsageError(
            f"--outside {options.outside} is for the words of a CTM file in the segments of an "
            f"STM reference; {reference.source} and {hypothesis.source} are joined by "
            f"{options.by or 'the ids of utterances'}: leave it out"
        )
    joined = utterances.join_texts(
        utterances.texts_of(reference, theirs), utterances.texts_of(hypothesis, own), options
    )
    if hypothesis.format in utterances.ALTERNATIONS:
        return replace(joined, hypothesis=normalising.without_nothing(joined.hypothesis))
    return joined


def _own_options(
    reference: Table, hypothesis: Table, options: utterances.TextOptions
) -> tuple[utterances.TextOptions, utterances.TextOptions]:
    """The options of each side, with its columns."""
    mapped = (options.reference_columns, hypothesis, options.columns)
    theirs, own = normalising.columns_of([reference], *mapped)
    return replace(options, columns=theirs), replace(options, columns=own)


def counts_of(
    part: str, reference: pl.Series, hypothesis: pl.Series, steps: Sequence[str]
) -> dict[str, Counts]:
    """Statistics of a part; blanks are no characters where they only keep characters apart."""
    if part == "words":
        return count_words(reference, hypothesis)
    if "characters" in steps:
        reference, hypothesis = (
            side.str.replace_all(" ", "", literal=True) for side in (reference, hypothesis)
        )
    return count_characters(reference, hypothesis)


def _signature(
    joined: utterances.Joined, options: utterances.TextOptions, steps: Sequence[str]
) -> str:
    said = {
        "normalise": normalising.signed(steps),
        "by": joined.reference.by,
        "ctm": "midpoint" if joined.timed else "",
        "missing": options.missing.removeprefix("error"),
        "outside": options.outside.removeprefix("error"),
        "duplicates": "allowed" if options.allow_duplicates else "",
    }
    return "|".join(f"{key}:{text}" for key, text in said.items() if text)


def _problems(reference: pl.Series, hypothesis: pl.Series, steps: Sequence[str]) -> list[str]:
    """References without words, and what only one side has so that it counts as errors."""
    problems = []
    if empty := int((reference == "").sum()):
        problems.append(
            f"{counted(empty, 'utterance', 'have')} an empty reference: every output word there is "
            f"an insertion"
        )
    for step in [step for step in MIXED if step not in steps]:
        what, found_in = MIXED[step]
        here, there = found_in(reference), found_in(hypothesis)
        if here != there and bool(((hypothesis if here else reference) != "").any()):
            one, other = ("reference", "output") if here else ("output", "reference")
            problems.append(
                f"the {one} has {what}, the {other} has none: this counts as errors unless you use "
                f"--normalise {step}"
            )
    return problems


def _unspaced(reference: pl.Series, steps: Sequence[str], parts: frozenset[str]) -> list[str]:
    """Whole sentences that would count as one word each."""
    if "words" not in parts or "characters" in steps or not normalising.unspaced(reference):
        return []
    return [
        "the script of the reference has no blanks between words, and few blanks occur: whole "
        "sentences count as one word; use --normalise characters, or read cer alone"
    ]
