"""Leaderboards: many systems on the same trials, with ranks that respect paired intervals.

A rank is a claim about order, so it comes from the paired differences: the rank of a system is one
more than the number of systems whose difference from it excludes 0 on the better side. Systems that
the data do not tell apart share a rank. How far a rank could move is the percentile interval of the
place of the system in each replicate.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.comparison import compare
from truecost.digits import ShownIn
from truecost.errors import UsageError
from truecost.intervals import interval
from truecost.results import Comparison, Estimate

Floats = npt.NDArray[np.float64]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a leaderboard.

    Attributes
    ----------
    rank : int
        One more than the number of systems that are better beyond doubt.
    system : str
    measure : str
        With its variant.
    value, lower, upper : float or None
        The measure and its interval.
    place_lower, place_upper : int or None
        Interval of the place in replicates, 1 for the first; None when the value is undefined.
    difference, difference_lower, difference_upper : float or None
        From the first system, paired; None for the first itself.
    verdict : {"first", "better", "worse", "same", "undecided"}
        What the paired difference from the first says.
    shown_in : {"", "percent"}
        How readers see the figures.
    """

    rank: int
    system: str
    measure: str
    value: float | None
    lower: float | None
    upper: float | None
    place_lower: int | None
    place_upper: int | None
    difference: float | None = None
    difference_lower: float | None = None
    difference_upper: float | None = None
    verdict: str = "first"
    shown_in: ShownIn = ""


def standings(estimates: Sequence[Estimate]) -> tuple[Standing, ...]:
    """Systems in order of a measure, with ranks that respect the paired intervals.

    Parameters
    ----------
    estimates : sequence of Estimate
        Of one measure, one for each system, from the same trials and plan.

    Returns
    -------
    tuple of Standing
        Best first, undefined ones last; equal values in order of their names.

    Raises
    ------
    UsageError
        When there is no estimate.
    InputError
        When the estimates cannot be paired.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.leaderboard import standings
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200, seed=0))
    >>> labels, speakers = np.arange(60) % 2, np.arange(60) // 2
    >>> wrong = {"a": np.arange(60) % 3 == 0, "b": np.arange(60) % 4 == 0, "c": labels > 1}
    >>> rows = []
    >>> for name, flipped in wrong.items():
    ...     decisions = np.where(flipped, 1 - labels, labels)
    ...     trials = tc.Trials.of(decisions, labels, kind="decision", unit=speakers, name=name)
    ...     rows += tc.score(trials, scoring)
    >>> for line in standings(rows):
    ...     print(line.rank, line.system, round(line.value, 3), line.verdict)
    1 c 0.0 first
    2 b 0.25 worse
    2 a 0.333 worse
    """
    if not estimates:
        raise UsageError("a leaderboard needs at least one system: there is no estimate")
    ordered = sorted(estimates, key=_order)
    places = _places(np.stack([e.replicates for e in ordered]), ordered[0].direction)
    pairs = [[compare(a, b) if a is not b else None for b in ordered] for a in ordered]
    return tuple(
        _standing(e, places[k], pairs[k], pairs[k][0] if k else None) for k, e in enumerate(ordered)
    )


def _order(estimate: Estimate) -> tuple[bool, float, str]:
    undefined = bool(np.isnan(estimate.point))
    value = 0.0 if undefined else estimate.point
    return undefined, value if estimate.direction == "lower" else -value, estimate.dims["system"]


def _places(values: Floats, direction: str) -> Floats:
    """Place of each system in each replicate, from 1; ties share the best place; NaN undefined."""
    signed = values if direction == "lower" else -values
    places = np.empty_like(signed)
    for r in range(signed.shape[1]):
        column = signed[:, r]
        places[:, r] = 1 + np.searchsorted(np.sort(column), column)  # NaN sorts last
    return np.where(np.isnan(values), np.nan, places)


def _standing(
    estimate: Estimate,
    places: Floats,
    pairs: Sequence[Comparison | None],
    to_first: Comparison | None,
) -> Standing:
    worse = sum(pair is not None and pair.verdict == "worse" for pair in pairs)
    low, high = interval(places, estimate.level)
    known = estimate.value is not None and np.isfinite(low)
    difference = None if to_first is None else to_first.difference
    return Standing(
        rank=1 + worse,
        system=estimate.dims["system"],
        measure=estimate.label,
        value=estimate.value,
        lower=estimate.lower,
        upper=estimate.upper,
        place_lower=int(np.floor(low)) if known else None,
        place_upper=int(np.ceil(high)) if known else None,
        difference=None if difference is None else difference.value,
        difference_lower=None if difference is None else difference.lower,
        difference_upper=None if difference is None else difference.upper,
        verdict="first" if to_first is None else to_first.verdict,
        shown_in=estimate.shown_in,
    )
