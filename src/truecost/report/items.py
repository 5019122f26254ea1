"""Items of the data on a page: the main measure of each unit (recording, speaker, document) alone,
and the worst items of each system, aligned as text in columns.

The sums of a unit's items are measured as the sums of all are; a single unit has no interval.

Texts of users stand in alignments, in any script. In columns every word of a script that is written
from right to left is isolated, so that it is read in its own direction and the columns keep their
order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from truecost.core.digits import counted, figure, width
from truecost.core.item_rules import each
from truecost.core.measure import Measure
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.report.story import Story
from truecost.report.sums import SECONDS, error_words, size_words, sizes_of, worst_words
from truecost.report.words import measure_of, turns
from truecost.tasks.measures import find_of_any_task

if TYPE_CHECKING:
    import polars as pl

    from truecost.study.outcome import Case


Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Place = tuple[str, str, str]  # collection, system and item
OPEN = 3  # of a system
OPEN_SYSTEMS = 3  # of the others all are folded
AREA = 1.5  # of the largest mark
MOST_LINES, LEAST_LINES = 420, 12  # of all items together, and of each


@dataclass(frozen=True, eq=False)
class Units:
    """Values of one measure of one system for each of N units (speakers, recordings, documents).

    Attributes
    ----------
    row : Row
        Result row of the measure for all units together.
    factor : str
        Kind of unit, such as speaker. If each item is a unit: the kind of item.
    names : tuple of str
        Names of the units, sorted (by number, if all names are numbers).
    values : ndarray of float64, shape (N,)
        Value of the measure for each unit; NaN if undefined.
    amounts : ndarray of float64, shape (N,)
        Amount of reference data of each unit, such as number of words or seconds of speech.
    sums : polars.DataFrame, N rows
        Counts from which the measure is computed, in columns named `part.statistic`, and the number
        of items of each unit, in the column named `items in it`.
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
        """Amount of reference data and number of items of each unit, as text."""
        alone = self.factor == self.row.item
        items = ("" if alone else counted(n, self.row.item) for n in self.sums["items in it"])
        said = (size_words(self._measure, counts) for counts in self._counts)
        return tuple(", ".join(filter(None, both)) for both in zip(said, items, strict=True))

    @cached_property
    def areas(self) -> Floats:
        """Area of the dot of each unit in pictures, proportional to `amounts`."""
        return AREA * self.amounts / (self.amounts.max(initial=0.0) or 1.0)

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """Numbers of errors of each unit by kind of error, as text."""
        return tuple(error_words(self._measure, counts) for counts in self._counts)

    @cached_property
    def _measure(self) -> Measure:
        return find_of_any_task(self.row.label, self.row.task)

    @cached_property
    def _counts(self) -> list[dict[str, float]]:
        return counts_of(self.sums, self._measure)

    def take(self, rows: Sequence[int]) -> "Units":
        """Selected units, in the given order.

        Parameters
        ----------
        rows : sequence of int
            Positions of the units.
        """
        return replace(
            self,
            names=tuple(self.names[k] for k in rows),
            values=self.values[rows],
            amounts=self.amounts[rows],
            sums=self.sums[list(rows)],
        )


def units_of(items: Any, row: Row) -> Units:
    """Compute the measure of a result row for each unit (speaker, recording, document) alone.

    Parameters
    ----------
    items : polars.DataFrame or Items
        Content of `items.parquet`, or the counted items of the system.
    row : Row
        Result row of the whole data of one system (and one collection, if there are several).

    Returns
    -------
    Units

    Raises
    ------
    UsageError
        If the measure is unknown, or the items do not contain its counts.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report.items import units_of
    >>> right, heard = ["it is late", "so it is"], ["it was late", "so it is"]
    >>> items = tc.count_transcripts(right, heard, ids=["a", "b"], measures=("wer",))
    >>> [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(100)))
    >>> units = units_of(items, row)
    >>> units.names, units.sizes, units.values.round(2).tolist()
    (('a', 'b'), ('3 words', '3 words'), [0.33, 0.0])
    """
    import polars as pl

    items = items if isinstance(items, pl.DataFrame) else _frame_of(items)
    measure = measure_of(row.label, row.task)
    if measure is None or not has_sums(items, measure):
        raise UsageError(f"these items have no counts from which {row.label} is computed")
    own = items_of(items, row.dims)
    factor = next((f for f in row.factors if f in own.columns and f != row.item), "item")
    sums = _summed(own, factor, measure)
    known = [name for name in sizes_of(measure) if name in sums.columns]
    added = sums.select(known).to_numpy().astype(np.float64).sum(axis=1)
    amounts = (added if known else np.ones(len(sums))) * SECONDS.get(measure.parts[0], 1)
    called, names = row.item if factor == "item" else factor, tuple(map(str, sums[factor]))
    return Units(row, called, names, each(measure, _parts(sums)), amounts, sums)


