"""Predictors, and predictions of the class across folds of whole units.

The first candidate knows the class shares of the training samples and nothing else, so that where
nothing is to be learnt the choice among candidates can say so. Sums have a fixed order and nothing
runs in several threads: the same samples give the same bytes. Each sample is predicted by what was
trained on the units of other folds, and the strength of its regularisation is chosen by folds
of whole units within these (nested, Ferrer et al. 2024, section 2.3): no unit has a say in what is
predicted for it, neither in the training nor in the choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.core.subsets import folds as deal
from truecost.errors import InputError, counted, first_five, need
from truecost.options import check_fields
from truecost.protocol.grouping import Column, Levels, alike, encoded
from truecost.protocol.options import SpuriousTable
from truecost.protocol.samples import Floats, Ints, Marks

Path = Callable[[Floats, Ints, Floats, Floats, int], list[Floats]]
PENALTIES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # of squared weights, strong to weak
TREES = (3, 6, 12, 25, 50, 100)  # of a boosting
STEPS = 300  # of the optimiser


def shares(labels: Ints, weights: Floats, classes: int) -> Floats:
    """Share of each class, shape (classes,)."""
    counts = np.bincount(labels, weights, classes)
    return np.asarray(counts / counts.sum())


def logistic(
    train: Floats, labels: Ints, weights: Floats, test: Floats, classes: int
) -> list[Floats]:
    """Multinomial logistic regression with a ridge penalty, fitted for several penalties.

    It minimises the weighted mean of -ln p(true class) over the training samples plus penalty / 2
    times the sum of the squared coefficients.

    Parameters
    ----------
    train, test : ndarray of float64, shapes (N, features) and (M, features)
        Features of the training samples and of the samples to predict.
    labels : ndarray of int64, shape (N,)
        Index of the class of each training sample; at least two classes occur.
    weights : ndarray of float64, shape (N,)
        Weight of each training sample.
    classes : int
        Number of classes, including classes that do not occur in the training samples.

    Returns
    -------
    list of ndarray of float64, shape (M, classes)
        Class probabilities of the test samples. The first array contains the class shares of the
        training samples; the following arrays are the predictions of the models, from the strongest
        penalty to the weakest. A class without training samples has the probability 0.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    from truecost.kernels.calibrating import softmax_pass

    known, codes = np.unique(labels, return_inverse=True)
    codes, scaled = codes.astype(np.int64), weights / weights.sum()
    shape = (train.shape[1] + 1, len(known))
    naive = shares(codes, weights, len(known))
    gradient, start = np.empty(shape), np.zeros(shape)
    start[-1] = np.log(naive)
    found = [np.tile(naive, (len(test), 1))]

    def loss(flat: Floats, penalty: float) -> tuple[float, Floats]:
        parameters = flat.reshape(shape)
        value = softmax_pass(train, codes, scaled, parameters, gradient)
        held = parameters[:-1]
        slope = gradient.copy()
        slope[:-1] += penalty * held
        return value + penalty / 2 * float(np.square(held).sum()), slope.ravel()

    options = {"maxiter": STEPS, "gtol": 1e-5, "ftol": 1e-8}
    how = {"method": "L-BFGS-B", "jac": True, "options": options}
    with threadpool_limits(limits=1):  # several threads take ten times as long on ten rows
        for penalty in PENALTIES:
            start = minimize(loss, start.ravel(), (penalty,), **how).x.reshape(shape)
            found.append(_softmax(np.einsum("nf,fk->nk", test, start[:-1]) + start[-1]))
    return [_spread(part, known, classes) for part in found]


def boosting(
    train: Floats, labels: Ints, weights: Floats, test: Floats, classes: int
) -> list[Floats]:
    """Boosted trees of scikit-learn (extra `learn`), with several numbers of trees.

    Unlike :func:`truecost.protocol.predicting.logistic`, the trees also model interactions between
    features. The parameters are those of :func:`truecost.protocol.predicting.logistic`.

    Returns
    -------
    list of ndarray of float64, shape (M, classes)
        Class probabilities of the test samples. The first array contains the class shares of the
        training samples; the following arrays are the predictions of the models, from few trees to
        many. A class without training samples has the probability 0.
    """
    from threadpoolctl import threadpool_limits

    ensemble = need("sklearn.ensemble", "learn")
    known, codes = np.unique(labels, return_inverse=True)
    model = ensemble.HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=max(TREES),
        max_leaf_nodes=8,
        min_samples_leaf=10,
        early_stopping=False,
        random_state=0,
    )
    found = [np.tile(shares(codes, weights, len(known)), (len(test), 1))]
    with threadpool_limits(limits=1):
        model.fit(train, codes, sample_weight=weights)
        stages = enumerate(model.staged_predict_proba(test), 1)
        found += [np.asarray(said, np.float64) for number, said in stages if number in TREES]
    return [_spread(part, known, classes) for part in found]


