"""Many systems at once: which differences hold together, and the ranks that follow from them.

D is a difference, D_b that in replicate b, SE its jackknife standard error with nu degrees of
freedom (`truecost.core.intervals.smooth`), and T_b = (D_b - D) / SE. The maximum of T_b over a
family of differences has the quantile q; a difference holds when |D| > c SE, with
c = t^-1_nu(Phi(q sqrt(n / (n - 1)))): replicates of n units vary by (n - 1) / n too little, and an
SE that few units carry is itself uncertain. c is never below the limit of one difference alone.

A system is worse than another when their difference holds among all pairs (`step_down`: Romano and
Wolf 2005) and its own interval excludes 0, or when a third one stands between them. Its rank is one
more than the number of systems that it is worse than: systems of one rank form a tie group. The
places that it may have follow from the same claims (Mogstad, Romano, Shaikh and Wilhelm 2024). A
system that is beaten by another one (`beaten`: Hsu 1981), or worse than another one, is not the
best. That a rank is wrong has the probability 1 - level at most, over the whole board; so has that
a given best system is said not to be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from truecost.core.comparison import compare, derived, paired
from truecost.core.flags import raised
from truecost.core.intervals.smooth import spread
from truecost.core.measure import difference
from truecost.core.results import MOST_UNDEFINED, Comparison, Estimate, verdict_of
from truecost.core.standing import Standing
from truecost.core.subsets import Bools, Floats, Ints, LeftOut
from truecost.errors import UsageError

CELLS = 4_000_000  # differences in replicates that are held at a time
STILL = 1e-9  # an SE below this share of the difference is none


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences with their uncertainty; arrays of one shape.

    `value`: NaN when undefined, or undefined in more than 5% of the replicates. `se`: standard
    error, 0 where no unit changes the difference, with `nu` degrees of freedom. `lift`: sqrt(n / (n
    - 1)) for n units, the factor by which replicates vary too little.
    """

    value: Floats
    se: Floats
    nu: Floats
    lift: Floats

    @staticmethod
    def from_rows(found: Sequence[tuple[float, float, float, float]]) -> "Contrasts":
        """Contrasts from results of `contrast`, one for each difference."""
        columns = np.array(found, np.float64).reshape(-1, 4).T
        return Contrasts(*columns)

    def square(self, first: Ints, second: Ints, systems: int) -> "Contrasts":
        """Differences of pairs as matrices: row minus column, 0 with itself."""

        def filled(of: Floats, sign: int, diagonal: float) -> Floats:
            found = np.full((systems, systems), diagonal)
            found[first, second], found[second, first] = of, sign * of
            return found

        columns = (self.value, -1, 0.0), (self.se, 1, 0.0), (self.nu, 1, 1.0), (self.lift, 1, 1.0)
        return Contrasts(*(filled(*column) for column in columns))

    @property
    def scores(self) -> Floats:
        """|value| / SE as the normal quantile of equal probability; 0 without a standard error."""
        from scipy.special import ndtri, stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            found = -ndtri(stdtr(self.nu, -np.abs(self.value) / self.se))
        return np.where(np.isnan(found), 0.0, found)


def contrast(
    value: float, left: Sequence[LeftOut], replicates: Floats, units: int
) -> tuple[float, float, float, float]:
    """A difference, its standard error, degrees of freedom and lift, as in `Contrasts`.

    `left`: the difference without single units of each resampled factor. Without these values
    (percentile intervals), or when one is not finite, the standard error is that of the replicates.
    """
    fewest = min([units, *map(_smallest_stratum, left)])
    lift = float(np.sqrt(fewest / (fewest - 1))) if fewest > 1 else 1.0
    known = replicates[np.isfinite(replicates)]
    if not np.isfinite(value) or len(known) < (1 - MOST_UNDEFINED) * len(replicates):
        return float("nan"), 0.0, 1.0, lift
    found = spread(left, value)
    se, nu = (found.se, found.nu) if found else (0.0, max(1.0, fewest - 1.0))
    if found is None and len(known) > 1:
        se = float(known.std(ddof=1)) * lift
    return value, se if se > STILL * abs(value) else 0.0, nu, lift


