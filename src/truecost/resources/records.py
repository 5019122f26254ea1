"""Records of what a program took: the file that `truecost resources` writes, and its machines."""

import signal
from typing import Annotated

import msgspec

from truecost.version import __version__

SCHEMA_VERSION = 1
Amount = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Bytes = Annotated[int, msgspec.Meta(ge=0)]


class Machine(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A type of computing node, as paper 002, section 4.3, wants it described; no name of a host.

    Fields that the system does not tell are left out of the file.

    Attributes
    ----------
    count : int
        Nodes of this type.
    brand : str or None
        Maker and model of the computer.
    cpu : str or None
        Model of the processor.
    cores : int or None
        Physical cores.
    clock_ghz : float or None
        Nominal clock of the processor, or its highest one.
    memory_bytes : int or None
        Main memory.
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
    """What a program took, with all processes that it started.

    Attributes
    ----------
    schema_version : int
        Version of this layout.
    truecost : str
        Version that measured it.
    phase : str
        What the program did: indexing, searching, training; empty when nobody said.
    command : tuple of str
        As typed; empty where several commands were merged.
    status : int
        Exit status; -n when signal n ended the program.
    user_s, system_s : float
        Seconds of CPU, of all threads and processes, in programs and in the system for them.
    wall_s : float
        Seconds that passed; of the longest one where several nodes were merged.
    peak_bytes : int
        Largest resident memory of any single process.
    running : int
        Processes that went on when the program had ended: what they took later does not count.
    nodes : tuple of Machine
        Where it ran; each type of node once.
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
    running: Bytes = 0
    nodes: Annotated[tuple[Machine, ...], msgspec.Meta(min_length=1)]

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU: user and system."""
        return self.user_s + self.system_s

    @property
    def peak_gb(self) -> float:
        """Largest resident memory of any single process in GB (1e9 bytes)."""
        return self.peak_bytes / 1e9

    def to_json(self) -> str:
        """The file as text, indented, with a line break at its end."""
        found = msgspec.to_builtins(self)
        shown = {"schema_version": self.schema_version, "truecost": self.truecost, **found}
        return msgspec.json.format(msgspec.json.encode(shown), indent=2).decode() + "\n"


def ending(status: int) -> str:
    """How a program ended, in words: `exit status 3`, `signal 9, SIGKILL`."""
    if status >= 0:
        return f"exit status {status}"
    names = {int(number): number.name for number in signal.Signals}
    return ", ".join(filter(None, (f"signal {-status}", names.get(-status))))
