"""Records of what a program took: their file, read with its faults said, and merged over nodes."""

import math
import signal
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Annotated, Any

import msgspec

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import read_bytes
from truecost.formats.opening import decoded, json_text
from truecost.formats.opening import source_name as shown_path
from truecost.version import __version__

SCHEMA_VERSION = 1
Amount = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Bytes = Annotated[int, msgspec.Meta(ge=0)]


class Machine(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A type of computer, as described in Rodriguez-Fuentes & Penagarikano 2013, section 4.3. The
    name of the host is not stored.

    Attributes
    ----------
    count : int
        Number of computers of this type.
    brand : str or None
        Maker and model of the computer. Like each of the following attributes, it is None if it is
        not known.
    cpu : str or None
        Model of the processor.
    cores : int or None
        Number of physical cores.
    clock_ghz : float or None
        Clock rate of the processor in GHz: the nominal rate; if not known, the highest or present
        rate.
    memory_bytes : int or None
        Main memory in bytes.
    system : str or None
        Operating system with its version.
    """

    count: Count = 1
    brand: str | None = None
    cpu: str | None = None
    cores: Count | None = None
    clock_ghz: Annotated[float, msgspec.Meta(gt=0)] | None = None
    memory_bytes: Bytes | None = None
    system: str | None = None


class Resources(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Resources that a program used, including all processes that it started.

    Attributes
    ----------
    schema_version : int
        Version of the file layout.
    truecost : str
        Version of truecost that measured the program.
    phase : str
        Phase of the program: indexing, searching or training; empty if it was not stated.
    command : tuple of str
        Program and arguments; empty if records of several commands were merged.
    status : int
        Exit status of the program; -n if signal n ended it.
    user_s, system_s : float
        CPU seconds of all threads and processes, in the program and in the operating system.
    wall_s : float
        Elapsed seconds. If records of several nodes were merged: those of the slowest node.
    peak_bytes : int
        Largest resident memory of a single process, in bytes.
    gpu_s : float or None
        GPU seconds, which `truecost resources` does not measure: add the figure of the driver or of
        the job queue by hand. None if not known.
    running : int
        Number of processes that still ran half a second after the program ended; their later
        resources are not counted.
    nodes : tuple of Machine
        Types of the computers on which the program ran.
    """

    schema_version: int = msgspec.field(default=SCHEMA_VERSION)
    truecost: str = msgspec.field(default=__version__)
    phase: str = ""
    command: tuple[str, ...] = ()
    status: int
    user_s: Amount
    system_s: Amount
    wall_s: Amount
    peak_bytes: Bytes
    gpu_s: Amount | None = None
    running: Bytes = 0
    nodes: Annotated[tuple[Machine, ...], msgspec.Meta(min_length=1)]

    @property
    def cpu_s(self) -> float:
        """CPU seconds in the program plus those in the operating system."""
        return self.user_s + self.system_s

    @property
    def peak_gb(self) -> float:
        """Largest resident memory of a single process, in GB (1e9 bytes)."""
        return self.peak_bytes / 1e9

    @property
    def hours(self) -> dict[str, float]:
        """Hours of `cpu` and, where they are known, `gpu`, GB-hours of `memory`, and hours of
        `waiting` until it ended.
        """
        seconds = {"cpu": self.cpu_s, "memory": self.peak_gb * self.wall_s, "waiting": self.wall_s}
        seconds |= {} if self.gpu_s is None else {"gpu": self.gpu_s}
        return {key: value / 3600 for key, value in seconds.items()}

    def to_json(self) -> str:
        """The file as text, indented, with a line break at its end."""
        found = msgspec.to_builtins(self)
        shown = {"schema_version": self.schema_version, "truecost": self.truecost, **found}
        return json_text(shown)


def ending(status: int) -> str:
    """The end of a program in words: `exit status 3`, `signal 9, SIGKILL`."""
    if status >= 0:
        return f"exit status {status}"
    names = {int(number): number.name for number in signal.Signals}
    return ", ".join(filter(None, (f"signal {-status}", names.get(-status))))


WROTE = "expected what `truecost resources --json -- COMMAND` prints, or writes with -o"


class _Head(msgspec.Struct):
    """The keys that distinguish a record of this layout from any other JSON."""

    schema_version: int
    peak_bytes: float


def read_resources(path: str) -> Resources:
    """Read a record of resources that `truecost resources` wrote.

    Parameters
    ----------
    path : str
        Path of the file; ``-`` for standard input.

    Raises
    ------
    InputError
        If the file does not exist or is not such a record, or if the measured program failed: the
        usage of a failed run is not that of a complete run.
    """
    shown, data = shown_path(path), read_bytes(path)
    if not data.strip():
        raise InputError(f"{shown}: the file is empty; {WROTE}")
    none = "is not a record of resources"
    version = decoded(data, _Head, shown, none, WROTE).schema_version
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{shown}: its schema_version is {version}, but this version of truecost reads "
            f"{SCHEMA_VERSION}: measure again, or use the version that wrote it"
        )
    found = decoded(data, Resources, shown, none, WROTE)
    if found.status:
        raise InputError(f"{shown}: the program failed ({ending(found.status)}): measure it again")
    return found


