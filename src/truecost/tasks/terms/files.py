"""A reference and what a system found, from files or from frames."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from truecost.errors import UsageError
from truecost.formats import detections, ecf, kwlist, lexemes
from truecost.formats import occurrences as occurrence_lists
from truecost.formats.table import Table
from truecost.formats.terms import Listing
from truecost.tasks.terms.records import Reference, Search
from truecost.tasks.terms.reference import ReferenceOptions, load_reference
from truecost.tasks.terms.searching import SearchOptions, load_search

T = TypeVar("T")
Input = str | Path | pl.DataFrame | Table


def read_reference(
    audio: Input,
    queries: Input | None = None,
    *,
    rttm: str | Path | None = None,
    occurrences: Input | None = None,
    options: ReferenceOptions | None = None,
    columns: Mapping[str, str] | None = None,
) -> Reference:
    """What queries should find, and where.

    Parameters
    ----------
    audio : str, Path or polars.DataFrame
        An ECF, or a table: `document`, `duration` (seconds), and where there are some `start`,
        `channel`, `source`.
    queries : str, Path or polars.DataFrame, optional
        A kwlist or tlist, or a table: `query`, `text`, attributes. Those of the occurrences when
        left out.
    rttm : str or Path, optional
        The words that were said.
    occurrences : str, Path or polars.DataFrame, optional
        In place of an RTTM, where the queries occur: `query`, `document`, `start`, `end`.
    columns : mapping of str to str, optional
        Columns of the occurrences that have other names.

    Raises
    ------
    UsageError, InputError
        When a file cannot be read, or they do not go together.

    Examples
    --------
    >>> import polars as pl
    >>> import truecost as tc
    >>> audio = pl.DataFrame({"document": ["a", "b"], "duration": [600.0, 600.0]})
    >>> said = pl.DataFrame(
    ...     {"query": ["one", "one", "two"], "document": ["a", "b", "b"],
    ...      "start": [3.0, 10.0, 20.0], "end": [3.5, 10.5, 20.5]}
    ... )
    >>> reference = tc.terms.read_reference(audio, occurrences=said)
    >>> reference.trials, reference.targets_by_query.tolist()
    (1200, [2, 1])
    """
    listed = audio_of(audio)
    asked = None if queries is None else queries_of(queries)
    said = None if rttm is None else lexemes.read_lexemes(_path(rttm, "rttm", "a file name"))
    found = None
    if occurrences is not None:
        found = _either(
            occurrences,
            lambda path: occurrence_lists.read_occurrences(path, columns=columns),
            lambda table: occurrence_lists.of_table(table, columns),
            "occurrences",
        )
    return load_reference(listed, asked, speech=said, occurrences=found, options=options)


def audio_of(given: Input) -> Listing:
    """The excerpts that are searched; UsageError and InputError as `read_reference` says."""
    return _either(given, ecf.read_ecf, ecf.of_table, "audio")


def queries_of(given: Input) -> Listing:
    """The queries; UsageError and InputError as `read_reference` says."""
    return _either(given, kwlist.read_kwlist, kwlist.of_table, "queries")


def read_search(
    found: Input,
    reference: Reference,
    options: SearchOptions | None = None,
    *,
    name: str = "",
    columns: Mapping[str, str] | None = None,
) -> Search:
    """What a system found, aligned with a reference.

    Parameters
    ----------
    found : str, Path or polars.DataFrame
        A kwslist or stdlist, or a table: `query`, `document`, `start`, `duration` or `end`,
        `score`, `decision`.
    options : SearchOptions, optional
        Those of the reference's compat when left out.
    name : str
        Of the system; that of the file when left out.
    columns : mapping of str to str, optional
        Columns of a table that have other names.

    Raises
    ------
    UsageError, InputError
        When the file cannot be read, or does not go with the reference.

    Examples
    --------
    >>> import polars as pl
    >>> import truecost as tc
    >>> audio = pl.DataFrame({"document": ["a", "b"], "duration": [600.0, 600.0]})
    >>> said = pl.DataFrame(
    ...     {"query": ["one", "one", "two"], "document": ["a", "b", "b"],
    ...      "start": [3.0, 10.0, 20.0], "end": [3.5, 10.5, 20.5]}
    ... )
    >>> heard = pl.DataFrame(
    ...     {"query": ["one", "two", "two"], "document": ["a", "a", "b"],
    ...      "start": [3.1, 7.0, 20.0], "duration": [0.4, 0.5, 0.6],
    ...      "score": [2.0, -1.0, 1.5], "decision": ["YES", "NO", "YES"]}
    ... )
    >>> reference = tc.terms.read_reference(audio, occurrences=said)
    >>> search = tc.terms.read_search(heard, reference)
    >>> scoring = tc.Scoring(tc.preset("sws-2013"), ("atwv", "mtwv"), tc.Plan(100))
    >>> [(row.measure, row.value) for row in tc.score_system(search, scoring)]
    [('atwv', 0.75), ('mtwv', 0.75)]
    """
    listed = _either(
        found,
        lambda path: detections.read_detections(path, columns=columns),
        lambda table: detections.of_table(table, columns),
        "detections",
    )
    own = options or SearchOptions(compat=reference.compat)
    search = load_search(listed, reference, own)
    return replace(search, name=name) if name else search


def _either(
    given: Input,
    read: Callable[[str], T],
    of_table: Callable[[Table], T],
    what: str,
) -> T:
    """What a file holds, or a table."""
    if isinstance(given, pl.DataFrame):
        given = Table(what, given)
    if isinstance(given, Table):
        return of_table(given)
    return read(_path(given, what))


def _path(given: object, what: str, wanted: str = "a file name or a polars DataFrame") -> str:
    """The name of a file; anything else is refused."""
    if isinstance(given, str | Path):
        return str(given)
    lazy = " (LazyFrame: .collect())" if isinstance(given, pl.LazyFrame) else ""
    raise UsageError(f"{what}: this is a {type(given).__name__}; give {wanted}{lazy}")
