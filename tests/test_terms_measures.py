"""Measures of term searches: brute force, laws, identities of paper 002, and the metric unit test.

Replicates are checked against searches in which documents are written out as often as they weigh.
"""

import csv
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import truecost as tc
from searches import (
    all_trials,
    brute_cnxe,
    brute_mtwv,
    brute_otwv,
    brute_twv,
    random_search,
    rates,
    reference_of,
    repeated,
    search_of,
)
from truecost.core.comparison import compare
from truecost.prices import COSTS
from truecost.running import score
from truecost.tasks.terms.entropy import prior_entropy
from truecost.tasks.terms.options import TermsScoring

SEARCH = tc.Application.detection(100, 1, 0.00015)
SEEDS = st.integers(0, 10_000)


def scored(search, *measures, application=SEARCH, replicates=2, compat=(), **how):
    """Rows by measure."""
    plan = tc.Plan(replicates, seed=1)
    scoring = tc.Scoring(application, measures, plan, choices=TermsScoring(**how))
    rows = score(search, scoring)
    return {f"{r.measure}{':' + v if (v := r.parameters.get('variant')) else ''}": r for r in rows}


def has_targets(search):
    return bool((search.reference.targets_by_query > 0).any())


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.booleans())
def test_values_are_those_of_brute_force(seed, ties):
    search = random_search(seed, ties=ties)
    if not has_targets(search):
        return
    rows = scored(search, "atwv", "mtwv", "otwv", "stwv", "p_miss", "p_fa", "n_missed", "n_correct")
    miss, false = rates(search, search.accepted)
    assert rows["p_miss"].value == pytest.approx(miss, abs=1e-12)
    assert rows["p_fa"].value == pytest.approx(false, abs=1e-12)
    assert rows["atwv"].value == pytest.approx(1 - miss - SEARCH.beta * false, abs=1e-10)
    best, at = brute_mtwv(search, SEARCH.beta)
    assert rows["mtwv"].value == pytest.approx(best, abs=1e-10)
    assert rows["mtwv"].threshold == (None if np.isinf(at) else at)
    assert rows["otwv"].value == pytest.approx(brute_otwv(search, SEARCH.beta), abs=1e-10)
    assert rows["stwv"].value == pytest.approx(
        1 - rates(search, np.ones(len(search), bool))[0], abs=1e-12
    )
    hits = search.accepted & search.is_target
    assert rows["n_correct"].value == hits.sum()
    assert rows["n_missed"].value == search.reference.targets.height - hits.sum()
    assert rows["stwv"].value >= rows["otwv"].value >= rows["mtwv"].value - 1e-12


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(["query", "document", "query,document"]))
def test_replicates_are_those_of_data_written_out(seed, resample):
    search = random_search(seed, queries=5, documents=4, detections=30)
    if not has_targets(search):
        return
    measures = ("atwv", "mtwv", "otwv", "stwv", "map", "cnxe:pooled", "cnxe:by_query")
    rows = scored(search, *measures, replicates=3, factors=resample)
    plan, counted = tc.Plan(3, seed=1), search.reference.targets_by_query > 0
    queries = search.reference.queries["query"].to_numpy()[counted]
    drawn = plan.weights({"query": tc.Factor("query", queries)}).block()["query"]
    whole = np.zeros((3, len(counted)))  # queries without targets are not drawn
    whole[:, counted] = drawn
    documents = plan.weights({"document": search.reference.document_units[0]}).block()
    weights = {"query": whole, "document": documents["document"]}
    for r in range(3):
        by_query = weights["query"][r] if resample != "document" else None
        copies = weights["document"][r] if resample != "query" else np.ones(4, int)
        out = repeated(search, copies)
        known = out.reference.targets_by_query > 0
        if not (known & (True if by_query is None else by_query > 0)).any():
            assert np.isnan(rows["atwv"].replicates[r])
            continue
        beta = SEARCH.beta
        atwv = brute_twv(out, out.accepted, beta, by_query)
        assert rows["atwv"].replicates[r] == pytest.approx(atwv, abs=1e-9)
        best, _ = brute_mtwv(out, beta, by_query)
        assert rows["mtwv"].replicates[r] == pytest.approx(best, abs=1e-9)
        assert rows["otwv"].replicates[r] == pytest.approx(
            brute_otwv(out, beta, by_query), abs=1e-9
        )
        scores, classes, queries = all_trials(out, search.lowest)
        of = np.ones(len(scores)) if by_query is None else by_query[queries]
        logit = -SEARCH.threshold
        cost = np.where(
            classes == 1, np.logaddexp(0, -scores - logit), np.logaddexp(0, scores + logit)
        )
        prior = SEARCH.effective_prior
        mean = [np.average(cost[classes == c], weights=of[classes == c]) for c in (0, 1)]
        pooled = (prior * mean[1] + (1 - prior) * mean[0]) / prior_entropy(prior)
        assert rows["cnxe:pooled"].replicates[r] == pytest.approx(pooled, abs=1e-9)


