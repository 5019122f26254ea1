"""What the page of translations shows."""

from truecost.report.item_page import item_page
from truecost.task import Reading
from truecost.tasks.translation.counting import COUNTING

TEXT = "Words of the output that no reference has stand in brackets."
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT, columns=False))
