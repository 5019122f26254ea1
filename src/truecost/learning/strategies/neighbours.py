"""Strategies that look at where items lie: k-centre, and uncertainty weighted by density.

An item lies where the learner's embedding puts it; features stand in for an embedding that the
learner does not give.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from truecost.learning.strategies import settings as reading
from truecost.learning.strategies.keeping import Keeping, Memory
from truecost.learning.strategies.settings import Kind, Settings
from truecost.learning.strategies.uncertainty import MEASURES, ByUtility
from truecost.learning.system import Answered, Batch, Floats, Outputs


class KCentre(Keeping):
    """Asks about the item farthest from everything asked about so far, again and again.

    Greedy k-centre (Gonzalez 1985; Sener and Savarese, Active Learning for Convolutional Neural
    Networks: A Core-Set Approach, ICLR 2018). Centres are the latest `memory` items that were asked
    about or answered, those of the bootstrap set included; Euclidean distance to the nearest. While
    there are none, the first is the item nearest to the mean of the batch.

    Parameters
    ----------
    memory : int
        How many centres are remembered from earlier batches: time grows with it.
    """

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

    def state(self) -> dict[str, Any]:
        """What is remembered."""
        return self.memory.state()

    def put_back(self, state: Mapping[str, Any]) -> None:
        """What was remembered."""
        self.memory.put_back(state)


def farthest_first(places: Floats, centres: Floats, count: int) -> list[int]:
    """Rows that the greedy k-centre algorithm adds to some centres, in order.

    Parameters
    ----------
    places : ndarray of float64, shape (items, dimensions)
    centres : ndarray of float64, shape (centres, dimensions)
        There may be none.

    Returns
    -------
    list of int
        Different rows, min(count, items) of them.
    """
    from truecost.kernels.points import lower

    columns = np.ascontiguousarray(places.T)
    nearest, room = np.full(len(places), np.inf), np.empty(len(places))
    rows: list[int] = []
    if len(centres):
        lower(columns, centres, room, nearest)
    else:
        lower(columns, places.mean(axis=0)[None], room, nearest)
        rows = reading.most(-nearest, min(count, 1))
        nearest[:] = np.inf
        _add(columns, places, rows, room, nearest)
    while len(rows) < min(count, len(places)):
        row = int(nearest.argmax())
        rows.append(row)
        _add(columns, places, [row], room, nearest)
    return rows


def _add(columns: Floats, places: Floats, rows: list[int], room: Floats, nearest: Floats) -> None:
    """Rows become centres; none of them is chosen again."""
    from truecost.kernels.points import lower

    lower(columns, places[rows], room, nearest)
    nearest[rows] = -1.0


def density(places: Floats) -> Floats:
    """Mean similarity of each item to all of its batch, itself included; in [0, 1].

    The similarity is (1 + cos) / 2, so that the density is positive whatever the sign of the cosine
    of two embeddings. The cosine with a vector of zeros is 0.

    Parameters
    ----------
    places : ndarray of float64, shape (items, dimensions)

    Returns
    -------
    ndarray of float64, shape (items,)
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
    measure = MEASURES[settings.choice("uncertainty", "entropy", tuple(MEASURES))]
    beta = settings.number("beta", 1.0, 0.0)

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        unsure = measure(reading.probabilities(settings.strategy, batch, outputs))
        _, places = reading.places(settings.strategy, batch, outputs)
        return np.asarray(unsure * density(places) ** beta)

    return ByUtility(settings.strategy, utility)


def build_centre(settings: Settings) -> KCentre:
    """The k-centre strategy."""
    return KCentre(settings.strategy, settings.whole("memory", 1000, 1))


STRATEGIES = {
    "k-centre": Kind(
        "farthest from everything asked about so far",
        build_centre,
        {"memory": "how many of the latest asked items count (1000)"},
    ),
    "density": Kind(
        "uncertainty times density^beta",
        build_density,
        {
            "uncertainty": "least-confidence, margin or entropy (the default)",
            "beta": "weight of the density, 0 or more (1)",
        },
    ),
}