def test_average_precision_is_that_of_the_definition():
    reference = reference_of([[3, 1]])
    search = search_of(reference, [0] * 5, [0] * 5, [5, 4, 4, 3, 2], [True] * 5, [0, 1, -1, -1, 2])
    # 1/1 at 5; the tie at 4 ends at rank 3 with 2 right; the last of 5 with 3 right; 4 targets
    expected = (1 + 2 / 3 + 3 / 5) / 4
    assert scored(search, "map")["map"].value == pytest.approx(expected, abs=1e-15)
    assert scored(search, "map", pooled=True)["map"].value == pytest.approx(expected, abs=1e-15)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_cross_entropy_is_that_of_all_trials_made_real(seed):
    search = random_search(seed, seconds=60)
    if not has_targets(search):
        return
    variants = ("cnxe", "cnxe:by_query", "min_cnxe", "min_cnxe:unconstrained", "cnxe_loss")
    rows = scored(search, *variants)
    llr, classes, queries = all_trials(search, search.lowest)
    prior = SEARCH.effective_prior
    assert rows["cnxe:pooled"].value == pytest.approx(brute_cnxe(llr, classes, prior), rel=1e-12)
    each = [brute_cnxe(llr[queries == q], classes[queries == q], prior) for q in np.unique(queries)]
    assert rows["cnxe:by_query"].value == pytest.approx(np.mean(each), rel=1e-12)
    found = minimize(
        lambda x: brute_cnxe(x[0] * llr + x[1], classes, prior), [0.1, 0.0], method="BFGS"
    )
    assert rows["min_cnxe:unconstrained"].value == pytest.approx(found.fun, abs=1e-6)
    least = found.fun if found.x[0] > 0 else 1.0
    assert rows["min_cnxe:pooled"].value == pytest.approx(least, abs=1e-6)
    loss = rows["cnxe:pooled"].value - rows["min_cnxe:pooled"].value
    assert rows["cnxe_loss:pooled"].value == pytest.approx(loss, abs=1e-12)


def test_scores_of_zero_tell_nothing():
    search = random_search(3)
    zero = search_of(
        search.reference,
        search.query,
        search.place,
        np.zeros(len(search)),
        search.accepted,
        search.target,
    )
    rows = scored(zero, "cnxe", "cnxe:by_query", "min_cnxe")
    assert rows["cnxe:pooled"].value == pytest.approx(1, abs=1e-12)
    assert rows["cnxe:by_query"].value == pytest.approx(1, abs=1e-12)
    assert rows["min_cnxe:pooled"].value == pytest.approx(1, abs=1e-12)
    assert "uninformative" in rows["min_cnxe:pooled"].flags


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.floats(0.1, 10), st.floats(-5, 5))
def test_the_least_cross_entropy_does_not_depend_on_affine_maps(seed, scale, offset):
    search = random_search(seed)
    if not has_targets(search):
        return
    moved = search_of(
        search.reference,
        search.query,
        search.place,
        scale * search.score + offset,
        search.accepted,
        search.target,
    )
    for variant in ("pooled", "by_query", "unconstrained"):
        name = f"min_cnxe:{variant}"
        one, other = (scored(s, name)[name] for s in (search, moved))
        assert one.value == pytest.approx(other.value, abs=1e-9)
        assert one.value <= 1


