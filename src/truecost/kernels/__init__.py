"""Compiled loops on plain arrays: no frames, no files, no classes.

Every kernel releases the interpreter lock and writes to one block of replicates, so that blocks may
run in threads. Inside a block the order of every sum is fixed, so that no digit depends on threads.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

FEW = 1 << 16  # rows that numpy handles in milliseconds: not worth the half second that a new
# machine takes to compile a kernel (a first `truecost score` took 10.7 s of CPU time, now 3.9)

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` on first use; the machine code is kept beside the source or in a cache."""
    return _compiled(function)


def inline_kernel(function: F) -> F:
    """Compile a helper that other kernels call."""
    return _compiled(function, inline="always")


def _compiled(function: F, **options: Any) -> F:
    try:
        return cast("F", numba.njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:  # neither the package nor the home can be written: compile every time
        return cast("F", numba.njit(nogil=True, **options)(function))
