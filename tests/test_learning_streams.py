"""Streams: what is drawn, in which order, from which source; and what is refused."""

import hashlib
import sys

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, MissingExtraError, UsageError
from truecost.learning.corpora import fingerprints
from truecost.learning.goals import dirichlet_order, even, exact, stratified, time_order
from truecost.learning.source import Items, Source
from truecost.learning.streams import divided, read_items, streams_of
from truecost.learning.system import generator

TABLE = Source(name="table", file="none")


def items(number=200, classes=4, parts=1, seed=0, times=False):
    """Items whose feature is their place, so that rows can be followed."""
    draws = np.random.default_rng(seed)
    labels = tuple(f"c{code}" for code in draws.integers(0, classes, number))
    features = np.column_stack([np.arange(number), draws.normal(size=number)])
    moments = draws.integers(0, number // 3, number).astype(float) if times else None
    names = tuple(f"p{row % parts}" for row in range(number)) if parts > 1 else ()
    return Items(
        "test", tuple(f"i{row}" for row in range(number)), features, labels, moments, names
    )


def places(batches):
    """The places of the items of batches in their source."""
    return [int(value) for batch in batches for value in batch.features[:, 0]]


def source(**keys):
    return Source(name="table", file="none", **keys)


# orders


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([0.3, 1.0, 20.0]),
    st.integers(0, 2**32),
)
def test_the_dirichlet_order_holds_every_item_once(classes, chunks, concentration, seed):
    labels = [f"c{code}" for code in np.random.default_rng(seed).integers(0, classes, 400)]
    order = dirichlet_order(labels, generator(seed, "x"), chunks, concentration)
    assert sorted(order) == list(range(400))
    again = dirichlet_order(labels, generator(seed, "x"), chunks, concentration)
    np.testing.assert_array_equal(order, again)


def runs_of(labels):
    """Lengths of runs of equal labels."""
    changes = np.flatnonzero(np.asarray(labels)[1:] != np.asarray(labels)[:-1]) + 1
    return np.diff([0, *changes, len(labels)])


@given(st.integers(2, 8), st.integers(1, 6), st.integers(0, 2**32))
def test_classes_stand_together_within_a_chunk(classes, chunks, seed):
    labels = np.array([f"c{k}" for k in range(classes) for _ in range(60)])
    order = dirichlet_order(labels, generator(seed, "x"), chunks)
    assert len(runs_of(labels[order])) <= classes * chunks


def divided_of(labels, chunks, concentration, seed):
    """The chunks of an order, told apart through the function that makes them."""
    from truecost.learning import goals as orders

    names, codes = np.unique(labels, return_inverse=True)
    return orders._divided(codes, len(names), chunks, concentration, generator(seed, "x"))


@given(st.integers(2, 8), st.integers(2, 6), st.integers(0, 2**32))
def test_a_full_chunk_takes_no_more_of_later_classes(classes, chunks, seed):
    labels = [f"c{k}" for k in range(classes) for _ in range(60)]
    for chunk in divided_of(labels, chunks, 1.0, seed):
        before = sum(map(len, chunk[:-1]))
        assert before < len(labels) / chunks or not len(chunk[-1])


def test_every_chunk_has_ten_items_or_all_is_drawn_again(monkeypatch):
    from truecost.learning import goals as orders

    made = []
    divide = orders._divided

    def spied(*args):
        made.append(divide(*args))
        return made[-1]

    monkeypatch.setattr(orders, "_divided", spied)
    labels = ["a"] * 60 + ["b"] * 60
    for seed in range(40):
        orders.dirichlet_order(labels, generator(seed, "x"), 6)
    sizes = np.array([[sum(map(len, chunk)) for chunk in pieces] for pieces in made])
    assert (sizes.sum(axis=1) == 120).all()
    assert (sizes.min(axis=1) >= 10).sum() == 40  # one that was taken for each seed
    assert (sizes.min(axis=1) < 10).sum() > 5  # and some that were not


def test_shares_of_chunks_follow_the_dirichlet_distribution():
    """One class of many items: its shares over K chunks have mean 1/K and the known variance."""
    for chunks, concentration in ((2, 1.0), (5, 1.0), (4, 8.0)):
        sizes = [
            [
                sum(map(len, chunk))
                for chunk in divided_of(["a"] * 5000, chunks, concentration, seed)
            ]
            for seed in range(600)
        ]
        shares = np.array(sizes) / 5000
        np.testing.assert_allclose(shares.mean(axis=0), 1 / chunks, atol=0.03)
        variance = (1 / chunks) * (1 - 1 / chunks) / (chunks * concentration + 1)
        np.testing.assert_allclose(shares.var(axis=0), variance, rtol=0.2)


def test_a_smaller_concentration_makes_chunks_more_unlike():
    labels = np.repeat([f"c{k}" for k in range(5)], 200)

    def longest(concentration):
        orders = [dirichlet_order(labels, generator(s, "x"), 5, concentration) for s in range(30)]
        return np.mean([runs_of(labels[order]).max() for order in orders])

    assert longest(0.3) > longest(1.0) > longest(100.0)


def test_a_dirichlet_order_needs_ten_items_a_chunk():
    with pytest.raises(InputError, match=r"39 items are too few for 4 chunks .* chunks = 3"):
        dirichlet_order(["a", "b", "c"] * 13, generator(0, "x"), 4)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_time_order_is_stable(times):
    order = time_order(np.array(times, float))
    expected = sorted(range(len(times)), key=lambda row: (times[row], row))
    assert list(order) == expected


# draws


