"""Items of corpora (digits, speech, languages), and streams whose rule changes (river)."""

import hashlib
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five, need
from truecost.formats import read, sha256
from truecost.learning.learners.building import construct, imported
from truecost.learning.source import IDS, MATRICES, Items, Source, matrix
from truecost.learning.system import Array, Floats


def stacked(vectors: Sequence[Array], ids: Sequence[str], what: str) -> Floats:
    """Vectors of single items as a matrix, (items, features); `what` made them, for messages."""
    rows: list[Array] = []
    for name, vector in zip(ids, vectors, strict=True):
        row = np.asarray(vector)
        expected = rows[0].shape if rows else (row.size,)
        if row.dtype.kind not in "biuf" or row.ndim != 1 or row.shape != expected or not row.size:
            raise InputError(
                f"{what} returned for {name} an array of {row.dtype} with the shape {row.shape}; "
                "expected a vector of "
                + (f"{expected[0]} numbers, as for {ids[0]}" if rows else "numbers")
            )
        if not np.isfinite(row).all():
            raise InputError(
                f"{what} returned for {name} numbers that are not finite: {first_five(row)}"
            )
        rows.append(row)
    return np.asarray(rows, np.float64)


def fingerprints(source: Source, folder: str | Path = ".") -> dict[str, str]:
    """SHA-256 in hexadecimal of what the keys of a source name.

    Modules are looked for in the folder first. Of what there is of: `file` (its bytes), `tsv` (its
    bytes; those of all languages where it is the name of several), `folder` (names and bytes of the
    recordings of fsdd; names and sizes of the clips of common-voice, which are too many to be read)
    and `extractor` (the file of its module, without what that imports).
    """
    found = {} if source.file is None else {"file": sha256(source.file)}
    if source.folder is not None:
        found |= _folder_digests(source)
    if source.extractor is not None:
        module = _module(source.extractor.partition(":")[0], str(folder))
        found |= {} if module is None else {"extractor": sha256(module)}
    return found


def _folder_digests(source: Source) -> Iterator[tuple[str, str]]:
    """Digests of the clips of a folder, and of the lists that name them."""
    if source.name == "fsdd":
        files = recordings(source)
        yield "folder", joined_digest((path.name, sha256(str(path))) for path in files)
        return
    tsvs = [sha256(str(path)) for path in lists(source)]
    yield "tsv", tsvs[0] if len(tsvs) == 1 else joined_digest((digest,) for digest in tsvs)
    files = [path for path, _ in _clips(source)]
    yield "folder", joined_digest((path.name, str(path.stat().st_size)) for path in files)


