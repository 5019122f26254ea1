"""What an online system is like: curves window by window, and what each stream comes to.

Where batches are resampled, the batches of a window, or up to its end, are drawn among each other,
as if the log ended there; q stays that of the whole stream. Where seeds or streams are resampled,
everything is computed anew in each replicate, q too.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.intervals import finite
from truecost.core.measure import Array, Floats
from truecost.core.replication import by_block
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Weights
from truecost.tasks.streams.counting import Counted
from truecost.tasks.streams.measures.effort import VALUES
from truecost.tasks.streams.measures.effort_gap import by_window, prevalence, valued
from truecost.tasks.streams.measures.effort_pools import Effort, mean_of, of_part, outer
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.records import Online
from truecost.tasks.streams.scoring import application_of
from truecost.tasks.streams.tallies import before_parts, parts_of

FEW_BATCHES = 5  # of a window: fewer tell no spread when batches are resampled


MOST_REPLICATES = 1000  # of a band, which nobody reads to the last digit


Drawn = tuple[Floats, Floats, Floats]  # values, and the two ends of each interval


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measure over the stream.

    Attributes
    ----------
    measure : {"imlm", "act_dcf"}
    phase : {"pre", "post"}
    so_far : bool
        Everything from the start to the end of each window; each window alone otherwise.
    values, lower, upper : tuple of (float or None)
        One for each window; None where undefined, or where too little tells a spread.
    """

    measure: str
    phase: str
    so_far: bool = False
    values: tuple[float | None, ...]
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


@dataclass(frozen=True)
class Line:
    """One curve that is asked for."""

    measure: str
    phase: str
    so_far: bool


def measures_drawn(count: Counted) -> tuple[str, ...]:
    """What is drawn: the detection cost beside the other where there are targets."""
    return ("imlm", "act_dcf") if count.online.kind == "detection" else ("imlm",)


def curves_of(count: Counted, scoring: Scoring, application: Application) -> tuple[Curve, ...]:
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
    found = make(count, fewer, application, lines)
    told = not count.by_batch or count.window >= FEW_BATCHES
    return tuple(
        Curve(
            measure=line.measure,
            phase=line.phase,
            so_far=line.so_far,
            **_band(band, told=told or line.so_far),
        )
        for line, band in zip(lines, found, strict=True)
    )


def _at_once(
    count: Counted, scoring: Scoring, application: Application, lines: Sequence[Line]
) -> list[Drawn]:
    """All windows in one go: what is resampled has them all."""
    parts: dict[str, Tally] = {}
    for phase in count.online.phases:
        parts |= parts_of(count, phase, f"online_{phase}")
        parts |= parts_of(count, phase, f"online_{phase}_windows", windows=True)
        parts |= before_parts(count, f"online_{phase}_before")
    how = count.effort

    def run(seen: Totals) -> list[Floats]:
        return [
            by_window(seen, application, how, line.measure, line.phase, so_far=line.so_far)
            for line in lines
        ]

    return drawn(Evidence(parts, count.outer), count, scoring, run)


def _piece_by_piece(
    count: Counted, scoring: Scoring, application: Application, lines: Sequence[Line]
) -> list[Drawn]:
    """Each window, and each beginning, with its own batches drawn among each other."""
    q = {phase: _whole_q(count, phase) for phase in count.online.phases}
    found: dict[Line, list[Drawn]] = {line: [] for line in lines}
    for start in range(0, count.longest, count.window):
        inside = count.place < start + count.window
        for so_far in (False, True):
            kept = inside if so_far else inside & (count.place >= start)
            some = [line for line in lines if line.so_far == so_far]
            parts: dict[str, Tally] = {}
            for phase in count.online.phases:
                parts |= parts_of(count, phase, f"online_{phase}", kept=kept, started=so_far)
            run = partial(_values, lines=some, q=q, application=application, how=count.effort)
            fitting = _with_shorter_blocks(count, scoring, kept)
            bands = drawn(Evidence(parts, count.outer), count, fitting, run)
            for line, band in zip(some, bands, strict=True):
                found[line].append(band)
    return [_row(bands) for bands in found.values()]


def _with_shorter_blocks(count: Counted, scoring: Scoring, kept: Array) -> Scoring:
    """The same scoring, with blocks that are shorter than the longest piece of a stream."""
    length, factor = scoring.plan.block_length, count.units(kept)[0]
    longest = int(np.bincount(np.asarray(factor.strata)).max(initial=0))
    if length is None or length < longest:
        return scoring
    return replace(scoring, plan=replace(scoring.plan, block_length=longest - 1 or None))


def _row(bands: Sequence[Drawn]) -> Drawn:
    """Single values with their intervals as a curve."""
    values, lower, upper = (np.concatenate(ends) for ends in zip(*bands, strict=True))
    return values, lower, upper


