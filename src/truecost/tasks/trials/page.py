"""What the page of trials shows."""

from truecost.core.results import Row
from truecost.report.curves import frame_of_outcome
from truecost.report.sections import comparison, gates, runs, subsets
from truecost.report.story import Story
from truecost.task import Naive, Page
from truecost.tasks.trials.cost_sections import bars, line, main_of, remarks, titles
from truecost.tasks.trials.curve_sections import calibration, det, threshold
from truecost.tasks.trials.method_sections import claims, variance
from truecost.tasks.trials.spurious_sections import is_predictor, spurious


def costs(story: Story) -> tuple[str, ...]:
    """The measures whose differences are drawn."""
    return story.costs


def is_system(row: Row) -> bool:
    """Whether a row is of a system, no predictor that knows only what should tell nothing."""
    return not is_predictor(row)


def best_constant(measure: str) -> str:
    """What the naive baseline puts out."""
    del measure
    return "the best constant answer"


PAGE = Page(
    sections=(
        *(claims, bars, spurious, runs, variance, det, threshold),
        *(calibration, subsets, comparison, gates),
    ),
    main=main_of,
    titles=titles,
    line=line,
    remarks=remarks,
    judged=is_system,
    drawn=costs,
    conventions=False,
    naive=Naive(output=best_constant),
    curves=frame_of_outcome,
    draws=True,
)
