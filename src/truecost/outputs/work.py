"""What tasks do alike whose outputs are held against a reference, item by item."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from truecost.core.measure import Measure
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, counted
from truecost.formats import Table
from truecost.outputs.files import Files
from truecost.outputs.items import Counting, Items, batches, measures_of, pair_items
from truecost.outputs.read import Itemised, no_faults, read_items, worst_of
from truecost.outputs.validating import checks_of_items, unjudged_items
from truecost.study.outcome import Part
from truecost.study.tables import DataTable
from truecost.task import Work

if TYPE_CHECKING:
    from truecost.study.config import Study


def item_work(
    counting: Counting,
    count: Callable[[Files], Items],
    *,
    page: str,
    several: bool = False,
    refuse: Callable[[Table, DataTable], None] = no_faults,
    named_by: str = "",
    checked: tuple[str, ...] = (),
    descriptions: tuple[str, ...] = (),
    check: Callable[["Study"], None] | None = None,
) -> Work[Items]:
    """The work of a task of items.

    Parameters
    ----------
    counting : Counting
        What it counts, and what of it is measured when nothing is asked for.
    count : callable
        From the files of a system to its items.
    page : str
        Where its page is: `module:NAME`.
    several : bool
        Whether an output may have several references.
    refuse, named_by, checked
        As `Itemised` has them.
    descriptions : tuple of str
        Where the types are that items are described by (`Items.described`): `module:NAME`.
    check : callable, optional
        Refuses words of the options of a study that are none: UsageError.
    """
    of = Itemised(counting=counting, count=count, refuse=refuse, named_by=named_by, checked=checked)
    return Work(
        check=partial(check_references, several=several, own=check),
        read=partial(read_items, of),
        pair=pair_items,
        measures=asked_of,
        defaults=partial(_defaults, counting),
        count=batches,
        same=same_counts,
        advise=True,
        cases=worst_of,
        unjudged=unjudged_items,
        checks=partial(checks_of_items, of),
        describe=_described,
        descriptions=descriptions,
        page=page,
    )


def _described(part: Part, study: "Study") -> Part:
    """A part with what its items are described by."""
    del study
    found = (d for items in part.systems if isinstance(items, Items) for d in items.described)
    return replace(part, described=(*part.described, *found))


def _defaults(counting: Counting, kind: str | None) -> tuple[str, ...]:
    del kind
    return counting.measures


def asked_of(items: Items, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those of what was counted."""
    return measures_of(scoring.measures, items.counting)


def check_references(
    study: "Study", *, several: bool, own: Callable[["Study"], None] | None = None
) -> None:
    """A reference for each collection, and only one unless several are known: UsageError.

    What the task refuses of its `own` options comes first: it needs no reference.
    """
    if own is not None:
        own(study)
    for name in study.collections or ("",):
        data = study.collections.get(name, DataTable()).over(study.data)
        where = f" for {name}" if name else ""
        if not data.reference:
            raise UsageError(
                f"no reference is named{where}: give its file first, or reference = [FILE] under "
                f"[data]"
            )
        if len(data.reference) > 1 and not several:
            raise UsageError(
                f"{counted(len(data.reference), 'reference')}{where}: {study.task} has one; "
                f"alternatives of transcripts stand in one file"
            )


def same_counts(a: Items, b: Items) -> str:
    """What two systems have in common to the last of their items; empty for nothing."""
    parts: Sequence[str] = [*a.parts]
    alike = all(np.array_equal(a.parts[p][k], b.parts[p][k]) for p in parts for k in a.parts[p])
    return "counts everywhere" if alike else ""
