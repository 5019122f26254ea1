"""`truecost terms leaderboard`: a folder of submissions, ranked with paired intervals."""

import json
import shlex

import pytest

import searched
from described import of_type
from truecost import cli

REFERENCE, FAST = searched.REFERENCE, searched.FAST
NIST = "--preset nist-std-2006"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A reference and a folder of submissions, where we are."""
    monkeypatch.chdir(tmp_path)
    return searched.written(tmp_path)


@pytest.fixture
def run(folder, capsys):
    """Run a command: exit code, standard output, standard error."""

    def call(line):
        code = cli.run(shlex.split(line))
        return (code, *capsys.readouterr())

    return call


def board(run, more="", what="submissions/"):
    """The standings, by system."""
    code, out, err = run(f"terms leaderboard {REFERENCE} {what} {NIST} {FAST} --json {more}")
    assert code == 0, err
    return {line["system"]: line for line in json.loads(out)["leaderboard"]}


def test_as_written(run, folder):
    code, out, err = run(
        f"terms leaderboard --ecf e.ecf.xml --rttm r.rttm --kwlist t.kwlist.xml submissions/ "
        f"-o board/ {NIST}"
    )
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].split()[:4] == ["rank", "place", "system", "atwv"]
    assert [line.split()[2] for line in lines[1:4]] == ["good", "fair", "poor"]
    assert all(line.startswith(("(1) unadjusted", "columns left out, ")) for line in lines[4:])
    assert {p.name for p in (folder / "board").iterdir()} == {"result.json", "report.html"}
    stored = json.loads((folder / "board/result.json").read_text())
    assert [s["system"] for s in of_type(stored, "search")] == ["good", "fair", "poor"]
    assert [line["system"] for line in stored["leaderboard"]] == ["good", "fair", "poor"]


def test_other_measures_that_are_asked_for_stand_beside_the_first(run, monkeypatch):
    line = (
        f"terms leaderboard {REFERENCE} submissions/ {NIST} {FAST} --measure atwv,p_miss,p_fa,stwv"
    )
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = run(line)
    assert code == 0, err
    head, first, *_ = out.splitlines()
    assert head.split()[-3:] == ["p_miss", "p_fa", "stwv"]
    missed = first.split()[-3]
    assert missed.endswith("%")
    assert 0 < float(missed.removesuffix("%")) < 100
    assert "further measures" not in err
    monkeypatch.setenv("COLUMNS", "90")
    code, out, err = run(line)
    assert out.splitlines()[0].endswith("may be best  from first  from first CI")
    assert out.splitlines()[-1].startswith(
        "columns left out, because the terminal is too narrow: p_miss, "
    )
    assert max(map(len, out.splitlines())) <= 90


def test_measures_that_nobody_asked_for_are_pointed_at(run):
    line = f"terms leaderboard {REFERENCE} submissions/ {NIST} {FAST} -o board"
    assert "more): in the report\n" in run(line)[2]


def test_what_all_share_ranks_nothing(run):
    line = f"terms leaderboard {REFERENCE} submissions/ {NIST} {FAST} --measure"
    code, out, err = run(f"{line} n_targets,atwv")
    assert (code, out) == (2, "")
    assert "n_targets is equal for all submissions by definition: put another" in err
    assert run(f"{line} atwv,n_targets")[0] == 0


def test_ranks_respect_paired_intervals(run, folder):
    (folder / "submissions/again.kwslist.xml").write_bytes(
        (folder / "submissions/good.kwslist.xml").read_bytes()
    )
    found = board(run, "--method percentile")
    assert [(name, line["rank"]) for name, line in found.items()] == [
        *(("again", 1), ("good", 1), ("fair", 1), ("poor", 4))  # 9 units tell little of fair
    ]
    assert [line["may_be_best"] for line in found.values()] == [True, True, True, False]
    assert found["good"]["difference"] == 0
    assert found["poor"]["verdict"] == "worse"


def test_another_measure_ranks(run):
    found = board(run, "--measure n_false_alarms,atwv")
    assert next(iter(found.values()))["measure"] == "n_false_alarms"


def test_the_standings_are_those_of_a_comparison(run):
    found = board(run, "--measure atwv")
    code, out, _ = run(
        f"terms compare {REFERENCE} submissions/good.kwslist.xml submissions/fair.kwslist.xml "
        f"{NIST} {FAST} --measure atwv --json"
    )
    assert code == 0
    [row] = [r for r in json.loads(out)["rows"] if r["kind"] == "difference"]
    line = found["fair"]
    assert (row["value"], row["lower"], row["upper"]) == (
        *(line["difference"], line["difference_lower"], line["difference_upper"]),
    )


def test_the_order_of_files_does_not_matter(run):
    names = [f"submissions/{name}.kwslist.xml" for name in ("poor", "good", "fair")]
    assert board(run, what=" ".join(names)) == board(run)


def test_folders_in_folders_and_hidden_files(run, folder):
    team = folder / "submissions" / "team"
    team.mkdir()
    (team / "good.kwslist.xml").write_bytes((folder / "s.kwslist.xml").read_bytes())
    (folder / "submissions" / ".DS_Store").write_text("?")
    assert set(board(run)) == {"submissions/good", "team/good", "fair", "poor"}


def test_invalid_submissions_are_named_together(run, folder):
    text = (folder / "s.kwslist.xml").read_text()
    (folder / "submissions/broken.kwslist.xml").write_text(text[:500])
    (folder / "submissions/foreign.kwslist.xml").write_text(text.replace("K03", "K33"))
    code, out, err = run(f"terms leaderboard {REFERENCE} submissions {NIST} {FAST} -o board")
    assert (code, out) == (3, "")
    assert "2 of 5 submissions cannot be scored (--keep-going leaves them out)" in err
    assert "broken.kwslist.xml, line" in err
    assert "K33 (line" in err
    assert not (folder / "board").exists()
    code, out, err = run(
        f"terms leaderboard {REFERENCE} submissions {NIST} {FAST} -o board --keep-going"
    )
    assert code == 0
    assert "left out: submissions/broken.kwslist.xml" in err
    assert sum(not line.startswith(("(", "columns left out, ")) for line in out.splitlines()) == 4


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ("s.kwslist.xml", 2, "at least two submissions"),
        ("hollow", 3, "there are no files in this folder"),
        ("none", 3, "none: there is no such file"),
        ("", 2, "at least two submissions"),
    ],
)
def test_misuse(run, folder, files, code, said):
    (folder / "hollow").mkdir()
    found, out, err = run(f"terms leaderboard {REFERENCE} {files} {NIST} {FAST}")
    assert (found, out) == (code, ""), err
    assert said in err


def test_what_submissions_took_stands_beside_their_values(run, folder):
    assert run("resources -o i.json -- true")[0] == 0
    code, out, err = run(
        f"terms leaderboard {REFERENCE} submissions {NIST} {FAST} --indexing good=i.json --json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert [load["system"] for load in of_type(found, "load")] == ["good"]
    assert [r["dims"]["system"] for r in found["rows"] if r["measure"] == "isf"] == ["good"]
