"""Measures of diarization: by hand, of the naive baseline, where undefined, and with intervals."""

import numpy as np
import pytest

from diarized import random_turns, regions, turns
from truecost.core.comparison import compare
from truecost.core.scoring import Scoring
from truecost.core.weights import Plan
from truecost.running import score
from truecost.tasks.diarization import COUNTING, DiarizationOptions, count
from truecost.tasks.measures import find

OF_SPEECH = ("der", "missed", "false_alarm", "confusion")
OF_ACTIVITY = ("speech_miss", "speech_fa", "speech_error")
REFERENCE = turns(("m", "A", 0, 10), ("m", "B", 10, 20), ("n", "A", 0, 5))
OUTPUT = turns(("m", "1", 0, 8), ("m", "2", 9, 22), ("n", "1", 0, 5))
UEM = regions(("m", 0, 30), ("n", 0, 10))


def items(reference, output, name="system", uem=UEM, **options):
    chosen = DiarizationOptions(**options)
    return count(reference, output, chosen, name, uem, tuple(COUNTING.parts))


def scored(found, *names):
    rows = score(found, Scoring(measures=names, plan=Plan(50)))
    return {row.measure: row for row in rows}


def test_by_hand():
    found = scored(items(REFERENCE, OUTPUT), *OF_SPEECH, "jer", *OF_ACTIVITY)
    # m: 8 to 9 s nobody, 9 to 10 s the wrong one, 20 to 22 s one too many
    assert found["missed"].value == pytest.approx(1 / 25)
    assert found["confusion"].value == pytest.approx(1 / 25)
    assert found["false_alarm"].value == pytest.approx(2 / 25)
    assert found["der"].value == pytest.approx(4 / 25)
    assert found["jer"].value == pytest.approx((2 / 10 + 3 / 13 + 0) / 3)
    assert found["speech_miss"].value == pytest.approx(1 / 25)
    assert found["speech_fa"].value == pytest.approx(2 / 15)
    assert found["speech_error"].value == pytest.approx(3 / 25)
    assert {row.shown_in for row in found.values()} == {"percent"}
    assert all(row.item == "recording" for row in found.values())


def test_empty_output_is_the_reference_of_der_jer_and_speech_error():
    found = items(REFERENCE, turns(), missing="worst")
    rows = scored(found, *OF_SPEECH, "jer", *OF_ACTIVITY)
    for name in ("der", "jer", "speech_error"):
        assert rows[name].value == rows[name].naive == 1.0
    for name in ("missed", "false_alarm", "confusion", "speech_miss", "speech_fa"):
        assert rows[name].naive is None


def test_parts_add_up_to_der_in_every_replicate():
    rng = np.random.default_rng(5)
    found = items(random_turns(rng, 6), random_turns(rng, 6, prefix="x"), uem=None)
    values = {name: found.each(find(name)) for name in OF_SPEECH}
    parts = sum(values[name] for name in OF_SPEECH[1:])
    assert values["der"] == pytest.approx(parts, abs=1e-12)
    rows = scored(found, *OF_SPEECH)
    assert rows["der"].value == pytest.approx(sum(rows[n].value for n in OF_SPEECH[1:]), abs=1e-12)


def test_the_whole_is_no_mean_of_recordings():
    found = items(REFERENCE, OUTPUT)
    assert found.each(find("der")) == pytest.approx([4 / 20, 0])
    assert scored(found, "der")["der"].value == pytest.approx(4 / 25)


def test_undefined_without_reference_speech():
    nobody = regions(("m", 25, 30), ("n", 6, 10))
    found = items(REFERENCE, OUTPUT, uem=nobody)
    rows = scored(found, *OF_SPEECH, "jer", *OF_ACTIVITY)
    assert rows["speech_fa"].value == 0
    for name in (*OF_SPEECH, "jer", "speech_miss", "speech_error"):
        assert rows[name].value is None
        assert "undefined" in rows[name].reason
    assert "no recording has reference speech that is scored" in found.problems[0]


def test_no_nonspeech():
    full = items(REFERENCE, OUTPUT, uem=regions(("m", 0, 20), ("n", 0, 5)))
    assert scored(full, "speech_fa")["speech_fa"].value is None


def test_the_measures_of_the_task_have_intervals_and_are_compared():
    rng = np.random.default_rng(1)
    reference = random_turns(rng, 12)
    one, two = (
        items(reference, random_turns(rng, 12, prefix="x"), name, None, collar=0.1)
        for name in ("one", "two")
    )
    rows, others = (score(found, Scoring(plan=Plan(200))) for found in (one, two))
    assert [row.measure for row in rows] == list(COUNTING.measures)
    for row, other in zip(rows, others, strict=True):
        assert row.lower < row.value < row.upper
        assert row.n_units == 12
        assert "collar:0.1|overlap:scored" in row.signature
        assert ("mapping:scored" in row.signature) == (row.measure != "jer")
        difference = compare(other, row).difference
        assert difference.value == pytest.approx(other.value - row.value)
    seconds = rows[0].counts
    assert seconds["reference"] == one.parts["speech"]["reference"].sum() / 1e6


def test_no_measure_needs_an_application():
    for name in (*OF_SPEECH, "jer", *OF_ACTIVITY):
        measure = find(name)
        assert measure.uses == ()
        assert measure.shown_in == "percent"
        assert measure.direction == "lower"
