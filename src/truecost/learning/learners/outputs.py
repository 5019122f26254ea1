"""Outputs made of what a model says, and the ones before it has learnt anything."""

from collections.abc import Sequence

import numpy as np

from truecost.errors import InputError
from truecost.learning.probabilities import improper
from truecost.learning.system import Array, Floats, Outputs, Task


def of_probabilities(
    task: Task,
    probabilities: Floats,
    *,
    logits: Floats | None = None,
    embedding: Floats | None = None,
    members: Floats | None = None,
) -> Outputs:
    """Outputs of a classifier: the most probable class, of equal ones the first.

    Parameters
    ----------
    task : Task
        Of detection or of several classes.
    probabilities : ndarray of float64, shape (items, classes)
        In the order of `task.classes`.
    logits, embedding, members : ndarray of float64, optional
        As `Outputs` has them.

    Returns
    -------
    Outputs
        Scores are the probability of the target (detection) or of the decision.
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


def of_texts(texts: Sequence[str], scores: Array | None = None) -> Outputs:
    """Outputs that are texts: transcripts, translations or diarizations.

    Parameters
    ----------
    texts : sequence of str
        One for each item.
    scores : ndarray, shape (items,), optional
        How sure the system is, higher for surer; 0 unless given.
    """
    sure = np.zeros(len(texts)) if scores is None else np.asarray(scores, np.float64)
    return Outputs(tuple(texts), sure)


def unlearnt(task: Task, size: int) -> Outputs:
    """Before anything was learnt: all classes alike, so the first is decided; 0; an empty text.

    Parameters
    ----------
    size : int
        Items.
    """
    if task.kind == "numbers":
        return of_numbers(np.zeros(size))
    if not task.classes:
        return of_texts([""] * size)
    return of_probabilities(task, np.full((size, len(task.classes)), 1 / len(task.classes)))


def proper(array: Array, shape: tuple[int, ...], what: str, who: str) -> Floats:
    """What a model said, when it has the right shape and is finite.

    Parameters
    ----------
    shape : tuple of int
        That it should have.
    what, who : str
        For messages: `probabilities`, and the name of the model.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    InputError
        Otherwise; for `probabilities` also when they are negative or do not add up to 1.
    """
    try:
        numbers = np.asarray(array, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who}: its {what} are no numbers: {error}") from error
    if numbers.shape != shape:
        raise InputError(f"{who}: its {what} have the shape {numbers.shape}, expected {shape}")
    if not np.isfinite(numbers).all():
        wrong = numbers[~np.isfinite(numbers)][0]
        raise InputError(f"{who}: its {what} hold {wrong}, expected finite numbers")
    if what == "probabilities" and improper(numbers).any():
        sums = numbers.sum(axis=-1)
        raise InputError(
            f"{who}: its probabilities are negative or do not add up to 1 "
            f"(least {numbers.min():g}, sums {sums.min():g} to {sums.max():g})"
        )
    return numbers
