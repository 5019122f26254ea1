"""Runs a program and adds up what its process tree takes: a small program of its own.

`recording` starts it as `python -I -S launcher.py PIPE SIGNALS FORGET PROGRAM ARGUMENTS` and reads
what it found, as JSON, from the pipe. It imports nothing of truecost, and what it must import after
the program was forked: on Linux the memory of the process that starts a program counts towards the
program's peak (measured for `true`: 60 MB from the command line, 8 MB from here).

On Linux orphans are adopted, so that processes that nobody waited for count too. The resources of a
process that an ancestor ignoring SIGCHLD never waits for are lost: the operating system does not
report them.
"""

import os
import signal
import sys
import time

ADOPT = 36  # PR_SET_CHILD_SUBREAPER of prctl (Linux)
PATIENCE = 0.5  # seconds that processes may outlive the program before they count as running
KILO = 1024 if sys.platform == "linux" else 1  # bytes in a unit of ru_maxrss


class Tally:
    """Seconds of CPU and the largest peak, added up process by process."""

    def __init__(self) -> None:
        self.user = self.system = 0.0
        self.peak = self.running = 0

    def add(self, user: float, system: float, peak: int) -> None:
        """Count one process with what it has waited for."""
        self.user += user
        self.system += system
        self.peak = max(self.peak, peak)

    def reap(self, options: int = 0) -> tuple[int, int]:
        """Wait for any child and count it: its id (0 where all are running) and its status."""
        child, status, used = os.wait4(-1, options)
        if child:
            self.add(used.ru_utime, used.ru_stime, used.ru_maxrss * KILO)
        return child, status


def main(pipe: int, passed: list[int], forget: str, command: list[str]) -> None:
    """Run the command, and write what it took into the pipe, a file descriptor.

    The signals passed are blocked now, and the program shall get them; it shall not see the
    variable of the environment to forget, which is empty for none.
    """
    os.set_inheritable(pipe, False)
    wait, go = os.pipe()  # nothing runs before orphans are adopted
    fault, failed = os.pipe()  # closed by a successful exec
    program = os.fork()
    if program == 0:
        os.close(go)
        become(command, forget, passed, wait, failed)
    os.close(wait)
    os.close(failed)
    adopts = adopt_orphans()
    pass_on(program, passed)
    start = time.perf_counter()
    os.write(go, b"!")
    os.close(go)
    if said := os.read(fault, 16):
        report(pipe, {"errno": int(said)})
        return
    tally, child, status = Tally(), 0, 0
    while child != program:  # count what ends before it
        child, status = tally.reap()
    wall = time.perf_counter() - start
    signal.pthread_sigmask(signal.SIG_BLOCK, passed)  # its id may belong to another one by now
    finish(tally)
    found = {"status": os.waitstatus_to_exitcode(status), "wall": wall, "adopts": adopts}
    report(pipe, found | vars(tally))


def become(command: list[str], forget: str, passed: list[int], wait: int, failed: int) -> None:
    """Turn into the program, with signals as they were before Python changed them."""
    try:
        if os.read(wait, 1):
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
                signal.signal(number, signal.SIG_DFL)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, passed)
            os.environ.pop(forget, None)
            os.execvp(command[0], command)
    except OSError as error:
        os.write(failed, str(error.errno).encode())
    finally:
        os._exit(127)


def adopt_orphans() -> bool:
    """Whether processes that lose their parent become children of this one from now on."""
    if sys.platform != "linux":
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0) == 0)


def pass_on(program: int, passed: list[int]) -> None:
    """Hand signals to the program; those of the keyboard reach it from the terminal."""

    def hand(number: int, _: object) -> None:
        try:
            os.kill(program, number)
        except ProcessLookupError:
            return  # it has just ended

    for number in passed:
        keyboard = number in (signal.SIGINT, signal.SIGQUIT)
        signal.signal(number, signal.SIG_IGN if keyboard else hand)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed)


def finish(tally: Tally) -> None:
    """Count what ended with the program or soon after, and what is running still."""
    end = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end:
            if not tally.reap(os.WNOHANG)[0]:
                time.sleep(0.01)
    except ChildProcessError:
        return  # all have ended
    count_running(tally)


def count_running(tally: Tally) -> None:
    """Count descendants that go on after the program, as far as they have come (Linux)."""
    parents, taken = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()  # the name may hold anything
        except OSError:
            continue  # it has just ended
        parents[int(name)] = int(fields[1])
        taken[int(name)] = (fields[0] != b"Z", *map(int, fields[11:15]))
    below = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    tick = os.sysconf("SC_CLK_TCK")
    for process in below - {os.getpid()}:
        runs, user, system, waited_user, waited_system = taken[process]
        tally.add((user + waited_user) / tick, (system + waited_system) / tick, peak_of(process))
        tally.running += runs


def peak_of(process: int) -> int:
    """Largest resident memory of a running process so far, in bytes; 0 when it has just ended."""
    try:
        with open(f"/proc/{process}/status", "rb") as file:  # noqa: PTH123
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM:"))
    except OSError:
        return 0


def report(pipe: int, found: dict[str, float]) -> None:
    """Write what was found."""
    import json

    os.write(pipe, json.dumps(found).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), [*map(int, sys.argv[2].split(","))], sys.argv[3], sys.argv[4:])
