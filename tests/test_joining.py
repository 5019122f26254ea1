"""Joining: columns of two files that agree, that differ, and metadata of both sides of a trial."""

import numpy as np
import polars as pl
import pytest

from truecost.errors import InputError, UsageError
from truecost.formats import Table, read
from truecost.formats.compound import stem_hint
from truecost.formats.table import refuse_repeated
from truecost.study import joining
from truecost.study.columns import Options
from truecost.study.joining import join, join_metadata
from truecost.tasks.trials.loading import load


def table(source, **columns):
    return Table(source, pl.DataFrame(columns))


SCORES = table("s", id=["a x", "b y"], enroll=["a", "b"], test=["x", "y"], score=["1", "2"])
KEY = table("k", id=["b y", "a x"], enroll=["b", "a"], label=["target", "nontarget"])


def test_columns_of_both_files_that_agree_are_kept_once():
    joined = join(SCORES, KEY, Options("llr"))
    assert sorted(joined.columns) == ["enroll", "id", "label", "score", "test"]
    assert joined.frame.select("id", "enroll", "score", "label").rows() == [
        ("b y", "b", "2", "target"),
        ("a x", "a", "1", "nontarget"),
    ]


def test_columns_of_both_files_that_differ_are_refused():
    key = table("k", id=[f"t{k}" for k in range(9)], spk=["f"] * 8 + [None])
    scores = table("s", id=[f"t{k}" for k in range(9)], spk=["f", *"m" * 6, "f", "m"])
    with pytest.raises(InputError) as refused:
        join(scores, key, Options("llr"))
    assert str(refused.value) == (
        "column 'spk' is in both s and k and differs in 7 rows: t1 ('m', 'f'), t2 ('m', 'f'), "
        "t3 ('m', 'f'), t4 ('m', 'f'), t5 ('m', 'f'), ...; rename it in one of them, or leave it "
        "out there"
    )


def test_a_trial_without_a_score_takes_the_columns_of_the_key():
    key = table("k", id=["c z", "a x"], enroll=["c", "a"], label=["target", "nontarget"])
    joined = join(Table("s", SCORES.frame[:1]), key, Options("llr", missing="drop"))
    assert joined.frame.select("enroll", "test", "score").rows() == [
        ("c", None, None),
        ("a", "x", "1"),
    ]


def test_matrices_of_scores_are_joined_too():
    scores = Table("s", pl.DataFrame({"id": ["a", "b"]}), {"scores": np.array([[1, 2], [3, 4]])})
    key = table("k", id=["c", "b", "a"], label=["0", "1", "0"])
    joined = join(scores, key, Options("log-score", missing="drop"))
    np.testing.assert_array_equal(joined.matrices["scores"], [[np.nan] * 2, [3, 4], [1, 2]])


def test_empty_ids_are_refused():
    scores = table("s", id=["a x", None], score=["1", "2"])
    with pytest.raises(InputError, match=r"^s: 1 id is not in the key k: \(empty\)$"):
        join(scores, KEY, Options("llr", missing="drop"))
    with pytest.raises(InputError, match=r"^s: 1 trial of the key k without a score: \(empty\);"):
        join(SCORES, table("k", id=["a x", "b y", None], l=["1", "2", "3"]), Options("llr"))


UTT2SPK = table("m", id=["a", "b", "x", "y", "z"], speaker=["A", "B", "A", "Y", "Z"])


def test_metadata_are_looked_up_by_any_column():
    joined = join_metadata(join_metadata(SCORES, UTT2SPK, "enroll"), UTT2SPK, "test")
    assert joined.frame["enroll.speaker"].to_list() == ["A", "B"]
    assert joined.frame["test.speaker"].to_list() == ["A", "Y"]
    assert joined.frame.select(SCORES.columns).equals(SCORES.frame)


def test_metadata_of_trials_keep_their_names():
    metadata = table("m", trial=["b y", "a x"], snr=["5", "9"])
    assert join_metadata(SCORES, metadata).frame["snr"].to_list() == ["9", "5"]


