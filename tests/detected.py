"""Detection systems for tests of curves and pictures: ordinary ones and awkward ones."""

from importlib.resources import files

import numpy as np
import pytest

import truecost as tc

LONG = "wav2vec2-large-xlsr-finetuned-with-augmentation-{}-epochs"
PLAN = tc.Plan(120)


def labelled(trials, prior, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(trials) < prior).astype(int), rng


def llr_system(name, gain=2.0, shift=0.0, trials=800, prior=0.3, step=0.0, kind="llr"):
    labels, rng = labelled(trials, prior)
    scores = gain * (2 * labels - 1 + rng.normal(size=trials)) + shift
    if step:
        scores = np.round(np.clip(scores, -2 * step, 2 * step) / step) * step
    if kind == "posterior":
        scores = 1 / (1 + np.exp(-scores))
    units = rng.integers(0, 60, trials)
    return tc.Trials.from_arrays(
        scores, labels, kind=kind, name=name, unit=units, ids=np.arange(trials), room=units % 3
    )


def demo():
    def detector(name):
        table = tc.read(str(files("truecost") / "data" / "demo" / f"{name}.csv"))
        return tc.trials.load(
            table, tc.trials.Options("llr", {"id": "trial", "unit": "speaker"}), name
        )

    return [detector("logistic"), detector("network")], tc.Application.detection(prior=0.05)


def separated():
    labels = np.arange(300) % 2
    scores = 6 * labels - 3 + 0.1 * np.random.default_rng(0).normal(size=300)
    return tc.Trials.from_arrays(scores, labels, kind="llr", name="separated")


def of_classes():
    labels, rng = labelled(900, 0.5)
    labels = rng.integers(0, 4, 900)
    scores = rng.normal(size=(900, 4)) + 2 * np.eye(4)[labels]
    return tc.Trials.from_arrays(scores, labels, kind="log-score", name="classes $x_1$")


TINY = [-3, -2, -1, 0, 1, -0.5, 0.5, 1, 2, 3.0]
DETECTION = tc.Application.detection
CASES = {
    "demo": demo,
    "tiny": lambda: (
        [tc.Trials.from_arrays(TINY, np.repeat([0, 1], 5), kind="llr", name="tiny")],
        DETECTION(prior=0.5),
    ),
    "eight": lambda: (
        [llr_system(LONG.format(k), 0.5 + k / 3, -k / 4) for k in range(8)],
        DETECTION(10, 1, 0.01),
    ),
    "separated": lambda: ([separated()], DETECTION(prior=0.1)),
    "ties": lambda: (
        [llr_system("ties", step=1.0), llr_system("ties $x_1$", step=2.0)],
        DETECTION(prior=0.1),
    ),
    "posterior": lambda: ([llr_system("posteriors", kind="posterior")], DETECTION(prior=0.1)),
    "bad": lambda: (
        [llr_system("bad", 5, 9), llr_system("fine", 1)],
        DETECTION(100, 1, 0.00015),
    ),
    "raw": lambda: ([llr_system("raw", 100, kind="score")], DETECTION(prior=0.1)),
    "classes": lambda: ([of_classes()], tc.Application()),
}
PROBABILITIES = [name for name in CASES if name not in ("raw", "classes")]


@pytest.fixture(scope="module")
def case():
    """Systems, scoring and rows of a case; made once."""
    made = {}

    def make(name):
        if name not in made:
            systems, application = CASES[name]()
            scoring = tc.Scoring(application, plan=PLAN)
            rows = [r for t in systems for r in tc.score_system(t, scoring)]
            made[name] = systems, scoring, rows
        return made[name]

    return make


def row_of(rows, system, measure):
    return next(r for r in rows if (r.dims["system"], r.measure) == (system, measure))
