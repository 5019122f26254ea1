"""The sections of AB/BA on thresholds: the plane, both ratios by threshold, what rules choose."""

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from truecost.core.digits import between, figure
from truecost.core.results import figures
from truecost.report import plots
from truecost.report.plots.plane import Path, crosses_of, marked_places
from truecost.report.section import Section, comma, drawing_of, told
from truecost.report.story import Story, means
from truecost.report.tables import Table, used
from truecost.report.words import rule_said
from truecost.tasks.abba.planes import Plane
from truecost.tasks.abba.sections import case_of, figures_of
from truecost.tasks.abba.verdict import RATIOS, plane_name, rows_of

MOST_CURVES = 8  # of one plane
BY_THRESHOLD = (
    *("threshold of B", "rrecall", "interval of rrecall", "rfpr", "interval of rfpr"),
    "what it is",
)
MOST_THRESHOLDS = 20  # rows of a table of them


def trade_off(story: Story) -> Section | None:
    """Recall against false accepts over the thresholds of B."""
    planes = story.described_as(Plane)
    if not planes:
        return None
    drawings = []
    groups = _groups(planes)
    for title, of in groups.items():
        shown = of[:MOST_CURVES]
        cut = f"the first {MOST_CURVES} of {len(of)}" if len(of) > MOST_CURVES else ""
        words = "Relative recall against relative false positives. " + told(
            f"{name}: {_told(plane)}" for name, plane in zip(plots.names_of(of), of, strict=True)
        )
        drawings.append(
            drawing_of(
                *(plots.trade_off, shown, plots.trade_off_height, words, _points(title, of)),
                title=", ".join(filter(None, (title or "whole data" * (len(groups) > 1), cut))),
                square=True,
            )
        )
    text = (
        "Each point of a curve is a threshold of B, the lowest at the top right. In the shaded "
        "region B finds more and falsely accepts less; crosses are the intervals at single "
        "thresholds. A threshold below the deployed one cannot be judged."
    )
    if any(_placeless(plane) for plane in planes):
        text += " A chosen threshold where a ratio is 0 has no place here."
    tables = [found for found in (_rules(story), _beside_test_set(story)) if found]
    return Section("Trade-off plane", text, tuple(drawings), tuple(tables))


def _points(title: str, planes: Sequence[Plane]) -> Table:
    """The thresholds that have a mark or a cross, curve by curve."""
    cells = []
    for name, plane in zip(plots.names_of(planes), planes, strict=True):
        path = Path.of(plane)
        places = {at for at, _ in marked_places(plane, path)} | {*crosses_of(plane, path)}
        cells += [(name, *_row(plane, k)) for k in sorted(places)]
    return used(f"Trade-off plane{comma(title)}: numbers", ("curve", *BY_THRESHOLD), cells)


def _placeless(plane: Plane) -> bool:
    """Whether a rule chose a threshold that logarithmic axes cannot show."""
    path = Path.of(plane)
    return any(c.threshold is not None and path.place(c.threshold) is None for c in plane.chosen)


def _groups(planes: Sequence[Plane]) -> dict[str, list[Plane]]:
    """The planes of a picture: all of a collection, then the subsets of each curve."""
    found: dict[str, list[Plane]] = {}
    for plane in sorted(planes, key=lambda p: p.subset != ""):
        of = f"{plane_name(_whole(plane), planes)}, by subset" if plane.subset else ""
        title = ", ".join(filter(None, (plane.collection, of)))
        found.setdefault(title, []).append(plane)
    return found


def _whole(plane: Plane) -> Plane:
    return structs.replace(plane, subset="")


def _told(plane: Plane) -> str:
    """The chosen thresholds of a curve in words."""
    said = [f"{rule_said(c.rule, plane.by)} at {figure(c.threshold)}" for c in plane.chosen]
    return ", ".join(said)


