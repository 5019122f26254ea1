"""Files read in parts: the same results as in memory, to the last byte, for any engine."""

import fcntl
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from partitioned import Killing, Narrow, Read
from processes import gone
from truecost import cli
from truecost.core.factors import FIRST_ROWS, coded_texts
from truecost.engines import mapping, partitions, segments
from truecost.errors import InputError, UsageError
from truecost.kernels import order
from truecost.kernels.order import first_ranges, order_by_range
from truecost.study.config import Study
from truecost.study.settings import Reader, sources_of
from truecost.tasks.trials import large, loading, work
from truecost.tasks.trials.curves import reliability

ROWS = 3000


def frame(seed=0, rows=ROWS, digits=2):
    """Trials with ties, of which a few speakers stand on both sides."""
    draws = np.random.default_rng(seed)
    targets = draws.random(rows) < 0.2
    scores = draws.normal(np.where(targets, 1.5, -1.5), 1.5, rows).round(digits)
    return pl.DataFrame({
        "trial": [f"t{k}" for k in range(rows)],
        "score": scores,
        "label": np.where(targets, "target", "nontarget"),
        "speaker": [f"s{k}" for k in draws.integers(0, 40, rows)],
        "other": [f"s{k}" for k in draws.integers(20, 60, rows)],
        "noise": np.where(draws.random(rows) < 0.5, "babble", "street"),
        "snr": draws.integers(0, 20, rows),
        "w": draws.random(rows).round(3) + 0.5,
    })  # fmt: skip


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A file, and its rows shuffled over three files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(partitions, "ROWS", 500)
    monkeypatch.setattr(segments, "ROWS", 700)
    whole = frame()
    whole.write_parquet("whole.parquet")
    mixed = whole.sample(fraction=1.0, shuffle=True, seed=3)
    (tmp_path / "parts").mkdir()
    for k, at in enumerate((0, 400, 1900)):
        end = (400, 1900, ROWS)[k]
        mixed[at:end].write_parquet(f"parts/{k}.parquet")
    return tmp_path


def rows(*words):
    """The rows of result.json, with what names the system left out."""
    out = f"out-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:8]}"
    assert cli.run([*words, "--replicates", "40", "-o", out]) == 0, words
    found = json.loads(Path(out, "result.json").read_text())["rows"]
    for row in found:
        row["dims"].pop("system", None)
    return found


TYPED = ("--type", "llr", "--prior", "0.05")
UNIT = "score=score,label=label,unit=speaker"
MAPPED = (*TYPED, "--map", UNIT)
ALL = ("--measure", "act_dcf,min_dcf,cllr,min_cllr,eer,auc,p_miss,p_fa,miss_at_fa:0.1,cnxe")


WAYS = (("whole.parquet", "--engine", "serial"), ("parts/*.parquet",), ("parts", "--jobs", "1"))
CHOICES = (
    (), ALL, ("--subset", "noise"), ("--subset", "snr < 10"), ("--method", "percentile"),
    ("--map", "unit=speaker+other"), ("--map", f"{UNIT},unit2=other"),
    ("--map", f"{UNIT},weight=w"), ("--map", "stratum=noise,unit=trial"),
    ("--threshold", "0.5"), ("--cost-miss", "10"),
)  # fmt: skip
# Nothing chosen and all measures in every way; of the others one way each, all with long studies.
READ = [
    pytest.param(
        way, more, id=" ".join((*way, *more)), marks=[pytest.mark.long][: j > 1 and (j - k) % 3]
    )
    for j, more in enumerate(CHOICES)
    for k, way in enumerate(WAYS)
]


@pytest.mark.parametrize(("way", "more"), READ)
def test_the_same_bytes_as_in_memory(parts, way, more, capsys):
    how = (*(TYPED if "--map" in more else MAPPED), *more)
    wanted = rows("score", "whole.parquet", *how)
    assert rows("score", way[0], *how, *way[1:]) == wanted


