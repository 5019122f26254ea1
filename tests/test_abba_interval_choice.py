"""Which intervals of AB/BA are trusted: small cells, broken replicates, few labels, known units."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import slow_rules as slow
import truecost as tc
from truecost.running import score
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.counting import (
    Linear,
    evidence_of,
    few_labels,
    leans,
    plan_of,
    standard_error,
)
from truecost.tasks.abba.measures import WHOLE, ratio
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import Deployment, Traffic
from truecost.tasks.abba.simulating import collected

TAILS = (0.025, 0.975)
SIGNS = np.array([1, -1, -1, 1])  # of 11A, 10A, 11B, 01B in the logarithm of the direct ratio


def scored(deployment, replicates=400, method="percentile", estimators=()):
    """Rows by (measure, estimator)."""
    scoring = tc.Scoring(
        plan=tc.Plan(replicates, 1), method=method, choices=AbbaScoring(estimators)
    )
    rows = score(deployment, scoring)
    return {(r.measure, r.dims["estimator"]): r for r in rows}


def weights_of(deployment, replicates=400):
    """Poisson weights of the items, through their users; shape (replicates, items)."""
    users, codes = tc.Factor.encode("unit", deployment.units["unit"][0].astype(str).astype(object))
    plan = tc.Plan(replicates, 1, scheme="poisson")
    return plan.weights({"unit": users}).block()["unit"][:, codes].astype(float)


# intervals of two rates


@pytest.mark.parametrize("estimator", ["direct", "pooled"])
@pytest.mark.parametrize(("measure", "label"), [("rrecall", 1), ("rfpr", 0)])
def test_ratios_of_two_rates_are_those_by_plain_loops(measure, label, estimator):
    rng = np.random.default_rng(4)
    records = [
        {"arm": arm, "own": own, "label": int(rng.random() < 0.7), "unit": int(rng.integers(25))}
        for arm, sizes in (("A", (60, 9)), ("B", (45, 12)))
        for own, size in zip((False, True), sizes, strict=True)
        for _ in range(size)
    ]
    side = tc.Factor.encode("unit", [r["unit"] for r in records])
    ones = np.ones(len(records))
    right = np.array([r["label"] for r in records])
    axes = {
        "arm": ("AB", [r["arm"] == "B" for r in records]),
        "other": (("accepts", "rejects"), [r["own"] for r in records]),
    }
    items = {"items": ones, "labels": ones, "labelled": ones, "positive": right}
    tally = tc.Tally.count([side], items | {"negative": 1 - right}, axes)
    found = replace(tc.find(f"{measure}:{estimator}"), interval=WHOLE[f"{measure}:{estimator}"])
    evidence = tc.Evidence({"collected": tally})
    row = tc.estimate(evidence, [found], tc.Application(), tc.Plan(50))[0]

    rates, own_of = [], []
    for arm in "AB":
        both = sum(not r["own"] for r in records)
        part = sum(not r["own"] for r in records if r["arm"] == arm) / both
        kept = [
            r | {"weight": 1.0 if r["own"] or estimator == "direct" else part}
            for r in records
            if r["label"] == label and (r["arm"] == arm or (estimator == "pooled" and not r["own"]))
        ]
        size = sum(r["weight"] for r in kept)
        rates.append(slow.rate(kept, lambda r: not r["own"], trials=size))
        own_of.append(kept)
    r = 0.0
    if estimator == "pooled":
        every = sorted({r["unit"] for r in records})
        a, b = (
            [slow.share([r for r in kept if r["unit"] != u], lambda r: not r["own"]) for u in every]
            for kept in own_of
        )
        r = max(0.0, float(np.corrcoef(a, b)[0, 1]))
    assert row.value == pytest.approx(rates[0][0] / rates[1][0], rel=1e-9)
    assert (row.lower, row.upper) == pytest.approx(slow.quotient(*rates, r), rel=1e-9)


# small cells


@pytest.mark.parametrize(
    ("true", "small"),
    [
        ((400, 5, 380, 5), set()),
        ((400, 40, 2, 30), {"direct"}),  # pooled rests on 11A and 11B together
        ((2, 40, 3, 30), {"direct"}),
        ((2, 40, 2, 30), {"direct", "pooled"}),
        ((400, 4, 380, 30), {"direct", "pooled"}),
        ((400, 40, 380, 4), {"direct", "pooled"}),
        ((4, 1, 380, 30), {"direct", "pooled"}),  # ab rests on all of an arm
        ((400, 40, 4, 1), {"direct", "pooled"}),
        ((3, 1, 380, 30), {"direct", "pooled", "ab"}),
        ((400, 40, 3, 1), {"direct", "pooled", "ab"}),
    ],
)
def test_only_cells_that_an_estimator_rests_on_make_it_small(true, small):
    counts = np.array([(60, 50, 55, 30), true]).reshape(2, 2, 2)
    found = scored(collected(counts, Traffic(exposure=(1.0, 1.0))))
    assert {e for (m, e), r in found.items() if m == "rrecall" and "small_cells" in r.flags} == (
        small
    )
    assert not [r for (m, _), r in found.items() if m == "rfpr" and r.method == "delta"]


def test_labels_that_weigh_unequally_make_a_cell_small():
    """Twenty labels of which one stands for 1,000 items: 1,019^2 / 1,000,019 = 1.04 of them."""
    d = collected(np.array([(20, 20, 20, 20), (20, 20, 20, 20)]).reshape(2, 2, 2), Traffic())
    heavy = np.ones(len(d))
    heavy[np.flatnonzero((d.cell == 1) & (d.label == 1))[0]] = 1e-3
    equal, unequal = (scored(replace(d, inclusion=p)) for p in (np.ones(len(d)), heavy))
    assert "small_cells" not in equal["rrecall", "direct"].flags
    assert "small_cells" in unequal["rrecall", "direct"].flags


# broken replicates


def shared(holders):
    """A labelled log in which few users hold the twelve true accepts of B that A accepts too."""
    cell = np.repeat([0, 1, 2, 3, 0, 1, 2, 3], [60, 30, 12, 40, 30, 30, 30, 30])
    label = np.repeat([1, 0], [142, 120])
    user = np.where(cell < 2, 100, 200) + np.arange(len(cell)) % 30
    user[90:102] = 300 + np.arange(12) % holders
    return Deployment(
        "shared",
        np.arange(len(cell)),
        (cell // 2).astype(np.uint8),
        cell % 2 == 0,
        label.astype(float),
        units={"unit": (user,)},
    )


def test_broken_replicates_give_way_to_the_delta_method():
    """exp(-3) = 5% of the replicates draw none of three users, and divide by nothing."""
    d = shared(3)
    row = scored(d, 2000)["rrecall", "direct"]
    assert 0.03 < np.isinf(row.replicates).mean() < 0.07
    assert "broken_replicates" in row.flags
    assert "small_cells" not in row.flags
    assert row.method == "delta"
    n = np.array([60, 30, 12, 40]) + 0.5
    slopes = [1 / n[0] - 1 / n[:2].sum(), -1 / n[:2].sum()]
    slopes += [1 / n[2:].sum() - 1 / n[2], 1 / n[2:].sum()]
    own = np.where(d.label == 1, np.array(slopes)[d.cell], 0.0)
    by_user = np.bincount(d.units["unit"][0], own)
    error = np.sqrt((by_user**2).sum() + 0.5 * (np.array(slopes) ** 2).sum())
    middle = np.log(n[0] / n[:2].sum() * n[2:].sum() / n[2])
    wanted = np.exp([middle - 1.959964 * error, middle + 1.959964 * error])
    assert (row.lower, row.upper) == pytest.approx(wanted, rel=1e-5)


def test_one_replicate_in_a_hundred_may_break():
    """exp(-5) = 0.7% of the replicates draw none of five users."""
    row = scored(shared(5), 2000)["rrecall", "direct"]
    assert 0 < np.isinf(row.replicates).mean() < 0.01
    assert "broken_replicates" not in row.flags
    assert row.method == "percentile"


# few labels


def partly(share=(0.9, 0.15, 0.2, 0.3), items=900, seed=0, unequal=False, true=0.7):
    """A log of 60 users with machine scores, a share of each cell labelled."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 60, items)
    arm = (user % 2).astype(np.uint8)
    label = (rng.random(items) < true).astype(float)
    other = rng.random(items) < np.where(label == 1, 0.75, 0.45)
    chance = np.array(share)[2 * arm + ~other]
    if unequal:
        chance = np.clip(chance * np.where(rng.random(items) < 0.4, 1.0, 0.6), 0.0, 1.0)
    machine = np.clip(0.2 + 0.6 * label + 0.1 * rng.normal(size=items), 0.0, 1.0)
    return Deployment(
        "partly",
        np.arange(items),
        arm,
        other,
        np.where(rng.random(items) < chance, label, np.nan),
        machine,
        chance if unequal else None,
        units={"unit": (user,)},
    )


