"""Both models on a labelled test set: ratios at equal false-positive rate or recall."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError
from truecost.formats import Table
from truecost.tasks.abba.choosing import compared
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.thresholds import Choice, choose

ABOUT = {"system": "trial"}
FAST = Scoring(plan=tc.Plan(replicates=100, seed=1), level=0.9)


def deployed(threshold_a=0.5, threshold_b=0.5, n=400, seed=0):
    """A log of two models, all of it labelled."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 4 * n)
    a, b = (np.clip(0.4 * label + rng.normal(0.3, 0.2, 4 * n), 0, 1) for _ in "ab")
    arm = rng.integers(0, 2, 4 * n).astype(np.uint8)
    kept = np.where(arm == 0, a >= threshold_a, b >= threshold_b)
    other = np.where(arm == 0, b >= threshold_b, a >= threshold_a)
    columns = {"arm": arm, "other": other, "label": label.astype(float), "score_a": a, "score_b": b}
    columns = {name: column[kept] for name, column in columns.items()}
    ids = np.array([f"u{k:05}" for k in range(kept.sum())])
    more = {"threshold_a": threshold_a, "threshold_b": threshold_b}
    return Deployment("trial", ids, **columns, **more, frame=pl.DataFrame({"id": ids}))


LOG = deployed()


def table(label, a, b, unit=None):
    columns = {"label": label, "score_a": a, "score_b": b}
    columns |= {} if unit is None else {"unit": unit}
    return Table("held.csv", pl.DataFrame(columns), first_line=2)