def phase_of(paths: Sequence[str], phase: str) -> Resources:
    """Read and merge the records of all nodes that worked on one phase of a system.

    Parameters
    ----------
    paths : sequence of str
        Paths of the records, one for each node.
    phase : str
        Name of the phase: indexing or searching. Records without a phase are accepted, too.

    Raises
    ------
    InputError
        If a record cannot be read, belongs to another phase, or is given twice.
    """
    records = {path: read_resources(path) for path in paths}
    for path, record in records.items():
        if record.phase not in ("", phase):
            raise InputError(
                f"{path}: is a record of {record.phase}, expected one of {phase}: give it with "
                f"--{record.phase}, or measure with --phase {phase}"
            )
    for (path, one), (other, two) in combinations(records.items(), 2):
        if one == two:
            raise InputError(
                f"{other}: is the same record as {path}: give the record of each node once"
            )
    if len(records) < len(paths):
        twice = [path for path in records if paths.count(path) > 1]
        raise InputError(
            f"{first_five(twice)}: is given more than once: give the record of each node once"
        )
    return merge([msgspec.structs.replace(r, phase=phase) for r in records.values()])


def merge(records: Iterable[Resources]) -> Resources:
    """Merge the records of several nodes that worked on one phase at the same time.

    CPU seconds are summed, and of peak memory and elapsed time, the largest is taken; for each type
    of node, the number of nodes is stored (Rodriguez-Fuentes & Penagarikano 2013, section 4.3).
    Consecutive steps on a node must be measured as one command, such as `sh -c 'first && second'`.

    Raises
    ------
    UsageError
        If there are no records, or records of different phases.
    """
    given = [*records]
    phases = sorted({record.phase for record in given})
    if len(phases) != 1:
        said = f"records of {', '.join(p or 'no phase' for p in phases)}" if given else "no records"
        raise UsageError(f"{said} cannot be merged: give those of one phase")
    commands = {record.command for record in given}
    gpus: list[Any] = [record.gpu_s for record in given]
    return Resources(
        truecost=", ".join(sorted({record.truecost for record in given})),
        phase=phases[0],
        command=commands.pop() if len(commands) == 1 else (),
        status=next((record.status for record in given if record.status), 0),
        user_s=math.fsum(record.user_s for record in given),
        system_s=math.fsum(record.system_s for record in given),
        wall_s=max(record.wall_s for record in given),
        peak_bytes=max(record.peak_bytes for record in given),
        gpu_s=None if None in gpus else math.fsum(gpus),
        running=sum(record.running for record in given),
        nodes=_counted(machine for record in given for machine in record.nodes),
    )


def _counted(machines: Iterable[Machine]) -> tuple[Machine, ...]:
    """Each type of node once, with their number, sorted.

    Nodes of one type have the same memory to a GB: what the system keeps for itself differs.
    """
    found: dict[tuple[str, ...], list[Machine]] = {}
    for m in machines:
        memory = None if m.memory_bytes is None else round(m.memory_bytes / 1e9)
        alike = map(str, (m.brand, m.cpu, m.cores, m.clock_ghz, memory, m.system))
        found.setdefault(tuple(alike), []).append(m)
    return tuple(
        msgspec.structs.replace(
            alike[0],
            count=sum(m.count for m in alike),
            memory_bytes=max((m.memory_bytes for m in alike if m.memory_bytes), default=None),
        )
        for _, alike in sorted(found.items())
    )
