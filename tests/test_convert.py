"""`convert` and the writers: there and back gives the same table, and nothing is lost unsaid."""

import gzip
import itertools
import json
import os

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.formats import Table, read, write
from truecost.formats.trial_lists import LAYOUTS
from truecost.formats.writers import encode
from truecost.names import FORMATS

GENERAL = ("csv", "tsv", "parquet", "ndjson", "npz", "npy")
NUMBERS = itertools.count()
WORDS = {"1": "target", "0": "nontarget", "target": "target", "nontarget": "nontarget"}


def content(table):
    """What a table says: texts by column, scores as numbers, labels as target and nontarget."""
    found = {}
    for name in table.columns:
        if name == "score":
            found[name] = table.numbers(name, name).tolist()
        elif name == "label":
            found[name] = [WORDS.get(t, t) for t in table.texts(name, name)]
        else:
            found[name] = table.texts(name, name).to_list()
    return found


def carried(table, kind, folder):
    """The table after it was written in a format and read again."""
    path = str(folder / f"{next(NUMBERS)}.x")
    write(table, path, kind)
    return read(path, kind)


NAMES = st.text(st.sampled_from("abé01.#\"',;{-"), min_size=1, max_size=5)
LARGEST = 1e70  # what is read
SCORES = st.floats(-LARGEST, LARGEST).map(repr) | st.sampled_from(["0.50", "-1e-3", "007", "nan"])


@st.composite
def trial_tables(draw):
    """Trials with every column that a layout may have, as text."""
    rows = draw(
        st.lists(
            st.tuples(NAMES, NAMES, SCORES, st.sampled_from(["target", "nontarget"]), NAMES),
            min_size=1,
            max_size=6,
        )
    )
    frame = pl.DataFrame(rows, schema=["enroll", "test", "score", "label", "side"], orient="row")
    return Table("drawn", frame)


@st.composite
def layouts(draw):
    """A list of trials as it is read from one layout."""
    kind = draw(st.sampled_from([k for k in LAYOUTS if k != "utt2spk"] + ["nist-sre"]))
    table = draw(trial_tables())
    if kind == "nist-sre":
        frame = table.frame.rename({"enroll": "modelid", "test": "segmentid"})
        table = Table("drawn", frame, kind="llr")
    return kind, table


@given(drawn=layouts(), through=st.lists(st.sampled_from(GENERAL), min_size=1, max_size=3))
def test_trials_there_and_back(tmp_path_factory, drawn, through):
    """From each layout through any chain of general formats, and back to the layout."""
    kind, table = drawn
    folder = tmp_path_factory.getbasetemp()
    first = carried(table, kind, folder)
    again = first
    for step in through:
        again = carried(again, step, folder)
    assert sorted(again.columns) == sorted(first.columns)
    np.testing.assert_equal(content(again), {n: content(first)[n] for n in again.columns})
    again = Table(again.source, again.frame, again.matrices, kind=first.kind)
    last = carried(again, kind, folder)
    np.testing.assert_equal(content(last), content(first))


SAME = [  # layouts that hold the same columns
    *itertools.permutations(["kaldi-trials", "voxceleb"], 2),
    *itertools.permutations(["speechbrain", "wespeaker"], 2),
]


@given(table=trial_tables(), pair=st.sampled_from(SAME))
def test_layouts_of_the_same_columns_there_and_back(tmp_path_factory, table, pair):
    folder = tmp_path_factory.getbasetemp()
    first = carried(table, pair[0], folder)
    there = carried(first, pair[1], folder)
    assert carried(there, pair[0], folder).frame.equals(first.frame)


TEXT_FORMATS = ("csv", "tsv", "speechbrain", "wespeaker")


@given(table=trial_tables(), path=st.lists(st.sampled_from(TEXT_FORMATS), min_size=2, max_size=4))
def test_numbers_keep_their_text_from_text_to_text(tmp_path_factory, table, path):
    folder = tmp_path_factory.getbasetemp()
    carried_ = table
    for kind in path:
        carried_ = carried(carried_, kind, folder)
    assert carried_.frame["score"].to_list() == table.frame["score"].to_list()


