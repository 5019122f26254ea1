"""How much of the variance of a method's runs comes from the seed, the training set and the test.

A run s of training set t has the value

    x_ts = mu + A_t + B_ts + C + D_t + E_ts

with A the effect of the training set, B that of the seed (nested: equal seeds on two training sets
do not make two runs alike), C what the finite test does to all runs alike, D what it does to all
runs of a training set, and E what it does to one run. All have mean 0 and do not depend on each
other. Ferrer et al. 2024, section 4.2, asks how much each of them decides; the shares are of the
variance of one more run: another seed, another training set, another test.

- training: var A; seed: var B; test: var C + var D + var E.

The runs are seen on one test set only, so C moves none of the differences between runs, but D and
E look like differences between training sets and seeds. The effect of the test is known from the
replicates, which weigh the units of the test anew for all runs alike: the analysis of variance
within each replicate shows what D and E add, which is subtracted.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.core.factors import generator
from truecost.core.methods import MethodEstimate
from truecost.core.runs import Runs
from truecost.core.subsets import Floats

Codes = npt.NDArray[np.intp]
TEST = "test"
DRAWS = 40_000  # of the interval of a share: fewer move its ends where the test has few units
ROUNDING = 1e-12  # of a value: what varies less does not vary


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Contribution of one source of variation to the variance of a method's value.

    Attributes
    ----------
    source : str
        Name of the source: ``test``, or the column that distinguishes the runs. Two columns that
        cannot be separated are one source, joined by "and".
    variance : float
        Variance that the source adds to the value of one run, in the squared unit of the measure,
        at least 0.
    share : float or None
        Share of the source in the sum of the variances of all sources, from 0 to 1; None if the sum
        is 0.
    lower, upper : float or None
        Confidence interval of the share; None if the interval is not defined.
    """

    source: str
    variance: float
    share: float | None
    lower: float | None
    upper: float | None


class Variance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="variance"):
    """Share of each source of variation (seed, training set, test) in the variance of a run's
    value, for one method and one measure.

    Attributes
    ----------
    system, measure : str
        Names of the method and of the measure.
    dims : dict of str to str
        Further description of the value, such as its application.
    runs, sets : int
        Numbers of runs and of training sets; 1 set if the runs differ in the seed only.
    shares : tuple of Share
        Share of each source; empty if they cannot be estimated.
    level : float
        Confidence level of the intervals.
    reason : str
        Reason why there are no shares; empty otherwise.
    """

    system: str
    measure: str
    dims: dict[str, str] = {}
    runs: int
    sets: int
    shares: tuple[Share, ...]
    level: float
    reason: str = ""


