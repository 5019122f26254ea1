"""Every command refuses hostile files by their names: what is nested without end, links in a ring,
times and rates beyond all measure.
"""

import gzip
import json
import wave
from pathlib import Path

import pytest

from truecost.calibration.affine import Affine
from truecost.cli import run
from truecost.errors import HIDDEN, InputError, message
from truecost.learning.learners.process import Reply, read

DEEP = 100_000
ROWS = "".join(f"{k % 7},{k % 2},{k % 2 + k % 7 / 3}\n" for k in range(60))
RTTM = "SPEAKER r 1 {} {} <NA> <NA> a <NA> <NA>\n"


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """Exit code and last line of a command in a folder of hostile files."""
    monkeypatch.chdir(tmp_path)
    Path("deep.json").write_text("[" * DEEP + "]" * DEEP)
    Path("deep.ndjson").write_text('{"a":' + "[" * DEEP + "]" * DEEP + "}\n")
    Path("deep.toml").write_text("a = " + "[" * DEEP + "]" * DEEP)
    Path("ring").symlink_to("ring")
    Path("a.csv").write_text("score,label\n1,1\n0,0\n")
    Path("fine.rttm").write_text(RTTM.format(0, 2))
    Path("far.rttm").write_text(RTTM.format(1e308, 1e308))

    def call(command):
        status = run(command.split())
        return status, "".join(capsys.readouterr()).strip()

    return call


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("gate deep.json --gate eer:max_upper=1", 3),
        ("report deep.json", 3),
        ("run deep.toml", 2),
        ("score a.csv --type llr --config deep.toml", 2),
        ("score deep.json --type llr --input-format ndjson", 3),
        ("lifelong validate deep.ndjson", 3),
        ("lifelong score deep.ndjson --higher", 3),
        ("streams score deep.ndjson", 3),
        ("transcripts score deep.json deep.json", 3),
        ("protocol ledger deep.ndjson", 3),
        ("score ring --type llr", 3),
        ("score a.csv --type llr --key ring", 3),
        ("gate ring --gate eer:max_upper=1", 3),
        ("report ring", 3),
        ("run ring", 3),
        ("lifelong score ring --higher", 3),
        ("terms score ring --ecf ring --rttm ring --kwlist ring", 3),
    ],
)
def test_every_command_says_which_file(said, command, status):
    code, text = said(command)
    assert code == status
    hostile = next(word for word in command.split() if word.startswith(("deep", "ring")))
    assert hostile in text
    assert len(text) < 2000


def test_an_output_that_is_a_ring_of_links(said):
    code, text = said("score a.csv --type llr --replicates 20 -o ring")
    assert code == 3
    assert text.splitlines()[-1].startswith("truecost: ring")


def test_times_beyond_all_measure(said):
    code, text = said("diarization score fine.rttm far.rttm")
    assert (code, text) == (
        3,
        "truecost: far.rttm, line 1: the start '1e+308' is beyond 1e+10 s",
    )


def test_a_learner_that_answers_without_end():
    with pytest.raises(InputError, match="not JSON"):
        read(b"[" * DEEP + b"]" * DEEP, Reply)


def test_a_clip_of_one_sample_a_second(tmp_path):
    from truecost.speech.clips import read_wave

    place = str(tmp_path / "slow.wav")
    with wave.open(place, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(1)
        file.writeframes(b"\1\2" * 30_000)
    with pytest.raises(InputError, match="says 1 samples a second; expected 1000 or more"):
        read_wave(place)


def test_a_ledger_line_that_is_none(said):
    Path("ledger.jsonl").write_text(json.dumps({"schema_version": 1}) + "\n")
    code, text = said("protocol ledger ledger.jsonl")
    assert code == 3
    assert "ledger.jsonl, line 1: this line is not from a ledger of results" in text


def test_a_ledger_of_a_system_that_it_does_not_list(said):
    assert said("score a.csv --type llr --replicates 20 --ledger ledger.jsonl")[0] == 0
    place = Path("ledger.jsonl")
    place.write_text(place.read_text().replace('"values":{"a"', '"values":{"x"'))
    code, text = said("protocol ledger ledger.jsonl")
    assert code == 3
    assert "ledger.jsonl, line 1: system x has figures and no hash among the systems" in text


@pytest.mark.parametrize("text", ["score", "my notes", '{"a": 1}'])
def test_what_begins_as_no_ledger_is_no_ledger(said, text):
    place = Path("notes.txt")
    place.write_text(text)
    for command in (
        "protocol ledger notes.txt",
        "score a.csv --type llr --replicates 20 --ledger notes.txt",
    ):
        code, shown = said(command)
        assert code == 3
        assert "notes.txt, line 1: this line is not from a ledger of results" in shown
    assert place.read_text() == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("x\x1b[2J", r"x\x1b[2J"), ("z\u202e", r"z\u202e"), ("y\udcff", r"y\udcff")],
    ids=["control", "direction", "no UTF-8"],
)
def test_a_file_whose_name_cannot_be_shown(said, name, shown):
    Path(f"{name}.csv").write_text("score,label\n" + "1,1\n0,0\n.5,1\n.4,0\n" * 5)
    how = ["--type", "llr", "--replicates", "20", "-o", "out"]
    assert run(["score", f"{name}.csv", *how]) == 2
    text = said("list formats")[1]
    assert f"its file is '{shown}.csv': name the system, NAME=FILE" in text
    assert run(["score", f"s={name}.csv", *how, "--ledger", "ledger.jsonl"]) == 0
    assert said("report out")[0] == 0
    page = Path("out/report.html").read_text()
    assert f"{shown}.csv</th>" in page.replace(r"\\", "\\")
    assert not set(HIDDEN.findall(page)) - {"\n", "\t"}


