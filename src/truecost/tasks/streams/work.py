"""What event logs of streams take to be read, counted and scored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.core.results import Estimate
from truecost.study.tables import ApplicationTable, DataTable
from truecost.task import Work
from truecost.tasks.streams.logs import check_stream, checks, described, read_stream, stream_options
from truecost.tasks.streams.options import StreamScoring, StreamTable
from truecost.tasks.streams.records import Online, pair_online
from truecost.tasks.streams.scoring import DEFAULTS, asked_of, batches

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.reader import Reader

OF_STREAMS = ApplicationTable(cost_miss=3, cost_fa=1, prior=0.5)  # 0.75 Pmiss + 0.25 Pfa


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures of a type of scores, when none is asked for."""
    return DEFAULTS["numbers" if kind == "number" else "detection"]


def application(table: ApplicationTable) -> ApplicationTable:
    """What is given of an application of detection over the costs and the prior of paper 000.

    Nothing where nothing is given: scoring knows whether there are targets at all.
    """
    single = (table.cost_miss, table.cost_fa, table.prior)
    whole = table.preset is not None or table.priors or table.cost_matrix
    if whole or all(value is None for value in single):
        return table
    return table.over(OF_STREAMS)


def choices(study: "Study", data: DataTable, reader: "Reader | None") -> StreamScoring:
    """How event logs are scored, as `[stream]` says."""
    del reader
    return stream_options(study.table(StreamTable), data)


def planned(outcome: "Outcome") -> list[str]:
    """What the units of a plan are."""
    from truecost.report.words import listed

    names = dict.fromkeys(name for e in outcome.estimates for name in e.factors)
    more = {"batch": "batches", "seed": "runs with seeds of their own", "stream": "streams"}
    said = [more.get(name, name) for name in names]
    return [f"units are {listed(said)}"] if said else []


def same(a: Online, b: Online) -> str:
    """What two systems have in common to the last of their items; empty for nothing."""
    return "outputs" if a.items.equals(b.items) else ""


def ranked(rows: Sequence[Estimate]) -> list[Estimate]:
    """Of rows of a measure those after adaptation, where there are some."""
    after = [row for row in rows if row.dims.get("phase") == "post"]
    return after or [*rows]


WORK = Work(
    ranked=ranked,
    check=check_stream,
    read=read_stream,
    pair=pair_online,
    measures=asked_of,
    defaults=defaults,
    count=batches,
    application=application,
    choices=choices,
    describe=described,
    planned=planned,
    descriptions=(
        "truecost.tasks.streams.describing:OnlineDescription",
        "truecost.tasks.streams.sweep:SweepAdvice",
    ),
    same=same,
    checks=checks,
    page="truecost.tasks.streams.page:PAGE",
    layout="truecost.tasks.streams.terminal:LAYOUT",
)
