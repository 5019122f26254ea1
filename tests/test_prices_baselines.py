"""What a person costs who does everything, seconds of a GPU in event logs, and the currency behind
figures.
"""

import json

import numpy as np
import pytest

import truecost as tc
from lifelogs import life, write
from streamed import batch_of, log_of
from truecost import cli
from truecost.core.costs import NOT_BY_HAND
from truecost.errors import UsageError
from truecost.learning.log import Event, LogWriter
from truecost.pictures.picture import Axis
from truecost.pictures.scales import tick_text
from truecost.prices import Prices
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

HOUR = 3600
PLAN = tc.Plan(60, seed=2)


def scored(online, prices, *measures, **choices):
    """Rows of a stream after adaptation, by measure."""
    scoring = tc.Scoring(
        tc.Application(prices=Prices(**prices)), measures, PLAN, choices=StreamScoring(**choices)
    )
    found = tc.score_system(online, scoring)
    return {row.measure: row for row in found if row.dims["phase"] == "post"}


# Seconds of a GPU in event logs


def on_gpu(**more):
    """A batch in which predicting took 30 s of GPU each time and item, adapting 60 s."""
    events = batch_of(0, [("a", 1, 0, 1), ("b", 0, 0, 0)], ["a"], seconds=10.0)
    seconds = {"predict": 30.0, "adapt": 60.0}
    events = [event | {"gpu_seconds": seconds.get(event["event"])} for event in events]
    return read_online([log_of([{"event": "adapt", "gpu_seconds": 30.0}, *events])], **more)


def test_gpu_seconds_of_events_have_a_price():
    """Before the stream 30 s, predictions 4 x 30 s, adapting 60 s."""
    prices = {"miss": 1.0, "false_alarm": 1.0, "gpu": 36.0, "person": 36.0}
    found = scored(on_gpu(), prices, "total_cost", "cost_computing", "imlm_money")
    assert found["cost_computing"].value == pytest.approx(210 / HOUR * 36)
    assert found["total_cost"].value == pytest.approx(0.1 + 2.1)
    # Of money: ten seconds of the person and the GPU, over both items by hand.
    assert found["imlm_money"].value == pytest.approx((0.1 + 2.1) / 0.2)


def test_gpu_of_events_and_of_records_add_up():
    row = scored(on_gpu(took={"gpu": 2.0}), {"gpu": 36.0}, "cost_computing")["cost_computing"]
    assert row.value == pytest.approx((210 / HOUR + 2) * 36)


def test_gpu_seconds_of_a_life_cycle_have_a_price(tmp_path):
    events = life("classes", help_=0, post=False)
    for event in events:
        if event["event"] == "predict":
            event["gpu_seconds"] = 3.0
    write(tmp_path / "life.jsonl", events)
    found = tc.score(
        str(tmp_path / "life.jsonl"),
        task="lifelong",
        output_kind="classes",
        prices={"gpu": 3600.0},
        measures="cost_computing",
        replicates=10,
    )
    last = max(e["version"] for e in events if e["event"] == "predict")
    counted = [
        e
        for e in events
        if e["event"] == "predict" and (e.get("set") != "test" or e["version"] == last)
    ]
    assert found.estimates[0].value == pytest.approx(3 * len(counted))


def test_gpu_seconds_are_written_and_may_differ_when_a_run_resumes(tmp_path):
    path = tmp_path / "log.jsonl"
    with LogWriter.open(path) as log:
        log.emit(Event(batch=0, event="adapt", gpu_seconds=0.25))
    assert json.loads(path.read_text().splitlines()[-1])["gpu_seconds"] == 0.25
    with LogWriter.open(path, resume=True) as log:
        log.emit(Event(batch=0, event="adapt", gpu_seconds=7.0))


# A person who does everything


def lived(tmp_path, kind, events, prices, **choices):
    """The total cost of a life cycle."""
    write(tmp_path / "life.jsonl", events)
    found = tc.score(
        str(tmp_path / "life.jsonl"),
        task="lifelong",
        output_kind=kind,
        prices={"error": 1.0, **prices},
        measures="total_cost",
        replicates=20,
        **choices,
    )
    return found.estimates[0]


def items_of(events):
    """Right outputs of the test set by item."""
    return {e["id"]: e["label"] for e in events if e.get("set") == "test" and "decision" in e}


