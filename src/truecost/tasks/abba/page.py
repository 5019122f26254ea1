"""What the page of AB/BA shows."""

from truecost.report.sections import gates
from truecost.task import Naive, Page
from truecost.tasks.abba.deployed_checks import checks, pointed_out
from truecost.tasks.abba.plane_sections import by_threshold, trade_off
from truecost.tasks.abba.sections import (
    machine_against_human,
    ratios,
    ratios_by_subset,
    what_was_collected,
)
from truecost.tasks.abba.verdict import about_ratios, remarks_of, verdict

PAGE = Page(
    sections=(
        *(ratios, trade_off, by_threshold, ratios_by_subset, gates),
        *(what_was_collected, machine_against_human, checks),
    ),
    lead=about_ratios,
    verdict=verdict,
    remarks=remarks_of,
    problems=pointed_out,
    naive=Naive(column="no change", said="{} is no change"),
)
