"""The page of AB/BA: ratios, thresholds, what was collected, and the checks of what its estimates
take for granted.
"""

from collections.abc import Sequence
from itertools import product

from msgspec import structs

from truecost.core.digits import between, counted, figure, figures
from truecost.core.results import Row
from truecost.names import PARTS
from truecost.pictures.rows import forest
from truecost.pictures.tables import Table, slot_of, without_empty_columns
from truecost.report.section import Line, Section, joined
from truecost.report.sections import chosen_slots, gates, of_each
from truecost.report.story import Naive, Page, Story, mean_rows, part_of, without_dims
from truecost.study.outcome import Problem
from truecost.tasks.abba import pictures
from truecost.tasks.abba import verdict as of_verdict
from truecost.tasks.abba.checks import CheckFinding
from truecost.tasks.abba.describing import Description, Plane
from truecost.tasks.abba.measures import ESTIMATORS
from truecost.tasks.abba.options import RATIOS
from truecost.tasks.abba.planes import BOTH_RATIOS
from truecost.tasks.abba.verdict import plane_name

HOW = {name: estimator.words for name, estimator in ESTIMATORS.items()}
MOST = 200  # rows of a picture
MOST_CURVES = 8  # of one plane


def ratios(story: Story) -> Section:
    """Both ratios by deployment and estimator; a picture a measure."""
    rows = [r for r in story.whole if "variant" not in r.parameters or r.measure == "rmean"]
    rows = [r for r in rows if not _priced(r)]
    labels = dict.fromkeys(r.label for r in rows)
    found = {label: _cut([r for r in rows if r.label == label]) for label in labels}
    drawings = tuple(pictures.ratios(some, title=n + cut) for n, (some, cut) in found.items())
    estimators = dict.fromkeys(r.dims.get("estimator", "") for r in rows)
    how = "; ".join(f"{name}: {HOW[name]}" for name in estimators if name in HOW)
    return Section("Ratios", f"B over A, by estimator. {how}.", drawings)


def _priced(row: Row) -> bool:
    """Whether a row is an amount in a currency, and no ratio."""
    return "prices" in row.parameters


def in_currency(story: Story) -> Section | None:
    """Costs of labels and false accepts, and of the candidate against the deployed model."""
    found: dict[str, list[Row]] = {}
    for row in story.whole:
        if _priced(row) and row.value is not None:
            found.setdefault(row.label, []).append(without_dims(row, ("estimator",)))
    if not found:
        return None
    text = (
        "Prices times measured amounts, by human labels. Misses of both models are not known, and "
        "cancel in the comparison of the two models."
    )
    return Section("Costs", text, of_each(forest, found))


def _cut(rows: Sequence[Row]) -> tuple[list[Row], str]:
    """The rows of a picture; of very many those of the estimator to trust, and that it is so."""
    shown = list(rows) if len(rows) <= MOST else mean_rows(rows)
    said = "" if len(shown) == len(rows) else ": the estimator to trust"
    if len(shown) > MOST:
        said += f", the first {MOST} of {len(shown)}"
    return shown[:MOST], said


def what_was_collected(story: Story) -> Section:
    """The four cells of each deployment."""
    found = {deployment_of(d): d for d in story.described_as(Description)}
    text = (
        "Each arm collects only the items that its model accepts; the other model decodes them "
        "offline. The ratios are computed from the labels in the four cells; the letter of a cell "
        "is the model that collected it."
    )
    return Section("Collected items", text, of_each(pictures.collected, found))


def deployment_of(d: Description) -> str:
    """The collection, where there are several, and the name."""
    return joined(d.collection, d.system)


def machine_against_human(story: Story) -> Section:
    """The machine's shares of each cell against human labels."""
    every = story.described_as(Description)
    found = {deployment_of(d): d for d in every if pictures.held_cells(d)}
    text = (
        "Share of true accepts among the items that humans labelled, and the machine's mean "
        "probability for the same items. Machine labels alone are right only if both agree in "
        "every cell."
    )
    drawings = of_each(pictures.machine_labels, found)
    return Section("Machine against human labels", text, drawings)