@pytest.mark.parametrize("kind", ["score", "posterior"])
def test_other_types_of_scores(parts, kind, capsys):
    whole = pl.read_parquet("whole.parquet")
    odds = pl.col("score").exp() / (1 + pl.col("score").exp())
    whole.with_columns(score=odds).write_parquet("other.parquet")
    words = ("score", "other.parquet", "--type", kind, "--map", "unit=speaker")
    assert rows(*words, "--engine", "serial") == rows(*words)


def test_trials_that_are_their_own_units(parts, capsys):
    words = ("score", "whole.parquet", "--type", "llr", "--prior", "0.1")
    assert rows(*words, "--engine", "serial") == rows(*words)


def test_text_files(parts, capsys):
    pl.read_parquet("whole.parquet").write_csv("whole.csv")
    wanted = rows("score", "whole.parquet", *MAPPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "BYTES", 9000)
        assert len(partitions.partitions_of(["whole.csv"])) > 5
        assert rows("score", "whole.csv", *MAPPED, "--engine", "serial") == wanted
    pl.read_parquet("whole.parquet").write_ndjson("whole.ndjson")
    assert rows("score", "whole.ndjson", *MAPPED, "--engine", "serial") == wanted


def test_text_files_whose_names_do_not_say_their_format(parts, capsys):
    whole = pl.read_parquet("whole.parquet")
    whole.write_csv("whole.txt")
    whole[:0].write_csv("none.csv")
    wanted = rows("score", "whole.parquet", *MAPPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "BYTES", 9000)
        assert rows("score", "whole.txt", *MAPPED, "--engine", "serial") == wanted
        found = partitions.partitions_of(["whole.txt", "none.csv"])
    assert {one.head for one in found} == {b"trial,score,label,speaker,other,noise,snr,w\n"}
    assert {one.path for one in found} == {"whole.txt"}


def test_names_with_signs_of_patterns_are_names(parts, capsys):
    """Beside a file that the name would fit, were it a pattern."""
    whole = pl.read_parquet("whole.parquet")
    Path("1").mkdir()
    Path("[1]").mkdir()
    whole[:7].write_parquet("1/x.parquet")
    whole.write_parquet("[1]/x.parquet")
    wanted = rows("score", "whole.parquet", *MAPPED)
    assert rows("score", "[1]/x.parquet", *MAPPED, "--engine", "serial") == wanted
    Path("parts").rename("[1]/parts")
    assert rows("score", "[1]/parts", *MAPPED) == wanted


def test_a_folder_is_all_of_its_tables(parts, capsys):
    wanted = rows("score", "parts", *MAPPED)
    Path("parts/0.parquet").rename("parts/0.PARQUET")
    Path("parts/_SUCCESS").touch()
    Path("parts/.hidden").touch()
    assert rows("score", "parts", *MAPPED, "--jobs", "2") == wanted
    Path("parts/2.csv.gz").touch()
    assert cli.run(["score", "parts", *MAPPED]) == 2
    said = capsys.readouterr().err
    assert "contains other files: 2.csv.gz. Name a file, such as parts/0.PARQUET" in said


def test_parts_of_the_same_bytes_are_refused(parts, capsys):
    Path("parts/3.parquet").write_bytes(Path("parts/0.parquet").read_bytes())
    assert cli.run(["score", "parts", *MAPPED]) == 3
    said = capsys.readouterr().err
    assert "parts/0.parquet and parts/3.parquet have the same content" in said


def test_comparisons(parts, capsys):
    better = pl.read_parquet("whole.parquet").with_columns(pl.col("score") * 1.5)
    better.sample(fraction=1.0, shuffle=True, seed=9).write_parquet("better.parquet")
    mapped = (*TYPED, "--map", f"{UNIT},id=trial")
    wanted = rows("compare", "a=whole.parquet", "b=better.parquet", *mapped)
    assert rows("compare", "a=parts/*.parquet", "b=better.parquet", *mapped,
                "--engine", "serial") == wanted  # fmt: skip
    better[:-1].write_parquet("fewer.parquet")
    command = ["compare", "whole.parquet", "fewer.parquet", *mapped, "--engine", "serial"]
    assert cli.run(command) == 3
    assert "not scored on the same trials" in capsys.readouterr().err


