"""The table of what seed, training set and test add to the variance of the runs of methods."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.cli.tables import Columns, Layout
from truecost.core.digits import between, figure, percent

if TYPE_CHECKING:
    from truecost.core.variance import Share, Variance
    from truecost.study import Outcome

VARIED = ("system", "measure", "varied by", "share of variance", "interval")


def variance_table(found: "Sequence[Variance]") -> Columns:
    """A line for each source."""
    dims = tuple(dict.fromkeys(name for one in found for name in one.dims))
    rows = tuple(
        (*(one.dims.get(name, "") for name in dims), one.system, one.measure, *_cells(share))
        for one in found
        for share in one.shares
    )
    return Columns(
        (*dims, *VARIED),
        rows,
        left=frozenset({"varied by"}),
        about=(*dims, "system", "measure"),
        above=("measure", *dims),
        said=(f"{percent(found[0].level)} intervals",),
    )


def _cells(share: "Share") -> tuple[str, str, str]:
    """The source, its share and the interval of it."""
    if share.share is None:
        return share.source, "undefined", ""
    lower, upper = (None if end is None else round(end, 3) for end in (share.lower, share.upper))
    return share.source, figure(round(share.share, 3), "%"), between(lower, upper, "%")


def _below(outcome: "Outcome") -> list[Columns]:
    """The table, where there are shares."""
    if not any(part.described for part in outcome.parts):
        return []
    from truecost.core.variance import Variance

    shares = [found for found in outcome.described_as(Variance) if found.shares]
    return [variance_table(shares)] if shares else []


LAYOUT = Layout(below=_below)