def shares_of_variance(found: MethodEstimate) -> Variance:
    """The shares of the seed, the training set and the test in the variance of one run (Ferrer et
    al. 2024, section 4.2).

    The estimate is an analysis of variance. There are N runs of T training sets; training set t has
    n_t runs (seeds), and n0 = (N - sum_t n_t^2 / N) / (T - 1). MSW and MSB are the mean squares of
    the values within and between training sets. bar(X) is the part of a statistic X that the test
    causes: the mean of X over the bootstrap replicates r, computed from x_ts^(r) - mean_r x_ts^(r),
    where x_ts^(r) is the value of the run with training set t and seed s. Variances over R
    replicates of n resampled test units are too small; they are multiplied by R / (R - 1) and by
    n / (n - 1).

    - seed: MSW - bar(MSW);
    - training set: (MSB - MSW) / n0 - bar((MSB - MSW) / n0);
    - test: mean over runs of the variance over replicates.

    Negative values count as 0. With one training set, there is no share of the training set. If any
    training set has only one seed, seed and training set are one source: X - bar(X), where X is
    half the mean squared difference of two runs of different training sets.

    The intervals are generalised confidence intervals (Weerahandi 1993): MSW, MSB and the variance
    of the test are divided by random chi-square values over their degrees of freedom (N - T, T - 1,
    and test units - 1), and the shares are computed again. The intervals assume normally
    distributed effects; the guide to training methods has their coverage in simulations.

    If seed and training set are one source, the degrees of freedom are computed as if only the
    training set caused the variance of this source (Satterthwaite 1946): (N^2 - sum_t n_t^2)^2 /
    (sum_t n_t^2 (N - n_t)^2 + sum_{t != u} n_t^2 n_u^2). This is T - 1 for equal n_t, and less
    otherwise. If it is true that only the training set causes this variance, intervals at 95%
    contain the true share in about 95% of studies; if the seed causes most of it, in up to 99%.

    Parameters
    ----------
    found : MethodEstimate
        Method whose runs differ in the seed, the training set, or both. The training set is the
        column ``found.runs.sets``; if it is empty, the last column that differs between runs. All
        other columns count as seeds.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.core.variance import shares_of_variance
    >>> plan = tc.Plan(500, seed=0)
    >>> scoring = tc.Scoring(measures=("total_error",), plan=plan)
    >>> labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    >>> members = []
    >>> for seed, error in enumerate((0.05, 0.2, 0.1, 0.25)):
    ...     wrong = np.random.default_rng(seed).random(400) < error
    ...     decided = np.where(wrong, 1 - labels, labels)
    ...     trials = tc.Trials.from_arrays(decided, labels, kind="decision", unit=speakers)
    ...     members += tc.score_system(trials, scoring)
    >>> method = tc.estimate_method(members, tc.Runs("cnn", {"seed": ("1", "2", "3", "4")}), plan)
    >>> [(s.source, round(s.share, 2)) for s in shares_of_variance(method).shares]
    [('seed', 0.96), ('test', 0.04)]
    """
    first = found.members[0]
    names, codes = _sources(found.runs)
    about = {k: v for k, v in first.dims.items() if k not in ("system", "estimator")}
    points = np.array([e.point for e in found.members])
    drawn = np.array([e.replicates for e in found.members])
    drawn = drawn[:, np.isfinite(drawn).all(axis=0)]

    def variance(shares: Sequence[Share], reason: str = "") -> Variance:
        return Variance(
            system=found.runs.method,
            measure=first.label,
            dims=about,
            runs=len(points),
            sets=len(set(codes.tolist())),
            shares=tuple(shares),
            level=first.level,
            reason=reason,
        )

    if len(points) < 2:
        return variance((), "one run does not show the variance over runs")
    if first.n_units < 2:
        return variance((), "the test has only one unit, so the variation over tests is not known")
    if not np.isfinite(points).all() or drawn.shape[1] < 2:
        return variance((), "undefined: the measure is undefined in a run, or in all replicates")
    squares = _squares(points[:, None], codes)
    moved = _deviations(drawn, first.n_units)
    noise = {k: np.array([v.mean()]) for k, v in _squares(moved, codes).items()}
    test = np.array([(moved**2).mean()])
    point = _variances(squares, noise, test, codes)
    if point.sum() <= (ROUNDING * np.abs(drawn).max()) ** 2:
        point = np.zeros_like(point)
    random = generator("truecost variance", str(found.plan.seed), found.runs.method, first.label)
    degrees = _degrees(codes)
    draws = {k: v * _scale(random, degrees[k]) for k, v in squares.items()}
    scale = _scale(random, first.n_units - 1)
    bounds = _variances(draws, {k: v * scale for k, v in noise.items()}, test * scale, codes)
    return variance(_shares(names, point, bounds, first.level))


def _sources(runs: Runs) -> tuple[tuple[str, ...], Codes]:
    """The names of the sources of variance, and the training set of each run."""
    varied = [name for name, size in runs.sizes.items() if size > 1]
    outer = runs.sets if runs.sets in varied else (varied or [*runs.levels])[-1]
    inner = " and ".join(k for k in varied if k != outer)
    if not inner:
        alone = f"seed and {outer}" if outer == runs.sets else outer
        return (alone, TEST), np.zeros(len(runs), np.intp)
    codes = np.unique(np.array(runs.levels[outer]), return_inverse=True)[1]
    if np.bincount(codes).min() < 2:
        return (f"{inner} and {outer}", TEST), codes
    return (inner, outer, TEST), codes


