"""Corrections: parts add up to the errors of an output, and putting all in place makes it right."""

import gzip
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diarized import turns
from truecost.corrections import CORRECTORS, WHOLE, Part, corrector
from truecost.corrections.kinds import compared
from truecost.corrections.texts import Turn, edits, region_name, region_of, text_of, turns_of
from truecost.errors import InputError, UsageError
from truecost.speech.spans import MICRO
from truecost.tasks.diarization import DiarizationOptions, count

AMI = Path(__file__).parents[2] / "shared" / "data" / "ami_diarization"
SPEECH = corrector("diarization")
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8).map(" ".join)


def spoken(names):
    """Diarizations of half a minute at most, on a grid of a tenth of a second."""
    turn = st.builds(
        lambda start, length, who: Turn(start * 100_000, (start + length) * 100_000, who),
        st.integers(0, 250),
        st.integers(1, 50),
        st.sampled_from(names),
    )
    return st.lists(turn, max_size=12).map(text_of)


REFERENCES, OUTPUTS = spoken(["ann", "bob", "cy"]), spoken(["1", "2", "3", "ann"])


def frames(text, names):
    """Who speaks in each tenth of a second: bool (names, frames)."""
    marks = np.zeros((len(names), 320), bool)
    for turn in turns_of(text):
        marks[names.index(turn.speaker), turn.start // 100_000 : turn.end // 100_000] = True
    return marks


def table(text):
    """A diarization as the task reads it."""
    rows = [("r", turn.speaker, turn.start / MICRO, turn.end / MICRO) for turn in turns_of(text)]
    return turns(*rows)


def errors(output, reference):
    """Seconds of missed speech, false alarm and confusion, as the task counts them."""
    found = count(
        table(reference),
        table(output),
        DiarizationOptions(missing="worst", allow_duplicates=True),
        "s",
    )
    return sum(found.parts["speech"][k][0] for k in ("missed", "false_alarm", "confusion")) / MICRO


# Classes and texts


def test_a_class_is_one_error_one_word_and_one_action():
    classes = corrector("classes")
    assert classes.parts("cat", "dog") == (Part(WHOLE, 1.0, 1, 1),)
    assert classes.parts("cat", "") == (Part(WHOLE, 1.0, 1, 1),)  # a class without a name
    assert classes.parts("dog", "dog") == ()
    assert classes.correct("cat", "dog", WHOLE) == "dog"
    assert classes.is_right("dog", ("cat", "dog"))
    assert classes.answer("dog", ("cat", "dog"), WHOLE) == "dog"


def test_a_text_costs_the_edits_to_the_nearest_reference():
    texts = corrector("translation")
    references = ("the house is small", "the home is tiny")
    assert texts.parts("the home was tiny", references) == (Part(WHOLE, 1.0, 4, 1),)
    assert texts.correct("the home was tiny", references, WHOLE) == references[1]
    assert texts.parts("", "one two") == (Part(WHOLE, 2.0, 2, 2),)
    assert texts.parts("one two", "") == (Part(WHOLE, 2.0, 0, 2),)


@given(WORDS, WORDS)
def test_edits_are_those_of_rapidfuzz(one, other):
    distance = pytest.importorskip("rapidfuzz.distance").Levenshtein.distance
    assert edits(one, other) == distance(one.split(), other.split())


@given(WORDS, WORDS)
def test_a_text_is_right_exactly_when_nothing_is_to_be_corrected(output, reference):
    texts = corrector("transcripts")
    found = texts.parts(output, reference)
    assert (not found) == texts.is_right(output, reference) == (edits(output, reference) == 0)
    assert texts.is_right(texts.correct(output, reference, WHOLE), reference)


@pytest.mark.parametrize("kind", ["classes", "transcripts", "translation"])
def test_only_speech_has_regions(kind):
    with pytest.raises(InputError, match="corrected as a whole"):
        corrector(kind).correct("a", "b", "1-2")


def test_an_unknown_kind_is_refused_with_the_one_that_was_meant():
    with pytest.raises(UsageError, match="did you mean 'diarization'"):
        corrector("diarisation")
    assert set(CORRECTORS) == {"classes", "transcripts", "translation", "diarization"}


# Speech as text


@given(OUTPUTS)
def test_text_of_turns_is_read_back(text):
    assert text_of(turns_of(text)) == text


@given(st.integers(0, 10**12), st.integers(1, 10**10))
def test_names_of_regions_are_read_back_to_the_microsecond(start, length):
    assert region_of(region_name(start, start + length)) == (start, start + length)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 a|2 b", "turn 2 .*expected START END SPEAKER"),
        ("0 1 a|", "turn 2"),
        ("0 1,5 a", "'1,5' is not a time"),
        ("0 nan a", "'nan' is not a time"),
        ("-1 2 a", "'-1' is not a time: expected seconds, 0 or more"),
        ("0 2e10 a", "'2e10' is not a time"),
        ("2 1 a", "must end after its start"),
        ("0 1 a b", "expected START END SPEAKER"),
    ],
)
def test_what_is_no_diarization_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        turns_of(text)


@pytest.mark.parametrize("name", ["", "a b", "a|b", " a"])
def test_names_that_cannot_be_read_back_are_not_written(name):
    with pytest.raises(InputError, match="a name must not"):
        text_of([Turn(0, 1, name)])


@pytest.mark.parametrize("part", ["", "12", "3-2", "2-2", "a-b", "1-2-3", "-1-2"])
def test_what_is_no_region_is_refused(part):
    with pytest.raises(InputError, match="region"):
        SPEECH.correct("0 1 a", "0 1 b", part)


# Diarization


