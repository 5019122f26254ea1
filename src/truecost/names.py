"""The words that users choose from, and values from the texts of flags; a light module, for the
help of commands.
"""

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal, TypeVar

from truecost.errors import InputError, UsageError, near, share_of

SCORED = ("score", "compare", "plan", "leaderboard")  # verbs that make figures
COUNTED = (*SCORED, "threshold")
Number = TypeVar("Number", int, float)
ScoreType = Literal[
    "llr", "posterior", "log-posterior", "log-score", "score", "decision", "number", "values"
]
Direction = Literal["higher", "lower"]
Missing = Literal["error", "drop", "worst"]
MISSING: dict[str, str] = {
    "error": "stop",
    "drop": "leave them out",
    "worst": "the lowest score of the system for a target, the highest for a nontarget; an empty "
    "output",
}
Annotators = Literal["votes", "any"]
Outside = Literal["error", "drop"]
Mismatch = Literal["error", "drop"]
SpeakerMapping = Literal["scored", "evaluated"]
Estimator = Literal["mean", "run"]
ChosenBy = Literal["point", "upper"]
ThresholdBy = Literal["whole", "subset"]
LabelTarget = Literal["rfpr", "rrecall", "both", "fpr"]
TrialUnit = Literal["occurrence", "segment", "document"]  # what a trial of a search for terms is
SearchFactor = Literal[  # what is resampled of a search
    "query", "document", "query,document", "document,query"
]
Queried = Literal["right", "removed", "model"]  # what a queried item counts as, postquentially
Pooling = Literal["micro", "macro"]  # of streams
AnnotationSet = Literal["queries", "bootstrap", "development", "training", "pretraining"]
Empty = Literal["nothing", "error"]  # what a batch without targets adds to the misses
LastBatch = Literal["kept", "dropped"]
OnlineDecision = Literal["own", "bayes"]
OnlineFactor = Literal["batch", "stream", "seed", "batch,seed"]  # what is resampled of event logs
Objective = Literal["imlm", "imlm_seconds", "total_cost", "imlm_money", "act_dcf"]  # of a sweep
LifelongKind = Literal["classes", "transcripts", "translation", "diarization"]  # of outputs
LifelongFactor = Literal["item", "seed", "item,seed"]  # what is resampled of a life cycle
PolicyKind = Literal["recent", "uniform", "conservative", "table"]
Normalise = Literal["lowercase", "none"]
Scheme = Literal["multinomial", "poisson", "blocks"]
Method = Literal["auto", "percentile", "bca"]
SCHEMES: dict[str, str] = {
    "multinomial": "as many units as in the data",
    "poisson": "each unit a Poisson number of times",
    "blocks": "blocks of consecutive units",
}
METHODS: dict[str, str] = {
    "auto": "chosen for each measure",
    "percentile": "percentiles of the replicates",
    "bca": "bias-corrected percentiles of the replicates",
}
Ends = Literal["auto", "percentile", "bca", "delta"]  # how the ends of an interval were made
ICC = 0.1  # of the trials of a unit, as far as the data do not show it
MachineMethod = Literal["spline", "poly3", "affine", "pav"]  # of machine labels
CalibrationMethod = Literal["affine", "temperature", "pav", "spline", "poly3"]
POSTERIORS: tuple[str, ...] = ("posterior", "log-posterior", "log-score")
PARTS = ("collection", "application")  # each has a section of a report and gates of its own

# What rows are about, in the order of tables; strategies and budgets are those of streams,
# versions and policies those of lifelong learning.
EVERY_PRIOR = "every prior"  # application of rows that are the same at all priors of a run
DIMS = (
    *("system", *PARTS, "strategy", "budget", "estimator", "subset", "phase"),
    *("version", "policy", "rule", "data"),
)
COLUMNS: dict[str, tuple[str, ...]] = {  # names that need no --map, the first of them canonical
    "score": ("score", "scores"),
    "label": ("label", "labels", "targets"),
    "id": ("id",),
    "unit": ("unit",),
}
LARGEST = 1e70  # size of a number that is read: its fourth power, which intervals take, is a number
LATEST = 1e10  # seconds of a time that is read; sums of such times still fit into 64 bits
NO_NUMBER = ("na", "nan", "null", "none")  # in lower case: what says that there is no number
STANDARD_INPUT = ("-", "/dev/stdin")


def real(path: str | Path) -> Path:
    """A path with its links followed; unchanged if the links form a ring."""
    return Path(os.path.realpath(path))


def in_store(path: str) -> bool:
    """Whether a path is in an object store, such as `s3://bucket/parts/*.parquet`."""
    return "://" in path


