"""What is odd about a deployment: honest logs are not doubted, and those with a known fault are."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accepted
from truecost.formats import Table
from truecost.tasks.abba.columns import (
    LogOptions,
    checks,
    is_far_below,
    load,
    plausibility_warnings,
)
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.selecting import select

KEYS = dict(pair.split("=") for pair in accepted.MAP.split(","))
A, B = accepted.THRESHOLDS


@pytest.fixture(scope="module")
def honest():
    """A log of 6,000 streams, all labelled."""
    return accepted.collected(accepted.streams(6000)).drop("m")


def loaded(frame, threshold_a=A, threshold_b=B, **more):
    return load(Table("log", frame), LogOptions(KEYS | more, threshold_a, threshold_b))


def of_cells(sizes, **columns):
    """A deployment by the sizes of its cells."""
    cell = np.repeat(np.arange(4), sizes)
    n = len(cell)
    given = {"label": np.full(n, np.nan), **columns}
    return Deployment(
        "d", np.arange(n).astype(str), (cell // 2).astype(np.uint8), cell % 2 == 0, **given
    )


def test_honest_logs_are_not_doubted(honest):
    assert loaded(honest).problems == ()
    for seed in range(20):
        log = accepted.collected(accepted.streams(2000, seed=seed))
        assert loaded(log.drop("m")).problems == ()


# thresholds


def test_a_threshold_far_below_what_was_collected_is_doubted(honest):
    least = honest.filter(arm="B")["sb"].min()
    said, of_b = loaded(honest, threshold_b=0).problems
    assert of_b.startswith("B accepts all that A collected: ")
    own = honest.filter(arm="B").height
    assert said == (
        f"B's threshold is 0, but none of the {own} items that it collected scores below {least}: "
        f"is 0 the deployed one? (--threshold-b)"
    )
    [said] = loaded(honest, threshold_a=0.4).problems
    assert said.startswith("A's threshold is 0.4, but none of the ")
    rounded = honest.with_columns(pl.col("sa", "sb").round(2))
    assert loaded(rounded, 0.5, 0.595).problems == ()
    assert len(loaded(rounded, 0.45, 0.55).problems) == 2
    told = [c for c in checks(Table("log", honest), LogOptions(KEYS, 0.4, B)) if c.name == "log"]
    assert [c.state for c in told] == ["warning"]


DENSITIES = {  # of scores above a threshold at 0, and how often at most it may be doubted
    "flat": (lambda r, n: r.random(n), 0),
    "exponential": (lambda r, n: r.exponential(size=n), 0),
    "linear": (lambda r, n: r.random(n) ** (1 / 2), 0.001),
    "square": (lambda r, n: r.random(n) ** (1 / 3), 0.004),
    "saturated": (lambda r, n: np.tanh(r.exponential(5, n)), 0),
    "two decimals": (lambda r, n: np.ceil(r.random(n) * 100) / 100, 0),
    "five values": (lambda r, n: r.integers(1, 6, n) / 5, 0),
    "one value": (lambda r, n: np.ones(n), 0),
}


@pytest.mark.parametrize(("draw", "most"), DENSITIES.values(), ids=list(DENSITIES))
@pytest.mark.parametrize("n", [100, 2000])
def test_thresholds_of_honest_scores_are_hardly_ever_doubted(draw, most, n):
    r = np.random.default_rng(5)
    assert np.mean([is_far_below(0.0, draw(r, n)) for _ in range(3000)]) <= most


def test_a_gap_of_a_tenth_is_found_from_some_hundred_items_on():
    r = np.random.default_rng(6)
    assert np.mean([is_far_below(-0.2, r.random(1000)) for _ in range(500)]) > 0.99
    assert np.mean([is_far_below(-0.6, r.random(100)) for _ in range(500)]) > 0.9
    assert not is_far_below(-9.0, r.random(99))


# swapped arms or columns


def test_swapped_arms_and_columns_are_doubted_without_thresholds(honest):
    swapped = honest.with_columns(arm=pl.col("arm").replace({"A": "B", "B": "A"}))
    crossed = honest.rename({"sa": "sb", "sb": "sa"})
    for log in (swapped, crossed):
        *notes, said = loaded(log, None, None).problems
        assert all("so it cannot be checked that" in note for note in notes)
        assert said.startswith("B accepts ")
        assert " and A accepts " in said
        assert said.endswith(": are the arms, or the columns of scores, swapped?")
    assert len(loaded(honest, None, None).problems) == 2


def test_one_model_that_accepts_all_may_be_the_same_at_a_lower_threshold():
    assert plausibility_warnings(of_cells([1000, 9, 900, 100])) == (
        "B accepts nearly all that A collected (99.11%): unless it is the same model at a lower "
        "threshold, are the arms, or the columns of decisions, swapped?",
    )
    [said] = plausibility_warnings(of_cells([900, 100, 50, 0]))
    assert said.startswith("A accepts all that B collected: unless it is")
    assert plausibility_warnings(of_cells([990, 10, 49, 0])) == ()


# labels


@pytest.mark.parametrize("kind", [0, 1])
def test_labels_that_are_all_alike_are_doubted(kind):
    label = np.full(80, np.nan)
    label[::4] = kind
    [said] = plausibility_warnings(of_cells([20] * 4, label=label))
    assert said == f"all 20 labels are {kind}: are the labels of the other class missing?"
    label[0] = np.nan
    assert plausibility_warnings(of_cells([20] * 4, label=label)) == ()
    label[:2] = [1 - kind, kind]
    assert plausibility_warnings(of_cells([20] * 4, label=label)) == ()


def test_strata_without_labels_are_named():
    strata = np.array(["calm", "loud"])[np.arange(80) % 2]
    label = np.where(strata == "calm", np.arange(80) % 4 / 2, np.nan)
    assert plausibility_warnings(of_cells([20] * 4, label=label, strata=strata)) == (
        "1 stratum has items but no label (loud): estimates use labels of other strata for them",
    )
    assert plausibility_warnings(of_cells([20] * 4, strata=strata)) == ()
    assert (
        plausibility_warnings(of_cells([20] * 4, label=label)) == ()
    )  # cells have labels; checks say where not


def labelled(deployment, seed=0, budget=300):
    """The deployment with the labels that a choice of items asks for."""
    found = select(deployment, budget, seed=seed)
    items = found.items
    chosen = (items["state"] == "chosen").to_numpy()
    truth = np.random.default_rng(seed).integers(0, 2, len(deployment)).astype(float)
    return replace(
        deployment,
        label=np.where(chosen, truth, np.nan),
        inclusion=items["inclusion_probability"].to_numpy(),
    )


def without(deployment, rows):
    label = deployment.label.copy()
    label[rows] = np.nan
    return replace(deployment, label=label)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_labels_that_were_dropped_contradict_their_probabilities(seed):
    whole = labelled(of_cells([800, 300, 700, 400]), seed)
    assert plausibility_warnings(whole) == ()
    false = whole.label == 0
    half = without(whole, false)  # the labels of false accepts were lost
    one_kind, said = plausibility_warnings(half)
    assert one_kind.startswith("all ")
    assert said.startswith(
        "the labels and their inclusion probabilities do not fit the number of items"
    )
    assert said.endswith(
        ". Rows of labels are missing, or the probabilities are those of another choice"
    )


def test_how_far_the_labels_are_off_is_said():
    label = np.full(1000, np.nan)
    label[:50] = np.arange(50) % 2  # of 200 with the probability 1/4 in cell 11A
    label[200::2] = 1
    inclusion = np.where(np.arange(1000) < 200, 0.25, 0.5)
    whole = of_cells([200, 300, 300, 200], label=label, inclusion=inclusion)
    assert plausibility_warnings(whole) == ()
    [said] = plausibility_warnings(without(whole, np.arange(30)))
    assert "80 items in 11A, which has 200" in said
    [said] = plausibility_warnings(replace(whole, inclusion=np.where(inclusion < 0.5, 0.1, 0.5)))
    assert "500 items in 11A, which has 200" in said
    strata = np.repeat(["all"], 1000)  # 120 of 1000 are within what chance may do
    assert plausibility_warnings(replace(without(whole, np.arange(30)), strata=strata)) == ()


def test_items_chosen_one_by_one_are_hardly_ever_doubted():
    r = np.random.default_rng(3)
    sizes, doubted = [400, 100, 300, 200], 0
    chance = np.repeat([0.1, 0.5, 0.2, 0.9], sizes)
    for _ in range(1000):
        label = np.where(r.random(1000) < chance, r.integers(0, 2, 1000), np.nan)
        doubted += bool(plausibility_warnings(of_cells(sizes, label=label, inclusion=chance)))
    assert doubted <= 5
