"""Verbs are the same everywhere: every task has them, and each option means one thing."""

import io
import shlex

import polars as pl
import pytest

from truecost import cli
from truecost.cli.demo import demos
from truecost.tasks import find, names
from truecost.tasks.measures import registry
from truecost.verbs import options_of

NO_FILES = ("trials", "terms", "streams", "lifelong")


@pytest.mark.parametrize("task", names())
def test_run_says_the_task(task, tmp_path, capsys):
    other = "terms" if task != "terms" else "abba"
    (tmp_path / "s.toml").write_text(f'task = "{other}"\n')
    assert cli.run([task, "run", str(tmp_path / "s.toml")]) == 2
    said = capsys.readouterr().err
    assert f"the study file is for task {other}: use truecost {other}, not {task}" in said
    (tmp_path / "s.toml").write_text("")
    assert cli.run([task, "run", str(tmp_path / "s.toml")]) == 2
    first = {"terms": "the ECF, a list of the searched audio, is not named"}.get(
        task, "no reference is named"
    )
    said = capsys.readouterr().err
    assert ("no system is named" in said) or (first in said and find(task).data)


def test_methods_run_wants_trainings_and_workers_are_theirs(tmp_path, capsys):
    (tmp_path / "s.toml").write_text("")
    assert cli.run(["methods", "run", str(tmp_path / "s.toml")]) == 2
    assert "[training] names no command" in capsys.readouterr().err
    assert cli.run(["run", str(tmp_path / "s.toml"), "--workers", "2"]) == 2
    assert "--workers is for trainings" in capsys.readouterr().err


@pytest.mark.parametrize("task", names())
def test_measures_are_listed_by_task_in_both_ways(task, capsys):
    assert cli.run(["list", "measures", task]) == 0
    wanted = capsys.readouterr().out
    assert cli.run(["list", "measures", "--task", task]) == 0
    assert capsys.readouterr().out == wanted
    listed = {line.split()[0].partition(":")[0] for line in wanted.splitlines()}
    assert listed <= {measure.name for measure in registry(task).values()}
    assert len(listed) > 2


@pytest.mark.parametrize("task", names())
def test_unit_and_resample_mean_one_thing(task):
    for verb in find(task).verbs:
        known = {option.name: option for option in options_of(find(task), verb)}
        if "unit" in known:
            assert not known["unit"].words  # a column
            assert {known["unit"].table} <= {"map", "lifelong"}
        if "resample" in known:
            assert known["resample"].table == "interval"
            assert {*known["resample"].words} <= {"multinomial", "poisson", "blocks", "half"}
        assert ("factors" in known) == (
            task in ("terms", "streams", "lifelong") and verb != "validate"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("demos")
    for name in names():
        assert cli.run(["demo", name, "--files-only", "-o", str(place / name)]) == 0
    return place


@pytest.mark.parametrize("task", [name for name in names() if name not in NO_FILES])
def test_all_measures_and_a_result_of_every_verb(task, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder / task)
    words = shlex.split(demos()[task].command)[1:-2]
    out = str(tmp_path / "out")
    assert cli.run([*words, "--measure", "all", "--replicates", "20", "-q", "--table", "-"]) == 0
    found = capsys.readouterr().out
    measures = {*pl.read_csv(io.StringIO(found))["measure"]}
    assert {*find(task).load().defaults(None)} <= {name.partition(":")[0] for name in measures}
    plan = ["plan" if word in ("score", "compare") else word for word in words]
    assert cli.run([*plan, "--replicates", "20", "-q", "-o", out]) == 0
    assert {"plan.csv", "result.json", "report.html"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }
