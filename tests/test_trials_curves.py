"""Curves of trials: what they hold equals the measures; what is stored comes back as it was."""

import contextlib
import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from detected import (
    CASES,
    DETECTION,
    PLAN,
    PROBABILITIES,
    case,
    labelled,
    llr_system,
    of_classes,
    row_of,
)
from drawn import laws
from truecost.tasks.trials import curves, pictures
from truecost.tasks.trials.counting import evidence_of
from truecost.tasks.trials.curves.cost import costs_at
from truecost.tasks.trials.curves.det import Weighed

__all__ = ["case"]  # a fixture


@pytest.mark.parametrize("name", PROBABILITIES)
def test_the_cost_curve_goes_through_actual_and_minimum_cost(case, name):
    systems, scoring, rows = case(name)
    for curve in curves.cost_curves(systems, scoring):
        actual = row_of(rows, curve.system, "act_dcf")
        least = row_of(rows, curve.system, "min_dcf")
        assert curve.actual[1] == pytest.approx(actual.point, abs=1e-12)
        assert curve.actual[0] == actual.threshold
        assert curve.at(np.array([curve.actual[0]]))[0] == pytest.approx(actual.point, abs=1e-12)
        assert curve.cost.min() == pytest.approx(least.point, abs=1e-12)
        assert curve.minimum[1] == pytest.approx(least.point, abs=1e-12)


@pytest.mark.parametrize("name", ["tiny", "ties", "bad"])
def test_the_cost_curve_equals_a_count_at_every_drawn_threshold(case, name):
    systems, scoring, _ = case(name)
    application = scoring.application
    for trials, curve in zip(systems, curves.cost_curves(systems, scoring), strict=True):
        accepted = trials.scores[None, :] >= curve.threshold[:, None]
        miss = 1 - accepted[:, trials.labels == 1].mean(axis=1)
        fa = accepted[:, trials.labels == 0].mean(axis=1)
        cost = application.cost_miss * application.prior * miss
        cost += application.cost_fa * (1 - application.prior) * fa
        assert curve.cost == pytest.approx(cost / application.naive_cost)
        assert np.isinf(curve.threshold[-1])


def test_the_band_at_a_threshold_is_the_interval_of_the_row(case):
    systems, scoring, _ = case("demo")
    scoring = dataclasses.replace(scoring, method="percentile")  # bands are those of the replicates
    for trials in systems:
        row = row_of(tc.score_system(trials, scoring), trials.name, "act_dcf")
        weighed = Weighed(evidence_of(trials, scoring, [tc.find("eer")]), scoring)
        at = np.array([row.threshold])
        lower, upper = weighed.band(lambda s, at=at: costs_at(s, at, scoring.application))
        assert (lower[0], upper[0]) == pytest.approx((row.lower, row.upper), abs=1e-12)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_the_decomposition_is_that_of_the_rows(case, name):
    systems, scoring, rows = case(name)
    found = curves.reliabilities(systems, scoring)
    assert [c.system for c in found] == [t.name for t in systems]
    for curve in found:
        actual, least = (row_of(rows, curve.system, m) for m in ("cllr", "min_cllr"))
        assert curve.actual == pytest.approx(actual.point, abs=1e-12)
        assert curve.minimum == pytest.approx(least.point, abs=1e-12)


@pytest.mark.parametrize("name", ["tiny", "ties", "separated", "bad"])
def test_the_monotone_map_has_the_minimum_cllr(case, name):
    systems, scoring, rows = case(name)
    for trials, curve in zip(systems, curves.reliabilities(systems, scoring), strict=True):
        pool = np.searchsorted(curve.said[1::2], trials.scores)  # first pool that reaches so far
        seen = curve.seen[1::2][pool]
        bits = np.logaddexp(0, np.where(trials.labels == 1, -seen, seen)) / np.log(2)
        cost = (bits[trials.labels == 1].mean() + bits[trials.labels == 0].mean()) / 2
        assert cost == pytest.approx(row_of(rows, trials.name, "min_cllr").point, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 4)), min_size=1))
