"""What searches for terms take to be read, counted and scored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from truecost.task import Work
from truecost.tasks.terms.beside import beside
from truecost.tasks.terms.check import check
from truecost.tasks.terms.options import TermsScoring, TermsTable
from truecost.tasks.terms.records import Search, pair_searches
from truecost.tasks.terms.scoring import DEFAULT_MEASURES, asked_of, batches, frozen
from truecost.tasks.terms.searches import described, read_search
from truecost.tasks.terms.submissions import checks, unjudged

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.reader import Reader
    from truecost.study.tables import DataTable


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
