"""`truecost streams` from the command line: what must work as written, and what is refused."""

import json
import shlex
import subprocess
import sys

import pytest

import streaming
from truecost import cli
from truecost.tasks import find
from truecost.verbs import options_of

FAST = streaming.FAST
MEASURES = ("imlm", "act_dcf", "p_miss", "p_fa", "n_annotations")
LABELS = dict(zip("abcdefgh", "10101000", strict=True))
# Of each batch of four: decisions before, the item that is asked about, decisions after.
BATCHES = (("abcd", "0011", "a", "1011"), ("efgh", "1001", "h", "1001"))


def by_hand():
    """The events of a log that is short enough to be counted by hand."""
    found = []
    for batch, (ids, before, asked, after) in enumerate(BATCHES):
        at = {"batch": batch}
        for phase, decisions in (("pre", before), ("post", after)):
            if phase == "post":
                found.append({**at, "id": asked, "event": "query"})
                told = {"label": LABELS[asked], "active_seconds": 30}
                found.append({**at, "id": asked, "event": "answer", **told})
                found.append({**at, "event": "adapt", "cpu_seconds": 1800})
            found += [
                {**at, "id": name, "event": "predict", "phase": phase, "decision": decision}
                for name, decision in zip(ids, decisions, strict=True)
            ]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of several systems and runs, their labels, and a log that is counted by hand."""
    made = streaming.written(tmp_path_factory.mktemp("stream"))
    streaming.write_log(made / "hand.jsonl", by_hand())
    streaming.write_labels(made / "hand.csv", LABELS)
    return made


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder of the files."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "140")

    def call(line):
        code = cli.run(shlex.split(line))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def result(run):
    """What `--json` prints, where all goes well."""

    def call(line):
        code, out, err = run(f"{line} --json")
        assert code == 0, err
        return json.loads(out)

    return call


@pytest.fixture
def broken(run, folder):
    """What is said of a log that was changed; nothing may be written."""

    def call(change, line="--labels labels.csv", labels=None):
        lines = (folder / "events.jsonl").read_text().splitlines()
        found = change([json.loads(text) for text in lines])
        streaming.write_log(folder / "broken.jsonl", found)
        code, out, err = run(f"streams score broken.jsonl {line} -o broken {FAST}")
        assert not out
        assert not (folder / "broken").exists()
        return code, err.strip()

    return call


def values(found):
    """Values of the whole by measure and phase, of one system."""
    rows = (r for r in found["rows"] if "subset" not in r["dims"])
    return {(r["measure"], r["dims"].get("phase", "")): r["value"] for r in rows}


def first(found, kind):
    """The place of the first event of a kind."""
    return next(k for k, event in enumerate(found) if event["event"] == kind)


def test_score_as_written(result):
    found = result("streams score events.jsonl --labels labels.csv --q prevalence")
    assert found["task"] == "streams"
    known = {(row["measure"], row["dims"].get("phase")): row for row in found["rows"]}
    assert {(name, phase) for name in MEASURES for phase in ("pre", "post")} <= {*known}
    row = known["imlm", "post"]
    assert row["dims"] == {"system": "events", "phase": "post"}
    assert row["lower"] < row["value"] < row["upper"]
    assert (row["naive"], row["factors"], row["n_units"]) == (1.0, ["batch"], 12)
    assert {"q:prevalence", "queried:right", "pooling:micro"} <= {*row["signature"].split("|")}
    assert known["act_dcf", "pre"]["parameters"] == {"costs": {"miss": 3, "fa": 1}, "prior": 0.5}
    assert [entry["file"] for entry in found["inputs"]] == ["labels.csv", "events.jsonl"]


def test_the_log_that_is_counted_by_hand(result):
    found = values(result("streams score hand.jsonl --labels hand.csv"))
    q = 8 / 3
    assert found["imlm", "pre"] == pytest.approx((1 + 2 + q * 1) / 8)  # asked, false, missed
    assert found["imlm", "post"] == pytest.approx((2 + 1 + 0) / 8)  # h is wrong, but was answered
    assert found["p_miss", "pre"] == pytest.approx(1 / 3)
    assert found["p_fa", "pre"] == pytest.approx(2 / 5)
    assert found["act_dcf", "pre"] == pytest.approx(0.75 / 3 + 0.25 * 2 / 5)
    assert found["act_dcf", "post"] == pytest.approx(0.25 * 1 / 5)
    assert (found["n_annotations", "pre"], found["n_annotations", "post"]) == (1, 2)


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("--q 1", (1 + 2 + 1) / 8, 3 / 8),
        ("--q 2.5", (1 + 2 + 2.5) / 8, 3 / 8),
        ("--queried model", None, (2 + 2) / 8),
        ("--queried removed", None, (2 + 1) / 6),
        ("--annotations bootstrap", (2 + 8 / 3) / 8, 1 / 8),
        ("--annotations none", (2 + 8 / 3) / 8, 1 / 8),
        ("--q 0", (1 + 2) / 8, 3 / 8),
        ("--annotations queries,training --before training=4", (5 + 2 + 8 / 3) / 8, 7 / 8),
        ("--current-batch", (2 + 2 + 8 / 3) / 8, None),
    ],
)
def test_every_choice_of_what_counts(result, options, before, after):
    plain = values(result("streams score hand.jsonl --labels hand.csv --measure imlm"))
    found = values(result(f"streams score hand.jsonl --labels hand.csv --measure imlm {options}"))
    assert found["imlm", "pre"] == pytest.approx(plain["imlm", "pre"] if before is None else before)
    assert found["imlm", "post"] == pytest.approx(plain["imlm", "post"] if after is None else after)


def test_prices_and_seconds(result):
    money = "--item-seconds 60 --price miss=4,false_alarm=1 --price person=60,cpu=2"
    found = values(result(f"streams score hand.jsonl --labels hand.csv {money}"))
    # Two questions of 30 s, an error, an hour of CPU.
    assert found["imlm_seconds", "post"] == pytest.approx((60 + 60) / (8 * 60))
    assert found["total_cost", "post"] == pytest.approx(1 + 1 + 2)
    parts = ("cost_misses", "cost_false_alarms", "cost_person", "cost_computing")
    assert [found[name, "post"] for name in parts] == pytest.approx([0, 1, 1, 2])


def test_costs_and_prior_weigh_the_errors(result):
    line = "streams score hand.jsonl --labels hand.csv --measure act_dcf"
    found = values(result(f"{line} --cost-miss 1 --prior 0.25"))
    assert found["act_dcf", "pre"] == pytest.approx(0.25 / 3 + 0.75 * 2 / 5)
    alone = values(result(f"{line} --prior 0.5"))  # the costs are those of the task
    assert alone == values(result(line))


def test_several_classes_and_their_costs(result, run, folder):
    made, labels = streaming.events(classes=("cat", "dog", "owl"), asked=0, bootstrap=0)
    streaming.write_log(folder / "animals.jsonl", made)
    streaming.write_labels(folder / "animals.csv", labels)
    line = "streams score animals.jsonl --labels animals.csv"
    wrong = [
        (labels[e["id"]], e["decision"])
        for e in made
        if e.get("phase") == "post" and e["decision"] != labels[e["id"]]
    ]
    found = values(result(line))
    assert found["error_rate", "post"] == found["imlm", "post"] == len(wrong) / 120
    costly = values(result(f'{line} --cost-matrix "0 1 1; 5 0 1; 1 1 0"'))
    dogs = wrong.count(("dog", "cat"))
    assert dogs
    assert costly["imlm", "post"] == pytest.approx((len(wrong) + 4 * dogs) / 120)
    code, _, err = run(f'{line} --cost-matrix "0 1; 10 0"')
    assert code == 2
    assert "the data have 3: name the target (--target), or give costs of all 3 classes" in err
    assert "--priors" not in err
    one = values(result(f"{line} --target owl"))  # detection, and the others are one class
    missed = sum(right == "owl" for right, _ in wrong)
    assert one["n_missed", "post"] == missed


def test_numbers_and_their_tolerance(result, run, folder):
    made = [
        {"batch": k // 2, "id": f"n{k}", "event": "predict", "phase": "pre", "decision": str(k)}
        for k in range(6)
    ]
    streaming.write_log(folder / "numbers.jsonl", made)
    streaming.write_labels(folder / "numbers.csv", {f"n{k}": k + (k % 3) for k in range(6)})
    line = "streams score numbers.jsonl --labels numbers.csv --type number"
    found = values(result(f"{line} --tolerance 2"))
    assert found["imlm", "pre"] == found["mean_loss", "pre"] == pytest.approx(6 / 2 / 6)
    code, _, err = run(line)
    assert code == 2
    assert "--type number needs --tolerance" in err


def test_bayes_decisions_take_scores_that_mean_something(result, run, folder):
    scores = {"a": -0.2, "b": 0.4, "c": 3.0, "d": -3.0}
    made = [
        {"batch": 0, "id": name, "event": "predict", "phase": "pre", "score": score}
        for name, score in scores.items()
    ]
    streaming.write_log(folder / "scores.jsonl", made)
    streaming.write_labels(folder / "scores.csv", {"a": 1, "b": 0, "c": 1, "d": 0})
    line = "streams score scores.jsonl --labels scores.csv --measure n_missed,n_false_alarms"
    # The threshold is ln(1/3) = -1.1 for costs of 3 and 1, and 0 for equal ones.
    found = values(result(f"{line} --decision bayes --type llr"))
    assert (found["n_missed", "pre"], found["n_false_alarms", "pre"]) == (0, 1)
    found = values(result(f"{line} --decision bayes --type llr --cost-miss 1"))
    assert (found["n_missed", "pre"], found["n_false_alarms", "pre"]) == (1, 1)
    code, _, err = run(f"{line} --decision bayes")
    assert code == 2
    assert "--type llr or --type posterior" in err
    code, _, err = run(line)
    assert code == 3
    assert "no decision" in err
    assert "--decision bayes" in err


def test_a_folder_is_one_system_with_a_run_for_each_log(result):
    found = result("streams score runs --labels labels.csv --measure imlm")
    row = found["rows"][0]
    assert row["dims"]["system"] == "runs"
    assert (row["factors"], row["n_units"], row["n_trials"]) == (["seed"], 3, 360)
    alone = [
        values(result(f"streams score runs/seed-{k}.jsonl --labels labels.csv --measure imlm"))
        for k in range(3)
    ]
    assert row["value"] == pytest.approx(sum(v["imlm", "pre"] for v in alone) / 3)
    both = result("streams score runs --labels labels.csv --measure imlm --factors batch,seed")
    assert both["rows"][0]["factors"] == ["batch", "seed"]
    assert "crossed" not in both["rows"][0]["flags"]  # that is said of percentile intervals


def test_unfinished_runs_are_left_out_and_said(run, folder):
    lines = (folder / "events.jsonl").read_text()
    for name in ("seed-0.jsonl", "seed-1.jsonl", "seed-2.jsonl.part", "notes.txt"):
        (folder / "half").mkdir(exist_ok=True)
        (folder / "half" / name).write_text(lines)
    code, _, err = run(f"streams score half --labels labels.csv --measure imlm {FAST}")
    assert code == 0
    assert "left out: seed-2.jsonl.part is not finished" in err
    code, out, _ = run("streams validate half")
    assert code == 0
    assert "warning: half/seed-2.jsonl.part: is not finished" in out


def test_a_table_shows_before_and_after_side_by_side(run):
    code, out, err = run(f"streams score events.jsonl --labels labels.csv {FAST}")
    assert code == 0
    head, first_line = out.splitlines()[:2]
    assert head.split() == [
        *("system", "measure", "pre", "pre", "95%", "interval", "post", "post", "95%", "interval"),
        *("naive", "items", "units"),
    ]
    assert first_line.split()[:2] == ["events", "imlm"]
    assert [line.split()[0] for line in out.splitlines()[2:8]] == [
        *("act_dcf", "p_miss", "p_fa", "n_annotations", "n_missed", "n_false_alarms")
    ]
    assert "imlm_gap" in out
    assert "cost of a miss 3, of a false alarm 1; prior 0.5" in err


def test_a_log_of_one_phase_is_a_plain_table(run, folder):
    made = [e for e in streaming.events()[0] if e.get("phase") != "post"]
    streaming.write_log(folder / "pre.jsonl", made)
    code, out, err = run(f"streams score pre.jsonl --labels labels.csv --measure imlm {FAST}")
    assert code == 0, err
    assert out.splitlines()[0].split()[:4] == ["system", "phase", "measure", "value"]
    code, _, err = run("streams score pre.jsonl --labels labels.csv --measure imlm_gap")
    assert code == 2
    assert "has only pre" in err


def test_compare_as_written(result, run):
    found = result("streams compare events.jsonl other.jsonl --labels labels.csv --measure imlm")
    kinds = [(row["kind"], row["dims"]["system"], row["dims"]["phase"]) for row in found["rows"]]
    assert kinds[:2] == [("value", "events", "pre"), ("value", "events", "post")]
    differences = [row for row in found["rows"] if row["kind"] == "difference"]
    assert [row["dims"]["phase"] for row in differences] == ["pre", "post"]
    both = {
        (row["dims"]["system"], row["dims"]["phase"]): row["value"]
        for row in found["rows"]
        if row["kind"] == "value"
    }
    for row in differences:
        phase = row["dims"]["phase"]
        assert row["value"] == pytest.approx(both["other", phase] - both["events", phase])
        assert row["baseline"] == "events"
    code, out, _ = run(f"streams compare events.jsonl other.jsonl --labels labels.csv {FAST}")
    assert code == 0
    assert "verdict" in out


def test_a_system_against_itself_differs_in_nothing(result):
    found = result(
        f"streams compare a=events.jsonl b=events.jsonl --labels labels.csv --measure imlm {FAST}"
    )
    for row in found["rows"]:
        if row["kind"] == "difference":
            assert row["value"] == row["lower"] == row["upper"] == 0
    assert any("the same outputs: is it one file twice?" in p["message"] for p in found["problems"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e[:-30], "different batches"),
        (lambda e: [{**x, "id": f"x{x['id']}"} if "id" in x else x for x in e], "the same items"),
        (lambda e: [x for x in e if x.get("phase") != "post"], "different phases"),
    ],
)
def test_only_logs_of_one_stream_are_compared(run, folder, change, said):
    made, labels = streaming.events()
    streaming.write_log(folder / "changed.jsonl", change(made))
    streaming.write_labels(folder / "more.csv", labels | {f"x{k}": v for k, v in labels.items()})
    code, _, err = run("streams compare events.jsonl changed.jsonl --labels more.csv")
    assert code == 3
    assert said in err
    assert "events" in err
    assert "changed" in err


def test_a_comparison_needs_two(run):
    code, _, err = run("streams compare events.jsonl --labels labels.csv")
    assert code == 2
    assert "at least two systems" in err


def test_plan_says_how_many_more_batches(result, run):
    line = "streams plan events.jsonl --labels labels.csv --measure imlm,n_missed"
    rows = result(line)["rows"]
    assert [(row["measure"], row["phase"], row["n_units"]) for row in rows] == [
        ("imlm", "pre", 12),
        ("imlm", "post", 12),
    ]
    assert [row["units_needed"] for row in rows] == [58, 58]  # 1.2 times 48
    code, out, err = run(line)
    assert code == 0
    assert "phase" in out.splitlines()[0]
    assert "units are batches" in err
    _, _, err = run("streams plan runs --labels labels.csv --measure imlm")
    assert "units are runs, each with its own seed" in err


def test_validate_with_and_without_labels(run):
    code, out, _ = run("streams validate events.jsonl")
    assert code == 0
    assert "304 events read" in out
    assert "predictions have no labels" in out
    assert out.endswith("valid\n")
    assert run("streams validate events.jsonl --strict")[0] == 3
    code, out, _ = run("streams validate events.jsonl runs --labels labels.csv --strict")
    assert code == 0
    assert "ok: events: 120 items in 12 batches" in out
    assert "ok: runs: 360 items in 36 batches of 3 runs" in out


def test_validate_lists_every_fault(run, folder):
    made = streaming.events()[0]
    k, last = first(made, "query"), len(made) - 1
    found = [*made[:k], *made[k + 1 : last], made[last], made[last], {"event": "adapt", "batch": 3}]
    streaming.write_log(folder / "faulty.jsonl", found)
    code, out, _ = run("streams validate faulty.jsonl")
    assert code == 3
    errors = [line for line in out.splitlines() if line.startswith("error")]
    assert len(errors) == 3
    assert "batch 3 comes after batch 11" in errors[0]
    assert "predicted twice in phase post" in errors[1]
    assert "never asked about" in errors[2]
    code, _, err = run("streams score faulty.jsonl --labels labels.csv")
    assert code == 3
    assert "there are 2 more faults: truecost streams validate lists them" in err
    (folder / "no.csv").write_text("id,label\ni0000,1\n")
    code, out, _ = run("streams validate events.jsonl --labels no.csv --json")
    assert code == 3
    checks = json.loads(out)["systems"]["events"]
    assert [c["state"] for c in checks] == ["ok", "error"]
    assert "no label for 119 items" in checks[1]["message"]


def test_answers_for_items_never_asked(broken):
    code, err = broken(lambda e: [x for x in e if x["event"] != "query"])
    assert code == 3
    assert "broken.jsonl, line " in err
    assert "which was never asked about" in err
    assert "(24 such events)" in err


def test_batches_out_of_order(broken):
    def swapped(found):
        early = [e for e in found if e.get("batch") == 2]
        return [*(e for e in found if e.get("batch") != 2), *early]

    code, err = broken(swapped)
    assert code == 3
    assert "batch 2 comes after batch 11" in err


def test_duplicate_events(broken):
    def doubled(found):
        k = first(found, "predict")
        return [*found[: k + 1], found[k], *found[k + 1 :]]

    code, err = broken(doubled)
    assert code == 3
    assert "line 6, batch 0: item 'i0000' is predicted twice in phase pre" in err


def test_labels_missing_for_items(run, folder, broken):
    rows = (folder / "labels.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join([rows[0], *rows[4:]]) + "\n")
    code, err = broken(lambda e: e, "--labels few.csv")
    assert code == 3
    assert "few.csv: no label for 3 items of broken.jsonl: i0000, i0001, i0002" in err
    code, err = broken(lambda e: e, "")
    assert code == 3
    assert "120 items have no label" in err
    assert "--labels" in err


def test_scores_that_are_no_numbers(broken):
    code, err = broken(lambda e: [{**x, "score": float("nan")} if "score" in x else x for x in e])
    assert code == 3
    assert "line 5: the score of item 'i0000' is nan" in err


def test_a_truncated_last_line_is_recovered_and_reported(run, folder):
    text = (folder / "events.jsonl").read_text()
    (folder / "cut.jsonl").write_text(text[:-20])
    code, out, err = run(
        f"streams score cut.jsonl --labels labels.csv --measure imlm {FAST} --json -o cut"
    )
    assert code == 0, err
    found = json.loads(out)
    said = [p["message"] for p in found["problems"] if p["kind"] == "data"]
    assert "cut.jsonl, line 304: the last line was cut short" in said[0]
    assert "the log ends in batch 11" in said[1]
    assert "that batch is left out, and 2 questions with it" in said[1]
    assert json.loads((folder / "cut/result.json").read_text()) == found
    whole = streaming.events(batches=11)[0]
    streaming.write_log(folder / "eleven.jsonl", whole)
    shorter = json.loads(
        run(f"streams score eleven.jsonl --labels labels.csv --measure imlm {FAST} --json")[1]
    )
    assert shorter["rows"][0]["n_trials"] == found["rows"][0]["n_trials"] == 110


def test_a_gap_in_the_middle_is_a_fault(broken):
    def without(found):
        lost = next(e for e in found if e.get("phase") == "post" and e["batch"] == 4)
        return [e for e in found if e is not lost]

    code, err = broken(without)
    assert code == 3
    assert "1 item has a prediction of one phase only: i0040" in err


def test_files_that_are_not_there_or_empty(run, folder):
    code, _, err = run("streams score nowhere.jsonl --labels labels.csv")
    assert code == 3
    assert "nowhere.jsonl: there is no such file" in err
    (folder / "empty").mkdir(exist_ok=True)
    code, _, err = run("streams score empty --labels labels.csv")
    assert code == 3
    assert "empty: there is no event log in this folder; expected files that end in .jsonl" in err
    for name in ("a.jsonl", "a.parquet"):
        (folder / "twice").mkdir(exist_ok=True)
        (folder / "twice" / name).write_text("x")
    code, _, err = run("streams score twice --labels labels.csv")
    assert code == 3
    assert "twice: run a has several logs" in err


def test_a_folder_of_folders_is_no_system(run, folder):
    """Of a sweep, each strategy and budget has a folder of its own."""
    lines = (folder / "events.jsonl").read_text()
    for name in ("margin/4/seed-0.jsonl", "margin/8/seed-0.jsonl", "streams/seed-0.json"):
        (folder / "swept" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "swept" / name).write_text(lines)
    said = (
        "this folder contains no event log, but folders of logs. A system is a log or a folder of "
        "logs: name one of swept/margin/4, swept/margin/8"
    )
    code, _, err = run("streams score swept --labels labels.csv")
    assert code == 3
    assert f"swept: {said}" in err
    code, out, _ = run("streams validate swept/margin")
    assert code == 3
    assert f"error: swept/margin: {said}" in out
    code, _, err = run("streams score swept/streams --labels labels.csv")
    assert code == 3
    assert "there is no event log in this folder" in err
    (folder / "swept/margin/own.jsonl").write_text(lines)  # the folders beside it are no runs
    code, out, _ = run("streams validate swept/margin --labels labels.csv")
    assert code == 0
    assert "ok: margin: 120 items in 12 batches\n" in out


def test_predictions_that_know_the_answers(broken, run):
    """Before adapting nothing may be known of the answers of the batch."""

    def moved(found):
        places = [k for k, e in enumerate(found) if e.get("batch") == 3 and e.get("phase") == "pre"]
        adapt = next(k for k, e in enumerate(found) if e["event"] == "adapt" and e["batch"] == 3)
        first, *others = [found[k] for k in places]
        rest = [e for k, e in enumerate(found[adapt + 1 :])]
        between = found[places[-1] + 1 : adapt + 1]
        return [*found[: places[0]], first, *between, *others, *rest]

    code, err = broken(moved)
    assert code == 3
    assert "batch 3: item 'i0031' is predicted before adaptation (phase pre), but after" in err
    assert "(9 such events)" in err
    code, out, _ = run("streams validate broken.jsonl")
    assert code == 3
    assert "item 'i0031' is predicted before adaptation (phase pre), but after the answer" in out

    def late(found):
        answers = [e for e in found if e["event"] == "answer" and e.get("batch") == 3]
        next_batch = next(k for k, e in enumerate(found) if e.get("batch") == 4)
        kept = [e for e in found[:next_batch] if e not in answers]
        return [*kept, *answers, *found[next_batch:]]

    code, err = broken(late)
    assert code == 3
    assert "write it in the batch in which it becomes known (2 such events)" in err


def test_questions_about_items_that_are_not_predicted(run, folder, broken):
    made = streaming.events()[0]
    query = {"batch": 3, "id": "other", "event": "query"}
    where = next(k for k, e in enumerate(made) if e["event"] == "query" and e["batch"] == 3)
    streaming.write_log(folder / "beside.jsonl", [*made[:where], query, *made[where:]])
    line = f"--labels labels.csv --measure n_annotations {FAST} --json"
    code, out, err = run(f"streams score beside.jsonl events.jsonl {line}")
    assert code == 0, err
    found = json.loads(out)
    counts = {
        r["dims"]["system"]: r["value"] for r in found["rows"] if r["dims"]["phase"] == "post"
    }
    assert counts["beside"] == counts["events"] + 1
    [said] = [p["message"] for p in found["problems"] if "not predicted" in p["message"]]
    assert "'other' is asked about, but not predicted: it counts as an annotation" in said
    code, err = broken(lambda e: [*e, {"batch": 12, "id": "i0000", "event": "query"}])
    assert code == 3
    assert "batch 12: item 'i0000' is asked about in a batch without predictions" in err


def test_labels_under_other_names_and_with_streams(result, run, folder):
    logs, rows = [], []
    for stream in ("en", "de"):
        made, labels = streaming.events(batches=6)
        logs += [{**event, "stream": stream} for event in made]
        rows += [f"{key},{label},{stream}" for key, label in labels.items()]
    streaming.write_log(folder / "two.jsonl", logs)
    (folder / "two.csv").write_text("name,truth,language\n" + "\n".join(rows) + "\n")
    line = f"streams score two.jsonl --labels two.csv --measure imlm {FAST}"
    code, _, err = run(line)
    assert code == 2
    assert "there is no column 'id' for the id" in err
    code, _, err = run(f"{line} --map id=name,label=truth")
    assert code == 3
    assert "several labels" in err
    found = result(f"{line} --map id=name,label=truth,stream=language --subset stream")
    assert [row["dims"].get("subset") for row in found["rows"]] == [
        *(None, None, "stream=de", "stream=de", "stream=en", "stream=en")
    ]
    code, _, err = run(f"{line} --map name=id")
    assert code == 2
    assert "--map name=... is not known: map one of id, label, stream" in err


def test_subsets_by_a_column_of_the_labels(result):
    found = result(
        f"streams score events.jsonl --labels marked.csv --measure n_items --subset parity "
        f'--subset "batch < 3" {FAST}'
    )
    sizes = {r["dims"].get("subset"): r["value"] for r in found["rows"]}
    assert sizes == {None: 120, "parity=even": 60, "parity=odd": 60, "batch < 3": 30}


def test_columns_of_labels_that_events_have_are_left_out_and_said(run, folder):
    rows = (folder / "labels.csv").read_text().splitlines()
    (folder / "odd.csv").write_text("\n".join([f"{rows[0]},unit", *(f"{r},x" for r in rows[1:])]))
    code, _, err = run(f"streams score events.jsonl --labels odd.csv --measure imlm {FAST}")
    assert code == 0
    assert "odd.csv: column unit is left out: events have columns of the same name" in err
    (folder / "odd.csv").write_text("\n".join([*rows, ",1"]) + "\n")
    code, _, err = run("streams score events.jsonl --labels odd.csv")
    assert code == 3
    assert "odd.csv: 1 empty cell of id (column 'id'), the first at line 122" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--q many", "--q 'many' is not understood: give a number, or prevalence"),
        ("--q 1,2", "give a number, or prevalence"),
        ("--q -1", "q is -1: give a number at least 0"),
        ("--annotations asked", "annotations is 'asked': choose one of queries, bootstrap"),
        ("--annotations ''", "--annotations '' is not understood: name queries, bootstrap"),
        ("--annotations queries,none", "or none alone, if no annotations count"),
        ("--before training=few", "give a whole number of labels"),
        (
            "--before 3",
            "--before '3' is not understood: write SET=NUMBER, such as --before training=1000",
        ),
        ("--before bootstrap=-3", "--before bootstrap=-3: give 0 or more"),
        (
            "--before foo=3",
            "--before foo=3: give 0 or more labels of bootstrap, "
            "development, training, pretraining",
        ),
        ("--before queries=3", "--before queries=3: give 0 or more labels of"),
        (
            "--before training=5",
            "5 labels of training before the stream are not counted: count them (--annotations "
            "queries,bootstrap,training), or leave them out",
        ),
        ("--window 0", "window is 0: give a number at least 1"),
        ("--tolerance -1", "tolerance is -1: give a number above 0"),
        ("--price person=-1", "--price person=... is -1: give a number at least 0"),
        ("--factors seed", "events has 1 seed: resampling seeds needs at least two"),
        ("--measure eer", "measure 'eer' is not for event logs"),
        ("--measure imln", "did you mean 'imlm'"),
        ("--priors 0.5", "--priors"),
        ("--target cat", "no item has the target label 'cat'; the labels are 0, 1"),
        ("--queried never", "queried"),
        ("--block-length 0", "block-length is 0: give a number at least 1"),
        ("--input-format xml", "input format 'xml' is not known for stream"),
    ],
)
def test_options_that_make_no_sense(run, folder, options, said):
    code, out, err = run(f"streams score events.jsonl --labels labels.csv {options} -o never")
    assert code in (2, 3)
    assert said in err
    assert not out
    assert not (folder / "never").exists()


def test_block_lengths_change_the_interval_and_the_signature(result):
    line = "streams score events.jsonl --labels labels.csv --measure imlm --method percentile"
    plain, long = result(line)["rows"][0], result(f"{line} --block-length 6")["rows"][0]
    assert plain["value"] == long["value"]
    assert (plain["lower"], plain["upper"]) != (long["lower"], long["upper"])
    assert "block-length:3" in plain["signature"]
    assert "block-length:6" in long["signature"]


def test_results_have_the_same_bytes_for_any_number_of_threads(run, folder):
    line = "streams score events.jsonl runs --labels labels.csv --factors batch --subset stream"
    for out, jobs in (("one", 1), ("four", 4)):
        assert run(f"{line} {FAST} -q -o {out} --jobs {jobs}")[0] == 0
    for name in ("result.json", "report.html"):
        assert (folder / "one" / name).read_bytes() == (folder / "four" / name).read_bytes()
    assert str(folder) not in (folder / "one/result.json").read_text()


def test_verbose_says_what_was_read_and_resampled(run):
    _, _, err = run(f"streams score runs --labels labels.csv --measure imlm {FAST} -v")
    assert "runs: 360 items in 36 batches of 3 runs; 72 questions" in err
    assert "resampling: seed (3 units)" in err


def test_every_option_is_in_the_help_which_is_fast():
    heavy = ("numpy", "polars", "numba", "torch", "sklearn")
    code = f"""if True:
        import sys
        from truecost import cli
        cli.run(["streams", "score", "--help"])
        print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stderr.strip() == "[]"
    for option in options_of(find("streams")):
        assert option.flag in done.stdout


def test_lists_know_the_task(run):
    entries = json.loads(run("list measures --json")[1])
    own = {entry["name"] for entry in entries if entry["tasks"] == ["streams"]}
    assert {*MEASURES, "imlm_gap", "imlm_gap_trend", "n_items"} <= own
    keys = {entry["name"]: entry["text"] for entry in json.loads(run("list map --json")[1])}
    assert "stream of the item" in keys["stream"]
    formats = {e["name"]: e["tasks"] for e in json.loads(run("list formats --json")[1])}
    assert {name for name, tasks in formats.items() if "streams" in tasks} >= {
        *("csv", "tsv", "parquet", "ndjson")
    }
