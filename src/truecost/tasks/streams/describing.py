"""What an online system is like: its curves over the stream, and what each stream comes to."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals
from truecost.core.intervals import finite
from truecost.core.measure import Floats
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.tasks.streams.counting import Counted
from truecost.tasks.streams.curves import Curve, Line, curves_of, drawn, measures_drawn
from truecost.tasks.streams.measures.effort import VALUES
from truecost.tasks.streams.measures.effort_pools import Effort, mean_of, of_part, outer
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.records import Online
from truecost.tasks.streams.scoring import application_of
from truecost.tasks.streams.tallies import parts_of


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
