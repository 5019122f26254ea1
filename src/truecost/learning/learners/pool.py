"""State and outputs of adapters of models: labelled items, the scale of features, outputs."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from truecost.errors import InputError
from truecost.learning.system import (
    Answered,
    Array,
    Batch,
    Floats,
    Outputs,
    Task,
    described,
    generator,
    number_of,
)


def of_probabilities(
    task: Task,
    probabilities: Floats,
    *,
    logits: Floats | None = None,
    embedding: Floats | None = None,
    members: Floats | None = None,
) -> Outputs:
    """Outputs of a classifier: the most probable class, of equal ones the first.

    Probabilities have the shape (items, classes), in the order of `task.classes`. Scores are the
    probability of the target (detection) or of the decision.
    """
    best = probabilities.argmax(axis=1)
    rows = np.arange(len(probabilities))
    scores = probabilities[:, 1] if task.kind == "detection" else probabilities[rows, best]
    decisions = tuple(task.classes[place] for place in best.tolist())
    return Outputs(decisions, scores.copy(), probabilities, logits, embedding, members)


def of_numbers(values: Array) -> Outputs:
    """Outputs of a regression: the numbers, which read back exactly from their text."""
    numbers = np.asarray(values, np.float64)
    return Outputs(tuple(repr(value) for value in numbers.tolist()), numbers)


def unlearnt(task: Task, size: int) -> Outputs:
    """Before anything was learnt: all classes alike, so the first is decided; 0; an empty text.

    `size`: items.
    """
    if task.kind == "numbers":
        return of_numbers(np.zeros(size))
    if not task.classes:
        return Outputs(("",) * size, np.zeros(size))
    return of_probabilities(task, np.full((size, len(task.classes)), 1 / len(task.classes)))


def numbers_of(batch: Batch, who: str) -> Floats:
    """The features of a batch as a matrix of finite numbers, (items, features); further axes are
    flattened.
    """
    features = np.asarray(batch.features)
    if features.dtype.kind not in "fiub":
        features = _converted(features, batch, who)
    width = math.prod(features.shape[1:])  # -1 would not do without items
    matrix = features.astype(np.float64, copy=False).reshape(len(batch), width)
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise InputError(
            f"{who}, {described(batch)}, item {batch.ids[row]!r}: feature {column + 1} is "
            f"{matrix[row, column]}, but this learner needs finite numbers: fill in missing values"
        )
    return matrix


def _converted(features: Array, batch: Batch, who: str) -> Floats:
    """Objects that are numbers."""
    try:
        return np.array(features.tolist(), np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{who}, {described(batch)}: features have the type {features.dtype}, but this learner "
            f"needs numbers, equally many for each item ({error})"
        ) from error


def targets_of(answered: Answered, task: Task, who: str) -> Floats:
    """The answers as places of classes in `task.classes`, or as numbers."""
    return np.array(
        [_target(answer.label, answer.id, task, who) for answer in answered.answers], np.float64
    )


def _target(label: str | None, name: str, task: Task, who: str) -> float:
    if task.kind != "numbers":
        if label in task.classes:
            return float(task.classes.index(label))
        raise InputError(
            f"{who}: the answer on item {name!r} is {label!r}, but the classes are "
            f"{', '.join(task.classes)}"
        )
    number = number_of(label)
    if math.isnan(number):
        raise InputError(f"{who}: the answer on item {name!r} is {label!r}, expected a number")
    return number


@dataclass(eq=False)
class Pool:
    """Labelled items, each once: a second answer on an item replaces the first.

    `rows`: features by id, in the order of arrival; `targets`: place of the class, or number, by
    id.
    """

    rows: dict[str, Floats] = field(default_factory=dict)
    targets: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.targets)

    def add(self, answered: Answered, task: Task, who: str) -> tuple[Floats, Floats]:
        """Take answers in; returns their features and targets."""
        matrix = numbers_of(answered.items, who)
        targets = targets_of(answered, task, who)
        if self.rows and len(matrix):
            check_width(matrix, len(next(iter(self.rows.values()))), answered.items, who)
        for answer, row, target in zip(answered.answers, matrix, targets.tolist(), strict=True):
            self.rows[answer.id], self.targets[answer.id] = row.copy(), target
        return matrix, targets

    @property
    def features(self) -> Floats:
        """All features, shape (items, features)."""
        return np.stack(list(self.rows.values()))

    @property
    def labels(self) -> Floats:
        """All targets."""
        return np.array(list(self.targets.values()))


def check_width(matrix: Floats, width: int, batch: Batch, who: str) -> None:
    """Refuse another number of features than before."""
    if matrix.shape[1] != width:
        raise InputError(
            f"{who}, {described(batch)}: items have {matrix.shape[1]} features, but earlier "
            f"items had {width}: all items of a stream need equally many"
        )


@dataclass(eq=False)
class Scale:
    """Means and standard deviations of all items seen so far, labelled or not.

    A feature that never varied keeps its size. The deviations are those of the population (divided
    by n), as scikit-learn and river have them.

    `count`: items seen; `mean`, `squares` (shape (features,)): means, and sums of squared
    differences from them.
    """

    count: int = 0
    mean: Floats = field(default_factory=lambda: np.zeros(0))
    squares: Floats = field(default_factory=lambda: np.zeros(0))

    def see(self, matrix: Floats) -> None:
        """Take items in (Chan, Golub and LeVeque 1979: moments of parts combine exactly)."""
        size = len(matrix)
        if not size:
            return
        mean = matrix.mean(axis=0)
        squares = ((matrix - mean) ** 2).sum(axis=0)
        if self.count:
            apart, total = mean - self.mean, self.count + size
            squares = self.squares + squares + apart**2 * (self.count * size / total)
            mean = self.mean + apart * (size / total)
        self.count, self.mean, self.squares = self.count + size, mean, squares

    def apply(self, matrix: Floats) -> Floats:
        """Features with mean 0 and standard deviation 1; as they are before any was seen."""
        if not self.count:
            return matrix
        deviation = np.sqrt(self.squares / self.count)
        still = deviation <= 1e-12 * np.maximum(1.0, np.abs(self.mean))
        scaled: Floats = (matrix - self.mean) / np.where(still, 1.0, deviation)
        return scaled


class Scaled:
    """A learner around a model, whose features are standardised where `scaled` says so."""

    def __init__(self, task: Task, name: str, model: Any, scaled: bool) -> None:
        self.task, self.name, self._model, self._scaled = task, name, model, scaled
        self._scale = Scale()

    @property
    def unsupervised(self) -> bool:
        """Whether it adapts without answers too: all items that it sees enter the scale."""
        return self._scaled

    def _standard(self, matrix: Floats) -> Floats:
        return self._scale.apply(matrix) if self._scaled else matrix

    def _see(self, batch: Batch) -> None:
        """All items of a batch enter the scale."""
        if self._scaled:
            self._scale.see(numbers_of(batch, self.name))


@lru_cache(maxsize=1 << 16)  # it takes its time
def draws(seed: int, member: int, name: str) -> int:
    """Number of times that a member of a committee sees an item: Poisson(1), the online bootstrap.

    It depends on the seed, the member and the item alone, so that a new item changes nothing for
    others (Oza and Russell 2001).
    """
    return int(generator(seed, "committee", member, name).poisson(1.0))
