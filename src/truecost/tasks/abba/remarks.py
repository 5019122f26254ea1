"""What is remarked of thresholds that were chosen: which improve, which limits decide nothing."""

from collections.abc import Iterator, Sequence

from truecost.core.digits import between, figure
from truecost.core.results import Estimate
from truecost.study.outcome import Part
from truecost.tasks.abba.planes import Plane


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
