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

HELD = "no interval: every factor is held fixed"  # why nothing was resampled
MOST_UNITS = 1e12  # no plan goes further
SPARE = 1.2  # times the units of a plan, as widths vary
Side = Literal["better", "worse", "same", "inconclusive"]  # of a system against another one
NO_INTERVAL = "no interval"
NO_WIDTH = 1e-9  # relative: below this two figures differ by rounding only
MOST_UNDEFINED = 0.05  # a larger share of the replicates leaves a verdict inconclusive


class Kind(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error rate behind a value: names of the error and the trial (`miss` of a `target`),
    weighted errors and trials, effective number of units with trials (Kish 1965), interval of the
    rate, and the design effect of events in time.
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
    """Row of `result.json`: a value with its interval. The file omits fields with default values.

    Attributes
    ----------
    measure, task : str
        Name of the measure, and its task if several tasks have a measure of this name.
    kind : {"value", "difference", "ratio"}
        Value of a system, difference (system minus baseline) or ratio (system over baseline).
    baseline : str or None
        For a difference or ratio: name of the baseline system; None for a value.
    parameters : dict
        Parameters of the value: `preset`, `costs`, and `prior` or `priors` of the application (see
        `Application.describe`); `prices`; `variant`, the parameter of the measure.
    dims : dict of str to str
        Names that identify the row: `system`; `collection` and `application`, if there are several;
        `subset`, for a subset; `estimator` (`run` or `mean`), for a training method.
    value, lower, upper : float or None
        Value, and lower and upper end of its interval, on the scale of the measure. None if
        undefined or infinite (`reason` states which).
    level : float
        Level of the interval, between 0 and 1.
    method : {"auto", "percentile", "bca", "delta"}
        Method of the interval (see `truecost.estimate`); `delta`: delta method on the log of a
        ratio.
    naive : float or None
        Value of the naive baseline (the best answer that ignores the input). None if the measure
        has none.
    direction : {"lower", "higher"}
        Whether lower or higher values are better.
    factors : tuple of str
        Names of the resampled factors, without those that the plan holds fixed.
    n_units : int
        Number of units; for crossed factors, of the factor with the fewest; for a method, of the
        test set.
    units_by_factor : dict of str to int
        Number of units of each factor, if several factors are crossed. For a method, a key such as
        `seed of cnn` has the number of seeds in the runs of the method `cnn`.
    n_trials, item : int, str
        Number of scored trials (a trial with a soft label counts once), and their name in the
        singular: `trial`, `utterance`, `sentence` or `recording`.
    shown_in : str
        Unit of measurement: `percent` (stored as a share), a currency (`currency EUR`) or empty.
    counts : dict of str to float
        Counts behind the value, by name:

        - `targets`, `nontargets`, or `class NAME`: trials of each class. If a trial can
          have several right labels: trials for which the class is right.
        - `annotators_per_trial`: mean number of annotators; `several_accepted`, `several_labels`:
          numbers of trials with several right labels, and with several given labels.
        - `misses`, `false_alarms`, or `errors`, `abstentions`: numbers of these decisions (for a
          method: means over runs).
        - `impossible`: trials whose true class has probability 0.
        - `runs`, `lowest_run`, `highest_run`: runs of a method, and their lowest and highest value.
        - `best_of`: number of systems scored so far on this evaluation set, if this system is best;
          `best_of_optimism`: largest bias of the value from choosing the best system.
        - Sums from which a measure of items is computed: words, n-grams, seconds of speaker time.
        - Further results of a measure: `NAME` (in the data) and `NAME_mean` (mean over replicates).
    rates : tuple of Kind
        Error rates that the value is computed from, each with its errors, trials and interval;
        empty for measures without error rates.
    threshold : float or None
        Decision threshold: a natural-log likelihood ratio or a raw score. None without decisions.
    n_replicates, n_undefined : int
        Number of replicates, and number of replicates in which the measure is undefined. The
        interval excludes undefined replicates.
    reason : str or None
        Reason why a value, an end of the interval or the naive baseline is None.
    flags : tuple of str
        Warnings:

        - `trials_as_units`: no unit was named, so each trial is resampled on its own; dependent
          trials make the interval too narrow;
        - `items_as_units`: as `trials_as_units`, for utterances or sentences;
        - `crossed`: several factors, or two units in each trial; the interval is conservative;
        - `few_units`: fewer than 20 units (percentile and bca intervals), or fewer than the measure
          needs (auto); the interval may be too narrow;
        - `few_effective_units`: a few units determine most of the value;
        - `clustered_errors`: the effective number of units (Kish 1965) is below 20, and units have
          several trials each, so that the correlation within units is uncertain;
        - `rare_losses`: the value is a mean of losses over at most 50 trials of a class, and each
          trial is a unit, so rare large losses may be missing from the data;
        - `in_order`: units in order of time may be correlated more than the interval assumes;
        - `few_runs`: a method has fewer than 20 runs; the interval may be too narrow;
        - `few_errors`: fewer than 10 errors, or fewer than 10 correct trials, of a class or kind;
        - `no_spread`: the interval has no width, but the value is not that of the naive baseline;
        - `combined`: few units (`counts["carrying"]`) determine the difference. Its interval, which
          combines the intervals of both systems, contains 0, but the paired percentile
          interval (`counts["paired_lower"]`, `counts["paired_upper"]`) does not;
        - `undefined_replicates`: the measure is undefined in some replicates;
        - `uncorrected`: the value uses machine labels alone (AB/BA); it is right only if these
          labels are calibrated in each cell;
        - `other_side`: a ratio is above 1 by machine labels and below 1 by human labels, or the
          reverse, and one of the two intervals excludes 1;
        - `label_mix`: the arms have different mixes of labels; the pooled estimate assumes one mix;
        - `small_cells`: fewer than 5 items of the counted label in a cell (AB/BA), so the interval
          is by the delta method;
        - `broken_replicates`: more than 1% of the replicates are undefined or infinite, so the
          interval is by the delta method;
        - `few_labels`: fewer than 100 human labels in a cell; the corrected interval is widened;
        - `clipped`: the corrected total of a cell (AB/BA) was outside its range and was clipped;
        - `not_llrs`: Cnxe needs log-likelihood ratios, but the scores are not declared as such;
        - `nothing_below`: no detection was submitted below the decision threshold;
        - `floor_costs`: trials without a submitted score cost more than the naive baseline;
        - `floors_differ`: the lowest submitted scores of the queries differ much;
        - `vanished`: in some replicates a query has no targets;
        - `uninformative`: the best affine map does not increase with the score;
        - `separated`: no target has a lower score than a nontarget;
        - `outside`: the value is outside its own interval;
        - `threshold_chosen`: the threshold was chosen on these data;
        - `best_of_many`: the system is the best of `counts["best_of"]` systems that were scored on
          this evaluation set, according to the results ledger;
        - `alone`: the interval of a difference excludes 0, but not after a correction for all
          `counts["compared"]` comparisons of its measure in the run.
    signature : str
        Description of the computation: measure, parameters, settings for reading and scoring,
        resampling, method, level and version, separated by `|`.
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
        """Whether more than 5% of the replicates are undefined. Then the interval decides neither
        a gate nor a comparison with a system or the naive baseline.
        """
        return self.n_undefined > MOST_UNDEFINED * self.n_replicates

    @property
    def label(self) -> str:
        """`measure`, or `measure:variant`."""
        return label_of(self.measure, self.parameters)

    @property
    def scale(self) -> Scale:
        """Scale on which readers see the values: percent, percentage points, or plain numbers."""
        return "" if self.kind == "ratio" else scale_of(self.shown_in, self.kind == "difference")

    @property
    def signed(self) -> bool:
        """Whether readers see a plus before a value above 0."""
        return self.kind == "difference"

    @property
    def apart(self) -> float | None:
        """Value of no difference: 0 for a difference, 1 for a ratio, None for a value."""
        return {"difference": 0.0, "ratio": 1.0}.get(self.kind)

    def __str__(self) -> str:
        """`nec 0.310 [0.290, 0.331]`."""
        return " ".join(filter(None, (self.label, *figures(self))))

    def __repr__(self) -> str:
        """`<Row b: nec 0.310 [0.290, 0.331]>`, on one line."""
        of = ", ".join(self.dims.values())
        return f"<{type(self).__name__} {of}: {self}>" if of else f"<{type(self).__name__} {self}>"

    def to_dict(self) -> dict[str, Any]:
        """Row as a dictionary for JSON, without default values. An undefined value is None."""
        row = {"kind": self.kind, **msgspec.to_builtins(self)}
        return {key: row[key] for key in self.__struct_fields__ if key in row}


class Estimate(Row, frozen=True, kw_only=True, eq=False):
    """Estimate of a measure: a result row with its replicates.

    It also has the attributes of `Row`.

    Attributes
    ----------
    point : float
        Value as a number: NaN if undefined, inf if infinite.
    replicates : ndarray of float64, shape (n_replicates,)
        Value in each replicate; NaN if undefined.
    left_out : tuple of LeftOut
        Values with parts of the data left out (jackknife), for each resampled factor; empty for
        percentile intervals.
    support : object, optional
        Error rates that the value is computed from, with their numbers of trials and errors.
    counted : str
        Hash of the counts from which the value is computed. Equal hashes mean equal counts.
    icc : float
        Correlation within units, which the default method of intervals (`auto`) assumes if the
        data are too few to estimate it.
    resampling : str
        Description of the resampling. Only estimates with equal descriptions can be paired.
    """

    point: float
    replicates: Floats
    left_out: tuple[LeftOut, ...] = ()
    support: Any = None
    counted: str = ""
    icc: float = 0.1
    resampling: str = ""

    def row(self) -> Row:
        """The row alone, without the replicates."""
        return Row(**{name: getattr(self, name) for name in Row.__struct_fields__})

    def to_dict(self) -> dict[str, Any]:
        """The row as a dictionary for JSON, without the replicates (see `Row.to_dict`)."""
        return self.row().to_dict()

    @property
    def half_width(self) -> float:
        """Half the width of the interval, on the scale of the measure; NaN without an interval."""
        if self.lower is None or self.upper is None:
            return float("nan")
        return (self.upper - self.lower) / 2

    def units_for(self, half_width: float | None = None) -> float:
        """Number of units that a study needs for a smaller half-width w: 1.2 n (h / w)^2, rounded
        up.

        n is the present number of units and h the present half-width, which is proportional to 1 /
        sqrt(n). The factor 1.2 allows for the spread of half-widths: 87% of studies with this
        number of units reach w, without the factor 57%. If h is at most w, the result is at most n.
        With several crossed factors, n is the number of units of the factor with the fewest units.

        Parameters
        ----------
        half_width : float, optional
            Half-width w, on the scale of the measure. Default: h / 2, which needs 4.8 n units.

        Returns
        -------
        float
            Number of units; NaN without an interval.

        Raises
        ------
        UsageError
            If w is not above 0, or is given in percent although the measure is a share.
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
                f"--half-width {wanted:g} would need more than {MOST_UNITS:g} units: give a "
                "larger half-width"
            )
        return units


