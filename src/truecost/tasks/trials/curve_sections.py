"""The sections of the page that show curves: errors, costs, reliability.

A picture a collection, and once more for each application where the curves depend on it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from truecost.core.digits import figure
from truecost.report import plots
from truecost.report.curves import Curves
from truecost.report.plots.look import MANY
from truecost.report.section import Drawing, Section, comma, drawing_of, told
from truecost.report.story import Part, Story
from truecost.report.tables import of_numbers

MOST_SYSTEMS = 8  # curves of one picture


def det(story: Story) -> Section | None:
    """DET curves, once for each collection: they do not depend on the application."""
    drawings = _curves(story, "det", plots.det, plots.det_height, _told_det)
    if not drawings:
        return None
    text = "Every threshold gives a point; lower and further left is better."
    if _banded(story, "det"):
        text += " The band is the percentile interval of the miss rate at each false-alarm rate."
    applications = list(dict.fromkeys(part.application for part in story.parts))
    if len(applications) > 1:
        text += f" The points are those of the application {applications[0]}."
    return Section("Detection error trade-off", text, drawings)


def _told_det(curves: Sequence[Any]) -> str:
    return "Miss rate against false-alarm rate. " + told(
        f"{c.system}: {_rates('in use', c.actual)}{_rates('at least cost', c.minimum)}"
        for c in curves
    )


def _rates(where: str, point: tuple[float, float] | None) -> str:
    if point is None:
        return ""
    return f"{where} {figure(point[1])} missed at {figure(point[0])} false alarms "


def threshold(story: Story) -> Section | None:
    """Cost against the threshold, for each part."""
    drawings = _curves(
        story, "cost", plots.cost_against_threshold, plots.threshold_height, _told_cost, every=True
    )
    text = "What each threshold would cost, as a share of the naive baseline's cost."
    if any(c.actual is not None for curves in story.curves for c in curves.cost):
        text += (
            " The filled mark is the threshold in use, the hollow one that of least cost: the "
            "height between them is what a better threshold would save."
        )
    else:
        text += " No threshold is in use; the hollow mark is the one of least cost for these data."
    if any(c.unit == "llr" for curves in story.curves for c in curves.cost):
        text += " Thresholds are log-likelihood ratios (LLR), natural logarithms."
    return Section("Cost against threshold", text, drawings) if drawings else None


def _told_cost(curves: Sequence[Any]) -> str:
    return "Normalised cost against the threshold. " + told(
        f"{c.system}: {_cost('in use', c.actual)}{_cost('least', c.minimum)}" for c in curves
    )


def _cost(where: str, point: tuple[float, float] | None) -> str:
    return "" if point is None else f"{where} {figure(point[1])} at {figure(point[0])} "


def calibration(story: Story) -> Section | None:
    """What systems say against what is seen, with the decomposition of Cllr."""
    drawings = _curves(
        story, "reliability", plots.reliability, plots.reliability_height, _told_calibration
    )
    text = (
        "What a system says against what the data show: on the diagonal it is calibrated. Being "
        "calibrated is not being good: the legend has the cost of its probabilities (naive "
        "baseline 1) and how much of it better calibration would save."
    )
    found = [c for curves in story.curves for c in curves.reliability]
    ends = [c for c in found if ((c.bin_seen <= 0) | (c.bin_seen >= 1)).any()]
    if any(c.scale == "llr" for c in ends):
        text += (
            " Hollow marks on the edge stand for infinity: among the trials where the system says "
            "so only one class was seen."
        )
    if any(c.scale == "posterior" for c in ends):
        text += " Hollow marks hold one class only."
    if any(c.scale == "top" for c in ends):
        text += " Hollow marks are all right or all wrong."
    return Section("Reliability", text, drawings) if drawings else None


def _banded(story: Story, kind: str) -> bool:
    """Whether some picture has so few systems that their bands are drawn."""
    return any(0 < len(getattr(curves, kind)) <= MANY for curves in story.curves)


def _told_calibration(curves: Sequence[Any]) -> str:
    return "What is seen against what is said. " + told(
        f"{c.system}: {plots.decomposed(c)}" for c in curves
    )


def _curves(
    story: Story,
    kind: str,
    draw: Callable[..., Any],
    height: Callable[..., float],
    words: Callable[[Sequence[Any]], str],
    *,
    every: bool = False,
) -> tuple[Drawing, ...]:
    """A picture for each part; of applications that give the same curves only one."""
    named = {part.title: part for part in story.parts}
    found: dict[Any, tuple[Part | None, Any]] = {}
    for curves in story.curves:
        part = named.get(curves.part)
        for scale, some in _scales(curves, kind).items():
            same = (dict(part.dims).get("collection", ""), scale) if part else (curves.part, scale)
            key = (curves.part, scale) if every or _differ(found.get(same), some) else same
            found.setdefault(key, (part, some))
    shared = len(found) < sum(len(_scales(c, kind)) for c in story.curves)
    drawings = []
    order = list(story.parts)
    for part, some in sorted(found.values(), key=lambda f: order.index(f[0]) if f[0] else -1):
        shown = _best_of(story, part, some)
        title = _heading(part, shared=shared)
        if len(some) > len(shown):
            best = f"The {len(shown)} best of {len(some)} systems"
            title = f"{best}, {title}" if title else best
        caption = f"{_NAMES[kind]}{comma(title)}: numbers"
        table = of_numbers(caption, [c.numbers() for c in shown])
        square = kind != "cost"
        drawings.append(
            drawing_of(draw, shown, height, words(shown), table, title=title, square=square)
        )
    return tuple(drawings)


def _best_of(story: Story, part: Part | None, curves: Sequence[Any]) -> Sequence[Any]:
    """The curves of as many systems as a picture holds, those best by the main measure."""
    if len(curves) <= MOST_SYSTEMS:
        return curves
    ranked = story.ranked(part if part is not None else story.parts[0])
    order = [r.dims["system"] for r in ranked]
    known = sorted(curves, key=lambda c: order.index(c.system) if c.system in order else 10**6)
    kept = {c.system for c in known[:MOST_SYSTEMS]}
    return [c for c in curves if c.system in kept]


_NAMES = {"det": "Error trade-off", "cost": "Cost against threshold", "reliability": "Reliability"}


def _scales(curves: Curves, kind: str) -> dict[str, Sequence[Any]]:
    """The curves of a kind; those of different scales apart, for they share no axes."""
    found: dict[str, list[Any]] = {}
    for curve in getattr(curves, kind):
        found.setdefault(getattr(curve, "scale", ""), []).append(curve)
    return dict(found)


def _differ(earlier: tuple[Any, Sequence[Any]] | None, curves: Sequence[Any]) -> bool:
    """Whether curves are others than those of an earlier application, points in use apart."""
    if earlier is None:
        return False
    return [_shape(c) for c in earlier[1]] != [_shape(c) for c in curves]


def _shape(curve: Any) -> tuple[Any, ...]:
    keys = ("p_miss", "p_fa", "lower") if hasattr(curve, "p_miss") else ("said", "seen", "bin_said")
    return (curve.system, *(getattr(curve, key).tobytes() for key in keys))


def _heading(part: Part | None, *, shared: bool) -> str:
    """What a picture is of: without the application when it stands for all of them."""
    if part is None:
        return ""
    return ", ".join(name for key, name in part.dims if not (shared and key == "application"))
