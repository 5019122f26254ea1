"""What tests of live runs share: a small table, a learner that is made in a moment, a study."""

from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import tomli_w

LEARNER = '''
"""A learner of nearest means, which can be slow and faulty on purpose."""

import os
import random
import signal
import time

import numpy as np

from truecost.learning.system import Outputs


class Means:
    """Scores by the distances to the means of both classes."""

    def __init__(self, task):
        self.options = dict(task.options)
        self.sums, self.counts = np.zeros((2, 2)), np.ones(2)
        self.batches = 0

    def predict(self, batch):
        time.sleep(self.options.get("pause", 0))
        print(self.options.get("printed", ""), end="")
        means = self.sums / self.counts[:, None]
        distance = ((np.asarray(batch.features)[:, None] - means) ** 2).sum(axis=-1)
        scores = 1 / (1 + np.exp(np.clip(distance[:, 1] - distance[:, 0], -50, 50)))
        if self.options.get("drawn"):  # from the generators that the whole process shares
            scores = 0.5 * scores + 0.25 * (random.random() + np.random.random())
        if batch.index == 1:
            scores = self.spoilt(scores)
        decisions = tuple("1" if score >= 0.5 else "0" for score in scores)
        return Outputs(decisions, scores, np.column_stack([1 - scores, scores]))

    def spoilt(self, scores):
        fault = self.options.get("fault")
        if fault == "shape":
            return scores[:-1]
        if fault == "nan":
            return scores * np.nan
        if fault == "raise":
            raise RuntimeError("no more")
        if fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return scores

    def adapt(self, batch, answered):
        for features, label in zip(answered.items.features, answered.labels, strict=True):
            self.sums[int(label)] += features
            self.counts[int(label)] += 1

    def snapshot(self):
        return self.sums.tobytes() + self.counts.tobytes()

    def restore(self, state):
        found = np.frombuffer(state)
        self.sums, self.counts = found[:4].reshape(2, 2).copy(), found[4:].copy()


def make(task):
    return Means(task)
'''


def write_study(folder, name="stream.toml", items=60, **tables):
    """A live study with its table of items and its learner beside it; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    draws = np.random.default_rng(0)
    label = (draws.random(items) < 0.3).astype(int)
    features = draws.normal(label[:, None], 0.8, (items, 2)).round(3)
    columns = {"id": [f"i{k:03}" for k in range(items)], "label": label}
    frame = pl.DataFrame({**columns, "x": features[:, 0], "y": features[:, 1]})
    frame.write_csv(folder / "items.csv")
    (folder / "means.py").write_text(LEARNER)
    path = folder / name
    path.write_text(tomli_w.dumps(tables_of(**tables)))
    return path


def tables_of(**tables):
    """The tables of the study; those given are laid over the usual ones, key by key."""
    usual = {
        "source": {"file": "items.csv", "target": 1, "order": "shuffled"},
        "loop": {"batch": 6, "budget": 2, "bootstrap": 4, "seeds": 2},
        "learner": {"name": "callable", "python": "means:make"},
        "strategy": {"name": "margin"},
        "interval": {"replicates": 50},
    }
    for name, table in tables.items():
        usual[name] = {**usual.get(name, {}), **table} if isinstance(table, dict) else table
    found = {
        k: {a: b for a, b in v.items() if b is not None} if isinstance(v, dict) else v
        for k, v in usual.items()
    }
    return {"task": "streams", **found}


def tree(folder):
    """The bytes of every file of a folder, by name."""
    folder = Path(folder)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def unfinished(folder):
    """Logs that are being written; other files come and go while one looks."""
    names = [f"margin/2/seed-{seed}.jsonl.part" for seed in range(3)]
    return [p for name in names if (p := Path(folder) / "logs" / name).exists()]


def result_of(folder):
    """The stored result."""
    from truecost.study import ResultFile

    return msgspec.json.decode((Path(folder) / "result.json").read_bytes(), type=ResultFile)
