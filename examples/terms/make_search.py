"""String recordings of digits together: documents with known positions, and queries to look for.

    python make_search.py RECORDINGS [FOLDER] [--documents N] [--examples N] [--seed N]

RECORDINGS is the tar of the Free Spoken Digit Dataset (see README.md). FOLDER, the present one
unless given, gets two searches, `dev` and `eval`, that share no recording:

- `audio/*.wav` and `queries/*.wav`: what is searched, and the spoken examples to look for;
- `e.ecf.xml`: the documents and their seconds;
- `r.rttm`: every turn of a speaker, and every digit in it;
- `t.kwlist.xml`: the queries with their text, the speaker, number of digits and seconds of the
  example;
- `occurrences.csv`: where every query occurs, for tools that read no RTTM.
"""

import argparse
import io
import re
import tarfile
import wave
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

Samples = npt.NDArray[np.float64]
RATE = 8000  # samples a second
MS = RATE // 1000  # all lengths are whole milliseconds, so that text holds every time exactly
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
QUERY_TAKES = {"dev": (0, 1), "eval": (2, 3, 4)}  # of each digit and speaker
FIRST_TAKE = 5  # of the documents: odd takes for `dev`, even ones for `eval`
TURNS, LONGEST = 7, 7  # turns of a document, most digits of a turn
# From 500 ms on the words of a term fall apart; with short gaps the tolerance of the alignment
# would take a digit for its neighbour.
GAP = (300, 480)  # milliseconds between two digits of a turn
PAUSE = (800, 4000)  # milliseconds before and after a turn
LEVEL = 0.05  # root mean square of speech; full scale is 1
NOISE = {"quiet": (20, 30), "noisy": (5, 15)}  # decibels of speech over noise


class Digit(NamedTuple):
    """A recording of one spoken digit."""

    digit: int
    speaker: str
    take: int
    samples: Samples


class Word(NamedTuple):
    """A digit in a document; times in milliseconds."""

    digit: int
    speaker: str
    start: int
    end: int


Strung = tuple[Samples, list[list[Word]]]


class Document(NamedTuple):
    """Audio to be searched, and the turns of those who speak in it."""

    name: str
    noise: str
    samples: Samples
    turns: list[list[Word]]


class Query(NamedTuple):
    """What is looked for, and how somebody says it."""

    name: str
    digits: tuple[int, ...]
    speaker: str
    samples: Samples

    @property
    def text(self) -> str:
        """The digits in words."""
        return " ".join(WORDS[digit] for digit in self.digits)


def read_digits(path: Path) -> list[Digit]:
    """All recordings, sorted by digit, speaker and take, one as loud as the other."""
    digits = []
    with tarfile.open(path) as archive:
        for member in archive:
            if named := re.fullmatch(r".*/(\d)_(\w+)_(\d+)\.wav", member.name):
                samples = read_wave(archive.extractfile(member).read())
                samples = samples[: len(samples) // MS * MS]
                samples *= LEVEL / np.sqrt(np.mean(samples**2))
                digits.append(Digit(int(named[1]), named[2], int(named[3]), samples))
    return sorted(digits, key=lambda digit: digit[:3])


def read_wave(content: bytes) -> Samples:
    """Samples of a WAV file of 16 bits."""
    with wave.open(io.BytesIO(content)) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), "<i2") / 32768


def write_wave(path: Path, samples: Samples) -> None:
    """Write samples as a WAV file of 16 bits."""
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes((np.clip(samples, -1, 0.9999) * 32768).astype("<i2").tobytes())


def turns_of(digits: list[Digit], rng: np.random.Generator) -> Iterator[list[Digit]]:
    """The digits of one speaker, shuffled, in turns; none is said twice in a row."""
    left = [digits[k] for k in rng.permutation(len(digits))]
    while left:
        turn = [left.pop()]
        for _ in range(rng.integers(LONGEST)):
            fitting = [k for k, digit in enumerate(left) if digit.digit != turn[-1].digit]
            if fitting:
                turn.append(left.pop(fitting[-1]))
        yield turn


def strung(turns: Iterable[Sequence[Digit]], rng: np.random.Generator) -> Strung:
    """The turns one after the other, between pauses: samples, and the words of every turn."""
    pieces, said, now = [], [], 0
    for turn in turns:
        words = []
        for k, digit in enumerate(turn):
            silence = int(rng.integers(*(GAP if k else PAUSE)))
            start = now + silence
            now = start + len(digit.samples) // MS
            words.append(Word(digit.digit, digit.speaker, start, now))
            pieces += [np.zeros(silence * MS), digit.samples]
        said.append(words)
    return np.concatenate([*pieces, np.zeros(int(rng.integers(*PAUSE)) * MS)]), said


def with_noise(samples: Samples, kind: str, rng: np.random.Generator) -> Samples:
    """The samples with noise that falls with frequency, so many decibels below the speech."""
    noise = lfilter([1.0], [1.0, -0.9], rng.normal(size=len(samples)))
    below = 10 ** (-rng.uniform(*NOISE[kind]) / 20)
    return samples + LEVEL * below * noise / np.std(noise)