@given(st.integers(0, 60), st.integers(0, 2**32))
def test_a_stratified_draw_has_the_shares_of_all(number, seed):
    classes = np.random.default_rng(seed).choice(["a", "b", "c"], 60, p=[0.6, 0.3, 0.1])
    rows = np.arange(60)
    drawn = stratified(rows, classes, number, generator(seed, "x"))
    assert len(drawn) == len(set(drawn)) == number
    assert list(drawn) == sorted(drawn)
    for name in set(classes):
        exactly = (classes == name).sum() * number / 60
        assert abs((classes[drawn] == name).sum() - exactly) < 1


@given(st.integers(0, 25), st.integers(0, 2**32))
def test_an_even_draw_gives_no_class_two_more_than_another_that_has_some_left(number, seed):
    classes = np.random.default_rng(seed).choice(["a", "b", "c"], 20, p=[0.6, 0.3, 0.1])
    drawn = even(np.arange(20), classes, ["a", "b", "c"], number, generator(seed, "x"))
    assert len(drawn) == len(set(drawn)) == min(number, 20)
    taken = {name: (classes[drawn] == name).sum() for name in "abc"}
    for name in "abc":
        if taken[name] < (classes == name).sum():
            assert taken[name] >= max(taken.values()) - 1


@given(st.floats(0.02, 0.9), st.integers(0, 2**32), st.one_of(st.none(), st.integers(30, 60)))
def test_a_prevalence_is_exact(prevalence, seed, number):
    is_target = np.random.default_rng(seed).random(200) < 0.4
    targets, others = is_target.sum(), (~is_target).sum()
    wanted = 0 if number is None else round(prevalence * number)
    arguments = (np.arange(200), is_target, prevalence, number, generator(seed, "x"), "here")
    if number and (not wanted or wanted > targets or number - wanted > others):
        with pytest.raises(InputError, match="change items or prevalence"):
            exact(*arguments)
        return
    drawn = exact(*arguments)
    assert len(drawn) == len(set(drawn))
    assert is_target[drawn].sum() == round(prevalence * len(drawn))
    assert number in (None, len(drawn))
    if number is None:  # one of the two is used up, but for rounding
        left = targets - is_target[drawn].sum(), others - (~is_target[drawn]).sum()
        assert min(left) <= 1


# streams

ORDERS = st.sampled_from(["given", "time", "shuffled", "dirichlet"])


@given(
    ORDERS,
    st.integers(1, 70),
    st.integers(0, 12),
    st.booleans(),
    st.one_of(st.none(), st.just(120)),
    st.one_of(st.none(), st.just(30), st.just(0.1)),
    st.one_of(st.none(), st.just(0.2)),
    st.sampled_from([None, "c1", "several"]),
    st.integers(0, 1000),
)
def test_every_stream_is_sound(order, batch, boot, drop, length, pool, prevalence, target, seed):
    held = items(600, times=order == "time")
    keys = {"order": order, "items": length, "pool": pool}
    if order == "time":
        keys["time"] = "t"
    if target:
        keys |= {"targets": ("c0", "c2")} if target == "several" else {"target": target}
        keys["prevalence"] = prevalence
    streams = divided(held, source(**keys), batch, seed, boot, drop)
    assert [s.name for s in streams] == (["c0", "c2"] if target == "several" else [""])
    for stream in streams:
        ids = [name for part in stream.batches for name in part.ids]
        boots = list(stream.bootstrap.ids) if stream.bootstrap else []
        pooled = list(stream.pool.ids) if stream.pool else []
        everything = [*ids, *boots, *pooled]
        assert len(set(everything)) == len(everything)  # nothing twice, nothing in two sets
        assert set(stream.labels) == set(everything)
        assert [part.index for part in stream.batches] == list(range(len(stream.batches)))
        sizes = {len(part) for part in stream.batches[:-1]}
        assert sizes <= {batch}
        assert 0 < len(stream.batches[-1]) <= batch
        assert not drop or len(stream.batches[-1]) == batch
        assert len(boots) == boot
        if not drop and length:
            assert len(ids) == length
        if pool:
            assert len(pooled) == (30 if pool == 30 else 60)
        by_id = dict(zip(held.ids, held.labels, strict=True))
        wanted = stream.name or target
        for name in everything:
            right = by_id[name] if not target else str(int(by_id[name] == wanted))
            assert stream.labels[name] == right
        for part in (*stream.batches, *filter(None, [stream.bootstrap, stream.pool])):
            assert part.stream == stream.name
            assert [f"i{row}" for row in places([part])] == list(part.ids)
        if target:
            truth = [stream.labels[name] for name in boots]
            assert truth.count("1") == (boot + 1) // 2
        if target and prevalence and not drop:
            targets = sum(stream.labels[name] == "1" for name in ids)
            assert targets == round(0.2 * len(ids))


@given(ORDERS, st.integers(0, 1000))
def test_the_same_seed_gives_the_same_streams_and_another_one_others(order, seed):
    keys = source(
        order=order, targets=("c0", "c1"), items=150, time="t" if order == "time" else None
    )
    held = items(400, times=order == "time")
    first, again = (divided(held, keys, 20, seed) for _ in range(2))
    other = divided(held, keys, 20, seed + 1)
    assert [s.digest for s in first] == [s.digest for s in again]
    assert places(first[0].batches) == places(again[0].batches)
    assert {s.digest for s in first}.isdisjoint(s.digest for s in other)
    changed = places(first[0].batches) != places(other[0].batches)
    assert changed == (order in ("shuffled", "dirichlet"))


