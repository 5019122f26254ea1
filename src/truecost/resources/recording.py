"""Measuring a program: `record` runs it and says what it took, on which machine."""

import errno
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from truecost.errors import InputError, UsageError
from truecost.resources.records import Machine, Resources

BRANDS = ("sys_vendor", "product_name")  # of /sys/class/dmi/id
NO_BRAND = re.compile(
    r"to be filled|default string|system manufacturer|system product|^none$", re.I
)
CLOCKS = ("base_frequency", "cpuinfo_max_freq")  # in kHz; the first one is the nominal clock
LAUNCHER = Path(__file__).with_name("launcher.py")
PASSED = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP")
KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
COERCED = "LC_CTYPE"  # what Python adds to an environment without a locale (PEP 538)
COERCIONS = ("C.UTF-8", "C.utf8", "UTF-8")
STANDARD_ERROR = 2


def describe() -> Machine:
    """The machine that this runs on; what the system does not tell is None."""
    return _mac() if sys.platform == "darwin" else _linux(Path("/"))


def _linux(root: Path) -> Machine:
    """The hardware, from the files of Linux."""
    processors = _text(root / "proc/cpuinfo")
    model = _field(processors, "model name") or _field(processors, "Model") or platform.machine()
    return Machine(
        brand=_brand(root),
        cpu=model,
        cores=_cores(processors) or os.cpu_count(),
        clock_ghz=_clock(root, processors, model),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        system=_system(),
    )


def _brand(root: Path) -> str | None:
    """Maker and model of the computer."""
    board = root / "sys/class/dmi/id"
    words = [text for name in BRANDS if (text := _text(board / name)) and not NO_BRAND.search(text)]
    return " ".join(words) or _text(root / "sys/firmware/devicetree/base/model") or None


def _cores(processors: str) -> int:
    """Physical cores; 0 where the file does not tell which threads share one."""
    sockets = re.findall(r"^physical id\s*:\s*(\d+)$", processors, re.MULTILINE)
    cores = re.findall(r"^core id\s*:\s*(\d+)$", processors, re.MULTILINE)
    return len({*zip(sockets, cores, strict=False)})


def _clock(root: Path, processors: str, model: str) -> float | None:
    """Nominal clock in GHz; the present one, to 0.1, where no other is known."""
    if said := re.search(r"@\s*([\d.]+)\s*GHz", model):
        return float(said[1])
    for name in CLOCKS:
        if (kilo := _text(root / "sys/devices/system/cpu/cpu0/cpufreq" / name)).isdecimal():
            return round(int(kilo) / 1e6, 2)
    present = _field(processors, "cpu MHz")
    return round(float(present) / 1000, 1) if present else None


def _system() -> str:
    """Distribution and kernel."""
    kernel = f"{platform.system()} {platform.release()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def _mac() -> Machine:
    """The hardware, from `sysctl`."""
    cores, hertz, memory = map(_sysctl, ("hw.physicalcpu", "hw.cpufrequency_max", "hw.memsize"))
    return Machine(
        brand=f"Apple {_sysctl('hw.model')}".strip(),
        cpu=_sysctl("machdep.cpu.brand_string") or platform.machine(),
        cores=int(cores) if cores.isdecimal() else os.cpu_count(),
        clock_ghz=round(int(hertz) / 1e9, 2) if hertz.isdecimal() and int(hertz) else None,
        memory_bytes=int(memory) if memory.isdecimal() else None,
        system=f"macOS {platform.mac_ver()[0]}",
    )


def _sysctl(name: str) -> str:
    """A value of the system; empty when it has none of this name."""
    words = ["/usr/sbin/sysctl", "-n", name]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def _field(processors: str, name: str) -> str:
    """The first value of a field of /proc/cpuinfo; empty when there is none."""
    found = re.search(rf"^{name}\s*:[ \t]*(.*)$", processors, re.MULTILINE)
    return found[1].strip() if found else ""


