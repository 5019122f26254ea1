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
    """Reference of a keyword search: the queries, the scored audio, and the occurrences of the
    queries in it.

    In the frames of excerpts, occurrences, targets and segments, the columns ``query`` and
    ``place`` are row numbers of ``queries`` and ``documents``. Times are in seconds.

    Attributes
    ----------
    name : str
        Name of the reference in messages.
    queries : polars.DataFrame
        Queries, sorted by the column ``query`` (id). The column ``text`` is missing if queries are
        audio; further columns are attributes of the queries.
    documents : polars.DataFrame
        Audio files, sorted, with the columns:

        - ``document``, ``source``: name of the file and type of its audio;
        - ``seconds``: duration of the scored audio;
        - ``trials``: number of trials of one query in the file, which may be a fraction.
    excerpts : polars.DataFrame
        Scored parts of the audio, sorted, with the columns ``place``, ``channel``, ``start`` and
        ``end``. They may overlap.
    occurrences : polars.DataFrame
        Occurrences of the queries in the excerpts, sorted, with the columns ``query``, ``place``,
        ``channel``, ``start``, ``end`` and ``target`` (row number in ``targets``).
    targets : polars.DataFrame
        Trials that a system should find, with the columns ``query``, ``place``, ``channel``,
        ``start`` and ``end``. A target is an occurrence, or a segment or document that contains one
        (see ``trial``).
    segments : polars.DataFrame, optional
        All segments, sorted, with the columns ``place``, ``channel``, ``start`` and ``end``. None
        if trials are not segments.
    trial : {"occurrence", "segment", "document"}
        Definition of a trial (see :class:`truecost.tasks.terms.ReferenceOptions`).
    trials_per_second : float
        Number of trials of a query in each second of audio, if trials are occurrences.
    compat : frozenset of str
        Quirks of the scorer F4DE that are reproduced (names in ``COMPAT``).
    language : str
        Language of the queries; empty if not stated.
    signature : str
        Settings with which the reference was read, separated by `|`.
    problems : tuple of str
        Warnings about the data.
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
        """Duration of the scored audio in seconds."""
        return float(self.documents["seconds"].sum())

    @cached_property
    def trials(self) -> int:
        """Number of trials of one query, N (Rodriguez-Fuentes & Penagarikano 2013, Eq. 2), rounded
        to an integer.
        """
        return round(float(self.documents["trials"].sum()))

    @cached_property
    def targets_by_query(self) -> Ints:
        """Number of targets of each query, int64, shape (queries,)."""
        return np.bincount(self.targets["query"].to_numpy(), minlength=self.queries.height)

    @cached_property
    def query_factor(self) -> Factor:
        """Factor for the bootstrap in which each query is a unit, in the order of ``queries``."""
        return Factor.encode("query", self.queries["query"].to_numpy())[0]

    def query_units(self, attribute: str = "") -> Factor:
        """Factor for the bootstrap of the queries.

        Parameters
        ----------
        attribute : str
            Column of ``queries``, such as the voice. Queries with the same value are a unit and are
            drawn together. Default: each query is a unit.
        """
        if not attribute:
            return self.query_factor
        if attribute in ("query", "document"):
            raise UsageError(
                f"query_unit {attribute!r} is the name of a factor: give the name of an attribute "
                "of the queries, or rename this one"
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
                f"(the first is {first}): add it to the list of queries"
            )
        tied = encode(column.to_numpy())[1].astype(np.int64)
        return Factor(attribute, self.query_factor.labels, tied=tied)

    @cached_property
    def document_units(self) -> tuple[Factor, Codes]:
        """Factor whose units are the documents, and the index of the unit of each document."""
        return Factor.encode("document", self.documents["document"].to_numpy())


PHASES = ("indexing", "searching")


@dataclass(frozen=True, eq=False)
class Search:
    """Detections of one system in a keyword search, aligned with the reference. N is the number of
    detections.

    Attributes
    ----------
    name : str
        Name of the system.
    reference : Reference
        Queries, audio and occurrences.
    query, place : ndarray of int32, shape (N,)
        Query and audio file of each detection: row numbers in ``reference.queries`` and
        ``reference.documents``.
    score : ndarray of float64, shape (N,)
        Score of each detection; a higher score means that an occurrence is more likely.
    accepted : ndarray of bool, shape (N,)
        Whether the decision of the system is YES.
    target : ndarray of int32, shape (N,)
        Row number of the aligned target in ``reference.targets``; -1 if the detection has no
        target. Each target is aligned with at most one detection.
    channel : ndarray of int32, shape (N,)
        Index of the channel in ``channels``.
    start, duration : ndarray of float64, shape (N,)
        Times of each detection in seconds, as submitted.
    channels : tuple of str
        Names of the channels.
    answered : ndarray of bool, shape (queries,)
        Whether the list of the system contains the query, with or without detections.
    lowest : float
        Lowest submitted score, including detections that are not scored; NaN if there is no
        detection.
    line : ndarray of int64, shape (N,), optional
        Line of each detection in the file.
    header : mapping of str to str
        Description of the system in the head of the file.
    signature : str
        Settings with which the detections were read and aligned, separated by `|`.
    problems : tuple of str
        Warnings about the data.
    took : mapping of str to float
        Hours of ``cpu`` and ``gpu`` and GB-hours of ``memory``, of indexing plus searching; hours
        of ``waiting``, of searching only. Empty if nothing was recorded.
    unrecorded : tuple of str
        Phases (indexing, searching) whose resources were not recorded.
    beside : object, optional
        Alignment of the same search with all quirks of the scorer F4DE, to report how the values
        would differ. Default: not computed.
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
        """Numbers of detections, queries, documents and aligned targets, as text."""
        reference, found = self.reference, int(self.found.sum())
        return (
            f"{counted(len(self), 'detection')} of {counted(reference.queries.height, 'query')} in "
            f"{counted(len(reference.document_units[0]), 'document')} ({reference.seconds:g} s); "
            f"{found} of {counted(reference.targets.height, 'target')} aligned"
        )

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """Attributes that define subsets: a frame of the queries and a frame of the documents, each
        with the noun for its rows (query, document).
        """
        return ((self.reference.queries, "query"), (self.reference.documents, "document"))

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Queries, documents and targets; their hash identifies the evaluation set in the results
        ledger.
        """
        documents = self.reference.documents.select("document", "source", "seconds")
        queries = self.reference.queries.select("query")
        return queries, documents, self._placed(self.reference.targets)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Detections with scores and decisions; their hash identifies the system in the ledger."""
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
        """Whether each detection is aligned with a target, shape (N,)."""
        return np.asarray(self.target >= 0)

    @cached_property
    def found(self) -> Mask:
        """Whether each target is aligned with a detection, accepted or not, shape (targets,)."""
        found = np.zeros(self.reference.targets.height, bool)
        found[self.target[self.is_target]] = True
        return found

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Attributes of the queries (first rows) and of the documents (last rows), which define
        subsets.

        Columns of the queries are null in the rows of the documents, and columns of the documents
        are null in the rows of the queries.
        """
        reference = self.reference
        documents = reference.documents.drop("seconds", "trials")
        return pl.concat([reference.queries, documents], how="diagonal")

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Names of the subsets that ``subset`` (a column of ``frame``, or an SQL condition)
        defines, each with a mask of the rows of ``frame``.

        A subset of queries contains all documents, and a subset of documents contains all queries.
        A query without a value in the column is in no subset.
        """
        found, queries = [], self.reference.queries.height
        for name, mask in masks_of(self.frame, subset, self.name, "query or document"):
            rows = mask.copy()
            for part in (rows[:queries], rows[queries:]):
                part[:] |= not part.any()
            found.append((name, rows))
        return found

    def take(self, rows: Mask) -> "Search":
        """Detections for some queries and documents: ``rows`` is a mask of ``frame``. The
        attribute ``lowest`` is unchanged.
        """
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
        """Lowest submitted score of each query, shape (queries,); NaN for a query without
        detections.
        """
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
                    f"{searches[0].name} and {other.name} have different {what}: score both "
                    f"against one reference"
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
