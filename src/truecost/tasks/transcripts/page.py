"""The page of transcripts."""

from truecost.outputs.page import item_page
from truecost.outputs.transcripts import COUNTING
from truecost.report.story import Reading

TEXT = "S, D and I mark a substitution, a deletion and an insertion; *** marks a missing word."
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT))
