"""Whether a source has what a stream of it needs: items, a pool, a bootstrap set, times."""

import numpy as np

from truecost.errors import InputError, UsageError, counted
from truecost.learning.streams.goals import Goal
from truecost.learning.streams.items import Items
from truecost.learning.streams.orders import Rows
from truecost.learning.streams.source import Source
from truecost.learning.system import Array


def check_length(where: str, source: Source, there: int) -> None:
    """Refuse a stream that is longer than its source."""
    if source.items and source.items > there:
        raise UsageError(
            f"[source] items = {source.items}: {where} has {counted(there, 'item')} for the "
            f"stream: ask for fewer"
        )


def check_pool(where: str, source: Source, wanted: int, there: int) -> None:
    """Refuse a pool that is larger than what is left."""
    if wanted > there:
        raise UsageError(
            f"[source] pool = {source.pool}: {wanted} wanted, but {where} has "
            f"{counted(there, 'item')} beside the stream and its bootstrap set: ask for a smaller "
            f"pool or a shorter stream"
        )


def check_bootstrap(
    where: str, goal: Goal, chosen: Rows, codes: Array, size: int, in_time: bool
) -> None:
    """Refuse a bootstrap set for which there are not enough items, or not of both classes."""
    needed = [("item", len(chosen), size)]
    if goal.kind == "detection":
        targets = int((codes[chosen] == "1").sum())
        needed = [
            (f"target {goal.target!r}", targets, (size + 1) // 2),
            (f"item that is not {goal.target!r}", len(chosen) - targets, size // 2),
        ]
    place = "before the stream" if in_time else "beside the stream"
    for kind, found, wanted in needed:
        if found < wanted:
            raise InputError(
                f"{where}: the bootstrap set needs {wanted} of this kind: {kind}; there "
                f"{'is' if found == 1 else 'are'} {found} {place}: ask for a smaller bootstrap "
                f"set, or for fewer items in the stream"
            )


def check_times(where: str, items: Items, rows: Rows) -> None:
    """Refuse times that go back."""
    if items.times is None:
        return
    back = np.flatnonzero(np.diff(items.times[rows]) < 0)
    if len(back):
        raise InputError(
            f"{where}, order = 'given': item {items.ids[rows[back[0] + 1]]} arrives before the one "
            f"that stands before it ({counted(len(back), 'such item')}): say order = 'time', or "
            f"leave the column of times out"
        )
