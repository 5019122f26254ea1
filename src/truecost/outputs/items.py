"""Items: what the output of a system is counted by: utterances, sentences, recordings.

A task that compares sequences or times counts each item once: for every part (`words`, `speech`)
the statistics of each item. Here items are resampled by their units and measured. A subset is a
set of items; two systems are compared on the same items.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.columns import finished, part_of
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence
from truecost.core.flags import raised
from truecost.core.item_rules import Parts, each
from truecost.core.measure import Measure
from truecost.core.scoring import Batch, Scoring, sides_of_units
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five, plural
from truecost.formats.table import is_whole
from truecost.names import MEAN
from truecost.task import Dims, Rows
from truecost.tasks.measures import suiting

Array = npt.NDArray[Any]
Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Counting:
    """The counts of a task, and its default measures.

    Attributes
    ----------
    task, item : str
        Its name; what it counts by, in the singular.
    parts : mapping of str to float
        The parts that it can count, with the factor that turns sums into what readers see:
        microseconds become seconds.
    measures : tuple of str
        Default measures.
    worst : mapping of str to tuple of str
        For each part, the statistics whose sum ranks the worst items.
    events : frozenset of str
        Parts whose errors are events that can be few; those of others are spans of time.
    alone : frozenset of str
        Parts of other items, recordings in place of utterances, which nothing is counted beside.
    hangs_together : bool
        Whether items that share a unit (a speaker, a document) are to be expected.
    key, rows : str
        The keys of `--map` that name items in an output, and that tell the rows of an item apart,
        where one has several: speakers, labels.
    """

    task: str
    item: str
    parts: Mapping[str, float]
    measures: tuple[str, ...]
    worst: Mapping[str, tuple[str, ...]]
    events: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    hangs_together: bool = True
    key: str = "id"
    rows: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Items(Rows):
    """The counted items of one system.

    Attributes
    ----------
    name : str
        Of the system.
    counting : Counting
        What was counted.
    ids : ndarray of str, shape (N,)
        Sorted.
    parts : mapping of str to (mapping of str to ndarray, shape (N,))
        Statistics of each item by part.
    frame : polars.DataFrame
        One row an item: columns for units and subsets.
    signatures : mapping of str to str
        Choices made while reading and counting that entered a part, separated by bars.
    problems : tuple of str
        Warnings for the reader.
    units : mapping of str to tuple of ndarray, shape (N,)
        For each factor the unit of each item on each side; each item its own unit when empty.
    weights, strata : ndarray, shape (N,), optional
        Weight of each item (inverse inclusion probability), and stratum of its unit.
    reference : str
        Hash of the references, where they came from arrays.
    texts : tuple of str
        Columns of the frame that hold whole texts: conditions may use them, results store none.
    show : callable, optional
        From the place of an item to labelled lines of text: how it was aligned.
    sources : tuple of polars.DataFrame
        Files that were counted: the references, then the output.
    described : tuple of Struct
        Data for the page in addition to the rows (`Work.descriptions`).
    """

    name: str
    counting: Counting
    ids: Array
    parts: Parts
    frame: pl.DataFrame
    signatures: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    units: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    weights: Array | None = None
    strata: Array | None = None
    reference: str = ""
    texts: tuple[str, ...] = ()
    show: Callable[[int], Lines] | None = None
    sources: tuple[pl.DataFrame, ...] = ()
    described: tuple[object, ...] = ()
    about: ClassVar[Mapping[str, str]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def task(self) -> str:
        """Name of the task that counted them."""
        return self.counting.task

    @property
    def item(self) -> str:
        """The word for an item, in the singular."""
        return self.counting.item

    @property
    def summary(self) -> str:
        """The content in a few words."""
        choices = "; ".join(dict.fromkeys(self.signatures.values()))
        return f"{counted(len(self), self.counting.item)}, {choices}"

    def take(self, rows: Array) -> "Items":
        """The items at these rows (indices, or a mask), as of a subset: they cannot be shown."""
        return replace(
            self,
            ids=self.ids[rows],
            parts={p: {k: v[rows] for k, v in of.items()} for p, of in self.parts.items()},
            frame=self.frame[np.flatnonzero(rows) if rows.dtype == bool else rows],
            units={k: tuple(side[rows] for side in v) for k, v in self.units.items()},
            weights=None if self.weights is None else self.weights[rows],
            strata=None if self.strata is None else self.strata[rows],
            show=None,
        )

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Ids and references, as frames whose rows have no order."""
        ids = pl.DataFrame({"id": [str(one) for one in self.ids.tolist()]})
        return ids, *self.sources[:-1], pl.DataFrame({"reference": [self.reference]})

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """The counted data, or the counts, as a frame whose rows have no order."""
        counts = {f"{p}.{n}": v for p, of in self.parts.items() for n, v in of.items()}
        return self.sources[-1:] or (pl.DataFrame(counts),)

    def each(self, measure: Measure) -> npt.NDArray[np.float64]:
        """The value of a measure for each item alone, NaN where undefined; float64 (N,)."""
        return each(measure, self.parts)

    def badness(self) -> Array:
        """How much of what is wrong each item has, by the first part that tells; (N,)."""
        for part, statistics in self.counting.worst.items():
            if part in self.parts:
                return np.asarray(sum(self.parts[part][name] for name in statistics))
        return np.zeros(len(self))


def measures_of(asked: Sequence[str], counting: Counting) -> list[Measure]:
    """The measures asked for, `NAME` or `NAME:PARAMETER`, or those of the task."""
    names, parts = asked or counting.measures, {*counting.parts}
    suits = lambda m: {*m.parts} <= parts or m.name == MEAN  # noqa: E731
    beside = lambda m: not {*m.parts} & counting.alone  # noqa: E731
    return suiting(names, counting.task, plural(counting.item), suits, beside)


