"""Strategies of scikit-activeml: `activeml:UncertaintySampling`, `activeml:VariableUncertainty`.

Its pool strategies choose exactly M of the batch, beside what was answered so far. Its stream
strategies look at one item after the other and choose as many as their own budget allows: the first
M of them are asked about, and the least confident of the others fill the gap. They get their own
choices only (`update`), as if the rest had not been asked.

They see: places of items (the learner's embedding, else the features), the answers as class
numbers, and a classifier, which is one of

- `learner`: repeats the learner's probabilities of the batch; knows no other item,
- `parzen`, `logistic`, `mixture`: scikit-activeml's Parzen window classifier, scikit-learn's
  logistic regression or scikit-activeml's mixture model, fitted to the answers. Before there are
  any, all classes are equally probable.

A committee is made of the learner's members. Strategies for regression are not served: they need
a regressor. (Kottke et al., scikit-activeml, 2021.)
"""

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from truecost.errors import InputError, TruecostError, UsageError, first_five, need
from truecost.learning.strategies import settings as reading
from truecost.learning.strategies.settings import Keeping, Memory, Settings, listed
from truecost.learning.strategies.uncertainty import filled_up
from truecost.learning.system import Answered, Batch, Floats, Outputs, described, generator

CLASSIFIERS = ("learner", "parzen", "logistic", "mixture")


@dataclass(frozen=True, eq=False)
class Situation:
    """The batch and what was answered before.

    `places` (shape (items, dimensions)): of the batch; `known` (shape (answered, dimensions)):
    places of answered items; `labels`: their answers; `classes`: of the learner, in their order;
    when empty, the answers are numbered in their sorted order.
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
        """Number of classes, as far as it is known."""
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
                f"strategy {self.strategy}: answers {first_five(strange)} are not among the "
                f"classes {', '.join(self.names)}"
            )
        codes = [float(number[label]) for label in self.labels]
        return np.array([*codes, *[np.nan] * len(self.places)])


def models(seen: Situation, classifier: str, wanted: Collection[str]) -> dict[str, Any]:
    """Arguments of a `query` that are models, and whether they are to be fitted."""
    found: dict[str, Any] = {}
    for key in ("clf", "estimator"):
        if key in wanted:
            found[key] = (
                repeating(seen, reading.probabilities(seen.strategy, seen.batch, seen.outputs))
                if classifier == "learner"
                else fitted(classifier, seen.n_classes)
            )
            found[f"fit_{key}"] = classifier != "learner"
    if "ensemble" in wanted:
        found["ensemble"] = [
            repeating(seen, values)
            for values in reading.members(seen.strategy, seen.batch, seen.outputs)
        ]
        found["fit_ensemble"] = False
    if "discriminator" in wanted:  # tells answered items from the others: two classes of its own
        found["discriminator"] = fitted(classifier, 2)
    return found


def fitted(classifier: str, n_classes: int) -> Any:
    """A classifier of scikit-activeml that learns from answers; Parzen's unless one is named."""
    module = need("skactiveml.classifier", "activeml")
    common = {"classes": list(range(n_classes)), "random_state": 0}
    if classifier == "logistic":
        linear = need("sklearn.linear_model", "activeml").LogisticRegression()
        return module.SklearnClassifier(linear, **common)
    if classifier == "mixture":
        return module.MixtureModelClassifier(**common)
    return module.ParzenWindowClassifier(**common)


def repeating(seen: Situation, probabilities: Floats) -> Any:
    """A classifier of scikit-activeml that returns given outputs for the batch.

    `probabilities` (shape (items, classes)).
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
            f"strategy {strategy} asks a classifier about items outside the batch, for which "
            "the learner gave no probabilities; set classifier = 'parzen' or 'logistic'"
        )
    return row


OWN = {
    "classifier": "learner (default: the probabilities of the learner of the study), or parzen, "
    "logistic or mixture (fitted to the answers)",
    "memory": "number of the latest answered items that the strategy sees (1000)",
}


_GIVEN = {"random_state", "missing_label", "classes"}  # set here, never by options
_BASES = {"UncertaintyZliobaite"}  # a base class among the strategies


def _wanted(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a function accepts."""
    known = inspect.signature(function).parameters
    return {key: value for key, value in given.items() if key in known}