SCORE_TYPES: dict[str, str] = {
    "llr": "natural-log likelihood ratios (target over nontarget); --llr-base for another base",
    "posterior": "posterior probability of the target, or one for each class",
    "log-posterior": "natural logarithm of a posterior, of the target or one for each class",
    "log-score": "one log-score for each class; softmax turns them into posteriors",
    "score": "any score that is higher for targets (only its ranks are used)",
    "decision": "the decided class (or reject/accept)",
    "number": "a predicted number (regression)",
    "values": "a metric in each row instead of scores, for mean:COLUMN; needs no labels",
}
ITEM_MAP_KEYS: dict[str, str] = {  # of items of any task
    "id": "id of the utterance or sentence, by which files are joined",
    "unit": "unit (speaker, document): its items are resampled together",
    "unit2": "second unit, crossed with the first",
    "stratum": "stratum of the unit: units (with --resample blocks: blocks of units) are drawn "
    "within each stratum",
    "weight": "weight of the item (inverse inclusion probability)",
}
PROTOCOL_MAP_KEYS: dict[str, str] = {  # of tables of samples
    "id": "id of the sample",
    "label": "class of the sample",
    "group": "group (speaker, session), which a split keeps whole; a+b for several columns",
    "set": "set or fold of the sample: train, dev, eval, or the number of a fold",
    "source": "sample or recording that it was cut or made from (chunks, augmentation)",
    "content": "content by which copies are found: a text, a hash, or the path of a file with "
    "--files",
}
NORMALISATIONS: dict[str, str] = {  # of the texts of transcripts
    "nfc": "Unicode's composed form (NFC): a letter and its marks as one character where one "
    "exists",
    "nfkc": "Unicode's compatibility form (NFKC): full-width letters, ligatures and similar become "
    "plain",
    "lower": "lower case",
    "no-punctuation": "removes punctuation except apostrophes and hyphens inside words (don't, "
    "well-known) and the point, comma or colon inside numbers (3.5, 1,000, 12:30); a dash, "
    "slash or underscore becomes a blank, a typographic apostrophe inside a word a plain one",
    "no-marks": "removes diacritics: é becomes e (not for scripts whose vowels are marks)",
    "no-tags": "removes text in <> or []",
    "no-words=A+B": "removes these words, spelt as after the earlier steps: no-words=uh+um",
    "characters": "makes every character a word (for texts without blanks between words)",
    "whisper-english": "the English normaliser of Whisper: numbers, contractions, British "
    "spellings, fillers (extra speech)",
    "FILE.tsv": "replaces words by a mapping file, FROM<TAB>TO a line; an empty TO removes the "
    "word",
    "python:MODULE:FUNCTION": "your function from a text to a text",
}
FORMATS: dict[str, str] = {  # of tables and lists of trials, which are written too
    "csv": "comma-separated columns with a header line (.csv)",
    "tsv": "tab-separated columns with a header line (.tsv)",
    "parquet": "Apache Parquet (.parquet)",
    "ndjson": "one JSON object a line (.ndjson, .jsonl)",
    "npz": "NumPy archive: `scores` (N or N x K), `labels` or `targets`, further columns (.npz)",
    "npy": "folder with scores.npy, labels.npy or targets.npy, further columns; a single .npy file "
    "holds scores only",
    "kaldi-trials": "enroll test target|nontarget",
    "kaldi-scores": "enroll test score",
    "voxceleb": "label enroll test (label 1 or 0)",
    "speechbrain": "enroll test label score (label 1 or 0)",
    "wespeaker": "enroll test score label (label target or nontarget)",
    "utt2spk": "utterance speaker (metadata of every task)",
    "nist-sre": "tab-separated columns modelid segmentid side LLR, or a key with targettype and "
    "partitions",
}

SPOOFING: dict[str, str] = {  # of lists of trials with spoofed speech, which are read alone
    "asvspoof-scores": "utterance attack bonafide|spoof score (countermeasures, ASVspoof 2019)",
    "asvspoof-key": "speaker utterance environment attack bonafide|spoof (ASVspoof 2019)",
    "asvspoof21-key": "speaker utterance codec transmission attack bonafide|spoof trim subset "
    "(ASVspoof 2021 LA)",
    "asvspoof21-trials": "enroll test codec transmission attack target|nontarget|spoof trim subset "
    "(ASVspoof 2021 LA)",
    "asvspoof21-pa-key": "speaker utterance, seven columns of rooms, microphones and distances, "
    "bonafide|spoof trim subset (ASVspoof 2021 PA)",
    "asvspoof21-pa-trials": "enroll test, the seven columns of asvspoof21-pa-key, "
    "target|nontarget|spoof trim subset (ASVspoof 2021 PA)",
    "asvspoof21-df-key": "speaker utterance codec source attack bonafide|spoof trim subset, five "
    "more columns (ASVspoof 2021 DF)",
    "asvspoof-trials": "enroll test attack target|nontarget|spoof (ASVspoof 2019)",
    "asvspoof-asv": "attack target|nontarget|spoof score (verification; needs --input-format)",
    "utt-scores": "utterance score (decimal numbers; ASVspoof 2021)",
}


def without_header(columns: Iterable[object]) -> str:
    """The beginning of a message on a missing column, if a name is a number; otherwise empty."""
    found = next((str(n) for n in columns if re.fullmatch(r"-?\d+\.\d+", str(n))), "")
    return found and (
        f"the header line is probably missing, as line 1 contains the number {found}: add a line "
        f"with names of columns. Otherwise, "
    )


