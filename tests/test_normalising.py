"""Normalisation: each step does what its description says, in the order given, and nothing else."""

import hashlib
import json
import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.names import NORMALISATIONS
from truecost.outputs.normalising import checked_steps, normalise, signed

# Letters that are younger than one of the two tables of Unicode would be treated differently.
TEXTS = st.lists(st.text(st.characters(max_codepoint=0x2FFF), max_size=30), min_size=1, max_size=5)
STEPS = ("nfc", "nfkc", "lower", "no-punctuation", "no-marks", "no-tags", "characters")


def one(text, *steps):
    return normalise(pl.Series([text]), steps)[0]


@pytest.mark.parametrize(
    ("steps", "text", "expected"),
    [
        ((), "  a\tb\u3000 c\u00a0d \r\n", "a b c d"),
        ((), "Stays, as it IS: 1/2 <uh>", "Stays, as it IS: 1/2 <uh>"),
        (("lower",), "ÉTÉ Straße ΟΔΟΣ", "été straße οδος"),
        (("nfc",), "e\u0301te\u0301", "été"),
        (("nfc",), "ﬁ \uff21", "ﬁ \uff21"),
        (("nfkc",), "ﬁ \uff21①", "fi A1"),
        (("no-marks",), "été ñandú Łódź", "ete nandu Łodz"),
        (("no-punctuation",), "Well -- it's 3.5!", "Well it's 3.5"),
        (("no-punctuation",), "don\u2019t 'tis rock'n'roll dogs'", "don't tis rock'n'roll dogs"),
        (
            ("no-punctuation",),
            "well-known, half- -done; a—b a\u2013b",
            "well-known half done a b a b",
        ),
        (("no-punctuation",), "1,000,000.5 at 12:30. 1.2.3", "1,000,000.5 at 12:30 1.2.3"),
        (("no-punctuation",), "U.S. e.g. and/or foo_bar", "US eg and or foo bar"),
        (("no-punctuation",), "¿qué? «oui» 你好\uff0c世界。", "qué oui 你好世界"),
        (("no-punctuation",), "$5 + 3% = ~8", "$5 + 3 = ~8"),
        (("no-tags",), "a <laugh> b [noise] c<x>d [", "a b c d ["),
        (("no-words=uh+um",), "uh well um uh umbrella uh", "well umbrella"),
        (("no-words=uh",), "uhm Uh uh-huh", "uhm Uh uh-huh"),
        (("no-words=a.c",), "abc a.c", "abc"),
        (("characters",), "ab 你好 e\u0301", "a b 你 好 e\u0301"),
    ],
)
def test_what_a_step_does(steps, text, expected):
    assert one(text, *steps) == expected


def test_steps_go_in_their_order():
    assert one("Uh no", "lower", "no-words=uh") == "no"
    assert one("Uh no", "no-words=uh", "lower") == "uh no"
    assert one("[Uh] no", "no-punctuation", "no-tags") == "Uh no"


def test_every_step_is_described():
    others = {"no-words=A+B", "whisper-english", "FILE.tsv", "python:MODULE:FUNCTION"}
    assert {*NORMALISATIONS} == {*STEPS, *others}
    assert checked_steps([*STEPS, "no-words=uh+um"])
    assert checked_steps(["none"]) == ()


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["lowercase"], "'lowercase' is not known (did you mean 'lower'?)"),
        (["punctuation"], "did you mean 'no-punctuation'?"),
        (["xyz"], "'xyz' is not known: choose from none, nfc, nfkc, lower"),
        (["lower", "none"], "normalise none has no further steps"),
        (["no-words="], "needs words joined by +"),
        (["no-words=a++b"], "needs words joined by +"),
        (["no-words=a|b"], "without blanks, commas or |"),
    ],
)
def test_steps_that_are_refused(steps, message):
    with pytest.raises(UsageError) as caught:
        normalise(pl.Series(["a"]), steps)
    assert message in str(caught.value)


@given(TEXTS)
def test_words_are_apart_by_single_blanks_and_else_unchanged(texts):
    for text, found in zip(texts, normalise(pl.Series(texts)), strict=True):
        blanks = {c for c in text if pl.Series([c]).str.contains(r"^\s$")[0]}
        words = "".join(" " if c in blanks else c for c in text).split(" ")
        assert found == " ".join(word for word in words if word)


@given(TEXTS, st.sampled_from(STEPS[:5]))
def test_most_steps_done_twice_are_done_once(texts, step):
    once = normalise(pl.Series(texts), [step])
    assert normalise(once, [step]).to_list() == once.to_list()


@given(TEXTS)
def test_what_is_left_of_punctuation(texts):
    for found in normalise(pl.Series(texts), ["no-punctuation"]):
        left = {c for c in found if unicodedata.category(c).startswith("P")}
        assert left <= set("'-.,:")


