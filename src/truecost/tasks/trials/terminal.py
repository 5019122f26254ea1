"""The tables of thresholds that were chosen, and of what seed, training set and test add to the
variance of the runs of methods.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.cli.tables import Columns, Layout, dim_cells, dims_shown, marks_of
from truecost.core.digits import between, figure, percent
from truecost.core.results import Row, figures

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


def _chosen(outcome: "Outcome") -> list[Columns]:
    """A line for each threshold that was chosen and each set that it is shown on."""
    if not any(part.described for part in outcome.parts):
        return []
    from truecost.tasks.trials.rules import Chosen, ends_of, kept

    known = {(c.system, c.rule, *c.dims.values()): c for c in outcome.described_as(Chosen)}
    if not known:
        return []
    rows = [*outcome.estimates]
    dims = [name for name in dims_shown(rows) if name not in ("rule", "data")]
    labels = tuple(dict.fromkeys(row.label for row in rows))
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        about = (row.dims["rule"], row.dims["data"], *dim_cells(row, dims))
        found.setdefault(about, {})[row.label] = row
    cells = []
    for (rule, data, *place), own in found.items():
        some = next(iter(own.values()))
        parts = (v for k, v in some.dims.items() if k in ("collection", "application"))
        one = known[some.dims["system"], rule, *parts]
        at = f"{figure(one.threshold)} {ends_of(one)}"
        notes: list[str] = [kept(one, own)] if "subset" not in some.dims else []
        notes += dict.fromkeys(mark for row in own.values() for mark in marks_of(row))
        said = (" ".join(figures(own[k])).strip() if k in own else "" for k in labels)
        cells.append((*place, rule, at, data, *said, ", ".join(filter(None, notes))))
    heads = ("rule", "threshold", "data", *labels, "note")
    first = (*dims, "rule", "threshold")
    left = frozenset(heads)
    return [Columns((*dims, *heads), tuple(cells), left=left, about=first, above=first)]


LAYOUT = Layout(below=_below, whole=_chosen)
