"""Transcripts, translations and diarizations for tests of what is shown: made-up, in files."""

from pathlib import Path

import numpy as np
import polars as pl

import truecost as tc

WORDS = ("the", "of", "and", "a", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on")
ROOMS = ("car", "hall", "street, windy")
FEW = {"replicates": 100}


def sentences(number, rng, words=WORDS, longest=14):
    """Lists of words."""
    return [
        [words[k] for k in rng.integers(0, len(words), rng.integers(3, longest))]
        for _ in range(number)
    ]


def heard(words, rng, rate, vocabulary=WORDS):
    """Some words with substitutions, deletions and insertions."""
    found = []
    for word in words:
        draw, other = rng.random(), vocabulary[rng.integers(len(vocabulary))]
        if draw < rate:
            found.append(other)
        elif draw > 1.5 * rate:
            found.append(word)
        if rng.random() < rate / 3:
            found.append(other)
    return found


def written(folder: Path, name: str, ids, texts, **columns) -> str:
    """A CSV file with a text for each id."""
    joined = [" ".join(words) for words in texts]
    pl.DataFrame({"id": ids, "text": joined, **columns}).write_csv(folder / f"{name}.csv")
    return str(folder / f"{name}.csv")


def transcripts(
    folder: Path,
    rates,
    speakers=12,
    each=4,
    vocabulary=WORDS,
    utterance="u{:03}",
    speaker="s{:02}",
    **tables,
) -> tc.Outcome:
    """Systems with an error rate each (None for an empty output), each speaker harder or easier."""
    rng = np.random.default_rng(7)
    ids = [utterance.format(k) for k in range(speakers * each)]
    names = [speaker.format(k // each) for k in range(len(ids))]
    rooms = [ROOMS[k // each % 3] for k in range(len(ids))]
    said = sentences(len(ids), rng, vocabulary)
    hard = np.repeat(rng.gamma(2, 0.5, speakers), each)
    reference = written(folder, "reference", ids, said, speaker=names, room=rooms)
    files = {}
    for number, (name, rate) in enumerate(rates.items()):
        own = np.random.default_rng(number)
        texts = [
            [] if rate is None else heard(w, own, rate * h, vocabulary)
            for w, h in zip(said, hard, strict=True)
        ]
        files[name] = written(folder, f"output{number}", ids, texts)
    return ran("transcripts", [reference], files, **{"map": {"unit": "speaker"}, **tables})


def translations(
    folder: Path, rates, documents=10, each=6, vocabulary=WORDS, **tables
) -> tc.Outcome:
    """Systems with an error rate each."""
    rng = np.random.default_rng(8)
    ids = [f"{k:03}" for k in range(documents * each)]
    names = [f"document {k // each}" for k in range(len(ids))]
    said = sentences(len(ids), rng, vocabulary, 30)
    reference = written(folder, "reference", ids, said, document=names)
    files = {}
    for number, (name, rate) in enumerate(rates.items()):
        own = np.random.default_rng(number)
        files[name] = written(
            folder, f"output{number}", ids, [heard(w, own, rate, vocabulary) for w in said]
        )
    return ran("translation", [reference], files, **{"map": {"unit": "document"}, **tables})


def diarizations(
    folder: Path, rates, recordings=16, turns=20, recording="meeting-{:02}", **tables
) -> tc.Outcome:
    """Systems that are late by some seconds and take one speaker for another."""
    rng = np.random.default_rng(9)
    rows = [
        (recording.format(r), f"s{rng.integers(4)}", 5.0 * t, 5.0 * t + rng.uniform(2, 4.5))
        for r in range(recordings)
        for t in range(turns)
    ]
    reference = spoken(folder, "reference", rows)
    files = {}
    for number, (name, rate) in enumerate(rates.items()):
        own = np.random.default_rng(number)
        found = [
            (
                r,
                f"x{own.integers(4)}" if own.random() < rate else f"x{who}",
                start + rate * own.exponential(),
                end + own.exponential(rate),
            )
            for r, who, start, end in rows
        ]
        files[name] = spoken(folder, f"output{number}", found)
    return ran("diarization", [reference], files, **tables)


def spoken(folder: Path, name: str, rows) -> str:
    """An RTTM file."""
    text = "".join(
        f"SPEAKER {r} 1 {s:.3f} {e - s:.3f} <NA> <NA> {who} <NA> <NA>\n" for r, who, s, e in rows
    )
    (folder / f"{name}.rttm").write_text(text, encoding="utf-8")
    return str(folder / f"{name}.rttm")


def ran(task, references, files, **tables) -> tc.Outcome:
    """The study of some outputs; the first of several is the baseline."""
    data = {"reference": references, "map": tables.pop("map", {})}
    study = {"task": task, "data": data, "systems": {n: {"file": f} for n, f in files.items()}}
    if len(files) > 1:
        study["baseline"] = next(iter(files))
    return tc.run({**study, "interval": FEW, **tables})


def of_speakers(systems: int, speakers: int, name: str) -> list[tc.Items]:
    """Transcripts of some systems with long names; each speaker has two utterances."""
    rng = np.random.default_rng(speakers)
    right = [
        " ".join(rng.choice(list("abcdefgh"), rng.integers(1, 30))) for _ in range(2 * speakers)
    ]
    who, hard = [name.format(k // 2) for k in range(2 * speakers)], rng.gamma(2, 0.5, 2 * speakers)
    found = []
    for k in range(systems):
        drawn = np.random.default_rng(k)
        heard = [
            " ".join(w for w in text.split() if drawn.random() > 0.1 * h)
            + " x" * (drawn.random() < 0.3)
            for text, h in zip(right, hard, strict=True)
        ]
        system = f"wav2vec2-large-xlsr-finetuned-with-augmentation-and-{k}-more-epochs"
        system = system if systems > 1 else "mine"
        found.append(tc.count_transcripts(right, heard, name=system, unit=who, measures=("wer",)))
    return found
