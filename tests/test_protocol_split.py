"""Splits: groups whole, every sample once, and as even as whole groups allow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.protocol import Samples, split
from truecost.protocol.dealing import TRIED, deal_shares, imbalance, profiles_of
from truecost.protocol.grouping import Axis, condition_axis

PLANS = st.sampled_from(
    [
        {"folds": 2},
        {"folds": 3},
        {"shares": {"train": 0.6, "eval": 0.4}},
        {"shares": {"train": 0.7, "dev": 0.15, "eval": 0.15}},
        {"folds": 2, "held_out": 0.3},
        {"folds": 2, "inner": 2},
    ]
)
ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 2), st.integers(0, 1)),
    min_size=12,
    max_size=60,
).filter(lambda rows: len({speaker for speaker, *_ in rows}) >= 6)


def samples_from(rows, order=None, **more):
    rows = np.array(rows)
    order = np.arange(len(rows)) if order is None else order
    return Samples.from_arrays(
        ids=[f"u{k:03}" for k in order],
        labels=rows[order, 2],
        groups={"speaker": [f"s{k}" for k in rows[order, 0]]},
        conditions={"device": [f"d{k}" for k in rows[order, 3]]},
        **more,
    )


# -- laws ------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(ROWS, PLANS, st.integers(0, 3))
def test_no_group_is_divided_and_every_sample_has_one_place(rows, plan, seed):
    found = split(samples_from(rows), **plan, seed=seed)
    speakers = np.array(rows)[:, 0]
    for column, places in found.assignments.items():
        for speaker in np.unique(speakers):
            assert len(set(places[speakers == speaker])) == 1
        names = {part.name for part in found.balances[column].parts}
        inside = places != ""
        if column.startswith("inner_"):
            assert (inside == (found.assignments["fold"] != column[6:])).all()
        elif column == "fold" and "held_out" in plan:
            names.add("eval")
            assert inside.all()
            assert ((places == "eval") == (found.assignments["set"] == "eval")).all()
        else:
            assert inside.all()
        assert set(places[inside]) == names  # no set is empty
        parts = found.balances[column].parts
        counted = {p.name: int((places == p.name).sum()) for p in parts}
        assert counted == {p.name: p.samples for p in parts}


@settings(max_examples=30, deadline=None)
@given(ROWS, PLANS, st.randoms())
def test_the_order_of_rows_means_nothing(rows, plan, random):
    order = np.array(random.sample(range(len(rows)), len(rows)))
    one, other = split(samples_from(rows), **plan), split(samples_from(rows, order), **plan)
    for column, places in one.assignments.items():
        assert (places[order] == other.assignments[column]).all()
    assert one.to_dict() == other.to_dict()


@settings(max_examples=20, deadline=None)
@given(ROWS, st.integers(0, 3))
def test_names_and_order_of_sets_mean_nothing(rows, seed):
    samples = samples_from(rows)
    one = split(samples, shares={"train": 0.5, "dev": 0.3, "eval": 0.2}, seed=seed)
    other = split(samples, shares={"a": 0.2, "b": 0.5, "c": 0.3}, seed=seed)
    names = {"train": "b", "dev": "c", "eval": "a"}
    assert [names[p] for p in one.assignments["set"]] == other.assignments["set"].tolist()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=5, max_size=9, unique=True))
def test_the_seed_only_decides_among_equals(sizes):
    speakers = np.repeat(np.arange(len(sizes)), sizes)
    samples = Samples.from_arrays(groups={"speaker": speakers}, labels=np.zeros(len(speakers), int))
    found = [split(samples, folds=3, seed=s).assignments["fold"].tolist() for s in range(4)]
    assert all(f == found[0] for f in found)  # groups of different sizes: nothing to decide
    alike = Samples.from_arrays(groups={"speaker": np.repeat(np.arange(12), 2)})
    drawn = [split(alike, folds=3, seed=s) for s in range(4)]
    assert len({tuple(s.assignments["fold"]) for s in drawn}) > 1
    assert {s.balances["fold"].imbalance for s in drawn} == {0.0}


@settings(max_examples=30, deadline=None)
@given(st.integers(7, 80), st.integers(2, 7), st.integers(0, 2))
def test_samples_alone_make_folds_that_differ_by_one(count, k, seed):
    labels = np.random.default_rng(seed).integers(0, 2, count)
    found = split(Samples.from_arrays(labels=labels), folds=k).assignments["fold"]
    sizes = np.unique(found, return_counts=True)[1]
    assert len(sizes) == k
    assert sizes.max() - sizes.min() <= 1


# -- as even as can be -----------------------------------------------------------------------------

TABLES = st.integers(2, 3).flatmap(
    lambda classes: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 5, 20]), min_size=classes, max_size=classes),
        min_size=3,
        max_size=8,
    )
)
SHARES = st.sampled_from([(0.5, 0.5), (0.8, 0.2), (1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1)])


def problem_of(table):
    """Units of a table of samples by unit and class, and the table with its sizes in front."""
    table = np.array([row if any(row) else [1, *row[1:]] for row in table])
    units = np.repeat(np.arange(len(table)), table.sum(axis=1))
    codes = np.concatenate([np.repeat(np.arange(table.shape[1]), row) for row in table])
    sizes = Axis("samples", ("all",), np.zeros(len(units), np.int64))
    labels = Axis("label", tuple("abc"[: table.shape[1]]), codes)
    return profiles_of(units, (sizes, labels)), np.column_stack([table.sum(axis=1), table])


def all_deviations(counts, shares):
    """|n_fc - s_f n_c| of every assignment without an empty set: (assignments, sets, cells)."""
    sets = range(len(shares))
    places = [p for p in itertools.product(sets, repeat=len(counts)) if len(set(p)) == len(shares)]
    member = np.array(places)[:, None, :] == np.array(sets)[:, None]
    return np.array(places), np.abs(member @ counts - np.outer(shares, counts.sum(axis=0)))


def slow_imbalance(counts, off, shares):
    """The objective as the documentation states it, one assignment a row."""
    per_cell = (off**2 / np.array(shares)[:, None]).sum(axis=1)
    squares = (counts.astype(float) ** 2).sum(axis=0)
    there = squares > 0
    each = per_cell[:, there] / squares[there] / (len(shares) - 1)
    return (each[:, 0] + each[:, 1:].mean(axis=1)) / 2


@settings(max_examples=60, deadline=None)
@given(TABLES, SHARES, st.integers(0, 2), st.sampled_from([TRIED, 0]))
def test_no_set_is_further_off_than_the_best_split_and_one_unit(table, shares, seed, tried):
    """By trying everything: the largest deviation in samples, over sets and cells, is at most the
    least possible one plus the samples that one unit has in that cell. With `tried` 0 it is the
    search by moves and swaps that is held to it.
    """
    profiles, counts = problem_of(table)
    wanted = np.array(shares)
    places = deal_shares(profiles, wanted, seed, "test", tried)
    assert set(places) == set(range(len(shares)))
    every, off = all_deviations(counts, shares)
    own = off[(every == places).all(axis=1)][0]
    assert own.shape == (len(shares), counts.shape[1])
    cell = int(own.max(axis=0).argmax())
    assert own.max() <= off.max(axis=(1, 2)).min() + counts[:, cell].max() + 1e-9


@settings(max_examples=40, deadline=None)
@given(TABLES, SHARES, st.integers(0, 2))
def test_few_units_get_the_least_imbalance_there_is(table, shares, seed):
    profiles, counts = problem_of(table)
    wanted = np.array(shares)
    every, off = all_deviations(counts, shares)
    slow = slow_imbalance(counts, off, shares)
    places = deal_shares(profiles, wanted, seed, "test")
    own = imbalance(profiles, places, wanted)
    assert own == pytest.approx(slow[(every == places).all(axis=1)][0], abs=1e-12)
    assert own == pytest.approx(slow.min(), abs=1e-9)
    searched = deal_shares(profiles, wanted, seed, "test", 0)
    assert imbalance(profiles, searched, wanted) >= own - 1e-9


def test_more_random_starts_never_do_worse(monkeypatch):
    rng, gained = np.random.default_rng(3), 0.0
    for case in range(5):
        units = np.repeat(np.arange(24), rng.integers(1, 9, 24))
        axes = [np.zeros(len(units), np.int64), rng.integers(0, 4, len(units))]
        axes = tuple(Axis(str(k), tuple("abcd"[: a.max() + 1]), a) for k, a in enumerate(axes))
        profiles, shares = profiles_of(units, axes), np.full(5, 0.2)
        found = []
        for starts in (0, 1, 2, 4, 8, 16, 32, 64):
            monkeypatch.setattr("truecost.protocol.dealing.STARTS", starts)
            places = deal_shares(profiles, shares, case, "folds", tried=0)
            found.append(imbalance(profiles, places, shares))
        assert found == sorted(found, reverse=True)
        gained += found[0] - found[-1]
    assert gained > 0.001


def test_dealing_at_random_has_an_imbalance_of_one():
    """The unit of the objective: its mean over random assignments, by the shares, is 1."""
    profiles, counts = problem_of([[3, 1], [2, 2], [0, 5], [4, 0], [1, 1], [7, 2]])
    shares = np.array([0.7, 0.2, 0.1])
    places = np.array([*itertools.product(range(3), repeat=6)])
    chance = shares[places].prod(axis=1)
    found = [imbalance(profiles, p, shares) for p in places]
    assert counts.shape == (6, 3)
    assert np.dot(chance, found) == pytest.approx(1, abs=1e-12)


def test_many_groups_are_spread_to_the_sample():
    rng = np.random.default_rng(0)
    speaker = rng.integers(0, 400, 8000)
    labels = np.where(rng.random(8000) < 0.02 + 0.2 * (speaker % 7 == 0), "rare", "often")
    device = np.array(["phone", "web", "room"])[(speaker + rng.integers(0, 2, 8000)) % 3]
    groups, conditions = {"speaker": speaker}, {"device": device}
    samples = Samples.from_arrays(labels, groups, conditions)
    for plan in ({"folds": 5}, {"shares": {"train": 0.8, "dev": 0.1, "eval": 0.1}}):
        [balance] = split(samples, **plan).balances.values()
        assert balance.worst.deviation < 2  # of 8000, though a speaker has some 20
        assert balance.imbalance < 1e-3


# -- groups ----------------------------------------------------------------------------------------


def test_all_group_columns_stay_whole_over_chains():
    """ann shares a room with bob, bob a room with cem: the three are one unit."""
    groups = {
        "speaker": ["ann", "ann", "bob", "bob", "cem", "dan", "eve", "fay"],
        "room": ["1", "2", "2", "3", "3", "4", "5", "6"],
    }
    found = split(Samples.from_arrays(groups=groups), folds=2)
    assert len(found.units) == 4
    places = found.assignments["fold"]
    assert len(set(places[:5])) == 1
    assert "6 speakers and 6 rooms form 4 units that a split keeps whole" in {
        n.message for n in found.notes
    }
    with pytest.raises(InputError, match="6 rooms form 4 units that a split keeps whole"):
        split(Samples.from_arrays(groups=groups), folds=5)


def test_sessions_of_one_speaker_each_are_no_chain():
    nested = {"speaker": [*"aabbccdd"], "session": [*"12345678"]}
    found = split(Samples.from_arrays(["x", "y"] * 4, nested), folds=2)
    assert not found.units.chained
    assert len(found.units) == 4
    chained = {"speaker": [*"aabbccdd"], "session": [*"12234567"]}
    found = split(Samples.from_arrays(["x", "y"] * 4, chained), folds=2)
    assert found.units.chained
    assert len(found.units) == 3


def test_copies_and_what_was_made_of_one_another_stay_together():
    ids = ["a", "a1", "a2", "a2x", "b", "c", "d", "e"]
    source = ["", "a", "a", "a2", "", "rec7", "rec7", ""]
    content = ["k", "l", "m", "n", "o", "p", "q", "o"]
    samples = Samples.from_arrays(ids=ids, content=content, source=[s or None for s in source])
    found = split(samples, folds=3)
    assert len(found.units) == 3  # a with all that was made of it; b and its copy e; c and d
    fold = dict(zip(ids, found.assignments["fold"], strict=True))
    assert len({fold[k] for k in ("a", "a1", "a2", "a2x")}) == 1
    assert fold["b"] == fold["e"]
    assert fold["c"] == fold["d"]
    assert "group:content+source" in found.signature


def test_one_group_with_most_samples_is_said():
    speakers = ["ann"] * 70 + [f"s{k}" for k in range(30)]
    found = split(Samples.from_arrays(groups={"speaker": speakers}), folds=2)
    [note] = [n for n in found.notes if n.rule == "too-few-units"]
    assert (
        "speaker ann has 70% of the samples, more than the share of any set (50%)" in note.message
    )


def test_what_nobody_can_spread_is_said():
    speakers = np.repeat([f"s{k}" for k in range(8)], 3)
    labels = np.array(["a", "b", "b"] * 8, object)
    labels[0], labels[[3, 6]] = "rare", "odd"
    found = split(Samples.from_arrays(labels, {"speaker": speakers}), folds=4)
    said = {n.message for n in found.notes if n.rule == "missing-classes"}
    assert said == {
        "label rare: all samples are in one speaker, and so in one of the folds; collect more",
        "label odd: missing in some folds, because too few samples or groups have it; collect more",
    }
    assert {"no-groups-named"} == {
        n.rule for n in split(Samples.from_arrays(["a", "b"] * 9), folds=2).notes
    }


def test_groups_that_look_like_missing_values_are_said():
    speakers = ["nan"] * 3 + [f"s{k}" for k in range(9)]
    notes = split(Samples.from_arrays(groups={"speaker": speakers}), folds=2).notes
    assert any("3 samples with speaker 'nan', which are kept together" in n.message for n in notes)


# -- conditions ------------------------------------------------------------------------------------


def test_numbers_are_cut_at_their_quartiles():
    values = [*map(str, range(1, 21)), "", "NA"]
    axis = condition_axis("duration", np.array(values, object))
    assert axis.levels == ("up to 5", "5 to 10", "10 to 15", "above 15", "(empty)")
    assert np.bincount(axis.codes).tolist() == [5, 5, 5, 5, 2]
    few = condition_axis("channel", np.array(["1", "2"] * 8, object))
    assert few.levels == ("1", "2")


def test_numbers_with_zeros_in_front_are_names():
    rooms = [f"{k:02}" for k in range(12)] * 2
    assert condition_axis("room", np.array(rooms, object)).levels == tuple(rooms[:12])
    decimals = condition_axis("share", np.array([f"0.{k:02}" for k in range(12)] * 2, object))
    assert len(decimals.levels) == 4


def test_no_part_lies_above_the_largest_number():
    texts = [str(min(k, 20)) for k in range(40)]
    axis = condition_axis("seconds", np.array(texts, object))
    assert axis.levels == ("up to 9", "9 to 19", "above 19")
    assert np.bincount(axis.codes).tolist() == [10, 10, 20]


def test_conditions_are_spread_too():
    rng = np.random.default_rng(1)
    speakers = np.arange(300) // 5
    conditions = {"device": rng.integers(0, 3, 60)[speakers], "duration": rng.random(300)}
    samples = Samples.from_arrays(rng.integers(0, 2, 300), {"speaker": speakers}, conditions)
    found = split(samples, folds=3)
    assert {level.axis for level in found.balances["fold"].levels} == {
        *("samples", "label", "device", "duration")
    }
    assert found.balances["fold"].worst.deviation < 5
    assert "strata:label+device+duration" in found.signature
    alone = split(samples, folds=3, strata=["device"])
    assert "strata:label+device|" in alone.signature


# -- plans -----------------------------------------------------------------------------------------


def test_the_held_out_set_does_not_depend_on_the_folds():
    samples = Samples.from_arrays(groups={"speaker": np.arange(200) // 4})
    sets = [split(samples, folds=k, held_out=0.2).assignments["set"].tolist() for k in (2, 5, 7)]
    assert sets[0] == sets[1] == sets[2]
    assert sets[0].count("eval") == 40


def test_nested_folds_are_folds_of_each_rest():
    samples = Samples.from_arrays(["a", "b"] * 60, {"speaker": np.arange(120) // 4})
    found = split(samples, folds=3, inner=4)
    assert [*found.assignments] == ["fold", "inner_1", "inner_2", "inner_3"]
    for k in "123":
        inner, outer = found.assignments[f"inner_{k}"], found.assignments["fold"]
        assert set(inner[outer == k]) == {""}
        assert set(inner[outer != k]) == {"1", "2", "3", "4"}
    assert found.signature.startswith("split|folds:3|inner:4|group:speaker|strata:label|seed:0|")


def test_the_default_is_train_dev_and_eval():
    found = split(Samples.from_arrays(["a", "b"] * 50))
    assert {p.name: p.samples for p in found.balances["set"].parts} == {
        "train": 80,
        "dev": 10,
        "eval": 10,
    }
    assert found.signature.startswith("split|sets:train=0.8+dev=0.1+eval=0.1|group:none|")


def test_tiny_shares_still_get_a_group():
    samples = Samples.from_arrays(groups={"speaker": ["a"] * 5 + ["b"] * 5 + ["c"] * 5})
    found = split(samples, shares={"train": 0.98, "dev": 0.01, "eval": 0.01})
    assert sorted(set(found.assignments["set"])) == ["dev", "eval", "train"]


def test_the_public_names():
    assert tc.protocol.split is split
    assert set(tc.protocol.__all__) >= {"Samples", "Split", "read_samples", "split", "write_split"}


# -- bad requests ----------------------------------------------------------------------------------

TEN = Samples.from_arrays(["a", "b"] * 5, {"speaker": [*"aabbccddee"]}, {"device": [*"pwpwpwpwpw"]})


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"folds": 1}, "folds is 1: give a number at least 2"),
        ({"folds": 2.5}, "folds is 2.5: give a whole number at least 2"),
        ({"folds": 3, "inner": 1}, "inner is 1: give a number at least 2"),
        ({"folds": 2, "held_out": 1.0}, "held_out is 1: give a number above 0 and below 1"),
        ({"folds": 2, "held_out": 0.0}, "held_out is 0: give a number above 0"),
        ({"folds": 2, "held_out": float("nan")}, "held_out is nan: give a finite number above 0"),
        ({"inner": 2}, "inner needs folds"),
        ({"held_out": 0.2}, "shares train=0.8,eval=0.2"),
        ({"folds": 2, "shares": {"a": 0.5, "b": 0.5}}, "exclude each other"),
        ({"shares": {"a": 1.0}}, "1 set: a split has at least 2"),
        ({"shares": {"a": 1.0, "b": 0.0}}, "shares b is 0: give a number above 0"),
        ({"shares": {"a": 1.5, "b": -0.5}}, "shares b is -0.5: give a number above 0"),
        ({"shares": {"a": 0.5, "b": float("nan")}}, "shares b is nan"),
        ({"shares": {"a": 80, "b": 20}}, "sum to 100, not to 1: change them, such as a=0.8,b=0.2"),
        ({"shares": {"a": 0.5, " b": 0.5}}, "set name ' b': write a word"),
        ({"seed": -1, "folds": 2}, "seed is -1: give a number at least 0"),
        ({"folds": 2, "strata": ["devise"]}, "'devise' is not known .did you mean 'device'"),
    ],
)
def test_plans_that_are_none(plan, message):
    with pytest.raises(UsageError, match=message):
        split(TEN, **plan)


def test_data_that_cannot_be_split():
    with pytest.raises(InputError, match=r"5 units \(speaker\) cannot fill 6 folds: use"):
        split(TEN, folds=6)
    with pytest.raises(InputError, match="within outer fold 1: use at most 4"):
        split(TEN, folds=5, inner=5)
    with pytest.raises(InputError, match=r"1 unit \(speaker\) cannot fill 3 sets: .*nothing"):
        split(Samples.from_arrays(groups={"speaker": ["a"] * 9}))
    with pytest.raises(InputError, match=r"is different in each of 20 samples.*conditions label"):
        split(Samples.from_arrays(labels=np.arange(20) / 7), folds=2)
    with pytest.raises(InputError, match="'clip' has a different text in each of 20 samples"):
        split(Samples.from_arrays(conditions={"clip": [f"c{k}.wav" for k in range(20)]}), folds=2)
    with pytest.raises(UsageError, match="there is a column 'fold' already"):
        split(Samples.from_arrays(groups={"fold": [*"aabbcc"]}), folds=2)
    with pytest.raises(InputError, match="differ in length: label 2, speaker 3"):
        Samples.from_arrays(["a", "b"], {"speaker": [*"abc"]})
    with pytest.raises(InputError, match="1 empty cell of group"):
        Samples.from_arrays(["a", "b"], {"speaker": ["s", None]})
    with pytest.raises(UsageError, match="name of another column"):
        Samples.from_arrays(["a", "b"], {"x": ["s", "t"]}, {"x": ["p", "q"]})
