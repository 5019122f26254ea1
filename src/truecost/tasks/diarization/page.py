"""What the page of diarizations shows."""

from truecost.outputs.diarization import COUNTING
from truecost.outputs.page import item_page
from truecost.report.story import Reading

TEXT = (
    "Below each stands which speaker of the output was taken for which, then the "
    "stretches of time with most error."
)
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT))
