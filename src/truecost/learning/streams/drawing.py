"""Seeded draws of items: by class, evenly, or with an exact share of targets. Rows stay sorted."""

import numpy as np

from truecost.errors import InputError
from truecost.learning.streams.orders import Rows
from truecost.learning.system import Array


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
