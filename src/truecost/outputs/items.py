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
    """Description of the counts of a task whose data are items: utterances, sentences or
    recordings.

    Attributes
    ----------
    task : str
        Name of the task.
    item : str
        Name of an item in the singular, such as "utterance".
    parts : mapping of str to float
        Groups of counts, such as ``words`` and ``characters``, each with the factor from counted to
        displayed units (1e-6 from microseconds to seconds).
    measures : tuple of str
        Default measures.
    worst : mapping of str to tuple of str
        Statistics of each group whose sum is the number of errors of an item. The worst items have
        the largest sums.
    events : frozenset of str
        Groups whose errors are single events (words). The errors of other groups are durations.
    alone : frozenset of str
        Groups whose items differ from those of the task (recordings instead of utterances), so that
        they cannot be combined with other groups.
    correlated : bool
        Whether items of the same speaker or document are expected to have correlated errors. If so,
        a result without a column of units has a warning.
    key : str
        Key of the option ``map`` for the column with the id of an item.
    rows : str
        Key of the option ``map`` for the column that distinguishes the rows of an item, such as its
        speakers; empty if an item has a single row.
    """

    task: str
    item: str
    parts: Mapping[str, float]
    measures: tuple[str, ...]
    worst: Mapping[str, tuple[str, ...]]
    events: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    correlated: bool = True
    key: str = "id"
    rows: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Items(Rows):
    """Counted items (utterances, sentences or recordings) of one system.

    Attributes
    ----------
    name : str
        Name of the system.
    counting : Counting
        Description of the counts.
    ids : ndarray of str, shape (N,)
        Ids of the items, sorted.
    parts : mapping of str to (mapping of str to ndarray, shape (N,))
        Counts of each item, by group and statistic: ``parts["words"]["deletions"]``.
    frame : polars.DataFrame
        Further columns of the items, for units and subsets; one row for each item.
    signatures : mapping of str to str
        Settings of the counting that affect a group of counts, separated by `|`.
    problems : tuple of str
        Warnings about the data.
    units : mapping of str to tuple of ndarray, shape (N,)
        Unit of each item, for each resampled factor; two arrays if an item belongs to two units.
        Default: each item is a unit.
    weights : ndarray, shape (N,), optional
        Weight of each item: the inverse of the probability that it was sampled. Default: 1.
    strata : ndarray, shape (N,), optional
        Stratum of the unit of each item. Default: one stratum.
    reference : str
        Hash of the references that were given as arrays; empty for files. Systems with different
        hashes are not compared.
    texts : tuple of str
        Columns of ``frame`` with whole texts. Conditions of subsets may use them; results do not
        store them.
    show : callable, optional
        Function that takes the position of an item and returns its alignment as labelled lines of
        text.
    sources : tuple of polars.DataFrame
        Content of the counted files: the references, followed by the output.
    described : tuple of Struct
        Additional data for the report.
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
        """Name of the task that counted the items."""
        return self.counting.task

    @property
    def item(self) -> str:
        """Name of an item in the singular, such as "utterance"."""
        return self.counting.item

    @property
    def summary(self) -> str:
        """Number of items and settings of the counting, as text."""
        choices = "; ".join(dict.fromkeys(self.signatures.values()))
        return f"{counted(len(self), self.counting.item)}, {choices}"

    def take(self, rows: Array) -> "Items":
        """Items of the given rows (indices or a mask), without the function ``show``."""
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
        """Ids and references; their hash identifies the evaluation set in the results ledger."""
        ids = pl.DataFrame({"id": [str(one) for one in self.ids.tolist()]})
        return ids, *self.sources[:-1], pl.DataFrame({"reference": [self.reference]})

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Content of the output file, or the counts if there is no file. The hash of this content
        identifies the system in the results ledger.
        """
        counts = {f"{p}.{n}": v for p, of in self.parts.items() for n, v in of.items()}
        return self.sources[-1:] or (pl.DataFrame(counts),)

    def each(self, measure: Measure) -> npt.NDArray[np.float64]:
        """Value of a measure for each item alone, float64, shape (N,); NaN if it is undefined."""
        return each(measure, self.parts)

    def badness(self) -> Array:
        """Number (or duration) of the errors of each item, shape (N,), by which the worst items are
        found.
        """
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
            f"{items.name}: {measure.label} needs a column of a file, and the "
            f"{plural(items.item)} were counted without it: use tc.score with files or tables"
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
            f"moving blocks need one unit column in time order, but {', '.join(items.units)} "
            "are named: name one"
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
    alone = counting.correlated and not items.units
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
        raise InputError(
            f"{a.name} and {b.name} are scored against different references: give both the same "
            "reference"
        )
    for part in [part for part in a.signatures if part in b.signatures]:
        said = [_without_missing(items.signatures[part]) for items in (a, b)]
        if said[0] != said[1]:
            raise InputError(
                f"{a.name} and {b.name} were counted differently: {said[0]} against {said[1]}. "
                "Use the same options for both"
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
                raise InputError(
                    f"{first.name} and {other.name} have different units ({name}): give both the "
                    "same units"
                )
    return [*systems]
