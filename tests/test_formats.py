"""File formats: what each layout gives, how a format is recognised, what is refused and where."""

import gzip
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost import cli
from truecost.errors import UsageError
from truecost.formats import read
from truecost.formats.trial_lists import LAYOUTS
from truecost.study.columns import Options
from truecost.study.joining import join

LINES = {  # text, columns of the first row
    "kaldi-trials": ("e1 t1 target\ne2 t2 nontarget\n", ("e1 t1", "e1", "t1", "target")),
    "kaldi-scores": ("e1 t1 0.50\ne2 t2 -1e-3\n", ("e1 t1", "e1", "t1", "0.50")),
    "voxceleb": ("1 e1 t1\n0 e2 t2\n", ("e1 t1", "e1", "t1", "1")),
    "speechbrain": ("e1 t1 1 0.734\ne2 t2 0 nan\n", ("e1 t1", "e1", "t1", "0.734", "1")),
    "wespeaker": (
        "e1 t1 0.734 target\ne2 t2 1 nontarget\n",
        ("e1 t1", "e1", "t1", "0.734", "target"),
    ),
    "utt2spk": ("u1 s1\nu2 s1\n", ("u1", "s1")),
}
SRE = "segmentid\tmodelid\tLLR\tside\ns1\tm1\t0.50\ta\ns2\tm1\t-3\ta\n"
SRE_KEY = (
    "modelid\tsegmentid\tside\ttargettype\tgender\nm1\ts2\ta\tnontarget\tf\nm1\ts1\ta\ttarget\tm\n"
)


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file in an empty folder, and give its name."""
    monkeypatch.chdir(tmp_path)

    def call(content, name="file"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return call


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        str.encode,
        lambda text: gzip.compress(text.encode()),
        lambda text: text.replace(" ", "\t").encode(),
        lambda text: text.replace(" ", "  \t ").replace("\n", " \n ").encode(),
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: (text + "\n \t\n\r\n").encode(),
    ],
    ids=["plain", "gzip", "tabs", "runs", "windows", "mac", "no last line end", "blank end"],
)
def test_layouts(put, name, stated, change):
    text, first = LINES[name]
    called = "utt2spk" if name == "utt2spk" else "x.lst"  # whose second column has a name by it
    table = read(put(change(text), called), name if stated else None)
    assert table.format == name
    assert table.layout == f"{name}: {LAYOUTS[name].line}"
    assert table.frame.row(0) == first
    expected = {"id", *LAYOUTS[name].fields}
    assert set(table.columns) == expected
    assert len(table) == 2
    assert table.where(1) == "line 2"
    assert table.kind is None


NAMES = st.text(st.sampled_from("abé0.#\"'_,;{-"), min_size=1, max_size=6)
VALUES = {
    "label": lambda layout: st.sampled_from(layout.words),
    "score": lambda _: st.floats(allow_nan=False).map(repr) | st.integers().map(str),
}


@st.composite
def trial_lists(draw):
    """Name of a layout and rows of its fields."""
    name = draw(st.sampled_from(sorted(LAYOUTS)))
    layout = LAYOUTS[name]
    row = st.tuples(*(VALUES.get(f, lambda _: NAMES)(layout) for f in layout.fields))
    return name, draw(st.lists(row, min_size=1, max_size=5))


@given(drawn=trial_lists(), blanks=st.sampled_from([" ", "\t", "  ", " \t"]))
def test_every_field_is_read_as_it_stands(tmp_path_factory, drawn, blanks):
    """A slow reader in three lines is the reference; sniffing never says another layout."""
    name, rows = drawn
    path = tmp_path_factory.getbasetemp() / "list"
    path.write_text("\n".join(blanks.join(row) for row in rows), encoding="utf-8")
    table = read(str(path), name)
    for k, field in enumerate(LAYOUTS[name].fields):
        assert table.frame[field].to_list() == [row[k] for row in rows]
    if "enroll" in table.columns:
        pairs = zip(table.frame["enroll"], table.frame["test"], strict=True)
        assert table.frame["id"].to_list() == [" ".join(pair) for pair in pairs]
    try:
        said = read(str(path)).layout
    except UsageError as error:
        said = str(error)
    assert name in said


def test_sre_scores_state_their_type(put):
    table = read(put(SRE, "scores.tsv"))
    assert table.kind == "llr"
    assert table.format == "nist-sre"
    assert table.layout == "nist-sre: segmentid modelid LLR side"
    assert table.columns == ["id", "modelid", "segmentid", "side", "score"]
    assert table.frame.row(0) == ("m1 s1 a", "m1", "s1", "a", "0.50")


def test_sre_keys_keep_their_partitions(put):
    table = read(put(SRE_KEY, "key.tsv"))
    assert table.kind is None
    assert table.columns == ["id", "modelid", "segmentid", "side", "label", "gender"]
    joined = join(read(put(SRE, "scores.tsv")), table, Options("llr"))
    assert joined.kind == "llr"
    assert joined.frame.row(0) == ("m1 s2 a", "-3", "m1", "s2", "a", "nontarget", "f")


CONTENT = {  # bytes without an ending: what they are read as
    "csv: id score": b"id,score\na,1\n",
    "tsv: id score": b"id\tscore\na\t1\n",
    "ndjson: id score": b'{"id":"a","score":1}\n',
    "nist-sre: modelid segmentid side LLR": b"modelid\tsegmentid\tside\tLLR\nm\ts\ta\t1\n",
    "utt-scores: id score": b"id 0.5\na 1\n",
}


@pytest.mark.parametrize("layout", CONTENT)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_content_decides_where_no_ending_does(put, layout, pack):
    assert read(put(pack(CONTENT[layout]), "data.2024")).layout == layout


def test_standard_input_is_recognised_too(monkeypatch):
    for layout, data in CONTENT.items():
        stream = io.TextIOWrapper(io.BytesIO(gzip.compress(data)))
        monkeypatch.setattr("sys.stdin", stream)
        table = read("-")
        assert table.source == "standard input"
        assert table.layout.split(":")[0] == layout.split(":")[0]


def test_a_trial_with_the_name_of_a_column_is_no_header(put):
    assert read(put("id\tscore\ttarget\n")).layout == "kaldi-trials: enroll test label"
    assert read(put("id,score,target\na,1,1\n")).layout == "csv: id score target"


def test_binary_content_is_recognised(put):
    stream = io.BytesIO()
    pl.DataFrame({"score": [1.0]}).write_parquet(stream)
    assert read(put(stream.getvalue())).layout == "parquet: score"
    stream = io.BytesIO()
    np.savez(stream, scores=np.ones(2))
    assert read(put(stream.getvalue())).layout == "npz: scores"
    stream = io.BytesIO()
    np.save(stream, np.ones(2))
    assert read(put(stream.getvalue())).layout == "npy: scores"
    assert read(put(stream.getvalue(), "x.npy")).layout == ""


def test_endings_decide_before_content(put):
    assert read(put("e t\nx y\n", "x.csv")).columns == ["e t"]
    assert read(put("id,score\na,1\n", "X.CSV.GZ")).layout == ""


TWO = {
    "1 2 0.5\n0 3 1\n": "kaldi-scores|voxceleb",
    "1 e target\n0 e nontarget\n": "kaldi-trials|voxceleb",
}


@pytest.mark.parametrize("text", TWO)
def test_two_layouts_that_fit_are_refused(put, text):
    with pytest.raises(UsageError) as refused:
        read(put(text))
    for name in TWO[text].split("|"):
        assert f"{name} ({LAYOUTS[name].line})" in str(refused.value)
        assert read("file", name).layout.startswith(name)
    assert f"input_format {TWO[text]}" in str(refused.value)


def test_one_line_decides_between_two_layouts(put):
    text = "1 2 0.5\n" * 1000 + "2 2 0.5\n"
    assert read(put(text)).layout == "kaldi-scores: enroll test score"


def test_a_row_of_empty_cells_ends_a_tsv_file(put):
    table = read(put("id\tscore\tx\na\t1\t2\n\t\t\n", "x.tsv"))
    assert table.frame.rows() == [("a", "1", "2"), (None, None, None)]


def test_quoted_line_breaks_leave_rows_without_lines(put):
    table = read(put('id,score\n"a\nb",1\nc,2\n', "x.csv"))
    assert table.frame["id"].to_list() == ["a\nb", "c"]
    assert table.where(1) == "row 1"
    assert read(put('id,score\n"a",1\nc,2\n', "x.csv")).where(1) == "line 3"


@given(
    st.lists(st.lists(st.text(st.sampled_from('a,"\n '), max_size=4), min_size=2, max_size=2),
             min_size=1, max_size=6)
)  # fmt: skip
def test_quoted_fields_are_read_as_the_standard_library_reads_them(tmp_path_factory, rows):
    import csv

    path = tmp_path_factory.getbasetemp() / "quoted.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
            [["x", "y"], *rows]
        )
    assert [list(row) for row in read(str(path)).frame.rows()] == rows


def test_numbers_of_json_that_overflow_are_not_lost(put):
    table = read(put('{"id":99999999999999999999}\n', "x.ndjson"))
    assert table.texts("id", "id").to_list() == ["99999999999999999999"]


def trials(number=200):
    """Lines of scores and of a key that overlap as real ones do."""
    rng = np.random.default_rng(0)
    labels = rng.random(number) < 0.5
    scores = rng.normal(3.0 * labels - 1.5)
    pairs = [f"e{k % 20} t{k}" for k in range(number)]
    words = np.where(labels, "target", "nontarget")
    return (
        "".join(f"{p} {s:.4f}\n" for p, s in zip(pairs, scores, strict=True)),
        "".join(f"{p} {w}\n" for p, w in zip(pairs[::-1], words[::-1], strict=True)),
        "".join(f"1 {p}\n" if y else f"0 {p}\n" for p, y in zip(pairs, labels, strict=True)),
    )


@pytest.mark.parametrize("key", [1, 2])
def test_scores_and_their_key_need_no_map(put, capfd, key):
    files = trials()
    put(files[0], "scores.txt")
    put(files[key], "trials.txt")
    command = ["score", "scores.txt", "--key", "trials.txt", "--type", "llr", "--preset"]
    assert cli.run([*command, "sre-2010", "--replicates", "50", "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert {row["n_trials"] for row in rows} == {200}


def test_both_keys_give_the_same_figures(put, capfd):
    scores, kaldi, voxceleb = trials()
    put(scores, "scores.txt")
    found = []
    for name, text in (("a", kaldi), ("b", voxceleb)):
        put(text, name)
        command = ["score", "scores.txt", "--key", name, "--type", "llr", "--measure", "cllr"]
        assert cli.run([*command, "--replicates", "50", "--json"]) == 0
        found.append(json.loads(capfd.readouterr().out)["rows"][0]["value"])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_exit_codes(put, capfd):
    put("1 2 0.5\n", "two.txt")
    put("a b 0.5\na b c\n", "bad.txt")
    for file, code in (("two.txt", 2), ("bad.txt", 3)):
        assert cli.run(["score", file, "--type", "llr"]) == code
        assert capfd.readouterr().err.startswith(f"truecost: {file}")