CELLS = {
    "text": st.text(st.sampled_from("ab,\"'\t\n é;0{"), max_size=5).map(
        lambda t: t.strip() or None
    ),
    "numerals": st.sampled_from(["007", "7", "-0", "1e5", "0.10", "0.1", "99999999999999999999"]),
    "whole": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "small": st.integers(-5, 5) | st.none(),
    "float": st.floats(-LARGEST, LARGEST)
    | st.sampled_from([float("nan"), float("inf")])
    | st.none(),
    "truth": st.booleans() | st.none(),
}


@given(
    data=st.data(),
    kinds=st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4),
    path=st.lists(st.sampled_from(GENERAL), min_size=1, max_size=3),
)
def test_any_columns_there_and_back(tmp_path_factory, data, kinds, path):
    """General formats keep every value of every column, as text says it."""
    folder = tmp_path_factory.getbasetemp()
    height = data.draw(st.integers(1, 4))
    odd = st.text(st.sampled_from("a,\"\té '#"), max_size=3).map(lambda t: f"{t}.")
    odd = odd if len(kinds) > 1 else st.just("")
    dtypes = {"whole": pl.Int64, "small": pl.Int64, "float": pl.Float64, "truth": pl.Boolean}
    columns = []
    for k, kind in enumerate(kinds):
        name = f"{kind} {k} {data.draw(odd)}".strip()
        cells = data.draw(st.lists(CELLS[kind], min_size=height, max_size=height))
        columns.append(pl.Series(name, cells, dtype=dtypes.get(kind, pl.String)))
    frame = pl.DataFrame(columns)
    table = Table("drawn", frame)
    expected, found = values(table), table
    for kind in path:
        found = carried(found, kind, folder)
    np.testing.assert_equal(values(found), expected)


def values(table):
    """Columns as texts, numbers that are written in two ways as numbers."""
    found = {}
    for name in sorted(table.columns):
        if name.startswith(("float", "truth")):
            found[name] = table.numbers(name, name).tolist()
        else:
            found[name] = table.texts(name, name).to_list()
    return found


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "ndjson"])
def test_a_matrix_becomes_columns_and_can_become_a_matrix_again(run, tmp_path, kind):
    np.savez("a.npz", scores=np.arange(6.0).reshape(3, 2) / 7)
    assert run("convert", "a.npz", "--output", f"a.{kind}") == 0
    assert read(f"a.{kind}").columns == ["scores_0", "scores_1"]
    there = ["convert", f"a.{kind}", "-o", "b.npz", "--map", "scores=scores_0+scores_1"]
    assert run(*there) == 0
    with np.load("a.npz") as a, np.load("b.npz") as b:
        assert b.files == ["scores"]
        np.testing.assert_array_equal(a["scores"], b["scores"])


def test_types_are_given_only_where_nothing_is_lost(tmp_path):
    frame = pl.DataFrame(
        {
            "id": ["007", "008"],
            "whole": ["7", "8"],
            "real": ["0.5", "2.25"],
            "mixed": ["0.50", "1"],
            "score": ["0.50", "1"],
            "label": ["1", "0"],
        }
    )
    write(Table("t", frame), str(tmp_path / "x.parquet"))
    found = pl.read_parquet(tmp_path / "x.parquet")
    assert dict(found.schema) == {
        "id": pl.String,
        "whole": pl.Int64,
        "real": pl.Float64,
        "mixed": pl.String,
        "score": pl.Float64,
        "label": pl.Int64,
    }
    write(Table("t", frame), str(tmp_path / "x.npz"))
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["score"].tolist() == [0.5, 1.0]
        assert arrays["id"].tolist() == ["007", "008"]


def test_decisions_stay_words(tmp_path):
    write(Table("t", pl.DataFrame({"score": ["cat", "dog"]})), str(tmp_path / "x.parquet"))
    assert read(str(tmp_path / "x.parquet")).texts("score", "score").to_list() == ["cat", "dog"]


