"""Items: what the output of a system is counted by: utterances, sentences, recordings.

A task that compares sequences or times counts each item once: for every part (`words`, `speech`)
the statistics of each item. Here items are resampled by their units and measured. A subset is a
set of items; two systems are compared on the same items.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor, refuse_divided
from truecost.core.flags import raised
from truecost.core.measure import Measure
from truecost.core.scoring import Batch, Scoring
from truecost.core.subsets import Masks, masks_of
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five, plural
from truecost.formats.table import is_whole
from truecost.task import Dims
from truecost.tasks.measures import find, registry

Array = npt.NDArray[Any]
Parts = Mapping[str, Mapping[str, Array]]
Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Counting:
    """What a task counts, and what of it is measured when nothing is asked for.

    Attributes
    ----------
    task : str
        Its name.
    item : str
        What it counts by, in the singular.
    parts : mapping of str to float
        The parts that it can count, with the factor that turns sums into what readers see:
        microseconds become seconds.
    measures : tuple of str
        Measures that are computed unless others are asked for.
    worst : mapping of str to tuple of str
        Of each part the statistics whose sum makes an item one of the worst.
    events : frozenset of str
        Parts whose errors are events that can be few; those of others are spans of time.
    hangs_together : bool
        Whether items that share a unit (a speaker, a document) are to be expected.
    key : str
        The key of `--map` that names items in an output.
    rows : str
        The key that tells the rows of an item apart, where one has several: speakers, labels.
    """

    task: str
    item: str
    parts: Mapping[str, float]
    measures: tuple[str, ...]
    worst: Mapping[str, tuple[str, ...]]
    events: frozenset[str] = frozenset()
    hangs_together: bool = True
    key: str = "id"
    rows: str = ""


@dataclass(frozen=True, eq=False)
class Items:
    """The counted items of one system.

    Attributes
    ----------
    name : str
        Name of the system.
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
        What a reader should know.
    weights, strata : ndarray, shape (N,), optional
        Weight of each item (inverse inclusion probability), and stratum of its unit.
    units : mapping of str to tuple of ndarray, shape (N,)
        For each factor the unit of each item on each side; each item its own unit when empty.
    reference : str
        Hash of the references, where they came from arrays.
    texts : tuple of str
        Columns of the frame that hold whole texts: conditions may use them, results store none.
    show : callable, optional
        From the place of an item to labelled lines of text: how it was aligned.
    sources : tuple of polars.DataFrame
        What studies counted them from: the references, then the output.
    described : tuple of Struct
        What the page draws beside the rows (`Work.descriptions`).
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

    def __repr__(self) -> str:
        return f"<Items {self.name!r}: {self.summary}>"

    @property
    def task(self) -> str:
        """Name of the task that counted them."""
        return self.counting.task

    @property
    def item(self) -> str:
        """What they are, in the singular."""
        return self.counting.item

    @property
    def summary(self) -> str:
        """What there is, in a few words."""
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

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Name and rows of each subset that a column or a condition gives (see `masks_of`)."""
        return masks_of(self.frame, subset, self.name, self.counting.item)

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """The columns that subsets are told by, and what a row of them is."""
        return ((self.frame, self.item),)

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Ids and references, as frames whose rows have no order."""
        ids = pl.DataFrame({"id": [str(one) for one in self.ids.tolist()]})
        return ids, *self.sources[:-1], pl.DataFrame({"reference": [self.reference]})

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """What was counted, or its counts, as a frame whose rows have no order."""
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


@dataclass(frozen=True)
class _Each:
    """Statistics of items in the place of sums: every item a replicate of its own."""

    parts: Parts

    def sums(self, part: str, statistic: str) -> Array:
        return self.parts[part][statistic]


def each(measure: Measure, parts: Parts) -> npt.NDArray[np.float64]:
    """The value of a measure for each row of statistics alone.

    Parameters
    ----------
    measure : Measure
        Of items: it asks for sums and nothing else.
    parts : mapping of str to (mapping of str to ndarray, shape (N,))
        Statistics of items, or sums of units, by part.

    Returns
    -------
    ndarray of float64, shape (N,)
        NaN where undefined.
    """
    from truecost.core.application import Application

    return measure(cast("Totals", _Each(parts)), Application()).values


def measures_of(asked: Sequence[str], counting: Counting) -> list[Measure]:
    """The measures asked for, or those of the task.

    Parameters
    ----------
    asked : sequence of str
        `NAME` or `NAME:PARAMETER`.

    Raises
    ------
    UsageError
        When a measure is not known, or belongs to another task.
    """
    found = [find(name, counting.task) for name in dict.fromkeys(asked or counting.measures)]
    for measure in found:
        if not set(measure.parts) <= set(counting.parts):
            read = ((m, set(m.parts)) for m in registry(counting.task).values())
            own = [m.name for m, parts in read if parts and parts <= set(counting.parts)]
            raise UsageError(
                f"measure {measure.label!r} is not for {plural(counting.item)}: "
                f"take {', '.join(own)}"
            )
    return found