def _rules(story: Story) -> Table | None:
    """The threshold that each rule chooses, with both ratios there."""
    cells = []
    for plane in story.described_as(Plane):
        for chosen in plane.chosen:
            both = rows_of(story, plane, chosen)
            cells.append(
                (
                    *(plane.collection, plane.system, plane.estimator.replace("_", " ")),
                    *(plane.subset or "all", chosen.rule, "upper" if plane.by == "upper" else ""),
                    "none" if chosen.threshold is None else figure(chosen.threshold),
                    between(chosen.lower, chosen.upper),
                    *(text for name in RATIOS for text in figures_of(both.get(name))),
                )
            )
    header = (
        "collection",
        "deployment",
        "estimator",
        "subset",
        "rule",
        "by",
        "threshold",
        "its interval",
    )
    names = ("rrecall", "interval of rrecall", "rfpr", "interval of rfpr")
    return used("Chosen thresholds", (*header, *names), cells) if cells else None


def _beside_test_set(story: Story) -> Table | None:
    """AB/BA beside the ratios of a test set, by rule (Table 4 of paper 001)."""
    rows = [r for r in story.whole if "variant" in r.parameters and r.measure in RATIOS]
    tests = [r for r in rows if r.dims.get("estimator") == "test_set"]
    field = {case_of(r): r for r in means(rows)}
    cells = [
        (
            *(r.dims.get("collection", ""), r.dims["system"], r.label),
            *(*figures(field[case_of(r)]), figure(field[case_of(r)].threshold)),
            *(*figures(r), figure(r.threshold)),
        )
        for r in tests
        if case_of(r) in field
    ]
    if not cells:
        return None
    header = ("collection", "deployment", "measure", "AB/BA", "interval", "threshold")
    names = ("test set", "its interval", "its threshold")
    return used("AB/BA beside the test set", (*header, *names), cells)


def by_threshold(story: Story) -> Section | None:
    """Both ratios against the threshold of B; a picture a curve."""
    planes = [p for p in story.described_as(Plane) if not p.subset]
    drawings = []
    for plane in planes:
        name = ", ".join(filter(None, (plane.collection, plane_name(plane, planes))))
        table = _thresholds(f"Ratios by threshold{comma(name)}", plane)
        words = "Both ratios against the threshold of B: " + told(
            f"{row[0]}: rrecall {row[1]}, rfpr {row[3]}" for row in table.rows
        )
        title = name if len(planes) > 1 else ""
        drawings.append(
            drawing_of(
                *(plots.ratios_by_threshold, plane, plots.by_threshold_height, words, table),
                title=title,
            )
        )
    if not drawings:
        return None
    text = (
        "Bands are pointwise intervals. An upright line is the threshold that a rule chooses, the "
        "bar of its colour above the picture where the replicates choose theirs, and a dotted line "
        "its limit."
    )
    return Section("Ratios against the threshold", text, tuple(drawings))


def _thresholds(caption: str, plane: Plane) -> Table:
    """Some twenty thresholds with both ratios (Table 5 of paper 001)."""
    wanted = [plane.deployed, *plane.better, *(c.threshold for c in plane.chosen)]
    places = {k for k, t in enumerate(plane.thresholds) if t in wanted}
    every = len(plane.thresholds)
    even = np.linspace(0, every - 1, min(every, MOST_THRESHOLDS - len(places))).round().astype(int)
    cells = [_row(plane, k) for k in sorted(places | {*even.tolist()})]
    return used(caption, BY_THRESHOLD, cells)


def _row(plane: Plane, k: int) -> tuple[str, ...]:
    """A threshold with both ratios."""
    return (
        f"{plane.thresholds[k]:.4g}",
        *(_or_none(plane.rrecall[k]), between(plane.rrecall_lower[k], plane.rrecall_upper[k])),
        *(_or_none(plane.rfpr[k]), between(plane.rfpr_lower[k], plane.rfpr_upper[k])),
        ", ".join(_said_of(plane, k)),
    )


def _or_none(ratio: float | None) -> str:
    return "" if ratio is None else figure(ratio)


def _said_of(plane: Plane, k: int) -> list[str]:
    """What a threshold is."""
    at = plane.thresholds[k]
    said = ["deployed"] if at == plane.deployed else []
    return said + [rule_said(c.rule, plane.by) for c in plane.chosen if c.threshold == at]
