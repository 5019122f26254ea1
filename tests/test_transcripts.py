"""Transcripts: which utterances are held against each other, and what is refused, by format."""

import json

import jiwer
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.formats import Table, read
from truecost.running import score
from truecost.tasks.transcripts import TextOptions, count

ERRORS = ("substitutions", "deletions", "insertions")


@pytest.fixture
def table(tmp_path):
    """A file of transcripts, read."""

    def make(name, content, input_format=None):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return read(str(path), input_format, task="transcripts")

    return make


def texts(found, **more):
    """A table as Kaldi text gives it."""
    frame = pl.DataFrame({"id": [*found], "text": [*found.values()], **more})
    return Table("texts", frame, format="kaldi-text", first_line=1)


def shown(items):
    return "\n".join(f"{label:4}{line}" for k in range(len(items)) for label, line in items.show(k))


def words(items, statistic):
    return dict(zip(items.ids.tolist(), items.parts["words"][statistic].tolist(), strict=True))


def refused(*arguments, error=InputError, **options):
    with pytest.raises(error) as caught:
        count(*arguments, TextOptions(**options), "mine")
    return str(caught.value)


RIGHT = {"u2": "a b c", "u1": "the cat sat", "u3": ""}
FOUND = {"u3": "uh", "u1": "the cat sat down", "u2": "a x"}


def test_utterances_are_joined_by_id_and_sorted():
    items = count(texts(RIGHT, speaker=["ann", "bob", "ann"]), texts(FOUND), TextOptions(), "mine")
    assert items.ids.tolist() == ["u1", "u2", "u3"]
    assert items.frame.columns == ["id", "speaker", "text"]
    assert items.frame["speaker"].to_list() == ["bob", "ann", "ann"]
    assert words(items, "reference") == {"u1": 3, "u2": 3, "u3": 0}
    assert words(items, "insertions") == {"u1": 1, "u2": 0, "u3": 1}
    assert items.signatures["words"] == "normalise:none"
    assert items.problems == (
        "1 utterance has an empty reference: every output word there is an insertion",
    )
    assert shown(items).splitlines()[:3] == [
        "REF the cat sat ***",
        "HYP the cat sat down",
        "                I",
    ]
    rates = {row.measure: row.value for row in score(items, tc.Scoring(plan=tc.Plan(50)))}
    assert rates == pytest.approx({"wer": 4 / 6, "cer": 10 / 16, "unit_accuracy": 4 / 6})


def test_only_the_parts_asked_for_are_counted():
    for part in ("words", "characters"):
        items = count(texts(RIGHT), texts(FOUND), TextOptions(), "mine", frozenset({part}))
        assert list(items.parts) == [part]


def test_normalisation_enters_the_signature_and_the_texts():
    right, found = texts({"u": "Yes, it's [noise] 3.5"}), texts({"u": "uh yes it's 3.5!"})
    steps = ("no-tags", "lower", "no-punctuation", "no-words=uh+um")
    items = count(right, found, TextOptions(normalise=steps), "mine")
    assert items.signatures["words"] == "normalise:no-tags,lower,no-punctuation,no-words=uh+um"
    assert items.frame["text"].to_list() == ["yes it's 3.5"]
    assert sum(items.parts["characters"][kind][0] for kind in ERRORS) == 0
    plain = count(right, found, TextOptions(normalise=("none",)), "mine")
    assert plain.signatures["words"] == "normalise:none"
    assert refused(right, found, error=UsageError, normalise=("lowercase",)).startswith(
        "normalisation 'lowercase' is not known (did you mean 'lower'?)"
    )


def test_blanks_count_as_characters_unless_every_character_is_a_word():
    right, found = texts({"u": "你好 世界"}), texts({"u": "你好世界啊"})
    items = count(right, found, TextOptions(), "mine")
    assert items.parts["characters"]["reference"].tolist() == [5]
    assert items.parts["characters"]["deletions"].tolist() == [1]
    items = count(right, found, TextOptions(normalise=("characters",)), "mine")
    for part in ("words", "characters"):
        assert items.parts[part]["reference"].tolist() == [4]
        assert items.parts[part]["insertions"].tolist() == [1]


