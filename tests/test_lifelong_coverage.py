"""How often the intervals of life cycles hold the truth, over simulated ones (long).

Five versions meet the test data of four times. Utterances have 5 to 19 words, each wrong with a
probability whose logit is that of the cell (`BASE`), plus how hard the utterance is, plus, where
runs are drawn, what this run made of this cell. The truth is computed by quadrature. Figures of
`docs/lifelong.md`.
"""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from lives import WORDS
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import Lifelong, Scored, no_effort
from truecost.tasks.lifelong.settings import Policy

pytestmark = pytest.mark.long
SETS, REPLICATES = 1000, 400
LEARNT, AT = np.array([-np.inf, 1, 2, 3, 4]), np.array([1.5, 2.5, 3.5, 4.5])
HARD, OWN = 0.6, 0.5  # standard deviations, of utterances and of cells of a run
BASE = np.array(  # share of wrong words, versions x times
    [
        [0.5, 0.5, 0.5, 0.5],
        [0.2, 0.4, 0.45, 0.5],
        [0.26, 0.22, 0.4, 0.45],
        [0.3, 0.27, 0.2, 0.4],
        [0.34, 0.3, 0.24, 0.2],
    ]
)
LOGITS = np.log(BASE / (1 - BASE))
NODES, DENSITY = np.polynomial.hermite_e.hermegauss(60)
MEASURES = ("policy_score", "forgetting_first", "forward_transfer", "area_under_curve")


def share(logits):
    return 1 / (1 + np.exp(-logits))


def truth(cells, words):
    """Each measure of the mean errors of all cells; the curve costs ten answers a version.

    A point of the curve has the words of all times in one, so that longer times count for more.
    """
    recent = 2.0 ** (-(4 - AT[:3]) / 2)  # half-life 2; the window of the last version has 3 times
    own = [1, 2, 3]  # the newest version at each of them
    return {
        "policy_score": cells[4, :3] @ recent / recent.sum(),
        "forgetting_first": np.mean([cells[4, j] - cells[own[j], j] for j in range(3)]),
        "forward_transfer": np.mean([cells[0, j] - cells[j, j] for j in range(1, 4)]),
        "area_under_curve": (
            cells[:4] @ words / words.sum()
        ).mean(),  # from 0 to 40, each held for 10
    }


def expected(words, hard, spread):
    """Mean errors of all cells: over utterances, and over a normal effect with this spread."""
    logits = LOGITS[:, :, None, None] + hard[None, :, :, None] + spread * NODES
    wrong = share(logits) @ (DENSITY / DENSITY.sum())
    return (wrong * words).sum(axis=2) / words.sum(axis=1)


def record(words, errors):
    """The life cycle of errors of shape (runs, versions, times, utterances)."""
    runs, versions, times, n = errors.shape
    rows = pl.DataFrame(
        {
            "item": np.tile(np.arange(times * n), runs * versions),
            "version": np.tile(np.repeat(np.arange(versions), times * n), runs),
            "state": np.zeros(errors.size, np.int64),
            "seed": np.repeat(np.arange(runs), versions * times * n),
        }
    )
    said, wrong = np.tile(words.ravel(), runs * versions), errors.ravel()
    counts = {"reference": said, "hypothesis": said, "longest": said, "hits": said - wrong}
    counts |= {"substitutions": wrong, "deletions": 0 * said, "insertions": 0 * said}
    items = pl.DataFrame(
        {
            "id": [f"u{k:04d}" for k in range(times * n)],
            "time": np.repeat(np.arange(times), n),
        }
    )
    scored = Scored(tuple("abcd"), AT, items, rows, {"words": counts}, no_effort())
    answers = [
        {"seed": run, "version": v, "answers": 10, "seconds": 1.0, "words": 0, "actions": 0}
        for run in range(runs)
        for v in range(1, versions)
    ]
    names = tuple(map(str, range(versions))), tuple(map(str, range(runs)))
    return Lifelong("A", WORDS, names[0], LEARNT, names[1], scored, offline=pl.DataFrame(answers))


def coverage(utterances, runs, resample):
    """Share of the intervals that hold the truth, for each measure."""
    how = LifelongScoring(policies=(Policy("recent", 2.0),), factors=resample, cost="answers")
    plan = tc.Plan(REPLICATES, seed=1)
    scoring = tc.Scoring(plan=plan, method="percentile", choices=how, measures=MEASURES)
    held = dict.fromkeys(MEASURES, 0)
    for k in range(SETS):
        draws = np.random.default_rng([utterances, k])
        words = draws.integers(5, 20, (4, utterances))
        hard = draws.normal(0, HARD, words.shape)
        if resample == "seed":  # other runs, on these test data
            own, wanted = OWN, truth(expected(words, hard, OWN), words.sum(axis=1))
        else:  # other test data, with these versions
            own, wanted = 0.0, truth(expected(np.ones((4, 1)), np.zeros((4, 1)), HARD), np.ones(4))
        cells = LOGITS + draws.normal(0, own, (runs, *LOGITS.shape))
        errors = draws.binomial(words, share(cells[..., None] + hard))
        for row in tc.score_system(record(words, errors), scoring):
            held[row.measure] += int(row.lower <= wanted[row.measure] <= row.upper)
    return {measure: count / SETS for measure, count in held.items()}


@pytest.mark.parametrize(
    ("utterances", "runs", "resample", "least", "most"),
    # Percentiles over few runs are too narrow, as docs/lifelong.md states: forgetting from the
    # first test on is covered by 93% with 30 runs, and every measure by about 90% with 10 runs.
    [(40, 1, "item", 0.93, 0.99), (10, 30, "seed", 0.92, 0.99), (10, 10, "seed", 0.87, 0.94)],
)
def test_coverage(utterances, runs, resample, least, most, record_property):
    found = coverage(utterances, runs, resample)
    for measure, value in found.items():
        record_property(measure, value)
        assert least <= value <= most, found
