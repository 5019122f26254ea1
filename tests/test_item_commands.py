"""Transcripts, translation and diarization from the command line and from studies, as written."""

import json
import shlex
import sys

import polars as pl
import pytest

from truecost import cli

REF = "the cat sat on the mat (ann-1)\nit rained all day long (ann-2)\nshe said no more (bob-1)\n"
HYP = "the cat sat on mat (ann-1)\nit rained all the day long (ann-2)\nshe said no war (bob-1)\n"
RTTM = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"
WRITTEN = (
    "diarization score ref.rttm a.rttm --collar 0.25 --json",
    "transcripts score ref.trn hyp.trn --json",
    "translation score ref.txt hyp.txt --json",
    "diarization compare ref.rttm a.rttm b.rttm --json",
)


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with small files of each task, and the place where we are."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("ref.trn", REF), ("hyp.trn", HYP)):
        (tmp_path / name).write_text(text)
        lines = [line.rpartition(" (")[0] for line in text.splitlines()]
        (tmp_path / name).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "utt2spk").write_text("ann-1 ann\nann-2 ann\nbob-1 bob\n")
    turns = {
        "ref": [("r1", 0, 10, "a"), ("r1", 10, 10, "b"), ("r2", 0, 8, "c")],
        "a": [("r1", 0, 9, "x"), ("r1", 9, 11, "y"), ("r2", 0, 8, "z")],
        "b": [("r1", 0, 20, "x"), ("r2", 0, 9, "z")],
    }
    for name, of in turns.items():
        (tmp_path / f"{name}.rttm").write_text("".join(RTTM.format(*turn) for turn in of))
    return tmp_path


def run(line, capsys):
    code = cli.run(line.split())
    out, err = capsys.readouterr()
    return code, out, err


def rows(line, capsys):
    code, out, _ = run(line, capsys)
    assert code == 0
    return json.loads(out)["rows"]


def values(line, capsys):
    return {r["measure"]: r["value"] for r in rows(line, capsys) if r["kind"] == "value"}


@pytest.mark.parametrize("line", WRITTEN)
def test_works_as_written(line, there, capsys):
    found = rows(line, capsys)
    for row in found:
        assert {"value", "lower", "upper", "level", "signature", "n_trials"} <= {*row}
        assert row["factors"]


def test_rows_of_diarization(there, capsys):
    found = values("diarization score ref.rttm a.rttm --json", capsys)
    assert found == pytest.approx(
        {"der": 1 / 28, "missed": 0, "false_alarm": 0, "confusion": 1 / 28}
        | {"jer": (1 / 10 + 1 / 11 + 0) / 3}
    )
    collared = values("diarization score ref.rttm a.rttm --collar 0.25 --json", capsys)
    assert collared["der"] == pytest.approx(0.75 / (28 - 6 * 0.25))  # five boundaries, one shared


def test_rows_of_transcripts(there, capsys):
    found = values("transcripts score ref.trn hyp.trn --json", capsys)
    assert found["wer"] == pytest.approx(3 / 15)
    assert found["unit_accuracy"] == pytest.approx(13 / 15)
    assert 0 < found["cer"] < found["wer"]


def test_rows_of_translation(there, capsys):
    [row] = rows("translation score ref.txt hyp.txt --json", capsys)
    assert row["measure"] == "bleu"
    assert 40 < row["value"] < 60
    for choice in ("bleu:exp", "tokenizer:13a", "case:mixed", "sacrebleu:"):
        assert choice in row["signature"]


def test_comparison_is_paired(there, capsys):
    found = rows("diarization compare ref.rttm a.rttm b.rttm --json", capsys)
    kinds = [(r["kind"], r["measure"]) for r in found]
    assert ("difference", "der") in kinds
    assert ("ratio", "der") in kinds
    [row] = [r for r in found if r["kind"] == "difference" and r["measure"] == "der"]
    assert row["value"] == pytest.approx(11 / 28 - 1 / 28)
    assert row["baseline"] == "a"


