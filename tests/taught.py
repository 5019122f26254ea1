"""What tests of the loop share: streams, a learner that can be followed, experts."""

import json
from pathlib import Path

import numpy as np

from truecost.learning.log import LogWriter
from truecost.learning.loop import Asking, Budget, run_stream
from truecost.learning.system import Batch, Outputs, Stream, generator

CLASSES = ("0", "1")


def batch_of(index, size, seed=0, stream="", times=None, prefix="i"):
    """Items with two features; ids tell batch and place."""
    features = generator(seed, "features", stream, index, prefix).normal(size=(size, 2))
    names = tuple(f"{prefix}{index}.{row}" for row in range(size))
    return Batch(index, names, features, stream, times)


def stream_of(sizes, *, seed=0, name="", classes=CLASSES, bootstrap=0, pool=0, times=False):
    """A stream of batches of these sizes; labels are drawn, for numbers too (no classes)."""
    starts = np.cumsum([0, *sizes])
    batches = tuple(
        batch_of(
            i, n, seed, name, np.arange(starts[i], starts[i + 1], dtype=float) if times else None
        )
        for i, n in enumerate(sizes)
    )
    before = batch_of(-1, bootstrap, seed, name, prefix="b") if bootstrap else None
    training = batch_of(-1, pool, seed, name, prefix="p") if pool else None
    labels = {}
    for batch in [*batches, *filter(None, (before, training))]:
        for item in batch.ids:
            draw = generator(seed, "label", name, item)
            labels[item] = str(draw.choice(classes)) if classes else f"{draw.normal():.3f}"
    kind = "numbers" if not classes else "detection" if len(classes) == 2 else "classes"
    return Stream(name, kind, tuple(classes), batches, labels, before, training, f"d{seed}")


class Follower:
    """Outputs that depend on everything that it was told, in order: any slip shows in the log."""

    name = "follower"

    def __init__(self, classes=CLASSES):
        self.classes, self.told, self.adapted, self.calls = classes, [], 0, []

    def predict(self, batch):
        self.calls.append(("predict", batch.index))
        seed = hash_of(self.told, self.adapted)
        draws = np.array([generator(seed, item).random() for item in batch.ids])
        if not self.classes:
            return Outputs(tuple(f"{draw:.6f}" for draw in draws), draws)
        probabilities = np.full((len(batch), len(self.classes)), 0.0)
        probabilities[:, 1:] = (draws / (len(self.classes) - 1))[:, None]
        probabilities[:, 0] = 1 - draws
        decisions = tuple(self.classes[place] for place in probabilities.argmax(axis=1))
        return Outputs(decisions, draws, probabilities)

    def adapt(self, batch, answered):
        self.calls.append(("adapt", batch.index, answered))
        assert answered.items.ids == tuple(answer.id for answer in answered.answers)
        features = answered.items.features.tolist()
        self.told += [[*pair] for pair in zip(answered.items.ids, answered.labels, strict=True)]
        self.told += features
        self.adapted += 1


class Restorable(Follower):
    """The same, with snapshots."""

    restored = 0

    def snapshot(self):
        return json.dumps([self.told, self.adapted]).encode()

    def restore(self, state):
        self.told, self.adapted = json.loads(state)
        self.restored += 1


def hash_of(told, adapted):
    """A number that changes with all that was told."""
    return int(generator(0, json.dumps(told), adapted).integers(1 << 40))


class Drawn:
    """A strategy: items at random, which items depending on what was answered before."""

    name = "drawn"

    def __init__(self):
        self.answers = 0

    def choose(self, batch, outputs, count):
        draws = generator(self.answers, "choose", batch.index).permutation(len(batch))
        order = np.argsort(outputs.scores, kind="stable")
        return [int(order[place]) for place in draws[:count]]

    def learn(self, batch, outputs, answered):
        self.answers += len(answered.answers)

    def snapshot(self):
        return str(self.answers).encode()

    def restore(self, state):
        self.answers = int(state)


class Counting:
    """An expert that notes which questions reach it."""

    def __init__(self, expert):
        self.expert, self.asked = expert, []

    def answer(self, question, batch):
        self.asked.append(question.id)
        return self.expert.answer(question, batch)


def system_of(stream, learner=Restorable):
    """A new learner with a new strategy."""
    return Asking(learner(stream.classes), Drawn())


def run(path, stream, expert, budget, *, system=None, resume=False, **options):
    """Run a stream into a log, and read back what is there."""
    budget = budget if isinstance(budget, Budget) else Budget(budget)
    with LogWriter.open(path, resume=resume) as log:
        run_stream(stream, system or system_of(stream), expert, budget, log, **options)
        log.finish()
    return events(path)


def events(path):
    """The lines of a log."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]
