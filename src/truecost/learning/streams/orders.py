"""Orders in which items arrive, and seeded draws of items.

Real streams are rarely uniform in time: what is frequent now is rare later. The Dirichlet order
simulates that, as is usual in the literature on test-time adaptation; the streams of paper 000 were
made so. The paper says no more than "Dirichlet"; read as its authors' public program does:

The items are divided among K chunks. Each class draws, from a symmetric Dirichlet distribution,
which share of its items goes to each chunk. So that chunks are balanced, one that holds N/K items
already takes part no more; it may hold more than that, as the class that fills it comes whole. If a
chunk ends with fewer than 10 items, all is drawn again. In a chunk the items of a class stand
together, and the classes in random order. (There, classes draw in a fixed order; here in a random
one, as those that come later find fewer chunks open.)
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError
from truecost.learning.system import Array, Floats

Rows = npt.NDArray[np.int64]


LEAST = 10  # items of a chunk


ATTEMPTS = 1000  # draws until every chunk has them


def time_order(times: Floats) -> Rows:
    """Earliest first; items of the same time stay as they are.

    Parameters
    ----------
    times : ndarray of float64, shape (items,)

    Returns
    -------
    ndarray of int64, shape (items,)
        Places of the items.
    """
    return np.argsort(times, kind="stable").astype(np.int64)


def dirichlet_order(
    classes: Sequence[str],
    draws: np.random.Generator,
    chunks: int | None = None,
    concentration: float = 1.0,
) -> Rows:
    """Chunks of unlike classes (see the head of the module).

    Parameters
    ----------
    classes : sequence of str
        Of the items.
    chunks : int, optional
        K; as many as there are classes unless given.
    concentration : float
        Of the Dirichlet distribution: shares are equal on average, and the more unlike the smaller
        it is (1: all divisions are equally likely).

    Returns
    -------
    ndarray of int64, shape (items,)
        Places of the items; each once.

    Raises
    ------
    InputError
        When the items are too few for so many chunks, or every one of 1,000 draws left a chunk with
        fewer than 10.
    """
    names, codes = np.unique(np.asarray(classes), return_inverse=True)
    number = chunks or len(names)
    if len(codes) < LEAST * number:
        raise InputError(
            f"{len(codes)} items are too few for {number} chunks of at least {LEAST}: say "
            f"chunks = {max(1, len(codes) // LEAST)} or fewer"
        )
    for _ in range(ATTEMPTS):
        pieces = _divided(codes, len(names), number, concentration, draws)
        if min(sum(map(len, chunk)) for chunk in pieces) >= LEAST:
            return np.concatenate([chunk[k] for chunk in pieces for k in _order(chunk, draws)])
    raise InputError(
        f"{ATTEMPTS} draws of {number} chunks left one with fewer than {LEAST} of {len(codes)} "
        f"items: take fewer chunks, or a concentration above {concentration:g}"
    )


def _order(chunk: list[Rows], draws: np.random.Generator) -> Rows:
    return draws.permutation(len(chunk))


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

    Parameters
    ----------
    rows : ndarray of int64
    classes : ndarray, shape (all items,)
        Class of every item.
    number : int
        At most as many as there are rows.

    Returns
    -------
    ndarray of int64, shape (number,)
        Sorted.
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

    Parameters
    ----------
    rows : ndarray of int64
    classes : ndarray of str, shape (all items,)
    names : list of str
        The classes, in the order in which they are served.

    Returns
    -------
    ndarray of int64
        Sorted; fewer where there are not enough.
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

    Parameters
    ----------
    rows : ndarray of int64
    is_target : ndarray of bool, shape (all items,)
    number : int, optional
        The most that there are items for, unless given.
    where : str
        For messages.

    Returns
    -------
    ndarray of int64
        Sorted.

    Raises
    ------
    InputError
        When there are too few targets or others.
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
