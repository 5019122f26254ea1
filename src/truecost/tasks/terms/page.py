"""What the page of searches for terms shows."""

from truecost.report.sections import comparison, gates, subsets
from truecost.task import Naive, Page
from truecost.tasks.terms.resource_sections import resources
from truecost.tasks.terms.sections import (
    all_queries,
    det_of_terms,
    scores,
    side_by_side,
    value_by_threshold,
    worst_queries,
)
from truecost.tasks.terms.verdict import best_first, drawn, lead, line


def rejecting(measure: str) -> str:
    """What the naive baseline does."""
    del measure
    return "rejecting everything"


PAGE = Page(
    sections=(
        *(side_by_side, det_of_terms, value_by_threshold, scores),
        *(subsets, comparison, gates, all_queries, worst_queries, resources),
    ),
    lead=lead,
    line=line,
    rows=best_first,
    drawn=drawn,
    naive=Naive(output=rejecting),
)
