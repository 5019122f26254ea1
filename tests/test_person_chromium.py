"""Whole roads on real data, with people who are scripts at tabs of a real Chromium, from a command
to its figures: digits in a stream whose run is killed, a deployment that is labelled blind, people
who disagree.

Each road asks that what is kept is what the script answered, that nothing was asked twice, and that
the seconds lie within those that the script waited. Without Chromium the tests are skipped.
"""

import json
import re
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from browser import until
from people import Person, answers, check, values, write_table
from truecost import cli


@pytest.fixture
def digits(shared):
    """Free Spoken Digit Dataset: names of its 3000 clips, and their features."""
    stored = np.load(shared / "data" / "fsdd" / "features_102.npz")
    return [Path(str(path)).stem for path in stored["paths"]], stored["X"].astype(float)


def recorded(shared, names):
    """Clips of these names, in `recordings`; from their contents to their names."""
    clips = {}
    archive = shared / "data" / "fsdd" / "fsdd_recordings_3000wav_8k.tar.gz"
    with tarfile.open(archive) as members:
        for member in members:
            if Path(member.name).stem in names and member.name.endswith(".wav"):
                clips[members.extractfile(member).read()] = Path(member.name).stem
    Path("recordings").mkdir()
    for content, name in clips.items():
        Path(f"recordings/{name}.wav").write_bytes(content)
    assert sorted(clips.values()) == sorted(names)
    return clips


STREAM = """
task = "streams"
measures = ["imlm", "imlm_seconds", "total_cost", "cost_person"]

[source]
name = "table"
file = "features.csv"
target = "7"
order = "given"
items = 24

[loop]
batch = 12
budget = 4
bootstrap = 4

[expert]
name = "person"
ask = "Is it a seven?"
audio = "recordings/{id}.wav"

[streams]
item_seconds = 2.0

[prices]
miss = 1
false_alarm = 0.5
person = 36
currency = "EUR"

[interval]
replicates = 200
"""


def test_spoken_digits_are_answered_through_a_kill(shared, digits, tab, running):
    """The run is killed while a question is in view, which is answered before it is back."""
    every, features = digits
    chosen = np.random.default_rng(0).permutation(len(every))[:40]
    heads = ["id", "label", *(f"f{k}" for k in range(features.shape[1]))]
    write_table("features.csv", heads, [[every[k], every[k][0], *features[k]] for k in chosen])
    clips = recorded(shared, [every[k] for k in chosen])
    Path("study.toml").write_text(STREAM)
    run = running("run", "study.toml", "-o", "out")
    person = Person(tab, run.links()["me"])

    def answer():
        name = clips[person.sound()]
        person.answer(name, *(("1", "2") if name[0] == "7" else ("0", "1")))

    for _ in range(6):
        assert person.question()
        answer()
    assert person.question()
    run.kill()
    answer()
    until(tab, "document.getElementById('status').innerText.startsWith('No connection')")
    run = running("run", "study.toml", "-o", "out", "--resume")
    while person.question():
        answer()
    code, _, err = run.end()
    assert code == 0, err
    said = answers()
    check(said, person.told)
    assert len(said) == len(person.told) == 4 + 2 * 4
    found = values("out")
    assert {"imlm", "imlm_seconds", "total_cost", "cost_person"} <= {*found}
    assert all(value is not None for value in found.values())
    seconds = sum(one["active_seconds"] for one in said)
    assert found["cost_person"] == pytest.approx(seconds * 36 / 3600)


MAP = "id=utt,collected_by=arm,score_a=sa,score_b=sb,unit=user"
AT = ("--map", MAP, "--threshold-a", "0.5", "--threshold-b", "0.5")
SECRET = re.compile(r"cell|1[01][AB]|01B|\barm\b|collected|inclusion|user-|_[0-9]+\b")


def deployed(names, features):
    """The later clips of each speaker with scores of two detectors of sevens, which learnt from the
    first ten takes: A from 20 features, B from all. Every other group of five takes has A.
    """
    takes = np.array([int(name.split("_")[2]) for name in names])
    seven = np.array([name[0] == "7" for name in names])
    scaled = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)
    scores = []
    for width in (20, features.shape[1]):
        known = np.column_stack([scaled[:, :width], np.ones(len(names))])
        first = known[takes < 10]
        squares = first.T @ first + 10 * np.eye(width + 1)
        heard = known @ np.linalg.solve(squares, first.T @ np.where(seven, 1, -1)[takes < 10])
        scores.append(1 / (1 + np.exp(-4 * (heard + 0.5))))
    for k in np.flatnonzero(takes >= 10):
        group = takes[k] // 5
        told = [round(float(of[k]), 6) for of in scores]
        user = f"user-{names[k].split('_')[1]}-{group}"
        yield names[k], user, "AB"[group % 2], *told, f"recordings/{names[k]}.wav"


