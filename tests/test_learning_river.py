"""The adapter of river, beside river itself."""

import textwrap

import numpy as np
import pytest

from truecost.errors import InputError, UsageError
from truecost.learning.checking import check_outputs
from truecost.learning.learners.building import build
from truecost.learning.system import Answer, Answered, Batch, Learner, Restorable, Stream, Task

pytest.importorskip("river")

DETECTION = ("0", "1")
CLASSES = ("c", "a", "b")
LOGISTIC = "river.linear_model:LogisticRegression"
FOREST = {"model": "river.forest:ARFClassifier", "n_models": 3}
ALL = {
    "logistic": ("detection", {"model": LOGISTIC, "l2": 0.01, "scale": "seen"}),
    "forest": ("classes", FOREST),
    "rest": (
        "classes",
        {
            "model": "river.multiclass:OneVsRestClassifier",
            "classifier": {"model": LOGISTIC},
            "scale": "seen",
        },
    ),
    "tree": ("detection", {"model": "river.tree:HoeffdingAdaptiveTreeClassifier"}),
    "line": ("numbers", {"model": "river.linear_model:LinearRegression", "scale": "seen"}),
}
each = pytest.mark.parametrize("name", ALL)


def made(name, seed=3):
    """A learner of the table above."""
    kind, options = ALL[name]
    classes = {"detection": DETECTION, "classes": CLASSES, "numbers": ()}[kind]
    return build("river", Task(kind, classes, seed, options))


