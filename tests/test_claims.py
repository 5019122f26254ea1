"""What may be claimed of two methods: the sentence in every case, and who it is about."""

import msgspec
import numpy as np
import pytest

import truecost as tc
from test_variance import method_of
from truecost.core.claims import SingleRuns, scope, single_runs
from truecost.core.flags import FLAGS
from truecost.core.methods import compare_methods
from truecost.core.variance import shares_of_variance
from truecost.protocol.study.methods import Listed, claim_of, misleading, on_one_list

LIST = Listed("train.csv", "0123456789abcdef" * 4)
DRAWN = Listed("train.csv", "0123456789abcdef" * 4, "speaker", 6)
ONE, FIVE = {"seed": ("1",)}, {"seed": tuple("12345")}
MANY = {"seed": tuple(map(str, range(25)))}
SETS = {"seed": ("1", "2") * 6, "training": tuple("aabbccddeeff")}
FEW = FLAGS["few_runs"].caveat


def method(name, middle, levels, *, spread=0.01, sets="", higher=False):
    """A method whose runs lie about a value."""
    runs = len(next(iter(levels.values())))
    random = np.random.default_rng(len(name))
    points = middle + random.normal(0, spread, runs)
    drawn = points[:, None] + random.normal(0, 0.001, (runs, 40))
    found = method_of(points, drawn, levels, name=name, sets=sets)
    if not higher:
        return found
    members = [msgspec.structs.replace(e, direction="higher") for e in found.members]
    return tc.estimate_method(members, found.runs, found.plan)


def claim(system, baseline, listed=LIST, estimator="mean"):
    found = compare_methods(system, baseline, estimator)
    return claim_of(found, system, baseline, listed, estimator)


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize("ours", [0.1, 0.3])
def test_the_side_that_is_named_is_that_of_the_difference(ours, higher):
    theirs = 0.4 - ours
    system = method("new", ours, MANY, higher=higher)
    found = claim(system, method("before", theirs, MANY, higher=higher))
    side = "lower" if ours < theirs else "higher"
    assert found.verdict == ("better" if (ours > theirs) == higher else "worse")
    head = "with this training list fixed (train.csv, sha256 0123456789ab), "
    said = f"new has a {side} total_error than before, on average over runs: the difference is "
    assert found.text.startswith(f"{head}{said}{'-20.30' if ours < theirs else '19.70'} pp [")
    assert found.text.endswith("25 seeds of each method and units of the test: unit (20))")


@pytest.mark.parametrize(("higher", "which"), [(False, "lower"), (True, "higher")])
def test_nothing_is_claimed_where_the_interval_holds_0(higher, which):
    two = [method(name, 0.1, FIVE, higher=higher) for name in ("new", "before")]
    found = claim(*two)
    assert found.verdict == "inconclusive"
    assert f"it is inconclusive which of new and before has the {which} " in found.text
    assert found.text.endswith(FEW)


@pytest.mark.parametrize("ours", [ONE, FIVE])
@pytest.mark.parametrize("theirs", [ONE, FIVE])
def test_one_run_is_no_method(ours, theirs):
    found = claim(method("new", 0.1, ours), method("before", 0.3, theirs))
    once = ours is ONE or theirs is ONE
    assert (
        "the comparison of methods is inconclusive, as new or before was trained" in found.text
    ) is once
    assert found.verdict == ("inconclusive" if once else "better")
    assert (FEW in found.text) is not once
    if ours is not theirs:
        assert "1 run of " in found.text
        assert "5 seeds of " in found.text


def test_bootstraps_of_the_list_and_what_one_run_gives():
    two = [method(n, x, SETS, sets="training") for n, x in (("new", 0.1), ("before", 0.3))]
    drawn = "with training sets bootstrapped from this list (train.csv, sha256 0123456789ab; 6 sets"
    found = claim(*two, DRAWN)
    assert found.text.startswith(f"{drawn} drawn by speaker), new has a lower")
    assert "over 6 training sets x 2 seeds of each method" in found.text
    found = claim(*two, row_by_row(DRAWN), "run")
    assert found.text.startswith(f"{drawn} drawn row by row), one run of new has a lower")
    assert "than one run of before: the difference" in found.text


def row_by_row(listed):
    """The same list, drawn row by row."""
    return Listed(listed.name, listed.sha256, "", listed.sets)


