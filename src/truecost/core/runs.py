"""The runs of a method: what tells them apart, and how they are resampled as an outer factor;
limits of their mean, and of one more run.

The test and the runs vary on their own, so the squares of their standard errors add (the rule of
crossed factors). With G the scale of the measure, x_j the figure of run j and m its mean:

- the test moves each end by d: the mean over runs of |G(x_j) - G(end of the interval of run j)|,
  for the mean times rho, the standard error of the mean over that of its runs on average (below 1
  where not all runs err on the same units);
- runs move the mean by SE_r, found by leaving out each level of what varies; one more run by
  SE_r = s sqrt(1 + 1 / J), with s the standard deviation of G(x_j) over J runs;
- an end lies t_nu sqrt((d / t_nu_t)^2 + SE_r^2) from G(m), and d at least: nu by Satterthwaite
  (1946) from nu_t of the test and nu_r of the runs;
- the bad end of the mean moves out by min(1, 20 / nu) of what one more run like the worst would do.

Figures that are made of error rates have the scale of their good end, log v or log(1 - v), and the
identity, cut at that end, where the scale has no place for a figure or an end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from truecost.core.factors import Factor
from truecost.core.intervals.smooth import Spread, from_scale, spread, to_scale
from truecost.core.measure import Rule
from truecost.core.results import Estimate
from truecost.core.subsets import Floats, LeftOut
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError, counted, first_five, refuse_text
from truecost.tasks.measures import look_up

ENDS = {"log": (0.0, np.inf), "log1m": (-np.inf, 1.0), "logit": (0.0, 1.0), "logit100": (0.0, 100)}


@dataclass(frozen=True)
class Runs:
    """The runs of one method: the varied factors, and the fixed ones.

    Parameters
    ----------
    method : str
        Name of the method. The random weights of the runs depend on this name.
    levels : mapping of str to sequence of str
        For each column that distinguishes runs (a seed, a training set): its level in each run. Two
        columns are crossed: the weight of a run is the product of the weights of its two levels.
    hold : tuple of str
        Columns whose levels are not resampled for the value `mean`, the average over runs.
    sets : str
        Column of the training sets, if several methods were trained on the same sets. The sets are
        then drawn once for all methods, and the seeds of a set are drawn with the set.

    Raises
    ------
    UsageError, InputError
        If there is no column or no run, a column of `hold` is not in `levels`, two columns vary
        together, or two runs have the same levels.

    Examples
    --------
    >>> import truecost as tc
    >>> runs = tc.Runs("cnn", {"seed": ("1", "2", "1", "2"), "set": ("a", "a", "b", "b")})
    >>> len(runs), runs.varied
    (4, {'seed': 2, 'set': 2})
    >>> runs.weights(tc.Plan(replicates=3, seed=2)).tolist()
    [[1.0, 1.0, 1.0, 1.0], [2.0, 0.0, 2.0, 0.0], [0.0, 4.0, 0.0, 0.0]]
    """

    method: str
    levels: Mapping[str, tuple[str, ...]]
    hold: tuple[str, ...] = ()
    sets: str = ""

    def __post_init__(self) -> None:
        refuse_text(hold=self.hold)
        refuse_text(**self.levels)
        columns = list(self.levels.values())
        if not columns or not columns[0]:
            raise UsageError(
                f"method {self.method!r} has no runs: name the columns that distinguish them"
            )
        if unknown := [name for name in self.hold if name not in self.levels]:
            raise UsageError(
                f"{first_five(unknown)} cannot be named by --hold: the columns that distinguish "
                f"runs are {', '.join(self.levels)}"
            )
        names = [*zip(*columns, strict=True)]
        if repeated := sorted({n for n in names if names.count(n) > 1}):
            raise InputError(
                f"method {self.method!r}: {counted(len(repeated), 'run', 'have')} the same levels "
                "as another run (name one more column that distinguishes runs): "
                f"{first_five(self.named(n) for n in repeated)}"
            )
        self._refuse_one_factor()

    def _refuse_one_factor(self) -> None:
        """Refuse two columns that determine each other: they are one factor."""
        named = [name for name, size in self.sizes.items() if size > 1]
        for place, first in enumerate(named):
            for second in named[place + 1 :]:
                pairs = set(zip(self.levels[first], self.levels[second], strict=True))
                if self.sizes[first] == self.sizes[second] == len(pairs):
                    raise UsageError(
                        f"method {self.method!r}: {first} and {second} vary together (each of the "
                        f"{len(pairs)} levels of one goes with one of the other), so they are one "
                        f"factor: name only one of them"
                    )

    def __len__(self) -> int:
        return len(next(iter(self.levels.values())))

    def named(self, levels: Sequence[str]) -> str:
        """Name of the run with these levels, such as `seed 3, training a`."""
        return ", ".join(f"{k} {v}" for k, v in zip(self.levels, levels, strict=True))

    def key(self, column: str) -> str:
        """Name of the resampled factor of a column, such as `seed of cnn`: each method has draws of
        its own. For training sets that methods share (`sets`), it is the name of the column.
        """
        return column if column == self.sets else f"{column} of {self.method}"

    @property
    def sizes(self) -> dict[str, int]:
        """Number of levels of each column."""
        return {name: len(set(column)) for name, column in self.levels.items()}

    @property
    def varied(self) -> dict[str, int]:
        """Number of levels of each column that is resampled for the value `mean`.

        Columns in `hold` and columns with one level are left out.
        """
        sizes = self.sizes
        if sizes.get(self.sets, 0) > 1:  # the seeds of a set come with it
            sizes = {self.sets: sizes[self.sets]}
        return {n: size for n, size in sizes.items() if size > 1 and n not in self.hold}

    def weights(self, plan: Plan) -> Floats:
        """Weight of each run in each replicate, float64 (replicates, runs).

        With two columns whose levels are not all combined, all weights of a replicate can be 0. The
        levels are drawn by the scheme multinomial, even if the plan has another scheme.
        """
        found = np.ones((plan.replicates, len(self)))
        drawn = Plan(plan.replicates, plan.seed)
        for column in self.varied:
            factor, codes = Factor.encode(self.key(column), [*self.levels[column]])
            found *= drawn.weights({factor.name: factor}).block()[factor.name][:, codes]
        return found


@dataclass(frozen=True, eq=False)
class RunInterval:
    """Ends of an interval, the reason for a missing end, and the figure without single units and
    runs.
    """

    lower: float | None
    upper: float | None
    reason: str | None
    left_out: tuple[LeftOut, ...]


def limits_of_mean(members: Sequence[Estimate], runs: Runs) -> RunInterval:
    """Limits of the mean over runs, whose levels are resampled as `runs` says, from one estimate by
    `auto` for each run, with finite values.
    """
    tests, points = _mean_left_out(members), _points(members)
    outer = [_without_levels(runs, column, points) for column in runs.varied]
    if len(members) == 1:
        return _single_run(members[0])
    scale, ends, reason = _scaled(members)
    if reason:
        return RunInterval(None, None, reason, (*tests, *outer))
    middle = float(points.mean())
    each = [_error(one.left_out, one.point) for one in members]
    share = _error(tests, middle) / max(float(np.mean(each)), 1e-300) if np.mean(each) else 1.0
    found = spread(outer, middle, _Rising(scale)) if outer else None
    told = found or Spread(0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    limits = _joined_limits(
        scale, middle, min(1.0, share) * ends, _freedom(tests, middle), told, members
    )
    return RunInterval(*limits, None, (*tests, *outer))


def limits_of_one(members: Sequence[Estimate], runs: Runs) -> RunInterval:
    """Limits of the result of one more run, from the same members; with one run those of that run.

    The values without each unit are those of the mean; a factor `run of METHOD` represents the
    spread between runs.
    """
    if len(members) == 1:
        return _single_run(members[0])
    tests, points = _mean_left_out(members), _points(members)
    middle = float(points.mean())
    more = _variance(points, runs)
    each = np.mean([_error(one.left_out, one.point) ** 2 for one in members])
    own = _run_factor(runs, points, more + max(0.0, float(each) - _error(tests, middle) ** 2))
    scale, ends, reason = _scaled(members)
    if reason:
        return RunInterval(None, None, reason, (*tests, own))
    error = float(np.sqrt(_variance(_Rising(scale)(points), runs)))
    told = Spread(error, _effective(runs) - 1.0, 0.0, 0.0, 0.0, 1.0)
    limits = _joined_limits(scale, middle, ends, _freedom(tests, middle), told, members)
    return RunInterval(*limits, None, (*tests, own))


def _single_run(member: Estimate) -> RunInterval:
    return RunInterval(member.lower, member.upper, member.reason, member.left_out)


def _points(members: Sequence[Estimate]) -> Floats:
    return np.array([one.point for one in members])


def _mean_left_out(members: Sequence[Estimate]) -> tuple[LeftOut, ...]:
    """The mean over runs without each unit of the test."""
    return tuple(
        replace(same[0], made=np.mean([one.values for one in same], axis=0))
        for same in zip(*(one.left_out for one in members), strict=True)
    )


def _without_levels(runs: Runs, column: str, points: Floats) -> LeftOut:
    """The mean over runs without each level of a column that varies."""
    levels = np.unique(runs.levels[column], return_inverse=True)[1]
    held = np.bincount(levels).astype(np.float64)
    sums = np.bincount(levels, points)
    values = (points.sum() - sums) / (len(points) - held)
    return LeftOut(runs.key(column), values, len(held), held.sum() ** 2 / float((held**2).sum()))


def _run_factor(runs: Runs, points: Floats, variance: float) -> LeftOut:
    """A factor of runs with the variance that one more run would add."""
    apart = points - points.mean()
    count = len(points)
    square = float((apart**2).sum())
    scale = np.sqrt(variance * count / ((count - 1) * square)) if square > 0 else 0.0
    return LeftOut(f"run of {runs.method}", points.mean() - scale * apart, count, float(count))


def _effective(runs: Runs) -> int:
    """Fewest levels of what varies: runs of one training set, say, are not independent."""
    if runs.sizes.get(runs.sets, 0) > 1:
        return runs.sizes[runs.sets]
    return min((size for size in runs.sizes.values() if size > 1), default=1)


def _variance(points: Floats, runs: Runs) -> float:
    """Variance of one more run about the mean of these, (1 + 1 / m) s^2 with m levels of what
    varies.
    """
    m = _effective(runs)
    return (1 + 1 / m) * m / (m - 1) * float(np.var(points))


def _error(left: Sequence[LeftOut], point: float) -> float:
    """Standard error from leaving out units of the test; 0 where it is not known."""
    found = spread(left, point)
    return 0.0 if found is None else found.se


def _freedom(left: Sequence[LeftOut], point: float) -> float:
    found = spread(left, point)
    return 2.0 if found is None else found.nu


def rule_of(members: Sequence[Estimate]) -> Rule:
    """The interval rule of the measure of rows; for an unregistered measure, by the sign of its
    values.
    """
    measure = look_up(members[0].measure, members[0].task)
    if measure is not None:
        return measure.interval
    positive = all(one.lower is not None and one.lower > 0 for one in members)
    return Rule("log" if positive else "identity")


def _scaled(members: Sequence[Estimate]) -> tuple[str, Floats, str]:
    """The scale, the average distance of the ends from the values on it, and the reason where there
    is none.
    """
    first, points = members[0], _points(members)
    scale = _scale_name(rule_of(members), first.direction)
    if not first.factors:
        return (scale, np.zeros(2), "") if _fits(scale, points) else ("identity", np.zeros(2), "")
    lacking = [one for one in members if one.lower is None or one.upper is None]
    if lacking:
        return scale, np.zeros(2), lacking[0].reason or "no interval: a run has none"
    ends = np.array([[one.lower, one.upper] for one in members], np.float64)
    if not _fits(scale, np.append(points, ends)):
        scale = "identity"
    g = _Rising(scale)
    apart = np.abs(g(ends) - g(points)[:, None]).mean(axis=0)
    return scale, np.asarray(apart), ""


def _scale_name(rule: Rule, direction: str) -> str:
    """The scale of a rule; for figures made of rates that of their good end."""
    if rule.excess:
        return "identity"
    if rule.rates is not None and not rule.edge:
        return "log" if direction == "lower" else "log1m"
    return rule.scale


def _fits(scale: str, values: Floats) -> bool:
    return bool(np.isfinite(to_scale(scale, values)).all())


@dataclass(frozen=True)
class _Rising:
    """A scale that rises with the figure."""

    name: str

    @property
    def sign(self) -> float:
        return -1.0 if self.name == "log1m" else 1.0

    def __call__(self, values: Floats) -> Floats:
        return self.sign * to_scale(self.name, values)

    def back(self, value: float) -> float:
        """The figure at a point of the scale."""
        return from_scale(self.name, self.sign * value)


def _joined_limits(
    scale: str,
    middle: float,
    apart: Floats,
    freedom: float,
    told: Spread,
    members: Sequence[Estimate],
) -> tuple[float, float]:
    """Ends around a figure, from their distance due to the test and the spread of the runs."""
    from scipy.special import stdtrit

    tail = (1 + members[0].level) / 2
    g, run = _Rising(scale), told.se**2
    at = float(g(np.array([middle]))[0])
    worse = 1 if members[0].direction == "lower" else -1
    ends = []
    for sign, d, more in zip((-1, 1), apart.tolist(), (told.fall, told.rise), strict=True):
        test, reach = (d / float(stdtrit(freedom, tail))) ** 2, d
        if run > 0:
            nu = (test + run) ** 2 / (test**2 / freedom + run**2 / told.nu)
            reach = max(d, float(stdtrit(nu, tail)) * float(np.sqrt(test + run)))
            if sign == worse or scale == "identity":
                reach += min(1.0, 20 / nu) * more
        ends.append(g.back(at + sign * reach))
    least, most = ENDS.get(_scale_name(rule_of(members), members[0].direction), (-np.inf, np.inf))
    if scale == "identity" and least <= middle <= most:
        return max(least, ends[0]), min(most, ends[1])
    return ends[0], ends[1]
