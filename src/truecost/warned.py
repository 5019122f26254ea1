"""Warnings of a row in words: what is uncertain, for which row, why, and what to do."""

from collections.abc import Sequence

from truecost.errors import amount, counted, plural
from truecost.results import Kind, Row

FEW = 30  # trials that say more than their errors: 8 targets, however many of them are missed


def few_errors(row: Row) -> str:
    """How few errors the weakest class of a row has, and what its rate may be; empty if not known.

    Parameters
    ----------
    row : Row

    Returns
    -------
    str
        `only 8 targets; the true miss rate may be up to 31 %`.
    """
    if not row.rates or any(not kind.of for kind in row.rates):  # time is not counted
        return ""
    weakest = min(row.rates, key=lambda k: min(k.errors, k.trials - k.errors))
    few = min(weakest.errors, weakest.trials - weakest.errors) == weakest.errors
    end = f"up to {_short(weakest.upper)}" if few else f"as low as {_short(weakest.lower)}"
    return f"{_seen(weakest)}; the true {weakest.what} rate may be {end}"


def _short(rate: float) -> str:
    """A rate that is known to two digits at most."""
    return f"{100 * rate:.2g} %"


def _seen(kind: Kind) -> str:
    if kind.trials < FEW:
        many = kind.of if kind.trials == 1 else _several(kind.of)
        return f"only {amount(round(kind.trials, 2))} {many}"
    if kind.errors > kind.trials / 2:
        rest = amount(round(kind.trials - kind.errors, 2))
        return f"only {rest} of {amount(round(kind.trials, 2))} {_several(kind.of)} not so"
    of = f"{amount(round(kind.trials, 2))} {_several(kind.of)}"
    if kind.errors == 0:
        return f"no {kind.what} among {of}"
    what = kind.what if round(kind.errors, 2) == 1 else plural(kind.what)
    return f"only {amount(round(kind.errors, 2))} {what} among {of}"


def _several(noun: str) -> str:
    """The plural of `trial of class cat`: trials of class cat."""
    head, of, rest = noun.partition(" of ")
    return f"{plural(head)}{of}{rest}"


def about(row: Row) -> str:
    """The row that a warning is about: `95 % CI of act_dcf (network, noise)`."""
    dims = ", ".join(row.dims.values())
    return f"{100 * row.level:.10g} % CI of {row.label}" + (f" ({dims})" if dims else "")


DETAILS = {"few_errors": few_errors}


def detailed(flag: str, rows: Sequence[Row]) -> str:
    """What a flag means for the row that it concerns most, and how many others it concerns.

    Parameters
    ----------
    flag : str
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
    return min(min(k.errors, k.trials - k.errors) for k in row.rates)
