"""Orders in which items arrive: by time, shuffled, or in chunks of unlike classes (Dirichlet).

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
from truecost.learning.system import Floats

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
