"""Folders that are read as one file, and what else the command line reads of diarizations."""

import gzip
import json
from pathlib import Path

import pytest

from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.formats import read, sha256

TURN = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"
REFERENCE = [("r1", 0, 10, "a"), ("r1", 10, 10, "b"), ("r2", 0, 8, "c"), ("r10", 2, 3, "a")]
OUTPUT = [("r1", 0, 9, "x"), ("r1", 9, 11, "y"), ("r2", 1, 8, "z"), ("r10", 2, 4, "x")]
HEADER = "file,who,begin,stop\n"


@pytest.fixture
def there(tmp_path, monkeypatch):
    """An empty folder, where we are, with a file and a folder of each side."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("ref", REFERENCE), ("hyp", OUTPUT)):
        Path(f"{name}.rttm").write_text(text_of(rows))
        Path(name).mkdir()
        for recording in {row[0] for row in rows}:
            own = text_of(row for row in rows if row[0] == recording)
            Path(name, f"{recording}.rttm").write_text(own)
        lines = [f"{r},{who},{start},{start + length}\n" for r, start, length, who in rows]
        Path(f"{name}.csv").write_text(HEADER + "".join(lines))
    return tmp_path


def text_of(rows):
    return "".join(TURN.format(*row) for row in rows)


def run(line, capsys):
    code = cli.run(line.split())
    out, err = capsys.readouterr()
    return code, out, err


def values(line, capsys):
    code, out, err = run(f"{line} --json", capsys)
    assert code == 0, err
    return {row["measure"]: row["value"] for row in json.loads(out)["rows"]}


def test_a_folder_is_its_files_joined(there):
    folder = read("ref", None, "diarization")
    names = ["r1.rttm", "r1.rttm", "r10.rttm", "r2.rttm"]
    assert folder.frame["recording"].to_list() == [name[:-5] for name in names]
    lines = (1, 2, 1, 1)
    places = [f"{name}, line {line}" for name, line in zip(names, lines, strict=True)]
    assert [folder.where(k) for k in range(4)] == places
    assert (folder.source, folder.format, folder.layout) == ("ref", "rttm", "")
    one = read("ref.rttm", None, "diarization").frame
    assert folder.frame.sort("recording", "start").equals(one.sort("recording", "start"))


def test_gzipped_hidden_and_silent_files(there):
    packed = gzip.compress(Path("ref/r2.rttm").read_bytes())
    Path("ref/r2.rttm").unlink()
    Path("ref/r2.RTTM.gz").write_bytes(packed)
    Path("ref/.DS_Store").write_bytes(b"\0")
    Path("ref/r3.rttm").write_text("")
    Path("ref/r0.rttm").write_text(";; nobody spoke\n")
    folder = read("ref", "rttm", "diarization")
    assert folder.frame["recording"].to_list() == ["r1", "r1", "r10", "r2"]
    assert folder.where(0) == "r1.rttm, line 1"


def test_the_hash_covers_all_files_in_order(there):
    first = sha256("ref")
    assert first == sha256("ref")
    Path("ref/.hidden").write_text("x")
    assert sha256("ref") == first
    Path("ref/r10.rttm").rename("ref/r3.rttm")
    renamed = sha256("ref")
    assert renamed != first
    Path("ref/r3.rttm").write_text(text_of([("r10", 2, 3.5, "a")]))
    assert sha256("ref") not in (first, renamed)


def spoil(name, text="x\n"):
    return lambda: Path("ref", name).write_text(text)


def emptied():
    for path in Path("ref").iterdir():
        path.unlink()


REFUSED = {
    "no file": (emptied, "ref: the folder is empty; expected .rttm or .uem files"),
    "others": (
        spoil("README"),
        "(gzipped or not): README does not.",
    ),
    "two formats": (spoil("all.uem"), "(gzipped or not): all.uem does not."),
    "a folder": (lambda: Path("ref/x.rttm").mkdir(), "(gzipped or not): x.rttm does not."),
    "twice": (spoil("r1.rttm.gz"), "ref: r1.rttm exists twice, gzipped and not: leave one out"),
    "line": (spoil("r3.rttm", "SPEAKER r3 1 0\n"), "ref/r3.rttm, line 1: 4 fields where 9 or 10"),
    "silent": (
        lambda: [path.write_text("\n") for path in Path("ref").iterdir()],
        "ref: all files of the folder are empty; expected segments of speakers",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_folders_that_are_refused(there, name):
    change, said = REFUSED[name]
    change()
    with pytest.raises(InputError) as caught:
        read("ref", None, "diarization")
    assert said in str(caught.value)


def test_folders_of_other_formats_are_refused(there):
    with pytest.raises(UsageError, match="Only a folder of rttm or uem files"):
        read("ref", "csv", "diarization")
    with pytest.raises(InputError, match="ref: this is a folder: name a file in it"):
        read("ref", None, "translation")


def test_a_folder_of_transcripts(there):
    Path("said").mkdir()
    for name, text in (("b", "one two (b-1)\n"), ("a", ";; c\nthree (a-1)\nfour (a-2)\n")):
        Path("said", f"{name}.trn").write_text(text)
    table = read("said", None, "transcripts")
    assert table.frame.rows() == [("a-1", "three"), ("a-2", "four"), ("b-1", "one two")]
    assert table.where(1) == "a.trn, line 3"


def test_folders_are_scored_as_files_are(there, capsys):
    plain = values("diarization score ref.rttm hyp.rttm", capsys)
    assert values("diarization score ref/ hyp/", capsys) == plain
    assert values("diarization score ref.rttm hyp", capsys) == plain
    result = json.loads(run("diarization score ref/ hyp/ --json", capsys)[1])
    assert [entry["sha256"] for entry in result["inputs"]] == [sha256("hyp"), sha256("ref")]
    Path("uems").mkdir()
    for recording, *_ in REFERENCE:
        Path("uems", f"{recording}.uem").write_text(f"{recording} 1 0 30\n")
    assert values("diarization score ref/ hyp/ --uem uems", capsys)["der"] == plain["der"]


def test_a_silent_output_in_a_folder(there, capsys):
    Path("hyp/r2.rttm").write_text("")
    code, _, err = run("diarization score ref hyp", capsys)
    assert code == 3
    assert "hyp: 1 recording of ref without output: r2; add them, or use --missing" in err
    for path in Path("hyp").iterdir():
        path.write_text("")
    assert values("diarization score ref hyp --missing worst", capsys)["der"] == 1


COLUMNS = "recording=file,speaker=who,start=begin,end=stop"


def test_tables_of_other_columns(there, capsys):
    plain = values("diarization score ref.rttm hyp.rttm", capsys)
    assert values(f"diarization score ref.csv hyp.csv --map {COLUMNS}", capsys) == plain
    assert values(f"diarization score ref.rttm hyp.csv --map {COLUMNS}", capsys) == plain
    line = f"diarization score ref.csv hyp.rttm --reference-map {COLUMNS}"
    assert values(line, capsys) == plain
    code, out, _ = run(f"diarization validate hyp.csv --map {COLUMNS}", capsys)
    assert (code, "4 rows read" in out) == (0, True)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("score ref.csv hyp.csv", 2, "no column 'recording' for the recording"),
        ("score ref.rttm hyp.rttm --map recording=file", 2, "hyp.rttm is rttm"),
        (
            "score ref.csv hyp.csv --map id=file",
            2,
            "--map id=... is not known: map one of recording",
        ),
        ("score ref.csv hyp.csv --reference-map unit=file", 2, "(units belong to --map)"),
        ("score ref.rttm all.uem", 3, "all.uem: is a uem, regions that are scored"),
        ("score all.uem hyp.rttm", 3, "all.uem: is a uem, regions that are scored"),
        ("score ref.rttm hyp.rttm --uem all.uem", 3, "all.uem: names no recording of ref.rttm"),
        ("validate all.uem", 3, "all.uem: is a uem, regions that are scored"),
        ("validate hyp.csv", 3, "no column 'recording' for the recording"),
    ],
)
def test_what_is_refused_is_explained(there, capsys, line, code, said):
    Path("all.uem").write_text("r1.wav 1 0 10\n")
    found, out, err = run(f"diarization {line}", capsys)
    assert found == code
    assert said in out + err


def test_what_is_said_of_all_systems_is_said_once(there, capsys):
    Path("other.rttm").write_text(text_of([*OUTPUT, ("r2", 30, 0, "z")]))
    line = "diarization compare ref.rttm hyp.rttm other.rttm --measure speech_error --json"
    problems = [p["message"] for p in json.loads(run(line, capsys)[1])["problems"]]
    [said] = [text for text in problems if "without a UEM" in text]
    assert said.startswith("without a UEM")
    assert "other: 1 segment of other.rttm has no length: left out" in problems
