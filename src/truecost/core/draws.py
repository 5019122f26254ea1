"""Drawing: the weights of single replicates, filled in by compiled loops.

The key of the random numbers is (seed, factor name); see `truecost.core.weights` for what a weight
may depend on.
"""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Factor
from truecost.errors import InputError, UsageError, counted

if TYPE_CHECKING:
    from truecost.core.weights import Plan

Counts = npt.NDArray[np.unsignedinteger[Any]]

ONE_BY_ONE = 8  # labels of up to so many units: drawing unit by unit is five times faster there


def draw_rows(rows: Counts, first: int, factor: Factor, plan: "Plan") -> None:
    """Fill `rows` with the weights of replicates first, first + 1, ..."""
    scheme = plan.scheme_of(factor.name)
    if scheme == "poisson" and factor.strata is not None:
        raise UsageError(f"factor {factor.name!r} has strata: Poisson weights ignore strata")
    if scheme == "blocks":
        refuse_sizes(factor, "moving blocks join", "another scheme")
    draw = _draw_units if factor.sizes is None else _draw_sized
    draw(rows, first, factor, plan, *_key(plan.seed, factor.name))


def refuse_sizes(factor: Factor, what: str, instead: str) -> None:
    """Refuse a factor with sizes where each unit is needed alone."""
    if factor.sizes is not None:
        raise UsageError(
            f"{what} single units, but labels of factor {factor.name!r} stand for several each: "
            f"choose {instead}, or give every unit its own label"
        )


def _draw_sized(
    rows: Counts, first: int, factor: Factor, plan: "Plan", k0: np.uint64, k1: np.uint64
) -> None:
    """Fill `rows` where labels stand for several units."""
    from truecost.kernels import draws
    from truecost.kernels import sums as counts

    sizes = np.asarray(factor.sizes, np.int64)
    if plan.scheme_of(factor.name) == "poisson":
        if bool((sizes == 1).any()):
            draws.poisson_rows(rows, first, draws.POISSON_TABLE, draws.POISSON_GUIDE, k0, k1)
        counts.poisson_counts(rows, first, sizes, np.flatnonzero(sizes > 1), k0, k1)
        return
    members, start = _strata(factor)
    members = members if len(members) else np.arange(len(factor))
    large = sizes[members] > ONE_BY_ONE
    alone = np.where(large, 0, sizes[members])
    counts.multinomial_counts(
        rows,
        first,
        sizes,
        members[large],
        np.append(0, np.cumsum(large))[start],
        np.repeat(members, alone),
        np.append(0, np.cumsum(alone))[start],
        k0,
        k1,
    )


def _draw_units(
    rows: Counts, first: int, factor: Factor, plan: "Plan", k0: np.uint64, k1: np.uint64
) -> None:
    """Fill `rows` where each label is one unit."""
    from truecost.kernels import draws

    scheme = plan.scheme_of(factor.name)
    if scheme == "poisson":
        draws.poisson_rows(rows, first, draws.POISSON_TABLE, draws.POISSON_GUIDE, k0, k1)
        return
    members, start = _strata(factor)
    if scheme == "multinomial":
        draws.multinomial_rows(rows, first, members, start, k0, k1)
        return
    sizes = np.diff(start)
    if plan.block_length is not None and plan.block_length >= sizes.max(initial=0):
        raise UsageError(
            f"block length is {plan.block_length}, but the longest stratum of {factor.name!r} has "
            f"{sizes.max(initial=0)} units: every replicate would be the data themselves"
        )
    lengths = np.full(len(sizes), plan.block_length or 0, np.int64)
    if plan.block_length is None:
        lengths = np.array([cube_root_up(int(n)) for n in sizes], np.int64)
    draws.block_rows(rows, first, members, start, np.minimum(lengths, sizes), k0, k1)


def cube_root_up(n: int) -> int:
    """The least whole number whose cube is at least n (27 gives 3, 28 gives 4)."""
    root = int(np.rint(np.cbrt(n)))
    return root if root**3 >= n else root + 1


def _strata(factor: Factor) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Units ordered by stratum (empty when they stand so), and where each stratum starts."""
    if factor.strata is None:
        return np.arange(0), np.array([0, len(factor)])
    if len(factor.strata) != len(factor):
        raise InputError(
            f"factor {factor.name!r} has {counted(len(factor), 'unit')} but "
            f"{counted(len(factor.strata), 'stratum code')}: one for each unit is needed"
        )
    members = np.argsort(factor.strata, kind="stable")
    changes = np.flatnonzero(np.diff(factor.strata[members])) + 1
    return members, np.concatenate([[0], changes, [len(factor)]]).astype(np.int64)


def _key(seed: int, name: str) -> tuple[np.uint64, np.uint64]:
    """The Philox key of (seed, factor name)."""
    digest = hashlib.sha256(f"truecost weights\x00{seed}\x00{name}".encode()).digest()
    low, high = np.frombuffer(digest[:8], "<u4")
    return np.uint64(low), np.uint64(high)