def test_speakers_are_units_and_subsets(there, capsys):
    line = "transcripts score ref.trn hyp.trn --metadata utt2spk --map unit=speaker"
    found = rows(f"{line} --subset speaker --json", capsys)
    assert {r["factors"][0] for r in found} == {"speaker"}
    subsets = {r["dims"].get("subset"): r["value"] for r in found if r["measure"] == "wer"}
    assert subsets == pytest.approx({None: 3 / 15, "speaker=ann": 2 / 11, "speaker=bob": 1 / 4})


def test_a_value_a_line_gives_documents(there, capsys):
    (there / "docs.txt").write_text("one\none\ntwo\n")
    line = "translation score ref.txt hyp.txt --lines document=docs.txt --map unit=document --json"
    [row] = rows(line, capsys)
    assert (row["factors"], row["n_units"], row["n_trials"]) == (["document"], 2, 3)
    (there / "docs.txt").write_text("one\ntwo\n")
    code, _, err = run(line, capsys)
    assert (code, "docs.txt: 2 lines, but ref.txt has 3: give one value for each line" in err) == (
        3,
        True,
    )


def test_further_references_are_references(there, capsys):
    one, two = (
        values(f"translation score ref.txt hyp.txt {more} --json", capsys)["bleu"]
        for more in ("", "--reference hyp.txt")
    )
    assert one < two == pytest.approx(100)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("transcripts score ref.trn", 2, "give at least one file after the reference"),
        ("transcripts score", 2, "no reference is named"),
        ("transcripts compare ref.trn hyp.trn", 2, "a reference and at least two systems"),
        ("transcripts score none.trn hyp.trn", 3, "none.trn: there is no such file"),
        ("transcripts score ref.trn hyp.trn --normalise lowr", 2, "lower"),
        ("transcripts score ref.trn hyp.trn --measure nec", 2, "is not for utterances"),
        ("transcripts score ref.trn hyp.trn --map words=text", 2, "map one of id, text"),
        (
            "transcripts score ref.trn hyp.trn --reference ref.trn",
            2,
            "the first file is the reference",
        ),
        ("transcripts score ref.trn hyp.trn --worst -1", 2, "worst is -1"),
        ("diarization score ref.rttm a.rttm --collar -1", 2, "collar"),
        ("diarization score ref.rttm a.rttm --uem none.uem", 3, "none.uem: there is no such"),
        ("transcripts score - -", 2, "standard input can be read once only"),
        ("transcripts score ref.trn hyp.trn --block-length 3", 2, "use --resample blocks"),
        ("diarization score ref.rttm a.rttm --merge-gaps 1e300", 2, "at most 86400"),
        ("translation score ref.txt hyp.txt --measure bleu:floor=", 2, "a number above 0"),
        ("diarization score ref.rttm a.rttm --lines a=b", 2, "lines"),
        ("translation score ref.txt hyp.txt --tokenizer 13b", 2, "13a"),
        ("translation score ref.txt hyp.txt --lines docs.txt", 2, "write COLUMN=FILE"),
    ],
)
def test_wrong_use_says_what_is_wrong(line, code, said, there, capsys):
    found, out, err = run(f"{line} -o out", capsys)
    assert (found, out) == (code, "")
    assert said in err
    assert not (there / "out").exists()


def test_ids_that_do_not_match_are_an_error(there, capsys):
    (there / "hyp.trn").write_text("the cat (ann-1)\nmore (carl-7)\n")
    code, _, err = run("transcripts score ref.trn hyp.trn", capsys)
    assert code == 3
    assert "carl-7" in err
    (there / "hyp.trn").write_text("the cat (ann-1)\n")
    code, _, err = run("transcripts score ref.trn hyp.trn", capsys)
    assert code == 3
    assert "ann-2, bob-1" in err
    kept = {
        missing: values(f"transcripts score ref.trn hyp.trn --missing {missing} --json", capsys)
        for missing in ("drop", "worst")
    }
    assert kept["drop"]["wer"] == pytest.approx(4 / 6)
    assert kept["worst"]["wer"] == pytest.approx(13 / 15)


