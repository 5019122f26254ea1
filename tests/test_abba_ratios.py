"""Ratios of AB/BA: golden counts, identities, errata of paper 001, ppi-python, the delta method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from truecost.tasks.abba.counting import Linear, evidence_of, log_interval, standard_error
from truecost.tasks.abba.measures import clipped, corrected, direct_ratio, pooled_ratio, ratio
from truecost.tasks.abba.records import Traffic
from truecost.tasks.abba.simulating import PRIOR, collected, streams

# (11A, 10A, 11B, 01B) of true and of false accepts: spec/abba.md, "Golden counts".
FIRST = ((1140, 60, 1140, 90), (175, 175, 175, 87.5))
SECOND = ((5400, 600, 2400, 600), (2700, 6300, 7200, 4800))
STREAMS = 2_000_000_000  # so many that chance is nothing beside the bias


def sums_of(true, false, machine=None):
    """Sums of fully labelled cells, as `ratio` takes them."""
    t, f = (np.array(c, float).reshape(2, 2) for c in (true, false))
    m = t if machine is None else np.array(machine, float).reshape(2, 2)
    found = {
        ("collected", "items"): t + f,
        ("collected", "labels"): t + f,
        ("collected", "labelled"): t + f,
        ("collected", "positive"): t,
        ("machine", "all"): m,
        ("machine", "known"): m,
        ("traffic", "exposure"): np.array([5000.0, 5000.0]),
    }
    return lambda part, statistic: found[part, statistic]


def both(counts, estimator):
    sums = sums_of(*counts)
    return float(ratio(sums, estimator, 1)), float(ratio(sums, estimator, 0))


def test_golden_counts():
    for estimator in ("direct", "pooled", "ab"):
        assert both(FIRST, estimator) == pytest.approx((1.025, 0.75), abs=1e-12)
    assert both(SECOND, "direct") == pytest.approx((1.125, 0.5), abs=1e-12)
    assert both(SECOND, "pooled") == pytest.approx((0.978, 0.792), abs=5e-4)


def table_1():
    """Collected items of Table 1's population by label, arm and other."""
    return streams(STREAMS, 0.82, 0.075, np.random.default_rng(1))


def test_erratum_false_positives_of_b_alone():
    """Eq. 6 with `NFP_B` as all of B's false positives is biased: 0.833 where 0.75 is true."""
    false, true = table_1()
    sums = sums_of(true, false)
    assert float(ratio(sums, "pooled", 0)) == pytest.approx(0.75, abs=5e-4)
    every = np.stack([false[:, 0], false.sum(axis=1)], axis=1)  # in place of those of one alone
    assert float(pooled_ratio(every, sums)) == pytest.approx(5 / 6, abs=5e-4)


def test_erratum_absolute_recall_is_biased_by_dependence():
    """P(A|B, L=1) is no recall of A: in Table 1's population it is .927 where the recall is .80."""
    false, true = table_1()
    recall_of_a = true[0].sum() / (PRIOR * STREAMS)
    assert recall_of_a == pytest.approx(0.8, abs=5e-4)
    assert true[1, 0] / true[1].sum() == pytest.approx(0.927, abs=5e-4)
    # The ratio of both such shares is what the direct estimator gives, and that is not biased.
    shares = [true[arm, 0] / true[arm].sum() for arm in (0, 1)]
    direct = float(ratio(sums_of(true, false), "direct", 1))
    assert direct == pytest.approx(shares[0] / shares[1], rel=1e-12)
    assert direct == pytest.approx(0.82 / 0.8, abs=5e-4)


def test_traffic_shares_cancel_in_the_direct_ratio():
    total = np.array(FIRST[0], float).reshape(2, 2)
    assert direct_ratio(total * [[3.0], [0.2]]) == pytest.approx(direct_ratio(total), abs=1e-12)


counts = st.lists(st.integers(1, 400), min_size=8, max_size=8)


@given(counts)
def test_hard_labels_in_the_soft_formula_are_the_direct_ratio(n):
    true, false = n[:4], n[4:]
    for label in (0, 1):
        direct = ratio(sums_of(true, false), "direct", label)
        assert ratio(sums_of(true, false), "soft", label) == pytest.approx(direct, abs=1e-12)


@given(counts)
def test_pooled_with_the_share_of_its_own_class_is_the_direct_ratio(n):
    total = np.array(n[:4], float).reshape(2, 2)
    direct = float(direct_ratio(total))
    assert float(pooled_ratio(total, lambda part, statistic: total)) == pytest.approx(
        direct, rel=1e-12
    )


@given(counts)
def test_a_and_b_exchanged_turn_the_ratio_over(n):
    for estimator in ("direct", "pooled", "ab"):
        there = ratio(sums_of(n[:4], n[4:]), estimator, 1)
        turned = ratio(sums_of(n[2:4] + n[:2], n[6:] + n[4:6]), estimator, 1)
        assert float(there * turned) == pytest.approx(1, rel=1e-12)


