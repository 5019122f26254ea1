"""The sections of AB/BA: ratios, what was collected, what a machine says of it."""

from collections.abc import Sequence

from truecost.core.digits import amount, between, figure, scale_of
from truecost.core.results import Row, figures
from truecost.names import PARTS
from truecost.report import plots
from truecost.report.section import MOST_LINES, Drawing, Section, comma, drawing_of, told
from truecost.report.sections import chosen_slots, in_words
from truecost.report.story import Story, bare, means, part_of
from truecost.report.tables import Table, slot_of, used
from truecost.report.words import isolated, note, value
from truecost.tasks.abba.describing import CellCounts, Description
from truecost.tasks.abba.measures import ESTIMATORS
from truecost.tasks.abba.records import CELLS
from truecost.tasks.abba.verdict import RATIOS, outcome

HOW = {name: estimator.words for name, estimator in ESTIMATORS.items()}


def ratios(story: Story) -> Section | None:
    """Both ratios by deployment and estimator; a picture a measure."""
    rows = [r for r in story.whole if "variant" not in r.parameters or r.measure == "rmean"]
    if not rows:
        return None
    labels = list(dict.fromkeys(r.label for r in rows))
    drawings = tuple(_ratios(label, [r for r in rows if r.label == label]) for label in labels)
    estimators = dict.fromkeys(r.dims.get("estimator", "") for r in rows)
    how = "; ".join(f"{name}: {HOW[name]}" for name in estimators if name in HOW)
    text = f"B over A, on a logarithmic axis; at 1 nothing changes. {how}."
    tables = [found for found in (_side_by_side(story, rows), _machine_beside(rows)) if found]
    return Section("Ratios", text, drawings, tuple(tables))


def _ratios(label: str, every: Sequence[Row]) -> Drawing:
    """A picture of one measure; of very many rows the estimator to trust."""
    rows = list(every) if len(every) <= MOST_LINES else means(every)
    cut = "" if len(rows) == len(every) else ": the estimator to trust"
    if len(rows) > MOST_LINES:
        cut += f", the first {MOST_LINES} of {len(rows)}"
    words = f"{label} with intervals: " + told(f"{_name(r)} {value(r)}" for r in rows)
    shown = rows[:MOST_LINES]
    table = _numbers(f"{label}: numbers", every)
    return drawing_of(plots.ratios, shown, plots.ratios_height, words, table, title=label + cut)


def _name(row: Row) -> str:
    dims = {k: v for k, v in row.dims.items() if k != "application"}
    return ", ".join([isolated(dims.pop("system")), *dims.values()])


def _numbers(caption: str, rows: Sequence[Row]) -> Table:
    """Ratios with what they rest on: items of the label by cell, as the estimator counts them."""
    cells = [
        (
            *(r.dims.get(k, "") for k in ("collection", "system", "estimator", "subset")),
            *figures(r),
            between(r.counts.get("delta_lower"), r.counts.get("delta_upper")),
            *(figure(r.counts[c]) if c in r.counts else "" for c in CELLS),
            *(amount(r.counts["labels"]) if "labels" in r.counts else "", note(r)),
        )
        for r in rows
    ]
    header = ("collection", "deployment", "estimator", "subset", "ratio", "interval")
    return used(caption, (*header, "delta method", *CELLS, "labels", "note"), cells)


