"""Leaderboards: many systems on the same trials, with ranks that hold together.

A rank is a claim about order, so it comes from the paired differences of all pairs, judged together
by the step-down of Romano and Wolf (`truecost.core.simultaneous`): a system is worse than another
when their difference holds among all pairs and its own interval excludes 0, or when a third one
stands between them. The rank of a system is one more than the number of systems that it is worse
than, so systems of one rank form a tie group: none of them is worse than another. The places that a
system may have follow from the same claims (Mogstad, Romano, Shaikh and Wilhelm 2024).

Which systems may be the best is Hsu's comparison with the best: a system that is beaten by another
one, or worse than another one, is not. That a rank is wrong has the probability 1 - level at most,
over the whole board; so has that a given best system is said not to be.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from truecost.core.comparison import compare, derived, paired
from truecost.core.measure import difference
from truecost.core.results import Comparison, Estimate, Standing, verdict_of
from truecost.core.simultaneous import Bools, Contrasts, beaten, contrast, step_down
from truecost.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def standings(estimates: Sequence[Estimate]) -> tuple[Standing, ...]:
    """Systems in order of a measure, with ranks and places that hold together.

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
    >>> from truecost.core.leaderboard import standings
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200, seed=0))
    >>> labels, speakers = np.arange(60) % 2, np.arange(60) // 2
    >>> wrong = {"a": np.arange(60) % 3 == 0, "b": np.arange(60) % 4 == 0, "c": labels > 1}
    >>> rows = []
    >>> for name, flipped in wrong.items():
    ...     decisions = np.where(flipped, 1 - labels, labels)
    ...     trials = tc.Trials.of(decisions, labels, kind="decision", unit=speakers, name=name)
    ...     rows += tc.score_system(trials, scoring)
    >>> for line in standings(rows):
    ...     print(line.rank, line.system, round(line.value, 3), line.verdict, line.may_be_best)
    1 c 0.0 first True
    2 b 0.25 worse False
    2 a 0.333 worse False
    """
    if not estimates:
        raise UsageError("a leaderboard needs at least one system: there is no estimate")
    ordered = sorted(estimates, key=_order)
    first, *others = ordered
    against = [compare(one, first) for one in others]  # refuses what cannot be paired
    worse, best = _claims(ordered)
    known = sum(one.value is not None for one in ordered)
    return tuple(
        _standing(one, k, (worse, best), known, against[k - 1] if k else None)
        for k, one in enumerate(ordered)
    )


def _order(estimate: Estimate) -> tuple[bool, float, str]:
    undefined = bool(np.isnan(estimate.point))
    value = 0.0 if undefined else estimate.point
    return undefined, value if estimate.direction == "lower" else -value, estimate.dims["system"]


def _claims(ordered: Sequence[Estimate]) -> tuple[Bools, Bools]:
    """Which system is worse than which (row than column), and which may be the best."""
    count, level = len(ordered), ordered[0].level
    first, second = np.triu_indices(count, 1)
    sign = 1 if ordered[0].direction == "lower" else -1
    pairs = [*zip(first.tolist(), second.tolist(), strict=True)]
    family = Contrasts.of([_between(ordered[i], ordered[j]) for i, j in pairs])
    replicates = np.stack([e.replicates for e in ordered])

    def centred(some: Ints) -> Floats:
        with np.errstate(invalid="ignore"):
            return replicates[first[some]] - replicates[second[some]] - family.value[some, None]

    worse = np.zeros((count, count), bool)
    for k in np.flatnonzero(step_down(family, centred, replicates.shape[1], level)).tolist():
        better, other = pairs[k]  # the best stands first
        own = derived("difference", difference, ordered[other], ordered[better])
        worse[other, better] = verdict_of(own) == "worse"
    for k in range(count):  # whom a better one is worse than, it is worse than too
        worse[k] |= worse[worse[k]].any(axis=0)
    matrix = family.square(first, second, count)
    signed = Contrasts(sign * matrix.value, matrix.se, matrix.nu, matrix.lift)
    return worse, ~(beaten(signed, sign * replicates, level) | worse.any(axis=1))


def _between(one: Estimate, other: Estimate) -> tuple[float, float, float, float]:
    """The contrast of two systems."""
    with np.errstate(invalid="ignore"):
        value = float(difference(one.point, other.point))
        replicates = difference(one.replicates, other.replicates)
    return contrast(value, paired(one, other, difference), replicates, one.n_units)


def _standing(
    estimate: Estimate,
    k: int,
    claims: tuple[Bools, Bools],
    defined: int,
    to_first: Comparison | None,
) -> Standing:
    worse, best = claims
    known = estimate.value is not None
    behind = int(worse[k].sum()) if known else defined
    difference = None if to_first is None else to_first.difference
    alone = to_first is not None and to_first.verdict == "worse" and not worse[k, 0]
    verdict = "first" if to_first is None else "undecided" if alone else to_first.verdict
    if worse[k, 0]:
        verdict = "worse"
    return Standing(
        rank=1 + behind,
        system=estimate.dims["system"],
        measure=estimate.label,
        value=estimate.value,
        lower=estimate.lower,
        upper=estimate.upper,
        place_lower=1 + behind if known else None,
        place_upper=defined - int(worse[:, k].sum()) if known else None,
        may_be_best=bool(best[k]) if known else None,
        difference=None if difference is None else difference.value,
        difference_lower=None if difference is None else difference.lower,
        difference_upper=None if difference is None else difference.upper,
        verdict=verdict,
        alone=alone,
        shown_in=estimate.shown_in,
    )