def batches(items: Items, scoring: Scoring, dims: Dims, whole: object) -> Iterator[Batch]:
    """All measures of items share the evidence: sums by unit."""
    del whole
    measures = measures_of(scoring.measures, items.counting)
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
    """The parts that measures read, as tallies by unit.

    Raises
    ------
    UsageError
        When moving blocks are asked for with several factors.
    """
    if scoring.plan.scheme == "blocks" and len(items.units) > 1:
        raise UsageError(
            f"moving blocks need one factor in time order; mapped are {', '.join(items.units)}"
        )
    wanted = dict.fromkeys(part for measure in measures for part in measure.parts)
    if lacking := [m.label for m in measures if not {*m.parts} <= {*items.parts}]:
        raise UsageError(
            f"{items.name}: {first_five(lacking)} cannot be computed from what was counted "
            f"({', '.join(items.parts)}): name it when counting, measures=({lacking[0]!r},)"
        )
    sides, strata = [], items.strata  # of the first factor
    for name, columns in (items.units or {items.counting.item: (_in_order(items.ids),)}).items():
        if strata is not None and len(columns) > 1:
            raise UsageError(f"strata and two sides ({name}) cannot be combined")
        factor, codes = Factor.of(name, np.concatenate(columns), strata)
        if strata is not None and scoring.plan.scheme_of(name) != "blocks":
            refuse_divided(name, columns[0], codes)
        sides += [(factor, side) for side in np.split(codes, len(columns))]
        strata = None
    return Evidence(
        {part: Tally.count(sides, items.parts[part], weights=items.weights) for part in wanted}
    )


def _in_order(ids: Array) -> Array:
    """Ids whose order is that of the lines, where they are numbers of lines: 10 after 9."""
    texts = pl.Series(ids.astype(str))
    return texts.cast(pl.Int64).to_numpy() if is_whole(texts) else ids


def context_of_items(items: Items, dims: Mapping[str, str]) -> Context:
    """What rows of items say besides their values: sums of each part, errors, flags, signature."""
    counting = items.counting
    sums = {
        part: {name: _seen(values.sum(), counting.parts[part]) for name, values in of.items()}
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
            items_as_units=alone,
            crossed=sum(len(sides) for sides in items.units.values()) > 1,
        ),
        item=counting.item,
        part_counts=sums,
        signature="" if items.weights is None else "weighted",
        part_signatures=items.signatures,
        part_errors=errors,
    )


def _seen(total: Any, factor: float) -> float:
    """A sum as readers see it: whole where it is."""
    value = float(total) if factor == 1 else float(total) / round(1 / factor)
    return int(value) if value.is_integer() else value


def _refuse_other_counting(a: Items, b: Items) -> None:
    """Refuse systems held against other references, or made comparable in another way."""
    if a.reference != b.reference:
        raise InputError(f"{a.name} and {b.name} are held against other references")
    for part in [part for part in a.signatures if part in b.signatures]:
        said = [_without_missing(items.signatures[part]) for items in (a, b)]
        if said[0] != said[1]:
            raise InputError(
                f"{a.name} and {b.name} were counted otherwise: {said[0]} against {said[1]}"
            )


def _without_missing(signature: str) -> str:
    """Choices without what was done about items that a system lacks."""
    return "|".join(text for text in signature.split("|") if not text.startswith("missing:"))


def pair_items(systems: Sequence[Items]) -> list[Items]:
    """The systems, refused unless they are counted by the same items.

    Parameters
    ----------
    systems : sequence of Items
        Their items are sorted by id.

    Raises
    ------
    InputError
        When items, their units, their references or the choices in counting them are not the same.
    """
    first = systems[0]
    for other in systems[1:]:
        _refuse_other_counting(first, other)
        if not np.array_equal(first.ids, other.ids):
            left, right = set(first.ids.tolist()), set(other.ids.tolist())
            raise InputError(
                f"{first.name} and {other.name} are not scored on the same "
                f"{plural(first.counting.item)}: {counted(len(left - right), 'id')} only in "
                f"{first.name} ({first_five(sorted(left - right)) or 'none'}), "
                f"{len(right - left)} only in {other.name} "
                f"({first_five(sorted(right - left)) or 'none'}); --missing worst counts what a "
                f"system lacks as empty"
            )
        for name in {**first.units, **other.units}:
            sides = [system.units.get(name, ()) for system in (first, other)]
            if len(sides[0]) != len(sides[1]) or not all(map(np.array_equal, *sides)):
                raise InputError(f"{first.name} and {other.name} have other units ({name})")
    return [*systems]
