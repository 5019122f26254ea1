"""What tables, pictures and warnings say of rows: what they are about, count, rest on, and what to
do.
"""

from collections.abc import Mapping, Sequence

from truecost.core.digits import figure
from truecost.core.intervals.resting import FEW_ERRORS
from truecost.core.results import Kind, Row
from truecost.errors import amount, counted, plural
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


MOST_CLASSES = 3  # of a row that are told of


FEW = 30  # trials that say more than their errors: 8 targets, however many of them are missed


def few_errors(row: Row) -> str:
    """How few errors the weak classes of a row have, and what their rates may be; empty if not
    known.

    Returns
    -------
    str
        `only 8 targets, the true rate of misses may be up to 31 %`; of several classes joined by ;.
    """
    if not row.rates or any(not kind.of for kind in row.rates):  # time is not counted
        return ""
    weak = sorted((k for k in row.rates if _least(k) < FEW_ERRORS), key=_least)
    said = []
    for kind in weak[:MOST_CLASSES]:
        few = kind.errors <= kind.trials - kind.errors
        end = f"up to {_short(kind.upper)}" if few else f"as low as {_short(kind.lower)}"
        said.append(f"{_seen(kind)}, the true rate of {_several(kind.what)} may be {end}")
    if len(weak) > MOST_CLASSES:
        said.append(f"{counted(len(weak) - MOST_CLASSES, 'further class')} like these")
    return "; ".join(said)


def _least(kind: Kind) -> float:
    """Errors, or what is no error: what there are fewer of."""
    return min(kind.errors, kind.trials - kind.errors)


def _short(rate: float) -> str:
    """A rate that is known to two digits at most."""
    return f"{100 * rate:.2g} %"


def _seen(kind: Kind) -> str:
    of = f"{amount(round(kind.trials, 2))} {_several(kind.of)}"
    if kind.trials < FEW:
        return f"only {amount(1)} {kind.of}" if kind.trials == 1 else f"only {of}"
    if kind.errors > kind.trials / 2:
        rest = amount(round(kind.trials - kind.errors, 2))
        return f"{_several(kind.what)} in all but {rest} of {of}"
    if kind.errors == 0:
        return f"no {kind.what} among {of}"
    what = kind.what if round(kind.errors, 2) == 1 else _several(kind.what)
    return f"only {amount(round(kind.errors, 2))} {what} among {of}"


def _several(noun: str) -> str:
    """The plural of `trial of class cat`: trials of class cat."""
    for between in (" of ", " by ", " with "):
        head, found, rest = noun.partition(between)
        if found:
            return f"{plural(head)}{found}{rest}"
    return plural(noun)


def about(row: Row) -> str:
    """The row that a warning is about: `95 % CI of act_dcf (network, noise)`."""
    return f"{100 * row.level:.10g} % CI of {_named(row)}"


def _named(row: Row) -> str:
    dims = ", ".join(row.dims.values())
    return row.label + (f" ({dims})" if dims else "")


def without_interval(rows: Sequence[Row]) -> list[str]:
    """Why rows have no interval: a sentence for each reason.

    Parameters
    ----------
    rows : sequence of Row
        With a value and without both ends.

    Returns
    -------
    list of str
        `auc (network) and 1 other row: no interval: the figure is at the end of its range ...`.
    """
    said = []
    for reason in dict.fromkeys(row.reason or "no interval" for row in rows):
        own = [row for row in rows if (row.reason or "no interval") == reason]
        more = f" and {counted(len(own) - 1, 'other row')}" if len(own) > 1 else ""
        said.append(f"{_named(own[0])}{more}: {reason}")
    return said


DETAILS = {"few_errors": few_errors}


def detailed(flag: str, rows: Sequence[Row]) -> str:
    """What a flag means for the row that it concerns most, and how many others it concerns.

    Parameters
    ----------
    rows : sequence of Row
        Those that have the flag.

    Returns
    -------
    str
        Empty where the flag says the same of every row.
    """
    found = [(row, DETAILS[flag](row)) for row in rows] if flag in DETAILS else []
    found = [(row, text) for row, text in found if text]
    if not found:
        return ""
    row, text = min(found, key=lambda pair: _fewest(pair[0]))
    more = f" (and {counted(len(rows) - 1, 'other row')})" if len(rows) > 1 else ""
    return f"{about(row)}: {text}{more}. Collect more of them before you trust the figure"


def _fewest(row: Row) -> float:
    return min(map(_least, row.rates))
