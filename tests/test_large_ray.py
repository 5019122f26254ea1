"""The workers of Ray give the same bytes as threads; skipped where Ray is not installed."""

import os
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest

import streaming
from partitioned import KillingRay, Narrow, Read
from test_counted_apart import result
from test_large import MAPPED, digest, parts, rows
from truecost import cli
from truecost.engines import mapping
from truecost.study import settings

__all__ = ["parts"]
pytest.importorskip("ray")
pytestmark = pytest.mark.lane
RAY = ("--engine", "ray", "--jobs", "2")


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Workers find the modules of the tests."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))


@pytest.fixture
def long_folder(tmp_path, monkeypatch):
    """A folder for temporary files that is too long for the names of sockets."""
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_equal_segments_even_when_workers_are_killed(parts, long_folder):
    paths = [f"parts/{k}.parquet" for k in range(3)]
    engine = KillingRay(2)
    try:
        for name, reader in {"wide": Read(), "narrow": Narrow()}.items():
            wanted = digest(f"serial-{name}", paths, reader, mapping.Serial(2))
            assert digest(f"ray-{name}", paths, reader, engine) == wanted
            for flag in Path().glob("killed-*"):
                flag.unlink()  # the next are killed too
    finally:
        engine.close()
    assert not Path(engine._folder).exists()


def test_results_and_faults_are_those_of_threads(parts, monkeypatch, capsys):
    words = ("score", "parts/*.parquet", *MAPPED)
    assert rows(*words, *RAY) == rows(*words)
    monkeypatch.setattr(settings, "SMALL", 0)
    streaming.written(parts)
    logs = ("streams", "score", "runs", "--labels", "labels.csv")
    assert result("ray", *logs, *RAY) == result("here", *logs)
    bad = pl.read_parquet("parts/1.parquet").with_columns(label=pl.lit("maybe"))
    bad.write_parquet("parts/1.parquet")
    capsys.readouterr()
    said = []
    for more in ((), RAY):
        assert cli.run([*words, *more]) == 3
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]


def test_workers_that_are_always_killed_end_the_work(monkeypatch):
    with mapping.engine_of("ray", 1) as engine, pytest.raises(Exception, match="killed 3 times"):
        engine.map(os._exit, [(1,)])