@pytest.mark.parametrize(
    ("right", "found", "step"),
    [
        ("THE CAT", "the cat", "lower"),
        ("the cat", "the cat.", "no-punctuation"),
        ("e\u0301te\u0301", "été", "nfc"),
    ],
)
def test_what_only_one_side_has_is_said(right, found, step):
    [said] = count(texts({"u": right}), texts({"u": found}), TextOptions(), "mine").problems
    assert said.endswith(f"this counts as errors unless you use --normalise {step}")
    chosen = TextOptions(normalise=(step,))
    assert not count(texts({"u": right}), texts({"u": found}), chosen, "mine").problems
    assert not count(texts({"u": right}), texts({"u": right}), TextOptions(), "mine").problems
    assert not count(texts({"u": right}), texts({"u": ""}), TextOptions(), "mine").problems


# Utterances that do not match.


def test_missing_and_further_utterances_are_refused_with_counts():
    right = texts({f"u{k}": "a" for k in range(9)})
    assert refused(right, texts({"u0": "a", "u8": "a"})) == (
        "texts: 7 utterances have no output in texts (u1, u2, u3, u4, u5, ...): add them, or use "
        'missing="drop" or "worst"'
    )
    assert refused(texts(RIGHT), texts({**FOUND, "v": "a"}), missing="drop") == (
        "texts: 1 utterance is only in texts (v; the first at line 4): both need the same ids "
        "(missing is for outputs that are missing, not for further ones)"
    )
    assert "have no output" in refused(texts(RIGHT), texts({"x": "", "y": ""}), missing="worst")


def test_missing_utterances_are_left_out_or_count_as_empty_when_asked():
    found = texts({"u1": "the cat sat"})
    dropped = count(texts(RIGHT), found, TextOptions(missing="drop"), "mine")
    assert words(dropped, "reference") == {"u1": 3}
    assert dropped.problems == ("2 of 3 utterances had no output: left out (--missing drop)",)
    assert dropped.signatures["words"] == "normalise:none|missing:drop"
    worst = count(texts(RIGHT), found, TextOptions(missing="worst"), "mine")
    assert words(worst, "deletions") == {"u1": 0, "u2": 3, "u3": 0}
    assert "2 of 3 utterances had no output: counted as empty (--missing worst)" in worst.problems
    assert "no utterance has an output" in refused(
        texts({"a": "b"}), texts({}, id=pl.Series([], dtype=pl.String)), missing="drop"
    )


def test_repeated_and_empty_ids_are_refused(table):
    twice = table("twice.trn", "a (u1)\nb (u1)\nc (u2)\n")
    said = "1 id occurs more than once: u1 (line 1, line 2); each utterance has one text"
    assert said in refused(twice, twice)
    empty = table("empty.csv", "id,text\nu1,a\n,b\n")
    assert "1 empty cell of id (column 'id'), the first at line 3" in refused(empty, empty)


def test_options_that_are_refused():
    with pytest.raises(UsageError, match="missing is 'best': choose one of error, drop, worst"):
        TextOptions(missing="best")
    with pytest.raises(UsageError, match="outside is 'x': choose one of error, drop"):
        TextOptions(outside="x")
    with pytest.raises(UsageError, match=r"score=\.\.\. is not known: map one of id, text"):
        TextOptions(columns={"score": "a"})
    said = refused(texts(RIGHT), texts(FOUND), error=UsageError, outside="drop")
    assert said.startswith('outside="drop" is for the words of a CTM file')


# Formats.


def test_columns_of_tables_are_mapped_and_kept(table):
    right = table("ref.csv", "utt,words,noise\nu1,a b,babble\nu2,007,\n")
    found = table("hyp.csv", "utt,words\nu2,7\nu1,a b\n")
    chosen = TextOptions(columns={"id": "utt", "text": "words"})
    items = count(right, found, chosen, "mine")
    assert items.frame.to_dicts() == [
        {"id": "u1", "noise": "babble", "text": "a b"},
        {"id": "u2", "noise": None, "text": "007"},
    ]
    assert words(items, "substitutions") == {"u1": 0, "u2": 1}
    assert "no column 'text'" in refused(right, found, error=UsageError)
    said = refused(right, found, error=UsageError, columns={"text": "words"})
    assert "there is no column 'id' for the id; the columns are utt, words, noise" in said


