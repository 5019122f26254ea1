"""What the page of translations shows."""

from truecost.outputs.page import item_page
from truecost.outputs.translation import COUNTING
from truecost.report.story import Reading

TEXT = "Words of the output that no reference has stand in brackets."
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT, columns=False))
