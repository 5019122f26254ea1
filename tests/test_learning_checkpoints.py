"""Checkpoints: who has them, what is written; and logs that are complete."""

import gzip

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.learning import jobs as finishing
from truecost.learning.expert import ReferenceExpert
from truecost.learning.jobs import folder_of, forget
from truecost.learning.learners.building import build as learner_of
from truecost.learning.log import LogWriter
from truecost.learning.loop import Asking, Budget, run_stream
from truecost.learning.strategies.mixtures import build, kinds
from truecost.learning.system import Batch, Stream, Task

CLASSES = ("0", "1")


def stream_of(batches=6):
    """Four items a batch, with two features."""
    draws = np.random.default_rng(0)
    pieces = tuple(
        Batch(b, tuple(f"{b}-{k}" for k in range(4)), draws.normal(size=(4, 2)))
        for b in range(batches)
    )
    labels = {name: str(int(k % 3 == 0)) for piece in pieces for k, name in enumerate(piece.ids)}
    return Stream("", "detection", CLASSES, pieces, labels, digest="d")


class Turning:
    """Asks about another row each time: it keeps a count, and has no `learn`."""

    name = "turning"

    def __init__(self):
        self.calls = 0

    def choose(self, batch, outputs, count):
        self.calls += 1
        return [(self.calls + k) % len(batch) for k in range(count)]


class StopError(Exception):
    pass


def run(path, strategy, stop=None, checkpoint=1):
    """Let a learner learn; stop it behind a batch."""
    stream = stream_of()

    def progress(done, total):
        if done == stop:
            raise StopError

    system = Asking(learner_of("logistic", Task("detection", CLASSES)), strategy)
    expert = ReferenceExpert(stream.labels, CLASSES, seed=0)
    with LogWriter.open(path, resume=True) as log:
        run_stream(stream, system, expert, Budget(1), log, checkpoint=checkpoint, progress=progress)
        log.finish()


def resumed(folder, make):
    """The logs of a run at one go, and of one that was stopped in the middle."""
    pytest.importorskip("sklearn")
    run(folder / "whole.jsonl", make())
    with pytest.raises(StopError):
        run(folder / "parts.jsonl", make(), stop=3)
    found = [*folder_of(folder / "parts.jsonl").glob("*")]
    run(folder / "parts.jsonl", make())
    return [(folder / f"{n}.jsonl").read_bytes() for n in ("whole", "parts")], found


def test_a_strategy_that_counts_silently_resumes_by_replay(tmp_path):
    (whole, parts), kept = resumed(tmp_path, Turning)
    assert parts == whole
    assert kept == []


def test_a_strategy_that_says_it_keeps_nothing_has_checkpoints(tmp_path):
    class First:
        name = "first"
        stateless = True

        def choose(self, batch, outputs, count):
            return range(count)

    (whole, parts), kept = resumed(tmp_path, First)
    assert parts == whole
    [checkpoint] = kept  # one file, and nothing beside it
    assert checkpoint.suffix == ".checkpoint"


@pytest.mark.parametrize("name", [name for name in kinds() if ":" not in name])
def test_every_strategy_of_ours_has_checkpoints(name):
    pytest.importorskip("sklearn")
    mixed = {"first": "margin", "second": "random"} if name in ("split", "plateau") else {}
    learner = learner_of("logistic", Task("detection", CLASSES))
    assert Asking(learner, build(name, mixed)).restorable


def test_a_checkpoint_that_was_not_finished_is_forgotten(tmp_path):
    log = tmp_path / "a.jsonl"
    folder_of(log).mkdir()
    for name in ("0.checkpoint", "0.new", "late.jsonl"):
        (folder_of(log) / name).write_bytes(b"half")
    forget(log)
    assert [*tmp_path.iterdir()] == []


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path):
    pytest.importorskip("sklearn")
    folder_of(tmp_path / "a.jsonl").write_text("in the way")
    with pytest.raises(InputError, match=r"a\.jsonl\.resume/.*\.checkpoint: cannot be written"):
        run(tmp_path / "a.jsonl", build("margin"))


# Logs that are complete


def test_a_complete_log_is_compressed_and_stands_alone(tmp_path):
    log = tmp_path / "seed-0.jsonl.gz"
    events = b'{"event":"adapt"}\n' * 1000
    finishing.unfinished(log).write_bytes(events)
    finishing.complete(log)
    assert [*tmp_path.iterdir()] == [log]
    data = log.read_bytes()
    assert gzip.decompress(data) == events
    assert len(data) < len(events) / 10
    assert data[3] == 0  # no name
    assert data[4:8] == bytes(4)  # and no time


def test_what_cannot_be_written_leaves_the_events(tmp_path):
    log = tmp_path / "seed-0.jsonl.gz"
    finishing.unfinished(log).write_bytes(b"events")
    log.mkdir()
    with pytest.raises(InputError, match=r"seed-0\.jsonl\.gz: cannot be written \("):
        finishing.complete(log)
    assert {path.name for path in tmp_path.iterdir()} == {"seed-0.jsonl.gz", "seed-0.jsonl.part"}
