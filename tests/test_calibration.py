"""Calibration: reference figures, laws of each method, oracles, cross-fitting, bad inputs."""

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import truecost as tc
from truecost.calibration import (
    METHODS,
    OF_METHODS,
    Affine,
    AffineClasses,
    Cubic,
    Kind,
    Pav,
    Spline,
    Temperature,
    TemperatureClasses,
    spline,
)
from truecost.calibration.spline import GRID
from truecost.core.application import move_posteriors
from truecost.kernels.calibrating import multinomial_pass
from truecost.names import CalibrationMethod
from truecost.report.citations import PAPERS, bibtex
from truecost.tasks.trials.applying import Fitting, Folds, cross_fit
from truecost.tasks.trials.calibrating import scoring_after
from truecost.tasks.trials.counting import class_shares

POINT = tc.Plan(replicates=1)
SCORES = "cases/scores"

# cases/MANIFEST.md: NEC with 0/1 costs, abstaining at 0.1, last class x 10; NCE; NBS
AFFINE = {
    "ec_sst2_gpt2": (0.310, 0.655, 0.685, 0.495, 0.4282),
    "ec_fvcaus_plda": (0.012, 0.008, 0.005, 0.008, 0.0105),
    "ec_pneumoniamnist_resnet50": (0.239, 0.433, 0.453, 0.336, 0.2799),
    "ec_iemocap_wav2vec_pt": (0.494, 0.984, 0.606, 0.615, 0.6349),
    "ec_cifar10_resnet-20": (0.083, 0.311, 0.112, 0.101, 0.1244),
}
PAV = {
    "ec_sst2_gpt2": (0.298, 0.638, 0.661, 0.478),
    "ec_fvcaus_plda": (0.012, 0.007, 0.004, 0.006),
    "ec_pneumoniamnist_resnet50": (0.218, 0.404, 0.449, 0.302),
}


def trials_of(shared, case, target=None):
    folder = shared / SCORES / case
    return tc.trials.load(tc.read(str(folder)), tc.trials.Options("log-score", target=target), case)


def figures(trials):
    """The five figures of the manifest."""
    classes = len(trials.classes)
    plain = 1 - np.eye(classes)
    abstain = np.column_stack([plain, np.full(classes, 0.1)])
    skewed = plain * np.where(np.arange(classes) == classes - 1, 10, 1)[:, None]
    found = [values(trials, ("nec",), tc.Application(m)) for m in map(rows_of, (plain, abstain))]
    found.append(values(trials, ("nec",), tc.Application(rows_of(skewed))))
    return [v for part in found for v in part] + values(trials, ("nce", "nbs"), tc.Application())


def rows_of(matrix):
    return tuple(map(tuple, matrix.tolist()))


def values(trials, measures, application):
    scoring = tc.Scoring(
        application, measures=measures, plan=POINT, choices=tc.TrialsScoring(clip=1e-30)
    )
    return [row.point for row in tc.score_system(trials, scoring)]


@pytest.mark.parametrize("case", AFFINE)
def test_affine_figures_of_published_notebooks(shared, case):
    trials = trials_of(shared, case)
    fold = np.empty(len(trials), int)
    parts = StratifiedKFold(5, shuffle=True, random_state=0)
    for k, (_, tested) in enumerate(parts.split(trials.scores, trials.labels)):
        fold[tested] = k
    calibrated = tc.calibrate(trials, "affine", fold=fold)
    found = figures(calibrated.trials)
    assert found[:4] == pytest.approx(AFFINE[case][:4], abs=2e-3)
    assert found[4] == pytest.approx(AFFINE[case][4], abs=2e-4)
    assert len(calibrated.calibrators) == 5
    assert calibrated.problems == ()


@pytest.mark.parametrize("case", PAV)
def test_pav_figures_of_published_notebooks(shared, case):
    calibrated = tc.calibrate(trials_of(shared, case), "pav", train="self")
    assert figures(calibrated.trials)[:4] == pytest.approx(PAV[case], abs=2e-3)
    assert "optimistic" in calibrated.problems[0]


@pytest.mark.parametrize("case", [c for c in PAV if c != "ec_fvcaus_plda"])  # 57,000 trials
def test_pav_on_itself_costs_the_minimum(shared, case):
    trials = trials_of(shared, case, "1")
    calibrated = tc.calibrate(trials, "pav", train="self")
    application = tc.Application.detection(prior=0.01)
    found = values(calibrated.trials, ("cllr", "act_dcf"), application)
    assert found == pytest.approx(values(trials, ("min_cllr", "min_dcf"), application), abs=1e-12)


# Methods on arrays


def sample(seed=0, count=400, share=0.3, spread=1.0):
    rng = np.random.default_rng(seed)
    labels = (rng.random(count) < share).astype(int)
    labels[:2] = 0, 1
    return rng.normal(labels * 1.5, spread), labels


def loss(llrs, labels, prior, weights=None):
    """Prior-weighted logistic loss, written out."""
    own = np.ones(len(labels)) if weights is None else weights
    odds = llrs + np.log(prior / (1 - prior))
    of_trial = np.logaddexp(0, np.where(labels == 1, -odds, odds))
    return sum(
        p * (own * of_trial)[labels == k].sum() / own[labels == k].sum()
        for k, p in ((1, prior), (0, 1 - prior))
    )


def test_affine_is_logistic_regression():
    scores, labels = sample()
    found = Affine.fit(scores, labels)
    oracle = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10).fit(scores[:, None], labels)
    share = labels.mean()
    logit = np.log(share / (1 - share))
    assert found.scale == pytest.approx(oracle.coef_[0, 0], rel=1e-5)
    assert found.offset == pytest.approx(oracle.intercept_[0] - logit, rel=1e-5)
    assert found.prior == share


def test_affine_with_a_prior_is_weighted_logistic_regression():
    scores, labels = sample()
    own = np.random.default_rng(1).uniform(0.1, 3, len(labels))
    found = Affine.fit(scores, labels, prior=0.02, weights=own)
    totals = np.bincount(labels, own)
    of_trial = own * np.array([0.98, 0.02])[labels] / totals[labels] * 1e4
    oracle = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10)
    oracle.fit(scores[:, None], labels, of_trial)
    assert found.scale == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
    assert found.offset == pytest.approx(oracle.intercept_[0] - np.log(0.02 / 0.98), rel=1e-4)


