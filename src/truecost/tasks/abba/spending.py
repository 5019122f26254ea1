"""Cost of the candidate against the deployed model: labels, false accepts and misses in one
currency.

All read the tally `collected` by human labels (see `measures.py`), and `labelling`: the `seconds`
of the labels that were `timed`. How many targets neither model accepts is not known, so that no sum
of misses can have a price. Both models miss those, and what one misses and the other accepts is
known: on the traffic of arm A the candidate B misses T_A (1 - rRecall) more than A, and falsely
accepts F_A (rFPR - 1) more, with T_A and F_A the true and false accepts of A. Shares of the traffic
cancel. Source: Petegrosso et al. 2022, Eq. 1-3.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import structs

from truecost.core.application import Application
from truecost.core.costs import (
    AN,
    HOUR,
    Spent,
    asked_costs,
    break_even,
    cost_measures,
    cost_of,
    refuse_unmeasured,
)
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Array, Function, Measure, Result, share
from truecost.core.results import Estimate
from truecost.errors import UsageError
from truecost.prices import CANDIDATE, Prices
from truecost.tasks.abba.measures import DIFFERENT_SIGNS, direct_ratio, human
from truecost.tasks.abba.records import Deployment, untimed

COST, TURNS = CANDIDATE  # of the candidate minus the deployed model, and where that is 0
MISSES = "candidate_misses"  # what of it misses cost: no measure of its own
MODELS = ("candidate B", "deployed A")
NO_TOTAL = (
    "total_cost adds up errors too, and logs of accepted items do not have the number of targets "
    f"that both models miss: use {COST}, the candidate's cost minus that of the deployed model, in "
    "which they cancel, or leave out --price miss"
)


def spending(totals: Totals, _: Application) -> Spent:
    """False accepts of both arms, as human labels tell them, and hours of labelling; labels that
    nobody timed at the mean.

    A person who does everything labels every item; rejecting everything loses the true accepts,
    whose misses no log of accepted items counts.
    """
    made: dict[str, Array] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        made["false_alarm"] = np.asarray(human(totals.sums)[1].sum(axis=(-2, -1)))
    if "labelling" not in totals.evidence.parts:
        return Spent(made)
    counts = ((p, n) for p, n in (("collected", "items"), ("collected", "labels")))
    items, labels = (totals.sums(*of).sum(axis=(-2, -1)) for of in counts)
    seconds, timed = (totals.sums("labelling", n).sum(axis=(-2, -1)) for n in ("seconds", "timed"))
    each = share(seconds, timed)
    person = (seconds + np.where(labels == timed, 0.0, (labels - timed) * each)) / HOUR
    hand = {"person": items * each / HOUR, "false_alarm": made["false_alarm"]}
    return Spent({**made, "person": person}, by_hand=hand)


def _more(totals: Totals) -> dict[str, Array]:
    """Misses and false accepts of the candidate minus those of the deployed model, on the traffic
    of arm A.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        right, false = human(totals.sums)
        found = [of[..., 0, :].sum(axis=-1) * (direct_ratio(of) - 1) for of in (right, false)]
    return {"miss": -found[0], "false_alarm": found[1]}


def candidate_cost(totals: Totals, application: Application) -> Result:
    """Cost of the errors of the candidate minus that of the deployed model, on the traffic of arm
    A: `m T_A (1 - rRecall) + f F_A (rFPR - 1)`.

    m and f are the prices of a miss and of a false alarm; T_A and F_A are the numbers of correctly
    and falsely accepted items of arm A; rRecall and rFPR are `rrecall:direct` and `rfpr:direct`.
    Range (-inf, inf); lower is better. Naive baseline: 0 (the deployed model stays). Undefined if
    rRecall or rFPR is undefined. Petegrosso et al. 2022, Eq. 1-3.
    """
    found = cost_of(application.prices, _more(totals))
    return np.broadcast_to(found, (totals.block.count,)), 0.0


def _cost_of_misses(totals: Totals, application: Application) -> Result:
    """The part of the cost that is due to misses."""
    found = cost_of(application.prices, _more(totals), ("miss",))
    return np.broadcast_to(found, (totals.block.count,)), NONE


