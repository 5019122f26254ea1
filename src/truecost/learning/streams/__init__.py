"""Where streams come from: tables of features, corpora, generators of drift; and their order.

`streams_of(source, batch, seed)` is all that a study needs. `read_items` reads the data once, and
`divided` makes streams of them, for callers that need several seeds.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.streams.items import Items as Items
    from truecost.learning.streams.making import divided as divided
    from truecost.learning.streams.making import read_items as read_items
    from truecost.learning.streams.making import streams_of as streams_of
    from truecost.learning.streams.source import KINDS as KINDS
    from truecost.learning.streams.source import NAMES as NAMES
    from truecost.learning.streams.source import ORDERS as ORDERS
    from truecost.learning.streams.source import Source as Source
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".items": ("Items",),
            ".making": ("divided", "read_items", "streams_of"),
            ".source": ("KINDS", "NAMES", "ORDERS", "Source"),
        },
    )
