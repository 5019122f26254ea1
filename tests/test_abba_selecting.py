"""Which items to label: allocation, precision, the draw and its probabilities."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.tasks.abba.records import CELLS, Deployment
from truecost.tasks.abba.selecting import select
from truecost.tasks.abba.strata import allocate, gain, gradient, neyman, precision, stratify

SIZES = {"11A": 300, "10A": 60, "11B": 250, "01B": 90}
RATES = {"11A": 0.08, "10A": 0.5, "11B": 0.1, "01B": 0.3}


def deployed(sizes=SIZES, label=None, **columns):
    """A log with so many items in each cell, in the order of the cells."""
    cell = np.repeat(np.arange(4), [sizes.get(name, 0) for name in CELLS])
    ids = np.array([f"utt{i:05}" for i in range(len(cell))])
    label = np.full(len(cell), np.nan) if label is None else np.asarray(label, float)
    return Deployment(
        "candidate", ids, (cell // 2).astype(np.uint8), cell % 2 == 0, label, **columns
    )


def truths(sizes=SIZES, rates=RATES):
    """Labels with these shares of false accepts in the cells, spread evenly."""
    return np.concatenate(
        [np.arange(n) % 100 / 100 * 7 % 1 >= rates[name] for name, n in sizes.items()]
    ).astype(float)


def some_labelled(every, label):
    return np.where(np.arange(len(label)) % every == 0, label, np.nan)


def log_ratio(truth, log, positive, weight):
    """Log of the direct ratio, cell shares weighted and raised to the size of the cell."""
    totals = [
        (log.cell == h).sum() * np.average(truth[log.cell == h] == positive, weights=w)
        for h in range(4)
        if (w := weight[log.cell == h]).any()
    ]
    both_a, alone_a, both_b, alone_b = totals
    return np.log(both_a / (both_a + alone_a) * (both_b + alone_b) / both_b)


# the paper's example


def test_the_papers_allocation():
    """Paper 001, Eq. 16, more exactly."""
    assert neyman([0.9, 0.1], [0.05, 0.20])[1] == pytest.approx(0.1694, abs=5e-5)
    assert neyman([900, 100], [0.05, 0.20])[1] == pytest.approx(0.1694, abs=5e-5)


def test_the_papers_gain_needs_a_rate_that_its_strata_do_not_have():
    found = gain([0.1, 0.9], [0.20, 0.05])
    assert found.overall == pytest.approx(0.065)
    assert found.gain == found.gain_of_strata == pytest.approx(0.082, abs=5e-4)
    assert not found.problems
    printed = gain([0.1, 0.9], [0.20, 0.05], overall=0.08)
    assert printed.gain == pytest.approx(0.24, abs=3e-3)
    assert (printed.overall, printed.gain_of_strata) == (0.08, found.gain)
    assert printed.problems == (
        "the overall rate is given as 0.08, but the rates of the strata give 0.065: only the gain "
        "at 0.065 can be expected",
    )


def test_the_papers_target_on_its_strata():
    log = deployed({"11A": 4500, "10A": 500, "11B": 4500, "01B": 500})
    strata = np.where(log.other, "agreement", "disagreement")
    log = deployed({"11A": 4500, "10A": 500, "11B": 4500, "01B": 500}, strata=strata)
    found = select(log, 1000, "fpr", rates={"agreement": 0.05, "disagreement": 0.20})
    assert found.table["stratum"].to_list() == ["agreement", "disagreement"]
    assert found.table["chosen"].to_list() == [831, 169]
    assert found.table["wanted"].to_numpy() == pytest.approx(
        1000 * neyman([0.9, 0.1], [0.05, 0.2]), rel=1e-3
    )
    [row] = found.expected.filter(pl.col("measure") == "fpr").rows(named=True)
    whole = (0.9 * 0.05 * 0.95 + 0.1 * 0.20 * 0.80) / 10_000  # saved by labels of a finite log
    labels = row["after"] ** 2 - row["all"] ** 2 + whole
    assert 1 - labels / (0.065 * 0.935 / 1000) == pytest.approx(0.0824, abs=1e-4)
    assert row["after"] < row["proportional"]


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 0.99)), min_size=1, max_size=6))
def test_shares_sum_to_one_and_a_gain_is_a_share(strata):
    weights, rates = np.array(strata).T
    assert neyman(weights, rates).sum() == pytest.approx(1)
    assert -1e-9 <= gain(weights, rates).gain <= 1


def test_what_is_undefined_is_nan():
    assert np.isnan(neyman([1, 1], [0, 1])).all()
    assert np.isnan(gain([1, 1], [0, 0]).gain)


@pytest.mark.parametrize(
    ("weights", "rates", "message"),
    [
        ([1, 2], [0.1], "2 weights for 1 rate: each stratum needs both"),
        ([1, -1], [0.1, 0.1], r"weights are \[1.0, -1.0\]: sizes or shares"),
        ([0, 0], [0.1, 0.1], r"weights are \[0.0, 0.0\]: sizes or shares"),
        ([1, 1], [0.1, 1.1], r"rates are \[0.1, 1.1\]: each must lie between 0 and 1"),
        ([1, 1], [0.1, np.nan], "each must lie between 0 and 1"),
    ],
)
def test_weights_and_rates_that_cannot_be_used(weights, rates, message):
    with pytest.raises(UsageError, match=message):
        neyman(weights, rates)
    with pytest.raises(UsageError, match=message):
        gain(weights, rates)


def test_an_overall_rate_that_is_none():
    with pytest.raises(UsageError, match="the overall rate is 8: it must lie between 0 and 1"):
        gain([1], [0.1], overall=8)


# allocation


def variance(spreads, labels):
    """Sum of spread^2 / n: what labels leave, but for a constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spreads > 0, spreads**2 / labels, 0).sum()


