"""Models of scikit-learn as learners: refitted or updated, with a committee if wanted.

`update = "refit"` trains the model anew on all labels so far; `"partial"` hands the new ones to its
`partial_fit`. Classes are handed over as their places 0, 1, ... in the order of the task. Classes
that have had no label yet get probability 0, and while all labels are of one class, that class gets
probability 1. A model without `predict_proba` is not calibrated: the logistic function (several
classes: softmax) of its `decision_function` stands in; where it has none either, certainty.

`members = k` adds a committee of k models, of which each sees an item Poisson(1) times (the online
bootstrap, Oza and Russell 2001); what the learner says is said by a model of all items, and the
committee is there for strategies that look at disagreement.

Everything runs in one thread, so that results do not depend on how many there are.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from truecost.errors import UsageError
from truecost.extras import need
from truecost.learning.checking import softmax
from truecost.learning.learners.options import ClassWeight, class_weights, made, settings_of, split
from truecost.learning.learners.pool import (
    Pool,
    Scale,
    check_width,
    draws,
    numbers_of,
    of_numbers,
    of_probabilities,
    proper,
    unlearnt,
)
from truecost.learning.system import Answered, Batch, Floats, Outputs, Task

Trained = Any  # a model, the place of the only class that it has seen, or None before any


class Scikit:
    """A learner around a model of scikit-learn.

    Parameters
    ----------
    name : str
        For messages.
    model : estimator
        Not trained; copies of it are.
    update : {"refit", "partial"}
    scaled : bool
        Whether features are standardised.
    members : int
        Size of the committee.
    """

    def __init__(
        self, task: Task, name: str, model: Any, update: str, scaled: bool, members: int
    ) -> None:
        self.task, self.name, self._model = task, name, model
        self._update, self._scaled = update, scaled
        self._pool, self._scale = Pool(), Scale()
        self._trained: list[Trained] = [None] * (1 + members)
        self._drawn: dict[tuple[int, str], int] = {}  # what `draws` says: it takes its time

    @property
    def unsupervised(self) -> bool:
        """Whether it adapts without answers too: all items that it sees enter the scale."""
        return self._scaled

    def predict(self, batch: Batch) -> Outputs:
        """What the model says, and its committee."""
        matrix = numbers_of(batch, self.name)
        if not len(self._pool) or not len(matrix):
            return unlearnt(self.task, len(matrix))
        check_width(matrix, len(next(iter(self._pool.rows.values()))), batch, self.name)
        matrix = self._standard(matrix)
        with _quiet():
            main, *others = self._trained
            if self.task.kind == "numbers":
                said = main.predict(matrix)
                return of_numbers(proper(said, (len(matrix),), "predictions", self.name))
            probabilities, logits = self._probabilities(main, matrix)
            voted = [self._probabilities(other, matrix)[0] for other in others]
        members = np.stack(voted) if voted else None
        return of_probabilities(self.task, probabilities, logits=logits, members=members)

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Train on the answers; all items of the batch enter the scale."""
        matrix, targets = self._pool.add(answered, self.task, self.name)
        if self._scaled:
            self._scale.see(numbers_of(batch, self.name))
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

    def _standard(self, matrix: Floats) -> Floats:
        return self._scale.apply(matrix) if self._scaled else matrix

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
        known = {} if self.task.kind == "numbers" else {"classes": np.arange(self._classes)}
        for member, model in enumerate(self._trained):
            rows = self._rows(member, names, whole=model is None)
            if len(rows):
                start = need("sklearn.base", "learn").clone(self._model) if model is None else model
                self._trained[member] = start.partial_fit(matrix[rows], labels[rows], **known)

    def _rows(self, member: int, names: list[str], whole: bool = True) -> Any:
        """Which items a member sees, as often as it does; 0 is the model of all items.

        One that would see none sees all, when it must see some.
        """
        if member == 0:
            return np.arange(len(names))
        counts = [self._draws(member, name) for name in names]
        if whole and not any(counts):
            counts = [1] * len(names)
        return np.repeat(np.arange(len(names)), counts)

    def _draws(self, member: int, name: str) -> int:
        key = (member, name)
        if key not in self._drawn:
            self._drawn[key] = draws(self.task, member, name)
        return self._drawn[key]

    @property
    def _classes(self) -> int:
        return len(self.task.classes)

    def _targets(self, targets: Floats) -> Any:
        """Classes are whole numbers."""
        return targets if self.task.kind == "numbers" else targets.astype(np.int64)

    def _probabilities(self, model: Trained, matrix: Floats) -> tuple[Floats, Floats | None]:
        """Of all classes, and logits where the model decides between all of them."""
        result = np.zeros((len(matrix), self._classes))
        if isinstance(model, int):
            result[:, model] = 1.0
            return result, None
        seen = np.asarray(model.classes_)
        shape = (len(matrix), len(seen))
        logits = _logits(model, matrix, shape, self.name)
        if hasattr(model, "predict_proba"):
            said = proper(model.predict_proba(matrix), shape, "probabilities", self.name)
        elif logits is not None:
            said = softmax(logits)
        else:
            said = (np.asarray(model.predict(matrix))[:, None] == seen).astype(np.float64)
        result[:, seen] = said
        return result, logits if len(seen) == self._classes else None


