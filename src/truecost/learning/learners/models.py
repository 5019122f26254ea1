"""Models of libraries as learners: of scikit-learn (`Scikit`) and of river (`River`).

scikit-learn: `update = "refit"` trains the model anew on all labels so far; `"partial"` hands the
new ones to its `partial_fit`. Classes are handed over as their places 0, 1, ... in the order of the
task. Classes that have had no label yet get probability 0, and while all labels are of one class,
that class gets probability 1. A model without `predict_proba` is not calibrated: the logistic
function (several classes: softmax) of its `decision_function` stands in; where it has none either,
certainty.

`members = k` adds a committee of k models, of which each sees an item Poisson(1) times (the online
bootstrap, Oza and Russell 2001); what the learner says is said by a model of all items, and the
committee is there for strategies that look at disagreement.

Everything runs in one thread, so that results do not depend on how many there are.

river: features are handed over as `{0: number, 1: number, ...}`. In detection labels are False and
True (the target), in several classes their text. A classifier that gives no probabilities is
certain of what it predicts. Models that follow drift by themselves do so here.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError, need
from truecost.learning.checking import checked_array, softmax
from truecost.learning.learners.building import (
    ClassWeight,
    class_weights,
    construct,
    settings_of,
    split,
)
from truecost.learning.learners.pool import (
    Pool,
    Scaled,
    check_width,
    draws,
    numbers_of,
    of_numbers,
    of_probabilities,
    targets_of,
    unlearnt,
)
from truecost.learning.system import Answered, Batch, Floats, Outputs, Task

Trained = Any  # a model, the place of the only class that it has seen, or None before any
Members = Annotated[int, msgspec.Meta(ge=0)]


class Scikit(Scaled):
    """A learner around a model of scikit-learn.

    `model`: not trained; copies of it are; `update` ("refit" or "partial"); `scaled`: whether
    features are standardised.
    """

    def __init__(
        self, task: Task, name: str, model: Any, update: str, scaled: bool, members: int
    ) -> None:
        super().__init__(task, name, model, scaled)
        self._update, self._pool = update, Pool()
        self._trained: list[Trained] = [None] * (1 + members)

    def predict(self, batch: Batch) -> Outputs:
        """The model's outputs, and those of its committee."""
        matrix = numbers_of(batch, self.name)
        if not len(self._pool) or not len(matrix):
            return unlearnt(self.task, len(matrix))
        check_width(matrix, len(next(iter(self._pool.rows.values()))), batch, self.name)
        matrix = self._standard(matrix)
        with _quiet():
            main, *others = self._trained
            if self.task.kind == "numbers":
                said = main.predict(matrix)
                return of_numbers(checked_array(said, (len(matrix),), "predictions", self.name))
            probabilities, logits = self._probabilities(main, matrix)
            voted = [self._probabilities(other, matrix)[0] for other in others]
        members = np.stack(voted) if voted else None
        return of_probabilities(self.task, probabilities, logits=logits, members=members)

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Train on the answers; all items of the batch enter the scale."""
        matrix, targets = self._pool.add(answered, self.task, self.name)
        self._see(batch)
        if not len(self._pool) or not (len(targets) or self._scaled):
            return
        with _quiet():
            if self._update == "refit":
                self._refit()
            elif len(targets):
                self._add(matrix, targets, [answer.id for answer in answered.answers])

    def snapshot(self) -> bytes:
        """Everything learnt, pickled."""
        return pickle.dumps((self._pool, self._scale, self._trained))

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot; pickles run code: only restore what you stored yourself."""
        self._pool, self._scale, self._trained = pickle.loads(state)

    def _refit(self) -> None:
        """Train all models on everything labelled."""
        matrix, labels = self._standard(self._pool.features), self._targets(self._pool.labels)
        names = list(self._pool.rows)
        self._trained = [
            self._fitted(matrix[rows], labels[rows])
            for rows in (self._rows(member, names) for member in range(len(self._trained)))
        ]

    def _fitted(self, matrix: Floats, labels: Any) -> Trained:
        """A new model of these items, or the only class that they have."""
        if self.task.kind != "numbers" and (labels == labels[0]).all():
            return int(labels[0])
        copy = need("sklearn.base", "learn").clone(self._model)
        return copy.fit(matrix, labels)

    def _add(self, matrix: Floats, targets: Floats, names: list[str]) -> None:
        """Let all models learn from new items."""
        matrix, labels = self._standard(matrix), self._targets(targets)
        known = (
            {} if self.task.kind == "numbers" else {"classes": np.arange(len(self.task.classes))}
        )
        for member, model in enumerate(self._trained):
            rows = self._rows(member, names, whole=model is None)
            if len(rows):
                start = need("sklearn.base", "learn").clone(self._model) if model is None else model
                self._trained[member] = start.partial_fit(matrix[rows], labels[rows], **known)

    def _rows(self, member: int, names: list[str], whole: bool = True) -> Any:
        """Rows of the items that a member sees, repeated as often as it does; member 0 sees all
        items once.

        One that would see none sees all, when it must see some.
        """
        if member == 0:
            return np.arange(len(names))
        counts = [draws(self.task.seed, member, name) for name in names]
        if whole and not any(counts):
            counts = [1] * len(names)
        return np.repeat(np.arange(len(names)), counts)

    def _targets(self, targets: Floats) -> Any:
        """Classes are whole numbers."""
        return targets if self.task.kind == "numbers" else targets.astype(np.int64)

    def _probabilities(self, model: Trained, matrix: Floats) -> tuple[Floats, Floats | None]:
        """Probabilities of all classes, and logits where the model decides between all of them."""
        result = np.zeros((len(matrix), len(self.task.classes)))
        if isinstance(model, int):
            result[:, model] = 1.0
            return result, None
        seen = np.asarray(model.classes_)
        shape = (len(matrix), len(seen))
        logits = _logits(model, matrix, shape, self.name)
        if hasattr(model, "predict_proba"):
            said = checked_array(model.predict_proba(matrix), shape, "probabilities", self.name)
        elif logits is not None:
            said = softmax(logits)
        else:
            said = (np.asarray(model.predict(matrix))[:, None] == seen).astype(np.float64)
        result[:, seen] = said
        return result, logits if len(seen) == len(self.task.classes) else None


