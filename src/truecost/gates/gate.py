"""One gate: which rows it is about and the limit that their intervals must keep."""

import math
from typing import Annotated, Literal

import msgspec

from truecost import names
from truecost.core.digits import SIGN, Scale, ShownIn
from truecost.errors import UsageError
from truecost.options import Option, declared

LARGEST = 3  # of limits on shares: nobody allows errors of more than 300%
LIMITS = ("max_upper", "min_lower", "max_upper_delta", "min_lower_delta")
MIRROR = dict(zip(LIMITS, (LIMITS[1], LIMITS[0], LIMITS[3], LIMITS[2]), strict=True))


class Gate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A limit that the interval of a measure must keep: `[[gate]]` in a study.

    Exactly one limit is named, in the unit of the measure. Upper limits are for measures whose
    lower values are better, lower limits for those whose higher values are better.

    Raises
    ------
    UsageError
        When there is no limit, or several, or one that does not go with a baseline, or a limit is
        no finite number.
    """

    measure: Annotated[
        str, Option(help="NAME of the measure, or NAME:VARIANT where there are several.")
    ]
    name: Annotated[str | None, Option(help="Name of the gate in reports.")] = None
    system: Annotated[str | None, Option(help="System of the rows.", shown="every one")] = None
    subset: Annotated[
        str | None,
        Option(help="Subset as the result names it: noise=babble, or all.", shown="the whole data"),
    ] = None
    application: Annotated[
        str | None, Option(help="Application of the rows.", shown="every one")
    ] = None
    collection: Annotated[str | None, Option(help="Collection of the rows.", shown="every one")] = (
        None
    )
    estimator: Annotated[
        str | None, Option(help="Estimator of the rows, where a result has several.")
    ] = None
    phase: Annotated[
        str | None,
        Option(help="pre or post: before or after the system learnt from the batch (streams)."),
    ] = None
    strategy: Annotated[
        str | None, Option(help="How questions were chosen (streams).", shown="every one")
    ] = None
    budget: Annotated[
        str | None, Option(help="Questions per batch (streams).", shown="every one")
    ] = None
    version: Annotated[
        str | None, Option(help="Version of the system (life cycles).", shown="every one")
    ] = None
    policy: Annotated[
        str | None, Option(help="Policy of the user (life cycles).", shown="every one")
    ] = None
    baseline: Annotated[
        str | None, Option(help="System to compare with; goes with a limit of the difference.")
    ] = None
    max_upper: Annotated[float | None, Option(help="Limit of the upper end of the interval.")] = (
        None
    )
    min_lower: Annotated[float | None, Option(help="Limit of the lower end of the interval.")] = (
        None
    )
    max_upper_delta: Annotated[
        float | None,
        Option(help="Limit of the upper end of the paired difference, system minus baseline."),
    ] = None
    min_lower_delta: Annotated[
        float | None,
        Option(help="Limit of the lower end of the paired difference, system minus baseline."),
    ] = None
    undecided: Annotated[
        Literal["fail", "pass"], Option(help="What an undecided gate counts as.", default="fail")
    ] = "fail"
    method: Annotated[
        names.Method,
        Option(
            help="How the intervals were made; intervals of another method are refused.",
            default="auto",
        ),
    ] = "auto"

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
        for option in declared(Gate):
            option.check(getattr(self, option.key), f"gate {self.measure}: {option.key}")

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
