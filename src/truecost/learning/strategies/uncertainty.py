"""Strategies of one rule: at random, by uncertainty, by where items lie, by a moving threshold.

Each measure takes probabilities, shape (items, classes), and gives one number an item, 0 where the
learner is certain and greater the less sure it is. With two classes the first three give the same
order.

An item lies where the learner's embedding puts it; features stand in for an embedding that the
learner does not give.

Zliobaite, Bifet, Pfahringer and Holmes, Active Learning With Drifting Streaming Data, IEEE TNNLS
25(1), 2014, algorithms VarUncertainty and RandVarUncertainty. Items arrive one by one there, and a
budget is a share of them; here M of each batch are asked about, so:

- The rows are looked at in order while fewer than M are chosen. A row whose confidence (its
  greatest probability) is below threshold x eta is chosen, and the threshold shrinks to
  threshold (1 - step); any other lets it grow to threshold (1 + grow). eta is 1, or drawn from a
  normal distribution of mean 1 and standard deviation `spread`, one draw a row.
- After M the look ends; as in the paper, what comes when the budget is spent moves nothing.
- When the rows end first, the least confident of the others fill the gap. That moves nothing
  either: it was not the threshold that chose them.

With grow = step, as in the paper, about half of the rows looked at are chosen in the long run, so
that the choice falls on the first 2 M rows or so of each batch. A `grow` of about
step M / (batch - M) spreads it over the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from truecost.errors import UsageError
from truecost.learning.strategies import settings as reading
from truecost.learning.strategies.settings import Keeping, Kind, Memory, Settings
from truecost.learning.system import Answered, Batch, Floats, Outputs, generator


@dataclass(frozen=True)
class ByUtility:
    """Asks about the items of the greatest utility; of equal ones, the lowest row first.

    `utility`: from a batch and outputs to one finite number an item.
    """

    name: str
    utility: Callable[[Batch, Outputs], Floats]
    stateless: ClassVar[bool] = True

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows of the min(count, len(batch)) items of most use, the most useful first."""
        return reading.highest_rows(self.utility(batch, outputs), count)


def least_confidence(probabilities: Floats) -> Floats:
    """1 - max_k p_k, in [0, 1 - 1/K] (Lewis and Gale, SIGIR 1994)."""
    return np.asarray(1.0 - probabilities.max(axis=1))


def filled_up(chosen: list[int], probabilities: Floats, count: int) -> list[int]:
    """As many rows as there are, `count` at most: those chosen, then the least confident others."""
    unsure = least_confidence(probabilities)
    unsure[chosen] = -1.0  # after every other
    return chosen + reading.highest_rows(unsure, min(count, len(unsure)) - len(chosen))


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
    logarithms = np.log(np.where(ordered > 0, ordered, 1.0))  # p ln p is 0 where p is
    return np.asarray(-(ordered * logarithms).sum(axis=1))


UNCERTAINTIES: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "least-confidence": (least_confidence, "least probability of the most probable class"),
    "margin": (margin, "least distance between the two most probable classes"),
    "entropy": (entropy, "greatest entropy of the probabilities"),
}


def build_uncertainty(settings: Settings, measure: Callable[[Floats], Floats]) -> ByUtility:
    """A strategy that asks where one of the measures is greatest."""

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        return measure(reading.probabilities(settings.strategy, batch, outputs))

    return ByUtility(settings.strategy, utility)


def energy(logits: Floats, temperature: float) -> Floats:
    """-T ln sum_k exp(z_k / T): greater for what the learner has seen nothing like; any number.

    z, of shape (items, classes), are unnormalised log-probabilities, and T, the temperature, is
    above 0 (Liu et al., Energy-based Out-of-distribution Detection, NeurIPS 2020).
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
                "the learner gives only probabilities, which sum to 1 and have no energy; use a "
                "temperature below 1, a learner that gives logits, or the strategy entropy"
            )
        values = reading.probabilities(settings.strategy, batch, outputs)
        with np.errstate(divide="ignore"):  # a probability of 0 has the logit -inf
            return energy(np.log(values), temperature)

    return ByUtility(settings.strategy, utility)


@dataclass(frozen=True)
class Random:
    """Asks about items drawn without replacement, each as probable as the other."""

    name: str
    seed: int
    stateless: ClassVar[bool] = True

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows in the order drawn; they depend on the seed, the stream and the batch number."""
        del outputs
        random = generator(self.seed, "strategy", self.name, batch.stream, batch.index)
        drawn = random.permutation(len(batch))[: max(count, 0)]
        return [int(row) for row in drawn]


