"""Checks of a deployment: label mix, traffic split, machine against humans, intervals, labels."""

from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from scipy import stats

import truecost as tc
from truecost.core.digits import figure
from truecost.core.scoring import Scoring
from truecost.running import score
from truecost.tasks.abba.checks import (
    FIXED_SIZE,
    CheckFinding,
    intervals_found,
    label_mix,
    labels_found,
    log_width,
    narrower_found,
    split_check,
    split_found,
)
from truecost.tasks.abba.describing import Description, describe
from truecost.tasks.abba.records import CELL_WORDS, CELLS, Deployment, Traffic

FAST = Scoring(plan=tc.Plan(replicates=200, seed=1))


def made(cell, label, **more):
    """A deployment with these cells and labels."""
    cell = np.asarray(cell)
    ids = np.array([f"u{k:06}" for k in range(len(cell))])
    arm, label = (cell // 2).astype(np.uint8), np.asarray(label, float)
    frame = more.pop("frame", pl.DataFrame({"id": ids}))
    return Deployment("trial", ids, arm, cell % 2 == 0, label, frame=frame, **more)


def counted(ones, zeros, blank=(0, 0, 0, 0), **more):
    """A deployment with so many labels of 1, of 0 and none in each cell."""
    numbers = np.array([ones, zeros, blank]).T.ravel()
    cell = np.repeat(np.arange(4), np.reshape(numbers, (4, 3)).sum(axis=1))
    return made(cell, np.repeat([1, 0, np.nan] * 4, numbers), **more)


def by_users(rng, users=60, spread=2.0, share=(0.7, 0.7), per=8):
    """Users with a share of true accepts of their own, each in one arm; spread by a beta law."""
    arms = rng.integers(0, 2, users)
    middle = np.array(share)[arms]
    own = rng.beta(middle * spread, (1 - middle) * spread)
    user = np.repeat(np.arange(users), rng.poisson(per, users))
    cell = 2 * arms[user] + (rng.random(len(user)) < 0.2)
    label = rng.random(len(user)) < own[user]
    return made(cell, label, units={"user": (np.array([f"d{u}" for u in user]),)})


def found_in(description, name):
    """The checks of this name."""
    return [check for check in description.checks if check.name == name]


# the label mix


def test_the_label_mix_of_arms_of_one_size_is_pearsons_chi_square():
    mix = label_mix(counted((300, 9, 330, 8), (100, 5, 70, 5)))
    expected = stats.chi2_contingency([[300, 100], [330, 70]], correction=False)
    assert (mix.share_a, mix.share_b) == (0.75, 0.825)
    assert mix.difference == pytest.approx(0.075)
    assert (mix.difference / mix.error) ** 2 == pytest.approx(expected.statistic)
    assert mix.p == pytest.approx(expected.pvalue)


def test_the_label_mix_of_arms_of_two_sizes_is_near_pearsons_chi_square():
    mix = label_mix(counted((300, 9, 785, 8), (100, 5, 215, 5)))
    expected = stats.chi2_contingency([[300, 100], [785, 215]], correction=False)
    assert (mix.difference / mix.error) ** 2 == pytest.approx(expected.statistic, rel=0.07)


def test_the_error_of_the_label_mix_is_by_units_and_weighted():
    rng = np.random.default_rng(3)
    n = 300
    label = np.where(rng.random(n) < 0.3, np.nan, rng.random(n) < 0.6)
    user, inclusion = rng.integers(0, 40, n), rng.choice([0.2, 0.5, 1.0], n)
    log = made(rng.integers(0, 4, n), label, units={"user": (user,)}, inclusion=inclusion)
    kept = [k for k in range(n) if not np.isnan(label[k]) and log.other[k]]
    whole, ones = [0.0, 0.0], [0.0, 0.0]
    for k in kept:
        whole[log.arm[k]] += 1 / inclusion[k]
        ones[log.arm[k]] += label[k] / inclusion[k]
    common, by_user = sum(ones) / sum(whole), {}
    for k in kept:
        own = (label[k] - common) / inclusion[k] / whole[log.arm[k]]
        by_user[user[k]] = by_user.get(user[k], 0) + (own if log.arm[k] else -own)
    mix = label_mix(log)
    assert mix.share_a == pytest.approx(ones[0] / whole[0])
    assert mix.share_b == pytest.approx(ones[1] / whole[1])
    assert mix.error == pytest.approx(np.sqrt(sum(v**2 for v in by_user.values())))
    assert mix.p == pytest.approx(2 * stats.norm.sf(abs(mix.difference) / mix.error))


def test_the_label_mix_rejects_as_often_as_it_says_with_clustered_users():
    """1,000 data sets: 3 Monte Carlo errors are 0.021 at 0.05 and 0.009 at 0.01."""
    rng = np.random.default_rng(1)
    p = np.array([label_mix(by_users(rng)).p for _ in range(1000)])
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.021)
    assert (p < 0.01).mean() == pytest.approx(0.01, abs=0.009)