@given(TEXTS)
def test_unicode_forms_are_those_of_the_standard_library(texts):
    plain = normalise(pl.Series(texts))
    for step, form in (("nfc", "NFC"), ("nfkc", "NFKC")):
        expected = normalise(pl.Series([unicodedata.normalize(form, t) for t in plain]))
        assert normalise(plain, [step]).to_list() == expected.to_list()


SENTENCES = (
    "I don't think Mr. Smith's neighbour paid $20, uh, for the grey catalogue.",
    "i do not think mister smith is neighbor paid twenty dollars for the gray catalog",
)


def test_whispers_english_makes_spellings_equal_and_has_its_faults():
    pytest.importorskip("whisper_normalizer")
    one, other = normalise(pl.Series(SENTENCES), ["whisper-english"])
    assert one == other == "i do not think mister smith is neighbor paid $20 for the gray catalog"
    assert re.fullmatch(r"lower,whisper-english@[\d.]+", signed(["lower", "whisper-english"]))


def test_a_mapping_file_replaces_whole_words_the_longest_run_first(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("colour\tcolor\nnew york city\tnyc\nnew\told\nuh\t\n")
    text = "uh the new york city colour of colours in new york uh"
    assert one(text, str(path)) == "the nyc color of colours in old york"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    assert signed(["lower", str(path)]) == f"lower,words.tsv@{digest}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\n", "1 line is not FROM<TAB>TO: line 1 ('a b')"),
        ("a\tb\tc\nx\ty\n", "line 1 ('a\\tb\\tc')"),
        ("\tb\n", "not FROM<TAB>TO"),
        ("a\tb\na\tc\n", "the same words occur twice, at line 2 ('a')"),
        ("\n", "the file has only blank lines"),
    ],
)
def test_mapping_files_that_are_refused(tmp_path, text, message):
    path = tmp_path / "words.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        checked_steps([str(path)])
    assert message in str(caught.value)
    assert "words.tsv" in str(caught.value)


def test_a_function_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "own_steps.py").write_text(
        "def clean(text):\n    return text.replace('-', ' ')\n\ndef none(text):\n    return None\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert one("well-known", "python:own_steps:clean") == "well known"
    assert re.fullmatch(r"python:own_steps:clean@[0-9a-f]{12}", signed(["python:own_steps:clean"]))
    for step, message in (
        ("python:own_steps:nothing", "own_steps has no 'nothing'"),
        ("python:own_steps", "does not have the form package.module:name"),
        ("python:not_there_at_all:f", "cannot be imported"),
        ("python:own_steps:none", "gave None, expected a text"),
    ):
        with pytest.raises(UsageError) as caught:
            normalise(pl.Series(["a"]), [step])
        assert message in str(caught.value)


def test_a_manifest_with_both_texts(tmp_path, monkeypatch, capsys):
    """As the Open ASR Leaderboard has them: spelling alone makes most of the errors."""
    pytest.importorskip("whisper_normalizer")
    monkeypatch.chdir(tmp_path)
    rows = [
        {"audio_filepath": "a/1.wav", "text": SENTENCES[0], "pred_text": SENTENCES[1]},
        {"audio_filepath": "b/2.wav", "text": "The colour is grey.", "pred_text": "the colour is"},
    ]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = "transcripts score m.jsonl m.jsonl --measure wer --json"
    found = []
    for more in ("", " --normalise whisper-english"):
        assert cli.run(f"{line}{more}".split()) == 0
        found += json.loads(capsys.readouterr().out)["rows"]
    assert found[0]["value"] > 0.5
    assert found[1]["value"] == pytest.approx(1 / 18)
    assert "normalise:whisper-english@" in found[1]["signature"]


def test_a_mapping_file_moves_with_its_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "studies"
    here.mkdir()
    for name, text in (("ref.txt", "u1 the colour\n"), ("hyp.txt", "u1 the color\n")):
        (here / name).write_text(text)
    (here / "words.tsv").write_text("colour\tcolor\n")
    (here / "study.toml").write_text(
        'task = "transcripts"\nmeasures = ["wer"]\n[data]\nreference = ["ref.txt"]\n'
        '[transcripts]\nnormalise = ["lower", "words.tsv"]\n[systems]\nmine.file = "hyp.txt"\n'
    )
    assert cli.run(["run", "studies/study.toml", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["value"] == 0
    assert re.search(r"normalise:lower,words.tsv@[0-9a-f]{12}\|", row["signature"])


def test_a_mapping_file_that_is_not_there_is_named():
    with pytest.raises(InputError) as caught:
        checked_steps(["nowhere.tsv"])
    assert "nowhere.tsv" in str(caught.value)