def full_name(name: str, columns: Collection[str]) -> str | None:
    """The column of a name: the one with this name, or the only one that ends in it after a point,
    `enroll.speaker.gender` for `gender`; None for none. UsageError where several end in it.
    """
    if name in columns:
        return name
    found = [column for column in columns if column.endswith(f".{name}")] if name else []
    if len(found) > 1:
        raise UsageError(
            f"{name!r} is the end of {len(found)} columns, {', '.join(found)}: name one of them"
        )
    return found[0] if found else None


# What an option with pairs holds, for messages: the form of a pair, and an example.
_PAIRS = {
    "--direction": ("COLUMN=higher or COLUMN=lower", "accuracy=higher,latency=lower"),
    "--map": ("KEY=COLUMN", "score=s,label=y,unit=speaker"),
    "--system-map": ("KEY=COLUMN", "id=utt,score=s"),
    "--shares": ("NAME=SHARE", "train=0.8,dev=0.1,eval=0.1"),
    "--priors": ("CLASS=P", "keyword=0.01,other=0.99"),
    "--rates": ("CELL=RATE", "10A=0.2,01B=0.1"),
    "--before": ("SET=NUMBER", "training=1000"),
}


def pairs(text: str, flag: str = "--map") -> dict[str, str]:
    """`KEY=COLUMN,...` as a mapping; UsageError for any other text."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, mark, column = part.partition("=")
        if not mark or not column:
            form, example = _PAIRS.get(flag, ("KEY=COLUMN", "text=words"))
            raise UsageError(
                f"{flag} {part!r} is not understood: write {form}, such as {flag} {example}"
            )
        if key in found:
            raise UsageError(f"{flag} names {key} twice: name it once")
        found[key.strip()] = column.strip()
    return found


def word_or_pairs(text: str, flag: str) -> str | dict[str, str]:
    """A single word, or `NAME=WORD,...` as a mapping."""
    return pairs(text, flag) if "=" in text else text


def number_pairs(text: str, flag: str) -> dict[str, float]:
    """`NAME=NUMBER,...` as a mapping; UsageError for any other text."""
    found = {}
    for name, number in pairs(text, flag).items():
        try:
            found[name] = float(number)
        except ValueError as error:
            form, example = _PAIRS[flag]
            raise UsageError(
                f"{flag} {name}={number} is not understood: write {form}, such as {flag} {example}"
                f"{share_of(number)}"
            ) from error
    return found


def _numbers(text: str, flag: str, kind: type[Number], what: str) -> tuple[Number, ...]:
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"{flag} {text!r} is not understood: write {what} separated by commas{share_of(text)}"
        ) from error


def numbers(text: str, flag: str) -> tuple[float, ...]:
    """Comma-separated numbers; UsageError for any other text."""
    return _numbers(text, flag, float, "numbers")


def whole_numbers(text: str, flag: str) -> tuple[int, ...]:
    """Comma-separated whole numbers; UsageError for any other text."""
    return _numbers(text, flag, int, "whole numbers") if text else ()


def number_or_numbers(text: str, flag: str) -> float | tuple[float, ...]:
    """A share above 0, or several separated by commas."""
    found = numbers(text, flag)
    if text.startswith("0,") and len(found) == 2:  # a share of 0 is refused anyway
        raise UsageError(f"{flag} {text!r} has two values, 0 and {found[1]:g}{share_of(text)}")
    return found[0] if len(found) == 1 else found


def number_or_bayes(text: str, flag: str) -> float | str:
    """A number, or the word bayes."""
    if text == "bayes":
        return text
    try:
        return float(text)
    except ValueError as error:
        hint = near(text, ["bayes"]) or share_of(text)
        raise UsageError(
            f"{flag} {text!r} is not understood: give a number or bayes{hint}"
        ) from error


def words(text: str, flag: str) -> tuple[str, ...]:
    """Words separated by commas; UsageError where one is empty."""
    found = tuple(part.strip() for part in text.split(",")) if text else ()
    if not all(found):
        raise UsageError(f"{flag} {text!r} is not understood: write names separated by commas")
    return found


def joined(text: str, flag: str) -> tuple[str, ...]:
    """Words joined by +."""
    del flag
    return tuple(text.split("+"))


def matrix(text: str, flag: str = "--cost-matrix") -> tuple[tuple[float, ...], ...]:
    """A matrix from `0 1; 10 0`, or from a file with one row a line."""
    source = text
    if Path(text).is_file():
        source = _text(text).strip().replace("\n", ";")
    try:
        return tuple(
            tuple(float(x) for x in row.replace(",", " ").split())
            for row in source.split(";")
            if row.strip()
        )
    except ValueError as error:
        kind = InputError if source is not text else UsageError
        raise kind(
            f"{flag} {text!r} is not understood ({error}): write rows of numbers separated by "
            f"';', such as \"0 1; 10 0\", or name a file"
        ) from error


def _text(path: str) -> str:
    """The text of a small file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


MEAN, VALUE = "mean", "value"  # the measure of columns, and the column where none is named
A_METRIC = (
    "for a table with a metric in each row use --measure mean:COLUMN with --higher or --lower"
)
