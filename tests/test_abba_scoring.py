"""Rows of a deployment: estimators, intervals, small cells, zero rows, widening, units, groups."""

from dataclasses import replace

import numpy as np
import pytest

import truecost as tc
from truecost.core.measure import Measure
from truecost.errors import UsageError
from truecost.running import score
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.counting import (
    MOST_GROUPS,
    Linear,
    evidence_of,
    evidence_of_column,
    plan_of,
)
from truecost.tasks.abba.measures import ESTIMATORS, Estimator, direct_ratio
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import CELLS, FEW, Traffic
from truecost.tasks.abba.simulating import collected
from truecost.tasks.abba.thresholds import Choice, choose

PLAN = tc.Plan(400, seed=1)


def cells(true, false):
    """Counts by label, arm and other."""
    return np.array([false, true]).reshape(2, 2, 2)


def scored(deployment, estimators=(), **options):
    """Rows by (measure, estimator)."""
    rows = score(deployment, tc.Scoring(plan=PLAN, choices=AbbaScoring(estimators), **options))
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
        assert row.naive == 1
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
    with pytest.raises(
        UsageError,
        match="measure 'nec' is not for AB/BA, but for trials: choose one of rrecall, rfpr",
    ):
        scored(made(), measures=("nec",))
    with pytest.raises(UsageError, match="estimator soft"):
        scored(made(), measures=("rfpr:soft",))
    with pytest.raises(UsageError, match="bca intervals are not defined for AB/BA"):
        scored(made(), method="bca")
    with pytest.raises(UsageError, match="moving blocks"):
        score(made(), tc.Scoring(plan=tc.Plan(50, scheme="blocks")))


def test_the_bootstrap_is_that_of_users_in_plain_numpy():
    """Weights of the plan applied to the items by hand give every replicate."""
    d = made(items=500, users=25)
    plan = plan_of(d, tc.Plan(20, seed=3))
    evidence = evidence_of(d, plan)
    [factor] = evidence.factors.values()
    block = plan.weights(evidence.factors).block()[factor.name]
    rows = {r.dims["estimator"]: r for r in score(d, tc.Scoring(plan=tc.Plan(20, 3)))}
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
    found = scored(d, method="percentile")
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
        ((0, 5, 0, 9), None, "undefined: no item with label 1 that B collected is accepted by A"),
        ((0, 0, 40, 9), None, "undefined: A collected no item with label 1"),
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


def rows_of(deployment, **changes):
    """A log as arrays of `collected_items`, some of them changed."""
    d = deployment
    given = {
        "collected_by": np.where(d.arm == 0, "A", "B"),
        "accept_a": (d.arm == 0) | d.other,
        "accept_b": (d.arm == 1) | d.other,
        "label": d.label,
        "machine": d.machine,
        "ids": d.ids,
        "unit": d.units["unit"][0] if d.units else None,
    }
    return given | changes


@pytest.mark.parametrize(
    ("true", "taken", "soft", "human", "raised"),
    [
        ((1000, 200, 1000, 100), 0.5, (1.02, True), (0.92, False), True),
        ((1000, 200, 1000, 190), 0.5, (1.1, False), (0.99, True), True),
        ((1000, 200, 1000, 190), 0.1, (1.01, True), (0.99, True), False),  # chance alone
        ((1000, 200, 1000, 100), 0.05, (0.93, False), (0.92, False), False),  # they agree
        ((1000, 200, 1000, 300), 0.5, (1.19, False), (1.08, False), False),
    ],
)
def test_soft_rows_are_held_against_human_labels(true, taken, soft, human, raised):
    """A machine that takes some of the false accepts of B alone for true ones."""
    d = collected(cells(true, (250, 250, 250, 250)), Traffic())
    log = replace(d, machine=np.where((d.cell == 3) & (d.label == 0), taken, d.label))
    for beside in ("direct", "pooled", "corrected"):
        found = scored(log, estimators=("soft", beside))
        for estimator, (value, holds_1) in (("soft", soft), (beside, human)):
            row = found["rrecall", estimator]
            assert row.value == pytest.approx(value, abs=0.015)
            assert (row.lower < 1 < row.upper) == holds_1
        assert ("other_side" in found["rrecall", "soft"].flags) == raised
        assert "other_side" not in found["rrecall", beside].flags
        assert "uncorrected" in found["rrecall", "soft"].flags
    assert "other_side" not in scored(log, estimators=("soft",))["rrecall", "soft"].flags


