"""Words of several speakers: in a recording each speaker's texts are put together, and held against
those of the speaker of the reference that makes the errors fewest (Watanabe et al. 2020).

Which speaker is whom is decided for each recording as a whole. A speaker without a partner is all
deleted, or all inserted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.outputs import normalising, utterances
from truecost.outputs.aligning import Counts, count_words, words_of
from truecost.outputs.items import Counting, Items, Lines

PART = "cp_words"
SPEAKERS = ("speakers_reference", "speakers_hypothesis")
COUNTING = Counting(
    task="transcripts",
    item="recording",
    parts={PART: 1.0},
    measures=("cpwer",),
    worst={PART: ("substitutions", "deletions", "insertions")},
    events=frozenset({PART}),
)
NOBODY = "(nobody)"
Pairs = list[tuple[str, str]]
Said = Mapping[str, str]  # text of each speaker


@dataclass(frozen=True)
class Session:
    """One recording: of each side what every speaker said, and who is held against whom."""

    reference: Said
    hypothesis: Said
    pairs: Pairs


def count_sessions(
    reference: Table,
    hypothesis: Table,
    joined: utterances.Joined,
    options: tuple[utterances.TextOptions, utterances.TextOptions],
    name: str,
    signature: str,
) -> Items:
    """The counted recordings of one system, sorted by id.

    Parameters
    ----------
    joined : Joined
        Texts of all recordings, joined by recording name.
    options : (TextOptions, TextOptions)
        Reading options of the reference, and of the hypothesis.

    Raises
    ------
    UsageError
        When a side does not name speakers.
    InputError
        When a reference leaves open what was said.
    """
    steps = normalising.checked_steps(options[0].normalise)
    by = joined.reference.by
    sides = [
        _by_speaker(table, own, by, steps)
        for table, own in zip((reference, hypothesis), options, strict=True)
    ]
    ids = joined.reference.frame["id"].to_list()
    sessions = [_session(*(side.get(one, {}) for side in sides)) for one in ids]
    return Items(
        name,
        COUNTING,
        np.array(ids),
        {PART: _summed(sessions)},
        joined.columns,
        {PART: f"{signature}|speakers:fewest-errors"},
        (*joined.problems, *_problems(sessions)),
        show=partial(_lines, sessions),
    )


def refuse_without_speakers(*tables: Table) -> None:
    """Refuse texts without speakers: UsageError."""
    for table in tables:
        if "speaker" not in table.columns:
            raise UsageError(
                f"{table.source}: cpwer needs the speaker of each word, and there is no column "
                f"'speaker'; {table.listed}: give STM, SegLST, CTM with speakers, or a table with "
                f"the columns recording, speaker and text"
            )


def _by_speaker(
    table: Table, options: utterances.TextOptions, by: str, steps: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The normalised text of each speaker by recording."""
    texts = utterances.texts_of(table, replace(options, by=f"{by}{utterances.SEPARATOR}speaker"))
    if table.format in utterances.ALTERNATIONS:
        _refuse_alternations(table, texts.frame)
    said = normalising.normalise(texts.frame["text"], steps)
    rows = texts.frame["row"]
    recordings = utterances.names_of(table, by).gather(rows)
    speakers = table.texts("speaker", "speaker").gather(rows)
    found: dict[str, dict[str, str]] = {}
    for recording, speaker, text in zip(recordings, speakers, said, strict=True):
        found.setdefault(recording, {})[speaker] = text
    return found


def _refuse_alternations(table: Table, frame: pl.DataFrame) -> None:
    """Refuse what leaves open what was said: it is settled by the nearest output, and who said it
    is not known before.
    """
    rows = frame.filter(pl.col("text").str.contains(normalising.BRACES))["row"].sort().to_list()
    if rows:
        raise InputError(
            f"{table.source}: {counted(len(rows), 'speaker', 'have')} alternatives in braces, the "
            f"first at {table.where(rows[0])}: cpwer needs one text: keep one of them"
        )


def _session(reference: Said, hypothesis: Said) -> Session:
    """The pairs of speakers with the fewest errors; each speaker stands in one of them."""
    from scipy.optimize import linear_sum_assignment

    here, there = [*reference], [*hypothesis]
    size = max(len(here), len(there))
    names = [[*side, *[NOBODY] * (size - len(side))] for side in (here, there)]
    words = [
        [words_of(said.get(name, "")) for name in own]
        for own, said in zip(names, (reference, hypothesis), strict=True)
    ]
    rows, columns = linear_sum_assignment(_distances(*words))
    pairs = [(names[0][r], names[1][c]) for r, c in zip(rows, columns, strict=True)]
    return Session(reference, hypothesis, pairs)


def _distances(reference: Sequence[Sequence[str]], hypothesis: Sequence[Sequence[str]]) -> Counts:
    """Errors of each speaker's words against each other one's, shape (speakers, speakers)."""
    from truecost.errors import need

    distance = need("rapidfuzz.distance", "speech").Levenshtein.distance
    found = [[distance(one, other) for other in hypothesis] for one in reference]
    return np.array(found, np.int64).reshape(len(reference), len(hypothesis))


def _summed(sessions: Sequence[Session]) -> dict[str, Counts]:
    """Statistics of each recording: those of words over its pairs, and speakers of each side."""
    texts = [
        (k, one.reference.get(r, ""), one.hypothesis.get(h, ""))
        for k, one in enumerate(sessions)
        for r, h in one.pairs
    ]
    places, right, said = ([*column] for column in zip(*texts, strict=True)) if texts else ([],) * 3
    counts = count_words(pl.Series(right, dtype=pl.String), pl.Series(said, dtype=pl.String))
    found = {}
    for name, values in counts.items():
        sums = np.zeros(len(sessions), np.int64)
        np.add.at(sums, np.array(places, np.int64), values)
        found[name] = sums
    many = ([len(side) for side in sides] for sides in _reference_and_output(sessions))
    return found | {name: np.array(n, np.int64) for name, n in zip(SPEAKERS, many, strict=True)}


def _reference_and_output(sessions: Sequence[Session]) -> tuple[list[Said], list[Said]]:
    return [one.reference for one in sessions], [one.hypothesis for one in sessions]


def _problems(sessions: Sequence[Session]) -> tuple[str, ...]:
    """Recordings in which the output has another number of speakers."""
    more = sum(len(one.hypothesis) > len(one.reference) for one in sessions)
    fewer = sum(len(one.hypothesis) < len(one.reference) for one in sessions)
    said = ((more, "more", "inserted"), (fewer, "fewer", "deleted"))
    return tuple(
        f"the output has {what} speakers than the reference in {counted(n, 'recording')}: words of "
        f"those without a partner are {done}"
        for n, what, done in said
        if n
    )


def _lines(sessions: Sequence[Session], item: int) -> Lines:
    """The speakers of a recording that are held against each other, with their errors."""
    one = sessions[item]
    texts = [(one.reference.get(r, ""), one.hypothesis.get(h, "")) for r, h in one.pairs]
    right, said = (pl.Series(list(side), dtype=pl.String) for side in zip(*texts, strict=True))
    counts = count_words(right, said)
    names = ("substitutions", "deletions", "insertions")
    return tuple(
        (
            f"{r} / {h}",
            ", ".join(f"{counts[name][k]} {name}" for name in names)
            + f" of {counts['reference'][k]} words",
        )
        for k, (r, h) in enumerate(one.pairs)
    )
