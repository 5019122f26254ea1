"""The work of keyword search: searches are read, checked, counted and scored."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from truecost.core.costs import ONCE
from truecost.core.results import Estimate
from truecost.errors import InputError, TruecostError, UsageError
from truecost.formats.kwslist import DetectionList
from truecost.formats.searches import read_detections
from truecost.formats.terms import Listing
from truecost.options import check_keys
from truecost.resources import Load, load_of, phase_of, rows_of
from truecost.resources.records import Resources
from truecost.study.config import Study
from truecost.study.outcome import Part
from truecost.study.settings import Reader, Source
from truecost.study.tables import DataTable, SystemTable
from truecost.study.validation import Check
from truecost.task import Work
from truecost.tasks.terms import files as lists
from truecost.tasks.terms.aligning import load_search
from truecost.tasks.terms.describing import describe
from truecost.tasks.terms.files import ScorerDifference, alike, decided, from_nist, on_quirks
from truecost.tasks.terms.options import (
    F4DE,
    ReferenceOptions,
    SearchOptions,
    TermsScoring,
    TermsTable,
)
from truecost.tasks.terms.records import PHASES, Reference, Search, pair_searches
from truecost.tasks.terms.reference import load_reference
from truecost.tasks.terms.scoring import DEFAULT_MEASURES, asked_of, batches, frozen
from truecost.tasks.terms.tables import searches_in

DETECTION = ("query", "document", "channel", "start", "end", "duration", "score", "decision")
OCCURRENCE = DETECTION[:-2]


def reference_options(table: TermsTable) -> ReferenceOptions:
    """The definition of trials and of occurrences by `[terms]`; UsageError if it is impossible."""
    given = table.given()
    own = ("trial", "trials_per_second", "max_gap", "normalise")
    return ReferenceOptions(
        **{name: given[name] for name in own if name in given},
        split="characters" if table.split_characters else "words",
        compat=frozenset(table.compat),
    )


def search_options(table: TermsTable) -> SearchOptions:
    """The choices of `[terms]` for aligning detections."""
    given = {} if table.tolerance is None else {"tolerance": table.tolerance}
    return SearchOptions(**given, compat=frozenset(table.compat))


def reference_of(data: DataTable, reader: Reader, study: Study) -> Reference:
    """The reference of a collection, read once for all systems."""
    key = (data.ecf, data.kwlist, data.rttm, data.occurrences)
    return reader.once(key, lambda: _reference(data, reader, study))


def _reference(data: DataTable, reader: Reader, study: Study) -> Reference:
    assert data.ecf is not None
    check_keys(data.reference_map, OCCURRENCE, "--reference-map")
    right = () if data.occurrences is None else ("a table of the reference",)
    reader.learn(data, reference_table=right)
    reader.learn(study.table(TermsTable), words=("--rttm",) if data.occurrences is None else ())
    if data.rttm in reader.held:
        raise UsageError("--rttm names a file: give a frame of occurrences to --occurrences")
    return _reference_as(data, reader, study.table(TermsTable))


def _reference_as(data: DataTable, reader: Reader, table: TermsTable) -> Reference:
    """The reference as a table of options has it read."""
    assert data.ecf is not None
    return lists.read_reference(
        reader.given(data.ecf),
        None if data.kwlist is None else reader.given(data.kwlist),
        rttm=data.rttm if data.occurrences is None else None,
        occurrences=None if data.occurrences is None else reader.given(data.occurrences),
        options=reference_options(table),
        columns=data.reference_map,
    )


def list_of(source: Source, reader: Reader) -> DetectionList:
    """The detections of a system, as its file has them; UsageError and InputError as it says."""
    data = source.data
    check_keys(data.map, DETECTION)
    found = read_detections(reader.given(source.file), data.input_format, data.map)
    reader.learn(data, format=() if found.header else ("a table",))
    return found


def read_search(source: Source, reader: Reader, study: Study) -> Search:
    """The detections of a system, aligned with the reference (read once for all systems)."""
    data = source.data
    reference = reference_of(data, reader, study)
    for path in filter(None, (data.ecf, data.kwlist, data.rttm, data.occurrences)):
        reader.note(path, collection=source.collection)
    detections = list_of(source, reader)
    reader.learn(
        study.table(TermsTable), resources=("--searching",) if source.table.searching else ()
    )
    for path in (source.file, *source.table.indexing, *source.table.searching):
        reader.note(path, source.name, source.collection)
    detections, said = decided(detections, data, reference, study)
    options = search_options(study.table(TermsTable))
    found = load_search(detections, reference, options)
    return replace(
        found,
        name=source.name,
        signature="|".join(filter(None, (found.signature, said))),
        beside=_beside(detections, data, reader, study),
        problems=(*reference.problems, *found.problems),
        **_taken(_phases(source.table)),
    )


def _beside(
    detections: DetectionList, data: DataTable, reader: Reader, study: Study
) -> ScorerDifference | None:
    """The difference to the alignment of the reference scorer, where its presets are used without
    its quirks; otherwise None.
    """
    table = study.table(TermsTable)
    if table.compat or not from_nist(study):
        return None
    quirky = structs.replace(table, compat=(F4DE,))
    key = (F4DE, data.ecf, data.kwlist, data.rttm, data.occurrences)
    reference = reader.once(key, lambda: _reference_as(data, reader, quirky))
    if alike(reference, reference_of(data, reader, study)):
        return ScorerDifference(None)
    return ScorerDifference(load_search(detections, reference, search_options(quirky)))


def _phases(table: SystemTable) -> dict[str, Resources]:
    """The records of the phases of a search, as far as there are any."""
    files = {"indexing": table.indexing, "searching": table.searching}
    return {name: phase_of(paths, name) for name, paths in files.items() if paths}


def _taken(phases: Mapping[str, Resources]) -> dict[str, Any]:
    """The total resources of a search, and the phases without a record."""
    hours = [record.hours for record in phases.values()]
    keys = [key for key in ONCE if hours and all(key in of for of in hours)]
    took = {key: sum(of[key] for of in hours) for key in keys if key != "waiting"}
    if "searching" in phases:  # who searches does not wait for the index
        took["waiting"] = phases["searching"].hours["waiting"]
    return {"took": took, "unrecorded": tuple(name for name in PHASES if name not in phases)}


def described(part: Part, study: Study) -> Part:
    """A part with what its searches are like, and the rows of what they took."""
    searches = searches_in(part)
    loads = {search.name: load for search in searches for load in _load(search, study)}
    about = f"{collection}: " if (collection := part.dims.get("collection")) else ""
    level = part.estimates[0].level
    rows = [
        structs.replace(
            row,
            dims={**part.dims, **row.dims},
            signature=f"{row.signature}|{searches[0].reference.signature}",  # whose audio it is
        )
        for name, load in loads.items()
        for row in rows_of(load, name, level)
    ]
    priced = [s for s in searches if part.scoring[s.name].application.costs is not None]
    empty = {search.name for search in searches if not len(search)}
    return replace(
        part,
        estimates=(
            *(_certain(e) if e.dims["system"] in empty else e for e in part.estimates),
            *rows,
        ),
        described=(
            *(describe(s, part.scoring[s.name], part.dims) for s in priced),
            *(structs.replace(x, system=about + name) for name, x in loads.items()),
        ),
    )


def _certain(row: Estimate) -> Estimate:
    """A row of a search that found nothing: no data would make its value another one."""
    return structs.replace(row, flags=tuple(flag for flag in row.flags if flag != "no_spread"))


def _load(search: Search, study: Study) -> Iterator[Load]:
    """The resources of a search, where there are records of them."""
    if phases := _phases(study.systems[search.name]):
        query_s = study.table(TermsTable).query_seconds
        yield load_of(
            search.reference.seconds,
            indexing=phases.get("indexing"),
            searching=phases.get("searching"),
            query_s=query_s,
        )


NOTHING = {  # a list of occurrences that holds none
    **dict.fromkeys(("query", "document", "channel"), pl.String),
    **dict.fromkeys(("start", "end"), pl.Float64),
}


def unjudged(study: Study, _: str | None) -> Study:
    """A study that makes sense but for the reference, which participants lack."""

    def bare(data: DataTable) -> DataTable:
        return msgspec.structs.replace(data, rttm=None, occurrences=None)

    data = msgspec.structs.replace(
        bare(study.data), ecf=study.data.ecf or "none", occurrences="none"
    )
    collections = {name: bare(table) for name, table in study.collections.items()}
    return msgspec.structs.replace(study, data=data, collections=collections)


def checks(source: Source, reader: Reader, *_: object) -> list[Check]:
    """All checks of a list of detections, against the queries and the audio alone."""
    ecf, kwlist = source.data.ecf, source.data.kwlist
    audio = (
        None
        if ecf is None
        else reader.once(("ecf", ecf), lambda: lists.audio_of(reader.given(ecf)))
    )
    queries = None
    if kwlist is not None:
        queries = reader.once(("kwlist", kwlist), lambda: lists.queries_of(reader.given(kwlist)))
    try:
        detections = list_of(source, reader)
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    found = lists.check_list(detections, source.data.type)
    if queries is not None:
        found += lists.check_queries(detections, queries.frame["query"], queries.source)
    if audio is not None:
        found += _placed(detections, audio)
    return found


def _placed(detections: DetectionList, audio: Listing) -> list[Check]:
    """Whether the detections lie in the audio that is scored."""
    own = Listing(detections.source, {}, detections.answers.select("query"))
    nothing = Listing("nothing", {}, pl.DataFrame(schema=NOTHING))
    reference = load_reference(audio, own, occurrences=nothing, empty=True)
    try:
        search = load_search(detections, reference)
    except InputError as error:
        return [Check("audio", "error", str(error))]
    outside = len(detections) - len(search)
    notes = [text for text in search.problems if outside and "scored" in text]
    if not notes:
        said = f"all detections lie in the audio of {audio.source}"
        return [Check("audio", "ok", f"{detections.source}: {said}")]
    return [Check("audio", "warning", f"{detections.source}: {text}") for text in notes]


_OF_SEARCHES = ("ecf", "rttm", "occurrences", "kwlist")


def check(study: Study) -> None:
    """Refuse a search for terms without a reference, and numbers and choices that make no sense."""
    asked = study.table(TermsTable)
    reference_options(asked)  # refuse numbers out of their range, and unknown quirks
    search_options(asked)
    for table in (study.application, *study.applications.values()):
        if table.priors or table.cost_matrix:
            raise UsageError(
                "a search has two kinds of errors, misses and false alarms: give cost_miss, "
                "cost_fa and prior instead of priors or a cost matrix"
            )
    for name, system in study.systems.items():
        _check_search(name, system, study)
    for name in study.collections or ("",):
        _check_reference(study.collections.get(name, DataTable()).over(study.data), name)


def _check_search(name: str, system: SystemTable, study: Study) -> None:
    """Refuse a reference of one system, and records of what several collections took."""
    if own := [key for key in _OF_SEARCHES if getattr(system, key) is not None]:
        raise UsageError(
            f"[systems.{name}] names {', '.join(own)}: the reference is the same for all systems, "
            f"and is named under [data]"
        )
    if study.collections and (system.indexing or system.searching):
        raise UsageError(
            f"[systems.{name}] has records of one run, but the study has several collections: "
            f"leave the records out, or study one collection"
        )


def _check_reference(data: DataTable, collection: str) -> None:
    """Refuse data without audio, queries or occurrences, or with two sources of occurrences."""
    where = f" for {collection}" if collection else ""
    if data.type not in (None, "llr", "score"):
        raise UsageError(f"type {data.type} does not fit task terms: choose llr or score")
    if data.ecf is None:
        raise UsageError(
            f"the ECF, a list of the searched audio, is not named{where}: give --ecf FILE (ecf "
            "= FILE under [data])"
        )
    if (data.rttm is None) == (data.occurrences is None):
        said = "no RTTM is named" if data.rttm is None else "an RTTM and occurrences are named"
        raise UsageError(
            f"{said}{where}: give --rttm FILE with the spoken words, or --occurrences FILE "
            f"with the occurrences of the queries (rttm or occurrences under [data])"
        )
    if data.rttm is not None and data.kwlist is None:
        raise UsageError(
            f"the list of queries is not named{where}: give --kwlist FILE (kwlist = FILE under "
            "[data])"
        )


def choices(study: Study, data: DataTable, _: Reader | None) -> TermsScoring:
    """The choices of `[terms]` for scoring searches."""
    asked = study.table(TermsTable)
    return TermsScoring(
        llr=data.type == "llr",
        floor=asked.floor,
        every=bool(asked.count_all_queries),
        pooled=bool(asked.pooled),
        factors="query,document" if "," in (asked.factors or "") else asked.factors or "query",
        query_unit=asked.query_unit or "",
    )


def same(a: Search, b: Search) -> str:
    """The content that two searches share to the last detection; empty if they differ."""
    columns = ((a.query, b.query), (a.score, b.score), (a.accepted, b.accepted))
    alike = len(a) and all(np.array_equal(*both) for both in columns)
    return "detections" if alike else ""


WORK = Work(
    check=check,
    read=read_search,
    pair=pair_searches,
    measures=asked_of,
    defaults=lambda _: DEFAULT_MEASURES,
    count=batches,
    freeze=frozen,
    choices=choices,
    describe=described,
    descriptions=(
        "truecost.tasks.terms.describing:SearchDescription",
        "truecost.resources.loads:Load",
    ),
    same=same,
    unjudged=unjudged,
    checks=checks,
    advice=on_quirks,
    page="truecost.tasks.terms.page:PAGE",
)
