"""The description of an online system: curves window by window and the result of each stream, as
stored for pictures.

Where batches are resampled, the batches of a window, or up to its end, are drawn among each other,
as if the log ended there; q stays that of the whole stream. Where seeds or streams are resampled,
everything is computed anew in each replicate, q too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from truecost.core.digits import Scale
from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.intervals.smooth import finite
from truecost.core.measure import Array, Floats
from truecost.core.replication import with_ends
from truecost.core.results import Row
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Weights
from truecost.names import PARTS
from truecost.tasks.streams.advice import SweepAdvice
from truecost.tasks.streams.counting import Counted
from truecost.tasks.streams.pooling import (
    VALUES,
    by_window,
    mean_over,
    of_part,
    outer,
    prevalence,
    valued,
)
from truecost.tasks.streams.records import Online
from truecost.tasks.streams.scoring import parts_of, parts_of_phases
from truecost.tasks.streams.sweep import FIGURES, asked, is_swept

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Outcome, ResultFile

FEW_BATCHES = 5  # of a window: fewer tell no spread when batches are resampled
MOST_REPLICATES = 1000  # of a band, which nobody reads to the last digit


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measure (imlm, act_dcf) along the stream in a phase (pre, post).

    A value for each window: of everything up to its end (`so_far`), or of the window alone. None:
    undefined, or too few batches for an interval.
    """

    measure: str
    phase: str
    so_far: bool = False
    values: tuple[float | None, ...]
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


class Line(NamedTuple):
    """One curve that is asked for."""

    measure: str
    phase: str
    so_far: bool


def measures_drawn(count: Counted) -> tuple[str, ...]:
    """The drawn measures: the detection cost beside the other if there are targets."""
    return ("imlm", "act_dcf") if count.online.kind == "detection" else ("imlm",)


def curves_of(count: Counted, scoring: Scoring) -> tuple[Curve, ...]:
    """Each measure in each phase, by window and so far."""
    lines = [
        Line(measure, phase, so_far)
        for measure in measures_drawn(count)
        for phase in count.online.phases
        for so_far in (False, True)
    ]
    replicates = min(scoring.plan.replicates, MOST_REPLICATES)
    fewer = replace(scoring, plan=replace(scoring.plan, replicates=replicates))
    make = _piece_by_piece if count.by_batch else _at_once
    found = make(count, fewer, lines)
    told = not count.by_batch or count.window >= FEW_BATCHES
    bands = (_band(b, told=told or x.so_far) for x, b in zip(lines, found, strict=True))
    return tuple(Curve(**x._asdict(), **band) for x, band in zip(lines, bands, strict=True))


def _at_once(count: Counted, scoring: Scoring, lines: Sequence[Line]) -> list[Floats]:
    """All windows in one go: what is resampled has them all."""

    def run(seen: Totals) -> list[Floats]:
        about = seen, count.application, count.effort
        return [by_window(*about, x.measure, x.phase, so_far=x.so_far) for x in lines]

    parts = parts_of_phases(count, windows=True, begun=True)
    return _with_intervals(parts, count, scoring, run)


def _piece_by_piece(count: Counted, scoring: Scoring, lines: Sequence[Line]) -> list[Floats]:
    """Each window, and each beginning, with its own batches drawn among each other."""
    q = {phase: _whole_q(count, phase) for phase in count.online.phases}
    found: dict[Line, list[Floats]] = {line: [] for line in lines}
    for start in range(0, count.longest, count.window):
        inside = count.place < start + count.window
        for so_far in (False, True):
            kept = inside if so_far else inside & (count.place >= start)
            some = [line for line in lines if line.so_far == so_far]
            parts = parts_of_phases(count, kept=kept, started=so_far)
            run = partial(_values, count=count, lines=some, q=q)
            fitting = _with_shorter_blocks(count, scoring, kept)
            for line, band in zip(some, _with_intervals(parts, count, fitting, run), strict=True):
                found[line].append(band)
    return [np.concatenate(bands, axis=1) for bands in found.values()]


def _with_shorter_blocks(count: Counted, scoring: Scoring, kept: Array) -> Scoring:
    """The scoring with blocks that are shorter than the longest piece of a stream."""
    length, factor = scoring.plan.block_length, count.units(kept)[0]
    longest = int(np.bincount(np.asarray(factor.strata)).max(initial=0))
    if length is None or length < longest:
        return scoring
    return replace(scoring, plan=replace(scoring.plan, block_length=longest - 1 or None))


def _whole_q(count: Counted, phase: str) -> Floats:
    """Q of each pool of the whole stream at the point, shape (1, seeds[, streams])."""
    evidence = Evidence(parts_of(count, phase, "online"), count.outer)
    seen = totals(evidence, Weights.ones(evidence.factors).block())
    return prevalence(seen, "online", count.effort)


