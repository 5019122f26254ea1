"""The diarizer: speakers who are nobody, what a person tells of them, and real meetings."""

import gzip
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nursery
from truecost.corrections import corrector
from truecost.corrections.texts import Turn, region_of, text_of, turns_of
from truecost.errors import InputError, UsageError
from truecost.learning.learners.building import build
from truecost.learning.learners.diarizer import NEVER, TRUST, Evidence, Grid, evidence_of, threshold
from truecost.learning.lifelong.course import course_of
from truecost.learning.lifelong.life_cycle import Help, Life, run_lifelong
from truecost.learning.lifelong.person import DomainExpert
from truecost.learning.log import LogWriter, understood
from truecost.learning.system import Answer, Answered, Batch, Task
from truecost.speech.spans import MICRO

ROOT = Path(__file__).parents[1]
AMI = ROOT.parent / "shared" / "data" / "ami_diarization"
SPEECH = corrector("diarization")
FRAMES = 60
SECOND = st.integers(0, 50)


def spoken(names, least=0):
    """Diarizations of a minute, on a grid of seconds."""
    turn = st.builds(
        lambda start, length, who: Turn(start * MICRO, (start + length) * MICRO, who),
        SECOND,
        st.integers(1, 10),
        st.sampled_from(names),
    )
    return st.lists(turn, min_size=least, max_size=10).map(text_of)


OUTPUT = spoken(["1", "2", "3"], least=1)


