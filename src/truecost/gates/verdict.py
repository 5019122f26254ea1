"""How a gate turned out: what `gates` in `result.json` holds."""

from typing import Literal

import msgspec

from truecost.core.digits import Scale, ShownIn, scale_of
from truecost.core.results import figures
from truecost.gates.gate import Gate

State = Literal["pass", "fail", "undecided"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a gate turned out for one row: an entry of `gates` in `result.json`.

    Attributes
    ----------
    gate : Gate
        What was asked for.
    state : {"pass", "fail", "undecided"}
    measure : str
        Name of the measure with its variant.
    dims : dict of str to str
        System, subset and so on, as in the row.
    value, lower, upper : float or None
        The figure and its interval (of the difference when the gate names a baseline), in the unit
        of the measure; None when undefined or infinite.
    level : float
        Level of the interval.
    limit : float
        In the same unit.
    message : str
        Why, for a reader.
    units_needed : int or None
        About how many units in all would decide an undecided gate with 80 % power if the truth is
        the value: n ((z + .84) / z * a / w)^2 with a the distance from the value to the end of the
        interval beyond the limit (or, for a value beyond it, to the other end), w that from the
        value to the limit, and z = 1.96 at level .95.
    reason : str or None
        Why the value or an end of its interval is missing.
    flags : tuple of str
        Of the row.
    shown_in : {"", "percent"}
        Of the row: how readers see the figures.
    signature : str
        Of the row.
    """

    gate: Gate
    state: State
    measure: str
    dims: dict[str, str]
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    limit: float
    message: str
    units_needed: int | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    shown_in: ShownIn = ""
    signature: str

    @property
    def scale(self) -> Scale:
        """What value, interval and limit are seen in."""
        return scale_of(self.shown_in, self.gate.baseline is not None)

    @property
    def bound(self) -> str:
        """The limit as a relation: `<= 0.3`, `<= 30%`."""
        return self.gate.bound_in(self.scale)

    @property
    def passed(self) -> bool:
        """Whether the gate lets the system through: an undecided one when it was told to."""
        return self.state == "pass" or (self.state == "undecided" and self.gate.undecided == "pass")

    @property
    def about(self) -> str:
        """Dims and baseline for a reader: `network, noise=babble, against logistic`."""
        against = [] if self.gate.baseline is None else [f"against {self.gate.baseline}"]
        return ", ".join([*self.dims.values(), *against])

    def __str__(self) -> str:
        """All in a line: `act_dcf 0.51 [0.38, 0.64] (network), wanted <= 0.3: ...`."""
        name = f"{self.gate.name}: " if self.gate.name else ""
        about = f" ({self.about})" if self.about else ""
        return f"{name}{self.measure} {self.found}{about}, wanted {self.bound}: {self.message}"

    @property
    def found(self) -> str:
        """The value with its interval, as text."""
        return " ".join(filter(None, figures(self)))
