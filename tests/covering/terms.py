"""Term-weighted values and entropies of searches, queries resampled."""

from functools import cache, partial

import numpy as np

import truecost as tc
from covering.cells import Cell
from test_terms_coverage import APPLICATION, evaluation
from truecost.running import score
from truecost.tasks.terms.options import TermsScoring

MEASURES = ("atwv", "mtwv", "p_miss", "cnxe", "min_cnxe")


def cells():
    """Queries of varying difficulty and number of occurrences in 400 documents."""
    for queries in (20, 40, 100):
        yield Cell("terms", f"{queries} queries", truth, partial(drawn, queries=queries))


def rows(search, plan):
    """The measures of a search."""
    how = TermsScoring(factors="query")
    return score(search, tc.Scoring(APPLICATION, MEASURES, plan, jobs=1, choices=how))


@cache
def truth():
    """Means over evaluations of very many queries."""
    rng = np.random.default_rng(7)
    found = [rows(evaluation(rng, 2000, 400), tc.Plan(2, seed=0)) for _ in range(8)]
    return {r.label: float(np.mean([f[k].point for f in found])) for k, r in enumerate(found[0])}


def drawn(rng, plan, queries):
    """One evaluation."""
    return rows(evaluation(rng, queries, 400), plan)