def test_pooling_equals_the_minimax_formula(trials):
    """g_i = max over a <= i of min over b >= i of the mean of groups a to b."""
    trials.sort()
    odds, codes, masses = (np.array(v, float) for v in zip(*trials, strict=True))
    ranking = tc.Ranking.from_scores(
        odds, codes.astype(np.uint8), [tc.Factor.trials(len(odds))], masses
    )
    evidence = tc.Evidence({"ranking": ranking})
    sweep = tc.totals(evidence, tc.Weights.ones(evidence.factors).block()).sweep("ranking")
    starts, stops, targets, nontargets = sweep.pools()
    said = ranking.scores[np.stack([starts, stops - 1], axis=1)].ravel()
    levels = np.unique(odds)
    ones = np.array([masses[(odds == v) & (codes == 1)].sum() for v in levels])
    total = np.array([masses[odds == v].sum() for v in levels])
    k = range(len(levels))
    wanted = [
        max(
            min(ones[a : b + 1].sum() / total[a : b + 1].sum() for b in k if b >= i)
            for a in k[: i + 1]
        )
        for i in k
    ]
    pool = np.searchsorted(said[1::2], levels)
    assert (targets / (targets + nontargets))[pool] == pytest.approx(np.array(wanted))


def test_bins_show_means_and_shares(case):
    systems, scoring, _ = case("posterior")
    [curve], trials = curves.reliabilities(systems, scoring), systems[0]
    assert curve.scale == "posterior"
    assert curve.prior == 0.1
    assert curve.bin_trials.sum() == len(trials)
    odds = trials.scores - np.log(trials.labels.mean() / (1 - trials.labels.mean())) + np.log(1 / 9)
    order = np.argsort(odds, kind="stable")
    weight = np.where(trials.labels == 1, 0.1, 0.9) / np.bincount(trials.labels)[trials.labels]
    ends = np.cumsum(curve.bin_trials).astype(int)
    for b, chosen in enumerate(np.split(order, ends[:-1])):
        w, p = weight[chosen], 1 / (1 + np.exp(-odds[chosen]))
        assert curve.bin_said[b] == pytest.approx((w * p).sum() / w.sum())
        assert curve.bin_seen[b] == pytest.approx(w[trials.labels[chosen] == 1].sum() / w.sum())
        assert curve.bin_lower[b] <= curve.bin_seen[b] <= curve.bin_upper[b]


def test_bins_never_cut_a_tie(case):
    systems, scoring, _ = case("ties")
    for trials, curve in zip(systems, curves.reliabilities(systems, scoring), strict=True):
        sizes = np.unique(trials.scores, return_counts=True)[1]
        assert set(np.cumsum(curve.bin_trials)) <= set(np.cumsum(sizes))


def test_several_classes_show_how_often_the_top_class_is_right(case):
    systems, scoring, rows = case("classes")
    [curve], trials = curves.reliabilities(systems, scoring), systems[0]
    assert curve.scale == "top"
    assert curve.actual == pytest.approx(row_of(rows, trials.name, "nce").point)
    assert np.isnan(curve.minimum)
    right = (trials.scores.argmax(axis=1) == trials.labels).mean()
    share = (curve.bin_seen * curve.bin_trials).sum() / len(trials)
    assert share == pytest.approx(right)


def test_priors_weigh_the_trials_of_several_classes():
    trials, priors = of_classes(), (0.7, 0.1, 0.1, 0.1)
    scoring = tc.Scoring(tc.Application(priors=priors), ("nte",), PLAN)
    [curve] = curves.reliabilities([trials], scoring)
    [row] = tc.score_system(trials, scoring)
    right = (curve.bin_seen * curve.bin_trials).sum() / curve.bin_trials.sum()
    assert 1 - right == pytest.approx(row.point * 0.3)  # total error at these priors; naive 0.3


