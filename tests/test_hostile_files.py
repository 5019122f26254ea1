"""Every command refuses hostile files by their names: what is nested without end, links in a ring,
times and rates beyond all measure.
"""

import json
import wave
from pathlib import Path

import pytest

from truecost.cli import run
from truecost.errors import InputError
from truecost.learning.learners.process import Reply, read

DEEP = 100_000
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
        "truecost: far.rttm: 1 segment has a time that is missing, no number of seconds, or too "
        "large: line 1 (1e+308)",
    )


def test_a_learner_that_answers_without_end():
    with pytest.raises(InputError, match="no JSON"):
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
    assert "ledger.jsonl, line 1: this is no line of a results ledger" in text


def test_a_ledger_of_a_system_that_it_does_not_list(said):
    assert said("score a.csv --type llr --replicates 20 --ledger ledger.jsonl")[0] == 0
    place = Path("ledger.jsonl")
    place.write_text(place.read_text().replace('"values":{"a"', '"values":{"x"'))
    code, text = said("protocol ledger ledger.jsonl")
    assert code == 3
    assert "ledger.jsonl, line 1: system x has figures and no hash among the systems" in text
