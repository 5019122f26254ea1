"""The settings of a source of streams, `[source]` of a study, and functions that a user names in
it.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from truecost.errors import UsageError, named, near
from truecost.learning.options import Order, SourceTable
from truecost.options import check_fields

Kind = Literal["detection", "classes", "numbers"]


KINDS = ("detection", "classes", "numbers")


ORDERS: tuple[str, ...] = get_args(Order)


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
    "table": "file id label time stream features context allow_lookahead",
    "digits": "",
    "fsdd": "folder file extractor",
    "common-voice": "folder tsv extractor label",
    "drift": "drift options",
}


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the items come from, and how they become streams.

    Attributes
    ----------
    name : {"table", "digits", "fsdd", "common-voice", "drift"}
        Kind of source (`NAMES`).
    file : str, optional
        Table of features; for fsdd an .npz of features made earlier from its recordings.
    folder : str, optional
        Of the clips: fsdd, common-voice.
    tsv : str, optional
        List of the clips of Common Voice, `test.tsv` say: a path, or a name in the folder or in
        each folder of a language there.
    extractor : str, optional
        `module:function`, which turns the path of a clip into a vector.
    id, label, time, stream : str, optional
        Columns; `id` is the first of id, ids, path, paths and `label` the first of label, labels, y
        unless given; each value of the column `stream` is a stream of its own.
    features : tuple of str
        Columns or matrices; unless given the matrix of an archive, or all other columns.
    context : tuple of str
        Those features that look at later items of the stream. Features of that kind make a system
        look better than it can be where the future is not known; no program can see from numbers
        how they were computed, so they have to be named here.
    allow_lookahead : bool
        Use the features of `context` all the same; the signature then names them.
    kind : {"detection", "classes", "numbers"}, optional
        What is said of an item. Unless given: detection where there are targets or the labels are 0
        and 1, of which 1 is the target then; else classes.
    target : str or int, optional
        Label of the items to detect.
    targets : tuple of str or int
        Several such labels: one stream for each, of that name.
    order : {"given", "time", "shuffled", "dirichlet"}, optional
        Of the items in the stream. For a table `time` where there is such a column, else `given`;
        for drift `given`; else `dirichlet`.
    chunks : int, optional
        Of the Dirichlet order; as many as there are classes unless given.
    concentration : float
        Of the Dirichlet order: the smaller, the more unlike the chunks.
    items : int, optional
        Length of the stream. What is left over is the pool.
    pool : int or float, optional
        Items kept for offline training: a number, or a share (below 1) of all.
    prevalence : float, optional
        Share of targets that the stream is thinned to, exactly.
    drift : str, optional
        Generator: a name of `river.datasets.synth`, or `module:Class`.
    options : dict
        Arguments of the generator. A table with the key `generator` stands for a generator itself.
    """

    name: str
    file: str | None = None
    folder: str | None = None
    tsv: str | None = None
    extractor: str | None = None
    id: str | None = None
    label: str | None = None
    time: str | None = None
    stream: str | None = None
    features: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    allow_lookahead: bool = False
    kind: Kind | None = None
    target: str | int | None = None
    targets: tuple[str | int, ...] = ()
    order: Order | None = None
    chunks: int | None = None
    concentration: float = 1.0
    items: int | None = None
    pool: int | float | None = None
    prevalence: float | None = None
    drift: str | None = None
    options: dict[str, Any] = {}

    @property
    def asked(self) -> tuple[str, ...]:
        """The targets asked for, as text."""
        given = self.targets or (() if self.target is None else (self.target,))
        return tuple(str(target) for target in given)


def checked(source: Source) -> Source:
    """The same settings with defaults filled in; refuses what does not go together.

    Returns
    -------
    Source
        With order, and for the sources of digits with targets.

    Raises
    ------
    UsageError
        Says which key, what it was, and what it may be.
    """
    _known("name", source.name, NAMES)
    _check_keys(source)
    _check_numbers(source)
    if source.target is not None and source.targets:
        raise UsageError("[source]: target and targets say the same: give one of the two")
    if len(set(source.asked)) < len(source.asked):
        raise UsageError(f"[source] targets = {list(source.asked)}: name each once")
    if source.kind in ("classes", "numbers") and source.asked:
        raise UsageError(
            f"[source] kind = {source.kind!r} has no targets: leave target and targets out, or say "
            f"kind = 'detection'"
        )
    return _check_order(_check_lookahead(_filled(source)))


def _known(key: str, value: str, known: Mapping[str, str] | tuple[str, ...]) -> None:
    """Refuse a word that is none of those known."""
    if value not in known:
        said = f"[source] {key} = {value!r} is not known{near(value, known)}"
        raise UsageError(f"{said}: choose one of {', '.join(known)}")


def _check_keys(source: Source) -> None:
    """Refuse settings that this kind of source does not read, and ask for those it needs."""
    fields = {f.name: f for f in msgspec.structs.fields(source)}
    blank = Source(name=source.name)
    given = [name for name in fields if getattr(source, name) != getattr(blank, name)]
    takes = _TAKES[source.name].split()
    if foreign := [name for name in given if name not in _EVERY and name not in takes]:
        raise UsageError(
            f"[source]: {named('key', foreign, 'mean')} nothing where name = {source.name!r}; it "
            f"reads {', '.join([*takes, *_EVERY[1:]])}"
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
        raise UsageError(f"[source] prevalence is one of targets; kind = {source.kind!r} has none")


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
            f"stream are not known when an item arrives, so figures would be too good. Leave them "
            f"out of the features, or say allow_lookahead = true: the signature then names them"
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


def function_of(name: str, key: str = "extractor") -> Callable[..., Any]:
    """A function, imported; modules of the current folder can be named too.

    Parameters
    ----------
    name : str
        `package.module:function`.
    key : str
        The setting, for messages.

    Raises
    ------
    UsageError
        When there is no such module or function.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise UsageError(f"[source] {key} = {name!r}: expected module:function")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise UsageError(f"[source] {key} = {name!r}: cannot import it ({error})") from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise UsageError(f"[source] {key} = {name!r}: {module} has no function {function!r}")
    return found  # type: ignore[no-any-return]
