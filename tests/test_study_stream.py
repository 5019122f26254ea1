"""Studies of the task streams: tables, systems with budgets, gates by phase, records of runs."""

import json

import polars as pl
import pytest

import streaming
from truecost import Plan, UsageError, cli
from truecost import study as studies
from truecost.errors import InputError
from truecost.formats.events import files_of, read_events
from truecost.study import Study
from truecost.study.settings import scoring_of
from truecost.study.tables import DataTable
from truecost.tasks.streams.options import StreamScoring, StreamTable
from truecost.tasks.streams.reading import without_open_end
from truecost.tasks.streams.records import Online
from truecost.tasks.streams.work import stream_options

DATA = {"labels": "labels.csv"}
SYSTEMS = {
    "often": {"file": "events.jsonl", "strategy": "margin", "budget": 2},
    "rarely": {"file": "other.jsonl", "strategy": "random", "budget": 0.5},
}
TABLES = {
    "task": "streams",
    "measures": ["imlm"],
    "data": DATA,
    "systems": SYSTEMS,
    "interval": {"replicates": 100},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Logs, runs and labels."""
    return streaming.written(tmp_path_factory.mktemp("study"))


@pytest.fixture
def folder(files, monkeypatch):
    """The folder of the files, where we are."""
    monkeypatch.chdir(files)
    return files


def study_of(**changes):
    """A study with some tables replaced."""
    return Study.from_tables({k: v for k, v in (TABLES | changes).items() if v is not None})


def run(**changes):
    """What a study comes to."""
    return studies.run(study_of(**changes))


def test_strategy_and_budget_tell_rows_apart(folder):
    outcome = run()
    assert [dict(e.dims) for e in outcome.estimates] == [
        {"system": name, "strategy": strategy, "budget": budget, "phase": phase}
        for name, strategy, budget in (("often", "margin", "2"), ("rarely", "random", "0.5"))
        for phase in ("pre", "post")
    ]
    assert all(isinstance(system, Online) for system in outcome.systems)
    assert [i.file for i in outcome.inputs] == ["labels.csv", "events.jsonl", "other.jsonl"]
    paired = run(baseline="often").comparisons
    assert [(c.difference.dims["system"], c.difference.baseline) for c in paired] == [
        ("rarely", "often"),
        ("rarely", "often"),
    ]


def test_a_study_file_names_files_beside_it(folder, tmp_path, capsys):
    (folder / "study.toml").write_text(
        'task = "streams"\nmeasures = ["imlm"]\nbaseline = "often"\n'
        '[data]\nlabels = "labels.csv"\n'
        '[systems.often]\nfile = "events.jsonl"\nstrategy = "margin"\nbudget = 2\n'
        '[systems.runs]\nfile = "events.jsonl"\n'
        '[streams]\nq = "prevalence"\nqueried = "model"\nbefore = { bootstrap = 20 }\n'
        "[interval]\nreplicates = 100\n"
        '[[gate]]\nmeasure = "imlm"\nphase = "post"\nsystem = "often"\nmax_upper = 2\n'
    )
    done = cli.run(["run", str(folder / "study.toml"), "--json", "-o", str(tmp_path / "o")])
    found = json.loads(capsys.readouterr().out)
    assert done == 0
    assert str(folder) not in json.dumps(found)
    assert 'file = "events.jsonl"' in found["configuration"]
    [gate] = found["gates"]
    assert (gate["verdict"], gate["dims"]["phase"]) == ("pass", "post")
    signatures = {row["dims"]["phase"]: row["signature"] for row in found["rows"]}
    assert "queried:model" in signatures["post"]
    assert (tmp_path / "o" / "result.json").is_file()


def test_a_gate_names_the_phase(folder):
    gate = {"measure": "imlm", "max_upper": 0.5}
    systems = {"often": SYSTEMS["often"]}
    with pytest.raises(UsageError, match="choose one with phase=NAME"):
        run(systems=systems, gate=[gate])
    with pytest.raises(UsageError, match="there is no phase 'after'; there are: pre, post"):
        run(systems=systems, gate=[gate | {"phase": "after"}])
    value = run(systems=systems).estimates
    found = run(systems=systems, gate=[gate | {"phase": p} for p in ("pre", "post")]).gates
    assert [v.value for v in found] == [e.value for e in value]
    assert [v.dims["phase"] for v in found] == ["pre", "post"]
    both = run(gate=[gate | {"phase": "post", "budget": "0.5", "strategy": "random"}]).gates
    assert [v.dims["system"] for v in both] == ["rarely"]


def test_gates_of_the_command_line_and_their_table(folder, tmp_path, capsys):
    studies.write(run(), str(tmp_path / "r"))
    command = ["gate", str(tmp_path / "r"), "--gate"]
    assert cli.run([*command, "imlm:max_upper=9,phase=post"]) == 0
    assert cli.run([*command, "imlm:max_upper=0.01,phase=post,budget=2"]) == 1
    assert "(often, margin, 2, post)" in capsys.readouterr().err
    assert cli.run([*command, "imlm:max_upper=9,phases=post"]) == 2
    assert "did you mean 'phase'" in capsys.readouterr().err


def test_a_stored_result_gives_its_page_again(folder, tmp_path):
    studies.write(run(), str(tmp_path / "r"))
    page = tmp_path / "r/report.html"
    before = page.read_bytes()
    page.unlink()
    assert cli.run(["report", str(tmp_path / "r")]) == 0
    assert page.read_bytes() == before


def test_every_key_of_the_table_is_an_option_of_scoring():
    given = {
        "q": 2.0,
        "queried": "model",
        "pooling": "macro",
        "annotations": ("queries", "training"),
        "current_batch": True,
        "empty": "error",
        "last": "dropped",
        "decision": "bayes",
        "tolerance": 3.0,
        "factors": "stream",
        "window": 4,
        "item_seconds": 5.0,
        "item_duration": 2.0,
    }
    table = StreamTable(**given, before={"training": 9})
    assert set(table.given()) == set(StreamTable.__struct_fields__)
    found = stream_options(table, DataTable(type="posterior"))
    assert found == StreamScoring(**given, before=(("training", 9),), posterior=True)
    assert stream_options(StreamTable(), DataTable()) == StreamScoring()
    assert stream_options(StreamTable(q="prevalence"), DataTable()).q is None


def test_no_annotations_are_a_choice():
    nothing = StreamTable(annotations=())
    assert nothing.given() == {"annotations": ()}
    assert stream_options(nothing, DataTable()) == StreamScoring(annotations=())
    assert nothing.over(StreamTable(annotations=("queries",))).annotations == ()
    assert StreamTable().over(nothing).annotations == ()
    assert StreamTable(q=2.0).over(StreamTable()).annotations is None
    study = study_of(streams={"annotations": []})
    assert study.table(StreamTable) == nothing
    assert stream_options(StreamTable(q=0.0), DataTable()).q == 0


def test_no_annotations_stand_in_the_stored_configuration(folder, tmp_path):
    outcome = run(systems={"s": SYSTEMS["often"]}, streams={"annotations": []})
    studies.write(outcome, str(tmp_path / "r"))
    found = json.loads((tmp_path / "r/result.json").read_text())
    assert "annotations = []" in found["configuration"]
    assert "annotations:none" in found["rows"][0]["signature"]


MARGIN = "strategy = 'margin'\nbudget = 2"
PASSIVE = "strategy = 'passive'"


@pytest.mark.parametrize(
    ("first", "second", "columns"),
    [
        (("margin-2", MARGIN), ("k-centre-0.5", "strategy = 'k-centre'\nbudget = 0.5"), False),
        (("split-margin-2", "strategy = 'split:margin'\nbudget = 2"), ("passive", PASSIVE), False),
        (("margin-2", MARGIN), ("often", MARGIN), True),
        (("margin-rate-0.1", MARGIN), ("passive", PASSIVE), True),
    ],
)
def test_names_that_say_strategy_and_budget_need_no_columns(
    folder, monkeypatch, capsys, first, second, columns
):
    """One table of values before and after, and one of what has no phase."""
    monkeypatch.setenv("COLUMNS", "200")
    systems = "".join(
        f"[systems.'{name}']\nfile = '{file}'\n{more}\n"
        for file, (name, more) in zip(("events.jsonl", "other.jsonl"), (first, second), strict=True)
    )
    (folder / "named.toml").write_text(
        'task = "streams"\nmeasures = ["imlm", "imlm_gap"]\n'
        f'[data]\nlabels = "labels.csv"\n[interval]\nreplicates = 100\n{systems}'
    )
    assert cli.run(["run", str(folder / "named.toml")]) == 0
    out = capsys.readouterr().out
    heads = [line.split() for line in out.splitlines() if " measure " in line]
    assert [head[0] for head in heads] == ["strategy" if columns else "system"] * 2
    assert all(("budget" in head) == columns for head in heads)
    assert all(name in out for name, _ in (first, second))


def test_the_application_is_that_of_the_paper_unless_given(folder):
    def costs(**application):
        [row, _] = run(
            systems={"s": SYSTEMS["often"]}, measures=["act_dcf"], application=application or None
        ).estimates
        return row.parameters

    paper = {"costs": {"miss": 3, "fa": 1}, "prior": 0.5}
    assert costs() == paper
    assert costs(prior=0.1) == paper | {"prior": 0.1}
    assert costs(cost_fa=2) == {"costs": {"miss": 3, "fa": 2}, "prior": 0.5}
    assert costs(preset="equal")["preset"] == "equal"


def test_several_applications_and_collections(folder):
    outcome = run(
        measures=["act_dcf"],
        systems={"s": {"file": "events.jsonl"}},
        applications={"even": {"prior": 0.5}, "rare": {"prior": 0.01}},
    )
    values = {(e.dims["application"], e.dims["phase"]): e.value for e in outcome.estimates}
    assert values["even", "pre"] != values["rare", "pre"]
    outcome = run(
        collections={"one": {}, "two": {"labels": "marked.csv"}},
        systems={"s": {"files": {"one": "events.jsonl", "two": "other.jsonl"}}},
        subsets={"even": "parity == 'even'"},
    )
    assert [e.dims["collection"] for e in outcome.estimates if "subset" in e.dims] == ["two"] * 2
    assert any("has no subset 'even'" in p.message for p in outcome.problems)


def test_labels_are_read_once_for_all_systems(folder, monkeypatch):
    from truecost.tasks.streams import work as online

    calls = []
    make = online._labels_read
    monkeypatch.setattr(online, "_labels_read", lambda *a: (calls.append(a), make(*a))[1])
    run()
    assert len(calls) == 1


def test_labels_in_the_predictions_need_no_file(folder):
    made, labels = streaming.events()
    told = [e | {"label": labels[e["id"]]} if e["event"] == "predict" else e for e in made]
    streaming.write_log(folder / "told.jsonl", told)
    alone = run(data=None, systems={"s": {"file": "told.jsonl"}})
    beside = run(systems={"s": {"file": "events.jsonl"}})
    assert [e.value for e in alone.estimates] == [e.value for e in beside.estimates]
    assert [e.lower for e in alone.estimates] == [e.lower for e in beside.estimates]


def test_records_of_what_the_runs_took_are_paid_for(folder, tmp_path):
    record = str(tmp_path / "took.json")
    assert cli.run(["resources", "-o", record, "--", "true"]) == 0
    told = json.loads((tmp_path / "took.json").read_text())
    (tmp_path / "took.json").write_text(json.dumps(told | {"user_s": 7200.0, "system_s": 0.0}))
    prices = {"miss": 1.0, "false_alarm": 1.0, "cpu": 1.0}
    costs = {}
    for name, further in (("without", {}), ("with", {"resources": [record]})):
        outcome = run(
            measures=["total_cost"],
            prices=prices,
            systems={"s": {"file": "events.jsonl", **further}},
        )
        costs[name] = outcome.estimates[1].value
    assert costs["with"] == pytest.approx(costs["without"] + 2)
    assert [i.file for i in outcome.inputs] == ["labels.csv", "events.jsonl", "took.json"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"systems": {}}, "no system is named"),
        ({"data": {"key": "k.csv"}}, "key under [data] is not for stream"),
        (
            {"data": {"type": "log-score"}},
            "type log-score does not fit task streams: choose one of llr",
        ),
        ({"worst": 3}, "worst is for transcripts"),
        ({"terms": {"pooled": True}}, "[terms] is for task terms"),
        ({"methods": {"files": ["a"]}}, "[methods] is for task trials"),
        ({"interval": {"resample": "poisson"}}, "the units of a stream are chosen by"),
        ({"interval": {"hold": ["batch"]}}, "the units of a stream are chosen by"),
        ({"interval": {"method": "bca"}}, "bca intervals are not defined for streams"),
        ({"streams": {"q": "often"}}, "q"),
        ({"streams": {"quered": "model"}}, "streams.quered is not known (did you mean 'queried'?)"),
        ({"streams": {"window": 0}}, "window is 0"),
        ({"streams": {"before": {"querys": 3}}}, "before"),
        ({"streams": {"decision": "bayes"}}, 'type="llr" or type="posterior"'),
        ({"measures": ["eer"]}, "measure 'eer' is not for event logs"),
        (
            {"systems": {"a": {"file": "events.jsonl", "labels": "labels.csv"}}},
            "[systems.a] names labels: the reference is the same for all systems",
        ),
        (
            {"systems": {"a": {"file": "-"}}, "data": {"labels": "-"}},
            "standard input can be read once only",
        ),
        ({"task": "terms", "streams": {"q": 2}}, "[streams] is for task streams"),
        (
            {"task": "transcripts", "data": {"reference": ["r"]}},
            "[systems.often] has strategy, budget, which are for stream",
        ),
    ],
)
def test_studies_that_make_no_sense(folder, changes, said):
    with pytest.raises(UsageError) as error:
        run(**changes)
    assert said in str(error.value)


def test_blocks_need_no_other_scheme():
    study = study_of(interval={"block_length": 5})
    assert scoring_of(study, study.application, study.data).plan == Plan(block_length=5)


def test_the_logs_of_a_folder(tmp_path):
    for name in ("b.jsonl.gz", "a.parquet", ".hidden.jsonl", "c.jsonl.part", "readme.md"):
        (tmp_path / name).write_bytes(b"")
    logs, unfinished = files_of(str(tmp_path))
    assert [p.rpartition("/")[2] for p in logs] == ["a.parquet", "b.jsonl.gz"]
    assert [p.rpartition("/")[2] for p in unfinished] == ["c.jsonl.part"]
    assert files_of("-") == (["-"], [])
    assert files_of("no-such-file") == (["no-such-file"], [])
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "only.jsonl.part").write_bytes(b"")
    with pytest.raises(InputError, match=r"expected files that end in .*only.jsonl.part is not"):
        files_of(str(tmp_path / "sub"))


@pytest.mark.parametrize("lost", [1, 5, 10, 15, 25])
def test_a_log_that_ends_early_loses_its_last_batch_only(folder, lost):
    made = streaming.events()[0]
    streaming.write_log(folder / "ends.jsonl", made[:-lost])
    log = read_events("ends.jsonl")
    ended = without_open_end(log)
    if lost == 25:  # all of the last batch, which has 10 + 2 + 2 + 1 + 10 events
        assert ended is log
        return
    assert ended.frame["batch"].max() == 10
    whole = without_open_end(read_events("events.jsonl"))
    kept = whole.frame.filter(whole.frame["batch"].fill_null(0) < 11)
    assert ended.frame.select("batch", "id", "event", "phase").equals(
        kept.select("batch", "id", "event", "phase")
    )
    assert "the log ends in batch 11" in ended.problems[-1]


def test_logs_of_one_phase_have_no_open_end(folder):
    made = [e for e in streaming.events()[0] if e.get("phase") != "post"]
    streaming.write_log(folder / "half.jsonl", made)
    log = read_events("half.jsonl")
    assert without_open_end(log) is log
    streaming.write_log(folder / "given.jsonl", made[:4])  # labels before a stream that never began
    log = read_events("given.jsonl")
    assert without_open_end(log) is log


def test_only_the_stream_that_a_log_ends_in_is_open(folder):
    made = streaming.events()[0]
    logs = [{**e, "stream": s, "run": "1", "id": f"{s}{e.get('id')}"} for s in "xy" for e in made]
    streaming.write_log(folder / "streams.jsonl", logs[:-3])
    ended = without_open_end(read_events("streams.jsonl"))
    last = ended.frame.group_by("stream").agg(pl.col("batch").max()).sort("stream")
    assert last.rows() == [("x", 11), ("y", 10)]
