"""Roads that lead over several commands: what is left of time and prices when a person is
forgotten, and a list that goes on with more people.
"""

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import accepted
from person_studies import STREAM
from robots import Robot
from truecost import cli
from truecost.person.store import Store

PRICED = ("--price", "person=36", "--measure", "total_cost,cost_person")


def rows_of(capsys, *words):
    """The rows of a command by measure."""
    capsys.readouterr()
    code = cli.run([*words, "--replicates", "100", "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return {row["measure"]: row for row in json.loads(out)["rows"] if row["kind"] == "value"}


def refused(capsys, *words):
    """Exit code and message of a command that fails."""
    capsys.readouterr()
    code = cli.run([*words])
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


@pytest.fixture
def blind(tmp_path, monkeypatch, running):
    """A deployment whose labels a person gave."""
    monkeypatch.chdir(tmp_path)
    accepted.written(tmp_path, "whole.csv")
    whole = pl.read_csv("whole.csv")
    bare = whole.drop("y").with_columns(heard=pl.format("what was said: {}", whole["y"]))
    bare.write_csv("log.csv")
    how = ["--map", accepted.MAP.replace(",label=y", ""), "--threshold-a", "0.5"]
    how += ["--threshold-b", "0.6"]
    select = ["abba", "select", "log.csv", *how, "--budget", "30", "--keep", "heard"]
    assert cli.run([*select, "-o", "to_label.csv"]) == 0
    asked = ("to_label.csv", "-o", "labels", "--classes", "no,yes", "--text", "heard")
    run = running("annotate", *asked, "--export", "labels.csv")

    def read(question, _):
        return {"label": "yes" if question["source"].endswith("1") else "no"}

    Robot(run.links()["me"], read, think=0.02).start()
    assert run.end()[0] == 0
    return ["abba", "score", "log.csv", *how, "--labels"]


def test_time_that_was_forgotten_has_no_price_in_a_deployment(blind, capsys):
    """It is never worth 0; what was exported before still has one."""
    found = rows_of(capsys, *blind, "labels.csv", *PRICED)
    seconds = pl.read_csv("labels.csv")["active_seconds"].sum()
    assert found["cost_person"]["value"] == pytest.approx(seconds * 36 / 3600)
    assert cli.run(["annotate", "labels", "--forget", "me"]) == 0
    again = ("annotate", "labels", "--export", "again.csv", "--export-answers", "a.csv", "--quiet")
    assert cli.run([*again]) == 0
    for name in ("again.csv", "a.csv"):
        table = pl.read_csv(name)
        assert table.height == 30
        for column in ("active_seconds", "wall_seconds", "heard_seconds"):
            assert table[column].null_count() == 30
    code, err = refused(capsys, *blind, "again.csv", *PRICED)
    assert code == 2
    assert "active_seconds" in err
    plain = rows_of(capsys, *blind, "again.csv", "--measure", "rfpr")  # the labels stay
    before = rows_of(capsys, *blind, "labels.csv", "--measure", "rfpr")
    assert plain["rfpr"]["value"] == before["rfpr"]["value"]


@pytest.fixture
def stream(tmp_path, monkeypatch, running):
    """A stream that a person answered, with the log of its pass."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    with Path("items.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "label", "x", "y"])
        for k in range(40):
            label = 7 if k % 3 == 0 else 1
            rows.writerow([f"clip{k:02}", label, *draws.normal(label / 4, 1, 2).round(4)])
    Path("study.toml").write_text(STREAM)
    run = running("run", "study.toml", "-o", "out")
    Robot(run.links()["me"], lambda *_: {"label": "no"}, think=0.02).start()
    code, _, err = run.end()
    assert code == 0, err
    return "out/logs/margin/3"


def test_a_log_keeps_the_time_of_its_run_when_a_person_is_forgotten(stream, capsys):
    score = ("streams", "score", stream, *PRICED, "--price", "miss=1,false_alarm=1")
    before = rows_of(capsys, *score)["cost_person"]["value"]
    assert before > 0
    assert rows_of(capsys, *score, "--idle", "0")["cost_person"]["value"] < before
    assert cli.run(["annotate", "out", "--forget", "me"]) == 0
    assert rows_of(capsys, *score)["cost_person"]["value"] == before
    code, err = refused(capsys, *score, "--idle", "0")  # it cannot be measured anew
    assert code == 3
    assert "the events of the page of me were deleted" in err
    with Store("out/answers.sqlite") as store:
        assert store.history() == []
        assert store.presentations() == []
        assert len(store.answers()) == 13
    assert cli.run(["annotate", "out", "--report", "--quiet"]) == 0
    assert "The time of 13 answers is not known" in Path("out/report.html").read_text()


def test_a_list_goes_on_with_more_people_for_each_item(tmp_path, monkeypatch, running):
    """Who has answered is not asked again; the others are asked, and what is exported has both."""
    monkeypatch.chdir(tmp_path)
    Path("list.csv").write_text("id,text\n" + "".join(f"i{k},t{k}\n" for k in range(6)))
    how = ("annotate", "list.csv", "-o", "out", "--classes", "yes,no", "--text", "text")
    run = running(*how, "--people", "ann")
    first = Robot(run.links()["ann"], lambda *_: {"label": "yes"}).start()
    assert run.end()[0] == 0
    assert len(first.given) == 6
    more = ("--people", "ann,bob", "--overlap", "2", "--resume", "--export", "l.csv")
    run = running(*how, *more)
    links = run.links(2)
    ann = Robot(links["ann"], lambda *_: {"label": "yes"})
    assert ann.ask()["question"] is None
    bob = Robot(links["bob"], lambda *_: {"label": "yes"}).start()
    code, out, err = run.end()
    assert (code, bob.failure) == (0, None), err
    assert len(bob.given) == 6
    assert "6 of 6 items answered" in out
    found = pl.read_csv("l.csv")
    assert found["annotator"].to_list() == ["ann+bob"] * 6
    assert found["answers"].to_list() == found["agreeing"].to_list() == [2] * 6
    run = running(*how, "--people", "ann,bob", "--overlap", "1", "--resume")  # and with fewer
    run.links(2)
    assert run.end()[0] == 0
