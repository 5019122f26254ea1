"""Results: a row of figures, the estimate behind it, and a comparison of two. All are frozen."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from truecost.core.digits import Scale, figure, figures, scale_of
from truecost.core.subsets import Floats, LeftOut
from truecost.errors import UsageError
from truecost.names import Ends

HELD = "no interval: every factor is held"  # why nothing was resampled
MOST_UNITS = 1e12  # no plan goes further
SPARE = 1.2  # times the units of a plan, as widths vary
Side = Literal["better", "worse", "same", "inconclusive"]  # of a system against another one
NO_INTERVAL = "no interval"
NO_WIDTH = 1e-9  # relative: below this two figures differ by rounding only
MOST_UNDEFINED = 0.05  # a larger share of the replicates leaves a verdict inconclusive


class Kind(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rate that is part of a figure: the nouns of error and trial (`miss` of a `target`),
    weighted errors and trials, the effective number of units with trials (Kish 1965), the interval
    of the rate, and for events in time its design effect.
    """

    what: str
    of: str
    errors: float
    trials: float
    units: float
    lower: float
    upper: float
    design: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of `result.json`: what every command prints and every picture draws.

    Fields that do not apply are left out of the file.

    Attributes
    ----------
    measure, task : str
        Name of the measure, whose own parameter is `parameters["variant"]`, and the task whose
        measure it is, where another task has one of the same name.
    kind, baseline : {"value", "difference", "ratio"}, str or None
        A difference is system minus baseline, a ratio system over baseline, the system compared
        against.
    parameters : dict
        Parameters of the value: `preset`, `costs`, `prior` or `priors` as `Application.describe`
        gives them, and `prices`, if the measure uses them, and `variant`.
    dims : dict of str to str
        Subject of the row: `system`; `collection` and `application` if there are several;
        `estimator` (`run`, `mean`) of a method; `subset` of a subset.
    value, lower, upper, level : float or None
        The figure and the ends of its interval, in the unit of the measure; None when undefined or
        infinite: `reason` says which. The level lies between 0 and 1.
    method : {"auto", "percentile", "bca", "delta"}
        How the ends of the interval were made (see `truecost.estimate`); `delta` is the delta
        method on the logarithm of a ratio.
    naive, direction : float or None, {"lower", "higher"}
        The naive baseline on the same scale, None when there is none; which values are better.
    factors : tuple of str
        Names of the resampled factors; factors that the plan holds fixed are excluded.
    n_units : int
        Number of units; if several factors are crossed, of the factor with the fewest units (of a
        method: units of the test).
    units_by_factor : dict of str to int
        Number of units of each factor, if several factors are crossed. `COLUMN of METHOD` counts
        the runs of a method.
    n_trials, item : int, str
        Number of scored trials (a trial with a soft label counts once), and their name in the
        singular: `trial`, or `utterance`, `sentence`, `recording`.
    shown_in : str
        How readers see the figures: `percent` of shares (here they stay shares), `currency EUR`.
    counts : dict of str to float
        `nontargets` and `targets`, or `class NAME` for each class (where any of several annotators
        may be right, the trials that accept it); `annotators_per_trial`, and `several_accepted` or
        `several_labels`, the trials of which several labels are right or given; `misses` and
        `false_alarms`, or `errors` and of them `abstentions`, when decisions were counted (means
        over the runs of a method); `impossible`, the truths that were given probability 0; `runs`,
        `lowest_run` and `highest_run` of a method; the sums that a measure of items divides (words,
        n-grams; speaker time in seconds); `best_of`, the systems of which this is the best on this
        evaluation set, and `best_of_optimism`, by how much that makes the value too good at most,
        in the unit of the measure; and what a measure says beside its value: NAME at the point,
        NAME_mean over replicates.
    rates : tuple of Kind
        The rates that the figure is made of, where it is made of some.
    threshold : float or None
        The decision threshold, where there is one: natural-log likelihood ratio, or raw score.
    n_replicates, n_undefined : int
        Replicates drawn, and those in which the measure is undefined (left out of the interval).
    reason : str or None
        Reason for a value or an end of the interval that is None, or for an unknown naive baseline.
    flags : tuple of str
        Warnings:

        - `trials_as_units`: no unit was named, so each trial is resampled on its own; dependent
          trials make the interval too narrow;
        - `items_as_units`: the same for utterances or sentences;
        - `crossed`: several factors or sides; the interval is conservative;
        - `few_units`: fewer than 20 units (percentile and bca intervals), or fewer than a measure
          needs (auto); the interval covers too little;
        - `few_effective_units`: a few units determine most of the value;
        - `clustered_errors`: fewer than 20 effective units with several trials each;
        - `rare_losses`: a mean of losses over at most 50 trials of a class, which are resampled
          singly;
        - `in_order`: units in order of time, which may be correlated over more steps than the data
          show;
        - `few_runs`: a method has fewer than 20 runs: as far as they vary, too little is covered;
        - `few_errors`: fewer than 10 errors of a kind that the measure counts;
        - `no_spread`: the interval has no width, though the value is not just the naive one;
        - `combined`: few units carry the difference (`counts["carrying"]`): the intervals of both
          systems are combined and hold 0, though the paired percentiles
          (`counts["paired_lower"]`, `counts["paired_upper"]`) do not;
        - `undefined_replicates`: the measure is undefined in some replicates;
        - `uncorrected`: machine labels alone (AB/BA): right if calibrated in each cell;
        - `other_side`: machine labels put a ratio on the other side of 1 than human labels do, and
          one of the intervals leaves out 1;
        - `label_mix`: the label mix of the arms differs, unlike the pooled estimate assumes;
        - `small_cells`: fewer than 5 items of the label in a cell; delta-method interval;
        - `broken_replicates`: more than 1 % of the replicates are undefined or infinite;
          delta-method interval;
        - `few_labels`: fewer than 100 human labels in a cell; the corrected interval is widened;
        - `clipped`: a corrected total lay outside its cell and was clipped;
        - `not_llrs`: nothing says that the scores are log-likelihood ratios, as Cnxe takes them;
        - `nothing_below`: nothing was submitted below the decision threshold;
        - `floor_costs`: unsubmitted trials cost more than the prior alone;
        - `floors_differ`: the lowest submitted scores of queries lie far apart;
        - `vanished`: in some replicates queries have no targets left;
        - `uninformative`: the best affine map of the scores does not rise with them;
        - `separated`: no target scores below a nontarget;
        - `outside`: the value lies outside its own interval;
        - `threshold_chosen`: the threshold was chosen on these data;
        - `best_of_many`: the best of `counts["best_of"]` systems that were scored one after another
          on this evaluation set, as the ledger says;
        - `alone`: the interval of a difference excludes 0, but the difference does not hold among
          all `counts["compared"]` comparisons of its measure in the run.
    signature : str
        How the figure was computed: measure, parameters, choices while reading and scoring,
        resampling, method, level and version, separated by bars.
    """

    measure: str
    task: str = ""
    kind: Literal["value", "difference", "ratio"] = msgspec.field(default="value")
    baseline: str | None = None
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    dims: dict[str, str] = msgspec.field(default_factory=dict)
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    method: Ends
    naive: float | None
    direction: Literal["lower", "higher"]
    factors: tuple[str, ...]
    n_units: int
    units_by_factor: dict[str, int] = msgspec.field(default_factory=dict)
    n_trials: int
    item: str = msgspec.field(default="trial")
    shown_in: str = msgspec.field(default="")
    counts: dict[str, float] = msgspec.field(default_factory=dict)
    rates: tuple[Kind, ...] = ()
    threshold: float | None = None
    n_replicates: int
    n_undefined: int
    reason: str | None = None
    flags: tuple[str, ...]
    signature: str

    @property
    def outside(self) -> bool:
        """Whether the value lies outside its own interval, by more than rounding."""
        if self.value is None or self.lower is None or self.upper is None:
            return False
        rounding = NO_WIDTH * max(abs(self.lower), abs(self.upper))
        return self.value < self.lower - rounding or self.value > self.upper + rounding

    @property
    def narrow(self) -> bool:
        """Whether the interval is no wider than rounding."""
        if self.lower is None or self.upper is None:
            return False
        return abs(self.upper - self.lower) <= NO_WIDTH * max(abs(self.lower), abs(self.upper))

    @property
    def often_undefined(self) -> bool:
        """Whether more than 5 % of the replicates are undefined: the interval speaks of the others
        only, and decides neither a gate nor a comparison with a system or the naive baseline.
        """
        return self.n_undefined > MOST_UNDEFINED * self.n_replicates

    @property
    def label(self) -> str:
        """`measure`, or `measure:variant`."""
        return label_of(self.measure, self.parameters)

    @property
    def scale(self) -> Scale:
        """How readers see the figures: shares in percent, differences in points."""
        return "" if self.kind == "ratio" else scale_of(self.shown_in, self.kind == "difference")

    @property
    def signed(self) -> bool:
        """Whether readers see a plus before a value above 0."""
        return self.kind == "difference"

    @property
    def apart(self) -> float | None:
        """The value of no difference; figures have the digits that tell an end from it."""
        return {"difference": 0.0, "ratio": 1.0}.get(self.kind)

    def __str__(self) -> str:
        """`nec 0.310 [0.290, 0.331]`."""
        return " ".join(filter(None, (self.label, *figures(self))))

    def __repr__(self) -> str:
        """`<Row b: nec 0.310 [0.290, 0.331]>`, on one line."""
        of = ", ".join(self.dims.values())
        return f"<{type(self).__name__} {of}: {self}>" if of else f"<{type(self).__name__} {self}>"

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready builtins: without defaults, but with `kind` and undefined figures
        (null).
        """
        row = {"kind": self.kind, **msgspec.to_builtins(self)}
        return {key: row[key] for key in self.__struct_fields__ if key in row}


