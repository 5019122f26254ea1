"""What tests of live lifelong runs share: a small drifting table, quick learners, a study."""

import numpy as np
import polars as pl
import tomli_w

from lived import tree

__all__ = ["PROGRAM", "table", "tables_of", "tree", "write_study"]

LEARNER = '''
"""Nearest means, which can be slow on purpose; `Own` asks itself, and adapts without answers."""

import json
import time

import numpy as np

from truecost.learning.system import Outputs, Question


class Means:
    def __init__(self, task):
        self.task, self.options, self.known = task, dict(task.options), {}

    def predict(self, batch):
        time.sleep(self.options.get("pause", 0))
        names = self.task.classes
        far = np.array([[self.far(row, name) for name in names] for row in batch.features])
        shares = np.exp(-far) / np.exp(-far).sum(axis=1, keepdims=True)
        best = far.argmin(axis=1)
        said = tuple(names[k] for k in best)
        return Outputs(said, shares[np.arange(len(best)), best], shares)

    def far(self, row, name):
        return float(np.linalg.norm(row - np.mean(self.known.get(name, [[9.0, 9.0]]), axis=0)))

    def adapt(self, batch, answered):
        if self.options.get("fault") and batch.index == 1:
            raise RuntimeError("no more")
        for row, label in zip(answered.items.features, answered.labels, strict=True):
            self.known.setdefault(label, []).append(row.tolist())

    def snapshot(self):
        return json.dumps(self.known).encode()

    def restore(self, state):
        self.known = json.loads(state)


class Own(Means):
    unsupervised = True

    def ask(self, batch, budget):
        return [Question(name) for name in batch.ids[:budget]]


class Forgetful(Means):  # remembers test data: nothing of it is put back
    def restore(self, state):
        pass


def make(task):
    return Means(task)


def own(task):
    return Own(task)


def forgetful(task):
    return Forgetful(task)
'''

PROGRAM = """
import json, sys

known = {}  # the newest label of each sign
for line in sys.stdin:
    told = json.loads(line)
    if "truecost" in told:
        classes = told["classes"]
        said = {"ready": 1, "name": "signs", "asks": False, "snapshots": True}
    elif told["message"] == "predict":
        signs = [str(row[0] > 0) for row in told["features"]]
        said = {"ids": told["ids"], "decisions": [known.get(s, classes[0]) for s in signs],
                "scores": [0.5] * len(signs),
                "probabilities": [[1 / len(classes)] * len(classes)] * len(signs)}
    elif told["message"] == "adapt":
        known.update({str(a["features"][0] > 0): a["label"] for a in told["answers"]})
        said = {}
    elif told["message"] == "snapshot":
        said = {"state": json.dumps(known)}
    elif told["message"] == "restore":
        known, said = json.loads(told["state"]), {}
    else:
        break
    print(json.dumps(said if "truecost" in told else {"n": told["n"], **said}), flush=True)
"""


def table(times=4, items=5, seed=0):
    """Three classes whose middles move; times 1, 2, ... and 1.5, 2.5, ..., and two items before."""
    draws = np.random.default_rng(seed)
    rows = [("initial", 0.0, f"i{k}", k % 3) for k in range(6)]
    for at in range(times):
        rows += [("lifelong", at + 1.0, f"x{at}-{k}", int(draws.integers(3))) for k in range(items)]
        rows += [("test", at + 1.5, f"y{at}-{k}", int(draws.integers(3))) for k in range(items)]
    label = np.array([row[3] for row in rows])
    time = np.array([row[1] for row in rows])
    x = draws.normal(2.0 * label - 2 + 0.3 * time, 0.7).round(3)
    y = draws.normal(1.5 * (label == 1) - 0.3 * time, 0.7).round(3)
    return pl.DataFrame(
        {
            "id": [row[2] for row in rows],
            "set": [row[0] for row in rows],
            "time": time,
            "label": [f"c{k}" for k in label],
            "u": x,
            "v": y,
        }
    )


def tables_of(**tables):
    """The tables of a study; those given are laid over the usual ones, key by key."""
    usual = {
        "source": {"file": "items.csv"},
        "loop": {"seeds": 2},
        "help": {"questions": 2},
        "expert": {"seconds": 3.0},
        "systems": {
            "means": {"learner": {"name": "callable", "python": "means:make"}},
            "own": {"learner": {"name": "callable", "python": "means:own"}, "strategy": "own"},
        },
        "strategy": {"name": "margin"},
        "policies": {"now": {"kind": "recent", "half_life": 1}, "always": {"kind": "uniform"}},
        "interval": {"replicates": 50},
    }
    for name, given in tables.items():
        both = isinstance(given, dict) and name != "systems"
        usual[name] = {**usual.get(name, {}), **given} if both else given
    found = {
        name: {k: v for k, v in given.items() if v is not None}
        if isinstance(given, dict)
        else given
        for name, given in usual.items()
    }
    return {"task": "lifelong", **{name: given for name, given in found.items() if given != {}}}


def write_study(folder, frame=None, **tables):
    """A live study with its table of items and its learners beside it; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (table() if frame is None else frame).write_csv(folder / "items.csv")
    (folder / "means.py").write_text(LEARNER)
    (folder / "signs.py").write_text(PROGRAM)
    path = folder / "lifelong.toml"
    path.write_text(tomli_w.dumps(tables_of(**tables)))
    return path
