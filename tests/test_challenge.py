"""`leaderboard bundle`: what Codabench unpacks, and a scoring program that runs.

The rules of version 2 of its bundles, as `src/apps/competitions/unpackers/v2.py` and
`base_unpacker.py` of codalab/codabench have them, stand in `unpacked`.
"""

import hashlib
import io
import itertools
import json
import subprocess
import sys
import zipfile
from datetime import date
from importlib.resources import files

import polars as pl
import pytest
import yaml

from truecost import cli
from truecost.study.bundle import bundle
from truecost.study.config import Study
from truecost.study.options import ChallengeTable

DEMO = files("truecost") / "data" / "demo"
RULES = """
measures = ["act_dcf", "eer"]
[application]
prior = 0.05
[data]
type = "llr"
map = { id = "trial", unit = "speaker" }
[interval]
replicates = 50
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = pl.read_csv(DEMO / "network.csv")
    scores.select("trial", "speaker", "label").write_csv("key.csv")
    scores.select("trial").write_csv("trials.csv")
    scores.select("trial", "score").write_csv("network.csv")
    (tmp_path / "study.toml").write_text(RULES)
    return tmp_path


def unpacked(place):
    """A bundle as Codabench unpacks it: every rule that it states is held against it."""
    found = {p.relative_to(place).as_posix(): p for p in place.rglob("*") if p.is_file()}
    assert "competition.yaml" in found  # at the root
    said = yaml.safe_load(found["competition.yaml"].read_text())
    assert str(said["version"]) == "2"
    assert said["title"]
    assert found[said["image"]].read_bytes().startswith((b"\x89PNG", b"\xff\xd8", b"GIF8"))
    assert found[said["terms"]].read_text()
    for page in said["pages"]:
        assert page["title"]
        assert found[page["file"]].read_text()
    tasks = {}
    for task in said["tasks"]:
        assert task["index"] not in tasks
        assert zipfile.is_zipfile(found[task["scoring_program"]])
        assert zipfile.is_zipfile(found[task["reference_data"]])
        tasks[task["index"]] = task
    for solution in said.get("solutions", ()):
        assert {*solution["tasks"]} <= {*tasks}
        assert zipfile.is_zipfile(found[solution["path"]])
    phases = sorted(said["phases"], key=lambda phase: phase["index"])
    for phase in phases:
        assert phase["tasks"]
        assert {*phase["tasks"]} <= {*tasks}
        assert zipfile.is_zipfile(found[phase["public_data"]])
        start, end = (phase.get(key) and date.fromisoformat(phase[key]) for key in ("start", "end"))
        assert end is None or start < end
    for one, other in itertools.pairwise(phases):
        assert one["end"] < other["start"]  # in sequence
    for board in said["leaderboards"]:
        assert board["title"]
        assert board["key"]
        assert [column["index"] for column in board["columns"]] == [*range(len(board["columns"]))]
        keys = [column["key"] for column in board["columns"]]
        assert len(keys) == len({*keys})
        assert {column["sorting"] for column in board["columns"]} <= {"asc", "desc"}
        assert all(column["title"] for column in board["columns"])
    return said, tasks[0]


def test_a_bundle_is_unpacked_and_its_scoring_program_scores(folder):
    command = "leaderboard bundle study.toml --key key.csv --public trials.csv -o b.zip --quiet"
    assert cli.run(command.split()) == 0
    place = folder / "b"
    zipfile.ZipFile("b.zip").extractall(place)
    said, task = unpacked(place)
    assert said["title"] == "Trials"
    public = zipfile.ZipFile(place / said["phases"][0]["public_data"])
    assert {*public.namelist()} == {"study.toml", "trials.csv"}
    assert "key" not in public.read("study.toml").decode()

    app = folder / "app"  # as the compute worker lays it out
    zipfile.ZipFile(place / task["scoring_program"]).extractall(app / "program")
    zipfile.ZipFile(place / task["reference_data"]).extractall(app / "input" / "ref")
    (app / "input" / "res").mkdir()
    (app / "input" / "res" / "mine.csv").write_bytes((folder / "network.csv").read_bytes())
    command = yaml.safe_load((app / "program" / "metadata.yaml").read_text())["command"]
    interpreter, *words = command.replace("/app/", f"{app}/").split()
    assert interpreter == "python3"
    done = subprocess.run(
        [sys.executable, *words], cwd=app / "program", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    scores = json.loads((app / "output" / "scores.json").read_text())
    assert {c["key"] for c in said["leaderboards"][0]["columns"]} == {*scores}
    assert scores["act_dcf"] == pytest.approx(0.509744019237419)
    assert (app / "output" / "detailed_results.html").exists()
    assert said["enable_detailed_results"] is True


def test_the_check_that_the_overview_tells_refuses_a_short_file(folder, monkeypatch, capsys):
    line = "leaderboard bundle study.toml --key key.csv --public trials.csv -o b.zip --quiet"
    assert cli.run(line.split()) == 0
    zipfile.ZipFile("b.zip").extractall(folder / "b")
    zipfile.ZipFile(folder / "b" / "public_data.zip").extractall(folder / "team")
    text = (folder / "b" / "overview.md").read_text()
    rules = (folder / "team" / "study.toml").read_bytes()
    assert f"    {hashlib.sha256(rules).hexdigest()}\n" in text
    [told] = [line.strip() for line in text.splitlines() if " validate " in line]
    assert told == "truecost validate FILE --trials trials.csv --config study.toml"
    scores = pl.read_csv("network.csv")
    monkeypatch.chdir(folder / "team")
    scores.write_csv("whole.csv")
    scores[: len(scores) // 4].write_csv("short.csv")
    assert cli.run(told.replace("FILE", "whole.csv").split()[1:]) == 0
    assert cli.run(told.replace("FILE", "short.csv").split()[1:]) == 3
    assert "1455 trials of the list trials.csv without a score" in capsys.readouterr().out


def test_a_repeated_id_hides_no_other_fault(folder, capsys):
    scores = pl.read_csv("network.csv")
    foreign = pl.DataFrame({"trial": ["nobody"], "score": [1.0]})
    bad = pl.concat([scores[:-25], scores[:1], foreign])
    bad.with_columns(
        pl.when(pl.col("trial") == scores["trial"][5]).then(None).otherwise("score").alias("score")
    ).write_csv("bad.csv")
    assert cli.run(["validate", "bad.csv", "--trials", "trials.csv", "--config", "study.toml"]) == 3
    out = capsys.readouterr().out
    assert f"1 id occurs more than once: {scores['trial'][0]}" in out
    assert "1 id not in the list trials.csv: nobody" in out
    assert "25 trials of the list trials.csv without a score" in out
    assert "1 score is missing or NaN" in out
    assert out.count("error: bad.csv") == 4


def parted(folder):
    """A key with a column of two parts, a second submission, and the key of one part."""
    key = pl.read_csv("key.csv")
    codes = pl.Series([int(s[:2], 16) % 2 if s[:1].isalnum() else 0 for s in key["speaker"]])
    part = codes.replace_strict({0: "public", 1: "private"})
    key.with_columns(part=part).write_csv("key.csv")
    key.filter(part == "public").write_csv("key_public.csv")
    pl.read_csv("network.csv").with_columns(pl.col("score") - 2).write_csv("low.csv")
    study = f"{RULES}[subsets]\npublic = \"part = 'public'\"\nprivate = \"part = 'private'\"\n"
    (folder / "parts.toml").write_text(study)


def test_parts_stand_below_the_board_and_have_no_rank(folder, capsys):
    parted(folder)
    files = "leaderboard network.csv low.csv --key key.csv --seed 1 --config"
    assert cli.run([*files.split(), "parts.toml"]) == 0
    out, err = capsys.readouterr()
    board, below, *_ = out.split("\n\n")
    assert board.split("\n")[0].split()[:3] == ["rank", "place", "system"]
    assert below.count("public") == below.count("private") == 2
    assert "ranks are for all trials; the tables of subsets" in err
    assert cli.run([*files.split(), "study.toml"]) == 0
    assert board == capsys.readouterr().out.rstrip("\n")  # subsets change no rank


def test_the_table_of_a_stored_board_is_that_of_the_board(folder, capsys):
    parted(folder)
    line = "leaderboard network.csv low.csv --key key.csv --config parts.toml -q -o out --table"
    assert cli.run([*line.split(), "a.tex"]) == 0
    assert cli.run(["report", "out", "--table", "b.tex"]) == 0
    assert "rank" in (folder / "a.tex").read_text()
    assert (folder / "b.tex").read_text() == (folder / "a.tex").read_text()
    assert cli.run(["report", "out", "--table", "b.csv"]) == 0
    assert {"rank", "place_lower"} <= {*pl.read_csv("b.csv").columns}


def test_a_key_of_a_part_names_the_way(folder, capsys):
    parted(folder)
    line = "leaderboard network.csv low.csv --config study.toml --key key_public.csv"
    assert cli.run(line.split()) == 3
    assert (
        "if the key covers a part of the trials only, give the whole key" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "line",
    [
        "validate mine.zip --trials trials.csv --config study.toml",
        "leaderboard mine.zip network.csv --key key.csv --config study.toml",
        "score --codabench input output",
        "terms validate --kwlist mine.zip --ecf mine.zip mine.zip",
        "transcripts score mine.zip mine.zip",
    ],
)
def test_a_zipped_submission_is_called_one_and_what_lies_in_it(folder, capsys, line):
    for part in ("ref", "res"):
        (folder / "input" / part).mkdir(parents=True)
    for name in ("key.csv", "study.toml"):
        (folder / "input" / "ref" / name).write_bytes((folder / name).read_bytes())
    for place in ("mine.zip", "input/res/mine.zip"):
        with zipfile.ZipFile(place, "w") as archive:
            archive.write("network.csv", "team/scores.csv")
            archive.writestr("__MACOSX/team/._scores.csv", "x")
    assert cli.run(line.split()) == 3
    said = "mine.zip: this is a zip archive with team/scores.csv: unpack it"
    assert said in "".join(capsys.readouterr())
    assert not (folder / "output").exists()


def test_a_folder_that_is_one_submission_says_so(folder, capsys):
    (folder / "subs").mkdir()
    assert cli.run(["transcripts", "leaderboard", "key.csv", "subs/"]) == 2
    said = "at least two submissions; the folder subs/ counts as one: give its files, subs/*"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("task", ["terms", "streams"])
def test_a_task_without_a_reference_in_one_file_is_refused_first(folder, capsys, task):
    (folder / "study.toml").write_text(f'task = "{task}"\n')
    assert cli.run(["leaderboard", "bundle", "study.toml", "--key", "key.csv", "-o", "b.zip"]) == 2
    err = capsys.readouterr().err
    assert f"task {task}: Codabench scores one file against a key or reference" in err
    assert f"truecost {task} leaderboard --config study.toml submissions/*" in err
    assert not (folder / "b.zip").exists()


def test_equal_studies_make_equal_bytes(folder):
    study, wishes = Study.read("study.toml"), ChallengeTable(key="key.csv")
    assert bundle(study, wishes) == bundle(study, wishes)
    with zipfile.ZipFile(io.BytesIO(bundle(study, wishes))) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_wishes_are_in_the_bundle(folder):
    for name in ("rules.md", "data.html", "logo.jpg"):
        (folder / name).write_bytes(b"\xff\xd8 text")
    words = "--key key.csv --title Yes! --terms rules.md --page data.html --image logo.jpg"
    words += " --start 2027-01-01 --end 2027-02-01 --per-day 2 --docker-image me/it:1"
    words += " --sample network.csv -o b.zip -q"
    assert cli.run(["leaderboard", "bundle", "study.toml", *words.split()]) == 0
    zipfile.ZipFile("b.zip").extractall(folder / "b")
    # the pages are bytes of a picture here: only their names are looked at
    said = yaml.safe_load((folder / "b" / "competition.yaml").read_text())
    assert (said["title"], said["terms"], said["image"]) == ("Yes!", "rules.md", "logo.jpg")
    assert [page["file"] for page in said["pages"]] == ["overview.md", "evaluation.md", "data.html"]
    [phase] = said["phases"]
    assert (phase["start"], phase["end"]) == ("2027-01-01", "2027-02-01")
    assert phase["max_submissions_per_day"] == 2
    assert said["docker_image"] == "me/it:1"
    assert said["solutions"] == [
        {"index": 0, "name": "Sample", "tasks": [0], "path": "sample_submission.zip"}
    ]
    titles = [c["title"] for c in said["leaderboards"][0]["columns"]]
    assert titles[:4] == ["act_dcf", "act_dcf lower", "act_dcf upper", "eer:rocch"]


def test_a_task_with_a_reference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref.trn").write_text("a b c (u1)\nd e (u2)\n")
    (tmp_path / "study.toml").write_text('task = "transcripts"\nmeasures = ["wer"]\n')
    words = "leaderboard bundle study.toml --key ref.trn -o b.zip -q"
    assert cli.run(words.split()) == 0
    zipfile.ZipFile("b.zip").extractall(tmp_path / "b")
    _said, task = unpacked(tmp_path / "b")
    ref = zipfile.ZipFile(tmp_path / "b" / task["reference_data"])
    assert 'reference = [\n    "ref.trn",\n]' in ref.read("study.toml").decode()
    program = zipfile.ZipFile(tmp_path / "b" / task["scoring_program"])
    assert program.read("requirements.txt").decode().split()[1] == "rapidfuzz"
    assert "truecost transcripts validate FILE" in (tmp_path / "b" / "overview.md").read_text()


def test_wishes_stand_in_the_study_too(folder, capsys):
    table = (
        '[challenge]\nkey = "key.csv"\npublic = ["trials.csv"]\nper_day = 3\nend = "2027-02-01"\n'
    )
    (folder / "study.toml").write_text(RULES + table)
    flags = "--key key.csv --public trials.csv --end 2027-02-01 --title Mine --per-day"
    assert cli.run(["leaderboard", "bundle", "study.toml", "--title=Mine", "-oa.zip", "-q"]) == 0
    for study, name, per_day in ((RULES + table, "b.zip", "3"), (RULES, "c.zip", "4")):
        (folder / "study.toml").write_text(study)
        words = [*flags.split(), per_day, "-o", name, "-q"]
        assert cli.run(["leaderboard", "bundle", "study.toml", *words]) == 0
    same, flagged, other = ((folder / f"{name}.zip").read_bytes() for name in "abc")
    assert same == flagged != other  # a flag lies over the study
    public = zipfile.ZipFile(io.BytesIO(zipfile.ZipFile("a.zip").read("public_data.zip")))
    assert "challenge" not in public.read("study.toml").decode()
    (folder / "study.toml").write_text(f'{RULES}{table}start = "2028-01-01"\n')
    assert cli.run(["leaderboard", "bundle", "study.toml", "-o", "d.zip"]) == 2
    assert "[challenge] end is 2027-02-01: give a day after" in capsys.readouterr().err


REFUSED = {
    "no key": ("", 2, "the study names no key or reference: add --key FILE"),
    "no file": ("--key nothing.csv", 3, "nothing.csv: there is no such file or folder"),
    "device": ("--key key.csv --public /dev/zero", 3, "/dev/zero: this is a device; give a file"),
    "day": ("--key key.csv --start tomorrow", 2, "--start is 'tomorrow': give a day such as"),
    "order": ("--key key.csv --end 2019-01-01", 2, "--end is 2019-01-01: give a day after the"),
    "image": ("--key key.csv --image key.csv", 2, "--image key.csv: name a file that ends in .png"),
    "empty": ("--key key.csv --terms empty.md", 3, "empty.md: the file is empty, which Codabench"),
    "twice": ("--key key.csv --public sub/study.toml", 2, "has a file 'study.toml' already"),
    "number": ("--key key.csv --per-day 0", 2, "--per-day is 0: give a number at least 1"),
    "sample": ("--key key.csv --sample trials.csv", 2, "trials.csv with key.csv: no column gives"),
    "page": ("--key key.csv --page sub/terms.md", 2, "the bundle has a terms.md already"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_codabench_would_refuse_is_refused_here(folder, capsys, case):
    (folder / "sub").mkdir()
    for name in ("empty.md", "sub/study.toml"):
        (folder / name).touch()
    (folder / "sub" / "terms.md").write_text("x")
    words, code, said = REFUSED[case]
    line = ["leaderboard", "bundle", "study.toml", *words.split(), "-o", "b.zip"]
    assert cli.run(line) == code
    assert said in capsys.readouterr().err
    assert not (folder / "b.zip").exists()


def test_a_bundle_is_an_archive(folder, capsys):
    line = ["leaderboard", "bundle", "study.toml", "--key", "key.csv", "-o", "bundle"]
    assert cli.run(line) == 2
    assert "bundle: a bundle is one archive: name a file that ends in .zip" in (
        capsys.readouterr().err
    )
