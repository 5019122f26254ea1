"""Reading records of resources, with their faults said, and merging those of several nodes."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import msgspec

from truecost.errors import InputError, UsageError, first_five
from truecost.formats import STANDARD_INPUT, read_bytes
from truecost.resources.records import SCHEMA_VERSION, Machine, Resources, ending

WROTE = "expected what `truecost resources --json -- COMMAND` prints, or writes with -o"


class _Head(msgspec.Struct):
    """What tells a record of this layout from any other JSON."""

    schema_version: int
    peak_bytes: float


def read_resources(path: str) -> Resources:
    """A record that `truecost resources` wrote.

    Parameters
    ----------
    path : str
        A file, or `-` for standard input.

    Raises
    ------
    InputError
        When there is none, it is no record of this layout, or the program had failed: a part of
        the work tells nothing of the whole.
    """
    shown = "standard input" if path in STANDARD_INPUT else path
    data = read_bytes(path)
    if not data.strip():
        raise InputError(f"{shown}: the file is empty; {WROTE}")
    try:
        data.decode("utf-8")
        version = msgspec.json.decode(data, type=_Head).schema_version
        if version != SCHEMA_VERSION:
            raise InputError(
                f"{shown}: its schema_version is {version}, but this version of truecost reads "
                f"{SCHEMA_VERSION}: measure again, or use the version that wrote it"
            )
        found = msgspec.json.decode(data, type=Resources)
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace(" - at $.", ", at ")
        raise InputError(f"{shown}: is no record of resources ({said}); {WROTE}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{shown}: is no JSON ({error}); {WROTE}") from error
    if found.status:
        raise InputError(f"{shown}: the program failed ({ending(found.status)}): measure it again")
    return found


def phase_of(paths: Sequence[str], phase: str) -> Resources:
    """The records of the nodes of one phase, merged.

    Parameters
    ----------
    paths : sequence of str
        One file for each node.
    phase : str
        What they must have measured: indexing, searching. A record that says no phase is taken as
        it is.

    Raises
    ------
    InputError
        As `read_resources` does; when a record is of another phase, or is given twice.
    """
    records = {path: read_resources(path) for path in paths}
    for path, record in records.items():
        if record.phase not in ("", phase):
            raise InputError(
                f"{path}: is a record of {record.phase}, expected one of {phase}: give it where it "
                f"belongs, or measure with --phase {phase}"
            )
    for (path, one), (other, two) in combinations(records.items(), 2):
        if one == two:
            raise InputError(f"{other}: is the same record as {path}: give each node's once")
    if len(records) < len(paths):
        twice = [path for path in records if paths.count(path) > 1]
        raise InputError(f"{first_five(twice)}: is given twice: give each node's record once")
    return merge([msgspec.structs.replace(r, phase=phase) for r in records.values()])


def merge(records: Iterable[Resources]) -> Resources:
    """What several nodes took together in one phase, at the same time.

    CPU seconds add up; peak memory and passed time are the largest ones; nodes are counted by type
    (paper 002, section 4.3). Steps that follow one another on a node are measured as one command,
    such as `sh -c 'first && second'`.

    Returns
    -------
    Resources
        It depends on no order.

    Raises
    ------
    UsageError
        When there are no records, or they are of several phases.
    """
    given = [*records]
    phases = sorted({record.phase for record in given})
    if len(phases) != 1:
        said = f"records of {', '.join(p or 'no phase' for p in phases)}" if given else "no records"
        raise UsageError(f"{said} cannot be merged: give those of one phase")
    commands = {record.command for record in given}
    return Resources(
        truecost=", ".join(sorted({record.truecost for record in given})),
        phase=phases[0],
        command=commands.pop() if len(commands) == 1 else (),
        status=next((record.status for record in given if record.status), 0),
        user_s=math.fsum(record.user_s for record in given),
        system_s=math.fsum(record.system_s for record in given),
        wall_s=max(record.wall_s for record in given),
        peak_bytes=max(record.peak_bytes for record in given),
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
