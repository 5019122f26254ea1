"""The workers of Ray give the same segments as threads; skipped where Ray is not installed."""

import os
import sys

import pytest

from partitioned import Narrow, Read
from test_large import digest, parts
from truecost.engines import mapping

__all__ = ["parts"]
pytest.importorskip("ray")


@pytest.mark.parametrize("reader", [Read(), Narrow()], ids=["wide", "narrow"])
def test_equal_segments_on_ray(parts, reader, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # for the workers
    paths = [f"parts/{k}.parquet" for k in range(3)]
    wanted = digest("serial", paths, reader, mapping.Serial(2))
    with mapping.engine_of("ray", 2) as engine:
        assert digest("ray", paths, reader, engine) == wanted
