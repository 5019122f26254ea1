"""Diarization by recording: frames, laws, what is scored and shown, and what is refused."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarized import Frames, counts, everywhere, regions, told, turns
from truecost.errors import InputError, UsageError
from truecost.formats import Table
from truecost.tasks.diarization import COUNTING, DiarizationOptions

PARTS = ("speech", "speakers", "activity")
MILLI = st.integers(0, 20_000).map(lambda ms: ms / 1000)
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["r0", "r1"]), st.sampled_from("abcd"), MILLI, st.integers(1, 4000)
    ).map(lambda t: (*t[:3], round(t[2] + t[3] / 1000, 3))),
    min_size=1,
    max_size=14,
    unique=True,
)


# Frames of a millisecond


@given(TURNS, TURNS, st.sampled_from([0.0, 0.05, 0.4]), st.booleans())
def test_counts_equal_frames(reference, output, collar, skip):
    names = {row[0] for row in reference}
    output = [row for row in output if row[0] in names]
    items = told(
        turns(*reference),
        turns(*output),
        parts=("speech", "speakers"),
        missing="worst",
        collar=collar,
        skip_overlap=skip,
    )
    for k, name in enumerate(items.ids):
        sides = [
            [(w, round(1000 * s), round(1000 * e)) for r, w, s, e in side if r == name]
            for side in (reference, output)
        ]
        times = [t for side in sides for _, s, e in side for t in (s, e)]
        frames = Frames(*sides, min(times), max(times), round(1000 * collar), skip)
        speech = {of: int(v[k]) for of, v in items.parts["speech"].items()}
        assert speech == {of: 1000 * ms for of, ms in frames.speech().items()}
        speakers, errors = frames.jaccard()
        assert items.parts["speakers"]["speakers"][k] == speakers
        assert items.parts["speakers"]["errors"][k] == pytest.approx(errors, abs=1e-9)


# Laws


def same(a, b):
    return a.ids.tolist() == b.ids.tolist() and all(
        np.array_equal(values, b.parts[part][name])
        for part, of in a.parts.items()
        for name, values in of.items()
    )


def both_have(reference, output):
    """Output for every recording of the reference, and for no other."""
    names = {row[0] for row in reference}
    return [row for row in output if row[0] in names] + [(name, "d", 1, 2) for name in names]


@given(TURNS, TURNS, st.sampled_from([0.0, 0.1]), st.randoms())
def test_order_and_names_do_not_matter(reference, output, collar, random):
    output = both_have(reference, output)
    options = {"collar": collar, "parts": ("speech", "speakers")}
    first = told(turns(*reference), turns(*output), **options)
    renamed = dict(zip("abcd", random.sample("wxyz", 4), strict=True))
    sides = []
    for side in (reference, output):
        rows = [(r, renamed[who], s, e) for r, who, s, e in side]
        sides.append(turns(*random.sample(rows, len(rows))))
    assert same(first, told(*sides, **options))


@given(TURNS, TURNS, st.booleans())
def test_parts_add_up(reference, output, skip):
    output = both_have(reference, output)
    found = told(turns(*reference), turns(*output), skip_overlap=skip).parts["speech"]
    reached = found["correct"] + found["confusion"]
    assert (found["reference"] == reached + found["missed"]).all()
    assert all((values >= 0).all() for values in found.values())
    said = told(turns(*output), turns(*output), missing="drop").parts["speech"]["reference"]
    if not skip:
        assert (said == reached + found["false_alarm"]).all()


@given(TURNS, TURNS)
def test_sides_exchanged_exchange_missed_and_false_alarm(reference, output):
    output = both_have(reference, output)
    one = counts(turns(*reference), turns(*output))
    other = counts(turns(*output), turns(*reference))
    assert one["missed"] == other["false_alarm"]
    assert one["false_alarm"] == other["missed"]
    assert one["correct"] == other["correct"]
    assert one["confusion"] == other["confusion"]


@given(TURNS, st.sampled_from([0.0, 0.1]), st.booleans())
def test_the_reference_itself_is_free_of_errors(reference, collar, skip):
    table = turns(*reference)
    found = counts(table, table, PARTS, collar=collar, skip_overlap=skip, tolerance=collar)
    assert found["missed"] == found["false_alarm"] == found["confusion"] == found["errors"] == 0


@given(TURNS, st.sampled_from([0.0, 0.1]), st.booleans())
def test_empty_output_misses_everything(reference, collar, skip):
    found = told(
        turns(*reference),
        turns(),
        parts=("speech", "speakers"),
        collar=collar,
        skip_overlap=skip,
        missing="worst",
    ).parts
    assert (found["speech"]["missed"] == found["speech"]["reference"]).all()
    assert not found["speech"]["false_alarm"].any()
    assert (found["speakers"]["errors"] == found["speakers"]["speakers"]).all()


@given(TURNS, TURNS, st.sampled_from([0.0, 0.1]))
def test_files_put_together_add(reference, output, collar):
    output = both_have(reference, output)
    whole = told(turns(*reference), turns(*output), collar=collar)
    for k, name in enumerate(whole.ids):
        sides = [turns(*(r for r in side if r[0] == name)) for side in (reference, output)]
        alone = told(*sides, collar=collar)
        assert alone.ids.tolist() == [name]
        for of, values in whole.parts["speech"].items():
            assert alone.parts["speech"][of] == values[k]


@given(TURNS, TURNS, st.sampled_from([0.0, 0.1]))
def test_cutting_a_turn_in_two_changes_nothing(reference, output, collar):
    output = both_have(reference, output)
    cut = [
        piece
        for r, who, s, e in reference
        for piece in ((r, who, s, round((s + e) / 2, 3)), (r, who, round((s + e) / 2, 3), e))
    ]
    whole = told(turns(*reference), turns(*output), collar=collar)
    assert same(whole, told(turns(*cut), turns(*output), collar=collar))


@given(TURNS, TURNS)
def test_skipped_overlap_is_a_region_that_is_not_scored(reference, output):
    output = both_have(reference, output)
    skipped = told(turns(*reference), turns(*output), skip_overlap=True)
    overlaps = []
    for (r, a, s, e), (q, b, t, f) in itertools.combinations(reference, 2):
        if r == q and a != b and max(s, t) < min(e, f):
            overlaps.append((r, "", max(s, t), min(e, f)))
    kinds = ["SPEAKER"] * len(reference) + ["NOSCORE"] * len(overlaps)
    marked = turns(*reference, *overlaps, type=kinds)
    assert same(skipped, told(marked, turns(*output)))


@given(TURNS, TURNS, MILLI, st.sampled_from([0.0, 0.1]))
def test_regions_that_touch_or_overlap_are_one(reference, output, at, collar):
    output = both_have(reference, output)
    names = sorted({row[0] for row in reference})
    one = regions(*((name, 0, 30) for name in names))
    two = regions(
        *((n, *t) for n in names for t in ((at, 30), (0, at), (at / 2, at + 0.1)) if t[1])
    )
    sides = turns(*reference), turns(*output)
    assert same(told(*sides, uem=one, collar=collar), told(*sides, uem=two, collar=collar))


@given(TURNS, TURNS)
def test_gaps_merged_in_the_frames_of_both_sides(reference, output):
    output = both_have(reference, output)
    found = counts(turns(*reference), turns(*output), ("activity",), merge_gaps=1000.0)
    extents = {}
    for name in {row[0] for row in reference}:
        sides = [[row for row in side if row[0] == name] for side in (reference, output)]
        extents[name] = [(min(r[2] for r in s), max(r[3] for r in s)) for s in sides]
    missed = sum(e - s - max(0, min(e, f) - max(s, t)) for (s, e), (t, f) in extents.values())
    assert found["speech"] == pytest.approx(sum(e - s for (s, e), _ in extents.values()), abs=1e-6)
    assert found["missed"] == pytest.approx(missed, abs=1e-6)


# Voice activity by hand


def test_voice_activity_by_hand():
    reference = turns(("m", "A", 10, 20), ("m", "B", 15, 30), ("m", "A", 30.2, 40))
    output = turns(("m", "x", 10.1, 35), ("m", "y", 50, 51))
    uem = regions(("m", 0, 60))
    found = counts(reference, output, ("activity",), uem)
    assert found == pytest.approx(
        {"speech": 29.8, "nonspeech": 30.2, "missed": 5.1, "false_alarm": 1.2}
    )
    merged = counts(reference, output, ("activity",), uem, merge_gaps=0.3)
    assert merged == pytest.approx({"speech": 30, "nonspeech": 30, "missed": 5.1, "false_alarm": 1})
    # Only the boundaries of speech, 10 and 40, have a tolerance: not 15, 20, 30 and 30.2.
    both = counts(reference, output, ("activity",), uem, merge_gaps=0.3, tolerance=0.25)
    assert both == pytest.approx(
        {"speech": 29.5, "nonspeech": 29.5, "missed": 4.75, "false_alarm": 1}
    )


def test_a_gap_as_long_as_the_limit_stays():
    reference = turns(("m", "A", 0, 10), ("m", "A", 10.3, 20))
    for limit, speech in ((0.3, 19.7), (0.300001, 20)):
        found = counts(reference, reference, ("activity",), merge_gaps=limit)
        assert found["speech"] == pytest.approx(speech)


def test_without_a_uem_a_reader_learns_that_nonspeech_ends_with_the_last_segment():
    one = turns(("m", "A", 0, 10))
    assert "without a UEM" in told(one, one, parts=("activity",)).problems[0]
    assert told(one, one, parts=("activity",), uem=everywhere(one)).problems == ()


# Which recordings and regions are scored

A = turns(("a", "A", 0, 10), ("b", "B", 0, 10), source="ref.rttm")


def test_missing_recordings():
    output = turns(("a", "x", 0, 10), source="hyp.rttm")
    message = r"hyp.rttm: 1 recording of ref.rttm without output: b; add them, or use missing"
    with pytest.raises(InputError, match=message):
        told(A, output)
    assert told(A, output, missing="drop").ids.tolist() == ["a"]
    worst = told(A, output, missing="worst")
    assert worst.parts["speech"]["missed"].tolist() == [0, 10_000_000]
    assert worst.problems == (
        "1 recording of ref.rttm without output: taken as empty output (--missing worst): b",
    )
    assert worst.signatures["speech"].endswith("|missing:worst")
    with pytest.raises(InputError, match="no recording is left to score"):
        told(A, turns(), missing="drop")


def test_unknown_recordings():
    output = turns(("a", "x", 0, 1), ("c", "x", 0, 1), source="hyp.rttm")
    message = "hyp.rttm: 1 recording is not in ref.rttm: c; hyp.rttm has no output for b; names"
    with pytest.raises(InputError, match=message):
        told(A, output)
    with pytest.raises(InputError, match=r"not in ref.rttm or regions: c"):
        told(A, output, uem=regions(("a", 0, 1)))


def test_a_recording_that_only_uem_and_output_have_is_false_alarm():
    output = turns(("a", "x", 0, 10), ("b", "x", 0, 10), ("c", "x", 2, 5))
    found = told(A, output, uem=everywhere(A, ["c", "d"]), parts=PARTS)
    assert found.ids.tolist() == ["a", "b", "c", "d"]
    assert found.parts["speech"]["false_alarm"].tolist() == [0, 0, 3_000_000, 0]
    assert found.parts["activity"]["nonspeech"].tolist()[2:] == [100_000_000, 100_000_000]
    assert found.problems == (
        "1 recording is only in regions, not in the reference or the output, and scored as "
        "silence: d",
        "2 recordings have no reference speech that is scored: c, d; error rates of such "
        "a recording are undefined",
    )


def test_a_uem_of_other_names_is_refused():
    output = turns(("a", "x", 0, 10), ("b", "x", 0, 10))
    said = r"^regions: names no recording of ref.rttm; it has a.wav, the reference has a, b; names"
    with pytest.raises(InputError, match=said):
        told(A, output, uem=regions(("a.wav", 0, 10)))
    with pytest.raises(InputError, match=said):  # though the output agrees with it
        told(A, turns(("a.wav", "x", 0, 10)), uem=regions(("a.wav", 0, 10)))


def test_a_uem_of_silence_alone_is_scored_when_the_reference_is_empty():
    found = told(turns(), turns(("a", "x", 1, 2)), uem=regions(("a", 0, 10)), parts=("activity",))
    assert found.parts["activity"]["false_alarm"].tolist() == [1_000_000]


def test_durations_in_place_of_ends():
    lasting = turns(("a", "A", 1, 3), ("b", "B", 1, 4))
    frame = lasting.frame.with_columns(duration=pl.col("end") - pl.col("start")).drop("end")
    found = told(Table("turns", frame), lasting)
    assert found.parts["speech"]["correct"].tolist() == [2_000_000, 3_000_000]


NAMED = {"recording": "file", "speaker": "who", "start": "begin", "end": "stop"}


def test_columns_of_other_names():
    renamed = Table("x", A.frame.rename(NAMED), format="csv")
    output = turns(("a", "x", 0, 10), ("b", "x", 0, 9))
    plain = told(A, output)
    assert same(plain, told(renamed, output, columns={}, reference_columns=NAMED))
    both = Table("y", output.frame.rename(NAMED), format="csv")
    assert same(plain, told(renamed, both, columns=NAMED))
    fixed = Table("y", output.frame, format="rttm")
    assert same(plain, told(renamed, fixed, columns=NAMED))
    with pytest.raises(UsageError, match=r"recording=... is for tables .*; z is rttm and y"):
        told(Table("z", A.frame, format="rttm"), fixed, columns=NAMED)
    with pytest.raises(UsageError, match=r"no column 'file' for the recording"):
        told(renamed, output, columns=NAMED)
    with pytest.raises(UsageError, match=r"text=... is not known: map one of recording"):
        told(A, output, columns={"text": "words"})


def test_a_uem_is_no_reference_and_no_output():
    uem = Table("all.uem", regions(("a", 0, 10)).frame, format="uem")
    for sides in ((uem, A), (A, uem)):
        with pytest.raises(InputError, match=r"^all.uem: is a uem, regions that are .* with uem"):
            told(*sides)


def test_a_recording_that_the_uem_does_not_name_is_not_scored():
    output = turns(("a", "x", 0, 10), ("b", "x", 0, 10))
    found = told(A, output, uem=regions(("a", 0, 5)))
    assert found.ids.tolist() == ["a"]
    assert found.parts["speech"]["reference"] == 5_000_000
    assert found.problems == (
        "1 recording has no region in regions, so no time of it is scored: b",
    )
    assert found.signatures["speech"] == "collar:0|overlap:scored|mapping:scored|region:uem"


def test_a_recording_without_reference_speech_needs_no_output():
    reference = turns(("a", "A", 0, 10), ("b", "B", 3, 3))
    found = told(reference, turns(("a", "x", 0, 10)))
    assert found.ids.tolist() == ["a", "b"]
    assert "1 segment of turns has no length: left out" in found.problems
    assert found.parts["speech"]["reference"].tolist() == [10_000_000, 0]


def test_an_output_of_no_length_is_there():
    assert counts(A, turns(("a", "x", 1, 1), ("b", "x", 0, 10)))["missed"] == 10


def test_channels_are_items_where_any_recording_has_several():
    one = turns(("a", "A", 0, 1), ("b", "A", 0, 1), channel=["1", "1"])
    other = turns(("a", "x", 0, 1), ("b", "x", 0, 1), channel=["A", "A"])
    assert told(one, other).ids.tolist() == ["a", "b"]
    both = turns(("a", "A", 0, 1), ("a", "A", 0, 2), ("b", "A", 0, 1), channel=["1", "2", "1"])
    found = told(both, both)
    assert found.ids.tolist() == ["a channel 1", "a channel 2", "b channel 1"]
    assert found.frame.rows() == [("a", "1"), ("a", "2"), ("b", "1")]
    assert found.parts["speech"]["reference"].tolist() == [1_000_000, 2_000_000, 1_000_000]
    with pytest.raises(InputError, match="1 recording is not in turns: a channel 2"):
        told(one, both)


def test_types_that_are_no_speech():
    reference = turns(
        ("a", "A", 0, 10),
        ("a", "", 4, 6),
        ("a", "", 0, 10),
        type=["SPEAKER", "NOSCORE", "NON-LEX"],
    )
    output = turns(("a", "x", 0, 10), ("a", "x", 0, 9), type=["speaker", "NOSCORE"])
    assert counts(reference, output)["correct"] == 8


def test_times_are_rounded_to_whole_microseconds():
    reference, output = turns(("a", "A", 0.1 + 0.2, 1)), turns(("a", "x", 0.3, 1))
    found = told(reference, output)
    assert found.parts["speech"]["correct"] == found.parts["speech"]["reference"] == 700_000


def test_a_collar_can_leave_nothing():
    output = turns(("a", "x", 0, 10), ("b", "x", 0, 10))
    found = told(A, output, collar=6.0)
    assert found.parts["speech"]["reference"].tolist() == [0, 0]
    assert found.problems == (
        "no recording has reference speech that is scored (the collar is 6 s on each side of a "
        "boundary): a, b; error rates of such a recording are undefined",
    )


def test_times_that_look_like_milliseconds():
    reference = turns(("a", "A", 0, 100_000_000))
    [said] = told(reference, reference).problems
    assert said.startswith("1 recording is longer than a day in turns (as a)")
    assert said.endswith("did you give milliseconds?")


# What is shown


def test_worst_stretches_are_shown():
    reference = turns(("m", "A", 0, 10), ("m", "B", 10, 20), ("m", "C", 18, 20))
    output = turns(("m", "1", 0, 12), ("m", "2", 12, 18), ("m", "3", 25, 26.5))
    show = told(reference, output).show
    assert show(0) == (
        ("mapping", "A = 1, B = 2, reference only: C, output only: 3"),
        ("missed", "18.00 - 20.00 s  reference: B C  output: -"),
        ("confusion", "10.00 - 12.00 s  reference: B  output: 1"),
        ("false alarm", "25.00 - 26.50 s  reference: -  output: 3"),
    )
    assert told(reference, output, parts=("activity",)).show(0) == (
        ("mapping", "speech = speech"),
        ("missed", "18.00 - 20.00 s  reference: speech  output: -"),
        ("false alarm", "25.00 - 26.50 s  reference: -  output: speech"),
    )


def test_what_is_not_scored_is_not_shown():
    reference = turns(("m", "A", 0, 10), ("m", "B", 8, 12))
    output = turns(("m", "1", 0, 10))
    uem = regions(("m", 0, 11))
    shown = told(reference, output, uem=uem, collar=0.25, skip_overlap=True).show(0)
    assert shown[1:] == (("missed", "10.25 - 11.00 s  reference: B  output: -"),)
    nobody = told(A, turns(), missing="worst", uem=everywhere(A, ["c"])).show
    assert nobody(2) == (("mapping", "no speech"),)


@given(TURNS, TURNS, st.sampled_from([0.0, 0.1]), st.booleans())
def test_shown_stretches_hold_all_errors_when_they_are_few(reference, output, collar, skip):
    output = both_have(reference, output)
    found = told(turns(*reference), turns(*output), collar=collar, skip_overlap=skip)
    for k in range(len(found)):
        lines = found.show(k)
        wrong = sum(found.parts["speech"][of][k] for of in ("missed", "false_alarm", "confusion"))
        assert (len(lines) > 1) == (wrong > 0)
        assert len(lines) <= 11


# What is refused


def test_options_that_are_refused():
    for option in ("collar", "tolerance", "merge_gaps"):
        for value in (-0.1, float("nan"), float("inf")):
            with pytest.raises(UsageError, match=r".* is .*: give a (finite )?number at least 0"):
                DiarizationOptions(**{option: value})
    with pytest.raises(UsageError, match=r"collar is 250: .* did you mean 0.25\?"):
        DiarizationOptions(collar=250)
    with pytest.raises(UsageError, match="mapping is 'best': choose one of scored, evaluated"):
        DiarizationOptions(mapping="best")
    with pytest.raises(UsageError, match="missing is 'no': choose one of error, drop, worst"):
        DiarizationOptions(missing="no")


def test_options_that_enter_nothing_are_refused():
    with pytest.raises(UsageError, match="tolerance and merge_gaps are for speech_miss"):
        told(A, A, tolerance=0.1)
    with pytest.raises(UsageError, match="collar and skip_overlap have no effect on speech_miss"):
        told(A, A, parts=("activity",), collar=0.1)


def test_rows_that_are_refused():
    with pytest.raises(InputError, match=r"an end before its start: 2.0 to 1.0 at row 1"):
        told(turns(("a", "A", 0, 1), ("a", "A", 2, 1)), A)
    for time in (float("nan"), float("inf"), -1):
        with pytest.raises(
            InputError, match="1 segment whose end is not a number of seconds from 0"
        ):
            told(turns(("a", "A", 0, 1), ("a", "A", 1, time)), A)
    with pytest.raises(InputError, match="1 segment has a time that is missing, is not a number"):
        told(turns(("a", "A", 0, 1), ("a", "A", 1, 1e60)), A)
    with pytest.raises(InputError, match="1 region has a time that is missing"):
        told(A, A, uem=regions(("a", None, 1)))
    with pytest.raises(InputError, match="1 segment without a speaker: empty at row 0"):
        told(turns(("a", None, 0, 1)), A)
    with pytest.raises(InputError, match="1 segment has a type that RTTM does not have: row 0"):
        told(turns(("a", "A", 0, 1), type=["speech"]), A)
    with pytest.raises(InputError, match="1 segment without a recording: empty at row 0"):
        told(turns((None, "A", 0, 1)), A)
    with pytest.raises(UsageError, match="no column 'speaker'"):
        told(regions(("a", 0, 1)), A)
    with pytest.raises(InputError, match="no recording is left to score; turns has none"):
        told(turns(), turns())


def test_counting_knows_every_statistic():
    output = turns(("a", "x", 0, 10), ("b", "x", 0, 10))
    found = told(A, output, parts=PARTS)
    assert set(found.parts) == set(COUNTING.parts)
    for part, names in COUNTING.worst.items():
        assert set(names) <= set(found.parts[part])
    assert found.badness().tolist() == [0, 0]


def test_noises_and_turns_without_a_name_are_said():
    reference = turns(("a", "<NA>", 0, 10), ("a", "A", 4, 6), type=["SPEAKER", "NON-LEX"])
    found = told(reference, turns(("a", "x", 0, 10)))
    assert [text.partition(": ")[2] for text in found.problems] == [
        "1 NON-LEX line (laughs, breaths): scored like other segments; md-eval leaves them out",
        "1 turn has no name (<NA>): all such turns of a recording count as one speaker",
    ]
