"""Tables of AB/BA: values as ratios, and the thresholds that were chosen."""

from collections.abc import Sequence
from dataclasses import replace

from truecost.cli.tables import Columns, Layout, about, dims_shown, marks_of, values
from truecost.core.captions import items_of
from truecost.core.digits import between, figure
from truecost.core.results import Row, figures
from truecost.study.outcome import Outcome
from truecost.tasks.abba.describing import Plane
from truecost.tasks.abba.scoring import DEFAULT_MEASURES


def _ratios(rows: Sequence[Row]) -> Columns:
    """Values by measure and estimator; a ratio of 1 says that nothing changes."""
    table = values(rows)
    names = ["no change" if name == "naive" else name for name in table.names]
    order = [k for k, name in enumerate(names) if name != "estimator"]
    order.insert(names.index("measure"), names.index("estimator"))
    return replace(
        table,
        names=tuple(names[k] for k in order),
        rows=tuple(tuple(row[k] for k in order) for row in table.rows),
        left=table.left | {"estimator"},
        spare=("units", items_of(rows), "no change"),
        about=(*(name for name in table.about if name != "estimator"), "measure"),
    )


def _chosen(rows: Sequence[Row]) -> Columns:
    """A line for each rule that chose a threshold of B, with both ratios there."""
    dims = dims_shown(rows)
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((*about(row, dims), row.parameters["variant"]), {})[row.measure] = row
    ratios = tuple(dict.fromkeys(row.measure for row in rows))
    cells = []
    for key, both in found.items():
        some = next(iter(both.values()))
        threshold = "none" if some.threshold is None else _threshold(some)
        said = (" ".join(figures(both[name])).strip() for name in ratios)
        notes = dict.fromkeys(mark for row in both.values() for mark in marks_of(row))
        cells.append((*key, threshold, *said, ", ".join(notes)))
    return Columns(
        (*dims, "rule", "threshold of B", *ratios, "note"),
        tuple(cells),
        left=frozenset({"rule", "threshold of B", *ratios, "note"}),
        about=dims,
        above=("system", "estimator"),
    )


def _threshold(row: Row) -> str:
    """The chosen threshold, and between which ones the replicates chose."""
    lower, upper = (row.counts.get(f"threshold_{end}") for end in ("lower", "upper"))
    return f"{figure(row.threshold)} {between(lower, upper)}".strip()


def of_ratios(rows: Sequence[Row]) -> list[Columns]:
    """The values as ratios."""
    return [_ratios(rows)]


def of_thresholds(outcome: Outcome) -> list[Columns]:
    """The thresholds that were chosen; nothing where none were."""
    return [_chosen(outcome.estimates)] if outcome.described_as(Plane) else []


LAYOUT = Layout(values=of_ratios, whole=of_thresholds, brief=DEFAULT_MEASURES)
