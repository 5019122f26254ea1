"""The work as truecost does it: from arrays to results, everything counted."""

import numpy as np

import truecost as tc
from benchmarks.data import Array

APPLICATION = tc.Application.detection(10, 1, prior=0.05)
WEIGHTS = (
    APPLICATION.cost_fa * (1 - APPLICATION.prior),  # of Pfa and of Pmiss in the cost
    APPLICATION.cost_miss * APPLICATION.prior,
)
CLASSES = ("nontarget", "target")
DECISIONS = ("reject", "accept")
CHUNK = 1 << 15  # trials whose costs stay in the cache


def nec(scores: Array, labels: Array, speaker: Array, replicates: int) -> tc.Estimate:
    """Normalised expected cost at the Bayes threshold, with its interval."""
    factor, codes = tc.Factor.encode("speaker", speaker)
    tally = tc.Tally.count(
        [(factor, codes)],
        {"n": np.ones(len(scores), np.int64)},
        {"class": (CLASSES, labels), "decision": (DECISIONS, scores >= APPLICATION.threshold)},
    )
    return _estimate({"decisions": tally}, "nec", replicates)


def eer(scores: Array, labels: Array, speaker: Array, replicates: int, kind: str) -> tc.Estimate:
    """Equal error rate, with its interval."""
    side = tc.Factor.encode("speaker", speaker)
    return _estimate(
        {"ranking": tc.Ranking.from_scores(scores, labels, [side])}, f"eer:{kind}", replicates
    )


def _estimate(parts: dict[str, tc.Tally | tc.Ranking], name: str, replicates: int) -> tc.Estimate:
    evidence = tc.Evidence(parts)
    return tc.estimate(evidence, [tc.find(name)], APPLICATION, tc.Plan(replicates))[0]


def checked(
    scores: Array, labels: Array, speaker: Array, replicates: int, name: str
) -> tc.Estimate:
    """The same through the checked front door, `Trials.from_arrays` and `score`."""
    trials = tc.Trials.from_arrays(scores, labels, kind="llr", unit=speaker)
    return tc.score_system(trials, tc.Scoring(APPLICATION, (name,), tc.Plan(replicates)))[0]


def points(scores: Array, labels: Array) -> tuple[tuple[Array, Array, Array], dict[str, float]]:
    """The points of the ROC and DET, and EER, minimum cost, Cllr and minimum Cllr; no interval."""
    whole = [(tc.Factor("all", np.zeros(1, np.int64)), np.zeros(len(scores), np.int32))]
    evidence = tc.Evidence(
        {
            "llr": _log_costs(scores, labels, whole),
            "ranking": tc.Ranking.from_scores(scores, labels, whole),
        }
    )
    totals = tc.totals(evidence, tc.Weights.ones(evidence.factors).block())
    sweep, costs = totals.sweep("ranking"), totals.sums("llr", "bits") / totals.sums("llr", "n")
    fa, miss = WEIGHTS
    return sweep.curve(), {
        "eer": float(sweep.eer()[0]),
        "min_dcf": float(sweep.minimum(miss, fa)[0]) / min(miss, fa),
        "cllr": float(costs[0].mean()),
        "min_cllr": float(sweep.pav_entropy(0.5)[0]),
    }


def _log_costs(scores: Array, labels: Array, sides: list[tuple[tc.Factor, Array]]) -> tc.Tally:
    """What Cllr is made of: the log cost of each trial in bits, added up by class."""
    bits = np.empty(len(scores))
    for start in range(0, len(scores), CHUNK):
        part = slice(start, start + CHUNK)
        against = np.where(labels[part] == 1, -scores[part], scores[part]).astype(np.float64)
        bits[part] = (np.maximum(against, 0) + np.log1p(np.exp(-np.abs(against)))) / np.log(2)
    return tc.Tally.count(
        sides, {"n": np.ones(len(scores), np.bool_), "bits": bits}, {"class": (CLASSES, labels)}
    )
