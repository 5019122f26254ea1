"""A learner around a model of scikit-learn: refitted or updated, with a committee if wanted."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from truecost.extras import need
from truecost.learning.learners.outputs import of_numbers, of_probabilities, proper, unlearnt
from truecost.learning.learners.pool import Pool, Scale, check_width, draws, numbers_of
from truecost.learning.probabilities import softmax
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