def test_targets_share_a_simulated_stream_whose_order_is_one_of_classes():
    held = items(500)
    both = divided(held, source(targets=("c0", "c3"), order="dirichlet"), 50, 3)
    assert places(both[0].batches) == places(both[1].batches)
    classes = [held.labels[row] for row in places(both[0].batches)]
    alone = dirichlet_order(
        [held.labels[row] for row in sorted(places(both[0].batches))],
        generator(3, "stream", "", "order", ""),
    )
    assert [sorted(places(both[0].batches))[row] for row in alone] == places(both[0].batches)
    assert len(runs_of(classes)) <= 16
    boots = {name for stream in both for name in stream.bootstrap.ids}
    assert boots.isdisjoint(name for batch in both[0].batches for name in batch.ids)


def test_a_stream_of_stated_length_does_not_depend_on_the_bootstrap_set():
    held = items(500)
    few, many = (
        divided(held, source(target="c0", order="shuffled", items=300), 50, 3, boot)
        for boot in (2, 20)
    )
    assert places(few[0].batches) == places(many[0].batches)


def test_a_stream_has_the_shares_of_classes_of_its_source():
    held = items(1000, classes=3)
    (stream,) = divided(held, source(kind="classes", order="shuffled", items=300), 300, 0)
    for name in ("c0", "c1", "c2"):
        share = sum(label == name for label in held.labels) / 1000
        found = sum(stream.labels[i] == name for i in stream.batches[0].ids)
        assert abs(found - 300 * share) < 1


@pytest.mark.parametrize("order", ["given", "time"])
def test_what_is_learnt_before_a_stream_in_time_comes_before_it(order):
    held = items(300, times=order == "time")
    keys = source(target="c0", order=order, time="t" if order == "time" else None, items=100)
    (stream,) = divided(held, keys, 30, 0)
    rank = {name: row for row, name in enumerate(held.ids)}
    if order == "time":
        rank = {held.ids[row]: place for place, row in enumerate(time_order(held.times))}
    ranks = [rank[name] for batch in stream.batches for name in batch.ids]
    assert ranks == list(range(200, 300))
    assert max(rank[name] for name in (*stream.bootstrap.ids, *stream.pool.ids)) < 200
    assert len(stream.pool) == 192
    if order == "time":
        times = np.concatenate([batch.times for batch in stream.batches])
        assert (np.diff(times) >= 0).all()


@given(st.integers(10, 90), st.sampled_from([0.1, 0.3, 0.5]), st.integers(0, 99))
def test_a_thinned_stream_in_time_begins_as_late_as_it_can(length, prevalence, seed):
    held = items(300, seed=seed)
    keys = source(targets=("c0", "c1"), order="given", items=length, prevalence=prevalence)
    wanted = round(length * prevalence)

    def enough(start, target):
        after = held.labels[start:]
        targets = after.count(target)
        return targets >= wanted and len(after) - targets >= length - wanted

    both = [s for s in range(301) if enough(s, "c0") and enough(s, "c1")]
    for stream in divided(held, keys, 20, seed, bootstrap=4):
        rows = places(stream.batches)
        assert len(rows) == length
        assert sum(held.labels[row] == stream.name for row in rows) == wanted
        assert rows == sorted(rows)
        before = places([stream.bootstrap, stream.pool])
        assert sorted(before) == list(range(max(both)))  # all that is earlier, and nothing else
        assert min(rows) >= max(both)


def test_a_thinned_stream_in_time_that_is_too_long_is_refused_with_what_there_is():
    keys = source(target="c0", order="given", items=250, prevalence=0.5)
    with pytest.raises(InputError, match=r"250 items of prevalence 0\.5 need 125 targets and 125"):
        divided(items(300), keys, 20, 0, bootstrap=4)


def test_a_stream_in_time_begins_as_soon_as_its_bootstrap_set_is_there():
    labels = ("0", "0", "0", "1", "0", "1", "0", "1", "0", "0", "1", "0")
    held = Items("t", tuple(map(str, range(12))), np.arange(12.0)[:, None], labels)
    (stream,) = divided(held, source(), 3, 0, 4)
    assert places(stream.batches) == list(range(6, 12))  # 2 targets stand among the first 6
    assert stream.pool is None
    (without,) = divided(held, source(), 3, 0, 0)
    assert places(without.batches) == list(range(12))
    assert without.bootstrap is None
    (later,) = divided(held, source(pool=3), 3, 0, 4)
    assert places(later.batches) == list(range(7, 12))  # 3 for the pool, 4 for the bootstrap set
    assert len(later.pool) == 3


def test_each_value_of_the_stream_column_is_a_stream_of_its_own():
    held = items(400, parts=2)
    streams = divided(held, source(stream="s", targets=("c0", "c1"), order="shuffled"), 40, 0)
    assert [s.name for s in streams] == ["p0/c0", "p0/c1", "p1/c0", "p1/c1"]
    for stream in streams:
        assert {row % 2 for row in places(stream.batches)} == {int(stream.name[1])}


def test_ids_may_repeat_in_other_streams_only():
    features = np.zeros((4, 1))
    Items("t", ("a", "b", "a", "b"), features, ("0", "1") * 2, parts=("x", "x", "y", "y"))
    with pytest.raises(InputError, match=r"t: 2 ids of several items \(a, b\)"):
        Items("t", ("a", "b", "a", "b"), features, ("0", "1") * 2)


