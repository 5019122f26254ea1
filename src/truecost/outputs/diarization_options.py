"""`[diarization]`: which times are scored, and how speakers are mapped."""

from typing import Annotated, ClassVar

from truecost.names import SpeakerMapping
from truecost.options import Option, PartialTable


class DiarizationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[diarization]`: which times are scored, and how speakers are mapped."""

    __table__: ClassVar[str] = "diarization"

    collar: Annotated[
        float | None,
        Option(
            help="Seconds on each side of a reference boundary that are not scored.",
            shown="0",
            ge=0,
            le=10,
            thousandths=True,
        ),
    ] = None
    skip_overlap: Annotated[
        bool | None, Option(help="Leave out where several reference speakers speak.")
    ] = None
    mapping: Annotated[
        SpeakerMapping | None,
        Option(
            help="Map speakers by scored time, or (evaluated) with collars and overlap too, as "
            "md-eval does.",
            default="scored",
            needs={"measure": ("der", "missed", "false_alarm", "confusion")},
        ),
    ] = None
    uem: Annotated[
        str | None,
        Option(
            help="File with the regions that are scored.",
            shown="the extent of reference and output",
            file=True,
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Option(
            help="Seconds on each side of a boundary of speech that speech measures leave out.",
            ge=0,
            le=10,
            thousandths=True,
        ),
    ] = None
    merge_gaps: Annotated[
        float | None,
        Option(
            help="Gaps in speech shorter than this many seconds count as speech, for speech "
            "measures.",
            ge=0,
            le=86400,
        ),
    ] = None
