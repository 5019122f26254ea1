"""`[transcripts]`: how the texts of reference and system are made comparable."""

from typing import Annotated, ClassVar

from truecost.names import Outside
from truecost.options import Option, PartialTable


class TranscriptsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[transcripts]`: how texts are made comparable."""

    __table__: ClassVar[str] = "transcripts"

    normalise: Annotated[
        tuple[str, ...],
        Option(
            help="Step, or steps separated by commas, in their order: truecost list normalisations",
            split=True,
        ),
    ] = ()
    by: Annotated[
        str | None, Option(help="Columns that name an utterance, joined by +.", shown="the id")
    ] = None
    outside: Annotated[
        Outside | None,
        Option(help="What to do with CTM words in no segment of the reference.", default="error"),
    ] = None
