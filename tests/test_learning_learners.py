"""Learners of scikit-learn and of the user: what they say, keep, refuse, and never depend on."""

import hashlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError, MissingExtraError, UsageError
from truecost.learning.checking import check_outputs, checked_array, softmax
from truecost.learning.learners.building import NAMES, build
from truecost.learning.learners.pool import Pool, Scale, draws, of_numbers
from truecost.learning.system import Answer, Answered, Batch, Learner, Restorable, Stream, Task

pytest.importorskip("sklearn")

DETECTION = ("0", "1")
CLASSES = ("z", "a", "m")  # not in the order of the alphabet
FOUR = (*CLASSES, "q")
SGD = {"model": "sklearn.linear_model:SGDClassifier", "update": "partial", "loss": "log_loss"}
RIDGE = {"model": "sklearn.linear_model:Ridge"}
ALL = {
    "logistic": ("logistic", "detection", {}),
    "logistic of classes": ("logistic", "classes", {"class_weight": "balanced"}),
    "committee": ("logistic", "classes", {"members": 3, "scale": "none"}),
    "refit": ("sklearn", "classes", {"model": "sklearn.ensemble:RandomForestClassifier"}),
    "partial": ("sklearn", "detection", {**SGD, "members": 2, "scale": "seen"}),
    "bayes": ("sklearn", "classes", {"model": "sklearn.naive_bayes:GaussianNB"}),
    "ridge": ("sklearn", "numbers", RIDGE),
    "sgd": ("sklearn", "numbers", {"model": "sklearn.linear_model:SGDRegressor", "scale": "seen"}),
}
each = pytest.mark.parametrize("name", ALL)


def batch_of(matrix, index=0, first=0):
    """A batch of these features; ids are counted."""
    ids = tuple(f"i{first + row}" for row in range(len(matrix)))
    return Batch(index, ids, np.asarray(matrix, float))


def answered(batch, labels):
    """Answers on the first items of a batch."""
    answers = tuple(Answer(n, str(v)) for n, v in zip(batch.ids, labels, strict=False))
    return Answered(batch.take(range(len(answers))), answers)


