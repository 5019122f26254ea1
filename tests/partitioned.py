"""Readers of partitions, and processes that are killed, as jobs of tests that travel to workers."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truecost.core.factors import coded_texts
from truecost.engines import mapping, segments


@dataclass(frozen=True)
class Killed:
    """A job in whose middle its process is killed, once."""

    function: Any
    flag: str

    def __call__(self, *job):
        found = self.function(*job)
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return found
        os.kill(os.getpid(), signal.SIGKILL)
        return None


class Killing(mapping.Processes):
    """Processes, one of which is killed in each phase."""

    def map(self, function, jobs, done=None):
        flag = Path(f"killed-{function.__name__}").absolute()
        found = mapping.Engine.map(self, Killed(function, str(flag)), jobs, done)
        assert flag.exists()
        return found


class KillingRay(mapping.Ray):
    """Workers of Ray, one of which is killed in each phase."""

    map = Killing.map


class Read:
    """The rows of a partition, with a unit, a weight and more."""

    def sample(self, partition):
        return partition.table(["score"]).frame["score"].to_numpy()

    def __call__(self, partition):
        table = partition.table().frame
        texts = {name: coded_texts(table[name]) for name in ("speaker", "noise")}
        codes = (table["label"] == "target").to_numpy().astype(np.uint8)
        return segments.MemoryRows(
            table["score"].to_numpy(), codes, texts, {"w": table["w"].to_numpy()}
        )


class Narrow(Read):
    """The rows of a partition with a 32-bit score and a unit alone."""

    def __call__(self, partition):
        held = super().__call__(partition)
        units = {"speaker": held.texts["speaker"]}
        return segments.MemoryRows(held.scores.astype(np.float32), held.codes, units)