def joined_digest(parts: Iterable[tuple[str, ...]]) -> str:
    """One hash of several texts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update("\0".join((*part, "")).encode())
    return digest.hexdigest()


def _module(name: str, folder: str) -> str | None:
    """The file of a module, which is not imported for that; None where there is none."""
    places, origin, whole = [folder, *sys.path], None, ""
    for part in name.split("."):
        whole = f"{whole}.{part}" if whole else part
        spec = PathFinder.find_spec(whole, places)
        if spec is None:
            return None
        origin, places = spec.origin, list(spec.submodule_search_locations or ())
    return origin if origin is not None and Path(origin).is_file() else None


OWN_FEATURES = "truecost.speech.clips:file_features"
SPOKEN = re.compile(r"(\d)_([^_]+)_(\d+)")  # digit, speaker, take


def handwritten() -> Items:
    """The 1,797 handwritten digits that come with scikit-learn: 8 x 8 pixels between 0 and 1.

    Labels are the digits; ids the numbers of the images, from 0000.
    """
    data, digits = need("sklearn.datasets", "learn").load_digits(return_X_y=True)
    ids = tuple(f"{number:04}" for number in range(len(digits)))
    labels = tuple(str(int(digit)) for digit in digits)
    return Items("digits", ids, np.asarray(data, np.float64) / 16, labels, said=("digits",))


def spoken(source: Source) -> Items:
    """The Free Spoken Digit Dataset: a clone, or features that were made from it.

    A recording is named `DIGIT_SPEAKER_TAKE.wav`; the digit is its label. The features are those of
    `truecost.speech.clips` unless the source names an extractor.

    `source`: with `folder`: the clone, or its recordings; or with `file`: an archive with the
    matrix X (or features) and the names of the recordings, `paths` (or ids).
    """
    if source.file:
        return _spoken_features(source.file)
    folder, files = Path(str(source.folder)), recordings(source)
    ids = tuple(file.stem for file in files)
    labels = _digits(ids, str(folder))
    vectors = _extracted(source.extractor or OWN_FEATURES, files)
    said = ("fsdd", f"features:{source.extractor or '102'}")
    return Items(str(folder), ids, vectors, labels, said=said)


def recordings(source: Source) -> list[Path]:
    """The recordings of spoken digits, by name; InputError when there are none."""
    folder = Path(str(source.folder))
    inner = folder / "recordings"
    files = sorted((inner if inner.is_dir() else folder).glob("*.wav"))
    if not files:
        raise InputError(
            f"{folder}: no recordings there; expected a clone of the Free Spoken Digit Dataset "
            f"with recordings/DIGIT_SPEAKER_TAKE.wav"
        )
    return files


def _spoken_features(file: str) -> Items:
    """Features and names of recordings from an archive."""
    table = read(file)
    names = next((name for name in IDS if name in table.columns), IDS[0])
    features = next((name for name in MATRICES if name in table.matrices), MATRICES[0])
    ids = tuple(Path(str(name)).stem for name in table.texts(names, "id"))
    values = matrix(table, [features])
    said = ("fsdd", f"features:file,{values.shape[1]}")
    return Items(file, ids, values, _digits(ids, file), said=said)


def _digits(ids: Sequence[str], where: str) -> tuple[str, ...]:
    """The digit of each recording, from its name."""
    found = [SPOKEN.fullmatch(name) for name in ids]
    bad = [name for name, match in zip(ids, found, strict=True) if match is None]
    if bad:
        raise InputError(
            f"{where}: {counted(len(bad), 'recording', 'are')} not named DIGIT_SPEAKER_TAKE "
            f"({first_five(bad)}); is this the Free Spoken Digit Dataset?"
        )
    return tuple(match[1] for match in found if match)


def _extracted(name: str, files: Sequence[Path]) -> Array:
    """Vectors of all clips; whatever a user's extractor throws names the clip."""
    extract = imported(name, f"[source] extractor = {name!r}", ".")
    who = "the wav reader" if name == OWN_FEATURES else name

    def vector(file: Path) -> Array:
        try:
            return np.asarray(extract(str(file)))
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{file}: {who} failed with {type(error).__name__}: {error}"
            ) from error

    return stacked([vector(file) for file in files], [str(file) for file in files], who)


def common_voice(source: Source) -> Items:
    """Clips of Common Voice in the order of its TSV; the label is the language.

    The source has `folder` (of the corpus, of a language, or of its clips), `tsv` (a file; or the
    name of one in the folder, or in each folder of a language there), `extractor` (path of a clip
    to vector) and `label` (column; default locale). Ids are the names of the clips, without
    ending. Not tested on the corpus itself, only on a folder of the same layout. Everything is done
    clip by clip: for many clips extract the features once, and read them as a table.
    """
    found = _clips(source)
    files = [file for file, _ in found]
    who = str(source.extractor)
    vectors = _extracted(who, files)
    ids, labels = tuple(file.stem for file in files), tuple(language for _, language in found)
    return Items(str(source.folder), ids, vectors, labels, said=("common-voice", f"features:{who}"))


def _clips(source: Source) -> list[tuple[Path, str]]:
    """Each clip that the lists name, and its language."""
    folder, label = Path(str(source.folder)), source.label or "locale"
    return [
        (_clip(folder, tsv, name, language), language)
        for tsv in lists(source)
        for name, language in _clip_names(tsv, label)
    ]


def lists(source: Source) -> list[Path]:
    """The TSV of Common Voice, or that of every language."""
    folder, tsv = Path(str(source.folder)), str(source.tsv)
    if Path(tsv).is_file():
        return [Path(tsv)]
    found = [folder / tsv] if (folder / tsv).is_file() else sorted(folder.glob(f"*/{tsv}"))
    if not found:
        raise UsageError(
            f"[source] tsv = {tsv!r}: there is no such file, and none of that name in {folder} or "
            f"in a folder there"
        )
    return found