def test_features_cannot_be_written():
    (stream,) = divided(items(), source(target="c0"), 20, 0)
    with pytest.raises(ValueError, match="read-only"):
        stream.batches[0].features[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        stream.bootstrap.features[0] = 0


def test_a_digest_tells_of_every_change():
    held = items()
    keys = source(target="c0", order="shuffled")
    changed = held.features.copy()
    changed[17, 1] += 1e-9
    moved = list(held.labels)
    moved[0] = "c0" if moved[0] != "c0" else "c1"
    others = [
        (held, keys, 20, 1, 8, False),
        (held, keys, 21, 0, 8, False),
        (held, keys, 20, 0, 6, False),
        (held, keys, 30, 0, 8, True),
        (held, source(target="c1", order="shuffled"), 20, 0, 8, False),
        (Items("test", held.ids, changed, held.labels), keys, 20, 0, 8, False),
        (Items("test", held.ids, held.features, tuple(moved)), keys, 20, 0, 8, False),
        (Items("test", ("x", *held.ids[1:]), held.features, held.labels), keys, 20, 0, 8, False),
    ]
    digests = {divided(*args)[0].digest for args in [(held, keys, 20, 0, 8, False), *others]}
    assert len(digests) == len(others) + 1


def test_signature_says_how_the_stream_was_made():
    keys = Source(name="digits", items=1000, pool=100, chunks=7, concentration=0.5)
    pytest.importorskip("sklearn")
    stream = streams_of(keys, 50, 4, bootstrap=6, drop_last=True)[3]
    assert stream.signature == (
        "digits|target:3|order:dirichlet|chunks:7|concentration:0.5|items:1000|pool:100|"
        "bootstrap:6|batch:50,drop last|seed:4"
    )


def test_classes_are_sorted_as_numbers_where_they_are():
    held = Items("t", tuple(map(str, range(60))), np.zeros((60, 1)), ("10", "9", "2") * 20)
    (stream,) = divided(held, source(order="shuffled"), 20, 0, 3)
    assert (stream.kind, stream.classes) == ("classes", ("2", "9", "10"))
    assert sorted(stream.labels[name] for name in stream.bootstrap.ids) == ["10", "2", "9"]


def test_labels_0_and_1_are_a_detection():
    held = Items("t", tuple(map(str, range(60))), np.zeros((60, 1)), ("0", "1", "0") * 20)
    (stream,) = divided(held, source(), 20, 0)
    assert (stream.kind, stream.classes, stream.name) == ("detection", ("0", "1"), "")


def test_numbers_have_no_classes():
    held = Items("t", tuple(map(str, range(60))), np.zeros((60, 1)), tuple(map(str, range(60))))
    (stream,) = divided(held, source(kind="numbers", order="shuffled", items=30, pool=5), 20, 0)
    assert (stream.kind, stream.classes) == ("numbers", ())
    assert stream.labels == {name: name for name in stream.labels}
    assert len(stream.pool) == 5


# what is refused

WRONG = [
    ({"name": "tabel"}, r"name = 'tabel' is not known .did you mean 'table'"),
    ({"name": "table"}, r"name = 'table' needs file"),
    ({"name": "digits", "file": "x"}, r"key file is not for name = 'digits'"),
    ({"name": "fsdd"}, r"needs folder = .* or file"),
    ({"name": "fsdd", "folder": "a", "file": "b"}, r"needs folder = .* or file"),
    ({"name": "common-voice", "folder": "a", "tsv": "b"}, r"needs extractor"),
    ({"name": "drift"}, r"needs drift"),
    ({"target": "a", "targets": ("b",)}, r"target and targets mean the same"),
    ({"targets": ("a", "b", "a")}, r"name each once"),
    ({"kind": "classes", "target": "a"}, r"kind = 'classes' has no targets"),
    ({"kind": "numbers", "prevalence": 0.1}, r"prevalence: kind = 'numbers' has no targets"),
    ({"items": 0}, r"items is 0: give a number at least 1"),
    ({"chunks": -1, "order": "dirichlet"}, r"chunks is -1"),
    ({"concentration": 0.0, "order": "dirichlet"}, r"concentration is 0: give a number above 0"),
    ({"prevalence": 1.0}, r"prevalence is 1: give a number above 0 and below 1"),
    ({"pool": 2.5}, r"pool = 2.5: expected a number of items from 1, or a share"),
    ({"pool": 0}, r"pool is 0: give a number above 0"),
    ({"order": "time"}, r"order = 'time' needs the column of times"),
    ({"chunks": 5}, r"chunks and concentration belong to order = 'dirichlet', not to 'given'"),
    ({"order": "dirichlet", "kind": "numbers"}, r"order = 'dirichlet' needs classes"),
    (
        {"context": ("a",)},
        r"context = \['a'\]: features that look at later items .* allow_lookahead",
    ),
    ({"allow_lookahead": True}, r"allow_lookahead = true: name the features"),
]


@pytest.mark.parametrize(("keys", "said"), WRONG, ids=[said[:30] for _, said in WRONG])
def test_settings_that_do_not_go_together_are_refused(keys, said):
    keys = keys if "name" in keys else {"name": "table", "file": "none.npz", **keys}
    with pytest.raises(UsageError, match=said):
        streams_of(Source(**keys), 10, 0)


REFUSED = [
    ({"target": "c00"}, 10, 8, UsageError, r"'c00' is not a label of test .did you mean 'c0'"),
    (
        {"target": "x"},
        10,
        8,
        UsageError,
        r"target 'x' is not a label of test: the labels are c0, c1, c2, c3",
    ),
    ({"kind": "detection"}, 10, 8, UsageError, r"name the target, .* c0, c1, c2, c3"),
    ({"prevalence": 0.1}, 10, 8, UsageError, r"name the target"),
    ({"kind": "numbers"}, 10, 8, InputError, r"but 200 labels are not \('c\d' of i0"),
    ({}, 0, 8, UsageError, r"batch is 0: give a number at least 1"),
    ({}, 10, -1, UsageError, r"bootstrap is -1: give a number at least 0"),
    ({"items": 201}, 10, 8, UsageError, r"items = 201: test has 200 items"),
    ({"items": 201, "order": "shuffled"}, 10, 8, UsageError, r"items = 201: test has 200 items"),
    (
        {"items": 199},
        10,
        8,
        InputError,
        r"needs 8 items, but there is 1 before the stream",
    ),
    (
        {"items": 190, "target": "c0", "order": "shuffled"},
        10,
        20,
        InputError,
        r"needs 10 items of class 'c0', but there are \d beside the stream",
    ),
    (
        {"pool": 195, "order": "shuffled"},
        10,
        8,
        UsageError,
        r"pool = 195: test has 192 items beside",
    ),
    (
        {"pool": 0.5, "items": 150},
        10,
        8,
        UsageError,
        r"pool = 0.5: a pool of 100 items is needed, but test has 42 items",
    ),
    (
        {"pool": 50, "items": 160, "order": "shuffled"},
        10,
        8,
        UsageError,
        r"pool = 50: a pool of 50 items",
    ),
    ({}, 10, 200, InputError, r"no items are left for the stream"),
    (
        {"pool": 198},
        10,
        8,
        UsageError,
        r"198 items is needed, but test has 192 items beside the stream",
    ),
    (
        {"order": "dirichlet", "chunks": 25},
        10,
        8,
        InputError,
        r"test, order = 'dirichlet': 192 items",
    ),
    (
        {"target": "c0", "prevalence": 0.9, "items": 150, "order": "shuffled"},
        10,
        8,
        InputError,
        r"150 items of prevalence 0.9 need 135 targets and 15 others; there are",
    ),
]


@pytest.mark.parametrize(
    ("keys", "batch", "boot", "kind", "said"), REFUSED, ids=[row[4][:30] for row in REFUSED]
)
def test_what_the_items_do_not_allow_is_refused(keys, batch, boot, kind, said):
    with pytest.raises(kind, match=said):
        divided(items(), source(**keys), batch, 0, boot)


def test_a_stream_without_targets_is_refused():
    labels = ("1",) * 8 + ("0",) * 20
    held = Items("t", tuple(map(str, range(28))), np.zeros((28, 1)), labels)
    with pytest.raises(InputError, match=r"no target '1' among the 16 items of the stream"):
        divided(held, source(), 4, 0)


def test_one_class_is_refused():
    held = Items("t", tuple(map(str, range(28))), np.zeros((28, 1)), ("x",) * 28)
    with pytest.raises(InputError, match="all labels are 'x'; there is only one class"):
        divided(held, source(), 4, 0)


def test_a_stream_of_one_short_batch_is_not_dropped():
    with pytest.raises(
        UsageError, match=r"the only batch has 192 of 500 items and would be dropped"
    ):
        divided(items(), source(), 500, 0, 8, True)
    (stream,) = divided(items(), source(), 500, 0, 8, False)
    assert len(stream.batches) == 1


def test_times_that_go_back_are_refused_in_the_given_order():
    held = items(times=True)
    with pytest.raises(InputError, match=r"order = 'given': the time of item i\d+ is earlier than"):
        divided(held, source(order="given", time="t"), 10, 0)


# tables


@pytest.fixture
def frame():
    """Forty items in time, with labels and two features."""
    rows = np.arange(40)
    return pl.DataFrame(
        {
            "id": [f"u{row}" for row in rows],
            "label": ["yes" if row % 4 == 0 else "no" for row in rows],
            "a": rows / 8,
            "b": -rows,
            "when": rows[::-1] * 0.5,
        }
    )


def write(frame, path):
    if path.suffix == ".npz":
        arrays = {name: frame[name].to_numpy() for name in ("a", "b", "when")}
        words = {name: np.array(frame[name].to_list()) for name in ("id", "label")}
        np.savez(path, **arrays, **words)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return str(path)


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_a_table_of_any_format_gives_the_same_streams(tmp_path, frame, ending):
    path = write(frame, tmp_path / f"t.{ending}")
    keys = Source(name="table", file=path, target="yes", time="when")
    (stream,) = streams_of(keys, 10, 0, bootstrap=2)
    assert stream.batches[0].features.shape == (10, 2)
    ids = [name for batch in stream.batches for name in batch.ids]
    assert ids == [f"u{row}" for row in range(39 - (40 - len(ids)), -1, -1)]
    expected = Items(
        path,
        tuple(frame["id"]),
        frame.select("a", "b").to_numpy().astype(float),
        tuple(frame["label"]),
        frame["when"].to_numpy(),
        (),
        ("table",),
    )
    assert divided(expected, keys, 10, 0, 2)[0].digest == stream.digest
    assert stream.labels["u4"] == "1"


def test_a_matrix_of_an_archive_is_the_features(tmp_path):
    path = str(tmp_path / "x.npz")
    values = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float16)
    np.savez(path, X=values, paths=np.array([f"p{k}" for k in range(40)]), y=np.arange(40) % 2)
    read = read_items(Source(name="table", file=path))
    np.testing.assert_array_equal(read.features, values.astype(np.float64))
    assert read.ids[3] == "p3"
    assert read.labels[:3] == ("0", "1", "0")