def digest(folder, paths, reader, engine):
    """Hashes of the sorted columns."""
    Path(folder).mkdir()
    found = partitions.partitions_of(paths)
    segments.sort_partitions(found, reader, partitions.Sets(), str(folder), engine)
    files = sorted(Path(folder).iterdir())
    assert [p.name for p in files if ".part" in p.name or p.name[0].isdigit()] == []
    files = [p for p in files if p.name != segments.MANIFEST]  # it tells of each partition
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.parametrize("reader", [Read(), Narrow()], ids=["wide", "narrow"])
def test_equal_segments_for_any_engine_order_and_kill(parts, reader):
    paths = [f"parts/{k}.parquet" for k in range(3)]
    wanted = digest("serial", paths, reader, mapping.Serial(1))
    assert digest("threads", paths, reader, mapping.Serial(3)) == wanted
    assert digest("whole", ["whole.parquet"], reader, mapping.Serial(2)) == wanted
    assert digest("shuffled", paths[::-1], reader, mapping.Serial(2)) == wanted
    killing = Killing(2)
    try:
        assert digest("killed", paths, reader, killing) == wanted
    finally:
        killing.close()


@pytest.mark.parametrize("ranges", [1, 3, 1 << 16])
def test_the_number_of_ranges_changes_nothing_and_what_is_done_is_told(parts, monkeypatch, ranges):
    wanted = digest("plain", ["whole.parquet"], Read(), mapping.Serial(1))
    monkeypatch.setattr(segments, "ROWS", 50)
    monkeypatch.setattr(segments, "RANGES", ranges)
    monkeypatch.setattr(partitions, "ROWS", 400)
    assert digest("ranges", ["whole.parquet"], Read(), mapping.Serial(2)) == wanted
    told, found = [], partitions.partitions_of(["whole.parquet"])
    Path("told").mkdir()
    segments.sort_partitions(found, Read(), partitions.Sets(), "told", mapping.Serial(1),
                             lambda *step: told.append(step))  # fmt: skip
    steps = {step: [done for s, done, _ in told if s == step] for step, *_ in told}
    total = pl.read_parquet("whole.parquet").height
    assert {total for *_, total in told} == {total}
    assert list(steps) == ["reading rows", "sorting rows"]
    assert all(done == sorted(done) and done[-1] == total for done in steps.values())
    number = len(steps["sorting rows"])
    assert number == ranges if ranges < 9 else 9 < number <= total // 50


def test_processes_give_the_same_results(parts, capsys):
    words = ("score", "parts/*.parquet", *MAPPED)
    assert rows(*words, "--engine", "processes", "--jobs", "2") == rows(*words)


def test_segments_hold_what_the_files_hold(parts):
    found = segments.sort_partitions(
        partitions.partitions_of(["whole.parquet"]),
        Read(),
        partitions.Sets(),
        ".",
        mapping.Serial(2),
    )
    whole = pl.read_parquet("whole.parquet")
    assert (np.diff(found.scores) >= 0).all()
    there = pl.DataFrame({
        "score": found.scores, "code": found.codes, "w": found.numbers["w"],
        "speaker": np.asarray(found.texts["speaker"]), "noise": np.asarray(found.texts["noise"]),
    })  # fmt: skip
    known = whole.select("score", (pl.col("label") == "target").cast(pl.UInt8).alias("code"), "w",
                         "speaker", "noise")  # fmt: skip
    assert there.sort(there.columns).equals(known.sort(known.columns))


@pytest.mark.parametrize(("change", "more", "said"), [
    ({"score": None}, (), "missing or NaN"),
    ({"label": "maybe"}, (), "label 'maybe' is neither "),
    ({"speaker": None}, (), "empty cell of unit"),
    ({"label": "maybe"}, ("--target", "seven"), "no trial has the label 'seven'"),
])  # fmt: skip
def test_bad_rows_are_refused_with_their_place(parts, capsys, change, more, said):
    name, value = next(iter(change.items()))
    whole = pl.read_parquet("whole.parquet")
    bad = pl.when(pl.int_range(pl.len()) == 1234).then(pl.lit(value)).otherwise(name).alias(name)
    whole.with_columns(bad).write_parquet("bad.parquet")
    command = ["score", "bad.parquet", *MAPPED, *more, "--engine", "serial"]
    assert cli.run(command) == 3
    err = capsys.readouterr().err
    assert said in err
    if name != "label":
        assert "bad.parquet" in err
        assert "row 1234" in err


