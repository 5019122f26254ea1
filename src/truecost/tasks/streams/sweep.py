"""Rows by strategy and budget, and which budget pays off: the best, and how sure it is."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from truecost.core.comparison import compare
from truecost.core.digits import counted, figures, percent, scale_of, uncertain
from truecost.core.measure import Floats
from truecost.core.results import Estimate, Row
from truecost.errors import UsageError, first_five
from truecost.names import Objective
from truecost.tasks.streams.advice import SweepAdvice, SweepDifference, SweepPoint

if TYPE_CHECKING:
    from truecost.outputs.page import Described

WITHOUT_QUESTIONS = ("act_dcf",)  # leave out what questions cost: no budget pays off by them
AFTER = "post"  # the phase that is shown where there are both
FIGURES = ("value", "lower", "upper")


@dataclass(frozen=True)
class Swept:
    """One measure over several budgets: rows of each strategy by budget, the smallest first.

    Baselines have no budget, as the passive one.
    """

    strategies: Mapping[str, tuple[Row, ...]]
    baselines: tuple[Row, ...]

    @property
    def asking(self) -> list[Row]:
        """All rows with a budget."""
        return [row for rows in self.strategies.values() for row in rows]

    @property
    def budgets(self) -> list[float]:
        """All budgets, the smallest first."""
        return sorted({budget_of(row) for row in self.asking})


def asked(row: "Described") -> float | None:
    """The number of questions per batch of a row or a description; None without it."""
    try:
        number = float(row.dims["budget"])
    except (KeyError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def budget_of(row: Row) -> float:
    """The budget of a row that has one."""
    number = asked(row)
    assert number is not None
    return number


def best_of(rows: Sequence[Row]) -> Row | None:
    """The row with the best value, the smaller budget of equal ones; None without any value."""
    known = [row for row in rows if row.value is not None]
    sign = 1 if all(row.direction == "lower" for row in known) else -1
    return min(known, key=lambda row: sign * (row.value or 0.0), default=None)


def swept_of(rows: Sequence[Row]) -> Swept:
    """Rows of one measure by strategy and budget.

    Differences, subsets, and predictions before adaptation are left out where there are others.
    """
    from truecost.pictures.rows import one_measure

    values = [r for r in rows if r.kind == "value" and "subset" not in r.dims]
    if any(r.dims.get("phase") == AFTER for r in values):
        values = [r for r in values if r.dims.get("phase") == AFTER]
    one_measure(values)
    found: dict[str, dict[float, Row]] = {}
    for row in (r for r in values if asked(r) is not None):
        name, budget = row.dims.get("strategy", ""), budget_of(row)
        other = found.setdefault(name, {}).setdefault(budget, row)
        if other is not row:
            said = " and ".join(f"({', '.join(r.dims.values())})" for r in (other, row))
            raise UsageError(
                f"two rows have {questions(budget)}{f' of {name}' if name else ''}: {said}: draw "
                f"one collection and application at a time"
            )
    return Swept(
        {name: tuple(own[budget] for budget in sorted(own)) for name, own in found.items()},
        tuple(row for row in values if asked(row) is None),
    )


def is_swept(rows: Sequence[Row]) -> bool:
    """Whether rows are of several budgets, one row for each strategy and budget."""
    found = [(row.dims.get("strategy", ""), asked(row)) for row in rows if asked(row) is not None]
    return len({budget for _, budget in found}) > 1 and len(found) == len({*found})


UNDERSTATED = (
    "few units: replicates vary too little. Judge by the intervals, which account for this"
)
LEAVES_OUT = "does not include the cost of questions"
BESIDE = "act_dcf"  # told beside the objective, as it leaves out the cost of questions
MONEY = ("total_cost", "imlm_money")  # defined only where the person's hour has a price
OBJECTIVES = (*MONEY, "imlm", "imlm_seconds")  # unless one is named the first with a value
NAMED = "the objective that was named"
PRICED = "the person's hour has a price, and no objective was named"
UNNAMED = "no objective was named"


def advice_of(
    rows: Sequence[Estimate], objective: Objective | None = None
) -> tuple[SweepAdvice, ...]:
    """Find the best budget of each strategy, and the best budget of all strategies together.

    Parameters
    ----------
    rows : sequence of Estimate
        Result rows of systems that differ only in strategy and budget. Rows of subsets are ignored.
    objective : {"total_cost", "imlm_money", "imlm", "imlm_seconds", "act_dcf"}, optional
        Measure that compares the budgets. Default: the first of `total_cost`, `imlm_money`, `imlm`
        and `imlm_seconds` that has a value; `total_cost` only if the person's time has a price.

    Returns
    -------
    tuple of SweepAdvice
        Advice by the objective, then by `act_dcf` (cost of errors only). Each measure has an entry
        for every strategy with several budgets, and then, if there are several strategies, an
        entry for all strategies together.

    Raises
    ------
    UsageError
        If the objective is not scored, or has no value.
    """
    known = _valued(rows)
    if objective is not None and objective not in known:
        row = next((row for row in rows if row.measure == objective), None)
        take = f"use {first_five(known)}"
        do = f"add it to measures in the study{f', or {take}' if known else ''}"
        why = f"is not scored: {do}" if row is None else f"has no value ({row.reason}): {take}"
        raise UsageError(f"objective {objective!r} {why}")
    asks = [name for name in OBJECTIVES if name in known and _prices_questions(name, rows)]
    first: str = objective or next(iter(asks), "")
    why = NAMED if objective else PRICED if first in MONEY else UNNAMED
    return tuple(
        advice
        for application in dict.fromkeys(row.dims.get("application", "") for row in rows)
        for measure in dict.fromkeys(filter(None, (first, BESIDE)))
        for advice in _measure_advice(
            _chosen(rows, measure, application), application, why if measure == first else ""
        )
    )


def _prices_questions(measure: str, rows: Sequence[Estimate]) -> bool:
    """Whether what questions cost enters a measure: a total cost needs the person's price."""
    given = (row.parameters.get("prices", {}) for row in rows if row.measure == measure)
    return measure != "total_cost" or any("person" in prices for prices in given)