def _values(
    seen: Totals, *, count: Counted, lines: Sequence[Line], q: dict[str, Floats]
) -> list[Floats]:
    """Each line of one piece for a block of replicates, each of shape (replicates, 1)."""
    sums = {line.phase: of_part(seen, f"online_{line.phase}") for line in lines}
    about = count.application, count.effort
    found = (valued(seen, sums[x.phase], q[x.phase], *about, x.measure) for x in lines)
    return [values[:, None] for values in found]


def _with_intervals(
    parts: Mapping[str, Tally],
    count: Counted,
    scoring: Scoring,
    run: Callable[[Totals], list[Floats]],
) -> list[Floats]:
    """`FIGURES` of each of the arrays, (replicates, values), that a function of totals gives."""
    evidence, plan = Evidence(parts, count.outer), count.plan(scoring.plan)
    found = with_ends(
        evidence, plan, lambda seen: np.stack(run(seen), axis=1), scoring.level, scoring.jobs
    )
    return [*np.moveaxis(found, 1, 0)]


def _band(found: Floats, *, told: bool) -> dict[str, Any]:
    """A curve and its band as they are stored; no band where too little tells one."""
    return {
        name: tuple(finite(float(x)) if told or name == "values" else None for x in column)
        for name, column in zip(("values", "lower", "upper"), found, strict=True)
    }