def test_rows_without_ids_are_numbered(tmp_path, frame):
    path = write(frame.drop("id"), tmp_path / "t.csv")
    assert read_items(Source(name="table", file=path)).ids[:2] == ("1", "2")


def test_times_may_be_dates(tmp_path, frame):
    days = [f"2024-02-{1 + row // 2:02}T{12 * (row % 2):02}:00:00" for row in range(40)]
    texts = frame.with_columns(pl.Series("when", days))
    found = [
        read_items(Source(name="table", file=write(table, tmp_path / name), time="when")).times
        for table, name in (
            (texts, "t.csv"),
            (texts.with_columns(pl.col("when").str.to_datetime()), "t.parquet"),
        )
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(np.diff(found[0]), 12 * 3600)
    assert found[0][0] == 1706745600  # 2024-02-01, in seconds since 1970


BROKEN = [
    (
        {"label": [None, ""] + ["no", "yes"] * 19},
        {},
        InputError,
        r"2 empty cells of label .*line 2",
    ),
    ({"a": ["x"] + ["1"] * 39}, {}, InputError, r"features \(column 'a'\) .* 'x' at line 2"),
    (
        {"b": [None] * 3 + [1] * 37},
        {},
        InputError,
        r"3 values of the features .*column 'b', line 2",
    ),
    ({"b": ["nan"] + ["1"] * 39}, {}, InputError, r"1 value of the features that is missing, NaN"),
    ({"b": ["inf"] + ["1"] * 39}, {}, InputError, r"infinite: column 'b', line 2"),
    (
        {"id": ["u1"] * 2 + [f"u{k}" for k in range(2, 40)]},
        {},
        InputError,
        r"1 id of several items \(u1\)",
    ),
    (
        {"id": [None] + [f"u{k}" for k in range(1, 40)]},
        {},
        InputError,
        r"1 empty cell of id .*line 2",
    ),
    ({"when": [None] + [1] * 39}, {"time": "when"}, InputError, r"1 item without a time .*line 2"),
    ({"when": ["soon"] + ["1"] * 39}, {"time": "when"}, InputError, r"'soon' at line 2"),
    (
        {},
        {"features": ("c",)},
        UsageError,
        r"no column 'c' for the features; .*\[source\] features",
    ),
    ({}, {"label": "lable"}, UsageError, r"did you mean 'label'"),
    ({}, {"time": "then"}, UsageError, r"no column 'then' for the time"),
    ({}, {"stream": "s"}, UsageError, r"no column 's' for the stream"),
]


@pytest.mark.parametrize(
    ("columns", "keys", "kind", "said"), BROKEN, ids=[row[3][:30] for row in BROKEN]
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path, frame, columns, keys, kind, said):
    changed = frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})
    path = write(changed, tmp_path / "t.csv")
    with pytest.raises(kind, match=said) as caught:
        read_items(Source(name="table", file=path, **keys))
    assert "t.csv" in str(caught.value)


