"""What life cycles take to be read, counted and scored."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.study.tables import ApplicationTable
from truecost.task import Dims, Work
from truecost.tasks.lifelong.choosing import defaults as defaults_of
from truecost.tasks.lifelong.lifelong_baselines import scored_part
from truecost.tasks.lifelong.lifelong_checks import checks
from truecost.tasks.lifelong.options import LifelongScoring, LifelongTable, PolicyTable
from truecost.tasks.lifelong.read import described, read_life, twins
from truecost.tasks.lifelong.records import Lifelong, pair_lifelong
from truecost.tasks.lifelong.scoring import asked_of, batches
from truecost.tasks.lifelong.settings import HALVED, check_lifelong, lifelong_options

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome, Part
    from truecost.study.reader import Reader
    from truecost.study.tables import DataTable


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures when none is asked for."""
    del kind
    return defaults_of(None, LifelongScoring())


def application(table: ApplicationTable) -> ApplicationTable:
    """Nothing: the costs of a life cycle are counted with its outputs."""
    del table
    return ApplicationTable()


def choices(study: "Study", data: "DataTable", reader: "Reader | None") -> LifelongScoring:
    """How life cycles are scored, as `[lifelong]` and `[policies.NAME]` say."""
    del data
    return lifelong_options(study, reader)


def part(
    systems: Sequence[Lifelong],
    scoring: Mapping[str, Scoring],
    dims: Dims,
    study: "Study",
    reader: "Reader",
) -> "Part":
    """The systems of one collection; measures of help for those that had help."""
    del reader
    return scored_part(systems, scoring, dims, study.baseline)


def planned(outcome: "Outcome") -> list[str]:
    """What the units of a plan are."""
    from truecost.report.words import listed

    names = dict.fromkeys(name for e in outcome.estimates for name in e.factors)
    more = {"item": "items of the test set", "seed": "runs with seeds of their own"}
    said = [more.get(name, name) for name in names]
    return [f"units are {listed(said)}"] if said else []


def unused(study: "Study") -> Sequence[str]:
    """What a study of life cycles says that changes nothing."""
    if study.table(LifelongTable).half_life is None or _halved(study):
        return ()
    return (
        "half_life changes nothing: no policy takes it; recent and conservative do, where they "
        "have none of their own (--policy recent)",
    )


def _halved(study: "Study") -> bool:
    """Whether any policy takes the half-life that is given for all of them."""
    return any(text in HALVED for text in study.table(LifelongTable).policies) or any(
        how.kind in HALVED and how.half_life is None for how in study.by_name(PolicyTable).values()
    )


def ranked(rows: Sequence[Estimate]) -> list[Estimate]:
    """Of rows of a measure those of the last version of each system, by each policy."""
    last = {(row.dims["system"], row.dims.get("policy", "")): row for row in rows}
    return [*last.values()]


WORK = Work(
    ranked=ranked,
    check=check_lifelong,
    read=read_life,
    pair=pair_lifelong,
    measures=asked_of,
    defaults=defaults,
    count=batches,
    application=application,
    choices=choices,
    part=part,
    describe=described,
    planned=planned,
    descriptions=("truecost.tasks.lifelong.descriptions:LifelongDescription",),
    unused=unused,
    same=twins,
    checks=checks,
    page="truecost.tasks.lifelong.page:PAGE",
    layout="truecost.tasks.lifelong.terminal:LAYOUT",
)