class OfStream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one stream; items and targets are over all runs."""

    reason: ClassVar[str | None] = None
    scale: ClassVar[Scale] = ""
    stream: str
    measure: str
    phase: str
    items: int
    targets: int
    value: float | None
    lower: float | None
    upper: float | None


class OnlineDescription(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="system"
):
    """Description of one system on its streams for reports and pictures, as stored in results.

    Attributes
    ----------
    dims : dict of str to str
        Key `system`: name of the system. A key `collection`, `application`, `strategy` or `budget`
        exists only if the study has several values of it.
    kind : {"detection", "classes", "numbers"}
        Kind of the labels and outputs.
    runs, streams : int
        Numbers of runs and of streams.
    batches, items, queries : int
        Numbers of batches, items and questions, added up over all runs.
    unanswered : int
        Number of questions without an answer in their own batch.
    window : int
        Length of a window of the curves, in batches.
    ends : tuple of int
        Number of batches from the start of a stream to the end of each window.
    resampled : str
        Factor that is resampled for the intervals: batch, stream, seed, or batch,seed.
    level : float
        Confidence level of the intervals, in (0, 1).
    curves : tuple of Curve
        Curves of `imlm`, for detection also of `act_dcf`. Fields: `measure`; `phase`; `so_far`
        (False: a value for each window; True: a value for all batches up to the end of each
        window); `values`; `lower` and `upper` (confidence intervals).
    by_stream : tuple of OfStream
        Results of the streams; empty for a single stream. Fields: `stream`; `measure`; `phase`;
        `items` and `targets` (numbers, added up over all runs); `value`; `lower` and `upper`
        (confidence interval).
    """

    dims: dict[str, str]
    kind: str
    runs: int
    streams: int
    batches: int
    items: int
    queries: int
    unanswered: int = 0
    window: int
    ends: tuple[int, ...]
    resampled: str
    level: float
    curves: tuple[Curve, ...] = ()
    by_stream: tuple[OfStream, ...] = ()


def describe(
    online: Online, scoring: Scoring, dims: Mapping[str, str] | None = None
) -> OnlineDescription:
    """Compute the description of a system: its curves with intervals, and the values of its
    streams.

    Parameters
    ----------
    online : Online
        Record of the system.
    scoring : Scoring
        Choices for scoring, as for `tc.score_system`.
    dims : mapping of str to str, optional
        Additional entries of `dims`, such as the collection.

    Returns
    -------
    OnlineDescription
        The field `curves` is empty unless the logs contain both phases.
    """
    count = Counted.from_online(online, scoring)
    online, last = count.online, count.longest
    return OnlineDescription(
        dims={**(dims or {}), "system": online.name, **online.about},
        kind=online.kind,
        runs=len(online.seeds),
        streams=len(online.streams),
        batches=int((online.sizes > 0).sum()),
        items=len(online),
        queries=online.questions.height,
        unanswered=online.questions.height - online.items["answer"].count(),
        window=count.window,
        ends=tuple(min(last, w + count.window) for w in range(0, last, count.window)),
        resampled=count.factors,
        level=scoring.level,
        curves=curves_of(count, scoring) if len(online.phases) == 2 else (),
        by_stream=of_streams(count, scoring) if len(online.streams) > 1 else (),
    )


def _streams(totals: Totals, *, count: Counted, lines: Sequence[Line]) -> list[Floats]:
    """Every measure for each stream, of shape (replicates, streams)."""
    found = []
    for line in lines:
        sums = of_part(totals, f"online_{line.phase}")
        values = np.asarray(VALUES[line.measure](count.effort, count.application)(sums), np.float64)
        found.append(mean_over(1, values, outer(totals, "seed", values.shape[1])))
    return found


def of_streams(count: Counted, scoring: Scoring) -> tuple[OfStream, ...]:
    """Each measure of each stream, in each phase."""
    online = count.online
    lines = [Line(m, phase, so_far=True) for m in measures_drawn(count) for phase in online.phases]
    run = partial(_streams, count=count, lines=lines)
    stream = online.batches["stream"].to_numpy()[count.unit]
    items = np.bincount(stream, minlength=len(online.streams))
    detected = online.kind == "detection"
    targets = np.bincount(stream[count.label == 1], minlength=len(items)) if detected else items * 0
    found = _with_intervals(parts_of_phases(count), count, scoring, run)
    return tuple(
        OfStream(
            stream=name,
            measure=line.measure,
            phase=line.phase,
            items=int(items[place]),
            targets=int(targets[place]),
            **{end: finite(float(of[place])) for end, of in zip(FIGURES, figures, strict=True)},
        )
        for line, figures in zip(lines, found, strict=True)
        for place, name in enumerate(online.streams)
    )


TEXTS = ("part", "system", "strategy", "kind", "measure", "phase", "stream")
Cells = dict[str, Any]


def frame_of_streams(result: "ResultFile | Outcome") -> "pl.DataFrame | None":
    """The content of `curves.parquet` holds of systems on streams; None where there are none.

    Each row has `part` (collection and application, empty when there is one), `system`, `strategy`
    and `budget` (questions a batch) where there are, `measure`, `phase`, `value`, `lower`, `upper`,
    and

    - `kind` `so far`, from the start of the stream to batch `batch`, or `window`, from the batch
      after that of the row before to `batch`;
    - `kind` `stream`, all of the stream `stream`;
    - `kind` `budget`, all streams, where several budgets were tried: `best` is the share of the
      replicates in which no other budget of the strategy is better.
    """
    import polars as pl

    from truecost.outputs.page import whose

    found = result.described_as(OnlineDescription)
    if not found:
        return None
    cells: list[tuple[OnlineDescription | Row, Cells]]
    cells = [*_curves_and_streams(found), *_budgets(result)]
    rows = [{**whose(of.dims), "budget": asked(of), **cell} for of, cell in cells]
    schema: dict[str, Any] = dict.fromkeys(TEXTS, pl.String()) | {"batch": pl.Int64()}
    schema |= dict.fromkeys(("budget", *FIGURES, "best"), pl.Float64())
    return pl.DataFrame(rows, schema=schema)


def _curves_and_streams(
    found: Sequence[OnlineDescription],
) -> Iterator[tuple[OnlineDescription, Cells]]:
    """Every window of every curve of each system, then every stream where there are several."""
    for d in found:
        for curve in d.curves:
            known = {"measure": curve.measure, "phase": curve.phase}
            known["kind"] = "so far" if curve.so_far else "window"
            for window in zip(d.ends, curve.values, curve.lower, curve.upper, strict=True):
                yield d, known | dict(zip(("batch", *FIGURES), window, strict=True))
        yield from ((d, structs.asdict(of) | {"kind": "stream"}) for of in d.by_stream)


def _budgets(result: "ResultFile | Outcome") -> Iterator[tuple[Row, Cells]]:
    """The values by budget, where several were tried."""
    shares = {
        (a.measure, a.phase, a.application, p.strategy, p.budget): p.best
        for a in result.described_as(SweepAdvice)
        if a.strategy
        for p in a.points
    }
    swept: dict[tuple[str, ...], list[Row]] = {}
    for row in result.rows:
        if row.kind == "value" and "subset" not in row.dims:
            kept = (row.label, *(row.dims.get(name, "") for name in ("phase", *PARTS)))
            swept.setdefault(kept, []).append(row)
    for row in (row for rows in swept.values() if is_swept(rows) for row in rows):
        phase, application, strategy = (
            row.dims.get(name, "") for name in ("phase", "application", "strategy")
        )
        best = shares.get((row.label, phase, application, strategy, asked(row)))
        known = {"kind": "budget", "measure": row.label, "phase": phase, "best": best}
        yield row, known | {name: getattr(row, name) for name in FIGURES}