def frames(text):
    """For each second who speaks."""
    found = [set() for _ in range(FRAMES + 1)]
    for turn in turns_of(text):
        for second in range(turn.start // MICRO, turn.end // MICRO):
            found[second].add(turn.speaker)
    return found


def batch(*outputs, ids="abcdefgh"):
    """Recordings, each with the outputs of some systems."""
    return Batch(0, tuple(ids[: len(outputs)]), np.array([[*one] for one in outputs], dtype=object))


def told(recordings, *answers):
    """Answers (row, part, text) about recordings."""
    rows = [row for row, _, _ in answers]
    said = tuple(Answer(recordings.ids[row], text, part=part) for row, part, text in answers)
    return Answered(recordings.take(rows), said)


def made(**options):
    """A diarizer."""
    return build("diarizer", Task("diarization", options=options))


# Grids


@given(OUTPUT)
def test_a_grid_says_the_same_turns(text):
    assert frames(text_of(Grid.from_turns(turns_of(text)).turns())) == frames(text)


@given(OUTPUT)
def test_shares_of_overlap_by_frames(text):
    seconds = frames(text)
    for name, share in Grid.from_turns(turns_of(text)).overlaps().items():
        own = [len(who) > 1 for who in seconds if name in who]
        assert share == pytest.approx(sum(own) / len(own))


def distance(stretch, name, turns):
    """Time from the middle of a stretch to the nearest turn of a speaker."""
    middle = sum(stretch) / 2
    return min(
        max(turn.start - middle, middle - turn.end) for turn in turns if turn.speaker == name
    )


@given(OUTPUT, st.sets(st.sampled_from(["1", "2", "3"]), max_size=2))
def test_the_time_of_heaps_goes_to_who_is_nearest(text, gone):
    turns = turns_of(text)
    others = sorted({turn.speaker for turn in turns} - gone)
    found = frames(text_of(Grid.from_turns(turns).given_to_others(gone).turns()))
    edges = sorted({time for turn in turns for time in turn[:2]})
    for start, end in pairwise(edges):
        before = {turn.speaker for turn in turns if turn.start <= start and end <= turn.end}
        free = [name for name in others if name not in before]
        right = before - gone
        if before & gone and free:
            right |= {min(free, key=lambda name: (distance((start, end), name, turns), name))}
        for second in range(start // MICRO, end // MICRO):
            assert found[second] == right


# Evidence


@given(OUTPUT, spoken(["1", "2", "new"]), SECOND, st.integers(1, 10))
def test_evidence_by_frames(text, right, start, length):
    end = start + length
    said = text_of(
        Turn(max(t.start, start * MICRO), min(t.end, end * MICRO), t.speaker)
        for t in turns_of(right)
        if t.start < end * MICRO and t.end > start * MICRO
    )
    found = evidence_of(text, {f"{start}-{end}": said})
    mine, theirs = frames(text), frames(said)
    speakers = sorted({who for names in mine for who in names})
    inside = range(start, min(end, FRAMES))
    assert set(found) == {n for n in speakers if any(n in mine[second] for second in inside)}
    for name, evidence in found.items():
        here = [second for second in inside if name in mine[second]]
        called = [
            sum(other in theirs[second] for second in here)
            for other in {name, *({"1", "2", "new"} - set(speakers))}
        ]
        assert evidence.own == pytest.approx(max(called))
        assert evidence.own + evidence.other == pytest.approx(len(here))
        assert evidence.all == sum(name in names for names in mine)


EVIDENCE = st.builds(
    Evidence,
    st.sampled_from([0.1, 0.2, 0.5, 0.8, 0.9]),
    st.integers(10, 400).map(float),
    st.integers(0, 40).map(float),
    st.integers(0, 60).map(float),
    st.just("1"),
)


@given(st.lists(EVIDENCE, max_size=8))
def test_no_other_threshold_loses_less(known):
    def lost(share):
        return sum(
            one.own + TRUST * one.all if one.overlap >= share else one.other for one in known
        )

    chosen = threshold(known)
    least = min(map(lost, [0.0, 0.15, 0.3, 0.6, 0.85, NEVER]))
    assert lost(chosen) == pytest.approx(least)


def test_nobody_is_a_heap_before_anything_was_told():
    assert threshold([]) == NEVER
    assert made().predict(batch(["0 1 a|0 1 b"])).decisions == ("0 1 a|0 1 b",)


# The learner

# 3 is what is left of 1 and 2 speaking at once
HEAP = "0 40 1|10 20 3|30 40 3|50 90 2|60 70 3|80 90 3"


def test_what_is_a_heap_is_learnt_and_known_in_the_next_recording():
    learner, recordings = made(), batch([HEAP], [HEAP])
    learner.adapt(recordings, told(recordings, (0, "10-20", "10 20 1|10 20 2")))
    first, second = learner.predict(recordings).decisions
    assert second == "0 40 1|10 20 2|30 40 2|50 90 2|60 70 1|80 90 1"
    assert SPEECH.is_right(first, "0 40 x|10 20 y|30 40 y|50 90 y|60 70 x|80 90 x")


def test_without_heaps_only_what_was_told_changes():
    learner, recordings = made(heaps=False), batch([HEAP], [HEAP])
    learner.adapt(recordings, told(recordings, (0, "10-20", "10 20 1|10 20 2")))
    first, second = learner.predict(recordings).decisions
    assert second == HEAP
    assert first == SPEECH.correct(HEAP, "0 40 1|10 20 2|10 20 1", "10-20", base="0 40 1|10 20 2")


def test_one_region_of_a_long_speaker_makes_no_heap():
    output = "0 400 1|100 110 2|300 500 2"
    learner, recordings = made(), batch([output])
    learner.adapt(recordings, told(recordings, (0, "100-105", "100 105 1")))
    [found] = learner.predict(recordings).decisions
    assert found == "0 400 1|105 110 2|300 500 2"


@given(OUTPUT, spoken(["1", "2", "new"], least=1), SECOND, st.integers(1, 10))
@settings(deadline=None)
def test_what_was_told_stays(output, reference, start, length):
    part = f"{start}-{start + length}"
    right = SPEECH.answer(output, reference, part)
    learner, recordings = made(), batch([output])
    learner.adapt(recordings, told(recordings, (0, part, right)))
    [found] = learner.predict(recordings).decisions
    inside = slice(start, start + length)
    assert frames(found)[inside] == frames(right)[inside]


def test_it_asks_where_two_systems_differ_most_and_nothing_twice():
    recordings = batch(["0 30 1|40 50 2", "0 30 a|40 44 b"], ["0 9 1|9 20 2", "0 20 a|0 1 b"])
    learner = made()
    asked = learner.ask(recordings, 2)
    assert [(question.id, question.part) for question in asked] == [
        ("b", "0-9"),
        ("a", "44-50"),
    ]  # 2 is a
    learner.adapt(recordings, told(recordings, (1, "0-9", "0 9 2")))
    assert ("b", "0-9") not in [(q.id, q.part) for q in learner.ask(recordings, 9)]
    assert made(output=0).ask(batch(["0 1 a"]), 3) == []


def test_it_can_start_from_either_output_and_be_put_back():
    recordings = batch(["0 30 1", "0 30 a|40 44 b"])
    learner = made(output=1)
    state = learner.snapshot()
    assert learner.predict(recordings).decisions == ("0 30 a|40 44 b",)
    learner.adapt(recordings, told(recordings, (0, "40-44", ""), (0, "", "0 30 a")))
    assert learner.predict(recordings).decisions == ("0 30 a",)
    learner.restore(state)
    assert learner.predict(recordings).decisions == ("0 30 a|40 44 b",)
    assert learner.snapshot() == state


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match="but the task is classes"):
        build("diarizer", Task("classes", ("a", "b")))
    with pytest.raises(UsageError, match="output"):
        made(output=-1)
    with pytest.raises(InputError, match="output = 1, but the number of outputs in batch 0 is 1"):
        made(output=1).predict(batch(["0 1 a"]))
    with pytest.raises(InputError, match="this snapshot cannot be used"):
        made().restore(b"nothing")


# The source


RTTM = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"
TABLE = "recording,time,set\na,1,lifelong\nb,1.5,test\nc,2,lifelong\nd,2.5,test\n"


def files(folder, table=TABLE, names="abcd", speaker="x"):
    """Settings of a source of four recordings."""
    (folder / "recordings.csv").write_text(table)
    for side in ("reference", "one", "two"):
        lines = (RTTM.format(name, 0, 5 if side == "one" else 4, speaker) for name in names)
        (folder / f"{side}.rttm").write_text("".join(lines))
    return {
        "recordings": str(folder / "recordings.csv"),
        "reference": str(folder / "reference.rttm"),
        "outputs": [str(folder / "one.rttm"), str(folder / "two.rttm")],
    }


def test_the_course_of_recordings(tmp_path):
    course = course_of("diarization", files(tmp_path), 0)
    assert course.kind == "diarization"
    assert [set_.ids for set_ in course.lifelong] == [("a",), ("c",)]
    assert [set_.ids for set_ in course.test] == [("b",), ("d",)]
    assert course.references["b"] == "0 4 x"
    assert course.test[0].features.tolist() == [["0 5 x", "0 4 x"]]
    assert course.tested.tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": TABLE.replace("d,2.5,test", "d,2.5,tests")}, "1 recording of another set"),
        ({"table": TABLE.replace("d,2.5", "d,soon")}, "'soon' cannot be read"),
        ({"names": "xyz"}, "has none of the recordings"),
        ({"speaker": "a|b"}, "expected a name without blanks"),
    ],
)
def test_bad_recordings_are_refused(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        course_of("diarization", files(tmp_path, **change), 0)


def test_a_source_without_outputs_is_refused(tmp_path):
    with pytest.raises(UsageError, match="outputs = \\[\\] names no file"):
        course_of("diarization", files(tmp_path) | {"outputs": []}, 0)


def test_a_life_of_recordings(tmp_path):
    """One correction makes the wrong end right, and every version of it is the same."""
    course = course_of("diarization", files(tmp_path), 0)
    place = tmp_path / "events.jsonl"
    with LogWriter.open(place) as log:
        expert = DomainExpert(course.kind, course.references)
        life = Life(stream=Help(corrections=1), test=Help(corrections=1))
        run_lifelong(course, made(), expert, life, log)
        log.finish()
    events = understood(place, place.read_bytes().splitlines())
    events = [one for one in events if one.event == "predict"]
    assert {one.decision for one in events if one.phase == "pre"} == {"0 5 x"}
    assert {one.decision for one in events if one.phase == "post"} == {"0 4 x"}


# Real meetings


def ami(name, meeting):
    """A diarization of one meeting."""
    found = defaultdict(list)
    with gzip.open(AMI / name, "rt") as lines:
        for line in lines:
            _, recording, _, start, length, _, _, speaker, *_ = line.split()
            end = float(start) + float(length)
            found[recording].append(Turn(round(float(start) * MICRO), round(end * MICRO), speaker))
    return text_of(turn for turn in found[f"{meeting}.Mix-Headset"] if turn.end > turn.start)


def wrong(output, reference):
    """The diarization error rate."""
    errors = sum(part.errors for part in SPEECH.parts(output, reference))
    spoken_ = Grid.from_turns(turns_of(reference))
    return errors * MICRO / float((spoken_.speaks @ spoken_.lengths).sum())


@pytest.mark.skipif(not AMI.exists(), reason="needs ../shared/data/ami_diarization")
def test_corrections_of_a_real_meeting_teach_what_is_a_heap():
    """Six costliest regions of EN2002a: what they put right themselves, and what is learnt."""
    reference, output = ami("ref_rttm_test.gz", "EN2002a"), ami("rttm_test_vb.gz", "EN2002a")
    rates = {}
    for heaps in (False, True):
        learner, recordings = made(heaps=heaps), batch([output])
        rates["base"] = wrong(output, reference)
        for _ in range(6):
            [said] = learner.predict(recordings).decisions
            worst = max(SPEECH.parts(said, reference), key=lambda part: part.errors).name
            right = SPEECH.answer(said, reference, worst)
            learner.adapt(recordings, told(recordings, (0, worst, right)))
        [said] = learner.predict(recordings).decisions
        rates[heaps] = wrong(said, reference)
    assert rates["base"] == pytest.approx(0.3582, abs=1e-3)
    assert rates[False] == pytest.approx(0.306, abs=2e-3)
    assert rates[True] < rates[False] - 0.05


@pytest.mark.skipif(not AMI.exists(), reason="needs ../shared/data/ami_diarization")
def test_the_table_of_meetings():
    script = ROOT / "examples" / "lifelong" / "prepare_diarization.py"
    place = AMI / "ref_rttm_test.gz"
    lines = nursery.ran([script, place]).splitlines()
    assert lines[0] == "recording,time,set"
    assert len(lines) == 17
    assert "ES2004b.Mix-Headset,2,lifelong" in lines
    assert "TS3003d.Mix-Headset,4.5,test" in lines


def test_regions_that_were_told_are_regions():
    with pytest.raises(InputError, match="expected START-END"):
        region_of("everything")
