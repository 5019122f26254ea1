"""Streams of a source: its items read once and divided for each seed; hashes of their data.

Where the order is one in time (`given`, `time`), the stream is the end of the data, and what comes
before it provides bootstrap set and pool: nothing is learnt offline from what comes later.

Where the order is simulated, all is drawn at random, by class, so that the classes have the same
shares in the stream as in the data. All targets of a source share one stream, as in Lindsey et al.:
the same items in the same order of the source's classes (digits, languages). No item of a bootstrap
set is in the stream. With a prevalence, items are left out at random, for each target by itself;
these streams differ. The bootstrap set of a detection is half targets, half others (one more target
when odd); that of classes is as even over them as can be.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from truecost.errors import InputError, UsageError, counted
from truecost.learning import corpora
from truecost.learning.checking import error_context
from truecost.learning.goals import (
    Goal,
    Rows,
    check_bootstrap,
    check_length,
    check_pool,
    check_times,
    dirichlet_order,
    even,
    exact,
    goals_of,
    parts_of,
    stratified,
    time_order,
)
from truecost.learning.options import LoopTable
from truecost.learning.source import ORDERED, Items, Source, checked, read_table
from truecost.learning.system import Array, Batch, Stream, generator
from truecost.options import check


@dataclass(frozen=True, eq=False)
class Division:
    """Places of items in their source.

    The stream in its order; bootstrap set and pool are empty where there are none.
    """

    stream: Rows
    bootstrap: Rows
    pool: Rows


@dataclass(frozen=True, eq=False)
class Divider:
    """Divides the items of a part among a stream for each goal; `bootstrap` is the size of its set.

    `part`: value of the stream column; empty where there is none.
    """

    source: Source
    items: Items
    part: str
    goals: list[Goal]
    seed: int
    bootstrap: int

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.items.source}, stream {self.part}" if self.part else self.items.source

    def divisions(self) -> list[Division]:
        """One for each goal."""
        rows = np.arange(len(self.items), dtype=np.int64)
        if self.part:
            rows = rows[np.asarray(self.items.parts, object) == self.part]
        in_time = self.source.order in ORDERED
        found = self._in_time(rows) if in_time else self._at_random(rows)
        for goal, division in zip(self.goals, found, strict=True):
            self._check(goal, division)
        return found

    def _in_time(self, rows: Rows) -> list[Division]:
        if self.source.order == "time" and self.items.times is not None:
            rows = rows[time_order(self.items.times[rows])]
        check_times(self.where, self.items, rows)
        start = self._start(rows)
        before, after = rows[:start], rows[start:]
        wants_pool = bool(self.source.pool or self.source.items)
        found = []
        for goal in self.goals:
            boot = self._bootstrap(before, goal)
            pool = before[~np.isin(before, boot)] if wants_pool else before[:0]
            if self.source.pool:
                check_pool(self.where, self.source, self._pooled(len(rows)), len(pool))
                pool = pool[-self._pooled(len(rows)) :]
            found.append(Division(self._thinned(after, goal), np.sort(boot), pool))
        return found

    def _start(self, rows: Rows) -> int:
        """Number of items before the stream: no more than bootstrap sets and pool need."""
        if self.source.items and self.source.prevalence is None:
            check_length(self.where, self.source, len(rows))
            return len(rows) - self.source.items
        enough = max(self._reach(rows, goal) for goal in self.goals)
        pooled = self._pooled(len(rows))
        least = min(len(rows), max(enough, pooled + self.bootstrap if pooled else 0))
        if not self.source.items:
            return least
        return max(least, min(self._latest(rows, goal) for goal in self.goals))

    def _latest(self, rows: Rows, goal: Goal) -> int:
        """The latest start from which there are enough targets and others; 0 where never."""
        targets, others = parts_of(self.source.items or 0, self.source.prevalence or 0.0)
        return len(rows) - (self._until(rows[::-1], goal, targets, others) or len(rows))

    def _reach(self, rows: Rows, goal: Goal) -> int:
        """The fewest items from the start that hold the bootstrap set of a goal."""
        if goal.kind != "detection" or not (self.bootstrap and self.items.labels):
            return self.bootstrap
        targets, others = (self.bootstrap + 1) // 2, self.bootstrap // 2
        return self._until(rows, goal, targets, others) or len(rows)

    def _until(self, rows: Rows, goal: Goal, targets: int, others: int) -> int:
        """The fewest of the first rows that hold so many targets and others; 0 where none do."""
        is_target = self._codes(goal)[rows] == "1"
        seen = (np.cumsum(is_target) >= targets) & (np.cumsum(~is_target) >= others)
        return int(np.argmax(seen)) + 1 if seen.any() else 0

    def _thinned(self, after: Rows, goal: Goal) -> Rows:
        """The stream, of the prevalence asked for, still in order."""
        if self.source.prevalence is None:
            return after
        return after[np.isin(after, self._exact(after, goal))]

    def _at_random(self, rows: Rows) -> list[Division]:
        if self.source.prevalence is None:
            return self._drawn(rows, self.goals, self._by_share, "")
        found = []
        for goal in self.goals:
            found += self._drawn(rows, [goal], functools.partial(self._exact, goal=goal), goal.name)
        return found

    def _drawn(
        self, rows: Rows, goals: list[Goal], pick: Callable[[Rows], Rows], name: str
    ) -> list[Division]:
        """Divisions of goals that share a stream.

        A stream of stated length is drawn first, so that it does not depend on the bootstrap sets;
        one that takes everything leaves them out.
        """
        if self.source.items:
            chosen = pick(rows)
            boots = [self._bootstrap(rows[~np.isin(rows, chosen)], goal) for goal in goals]
        else:
            boots = [self._bootstrap(rows, goal) for goal in goals]
            free = rows[~np.isin(rows, np.concatenate(boots))]
            chosen = pick(self._without_pool(free, len(rows)))
        stream = self._ordered(chosen, name)
        return [Division(stream, boot, self._pool(rows, stream, boot)) for boot in boots]

    def _by_share(self, rows: Rows) -> Rows:
        """The items of the stream, those of every class by its share."""
        check_length(self.where, self.source, len(rows))
        wanted = self.source.items or len(rows)
        return stratified(rows, self._classes, wanted, self._draws("items"))

    def _without_pool(self, free: Rows, total: int) -> Rows:
        """The items of the stream, without those that are needed for a pool."""
        left = len(free) - self._pooled(total)
        if left < 1:
            raise UsageError(
                f"[source] pool = {self.source.pool}: {self.where} has "
                f"{counted(len(free), 'item')} beside the bootstrap sets, so none is left for the "
                f"stream"
            )
        return stratified(free, self._classes, left, self._draws("pool"))

    def _pool(self, rows: Rows, stream: Rows, boot: Rows) -> Rows:
        """The items of the pool, outside stream and bootstrap set, as many as asked for."""
        if not (self.source.pool or self.source.items):
            return rows[:0]
        rest = rows[~np.isin(rows, stream) & ~np.isin(rows, boot)]
        wanted = self._pooled(len(rows)) or len(rest)
        check_pool(self.where, self.source, wanted, len(rest))
        return stratified(rest, self._classes, wanted, self._draws("training"))

    def _ordered(self, rows: Rows, name: str) -> Rows:
        """In the order that the source asks for."""
        draws = self._draws("order", name)
        if self.source.order == "shuffled":
            return draws.permutation(rows)
        classes = [self.items.labels[row] for row in rows]
        with error_context(f"{self.where}, order = 'dirichlet'"):
            found = dirichlet_order(classes, draws, self.source.chunks, self.source.concentration)
        return rows[found]

    def _bootstrap(self, rows: Rows, goal: Goal) -> Rows:
        """The items whose labels are given before the stream starts."""
        draws = self._draws("bootstrap", goal.name)
        if not self.bootstrap:
            return rows[:0]
        if goal.kind == "numbers" or not self.items.labels:
            chosen = np.sort(draws.permutation(rows)[: self.bootstrap])
        else:
            names = (
                ["1", "0"] if goal.kind == "detection" else list(draws.permutation(goal.classes))
            )
            chosen = even(rows, self._codes(goal), names, self.bootstrap, draws)
        in_time = self.source.order in ORDERED
        check_bootstrap(self.where, goal, chosen, self._codes(goal), self.bootstrap, in_time)
        return chosen

    def _exact(self, rows: Rows, goal: Goal) -> Rows:
        share = self.source.prevalence or 0.0
        is_target = self._codes(goal) == "1"
        draws = self._draws("prevalence", goal.name)
        return exact(rows, is_target, share, self.source.items, draws, self.where)

    def _pooled(self, total: int) -> int:
        """Size of the pool that was asked for; 0 where it is what is left over."""
        pool = self.source.pool or 0
        return round(pool * total) if pool < 1 else int(pool)

    def _check(self, goal: Goal, division: Division) -> None:
        if not len(division.stream):
            raise InputError(
                f"{self.where}: no items are left for the stream after the bootstrap set and the "
                f"pool"
            )
        known = goal.kind == "detection" and self.items.labels
        if known and not (self._codes(goal)[division.stream] == "1").any():
            raise InputError(
                f"{self.where}: no target {goal.target!r} among the "
                f"{counted(len(division.stream), 'item')} of the stream; there is nothing to detect"
            )

    def _codes(self, goal: Goal) -> Array:
        """Labels of all items as the goal sees them."""
        return np.asarray(goal.labels(self.items.labels), object)

    @property
    def _classes(self) -> Array:
        """The strata of draws: the classes of the source; zeros for numbers, or where labels are
        not known.
        """
        if self.goals[0].kind == "numbers" or not self.items.labels:
            return np.zeros(len(self.items), np.int64)
        return np.asarray(self.items.labels)

    def _draws(self, *purpose: str) -> np.random.Generator:
        return generator(self.seed, "stream", self.part, *purpose)


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
    parts = (slice(start, min(start + batch, end)) for start in range(0, end, batch))
    times = whole.times
    batches = tuple(  # without copying features
        Batch(
            number,
            whole.ids[part],
            whole.features[part],
            name,
            times if times is None else times[part],
        )
        for number, part in enumerate(parts)
    )
    bootstrap = _batch(divider, division.bootstrap, -1, name) if len(division.bootstrap) else None
    pool = _batch(divider, division.pool, -1, name) if len(division.pool) else None
    rows = np.concatenate([division.stream[:end], division.bootstrap, division.pool])
    known = rows if items.labels else rows[:0]
    right = goal.labels([items.labels[row] for row in known])
    labels = dict(zip((items.ids[row] for row in known), right, strict=True))
    said = "|".join(_signature_parts(divider, goal, batch, drop_last))
    made = (name, goal.kind, goal.classes, batches, labels, bootstrap, pool)
    stream = Stream(*made, signature=said, target=goal.target)
    return replace(stream, digest=_digest(stream))


def _batch(divider: Divider, rows: Rows, index: int, name: str) -> Batch:
    """Items as a batch; nobody may write into their features, which streams share."""
    items = divider.items
    features = items.features[rows]
    features.setflags(write=False)
    timed = items.times is not None and divider.source.order in ORDERED
    times = items.times[rows] if timed and items.times is not None else None
    return Batch(index, tuple(items.ids[row] for row in rows), features, name, times)


def _signature_parts(divider: Divider, goal: Goal, batch: int, drop_last: bool) -> Iterator[str]:
    """The signature of the stream, in words."""
    source = divider.source
    yield from divider.items.said
    if divider.part:
        yield f"stream:{divider.part}"
    yield goal.kind if goal.target is None else f"target:{goal.target}"
    yield f"order:{source.order}"
    if source.order == "dirichlet":
        yield f"chunks:{source.chunks or 'classes'}"
        yield f"concentration:{source.concentration:g}"
    for key in ("items", "pool", "prevalence"):
        if (value := getattr(source, key)) is not None:
            yield f"{key}:{value:g}"
    yield f"bootstrap:{divider.bootstrap}"
    yield f"batch:{batch}" + (",drop last" if drop_last else "")
    yield f"seed:{divider.seed}"


def _digest(stream: Stream) -> str:
    """Short hash of everything that a run on the stream can depend on."""
    named = (stream.name, stream.kind, *stream.classes, stream.signature)
    digest = hashlib.sha256("\0".join(named).encode())
    for part in (*stream.batches, stream.bootstrap, stream.pool):
        if part is None:
            digest.update(b"none")
            continue
        texts = (str(part.index), *part.ids, *(stream.labels.get(key, "") for key in part.ids))
        digest.update("\0".join((*texts, str(part.features.shape))).encode())
        digest.update(np.ascontiguousarray(part.features, "<f8").tobytes())
        if part.times is not None:
            digest.update(np.ascontiguousarray(part.times, "<f8").tobytes())
    return digest.hexdigest()[:16]


def streams_of(
    source: Source, batch: int, seed: int, *, bootstrap: int = 8, drop_last: bool = False
) -> list[Stream]:
    """Make the streams of a source for one seed.

    There is one stream for each label to detect (`targets` of the source), or a single stream if
    the source names none. If the source has a stream column, each value has streams of its own.

    Parameters
    ----------
    source : Source
        Source of the items.
    batch : int
        Number of items in a batch.
    seed : int
        Seed of the choice of items, their order and the bootstrap set. A source gives identical
        streams for a repeated seed, in any process.
    bootstrap : int
        Size of the bootstrap set of each stream: items whose labels are given before the stream.
        For detection, half of the items are targets.
    drop_last : bool
        Whether to leave out the last batch if it is smaller than `batch`.

    Returns
    -------
    list of Stream
        Streams in the order of the stream column of the items, then of the labels to detect.
    """
    return divided(read_items(source, seed), source, batch, seed, bootstrap, drop_last)


def read_items(source: Source, seed: int = 0, *, labelled: bool = True) -> Items:
    """The items of a source in its own order; the seed is one of generators only, and `labelled`
    says whether a table needs labels.
    """
    source = checked(source)
    if source.name == "table":
        return read_table(source, labelled=labelled)
    if source.name == "drift":
        return corpora.generated(source, seed)
    if source.name == "digits":
        return corpora.handwritten()
    return corpora.spoken(source) if source.name == "fsdd" else corpora.common_voice(source)


def divided(
    items: Items, source: Source, batch: int, seed: int, bootstrap: int = 8, drop_last: bool = False
) -> list[Stream]:
    """Streams of items that were read already; the rest as in `streams_of`."""
    check(LoopTable(batch=batch, bootstrap=bootstrap), "key")
    source = checked(source)
    goals = goals_of(source, items)
    streams: list[Stream] = []
    for part in dict.fromkeys(items.parts) or ("",):
        divider = Divider(source, items, part, goals, seed, bootstrap)
        rows, whole = None, None
        for goal, division in zip(goals, divider.divisions(), strict=True):
            if whole is None or division.stream is not rows:  # goals may share rows and features
                rows = division.stream
                whole = _batch(divider, rows, 0, "")
            streams.append(_stream(divider, goal, division, whole, batch, drop_last))
    return streams
