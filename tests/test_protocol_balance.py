"""How well a split is spread, against counts by hand from the sets that were written."""

from collections import Counter

import numpy as np
import pytest

import truecost as tc

PLANS = [
    {"folds": 4},
    {"shares": {"a": 0.2, "b": 0.5, "c": 0.3}},  # an order that is none of size
    {"shares": {"eval": 0.2, "train": 0.8}},
    {"held_out": 0.25, "folds": 3, "inner": 2},
]


def people(seed, count=23):
    """Samples of speakers of different sizes; of seed 1 many have the largest number, of seed 2
    no speaker has more than two samples.
    """
    random = np.random.default_rng(seed)
    longest, most = 12 if seed == 1 else 19, 3 if seed == 2 else 12
    rows = [
        (
            f"s{s:02d}",
            random.choice(["no", "yes", "maybe"]),
            random.choice(["near", "far"]),
            seconds,
        )
        for s in range(count)
        for seconds in np.minimum(random.integers(0, 20, random.integers(1, most)), longest)
    ]
    speakers, labels, places, seconds = (
        list(map(str, column)) for column in zip(*rows, strict=True)
    )
    conditions = {"place": places, "seconds": seconds}
    return tc.protocol.Samples.from_arrays(
        labels=labels, groups={"speaker": speakers}, conditions=conditions
    ), (speakers, labels, places, [int(s) for s in seconds])


def quartiles(values):
    """Which quarter each number is in; a cut belongs to the part below it."""
    ranked = sorted(values)
    cuts = sorted({ranked[int(np.ceil(q * len(ranked))) - 1] for q in (0.25, 0.5, 0.75)})
    return [sum(v > cut for cut in cuts if cut < ranked[-1]) for v in values]


@pytest.mark.parametrize("plan", PLANS, ids="+".join)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_counts_deviations_and_imbalance_are_those_of_what_is_written(plan, seed):
    samples, (speakers, labels, places, seconds) = people(seed)
    split = tc.protocol.split(samples, seed=seed, **plan)
    assert set(split.balances) == {*split.assignments}
    for column, balance in split.balances.items():
        names = [part.name for part in balance.parts]
        there = [k for k, name in enumerate(split.assignments[column]) if name in names]
        where = [split.assignments[column][k] for k in there]
        size = Counter(where)
        assert [part.samples for part in balance.parts] == [size[name] for name in names]
        of = {name: {speakers[k] for k, w in zip(there, where, strict=True) if w == name}
              for name in names}  # fmt: skip
        assert [part.units for part in balance.parts] == [len(of[name]) for name in names]
        wanted = [part.target for part in balance.parts]
        if "shares" in plan:
            assert dict(zip(names, wanted, strict=True)) == plan["shares"]
        total = 0.0
        every = iter(balance.levels)
        axes = ([0] * len(labels), labels, places, quartiles(seconds))
        for axis in axes:
            own = 0.0
            found = sorted({axis[k] for k in there})
            for value in found:
                rows = [(speakers[k], w) for k, w in zip(there, where, strict=True)
                        if axis[k] == value]  # fmt: skip
                counts = Counter(w for _, w in rows)
                units = Counter(speaker for speaker, _ in rows)
                off = [abs(counts[n] - s * len(rows)) for n, s in zip(names, wanted, strict=True)]
                level = next(every)
                assert level.counts == tuple(counts[name] for name in names)
                assert (level.units, level.largest_unit) == (len(units), max(units.values()))
                assert level.deviation == pytest.approx(max(off))
                assert off[names.index(level.part)] == pytest.approx(max(off))
                own += sum(o**2 / s for o, s in zip(off, wanted, strict=True)) / sum(
                    n**2 for n in units.values()
                )
            total += own / len(found)
        assert next(every, None) is None
        assert balance.imbalance == pytest.approx(total / len(axes) / (len(names) - 1))
