"""What every verb of every task gives is an outcome, which goes into other documents."""

import json
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

import accepted
import streaming
import truecost as tc
from truecost import cli
from truecost.report.pictures import Picture
from truecost.study import Outcome
from truecost.study.directory import read_result
from truecost.tasks import find, names

DEMO = Path(str(files("truecost"))) / "data" / "demo"
TEXTS = {
    "id": ["a", "b", "c", "d"],
    "text": ["the cat sat", "on the mat", "it rained", "all day long"],
    "speaker": ["x", "x", "y", "y"],
}
HEARD = {"id": TEXTS["id"], "text": ["the cat sat", "on mat", "it rain", "all day long"]}
TURNS = {"recording": ["r", "s"], "speaker": ["a", "b"], "start": [0, 4], "end": [4, 10]}
FOUND = {"recording": ["r", "s"], "speaker": ["x", "y"], "start": [0, 5], "end": [5, 9]}
LIFE = pl.DataFrame({"version": [0, 1, 2], "1": [0.5, 0.4, 0.3], "2": [0.6, 0.3, 0.2]})


def given(task, folder):
    """A system of a task, and the arguments that go with it."""
    terms = DEMO / "terms"
    if task == "abba":
        accepted.written(folder, number=600)
    if task == "streams":
        streaming.written(folder)
    return {
        "trials": (DEMO / "network.csv", {"type": "llr", "unit": "speaker", "id": "trial"}),
        "transcripts": (HEARD, {"reference": TEXTS}),
        "translation": (HEARD, {"reference": TEXTS}),
        "diarization": (FOUND, {"reference": TURNS}),
        "terms": (
            terms / "full.kwslist.xml.gz",
            {f: terms / n for f, n in (("ecf", "e.ecf.xml"), ("rttm", "r.rttm.gz"))}
            | {"kwlist": terms / "t.kwlist.xml", "preset": "nist-std-2006"},
        ),
        "abba": (
            folder / "log.csv",
            {"map": dict(pair.split("=") for pair in accepted.MAP.split(","))}
            | {"threshold_a": 0.5, "threshold_b": 0.6},
        ),
        "streams": (folder / "events.jsonl", {"labels": folder / "labels.csv"}),
        "lifelong": (LIFE, {"higher": False, "policy": "uniform"}),
    }[task]


def outcome_of(task, verb, folder):
    """What a verb of a task gives."""
    data, chosen = given(task, folder)
    if verb == "validate":
        drop = {"preset", "higher", "policy", "threshold_a", "threshold_b"}
        chosen = {name: value for name, value in chosen.items() if name not in drop}
    else:
        chosen = {**chosen, "replicates": 20}
    if verb == "threshold" and task == "trials":
        chosen = {**chosen, "max_p_fa": 0.05}
    several = verb in ("compare", "leaderboard")
    data = {"first": data, "second": data} if several else data
    return getattr(tc, verb)(data, task=task, **chosen)


@pytest.mark.parametrize(
    ("task", "verb"), [(task, verb) for task in names() for verb in find(task).verbs]
)
def test_every_verb_gives_an_outcome_that_goes_into_other_documents(task, verb, tmp_path):
    found = outcome_of(task, verb, tmp_path)
    assert isinstance(found, Outcome)
    assert repr(found) == str(found) != ""
    assert "<table>" in found._repr_html_()
    frame = found.to_polars()
    assert frame.height
    assert found.to_pandas().shape == frame.shape
    assert found.to_csv(tmp_path / "rows.csv") == frame.write_csv()
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == frame.write_csv()
    assert found.to_markdown().startswith("| ")
    assert found.to_latex().startswith("\\begin{tabular}")
    folder = found.save(tmp_path / "out")
    assert read_result(str(folder)).task == task
    assert cli.run(["report", str(folder)]) == 0
    table = {"plan": "plan.csv", "validate": "checks.csv"}.get(verb)
    if table:
        assert tc.read(str(folder / table)).frame.height == frame.height
    assert {p.name for p in folder.glob("*.csv")} == ({table} if table else set())
    if verb == "validate":
        with pytest.raises(
            tc.UsageError, match="the result of a check has no pictures; results of score, compare"
        ):
            found.plot()
    else:
        assert isinstance(found.plot(), Picture)


def test_a_validation_says_what_is_wrong_wherever_it_is_shown(tmp_path, capsys):
    frame = pl.read_csv(DEMO / "network.csv")
    bad = frame.with_columns(pl.lit(None).alias("score"))
    found = tc.validate({"good": frame, "bad": bad}, type="llr", id="trial")
    assert not found.valid
    assert str(found).endswith("NOT VALID: 1 of 2 (bad)")
    assert "<p>NOT VALID: 1 of 2 (bad)</p>" in found._repr_html_()
    folder = found.save(tmp_path / "out")
    stored = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert stored["remarks"] == ["NOT VALID: 1 of 2 (bad)"]
    assert [p["message"] for p in stored["problems"]] == [
        one.message for of in found.checks.values() for one in of if one.state != "ok"
    ]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "NOT VALID: 1 of 2 (bad)" in page
    assert "All values" not in page
    assert cli.run(["gate", str(folder), "--gate", "auc:min_lower=0.5"]) == 3
    assert (
        "contains no rows: it is a result of truecost validate, which computes no figures"
        in capsys.readouterr().err
    )


def test_a_result_takes_the_place_of_a_plan(tmp_path):
    outcome_of("trials", "plan", tmp_path).save(tmp_path / "out")
    outcome_of("trials", "score", tmp_path).save(tmp_path / "out")
    assert not (tmp_path / "out" / "plan.csv").exists()


def test_a_list_of_estimates_shows_itself():
    trials = tc.Trials.from_arrays([1.0, 2.0, 0.5, -1.0], [1, 1, 0, 0], kind="score")
    rows = tc.score_system(trials, tc.Scoring(measures=("auc",), plan=tc.Plan(10)))
    assert "<table>" in rows._repr_html_()
    assert rows.to_pandas().shape == rows.to_polars().shape
