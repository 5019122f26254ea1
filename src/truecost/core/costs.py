"""Total cost in one currency: prices times measured amounts, and their sum.

A task states its amounts (`Spent`); `cost_measures` makes `total_cost` and the cost of each kind of
amount (`PARTS_OF`). `break_evens` returns the prices at which two systems cost the same. Amounts
are totals by unit; one that was measured once for a whole run is constant (`Tally.constant`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any

import msgspec
import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.intervals.smooth import finite
from truecost.core.measure import NONE, SMOOTH, Array, Measure, Result, Rule, Told
from truecost.core.results import Estimate
from truecost.errors import UsageError
from truecost.prices import COSTS, Prices

TOOK = "took"  # part of the evidence: what was measured once for a whole run
HOUR = 3600.0  # seconds
COMPUTING = ("cpu", "gpu")  # what event logs tell the seconds of
PARTS_OF = {  # the prices that each part of the whole adds up
    "cost_misses": ("miss",),
    "cost_false_alarms": ("false_alarm",),
    "cost_errors": ("error",),
    "cost_person": ("person",),
    "cost_computing": ("cpu", "gpu", "memory"),
    "cost_waiting": ("waiting",),
}
ERRORS = ("miss", "false_alarm", "error")
ONCE = ("cpu", "gpu", "memory", "waiting")  # known of a whole run, where no log tells them apart
BREAK_EVEN = {  # the price at which a decision turns, and the cost that it makes larger
    "break_even_miss": ("miss", "cost_misses"),
    "break_even_error": ("error", "cost_errors"),
    "break_even_person": ("person", "cost_person"),
}
TITLES = {
    "total_cost": "Cost of errors, people, computing and waiting",
    "cost_misses": "Cost of misses",
    "cost_false_alarms": "Cost of false alarms",
    "cost_errors": "Cost of wrong outputs",
    "cost_person": "Cost of the person's time",
    "cost_computing": "Cost of computing",
    "cost_waiting": "Cost of waiting",
}
AN = {  # how a price is called in messages
    "miss": "a miss",
    "false_alarm": "a false alarm",
    "error": "a wrong output",
    "person": "an hour of the person",
    "cpu": "an hour of CPU",
    "gpu": "an hour of GPU",
    "memory": "a GB of memory for an hour",
    "waiting": "an hour of waiting",
}
STEADY = ("cost_person", "cost_computing", "cost_waiting")  # planned, or measured once
UNPRICED = "nothing has a price (--price KEY=VALUE)"
Amounts = Mapping[str, Array | float]


@dataclass(frozen=True)
class Spent:
    """Priced amounts: numbers of errors, hours of time, GB-hours of memory.

    Attributes
    ----------
    made : mapping of str to ndarray of float64, shape (replicates,)
        Amounts of the system, by key of the price.
    reject_all, by_hand : mapping of str to ndarray, optional
        Amounts of the two naive baselines; None if unknown. `reject_all`: nobody asks, and all is
        rejected, or stays as it was before anybody helped. `by_hand`: a person does everything.
    """

    made: Amounts
    reject_all: Amounts | None = None
    by_hand: Amounts | None = None


Spending = Callable[..., Spent]  # from totals, application, and what else measures of a task take


def cost_of(prices: Prices, amounts: Amounts, keys: Sequence[str] = ()) -> Any:
    """Sum of price times amount over all given prices, or over some of them."""
    given = prices.amounts
    if given.keys().isdisjoint(keys or given):
        return np.float64(np.nan)  # nothing of it has a price
    chosen = [key for key in given if key in amounts and (not keys or key in keys)]
    return sum((given[key] * np.asarray(amounts[key], np.float64) for key in chosen), np.float64(0))


def _total(totals: Totals, application: Application, *, spending: Spending, **how: Any) -> Told:
    """The total cost, and that of each naive baseline beside it; `naive` is the cheaper one."""
    spent, prices = spending(totals, application, **how), application.prices
    named = {"reject_all": spent.reject_all, "by_hand": spent.by_hand}
    if "person" not in prices.amounts:
        del named["by_hand"]
    value = np.broadcast_to(cost_of(prices, spent.made), (totals.block.count,))
    beside = {
        name: np.broadcast_to(cost_of(prices, amounts), value.shape)
        for name, amounts in named.items()
        if amounts is not None
    }
    naive = np.full(value.shape, np.nan)
    for other in beside.values():
        naive = np.fmin(naive, other)
    return value, naive, beside


def _part(
    totals: Totals, application: Application, *, spending: Spending, keys: Sequence[str], **how: Any
) -> Result:
    """The cost of one kind of amount."""
    found = cost_of(application.prices, spending(totals, application, **how).made, keys)
    return np.broadcast_to(found, (totals.block.count,)), NONE


def _documented(function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """A function with a docstring of its own."""

    @wraps(function, assigned=())
    def documented(*args: Any, **how: Any) -> Any:
        return function(*args, **how)

    documented.__doc__ = doc
    return documented


_SAID = {
    "total_cost": "Total cost in the currency of the prices: sum of price times amount.\n\n"
    "Range [0, inf); lower is better. Naive baseline: a system that rejects everything (several "
    "classes: the best constant decision; lifelong learning: the initial version); in streams and "
    "lifelong learning, a person who does everything, if cheaper; in AB/BA, always this person.",
} | {
    name: f"{of}.\n\nRange [0, inf); lower is better. No naive baseline. Undefined without a price."
    for name, of in {
        "cost_misses": "Number of misses times the price of a miss",
        "cost_false_alarms": "Number of false alarms times the price of a false alarm",
        "cost_errors": "Wrong words, seconds of wrong speech, costs of wrong classes (cost matrix) "
        "or errors of numbers (divided by the tolerance), times the price of an error",
        "cost_person": "Hours of work of the person, times the price of an hour",
        "cost_computing": "Sum of the hours of CPU, the hours of GPU and the GB-hours of memory, "
        "each times its price",
        "cost_waiting": "Hours of waiting (in streams, for the person; otherwise, for the program) "
        "times the price of an hour",
    }.items()
}


def cost_measures(
    task: str,
    spending: Spending,
    parts: tuple[str, ...],
    prices: Sequence[str],
    *,
    source: str = "definition: amounts times the user's prices",
    intervals: Mapping[str, Rule] | None = None,
) -> tuple[Measure, ...]:
    """The cost measures of a task, in a currency.

    Parameters
    ----------
    spending : callable
        Function that returns a `Spent`, from totals, application and the further arguments that the
        measures of the task take.
    parts : tuple of str
        Names of the evidence that the measures read.
    prices : sequence of str
        Keys of the prices that the task has.
    intervals : mapping of str to Rule, optional
        Interval rules by measure name. Default: the rule of a positive smooth figure.
    """
    functions: dict[str, Any] = {"total_cost": partial(_total, spending=spending)}
    for name, keys in PARTS_OF.items():
        if {*keys} & {*prices}:
            functions[name] = partial(_part, spending=spending, keys=keys)
    return tuple(
        Measure(
            name,
            _documented(function, _SAID[name]),
            parts,
            TITLES[name],
            "lower",
            source,
            uses=("prices",),
            undefined=UNPRICED,
            task=task,
            total=True,
            steady=name in STEADY,
            shown_in="currency",
            interval=(intervals or {}).get(name, SMOOTH),
        )
        for name, function in functions.items()
    )


def took(totals: Totals) -> dict[str, Array]:
    """The hours and GB-hours that were measured once for a whole run, from the tally `TOOK`."""
    if TOOK not in totals.evidence.parts:
        return {}
    tally: Any = totals.evidence.parts[TOOK]
    return {name: totals.sums(TOOK, name) for name in tally.statistics}


def asked_costs(prices: Prices) -> tuple[str, ...]:
    """The measures shown by default if prices are given: total cost, and its parts if several."""
    given = prices.amounts
    some = [name for name, keys in PARTS_OF.items() if any(given.get(key) for key in keys)]
    return () if not given else ("total_cost", *(some if len(some) > 1 else ()))


def refuse_unpriced(
    measures: Sequence[Measure], prices: Prices, name: str, errors: Sequence[str]
) -> None:
    """Refuse a total cost without prices of the errors that occur: UsageError.

    `errors`: keys of the prices of errors: `miss` and `false_alarm`, or `error`.
    """
    if not any(m.name == "total_cost" for m in measures):
        return
    given = prices.amounts
    if lost := [key for key in errors if key not in given]:
        said = " and ".join(AN[key] for key in lost)
        do = " and ".join(f"--price {key}=NUMBER" for key in lost)
        raise UsageError(
            f"{name}: total_cost adds up errors too, and {said} {_have(lost)} no price: give {do} "
            f"(0 if it costs nothing)"
        )
    if odd := [key for key in ERRORS if key in given and key not in errors]:
        raise UsageError(
            f"{name}: --price {odd[0]}={given[odd[0]]:g} prices errors that this task does not "
            f"have: the price of its errors is {' and '.join(errors)}; leave it out"
        )


def _have(keys: Sequence[str]) -> str:
    return "has" if len(keys) == 1 else "have"


def no_record(key: str, where: str) -> str:
    """A message: why the use of a resource (`gpu`, say) is not known, and how to record it."""
    if key == "gpu":
        return (
            "no record contains it: add gpu_s (seconds of GPU) to a record of truecost "
            f"resources, and name this record ({where})"
        )
    return (
        f"there is no record of it: measure with truecost resources -o FILE -- COMMAND, and name "
        f"the file ({where})"
    )


OF_SYSTEM = "resources of the system in a study"


def unlogged(key: str) -> str:
    """A message: why event logs have no computing time, `cpu` or `gpu`, and how to log it."""
    live = " (record_cpu = true in a live run)" if key == "cpu" else ""
    record = "records of truecost resources" if key == "cpu" else "a record with gpu_s"
    return (
        f"no {key.upper()} was recorded, so that it would cost nothing: log {key}_seconds with "
        f"predict and adapt events{live}, or name {record} ({OF_SYSTEM})"
    )


def refuse_unmeasured(
    measures: Sequence[Measure], prices: Prices, name: str, lacking: Mapping[str, str]
) -> None:
    """Refuse a price of an amount that was not measured, which would cost nothing: UsageError.

    `lacking`: by key of a price, the missing amount and how to measure it.
    """
    if not any(m.name in COSTS or m.name == "imlm_money" for m in measures):
        return
    for key, price in prices.amounts.items():
        if key in lacking:
            raise UsageError(
                f"{name}: {AN[key]} has the price {price:g} (--price {key}={price:g}), and "
                f"{lacking[key]}; or leave out this price"
            )


def without_shared(
    measures: Sequence[Measure], prices: Prices, once: Sequence[str] = ONCE
) -> list[Measure]:
    """The measures of a subset; sums of amounts measured once for the whole are undefined."""
    shared = [key for key in once if key in prices.amounts]
    said = f"{' and '.join(map(_noun, shared))} of the whole: the share of a subset is not known"
    lost = {name for name, keys in PARTS_OF.items() if {*shared} & {*keys}}
    lost |= {"total_cost"} if shared else set()
    return [
        replace(m, function=_unknown, undefined=said) if m.name in lost else m for m in measures
    ]


def _noun(key: str) -> str:
    """The noun for a resource with a price by the hour: `the person's time`, `CPU`."""
    return {"person": "the person's time", "cpu": "CPU", "gpu": "GPU"}.get(key, key)


def _unknown(totals: Totals, _: Application, **_how: Any) -> Result:
    """An undefined figure."""
    return np.full(totals.block.count, np.nan), NONE


NOT_BY_HAND = (
    "no naive baseline of a person who does everything: no answer was timed, and no seconds of an "
    "item are stated"
)


def without_hand(row: Estimate) -> Estimate:
    """A row, with a reason where the cost of a person who does everything is not known."""
    asked = row.measure == "total_cost" and "person" in row.parameters.get("prices", {})
    if not asked or row.value is None or row.reason or "by_hand" in row.counts:
        return row
    return msgspec.structs.replace(row, reason=NOT_BY_HAND)


def break_evens(pairs: Iterable[tuple[Estimate, Estimate]]) -> Iterator[Estimate]:
    """The prices at which a system and a baseline cost the same, from their rows side by side.

    There is a price for each total cost and each kind of amount with its own key (`BREAK_EVEN`).
    """
    known = {(a.measure, *sorted(a.dims.items() & b.dims.items())): (a, b) for a, b in pairs}
    for (measure, *dims), wholes in known.items():
        for name, (key, part) in BREAK_EVEN.items() if measure == "total_cost" else ():
            price = wholes[0].parameters.get("prices", {}).get(key)
            if price and (parts := known.get((part, *dims))) is not None:
                yield break_even(name, price, wholes, parts)


Pair = tuple[Estimate, Estimate]  # of a system and its baseline


def break_even(name: str, price: float, wholes: Pair, parts: Pair) -> Estimate:
    """The price p at which the difference of the total costs, rest + p amount, is 0.

    A replicate in which the amounts differ in the other direction counts as beyond both ends: the
    interval then includes the prices at which the replicates are inconclusive.
    """
    row, baseline = wholes
    amount = parts[0].replicates - parts[1].replicates
    drawn = _turning(price, row.replicates - baseline.replicates, amount)
    away = np.sign(amount) != np.sign(parts[0].point - parts[1].point)
    point = float(_turning(price, row.point - baseline.point, parts[0].point - parts[1].point))
    reason, lower, upper = _never(name, point, wholes, parts), None, None
    if reason is None and len(drawn):
        tail = (1 - row.level) / 2
        low, high = (np.where(away, end, drawn) for end in (-np.inf, np.inf))
        lower = max(0.0, float(np.quantile(low, tail, method="lower")))
        upper = finite(float(np.quantile(high, 1 - tail, method="higher")))
        reason = "the upper end is infinite" if upper is None else None
    value = None if lower is None and reason else point
    return msgspec.structs.replace(
        row,
        measure=name,
        baseline=baseline.dims.get("system", "baseline"),
        point=np.nan if value is None else value,
        value=value,
        lower=lower,
        upper=upper,
        method="percentile",
        naive=None,
        counts={},
        rates=(),
        n_undefined=int(away.sum()),
        reason=reason,
        flags=(),
        signature=f"break-even|{row.signature}",
        replicates=np.where(away, np.nan, drawn),
        left_out=(),
        support=None,
        counted="",
    )


def _turning(price: float, whole: Any, part: Any) -> Any:
    """The price at which a difference is 0, from `whole`, the difference at the present price, and
    `part`, its part with this price.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(price * (1 - np.divide(whole, part)), np.float64)[()]


def _never(name: str, point: float, wholes: Pair, parts: Pair) -> str | None:
    """The reason why no price makes the costs equal; None where one does."""
    of = AN[BREAK_EVEN[name][0]]
    if parts[0].point == parts[1].point:
        return f"undefined: both have the same amount, so the price of {of} does not matter"
    if not np.isfinite(point):
        return "undefined: one of the two costs is undefined"
    if point < 0:
        names = [one.dims.get("system", "one") for one in sorted(wholes, key=lambda r: r.point)]
        return f"undefined: {names[1]} costs more than {names[0]} at any price of {of}"
    return None