def _valued(rows: Sequence[Estimate]) -> list[str]:
    """The possible objectives: the measures that have a value for some budget."""
    names = dict.fromkeys(row.dims.get("application", "") for row in rows)
    return [
        measure
        for measure in (*OBJECTIVES, BESIDE)
        if any(row.value is not None for name in names for row in _chosen(rows, measure, name))
    ]


def judged_by(sweeps: Sequence[SweepAdvice], rows: Sequence[Estimate]) -> tuple[str, ...]:
    """The measure that compares the budgets, and other possible ones; nothing without advice."""
    if not sweeps:
        return ()
    first = sweeps[0]
    others = [name for name in _valued(rows) if name != first.measure or not first.objective]
    more = f"; other choices of --objective: {first_five(others)}" if others else ""
    if not first.objective:
        return (f"no budget is advised: {', '.join(OBJECTIVES)} are not scored{more}",)
    return (f"budgets are compared by {first.measure} ({first.objective}){more}",)


def _chosen(rows: Sequence[Estimate], measure: str, application: str) -> list[Estimate]:
    """The rows of a measure after adaptation, those of a strategy together, by budget."""
    wanted = {"phase": AFTER, "application": application}
    found = [
        row
        for row in rows
        if row.measure == measure and {"strategy", "subset"} & {*row.dims} == {"strategy"}
        if all(row.dims.get(name, "") == text for name, text in wanted.items())
    ]
    order = list(dict.fromkeys(row.dims["strategy"] for row in found))
    return sorted(found, key=lambda r: (order.index(r.dims["strategy"]), asked(r) or 0))


def _measure_advice(
    rows: Sequence[Estimate], application: str, objective: str
) -> Iterator[SweepAdvice]:
    """Advice by one measure: on each strategy by itself, then on all of them."""
    about = application, objective
    asking = [row for row in rows if asked(row) is not None]
    passive = next((_point(row) for row in rows if asked(row) is None), None)
    alone: dict[str, list[Estimate]] = {}
    for row in asking:
        alone.setdefault(row.dims["strategy"], []).append(row)
    for name, own in alone.items():
        if len(own) > 1:
            place = _best(own)  # against the next smaller and the next larger budget
            others = [own[k] for k in (place - 1, place + 1) if 0 <= k < len(own)]
            yield _advice(own, others, name, about, passive)
    if len(alone) > 1:
        best = _best(asking)
        others = [own[_best(own)] for own in alone.values() if asking[best] not in own]
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
    place = _best(rows)
    best = rows[place]
    points = tuple(map(_point, rows, _shares(rows)))
    found = SweepAdvice(
        measure=best.measure,
        phase=best.dims["phase"],
        application=application,
        objective=objective,
        strategy=strategy,
        best=points[place],
        edge="" if best.measure in WITHOUT_QUESTIONS else _range_end(best, rows),
        points=points,
        others=tuple(_difference(row, best) for row in others),
        passive=passive,
        text="",
    )
    return replace(found, text=_text(found, best))