def ratios_by_subset(story: Story) -> Section:
    """Every ratio by subset, of the estimator to trust."""
    drawings = []
    own = [r for r in story.values if "subset" in r.dims and not _priced(r)]
    labels = dict.fromkeys(r.label for r in own)
    for label, part in product(labels, story.parts):
        rows = [r for r in story.values if r.label == label and part_of(r) == part]
        if rows:
            of = [without_dims(r, ("estimator", *PARTS)) for r in mean_rows(rows)]
            shown, said = chosen_slots(of, MOST // len({r.dims["system"] for r in of}))
            slots = [*dict.fromkeys(map(slot_of, shown))]
            shown.sort(key=lambda r: slots.index(slot_of(r)))  # deployments side by side
            title = ": ".join(filter(None, (label, part.name, said)))
            drawings.append(pictures.ratios(shown, title=title))
    text = "Each subset by the trusted estimator, with its own items and labels."
    return Section("Subsets", text, tuple(drawings))


def trade_off(story: Story) -> Section:
    """Recall against false accepts over the thresholds of B."""
    every = story.described_as(Plane)
    best = of_verdict.trusted(every)
    planes = [p for p in every if p in best or not p.subset]
    groups, drawings = _groups(planes), []
    for name, of in groups.items():
        cut = f"the first {MOST_CURVES} of {len(of)}" if len(of) > MOST_CURVES else ""
        title = joined(name or "whole data" * (len(groups) > 1), cut)
        drawings.append(pictures.trade_off(of[:MOST_CURVES], title=title))
    text = (
        "Each point of a curve is a threshold of B, the lowest at the top right; crosses are "
        "intervals. Thresholds below the deployed one cannot be evaluated."
    )
    tables = (_rules(story), _beside_test_set(story))
    return Section("Trade-off plane", text, tuple(drawings), tables)


def _groups(planes: Sequence[Plane]) -> dict[str, list[Plane]]:
    """The planes of a picture: all of a collection, then the subsets of each curve."""
    found: dict[str, list[Plane]] = {}
    for plane in sorted(planes, key=lambda p: p.subset != ""):
        whole = structs.replace(plane, subset="")
        of = f"{plane_name(whole, planes)}, by subset" if plane.subset else ""
        found.setdefault(joined(plane.collection, of), []).append(plane)
    return found


def _rules(story: Story) -> Table:
    """The threshold that each rule chooses, with both ratios there."""
    cells = []
    for plane in story.described_as(Plane):
        for chosen in plane.chosen:
            both = plane.rows(story.values, chosen)
            cells.append(
                (
                    *(plane.collection, plane.system, plane.estimator.replace("_", " ")),
                    *(plane.subset or "all", chosen.rule, "upper" if plane.by == "upper" else ""),
                    "none" if chosen.threshold is None else figure(chosen.threshold),
                    between(chosen.lower, chosen.upper),
                    *(t for n in RATIOS for t in (figures(both[n]) if n in both else ("", ""))),
                )
            )
    header = ("collection", "deployment", "estimator", "subset", "rule", "by")
    names = (*header, "threshold", "its interval", *BOTH_RATIOS)
    return without_empty_columns("Chosen thresholds", names, cells)


def _beside_test_set(story: Story) -> Table:
    """AB/BA beside the ratios of a test set, by rule (Table 4 of Petegrosso et al. 2022)."""
    rows = [r for r in story.whole if "variant" in r.parameters and r.measure in RATIOS]
    field = {(r.label, *without_dims(r, ("estimator",)).dims.values()): r for r in mean_rows(rows)}
    cells = []
    for row in (r for r in rows if r.dims.get("estimator") == "test_set"):
        beside = field.get((row.label, *without_dims(row, ("estimator",)).dims.values()))
        if beside is not None:
            shown = (text for r in (beside, row) for text in (*figures(r), figure(r.threshold)))
            cells.append((row.dims.get("collection", ""), row.dims["system"], row.label, *shown))
    header = ("collection", "deployment", "measure", "AB/BA", "interval", "threshold")
    names = ("test set", "its interval", "its threshold")
    return without_empty_columns("AB/BA beside the test set", (*header, *names), cells)


def by_threshold(story: Story) -> Section:
    """Both ratios against the threshold of B; a picture a curve."""
    planes = [p for p in story.described_as(Plane) if not p.subset]
    found = {joined(p.collection, plane_name(p, planes)): p for p in planes}
    text = "Bands are pointwise intervals; horizontal lines are the limits of the rules."
    drawings = of_each(pictures.ratios_by_threshold, found)
    return Section("Ratios against the threshold", text, drawings)


CHECKS = {  # by the name of a check, or by its kind before what is checked
    "labels ": "labels in ",
    "machine ": "machine in ",
    "narrower ": "direct against pooled, ",
    "label mix": "label mix of the arms",
    "traffic split": "split of the traffic",
    "fixed size": "looking every day",
}
LOOKS = {"ok": "good", "note": "open", "warning": "bad"}


def checks(story: Story) -> Section | None:
    """The checks of each deployment, warnings first."""
    every = story.described_as(Description)
    found = [(deployment_of(d) * (len(every) > 1), d, c) for d in every for c in d.checks]
    if not found:
        return None
    lines, fine = [], dict[str, list[str]]()
    for about, d, check in sorted(found, key=lambda one: one[2].state != "warning"):  # stable
        if check.state == "ok":
            fine.setdefault(about or "Other checks", []).append(_name(check))
        else:
            lines.append(_line(about, d, check))
    lines += [Line("good", "ok", about, ", ".join(names)) for about, names in fine.items()]
    warned = sum(check.state == "warning" for *_, check in found)
    of = f"{warned} of" if warned else "None of the"
    text = f"{of} {counted(len(found), 'check')} of the assumptions "
    return Section("Checks", text + ("warns." if warned == 1 else "warn."), lines=tuple(lines))


def _name(check: CheckFinding) -> str:
    """The name that readers know a check by."""
    kind, space, of = check.name.partition(" ")
    return CHECKS.get(check.name) or CHECKS.get(kind + space, kind + space) + of


def _line(about: str, d: Description, check: CheckFinding) -> Line:
    """The line of a finding."""
    text = check.text.removeprefix(f"{check.name.partition(' ')[2]}: ")  # the name says it
    cell = next((c for c in d.cells if check.name == f"labels {c.cell}" and c.labels), None)
    if cell is not None:
        false = counted(cell.labels - cell.positives, "false accept")
        text = (
            f"{counted(cell.positives, 'true accept')} and {false} are labelled among its "
            f"{counted(cell.items, 'item')}: intervals are rough"
        )
    return Line(
        LOOKS[check.state], check.state, ": ".join(filter(None, (about, _name(check)))), text
    )


def pointed_out(story: Story, problems: Sequence["Problem"]) -> list["Problem"]:
    """The warnings, with one line that points to the checks instead of their warnings."""
    found = story.described_as(Description)
    told = {f"{deployment_of(d)}: {text}" for d in found for text in d.warnings}
    warned = sum(check.state == "warning" for d in found for check in d.checks)
    others = [p for p in problems if p.message not in told]
    if not warned:
        return others
    said = f"{counted(warned, 'warning')} about the data: see Checks"
    return [Problem(kind="data", message=said), *others]


PAGE = Page(
    sections=(
        *(ratios, in_currency, trade_off, by_threshold, ratios_by_subset, gates),
        *(what_was_collected, machine_against_human, checks),
    ),
    headline=of_verdict.headline,
    lead=of_verdict.about_ratios,
    verdict=of_verdict.verdict,
    remarks=of_verdict.remarks_of,
    problems=pointed_out,
    naive=Naive(column="no change", said="{} is no change"),
)
