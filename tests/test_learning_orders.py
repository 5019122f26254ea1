"""Streams: what must not depend on names, and what stands where in time."""

import numpy as np
import pytest

from truecost.learning.goals import _divided
from truecost.learning.passes import StreamRecipe as Recipe
from truecost.learning.source import Items, Source
from truecost.learning.streams import divided, read_items
from truecost.learning.system import generator


def test_every_class_is_the_first_to_be_dealt_out_as_often():
    """Later ones find fewer open chunks, so that none may always be the first."""
    codes, firsts = np.repeat([0, 1, 2], 40), []
    for seed in range(300):
        pieces = _divided(codes, 3, 4, 1.0, generator(seed, "x"))
        [first] = {int(codes[row]) for chunk in pieces for row in chunk[0]}
        firsts.append(first)
    counts = np.bincount(firsts, minlength=3)
    assert sum((counts - 100) ** 2 / 100) < 13.8  # chi-squared of 2 degrees of freedom: 1 in 1000


def held(times=None):
    """Thirty items whose feature is their place; every third is a target."""
    labels = tuple("100"[row % 3] for row in range(30))
    names = tuple(map(str, range(30)))
    return Items("test", names, np.arange(30.0)[:, None], labels, times)


@pytest.mark.parametrize("pool", [7, 0.2])
def test_a_pool_in_time_is_what_came_last_before_the_stream(pool):
    source = Source(name="table", file="none", items=10, pool=pool)
    (stream,) = divided(held(), source, 5, 0, 4)
    boot = set(stream.bootstrap.ids)
    free = [name for name in map(str, range(20)) if name not in boot]
    size = 7 if pool == 7 else 6  # of all 30
    assert list(stream.pool.ids) == free[-size:]
    assert [name for batch in stream.batches for name in batch.ids] == [*map(str, range(20, 30))]


def test_other_times_make_another_stream():
    """The digest says whether a run may go on: times are in its log."""
    source = Source(name="table", file="none", order="time", time="t", items=20)
    times = np.arange(30.0)
    one, again, later = (
        divided(held(moments), source, 5, 0, 4)[0]
        for moments in (times, times.copy(), np.where(times > 25, times + 1, times))
    )
    assert [batch.ids for batch in one.batches] == [batch.ids for batch in later.batches]
    assert one.digest == again.digest
    assert one.digest != later.digest


def test_a_generator_makes_new_items_for_each_seed_of_a_run():
    pytest.importorskip("river")
    source = Source(name="drift", drift="SEA", items=60)
    recipe = Recipe(source=source, batch=20, bootstrap=4, learner="logistic", learner_options={})
    labels = []
    for seed in (0, 1):
        [found] = recipe.see(seed)
        [expected] = divided(read_items(source, seed), source, 20, seed, 4)
        assert found.digest == expected.digest
        labels.append(found.labels)
    assert labels[0] != labels[1]
