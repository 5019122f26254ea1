"""A measure is one source file: that of CONTRIBUTING.md gets everything else for free."""

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

import truecost as tc
import truecost.tasks.trials.measures as of_trials
from truecost.cli import run
from truecost.report.citations import PAPERS, bibtex
from truecost.tasks import measures
from truecost.tasks.measures import find, registry
from truecost.tasks.trials import pictures

GUIDE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
DEMO = files("truecost") / "data" / "demo"
SYSTEMS = [f"{name}={DEMO / name}.csv" for name in ("logistic", "network")]
CHOICES = ["--type", "llr", "--map", "id=trial,unit=speaker", "--prior", "0.05"]


def block_of(folder: str, name: str = "review_share") -> tuple[str, str]:
    """Name and text of the code block in the guide that is a file of this folder and has a name."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    [block] = [b for b in blocks if b.startswith(f"# {folder}/") and name in b]
    return re.match(r"# \S+/(\w+)\.py\n", block)[1], block


@pytest.fixture
def added(tmp_path, monkeypatch) -> Iterator[str]:
    """The name of the measure whose module was put beside the others."""
    module, text = block_of("src/truecost/tasks/trials/measures")
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    known = set(registry())
    monkeypatch.setattr(of_trials, "__path__", [*of_trials.__path__, str(tmp_path)])
    measures.forget()
    [name] = set(registry()) - known
    yield name
    measures.forget()
    del sys.modules[f"{of_trials.__name__}.{module}"]
    delattr(of_trials, module)


def test_the_measure_is_listed(added, capsys):
    assert run(["list", "measures"]) == 0
    assert f"{added} " in capsys.readouterr().out


def test_the_measure_has_interval_comparison_subsets_and_json(added, capsys):
    subset = ["--subset", "active < 0.4"]
    assert run(["compare", *SYSTEMS, *CHOICES, *subset, "--measure", added, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["measure"] for row in rows} == {added}
    kinds = [row["kind"] for row in rows if "subset" not in row["dims"]]
    assert sorted(kinds) == ["difference", "ratio", "value", "value"]
    assert sum(row["dims"].get("subset") == "active < 0.4" for row in rows) == 4
    for row in rows:
        assert row["lower"] <= row["value"] <= row["upper"]
        assert row["n_units"] > 20
        assert f"{added}|prior:0.05|" in row["signature"]
        assert row["naive"] == (1 if row["kind"] == "value" else None)


def test_the_measure_is_in_the_tables_the_plan_and_the_report(added, capsys, tmp_path):
    target = tmp_path / "result"
    assert run(["compare", *SYSTEMS, *CHOICES, "--measure", added, "-o", str(target)]) == 0
    assert capsys.readouterr().out.count(added) == 3  # two values, one comparison
    assert added in (target / "report.html").read_text(encoding="utf-8")
    assert run(["plan", SYSTEMS[0], *CHOICES, "--measure", added]) == 0
    assert added in capsys.readouterr().out


def rows_of(name: str, capsys, *more: str) -> list[dict]:
    assert run(["score", SYSTEMS[0], *CHOICES, *more, "--measure", name, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_the_measure_has_the_threshold_of_the_decisions(added, capsys):
    [row] = rows_of(added, capsys)
    assert row["threshold"] == pytest.approx(math.log(0.95 / 0.05))


def test_a_measure_that_reads_no_decisions_has_no_threshold(registered, capsys):
    registered(replace(find("cllr"), name="my_cllr"))
    [row] = rows_of("my_cllr", capsys)
    assert "threshold" not in row


def test_the_minimum_of_a_cost_has_the_best_threshold_and_shares_its_bar(registered, capsys):
    registered(replace(find("expected_cost"), name="my_cost", title="My cost (mine)"))
    registered(replace(find("min_dcf"), name="my_least", minimum_of="my_cost"))
    [row] = rows_of("my_least", capsys)
    [usual] = rows_of("min_dcf", capsys)
    assert row["threshold"] == usual["threshold"]
    assert pictures.minima()["my_cost"] == "my_least"


def decided(misses: int, false_alarms: int) -> tc.Trials:
    labels = [1] * 50 + [0] * 50
    accepted = [0] * misses + [1] * (50 - misses) + [1] * false_alarms + [0] * (50 - false_alarms)
    return tc.Trials.from_arrays(accepted, labels, kind="decision")


@pytest.mark.parametrize(
    ("kind", "misses", "false_alarms", "few"),
    [
        ("", 5, 4, True),
        ("", 5, 5, False),
        ("misses", 9, 40, True),
        ("misses", 10, 0, False),
        ("false_alarms", 40, 9, True),
        ("false_alarms", 0, 10, False),
    ],
)
def test_few_errors_are_those_that_the_measure_counts(registered, kind, misses, false_alarms, few):
    registered(replace(find("p_miss"), name="mine", errors=kind))
    scoring = tc.Scoring(measures=("mine",), plan=tc.Plan(9), method="percentile")
    [row] = tc.score_system(decided(misses, false_alarms), scoring)
    assert ("few_errors" in row.flags) is few
    [row] = tc.score_system(decided(misses, false_alarms), replace(scoring, method="auto"))
    assert ("few_errors" in row.flags) is (misses < 10)  # its rate says which errors it counts


def test_the_measure_says_what_to_cite(added, registered, capsys):
    def cited(name: str) -> set[str]:
        assert run(["score", SYSTEMS[0], *CHOICES, "--measure", name, "--cite"]) == 0
        return set(re.findall(r"^@\w+\{([^,]+),", capsys.readouterr().out, re.MULTILINE))

    always = {"truecost", "ferrer-2024-good-practices"}
    assert cited(added) == always  # its source is no paper
    measure = registered(replace(find("p_miss"), name="mine", source="paper 001, 3", cites=()))
    assert cited("mine") == {*always, "petegrosso-2022-abba"}
    registered(replace(measure, cites=("pav", "ayer")))
    assert cited("mine") == {*always, "brummer-2006-cllr", "ayer-1955-pav"}


def test_a_source_without_a_paper_cites_none(registered):
    registered(replace(find("p_miss"), name="mine", source="standard 003 of 1999"))
    assert "petegrosso" not in bibtex(["mine"])
    registered(replace(find("p_miss"), name="mine", cites=("nobody-2000",)))
    with pytest.raises(tc.UsageError, match="no source is known under nobody-2000"):
        bibtex(["mine"])


def test_every_measure_names_what_there_is():
    for measure in registry().values():
        assert set(measure.cites) <= set(PAPERS)
        assert not measure.minimum_of or measure.minimum_of in registry()
        assert not measure.errors or "decisions" in measure.parts


def test_the_tests_of_the_guide_pass(added):
    module, text = block_of("tests")
    names = {}
    exec(compile(text, f"{module}.py", "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