def _logits(model: Any, matrix: Floats, shape: tuple[int, int], who: str) -> Floats | None:
    """Decision values of the classes, or None; those of two classes are -d/2 and d/2."""
    if not hasattr(model, "decision_function"):
        return None
    values = np.asarray(model.decision_function(matrix))
    if values.ndim == 1:
        values = np.stack([-values / 2, values / 2], axis=1)
    if values.shape != shape:
        return None  # one against one: a value for each pair of classes
    return proper(values, shape, "decision values", who)


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


Members = Annotated[int, msgspec.Meta(ge=0)]


class LogisticSettings(msgspec.Struct, frozen=True):
    """Options of `logistic`.

    Attributes
    ----------
    C : float
        Inverse strength of the L2 penalty, as scikit-learn has it.
    class_weight : float, "balanced" or table of floats, optional
        Weight of the target; inverse to the frequencies of the labels; or by class.
    scale : {"seen", "none"}
        Features are standardised by mean and deviation of all items that the learner was handed
        to adapt to, labelled or not; or stay as they are.
    members : int
        Committee; 0 for none.
    """

    C: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    class_weight: ClassWeight | None = None
    scale: Literal["seen", "none"] = "seen"
    members: Members = 0


class ScikitSettings(msgspec.Struct, frozen=True):
    """Options of `sklearn`; all others are handed to the model.

    Attributes
    ----------
    model : str
        `sklearn.linear_model:SGDClassifier`, or a class of your own.
    update : {"refit", "partial"}
    scale : {"none", "seen"}
        As for `logistic`.
    folder : str
        Where modules are looked for too.
    """

    model: str
    update: Literal["refit", "partial"] = "refit"
    scale: Literal["none", "seen"] = "none"
    members: Members = 0
    folder: str = ""


def logistic(task: Task) -> Scikit:
    """Logistic regression that is trained anew on all labels so far.

    Parameters
    ----------
    task : Task
        Of detection or of several classes; options as `LogisticSettings`.

    Raises
    ------
    UsageError
        When an option is wrong, or the task is about numbers.
    MissingExtraError
        Without scikit-learn.
    """
    settings = settings_of(LogisticSettings, "logistic", task)
    if task.kind == "numbers":
        raise UsageError(
            "learner logistic tells classes apart, and the task is about numbers: take learner "
            "sklearn with a regression, such as model = 'sklearn.linear_model:Ridge'"
        )
    weights = class_weights(settings.class_weight, task, "logistic")
    linear = need("sklearn.linear_model", "learn")
    model = linear.LogisticRegression(C=settings.C, class_weight=weights, max_iter=1000)
    return Scikit(task, "logistic", model, "refit", settings.scale == "seen", settings.members)


def scikit(task: Task) -> Scikit:
    """Any model of scikit-learn, or one made like them.

    Parameters
    ----------
    task : Task
        Options as `ScikitSettings`; all others are arguments of the model's constructor.
        `class_weight` is by label; `random_state` is the task's seed unless given.

    Raises
    ------
    UsageError
        When an option is wrong, or the model does not suit the task.
    MissingExtraError
        Without scikit-learn.
    """
    base = need("sklearn.base", "learn")
    settings, arguments = split(ScikitSettings, "sklearn", task)
    if isinstance(arguments.get("class_weight"), int | float | dict):
        weight = msgspec.convert(arguments["class_weight"], float | dict[str, float])
        arguments["class_weight"] = class_weights(weight, task, "sklearn")
    model = made(settings.model, arguments, "sklearn", task, settings.folder)
    if not isinstance(model, base.BaseEstimator):
        raise UsageError(
            f"learner sklearn: {settings.model} is no estimator of scikit-learn; let it derive "
            "from sklearn.base.BaseEstimator, or take the learner callable"
        )
    regression = task.kind == "numbers"
    if not (base.is_regressor if regression else base.is_classifier)(model):
        wanted = "a regression" if regression else "a classifier"
        raise UsageError(f"learner sklearn: a task of {task.kind} needs {wanted}: {settings.model}")
    if settings.update == "partial" and not hasattr(model, "partial_fit"):
        raise UsageError(
            f"learner sklearn: {settings.model} has no partial_fit: take update = 'refit'"
        )
    if regression and settings.members:
        raise UsageError("learner sklearn: a committee votes on classes, and there are none")
    name = f"sklearn {settings.model.partition(':')[2]}"
    return Scikit(task, name, model, settings.update, settings.scale == "seen", settings.members)
