"""`[prices]`: what errors, people, computing and waiting cost, in one currency.

The one table of prices: a study has it, `--price KEY=VALUE` and `prices={...}` fill it in, and an
`Application` carries it to the measures (`truecost.core.costs`).
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from truecost.errors import UsageError, near
from truecost.names import SCORED
from truecost.options import Declared, Option, PartialTable, check, declared

COSTS = (  # the measures that take prices, what all costs first
    *("total_cost", "cost_misses", "cost_false_alarms", "cost_errors"),
    *("cost_person", "cost_computing", "cost_waiting"),
)
MOST = 1e15  # of a price: times any amount it stays a number
CANDIDATE = ("candidate_cost", "break_even_miss")  # AB/BA: against the deployed model


def _price(of: str, *measures: str) -> Option:
    """The price of something, which enters what all costs and further measures."""
    needs = {"measure": ("total_cost", *measures)}
    return Option(f"Price of {of}.", ge=0, le=MOST, needs=needs)


class Prices(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[prices]`` of a study: prices of errors, people, computing and waiting, in one
    currency.

    The measure ``total_cost`` is the sum of prices times amounts. Each kind of error needs a price,
    which may be 0. Other amounts (time, memory) without a price do not count. A price is refused if
    its amount was not measured, because the amount would count as 0.
    """

    __table__: ClassVar[str] = "prices"
    __entry_of__: ClassVar[str] = "price"

    miss: Annotated[float | None, _price("a missed target", "cost_misses", *CANDIDATE)] = None
    false_alarm: Annotated[
        float | None, _price("a false alarm", "cost_false_alarms", *CANDIDATE)
    ] = None
    error: Annotated[
        float | None,
        _price(
            "a wrong class (times its entry in the cost matrix, where there is one), of a wrong "
            "word or edit, of a second of wrong speech, of an error of a number as large as the "
            "tolerance",
            "cost_errors",
        ),
    ] = None
    person: Annotated[
        float | None, _price("an hour of the person", "cost_person", "imlm_money")
    ] = None
    cpu: Annotated[float | None, _price("an hour of CPU", "cost_computing", "imlm_money")] = None
    gpu: Annotated[float | None, _price("an hour of GPU", "cost_computing", "imlm_money")] = None
    memory: Annotated[
        float | None, _price("a GB of memory (peak, 1e9 bytes) for an hour", "cost_computing")
    ] = None
    waiting: Annotated[float | None, _price("an hour of waiting for an answer", "cost_waiting")] = (
        None
    )
    currency: Annotated[
        str | None,
        Option(
            "Name of the currency, shown beside figures.",
            needs={"measure": (*COSTS, *CANDIDATE, "imlm_money")},
        ),
    ] = None

    @property
    def amounts(self) -> dict[str, float]:
        """The prices that were given, by key, without the currency."""
        return {key: value for key, value in self.given().items() if key != "currency"}


def prices_by_unit(keys: Iterable[str]) -> str:
    """The keys of prices in words, each with its unit: an error, an hour, a GB for an hour."""
    found: dict[str, list[str]] = {"per error": [], "per hour": [], "per GB and hour": []}
    texts = {option.key: option.help for option in declared(Prices)}
    for key in keys:
        what = texts[key].removeprefix("Price of ")
        unit = "per hour" if what.startswith("an hour") else "per error"
        found["per GB and hour" if what.startswith("a GB") else unit].append(key)
    said = [f"{', '.join(of)} ({unit})" for unit, of in found.items() if of]
    return f"{', '.join(said)}, currency (a name)"


def _entries(text: str, flag: str) -> tuple[tuple[str, str], ...]:
    """`KEY=VALUE`, or several separated by commas; UsageError of anything else."""
    found = []
    for part in text.split(","):
        key, mark, value = (word.strip() for word in part.partition("="))
        if not (key and mark and value):
            raise UsageError(f"{flag} {text!r} is not understood: write KEY=VALUE, such as miss=5")
        found.append((key, value))
    return tuple(found)


PRICE = Declared(
    key="prices",
    table="prices",
    owner=Prices,
    kind=dict[str, Any],
    option=Option(
        "KEY=VALUE: price of an error or of an hour; may be repeated.",
        flag="price",
        group="Prices",
        read=_entries,
        repeat=True,
        verbs=SCORED,
    ),
)


def prices_of(
    given: Mapping[str, Any] | Iterable[tuple[str, Any]], keys: Collection[str], task: str
) -> Prices:
    """Prices by key, numbers perhaps as texts, for a task that has some of the keys.

    Raises
    ------
    UsageError
        When a key is not known, stands twice or is for other tasks, or a price is no finite
        number from 0.
    """
    entries = [*(given.items() if isinstance(given, Mapping) else given)]
    has = [key for key in Prices.__struct_fields__ if key in (*keys, "currency")]
    for key, value in entries:
        if not keys:
            raise UsageError(f"--price {key}={value} is not for {task}: leave it out")
        if key not in has:
            known = key in Prices.__struct_fields__
            said = f"is not for {task}" if known else f"is not known{near(key, has)}"
            raise UsageError(
                f"--price {key}={value} {said}: the prices of {task} are {', '.join(has)}"
            )
    keys_given = [key for key, _ in entries]
    if twice := [key for key in has if keys_given.count(key) > 1]:
        values = ", ".join(str(value) for key, value in entries if key == twice[0])
        raise UsageError(f"--price {twice[0]} is given more than once ({values}): give it once")
    made = Prices(**{key: _value(key, value) for key, value in entries})
    check(made)
    return made


def _value(key: str, value: Any) -> Any:
    """A price as a number, the currency as it is."""
    if key == "currency" and isinstance(value, str):
        return value
    number = None if key == "currency" or isinstance(value, bool) else _number(value)
    if number is None:
        what = "a name" if key == "currency" else "a number from 0"
        raise UsageError(f"--price {key}={value} is not understood: give {what}")
    return number


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
