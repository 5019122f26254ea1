"""Which budget pays off: the best of those tried, and how sure it is against its neighbours."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.core.comparison import compare
from truecost.core.digits import between, figure, percent
from truecost.core.results import Estimate
from truecost.errors import UsageError, first_five
from truecost.names import Objective
from truecost.tasks.streams.swept import WITHOUT_QUESTIONS

BESIDE = "act_dcf"  # told beside the objective, as it leaves out what questions cost
MONEY = ("total_price", "imlm_money")  # defined only where the person's hour has a price
OBJECTIVES = (*MONEY, "imlm", "imlm_seconds")  # unless one is named the first with a value
NAMED = "the objective that was named"
PRICED = "the person's hour has a price, and no objective was named"
UNNAMED = "no objective was named"
AFTER = "post"
PHASES = {"pre": "before adaptation", AFTER: "after adaptation"}
Floats = npt.NDArray[np.float64]


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What one budget of one strategy gives.

    Attributes
    ----------
    budget : float or None
        Questions a batch; None for the passive baseline, which asks nothing.
    value, lower, upper : float or None
        As in its row.
    best : float or None
        Share of the replicates in which no other of the budgets compared is better; of equal ones
        the smaller is the better.
    """

    strategy: str
    budget: float | None
    value: float | None
    lower: float | None
    upper: float | None
    best: float | None = None


class SweepDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What another choice costs more than the best one.

    Attributes
    ----------
    value, lower, upper : float or None
        Difference to the best in the unit of the measure, paired replicate by replicate.
    verdict : {"better", "worse", "same", "inconclusive"}
        Of this choice against the best one.
    """

    strategy: str
    budget: float
    value: float | None
    lower: float | None
    upper: float | None
    verdict: str


class SweepAdvice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sweep"):
    """The best of several budgets by one measure.

    Attributes
    ----------
    phase : {"pre", "post"}
    application : str
        Where there are several.
    objective : str
        Why budgets are judged by this measure; empty for one that is told beside it.
    strategy : str
        Whose budgets are compared; empty where those of all strategies are.
    edge : {"", "lowest", "highest"}
        Where the best is the smallest or largest budget of its strategy, so that a better one may
        lie beyond; empty for a measure that leaves out what questions cost, as `act_dcf`, which
        the largest budget most often has least of.
    points : tuple of SweepPoint
        Everything compared, by strategy and budget.
    others : tuple of SweepDifference
        The budgets next to the best one; over all strategies the best of each other one.
    passive : SweepPoint, optional
        The passive baseline.
    text : str
        The same in words.
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


def advice_of(
    rows: Sequence[Estimate], objective: Objective | None = None
) -> tuple[SweepAdvice, ...]:
    """Advice for each strategy, then over all, by the objective and by the cost of errors.

    Parameters
    ----------
    rows : sequence of Estimate
        Of one system for each strategy and budget, on the same streams; the rows of subsets are
        left out.
    objective : str, optional
        The measure by which budgets are judged; where none is named, the first of `OBJECTIVES` that
        has a value.

    Returns
    -------
    tuple of SweepAdvice
        Nothing where there is but one budget, or no objective is scored.

    Raises
    ------
    UsageError
        When the objective is not scored, or has no value.
    """
    known = _valued(rows)
    if objective is not None and objective not in known:
        raise UsageError(_lacking(objective, rows, known))
    usual: str = next((name for name in OBJECTIVES if name in known), "")
    first: str = objective or usual
    why = NAMED if objective else PRICED if first in MONEY else UNNAMED
    return tuple(
        advice
        for application in dict.fromkeys(row.dims.get("application", "") for row in rows)
        for measure in dict.fromkeys(filter(None, (first, BESIDE)))
        for advice in _of_measure(
            _chosen(rows, measure, application), application, why if measure == first else ""
        )
    )


def _valued(rows: Sequence[Estimate]) -> list[str]:
    """What can be an objective: the measures that have a value for some budget."""
    names = dict.fromkeys(row.dims.get("application", "") for row in rows)
    return [
        measure
        for measure in (*OBJECTIVES, BESIDE)
        if any(row.value is not None for name in names for row in _chosen(rows, measure, name))
    ]