def test_separable_and_reversed_scores():
    reference = reference_of([[2, 1], [1, 1]])
    right = ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [3, 3, 3, 3, 3.0], [True] * 5, [0, 1, 2, 3, 4])
    best = scored(search_of(reference, *right), "min_cnxe", floor=-3.0)["min_cnxe:pooled"]
    assert best.value == 0
    assert "separated" in best.flags
    upside = search_of(reference, [0, 1], [0, 0], [3.0, 3.0], [True] * 2, [-1, -1])
    rows = scored(upside, "min_cnxe", "min_cnxe:unconstrained", floor=-3.0)
    assert rows["min_cnxe:pooled"].value == 1
    assert "uninformative" in rows["min_cnxe:pooled"].flags


def test_classes_that_meet_in_a_tie():
    """Missed targets stand at the floor beside all the nontargets: the limit of growing gamma."""
    reference = reference_of([[2, 0], [1, 2]], 50.0)
    search = search_of(reference, [0, 1], [0, 1], [3.0, 2.0], [True] * 2, [0, 3])
    prior = SEARCH.effective_prior
    right, wrong = prior * 3 / 5, 1 - prior  # what stands at the floor, by weight
    least = minimize(
        lambda z: right * np.logaddexp(0, -z[0]) + wrong * np.logaddexp(0, z[0]), [-1.0]
    )
    row = scored(search, "min_cnxe", floor=-5.0, replicates=50)["min_cnxe:pooled"]
    assert row.value == pytest.approx(least.fun / prior_entropy(prior), abs=1e-8)
    assert "separated" in row.flags
    assert row.upper > row.lower


@pytest.mark.parametrize("seconds", [300.0, 1e4, 1e6])
@pytest.mark.parametrize("seed", range(8))
def test_rare_targets_far_above_the_floor(seconds, seed):
    """A full Newton step from the start would leave for where the loss is flat."""
    rng = np.random.default_rng(seed)
    reference = reference_of(rng.poisson(1.0, (50, 4)), seconds)
    rows = reference.targets
    found = rng.random(rows.height) < rng.uniform(0.3, 1)
    wrong = int(rng.integers(5, 1500))
    query = np.concatenate([rows["query"].to_numpy()[found], rng.integers(0, 50, wrong)])
    place = np.concatenate([rows["place"].to_numpy()[found], rng.integers(0, 4, wrong)])
    target = np.concatenate([np.flatnonzero(found), np.full(wrong, -1)])
    score = np.round(rng.normal(np.where(target >= 0, rng.uniform(1, 8), 0.0)), seed % 3)
    search = search_of(reference, query, place, score, score > 1, target)
    application = tc.Application.detection(10, 1, 1e-4)
    row = scored(search, "min_cnxe", application=application)["min_cnxe:pooled"]
    prior, logit = application.effective_prior, -application.threshold
    targets = reference.targets_by_query
    others = (reference.trials - targets[targets > 0]).sum()
    used = targets[search.query] > 0
    right, false = search.score[search.is_target], search.score[~search.is_target & used]

    def loss(x):
        z = x[0] * (search.lowest - 1) + x[1]
        scale = [x[0] * (s - 1) + x[1] + logit for s in (right, false)]
        miss = np.logaddexp(0, -scale[0]).sum() + (~search.found).sum() * np.logaddexp(
            0, -z - logit
        )
        wrong = np.logaddexp(0, scale[1]).sum() + (others - len(false)) * np.logaddexp(0, z + logit)
        return prior * miss / targets.sum() + (1 - prior) * wrong / others

    best = min(
        (
            minimize(
                loss,
                start,
                method="Nelder-Mead",
                options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000},
            )
            for start in ([0.1, 0.0], [1.0, -1.0], [3.0, -6.0])
        ),
        key=lambda f: f.fun,
    )
    least = best.fun / prior_entropy(prior) if best.x[0] > 0 else 1.0
    assert row.value == pytest.approx(min(least, 1.0), abs=2e-6)


