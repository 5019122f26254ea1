"""A measure is one source file: that of CONTRIBUTING.md gets everything else for free."""

import json
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

import truecost.measures
from truecost.cli import run
from truecost.measures import registry

GUIDE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
DEMO = files("truecost") / "data" / "demo"
SYSTEMS = [f"{name}={DEMO / name}.csv" for name in ("logistic", "network")]
CHOICES = ["--type", "llr", "--map", "id=trial,unit=speaker", "--prior", "0.05"]


def block_of(folder: str) -> tuple[str, str]:
    """Name and text of the code block in the guide that is a file of this folder."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    [block] = [b for b in blocks if b.startswith(f"# {folder}/")]
    return re.match(r"# \S+/(\w+)\.py\n", block)[1], block


@pytest.fixture
def added(tmp_path, monkeypatch) -> Iterator[str]:
    """The name of the measure whose module was put beside the others."""
    module, text = block_of("src/truecost/measures")
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    known = set(registry())
    monkeypatch.setattr(truecost.measures, "__path__", [*truecost.measures.__path__, str(tmp_path)])
    registry.cache_clear()
    [name] = set(registry()) - known
    yield name
    registry.cache_clear()
    del sys.modules[f"truecost.measures.{module}"]
    delattr(truecost.measures, module)


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
        assert row["reference"] == (1 if row["kind"] == "value" else None)


def test_the_measure_is_in_the_tables_the_plan_and_the_report(added, capsys, tmp_path):
    target = tmp_path / "result"
    assert run(["compare", *SYSTEMS, *CHOICES, "--measure", added, "-o", str(target)]) == 0
    assert capsys.readouterr().out.count(added) == 3  # two values, one comparison
    assert added in (target / "report.html").read_text(encoding="utf-8")
    assert run(["plan", SYSTEMS[0], *CHOICES, "--measure", added]) == 0
    assert added in capsys.readouterr().out


def test_the_tests_of_the_guide_pass(added):
    module, text = block_of("tests")
    names = {}
    exec(compile(text, f"{module}.py", "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