SPREADS = st.sampled_from([0.0, 1e-6, 0.3, 1.0, 1.0, 2.5, 7.0, 40.0])
LIMITS = st.tuples(SPREADS, st.integers(0, 4), st.integers(0, 6))


@given(st.lists(LIMITS, min_size=1, max_size=4), st.floats(0, 1))
@settings(max_examples=4 * settings.default.max_examples)
def test_no_integer_allocation_is_better(strata, filled):
    spreads = np.array([s for s, _, _ in strata])
    low = np.array([lo for _, lo, _ in strata])
    high = low + [more for _, _, more in strata]
    total = int(low.sum() + filled * (high - low).sum())
    found = allocate(spreads, low, high, total)
    assert found.sum() == total
    assert (low <= found).all()
    assert (found <= high).all()
    ranges = [range(lo, hi + 1) for lo, hi in zip(low, high, strict=True)]
    every = [variance(spreads, np.array(n)) for n in product(*ranges) if sum(n) == total]
    assert variance(spreads, found) == pytest.approx(min(every), rel=1e-12)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=8), st.integers(100, 100_000))
def test_without_limits_labels_are_in_proportion_to_the_spread(spreads, total):
    spreads = np.array(spreads)
    none = np.zeros(len(spreads), np.int64)
    found = allocate(spreads, none, none + total, total)
    assert np.abs(found - total * spreads / spreads.sum()).max() <= len(spreads)
    more = allocate(spreads, none, none + total + 1, total + 1)
    assert sorted(more - found) == [0] * (len(spreads) - 1) + [1]


def test_a_limit_passes_the_rest_on_alike():
    spreads, none = np.array([8.0, 2.0, 1.0, 1.0]), np.zeros(4, np.int64)
    assert allocate(spreads, none, np.array([40, 99, 99, 99]), 80).tolist() == [40, 20, 10, 10]
    assert allocate(spreads, np.array([0, 0, 0, 14]), none + 99, 80).tolist() == [48, 12, 6, 14]


def test_equal_strata_share_and_the_first_gets_the_odd_label():
    none = np.zeros(3, np.int64)
    assert allocate(np.ones(3), none, none + 9, 8).tolist() == [3, 3, 2]
    assert allocate(np.ones(3), none, none + 9, 2).tolist() == [1, 1, 0]


def test_labels_that_help_nothing_go_by_size():
    none, high = np.zeros(3, np.int64), np.array([5, 300, 100])
    assert allocate(np.array([1.0, 0, 0]), none, high, 205).tolist() == [5, 150, 50]
    assert allocate(np.zeros(3), none, high, 81).tolist() == [1, 60, 20]


