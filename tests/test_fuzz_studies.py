"""Damaged study files, gates and stored results: only our own errors come out, never a fault."""

import shutil
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import truecost as tc
from truecost import cli
from truecost.gates import read_gates
from truecost.study.reading import read_result

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
    tc.write(tc.run(study), str(place / "out"))
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