@pytest.mark.parametrize("kind", FORMATS)
def test_equal_tables_give_equal_bytes(kind):
    frame = pl.DataFrame(
        {
            "id": ["a b c"],
            **{n: ["a"] for n in ("enroll", "test", "speaker", "modelid", "segmentid", "side")},
            "score": ["1"],
            "label": ["target"],
        }
    ).with_columns(id=pl.lit("a"))
    table = Table("t", frame, kind="llr")
    assert encode(table, kind) == encode(table, kind)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder: its exit code."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: cli.run(list(arguments))


LIST = "e1 t1 0.50 target\ne1 t2 -1 nontarget\n"


def test_the_command_as_it_is_written_in_the_manual(run, tmp_path, capfd):
    (tmp_path / "scores.txt").write_text("e1 t1 0.50\ne1 t2 -1\n")
    assert run("convert", "scores.txt", "--output", "scores.parquet") == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err == (
        "scores.txt: read as kaldi-scores: enroll test score; 2 rows, columns id, enroll, test, "
        "score\nscores.parquet: written as parquet\n"
    )
    assert pl.read_parquet("scores.parquet").rows() == [
        ("e1 t1", "e1", "t1", 0.5),
        ("e1 t2", "e1", "t2", -1.0),
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scores.parquet", "scores.txt"]


def test_what_has_no_place_is_said_and_quiet_says_nothing(run, tmp_path, capfd):
    (tmp_path / "a.txt").write_text(LIST)
    to = ["convert", "a.txt", "--output-format", "kaldi-scores"]
    assert run(*to, "-o", "b.txt") == 0
    assert "note: kaldi-scores has no place for the column label\n" in capfd.readouterr().err
    assert run(*to, "-o", "c.txt", "-q") == 0
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "c.txt").read_text() == "e1 t1 0.50\ne1 t2 -1\n"


def test_gzip_by_ending_has_no_time_in_it(run, tmp_path):
    (tmp_path / "a.txt").write_text(LIST)
    assert run("convert", "a.txt", "-o", "a.csv.gz") == 0
    packed = (tmp_path / "a.csv.gz").read_bytes()
    assert packed[4:8] == b"\0\0\0\0"
    assert gzip.decompress(packed).startswith(
        b"id,enroll,test,score,label\ne1 t1,e1,t1,0.50,target"
    )


