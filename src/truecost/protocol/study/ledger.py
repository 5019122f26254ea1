"""The ledger of a study: what was scored is written down, and warned of where it was scored
before.

Lines say what was scored (`truecost.protocol.ledger`); here an outcome becomes lines, and the lines
before its own become advice and flags. What a line holds does not enter a result, only counts do:
the same study with the same lines before its own gives the same bytes, however often it is run.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from truecost.core.digits import figure, scale_of
from truecost.core.flags import FLAGS
from truecost.core.results import Estimate
from truecost.errors import InputError, counted
from truecost.protocol.ledger import SCHEMA_VERSION, Figure, Line, Scored
from truecost.protocol.study.evaluated import Hasher, joined
from truecost.running import OF_SYSTEM, SHARED
from truecost.study.outcome import Outcome, Part, Problem
from truecost.version import __version__

if TYPE_CHECKING:
    from truecost.protocol.ledger import Ledger
    from truecost.study.config import Study


# Parts of signatures that say how intervals were made, and what scores are: not what was chosen
# when outputs were counted.
NO_CHOICES = (
    *("resample", "resampled", "replicates", "seed", "block", "percentile", "bca", "delta"),
    *("truecost", "type"),
)


@dataclass(frozen=True)
class Group:
    """What was scored on one evaluation set.

    Attributes
    ----------
    evaluation : str
        Its hash.
    collection : str
        How the study calls it.
    parts : tuple of int
        Places of the parts of the outcome: one for each application.
    systems : mapping of str to str
        Hash of what each system put out.
    """

    evaluation: str
    collection: str
    parts: tuple[int, ...]
    systems: Mapping[str, str]
    items: int
    item: str


def groups_of(outcome: Outcome) -> list[Group]:
    """The evaluation sets of an outcome, and what was scored on each.

    Two collections of the same ids and labels (the same trials, recorded anew) are told apart by
    their names.
    """
    found: dict[str, list[int]] = {}
    hashes: dict[str, dict[str, tuple[str, str]]] = {}
    for place, part in enumerate(outcome.parts):
        name = part.dims.get("collection", "")
        if name not in hashes:
            hashes[name] = _hashes(part)
        found.setdefault(name, []).append(place)
    groups = [
        group
        for name, places in found.items()
        for group in _groups(name, places, hashes[name], outcome)
    ]
    several = [group.evaluation for group in groups]
    return [
        group if several.count(group.evaluation) == 1 else _told_apart(group) for group in groups
    ]


def _told_apart(group: Group) -> Group:
    """A set that shares ids and labels with another collection of the study."""
    mixed = hashlib.sha256(f"{group.evaluation} {group.collection}".encode()).hexdigest()
    return replace(group, evaluation=mixed)


def _hashes(part: Part) -> dict[str, tuple[str, str]]:
    """Of each system what it was scored on, and what it put out."""
    of = Hasher()
    if part.runs:
        return {
            method: (of.evaluation_of(runs[0]), joined([of.output_of(run) for run in runs]))
            for method, runs in part.runs.items()
        }
    return {s.name: (of.evaluation_of(s), of.output_of(s)) for s in part.systems}


def _groups(
    collection: str, places: Sequence[int], hashes: Mapping[str, tuple[str, str]], outcome: Outcome
) -> list[Group]:
    """The systems of a collection by what they were scored on: all the same, unless some lack
    trials.
    """
    found = []
    for evaluation in dict.fromkeys(of for of, _ in hashes.values()):
        own = {name: said for name, (of, said) in hashes.items() if of == evaluation}
        rows = [e for k in places for e in outcome.parts[k].estimates if e.dims["system"] in own]
        first = next((e for e in rows if "subset" not in e.dims), None)
        if first is not None:
            size = (first.n_trials, first.item)
            found.append(Group(evaluation, collection, tuple(places), own, *size))
    return found


def line_of(group: Group, outcome: Outcome, study: "Study") -> Line:
    """What the ledger says of a scoring, without its number."""
    figures: dict[str, Figure] = {}
    for place in group.parts:
        for row in outcome.parts[place].estimates:
            if is_kept(row, group):
                figure = figure_of(row, outcome.task)
                known = figures.get(figure.key, figure)
                figures[figure.key] = structs.replace(
                    known, values={**known.values, **figure.values}
                )
    return Line(
        schema_version=SCHEMA_VERSION,
        evaluation=group.evaluation,
        task=outcome.task,
        collection=group.collection,
        items=group.items,
        item=group.item,
        purpose=study.ledger.settled("purpose"),
        systems=tuple(Scored(name=n, sha256=h) for n, h in group.systems.items()),
        figures=tuple(figures.values()),
        configuration=hashlib.sha256(outcome.configuration.encode()).hexdigest(),
        truecost=__version__,
    )


def is_kept(row: Estimate, group: Group) -> bool:
    """Whether a row is about a system on the whole evaluation set."""
    return (
        row.dims["system"] in group.systems
        and "subset" not in row.dims
        and row.measure not in SHARED
    )


def figure_of(row: Estimate, task: str) -> Figure:
    """A row as the ledger keeps it."""
    choices = [] if task == "trials" else row.signature.split("|")[1:]
    kept = [text for text in choices if text.partition(":")[0] not in NO_CHOICES]
    hidden = ("collection", *OF_SYSTEM)
    return Figure(
        measure=row.label,
        parameters=dict(row.parameters),
        dims={name: text for name, text in row.dims.items() if name not in hidden},
        choices="|".join(kept),
        direction=row.direction,
        values={row.dims["system"]: row.value},
    )


FILE = "ledger.jsonl"


RULE = "choices-on-evaluation-data"


@dataclass(frozen=True)
class Place:
    """Where the ledger is.

    Attributes
    ----------
    asked : bool
        Whether someone named it: then it must be written.
    """

    path: Path
    asked: bool


def place_of(study: "Study", beside: str | None = None) -> Place | None:
    """Where the ledger of a study is; None where none is kept.

    Parameters
    ----------
    beside : str, optional
        The file of the study, where it comes from one.

    Returns
    -------
    Place or None
    """
    table = study.ledger
    if table.kept is False or (beside is None and table.file is None):
        return None
    if table.file is not None:
        return Place(Path(table.file), True)
    return Place(Path(beside or "").parent / FILE, table.kept is True)


def check_place(place: Place | None) -> None:
    """Refuse a ledger that was asked for and cannot be written, before the work: InputError."""
    from truecost.formats.publishing import refused

    if place is None or not place.asked:
        return
    if place.path.exists():
        from truecost.protocol.ledger import read_ledger

        read_ledger(place.path)
    if why := refused(place.path):
        raise InputError(f"{place.path}: the ledger cannot be written ({why})")


def noted(outcome: Outcome, study: "Study", place: Place) -> tuple[Outcome, list[str]]:
    """Write an outcome down, and say what follows from what stands there already.

    Parameters
    ----------
    study : Study
        That was run.

    Returns
    -------
    outcome : Outcome
        With the flag `best_of_many` and advice where the evaluation set was scored before.
    said : list of str
        What is odd about the ledger itself; a ledger that nobody asked for and that cannot be
        written is no more than that.

    Raises
    ------
    InputError
        When a ledger that was asked for cannot be read or written.
    """
    from truecost.protocol.ledger import keep

    groups = groups_of(outcome)
    lines = [line_of(group, outcome, study) for group in groups]
    try:
        ledger, places, said = keep(place.path, lines)
    except InputError as error:
        if place.asked:
            raise
        return outcome, [f"no ledger is kept: {error}; --no-ledger says nothing of it"]
    for group, own in zip(groups, places, strict=True):
        outcome = _warned(outcome, group, ledger, own)
    return outcome.judged(study.gate), said


def _warned(outcome: Outcome, group: "Group", ledger: "Ledger", own: int) -> Outcome:
    """An outcome with what follows from the scorings of its evaluation set up to its own line."""
    from truecost.protocol.study.evaluated import marked, standings
    from truecost.tasks.measures import find_of_any_task

    lines = ledger.of(group.evaluation, own)
    if not lines or lines[-1].purpose == "development" or not chosen(lines):
        return outcome
    file = Path(ledger.name).name
    problems = [Problem(kind="advice", message=_said(lines, group, file), rule=RULE)]
    best = standings(lines)
    parts = [*outcome.parts]
    for place in group.parts:
        part = parts[place]
        rows = []
        for row in part.estimates:
            judged = is_kept(row, group) and not find_of_any_task(row.label, row.task).total
            standing = best.get(figure_of(row, outcome.task).key) if judged else None
            rows.append(row if standing is None else marked(row, standing))  # no sums of effort
        parts[place] = replace(part, estimates=tuple(rows))
        problems += _of_best(rows)
    found = dict.fromkeys((*outcome.problems, *problems))
    return replace(outcome, parts=tuple(parts), problems=tuple(found))


def chosen(lines: "Sequence[Line]") -> bool:
    """Whether scorings of one evaluation set may have decided something.

    There are two of them at least, and several systems, or one in several ways, or choices were
    made on the same data when they were development data.
    """
    if len(lines) < 2:
        return False
    if any(line.purpose == "development" for line in lines[:-1]):
        return True
    if len({sha for line in lines for sha in line.hashes.values()}) > 1:
        return True
    values: dict[object, object] = {}
    return any(values.setdefault(k, v) != v for line in lines for k, v in line.seen.items())


def _said(lines: "Sequence[Line]", group: "Group", file: str) -> str:
    """How often an evaluation set was scored, and what that means."""
    systems = {sha for line in lines for sha in line.hashes.values()}
    which = f"evaluation set {group.collection!r}" if group.collection else "this evaluation set"
    developed = sum(line.purpose == "development" for line in lines)
    apart = f", {counted(developed, 'time')} as development data" if developed else ""
    return (
        f"{which} was scored {counted(len(lines), 'time')} with {counted(len(systems), 'system')}"
        f"{apart} ({file}): what was chosen by these figures is optimistic; keep a set that "
        f"nothing was chosen on"
    )


def _of_best(rows: Sequence[Estimate]) -> list[Problem]:
    """The advice of the flag, with the first row that has it."""
    flag = FLAGS["best_of_many"]
    for row in rows:
        if flag.name in row.flags:
            count = row.counts["best_of"]
            of = f"; here {row.label} of {row.dims['system']} is the best of {count:g}{_bound(row)}"
            return [Problem(kind="advice", message=flag.advice + of, rule=flag.rule)]
    return []


def _bound(row: Estimate) -> str:
    """How much too good that makes the value on average, at most."""
    bound = row.counts.get("best_of_optimism")
    return (
        ""
        if not bound
        else f", up to {figure(bound, scale_of(row.shown_in, True))} too good on average"
    )
