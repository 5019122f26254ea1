"""The description of a life cycle, as stored for pictures: every figure with its interval."""

from collections.abc import Mapping

import msgspec

from truecost.core.digits import Scale, uncertain


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value with its interval; None where it is undefined."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None


class Cell(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """The score of one version on the test set of one time, in one state.

    `state`: base, adapted, impaired, corrected or penalised. `seen`: whether the time is in the
    window of the version, from l_1 to l_i; later times are its future.
    """

    version: str
    time: str
    state: str = "base"
    seen: bool = True


class PolicyFigure(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """A measure of one version under a policy; `naive`: the initial version in the same window."""

    version: str
    measure: str
    naive: float | None = None


class PolicyCurve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One user policy: its name, the wish of the user (`says`), and the values under the policy.

    `weights`: weight P(t_j) of each test time (columns) for each version (rows); 0 outside the
    window of the version.
    """

    name: str
    says: str
    weights: list[list[float]]
    figures: list[PolicyFigure] = msgspec.field(default_factory=list)


class StreamFigure(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """Score on the data of the lifelong set from which a version learnt, S(M_i, l_i).

    State `base`: output of the preceding version on these data. State `adapted`: output of the
    version itself.
    """

    version: str
    state: str


class CurvePoint(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """A point of the curve of scores against the cost of help."""

    cost: float


class LearningCurve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Score against the cost of help (Prokopalo et al. 2020, Fig. 2), in seconds, words, actions,
    answers or cost.

    The points form a step function. The last value is valid up to the largest cost, `maximum`.
    `area`: area under the curve, divided by the range of costs.
    """

    cost: str
    points: list[CurvePoint]
    maximum: float
    area: Figure


class LifelongDescription(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="system"
):
    """Description of one system across time for reports and pictures, as stored in results.

    Attributes
    ----------
    dims : dict of str to str
        Key `system`: name of the system. Key `strategy`, for live runs: how the system was run (for
        example assisted, unsupervised or frozen).
    score : str
        Name of the score of the outputs, such as wer, bleu or classification_cost.
    title : str
        Title of the score in reports.
    direction : {"lower", "higher"}
        Whether lower or higher scores are better.
    shown_in : {"", "percent"}
        Unit in which reports show the score; empty for plain numbers.
    versions : list of str
        Names of the versions.
    learnt : list of float or None
        Time of the data to which each version adapted; None for the initial version.
    times : list of str
        Names of the test times.
    at : list of float
        Test times as numbers; dates are days since 1970-01-01.
    cells : list of Cell
        Score of each version at each test time, with intervals.
    policies : list of PolicyCurve
        Scores of each version under each user policy, with intervals.
    stream : list of StreamFigure
        Scores on the lifelong set, before and after adaptation.
    curve : LearningCurve or None
        Score against the cost of help.
    """

    dims: dict[str, str]
    score: str
    title: str
    direction: str
    shown_in: str = ""
    versions: list[str]
    learnt: list[float | None]
    times: list[str]
    at: list[float]
    cells: list[Cell]
    policies: list[PolicyCurve] = msgspec.field(default_factory=list)
    stream: list[StreamFigure] = msgspec.field(default_factory=list)
    curve: LearningCurve | None = None

    @property
    def name(self) -> str:
        """Name of the system, followed by its strategy unless the name ends with the strategy."""
        return name_in(self.dims)

    @property
    def scale(self) -> Scale:
        """Unit of the scores in reports: `%`, or empty for plain numbers."""
        return "%" if self.shown_in == "percent" else ""

    def text_of(self, of: Figure) -> str:
        """Value and interval as text, rounded so that the half-width has two significant digits.

        Parameters
        ----------
        of : Figure
            Value with interval.
        """
        return " ".join(uncertain(of.value, of.lower, of.upper, self.scale)).strip()


def name_in(dims: Mapping[str, str]) -> str:
    """The system that dimensions name, and its strategy unless the name ends with it."""
    system, strategy = dims.get("system", ""), dims.get("strategy", "")
    return ", ".join(filter(None, (system, "" if system.endswith(strategy) else strategy)))
