"""What searches for terms take to be read, checked, counted and scored, and what is written beside
results.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from truecost.errors import UsageError
from truecost.study.tables import DataTable, SystemTable
from truecost.task import Work
from truecost.tasks.terms.options import TermsScoring, TermsTable
from truecost.tasks.terms.read import (
    checks,
    described,
    read_search,
    reference_options,
    search_options,
    unjudged,
)
from truecost.tasks.terms.records import Search, pair_searches
from truecost.tasks.terms.scoring import DEFAULT_MEASURES, asked_of, batches, frozen

if TYPE_CHECKING:
    import polars as pl

    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.reader import Reader


_OF_SEARCHES = ("ecf", "rttm", "occurrences", "kwlist")


def check(study: "Study") -> None:
    """Refuse a search for terms without a reference, and numbers and choices that make no sense."""
    asked = study.table(TermsTable)
    reference_options(asked)  # refuse numbers out of their range, and unknown quirks
    search_options(asked)
    for table in (study.application, *study.applications.values()):
        if table.priors or table.cost_matrix:
            raise UsageError(
                "a search has two kinds of errors, misses and false alarms: give cost_miss, "
                "cost_fa and prior in place of priors or a cost matrix"
            )
    for name, system in study.systems.items():
        _check_search(name, system, study)
    for name in study.collections or ("",):
        _check_reference(study.collections.get(name, DataTable()).over(study.data), name)


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


def _check_reference(data: DataTable, collection: str) -> None:
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


FORMATS = ("csv", "tsv", "parquet", "ndjson")


def beside(study: "Study", wanted: Mapping[str, str]) -> "Callable[[Outcome], None] | None":
    """What writes the tables that are wanted from an outcome; None where none is.

    Raises
    ------
    UsageError
        When a table cannot be written, or would take the place of a file that is read.
    """
    for option, path in wanted.items():
        _check_table(option, path, study)
    if len({Path(path).resolve() for path in wanted.values()}) < len(wanted):
        raise UsageError("--alignment and --per-query name one file: give each its own")
    return partial(_write, wanted=wanted) if wanted else None


def _check_table(option: str, path: str, study: "Study") -> None:
    """Refuse a table that cannot be written, or would take the place of a file that is read."""
    from truecost.formats.declared import WRITTEN, by_ending
    from truecost.formats.writers import check_target
    from truecost.study.paths import files_of_study

    name = f"--{option.replace('_', '-')}"
    if by_ending(path, WRITTEN) not in FORMATS:
        raise UsageError(
            f"{name} {path}: the ending does not say a table: name a file that ends in "
            f"{', '.join(f'.{kind}' for kind in FORMATS)}"
        )
    if Path(path).is_dir():
        raise UsageError(f"{name} {path}: it is a folder: name a file in it")
    check_target(path, files_of_study(study), force=True)


def _write(outcome: "Outcome", wanted: Mapping[str, str]) -> None:
    """The tables that were asked for, all of them or none."""
    from truecost.formats import Table
    from truecost.formats.publishing import publish
    from truecost.formats.writers import content_of
    from truecost.tasks.terms.read import alignment_frame, query_frame

    made: dict[str, pl.DataFrame] = {}
    if "alignment" in wanted:
        made[wanted["alignment"]] = alignment_frame(outcome)
    if "per_query" in wanted:
        made[wanted["per_query"]] = query_frame(outcome)
    if made:
        contents = {path: content_of(Table(path, frame), path) for path, frame in made.items()}
        publish({Path(path).resolve(): content for path, content in contents.items()})


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures when none is asked for."""
    del kind
    return DEFAULT_MEASURES


def choices(study: "Study", data: "DataTable", reader: "Reader | None") -> TermsScoring:
    """How searches are scored, as `[terms]` says."""
    del reader
    asked = study.table(TermsTable)
    return TermsScoring(
        llr=data.type == "llr",
        floor=asked.floor,
        every=bool(asked.count_all_queries),
        pooled=bool(asked.pooled),
        resample=asked.resample or "query",
        query_unit=asked.query_unit or "",
    )


def same(a: Search, b: Search) -> str:
    """What two searches have in common to the last detection; empty for nothing."""
    columns = ((a.query, b.query), (a.score, b.score), (a.accepted, b.accepted))
    alike = len(a) and all(np.array_equal(*both) for both in columns)
    return "detections" if alike else ""


def unused(study: "Study") -> Sequence[str]:
    """What a study of searches says that changes nothing."""
    if study.table(TermsTable).query_seconds is None or any(
        s.searching for s in study.systems.values()
    ):
        return ()
    return (
        "query_seconds changes nothing: it is for the searching speed, and there is no record of "
        "searching (--searching FILE, or searching under [systems.NAME])",
    )


WORK = Work(
    check=check,
    read=read_search,
    pair=pair_searches,
    measures=asked_of,
    defaults=defaults,
    count=batches,
    freeze=frozen,
    choices=choices,
    describe=described,
    descriptions=(
        "truecost.tasks.terms.describing:SearchDescription",
        "truecost.resources.load:Load",
    ),
    same=same,
    unused=unused,
    beside=beside,
    unjudged=unjudged,
    checks=checks,
    page="truecost.tasks.terms.page:PAGE",
    layout="truecost.tasks.terms.terminal:LAYOUT",
)