def _cost(row: Estimate) -> Floats:
    """The value and its replicates; undefined is worse than all."""
    sign = 1 if row.direction == "lower" else -1
    values = sign * np.concatenate([[row.point], row.replicates])
    return np.where(np.isnan(values), np.inf, values)


def _best(rows: Sequence[Estimate]) -> int:
    """Place of the best value; of equal ones the first."""
    return int(np.argmin([_cost(row)[0] for row in rows]))


def _shares(rows: Sequence[Estimate]) -> list[float | None]:
    """Share of the replicates in which each is the best; None where nothing varies in them."""
    costs = np.stack([_cost(row)[1:] for row in rows])
    if costs.shape[1] == 0 or any("no_spread" in row.flags for row in rows):
        return [None] * len(rows)
    counts = np.bincount(costs.argmin(axis=0), minlength=len(rows))
    return [float(count / costs.shape[1]) for count in counts]


def _range_end(best: Estimate, rows: Sequence[Estimate]) -> str:
    """Whether the best is the smallest or largest budget of its strategy."""
    own = [row for row in rows if row.dims["strategy"] == best.dims["strategy"]]
    if len(own) < 2 or best not in (own[0], own[-1]):
        return ""
    return "lowest" if best is own[0] else "highest"


def _point(row: Estimate, share: float | None = None) -> SweepPoint:
    figures = {name: getattr(row, name) for name in FIGURES}
    return SweepPoint(strategy=row.dims["strategy"], budget=asked(row), best=share, **figures)


def _difference(row: Estimate, best: Estimate) -> SweepDifference:
    """The additional cost of a row compared with the best."""
    found, strategy, budget = compare(row, best), row.dims["strategy"], asked(row) or 0.0
    figures = {name: getattr(found.difference, name) for name in FIGURES}
    return SweepDifference(strategy=strategy, budget=budget, verdict=found.verdict, **figures)


def _text(advice: SweepAdvice, row: Estimate) -> str:
    """The advice in words."""
    best, strategy = advice.best, advice.strategy
    whose = strategy or f"all strategies: {best.strategy}"
    where = f" ({advice.application})" if advice.application else ""
    found = " ".join(figures(row)).strip()
    if row.measure in WITHOUT_QUESTIONS and not advice.objective:
        end = "lowest" if row.direction == "lower" else "highest"
        least = f"and is {end} at {questions(best.budget)}: {found}"
        return f"{whose}: {row.measure}{where} {LEAVES_OUT} {least}"
    share = ""
    if best.best is not None:
        share = f", the best in {percent(round(best.best, 2))} of replicates"
    said = [f"{whose}, {questions(best.budget)}: {row.measure}{where} {found}{share}"]
    for other in advice.others:
        name = questions(other.budget)
        name = name if strategy else f"{other.strategy} and {name}"
        scale = scale_of(row.shown_in, difference=True)
        more = uncertain(other.value, other.lower, other.upper, scale, apart=0.0)
        said.append(f"with {name}, {against(other, row.measure, more)}")
    if shares_understate(advice):
        said.append(UNDERSTATED)
    if row.measure in WITHOUT_QUESTIONS:
        said.append(f"{row.measure} {LEAVES_OUT}")
    if advice.edge:
        said.append(f"this is the {advice.edge} budget tried{budget_hint(advice.edge, best)}")
    return "; ".join(said)


def shares_understate(advice: SweepAdvice) -> bool:
    """Whether the best is so in almost all replicates, and a comparison is still inconclusive."""
    return (advice.best.best or 0) >= 0.95 and "inconclusive" in {o.verdict for o in advice.others}


def budget_hint(edge: str, best: SweepPoint) -> str:
    """A hint that a better budget may be outside the tried ones: `: try higher budgets`."""
    if edge == "lowest" and not best.budget:
        return ""
    return f": try {'lower' if edge == 'lowest' else 'higher'} budgets"


def against(other: SweepDifference, measure: str, figures: tuple[str, str]) -> str:
    """The value of another choice against the best, in words: `imlm is 0.01 higher: worse`.

    The figures are the difference and its interval as a reader sees them.
    """
    if other.value is None:
        return f"{measure} cannot be compared"
    if other.verdict == "same":
        return f"{measure} is equal in every replicate"
    return f"{measure} is {' higher '.join(figures).strip()}: {other.verdict}"


def questions(budget: float | None) -> str:
    """`4 questions a batch`."""
    return "no questions" if budget is None else f"{counted(budget, 'question')} a batch"
