"""What is asked of the items of a stream, and whether its source has what that needs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.learning.streams.items import Items, sorted_classes
from truecost.learning.streams.orders import Rows
from truecost.learning.streams.source import Source
from truecost.learning.system import Array

BINARY = ("0", "1")  # classes of a detection; the second is the target


@dataclass(frozen=True)
class Goal:
    """One stream to be.

    Attributes
    ----------
    name : str
        Of the stream, within its part; empty where there is one.
    kind : {"detection", "classes", "numbers"}
    classes : tuple of str
        As in `Stream`.
    target : str, optional
        Label of the source that stands for "1" (detection).
    """

    name: str
    kind: str
    classes: tuple[str, ...] = ()
    target: str | None = None

    def labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Labels of the source as those of the stream."""
        if self.target is None:
            return tuple(labels)
        return tuple(BINARY[label == self.target] for label in labels)


def goals_of(source: Source, items: Items) -> list[Goal]:
    """The streams that a source asks for.

    Parameters
    ----------
    source : Source
        Checked.

    Raises
    ------
    UsageError
        When a target is no label, or it is not said which label is the target.
    InputError
        When labels of numbers are none, or there is only one class.
    """
    if source.kind == "numbers":
        _check_numbers(items)
        return [Goal("", "numbers")]
    classes = sorted_classes(items.labels)
    if len(classes) < 2:
        raise InputError(
            f"{items.source}: all labels are {classes[0]!r}; nothing can be told apart (for "
            f"numbers say kind = 'numbers')"
        )
    targets = _targets(source, classes, items.source)
    if not targets:
        return [Goal("", "classes", classes)]
    several = bool(source.targets)
    return [Goal(t if several else "", "detection", BINARY, t) for t in targets]


def _targets(source: Source, classes: tuple[str, ...], where: str) -> tuple[str, ...]:
    """The labels to detect; none where classes are told apart."""
    if source.kind == "classes":
        return ()
    if not source.asked:
        if classes == BINARY:
            return BINARY[1:]
        if source.kind == "detection" or source.prevalence is not None:
            raise UsageError(
                f"[source]: which label is the target? Say target = '...'; the labels of {where} "
                f"are {first_five(classes)}"
            )
        return ()
    for target in source.asked:
        if target not in classes:
            said = f"[source] target {target!r} is no label of {where}{near(target, classes)}"
            raise UsageError(f"{said}: they are {first_five(classes)}")
    return source.asked


def _check_numbers(items: Items) -> None:
    """Refuse labels that are no finite numbers."""
    bad = [(k, v) for k, v in zip(items.ids, items.labels, strict=True) if not _is_number(v)]
    if bad:
        shown = first_five(f"{label!r} of {name}" for name, label in bad)
        raise InputError(
            f"{items.source}: {counted(len(bad), 'label', 'are')} no finite number ({shown}); "
            f"for words say kind = 'classes' or target = '...'"
        )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


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