def test_nan_in_a_matrix_is_named_with_its_column(tmp_path):
    path = str(tmp_path / "x.npz")
    values = np.zeros((10, 4))
    values[6, 2] = np.nan
    np.savez(path, X=values, y=np.arange(10) % 2)
    with pytest.raises(InputError, match=r"column 3 of 'X', row 6"):
        read_items(Source(name="table", file=path))


def test_a_table_without_features_is_refused(tmp_path, frame):
    path = write(frame.select("id", "label"), tmp_path / "t.csv")
    with pytest.raises(InputError, match="no features are left beside id, label"):
        read_items(Source(name="table", file=path))


def test_features_that_look_ahead_are_used_only_when_that_is_said(tmp_path, frame):
    path = write(frame, tmp_path / "t.csv")
    keys = {"name": "table", "file": path, "target": "yes"}
    with pytest.raises(UsageError, match=r"context = \['b'\]: features that look at later items"):
        streams_of(Source(**keys, context=("b",)), 10, 0)
    honest = streams_of(Source(**keys, features=("a",)), 10, 0)[0]
    ahead = streams_of(
        Source(**keys, features=("a",), context=("b", "when"), allow_lookahead=True), 10, 0
    )[0]
    assert "lookahead" not in honest.signature
    assert "|lookahead:b,when|" in ahead.signature
    assert ahead.batches[0].features.shape[1] == 3
    assert honest.batches[0].features.shape[1] == 1


# corpora


def test_handwritten_digits_need_no_file():
    pytest.importorskip("sklearn")
    streams = streams_of(Source(name="digits", items=1500), 60, 0)
    assert [s.name for s in streams] == ["0", "1", "2", "3", "4"]
    for stream in streams:
        assert len(stream.batches) == 25
        assert {len(batch) for batch in stream.batches} == {60}
        assert stream.batches[0].features.shape == (60, 64)
        targets = sum(stream.labels[name] == "1" for batch in stream.batches for name in batch.ids)
        assert 147 <= targets <= 153
        assert [stream.labels[name] for name in stream.bootstrap.ids].count("1") == 4
        assert len(stream.pool) == 1797 - 1500 - 8


def test_a_prevalence_of_ten_percent_of_digits_is_exact():
    pytest.importorskip("sklearn")
    streams = streams_of(Source(name="digits", items=1500, prevalence=0.1, targets=(7, 8)), 60, 0)
    for stream in streams:
        ids = [name for batch in stream.batches for name in batch.ids]
        assert sum(stream.labels[name] == "1" for name in ids) == 150
    assert [s.name for s in streams] == ["7", "8"]


def test_digits_without_scikit_learn_say_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"truecost\[learn\]"):
        read_items(Source(name="digits"))


def clip(path, pitch, seconds=0.2):
    """A tone as a wav file."""
    import wave

    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.sin(2 * np.pi * pitch * np.arange(round(seconds * 8000)) / 8000)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.rint(samples * 20000).astype("<i2").tobytes())