@pytest.mark.parametrize(("more", "said"), [
    (("--missing", "worst"), "--missing worst does not fit files that are read in parts"),
    (("--key", "whole.parquet"), "--key, which is joined in memory"),
    (("--type", "decision"), "type decision does not fit"),
    (("--resample", "blocks"), "--resample blocks of trials (name a unit)"),
])  # fmt: skip
def test_what_cannot_be_read_in_parts_is_refused_at_once(parts, capsys, more, said):
    how = MAPPED[2:] if "--type" in more else TYPED if "blocks" in more else MAPPED
    assert cli.run(["score", "whole.parquet", *how, *more, "--engine", "serial"]) == 2
    assert said in capsys.readouterr().err


def test_rows_without_a_score_are_left_out(parts, capsys):
    whole = pl.read_parquet("whole.parquet")
    lost = pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("score").alias("score")
    whole.with_columns(lost).write_parquet("lost.parquet")
    words = ("score", "lost.parquet", *MAPPED, "--missing", "drop")
    assert rows(*words, "--engine", "serial") == rows(*words)


@pytest.mark.parametrize("named", [True, False])
def test_trials_that_are_their_own_units_by_id_or_by_row(parts, named, capsys):
    """Rows are numbered after those without a score are left out, as in memory."""
    whole = pl.read_parquet("whole.parquet").rename({"trial": "id" if named else "name"})
    lost = pl.when(pl.int_range(pl.len()) % 7 == 3).then(None).otherwise("score").alias("score")
    whole.with_columns(lost).write_parquet("own.parquet")
    words = ("score", "own.parquet", *TYPED, "--missing", "drop")
    assert rows(*words, "--engine", "serial") == rows(*words)


def test_ids_that_are_repeated_are_refused(parts, capsys):
    whole = pl.read_parquet("whole.parquet").rename({"trial": "id"})
    pl.concat([whole, whole[:1]]).write_parquet("twice.parquet")
    assert cli.run(["score", "twice.parquet", *TYPED, "--engine", "serial"]) == 3
    assert "1 id occurs more than once: t0" in capsys.readouterr().err


def test_so_many_trials_are_no_units_by_their_ids(parts, monkeypatch, capsys):
    monkeypatch.setattr(large, "LARGE", ROWS - 1)
    pl.read_parquet("whole.parquet").rename({"trial": "id"}).write_parquet("own.parquet")
    assert cli.run(["score", "own.parquet", *TYPED, "--engine", "serial"]) == 2
    assert "name the unit column (--map unit=COLUMN)" in capsys.readouterr().err


def test_systems_without_the_same_scores_are_not_compared(parts, capsys):
    """As many trials are left, and not the same ones."""
    whole = pl.read_parquet("whole.parquet")
    for name, lost in (("a", 5), ("b", 6)):
        score = pl.when(pl.int_range(pl.len()) == lost).then(None).otherwise("score")
        whole.with_columns(score=score).write_parquet(f"{name}.parquet")
    command = ["compare", "a.parquet", "b.parquet", *TYPED, "--map", f"{UNIT},id=trial",
               "--missing", "drop", "--engine", "serial"]  # fmt: skip
    assert cli.run(command) == 3
    assert "not scored on the same trials" in capsys.readouterr().err


def test_other_columns_may_differ_between_systems(parts, capsys):
    whole = pl.read_parquet("whole.parquet")
    whole.with_columns(snr=pl.col("snr") + 1).write_parquet("other.parquet")
    words = ("compare", "whole.parquet", "other.parquet", *TYPED, "--map", f"{UNIT},id=trial",
             "--subset", "snr < 10")  # fmt: skip
    assert rows(*words, "--engine", "serial") == rows(*words)


