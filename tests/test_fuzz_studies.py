"""Damaged study files, gates and stored results: only our own errors come out, never a fault."""

import copy
import shutil
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import truecost as tc
from truecost import cli
from truecost.gates import read_gates
from truecost.study import run as run_study
from truecost.study.directory import read_result

STUDY = b"""measures = ["act_dcf", "eer"]
baseline = "a"
[application]
prior = 0.1
[data]
type = "llr"
map = { score = "score", label = "label" }
[systems]
a.file = "a.csv"
b.file = "b.csv"
[interval]
replicates = 5
[subsets]
low = "snr < 10"
[[gate]]
measure = "act_dcf"
max_upper = 1.5
"""
damage = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.sampled_from(["cut", "flip", "drop", "insert"]),
        st.binary(max_size=3),
    ),
    min_size=1,
    max_size=3,
)


def damaged(data, changes):
    """Bytes with some of them cut, flipped, dropped or put in."""
    for place, kind, extra in changes:
        at = place % (len(data) + 1)
        if kind == "cut":
            data = data[:at]
        elif kind == "flip":
            data = data[:at] + bytes(255 - b for b in data[at : at + 1]) + data[at + 1 :]
        elif kind == "drop":
            data = data[:at] + data[at + 1 + len(extra) :]
        else:
            data = data[:at] + extra + data[at:]
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("studies")
    rows = {"id": range(40), "label": [1, 0] * 20, "snr": range(40)}
    for name, scores in (("a", [1.0, -1.0, 2.0, 0.5]), ("b", [2.0, -1.0, 0.1, -0.5])):
        pl.DataFrame(rows | {"score": scores * 10}).write_csv(place / f"{name}.csv")
    (place / "study.toml").write_bytes(STUDY)
    study = tc.Study.read(str(place / "study.toml"))
    tc.write(run_study(study), str(place / "out"))
    return place


slow = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@slow
@given(damage)
def test_damaged_studies(folder, changes):
    file = folder / "damaged.toml"
    file.write_bytes(damaged(STUDY, changes))
    for work in (lambda: tc.Study.read(str(file)).check(), lambda: read_gates(str(file))):
        with suppress(tc.TruecostError):
            work()


@slow
@given(damage)
def test_damaged_results(folder, changes):
    file = folder / "damaged.json"
    file.write_bytes(damaged((folder / "out" / "result.json").read_bytes(), changes))
    with suppress(tc.InputError):
        read_result(str(file))


@settings(slow, max_examples=12)
@given(damage, st.sampled_from(["result.json", "curves.parquet"]))
def test_reports_of_damaged_directories(folder, changes, name):
    place = folder / "broken"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "out", place)
    file: Path = place / name
    file.write_bytes(damaged(file.read_bytes(), changes))
    assert cli.run(["report", str(place), "-o", str(folder / "page.html")]) in (0, 2, 3)


METHODS = {
    "measures": ["act_dcf"],
    "training": {
        "commands": {"old": ["false", "{train}", "{seed}", "{out}"]},
        "list": "list.csv",
        "group": "spk",
        "seeds": 2,
        "bootstraps": 2,
        "workers": 1,
        "timeout": 20.0,
    },
    "data": {"type": "llr", "map": {"unit": "spk"}},
    "interval": {"replicates": 20},
}
KEYS = [
    *(("training", key) for key in (*METHODS["training"], "seed", "unknown")),
    *(("training", "commands", name) for name in ("old", "new", "a/b", "")),
    *((key,) for key in (*METHODS, "baseline", "methods", "systems", "task", "gate", "ledger")),
    *(("data", key) for key in ("type", "map", "key", "reference")),
    ("interval", "replicates"),
    ("spurious", "conditions"),
]
VALUES = [
    0,
    -1,
    10**9,
    1.5,
    float("nan"),
    float("inf"),
    True,
    "",
    "x",
    "../x",
    "{seed}",
    "\u00e9\n",
]
VALUES += [[], [1, 1], [""], ["a", "{seed}"], [{}], {}, {"a": 1}, {"a": "b"}]


@pytest.fixture
def training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"u{k},s{k % 5},{k}\n" for k in range(20))
    (tmp_path / "list.csv").write_text("id,spk,x\n" + rows, encoding="utf-8")
    return tmp_path


@settings(slow, max_examples=30)
@given(st.sampled_from(KEYS), st.sampled_from(VALUES))
def test_methods_that_cannot_be_run(training, capsys, key, value):
    """A program that fails at once: whatever else is wrong is told before, and nothing is left."""
    study = copy.deepcopy(METHODS)
    table = study
    for name in key[:-1]:
        table = table.setdefault(name, {})
    table[key[-1]] = value
    (training / "methods.toml").write_text(tomli_w.dumps(study), encoding="utf-8")
    shutil.rmtree(training / "out", ignore_errors=True)
    code = cli.run(["methods", "run", "methods.toml", "-o", "out", "--no-ledger"])
    said = capsys.readouterr().err
    assert code in (2, 3), said
    assert "bug in truecost" not in said
    began = "the program ended with exit code 1" in said
    assert began == (training / "out").exists(), said
    assert {p.name for p in training.iterdir()} - {"out"} == {"list.csv", "methods.toml"}