def drawn(n=600, seed=0, better=0.3, users=None):
    """Trials of which B tells the labels apart a little better than A, scores of two digits."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    a = np.round(label + rng.normal(0, 1, n), 2)
    b = np.round(label * (1 + better) + rng.normal(0, 1, n), 2)
    return table(label, a, b, None if users is None else rng.integers(0, users, n))


def ratio(label, a, b, threshold, value, at):
    """By the definition: accepts of B over accepts of A among the trials of a label."""
    own = label == value
    return (own & (b >= at)).sum() / (own & (a >= threshold)).sum()


def columns_of(trials):
    return (trials.frame[name].to_numpy() for name in ("label", "score_a", "score_b"))


def test_table_4_is_read_at_equal_rates():
    """Of 200 positives A finds 100 with 20 of 400 false accepts; B 103 at 20, and 100 at 10.

    Paper 001, Table 4, "Test set": rRecall 1.03 at equal FPR, rFPR 0.5 at equal recall.
    """
    label = np.repeat([1, 0], [200, 400])
    a = np.repeat([0.9, 0.1, 0.9, 0.1], [100, 100, 20, 380])
    b = np.repeat([0.8, 0.7, 0.1, 0.8, 0.7, 0.1], [100, 3, 97, 10, 10, 380])
    choice = Choice(
        max_rfpr=1, min_rrecall=1, grid=(0.5, 0.6, 0.7, 0.8), test_set=table(label, a, b)
    )
    rows, plane = compared(LOG, choice, FAST, ABOUT)
    found = {(r.parameters["variant"], r.measure): (r.value, r.threshold) for r in rows}
    assert found == {
        ("max-rfpr=1", "rrecall"): (1.03, 0.7),
        ("max-rfpr=1", "rfpr"): (1.0, 0.7),
        ("min-rrecall=1", "rrecall"): (1.0, 0.8),
        ("min-rrecall=1", "rfpr"): (0.5, 0.8),
    }
    assert {r.dims["estimator"] for r in rows} == {"test_set"}
    assert (plane.estimator, plane.deployed, plane.system) == ("test_set", None, "trial")
    assert plane.rrecall == (1.03, 1.03, 1.03, 1.0)
    assert plane.rfpr == (1.0, 1.0, 1.0, 0.5)
    assert plane.better == (0.5, 0.8)
    assert {r.flags[0] for r in rows} == {"trials_as_units"}
    assert rows[0].counts["positives"] == 200
    assert rows[0].counts["negatives"] == 400
    assert (rows[0].n_trials, rows[0].n_units, rows[0].item) == (600, 600, "trial")
    assert rows[0].signature.startswith(
        "rrecall:max-rfpr=1|test-set|threshold-a:0.5|resample:trial"
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=40
    )
)
def test_the_curves_by_brute_force(rows):
    label, a, b = np.array([(0, 9, 4), (1, 9, 4), *rows]).T
    trials = table(label, a.astype(float), b.astype(float))
    log = deployed(threshold_a=5)
    _, plane = compared(log, Choice(test_set=trials), Scoring(plan=tc.Plan(2)), ABOUT)
    assert set(plane.thresholds) <= set(b)
    for at, rrecall, rfpr in zip(plane.thresholds, plane.rrecall, plane.rfpr, strict=True):
        assert rrecall == ratio(label, a, b, 5, 1, at)
        assert rfpr == ratio(label, a, b, 5, 0, at)


def test_the_grid_is_200_quantiles_of_the_scores_of_b():
    trials = drawn(5000)
    _, plane = compared(LOG, Choice(test_set=trials), FAST, ABOUT)
    b = np.sort(trials.frame["score_b"].to_numpy())
    assert plane.thresholds == tuple(np.unique(b[np.arange(200) * 4999 // 200]).tolist())
    _, few = compared(LOG, Choice(test_set=trials, grid=4), FAST, ABOUT)
    assert few.thresholds == tuple(b[np.arange(4) * 4999 // 4].tolist())


def test_the_threshold_is_chosen_again_in_every_replicate():
    trials = drawn(users=60)
    [rrecall, rfpr], plane = compared(LOG, Choice(test_set=trials, grid=30), FAST, ABOUT)
    label, a, b = columns_of(trials)
    factor, codes = tc.Factor.encode("unit", trials.texts("unit", "unit").to_numpy())
    weights = FAST.plan.weights({"unit": factor}).block()["unit"]
    assert (rrecall.n_units, rrecall.factors) == (60, ("unit",))
    assert "trials_as_units" not in rrecall.flags
    for k in (0, 1, 57):
        w = weights[k][codes]
        best = false = -1.0
        for at in plane.thresholds:
            own = [
                w[(label == y) & (b >= at)].sum() / w[(label == y) & (a >= 0.5)].sum()
                for y in (0, 1)
            ]
            if at == rrecall.threshold:  # what the rule limits stays where the data chose
                false = own[0]
            if own[0] <= 1 and own[1] >= best:
                best = own[1]
        assert rrecall.replicates[k] == pytest.approx(best)
        assert rfpr.replicates[k] == pytest.approx(false)
    assert rrecall.lower == pytest.approx(np.quantile(rrecall.replicates, 0.05))


def test_trials_alone_are_drawn_as_units_of_one_trial():
    """Equal trials share a row of the tally; their interval is that of each on its own."""
    trials = drawn(500)
    alone = Table("own.csv", trials.frame.with_columns(unit=pl.int_range(pl.len())), first_line=2)
    scoring = Scoring(plan=tc.Plan(replicates=2000, seed=3))
    ends = [
        [[r.value, r.lower, r.upper] for r in compared(LOG, Choice(test_set=t), scoring, ABOUT)[0]]
        for t in (trials, alone)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.04)


def test_the_order_of_the_trials_does_not_matter():
    trials = drawn(users=60)
    mixed = Table("mixed.csv", trials.frame.sample(fraction=1, shuffle=True, seed=1))
    one, other = (compared(LOG, Choice(test_set=t), FAST, ABOUT) for t in (trials, mixed))
    assert one[1] == other[1]
    assert [r.row() for r in one[0]] == [r.row() for r in other[0]]


def test_a_test_set_stands_beside_the_deployment():
    choice = Choice(max_rfpr=1, grid=20, test_set=drawn())
    rows, planes = choose(LOG, FAST, choice, {"collection": "eval"})
    assert [(r.measure, r.dims["estimator"]) for r in rows] == [
        ("rrecall", "direct"),
        ("rfpr", "direct"),
        ("rrecall", "test_set"),
        ("rfpr", "test_set"),
    ]
    assert [p.estimator for p in planes] == ["direct", "test_set"]
    assert {p.collection for p in planes} == {"eval"}
    assert all(r.dims["collection"] == "eval" for r in rows)


def test_what_a_rejects_altogether_is_undefined():
    trials = table([1, 1, 0, 0], [0.9, 0.1, 0.2, 0.1], [0.9, 0.8, 0.3, 0.4])
    rows, plane = compared(LOG, Choice(test_set=trials), FAST, ABOUT)
    assert [r.value for r in rows] == [None, None]
    assert rows[0].reason == (
        "undefined: on the test set A accepts no trial of label 0 at its deployed threshold 0.5"
    )
    assert set(plane.rfpr) == {None}
    assert plane.rrecall[0] == 2


def test_a_limit_that_no_threshold_keeps_is_told():
    rows, _ = compared(LOG, Choice(min_rrecall=15, test_set=drawn()), FAST, ABOUT)
    assert rows[0].value is None
    assert rows[0].reason == "undefined: no threshold of the grid meets min-rrecall=15"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": ["1", "0", "x"]}, r"held.csv: 1 label is not 0 or 1: line 4 \('x'\)"),
        ({"label": ["1", "0", ""]}, r"held.csv: 1 label is not 0 or 1: line 4 \(empty\)"),
        ({"label": [1, 1, 1]}, "held.csv: no trial has label 0: both are needed"),
        ({"label": [0, 0, 0]}, "held.csv: no trial has label 1: both are needed"),
        (
            {"score_a": [0.1, None, 0.2]},
            r"held.csv: 1 score_a is missing or infinite: line 3 \(empty\)",
        ),
        ({"score_b": [0.1, 0.2, np.inf]}, r"1 score_b is missing or infinite: line 4 \(inf\)"),
        ({"unit": ["a", "", "b"]}, "held.csv: 1 empty cell of unit"),
    ],
)
def test_bad_cells(changed, message):
    columns = {"label": [1, 0, 1], "score_a": [0.1, 0.2, 0.3], "score_b": [0.1, 0.2, 0.3]}
    bad = Table("held.csv", pl.DataFrame({**columns, **changed}), first_line=2)
    with pytest.raises(InputError, match=message):
        compared(LOG, Choice(test_set=bad), FAST, ABOUT)


def test_missing_columns():
    bad = Table("held.csv", pl.DataFrame({"y": [1], "score_a": [0.5], "sb": [0.5]}))
    with pytest.raises(UsageError) as found:
        compared(LOG, Choice(test_set=bad), FAST, ABOUT)
    assert str(found.value) == (
        "held.csv: columns score_b, label are missing; a test set has score_a, score_b, label and, "
        "for dependent trials, unit, by these names: the columns are y, score_a, sb"
    )


def test_a_log_of_decisions_has_no_threshold_of_a():
    decisions = Deployment("trial", LOG.ids, LOG.arm, LOG.other, LOG.label)
    with pytest.raises(
        UsageError, match="trial: with a test set, give the deployed threshold of A"
    ):
        compared(decisions, Choice(test_set=drawn()), FAST, ABOUT)