def test_affine_classes_are_multinomial_logistic_regression():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 2000)
    scores = rng.normal(size=(2000, 4)) + 2 * np.eye(4)[labels] * [1, 0.5, 2, 1] + [0, 3, 0, -1]
    found = AffineClasses.fit(scores, labels)
    # the kernel's gradient vanishes there
    gradient, hessian = np.empty(5), np.empty((0, 0))
    offsets = np.array(found.offsets) + np.log(found.priors)
    weights = np.full(2000, 1 / 2000)
    value = multinomial_pass(scores, labels, weights, found.scale, offsets, gradient, hessian)
    assert np.abs(gradient).max() < 1e-10
    posteriors = np.exp(found(scores))
    assert value == pytest.approx(-np.log(posteriors[np.arange(2000), labels]).mean(), rel=1e-12)
    # by hand: at the optimum the mean posterior of a class is its share
    assert posteriors.mean(axis=0) == pytest.approx(np.bincount(labels) / 2000, abs=1e-10)
    assert sum(found.offsets) == pytest.approx(0, abs=1e-12)


def class_loss(parameters, scores, labels, priors):
    """Prior-weighted cross entropy of a scale and offsets, written out."""
    logs = log_softmax(parameters[0] * scores + np.append(0, parameters[1:]) + np.log(priors), 1)
    of_trial = -logs[np.arange(len(labels)), labels]
    return sum(p * of_trial[labels == k].mean() for k, p in enumerate(priors))


@pytest.mark.parametrize("priors", [(0.25, 0.25, 0.25, 0.25), (0.7, 0.1, 0.15, 0.05)])
def test_one_scale_and_offsets_are_the_minimum_that_another_optimiser_finds(priors):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 800)
    scores = rng.normal(size=(800, 4)) + 2 * np.eye(4)[labels] * [1, 0.5, 2, 1] + [0, 3, 0, -1]
    oracle = minimize(
        class_loss, np.zeros(4), (scores, labels, priors), method="BFGS", options={"gtol": 1e-9}
    )
    found = AffineClasses.fit(scores, labels, priors=priors)
    own = np.array([found.scale, *(np.array(found.offsets[1:]) - found.offsets[0])])
    assert own == pytest.approx(oracle.x, abs=1e-5)
    assert class_loss(own, scores, labels, priors) <= oracle.fun + 1e-12


def test_two_classes_are_detection():
    scores, labels = sample()
    pair = np.stack([-scores / 3, 2 * scores / 3], axis=1)
    one, two = Affine.fit(scores, labels), AffineClasses.fit(pair, labels)
    assert two.scale == pytest.approx(one.scale, rel=1e-9)
    assert two.offsets[1] - two.offsets[0] == pytest.approx(one.offset, rel=1e-9)
    logs = two(pair)
    share = labels.mean()
    assert logs[:, 1] - logs[:, 0] == pytest.approx(one(scores) + np.log(share / (1 - share)))


def test_many_classes_are_fitted_without_second_derivatives(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 500)
    scores = rng.normal(size=(500, 5)) + np.eye(5)[labels]
    exact = AffineClasses.fit(scores, labels)
    monkeypatch.setattr("truecost.calibration.affine.MANY_CLASSES", 4)
    found = AffineClasses.fit(scores, labels)
    assert (found.scale, *found.offsets) == pytest.approx((exact.scale, *exact.offsets), abs=1e-6)


@given(
    st.integers(0, 10_000),
    st.floats(1e-3, 1e3),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.5, 0.01, 0.97]),
)
def test_affine_does_not_depend_on_the_scale_of_the_scores(seed, scale, shift, prior):
    scores, labels = sample(seed, 60)
    if scores[labels == 1].min() >= scores[labels == 0].max():
        return
    one = Affine.fit(scores, labels, prior=prior)
    two = Affine.fit(scale * scores + shift, labels, prior=prior)
    assert two(scale * scores + shift) == pytest.approx(one(scores), abs=1e-5)


@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.01, 0.97]))
def test_fits_are_minima(seed, prior):
    scores, labels = sample(seed, 80)
    own = np.random.default_rng(seed).uniform(0, 2, 80)
    affine = Affine.fit(scores, labels, prior=prior, weights=own)
    alone = Temperature.fit(scores, labels, prior=prior, weights=own)
    least = loss(affine(scores), labels, prior, own)
    only = loss(alone(scores), labels, prior, own)
    assert least <= only + 1e-12
    for step in (-1e-3, 1e-3):
        assert loss(affine(scores + step), labels, prior, own) >= least
        assert loss(affine(scores) * (1 + step), labels, prior, own) >= least
        assert loss(alone(scores) * (1 + step), labels, prior, own) >= only
    pav = Pav.fit(scores, labels, weights=own, laplace=False)
    with np.errstate(invalid="ignore"):
        assert loss(pav(scores), labels, prior, own) <= least + 1e-12
    assert least <= loss(np.zeros(80), labels, prior, own) + 1e-12


def test_well_calibrated_ratios_stay_as_they_are():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200_000)
    llrs = 2 * rng.normal(2 * labels - 1)
    at = np.array([-3.0, 0.0, 3.0])
    for found in (Affine.fit(llrs, labels), Temperature.fit(llrs, labels)):
        assert found(at) == pytest.approx(at, abs=0.06)
    assert Spline.fit(llrs, labels)(at) == pytest.approx(at, abs=0.1)
    assert Pav.fit(llrs, labels)(at) == pytest.approx(at, abs=0.5)


def test_the_prior_says_where_a_wrong_model_fits_best():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000)
    llrs = 2 * rng.normal(2 * labels - 1)
    assert Affine.fit(llrs, labels, prior=0.02).offset == pytest.approx(0, abs=0.2)
    bent = np.sinh(llrs / 2)
    rare, even = (Affine.fit(bent, labels, prior=p)(bent) for p in (0.02, 0.5))
    assert loss(rare, labels, 0.02) < loss(even, labels, 0.02) - 1e-4
    assert loss(even, labels, 0.5) < loss(rare, labels, 0.5) - 1e-4


# PAV


