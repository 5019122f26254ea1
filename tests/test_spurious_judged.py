"""What counts as found in characteristics: the rows that are judged, and the side of 1."""

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

import truecost as tc
from truecost.core.results import verdict_of
from truecost.protocol.study.spurious import BASELINE, FOUND, _decide, _judged
from truecost.report.words import against_naive
from truecost.tasks.trials.page import line_of

KNOWN = SimpleNamespace(main=("only device",), titled=lambda name: "device")


@pytest.fixture(scope="module")
def base():
    """A row of a predictor, of which the values are to be replaced."""
    labels = np.arange(40) % 2
    trials = tc.Trials.from_arrays(labels - 0.5, labels, kind="llr")
    [row] = tc.score_system(trials, tc.Scoring(measures=("nec",), plan=tc.Plan(20)))
    return row


def of(base, value, lower, upper, **more):
    return msgspec.structs.replace(base, value=value, lower=lower, upper=upper, **more)


def against(row, verdict):
    """A system, compared with a row."""
    difference = msgspec.structs.replace(row, dims={"system": "mine"})
    return SimpleNamespace(system=row, baseline=row, verdict=verdict, difference=difference)


@pytest.mark.parametrize(
    ("value", "lower", "upper", "found"),
    [
        (0.8, 0.7, 0.9, True),
        (0.8, 0.7, 1.0, False),  # the interval ends where nothing is told
        (0.8, 0.6, 1.1, False),
        (1.2, 1.1, 1.3, False),
        (0.8, None, None, False),
        (float("nan"), float("nan"), float("nan"), False),
    ],
)
def test_the_whole_interval_is_to_lie_below_1(base, value, lower, upper, found):
    problems, remarks = _judged({"only device": [of(base, value, lower, upper)]}, [], KNOWN, "")
    assert [p.rule for p in problems] == ([FOUND] if found else [])
    assert bool(remarks) is not found


@pytest.mark.parametrize("side", [1.918, 0.4])
def test_a_value_outside_its_interval_concludes_nothing(base, side):
    row = of(base, 1.865 if side > 1 else 0.35, side, side + 0.5, replicates=np.full(20, side))
    row = msgspec.structs.replace(row, point=row.value)
    problems, remarks = _judged({"only device": [row]}, [], KNOWN, "")
    assert remarks == ()
    assert [p.rule for p in problems] == [""]
    assert "nothing is concluded about device" in problems[0].message
    assert f"biased (+{side - row.value:.4g} on average)" in problems[0].message
    clean = of(base, 0.8, 0.7, 0.9, measure="nce")
    problems, _ = _judged({"only device": [clean, row]}, [], KNOWN, "")
    assert [p.rule for p in problems] == ["", FOUND]
    assert f"{row.label} " not in problems[1].message


def test_a_row_outside_its_interval_has_no_side(base):
    row = of(base, 0.3, 0.4, 0.6, flags=("outside",))
    assert row.outside
    assert against_naive(row.row()) == "inconclusive"
    line = line_of(msgspec.structs.replace(row.row(), dims={"system": "only device"}))
    assert line.chip == "no conclusion"
    assert "outside its interval" in line.more
    clean = of(base, 0.5, 0.4, 0.6, flags=())
    assert not clean.outside
    assert against_naive(clean.row()) == "better"


def test_a_difference_outside_its_interval_speaks_for_no_side(base):
    difference = of(base, -0.5, -0.4, -0.3).row()
    assert verdict_of(difference) == "inconclusive"
    assert verdict_of(of(base, -0.35, -0.4, -0.3).row()) == "better"


def test_cross_entropy_and_cost_of_all_data_are_judged_and_nothing_beside_them(base):
    names = ("act_dcf", "nce", "nec")
    rows = [of(base, 0.5, 0.4, 0.6, measure=name) for name in names]
    part = of(base, 0.5, 0.4, 0.6, measure="nec", dims={**base.dims, "subset": "loud"})
    assert _decide([*rows, part]) == [rows[1], rows[2]]
    assert _decide([part]) == []
    other, higher = rows[0], of(base, 0.5, 0.4, 0.6, measure="auc", direction="higher")
    unlike = of(base, 0.5, 0.4, 0.6, measure="eer", naive=0.5)
    assert _decide([unlike, higher, msgspec.structs.replace(other, naive=1.0)])[0].measure == (
        "act_dcf"
    )
    assert _decide([unlike, higher]) == []


@pytest.mark.parametrize("first", [True, False])
def test_either_measure_tells(base, first):
    ends = [(0.8, 0.7, 0.9), (0.99, 0.9, 1.1)]
    rows = [
        of(base, *values, measure=name)
        for name, values in zip(("nce", "nec"), ends if first else ends[::-1], strict=True)
    ]
    problems, _ = _judged({"only device": rows}, [], KNOWN, "")
    assert [p.rule for p in problems] == [FOUND]
    assert "0.8" in problems[0].message
    assert "0.99" not in problems[0].message


@pytest.mark.parametrize("verdict", ["better", "worse", "same", "inconclusive"])
def test_a_system_that_is_not_better_is_a_problem(base, verdict):
    row, nothing = of(base, 0.8, 0.7, 0.9), of(base, 1.0, 0.9, 1.1, measure="nce")
    compared = [against(row, verdict), against(nothing, verdict)]
    problems, remarks = _judged({"only device": [nothing, row]}, compared, KNOWN, "even")
    assert [p.rule for p in problems] == [FOUND, *([] if verdict == "better" else [BASELINE])]
    assert len(remarks) == (verdict == "better")
    assert all(text.startswith("even: ") for text in [*remarks, *(p.message for p in problems)])
    problems, _ = _judged({"only device": [nothing]}, compared, KNOWN, "even")
    assert problems == ()  # what tells nothing is no baseline