def test_items_as_units_would_reject_far_too_often():
    rng = np.random.default_rng(1)
    logs = [by_users(rng) for _ in range(200)]
    p = np.array([label_mix(replace(log, units={})).p for log in logs])
    assert (p < 0.05).mean() > 0.2


def test_the_label_mix_finds_a_difference():
    rng = np.random.default_rng(2)
    p = [label_mix(by_users(rng, users=200, share=(0.7, 0.4))).p for _ in range(50)]
    assert np.mean(np.array(p) < 0.01) > 0.9


def test_the_label_mix_of_corner_cases():
    assert label_mix(counted((0, 5, 3, 5), (0, 5, 3, 5), (9, 0, 0, 0))) is None
    assert label_mix(counted((4, 5, 9, 5), (0, 5, 0, 5))).p == 1
    apart = label_mix(counted((3, 0, 0, 0), (0, 0, 3, 0)))
    assert apart.difference == -1
    assert apart.p == pytest.approx(2 * stats.norm.sf(np.sqrt(6)))


@pytest.mark.parametrize("units", [None, (5000, 5000)])
def test_pooled_rows_are_flagged_where_the_label_mix_differs(units):
    """The golden counts of the specification: the second population violates the assumption."""
    equal = counted((1140, 60, 1140, 90), (175, 175, 175, 88), traffic=Traffic(units=units))
    other = counted((540, 60, 240, 60), (270, 630, 720, 480), traffic=Traffic(units=units))
    flagged = [
        {r.dims["estimator"] for r in score(log, FAST) if "label_mix" in r.flags}
        for log in (equal, other)
    ]
    assert flagged == [set(), {"pooled"}]
    assert found_in(describe(equal), "label mix")[0].state == "ok"
    [warning] = found_in(describe(other), "label mix")
    assert warning.text == (
        "items that both models accept: the share of true accepts is 66.67% in arm A and 25% in "
        f"arm B (p = {warning.p:.2g}), but the pooled estimate assumes equal shares: trust the "
        "direct estimate"
    )


# the traffic split


