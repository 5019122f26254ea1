"""The demo of streams: handwritten digits, no file, and what it says when a package is missing."""

import json

import pytest
from msgspec import structs

from lived import result_of, tree
from truecost import cli
from truecost.study import Study
from truecost.tasks.streams.advice import SweepAdvice

BUDGETS = (1, 2, 3, 4, 6, 8, 12, 16)


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def small(monkeypatch):
    """The demo with one target, two seeds and two budgets."""
    whole = Study.read

    def shrunk(path):
        study = whole(path)
        source = structs.replace(study.source, targets=("3",), items=300, prevalence=None)
        return structs.replace(
            study,
            source=source,
            loop=structs.replace(study.loop, seeds=2),
            sweep=structs.replace(study.sweep, budgets=(1, 4)),
            interval=structs.replace(study.interval, replicates=50),
        )

    monkeypatch.setattr(Study, "read", shrunk)


def test_the_study_of_the_demo_is_what_the_specification_says(run):
    code, out, _ = run("demo", "streams", "--print-config")
    assert code == 0
    import tomllib

    study = Study.from_tables(tomllib.loads(out))
    assert study.source.name == "digits"
    assert len(study.source.targets) == 5
    assert (study.source.items, study.source.prevalence) == (1500, 0.1)
    assert (study.loop.batch, study.loop.seeds, study.loop.bootstrap) == (60, 8, 8)
    assert study.sweep.budgets == BUDGETS
    assert study.source.file is None  # it needs none
    assert study.source.folder is None


def test_a_small_demo_writes_a_sweep_and_goes_on_where_it_stopped(small, run, tmp_path):
    code, out, err = run("demo", "streams", "-o", tmp_path / "out", "--json")
    assert code == 0
    assert "handwritten digits" in err
    rows = json.loads(out)["rows"]
    systems = {r["dims"]["system"] for r in rows}
    assert systems == {"margin-1", "margin-4", "passive"}
    assert len(result_of(tmp_path / "out").described_as(SweepAdvice)) == 2
    before = tree(tmp_path / "out")
    (tmp_path / "out" / "logs" / "margin" / "4" / "seed-1.jsonl.gz").unlink()
    assert run("demo", "streams", "-o", tmp_path / "out")[0] == 0
    assert tree(tmp_path / "out") == before


@pytest.mark.usefixtures("workers")
def test_without_scikit_learn_it_says_what_to_install(small, run, tmp_path, monkeypatch):
    (tmp_path / "lacking" / "sklearn").mkdir(parents=True)
    (tmp_path / "lacking" / "sklearn" / "__init__.py").write_text(
        "raise ModuleNotFoundError('no module named sklearn', name='sklearn')\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "lacking")  # the workers have the same path
    code, _, err = run("demo", "streams", "-o", tmp_path / "out")
    assert code == 2
    assert "this needs the package sklearn, which is not installed: pip install" in err
    assert "truecost[learn]" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_the_whole_demo(run, tmp_path):
    code, *_ = run("demo", "streams", "-o", tmp_path / "out")
    assert code == 0
    result = result_of(tmp_path / "out")
    found = {
        (r.dims["budget"], r.measure, r.dims["phase"]): r.value
        for r in result.rows
        if "budget" in r.dims and "phase" in r.dims
    }
    for budget in map(str, BUDGETS):
        assert found[budget, "imlm", "post"] <= found[budget, "imlm", "pre"]
        assert found[budget, "n_annotations", "post"] == 5 * (8 + 25 * int(budget))
    by_effort, by_errors = result.described_as(SweepAdvice)
    assert by_effort.edge == ""  # an inner budget costs the person least
    assert by_errors.best.budget == 16  # the errors alone ask for ever more
