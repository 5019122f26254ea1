"""Online models of river, which learn from one item at a time.

Features are handed over as `{0: number, 1: number, ...}`. In detection labels are False and True
(the target), in several classes their text. A classifier that gives no probabilities is certain of
what it predicts. Models that follow drift by themselves do so here.
"""

import pickle
from typing import Any, Literal

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError
from truecost.extras import need
from truecost.learning.learners.options import made, split
from truecost.learning.learners.pool import (
    Scale,
    check_width,
    numbers_of,
    of_numbers,
    of_probabilities,
    proper,
    targets_of,
    unlearnt,
)
from truecost.learning.system import Answered, Batch, Floats, Outputs, Task


class RiverSettings(msgspec.Struct, frozen=True):
    """Options of `river`; all others are handed to the model.

    Attributes
    ----------
    model : str
        `river.linear_model:LogisticRegression`, or a class of your own.
    scale : {"none", "seen"}
        Features stay as they are; or are standardised by mean and deviation of all items that the
        learner was handed to adapt to, labelled or not (what river's StandardScaler does when it
        sees them).
    folder : str
        Where modules are looked for too.
    """

    model: str
    scale: Literal["none", "seen"] = "none"
    folder: str = ""


def river(task: Task) -> "River":
    """Any classifier or regression of river, or one made like them.

    Parameters
    ----------
    task : Task
        Options as `RiverSettings`; all others are arguments of the model's constructor. `seed` is
        the task's unless given.

    Raises
    ------
    UsageError
        When an option is wrong, or the model does not suit the task.
    MissingExtraError
        Without river.
    """
    base = need("river.base", "river")
    settings, arguments = split(RiverSettings, "river", task)
    model = made(settings.model, arguments, "river", task, settings.folder)
    regression = task.kind == "numbers"
    last = _last(model)
    if not isinstance(last, base.Regressor if regression else base.Classifier):
        wanted = "a regression" if regression else "a classifier"
        raise UsageError(f"learner river: a task of {task.kind} needs {wanted}: {settings.model}")
    if len(task.classes) > 2 and not last._multiclass:
        raise UsageError(
            f"learner river: {settings.model} tells two classes apart, and there are "
            f"{len(task.classes)}: take model = 'river.multiclass:OneVsRestClassifier' with "
            f"classifier = {{model = '{settings.model}'}}"
        )
    name = f"river {settings.model.partition(':')[2]}"
    return River(task, name, model, settings.scale == "seen")


def _last(model: Any) -> Any:
    """The last step of a pipeline, which decides what it does; otherwise the model."""
    while hasattr(model, "steps") and model.steps:
        model = list(model.steps.values())[-1]
    return model


class River:
    """A learner around a model of river.

    Parameters
    ----------
    name : str
        For messages.
    scaled : bool
        Whether features are standardised.
    """

    def __init__(self, task: Task, name: str, model: Any, scaled: bool) -> None:
        self.task, self.name, self._model, self._scaled = task, name, model, scaled
        self._scale = Scale()
        self._width: int | None = None  # features of an item; None before anything was learnt
        binary = task.kind == "detection"
        self._labels: tuple[Any, ...] = (False, True) if binary else task.classes

    @property
    def unsupervised(self) -> bool:
        """Whether it adapts without answers too: all items that it sees enter the scale."""
        return self._scaled

    def predict(self, batch: Batch) -> Outputs:
        """What the model says of each item."""
        matrix = numbers_of(batch, self.name)
        if self._width is None or not len(matrix):
            return unlearnt(self.task, len(matrix))
        check_width(matrix, self._width, batch, self.name)
        items = self._items(matrix)
        if self.task.kind == "numbers":
            said = np.array([self._model.predict_one(item) for item in items], np.float64)
            return of_numbers(proper(said, (len(matrix),), "predictions", self.name))
        rows = np.array([self._probabilities(item) for item in items])
        shape = (len(matrix), len(self._labels))
        return of_probabilities(self.task, proper(rows, shape, "probabilities", self.name))

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Learn from the answers one by one; all items of the batch enter the scale."""
        matrix = numbers_of(answered.items, self.name)
        targets = targets_of(answered, self.task, self.name)
        if self._width is not None and len(matrix):
            check_width(matrix, self._width, answered.items, self.name)
        if self._scaled:
            self._scale.see(numbers_of(batch, self.name))
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
        rows = (self._scale.apply(matrix) if self._scaled else matrix).tolist()
        return [dict(enumerate(row)) for row in rows]

    def _probabilities(self, item: dict[int, float]) -> list[float]:
        """Of all classes; all alike when the model says nothing."""
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
