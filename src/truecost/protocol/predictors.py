"""Predictors of a class: each gives what it says at several strengths, the naive one first.

The first candidate knows the class shares of the training samples and nothing else, so that where
nothing is to be learnt the choice among candidates can say so. Sums have a fixed order and nothing
runs in several threads: the same samples give the same bytes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.extras import need

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
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
    """Multinomial logistic regression with ridge: minimises mean -ln p(truth) + penalty/2 sum A^2.

    Parameters
    ----------
    train : ndarray of float64, shape (N, features)
    labels : ndarray of int64, shape (N,)
        At least two classes occur.
    weights : ndarray of float64, shape (N,)
    test : ndarray of float64, shape (M, features)

    Returns
    -------
    list of ndarray of float64, shape (M, classes)
        Posteriors: the training shares, then by penalty from strong to weak; 0 for a class that is
        not trained on.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    from truecost.kernels.softmax import softmax_pass

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
    """Boosted trees of scikit-learn, which follow interactions; the training shares first.

    Parameters
    ----------
    train, labels, weights, test, classes
        As of `logistic`.

    Returns
    -------
    list of ndarray of float64, shape (M, classes)
        Posteriors, by number of trees from few to many.

    Raises
    ------
    MissingExtraError
        Without scikit-learn.
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


def _spread(posteriors: Floats, known: npt.NDArray[Any], classes: int) -> Floats:
    """Posteriors of all classes, of those that were trained on."""
    found = np.zeros((len(posteriors), classes))
    found[:, known] = posteriors
    return found


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


MODELS: dict[str, Path] = {"logistic": logistic, "boosting": boosting}
WEIGHED = ("logistic",)  # these take several alike samples as one; leaves of trees count samples
