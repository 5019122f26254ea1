"""Calibration of files read in parts: the same bytes as in memory, whatever it is fitted to."""

import json
from pathlib import Path

import polars as pl
import pytest

from test_large import TYPED, frame, parts
from truecost import cli
from truecost.calibration import METHODS
from truecost.tasks.trials import large

__all__ = ["parts"]
HOW = (*TYPED, "--replicates", "40", "--measure", "act_dcf,min_dcf,cllr,eer,auc")
UNIT = ("--map", "unit=speaker")
WEIGHTED = ("--map", "unit=speaker,weight=w")
CROSSED = ("--map", "unit=speaker+other")


@pytest.fixture
def dev(parts):
    """Files with other trials of the same speakers, as a whole and in parts; shuffled ones."""
    other = frame(seed=1)
    other.write_parquet("dev.parquet")
    Path("devs").mkdir()
    for k, at in enumerate((0, 1100)):
        other[at : (1100, len(other))[k]].write_parquet(f"devs/{k}.parquet")
    pl.read_parquet("whole.parquet").sample(fraction=1.0, shuffle=True, seed=5).write_parquet(
        "mixed.parquet"
    )
    return parts


def told(capsys, *words):
    """What a calibration prints as JSON, without the hashes of its files."""
    assert cli.run(["calibrate", *words, *HOW, "--json"]) == 0, words
    found = json.loads(capsys.readouterr().out)
    return {key: found[key] for key in ("rows", "described")}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("units", [UNIT, WEIGHTED, CROSSED], ids=lambda words: words[1])
def test_cross_fitted_by_unit(dev, method, units, capsys):
    wanted = told(capsys, "x=whole.parquet", *units, "--method", method)
    assert told(capsys, "x=mixed.parquet", *units, "--method", method) == wanted
    assert told(capsys, "x=parts/*.parquet", *units, "--method", method) == wanted


@pytest.mark.parametrize("method", METHODS)
def test_fitted_to_other_files_or_to_the_same(dev, method, capsys):
    wanted = told(capsys, "d=dev.parquet", "x=whole.parquet", *WEIGHTED, "--method", method)
    of_parts = ("d=devs/*.parquet", "x=parts/*.parquet", *WEIGHTED, "--method", method)
    assert told(capsys, *of_parts) == wanted
    words = ("--in-sample", *UNIT, "--method", method)
    wanted = told(capsys, "x=whole.parquet", *words)
    assert told(capsys, "x=parts/*.parquet", *words) == wanted
    after = [row["signature"] for row in wanted["rows"] if row["dims"]["system"] != "x"]
    assert after
    assert all(f"calibrated:{method}:self" in said for said in after)


def test_processes_give_the_same_calibration(dev, capsys):
    words = ("d=devs/*.parquet", "x=parts/*.parquet", *UNIT)
    engine = ("--engine", "processes", "--jobs", "2", "--cache", "kept")
    assert told(capsys, *words, *engine) == told(capsys, *words)


@pytest.mark.parametrize(("more", "said"), [
    (("-o", "out.csv"), "--output FILE (give each file by itself after TRAIN) does not fit"),
    (("--fold", "noise"), "--fold COLUMN (folds are dealt by unit) does not fit"),
    (("--map", "label=nothing,unit=speaker"), "a file without labels (give each by itself after"),
])  # fmt: skip
def test_what_goes_with_files_in_memory_alone_is_refused_before_counting(
    dev, more, said, capsys, monkeypatch
):
    monkeypatch.setattr(large, "sort_partitions", None)  # it would fail
    units = () if "--map" in more else UNIT
    assert cli.run(["calibrate", "x=parts/*.parquet", *units, *HOW, *more]) == 2
    assert said in capsys.readouterr().err