def _frame_of(items: Any) -> "pl.DataFrame":
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


@dataclass(frozen=True)
class Aligned:
    """One item.

    `name`, `said`: its id; its errors in words, by which it is one of the worst, and its value.
    `text`: its lines, ready for a page.
    """

    name: str
    said: str
    text: Markup


@dataclass(frozen=True)
class Worst:
    """The worst items of a system."""

    title: str
    open: tuple[Aligned, ...]
    folded: tuple[Aligned, ...]


def worst_of(story: Story) -> tuple[Worst, ...]:
    """The stored cases by collection and system, the worst first."""
    errors, found, cases = _errors(story), [], story.result.cases
    most = max(LEAST_LINES, MOST_LINES // max(len(cases), 1))
    for number, (place, own) in enumerate(groupby(cases, lambda c: (c.collection, c.system))):
        label = next((r for r in story.whole if r.dims["system"] == place[1]), None)
        shown = tuple(_aligned(c, label, errors, story.page.reading.columns, most) for c in own)
        first = OPEN if number < OPEN_SYSTEMS else 0
        title = ", ".join(filter(None, reversed(place)))
        found.append(Worst(title, shown[:first], shown[first:]))
    return tuple(found)


def _aligned(
    case: "Case", row: Row | None, errors: Mapping[Place, str], columns: bool, most: int
) -> Aligned:
    value = "" if row is None else f"{row.label} {figure(case.value, row.scale)}"
    said = (errors.get((case.collection, case.system, case.item), ""), value)
    text = text_of(case.lines[:most], columns=columns)
    if (left := len(case.lines) - most) > 0:
        text += Markup("\n\u2026 {} in result.json").format(counted(left, "more line"))
    return Aligned(case.item, "; ".join(filter(None, said)), text)


def _errors(story: Story) -> dict[tuple[str, str, str], str]:
    """The errors of the items that are shown, in words, by collection, system and item: those of
    the first measure that reads the part by which items are the worst.
    """
    items, found = story.items, [measure_of(r.label) for r in story.whole]
    measures = [m for m in found if m is not None]
    worst = story.page.reading.parts or [m.parts[0] for m in measures[:1]]
    measure = next((m for part in worst for m in measures if m.parts[0] == part), None)
    if items is None or measure is None or not has_sums(items, measure):
        return {}
    own = items.filter(items["item"].is_in([case.item for case in story.result.cases]))
    places = own.select("system", "item").rows()
    collections = own["collection"].to_list() if "collection" in own.columns else [""] * len(own)
    every = zip(collections, places, counts_of(own, measure), strict=True)
    return {(of or "", *place): worst_words(measure, counts) for of, place, counts in every}


def widths(cases: Sequence[Worst]) -> str:
    """Rules of style for the words that stand alone: how many columns each is wide."""
    texts = [one.text for worst in cases for one in (*worst.open, *worst.folded)]
    found = {int(n) for text in texts for n in re.findall(r'<bdi class="w(\d+)">', text)}
    return "".join(f".w{n}{{width:{n}ch}}" for n in sorted(found))


def text_of(lines: Sequence[tuple[str, str]], *, columns: bool = True) -> Markup:
    """Labelled lines as text of a page, the labels in a column.

    `lines` are label and text. With `columns` words stand in columns; else each line is text with
    one direction as a whole.
    """
    wide = max((len(label) for label, _ in lines), default=0)
    isolate = _by_word if columns else _whole_text
    rows: list[Markup] = []
    for label, text in lines:
        if rows and label == lines[0][0]:
            rows.append(Markup(""))  # a further group of the same lines
        if label or text:
            rows.append(Markup("{}  {}").format(label.ljust(wide), isolate(text)))
    return Markup("\n").join(rows)


def _whole_text(text: str) -> Markup:
    return Markup("<bdi>{}</bdi>").format(text) if turns(text) else Markup.escape(text)


def _by_word(text: str) -> Markup:
    """Blanks stay as they are; a word of a script whose letters are not as wide as others, or that
    is written from right to left, stands alone, as wide as its columns (`widths`).
    """
    return Markup("").join(
        Markup('<bdi class="w{}">{}</bdi>').format(width(word), word)
        if turns(word) or width(word) != len(word)
        else word
        for word in re.split(r"(\s+)", text)
    )
