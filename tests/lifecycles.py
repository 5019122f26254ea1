"""What tests of life cycles share: courses, systems that show every slip, a run into a log."""

import json
from pathlib import Path

import numpy as np

from taught import Drawn, Restorable, batch_of, events
from truecost.corrections.texts import MICRO, region_name, region_of
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.helping import Help
from truecost.learning.lifelong.life_cycle import Life, run_lifelong
from truecost.learning.lifelong.person import DomainExpert
from truecost.learning.log import LogWriter
from truecost.learning.loop import Asking
from truecost.learning.system import Outputs, Question, generator

CLASSES = ("0", "1", "2")
WORDS = ("a", "b", "c", "d", "e")


def course_of(sizes=(3, 3, 3), tests=(2, 2, 2), *, kind="classes", bootstrap=2, name="", seed=0):
    """Times 1, 2, ... and 1.5, 2.5, ...; what is right is drawn."""
    lifelong = [_timed(at + 1.0, size, at, "x", name, seed) for at, size in enumerate(sizes)]
    test = [_timed(at + 1.5, size, at, "y", name, seed) for at, size in enumerate(tests)]
    before = None
    if bootstrap:
        batch = batch_of(-1, bootstrap, seed, name, prefix="b")
        before = (batch.ids, batch.features)
    ids = [i for _, names, _ in (*lifelong, *test) for i in names] + [*(before or [()])[0]]
    return Course.from_parts(
        kind,
        lifelong,
        test,
        {item: right(kind, item, seed) for item in ids},
        classes=CLASSES if kind == "classes" else (),
        bootstrap=before,
        name=name,
    )


def _timed(time, size, index, prefix, name, seed):
    batch = batch_of(index, size, seed, name, prefix=prefix)
    return time, batch.ids, batch.features


def right(kind, item, seed=0):
    """What is right of an item."""
    draws = generator(seed, "right", item)
    if kind == "classes":
        return str(draws.choice(CLASSES))
    if kind == "diarization":
        return spoken(draws)
    return " ".join(draws.choice(WORDS, size=int(draws.integers(1, 5))))


def spoken(draws):
    """Turns of up to three speakers in whole seconds."""
    ends = np.cumsum(draws.integers(1, 4, size=6))
    names = draws.choice(["ann", "bob", "eve"], size=6)
    starts = [0, *ends[:-1]]
    return "|".join(f"{a} {b} {who}" for a, b, who in zip(starts, ends, names, strict=True))


class Text(Restorable):
    """Says texts that depend on everything that it was told; asks about items, or their regions."""

    name = "text"

    def __init__(self, kind):
        super().__init__(())
        self.kind, self.regions = kind, []

    def predict(self, batch):
        self.calls.append(("predict", batch.index))
        key = json.dumps([self.told, self.regions])
        said = (self.says(generator(0, key, self.adapted, item)) for item in batch.ids)
        return Outputs(tuple(said), np.arange(len(batch), dtype=float))

    def says(self, draws):
        if self.kind == "diarization":
            return spoken(draws)
        return " ".join(draws.choice(WORDS, size=int(draws.integers(0, 5))))

    def ask(self, batch, budget):
        if self.kind != "diarization":
            return [Question(item) for item in batch.ids[:budget]]
        item = batch.ids[0]
        known = [region_of(part) for name, part in self.regions if name == item]
        spans = [(a * MICRO, (a + 2) * MICRO) for a in range(0, 60, 2)]
        free = [s for s in spans if all(s[1] <= a or b <= s[0] for a, b in known)]
        self.regions += [[item, region_name(*span)] for span in free[:budget]]
        return [Question(item, region_name(*span)) for span in free[:budget]]

    def adapt(self, batch, answered):
        super().adapt(batch, answered)
        told = [[answer.id, answer.part] for answer in answered.answers]
        self.regions += [one for one in told if one not in self.regions]

    def snapshot(self):
        return json.dumps([self.told, self.adapted, self.regions]).encode()

    def restore(self, state):
        self.told, self.adapted, self.regions = json.loads(state)
        self.restored += 1


class Whole(Restorable):
    """Adapts offline and without a person too."""

    unsupervised = True
    verdicts = True

    def adapt(self, batch, answered):
        self.calls.append(("adapt", batch.index, answered))
        self.told += [[a.id, a.label, a.part, a.verdict] for a in answered.answers]
        self.told += answered.items.features.tolist()
        self.told += [*batch.ids]
        self.adapted += 1

    def ask_offline(self, budget):
        held = sorted({str(one) for one in self.told if isinstance(one, str)})
        return [Question(item) for item in held[:budget]]

    def adapt_offline(self, answered):
        self.calls.append(("offline", answered))
        self.told += [["offline", a.id, a.label] for a in answered.answers]
        self.adapted += 1


def system_of(course, learner=Whole):
    """A new system for a course."""
    if course.kind == "classes":
        return Asking(learner(course.classes), Drawn())
    return Text(course.kind)


def expert_of(course, **settings):
    """A simulated person who knows the references."""
    return DomainExpert(course.kind, course.references, course.classes, **settings)


BOTH = Life(stream=Help(1, 1), test=Help(1, 1))


def live(path, course, life=BOTH, *, system=None, expert=None, resume=False, **options):
    """Live through a course into a log, and read back what is there."""
    expert = expert or expert_of(course)
    with LogWriter.open(path, resume=resume) as log:
        run_lifelong(course, system or system_of(course), expert, life, log, **options)
        log.finish()
    return events(Path(path))
