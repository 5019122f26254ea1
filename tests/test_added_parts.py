"""Evidence of parts, added, is that of the whole: units of any kind, any numbers."""

import numpy as np
import pytest

import truecost as tc

DRAWS = np.random.default_rng(4)
ROWS = 120
CUT = 50  # rows of the first part
LABELS = DRAWS.integers(8, 13, ROWS)  # as texts they stand in another order
STREETS = np.array(["b c", "b", "d"])[LABELS % 3]  # each label in one stratum
STREETS[:CUT][STREETS[:CUT] == "d"] = "b"  # a stratum that the first part lacks
LABELS[:CUT] += 20 * (LABELS[:CUT] % 3 == 2)
VALUES = DRAWS.integers(1, 9, ROWS)
CODES = DRAWS.integers(0, 2, ROWS)
SCORES = DRAWS.normal(size=ROWS).round(1)


def tally(factor, codes, values=VALUES):
    axes = {"class": (("nontarget", "target"), CODES[: len(codes)])}
    return tc.Tally.count([(factor, codes)], {"n": values}, axes)


def added(make):
    """What `make` gives for the rows of each part, added in both orders, and for all rows."""
    first, second = make(slice(CUT)), make(slice(CUT, ROWS))
    return first + second, second + first, make(slice(ROWS))


def counted(units):
    """Tallies of rows whose factor and codes `units` gives."""

    def make(rows):
        axes = {"class": (("nontarget", "target"), CODES[rows])}
        return tc.Tally.count([units(rows)], {"n": VALUES[rows]}, axes)

    return make


def ranked(units):
    """Rankings of the same rows."""
    return lambda rows: tc.Ranking.from_scores(SCORES[rows], CODES[rows], [units(rows)])


def in_strata(rows):
    return tc.Factor.encode("speaker", LABELS[rows], STREETS[rows])


def of_sizes(rows):
    labels, codes = np.unique(LABELS[rows], return_inverse=True)
    return tc.Factor("speaker", labels, sizes=1 + labels % 3), codes


def by_arm(rows):
    labels, codes = np.unique(LABELS[rows], return_inverse=True)
    return tc.Factor("speaker", labels, strata=labels % 2), codes


def tied(rows):
    """Labels of one parity from 28 on, and those of the other, are one unit each."""
    labels, codes = np.unique(LABELS[rows], return_inverse=True)
    owner = np.where(labels < 28, labels, 100 + labels % 2)
    firsts = list(dict.fromkeys(owner.tolist()))
    return tc.Factor("speaker", labels, tied=np.array([*map(firsts.index, owner)])), codes


@pytest.mark.parametrize("make", [counted, ranked])
@pytest.mark.parametrize("units", [in_strata, of_sizes, by_arm, tied])
def test_parts_added_are_the_whole(units, make):
    one, other, whole = added(make(units))
    factor = whole.slots.factors[0]
    for found in (one, other):
        assert found.slots.factors[0].same_units(factor)
        assert found.digest == whole.digest


def test_strata_of_parts_are_one_by_name():
    one, _, whole = added(counted(in_strata))
    factor = one.slots.factors[0]
    assert factor.labels.tolist() == whole.slots.factors[0].labels.tolist()
    assert set(factor.labels[factor.strata == 1]) == {f"b c/{k}" for k in (9, 12)}
    assert not (in_strata(slice(CUT))[0].strata == 2).any()  # of the first part alone there are two


def test_ties_of_parts_are_those_of_either():
    """Where x and y are one unit in one part, y and z in the other, all three are one."""
    ties = ((["w", "x", "y"], [0, 1, 1]), (["v", "y", "z"], [1, 0, 0]))
    parts = [tc.Factor("q", np.array(names), tied=np.array(units)) for names, units in ties]
    found = [tally(part, np.arange(3), np.ones(3, int)) for part in parts]
    factor = (found[0] + found[1]).slots.factors[0]
    assert factor.labels.tolist() == ["v", "w", "x", "y", "z"]
    assert factor.tied.tolist() == [0, 1, 2, 2, 2]


@pytest.mark.parametrize(("one", "other", "said"), [
    ({"strata": [0, 1]}, {"strata": [0, 0]}, "parts differ in the strata of 1 unit of 's': b"),
    ({"sizes": [2, 3]}, {"sizes": [2, 1]}, "parts differ in the sizes of 1 unit of 's': b"),
    ({"strata": [0, 1]}, {}, "has strata in one part only: give them to both"),
    ({}, {"tied": [0, 0]}, "has ties in one part only: give them to both"),
])  # fmt: skip
def test_parts_that_contradict_each_other_are_refused(one, other, said):
    parts = [
        tally(
            tc.Factor("s", np.array(["a", "b"]), **{k: np.array(v) for k, v in more.items()}),
            np.arange(2),
            np.ones(2, int),
        )
        for more in (one, other)
    ]
    with pytest.raises(tc.InputError, match=said):
        _ = parts[0] + parts[1]


@pytest.mark.parametrize("shift", [40, 52])
def test_whole_numbers_are_added_as_such(shift):
    """Floats cannot hold 3 (2^52 + 1) + 1 and what follows."""
    large = np.array([2**shift + 1] * 3 + [1], np.int64)
    factor = tc.Factor("s", np.array(["a"]))
    found = tally(factor, np.zeros(4, int), large)
    wanted = [[int(large[CODES[:4] == k].sum())] for k in np.unique(CODES[:4])]
    assert found.values.dtype == np.int64
    assert found.values.tolist() == wanted
    twice = (found + found + found + found).values
    assert twice.tolist() == [[4 * number] for [number] in wanted]
