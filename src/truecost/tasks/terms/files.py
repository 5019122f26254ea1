"""A reference and what a system found, from files or frames; lists checked without a reference;
what decides where the decisions of a list do not count, and what quirks of the reference scorer
move.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from truecost.core.application import Application
from truecost.core.digits import figure, signed
from truecost.core.evidence import totals
from truecost.core.weights import Weights
from truecost.errors import UsageError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.formats.searches import read_detections, read_ecf, read_kwlist, read_occurrences
from truecost.formats.table import Table
from truecost.formats.terms import Listing, read_lexemes
from truecost.study.columns import NONE_BELOW
from truecost.study.settings import application_of
from truecost.study.validation import Check
from truecost.tasks.terms.aligning import load_search
from truecost.tasks.terms.counting import Counted, evidence_of, with_prior
from truecost.tasks.terms.measures import atwv
from truecost.tasks.terms.options import F4DE, ReferenceOptions, SearchOptions, TermsScoring
from truecost.tasks.terms.records import Reference, Search
from truecost.tasks.terms.reference import load_reference
from truecost.tasks.terms.scoring import check_decisions, floors_differ, measures_of
from truecost.tasks.terms.stretches import near_name

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Part, Problem
    from truecost.study.tables import ApplicationTable, DataTable


def check_list(detections: DetectionList, kind: str | None = None) -> list[Check]:
    """The facts of a list of detections, and warnings about it on its own.

    `kind` is the type of the scores, llr or score.
    """
    size = f"{counted(len(detections), 'detection')} of {counted(len(detections.queries), 'query')}"
    odd = (
        *(*_decisions(detections), *_scores(detections, kind)),
        *(*_lowest(detections), *_duplicates(detections)),
    )
    return [
        Check("rows", "ok", f"{detections.source}: {size} read"),
        *(Check(name, "warning", f"{detections.source}: {text}") for name, text in odd),
    ]


def _decisions(detections: DetectionList) -> Iterator[tuple[str, str]]:
    """Decisions that a threshold could not have made, or that leave nothing beyond it."""
    accepted = detections.accepted
    if not len(accepted):
        yield "rows", "nothing is submitted: every occurrence is missed"
        return
    if accepted.all():
        yield (
            "decisions",
            "every decision is YES, so nothing is submitted below the decision threshold: curves "
            "and Cnxe mean little; submit detections far below it too, with the decision NO "
            "(Rodriguez-Fuentes & Penagarikano 2013, section 4.1)",
        )
    elif not accepted.any():
        yield "decisions", "every decision is NO: every occurrence is missed"
    for text in check_decisions(detections, frozenset()):
        yield "decisions", text


def _scores(detections: DetectionList, kind: str | None) -> Iterator[tuple[str, str]]:
    """Scores that are right in form but odd."""
    scores = detections.score
    if not len(scores):
        return
    low, high = float(scores.min()), float(scores.max())
    if len(scores) > 1 and low == high:
        yield "scores", f"all scores are {low:g}: they distinguish nothing"
    elif kind == "llr" and low >= 0 and high <= 1:
        yield (
            "scores",
            f"all scores lie between {figure(low)} and {figure(high)}: if they are probabilities, "
            f"they are not log-likelihood ratios; give ln(p / (1 - p)) minus the log odds of their "
            f"prior, or leave out --type llr",
        )
    elif kind == "llr" and low >= 0:
        yield "scores", f"{NONE_BELOW}, which is unusual: for plain scores, leave out --type llr"


def _lowest(detections: DetectionList) -> Iterator[tuple[str, str]]:
    """Lowest scores of queries that lie further apart than one cut would leave them."""
    lowest = np.full(len(detections.queries), np.inf)
    np.minimum.at(lowest, detections.query, detections.score)
    known = lowest[np.isfinite(lowest)]
    if floors_differ(known, detections.score):
        yield (
            "scores",
            f"the lowest scores of queries differ much, from {figure(known.min())} to "
            f"{figure(known.max())}: trials that are not submitted count with the lowest of all, "
            f"which fits few of them (Rodriguez-Fuentes & Penagarikano 2013, footnote 6); submit "
            f"all queries down to one common score",
        )


def _duplicates(detections: DetectionList) -> Iterator[tuple[str, str]]:
    """Detections that are listed twice."""
    key = ["query", "document", "channel", "start", "duration"]
    rows = pl.DataFrame({name: getattr(detections, name) for name in key}).with_row_index("row")
    firsts = rows.select("row", first=pl.col("row").first().over(key))
    again = firsts.filter(pl.col("row") != pl.col("first"))
    if len(again):
        pairs = again.head(6).rows()
        shown = first_five(f"{detections.where(b)} as {detections.where(a)}" for b, a in pairs)
        yield (
            "duplicates",
            f"{counted(len(again), 'detection', 'repeat')} an earlier one (same query, file and "
            f"time): {shown}; each repetition counts as a false alarm",
        )


def check_queries(detections: DetectionList, queries: pl.Series, source: str) -> list[Check]:
    """Whether the queries of a list of detections are those that were asked for, in a source."""
    listed = detections.answers
    foreign = listed.filter(~pl.col("query").is_in(queries.implode()))
    absent = queries.filter(~queries.is_in(listed["query"].implode()))
    found = []
    if len(foreign):
        hint = near_name(foreign["query"][0], absent)
        places = foreign.select("query", "line").rows()
        where = (f"{name} ({detections.noun} {line})" for name, line in places)
        said = f"{counted(len(foreign), 'query', 'are')} not in {source}: {first_five(where)}{hint}"
        found.append(Check("queries", "error", f"{detections.source}: {said}"))
    if len(absent):
        said = (
            f"{counted(len(absent), 'query')} of {source} not answered: {first_five(absent)}; "
            f"all their occurrences count as missed"
        )
        found.append(Check("queries", "warning", f"{detections.source}: {said}"))
    said = f"{detections.source}: the queries are those of {source}"
    return found or [Check("queries", "ok", said)]


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
    """Read the reference of a keyword search: queries, audio, and occurrences of the queries.

    Parameters
    ----------
    audio : str, Path or polars.DataFrame
        Scored audio: an ECF file, or a table with the columns ``document`` and ``duration``
        (seconds), and optionally ``start``, ``channel`` and ``source``.
    queries : str, Path or polars.DataFrame, optional
        Queries: a kwlist or tlist file, or a table with the columns ``query`` and ``text``, and
        attributes. Default: the queries in ``occurrences``.
    rttm : str or Path, optional
        RTTM file with the spoken words, in which the queries are searched. Give either ``rttm`` or
        ``occurrences``.
    occurrences : str, Path or polars.DataFrame, optional
        Table of the occurrences, with the columns ``query``, ``document``, ``start`` and ``end``.
    options : ReferenceOptions, optional
        Definition of trials and occurrences. Default: ``ReferenceOptions()``.
    columns : mapping of str to str, optional
        Names of the columns of ``occurrences``, if they differ: ``{"document": "file"}`` if
        ``file`` is the column of the documents.

    Raises
    ------
    UsageError, InputError
        If a file cannot be read, or the files do not fit together.

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
    said = None if rttm is None else read_lexemes(_path(rttm, "rttm", "a file name"))
    found = None
    if occurrences is not None:
        found = read_occurrences(_input(occurrences, "occurrences"), columns=columns)
    return load_reference(listed, asked, speech=said, occurrences=found, options=options)


