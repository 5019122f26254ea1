"""Lists of scores in a column, ids that several columns make, and the ends of names."""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.formats import Table, read, trial_lists, write
from truecost.formats.compound import identified, matrix_of, unnested

LABELS = np.arange(60) % 3
SHARES = np.random.default_rng(0).dirichlet(np.ones(3), 60) * 0.4
SHARES[np.arange(60), LABELS] += 0.6
FRAME = pl.DataFrame(
    {
        "probs": SHARES.tolist(),
        "label": LABELS,
        "doc": [f"d{k // 3}" for k in range(60)],
        "prompt": np.arange(60) % 3,
    }
)
HOW = {"type": "posterior", "score": "probs", "unit": "doc", "replicates": 20}


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_lists_are_the_scores_of_the_classes(kind, tmp_path):
    path = tmp_path / f"mine.{kind}"
    FRAME.write_parquet(path) if kind == "parquet" else FRAME.write_ndjson(path)
    wanted = tc.score(FRAME.drop("probs"), **{**HOW, "score": SHARES})
    found = tc.score(path, **HOW)
    assert [e.value for e in found.estimates] == [e.value for e in wanted.estimates]


def test_a_fixed_width_is_a_list_too():
    fixed = FRAME.with_columns(pl.col("probs").cast(pl.Array(pl.Float64, 3)))
    assert np.array_equal(matrix_of(Table("t", fixed), "probs"), SHARES)


def test_missing_lists_and_numbers_are_missing_scores():
    lists = [*SHARES.tolist()[:58], None, [0.5, None, 0.5]]
    outcome = tc.score(FRAME.with_columns(probs=pl.Series(lists)), missing="drop", **HOW)
    assert outcome.estimates[0].n_trials == 58


def test_lists_of_several_lengths_are_refused_with_their_row():
    ragged = FRAME.with_columns(probs=pl.Series([*SHARES.tolist()[:59], [1.0]]))
    said = r"1 list has another length than 3 \(column 'probs'\): 1 number at row 59; each row"
    with pytest.raises(tc.InputError, match=said):
        tc.score(ragged, **HOW)
    with pytest.raises(tc.InputError, match="type llr has one"):
        tc.score(FRAME, **{**HOW, "type": "llr"})
    with pytest.raises(tc.UsageError, match='type="posterior"'):
        tc.score(FRAME, **{**HOW, "type": None})


def test_an_enum_names_the_classes_in_their_order():
    kind = pl.Enum(["zero", "one", "two"])
    named = FRAME.with_columns(label=pl.Series(kind.categories).gather(LABELS).cast(kind))
    outcome = tc.score(named, **HOW, measures="total_error")
    assert outcome.estimates[0].value == 0


def test_columns_that_are_joined_make_the_id(tmp_path, capsys):
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        scores = rng.normal(2.0 * (LABELS > 0))
        frame = FRAME.select("doc", "prompt").with_columns(
            score=pl.Series(scores), label=pl.Series(LABELS > 0).cast(pl.Int8)
        )
        (frame if name == "a" else frame.reverse()).write_csv(tmp_path / f"{name}.csv")
    paths = [str(tmp_path / f"{name}.csv") for name in "ab"]
    how = {"type": "llr", "unit": "doc", "measures": "auc", "replicates": 20}
    found = tc.compare(paths, id="doc+prompt", **how)
    assert [e.n_trials for e in found.estimates] == [60, 60]
    assert tc.validate(paths[0], type="llr", id="doc+prompt", trials=paths[1]).valid
    parts = ["--engine", "processes", "--measure", "auc", "--replicates", "20", "--json"]
    assert cli.run(["compare", *paths, "--type", "llr", "--map", "id=doc+prompt", *parts]) == 0
    capsys.readouterr()
    with pytest.raises(tc.UsageError, match="no column 'promt' for the id"):
        tc.compare(paths, id="doc+promt", **how)
    with pytest.raises(tc.InputError, match="20 ids occur more than once: d0"):
        tc.compare(paths, id="doc", **how)


def test_ids_that_would_be_alike_are_refused():
    twice = Table("t", pl.DataFrame({"a": ["x+y", "x"], "b": ["z", "y+z"]}))
    with pytest.raises(tc.InputError, match="two rows get the same id when a, b are joined by"):
        identified(twice, {"id": "a+b"})
    empty = Table("t", pl.DataFrame({"a": ["x", None], "b": ["z", "y"]}))
    with pytest.raises(tc.InputError, match="1 empty cell of id"):
        identified(empty, {"id": "a+b"})


def test_structures_are_columns_behind_a_point():
    frame = pl.DataFrame(
        {"m": [{"acc": 1.0, "by": {"x": 2}}], "k": [1], "n.a": [1], "n": [{"a": 2}]}
    )
    assert unnested(frame).columns == ["m.acc", "m.by.x", "k", "n.a", "n"]


def test_the_names_of_files_without_folders_are_ids(tmp_path, monkeypatch):
    paths = Table("t", pl.DataFrame({"path": ["/a/b.c/u1.wav", "C:\\x\\u.2.flac", "u3", "v0.75"]}))
    how = {"id": "path:stem"}
    assert identified(paths, how).frame["path:stem"].to_list() == ["u1", "u.2", "u3", "v0.75"]
    same = Table("t", pl.DataFrame({"path": ["/a/u1.wav", "/b/u1.wav"]}))
    with pytest.raises(tc.InputError, match="when folders and endings of path are left out"):
        identified(same, how)
    monkeypatch.chdir(tmp_path)
    scores = {"id": [f"/a/u{k}.wav" for k in range(9)], "score": [k % 4 for k in range(9)]}
    key = {"id": [f"u{k}" for k in range(9)], "label": [k % 2 for k in range(9)]}
    pl.DataFrame(scores).write_csv("mine.csv")
    pl.DataFrame(key).write_csv("key.csv")
    (tmp_path / "utt2spk").write_text("".join(f"u{k} s{k % 3}\n" for k in range(9)))
    given = {"type": "score", "measures": "auc", "key": "key.csv"}
    with pytest.raises(tc.InputError, match=r'; without folders .* they match: id="id:stem"'):
        tc.score("mine.csv", **given)
    found = tc.score("mine.csv", id="id:stem", metadata="utt2spk", unit="speaker", **given)
    assert (found.estimates[0].n_trials, found.estimates[0].n_units) == (9, 3)
    (tmp_path / "key.csv").write_text("id,label\nz,1\n")
    with pytest.raises(tc.InputError) as refused:
        tc.score("mine.csv", **given)
    assert "stem" not in str(refused.value)


