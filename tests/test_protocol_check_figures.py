"""The figures behind the findings of a split check, each computed again in another way."""

import numpy as np
import polars as pl
import pytest

from truecost.core.weights import Plan
from truecost.formats.table import Table
from truecost.kernels.points import square_distances
from truecost.protocol.checking import check
from truecost.protocol.copies import Scaled, close_to_another
from truecost.protocol.samples import samples_of


def read(rows, **columns):
    table = Table("split.csv", pl.DataFrame(rows), first_line=2)
    return samples_of(table, {"set": "set", **columns}, ())


def shifted(found):
    """Findings about the prevalence of what is judged."""
    return [f for f in found.findings if f.rule == "prevalence-shift"]


@pytest.mark.parametrize(("deviations", "fires"), [(0.0, False), (2.25, False), (3.3, True)])
def test_five_classes_share_the_level(deviations, fires):
    """2.25 standard errors are outside of a 95% interval, and inside of one of 99%."""
    total, prior = 1000, 0.2
    first = round(total * prior + deviations * np.sqrt(total * prior * (1 - prior)))
    rest = [(total - first) // 4 + (k < (total - first) % 4) for k in range(4)]
    labels = [*np.repeat([*"abcde"], [first, *rest]), *"abcde" * 20]
    sets = ["eval"] * total + ["train"] * 100
    rows = {"id": [f"u{k}" for k in range(total + 100)], "label": labels, "set": sets}
    found = check(read(rows), priors=dict.fromkeys("abcde", prior), plan=Plan(4000))
    assert bool(shifted(found)) is fires


def test_prevalence_is_resampled_by_the_fewest_groups():
    speakers = np.repeat(np.arange(40), 10)
    rows = {
        "id": [f"u{k}" for k in range(400)],
        "label": (np.arange(400) % 10 < 8).astype(int),
        "session": [f"{s}.{k % 5}" for k, s in enumerate(speakers)],
        "spk": [f"s{s}" for s in speakers],
        "set": ["eval"] * 300 + ["train"] * 100,
    }
    for columns in ("session+spk", "spk+session"):
        [finding] = shifted(check(read(rows, group=columns), prior=0.1, plan=Plan(200)))
        assert "95% intervals over 30 units (spk)" in finding.message


def test_the_limit_itself_is_near_and_what_is_just_beyond_is_not():
    random = np.random.default_rng(0)
    tried = 0
    for _ in range(200):
        scaled = Scaled.from_features(random.normal(size=(30, 2)))
        codes = np.array([0] * 29 + [1])
        _, distance = scaled.nearest(29, codes == 0)
        squares = np.zeros(30)
        square_distances(scaled.values, 29, squares)
        if distance**2 != squares[:29].min() or distance >= 1:
            continue  # a limit that cannot be squared back
        tried += 1
        assert close_to_another(scaled, codes, distance)[29]
        assert not close_to_another(scaled, codes, distance * (1 - 1e-9))[29]
    assert tried > 20


def test_near_samples_far_from_all_others_are_found_though_float32_cannot_tell_them_apart():
    """Far out, the float32 coordinates of two near samples differ by more than the limit."""
    random = np.random.default_rng(1)
    for _ in range(20):
        features = random.normal(size=(4000, 2))
        features[0] = (3000 + random.random(), -3000 - random.random())
        features[1] = features[0] + 1e-3 * random.random(2)
        scaled, codes = Scaled.from_features(features), np.arange(4000) % 2
        _, distance = scaled.nearest(0, codes == 1)
        assert close_to_another(scaled, codes, distance * (1 + 1e-6))[:2].all()


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.3])
def test_the_bound_by_chance_is_the_least_of_chernoff_and_above_what_is_drawn(limit):
    random = np.random.default_rng(2)
    mixed = random.normal(size=(3000, 6)) @ random.normal(size=(6, 6))
    scaled = Scaled.from_features(mixed)
    ends = scaled.values[:, None] - scaled.values[None, :300]
    squares = np.square(ends).sum(axis=-1)[~np.eye(3000, 300, dtype=bool)]
    assert squares.mean() == pytest.approx(1, rel=0.1)
    shares = np.linalg.eigvalsh(np.cov(scaled.values.T, bias=True))
    shares /= shares.sum()
    s = np.logspace(-3, 8, 200_001)
    exponents = s * limit**2 - 0.5 * sum(np.log1p(2 * s * v) for v in shares)
    least = np.exp(exponents.min())
    assert scaled.by_chance(1000, limit) == pytest.approx(1000 * least, rel=1e-4)
    assert (squares <= limit**2).mean() <= least


