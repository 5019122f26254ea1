"""The advice of a sweep of budgets and strategies, as it is stored in results."""

import msgspec


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one budget of one strategy.

    Attributes
    ----------
    strategy : str
        Name of the strategy.
    budget : float or None
        Number of questions per batch; None for the passive baseline, which asks no questions.
    value, lower, upper : float or None
        Value of the measure and its confidence interval; None if undefined.
    best : float or None
        Share of the bootstrap replicates, in [0, 1], in which no other compared budget is better.
        Of equally good budgets, the smaller one is the best. None if the value of a compared budget
        is the same in all replicates.
    """

    strategy: str
    budget: float | None
    value: float | None
    lower: float | None
    upper: float | None
    best: float | None = None


class SweepDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Difference in cost between one choice of strategy and budget and the best choice.

    Attributes
    ----------
    strategy : str
        Name of the strategy.
    budget : float
        Number of questions per batch.
    value, lower, upper : float or None
        Value of this choice minus value of the best choice, with the paired confidence interval, on
        the scale of the measure. None if undefined.
    verdict : {"better", "worse", "same", "inconclusive"}
        Verdict on this choice in comparison with the best choice; `same` if both are equal in every
        replicate.
    """

    strategy: str
    budget: float
    value: float | None
    lower: float | None
    upper: float | None
    verdict: str


class SweepAdvice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sweep"):
    """Advice on the number of questions: the best of several budgets by one measure.

    Attributes
    ----------
    measure : str
        Name of the measure.
    phase : {"pre", "post"}
        Scored predictions: before or after adaptation.
    application : str
        Name of the application; empty for a single application.
    objective : str
        Reason why the budgets are compared by this measure, such as "no objective was named"; empty
        for `act_dcf` if it is only shown in addition.
    strategy : str
        Strategy whose budgets are compared; empty for a comparison of all strategies.
    best : SweepPoint
        Best budget, and its strategy.
    edge : {"", "lowest", "highest"}
        Whether the best budget is the lowest or highest budget of its strategy. If so, a better
        budget may exist outside the tried range. Empty for measures without the cost of questions,
        such as `act_dcf`, whose best budget is usually the highest.
    points : tuple of SweepPoint
        Results of all compared budgets, one for each strategy and budget.
    others : tuple of SweepDifference
        Comparisons with the best budget. For one strategy: the next lower and next higher budget.
        For all strategies: the best budget of each other strategy.
    passive : SweepPoint, optional
        Result of the passive baseline.
    text : str
        The advice as a sentence.
    """

    measure: str
    phase: str
    application: str = ""
    objective: str = ""
    strategy: str
    best: SweepPoint
    edge: str = ""
    points: tuple[SweepPoint, ...]
    others: tuple[SweepDifference, ...]
    passive: SweepPoint | None = None
    text: str