def _whole_q(count: Counted, phase: str) -> Floats:
    """Q of each pool of the whole stream at the point, shape (1, seeds[, streams])."""
    evidence = Evidence(parts_of(count, phase, "online"), count.outer)
    seen = totals(evidence, Weights.ones(evidence.factors).block())
    sums = of_part(seen, "online")
    return prevalence(sums, outer(seen, "stream", sums["n"].shape[2]), count.effort)


def _values(
    seen: Totals,
    *,
    lines: Sequence[Line],
    q: dict[str, Floats],
    application: Application,
    how: Effort,
) -> list[Floats]:
    """Each line of one piece for a block of replicates, each of shape (replicates, 1)."""

    def value(line: Line) -> Floats:
        sums = of_part(seen, f"online_{line.phase}")
        return valued(seen, sums, q[line.phase], application, how, line.measure)

    return [value(line)[:, None] for line in lines]


def drawn(
    evidence: Evidence, count: Counted, scoring: Scoring, run: Callable[[Totals], list[Floats]]
) -> list[Drawn]:
    """Values at the point and percentile intervals of everything that a function gives.

    Parameters
    ----------
    run : callable
        From totals to arrays of shape (replicates, values).
    """
    plan = count.plan(scoring.plan)
    [points] = by_block(evidence, Weights.ones(evidence.factors), run, 1)
    blocks = by_block(evidence, plan.weights(evidence.factors), run, scoring.jobs)
    tails = ((1 - scoring.level) / 2, (1 + scoring.level) / 2)
    found = []
    for place, point in enumerate(points):
        replicates = np.concatenate([block[place] for block in blocks])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value
            lower, upper = np.nanquantile(replicates, tails, axis=0)
        found.append((point[0], lower, upper))
    return found


def _band(found: Drawn, *, told: bool) -> dict[str, tuple[float | None, ...]]:
    """A curve and its band as they are stored; no band where too little tells one."""
    named: dict[str, Array] = dict(zip(("values", "lower", "upper"), found, strict=True))
    return {
        name: tuple(finite(float(x)) if told or name == "values" else None for x in column)
        for name, column in named.items()
    }


class OfStream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one stream comes to.

    Attributes
    ----------
    items, targets : int
        Over all runs.
    value, lower, upper : float or None
    """

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
    """What an online system is like.

    Attributes
    ----------
    dims : dict of str to str
        System, and where there are several collection, application, strategy and budget.
    kind : {"detection", "classes", "numbers"}
    runs, streams, batches, items, queries : int
        Batches, items and queries over all runs.
    unanswered : int
        Queries without an answer in time for the postquential prediction.
    window : int
        Batches of a window.
    ends : tuple of int
        Number of batches of a stream at the end of each window.
    resampled : str
        What the intervals resample.
    level : float
        Of the intervals.
    by_stream : tuple of OfStream
        Where there are several.
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
    """The curves of a system with intervals, and the values of its streams."""
    application = application_of(scoring.application, online)
    count = Counted.of(online, application, scoring.chosen(StreamScoring))
    online = count.online
    last = count.longest
    both = len(online.phases) == 2
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
        resampled=count.resample,
        level=scoring.level,
        curves=curves_of(count, scoring, application) if both else (),
        by_stream=of_streams(count, scoring, application) if len(online.streams) > 1 else (),
    )


def _streams(
    totals: Totals, *, lines: Sequence[Line], application: Application, how: Effort
) -> list[Floats]:
    """Every measure for each stream, of shape (replicates, streams)."""
    found = []
    for line in lines:
        sums = of_part(totals, f"online_{line.phase}")
        values = np.asarray(VALUES[line.measure](how, application)(sums), np.float64)
        last = np.moveaxis(values, 1, -1)
        seeds = outer(totals, "seed", values.shape[1])
        found.append(mean_of(last, np.broadcast_to(seeds[:, None, :], last.shape)))
    return found


def of_streams(count: Counted, scoring: Scoring, application: Application) -> tuple[OfStream, ...]:
    """Each measure of each stream, in each phase."""
    online = count.online
    parts: dict[str, Tally] = {}
    for phase in online.phases:
        parts |= parts_of(count, phase, f"online_{phase}")
    lines = [Line(m, phase, so_far=True) for m in measures_drawn(count) for phase in online.phases]
    run = partial(_streams, lines=lines, application=application, how=count.effort)
    stream = online.batches["stream"].to_numpy()[count.unit]
    items = np.bincount(stream, minlength=len(online.streams))
    detected = online.kind == "detection"
    targets = np.bincount(stream[count.label == 1], minlength=len(items)) if detected else items * 0
    return tuple(
        OfStream(
            stream=name,
            measure=line.measure,
            phase=line.phase,
            items=int(items[place]),
            targets=int(targets[place]),
            value=finite(float(values[place])),
            lower=finite(float(lower[place])),
            upper=finite(float(upper[place])),
        )
        for line, (values, lower, upper) in zip(
            lines, drawn(Evidence(parts, count.outer), count, scoring, run), strict=True
        )
        for place, name in enumerate(online.streams)
    )
