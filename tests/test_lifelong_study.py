"""Studies of life cycles: from event logs and tables of scores to rows, gates and a result."""

import json

import numpy as np
import polars as pl
import pytest

import truecost as tc
from lifelogs import life, write
from truecost.errors import InputError, UsageError
from truecost.study import run as run_study
from truecost.study.directory import read_result
from truecost.study.directory import write as write_result
from truecost.study.validation import validate
from truecost.tasks.lifelong.descriptions import LifelongDescription
from truecost.tasks.lifelong.settings import policies_of
from truecost.tasks.lifelong.work import columns_of


@pytest.fixture
def logs(tmp_path):
    """Two systems on one life cycle."""
    return {
        name: write(tmp_path / f"{name}.jsonl", life("transcripts", versions=4, times=4, seed=seed))
        for seed, name in enumerate(("old", "new"))
    }


PERCENTILES = {"replicates": 40, "method": "percentile"}  # narrow: a few words decide


def tables_of(systems, **tables):
    """The tables of a study of systems by name."""
    named = {name: {"file": str(path)} for name, path in systems.items()}
    base = {
        "task": "lifelong",
        "lifelong": {"kind": "transcripts"},
        "interval": {"replicates": 40},
        "systems": named,
    }
    return {**base, **tables}


def study_of(systems, **tables):
    """A study of systems by name."""
    return tc.Study.from_tables(tables_of(systems, **tables))


def values(outcome, measure, **dims):
    """Value by system."""
    return {
        row.dims["system"]: row.value
        for row in outcome.rows
        if row.measure == measure
        and row.kind == "value"
        and all(row.dims.get(key) == value for key, value in dims.items())
    }


def test_a_study_of_logs(logs):
    outcome = run_study(
        study_of(
            logs,
            baseline="old",
            interval=PERCENTILES,
            policies={"now": {"kind": "recent", "half_life": 1}, "ever": {"kind": "uniform"}},
            gate=[
                {"measure": "policy_score", "policy": "now", "system": "new", "max_upper": 2.9,
                 "method": "percentile"},
                {"measure": "penalised_score", "policy": "ever", "system": "new",
                 "baseline": "old", "max_upper_delta": 2.9, "method": "percentile"},
            ],
        )
    )  # fmt: skip
    assert outcome.task == "lifelong"
    assert set(values(outcome, "policy_score", policy="now")) == {"old", "new"}
    difference = [r for r in outcome.rows if r.kind == "difference" and r.dims.get("policy")]
    assert {r.dims["policy"] for r in difference} == {"now", "ever"}
    for row in difference:
        if row.measure == "policy_score":
            both = values(outcome, "policy_score", policy=row.dims["policy"])
            assert row.value == pytest.approx(both["new"] - both["old"])
    assert [verdict.verdict for verdict in outcome.gates] == ["pass", "pass"]
    assert outcome.gates[0].dims["policy"] == "now"
    assert [d.dims["system"] for d in outcome.result.described_as(LifelongDescription)] == [
        "old",
        "new",
    ]
    assert {i.system: i.file for i in outcome.inputs} == {"old": "old.jsonl", "new": "new.jsonl"}


def test_a_gate_has_to_name_the_policy(logs):
    gate = {"measure": "policy_score", "system": "new", "max_upper": 2.9}
    policies = {"policies": ["recent:1", "uniform"], "kind": "transcripts"}
    with pytest.raises(UsageError, match=r"2 rows .* fit: .*; choose one with policy=NAME"):
        run_study(study_of(logs, lifelong=policies, gate=[gate]))
    gate |= {"policy": "recent:1", "method": "percentile"}
    named = run_study(study_of(logs, lifelong=policies, interval=PERCENTILES, gate=[gate]))
    assert named.gates[0].verdict == "pass"


def test_results_have_no_paths_and_the_same_bytes(logs, tmp_path):
    made = []
    for jobs in (1, 2):
        study = study_of(logs, interval={"replicates": 40, "jobs": jobs})
        folder = write_result(run_study(study), str(tmp_path / f"out{jobs}"))
        made.append((folder / "result.json").read_bytes())
        stored = read_result(str(folder))
        assert [d.dims["system"] for d in stored.described_as(LifelongDescription)] == [
            "old",
            "new",
        ]
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]