def by_hand(d, weight, label, lean=(0, 0, 0, 0)):
    """The corrected ratio from a list of residuals in each cell, one longer where it leans."""
    totals = []
    for h, one in enumerate(lean):
        own, known = d.cell == h, (d.cell == h) & d.labelled
        stands = weight[known] / (1.0 if d.inclusion is None else d.inclusion[known])
        residuals = d.label[known] - d.machine[known]
        if one:
            drawn = weight[known].sum()
            mean = stands.sum() / drawn if drawn else 1.0  # as much as others weigh on average
            residuals, stands = np.append(residuals, one), np.append(stands, mean)
        n = weight[own].sum()
        residual = residuals @ stands / stands.sum() if stands.any() else np.nan
        true = weight[own] @ d.machine[own] + n * residual
        totals.append(np.clip(true, 0, n) if label else n - np.clip(true, 0, n))
    with np.errstate(divide="ignore", invalid="ignore"):
        return totals[0] / (totals[0] + totals[1]) * (totals[2] + totals[3]) / totals[2]


def ends_by_hand(d, label, replicates=400):
    """Percentiles of the corrected ratio, leaning outward in cells of under 100 labels."""
    short = d.labels_by_cell < np.minimum(d.items_by_cell, 100)
    raising = np.where(short, SIGNS, 0) * (1 if label else -1)
    weights = weights_of(d, replicates)
    sides = [[by_hand(d, w, label, lean) for w in weights] for lean in (-raising, raising)]
    middle = [by_hand(d, w, label) for w in weights]
    lower, upper = (
        pick(np.nanquantile(middle, tail), np.nanquantile(side, tail))
        for pick, side, tail in zip((min, max), sides, TAILS, strict=True)
    )
    return lower, upper