def _logits(model: Any, matrix: Floats, shape: tuple[int, int], who: str) -> Floats | None:
    """Decision values of the classes, or None; those of two classes are -d/2 and d/2."""
    if not hasattr(model, "decision_function"):
        return None
    values = np.asarray(model.decision_function(matrix))
    if values.ndim == 1:
        values = np.stack([-values / 2, values / 2], axis=1)
    if values.shape != shape:
        return None  # one against one: a value for each pair of classes
    return checked_array(values, shape, "decision values", who)


@lru_cache(maxsize=1)
def _pools() -> Any:
    """Handle of the threads of numerical libraries."""
    return need("threadpoolctl", "learn").ThreadpoolController()


@contextmanager
def _quiet() -> Iterator[None]:
    """One thread, and no word that an optimisation stopped before its end."""
    import warnings

    unfinished = need("sklearn.exceptions", "learn").ConvergenceWarning
    with _pools().limit(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", unfinished)
        yield


class LogisticSettings(msgspec.Struct, frozen=True):
    """Options of `logistic`.

    `C`: inverse strength of the L2 penalty, as scikit-learn has it; `class_weight`: weight of the
    target; inverse to the frequencies of the labels; or by class; `scale` ("seen" or "none"):
    features are standardised by mean and deviation of all items that the learner was handed to
    adapt to, labelled or not; or stay as they are; `members`: committee; 0 for none.
    """

    C: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    class_weight: ClassWeight | None = None
    scale: Literal["seen", "none"] = "seen"
    members: Members = 0


class ScikitSettings(msgspec.Struct, frozen=True):
    """Options of `sklearn`; all others are handed to the model.

    `model`: `sklearn.linear_model:SGDClassifier`, or a class of your own; `update` ("refit" or
    "partial"); `scale` ("none" or "seen"): as for `logistic`; `folder`: where modules are looked
    for too.
    """

    model: str
    update: Literal["refit", "partial"] = "refit"
    scale: Literal["none", "seen"] = "none"
    members: Members = 0
    folder: str = ""


def logistic(task: Task) -> Scikit:
    """Logistic regression that is trained anew on all labels so far.

    `task`: of detection or of several classes; options as `LogisticSettings`.
    """
    settings = settings_of(LogisticSettings, "learner logistic", task.options)
    if task.kind == "numbers":
        raise UsageError(
            "learner logistic is for classes, and the task is about numbers: use learner "
            "sklearn with a regression, such as model = 'sklearn.linear_model:Ridge'"
        )
    weights = class_weights(settings.class_weight, task, "logistic")
    linear = need("sklearn.linear_model", "learn")
    model = linear.LogisticRegression(C=settings.C, class_weight=weights, max_iter=1000)
    return Scikit(task, "logistic", model, "refit", settings.scale == "seen", settings.members)


def scikit(task: Task) -> Scikit:
    """Any model of scikit-learn, or one made like them.

    `task`: options as `ScikitSettings`; all others are arguments of the model's constructor.
    `class_weight` is by label; `random_state` is by default the task's seed.
    """
    base = need("sklearn.base", "learn")
    settings, arguments = split(ScikitSettings, "learner sklearn", task.options)
    if isinstance(arguments.get("class_weight"), int | float | dict):
        weight = msgspec.convert(arguments["class_weight"], float | dict[str, float])
        arguments["class_weight"] = class_weights(weight, task, "sklearn")
    model = construct(settings.model, arguments, "learner sklearn", task.seed, settings.folder)
    if not isinstance(model, base.BaseEstimator):
        raise UsageError(
            f"learner sklearn: {settings.model} is not an estimator of scikit-learn: derive it "
            "from sklearn.base.BaseEstimator, or use the learner callable"
        )
    regression = task.kind == "numbers"
    fits = (base.is_regressor if regression else base.is_classifier)(model)
    _check_kind("sklearn", task, fits, settings.model)
    if settings.update == "partial" and not hasattr(model, "partial_fit"):
        raise UsageError(
            f"learner sklearn: {settings.model} has no partial_fit: set update = 'refit'"
        )
    if regression and settings.members:
        raise UsageError(
            "learner sklearn: members is for classes: a task of numbers has no committee"
        )
    name = f"sklearn {settings.model.partition(':')[2]}"
    return Scikit(task, name, model, settings.update, settings.scale == "seen", settings.members)


class RiverSettings(msgspec.Struct, frozen=True):
    """Options of `river`; all others are handed to the model.

    `model`: `river.linear_model:LogisticRegression`, or a class of your own; `scale` ("none" or
    "seen"): features stay as they are; or are standardised by mean and deviation of all items that
    the learner was handed to adapt to, labelled or not (what river's StandardScaler does when it
    sees them); `folder`: where modules are looked for too.
    """

    model: str
    scale: Literal["none", "seen"] = "none"
    folder: str = ""


def river(task: Task) -> "River":
    """Any classifier or regression of river, or one made like them.

    `task`: options as `RiverSettings`; all others are arguments of the model's constructor. `seed`
    is by default the task's.
    """
    base = need("river.base", "river")
    settings, arguments = split(RiverSettings, "learner river", task.options)
    model = construct(settings.model, arguments, "learner river", task.seed, settings.folder)
    last = _last(model)
    wanted = base.Regressor if task.kind == "numbers" else base.Classifier
    _check_kind("river", task, isinstance(last, wanted), settings.model)
    if len(task.classes) > 2 and not last._multiclass:
        raise UsageError(
            f"learner river: {settings.model} is for two classes, and there are "
            f"{len(task.classes)}: set model = 'river.multiclass:OneVsRestClassifier' with "
            f"classifier = {{model = '{settings.model}'}}"
        )
    name = f"river {settings.model.partition(':')[2]}"
    return River(task, name, model, settings.scale == "seen")


def _check_kind(learner: str, task: Task, fits: bool, model: str) -> None:
    """Refuse a classifier where numbers are predicted, and a regression elsewhere."""
    if not fits:
        wanted = "a regression" if task.kind == "numbers" else "a classifier"
        raise UsageError(
            f"learner {learner}: {model} is not {wanted}, which a task of {task.kind} needs"
        )


def _last(model: Any) -> Any:
    """The last step of a pipeline, which decides what it does; otherwise the model."""
    while hasattr(model, "steps") and model.steps:
        model = list(model.steps.values())[-1]
    return model


class River(Scaled):
    """A learner around a model of river.

    `scaled`: whether features are standardised.
    """

    def __init__(self, task: Task, name: str, model: Any, scaled: bool) -> None:
        super().__init__(task, name, model, scaled)
        self._width: int | None = None  # features of an item; None before anything was learnt
        binary = task.kind == "detection"
        self._labels: tuple[Any, ...] = (False, True) if binary else task.classes

    def predict(self, batch: Batch) -> Outputs:
        """The model's output for each item."""
        matrix = numbers_of(batch, self.name)
        if self._width is None or not len(matrix):
            return unlearnt(self.task, len(matrix))
        check_width(matrix, self._width, batch, self.name)
        items = self._items(matrix)
        if self.task.kind == "numbers":
            said = np.array([self._model.predict_one(item) for item in items], np.float64)
            return of_numbers(checked_array(said, (len(matrix),), "predictions", self.name))
        rows = np.array([self._probabilities(item) for item in items])
        shape = (len(matrix), len(self._labels))
        return of_probabilities(self.task, checked_array(rows, shape, "probabilities", self.name))

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Learn from the answers one by one; all items of the batch enter the scale."""
        matrix = numbers_of(answered.items, self.name)
        targets = targets_of(answered, self.task, self.name)
        if self._width is not None and len(matrix):
            check_width(matrix, self._width, answered.items, self.name)
        self._see(batch)
        for item, target in zip(self._items(matrix), targets.tolist(), strict=True):
            known = target if self.task.kind == "numbers" else self._labels[int(target)]
            self._model.learn_one(item, known)
            self._width = matrix.shape[1]

    def snapshot(self) -> bytes:
        """Everything learnt, pickled."""
        return pickle.dumps((self._model, self._scale, self._width))

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot; pickles run code: only restore what you stored yourself."""
        self._model, self._scale, self._width = pickle.loads(state)

    def _items(self, matrix: Floats) -> list[dict[int, float]]:
        """Items as river takes them."""
        return [dict(enumerate(row)) for row in self._standard(matrix).tolist()]

    def _probabilities(self, item: dict[int, float]) -> list[float]:
        """Probabilities of all classes; equal ones when the model has none."""
        try:
            said = self._model.predict_proba_one(item)
        except NotImplementedError:
            said = {self._model.predict_one(item): 1.0}
        found = [float(said.get(label, 0.0)) for label in self._labels]
        total = sum(found)
        if not total:
            return [1 / len(found)] * len(found)
        if not np.isfinite(total):
            raise InputError(f"{self.name}: its probabilities are {said}, expected finite numbers")
        return [value / total for value in found]