PAIRS = [(a, b) for a in range(12) for b in range(a, a + 3)]


@pytest.fixture
def kaldi(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "trials": [f"e{a} t{b} {'target' if a == b else 'nontarget'}" for a, b in PAIRS],
        "mine": [f"e{a} t{b} {(a == b) + a % 5 / 9}" for a, b in PAIRS],
        "utt2spk": [f"{side}{k} s{k}" for k in range(16) for side in "et"],
        "utt2cond": [f"{side}{k} {'tel' if k % 2 else 'mic'}" for k in range(16) for side in "et"],
        "spk2gender": [f"s{k} {'fm'[k % 2]}" for k in range(16)],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    def call(*metadata, **options):
        how = {"type": "score", "key": "trials", "measures": "auc", "replicates": 20}
        return tc.score("mine", metadata=[*metadata], **how, **options)

    return call


def test_a_file_of_kaldi_is_called_by_what_it_tells(kaldi):
    assert read("utt2cond").columns == ["id", "cond"]
    assert read("spk2gender").columns == ["id", "gender"]
    assert read("utt2spk").columns == ["id", "speaker"]
    for name in ("x/utt2cond.txt.gz", "x/eval.utt2cond", "eval_utt2cond.2"):
        assert trial_lists.read_lines(b"a 1\nb 2\n", name).columns == ["id", "cond"]
    outcome = kaldi("enroll=utt2spk", "enroll.speaker=spk2gender", subsets="gender")
    names = [e.dims.get("subset") for e in outcome.estimates]
    assert names == [None, "enroll.speaker.gender=f", "enroll.speaker.gender=m"]


def test_the_side_and_the_name_of_a_column_are_said(kaldi, tmp_path):
    (tmp_path / "list.txt").write_text((tmp_path / "utt2cond").read_text())
    outcome = kaldi("test.room=list.txt", subsets="room = 'tel'")
    assert outcome.estimates[1].n_trials == sum(b % 2 for _, b in PAIRS)
    with pytest.raises(tc.UsageError, match=r"no column 'tst\.room' to look up in list\.txt"):
        kaldi("tst.room=list.txt")


@pytest.mark.parametrize("name", ["cond.txt", "utt2id", "wav2vec"])
def test_a_second_column_without_a_name_is_no_speaker(kaldi, tmp_path, name):
    (tmp_path / name).write_text((tmp_path / "utt2cond").read_text())
    stem = name.removesuffix(".txt")
    said = rf"{name}: two fields on a line and no header \(line 1: 'e0 mic'\), so that the second"
    with pytest.raises(tc.UsageError, match=said + r".* use input_format utt2spk for speakers"):
        read(name)
    with pytest.raises(tc.UsageError, match=rf"{said}.* write metadata enroll\.{stem}={name} "):
        kaldi(f"enroll={name}", unit="speaker")
    assert kaldi(f"enroll.place={name}", unit="place").estimates[0].factors == ("enroll.place",)
    assert read(name, "utt2spk").columns == ["id", "speaker"]  # stated, and not guessed


def test_a_number_of_metadata_is_no_score(kaldi, tmp_path):
    for name in ("utt2snr", "snr"):
        (tmp_path / name).write_text("".join(f"{s}{k} {k / 4}\n" for s in "et" for k in range(16)))
    with pytest.raises(tc.UsageError, match=r"write metadata test\.snr=snr "):
        kaldi("test=snr")
    assert kaldi("test=utt2snr", unit="snr").estimates[0].factors == ("test.snr",)


def test_the_end_of_several_columns_is_refused_and_they_are_listed(kaldi):
    both = ("enroll=utt2spk", "test=utt2spk")
    said = "'speaker' is the end of 2 columns, enroll.speaker, test.speaker: name one of them"
    for given in ({"subsets": "speaker"}, {"subsets": "speaker = 's1'"}, {"unit": "speaker"}):
        with pytest.raises(tc.UsageError, match=said):
            kaldi(*both, **given)
    outcome = kaldi(both[0], unit="speaker")
    assert outcome.estimates[0].factors == ("enroll.speaker",)


def test_a_name_for_several_columns_is_refused(kaldi, tmp_path):
    (tmp_path / "two.csv").write_text("id,room,mic\n" + "".join(f"t{k},a,b\n" for k in range(16)))
    with pytest.raises(tc.UsageError, match=r"names one column, and the file has room, mic"):
        kaldi("test.place=two.csv")


def test_metadata_without_a_side_says_how_to_name_it(kaldi):
    with pytest.raises(tc.InputError, match=r"metadata=.*enroll=utt2cond|enroll=utt2cond"):
        kaldi("utt2cond")


def test_what_is_written_is_read_again(tmp_path):
    table = Table("t", pl.DataFrame({"id": ["a"], "speaker": ["s"]}))
    write(table, str(tmp_path / "utt2spk"), "utt2spk")
    assert read(tmp_path / "utt2spk").frame.equals(table.frame)
