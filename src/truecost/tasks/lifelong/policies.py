"""User policies: how much the score on the data of each time matters to the user.

The window of version M_i is [l_1, l_i]: the test times between the first data that any version
learnt and its own. There the policy gives each test time t_j a weight:

- `recent`: 2^-((l_i - t_j) / half-life): contemporary data matters most;
- `uniform`: 1: past and contemporary data matter alike;
- `conservative`: 2^-((t_j - l_1) / half-life): what was learnt first must not be lost;
- `table`: weights by time, as the user states them.

Weights sum to 1 over the window unless asked otherwise. Source: paper 004, section 3.1, Eq. 2 and
Fig. 5, which names the three and leaves their shape and sum open.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, first_five
from truecost.names import PolicyKind
from truecost.options import check_fields
from truecost.tasks.lifelong.options import PolicyTable

Floats = npt.NDArray[np.float64]
SAYS = {
    "recent": "data older by {half:g} matters half as much",
    "uniform": "past and contemporary data matter alike",
    "conservative": "data later by {half:g} matters half as much",
    "table": "the weights that the user states",
}


@dataclass(frozen=True)
class Policy:
    """A user policy.

    Parameters
    ----------
    kind : {"recent", "uniform", "conservative", "table"}
    half_life : float, optional
        In the unit of the times (days for dates); of `recent` and `conservative`.
    table : mapping of str to float
        Weight, 0 or more, of each test time by name; of `table`.
    label : str
        Name of the policy; made of the rest when left out.
    normalise : bool
        Whether the weights of a window are divided by their sum.

    Raises
    ------
    UsageError
        When the half-life is missing, not above 0 or not asked for, or the table is missing or has
        a weight that is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> Policy("recent", half_life=1).weights(np.array([0.0, 1, 2]), np.array([1.0, 2])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.3333333333333333, 0.6666666666666666]]
    """

    kind: PolicyKind = "uniform"
    half_life: float | None = None
    table: Mapping[str, float] = field(default_factory=dict)
    label: str = ""
    normalise: bool = True

    def __post_init__(self) -> None:
        check_fields(self, PolicyTable)
        halves = self.kind in ("recent", "conservative")
        if halves and self.half_life is None:
            raise UsageError(
                f"policy {self.kind} needs a half-life: the time after which data matters half as "
                f"much (--half-life 3, or --policy {self.kind}:3)"
            )
        if self.half_life is not None and not halves:
            raise UsageError(f"policy {self.kind} has no half-life")
        if (self.kind == "table") != bool(self.table):
            raise UsageError("policy table goes with a table of weights by time, and no other does")
        for time, weight in self.table.items():
            if not (weight >= 0 and math.isfinite(weight)):
                raise UsageError(
                    f"policy {self.name}: the weight of time {time} is {weight:g}: it must be 0 or "
                    f"more"
                )

    @staticmethod
    def parse(text: str, half_life: float | None = None, *, normalise: bool = True) -> "Policy":
        """The policy that `recent`, `recent:3`, `uniform`, `conservative:3` names.

        Parameters
        ----------
        half_life : float, optional
            Where the text gives none.

        Raises
        ------
        UsageError
            As the policy itself; or when the half-life is no number.
        """
        kind, _, half = text.partition(":")
        if kind == "uniform" and not half:
            return Policy("uniform", normalise=normalise)
        try:
            own = float(half) if half else half_life
        except ValueError:
            raise UsageError(
                f"policy {text!r}: the half-life {half!r} is no number: write {kind}:3"
            ) from None
        chosen: Any = kind
        return Policy(chosen, own, normalise=normalise)

    @property
    def name(self) -> str:
        """What it is called in rows."""
        if self.label:
            return self.label
        return self.kind if self.half_life is None else f"{self.kind}:{self.half_life:g}"

    @property
    def says(self) -> str:
        """What the user wants, in a few words."""
        said = SAYS[self.kind].format(half=self.half_life or 0)
        return said if self.normalise else f"{said} (weights not normalised)"

    @property
    def signature(self) -> str:
        """How it enters a signature."""
        stated = "+".join(f"{time}={weight:g}" for time, weight in self.table.items())
        sums = "" if self.normalise else "|weights:as-given"
        return f"policy:{self.name}{f'({stated})' if stated else ''}{sums}"

    def weights(
        self,
        learnt: Floats,
        at: Floats,
        times: Sequence[str] = (),
        tested: npt.NDArray[np.bool_] | None = None,
    ) -> Floats:
        """P(t_j) of each version over the test times.

        Parameters
        ----------
        learnt : ndarray, shape (versions,)
            Times l_i, ascending; minus infinity of the initial version.
        at : ndarray, shape (times,)
            Times t_j.
        times : sequence of str
            Their names, for a table.
        tested : ndarray of bool, shape (times,), optional
            Times that have items (of a subset): the others are left out of every window.

        Returns
        -------
        ndarray of float64, shape (versions, times)
            0 outside the window [l_1, l_i]; all 0 where that is empty, or all its weights are.

        Raises
        ------
        InputError
            When a table lacks a time, or has one that is not tested.
        """
        begun = learnt[np.isfinite(learnt)]
        first = begun[0] if len(begun) else np.inf
        window = (at >= first) & (at <= learnt[:, None])
        if tested is not None:
            window &= tested
        raw = np.where(window, self._raw(learnt, at, times, first, window), 0.0)
        if not self.normalise:
            return raw
        sums = raw.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(raw, sums, out=np.zeros_like(raw), where=sums > 0))

    def _raw(
        self,
        learnt: Floats,
        at: Floats,
        times: Sequence[str],
        first: float,
        window: npt.NDArray[np.bool_],
    ) -> Floats:
        """Weights inside the window; where they are normalised, up to a factor for each version."""
        if self.kind == "table":
            return self._stated(times, at)
        if self.kind == "uniform":
            return np.ones(len(at))
        age = learnt[:, None] - at if self.kind == "recent" else at - first
        age = np.where(window, age, np.inf)
        if self.normalise:
            # Counted from the youngest: after a thousand half-lives all would be 0 otherwise.
            least = age.min(axis=1, keepdims=True, initial=np.inf)
            age = age - np.where(np.isfinite(least), least, 0.0)
        return np.asarray(np.exp2(-age / (self.half_life or 1.0)))

    def _stated(self, times: Sequence[str], at: Floats) -> Floats:
        """The weights of a table in the order of the times, which it may write in other ways.

        2 is 2.0; event logs have the days since 1970 of a date.
        """
        from truecost.formats.moments import place_of

        placed = {name: found[1] for name in self.table if (found := place_of(name))}
        if len(placed) == len(self.table) and sorted(placed.values()) == sorted(at):
            by_place = {place: self.table[name] for name, place in placed.items()}
            return np.array([by_place[place] for place in at], np.float64)
        lost = [time for time in times if time not in self.table]
        more = [time for time in self.table if time not in times]
        if lost or more:
            what = f"no weight for {first_five(lost)}" if lost else f"no test at {first_five(more)}"
            raise InputError(
                f"policy {self.name}: {what}: it needs a weight for each test time "
                f"({first_five(times)}), and no others"
            )
        return np.array([self.table[time] for time in times], np.float64)
