"""One training as a process: in a group of its own, measured, ended when its time is over.

What it takes is added up by the launcher of `truecost.resources`, with all processes that the
program started. Whatever is left of its group when it has ended is ended too.
"""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import UsageError
from truecost.resources.recording import LAUNCHER

PATIENCE = 2.0  # seconds between asking a program to end and ending it
ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


@dataclass(frozen=True)
class Ended:
    """How a program ended and what it took.

    Attributes
    ----------
    status : int
        Exit code; below 0 the signal that ended it.
    late : bool
        Whether its time was over.
    errno : int
        Why it could not be started; 0 when it was.
    cpu_s, wall_s : float
        CPU seconds of all its processes, and seconds on the clock.
    peak_bytes : int
        Of the largest process.
    """

    status: int
    late: bool = False
    errno: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_bytes: int = 0


class Group:
    """The processes that run now, which can all be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        logs: tuple[Path, Path],
        timeout: float | None = None,
    ) -> Ended:
        """Run a program until it ends, its time is over, or everything is ended.

        Parameters
        ----------
        folder : Path
            Where it runs.
        logs : (Path, Path)
            Where standard output and standard error go.
        timeout : float, optional
            Seconds.
        """
        reading, writing = os.pipe()
        try:
            with logs[0].open("wb") as out, logs[1].open("wb") as err, self._lock:
                if self.stopped:
                    return Ended(-signal.SIGTERM)
                process = subprocess.Popen(
                    [
                        *(sys.executable, "-I", "-S", str(LAUNCHER), str(writing)),
                        *(str(int(signal.SIGTERM)), "", *command),
                    ],
                    cwd=folder,
                    env=environment(os.environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=(writing,),
                    start_new_session=True,
                )
                self._running.add(process)
            os.close(writing)
            writing = -1
            return self._followed(process, reading, timeout)
        finally:
            os.close(reading)
            if writing >= 0:
                os.close(writing)

    def _followed(
        self, process: "subprocess.Popen[bytes]", reading: int, timeout: float | None
    ) -> Ended:
        late = not select.select([reading], [], [], timeout)[0]
        if late:
            signal_group(process, signal.SIGTERM)
            select.select([reading], [], [], PATIENCE)
            signal_group(process, signal.SIGKILL)
        said = os.read(reading, 1 << 16)  # nothing when the launcher itself was ended
        with self._lock:
            self._running.discard(process)
            signal_group(process, signal.SIGKILL)  # what the program left behind
        process.wait()
        found: dict[str, Any] = msgspec.json.decode(said) if said else {"status": -signal.SIGKILL}
        if "errno" in found:
            return Ended(127, errno=found["errno"])
        return Ended(
            found["status"],
            late,
            cpu_s=found.get("user", 0.0) + found.get("system", 0.0),
            wall_s=found.get("wall", 0.0),
            peak_bytes=found.get("peak", 0),
        )

    def stop(self) -> None:
        """End all that runs, with the processes that they started, and start nothing more."""
        with self._lock:
            self.stopped = True
            running = [*self._running]
            for process in running:
                signal_group(process, signal.SIGTERM)
        threading.Event().wait(0.2 if running else 0)  # time to remove their own files
        with self._lock:
            for process in self._running:
                signal_group(process, signal.SIGKILL)


def signal_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to a process that nobody waited for yet, and to its whole group."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS refuses where only a zombie is left
        return


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of trainings: one thread each for BLAS and OpenMP, unless the user says how
    many. Sums of several threads differ in their last digits, and so would scores.
    """
    return {**dict.fromkeys(ONE_THREAD, "1"), **given}


def check_platform() -> None:
    """Refuse where there are no process groups: UsageError."""
    if sys.platform not in ("linux", "darwin"):
        raise UsageError(f"trainings are run on Linux and macOS, and this is {sys.platform}")