def test_pairs_that_may_be_near_by_chance_are_counted_once_and_across_sets_only():
    """The number in the message is that of the bound for all pairs of samples in two sets."""
    random = np.random.default_rng(3)
    sizes = {"train": 200, "dev": 100, "eval": 50}
    names = np.repeat([*sizes], [*sizes.values()])
    rows = {"id": [f"u{k}" for k in range(350)], "set": names}
    features = random.normal(size=(350, 2))
    found = check(read(rows), features=features, plan=Plan(10))
    [finding] = [f for f in found.findings if f.rule == "near-copies"]
    assert finding.kind == "warning"
    pairs = 200 * 100 + 200 * 50 + 100 * 50
    told = float(finding.message.partition("up to ")[2].partition("; up to ")[2].split()[0])
    assert told == pytest.approx(Scaled.from_features(features).by_chance(pairs, 0.1), rel=1e-3)


@pytest.mark.parametrize(("chance", "kind"), [(0.0499, "leak"), (0.05, "warning")])
def test_one_pair_in_twenty_by_chance_is_too_many_for_a_proof(chance, kind, monkeypatch):
    monkeypatch.setattr(Scaled, "by_chance", lambda *_: chance)
    rows = {"id": [*"abcdef"], "set": ["train"] * 3 + ["eval"] * 3}
    features = np.array([[0.0, 0], [5, 1], [1, 9], [0, 1e-6], [9, 3], [4, 4]])
    found = check(read(rows), features=features, plan=Plan(10)).findings
    assert [f.kind for f in found if f.rule == "near-copies"] == [kind]


def test_a_limit_of_0_finds_equal_rows_only():
    features = np.random.default_rng(4).normal(size=(200, 3))
    features[150:160] = features[:10]
    features[160] = np.nextafter(features[20], 9)
    found = close_to_another(Scaled.from_features(features), np.arange(200) // 100, 0.0)
    assert np.flatnonzero(found).tolist() == [*range(10), *range(150, 160)]


@pytest.mark.parametrize(("groups", "few"), [(19, True), (20, False)])
def test_twenty_groups_are_enough(groups, few):
    speakers = np.repeat(np.arange(groups), 10)
    rows = {
        "id": [f"u{k}" for k in range(20 * groups)],
        "spk": [*(f"e{s}" for s in speakers), *(f"t{s}" for s in speakers)],
        "set": ["eval"] * len(speakers) + ["train"] * len(speakers),
    }
    found = check(read(rows, group="spk"), plan=Plan(10)).findings
    assert [f.rule for f in found] == ["too-few-units"] * 2 * few


@pytest.mark.parametrize(("samples", "few"), [(9, True), (10, False)])
def test_ten_samples_of_a_class_are_enough(samples, few):
    labels = ["yes"] * samples + ["no"] * 30
    rows = {
        "id": [f"u{k}" for k in range(2 * len(labels))],
        "label": labels * 2,
        "set": ["eval"] * len(labels) + ["train"] * len(labels),
    }
    found = check(read(rows), plan=Plan(10)).findings
    assert [f.rule for f in found if f.rule == "too-few-units"] == ["too-few-units"] * 2 * few