def test_texts_one_a_line_correspond_line_by_line(table):
    right = table("ref.txt", "a b\n\nc\n", "lines")
    items = count(right, table("hyp.txt", "a\nx\nc\n", "lines"), TextOptions(), "mine")
    assert words(items, "deletions") == {"1": 1, "2": 0, "3": 0}
    assert words(items, "insertions") == {"1": 0, "2": 1, "3": 0}
    said = refused(right, table("short.txt", "a\nb\n", "lines"))
    assert "has 3 lines" in said
    assert "has 2: texts without ids are compared line by line" in said
    said = refused(right, texts(FOUND))
    assert "has one text a line and no ids, texts was read as kaldi-text" in said


def test_alternations_of_references_are_settled(table):
    right = table("ref.trn", "so { i've / i have } { uh / @ } seen (u1)\nthe @ end (u2)\n")
    found = table("hyp.trn", "the end @ (u2)\nso i have seen (u1)\n")
    items = count(right, found, TextOptions(), "mine")
    assert items.frame["text"].to_list() == ["so i have seen", "the end"]
    assert words(items, "reference") == {"u1": 4, "u2": 2}
    assert sum(items.parts["words"][kind].sum() for kind in ERRORS) == 0
    assert refused(found, right) == (
        f"{right.source}: 1 text has alternatives in braces (line 1): the output of a system needs "
        f"one text; only references may have alternatives"
    )


def test_braces_are_words_where_the_format_has_no_alternations():
    items = count(texts({"u": "{ a / b }"}), texts({"u": "a"}), TextOptions(), "mine")
    assert words(items, "reference") == {"u": 5}


def segment(session, speaker, start, said):
    return {
        "session_id": session,
        "speaker": speaker,
        "start_time": start,
        "end_time": start + 1,
        "words": said,
    }


def test_segments_of_a_recording_are_put_together_in_time(table):
    right = table(
        "ref.json", json.dumps([segment("s1", "a", 5, "c d"), segment("s1", "a", 1, "b")])
    )
    found = table(
        "hyp.json", json.dumps([segment("s1", "x", 0, "b c"), segment("s1", "x", 9, "e")])
    )
    items = count(right, found, TextOptions(), "mine")
    assert shown(items).splitlines() == ["REF b c d", "HYP b c e", "        S"]
    assert items.signatures["words"] == "normalise:none|by:recording"
    assert items.frame.columns == ["id", "recording", "speaker", "text"]


def test_several_speakers_of_a_recording_need_a_choice(table):
    both = [segment("s1", "a", 0, "x y"), segment("s1", "b", 0.5, "z"), segment("s1", "a", 2, "w")]
    right = table("ref.json", json.dumps(both))
    found = table(
        "hyp.json", json.dumps([segment("s1", "a", 0, "x y w"), segment("s1", "b", 0, "q")])
    )
    assert '1 recording has several speakers (s1): use by="recording+speaker"' in refused(
        right, found
    )
    items = count(right, found, TextOptions(by="recording+speaker"), "mine")
    assert items.ids.tolist() == ["s1+a", "s1+b"]
    assert words(items, "substitutions") == {"s1+a": 0, "s1+b": 1}
    assert items.signatures["words"] == "normalise:none|by:recording+speaker"
    assert len(count(right, right, TextOptions(by="id"), "mine")) == 3


def test_segments_that_are_not_scored_count_nowhere(table):
    right = table("ref.stm", "r 1 a 0 1 x\nr 1 a 1 2 ignore_time_segment_in_scoring\n")
    found = table("hyp.stm", "r 1 a 0 1 x\nr 1 a 1 2 y z\n")
    items = count(right, found, TextOptions(), "mine")
    assert words(items, "hypothesis") == {"r-1-0.0-1.0": 1}
    assert items.problems == ("1 output of segments that are not scored: left out",)
    items = count(right, found, TextOptions(by="recording"), "mine")
    assert words(items, "insertions") == {"r": 2}
    assert items.problems[0].startswith("1 segment is not to be scored, but --by joins texts")
    silent = table("none.stm", "r 1 a 1 2 IGNORE_TIME_SEGMENT_IN_SCORING\n")
    assert "there are no utterances to score" in refused(silent, found)


