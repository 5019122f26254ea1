"""A made search for terms: audio, words, queries and detections, as the files of an evaluation.

Speech is drawn word by word: in files of half an hour two speakers take turns of 5 to 40 words, and
words follow Zipf's law over 50,000 of them. Queries are runs of one to three words that were said;
how often is lognormal, half of them seven times or less; a twentieth of the queries do not occur.
Three of four occurrences are found, some hundredths of a second beside; the other detections are
false alarms all over the audio, more of some queries than of others. Decisions are YES from the
Bayes threshold of the NIST pilot on, as if scores were log-likelihood ratios, which they are only
roughly. The same seed gives the same files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Term = tuple[int, ...]
FILE = 1800.0  # seconds
WORDS = 5000  # in a file
VOCABULARY = 50_000
SPREAD = 1.4  # of the logarithm of how often queries occur
LENGTHS = ((3, 0.1), (2, 0.3))  # words of queries, and their share; the others have one
UNSAID = 0.05  # of the queries
FOUND = 0.75  # of the occurrences
THRESHOLD = 6.9  # log of beta, 999.9
SCORES = (8.0, 3.0), (-1.0, 2.9)  # mean and deviation where an occurrence is, and elsewhere
BLOCK = 500_000  # lines that are written at once
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True)
class Collection:
    """What is searched, and for what.

    Attributes
    ----------
    folder : Path
    ecf, rttm, kwlist : str
        Files.
    files, queries : int
    words : int
        LEXEME lines.
    occurrences : polars.DataFrame
        `query` (number), `file` (number), `start` and `end`, sorted.
    """

    folder: Path
    ecf: str
    rttm: str
    kwlist: str
    files: int
    queries: int
    words: int
    occurrences: pl.DataFrame


@dataclass(frozen=True, eq=False)
class _Speech:
    """Words in the order of files and times."""

    word: Ints
    turn: Ints
    file: Ints
    start: Floats
    end: Floats


def write_collection(
    folder: Path, files: int = 600, queries: int = 2000, occurrences: int = 40_000, seed: int = 1
) -> Collection:
    """Write the audio's list, the words and the queries of a collection.

    Parameters
    ----------
    folder : Path
    files : int
        Of half an hour.
    queries : int
    occurrences : int
        Of all queries together; what is written has so many, or a few more or less.
    seed : int

    Returns
    -------
    Collection
    """
    rng = np.random.default_rng(seed)
    speech = _speak(rng, files)
    terms, first, last, query = _choose(rng, speech, queries, occurrences)
    ecf, rttm, kwlist = (str(folder / name) for name in ("e.ecf.xml", "r.rttm", "t.kwlist.xml"))
    _write_ecf(ecf, files)
    _write_rttm(rttm, speech)
    _write_kwlist(kwlist, terms)
    where = {"file": speech.file[first], "start": speech.start[first], "end": speech.end[last]}
    found = pl.DataFrame({"query": query, **where}).sort("query", "file", "start", "end")
    return Collection(folder, ecf, rttm, kwlist, files, queries, len(speech.word), found)


def write_detections(
    collection: Collection, detections: int, seed: int = 1
) -> tuple[str, pl.DataFrame]:
    """Write what a system found.

    Parameters
    ----------
    collection : Collection
    detections : int
    seed : int

    Returns
    -------
    path : str
        Of the kwslist.
    rows : polars.DataFrame
        `query`, `score`, `true` (whether it was made from an occurrence) of each detection.
    """
    rng = np.random.default_rng([seed, detections])
    rows = pl.concat(_detect(rng, collection, detections)).sort("query", "file", "start")
    path = str(collection.folder / f"s{detections}.kwslist.xml")
    _write_kwslist(path, rows, collection.queries)
    return path, rows.select("query", "score", "true")


def _speak(rng: np.random.Generator, files: int) -> _Speech:
    """Words, turns and times."""
    weights = 1 / (np.arange(VOCABULARY) + 2.7)
    word = rng.choice(VOCABULARY, files * WORDS, p=weights / weights.sum())
    lengths = rng.integers(5, 41, len(word) // 5 + 1)
    file = np.repeat(np.arange(files), WORDS)
    turn = np.repeat(np.arange(len(lengths)), lengths)[: len(word)] + file  # a file begins a turn
    pause = rng.uniform(0.0, 0.1, len(word)) + np.where(np.diff(turn, prepend=-1) != 0, 0.6, 0.0)
    taken = rng.gamma(8, 0.28 / 8, len(word)) + 0.02
    passed = (pause + taken).reshape(files, WORDS).cumsum(axis=1)
    scale = np.repeat((FILE - 1) / passed[:, -1], WORDS)  # near 1: the words fill the file
    end = passed.ravel() * scale
    return _Speech(word, turn, file, (end - taken * scale).round(2), end.round(2))


def _choose(
    rng: np.random.Generator, speech: _Speech, queries: int, occurrences: int
) -> tuple[list[Term], Ints, Ints, Ints]:
    """Terms, and the first and last word and the number of the term of every occurrence."""
    said = queries - round(queries * UNSAID)
    wanted = rng.lognormal(0, SPREAD, said)
    wanted = np.maximum(1, wanted * occurrences / wanted.sum())
    sizes = [(words, round(share * said)) for words, share in LENGTHS]
    sizes.append((1, said - sum(many for _, many in sizes)))
    terms: list[Term] = []
    found: list[tuple[Ints, Ints, Ints]] = []
    lacking = 0.0  # occurrences that the terms so far have too few
    for words, many in sizes:
        begins = np.flatnonzero(
            speech.turn[words - 1 :] == speech.turn[: len(speech.turn) - words + 1]
        )
        key = sum(speech.word[begins + k] * VOCABULARY**k for k in range(words))
        keys, counts = np.unique(key, return_counts=True)
        order = np.argsort(counts, kind="stable")
        chosen, lacking = _near(rng, counts[order], wanted[len(terms) :][:many], lacking)
        own = keys[order[chosen]]
        place = np.argsort(own)
        at = np.minimum(np.searchsorted(own[place], key), many - 1)
        hit = np.flatnonzero(own[place][at] == key)
        found.append((begins[hit], begins[hit] + words - 1, place[at[hit]] + len(terms)))
        terms += [tuple(int(k) // VOCABULARY**i % VOCABULARY for i in range(words)) for k in own]
    terms += [(VOCABULARY + k,) for k in range(queries - said)]
    shuffled = rng.permutation(queries)  # so that the number of a query tells nothing
    first, last, term = (np.concatenate(part) for part in zip(*found, strict=True))
    return [terms[k] for k in np.argsort(shuffled)], first, last, shuffled[term]


def _near(
    rng: np.random.Generator, counts: Ints, wanted: Floats, lacking: float
) -> tuple[list[int], float]:
    """Places in ascending counts that come near to those that are wanted, each taken once."""
    taken: dict[int, None] = {}
    for want in wanted:
        lacking += want
        low, high = np.searchsorted(counts, [wish := max(1, round(lacking)), wish + 1])
        at = int(rng.integers(low, high)) if low < high else min(int(low), len(counts) - 1)
        while at in taken:
            at = (at + 1) % len(counts)
        taken[at] = None
        lacking -= float(counts[at])
    return [*taken], lacking


def _detect(
    rng: np.random.Generator, collection: Collection, detections: int
) -> list[pl.DataFrame]:
    """Occurrences that are found, and false alarms."""
    said = collection.occurrences
    found = said.filter(pl.Series(rng.random(said.height) < FOUND))[:detections]
    many, false = found.height, detections - found.height
    start = (found["start"].to_numpy() + rng.normal(0, 0.03, many)).clip(0, FILE - 10)
    length = (found["end"] - found["start"]).to_numpy() * rng.uniform(0.8, 1.2, many)
    often = rng.gamma(0.5, size=collection.queries)
    query = rng.choice(collection.queries, false, p=often / often.sum())
    file, begin = rng.integers(0, collection.files, false), rng.uniform(0, FILE - 10, false)
    return [
        _rows(rng, found["query"].to_numpy(), found["file"].to_numpy(), start, length, true=True),
        _rows(rng, query, file, begin, rng.gamma(8, 0.45 / 8, false), true=False),
    ]


def _rows(
    rng: np.random.Generator, query: Ints, file: Ints, start: Floats, length: Floats, *, true: bool
) -> pl.DataFrame:
    """Detections with their scores; a length is between 0.05 and 5 s."""
    mean, deviation = SCORES[0 if true else 1]
    score = rng.normal(mean, deviation, len(query)).round(6)
    length = length.clip(0.05, 5.0).round(2)
    columns = {"file": file.astype(np.int32), "start": start.round(2), "length": length}
    named = {"query": query.astype(np.int32), **columns, "score": score}
    return pl.DataFrame(named).with_columns(true=pl.lit(value=true))


def _write_ecf(path: str, files: int) -> None:
    """Every file as a whole, on one channel."""
    excerpt = '<excerpt audio_filename="audio/f{:04d}.sph" channel="1" tbeg="0" dur="{:g}" '
    lines = [f'{excerpt.format(k, FILE)}source_type="bnews"/>\n' for k in range(files)]
    head = f'<ecf source_signal_duration="{files * FILE:g}" language="english" version="1">\n'
    Path(path).write_text(f"{head}{''.join(lines)}</ecf>\n")


def _write_rttm(path: str, speech: _Speech) -> None:
    """A LEXEME for each word; the speakers of a file are a and b by turns."""
    words = pl.Series("word", speech.word)
    distinct = words.unique().sort()
    rows = pl.DataFrame({"file": speech.file, "start": speech.start}).with_columns(
        pl.Series("taken", (speech.end - speech.start).round(2)),
        words.replace_strict(distinct, [_spelling((word,)) for word in distinct]),
        pl.Series("speaker", np.where(speech.turn % 2 == 0, "a", "b")),
    )
    named = _file("file"), "start", "taken", "word", "speaker"
    text = pl.format("LEXEME {} 1 {} {} {} lex {} 0.9", *named)
    with Path(path).open("wb") as file:
        for part in rows.iter_slices(BLOCK):
            file.write(_lines(part, text))


def _lines(rows: pl.DataFrame, text: pl.Expr) -> bytes:
    """A line for each row."""
    return rows.select(text).write_csv(include_header=False, quote_style="never").encode()


def _file(column: str) -> pl.Expr:
    """The name of a file."""
    return pl.lit("f") + pl.col(column).cast(pl.String).str.zfill(4)


def _write_kwlist(path: str, terms: Sequence[Term]) -> None:
    """The queries; case does not count."""
    head = '<kwlist ecf_filename="e.ecf.xml" version="1" language="english" encoding="UTF-8" '
    lines = [
        f'<kw kwid="{_query(k)}"><kwtext>{_spelling(term)}</kwtext></kw>\n'
        for k, term in enumerate(terms)
    ]
    Path(path).write_text(f'{head}compareNormalize="lowercase">\n{"".join(lines)}</kwlist>\n')


def _query(number: int) -> str:
    return f"KW-{number:05d}"


def _spelling(term: Term) -> str:
    """A term in letters: syllables count in a system of their own, so that no two are alike."""
    words = []
    for number in term:
        text, rest = "", number
        while rest or not text:
            rest, digit = divmod(rest, len(SYLLABLES))
            text += SYLLABLES[digit]
        words.append(text)
    return " ".join(words)


def _write_kwslist(path: str, rows: pl.DataFrame, queries: int) -> None:
    """The detections, query by query."""
    names = [_query(k) for k in range(queries)]
    sizes = np.bincount(rows["query"], minlength=queries)
    begins = np.concatenate([[0], sizes.cumsum()])
    attributes = 'file="{}" channel="1" tbeg="{}" dur="{}" score="{}" decision="{}"'
    decision = pl.when(pl.col("score") >= THRESHOLD).then(pl.lit("YES")).otherwise(pl.lit("NO"))
    text = pl.format(f"<kw {attributes}/>", _file("file"), "start", "length", "score", decision)
    with Path(path).open("wb") as file:
        file.write(
            b'<kwslist kwlist_filename="t.kwlist.xml" language="english" system_id="made">\n'
        )
        for k, name in enumerate(names):
            head = f'<detected_kwlist kwid="{name}" search_time="1.5" oov_count="0">\n'
            file.write(head.encode())
            part = rows[int(begins[k]) : int(begins[k + 1])]
            file.write(_lines(part, text) + b"</detected_kwlist>\n")
        file.write(b"</kwslist>\n")
