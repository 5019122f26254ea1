"""What the page of transcripts shows."""

from truecost.outputs.page import item_page
from truecost.outputs.transcripts import COUNTING
from truecost.report.story import Reading

TEXT = (
    "S, D and I stand below a substitution, a deletion and an insertion, *** where "
    "a side has no word."
)
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT))
