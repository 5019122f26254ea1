"""Logs of lm-evaluation-harness and inspect_ai, as these tools wrote them (`logs/make.py`), and
details of Hugging Face's leaderboards.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.formats import read
from truecost.formats.harness import read_lm_eval
from truecost.formats.inspecting import read_inspect

LOGS = Path(__file__).parent / "logs"
CHOICES, FREE = LOGS / "samples_capitals.jsonl", LOGS / "samples_free.jsonl"
SAMPLES = [json.loads(line) for line in CHOICES.read_text().splitlines()]
HEADER = {"eval": {"model": "m"}, "status": "success"}


def test_samples_of_choices_are_scored_as_probabilities():
    table = read(CHOICES)
    assert table.format == "lm-eval"
    assert "scores: softmax of the log-likelihoods of the choices" in table.layout
    logs = np.array([[float(one[0]) for one in s["filtered_resps"]] for s in SAMPLES])
    wanted = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert np.allclose(table.matrices["scores"], wanted, rtol=1e-12)
    outcome = tc.score(CHOICES, measures=("total_error", "nce"), replicates=20)
    error = next(e for e in outcome.estimates if e.measure == "total_error")
    assert error.value == pytest.approx(1 - np.mean([s["acc"] for s in SAMPLES]))
    assert error.n_units == len(SAMPLES)
    assert "softmax" in outcome.readings[0]


def test_metrics_of_samples_are_columns_and_documents_are_units():
    frame = read(CHOICES).frame
    assert frame["acc"].to_list() == [s["acc"] for s in SAMPLES]
    assert frame["unit"].to_list() == frame["doc_id"].to_list() == [*map(str, range(6))]
    assert frame["doc.country"][0] == "France"
    assert "doc.choices" not in frame.columns


def test_several_filters_have_to_be_told_apart(capsys):
    mapped = ["--map", "score=exact_match,label=exact_match", "--type", "number"]
    assert cli.run(["score", str(FREE), *mapped]) == 2
    said = capsys.readouterr().err
    assert "the log has 2 filters, strict, flexible: choose one" in said
    assert cli.run(["score", str(FREE), *mapped, "--filter", "flexible"]) == 0
    out, said = capsys.readouterr()
    assert " 6 " in out
    assert "left out, for they are not one number a sample: bleu" in said
    assert cli.run(["score", str(FREE), *mapped, "--filter", "flexibel"]) == 2
    assert "no filter 'flexibel' (did you mean 'flexible'?)" in capsys.readouterr().err
    assert cli.run(["validate", str(FREE), *mapped]) == 3
    assert "--filter strict or --filter flexible" in capsys.readouterr().out


def test_a_metric_that_was_left_out_is_named():
    with pytest.raises(tc.UsageError, match=r"no column 'bleu'.*not one number a sample: bleu"):
        tc.score(FREE, type="number", filter="strict", score="bleu", label="exact_match")


def test_a_filter_goes_with_a_log_of_lm_eval():
    with pytest.raises(tc.UsageError, match="filter is for a log of lm-eval"):
        tc.score({"score": [1.0, -2.0], "label": [1, 0]}, type="llr", filter="x")


OLD = {  # 0.4.4 and before: no metrics, arguments in a list, targets as texts of choices
    "doc_id": 3,
    "doc": {"q": "x"},
    "target": "Rome",
    "arguments": [["Q", " Paris"], ["Q", " Rome"]],
    "filtered_resps": [[-1.0, False], [-3.0, False]],
    "acc": 0.0,
}


def test_old_logs_and_other_numbers_of_choices():
    three = {**OLD, "doc_id": 4, "target": 2, "filtered_resps": [[-1, 0], [-1, 0], [-1, 0]]}
    table = read_lm_eval("\n".join(map(json.dumps, (OLD, three))).encode() + b"\n", "old")
    assert table.frame["label"].to_list() == ["1", "2"]
    assert table.frame["acc"].to_list() == [0.0, 0.0]
    assert table.matrices["scores"][0].tolist() == pytest.approx([0.880797, 0.119203, 0], abs=1e-6)


@pytest.mark.parametrize("name", ["capitals.eval", "capitals.json"])
def test_a_log_of_inspect(name):
    table = read(LOGS / name)
    frame = table.frame
    assert table.format == "inspect"
    assert frame["id"].to_list()[:2] == ["q0+1", "q1+1"]
    assert frame["unit"].unique().sort().to_list() == [f"q{k}" for k in range(6)]
    assert sorted({*frame["run"]}) == ["1", "2"]
    assert frame["graded"].to_list()[:6] == [1.0, 0.5, 1.0, 0.0, None, 0.0]
    told = json.loads((LOGS / "capitals.json").read_text())["results"]["scores"]
    for column, scorer, metric in (
        ("match", "match", "accuracy"), ("style.words", "words", "mean"),
        ("style.polite", "polite", "mean"),
    ):  # fmt: skip
        [one] = [s for s in told if s["name"] == scorer]  # the tool's own figures
        assert frame[column].mean() == pytest.approx(one["metrics"][metric]["value"])
    assert frame["output_tokens"].to_list()[0] == len("Paris")
    assert frame["metadata.region"].to_list()[:3] == ["Europe", "Europe", "other"]
    assert "not scored: graded 1 of 12" in table.layout
    assert set(frame["model"]) == {"mockllm/model"}


def test_both_logs_of_inspect_hold_the_same():
    drop = ("total_time", "working_time", "id")
    one, other = (
        read(LOGS / n).frame.sort("id").drop(drop) for n in ("capitals.eval", "capitals.json")
    )
    assert one.equals(other)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_log_of_inspect_is_known_in_any_order_of_its_keys(tmp_path, indent):
    found = json.loads((LOGS / "capitals.json").read_text())
    last = {"samples": found["samples"] * 40, "x": float("nan"), **found}
    last["samples"] = [{**one, "id": f"q{k}"} for k, one in enumerate(found["samples"] * 40)]
    path = tmp_path / "reordered.json"
    path.write_text(json.dumps(last, indent=indent))
    assert path.read_bytes().find(b'"status"') > 20_000
    table = read(path)
    assert (table.format, len(table)) == ("inspect", 40 * len(found["samples"]))
    path.write_text(path.read_text()[:-3])
    with pytest.raises(tc.InputError, match=r"reordered\.json: this is not JSON"):
        read(path)


def test_epochs_of_a_sample_are_one_unit():
    outcome = tc.score(
        LOGS / "capitals.eval", type="number", score="graded", label="match", missing="drop",
        replicates=20, measures=("mae",),
    )  # fmt: skip
    assert (outcome.estimates[0].n_trials, outcome.estimates[0].n_units) == (11, 6)


def archive(members):
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as made:
        for name, content in members.items():
            made.writestr(name, json.dumps(content))
    return found.getvalue()


SAMPLE = {"id": 1, "epoch": 1, "scores": {"a": {"value": "C"}}}
BROKEN = {
    "no header": (
        archive({"summaries.json": [SAMPLE]}),
        "header.json missing: inspect is an arc",
    ),
    "cut short": (archive({"_journal/start.json": {}}), "the run was cut short, finish it with"),
    "no samples": (
        archive({"header.json": HEADER, "summaries.json": []}),
        "the log has no samples",
    ),
    "no ids": (archive({"header.json": HEADER, "summaries.json": [{}]}), "1 sample has no id, the"),
    "no zip": (b"PK\x03\x04 and more", "this is not a ZIP archive"),
    "no JSON": (b'{"eval": ', "this is not JSON"),
    "other JSON": (b'{"samples": []}', "no eval in the header"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_log_of_inspect_is_refused(name):
    data, said = BROKEN[name]
    with pytest.raises(tc.InputError, match=said):
        read_inspect(data, "mine.eval")


def test_a_log_that_is_not_done_says_so():
    header = {**HEADER, "status": "error"}
    table = read_inspect(archive({"header.json": header, "summaries.json": [SAMPLE]}), "m")
    assert "the status of the log is 'error': samples may be missing" in table.layout
    assert table.frame["id"].to_list() == ["1"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Zstandard is in the standard library")
def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd.zipfile", None)
    with pytest.raises(tc.UsageError, match=r"pip install 'truecost\[inspect\]'"):
        read(LOGS / "capitals.eval")


def test_details_of_hugging_face_by_their_fields(tmp_path):
    """The columns of a details file: a structure of metrics, a list of log-likelihoods."""
    logs = np.log([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.5, 0.3, 0.2]])
    frame = pl.DataFrame(
        {
            "example": ["a", "b", "c", "d"],
            "gold_index": [0, 1, 2, 1],
            "choices": [["x", "y", "z"]] * 4,
            "pred_logits": logs.tolist(),
            "metrics": [{"acc": float(v), "acc_norm": 1.0} for v in (1, 1, 1, 0)],
        }
    )
    frame.write_parquet(tmp_path / "details_mine.parquet")
    outcome = tc.score(
        tmp_path / "details_mine.parquet", type="log-score", score="pred_logits",
        label="gold_index", id="example", measures="total_error", replicates=20,
    )  # fmt: skip
    assert outcome.estimates[0].value == pytest.approx(1 / 4)
    table = read(tmp_path / "details_mine.parquet")
    assert table.numbers("metrics.acc", "score").tolist() == [1, 1, 1, 0]


WRONG = (None, 3, "x", [1], {"a": [2]}, [[]], True, 10**400, -(1 << 63), "\ud800")


@pytest.mark.parametrize("key", [*OLD, "metrics", "filter"])
def test_values_of_any_kind_in_a_log_of_lm_eval(key):
    for value in WRONG:
        line = json.dumps({**OLD, key: value}).encode() + b"\n"
        assert len(read_lm_eval(line, "m")) == 1


@pytest.mark.parametrize("key", [*SAMPLE, "target", "metadata", "model_usage", "total_time"])
def test_values_of_any_kind_in_a_log_of_inspect(key):
    for value in WRONG:
        data = json.dumps({**HEADER, "samples": [{**SAMPLE, key: value}]}).encode()
        assert len(read_inspect(data, "m")) == 1


def _metrics(samples, swapped):
    """A log in which another system is right where this one is wrong, of some samples."""
    made = [{**s, "acc": 1 - s["acc"] if s["doc_id"] in swapped else s["acc"]} for s in samples]
    return "".join(json.dumps(one) + "\n" for one in made)


def test_the_metric_of_two_logs_of_lm_eval_is_compared(tmp_path):
    wrong = {s["doc_id"] for s in SAMPLES if not s["acc"]}
    (tmp_path / "samples_better.jsonl").write_text(_metrics(SAMPLES, wrong))
    found = tc.compare(
        [CHOICES, tmp_path / "samples_better.jsonl"], measures="mean:acc", higher=True
    )
    here, there, difference, _ = found.rows
    assert here.value == pytest.approx(1 - len(wrong) / len(SAMPLES))
    assert (there.value, difference.value) == pytest.approx((1, len(wrong) / len(SAMPLES)))
    assert here.factors == there.factors == ("unit",)
    alone = [_values(e, "acc") for e in (CHOICES, tmp_path / "samples_better.jsonl")]
    assert difference.value == pytest.approx(np.mean(alone[1]) - np.mean(alone[0]))


def test_runs_of_a_language_model_are_files_of_a_method(tmp_path, capsys):
    rights = {"a": [{0, 1}, {0, 2}, {0}], "b": [{0, 1, 2, 3}, {0, 2, 3}, {0, 1, 2}]}  # documents
    for name, of_run in rights.items():
        (tmp_path / name).mkdir()
        for run, right in enumerate(of_run):
            made = [{**s, "acc": float(s["doc_id"] in right)} for s in SAMPLES]
            lines = (json.dumps({**s, "filter": f}) + "\n" for s in made for f in ("x", "y"))
            (tmp_path / name / f"samples_t_{run}.jsonl").write_text("".join(lines))
    files = [f"{name}={tmp_path / name}/samples_t_*.jsonl" for name in rights]
    asked = ["--measure", "mean:acc", "--higher", "-q"]
    line = ["methods", "compare", *files, "--runs", "file", *asked]
    assert cli.run([*line, "--filter", "x", "-o", str(tmp_path / "out")]) == 0
    rows = json.loads((tmp_path / "out" / "result.json").read_text())["rows"]
    of = {(r["kind"], r["dims"]["system"]): r for r in rows if r["dims"]["estimator"] == "mean"}
    assert of["value", "a"]["value"] == pytest.approx(5 / 18)  # by hand: 2 + 2 + 1 of 3 times 6
    assert of["difference", "b"]["value"] == pytest.approx((10 - 5) / 18)
    assert of["value", "a"]["n_units"] == len(SAMPLES)  # the questions, which all runs share
    capsys.readouterr()
    assert cli.run(line) == 2  # as for one log
    assert "the log has 2 filters, x, y: choose one" in capsys.readouterr().err
    assert cli.run(["compare", *files, *asked, "--filter", "x"]) == 2
    assert "if each file is a run of one system: truecost methods" in capsys.readouterr().err


def _values(path, column):
    return read(path).frame[column].cast(pl.Float64).to_numpy()


def test_the_metric_of_two_logs_of_inspect_is_compared_by_sample(capsys):
    line = f"compare a={LOGS / 'capitals.eval'} b={LOGS / 'capitals.json'} --measure mean:match"
    assert cli.run([*line.split(), "--higher", "-q"]) == 0
    out = capsys.readouterr().out
    assert "0.58  [0.19, 0.90]" in out
    assert "same" in out
    row = tc.score(LOGS / "capitals.json", measures="mean:match", higher=True).rows[0]
    assert (row.value, row.n_trials, row.n_units) == (pytest.approx(7 / 12), 12, 6)  # two epochs


def test_the_metric_of_one_filter_and_of_details(tmp_path):
    free = [json.loads(line) for line in FREE.read_text().splitlines()]
    own = [s["exact_match"] for s in free if s["filter"] == "strict"]
    row = tc.score(FREE, measures="mean:exact_match", higher=True, filter="strict").rows[0]
    assert (row.value, row.n_trials) == (np.mean(own), len(own))
    pl.DataFrame({"metrics": [{"acc": 1.0}, {"acc": 0.0}, {"acc": 1.0}]}).write_parquet(
        tmp_path / "details.parquet"
    )
    found = tc.score(tmp_path / "details.parquet", measures="mean:metrics.acc", higher=True)
    assert found.rows[0].value == pytest.approx(2 / 3)


def test_a_log_without_scores_names_the_mean_of_a_column(capsys):
    assert cli.run(["score", str(LOGS / "capitals.eval")]) == 2
    assert "--measure mean:COLUMN with --higher or --lower" in capsys.readouterr().err