STUDY = """
task = "diarization"
baseline = "a"
worst = 1
[data]
reference = ["ref.rttm"]
[diarization]
collar = 0.25
[systems]
a.file = "a.rttm"
b.file = "b.rttm"
[interval]
replicates = 100
[[gate]]
measure = "der"
system = "a"
max_upper = 0.9
"""


def test_a_study_file_runs_and_is_drawn_again(there, capsys):
    (there / "study.toml").write_text(STUDY)
    code, _, _ = run("run study.toml -o out", capsys)
    assert code == 0
    stored = json.loads((there / "out" / "result.json").read_text())
    assert stored["task"] == "diarization"
    assert stored["gates"][0]["verdict"] == "pass"
    assert {(c["system"], c["item"]) for c in stored["cases"]} == {("a", "r1"), ("b", "r1")}
    page = (there / "out" / "report.html").read_bytes()
    assert run("report out", capsys)[0] == 0
    assert (there / "out" / "report.html").read_bytes() == page


def test_equal_runs_give_equal_bytes_whatever_the_threads(there, capsys):
    (there / "study.toml").write_text(STUDY)
    for name, jobs in (("one", 1), ("two", 2)):
        assert run(f"run study.toml -o {name} --jobs {jobs}", capsys)[0] == 0
    for file in ("result.json", "items.parquet", "report.html"):
        assert (there / "one" / file).read_bytes() == (there / "two" / file).read_bytes()


def test_items_are_stored_one_by_one(there, capsys):
    line = "transcripts score ref.trn hyp.trn --metadata utt2spk --map unit=speaker -q -o out"
    assert run(line, capsys)[0] == 0
    frame = pl.read_parquet(there / "out" / "items.parquet")
    assert frame["item"].to_list() == ["ann-1", "ann-2", "bob-1"]
    assert frame["wer"].to_list() == pytest.approx([1 / 6, 1 / 5, 1 / 4])
    assert frame["words.insertions"].to_list() == [0, 1, 0]
    assert frame["speaker"].to_list() == ["ann", "ann", "bob"]


@pytest.mark.parametrize(
    "line", ["transcripts score ref.trn hyp.trn", "translation score ref.txt hyp.txt"]
)
def test_no_text_is_stored_when_no_case_is_asked_for(line, there, capsys):
    assert run(f"{line} -o out --worst 0", capsys)[0] == 0
    for file in (there / "out").iterdir():
        assert b"rained" not in file.read_bytes()
    assert "rained" not in pl.read_parquet(there / "out" / "items.parquet").write_csv()


def test_validate_with_and_without_the_reference(there, capsys):
    assert run("transcripts validate hyp.trn", capsys)[0] == 0
    assert run("transcripts validate hyp.trn --reference ref.trn", capsys)[0] == 0
    (there / "bad.trn").write_text("the cat sat\n")
    code, out, _ = run("transcripts validate bad.trn", capsys)
    assert code == 3
    assert "bad.trn, line 1" in out
    (there / "short.trn").write_text("the cat (ann-1)\n")
    code, out, _ = run("transcripts validate short.trn --reference ref.trn", capsys)
    assert code == 3
    assert "ann-2, bob-1" in out


def test_plan_and_leaderboard(there, capsys):
    code, out, _ = run("diarization plan ref.rttm b.rttm --measure der --json", capsys)
    assert code == 0
    assert json.loads(out)["rows"][0]["measure"] == "der"
    code, out, _ = run("diarization leaderboard ref.rttm a.rttm b.rttm --json", capsys)
    assert code == 0
    found = json.loads(out)
    assert [s["system"] for s in found["leaderboard"]] == ["a", "b"]
    assert "cases" not in found
    line = "diarization leaderboard ref.rttm a.rttm b.rttm --worst 1 --json"
    assert len(json.loads(run(line, capsys)[1])["cases"]) == 2


