"""Variable threshold: asks below a limit on the confidence, and moves the limit.

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecost.learning.strategies import settings as reading
from truecost.learning.strategies.keeping import Keeping
from truecost.learning.strategies.settings import Kind, Settings
from truecost.learning.strategies.uncertainty import least_confidence
from truecost.learning.system import Batch, Floats, Outputs, generator


@dataclass
class VariableThreshold(Keeping):
    """Asks below a threshold that shrinks with each question and grows otherwise.

    Attributes
    ----------
    step, grow : float
        Relative change of the threshold after a row that is chosen, and after one that is not.
    spread : float
        Standard deviation of the factor on the threshold; 0 for none.
    threshold : float
        Where it stands now.
    """

    name: str
    seed: int
    step: float
    grow: float
    spread: float
    threshold: float

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows chosen by the threshold, in order, then those that fill the gap, least sure first.

        To be called once a batch, in the order of the batches: it moves the threshold.
        """
        values = reading.probabilities(self.name, batch, outputs)
        chosen = self._below(values.max(axis=1), self._factors(batch), count)
        unsure = least_confidence(values)
        unsure[chosen] = -1.0  # after every other
        return chosen + reading.most(unsure, min(count, len(batch)) - len(chosen))

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
        """What the threshold is multiplied by, row by row."""
        if not self.spread:
            return np.ones(len(batch))
        random = generator(self.seed, "strategy", self.name, batch.stream, batch.index)
        return random.normal(1.0, self.spread, len(batch))

    def state(self) -> dict[str, Any]:
        """The threshold."""
        return {"threshold": self.threshold}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """An earlier threshold."""
        self.threshold = float(state["threshold"])


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
    "variable-threshold": Kind(
        "confidence below a limit that moves with each item (Zliobaite et al. 2014)",
        build_threshold,
        {
            "step": "relative fall of the limit after a question, above 0 and below 1 (0.01)",
            "grow": "relative rise after any other item, above 0 (as step)",
            "spread": "standard deviation of a random factor on the limit (0; the paper's is 1)",
            "threshold": "the limit at the start (1)",
        },
    )
}