@pytest.mark.parametrize("unit", ["segment", "document"])
def test_queries_without_nontargets_do_not_enter_cross_entropies(unit):
    """One query occurs in each of the four documents: it has no mean over nontargets."""
    reference = reference_of([[1, 1, 1, 1], [1, 0, 0, 1]], 1.0, trial=unit)
    everything = search_of(reference, [0, 1], [0, 0], [0.0, 0.0], [True] * 2, [0, 4])
    for variant in ("pooled", "by_query"):
        row = scored(everything, f"cnxe:{variant}", f"min_cnxe:{variant}")
        assert row[f"cnxe:{variant}"].value == pytest.approx(1, abs=1e-12)
        assert row[f"min_cnxe:{variant}"].value == pytest.approx(1, abs=1e-12)
    only = search_of(reference_of([[1, 1]], 1.0, trial=unit), [0], [0], [0.0], [True], [0])
    row = scored(only, "cnxe", "atwv")
    assert row["cnxe:pooled"].value is None
    assert row["cnxe:pooled"].reason == "undefined: no query has nontargets"
    assert row["atwv"].value == 0.5


def test_one_newton_step_is_near_a_full_fit():
    """Error of a replicate against a full refit, in standard deviations of the replicates."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0, (60, 8))
    reference = reference_of(counts, 300.0)
    rows = reference.targets
    found = rng.random(rows.height) < 0.8
    wrong = 3000
    query = np.concatenate([rows["query"].to_numpy()[found], rng.integers(0, 60, wrong)])
    place = np.concatenate([rows["place"].to_numpy()[found], rng.integers(0, 8, wrong)])
    target = np.concatenate([np.flatnonzero(found), np.full(wrong, -1)])
    score = rng.normal(np.where(target >= 0, 3.0, -1.0))
    search = search_of(reference, query, place, score, score > 1, target)
    row = scored(search, "min_cnxe", replicates=200)["min_cnxe:pooled"]
    llr, classes, queries = all_trials(search, search.lowest)
    weights = tc.Plan(200, seed=1).weights({"query": reference.query_factor}).block()["query"]
    from truecost.calibration import Affine

    prior = SEARCH.effective_prior
    errors = []
    for r in range(20):
        own = weights[r][queries].astype(float)
        fit = Affine.fit(llr, classes, prior=prior, weights=own)
        z = fit(llr) - SEARCH.threshold
        cost = np.where(classes == 1, np.logaddexp(0, -z), np.logaddexp(0, z))
        mean = [np.average(cost[classes == c], weights=own[classes == c]) for c in (0, 1)]
        full = (prior * mean[1] + (1 - prior) * mean[0]) / prior_entropy(prior)
        errors.append(row.replicates[r] - full)
    assert np.abs(errors).max() < 0.01 * row.replicates.std()


class TestIdentities:
    """Equations 12-16 and 19-20 hold when all queries have equally many occurrences, only then."""

    def counts(self, search):
        rows = scored(search, "n_missed", "n_false_alarms", "n_targets")
        return (rows[n].value for n in ("n_missed", "n_false_alarms", "n_targets"))

    def even(self, per_query):
        reference = reference_of(per_query)
        rng = np.random.default_rng(1)
        rows, wrong = reference.targets, 40
        found = rng.random(rows.height) < 0.6
        queries = reference.queries.height
        query = np.concatenate([rows["query"].to_numpy()[found], rng.integers(0, queries, wrong)])
        target = np.concatenate([np.flatnonzero(found), np.full(wrong, -1)])
        place = np.zeros(len(query), int)
        score = rng.random(len(query))
        return search_of(reference, query, place, score, score > 0.4, target)

    def ratio(self, search, application):
        """Eq. 15: C_norm from the counts alone."""
        missed, false, true = self.counts(search)
        n, q = search.reference.trials, search.reference.queries.height
        own = true / (q * n)
        p = application.prior
        factor = own / p * (1 - p) / (1 - own) * application.cost_fa / application.cost_miss
        return (missed + factor * false) / true

    def test_equation_15(self):
        even, odd = self.even([[3, 2], [4, 1], [5, 0]]), self.even([[3, 2], [1, 1], [5, 4]])
        value = scored(even, "atwv")["atwv"].value
        assert 1 - value == pytest.approx(self.ratio(even, SEARCH), abs=1e-12)
        assert abs(1 - scored(odd, "atwv")["atwv"].value - self.ratio(odd, SEARCH)) > 1e-3

    def test_equation_16(self):
        even = self.even([[3, 2], [4, 1], [5, 0]])
        missed, false, true = self.counts(even)
        empirical = tc.Application.detection(3, 1, 5 / even.reference.trials)
        value = scored(even, "atwv", application=empirical)["atwv"].value
        assert 1 - value == pytest.approx((missed + false / 3) / true, abs=1e-12)
        other = scored(even, "atwv", application=tc.Application.detection(3, 1, 0.2))
        assert abs(1 - other["atwv"].value - (missed + false / 3) / true) > 1e-3

    @pytest.mark.parametrize(("per_query", "holds"), [([[5], [5]], True), ([[7], [3]], False)])
    def test_equations_17_to_20(self, per_query, holds):
        search = self.even(per_query)
        missed, false, true = self.counts(search)
        n, q = search.reference.trials, len(per_query)
        own = true / (q * n)
        alpha = (1 - own) / (1 - q * own)
        value = scored(search, "atwv", application=tc.preset("sws-2012"))["atwv"].value
        expected = (missed + false / (q * alpha)) / true
        assert (abs(1 - value - expected) < 1e-12) == holds
        beta = (n - true) / true
        miss, wrong = rates(search, search.accepted)
        assert value == pytest.approx(1 - miss - beta * wrong, abs=1e-12)


def points(shared, name):
    with (shared / f"cases/terms/metric_unit/{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("every", "name"), [(False, "3blocks"), (True, "5blocks_inc")])
def test_the_metric_unit_test_of_the_reference_scorer(shared, every, name):
    trials = points(shared, "trials")
    blocks = sorted({t["block"] for t in trials} | {"skip", "empty1"})
    number = {b: k for k, b in enumerate(blocks)}
    counts = np.zeros((len(blocks), 1), int)
    for t in trials:
        counts[number[t["block"]], 0] += t["is_target"] == "1"
    reference = reference_of(counts, 20.0, 0.5)  # the tool divides 20 s by its 2 "per second"
    order = sorted(trials, key=lambda t: number[t["block"]])
    target, seen = [], 0
    for t in order:
        target.append(seen if t["is_target"] == "1" else -1)
        seen += t["is_target"] == "1"
    score = np.array([float(t["score"]) if t["score"] not in ("", "undef") else -9 for t in order])
    known = score > -9
    application = tc.preset("nist-std-2006")
    for point in points(shared, f"expected_points_{name}"):
        chosen = score >= float(point["threshold"]) - 1e-9
        search = search_of(
            reference,
            np.array([number[t["block"]] for t in order])[known],
            np.zeros(known.sum(), int),
            score[known],
            chosen[known],
            np.array(target)[known],
        )
        rows = scored(search, "p_miss", "p_fa", "atwv", application=application, every=every)
        assert rows["p_miss"].value == pytest.approx(float(point["pmiss"]), abs=1e-3)
        assert rows["p_fa"].value == pytest.approx(float(point["pfa"]), abs=1e-3)
        assert rows["atwv"].value == pytest.approx(float(point["twv"]), abs=1e-2)


def test_equal_sums_are_equal_whatever_the_rounding():
    """A hit and a false alarm that weigh the same: the lowest of the thresholds that tie."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        reference = reference_of([[7]], 100.0)
        target = np.concatenate([np.arange(7), np.full(12, -1)])[rng.permutation(19)]
        score = np.arange(19.0)[::-1]
        search = search_of(reference, [0] * 19, [0] * 19, score, score > 3, target)
        row = scored(search, "mtwv", application=tc.preset("sws-2012"))["mtwv"]
        exact = np.cumsum(np.where(target >= 0, 1, -1))  # both weigh one seventh
        best = max(0, exact.max())
        at = np.flatnonzero(exact == best)
        assert row.value == pytest.approx(best / 7)
        assert row.threshold == (score[at[-1]] if len(at) else None)


