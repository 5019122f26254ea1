"""Penalised scores of files and of lists: every format and choice of the tasks, and refusals."""

import io
import json
import shlex

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.errors import InputError, UsageError

TEXTS = {
    "r.txt": ["the cat sat on the mat", "it rained all day long again", "she said no more of it"],
    "b.txt": ["the cat sat on mat", "it rained all the day along", "she said no war of it"],
    "a.txt": ["the cat sat on the mat", "it rained all day along", "she said no war of it"],
}
SENTENCES = "--base b.txt --adapted a.txt --reference r.txt --corrected ids.txt"
AS_LINES = "--input-format lines --reference-format lines"
RTTM = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"
TURNS = {
    "r.rttm": [("r1", 0, 10, "a"), ("r1", 8, 6, "b"), ("r2", 0, 8, "c")],
    "b.rttm": [("r1", 0, 8, "x"), ("r1", 9, 7, "y"), ("r2", 0, 4, "z"), ("r2", 4, 4, "w")],
    "a.rttm": [("r1", 0, 9, "x"), ("r1", 9, 5, "y"), ("r2", 0, 8, "z")],
}
RECORDINGS = "--output-kind diarization --base b.rttm --adapted a.rttm --reference r.rttm"
LABELS = ["a", "b", "c", "a", "b", "c"]
CLASSES = "--output-kind classes --base b.csv --adapted a.csv --reference r.csv --corrected c.csv"


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with small files of each kind, and the place where we are."""
    monkeypatch.chdir(tmp_path)
    for name, lines in TEXTS.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        trn = "".join(f"{line} (u{k})\n" for k, line in enumerate(lines, 1))
        (tmp_path / name).with_suffix(".trn").write_text(trn)
        kaldi = "".join(f"u{k} {line}\n" for k, line in enumerate(lines, 1))
        (tmp_path / name).with_suffix(".kaldi").write_text(kaldi)
        frame = pl.DataFrame({"id": ["u1", "u2", "u3"], "text": lines, "doc": ["x", "x", "y"]})
        frame.write_csv((tmp_path / name).with_suffix(".tab.csv"))
    (tmp_path / "ids.txt").write_text("1\n")
    (tmp_path / "u.txt").write_text("u1\n")
    (tmp_path / "docs.txt").write_text("x\nx\ny\n")
    for name, of in TURNS.items():
        (tmp_path / name).write_text("".join(RTTM.format(*turn) for turn in of))
    (tmp_path / "c.uem").write_text("r1 1 7 10\n")
    sides = {"r": LABELS, "b": ["a", "a", "b", "a", "c", "c"], "a": ["a", "b", "b", "a", "c", "c"]}
    for name, labels in sides.items():
        head = "label,speaker" if name == "r" else "decision"
        more = [f",s{k // 2}" if name == "r" else "" for k in range(6)]
        each = enumerate(zip(labels, more, strict=True))
        lines = [f"i{k},{label}{speaker}" for k, (label, speaker) in each]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"id,{head}", *lines]) + "\n")
    (tmp_path / "c.csv").write_text("id\ni1\ni3\n")
    return tmp_path


def run(line, capsys):
    code = cli.run(["lifelong", "penalise", *shlex.split(line)])
    out, err = capsys.readouterr()
    return code, out, err


def rows(line, capsys):
    code, out, err = run(f"{line} --json --replicates 20", capsys)
    assert code == 0, err
    return json.loads(out)["rows"]


def values(line, capsys):
    found = rows(line, capsys)
    return {row["measure"]: row["value"] for row in found if "subset" not in row["dims"]}


def refused(line, capsys, code, *said):
    found, out, err = run(line, capsys)
    assert (found, out) == (code, ""), err
    for text in said:
        assert text in err


# What works as written


def test_works_as_written(there, capsys):
    found = rows(f"--output-kind translation {SENTENCES}", capsys)
    names = [row["measure"] for row in found]
    assert names[:7] == [
        "penalised_score",
        *("base_score", "adapted_score", "impaired_score", "corrected_score"),
        *("penalty", "generalisation_gain"),
    ]
    for row in found[:7]:
        assert row["parameters"] == {"variant": "bleu"}
        assert {"value", "lower", "upper", "level", "signature", "n_trials"} <= {*row}
        assert row["dims"] == {"system": "a"}
        assert "tokenizer:13a|case:mixed|references:1|sacrebleu:" in row["signature"]


def test_the_penalised_score_is_made_of_its_four(there, capsys):
    for score in ("bleu", "chrf", "ter"):
        found = values(f"--output-kind translation {SENTENCES} --score {score}", capsys)
        penalty = found["impaired_score"] - found["corrected_score"]
        assert found["penalty"] == pytest.approx(penalty)
        assert found["penalised_score"] == pytest.approx(found["adapted_score"] + penalty)
        gain = found["penalised_score"] - found["base_score"]
        assert found["generalisation_gain"] == pytest.approx(-gain if score == "ter" else gain)


def test_word_errors_by_hand(there, capsys):
    found = values(f"--output-kind transcripts {SENTENCES} {AS_LINES}", capsys)
    # 18 words; "the" is lacking; "the", "day" and "along" for three others; "war" for "more".
    assert found["base_score"] == pytest.approx((1 + 3 + 1) / 18)
    assert found["adapted_score"] == pytest.approx((0 + 2 + 1) / 18)
    assert found["impaired_score"] == pytest.approx((6 + 3 + 1) / 18)
    assert found["corrected_score"] == pytest.approx((0 + 3 + 1) / 18)
    assert found["penalised_score"] == pytest.approx((3 + 6) / 18)
    assert found["help_words"] == 6
    assert found["n_corrections"] == 1


@pytest.mark.parametrize("ending", ["trn", "kaldi", "tab.csv"])
def test_all_formats_of_transcripts(ending, there, capsys):
    files = f"--base b.{ending} --adapted a.{ending} --reference r.{ending} --corrected u.txt"
    lines = values(f"--output-kind transcripts {SENTENCES} {AS_LINES} --score wer,cer", capsys)
    assert values(f"--output-kind transcripts {files} --score wer,cer", capsys) == lines


def test_what_was_corrected_may_be_a_table(there, capsys):
    files = "--output-kind translation --base b.tab.csv --adapted a.tab.csv --reference r.tab.csv"
    alone = values(f"{files} --corrected u.txt", capsys)
    for name, text in {
        "c1.csv": "id,verdict\nu1,\nu2,right\n",
        "c2.csv": "id,verdict,label\nu1,wrong,the cat sat on the mat\n",
        "c3.tsv": "part\tid\n\tu1\n",
        "c4.jsonl": '{"id": "u1"}\n',
    }.items():
        (there / name).write_text(text)
        assert values(f"{files} --corrected {name}", capsys) == alone, name


def test_what_was_corrected_may_be_piped(there, capsys, monkeypatch):
    wanted = values(f"--output-kind translation {SENTENCES}", capsys)
    for k, text in enumerate(["1\n", "id\n1\n", "id,verdict\n1,\n2,right\n"]):
        (there / f"c{k}").write_text(text)
        assert (
            values(f"--output-kind translation {SENTENCES.replace('ids.txt', f'c{k}')}", capsys)
            == wanted
        )
        given = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr("sys.stdin", given)
        assert (
            values(f"--output-kind translation {SENTENCES.replace('ids.txt', '-')}", capsys)
            == wanted
        )


def test_units_from_metadata_and_from_lines(there, capsys):
    for line in (
        f"--output-kind translation {SENTENCES} --lines doc=docs.txt --unit doc",
        "--output-kind translation --base b.tab.csv --adapted a.tab.csv --reference r.tab.csv "
        "--corrected u.txt --map unit=doc",
    ):
        found = rows(line, capsys)
        assert {tuple(row["factors"]) for row in found} == {("doc",)}
        assert {row["n_units"] for row in found} == {2}


def test_subsets(there, capsys):
    line = (
        f"--output-kind translation {SENTENCES} --lines doc=docs.txt --subset doc --measure penalty"
    )
    found = {row["dims"].get("subset"): row["value"] for row in rows(line, capsys)}
    assert {*found} == {None, "doc=x", "doc=y"} or {*found} == {None, "x", "y"}
    assert [value for name, value in found.items() if name and name.endswith("y")] == [0]


def test_several_references(there, capsys):
    (there / "r2.txt").write_text("\n".join(["the cat sat on mat", "", ""]) + "\n")
    line = f"--output-kind translation {SENTENCES} --reference r2.txt"
    found = {row["measure"]: row for row in rows(line, capsys)}
    assert "references:var" in found["base_score"]["signature"]
    again = [*zip(TEXTS["r.txt"], ["the cat sat on mat", "", ""], strict=True)]
    lived = tc.lifelong.penalise(
        "translation", TEXTS["b.txt"], TEXTS["a.txt"], [*zip(*again, strict=True)], ["0"]
    )
    for row in tc.score_system(lived, tc.Scoring(plan=tc.Plan(20))):
        if row.value is not None and row.measure in found:
            assert found[row.measure]["value"] == pytest.approx(row.value)


def test_compat_with_the_program_of_2020(there, capsys):
    plain = values(f"--output-kind translation {SENTENCES}", capsys)
    theirs = values(f"--output-kind translation {SENTENCES} --compat allies-2020", capsys)
    assert theirs["penalised_score"] != plain["penalised_score"]
    assert theirs["base_score"] == plain["base_score"]
    refused(
        f"--output-kind translation {SENTENCES} --compat allies-2020 --score ter",
        capsys,
        2,
        "is for bleu",
    )


def test_options_of_the_tasks(there, capsys):
    shout = [line.upper() for line in TEXTS["a.txt"]]
    (there / "shout.txt").write_text("\n".join(shout) + "\n")
    files = SENTENCES.replace("a.txt", "shout.txt")
    plain = values(f"--output-kind translation {SENTENCES} --lowercase --tokenizer char", capsys)
    assert (
        values(f"--output-kind translation {files} --lowercase --tokenizer char", capsys) == plain
    )
    plain = values(f"--output-kind transcripts {SENTENCES} {AS_LINES}", capsys)
    line = f"--output-kind transcripts {files} {AS_LINES} --normalise lower,no-punctuation"
    assert values(line, capsys) == plain


def test_diarization_by_hand(there, capsys):
    found = values(f"{RECORDINGS} --corrected c.uem", capsys)
    # r1: 8 s of x are a, 5 of y (9 to 14) are b; r2: z is c for 4 s. Reference: 10 + 6 + 8 s.
    # From 7 to 10 reference and output have at most 1, 2 and 2 speakers.
    errors = {"7-8": 0, "8-9": 2, "9-10": 1}  # nobody is there from 8 to 9, a is missed to 10
    rest = 2 + 4  # y goes on to 16, w is not c
    assert found["base_score"] == pytest.approx((sum(errors.values()) + rest) / 24)
    assert found["corrected_score"] == pytest.approx(rest / 24)
    assert found["impaired_score"] == pytest.approx((1 + 2 + 2 + rest) / 24)
    assert found["penalty"] == pytest.approx(5 / 24)
    assert found["n_corrections"] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "recording,start,end\nr1,7,10\n"),
        ("t.csv", "id,part,start,duration\nr1,,7,3\n"),
        ("t.txt", "r1 NA 7 10\n"),
        ("two.uem", "r1 1 7 9\nr1 1 9 10\n"),
        ("t.jsonl", '{"recording": "r1", "start": 7, "end": 10, "verdict": null}\n'),
    ],
)
def test_regions_in_any_form(name, text, there, capsys):
    (there / name).write_text(text)
    wanted = values(f"{RECORDINGS} --corrected c.uem --measure penalty,impaired_score", capsys)
    line = f"{RECORDINGS} --corrected {name} --measure penalty,impaired_score"
    assert values(line, capsys) == wanted


def test_recordings_may_be_corrected_throughout(there, capsys):
    (there / "ids.txt").write_text("r2\n")
    found = values(f"{RECORDINGS} --corrected ids.txt", capsys)
    assert found["penalty"] == pytest.approx(8 / 24)
    (there / "both.txt").write_text("r1\nr2\n")
    assert values(f"{RECORDINGS} --corrected both.txt", capsys)["corrected_score"] == 0


def test_choices_of_diarization(there, capsys):
    plain = values(f"{RECORDINGS} --corrected c.uem", capsys)
    one = values(f"{RECORDINGS} --corrected c.uem --impaired-speakers one", capsys)
    assert one["base_score"] == plain["base_score"]
    assert one["impaired_score"] == plain["impaired_score"]  # never two speakers at once
    skipped = values(f"{RECORDINGS} --corrected c.uem --skip-overlap", capsys)
    assert skipped["penalty"] == pytest.approx(1 / (24 - 4))
    (there / "all.uem").write_text("r1 1 0 9\nr2 1 0 8\n")
    limited = values(f"{RECORDINGS} --corrected c.uem --uem all.uem", capsys)
    assert limited["penalty"] == pytest.approx((1 + 2) / (9 + 1 + 8))
    [row, *_] = rows(f"{RECORDINGS} --corrected c.uem --impaired-speakers one", capsys)
    assert "impaired-speakers:one" in row["signature"]


def test_two_output_speakers_on_one_that_does_not_exist():
    said, right = "0 4 x|0 4 y", "0 4 a"
    for how, errors in (("each", 8), ("one", 4)):
        lived = tc.lifelong.penalise(
            "diarization", [said], [said], [right], {"0": ""}, {"impaired_speakers": how}
        )
        [row] = tc.score_system(lived, tc.Scoring(measures=("impaired_score",), plan=tc.Plan(2)))
        assert row.value == errors / 4


def test_classes_by_hand(there, capsys):
    found = values(CLASSES, capsys)
    assert found["base_score"] == pytest.approx(3 / 6)
    assert found["adapted_score"] == pytest.approx(2 / 6)
    assert found["impaired_score"] == pytest.approx(4 / 6)  # i3 was right, and is wrong now
    assert found["corrected_score"] == pytest.approx(2 / 6)
    assert found["penalised_score"] == pytest.approx(4 / 6)
    costs = '--classes a,b,c --cost-matrix "0 1 9; 1 0 2; 1 1 0" --unit speaker'
    found = values(f"{CLASSES} {costs}", capsys)
    assert found["penalty"] == pytest.approx((2 + 9) / 6)
    assert found["base_score"] == pytest.approx((1 + 1 + 2) / 6)


def test_classes_may_be_a_word_a_line(there, capsys):
    for name in "rba":
        column = pl.read_csv(f"{name}.csv").to_series(1)
        (there / f"{name}.lab").write_text("\n".join(column) + "\n")
    (there / "numbers").write_text("2\n4\n")
    line = (
        "--output-kind classes --base b.lab --adapted a.lab --reference r.lab --corrected numbers"
    )
    assert values(line, capsys) == values(CLASSES, capsys)


def test_a_minimal_supervision_rate(there, capsys):
    (there / "two.txt").write_text("1\n2\n")
    files = SENTENCES.replace("ids.txt", "two.txt").replace("a.txt", "r.txt")
    found = values(f"--output-kind transcripts {files} {AS_LINES}", capsys)
    assert found["msr"] == pytest.approx((6 + 6) / 18)
    asked = f"--output-kind transcripts {files} {AS_LINES} --measure msr --cost answers"
    assert values(asked, capsys)["msr"] == pytest.approx(2 / 3)


def test_a_result_directory(there, capsys):
    code, _, err = run(f"--output-kind translation {SENTENCES} -o out --replicates 20 -q", capsys)
    assert (code, err) == (0, "")
    stored = json.loads((there / "out" / "result.json").read_text())
    names = [(entry["system"], entry["file"]) for entry in stored["inputs"]]
    assert names == [("a", "b.txt"), ("a", "a.txt"), ("", "r.txt"), ("", "ids.txt")]
    assert stored["task"] == "lifelong"
    assert "penalised" in (there / "out" / "report.html").read_text()


def test_the_same_bytes_whatever_the_threads(there, capsys):
    line = f"--output-kind translation {SENTENCES} --json --replicates 50 -q --jobs"
    assert run(f"{line} 1", capsys) == run(f"{line} 3", capsys)


def test_names_and_citations(there, capsys):
    line = f"--output-kind translation {SENTENCES}".replace("a.txt", "mine=a.txt")
    assert {row["dims"]["system"] for row in rows(line, capsys)} == {"mine"}
    code, out, _ = run(f"--output-kind translation {SENTENCES} --cite", capsys)
    assert code == 0
    assert "sacrebleu" in out.lower()


# Refusals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty; expected the corrections of the person"),
        ("9\n", "1 sentence is not among the 3 that are scored: 9"),
        ("9\n", "line numbers, from 1"),
        ("1\n1\n", "1 id occurs more than once: 1"),
    ],
)
def test_corrections_that_are_none(text, said, there, capsys):
    (there / "ids.txt").write_text(text)
    refused(f"--output-kind translation {SENTENCES}", capsys, 3, "ids.txt", said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,verdict\nu1,wrong\n", "1 answer gives only the verdict that the output is wrong"),
        ("id,verdict\nu2,right\nu1,wrong\n", "the first at line 3"),
        ("id,verdict,label\nu1,wrong,\n", "without the right output"),
        (
            "id,verdict\nu1,wronk\n",
            "1 verdict not known (right or wrong was expected",
        ),
        ("id,part\nu1,0-1\n", "leave the part empty: 0-1 at line 2"),
        (
            "id\nu1\nu7\n",
            "1 sentence is not among the 3 that are scored: u7; the scored ones are u1, u2, u3",
        ),
    ],
)
def test_tables_of_corrections_that_are_none(text, said, there, capsys):
    (there / "c.csv").write_text(text)
    files = "--base b.tab.csv --adapted a.tab.csv --reference r.tab.csv --corrected c.csv"
    refused(f"--output-kind translation {files}", capsys, 3, "c.csv", said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("r1 1 7 10\nr1 1 9 11\n", "r1: corrected regions overlap ('7-10', '9-11'): each time"),
        ("r1 1 70 100\n", "1 region lies outside of the recording: 70 to 100 s of r1"),
        ("r1 1 70 100\n", "it goes from 0 to 16"),
        (
            "r3 1 7 10\n",
            "1 recording is not among the 2 that are scored: r3; the scored ones are r1, r2",
        ),
        ("r1 1 10 7\n", "line 1: the end 7 is not after the start 10"),
    ],
)
def test_regions_that_are_none(text, said, there, capsys):
    (there / "c.uem").write_text(text)
    refused(f"{RECORDINGS} --corrected c.uem", capsys, 3, "c.uem", said)


def test_regions_of_a_table_are_used(there, capsys):
    (there / "c.csv").write_text("recording,start,end\nr1,7,10\n")
    (there / "c.uem").write_text("r1 1 7 10\n")
    asked = "--measure penalised_score,corrected_score,impaired_score"
    regions, uem = (
        values(f"{RECORDINGS} --corrected c.{x} {asked}", capsys) for x in ("csv", "uem")
    )
    assert regions == uem
    (there / "c.csv").write_text("recording\nr1\n")
    (there / "ids.csv").write_text("id\nr1\n")
    throughout, ids = (
        values(f"{RECORDINGS} --corrected {x} {asked}", capsys) for x in ("c.csv", "ids.csv")
    )
    assert throughout == ids != regions


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("id,Start,End", "are not known in a table of corrections"),
        ("id,Start,End", "columns Start (did you mean 'start'?), End (did you mean 'end'?) are"),
        (
            "recording,from,to",
            "it has id, recording, channel, start, end, duration, part, verdict, label",
        ),
        ("recording,begin,end", "column begin is not known"),
        ("recording,strat,end", "strat (did you mean 'start'?)"),
        ("id,recording,end", "a column 'id' and a column 'recording': leave out one"),
    ],
)
def test_columns_of_regions_that_are_not_read(head, said, there, capsys):
    (there / "c.csv").write_text(f"{head}\nr1,7,10\n")
    refused(f"{RECORDINGS} --corrected c.csv", capsys, 2, "c.csv", said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "id,start,end\nu1,1,2\n",
            "leave out columns start, end: a sentence is corrected as a whole",
        ),
        ("recording,start,end\nu1,1,2\n", "a sentence is corrected as a whole, by its id"),
        ("id,verdcit\nu1,wrong\n", "column verdcit (did you mean 'verdict'?) is not known"),
        ("id,verdcit\nu1,wrong\n", "in a table of corrections: it has id, part, verdict, label"),
    ],
)
def test_columns_of_corrections_that_are_not_read(text, said, there, capsys):
    (there / "c.csv").write_text(text)
    files = "--base b.tab.csv --adapted a.tab.csv --reference r.tab.csv --corrected c.csv"
    refused(f"--output-kind translation {files}", capsys, 2, "c.csv", said)


def test_segments_are_no_regions(there, capsys):
    refused(f"{RECORDINGS} --corrected b.rttm", capsys, 3, "b.rttm: was read as rttm")
    (there / "c.csv").write_text("recording,start,end,verdict\nr1,0,4,wrong\n")
    refused(
        f"{RECORDINGS} --corrected c.csv",
        capsys,
        3,
        "gives only the verdict that the output is wrong",
    )


def test_outputs_that_do_not_belong_together(there, capsys):
    (there / "a.txt").write_text("one\ntwo\n")
    refused(
        f"--output-kind translation {SENTENCES}", capsys, 3, "r.txt has 3 lines and a.txt 2 lines"
    )
    (there / "a.tab.csv").write_text("id,text\nu1,x\nu2,y\nu4,z\n")
    line = "--base b.tab.csv --adapted a.tab.csv --reference r.tab.csv --corrected u.txt"
    refused(f"--output-kind translation {line}", capsys, 3, "a.tab.csv", "u4")
    refused(f"--output-kind transcripts {line}", capsys, 3, "a.tab.csv", "u4")
    (there / "a.tab.csv").write_text("id,text\nu1,x\nu1,y\nu3,z\n")
    refused(f"--output-kind translation {line}", capsys, 3, "a.tab.csv", "u1 (line 2, line 3)")
    (there / "a.csv").write_text("id,decision\ni0,a\n")
    refused(CLASSES, capsys, 3, "5 utterances have no output in a.csv")
    (there / "b.txt").write_text("")
    refused(f"--output-kind translation {SENTENCES}", capsys, 3, "b.txt: the file is empty")
    (there / "a.rttm").write_text(RTTM.format("r9", 0, 3, "x"))
    refused(f"{RECORDINGS} --corrected c.uem", capsys, 3, "a.rttm", "r9")


def test_what_an_output_lacks_may_count_as_empty(there, capsys):
    (there / "a.tab.csv").write_text("id,text\nu1,the cat sat on the mat\nu2,it\n")
    line = "--base b.tab.csv --adapted a.tab.csv --reference r.tab.csv --corrected u.txt"
    found = values(f"--output-kind transcripts {line} --missing worst", capsys)
    assert found["adapted_score"] == pytest.approx((0 + 5 + 6) / 18)
    _, _, err = run(f"--output-kind transcripts {line} --missing worst", capsys)
    assert "after the help: 1 of 3 utterances had no output" in err
    refused(
        f"--output-kind transcripts {line} --missing drop", capsys, 2, "--missing drop would leave"
    )
    refused(f"{CLASSES} --missing worst", capsys, 2, "not for classes")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--output-kind translation", "needs --base, --adapted, --reference, --corrected"),
        (f"{SENTENCES}", "needs --output-kind"),
        (f"--output-kind translation {SENTENCES} --score wer", "not a score of translation"),
        (f"--output-kind translation {SENTENCES} --score mae", "no largest value"),
        (
            f"--output-kind translation {SENTENCES} --measure penalty:wer",
            "not a score of translation",
        ),
        (f"--output-kind translation {SENTENCES} --measure bluu", "did you mean 'bleu'"),
        (f"--output-kind translation {SENTENCES} --cost words", "--cost is for measure msr"),
        (
            f"--output-kind translation {SENTENCES} --score chrf --tokenizer char",
            "is for measure bleu",
        ),
        (f"--output-kind translation {SENTENCES} --collar 1", "--collar is for diarization"),
        (
            f"--output-kind translation {SENTENCES} --normalise lower",
            "--normalise is for transcripts",
        ),
        (f"--output-kind translation {SENTENCES} --classes a,b", "--classes is for classes"),
        (
            f"--output-kind translation {SENTENCES} --tokenizer nope",
            "tokenizer 'nope' is not known",
        ),
        (f"--output-kind translation {SENTENCES} --map unit2=a", "--map unit2"),
        (f"--output-kind translation {SENTENCES} --map unit=a --unit b", "given twice"),
        (f"--output-kind translation {SENTENCES} --config a.toml", "has no study file"),
        (f"--output-kind transcripts {SENTENCES} {AS_LINES} --reference a.txt", "several are for"),
        (f"{RECORDINGS} --corrected c.uem --measure jer", "jer cannot be penalised"),
        (f"{RECORDINGS} --corrected c.uem --collar -1", "--collar is -1"),
        (f"{CLASSES} --cost-matrix '0 1; 1 0'", "--classes"),
    ],
)
def test_wrong_usage(line, said, there, capsys):
    refused(line, capsys, 2, said)


def test_corrections_without_ids(there, capsys):
    (there / "c.csv").write_text("sentence\n1\n")
    line = SENTENCES.replace("ids.txt", "c.csv")
    refused(
        f"--output-kind translation {line}", capsys, 2, "c.csv: there is no column 'id'", "sentence"
    )
    refused(
        f"--output-kind translation {line.replace('c.csv', 'd.csv')}", capsys, 3, "no such file"
    )


def test_a_class_that_is_not_named(there, capsys):
    refused(f"{CLASSES} --classes a,b", capsys, 3, "class 'c' is not among a, b")
    (there / "b.csv").write_text("id,x,y\ni0,a,b\n")
    refused(CLASSES, capsys, 2, "b.csv: it is not known which column has the classes:")


# From lists


def test_lists_are_scored_as_files(there, capsys):
    line = f"--output-kind translation {SENTENCES} --lines unit=docs.txt"
    found = {row["measure"]: row for row in rows(line, capsys)}
    lived = tc.lifelong.penalise(
        "translation",
        *(TEXTS[name] for name in ("b.txt", "a.txt", "r.txt")),
        corrected=["1"],
        ids=["1", "2", "3"],
        unit=["x", "x", "y"],
    )
    for row in tc.score_system(lived, tc.Scoring(plan=tc.Plan(20))):
        wanted = found[row.measure.partition(":")[0]]
        assert row.point == pytest.approx(wanted["value"], nan_ok=True)
        assert (row.lower, row.upper) == pytest.approx((wanted["lower"], wanted["upper"]))


def test_tables_are_scored_as_files(there, capsys):
    found = values(f"{RECORDINGS} --corrected c.uem --collar 0.25", capsys)
    read = [tc.read(name, task="diarization") for name in ("b.rttm", "a.rttm", "r.rttm", "c.uem")]
    lived = tc.lifelong.penalise("diarization", *read, options={"collar": 0.25})
    for row in tc.score_system(lived, tc.Scoring(plan=tc.Plan(20))):
        assert row.point == pytest.approx(found[row.measure.partition(":")[0]])


def test_effort():
    lived = tc.lifelong.penalise(
        "transcripts",
        ["a b", "c", "d d"],
        ["a b", "c", "d e"],
        ["a b", "c e", "d e"],
        ["0", "2"],
    )
    effort = lived.test.effort.sort("item")
    assert effort["corrections"].to_list() == [1, 0, 1]
    assert effort["words"].to_list() == [0, 0, 2]
    assert effort["actions"].to_list() == [0, 0, 1]
    assert effort["all_parts"].to_list() == [0, 1, 1]
    assert effort["all_words"].to_list() == [0, 2, 2]
    assert effort["wrong"].to_list() == [0, 1, 0]
    assert effort["seconds"].null_count() == 3


def test_effort_is_told_after_normalising():
    given = (["A b."], ["A b."], ["a b"], [])
    for options, wrong in ((None, 1), ({"normalise": ("lower", "no-punctuation")}, 0)):
        lived = tc.lifelong.penalise("transcripts", *given, options)
        assert lived.test.effort["wrong"].to_list() == [wrong]


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"base": []}, InputError, "base is empty"),
        ({"adapted": ["a"]}, InputError, "base has 2 texts, adapted 1"),
        ({"references": ["a"]}, InputError, "references 1"),
        ({"corrected": ["7"]}, InputError, "not among the 2"),
        ({"corrected": ["0", "0"]}, InputError, "occurs twice"),
        ({"corrected": "0"}, InputError, "give a list with the ids"),
        ({"corrected": {"0": "1-2"}}, InputError, "corrected as a whole"),
        ({"ids": ["x", "x"]}, InputError, "occurs"),
        ({"ids": ["x"]}, InputError, "ids 1"),
        ({"unit": ["x"]}, InputError, "unit has 1 value for 2 sentences"),
        ({"base": "one text"}, InputError, "base"),
        ({"base": [1, 2]}, InputError, r"base\[0\]"),
        ({"kind": "translations"}, UsageError, "did you mean 'translation'"),
        ({"options": {"tokeniser": "13a"}}, UsageError, "did you mean 'tokenizer'"),
        ({"scores": ("wer",)}, UsageError, "not a score of translation"),
        ({"name": 3}, UsageError, "name is"),
    ],
)
def test_lists_that_are_none(changed, error, said):
    given = {
        "kind": "translation",
        "base": ["a b", "c"],
        "adapted": ["a b", "c"],
        "references": ["a b", "d"],
        "corrected": ["0"],
    }
    with pytest.raises(error, match=said):
        tc.lifelong.penalise(**{**given, **changed})


def test_systems_are_compared_when_they_had_the_same_help():
    rng = np.random.default_rng(3)
    right = [str(k) for k in rng.integers(0, 3, 60)]
    before = [r if rng.random() < 0.5 else "0" for r in right]
    systems = [
        tc.lifelong.penalise(
            "classes", before, [r if rng.random() < p else "0" for r in right], right, ["1"], name=n
        )
        for n, p in (("one", 0.6), ("two", 0.95))
    ]
    scoring = tc.Scoring(measures=("penalised_score",), plan=tc.Plan(200))
    _, [[compared]] = tc.compare_systems(systems, scoring)
    assert compared.difference.upper < 0


def test_several_submissions_are_compared_with_the_first(there, capsys):
    (there / "none.txt").write_text("3\n")
    line = f"{SENTENCES.replace('--adapted a.txt', '--adapted one=a.txt --adapted two=b.txt')}"
    code, out, _ = run(f"--output-kind translation {line} --corrected none.txt --json", capsys)
    assert code == 0
    rows = json.loads(out)["rows"]
    both = {
        name: run(
            f"--output-kind translation --base b.txt --adapted {name}={file} --reference r.txt "
            f"--corrected {ids} --json",
            capsys,
        )
        for name, file, ids in (("one", "a.txt", "ids.txt"), ("two", "b.txt", "none.txt"))
    }
    alone = {name: json.loads(found[1])["rows"] for name, found in both.items()}
    values = {
        name: [row for row in rows if row["kind"] == "value" and row["dims"]["system"] == name]
        for name in alone
    }
    assert values == alone
    (found,) = [
        row for row in rows if row["kind"] == "difference" and row["measure"] == "penalised_score"
    ]
    assert len({row["measure"] for row in rows if row["kind"] == "difference"}) > 3
    _, out, said = run(f"--output-kind translation {line} --json", capsys)  # the same help
    compared = {r["measure"] for r in json.loads(out)["rows"] if r["kind"] == "difference"}
    assert compared == {"penalised_score", "adapted_score", "generalisation_gain"}
    assert "note: two and one have the same files for --base and --corrected: their" in said
    wanted = [of[0]["value"] for of in alone.values()]
    assert found["baseline"] == "one"
    assert found["value"] == pytest.approx(wanted[1] - wanted[0])
    assert found["lower"] <= found["value"] <= found["upper"]


def test_submissions_need_one_base_each_or_one_for_all(there, capsys):
    line = "--output-kind translation --base b.txt --base b.txt --adapted a=a.txt --adapted b=b.txt"
    line += " --adapted c=a.txt --reference r.txt --corrected ids.txt"
    code, _, said = run(line, capsys)
    assert code == 2
    assert "--base is given 2 times and --adapted 3 times" in said
