"""Further tables of trials: thresholds that were chosen; classes and their costliest confusions;
what seed, training set and test add to the variance of the runs of methods.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.cli.tables import Columns, Layout, dim_cells, dims_shown, marks_of
from truecost.core.digits import amount, counted, figures, percent, uncertain
from truecost.core.results import Row

if TYPE_CHECKING:
    from truecost.core.variance import Share, Variance
    from truecost.study import Outcome
    from truecost.tasks.trials.classes import ByClass, OneClass

CLASSES = ("class", "trials", "recall", "precision", "of the cost")
CONFUSED = ("class", "decided as", "trials", "of the class", "of the cost")
MOST_CLASSES, MOST_CONFUSIONS = 12, 5  # of a system on the terminal
MOST_SYSTEMS = 2
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
        said=(f"sources of variance ({percent(found[0].level)} intervals)",),
    )


def _cells(share: "Share") -> tuple[str, str, str]:
    """The source, its share and the interval of it."""
    if share.share is None:
        return share.source, "undefined", ""
    return share.source, *uncertain(share.share, share.lower, share.upper, "%")


def classes_table(found: "Sequence[ByClass]") -> Columns:
    """A line for each class of each system, the costliest first; the first of many."""
    dims = tuple(dict.fromkeys(name for one in found for name in one.dims))
    rows, left = [], 0
    for one in found:
        about = (*(one.dims.get(name, "") for name in dims), one.system)
        rows += [(*about, *_cells_of(c)) for c in one.costliest[:MOST_CLASSES]]
        left = max(left, len(one.classes) - MOST_CLASSES)
    below = (f"{counted(left, 'class')} more in result.json and on the page",) if left > 0 else ()
    return Columns(
        (*dims, "system", *CLASSES),
        tuple(rows),
        left=frozenset({"class"}),
        about=(*dims, "system"),
        above=("system", *dims),
        said=(f"classes ({percent(found[0].level)} intervals)",),
        below=below,
    )


def _cells_of(one: "OneClass") -> tuple[str, ...]:
    from truecost.pictures.rows import figures_of

    ends = (figures_of(one.recall), figures_of(one.precision))
    return one.name, amount(one.trials), *ends, percent(float(f"{one.cost_share:.3g}"))


def confusions_table(found: "Sequence[ByClass]") -> Columns:
    """The costliest confusions of each system."""
    dims = tuple(dict.fromkeys(name for one in found for name in one.dims))
    rows = tuple(
        (
            *(one.dims.get(name, "") for name in dims),
            *(one.system, d.truth, d.decision, amount(d.trials)),
            *(percent(float(f"{share:.3g}")) for share in (d.share, d.cost_share)),
        )
        for one in found
        for d in one.wrong[:MOST_CONFUSIONS]
    )
    return Columns(
        (*dims, "system", *CONFUSED),
        rows,
        left=frozenset({"class", "decided as"}),
        about=(*dims, "system"),
        above=("system", *dims),
        said=("costliest confusions",),
    )


def _below(outcome: "Outcome") -> list[Columns]:
    """The tables of what the page draws beside rows; classes where no measure was asked for."""
    if not any(part.described for part in outcome.parts):
        return []
    from truecost.core.variance import Variance
    from truecost.tasks.trials.classes import ByClass

    found = []
    asked = any(scoring.measures for part in outcome.parts for scoring in part.scoring.values())
    if (by_class := outcome.described_as(ByClass)[:MOST_SYSTEMS]) and not asked:
        found.append(classes_table(by_class))
        found += [confusions_table(by_class)] if any(one.wrong for one in by_class) else []
    shares = [one for one in outcome.described_as(Variance) if one.shares]
    return [*found, variance_table(shares)] if shares else found


def _chosen(outcome: "Outcome") -> list[Columns]:
    """A line for each threshold that was chosen and each set that it is shown on."""
    if not any(part.described for part in outcome.parts):
        return []
    from truecost.tasks.trials.options import Chosen, ends_of, limit_state

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
        at = f"{one.shown} {ends_of(one)}"
        notes: list[str] = [limit_state(one, own)] if "subset" not in some.dims else []
        notes += dict.fromkeys(mark for row in own.values() for mark in marks_of(row))
        said = (" ".join(figures(own[k])).strip() if k in own else "" for k in labels)
        cells.append((*place, rule, at, data, *said, ", ".join(filter(None, notes))))
    heads = ("rule", "threshold", "data", *labels, "note")
    first = (*dims, "rule", "threshold")
    left = frozenset(heads)
    return [Columns((*dims, *heads), tuple(cells), left=left, about=(*dims, "rule"), above=first)]


LAYOUT = Layout(below=_below, whole=_chosen)
