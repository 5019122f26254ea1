"""A search for terms: what is to be found (`Reference`) and what a system found (`Search`).

A *trial* is one chance to be right or wrong about one query. Its meaning depends on `trial`:

- `occurrence`: virtual trials, a number of them per second of audio (Rodriguez-Fuentes &
  Penagarikano 2013, Eq. 2);
- `segment`: every segment of the audio, speech or not (OpenKWS 2013);
- `document`: every document (SWS 2011).

A *target* is what a query should find: an occurrence, or a segment or document that holds one. A
submitted trial is a detection (or the best one of its segment or document) with a score and a
decision. Trials that nobody submitted are known by their number only and are never made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import Factor, encode
from truecost.core.subsets import Masks, masks_of
from truecost.errors import InputError, UsageError, counted, near
from truecost.names import TrialUnit

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reference:
    """The occurrences that the queries should find.

    Attributes
    ----------
    queries : polars.DataFrame
        One row for each query of the list, sorted by `query` (its id); `text`, where queries have
        one, and further columns: attributes of the list.
    documents : polars.DataFrame
        One row for each document and source type, sorted: `document` (audio file), `source`,
        `seconds` that are scored, and `trials` of one query (float64: seconds times trials per
        second, or the number of segments, or 1).
    excerpts : polars.DataFrame
        The audio that is scored: `place` (row of `documents`), `channel` (text), `start` and `end`
        in seconds, sorted. Several may overlap or touch.
    occurrences : polars.DataFrame
        Occurrences of the queries within the excerpts: `query` (row of `queries`), `place` (row of
        `documents`), `channel`, `start`, `end`; sorted by these. `target` is the row of its target
        in `targets` (with occurrences as trials, each occurrence is a target).
    targets : polars.DataFrame
        Occurrences to find: `query`, `place`, and `channel`, `start`, `end`.
    segments : polars.DataFrame, optional
        In segment units every segment: `place`, `channel`, `start`, `end`, sorted; else None.
    trial : {"occurrence", "segment", "document"}
    trials_per_second : float
        Of occurrence units.
    compat : frozenset of str
        Quirks of other tools that are followed (`COMPAT`).
    language : str
        Of the list of queries, where it says so.
    signature : str
        Choices made while reading, separated by bars.
    problems : tuple of str
        Warnings for the reader.
    """

    name: str
    queries: pl.DataFrame
    documents: pl.DataFrame
    excerpts: pl.DataFrame
    occurrences: pl.DataFrame
    targets: pl.DataFrame
    segments: pl.DataFrame | None = None
    trial: TrialUnit = "occurrence"
    trials_per_second: float = 1.0
    compat: frozenset[str] = frozenset()
    language: str = ""
    signature: str = ""
    problems: tuple[str, ...] = ()

    @cached_property
    def seconds(self) -> float:
        """Audio that is scored."""
        return float(self.documents["seconds"].sum())

    @cached_property
    def trials(self) -> int:
        """Trials of one query, N (Rodriguez-Fuentes & Penagarikano 2013, Eq. 2), rounded to a whole
        number.
        """
        return round(float(self.documents["trials"].sum()))

    @cached_property
    def targets_by_query(self) -> Ints:
        """Nact of every query."""
        return np.bincount(self.targets["query"].to_numpy(), minlength=self.queries.height)

    @cached_property
    def query_factor(self) -> Factor:
        """The queries as units: in the order of `queries`."""
        return Factor.encode("query", self.queries["query"].to_numpy())[0]

    def query_units(self, attribute: str = "") -> Factor:
        """The queries as units, or as members of units that share an attribute, a column."""
        if not attribute:
            return self.query_factor
        if attribute in ("query", "document"):
            raise UsageError(
                f"query_unit is {attribute!r}, the name of a factor of its own: rename this "
                f"attribute of the queries"
            )
        known = [c for c in self.queries.columns if c != "query"]
        if attribute not in known:
            choice = f"choose among {', '.join(known)}" if known else "they have none"
            raise UsageError(
                f"queries have no attribute {attribute!r}{near(attribute, known)}: {choice}"
            )
        column = self.queries[attribute].cast(pl.String)
        if column.null_count():
            first = self.queries["query"][int(column.is_null().arg_true()[0])]
            raise InputError(
                f"{self.name}: {counted(column.null_count(), 'query', 'have')} no {attribute} "
                f"({first} for one): give each its {attribute} in the list of queries"
            )
        tied = encode(column.to_numpy())[1].astype(np.int64)
        return Factor(attribute, self.query_factor.labels, tied=tied)

    @cached_property
    def document_units(self) -> tuple[Factor, Codes]:
        """The documents as units, and the one of every row of `documents`."""
        return Factor.encode("document", self.documents["document"].to_numpy())


PHASES = ("indexing", "searching")


@dataclass(frozen=True, eq=False)
class Search:
    """The detections of one system, aligned with the reference: one row for each submitted trial.

    Attributes
    ----------
    query, place : ndarray of int32, shape (N,)
        Rows of `reference.queries` and `reference.documents`.
    score : ndarray of float64, shape (N,)
        Higher means rather an occurrence.
    accepted : ndarray of bool, shape (N,)
        Decision YES.
    target : ndarray of int32, shape (N,)
        Row of `reference.targets` that it is aligned with, -1 for none. No two rows share one.
    channel : ndarray of int32, shape (N,)
        Index into `channels`.
    start, duration : ndarray of float64, shape (N,)
        Seconds, as submitted.
    line : ndarray of int64, shape (N,), optional
        Its line in the file.
    answered : ndarray of bool, shape (queries,)
        Queries that the system lists, with or without detections.
    lowest : float
        The least score that was submitted, scored or not; NaN where there is none.
    header : mapping of str to str
        What the file says of the system and its run.
    signature : str
        Choices made while reading and aligning, separated by bars.
    problems : tuple of str
        Warnings for the reader.
    took : mapping of str to float
        What indexing and searching took by their records: hours of `cpu` and `gpu`, GB-hours of
        `memory`, and hours of `waiting` for the answers, which is searching alone.
    unrecorded : tuple of str
        Phases of which there is no record.
    beside : object, optional
        The same as the reference scorer would align it (`decisions.Beside`), where that is asked.
    """

    name: str
    reference: Reference
    query: Codes
    place: Codes
    score: Floats
    accepted: Mask
    target: Codes
    channel: Codes
    start: Floats
    duration: Floats
    channels: tuple[str, ...]
    answered: Mask
    lowest: float
    line: Ints | None = None
    header: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    problems: tuple[str, ...] = ()
    took: Mapping[str, float] = field(default_factory=dict)
    unrecorded: tuple[str, ...] = PHASES
    beside: object = None
    about: ClassVar[Mapping[str, str]] = {}
    item: ClassVar[str] = "item"
    task: ClassVar[str] = "terms"
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)  # see `counted`

    def __len__(self) -> int:
        return len(self.score)

    @property
    def summary(self) -> str:
        """The content in a few words."""
        reference, found = self.reference, int(self.found.sum())
        return (
            f"{counted(len(self), 'detection')} of {counted(reference.queries.height, 'query')} in "
            f"{counted(len(reference.document_units[0]), 'document')} ({reference.seconds:g} s); "
            f"{found} of {counted(reference.targets.height, 'target')} aligned"
        )

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """The columns of subsets, and what a row of them is."""
        return ((self.reference.queries, "query"), (self.reference.documents, "document"))

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Queries, documents and targets, as frames whose rows have no order."""
        documents = self.reference.documents.select("document", "source", "seconds")
        queries = self.reference.queries.select("query")
        return queries, documents, self._placed(self.reference.targets)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """The detections with their scores and decisions, as a frame whose rows have no order."""
        columns = {name: getattr(self, name) for name in ("query", "place", "start", "duration")}
        found = self._placed(pl.DataFrame(columns))
        return (found.with_columns(score=pl.Series(self.score), yes=pl.Series(self.accepted)),)

    def _placed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows with the names of their queries and documents."""
        query, document = self.reference.queries["query"], self.reference.documents["document"]
        times = [c for c in ("channel", "start", "end", "duration") if c in frame.columns]
        return frame.select(
            query.gather(frame["query"]), document.gather(frame["place"]).alias("place"), *times
        )

    @cached_property
    def is_target(self) -> Mask:
        """Whether each submitted trial is aligned with a target."""
        return np.asarray(self.target >= 0)

    @cached_property
    def found(self) -> Mask:
        """Whether each target is aligned with a submitted trial, whatever its decision."""
        found = np.zeros(self.reference.targets.height, bool)
        found[self.target[self.is_target]] = True
        return found

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The columns of subsets: those of the queries, then those of the documents.

        A column of one kind is null in the rows of the other.
        """
        reference = self.reference
        documents = reference.documents.drop("seconds", "trials")
        return pl.concat([reference.queries, documents], how="diagonal")

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Name and rows of `frame` of each subset of queries, or of documents.

        A subset of queries keeps all documents and the other way round; where a query has no value
        it is in no subset.
        """
        found, queries = [], self.reference.queries.height
        for name, mask in masks_of(self.frame, subset, self.name, "query or document"):
            rows = mask.copy()
            for part in (rows[:queries], rows[queries:]):
                part[:] |= not part.any()
            found.append((name, rows))
        return found

    def take(self, rows: Mask) -> "Search":
        """The search for some rows of `frame`, with the lowest score of the whole list."""
        queries = self.reference.queries.height
        reference, to_query, to_place, to_target = _take_reference(
            self.reference, rows[:queries], rows[queries:]
        )
        query, place = to_query[self.query], to_place[self.place]
        keep = (query >= 0) & (place >= 0)
        target = np.append(to_target, -1)[self.target].astype(np.int32)
        names = ("score", "accepted", "channel", "start", "duration")
        columns = {name: getattr(self, name) for name in names}
        columns |= {"query": query, "place": place, "target": target}
        return replace(
            self,
            reference=reference,
            answered=self.answered[rows[:queries]],
            line=None if self.line is None else self.line[keep],
            **{name: column[keep] for name, column in columns.items()},
        )

    @cached_property
    def lowest_by_query(self) -> Floats:
        """The lowest submitted score of each query; NaN where there is none."""
        lowest = np.full(self.reference.queries.height, np.inf)
        np.minimum.at(lowest, self.query, self.score)
        return np.where(np.isinf(lowest), np.nan, lowest)


def pair_searches(searches: Sequence[Search]) -> list[Search]:
    """Searches of one reference, as they are."""
    first = searches[0].reference
    for other in searches[1:]:
        for what in ("queries", "documents", "targets"):
            mine, own = getattr(first, what), getattr(other.reference, what)
            if mine is not own and not mine.equals(own):
                raise InputError(
                    f"{searches[0].name} and {other.name} have other {what}: score both against "
                    f"one reference"
                )
    return [*searches]


def _take_reference(
    reference: Reference, queries: Mask, places: Mask
) -> tuple[Reference, Codes, Codes, Codes]:
    """Some queries and documents of a reference, and the new row of each old one (-1 for none)."""
    numbers = {"query": _renumbered(queries), "place": _renumbered(places)}

    def some(frame: pl.DataFrame) -> pl.DataFrame:
        found = frame.filter(pl.Series(inside(frame)))
        return found.with_columns(
            pl.Series(c, numbers[c][found[c].to_numpy()]) for c in numbers if c in found.columns
        )

    def inside(frame: pl.DataFrame) -> Mask:
        here = places[frame["place"].to_numpy()]
        if "query" in frame.columns:
            here = here & queries[frame["query"].to_numpy()]
        return np.asarray(here)

    targets = inside(reference.targets)
    numbers["target"] = _renumbered(targets)
    segments = reference.segments
    found = replace(
        reference,
        queries=reference.queries.filter(pl.Series(queries)),
        documents=reference.documents.filter(pl.Series(places)),
        excerpts=some(reference.excerpts),
        occurrences=some(reference.occurrences),
        targets=some(reference.targets),
        segments=None if segments is None else some(segments),
    )
    return found, numbers["query"], numbers["place"], numbers["target"]


def _renumbered(keep: Mask) -> Codes:
    """The place of each row among those that are kept, -1 for the others."""
    return np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
