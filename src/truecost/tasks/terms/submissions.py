"""Submissions of a search for terms, checked as participants can: without the reference."""

import msgspec
import polars as pl

from truecost.errors import InputError, TruecostError
from truecost.formats.kwslist import DetectionList
from truecost.formats.terms import Listing
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.sources import Source
from truecost.study.tables import DataTable
from truecost.tasks.terms.files import audio_of, queries_of
from truecost.tasks.terms.reference import load_reference
from truecost.tasks.terms.searches import list_of
from truecost.tasks.terms.searching import load_search
from truecost.tasks.terms.validating import check_list, check_queries

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
