"""The evaluation sets of a ledger: how often each was scored, and the best of each measure."""

from typing import Any

import msgspec

from truecost.protocol.ledger import Figure, Ledger, Line, Scored


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """The best value of a measure on an evaluation set.

    Attributes
    ----------
    parameters, dims : dict
        What it is about (`Figure`).
    system : str
        Whose it is, by the name in its first line.
    line : int
        Number of that line.
    of : int
        How many systems have a value.
    """

    measure: str
    parameters: dict[str, Any]
    dims: dict[str, str]
    value: float
    system: str
    line: int
    of: int


class EvaluationSet(msgspec.Struct, frozen=True, kw_only=True):
    """What a ledger says of one evaluation set.

    Attributes
    ----------
    evaluation : str
        Sha256 of its ids and labels.
    scored : int
        How many different scorings there are.
    as_development : int
        How many of them were of development data.
    systems : tuple of Scored
        Each once, by the hash of what it put out.
    best : tuple of Best
        One for each measure.
    first, last : int
        Numbers of its first and last line.
    """

    evaluation: str
    task: str
    collection: str
    items: int
    item: str
    scored: int
    as_development: int
    systems: tuple[Scored, ...]
    best: tuple[Best, ...]
    first: int
    last: int


def evaluation_sets(ledger: Ledger) -> list[EvaluationSet]:
    """The evaluation sets of a ledger in the order of their first lines."""
    found = dict.fromkeys(line.evaluation for line in ledger.lines)
    return [_set(ledger.of(evaluation)) for evaluation in found]


def _set(lines: list[Line]) -> EvaluationSet:
    """What lines of one evaluation set say."""
    first, last = lines[0], lines[-1]
    systems: dict[str, Scored] = {}
    for system in (system for line in lines for system in line.systems):
        systems.setdefault(system.sha256, system)
    return EvaluationSet(
        evaluation=first.evaluation,
        task=first.task,
        collection=first.collection,
        items=first.items,
        item=first.item,
        scored=len(lines),
        as_development=sum(line.purpose == "development" for line in lines),
        systems=tuple(systems.values()),
        best=_best(lines),
        first=first.number,
        last=last.number,
    )


def _best(lines: list[Line]) -> tuple[Best, ...]:
    """The best value of each figure: the first of those that tie."""
    told: dict[str, list[tuple[float, str, Line, Figure]]] = {}
    for line in lines:
        for figure in line.figures:
            for name, value in figure.values.items():
                if value is not None:
                    told.setdefault(figure.key, []).append((value, name, line, figure))
    return tuple(_best_of(values) for values in told.values())


def _best_of(values: list[tuple[float, str, Line, Figure]]) -> Best:
    """The best of the values of one figure."""
    choose = min if values[0][3].direction == "lower" else max
    value, name, line, figure = choose(values, key=lambda told: told[0])
    return Best(
        measure=figure.measure,
        parameters=figure.parameters,
        dims=figure.dims,
        value=value,
        system=name,
        line=line.number,
        of=len({own.hashes[system] for _, system, own, _ in values}),
    )