def _side_by_side(story: Story, rows: Sequence[Row]) -> Table | None:
    """Both ratios of each deployment and estimator in a row (Table 3 of paper 001)."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        if row.label in RATIOS:
            key = tuple(row.dims.get(k, "") for k in ("collection", "system", "estimator"))
            found.setdefault(key, {})[row.measure] = row
    cells = [
        (*key, *(text for name in RATIOS for text in figures_of(both.get(name))), outcome(both)[1])
        for key, both in found.items()
    ]
    if not cells:
        return None
    header = ("collection", "deployment", "estimator")
    names = ("rrecall", "interval of rrecall", "rfpr", "interval of rfpr", "verdict")
    several = len(story.systems) > 1
    title = "Both ratios of each deployment" if several else "Both ratios"
    return used(title, (*header, *names), cells)


def figures_of(row: Row | None) -> tuple[str, str]:
    """Value and interval of a row; nothing for none."""
    return ("", "") if row is None else figures(row)


def _machine_beside(rows: Sequence[Row]) -> Table | None:
    """What machine labels alone say beside human ones (Table 6 of paper 001)."""
    alone = [r for r in rows if r.dims.get("estimator") == "soft" and r.label in RATIOS]
    human = {case_of(r): r for r in means(rows) if r.dims.get("estimator") != "soft"}
    beside = [(r, human[case_of(r)]) for r in alone if case_of(r) in human]
    if not beside:
        return None
    estimators = {trusted.dims["estimator"] for _, trusted in beside}
    one = len(estimators) == 1
    cells = [
        (
            *(r.dims.get("collection", ""), r.dims["system"], r.label),
            *("" if one else trusted.dims["estimator"], *figures(trusted), *figures(r)),
            _sides(r, trusted),
        )
        for r, trusted in beside
    ]
    first = estimators.pop() if one else "value"
    names = (first, "interval", "soft (machine labels alone)", "its interval", "they say")
    header = ("collection", "deployment", "measure", "estimator", *names)
    return used("Machine labels alone beside the estimator to trust", header, cells)


def _sides(row: Row, trusted: Row) -> str:
    """Whether machine labels alone lie on the same side of 1."""
    if row.value is None or trusted.value is None:
        return "undefined"
    return "opposite sides of 1" if "other_side" in row.flags else "same side of 1"


def case_of(row: Row) -> tuple[str, ...]:
    """What a row is about, its estimator apart."""
    return (row.label, *(v for k, v in row.dims.items() if k != "estimator"))


def what_was_collected(story: Story) -> Section | None:
    """The four cells of each deployment."""
    found = story.described_as(Description)
    if not found:
        return None
    drawings = tuple(
        drawing_of(
            *(plots.collected, d, plots.collected_height, _told_cells(d), _cells(d)),
            title=deployment_of(d) if len(found) > 1 else "",
        )
        for d in found
    )
    text = (
        "Only what the model of an arm accepts is collected; the other model decodes it offline. "
        "Every item lies in one of four cells, and the ratios are made of the labels in them."
    )
    return Section("What was collected", text, drawings)


def deployment_of(d: Description) -> str:
    """The collection, where there are several, and the name."""
    return ", ".join(filter(None, (d.collection, d.system)))


def _told_cells(d: Description) -> str:
    return "Items by cell: " + told(
        f"{c.cell}, {c.words}: {amount(c.items)} items, {amount(c.positives)} labelled true, "
        f"{amount(c.labels - c.positives)} labelled false"
        for c in d.cells
    )


def _cells(d: Description) -> Table:
    """Items and labels of each cell."""
    cells = [
        (*(c.cell, c.words), *map(amount, (c.items, *plots.parts_of(c))), _share(c.share))
        for c in d.cells
    ]
    names = ("labelled true", "labelled false", "no label", "share true of the labelled")
    caption = f"What was collected, {deployment_of(d)}: numbers"
    return used(caption, ("cell", "what", "items", *names), cells)


def _share(share: float | None) -> str:
    return "" if share is None else figure(share, "%")


def machine_against_human(story: Story) -> Section | None:
    """What a machine says of each cell against human labels."""
    found = [d for d in story.described_as(Description) if plots.held_cells(d)]
    if not found:
        return None
    drawings = tuple(
        drawing_of(
            *(plots.machine_labels, d, plots.machine_labels_height, _told_machine(d)),
            _machine(d),
            title=deployment_of(d) if len(found) > 1 else "",
        )
        for d in found
    )
    text = (
        "Among the items of a cell that humans labelled: the share of true accepts against the "
        "mean probability that the machine gives them. Machine labels alone are right only where "
        "both agree in every cell."
    )
    return Section("Machine against human labels", text, drawings)


def _told_machine(d: Description) -> str:
    return "Share of true accepts by cell: " + told(
        f"{c.cell}: human labels {_share(c.share)}, machine {_share(c.machine_known)}"
        for c in plots.held_cells(d)
    )


def _machine(d: Description) -> Table:
    """Shares and means of each cell, with their difference."""
    cells = [(c.cell, amount(c.labels), *_against(c)) for c in plots.held_cells(d)]
    names = ("human share", "machine, same items", "human less machine", "interval")
    caption = f"Machine against human labels, {deployment_of(d)}: numbers"
    return used(caption, ("cell", "labels", *names, "machine, all items"), cells)


def _against(c: CellCounts) -> tuple[str, ...]:
    points = scale_of("percent", difference=True)
    gap = "" if c.human_minus_machine is None else figure(c.human_minus_machine, points)
    ends = between(c.lower, c.upper, points)
    return (_share(c.share), _share(c.machine_known), gap, ends, _share(c.machine))


def ratios_by_subset(story: Story) -> Section | None:
    """Every ratio by subset, of the estimator to trust."""
    drawings = []
    for label in dict.fromkeys(r.label for r in story.values if "subset" in r.dims):
        for name, rows in parts_with([r for r in story.values if r.label == label], story):
            of = [bare(r, ("estimator",)) for r in means(rows)]
            shown, said = chosen_slots(of, MOST_LINES // len({r.dims["system"] for r in of}))
            slots = [*dict.fromkeys(map(slot_of, shown))]
            shown.sort(key=lambda r: slots.index(slot_of(r)))  # deployments side by side
            words = in_words("Ratios by subset with intervals", shown)
            drawings.append(_by_subset(shown, ": ".join(filter(None, (name, said))), words))
    text = "Each subset by the estimator to trust, with its own items and labels."
    return Section("Subsets", text, tuple(drawings)) if drawings else None


def _by_subset(rows: Sequence[Row], title: str, words: str) -> Drawing:
    """One ratio by subset."""
    shown = [bare(r, PARTS) for r in rows]
    table = _numbers(f"{rows[0].label} by subset{comma(title)}: numbers", shown)
    title = ": ".join(filter(None, (rows[0].label, title)))
    return drawing_of(plots.ratios, shown, plots.ratios_height, words, table, title=title)


def parts_with(rows: Sequence[Row], story: Story) -> list[tuple[str, list[Row]]]:
    """The rows of each part that has any, with its name."""
    found = [(part.name, [r for r in rows if part_of(r) == part]) for part in story.parts]
    return [(name, of) for name, of in found if of]
