"""Measures: their definition, and the interval that suits each."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.digits import ShownIn
from truecost.core.evidence import Totals
from truecost.errors import UsageError

Floats = npt.NDArray[np.float64]
Scale = Literal["log", "log1m", "logit", "logit100", "identity", "none"]
Joined = Literal["sum", "ratio", "shared", "odds", "equal", "at"]


@dataclass(frozen=True, eq=False)
class Rate:
    """A rate of one class that enters a figure: which trials of a part, and which are errors.

    Parameters
    ----------
    part : str
        Name of a tally, or of a ranking, whose decisions at `position` are then the tally.
    errors, trials : ndarray of float64, shape (cells,)
        Share of each cell that counts as an error, and as a trial (0 to 1), in the order of the
        axes.
    weight : float
        Factor of the rate in the figure.
    statistics : (str, str)
        Statistics that are summed as errors and as trials; several names joined by + are added.
    what, of : str
        Nouns for a reader: the error (`miss`), and the trial that has it (`target`).
    position : int
        Position of the threshold in the ranking, where `part` is one.
    weighted : bool
        Whether cells weigh their trials, such as by stated priors, so that Kish's number of trials
        counts.
    chances : ndarray of float64, shape (cells,), optional
        For a rate of events in time, whose trials are hours: share of each cell whose count `n` is
        a chance of an event. The rate then has Poisson limits.
    held : float, optional
        For a figure at a given rate, such as misses at 1% false alarms: the given rate. Default:
        the parameter of the measure.
    """

    part: str
    errors: Floats
    trials: Floats
    weight: float = 1.0
    statistics: tuple[str, str] = ("n", "n")
    what: str = "error"
    of: str = "trial"
    position: int = 0
    weighted: bool = False
    chances: Floats | None = None
    held: float | None = None


Rates = Callable[..., Sequence[Rate]]


@dataclass(frozen=True)
class Rule:
    """The way in which the method `auto` makes the interval of a measure.

    Parameters
    ----------
    scale : {"log", "log1m", "logit", "logit100", "identity", "none"}
        Scale on which the figure is nearly normal. `log`: positive figures. `log1m`, log(1 - v):
        figures of at most 1. `logit`, `logit100`: shares, percentages. `identity`: differences.
        `none`: figures that no sample estimates, such as a peak; no interval.
    rates : callable, optional
        Function that returns the rates of the figure, from the totals with weights of 1, the
        application and the parameter; no rates where the rule does not apply.
    joined : {"sum", "ratio", "shared", "odds", "equal", "at"}
        Formula of the figure from its rates. `sum`: their weighted sum. `ratio`: the first over the
        second, of separate trials; `shared`: the same, of trials that overlap. `odds`: o / (1 + o),
        where o is the first over the second times their weights. `equal`: their common value at the
        threshold where they are equal, misses first. `at`: the first at the threshold where the
        second has a given value.
    edge : bool
        Whether the rates are used only where the scale has no place for the value, such as no
        errors.
    optimistic : bool
        Whether the figure is the best over thresholds, calibrations or versions on the same data.
    excess : bool
        Whether chance makes the figure too large, as it does a calibration loss, or the lead of the
        best of many systems.
    chance : callable, optional
        Function that returns the part of such a figure that chance adds where the truth is 0, from
        the totals with weights of 1 and the application. Resampling underestimates this part where
        cells hold few trials.
    fewest : int
        Number of units below which the interval is known to cover too little.
    rare : bool
        Whether the figure is a mean of losses whose rare large values the data may lack.
    size : (str, str), optional
        Part and statistic that measure the size of each unit. Default: its number of trials.
    bounds : (float, float)
        Least and largest possible value; the ends of the interval stay within.
    """

    scale: Scale = "log"
    rates: Rates | None = None
    joined: Joined = "sum"
    edge: bool = False
    optimistic: bool = False
    excess: bool = False
    chance: Callable[..., float] | None = None
    fewest: int = 0
    rare: bool = False
    size: tuple[str, str] | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def counts(self) -> bool:
        """Whether the ends are computed from counts by unit, and need no value without a unit."""
        return self.rates is not None and not self.edge


SMOOTH = Rule()

# Cells of decisions at a threshold: nontarget rejected and accepted, target rejected and accepted.
FALSE_ALARM, MISS = np.array([0.0, 1, 0, 0]), np.array([0.0, 0, 1, 0])
NONTARGETS, TARGETS = np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1])


def at_threshold(code: int, position: int, weight: float = 1.0, part: str = "ranking") -> Rate:
    """The error rate of one class at a threshold, a position in the ranking: misses for the code 1,
    false alarms for 0.
    """
    if code == 1:
        return Rate(part, MISS, TARGETS, weight, what="miss", of="target", position=position)
    what, of = "false alarm", "nontarget"
    return Rate(part, FALSE_ALARM, NONTARGETS, weight, what=what, of=of, position=position)


Array = npt.NDArray[Any]
Result = tuple[Array, Array | float]
Told = tuple[Array, Array | float, dict[str, Array]]  # with what a measure says beside its value
Function = Callable[..., Result | Told]
NONE = float("nan")  # the naive baseline of a measure that has none


@dataclass(frozen=True, eq=False)
class Values:
    """The results of a measure for some replicates: its values and those of the naive baseline,
    (replicates,), NaN where undefined, and further figures beside them (`extras`): the share of
    queries that vanished, a chosen threshold.
    """

    values: Floats
    naive: Floats
    extras: Mapping[str, Floats]

    @staticmethod
    def joined(parts: "Sequence[Values]") -> "Values":
        """The replicates of several blocks with equal extras, in order."""
        return Values(
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.naive for p in parts]),
            {name: np.concatenate([p.extras[name] for p in parts]) for name in parts[0].extras},
        )


@dataclass(frozen=True)
class Measure:
    """A measure: a named function that computes values and naive baselines from totals.

    Parameters
    ----------
    name : str
        Name of the measure in options and results.
    function : callable
        `f(totals, application)`, or `f(totals, application, parameter)` if the measure has a
        parameter. It returns the values, shape (replicates,); the naive baseline (an array, a
        number, or NaN without a baseline); and optionally a dictionary of further results, shape
        (replicates,). `counts` of the row gets each of these: NAME, its value in the data, and
        NAME_mean, its mean over replicates.
    parts : tuple of str
        Names of the parts of the evidence that the function uses.
    title : str
        Name of the measure for readers.
    direction : {"lower", "higher"}
        Whether lower or higher values are better.
    source : str
        Source of the formula: paper and equation.
    parameter : str, optional
        Default of the parameter. None: the measure has no parameter.
    parse : callable, optional
        Function that converts the text of a parameter, and raises ValueError for a wrong text.
        Default: the text is passed on.
    advice : str
        Advice for users of the measure, in one sentence.
    rule : str
        Id of the rule of `truecost.advice` to which the advice belongs; empty without a rule.
    detection : bool
        Whether the measure needs two classes, one of which is the target.
    uses : tuple of str
        Parts of the application that change the value: "costs", "prior", "prices". Parameters and
        signature of a row contain only these parts.
    errors : {"misses", "false_alarms", ""}
        Kind of errors that a measure of decisions counts; empty: both.
    minimum_of : str
        Name of another measure, if this one is its minimum over thresholds or calibrations.
    cites : tuple of str
        Works to cite: keys of `truecost.report.citations.PAPERS`, or BibTeX. Default: the papers
        in `source`.
    undefined : str
        Reason that readers see if the value is undefined.
    shown_in : {"", "percent", "currency"}
        Unit of measurement that readers see. Values shown in percent are stored as shares.
    task : str
        Task of the measure, if another task has a measure of the same name. Outside its task, the
        name is then `TASK/NAME`.
    total : bool
        Whether the value is a sum that increases with the number of units. More units do not make
        its interval narrower.
    steady : bool
        Whether equal values in all replicates cause no warning. Example: a planned number, or a
        single measurement.
    open : bool
        Whether an option sets the parameter; lists of measures then show the name alone.
    follows : bool
        Whether the direction is that of the parameter, which names a measure or a column.
    interval : Rule
        Rule of the interval. Default: the rule for positive values that are smooth functions of
        sums.
    beside : bool
        Whether the measure is only reported beside other measures (`--also`); gates and
        leaderboards refuse it.
    """

    name: str
    function: Function
    parts: tuple[str, ...]
    title: str
    direction: Literal["lower", "higher"]
    source: str
    parameter: str | None = None
    parse: Callable[[str], Any] | None = field(default=None, compare=False)
    advice: str = ""
    rule: str = ""
    detection: bool = False
    uses: tuple[str, ...] = ("costs", "prior")
    errors: Literal["misses", "false_alarms", ""] = ""
    minimum_of: str = ""
    cites: tuple[str, ...] = ()
    undefined: str = ""
    shown_in: ShownIn = ""
    task: str = ""
    total: bool = False
    steady: bool = False
    open: bool = False
    follows: bool = False
    interval: Rule = SMOOTH
    beside: bool = False

    @property
    def key(self) -> str:
        """Name in lists: `TASK/NAME` if several tasks have a measure of this name."""
        return f"{self.task}/{self.name}" if self.task else self.name

    @property
    def decides(self) -> bool:
        """Whether the measure evaluates decisions, so that it depends on a threshold."""
        return not {"decisions", "accepted"}.isdisjoint(self.parts)

    def at(self, text: str) -> "Measure":
        """Measure with another parameter, as in `NAME:PARAMETER`.

        Raises
        ------
        UsageError
            If the measure has no parameter, or the text is not a valid parameter.
        """
        if self.parameter is None:
            raise UsageError(
                f"measure {self.name!r} takes no parameter: write {self.name!r} alone "
                f"instead of '{self.name}:{text}'"
            )
        chosen = replace(self, parameter=text)
        chosen.argument()
        return chosen

    def argument(self) -> Any:
        """Parameter as the function receives it: the result of `parse`, or the text if there is no
        `parse`; None if the measure has no parameter. Raises UsageError for an invalid text.
        """
        if self.parameter is None or self.parse is None:
            return self.parameter
        try:
            return self.parse(self.parameter)
        except ValueError as error:
            unread = str(error).startswith(("could not convert", "invalid literal"))
            said = "give a number" if unread else error
            raise UsageError(f"{self.name}:{self.parameter} is not understood: {said}") from error

    @property
    def label(self) -> str:
        """Name with parameter: `name` or `name:parameter`."""
        return self.name if self.parameter is None else f"{self.name}:{self.parameter}"

    def __call__(self, totals: Totals, application: Application) -> Values:
        """Values and naive baselines for every replicate, NaN where undefined."""
        arguments = () if self.parameter is None else (self.argument(),)
        with np.errstate(divide="ignore", invalid="ignore"):
            values, naive, *more = self.function(totals, application, *arguments)
        found = np.asarray(values, np.float64)
        extras = {k: np.asarray(v, np.float64) for k, v in (more[0] if more else {}).items()}
        return Values(found, np.broadcast_to(np.asarray(naive, np.float64), found.shape), extras)


ROUNDING = 16 * float(np.finfo(np.float64).eps)  # relative: what sums of a few terms may be off


def difference(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """A minus b, 0 where they differ by no more than rounding: equal figures that were summed in
    another order are equal.
    """
    one, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    found = one - other
    small = np.abs(found) <= ROUNDING * np.maximum(np.abs(one), np.abs(other))
    return np.asarray(np.where(small, 0.0, found))


def one_of(known: Collection[str], text: str) -> str:
    """A parameter that is one of some words; ValueError otherwise, for `Measure.argument`."""
    if text not in known:
        raise ValueError(f"choose one of {', '.join(known)}")
    return text


def share(part: npt.ArrayLike, whole: npt.ArrayLike) -> Floats:
    """Part / whole, NaN where the whole is 0 (or less)."""
    over = np.asarray(whole, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(over > 0, np.asarray(part, np.float64) / over, np.nan))


def weigh(priors: Floats, values: Floats) -> Floats:
    """sum_k P_k v_k over the last axis, the classes; classes of prior 0 are left out even when
    undefined, NaN where a class that has a prior has no value.
    """
    return np.asarray(np.where(priors == 0, 0.0, priors * values).sum(axis=-1))
