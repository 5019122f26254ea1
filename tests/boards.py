"""Boards of simulated systems: error rates of correlated systems on the same units."""

import msgspec
import numpy as np
from scipy.special import ndtri

import truecost as tc
from truecost.core.intervals.rates import Errors, rate_limits
from truecost.core.subsets import LeftOut

PLAN = tc.Plan(400, seed=0)


def template():
    """An estimate whose figures are exchanged for others."""
    labels = np.arange(8) % 2
    trials = tc.Trials.from_arrays(labels, labels, kind="decision", unit=np.arange(8) // 2)
    [row] = tc.score_system(trials, tc.Scoring(measures=("total_error",), plan=tc.Plan(2)))
    return row


def drawn(rng, shifts, units, heavy=False, trials=20, rate=0.1):
    """Errors of each system by unit, and the trials of each unit.

    Systems share the difficulty of trials and of units; their true rates are `rate + shifts`.
    """
    size = np.full(units, trials)
    if heavy:
        size = np.maximum(1, np.round(trials * np.exp(rng.normal(-0.5, 1, units)))).astype(int)
    of = np.repeat(np.arange(units), size)
    shared = 0.5 * rng.normal(size=units)[of] + 0.8 * rng.normal(size=len(of))
    own = 0.35 * rng.normal(size=(len(shifts), units))[:, of]
    hard = shared + own + 0.8 * rng.normal(size=(len(shifts), len(of)))
    spread = np.sqrt(0.25 + 0.64 + 0.1225 + 0.64)
    wrong = hard < (ndtri(rate + np.asarray(shifts)) * spread)[:, None]
    return np.stack([np.bincount(of, row, units) for row in wrong]), size.astype(float)


def rows_of(errors, size, weights, row, method="auto"):
    """The estimates of a board, as `tc.score` would give them."""
    total, units = size.sum(), len(size)
    kish = total**2 / (size**2).sum()
    found = []
    for k, own in enumerate(errors):
        without = LeftOut("unit", (own.sum() - own) / (total - size), units, kish)
        sums = Errors(own.sum(), total, total, (without,), (1.0,), "error", "trial")
        ends = rate_limits(sums, 0.95, 0.1)
        value = float(own.sum() / total)
        replicates = (weights @ own) / (weights @ size)
        lower, upper = ends.lower, ends.upper
        if method == "percentile":
            lower, upper = map(float, np.quantile(replicates, [0.025, 0.975]))
        found.append(
            msgspec.structs.replace(
                row, point=value, value=value, lower=lower, upper=upper, method=method,
                n_units=units, n_replicates=len(weights), replicates=replicates,
                left_out=(without,) if method == "auto" else (), dims={"system": f"s{k:02}"},
                support=None, counted="",
            )
        )  # fmt: skip
    return found


def weights_of(rng, units, replicates=400):
    """Multinomial weights."""
    return rng.multinomial(units, np.full(units, 1 / units), replicates).astype(float)
