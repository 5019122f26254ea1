"""The description of this machine that paper 002, section 4.3, asks for; no name of the host."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from truecost.resources.records import Machine

BRANDS = ("sys_vendor", "product_name")  # of /sys/class/dmi/id
NO_BRAND = re.compile(
    r"to be filled|default string|system manufacturer|system product|^none$", re.I
)
CLOCKS = ("base_frequency", "cpuinfo_max_freq")  # in kHz; the first one is the nominal clock


def describe() -> Machine:
    """The machine that this runs on.

    Returns
    -------
    Machine
        What the system does not tell is None.
    """
    return _mac() if sys.platform == "darwin" else _linux(Path("/"))


def _linux(root: Path) -> Machine:
    """From the files in which Linux describes the hardware."""
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
    """From what `sysctl` says."""
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
    """What a file holds, without its end; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return ""
