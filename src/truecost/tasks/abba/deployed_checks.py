"""The checks of AB/BA for readers: a line each, and what they warn of in a sentence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.core.many import counted
from truecost.report.lines import Line
from truecost.report.section import Section
from truecost.report.story import Story
from truecost.report.words import listed
from truecost.tasks.abba.checks import Found
from truecost.tasks.abba.describing import Description
from truecost.tasks.abba.records import CELLS, FEW
from truecost.tasks.abba.sections import deployment_of

if TYPE_CHECKING:
    from truecost.study import Problem

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
    text = f"Beware: {'; '.join(said)}." if said else "Nothing to beware of."
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
