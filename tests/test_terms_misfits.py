"""Files of a search for terms that do not go together: what each has is said, and what to do."""

import re
import shlex

import polars as pl
import pytest

import searched
import truecost as tc
from sought import audio, listed, speech, terms
from test_terms_searching import found
from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.formats.terms import Listing
from truecost.tasks.terms.aligning import load_search
from truecost.tasks.terms.files import read_reference, read_search
from truecost.tasks.terms.reference import ReferenceOptions, load_reference
from truecost.tasks.terms.stretches import near_name

ONE = audio(("F", "1", 0, 250, ""))
SAID = listed(("Q0", "F", "1", 10, 11), ("Q1", "F", "1", 200, 201))
COST = "--preset nist-std-2006 --measure atwv --replicates 100 --no-advice"


def searching(*starts, excerpts=ONE, occurrences=SAID, document="F", duration=0.5):
    """A search of detections that start at these times."""
    rows = [("Q0", document, "1", start, duration, 0.5, "YES") for start in starts]
    reference = load_reference(excerpts, terms("a", "b"), occurrences=occurrences)
    return load_search(found(*rows, listed=["Q1"]), reference)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Files of a small search, and what a command says of them."""
    searched.written(tmp_path)
    monkeypatch.chdir(tmp_path)

    def call(line):
        code = cli.run(shlex.split(line))
        streams = capsys.readouterr()
        return code, streams.out + streams.err

    return call


def in_milliseconds(text, names):
    return re.sub(rf'\b({names})="([\d.]+)"', lambda m: f'{m[1]}="{float(m[2]) * 1000:.0f}"', text)


# Detections outside the audio


def test_a_list_in_milliseconds_is_refused():
    expected = (
        "s.kwslist.xml: all 2 detections lie outside the audio; the largest start is 240000 s and "
        "the audio ends at 250 s: are times in milliseconds?"
    )
    with pytest.raises(InputError, match=re.escape(expected)):
        searching(10_000, 240_000)


def test_nearly_all_in_milliseconds_are_refused_too():
    starts = [*range(1000, 240_000, 1000)]
    with pytest.raises(InputError, match=r"239 of 240 detections lie outside the audio"):
        searching(5, *starts)
    with pytest.raises(InputError, match=r"50 of 55 detections lie"):
        searching(*range(5), *starts[-50:])


def test_a_part_of_documents_may_be_scored():
    made = searching(5, *range(300, 3000, 10))  # the rest of a recording of which 250 s count
    assert len(made) == 1
    assert made.problems[0].startswith("270 of 271 detections lie outside the audio that is")
    assert len(searching(5, *range(100, 600, 10))) == 16


def test_times_before_the_audio_and_of_other_audio():
    late = audio(("F", "1", 100, 150, ""))
    said = "the last one ends at 60.5 s and the audio begins at 100 s: do times count from the"
    with pytest.raises(InputError, match=said):
        searching(5, 60, excerpts=late)
    with pytest.raises(InputError, match="start is 400 s and the audio ends at 250 s: is this the"):
        searching(300, 400)
    assert len(searching(249.9)) == 0  # across the edge is no other audio
    gap = audio(("F", "1", 0, 50, ""), ("F", "1", 190, 60, ""))
    assert len(searching(100, 120, excerpts=gap)) == 0


def test_milliseconds_on_the_command_line(run, tmp_path):
    text = (tmp_path / "s.kwslist.xml").read_text()
    (tmp_path / "m.kwslist.xml").write_text(in_milliseconds(text, "tbeg|dur"))
    for command in (f"score {searched.REFERENCE} {COST}", "validate --ecf e.ecf.xml"):
        code, said = run(f"terms {command} m.kwslist.xml")
        assert code == 3
        assert re.search(r"all \d+ detections lie outside .* are times in milliseconds\?", said)


# Audio in milliseconds


def test_the_head_of_an_ecf_may_contradict_it():
    def problems(said, seconds=250.0):
        heard = audio(("F", "1", 0, seconds, ""))
        head = {"source_signal_duration": said}
        listing = Listing(heard.source, head, heard.frame)
        return load_reference(listing, terms("a", "b"), occurrences=SAID).problems

    for fine in ("250", "250.0 ", "5000", "12.5", "", "0", "NA", "inf", "nan", "-3"):
        assert problems(fine) == ()
    assert problems("250", 250_000.0) == (
        "the head of e.ecf.xml has 250 s of audio (source_signal_duration), but its excerpts have "
        "250000 s: is one of the two in milliseconds?",
    )
    assert len(problems("250000")) == 1


def test_audio_that_ends_long_after_all_that_is_in_it():
    starts = [10 * k for k in range(1, 20)]
    assert searching(*starts).problems == ()
    [said] = searching(*starts, excerpts=audio(("F", "1", 0, 250_000, ""))).problems
    assert said == (
        "all occurrences and detections end before 201 s, but the audio ends at 250000 s: are the "
        "times of the audio in milliseconds?"
    )
    assert searching(5, excerpts=audio(("F", "1", 0, 250_000, ""))).problems == ()  # too few
    later = searching(*starts, 200_000, excerpts=audio(("F", "1", 0, 250_000, "")))
    assert later.problems == ()


# Nothing to be found


def refused(said, excerpts=ONE, asked=("a",), spoken=None, trial="occurrence", occurrences=None):
    """What is said of a reference in which nothing occurs."""
    heard = None if spoken is None else speech(spoken, [("F", "1", 0, 10), ("F", "1", 10, 9)])
    queries, options = terms(*asked), ReferenceOptions(trial=trial)
    with pytest.raises(InputError) as told:
        load_reference(excerpts, queries, speech=heard, occurrences=occurrences, options=options)
    assert str(told.value).startswith(said)
    made = load_reference(
        excerpts, queries, speech=heard, occurrences=occurrences, options=options, empty=True
    )
    assert made.targets.is_empty()


def word(document="F", start=0.0, text="a", channel="1", duration=1.0):
    return (document, channel, start, duration, text, "lex", "x")


def test_words_of_other_documents():
    refused(
        "r.rttm: no query occurs in the audio: 2 words were read, of the documents G, H, but the "
        "audio has F: use the names of documents of the ECF",
        spoken=[word("G"), word("H")],
    )


def test_words_that_no_query_asks_for():
    spoken = [word(text=text) for text in "bcdefghbc"]
    refused(
        "r.rttm: no query occurs in the audio: 9 words were read (b, c, d, e, f, ...), and no text "
        "of a query is among them (a, x y): are these the queries of this audio?",
        asked=("a", "x y"),
        spoken=spoken,
    )


def test_words_in_milliseconds():
    refused(
        "r.rttm: no query occurs in the audio: all 2 occurrences lie outside the audio that is "
        "scored: the largest start is 240000 s and the audio ends at 250 s: are times in millisec",
        spoken=[word(start=1e3), word(start=240e3)],
    )


def test_words_of_another_channel():
    refused(
        "r.rttm: no query occurs in the audio: 1 occurrence lies outside the audio that is "
        "scored: they are in F (channel 2), the audio has F (channel 1): use the names of "
        "documents",
        spoken=[word(channel="2")],
    )


def test_occurrences_in_milliseconds_or_elsewhere():
    begin = "o.csv: no query occurs in the audio: 1 occurrence lies outside the audio that is "
    said = "scored: the largest start is 240000 s and the audio ends at 250 s: are times in millise"
    refused(begin + said, occurrences=listed(("Q0", "F", "1", 240e3, 241e3)))
    said = "scored: they are in G (channel 1), the audio has F (channel 1)"
    refused(begin + said, occurrences=listed(("Q0", "G", "1", 1, 2)))
    refused("o.csv: no query occurs in the audio: no occurrence is listed", occurrences=listed())


def test_occurrences_across_all_segments():
    refused(
        "r.rttm: no query occurs in the audio: 1 occurrence lies across the edges of segments",
        spoken=[word(start=9.5)],
        trial="segment",
    )


def test_some_queries_may_occur_nowhere():
    made = load_reference(ONE, terms("a", "b"), speech=speech([word()]))
    assert made.targets_by_query.tolist() == [1, 0]


def test_nothing_on_the_command_line(run, tmp_path):
    (tmp_path / "r.rttm").write_text(searched.rttm().replace(" a", " x").replace(" b", " x"))
    code, said = run(f"terms score {searched.REFERENCE} {COST} s.kwslist.xml")
    assert code == 3
    assert "of the documents x1, x2, but the audio has a1, a2, b1, b2" in said


# Names


def listing_of(*queries):
    return found(*((q, "F", "1", 10, 1, 0.5, "YES") for q in queries))


def test_unknown_queries_beside_those_of_the_reference():
    def said(*queries, reference):
        with pytest.raises(InputError) as told:
            load_search(listing_of(*queries), reference)
        return str(told.value)

    occurrences = listed(("word-one", "F", "1", 1, 2), ("word-two", "F", "1", 1, 2))
    frame = pl.DataFrame({"query": ["word-one", "word-two"], "text": [None, None], "line": [1, 2]})
    with_list = load_reference(ONE, Listing("q.csv", {}, frame), occurrences=occurrences)
    message = said("word-one", "Word-Two", reference=with_list)
    assert ": 'Word-Two' (did you mean 'word-two'?)" in message
    assert message.endswith(
        "; the list lacks word-two of the reference; score against the list of queries of the "
        "system"
    )
    assert ": 'word-to' (did you mean 'word-two'?)" in said("word-to", reference=with_list)
    without = load_reference(ONE, occurrences=occurrences)
    message = said("word-one", "word-two", "word-six", reference=without)
    assert message.endswith(
        "word-six (line 4); where some queries occur nowhere, give kwlist=FILE with all queries "
        "(a table with a column query is enough)"
    )


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("q07", ""),
        ("Q08", "did you mean 'q08'?"),
        ("q8", "did you mean 'q08'?"),
        ("q_08", "did you mean 'q08'?"),
        ("elsewhere", ""),
    ],
)
def test_other_numbers_are_no_misspellings(asked, hint):
    said = near_name(asked, ["q08", "q09"])
    assert said == (f": {asked!r} ({hint})" if hint else "")


def test_occurrences_of_unknown_queries_beside_those_of_the_list():
    with pytest.raises(InputError) as told:
        load_reference(ONE, terms("a", "b"), occurrences=listed(("q0", "F", "1", 1, 2)))
    assert str(told.value).endswith(
        "the queries of t.kwlist.xml are Q0, Q1: 'q0' (did you mean 'Q0'?)"
    )


def test_unknown_queries_in_validate(run, tmp_path):
    text = (tmp_path / "s.kwslist.xml").read_text().replace('"K03"', '"k03"')
    (tmp_path / "m.kwslist.xml").write_text(text)
    code, said = run("terms validate --kwlist t.kwlist.xml m.kwslist.xml")
    assert code == 3
    assert "k03 (line 3" in said or ": 'k03' (did you mean 'K03'?)" in said
    assert ": 'k03' (did you mean 'K03'?)" in said


# What a system did not do


def test_what_is_not_answered_or_submitted():
    reference = load_reference(ONE, terms("a", "b"), occurrences=SAID)
    assert load_search(found(), reference).problems == (
        "nothing was submitted: all targets are missed",
    )
    assert load_search(listing_of("Q0"), reference).problems == (
        "1 of 2 queries has no detection, so all its targets count as missed: Q1",
    )
    assert load_search(listing_of("Q0", "Q1"), reference).problems == ()
    some = load_reference(ONE, terms("a", "b"), occurrences=listed(("Q0", "F", "1", 1, 2)))
    assert load_search(listing_of("Q0"), some).problems == ()  # Q1 has none to miss


# Frames


FRAMES = {
    "audio": pl.DataFrame({"document": ["a"], "duration": [60.0]}),
    "occurrences": pl.DataFrame(
        {"query": ["one"], "document": ["a"], "start": [10.0], "end": [10.5]}
    ),
    "detections": pl.DataFrame(
        {"query": ["one"], "document": ["a"], "start": [10.0], "duration": [0.4], "score": [5.0],
         "decision": ["YES"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "given", [("normalise", "none"), ("split_characters", True), ("max_gap", 1)]
)
def test_options_that_words_alone_need(given):
    with pytest.raises(UsageError, match=f"{given[0]} is for rttm: leave it out"):
        tc.score(
            FRAMES["detections"],
            task="terms",
            ecf=FRAMES["audio"],
            occurrences=FRAMES["occurrences"],
            preset="sws-2013",
            **dict([given]),
        )


def search_of(audio, queries, occurrences, detections):
    return read_search(detections, read_reference(audio, queries, occurrences=occurrences))


@pytest.mark.parametrize("what", [*FRAMES, "queries"])
def test_what_is_neither_a_file_nor_a_frame(what):
    asked = FRAMES["occurrences"].select("query")
    for given, kind in ((FRAMES["audio"].lazy(), "LazyFrame"), ({}, "dict"), ([1], "list")):
        frames = {**FRAMES, "queries": asked, what: given}
        lazy = " (LazyFrame: .collect())" if kind == "LazyFrame" else ""
        said = f"{what}: this is a {kind}; give a file name or a polars DataFrame{lazy}"
        with pytest.raises(UsageError, match=re.escape(said)):
            search_of(**frames)


def test_an_rttm_is_a_file():
    said = "rttm: this is a DataFrame; give a file name"
    with pytest.raises(UsageError, match=said):
        read_reference(FRAMES["audio"], rttm=FRAMES["audio"])


def test_frames_that_lack_a_column_or_are_of_another_kind():
    with pytest.raises(UsageError, match="occurrences: there is neither an end nor a duration"):
        read_reference(FRAMES["audio"], occurrences=FRAMES["occurrences"].drop("end"))
    with pytest.raises(
        InputError, match="occurrences: this is a list of detections, with score and dec"
    ):
        read_reference(FRAMES["audio"], occurrences=FRAMES["detections"])