def test_rows_say_what_they_rest_on():
    search = random_search(5)
    rows = scored(search, replicates=50)
    assert [*rows] == [
        *("atwv", "mtwv", "otwv", "stwv", "p_miss", "p_fa"),
        *("n_targets", "n_correct", "n_false_alarms", "n_missed"),
        *("cnxe:pooled", "cnxe:by_query", "min_cnxe:pooled", "min_cnxe:by_query"),
        "cnxe_loss:pooled",
    ]
    row = rows["mtwv"]
    assert row.factors == ("query",)
    assert row.counts["trials_of_a_query"] == search.reference.trials
    assert row.lower <= row.value <= row.upper
    assert row.naive == 0
    assert {"p_miss", "p_fa"} <= {*row.counts}
    assert "not_llrs" in rows["cnxe:pooled"].flags
    assert "not_llrs" not in scored(search, "cnxe", llr=True)["cnxe:pooled"].flags
    assert scored(search, llr=True)["twv_bayes"].value is not None


def test_unsubmitted_trials_that_cost_more_than_the_prior_are_flagged():
    rng = np.random.default_rng(0)
    reference = reference_of(np.full((5, 4), 3), 500.0)
    score = rng.normal(6, 1, 40)
    target = np.arange(40)
    rows = reference.targets
    search = search_of(reference, rows["query"][:40], rows["place"][:40], score, score > 5, target)
    assert "floor_costs" in scored(search, "cnxe")["cnxe:pooled"].flags
    assert "floor_costs" not in scored(search, "cnxe", floor=-3.0)["cnxe:pooled"].flags


