"""Processing resources: what a program takes, and the load that indexing and searching make.

`record` measures a program; `read_resources`, `phase_of` and `merge` read records of one or several
nodes; `load_of` gives the speed factors and the processing load of paper 002, section 4.3, and
`rows_of` its rows. Everything is in seconds and bytes; a GB is 1e9 bytes.

Names are imported when they are first used: a program that is measured must not see what polars
puts into the environment.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.resources.load import Load, load_of, rows_of
    from truecost.resources.reading import merge, phase_of, read_resources
    from truecost.resources.recording import record
    from truecost.resources.records import Machine, Resources

_HOME = {
    "load": ("Load", "load_of", "rows_of"),
    "reading": ("merge", "phase_of", "read_resources"),
    "recording": ("record",),
    "records": ("Machine", "Resources"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Load",
    "Machine",
    "Resources",
    "load_of",
    "merge",
    "phase_of",
    "read_resources",
    "record",
    "rows_of",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE[name]}"), name)