@pytest.mark.parametrize("name", [n for n in CASES if n != "classes"])
def test_what_is_shown_leaves_out_a_hundredth_at_either_end(case, name):
    systems, scoring, _ = case(name)
    for trials, curve in zip(systems, curves.cost_curves(systems, scoring), strict=True):
        scores = trials.scores
        if trials.kind == "posterior":
            scores = scores - np.log(trials.labels.mean() / (1 - trials.labels.mean()))
        weight = 0.5 / np.bincount(trials.labels)[trials.labels]
        for at, share in zip(curve.shown, (0.01, 0.99), strict=True):
            assert weight[scores < at - 1e-9].sum() <= share + 1e-9
            assert weight[scores <= at + 1e-9].sum() >= share - 1e-9


def test_a_deployed_threshold_and_weights_of_trials():
    labels, rng = labelled(900, 0.3)
    scores, weight = rng.normal(size=900) + labels, rng.integers(1, 5, 900) / 2
    scoring = tc.Scoring(
        DETECTION(prior=0.2), ("act_dcf", "min_dcf"), PLAN, choices=tc.TrialsScoring(threshold=0.8)
    )
    trials = tc.Trials.from_arrays(scores, labels, kind="score", name="raw", weight=weight)
    actual, least = tc.score_system(trials, scoring)
    [curve] = curves.cost_curves([trials], scoring)
    assert curve.actual == (0.8, pytest.approx(actual.point))
    assert curve.minimum[1] == pytest.approx(least.point)
    calibrated = tc.Trials.from_arrays(
        2 * scores - 1, labels, kind="llr", name="llr", weight=weight
    )
    plain = tc.Scoring(DETECTION(prior=0.2), ("cllr", "min_cllr"), PLAN)
    [found] = curves.reliabilities([calibrated], plain)
    assert [found.actual, found.minimum] == [
        pytest.approx(row.point) for row in tc.score_system(calibrated, plain)
    ]
    assert found.bin_trials.sum() == pytest.approx(weight.sum())


def test_scores_without_probabilities_have_no_reliability(case):
    systems, scoring, _ = case("raw")
    assert curves.reliabilities(systems, scoring) == []
    [curve] = curves.cost_curves(systems, scoring)
    assert curve.unit == "score"
    assert curve.actual is None


def test_abstaining_has_no_cost_curve():
    costs = ((0.0, 1.0, 0.3), (1.0, 0.0, 0.3))
    scoring = tc.Scoring(tc.Application(costs, (0.5, 0.5)), plan=PLAN)
    assert curves.cost_curves([llr_system("abstains")], scoring) == []
    assert len(curves.reliabilities([llr_system("abstains")], scoring)) == 1


@pytest.mark.parametrize("name", CASES)
def test_every_curve_has_its_numbers(case, name):
    systems, scoring, _ = case(name)
    for make in (curves.det_curves, curves.cost_curves, curves.reliabilities):
        for curve in make(systems, scoring):
            table = curve.numbers()
            assert len(table.rows) >= 1
            assert all(len(row) == len(table.header) for row in table.rows)
            assert all(row[0] == curve.system for row in table.rows)


class Part:
    """What an outcome has of a collection and an application."""

    def __init__(self, systems, scoring, title=""):
        self.systems, self.title = systems, title
        self.scoring = {t.name: scoring for t in systems}


def same(a, b):
    """Whether two curves hold the same, NaN being equal to NaN."""
    for field in dataclasses.fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        elif one != other:
            assert np.isnan(one), field.name
            assert np.isnan(other), field.name
    return type(a) is type(b)


def test_stored_curves_come_back_as_they_were(case, tmp_path):
    class Outcome:
        parts = tuple(Part(*case(name)[:2], title=name) for name in CASES)

    frame = curves.frame_of_outcome(Outcome)
    frame.write_parquet(tmp_path / "curves.parquet")
    back = curves.from_frame(pl.read_parquet(tmp_path / "curves.parquet"))
    assert [c.part for c in back] == list(CASES)
    for before, after in zip(curves.of_outcome(Outcome), back, strict=True):
        assert len(before.all) == len(after.all) > 0
        assert all(same(a, b) for a, b in zip(before.all, after.all, strict=True))