def brute_pav(scores, labels, weights):
    """max over a of min over b of the share of targets among the distinct scores a..b."""
    values = np.unique(scores)
    t = np.array([weights[(scores == v) & (labels == 1)].sum() for v in values])
    n = np.array([weights[(scores == v) & (labels == 0)].sum() for v in values])
    shares = []
    for k in range(len(values)):
        ends = [
            min(t[a : b + 1].sum() / (t + n)[a : b + 1].sum() for b in range(k, len(values)))
            for a in range(k + 1)
        ]
        shares.append(max(ends))
    found = np.array(shares)
    with np.errstate(divide="ignore"):
        return values, np.log(found) - np.log(1 - found) - np.log(t.sum() / n.sum())


@given(st.integers(0, 10_000), st.integers(3, 30), st.booleans())
def test_pav_is_the_max_min_of_shares(seed, count, weighted):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    labels[:2] = 0, 1
    scores = rng.integers(0, 9, count).astype(float)
    weights = rng.integers(1, 5, count) / 2 if weighted else np.ones(count)
    values, llrs = brute_pav(scores, labels, weights)
    found = Pav.fit(scores, labels, weights=weights)
    assert found(values) == pytest.approx(llrs, abs=1e-9)
    assert (np.diff(found.llrs) > 0).all()


def test_pav_is_isotonic_regression():
    scores, labels = sample(count=2000)
    found = Pav.fit(scores, labels)(scores)
    share = labels.mean()
    posterior = IsotonicRegression().fit_transform(scores, labels)
    odds = np.log(share / (1 - share))
    assert expit(found + odds) == pytest.approx(posterior, abs=1e-9)


def test_pav_steps_half_way_and_is_infinite_at_the_ends():
    found = Pav.fit([0, 1, 2, 3, 4, 5], [0, 0, 1, 0, 1, 1])
    assert found.edges.tolist() == [1.5, 3.5]
    assert found.llrs.tolist() == [-np.inf, 0, np.inf]
    given_, expected = [-9, 1.49, 1.5, 3.49, 3.5, 99], [-np.inf, -np.inf, 0, 0, np.inf, np.inf]
    assert found(given_).tolist() == expected
    assert np.isnan(found([np.nan])[0])
    low = 1.0
    high = np.nextafter(low, 2)  # no number lies half way
    assert Pav.fit([low, high], [0, 1])([low, high]).tolist() == [-np.inf, np.inf]
    assert Pav.fit([-np.inf, 0, np.inf], [0, 1, 1])([-np.inf, 0]).tolist() == [-np.inf, np.inf]


def test_laplaces_rule_adds_a_trial_of_each_class_at_each_end():
    scores, labels = sample(count=200)
    found = Pav.fit(scores, labels, laplace=True)
    far = np.array([scores.min() - 1, scores.max() + 1])
    padded = Pav.fit(np.concatenate([scores, far, far]), np.concatenate([labels, [1, 1, 0, 0]]))
    odds = np.log(labels.sum() / (1 - labels).sum())
    more = np.log((labels.sum() + 2) / ((1 - labels).sum() + 2))
    assert found(scores) + odds == pytest.approx(padded(scores) + more, abs=1e-12)
    assert np.isfinite(found.llrs).all()


def test_scores_that_tell_nothing_are_one_block():
    found = Pav.fit([3, 2, 1, 0], [0, 0, 1, 1])
    assert found.llrs.tolist() == [0]
    assert "reversed" in found.problems[0]


# Spline


def test_the_spline_rises_and_is_straight_beyond_its_knots():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000)
    llrs = 2 * rng.normal(2 * labels - 1)
    found = Spline.fit(np.sinh(llrs / 2), labels)
    at = np.linspace(found.low - 50, found.high + 50, 4001)
    assert (np.diff(found(at)) >= 0).all()
    for end, away in ((found.low, -1), (found.high, 1)):
        line = found(end + away * np.array([0.0, 1.0, 2.0, 40.0]))
        assert line[2] - line[1] == pytest.approx(line[1] - line[0])
        assert line[3] - line[0] == pytest.approx(40 * (line[1] - line[0]))
    inner = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    assert found(np.sinh(inner / 2)) == pytest.approx(inner, abs=0.25)
    affine = Affine.fit(np.sinh(llrs / 2), labels)
    bent = np.sinh(llrs / 2)
    assert loss(found(bent), labels, 0.5) < loss(affine(bent), labels, 0.5) - 1e-3


@pytest.mark.parametrize("prior", [None, 0.05])
def test_the_smoothest_spline_is_the_affine_calibration(prior):
    scores, labels = sample(count=2000)
    affine = Affine.fit(scores, labels, prior=prior)
    smooth = Spline.fit(scores, labels, prior=prior, smoothing=1e6)
    assert smooth(scores) == pytest.approx(affine(scores), abs=1e-3)
    assert Spline.fit(scores, labels, prior=prior)(scores) == pytest.approx(affine(scores), abs=0.2)


def test_collapsed_scores_give_the_same_curve(monkeypatch):
    scores, labels = sample(count=8000)
    short = Spline.fit(scores, labels, smoothing=1e-3)
    monkeypatch.setattr("truecost.calibration.spline.EXACT", 10_000)
    exact = Spline.fit(scores, labels, smoothing=1e-3)
    assert (short.collapsed, exact.collapsed) == (True, False)
    assert short(scores) == pytest.approx(exact(scores), abs=2e-2)


def test_a_far_score_does_not_ruin_the_spline():
    scores, labels = sample(count=3000)
    wild = np.where(np.arange(3000) == labels.argmax(), 1e4, scores)
    apart = np.abs(Spline.fit(wild, labels)(scores) - Spline.fit(scores, labels)(scores))
    assert np.median(apart) < 0.3


def cllr(llrs, labels):
    return loss(llrs, labels, 0.5) / np.log(2)


@pytest.mark.parametrize(
    ("count", "apart", "law"),
    [(60, 1.9, np.asarray), (60, 1.9, np.tanh), (60, 1.5, np.asarray), (200, 2.2, np.asarray)],
)
def test_almost_separable_scores_get_no_wild_curve(count, apart, law):
    """Fresh data cost at most 0.05 more by the spline than by the affine calibration."""
    labels, fresh = np.repeat([0, 1], count), np.repeat([0, 1], 5000)
    fitted = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = law(rng.normal(apart * (2 * labels - 1)))
        new = law(rng.normal(apart * (2 * fresh - 1)))
        if scores[labels == 1].min() >= scores[labels == 0].max():
            continue
        fitted += 1
        spline, affine = Spline.fit(scores, labels), Affine.fit(scores, labels)
        assert np.isfinite(spline.smoothing)
        assert np.isfinite(spline(new)).all()
        assert cllr(spline(new), fresh) <= cllr(affine(new), fresh) + 0.05
    assert fitted >= 10


