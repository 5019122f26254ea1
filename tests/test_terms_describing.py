"""Tables by query, curves and what reports draw of a search, against brute force."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from searches import (
    all_trials,
    brute_cnxe,
    brute_twv,
    random_search,
    rates,
    reference_of,
    search_of,
)
from truecost.running import score
from truecost.tasks.terms.describing import describe
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.tables import per_query

SEARCH = tc.Application.detection(100, 1, 0.00015)
SEEDS = st.integers(0, 10_000)


def described(search, replicates=200, **how):
    scoring = tc.Scoring(SEARCH, (), tc.Plan(replicates, seed=1), choices=TermsScoring(**how))
    return describe(search, scoring, {})


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_table_by_query_makes_the_rows(seed):
    search = random_search(seed)
    if not (search.reference.targets_by_query > 0).any():
        return
    table = per_query(search, SEARCH)
    rows = {r.measure: r for r in score(search, tc.Scoring(SEARCH, plan=tc.Plan(2)))}
    mean = table.filter(pl.col("targets") > 0).select(pl.col(pl.Float64).mean()).row(0, named=True)
    assert mean["twv"] == pytest.approx(rows["atwv"].value, abs=1e-9)
    assert mean["optimum"] == pytest.approx(rows["otwv"].value, abs=1e-9)
    assert mean["supremum"] == pytest.approx(rows["stwv"].value, abs=1e-12)
    assert mean["p_miss"] == pytest.approx(rows["p_miss"].value, abs=1e-12)
    assert mean["p_fa"] == pytest.approx(rows["p_fa"].value, abs=1e-12)
    llr, classes, queries = all_trials(search, search.lowest)
    for q in np.unique(queries):
        own = brute_cnxe(llr[queries == q], classes[queries == q], SEARCH.effective_prior)
        assert table["cnxe"][int(q)] == pytest.approx(own, rel=1e-10)
    nothing = table.filter(pl.col("targets") == 0)
    assert nothing["twv"].null_count() == nothing.height
    assert table.columns[-1] == "length"


def test_the_curve_goes_through_the_rates_at_its_thresholds():
    search = random_search(4, queries=20, documents=10, detections=400, ties=False)
    curve = described(search).curve
    assert list(curve.thresholds) == sorted(curve.thresholds)
    for k in range(0, len(curve.thresholds), 7):
        chosen = search.score >= curve.thresholds[k] - 1e-6
        miss, false = rates(search, chosen)
        assert curve.p_miss[k] == pytest.approx(miss, abs=1e-6)
        assert curve.p_fa[k] == pytest.approx(false, abs=1e-6)
        value = brute_twv(search, chosen, SEARCH.beta)
        assert curve.twv[k] == pytest.approx(value, abs=1e-5)
        assert curve.twv_lower[k] <= curve.twv[k] + 0.2
        assert curve.twv_lower[k] <= curve.twv_upper[k]
    assert len(curve.det_p_fa) == len(curve.det_lower) == len(curve.det_upper)
    assert max(curve.det_upper) <= 1


def test_the_queries_that_cost_most_have_intervals_over_documents():
    search = random_search(11, queries=30, documents=15, detections=200)
    found = described(search, replicates=500)
    assert [w.twv for w in found.worst] == sorted(w.twv for w in found.worst)
    table = per_query(search, SEARCH)
    names = table["query"].to_list()
    for w in found.worst:
        assert table["twv"][names.index(w.query)] == pytest.approx(w.twv)
        assert w.lower <= w.twv <= w.upper
        one = np.zeros(search.frame.height, bool)
        one[names.index(w.query)], one[30:] = True, True
        how = TermsScoring(factors="document")
        plan = tc.Plan(500, seed=1)
        scoring = tc.Scoring(SEARCH, ("atwv",), plan, method="percentile", choices=how)
        [row] = score(search.take(one), scoring)
        assert (w.lower, w.upper) == pytest.approx((row.lower, row.upper), abs=1e-9)


def test_bins_lie_on_the_diagonal_for_true_likelihood_ratios():
    rng = np.random.default_rng(2)
    reference = reference_of(np.full((20, 5), 60), 2000.0)
    targets, wrong = reference.targets.height, 20 * (10_000 - 300)
    target = np.concatenate([np.arange(targets), np.full(wrong, -1)])
    query = np.concatenate([reference.targets["query"].to_numpy(), np.repeat(range(20), 9700)])
    score = 2 * rng.normal(np.where(target >= 0, 1.0, -1.0))
    search = search_of(reference, query, np.zeros(len(query), int), score, score > 1, target)
    bins = described(search, replicates=2, llr=True).bins
    assert sum(b.targets for b in bins) == targets
    inner = bins[1:-1]  # the outermost are wide
    assert all(b.lower - 0.2 < b.score < b.upper + 0.2 for b in inner)


def test_nothing_submitted_has_no_curve():
    found = described(search_of(reference_of([[2], [1]]), [], [], [], [], []))
    assert found.curve is None
    assert found.bins == ()
    assert found.gamma is None
    assert found.lowest is None
    assert [w.twv for w in found.worst] == [0, 0]


def test_a_query_that_every_document_holds_is_in_the_table():
    """Its value enters ATWV, so it stands in the table by query and among the worst."""
    reference = reference_of([[1, 1, 1], [1, 0, 0]], 1.0, trial="document")
    search = search_of(reference, [0, 1, 1], [0, 0, 1], [2.0, 1.0, 0.5], [True] * 3, [0, 3, -1])
    table = per_query(search, SEARCH)
    [row] = score(search, tc.Scoring(SEARCH, ("atwv",), tc.Plan(20)))
    assert table["twv"][0] == pytest.approx(1 / 3)
    assert table["twv"].mean() == pytest.approx(row.value)
    assert len(described(search).worst) == 2