def _lacking(objective: str, rows: Sequence[Estimate], known: Sequence[str]) -> str:
    """Why budgets cannot be judged by an objective, and what to do."""
    row = next((row for row in rows if row.measure == objective), None)
    why = "is not scored" if row is None else f"has no value ({row.reason})"
    do = f"add it to measures in the study{f', or take {first_five(known)}' if known else ''}"
    return f"objective {objective!r} {why}: {do if row is None else f'take {first_five(known)}'}"


def judged_by(sweeps: Sequence[SweepAdvice], rows: Sequence[Estimate]) -> tuple[str, ...]:
    """By what the budgets are judged, and by what else they could be; nothing without advice."""
    if not sweeps:
        return ()
    first = sweeps[0]
    others = [name for name in _valued(rows) if name != first.measure or not first.objective]
    more = f"; --objective can name {first_five(others)}" if others else ""
    if not first.objective:
        return (f"no budget is advised: {', '.join(OBJECTIVES)} are not scored{more}",)
    return (f"budgets are judged by {first.measure} ({first.objective}){more}",)


def _chosen(rows: Sequence[Estimate], measure: str, application: str) -> list[Estimate]:
    """The rows of a measure after adaptation, those of a strategy together, by budget."""
    found = [
        row
        for row in rows
        if row.measure == measure
        and row.dims.get("phase") == AFTER
        and row.dims.get("application", "") == application
        and "subset" not in row.dims
        and "strategy" in row.dims
    ]
    order = list(dict.fromkeys(row.dims["strategy"] for row in found))
    return sorted(found, key=lambda r: (order.index(r.dims["strategy"]), _budget(r) or 0))


def _of_measure(
    rows: Sequence[Estimate], application: str, objective: str
) -> Iterator[SweepAdvice]:
    """By one measure: each strategy by itself, then all of them."""
    about = application, objective
    asking = [row for row in rows if _budget(row) is not None]
    passive = next((_point(row) for row in rows if _budget(row) is None), None)
    strategies = list(dict.fromkeys(row.dims["strategy"] for row in asking))
    alone = [[row for row in asking if row.dims["strategy"] == name] for name in strategies]
    if len(asking) < 2:
        return
    for name, own in zip(strategies, alone, strict=True):
        if len(own) > 1:
            yield _advice(own, _next_to(own, _best(own)), name, about, passive)
    if len(strategies) > 1:
        best = _best(asking)
        others = [own[_best(own)] for own in alone if asking[best] not in own]
        yield _advice(asking, others, "", about, passive)


def _advice(
    rows: Sequence[Estimate],
    others: Sequence[Estimate],
    strategy: str,
    about: tuple[str, str],
    passive: SweepPoint | None,
) -> SweepAdvice:
    """The best of some rows, against some others of them; about: application and objective."""
    application, objective = about
    shares = _shares(rows)
    place = _best(rows)
    best = rows[place]
    points = tuple(_point(row, share) for row, share in zip(rows, shares, strict=True))
    found = tuple(_difference(row, best) for row in others)
    edge = "" if best.measure in WITHOUT_QUESTIONS else _edge(best, rows)
    return SweepAdvice(
        measure=best.measure,
        phase=best.dims["phase"],
        application=application,
        objective=objective,
        strategy=strategy,
        best=points[place],
        edge=edge,
        points=points,
        others=found,
        passive=passive,
        text=_text(best, points[place], found, edge, strategy, about),
    )


def _budget(row: Estimate) -> float | None:
    """Questions a batch; None for the passive baseline."""
    return float(row.dims["budget"]) if "budget" in row.dims else None


def _cost(row: Estimate) -> Floats:
    """The value and its replicates; undefined is worse than all."""
    sign = 1 if row.direction == "lower" else -1
    values = sign * np.concatenate([[row.point], row.replicates])
    return np.where(np.isnan(values), np.inf, values)


