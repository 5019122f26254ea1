"""`Standing`: one line of a leaderboard, as stored in results."""

import msgspec

from truecost.core.digits import Scale, scale_of


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a leaderboard: the rank of a system, and how certain it is.

    Comparisons of systems are corrected for the number of pairs (step-down procedure of Romano and
    Wolf 2005): at a confidence level of 95%, the probability that no comparison at all wrongly
    calls a system better is about 95% or higher.

    Attributes
    ----------
    rank : int
        1 plus the number of systems that are better in the corrected comparisons; several systems
        may have the same rank. Systems with an undefined value come after all others.
    system, measure : str
        Names of the system and of the measure.
    value, lower, upper : float or None
        Value of the system and its confidence interval.
    place_lower, place_upper : int or None
        Best and worst place that the system may have (1: best). With the probability of the
        confidence level, the true places of all systems are within these limits. None if the value
        is undefined.
    may_be_best : bool or None
        Whether the system may be the best: no other system is better, neither in the corrected
        comparisons nor in the test of Hsu (1981) for the best system. None if the value is
        undefined.
    difference, difference_lower, difference_upper : float or None
        Difference from the first system, with its paired interval, which is not corrected; None for
        the first system.
    verdict : {"first", "better", "worse", "same", "inconclusive"}
        Result of the corrected comparison with the first system. "same": equal in every replicate.
        "first": the first system itself.
    alone : bool
        Whether the uncorrected interval of the difference excludes 0, but the corrected comparison
        is inconclusive.
    shown_in : str
        Unit in which people see the value, such as "percent"; empty for plain numbers.
    """

    rank: int
    system: str
    measure: str
    value: float | None
    lower: float | None
    upper: float | None
    place_lower: int | None
    place_upper: int | None
    may_be_best: bool | None = None
    difference: float | None = None
    difference_lower: float | None = None
    difference_upper: float | None = None
    verdict: str = "first"
    alone: bool = False
    shown_in: str = ""

    @property
    def scale(self) -> Scale:
        """The unit in which reports show its figures."""
        return scale_of(self.shown_in)

    reason = None  # a value is missing for its own reason: its row tells it
