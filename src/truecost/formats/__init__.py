"""File readers and writers: one module per family of formats; errors name the file and the line.

`read(path)` gives a `Table`: named columns, and for arrays a matrix of scores. The task that maps a
column decides what it means. `write(table, path)` writes one.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.formats.opening import read_bytes as read_bytes
    from truecost.formats.opening import sha256 as sha256
    from truecost.formats.reading import read as read
    from truecost.formats.table import Table as Table
    from truecost.formats.writers import write as write
    from truecost.names import STANDARD_INPUT as STANDARD_INPUT
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
