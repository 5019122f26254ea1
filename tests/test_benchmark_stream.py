"""What benchmarks of streams make and hold beside us: it says what it says."""

import json
from collections import Counter
from pathlib import Path

import pytest

import truecost as tc
from truecost.formats.event_checks import check_events
from truecost.formats.events import read_events

BATCHES = 20


@pytest.fixture
def logs(monkeypatch):
    """The module that makes event logs."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from benchmarks import event_logs

    return event_logs


@pytest.fixture
def loops(monkeypatch):
    """The module that runs loops."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    pytest.importorskip("river")
    from benchmarks import loops

    return loops


def test_both_formats_hold_the_same_valid_log(logs, tmp_path):
    made = logs.write_logs(tmp_path, logs.BEFORE + BATCHES * logs.EVENTS + 5)
    lines, table = read_events(made.lines), read_events(made.table)
    assert lines.frame.equals(table.frame)
    assert len(lines) == made.events == logs.BEFORE + BATCHES * logs.EVENTS
    assert check_events(lines) == lines.problems == ()
    assert lines.frame["batch"].max() == BATCHES - 1 == made.batches - 1
    by_kind = dict(lines.frame["event"].cast(str).value_counts().rows())
    assert by_kind == {
        "predict": 2 * logs.BATCH * BATCHES,
        "query": logs.ASKED * BATCHES,
        "answer": logs.ASKED * BATCHES + logs.BEFORE,
        "adapt": BATCHES,
    }
    assert lines.frame["t"].is_sorted()
    events = [json.loads(line) for line in Path(made.lines).read_text().splitlines()]
    assert all(None not in event.values() for event in events)


def test_the_same_seed_writes_the_same_log(logs, tmp_path):
    def written(name, seed):
        folder = tmp_path / name
        folder.mkdir()
        return Path(logs.write_logs(folder, 1000, seed).lines).read_bytes()

    assert written("a", 1) == written("b", 1) != written("c", 2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_script_and_truecost_find_the_same(logs, seed, tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "REPLICATES", 20)
    made = logs.write_logs(tmp_path, 20_000, seed)
    expected = logs.by_hand(made.lines)
    assert expected["pre"] != expected["post"]
    for path in (made.lines, made.table):
        assert logs.by_truecost(path) == pytest.approx(expected, abs=1e-12)


def test_the_script_by_hand(logs, tmp_path):
    """Four items, two targets, q = 2; before: a miss, one earlier answer; after: a false alarm."""
    said = {  # batch, right, before, after; "a" and "c" are asked
        "a": (0, "1", "0", "0"),
        "b": (0, "0", "0", "1"),
        "c": (1, "1", "1", "1"),
        "d": (1, "0", "0", "0"),
    }
    events = []
    for batch, asked in enumerate("ac"):
        for phase in (2, 3):
            events += [
                {
                    "batch": batch,
                    "id": name,
                    "event": "predict",
                    "label": item[1],
                    "phase": ("pre", "post")[phase - 2],
                    "decision": item[phase],
                }
                for name, item in said.items()
                if item[0] == batch
            ]
            if phase == 2:
                about = {"batch": batch, "id": asked}
                events += [{**about, "event": "query"}]
                events += [{**about, "event": "answer", "label": said[asked][1]}]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    found = logs.by_hand(str(path))
    assert found == {"pre": (1 + 2 * 1) / 4, "post": (2 + 1) / 4}
    rows = tc.score_system(tc.streams.read(path), tc.Scoring(measures=("imlm",), plan=tc.Plan(20)))
    assert {row.dims["phase"]: row.value for row in rows} == found


@pytest.mark.parametrize(("size", "questions"), [(6, 2), (1, 1), (5, 0)])
def test_the_plain_loop_writes_lines_of_the_same_kind(loops, size, questions):
    data = loops._blank(30)
    stream = loops.stream_of(data, size)
    strategy = loops.build_strategy("random", {}, 0)
    system = loops.Asking(loops.Nothing(), strategy)
    ours = loops.logged(stream, system, questions, lambda path: Path(path).read_text())
    plain = "".join(loops.plain_lines(data, size, questions))
    assert _kinds(plain) == _kinds(ours)
    assert _said(plain) == _said(ours)


def _kinds(text):
    """How many events of a kind each batch has, with the columns that they have, in order."""
    events = [json.loads(line) for line in text.splitlines()]
    return [(e["batch"], e["event"], e.get("phase"), sorted(e)) for e in events]


def _said(text):
    events = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in e.items() if k != "t"} for e in events if e["event"] == "predict"]


def test_river_and_the_loop_have_the_same_accuracy(loops, monkeypatch, tmp_path):
    monkeypatch.setattr(loops, "ELECTRICITY", tmp_path / "none")  # users have no such file
    data = loops.electricity(300)
    assert data.name == "river's Agrawal generator"
    assert Counter(data.targets.tolist())[True] == pytest.approx(150, abs=60)
    assert loops.by_loop(data, 1) == loops.by_river(data)
    rows, [said] = loops.progressive(200, 1)
    assert len(rows) == 2
    assert "the same accuracy with batches of 1" in said
