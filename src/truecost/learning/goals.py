"""Goals of a stream, and the orders of its items.

Real streams are rarely uniform in time: what is frequent now is rare later. The Dirichlet order
simulates that, as is usual in the literature on test-time adaptation; the streams of Lindsey et al.
were made so. The paper says no more than "Dirichlet"; read as its authors' public program does:

The items are divided among K chunks. Each class draws, from a symmetric Dirichlet distribution,
which share of its items goes to each chunk. So that chunks are balanced, one that holds N/K items
already takes part no more; it may hold more than that, as the class that fills it comes whole. If a
chunk ends with fewer than 10 items, all is drawn again. In a chunk the items of a class stand
together, and the classes in random order. (There, classes draw in a fixed order; here in a random
one, as those that come later find fewer chunks open.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.learning.source import Items, Source
from truecost.learning.system import Array, Floats, number_of

Rows = npt.NDArray[np.int64]
BINARY = ("0", "1")  # classes of a detection; the second is the target


@dataclass(frozen=True)
class Goal:
    """One stream to be.

    `name`: of the stream, within its part; empty where there is one; `kind` ("detection" or
    "classes" or "numbers"); `classes`: as in `Stream`; `target`: label of the source that stands
    for "1" (detection).
    """

    name: str
    kind: str
    classes: tuple[str, ...] = ()
    target: str | None = None

    def labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Labels of the source as those of the stream."""
        if self.target is None:
            return tuple(labels)
        return tuple(BINARY[label == self.target] for label in labels)


def sorted_classes(labels: Sequence[str]) -> tuple[str, ...]:
    """Each label once: whole numbers by value, anything else as text."""
    names = set(labels)
    if all(name.isascii() and name.removeprefix("-").isdigit() for name in names):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def goals_of(source: Source, items: Items) -> list[Goal]:
    """The streams that a source asks for."""
    if not items.labels:
        return _goals_without_labels(source, items.source)
    if source.classes:
        raise UsageError(
            f"[source] classes: {items.source} has labels, which name the classes already: leave "
            "classes out"
        )
    if source.kind == "numbers":
        _check_numbers(items)
        return [Goal("", "numbers")]
    classes = sorted_classes(items.labels)
    if len(classes) < 2:
        raise InputError(
            f"{items.source}: all labels are {classes[0]!r}; there is only one class (for numbers "
            f"set kind = 'numbers')"
        )
    targets = _targets(source, classes, items.source)
    if not targets:
        return [Goal("", "classes", classes)]
    several = bool(source.targets)
    return [Goal(t if several else "", "detection", BINARY, t) for t in targets]


def _goals_without_labels(source: Source, where: str) -> list[Goal]:
    """The streams of items of which people alone say what is right."""
    needs = {
        "order = 'dirichlet'": source.order == "dirichlet",
        "prevalence": source.prevalence is not None,
        "pool": source.pool is not None,
    }
    for key, asked in needs.items():
        if asked:
            raise UsageError(f"[source] {key} needs labels, and {where} has none: leave it out")
    several = bool(source.targets)
    if source.asked:
        return [Goal(t if several else "", "detection", BINARY, t) for t in source.asked]
    kind = "classes" if source.classes else source.kind
    if kind is None or (kind == "classes" and not source.classes):
        raise UsageError(
            f"{where}: there is no column of labels (label, labels or y): name it under [source], "
            f'label = "NAME", or give the kind of answers: kind = "detection" (no or yes), kind = '
            f'"numbers", or classes = ["NAME", "NAME"]'
        )
    return [Goal("", kind, {"detection": BINARY}.get(kind, source.classes))]


def _targets(source: Source, classes: tuple[str, ...], where: str) -> tuple[str, ...]:
    """The labels to detect; none where classes are told apart."""
    if source.kind == "classes":
        return ()
    if not source.asked:
        if classes == BINARY:
            return BINARY[1:]
        if source.kind == "detection" or source.prevalence is not None:
            raise UsageError(
                f"[source]: name the target, target = '...'; the labels of {where} "
                f"are {first_five(classes)}"
            )
        return ()
    for target in source.asked:
        if target not in classes:
            said = f"[source] target {target!r} is not a label of {where}{near(target, classes)}"
            raise UsageError(f"{said}: the labels are {first_five(classes)}")
    return source.asked


