"""Laws that hold for all data: merging, permuting, weighting, pairing, scaling, and equal bytes."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.formats import Table

PLAN = tc.Plan(replicates=25, seed=3)
DETECTION = tc.Application.detection(10, 1, 0.2)
EVERY = (
    "nec",
    "expected_cost",
    "act_dcf",
    "detection_cost",
    "nte",
    "total_error",
    "accuracy",
    "balanced_error",
    "p_miss",
    "p_fa",
    "precision",
    "nce",
    "ce",
    "nbs",
    "brier",
    "cllr",
    "cnxe",
    "min_cllr",
    "cllr_loss",
    "min_dcf",
    "eer",
    "eer:nearest",
    "eer:interpolated",
    "auc",
    "miss_at_fa:0.1",
    "fa_at_miss:0.1",
)
SWEPT = [tc.find(m) for m in ("min_dcf", "eer", "eer:nearest", "auc", "min_cllr", "miss_at_fa:0.3")]


@dataclass(frozen=True)
class Rows:
    """Detection trials: scores with ties, labels, a unit on each side, whole trial weights."""

    scores: np.ndarray
    labels: np.ndarray
    enroll: np.ndarray
    test: np.ndarray
    times: np.ndarray

    def __getitem__(self, rows):
        return Rows(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def __len__(self):
        return len(self.scores)

    def sides(self, count):
        both, codes = tc.Factor.of("speaker", np.concatenate([self.enroll, self.test][:count]))
        return [(both, part) for part in np.split(codes, count)]

    def tally(self, count, weights=None):
        axes = {"class": (("0", "1"), self.labels), "decision": (("no", "yes"), self.scores > 0)}
        stats = {"n": np.ones(len(self), int), "score": np.round(4 * self.scores).astype(int)}
        return tc.Tally.count(self.sides(count), stats, axes, weights)

    def ranking(self, count, weights=None):
        return tc.Ranking.of(self.scores, self.labels, self.sides(count), weights)

    def trials(self, **more):
        return tc.Trials.of(self.scores, self.labels, kind="llr", unit=self.enroll, **more)


@st.composite
def rows(draw, least=8, most=60):
    """Trials of few units with heavy ties; both classes occur from `least` 2 on."""
    size, seed = draw(st.integers(least, most)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size)
    labels[:2] = np.arange(2)[:size]
    fine = draw(st.sampled_from([0.5, 0.25, 2**-20]))
    scores = np.round(rng.normal(labels, 1) / fine) * fine
    speakers = np.array([f"s{k}" for k in rng.permutation(12)])[: draw(st.integers(3, 12))]
    return Rows(
        scores,
        labels,
        rng.choice(speakers, size),
        rng.choice(speakers, size),
        rng.integers(1, 4, size),
    )


def weighed(part, measures=None, plan=PLAN):
    """Everything that a part says under the weights of a plan."""
    evidence = tc.Evidence({"ranking": part})
    if measures is None:
        return list(part.sums(plan.weights(evidence.factors).block()).values())
    return [e.replicates for e in tc.estimate(evidence, measures, DETECTION, plan)]


def same(left, right, **tolerance):
    for a, b in zip(left, right, strict=True):
        if tolerance:
            np.testing.assert_allclose(a, b, **tolerance)
        else:
            np.testing.assert_array_equal(a, b)


def points(trials, measures=EVERY, application=DETECTION, **more):
    scoring = tc.Scoring(application, measures, PLAN, allow_reversed=True, **more)
    return tc.score(trials, scoring)


def values(estimates):
    return [np.append(e.replicates, e.point) for e in estimates]


@pytest.mark.parametrize("count", [1, 2])
@given(whole=rows(), cut=st.integers(0, 8))
def test_merge_equals_whole(count, whole, cut):
    left, right = whole[:cut], whole[cut:]  # the units overlap
    same(weighed(left.tally(count) + right.tally(count)), weighed(whole.tally(count)))
    merged = left.ranking(count) + right.ranking(count)
    same(weighed(merged, SWEPT), weighed(whole.ranking(count), SWEPT))
    again = right.tally(count) + left.tally(count)
    same(weighed(again), weighed(whole.tally(count)))


@given(whole=rows(), cut=st.integers(1, 7))
def test_merge_equals_whole_with_trial_weights(whole, cut):
    left, right, half = whole[:cut], whole[cut:], whole.times / 2
    merged = left.tally(2, half[:cut]) + right.tally(2, half[cut:])
    same(weighed(merged), weighed(whole.tally(2, half)))
    merged = left.ranking(2) + right.ranking(2, half[cut:])  # one part without own weights
    own = np.concatenate([np.ones(cut), half[cut:]])
    same(weighed(merged, SWEPT), weighed(whole.ranking(2, own), SWEPT))


def test_merged_fixed_rows_add():
    factor, codes = tc.Factor.of("batch", ["a", "b"])
    tally = tc.Tally.count([(factor, codes)], {"n": [1, 2]}, fixed=[5])
    assert (tally + tally).sums(tc.Weights.ones({"batch": factor}).block())["n"] == [16]


@pytest.mark.parametrize("count", [1, 2])
@given(whole=rows(), seed=st.integers(0, 99))
def test_permutation_changes_nothing(count, whole, seed):
    mixed = whole[np.random.default_rng(seed).permutation(len(whole))]
    same(weighed(mixed.tally(count)), weighed(whole.tally(count)))
    same(weighed(mixed.ranking(count), SWEPT), weighed(whole.ranking(count), SWEPT))
    same(values(points(mixed.trials())), values(points(whole.trials())), rtol=1e-12, atol=1e-12)


@given(whole=rows())
def test_weights_of_one_give_the_naive_value(whole):
    target, accept = whole.labels == 1, whole.scores >= DETECTION.threshold
    miss, fa = (target & ~accept).sum() / target.sum(), (~target & accept).sum() / (~target).sum()
    cost = 10 * 0.2 * miss + 0.8 * fa
    soft = np.log1p(np.exp(np.where(target, -1, 1) * whole.scores)) / np.log(2)
    odds = whole.scores + np.log(0.2 / 0.8)
    losses = np.log1p(np.exp(np.where(target, -odds, odds)))
    entropy = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8))
    thresholds = [*np.unique(whole.scores), np.inf]
    least = min(
        2 * (whole.scores[target] < t).mean() + 0.8 * (whole.scores[~target] >= t).mean()
        for t in thresholds
    )
    wanted = {
        "p_miss": miss,
        "p_fa": fa,
        "act_dcf": cost / 0.8,
        "detection_cost": cost,
        "cllr": (soft[target].mean() + soft[~target].mean()) / 2,
        "min_dcf": least / 0.8,
        "nce": (0.2 * losses[target].mean() + 0.8 * losses[~target].mean()) / entropy,
    }
    found = points(whole.trials(), tuple(wanted))
    same([e.point for e in found], wanted.values(), rtol=1e-12)


@given(whole=rows(least=20), band=st.lists(st.integers(0, 2), min_size=60, max_size=60))
def test_a_subset_is_a_filter(whole, band):
    band = np.array(band)[: len(whole)]
    trials = whole.trials(band=band)
    found = points(trials, subsets=("band", "band > 0"))[len(EVERY) :]
    filters = [band == level for level in np.unique(band)] + ([band > 0] if band.any() else [])
    expected = [e for keep in filters for e in points(trials.take(keep))]
    same(values(found), values(expected))
    for a, b in zip(found, expected, strict=True):
        assert replace_dims(a) == replace_dims(b)


def replace_dims(estimate):
    return {k: v for k, v in estimate.row().to_dict().items() if k != "dims"}


@given(whole=rows())
def test_a_system_paired_with_itself(whole):
    trials = whole.trials(ids=np.arange(len(whole)))
    _, comparisons = tc.compare_systems(
        [trials, trials], tc.Scoring(DETECTION, EVERY, PLAN, allow_reversed=True)
    )
    for pair in comparisons[0]:
        defined = np.isfinite(pair.system.replicates)
        assert np.all(pair.difference.replicates[defined] == 0)
        assert np.all(pair.ratio.replicates[defined & (pair.system.replicates != 0)] == 1)
        if defined.any() and np.isfinite(pair.system.point):
            assert (pair.difference.value, pair.difference.lower, pair.difference.upper) == (0,) * 3
            assert pair.verdict == "undecided"


@given(shares=st.lists(st.integers(1, 9), min_size=2, max_size=4))
def test_the_priors_alone_get_1(shares):
    labels = np.repeat(np.arange(len(shares)), shares)
    priors = np.array(shares) / sum(shares)
    trials = tc.Trials.of(np.tile(priors, (len(labels), 1)), labels, kind="posterior")
    found = points(trials, ("nce", "nbs"), tc.Application())
    assert [e.point for e in found] == pytest.approx([1, 1], abs=1e-12)
    fixed = points(trials, ("nce",), tc.Application(priors=tuple(priors[::-1])))[0]
    defined = np.isfinite(fixed.replicates)
    np.testing.assert_allclose(fixed.replicates[defined], 1, atol=1e-12)


@given(data=st.data(), classes=st.integers(2, 4))
def test_the_best_constant_gets_1(data, classes):
    cost = st.floats(0.1, 10)
    costs = data.draw(
        st.lists(
            st.lists(cost, min_size=classes, max_size=classes), min_size=classes, max_size=classes
        )
    )
    labels = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=9, max_size=30)))
    application = tc.Application(tuple(map(tuple, costs)))
    counts = np.bincount(labels, minlength=classes)
    best = (counts @ np.array(costs)).argmin()
    names = [str(k) for k in range(classes)]
    table = Table(
        "constant", pl.DataFrame({"score": [str(best)] * len(labels), "label": labels.astype(str)})
    )
    trials = tc.load(table, tc.Options("decision", classes=tuple(names)), "constant")
    found = points(replace(trials, detection=False), ("nec",), application)[0]
    assert found.point == pytest.approx(1, abs=1e-12)
    assert np.all(found.replicates >= 1 - 1e-12)  # another constant may be best there


@given(whole=rows())
def test_llr_0_gets_1(whole):
    idle = replace(whole, scores=np.zeros(len(whole))).trials()
    for estimate in points(idle, ("cllr", "min_cllr", "cnxe", "nce")):
        assert estimate.point == pytest.approx(1, abs=1e-12)
        defined = np.isfinite(estimate.replicates)
        np.testing.assert_allclose(estimate.replicates[defined], 1, atol=1e-12)
    empirical = points(idle, ("cnxe", "nce"), tc.Application.detection(10, 1))
    assert [e.point for e in empirical] == pytest.approx([1, 1], abs=1e-12)


@given(whole=rows())
def test_a_whole_weight_is_a_repetition(whole):
    repeated = whole[np.repeat(np.arange(len(whole)), whole.times)]
    weighted = points(whole.trials(weight=whole.times))
    same(values(weighted), values(points(repeated.trials())), rtol=1e-11, atol=1e-12)


@given(
    whole=rows(), shares=st.lists(st.sampled_from([0, 0.25, 0.5, 0.9, 1]), min_size=60, max_size=60)
)
def test_a_soft_label_is_a_trial_counted_twice(whole, shares):
    p = np.array([1, 0, *shares])[: len(whole)]
    table = Table("soft", pl.DataFrame({"score": whole.scores, "p": p, "unit": whole.enroll}))
    soft = tc.load(table, tc.Options("llr", {"soft": "p", "unit": "unit"}), "soft")
    twice = tc.Trials.of(
        np.tile(whole.scores, 2),
        np.repeat([1, 0], len(whole)),
        kind="llr",
        unit=np.tile(whole.enroll, 2),
        weight=np.concatenate([p, 1 - p]),
    )
    same(values(points(soft)), values(points(twice)), rtol=1e-12, atol=1e-12)


@given(whole=rows(), factor=st.sampled_from([2.0**-9, 3.0, 1e6]))
def test_scaling_costs_leaves_normalised_costs(whole, factor):
    scaled = tc.Application.detection(10 * factor, factor, 0.2)
    names = ("nec", "act_dcf", "min_dcf", "cnxe")
    same(
        values(points(whole.trials(), names, scaled)),
        values(points(whole.trials(), names)),
        rtol=1e-12,
    )


@given(whole=rows(), slope=st.floats(0.01, 100), offset=st.floats(-5, 5))
def test_sweeps_see_ranks_only(whole, slope, offset):
    for mapped in (
        np.arctan(whole.scores),
        whole.scores**3,
        np.exp(whole.scores * 20),
        np.round(whole.scores * 2**20) * slope + offset,
    ):
        same(
            weighed(replace(whole, scores=mapped).ranking(1), SWEPT),
            weighed(whole.ranking(1), SWEPT),
        )


@given(whole=rows())
def test_a_unit_on_both_sides_counts_once(whole):
    everyone, (enroll, test) = (s := whole.sides(2))[0][0], (s[0][1], s[1][1])
    block = PLAN.weights({"speaker": everyone}).block()
    w = block["speaker"].astype(int)
    trial = w[:, enroll] * np.where(enroll == test, 1, w[:, test])
    for k, j in itertools.product(range(2), range(2)):
        cell = (whole.labels == k) & ((whole.scores > 0) == j)
        found = whole.tally(2).sums(block)["n"][:, k, j]
        assert np.array_equal(found, trial[:, cell].sum(axis=1))
    sweep = tc.Sweep(whole.ranking(2), block)
    assert np.array_equal(sweep.targets, trial[:, whole.labels == 1].sum(axis=1))
