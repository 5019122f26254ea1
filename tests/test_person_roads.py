"""Roads from data to figures with people on the way: a deployment whose items are labelled blind,
spoken digits of a real corpus in a stream.
"""

import csv
import gzip
import json
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import accepted
from robot import Robot
from truecost import cli

MAP = f"{accepted.MAP}"
AT = "--threshold-a 0.5 --threshold-b 0.6"


def test_items_of_a_deployment_are_labelled_blind(tmp_path, monkeypatch, running, capsys):
    monkeypatch.chdir(tmp_path)
    accepted.written(tmp_path, "whole.csv")
    whole = pl.read_csv("whole.csv")
    bare = whole.drop("y").with_columns(heard=pl.format("what was said: {}", whole["y"]))
    bare.write_csv("log.csv")
    how = ["--map", MAP.replace(",label=y", "").replace("label=y,", ""), *AT.split()]
    select = ["abba", "select", "log.csv", *how, "--budget", "60", "-o", "to_label.csv", "--force"]
    assert cli.run([*select, "--keep", "nix"]) == 2
    assert "nix" in capsys.readouterr().err
    assert cli.run([*select, "--keep", "heard"]) == 0
    chosen = pl.read_csv("to_label.csv", infer_schema_length=None)
    assert chosen.columns[:2] == ["id", "heard"]
    asked = ("annotate", "to_label.csv", "-o", "labels", "--classes", "no,yes", "--text", "heard")
    run = running(*asked, "--export", "labels.csv")

    def listen(question):
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


STREAM = """
task = "streams"
measures = ["imlm", "imlm_seconds"]

[source]
name = "table"
file = "features.csv"
target = "7"
order = "shuffled"
items = 240

[loop]
batch = 60
budget = 4
bootstrap = 8

[expert]
name = "person"
ask = "Is it a seven?"
audio = "recordings/{id}.wav"

[streams]
item_seconds = 2.0
"""


@pytest.mark.long
def test_spoken_digits_answered_through_kills(shared, tmp_path, monkeypatch, running):
    """Free Spoken Digit Dataset: 240 clips, 4 questions for each 60; a kill -9 after each batch."""
    monkeypatch.chdir(tmp_path)
    corpus = shared / "data" / "fsdd"
    stored = np.load(corpus / "features_102.npz")
    pick = np.random.default_rng(0).permutation(len(stored["paths"]))[:300]
    names = [Path(str(stored["paths"][k])).stem for k in pick]
    Path("recordings").mkdir()
    with tarfile.open(corpus / "fsdd_recordings_3000wav_8k.tar.gz") as archive:
        for member in archive:
            if Path(member.name).stem in names and member.name.endswith(".wav"):
                sound = archive.extractfile(member).read()
                (Path("recordings") / Path(member.name).name).write_bytes(sound)
    sizes = {path.stat().st_size: path.stem for path in Path("recordings").iterdir()}
    with Path("features.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "label", *(f"f{k}" for k in range(102))])
        for k, name in zip(pick, names, strict=True):
            rows.writerow([name, name[0], *stored["X"][k].tolist()])
    Path("study.toml").write_text(STREAM)
    run = running("run", "study.toml", "-o", "out")

    def listen(question):
        _, sound, _ = robot.call("GET", question["sound"])
        known = [name for size, name in sizes.items() if size == len(sound)]
        return {"label": "yes" if known and known[0].startswith("7") else "no"}

    robot = Robot(run.links()["me"], listen, think=0.05).start()
    for number in (8, 12, 16):
        while len(robot.given) < number:
            assert robot.failure is None, robot.failure
            robot.thread.join(0.02)
        run.kill()
        run = running("run", "study.toml", "-o", "out", "--resume")
    code, _, err = run.end(120)
    assert code == 0, err
    rows = json.loads(Path("out/result.json").read_bytes())["rows"]
    of = {(r["measure"], r["dims"]["phase"]): r for r in rows}
    assert of["imlm_seconds", "post"]["value"] is not None
    with gzip.open("out/logs/margin/4/seed-0.jsonl.gz", "rt") as log:
        events = [json.loads(line) for line in log]
    answers = [e["id"] for e in events if e["event"] == "answer"]
    assert len(answers) == len({*answers}) == 24
    assert sum(e["event"] == "query" for e in events) == 16
    assert all(e["active_seconds"] >= 0.05 for e in events if e["event"] == "answer")