def test_measures_without_costs_need_no_application():
    rows = scored(random_search(1), "stwv", "p_miss", application=tc.Application())
    assert 0 <= rows["stwv"].value <= 1


def test_the_bayes_threshold_decides_when_scores_are_llrs():
    search = random_search(6, ties=False)
    value = scored(search, "twv_bayes", llr=True)["twv_bayes"].value
    expected = brute_twv(search, search.score >= SEARCH.threshold, SEARCH.beta)
    assert value == pytest.approx(expected, abs=1e-10)


def test_queries_that_vanish_are_reported():
    reference = reference_of([[1, 0, 0, 0], [1, 1, 1, 1]])
    search = search_of(reference, [0, 1], [0, 1], [1.0, 2.0], [True] * 2, [0, 2])
    row = scored(search, "atwv", replicates=400, factors="document")["atwv"]
    assert row.counts["vanished"] == pytest.approx(0.5 * 0.75**4, abs=0.03)
    assert "vanished" in row.flags
    assert row.factors == ("document",)
    assert "vanished" not in scored(search, "atwv", replicates=400)["atwv"].counts


def test_crossed_factors_have_both():
    search = random_search(8)
    row = scored(search, "atwv", replicates=60, factors="query,document")["atwv"]
    assert set(row.factors) == {"query", "document"}
    assert row.upper - row.lower > 0
    assert "crossed" not in row.flags  # that is said of percentile intervals


def test_blocks_and_jobs_change_nothing():
    search = random_search(9, queries=40, documents=30, detections=600)
    plan = tc.Plan(300, seed=3)
    for resample in ("query", "document", "query,document"):
        how = TermsScoring(factors=resample)
        found = [
            score(search, tc.Scoring(SEARCH, (), plan, jobs=jobs, choices=how)) for jobs in (1, 2)
        ]
        for one, other in zip(*found, strict=True):
            assert np.array_equal(one.replicates, other.replicates, equal_nan=True)


def test_nothing_submitted():
    search = search_of(reference_of([[2], [1]]), [], [], [], [], [])
    rows = scored(search)
    assert rows["atwv"].value == rows["mtwv"].value == 0
    assert rows["mtwv"].threshold is None
    assert rows["cnxe:pooled"].value is None
    assert "--floor" in rows["cnxe:pooled"].reason
    assert scored(search, floor=0.0)["cnxe:pooled"].value == pytest.approx(1, abs=1e-12)


def test_subsets_of_queries_and_of_sources():
    reference = reference_of([[2, 1], [1, 3]], sources=["bnews", "cts"])
    search = search_of(
        reference, [0, 0, 1, 1], [0, 1, 0, 1], [3, 2, 1, 4.0], [True] * 4, [0, -1, 3, 4]
    )
    scoring = tc.Scoring(SEARCH, ("n_targets", "n_false_alarms"), subsets=("source", "length"))
    rows = {(r.dims.get("subset"), r.measure): r.value for r in score(search, scoring)}
    assert rows[None, "n_targets"] == 7
    assert rows["source=bnews", "n_targets"] == 3
    assert rows["source=cts", "n_false_alarms"] == 1
    assert rows["length=long", "n_targets"] == 4
    assert rows["length=long", "n_false_alarms"] == 0