def _smallest_stratum(left: LeftOut) -> int:
    """Number of units of the smallest stratum, where replicates vary too little by the largest
    factor.
    """
    if left.strata is None:
        return left.units
    held = np.bincount(left.strata, left.copies)
    return int(held[held > 0].min())


def step_down(
    family: Contrasts, centred: Callable[[Ints], Floats], replicates: int, level: float
) -> Bools:
    """Differences that hold together (bool): any of them is false with the probability 1 - level.

    After what holds was taken out, q is that of the rest (Romano and Wolf 2005). `centred` gives
    D_b - D of the differences at some places, (places, replicates). A difference without a standard
    error holds unless it is 0: its own interval has to confirm it.
    """
    from scipy.special import ndtri

    # Below the limit of one difference alone nothing holds together with others.
    alone = family.scores > ndtri((1 + level) / 2)
    scores = np.where(alone, family.scores / family.lift, 0.0)
    order = np.argsort(scores, kind="stable")  # the surest last: each is judged with those before
    highest, limits = np.zeros(replicates), np.empty(len(order))
    step = max(1, CELLS // max(1, replicates))
    for start in range(0, len(order), step):
        some = order[start : start + step]
        t = np.abs(_scaled(centred(some), family.se[some, None]))
        np.maximum(t[0], highest, out=t[0])
        np.maximum.accumulate(t, axis=0, out=t)
        limits[start : start + step] = np.quantile(t, level, axis=1)
        highest = t[-1]
    failing = np.flatnonzero(scores[order] <= limits)
    held = np.zeros(len(order), bool)
    held[order[failing[-1] + 1 if len(failing) else 0 :]] = True
    return held


def _scaled(centred: Floats, se: Floats) -> Floats:
    """T_b; 0 without a standard error, and where the difference is undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = centred / se
    return np.where(np.isfinite(found), found, 0.0)


def beaten(against: Contrasts, replicates: Floats, level: float) -> Bools:
    """Whether each system is not the best, as another one beats it (Hsu 1981); bool, (systems,).

    System i is beaten when v_i - v_j > c_ij SE_ij for some j, with c_i from the quantile of max_j
    T_ij,b. A given best system is beaten with the probability 1 - level at most. `against` has the
    shape (systems, systems), row minus column, and lower values are better; `replicates`, (systems,
    replicates), are values of the systems.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    found = np.zeros(len(replicates), bool)
    for i, own in enumerate(replicates):
        value, se = against.value[i], against.se[i]
        with np.errstate(invalid="ignore"):  # infinite replicates of both
            centred = own - replicates - value[:, None]
        t = _scaled(centred, se[:, None])
        q = float(np.quantile(t.max(axis=0), level))
        least = np.maximum(q * against.lift[i], ndtri(level))
        limit = stdtrit(against.nu[i], ndtr(least)) * se
        found[i] = bool(((se > 0) & (value > limit)).any())
    return found


def marked(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons of one run, in their order, with the flag `alone` on the differences that hold
    only alone; `counts["compared"]` is then the size of their family: all differences of a measure,
    of all systems, subsets, collections and applications.
    """
    families: dict[object, list[int]] = {}
    for k, one in enumerate(comparisons):
        row = one.difference
        families.setdefault((row.label, row.n_replicates, row.level), []).append(k)
    found = [*comparisons]
    for places in families.values():
        rows = [comparisons[k].difference for k in places]
        for k, row, holds in zip(places, rows, _hold_together(rows), strict=True):
            if not holds and verdict_of(row) in ("better", "worse"):
                counts = {**row.counts, "compared": float(len(rows))}
                flags = (*row.flags, *raised(alone=True))
                marked_row = msgspec.structs.replace(row, counts=counts, flags=flags)
                found[k] = replace(comparisons[k], difference=marked_row)
    return found


def _hold_together(rows: Sequence[Estimate]) -> Bools:
    """Differences that hold together (bool); a single difference holds."""
    if len(rows) == 1:
        return np.ones(1, bool)
    family = Contrasts.from_rows(
        [contrast(r.point, r.left_out, r.replicates, r.n_units) for r in rows]
    )

    def centred(some: Ints) -> Floats:
        return np.stack([rows[k].replicates - rows[k].point for k in some.tolist()])

    return step_down(family, centred, rows[0].n_replicates, rows[0].level)


def standings(estimates: Sequence[Estimate]) -> tuple[Standing, ...]:
    """Rank systems by one measure, best first.

    Systems with equal values are sorted by name; systems with an undefined value come last.

    Parameters
    ----------
    estimates : sequence of Estimate
        Value of each system, all for the same measure, trials and resampling plan.

    Returns
    -------
    tuple of Standing
        A line of the leaderboard for each system.

    Raises
    ------
    UsageError
        If there are no estimates.
    InputError
        If the estimates differ in measure, trials or resampling plan.

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
    ...     how = {"kind": "decision", "unit": speakers, "name": name}
    ...     trials = tc.Trials.from_arrays(decisions, labels, **how)
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


def first_rank(estimates: Sequence[Estimate]) -> tuple[str, ...]:
    """The systems of the first rank, as in `standings`, best first; several are tied."""
    ordered = sorted(estimates, key=_order)
    worse = _worse(ordered, *_pairs(ordered))
    known = enumerate(one for one in ordered if one.value is not None)  # undefined ones are last
    return tuple(one.dims["system"] for k, one in known if not worse[k].any())


def _pairs(ordered: Sequence[Estimate]) -> tuple[Ints, Ints, Contrasts]:
    """All pairs of systems, better ones first, and their differences."""
    first, second = np.triu_indices(len(ordered), 1)
    pairs = [*zip(first.tolist(), second.tolist(), strict=True)]
    family = Contrasts.from_rows([_between(ordered[i], ordered[j]) for i, j in pairs])
    return first, second, family


def _worse(ordered: Sequence[Estimate], first: Ints, second: Ints, family: Contrasts) -> Bools:
    """Whether the system of a row is worse than that of a column (bool matrix)."""
    count, replicates = len(ordered), np.stack([e.replicates for e in ordered])

    def centred(some: Ints) -> Floats:
        with np.errstate(invalid="ignore"):
            return replicates[first[some]] - replicates[second[some]] - family.value[some, None]

    worse = np.zeros((count, count), bool)
    holds = step_down(family, centred, replicates.shape[1], ordered[0].level)
    for k in np.flatnonzero(holds).tolist():
        better, other = int(first[k]), int(second[k])
        own = derived("difference", difference, ordered[other], ordered[better])
        worse[other, better] = verdict_of(own) == "worse"
    for k in range(count):  # whom a better one is worse than, it is worse than too
        worse[k] |= worse[worse[k]].any(axis=0)
    return worse


def _claims(ordered: Sequence[Estimate]) -> tuple[Bools, Bools]:
    """Whether the system of a row is worse than that of a column (bool matrix), and which may be
    the best.
    """
    first, second, family = _pairs(ordered)
    worse = _worse(ordered, first, second, family)
    sign = 1 if ordered[0].direction == "lower" else -1
    matrix = family.square(first, second, len(ordered))
    signed = Contrasts(sign * matrix.value, matrix.se, matrix.nu, matrix.lift)
    replicates = sign * np.stack([e.replicates for e in ordered])
    return worse, ~(beaten(signed, replicates, ordered[0].level) | worse.any(axis=1))


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
    verdict = "first" if to_first is None else "inconclusive" if alone else to_first.verdict
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
