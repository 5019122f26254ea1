"""What a study of searches for terms lacks, and what it says that makes no sense."""

from typing import TYPE_CHECKING

from truecost.errors import UsageError
from truecost.study.tables import DataTable, SystemTable
from truecost.tasks.terms.options import TermsTable
from truecost.tasks.terms.searches import reference_options, search_options

if TYPE_CHECKING:
    from truecost.study.config import Study

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