def test_subsets_keep_the_prior_of_the_whole():
    search = random_search(3, queries=8, documents=6, detections=100)
    scoring = tc.Scoring(tc.preset("sws-2012"), ("atwv", "cnxe"), tc.Plan(20), subsets=("length",))
    rows = score(search, scoring)
    prior = search.reference.targets.height / search.reference.trials
    assert {r.counts["prior"] for r in rows if "prior" in r.counts} == {prior}
    fixed = tc.Application.detection(1, 1, prior)
    again = score(search, tc.Scoring(fixed, ("atwv", "cnxe"), tc.Plan(20), subsets=("length",)))
    for one, other in zip(rows, again, strict=True):
        if "subset" in one.dims:
            assert one.value == pytest.approx(other.value, rel=1e-12)


def test_rates_that_cancel_are_zero():
    """Three queries of 3, 7 and 11 targets, all found: thirds do not add up to one exactly."""
    reference = reference_of([[3], [7], [11]])
    rows = reference.targets
    n = rows.height
    search = search_of(reference, rows["query"], rows["place"], range(n), [True] * n, range(n))
    found = scored(search, "p_miss", "mtwv", replicates=200)
    assert found["p_miss"].value == 0
    assert found["p_miss"].replicates.min() == 0
    assert found["mtwv"].counts["p_miss"] == 0
    assert found["mtwv"].counts["p_fa"] == 0


def test_more_detections_than_nontargets_of_one_query():
    reference = reference_of([[1], [1]], 20.0)
    query = [0] * 26 + [1]
    target = [0] + [-1] * 25 + [1]
    search = search_of(reference, query, [0] * 27, range(27), [True] * 27, target)
    rows = scored(search, "cnxe:pooled", "cnxe:by_query", "min_cnxe:by_query", replicates=40)
    assert rows["cnxe:pooled"].value is not None
    assert np.isnan(rows["cnxe:pooled"].replicates).any()  # those that draw the first query alone
    for name in ("cnxe:by_query", "min_cnxe:by_query"):
        assert rows[name].value is None
        assert "25 detections of query q0000 match no target" in rows[name].reason
        assert "only 19 other trials" in rows[name].reason


def test_what_is_joined_otherwise_cannot_be_paired():
    search = random_search(3)
    one, pooled = (scored(search, "atwv", pooled=p)["atwv"] for p in (False, True))
    with pytest.raises(tc.InputError, match="cannot be paired"):
        compare(one, pooled)


class TestRefusals:
    @pytest.mark.parametrize("name", ["query", "document"])
    def test_query_units_are_not_named_like_factors(self, name):
        with pytest.raises(tc.UsageError, match="is the name of a factor"):
            scored(random_search(1), "atwv", query_unit=name)

    def test_what_is_resampled(self):
        with pytest.raises(
            tc.UsageError,
            match=r"factors is 'queries' \(did you mean 'query'\?\): choose one of query",
        ):
            TermsScoring(factors="queries")

    def test_a_floor_above_submitted_scores(self):
        with pytest.raises(tc.UsageError, match="floor=50 is above the lowest submitted"):
            scored(random_search(1), "cnxe", floor=50.0)

    def test_costs_are_asked_for(self):
        with pytest.raises(tc.UsageError, match="preset nist-std-2006"):
            scored(random_search(1), "atwv", application=tc.Application())

    def test_more_occurrences_than_trials(self):
        search = search_of(reference_of([[7]], 5.0), [0], [0], [1.0], [True], [0])
        with pytest.raises(tc.InputError, match=r"'q0000' has 7 occurrences but only 5 trials"):
            scored(search, "atwv")

    def test_more_detections_than_nontargets(self):
        search = search_of(
            reference_of([[1]], 5.0), [0] * 6, [0] * 6, [1.0] * 6, [True] * 6, [-1] * 6
        )
        assert scored(search, "atwv")["atwv"].value < 0
        with pytest.raises(tc.InputError, match=r"6 detections match no target.*4 nontarget"):
            scored(search, "cnxe")

    def test_the_prior_from_the_data_must_be_below_one(self):
        search = search_of(reference_of([[3], [3]], 5.0), [0], [0], [1.0], [True], [0])
        with pytest.raises(tc.UsageError, match=r"the prior from the data is 1\.2"):
            scored(search, "atwv", application=tc.preset("sws-2012"))

    def test_a_reference_is_no_system(self):
        with pytest.raises(tc.UsageError, match="a Reference cannot be scored"):
            tc.score_system(random_search(1).reference, tc.Scoring(SEARCH))

    def test_other_measures(self):
        with pytest.raises(tc.UsageError, match="'eer' is not for terms"):
            scored(random_search(1), "eer")