def test_columns_that_name_utterances_are_checked():
    table = texts({"u1": "a", "u2": "b"}, one=["x+y", "x"], two=["z", "y+z"])
    said = refused(table, table, error=UsageError, by="one+three")
    assert said.startswith('texts: by="one+three" needs column three; the columns are id, text')
    assert "two utterances get the same name" in refused(table, table, by="one+two")


def test_segments_that_differ_get_a_hint(table):
    right = table("ref.stm", "r 1 a 0 2 x y\n")
    found = table("hyp.stm", "r 1 a 0 1 x\nr 1 a 1 2 y\n")
    assert 'if segments differ, use by="recording+speaker", which joins the texts' in refused(
        right, found
    )
    items = count(right, found, TextOptions(by="recording+speaker"), "mine")
    assert words(items, "hits") == {"r+a": 2}


# Laws.

SAID = st.lists(st.sampled_from(["a", "b", "cc"]), max_size=5).map(" ".join)
SIDES = st.dictionaries(st.text("xyz", min_size=1, max_size=4), st.tuples(SAID, SAID), min_size=1)


def counted(sides, order=None):
    ids = [sorted(sides)[k] for k in order] if order else [*sides]
    right = texts({i: sides[i][0] for i in ids})
    return count(right, texts({i: sides[i][1] for i in sides}), TextOptions(), "mine")


@given(SIDES, st.randoms(use_true_random=False))
def test_order_changes_nothing_and_sets_add_up(sides, random):
    whole = counted(sides)
    mixed = counted(sides, random.sample(range(len(sides)), len(sides)))
    assert whole.ids.tolist() == mixed.ids.tolist() == sorted(sides)
    alone = [counted({i: sides[i]}) for i in sorted(sides)]
    for part, statistics in whole.parts.items():
        for name, values in statistics.items():
            assert mixed.parts[part][name].tolist() == values.tolist()
            assert [items.parts[part][name][0] for items in alone] == values.tolist()


@given(SIDES)
def test_rates_are_those_of_jiwer(sides):
    if not any(right for right, _ in sides.values()):
        return
    items = counted(sides)
    scoring = tc.Scoring(plan=tc.Plan(2), measures=("wer", "mer", "cer"))
    rows = {row.measure: row.value for row in score(items, scoring)}
    right, found = ([*side] for side in zip(*sides.values(), strict=True))
    theirs = jiwer.process_words(right, found)
    assert rows["wer"] == pytest.approx(theirs.wer)
    assert rows["mer"] == pytest.approx(theirs.mer)
    assert rows["cer"] == pytest.approx(jiwer.cer(right, found))


def test_an_empty_output_is_as_good_as_the_naive_system():
    items = count(texts(RIGHT), texts(dict.fromkeys(RIGHT, "")), TextOptions(), "mine")
    measures = ("wer", "cer", "mer", "bounded_wer", "per", "unit_accuracy")
    for row in score(items, tc.Scoring(plan=tc.Plan(20), measures=measures)):
        assert row.value == row.naive == (0 if row.measure == "unit_accuracy" else 1)


def test_references_without_words_have_no_rate():
    items = count(texts({"u": ""}), texts({"u": "a"}), TextOptions(), "mine")
    [row] = score(items, tc.Scoring(plan=tc.Plan(20), measures=("wer",)))
    assert row.value is None
    assert "undefined" in row.reason


def test_values_of_each_utterance():
    items = count(texts(RIGHT), texts(FOUND), TextOptions(), "mine")
    assert items.each(tc.find("wer")) == pytest.approx([1 / 3, 2 / 3, np.nan], nan_ok=True)
    assert items.badness().tolist() == [1, 2, 1]


def test_texts_without_other_columns_are_joined_by_their_id(table):
    right, found = (
        table("ref.csv", "id,text\na,x y\nb,z\n"),
        table("hyp.csv", "id,text\nb,z\na,x\n"),
    )
    by_id, as_it_is = (
        count(right, found, options, "mine") for options in (TextOptions(by="id"), TextOptions())
    )
    assert words(by_id, "deletions") == words(as_it_is, "deletions") == {"a": 1, "b": 0}
