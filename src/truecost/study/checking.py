"""Which parts of a study go with its task: what another task would need is refused, not ignored."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from truecost.errors import UsageError, counted, first_five
from truecost.names import STANDARD_INPUT
from truecost.study.lifelong_live_checks import OF_LIVE
from truecost.study.live_checks import check_live
from truecost.study.tables import DataTable, PartialTable, SystemTable

if TYPE_CHECKING:
    from truecost.study.config import Study

_OF_ITEMS = (
    "map",
    "reference",
    "reference_map",
    "reference_format",
    "metadata",
    "missing",
    "input_format",
)
_OF_LOGS = (
    "threshold_a",
    "threshold_b",
    "exposure_a",
    "exposure_b",
    "units_a",
    "units_b",
    "split",
    "users",
    "labels",
)
_OF_SEARCHES = ("ecf", "rttm", "occurrences", "kwlist")
_OF_RUNS = ("resources", "runs", "strategy", "budget")  # of systems
_NOT_OF_TRIALS = (
    *("reference", "reference_map", "reference_format", "lines", "allow_duplicates"),
    *(*_OF_LOGS, *_OF_SEARCHES),
)
DATA_OF: Mapping[str, tuple[str, ...]] = {
    "trials": tuple(n for n in DataTable.__struct_fields__ if n not in _NOT_OF_TRIALS),
    "transcripts": (*_OF_ITEMS, "lines", "allow_duplicates"),
    "translation": (*_OF_ITEMS, "lines"),
    "diarization": (*_OF_ITEMS, "allow_duplicates"),
    "abba": ("map", "metadata", "input_format", *_OF_LOGS),
    "terms": (*_OF_SEARCHES, "type", "map", "reference_map", "input_format"),
    "stream": ("type", "map", "target", "classes", "labels", "input_format"),
    "lifelong": ("map", "labels", "reference", "classes", "metadata", "input_format"),
}
_KINDS = ("transcripts", "translation", "diarization")  # of outputs of life cycles too
TASK_TABLES = (*_KINDS, "abba", "terms", "stream", "lifelong", "policies", "spurious")
OWNERS = {"policies": "lifelong", "spurious": "trials"}  # of tables not named as their task
_OF_CHOICES = ("max_rfpr", "min_rrecall", "by", "grid", "test_set")


def check_task(study: "Study") -> None:
    """Refuse what does not go with the task of a study, and what it lacks.

    Parameters
    ----------
    study : Study

    Raises
    ------
    UsageError
        When a key is of another task, there is no reference, or a number is out of range.
    """
    check_live(study)
    task = study.task or "trials"
    for name in TASK_TABLES:
        own = task in (name, OWNERS.get(name)) or (task == "lifelong" and name in _KINDS)
        if not own and _given(getattr(study, name)):
            of = OWNERS.get(name, name)
            raise UsageError(f"[{name}] goes with task {of}; the task of the study is {task}")
    for table in (study.data, *study.collections.values(), *study.systems.values()):
        _check_data(table, task)
    _refuse_records(study, task)
    if task in ("trials", "abba", "terms", "stream", "lifelong") and study.worst is not None:
        raise UsageError("worst goes with transcripts, translation and diarization")
    if task == "trials":
        _check_spurious(study)
        return
    if study.methods.given():
        raise UsageError(f"[methods] has runs of trials; {task} has systems")
    costs = task in ("terms", "stream", "lifelong")
    if not costs and (study.application.given() or study.applications):
        raise UsageError(f"an application has costs and priors of trials; {task} has none")
    if study.worst is not None and study.worst < 0:
        raise UsageError(f"worst is {study.worst}: give 0 or more")
    _check_standard_input(study)
    if _check_own(study, task):
        return
    for name in study.collections or ("",):
        _check_references(study.collections.get(name, DataTable()).over(study.data), task, name)


def _check_spurious(study: "Study") -> None:
    """What `[spurious]` lacks, and what does not go with it."""
    if not study.spurious.given():
        return
    if study.methods.given():
        raise UsageError("[spurious] goes with systems; the study has [methods]")
    if study.spurious.samples is None:
        raise UsageError("[spurious] needs samples = FILE, a table of samples with their ids")
    if study.spurious.vad is not None and study.spurious.audio is None:
        raise UsageError(
            "--vad finds speech in recordings, and none are named: add --audio COLUMN (vad and "
            "audio under [spurious])"
        )
    if study.collections and not study.systems:
        raise UsageError(
            "[spurious] with [collections.NAME] needs systems, whose trials are looked up among "
            "the samples"
        )


def _check_own(study: "Study", task: str) -> bool:
    """What only one task asks for; False of tasks that hold items against a reference."""
    if task == "abba":
        _check_abba(study)
    elif task == "terms":
        _check_terms(study)
    elif task == "stream":
        from truecost.study.online import check_stream

        check_stream(study)
    elif task == "lifelong":
        from truecost.study.lifelong_settings import check_lifelong

        check_lifelong(study)
    else:
        return False
    return True


def _given(table: "PartialTable | Mapping[str, object]") -> bool:
    """Whether a table, or one by name, says anything."""
    return bool(table if isinstance(table, Mapping) else table.given())


def _refuse_records(study: "Study", task: str) -> None:
    """What only systems of one task have is of no other."""
    for name, system in study.systems.items():
        if task != "terms" and (system.indexing or system.searching):
            raise UsageError(
                f"[systems.{name}] has records of indexing or searching, which go with terms; the "
                f"task of the study is {task}"
            )
        live = [key for key in OF_LIVE if key in system.given()]
        if live and not (task == "lifelong" and study.source.given()):
            raise UsageError(
                f"[systems.{name}] has {first_five(live)}, which go with live lifelong runs: task "
                f"lifelong, with [source]"
            )
        own = [key for key in _OF_RUNS if key in system.given()]
        if task not in ("stream", "lifelong") and own:
            raise UsageError(
                f"[systems.{name}] has {first_five(own)}, which go with stream; the task of the "
                f"study is {task}"
            )


def _check_standard_input(study: "Study") -> None:
    """Standard input can be read once: not as a reference and an output."""
    found: list[str] = []

    def noted(file: str) -> str:
        found.append(file)
        return file

    study.moved(noted)
    if sum(file in STANDARD_INPUT for file in found) > 1:
        raise UsageError("standard input can be read once only: name a file for all but one")


def _check_data(table: DataTable, task: str) -> None:
    wrong = [
        k for k in table.given() if k in DataTable.__struct_fields__ and k not in DATA_OF[task]
    ]
    if wrong:
        raise UsageError(
            f"{first_five(wrong)} under [data] does not go with {task}: it takes "
            f"{', '.join(DATA_OF[task])}"
        )


def _check_abba(study: "Study") -> None:
    """Refuse what AB/BA does not do: comparing deployments, choices without a choice."""
    from truecost.measures.relative import ESTIMATORS

    if study.baseline is not None:
        raise UsageError(
            "abba compares model B with model A within each deployment, and no deployment with "
            "another: leave out the baseline"
        )
    asked = study.abba
    if unknown := [name for name in asked.estimators if name not in ESTIMATORS]:
        raise UsageError(
            f"estimator {unknown[0]!r} is not known: choose of {', '.join(ESTIMATORS)}"
        )
    if not asked.thresholds and (given := [k for k in _OF_CHOICES if k in asked.given()]):
        raise UsageError(
            f"{first_five(given)} under [abba] goes with the choice of a threshold: say thresholds "
            f"= true, or truecost abba thresholds"
        )
    if asked.thresholds and study.measures:
        raise UsageError(
            "a threshold is chosen by rrecall and rfpr: leave out the measures, or choose none"
        )


def _check_terms(study: "Study") -> None:
    """Refuse a search for terms without a reference, and numbers and choices that make no sense."""
    from truecost.study.searches import reference_options, search_options

    reference_options(study.terms)  # refuse numbers out of their range, and unknown quirks
    search_options(study.terms)
    seconds = study.terms.query_seconds
    if seconds is not None and not 0 < seconds < math.inf:
        raise UsageError(f"query_seconds is {seconds:g}: give a number above 0")
    for table in (study.application, *study.applications.values()):
        if table.priors or table.cost_matrix:
            raise UsageError(
                "a search has two kinds of errors, misses and false alarms: give cost_miss, "
                "cost_fa and prior in place of priors or a cost matrix"
            )
    for name, system in study.systems.items():
        _check_search(name, system, study)
    for name in study.collections or ("",):
        _check_terms_reference(study.collections.get(name, DataTable()).over(study.data), name)


def _check_search(name: str, system: SystemTable, study: "Study") -> None:
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


def _check_terms_reference(data: DataTable, collection: str) -> None:
    """What is scored, what the queries are and where they occur."""
    where = f" for {collection}" if collection else ""
    if data.type not in (None, "llr", "score"):
        raise UsageError(f"type {data.type} does not go with terms: it takes llr or score")
    if data.ecf is None:
        raise UsageError(
            f"no ECF is named{where}: the audio that is scored is needed, --ecf FILE (ecf = FILE "
            f"under [data])"
        )
    if (data.rttm is None) == (data.occurrences is None):
        said = "no RTTM is named" if data.rttm is None else "an RTTM and occurrences are named"
        raise UsageError(
            f"{said}{where}: give --rttm FILE with the words that were said, or --occurrences FILE "
            f"with the occurrences of the queries (rttm or occurrences under [data])"
        )
    if data.rttm is not None and data.kwlist is None:
        raise UsageError(
            f"no list of queries is named{where}: --kwlist FILE (kwlist = FILE under [data]) says "
            f"which words of the RTTM are looked for"
        )


def _check_references(data: DataTable, task: str, collection: str) -> None:
    where = f" for {collection}" if collection else ""
    if not data.reference:
        raise UsageError(
            f"no reference is named{where}: give its file first, or reference = [FILE] under [data]"
        )
    if len(data.reference) > 1 and task != "translation":
        raise UsageError(
            f"{counted(len(data.reference), 'reference')}{where}: {task} has one; alternatives of "
            f"transcripts stand in one file"
        )