def test_from_one_evaluation_to_another(run, tmp_path, capfd):
    """A list of scores as NIST wants it; its score type must be stated and then is known."""
    (tmp_path / "a.csv").write_text("model,seg,ch,s\nm1,s1,a,0.50\nm2,s1,b,-3\n")
    mapped = "modelid=model,segmentid=seg,side=ch,score=s"
    to = ["convert", "a.csv", "--map", mapped, "--output-format", "nist-sre", "-o", "b.tsv"]
    assert run(*to) == 2
    assert "use --type llr" in capfd.readouterr().err
    assert run(*to, "--type", "llr") == 0
    assert (tmp_path / "b.tsv").read_text() == (
        "modelid\tsegmentid\tside\tLLR\nm1\ts1\ta\t0.50\nm2\ts1\tb\t-3\n"
    )
    assert read("b.tsv").kind == "llr"
    assert run("convert", "b.tsv", "-o", "c.tsv", "--output-format", "nist-sre") == 0
    assert (tmp_path / "c.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    assert run("convert", "b.tsv", "-o", "d.csv", "--type", "llr") == 2
    assert "--type is for --output-format nist-sre" in capfd.readouterr().err
    to = ["convert", "b.tsv", "-o", "d.tsv", "--output-format", "nist-sre", "--type", "score"]
    assert run(*to) == 2
    assert "the scores are of type llr: leave out --type" in capfd.readouterr().err


def test_other_labels_become_target_and_nontarget(run, tmp_path, capfd):
    (tmp_path / "a.csv").write_text("utt,enroll,y\nt1,e1,genuine\nt2,e1,spoof\n")
    to = ["convert", "a.csv", "--map", "test=utt,label=y", "-o", "k", "--output-format",
          "kaldi-trials"]  # fmt: skip
    assert run(*to) == 3
    assert "2 labels cannot be written as kaldi-trials" in capfd.readouterr().err
    assert run(*to, "--target", "genuin") == 3
    assert "no trial has the label 'genuin'" in capfd.readouterr().err
    assert run(*to, "--target", "genuine") == 0
    assert (tmp_path / "k").read_text() == "e1 t1 target\ne1 t2 nontarget\n"


def test_names_are_mapped_all_at_once(run, tmp_path, capfd):
    """Two columns can change places, and one can serve twice; what makes way is said."""
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,3\n")
    assert run("convert", "a.csv", "-o", "b.csv", "--map", "a=b,b=a") == 0
    assert (tmp_path / "b.csv").read_text() == "b,a,c\n1,2,3\n"
    assert "made way" not in capfd.readouterr().err
    assert run("convert", "a.csv", "-o", "c.csv", "--map", "c=a,d=a") == 0
    assert (tmp_path / "c.csv").read_text() == "c,d,b\n1,1,2\n"
    assert "note: --map replaces c of a.csv\n" in capfd.readouterr().err


def test_standard_output(run, tmp_path, capfdbinary):
    (tmp_path / "a.txt").write_text(LIST)
    assert run("convert", "a.txt", "-o", "-", "--output-format", "kaldi-trials", "-q") == 0
    assert capfdbinary.readouterr() == (b"e1 t1 target\ne1 t2 nontarget\n", b"")
    assert run("convert", "a.txt", "-o", "-", "-q") == 0
    assert capfdbinary.readouterr().out.startswith(b"id,enroll,test,")  # csv unless told
    assert run("convert", "a.txt", "-o", "-", "--output-format", "npy", "-q") == 2
    assert (
        b"a folder of arrays cannot be written to standard output" in capfdbinary.readouterr().err
    )


def test_scores_alone_fit_in_one_array(run, tmp_path, capfd):
    (tmp_path / "a.txt").write_text(LIST)
    assert run("convert", "a.txt", "-o", "a.npy") == 0
    assert np.load("a.npy").tolist() == [0.5, -1.0]
    assert "no place for the columns id, enroll, test, label" in capfd.readouterr().err


def test_force_replaces_a_file_or_a_folder_of_arrays(run, tmp_path):
    (tmp_path / "a.txt").write_text(LIST)
    for target, kind in (("b.txt", "wespeaker"), ("folder", "npy")):
        to = ["convert", "a.txt", "-o", target, "--output-format", kind]
        assert run(*to) == 0
        assert run(*to) == 2
        assert run(*to, "--force") == 0
    assert (tmp_path / "b.txt").read_text() == LIST
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"a.txt", "b.txt", "folder"}
    assert {p.stem for p in (tmp_path / "folder").iterdir()} == {
        *("id", "enroll", "test", "score", "label")
    }


