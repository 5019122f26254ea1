"""Reference and output with columns of their own, one file for both, and scripts without blanks."""

import json

import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.outputs.normalising import unspaced

SIDES = "utt,text,pred_text,speaker\nu-1,the cat sat,the cat,ann\nu-2,it rained,it rained,bob\n"
TEXTS = {
    "manifest.csv": SIDES,
    "ref.trn": "the cat sat (u-1)\nit rained (u-2)\n",
    "hyp.trn": "the cat (u-1)\nit rained (u-2)\n",
    "ref.text": "u-1 the cat sat\nu-2 it rained\n",
    "hyp.csv": "key,said\nu-1,the cat\nu-2,it rained\n",
}
WER = "--measure wer --no-advice"


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(there, capsys):
    def call(line):
        code = cli.run(line.split())
        out, err = capsys.readouterr()
        return code, out + err

    return call


@pytest.mark.parametrize(
    "line",
    [
        "manifest.csv manifest.csv --map id=utt,text=pred_text --reference-map text=text",
        "manifest.csv hyp.trn --map id=utt",
        "manifest.csv hyp.csv --map id=key,text=said --reference-map id=utt,text=text",
        "ref.trn hyp.csv --map id=key,text=said",
        "ref.text manifest.csv --map id=utt,text=pred_text",
        "ref.trn hyp.trn",
    ],
)
def test_each_side_has_columns_of_its_own(line, run):
    code, said = run(f"transcripts score {line} {WER}")
    assert (code, "20%" in said) == (0, True), said
    assert "one file twice" not in said


def test_references_of_a_translation_have_columns_of_their_own(run):
    lines = [
        "manifest.csv manifest.csv --map id=utt,text=pred_text --reference-map text=text",
        "ref.text hyp.csv --map id=key,text=said --reference-format kaldi-text",
    ]
    found = [
        run(f"translation score {line} --measure chrf --json -q --no-advice") for line in lines
    ]
    values = [json.loads(said)["rows"][0]["value"] for _, said in found]
    assert values == [values[0]] * 2
    assert {code for code, _ in found} == {0}


def test_the_map_of_a_system_is_of_its_file(there):
    study = {
        "task": "transcripts",
        "measures": ["wer"],
        "data": {"reference": ["manifest.csv"], "map": {"id": "utt", "unit": "speaker"}},
        "systems": {
            "a": {"file": "hyp.csv", "map": {"id": "key", "text": "said"}},
            "b": {"file": "manifest.csv", "map": {"text": "pred_text"}},
        },
    }
    outcome = tc.run(study)
    assert [row.value for row in outcome.estimates] == pytest.approx([0.2, 0.2])
    assert not [problem for problem in outcome.problems if "twice" in problem.message]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("manifest.csv hyp.trn --map id=utt --reference-map words=text", "map one of id, text"),
        ("manifest.csv hyp.trn --map id=utt --reference-map unit=text", "map one of id, text"),
        ("hyp.csv hyp.trn", "map one with --reference-map text=COLUMN"),
        ("ref.trn hyp.csv", "map one with --map text=COLUMN"),
        ("ref.trn hyp.trn --map text=words", "there is no column 'words' for the text"),
        ("ref.trn hyp.trn --reference-map text", "write KEY=COLUMN, such as --reference-map text="),
    ],
)
def test_columns_that_are_not_there_say_how_to_map_them(line, said, run):
    code, told = run(f"transcripts score {line}")
    assert code == 2
    assert said in told


def test_a_system_that_is_its_own_reference_is_noted(run, there):
    _, said = run(f"transcripts score manifest.csv manifest.csv --map id=utt {WER}")
    assert "the output manifest.csv is the reference manifest.csv, byte for byte" in said
    assert "a table of both sides needs --map and --reference-map KEY=COLUMN" in said
    (there / "copy.trn").write_text(TEXTS["ref.trn"])
    _, said = run(f"transcripts score ref.trn copy.trn {WER}")
    assert "copy.trn is the reference ref.trn, byte for byte: is it one file twice?\n" in said


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["今天天气很好。我们去公园", "打开灯"], True),
        (["今天 天气 很 好", "我们 去 公园"], False),
        (["今日はとても天気がいいです", "スーパーへ行く"], True),
        (["今日 は とても 天気 が いい です"], False),
        (["วันนี้อากาศดีมาก เราไปสวนสาธารณะ"], True),
        (["วันนี้ อากาศ ดี มาก เรา ไป สวน"], False),
        (["오늘은 날씨가 아주 좋습니다"], False),
        (["the word 天气预报中心 stands alone here"], False),
        (["unbelievably", "internationalisation"], False),
        (["", " "], False),
    ],
)
def test_texts_of_scripts_without_blanks(texts, expected):
    assert unspaced(pl.Series(texts)) is expected


def test_whole_sentences_as_words_are_noted(there, run):
    texts = ["今天天气很好我们去公园", "明天要下雨了"]
    for name, end in (("ref", ""), ("hyp", "吗")):
        lines = [f"{text}{end} (u-{k})" for k, text in enumerate(texts)]
        (there / f"{name}.trn").write_text("\n".join(lines), encoding="utf-8")
        (there / f"{name}.txt").write_text("\n".join(texts), encoding="utf-8")
    asked = "transcripts score ref.trn hyp.trn --no-advice"
    assert "whole sentences count as one word; use --normalise characters" in run(asked)[1]
    for quiet in ("--normalise characters", "--measure cer"):
        assert "whole sentences" not in run(f"{asked} {quiet}")[1]
    asked = "translation score ref.txt hyp.txt --no-advice"
    assert "use --tokenizer zh (Chinese), ja-mecab (Japanese) or char" in run(asked)[1]
    for quiet in ("--tokenizer zh", "--tokenizer char", "--measure chrf"):
        assert "whole sentences" not in run(f"{asked} {quiet}")[1]


def test_an_output_without_anything_is_as_bad_as_none(there, run):
    (there / "none.trn").write_text("")
    code, said = run(f"transcripts score ref.trn none.trn {WER}")
    assert (code, "a system that found nothing, use --missing worst" in said) == (
        3,
        True,
    )
    code, said = run(f"transcripts score ref.trn none.trn {WER} --missing worst")
    assert (code, "100%" in said) == (0, True)
    assert "2 of 2 utterances had no output: counted as empty" in said
    (there / "ref.stm").write_text("m 1 ann 0 2 so it is\nm 1 bob 2 3 yes\n")
    (there / "none.ctm").write_text(";; nothing\n")
    code, said = run(f"transcripts score ref.stm none.ctm {WER} --missing worst")
    assert (code, "100%" in said) == (0, True)
    (there / "ref.rttm").write_text("SPEAKER r 1 0 2 <NA> <NA> a <NA> <NA>\n")
    (there / "none.rttm").write_text("")
    code, said = run("diarization score ref.rttm none.rttm --measure der --missing worst")
    assert (code, "100%" in said) == (0, True)