def _check_numbers(items: Items) -> None:
    """Refuse labels that are no finite numbers."""
    bad = [(k, v) for k, v in zip(items.ids, items.labels, strict=True) if math.isnan(number_of(v))]
    if bad:
        shown = first_five(f"{label!r} of {name}" for name, label in bad)
        raise InputError(
            f"{items.source}: labels must be finite numbers, but "
            f"{counted(len(bad), 'label', 'are')} not ({shown}); "
            f"for classes set kind = 'classes' or target = '...'"
        )


def check_length(where: str, source: Source, there: int) -> None:
    """Refuse a stream that is longer than its source."""
    if source.items and source.items > there:
        raise UsageError(
            f"[source] items = {source.items}: {where} has {counted(there, 'item')} for the "
            f"stream: lower items"
        )


def check_pool(where: str, source: Source, wanted: int, there: int) -> None:
    """Refuse a pool that is larger than what is left."""
    if wanted > there:
        raise UsageError(
            f"[source] pool = {source.pool}: a pool of {counted(wanted, 'item')} is needed, but "
            f"{where} has {counted(there, 'item')} beside the stream and its bootstrap set: lower "
            "pool, or items"
        )


def check_bootstrap(
    where: str, goal: Goal, chosen: Rows, codes: Array, size: int, in_time: bool
) -> None:
    """Refuse a bootstrap set for which there are not enough items, or not of both classes, as far
    as their labels are known.
    """
    needed = [("", len(chosen), size)]
    if goal.kind == "detection" and len(codes):
        targets = int((codes[chosen] == "1").sum())
        needed = [
            (f" of class {goal.target!r}", targets, (size + 1) // 2),
            (" of other classes", len(chosen) - targets, size // 2),
        ]
    place = "before the stream" if in_time else "beside the stream"
    for kind, found, wanted in needed:
        if found < wanted:
            raise InputError(
                f"{where}: the bootstrap set needs {counted(wanted, 'item')}{kind}, but there "
                f"{'is' if found == 1 else 'are'} {found} {place}: lower bootstrap under [loop], "
                f"or items under [source]"
            )


def check_times(where: str, items: Items, rows: Rows) -> None:
    """Refuse times that go back."""
    if items.times is None:
        return
    back = np.flatnonzero(np.diff(items.times[rows]) < 0)
    if len(back):
        raise InputError(
            f"{where}, order = 'given': the time of item {items.ids[rows[back[0] + 1]]} is earlier "
            f"than that of the item before it ({counted(len(back), 'such item')}): set order = "
            f"'time', or leave out the column of times"
        )


LEAST = 10  # items of a chunk
ATTEMPTS = 1000  # draws until every chunk has them


def time_order(times: Floats) -> Rows:
    """Places of the items, earliest first; items of the same time stay as they are."""
    return np.argsort(times, kind="stable").astype(np.int64)


def dirichlet_order(
    classes: Sequence[str],
    draws: np.random.Generator,
    chunks: int | None = None,
    concentration: float = 1.0,
) -> Rows:
    """Chunks of unlike classes (see the head of the module).

    `chunks`: k; default the number of classes; `concentration`: of the Dirichlet
    distribution: shares are equal on average, and the more unlike the smaller it is (1: all
    divisions are equally likely). Gives the places of the items, shape (items,);
    each once.
    """
    names, codes = np.unique(np.asarray(classes), return_inverse=True)
    number = chunks or len(names)
    if len(codes) < LEAST * number:
        raise InputError(
            f"{len(codes)} items are too few for {number} chunks of at least {LEAST}: set chunks = "
            f"{max(1, len(codes) // LEAST)} or fewer"
        )
    for _ in range(ATTEMPTS):
        pieces = _divided(codes, len(names), number, concentration, draws)
        if min(sum(map(len, chunk)) for chunk in pieces) >= LEAST:
            return np.concatenate(
                [chunk[k] for chunk in pieces for k in draws.permutation(len(chunk))]
            )
    raise InputError(
        f"{ATTEMPTS} random draws of {number} chunks each had a chunk with fewer than {LEAST} of "
        f"{len(codes)} items: set fewer chunks, or a concentration above {concentration:g}"
    )


def _divided(
    codes: Rows, classes: int, chunks: int, concentration: float, draws: np.random.Generator
) -> list[list[Rows]]:
    """The items of each chunk, class by class.

    Shares among the open chunks only are those of the whole distribution, put to a sum of one.
    """
    pieces: list[list[Rows]] = [[] for _ in range(chunks)]
    held = np.zeros(chunks, np.int64)
    for code in draws.permutation(classes):  # in any order, as later ones find fewer open chunks
        members = draws.permutation(np.flatnonzero(codes == code))
        open_chunks = np.flatnonzero(held * chunks < len(codes))
        shares = draws.dirichlet(np.full(len(open_chunks), concentration))
        ends = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        for chunk, piece in zip(open_chunks, np.split(members, ends), strict=True):
            pieces[chunk].append(piece)
            held[chunk] += len(piece)
    return pieces


def stratified(rows: Rows, classes: Array, number: int, draws: np.random.Generator) -> Rows:
    """So many of the rows, each class by its share of them (largest remainders).

    `classes` (shape (all items,)): class of every item; `number`: at most as many as there are
    rows. Gives them sorted.
    """
    names, counts = np.unique(classes[rows], return_counts=True)
    exact = counts * number / max(1, len(rows))
    quota = np.floor(exact).astype(np.int64)
    most = np.argsort(quota - exact, kind="stable")  # the largest remainder first
    quota[most[: number - int(quota.sum())]] += 1
    parts = [
        draws.choice(rows[classes[rows] == name], size, replace=False)
        for name, size in zip(names, quota, strict=True)
    ]
    return np.sort(np.concatenate(parts)) if parts else rows[:0]


def even(
    rows: Rows, classes: Array, names: list[str], number: int, draws: np.random.Generator
) -> Rows:
    """So many of the rows, as evenly over the classes as they allow; earlier names have one more.

    `classes` (shape (all items,)); `names`: the classes, in the order in which they are served.
    They are sorted; fewer where there are not enough.
    """
    waiting = {name: list(draws.permutation(rows[classes[rows] == name])) for name in names}
    chosen: list[int] = []
    while len(chosen) < number and any(waiting.values()):
        for name in names:
            if waiting[name] and len(chosen) < number:
                chosen.append(int(waiting[name].pop()))
    return np.sort(np.asarray(chosen, np.int64))


def exact(
    rows: Rows,
    is_target: Array,
    prevalence: float,
    number: int | None,
    draws: np.random.Generator,
    where: str,
) -> Rows:
    """As many of the rows as asked for, of which exactly that share (rounded) are targets.

    `is_target` (shape (all items,)); `number`: by default the most that there are items for.
    They are sorted.
    """
    targets, others = rows[is_target[rows]], rows[~is_target[rows]]
    most = int(min(len(targets) / prevalence, len(others) / (1 - prevalence)))
    while not _fits(most, prevalence, len(targets), len(others)):
        most -= 1
    size = most if number is None else number
    wanted, further = parts_of(size, prevalence)
    if not wanted or not _fits(size, prevalence, len(targets), len(others)):
        raise InputError(
            f"{where}: {size} items of prevalence {prevalence:g} need {wanted} targets and "
            f"{further} others; there are {len(targets)} and {len(others)}, enough for some "
            f"{most} items: change items or prevalence"
        )
    parts = [
        draws.choice(targets, wanted, replace=False),
        draws.choice(others, further, replace=False),
    ]
    return np.sort(np.concatenate(parts))


def _fits(size: int, prevalence: float, targets: int, others: int) -> bool:
    """Whether there are enough of both."""
    wanted, further = parts_of(size, prevalence)
    return wanted <= targets and further <= others


def parts_of(size: int, prevalence: float) -> tuple[int, int]:
    """Targets and others among so many items."""
    targets = round(prevalence * size)
    return targets, size - targets
