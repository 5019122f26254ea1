"""From places of items to a `Stream`: batches, labels, signature and digest."""

import hashlib
from collections.abc import Iterator

import numpy as np

from truecost.errors import UsageError
from truecost.learning.stream import Stream
from truecost.learning.streams.dividing import Divider, Division
from truecost.learning.streams.goals import Goal
from truecost.learning.streams.orders import Rows
from truecost.learning.streams.source import ORDERED, Source
from truecost.learning.system import Batch


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