def test_sums_over_queries_are_totals():
    known = tc.tasks.measures.registry().values()
    totals = {m.name for m in known if m.total and m.task in ("", "terms")}
    assert totals - {*COSTS} == {"n_targets", "n_correct", "n_false_alarms", "n_missed"}


class TestQueryUnits:
    """Queries that share a voice, say, are drawn together."""

    def test_queries_of_one_attribute_weigh_the_same(self):
        search = random_search(9, queries=8, documents=4, detections=80)
        rows = scored(
            search, "atwv", "mtwv", "otwv", "n_missed", replicates=40, query_unit="length"
        )
        counted = search.reference.targets_by_query > 0
        names = search.reference.queries.filter(counted)["length"].to_numpy()
        labels, codes = np.unique(names, return_inverse=True)
        drawn = tc.Plan(40, seed=1).weights({"length": tc.Factor("length", labels)}).block()
        for r in range(40):
            weights = np.zeros(len(counted))
            weights[counted] = drawn["length"][r][codes]
            expected = brute_twv(search, search.accepted, SEARCH.beta, weights)
            assert rows["atwv"].replicates[r] == pytest.approx(expected, abs=1e-10)
            best, _ = brute_mtwv(search, SEARCH.beta, weights)
            assert rows["mtwv"].replicates[r] == pytest.approx(best, abs=1e-10)
            own = brute_otwv(search, SEARCH.beta, weights)
            assert rows["otwv"].replicates[r] == pytest.approx(own, abs=1e-10)
        assert rows["atwv"].factors == ("length",)
        assert rows["atwv"].n_units == 2
        assert "length:multinomial" in rows["atwv"].signature

    def test_documents_alone_hold_the_queries(self):
        search = random_search(9)
        one, other = (
            scored(search, "atwv", replicates=30, factors="document", query_unit=unit)["atwv"]
            for unit in ("", "length")
        )
        assert np.array_equal(one.replicates, other.replicates)
        assert one.factors == other.factors == ("document",)

    def test_an_attribute_must_be_there(self):
        with pytest.raises(
            tc.UsageError, match=r"no attribute 'lenth' \(did you mean 'length'\?\)"
        ):
            scored(random_search(1), "atwv", query_unit="lenth")

    def test_bca_leaves_out_a_unit(self):
        search = random_search(9, queries=30, documents=8, detections=300)
        units = np.repeat(np.arange(10), 3)
        frame = search.reference.queries.with_columns(voice=pl.Series(units.astype(str)))
        search = replace(search, reference=replace(search.reference, queries=frame))
        how = TermsScoring(query_unit="voice")
        scoring = tc.Scoring(SEARCH, ("atwv",), tc.Plan(200), method="bca", choices=how)
        [row] = score(search, scoring)
        assert len(row.left_out[0].values) == row.n_units <= 10
        assert row.lower <= row.value <= row.upper


def test_ties_of_a_factor_are_checked():
    labels = np.array(["a", "b", "c"])
    with pytest.raises(tc.InputError, match="numbered from 0 without gaps"):
        tc.Factor("query", labels, tied=np.array([0, 2, 2]))
    with pytest.raises(tc.InputError, match="these cannot be combined with strata or sizes"):
        tc.Factor("query", labels, sizes=np.array([1, 1, 2]), tied=np.array([0, 1, 1]))