def test_a_study_survives_its_own_configuration(logs, tmp_path):
    study = study_of(logs, lifelong={"kind": "transcripts", "policies": ["conservative:2"]})
    path = tmp_path / "study.toml"
    path.write_text(study.to_toml())
    again = tc.Study.read(str(path))
    assert [r.value for r in run_study(again).rows] == [r.value for r in run_study(study).rows]


def test_a_folder_is_a_system_with_a_run_per_log(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for seed in range(3):
        write(folder / f"seed-{seed}.jsonl", life(seed=seed))
    write(folder / "seed-3.jsonl.part", life(seed=3))
    how = {"kind": "classes"}
    outcome = run_study(study_of({"mine": folder}, lifelong=how))
    [row] = [r for r in outcome.rows if r.measure == "policy_score"]
    assert row.counts["runs"] == 3
    assert [p.message for p in outcome.problems if "not finished" in p.message] == [
        "mine: left out: seed-3.jsonl.part is not finished"
    ]
    one = {"mine": {"file": str(folder), "runs": ["seed-1"], "strategy": "margin"}}
    alone = tc.run({**_plain(how), "systems": one})
    [row] = [r for r in alone.rows if r.measure == "policy_score"]
    assert row.counts["runs"] == 1
    assert row.dims["strategy"] == "margin"
    seeds = run_study(study_of({"mine": folder}, lifelong={**how, "factors": "seed"}))
    [row] = [r for r in seeds.rows if r.measure == "policy_score"]
    assert row.factors == ("seed",)


def _plain(how):
    return {"task": "lifelong", "lifelong": how, "interval": {"replicates": 40}}


def test_columns_of_metadata_are_units_and_subsets(logs, tmp_path):
    log = [json.loads(line) for line in (tmp_path / "old.jsonl").read_text().splitlines()]
    ids = sorted({e["id"] for e in log if e.get("set") == "test" and "id" in e})
    table = pl.DataFrame({"id": ids, "speaker": [i[-1] for i in ids]})
    table.write_csv(tmp_path / "meta.csv")
    data = {"metadata": [str(tmp_path / "meta.csv")]}
    study = study_of(
        logs,
        data=data,
        lifelong={"kind": "transcripts", "unit": "speaker"},
        subsets={"speaker": "speaker"},
        measures=["policy_score"],
    )
    outcome = run_study(study)
    whole = [r for r in outcome.rows if "subset" not in r.dims]
    assert {r.factors for r in whole} == {("speaker",)}
    assert {r.n_units for r in whole} == {(4,)} or {r.n_units for r in whole} == {4}
    assert {r.dims["subset"] for r in outcome.rows if "subset" in r.dims} == {
        f"speaker={k}" for k in range(4)
    }
    mapped = study_of(logs, data={**data, "map": {"unit": "speaker"}}, measures=["policy_score"])
    assert [r.lower for r in run_study(mapped).rows] == [r.lower for r in whole]
    with pytest.raises(UsageError, match="no column 'nobody' for units"):
        run_study(study_of(logs, data={**data, "map": {"unit": "nobody"}}))


def test_labels_and_further_references_stand_in_files(tmp_path):
    events = life("transcripts")
    right = {e["id"]: e["label"] for e in events if e["event"] == "predict"}
    bare = [{k: v for k, v in e.items() if (k, e["event"]) != ("label", "predict")} for e in events]
    log = {"a": write(tmp_path / "a.jsonl", bare)}
    pl.DataFrame({"id": [*right], "label": [*right.values()]}).write_csv(tmp_path / "right.csv")
    pl.DataFrame({"name": [*right], "text": ["the hat sat up"] * len(right)}).write_csv(
        tmp_path / "more.csv"
    )
    data = {"labels": str(tmp_path / "right.csv")}
    asked = {"measures": ["policy_score"]}
    plain = run_study(study_of({"a": write(tmp_path / "whole.jsonl", events)}, **asked))
    found = run_study(study_of(log, data=data, **asked))
    assert values(found, "policy_score") == values(plain, "policy_score")
    assert {i.file for i in found.inputs} == {"a.jsonl", "right.csv"}
    with pytest.raises(UsageError, match=r"more.csv: .*id"):
        run_study(study_of(log, data={**data, "reference": [str(tmp_path / "more.csv")]}))
    pl.read_csv(tmp_path / "more.csv").rename({"name": "id"}).write_csv(tmp_path / "more.csv")
    easier = run_study(
        study_of(log, data={**data, "reference": [str(tmp_path / "more.csv")]}, **asked)
    )
    assert values(easier, "policy_score")["a"] < values(plain, "policy_score")["a"]


def test_costs_of_classes(tmp_path):
    events = life(help_=0)
    log = {"a": write(tmp_path / "a.jsonl", events)}
    matrix = [[0, 1, 1], [5, 0, 1], [1, 1, 0]]
    study = study_of(
        log,
        lifelong={"kind": "classes"},
        data={"classes": ["cat", "dog", "eel"]},
        application={"cost_matrix": matrix},
        measures=["policy_score"],
    )
    names = ["cat", "dog", "eel"]
    told = [e for e in events if e.get("set") == "test" and e["version"] == 2 and e["t"] == 0.5]
    cost = np.mean([matrix[names.index(e["label"])][names.index(e["decision"])] for e in told])
    assert values(run_study(study), "policy_score")["a"] == pytest.approx(cost)
    few = study_of(log, lifelong={"kind": "classes"}, data={"classes": ["cat", "dog"]})
    with pytest.raises(InputError, match="'eel' is not among cat, dog"):
        run_study(few)


def test_choices_of_the_kind_change_what_counts(tmp_path):
    events = [
        e | {"label": e["label"].upper()} if e["event"] == "predict" else e
        for e in life("transcripts", help_=0)
    ]
    log = {"a": write(tmp_path / "a.jsonl", events)}
    plain = run_study(study_of(log, measures=["policy_score"]))
    lower = run_study(
        study_of(log, measures=["policy_score"], transcripts={"normalise": ["lower"]})
    )
    assert values(plain, "policy_score")["a"] >= 1
    assert values(lower, "policy_score")["a"] < 1
    [row] = lower.rows
    assert "normalise:lower" in row.signature


def test_a_score_of_a_measure_is_counted_too(logs):
    outcome = run_study(study_of(logs, measures=["policy_score", "policy_score:cer"]))
    assert {row.label for row in outcome.rows} == {"policy_score:wer", "policy_score:cer"}


def test_tables_of_scores_are_read_by_the_same_study(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("version,0.5,1.5,2.5\n0,0.9,0.9,0.9\n1,0.2,0.4,0.8\n2,0.4,0.2,0.6\n")
    how = {"policies": ["uniform"], "higher": False}
    outcome = run_study(study_of({"m": path}, lifelong=how, measures=["policy_score"]))
    assert values(outcome, "policy_score")["m"] is not None
    with pytest.raises(UsageError, match=r"is a table of scores .*kind classes is for event"):
        run_study(study_of({"m": path}, lifelong={**how, "kind": "classes"}))
    with pytest.raises(UsageError, match="is a table of scores; labels is for event logs"):
        run_study(study_of({"m": path}, lifelong=how, data={"labels": "right.csv"}))


def test_what_a_file_is_shows_in_its_columns(tmp_path):
    log = write(tmp_path / "log.jsonl", life())
    frame = pl.DataFrame({"version": [1], "time": [2], "score": [0.5]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    assert "event" in columns_of(log)
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert columns_of(str(tmp_path / name)) == ["version", "time", "score"]
    (tmp_path / "b.gz").write_bytes(b"\x1f\x8bnothing")
    (tmp_path / "c.jsonl").write_text("{broken\n")
    assert columns_of(str(tmp_path / "c.jsonl")) == []
    for name, said in (("b.gz", "the gzip data are damaged"), ("none.csv", "there is no such")):
        with pytest.raises(InputError, match=f"{name}: {said}"):
            columns_of(str(tmp_path / name))


def test_people_who_helped_must_be_the_same(tmp_path):
    events = life()
    others = [e | {"expert": "bob"} if "expert" in e else e for e in events]
    systems = {"a": write(tmp_path / "a.jsonl", events), "b": write(tmp_path / "b.jsonl", others)}
    with pytest.raises(InputError, match="different people helped a and b"):
        run_study(study_of(systems, lifelong={"kind": "classes"}, baseline="a"))


def test_one_log_given_twice_is_noticed(logs, tmp_path):
    twin = tmp_path / "twin.jsonl"
    twin.write_bytes((tmp_path / "old.jsonl").read_bytes())
    outcome = run_study(study_of({"old": logs["old"], "twin": twin}, baseline="old"))
    assert any("same scores everywhere: is it one file twice" in p.message
               for p in outcome.problems)  # fmt: skip


def _of(**keys):
    """A table `[lifelong]`."""
    return {"lifelong": {"kind": "transcripts", **keys}}


FAULTY = [
    ({"lifelong": {}}, r"is an event log: give the kind of its outputs, kind = \"classes\" or"),
    (_of(higher=True), "higher is for a table of scores"),
    (_of(bounds=[1, 0]), r"bounds 1,0 are not understood: give the lowest"),
    (_of(score="bleu"), r"score 'bleu' is not for transcripts"),
    (_of(policies=["recent"]), r"policy recent needs a half-l"),
    (_of(policies=["recent:0"]), r"half_life is 0: give a number above 0"),
    (_of(policies=["recent:x"]), r"half-life 'x' is not a number"),
    (_of(policies=["uniform", "uniform"]), r"two policies are"),
    (_of(impaired_speakers="one"), r"is for kind diarizati"),
    ({"policies": {"p": {}}}, r"\[policies.p\] needs kind = recent, uniform or conservative"),
    ({"policies": {"p": {"kind": "recent"}}}, r"\[policies.p\]: policy recent needs a half-life"),
    ({"policies": {"p": {"kind": "uniform", "half_life": 2}}}, r"policy uniform has no half-life"),
    ({"policies": {"p": {"kind": "recent", "file": "w.csv"}}}, r"names a file of weights, and a k"),
    (_of(unit="speaker", factors="seed"), r"unit is for factors = \"item\" or"),
    ({"transcripts": {"by": "id"}}, r"by is for files of outputs"),
    ({"data": {"classes": ["a", "b"]}}, r"classes is for kind classes under \[lifelong\]"),
    ({"translation": {"tokenizer": "char"}}, r"\[translation\] is for kind translation under"),
    ({"streams": {"window": 3}}, r"\[streams\] is for task streams; the task of the study is"),
    ({"application": {"prior": 0.5}}, r"does not use prior"),
    ({"application": {"cost_matrix": [[0, 1], [1, 0]]}}, r"a cost matrix is for kind classes"),
    ({"interval": {"resample": "blocks"}}, r'factors = "item", seed or item,seed'),
    ({"interval": {"method": "bca"}}, r"bca intervals are not defined for life cycles"),
    ({"worst": 3}, r"worst is for transcripts"),
    ({"data": {"key": "k.csv"}}, r"key under \[data\] is not for lifelong: its keys"),
    ({"data": {"map": {"score": "x"}, "labels": "l.csv"}}, r"map = { score = ... } is not known"),
    ({"measures": ["wer"]}, r"wer"),
    ({"measures": ["offline_words"]}, r"has no offline help"),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "said"), FAULTY, ids=[said[:30] for _, said in FAULTY])
def test_studies_that_make_no_sense_are_refused(logs, tmp_path, monkeypatch, tables, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said):
        tc.run(tables_of(logs, **tables))


def test_what_is_right_is_the_same_for_all_systems(logs):
    own = {"old": {"file": logs["old"], "labels": "mine.csv"}, "new": {"file": logs["new"]}}
    tables = {"task": "lifelong", "lifelong": {"kind": "transcripts"}, "systems": own}
    with pytest.raises(
        UsageError, match=r"\[systems.old\] names labels: the reference is the same"
    ):
        tc.run(tables)
    own = {"old": {"file": logs["old"], "budget": 3}}
    with pytest.raises(UsageError, match=r"\[systems.old\] has a budget"):
        tc.run({**tables, "systems": own})


def test_tables_of_lifelong_are_of_no_other_task(logs):
    for name, table in (("lifelong", {"higher": True}), ("policies", {"p": {"kind": "uniform"}})):
        tables = {"task": "streams", "systems": {"a": {"file": logs["old"]}}, name: table}
        with pytest.raises(UsageError, match=rf"\[{name}\] is for task lifelong; the task of"):
            tc.run(tables)


def test_policies_of_a_study(tmp_path):
    weights = tmp_path / "likes.csv"
    weights.write_text("time,weight\n0.5,1\n1.5,3\n")
    study = study_of(
        {},
        lifelong={"half_life": 4, "policies": ["recent", "conservative:2", "uniform", str(weights)],
                  "normalise_weights": False},
        policies={"late": {"kind": "recent"}, "told": {"file": str(weights), "normalise": True}},
    )  # fmt: skip
    from truecost.study.settings import Reader

    found = policies_of(study, reader := Reader("lifelong"))
    assert [p.name for p in found] == ["recent:4", "conservative:2", "uniform", "likes", "late",
                                       "told"]  # fmt: skip
    assert [p.half_life for p in found] == [4, 2, None, None, 4, None]
    assert [p.normalise for p in found] == [False] * 5 + [True]
    assert found[3].table == found[5].table == {"0.5": 1, "1.5": 3}
    assert [i.file for i in reader.inputs] == ["likes.csv"]
    assert [p.name for p in policies_of(study_of({}))] == ["uniform"]


def test_weights_of_a_policy_are_those_of_its_table(logs, tmp_path):
    path = tmp_path / "likes.csv"
    path.write_text("time,weight\n0.5,0\n1.5,1\n2.5,0\n3.5,0\n")
    how = {"kind": "transcripts", "policies": [str(path)]}
    outcome = run_study(study_of(logs, lifelong=how, measures=["policy_score"]))
    found = outcome.result.described_as(LifelongDescription)[0]
    cells = {(c.version, c.time): c.value for c in found.cells if c.state == "base"}
    assert values(outcome, "policy_score", policy="likes")["old"] == cells["3", "1.5"]
    assert "likes.csv" in {i.file for i in outcome.inputs}
    days = ["1970-01-01T12:00", "1970-01-02T12:00", "1970-01-03T12:00", "1970-01-04T12:00"]
    for times in (["0.50", "1.50", "2.5e0", "3.5"], days):  # the same times in other ways
        rows = [f"{time},{int(k == 1)}\n" for k, time in enumerate(times)]
        path.write_text("time,weight\n" + "".join(reversed(rows)))
        again = run_study(study_of(logs, lifelong=how, measures=["policy_score"]))
        assert values(again, "policy_score") == values(outcome, "policy_score")
    path.write_text("time,weight\n0.5,0\n1.5,1\n")
    with pytest.raises(InputError, match=r"policy likes: no weight for 2.5, 3.5"):
        run_study(study_of(logs, lifelong=how, measures=["policy_score"]))


def test_every_fault_of_every_file_is_listed(logs, tmp_path):
    good = validate(study_of(logs))
    assert {c.state for checks in good.values() for c in checks} == {"ok"}
    events = life("transcripts")
    events[0]["t"] = 9.0
    events = [*events[:5], events[4], *events[5:]]
    bad = {"bad": write(tmp_path / "bad.jsonl", events)}
    errors = [c for c in validate(study_of(bad))["bad"] if c.state == "error"]
    assert len(errors) >= 2
    assert all("bad.jsonl" in c.message for c in errors)
