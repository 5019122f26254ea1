"""Measures of rankings, replicate by replicate, each in two ways that give the same digits.

Formerly: minimum Cllr and AUC by a look at every trial in every replicate; equal error rate and
least cost by 1,024 buckets, however many the trials.

`python -m benchmarks --only ranked`.
"""

import numpy as np

import truecost as tc
from benchmarks.data import make
from benchmarks.measuring import seconds, table
from truecost.core import ranking as rankings
from truecost.core.sweep import Sweep
from truecost.kernels.pairs import areas
from truecost.kernels.pooling import pooled_entropies

SIZES = ((1_000_000, 100), (1_000_000, 1_000), (1_000_000, 100_000), (10_000_000, 1_000))
REPLICATES = 256  # of a block
HEADS = ("trials", "units", "work", "now", "formerly", "ratio")


def report(part: int) -> str:
    """A table of seconds of one thread by trials and units, in Markdown."""
    rows = []
    _compile()
    for trials, units in SIZES:
        rows += _rows(trials // part, units)
    said = f"{REPLICATES} replicates, one thread; both ways give the same digits."
    return f"{said}\n\n{table(HEADS, rows)}"


def _compile() -> None:
    """All kernels, on few trials."""
    for trials in (1_000, 200_000):
        sweep = _sweep(trials, 10)
        _both_ways(sweep)
        _ = sweep.ranking.wins


def _sweep(trials: int, units: int) -> Sweep:
    """A ranking and a block of weights, with what all measures share."""
    scores, labels, speaker = make(trials, units, "float32")
    side = tc.Factor.of("speaker", speaker)
    block = tc.Plan(1000).weights({"speaker": side[0]}).block(0, REPLICATES)
    sweep = Sweep(tc.Ranking.of(scores, labels, [side]), block)
    _ = sweep.targets, sweep.ranking.knots, sweep.ranking.slots.columns(block)
    return sweep


def _rows(trials: int, units: int) -> list[list[str]]:
    sweep = _sweep(trials, units)
    found = []
    for name, now, formerly in [*_both_ways(sweep), _buckets(sweep)]:
        ratio = formerly / now
        shown = [f"{now:.2f} s", f"{formerly:.2f} s", f"{ratio:.1f}x"]
        found.append([f"{trials:,}", f"{units:,}", name, *shown])
    return found


def _both_ways(sweep: Sweep) -> list[tuple[str, float, float]]:
    """Seconds of each measure, now and formerly; the values are compared."""
    ranking, values = sweep.ranking, {}
    columns, codes = ranking.slots.columns(sweep.block), ranking.slots.codes

    def entropies() -> None:
        values["formerly"] = np.empty(REPLICATES)
        half = np.full(REPLICATES, 0.5)
        of_trials = ranking.codes, ranking.extra, ranking.knots
        pooled_entropies(half, columns, codes, *of_trials, values["formerly"])

    def all_pairs() -> None:
        pairs = np.zeros(REPLICATES)
        areas(columns, codes, ranking.codes, ranking.extra, ranking.cut, pairs)
        values["formerly"] = pairs / (sweep.targets * sweep.nontargets)

    found = []
    for name, now, formerly in (
        ("min_cllr", lambda: values.update(now=sweep.pav_entropy(0.5)), entropies),
        ("auc", lambda: values.update(now=sweep.auc()), all_pairs),
    ):
        found.append((name, seconds(now), seconds(formerly)))
        assert np.array_equal(values["now"], values["formerly"])
    return found


def _buckets(sweep: Sweep) -> tuple[str, float, float]:
    """Seconds of sums at the edges, equal error rate and least cost, now and formerly."""
    many, times, values = rankings.MANY, [], []
    for rankings.MANY in (many, np.inf):
        whole = sweep.ranking
        ranking = tc.Ranking(whole.scores, whole.slots, whole.codes, whole.extra)
        _ = ranking.cut
        again = Sweep(ranking, sweep.block)

        def work(again: Sweep = again) -> None:
            values.append([again.eer(), again.minimum(0.05, 0.95)])

        times.append(seconds(work))
    rankings.MANY = many
    assert np.array_equal(*values)
    return "eer + least cost", times[0], times[1]
