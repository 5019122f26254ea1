"""The page of translations."""

from truecost.outputs.page import item_page
from truecost.outputs.translation import COUNTING
from truecost.report.story import Reading

TEXT = "Words of the output that are in no reference are in brackets."
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT, columns=False))
