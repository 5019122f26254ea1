"""The log of two models: what its columns may hold, each fault with its lines, and what is kept."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from truecost.errors import TruecostError
from truecost.formats import Table, read
from truecost.tasks.abba import FACE, MAP_KEYS
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.columns import LogOptions, checks, load
from truecost.tasks.abba.records import CELLS

LOG = """id,collected_by,score_a,score_b,label,unit,room
u3,A,0.9,0.8,1,ann,hall
u1,A,0.6,0.2,0,ben,hall
u2,B,0.3,0.7,1,cid,bath
u5,b,0.8,0.9,NA,dan,bath
u4, a ,0.5,0.6,,ann,bath
"""
GIVEN = {"threshold_a": 0.5, "threshold_b": 0.6}


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file and name it."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="log.csv"):
        (tmp_path / name).write_text(text)
        return name

    return write


@pytest.fixture
def loaded(put):
    """The deployment of a log, with cells changed: `{(line, column): text}`."""

    def call(changed=None, columns=None, users=None, log=LOG, dropped=(), **options):
        rows = [line.split(",") for line in log.splitlines()]
        names = rows[0]
        for (line, column), text in (changed or {}).items():
            if column not in names:
                for row in rows:
                    row.append("")
                names[-1] = column
            for row in [line] if line else range(2, len(rows) + 1):
                rows[row - 1][names.index(column)] = text
        kept = [k for k, name in enumerate(names) if name not in dropped]
        path = put("".join(",".join(row[k] for k in kept) + "\n" for row in rows))
        listed = None if users is None else read(put(users, "users.csv"), None, "abba")
        chosen = LogOptions(columns or {}, **{**GIVEN, **options})
        return load(read(path, None, "abba"), chosen, "trial", listed)

    return call


def same(one, other):
    """Whether two deployments hold the same items, whatever their tables were."""
    for name in ("arm", "other", "label", "machine", "inclusion", "score_a", "score_b", "strata"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert one.ids.tolist() == other.ids.tolist()
    assert {k: [s.tolist() for s in v] for k, v in one.units.items()} == {
        k: [s.tolist() for s in v] for k, v in other.units.items()
    }
    assert one.signature == other.signature
    assert one.problems == other.problems


def test_a_log_becomes_a_deployment(loaded):
    found = loaded()
    assert found.name == "trial"
    assert found.ids.tolist() == ["u1", "u2", "u3", "u4", "u5"]
    assert [CELLS[k] for k in found.cell] == ["10A", "01B", "11A", "11A", "11B"]
    assert found.arm.tolist() == [0, 1, 0, 0, 1]
    assert found.arm.dtype == np.uint8
    np.testing.assert_array_equal(found.label, [0, 1, 1, np.nan, np.nan])
    assert found.score_a.tolist() == [0.6, 0.3, 0.9, 0.5, 0.8]
    assert found.score_b.tolist() == [0.2, 0.7, 0.8, 0.6, 0.9]
    assert (found.threshold_a, found.threshold_b) == (0.5, 0.6)
    assert found.machine is found.inclusion is found.strata is None
    assert {k: v[0].tolist() for k, v in found.units.items()} == {
        "unit": ["ben", "cid", "ann", "ann", "dan"]
    }
    assert found.frame["room"].to_list() == ["hall", "bath", "hall", "bath", "bath"]
    assert found.signature == "threshold-a:0.5|threshold-b:0.6"
    assert found.problems == ()


def test_columns_are_mapped_by_their_keys(loaded):
    log = LOG.replace("id,collected_by,score_a,score_b,label,unit", "utt,arm,sa,sb,y,user")
    keys = dict(zip(LOG.split(",")[:6], log.split(",")[:6], strict=True))
    found = loaded(log=log, columns=keys)
    assert list(found.units) == ["user"]
    assert found.label.tolist()[:3] == [0, 1, 1]


def test_without_ids_items_are_rows(loaded):
    found = loaded(dropped=["id"])
    assert found.ids.tolist() == [f"row {k}" for k in range(5)]
    assert found.score_a.tolist() == [0.9, 0.6, 0.3, 0.8, 0.5]


def test_the_order_of_a_file_does_not_matter(loaded):
    head, *rows = LOG.splitlines()
    mixed = "\n".join([head, *(rows[k] for k in (3, 0, 4, 2, 1)), ""])
    same(loaded(log=mixed), loaded())
    same(loaded(log=mixed, threshold_a=None), loaded(threshold_a=None))


def frame_of(n=400, seed=0):
    """A log as its numbers and words have types in Parquet."""
    r = np.random.default_rng(seed)
    arm = r.choice(["A", "B"], n)
    a, b = r.normal(size=n), r.normal(size=n)
    a, b = np.where(arm == "A", abs(a), a), np.where(arm == "B", abs(b), b)
    label = pl.Series(r.integers(0, 2, n)).scatter(np.arange(0, n, 3), None)
    return pl.DataFrame(
        {
            "id": [f"i{k:04}" for k in r.permutation(n)],
            "collected_by": arm,
            "score_a": a,
            "score_b": b,
            "label": label,
            "machine": r.random(n),
            "inclusion": r.uniform(0.1, 1, n),
            "stratum": r.integers(0, 4, n),
            "unit": r.integers(0, 60, n),
        }
    )


@pytest.mark.parametrize("kind", FACE.formats.texts)
@pytest.mark.parametrize("named", [True, False])
def test_all_formats_are_alike_by_ending_and_by_content(tmp_path, kind, named):
    frame = frame_of()
    path = tmp_path / (f"log.{kind}" if named else "log")
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "tsv":
        frame.write_csv(path, separator="\t")
    else:
        getattr(frame, f"write_{kind}")(path)
    found = load(read(str(path), None, "abba"), LogOptions())
    same(found, load(Table("log", frame), LogOptions()))
    assert found.units["unit"][0].dtype == np.int64
    assert found.strata.tolist() == [str(s) for s in frame.sort("id")["stratum"]]


def test_arrays_are_as_files():
    frame = frame_of()
    columns = {name: frame[name] for name in frame.columns if name != "id"}
    found = collected_items(ids=frame["id"], **columns)
    same(found, load(Table("log", frame), LogOptions()))
    pandas = {name: pd.Series(c.to_list()) for name, c in columns.items()}
    same(collected_items(ids=list(frame["id"]), **pandas), found)
    more = collected_items(ids=frame["id"], **columns, room=["x", "y"] * 200)
    assert [name for name, _ in more.masks("room")] == ["room=x", "room=y"]


def test_every_key_of_the_map_is_a_parameter_of_arrays():
    import inspect

    known = inspect.signature(collected_items).parameters
    assert {"ids" if key == "id" else key for key in MAP_KEYS} < known.keys()


@pytest.mark.parametrize("word", ["1", "1.0", "true", "TRUE", " True "])
def test_words_of_labels(loaded, word):
    assert loaded({(2, "label"): word}).label[2] == 1


@pytest.mark.parametrize("word", ["0", "0.0", "false", "False"])
def test_words_of_false_labels(loaded, word):
    assert loaded({(2, "label"): word}).label[2] == 0


@pytest.mark.parametrize("word", ["", " ", "NA", "nan", "null", "None"])
def test_words_of_missing_labels(loaded, word):
    assert np.isnan(loaded({(2, "label"): word}).label[2])


def test_labels_of_any_type_in_parquet():
    frame = frame_of()
    wanted = load(Table("log", frame), LogOptions()).label
    for kind in (pl.Int8, pl.Float64, pl.Boolean, pl.String):
        cast = frame.with_columns(pl.col("label").cast(kind))
        np.testing.assert_array_equal(load(Table("log", cast), LogOptions()).label, wanted)
    nan = frame.with_columns(pl.col("label").cast(pl.Float64).fill_null(float("nan")))
    np.testing.assert_array_equal(load(Table("log", nan), LogOptions()).label, wanted)


DECIDED = """id,collected_by,accept_a,accept_b,label
u1,A,1,yes,1
u2,A,TRUE,no,0
u3,B,0,1,1
u4,B,true,1.0,
"""
NO_SCORES = {"threshold_a": None, "threshold_b": None}


def test_decisions_in_place_of_scores(loaded):
    found = loaded(log=DECIDED, **NO_SCORES)
    assert [CELLS[k] for k in found.cell] == ["11A", "10A", "01B", "11B"]
    assert found.score_a is found.score_b is found.threshold_a is found.threshold_b is None
    assert found.signature == "accepts"
    assert found.problems == ()


BOTH = DECIDED.replace("label", "label,score_a,score_b").replace("\nu", ",0.9,0.9\nu")
BOTH = BOTH.replace("score_a,score_b,0.9,0.9", "score_a,score_b").rstrip() + ",0.9,0.9\n"


def test_scores_count_where_both_are_found_by_name(loaded):
    found = loaded(log=BOTH)
    assert found.other.all()
    assert found.problems == (
        "scores decide; accept_a, accept_b are not used (map them to use them)",
    )
    mapped = {"accept_a": "accept_a", "accept_b": "accept_b"}
    chosen = loaded(log=BOTH, columns=mapped, **NO_SCORES)
    assert chosen.other.tolist() == [True, False, False, True]
    assert chosen.problems == ()


def test_thresholds_that_are_not_given_are_the_least_scores_collected(loaded):
    found = loaded({(6, "score_a"): "0.5003"}, threshold_a=None)
    assert found.threshold_a == 0.5003
    assert found.problems == (
        "the deployed threshold of A was not given. The lowest score that A collected is used, "
        "0.5003, so it cannot be checked that A accepts offline what it collected; use "
        "--threshold-a",
    )
    assert found.signature == "threshold-a:least|threshold-b:0.6"
    assert loaded(threshold_b=None).threshold_b == 0.7  # scores of items that A collected are none


BAD = {
    "arm": (
        {(3, "collected_by"): "C", (5, "collected_by"): ""},
        "2 items were collected by neither A nor B (column 'collected_by'): line 3 (id u1, 'C'), "
        "line 5 (id u5, empty); write A for the deployed model and B for the candidate",
    ),
    "one arm": (
        {(0, "collected_by"): "A"},
        "no item was collected by B: AB/BA needs both arms",
    ),
    "other arm": (
        {(0, "collected_by"): "B"},
        "no item was collected by A: AB/BA needs both arms",
    ),
    "label": (
        {(2, "label"): "2", (3, "label"): "maybe"},
        "2 labels are neither 0 nor 1 (column 'label'): line 2 (id u3, '2'), line 3 (id u1, "
        "'maybe'); 1 is a true accept and 0 a false one (target names another label of a true "
        "one; for abba select, target under [data] of a study file does); leave the cell empty "
        "where there is no label",
    ),
    "one label": (
        {(2, "label"): "0.5"},
        "1 label is neither 0 nor 1 (column 'label'): line 2 (id u3, '0.5'); 1 is",
    ),
    "no labels": (
        {(0, "label"): ""},
        "there are neither labels nor machine scores: map them (label=COLUMN, "
        "map={'machine': COLUMN}), or give a file of labels (labels=FILE); choose items to label "
        "with truecost abba select",
    ),
    "score": (
        {(3, "score_b"): "", (4, "score_b"): "inf"},
        "2 scores are missing or infinite (column 'score_b', model B): line 3 (id u1, empty), line "
        "4 (id u2, inf); every item needs the score of both models; if a model finds nothing "
        "offline, write -inf or a score below its threshold",
    ),
    "own score": (
        {(4, "score_b"): "-inf"},
        "1 of 2 items collected by B (50%) is rejected offline, below its threshold 0.6: line 4 "
        "(id "
        "u2, -inf)",
    ),
    "score of A": (
        {(2, "score_a"): "NA"},
        "1 score is missing or infinite (column 'score_a', model A): line 2 (id u3, empty)",
    ),
    "no number": (
        {(3, "score_a"): "high"},
        "1 value of the score_a (column 'score_a') is not a number: 'high' at line 3",
    ),
    "below": (
        {(3, "score_a"): "0.41", (6, "score_a"): "0.4999999999"},
        "2 of 3 items collected by A (66.67%) are rejected offline, below its threshold 0.5: line "
        "3 "
        "(id u1, 0.41), line 6 (id u4, 0.4999999999); the model decides differently offline and "
        "online, scores are rounded, or threshold_a is not the deployed one: correct the scores or "
        'threshold_a, or leave these items out with mismatch="drop"',
    ),
    "below of B": (
        {(5, "score_b"): "0.5"},
        "1 of 2 items collected by B (50%) is rejected offline, below its threshold 0.6: line 5 ",
    ),
    "repeated id": (
        {(3, "id"): "u3"},
        "1 id occurs more than once: u3 (line 2, line 3); each item occurs once",
    ),
    "empty id": ({(4, "id"): " "}, "1 id is empty: line 4"),
    "machine": (
        {(0, "machine"): "0.5", (4, "machine"): "x"},
        "1 value of the machine (column 'machine') is not a number: 'x' at line 4",
    ),
    "no machine": (
        {(0, "machine"): "0.5", (4, "machine"): ""},
        "1 machine score is missing or infinite: line 4 (id u2, empty); every item needs one, or "
        "leave them all out",
    ),
    "raw machine": (
        {(0, "machine"): "0.5", (2, "machine"): "1.5", (4, "machine"): "-2"},
        "2 machine scores lie outside 0 to 1: line 2 (id u3, 1.5), line 4 (id u2, -2.0); turn "
        "scores into probabilities first: truecost abba calibrate",
    ),
    "inclusion": (
        {(0, "inclusion"): "0.5", (2, "inclusion"): "0", (4, "inclusion"): "20"},
        "2 inclusion probabilities lie outside (0, 1]: line 2 (id u3, 0.0), line 4 (id u2, 20.0); "
        "it is the probability that the item was chosen for a label",
    ),
    "no inclusion": (
        {(2, "inclusion"): "0.5", (4, "inclusion"): "1"},
        "1 item has a label and no inclusion probability: line 3 (id u1); write 1 where all "
        "items were labelled",
    ),
    "unit": (
        {(4, "unit"): ""},
        "1 empty cell of unit (column 'unit'), the first at line 4",
    ),
    "stratum": (
        {(2, "stratum"): "s"},
        "4 empty cells of stratum (column 'stratum'), the first at line 3",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "said"), BAD.values(), ids=list(BAD))
def test_bad_cells_are_refused_with_their_lines(loaded, changed, said):
    with pytest.raises(tc.InputError) as caught:
        loaded(changed)
    assert str(caught.value).startswith(f"log.csv: {said}")


@pytest.mark.parametrize(("changed", "said"), BAD.values(), ids=list(BAD))
def test_validation_says_what_loading_says(loaded, changed, said):
    with pytest.raises(tc.InputError) as caught:
        loaded(changed)
    table = read("log.csv", None, "abba")
    found = checks(table, LogOptions(**GIVEN))
    assert str(caught.value) in [check.message for check in found if check.state == "error"]


REJECTED = DECIDED.replace("u2,A,TRUE", "u2,A,no")


def test_decisions_that_are_no_words_or_missing(loaded):
    with pytest.raises(tc.InputError) as caught:
        loaded(log=DECIDED.replace("TRUE", "sure").replace("0,1,1", ",1,1"), **NO_SCORES)
    assert str(caught.value) == (
        "log.csv: 2 decisions are neither 1 nor 0 (column 'accept_a': whether A accepts): line 3 "
        "(id u2, 'sure'), line 4 (id u3, empty)"
    )


def test_decisions_against_the_model_that_collected(loaded):
    with pytest.raises(tc.InputError) as caught:
        loaded(log=REJECTED, **NO_SCORES)
    assert str(caught.value) == (
        "log.csv: 1 of 2 items collected by A (50%) is rejected offline: line 3 (id u2); "
        "the model decides differently offline and online: correct the decisions, or leave these "
        'items out with mismatch="drop"'
    )
    found = loaded(log=REJECTED, mismatch="drop", **NO_SCORES)
    assert found.ids.tolist() == ["u1", "u3", "u4"]
    assert found.signature == "accepts|mismatch:drop"


def test_mismatches_are_left_out_and_said(loaded):
    found = loaded({(3, "score_a"): "0.41", (5, "score_b"): "0.5"}, mismatch="drop")
    assert found.ids.tolist() == ["u2", "u3", "u4"]
    assert found.frame["room"].to_list() == ["bath", "hall", "bath"]
    assert found.units["unit"][0].tolist() == ["cid", "ann", "ann"]
    assert found.signature == "threshold-a:0.5|threshold-b:0.6|mismatch:drop"
    assert found.problems == (
        "1 of 3 items collected by A (33.33%) is rejected offline: left out (--mismatch drop)",
        "1 of 2 items collected by B (50%) is rejected offline: left out (--mismatch drop)",
    )
    assert loaded(mismatch="drop").problems == ()


def test_an_arm_of_which_nothing_is_left_is_refused(loaded):
    with pytest.raises(tc.InputError, match="all items collected by A are rejected by it offline"):
        loaded(mismatch="drop", threshold_a=0.95)


def test_an_error_of_a_row_without_id_or_line_names_its_place():
    log = {"collected_by": ["A", "B"], "accept_a": [1, 1], "accept_b": [1, 1]}
    with pytest.raises(tc.InputError) as caught:
        collected_items(**log, label=[1, 7], name="mine")
    assert str(caught.value).startswith(
        "mine: 1 label is neither 0 nor 1 (column 'label'): row 1 ('7')"
    )
    with pytest.raises(tc.InputError, match=r"row 1 \(id b, '7'\)"):
        collected_items(**log, label=[1, 7], ids=["a", "b"])


USAGE = {
    "key": ({"columns": {"score": "x"}}, "score=... is not known (did you mean 'score_b'?): map "
    "one of id, collected_"),
    "both": (
        {"columns": {"score_a": "x", "accept_b": "y"}},
        "scores and decisions of the models are both mapped: map score_a and score_b, or accept_a "
        "and accept_b",
    ),
    "mismatch": ({"mismatch": "skip"}, "mismatch is 'skip': choose one of error, drop"),
    "threshold": ({"threshold_a": np.inf}, "threshold_a is inf: a threshold is a finite number"),
    "nan": ({"threshold_b": np.nan}, "threshold_b is nan: a threshold is a finite number"),
    "exposure": (
        {"exposure": (1, 0)},
        "exposure_b is 0: give a number above 0",
    ),
    "endless": ({"exposure": (np.inf, 1)}, "exposure_a is inf: give a finite number above 0"),
    "one": ({"exposure": (1,)}, "exposure has 1 number: give two, of arm A and of arm B"),
    "units": ({"units": (0, 5)}, "units_a is 0: give a number at least 1"),
    "parts": ({"units": (9, 5.5)}, "units_b is 5.5: give a whole number at least 1"),
    "nan units": ({"units": (9, np.nan)}, "units_b is nan: give a whole number at least 1"),
    "split": ({"split": 1.0}, "split is 1: give a number above 0 and below 1"),
    "percent": ({"split": 50}, "split is 50: give a number above 0 and below 1; did you"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "said"), USAGE.values(), ids=list(USAGE))
def test_options_out_of_range_are_refused(options, said):
    with pytest.raises(tc.UsageError) as caught:
        LogOptions(**options)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"dropped": ["collected_by"]},
            "log.csv: there is no column for collected_by; the columns are id, score_a, score_b, "
            "label, unit, room: name it with collected_by=COLUMN",
        ),
        (
            {"dropped": ["score_b"]},
            "log.csv: no columns have the scores of both models; the columns are id, collected_by, "
            "score_a, label, unit, room: name them with score_a=COLUMN,score_b=COLUMN, or "
            "accept_a and accept_b where only decisions are known",
        ),
        (
            {"dropped": ["score_b"], "columns": {"score_a": "score_a"}},
            "log.csv: there is no column for score_b; the columns are id, collected_by, score_a, "
            "label, unit, room: name it with score_b=COLUMN",
        ),
        (
            {"columns": {"score_a": "sa"}},
            "log.csv: there is no column 'sa' for the score_a; the columns are",
        ),
        (
            {"columns": {"unit": "unit+room"}},
            'unit="unit+room": an item has one unit (user or device): map one column',
        ),
        (
            {"log": DECIDED},
            "threshold_a is for scores, and column 'accept_a' has decisions: map score_a "
            "and score_b, or leave it out",
        ),
        (
            {"units": (1, 2)},
            "units_a is 1, but the log has 2 units in arm A: count every unit of the arm, also "
            "units without accepted items",
        ),
        (
            {"units": (3, 1), "dropped": ["unit"]},
            "units_b is 1, but the log has 2 items in arm B",
        ),
    ],
)
def test_columns_and_options_that_do_not_fit_the_log(loaded, changed, said):
    with pytest.raises(tc.UsageError) as caught:
        loaded(**changed)
    assert str(caught.value).startswith(said)


def test_what_is_known_of_the_traffic_is_kept(loaded):
    found = loaded(exposure=(10.5, 9), units=(2, 2), split=0.5).traffic
    assert found.exposure == found.exposures == (10.5, 9)
    assert (found.units, found.split, found.users) == ((2, 2), 0.5, None)
    assert loaded(units=(3, 2), dropped=["unit"]).traffic.exposures == (3.0, 2.0)
    assert loaded().traffic.exposures is None


def test_machine_scores_that_are_no_probabilities_are_for_calibration(loaded):
    changed = {(0, "machine"): "0.5", (2, "machine"): "-7"}
    assert loaded(changed, raw_machine=True).machine.tolist() == [0.5, 0.5, -7.0, 0.5, 0.5]
    with pytest.raises(tc.InputError, match="1 machine score is missing or infinite: line 2"):
        loaded({**changed, (2, "machine"): "inf"}, raw_machine=True)


def test_a_log_may_lack_labels_where_machine_scores_or_a_choice_of_labels_follow(loaded):
    found = loaded({(0, "machine"): "0.5"}, dropped=["label"])
    assert not found.labelled.any()
    assert found.machine.tolist() == [0.5] * 5
    assert not loaded(dropped=["label"], unlabelled=True).labelled.any()


def test_inclusion_may_lack_where_there_is_no_label(loaded):
    changed = {(line, "inclusion"): p for line, p in ((2, "0.25"), (3, "1"), (4, "1e-3"))}
    np.testing.assert_array_equal(loaded(changed).inclusion, [1, 0.001, 0.25, np.nan, np.nan])


def test_strata_are_texts(loaded):
    assert loaded({(0, "stratum"): "7"}).strata.tolist() == ["7"] * 5


USERS = """unit,collected_by,exposure
ben,A,2
ann,a,1.5
eva,A,1
cid,B,1
dan,B,3
"""


def test_a_list_of_users(loaded):
    found = loaded(users=USERS).traffic
    assert found.users.rows() == [
        ("ann", 0, 1.5),
        ("ben", 0, 2.0),
        ("cid", 1, 1.0),
        ("dan", 1, 3.0),
        ("eva", 0, 1.0),
    ]
    assert found.users["arm"].dtype == pl.UInt8
    assert found.exposures == (4.5, 4.0)
    assert found.users.equals(loaded(users=USERS, split=0.5).traffic.users)


def test_a_list_of_users_may_call_its_columns_as_the_log_does(loaded):
    log = LOG.replace("unit", "user").replace("collected_by", "arm")
    keys = {"unit": "user", "collected_by": "arm"}
    wanted = loaded(users=USERS).traffic.users
    assert loaded(log=log, columns=keys, users=USERS).traffic.users.equals(wanted)
    renamed = USERS.replace("unit", "user").replace("collected_by", "arm")
    assert loaded(log=log, columns=keys, users=renamed).traffic.users.equals(wanted)


def test_users_without_exposure_have_one_each(loaded):
    users = "".join(line.rpartition(",")[0] + "\n" for line in USERS.splitlines())
    assert loaded(users=users).traffic.exposures == (3.0, 2.0)
    assert loaded(users=users, exposure=(7, 8)).traffic.exposures == (7, 8)


def test_whole_numbers_of_users_match_their_texts(loaded):
    log = LOG
    users = USERS
    for k, name in enumerate(("ann", "ben", "cid", "dan", "eva")):
        log, users = log.replace(name, str(k)), users.replace(name, str(k))
    assert loaded(log=log, users=users).traffic.users["unit"].to_list() == list("01234")


@pytest.mark.parametrize(
    ("users", "said"),
    [
        (
            USERS.replace("ben,A,2\n", "").replace("cid,B", "cid,A"),
            "users.csv: 2 units of log.csv not listed in the arm that collected their items: ben "
            "(A), cid (B); list every unit of each arm, also units without accepted items",
        ),
        (
            USERS.replace("eva", "ann"),
            "users.csv: 2 lines repeat a user in the same arm: line 3 (id ann), line 4 (id ann); "
            "each occurs once in an arm",
        ),
        (
            USERS.replace("eva,A", "eva,both"),
            "users.csv: 1 user is in neither arm, A or B (column 'collected_by'): line 4 (id eva, "
            "'both'); write A for the deployed model and B for the candidate",
        ),
        (
            USERS.replace("eva,A,1", "eva,A,-1").replace("ben,A,2", "ben,A,"),
            "users.csv: 2 exposures are below 0 or not finite: line 2 (id ben, empty), line 4 (id "
            "eva, -1.0)",
        ),
        (
            USERS.replace("cid,B,1", "cid,B,0").replace("dan,B,3", "dan,B,0"),
            "users.csv: the exposures of arm B are all 0",
        ),
        (USERS.replace("eva", ""), "users.csv: 1 empty cell of unit (column 'unit'), the first at"),
        (USERS.replace(",B", ",A"), "users.csv: there is no user in arm B"),
        (
            USERS.replace("unit", "who"),
            "users.csv: there is no column 'unit'; the columns are who, collected_by, ",
        ),
    ],
)
def test_bad_lists_of_users(loaded, users, said):
    with pytest.raises(TruecostError) as caught:
        loaded(users=users)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dropped": ["unit"]}, "users.csv: a list of users needs the unit of each item"),
        ({"units": (9, 9)}, "a list of users has their number: leave out units_a, units_b"),
        ({"units": (1, 1)}, "a list of users has their number: leave out units_a, units_b"),
        ({"exposure": (9, 9)}, "users.csv has the exposure of each user: leave out exposure_a"),
    ],
)
def test_a_list_of_users_with_what_it_tells_itself(loaded, options, said):
    with pytest.raises(tc.UsageError) as caught:
        loaded(users=USERS, **options)
    assert str(caught.value).startswith(said)


def test_units_may_be_idle_and_idle_ones_that_collected_are_said(loaded):
    idle = USERS.replace("eva,A,1", "eva,A,0")
    found = loaded(users=idle)
    assert found.problems == ()
    assert 0 in found.traffic.users["exposure"].to_list()
    assert loaded(users=idle.replace("ben,A,2", "ben,A,0")).problems == (
        "1 unit has items but the exposure 0 (ben): the A/B-only estimate counts the items all the "
        "same",
    )


def test_a_model_that_finds_nothing_offline_scores_minus_infinity(loaded):
    found = loaded({(3, "score_b"): "-inf", (4, "score_a"): "-inf"}, threshold_a=None)
    assert [CELLS[k] for k in found.cell] == ["10A", "01B", "11A", "11A", "11B"]
    assert found.threshold_a == 0.5  # the least that A collected
    assert found.score_b[0] == found.score_a[1] == -np.inf
    with pytest.raises(tc.InputError) as caught:
        loaded({(3, "score_a"): "-inf"}, threshold_a=None)
    assert str(caught.value) == (
        "log.csv: 1 score is missing or infinite (column 'score_a', model A): line 3 (id u1, "
        "-inf); A collects no item with such a score; correct it, or leave the item out"
    )
    assert len(loaded({(3, "score_a"): "-inf"}, mismatch="drop")) == 4


def test_units_in_both_arms_are_said(loaded):
    found = loaded({(4, "unit"): "ann"})
    assert found.problems == (
        "1 of 3 units collected in both arms (ann): units were not randomised as wholes, or have "
        "several devices; the items of one are resampled together",
    )
    both = USERS.replace("eva,A", "ann,B")
    assert loaded({(4, "unit"): "ann"}, users=both).traffic.users.height == 5


def states(found):
    return [(check.name, check.state) for check in found]


def test_validation_lists_every_fault_once(loaded, put):
    loaded()
    text = LOG.replace("u3,A,0.9,0.8,1", "u3,C,0.9,0.8,2").replace("u2,B,0.3,0.7", "u1,B,,0.7")
    table = read(put(text.replace("dan", "")), None, "abba")
    found = checks(table, LogOptions(columns={"inclusion": "none"}, **GIVEN))
    assert states(found) == [
        ("rows", "ok"),
        ("ids", "error"),
        ("collected_by", "error"),
        ("model A", "error"),
        ("label", "error"),
        ("inclusion", "error"),
        ("unit", "error"),
    ]


def test_validation_of_mismatches_in_both_arms(put):
    table = read(put(LOG), None, "abba")
    found = checks(table, LogOptions(threshold_a=0.55, threshold_b=0.75))
    assert states(found) == [("rows", "ok"), ("mismatch A", "error"), ("mismatch B", "error")]


def test_validation_counts_items_and_labels_of_each_cell():
    arm, other = np.repeat(["A", "A", "B", "B"], 12), np.tile(np.repeat([1, 0], 12), 2)
    label = np.where(np.arange(48) % 12 < 6, 1.0, 0.0)
    label[24:36] = np.nan
    label[2:6] = np.nan
    frame = pl.DataFrame(
        {
            "collected_by": arm,
            "accept_a": np.where(arm == "A", 1, other),
            "accept_b": np.where(arm == "B", 1, other),
            "label": label,
        }
    )
    found = checks(Table("log", frame), LogOptions())
    assert [(check.name, check.state, check.message) for check in found] == [
        ("rows", "ok", "log: 48 rows read"),
        (
            "11A",
            "warning",
            "log: 11A (collected by A, accepted by both): 12 items, 8 labels (2 of 1, 6 of 0); "
            "fewer than 5 labels of 1",
        ),
        (
            "10A",
            "ok",
            "log: 10A (collected by A, accepted by A alone): 12 items, 12 labels (6 of 1, 6 of 0)",
        ),
        (
            "11B",
            "warning",
            "log: 11B (collected by B, accepted by both): 12 items, no labels; "
            "without labels in this cell, human labels alone give no ratio",
        ),
        (
            "01B",
            "ok",
            "log: 01B (collected by B, accepted by B alone): 12 items, 12 labels (6 of 1, 6 of 0)",
        ),
    ]


def test_validation_warns_of_cells_without_items():
    frame = pl.DataFrame({"collected_by": ["A", "B"], "accept_a": [1, 0], "accept_b": [1, 1]})
    found = checks(Table("log", frame), LogOptions(unlabelled=True))
    assert [(c.name, c.message) for c in found if c.state == "warning"][:2] == [
        (
            "10A",
            "log: 10A (collected by A, accepted by A alone): 0 items, no labels; one model accepts "
            "all that the other collected",
        ),
        (
            "11B",
            "log: 11B (collected by B, accepted by both): 0 items, no labels; without such items "
            "the direct ratios cannot be estimated",
        ),
    ]


def test_validation_warns_of_what_loading_notes(put):
    table = read(put(LOG.replace("cid", "ann")), None, "abba")
    found = checks(table, LogOptions())
    warned = [check.message for check in found if check.name == "log"]
    assert [text.split(":")[1][:30] for text in warned] == [
        " the deployed threshold of A w",
        " the deployed threshold of B w",
        " 1 of 3 units collected in bot",
    ]
    silent = checks(Table("log", frame_of().drop("label")), LogOptions(**NO_SCORES))
    assert (silent[-1].name, silent[-1].state) == ("labels", "warning")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"collected_by": "AB"}, "collected_by is 'AB' (str): give a list"),
        ({"label": [1]}, "label has 1 entry, but collected_by has 2"),
        ({"ids": ["a"]}, "ids has 1 entry, but collected_by has 2"),
        ({"ids": ["a", None]}, "ids[1] is empty: each item needs an id"),
        ({"ids": ["a", "a"]}, "deployment: 1 id occurs more than once: a (row 0, row 1)"),
        ({"threshold_a": "0.5"}, "threshold_a is '0.5' (str): give a number"),
        ({"split": "half"}, "split is 'half' (str): give a number"),
        ({"units": 5}, "units: give two numbers, of arm A and of arm B"),
        ({"exposure": ("a", 1)}, "exposure[0] is 'a' (str): give a number"),
        ({"raw_machine": "no"}, "raw_machine is 'no' (str): give True or False"),
        ({"labels": [1, 0]}, "collected_items has no parameter 'labels' (did you mean 'label'?)"),
        ({"id": [1, 0]}, "collected_items has no parameter 'id' (did you mean 'ids'?)"),
        ({"users": [1, 2]}, "users is of type list: give columns, {'unit': [...], 'collected_by'"),
        ({"accept_b": None}, "deployment: there is no column for accept_b"),
    ],
)
def test_arrays_that_are_not_what_they_should_be(given, said):
    log = {"collected_by": ["A", "B"], "accept_a": [1, 1], "accept_b": [1, 1], "label": [1, 0]}
    with pytest.raises(TruecostError, match=re.escape(said)):
        collected_items(**{**log, **given})


def test_users_of_arrays():
    log = {"collected_by": ["A", "B"], "accept_a": [1, 1], "accept_b": [1, 1], "label": [1, 0]}
    users = {"unit": [1, 2, 3], "collected_by": ["A", "B", "B"]}
    for given_ in (users, pl.DataFrame(users), pd.DataFrame(users)):
        found = collected_items(**log, unit=[1, 2], users=given_)
        assert found.traffic.exposures == (1.0, 2.0)


def test_an_empty_table_is_refused():
    with pytest.raises(tc.InputError, match="log: there are no items"):
        load(Table("log", pl.DataFrame({"collected_by": []})), LogOptions())
    with pytest.raises(tc.InputError, match="there are no items"):
        collected_items([], accept_a=[], accept_b=[], label=[])


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("a;b\n1;2\n", tc.InputError, "log, line 1: no header with names separated by commas or "),
        ("a,b\tc\n", tc.UsageError, "log: the header has commas and tabs: use input_format"),
        ('[{"a": 1}]\n', tc.InputError, "log, line 1: no header with names separated by commas"),
        ("", tc.InputError, "log: the file is empty; expected items that two models collected"),
    ],
)
def test_a_log_whose_format_is_not_clear(put, text, error, said):
    with pytest.raises(error) as caught:
        read(put(text, "log"), None, "abba")
    assert str(caught.value).startswith(said)


def test_a_header_that_is_known_decides(put):
    path = put("collected_by,a\tb\nA,1\n", "log")
    assert read(path, None, "abba").columns == ["collected_by", "a\tb"]


def test_endings_of_other_tasks_are_refused(put):
    with pytest.raises(
        tc.UsageError, match=r"\.json is the ending of format seglst, which is not read for abb"
    ):
        read(put("[]", "log.json"), None, "abba")


CELL = st.sampled_from(
    ["", "0", "1", "0.5", "-1", "A", "B", "C", "nan", "inf", "1e400", "true", "x", "a+b", "1.0"]
)
NUMBER = st.none() | st.floats() | st.integers(-2, 3)
PAIR = st.none() | st.tuples(*[st.integers(0, 4) | st.floats()] * 2)
FINE = {key: ["0.5", "1"] for key in MAP_KEYS}
FINE |= {"collected_by": ["A", "b"], "accept_a": ["1"], "accept_b": ["1", "yes"]}
FINE |= {"label": ["0", "1", ""], "unit": ["1", "u", "v"]}


@st.composite
def logs(draw):
    """Some columns of some rows; mostly of words that may stand there."""
    size = draw(st.integers(0, 6))
    fine = draw(st.booleans())
    found = {}
    for key in draw(st.sets(st.sampled_from(list(MAP_KEYS)))) | {"collected_by"}:
        words = st.sampled_from(FINE[key])
        cells = st.lists(words if fine else words | CELL, min_size=size, max_size=size)
        found[key] = draw(cells) if key != "id" or not fine else [f"i{k}" for k in range(size)]
    frame = pl.DataFrame({k: pl.Series(found[k], dtype=pl.String) for k in sorted(found)})
    return Table("log", frame, first_line=2)


def faults_of(table, options, users):
    """What loading says, or None when it gives a deployment that is in order."""
    try:
        found = load(table, options, users=users)
    except TruecostError as error:
        return str(error)
    assert set(found.arm) == {0, 1}
    assert found.ids.tolist() == sorted(found.ids)
    assert np.isin(found.label[found.labelled], (0, 1)).all()
    return None


@given(
    table=logs(),
    options=st.fixed_dictionaries(
        {},
        optional={
            "threshold_a": NUMBER,
            "threshold_b": NUMBER,
            "exposure": PAIR,
            "units": PAIR,
            "split": NUMBER,
            "mismatch": st.sampled_from(["error", "drop"]),
            "raw_machine": st.booleans(),
            "unlabelled": st.booleans(),
        },
    ),
    listed=st.none() | st.lists(st.tuples(CELL, st.sampled_from("ABC"), CELL), max_size=4),
)
@settings(max_examples=4 * settings.default.max_examples)
def test_only_our_errors_come_out_and_validation_says_the_same(table, options, listed):
    users = None
    if listed is not None:
        names = ["unit", "collected_by", "exposure"]
        users = Table("users", pl.DataFrame(listed, dict.fromkeys(names, pl.String), orient="row"))
    try:
        chosen = LogOptions(**options)
    except tc.UsageError:
        return
    said = faults_of(table, chosen, users)
    if len(table):
        wrong = [c.message for c in checks(table, chosen, users=users) if c.state == "error"]
        assert wrong[:1] == ([] if said is None else [said])