def test_what_is_not_known_of_the_training_is_said_and_so_is_what_is_held():
    two = [method(n, x, FIVE) for n, x in (("new", 0.1), ("before", 0.3))]
    head = "with all else that the runs share fixed"
    assert claim(*two, None).text.startswith(f"{head}, such as training data, new")
    for levels in (SETS, {"training": SETS["training"][::2]}):  # the training data are what varies
        two = [method(n, x, levels) for n, x in (("new", 0.1), ("before", 0.3))]
        assert claim(*two, None).text.startswith(f"{head}, new has a lower")
        assert scope(two[0]).endswith("held fixed: all else that the runs share")


def test_an_undefined_difference_has_no_interval():
    undefined = method_of(np.full(5, np.nan), np.full((5, 40), np.nan), FIVE, name="new")
    found = claim(undefined, method("before", 0.1, FIVE))
    assert "the difference is undefined (no interval over 5 seeds" in found.text
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize("higher", [False, True])
def test_single_runs_are_better_on_the_side_that_is_better(higher):
    two = [method(n, x, FIVE, higher=higher) for n, x in (("new", 0.1), ("before", 0.3))]
    found = single_runs(*two)
    assert (found.better, found.worse) == ((0, 25) if higher else (25, 0))


@pytest.mark.parametrize(("undefined", "decided"), [(2, 5), (3, 0)])
def test_a_pair_with_many_undefined_replicates_decides_nothing(undefined, decided):
    """Of 40 replicates 2 are 5%, up to which an interval is given."""
    ours, theirs = method("new", 0.1, ONE), method("before", 0.3, FIVE)
    drawn = ours.members[0].replicates.copy()
    drawn[:undefined] = np.nan
    found = single_runs(method_of([ours.members[0].point], [drawn], ONE, name="new"), theirs)
    assert (found.better, found.inconclusive) == (decided, 5 - decided)


@pytest.mark.parametrize(
    ("verdict", "better", "worse", "said"),
    [
        ("better", 9, 0, ""),
        ("worse", 0, 9, ""),
        ("inconclusive", 9, 0, ""),
        ("better", 0, 2, "contradict all runs together in 2 cases"),
        ("worse", 3, 0, "contradict all runs together in 3 cases"),
        ("better", 8, 1, "show new better in 8 cases and before better in 1"),
    ],
)
def test_single_runs_mislead_where_they_decide_against_each_other_or_against_all(
    verdict, better, worse, said
):
    two = [method(n, 0.1, FIVE) for n in ("new", "before")]
    of_all = msgspec.structs.replace(claim(*two), verdict=verdict)
    one = SingleRuns(
        system="new", against="before", measure="total_error", pairs=9, better=better,
        worse=worse, inconclusive=9 - better - worse, level=0.95,
    )  # fmt: skip
    found = misleading([one], [of_all])
    assert [p.rule for p in found] == (["one-seed"] if said else [])
    assert all(said in p.message for p in found)


def test_a_list_that_is_held_is_advised_of_and_one_that_is_drawn_from_is_not():
    assert on_one_list(DRAWN) == []
    [known], [unknown] = on_one_list(LIST), on_one_list(None)
    assert known.rule == unknown.rule == "fixed-training-list"
    assert known.message.startswith("all runs were trained on train.csv: ")
    assert unknown.message.startswith("all runs were trained on one training list: ")


def test_seeds_are_nested_in_training_sets_however_columns_are_ordered():
    random = np.random.default_rng(0)
    points = np.repeat(random.normal(0, 3, 6), 2) + random.normal(0, 0.5, 12)
    drawn = points[:, None] + random.normal(0, 0.1, (12, 40))
    turned = {name: SETS[name] for name in ("training", "seed")}
    told = [
        [(s.source, round(s.variance, 9)) for s in shares_of_variance(found).shares]
        for found in (method_of(points, drawn, v, sets="training") for v in (SETS, turned))
    ]
    assert told[0] == told[1]
    assert [name for name, _ in told[0]] == ["seed", "training", "test"]


def test_one_training_set_is_no_source_and_no_column_is_passed_over():
    random = np.random.default_rng(1)
    points = random.normal(0, 1, 4)
    drawn = points[:, None] + random.normal(0, 0.1, (4, 40))
    levels = {"seed": tuple("1234"), "training": ("a",) * 4}
    alone = shares_of_variance(method_of(points, drawn, levels, sets="training"))
    assert [s.source for s in alone.shares] == ["seed", "test"]
    assert alone.sets == 1
    crossed = {"seed": tuple("1212"), "order": tuple("xyyx"), "training": tuple("aabb")}
    found = shares_of_variance(method_of(points, drawn, crossed))
    assert [s.source for s in found.shares] == ["seed and order", "training", "test"]