def test_many_strata_and_labels():
    spreads = np.random.default_rng(1).gamma(0.5, size=10_000)
    none = np.zeros(len(spreads), np.int64)
    found = allocate(spreads, none, none + 5000, 1_000_000)
    assert found.sum() == 1_000_000
    assert np.abs(found - 1_000_000 * spreads / spreads.sum()).max() < 30


# what labels would tell


@given(st.lists(st.floats(1, 1e4), min_size=4, max_size=4))
def test_the_gradient_is_the_derivative(totals):
    totals = np.array(totals)

    def log_r(t):
        return np.log(t[0] / (t[0] + t[1])) + np.log((t[2] + t[3]) / t[2])

    for h in range(4):
        step = 1e-5 * totals[h] * (np.arange(4) == h)
        slope = (log_r(totals + step) - log_r(totals - step)) / (2 * step[h])
        assert gradient(totals)[h] == pytest.approx(slope, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("measure", ["rfpr", "rrecall"])
def test_the_variance_by_hand(measure):
    strata = stratify(deployed(), RATES)
    size = np.array(list(SIZES.values()))
    p = np.array(list(RATES.values())) if measure == "rfpr" else 1 - np.array(list(RATES.values()))
    n, t = np.array([40, 20, 35, 25]), size * p
    g = gradient(t)
    labels = (g**2 * size**2 * p * (1 - p) / n * (1 - n / size)).sum()
    counts = 1 / t[0] - 1 / (t[0] + t[1]) + 1 / t[2] - 1 / (t[2] + t[3])
    found = precision(strata, measure)
    assert found.variance(n) == pytest.approx(labels + counts, rel=1e-12)
    assert found.error(size) == pytest.approx(np.sqrt(counts), rel=1e-12)
    assert found.spreads == pytest.approx(np.abs(g) * size * np.sqrt(p * (1 - p)), rel=1e-12)
    assert np.isnan(found.error(np.array([40, 0, 35, 25])))


def test_strata_inside_cells_keep_their_own_variance():
    rng = np.random.default_rng(3)
    log = deployed()
    sure = rng.random(len(log)) < 0.6
    names = np.char.add(np.array(CELLS)[log.cell], np.where(sure, " sure", " unsure"))
    rates = {name: 0.02 if " sure" in name else 0.4 for name in set(names)}
    found = precision(stratify(deployed(strata=names), rates), "rfpr")
    strata = stratify(deployed(strata=names), rates)
    g = gradient((strata.sizes * strata.rates).sum(axis=0))
    of_cell = np.array([CELLS.index(name[:3]) for name in strata.names])
    p = np.array([rates[name] for name in strata.names])
    assert found.spreads == pytest.approx(
        np.abs(g[of_cell]) * strata.size * np.sqrt(p * (1 - p)), rel=1e-9
    )


@pytest.mark.parametrize("across", [False, True], ids=["cells", "strata across cells"])
@pytest.mark.parametrize("target", ["rfpr", "rrecall"])
def test_the_expected_error_is_that_of_many_draws(target, across):
    sizes = {name: 8 * n for name, n in SIZES.items()}
    truth = truths(sizes)
    third = np.where(np.arange(len(truth)) % 3, "most", "some")
    log = deployed(sizes, strata=third if across else None)
    rates = {h: (truth[log.cell == k] == 0).mean() for k, h in enumerate(CELLS)}
    found = []
    for seed in range(200):
        rows = select(log, 1200, target, seed=seed, rates=rates)
        chosen = (rows.items["state"] == "chosen").to_numpy()
        weight = chosen / rows.items["inclusion_probability"].to_numpy()
        found.append(log_ratio(truth, log, target == "rrecall", weight))
    row = rows.expected.filter(pl.col("measure") == target).row(0, named=True)
    labels = np.sqrt(row["after"] ** 2 - row["all"] ** 2)
    assert np.std(found) == pytest.approx(labels, rel=0.12)
    truly = log_ratio(truth, log, target == "rrecall", np.ones(len(log)))
    assert np.mean(found) == pytest.approx(truly, abs=4 * labels / np.sqrt(200) + labels**2)


def test_each_target_is_surest_by_its_own_plan():
    log = deployed({name: 10 * n for name, n in SIZES.items()})
    errors = {t: select(log, 300, t, rates=RATES).expected for t in ("rrecall", "rfpr", "both")}
    for row, measure in enumerate(("rrecall", "rfpr")):
        by = {t: found["after"][row] for t, found in errors.items()}
        assert by[measure] < by["both"] < max(by.values())
        assert by[measure] < errors[measure]["proportional"][row]


def test_both_is_the_least_sum_of_relative_variances():
    log = deployed({"11A": 9, "10A": 8, "11B": 9, "01B": 7})
    strata, budget = stratify(log, RATES), 16
    size = strata.size
    every = [np.array(n) for n in product(*(range(1, s + 1) for s in size)) if sum(n) == budget]
    kinds = [precision(strata, measure) for measure in ("rrecall", "rfpr")]
    values = np.array([[kind.variance(n) for n in every] for kind in kinds])
    sums = (values / values.min(axis=1, keepdims=True)).sum(axis=0)
    found = select(log, budget, "both", floor=1, rates=RATES).table["chosen"].to_numpy()
    [place] = [i for i, n in enumerate(every) if (n == found).all()]
    assert sums[place] == pytest.approx(sums.min(), rel=1e-12)


# the draw


def test_what_is_chosen():
    found = select(deployed(), 120, rates=RATES)
    assert found.rows.columns == ["id", "cell", "inclusion_probability"]
    assert found.rows.height == found.table["chosen"].sum() == 120
    assert found.rows["id"].is_sorted()
    counts = found.rows["cell"].value_counts().sort("cell").rows()
    assert counts == sorted(found.table.select("stratum", "chosen").rows())
    assert found.relabelled.is_empty()
    assert found.items["state"].value_counts().sort("state").rows() == [
        ("chosen", 120),
        ("left", 580),
    ]
    assert (
        found.table["probability"].to_list()
        == (found.table["chosen"] / found.table["size"]).to_list()
    )
    assert found.signature == "target:rfpr|budget:120|floor:10|seed:0|rates:" + "+".join(
        f"{name}={RATES[name]}" for name in sorted(RATES)
    )
    assert select(deployed(), 9, "both").signature == "target:both|budget:9|floor:10|seed:0"


def test_labelled_items_are_never_chosen_again():
    log = deployed(label=some_labelled(7, truths()))
    found = select(log, 200)
    ids = found.rows["id"].to_list()
    assert not set(ids) & set(log.ids[log.labelled])
    assert found.relabelled["id"].to_list() == log.ids[log.labelled].tolist()


def test_the_same_seed_gives_the_same_items_and_another_gives_others():
    one, two = (select(deployed(), 100, seed=4) for _ in range(2))
    assert one.items.equals(two.items)
    assert one.table.equals(two.table)
    assert not one.items.equals(select(deployed(), 100, seed=5).items)


def test_a_larger_budget_keeps_the_items_of_a_smaller_one():
    few, many = (set(select(deployed(), n, rates=RATES).rows["id"]) for n in (100, 101))
    assert few < many


@given(st.integers(0, 1000), st.integers(1, 300))
@settings(max_examples=25)
def test_inclusion_probabilities_sum_to_the_labels(seed, budget):
    log = deployed(label=some_labelled(5, truths()))
    found = select(log, budget, "both", seed=seed)
    total = int(log.labelled.sum()) + budget
    assert found.items["inclusion_probability"].sum() == pytest.approx(total)


def test_each_item_is_chosen_as_often_as_its_probability_says():
    log = deployed({"11A": 30, "10A": 12, "11B": 25, "01B": 15})
    draws = 800
    counts, totals = np.zeros(len(log)), []
    value = np.random.default_rng(0).normal(size=len(log))
    for seed in range(draws):
        found = select(log, 40, floor=3, seed=seed, rates=RATES).items
        chosen = (found["state"] == "chosen").to_numpy()
        p = found["inclusion_probability"].to_numpy()
        counts += chosen
        totals.append((value * chosen / p).sum())
    z = (counts - draws * p) / np.sqrt(draws * p * (1 - p))
    assert np.abs(z).max() < 4.5
    assert 0.7 < z.std() < 1.3
    assert abs(np.mean(totals) - value.sum()) < 4 * np.std(totals) / np.sqrt(draws)


def test_earlier_labels_and_new_ones_have_a_joint_probability():
    """Without a column: both draws together are a simple random sample of the stratum."""
    draws, sizes = 400, {"11A": 40, "10A": 20, "11B": 40, "01B": 20}
    truth, counts = truths(sizes), np.zeros(120)
    cells = deployed(sizes).cell
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        earlier = np.concatenate(
            [rng.choice(np.flatnonzero(cells == h), 6, replace=False) for h in range(4)]
        )
        label = np.full(120, np.nan)
        label[earlier] = truth[earlier]
        found = select(deployed(sizes, label), 30, seed=seed + 9000, rates=RATES).items
        counts += (found["state"] != "left").to_numpy()
        p = found["inclusion_probability"].to_numpy()
    labels = np.bincount(cells, (found["state"] != "left").to_numpy())
    assert (p == (labels / np.bincount(cells))[cells]).all()
    z = (counts - draws * p) / np.sqrt(draws * p * (1 - p))
    assert np.abs(z).max() < 4.5


def test_an_inclusion_column_joins_both_draws_without_bias():
    """Poisson sampling first, with unequal probabilities; then a plan that does not know it."""
    sizes = {"11A": 80, "10A": 40, "11B": 80, "01B": 40}
    truth, first = truths(sizes), 0.1 + 0.5 * (np.arange(240) % 7) / 7
    log, shares = deployed(sizes), []
    for seed in range(400):
        known = np.random.default_rng(seed).random(240) < first
        label = np.where(known, truth, np.nan)
        found = select(
            deployed(sizes, label, inclusion=first), 60, seed=seed + 9000, rates=RATES
        ).items
        weight = (found["state"] != "left").to_numpy() / found["inclusion_probability"].to_numpy()
        shares.append(np.bincount(log.cell, weight * truth) / np.bincount(log.cell, weight))
    true = np.bincount(log.cell, truth) / np.bincount(log.cell)
    z = (np.mean(shares, axis=0) - true) / (np.std(shares, axis=0) / np.sqrt(400))
    assert np.abs(z).max() < 4


def test_the_joint_probability_with_an_inclusion_column():
    label = some_labelled(4, truths())
    inclusion = np.where(np.arange(len(label)) % 3, 0.25, 0.4)
    found = select(deployed(label=label, inclusion=inclusion), 90)
    now = {
        row["stratum"]: row["chosen"] / (row["size"] - row["labelled"])
        for row in found.table.iter_rows(named=True)
    }
    joint = [
        1 - (1 - a) * (1 - now[cell])
        for a, cell in zip(inclusion, found.items["cell"], strict=True)
    ]
    assert found.items["inclusion_probability"].to_numpy() == pytest.approx(joint, abs=1e-14)
    assert (
        "the inclusion probabilities of 175 earlier labels have grown: they are written after the "
        "items to label, so that both are scored together"
    ) in found.problems


# floors and budgets


def test_the_floor_counts_earlier_labels():
    log = deployed(label=some_labelled(10, truths()))
    found = select(log, 60, "rrecall", floor=26)
    assert (found.table["labelled"] + found.table["chosen"]).min() == 26


def test_a_small_stratum_is_labelled_whole():
    found = select(deployed({**SIZES, "10A": 4}), 100, floor=20)
    assert found.table.row(1, named=True)["chosen"] == 4
    assert found.table.row(1, named=True)["probability"] == 1
    assert found.table["chosen"].sum() == 100


def test_a_budget_below_the_floors_lowers_them_evenly():
    found = select(deployed(), 30, rates=RATES)
    assert found.table["chosen"].min() == 7
    assert found.table["chosen"].sum() == 30
    assert (
        "the budget does not give each of the 4 strata a floor of 10 labels: it is lowered to 7"
    ) in found.problems
    one = select(deployed(), 2, rates=RATES)
    assert "it is lowered to 0" in one.problems[0]
    assert np.isnan(one.expected["after"][1])
    assert one.rows.height == 2


def test_a_budget_above_all_takes_all():
    log = deployed(label=some_labelled(2, truths()))
    found = select(log, 1000)
    assert found.rows.height == 350
    assert (found.items["inclusion_probability"] == 1).all()
    assert (
        "the budget of 1000 labels is more than the 350 items to choose from: all are chosen"
    ) in found.problems
    assert found.expected["after"].to_list() == found.expected["all"].to_list()


def test_an_arm_that_disagrees_never_needs_no_more_than_the_floor():
    found = select(deployed({**SIZES, "10A": 0}), 100, rates=RATES)
    assert found.table.select("stratum", "chosen", "gradient").rows()[0] == ("11A", 10, 0)


# what is assumed


def rates_of(log, rates=None):
    found = select(log, 50, rates=rates).table
    return dict(found.select("stratum", "rate").rows()), found["source"].to_list()


def test_rates_of_labels_have_half_a_label_of_each_kind_added():
    label = np.full(700, np.nan)
    label[:8] = [0, 1, 1, 1, 1, 1, 1, 1]
    label[300:302] = 0
    label[360:364] = 1
    label[610:611] = 0
    found, sources = rates_of(deployed(label=label))
    assert found == pytest.approx({"11A": 1.5 / 9, "10A": 2.5 / 3, "11B": 0.1, "01B": 0.75})
    assert sources == ["labels"] * 4


def test_labels_are_weighted_by_inverse_inclusion_probability():
    label = np.full(700, np.nan)
    label[:4] = [0, 0, 1, 1]
    inclusion = np.full(700, 0.5)
    inclusion[:2] = 0.1
    found, _ = rates_of(deployed(label=label, inclusion=inclusion))
    assert found["11A"] == pytest.approx((4 * 20 / 24 + 0.5) / 5)


def test_cells_without_labels_take_the_machines_word():
    label = np.full(700, np.nan)
    label[300:303] = [0, 0, 1]
    log = deployed(label=label, machine=np.linspace(1, 0.5, 700))
    found, sources = rates_of(log)
    assert found["11A"] == pytest.approx(1 - log.machine[:300].mean())
    assert found["10A"] == pytest.approx(2.5 / 4)
    assert sources == ["machine", "labels", "machine", "machine"]
    assert (
        "rates of cells 11A, 11B, 01B come from the machine's probabilities; the plan is only as "
        "good as these"
    ) in select(log, 50).problems


def test_scores_of_a_machine_are_no_rates():
    log = deployed(machine=np.linspace(0, 50, 700))
    found, sources = rates_of(log)
    assert set(found.values()) == {0.5}
    assert set(sources) == {"nothing"}
    assert select(log, 50).problems == (
        "machine scores lie outside [0, 1]: rates are not computed from them; calibrate them first "
        "(truecost abba calibrate)",
        "no rates are known: one half is assumed for each cell; give the expected rates with "
        "--rates",
    )
    assert select(log, 50, rates={"11A": 0.1, "01B": 0.2}).problems[1] == (
        "no rates are known of cells 10A, 11B: one half is assumed; give the expected rates with "
        "--rates"
    )


def test_given_rates_come_first():
    log = deployed(label=some_labelled(3, truths()))
    found, sources = rates_of(log, {"10A": 0.25, "11B": 0})
    assert found["10A"] == 0.25
    assert found["11B"] == pytest.approx(0.5 / 251)  # half an item: no rate is 0
    assert sources == ["labels", "given", "given", "labels"]


def test_parts_of_cells_lean_on_their_cell():
    label = np.full(700, np.nan)
    label[:6] = [0, 1, 1, 1, 1, 1]
    strata = np.array(["even", "odd"])[np.arange(700) % 2]
    found = stratify(deployed(label=label, strata=strata))
    cell = (1 + 0.5) / 7
    assert found.rates[0, 0] == pytest.approx((1 + cell) / 4)
    assert found.rates[1, 0] == pytest.approx((0 + cell) / 4)
    assert found.source == ["labels+nothing"] * 2


def test_strata_across_cells_warn_of_cells_with_few_labels():
    log = deployed({**SIZES, "10A": 8}, strata=np.full(648, "all"))
    found = select(log, 100, rates=RATES)
    assert (
        "cell 10A gets about 1.2 labels, fewer than 5: its share stays uncertain; raise the "
        "budget or the floor, or let strata follow the cells"
    ) in found.problems
    assert found.rows.columns == ["id", "cell", "stratum", "inclusion_probability"]


def test_what_is_said_of_earlier_labels_and_users():
    users = {"user": (np.arange(700) // 5,)}
    found = select(deployed(label=some_labelled(100, truths()), units=users), 100, floor=5)
    assert found.problems[-2:] == (
        "7 earlier labels count as a simple random sample of their strata and now have the "
        "probabilities of all items there: they are written after the items to label, so that "
        "both are scored together",
        "expected standard errors assume independent items: several items of a user make intervals "
        "wider",
    )
    fresh = select(deployed(inclusion=np.ones(700)), 100, rates=RATES)
    assert fresh.problems == (
        "no item has a label yet: the log's inclusion probabilities are not used",
    )


# bad requests


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget is 0: give a number at least 1"),
        ({"floor": -1}, "floor is -1: give a number at least 0"),
        ({"seed": -1}, "seed is -1: give a number at least 0"),
        ({"target": "recall"}, "choose one of rfpr, rrecall, both, fpr"),
        ({"rates": {"11A": 1.2}}, "rates 11A is 1.2: give a number at least 0 and at most 1"),
        ({"rates": {"11A": np.nan}}, "rates 11A is nan: give a finite number"),
        (
            {"rates": {"11A": 0.1, "11C": 0.1}},
            "rates: there is no cell 11C: name 11A, 10A, 11B, 01B$",
        ),
    ],
)
def test_requests_that_cannot_be_met(options, message):
    with pytest.raises(UsageError, match=message):
        select(deployed(), **{"budget": 50, **options})


def test_rates_of_strata_that_are_not_there():
    log = deployed(strata=np.array(["loud", "quiet"])[np.arange(700) % 2])
    with pytest.raises(UsageError, match="11A, 10A, 11B, 01B, or by stratum: loud, quiet"):
        select(log, 50, rates={"noisy": 0.5})


def test_a_log_with_every_label_says_what_to_expect_of_another_one():
    full = select(deployed(label=truths()), 50)
    assert full.rows.height == 50
    assert "every item has a label already" in full.problems[0]
    assert full.table["labelled"].sum() == 0
    assert set(full.table["source"]) == {"labels"}


def test_an_arm_in_which_the_models_never_agree():
    log = deployed({**SIZES, "11B": 0})
    with pytest.raises(InputError) as caught:
        select(log, 50)
    assert str(caught.value) == (
        "candidate: no item lies in 11B (collected by B, accepted by both), so rfpr is undefined "
        "whatever is labelled: collect more, or choose the target fpr"
    )
    found = select(log, 50, "fpr", rates=RATES)
    assert found.expected["after"].is_nan().to_list() == [True, True, False]


def test_inclusion_probabilities_are_needed_of_items_without_a_label():
    label, inclusion = some_labelled(2, truths()), np.full(700, 0.5)
    inclusion[[1, 3]], inclusion[5] = np.nan, 0.4
    with pytest.raises(InputError) as caught:
        select(deployed(label=label, inclusion=inclusion), 50)
    assert str(caught.value) == (
        "candidate: 2 items without a label (utt00001, utt00003) have no inclusion probability, "
        "but they could have been chosen earlier: give the probability with which each item of the "
        "log was chosen (truecost abba select --every writes it), or leave the column out if the "
        "labels of each stratum are a simple random sample of the stratum"
    )
    inclusion[[1, 3]] = 1
    inclusion[0] = 1  # has a label
    with pytest.raises(InputError, match=r"have the inclusion probability 1, but then they would"):
        select(deployed(label=label, inclusion=inclusion), 50)


def test_probabilities_of_labels_alone_are_those_of_a_random_sample_where_they_are_alike():
    """As a file of labels has them; the labels that are there count, whatever was meant."""
    label = some_labelled(4, truths())
    among = np.where(np.isnan(label), np.nan, 0.2)
    found, plain = (select(deployed(label=label, inclusion=p), 90) for p in (among, None))
    assert found.items.equals(plain.items)
    assert found.problems == plain.problems
    among[8] = 0.3
    with pytest.raises(InputError, match="525 items without a label"):
        select(deployed(label=label, inclusion=among), 90)