WRONG = {  # arguments, exit code, what is said
    "no format": (
        ["-o", "b.dat"],
        2,
        "b.dat: the ending names a format, but no output format ends in .dat: write "
        f"b.csv, for example, or choose with --output-format from {', '.join(FORMATS)}",
    ),
    "an unknown format": (
        ["-o", "b", "--output-format", "xls"],
        2,
        "output format 'xls' is not known: choose one of csv,",
    ),
    "the input": (["-o", "a.txt", "--force", "--output-format", "csv"], 2, "the input file"),
    "the input by a link": (
        ["-o", "link", "--force", "--output-format", "csv"],
        2,
        "link: this is the input file: write to another file",
    ),
    "something there": (
        ["-o", "there.csv"],
        2,
        "there.csv: the file exists: choose another name, or replace it with --force",
    ),
    "a folder of other things": (
        ["-o", "sub", "--output-format", "npy", "--force"],
        2,
        "sub: the folder contains other files than .npy: choose another name",
    ),
    "a file for a folder": (["-o", "a.txt/b.csv"], 3, "a.txt is not a folder)"),
    "a folder that is gzipped": (
        ["-o", "b.gz", "--output-format", "npy"],
        2,
        "b.gz: a folder of arrays is not a single file: write an .npz file",
    ),
    "columns that are missing": (
        ["-o", "b", "--output-format", "utt2spk"],
        2,
        "a.txt: utt2spk needs the column speaker; the columns are id, enroll, test, score, label: "
        "name it with --map speaker=COLUMN",
    ),
    "several columns that are missing": (
        ["-o", "b", "--output-format", "nist-sre"],
        2,
        "a.txt: nist-sre needs the columns modelid, segmentid, side; the columns are id, enroll, "
        "test, score, label: name them with --map modelid=COLUMN,segmentid=COLUMN,side=COLUMN",
    ),
    "blanks in a name": (
        ["-o", "b", "--output-format", "kaldi-scores", "--map", "enroll=id"],
        3,
        "a.txt: 2 values of 'enroll' cannot be written as kaldi-scores, whose fields are separated "
        "by blanks: 'e1 t1' at line 1, 'e1 t2' at line 2",
    ),
    "a column that is not there": (
        ["-o", "b.csv", "--map", "score=llr"],
        2,
        "a.txt: there is no column 'llr' for the score",
    ),
    "no file": (["-o", "b.csv", "--input-format", "voxceleb"], 3, "a.txt, line 1: 4 fields where"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_writes_nothing(run, tmp_path, capfd, name):
    arguments, code, said = WRONG[name]
    (tmp_path / "a.txt").write_text(LIST)
    (tmp_path / "there.csv").write_text("x\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "thesis.tex").write_text("text")
    (tmp_path / "link").hardlink_to(tmp_path / "a.txt")
    before = {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")}
    assert run("convert", "a.txt", *arguments) == code
    assert said in capfd.readouterr().err
    assert {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")} == before


def test_nothing_half_written_when_writing_fails(run, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(LIST)
    (tmp_path / "b.csv").write_text("before\n")

    def full(place, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(InputError, match=r"b\.csv: cannot be written \(No space left on device\)"):
        write(read("a.txt"), "b.csv", force=True)
    assert (tmp_path / "b.csv").read_text() == "before\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "b.csv"]


def test_a_folder_comes_back_when_it_cannot_be_replaced(run, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(LIST)
    write(read("a.txt"), "folder", "npy")
    before = {p.name: p.read_bytes() for p in (tmp_path / "folder").iterdir()}
    move = type(tmp_path).rename

    def busy(place, target):
        if place.parent.name == "new":
            raise OSError(16, "Device or resource busy")
        return move(place, target)

    monkeypatch.setattr("pathlib.Path.rename", busy)
    with pytest.raises(InputError, match=r"folder: cannot be written \(Device or resource busy\)"):
        write(read("a.txt"), "folder", "npy", force=True)
    assert {p.name: p.read_bytes() for p in (tmp_path / "folder").iterdir()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "folder"]


def test_links_stay_links_and_pipes_stay_pipes(run, tmp_path):
    (tmp_path / "a.txt").write_text(LIST)
    (tmp_path / "real.csv").write_text("before\n")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert run("convert", "a.txt", "-o", "link.csv") == 2
    assert run("convert", "a.txt", "-o", "link.csv", "--force") == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("id,enroll")
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run("convert", "a.txt", "-o", "pipe", "--output-format", "wespeaker") == 0
    assert os.read(end, 1000).decode() == LIST
    os.close(end)
    assert (tmp_path / "pipe").is_fifo()


def test_values_that_a_format_cannot_hold():
    nested = Table("n", pl.DataFrame({"id": ["a"], "p": [[0.1, 0.2]]}))
    for kind in ("csv", "npz"):
        with pytest.raises(
            InputError, match=r"n: column 'p' is of type List\(Float64\), which a text"
        ):
            encode(nested, kind)
    assert json.loads(encode(nested, "ndjson").content)["p"] == [0.1, 0.2]
    slash = Table("n", pl.DataFrame({"a/b": ["a"]}))
    with pytest.raises(
        InputError, match=r"1 column cannot be names of files \('a/b'\); write an .npz file"
    ):
        encode(slash, "npy")
    clash = Table("n", pl.DataFrame({"s_0": ["a"]}), {"s": np.zeros((1, 2))})
    with pytest.raises(InputError, match="n: two columns would get the name s_0"):
        encode(clash, "csv")
    partition = pl.DataFrame(
        {n: ["a"] for n in ("modelid", "segmentid", "side", "label", "targettype")}
    )
    with pytest.raises(
        UsageError, match="n: targettype has the name that the score or the label gets"
    ):
        encode(Table("n", partition), "nist-sre")