@pytest.mark.parametrize("inner", ["recordings", "."])
def test_a_clone_of_the_spoken_digits_is_read(tmp_path, inner):
    for digit in range(3):
        for take in range(12):
            clip(tmp_path / inner / f"{digit}_ann_{take}.wav", 200 + 300 * digit + take)
    keys = Source(name="fsdd", folder=str(tmp_path), targets=(0, 2), items=12, chunks=1)
    first, second = streams_of(keys, 6, 0, bootstrap=4)
    assert (first.name, second.name) == ("0", "2")
    assert first.batches[0].features.shape == (6, 102)
    for name, label in first.labels.items():
        assert label == str(int(name.startswith("0_")))
    read = read_items(keys)
    saved = str(tmp_path / "features.npz")
    np.savez(saved, X=read.features, paths=np.array([f"{name}.wav" for name in read.ids]))
    again = read_items(Source(name="fsdd", file=saved))
    assert (again.ids, again.labels) == (read.ids, read.labels)
    np.testing.assert_array_equal(again.features, read.features)


def test_a_folder_that_is_no_clone_is_refused(tmp_path):
    with pytest.raises(InputError, match="no recordings there; expected a clone"):
        read_items(Source(name="fsdd", folder=str(tmp_path)))
    clip(tmp_path / "hello.wav", 300)
    with pytest.raises(InputError, match=r"1 recording is not named DIGIT_SPEAKER_TAKE \(hello\)"):
        read_items(Source(name="fsdd", folder=str(tmp_path)))


EXTRACTOR = """
import numpy as np

def length(path):
    from pathlib import Path
    return np.array([len(Path(path).read_bytes()), 1.0])

def uneven(path):
    return np.zeros(1 + ("b" in path.rpartition("/")[2]))

def text(path):
    return np.array(["x"])

def endless(path):
    return np.array([np.inf])

def failing(path):
    raise KeyError("weights")

number = 3
"""


@pytest.fixture
def voices(tmp_path, monkeypatch):
    """Two languages in the layout of Common Voice, and extractors in the current folder."""
    for language in ("or", "hi"):
        lines = ["client_id\tpath\tsentence\tlocale"]
        for number in range(20):
            name = f"{language}_{'ab'[number % 2]}{number}.mp3"
            place = tmp_path / "corpus" / language / "clips" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"x" * (number + 1))
            lines.append(f'c\t{name}\tsay "this" or that\t{language}')
        (tmp_path / "corpus" / language / "test.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "extractors_of_voices.py").write_text(EXTRACTOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the folder is added
    yield Source(
        name="common-voice",
        folder=str(tmp_path / "corpus"),
        tsv="test.tsv",
        extractor="extractors_of_voices:length",
        targets=("or", "hi"),
    )
    sys.modules.pop("extractors_of_voices", None)


def test_languages_of_a_folder_of_clips_are_streams(voices):
    streams = streams_of(voices, 10, 0, bootstrap=4)
    assert [s.name for s in streams] == ["or", "hi"]
    for stream in streams:
        for batch in stream.batches:
            assert batch.features[:, 0].tolist() == [
                int(name.rpartition("_")[2][1:]) + 1 for name in batch.ids
            ]
            for name in batch.ids:
                assert stream.labels[name] == str(int(name.startswith(stream.name)))
    assert streams[0].signature.startswith("common-voice|features:extractors_of_voices:length|")


def test_a_source_is_known_by_its_lists_clips_and_extractor(voices, tmp_path):
    corpus, first = tmp_path / "corpus", fingerprints(voices, tmp_path)
    assert set(first) == {"folder", "tsv", "extractor"}
    (corpus / "notes.txt").write_text("not read")
    assert fingerprints(voices, tmp_path) == first
    changes = {
        "extractor": (tmp_path / "extractors_of_voices.py", EXTRACTOR + "\n# mended\n"),
        "tsv": (corpus / "hi" / "test.tsv", None),
        "folder": (corpus / "or" / "clips" / "or_a0.mp3", "longer"),
    }
    for key, (path, text) in changes.items():
        path.write_text(path.read_text().replace("this", "that") if text is None else text)
        now = fingerprints(voices, tmp_path)
        assert {name for name in now if now[name] != first[name]} == {key}
        first = now
    one = msgspec.structs.replace(voices, folder=str(corpus / "hi"))
    found = fingerprints(one, tmp_path)
    assert found["tsv"] == hashlib.sha256((corpus / "hi" / "test.tsv").read_bytes()).hexdigest()


def test_recordings_are_known_by_their_bytes(tmp_path):
    for take in range(2):
        (tmp_path / f"3_ann_{take}.wav").write_bytes(b"a")
    spoken = Source(name="fsdd", folder=str(tmp_path), extractor="json.decoder:scan")
    first = fingerprints(spoken)
    assert set(first) == {"folder", "extractor"}
    (tmp_path / "3_ann_1.wav").write_bytes(b"b")  # as long as before
    assert fingerprints(spoken)["folder"] != first["folder"]
    assert "extractor" not in fingerprints(
        msgspec.structs.replace(spoken, extractor="no_such_module:f")
    )


def test_a_module_in_a_package_is_found_without_importing_it(tmp_path):
    (tmp_path / "mine_of_fp").mkdir()
    (tmp_path / "mine_of_fp" / "__init__.py").write_text("raise SystemExit")
    (tmp_path / "mine_of_fp" / "deep.py").write_text("x = 1")
    (tmp_path / "3_ann_0.wav").write_bytes(b"a")
    spoken = Source(name="fsdd", folder=str(tmp_path), extractor="mine_of_fp.deep:f")
    assert fingerprints(spoken, tmp_path)["extractor"] == hashlib.sha256(b"x = 1").hexdigest()


def test_one_language_of_common_voice_is_read_from_its_own_folder(voices):
    folder = f"{voices.folder}/or"
    read = read_items(msgspec.structs.replace(voices, folder=folder))
    assert len(read) == 20
    assert set(read.labels) == {"or"}


FAULTS = [
    (
        {"extractor": "extractors_of_voices:uneven"},
        InputError,
        r"returned for .*b1\.mp3 .*expected a vector of 1",
    ),
    ({"extractor": "extractors_of_voices:text"}, InputError, r"expected a vector of numbers"),
    ({"extractor": "extractors_of_voices:endless"}, InputError, r"not finite: inf"),
    (
        {"extractor": "extractors_of_voices:failing"},
        InputError,
        r"mp3: extractors_of_voices:failing failed with KeyError",
    ),
    ({"extractor": "extractors_of_voices:none"}, UsageError, r"has no 'none'"),
    (
        {"extractor": "extractors_of_voices:number"},
        UsageError,
        r"number is 3, expected a class or a function",
    ),
    ({"extractor": "no_such_module:f"}, UsageError, r"no_such_module cannot be imported"),
    ({"extractor": "f"}, UsageError, r"does not have the form package.module:name"),
    ({"tsv": "dev.tsv"}, UsageError, r"tsv = 'dev.tsv': there is no such file"),
    ({"label": "language"}, UsageError, r"line 1: there is no column 'language'"),
    ({"target": None, "targets": ("tamil",)}, UsageError, r"target 'tamil' is not a label"),
]


@pytest.mark.parametrize(("keys", "kind", "said"), FAULTS, ids=[said[:30] for _, _, said in FAULTS])
def test_clips_that_cannot_be_used_are_refused(voices, keys, kind, said):
    with pytest.raises(kind, match=said):
        streams_of(msgspec.structs.replace(voices, **keys), 10, 0, bootstrap=2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c\tmissing.mp3\tx\tor", r"clip missing\.mp3 is in none of"),
        ("c\tor_a0.mp3\tor", r"test\.tsv, line 22: 3 fields, but the header has 4"),
        ("c\t\tx\tor", r"line 22: column path is empty"),
        ("c\tor_a0.mp3\tx\t", r"line 22: column locale is empty"),
    ],
)
def test_a_bad_line_of_the_list_is_named(voices, tmp_path, line, said):
    tsv = tmp_path / "corpus" / "or" / "test.tsv"
    tsv.write_text(tsv.read_text() + line + "\n")
    with pytest.raises(InputError, match=said):
        read_items(voices)


