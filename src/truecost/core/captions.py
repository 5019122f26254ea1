"""Captions: what tables and pictures of results say of what rows are about, count and rest on."""

from collections.abc import Mapping, Sequence

from truecost.core.digits import figure
from truecost.core.results import Row
from truecost.errors import plural
from truecost.names import DIMS


def items_of(rows: Sequence[Row]) -> str:
    """What some rows count, for the head of a column: trials, utterances, recordings."""
    found = {row.item for row in rows}
    return plural(found.pop()) if len(found) == 1 else "items"


def units_shown(row: Row) -> str:
    """The number of units; nothing where each item is a unit of its own and is counted already."""
    alone = row.item != "trial" and row.factors == (row.item,)
    return "" if alone else str(row.n_units)


def dims_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The names of what some rows are about, in the order in which tables show them.

    Returns
    -------
    tuple of str
        Those of `names.DIMS` that any row has, then others in the order in which they come.
    """
    found = dict.fromkeys(name for row in rows for name in row.dims)
    known = [name for name in DIMS if name in found]
    return (*known, *(name for name in found if name not in DIMS))


def title_of(dims: Mapping[str, str]) -> str:
    """What rows are about in a few words: `collection far, application strict`."""
    return ", ".join(f"{key} {name}" for key, name in dims.items())


def _share(rows: Sequence[Row]) -> str:
    """The prior that was taken from the data, where counts of trials tell it."""
    for row in rows:
        targets, others = (row.counts.get(k, 0.0) for k in ("targets", "nontargets"))
        if "subset" not in row.dims and targets and others and "|weighted|" not in row.signature:
            return f"prior from the data ({figure(targets / (targets + others))})"
    return "prior from the data"


def assumed(rows: Sequence[Row]) -> str:
    """The prior and costs that the values rest on.

    Returns
    -------
    str
        Words for a reader, separated by semicolons; empty when nothing was assumed.
    """
    parameters: dict[str, object] = {}
    for row in rows:
        parameters |= {k: v for k, v in row.parameters.items() if k != "variant"}
    words = []
    costs = parameters.get("costs")
    if isinstance(costs, Mapping):
        words.append(f"cost of a miss {costs['miss']:g}, of a false alarm {costs['fa']:g}")
    elif costs is not None:
        words.append("costs 0/1" if costs == "0/1" else "a cost matrix")
    prior = parameters.get("prior")
    if prior is not None:
        words.append(f"prior {prior:g}" if prior != "empirical" else _share(rows))
    if "preset" in parameters:
        words.append(f"preset {parameters['preset']}")
    return "; ".join(words)
