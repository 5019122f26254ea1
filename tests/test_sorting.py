"""Sorting gives one order, whichever way it goes."""

from dataclasses import replace

import numpy as np
import pytest

import truecost as tc
from truecost.kernels import order as kernels
from truecost.kernels.order import sort_trials
from truecost.tasks.trials import counting
from truecost.tasks.trials.scoring import frozen

RNG = np.random.default_rng(11)


@pytest.fixture(params=["few", "many"], autouse=True)
def road(request, monkeypatch):
    """Few trials are sorted without a kernel."""
    monkeypatch.setattr(kernels, "FEW", 1 << 16 if request.param == "few" else 0)


@pytest.mark.parametrize("kind", ["plain", "equal as 32-bit floats", "rounded", "constant"])
def test_64_bit_scores_are_sorted_stably(kind):
    scores = RNG.normal(size=5000)
    if kind == "equal as 32-bit floats":
        scores = 1 + 1e-12 * np.round(scores, 1)
    elif kind != "plain":
        scores = np.round(scores, 1) * (kind == "rounded") + 1 / 3
    slots = np.arange(5000, dtype=np.int32).reshape(-1, 1)
    codes = (scores > 0).astype(np.uint8)
    weights = RNG.random(5000)
    found = sort_trials(scores, slots, codes, weights)
    assert np.array_equal(found[0], np.sort(scores))
    order = found[1][:, 0]
    for given, sorted_ in zip((scores, codes, weights), (found[0], *found[2:]), strict=True):
        assert np.array_equal(given[order], sorted_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("scores", ["whole", "32 bits", "64 bits", "few ties"])
@pytest.mark.parametrize("units", [30, (1 << 24) + 30])
def test_no_order_of_rows_changes_a_byte(weighted, sides, scores, units):
    draws = np.random.default_rng(0)
    plain = draws.normal(size=500)
    made = {"whole": plain.round(), "32 bits": plain.round(1).astype(np.float32).astype(float),
            "64 bits": plain.round(1), "few ties": np.append(plain[:490], plain[:10])}  # fmt: skip
    slots = draws.integers(units - 20, units, (500, sides)).astype(np.int32)
    codes = draws.integers(0, 2, 500).astype(np.uint8)
    extra = draws.integers(1, 4, 500) / 3 if weighted else np.zeros(0)
    rows = made[scores], slots, codes, extra
    order = draws.permutation(500)
    one = sort_trials(*(column.copy() for column in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "FEW", 0 if kernels.FEW else 1 << 16)
        other_road = sort_trials(*(column.copy() for column in rows))
    assert [column.tobytes() for column in one] == [column.tobytes() for column in other_road]
    assert [column.dtype for column in one] == [column.dtype for column in other_road]
    places = kernels.order_of(*rows)
    taken = [column[places] if len(column) else column for column in rows]
    taken[0] += 0.0  # no two kinds of zero
    assert [column.tobytes() for column in one] == [column.tobytes() for column in taken]
    other = sort_trials(*(column[order] if len(column) else column for column in rows))
    assert [column.tobytes() for column in one] == [column.tobytes() for column in other]
    assert (np.diff(one[0]) >= 0).all()
    whole = sorted(zip(*(column.tolist() for column in rows if len(column)), strict=True))
    assert sorted(zip(*(column.tolist() for column in one if len(column)), strict=True)) == whole


@pytest.mark.parametrize("kind", ["llr", "posterior"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("units", ["speaker", "two sides", "strata", "trial", "rows"])
def test_a_subset_is_selected_as_it_would_be_sorted(units, weighted, kind, monkeypatch):
    draws = np.random.default_rng(1)
    labels = draws.integers(0, 2, 300)
    scores = draws.normal(labels, 1).round(1) if kind == "llr" else draws.random(300).round(2)
    speakers, others = (np.array([f"s{k}" for k in draws.integers(0, n, 300)]) for n in (30, 20))
    trials = tc.Trials.from_arrays(
        scores,
        labels,
        kind=kind,
        weight=draws.integers(1, 4, 300) / 3 if weighted else None,
        ids=None if units == "rows" else [f"t{k}" for k in range(300)],
        unit=speakers if units in ("speaker", "strata") else None,
    )
    if units == "two sides":
        trials = replace(trials, units={"speaker": (speakers, others)})
    if units == "strata":
        trials = replace(trials, strata=np.where(speakers < "s2", "low", "high"))
    scoring = tc.Scoring(subsets=("any",))
    counting.ranking_of(trials, scoring, counting.sides_of(trials, scoring))
    subset = trials.take(draws.random(300) < 0.3)

    def counted(one):
        how = frozen(trials, scoring)
        sides = counting.sides_of(one, how)
        return counting.ranking_of(one, how, sides).digest, [own.digest for own, _ in sides]

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "order_of", None)  # it would fail
        selected = counted(subset)
    assert selected == counted(replace(subset))  # which knows of no whole
