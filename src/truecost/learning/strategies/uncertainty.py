"""Uncertainty: the items of which the learner is least sure, by its own probabilities.

Each measure takes probabilities, shape (items, classes), and gives one number an item, 0 where the
learner is certain and greater the less sure it is. With two classes the first three give the same
order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from truecost.errors import UsageError
from truecost.learning.strategies import settings as reading
from truecost.learning.strategies.settings import Kind, Settings
from truecost.learning.system import Batch, Floats, Outputs


@dataclass(frozen=True)
class ByUtility:
    """Asks about the items of the greatest utility; of equal ones, the lowest row first.

    Attributes
    ----------
    utility : callable
        From a batch and outputs to one finite number an item.
    """

    name: str
    utility: Callable[[Batch, Outputs], Floats]
    stateless: ClassVar[bool] = True

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows of the min(count, len(batch)) items of most use, the most useful first."""
        return reading.most(self.utility(batch, outputs), count)


def least_confidence(probabilities: Floats) -> Floats:
    """1 - max_k p_k, in [0, 1 - 1/K] (Lewis and Gale, SIGIR 1994)."""
    return np.asarray(1.0 - probabilities.max(axis=1))


def margin(probabilities: Floats) -> Floats:
    """1 - (p_first - p_second) of the two most probable classes, in [0, 1].

    Scheffer, Decomain and Wrobel, IDA 2001. A single class has a second one of probability 0.
    """
    ordered = np.sort(probabilities, axis=1)
    second = ordered[:, -2] if ordered.shape[1] > 1 else 0.0
    return np.asarray(1.0 - (ordered[:, -1] - second))


def entropy(probabilities: Floats) -> Floats:
    """-sum_k p_k ln p_k in nats, in [0, ln K] (Shannon 1948)."""
    ordered = np.sort(probabilities, axis=1)  # so that the order of the classes changes no digit
    return np.asarray(-(ordered * _logarithms(ordered)).sum(axis=1))


def _logarithms(probabilities: Floats) -> Floats:
    """Natural logarithms, 0 for a probability of 0: p ln p is 0 there."""
    return np.log(np.where(probabilities > 0, probabilities, 1.0))


MEASURES: dict[str, Callable[[Floats], Floats]] = {
    "least-confidence": least_confidence,
    "margin": margin,
    "entropy": entropy,
}


def build_uncertainty(settings: Settings, measure: str) -> ByUtility:
    """A strategy that asks where one of the measures is greatest."""

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        return MEASURES[measure](reading.probabilities(settings.strategy, batch, outputs))

    return ByUtility(settings.strategy, utility)


def energy(logits: Floats, temperature: float) -> Floats:
    """-T ln sum_k exp(z_k / T): greater for what the learner has seen nothing like.

    Parameters
    ----------
    logits : ndarray of float64, shape (items, classes)
        z, unnormalised log-probabilities.
    temperature : float
        T, above 0.

    Returns
    -------
    ndarray of float64, shape (items,)
        Any number.

    Notes
    -----
    Liu et al., Energy-based Out-of-distribution Detection, NeurIPS 2020.
    """
    top = logits.max(axis=1)
    total = np.exp((logits - top[:, None]) / temperature).sum(axis=1)
    return np.asarray(-(top + temperature * np.log(total)))


def build_energy(settings: Settings) -> ByUtility:
    """The energy strategy.

    Logarithms of probabilities stand in for logits that the learner does not give, but only below a
    temperature of 1: at 1 the energy of every item is 0, above it the order turns round (the most
    certain items come first).
    """
    temperature = settings.between("temperature", 1.0, 0.0)

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        if outputs.logits is not None or outputs.probabilities is None:
            logits = reading.logits(settings.strategy, batch, outputs)
            return energy(logits, temperature)
        if temperature >= 1:
            raise UsageError(
                f"strategy {settings.strategy} at temperature {temperature:g} needs logits, and "
                "the learner gives only probabilities, which sum to 1 and have no energy; take a "
                "temperature below 1, a learner that gives logits, or the strategy entropy"
            )
        values = reading.probabilities(settings.strategy, batch, outputs)
        with np.errstate(divide="ignore"):  # a probability of 0 has the logit -inf
            return energy(np.log(values), temperature)

    return ByUtility(settings.strategy, utility)


STRATEGIES = {
    "least-confidence": Kind(
        "least probability of the most probable class",
        partial(build_uncertainty, measure="least-confidence"),
    ),
    "margin": Kind(
        "least distance between the two most probable classes",
        partial(build_uncertainty, measure="margin"),
    ),
    "entropy": Kind(
        "greatest entropy of the probabilities", partial(build_uncertainty, measure="entropy")
    ),
    "energy": Kind(
        "greatest energy of the logits: least like anything known",
        build_energy,
        {"temperature": "above 0 (1)"},
    ),
}
