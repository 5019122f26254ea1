"""What a result says of a life cycle besides its rows: what the pictures draw, cell by cell."""

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value with its interval; None where it is undefined.

    Attributes
    ----------
    value, lower, upper : float or None
    """

    value: float | None = None
    lower: float | None = None
    upper: float | None = None


class Cell(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """The score of one version on the test set of one time, in one state.

    Attributes
    ----------
    state : {"base", "adapted", "impaired", "corrected", "penalised"}
    seen : bool
        Whether the time lies in the window [l_1, l_i] of the version: later ones are the future.
    """

    version: str
    time: str
    state: str = "base"
    seen: bool = True


class PolicyFigure(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """The score of one version under a policy.

    Attributes
    ----------
    measure : {"policy_score", "penalised_score", "base_score", "adapted_score", "penalty"}
    naive : float or None
        That of the initial version in the same window.
    """

    version: str
    measure: str
    naive: float | None = None


class PolicyCurve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One user policy.

    Attributes
    ----------
    name : str
        recent:3, uniform, conservative:3, or the name of a table.
    says : str
        What the user wants, in a few words.
    weights : list of list of float
        P(t_j) of each version (rows) over the test times (columns); 0 outside its window.
    """

    name: str
    says: str
    weights: list[list[float]]
    figures: list[PolicyFigure] = msgspec.field(default_factory=list)


class StreamFigure(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """S(M_i, l_i): the score on the lifelong set itself.

    Attributes
    ----------
    version : str
        That came of the data.
    state : {"base", "adapted"}
        What the version before said of them, and what the version itself says.
    """

    version: str
    state: str


class CurvePoint(Figure, frozen=True, kw_only=True, omit_defaults=True):
    """A point of the curve of scores against the cost of help."""

    cost: float


class LearningCurve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Score against cost of interaction (paper 004, Fig. 2).

    Attributes
    ----------
    cost : {"seconds", "words", "actions", "answers", "cost"}
        What is counted.
    points : list of CurvePoint
        A step function; its last value holds up to `maximum`.
    maximum : float
        The largest cost.
    area : Figure
        Under the curve, divided by the range of costs.
    """

    cost: str
    points: list[CurvePoint]
    maximum: float
    area: Figure


class LifelongDescription(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="system"
):
    """One system across time.

    Attributes
    ----------
    dims : dict of str to str
        Whose it is: `system`, `strategy`.
    score : str
        Label of the score: wer, bleu, classification_cost, ...
    title : str
        What a reader sees of it.
    direction : {"lower", "higher"}
    shown_in : {"", "percent"}
    learnt : list of float or None
        Their times; None for the initial version.
    curve : LearningCurve or None
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