def _text(path: Path) -> str:
    """The content of a file, without its final line break; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return ""


def record(command: Sequence[str], *, phase: str = "", aside: bool = False) -> Resources:
    """Run a program, and measure the CPU time and memory of the program and of all processes that
    it starts.

    The CPU time is the sum over all threads and child processes (on Linux, also over those that
    outlive their parent). The peak memory is that of the largest single process. The program has
    the standard streams, open files, environment and process group of the current process.

    The measurement does not include

    - services outside the program, such as containers and job queues;
    - child processes of a process that ignores SIGCHLD;
    - processes that outlive the program: their usage later than half a second after its end;
    - on macOS, child processes that outlive their parent.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    phase : str
        Phase of the system in which the program runs, such as indexing or searching. Default: no
        phase.
    aside : bool
        Whether the standard output of the program goes to standard error. Default: False.

    Returns
    -------
    Resources
        Measured resources.

    Raises
    ------
    UsageError
        If the program does not exist, or the operating system is neither Linux nor macOS.
    InputError
        If the measurement was stopped from outside.
    KeyboardInterrupt
        If the user interrupted the program.

    Examples
    --------
    >>> import sys
    >>> from truecost.resources import record
    >>> found = record([sys.executable, "-c", "sum(range(10**6))"], phase="searching")
    >>> found.status, found.cpu_s > 0, found.peak_gb > 0.001
    (0, True, True)
    """
    if sys.platform not in ("linux", "darwin"):
        raise UsageError(f"resources are measured on Linux and macOS, and this is {sys.platform}")
    if not command or not all(command[:1]):
        raise UsageError("resources: there is no program: write -- PROGRAM ARGUMENTS")
    machine = describe()
    found, interrupted = _measured(command, aside)
    if not found:
        raise InputError(
            f"{command[0]}: the measurement was stopped from outside: measure it again"
        )
    if "errno" in found:
        raise UsageError(_cannot_run(command[0], found["errno"]))
    if found["status"] == -signal.SIGINT or (interrupted and found["status"]):
        raise KeyboardInterrupt
    return Resources(
        phase=phase,
        command=tuple(os.fsencode(word).decode("utf-8", "replace") for word in command),
        status=found["status"],
        user_s=found["user"],
        system_s=found["system"],
        wall_s=found["wall"],
        peak_bytes=found["peak"],
        running=found["running"],
        nodes=(machine,),
    )


def _measured(command: Sequence[str], aside: bool) -> tuple[dict[str, Any], bool]:
    """The measurements of the launcher, none if it was ended; and whether Ctrl-C was pressed."""
    passed = [number for name in PASSED if not ignored(number := getattr(signal, name))]
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed)
    try:
        words = [writing, ",".join(str(int(n)) for n in passed), _added(), *command]
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), *map(str, words)],
            stdout=STANDARD_ERROR if aside else None,
            close_fds=False,  # files that the user handed over, such as those of <(...)
        )
    finally:
        os.close(writing)
    with _handing(passed, process) as seen, open(reading, "rb") as pipe:  # noqa: PTH123
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        said = pipe.read()
        process.wait()
    return (msgspec.json.decode(said) if said else {}), bool(seen)


def ignored(number: int) -> bool:
    """Whether a signal is ignored, as by nohup: so it stays for the program."""
    return signal.getsignal(number) is signal.SIG_IGN


@contextmanager
def _handing(passed: Sequence[int], process: "subprocess.Popen[bytes]") -> Iterator[list[int]]:
    """Hand signals on to the launcher; those of the keyboard, which it gets too, are noted."""
    seen: list[int] = []

    def hand(number: int, _: FrameType | None) -> None:
        if number in KEYBOARD:
            seen.append(number)
        else:
            process.send_signal(number)

    with handled(passed, hand):
        yield seen


@contextmanager
def handled(
    numbers: Sequence[int], hand: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Have signals handled within, as far as this thread may: only the main one can."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, hand) for number in numbers if main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _added() -> str:
    """The variable that Python adds to the environment, if it did: the program had not seen it."""
    value = os.environ.get(COERCED)
    if value is None:
        return COERCED
    try:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return ""  # macOS does not tell
    named = any(text.startswith(COERCED.encode() + b"=") for text in given)
    return "" if named or value not in COERCIONS else COERCED


def _cannot_run(program: str, number: int) -> str:
    """A message: why a program cannot be run, and what to do."""
    said = f"resources: {program}: cannot be run ({os.strerror(number)})"
    if number == errno.ENOENT and " " in program:
        words = " ".join(shlex.split(program)) if "'" not in program else program
        return f"{said}: give program and arguments as words of their own, -- {words}"
    if number == errno.ENOENT and not Path(program).exists():
        return f"{said}: there is no such program"
    return f"{said}: name its interpreter before it, such as -- python {program}"
