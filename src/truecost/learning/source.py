"""The settings of a source of streams, `[source]` of a study; items from a table of features."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named, near
from truecost.formats import Table, read
from truecost.formats.table import filled, refuse_values
from truecost.learning.options import Order, SourceTable
from truecost.learning.system import Array, Floats
from truecost.options import check_fields

Kind = Literal["detection", "classes", "numbers"]
ORDERED: tuple[str, ...] = ("given", "time")  # what is earlier in the data comes earlier
NAMES = {
    "table": "your own features: .npz, .csv, .tsv, .parquet or .ndjson",
    "digits": "handwritten digits that come with scikit-learn; needs no file",
    "fsdd": "spoken digits: a clone of the Free Spoken Digit Dataset, or its features",
    "common-voice": "languages of Common Voice: its clips, its TSV, and your extractor",
    "drift": "a generator of the package river, such as SEA or Agrawal",
}
"""The sources there are, with one line on each."""
_EVERY = (  # settings that every source reads
    *("name", "kind", "target", "targets", "order", "chunks", "concentration"),
    *("items", "pool", "prevalence"),
)
_TAKES = {  # which other settings each source reads
    "table": "file id label classes time stream features context allow_lookahead",
    "digits": "",
    "fsdd": "folder file extractor",
    "common-voice": "folder tsv extractor label",
    "drift": "drift options",
}


class Source(SourceTable, frozen=True, kw_only=True, omit_defaults=False):
    """Source of the items of a live run, and their order: the settings `[source]` of a study file.

    Attributes
    ----------
    name : {"table", "digits", "fsdd", "common-voice", "drift"}
        Kind of source. `table`: file of features. `digits`: handwritten digits of scikit-learn.
        `fsdd`: spoken digits. `common-voice`: languages of Common Voice. `drift`: package river.
    file : str, optional
        Path of the table of features; for `fsdd`, a table of features in place of `folder`.
    folder : str, optional
        Folder of audio clips (`fsdd`, `common-voice`).
    tsv : str, optional
        List of the clips (`common-voice`): a path, or the name of a file in `folder` or in the
        folder of each language.
    extractor : str, optional
        Function `module:function` that turns the path of a clip into a vector of features.
    id : str, optional
        Column with the ids. Default: `id`, `ids`, `path` or `paths`; without these, row numbers.
    label : str, optional
        Column with the labels. Default: the first existing one of `label`, `labels`, `y`.
    time : str, optional
        Column with the arrival times.
    stream : str, optional
        Column with the names of streams; each value becomes a stream.
    features : tuple of str
        Feature columns. Default: the matrix of an .npz file, or all other columns.
    context : tuple of str
        Features that are computed from later items of the stream, too: with these features, a
        system looks better than it is. They are an error without `allow_lookahead`.
    allow_lookahead : bool
        Whether the features of `context` are allowed. The signature names these features.
    kind : str, optional
        Kind of the labels: detection, classes or numbers. Default: detection if there are targets
        or the labels are 0 and 1 (1 is the target), otherwise classes.
    text : str, optional
        Column with the text that replaces the features (lifelong learning).
    classes : tuple of str
        Classes that people choose from, if no column contains labels.
    target, targets
        Label to detect, or several labels, each with a stream of its own. Default for `digits` and
        `fsdd`: 0 to 4, unless `kind` is classes or numbers.
    order : {"given", "time", "shuffled", "dirichlet"}, optional
        Order of the items. `given`: as in the source. `time`: by the column `time`. `shuffled`:
        random. `dirichlet`: in chunks with random shares of the classes (Lindsey et al.). Default:
        `time` for a table with a time column, `given` for other tables and `drift`, otherwise
        `dirichlet` (for numbers: `shuffled`).
    chunks : int, optional
        Number of chunks of the Dirichlet order. Default: number of classes.
    concentration : float
        Parameter of the Dirichlet order, above 0. Smaller values make the chunks more different.
    items : int, optional
        Length of the stream in items. Default: all items outside the bootstrap set and the pool.
    pool : int or float, optional
        Size of the training pool: a number of items, or a share (below 1) of all items. Default:
        all remaining items if `items` is given, otherwise 0.
    prevalence : float, optional
        Share of targets in the stream, in (0, 1); random items are left out to reach it.
    drift : str, optional
        Generator of the package river: a name in `river.datasets.synth`, or `module:Class`.
    options : dict
        Arguments of the generator. A dict with the key `generator` is replaced by that generator.
    """

    name: str
    kind: Kind | None = None
    allow_lookahead: bool = False
    concentration: float = 1.0

    @property
    def asked(self) -> tuple[str, ...]:
        """The labels to detect, as text: those in `targets`, or that in `target`."""
        given = self.targets or (() if self.target is None else (self.target,))
        return tuple(str(target) for target in given)


def checked(source: Source) -> Source:
    """The settings with defaults filled in; refuses settings that contradict each other.

    It has an order, and for the sources of digits targets.
    """
    if source.name not in NAMES:
        said = f"[source] name = {source.name!r} is not known{near(source.name, NAMES)}"
        raise UsageError(f"{said}: choose one of {', '.join(NAMES)}")
    _check_keys(source)
    _check_numbers(source)
    if source.target is not None and source.targets:
        raise UsageError("[source]: target and targets mean the same: give one of the two")
    if len(set(source.asked)) < len(source.asked):
        raise UsageError(f"[source] targets = {list(source.asked)}: name each once")
    if source.kind in ("classes", "numbers") and source.asked:
        raise UsageError(
            f"[source] kind = {source.kind!r} has no targets: leave target and targets out, or set "
            f"kind = 'detection'"
        )
    if source.classes and (source.asked or source.kind not in (None, "classes")):
        raise UsageError(
            "[source] classes is for kind = 'classes' without target: leave out one of these"
        )
    if source.classes and len({*source.classes}) < max(2, len(source.classes)):
        raise UsageError(
            f"[source] classes = {list(source.classes)}: name two different classes or more"
        )
    return _check_order(_check_lookahead(_filled(source)))


def _check_keys(source: Source) -> None:
    """Refuse settings that this kind of source does not read, and ask for those it needs."""
    fields = {f.name: f for f in msgspec.structs.fields(source)}
    blank = Source(name=source.name)
    given = [name for name in fields if getattr(source, name) != getattr(blank, name)]
    takes = _TAKES[source.name].split()
    if foreign := [name for name in given if name not in _EVERY and name not in takes]:
        raise UsageError(
            f"[source]: {named('key', foreign, 'are')} not for name = {source.name!r}; its keys "
            f"are {', '.join([*takes, *_EVERY[1:]])}"
        )
    needed = {
        "table": ("file",),
        "common-voice": ("folder", "tsv", "extractor"),
        "drift": ("drift",),
    }
    for key in needed.get(source.name, ()):
        if not getattr(source, key):
            raise UsageError(f"[source] name = {source.name!r} needs {key} = ...")
    if source.name == "fsdd" and bool(source.folder) == bool(source.file):
        raise UsageError(
            "[source] name = 'fsdd' needs folder = the clone (with recordings/*.wav), or file = an "
            ".npz of its features, and not both"
        )


def _check_numbers(source: Source) -> None:
    """Refuse counts and shares out of range."""
    check_fields(source, SourceTable, "place")
    pool = source.pool
    if pool is not None and pool > 1 and pool != int(pool):
        raise UsageError(
            f"[source] pool = {pool}: expected a number of items from 1, or a share between 0 and 1"
        )
    if source.prevalence is not None and source.kind in ("classes", "numbers"):
        raise UsageError(f"[source] prevalence: kind = {source.kind!r} has no targets")


def _filled(source: Source) -> Source:
    """Defaults that depend on other settings."""
    if source.name in ("digits", "fsdd") and source.kind in (None, "detection"):
        source = msgspec.structs.replace(source, targets=source.asked or DIGITS, target=None)
    if source.order is not None:
        return source
    order: Order = "dirichlet" if source.kind != "numbers" else "shuffled"
    if source.name in ("table", "drift"):
        order = "time" if source.time else "given"
    return msgspec.structs.replace(source, order=order)


DIGITS = ("0", "1", "2", "3", "4")  # targets of the digits unless others are asked for


def _check_lookahead(source: Source) -> Source:
    """Refuse features that look at later items, unless that is wanted."""
    if source.context and not source.allow_lookahead:
        raise UsageError(
            f"[source] context = {list(source.context)}: features that look at later items of the "
            f"stream are not known when an item arrives, so figures would be optimistic. Leave "
            f"them out of the features, or set allow_lookahead = true, which is part of the "
            f"signature"
        )
    if source.allow_lookahead and not source.context:
        raise UsageError(
            "[source] allow_lookahead = true: name the features that look at later items, "
            "context = [...]"
        )
    return source


def _check_order(source: Source) -> Source:
    """Refuse an order without what it needs, and settings of another order."""
    if source.order == "time" and not source.time:
        raise UsageError(
            "[source] order = 'time' needs the column of times, time = '...'"
            if source.name == "table"
            else f"[source] order = 'time': the items of {source.name} have no times"
        )
    if source.order != "dirichlet" and (source.chunks or source.concentration != 1):
        raise UsageError(
            f"[source]: chunks and concentration belong to order = 'dirichlet', not to "
            f"{source.order!r}"
        )
    if source.order == "dirichlet" and source.kind == "numbers":
        raise UsageError("[source] order = 'dirichlet' needs classes; kind = 'numbers' has none")
    return source


@dataclass(frozen=True, eq=False)
class Items:
    """Everything that is known of the items of a source, in the order of the source.

    `source`: name for messages; `ids`: unique within a part; `features`: finite, shape (items,
    features); `labels`: classes, or numbers as text; empty if unknown; `times`: seconds (of
    instants, since 1970); `parts`: stream of each item, or empty; `said`: parts of the signature.
    """

    source: str
    ids: tuple[str, ...]
    features: Floats
    labels: tuple[str, ...]
    times: Floats | None = None
    parts: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __post_init__(self) -> None:
        keys = list(zip(self.parts, self.ids, strict=True)) if self.parts else list(self.ids)
        if len(set(keys)) == len(keys):
            return
        repeated = sorted({str(key) for key, number in Counter(keys).items() if number > 1})
        raise InputError(
            f"{self.source}: {counted(len(repeated), 'id')} of several items "
            f"({first_five(repeated)}); each item needs an id of its own"
        )


IDS = ("id", "ids", "path", "paths")  # columns that hold ids unless another is named
LABELS = ("label", "labels", "y")
MATRICES = ("X", "features")


def read_table(source: Source, *, labelled: bool = True) -> Items:
    """The items of a table.

    `source`: checked; `file`, columns and features of it. `labelled`: whether it needs a column of
    labels; one that is there is read.
    """
    table = replace(read(str(source.file)), mapped_by="[source]")
    key = source.id or first_of(table, IDS)
    ids = ids_of(table, key)
    others = tuple(name for name in LABELS if name not in source.features)
    known = labelled or source.label or first_of(table, others)
    label = label_of(table, source.label, key) if known else None
    labels = () if label is None else tuple(filled(table, label, "label"))
    parts = tuple(filled(table, source.stream, "stream")) if source.stream else ()
    used = {key, label, source.time, source.stream}
    names = dict.fromkeys([*feature_names(table, source.features, used), *source.context])
    said = ("table", *([f"lookahead:{','.join(source.context)}"] if source.context else []))
    times = _times(table, source.time) if source.time else None
    return Items(table.source, ids, matrix(table, [*names]), labels, times, parts, said)


def first_of(table: Table, names: tuple[str, ...]) -> str | None:
    """The first of these columns that there is."""
    return next((name for name in names if name in table.columns), None)


def ids_of(table: Table, key: str | None) -> tuple[str, ...]:
    """Ids of all rows; their numbers from 1 where there is no column of ids."""
    if key is None:
        return tuple(str(row + 1) for row in range(len(table)))
    return tuple(filled(table, key, "id"))


def label_of(table: Table, named: str | None, key: str | None) -> str:
    """The column of right labels, beside the one of ids."""
    label = named or first_of(table, LABELS)
    if label is None:
        of_ids = ', that of the ids by id = "NAME" (id, ids, path and paths are found)'
        raise UsageError(
            f"{table.source}: there is no column of right labels (label, labels or y); "
            f'{table.listed}: name it under [source], label = "NAME"{"" if key else of_ids}; all '
            "others are features, unless features = [...] names them"
        )
    return label


def feature_names(
    table: Table, named: Sequence[str], used: set[str | None], hint: str = ""
) -> list[str]:
    """Columns that are features: those named, else the matrices, else all that are not used."""
    matrices = [name for name in MATRICES if name in table.matrices][:1] or list(table.matrices)
    names = list(named) or matrices or [name for name in table.columns if name not in used]
    if not names:
        raise InputError(
            f"{table.source}: no features are left beside {', '.join(sorted(filter(None, used)))}; "
            f"{table.listed}{hint}"
        )
    return names


def matrix(table: Table, names: list[str]) -> Floats:
    """Columns and matrices side by side, as finite numbers, (rows, features)."""
    return np.hstack([_block(table, name) for name in names])


def _block(table: Table, name: str) -> Floats:
    table.require(name, "features")
    if name in table.matrices:
        block = np.asarray(table.matrices[name], np.float64)
    else:
        block = _numbers(table, name)[:, None]
    bad = ~np.isfinite(block)
    if bad.any():
        raise InputError(
            f"{table.source}: {counted(int(bad.sum()), 'value')} of the features that "
            f"{'is' if bad.sum() == 1 else 'are'} missing, NaN or infinite: "
            f"{first_five(_places(table, name, bad))}; fill them in, or name other columns: "
            f"features = [...]"
        )
    return block


def _numbers(table: Table, name: str) -> Floats:
    """A column of features as numbers; where it is none, what else it may be."""
    try:
        return table.numbers(name, "features")
    except InputError as error:
        column = table.frame[name]
        if column.dtype.is_temporal() or (column.dtype == pl.String and _are_dates(column)):
            hint = f'if it is the time of the items: time = "{name}"'
        else:
            hint = (
                f'if it is the id of the items: id = "{name}"; if it is the label: label = "{name}"'
            )
        raise InputError(
            f"{error}; every other column is taken for a feature: {hint}; "
            f"else name the features under [source], features = [...]; {table.listed}"
        ) from error


def _are_dates(column: pl.Series) -> bool:
    """Whether all of a column of text begins like a date (ISO 8601)."""
    return bool(column.str.contains(r"^\s*\d{4}-\d\d-\d\d").all())


def _places(table: Table, name: str, bad: Array) -> Iterator[str]:
    """The places of invalid values."""
    several = bad.shape[1] > 1
    for row, column in np.argwhere(bad):
        of = f"column {column + 1} of {name!r}" if several else f"column {name!r}"
        yield f"{of}, {table.where(int(row))}"


def _times(table: Table, name: str) -> Floats:
    """A column of times in seconds: numbers, or dates and times of day (ISO 8601)."""
    table.require(name, "time")
    if name in table.matrices:
        return table.numbers(name, "time")  # which says why not
    column = table.frame[name]
    if column.dtype == pl.String and _are_dates(column):
        column = column.str.strip_chars().str.to_datetime(strict=False, time_zone="UTC")
    if column.dtype.is_temporal() and column.dtype != pl.Time:
        microseconds = column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64)
        values = (microseconds / 1e6).fill_null(float("nan")).to_numpy()
    else:
        values = table.numbers(name, "time")
    fault = f"without a time (column {name!r}; expected seconds, or ISO 8601)"
    refuse_values(table, ~np.isfinite(values), "item", fault, lambda row: column[row])
    return np.asarray(values, np.float64)