def _squares(values: Floats, codes: Codes) -> dict[str, Floats]:
    """Mean squares of runs (rows) by training set; only `between` where training sets and seeds
    cannot be separated.

    Keys are `within`, `between` (in the unit of the variance of a run: not yet MSB / n0), or `all`:
    half the mean squared difference between runs of different sets.
    """
    sizes = np.bincount(codes)
    total = len(codes)
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, codes, values)
    means = sums / sizes[:, None]
    within = ((values - means[codes]) ** 2).sum(axis=0)
    if len(sizes) == 1:
        return {"within": within / (total - 1)}
    grand = sums.sum(axis=0) / total
    if sizes.min() > 1:
        between = (sizes[:, None] * (means - grand) ** 2).sum(axis=0) / (len(sizes) - 1)
        return {"within": within / (total - len(sizes)), "between": between}
    # Over all ordered pairs of runs, less those of one set: sum (x_i - x_j)^2 = 2 n sum (x - m)^2.
    spread = ((values - grand) ** 2).sum(axis=0)
    inside = np.zeros((len(sizes), values.shape[1]))
    np.add.at(inside, codes, (values - means[codes]) ** 2)
    apart = total * spread - (sizes[:, None] * inside).sum(axis=0)
    return {"all": apart / (total**2 - (sizes**2).sum())}


def _deviations(drawn: Floats, units: int) -> Floats:
    """The deviation of each run in each replicate, scaled so that squares estimate without bias."""
    few = np.prod([n / (n - 1) for n in (drawn.shape[1], units)])
    moved: Floats = (drawn - drawn.mean(axis=1, keepdims=True)) * np.sqrt(few)
    return moved


def _variances(
    squares: Mapping[str, Floats], noise: Mapping[str, Floats], test: Floats, codes: Codes
) -> Floats:
    """The variance of each source, shape (sources, draws); never below 0."""
    if "all" in squares:
        return np.maximum([squares["all"] - noise["all"], test + 0 * squares["all"]], 0)
    seed = squares["within"] - noise["within"]
    if "between" not in squares:
        return np.maximum([seed, test + 0 * seed], 0)
    sizes = np.bincount(codes)
    each = (len(codes) - (sizes**2).sum() / len(codes)) / (len(sizes) - 1)  # n0
    apart, moved = (((s["between"] - s["within"]) / each) for s in (squares, noise))
    return np.maximum([seed, apart - moved, test + 0 * seed], 0)


def _degrees(codes: Codes) -> dict[str, float]:
    """Degrees of freedom of each mean square; of `all` as if seeds had no effect, when it has the
    fewest.
    """
    sizes = np.bincount(codes).astype(np.float64)
    total, sets = len(codes), len(sizes)
    if sets == 1:
        return {"within": total - 1}
    # `all` is then a multiple of a'La for the effects a of the sets: tr(L)^2 / tr(L L).
    form = total * np.diag(sizes) - np.outer(sizes, sizes)
    every = np.trace(form) ** 2 / np.square(form).sum()
    return {"within": total - sets, "between": sets - 1, "all": float(every)}


def _scale(random: np.random.Generator, degrees: float) -> Floats:
    """The random factor of each mean square: its degrees of freedom over draws of chi-square."""
    found: Floats = degrees / np.maximum(random.chisquare(max(degrees, 1), DRAWS), 1e-300)
    return found


def _shares(names: Sequence[str], point: Floats, draws: Floats, level: float) -> list[Share]:
    """Shares of the sum, with percentiles of the drawn shares."""
    total = float(point.sum())
    with np.errstate(invalid="ignore"):
        drawn = draws / draws.sum(axis=0)
    known = total > 0 and bool(np.isfinite(drawn).all())
    sides = (0.5 - level / 2, 0.5 + level / 2)
    found = []
    for name, variance, of in zip(names, point[:, 0], drawn, strict=True):
        lower, upper = np.quantile(of, sides).tolist() if known else (None, None)
        found.append(
            Share(
                source=name,
                variance=float(variance),
                share=float(variance) / total if total > 0 else None,
                lower=lower,
                upper=upper,
            )
        )
    return found