def test_a_column_of_several_types_in_text_files(parts, capsys):
    """Every block of JSON lines is read by itself: whole numbers in one, others in the next."""
    whole = pl.read_parquet("whole.parquet").with_columns(snr=pl.col("snr").cast(pl.Float64))
    lines = [json.loads(line) for line in whole.write_ndjson().splitlines()]
    for line in lines[:1500]:
        line["snr"] = int(line["snr"])
    Path("mixed.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ("score", "mixed.ndjson", *MAPPED, "--subset", "snr < 10")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "BYTES", 20_000)
        assert rows(*words, "--engine", "serial") == rows(*words)
        lines[-1]["snr"] = "loud"
        Path("mixed.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert cli.run(["score", "mixed.ndjson", *words[2:], "--engine", "serial"]) == 3


def test_moving_blocks_of_units(parts, capsys):
    words = ("score", "whole.parquet", *MAPPED, "--resample", "blocks", "--block-length", "4")
    assert rows(*words, "--engine", "serial") == rows(*words)


@pytest.mark.parametrize("fault", ["damaged", "no column", "gone"])
def test_a_part_that_cannot_be_read_is_never_left_out(parts, capsys, fault):
    part = Path("parts/1.parquet")
    if fault == "damaged":
        part.write_bytes(part.read_bytes()[:-100] + b"x" * 100)
    elif fault == "no column":
        pl.read_parquet(part).drop("speaker").write_parquet(part)
    else:
        part.unlink()
        part.symlink_to("nowhere")
    code = cli.run(["score", "parts/*.parquet", *MAPPED])
    err = capsys.readouterr().err
    assert code == (2 if fault == "no column" else 3)
    assert "parts/1.parquet" in err
    assert fault != "no column" or "there is no column 'speaker'" in err


def test_in_python_a_pattern_is_one_system_too(parts):
    how = {"type": "llr", "prior": 0.05, "unit": "speaker", "replicates": 20}
    many, one = tc.score("parts/*.parquet", **how), tc.score("whole.parquet", **how)
    assert {row.dims["system"] for row in many.estimates} == {"parts"}
    assert [row.value for row in many.estimates] == [row.value for row in one.estimates]
    assert [row.lower for row in many.estimates] == [row.lower for row in one.estimates]


def test_a_full_disk_is_said_with_what_to_do(parts, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments, "_publish", full)
    assert cli.run(["score", "parts/*.parquet", *MAPPED, "--cache", "kept"]) == 3
    assert "cannot be written there (No space left on device): make room" in capsys.readouterr().err
    assert [*Path("kept").iterdir()] == []


SORTED = """
measures = ["act_dcf", "min_dcf", "eer", "auc", "cllr", "min_cllr", "miss_at_fa:0.1"]
also = ["f1"]
[data]
type = "llr"
map = {{ unit = "speaker", id = "trial" {1} }}
[systems]
a.file = "{0}"
b.file = "{0}"
[applications]
rare.prior = 0.01
often = {{ prior = 0.3, cost_miss = 5 }}
[interval]
replicates = 20
[subsets]
noise = "noise"
quiet = "snr < 10"
"""


@pytest.fixture
def sorts(monkeypatch):
    """How often trials are sorted, in memory and from parts, and reliability is computed."""
    found = {"sort_trials": 0, "order_of": 0, "sort_partitions": 0, "_detection": 0}

    def counted(room, name):
        work = getattr(room, name)

        def counting(*given, **named):
            found[name] += 1
            return work(*given, **named)

        monkeypatch.setattr(room, name, counting)

    counted(order, "sort_trials")
    counted(order, "order_of")
    counted(large, "sort_partitions")
    counted(reliability, "_detection")  # which no application changes
    return found


@pytest.mark.parametrize(
    ("file", "weight", "wanted"),
    [
        ("whole.parquet", "", [0, 2, 0, 2]),
        ("parts/*.parquet", "", [0, 0, 2, 2]),
        ("parts/*.parquet", ', weight = "w"', [0, 2, 2, 2]),  # ties stand in order of weight
    ],
)
def test_one_sort_for_each_system(parts, file, weight, wanted, sorts, capsys):
    """Applications, subsets, comparisons, metrics beside, curves and the check of reversed scores
    share it.
    """
    Path("study.toml").write_text(SORTED.format(file, weight))
    assert cli.run(["run", "study.toml", "-o", "out", "--quiet"]) == 0
    assert Path("out/curves.parquet").exists()
    assert [*sorts.values()] == wanted
    of_subsets = {e["dims"].get("subset") for e in json.loads(
        Path("out/result.json").read_text())["rows"]}  # fmt: skip
    assert {None, "quiet"} < of_subsets


CALIBRATED = """
[data]
type = "{}"
map = {{ unit = "speaker" }}
[systems.a]
file = "whole.parquet"
[application]
prior = 0.05
[calibration]
method = "affine"
[interval]
replicates = 20
[subsets]
noise = "noise"
"""


@pytest.mark.parametrize("kind", ["llr", "posterior"])
def test_one_sort_of_calibrated_scores(parts, kind, sorts, capsys):
    if kind == "posterior":
        odds = pl.read_parquet("whole.parquet")
        odds.with_columns(score=1 / (1 + (-pl.col("score")).exp())).write_parquet("whole.parquet")
    Path("study.toml").write_text(CALIBRATED.format(kind))
    assert cli.run(["run", "study.toml", "--quiet"]) == 0
    assert (sorts["sort_trials"], sorts["order_of"]) == (0, 1)
    assert cli.run(["calibrate", "whole.parquet", "--type", kind, *MAPPED[2:], "--quiet"]) == 0
    assert (sorts["sort_trials"], sorts["order_of"]) == (2, 1)  # as they were, and calibrated


@pytest.mark.parametrize(
    "words",
    [
        ("score", "whole.parquet", *MAPPED, "--subset", "noise"),
        ("compare", "whole.parquet", "other.parquet", *TYPED, "--map", f"{UNIT},id=trial"),
        ("score", "whole.parquet", *TYPED, "--map", f"{UNIT},unit2=other"),
        ("calibrate", "whole.parquet", *MAPPED),
        ("calibrate", "whole.parquet", "other.parquet", *MAPPED),
    ],
)
def test_units_of_many_trials_are_codes_and_change_nothing(parts, words, monkeypatch, capsys):
    pl.read_parquet("whole.parquet").with_columns(pl.col("score") / 2).write_parquet(
        "other.parquet"
    )

    def printed():
        assert cli.run([*words, "--replicates", "20"]) == 0
        return capsys.readouterr().out

    wanted = printed()
    monkeypatch.setattr(loading, "CODED", 0)
    assert printed() == wanted
    others = pl.read_parquet("whole.parquet").with_columns(speaker=pl.lit("s1"))
    others.write_parquet("others.parquet")
    if words[0] == "compare":
        assert cli.run([*words[:2], "others.parquet", *words[3:]]) == 3
        assert "a different unit speaker" in capsys.readouterr().err


def test_measures_take_few_bytes_a_trial(parts, monkeypatch):
    """Beside the sorted columns; scores of 32 bits and counts are never copied to 64."""
    monkeypatch.setattr(partitions, "ROWS", 1 << 20)
    monkeypatch.setattr(segments, "ROWS", 1 << 21)
    rows = 1_000_000
    frame(1, rows, 7).with_columns(pl.col("score").cast(pl.Float32)).write_parquet("many.parquet")
    study = Study.from_tables({
        "data": {"type": "llr", "map": {"unit": "speaker"}}, "engine": {"engine": "serial"},
        "systems": {"many": {"file": "many.parquet"}},
    })  # fmt: skip
    reader = Reader("trials")
    trials = work.read(sources_of(study)[0], reader, study)
    scoring = tc.Scoring(measures=("act_dcf", "min_dcf", "eer"), plan=tc.Plan(5))
    some = np.random.default_rng(3).normal(size=20_000)
    tc.score_system(tc.Trials.from_arrays(some, some > 1, kind="llr"), scoring)  # loads all kernels
    tracemalloc.start()
    tc.score_system(trials, scoring)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * rows, peak  # a copy of the scores to 64 bits would add 8


def test_a_worker_that_is_always_killed_ends_the_work():
    with mapping.engine_of("processes", 1) as engine, pytest.raises(InputError, match="killed 3"):
        engine.map(os._exit, [(1,)])


def test_a_pattern_of_one_file_is_that_file(parts, capsys):
    assert rows("score", "whol*.parquet", *MAPPED) == rows("score", "whole.parquet", *MAPPED)


def test_a_cache_is_sorted_once(parts, monkeypatch, capsys):
    words = ("score", "parts/*.parquet", *MAPPED)
    wanted = rows(*words)
    assert rows(*words, "--cache", "kept") == wanted
    (place,) = Path("kept").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(large, "sort_partitions", None)  # it would fail
        assert rows(*words, "--cache", "kept", "--engine", "serial") == wanted
    assert rows(*words, "--cache", "kept", "--subset", "noise")
    assert len([*Path("kept").iterdir()]) == 2  # other columns
    (place / "sorted.json").write_text("{}")
    assert cli.run([*words, "--cache", "kept"]) == 3
    assert "does not contain sorted data" in capsys.readouterr().err
    Path("file").touch()
    assert cli.run([*words, "--cache", "file"]) == 3
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [True, False], ids=["cache", "scratch"])
def test_the_next_command_removes_what_a_killed_one_left(parts, monkeypatch, kept):
    place = Path("here").absolute()
    for folder in (".truecost-old", ".truecost-busy"):
        (place / folder).mkdir(parents=True)
        (place / folder / "lock").touch()
        (place / folder / "000000.73636f726573").write_bytes(bytes(1000))
    with (place / ".truecost-busy" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        assert rows("score", "parts", *MAPPED, *(["--cache", "here"] if kept else []))
    gc.collect()  # the folder of this command goes with its reader
    assert [p.name for p in place.glob(".*")] == [".truecost-busy"]
    assert len([p for p in place.iterdir() if p.name[0] != "."]) == kept


def test_workers_end_when_the_command_is_killed():
    text = (
        "import os; from truecost.engines.mapping import Processes; found = Processes(2); "
        "print(*found.map(os.getpid, [()] * 4), flush=True); os.kill(os.getpid(), 9)"
    )
    words = [sys.executable, "-c", text]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -9
    assert gone({*map(int, done.stdout.split())})


def test_unknown_engines_are_refused():
    with pytest.raises(UsageError, match="engine 'spark' is not known"), mapping.engine_of("spark"):
        pass


def test_large_files_are_counted_in_parts_unasked(parts, monkeypatch):
    seen = []
    monkeypatch.setattr(partitions, "LARGE", ROWS - 1)
    monkeypatch.setattr(work, "SMALL", 0)
    monkeypatch.setattr(large, "sort_partitions",
                        lambda *how: seen.append(1) or segments.sort_partitions(*how))  # fmt: skip
    made = tc.score("whole.parquet", type="llr", prior=0.1, unit="speaker", replicates=5)
    assert seen == [1]
    assert made.estimates[0].n_trials == ROWS


SCORES = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, 1 + 1e-12, 1 - 1e-12, 3e38])


