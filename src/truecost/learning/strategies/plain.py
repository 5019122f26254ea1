"""Strategies that look at nothing: at random, and evenly spaced."""

from dataclasses import dataclass
from typing import ClassVar

from truecost.learning.strategies.settings import Kind, Settings
from truecost.learning.system import Batch, Outputs, generator


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


def build_random(settings: Settings) -> Random:
    """The random strategy."""
    return Random(settings.strategy, settings.seed)


def build_periodic(settings: Settings) -> Periodic:
    """The periodic strategy."""
    return Periodic(settings.strategy)


STRATEGIES = {
    "random": Kind("items at random", build_random),
    "periodic": Kind("items at even distances", build_periodic),
}