def audio_of(given: Input) -> Listing:
    """The excerpts that are searched."""
    return read_ecf(_input(given, "audio"))


def queries_of(given: Input) -> Listing:
    """The queries."""
    return read_kwlist(_input(given, "queries"))


def read_search(
    found: Input,
    reference: Reference,
    options: SearchOptions | None = None,
    *,
    name: str = "",
    columns: Mapping[str, str] | None = None,
) -> Search:
    """Read the detections of a system, and align them with a reference.

    Parameters
    ----------
    found : str, Path or polars.DataFrame
        Detections: a kwslist or stdlist file, or a table with the columns ``query``, ``document``,
        ``start``, ``duration`` (or ``end``), ``score`` and ``decision``.
    reference : Reference
        Queries, audio and occurrences.
    options : SearchOptions, optional
        Options of the alignment. Default: a tolerance of 0.5 s, and the ``compat`` of the
        reference.
    name : str
        Name of the system. Default: the name in the file.
    columns : mapping of str to str, optional
        Names of the columns of the table, if they differ: ``{"document": "file"}`` if ``file`` is
        the column of the documents.

    Raises
    ------
    UsageError, InputError
        If the file cannot be read, or does not fit the reference.

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
    listed = read_detections(_input(found, "detections"), columns=columns)
    own = options or SearchOptions(compat=reference.compat)
    search = load_search(listed, reference, own)
    return replace(search, name=name) if name else search


def _input(given: Input, what: str) -> str | Table:
    """The name of a file, or a table."""
    if isinstance(given, Table):
        return given
    return Table(what, given) if isinstance(given, pl.DataFrame) else _path(given, what)


def _path(given: object, what: str, wanted: str = "a file name or a polars DataFrame") -> str:
    """The name of a file; anything else is refused."""
    if isinstance(given, str | Path):
        return str(given)
    lazy = " (LazyFrame: .collect())" if isinstance(given, pl.LazyFrame) else ""
    raise UsageError(f"{what}: this is a {type(given).__name__}; give {wanted}{lazy}")


NIST = "nist-"  # presets of evaluations that KWSEval scored


def decided(
    detections: DetectionList, data: "DataTable", reference: Reference, study: "Study"
) -> tuple[DetectionList, str]:
    """Detections with the decisions of the stated threshold, and what the signature says of it;
    their own where none is stated.
    """
    if data.threshold is None:
        return detections, ""
    at = float(data.threshold) if data.threshold != "bayes" else _bayes(data, reference, study)
    said = f"threshold:{'bayes' if data.threshold == 'bayes' else f'{at:.10g}'}"
    return replace(detections, accepted=np.asarray(detections.score >= at)), said


def _bayes(data: "DataTable", reference: Reference, study: "Study") -> float:
    """The Bayes threshold of the application of a study, -logit(Ptar) (Rodriguez-Fuentes &
    Penagarikano 2013, Eq. 30).
    """
    if data.type != "llr":
        raise UsageError(
            "--threshold bayes treats scores as natural-log likelihood ratios: use --type llr if "
            "they are, or give the threshold as a number"
        )
    if study.applications:
        raise UsageError(
            "--threshold bayes needs one application, and the study has several: give a number, "
            "or use the measure twv_bayes, which uses the threshold of each"
        )
    application = application_of(study.application)
    if application.costs is None:
        raise UsageError(
            "--threshold bayes needs costs and a prior: give --preset, or --cost-miss, --cost-fa "
            "and --prior"
        )
    return with_prior(application, reference).threshold


def from_nist(study: "Study") -> bool:
    """Whether an application of a study is one of NIST's, and no quirk is asked for."""
    tables: Sequence[ApplicationTable] = (study.application, *study.applications.values())
    return any((table.preset or "").startswith(NIST) for table in tables)