def test_tables_of_another_task_are_refused(there, capsys):
    (there / "study.toml").write_text(STUDY.replace("[diarization]\ncollar", "[transcripts]\nby"))
    code, _, err = run("run study.toml", capsys)
    assert code == 2
    assert "by" in err
    (there / "study.toml").write_text(STUDY + '[transcripts]\nby = "id"\n')
    code, _, err = run("run study.toml", capsys)
    assert code == 2
    assert "[transcripts] is for task transcripts; the task of the study is diarization" in err
    (there / "study.toml").write_text(STUDY)
    code, _, err = run("transcripts score --config study.toml", capsys)
    assert code == 2
    assert (
        "the study file is for task diarization: use truecost diarization, not transcripts" in err
    )


@pytest.mark.parametrize(
    ("line", "module", "extra"),
    [
        ("transcripts score ref.trn hyp.trn", "rapidfuzz", "speech"),
        ("translation score ref.txt hyp.txt", "sacrebleu", "translation"),
    ],
)
def test_a_missing_package_says_what_to_install(line, module, extra, there, capsys, monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    code, _, err = run(line, capsys)
    assert code == 2
    assert f"pip install 'truecost[{extra}]'" in err


@pytest.mark.parametrize(
    ("line", "alone", "beside"),
    [
        ("translation score ref.txt hyp.txt", "bleu", "chrf,ter"),
        ("translation score ref.txt hyp.txt", "ter", "bleu"),
        ("diarization score ref.rttm a.rttm --tolerance 0.1", "speech_error", "der"),
        ("transcripts score ref.trn hyp.trn --normalise lower", "cer", "wer"),
    ],
)
def test_a_signature_does_not_depend_on_what_else_is_asked(line, alone, beside, there, capsys):
    [one] = rows(f"{line} --measure {alone} --json", capsys)
    several = rows(f"{line} --measure {alone},{beside} --json", capsys)
    assert one["signature"] == several[0]["signature"]


def test_a_gate_names_a_measure_with_a_value_in_its_name(there, capsys):
    line = "translation score ref.txt hyp.txt --measure bleu:floor=0.2,bleu -o out"
    assert run(line, capsys)[0] == 0
    assert run("gate out --gate bleu:floor=0.2:min_lower=1", capsys)[0] in (0, 4)
    code, _, err = run("gate out --gate bleu:flor=0.2:min_lower=1", capsys)
    assert (code, "flor" in err) == (2, True)
    code, _, err = run("gate out --gate bleu:exp,min_lower=50", capsys)
    assert (code, "write a colon before the first key" in err) == (2, True)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ("docs", "docs: has one value a line and no ids: use --lines COLUMN=docs"),
        ("document=docs", "docs: has one value a line and no ids: use --lines COLUMN=docs"),
        ("utt2spk", "ref.txt has no ids: give a column from a file with one value a line by --lin"),
    ],
)
def test_metadata_without_ids_say_how_columns_are_given(metadata, said, there, capsys):
    (there / "docs").write_text("one\none\ntwo\n")
    code, _, err = run(f"translation score ref.txt hyp.txt --metadata {metadata}", capsys)
    assert code in (2, 3)
    assert said in err
    (there / "docs").write_text("one\n")
    _, _, err = run("diarization score ref.rttm a.rttm --metadata docs", capsys)
    assert "--lines" not in err


ITEMS = {  # each task of items: its files, and the ids of its items
    "transcripts": ("ref.trn hyp.trn", ("ann-1", "ann-2", "bob-1")),
    "translation": ("ref.txt hyp.txt", ("1", "2", "3")),
    "diarization": ("ref.rttm a.rttm", ("r1", "r2")),
}


