"""A single text in place of several names is refused: Python would take it letter by letter."""

import pytest

import truecost as tc
from truecost.outputs.utterances import TextOptions
from truecost.tasks.lifelong.kind_whole import ClassOptions
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.trials.methods import RunColumns


@pytest.mark.parametrize(
    ("make", "name", "text"),
    [
        (lambda: tc.Scoring(measures="eer"), "measures", "eer"),
        (lambda: tc.Scoring(subsets="noise"), "subsets", "noise"),
        (lambda: tc.abba.AbbaScoring(estimators="soft"), "estimators", "soft"),
        (lambda: tc.trials.Options("llr", classes="ab"), "classes", "ab"),
        (lambda: tc.Plan(hold="speaker"), "hold", "speaker"),
        (lambda: tc.Runs("m", {"seed": ("1", "2")}, hold="seed"), "hold", "seed"),
        (lambda: tc.Runs("m", {"seed": "12"}), "seed", "12"),
        (lambda: RunColumns(runs="ab"), "runs", "ab"),
        (lambda: RunColumns(hold="seed"), "hold", "seed"),
        (lambda: StreamScoring(annotations="queries"), "annotations", "queries"),
        (lambda: TextOptions(normalise="lower"), "normalise", "lower"),
        (lambda: ClassOptions(classes="ab"), "classes", "ab"),
    ],
)
def test_a_text_is_not_several_names(make, name, text):
    with pytest.raises(tc.UsageError, match=rf"{name} is the text '{text}'.*write \('{text}',\)$"):
        make()


def test_names_may_come_as_a_list():
    assert tc.Scoring(measures=["eer"]).measures == ["eer"]
    assert tc.Plan(hold=["speaker"]).hold == ["speaker"]


def test_one_training_prior_is_not_that_of_each_class():
    with pytest.raises(tc.UsageError, match=r"training_prior is 0\.25: .* \(0\.5, 0\.5\)"):
        tc.Scoring(choices=tc.TrialsScoring(training_prior=0.25))