def world(kind, size=40, seed=0):
    """Items and labels that can be learnt."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(size, 4)) * [1, 10, 0.1, 1] + [0, 5, -3, 0]
    if kind == "numbers":
        return matrix, [repr(v) for v in (2 * matrix[:, 0] + matrix[:, 1]).tolist()]
    classes = DETECTION if kind == "detection" else CLASSES
    return matrix, [classes[int(v) % len(classes)] for v in np.abs(matrix[:, 0] * 3)]


def made(name, seed=3, **more):
    """A learner of the table above."""
    learner, kind, options = ALL[name]
    classes = {"detection": DETECTION, "classes": CLASSES, "numbers": ()}[kind]
    return build(learner, Task(kind, classes, seed, {**options, **more}))


def taught(learner, steps=3, start=0):
    """Let it adapt to some batches; returns what it says of one more."""
    matrix, labels = world(learner.task.kind, 60)
    for step in range(start, start + steps):
        batch = batch_of(matrix[step * 10 : step * 10 + 10], step, step * 10)
        learner.adapt(batch, answered(batch, labels[step * 10 : step * 10 + 6]))
    return learner.predict(batch_of(matrix[50:], 9, 50))


def contents(outputs):
    """Everything an output holds, as bytes."""
    arrays = [outputs.scores, outputs.probabilities, outputs.logits, outputs.members]
    return outputs.decisions, [None if a is None else a.tobytes() for a in arrays]


def test_every_name_is_built_somewhere():
    for name in NAMES:
        with pytest.raises(UsageError, match=f"learner {name}|pip install"):
            build(name, Task("numbers", options={"none": 1}))


def test_unknown_learner():
    with pytest.raises(UsageError, match=r"no learner 'logistics' \(did you mean 'logistic'\?"):
        build("logistics", Task("detection", DETECTION))
    with pytest.raises(UsageError, match="choose one of logistic, sklearn, river"):
        build("x", Task("detection", DETECTION))


@each
def test_it_is_a_learner_that_says_what_a_loop_accepts(name):
    learner = made(name)
    assert isinstance(learner, Learner)
    assert isinstance(learner, Restorable)
    outputs = taught(learner)
    task = learner.task
    stream = Stream("", task.kind, task.classes, (), {})
    batch = batch_of(world(task.kind, 60)[0][50:], 9, 50)
    assert check_outputs(outputs, stream, batch, name) is outputs
    assert outputs.scores.dtype == np.float64
    if task.kind == "detection":
        np.testing.assert_array_equal(outputs.scores, outputs.probabilities[:, 1])
        assert outputs.decisions == tuple("1" if s > 0.5 else "0" for s in outputs.scores)
    elif task.kind == "classes":
        best = outputs.probabilities.argmax(axis=1)
        assert outputs.decisions == tuple(CLASSES[place] for place in best)
        np.testing.assert_array_equal(outputs.scores, outputs.probabilities.max(axis=1))


@each
def test_before_anything_was_learnt(name):
    learner = made(name)
    outputs = learner.predict(batch_of(world("numbers", 3)[0]))
    if learner.task.kind == "numbers":
        assert outputs.decisions == ("0.0",) * 3
        assert outputs.scores.tolist() == [0.0] * 3
    else:
        classes = learner.task.classes
        assert outputs.decisions == (classes[0],) * 3
        assert (outputs.probabilities == 1 / len(classes)).all()
        assert (outputs.scores == 1 / len(classes)).all()


@each
def test_predicting_teaches_nothing(name):
    quiet, asked = made(name), made(name)
    for step in range(3):
        asked.predict(batch_of(world("numbers", 9, step)[0], step, 100 * step))
        taught(quiet, 1, step)
        taught(asked, 1, step)
    assert contents(taught(quiet, 1, 3)) == contents(taught(asked, 1, 3))


@each
def test_a_restored_learner_goes_on_as_the_other(name):
    learner, other = made(name), made(name)
    taught(learner, 2)
    taught(other, 4)  # knows something else
    state = learner.snapshot()
    there = contents(taught(learner, 2, 2))
    other.restore(state)
    assert contents(taught(other, 2, 2)) == there
    learner.restore(state)
    assert contents(taught(learner, 2, 2)) == there


@each
def test_the_seed_decides(name):
    assert contents(taught(made(name))) == contents(taught(made(name)))
    if name in ("committee", "refit", "partial"):
        assert contents(taught(made(name, seed=4))) != contents(taught(made(name)))


def test_logistic_by_scikit_learn_itself():
    from sklearn.linear_model import LogisticRegression

    matrix, labels = world("detection", 60)
    learner = build("logistic", Task("detection", DETECTION, options={"C": 0.3}))
    asked = []
    for step in range(3):
        batch = batch_of(matrix[step * 10 : step * 10 + 10], step, step * 10)
        learner.adapt(batch, answered(batch, labels[step * 10 : step * 10 + 6]))
        asked += range(step * 10, step * 10 + 6)
    seen = matrix[:30]  # labelled or not
    scaled = (matrix - seen.mean(axis=0)) / seen.std(axis=0)
    model = LogisticRegression(C=0.3, max_iter=1000).fit(scaled[asked], np.array(labels)[asked])
    outputs = learner.predict(batch_of(matrix[50:], 9, 50))
    np.testing.assert_allclose(outputs.probabilities, model.predict_proba(scaled[50:]), atol=1e-6)
    values = model.decision_function(scaled[50:])
    np.testing.assert_allclose(outputs.logits, np.stack([-values / 2, values / 2], 1), atol=1e-5)


def test_a_scale_that_moves_is_followed_without_new_labels():
    matrix, labels = world("detection")
    batch = batch_of(matrix[:20])
    for scale, same in (("seen", False), ("none", True)):
        learner = build("logistic", Task("detection", DETECTION, options={"scale": scale}))
        learner.adapt(batch, answered(batch, labels[:20]))
        before = learner.predict(batch)
        learner.adapt(batch_of(100 * matrix[20:], 1, 20), answered(batch_of([], 1), []))
        assert (contents(before) == contents(learner.predict(batch))) is same


def test_partial_fits_are_those_of_the_model():
    from sklearn.linear_model import SGDClassifier

    matrix, labels = world("classes", 60)
    learner = build("sklearn", Task("classes", CLASSES, 5, SGD))
    model = SGDClassifier(loss="log_loss", random_state=5)
    for step in range(4):
        rows = slice(step * 10, step * 10 + 7)
        batch = batch_of(matrix[rows], step, step * 10)
        learner.adapt(batch, answered(batch, labels[rows]))
        codes = [CLASSES.index(label) for label in labels[rows]]
        model.partial_fit(matrix[rows], codes, classes=[0, 1, 2])
    outputs = learner.predict(batch_of(matrix[50:], 9, 50))
    np.testing.assert_allclose(outputs.probabilities, model.predict_proba(matrix[50:]), atol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "bayes", "refit"])
def test_one_class_is_certain(name):
    learner = made(name)
    batch = batch_of(world("classes", 5)[0])
    label = learner.task.classes[1]
    learner.adapt(batch, answered(batch, [label] * 5))
    outputs = learner.predict(batch)
    assert outputs.decisions == (label,) * 5
    assert (outputs.probabilities[:, 1] == 1).all()
    assert outputs.logits is None


def test_a_class_without_labels_has_probability_0():
    learner = made("logistic of classes")
    batch = batch_of(world("classes", 6)[0])
    learner.adapt(batch, answered(batch, ["a", "m", "a", "m", "a", "m"]))
    outputs = learner.predict(batch)
    assert (outputs.probabilities[:, CLASSES.index("z")] == 0).all()
    np.testing.assert_allclose(outputs.probabilities.sum(axis=1), 1)
    assert outputs.logits is None  # minus infinity is no logit


def test_a_second_answer_replaces_the_first():
    batch = batch_of(world("detection", 8)[0])
    twice, once = made("logistic", scale="none"), made("logistic", scale="none")
    twice.adapt(batch, answered(batch, "00110011"))
    twice.adapt(batch, answered(batch, "01010101"))
    once.adapt(batch, answered(batch, "01010101"))
    assert contents(twice.predict(batch)) == contents(once.predict(batch))


def test_members_see_what_they_drew():
    from sklearn.linear_model import LogisticRegression

    matrix, labels = world("detection", 30)
    learner = build("logistic", Task("detection", DETECTION, 7, {"members": 2, "scale": "none"}))
    batch = batch_of(matrix)
    learner.adapt(batch, answered(batch, labels))
    members = learner.predict(batch).members
    assert members.shape == (2, 30, 2)
    for member in range(2):
        counts = [draws(learner.task.seed, member + 1, name) for name in batch.ids]
        rows = np.repeat(np.arange(30), counts)
        model = LogisticRegression(max_iter=1000).fit(matrix[rows], np.array(labels)[rows])
        np.testing.assert_allclose(members[member], model.predict_proba(matrix), atol=1e-6)
    assert not np.allclose(members[0], members[1])


def test_members_of_one_label():
    learner = made("committee")
    batch = batch_of(world("classes", 1)[0])
    learner.adapt(batch, answered(batch, ["m"]))
    assert (learner.predict(batch).members == [0, 0, 1]).all()


def test_draws_are_poisson_and_keyed():
    task = Task("detection", DETECTION, 1)
    found = np.array([draws(task.seed, 1, f"i{k}") for k in range(4000)])
    assert abs(found.mean() - 1) < 0.05
    assert abs((found == 0).mean() - np.exp(-1)) < 0.03
    assert [draws(task.seed, 1, f"i{k}") for k in (7, 3)] == [found[7], found[3]]
    assert any(draws(task.seed, 2, f"i{k}") != found[k] for k in range(20))


@pytest.mark.parametrize(
    ("weight", "same"),
    [(4.0, {0: 1.0, 1: 4.0}), ({"1": 4}, {0: 1, 1: 4}), ("balanced", "balanced")],
)
@pytest.mark.parametrize("learner", ["logistic", "sklearn"])
def test_class_weights(weight, same, learner):
    from sklearn.linear_model import LogisticRegression

    matrix, labels = world("detection", 30)
    options = {"class_weight": weight}
    if learner == "sklearn":
        options |= {"model": "sklearn.linear_model:LogisticRegression", "max_iter": 1000}
    else:
        options |= {"scale": "none"}
    made = build(learner, Task("detection", DETECTION, 0, options))
    batch = batch_of(matrix)
    made.adapt(batch, answered(batch, labels))
    model = LogisticRegression(class_weight=same, max_iter=1000)
    model.fit(matrix, [int(label) for label in labels])
    np.testing.assert_allclose(
        made.predict(batch).probabilities, model.predict_proba(matrix), atol=1e-6
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the user's, and a clean path afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_model_without_probabilities(folder):
    matrix, labels = world("detection", 30)
    batch = batch_of(matrix)
    svm = build("sklearn", Task("detection", DETECTION, 0, {"model": "sklearn.svm:LinearSVC"}))
    svm.adapt(batch, answered(batch, labels))
    outputs = svm.predict(batch)
    values = 2 * outputs.logits[:, 1]
    np.testing.assert_allclose(outputs.probabilities[:, 1], 1 / (1 + np.exp(-values)))
    assert outputs.decisions == tuple("1" if value > 0 else "0" for value in values)

    (folder / "of_mine_1.py").write_text(
        textwrap.dedent("""
            import numpy as np
            from sklearn.base import BaseEstimator, ClassifierMixin

            class Sign(ClassifierMixin, BaseEstimator):
                def fit(self, X, y):
                    self.classes_ = np.unique(y)
                    return self

                def predict(self, X):
                    return self.classes_[(X[:, 0] > 0).astype(int)]
        """)
    )
    options = {"model": "of_mine_1:Sign", "folder": str(folder)}
    sign = build("sklearn", Task("detection", DETECTION, 0, options))
    sign.adapt(batch, answered(batch, labels))
    assert sign.predict(batch).probabilities[:, 1].tolist() == (matrix[:, 0] > 0).tolist()


def test_one_against_one_has_no_logits():
    learner = build(
        "sklearn",
        Task(
            "classes",
            FOUR,
            0,
            {"model": "sklearn.svm:SVC", "decision_function_shape": "ovo"},
        ),
    )
    matrix = np.random.default_rng(0).normal(size=(40, 3))
    batch = batch_of(matrix)
    learner.adapt(batch, answered(batch, FOUR * 10))
    outputs = learner.predict(batch)
    assert outputs.logits is None  # six pairs of four classes
    assert set(outputs.probabilities.ravel().tolist()) == {0.0, 1.0}


def test_a_model_of_models():
    options = {
        "model": "sklearn.ensemble:AdaBoostClassifier",
        "estimator": {"model": "sklearn.tree:DecisionTreeClassifier", "max_depth": 2},
    }
    learner = build("sklearn", Task("detection", DETECTION, 0, options))
    matrix, labels = world("detection", 30)
    batch = batch_of(matrix)
    learner.adapt(batch, answered(batch, labels))
    wrong = [a != b for a, b in zip(learner.predict(batch).decisions, labels, strict=True)]
    assert np.mean(wrong) < 0.2


def test_training_that_stops_early_is_no_warning():
    options = {"model": "sklearn.neural_network:MLPClassifier", "max_iter": 2}
    learner = build("sklearn", Task("detection", DETECTION, 0, options))
    taught(learner)  # a warning would be an error here


def test_options_beside_and_in_a_table():
    task = Task("detection", DETECTION, 0, {"scale": "none", "options": {"C": 2.0}})
    learner = build("logistic", task)
    assert learner._model.C == 2.0


WRONG = {
    "near": ("logistic", "detection", {"c": 1.0}, "option 'c' is not known .did you mean 'C'"),
    "far": ("logistic", "detection", {"qqq": 1}, "choose one of C, class_weight, members, scale"),
    "type": ("logistic", "detection", {"C": "x"}, r"Expected float, got str, in C"),
    "range": ("logistic", "detection", {"C": 0}, r"Expected float > 0"),
    "twice": ("logistic", "detection", {"C": 1, "options": {"C": 1}}, "C is given twice"),
    "table": ("logistic", "detection", {"options": 3}, "options is 3, expected a table"),
    "numbers": ("logistic", "numbers", {}, r"use learner sklearn .*Ridge"),
    "weight": (
        "logistic",
        "classes",
        {"class_weight": 2.0},
        "classes without a target: give a weight",
    ),
    "class": (
        "logistic",
        "classes",
        {"class_weight": {"b": 2}},
        "names 'b', but the classes are z, a, m",
    ),
    "below": ("logistic", "detection", {"class_weight": 0.0}, "of '1' is 0, not above 0"),
    "no model": ("sklearn", "detection", {}, "option 'model' is needed"),
    "dots": (
        "sklearn",
        "classes",
        {"model": "a.b.C"},
        r"the form package.module:name: did you .*'a.b:C'",
    ),
    "module": ("sklearn", "classes", {"model": "nosuch:C"}, "nosuch cannot be imported: ModuleNot"),
    "name": (
        "sklearn",
        "classes",
        {"model": "sklearn.svm:LinearSVCC"},
        "has no 'LinearSVCC' .did you mean 'LinearSVC'",
    ),
    "not a class": ("sklearn", "classes", {"model": "sklearn:__version__"}, "expected a class"),
    "no estimator": (
        "sklearn",
        "classes",
        {"model": "fractions:Fraction"},
        "derive it from sklearn",
    ),
    "argument": (
        "sklearn",
        "classes",
        {"model": "sklearn.svm:SVC", "kernal": "rbf"},
        "SVC has no option 'kernal' .did you mean 'kernel'",
    ),
    "refused": (
        "sklearn",
        "classes",
        {"model": "sklearn.pipeline:FeatureUnion"},
        "cannot be made: ",
    ),
    "regression": (
        "sklearn",
        "classes",
        RIDGE,
        "is not a classifier, which a task of classes needs",
    ),
    "classifier": (
        "sklearn",
        "numbers",
        {"model": "sklearn.svm:SVC"},
        "is not a regression, which a task of numbers needs",
    ),
    "partial": (
        "sklearn",
        "classes",
        {"model": "sklearn.svm:SVC", "update": "partial"},
        "has no partial_fit: set update = 'refit'",
    ),
    "update": ("sklearn", "classes", {"model": "sklearn.svm:SVC", "update": "x"}, "in update"),
    "committee": ("sklearn", "numbers", {**RIDGE, "members": 2}, "members is for classes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings(case):
    learner, kind, options, message = WRONG[case]
    classes = {"detection": DETECTION, "classes": CLASSES, "numbers": ()}[kind]
    with pytest.raises(UsageError, match=message):
        build(learner, Task(kind, classes, 0, options))


def test_wrong_data():
    learner = made("logistic")
    taught(learner, 1)
    batch = batch_of([[1.0, 2.0, np.nan, 4.0]], 5)
    with pytest.raises(InputError, match=r"logistic, batch 5, item 'i0': feature 3 is nan"):
        learner.predict(batch)
    with pytest.raises(InputError, match="items have 3 features, but earlier items had 4"):
        learner.predict(batch_of([[1.0, 2.0, 3.0]]))
    with pytest.raises(InputError, match="items have 3 features, but earlier items had 4"):
        learner.adapt(b := batch_of([[1.0, 2.0, 3.0]]), answered(b, ["0"]))
    texts = Batch(0, ("i0",), np.array([["a", "b", "c", "d"]]))
    with pytest.raises(
        InputError, match="batch 0: features have the type <U1, but this learner needs number"
    ):
        learner.predict(texts)
    with pytest.raises(InputError, match=r"answer on item 'i0' is 'yes', but the classes are 0, 1"):
        learner.adapt(b := batch_of([[1.0] * 4]), answered(b, ["yes"]))
    for label in ("much", "inf"):
        with pytest.raises(InputError, match=f"on item 'i0' is '{label}', expected a number"):
            made("ridge").adapt(b := batch_of([[1.0] * 4]), answered(b, [label]))


def test_objects_that_are_numbers_and_further_axes():
    learner = made("logistic")
    taught(learner, 1)
    rows = [[0.5, 1.0, 2.0, 3.0]]
    flat = learner.predict(batch_of(rows))
    objects = Batch(0, ("i0",), np.array(rows, object))
    cubes = Batch(0, ("i0",), np.array(rows).reshape(1, 2, 2))
    assert contents(learner.predict(objects)) == contents(flat) == contents(learner.predict(cubes))


def test_outputs_of_a_model_are_checked(folder):
    (folder / "of_mine_2.py").write_text(
        textwrap.dedent("""
            import numpy as np
            from sklearn.base import BaseEstimator, ClassifierMixin

            class Odd(ClassifierMixin, BaseEstimator):
                def __init__(self, how="nan"):
                    self.how = how

                def fit(self, X, y):
                    self.classes_ = np.unique(y)
                    return self

                def predict_proba(self, X):
                    value = np.nan if self.how == "nan" else 0.7
                    size = 3 if self.how == "wide" else 2
                    return np.full((len(X), size), value)
        """)
    )
    matrix, labels = world("detection", 20)
    batch = batch_of(matrix)
    said = {
        "nan": "are nan, nan, exp",
        "wide": r"is \(20, 3\), expected 20 x 2",
        "sum": "sum 1.4",
    }
    for how, message in said.items():
        options = {"model": "of_mine_2:Odd", "how": how, "folder": str(folder)}
        learner = build("sklearn", Task("detection", DETECTION, 0, options))
        learner.adapt(batch, answered(batch, labels))
        with pytest.raises(InputError, match=f"sklearn Odd: .*its probabilities .*{message}"):
            learner.predict(batch)


def test_missing_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'truecost\[learn\]'"):
        build("logistic", Task("detection", DETECTION))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_numbers_read_back_exactly(values):
    outputs = of_numbers(np.array(values))
    assert [float(text) for text in outputs.decisions] == values == outputs.scores.tolist()


@given(
    st.lists(
        st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=2), min_size=1, max_size=20
    ),
    st.lists(st.integers(0, 20), max_size=4),
)
def test_a_scale_seen_in_parts_is_that_of_the_whole(rows, cuts):
    matrix = np.array(rows)
    scale = Scale()
    for part in np.split(matrix, sorted(min(cut, len(rows)) for cut in cuts)):
        scale.see(part)
    np.testing.assert_allclose(scale.mean, matrix.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(scale.squares / len(rows), matrix.var(axis=0), atol=1e-6)


def test_a_feature_that_never_varied_keeps_its_size():
    scale = Scale()
    scale.see(np.array([[1e6, 0.0], [1e6, 2.0]]))
    assert scale.apply(np.array([[1e6 + 3, 5.0]])).tolist() == [[3.0, 4.0]]


def test_labelled_items_stay_as_they_were():
    features = np.array([[1.0, 2.0], [3.0, 4.0]])
    given_ = Answered(Batch(0, ("a", "b"), features), (Answer("a", "0"), Answer("b", "1")))
    pool = Pool()
    pool.add(given_, Task("detection", ("0", "1")), "me")
    features[:] = 9.0
    assert pool.features.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_probabilities_may_differ_from_1_by_rounding_only():
    near, far = np.array([[0.5, 0.50008]]), np.array([[0.5, 0.5], [0.5, 0.5002]])
    assert checked_array(near, (1, 2), "probabilities", "me").tolist() == near.tolist()
    with pytest.raises(InputError, match=r"me: its probabilities are 0.5, 0.5002 \(sum 1\.0002\)"):
        checked_array(far, (2, 2), "probabilities", "me")
    with pytest.raises(InputError, match=r"are 1.5, -0.5 \(sum 1\), expected 0 or more with"):
        checked_array(np.array([[1.5, -0.5]]), (1, 2), "probabilities", "me")


def test_softmax_of_what_cannot_be():
    shares = softmax(np.array([[0.0, -np.inf, np.log(3.0)]]))
    np.testing.assert_allclose(shares, [[0.25, 0, 0.75]], rtol=1e-15)


@settings(max_examples=20)
@given(st.lists(st.lists(st.floats(-800, 800), min_size=3, max_size=3), min_size=1, max_size=4))
def test_softmax(logits):
    shares = softmax(np.array(logits))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(softmax(np.array(logits) + 5), shares, atol=1e-12)


def test_any_number_of_threads_gives_the_same_bytes():
    script = textwrap.dedent("""
        import hashlib
        import numpy as np
        from truecost.learning.learners.building import build
        from truecost.learning.system import Answer, Answered, Batch, Task

        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(700, 120))
        ids = tuple(map(str, range(700)))
        batch = Batch(0, ids, matrix)
        answers = tuple(Answer(n, "01"[int(row[0] > 0)]) for n, row in zip(ids, matrix))
        learner = build("logistic", Task("detection", ("0", "1"), 0, {"members": 2}))
        learner.adapt(batch, Answered(batch, answers))
        said = learner.predict(batch)
        whole = said.scores.tobytes() + said.logits.tobytes() + said.members.tobytes()
        print(hashlib.sha256(whole).hexdigest())
    """)
    found = set()
    for threads in ("1", "2"):
        variables = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", script], env=variables, capture_output=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == len(hashlib.sha256().hexdigest())


def test_a_model_has_one_thread_whatever_is_set_outside():
    from sklearn.base import BaseEstimator, ClassifierMixin
    from threadpoolctl import threadpool_info, threadpool_limits

    from truecost.learning.learners.models import Scikit

    seen = []

    class Model(ClassifierMixin, BaseEstimator):
        def fit(self, matrix, labels):
            self.classes_ = np.unique(labels)
            seen.append([pool["num_threads"] for pool in threadpool_info()])
            return self

        def predict(self, matrix):
            seen.append([pool["num_threads"] for pool in threadpool_info()])
            return np.zeros(len(matrix), int)

    learner = Scikit(Task("detection", ("0", "1")), "mine", Model(), "refit", False, 0)
    batch = Batch(0, ("a", "b"), np.array([[0.0], [1.0]]))
    with threadpool_limits(2):
        learner.adapt(batch, Answered(batch, (Answer("a", "0"), Answer("b", "1"))))
        learner.predict(batch)
        assert any(pool["num_threads"] == 2 for pool in threadpool_info())
    assert len(seen) == 2
    assert all(pools and set(pools) == {1} for pools in seen)


MINE = """
    class Constant:
        def __init__(self, task):
            self.task = task

        def predict(self, batch):
            raise NotImplementedError

        def adapt(self, batch, answered):
            pass

    def make(task):
        return Constant(task)

    def fails(task):
        raise KeyError("width")

    def nothing(task):
        return 3

    number = 3
