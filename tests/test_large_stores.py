"""Parquet of an object store, read from a local server; skipped where there is no such server."""

import os
import sys
from pathlib import Path

import pytest

from test_large import MAPPED, parts, rows
from truecost import cli
from truecost.study.config import Study

__all__ = ["parts"]
boto3 = pytest.importorskip("boto3")
server = pytest.importorskip("moto.server")
pytestmark = pytest.mark.lane
PATTERN = "s3://trials/parts/*.parquet"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def store():
    """A server of objects in this process."""
    running = server.ThreadedMotoServer(port=0)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def stored(parts, store, monkeypatch):
    """The parts in a bucket, and workers that find the modules of the tests."""
    where = {"AWS_ENDPOINT_URL": store, "AWS_ALLOW_HTTP": "true", **KEYS}
    for name, value in where.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    client = boto3.client("s3", region_name=KEYS["AWS_REGION"])
    client.create_bucket(Bucket="trials")
    for path in Path("parts").iterdir():
        client.put_object(Bucket="trials", Key=f"parts/{path.name}", Body=path.read_bytes())
    return client


def test_files_of_a_store_are_those_of_a_disk(stored, capsys):
    wanted = rows("score", "parts/*.parquet", *MAPPED)
    assert rows("score", PATTERN, *MAPPED) == wanted
    assert rows("score", PATTERN, *MAPPED, "--engine", "processes", "--jobs", "2") == wanted
    stored.put_object(Bucket="trials", Key="one.parquet", Body=Path("whole.parquet").read_bytes())
    assert rows("score", "s3://trials/one.parquet", *MAPPED) == wanted
    study = Study.from_tables({"systems": {"x": {"file": PATTERN}}, "data": {
        "type": "llr", "map": {"unit": "speaker"}}, "application": {"prior": 0.05}})  # fmt: skip
    Path("below").mkdir()
    Path("below/study.toml").write_text(study.to_toml())
    assert rows("run", "below/study.toml") == wanted


@pytest.mark.parametrize(("words", "code", "said"), [
    (("s3://trials/parts/*.csv",), 2, "only Parquet is read from object stores"),
    (("s3://trials/one.csv",), 2, "only Parquet is read from object stores"),
    (("s3://trials/none/*.parquet",), 3, "s3://trials/none/*.parquet: cannot be read"),
    (("s3://trials/none.parquet",), 3, "s3://trials/none.parquet: cannot be read"),
    ((PATTERN, "--cache", "kept"), 2, "--cache with an object store, whose files are not hashed"),
])  # fmt: skip
def test_what_a_store_lacks_is_told(stored, words, code, said, capsys):
    assert cli.run(["score", *words, *MAPPED]) == code
    assert said in capsys.readouterr().err


def test_workers_of_ray_read_from_a_store(stored, capsys):
    pytest.importorskip("ray")
    wanted = rows("score", "parts/*.parquet", *MAPPED)
    assert rows("score", PATTERN, *MAPPED, "--engine", "ray", "--jobs", "2") == wanted
