"""What deployments take to be read, counted and scored."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from truecost.core.measure import Measure
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, counted, first_five
from truecost.study.running import score_part
from truecost.task import Dims, Work
from truecost.tasks.abba.advice import flagged
from truecost.tasks.abba.describing import Description
from truecost.tasks.abba.measures import ESTIMATORS
from truecost.tasks.abba.options import AbbaScoring, AbbaTable
from truecost.tasks.abba.read import checks_of_log, chosen_part, described, read_deployment
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.remarks import remarks_of
from truecost.tasks.abba.scoring import DEFAULT_MEASURES, asked_estimators, batches, measures_of

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome, Part
    from truecost.study.reader import Reader
    from truecost.study.tables import DataTable

_OF_CHOICES = ("max_rfpr", "min_rrecall", "by", "grid", "test_set")


def check(study: "Study") -> None:
    """Refuse what AB/BA does not do: comparing deployments, choices without a choice."""
    if study.baseline is not None:
        raise UsageError(
            "abba compares model B with model A within each deployment, and no deployment with "
            "another: leave out the baseline"
        )
    asked = study.table(AbbaTable)
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


def asked_of(deployment: Deployment, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or both ratios."""
    del deployment
    return measures_of(scoring.measures)


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures when none is asked for."""
    del kind
    return DEFAULT_MEASURES


def refuse_pairs(systems: Sequence[Deployment]) -> NoReturn:
    """Deployments cannot be paired: UsageError."""
    del systems
    raise UsageError(
        "a deployment compares model B with model A already: deployments stand side by side, "
        "and cannot be paired"
    )


def part(
    systems: Sequence[Deployment],
    scoring: Mapping[str, Scoring],
    dims: Dims,
    study: "Study",
    reader: "Reader",
) -> "Part":
    """The deployments scored at their thresholds, or the thresholds that are chosen."""
    if study.table(AbbaTable).thresholds:
        return chosen_part(systems, scoring, dims, study, reader)
    return score_part(systems, scoring, dims, None)


def choices(study: "Study", data: "DataTable", reader: "Reader | None") -> AbbaScoring:
    """How deployments are scored, as `[abba]` says."""
    del data, reader
    return AbbaScoring(study.table(AbbaTable).estimators)


def remarks(study: "Study", parts: "Sequence[Part]") -> Sequence[str]:
    """What a reader of chosen thresholds should be told first."""
    return remarks_of(parts) if study.table(AbbaTable).thresholds else ()


def gated(study: "Study", measure: str) -> str:
    """The measure of a gate; the variant of a chosen threshold is its rule, no parameter."""
    return measure.partition(":")[0] if study.table(AbbaTable).thresholds else measure


def marks(study: "Study") -> Sequence[str]:
    """The mark of the corrected estimator, where it is one of those that are computed."""
    chosen = study.table(AbbaTable).estimators
    return (":corrected|",) if "corrected" in (chosen or ("corrected",)) else ()


def planned(outcome: "Outcome") -> list[str]:
    """What more users of a deployment have to bring, where labels of some items are missing."""
    logs = [log for log in outcome.systems if isinstance(log, Deployment)]
    bare = {log.name: len(log) - int(log.labelled.sum()) for log in logs if log.labelled.any()}
    return [
        f"{name}: units as they are now, labels in the same share; labelling the other "
        f"{counted(number, 'item')} comes first: truecost abba select"
        for name, number in bare.items()
        if number
    ]


def problems(part: "Part", deployment: Deployment) -> list[str]:
    """What the checks of a deployment found."""
    own = (d for d in part.described_as(Description) if d.system == deployment.name)
    return [text for d in own for text in d.warnings]


WORK = Work(
    check=check,
    read=read_deployment,
    pair=refuse_pairs,
    measures=asked_of,
    defaults=defaults,
    count=batches,
    freeze=asked_estimators,
    choices=choices,
    part=part,
    describe=described,
    descriptions=("truecost.tasks.abba.describing:Description", "truecost.tasks.abba.planes:Plane"),
    problems=problems,
    remarks=remarks,
    gated=gated,
    marks=marks,
    planned=planned,
    flagged=flagged,
    shares=False,
    advise=True,
    checks=checks_of_log,
    page="truecost.tasks.abba.page:PAGE",
    layout="truecost.tasks.abba.terminal:LAYOUT",
)