@given(st.lists(SCORES, min_size=1, max_size=40), st.lists(SCORES, max_size=12))
def test_ranges_are_those_of_a_binary_search(scores, edges):
    rows, sorted_edges = np.array(scores), np.unique(np.array(edges, np.float64))
    with np.errstate(over="ignore"):
        narrow = rows.astype(np.float32) + np.float32(0)
    places = np.empty(len(rows), np.int64)
    starts = order_by_range(rows, narrow, sorted_edges, first_ranges(sorted_edges), places)
    ranges = np.searchsorted(sorted_edges, rows, side="right")
    assert np.array_equal(places, np.argsort(ranges, kind="stable"))
    assert np.array_equal(np.diff(starts), np.bincount(ranges, minlength=len(sorted_edges) + 1))


@pytest.mark.parametrize("late", [0, 1, 3])
@pytest.mark.parametrize("labels", [1, 3, 5000])
def test_labels_are_sorted_wherever_they_stand(labels, late):
    """Those that the first rows lack too, as few and as many."""
    rows = [f"{k % labels}" for k in range(FIRST_ROWS + 100)] + [f"0{k}" for k in range(late)]
    coded = coded_texts(pl.Series(rows))
    assert coded.labels.tolist() == sorted({*rows})
    assert np.asarray(coded).tolist() == rows
