"""Word and diarization error rates of speakers and recordings of unequal size and difficulty."""

from functools import partial
from itertools import product

import numpy as np

import truecost as tc
from covering.cells import Cell

ANY = tc.Application()
SPEAKERS, RECORDINGS = (5, 8, 10, 20, 40, 100, 1000), (8, 10, 20, 40, 100)
WRONG, LOST = 0.12, 0.15  # the true rates
KINDS = ("missed", "false_alarm", "confusion", "correct")


def cells():
    """Speakers whose rates are lognormal, and recordings with long tails."""
    for speakers, spread in product(SPEAKERS, (0.5, 1.0, 1.5)):
        name = f"{speakers} speakers, lognormal {spread:g}"
        draw = partial(words, speakers=speakers, spread=spread)
        yield Cell("sequences", name, lambda: {"wer": WRONG}, draw)
    for recordings in RECORDINGS:
        draw = partial(time, recordings=recordings)
        yield Cell("sequences", f"{recordings} recordings", lambda: {"der": LOST}, draw)


def lognormal(rng, spread, count):
    """Factors with mean 1."""
    return np.exp(spread * rng.normal(size=count) - spread**2 / 2)


def words(rng, plan, speakers, spread):
    """Errors are Poisson, so that no rate is cut off: insertions come on top."""
    said = np.maximum(20, np.round(200 * lognormal(rng, 0.6, speakers))).astype(np.int64)
    wrong = rng.poisson(said * WRONG * lognormal(rng, spread, speakers))
    none = np.zeros_like(said)
    counts = {"reference": said, "hypothesis": said + wrong, "longest": said + wrong, "hits": said}
    counts |= {"substitutions": none, "deletions": none, "insertions": wrong}
    tally = tc.Tally.count([tc.Factor.encode("speaker", np.arange(speakers))], counts)
    return tc.estimate(tc.Evidence({"words": tally}), [tc.find("wer")], ANY, plan, jobs=1)


def time(rng, plan, recordings):
    """Microseconds of speech, and of three kinds of errors in it."""
    speech = 600 * lognormal(rng, 0.7, recordings)
    lost = speech * LOST * lognormal(rng, 0.9, recordings)
    shares = rng.dirichlet((2, 2, 2), recordings)
    micro = {k: np.round(1e6 * lost * s).astype(np.int64)
             for k, s in zip(KINDS[:3], shares.T, strict=True)}  # fmt: skip
    whole = np.round(1e6 * speech).astype(np.int64)
    counts = {"reference": whole, "correct": whole, **micro}
    tally = tc.Tally.count([tc.Factor.encode("recording", np.arange(recordings))], counts)
    return tc.estimate(tc.Evidence({"speech": tally}), [tc.find("der")], ANY, plan, jobs=1)