class FromActiveml:
    """The part that the adapters share; `kind`: the class of scikit-activeml, `options`: its
    arguments.
    """

    def __init__(self, settings: Settings, kind: Any, options: Mapping[str, Any]) -> None:
        self.name = settings.strategy
        self.seed = settings.seed
        self.classes = settings.classes
        self.kind = kind
        self.options = dict(options)
        self.classifier = settings.choice("classifier", "learner", CLASSIFIERS)
        self.memory = Memory(settings.whole("memory", 1000, 1))
        self.labels: dict[str, str] = {}

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows in the order in which scikit-activeml gives them, then those that fill the gap.

        To be called once a batch, in the order of the batches. Its warnings (few answers, budgets
        that are not used up) are not shown: what they say is what the filling is for.
        """
        count = min(count, len(batch))
        if count <= 0:
            return []
        seen = self.seen(batch, outputs)
        try:
            with warnings.catch_warnings(), _global_draws(self.drawn(batch, "global")):
                warnings.simplefilter("ignore", UserWarning)
                rows = self.queried(seen, count)
        except TruecostError:
            raise
        except Exception as error:  # whatever it raises, of its own or of scikit-learn
            raise self.failed(batch, error) from error
        rows = completed(self.name, batch, outputs, rows, count)
        self.memory.keep([batch.ids[row] for row in rows], seen.places[rows])
        return rows

    def drawn(self, batch: Batch, *purpose: str) -> int:
        """A seed for scikit-activeml, of this batch."""
        random = generator(self.seed, "strategy", self.name, batch.stream, batch.index, *purpose)
        return int(random.integers(2**31 - 1))

    def queried(self, seen: Situation, count: int) -> list[int]:
        """Rows that scikit-activeml chooses."""
        raise NotImplementedError

    def learn(self, batch: Batch, outputs: Outputs | None, answered: Answered) -> None:
        """Remember the answers, and where the items lie."""
        self.memory.note(batch, outputs, answered)
        self.labels |= zip(answered.items.ids, answered.labels, strict=True)
        self.labels = {
            name: self.labels[name] for name in self.memory.vectors if name in self.labels
        }

    def seen(self, batch: Batch, outputs: Outputs) -> Situation:
        """The data of this batch for a strategy."""
        kind, places = reading.places(self.name, batch, outputs)
        self.memory.open(kind, places.shape[1])
        ids = [name for name in self.memory.vectors if name in self.labels]
        known = [self.memory.vectors[name] for name in ids]
        labels = [self.labels[name] for name in ids]
        return Situation(
            self.name,
            batch,
            outputs,
            places,
            np.array(known).reshape(-1, places.shape[1]),
            labels,
            self.classes,
        )

    def built(self, seen: Situation) -> Any:
        """A new object of the class of scikit-activeml."""
        given = {
            "random_state": self.drawn(seen.batch),
            "missing_label": np.nan,
            "classes": list(range(seen.n_classes)),
        }
        return self.kind(**_wanted(self.kind, given), **self.options)

    def arguments(self, seen: Situation, query: Callable[..., Any]) -> dict[str, Any]:
        """The arguments of its `query`, those that can be given."""
        wanted = inspect.signature(query).parameters
        more = models(seen, self.classifier, wanted)
        return _wanted(query, {"X": seen.everything, "y": seen.codes, **more})

    def failed(self, batch: Batch, error: Exception) -> UsageError:
        """The error for what scikit-activeml refuses."""
        first = str(error).strip().partition("\n")[0]
        return UsageError(
            f"strategy {self.name}, {described(batch)}: scikit-activeml refuses "
            f"({type(error).__name__}: {first}); a bootstrap set, other options or another "
            f"classifier ({', '.join(CLASSIFIERS)}) may help"
        )


class Pool(FromActiveml, Keeping):
    """A pool strategy: built anew in each batch, so that it depends on nothing but what it sees."""

    kept = ("memory", "labels")

    def queried(self, seen: Situation, count: int) -> list[int]:
        """Rows that it chooses of the batch, beside the answered items."""
        strategy = self.built(seen)
        found = strategy.query(
            candidates=np.arange(len(seen.known), len(seen.everything)),
            batch_size=count,
            **self.arguments(seen, strategy.query),
        )
        return [int(row) - len(seen.known) for row in found]


class OneByOne(FromActiveml):
    """A stream strategy: keeps an object of scikit-activeml, so it has no snapshot.

    Its own `budget`, where it has one, is M / items of the first batch unless the options set it,
    and `force_full_budget` is true.
    """

    strategy: Any = None

    def queried(self, seen: Situation, count: int) -> list[int]:
        """The first of the rows that it wants; it gets the questions that were asked."""
        if self.strategy is None:
            self.strategy = self._first(seen, count)
        query = self.strategy.query
        found, utilities = query(seen.places, return_utilities=True, **self.arguments(seen, query))
        rows = sorted(int(row) for row in found)[:count]
        more = {"budget_manager_param_dict": {"utilities": utilities}}
        update = self.strategy.update
        update(seen.places, np.array(rows, np.int64), **_wanted(update, more))
        return rows

    def _first(self, seen: Situation, count: int) -> Any:
        """The object, before its first batch."""
        # without the second some take one item at a time only (1.0.1)
        usual = {"budget": count / len(seen.batch), "force_full_budget": True}
        self.options = _wanted(self.kind, usual) | self.options
        return self.built(seen)


@contextmanager
def _global_draws(seed: int) -> Iterator[None]:
    """NumPy's global random numbers begin with a seed, and go on after as if nothing had been.

    Some strategies cluster with a k-means that draws from them (Clue, DropQuery; 1.0.1).
    """
    state = np.random.get_state()  # noqa: NPY002  # it is theirs, not ours
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def completed(
    strategy: str, batch: Batch, outputs: Outputs, rows: list[int], count: int
) -> list[int]:
    """Exactly `count` rows: those chosen, then the least confident of the others."""
    if len(set(rows)) < len(rows) or not set(rows) <= set(range(len(batch))):
        raise InputError(
            f"strategy {strategy}, {described(batch)}: scikit-activeml chose rows that are not "
            f"different rows of the batch: {rows[:5]}; report it there"
        )
    if len(rows) >= count:
        return rows[:count]
    return filled_up(rows, reading.probabilities(strategy, batch, outputs), count)


def build_activeml(settings: Settings, name: str) -> Pool | OneByOne:
    """The adapter for the class of this name."""
    pool, stream = need("skactiveml.pool", "activeml"), need("skactiveml.stream", "activeml")
    kinds = _classes(pool) | _classes(stream)
    if name not in kinds:
        raise UsageError(f"scikit-activeml has no strategy {name!r}{listed(name, sorted(kinds))}")
    kind = kinds[name]
    adapter = OneByOne if hasattr(kind, "update") else Pool
    wanted = inspect.signature(kind).parameters
    settings.refuse_others((*OWN, *(key for key in wanted if key not in _GIVEN)))
    options = {key: value for key, value in settings.options.items() if key not in OWN}
    needed = [
        key
        for key, parameter in wanted.items()
        if parameter.default is parameter.empty and key not in {*options, *_GIVEN}
    ]
    if needed:
        raise UsageError(f"strategy {settings.strategy} needs the option {needed[0]}")
    _check_query(settings.strategy, kind)
    return adapter(settings, kind, options)


_SERVED = {"self", "X", "y", "candidates", "clf", "estimator", "ensemble", "discriminator"}


def _check_query(strategy: str, kind: Any) -> None:
    """An error when its `query` needs what there is not, such as a regressor."""
    for key, parameter in inspect.signature(kind.query).parameters.items():
        variable = parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
        if variable or (parameter.default is parameter.empty and key not in _SERVED):
            what = "another strategy to wrap" if variable else key
            raise UsageError(
                f"strategy {strategy} needs {what}, which truecost cannot give it; use another of "
                "scikit-activeml's strategies for classification"
            )


def _classes(module: ModuleType) -> dict[str, Any]:
    """The strategies of one of its modules, by name."""
    names = {name: getattr(module, name) for name in module.__all__}
    return {
        name: kind for name, kind in names.items() if inspect.isclass(kind) and name not in _BASES
    }
