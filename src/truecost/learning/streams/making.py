"""Streams of a source: its items read once and divided for each seed; hashes of their data."""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np

from truecost.errors import UsageError
from truecost.formats import sha256
from truecost.learning.options import LoopTable
from truecost.learning.streams.dividing import Divider, Division
from truecost.learning.streams.goals import Goal, goals_of
from truecost.learning.streams.items import Items
from truecost.learning.streams.orders import Rows
from truecost.learning.streams.source import ORDERED, Source, checked
from truecost.learning.system import Batch, Stream
from truecost.options import check


def built(divider: Divider, batch: int, drop_last: bool) -> list[Stream]:
    """A stream for each goal.

    Parameters
    ----------
    divider : Divider
        Whose items these are.
    batch : int
        Items a batch.
    drop_last : bool
        Leave out the last batch when it is short.

    Raises
    ------
    UsageError
        When no batch is left.
    InputError
        When there are not enough items.
    """
    streams = []
    rows, whole = None, None
    for goal, division in zip(divider.goals, divider.divisions(), strict=True):
        if whole is None or division.stream is not rows:  # several goals share rows and features
            rows = division.stream
            whole = _batch(divider, rows, 0, "")
        streams.append(_stream(divider, goal, division, whole, batch, drop_last))
    return streams


def _stream(
    divider: Divider, goal: Goal, division: Division, whole: Batch, batch: int, drop_last: bool
) -> Stream:
    """The stream of one goal, from all its items as one batch."""
    items, name = divider.items, "/".join(filter(None, (divider.part, goal.name)))
    end = len(whole) // batch * batch if drop_last else len(whole)
    if not end:
        raise UsageError(
            f"{divider.where}: the only batch has {len(whole)} of {batch} items and would be "
            f"dropped: make batches smaller, or keep the last one (drop_last = false)"
        )
    batches = tuple(
        _piece(whole, slice(start, min(start + batch, end)), number, name)
        for number, start in enumerate(range(0, end, batch))
    )
    bootstrap = _batch(divider, division.bootstrap, -1, name) if len(division.bootstrap) else None
    pool = _batch(divider, division.pool, -1, name) if len(division.pool) else None
    rows = np.concatenate([division.stream[:end], division.bootstrap, division.pool])
    right = goal.labels([items.labels[row] for row in rows])
    labels = dict(zip((items.ids[row] for row in rows), right, strict=True))
    said = "|".join(_said(divider, goal, batch, drop_last))
    parts = (name, goal.kind, goal.classes, batches, labels, bootstrap, pool)
    return Stream(*parts, _digest(*parts, said), said)


def _batch(divider: Divider, rows: Rows, index: int, name: str) -> Batch:
    """Items as a batch; nobody may write into their features, which streams share."""
    items = divider.items
    features = items.features[rows]
    features.setflags(write=False)
    timed = items.times is not None and divider.source.order in ORDERED
    times = items.times[rows] if timed and items.times is not None else None
    return Batch(index, tuple(items.ids[row] for row in rows), features, name, times)


def _piece(whole: Batch, place: slice, index: int, name: str) -> Batch:
    """A batch of the stream, without copying features."""
    times = None if whole.times is None else whole.times[place]
    return Batch(index, whole.ids[place], whole.features[place], name, times)


def _said(divider: Divider, goal: Goal, batch: int, drop_last: bool) -> Iterator[str]:
    """How the stream was made, in a few words."""
    source = divider.source
    yield from divider.items.said
    if divider.part:
        yield f"stream:{divider.part}"
    yield goal.kind if goal.target is None else f"target:{goal.target}"
    yield f"order:{source.order}"
    yield from _order(source)
    for key in ("items", "pool", "prevalence"):
        if (value := getattr(source, key)) is not None:
            yield f"{key}:{value:g}"
    yield f"bootstrap:{divider.bootstrap}"
    yield f"batch:{batch}" + (",drop last" if drop_last else "")
    yield f"seed:{divider.seed}"


def _order(source: Source) -> Iterator[str]:
    """Settings of the Dirichlet order."""
    if source.order == "dirichlet":
        yield f"chunks:{source.chunks or 'classes'}"
        yield f"concentration:{source.concentration:g}"


