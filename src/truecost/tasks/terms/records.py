"""A search for terms: what is to be found (`Reference`) and what a system found (`Search`).

A *trial* is one chance to be right or wrong about one query. What it is depends on the *unit*:

- `occurrence`: virtual trials, a number of them per second of audio (paper 002, Eq. 2);
- `segment`: every segment of the audio, speech or not (OpenKWS 2013);
- `document`: every document (SWS 2011).

A *target* is what a query should find: an occurrence, or a segment or document that holds one. A
submitted trial is a detection (or the best one of its segment or document) with a score and a
decision. Trials that nobody submitted are known by their number only and are never made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import Factor, encode
from truecost.core.subsets import Masks, masks_of
from truecost.errors import InputError, UsageError, counted, near

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Unit = Literal["occurrence", "segment", "document"]


@dataclass(frozen=True, eq=False)
class Reference:
    """What the queries should find, and where.

    Attributes
    ----------
    name : str
        Of the files, for messages.
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
        Where the queries occur within the excerpts: `query` (row of `queries`), `place` (row of
        `documents`), `channel`, `start`, `end`; sorted by these. `target` is the row of `targets`
        that it makes (its own in occurrence units).
    targets : polars.DataFrame
        What is to be found: `query`, `place`, and where it is, `channel`, `start`, `end`.
    segments : polars.DataFrame, optional
        In segment units every segment: `place`, `channel`, `start`, `end`, sorted; else None.
    unit : {"occurrence", "segment", "document"}
    trials_per_second : float
        Of occurrence units.
    compat : frozenset of str
        Quirks of other tools that are followed (`COMPAT`).
    language : str
        Of the list of queries, where it says so.
    signature : str
        Choices made while reading, separated by bars.
    problems : tuple of str
        What a reader should know.
    """

    name: str
    queries: pl.DataFrame
    documents: pl.DataFrame
    excerpts: pl.DataFrame
    occurrences: pl.DataFrame
    targets: pl.DataFrame
    segments: pl.DataFrame | None = None
    unit: Unit = "occurrence"
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
        """Trials of one query, N (paper 002, Eq. 2), rounded to a whole number."""
        return round(float(self.documents["trials"].sum()))

    @cached_property
    def targets_by_query(self) -> npt.NDArray[np.int64]:
        """Nact of every query."""
        return np.bincount(self.targets["query"].to_numpy(), minlength=self.queries.height)

    @cached_property
    def query_factor(self) -> Factor:
        """The queries as units: in the order of `queries`."""
        return Factor.of("query", self.queries["query"].to_numpy())[0]

    def query_units(self, attribute: str = "") -> Factor:
        """The queries as units, or as members of units that share an attribute.

        Parameters
        ----------
        attribute : str
            Column of `queries`; each query is a unit of its own when left out.

        Raises
        ------
        UsageError
            When there is no such attribute.
        InputError
            When a query has none.
        """
        if not attribute:
            return self.query_factor
        if attribute in ("query", "document"):
            raise UsageError(
                f"query_unit is {attribute!r}, the name of a factor of its own: rename this "
                f"attribute of the queries"
            )
        known = [c for c in self.queries.columns if c != "query"]
        if attribute not in known:
            said = f"choose among {', '.join(known)}" if known else "they have none"
            raise UsageError(
                f"queries have no attribute {attribute!r}{near(attribute, known)}: {said}"
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
        return Factor.of("document", self.documents["document"].to_numpy())


@dataclass(frozen=True, eq=False)
class Search:
    """What one system found, aligned with the reference: one row for each submitted trial.

    Attributes
    ----------
    name : str
        Of the system.
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
        Where it stands in the file.
    answered : ndarray of bool, shape (queries,)
        Queries that the system lists, with or without detections.
    lowest : float
        The least score that was submitted, scored or not; NaN where there is none.
    header : mapping of str to str
        What the file says of the system and its run.
    signature : str
        Choices made while reading and aligning, separated by bars.
    problems : tuple of str
        What a reader should know.
    """

    name: str
    reference: Reference
    query: Codes
    place: Codes
    score: Floats
    accepted: npt.NDArray[np.bool_]
    target: Codes
    channel: Codes
    start: Floats
    duration: Floats
    channels: tuple[str, ...]
    answered: npt.NDArray[np.bool_]
    lowest: float
    line: npt.NDArray[np.int64] | None = None
    header: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    problems: tuple[str, ...] = ()
    about: ClassVar[Mapping[str, str]] = {}
    item: ClassVar[str] = "item"
    task: ClassVar[str] = "terms"
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)  # see `counted`

    def __len__(self) -> int:
        return len(self.score)

    @property
    def summary(self) -> str:
        """What there is, in a few words."""
        reference, found = self.reference, int(self.found.sum())
        return (
            f"{counted(len(self), 'detection')} of {counted(reference.queries.height, 'query')} in "
            f"{counted(len(reference.document_units[0]), 'document')} ({reference.seconds:g} s); "
            f"{found} of {counted(reference.targets.height, 'target')} aligned"
        )

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """The columns that subsets are told by, and what a row of them is."""
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
        reference = self.reference
        names = (
            reference.queries["query"].gather(frame["query"]),
            reference.documents["document"].gather(frame["place"]).alias("place"),
        )
        times = [c for c in ("channel", "start", "end", "duration") if c in frame.columns]
        return pl.DataFrame(names).hstack(frame.select(times))

    @cached_property
    def is_target(self) -> npt.NDArray[np.bool_]:
        """Whether each submitted trial is aligned with a target."""
        return np.asarray(self.target >= 0)

    @cached_property
    def found(self) -> npt.NDArray[np.bool_]:
        """Whether each target is aligned with a submitted trial, whatever its decision."""
        found = np.zeros(self.reference.targets.height, bool)
        found[self.target[self.is_target]] = True
        return found

    @cached_property
    def frame(self) -> pl.DataFrame:
        """What subsets are told by: the rows of the queries, then those of the documents.

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
            if not rows[:queries].any():
                rows[:queries] = True
            if not rows[queries:].any():
                rows[queries:] = True
            found.append((name, rows))
        return found

    def take(self, rows: npt.NDArray[np.bool_]) -> "Search":
        """The search for some queries in some documents.

        Parameters
        ----------
        rows : ndarray of bool
            Of `frame`.

        Returns
        -------
        Search
            With the lowest score of the whole list.
        """
        queries = self.reference.queries.height
        reference, to_query, to_place, to_target = _taken(
            self.reference, rows[:queries], rows[queries:]
        )
        keep = (to_query[self.query] >= 0) & (to_place[self.place] >= 0)
        target = np.append(to_target, -1)[self.target]
        return replace(
            self,
            reference=reference,
            query=to_query[self.query[keep]],
            place=to_place[self.place[keep]],
            score=self.score[keep],
            accepted=self.accepted[keep],
            target=target[keep].astype(np.int32),
            channel=self.channel[keep],
            start=self.start[keep],
            duration=self.duration[keep],
            answered=self.answered[rows[:queries]],
            line=None if self.line is None else self.line[keep],
        )

    @cached_property
    def lowest_by_query(self) -> Floats:
        """The lowest submitted score of each query; NaN where there is none."""
        lowest = np.full(self.reference.queries.height, np.inf)
        np.minimum.at(lowest, self.query, self.score)
        return np.where(np.isinf(lowest), np.nan, lowest)