def helped(events):
    """Answers that count: those on the lifelong set, and of the last version on the test set."""
    last = max(e["version"] for e in events if "version" in e)
    return [
        e
        for e in events
        if e["event"] == "answer" and (e.get("set") != "test" or e["version"] == last)
    ]


@pytest.mark.parametrize("kind", ["transcripts", "translation"])
def test_a_person_who_writes_everything_takes_the_measured_seconds_of_each_word(tmp_path, kind):
    events = life(kind)
    row = lived(tmp_path, kind, events, {"person": float(HOUR)})
    answers = helped(events)
    each = sum(e["active_seconds"] for e in answers) / sum(e["words"] for e in answers)
    words = sum(len(text.split()) for text in items_of(events).values())
    assert row.counts["by_hand"] == pytest.approx(each * words)
    assert row.naive == pytest.approx(min(row.counts["by_hand"], row.counts["reject_all"]))


def test_a_person_who_labels_everything_takes_the_measured_seconds_of_each_answer(tmp_path):
    events = life("classes")
    row = lived(tmp_path, "classes", events, {"person": float(HOUR)})
    assert row.counts["by_hand"] == pytest.approx(2.5 * len(items_of(events)))


@pytest.mark.parametrize("kind", ["classes", "transcripts"])
def test_a_person_who_does_everything_takes_the_stated_seconds_of_each_item(tmp_path, kind):
    events = life(kind)
    row = lived(tmp_path, kind, events, {"person": float(HOUR)}, item_seconds=7.0, cost="seconds")
    assert row.counts["by_hand"] == pytest.approx(7 * len(items_of(events)))


def test_a_person_who_marks_all_speech_takes_the_measured_seconds_of_each_turn(tmp_path):
    """Three turns in the test set; the corrected recording took 12 s for its two."""
    right = {"x": "0 4 a", "y": "0 2 a|2 5 b", "z": "1 3 b"}
    said = {"x": "0 4 s", "y": "0 5 s", "z": "1 3 s"}

    def predict(name, phase, text, **about):
        return {"event": "predict", "phase": phase, "id": name, "decision": text,
                "label": right[name], "score": 0.0, **about}  # fmt: skip

    events = [
        predict("x", "pre", said["x"], batch=0, t=1, version=0),
        {"event": "adapt", "batch": 0, "version": 1},
    ]
    for version in (0, 1):
        of = {"set": "test", "version": version, "batch": 0, "t": 2}
        events += [predict(name, "pre", said[name], **of) for name in ("y", "z")]
        events += [
            {"event": "query", "id": "y", "part": "0-5", **of},
            {"event": "answer", "id": "y", "part": "0-5", "label": right["y"], "expert": "ann",
             "active_seconds": 12.0, "words": 2, **of},
            {"event": "adapt", **of},
            *(predict(name, "post", right[name] if name == "y" else said[name], **of)
              for name in ("y", "z")),
        ]  # fmt: skip
    row = lived(tmp_path, "diarization", events, {"person": float(HOUR)})
    assert row.counts["by_hand"] == pytest.approx(12 / 2 * 3)


def test_a_log_that_times_nobody_says_that_the_baseline_is_not_known(tmp_path):
    row = lived(tmp_path, "transcripts", life("transcripts", help_=0, post=False), {"person": 30.0})
    assert "by_hand" not in row.counts
    assert row.reason == NOT_BY_HAND
    batches = (batch_of(b, [(f"{b}", 1, 0, 0), (f"{b}x", 0, 0, 0)]) for b in range(30))
    online = read_online([log_of([event for batch in batches for event in batch])])
    prices = {"miss": 5.0, "false_alarm": 1.0, "person": 30.0}
    row = scored(online, prices, "total_cost")["total_cost"]
    assert (row.reason, row.naive) == (NOT_BY_HAND, 150.0)
    stated = scored(online, prices, "total_cost", item_seconds=12.0)["total_cost"]
    assert stated.reason is None
    assert stated.counts["by_hand"] == pytest.approx(60 * 12 / HOUR * 30)


