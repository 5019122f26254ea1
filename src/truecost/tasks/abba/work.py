"""What deployments take to be read, counted and scored; advice and remarks on them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from truecost.core.captions import detailed
from truecost.core.digits import between, figure
from truecost.core.flags import Flag
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, counted, first_five
from truecost.study.outcome import Part
from truecost.study.running import score_part
from truecost.task import Dims, Work
from truecost.tasks.abba.describing import Description, Plane
from truecost.tasks.abba.measures import ESTIMATORS
from truecost.tasks.abba.options import AbbaScoring, AbbaTable
from truecost.tasks.abba.read import checks_of_log, chosen_part, described, read_deployment
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.scoring import DEFAULT_MEASURES, asked_estimators, batches, measures_of

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.reader import Reader
    from truecost.study.tables import DataTable


def remarks_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """Which thresholds of B improve both ratios, and what their limits are worth.

    A limit that every threshold keeps decides nothing; one that is kept by the value is kept about
    as often as not, and an interval whose bound chose the threshold does not account for that
    choice: either is said once.
    """
    found = [
        (plane, part) for part in parts for plane in part.described_as(Plane) if not plane.subset
    ]
    said = [text for plane, _ in found for text in (_improving(plane), *_slack(plane))]
    doubts = [text for plane, part in found for text in _by_value(plane, part)]
    bound = [text for plane, part in found for text in _by_bound(plane, part)]
    return (*said, *doubts[:1], *bound[:1])


def _about(plane: Plane) -> str:
    """Whose thresholds these are."""
    return f"{', '.join(filter(None, (plane.collection, plane.system)))} ({plane.estimator})"


def _improving(plane: Plane) -> str:
    said = "no threshold of B improves both ratios"
    if plane.better:
        lowest, highest = map(figure, plane.better)
        said = f"thresholds of B from {lowest} to {highest} improve both ratios"
        if lowest == highest:
            said = f"the threshold {lowest} of B improves both ratios"
    return f"{_about(plane)}: {said}, by their values"


def _slack(plane: Plane) -> Iterator[str]:
    """The limits that decide nothing, and where to look; a test set was not deployed."""
    if plane.deployed is None:
        return
    for chosen in plane.chosen:
        if chosen.binds or chosen.threshold is None:
            continue
        where, more = "of the grid", "try higher ones"
        if chosen.rule.startswith("max-rfpr"):
            more = f"try lower ones, from the deployed {figure(plane.deployed)} up"
            if plane.thresholds[0] <= plane.deployed:
                where, more = "that is identified", "deploy B with a lower one to learn more"
        yield f"{_about(plane)}: {chosen.rule} is kept at every threshold {where}: {more}"


def _by_value(plane: Plane, part: Part) -> Iterator[str]:
    """The limits that are kept by the value of a ratio and not by its interval."""
    if plane.by == "upper":
        return
    for chosen in plane.chosen:
        measure, limit = _limited(chosen.rule)
        row = _row(plane, part, measure, chosen.rule)
        if row is None or row.lower is None or row.upper is None:
            continue
        if row.upper > float(limit) if measure == "rfpr" else row.lower < float(limit):
            yield (
                f"{_about(plane)}: {chosen.rule} is kept by the value, not by its interval "
                f"({between(row.lower, row.upper)}); --by upper asks for that"
            )


def _by_bound(plane: Plane, part: Part) -> Iterator[str]:
    """The intervals of ratios whose bound chose the threshold: they ignore that choice."""
    if plane.by != "upper":
        return
    for chosen in plane.chosen:
        measure, _ = _limited(chosen.rule)
        row = _row(plane, part, measure, f"{chosen.rule},by=upper")
        if row is None or row.threshold is None:
            continue
        end = "upper" if measure == "rfpr" else "lower"
        yield (
            f"{_about(plane)}: the threshold was chosen on these data so that the {end} end of the "
            f"interval of {measure} keeps {chosen.rule}; that interval "
            f"({between(row.lower, row.upper)}) does not account for the choice: check the "
            f"threshold on other data"
        )


def _limited(rule: str) -> tuple[str, str]:
    """The ratio that a rule limits, and the limit."""
    name, _, limit = rule.partition("=")
    return "rfpr" if name == "max-rfpr" else "rrecall", limit


def _row(plane: Plane, part: Part, measure: str, rule: str) -> Estimate | None:
    """The row of a ratio at the threshold that a rule chose."""
    about = {"system": plane.system, "estimator": plane.estimator}
    for row in part.estimates:
        same = about.items() <= row.dims.items() and "subset" not in row.dims
        if same and row.measure == measure and row.parameters["variant"] == rule:
            return row
    return None


def flagged(flag: Flag, rows: Sequence[Estimate], every: int, parts: Sequence[Part]) -> str:
    """The advice of a flag, with the row that it is about where it is not about all."""
    del parts
    said = detailed(flag.name, rows) or flag.advice
    return said + (_named(rows) if len(rows) < every else "")


def _named(rows: Sequence[Estimate]) -> str:
    """The first of the rows that a flag concerns, and how many more there are."""
    first = rows[0]
    about = ", ".join(text for key, text in first.dims.items() if key != "estimator")
    more = f" and {counted(len(rows) - 1, 'other row')}" if len(rows) > 1 else ""
    return f"; here {first.label} ({first.dims['estimator']}) of {about}{more}"


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
    descriptions=(
        "truecost.tasks.abba.describing:Description",
        "truecost.tasks.abba.describing:Plane",
    ),
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