@given(st.integers(0, 400), st.integers(0, 400), st.floats(0.01, 0.99))
def test_the_split_is_tested_as_scipy_does(a, b, share):
    p = split_check(Traffic(units=(a, b + 1), split=share))
    assert p == pytest.approx(stats.binomtest(a, a + b + 1, share).pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("a", [50_000, 50_600, 51_500])
def test_many_units_are_tested_by_chi_square(a):
    p = split_check(Traffic(units=(a, 101_000 - a), split=0.5))
    assert p == pytest.approx(stats.chisquare([a, 101_000 - a]).pvalue, rel=1e-9)
    assert p == pytest.approx(stats.binomtest(a, 101_000, 0.5).pvalue, abs=0.003)


def test_the_split_needs_a_plan_and_all_units():
    users = pl.DataFrame({"unit": list("abc"), "arm": [0, 1, 1], "exposure": [1.0] * 3})
    assert split_check(Traffic(units=(5, 5))) is None
    assert split_check(Traffic(split=0.5)) is None
    assert split_check(Traffic(exposure=(9.0, 1.0), split=0.5)) is None
    assert split_check(Traffic(users=users, split=0.5)) == 1
    assert split_found(Traffic(split=0.5)) == []


def test_what_is_said_of_the_split():
    [fine] = split_found(Traffic(units=(5012, 4988), split=0.5))
    assert fine.state == "ok"
    assert fine.text == "A has 5012 of 10000 units, and 50% were planned (p = 0.82)"
    [broken] = split_found(Traffic(units=(5300, 4700), split=0.5))
    assert (broken.name, broken.state) == ("traffic split", "warning")
    assert broken.text.endswith(
        "a sample-ratio mismatch: the randomisation or the logging is faulty; do not trust the "
        "ratios"
    )


# machine against humans


def with_machine(rng, cells=(80, 30, 70, 40), labelled=0.5, shift=0.0, users=None):
    """Labels drawn with the machine's probabilities, which then are shifted."""
    cell = np.repeat(np.arange(4), cells)
    p = rng.beta(4, 1, len(cell))
    label = (rng.random(len(cell)) < p).astype(float)
    label[rng.random(len(cell)) >= labelled] = np.nan
    units = {} if users is None else {"user": (rng.integers(0, users, len(cell)),)}
    return made(cell, label, machine=np.clip(p + shift, 0, 1), units=units)


def test_cells_by_brute_force():
    rng = np.random.default_rng(5)
    log = with_machine(rng, users=30)
    inclusion = rng.choice([0.25, 1.0], len(log))
    log = replace(log, inclusion=inclusion)
    [users] = log.units["user"]
    for k, cell in enumerate(describe(log).cells):
        own = log.cell == k
        known = own & ~np.isnan(log.label)
        w, y, m, u = ((c[known]) for c in (1 / inclusion, log.label, log.machine, users))
        gap = (w * (y - m)).sum() / w.sum()
        sums = [(w * (y - m - gap))[u == one].sum() / w.sum() for one in np.unique(u)]
        alone = np.sqrt((w**2 * m * (1 - m)).sum()) / w.sum()
        groups = len(np.unique(u))
        error = max(np.sqrt(groups / (groups - 1) * np.square(sums).sum()), alone)
        assert (cell.cell, cell.words) == (CELLS[k], CELL_WORDS[CELLS[k]])
        assert (cell.items, cell.labels, cell.positives) == (own.sum(), known.sum(), y.sum())
        assert cell.share == pytest.approx((w * y).sum() / w.sum())
        assert cell.machine == pytest.approx(log.machine[own].mean())
        assert cell.machine_known == pytest.approx((w * m).sum() / w.sum())
        assert cell.human_minus_machine == pytest.approx(gap)
        assert cell.lower == pytest.approx(gap - stats.t.ppf(0.975, groups - 1) * error)
        assert cell.upper == pytest.approx(gap + stats.t.ppf(0.975, groups - 1) * error)


def test_a_right_machine_is_rarely_warned_of():
    """Labels drawn as the machine says, some 15 a cell: 5% of the logs may be warned of."""
    rng = np.random.default_rng(6)
    logs = [describe(with_machine(rng, cells=(30, 30, 30, 30))) for _ in range(400)]
    warned = [c.state == "warning" for d in logs for c in d.checks if c.name.startswith("machine")]
    assert len(warned) == 1600
    assert np.mean(warned) <= 0.0125


def test_a_wrong_machine_is_warned_of():
    rng = np.random.default_rng(7)
    log = with_machine(rng, cells=(800, 800, 800, 800), labelled=1, shift=-0.2)
    found = [c for c in describe(log).checks if c.name.startswith("machine")]
    assert [c.name for c in found] == [f"machine {cell}" for cell in CELLS]
    assert {c.state for c in found} == {"warning"}
    assert found[0].text.startswith("11A: humans find ")
    assert found[0].text.endswith(
        "soft estimates are biased; trust the corrected ones, or calibrate the machine"
    )


def test_warnings_of_a_machine_that_errs_in_several_cells_are_one():
    rng = np.random.default_rng(7)
    log = with_machine(rng, cells=(800, 800, 800, 800), labelled=1, shift=-0.2)
    found = describe(replace(log, label=np.where(log.cell == 1, np.nan, log.label)))
    first, second = found.warnings
    assert first.startswith(
        "10A (collected by A, accepted by A alone) has 800 items, none of which has a human label"
    )
    shares = [
        f"{figure(c.share, '%')} for {figure(c.machine_known, '%')} in {c.cell}"
        for c in found.cells
        if c.share is not None
    ]
    assert second == (
        f"shares of true accepts differ between humans and the machine: {', '.join(shares)}: "
        f"soft estimates are biased; trust the corrected ones, or calibrate the machine"
    )
    alone = describe(replace(log, label=np.where(log.cell == 1, log.label, np.nan)))
    [own] = [check.text for check in alone.checks if check.name == "machine 10A"]
    assert own in alone.warnings


def test_a_small_difference_is_none_to_warn_of():
    n = 40_000
    label = np.tile([1.0, 0.0], 2 * n)
    log = made(np.repeat(np.arange(4), n), label, machine=np.full(4 * n, 0.51))
    description = describe(log)
    assert description.cells[0].upper < 0
    assert not [c for c in description.checks if c.state == "warning"]


def test_few_labels_that_are_all_alike_do_not_accuse_the_machine():
    log = counted((6, 6, 6, 6), (5, 5, 5, 5), machine=np.full(44, 0.9))
    log = replace(log, label=np.where(log.label == 0, np.nan, 1.0))
    assert not [c for c in describe(log).checks if "machine" in c.name and c.state == "warning"]


def test_without_a_machine_nothing_is_said_of_one():
    description = describe(counted((9, 9, 9, 9), (9, 9, 9, 9)))
    assert not [c for c in description.checks if "machine" in c.name]
    assert {c.machine for c in description.cells} == {None}


# labels


def test_cells_of_few_labels_are_named():
    log = counted((9, 3, 0, 6), (9, 9, 0, 9), (0, 0, 7, 0))
    assert [(f.name, f.text) for f in labels_found(log)] == [
        (
            "labels 10A",
            "10A (collected by A, accepted by A alone) has 12 items, 3 of label 1 and 9 of label "
            "0: intervals are rough",
        ),
        (
            "labels 11B",
            "11B (collected by B, accepted by both) has 7 items, none of which has a human label: "
            "human labels alone give no ratio",
        ),
    ]
    assert labels_found(counted((5, 5, 5, 5), (5, 5, 5, 5))) == []
    assert labels_found(counted((5, 5, 5, 0), (5, 5, 5, 0))) == []  # no items, so none to label


def test_a_log_without_labels_says_so_once():
    log = counted((0,) * 4, (0,) * 4, (5,) * 4, machine=np.full(20, 0.5))
    assert [f.text for f in labels_found(log)] == [
        "no item has a human label: machine labels alone, without correction"
    ]
    assert [c.share for c in describe(log).cells] == [None] * 4


# intervals


def rows_of(log, **ends):
    """Rows of a log, those of the direct rRecall with other ends."""
    rows = score(log, FAST)
    return [
        structs.replace(r, **ends)
        if (r.measure, r.dims["estimator"]) == ("rrecall", "direct")
        else r
        for r in rows
    ]


GOLDEN = counted((1140, 60, 1140, 90), (175, 175, 175, 88))


def test_intervals_that_are_alike_are_said_once():
    assert [(f.state, f.text) for f in intervals_found(rows_of(GOLDEN))] == [
        ("ok", "bootstrap and delta method agree")
    ]


def test_intervals_that_are_apart_are_warned_of():
    rows = rows_of(GOLDEN, lower=0.9, upper=1.2, counts={"delta_lower": 1.0, "delta_upper": 1.05})
    [found] = intervals_found(rows)
    assert found.state == "warning"
    assert found.text == (
        "rrecall (direct): the bootstrap gives [0.90, 1.20], the delta method [1.000, 1.050]: few "
        "units, "
        "or one with most of the data; trust neither interval"
    )


@pytest.mark.parametrize(
    "ends",
    [
        {"flags": ("few_labels",)},  # widened on purpose
        {"method": "delta"},
        {"lower": None, "upper": None},
    ],
)
def test_intervals_that_cannot_be_compared_are_left_out(ends):
    apart = {"lower": 0.9, "upper": 1.2, "counts": {"delta_lower": 1.0, "delta_upper": 1.05}}
    [found] = intervals_found(rows_of(GOLDEN, **{**apart, **ends}))
    assert found.state == "ok"


def test_nothing_is_said_of_intervals_that_are_not_there():
    assert intervals_found([]) == []
    assert np.isnan(log_width(None, 1))
    assert np.isnan(log_width(0, 0))
    assert log_width(0, 1) == np.inf
    assert log_width(1, np.e) == pytest.approx(1)


def test_which_interval_is_narrower():
    found = {f.name: f.text for f in narrower_found(rows_of(GOLDEN))}
    assert list(found) == ["narrower rrecall", "narrower rfpr"]
    assert found["narrower rfpr"].startswith("rfpr: the pooled interval is the narrower one")
    rows = rows_of(GOLDEN, lower=1.02, upper=1.021)
    text = narrower_found(rows)[0].text
    assert text.startswith("rrecall: the direct interval is the narrower one (width of the logar")
    assert narrower_found([r for r in rows if r.dims["estimator"] == "direct"]) == []


# a description


def test_a_description_holds_what_there_is():
    rng = np.random.default_rng(8)
    log = by_users(rng)
    traffic = Traffic(exposure=(10.0, 11.0), units=(40, 45), split=0.5)
    own = {"score_a": rng.random(len(log)), "score_b": rng.random(len(log))}
    log = replace(log, traffic=traffic, **own, threshold_a=0.5, threshold_b=0.6)
    description = describe(log, score(log, FAST), {"collection": "eval"})
    assert (description.system, description.collection) == ("trial", "eval")
    assert description.items == description.labels == len(log)
    assert (description.unit, description.units, description.units_known) == (
        "user",
        (40, 45),
        True,
    )
    assert description.exposures == (10, 11)
    assert description.thresholds == (0.5, 0.6)
    assert [c.items for c in description.cells] == np.bincount(log.cell).tolist()
    assert description.checks[-1] == CheckFinding(name="fixed size", state="note", text=FIXED_SIZE)
    assert found_in(description, "traffic split")[0].p == split_check(traffic)
    read = msgspec.json.decode(msgspec.json.encode(description), type=Description)
    assert read == description


def test_units_are_those_of_the_log_where_no_more_is_known():
    log = by_users(np.random.default_rng(9))
    [user] = log.units["user"]
    seen = tuple(len(set(user[log.arm == arm])) for arm in (0, 1))
    description = describe(log)
    assert (description.units, description.units_known) == (seen, False)
    assert describe(GOLDEN).units == ()
    assert describe(GOLDEN).unit == ""
    assert description.exposures == description.thresholds == ()


def test_rows_of_subsets_and_of_other_deployments_are_passed_over():
    rooms = pl.DataFrame({"room": ["hall", "bath"] * 520})
    log = made(np.arange(1040) % 4, np.arange(1040) // 4 % 3 > 0, frame=rooms)
    rows = score(log, Scoring(plan=tc.Plan(100), level=0.9, subsets=("room",)))
    other = [structs.replace(r, dims={**r.dims, "system": "other"}) for r in rows]
    assert describe(log, [*other, *rows]) == describe(log, rows[:4])
    assert describe(log, rows).level == 0.9
    assert not found_in(describe(log, other), "intervals")
    assert describe(log, other).level == 0.95


def test_warnings_are_what_is_to_be_told():
    description = describe(counted((540, 60, 240, 2), (270, 630, 720, 480)))
    assert [w.split(" ")[0] for w in description.warnings] == ["01B", "items"]