@given(counts)
def test_all_labelled_the_correction_gives_the_human_ratio_whatever_the_machine(n):
    items = np.array(n[:4]) + np.array(n[4:])
    sums = sums_of(n[:4], n[4:], machine=0.3 * items)
    for label in (0, 1):
        human = ratio(sums, "direct", label)
        assert float(ratio(sums, "corrected", label)) == pytest.approx(float(human), rel=1e-9)


def test_the_corrected_share_of_a_cell_is_that_of_ppi_python():
    import ppi_py as ppi

    rng = np.random.default_rng(4)
    items, known = 800, 60
    machine = rng.beta(5, 2, items)
    label = (rng.random(items) < machine**1.5).astype(float)
    theirs = ppi.ppi_mean_pointestimate(
        label[:known], machine[:known], machine, lam=1.0, w=np.ones(known)
    )
    own = sums_of([[items] * 4], [[0] * 4])

    def sums(part, statistic):
        given = {
            ("collected", "labels"): known,
            ("collected", "labelled"): known,
            ("collected", "positive"): label[:known].sum(),
            ("machine", "all"): machine.sum(),
            ("machine", "known"): machine[:known].sum(),
        }
        return np.full((2, 2), given.get((part, statistic), own(part, statistic)))

    found = corrected(sums)[0][0, 0] / items
    assert found == pytest.approx(float(np.asarray(theirs).ravel()[0]), abs=1e-12)


def test_corrected_totals_outside_their_cell_are_clipped_and_counted():
    sums = sums_of((10, 10, 10, 10), (0, 0, 0, 0), machine=(10, 10, 10, 10))
    wrong = {("machine", "known"): np.full((2, 2), 2.0), ("machine", "all"): np.full((2, 2), 9.9)}
    seen = lambda p, s: wrong.get((p, s), sums(p, s))  # noqa: E731
    total, other = corrected(seen)
    assert total.tolist() == [[10, 10], [10, 10]]
    assert other.tolist() == [[0, 0], [0, 0]]
    assert int(clipped(seen)) == 4


def linear_of(true, false):
    """Sums of a deployment of fully labelled items."""
    cells = np.array([false, true]).reshape(2, 2, 2)
    deployment = collected(cells, Traffic(exposure=(5000.0, 5000.0)))
    return Linear.from_evidence(evidence_of(deployment, tc.Plan(scheme="poisson")))


def log_ratio(estimator, label):
    return lambda sums: np.log(ratio(sums, estimator, label))


@given(counts)
@settings(max_examples=50, deadline=None)
def test_the_delta_method_has_the_textbook_variance_of_the_direct_ratio(n):
    linear = linear_of(n[:4], n[4:])
    for label in (0, 1):
        n11a, n10a, n11b, n01b = n[:4] if label else n[4:]
        wanted = 1 / n11a - 1 / (n11a + n10a) + 1 / n11b - 1 / (n11b + n01b)
        found = standard_error(linear, log_ratio("direct", label), adjusted=False)
        assert found**2 == pytest.approx(wanted, rel=1e-5, abs=1e-12)


def test_the_delta_method_has_the_textbook_variance_of_the_pooled_ratio():
    """Where the label mix of both arms is the same, as the formula of the spec takes it to be."""
    true, false = (1140, 60, 1140, 90), (176, 176, 176, 88)
    linear = linear_of(true, false)
    for label, (n11a, n10a, n11b, n01b) in ((1, true), (0, false)):
        other = false if label else true
        m = n11a + n11b + other[0] + other[2]
        alpha = (n11a + other[0]) / m
        beta, n11 = 1 - alpha, n11a + n11b
        over, under = n01b / beta + n11, n10a / alpha + n11
        wanted = (
            n01b / (beta * over) ** 2
            + n10a / (alpha * under) ** 2
            + n11 * (1 / over - 1 / under) ** 2
            + alpha * beta / m * (n01b / (beta**2 * over) + n10a / (alpha**2 * under)) ** 2
        )
        found = standard_error(linear, log_ratio("pooled", label), adjusted=False)
        assert found**2 == pytest.approx(wanted, rel=1e-6)


def test_halves_are_added_to_the_counts_of_the_interval():
    linear = linear_of((40, 0, 30, 9), (20, 5, 10, 4))
    a = np.array([40, 0, 30, 9]) + 0.5
    middle = np.log(a[0] / (a[0] + a[1]) * (a[2] + a[3]) / a[2])
    width = 1.959964 * np.sqrt(1 / a[0] - 1 / (a[0] + a[1]) + 1 / a[2] - 1 / (a[2] + a[3]))
    found = log_interval(linear, lambda sums: ratio(sums, "direct", 1), 0.95, adjusted=True)
    assert np.log(found) == pytest.approx([middle - width, middle + width], abs=1e-5)
