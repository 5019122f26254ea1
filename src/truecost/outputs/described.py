"""What pages tell of systems that are described one by one, over a stream or across time."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from truecost.core.digits import title_of
from truecost.core.results import Row, figures
from truecost.names import PARTS
from truecost.report.story import Part

MOST_SYSTEMS = 4  # whose curves are drawn


class Described(Protocol):
    """What a result says of a system besides its rows."""

    @property
    def dims(self) -> dict[str, str]:
        """Whose it is: system, collection, application, strategy."""


D = TypeVar("D", bound=Described)
T = TypeVar("T")


def of_part(found: Iterable[D], part: Part) -> list[D]:
    """The descriptions of a part, in their order."""
    dims = dict(part.dims)
    return [d for d in found if all(d.dims.get(n, "") == dims.get(n, "") for n in PARTS)]


def whose(dims: dict[str, str]) -> dict[str, str | None]:
    """Part, system and strategy of a row of a stored table."""
    return {
        "part": title_of({name: dims[name] for name in PARTS if name in dims}),
        "system": dims.get("system", ""),
        "strategy": dims.get("strategy"),
    }


def thinned(places: Sequence[T], most: int) -> list[T]:
    """Some of many places, evenly, the first and the last among them."""
    count = len(places)
    if count <= most:
        return [*places]
    return [places[k] for k in sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})]


def left_out_of(shown: int, every: int) -> str:
    """That more systems are there than are drawn."""
    return f" The first {shown} of {every} systems are drawn." if shown < every else ""


def plain(row: Row) -> str:
    """A value with its interval, or why there is none."""
    if row.value is None:
        return row.reason or "undefined"
    return " ".join(filter(None, figures(row)))
