"""What is asked of the items: for each target a detection, or their class, or a number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.learning.streams.items import Items, sorted_classes
from truecost.learning.streams.source import Source

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
