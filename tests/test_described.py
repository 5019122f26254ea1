"""What tasks describe beside rows: stored under their name, typed by their own types alone."""

import json
import subprocess
import sys

import msgspec
import pytest

import truecost as tc
from truecost.errors import InputError
from truecost.face import at
from truecost.gates import Gate
from truecost.study import Outcome, Part, ResultFile
from truecost.study.directory import read_result
from truecost.study.outcome import types_of
from truecost.tasks import TABLE, find
from truecost.tasks.trials.methods import Claim
from truecost.tasks.trials.work import Fitted

CLAIM = Claim(system="a", against="b", measure="eer", verdict="better", text="a is better")
FITTED = Fitted(summary={"method": "affine"})
SEEN = """
import sys
from truecost.study.directory import read_result
result = read_result(sys.argv[1])
print(*(type(d).__name__ for of in result.described.values() for d in of))
print(*(name for name in sys.modules if name.startswith("truecost.tasks.")))
"""


def rows():
    trials = tc.Trials.from_arrays([1.0, 0, 1, 0], [1, 0, 0, 1], kind="decision", name="mine")
    return tuple(tc.score_system(trials, tc.Scoring(plan=tc.Plan(20))))


@pytest.fixture
def outcome():
    part = Part({}, (), {}, rows(), described=(CLAIM,))
    return Outcome((part,), described=(FITTED,))


@pytest.fixture
def stored(outcome, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(outcome.to_json(), encoding="utf-8")
    return path


def test_descriptions_stand_under_the_name_of_the_task(outcome):
    found = json.loads(outcome.to_json())["described"]
    assert [(task, [d["type"] for d in of]) for task, of in found.items()] == [
        ("trials", ["claim", "calibration"])
    ]


def test_they_are_found_by_their_type_and_read_back(outcome, stored):
    result = read_result(str(stored))
    assert result.described == {"trials": (CLAIM, FITTED)}
    for holder in (outcome, result):
        assert holder.described_as(Claim) == (CLAIM,)
        assert holder.described_as(Fitted) == (FITTED,)
        assert holder.described_as(Gate) == ()
    assert outcome.parts[0].described_as(Fitted) == ()


def test_reading_a_result_imports_no_other_task(stored):
    words = [sys.executable, "-c", SEEN, str(stored)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    kinds, modules = done.stdout.splitlines()
    assert kinds == "Claim Fitted"
    others = {place for name, place in TABLE.items() if name != "trials"}
    found = {name for name in modules.split() if any(name.startswith(f"{p}.") for p in others)}
    assert not {name for name in found if name.endswith((".work", ".page", ".describing"))}


def test_damaged_descriptions_are_said_with_their_place(stored):
    found = json.loads(stored.read_text())
    del found["described"]["trials"][0]["verdict"]
    stored.write_text(json.dumps(found))
    with pytest.raises(InputError, match=r"verdict.*described\.trials\[0\]"):
        read_result(str(stored))
    found["described"] = {"nothing": [{"type": "claim"}]}
    stored.write_text(json.dumps(found))
    with pytest.raises(InputError, match="there is no task 'nothing'"):
        read_result(str(stored))


@pytest.mark.parametrize("task", TABLE)
def test_descriptions_of_a_task_are_told_apart(task):
    kinds = [at(place) for place in find(task).load().descriptions]
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert None not in tags
    assert len({*tags}) == len(tags)
    assert msgspec.convert([], types_of(task)) == ()


def test_a_result_without_descriptions_has_no_such_key(outcome):
    plain = ResultFile(schema_version=2, truecost="0", rows=(), problems=(), inputs=())
    assert "described" not in msgspec.to_builtins(plain)
