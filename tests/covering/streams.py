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

HOUR, SECONDS, OPERATING = 30.0, 6.0, 0.05  # of the person, for an item, of a batch
HOW = StreamScoring(
    queried="model", item_seconds=SECONDS, prices=Prices(person=HOUR, operating=OPERATING)
)
MEASURES = ("imlm", "imlm_money", "total_price")


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


def truth(batches, rho):
    """What a stream of so many batches needs and costs in the mean."""
    by_hand = SIZE * SECONDS / 3600 * HOUR  # a batch
    money = per_item(rho) + OPERATING / by_hand
    return {"imlm": per_item(rho), "imlm_money": money, "total_price": batches * by_hand * money}


def drawn(rng, plan, batches, rho):
    """The state after each batch of one stream."""
    scoring = tc.Scoring(plan=plan, measures=MEASURES, choices=HOW, jobs=1)
    rows = tc.score_system(read_online([log_of_stream(*outputs(rng, batches, rho))]), scoring)
    return [row for row in rows if row.dims["phase"] == "post"]