def _best(rows: Sequence[Estimate]) -> int:
    """Place of the best value; of equal ones the first."""
    return int(np.argmin([_cost(row)[0] for row in rows]))


def _shares(rows: Sequence[Estimate]) -> list[float | None]:
    """Share of the replicates in which each is the best; None where nothing was resampled."""
    costs = np.stack([_cost(row)[1:] for row in rows])
    if costs.shape[1] == 0:
        return [None] * len(rows)
    counts = np.bincount(costs.argmin(axis=0), minlength=len(rows))
    return [float(count / costs.shape[1]) for count in counts]


def _next_to(rows: Sequence[Estimate], place: int) -> list[Estimate]:
    """The next smaller and the next larger budget."""
    return [rows[k] for k in (place - 1, place + 1) if 0 <= k < len(rows)]


def _edge(best: Estimate, rows: Sequence[Estimate]) -> str:
    """Whether the best is the smallest or largest budget of its strategy."""
    own = [row for row in rows if row.dims["strategy"] == best.dims["strategy"]]
    if len(own) < 2 or best not in (own[0], own[-1]):
        return ""
    return "lowest" if best is own[0] else "highest"


def _point(row: Estimate, share: float | None = None) -> SweepPoint:
    return SweepPoint(
        strategy=row.dims["strategy"],
        budget=_budget(row),
        value=row.value,
        lower=row.lower,
        upper=row.upper,
        best=share,
    )


def _difference(row: Estimate, best: Estimate) -> SweepDifference:
    """What a row costs more than the best."""
    found = compare(row, best)
    return SweepDifference(
        strategy=row.dims["strategy"],
        budget=_budget(row) or 0.0,
        value=found.difference.value,
        lower=found.difference.lower,
        upper=found.difference.upper,
        verdict=found.verdict,
    )


def _text(
    row: Estimate,
    best: SweepPoint,
    others: Sequence[SweepDifference],
    edge: str,
    strategy: str,
    about: tuple[str, str],
) -> str:
    """The advice in words."""
    application, objective = about
    whose = strategy or f"all strategies: {best.strategy}"
    where = f" ({application})" if application else ""
    found = f"{figure(row.value, row.scale)} {between(row.lower, row.upper, row.scale)}".strip()
    if row.measure in WITHOUT_QUESTIONS and not objective:
        least = f"it is {_end(row)} at {questions(best.budget)}: {found}"
        return f"{whose}: {row.measure}{where} leaves out what questions cost; {least}"
    share = (
        "" if best.best is None else f", the best in {percent(round(best.best, 2))} of replicates"
    )
    said = [f"{whose}, {questions(best.budget)}: {row.measure}{where} {found}{share}"]
    said += [_said(other, strategy) for other in others]
    if row.measure in WITHOUT_QUESTIONS:
        said.append(f"{row.measure} leaves out what questions cost")
    if edge:
        beyond = "more" if edge == "highest" else "fewer"
        asked = "" if edge == "lowest" and not best.budget else f": try {beyond}"
        said.append(f"it is the {edge} budget tried{asked}")
    return "; ".join(said)


def _end(row: Estimate) -> str:
    """Which end of a measure is the best."""
    return "lowest" if row.direction == "lower" else "highest"


def _said(other: SweepDifference, strategy: str) -> str:
    """What another choice costs more, in words: `8 cost 0.01 more [0.004, 0.02]: worse`."""
    name = f"{other.budget:g}" if strategy else f"{other.strategy}, {questions(other.budget)},"
    if other.value is None:
        return f"{name} cannot be compared"
    verb = "cost" if strategy and other.budget != 1 else "costs"
    if other.verdict == "same":
        return f"{name} {verb} the same in every replicate"
    more = f"{figure(other.value)} more {between(other.lower, other.upper)}".strip()
    return f"{name} {verb} {more}: {other.verdict}"


def questions(budget: float | None) -> str:
    """`4 questions a batch`."""
    return f"{budget:g} question{'s' * (budget != 1)} a batch"
