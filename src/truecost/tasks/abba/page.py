"""What the page of AB/BA shows: thresholds, and the checks of what its estimates take for
granted.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from truecost.core.digits import between, counted, figure
from truecost.core.results import figures
from truecost.report import plots
from truecost.report.declared import Naive, Page
from truecost.report.plots.plane import Path, crosses_of, marked_places
from truecost.report.section import Line, Section, comma, drawing_of, told
from truecost.report.sections import gates
from truecost.report.story import Story, means
from truecost.report.tables import Table, used
from truecost.report.words import listed, rule_said
from truecost.tasks.abba.checks import Found
from truecost.tasks.abba.describing import Description, Plane
from truecost.tasks.abba.records import CELLS, FEW
from truecost.tasks.abba.sections import (
    case_of,
    deployment_of,
    figures_of,
    machine_against_human,
    ratios,
    ratios_by_subset,
    what_was_collected,
)
from truecost.tasks.abba.verdict import (
    RATIOS,
    about_ratios,
    plane_name,
    remarks_of,
    rows_of,
    verdict,
)

if TYPE_CHECKING:
    from truecost.study import Problem


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


CHECKS = {  # names of checks, or of their kinds with what is checked
    "labels": "labels in {}",
    "machine": "machine in {}",
    "narrower": "direct against pooled, {}",
    "label mix": "label mix of the arms",
    "traffic split": "split of the traffic",
    "intervals": "intervals",
    "fixed size": "looking every day",
}


LOOKS = {"ok": "good", "note": "open", "warning": "bad"}


WARNINGS = {
    "label mix": "the label mix of the arms differs",
    "traffic split": "the traffic was not split as planned",
    "intervals": "bootstrap and delta method disagree",
}


def checks(story: Story) -> Section | None:
    """What was checked of each deployment, warnings first."""
    several = len(story.described_as(Description)) > 1
    found = [
        (deployment_of(d) if several else "", d, check)
        for d in story.described_as(Description)
        for check in d.checks
    ]
    found.sort(key=lambda one: one[2].state != "warning")  # stable
    if not found:
        return None
    lines = [_line(*one) for one in found]
    warned: dict[str, list[str]] = {}
    for about, d, check in found:
        if check.state == "warning":
            warned.setdefault(about, []).append(warning_said(d, check))
    said = [": ".join(filter(None, (about, listed(_joined(w))))) for about, w in warned.items()]
    text = f"Warnings: {'; '.join(said)}." if said else "No warnings."
    return Section("Checks", text, lines=tuple(lines))


def _line(about: str, d: Description, check: Found) -> Line:
    """A check under the name that readers know it by."""
    kind, _, of = check.name.partition(" ")
    name = CHECKS[kind].format(of) if of and kind in CHECKS else check.name
    name = CHECKS.get(check.name, name)
    text = check.text.removeprefix(f"{of}: ")  # the name says it
    cell = next((c for c in d.cells if check.name == f"labels {c.cell}" and c.labels), None)
    if cell is not None:
        false = counted(cell.labels - cell.positives, "false accept")
        text = (
            f"{counted(cell.positives, 'true accept')} and {false} are labelled among its "
            f"{counted(cell.items, 'item')}: intervals are rough"
        )
    return Line(LOOKS[check.state], check.state, ": ".join(filter(None, (about, name))), text)


def warning_said(d: Description, check: Found) -> str:
    """What a check warns of, in a few words."""
    kind, _, of = check.name.partition(" ")
    cell = next((c for c in d.cells if c.cell == of), None)
    if kind == "machine":
        return f"the machine errs in {of}"
    if kind != "labels":
        return WARNINGS.get(check.name, check.name)
    if cell is None or not cell.labels:
        return "no item has a human label" if cell is None else f"nothing is labelled in {of}"
    parts = {"true": cell.positives, "false": cell.labels - cell.positives}
    few = [f"fewer than {FEW} {name} accepts" for name, n in parts.items() if n < FEW]
    return f"{' and '.join(few)} are labelled in {of}"


def _joined(said: Sequence[str]) -> list[str]:
    """What is said of several cells, once: `the machine errs in 11A and 11B`."""
    found: dict[str, list[str]] = {}
    for text in dict.fromkeys(said):
        head, of, cell = text.rpartition(" in ")
        found.setdefault(head + of if cell in CELLS else text, []).append(cell)
    return [
        f"{head}{', '.join(cells[:-1])}{' and ' * (len(cells) > 1)}{cells[-1]}"
        if head.endswith(" in ")
        else head
        for head, cells in found.items()
    ]


def pointed_out(story: Story, problems: Sequence["Problem"]) -> list["Problem"]:
    """What to beware of, with one line that points to the checks in place of their warnings."""
    from truecost.study import Problem

    found = story.described_as(Description)
    told = {f"{deployment_of(d)}: {text}" for d in found for text in d.warnings}
    warned = sum(check.state == "warning" for d in found for check in d.checks)
    others = [p for p in problems if p.message not in told]
    if not warned:
        return others
    verb = "warns" if warned == 1 else "warn"
    said = f"{counted(warned, 'check')} of the data {verb}: see Checks"
    return [Problem(kind="data", message=said), *others]


PAGE = Page(
    sections=(
        *(ratios, trade_off, by_threshold, ratios_by_subset, gates),
        *(what_was_collected, machine_against_human, checks),
    ),
    lead=about_ratios,
    verdict=verdict,
    remarks=remarks_of,
    problems=pointed_out,
    naive=Naive(column="no change", said="{} is no change"),
)