def test_speakers_of_both_sides_are_resampled_together():
    options = Options("llr", {"unit": "enroll.speaker+test.speaker"})
    pair = (("enroll", UTT2SPK), ("test", UTT2SPK))
    trials = load(SCORES, options, "system", KEY, pair)
    [sides] = trials.units.values()
    assert [list(side) for side in sides] == [["B", "A"], ["Y", "A"]]


METADATA = {  # metadata, column, error, message
    "missing": (
        table("m", id=["a"], speaker=["A"]),
        "enroll",
        InputError,
        "m: the column 'id' lacks 1 value of the column 'enroll' of s: b; add rows for all of them",
    ),
    "repeated": (
        table("m", id=["a", "b", "a"], speaker=["A", "B", "C"]),
        "enroll",
        InputError,
        "m: 1 id occurs more than once: a (row 0, row 2); each id has one row: keep one of them",
    ),
    "no column": (
        UTT2SPK,
        "side",
        UsageError,
        "s: there is no column 'side' to look up in m; the columns are id, enroll, test, score: "
        "use metadata COLUMN=m, or COLUMN.NAME=m, which names the new column",
    ),
    "a name twice": (
        table("m", id=["a x", "b y"], score=["1", "2"]),
        "id",
        UsageError,
        "m: column score is in s too: give another name with metadata id.NAME=m",
    ),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_do_not_fit(name):
    metadata, column, kind, said = METADATA[name]
    with pytest.raises(kind) as refused:
        join_metadata(SCORES, metadata, column)
    assert str(refused.value) == said


def test_tables_of_one_order_are_compared_and_not_joined(monkeypatch):
    ids = [f"t{k}" for k in range(30)]
    scores = table("scores", id=ids, score=range(30), room=["a"] * 30)
    key = table("key", id=ids, label=["target", "nontarget"] * 15, room=["a"] * 30)
    back = Table("scores", scores.frame.reverse())
    wanted = join(back, key, Options("llr")).frame
    monkeypatch.setattr(joining, "_places", None)  # it would fail
    assert join(scores, key, Options("llr")).frame.equals(wanted)
    other = Table("key", key.frame.with_columns(room=pl.lit("b")))
    with pytest.raises(InputError, match="'room' is in both scores and key and differs in 30"):
        join(scores, other, Options("llr"))


@pytest.mark.parametrize(("ids", "said"), [
    (["a", "b", "a"], "scores: 1 id occurs more than once: a"),
    (["a", None, "b"], r"1 id is not in the key key: \(empty\)"),
])  # fmt: skip
def test_ids_of_one_order_that_repeat_or_are_empty_are_refused(ids, said):
    with pytest.raises(InputError, match=said):
        join(table("scores", id=ids, score=range(3)), table("key", id=ids), Options("llr"))


def test_ids_of_one_hash_are_no_repeated_ids(monkeypatch):
    monkeypatch.setattr(pl.Series, "hash", lambda ids, seed: pl.zeros(len(ids), eager=True))
    refuse_repeated("here", pl.Series(["a", "b", "c"]))
    with pytest.raises(InputError, match="1 id occurs more than once: b"):
        refuse_repeated("here", pl.Series(["a", "b", "b"]))
    with pytest.raises(InputError, match="one row, but 6 rows have 2 ids: if these are un"):
        refuse_repeated("here", pl.Series(["a", "b"] * 3))


def test_the_hint_of_file_names_makes_no_two_ids_equal():
    assert stem_hint(["a/x.wav", "b/y.wav"], ["x", "y"], {}).endswith("--map id=id:stem")
    assert stem_hint(["a/x.wav", "b/x.wav"], ["x"], {}) == ""
    capital = "; ids that differ in capital letters only are different ids: write them alike"
    assert stem_hint(["A1", None], ["a1", "b"], {}) == capital


def test_a_line_of_numbers_is_no_header(tmp_path):
    (tmp_path / "a.csv").write_text("0,0.5,0.5\n1,2,3\n")
    with pytest.raises(InputError, match="line 1: the header line is probably missing"):
        read(str(tmp_path / "a.csv"))


def test_a_field_too_many_may_be_a_decimal_comma(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\na,0,5\n")
    with pytest.raises(
        InputError, match=r"line 2: 3 fields.*: write a decimal comma as a point, or"
    ):
        read(str(tmp_path / "a.csv"))
