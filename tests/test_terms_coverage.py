"""How often the default intervals of term searches hold the truth, in simulated evaluations.

Queries (and documents) are drawn from a world in which some are harder than others; the truth is
that of very many of them.
"""

import numpy as np
import pytest

import truecost as tc
from searches import reference_of, search_of
from truecost.running import score
from truecost.tasks.terms.options import TermsScoring

pytestmark = pytest.mark.long
APPLICATION = tc.Application.detection(100, 1, 0.00015)
SECONDS = 600.0


def evaluation(rng, queries, documents):
    """A search for queries of varying difficulty in documents of varying difficulty."""
    hard = rng.normal(0, 0.8, queries)
    noise = rng.normal(0, 0.5, documents)
    rate = rng.gamma(1.0, 1.0, queries)[:, None] * rng.gamma(4.0, 0.25, documents) * 0.5
    counts = rng.poisson(rate)
    reference = reference_of(counts, SECONDS)
    rows = reference.targets
    q, d = rows["query"].to_numpy(), rows["place"].to_numpy()
    score = rng.normal(2.5 - hard[q] - noise[d])
    found = score > 0
    false = rng.poisson(np.exp(0.5 * hard[:, None] + 0.5 * noise[None, :]) * 0.5)
    wrong_q, wrong_d = (np.repeat(x.ravel(), false.ravel()) for x in np.indices(false.shape))
    wrong_score = rng.exponential(0.7, len(wrong_q))
    query = np.concatenate([q[found], wrong_q])
    place = np.concatenate([d[found], wrong_d])
    scores = np.concatenate([score[found], wrong_score])
    target = np.concatenate([np.flatnonzero(found), np.full(len(wrong_q), -1)])
    return search_of(reference, query, place, scores, scores > 1.5, target)


def values(search, resample, replicates=2):
    measures = ("atwv", "mtwv", "p_miss", "cnxe", "min_cnxe")
    plan, how = tc.Plan(replicates, seed=0), TermsScoring(factors=resample)
    return score(search, tc.Scoring(APPLICATION, measures, plan, choices=how))


@pytest.mark.parametrize(
    ("queries", "documents", "resample", "least"),
    [
        (30, 400, "query", 0.92),
        (60, 400, "query", 0.92),
        (600, 60, "document", 0.9),
        (60, 60, "query,document", 0.93),
    ],
)
def test_coverage(queries, documents, resample, least):
    """Where one factor is drawn the other is large, so that it hardly varies."""
    rng = np.random.default_rng(7)
    truth = np.mean(
        [[r.value for r in values(evaluation(rng, 2000, 400), "query")] for _ in range(8)], axis=0
    )
    held = []
    for _ in range(200):
        rows = values(evaluation(rng, queries, documents), resample, 300)
        held.append([r.lower <= t <= r.upper for r, t in zip(rows, truth, strict=True)])
    found = np.mean(held, axis=0)
    assert (found >= least).all(), found