def break_even_miss(totals: Totals, application: Application) -> Result:
    """Price of a miss at which the candidate and the deployed model cost the same: `f F_A (rFPR -
    1) / (T_A (rRecall - 1))`.

    f is the price of a false alarm; T_A and F_A are the numbers of correctly and falsely accepted
    items of arm A; rRecall and rFPR are `rrecall:direct` and `rfpr:direct`. Range [0, inf). No
    naive baseline. Neither direction is better. Undefined if one model costs more at every price of
    a miss; the reason names this model. Petegrosso et al. 2022, Eq. 1-3.
    """
    more, price = _more(totals), application.prices.false_alarm
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (np.nan if price is None else price) * more["false_alarm"] / -more["miss"]
    return np.where(found >= 0, found, np.nan), NONE


def _measure(name: str, function: Function, title: str, undefined: str) -> Measure:
    """A measure of the candidate against the deployed model, in the currency."""
    return Measure(
        name,
        function,
        ("collected",),
        title,
        "lower",
        "paper 001, Eq. 1-3",
        uses=("prices",),
        undefined=undefined,
        shown_in="currency",
        task="abba",
        total=True,
        interval=DIFFERENT_SIGNS,
    )


_MISSES = _measure(MISSES, _cost_of_misses, "", "")
MEASURES = (
    *cost_measures("abba", spending, ("collected",), ("false_alarm", "person")),
    _measure(
        COST,
        candidate_cost,
        "Cost of the candidate minus that of the deployed model",
        "one of the two ratios is",
    ),
    _measure(
        TURNS,
        break_even_miss,
        "Price of a miss at which both models cost the same",
        "no price of a miss changes the decision",
    ),
)


def usual(prices: Prices) -> tuple[str, ...]:
    """The measures that are shown where prices are given and nothing is asked for."""
    given = prices.amounts
    if "miss" not in given:
        return asked_costs(prices)
    parts = asked_costs(structs.replace(prices, miss=None))
    return (*(CANDIDATE if "false_alarm" in given else CANDIDATE[:1]), *parts[1:])


def refuse(measures: Sequence[Measure], prices: Prices, deployment: Deployment) -> None:
    """Refuse prices of what nobody measured, and costs that would leave out errors: UsageError."""
    refuse_unmeasured(measures, prices, deployment.name, untimed(deployment))
    asked, given = {m.name for m in measures}, prices.amounts
    if "total_cost" in asked and "miss" in given:
        raise UsageError(f"{deployment.name}: {NO_TOTAL}")
    lost = [key for key in ("miss", "false_alarm") if key not in given]
    if lost and (names := sorted(asked & {*CANDIDATE})):
        raise UsageError(
            f"{deployment.name}: {names[0]} weighs misses against false alarms, and {AN[lost[0]]} "
            f"has no price: give --price {lost[0]}=NUMBER (0 if it costs nothing)"
        )


def with_hidden(measures: Sequence[Measure]) -> list[Measure]:
    """Measures with what the price at which a decision turns is made of behind them."""
    whole = [m for m in MEASURES if m.name == COST]
    return [*measures, *([*whole, _MISSES] if any(m.name == TURNS for m in measures) else [])]


def turning(rows: Sequence[Estimate]) -> list[Estimate]:
    """Rows without those of hidden measures; the price at which the decision turns as everywhere:
    percentiles of the replicates, or why there is none.
    """
    if rows[-1].measure != MISSES:
        return [*rows]
    pairs = [tuple(map(partial(_named, row), MODELS)) for row in rows[-2:]]
    price = float(rows[-1].parameters["prices"]["miss"])
    found = []
    for row in rows[:-2]:
        if row.measure == TURNS and price:
            made = break_even(TURNS, price, (pairs[0][0], pairs[0][1]), (pairs[1][0], pairs[1][1]))
            row = structs.replace(made, dims=row.dims, baseline=None)  # noqa: PLW2901
        found.append(row)
    return found


def _named(row: Estimate, model: str) -> Estimate:
    """The difference under the name of the candidate, and nothing under the deployed model's."""
    dims = {"system": model}
    if model == MODELS[0]:
        return structs.replace(row, dims=dims)
    return structs.replace(
        row,
        dims=dims,
        point=0.0,
        value=0.0,
        replicates=np.where(np.isnan(row.replicates), np.nan, 0.0),
    )
