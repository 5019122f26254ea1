"""What several kinds of cells draw: sizes of units, errors that go together, evidence of them."""

import numpy as np
import numpy.typing as npt

import truecost as tc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NAMES = ("nontarget", "target"), ("reject", "accept")


def sizes(rng: np.random.Generator, kind: str, units: int, mean: int) -> Ints:
    """Trials of each unit: all alike, lognormal, or heavy (Pareto .8, 1 to 500, mean about 12)."""
    if kind == "equal":
        return np.full(units, mean)
    if kind == "lognormal":
        drawn = np.round(mean * np.exp(rng.normal(-0.5, 1, units)))
        return np.maximum(1, drawn).astype(np.int64)
    return np.clip(np.ceil(rng.pareto(0.8, units)), 1, 500).astype(np.int64)


def errors(rng: np.random.Generator, trials: Ints, rate: float, icc: float) -> Ints:
    """Errors of each unit: binomial, with rates of units from a beta distribution."""
    if icc == 0 or rate in (0, 1):
        return rng.binomial(trials, rate)
    most = (1 - icc) / icc
    return rng.binomial(trials, rng.beta(rate * most, (1 - rate) * most, len(trials)))


def decided(units: Ints, label: Ints, decision: Ints, n: Ints, name: str = "unit") -> tc.Evidence:
    """Evidence of detections, `n` for each unit, label and decision given."""
    return tc.Evidence({"decisions": tally([tc.Factor.encode(name, units)], label, decision, n)})


def tally(sides, label: Ints, decision: Ints, n: Ints) -> tc.Tally:  # type: ignore[no-untyped-def]
    """The tally of `decided`, resampled by these sides."""
    axes = {"class": (NAMES[0], label), "decision": (NAMES[1], decision)}
    return tc.Tally.count(sides, {"n": n.astype(np.int64)}, axes)


def of_units(misses: Ints, targets: Ints, false: Ints, nontargets: Ints) -> tc.Evidence:
    """Evidence of units that have both classes; units without any trial are left out."""
    counts = np.stack([[nontargets - false, false], [misses, targets - misses]])
    label, decision, unit = (axis.ravel() for axis in np.indices(counts.shape))
    there = counts.ravel() > 0
    return decided(unit[there], label[there], decision[there], counts.ravel()[there])


def of_targets(misses: Ints, targets: Ints) -> tc.Evidence:
    """Evidence of units of targets alone."""
    counts = np.stack([misses, targets - misses])
    decision, unit = (axis.ravel() for axis in np.indices(counts.shape))
    there = counts.ravel() > 0
    return decided(
        unit[there], np.ones(there.sum(), np.int64), decision[there], counts.ravel()[there]
    )
