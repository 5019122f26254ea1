"""Measures of rankings, replicate by replicate, each in two ways that give the same digits.

Formerly: minimum Cllr and AUC by a look at every trial in every replicate; equal error rate and
least cost by 1,024 buckets, however many the trials. CPU seconds of one thread, so that other work
on the machine matters less. `python -m benchmarks --only ranked`.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

import truecost as tc
from benchmarks.data import Array, make
from benchmarks.measuring import table
from truecost.core import ranking as rankings
from truecost.core.sweep import Sweep
from truecost.kernels.pairs import areas
from truecost.kernels.pooling import pooled_entropies

SIZES = ((1_000_000, 100), (1_000_000, 1_000), (1_000_000, 100_000), (10_000_000, 1_000))
REPLICATES = 1_000
HEADS = ("trials", "units", "work", "now", "formerly", "ratio")
Sweeps = Sequence[Sweep]  # of a ranking, one for each block


def report(part: int) -> str:
    """A table of CPU seconds by trials and units, in Markdown."""
    _rows(200_000, 10)  # compiles all kernels
    rows = [row for trials, units in SIZES for row in _rows(trials // part, units)]
    said = f"{REPLICATES:,} replicates, CPU seconds of one thread; both ways give the same digits."
    return f"{said}\n\n{table(HEADS, rows)}"


def _rows(trials: int, units: int) -> list[list[str]]:
    scores, labels, speaker = make(trials, units, "float32")
    side = tc.Factor.encode("speaker", speaker)
    weights = tc.Plan(REPLICATES).weights({"speaker": side[0]})
    ranking = tc.Ranking.from_scores(scores, labels, [side])
    sweeps = [Sweep(ranking, weights.block(*bounds)) for bounds in weights.blocks()]
    for sweep in sweeps:  # what all measures share
        _ = sweep.targets, ranking.slots.columns(sweep.block)
    many = rankings.MANY
    found = [
        ("min_cllr", _timed(_min_cllr, sweeps), _timed(_by_trial, sweeps)),
        ("auc", _timed(_auc, sweeps), _timed(_by_pair, sweeps)),
        ("eer + least cost", _timed(_sweeps, sweeps, many), _timed(_sweeps, sweeps, np.inf)),
    ]
    rankings.MANY = many
    rows = []
    for name, (now, values), (formerly, others) in found:
        assert np.array_equal(values, others)
        shown = f"{now:.2f} s", f"{formerly:.2f} s", f"{formerly / now:.1f}x"
        rows.append([f"{trials:,}", f"{units:,}", name, *shown])
    return rows


def _timed(work: Callable[..., Array], *given: object) -> tuple[float, Array]:
    """CPU seconds and what is found."""
    start = time.thread_time()
    found = work(*given)
    return time.thread_time() - start, found


def _min_cllr(sweeps: Sweeps) -> Array:
    return np.concatenate([sweep.pav_entropy(0.5) for sweep in sweeps])


def _auc(sweeps: Sweeps) -> Array:
    return np.concatenate([sweep.auc() for sweep in sweeps])


def _by_trial(sweeps: Sweeps) -> Array:
    """Minimum Cllr by a look at every trial."""
    found = [np.empty(sweep.block.count) for sweep in sweeps]
    for sweep, out in zip(sweeps, found, strict=True):
        ranking, half = sweep.ranking, np.full(len(out), 0.5)
        trials = ranking.slots.codes, ranking.codes, ranking.extra, ranking.knots
        pooled_entropies(half, ranking.slots.columns(sweep.block), *trials, out)
    return np.concatenate(found)


def _by_pair(sweeps: Sweeps) -> Array:
    """AUC by a look at every trial."""
    found = []
    for sweep in sweeps:
        ranking, pairs = sweep.ranking, np.zeros(sweep.block.count)
        trials = ranking.slots.codes, ranking.codes, ranking.extra, ranking.cut
        areas(ranking.slots.columns(sweep.block), *trials, pairs)
        found.append(pairs / (sweep.targets * sweep.nontargets))
    return np.concatenate(found)


def _sweeps(sweeps: Sweeps, many: float) -> Array:
    """Equal error rate and least cost, and what they need, of a ranking that has nothing yet."""
    rankings.MANY = many
    whole = sweeps[0].ranking
    ranking = tc.Ranking(whole.scores, whole.slots, whole.codes, whole.extra)
    again = [Sweep(ranking, sweep.block) for sweep in sweeps]
    return np.concatenate([[sweep.eer(), sweep.minimum(0.05, 0.95)] for sweep in again], axis=1)
