"""What strategies of scikit-activeml see: items, answers as class numbers, and classifiers."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from truecost.errors import InputError, UsageError, first_five
from truecost.extras import need
from truecost.learning.strategies import settings as reading
from truecost.learning.system import Batch, Floats, Outputs

CLASSIFIERS = ("learner", "parzen", "logistic", "mixture")


@dataclass(frozen=True, eq=False)
class Seen:
    """The batch and what was answered before.

    Attributes
    ----------
    places : ndarray of float64, shape (items, dimensions)
        Of the batch.
    known : ndarray of float64, shape (answered, dimensions)
        Places of answered items.
    labels : list of str
        Their answers.
    classes : tuple of str
        Of the learner, in their order; when empty, the answers are numbered in their sorted order.
    """

    strategy: str
    batch: Batch
    outputs: Outputs
    places: Floats
    known: Floats
    labels: list[str]
    classes: tuple[str, ...]

    @property
    def everything(self) -> Floats:
        """Answered items, then those of the batch."""
        return np.concatenate([self.known, self.places])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Classes in the order of their numbers."""
        return self.classes or tuple(sorted(set(self.labels)))

    @property
    def n_classes(self) -> int:
        """How many classes there are, as far as it is known."""
        for values in (self.outputs.probabilities, self.outputs.logits):
            if values is not None and not self.classes:
                return int(np.asarray(values).shape[1])
        return len(self.names)

    @property
    def codes(self) -> Floats:
        """Number of the class of each item of `everything`; NaN for those of the batch."""
        number = {name: code for code, name in enumerate(self.names)}
        strange = [label for label in self.labels if label not in number]
        if strange:
            raise InputError(
                f"strategy {self.strategy}: answers {first_five(strange)} are none of the classes "
                f"{', '.join(self.names)}"
            )
        codes = [float(number[label]) for label in self.labels]
        return np.array([*codes, *[np.nan] * len(self.places)])


def models(seen: Seen, classifier: str, wanted: Collection[str]) -> dict[str, Any]:
    """Arguments of a `query` that are models, and whether they are to be fitted."""
    found: dict[str, Any] = {}
    for key in ("clf", "estimator"):
        if key in wanted:
            found[key] = one_model(seen, classifier)
            found[f"fit_{key}"] = classifier != "learner"
    if "ensemble" in wanted:
        found["ensemble"] = [
            repeating(seen, values)
            for values in reading.members(seen.strategy, seen.batch, seen.outputs)
        ]
        found["fit_ensemble"] = False
    if "discriminator" in wanted:  # tells answered items from the others: two classes of its own
        found["discriminator"] = fitted(classifier, 2, 0)
    return found


def one_model(seen: Seen, classifier: str) -> Any:
    """The classifier that the options name."""
    if classifier == "learner":
        return repeating(seen, reading.probabilities(seen.strategy, seen.batch, seen.outputs))
    return fitted(classifier, seen.n_classes, 0)


def fitted(classifier: str, n_classes: int, random_state: int) -> Any:
    """A classifier of scikit-activeml that learns from answers; Parzen's unless one is named."""
    module = need("skactiveml.classifier", "activeml")
    common = {"classes": list(range(n_classes)), "random_state": random_state}
    if classifier == "logistic":
        linear = need("sklearn.linear_model", "activeml").LogisticRegression()
        return module.SklearnClassifier(linear, **common)
    if classifier == "mixture":
        return module.MixtureModelClassifier(**common)
    return module.ParzenWindowClassifier(**common)


def repeating(seen: Seen, probabilities: Floats) -> Any:
    """A classifier of scikit-activeml that says of the batch what it is told.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (items, classes)
    """
    base: Any = need("skactiveml.base", "activeml").SkactivemlClassifier
    table: dict[bytes, Floats] = {}
    for place, row in zip(seen.places, probabilities, strict=True):
        table.setdefault(place.tobytes(), row)

    class Repeating(base):  # type: ignore[misc]  # it has no types
        """Looks items up by where they lie; the first of several at one place."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
            self._validate_data(X, y, sample_weight)
            return self

        def predict_proba(self, X: Any) -> Floats:  # noqa: N803
            places = np.ascontiguousarray(X, np.float64)
            if places.shape == seen.places.shape and np.array_equal(places, seen.places):
                return probabilities
            return np.array([_looked_up(table, place, seen.strategy) for place in places])

    n_classes = probabilities.shape[1]
    codes = np.arange(len(seen.places)) % n_classes
    return Repeating(classes=list(range(n_classes))).fit(seen.places, codes)


def _looked_up(table: dict[bytes, Floats], place: Floats, strategy: str) -> Floats:
    """Probabilities of the item that lies here."""
    row = table.get(place.tobytes())
    if row is None:
        raise UsageError(
            f"strategy {strategy} asks a classifier about items outside the batch, which the "
            "learner said nothing of; set classifier = 'parzen' or 'logistic'"
        )
    return row