def test_soft_rows_are_held_against_the_direct_ones_first():
    """The corrected ratio lies beyond 1, that of the few human labels alone does not."""
    d = made(items=8000)
    label = np.where(np.random.default_rng(6).random(len(d)) < 0.06, d.label, np.nan)
    machine = (0.05 + 0.9 * d.label) * np.where(d.cell == 2, 0.94, 1.0)
    log = replace(d, label=label, machine=machine)
    every = scored(log, method="percentile")
    two = scored(log, method="percentile", estimators=("corrected", "soft"))
    values = [every["rfpr", e].value for e in ("soft", "direct", "corrected")]
    assert max(values[:2]) < 1 < values[2]
    assert every["rfpr", "soft"].upper < 1
    assert "other_side" not in every["rfpr", "soft"].flags
    assert "other_side" in two["rfpr", "soft"].flags


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


@pytest.mark.parametrize("users", [True, False])
def test_threads_and_order_of_rows_change_nothing(users):
    d = made(items=700, known=0.5)
    shuffled = np.random.default_rng(0).permutation(len(d))
    given = rows_of(d) if users else rows_of(d, unit=None)
    mixed = {k: None if v is None else v[shuffled] for k, v in given.items()}
    logs = [collected_items(**columns, exposure=(3.0, 2.0)) for columns in (given, mixed)]
    one, *others = (scored(logs[k], jobs=jobs) for k, jobs in ((0, 1), (1, 1), (0, 4)))
    assert len(one) == 10
    for found in others:
        for key, row in one.items():
            same = [(r.value, r.lower, r.upper, r.counts) for r in (row, found[key])]
            assert same[0] == same[1]
            assert found[key].replicates.tobytes() == row.replicates.tobytes()


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
    rows = score(
        log, tc.Scoring(plan=PLAN, subsets=("room",), choices=AbbaScoring(("ab", "direct")))
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


def test_labels_of_strata_stand_for_their_stratum():
    """Strata that cut across cells and were labelled at different rates, without probabilities."""
    d = made(items=20_000, machine=False)
    odd = (d.label == 0) & (d.cell == 1)  # false accepts of A alone mostly lie in x
    strata = np.where(np.random.default_rng(1).random(len(d)) < 0.2 + 0.7 * odd, "x", "y")
    share = np.where(strata == "x", 0.05, 0.8)
    label = np.where(np.random.default_rng(2).random(len(d)) < share, d.label, np.nan)
    plain = replace(d, label=label, strata=strata)
    rows = [scored(x)["rfpr", "direct"] for x in (plain, replace(plain, inclusion=share), d)]
    assert rows[0].value == pytest.approx(rows[1].value, rel=0.03)
    assert rows[0].value == pytest.approx(rows[2].value, rel=0.15)
    assert "labels-of:strata" in rows[0].signature
    wrong = scored(replace(plain, inclusion=np.ones(len(d))))["rfpr", "direct"].value
    assert abs(wrong - rows[2].value) > 3 * abs(rows[0].value - rows[2].value)


def test_labels_that_weigh_very_unequally_count_as_few():
    d = made(items=4000)
    inclusion = np.ones(len(d))
    inclusion[::40] = 1e-6
    row = scored(replace(d, inclusion=inclusion, machine=None))["rfpr", "direct"]
    assert d.labels_by_cell.min() > 100
    assert replace(d, inclusion=inclusion).effective_labels.max() < 60
    assert row.method == "delta" or row.upper / row.lower > 2


def test_the_reason_names_the_arm_that_lacks_the_label():
    counts = cells((50, 5, 40, 9), (0, 0, 9, 3))
    found = scored(collected(counts, Traffic(exposure=(1.0, 1.0))))
    assert found["rfpr", "direct"].reason == "undefined: A collected no item with label 0"
    assert "A collected no item with label 0" in found["rfpr", "ab"].reason
    assert found["rfpr", "ab"].reason.startswith("infinite")


def test_an_end_that_is_missing_has_its_reason():
    for seed in range(25):
        d = made(items=400, known=0.25, seed=seed)
        for row in scored(d).values():
            if row.lower is None or row.upper is None:
                assert row.reason


def test_equal_labels_say_why_and_warn_of_nothing_else():
    for row in scored(collected(cells((50, 5, 40, 9), (0, 0, 0, 0)), Traffic())).values():
        if row.measure == "rfpr":
            assert row.value is None
            assert row.reason


# numbers of which there are many


def test_the_mean_of_a_column_over_many_items_is_grouped():
    rng = np.random.default_rng(2)
    n = 100_000
    arm = np.repeat(["A", "B"], n // 2)
    accepts = {"accept_a": (arm == "A") | (rng.random(n) < 0.6)}
    accepts["accept_b"] = (arm == "B") | (rng.random(n) < 0.6)
    latency = rng.lognormal(0.2 * (arm == "B"), 1.0)
    log = {"label": np.ones(n), "latency": latency, **accepts}
    grouped, single = collected_items(arm, **log), collected_items(arm, unit=np.arange(n), **log)
    evidence = evidence_of_column(grouped, plan_of(grouped, PLAN), "latency")
    [factor] = evidence.factors.values()
    assert len(factor) <= 4 * MOST_GROUPS
    assert factor.count == n
    sums = Linear.from_evidence(evidence).sums
    values = grouped.frame["latency"].to_numpy()
    plain = np.bincount(grouped.cell, values).reshape(2, 2)
    assert sums["columns", "latency"] == pytest.approx(plain, rel=1e-12)
    assert (sums["collected", "items"].ravel() == grouped.items_by_cell).all()
    rows = [scored(d, measures=("rmean:latency",))["rmean", "ab"] for d in (grouped, single)]
    wanted = latency[arm == "B"].mean() / latency[arm == "A"].mean()
    assert [r.value for r in rows] == pytest.approx([wanted, wanted], rel=1e-12)
    assert log_width(rows[0]) == pytest.approx(log_width(rows[1]), rel=0.12)


def test_many_different_inclusion_probabilities_are_grouped_and_keep_their_totals():
    rng = np.random.default_rng(3)
    d = made(items=6 * MOST_GROUPS, machine=False)
    inclusion = rng.uniform(0.2, 1.0, len(d)) ** 3
    label = np.where(rng.random(len(d)) < inclusion, d.label, np.nan)
    single = replace(d, label=label, inclusion=inclusion, units={"item": (d.ids,)})
    grouped = replace(single, units={})
    evidence = evidence_of(grouped, plan_of(grouped, PLAN))
    [factor] = evidence.factors.values()
    assert len(factor) < 4 * MOST_GROUPS < factor.count == len(d)
    known, weights = ~np.isnan(label), 1 / inclusion
    sums = Linear.from_evidence(evidence).sums
    for statistic, column in (
        ("items", np.ones(len(d))),
        ("labels", known),
        ("labelled", known * weights),
        ("positive", np.where(known, label, 0) * weights),
    ):
        plain = np.bincount(d.cell, column).reshape(2, 2)
        assert sums["collected", statistic] == pytest.approx(plain, rel=1e-12)
    rows = [scored(x, estimators=("direct",))["rfpr", "direct"] for x in (grouped, single)]
    assert rows[0].value == pytest.approx(rows[1].value, rel=1e-12)
    assert log_width(rows[0]) == pytest.approx(log_width(rows[1]), rel=0.12)


# what others may add


def halved(sums, lean=None):
    """Machine totals corrected by half of what human labels say."""
    del lean
    n, machine = sums("collected", "items"), sums("machine", "all")
    residual = sums("collected", "positive") - sums("machine", "known")
    true = machine + n * residual / sums("collected", "labelled") / 2
    return true, n - true


def halved_by_hand(d, weight):
    """Totals of label 1 and 0 by cell, from the items themselves."""
    true = []
    for h in range(4):
        own, known = d.cell == h, (d.cell == h) & d.labelled
        gap = np.average((d.label - d.machine)[known], weights=weight[known])
        true.append(np.average(d.machine[own], weights=weight[own]) + gap / 2)
    n = np.bincount(d.cell, weight, 4)
    return {"rrecall": n * true, "rfpr": n * (1 - np.array(true))}


def test_an_estimator_is_one_entry(monkeypatch):
    """Score and thresholds take one that reads machine scores as they take their own."""
    entry = Estimator(("collected", "machine"), halved, direct_ratio, "half of the correction")
    monkeypatch.setitem(ESTIMATORS, "halved", entry)
    d = made(items=3000, known=0.4)
    assert {e for _, e in scored(d)} == {"corrected", "direct", "pooled", "soft", "halved"}
    assert "halved" not in {e for _, e in scored(replace(d, machine=None))}
    with pytest.raises(UsageError, match="estimator halved needs machine scores for every item"):
        scored(replace(d, machine=None), estimators=("halved",))
    with pytest.raises(UsageError, match="estimator halved needs human labels"):
        scored(replace(d, label=np.full(len(d), np.nan)), estimators=("halved",))

    scores = np.random.default_rng(0).uniform(0.5, 1.0, len(d))
    d = replace(d, score_b=np.where((d.arm == 1) | d.other, scores, 0.1), threshold_b=0.5)
    found = scored(d, method="percentile", estimators=("halved",))
    users, codes = tc.Factor.encode("unit", d.units["unit"][0].astype(str).astype(object))
    weights = plan_of(d, PLAN).weights({"unit": users}).block()["unit"][:, codes]
    drawn = [halved_by_hand(d, w) for w in weights.astype(float)]
    for (measure, _), row in found.items():
        totals = halved_by_hand(d, np.ones(len(d)))[measure]
        assert [row.counts[c] for c in CELLS] == pytest.approx([*totals], rel=1e-9)
        assert row.value == pytest.approx(direct_ratio(totals.reshape(2, 2)), rel=1e-9)
        ratios = [direct_ratio(one[measure].reshape(2, 2)) for one in drawn]
        wanted = np.quantile(ratios, (0.025, 0.975))
        assert (row.lower, row.upper) == pytest.approx(wanted, rel=1e-9)

    scoring = tc.Scoring(plan=PLAN, choices=AbbaScoring(("halved",)))
    rows, [plane] = choose(d, scoring, Choice(max_rfpr=5.0, grid=(0.5, 0.7)))
    assert {r.dims["estimator"] for r in rows} == {plane.estimator} == {"halved"}
    for k, threshold in enumerate(plane.thresholds):
        at = d.at_threshold(threshold)
        there = scored(at, method="percentile", estimators=("halved",))
        for measure in ("rrecall", "rfpr"):
            row = there[measure, "halved"]
            told = [getattr(plane, measure + end)[k] for end in ("", "_lower", "_upper")]
            assert told == pytest.approx([row.value, row.lower, row.upper], rel=1e-9)


def rmachine(totals, application):
    """Mean machine score of arm B over that of arm A."""
    del application
    sums = [totals.sums(*of) for of in (("machine", "all"), ("collected", "items"))]
    a, b = np.moveaxis(sums[0].sum(axis=-1) / sums[1].sum(axis=-1), -1, 0)
    return b / a, 1.0


def test_a_measure_that_reads_machine_scores_is_refused_where_there_are_none(registered):
    parts = ("collected", "machine")
    measure = Measure("rmachine", rmachine, parts, "Machine scores", "higher", "a test", uses=())
    registered(measure, "abba")
    d = made()
    row = scored(d, measures=("rmachine",))["rmachine", "ab"]
    wanted = d.machine[d.arm == 1].mean() / d.machine[d.arm == 0].mean()
    assert row.value == pytest.approx(wanted, rel=1e-12)
    assert row.lower < wanted < row.upper
    with pytest.raises(UsageError, match="rmachine needs machine scores"):
        scored(replace(d, machine=None), measures=("rmachine",))
