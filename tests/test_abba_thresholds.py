"""Thresholds of the candidate: rules, the golden Table 5, brute force, coverage of the choice."""

from dataclasses import replace

import numpy as np
import pytest

import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.choosing import Curve
from truecost.tasks.abba.counting import plan_of
from truecost.tasks.abba.describing import Rule, improving
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.thresholds import Choice, choose, grid_of

# Paper 001, Table 5.
THRESHOLDS = np.array([0.1, 0.2, 0.3, 0.4])
RFPR = np.array([1.5, 1.0, 0.8, 0.7])
RRECALL = np.array([1.20, 1.05, 1.01, 0.98])


def test_table_5():
    assert THRESHOLDS[Rule("max-rfpr", 1.0).chosen(RRECALL, RFPR)] == 0.2
    assert THRESHOLDS[Rule("min-rrecall", 1.0).chosen(RRECALL, RFPR)] == 0.3
    assert THRESHOLDS[improving(RRECALL, RFPR)].tolist() == [0.2, 0.3]


def test_a_rule_that_nothing_satisfies_chooses_nothing():
    assert Rule("max-rfpr", 0.5).chosen(RRECALL, RFPR) == -1
    assert Rule("min-rrecall", 2.0).chosen(RRECALL, RFPR) == -1
    nothing = np.full(4, np.nan)
    assert Rule("max-rfpr", 1.0).chosen(nothing, RFPR) == -1
    assert Rule("min-rrecall", 1.0).chosen(RRECALL, nothing) == -1


def test_ties_go_to_fewer_false_accepts_or_to_more_recall():
    same = np.ones(4)
    assert Rule("max-rfpr", 1.0).chosen(same, RFPR) == 3
    assert Rule("min-rrecall", 1.0).chosen(same, same) == 0


