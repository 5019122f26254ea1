"""The page of `truecost protocol check -o`: leaks first, what they touch, classes beside use."""

import json
import re
from pathlib import Path

import pytest

from drawn import laws
from test_protocol_check_command import MAP, check, folder, leaking, write
from truecost.protocol import check as check_split
from truecost.protocol import read_samples
from truecost.protocol.study import page

__all__ = ["folder"]  # a fixture

KEYS = dict(pair.split("=") for pair in MAP.split(","))


def found(change=None, folds=True, **how):
    write(change=change, folds=folds)
    return check_split(read_samples("split.csv", KEYS), **how)


def in_train(rows):
    leaking(rows)
    rows[48]["fold"] = "train"


def test_a_check_writes_what_json_prints_and_a_page(capsys):
    write(change=leaking)
    code, out, err = check(capsys, "split.csv", "--map", MAP, "--json", "-o", "out")
    assert (code, err) == (3, "report: out/report.html\n")
    assert Path("out/check.json").read_text(encoding="utf-8") == out
    text = Path("out/report.html").read_text(encoding="utf-8")
    shown = re.sub(r"</?span[^>]*>", "", text)  # options that stay on one line
    for finding in json.loads(out)["findings"]:
        assert finding["message"].replace("'", "&#39;") in shown
    assert check(capsys, "split.csv", "--map", MAP, "-o", "out")[0] == 3  # takes its place
    assert Path("out/report.html").read_text(encoding="utf-8") == text
    assert {path.name for path in Path("out").iterdir()} == {"check.json", "report.html"}


def test_the_sentence_says_what_leaks_do():
    leaks = found(in_train, folds=False)
    assert page._headline(leaks).endswith("rates on eval are lower than they will be in use.")
    assert page._headline(found(leaking)).startswith("1 leak: error rates on this split are")
    assert page._headline(found()) == "No leak found."


def test_every_sample_in_a_leak_counts_once():
    leaks = found(in_train, folds=False, features="f?,f1?")
    rules = [finding.rule for finding in leaks.leaks]
    assert rules == ["shared-groups", "near-copies"]
    picture = page.leaks(leaks)
    bars = [mark for mark in picture.marks if mark.kind == "bar"]
    rows = {int(row) for finding in leaks.leaks for row in finding.rows}
    assert sum(bar.hi - bar.lo for bar in bars) == len(rows)
    assert picture.y.names[0] == f"train ({leaks.sets[0].samples} samples)"
    laws(picture)


def test_classes_stand_beside_those_of_use():
    picture = page.classes(found(prior=0.1))
    assert picture.y.names[-1] == "in use"
    assert [m.label for m in picture.marks if m.y == 5] == ["in use: 90% 0", "in use: 10% 1"]
    shares = [mark.hi - mark.lo for mark in picture.marks if mark.y == 0]
    assert shares == pytest.approx([59 / 80, 21 / 80])
    laws(picture)


def test_hostile_names_are_text():
    def change(rows):
        leaking(rows)
        for row in rows:
            row["fold"] = "<img src=x onerror=alert(1)>" if row["fold"] == 1 else row["fold"]

    text = page.render(found(change))
    assert "<img" not in text
    assert "&lt;img src=x" in text