# drift


def test_a_generator_of_river_makes_a_stream():
    synth = pytest.importorskip("river.datasets.synth")
    keys = Source(
        name="drift", drift="SEA", options={"variant": 1, "noise": 0.1}, items=300, pool=50
    )
    (stream,) = streams_of(keys, 100, 5)
    made = list(synth.SEA(variant=1, noise=0.1, seed=5).take(850))
    rows = [int(name) for batch in stream.batches for name in batch.ids]
    assert rows == list(range(550, 850))
    for row in (550, 700, 849):
        features, label = made[row]
        batch = stream.batches[(row - 550) // 100]
        np.testing.assert_array_equal(batch.features[(row - 550) % 100], list(features.values()))
        assert stream.labels[f"{row:03}"] == str(int(label))
    assert "drift|SEA|noise:0.1|variant:1|target:1" in stream.signature
    assert streams_of(keys, 100, 6)[0].digest != stream.digest


def test_a_rule_that_changes_is_made_of_two_generators():
    synth = pytest.importorskip("river.datasets.synth")
    options = {
        "position": 700,
        "width": 20,
        "stream": {"generator": "SEA", "variant": 0},
        "drift_stream": {"generator": "river.datasets.synth:SEA", "variant": 2},
    }
    keys = Source(name="drift", drift="ConceptDriftStream", options=options, items=500)
    read = read_items(keys, 3)
    twice = (synth.SEA(variant=variant, seed=3) for variant in (0, 2))
    made = synth.ConceptDriftStream(*twice, position=700, width=20, seed=3).take(1000)
    assert read.labels == tuple(str(int(label)) for _, label in made)


def test_a_regression_of_river_has_numbers():
    pytest.importorskip("river")
    keys = Source(name="drift", drift="Friedman", kind="numbers", items=60)
    (stream,) = streams_of(keys, 20, 0)
    assert stream.kind == "numbers"
    assert all(np.isfinite(float(label)) for label in stream.labels.values())


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"drift": "SAE", "items": 9}, r"river\.datasets\.synth has no 'SAE'"),
        ({"drift": "SEA"}, r"give the number of items of the stream"),
        ({"drift": "SEA", "items": 9, "pool": 0.5}, r"and the pool as a number"),
        (
            {"drift": "SEA", "items": 9, "options": {"varyant": 1}},
            r"SEA has no option 'varyant'",
        ),
        (
            {"drift": "SEA", "items": 9, "options": {"variant": 9}},
            r"SEA cannot be made: Unknown variant",
        ),
    ],
)
def test_a_generator_that_cannot_be_made_is_refused(keys, said):
    pytest.importorskip("river")
    with pytest.raises(UsageError, match=said):
        read_items(Source(name="drift", **keys))


def test_drift_without_river_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "river"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(MissingExtraError, match=r"truecost\[river\]"):
        read_items(Source(name="drift", drift="SEA", items=10))
