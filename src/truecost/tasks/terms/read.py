"""Searches for terms: their reference read once, what each found, what it took, and submissions
checked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec
import polars as pl
from msgspec import structs

from truecost.core.results import Estimate
from truecost.errors import InputError, TruecostError, UsageError
from truecost.formats.kwslist import DetectionList
from truecost.formats.searches import detections_of_table, read_detections
from truecost.formats.terms import Listing
from truecost.options import check_keys
from truecost.resources import Load, load_of, phase_of, rows_of
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part
from truecost.study.reader import Reader
from truecost.study.settings import Source
from truecost.study.tables import DataTable
from truecost.tasks.terms.describing import describe
from truecost.tasks.terms.files import (
    audio_of,
    check_list,
    check_queries,
    queries_of,
    read_reference,
)
from truecost.tasks.terms.options import TermsScoring, TermsTable, parse_compat
from truecost.tasks.terms.records import Reference, Search
from truecost.tasks.terms.reference import ReferenceOptions, load_reference
from truecost.tasks.terms.searching import SearchOptions, load_search
from truecost.tasks.terms.tables import alignment_of, per_query

DETECTION = ("query", "document", "channel", "start", "end", "duration", "score", "decision")


OCCURRENCE = DETECTION[:-2]


def reference_options(table: "TermsTable") -> ReferenceOptions:
    """What a trial is and where terms occur, as `[terms]` says; UsageError where it cannot be."""
    given = table.given()
    own = ("unit", "trials_per_second", "max_gap", "normalise")
    return ReferenceOptions(
        **{name: given[name] for name in own if name in given},
        split="characters" if table.split_characters else "words",
        compat=parse_compat(table.compat),
    )


def search_options(table: "TermsTable") -> SearchOptions:
    """How detections are aligned, as `[terms]` says."""
    given = {} if table.tolerance is None else {"tolerance": table.tolerance}
    return SearchOptions(**given, compat=parse_compat(table.compat))


def reference_of(data: "DataTable", reader: Reader, study: "Study") -> Reference:
    """What the queries of a collection should find, read once for all systems.

    Raises
    ------
    UsageError, InputError
        When a file cannot be read, or they do not go together.
    """
    key = (data.ecf, data.kwlist, data.rttm, data.occurrences)
    return reader.once(key, lambda: _reference(data, reader, study))


def _reference(data: "DataTable", reader: Reader, study: "Study") -> Reference:
    assert data.ecf is not None
    check_keys(data.reference_map, OCCURRENCE, "--reference-map")
    right = () if data.occurrences is None else ("a table of the reference",)
    reader.learn(data, reference_table=right)
    if data.rttm in reader.held:
        raise UsageError(
            "--rttm names a file; a frame of where queries occur goes to --occurrences"
        )
    return read_reference(
        reader.given(data.ecf),
        None if data.kwlist is None else reader.given(data.kwlist),
        rttm=data.rttm if data.occurrences is None else None,
        occurrences=None if data.occurrences is None else reader.given(data.occurrences),
        options=reference_options(study.table(TermsTable)),
        columns=data.reference_map,
    )


def list_of(source: "Source", reader: Reader) -> DetectionList:
    """The detections of a system, as its file has them; UsageError and InputError as it says."""
    data = source.data
    check_keys(data.map, DETECTION)
    held = reader.held.get(source.file)
    if held is None:
        found = read_detections(source.file, data.input_format, data.map)
    else:
        found = detections_of_table(held, data.map)
    reader.learn(data, format=() if found.header else ("a table",))
    return found


def note_reference(source: "Source", reader: Reader) -> None:
    """Take the hashes of the files of a reference."""
    data = source.data
    for path in (data.ecf, data.kwlist, data.rttm, data.occurrences):
        if path is not None:
            reader.note(path, collection=source.collection)


def read_search(source: "Source", reader: Reader, study: "Study") -> Search:
    """What a system found, aligned with the reference, which is read once for all systems.

    Parameters
    ----------
    reader : Reader
        Of the task terms.

    Raises
    ------
    UsageError, InputError
        When a file cannot be read, or a list does not go with the reference.
    """
    reference = reference_of(source.data, reader, study)
    note_reference(source, reader)
    detections = list_of(source, reader)
    for path in (source.file, *source.indexing, *source.searching):
        reader.note(path, source.name, source.collection)
    found = load_search(detections, reference, search_options(study.table(TermsTable)))
    return replace(found, name=source.name, problems=(*reference.problems, *found.problems))


def described(part: Part, study: "Study") -> Part:
    """A part with what its searches are like, and the rows of what they took.

    Parameters
    ----------
    part : Part
        With searches as its systems.

    Raises
    ------
    InputError
        When a record of what a search took cannot be read.
    """
    searches = _of(part)
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


def _load(search: Search, study: "Study") -> Iterator[Load]:
    """What a search took, where there are records of it."""
    table = study.systems[search.name]
    if table.indexing or table.searching:
        yield load_of(
            search.reference.seconds,
            indexing=phase_of(table.indexing, "indexing") if table.indexing else None,
            searching=phase_of(table.searching, "searching") if table.searching else None,
            query_s=study.table(TermsTable).query_seconds,
        )


def alignment_frame(outcome: Outcome) -> pl.DataFrame:
    """The pairs of detections and occurrences of an outcome, system by system.

    Parameters
    ----------
    outcome : Outcome
        Of the task terms.

    Returns
    -------
    polars.DataFrame
        The columns of `alignment_of`, after `collection` and `system` where there are several.
    """
    found = {
        (part.dims.get("collection", ""), s.name): s for part in outcome.parts for s in _of(part)
    }
    several = {
        "collection": len({c for c, _ in found}) > 1,
        "system": len({s for _, s in found}) > 1,
    }
    return pl.concat(
        _told(alignment_of(search), {"collection": collection, "system": name}, several)
        for (collection, name), search in found.items()
    )


def query_frame(outcome: Outcome) -> pl.DataFrame:
    """What each query of an outcome comes to.

    Parameters
    ----------
    outcome : Outcome
        Of the task terms.

    Returns
    -------
    polars.DataFrame
        The columns of `per_query`, after `collection`, `application` and `system` where there are
        several.
    """
    names = ("collection", "application")
    several = {n: any(n in part.dims for part in outcome.parts) for n in names}
    several["system"] = len({search.name for part in outcome.parts for search in _of(part)}) > 1
    return pl.concat(
        _told(
            per_query(search, scoring.application, scoring.chosen(TermsScoring)),
            {**part.dims, "system": search.name},
            several,
        )
        for part in outcome.parts
        for search in _of(part)
        for scoring in [part.scoring[search.name]]
    )


def _of(part: Part) -> list[Search]:
    """The searches of a part."""
    return [system for system in part.systems if isinstance(system, Search)]


def _told(
    frame: pl.DataFrame, about: Mapping[str, str], several: Mapping[str, bool]
) -> pl.DataFrame:
    """A table after what it is about, where there are several of it."""
    names = (name for name, more in several.items() if more)
    return frame.select(*(pl.lit(about[name]).alias(name) for name in names), pl.all())


NOTHING = {  # a list of occurrences that holds none
    **dict.fromkeys(("query", "document", "channel"), pl.String),
    **dict.fromkeys(("start", "end"), pl.Float64),
}


def unjudged(study: Study, wanted: str | None) -> Study:
    """A study that makes sense but for the reference, which participants lack."""
    del wanted

    def bare(data: DataTable) -> DataTable:
        return msgspec.structs.replace(data, rttm=None, occurrences=None)

    data = msgspec.structs.replace(
        bare(study.data), ecf=study.data.ecf or "none", occurrences="none"
    )
    collections = {name: bare(table) for name, table in study.collections.items()}
    return msgspec.structs.replace(study, data=data, collections=collections)


def checks(source: Source, reader: Reader, study: Study, wanted: str | None) -> list[Check]:
    """All checks of a list of detections, against the queries and the audio alone.

    Raises
    ------
    InputError
        When the list of queries or the audio cannot be read.
    """
    del study, wanted
    ecf, kwlist = source.data.ecf, source.data.kwlist
    audio = None if ecf is None else reader.once(("ecf", ecf), lambda: audio_of(reader.given(ecf)))
    queries = None
    if kwlist is not None:
        queries = reader.once(("kwlist", kwlist), lambda: queries_of(reader.given(kwlist)))
    try:
        detections = list_of(source, reader)
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    found = check_list(detections, source.data.type)
    if queries is not None:
        found += check_queries(detections, queries.frame["query"], queries.source)
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
