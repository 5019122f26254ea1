"""An outcome as lines of a ledger: one for each evaluation set, with the figures of all systems."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from truecost.core.results import Estimate
from truecost.protocol.ledger import SCHEMA_VERSION, Figure, Line, Scored
from truecost.protocol.study.evaluated import Hasher, joined
from truecost.running import OF_SYSTEM, SHARED
from truecost.study.outcome import Outcome, Part
from truecost.version import __version__

if TYPE_CHECKING:
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