def test_a_fold_without_overlap_asks_for_the_greatest_smoothing():
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0, 1, 30), rng.uniform(2, 3, 30)
    scores = np.concatenate([low, high, [2.5]])  # one nontarget among the targets
    labels = np.repeat([0, 1, 0], [30, 30, 1])
    assert Spline.fit(scores, labels).smoothing == GRID[0]
    assert Spline.fit([0, 1, 2, 0.5], [0, 1, 0, 1]).smoothing == GRID[0]  # folds without a class


def test_smoothings_from_the_first_that_fails_take_no_part(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 4000)
    scores = np.sinh(3 * rng.normal(2 * labels - 1) / 2)
    free = Spline.fit(scores, labels).smoothing
    assert free < 1
    whole = spline._Fit.minimum

    def fails_below_one(self, at, weights, penalty):
        if penalty < 1 and weights.min() == 0:  # in a fold
            raise tc.InputError("no minimum")
        return whole(self, at, weights, penalty)

    monkeypatch.setattr(spline._Fit, "minimum", fails_below_one)
    assert Spline.fit(scores, labels).smoothing >= 1


# Temperature


def test_temperature_of_classes_is_softmax_of_scaled_scores():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 3000)
    scores = 3 * (rng.normal(size=(3000, 3)) + np.eye(3)[labels])
    found = TemperatureClasses.fit(scores, labels)
    logs = found(scores)
    scaled = found.scale * scores
    assert logs == pytest.approx(scaled - np.logaddexp.reduce(scaled, axis=1)[:, None])

    def cost(scale):
        z = scale * scores
        return -(z[np.arange(3000), labels] - np.logaddexp.reduce(z, axis=1)).mean()

    assert cost(found.scale) < min(cost(found.scale * 0.99), cost(found.scale * 1.01))


# What cannot be fitted


@pytest.mark.parametrize("fit", [Affine.fit, Spline.fit])
def test_separated_scores_are_refused(fit):
    with pytest.raises(tc.InputError, match="separate the classes"):
        fit([0, 1, 1, 2], [0, 0, 1, 1])  # a tie at the border does not help
    with pytest.raises(tc.InputError, match="separate the classes"):
        fit([3, 2, 1, 0], [0, 0, 1, 1])
    with pytest.raises(tc.InputError, match="all scores are equal"):
        fit([1, 1, 1, 1], [0, 0, 1, 1])


def test_a_ridge_is_finite_where_scores_separate():
    found = Affine.fit([0, 1, 2, 3], [0, 0, 1, 1], ridge=1e-3)
    assert 0 < found.scale < 100
    assert found.offset == pytest.approx(-1.5 * found.scale)
    with pytest.raises(tc.UsageError, match="ridge is -1"):
        Affine.fit([0, 1, 2, 3], [0, 0, 1, 1], ridge=-1)


