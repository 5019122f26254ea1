"""What the page of systems on streams shows, and what its pictures are stored as.

Each row has `part` (collection and application, empty when there is one), `system`, `strategy` and
`budget` (questions a batch) where there are, `measure`, `phase`, `value`, `lower`, `upper`, and

- `kind` `so far`, from the start of the stream to batch `batch`, or `window`, from the batch after
  that of the row before to `batch`;
- `kind` `stream`, all of the stream `stream`;
- `kind` `budget`, all streams, where several budgets were tried: `best` is the share of the
  replicates in which no other budget of the strategy is better.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from truecost.core.captions import title_of
from truecost.core.results import Row
from truecost.names import PARTS
from truecost.report.declared import Naive, Page
from truecost.report.resampled import resampled_of
from truecost.report.sections import comparison, gates, subsets
from truecost.tasks.streams.curve_sections import over_the_stream, streams
from truecost.tasks.streams.describing import OnlineDescription
from truecost.tasks.streams.sections import (
    before_and_after,
    by_budget,
    drawn_of,
    passive_and_active,
)
from truecost.tasks.streams.sweep import SweepAdvice
from truecost.tasks.streams.swept import asked, is_swept
from truecost.tasks.streams.verdict import lead, line_of, main_of, remarks, titles, verdict

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Outcome, ResultFile


TEXTS = ("part", "system", "strategy", "kind", "measure", "phase", "stream")


NUMBERS = ("budget", "value", "lower", "upper", "best")


Cells = dict[str, Any]


def frame_of_streams(result: "ResultFile | Outcome") -> "pl.DataFrame | None":
    """What `curves.parquet` holds of systems on streams.

    Parameters
    ----------
    result : ResultFile or Outcome
        Of any task.

    Returns
    -------
    polars.DataFrame or None
        None where there are no streams.
    """
    import polars as pl

    found = result.described_as(OnlineDescription)
    if not found:
        return None
    cells = [cell for d in found for cell in (*_curves(d), *_streams(d))]
    cells += _budgets(result)
    schema: dict[str, Any] = dict.fromkeys(TEXTS, pl.String())
    schema |= {"batch": pl.Int64()} | dict.fromkeys(NUMBERS, pl.Float64())
    return pl.DataFrame(cells, schema=schema)


def _about(dims: dict[str, str]) -> Cells:
    """Whose figures a row holds."""
    return {
        "part": title_of({name: dims[name] for name in PARTS if name in dims}),
        "system": dims.get("system", ""),
        "strategy": dims.get("strategy"),
        "budget": _number(dims.get("budget")),
    }


def _number(budget: str | None) -> float | None:
    try:
        return None if budget is None else float(budget)
    except ValueError:
        return None


def _curves(found: "OnlineDescription") -> Iterator[Cells]:
    """Every window of every curve."""
    for curve in found.curves:
        known = {"measure": curve.measure, "phase": curve.phase}
        kind = "so far" if curve.so_far else "window"
        ends = zip(found.ends, curve.values, curve.lower, curve.upper, strict=True)
        for batch, value, lower, upper in ends:
            figures = {"batch": batch, "value": value, "lower": lower, "upper": upper}
            yield {**_about(found.dims), "kind": kind, **known, **figures}


def _streams(found: "OnlineDescription") -> Iterator[Cells]:
    """Every stream, where there are several."""
    for of in found.by_stream:
        known = {"measure": of.measure, "phase": of.phase, "stream": of.stream}
        figures = {"value": of.value, "lower": of.lower, "upper": of.upper}
        yield {**_about(found.dims), "kind": "stream", **known, **figures}


def _budgets(result: "ResultFile | Outcome") -> Iterator[Cells]:
    """The values by budget, where several were tried."""
    shares = {
        (a.measure, a.phase, a.application, p.strategy, p.budget): p.best
        for a in result.described_as(SweepAdvice)
        if a.strategy
        for p in a.points
    }
    values = [r for r in result.rows if r.kind == "value" and "subset" not in r.dims]
    swept: dict[tuple[str, ...], list[Row]] = {}
    for row in values:
        kept = (row.label, *(row.dims.get(name, "") for name in ("phase", *PARTS)))
        swept.setdefault(kept, []).append(row)
    for row in (row for rows in swept.values() if is_swept(rows) for row in rows):
        phase, strategy = row.dims.get("phase", ""), row.dims.get("strategy", "")
        key = (row.label, phase, row.dims.get("application", ""), strategy, asked(row))
        figures = {"value": row.value, "lower": row.lower, "upper": row.upper}
        known = {"measure": row.label, "phase": phase, "best": shares.get(key)}
        yield {**_about(row.dims), "kind": "budget", **known, **figures}


COSTS = "act_dcf"  # the naive baseline decides; by all other measures it asks about everything


def by_hand(measure: str) -> str:
    """What the naive baseline does; that depends on the measure."""
    both = "rejecting or accepting everything"
    return both if measure == COSTS else "labelling everything by hand"


PAGE = Page(
    sections=(
        *(before_and_after, by_budget, over_the_stream, streams, passive_and_active),
        *(subsets, comparison, gates),
    ),
    main=main_of,
    titles=titles,
    lead=lead,
    verdict=verdict,
    line=line_of,
    remarks=remarks,
    drawn=drawn_of,
    named=("strategy", "budget"),
    resampled=resampled_of,
    naive=Naive(output=by_hand),
    curves=frame_of_streams,
)
