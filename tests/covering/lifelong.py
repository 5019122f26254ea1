"""Scores of life cycles: policies, forgetting, transfer and curves, over test items or runs."""

from functools import partial

import numpy as np
import polars as pl

import truecost as tc
from covering.cells import Cell
from lives import WORDS as KIND
from test_lifelong_coverage import (
    DENSITY,
    HARD,
    LOGITS,
    MEASURES,
    NODES,
    OWN,
    expected,
    record,
    share,
    truth,
)
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import Lifelong, Scored, no_effort
from truecost.tasks.lifelong.settings import Policy

SKEWED = 2000  # draws behind the truth of skewed runs


def cells():
    """Test items of fixed versions; runs on fixed test data, normal and skewed."""
    for items in (10, 40):
        name = f"{items} items a time, one run"
        yield Cell("lifelong", name, of_items, partial(by_items, items=items))
    for items in (10, 40):
        name = f"{items} items, penalised for help"
        yield Cell("lifelong", name, of_states, partial(penalised, items=items))
    for runs in (5, 10, 20):
        for skewed in (False, True):
            name = f"{runs} runs, {'exponential' if skewed else 'normal'}"
            draw = partial(by_runs, runs=runs, skewed=skewed)
            yield Cell("lifelong", name, partial(of_runs, skewed), draw)


STATES = {"base": 0.25, "adapted": 0.18, "impaired": 0.3, "corrected": 0.22}  # logits' errors
PENALISED = ("penalised_score", "penalty", "generalisation_gain")


def of_states():
    """The scores of all states, over all items."""
    logits = np.log([v / (1 - v) for v in STATES.values()])
    base, adapted, impaired, corrected = share(logits[:, None] + HARD * NODES) @ (
        DENSITY / DENSITY.sum()
    )
    penalty = impaired - corrected
    found = (adapted + penalty, penalty, base - adapted - penalty)
    return labelled(dict(zip(PENALISED, found, strict=True)))


def penalised(rng, plan, items):
    """One version with its four states on items of one time."""
    words = rng.integers(5, 20, items)
    hard = rng.normal(0, HARD, items)
    logits = np.log([v / (1 - v) for v in STATES.values()])
    wrong = rng.binomial(words, share(logits[:, None] + hard))
    state, item = (axis.ravel() for axis in np.indices(wrong.shape))
    frame = pl.DataFrame({"item": item, "version": 0 * item, "state": state, "seed": 0 * item})
    said, errors = words[item], wrong.ravel()
    counts = {"reference": said, "hypothesis": said, "longest": said, "hits": said - errors}
    counts |= {"substitutions": errors, "deletions": 0 * said, "insertions": 0 * said}
    known = pl.DataFrame({"id": [f"u{k:03d}" for k in range(items)], "time": [0] * items})
    scored = Scored(("0",), np.zeros(1), known, frame, {"words": counts}, no_effort())
    lived = Lifelong("A", KIND, ("0",), np.zeros(1), ("0",), scored)
    scoring = tc.Scoring(plan=plan, measures=PENALISED, jobs=1)
    return tc.score_system(lived, scoring)


def labelled(values):
    """The truth by the labels of the rows."""
    return {f"{name}:wer": float(value) for name, value in values.items()}


def of_items():
    """Over all items, with these versions."""
    return labelled(truth(expected(np.ones((4, 1)), np.zeros((4, 1)), HARD), np.ones(4)))


WORDS, HARDNESS = (
    np.random.default_rng(5).integers(5, 20, (4, 10)),
    np.random.default_rng(6).normal(0, HARD, (4, 10)),
)


def of_runs(skewed):
    """Over all runs, on this test data."""
    if not skewed:
        return labelled(truth(expected(WORDS, HARDNESS, OWN), WORDS.sum(axis=1)))
    rng = np.random.default_rng(0)
    cells_ = LOGITS + OWN * (rng.exponential(size=(SKEWED, *LOGITS.shape)) - 1)
    wrong = share(cells_[..., None] + HARDNESS)
    means = (wrong * WORDS).sum(axis=-1) / WORDS.sum(axis=1)
    return labelled(truth(means.mean(axis=0), WORDS.sum(axis=1)))


def rows(words, errors, resample, plan):
    """The measures of a life cycle."""
    how = LifelongScoring(policies=(Policy("recent", 2.0),), factors=resample, cost="answers")
    scoring = tc.Scoring(plan=plan, choices=how, measures=MEASURES, jobs=1)
    return tc.score_system(record(words, errors), scoring)


def by_items(rng, plan, items):
    """Other test items, the same versions."""
    words = rng.integers(5, 20, (4, items))
    hard = rng.normal(0, HARD, words.shape)
    errors = rng.binomial(words, share(LOGITS[None, ..., None] + hard))
    return rows(words, errors, "item", plan)


def by_runs(rng, plan, runs, skewed):
    """Other runs, the same test items."""
    shape = (runs, *LOGITS.shape)
    own = rng.exponential(size=shape) - 1 if skewed else rng.normal(size=shape)
    errors = rng.binomial(WORDS, share((LOGITS + OWN * own)[..., None] + HARDNESS))
    return rows(WORDS, errors, "seed", plan)
