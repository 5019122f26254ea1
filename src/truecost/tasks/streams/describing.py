"""What an online system is like: its curves over the stream, and what each stream comes to."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from truecost.application import Application
from truecost.estimates import by_block
from truecost.evidence import Evidence, Totals
from truecost.intervals import finite
from truecost.measures.base import Floats
from truecost.measures.effort_gap import VALUES, by_window
from truecost.measures.effort_pools import Effort, mean_of, of_part, outer
from truecost.tally import Tally
from truecost.tasks.scoring import Scoring
from truecost.tasks.streams.counting import Counted, before_parts, parts_of
from truecost.tasks.streams.records import Online
from truecost.tasks.streams.scoring import application_of
from truecost.weights import Weights

FEW_BATCHES = 5  # of a window: fewer tell no spread when batches are resampled


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measure over the stream.

    Attributes
    ----------
    measure : {"imlm", "act_dcf"}
    phase : {"pre", "post"}
    so_far : bool
        Everything from the start to the end of each window; each window alone otherwise.
    values, lower, upper : tuple of (float or None)
        One for each window; None where undefined.
    """

    measure: str
    phase: str
    so_far: bool = False
    values: tuple[float | None, ...]
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


class OfStream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one stream comes to.

    Attributes
    ----------
    stream, measure, phase : str
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


class OnlineDescription(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    curves : tuple of Curve
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


@dataclass(frozen=True)
class Line:
    """One curve that is asked for."""

    measure: str
    phase: str
    so_far: bool


def describe(
    online: Online, scoring: Scoring, dims: Mapping[str, str] | None = None
) -> OnlineDescription:
    """The curves of a system with intervals, and the values of its streams.

    Parameters
    ----------
    online : Online
    scoring : Scoring
    dims : mapping of str to str, optional

    Returns
    -------
    OnlineDescription
    """
    application = application_of(scoring.application, online)
    count = Counted.of(online, application, scoring.stream)
    online = count.online
    last = int(online.batches["batch"].max() or 0) + 1  # type: ignore[arg-type]
    both = len(online.phases) == 2
    return OnlineDescription(
        dims={**(dims or {}), "system": online.name, **online.about},
        kind=online.kind,
        runs=len(online.seeds),
        streams=len(online.streams),
        batches=int((online.sizes > 0).sum()),
        items=len(online),
        queries=int(online.items["asked"].sum()),
        unanswered=int(online.items["asked"].sum()) - online.items["answer"].count(),
        window=count.window,
        ends=tuple(min(last, w + count.window) for w in range(0, last, count.window)),
        resampled=count.resample,
        level=scoring.level,
        curves=curves_of(count, scoring, application) if both else (),
        by_stream=of_streams(count, scoring, application) if len(online.streams) > 1 else (),
    )


def _measures(count: Counted) -> tuple[str, ...]:
    """What is drawn: the detection cost beside the other where there are targets."""
    return ("imlm", "act_dcf") if count.online.kind == "detection" else ("imlm",)


def curves_of(count: Counted, scoring: Scoring, application: Application) -> tuple[Curve, ...]:
    """Each measure in each phase, by window and so far."""
    parts: dict[str, Tally] = {}
    for phase in count.online.phases:
        parts |= parts_of(count, phase, f"online_{phase}")
        parts |= parts_of(count, phase, f"online_{phase}_windows", windows=True)
        parts |= before_parts(count, f"online_{phase}_before")
    lines = [
        Line(measure, phase, so_far)
        for measure in _measures(count)
        for phase in count.online.phases
        for so_far in (False, True)
    ]
    run = partial(_lines, lines=lines, application=application, how=count.effort)
    drawn = _drawn(Evidence(parts, count.outer), count, scoring, run)
    told = count.resample != "batch" or count.window >= FEW_BATCHES
    return tuple(
        Curve(
            measure=line.measure,
            phase=line.phase,
            so_far=line.so_far,
            **_band(found, told=told or line.so_far),
        )
        for line, found in zip(lines, drawn, strict=True)
    )


def _lines(
    totals: Totals, *, lines: Sequence[Line], application: Application, how: Effort
) -> list[Floats]:
    """Every curve for a block of replicates, each of shape (replicates, windows)."""
    return [
        by_window(totals, application, how, line.measure, line.phase, so_far=line.so_far)
        for line in lines
    ]


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


Drawn = tuple[Floats, Floats, Floats]  # values, and the two ends of each interval


def _drawn(
    evidence: Evidence,
    count: Counted,
    scoring: Scoring,
    run: Callable[[Totals], list[Floats]],
) -> list[Drawn]:
    """Values at the point and percentile intervals of everything that a function gives."""
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


def _band(drawn: Drawn, *, told: bool) -> dict[str, tuple[float | None, ...]]:
    """A curve and its band as they are stored; no band where too little tells one."""
    named = zip(("values", "lower", "upper"), drawn, strict=True)
    return {
        name: tuple(finite(float(x)) if told or name == "values" else None for x in column)
        for name, column in named
    }


def of_streams(count: Counted, scoring: Scoring, application: Application) -> tuple[OfStream, ...]:
    """Each measure of each stream, in each phase."""
    online = count.online
    parts: dict[str, Tally] = {}
    for phase in online.phases:
        parts |= parts_of(count, phase, f"online_{phase}")
    lines = [Line(m, phase, so_far=True) for m in _measures(count) for phase in online.phases]
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
            lines, _drawn(Evidence(parts, count.outer), count, scoring, run), strict=True
        )
        for place, name in enumerate(online.streams)
    )
