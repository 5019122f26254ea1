"""Items of corpora (digits, speech, languages), and streams whose rule changes (river)."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.extras import need
from truecost.learning.streams.items import Items, stacked
from truecost.learning.streams.source import Source, function_of
from truecost.learning.system import Array

SPOKEN = re.compile(r"(\d)_([^_]+)_(\d+)")  # digit, speaker, take


def handwritten() -> Items:
    """The 1,797 handwritten digits that come with scikit-learn: 8 x 8 pixels between 0 and 1.

    Returns
    -------
    Items
        Labels are the digits; ids the numbers of the images, from 0000.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    """
    data, digits = need("sklearn.datasets", "learn").load_digits(return_X_y=True)
    ids = tuple(f"{number:04}" for number in range(len(digits)))
    labels = tuple(str(int(digit)) for digit in digits)
    return Items("digits", ids, np.asarray(data, np.float64) / 16, labels, said=("digits",))


def spoken(source: Source) -> Items:
    """The Free Spoken Digit Dataset: a clone, or features that were made from it.

    A recording is named `DIGIT_SPEAKER_TAKE.wav`; the digit is its label. The features are those of
    `truecost.speech.clips` unless the source names an extractor.

    Parameters
    ----------
    source : Source
        With `folder`: the clone, or its recordings; or with `file`: an archive with the matrix X
        (or features) and the names of the recordings, `paths` (or ids).

    Raises
    ------
    InputError
        When there are no recordings, one is named otherwise, or cannot be read.
    """
    if source.file:
        return _spoken_features(source.file)
    folder, files = Path(str(source.folder)), recordings(source)
    ids = tuple(file.stem for file in files)
    labels = _digits(ids, str(folder))
    extract = function_of(source.extractor or "truecost.speech.clips:file_features")
    vectors = _extracted(extract, files, source.extractor or "the wav reader")
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
    from truecost.formats import read
    from truecost.learning.streams.items import IDS, MATRICES, matrix

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


def _extracted(extract: Callable[[str], Array], files: Sequence[Path], who: str) -> Array:
    """Vectors of all clips; whatever a user's extractor throws names the clip."""

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

    Not tested on the corpus itself, only on a folder of the same layout. Everything is done clip by
    clip: for many clips extract the features once, and read them as a table.

    Parameters
    ----------
    source : Source
        `folder` (of the corpus, of a language, or of its clips), `tsv` (a file; or the name of one
        in the folder, or in each folder of a language there), `extractor` (path of a clip to
        vector), `label` (column; locale unless given).

    Returns
    -------
    Items
        Ids are the names of the clips, without ending.

    Raises
    ------
    UsageError
        When there is no such TSV, or it lacks a column.
    InputError
        When a line is malformed, a clip is missing, or the extractor fails.
    """
    folder, label = Path(str(source.folder)), source.label or "locale"
    rows = [row for tsv in lists(source) for row in _clips(tsv, label)]
    files = [_clip(folder, tsv, name, language) for tsv, name, language in rows]
    extract = function_of(str(source.extractor))
    vectors = _extracted(extract, files, str(source.extractor))
    said = ("common-voice", f"features:{source.extractor}")
    labels = tuple(language for _, _, language in rows)
    return Items(str(folder), tuple(file.stem for file in files), vectors, labels, said=said)


def clips(source: Source) -> list[Path]:
    """The clips of Common Voice that the lists name, in their order; errors as `common_voice`."""
    folder, label = Path(str(source.folder)), source.label or "locale"
    named = [row for tsv in lists(source) for row in _clips(tsv, label)]
    return [_clip(folder, tsv, name, language) for tsv, name, language in named]


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


def _clips(tsv: Path, label: str) -> Iterator[tuple[Path, str, str]]:
    """File, name and language of each clip; fields are apart by tabs, quotes mean nothing."""
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
            raise InputError(f"{tsv}, line {number}: no {'path' if not name else label} there")
        yield tsv, name, language


def _clip(folder: Path, tsv: Path, name: str, language: str) -> Path:
    """Where a clip lies."""
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

    Parameters
    ----------
    source : Source
        `drift`, `options`, `items`, `pool`.
    seed : int
        Of the generators that take a seed and are not given one.

    Returns
    -------
    Items
        As many as the stream and the pool need, and 500 more.

    Raises
    ------
    MissingExtraError
        When river is not installed.
    UsageError
        When there is no such generator, or it does not take these options.
    InputError
        When it makes too few items, or features that are no finite numbers.
    """
    need("river", "river")
    if source.items is None or (source.pool is not None and source.pool < 1):
        raise UsageError(
            "[source] name = 'drift': a generator has no end; say how many items the stream has "
            "(items = 5000, say), and give the pool as a number"
        )
    name = str(source.drift)
    number = source.items + int(source.pool or 0) + LEAD
    try:
        made = list(itertools.islice(_generator(name, source.options, seed), number))
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(
            f"[source] drift = {name!r} cannot be run with options {source.options}: {error}"
        ) from error
    if len(made) < number:
        raise InputError(f"{name} made {len(made)} items; {number} are needed: ask for fewer items")
    ids = tuple(f"{row:0{len(str(number))}}" for row in range(number))
    keys = list(made[0][0])
    vectors = [_vector(x, keys, row, name) for row, (x, _) in zip(ids, made, strict=True)]
    labels = tuple(_label(y) for _, y in made)
    said = ("drift", name.rpartition(":")[2])
    options = [f"{key}:{_said(value)}" for key, value in sorted(source.options.items())]
    return Items(name, ids, stacked(vectors, ids, name), labels, said=(*said, *options))


def _generator(name: str, options: Mapping[str, Any], seed: int) -> Any:
    """A generator with its options, those inside it included."""
    path = name if ":" in name else f"{SYNTHETIC}:{name}"
    kind = function_of(path, "drift")
    arguments = {key: _argument(value, seed) for key, value in options.items()}
    if "seed" not in arguments and "seed" in _parameters(kind):
        arguments["seed"] = seed
    return kind(**arguments)


def _argument(value: Any, seed: int) -> Any:
    """An option; a table with the key `generator` becomes one."""
    if isinstance(value, Mapping) and "generator" in value:
        inner = {key: option for key, option in value.items() if key != "generator"}
        return _generator(str(value["generator"]), inner, seed)
    return value


def _parameters(kind: Any) -> list[str]:
    import inspect

    return list(inspect.signature(kind).parameters)


def _vector(features: Mapping[str, Any], keys: list[Any], row: str, name: str) -> Array:
    """Features in the order of the first item."""
    if list(features) != keys:
        raise InputError(f"{name}, item {row}: features {list(features)}; the first has {keys}")
    bad = [
        f"{k} = {v!r}" for k, v in features.items() if not isinstance(v, int | float | np.number)
    ]
    if bad:
        raise InputError(f"{name}, item {row}: features that are no numbers: {first_five(bad)}")
    return np.asarray([float(features[key]) for key in keys])


def _said(value: Any) -> str:
    """An option in the signature."""
    if not isinstance(value, Mapping):
        return str(value)
    return "(" + ",".join(f"{key}:{_said(option)}" for key, option in sorted(value.items())) + ")"


def _label(label: Any) -> str:
    """A label as text; truth values as 1 and 0."""
    return str(int(label)) if isinstance(label, bool | np.bool_) else str(label)
