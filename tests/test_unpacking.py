"""What is packed, and never ends, is refused before it fills the memory; what lifts the limit."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost.cli import run
from truecost.formats import opening, read_bytes, sha256
from truecost.formats.opening import LINE, UNPACKED, blocks

LINES = b"a,0,1\n" * 2000
ROWS = 100_000


def archive(save):
    stream = io.BytesIO()
    save(stream, scores=np.zeros(ROWS), labels=np.zeros(ROWS))
    return stream.getvalue()


def parquet():
    stream = io.BytesIO()
    pl.DataFrame({"score": [1.0] * ROWS, "label": [1] * ROWS}).write_parquet(stream)
    return stream.getvalue()


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def file(data, name):
        Path(name).write_bytes(data)
        return name

    return file


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv.gz", gzip.compress(LINES)),
        ("a.csv.gz", gzip.compress(LINES[:6000]) * 3),
        ("a.npz", archive(np.savez_compressed)),
        ("a.parquet", parquet()),
    ],
    ids=["gzip", "gzip members", "npz", "parquet"],
)
def test_what_holds_too_much_is_refused_and_read_with_a_larger_limit(put, monkeypatch, name, data):
    path = put(data, name)
    whole = tc.read(path)
    monkeypatch.setenv(UNPACKED.variable, "1e4")
    with pytest.raises(tc.InputError) as refused:
        tc.read(path)
    said = str(refused.value)
    assert said.startswith(f"{name}: ")
    assert "when unpacked, more than the limit of 10000 bytes" in said
    assert "set the environment variable TRUECOST_MAX_UNPACKED to a larger number" in said
    monkeypatch.setenv(UNPACKED.variable, "1e7")
    assert tc.read(path).frame.equals(whole.frame)


def test_a_large_archive_that_is_not_compressed_is_no_bomb(put, monkeypatch):
    monkeypatch.setenv(UNPACKED.variable, "1e4")
    assert len(tc.read(put(archive(np.savez), "a.npz"))) == ROWS


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_has_a_longest_length(put, monkeypatch, packed):
    size = 3 * opening.BLOCK
    monkeypatch.setenv(LINE.variable, str(size))
    write = gzip.compress if packed else bytes
    longest = b"a" * size + b"\n"
    for good in (longest, LINES + longest + LINES, longest * 3, b"a" * size):
        assert read_bytes(put(write(good), "good")) == good
    for bad in (b"a" + longest, LINES + b"a" + longest, b"\0" * (size + 1), b" " * (size + 1)):
        with pytest.raises(tc.InputError, match="bad: a line is longer than the limit of 786432 b"):
            read_bytes(put(write(bad), "bad"))
    for other in (b"<", b" \n[", b"\x93NUMPY"):  # they need no lines
        assert len(read_bytes(put(write(other + b"a" * size), "other"))) > size


COMMANDS = (
    "score {} --type score",
    "score good.csv --type score --key {}",
    "score --config {}",
    "validate {}",
    "calibrate {} --type score -o out.csv",
    "convert {} -o out.csv --input-format csv",
    "gate {} --gate auc:min_lower=0",
    "gate good.csv --gates {}",
    "report {}",
    "run {}",
    "transcripts score {} good.csv",
    "diarization score {} good.csv",
    "terms validate {} --kwlist {} --ecf {}",
    "terms score {} --rttm {} --kwlist {} --ecf {}",
    "streams validate {}",
    "abba validate {}",
    "lifelong score {}",
    "lifelong validate {}",
    "protocol split {} --folds 2",
    "protocol ledger {}",
    "compare {} good.csv --type score",
    "score good.csv --type score --metadata {} --map unit=a",
    "threshold {} --type score",
    "threshold good.csv --type score --test {}",
    "methods score {} --runs file --type score",
    "plan {} --type score --half-width 0.1",
    "protocol check {} --map id=id,label=label",
    "protocol spurious {} --map id=id,label=label",
    "annotate {} -o labelled --classes a,b",
    "translation score {} good.csv",
    "transcripts validate {}",
    "abba select {} --budget 2",
    "streams sweep {}",
    "methods run {} -o trained",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_devices_and_bombs(put, monkeypatch, capsys, command):
    put(b"id,score,label\na,1,1\nb,0,0\n", "good.csv")
    monkeypatch.setenv(UNPACKED.variable, "1e6")
    bomb = put(gzip.compress(b"a,b\n" * 10**6), "bomb.gz")
    for path, said in (("/dev/zero", "is a device"), (bomb, "more than the limit")):
        if path == bomb and command == "protocol ledger {}":
            continue  # it is never unpacked
        status = run(command.replace("{}", path).split())
        out = "".join(capsys.readouterr())
        assert (status, f"{path}: " in out, said in out) == (3, True, True), out


def test_an_archive_of_a_harness_that_holds_too_much(put, monkeypatch):
    monkeypatch.setenv(UNPACKED.variable, "1e6")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps({"eval": {}, "plan": "a" * 2_000_000}))
        made.writestr("summaries.json", "[]")
    with pytest.raises(
        tc.InputError, match=r"a\.eval: contains, when unpacked, more than the limit"
    ):
        tc.read(put(stream.getvalue(), "a.eval"))


def test_standard_input_that_never_ends():
    words = [sys.executable, "-m", "truecost", "validate", "-"]
    with Path("/dev/zero").open("rb") as zeros:
        done = subprocess.run(words, stdin=zeros, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "standard input: a line is longer than the limit of 64000000 bytes" in done.stdout


def test_all_ways_to_read_give_the_same_bytes(put, monkeypatch):
    monkeypatch.setattr(opening, "HELD", 5000)  # larger ones are unpacked once more
    for data in (b"", LINES[:4998], LINES):
        for stored in (data, gzip.compress(data)):
            path = put(stored, "a")
            assert read_bytes(path) == b"".join(blocks(path)) == data
            assert len(sha256(path)) == 64


@pytest.mark.parametrize("value", ["much", "0", "-1", "nan"])
def test_a_limit_is_a_number_of_bytes(put, monkeypatch, capsys, value):
    monkeypatch.setenv(UNPACKED.variable, value)
    assert run(["score", put(gzip.compress(LINES), "a.gz"), "--type", "score"]) == 2
    assert (
        f"TRUECOST_MAX_UNPACKED is '{value}'; expected a number of bytes" in capsys.readouterr().err
    )


CHILD = """
import resource, sys
import truecost as tc
from truecost.formats.searches import read_detections
from truecost.tasks.lifelong.work import columns_of
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for read in (tc.read, read_detections, columns_of):
    try:
        read(sys.argv[1])
    except tc.InputError as error:
        print(error, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_stays_bounded_while_the_size_is_found_out(put):
    member = gzip.compress(b"a,0,1\n" * 10**7)
    words = [sys.executable, "-c", CHILD, put(member * 34, "bomb.csv.gz")]  # 2 GB and some
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.count("more than the limit of 2000000000 bytes") == 2
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 400e6