def measures_for(items: "Items", scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those of the task; means of columns as suits their values.

    UsageError where nothing says which values of a column are better, or nothing was read of it.
    """
    found = measures_of(scoring.measures, items.counting)
    measures = [_finished(m, items, scoring) if m.name == MEAN else m for m in found]
    if lacking := [m.label for m in measures if not {*m.parts} <= {*items.parts}]:
        raise UsageError(
            f"{items.name}: {first_five(lacking)} cannot be computed from what was counted "
            f"({', '.join(items.parts)}): name it when counting, measures=({lacking[0]!r},)"
        )
    return measures


def _finished(measure: Measure, items: "Items", scoring: Scoring) -> Measure:
    """A mean with its direction, its part and the interval that suits its values."""
    part = part_of(str(measure.parameter))
    if part not in items.parts:
        raise UsageError(
            f"{items.name}: {measure.label} is of a column of files, and the "
            f"{plural(items.item)} were counted without it: take tc.score with files or tables"
        )
    values = np.asarray(items.parts[part]["value"], np.float64)
    return finished(measure, values, scoring.directions, weighted=items.weights is not None)


def batches(items: Items, scoring: Scoring, dims: Dims, _whole: object) -> Iterator[Batch]:
    """All measures of items share the evidence: sums by unit."""
    measures = measures_for(items, scoring)
    if items.weights is not None:
        scoring.refuse_bca_of_samples()
    yield Batch(
        evidence=evidence_of_items(items, measures, scoring),
        measures=measures,
        application=scoring.application,
        plan=scoring.plan,
        context=context_of_items(items, dims),
    )


def evidence_of_items(items: Items, measures: Sequence[Measure], scoring: Scoring) -> Evidence:
    """The parts that measures read, as tallies by unit."""
    if scoring.plan.scheme == "blocks" and len(items.units) > 1:
        raise UsageError(
            f"moving blocks need one factor in time order; mapped are {', '.join(items.units)}"
        )
    wanted = dict.fromkeys(part for measure in measures for part in measure.parts)
    units = items.units or {items.counting.item: (_in_order(items.ids),)}
    sides = sides_of_units(units, items.strata, scoring.plan)
    return Evidence(
        {part: Tally.count(sides, items.parts[part], weights=items.weights) for part in wanted}
    )


def _in_order(ids: Array) -> Array:
    """Ids whose order is that of the lines, where they are numbers of lines: 10 after 9."""
    texts = pl.Series(ids.astype(str))
    return texts.cast(pl.Int64).to_numpy() if is_whole(texts) else ids


def context_of_items(items: Items, dims: Mapping[str, str]) -> Context:
    """The facts of rows besides their values: sums of each part, errors, flags, signature."""
    counting = items.counting
    sums = {
        part: {
            name: _readable_sum(values.sum(), counting.parts[part]) for name, values in of.items()
        }
        for part, of in items.parts.items()
    }
    errors = {
        part: float(np.sum([sums[part][name] for name in counting.worst[part]]))
        for part in sums
        if part in counting.events
    }
    alone = counting.hangs_together and not items.units
    return Context(
        dict(dims),
        len(items),
        flags=raised(
            items_as_units=alone, crossed=sum(len(sides) for sides in items.units.values()) > 1
        ),
        item=counting.item,
        part_counts=sums,
        signature="" if items.weights is None else "weighted",
        part_signatures=items.signatures,
        part_errors=errors,
    )


def _readable_sum(total: Any, factor: float) -> float:
    """A sum as readers see it: whole where it is."""
    value = float(total) if factor == 1 else float(total) / round(1 / factor)
    return int(value) if value.is_integer() else value


def _refuse_other_counting(a: Items, b: Items) -> None:
    """Refuse systems held against other references, or made comparable in another way."""
    if a.reference != b.reference:
        raise InputError(f"{a.name} and {b.name} are scored against different references")
    for part in [part for part in a.signatures if part in b.signatures]:
        said = [_without_missing(items.signatures[part]) for items in (a, b)]
        if said[0] != said[1]:
            raise InputError(
                f"{a.name} and {b.name} were counted differently: {said[0]} against {said[1]}"
            )


def _without_missing(signature: str) -> str:
    """Choices without what was done about items that a system lacks."""
    return "|".join(text for text in signature.split("|") if not text.startswith("missing:"))


def pair_items(systems: Sequence[Items]) -> list[Items]:
    """The systems, refused unless they are counted by the same items, sorted by id."""
    first = systems[0]
    for other in systems[1:]:
        _refuse_other_counting(first, other)
        if not np.array_equal(first.ids, other.ids):
            left, right = set(first.ids.tolist()), set(other.ids.tolist())
            raise InputError(
                f"{first.name} and {other.name} are not scored on the same "
                f"{plural(first.counting.item)}: {counted(len(left - right), 'id')} only in "
                f"{first.name} ({first_five(sorted(left - right)) or 'none'}), {len(right - left)} "
                f"only in {other.name} ({first_five(sorted(right - left)) or 'none'}); --missing "
                f"worst counts what a system lacks as empty"
            )
        for name in {**first.units, **other.units}:
            sides = [system.units.get(name, ()) for system in (first, other)]
            if len(sides[0]) != len(sides[1]) or not all(map(np.array_equal, *sides)):
                raise InputError(f"{first.name} and {other.name} have other units ({name})")
    return [*systems]