@given(st.integers(0, 100_000), st.integers(2, 4), st.integers(6, 14))
def test_separated_classes_are_found_exactly(seed, classes, count):
    """A linear program says whether any scale and offsets put the truth first."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, count - classes)])
    scores = rng.integers(-3, 4, (count, classes)) + 3.0 * np.eye(classes)[labels]
    rows = []
    for s, y in zip(scores, labels, strict=True):
        for k in set(range(classes)) - {int(y)}:
            row = np.zeros(classes + 1)
            row[0], row[1 + k], row[1 + y] = s[k] - s[y], 1, -1  # <= 0
            rows.append(row)
    worst = np.sum(rows, axis=0)
    bounds = [(-1, 1)] * (classes + 1)
    found = linprog(worst, A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds)
    separable = found.fun < -1e-9
    if separable:
        with pytest.raises(tc.InputError, match=r"separate|equal"):
            AffineClasses.fit(scores, labels)
    elif np.linalg.matrix_rank(np.array(rows)) >= classes:
        assert np.isfinite(AffineClasses.fit(scores, labels).scale)


def test_priors_in_the_scores_are_taken_out():
    rng = np.random.default_rng(0)
    labels = (rng.random(3000) < 0.2).astype(int)
    odds = 2 * rng.normal(2 * labels - 1)
    llrs = np.stack([-odds / 2, odds / 2], axis=1)
    found = [
        TemperatureClasses.fit(llrs, labels, training=[q, 1 - q], priors=[0.5, 0.5])
        for q in (0.5, 0.9)
    ]
    assert found[0].scale == pytest.approx(1, abs=0.1)
    assert found[1].training == (0.9, pytest.approx(0.1))
    logs = found[1](llrs)
    assert logs[:, 1] - logs[:, 0] == pytest.approx(
        found[1].scale * odds + np.log(0.5 / 0.1) - np.log(0.5 / 0.9)
    )


def test_temperature_without_overlap_is_refused():
    with pytest.raises(tc.InputError, match="separate the classes"):
        Temperature.fit([-1, -2, 1, 0.5], [0, 0, 1, 1])
    with pytest.raises(tc.InputError, match="separate the classes"):
        TemperatureClasses.fit([[1, 0], [0, 1]], [0, 1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], [1, 1]), tc.InputError, "no nontargets"),
        (([1, 2, 3], [1, 0]), tc.InputError, "3 scores, 2 labels"),
        (([1, np.nan], [1, 0]), tc.InputError, "1 trial has a score that cannot"),
        (([1, 2], [1, 2]), tc.InputError, "expected to be 1"),
        (([], []), tc.InputError, "no trials"),
        (([[1, 2]], [1]), tc.InputError, "one score per trial"),
    ],
)
def test_arrays_that_cannot_be_fitted(arguments, error, message):
    for fit in (Affine.fit, Temperature.fit, Pav.fit, Spline.fit):
        with pytest.raises(error, match=message):
            fit(*arguments)


def test_priors_out_of_range():
    scores, labels = sample()
    with pytest.raises(tc.UsageError, match="one prior above 0"):
        TemperatureClasses.fit(
            np.stack([-scores, scores], axis=1), labels, training=[0.5, 0.2, 0.3]
        )
    for fit in (Affine.fit, Temperature.fit, Spline.fit):
        with pytest.raises(tc.UsageError, match="prior is 1"):
            fit(scores, labels, prior=1)
    with pytest.raises(tc.UsageError, match="one prior above 0"):
        AffineClasses.fit(np.stack([-scores, scores], axis=1), labels, priors=[0, 1])
    with pytest.raises(tc.InputError, match="class 2 has no trials"):
        AffineClasses.fit(np.zeros((4, 3)), [0, 1, 0, 1])


def test_a_weight_of_zero_is_no_trial_and_two_are_two():
    scores, labels = sample(count=60)
    own = np.random.default_rng(0).integers(0, 3, 60)
    rows = np.repeat(np.arange(60), own)
    for fit in (Affine.fit, Temperature.fit, Pav.fit):
        one = fit(scores, labels, weights=own)
        two = fit(scores[rows], labels[rows])
        assert one(scores) == pytest.approx(two(scores), abs=1e-9)


def test_pav_of_lir_on_its_own_tables(shared):
    folder = shared / SCORES / "lir_tables"
    ratios = [np.loadtxt(folder / f) for f in ("LLR_KM.csv", "LLR_KNM.csv")]
    labels = np.repeat([1, 0], [188, 477])
    trials = tc.Trials.from_arrays(np.concatenate(ratios), labels, kind="score")
    calibrated = tc.calibrate(trials, "pav", train="self").trials
    assert values(calibrated, ("cllr",), tc.Application()) == pytest.approx([0.474572], abs=6e-7)


# Trials


def trials_by_speaker(kind="score", seed=0, speakers=30, name="system"):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 600)
    speaker = rng.integers(0, speakers, 600)
    scores = 3 + 2 * rng.normal(labels)
    ids = [f"{name}{i}" for i in range(600)]
    unit = np.array([f"{name}-{s}" for s in speaker])
    return tc.Trials.from_arrays(
        scores, labels, kind=kind, unit=unit, ids=ids, name=name, part=speaker % 3
    )


@pytest.mark.parametrize("method", METHODS)
def test_no_unit_is_fitted_and_judged(method):
    trials = trials_by_speaker()
    found = tc.calibrate(trials, method, folds=4)
    assert (found.trials.kind, found.trials.name) == ("llr", f"system+{method}")
    assert len(found.calibrators) == 4
    units = trials.units["unit"][0]
    for unit in np.unique(units):
        assert len(set(found.used[units == unit])) == 1
    # each trial is calibrated by a fit to the other folds, and by that alone
    fits = {
        "affine": Affine,
        "temperature": Temperature,
        "pav": Pav,
        "spline": Spline,
        "poly3": Cubic,
    }
    for k in range(4):
        others, own = found.used != k, found.used == k
        options = {} if method == "pav" else {"prior": float(np.mean(trials.labels[others]))}
        again = fits[method].fit(trials.scores[others], trials.labels[others], **options)
        assert (found.trials.scores[own] == again(trials.scores[own])).all()


def test_folds_do_not_depend_on_the_order_of_the_trials():
    trials = trials_by_speaker()
    order = np.random.default_rng(3).permutation(600)
    one, two = tc.calibrate(trials), tc.calibrate(trials.take(order))
    assert two.trials.scores == pytest.approx(one.trials.scores[order], abs=1e-9)


def test_trials_with_two_sides_share_no_side_with_their_training_part():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 900)
    sides = rng.integers(0, 25, (2, 900))
    import polars as pl

    from truecost.formats import Table

    frame = pl.DataFrame({"s": rng.normal(labels), "y": labels, "a": sides[0], "b": sides[1]})
    columns = {"score": "s", "label": "y", "unit": "a+b"}
    trials = tc.trials.load(Table("two", frame), tc.trials.Options("score", columns), "two")
    found = tc.calibrate(trials, folds=4)
    assert len(found.calibrators) == 4 * 5 / 2
    for k, calibrator in enumerate(found.calibrators):
        own = found.used == k
        seen = set(sides[:, own].ravel())
        held = [  # the folds of these trials hold other units too: found by the fit itself
            Affine.fit(trials.scores[apart], labels[apart], prior=float(labels[apart].mean()))
            for apart in [~np.isin(sides, sorted(folds_of(found, sides, seen))).any(axis=0)]
        ]
        assert calibrator == held[0]
    assert "by-a+b" in found.trials.signature


def folds_of(found, sides, seen):
    """All units that lie in the folds of these units."""
    together = {u: {u} for u in range(25)}
    for k in range(len(found.calibrators)):  # a cell (i, i) shows which units share a fold
        units = sides[:, found.used == k]
        pure = [set(column) for column in units.T]
        if is_one_fold(pure):
            whole = set.union(*pure)
            for unit in whole:
                together[unit] |= whole
    return set().union(*(together[u] for u in seen))


def is_one_fold(pairs):
    """Whether pairs of units connect in a way that only one fold gives: with an odd cycle or a
    loop (two folds give a bipartite graph).
    """
    colour = {}
    changed = True
    edges = [tuple(p) for p in pairs if len(p) == 2]
    if any(len(p) == 1 for p in pairs):
        return True
    while changed:
        changed = False
        for a, b in edges:
            if not colour:
                colour[a] = 0
                changed = True
            for x, y in ((a, b), (b, a)):
                if x in colour and y not in colour:
                    colour[y] = 1 - colour[x]
                    changed = True
    return any(colour.get(a) == colour.get(b) for a, b in edges)


def test_training_on_other_data():
    dev, test = trials_by_speaker(seed=1, name="dev"), trials_by_speaker(seed=2, name="test")
    found = tc.calibrate(test, train=dev)
    expected = Affine.fit(dev.scores, dev.labels)
    assert found.calibrators == (expected,)
    assert (found.trials.scores == expected(test.scores)).all()
    assert found.problems == ()
    share = f"{np.mean(dev.labels):.6g}"
    assert found.trials.signature == f"type:score|calibrated:affine:train-dev:prior-{share}"


def test_the_effective_prior_of_the_application_weighs_the_classes():
    trials = trials_by_speaker()
    application = tc.Application.detection(10, 1, prior=0.01)
    found = tc.calibrate(trials, train="self", application=application)
    expected = Affine.fit(trials.scores, trials.labels, prior=application.effective_prior)
    assert found.calibrators == (expected,)
    costly = tc.calibrate(trials, train="self", application=tc.Application.detection(10, 1))
    share = np.mean(trials.labels)
    assert costly.priors[1] == pytest.approx(10 * share / (10 * share + 1 - share))


def test_log_posteriors_of_classes_are_those_of_detection():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    logs = np.stack([np.zeros(500), rng.normal(2 * labels)], axis=1)
    classes = tc.Trials.from_arrays(logs, labels, kind="log-score")
    detection = tc.Trials.from_arrays(logs, labels, kind="log-score", target="1")
    for method in ("affine", "pav", "spline"):
        for application in (tc.Application(), tc.Application(priors=(0.9, 0.1))):
            found = [
                values(
                    tc.calibrate(
                        t, method, application=application, laplace=method == "pav"
                    ).trials,
                    ("nce", "nec"),
                    application,
                )
                for t in (classes, detection)
            ]
            assert found[0] == pytest.approx(found[1], abs=1e-8)


def test_shared_units_and_ids_are_told():
    dev, test = trials_by_speaker(seed=1, name="dev"), trials_by_speaker(seed=2, name="dev")
    units, ids = tc.calibrate(test, train=dev).problems
    assert units.startswith("30 of the units of 'unit' are in both dev and dev (dev-0, dev-1, ")
    assert ids.startswith("600 of the trial ids are in both")


def test_given_folds():
    trials = trials_by_speaker()
    found = tc.calibrate(trials, fold="part")
    assert len(found.calibrators) == 3
    assert (found.used == trials.frame["part"].to_numpy()).all()
    assert found.problems == ()
    assert "folds3:column-part" in found.trials.signature
    [problem] = tc.calibrate(trials, fold=np.arange(600) % 2).problems
    assert problem.startswith("30 units of 'unit' lie in more than one fold")


def with_labels(trials, rows, seed=9):
    """The trials with new labels at these rows, drawn with other shares of the classes."""
    drawn = np.random.default_rng(seed).random(len(trials.labels))
    classes = len(trials.classes)
    labels = np.where(rows, (drawn**3 * classes).astype(int), trials.labels)
    assert (labels != trials.labels)[rows].any()
    return replace(trials, labels=labels)


def likelihoods(trials):
    """Log-likelihood ratios, or log-posteriors without the class shares that they contain."""
    if trials.detection:
        return trials.scores
    classes = len(trials.classes)
    return move_posteriors(trials.scores, class_shares(trials), np.full(classes, 1 / classes))


def system_of(kind, classes, seed=4):
    """Overlapping trials of 30 speakers in 3 parts, one class rarer than others."""
    rng = np.random.default_rng(seed)
    speaker = rng.integers(0, 30, 900)
    labels = (rng.random(900) ** 1.5 * classes).astype(int)
    logs = rng.normal(size=(900, classes)) + 1.2 * np.eye(classes)[labels]
    if kind in ("score", "llr"):
        scores = logs[:, 1] - logs[:, 0]
    else:
        scores = {"log-score": 2 * logs, "posterior": softmax(2 * logs, axis=1)}[kind]
        if (kind, classes) == ("posterior", 2):
            scores = scores[:, 1]
    return tc.Trials.from_arrays(scores, labels, kind=kind, unit=speaker, part=speaker % 3)


SYSTEMS = [
    *((method, kind, 2) for method in METHODS for kind in ("score", "posterior", "log-score")),
    *((m, kind, 3) for m in ("affine", "temperature") for kind in ("log-score", "posterior")),
]


@pytest.mark.parametrize(("method", "kind", "classes"), SYSTEMS)
@pytest.mark.parametrize("dealt_", [False, True])
def test_labels_of_a_fold_have_no_say_in_its_scores(method, kind, classes, dealt_):
    trials = system_of(kind, classes)
    fold = tc.calibrate(trials, method, folds=4).used if dealt_ else trials.frame["part"].to_numpy()
    application = tc.Application.detection(10, 1) if kind == "score" else None
    options = {"fold": fold, "application": application}
    before, own = tc.calibrate(trials, method, **options), fold == 0
    after = tc.calibrate(with_labels(trials, own), method, **options)
    one, two = likelihoods(before.trials), likelihoods(after.trials)
    # Posteriors of classes pass through the shares of the scored trials, and round there.
    assert one[own] == pytest.approx(two[own], rel=0, abs=0 if before.trials.detection else 1e-12)
    assert (one[~own] != two[~own]).any()
    assert before.priors is None
    assert before.summary()["priors"] == "empirical"


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_leave_the_dealing_as_it_is_have_no_say_either(method):
    trials = system_of("score", 2)
    found, labels = tc.calibrate(trials, method), trials.labels.copy()
    rng = np.random.default_rng(0)
    for unit in np.unique(trials.units["unit"][0][found.used == 0]):
        rows = np.flatnonzero(trials.units["unit"][0] == unit)
        labels[rows] = rng.permutation(labels[rows])
    assert (labels != trials.labels).any()
    again = tc.calibrate(replace(trials, labels=labels), method)
    own = found.used == 0
    assert (again.used == found.used).all()
    assert (again.trials.scores == found.trials.scores)[own].all()
    assert (again.trials.scores != found.trials.scores)[~own].any()


def test_labels_of_crossed_units_have_no_say_on_either_side():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 900)
    trials = tc.Trials.from_arrays(rng.normal(labels), labels, kind="score")
    folds = Folds(rng.integers(0, 3, (2, 900)), ("1", "2", "3"), "two sides")
    touched = (folds.codes == 0).any(axis=0)
    plain = Fitting("affine", True)
    fits, used, one = cross_fit(trials, folds, plain, tc.Application())
    _, _, two = cross_fit(with_labels(trials, touched), folds, plain, tc.Application())
    assert (len(fits), used.max()) == (6, 5)
    assert (one == two)[touched].all()
    assert (one != two)[~touched].any()


def test_priors_of_each_fit_are_said_to_be_empirical():
    trials = system_of("score", 2)

    def words(application, **options):
        signature = tc.calibrate(trials, application=application, **options).trials.signature
        return signature.split("|calibrated:affine:")[1]

    assert words(None) == "folds5:by-unit:seed0:prior-empirical"
    costly = tc.Application.detection(10, 1)
    assert words(costly) == "folds5:by-unit:seed0:prior-empirical-costs-10"
    own = tc.Application.detection(10, 1, prior=0.5)
    assert words(own) == "folds5:by-unit:seed0:prior-0.909091"
    assert tc.calibrate(trials, application=own).priors == pytest.approx((1 / 11, 10 / 11))
    assert words(None, train="self") == f"self:prior-{np.mean(trials.labels):.6g}"


# Scores without labels


@pytest.mark.parametrize(("method", "kind", "classes"), SYSTEMS)
def test_a_calibration_applies_to_scores_without_labels(method, kind, classes):
    dev, test = system_of(kind, classes, 1), system_of(kind, classes, 2)
    expected = tc.calibrate(test, method, train=dev)
    given_ = test.scores
    if kind == "posterior" and classes == 2:  # the trials hold log odds
        given_ = expit(given_)
    fitted = tc.calibrate(dev, method, train="self")
    found = fitted.apply(given_)
    assert (found == expected.apply(given_)).all()
    scores = expected.trials.scores
    if not test.detection:  # at the priors of the fit
        scores = move_posteriors(scores, class_shares(test), fitted.priors)
    assert found == pytest.approx(scores, abs=1e-9)


def test_a_calibration_applies_to_a_table():
    import polars as pl

    from truecost.formats import Table

    dev = trials_by_speaker("llr", name="dev")
    fitted = tc.calibrate(dev, train="self")
    table = Table("new", pl.DataFrame({"score": [1.0, None, 3.0], "n": ["a", "b", "c"]}))
    with pytest.raises(tc.InputError, match="new: 1 score is missing or NaN: row 1"):
        fitted.apply(table)
    options = tc.trials.Options("llr", missing="drop", llr_base=10)
    found, base = fitted.apply(table, options), np.log(10)
    first, last = fitted.apply([base, 3 * base])
    assert found == pytest.approx([first, np.nan, last], nan_ok=True)
    written = fitted.applied(table, options)
    assert written.columns == ["raw_score", "n", "score"]
    assert written.frame["n"].to_list() == ["a", "c"]
    assert written.numbers("score", "score") == pytest.approx(found[[0, 2]])


WORST = tc.trials.Options("score", missing="worst")


@pytest.mark.parametrize(
    ("train", "scores", "options", "error", "message"),
    [
        ("score", [[1.0, 2.0]], None, tc.InputError, "2 scores a trial, but type score has one"),
        ("score", [[[1.0]]], None, tc.InputError, r"shape \(1, 1, 1\)"),
        ("score", [1.0], tc.trials.Options("llr"), tc.UsageError, "type that it was trained"),
        ("score", [1.0], WORST, tc.UsageError, "needs labels"),
        ("score", [np.nan], None, tc.InputError, "1 score is missing or NaN"),
        ("posterior", [1.2], None, tc.InputError, "1 posterior lies outside 0 to 1"),
        ("posterior", [[0.2, 0.8]], None, tc.UsageError, "name the target with target"),
        ("log-score", [[1.0, 2.0]], None, tc.InputError, "2 scores a trial, but the calibration"),
        ("log-score", [[1.0, 2.0, 3.0]], tc.trials.Options("log-score", classes=("2", "1", "0")),
         tc.InputError, "classes 2, 1, 0, but the calibration was trained on the classes 0, 1, 2"),
    ],
)  # fmt: skip
def test_scores_that_a_calibration_does_not_apply_to(train, scores, options, error, message):
    fitted = tc.calibrate(system_of(train, 3 if train == "log-score" else 2), train="self")
    with pytest.raises(error, match=message):
        fitted.apply(scores, options)


def test_a_cross_fitted_calibration_does_not_apply_to_others():
    with pytest.raises(tc.UsageError, match="there are 5 calibrations, cross-fitted"):
        tc.calibrate(trials_by_speaker()).apply([1.0])


def test_soft_labels_stay_in_one_fold():
    import polars as pl

    from truecost.formats import Table

    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 300).round(2)
    frame = pl.DataFrame({"s": rng.normal(2 * p), "p": p})
    trials = tc.trials.load(
        Table("soft", frame), tc.trials.Options("score", {"score": "s", "soft": "p"}), "soft"
    )
    found = tc.calibrate(trials)
    for row in range(300):
        assert len(set(found.used[trials.origin == row])) == 1
    table = found.table()
    assert len(table) == 300
    assert table.frame["s"].to_list() == frame["s"].to_list()


def test_calibrators_stay_in_the_replicates():
    trials = trials_by_speaker()
    calibrated = tc.calibrate(trials).trials
    fixed = tc.Trials.from_arrays(
        calibrated.scores, trials.labels, kind="llr", unit=trials.units["unit"][0]
    )
    scoring = tc.Scoring(measures=("cllr",), plan=tc.Plan(50))
    [one], [two] = tc.score_system(calibrated, scoring), tc.score_system(fixed, scoring)
    assert (one.replicates == two.replicates).all()


def test_reversed_scores_are_told():
    trials = trials_by_speaker()
    turned = tc.Trials.from_arrays(-trials.scores, trials.labels, kind="score")
    [problem] = tc.calibrate(turned).problems
    assert "scores look reversed" in problem
    assert problem.endswith("(in 5 of 5 fits)")


def test_decomposition_of_cllr_and_of_cross_entropy():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 800)
    trials = tc.Trials.from_arrays(3 * rng.normal(labels), labels, kind="llr")
    scoring = tc.Scoring(measures=("cllr", "min_cllr", "cllr_loss"), plan=tc.Plan(100))
    found = tc.decompose(trials, scoring, "pav")
    cllr, minimum, loss_ = (e.value for e in found.actual)
    assert found.minimum[0].value == pytest.approx(minimum)
    assert found.losses[0].difference.value == pytest.approx(loss_)
    assert cllr == pytest.approx(minimum + loss_)
    assert found.losses[0].difference.lower > 0
    classes = rng.integers(0, 3, 800)
    scores = 4 * (rng.normal(size=(800, 3)) + np.eye(3)[classes])
    many = tc.Trials.from_arrays(scores, classes, kind="log-score")
    parts = tc.decompose(many, tc.Scoring(measures=("nce",), plan=tc.Plan(100)))
    assert parts.losses[0].difference.lower > 0
    assert parts.minimum[0].dims["system"] == "system+affine"
    with pytest.raises(tc.UsageError, match="no actual cost"):
        tc.decompose(trials_by_speaker())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "platt"}, tc.UsageError, "choose one of affine, temperature, pav, spline"),
        ({"laplace": True}, tc.UsageError, "laplace is for method pav, not for affine"),
        ({"method": "pav", "ridge": 1.0}, tc.UsageError, "for method affine, not for pav"),
        ({"ridges": 1.0}, tc.UsageError, "no option 'ridges': its options are ridge"),
        ({"method": "spline", "sed": 0}, tc.UsageError, "no option 'sed': its options are none"),
        ({"ridge": -1.0}, tc.UsageError, "ridge is -1"),
        ({"seed": -1}, tc.UsageError, "seed is -1: it must be a whole number from 0 up"),
        ({"fold": "prat"}, tc.UsageError, "did you mean 'part'"),
        ({"fold": "part", "train": "self"}, tc.UsageError, "either train or fold"),
        ({"fold": [1, 2]}, tc.InputError, "2 folds for 600 trials"),
        ({"fold": np.ones(600)}, tc.InputError, "at least 2 folds"),
        ({"folds": 31}, tc.InputError, "30 units for 31 folds"),
        ({"folds": 1}, tc.UsageError, "at least 2"),
    ],
)
def test_requests_that_cannot_be_met(options, error, message):
    with pytest.raises(error, match=message):
        tc.calibrate(trials_by_speaker(), **options)


@dataclass(frozen=True)
class Shift:
    """A method of this test: an offset that an option sets."""

    offset: float
    problems: tuple[str, ...] = ()

    def __call__(self, scores):
        return np.asarray(scores) + self.offset

    @property
    def parameters(self):
        return {"offset": self.offset}


def test_a_method_is_registered_in_one_place(monkeypatch):
    def fit(scores, labels, *, prior, weights, by=0.0):
        assert len(scores) == len(labels)
        assert (weights, 0 < prior < 1) == (None, True)
        return Shift(by)

    kind = Kind("a shift", fit, options=("by",), cites=("spline",))
    monkeypatch.setitem(METHODS, "shift", kind)
    trials = trials_by_speaker()
    found = tc.calibrate(trials, "shift", by=2.0)
    assert (found.trials.scores == trials.scores + 2).all()
    assert "|calibrated:shift:folds5:by-unit:seed0:by-2:prior-" in found.trials.signature
    assert "eilers-1996" in bibtex(["cllr"], [found.trials.signature])
    with pytest.raises(tc.UsageError, match="by is for method shift, not for affine"):
        tc.calibrate(trials, by=2.0)
    logs = np.stack([np.zeros(600), trials.scores], axis=1)
    classes = tc.calibrate(
        tc.Trials.from_arrays(logs, trials.labels, kind="log-score"), "shift", by=1.0
    )
    assert np.exp(classes.trials.scores).sum(axis=1) == pytest.approx(1)


def test_methods_are_named_for_the_command_line():
    assert get_args(CalibrationMethod) == tuple(METHODS)
    assert {o for kind in METHODS.values() for o in kind.options} == {*OF_METHODS}
    assert {key for kind in METHODS.values() for key in kind.cites} <= set(PAPERS)


def test_options_that_are_off_change_nothing():
    trials = trials_by_speaker()
    plain, off = tc.calibrate(trials), tc.calibrate(trials, laplace=False, ridge=0.0)
    assert off.trials.signature == plain.trials.signature
    assert off.calibrators == plain.calibrators
    assert ":ridge-0.5:" in tc.calibrate(trials, ridge=0.5).trials.signature
    assert ":laplace|" in tc.calibrate(trials, "pav", laplace=True).trials.signature + "|"


def test_a_scoring_after_calibration_leaves_what_belonged_to_the_raw_scores():
    raw = tc.Scoring(
        measures=("cllr",), choices=tc.TrialsScoring(training_prior=(0.9, 0.1), threshold=3.0)
    )
    assert scoring_after(raw) == tc.Scoring(measures=("cllr",), choices=tc.TrialsScoring())


def test_messages_agree_with_one():
    one = tc.Trials.from_arrays([0.0, 0.0, 1.0, 1.0, 2.0], [0, 1, 0, 1, 1], kind="score")
    [problem] = [p for p in tc.calibrate(one, "pav", train="self").problems if "infinite" in p]
    assert problem.startswith("1 trial gets an infinite likelihood ratio")


def test_trials_that_cannot_be_calibrated():
    trials = trials_by_speaker()
    other = tc.Trials.from_arrays(trials.scores, trials.labels, kind="llr", name="dev")
    with pytest.raises(tc.UsageError, match="dev has scores of type llr, system of type score"):
        tc.calibrate(trials, train=other)
    decisions = tc.Trials.from_arrays(trials.labels, trials.labels, kind="decision")
    with pytest.raises(tc.UsageError, match="type decision has no scores"):
        tc.calibrate(decisions)
    with pytest.raises(tc.InputError, match="without fold a: no trials of nontarget to"):
        tc.calibrate(trials, fold=np.where(trials.labels == 1, "b", "a"))
    only = np.where(trials.labels == 1, 0, np.arange(600) % 3 + 1)  # all targets in fold 0
    with pytest.raises(tc.InputError, match="without fold 0: no trials of target to"):
        tc.calibrate(trials, fold=only)
    logs = np.random.default_rng(0).normal(size=(90, 3))
    with pytest.raises(tc.UsageError, match="pav needs two classes, the data have 3"):
        tc.calibrate(tc.Trials.from_arrays(logs, np.arange(90) % 3, kind="log-score"), "pav")
    sure = tc.Trials.from_arrays(
        [0.0, 0.2, 0.9, 1.0, 0.4, 0.6], [0, 1, 0, 1, 0, 1], kind="posterior"
    )
    with pytest.raises(tc.InputError, match="clip them"):
        tc.calibrate(sure, train="self")
    assert tc.calibrate(sure, train="self", clip=0.01).trials.signature.endswith("clip:0.01")


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("prior", [0.5, 0.01, 1e-4])
def test_affine_of_two_scores_is_the_closed_form(share, prior):
    """Most trials at one score, few at another: a full first step would leave for the flat."""
    scores, labels = np.array([0.0, 1.0, 0.0, 1.0]), np.array([1, 1, 0, 0])
    weights = np.array([0.4, 0.6, 1 - share, share]) * 1e6
    found = Affine.fit(scores, labels, prior=prior, weights=weights)
    expected = np.log([0.4 / (1 - share), 0.6 / share])
    assert found([0.0, 1.0]) == pytest.approx(expected, abs=1e-6)