def world(kind, size=400):
    """Items and labels that can be learnt."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(size, 3)) * [1, 5, 1] + [0, 7, 0]
    value = matrix[:, 0] + matrix[:, 2]
    if kind == "numbers":
        return matrix, [repr(one) for one in (value + matrix[:, 1]).tolist()]
    classes = DETECTION if kind == "detection" else CLASSES
    places = np.digitize(value, [0.0] if kind == "detection" else [-0.5, 0.5])
    return matrix, [classes[place] for place in places]


def steps(learner, first=0, last=20):
    """Predict and adapt batch by batch, with answers on half of each; all that was said."""
    matrix, labels = world(learner.task.kind)
    task, said = learner.task, []
    stream = Stream("", task.kind, task.classes, (), {})
    for step in range(first, last):
        rows = range(step * 20, step * 20 + 20)
        batch = Batch(step, tuple(f"i{row}" for row in rows), matrix[rows.start : rows.stop])
        outputs = check_outputs(learner.predict(batch), stream, batch, learner.name)
        said.append((outputs.decisions, outputs.scores.tolist()))
        answers = tuple(Answer(f"i{row}", labels[row]) for row in rows[:10])
        learner.adapt(batch, Answered(batch.take(range(10)), answers))
    return said


@each
def test_it_learns(name):
    learner = made(name)
    assert isinstance(learner, Learner)
    assert isinstance(learner, Restorable)
    labels = world(learner.task.kind)[1]
    said = [decision for decisions, _ in steps(learner) for decision in decisions]
    late = range(200, 400)
    if learner.task.kind == "numbers":
        numbers = np.array([float(label) for label in labels])
        wrong = np.mean([abs(float(said[row]) - numbers[row]) for row in late])
        naive = np.abs(numbers - np.median(numbers)).mean()
    else:
        wrong = np.mean([said[row] != labels[row] for row in late])
        naive = 1 - max(labels.count(label) for label in labels) / len(labels)
    assert wrong < 0.7 * naive


@each
def test_the_seed_decides_and_snapshots_bring_back(name):
    learner, other = made(name), made(name)
    whole = steps(learner)
    assert steps(other, last=12) == whole[:12]
    state = other.snapshot()
    steps(other, 12, 15)
    other.restore(state)
    assert steps(other, 12) == whole[12:]
    if name == "forest":
        assert steps(made(name, seed=4)) != whole


def test_before_anything_was_learnt():
    batch = Batch(0, ("a", "b"), np.ones((2, 3)))
    assert made("logistic").predict(batch).scores.tolist() == [0.5, 0.5]
    assert made("forest").predict(batch).decisions == ("c", "c")
    assert made("line").predict(batch).decisions == ("0.0", "0.0")


def test_the_same_as_river_with_its_own_scaler():
    from river.linear_model import LogisticRegression
    from river.preprocessing import StandardScaler

    matrix, labels = world("detection")
    learner = made("logistic")
    scaler, model = StandardScaler(), LogisticRegression(l2=0.01)
    said = steps(learner)
    for step in range(20):
        items = [dict(enumerate(row)) for row in matrix[step * 20 : step * 20 + 20].tolist()]
        if step:
            own = [model.predict_proba_one(scaler.transform_one(item))[True] for item in items]
            np.testing.assert_allclose(said[step][1], own, atol=1e-9)
        for item in items:  # labelled or not
            scaler.learn_one(item)
        for row in range(10):
            known = labels[step * 20 + row] == "1"
            model.learn_one(scaler.transform_one(items[row]), known)


def test_progressive_validation_of_river():
    from river.evaluate import iter_progressive_val_score
    from river.forest import ARFClassifier
    from river.metrics import Accuracy

    matrix, labels = world("classes")
    learner, right = build("river", Task("classes", CLASSES, 3, FOREST)), 0
    for row, label in enumerate(labels):  # one item at a time, each answered
        batch = Batch(row, (f"i{row}",), matrix[row : row + 1])
        right += row > 0 and learner.predict(batch).decisions == (label,)
        learner.adapt(batch, Answered(batch, (Answer(f"i{row}", label),)))
    items = [
        (dict(enumerate(row)), label) for row, label in zip(matrix.tolist(), labels, strict=True)
    ]
    *_, last = iter_progressive_val_score(items, ARFClassifier(3, seed=3), Accuracy(), step=400)
    assert abs(right / 399 - last["Accuracy"].get()) <= 2 / 399  # the first has no prediction


def test_pipelines_and_models_without_probabilities(tmp_path, monkeypatch):
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "of_mine_5.py").write_text(
        textwrap.dedent("""
            from river import base, linear_model, preprocessing

            def pipeline(l2=0.0):
                return preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=l2)

            class Sign(base.Classifier):
                def learn_one(self, x, y):
                    pass

                def predict_one(self, x):
                    return x[0] > 0

            class Silent(base.Classifier):
                def learn_one(self, x, y):
                    pass

                def predict_proba_one(self, x):
                    return {}

            class Shares(Silent):
                def predict_proba_one(self, x):
                    return {True: 3 * x[0], False: x[1]}

            class Wrong(Silent):
                def predict_proba_one(self, x):
                    return {True: float("nan")}
        """)
    )

    def mine(name):
        options = {"model": f"of_mine_5:{name}", "folder": str(tmp_path)}
        return build("river", Task("detection", DETECTION, 0, options))

    assert len(steps(mine("pipeline"))) == 20
    sign = mine("Sign")
    steps(sign, 0, 1)
    batch = Batch(1, ("a", "b"), np.array([[1.0, 0, 0], [-1, 0, 0]]))
    assert sign.predict(batch).probabilities.tolist() == [[0, 1], [1, 0]]
    silent = mine("Silent")
    steps(silent, 0, 1)
    assert silent.predict(batch).scores.tolist() == [0.5, 0.5]
    shares = mine("Shares")
    steps(shares, 0, 1)
    batch = Batch(1, ("a", "b"), np.array([[1.0, 1.0, 0], [0.2, 0.0, 0]]))
    assert shares.predict(batch).probabilities.tolist() == [[0.25, 0.75], [0, 1]]
    with pytest.raises(InputError, match=r"river Wrong: its probabilities are .*nan"):
        steps(mine("Wrong"), 0, 2)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("numbers", {"model": LOGISTIC}, "is not a regression, which a task of numbers needs"),
        ("detection", {"model": "river.linear_model:LinearRegression"}, "is not a classifier"),
        ("classes", {"model": LOGISTIC}, "there are 3: set model = 'river.multiclass:OneVsRest"),
        ("detection", {"model": LOGISTIC, "los": 1}, "has no option 'los' .did you mean 'loss'"),
        ("detection", {"model": LOGISTIC, "scale": "x"}, "Invalid enum value 'x', in scale"),
        ("detection", {}, "option 'model' is needed"),
        ("detection", {"model": "river.linear_model"}, "did you mean 'river:linear_model'"),
    ],
)
def test_wrong_settings(kind, options, message):
    classes = {"detection": DETECTION, "classes": CLASSES, "numbers": ()}[kind]
    with pytest.raises(UsageError, match=message):
        build("river", Task(kind, classes, 0, options))


def test_wrong_data():
    learner = made("logistic")
    steps(learner, 0, 1)
    with pytest.raises(InputError, match="batch 2: items have 1 features, but earlier items had 3"):
        learner.predict(Batch(2, ("a",), np.ones((1, 1))))
    batch = Batch(2, ("a",), np.ones((1, 3)))
    with pytest.raises(InputError, match="answer on item 'a' is 'x', but the classes are 0, 1"):
        learner.adapt(batch, Answered(batch, (Answer("a", "x"),)))
