"""A strategy is one source file: what a module of the room lists is found, built and described."""

import importlib
import sys

import numpy as np
import pytest

from truecost.errors import UsageError
from truecost.lazy import listed_in
from truecost.learning import strategies
from truecost.learning.strategies.mixtures import kinds
from truecost.learning.strategies.settings import Settings
from truecost.learning.system import Batch, Outputs

FILE = '''
"""Nearest to a threshold."""

import math

from truecost.learning.strategies import settings as reading
from truecost.learning.strategies.settings import Kind


class Nearest:
    """Asks where the score lies nearest to a threshold."""

    def __init__(self, name, threshold):
        self.name, self.threshold = name, threshold

    def choose(self, batch, outputs, count):
        return reading.highest_rows(-abs(outputs.scores - self.threshold), count)


def build(settings):
    """A strategy of settings."""
    return Nearest(settings.strategy, settings.number("threshold", 0.0, -math.inf))


STRATEGIES = {"nearest": Kind("nearest to a threshold", build, {"threshold": "0"})}
'''


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Every strategy, with one more file beside the others."""
    (tmp_path / "nearest_to.py").write_text(FILE)
    monkeypatch.setattr(strategies, "__path__", [*strategies.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield lambda: listed_in(strategies, "STRATEGIES", "strategies")
    sys.modules.pop("truecost.learning.strategies.nearest_to", None)


def test_a_file_is_all_that_a_strategy_needs(found):
    kind = found()["nearest"]
    assert kind.text == "nearest to a threshold"
    strategy = kind.make(Settings("nearest", {"threshold": 1.0}, 0, ()))
    batch = Batch(0, tuple("abcd"), np.zeros((4, 1)))
    outputs = Outputs(("0",) * 4, np.array([3.0, 1.1, -1.0, 0.8]))
    assert [*strategy.choose(batch, outputs, 2)] == [1, 3]


def test_two_strategies_of_one_name_are_refused(found, tmp_path):
    (tmp_path / "nearest_to.py").write_text(FILE.replace('"nearest":', '"margin":'))
    with pytest.raises(UsageError, match="two strategies are named 'margin'"):
        found()


def test_every_strategy_says_what_it_does():
    assert len(kinds()) == 14
    assert all(k.text and not k.text.endswith(".") for k in kinds().values())
