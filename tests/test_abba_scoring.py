"""Rows of a deployment: estimators, intervals, small cells, zero rows, widening, units, groups."""

import numpy as np
import pytest

import truecost as tc
from truecost.errors import UsageError
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.counting import MOST_GROUPS, evidence_of, plan_of
from truecost.tasks.abba.records import FEW, Traffic
from truecost.tasks.abba.scoring import score_deployment
from truecost.tasks.abba.simulating import collected

PLAN = tc.Plan(400, seed=1)


def cells(true, false):
    """Counts by label, arm and other."""
    return np.array([false, true]).reshape(2, 2, 2)


def scored(deployment, **options):
    """Rows by (measure, estimator)."""
    rows = score_deployment(deployment, tc.Scoring(plan=PLAN, **options))
    return {(r.measure, r.dims["estimator"]): r for r in rows}


def log_width(row):
    return np.log(row.upper / row.lower)


def made(items=3000, users=60, seed=0, machine=True, known=1.0, spread=0.0):
    """A log with users, some of them far above others in what is accepted of them."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, users, items)
    arm = user % 2
    own = spread * rng.normal(size=users)[user]
    label = rng.random(items) < 1 / (1 + np.exp(-1 - own))
    other = rng.random(items) < np.where(label, 0.9, 0.5)
    given = np.where(rng.random(items) < known, label.astype(float), np.nan)
    more = {"machine": np.clip(0.8 * label + 0.1 + 0.05 * rng.normal(size=items), 0, 1)}
    return collected_items(
        np.where(arm == 0, "A", "B"),
        accept_a=np.where(arm == 0, True, other),
        accept_b=np.where(arm == 1, True, other),
        label=given,
        unit=user,
        **(more if machine else {}),
    )


def test_golden_counts_through_the_whole_way():
    d = collected(cells((1140, 60, 1140, 90), (350, 350, 350, 175)), Traffic(exposure=(9.0, 9.0)))
    found = scored(d)
    assert [*found] == [(m, e) for m in ("rrecall", "rfpr") for e in ("direct", "pooled", "ab")]
    for (measure, estimator), row in found.items():
        wanted = 1.025 if measure == "rrecall" else 0.75
        if estimator != "pooled":
            assert row.value == pytest.approx(wanted, abs=1e-12)
        assert row.reference == 1
        assert row.lower < wanted < row.upper
    assert found["rrecall", "direct"].counts["10A"] == 60
    assert found["rfpr", "direct"].counts["01B"] == 175


def test_estimators_that_the_log_does_not_allow_are_left_out_or_refused():
    d = made(machine=False)
    assert {e for _, e in scored(d)} == {"direct", "pooled"}
    with pytest.raises(UsageError, match="estimator ab needs the exposure of each arm"):
        scored(d, estimators=("ab",))
    with pytest.raises(UsageError, match="estimator soft needs machine scores for every item"):
        scored(d, estimators=("soft",))
    with pytest.raises(UsageError, match="choose among corrected, direct"):
        scored(d, estimators=("best",))
    assert next(e for _, e in scored(made())) == "corrected"  # the one to trust stands first


def test_measures_of_other_tasks_and_variants_are_refused():
    with pytest.raises(UsageError, match="measure 'nec' is not for AB/BA: take rrecall, rfpr"):
        scored(made(), measures=("nec",))
    with pytest.raises(UsageError, match="--estimator soft"):
        scored(made(), measures=("rfpr:soft",))
    with pytest.raises(UsageError, match="bca intervals are not defined for AB/BA"):
        scored(made(), method="bca")
    with pytest.raises(UsageError, match="moving blocks"):
        score_deployment(made(), tc.Scoring(plan=tc.Plan(50, scheme="blocks")))


def test_the_bootstrap_is_that_of_users_in_plain_numpy():
    """Weights of the plan applied to the items by hand give every replicate."""
    d = made(items=500, users=25)
    plan = plan_of(d, tc.Plan(20, seed=3))
    evidence = evidence_of(d, plan)
    [factor] = evidence.factors.values()
    block = plan.weights(evidence.factors).block()[factor.name]
    rows = {r.dims["estimator"]: r for r in score_deployment(d, tc.Scoring(plan=tc.Plan(20, 3)))}
    user = np.array([[*factor.labels].index(str(u)) for u in d.units["unit"][0]])
    for r in range(20):
        w = block[r][user].astype(float)
        n = np.bincount(2 * d.cell + d.label.astype(int), w, minlength=8).reshape(4, 2)[:, 0]
        wanted = n[0] / (n[0] + n[1]) * (n[2] + n[3]) / n[2]
        assert rows["direct"].replicates[r] == pytest.approx(wanted, rel=1e-12)
    assert rows["direct"].measure == "rfpr"  # the last of the two


def test_users_that_hang_together_widen_the_interval():
    alone = collected(cells((1000, 200, 900, 300), (500, 400, 450, 300)), Traffic())
    d = made(items=4000, users=40, spread=2.0)
    plain = collected_items(
        np.where(d.arm == 0, "A", "B"),
        accept_a=(d.arm == 0) | d.other,
        accept_b=(d.arm == 1) | d.other,
        label=d.label,
    )
    by_user, by_item = (scored(x)["rfpr", "pooled"] for x in (d, plain))
    assert log_width(by_user) > 1.02 * log_width(by_item)
    assert "items_as_units" in by_item.flags
    assert "items_as_units" not in by_user.flags
    assert scored(alone)["rrecall", "direct"].n_units == 4050


def test_zero_rows_let_totals_vary_and_poisson_does_where_they_are_unknown():
    """Of the A/B-only estimate: multinomial weights of logged items would freeze its totals."""
    counts = cells((1140, 60, 1140, 90), (350, 350, 350, 175))
    wanted = 2 * 1.96 * np.sqrt(1 / 700 + 1 / 525)
    known = scored(collected(counts, Traffic(units=(20_000, 20_000))))["rfpr", "ab"]
    unknown = scored(collected(counts, Traffic(exposure=(20_000.0, 20_000.0))))["rfpr", "ab"]
    assert "multinomial" in known.signature
    assert "poisson" in unknown.signature
    for row in (known, unknown):
        assert log_width(row) == pytest.approx(wanted, rel=0.15)
    assert known.n_units == 40_000


def test_every_user_may_have_an_exposure_of_its_own():
    d = made(items=600, users=20)
    users = {
        "unit": [f"{u}" for u in range(24)],
        "collected_by": ["AB"[u % 2] for u in range(24)],
        "exposure": np.arange(1.0, 25.0),
    }
    log = collected_items(
        np.where(d.arm == 0, "A", "B"),
        accept_a=(d.arm == 0) | d.other,
        accept_b=(d.arm == 1) | d.other,
        label=d.label,
        unit=d.units["unit"][0],
        users=users,
    )
    row = scored(log)["rrecall", "ab"]
    positive = [(d.label[d.arm == arm] == 1).sum() for arm in (0, 1)]
    exposure = [sum(range(1, 25, 2)), sum(range(2, 25, 2))]
    wanted = positive[1] / exposure[1] / (positive[0] / exposure[0])
    assert row.value == pytest.approx(wanted, rel=1e-12)
    assert row.n_units == 24


def test_a_user_in_both_arms_has_one_weight():
    arm = np.array(list("AABBAB"))
    d = collected_items(
        arm,
        accept_a=np.ones(6, bool),
        accept_b=np.ones(6, bool),
        label=[1, 0, 1, 0, 1, 1],
        unit=["u", "v", "u", "w", "x", "y"],
        units=(3, 3),
    )
    evidence = evidence_of(d, plan_of(d, PLAN))
    [factor] = evidence.factors.values()
    assert factor.labels.tolist() == ["u", "v", "w", "x", "y"]
    assert factor.strata.tolist() == [2, 0, 1, 0, 1]


def test_small_cells_take_the_delta_method_and_never_change_the_value():
    d = collected(cells((400, FEW - 1, 380, 40), (60, 50, 55, 30)), Traffic())
    found = scored(d)
    row, other = found["rrecall", "direct"], found["rfpr", "direct"]
    assert row.method == "delta"
    assert "small_cells" in row.flags
    assert other.method == "percentile"
    assert row.value == pytest.approx(400 / 404 * 420 / 380, rel=1e-12)
    assert (row.lower, row.upper) == (row.counts["delta_lower"], row.counts["delta_upper"])
    assert other.counts["delta_lower"] == pytest.approx(other.lower, rel=0.1)


@pytest.mark.parametrize(
    ("true", "value", "why"),
    [
        ((50, 0, 40, 9), 50 / 50 * 49 / 40, None),
        ((50, 5, 40, 0), 50 / 55, None),
        ((0, 50, 40, 9), 0.0, None),
        ((50, 5, 0, 9), None, "infinite: no item with label 1 that B collected is accepted by A"),
        ((0, 5, 0, 9), None, "undefined: no item with label 1 is accepted by both models"),
    ],
)
def test_zero_cells(true, value, why):
    row = scored(collected(cells(true, (60, 50, 55, 30)), Traffic()))["rrecall", "direct"]
    assert row.value == (None if value is None else pytest.approx(value, rel=1e-12))
    if why is None:
        assert 0 <= row.lower <= row.value <= row.upper
        assert row.reason is None
    else:
        assert why in row.reason
        assert row.upper is None


def test_a_cell_without_a_label_is_said():
    d = made(items=900, machine=False)
    label = np.where(d.cell == 1, np.nan, d.label)
    log = collected_items(
        np.where(d.arm == 0, "A", "B"),
        accept_a=(d.arm == 0) | d.other,
        accept_b=(d.arm == 1) | d.other,
        label=label,
    )
    row = scored(log)["rfpr", "direct"]
    assert row.value is None
    assert "1 cell has items and no human label (10A)" in row.reason


def test_post_stratified_and_weighted_by_inclusion():
    """A cell of 100 items of which 20 true ones in 30 labelled: T = 100 x 2/3; weights count."""
    label = np.full(400, np.nan)
    inclusion = np.ones(400)
    for h in range(4):
        label[100 * h : 100 * h + 20] = 1
        label[100 * h + 20 : 100 * h + 30] = 0
        inclusion[100 * h : 100 * h + 20] = 0.5
    arm = np.repeat(["A", "A", "B", "B"], 100)
    other = np.repeat([True, False, True, False], 100)
    log = {
        "accept_a": (arm == "A") | other,
        "accept_b": (arm == "B") | other,
        "label": label,
    }
    plain = scored(collected_items(arm, **log))["rrecall", "direct"]
    assert plain.counts["11A"] == pytest.approx(200 / 3)
    weighted = scored(collected_items(arm, inclusion=inclusion, **log))["rrecall", "direct"]
    assert weighted.counts["11A"] == pytest.approx(100 * 40 / 50)
    assert "weighted" in weighted.signature


def test_below_100_labels_a_cell_the_corrected_interval_is_wider():
    few, many = (scored(made(items=20_000, known=k))["rfpr", "corrected"] for k in (0.01, 0.2))
    assert "few_labels" in few.flags
    assert "few_labels" not in many.flags
    assert log_width(few) > 2 * log_width(many)
    every = scored(made(items=200))["rfpr", "corrected"]  # all labelled: nothing can surprise
    assert "few_labels" not in every.flags


def test_soft_rows_are_marked_and_held_against_human_labels():
    rng = np.random.default_rng(5)
    d = made(items=6000)
    biased = np.where(d.arm == 1, 0.35, 0.95) * d.label + 0.02 * rng.random(len(d))
    log = collected_items(
        np.where(d.arm == 0, "A", "B"),
        accept_a=(d.arm == 0) | d.other,
        accept_b=(d.arm == 1) | d.other,
        label=d.label,
        machine=biased,
    )
    found = scored(log)
    assert all("uncorrected" in r.flags for (_, e), r in found.items() if e == "soft")
    soft, human = found["rfpr", "soft"], found["rfpr", "corrected"]
    assert ((soft.value - 1) * (human.value - 1) < 0) == ("other_side" in soft.flags)
    assert human.value == pytest.approx(found["rfpr", "direct"].value, rel=1e-9)


def test_many_machine_scores_are_grouped_and_keep_their_totals():
    rng = np.random.default_rng(6)
    n = 4 * MOST_GROUPS
    arm = np.where(rng.random(n) < 0.5, "A", "B")
    other = rng.random(n) < 0.6
    machine = rng.beta(2, 1, n)
    log = {
        "accept_a": (arm == "A") | other,
        "accept_b": (arm == "B") | other,
        "machine": machine,
    }
    grouped = scored(collected_items(arm, **log))["rrecall", "soft"]
    single = scored(collected_items(arm, unit=np.arange(n), **log))["rrecall", "soft"]
    assert grouped.value == pytest.approx(single.value, rel=1e-12)
    assert log_width(grouped) == pytest.approx(log_width(single), rel=0.12)
    assert grouped.n_units == single.n_units == n


def test_threads_and_order_of_rows_change_nothing():
    d = made(items=700)
    shuffled = np.random.default_rng(0).permutation(len(d))
    again = collected_items(
        np.where(d.arm == 0, "A", "B")[shuffled],
        accept_a=((d.arm == 0) | d.other)[shuffled],
        accept_b=((d.arm == 1) | d.other)[shuffled],
        label=d.label[shuffled],
        machine=d.machine[shuffled],
        unit=d.units["unit"][0][shuffled],
        ids=d.ids[shuffled],
    )
    one, many = scored(d, jobs=1), scored(d, jobs=4)
    for key, row in one.items():
        assert (row.value, row.lower, row.upper) == (
            many[key].value,
            many[key].lower,
            many[key].upper,
        )
        assert scored(again)[key].lower == pytest.approx(row.lower, rel=1e-12)


def test_subsets_have_rows_of_their_own_and_no_traffic():
    d = made(items=2000)
    log = collected_items(
        np.where(d.arm == 0, "A", "B"),
        accept_a=(d.arm == 0) | d.other,
        accept_b=(d.arm == 1) | d.other,
        label=d.label,
        exposure=(1.0, 1.0),
        room=np.arange(len(d)) % 2,
    )
    rows = score_deployment(
        log, tc.Scoring(plan=PLAN, subsets=("room",), estimators=("ab", "direct"))
    )
    assert [r.dims["estimator"] for r in rows if "subset" in r.dims] == ["direct"] * 4
    assert list(rows[-1].dims) == ["system", "estimator", "subset"]


def test_plain_ab_tests_of_what_the_arms_collected():
    d = collected(
        cells((1000, 200, 900, 300), (500, 300, 450, 150)), Traffic(exposure=(10.0, 20.0))
    )
    found = scored(d, measures=("rfdr", "raccepts"))
    assert found["rfdr", "ab"].value == pytest.approx(600 / 1800 / (800 / 2000))
    assert found["raccepts", "ab"].value == pytest.approx(1800 / 20 / (2000 / 10))
    more = made(items=900)
    log = collected_items(
        np.where(more.arm == 0, "A", "B"),
        accept_a=(more.arm == 0) | more.other,
        accept_b=(more.arm == 1) | more.other,
        label=more.label,
        unit=more.units["unit"][0],
        latency=1.0 + more.arm,
    )
    row = scored(log, measures=("rmean:latency",))["rmean", "ab"]
    assert (row.value, row.lower, row.upper) == pytest.approx((2, 2, 2))


def test_measures_that_lack_what_they_need():
    with pytest.raises(UsageError, match="raccepts needs the exposure of each arm"):
        scored(made(300), measures=("raccepts",))
    with pytest.raises(UsageError, match="name a numeric column of the log, such as rmean:latency"):
        scored(made(300), measures=("rmean",))
    with pytest.raises(UsageError, match="there is no column 'latency'"):
        scored(made(300), measures=("rmean:latency",))


def test_a_total_outside_its_cell_is_clipped_counted_and_flagged():
    """The machine is sure of every item, and the labels of a sample say that it is too sure yet."""
    rng = np.random.default_rng(8)
    arm = np.repeat(["A", "A", "B", "B"], 300)
    other = np.repeat([True, False, True, False], 300)
    label = np.where(rng.random(1200) < 0.1, 1.0, np.nan)
    machine = np.where(np.isnan(label), 0.99, 0.5)
    row = scored(
        collected_items(
            arm,
            accept_a=(arm == "A") | other,
            accept_b=(arm == "B") | other,
            label=label,
            machine=machine,
        )
    )["rrecall", "corrected"]
    assert "clipped" in row.flags
    assert row.counts["clipped"] == 4
    assert row.counts["11A"] == 300