def _spread(posteriors: Floats, known: Ints, classes: int) -> Floats:
    """Posteriors of all classes, of those that were trained on."""
    found = np.zeros((len(posteriors), classes))
    found[:, known] = posteriors
    return found


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


MODELS: dict[str, Path] = {"logistic": logistic, "boosting": boosting}
WEIGHED = ("logistic",)  # these take several alike samples as one; leaves of trees count samples


@dataclass(frozen=True)
class Predicting:
    """Options of :func:`truecost.protocol.predict`.

    Attributes
    ----------
    model : {"logistic", "boosting"}
        ``logistic``: multinomial logistic regression with a ridge penalty; ``boosting``: boosted
        trees, which also model interactions between columns (needs the extra `learn`).
    folds : int
        Number of folds, at least 2. All samples of a unit are in the same fold.
    seed : int
        Seed of the assignment of units to folds, from 0 up.

    Raises
    ------
    UsageError
        If an option is out of its range.
    """

    model: str = "logistic"
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self, SpuriousTable)

    @property
    def signature(self) -> str:
        """The options in one text, for the signature of a result: ``logistic:folds5:seed0``."""
        return f"{self.model}:folds{self.folds}:seed{self.seed}"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Cross-validated predictions of the class of each sample.

    Attributes
    ----------
    posteriors : ndarray of float64, shape (N, K)
        Predicted probability of each of the K classes for each of the N samples. With n training
        samples, values are raised to at least 1 / (n + K) before the row is scaled to sum to 1, so
        that no class gets the probability 0.
    chosen : tuple of int
        Index of the model chosen in each fold: 0 predicts the class shares of the training samples
        for every sample; higher indices are models with weaker regularisation (``logistic``) or
        more trees (``boosting``).
    problems : tuple of str
        Warnings, such as a class that is missing from the training samples of a fold.
    """

    posteriors: Floats
    chosen: tuple[int, ...]
    problems: tuple[str, ...]


def predict(
    columns: Sequence[Column],
    labels: npt.ArrayLike,
    units: npt.ArrayLike,
    classes: Sequence[str],
    how: Predicting | None = None,
    weights: npt.ArrayLike | None = None,
    known: npt.ArrayLike | None = None,
) -> Predictions:
    """Predict the class of each sample from its characteristics, with a model that is trained on
    other units.

    The units are divided into folds. For each fold, a model is trained on the other folds, and its
    regularisation is chosen by an inner cross-validation (Ferrer et al. 2024, section 2.3).

    Parameters
    ----------
    columns : sequence of Levels or Numbers
        Characteristics of the samples, made with :func:`truecost.protocol.grouping.column_of`. Sort
        the rows by id: the order of the rows affects rounding errors.
    labels : array_like of int, shape (N,)
        Index of the class of each sample.
    units : array_like, shape (N,)
        Unit (speaker, session) of each sample. All samples of a unit are in the same fold.
    classes : sequence of str
        Names of the classes.
    how : Predicting, optional
        Model, number of folds and seed. Default: ``Predicting()``.
    weights : array_like, shape (N,), optional
        Weight of each sample in the training. Default: 1.
    known : array_like of bool, shape (N,), optional
        False for samples without characteristics. Their predictions are the class shares of the
        training samples. Default: all samples have characteristics.

    Raises
    ------
    InputError
        If the number of units is less than twice the number of folds.
    """
    how = how or Predicting()
    found = np.asarray(labels, np.int64)
    of_units = np.unique(np.asarray(units), return_inverse=True)[1].astype(np.int64)
    weighed = np.ones(len(found)) if weights is None else np.asarray(weights, np.float64)
    told = np.ones(len(found), bool) if known is None else np.asarray(known, bool)
    _refuse_few(of_units, how)
    fold = deal(of_units, how.folds, how.seed, found)
    posteriors = np.empty((len(found), len(classes)))
    kinds = alike(columns) if how.model in WEIGHED else None
    case = _Case(columns, found, of_units, weighed, len(classes), how, kinds)
    chosen, lacking = [], dict[int, list[int]]()
    for number in np.unique(fold):
        train, test = fold != number, fold == number
        naive = shares(found[train], weighed[train], len(classes))
        posteriors[test] = naive
        choice = 0
        if (train & told).any() and (test & told).any():
            choice = case.choice(train & told)
            posteriors[test & told] = case.candidates(train & told, test & told)[choice]
        chosen.append(choice)
        for k in np.flatnonzero(naive == 0):
            lacking.setdefault(int(k), []).append(int(number) + 1)
        posteriors[test] = _floored(posteriors[test], int(train.sum()))
    return Predictions(posteriors, tuple(chosen), (*_lacking_classes(lacking, classes),))


@dataclass(frozen=True, eq=False)
class _Case:
    """Samples, and how they are predicted."""

    columns: Sequence[Column]
    labels: Ints
    units: Ints
    weights: Floats
    classes: int
    how: Predicting
    kinds: Ints | None  # of alike samples, which are trained on as one of their weight

    def candidates(self, train: Marks, test: Marks) -> list[Floats]:
        """Posteriors of the test samples by each candidate."""
        matrix, model = encoded(self.columns, train), MODELS[self.how.model]
        places, asked = np.flatnonzero(train), np.flatnonzero(test)
        if self.kinds is None:
            own = (np.ascontiguousarray(matrix[places]), self.labels[places], self.weights[places])
            return model(*own, matrix[asked], self.classes)
        both = self.kinds[places] * self.classes + self.labels[places]
        _, first, of = np.unique(both, return_index=True, return_inverse=True)
        kept = places[first]
        weights = np.bincount(of, self.weights[places]).astype(np.float64)
        _, once, back = np.unique(self.kinds[asked], return_index=True, return_inverse=True)
        said = model(matrix[kept], self.labels[kept], weights, matrix[asked[once]], self.classes)
        return [part[back] for part in said]

    def choice(self, rows: Marks) -> int:
        """The candidate of least cross entropy over inner folds; of equal ones the first."""
        places = np.flatnonzero(rows)
        units = self.units[places]
        k = min(self.how.folds, len(np.unique(units)))
        if k < 2:
            return 0
        fold = deal(units, k, self.how.seed, self.labels[places])
        losses: Floats | None = None
        for number in np.unique(fold):
            train, test = np.zeros_like(rows), np.zeros_like(rows)
            train[places[fold != number]] = True
            test[places[fold == number]] = True
            said = self.candidates(train, test)
            loss = np.array([self._loss(part, train, test) for part in said])
            losses = loss if losses is None else losses + loss
        return 0 if losses is None else int(np.argmin(losses))

    def _loss(self, posteriors: Floats, train: Marks, test: Marks) -> float:
        """Sum of -ln p(truth) over the test samples."""
        said = _floored(posteriors, int(train.sum()))
        truth = said[np.arange(len(said)), self.labels[test]]
        return float((self.weights[test] * -np.log(truth)).sum())


def _floored(posteriors: Floats, trained: int) -> Floats:
    """Posteriors of at least 1 / (n + K) each, summing to one."""
    least = 1.0 / (trained + posteriors.shape[1])
    raised = np.maximum(posteriors, least)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _refuse_few(units: Ints, how: Predicting) -> None:
    """Refuse so few units that a training part would have next to none to choose by."""
    there, needed = int(units.max(initial=-1)) + 1, 2 * how.folds
    if there >= needed:
        return
    if there >= 4:
        advice = f"use --folds {there // 2}"
    else:
        advice = "use a finer group (sessions instead of speakers), or collect more"
    raise InputError(
        f"{counted(there, 'group')} for {how.folds} folds: at least {needed} are needed, because "
        f"each is predicted from the others: {advice}"
    )


def _lacking_classes(lacking: dict[int, list[int]], classes: Sequence[str]) -> list[str]:
    """The classes without training samples."""
    return [
        f"all groups of class {classes[k]} are in fold {first_five(numbers)}: the predictor of "
        f"this fold does not know the class and gives it the lowest probability; collect more "
        "groups of it"
        for k, numbers in lacking.items()
    ]


def alone_in_units(column: Column, units: npt.ArrayLike) -> bool:
    """Whether each of several levels occurs in one unit only, so that it is never seen twice."""
    if not isinstance(column, Levels) or len(column.levels) < 2:
        return False
    of_units = np.unique(np.asarray(units), return_inverse=True)[1]
    pairs = np.unique(np.stack([column.codes, of_units], axis=1), axis=0)
    return len(pairs) == len(column.levels)
