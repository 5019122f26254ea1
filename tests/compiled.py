"""Kernels are compiled once, however many workers of the tests need them at the same time."""

import fcntl
from pathlib import Path

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def compile_once():
    """From now on whoever needs a kernel that another process compiles waits, and loads it.

    Three workers that begin on a machine without compiled kernels would each compile most of them.
    """
    compiled, held = Dispatcher.compile, set()

    def compile_or_wait(self, signature):
        folder = getattr(self._cache, "cache_path", None)
        lock = folder and Path(folder, f"{self.__name__}.lock")
        if signature in self.overloads or not lock or lock in held or not lock.parent.is_dir():
            return compiled(self, signature)
        with global_compiler_lock, lock.open("w") as file:  # ends with the process, whatever ends
            fcntl.flock(file, fcntl.LOCK_EX)
            held.add(lock)
            try:
                return compiled(self, signature)
            finally:
                held.remove(lock)

    Dispatcher.compile = compile_or_wait