"""


def test_a_learner_of_the_user(folder):
    (folder / "of_mine_3.py").write_text(textwrap.dedent(MINE))
    task = Task(
        "classes", CLASSES, 4, {"python": "of_mine_3:make", "folder": str(folder), "depth": 2}
    )
    learner = build("callable", task)
    assert learner.task == Task("classes", CLASSES, 4, {"depth": 2})
    for name, message in {
        "make2": "of_mine_3 has no 'make2' .did you mean 'make'",
        "fails": r"of_mine_3:fails failed: KeyError: 'width'",
        "nothing": "made int, which has no method 'predict'",
        "number": "of_mine_3:number is 3, expected a class or a function",
    }.items():
        options = {"python": f"of_mine_3:{name}", "folder": str(folder)}
        with pytest.raises(UsageError, match=message):
            build("callable", Task("classes", CLASSES, 4, options))


def test_modules_of_the_user_that_cannot_be(folder):
    (folder / "of_mine_4.py").write_text("1 / 0")
    (folder / "json.py").write_text("def make(task): ...")
    options = {"folder": str(folder)}
    with pytest.raises(
        UsageError, match=r"of_mine_4 cannot be imported \(looked in .*ZeroDivision"
    ):
        build("callable", Task("numbers", options={**options, "python": "of_mine_4:make"}))
    with pytest.raises(UsageError, match=r"Python imports json from .*rename json.py"):
        build("callable", Task("numbers", options={**options, "python": "json:make"}))
    assert sys.path[-1] == str(folder)
    assert sys.path.count(str(folder)) == 1
