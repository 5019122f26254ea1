"""Which way round ready-made scores are: it has to be said, and may look wrong.

A table of accuracies that is taken for errors gives every figure with the wrong sign. What a
version has just learnt it does better than the version before it: where the scores of all test
times say the opposite, a reader should know.
"""

import numpy as np

from truecost.errors import UsageError
from truecost.tasks.lifelong.kinds.ready import KIND, PART
from truecost.tasks.lifelong.records import STATES, Lifelong

LEAST = 2  # test times that have to agree
UNSAID = (
    "nothing says whether higher or lower scores are better: say --higher (of accuracies) or "
    "--lower (of errors); higher = true or false under [lifelong], higher=True or False in Python"
)
CLEAR = 0.25  # share of the range of all scores that they have to change by, on average


def refuse_unsaid(lifelong: Lifelong) -> None:
    """Refuse to score ready-made scores of which nothing says what is better (UsageError)."""
    if lifelong.kind is KIND and lifelong.higher is None:
        raise UsageError(f"{lifelong.name}: {UNSAID}")


def odd_direction(lifelong: Lifelong) -> tuple[str, ...]:
    """What to say of a table whose scores get worse wherever something is learnt.

    Parameters
    ----------
    lifelong : Lifelong
        Of the kind `scores`.

    Returns
    -------
    tuple of str
        A sentence, or nothing: also where fewer than two times were scored just before and just
        after they were learnt. That nothing says the direction, where that is so.
    """
    if lifelong.higher is None:
        return (UNSAID,)
    pairs = _around(lifelong)
    if len(pairs) < LEAST:
        return ()
    before, after = pairs.T
    means = _means(lifelong)
    clear = CLEAR * (np.nanmax(means) - np.nanmin(means))
    lost = before - after if lifelong.higher else after - before
    if not (lost > 0).all() or lost.mean() < clear:
        return ()
    way, hint = ("lower", "lower is better, say --lower (higher = false under [lifelong])")
    if not lifelong.higher:
        way, hint = ("higher", "higher is better, say --higher (higher = true under [lifelong])")
    return (
        f"at all {len(pairs)} times that were scored both just before and after they were learnt "
        f"scores are {way} after it ({before.mean():.3g}, then {after.mean():.3g}), which here "
        f"counts as worse: if {hint}",
    )


def _around(lifelong: Lifelong) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Mean scores of each test time by the version before its own, and by its own (the newest)."""
    means = _means(lifelong)
    own = np.searchsorted(lifelong.learnt, lifelong.test.at, side="right") - 1
    times = np.flatnonzero(own > 0)
    found = np.stack([means[own[times] - 1, times], means[own[times], times]], axis=1)
    return np.asarray(found[np.isfinite(found).all(axis=1)])


def _means(lifelong: Lifelong) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Mean score before any help of each version at each time; NaN where there is none."""
    test = lifelong.test
    base = (test.rows["state"] == STATES.index("base")).to_numpy()
    versions = test.rows["version"].to_numpy()[base]
    times = test.items["time"].to_numpy()[test.rows["item"].to_numpy()[base]]
    sums = {}
    for name in ("score", "weight"):
        sums[name] = np.zeros((len(lifelong.versions), len(test.times)))
        np.add.at(sums[name], (versions, times), test.statistics[PART][name][base])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums["score"] / sums["weight"])
