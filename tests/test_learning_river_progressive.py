"""River's own progressive validation beside the loop: the same predictions, and the same accuracy.

With batches of one item and every label asked, `pre` of the log is what river evaluates. The data
are real: 1,250 web sites, phishing or not, which come with river.
"""

import numpy as np
import pytest

import truecost as tc
from truecost.formats.events import read_events
from truecost.learning import LogWriter, ReferenceExpert, Stream, Task, build_strategy
from truecost.learning.learners.models import River
from truecost.learning.loop import Asking, Budget, run_stream
from truecost.learning.system import Batch

pytest.importorskip("river")

CLASSES = ("0", "1")
MODELS = ("logistic", "bayes", "tree", "forest")


def model_of(name):
    """A model that has learnt nothing."""
    from river import forest, linear_model, naive_bayes, preprocessing, tree

    return {
        "logistic": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "bayes": naive_bayes.GaussianNB,
        "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=50),
        "forest": lambda: forest.ARFClassifier(n_models=3, seed=7),
    }[name]()


@pytest.fixture(scope="module")
def world():
    """Features as river has them, and which sites are phishing."""
    from river.datasets import Phishing

    pairs = list(Phishing())
    items = [dict(enumerate(map(float, x.values()))) for x, _ in pairs]
    return items, [bool(y) for _, y in pairs]


def stream_of(items, labels, size):
    """The items in their order, in batches."""
    matrix = np.array([list(x.values()) for x in items])
    ids = [f"site {row}" for row in range(len(items))]
    starts = range(0, len(items), size)
    batches = tuple(
        Batch(place, tuple(ids[a : a + size]), matrix[a : a + size])
        for place, a in enumerate(starts)
    )
    right = {name: str(int(label)) for name, label in zip(ids, labels, strict=True)}
    return Stream("", "detection", CLASSES, batches, right)


def logged(world, name, size, path):
    """The log of a run in which every label is asked."""
    stream = stream_of(*world, size)
    learner = River(Task("detection", CLASSES, 0), f"river {name}", model_of(name), False)
    system = Asking(learner, build_strategy("periodic", {}, seed=0))
    with LogWriter.open(path) as log:
        run_stream(stream, system, ReferenceExpert(stream.labels, CLASSES), Budget(size), log)
        log.finish()
    return str(path)


def said(path):
    """Decisions before adaptation, in order."""
    frame = read_events(path).frame
    before = frame.filter((frame["event"] == "predict") & (frame["phase"] == "pre"))
    return [decision == "1" for decision in before["decision"].cast(str)]


def counts(path):
    """Misses and false alarms before adaptation, as the log is scored."""
    names = ("n_missed", "n_false_alarms")
    scoring = tc.Scoring(measures=names, plan=tc.Plan(20))
    rows = tc.score_system(tc.streams.read(path), scoring)
    found = {row.measure: row.value for row in rows if row.dims["phase"] == "pre"}
    return tuple(found[name] for name in names)


@pytest.mark.parametrize("name", MODELS)
def test_batches_of_one_are_progressive_validation(world, name, tmp_path):
    from river.evaluate import iter_progressive_val_score
    from river.metrics import Accuracy, ConfusionMatrix

    path = logged(world, name, 1, tmp_path / "log.jsonl")
    pairs, metric = list(zip(*world, strict=True)), Accuracy()
    steps = iter_progressive_val_score(
        pairs, model_of(name), metric, step=1, yield_predictions=True
    )
    theirs = [step["Prediction"] for step in steps]
    ours = said(path)
    silent = [row for row, one in enumerate(theirs) if one is None or one == {}]
    assert silent in ([], [0])  # what has learnt nothing may say nothing, and river skips it
    spoken = [row for row in range(len(ours)) if row not in silent]
    assert [ours[row] for row in spoken] == [theirs[row] for row in spoken]

    own = ConfusionMatrix()
    for row, label in enumerate(world[1]):
        own.update(label, ours[row])
    assert counts(path) == (own.false_negatives(True), own.false_positives(True))
    skipped = sum(ours[row] == world[1][row] for row in silent)
    right = len(ours) - sum(counts(path)) - skipped
    assert right / len(spoken) == metric.get()  # the same whole numbers: no tolerance


# Each model with one size, and all pairs with the long studies.
@pytest.mark.parametrize(
    ("size", "name"),
    [
        pytest.param(size, name, marks=[pytest.mark.long] * ((k + j) % 2))
        for k, size in enumerate((7, 60))
        for j, name in enumerate(MODELS)
    ],
)
def test_larger_batches_predict_before_they_learn(world, name, size, tmp_path):
    ours = said(logged(world, name, size, tmp_path / "log.jsonl"))
    model, theirs = model_of(name), []
    for start in range(0, len(ours), size):
        rows = range(start, min(start + size, len(ours)))
        theirs += [model.predict_one(world[0][row]) if start else False for row in rows]
        for row in rows:
            model.learn_one(world[0][row], world[1][row])
    assert ours == theirs
