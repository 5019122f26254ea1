"""The cost of online learning in batches in order of time, whose difficulty drifts."""

from functools import cache, partial
from itertools import product

import numpy as np

import truecost as tc
from covering.cells import Cell
from test_stream_coverage import SIZE, log_of_stream, outputs, value
from truecost.prices import Prices
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

HOUR, SECONDS, ERROR = 30.0, 6.0, 0.1  # of the person, for an item, of an error
HOW = StreamScoring(queried="model", item_seconds=SECONDS)
PRICES = Prices(person=HOUR, miss=ERROR, false_alarm=ERROR)
MEASURES = ("imlm", "imlm_money", "total_cost")


def cells():
    """Streams of 20, 60 and 200 batches with lag correlations up to .9."""
    for batches, rho in product((20, 60, 200), (0.0, 0.5, 0.8, 0.9)):
        name = f"{batches} batches, lag correlation {rho:g}"
        draw = partial(drawn, batches=batches, rho=rho)
        yield Cell("streams", name, partial(truth, batches, rho), draw)


@cache
def per_item(rho):
    """The person's time for an item of a very long stream, over that of doing it by hand."""
    return float(value(*outputs(np.random.default_rng(99), 100_000, rho)))


@cache
def errors_per_item(rho):
    """The share of wrong outputs of a very long stream."""
    label, decision = outputs(np.random.default_rng(99), 100_000, rho)
    return float((label != decision).mean())


def truth(batches, rho):
    """What a stream of so many batches needs and costs in the mean."""
    asked = 2 * SECONDS / 3600 * HOUR  # a batch
    money = batches * (asked + ERROR * SIZE * errors_per_item(rho))
    return {"imlm": per_item(rho), "imlm_money": per_item(rho), "total_cost": money}


def drawn(rng, plan, batches, rho):
    """The state after each batch of one stream."""
    priced = tc.Application(prices=PRICES)
    scoring = tc.Scoring(priced, plan=plan, measures=MEASURES, choices=HOW, jobs=1)
    rows = tc.score_system(read_online([log_of_stream(*outputs(rng, batches, rho))]), scoring)
    return [row for row in rows if row.dims["phase"] == "post"]
