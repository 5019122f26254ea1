"""What the page of transcripts shows."""

from truecost.report.item_page import item_page
from truecost.task import Reading
from truecost.tasks.transcripts.counting import COUNTING

TEXT = (
    "S, D and I stand below a substitution, a deletion and an insertion, *** where "
    "a side has no word."
)
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT))