def _digest(
    name: str,
    kind: str,
    classes: tuple[str, ...],
    batches: tuple[Batch, ...],
    labels: dict[str, str],
    bootstrap: Batch | None,
    pool: Batch | None,
    said: str,
) -> str:
    """Short hash of everything that a run on the stream can depend on."""
    digest = hashlib.sha256("\0".join((name, kind, *classes, said)).encode())
    for part in (*batches, bootstrap, pool):
        if part is None:
            digest.update(b"none")
            continue
        texts = (str(part.index), *part.ids, *(labels[key] for key in part.ids))
        digest.update("\0".join((*texts, str(part.features.shape))).encode())
        digest.update(np.ascontiguousarray(part.features, "<f8").tobytes())
        if part.times is not None:
            digest.update(np.ascontiguousarray(part.times, "<f8").tobytes())
    return digest.hexdigest()[:16]


def streams_of(
    source: Source, batch: int, seed: int, *, bootstrap: int = 8, drop_last: bool = False
) -> list[Stream]:
    """The streams of a source, for one seed.

    Parameters
    ----------
    batch : int
        Items a batch.
    seed : int
        Of every draw: which items, in which order, which bootstrap set. The same source and seed
        give the same streams, in any process.
    bootstrap : int
        Size of the bootstrap set of each stream; for a detection half targets, half others.
    drop_last : bool
        Leave out the last batch when it is short.

    Returns
    -------
    list of Stream
        One for each target, in the order in which they were named; where a column says which stream
        an item belongs to, for each of its values in their order of appearance.

    Raises
    ------
    UsageError
        When settings are wrong or do not go together.
    InputError
        When the data are; says where.
    """
    return divided(read_items(source, seed), source, batch, seed, bootstrap, drop_last)


def read_items(source: Source, seed: int = 0) -> Items:
    """The items of a source in its own order; the seed is one of generators only.

    Raises
    ------
    UsageError, InputError
        As in `streams_of`.
    """
    from truecost.learning.streams import corpora

    source = checked(source)
    if source.name == "table":
        from truecost.learning.streams.items import read_table

        return read_table(source)
    if source.name == "drift":
        from truecost.learning.streams.corpora import generated

        return generated(source, seed)
    if source.name == "digits":
        return corpora.handwritten()
    return corpora.spoken(source) if source.name == "fsdd" else corpora.common_voice(source)


def divided(
    items: Items, source: Source, batch: int, seed: int, bootstrap: int = 8, drop_last: bool = False
) -> list[Stream]:
    """Streams of items that were read already.

    Parameters
    ----------
    items : Items
        Of the same source.
    batch, seed, bootstrap, drop_last
        As in `streams_of`.

    Raises
    ------
    UsageError, InputError
        As in `streams_of`.
    """
    check(LoopTable(batch=batch, bootstrap=bootstrap), "key")
    source = checked(source)
    goals = goals_of(source, items)
    streams: list[Stream] = []
    for part in dict.fromkeys(items.parts) or ("",):
        divider = Divider(source, items, part, goals, seed, bootstrap)
        streams += built(divider, batch, drop_last)
    return streams


def fingerprints(source: Source, folder: str | Path = ".") -> dict[str, str]:
    """SHA-256 of what the keys of a source name.

    Parameters
    ----------
    source : Source
        Checked.
    folder : str or Path
        Where modules are looked for first.

    Returns
    -------
    dict of str to str
        In hexadecimal, by key, of what there is of: `file` (its bytes), `tsv` (its bytes; those of
        all languages where it is the name of several), `folder` (names and bytes of the recordings
        of fsdd; names and sizes of the clips of common-voice, which are too many to be read) and
        `extractor` (the file of its module, without what that imports).

    Raises
    ------
    UsageError, InputError
        When a file is not there or cannot be read.
    """
    found = {} if source.file is None else {"file": sha256(source.file)}
    if source.folder is not None:
        found |= _of_folder(source)
    if source.extractor is not None:
        module = _module(source.extractor.partition(":")[0], str(folder))
        found |= {} if module is None else {"extractor": sha256(module)}
    return found


def _of_folder(source: Source) -> Iterator[tuple[str, str]]:
    """Of the clips of a folder, and of the lists that name them."""
    from truecost.learning.streams.corpora import clips, lists, recordings

    if source.name == "fsdd":
        yield "folder", _joined((path.name, sha256(str(path))) for path in recordings(source))
        return
    tsvs = [sha256(str(path)) for path in lists(source)]
    yield "tsv", tsvs[0] if len(tsvs) == 1 else _joined((digest,) for digest in tsvs)
    yield "folder", _joined((path.name, str(path.stat().st_size)) for path in clips(source))


def _joined(parts: Iterable[tuple[str, ...]]) -> str:
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