def alike(one: Reference, other: Reference) -> bool:
    """Whether two readings of a reference ask for the same in the same audio."""
    frames = ("documents", "excerpts", "targets")
    same = all(getattr(one, name).equals(getattr(other, name)) for name in frames)
    return same and one.trials == other.trials


@dataclass(frozen=True)
class ScorerDifference:
    """A search as the reference scorer would align it; None where nothing differs."""

    search: Search | None


def on_quirks(part: "Part") -> "list[Problem]":
    """A note that the quirks of NIST's scorer are off, with the effect on ATWV."""
    from truecost.study.outcome import Problem

    found = []
    for search in part.systems:
        if not isinstance(search, Search) or not isinstance(search.beside, ScorerDifference):
            continue
        scoring = part.scoring[search.name]
        application, how = scoring.application, scoring.chosen(TermsScoring)
        if not application.name.startswith(NIST):
            continue
        own = _atwv(search, application, how)
        other = (
            own if search.beside.search is None else _atwv(search.beside.search, application, how)
        )
        said = "would be the same"
        if own != other:
            said = f"of {search.name} would be {figure(other)}, not {figure(own)}"
            said += f" ({signed(other - own)})"
        message = (
            f"the alignment differs from NIST's scorer KWSEval in some details. With --compat "
            f"{F4DE}, which follows the scorer, atwv {said}"
        )
        found.append(Problem(kind="advice", message=message))
    return found


def _atwv(search: Search, application: Application, how: TermsScoring) -> float:
    """ATWV at the point."""
    count = Counted.from_search(search, application, how)
    evidence = evidence_of(count, measures_of(["atwv"]))
    seen = totals(evidence, Weights.ones(evidence.factors).block())
    return float(np.asarray(atwv(seen, count.application, count.averaging)[0])[0])
