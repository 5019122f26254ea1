"""`truecost demo`: something small of every task, on files that come along."""

import shlex

import pytest

from truecost import cli
from truecost.cli.demo import demos
from truecost.tasks import names

FILES = [name for name, demo in demos().items() if not demo.shown]
LEAKS = 3  # what `protocol check` exits with when a split leaks


def test_every_task_has_a_demo(capsys):
    assert {*names()} <= {*demos()}
    assert {*demos()} - {*names()} == {
        "classes",
        "annotators",
        "regression",
        "spoofing",
        "protocol",
        "person",
    }
    assert cli.run(["demo", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [*demos()]


@pytest.mark.parametrize("name", FILES)
def test_the_command_that_is_printed_runs_on_the_files(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["demo", name, "--files-only"]) == 0
    program, *words = shlex.split(capsys.readouterr().out)
    assert program == "truecost"
    few = [] if name == "protocol" else ["--replicates", "50"]
    assert cli.run([*words, "--quiet", *few]) == (LEAKS if name == "protocol" else 0)
    assert (tmp_path / "out" / "report.html").exists()
    assert capsys.readouterr().out


def test_files_go_into_a_folder_and_replace_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["demo", "abba", "--files-only", "-o", "my demo"]) == 0
    assert capsys.readouterr().out.startswith("cd 'my demo' && truecost abba score log.csv")
    assert cli.run(["demo", "abba", "--files-only", "-o", "my demo"]) == 0  # the same again
    (tmp_path / "log.csv").write_text("mine\n")
    assert cli.run(["demo", "abba", "--files-only"]) == 2
    assert (
        "log.csv: a file of this name with other content exists: name another folder with -o"
        in (capsys.readouterr().err)
    )
    assert (tmp_path / "log.csv").read_text() == "mine\n"
    assert not (tmp_path / "users.csv").exists()


def test_another_name_is_refused_with_the_nearest(capsys):
    assert cli.run(["demo", "term"]) == 2
    assert "demo term (did you mean 'terms'?): choose one of trials, classes" in (
        capsys.readouterr().err
    )


def test_a_demo_without_a_study_runs_its_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["demo", "abba", "-q", "--table", "t.md"]) == 0
    assert (tmp_path / "truecost-demo-abba" / "result.json").exists()
    assert "rrecall" in (tmp_path / "t.md").read_text()
    assert cli.run(["demo", "protocol", "-q"]) == LEAKS
    assert "shared-groups" in capsys.readouterr().out
    assert cli.run(["demo", "person", "--files-only"]) == 2
    assert (
        "makes its files while it runs, so --files-only has nothing to copy: use truecost demo "
        "person" in capsys.readouterr().err
    )
