"""Cubic calibration: least squares, the check, what is used instead, the findings on shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.special import expit, logit

import truecost as tc
from truecost.calibration import METHODS, Cubic, Spline

# p(score) by shape, and how scores are drawn
SHAPES = {
    "steep": (lambda rng, n: rng.uniform(0, 1, n), lambda s: expit(12 * (s - 0.5))),
    "two normals": (lambda rng, n: rng.normal(rng.choice([-2, 2], n), 2), expit),
    "scores near 1": (lambda rng, n: rng.beta(5, 1, n), lambda s: expit(10 * (s - 0.6))),
    "concave": (lambda rng, n: rng.uniform(0, 1, n), lambda s: 0.95 * s**0.3),
}


def drawn(shape, count, seed):
    draw, law = SHAPES[shape]
    rng = np.random.default_rng(seed)
    scores = draw(rng, count)
    return scores, (rng.random(count) < law(scores)).astype(int)


def kept(seed=0, count=2000):
    """Scores for which a cubic polynomial is right: it rises everywhere, from 0.1 to 0.9."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0, 50, count)
    z = scores / 50
    p = 0.1 + 0.4 * z + 0.4 * z**2 * (3 - 2 * z)
    return scores, (rng.random(count) < p).astype(int), p


def raw(found):
    """The polynomial in powers of the score itself."""
    z = Polynomial(found.coefficients, domain=[found.low, found.high])
    return z.convert().coef


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_polynomial_is_that_of_polyfit(shape, weighted):
    scores, labels = drawn(shape, 500, 0)
    own = np.random.default_rng(1).uniform(0.1, 5, 500) if weighted else np.ones(500)
    found = Cubic.fit(scores, labels, weights=own)
    expected = np.polyfit(scores, labels, 3, w=np.sqrt(own))
    assert raw(found)[::-1] == pytest.approx(expected, rel=1e-8)
    assert found.polynomial(scores) == pytest.approx(np.polyval(expected, scores), abs=1e-10)
    assert (found.low, found.high) == (scores.min(), scores.max())


def test_coefficients_by_hand():
    """Labels that are the means 0, 1/2, 1/2, 1 at four scores: the cubic goes through them."""
    scores = np.repeat([0.0, 1.0, 2.0, 3.0], 2)
    found = Cubic.fit(scores, [0, 0, 0, 1, 0, 1, 1, 1])
    # s/2 + (s)(s - 1)(-1/4) + (s)(s - 1)(s - 2)/6, Newton's divided differences
    assert raw(found) == pytest.approx([0, 13 / 12, -3 / 4, 1 / 6], abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([None, 0.02, 0.7]))
def test_no_other_cubic_has_a_smaller_loss(seed, prior):
    rng = np.random.default_rng(seed)
    scores, labels = rng.normal(size=60), rng.integers(0, 2, 60)
    labels[:2] = 0, 1
    own = rng.uniform(0, 2, 60)
    share = np.bincount(labels, own)[1] / own.sum() if prior is None else prior

    found = Cubic.fit(scores, labels, weights=own, prior=prior)

    def loss(values):
        squares = own * (labels - values) ** 2
        return sum(
            p * squares[labels == k].sum() / own[labels == k].sum()
            for k, p in ((1, share), (0, 1 - share))
        )

    least, z = loss(found.polynomial(scores)), (scores - scores.mean()) / scores.std()
    for power in range(4):
        for step in (-1e-3, 1e-3):
            assert loss(found.polynomial(scores) + step * z**power) >= least


def test_a_polynomial_that_rises_within_0_and_1_is_the_probability():
    scores, labels, p = kept(count=20_000)
    found = Cubic.fit(scores, labels)
    assert (found.falls, found.leaves, found.fallback, found.problems) == ((), (), None, ())
    probabilities = expit(found(scores) + logit(labels.mean()))
    assert probabilities == pytest.approx(found.polynomial(scores), abs=1e-12)
    assert probabilities == pytest.approx(p, abs=0.03)
    assert probabilities.mean() == pytest.approx(labels.mean(), abs=1e-12)  # least squares


def test_a_score_beyond_the_range_takes_the_nearest_value():
    scores, labels, _ = kept()
    found = Cubic.fit(scores, labels)
    assert found([-1e9, 1e9]).tolist() == found([found.low, found.high]).tolist()
    assert found(np.zeros((2, 3))).shape == (2, 3)
    assert np.isnan(found([np.nan])[0])


def test_a_probability_of_0_is_that_of_laplaces_rule():
    # straight from 0 to 1, ends included
    scores = np.repeat([0, 1, 2, 3, 4], 4)
    labels = [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]
    found = Cubic.fit(scores, labels)
    assert found.polynomial([0, 1, 4]) == pytest.approx([0, 0.25, 1], abs=1e-12)
    assert found.fallback is None
    assert found.clip == 1 / 22
    assert expit(found([0, 1, 4])) == pytest.approx([1 / 22, 0.25, 21 / 22])


@pytest.mark.parametrize("prior", [None, 0.05])
def test_the_spline_takes_the_place_of_a_polynomial_that_fails(prior):
    scores, labels = drawn("steep", 1000, 0)
    found = Cubic.fit(scores, labels, prior=prior)
    spline = Spline.fit(scores, labels, prior=prior)
    at = np.linspace(-1, 2, 50)
    assert (found(at) == spline(at)).all()
    assert found.parameters["fallback"] == "spline"
    assert found.parameters["spline_smoothing"] == spline.smoothing
    assert (np.diff(found(at)) >= 0).all()


def test_where_it_fails_is_told():
    scores, labels = drawn("steep", 5000, 0)
    found = Cubic.fit(scores, labels)
    assert found.problems == (
        "the cubic polynomial falls and leaves [0, 1] at low and high scores: a monotone spline "
        "is used instead",
    )
    at = np.linspace(found.low, found.high, 4001)
    p = found.polynomial(at)
    inner = (at[1:-1], np.gradient(p, at)[1:-1], p[1:-1])
    width = (found.high - found.low) / 1000
    for stretches, wrong in (
        (found.falls, inner[1] < 0),
        (found.leaves, (inner[2] < 0) | (inner[2] > 1)),
    ):
        near = [(inner[0] >= a - width) & (inner[0] <= b + width) for a, b in stretches]
        inside = [(inner[0] > a + width) & (inner[0] < b - width) for a, b in stretches]
        assert np.any(near, axis=0)[wrong].all()
        assert wrong[np.any(inside, axis=0)].all()


def test_reversed_scores_get_a_flat_curve():
    scores, labels, _ = kept()
    found = Cubic.fit(-scores, labels)
    assert found.problems[0].startswith("the cubic polynomial falls at low, middle and high")
    assert "reversed" in found.problems[1]


def test_it_rarely_can_be_a_probability(monkeypatch):
    """200 fits to 2,000 labels: for three shapes of four all fall, and over half leave [0, 1]."""
    monkeypatch.setattr(Spline, "fit", lambda *_, **__: None)  # not looked at, and slow
    falls, leaves = {}, {}
    for shape in SHAPES:
        fits = [Cubic.fit(*drawn(shape, 2000, seed)) for seed in range(50)]
        falls[shape] = sum(bool(fit.falls) for fit in fits)
        leaves[shape] = sum(bool(fit.leaves) for fit in fits)
    assert falls == {"steep": 50, "two normals": 50, "scores near 1": 50, "concave": 0}
    assert min(leaves["steep"], leaves["two normals"]) == 50
    assert 25 <= leaves["scores near 1"] < 50
    assert leaves["concave"] <= 10
    assert sum(leaves.values()) > 100


def test_order_and_repetition():
    scores, labels, _ = kept(count=300)
    own = np.random.default_rng(0).integers(0, 3, 300)
    one = Cubic.fit(scores, labels, weights=own)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(300), own))
    two = Cubic.fit(scores[rows], labels[rows])
    assert one.coefficients == pytest.approx(two.coefficients, abs=1e-12)


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_it_does_not_depend_on_the_scale_of_the_scores(seed, scale, shift):
    scores, labels, _ = kept(seed, 200)
    one, two = Cubic.fit(scores, labels), Cubic.fit(scale * scores + shift, labels)
    assert two.polynomial(scale * scores + shift) == pytest.approx(one.polynomial(scores), abs=1e-7)


def test_a_far_score_is_no_trouble():
    scores, labels, _ = kept(count=400)
    wild = np.where(np.arange(400) == labels.argmax(), 1e9, scores)
    found = Cubic.fit(wild, labels)
    assert found.fallback is not None
    assert np.isfinite(found(wild)).all()


def test_it_is_a_method_like_the_others():
    scores, labels, _ = kept()
    trials = tc.Trials.from_arrays(scores, labels, kind="score", name="machine")
    found = tc.calibrate(trials, "poly3", train="self")
    assert "|calibrated:poly3:self:" in found.trials.signature
    assert found.calibrators[0].coefficients == Cubic.fit(scores, labels).coefficients
    assert METHODS["poly3"].of_classes is None
    assert tc.calibrate(trials, "poly3").parameters[0]["falls"] == []


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 1, 1, 1], [0, 0, 1, 1], "all scores are equal"),
        ([1, 2, 3, 1], [0, 0, 1, 1], "there are 3 different scores: a cubic polynomial needs at"),
        ([1, 2, 3, 4], [1, 1, 1, 1], "no nontargets"),
        ([1, 2, 3, np.inf], [0, 1, 0, 1], "1 trial has a score that cannot"),
        ([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], "separate the classes"),  # no spline either
    ],
)
def test_data_that_cannot_be_fitted(scores, labels, message):
    with pytest.raises(tc.InputError, match=message):
        Cubic.fit(scores, labels)