class Estimate(Row, frozen=True, kw_only=True, eq=False):
    """A row with the replicates that it came from; equal to itself only, unlike its `row()`.

    Has every attribute of `Row`, and:

    Attributes
    ----------
    point : float
        The value in full (NaN when undefined, infinite when infinite).
    replicates : ndarray of float64, shape (n_replicates,)
        Value in each replicate, in their order; NaN where undefined.
    left_out : tuple of LeftOut
        The value without single units of each resampled factor (not for percentile intervals).
    support : object, optional
        The rates in the value, with their numbers of trials and errors (`intervals.auto.Support`).
    counted, resampling : str
        Hash of the counts of the measure: equal hashes belong to the same system. How the
        replicates were drawn: only equal ones can be paired.
    icc : float
        Correlation of the trials of a unit that `auto` assumes where the data do not show it.
    """

    point: float
    replicates: Floats
    left_out: tuple[LeftOut, ...] = ()
    support: Any = None
    counted: str = ""
    icc: float = 0.1
    resampling: str = ""

    def row(self) -> Row:
        """The part that is stored and printed: a `Row`."""
        return Row(**{name: getattr(self, name) for name in Row.__struct_fields__})

    def to_dict(self) -> dict[str, Any]:
        """As `Row.to_dict`: the replicates are not stored."""
        return self.row().to_dict()

    @property
    def half_width(self) -> float:
        """(upper - lower) / 2, in the unit of the measure; NaN when an end is missing."""
        if self.lower is None or self.upper is None:
            return float("nan")
        return (self.upper - self.lower) / 2

    def units_for(self, half_width: float | None = None) -> float:
        """About how many units give a wanted half-width: 1.2 n (h / w)^2, rounded up; NaN without
        interval.

        n units give the half-width h now; the width of an interval shrinks with the square root of
        the number of units. A fifth more is planned, as widths vary: about 87 % of such plans reach
        w, without it 57 %. A width that n units reach already needs no more than n. With crossed
        factors n is the smallest number of units. By default, w (in the unit of the measure) is
        half of the present half-width, which needs 4.8 n units.

        Raises
        ------
        UsageError
            When the half-width is not above 0, or is in percent where the measure is a share.
        """
        wanted = self.half_width / 2 if half_width is None else half_width
        if wanted <= 0 or (half_width is not None and not math.isfinite(half_width)):
            raise UsageError(f"--half-width is {wanted:g}: it must be a finite number above 0")
        if self.shown_in == "percent" and half_width is not None and half_width >= 1:
            raise UsageError(
                f"--half-width of {self.label} is a share, and {half_width:g} is "
                f"{figure(half_width, 'pp')}: did you mean {half_width / 100:g}?"
            )
        with np.errstate(over="ignore"):
            grown = SPARE * np.square(np.float64(self.half_width / wanted))
        if self.half_width <= wanted:
            grown = np.minimum(grown, 1.0)
        units = float(np.ceil(self.n_units * grown * (1 - 1e-9)))  # rounding: 480 stays 480
        if units > MOST_UNITS:
            raise UsageError(
                f"--half-width {wanted:g} would need more than {MOST_UNITS:g} units: "
                f"name a wider one"
            )
        return units