def test_long_names_lose_their_middle(said):
    Path("long.csv").write_text(f"{'c' * 10_000},score,label\n" + "1,1,1\n1,0,0\n")
    code, text = said("score long.csv --type llr --map unit=other")
    assert code == 2
    assert f"the columns are {'c' * 100}...{'c' * 100}, score, label" in text
    wide = [f"c{k}" for k in range(10_000)]
    Path("wide.csv").write_text(f"{','.join(wide)}\n{','.join('1' * 10_000)}\n")
    code, text = said("score wide.csv --type llr")
    assert code == 2
    assert "c29, ..." in text
    assert len(text) < 600
    assert message(f"a {'b' * 500} c") == f"a {'b' * 100}...{'b' * 100} c"


HEAD = b"score,label\n"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (gzip.compress(HEAD + b"1,1\n0,0\n", mtime=0), "parts/2.csv: cannot be read in parts"),
        (b"score,lab", "parts/2.csv: the file has a header line (score, lab"),
        (b"", "parts/2.csv: the file is empty"),
        (None, "parts/2.csv: this is a device"),
        (HEAD, ""),
    ],
    ids=["gzip", "half a line", "empty", "device", "no rows"],
)
def test_no_part_is_passed_over_in_silence(said, part, expected):
    Path("parts").mkdir()
    for k in range(2):
        Path(f"parts/{k}.csv").write_bytes(HEAD + b"1,1\n0,0\n.5,1\n.4,0\n" * (5 + k))
    if part is None:
        Path("parts/2.csv").symlink_to("/dev/zero")
    else:
        Path("parts/2.csv").write_bytes(part)
    code, text = said("score parts --type llr --replicates 20 -q")
    assert expected in text
    assert (code == 0) is not bool(expected)


def test_a_cache_in_which_a_byte_is_another_one(said):
    Path("units.csv").write_text("unit,label,score\n" + ROWS)
    command = (
        "score units.csv --type llr --map unit=unit --replicates 20 --cache kept --engine serial"
    )
    first = said(command)
    assert first[0] == 0
    columns = {p.name: p for p in Path("kept").rglob("sorted.*")}
    assert len(columns) == 4  # scores, codes, units, and what tells of them
    for name, place in columns.items():
        whole = place.read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 1):
            place.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            code, text = said(command)
            assert code == 3, (name, at)
            assert "this folder does not contain sorted data of truecost (the checksum of" in text
        for other in (whole[:-1], whole + b"\0", b""):
            place.write_bytes(other)
            assert said(command)[0] == 3, (name, len(other))
        place.unlink()
        assert said(command)[0] == 3, name
        place.write_bytes(whole)
    assert said(command) == first


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda result: result.update(configuration="a = "), "the configuration in it is not"),
        (
            lambda result: result["rows"][0]["parameters"].update(prior="x"),
            "a prior that is not a nu",
        ),
        (lambda result: result["rows"][0].update(n_undefined=10**400), "has more than 64 bits"),
        (lambda result: result["rows"][0]["parameters"].update(x=10**400), "more than 64 bits"),
    ],
    ids=["configuration", "prior", "number", "parameter"],
)
def test_a_result_that_was_changed_by_hand(said, change, expected):
    assert said("score a.csv --type llr --replicates 20 -o out")[0] == 0
    result = json.loads(Path("out/result.json").read_text())
    change(result)
    Path("out/result.json").write_text(json.dumps(result))
    code, text = said("report out")
    assert code == 3
    assert expected in text


@pytest.mark.parametrize(
    ("score", "how", "code", "expected"),
    [
        ("1e71", "score far.csv --type llr", 3, "beyond 1e+70, the largest that is read: 1e+71 at"),
        ("1e69", "score far.csv --type llr", 0, ""),
        ("1e69", "calibrate far.csv --type score -o new.csv", 0, ""),
        ("1", "score far.csv --type llr --cost-miss 1e71", 2, "from 1e-70 to 1e+70"),
        ("1", "score far.csv --type llr --cost-fa 1e-310", 2, "from 1e-70 to 1e+70"),
        ("1", "score far.csv --type llr --prior 1e-310", 2, "neither included, from 1e-70"),
    ],
)
def test_numbers_that_cannot_be_squared(said, score, how, code, expected):
    Path("far.csv").write_text(f"unit,label,score\n{ROWS}1,0,{score}\n")
    more = " --prior 0.1" * ("--prior" not in how)
    found, text = said(f"{how} --map unit=unit --replicates 20{more}")
    assert found == code, text
    assert expected in text
    assert "Warning" not in text


def test_a_calibrator_refuses_scores_that_cannot_be_squared():
    scores = [0.0, 1e101, 0.5, 1.0]
    with pytest.raises(InputError, match=r"1 trial has a score .*beyond 1e\+100"):
        Affine.fit(scores, [0, 1, 1, 0], prior=0.5)
