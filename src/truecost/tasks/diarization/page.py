"""What the page of diarizations shows."""

from truecost.report.item_page import item_page
from truecost.task import Reading
from truecost.tasks.diarization.counting import COUNTING

TEXT = (
    "Below each stands which speaker of the output was taken for which, then the "
    "stretches of time with most error."
)
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT))