def test_regions_by_hand():
    reference = "0 10 ann|10 20 bob|25 30 ann"
    output = "0 8 1|8 20 2|22 23 2|25 30 1"
    # 8-10 bob for ann, 22-23 nobody is there
    assert SPEECH.parts(output, reference) == (
        Part("8-10", 2.0, 1, 1),
        Part("22-23", 1.0, 0, 1),
    )
    assert SPEECH.correct(output, reference, "8-10") == "0 10 1|10 20 2|22 23 2|25 30 1"
    assert SPEECH.answer(output, reference, "8-10") == "8 10 1"
    assert SPEECH.answer("", reference, "8-10") == "8 10 ann"
    assert SPEECH.answer(output, reference, "22-23") == ""


def test_who_is_mapped_to_nobody_gets_a_new_name():
    reference, output = "0 10 ann|10 12 bob", "0 10 bob"
    assert SPEECH.correct(output, reference, "10-12") == "0 10 bob|10 12 bob+"


def test_a_diarization_has_one_reference():
    assert SPEECH.is_right("0 1 x", ("0 1 a",))
    with pytest.raises(InputError, match="2 references are given"):
        SPEECH.is_right("0 1 x", ("0 1 a", "0 1 b"))


@given(REFERENCES.filter(bool), OUTPUTS)
@settings(deadline=None)
def test_errors_of_parts_add_up_to_those_of_the_task(reference, output):
    found = SPEECH.parts(output, reference)
    assert sum(part.errors for part in found) == pytest.approx(errors(output, reference), abs=1e-9)
    assert (not found) == SPEECH.is_right(output, reference)
    places = [region_of(part.name) for part in found]
    assert all(one[1] < other[0] for one, other in pairwise(places))


@given(REFERENCES, OUTPUTS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_all_parts_in_place_make_it_right_in_any_order(reference, output, random):
    found, better = list(SPEECH.parts(output, reference)), output
    random.shuffle(found)
    for part in found:
        better = SPEECH.correct(better, reference, part.name, base=output)
    assert SPEECH.is_right(better, reference)


@given(REFERENCES, OUTPUTS)
@settings(deadline=None)
def test_a_corrected_region_is_the_reference_and_the_rest_stays(reference, output):
    names = compared(output, reference).names
    every = sorted({*names.values(), *(turn.speaker for turn in turns_of(output))})
    renamed = text_of(t._replace(speaker=names[t.speaker]) for t in turns_of(reference))
    right, before = frames(renamed, every), frames(output, every)
    for part in SPEECH.parts(output, reference):
        start, end = (time // 100_000 for time in region_of(part.name))
        after = frames(SPEECH.correct(output, reference, part.name), every)
        inside = np.zeros(320, bool)
        inside[start:end] = True
        assert (after == np.where(inside, right, before)).all()
        correct = (right & before)[:, start:end].sum(axis=0)
        most = np.maximum(right.sum(axis=0), before.sum(axis=0))[start:end]
        assert part.errors == pytest.approx((most - correct).sum() / 10)


@given(REFERENCES, OUTPUTS)
@settings(deadline=None)
def test_who_corrects_what_is_left_comes_to_an_end(reference, output):
    left = sum(part.errors for part in SPEECH.parts(output, reference))
    while found := SPEECH.parts(output, reference):
        worst = max(found, key=lambda part: part.errors)
        output = SPEECH.correct(output, reference, worst.name)
        now = sum(part.errors for part in SPEECH.parts(output, reference))
        assert now <= left - worst.errors + 1e-9  # a new mapping can only be better
        left = now
    assert SPEECH.is_right(output, reference)


@given(REFERENCES, OUTPUTS)
@settings(deadline=None)
def test_actions_lie_between_none_and_all_turns(reference, output):
    for part in SPEECH.parts(output, reference):
        start, end = region_of(part.name)
        assert part.words == len(turns_of(SPEECH.answer(output, reference, part.name)))
        said = sum(turn.start < end and turn.end > start for turn in turns_of(output))
        assert 1 <= part.actions <= max(part.words, said)


# Real recordings


def ami(name):
    """A diarization of each meeting."""
    found = defaultdict(list)
    with gzip.open(AMI / name, "rt") as lines:
        for line in lines:
            _, meeting, _, start, length, _, _, speaker, *_ = line.split()
            times = (round(float(start) * MICRO), round((float(start) + float(length)) * MICRO))
            found[meeting] += [Turn(*times, speaker)] if times[1] > times[0] else []
    return {meeting: text_of(found[meeting]) for meeting in sorted(found)}


@pytest.mark.skipif(not AMI.exists(), reason="needs ../shared/data/ami_diarization")
@pytest.mark.parametrize(("system", "der"), [("vb", 0.214985), ("sc", 0.235560)])
def test_regions_of_real_meetings_add_up_to_the_published_error(system, der):
    """Figures of pyannote.metrics 4.2: 16 meetings pooled, no collar."""
    reference, output = ami("ref_rttm_test.gz"), ami(f"rttm_test_{system}.gz")
    wrong = sum(p.errors for m in reference for p in SPEECH.parts(output[m], reference[m]))
    sides = [compared(output[meeting], reference[meeting]) for meeting in reference]
    total = sum((side.reference.sum(axis=0) * np.diff(side.edges)).sum() for side in sides) / MICRO
    assert wrong / total == pytest.approx(der, rel=1e-3)
    first = next(iter(reference))
    better = output[first]
    for part in SPEECH.parts(output[first], reference[first])[:40]:
        better = SPEECH.correct(better, reference[first], part.name, base=output[first])
    found = SPEECH.parts(output[first], reference[first])[40:]
    assert sum(p.errors for p in SPEECH.parts(better, reference[first])) == pytest.approx(
        sum(part.errors for part in found)
    )
