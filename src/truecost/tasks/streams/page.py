"""What the page of systems on streams shows."""

from truecost.report.resampled import resampled_of
from truecost.report.sections import comparison, gates, subsets
from truecost.task import Naive, Page
from truecost.tasks.streams.curve_sections import over_the_stream, streams
from truecost.tasks.streams.online_advice import remarks, verdict
from truecost.tasks.streams.online_store import frame_of_streams
from truecost.tasks.streams.online_verdict import lead, line_of, main_of, titles
from truecost.tasks.streams.sections import (
    before_and_after,
    by_budget,
    drawn_of,
    passive_and_active,
)

COSTS = "act_dcf"  # the naive baseline decides; by all other measures it asks about everything


def by_hand(measure: str) -> str:
    """What the naive baseline does; that depends on the measure."""
    both = "rejecting or accepting everything"
    return both if measure == COSTS else "labelling everything by hand"


PAGE = Page(
    sections=(
        *(before_and_after, by_budget, over_the_stream, streams, passive_and_active),
        *(subsets, comparison, gates),
    ),
    main=main_of,
    titles=titles,
    lead=lead,
    verdict=verdict,
    line=line_of,
    remarks=remarks,
    drawn=drawn_of,
    named=("strategy", "budget"),
    resampled=resampled_of,
    naive=Naive(output=by_hand),
    curves=frame_of_streams,
)
