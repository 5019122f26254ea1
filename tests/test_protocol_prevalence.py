"""Shares of classes: intervals that hold for rare classes, many classes and few groups."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from truecost.core.weights import Plan
from truecost.formats.table import Table
from truecost.protocol.checking import check
from truecost.protocol.coverage import Shares
from truecost.protocol.samples import Samples, samples_of


def drawn(rng, groups, each, prior, alike):
    """Classes and groups of samples; shares of a group are near the prior where `alike` is high."""
    shares = rng.dirichlet(np.array(prior) * alike, groups) if alike else [prior] * groups
    labels = np.concatenate([rng.choice(len(prior), each, p=of) for of in shares])
    return labels, np.repeat(np.arange(groups), each)


def rules(labels, groups, sets, priors):
    """The rules about prevalence that a check finds broken."""
    rows = {"id": np.arange(len(labels)), "label": labels, "spk": groups, "set": sets}
    table = Table("split.csv", pl.DataFrame(rows).cast(pl.String), first_line=2)
    samples = samples_of(table, {"set": "set", "group": "spk"})
    found = check(samples, priors=priors, plan=Plan(300)).findings
    return {f.rule for f in found if "as frequent" in f.message}


@pytest.mark.parametrize(
    ("groups", "each", "prior", "alike"),
    [
        (150, 1, [0.98, 0.02], 0),  # a class that is rare: 3 samples are expected
        (40, 5, [0.05] * 20, 0),  # many classes
        (30, 10, [0.4, 0.3, 0.2, 0.05, 0.03, 0.02], 5),  # each group has its own mixture
        (4, 20, [0.5, 0.5], 2),  # few groups
    ],
)
def test_what_is_drawn_as_use_is_seldom_fires(groups, each, prior, alike):
    """Percentiles of the replicates fire in a tenth to more than half of these cases."""
    rng = np.random.default_rng(0)
    fired = {"prevalence-shift": 0, "dev-unlike-eval": 0}
    for _ in range(60):
        sides = [drawn(rng, groups, each, prior, alike) for _ in range(2)]
        labels = np.concatenate([labels for labels, _ in sides])
        of_groups = np.concatenate([f"{k}." + of.astype(str) for k, (_, of) in enumerate(sides)])
        sets = np.repeat(["dev", "eval"], groups * each)
        there = np.unique(labels)
        priors = {str(k): prior[k] for k in there} if len(there) == len(prior) else {}
        for rule in rules(labels, of_groups, sets, priors):
            fired[rule] += 1
    assert max(fired.values()) <= 8  # 3 are meant, and 8 have a probability of 0.01


@pytest.mark.parametrize("shift", [0.0, 0.25])
def test_dev_and_eval_that_differ_are_told(shift):
    rng = np.random.default_rng(1)
    sides = [drawn(rng, 40, 10, [p, 1 - p], 10) for p in (0.3, 0.3 + shift)]
    of_groups = np.concatenate([f"{k}." + of.astype(str) for k, (_, of) in enumerate(sides)])
    labels = np.concatenate([labels for labels, _ in sides])
    found = rules(labels, of_groups, np.repeat(["dev", "eval"], 400), {"0": 0.3, "1": 0.7})
    assert found == ({"prevalence-shift", "dev-unlike-eval"} if shift else set())


def shares_of(counts, of_groups, parts=1):
    """Shares of classes of which each group has so many samples, in parts of equal groups."""
    labels = np.concatenate([np.repeat([*"abc"], row) for row in counts])
    sizes = counts.sum(axis=1)
    groups = np.repeat(of_groups, sizes)
    samples = Samples.from_arrays(labels=labels, groups={"spk": groups})
    every, first = np.arange(len(labels)), sizes[: len(counts) // 2].sum()
    rows = [every] if parts == 1 else [every[:first], every[first:]]
    return Shares.count(samples, rows, Plan(800))


def test_intervals_are_those_of_clopper_and_pearson_for_what_groups_are_worth():
    rng = np.random.default_rng(2)
    counts = rng.multinomial(12, [0.7, 0.3, 0.0], 25)
    counts[:5] = [12, 0, 0]
    labels = ["a", "b", "c"]
    found = shares_of(np.vstack([counts, [[0, 0, 1]]]), [f"s{k}" for k in range(26)])
    assert list(found.classes) == labels
    level = 0.99
    size, units = counts.sum() + 1, 26
    for k, share in enumerate(found.points[0]):
        spread = found.replicates[:, 0, k].var() * units / (units - 1)
        ratio = stats.norm.ppf(0.995) / stats.t.ppf(0.995, units - 1)
        worth = min(size, share * (1 - share) / spread * ratio**2)
        x = share * worth
        ends = stats.beta.ppf(0.005, x, worth - x + 1), stats.beta.ppf(0.995, x + 1, worth - x)
        np.testing.assert_allclose(found.ends(0, level)[:, k], ends, rtol=1e-9)


def test_a_class_of_which_there_is_none_may_still_be_as_frequent_as_groups_allow():
    counts = np.array([[5, 5, 0]] * 20 + [[5, 4, 1]] * 20)
    found = shares_of(counts, [f"s{k}" for k in range(40)], parts=2)
    assert found.points[0, 2] == 0
    low, high = found.ends(0, 0.95)[:, 2]
    assert (low, high) == (0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert found.ends(1, 0.95)[0, 2] > 0
    both = found.apart(0.95)
    assert (both[0] <= both[1]).all()
    back = Shares(found.classes, found.points[::-1], found.replicates[:, ::-1], "spk", 40,
                  found.sizes[:, ::-1]).apart(0.95)  # fmt: skip
    np.testing.assert_allclose(back, -both[::-1], atol=1e-12)


def test_groups_that_are_in_both_parts_tell_more_of_their_difference():
    rng = np.random.default_rng(3)
    often = rng.integers(0, 9, 30)  # a habit of each speaker, the same in both parts
    counts = np.array([[n, 8 - n, 1] for n in [*often, *often]])
    names = [f"s{k}" for k in range(30)]
    same = shares_of(counts, [*names, *names], parts=2).apart(0.95)[:, 0]
    other = shares_of(counts, [*names, *(f"t{k}" for k in range(30))], parts=2).apart(0.95)[:, 0]
    assert np.ptp(same) < 0.5 * np.ptp(other)
    assert same[0] <= 0 <= same[1]


def test_one_group_has_no_interval():
    labels, sets = ["a"] * 30 + ["b"] * 30, ["dev"] * 30 + ["eval"] * 30
    assert not rules(labels, ["x"] * 30 + ["y"] * 30, sets, {"a": 0.9, "b": 0.1})
