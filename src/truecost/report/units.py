"""Units one by one: the main measure of each recording, speaker or document alone.

The sums of its items are measured as the sums of all are; a single unit has no interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truecost.core.digits import counted, figure
from truecost.core.measure import Measure
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.outputs.items import Items, each
from truecost.report.sums import SECONDS, errors_said, size_said, sizes_of
from truecost.report.tables import Numbers
from truecost.report.words import measure_of
from truecost.tasks.measures import find_of_any_task

if TYPE_CHECKING:
    import polars as pl


Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of one system, each measured alone.

    Attributes
    ----------
    row : Row
        The measure on all of them together.
    factor : str
        What they are: `speaker`; what the items are, where each is a unit of its own.
    names : tuple of str
        In their order; numbers by size.
    values : ndarray of float64, shape (N,)
        The measure of each alone; NaN where undefined.
    amounts : ndarray of float64, shape (N,)
        How much reference each has, for the sizes of marks.
    sums : polars.DataFrame, N rows
        What the measure divides, as `part.statistic`, and `items in it`.
    """

    row: Row
    factor: str
    names: tuple[str, ...]
    values: Floats
    amounts: Floats
    sums: "pl.DataFrame"

    def __len__(self) -> int:
        return len(self.names)

    @property
    def system(self) -> str:
        """Name of the system."""
        return self.row.dims["system"]

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """How much reference each has in words, with the number of items."""
        alone = self.factor == self.row.item
        items = ("" if alone else counted(n, self.row.item) for n in self.sums["items in it"])
        said = (size_said(self._measure, counts) for counts in self._counts)
        return tuple(", ".join(filter(None, both)) for both in zip(said, items, strict=True))

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """What each has of each kind of error, in words."""
        return tuple(errors_said(self._measure, counts) for counts in self._counts)

    @cached_property
    def _measure(self) -> Measure:
        return find_of_any_task(self.row.label, self.row.task)

    @cached_property
    def _counts(self) -> list[dict[str, float]]:
        return counts_of(self.sums, self._measure)

    def value(self, unit: int) -> str:
        """The value of a unit as readers see it; empty where undefined."""
        value = float(self.values[unit])
        return "" if np.isnan(value) else figure(value, self.row.scale)

    def take(self, rows: Sequence[int]) -> "Units":
        """Some of the units, in this order."""
        return Units(
            self.row,
            self.factor,
            tuple(self.names[k] for k in rows),
            self.values[rows],
            self.amounts[rows],
            self.sums[list(rows)],
        )

    def numbers(self) -> Numbers:
        """A row a unit: its size, value and errors."""
        header = (self.factor, "system", "of", self.row.label, "errors")
        rows = [
            (self.names[k], self.system, self.sizes[k], self.value(k), self.errors[k])
            for k in range(len(self))
        ]
        return Numbers.of(header, rows)


def units_of(items: "pl.DataFrame | Items", row: Row) -> Units:
    """The units that a row rests on, each measured alone.

    Parameters
    ----------
    items : polars.DataFrame or Items
        What items.parquet holds, or the counted items of the system.
    row : Row
        A value on the whole data; of several collections one of them.

    Returns
    -------
    Units

    Raises
    ------
    UsageError
        When the measure is not known, or items without its statistics are given.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report.units import units_of
    >>> right, heard = ["it is late", "so it is"], ["it was late", "so it is"]
    >>> items = tc.count_transcripts(right, heard, ids=["a", "b"], measures=("wer",))
    >>> [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(100)))
    >>> units = units_of(items, row)
    >>> units.names, units.sizes, units.value(0)
    (('a', 'b'), ('3 words', '3 words'), '33.33%')
    """
    import polars as pl

    items = items if isinstance(items, pl.DataFrame) else _frame_of(items)
    measure = measure_of(row.label, row.task)
    if measure is None or not has_sums(items, measure):
        raise UsageError(f"these items have no sums that {row.label} divides")
    own = items_of(items, row.dims)
    factor = next((f for f in row.factors if f in own.columns and f != row.item), "item")
    sums = _summed(own, factor, measure)
    known = [name for name in sizes_of(measure) if name in sums.columns]
    return Units(
        row,
        row.item if factor == "item" else factor,
        tuple(map(str, sums[factor])),
        each(measure, _parts(sums)),
        _added(sums, known) * SECONDS.get(measure.parts[0], 1),
        sums,
    )


def _added(sums: "pl.DataFrame", names: Sequence[str]) -> Floats:
    """Some columns added up; 1 of none."""
    every: Floats = sums.select(names).to_numpy().astype(np.float64)
    return every.sum(axis=1) if names else np.ones(len(sums))


def _frame_of(items: Items) -> "pl.DataFrame":
    """Statistics and units of items as they stand in items.parquet."""
    import polars as pl

    columns = {"item": items.ids.astype(str)}
    columns |= {f"{part}.{name}": v for part, of in items.parts.items() for name, v in of.items()}
    columns |= {name: sides[0].astype(str) for name, sides in items.units.items()}
    return pl.DataFrame(columns).with_columns(system=pl.lit(items.name))


def items_of(items: "pl.DataFrame", dims: Mapping[str, str]) -> "pl.DataFrame":
    """The items of one system and collection, each once."""
    own = items.filter(items["system"] == dims.get("system", ""))
    if "collection" in dims and "collection" in own.columns:
        own = own.filter(own["collection"] == dims["collection"])
    return own.unique("item", keep="first", maintain_order=True)


def has_sums(items: "pl.DataFrame", measure: Measure) -> bool:
    """Whether items have what a measure divides."""
    return all(any(name.startswith(f"{part}.") for name in items.columns) for part in measure.parts)


def counts_of(sums: "pl.DataFrame", measure: Measure) -> list[dict[str, float]]:
    """The sums of the part that a measure reads, row by row, times in seconds."""
    part = measure.parts[0]
    names = [name for name in sums.columns if name.startswith(f"{part}.")]
    own = {name.partition(".")[2]: sums[name].to_numpy() * SECONDS.get(part, 1) for name in names}
    return [{name: float(v[k]) for name, v in own.items()} for k in range(len(sums))]


def _summed(items: "pl.DataFrame", factor: str, measure: Measure) -> "pl.DataFrame":
    """The sums of each unit, in the order of their names."""
    import polars as pl

    names = [n for n in items.columns if n.partition(".")[0] in measure.parts]
    sums = items.group_by(factor).agg(pl.col(names).sum(), pl.len().alias("items in it"))
    whole = sums[factor].cast(pl.Int64, strict=False)
    key = whole if not whole.null_count() else sums[factor]
    return sums[key.arg_sort()]


def _parts(sums: "pl.DataFrame") -> dict[str, dict[str, Array]]:
    """Sums of units by part and statistic, as their columns name them."""
    found: dict[str, dict[str, Array]] = {}
    for name in sums.columns:
        part, dot, statistic = name.partition(".")
        if dot:
            found.setdefault(part, {})[statistic] = sums[name].to_numpy()
    return found