@pytest.mark.parametrize("unequal", [False, True])
def test_ends_of_the_corrected_interval_are_those_of_one_residual_more(unequal):
    d = partly(unequal=unequal)
    assert few_labels(d).ravel().tolist() == [False, True, True, True]
    found = scored(d, estimators=("corrected",))
    for measure, label in (("rrecall", 1), ("rfpr", 0)):
        row = found[measure, "corrected"]
        assert row.method == "percentile"
        assert "few_labels" in row.flags
        assert (row.lower, row.upper) == pytest.approx(ends_by_hand(d, label), rel=1e-9)
        assert row.value == pytest.approx(by_hand(d, np.ones(len(d)), label), rel=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_pseudo_residuals_are_the_worst_of_all_signs(label):
    d = partly(unequal=True)
    linear = Linear.from_evidence(evidence_of(d, plan_of(d, tc.Plan())))
    few = few_labels(d)
    found = [
        float(ratio(lambda p, s: linear.sums[p, s], "corrected", label, lean))
        for lean in leans(few, label)
    ]
    every = [
        by_hand(d, np.ones(len(d)), label, np.where(few.ravel(), signs, 0))
        for signs in product((-1, 1), repeat=4)
    ]
    assert found == pytest.approx([min(every), max(every)], rel=1e-12)


def test_a_hundred_labels_or_all_of_a_cell_are_enough():
    d = partly(share=(1, 1, 1, 1), items=1600)
    for labels, few in ((99, True), (100, False)):
        spare = [np.flatnonzero(d.cell == h)[labels:] for h in range(4)]
        label = d.label.copy()
        label[np.concatenate(spare[:1])] = np.nan
        assert few_labels(replace(d, label=label)).ravel().tolist() == [few, False, False, False]
    assert not few_labels(d.take(np.arange(160))).any()


def test_labels_that_weigh_unequally_are_few():
    """Of 150 labels in each cell a third stands for forty items each: as if 55 were there."""
    d = partly(share=(1, 1, 1, 1), items=1600)
    label, inclusion = d.label.copy(), np.ones(len(d))
    for h in range(4):
        own = np.flatnonzero(d.cell == h)
        label[own[150:]] = np.nan
        inclusion[own[:50]] = 1 / 40
    assert not few_labels(replace(d, label=label, inclusion=np.ones(len(d)))).any()
    unequal = replace(d, label=label, inclusion=inclusion)
    assert unequal.effective_labels == pytest.approx([2100**2 / 80_100] * 4)
    assert few_labels(unequal).all()


def test_in_a_fallback_the_corrected_interval_stays_as_wide_as_its_labels_make_it():
    """Too few false accepts of B alone for percentiles; what few labels leave open is wider yet."""
    d = partly(share=(0.2, 0.2, 0.2, 0.2), items=500, true=0.95)
    row = scored(d, estimators=("corrected",))["rfpr", "corrected"]
    assert "small_cells" in row.flags
    assert row.method == "delta"
    lower, upper = ends_by_hand(d, 0)
    assert lower < row.counts["delta_lower"]
    assert upper > row.counts["delta_upper"]
    assert (row.lower, row.upper) == pytest.approx((lower, upper), rel=1e-9)


# known units


def in_both_arms(copies=1):
    """Of 14 users of A and 12 of B, two have items of both arms and seven nothing at all."""
    users = {0: 6, 1: 1, 2: 9, 3: 2, 4: 4, 5: 8, 6: 3, 7: 5, 8: 2}  # and how many items of A
    of_b = {7: 4, 8: 6, 9: 3, 10: 9, 11: 1, 12: 5, 13: 7, 14: 2, 15: 4, 16: 6}
    unit = np.concatenate([np.repeat([*n], [*n.values()]) for n in (users, of_b)])
    arm = np.tile(np.repeat(["A", "B"], [sum(users.values()), sum(of_b.values())]), copies)
    unit = (unit + 17 * np.arange(copies)[:, None]).ravel()
    label = (np.arange(len(arm)) % 4 > 0).astype(int)
    other = np.arange(len(arm)) % 3 > 0
    return arm, unit, label, {"accept_a": (arm == "A") | other, "accept_b": (arm == "B") | other}


def test_totals_vary_within_arms_of_a_known_number_of_units():
    """Units are drawn within their arm, so what each adds is centred there before it is squared."""
    arm, unit, label, accepts = in_both_arms(8)
    d = collected_items(arm, unit=unit, label=label, units=(14 * 8, 12 * 8), **accepts)
    counts = [np.bincount(unit[(arm == a) & (label == 1)], minlength=17 * 8) for a in "AB"]
    own = counts[1] / counts[1].sum() - counts[0] / counts[0].sum()
    in_a, in_b = (np.isin(np.arange(17 * 8), unit[arm == a]) for a in "AB")
    strata = ((in_a & ~in_b, 12 * 8), (in_b & ~in_a, 10 * 8), (in_a & in_b, 2 * 8))
    wanted = sum((own[s] ** 2).sum() - own[s].sum() ** 2 / n for s, n in strata)

    def log_ratio(sums):
        return np.log(ratio(sums, "ab", 1))

    linear = Linear.from_evidence(evidence_of(d, plan_of(d, tc.Plan())))
    found = standard_error(linear, log_ratio, adjusted=False)
    assert found**2 == pytest.approx(wanted, rel=1e-6)
    assert found < 0.9 * np.sqrt((own**2).sum())
    row = scored(d, 5000, estimators=("ab",))["rrecall", "ab"]
    assert np.std(np.log(row.replicates)) == pytest.approx(found, rel=0.03)


def test_units_are_drawn_as_often_as_there_are_where_their_number_is_known():
    arm, unit, label, accepts = in_both_arms()
    listed = {"unit": [*range(9), *range(7, 20)], "collected_by": [*"A" * 9, *"B" * 13]}
    for traffic, scheme in (
        ({}, "poisson"),
        ({"exposure": (1.0, 1.0)}, "poisson"),
        ({"units": (14, 12)}, "multinomial"),
        ({"users": listed}, "multinomial"),
    ):
        d = collected_items(arm, unit=unit, label=label, **accepts, **traffic)
        plan = plan_of(d, tc.Plan())
        assert plan.scheme == scheme
        [factor] = evidence_of(d, plan).factors.values()
        assert (factor.strata is None) == (scheme == "poisson")
        assert scheme in scored(d, 20)["rrecall", "direct"].signature


@pytest.mark.parametrize("method", ["auto", "percentile"])
@pytest.mark.parametrize(("share", "seed"), [(0.1, 2), (0.3, 3)])
def test_a_corrected_interval_that_labels_do_not_bound_is_open_and_says_so(share, seed, method):
    d = partly((share,) * 4, 400, seed=seed, true=0.95)
    for row in scored(d, method=method, estimators=("corrected",)).values():
        assert row.lower != row.upper
        if row.upper is None:
            assert "infinite" in row.reason or "not defined" in row.reason
