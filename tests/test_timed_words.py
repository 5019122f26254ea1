"""Words with times: each goes into the segment that holds its midpoint, or is refused."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats import Table, read
from truecost.outputs.transcripts import words_of_segments
from truecost.tasks.transcripts import TextOptions, count


@pytest.fixture
def table(tmp_path):
    """A file of transcripts, read."""

    def make(name, content, input_format=None):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return read(str(path), input_format, task="transcripts")

    return make


def words(items, statistic):
    return dict(zip(items.ids.tolist(), items.parts["words"][statistic].tolist(), strict=True))


def refused(right, found):
    with pytest.raises(InputError) as caught:
        count(right, found, TextOptions(), "mine")
    return str(caught.value)


SEGMENTS = """;; LABEL "f" "female" ""
r1 1 ann 0.0 2.0 <o,f> a b c
r1 1 bob 2.0 3.0 <o,m> IGNORE_TIME_SEGMENT_IN_SCORING
r1 1 ann 3.0 4.5 <o,f> { d / e } f
r1 2 cy 0.0 9.0 <o,m> g
r2 1 ann 1.0 1.5 <o,f>
"""
SPOKEN = """r1 1 1.7 0.5 c
r1 1 0.1 0.2 a
r1 1 2.2 0.2 zz
r1 1 3.5 0.1 e
r1 2 3.1 0.1 g
r2 1 1.2 0.1 h
"""


def test_words_go_into_the_segment_of_their_midpoint(table):
    right, found = table("ref.stm", SEGMENTS), table("hyp.ctm", SPOKEN)
    items = count(right, found, TextOptions(), "mine")
    assert items.ids.tolist() == [
        "r1-1-0.0-2.0",
        "r1-1-3.0-4.5",
        "r1-2-0.0-9.0",
        "r2-1-1.0-1.5",
    ]
    assert [line for k in (0, 1) for _, line in items.show(k)] == [
        "a b   c",
        "a *** c",
        "  D",
        "e f",
        "e ***",
        "  D",
    ]
    assert items.frame["speaker"].to_list() == ["ann", "ann", "cy", "ann"]
    assert items.frame["label2"].to_list() == ["f", "f", "m", "f"]
    assert words(items, "insertions")["r2-1-1.0-1.5"] == 1
    assert items.signatures["words"] == "normalise:none|ctm:midpoint"
    assert items.problems[0] == "1 word in segments that are not scored: left out"


def test_a_span_has_its_begin_and_not_its_end(table):
    right = table("ref.stm", "r 1 s 0.1 0.3 a\nr 1 s 0.3 0.6 b\n")
    found = table("hyp.ctm", "r 1 0.1 0 a\nr 1 0.2 0.2 b\nr 1 0.5 0.199999 b\n")
    items = count(right, found, TextOptions(), "mine")
    assert words(items, "hypothesis") == {"r-1-0.1-0.3": 1, "r-1-0.3-0.6": 2}
    late = table("late.ctm", "r 1 0.5 0.2 b\n")
    assert "1 word lies in no segment" in refused(right, late)


def test_words_outside_all_segments(table):
    right = table("ref.stm", SEGMENTS)
    found = table("hyp.ctm", SPOKEN + "r1 1 7.0 0.5 late\nr9 1 0.1 0.1 other\n")
    said = refused(right, found)
    assert "2 words lie in no segment" in said
    assert "(1 of them in a recording or channel that the reference lacks)" in said
    assert "'late' at line 7, 'other' at line 8" in said
    items = count(right, found, TextOptions(outside="drop"), "mine")
    assert items.problems[0] == "2 words in no segment: left out (--outside drop)"
    assert items.signatures["words"] == "normalise:none|ctm:midpoint|outside:drop"


def test_words_in_overlapping_segments_are_refused_unless_one_holds_them(table):
    right = table("ref.stm", "r 1 ann 0 5 a b\nr 1 bob 4 6 c\nr 1 cy 4.2 4.4 d\n")
    sure = "r 1 1 0.1 a\nr 1 3.9 0.1 b\nr 1 5.5 0.1 c\n"
    items = count(right, table("hyp.ctm", sure), TextOptions(), "mine")
    assert words(items, "hypothesis") == {"r-1-0.0-5.0": 2, "r-1-4.0-6.0": 1, "r-1-4.2-4.4": 0}
    said = refused(right, table("both.ctm", sure + "r 1 4.5 0.1 x\nr 1 4.25 0.1 d\n"))
    assert "2 words lie in several segments" in said
    assert "'x' at line 4, 'd' at line 5; the first in the segments of line 1 and line 2" in said


def test_a_recording_without_any_word_is_missing(table):
    right = table("ref.stm", SEGMENTS)
    found = table("hyp.ctm", SPOKEN.replace("r1 2 3.1 0.1 g\n", ""))
    said = refused(right, found)
    assert "1 utterance has no output" in said
    assert said.endswith("(a recording and channel without any word is missing, not silent)")
    items = count(right, found, TextOptions(missing="worst"), "mine")
    assert words(items, "deletions")["r1-2-0.0-9.0"] == 1


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=8),
)
def test_segments_of_words_by_looking_at_all(spans, spoken):
    channels = ["a", "b"]
    right = pl.DataFrame(
        [
            (f"s{k}", "r", channels[k % 2], b / 10, (b + d) / 10, "x")
            for k, (b, d) in enumerate(spans)
        ],
        schema=["id", "recording", "channel", "start", "end", "text"],
        orient="row",
    )
    found = pl.DataFrame(
        [("r", channels[k % 2], s / 10, d / 10, f"w{k}") for k, (s, d) in enumerate(spoken)],
        schema=["recording", "channel", "start", "duration", "word"],
        orient="row",
    )
    holding = {
        f"w{k}": [
            f"s{n}"
            for n, (b, d) in enumerate(spans)
            if n % 2 == k % 2 and 2 * b <= 2 * s + length < 2 * (b + d)
        ]
        for k, (s, length) in enumerate(spoken)
    }
    tables = Table("r", right, format="stm"), Table("h", found, format="ctm")
    if any(len(held) > 1 for held in holding.values()):
        with pytest.raises(InputError, match="in several segments"):
            words_of_segments(*tables, TextOptions(outside="drop"))
        return
    _, texts_found, _ = words_of_segments(*tables, TextOptions(outside="drop"))
    got = {w: i for i, t, _ in texts_found.frame.iter_rows() for w in t.split()}
    assert got == {word: held[0] for word, held in holding.items() if held}


def test_words_with_times_by_recording(table):
    right, found = table("ref.stm", SEGMENTS), table("hyp.ctm", SPOKEN)
    items = count(right, found, TextOptions(by="recording"), "mine")
    assert items.frame["text"].to_list() == ["a b c g e f", ""]
    assert words(items, "hypothesis") == {"r1": 5, "r2": 1}
    plain = table("ref.txt", "u1 a b\nu2 c\n", "kaldi-text")
    with pytest.raises(UsageError, match="have times and no ids"):
        count(plain, found, TextOptions(), "mine")