def label_of(measure: str, parameters: dict[str, Any]) -> str:
    """The name of a measure with its variant: `measure`, or `measure:variant`."""
    return f"{measure}:{parameters['variant']}" if "variant" in parameters else measure


@dataclass(frozen=True)
class Comparison:
    """Comparison of two systems on the same trials: a system and its baseline.

    Attributes
    ----------
    system, baseline : Estimate
        Estimates of the measure for the two systems.
    difference, ratio : Estimate
        System minus baseline, and system divided by baseline. Their intervals are paired: each
        replicate has the same weights for both systems.
    """

    system: Estimate
    baseline: Estimate
    difference: Estimate
    ratio: Estimate

    @property
    def verdict(self) -> Side:
        """Verdict by the interval of the difference: `same` if both systems are equal in all
        replicates; `inconclusive` if the interval contains 0 or has no width, or more than 5% of
        the replicates are undefined; otherwise `better` or `worse`.
        """
        return verdict_of(self.difference)

    def __repr__(self) -> str:
        """`b against a: nec -0.20 [-0.28, -0.12], better`."""
        of = self.difference
        return f"<{of.dims.get('system', 'system')} against {of.baseline}: {of}, {self.verdict}>"


def verdict_of(difference: Row) -> Side:
    """Whether the interval of a difference excludes 0, and on which side.

    "same" when the difference and both ends of its interval are 0: the two are equal in all
    replicates. "inconclusive" when the interval holds 0 otherwise, has no width, an end of it is
    missing, or more than 5% of the replicates of the difference are undefined, or the difference
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
