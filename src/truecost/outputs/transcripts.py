"""Counts of transcripts: errors in words and characters by utterance, with their signature."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from truecost.errors import UsageError, counted
from truecost.formats import Table
from truecost.outputs.aligning import Counts, count_characters, count_words
from truecost.outputs.alternations import refuse_alternations, resolve, without_nothing
from truecost.outputs.items import Counting, Items, Lines
from truecost.outputs.normalising import checked_steps, normalise
from truecost.outputs.showing import alignment_lines
from truecost.outputs.text_columns import columns_of, unspaced
from truecost.outputs.timed_words import words_of_segments
from truecost.outputs.utterances import ALTERNATIONS, Joined, TextOptions, join_texts, texts_of

PARTS = ("words", "characters")
COUNTING = Counting(
    task="transcripts",
    item="utterance",
    parts=dict.fromkeys(PARTS, 1.0),
    measures=("wer", "cer", "unit_accuracy"),
    worst=dict.fromkeys(PARTS, ("substitutions", "deletions", "insertions")),
    events=frozenset(PARTS),
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
    options: TextOptions,
    name: str,
    parts: frozenset[str] = frozenset(PARTS),
) -> Items:
    """The counted utterances of one system.

    Parameters
    ----------
    reference, hypothesis : Table
        As `truecost.read` gives them for transcripts. Words of a CTM file go into the segments of
        an STM reference.
    name : str
        Name of the system.
    parts : frozenset of str
        Of `words` and `characters` those to count. Alternatives in references are settled by words.

    Returns
    -------
    Items
        In the order of the ids, with the other columns of the reference.

    Raises
    ------
    UsageError
        When a normalisation, an option or a column is not known.
    InputError
        When utterances are not the same on both sides or repeat, times do not tell where a word
        belongs, or alternatives stand in an output.
    MissingExtraError
        When rapidfuzz is not installed.
    """
    steps = checked_steps(options.normalise)
    joined = _joined(reference, hypothesis, options)
    said, texts = joined.reference.frame["text"], normalise(joined.hypothesis, steps)
    settled = reference.format in ALTERNATIONS
    right = resolve(said, texts, steps) if settled else normalise(said, steps)

    def show(k: int) -> Lines:
        return alignment_lines(right[k], texts[k])

    return Items(
        name,
        COUNTING,
        joined.reference.frame["id"].to_numpy(),
        {part: counts_of(part, right, texts, steps) for part in PARTS if part in parts},
        joined.columns.with_columns(right.alias("text")),
        dict.fromkeys(PARTS, "|".join(_signature(joined, options, steps))),
        (*joined.problems, *_problems(right, texts, steps), *_unspaced(right, steps, parts)),
        texts=("text",),
        show=show,
    )


def _joined(reference: Table, hypothesis: Table, options: TextOptions) -> Joined:
    """References with outputs."""
    theirs, own = (
        replace(options, columns=columns)
        for columns in columns_of(options, [reference], hypothesis)
    )
    if hypothesis.format in ALTERNATIONS:
        refuse_alternations(hypothesis, own.columns.get("text", "text"))
    if hypothesis.format == "ctm" and reference.format == "stm" and not options.by:
        right, found, notes = words_of_segments(reference, hypothesis, theirs)
        joined = join_texts(right, found, options)
        return replace(joined, problems=(*notes, *joined.problems), timed=True)
    if options.outside != "error":
        raise UsageError(
            f"--outside {options.outside} is for the words of a CTM file in the segments of an STM "
            f"reference; {reference.source} and {hypothesis.source} are joined by "
            f"{options.by or 'the ids of utterances'}"
        )
    joined = join_texts(texts_of(reference, theirs), texts_of(hypothesis, own), options)
    if hypothesis.format in ALTERNATIONS:
        return replace(joined, hypothesis=without_nothing(joined.hypothesis))
    return joined


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


def _signature(joined: Joined, options: TextOptions, steps: Sequence[str]) -> list[str]:
    said = [f"normalise:{','.join(steps) or 'none'}"]
    if joined.reference.by:
        said.append(f"by:{joined.reference.by}")
    if joined.timed:
        said.append("ctm:midpoint")
    if options.missing != "error":
        said.append(f"missing:{options.missing}")
    if options.outside != "error":
        said.append(f"outside:{options.outside}")
    if options.allow_duplicates:
        said.append("duplicates:allowed")
    return said


def _problems(reference: pl.Series, hypothesis: pl.Series, steps: Sequence[str]) -> list[str]:
    """References without words, and what only one side has so that it counts as errors."""
    problems = []
    if empty := int((reference == "").sum()):
        problems.append(
            f"{counted(empty, 'utterance', 'have')} an empty reference: every word put out there "
            f"is inserted"
        )
    for step in [step for step in MIXED if step not in steps]:
        what, found_in = MIXED[step]
        here, there = found_in(reference), found_in(hypothesis)
        if here != there and not _all_empty(hypothesis if here else reference):
            one, other = ("reference", "output") if here else ("output", "reference")
            problems.append(
                f"the {one} has {what}, the {other} has none: this counts as errors unless you say "
                f"--normalise {step}"
            )
    return problems


def _unspaced(reference: pl.Series, steps: Sequence[str], parts: frozenset[str]) -> list[str]:
    """Whole sentences that would count as one word each."""
    if "words" not in parts or "characters" in steps or not unspaced(reference):
        return []
    return [
        "the script of the reference has no blanks between words, and few stand there: whole "
        "sentences count as one word; say --normalise characters, or read cer alone"
    ]


def _all_empty(texts: pl.Series) -> bool:
    return bool((texts == "").all())
