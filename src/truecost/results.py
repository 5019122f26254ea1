"""Results: a row of figures, the estimate behind it, and a comparison of two. All are frozen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError
from truecost.names import Method

Floats = npt.NDArray[np.float64]


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of `result.json`: what every command prints and every picture draws.

    Attributes
    ----------
    measure : str
        Name of the measure; `parameters.variant` holds its own parameter.
    kind : {"value", "difference", "ratio"}
        A difference is system minus baseline, a ratio system over baseline.
    baseline : str
        The system compared against (differences and ratios).
    parameters : dict
        Costs, prior, preset and other choices that enter the value.
    dims : dict
        What the row is about: system, subset, ...
    value, lower, upper : float or None
        None when undefined or infinite; `reason` says which.
    reference : float or None
        The naive system's value on the same scale; None when there is none.
    direction : {"lower", "higher"}
        Which values are better.
    factors, n_units : list of str, int
        What was resampled and the number of its units (the smallest when several are crossed;
        `units_by_factor` has each).
    n_trials, counts : int, dict
        Trials scored and counts by name.
    threshold : float or None
        The decision threshold on the score's scale, where there is one.
    n_replicates, n_undefined : int
        Replicates drawn, and those in which the measure is undefined (left out of the interval).
    flags : list of str
        What a reader should beware of.
    signature : str
        How the figure was computed.
    """

    measure: str
    kind: Literal["value", "difference", "ratio"] = msgspec.field(default="value")
    baseline: str | None = None
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    dims: dict[str, str] = msgspec.field(default_factory=dict)
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    method: Method
    reference: float | None
    direction: Literal["lower", "higher"]
    factors: tuple[str, ...]
    n_units: int
    units_by_factor: dict[str, int] = msgspec.field(default_factory=dict)
    n_trials: int
    counts: dict[str, float] = msgspec.field(default_factory=dict)
    threshold: float | None = None
    n_replicates: int
    n_undefined: int
    reason: str | None = None
    flags: tuple[str, ...]
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready builtins: kind and every undefined figure are spelled out."""
        row = msgspec.to_builtins(self)
        return {
            key: row.get(key, "value" if key == "kind" else None)
            for key in self.__struct_fields__
            if key in row or key == "kind"
        }


class Estimate(Row, frozen=True, kw_only=True):
    """A row with the replicates that it came from.

    Attributes
    ----------
    point : float
        The value in full (NaN when undefined, infinite when infinite).
    replicates : ndarray of float64, shape (n_replicates,)
    left_out : ndarray of float64, optional
        Leave-one-out values (BCa).
    resampling : str
        How the replicates were drawn: only equal ones can be paired.
    """

    point: float
    replicates: Floats
    left_out: Floats | None = None
    resampling: str = ""

    def row(self) -> Row:
        """The part that is stored and printed."""
        return Row(**{name: getattr(self, name) for name in Row.__struct_fields__})

    @property
    def half_width(self) -> float:
        """Half the width of the interval; NaN when undefined."""
        if self.lower is None or self.upper is None:
            return float("nan")
        return (self.upper - self.lower) / 2

    def units_for(self, half_width: float | None = None) -> float:
        """About how many units give this half-width (half of the present one by default).

        The width of an interval shrinks with the square root of the number of units.
        """
        wanted = self.half_width / 2 if half_width is None else half_width
        if wanted <= 0:
            raise UsageError(f"half-width is {wanted:g}: it must be above 0")
        return float(np.ceil(self.n_units * (self.half_width / wanted) ** 2))

    @property
    def label(self) -> str:
        """`measure`, or `measure:variant`."""
        return label_of(self.measure, self.parameters)

    def __str__(self) -> str:
        """`nec 0.310 [0.290, 0.331]`."""
        return f"{self.label} {_text(self.value)} [{_text(self.lower)}, {_text(self.upper)}]"


def label_of(measure: str, parameters: dict[str, Any]) -> str:
    """How a measure with its variant is named."""
    return f"{measure}:{parameters['variant']}" if "variant" in parameters else measure


def _text(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same trials with the same weights.

    Attributes
    ----------
    system, baseline : Estimate
    difference, ratio : Estimate
        System minus baseline and system over baseline, with paired intervals.
    """

    system: Estimate
    baseline: Estimate
    difference: Estimate
    ratio: Estimate

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """Whether the interval of the difference excludes 0, and on which side."""
        low, high = self.difference.lower, self.difference.upper
        # When many replicates are undefined the interval speaks of the others only.
        lost = self.difference.n_undefined > 0.05 * self.difference.n_replicates
        if low is None or high is None or low <= 0 <= high or lost:
            return "undecided"
        return "better" if (high < 0) == (self.difference.direction == "lower") else "worse"


def assumed(rows: Sequence[Row]) -> str:
    """The prior and costs that the values rest on."""
    parameters: dict[str, object] = {}
    for row in rows:
        parameters |= {k: v for k, v in row.parameters.items() if k != "variant"}
    words = []
    costs = parameters.get("costs")
    if isinstance(costs, Mapping):
        words.append(f"cost of a miss {costs['miss']:g}, of a false alarm {costs['fa']:g}")
    elif costs is not None:
        words.append("costs 0/1" if costs == "0/1" else "a cost matrix")
    prior = parameters.get("prior")
    if prior is not None:
        words.append("prior from the data" if prior == "empirical" else f"prior {prior:g}")
    if "preset" in parameters:
        words.append(f"preset {parameters['preset']}")
    return "; ".join(words)
