"""Processing resources: what a program takes, and the load that indexing and searching make.

`record` measures a program; `read_resources`, `phase_of` and `merge` read records of one or several
nodes; `load_of` gives the speed factors and the processing load of Rodriguez-Fuentes & Penagarikano
2013, section 4.3, and `rows_of` its rows. Everything is in seconds and bytes; a GB is 1e9 bytes.

Names are imported when they are first used: a program that is measured must not see what polars
puts into the environment.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.resources.loads import Load as Load
    from truecost.resources.loads import load_of as load_of
    from truecost.resources.loads import rows_of as rows_of
    from truecost.resources.recording import record as record
    from truecost.resources.records import Machine as Machine
    from truecost.resources.records import Resources as Resources
    from truecost.resources.records import merge as merge
    from truecost.resources.records import phase_of as phase_of
    from truecost.resources.records import read_resources as read_resources
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
