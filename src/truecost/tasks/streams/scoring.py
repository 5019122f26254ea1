"""Evidence and rows of an online system: every measure before and after adaptation, signed.

Batches stand on the side of the tallies where they are resampled; where only streams or seeds are,
all counts are fixed and a replicate costs next to nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from msgspec import structs

from truecost.core.costs import (
    COMPUTING,
    OF_SYSTEM,
    ONCE,
    TOOK,
    no_record,
    refuse_unmeasured,
    unlogged,
    without_hand,
    without_shared,
)
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Part
from truecost.core.flags import raised
from truecost.core.measure import Array, Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.core.tally import Tally
from truecost.errors import UsageError
from truecost.outputs.event_logs import refuse_bca
from truecost.prices import COSTS
from truecost.task import Dims
from truecost.tasks.streams.asked import GAPS, asked_of
from truecost.tasks.streams.counting import Counted, before
from truecost.tasks.streams.measures import hourly
from truecost.tasks.streams.options import HOURLY, OF_TIME, SETS, StreamScoring
from truecost.tasks.streams.pooling import COUNTS, SUMS, Effort
from truecost.tasks.streams.records import Online

DEPENDENT = "streams (moving blocks of batches are not exchangeable)"
NAMED = (("", COUNTS), ("_sums", SUMS))  # ends of the names of the tallies, and what they hold


def parts_of(
    count: Counted,
    phase: str,
    part: str,
    *,
    windows: bool = False,
    kept: Array | None = None,
    started: bool = True,
) -> dict[str, Tally]:
    """The two tallies of a phase under the name of a part.

    With `windows` they have a third axis, `window`, and nothing of what was before the streams, as
    without `started`. The batches that are `kept` alone are counted, and resampled among each
    other.
    """
    online, values = count.online, count.phases[phase]
    axes = {
        "seed": (online.seeds, online.batches["seed"].to_numpy()),
        "stream": (online.streams, online.batches["stream"].to_numpy()),
    }
    fixed = before(count)
    if windows:
        window = count.place // count.window
        axes["window"] = (tuple(str(w) for w in range(int(window.max(initial=0)) + 1)), window)
    if windows or not started:
        shape = tuple(len(labels) for labels, _ in axes.values())
        fixed = {name: np.zeros(shape, column.dtype) for name, column in fixed.items()}
    if kept is not None:
        values = {name: column[kept] for name, column in values.items()}
        axes = {name: (labels, codes[kept]) for name, (labels, codes) in axes.items()}
    return {
        f"{part}{end}": _tally(count, {n: values[n] for n in names}, axes, fixed, kept)
        for end, names in NAMED
    }


def _tally(
    count: Counted,
    statistics: Mapping[str, Array],
    axes: Mapping[str, tuple[tuple[str, ...], Array]],
    fixed: Mapping[str, Array],
    kept: Array | None,
) -> Tally:
    """Sums with batches as units where they are resampled, and fixed where they are not."""
    always = np.stack([fixed[name] for name in statistics], axis=-1)
    if count.by_batch:
        return Tally.count([count.units(kept)], statistics, axes, fixed=always)
    whole = np.zeros_like(always)
    places = tuple(codes for _, codes in axes.values())
    np.add.at(whole, places, np.stack([*statistics.values()], axis=-1))
    labels = {name: tuple(labels) for name, (labels, _) in axes.items()}
    return Tally.constant(whole + always, tuple(statistics), labels)


def before_parts(count: Counted, part: str) -> dict[str, Tally]:
    """The annotations before the streams alone, as the two tallies of a part."""
    fixed = before(count)
    axes = {"seed": count.online.seeds, "stream": count.online.streams}
    return {
        f"{part}{end}": Tally.constant(np.stack([fixed[n] for n in names], axis=-1), names, axes)
        for end, names in NAMED
    }


def parts_of_phases(
    count: Counted, *, windows: bool = False, begun: bool = False, **how: Any
) -> dict[str, Tally]:
    """The tallies of each phase side by side, `online_pre` and so on; by window too, and what was
    annotated before the streams alone (`begun`), where these are asked for.
    """
    parts: dict[str, Tally] = {}
    for phase in count.online.phases:
        parts |= parts_of(count, phase, f"online_{phase}", **how)
        if windows:
            parts |= parts_of(count, phase, f"online_{phase}_windows", windows=True)
        if begun:
            parts |= before_parts(count, f"online_{phase}_before")
    return parts


ERRORS = (
    *("p_miss", "p_fa", HOURLY, "act_dcf", "error_rate", "mean_loss"),
    *("n_missed", "n_false_alarms"),
)
COSTLY = ("imlm", "imlm_seconds", "imlm_money", "mean_loss")  # of q, losses
PRICED = ("total_cost", "cost_errors")  # errors count by number, each with its loss
SECONDS = OF_TIME
ADDED = (*COSTS, "n_annotations", "n_items", "n_missed", "n_false_alarms")  # nothing is pooled
ASKED = (*COSTLY[:3], "total_cost", "cost_person", "cost_waiting", "n_annotations")


def choices(name: str, phase: str, count: Counted) -> list[str]:
    """The choices that decide the value of a measure in a phase, as `name:choice`."""
    base, how = name.removesuffix("_trend").removesuffix("_gap"), count.how
    said = []
    if base != "n_annotations":
        said += [f"last:{how.last}"]
        said += [f"queried:{how.queried}"] if phase != "pre" else []
    if base in (*ERRORS, *COSTLY, *PRICED, "cost_misses", "cost_false_alarms"):
        said += _decisions(count)
    if base in COSTLY or (base in PRICED and count.online.kind != "detection"):
        said += _losses(count, base)
    if base not in ADDED:
        said.append(f"pooling:{how.pooling}")
    if base in ASKED:
        said += _annotations(count, phase)
    if base in SECONDS:
        stated = how.item_seconds
        said.append(f"item-seconds:{'measured' if stated is None else _exact(stated)}")
        said += [count.online.timing] if count.online.timing else []
    if base == HOURLY:
        said.append(f"item-duration:{_exact(how.item_duration or 0)}")
    if name.endswith("_trend"):
        said.append(f"window:{count.window}")
    return said


def _decisions(count: Counted) -> list[str]:
    """The way in which scores become decisions, and the treatment of a batch without targets."""
    if count.online.kind != "detection":
        return []
    if count.how.decision == "own":
        return ["decision:own", f"empty:{count.how.empty}"]
    kind = "posterior" if count.how.posterior else "llr"
    return [f"decision:bayes:{kind}:{_exact(count.threshold)}", f"empty:{count.how.empty}"]


def _losses(count: Counted, base: str) -> list[str]:
    """The cost of a miss, a wrong class or an error of a number."""
    how, kind = count.how, count.online.kind
    if kind == "numbers":
        return [f"tolerance:{_exact(how.tolerance or 0.0)}"]
    if kind == "classes":
        costs = count.application.costs or ()
        rows = [f"[{','.join(map(_exact, row))}]" for row in costs]
        return [f"costs:[{','.join(rows)}]"] if rows else []
    if base == "mean_loss":
        return []
    return [f"q:{'prevalence' if how.q is None else _exact(how.q)}"]


def _annotations(count: Counted, phase: str) -> list[str]:
    """The annotations that count, and their times."""
    how = count.how
    said = [f"annotations:{'+'.join(n for n in SETS if n in how.annotations) or 'none'}"]
    if phase != "post":
        said.append(f"prequential:{'current-batch' if how.current_batch else 'earlier-batches'}")
    if how.before:
        said.append(f"before:{'+'.join(f'{name}={number}' for name, number in how.before)}")
    return said


def _exact(number: float) -> str:
    """A number to its last digit, whole ones without a point."""
    return repr(float(number)).removesuffix(".0")


def lacking(online: Online, how: StreamScoring) -> dict[str, str]:
    """The amounts without a measurement in the logs, by key of their price, and how to get one."""
    asked, before = online.questions, online.before.select("count", "timed").sum()
    made = asked.height + int(before["count"][0])
    timed = len(asked["seconds"].drop_nulls()) + int(before["timed"][0])
    found = {}
    if how.item_seconds is None and made and not timed:
        found["person"] = (
            "no annotation was timed: log active_seconds with answer events, or state the seconds "
            "of an item (--item-seconds)"
        )
    found |= {key: unlogged(key) for key in COMPUTING if not online.computing(key)}
    if "memory" not in online.took:
        found["memory"] = no_record("memory", OF_SYSTEM)
    if asked["waited"].null_count():
        found["waiting"] = (
            "the logs do not have the times of answers: log t with query and answer events"
        )
    return found


def batches(online: Online, scoring: Scoring, dims: Dims, _whole: object) -> Iterator[Batch]:
    """A batch for each phase, and one for the gaps, which have both."""
    how = scoring.chosen(StreamScoring)
    measures = asked_of(online, scoring)
    refuse_bca(scoring.method, DEPENDENT)
    prices = scoring.application.prices
    refuse_unmeasured(measures, prices, online.name, lacking(online, how))
    if "subset" in dims:
        measures = without_shared(measures, prices, ONCE[:3])  # waiting is timed by question
    count = Counted.from_online(online, scoring)
    if scoring.plan.block_length is not None and not count.by_batch:
        raise UsageError(
            f"--block-length is for --factors batch: {online.name} is resampled by "
            f"{count.factors}, so that no blocks are drawn; leave it out"
        )
    yield from Rows(count, scoring, dims).batches(measures)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one set of items."""

    count: Counted
    scoring: Scoring
    about: Mapping[str, str]

    def batches(self, measures: Sequence[Measure]) -> Iterator[Batch]:
        """Each measure in each phase, side by side; the gaps, which have both, last."""
        alone = [m for m in measures if m.name not in GAPS]
        gaps = [m for m in measures if m.name in GAPS]
        phases = self.count.online.phases if alone else ()
        for k, phase in enumerate(phases):
            places = range(k, len(alone) * len(phases), len(phases))
            parts: dict[str, Part] = {**parts_of(self.count, phase, "online"), **self.took}
            evidence = Evidence(parts, outer=self.count.outer)
            yield self._batch(evidence, alone, phase, places)
        if gaps:
            trend = any("trend" in m.name for m in gaps)
            places = range(len(alone) * len(phases), len(alone) * len(phases) + len(gaps))
            both = parts_of_phases(self.count, windows=trend)
            yield self._batch(Evidence(both, outer=self.count.outer), gaps, "", places)

    @property
    def took(self) -> dict[str, Part]:
        """The resources of a run outside its events; CPU and GPU are counted with those of the
        events.
        """
        online = self.count.online
        runs = {k: v / len(online.seeds) for k, v in online.took.items() if k not in COMPUTING}
        return {TOOK: Tally.constant([*runs.values()], tuple(runs), {})} if runs else {}

    def _batch(
        self,
        evidence: Evidence,
        measures: Sequence[Measure],
        phase: str,
        places: Sequence[int],
    ) -> Batch:
        count = self.count
        return Batch(
            evidence=evidence,
            measures=[_bound(measure, count.effort) for measure in measures],
            application=count.application,
            plan=count.plan(self.scoring.plan),
            context=self._context(phase),
            places=places,
            finish=lambda rows: [self._finished(row, phase) for row in rows],
        )

    def _finished(self, row: Estimate, phase: str) -> Estimate:
        """A row with its choices behind the label in the signature, paired with none of others."""
        row, chosen = without_hand(row), choices(row.measure, phase, self.count)
        label, _, rest = row.signature.partition("|")
        return structs.replace(
            row,
            signature="|".join([label, *chosen, rest]),
            resampling=f"{row.resampling}|{'|'.join(chosen)}",
            reason=row.reason if row.value is not None else _reason(row, self.count),
        )

    def _context(self, phase: str) -> Context:
        """The facts that rows show besides their values."""
        count, online = self.count, self.count.online
        label = count.label[count.scored(phase)]
        counts: dict[str, float] = {
            "batches": online.batches.height,
            "queries": online.questions.height,
            "in_time": online.items["answer"].count(),
            "runs": len(online.seeds),
            "streams": len(online.streams),
        }
        if online.kind == "detection":
            targets = int((label == 1).sum())
            counts |= {"targets": targets, "nontargets": len(label) - targets}
        resampled = f"resampled:{count.factors.replace(',', '+')}"
        if count.by_batch:
            length = self.scoring.plan.block_length or count.block_length
            resampled += f"|block-length:{length}"
        return Context(
            {**self.about, **({"phase": phase} if phase else {})},
            len(label),
            counts=counts,
            item="item",
            signature="|".join(filter(None, (online.signature, resampled))),
            flags=raised(crossed="," in count.factors),
        )


def _bound(measure: Measure, how: Effort) -> Measure:
    """A measure with what joins errors and effort, and the interval that needs to know it."""
    found = replace(measure, function=partial(measure.function, how=how))
    seconds = how.scoring.item_duration if measure.name == HOURLY else None
    return replace(found, interval=hourly(seconds)) if seconds else found


def _reason(row: Estimate, count: Counted) -> str | None:
    """The reason why a row has no value; for a price, the missing amount."""
    if row.measure not in SECONDS:
        return row.reason
    if row.measure == "imlm_money" and not count.application.prices.person:
        return "undefined: no price of the person's hour is known (--price person=NUMBER)"
    return "undefined: no annotation was timed: state the seconds of an item (--item-seconds)"
