"""`truecost annotate`: a list, people on the page, labels with their seconds."""

import contextlib
import csv
import json
import re
import shutil
import signal
import socket
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import accepted
from robots import Robot, Running, questions, write_sound
from truecost import cli
from truecost.person.measured import shown_standing, standing_of
from truecost.person.seconds import Timing
from truecost.person.store import Given, PageEvent, Store


def write_clips():
    """Twelve sounds of two kinds, in a list with a column that nobody may see."""
    with Path("clips.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "path", "cell", "known", "said"])
        for k in range(12):
            write_sound(f"{k}.wav", np.full(800, 100 * k))
            kind = "yes" if k % 3 == 0 else "no"
            rows.writerow([f"c{k:02}", f"{k}.wav", "secret-10A", kind if k < 4 else "", "no"])


@pytest.fixture
def clips(tmp_path, monkeypatch):
    """A folder with these sounds."""
    monkeypatch.chdir(tmp_path)
    write_clips()
    return tmp_path


ASKED = ("--classes", "yes,no", "--audio", "path")


def listener(_, hear):
    """Somebody who hears what the sound is."""
    value = np.frombuffer(hear()[-2:], "<i2")[0] // 100
    return {"label": "yes" if value % 3 == 0 else "no"}


def test_a_list_becomes_labels_with_seconds(clips, running):
    run = running("annotate", "clips.csv", "-o", "out", *ASKED, "--gold", "known",
                  "--export", "labels.csv")  # fmt: skip
    robot = Robot(run.links()["me"], listener, think=0.02).start()
    code, out, err = run.end()
    assert code == 0, err
    assert robot.failure is None
    found = pl.read_csv("labels.csv")
    assert found["id"].to_list() == [f"c{k:02}" for k in range(12)]  # the order of the list
    assert found["label"].to_list() == ["yes" if k % 3 == 0 else "no" for k in range(12)]
    assert found["cell"].to_list() == ["secret-10A"] * 12  # the export has what the page had not
    assert found["annotator"].unique().to_list() == ["me"]
    assert (found["active_seconds"] >= 0.02).all()
    assert (found["wall_seconds"] >= found["active_seconds"] - 1e-3).all()
    assert not any("secret" in str(q) or ".wav" in str(q) for q in robot.questions)
    assert "12 of 12 items answered; active time: idle:30s|tail:0s" in out
    report(clips)


def report(folder):
    assert cli.run(["annotate", "out", "--report", "--quiet"]) == 0
    page = (folder / "out" / "report.html").read_text()
    assert "12 of 12 questions answered" in page
    assert "answers an hour" in page
    assert "0% [0%," in page.replace("\N{NO-BREAK SPACE}", " ")  # errors on known answers
    assert "secret" not in page


def test_a_killed_command_goes_on_and_asks_nothing_twice(clips, running):
    run = running("annotate", "clips.csv", "-o", "out", *ASKED)
    robot = Robot(run.links()["me"], listener, think=0.05).start()
    robot.wait_for(4)
    run.kill()
    run = running("annotate", "clips.csv", "-o", "out", *ASKED, "--resume", "--export", "l.csv")
    run.links()
    code, _, err = run.end()
    assert code == 0, err
    with Store("out/answers.sqlite") as store:
        rows = store.answers()
    assert len(rows) == 12
    assert len({row.key for row in rows}) == 12
    assert robot.failure is None


def test_two_people_and_a_third_who_adjudicates(clips, running):
    run = running("annotate", "clips.csv", "-o", "out", *ASKED, "--people", "ann,bob,cid",
                  "--overlap", "2", "--export", "l.csv", "--export-answers", "a.csv")  # fmt: skip
    links = run.links(3)
    ann = Robot(links["ann"], listener).start()
    bob = Robot(links["bob"], lambda *_: {"label": "yes"}).start()
    for robot in (ann, bob):
        robot.thread.join(0.5)
    Robot(links["cid"], listener).start()
    code, out, err = run.end()
    assert code == 0, err
    decided = pl.read_csv("l.csv")
    assert decided["id"].to_list() == [f"c{k:02}" for k in range(12)]  # a row an item
    right = ["yes" if k % 3 == 0 else "no" for k in range(12)]
    assert decided["label"].to_list() == right  # two of three hear it
    found = pl.read_csv("a.csv")
    told = {item: dict(zip(of["annotator"], of["label"], strict=True))
            for (item,), of in found.group_by("id")}  # fmt: skip
    assert all(len(of) >= 2 for of in told.values())
    for of in told.values():  # who disagrees is joined by the third
        assert len(of) == 2 or len({*of.values()}) == 2
    assert "Krippendorff's alpha of 3 people: " in out


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["clips.csv", "-o", "out", "--classes", "yes"], 2, "two or more different classes"),
    (["clips.csv", "-o", "out", "--classes", "yes,yes"], 2, "two or more different classes"),
    (["clips.csv", "-o", "out", *ASKED, "--overlap", "2"], 2, "more than the people who answer"),
    (["clips.csv", "-o", "out", *ASKED, "--id", "nix"], 2, "nix"),
    (["clips.csv", "-o", "out", "--classes", "a,b", "--audio", "cell"], 3, "no such file"),
    (["clips.csv", "-o", "out", "--classes", "a,b", "--gold", "known"], 3, "not among the classes"),
    (["clips.csv", "-o", "out", *ASKED, "--link", "me"], 2, "folder of answers"),
    (["clips.csv", *ASKED], 2, "--output"),
    (["nix.csv", "-o", "out", *ASKED], 3, "nix.csv"),
    (["clips.csv", "-o", "out/of/here", *ASKED, "--guess", "nix"], 2, "nix"),
    (["twice.csv", "-o", "out", *ASKED], 3, "more than once"),
    (["empty.csv", "-o", "out", *ASKED], 3, "no item|no rows|empty"),
    (["clips.csv", "-o", "there", *ASKED], 2, "choose another --output"),
    (["there", "--report"], 2, "no answers.sqlite"),
    (["clips.csv", "-o", "out", *ASKED, "--port", "70000"], 2, "--port is 70000: .* at most 65535"),
    (["clips.csv", "-o", "out", *ASKED, "--idle", "-3"], 2, "--idle is -3: .* at least 0"),
    (["clips.csv", "-o", "out", *ASKED, "--idle", "nan"], 2, "--idle is nan: give a finite"),
    (["clips.csv", "-o", "out", *ASKED, "--tail", "inf"], 2, "--tail is inf: give a finite"),
    (["clips.csv", "-o", "out", *ASKED, "--overlap", "0"], 2, "--overlap is 0: .* at least 1"),
    (["clips.csv", "-o", "out", *ASKED, "--people", "ann,ann"], 2, "ann,ann: name each once"),
    (["clips.csv", "-o", "out", *ASKED, "--people", "a\x1b[31m"], 2, "a name has letters"),
    (["clips.csv", "-o", "out", *ASKED, "--host", "0.0.0.0"], 2, "browsers cannot reach it"),
    (["clips.csv", "-o", "out", *ASKED, "--tls-cert", "nix.pem"], 2, "belong together"),
    (["clips.csv", "-o", "out", *ASKED, "--tls-cert", "nix", "--tls-key", "nix"], 3, "cannot be"),
    (["clips.csv", "-o", "out", *ASKED, "--proxy", "http://a.b"], 2, "give its address"),
    (["clips.csv", "-o", "out", *ASKED, "--export", "clips.csv"], 2, "the input file"),
    (["clips.csv", "-o", "out", *ASKED, "--export", "0.wav"], 2, "0.wav"),
    (["clips.csv", "-o", "out", *ASKED, "--export", "twice.csv"], 2, "the file exists"),
    (["clips.csv", "-o", "out", *ASKED, "--audio-time", "idle"], 2, "is for a folder"),
])  # fmt: skip
def test_bad_input_is_refused_and_nothing_is_made(clips, capsys, arguments, code, said):
    lines = (clips / "clips.csv").read_text().splitlines()
    (clips / "twice.csv").write_text("\n".join([*lines, lines[-1]]) + "\n")
    (clips / "empty.csv").write_text(lines[0] + "\n")
    (clips / "there").mkdir()
    (clips / "there" / "mine.txt").write_text("x")
    assert cli.run(["annotate", *arguments]) == code
    err = capsys.readouterr().err
    assert re.search(said, err)
    assert "--map" not in err  # annotate has none
    assert "\x1b" not in err
    assert "to answer as " not in err or code == 3  # a row of the list
    assert not (clips / "out").exists()


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A folder in which somebody answered the list."""
    folder = tmp_path_factory.mktemp("answered")
    with contextlib.chdir(folder):
        write_clips()
        run = Running("annotate", "clips.csv", "-o", "out", *ASKED)
        try:
            Robot(run.links()["me"], lambda *_: {"refusal": "cannot tell"}).start()
            assert run.end()[0] == 0
        finally:
            run.kill()
    return folder


def test_a_port_that_is_taken_is_refused_and_nothing_is_made(clips, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert cli.run(["annotate", "clips.csv", "-o", "out", *ASKED, "--port", port]) == 2
    err = capsys.readouterr().err
    assert f"--port {port}: the page cannot be opened there" in err
    assert "to answer as " not in err
    assert not Path("out").exists()


@pytest.mark.parametrize("how", ["ctrl-c", "stop on the page"])
def test_who_ends_before_all_is_answered_is_told_so_by_the_exit_code(clips, running, how):
    run = running("annotate", "clips.csv", "-o", "out", *ASKED, "--export", "l.csv", "--quiet")
    robot, stops = Robot(run.links()["me"]), how != "ctrl-c"
    for _ in range(2):
        robot.answer(robot.ask(wait=10)["question"]["pid"], "yes")
    if stops:
        robot.send("/api/stop")
    else:
        run.process.send_signal(signal.SIGINT)
    code, out, err = run.end()
    assert code == (3 if stops else 130), err
    assert out == ""  # nothing but links
    assert pl.read_csv("l.csv").height == 2
    run = running("annotate", "clips.csv", "-o", "out", *ASKED, "--resume", "--export", "l.csv")
    Robot(run.links()["me"], listener).start()
    code, out, err = run.end()
    assert code == 0, err
    assert "12 of 12 items answered" in out
    assert pl.read_csv("l.csv").height == 12


def test_columns_that_nobody_asked_for_may_hold_anything(clips, running):
    columns = {"id": ["a", "b"], "text": ["one", "two"], "label": ["x", "y"],
               "label_before": ["u", "v"], "list": [[1, 2], []], "deep": [{"x": 1}] * 2,
               "raw": [b"\xff", b"y"]}  # fmt: skip
    pl.DataFrame(columns).write_parquet("list.parquet")
    run = running("annotate", "list.parquet", "-o", "out", "--classes", "yes,no", "--text", "text",
                  "--export", "l.csv")  # fmt: skip
    Robot(run.links()["me"], lambda *_: {"label": "yes"}).start()
    code, _, err = run.end()
    assert code == 0, err
    found = pl.read_csv("l.csv")
    assert found["list"].to_list() == ["[1, 2]", "[]"]
    assert found["deep.x"].to_list() == [1, 1]
    assert found["label"].to_list() == ["yes", "yes"]
    assert found["label_before"].to_list() == ["u", "v"]
    assert found["label_before_before"].to_list() == ["x", "y"]


def test_how_far_people_are_is_shown_in_words(tmp_path):
    with Store(tmp_path / "answers.sqlite") as store:
        store.put(questions(3))
        standing = standing_of(store, Timing())
        assert standing() == ("0 answered, 3 open, 0.0 min active", 0, 3)
        kinds = [("visible", 0), ("focus", 0), ("shown", 0), ("key", 10), ("answer", 24)]
        pid = store.next("me", "s").pid
        events = [PageEvent(seq=k, kind=kind, mono=mono, wall=mono, pid=pid)
                  for k, (kind, mono) in enumerate(kinds)]  # fmt: skip
        store.answer("me", Given(aid="a", pid=pid, label="seven"), "s", events)
        assert standing_of(store, Timing())() == ("1 answered, 2 open, 0.4 min active", 1, 3)
    said = []
    with shown_standing(tmp_path / "answers.sqlite", Timing(), lambda *told: said.append(told)):
        while not said:
            time.sleep(0.01)
    assert said[0] == ("1 answered, 2 open, 0.4 min active", 1, 3)


@pytest.fixture
def begun(answered, tmp_path, monkeypatch):
    """A copy of it, to change."""
    shutil.copytree(answered, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("arguments", "said"), [
    (["clips.csv", "-o", "out", *ASKED], "--resume"),
    (["clips.csv", "-o", "out", "--classes", "a,b", "--audio", "path", "--resume"], "another list"),
    (["out"], "choose what to do"),
    (["out", "--link", "eve"], "nobody is called 'eve'"),
    (["out", "--report", "--overlap", "2"], "is for a list"),
    (["out", "--report", "-o", "x"], "--output is for a list"),
    (["out", "--report", "--resume"], "--resume is for a list"),
    (["out", "--link", "me"], "its page is not running"),
    (["out", "--link", "me", "--unfocused", "active"], "is for --report"),
    (["out", "--export", "x.nix"], "x.nix"),
])  # fmt: skip
def test_a_folder_of_answers_is_not_taken_for_another(begun, capsys, arguments, said):
    assert cli.run(["annotate", *arguments]) == 2
    assert said in capsys.readouterr().err


def change_list():
    text = Path("clips.csv").read_text()
    Path("clips.csv").write_text(text.replace("c03", "c99"))


def be_live():
    with Store("out/answers.sqlite") as store:
        store.set_meta(kind="live")


def damage():
    data = bytearray(Path("out/answers.sqlite").read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    Path("out/answers.sqlite").write_bytes(data)


@pytest.mark.parametrize(("change", "code", "said"), [
    (change_list, 2, "out: its answers are for another list, or for other classes"),
    (be_live, 2, "contains answers about a live run, but this run asks about a list: choose"),
    (damage, 3, "answers.sqlite: is damaged"),
])  # fmt: skip
def test_what_is_of_something_else_does_not_go_on(begun, capsys, change, code, said):
    change()
    before = sorted(path.name for path in Path("out").iterdir())
    again = ["annotate", "clips.csv", "-o", "out", *ASKED, "--people", "bob", "--resume"]
    assert cli.run(again) == code
    err = capsys.readouterr().err
    assert said in err
    assert "to answer as " not in err  # no page, which would change the store
    if change is not damage:
        with Store("out/answers.sqlite") as store:
            assert store.meta("people") == ["me"]
    assert {*before} <= {path.name for path in Path("out").iterdir()}


def test_a_link_is_for_a_page_that_is_served(clips, running, capsys):
    run = running("annotate", "clips.csv", "-o", "out", *ASKED)
    run.links()
    assert cli.run(["annotate", "out", "--link", "me"]) == 0
    link = capsys.readouterr().out.strip()
    Robot(link, listener).start()
    assert run.end()[0] == 0


def test_what_counts_is_a_choice_of_the_report(begun, capsys):
    how = ["--audio-time", "idle", "--unfocused", "active"]
    assert cli.run(["annotate", "out", "--report", *how]) == 0
    said = "idle:30s|tail:0s|audio:idle|unfocused:active"
    out, err = capsys.readouterr()
    assert said in out
    assert err == f"report: {Path('out/report.html')}\n"
    assert said in Path("out/report.html").read_text()


def test_forgetting(begun, capsys):
    assert cli.run(["annotate", "out", "--forget", "me"]) == 0
    assert "me: events, presentations and links are deleted" in capsys.readouterr().err
    assert cli.run(["annotate", "out", "--forget", "nix"]) == 2
    assert "nobody is called 'nix'; there are me" in capsys.readouterr().err
    with Store("out/answers.sqlite") as store:
        assert store.history() == []
        assert len(store.answers()) == 12
    assert cli.run(["annotate", "out", "--export", "l.csv", "--quiet"]) == 0
    assert pl.read_csv("l.csv")["active_seconds"].null_count() == 12  # not known, and never 0


def test_who_does_not_answer_any_more_can_be_forgotten(begun):
    with Store("out/answers.sqlite") as store:
        store.set_meta(people=["bob"])  # as a run that goes on with others
    assert cli.run(["annotate", "out", "--forget", "me"]) == 0
    with Store("out/answers.sqlite") as store:
        assert store.history() == store.presentations() == []


AT = "--threshold-a 0.5 --threshold-b 0.6"


def test_items_of_a_deployment_are_labelled_blind(tmp_path, monkeypatch, running, capsys):
    monkeypatch.chdir(tmp_path)
    accepted.written(tmp_path, "whole.csv")
    whole = pl.read_csv("whole.csv")
    bare = whole.drop("y").with_columns(heard=pl.format("what was said: {}", whole["y"]))
    bare.write_csv("log.csv")
    how = ["--map", accepted.MAP.replace(",label=y", "").replace("label=y,", ""), *AT.split()]
    select = ["abba", "select", "log.csv", *how, "--budget", "60", "-o", "to_label.csv", "--force"]
    assert cli.run([*select, "--keep", "nix"]) == 2
    assert "nix" in capsys.readouterr().err
    assert cli.run([*select, "--keep", "heard"]) == 0
    chosen = pl.read_csv("to_label.csv", infer_schema_length=None)
    assert chosen.columns[:2] == ["id", "heard"]
    asked = ("annotate", "to_label.csv", "-o", "labels", "--classes", "no,yes", "--text", "heard")
    run = running(*asked, "--export", "labels.csv")

    def listen(question, _):
        assert not {"cell", "inclusion_probability"} & {*str(question)}
        return {"label": "yes" if question["source"].endswith("1") else "no"}

    robot = Robot(run.links()["me"], listen).start()
    code, _, err = run.end()
    assert code == 0, err
    assert robot.failure is None
    cells = {"11A", "10A", "11B", "01B"}
    assert not any(cell in str(q["source"]) for q in robot.questions for cell in cells)
    found = pl.read_csv("labels.csv", infer_schema_length=None)
    right = dict(whole.select("utt", "y").iter_rows())
    assert found.height == chosen.height
    assert all({"yes": 1, "no": 0}[said] == right[item]
               for item, said in found.select("id", "label").iter_rows())  # fmt: skip
    capsys.readouterr()
    score = ["abba", "score", "log.csv", *how, "--labels", "labels.csv", "--replicates", "100"]
    code = cli.run([*score, "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    measures = {row["measure"] for row in json.loads(out)["rows"]}
    assert {"rrecall", "rfpr"} <= measures