def log(items=4000, users=50, seed=0, known=1.0, machine=False, better=2.0):
    """What two models collected of Gaussian streams; A at 0.5, B at 0.3."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, users, items)
    arm = user % 2
    label = rng.random(items) < 0.4
    own = rng.normal(0, 0.2, (2, users))[:, user]
    a, b = (rng.normal(best * label, 1.0) + o for best, o in zip((1.6, better), own, strict=True))
    kept = np.where(arm == 0, a >= 0.5, b >= 0.3)
    given = np.where(rng.random(items) < known, label.astype(float), np.nan)
    scores = np.clip(0.15 + 0.7 * label + 0.1 * rng.normal(size=items), 0, 1)
    return collected_items(
        np.where(arm == 0, "A", "B")[kept],
        score_a=a[kept],
        score_b=b[kept],
        threshold_a=0.5,
        threshold_b=0.3,
        label=given[kept],
        unit=user[kept],
        **({"machine": scores[kept]} if machine else {}),
    )


def by_hand(d, threshold, weight):
    """Both direct ratios with B at a threshold, from the items themselves."""
    ratios = []
    a, b = d.score_a >= 0.5, d.score_b >= threshold
    for y in (1, 0):
        n = [
            weight[(d.arm == arm) & (a == accepts) & (b == reaches) & (d.label == y)].sum()
            for arm, accepts, reaches in ((0, 1, 1), (0, 1, 0), (1, 1, 1), (1, 0, 1))
        ]
        ratios.append(n[0] / (n[0] + n[1]) * (n[2] + n[3]) / n[2])
    return ratios


def test_both_ratios_and_the_choice_of_every_replicate_by_brute_force():
    d = log(items=1500)
    grid = (0.3, 0.5, 0.7, 0.9, 1.1)
    scoring = tc.Scoring(plan=tc.Plan(30, seed=2))
    rows, [plane] = choose(d, scoring, Choice(max_rfpr=0.9, min_rrecall=0.95, grid=grid))
    one = np.ones(len(d))
    for k, threshold in enumerate(grid):
        wanted = by_hand(d, threshold, one)
        assert (plane.rrecall[k], plane.rfpr[k]) == pytest.approx(wanted, rel=1e-12)
    plan = plan_of(d, scoring.plan)
    factor, codes = tc.Factor.encode("unit", d.units["unit"][0].astype(str).astype(object))
    weights = plan.weights({"unit": factor}).block()["unit"]
    found = {(r.measure, r.parameters["variant"]): r for r in rows}
    assert {v for _, v in found} == {"max-rfpr=0.9", "min-rrecall=0.95"}
    for r in range(30):
        table = np.array([by_hand(d, t, weights[r][codes]) for t in grid])
        for variant, fits, goal in (
            ("max-rfpr=0.9", table[:, 1] <= 0.9, table[:, 0]),
            ("min-rrecall=0.95", table[:, 0] >= 0.95, -table[:, 1]),
        ):
            best = np.argmax(np.where(fits, goal, -np.inf)) if fits.any() else None
            for column, measure in enumerate(("rrecall", "rfpr")):
                row = found[measure, variant]
                if Rule(*_parsed(variant)).limits == measure:  # stays at the threshold of the data
                    at = grid.index(row.threshold)
                    assert row.replicates[r] == pytest.approx(table[at, column], rel=1e-12)
                elif best is None:
                    assert np.isnan(row.replicates[r])
                else:
                    assert row.replicates[r] == pytest.approx(table[best, column], rel=1e-12)


def _parsed(variant):
    name, _, limit = variant.partition("=")
    return name, float(limit)


def test_the_rows_say_the_threshold_and_where_replicates_chose_it():
    rows, [plane] = choose(log(), tc.Scoring(plan=tc.Plan(200)), Choice(max_rfpr=1.0))
    recall, fpr = rows
    assert (recall.measure, fpr.measure) == ("rrecall", "rfpr")
    assert recall.dims == {"system": "deployment", "estimator": "direct"}
    assert recall.threshold == fpr.threshold == plane.chosen[0].threshold
    assert recall.counts["threshold_lower"] <= recall.threshold <= recall.counts["threshold_upper"]
    assert fpr.value <= 1
    assert plane.thresholds[0] == plane.deployed == 0.3
    assert len(plane.thresholds) > 150
    assert plane.better[0] <= plane.better[1]


def test_a_bound_is_more_careful_than_a_value():
    d, scoring = log(), tc.Scoring(plan=tc.Plan(300))
    for name, limit in (("max_rfpr", 1.0), ("min_rrecall", 0.9)):
        point, bound = (
            choose(d, scoring, Choice(**{name: limit}, by=by, grid=40))[1][0]
            for by in ("point", "upper")
        )
        at, careful = point.chosen[0].threshold, bound.chosen[0].threshold
        k = bound.thresholds.index(careful)
        if name == "max_rfpr":
            assert careful > at
            assert bound.rfpr_upper[k] <= limit
        else:
            assert careful < at
            assert bound.rrecall_lower[k] >= limit


def test_a_bound_leaves_out_thresholds_at_which_b_accepts_nothing_falsely():
    d, scoring = log(1500, seed=3, known=0.2, machine=True), tc.Scoring(plan=tc.Plan(100))
    [plane] = choose(d, scoring, Choice(max_rfpr=1.5, by="upper"))[1]
    nothing = [t for t, r in zip(plane.thresholds, plane.rfpr, strict=True) if r == 0]
    assert nothing
    assert plane.chosen[0].threshold < min(nothing)


def test_corrected_labels_choose_too():
    d = log(items=8000, known=0.2, machine=True)
    rows, planes = choose(d, tc.Scoring(plan=tc.Plan(100)), Choice(grid=20))
    assert {r.dims["estimator"] for r in rows} == {"corrected"}
    wide = tc.Scoring(plan=tc.Plan(100), choices=AbbaScoring(("direct", "soft", "pooled")))
    assert [p.estimator for p in choose(d, wide, Choice(grid=20))[1]] == [
        "direct",
        "pooled",
        "soft",
    ]
    assert planes[0].rrecall[0] == pytest.approx(1.1, abs=0.3)


def test_items_as_units_choose_as_their_groups_do():
    d = log(items=3000)
    plain = collected_items(
        np.where(d.arm == 0, "A", "B"),
        score_a=d.score_a,
        score_b=d.score_b,
        threshold_a=0.5,
        threshold_b=0.3,
        label=d.label,
    )
    _, [plane] = choose(plain, tc.Scoring(plan=tc.Plan(200)), Choice(grid=30))
    _, [by_user] = choose(d, tc.Scoring(plan=tc.Plan(200)), Choice(grid=30))
    for one, other in zip(plane.rfpr, by_user.rfpr, strict=True):
        assert one == (None if other is None else pytest.approx(other, rel=1e-12))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": (0.2, 0.5)}, "thresholds below the deployed 0.3 cannot be evaluated: 0.2"),
        ({"grid": 0}, "grid is 0: give 1 to 10,000 thresholds"),
        ({"grid": (float("nan"),)}, "finite"),
        ({"max_rfpr": 0.0}, "max_rfpr is 0: give a ratio above 0"),
        ({"min_rrecall": -1.0}, "min_rrecall is -1"),
        ({"by": "lower"}, "by is .lower.: choose one of point, upper"),
    ],
)
def test_what_cannot_be_chosen_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        choose(log(400), tc.Scoring(plan=tc.Plan(20)), Choice(**options))


def test_decisions_have_no_thresholds():
    d = collected_items(list("AB"), accept_a=[1, 1], accept_b=[1, 1], label=[1, 0])
    with pytest.raises(UsageError, match="need the scores of both models"):
        grid_of(d, Choice())


def sampled(known, cells=None, seed=5, items=20_000, **options):
    """The log with labels of a random share of each cell, with and without their probabilities."""
    d = log(items=items, users=400, seed=seed)
    rng = np.random.default_rng(seed)
    share = np.asarray(known)[d.cell]
    label = np.where(rng.random(len(d)) < share, d.label, np.nan)
    return [
        replace(d, label=label, inclusion=inclusion, **options) for inclusion in (None, share)
    ], d


def test_labels_of_cells_stand_for_their_cell_at_every_threshold():
    """Above the deployed threshold cells mix items that were labelled at different rates."""
    (plain, told), full = sampled((0.1, 0.9, 0.1, 0.9), items=60_000)
    wrong = replace(plain, inclusion=np.ones(len(plain)))
    scoring, choice = tc.Scoring(plan=tc.Plan(50)), Choice(grid=(0.3, 1.3))
    curves = [choose(d, scoring, choice)[1][0] for d in (plain, told, full, wrong)]
    without, given, truth, unweighted = (np.array([c.rrecall[1], c.rfpr[1]]) for c in curves)
    assert without == pytest.approx(given, rel=0.02)
    assert without == pytest.approx(truth, rel=0.05)
    assert (abs(unweighted / truth - 1) > 0.1).all()


def test_an_infinite_ratio_is_no_candidate():
    rrecall = np.array([1.0, 0.9, np.inf])
    rfpr = np.array([1.2, 0.8, 0.0])
    assert Rule("max-rfpr", 1.0).chosen(rrecall, rfpr) == 1
    assert Rule("min-rrecall", 0.9).chosen(rrecall, rfpr) == 1
    assert improving(rrecall, rfpr).tolist() == [False, False, False]


def test_few_labels_widen_the_curves_as_they_widen_rows():
    (d, _), _ = sampled((0.02, 0.02, 0.02, 0.02))
    machine = np.clip(0.05 + 0.9 * np.nan_to_num(d.label, nan=0.5), 0, 1)
    d = replace(d, machine=machine)
    scoring = tc.Scoring(
        plan=tc.Plan(300), method="percentile", choices=AbbaScoring(("corrected",))
    )
    rows = {r.measure: r for r in tc.score_system(d, scoring)}
    chosen, [plane] = choose(d, scoring, Choice(max_rfpr=5.0, grid=(0.3,)))
    for name, row in rows.items():
        assert "few_labels" in row.flags
        ends = getattr(plane, f"{name}_lower")[0], getattr(plane, f"{name}_upper")[0]
        assert ends == pytest.approx((row.lower, row.upper), rel=1e-9)
    assert all("few_labels" in row.flags for row in chosen)


def test_small_cells_take_the_delta_method_at_thresholds_too():
    d = log(items=300, users=30)
    scoring = tc.Scoring(plan=tc.Plan(200))
    rows, [plane] = choose(d, scoring, Choice(max_rfpr=0.2, grid=(0.3, 1.0, 2.0)))
    assert rows[1].method == "delta"
    assert "small_cells" in rows[1].flags
    [at] = [r for r in tc.score_system(d.at_threshold(2.0), scoring) if r.measure == "rfpr"][:1]
    assert plane.rfpr[2] == at.value
    assert plane.rfpr_upper[2] >= at.counts["delta_upper"] > 0


def test_a_bound_is_known_where_the_value_is_0():
    """The bound of a rate of 0 is that of the delta method, not 0 and not unknown."""
    d = log(items=300, users=30)
    rule = Choice(max_rfpr=1.5, grid=(0.3, 2.5), by="upper")
    rows, [plane] = choose(d, tc.Scoring(plan=tc.Plan(200)), rule)
    assert plane.rfpr[1] == 0
    assert plane.rfpr_upper[1] > 0
    assert rows[0].threshold == (2.5 if plane.rfpr_upper[1] <= 1.5 < plane.rfpr_upper[0] else 0.3)


def test_a_threshold_that_few_replicates_define_has_no_interval():
    """Six replicates in ten define the first threshold, five the second and four the third."""
    drawn = np.tile(np.arange(10.0)[:, None], 3)
    for column, defined in enumerate((6, 5, 4)):
        drawn[defined:, column] = (np.nan, np.inf)[column % 2]
    lower, upper = Curve.plain(np.ones(3), drawn).ends((0.1, 0.9))
    assert (lower[0], upper[0]) == pytest.approx((0.5, 4.5))
    assert np.isnan([lower[1:], upper[1:]]).all()


def test_a_choice_that_few_replicates_make_has_no_interval():
    """Of all thresholds one alone is within the limit, and in 55% of the replicates none does."""
    d, scoring, grid = log(items=1500, seed=7), tc.Scoring(plan=tc.Plan(300)), (0.5, 0.7, 0.9)
    best = max(choose(d, scoring, Choice(grid=grid))[1][0].rrecall)
    for limit, few in ((best, True), (0.97 * best, False)):
        [_, row], [plane] = choose(d, scoring, Choice(min_rrecall=limit, grid=grid))
        assert (plane.chosen[0].feasible < 0.5) == few
        assert row.n_undefined == round(300 * (1 - plane.chosen[0].feasible))
        assert (row.lower is None) == (row.upper is None) == few


def test_a_limit_that_does_not_bind_is_told():
    _, [plane] = choose(log(), tc.Scoring(plan=tc.Plan(50)), Choice(max_rfpr=9.0))
    assert not plane.chosen[0].binds
    assert choose(log(), tc.Scoring(plan=tc.Plan(50)), Choice(max_rfpr=0.8))[1][0].chosen[0].binds
    with pytest.raises(UsageError, match=r"did you mean 0.9\?"):
        Choice(max_rfpr=90)


def test_a_higher_threshold_is_that_of_a_log_cut_there():
    d = log(items=2000)
    there = d.at_threshold(0.9)
    [recall, fpr] = (
        next(r for r in tc.score_system(there, tc.Scoring(plan=tc.Plan(20))) if r.measure == m)
        for m in ("rrecall", "rfpr")
    )
    assert (recall.value, fpr.value) == pytest.approx(by_hand(d, 0.9, np.ones(len(d))), rel=1e-12)


def _covered(datasets):
    """How often intervals at the chosen threshold hold the truth.

    Three shares: of rRecall that of the best threshold, as each replicate chooses and with the
    choice frozen; of rFPR, which the rule limits, that of the threshold that the data chose.
    """
    grid = tuple(np.round(np.arange(0.3, 1.5, 0.05), 2).tolist())
    population = log(items=400_000, users=4000, seed=99, better=1.6)
    choice = Choice(max_rfpr=1.0, grid=grid)
    _, [truth] = choose(population, tc.Scoring(plan=tc.Plan(2)), choice)
    best = truth.rrecall[truth.thresholds.index(truth.chosen[0].threshold)]
    hits = np.zeros(3)
    for seed in range(datasets):
        d = log(items=1500, users=150, seed=seed, better=1.6)
        rows, [plane] = choose(d, tc.Scoring(plan=tc.Plan(300, seed=seed)), choice)
        k = plane.thresholds.index(rows[0].threshold)
        hits += [
            rows[0].lower <= best <= rows[0].upper,
            plane.rrecall_lower[k] <= best <= plane.rrecall_upper[k],
            rows[1].lower <= truth.rfpr[k] <= rows[1].upper,
        ]
    return hits / datasets


def test_the_choice_is_part_of_what_is_resampled():
    chosen, frozen, limited = _covered(80)
    assert chosen >= 0.88
    assert frozen < chosen
    assert limited >= 0.82


@pytest.mark.long
def test_coverage_of_a_choice_that_every_replicate_repeats_and_of_a_frozen_one():
    chosen, frozen, limited = _covered(600)
    assert 0.93 <= chosen <= 0.985
    assert frozen <= 0.85
    assert limited >= 0.88


def test_a_choice_that_few_replicates_make_has_its_reason():
    d = log(items=1500, seed=7)
    grid = (0.5, 0.7, 0.9)
    _, [plane] = choose(d, tc.Scoring(plan=tc.Plan(20)), Choice(grid=grid))
    best = Choice(min_rrecall=max(plane.rrecall), grid=grid)
    rows, [plane] = choose(d, tc.Scoring(plan=tc.Plan(200)), best)
    for row in rows:
        assert (row.lower is None) == (row.reason is not None)
    assert plane.chosen[0].feasible < 1


def test_a_cell_without_a_label_is_refused_where_thresholds_mix_cells():
    d = log()
    bare = replace(d, label=np.where(d.cell == 1, np.nan, d.label))
    with pytest.raises(InputError, match="cell 10A has items and no human label"):
        choose(bare, tc.Scoring(plan=tc.Plan(20)), Choice())
    strata = np.where(d.cell == 3, "x", "y").astype(object)
    none = replace(d, label=np.where(strata == "x", np.nan, d.label), strata=strata)
    with pytest.raises(InputError, match="stratum x has items"):
        choose(none, tc.Scoring(plan=tc.Plan(20)), Choice())


def test_at_the_deployed_threshold_intervals_are_those_of_the_score():
    """Unequal probabilities, small cells, broken replicates: the same rules everywhere."""
    d = log(items=3000, machine=True)
    rng = np.random.default_rng(3)
    inclusion = np.where(rng.random(len(d)) < 0.15, 0.9, 0.05)
    label = np.where(rng.random(len(d)) < inclusion, d.label, np.nan)
    d = replace(d, label=label, inclusion=inclusion)
    estimators = ("corrected", "direct", "pooled", "soft")
    scoring = tc.Scoring(plan=tc.Plan(200), method="percentile", choices=AbbaScoring(estimators))
    rows = {(r.measure, r.dims["estimator"]): r for r in tc.score_system(d, scoring)}
    chosen, _ = choose(d, scoring, Choice(max_rfpr=19.0, grid=(0.3,)))
    for row in chosen:
        there = rows[row.measure, row.dims["estimator"]]
        assert row.value == pytest.approx(there.value, rel=1e-9)
        told = {"few_labels", "small_cells", "uncorrected", "label_mix"}
        assert told & {*row.flags} == told & {*there.flags}
        if row.measure == "rfpr" and row.dims["estimator"] != "corrected":
            assert row.lower == pytest.approx(there.lower, rel=0.02)
            assert row.upper == pytest.approx(there.upper, rel=0.02)
        assert row.reason is None


def test_a_limit_that_is_kept_where_the_other_ratio_is_undefined():
    d = log(items=800)
    true = d.label == 1
    every = d.take(np.flatnonzero(true))
    rows, _ = choose(every, tc.Scoring(plan=tc.Plan(20)), Choice(min_rrecall=0.1, grid=(0.3,)))
    assert {r.reason for r in rows} == {
        "undefined: rfpr is undefined at every threshold that meets min-rrecall=0.1"
    }
