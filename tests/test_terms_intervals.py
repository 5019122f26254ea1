"""Default intervals of searches for terms: every measure, every way of resampling, and none wrong.

A search that misses nothing is no proof that it never would: what its intervals say is compared
with sums by hand.
"""

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

import truecost as tc
from searches import random_search, reference_of, search_of
from truecost.errors import UsageError
from truecost.prices import COSTS
from truecost.running import score
from truecost.tasks.measures import registry
from truecost.tasks.terms.options import TermsScoring

APPLICATION = tc.Application.detection(1, 1, 0.05)
NAMES = tuple(
    m.name for m in registry().values() if "term_targets" in m.parts and m.name not in COSTS
)
WAYS = ({}, {"factors": "document"}, {"factors": "query,document"}, {"query_unit": "length"})


def rows_of(search, measures=NAMES, replicates=100, method="auto", **how):
    plan, terms = tc.Plan(replicates, seed=1), TermsScoring(**how)
    scoring = tc.Scoring(APPLICATION, measures, plan, method=method, choices=terms)
    return {row.measure: row for row in score(search, scoring)}


def made(missed=(), false=()):
    """A search that finds all targets but some, with false alarms of some queries."""
    counts = np.random.default_rng(2).poisson(2, (12, 8))
    counts[:, 0] += 1
    reference = reference_of(counts, 100.0)
    found = np.setdiff1d(np.arange(reference.targets.height), missed)
    query, place = (reference.targets[c].to_numpy()[found] for c in ("query", "place"))
    query, place = np.append(query, false).astype(int), np.append(place, [0] * len(false))
    target = np.append(found, [-1] * len(false)).astype(int)
    score = np.where(target < 0, 1.5, 2 + np.random.default_rng(3).random(len(target)))
    return search_of(reference, query, place.astype(int), score, score > 0, target)


@pytest.mark.parametrize("how", WAYS, ids=["query", "document", "both", "tied"])
def test_every_measure_has_an_interval_around_its_value(how):
    found = rows_of(random_search(3, queries=14, documents=9), **how)
    assert set(found) == set(NAMES)
    for name, row in found.items():
        assert row.lower <= row.value <= row.upper, name
        # Both lengths of queries have 38 misses each: leaving one out shows no difference.
        assert row.lower < row.upper or (name, how) == ("n_missed", WAYS[3])
        assert "|auto:0.95|icc:0.1|" in row.signature


def percentiles(replicates):
    """Linear quantiles (1 -+ 0.95) / 2 of the replicates that are defined, written out."""
    drawn = np.sort(replicates[~np.isnan(replicates)])
    ends = []
    for tail in ((1 - 0.95) / 2, (1 + 0.95) / 2):
        place = tail * (len(drawn) - 1)
        low, high = drawn[int(np.floor(place))], drawn[int(np.ceil(place))]
        ends.append(low + (place - np.floor(place)) * (high - low))
    return ends


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_other_methods_are_what_they_were(method):
    for row in rows_of(random_search(3, queries=14, documents=9), method=method).values():
        if method == "percentile":
            assert [row.lower, row.upper] == percentiles(row.replicates)
        assert f"|{method}:0.95|truecost" in row.signature


@pytest.mark.parametrize("how", WAYS[1:3], ids=["document", "both"])
def test_bca_names_what_else_there_is(how):
    with pytest.raises(UsageError, match="resampled queries only: use the method auto or percent"):
        rows_of(random_search(3), method="bca", **how)


@pytest.mark.parametrize("how", WAYS[:3], ids=["query", "document", "both"])
def test_no_error_is_no_proof(how):
    found = rows_of(made(), **how)
    for name in ("atwv", "mtwv", "otwv", "stwv", "map"):
        assert found[name].value == pytest.approx(1)
        assert 0.8 < found[name].lower < 0.96
    assert [found[name].value for name in ("p_miss", "p_fa", "n_missed", "n_false_alarms")] == [
        0
    ] * 4
    assert 0.04 < found["p_miss"].upper < 0.2
    kish = 12 if "factors" not in how else 8
    assert found["n_missed"].upper == pytest.approx(3.7 * kish / (kish - 1))


def test_misses_of_queries_that_count_alike_are_a_rate():
    """No miss: the upper limit of a binomial of Kish's targets over the assumed design effect."""
    search = made()
    targets = search.reference.targets_by_query
    size = len(targets) ** 2 / (1 / targets).sum()
    design = 1 + 0.1 * (size / 12 - 1)
    from scipy.special import ndtri, stdtrit

    effective = max(size / design * (ndtri(0.025) / stdtrit(11, 0.025)) ** 2, 12)
    upper = beta_distribution.ppf(0.975, 0.75, effective + 0.25)
    assert rows_of(search)["p_miss"].upper == pytest.approx(upper)


@pytest.mark.parametrize("how", WAYS[:3], ids=["query", "document", "both"])
def test_errors_of_one_query_have_intervals(how):
    """Without that query there is none, so that no logarithm can tell how far it may be off."""
    for search in (made((0,)), made((0, 1)), made((), (3,)), made((0,), (3, 3))):
        for name, row in rows_of(search, **how).items():
            if name == "min_cnxe":  # 0 without the miss, and nothing there to count
                continue
            assert row.reason is None
            assert row.lower <= row.value <= row.upper, name
            assert row.lower < row.upper, name


def test_false_alarms_of_one_query_are_few_and_not_none():
    found = rows_of(made((), (3, 3)))
    row, alone = found["n_false_alarms"], rows_of(made((), (3,)))["n_false_alarms"]
    assert (row.lower, row.upper) == pytest.approx((2 * alone.lower, 2 * alone.upper))
    assert 0 < alone.lower < 0.1
    assert 3.7 < alone.upper < 5.6
    assert found["p_fa"].upper / found["p_fa"].value == pytest.approx(row.upper / row.value)


def test_shares_end_at_0_and_1():
    """Two units: t limits go far, but no rate above 1 and no recall below 0."""
    found = rows_of(random_search(3, queries=14, documents=9), query_unit="length")
    for name in ("p_miss", "p_fa", "stwv", "mtwv", "otwv", "map", "min_cnxe"):
        assert found[name].lower >= 0, name
        assert found[name].upper <= 1, name
    assert found["cnxe"].upper > 1


def test_queries_that_hold_more_weigh_the_same():
    """Documents count by their trials, queries one each: also where one has most detections."""
    search = random_search(3, queries=14, documents=9)
    for row in rows_of(search).values():
        kept = {"query": int((search.reference.targets_by_query > 0).sum())}
        assert row.left_out[0].kish == kept["query"], row.measure
    trials = search.reference.documents["trials"].to_numpy()
    row = rows_of(search, ("mtwv",), factors="document")["mtwv"]
    assert row.left_out[0].kish == pytest.approx(trials.sum() ** 2 / (trials**2).sum())