def label_of(measure: str, parameters: dict[str, Any]) -> str:
    """The name of a measure with its variant: `measure`, or `measure:variant`."""
    return f"{measure}:{parameters['variant']}" if "variant" in parameters else measure


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same trials with the same weights: the estimates of both, and system minus
    baseline and system over baseline, with paired intervals.
    """

    system: Estimate
    baseline: Estimate
    difference: Estimate
    ratio: Estimate

    @property
    def verdict(self) -> Side:
        """Whether the interval of the difference excludes 0, and on which side (`verdict_of`)."""
        return verdict_of(self.difference)

    def __repr__(self) -> str:
        """`b against a: nec -0.20 [-0.28, -0.12], better`."""
        of = self.difference
        return f"<{of.dims.get('system', 'system')} against {of.baseline}: {of}, {self.verdict}>"


def verdict_of(difference: Row) -> Side:
    """Whether the interval of a difference excludes 0, and on which side.

    "same" when the difference and both ends of its interval are 0: the two are equal in all
    replicates. "inconclusive" when the interval holds 0 otherwise, has no width, an end of it is
    missing, or more than 5 % of the replicates of the difference are undefined, or the difference
    lies outside its own interval; otherwise the side and the direction of the measure tell.
    """
    low, high, value = difference.lower, difference.upper, difference.value
    lost = difference.often_undefined
    if low == value == high == 0 and not lost:
        return "same"
    if low is None or high is None or low <= 0 <= high or lost or not value:
        return "inconclusive"
    if difference.outside or difference.narrow:  # neither speaks for a side
        return "inconclusive"
    return "better" if (high < 0) == (difference.direction == "lower") else "worse"


def verdict_word(difference: Row) -> str:
    """The verdict on a difference for readers: "no interval" for a value that has none at all."""
    return NO_INTERVAL if lacks_interval(difference) else verdict_of(difference)


def lacks_interval(row: Row) -> bool:
    """Whether a row has a value and no end of an interval."""
    return row.value is not None and row.lower is None and row.upper is None
