"""The page of diarizations."""

from truecost.outputs.diarization import COUNTING
from truecost.outputs.page import item_page
from truecost.report.story import Reading

TEXT = "Below each recording: the mapping of speakers, then the stretches of time with most errors."
PAGE = item_page(Reading(parts=tuple(COUNTING.worst), text=TEXT))