@dataclass(frozen=True)
class Periodic:
    """Asks at even distances: the middle item of each of M equal parts of the batch."""

    name: str
    stateless: ClassVar[bool] = True

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows floor((i + 1/2) n / M) for i = 0 ... M - 1, in their order."""
        del outputs
        n, m = len(batch), min(count, len(batch))
        return [(2 * i + 1) * n // (2 * m) for i in range(m)]


class KCentre(Keeping):
    """Asks about the item farthest from everything asked about so far, again and again.

    Greedy k-centre (Gonzalez 1985; Sener and Savarese, Active Learning for Convolutional Neural
    Networks: A Core-Set Approach, ICLR 2018). Centres are the latest `memory` items that were asked
    about or answered, those of the bootstrap set included; Euclidean distance to the nearest. While
    there are none, the first is the item nearest to the mean of the batch.

    `memory`: how many centres are remembered from earlier batches: time grows with it.
    """

    kept = ("memory",)

    def __init__(self, name: str, memory: int) -> None:
        self.name = name
        self.memory = Memory(memory)

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows in the order in which they become centres; of equal distances the lowest row."""
        kind, places = reading.places(self.name, batch, outputs)
        self.memory.open(kind, places.shape[1])
        rows = farthest_first(places, self.memory.without(batch.ids), count)
        self.memory.keep([batch.ids[row] for row in rows], places[rows])
        return rows

    def learn(self, batch: Batch, outputs: Outputs | None, answered: Answered) -> None:
        """Items that others asked about are centres too."""
        self.memory.note(batch, outputs, answered)


def farthest_first(places: Floats, centres: Floats, count: int) -> list[int]:
    """Rows that the greedy k-centre algorithm adds to some centres, in order.

    Places have the shape (items, dimensions), centres (centres, dimensions); there may be none. The
    rows are different, min(count, items) of them.
    """
    from truecost.kernels.points import lower

    columns = np.ascontiguousarray(places.T)
    nearest, room = np.full(len(places), np.inf), np.empty(len(places))
    rows: list[int] = []
    if len(centres):
        lower(columns, centres, room, nearest)
    else:
        lower(columns, places.mean(axis=0)[None], room, nearest)
        rows = reading.highest_rows(-nearest, min(count, 1))
        nearest[:] = np.inf
        lower(columns, places[rows], room, nearest)
        nearest[rows] = -1.0  # none of them is chosen again
    while len(rows) < min(count, len(places)):
        rows.append(int(nearest.argmax()))
        lower(columns, places[rows[-1:]], room, nearest)
        nearest[rows[-1]] = -1.0
    return rows


def density(places: Floats) -> Floats:
    """Mean similarity of each item to all of its batch, itself included; in [0, 1].

    The similarity is (1 + cos) / 2, so that the density is positive whatever the sign of the cosine
    of two embeddings. The cosine with a vector of zeros is 0. Places have the shape
    (items, dimensions), densities (items,).
    """
    scale = np.abs(places).max(axis=1, keepdims=True)  # so that squares neither over- nor underflow
    scaled = places / np.where(scale > 0, scale, 1.0)
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    directions = scaled / np.where(lengths > 0, lengths, 1.0)
    cosines = (directions * directions.mean(axis=0)).sum(axis=1)
    return np.asarray(np.clip((1.0 + cosines) / 2.0, 0.0, 1.0))


