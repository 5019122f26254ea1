"""Advice on deployments: which row a flag is about."""

from collections.abc import Sequence

from truecost.core.flags import Flag
from truecost.core.results import Estimate
from truecost.core.warnings import detailed
from truecost.errors import counted
from truecost.study.outcome import Part


def flagged(flag: Flag, rows: Sequence[Estimate], every: int, parts: Sequence[Part]) -> str:
    """The advice of a flag, with the row that it is about where it is not about all."""
    del parts
    said = detailed(flag.name, rows) or flag.advice
    return said + (_named(rows) if len(rows) < every else "")


def _named(rows: Sequence[Estimate]) -> str:
    """The first of the rows that a flag concerns, and how many more there are."""
    first = rows[0]
    about = ", ".join(text for key, text in first.dims.items() if key != "estimator")
    more = f" and {counted(len(rows) - 1, 'other row')}" if len(rows) > 1 else ""
    return f"; here {first.label} ({first.dims['estimator']}) of {about}{more}"
