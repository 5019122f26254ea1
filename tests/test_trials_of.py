"""Trials from arrays: what is refused; and what holds arrays is equal to itself only."""

import numpy as np
import pytest

import truecost as tc
from truecost.core.leaderboard import standings
from truecost.tasks.trials import curves

SCORES, LABELS = [2.0, -1.0, 0.5], [1, 0, 1]


@pytest.mark.parametrize("name", ["label", "score", "id"])
@pytest.mark.parametrize("scores", [SCORES, [[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]])
def test_a_further_column_may_not_replace_what_the_arguments_give(name, scores):
    kind = "llr" if scores is SCORES else "log-score"
    with pytest.raises(tc.UsageError, match=rf"s: a further column cannot be named {name}, as"):
        tc.Trials.from_arrays(scores, LABELS, kind=kind, name="s", **{name: [1, 1, 1]})


def test_a_further_column_may_not_be_named_as_an_annotator():
    labels = [["a", "b"], ["b", "b"], ["a", "a"]]
    with pytest.raises(tc.UsageError, match="cannot be named annotator 0"):
        tc.Trials.from_arrays(
            *(["a", "b", "a"], labels),
            kind="decision",
            annotators="votes",
            **{"annotator 0": [1, 2, 3]},
        )


def test_other_further_columns_are_kept():
    trials = tc.Trials.from_arrays(
        SCORES, LABELS, kind="llr", room=["x", "y", "x"], labelled=[1, 2, 3]
    )
    assert [name for name, _ in trials.subset("room")] == ["room=x", "room=y"]
    assert trials.labels.tolist() == LABELS
    assert trials.scores.tolist() == SCORES


def test_two_factors_are_crossed_as_those_of_a_file():
    labels = np.arange(40) % 2
    scores = np.random.default_rng(0).normal(2.0 * labels)
    units = {"unit": np.arange(40) % 5, "unit2": np.arange(40) // 8}
    scoring = tc.Scoring(measures=("auc",), plan=tc.Plan(20))
    (row,) = tc.score_system(tc.Trials.from_arrays(scores, labels, kind="llr", **units), scoring)
    assert row.units_by_factor == {"unit": 5, "unit2": 5}
    assert "crossed" not in row.flags  # that is said of percentile intervals
    (first,) = tc.score_system(
        tc.Trials.from_arrays(scores, labels, kind="llr", unit=units["unit"]), scoring
    )
    assert row.replicates.tolist() != first.replicates.tolist()


def test_strata_of_units_are_drawn_each_by_itself():
    labels, units = np.arange(40) % 2, np.arange(40) // 4
    trials = tc.Trials.from_arrays(labels, labels, kind="llr", unit=units, stratum=units % 2)
    assert trials.strata.tolist() == (units % 2).astype(str).tolist()
    with pytest.raises(tc.InputError, match="stratum"):
        tc.score_system(
            tc.Trials.from_arrays(
                labels, labels, kind="llr", unit=units, stratum=np.arange(40) % 2
            ),
            tc.Scoring(plan=tc.Plan(5)),
        )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("uni2", "Trials.from_arrays has no parameter 'uni2' .did you mean 'unit2'"),
        ("unit3", "did you mean 'unit"),
        ("strata", "no argument strata .did you mean stratum"),
        ("weigth", "did you mean 'weight'"),
        ("annotator", "did you mean 'annotators'"),
        ("soft", "cannot be named 'soft', which has a meaning in files"),
    ],
)
def test_a_further_column_with_nearly_the_name_of_an_argument_is_refused(name, said):
    with pytest.raises(tc.UsageError, match=said):
        tc.Trials.from_arrays(SCORES, LABELS, kind="llr", **{name: [1, 2, 3]})


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (
            {"scores": 1.0},
            r"s: scores has a single value, 1\.0: give one entry for each trial.* \(N, K\)",
        ),
        ({"labels": "target"}, "s: labels has a single value, 'target': give one entry for"),
        ({"scores": np.zeros((3, 2, 2))}, r"s: scores has the shape \(3, 2, 2\): give one entry"),
        ({"labels": np.zeros((3, 1, 1))}, r"s: labels has the shape \(3, 1, 1\): give one entry"),
        ({"unit": "ann"}, r"s: unit has a single value, 'ann': give one entry .* shape \(N,\)"),
        ({"ids": np.zeros((3, 2))}, r"s: id has the shape \(3, 2\): give one entry"),
        ({"weight": 1.0}, "s: weight has a single value"),
        ({"room": "x"}, "s: room has a single value"),
        ({"scores": []}, r"different lengths \(\{'label': 3, 'score': 0\}\)"),
    ],
)
def test_single_values_and_arrays_of_too_many_dimensions_are_refused(arrays, said):
    given = {"scores": SCORES, "labels": LABELS} | arrays
    with pytest.raises(tc.InputError, match=said):
        tc.Trials.from_arrays(
            given.pop("scores"), given.pop("labels"), kind="llr", name="s", **given
        )


def some(name="s"):
    labels = np.arange(200) % 2
    llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    return tc.Trials.from_arrays(llrs, labels, kind="llr", name=name, unit=np.arange(200) // 5)


def test_what_holds_arrays_is_equal_to_itself_only():
    scoring = tc.Scoring(tc.Application.detection(prior=0.5), ("act_dcf", "cllr"), tc.Plan(30))

    def made():
        return [
            *tc.score_system(some(), scoring),
            *curves.det_curves([some()], scoring),
            *curves.cost_curves([some()], scoring),
            *curves.reliabilities([some()], scoring),
        ]

    first, second = made(), made()
    assert len(first) == 5
    for one, other in zip(first, second, strict=True):
        assert one == one  # noqa: PLR0124
        assert one != other
        assert one in first
        assert other not in first
        assert len({one, other}) == 2


def test_rows_are_compared_by_their_content():
    scoring = tc.Scoring(measures=("cllr",), plan=tc.Plan(30))
    [one], [other] = tc.score_system(some(), scoring), tc.score_system(some(), scoring)
    assert one.row() == other.row()
    assert one.row() != tc.score_system(some("t"), scoring)[0].row()


def test_an_estimate_is_stored_as_its_row():
    [found] = tc.score_system(some(), tc.Scoring(measures=("cllr",), plan=tc.Plan(30)))
    assert found.to_dict() == found.row().to_dict()
    assert found.to_dict()["measure"] == "cllr"
    assert "replicates" not in found.to_dict()


def test_a_leaderboard_of_nothing_is_refused():
    with pytest.raises(tc.UsageError, match="at least one system"):
        standings([])