def build_density(settings: Settings) -> ByUtility:
    """Information density: uncertainty x density^beta.

    Settles and Craven, An Analysis of Active Learning Strategies for Sequence Labeling Tasks, EMNLP
    2008. The pool whose density counts is the batch.
    """
    measure, _ = UNCERTAINTIES[settings.choice("uncertainty", "entropy", tuple(UNCERTAINTIES))]
    beta = settings.number("beta", 1.0, 0.0)

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        unsure = measure(reading.probabilities(settings.strategy, batch, outputs))
        _, places = reading.places(settings.strategy, batch, outputs)
        return np.asarray(unsure * density(places) ** beta)

    return ByUtility(settings.strategy, utility)


@dataclass
class VariableThreshold(Keeping):
    """Asks below a threshold that shrinks with each question and grows otherwise.

    `step`, `grow`: relative change of the threshold after a row that is chosen, and after one that
    is not; `spread`: standard deviation of the factor on the threshold; 0 for none; `threshold`:
    where it stands now.
    """

    name: str
    seed: int
    step: float
    grow: float
    spread: float
    threshold: float
    kept: ClassVar[tuple[str, ...]] = ("threshold",)

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows chosen by the threshold, in order, then those that fill the gap, least sure first.

        To be called once a batch, in the order of the batches: it moves the threshold.
        """
        values = reading.probabilities(self.name, batch, outputs)
        return filled_up(
            self._below(values.max(axis=1), self._factors(batch), count), values, count
        )

    def _below(self, confidence: Floats, factors: Floats, count: int) -> list[int]:
        """Rows below the threshold, which moves while they are looked at."""
        chosen: list[int] = []
        for row, (sure, factor) in enumerate(zip(confidence, factors, strict=True)):
            if len(chosen) >= count:
                break
            if sure < self.threshold * factor:
                chosen.append(row)
                self.threshold *= 1 - self.step
            else:
                self.threshold *= 1 + self.grow
        return chosen

    def _factors(self, batch: Batch) -> Floats:
        """Factors of the threshold, row by row."""
        if not self.spread:
            return np.ones(len(batch))
        random = generator(self.seed, "strategy", self.name, batch.stream, batch.index)
        return random.normal(1.0, self.spread, len(batch))


def build_threshold(settings: Settings) -> VariableThreshold:
    """The variable threshold; the defaults are the paper's (spread 1 is its randomised one)."""
    step = settings.between("step", 0.01, 0.0, 1.0)
    return VariableThreshold(
        settings.strategy,
        settings.seed,
        step,
        settings.between("grow", step, 0.0),
        settings.number("spread", 0.0, 0.0),
        settings.between("threshold", 1.0, 0.0),
    )


STRATEGIES = {
    "k-centre": Kind(
        "greatest distance to the nearest item asked about before",
        lambda given: KCentre(given.strategy, given.whole("memory", 1000, 1)),
        {"memory": "number of the latest asked items to compare with (1000)"},
    ),
    "density": Kind(
        "greatest uncertainty times density^beta, where density is mean similarity to the batch",
        build_density,
        {
            "uncertainty": "least-confidence, margin or entropy (the default)",
            "beta": "weight of the density, 0 or more (1)",
        },
    ),
    "random": Kind("items at random", lambda given: Random(given.strategy, given.seed)),
    "periodic": Kind("items at even distances", lambda given: Periodic(given.strategy)),
    "variable-threshold": Kind(
        "confidence below a limit that moves with each item (Zliobaite et al. 2014)",
        build_threshold,
        {
            "step": "relative fall of the limit after a question, above 0 and below 1 (0.01)",
            "grow": "relative rise after any other item, above 0 (the value of step)",
            "spread": "standard deviation of a random factor of the limit (0; the paper's is 1)",
            "threshold": "the limit at the start (1)",
        },
    ),
    **{
        name: Kind(text, partial(build_uncertainty, measure=measure))
        for name, (measure, text) in UNCERTAINTIES.items()
    },
    "energy": Kind(
        "greatest energy of the logits: most different from the known items",
        build_energy,
        {"temperature": "above 0 (1)"},
    ),
}