def test_curves_of_one_class_come_back_too():
    trials = tc.Trials.from_arrays([1, 2, 3.0], [1, 1, 1], kind="llr", name="one class")
    scoring = tc.Scoring(DETECTION(prior=0.5), plan=tc.Plan(20))
    before = curves.curves_of(Part([trials], scoring))
    [after] = curves.from_frame(curves.frame_of(before.all))
    assert len(before.all) == len(after.all) == 1
    assert same(before.det[0], after.det[0])


@pytest.fixture(scope="module")
def kept(case):
    return curves.frame_of(curves.curves_of(Part(*case("demo")[:2])).all)


def test_stored_curves_without_a_column_are_refused(kept):
    for name in kept.columns:
        with pytest.raises(tc.InputError, match=f"no column {name}; run the study again"):
            curves.from_frame(kept.drop(name))
    with pytest.raises(tc.InputError, match="threshold should be Float64"):
        curves.from_frame(kept.with_columns(pl.col("threshold").cast(pl.String)))


def test_stored_curves_without_rows_of_a_kind_are_refused(kept):
    for kind in set(kept["kind"]) - {"det point"}:
        with pytest.raises(tc.InputError, match=rf"curves\.parquet: .*{kind}.*run the study again"):
            curves.from_frame(kept.filter(pl.col("kind") != kind))
    emptied = pl.when(pl.col("kind") == "cost").then(None).otherwise(pl.col("cost")).alias("cost")
    with pytest.raises(tc.InputError, match="rows of 'cost' without cost"):
        curves.from_frame(kept.with_columns(emptied))
    ends = kept.filter(~((pl.col("kind") == "cost") & pl.col("threshold").is_infinite()))
    with pytest.raises(tc.InputError, match="'cost point' of logistic is damaged"):
        curves.from_frame(ends)


@pytest.mark.parametrize("seed", range(12))
def test_any_subset_of_stored_curves_is_drawn_or_refused(kept, seed):
    rng = np.random.default_rng(seed)
    some = kept.filter(pl.Series(rng.random(len(kept)) < (0.5, 0.9, 0.99, 0.999)[seed % 4]))
    found = ()
    with contextlib.suppress(tc.InputError):  # nothing but this is ever raised
        found = curves.from_frame(some)
    assert found or seed % 4 < 3  # a curve without one of its many points is still a curve
    for part in found:
        for drawn, draw_it in (
            (part.det, pictures.det),
            (part.cost, pictures.cost_against_threshold),
            (part.reliability, pictures.reliability),
        ):
            if drawn:
                laws(draw_it(drawn))


def test_no_curves_give_no_frame():
    labels = [0, 1, 0, 1]
    decided = tc.Trials.from_arrays([0, 1, 1, 1], labels, kind="decision", name="decides")

    class Outcome:
        parts = (Part([decided], tc.Scoring(plan=PLAN)),)

    assert curves.of_outcome(Outcome) == ()
    assert curves.frame_of_outcome(Outcome) is None
    assert curves.from_frame(None) == ()


@pytest.mark.parametrize("name", ["tiny", "ties", "bad", "raw"])
def test_sliders_have_exact_rates_at_every_step(case, name):
    systems, scoring, _ = case(name)
    found = curves.cost_curves(systems, scoring)
    assert len({c.steps.tobytes() for c in found}) == 1  # the same thresholds for all systems
    for trials, curve in zip(systems, found, strict=True):
        accepted = trials.scores[None, :] >= curve.steps[:, None]
        miss = 1 - accepted[:, trials.labels == 1].mean(axis=1)
        assert curve.step_miss == pytest.approx(miss, abs=1e-12)
        assert curve.step_fa == pytest.approx(accepted[:, trials.labels == 0].mean(axis=1))
        for at in (curve.actual, curve.minimum):
            assert at is None or np.isinf(at[0]) or at[0] in curve.steps
