"""The page of a checked split: its leaks, how many samples of each set they touch, the classes
beside those of use, and what was not looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from truecost.errors import counted
from truecost.pictures import Picture, stacks
from truecost.pictures.tables import Table
from truecost.protocol.findings import Checked
from truecost.report.page import render_sections
from truecost.report.section import Group, Line, Section
from truecost.report.verdict import Verdict
from truecost.study.outcome import Problem
from truecost.version import __version__

MOST_CLASSES = 8  # that a picture tells apart


def render(
    found: Checked, inputs: Sequence[Mapping[str, str]] = (), plans: Sequence[str] = ()
) -> str:
    """The page of a split check as HTML: one file, without network.

    Parameters
    ----------
    inputs : sequence of mapping
        Input files, each with `file` and `sha256`.
    plans : sequence of str
        Notes on the files that still contain the split that was written.
    """
    lines = tuple(Line("bad", "leak", f.rule, f.message) for f in found.leaks)
    notes = tuple(f"{f.rule}: {f.message}" for f in found.findings if f.kind == "note")
    warnings = [f for f in found.findings if f.kind == "warning"]
    files = tuple((one["file"], one["sha256"]) for one in inputs)
    return render_sections(
        [*_pictures(found), _sets(found)],
        heading=f"Split check: {', '.join(one.name for one in found.sets)}",
        headline=_headline(found),
        said=Verdict(_looked_at(found), (Group("", lines),) if lines else (), (), notes),
        problems=[Problem(kind="advice", message=f.message, rule=f.rule) for f in warnings],
        how=[*(("split", text) for text in plans), *_made_by(found)],
        inputs=Table("Inputs", ("file", "SHA-256"), files) if files else None,
    )


def _headline(found: Checked) -> str:
    """The verdict in one sentence."""
    if not found.leaks:
        return "No leak found."
    judged = " and ".join(s.name for s in found.sets if s.role == "eval") or "this split"
    number = counted(len(found.leaks), "leak")
    return f"{number}: error rates on {judged} are lower than they will be in use."


def _looked_at(found: Checked) -> str:
    """The checks that were made, and the leaks that remain possible."""
    said = f"Checked: {'; '.join(found.looked_at)}."
    unseen = "; ".join(found.not_looked_at)
    return f"{said} Not checked, so these may still leak: {unseen}." if unseen else said


def _made_by(found: Checked) -> list[tuple[str, str]]:
    return [("signature", found.signature), ("truecost", __version__)]


def _pictures(found: Checked) -> list[Section]:
    """The sections with a picture."""
    made = {
        "Samples that leak": "Number of samples of each set in a leak. A sample found by several "
        "rules is counted for the first of them.",
        "Classes": "The share of each class in each set.",
    }
    drawn = zip(made.items(), (leaks(found), classes(found)), strict=True)
    return [Section(*words, (picture,)) for words, picture in drawn if picture is not None]


def leaks(found: Checked) -> Picture | None:
    """Samples of each set by the first leak that touches them; None where there is no leak."""
    rules = [*dict.fromkeys(f.rule for f in found.leaks if len(f.rows))]
    touched = {s.name: [0] * len(rules) for s in found.sets}
    taken: set[int] = set()
    for finding in found.leaks:
        for row in {*finding.rows.tolist()} - taken:
            taken.add(row)
            touched[found.set_of[row]][rules.index(finding.rule)] += 1
    if not taken:
        return None
    sizes = {s.name: f"{s.name} ({counted(s.samples, 'sample')})" for s in found.sets}
    amounts = {sizes[name]: numbers for name, numbers in touched.items()}
    return replace(stacks(amounts, rules, of="set", across="samples"), name="leaks")


def classes(found: Checked) -> Picture | None:
    """The share of each class in each set, beside that of use; None where there are many."""
    names = [*found.sets[0].classes]
    if not 2 <= len(names) <= MOST_CLASSES:
        return None
    shares = {s.name: [s.classes[n] / max(s.samples, 1) for n in names] for s in found.sets}
    if found.use:
        shares["in use"] = [found.use.get(n, 0.0) for n in names]
    picture = stacks(shares, names, of="set", across="share of samples", scale="%")
    return replace(picture, name="classes")


def _sets(found: Checked) -> Section:
    """Each set in figures."""
    first = found.sets[0]
    header = ("set", "role", "samples", *first.groups, *first.classes)
    numbers = ((s.samples, *s.groups.values(), *s.classes.values()) for s in found.sets)
    cells = [(s.name, s.role, *map(str, n)) for s, n in zip(found.sets, numbers, strict=True)]
    said = "Samples, groups of each column, and samples of each class."
    return Section("Sets", said, tables=(Table("Sets", header, tuple(cells)),))