def make_documents(
    part: str, digits: list[Digit], most: int, rng: np.random.Generator
) -> Iterator[Document]:
    """Documents in which several speakers take turns; no recording is used twice."""
    used = [d for d in digits if d.take >= FIRST_TAKE and d.take % 2 == (part == "dev")]
    turns = []
    for speaker in sorted({d.speaker for d in used}):
        turns += turns_of([d for d in used if d.speaker == speaker], rng)
    order = rng.permutation(len(turns))
    for k in range(min(most, len(turns) // TURNS)):
        samples, said = strung((turns[i] for i in order[k * TURNS : (k + 1) * TURNS]), rng)
        kind = str(rng.choice([*NOISE]))
        yield Document(f"{part}{k + 1:02}", kind, with_noise(samples, kind, rng), said)


def make_queries(
    part: str, digits: list[Digit], examples: int, rng: np.random.Generator
) -> Iterator[Query]:
    """So many examples of every digit and of pairs that begin with it; one of the digit said twice,
    which occurs nowhere.
    """
    recorded = {digit[:3]: digit for digit in digits}
    speakers = sorted({digit.speaker for digit in digits})
    wanted = []
    for first in range(10):
        others = rng.choice([d for d in range(10) if d != first], examples, replace=False)
        wanted += [(first,)] * examples + [(first, int(d)) for d in others] + [(first, first)]
    for k, pair in enumerate(wanted):
        speaker = speakers[k % len(speakers)]
        takes = rng.choice(QUERY_TAKES[part], len(pair), replace=False)
        turn = [recorded[d, speaker, int(t)] for d, t in zip(pair, takes, strict=True)]
        samples, [words] = strung([turn], rng)
        noisy = with_noise(samples, "quiet", rng)
        spoken = noisy[words[0].start * MS : words[-1].end * MS]
        yield Query(f"{part}-q{k + 1:02}", pair, speaker, spoken)


def occurrences(queries: list[Query], documents: list[Document]) -> Iterator[str]:
    """Where the digits of a query follow each other within a turn, as lines of a CSV file."""
    yield "query,document,start,end"
    for query in queries:
        length = len(query.digits)
        for document in documents:
            for turn in document.turns:
                for k in range(len(turn) - length + 1):
                    words = turn[k : k + length]
                    if tuple(word.digit for word in words) == query.digits:
                        times = f"{words[0].start / 1000:.3f},{words[-1].end / 1000:.3f}"
                        yield f"{query.name},{document.name},{times}"


def ecf(documents: list[Document]) -> Iterator[str]:
    """The documents as an experiment control file; the kind of noise is the source type."""
    seconds = [len(document.samples) / RATE for document in documents]
    yield f'<ecf source_signal_duration="{sum(seconds):.3f}" language="english" version="1">'
    for document, length in zip(documents, seconds, strict=True):
        yield (
            f'  <excerpt audio_filename="audio/{document.name}.wav" channel="1" tbeg="0.000" '
            f'dur="{length:.3f}" source_type="{document.noise}"/>'
        )
    yield "</ecf>"


def rttm(documents: list[Document]) -> Iterator[str]:
    """Turns and digits in the order of time."""
    for document in documents:
        for turn in document.turns:
            yield row("SPEAKER", document.name, (turn[0].start, turn[-1].end), turn[0].speaker)
            for word in turn:
                said = f"{WORDS[word.digit]} lex"
                yield row("LEXEME", document.name, (word.start, word.end), word.speaker, said)


def row(kind: str, name: str, times: tuple[int, int], speaker: str, said: str = "<NA> <NA>") -> str:
    """A line of RTTM."""
    start, end = times
    return f"{kind} {name} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} {said} {speaker} <NA>"


def kwlist(queries: list[Query]) -> Iterator[str]:
    """The queries with their attributes."""
    yield (
        '<kwlist ecf_filename="e.ecf.xml" version="1" language="english" encoding="UTF-8" '
        'compareNormalize="lowercase">'
    )
    for query in queries:
        seconds = f"{len(query.samples) / RATE:.3f}"
        attributes = {"speaker": query.speaker, "digits": len(query.digits), "seconds": seconds}
        yield f'  <kw kwid="{query.name}">'
        yield f"    <kwtext>{query.text}</kwtext>"
        yield "    <kwinfo>"
        for name, value in attributes.items():
            yield f"      <attr><name>{name}</name><value>{value}</value></attr>"
        yield "    </kwinfo>"
        yield "  </kw>"
    yield "</kwlist>"


def write(folder: Path, documents: list[Document], queries: list[Query]) -> None:
    """Write the audio and the lists of a search."""
    for name, sounds in {"audio": documents, "queries": queries}.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for sound in sounds:
            write_wave(folder / name / f"{sound.name}.wav", sound.samples)
    files = {
        "e.ecf.xml": ecf(documents),
        "r.rttm": rttm(documents),
        "t.kwlist.xml": kwlist(queries),
        "occurrences.csv": occurrences(queries, documents),
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Make both searches and say how large they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--examples", type=int, default=3, help="of a digit and of its pairs")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    digits = read_digits(given.recordings)
    for k, part in enumerate(QUERY_TAKES):
        rng = np.random.default_rng([given.seed, k])
        documents = list(make_documents(part, digits, given.documents, rng))
        queries = list(make_queries(part, digits, given.examples, rng))
        write(given.folder / part, documents, queries)
        words = sum(len(turn) for document in documents for turn in document.turns)
        heard = sum(len(d.samples) for d in documents) / RATE
        asked = sum(len(q.samples) for q in queries) / RATE
        print(
            f"{part}: {words} digits in {len(documents)} documents of {heard:.3f} s; "
            f"{len(queries)} queries of {asked:.3f} s"
        )


if __name__ == "__main__":
    main()
