"""`truecost terms validate`: submissions checked without the reference, every fault told."""

import json
import re
import shlex

import numpy as np
import pytest

import searched
from truecost import cli
from truecost.formats.kwslist import read_kwslist
from truecost.tasks.terms.files import check_list, check_queries, floors_differ

ASKED = "--ecf e.ecf.xml --kwlist t.kwlist.xml"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the queries and the audio, where we are; there is no reference in it."""
    searched.written(tmp_path)
    (tmp_path / "r.rttm").unlink()
    (tmp_path / "o.csv").unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def checks(folder, capsys):
    """Write a list, validate it, and give the exit code and what was said of it, by its state."""

    def call(text, options=ASKED):
        (folder / "m.kwslist.xml").write_text(text)
        code = cli.run(shlex.split(f"terms validate {options} m.kwslist.xml --json"))
        found = json.loads(capsys.readouterr().out)["systems"]["m"]
        return code, {
            s: [c["message"] for c in found if c["state"] == s] for s in ("ok", "warning", "error")
        }

    return call


def text(*changes, rows=None, queries=tuple(searched.TERMS)):
    """A list of detections, with changes made to its text."""
    found = searched.kwslist(searched.detections() if rows is None else rows, queries)
    for pattern, new in changes:
        found, number = re.subn(pattern, new, found, count=1)
        assert number, pattern
    return found


def test_a_good_list_is_valid(checks):
    code, said = checks(text())
    assert (code, said["warning"], said["error"]) == (0, [], [])
    assert said["ok"] == [
        f"m.kwslist.xml: {len(searched.detections())} detections of 12 queries read",
        "m.kwslist.xml: the queries are those of t.kwlist.xml",
        "m.kwslist.xml: all detections lie in the audio of e.ecf.xml",
    ]


@pytest.mark.parametrize("options", ["", "--ecf e.ecf.xml", "--kwlist t.kwlist.xml"])
def test_it_is_checked_against_what_is_there(checks, options):
    code, said = checks(text(), options)
    assert (code, len(said["ok"])) == (0, 1 + len(options.split()) // 2)


def test_a_reference_is_not_looked_at(checks):
    assert checks(text(), f"{ASKED} --rttm none.rttm")[0] == 0


@pytest.mark.parametrize(
    ("pattern", "new", "said"),
    [
        ('decision="YES"', 'decision="maybe"', "line 3.*maybe"),
        ('dur="0.4', 'dur="-0.4', "line 3.*-0.4"),
        ('tbeg="', 'tbeg="x', "line 3.*x"),
        ('score="', 'score="inf" old="', "line 3.*inf"),
        ('channel="1" ', "", "line 3.*channel"),
        ("</kwslist>", "", "line"),
        ("<kw ", "<word ", "line 3.*word"),
        ('kwid="K02"', 'kwid="K01"', "line .*K01"),
    ],
)
def test_faults_are_told_with_their_line(checks, pattern, new, said):
    code, found = checks(text((pattern, new)))
    assert code == 3
    [message] = found["error"]
    assert message.startswith("m.kwslist.xml")
    assert re.search(said, message)


def test_every_unknown_query_is_named(checks):
    code, found = checks(text(('"K02"', '"X2"'), ('"K05"', '"X5"')))
    assert code == 3
    [message] = found["error"]
    assert re.fullmatch(
        r"m\.kwslist\.xml: 2 queries are not in t\.kwlist\.xml: "
        r"X2 \(line \d+\), X5 \(line \d+\)",
        message,
    )
    assert found["warning"] == [
        "m.kwslist.xml: 2 queries of t.kwlist.xml not answered: K02, K05; all their occurrences "
        "count as missed"
    ]


def test_nothing_below_the_threshold(checks):
    rows = [row for row in searched.detections() if row[-1] == "YES"]
    _, found = checks(text(rows=rows))
    [message] = found["warning"]
    assert "every decision is YES, so nothing is submitted below" in message
    assert "section 4.1" in message


def test_every_decision_is_no(checks):
    rows = [(*row[:-1], "NO") for row in searched.detections()]
    [message] = checks(text(rows=rows))[1]["warning"]
    assert "every decision is NO: every occurrence is missed" in message


def test_inconsistent_decisions_name_their_queries(checks):
    rows = searched.detections()
    best = max((r for r in rows if r[0] == "K03"), key=lambda r: r[4])
    rows[rows.index(best)] = (*best[:-1], "NO")
    code, found = checks(text(rows=rows))
    [message] = found["warning"]
    assert code == 0
    assert "1 query has a NO with a higher score than a YES, so no threshold makes " in message


def test_lowest_scores_that_differ(checks):
    cut = {f"K{k:02}": -4 + k for k in range(1, 13)}
    rows = [row for row in searched.detections(false=400) if row[4] > cut[row[0]] / 1.5]
    rows = [(*row[:-1], "YES" if row[4] > 3 else "NO") for row in rows]
    [message] = checks(text(rows=rows))[1]["warning"]
    assert "the lowest scores of queries differ much, from" in message
    assert "footnote 6" in message


def test_queries_that_are_not_answered(checks):
    queries = tuple(searched.TERMS)[:-2]
    [message] = checks(text(queries=queries))[1]["warning"]
    assert message.endswith(
        "2 queries of t.kwlist.xml not answered: K11, K12; all their occurrences count as missed"
    )


def test_an_empty_answer_is_an_answer(checks):
    rows = [row for row in searched.detections() if row[0] not in ("K11", "K12")]
    assert checks(text(rows=rows))[1]["warning"] == []


def test_detections_outside_the_audio(checks):
    rows = searched.detections()
    rows[0] = (rows[0][0], "a1", 500.0, *rows[0][3:])
    rows[1] = (rows[1][0], "c9", *rows[1][2:])
    code, found = checks(text(rows=rows))
    unknown, outside = found["warning"]
    assert code == 0
    assert re.search(
        r"1 of \d+ detections is of audio that is not scored .*: c9 \(channel 1\)", unknown
    )
    assert re.search(r"1 of \d+ detections lies outside the audio .* line \d+", outside)


def test_no_detection_in_the_audio(checks):
    rows = [(row[0], "z", *row[2:]) for row in searched.detections()]
    code, found = checks(text(rows=rows))
    assert code == 3
    assert "use the names of documents and channels of the ECF" in found["error"][0]


@pytest.mark.parametrize("options", ["", "--type score", "--type llr"])
def test_probabilities_are_no_ratios(checks, options):
    rows = [(*row[:4], 1 / (1 + np.exp(-row[4])), row[-1]) for row in searched.detections()]
    warned = checks(text(rows=rows), f"{ASKED} {options}")[1]["warning"]
    assert len(warned) == ("llr" in options)
    if warned:
        assert "if they are probabilities, they are not log-likelihood ratios" in warned[0]


def test_ratios_of_which_none_is_negative(checks):
    rows = [(*row[:4], row[4] + 20, row[-1]) for row in searched.detections()]
    [message] = checks(text(rows=rows), f"{ASKED} --type llr")[1]["warning"]
    assert "for plain scores, leave out --type llr" in message


def test_scores_that_tell_nothing(checks):
    rows = [(*row[:4], 1.0, "YES") for row in searched.detections()]
    assert any(
        "all scores are 1: they distinguish nothing" in m
        for m in checks(text(rows=rows))[1]["warning"]
    )


def test_what_stands_twice(checks):
    rows = searched.detections()
    first = next(row for row in rows if row[0] == "K01")
    rows.insert(rows.index(first) + 1, first)
    [message] = checks(text(rows=rows))[1]["warning"]
    assert re.search(r"1 detection repeats an earlier one .*: line 4 as line 3; each", message)
    rows += [first] * 7
    [message] = checks(text(rows=rows))[1]["warning"]
    lines = re.findall(r"line (\d+) as line 3", message)
    assert len(lines) == 5
    assert "8 detections repeat an earlier one" in message


def test_an_empty_list(checks):
    code, found = checks(text(rows=[]))
    assert code == 0
    assert found["warning"] == ["m.kwslist.xml: nothing is submitted: every occurrence is missed"]


def test_strict_and_many(folder, capsys):
    (folder / "submissions" / "odd.kwslist.xml").write_text(text(queries=("K01",)))
    line = f"terms validate {ASKED} submissions"
    assert cli.run(shlex.split(line)) == 0
    assert capsys.readouterr().out.endswith("\nvalid\n")
    assert cli.run(shlex.split(f"{line} --strict -q")) == 3
    out = capsys.readouterr().out
    assert out.endswith("NOT VALID: 1 of 4 (odd)\n")
    assert "ok:" not in out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (f"{ASKED}", 2, "no system is named"),
        ("--ecf none.xml s.kwslist.xml", 3, "none.xml"),
        ("--kwlist e.ecf.xml s.kwslist.xml", 3, "e.ecf.xml"),
        (f"{ASKED} none/", 3, "none"),
        (f"{ASKED} 'none*.xml'", 3, "no file matches this pattern"),
        (f"{ASKED} hollow", 3, "hollow: there are no files in this folder"),
    ],
)
def test_misuse(folder, capsys, line, code, said):
    (folder / "hollow").mkdir()
    assert cli.run(shlex.split(f"terms validate {line}")) == code
    out, err = capsys.readouterr()
    assert said in err + out


def test_tables_are_checked_too(folder, capsys):
    rows = ("{},{},{:.3f},{:.3f},{:.5f},{}".format(*r) for r in searched.detections())
    lines = ["query,document,start,duration,score,decision", *rows]
    lines[5] = lines[5].replace("K01", "K77")
    (folder / "m.csv").write_text("\n".join([*lines, ""]))
    assert cli.run(shlex.split(f"terms validate {ASKED} m.csv")) == 3
    assert "m.csv: 1 query is not in t.kwlist.xml: K77 (line 6)" in capsys.readouterr().out


def test_checks_of_lists_in_python(folder):
    found = read_kwslist("s.kwslist.xml")
    assert [check.state for check in check_list(found, "llr")] == ["ok"]
    states = [c.state for c in check_queries(found, found.answers["query"], "own")]
    assert states == ["ok"]


def test_floors_differ_is_about_the_range_of_the_scores():
    scores = np.array([0.0, 10.0])
    assert not floors_differ(np.array([1.0]), scores)
    assert not floors_differ(np.array([0.0, 0.0, 0.0, 9.0]), scores)
    assert floors_differ(np.array([0.0, 0.0, 9.0, 9.0]), scores)
    assert not floors_differ(np.zeros(4), np.zeros(4))
