"""How the result of a task stands on the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truecost.face import at
from truecost.tasks import find

if TYPE_CHECKING:
    from truecost.cli.columns import Columns
    from truecost.core.results import Row
    from truecost.study.outcome import Outcome


def _nothing(outcome: "Outcome") -> "Sequence[Columns]":
    del outcome
    return ()


def _no_texts(outcome: "Outcome") -> Sequence[str]:
    del outcome
    return ()


@dataclass(frozen=True)
class Layout:
    """What is laid out otherwise than for all tasks.

    Attributes
    ----------
    values : callable, optional
        Tables of some values.
    pairs : callable, optional
        The table of comparisons, from that of all tasks and the differences.
    whole : callable
        Tables in place of all others, with every subset; none where there is no reason for it.
    below : callable
        Further tables.
    brief : tuple of str
        Measures that are shown of subsets beside the first.
    told : callable
        Sentences of the result below the tables.
    way : str
        How replicates are computed.
    """

    values: "Callable[[Sequence[Row]], list[Columns]] | None" = None
    pairs: "Callable[[Columns, Sequence[Row]], Columns] | None" = None
    whole: "Callable[[Outcome], Sequence[Columns]]" = _nothing
    below: "Callable[[Outcome], Sequence[Columns]]" = _nothing
    brief: tuple[str, ...] = ()
    told: "Callable[[Outcome], Sequence[str]]" = _no_texts
    way: str = ""


LAYOUT = Layout()  # of tasks that have none of their own


def layout_of(task: str) -> Layout:
    """The layout of the tables of a task on the terminal, imported now."""
    layout: Layout = at(find(task).load().layout)
    return layout