@pytest.mark.parametrize("task", ITEMS)
def test_a_list_of_conditions_is_no_list_of_speakers(task, there, capsys):
    files, ids = ITEMS[task]
    (there / "cond.txt").write_text("".join(f"{name} c{k}\n" for k, name in enumerate(ids)))
    line = f"{task} score {files} --json"
    code, out, err = run(f"{line} --metadata cond.txt --unit speaker", capsys)
    assert (code, out) == (2, "")
    assert f"cond.txt: two fields on a line and no header (line 1: '{ids[0]} c0')" in err
    assert "write --metadata id.cond=cond.txt (COLUMN.NAME=FILE), or call the file utt2cond" in err
    named = "--metadata id.cond=cond.txt"
    assert {tuple(row["factors"]) for row in rows(f"{line} {named} --unit cond", capsys)} == {
        ("cond",)
    }
    code, _, err = run(f"{line} {named} {named}", capsys)
    assert (code, "column cond is in" in err) == (2, True)
    assert "too: give another name with --metadata id.NAME=cond.txt" in err


def test_a_manifest_meets_the_ids_of_kaldi(there, capsys):
    said = {"ann-1": "a b", "ann-2": "c", "bob-1": "d e"}
    (there / "text").write_text("".join(f"{name} {words}\n" for name, words in said.items()))
    lines = [
        {"audio_filepath": f"/data/{name}.wav", "text": words, "pred_text": words[:1]}
        for name, words in said.items()
    ]
    (there / "nemo.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for files in ("text nemo.jsonl", "nemo.jsonl --metadata utt2spk"):
        line = f"transcripts score {files} --measure wer --json"
        code, out, err = run(line, capsys)
        assert (code, out) == (3, "")
        assert "without folders and endings of files they match: --map id=id:stem" in err
        for how in ("--map id=id:stem", "--map id=audio_filepath:stem --reference-map id=id:stem"):
            [row] = rows(f"{line} {how}", capsys)
            assert (row["value"], row["n_trials"]) == (2 / 5, 3)
    line = "transcripts score text nemo.jsonl --measure wer --map id=id:stem"
    code, _, err = run(f"{line} --unit speaker", capsys)
    assert (code, "or join it with --metadata FILE (utt2spk, or a table)" in err) == (2, True)
    [row] = rows(f"{line} --metadata utt2spk --unit speaker --json", capsys)
    assert row["n_units"] == 2
    code, out, _ = run("transcripts validate nemo.jsonl --reference text --map id=id:stem", capsys)
    assert (code, "3 utterances as in the reference" in out) == (0, True)


@pytest.mark.parametrize("method", ["auto", "percentile"])
def test_subsets_of_one_unit_say_why_they_have_no_interval(method, there, capsys):
    line = "transcripts score ref.trn hyp.trn --metadata utt2spk --unit speaker --measure wer"
    line += f" --subset speaker --method {method}"
    said = "no interval: 2 subsets have only one speaker each, and an interval needs several units"
    _, _, err = run(f"{line} --no-advice", capsys)
    assert f"note: {said}. Name a smaller unit than speaker, or none: every utterance" in err
    assert err.count("no interval") == 1
    found = [row for row in rows(f"{line} --json", capsys) if "subset" in row["dims"]]
    assert [(row.get("lower"), row["n_units"]) for row in found] == [(None, 1), (None, 1)]
    _, _, err = run(line.replace("--unit speaker ", ""), capsys)
    assert said not in err


@pytest.mark.parametrize("task", ITEMS)
@pytest.mark.parametrize("verb", ["score", "leaderboard"])
def test_the_worst_items_that_are_asked_for_are_printed(verb, task, there, capsys):
    reference, hypothesis = ITEMS[task][0].split()
    line = f"{task} {verb} {reference} x={hypothesis} y={hypothesis} -q"
    plain = run(line, capsys)[1]
    code, out, _ = run(f"{line} --worst 1", capsys)
    assert (code, out.startswith(plain)) == (0, True)
    said = [text.split() for text in out.removeprefix(plain).splitlines() if text]
    cases = json.loads(run(f"{line} --worst 1 --json", capsys)[1])["cases"]
    assert len(cases) == 2
    for case in cases:
        assert said.pop(0)[:2] == [f"{case['system']},", f"{case['item']}:"]
        for label, text in case["lines"]:
            assert not f"{label}{text}".strip() or said.pop(0) == f"{label} {text}".split()
    assert not said
    assert run(f"{line} --worst 0", capsys)[1] == plain
    assert run(f"{line} --worst 1 -o out", capsys)[1] == plain


def test_a_quoted_column_is_a_column(there, capsys):
    (there / "spk2gender").write_text("ann f\nbob m\n")
    line = "transcripts score ref.trn hyp.trn --metadata utt2spk --metadata speaker=spk2gender"
    levels = {None, "speaker.gender=f", "speaker.gender=m"}
    for subset in ('"speaker.gender"', "speaker.gender"):
        found = rows(f"{line} --measure wer --subset {subset} --json", capsys)
        assert {row["dims"].get("subset") for row in found} == levels


def test_a_column_of_many_levels_suggests_a_condition_that_can_be_copied(there, capsys):
    (there / "many.trn").write_text("".join(f"a (u{k})\n" for k in range(60)))
    lines = [f"u{k},it's {k},{k},{k}" for k in range(60)]
    (there / "many.csv").write_text("id,doc,number,a.b\n" + "\n".join(lines))
    line = "transcripts score many.trn many.trn --metadata many.csv --measure wer --subset"
    for column in ("doc", "number", "a.b"):
        code, _, err = run(f"{line} {column}", capsys)
        assert code == 2
        [condition] = shlex.split(err[err.index("such as ") + len("such as ") :])
        code = cli.run([*line.split(), condition, "-q"])
        capsys.readouterr()
        assert code == 0


@pytest.mark.parametrize(("asked", "said"), [("WER", "'wer'"), ("Eer", "'eer'"), ("F1", "'f1'")])
def test_a_measure_in_capital_letters_is_told(asked, said, there, capsys):
    code, _, err = run(f"transcripts score ref.trn hyp.trn --measure {asked}", capsys)
    assert code == 2
    assert said in err


def test_measures_are_listed_with_their_task(capsys):
    code, out, _ = run("list measures", capsys)
    tasks = [line.rpartition("; for ")[2] for line in out.splitlines()]
    assert code == 0
    alone = [of for of in dict.fromkeys(tasks) if "," not in of]
    every = ["trials", "transcripts", "translation", "diarization", "abba", "terms", "streams"]
    assert alone == [*every, "lifelong"]
    own = [of for of in tasks if of in alone]
    assert own == sorted(own, key=alone.index)  # those of a task together
    found = json.loads(run("list measures --json", capsys)[1])
    assert {e["name"]: e["tasks"] for e in found}["wer"] == ["transcripts"]
    assert (
        "utterance speaker (metadata of every task); for trials, transcripts"
        in (run("list formats", capsys)[1])
    )


def test_weights_and_strata_are_honoured(there, capsys):
    (there / "more.csv").write_text("id,w,s\nann-1,1,x\nann-2,1,x\nbob-1,4,y\n")
    line = "transcripts score ref.trn hyp.trn --metadata more.csv --measure wer --json"
    [plain], [weighted] = rows(line, capsys), rows(f"{line} --map weight=w,stratum=s", capsys)
    assert plain["value"] == pytest.approx(3 / 15)
    assert weighted["value"] == pytest.approx((1 + 1 + 4 * 1) / (6 + 5 + 4 * 4))
    assert "|weighted|" in weighted["signature"]
    assert "strata" in weighted["signature"]


@pytest.mark.parametrize("name", ["system", "item", "wer", "words.reference"])
def test_units_are_not_named_as_results_are(name, there, capsys):
    (there / "more.csv").write_text(f"id,{name}\nann-1,a\nann-2,b\nbob-1,c\n")
    line = "transcripts score ref.trn hyp.trn --metadata more.csv -o out"
    code, _, err = run(f"{line} --map unit={name}", capsys)
    assert (code, "results have a" in err) == (2, True)
    assert run(line, capsys)[0] == 0
    frame = pl.read_parquet(there / "out" / "items.parquet")
    assert frame[f"given {name}"].to_list() == ["a", "b", "c"]


def test_a_value_a_line_is_not_for_texts_with_ids(there, capsys):
    (there / "docs.txt").write_text("one\none\ntwo\n")
    for line, said in (
        ("transcripts score ref.trn hyp.trn --lines doc=docs.txt", "ref.trn has ids"),
        ("translation score ref.txt hyp.txt --lines id=docs.txt", "choose another name"),
        ("translation score ref.txt hyp.txt --lines =docs.txt", "write COLUMN=FILE"),
    ):
        code, _, err = run(line, capsys)
        assert (code, said in err) == (2, True)


def test_validate_takes_the_options_of_every_measure(there, capsys):
    line = "diarization validate a.rttm --reference ref.rttm --collar 0.1 --tolerance 0.1"
    assert run(line, capsys)[0] == 0


def test_times_that_are_no_seconds_are_refused(there, capsys):
    (there / "ref.stm").write_text("r 1 ann 0.0 5.0 a cat\n")
    (there / "hyp.ctm").write_text("r 1 1e9 0.5 a\n")
    code, _, err = run("transcripts score ref.stm hyp.ctm", capsys)
    assert code == 3
    assert "beyond 10,000,000 s" in err


def test_a_unit_is_not_called_what_every_item_is(there, capsys):
    (there / "more.csv").write_text("id,utterance\nann-1,a\nann-2,a\nbob-1,c\n")
    line = "transcripts score ref.trn hyp.trn --metadata more.csv --map unit=utterance"
    code, _, err = run(line, capsys)
    assert (code, "this name is used where there is no unit column" in err) == (2, True)


def test_ids_are_not_taken_for_words_of_a_translation(there, capsys):
    lines = [f"u-{k} the cat sat on mat {k}\n" for k in range(9)]
    for name in ("ref.text", "hyp.text"):
        (there / name).write_text("".join(lines))
    code, _, err = run("translation score ref.text hyp.text", capsys)
    assert (code, "could be kaldi-text (id words) or lines" in err) == (2, True)
    assert "outputs of this format need --input-format too" in err
    formats = "--input-format kaldi-text --reference-format kaldi-text"
    assert values(f"translation score ref.text hyp.text {formats} --json", capsys)["bleu"] == 100


def test_metadata_of_other_ids_are_a_table_and_not_lines(there, capsys):
    (there / "other.csv").write_text("utt,speaker\nz1,ann\nz2,bob\n")
    line = "transcripts score ref.trn hyp.trn --unit speaker --metadata other.csv"
    assert cli.run(line.split()) == 3
    said = capsys.readouterr().err
    assert (
        "other.csv: the column 'utt' lacks 3 values of the column 'id' of hyp.trn and its reference"
        in said
    )
    assert "--lines" not in said


def test_a_share_of_words_has_an_interval_within_0_and_1(there, capsys):
    """Of two utterances, one of them without an output, the spread is larger than the share."""
    (there / "r.trn").write_text("a b c (u1)\nd e f g (u2)\n")
    (there / "h.trn").write_text("a b (u1)\n")
    line = "transcripts score r.trn h.trn --missing worst --measure unit_accuracy --json"
    assert cli.run(line.split()) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["lower"] == 0.0
    assert row["value"] < row["upper"] <= 1.0
    assert row["value"] == pytest.approx(2 / 7)