def pair_searches(searches: Sequence[Search]) -> list[Search]:
    """Searches of one reference, as they are.

    Raises
    ------
    UsageError
        When some systems are no searches.
    InputError
        When their queries, documents or targets are not the same.
    """
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


def _taken(
    reference: Reference, queries: npt.NDArray[np.bool_], places: npt.NDArray[np.bool_]
) -> tuple[Reference, Codes, Codes, Codes]:
    """Some queries and documents of a reference, and the new row of each old one (-1 for none)."""
    to_query, to_place = _renumbered(queries), _renumbered(places)
    of_queries, of_places = (np.flatnonzero(kept).astype(np.int32) for kept in (queries, places))

    def some(frame: pl.DataFrame, keep: npt.NDArray[np.bool_]) -> pl.DataFrame:
        found = frame.filter(pl.Series(keep))
        numbers = {"query": to_query, "place": to_place}
        return found.with_columns(
            pl.Series(c, numbers[c][found[c].to_numpy()]) for c in numbers if c in found.columns
        )

    def kept(frame: pl.DataFrame) -> npt.NDArray[np.bool_]:
        here = places[frame["place"].to_numpy()]
        if "query" in frame.columns:
            here = here & queries[frame["query"].to_numpy()]
        return np.asarray(here)

    targets = kept(reference.targets)
    to_target = _renumbered(targets)
    occurrences = some(reference.occurrences, kept(reference.occurrences))
    if "target" in occurrences.columns:
        column = to_target[occurrences["target"].to_numpy()]
        occurrences = occurrences.with_columns(pl.Series("target", column))
    segments = reference.segments
    found = replace(
        reference,
        queries=reference.queries[of_queries],
        documents=reference.documents[of_places],
        excerpts=some(reference.excerpts, kept(reference.excerpts)),
        occurrences=occurrences,
        targets=some(reference.targets, targets),
        segments=None if segments is None else some(segments, kept(segments)),
    )
    return found, to_query, to_place, to_target


def _renumbered(keep: npt.NDArray[np.bool_]) -> Codes:
    """The place of each row among those that are kept, -1 for the others."""
    return np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