def test_a_subset_of_a_life_cycle_has_errors_alone(tmp_path):
    write(tmp_path / "life.jsonl", life("transcripts"))
    found = tc.score(
        str(tmp_path / "life.jsonl"),
        task="lifelong",
        output_kind="transcripts",
        prices={"error": 1.0, "person": 30.0},
        measures=("total_cost", "cost_errors", "cost_person"),
        subsets=("time",),
        replicates=20,
    )
    rows = [row for row in found.estimates if "subset" in row.dims]
    known = {row.measure for row in rows if row.value is not None}
    assert known == {"cost_errors"}
    [why] = {row.reason for row in rows if row.value is None}
    assert why == "undefined: the person's time of the whole: the share of a subset is not known"
    whole = next(
        r for r in found.estimates if r.measure == "cost_errors" and "subset" not in r.dims
    )
    parts = [row.value for row in rows if row.measure == "cost_errors"]
    assert sum(parts) == pytest.approx(whole.value)


# The currency


@pytest.fixture
def files(tmp_path):
    """Two systems of 40 trials."""
    rng = np.random.default_rng(1)
    labels = np.arange(40) % 2
    for name, far in (("a", 1.0), ("b", 3.0)):
        scores = rng.normal(far * (2 * labels - 1)).round(3)
        lines = [
            f"{k},{s},{y},{k // 2}" for k, (s, y) in enumerate(zip(scores, labels, strict=True))
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["trial,score,label,unit", *lines]))
    return [str(tmp_path / f"{name}.csv") for name in "ab"]


PRICES = ["--price", "miss=300,false_alarm=200,currency=EUR"]


def test_the_currency_stands_behind_each_figure_of_a_table(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    line = ["compare", *files, "--type", "llr", "--id", "trial", "--unit", "unit"]
    line += ["--measure", "total_cost,cost_misses,p_miss", "--no-advice"]
    assert cli.run([*line, *PRICES]) == 0
    shown = capsys.readouterr().out.splitlines()
    priced = [line for line in shown if "cost" in line and "[" in line]
    assert len(priced) == 6
    for row in priced[:4]:
        assert (
            row.count(" EUR") == row.count("cost_misses") + 2 * (1 - row.count("cost_misses")) + 1
        )
    assert all("EUR" not in line for line in shown if "p_miss" in line)
    assert any("break_even_miss" in line for line in shown)
    capsys.readouterr()
    assert cli.run([*line, "--price", "miss=300,false_alarm=200"]) == 0
    assert "EUR" not in capsys.readouterr().out


def test_the_currency_stands_in_rows_boards_gates_and_on_the_page(files, tmp_path, capsys):
    out = tmp_path / "out"
    line = ["score", files[0], "--type", "llr", "--measure", "total_cost,cost_misses"]
    assert cli.run([*line, "-o", str(out), *PRICES]) == 0
    capsys.readouterr()
    rows = json.loads((out / "result.json").read_text())["rows"]
    assert {row["shown_in"] for row in rows} == {"currency EUR"}
    page = (out / "report.html").read_text()
    value = rows[0]["value"]
    assert f"{value:.0f} EUR" in page
    board = ["leaderboard", *files, "--type", "llr", "--id", "trial", "--measure", "total_cost"]
    assert cli.run([*board, *PRICES]) == 0
    told = capsys.readouterr().out
    assert f"{value:.0f} EUR" in told
    assert "] EUR" in told


def test_a_limit_in_a_currency_is_no_share():
    gate = tc.Gate(measure="total_cost", max_upper=1500)
    gate.check_size("currency EUR")
    assert gate.bound_in(" EUR") == "<= 1500 EUR"
    with pytest.raises(UsageError, match="is a share"):
        gate.check_size("percent")
    with pytest.raises(UsageError, match="-1 is -100%: no share is below 0"):
        tc.Gate(measure="p_miss", max_upper=-1).check_size("percent")


def test_the_name_of_a_currency_is_text_on_the_page_wherever_it_stands(files, tmp_path):
    name = '"><b>&,x'
    found = tc.compare(
        files, type="llr", id="trial", measures="total_cost,cost_misses",
        prices={"miss": 300, "false_alarm": 200, "currency": name},
    )  # fmt: skip
    found.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert name not in page
    assert "<b>&" not in page


def test_ticks_are_amounts_and_places_have_the_currency():
    axis = Axis(label="total_cost", scale=" EUR")
    assert tick_text(150.0, axis) == "150"
    assert axis.place(150.0) == "150 EUR"