@pytest.mark.long
def test_a_deployment_is_labelled_blind(shared, digits, tab, running, capsys):
    """What either detector accepted: neither page nor server tells of which arm a clip is."""
    every = [*deployed(*digits)]
    rows = [row for row in every if row["AB".index(row[2]) + 3] >= 0.5]  # accepted
    write_table("log.csv", ["utt", "user", "arm", "sa", "sb", "audio"], rows)
    clips = recorded(shared, [row[0] for row in rows])
    how = ["abba", "select", "log.csv", *AT, "--budget", "40"]
    assert cli.run([*how, "--keep", "audio", "-o", "to_label.csv"]) == 0
    chosen = pl.read_csv("to_label.csv")
    assert {"id", "audio", "cell"} <= {*chosen.columns}
    asked = ("annotate", "to_label.csv", "-o", "out", "--classes", "no,yes", "--audio", "audio")
    run = running(*asked, "--export", "labels.csv")
    person = Person(tab, run.links()["me"])
    while person.question():
        assert not SECRET.search(tab.content())
        name = clips[person.sound()]
        person.answer(name, *(("yes", "2") if name[0] == "7" else ("no", "1")))
    assert [place for place in person.unread if "/api/" in place] == []
    for place, content in person.replies:
        assert "/media/" in place or not SECRET.search(content.decode())
    code, _, err = run.end()
    assert code == 0, err
    labels = pl.read_csv("labels.csv")
    check(labels.to_dicts(), person.told)
    assert sorted(labels["id"]) == sorted(chosen["id"])
    capsys.readouterr()
    priced = ["--price", "person=36,false_alarm=0.5"]
    score = ["abba", "score", "log.csv", *AT, *priced, "--labels", "labels.csv"]
    code = cli.run([*score, "--replicates", "200", "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    found = {row["measure"]: row for row in json.loads(out)["rows"]}
    seconds = sum(one["active_seconds"] for one in labels.to_dicts())
    assert found["cost_person"]["value"] == pytest.approx(seconds * 36 / 3600)
    assert found["total_cost"]["value"] > found["cost_person"]["value"]
    for measure, seven in (("rrecall", True), ("rfpr", False)):
        a, b = (sum(r[k] >= 0.5 for r in every if (r[0][0] == "7") is seven) for k in (3, 4))
        assert found[measure]["lower"] <= b / a <= found[measure]["upper"]


@pytest.mark.long
def test_two_people_and_a_third_who_adjudicates(shared, digits, tab, running):
    """Bob takes ones for sevens; who is asked where he and Ann are divided decides."""
    who = [
        f"{digit}_{name}_3" for digit in "179" for name in ("george", "jackson", "lucas", "theo")
    ]
    names = [name for name in digits[0] if name in who]
    clips = recorded(shared, names)
    write_table("clips.csv", ["id", "path"], [[name, f"recordings/{name}.wav"] for name in names])
    asked = ("annotate", "clips.csv", "-o", "out", "--classes", "no,yes", "--audio", "path")
    people = ("--people", "ann,bob,cid", "--overlap", "2")
    run = running(*asked, *people, "--export", "labels.csv", "--export-answers", "answers.csv")
    links = run.links(3)
    ann = Person(tab, links["ann"])
    bob = Person(tab.context.browser.new_context().new_page(), links["bob"])

    def answer(person, heard):
        person.page.bring_to_front()
        if person.question() is None:
            return False
        name = clips[person.sound()]
        person.answer(name, *(("yes", "2") if name[0] in heard else ("no", "1")))
        return True

    for _ in names:
        assert answer(ann, "7")
        assert answer(bob, "71")
    cid = Person(tab.context.browser.new_context().new_page(), links["cid"])
    while answer(cid, "7"):
        pass
    code, out, err = run.end()
    assert code == 0, err
    assert sorted(one.item for one in cid.told) == [name for name in names if name[0] == "1"]
    decided = {one["id"]: one for one in pl.read_csv("labels.csv").to_dicts()}
    assert {name: one["label"] for name, one in decided.items()} == {
        name: "yes" if name[0] == "7" else "no" for name in names
    }
    kept = pl.read_csv("answers.csv").to_dicts()
    assert all(decided[name]["answers"] == sum(one["id"] == name for one in kept) for name in names)
    for one in kept:
        one["id"] = f"{one['annotator']} {one['id']}"
    told = [
        one._replace(item=f"{name} {one.item}")
        for name, person in (("ann", ann), ("bob", bob), ("cid", cid))
        for one in person.told
    ]
    check(kept, told)
    assert "12 of 12 items answered; active time: idle:30s|tail:0s" in out
    assert "Krippendorff's alpha of 3 people: " in out
    assert "Cohen's kappa of ann and bob: 0.40 [" in out  # yes: 4 of 12, and 8 with them