def _clip_names(tsv: Path, label: str) -> Iterator[tuple[str, str]]:
    """Name and language of each clip; fields are apart by tabs, quotes mean nothing."""
    try:
        lines = tsv.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{tsv}: cannot be read as UTF-8 text ({error})") from error
    header = lines[0].split("\t") if lines else []
    for column in ("path", label):
        if column not in header:
            raise UsageError(
                f"{tsv}, line 1: there is no column {column!r}; the columns are "
                f"{', '.join(header) or 'none'}"
            )
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(header):
            raise InputError(
                f"{tsv}, line {number}: {counted(len(fields), 'field')}, but the header has "
                f"{len(header)}"
            )
        name, language = fields[header.index("path")], fields[header.index(label)]
        if not name or not language:
            raise InputError(
                f"{tsv}, line {number}: column {'path' if not name else label} is empty"
            )
        yield name, language


def _clip(folder: Path, tsv: Path, name: str, language: str) -> Path:
    """Path of a clip."""
    places = (folder, folder / "clips", tsv.parent / "clips", folder / language / "clips")
    for place in places:
        if (place / name).is_file():
            return place / name
    raise InputError(
        f"{tsv}: clip {name} is in none of {', '.join(dict.fromkeys(map(str, places)))}"
    )


SYNTHETIC = "river.datasets.synth"
LEAD = 500  # items more than the stream and the pool need, from which the bootstrap set is drawn


def generated(source: Source, seed: int) -> Items:
    """Items of a generator of river, in the order in which it makes them.

    A change of the rule inside the stream is one of the generator's own (`AgrawalDrift`, say), or
    `drift = "ConceptDriftStream"` with two generators as options::

        [source.options]
        position = 1000
        stream = { generator = "SEA", variant = 0 }
        drift_stream = { generator = "SEA", variant = 2 }

    `source`: `drift`, `options`, `items`, `pool`; `seed`: of the generators that take a seed and
    are not given one. Gives as many as the stream and the pool need, and 500 more.
    """
    need("river", "river")
    if source.items is None or (source.pool is not None and source.pool < 1):
        raise UsageError(
            "[source] name = 'drift': a generator has no end; give the number of items of the "
            "stream (such as items = 5000), and the pool as a number"
        )
    name = str(source.drift)
    number = source.items + int(source.pool or 0) + LEAD
    who = f"[source] drift = {name!r}"
    generator = construct(name, source.options, who, seed, ".", "generator", SYNTHETIC)
    try:
        made = list(itertools.islice(generator, number))
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"{who} cannot be run with options {source.options}: {error}") from error
    if len(made) < number:
        raise InputError(f"{name} made {len(made)} items; {number} are needed: ask for fewer items")
    ids = tuple(f"{row:0{len(str(number))}}" for row in range(number))
    keys = list(made[0][0])
    vectors = [_vector(x, keys, row, name) for row, (x, _) in zip(ids, made, strict=True)]
    labels = tuple(_label(y) for _, y in made)
    said = ("drift", name.rpartition(":")[2])
    options = [f"{key}:{_option_text(value)}" for key, value in sorted(source.options.items())]
    return Items(name, ids, stacked(vectors, ids, name), labels, said=(*said, *options))


def _vector(features: Mapping[str, Any], keys: list[Any], row: str, name: str) -> Array:
    """Features in the order of the first item."""
    if list(features) != keys:
        raise InputError(f"{name}, item {row}: features {list(features)}; the first has {keys}")
    bad = [
        f"{k} = {v!r}" for k, v in features.items() if not isinstance(v, int | float | np.number)
    ]
    if bad:
        raise InputError(f"{name}, item {row}: features that are not numbers: {first_five(bad)}")
    return np.asarray([float(features[key]) for key in keys])


def _option_text(value: Any) -> str:
    """An option in the signature."""
    if not isinstance(value, Mapping):
        return str(value)
    inner = (f"{key}:{_option_text(option)}" for key, option in sorted(value.items()))
    return f"({','.join(inner)})"


def _label(label: Any) -> str:
    """A label as text; truth values as 1 and 0."""
    return str(int(label)) if isinstance(label, bool | np.bool_) else str(label)
