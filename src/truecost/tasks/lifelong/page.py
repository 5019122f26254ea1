"""What the page of life cycles shows."""

from truecost.report.resampled import resampled_of
from truecost.report.sections import comparison, gates, subsets
from truecost.report.story import Story
from truecost.task import Naive, Page
from truecost.tasks.lifelong.help_sections import (
    against_cost,
    forgetting,
    lifelong_set,
    with_penalty,
)
from truecost.tasks.lifelong.lifelong_store import frame_of_lives
from truecost.tasks.lifelong.newest_rows import main_of, newest, nothing_drawn
from truecost.tasks.lifelong.sections import across_time, how_it_adds_up, under_policies
from truecost.tasks.lifelong.verdict import about_lives, titles, verdict


def main(story: Story) -> str:
    """Label of the measure that the page speaks of."""
    return main_of(story.whole or story.rows)


def frozen(measure: str) -> str:
    """What systems are held against."""
    del measure
    return "the initial version, kept frozen"


PAGE = Page(
    sections=(
        *(under_policies, across_time, how_it_adds_up, with_penalty, forgetting),
        *(lifelong_set, against_cost, subsets, comparison, gates),
    ),
    main=main,
    titles=titles,
    lead=about_lives,
    verdict=verdict,
    newest=newest,
    drawn=nothing_drawn,
    named=("version",),
    resampled=resampled_of,
    naive=Naive(column="reference", said="", output=frozen),
    curves=frame_of_lives,
)
