"""File readers and writers: one module for each family of formats; errors name the file and the
line.

`read(path)` returns a `Table`: named columns, and a matrix of scores where the file has arrays. The
task to which a column is mapped defines its meaning. `write(table, path)` writes a table.
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
