"""One gate: which rows it is about and the limit that their intervals must keep."""

import math
from typing import Literal, get_args

import msgspec

from truecost import names
from truecost.digits import SIGN, Scale, ShownIn
from truecost.errors import UsageError

LARGEST = 3  # of limits on shares: nobody allows errors of more than 300%
LIMITS = ("max_upper", "min_lower", "max_upper_delta", "min_lower_delta")
MIRROR = dict(zip(LIMITS, (LIMITS[1], LIMITS[0], LIMITS[3], LIMITS[2]), strict=True))


class Gate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A limit that the interval of a measure must keep: `[[gate]]` in a study.

    Exactly one limit is named, in the unit of the measure. Upper limits are for measures whose
    lower values are better, lower limits for those whose higher values are better.

    Attributes
    ----------
    measure : str
        `NAME`, or `NAME:VARIANT` where there are several.
    name : str, optional
        What the gate is called in reports.
    system, application, collection : str, optional
        Which rows it is about; every one when left out, each with a verdict of its own.
    subset : str, optional
        As the result names it, such as "noise=babble"; the whole data when left out, or "all".
    estimator : str, optional
        Needed only where a result has several.
    phase : {"pre", "post"}, optional
        Of streams: before or after the system learnt from the batch. A gate has to name it.
    strategy, budget : str, optional
        Of streams: how questions were chosen, and how many.
    version, policy : str, optional
        Of life cycles: which version, and for which user.
    max_upper : float, optional
        The upper end of the interval may not exceed it.
    min_lower : float, optional
        The lower end of the interval may not fall below it.
    baseline : str, optional
        System to compare with, trial by trial; goes with one of the two limits that follow.
    max_upper_delta, min_lower_delta : float, optional
        The same limits for the paired difference, system minus baseline.
    undecided : {"fail", "pass"}
        What an undecided gate counts as.
    method : {"auto", "percentile", "bca"}
        How the intervals were made that it decides by; intervals of another method are refused.

    Raises
    ------
    UsageError
        When there is no limit, or several, or one that does not go with a baseline, or a limit is
        no finite number.
    """

    measure: str
    name: str | None = None
    system: str | None = None
    subset: str | None = None
    application: str | None = None
    collection: str | None = None
    estimator: str | None = None
    phase: str | None = None
    strategy: str | None = None
    budget: str | None = None
    version: str | None = None
    policy: str | None = None
    baseline: str | None = None
    max_upper: float | None = None
    min_lower: float | None = None
    max_upper_delta: float | None = None
    min_lower_delta: float | None = None
    undecided: Literal["fail", "pass"] = "fail"
    method: names.Method = "auto"

    def __post_init__(self) -> None:
        given = [name for name in LIMITS if getattr(self, name) is not None]
        if not self.measure:
            raise UsageError("a gate names no measure: write measure=NAME")
        if not given:
            raise UsageError(f"gate {self.measure}: there is no limit; {_choices(self.baseline)}")
        if len(given) > 1:
            raise UsageError(
                f"gate {self.measure}: {' and '.join(given)} are {len(given)} limits: write a gate "
                f"for each"
            )
        self._check_limit(given[0])
        if self.undecided not in ("fail", "pass"):
            raise UsageError(
                f"gate {self.measure}: undecided is {self.undecided!r}: write fail or pass"
            )
        if self.method not in get_args(names.Method):
            raise UsageError(
                f"gate {self.measure}: method is {self.method!r}: write auto, percentile or bca"
            )

    def _check_limit(self, key: str) -> None:
        limit = getattr(self, key)
        number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
        if not number or not math.isfinite(limit):
            raise UsageError(f"gate {self.measure}: {key} is {limit!r}: it must be a finite number")
        if key.endswith("_delta") != (self.baseline is not None):
            raise UsageError(f"gate {self.measure}: {key} {_missing(key, self.baseline)}")

    @property
    def key(self) -> str:
        """Which of the limits is set: `max_upper`, say."""
        return next(name for name in LIMITS if getattr(self, name) is not None)

    @property
    def limit(self) -> float:
        """The limit itself, in the unit of the measure."""
        return float(getattr(self, self.key))

    @property
    def is_upper(self) -> bool:
        """Whether values above the limit are beyond it."""
        return self.key.startswith("max")

    @property
    def bound(self) -> str:
        """The limit as a relation, such as `<= 0.3`."""
        return self.bound_in("")

    def bound_in(self, scale: Scale) -> str:
        """The same as readers see it: `<= 30%` where the measure is shown in percent."""
        return f"{'<=' if self.is_upper else '>='} {number(self.limit, scale)}"

    @property
    def title(self) -> str:
        """The name of the gate, or its measure and limit."""
        return self.title_in("")

    def title_in(self, scale: Scale) -> str:
        """The same with the limit as readers see it."""
        against = f" against {self.baseline}" if self.baseline is not None else ""
        return self.name or f"{self.measure}{against} {self.bound_in(scale)}"

    def check_direction(self, direction: Literal["lower", "higher"]) -> None:
        """Refuse an upper limit where higher values are better, and the reverse.

        Parameters
        ----------
        direction : {"lower", "higher"}
            Which values of the measure are better.

        Raises
        ------
        UsageError
            With what to write.
        """
        if (direction == "lower") == self.is_upper:
            return
        other = MIRROR[self.key]
        # A difference that may get worse by some amount changes its sign with the direction.
        limit = -self.limit if self.baseline is not None and self.limit else self.limit
        raise UsageError(
            f"gate {self.measure}: {direction} is better, so {self.key} would pass bad systems: "
            f"write {other}={number(limit)}"
        )

    def check_size(self, shown_in: ShownIn) -> None:
        """Refuse a limit in percent for a measure whose values are shares: 8 for 8%.

        Parameters
        ----------
        shown_in : {"", "percent"}
            How the values of the measure are shown.

        Raises
        ------
        UsageError
            With what to write.
        """
        if not shown_in or abs(self.limit) <= LARGEST:
            return
        raise UsageError(
            f"gate {self.measure}: {self.key} is a share, and {number(self.limit)} is "
            f"{number(self.limit, '%')}: did you mean {number(self.limit / 100)}?"
        )


DIMS = tuple(name for name in names.DIMS if name in Gate.__struct_fields__)


def number(limit: float, scale: Scale = "") -> str:
    """A limit as it was written, or in percent, with all the digits that it was given."""
    return f"{100 * limit:.10g}{SIGN[scale]}" if scale else f"{limit:.10g}"


def _choices(baseline: str | None) -> str:
    if baseline is not None:
        return (
            "write max_upper_delta=NUMBER (or min_lower_delta where higher is better): the most "
            "that the difference from the baseline may be"
        )
    return (
        "write max_upper=NUMBER (or min_lower=NUMBER where higher is better), or baseline=SYSTEM "
        "with max_upper_delta=NUMBER"
    )


def _missing(key: str, baseline: str | None) -> str:
    if baseline is None:
        return (
            f"limits a difference, but there is no baseline: write baseline=SYSTEM, or "
            f"{key.removesuffix('_delta')} for a limit on the value"
        )
    return (
        f"limits the value, but there is a baseline: write {key}_delta for a limit on the "
        f"difference, or leave out the baseline"
    )
