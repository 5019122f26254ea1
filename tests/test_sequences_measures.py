"""Measures of sequences: by hand, bounds, the naive baseline, and where they are undefined."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.core.application import Application
from truecost.core.evidence import Evidence, totals
from truecost.core.tally import Tally
from truecost.core.weights import Weights
from truecost.errors import UsageError
from truecost.outputs.aligning import count_characters, count_words
from truecost.report.citations import bibtex
from truecost.tasks.measures import find
from truecost.tasks.transcripts.measures import MEASURES

NAMES = [measure.name for measure in MEASURES if measure.name != "cpwer"]  # of sessions
TEXT = st.lists(st.sampled_from("abc"), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


def value_of(name, pairs):
    """A measure of some pairs of reference and output, and what the naive baseline gets."""
    reference, hypothesis = (pl.Series(side, dtype=pl.String) for side in zip(*pairs, strict=True))
    factor, codes = tc.Factor.encode("utterance", np.arange(len(pairs)))
    parts = {"words": count_words, "characters": count_characters}
    counted = {
        n: Tally.count([(factor, codes)], of(reference, hypothesis)) for n, of in parts.items()
    }
    evidence = Evidence(counted)
    seen = find(name)(totals(evidence, Weights.ones(evidence.factors).block()), Application())
    return seen.values[0], seen.naive[0]


BY_HAND = [("a b c d", "a x c"), ("e", "e f g")]  # 1 substitution, 1 deletion; 2 insertions


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wer", 4 / 5),
        ("per", 4 / 5),
        ("cer", 7 / 8),  # "a b c d" has 7 characters, "e" has 1
        ("mer", 4 / (3 + 4)),
        ("bounded_wer", 4 / (4 + 3)),
        ("unit_accuracy", 3 / 5),
    ],
)
def test_values_by_hand(name, expected):
    assert value_of(name, BY_HAND)[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_the_naive_system_puts_out_nothing(name):
    value, reference = value_of(name, [("a b c", ""), ("d", ""), ("", "")])
    assert value == reference == (0 if name == "unit_accuracy" else 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_right_output_has_no_errors(name):
    perfect = 1 if name == "unit_accuracy" else 0
    assert value_of(name, [("a b c", "a b c"), ("", "")])[0] == perfect


@pytest.mark.parametrize("name", NAMES)
def test_without_words_in_the_reference_there_is_no_value(name):
    assert np.isnan(value_of(name, [("", "a b"), ("", "")])[0])


def test_insertions_take_the_error_rate_above_one_and_accuracy_does_not_see_them():
    pairs = [("a", "a b c d")]
    assert value_of("wer", pairs)[0] == 3
    assert value_of("unit_accuracy", pairs)[0] == 1
    assert value_of("mer", pairs)[0] == value_of("bounded_wer", pairs)[0] == 3 / 4


def test_the_length_of_the_output_does_not_divide():
    # Paper 003, section 3.2: over the 4 words put out this would be 1/4.
    assert value_of("wer", [("a b", "a b c b")])[0] == 1


@given(PAIRS)
def test_bounded_measures_are_bounded(pairs):
    for name in ("mer", "bounded_wer", "unit_accuracy"):
        value = value_of(name, pairs)[0]
        assert np.isnan(value) or 0 <= value <= 1
    if any(reference for reference, _ in pairs):
        wer, mer, bounded = (value_of(n, pairs)[0] for n in ("wer", "mer", "bounded_wer"))
        assert mer <= bounded <= wer


def test_measures_are_shown_in_percent_and_need_no_application():
    for measure in MEASURES:
        assert (measure.shown_in, measure.uses) == ("percent", ())
        assert measure.direction == ("higher" if measure.name == "unit_accuracy" else "lower")
    assert "hides insertions" in find("unit_accuracy").advice
    assert "morris-2004-mer" in bibtex(["mer"])
    assert "morris-2004-mer" not in bibtex(["wer"])


@pytest.mark.parametrize("name", ["word_accuracy", "word_precision", "wil"])
def test_measures_that_are_mistakes_say_what_to_use(name):
    with pytest.raises(UsageError, match="use wer"):
        find(name)
