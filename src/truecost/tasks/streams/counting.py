"""From `Online` to counts by batch, before and after adaptation, as the choices say."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.application import Application
from truecost.core.costs import COMPUTING, HOUR
from truecost.core.factors import Factor, cube_root_up
from truecost.core.measure import Array
from truecost.core.scoring import Scoring
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError, counted
from truecost.names import OnlineFactor
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.pooling import COUNTS, SUMS, Effort
from truecost.tasks.streams.records import Online

DCF = Application.detection(3, 1, 0.5)  # 0.75 Pmiss + 0.25 Pfa, as in Lindsey et al.
WINDOWS = 20  # of a curve, unless asked otherwise
OUTER = {
    "stream": ("stream",),
    "seed": ("seed",),
    "batch,seed": ("seed",),
}  # factors, by what is asked


@dataclass(frozen=True, eq=False)
class Counted:
    """An online system with the choices that turn it into counts."""

    online: Online
    application: Application
    how: StreamScoring

    @staticmethod
    def from_online(online: Online, scoring: Scoring) -> "Counted":
        """Check the choices against the system, and drop short last batches where asked."""
        application = application_of(scoring.application, online)
        how = scoring.chosen(StreamScoring)
        _refuse_others(online, how)
        if how.last == "dropped":
            online = online.without_short_ends()
        found = Counted(online, application, how)
        if how.empty == "error" and online.kind == "detection":
            found.refuse_empty()
        return found

    @cached_property
    def factors(self) -> OnlineFactor:
        """The resampled factors: seeds if there are several runs, else batches."""
        chosen = self.how.factors or ("seed" if len(self.online.seeds) > 1 else "batch")
        for factor in OUTER.get(chosen, ()):
            if (number := len(getattr(self.online, f"{factor}s"))) < 2:
                raise UsageError(
                    f"{self.online.name} has {counted(number, factor)}: resampling {factor}s needs "
                    f"at least two; leave out --factors, or use batch"
                )
        return chosen

    @property
    def outer(self) -> tuple[Factor, ...]:
        """Streams or seeds as factors, where they are resampled."""
        wanted = OUTER.get(self.factors, ())
        return tuple(Factor(one, np.array(getattr(self.online, f"{one}s"))) for one in wanted)

    @property
    def by_batch(self) -> bool:
        """Whether batches are resampled."""
        return self.factors in ("batch", "batch,seed")

    def plan(self, plan: Plan) -> Plan:
        """A plan that draws moving blocks of batches."""
        if not self.by_batch:
            return plan
        return replace(plan, schemes={**plan.schemes, "batch": "blocks"})

    @property
    def block_length(self) -> int:
        """The default length of moving blocks in the longest stream."""
        return cube_root_up(int(np.bincount(np.asarray(self.online.factor[0].strata)).max()))

    @property
    def effort(self) -> Effort:
        """The settings that join errors and effort in the measures."""
        return Effort(self.how, missing=self.online.kind == "detection")

    @cached_property
    def place(self) -> Array:
        """Index of each batch in its stream, from 0, whatever its number."""
        return self.online.batches["batch"].rank("dense").to_numpy().astype(np.int64) - 1

    @cached_property
    def longest(self) -> int:
        """Batches of a stream, of which none may have all."""
        return int(self.place.max(initial=-1)) + 1

    @cached_property
    def window(self) -> int:
        """Batches of a window."""
        return self.how.window or max(1, -(-self.longest // WINDOWS))

    def units(self, kept: Array | None = None) -> tuple[Factor, npt.NDArray[np.int32]]:
        """The batches that are resampled among each other, and the unit of each kept batch."""
        factor, codes = self.online.factor
        if kept is None:
            return factor, codes
        found, places = np.unique(codes[kept], return_inverse=True)
        strata = np.asarray(factor.strata)[found]
        return Factor("batch", factor.labels[found], strata), places.astype(np.int32)

    @cached_property
    def unit(self) -> Array:
        """Row of the batches for each item."""
        return self.online.items["unit"].to_numpy()

    @cached_property
    def label(self) -> Array:
        """The reference of each item."""
        return self.online.items["label"].to_numpy()

    def output(self, phase: str) -> Array:
        """The output for each item: the decision, or the answer instead.

        The answer stands in the postquential output only, where queried items count as right.
        """
        items = self.online.items
        if self.how.decision == "bayes":
            score = self._scores(phase)
            found = (score >= self.threshold).astype(np.int32)
        else:
            decision = items[f"decision_{phase}"]
            if decision.null_count():
                lost = items.filter(decision.is_null())["id"][0]
                raise InputError(
                    f"{self.online.name}: {counted(decision.null_count(), 'prediction', 'have')} "
                    f"no decision, the first of item {lost}: give decisions, or decide by the "
                    f"scores (--decision bayes)"
                )
            found = decision.to_numpy()
        if phase == "post" and self.how.queried == "right":
            answer = items["answer"]
            told = answer.is_not_null().to_numpy()
            found = np.where(told, answer.fill_null(0).to_numpy(), found)
        return np.asarray(found)

    def _scores(self, phase: str) -> Array:
        """The scores that Bayes decisions are made of; InputError where they are none."""
        score = self.online.items[f"score_{phase}"].to_numpy()
        if np.isnan(score).any():
            raise InputError(f"{self.online.name}: Bayes decisions need a score for every item")
        outside = (score < 0) | (score > 1)
        if self.how.posterior and outside.any():
            at = int(np.argmax(outside))
            raise InputError(
                f"{self.online.name}: score {score[at]:g} of item {self.online.items['id'][at]} is "
                f"outside 0 to 1, but --type posterior needs probabilities"
            )
        return score

    @property
    def threshold(self) -> float:
        """The Bayes threshold on the score."""
        if not self.how.posterior:
            return self.application.threshold
        miss, fa = self.application.cost_miss, self.application.cost_fa
        return fa / (fa + miss)

    def scored(self, phase: str) -> Array | slice:
        """Items that are scored: all, or without those answered in time (postquential)."""
        if phase == "post" and self.how.queried == "removed":
            return self.online.items["answer"].is_null().to_numpy()
        return slice(None)

    @cached_property
    def phases(self) -> dict[str, dict[str, Array]]:
        """Every statistic of each phase by batch, counted once for all evidence."""
        return {phase: by_batch(self, phase) for phase in self.online.phases}

    def refuse_empty(self) -> None:
        """Refuse a batch without targets: InputError."""
        targets = np.bincount(self.unit, self.label == 1, self.online.batches.height)
        lacking = np.flatnonzero((targets == 0) & (self.online.sizes > 0))
        if len(lacking):
            row = self.online.batches.row(int(lacking[0]), named=True)
            where = self.online.streams[row["stream"]]
            raise InputError(
                f"{self.online.name}: {counted(len(lacking), 'batch', 'have')} no targets, the "
                f"first is batch {row['batch']}"
                + (f" of stream {where}" if where else "")
                + ": --empty nothing lets such batches add no misses"
            )


def application_of(application: Application, online: Online) -> Application:
    """The application of a system: that of the paper unless one is given."""
    if online.kind == "numbers" and not application.unweighed:
        raise UsageError(
            f"costs and prior are for decisions, but the outputs of {online.name} are numbers: "
            f"leave them out"
        )
    if online.kind != "detection":
        return application
    if application.unweighed:
        return replace(DCF, prices=application.prices)
    application.require_detection()
    return application if application.priors else application.with_priors((0.5, 0.5))


def _refuse_others(online: Online, how: StreamScoring) -> None:
    """Refuse choices that do not go with what a system puts out: UsageError."""
    if how.tolerance is None and online.kind == "numbers":
        raise UsageError(
            "--type number needs --tolerance: the absolute error that costs as much as one "
            "annotation"
        )
    wrong = {
        "tolerance": how.tolerance is not None and online.kind != "numbers",
        "q": how.q is not None and online.kind != "detection",
        "empty error": how.empty == "error" and online.kind != "detection",
        "decision bayes": how.decision == "bayes" and online.kind != "detection",
    }
    found = [name for name, given in wrong.items() if given]
    if found:
        kind = "numbers" if "tolerance" in found else "detection"
        raise UsageError(
            f"{', '.join(f'--{name}' for name in found)} is for {kind}, but the outputs of "
            f"{online.name} are "
            f"{'decisions on targets' if online.kind == 'detection' else online.kind}: leave it out"
        )


def by_batch(count: Counted, phase: str) -> dict[str, Array]:
    """Every statistic of a phase by batch: the counts as int64, the sums as float64."""
    batches, kept = count.online.batches.height, count.scored(phase)
    unit, label, output = count.unit[kept], count.label[kept], count.output(phase)[kept]
    if count.online.kind == "detection":
        found = _table(unit, label, output, batches)
    else:
        found = {
            "n": np.bincount(unit, minlength=batches),
            "wrong": np.bincount(unit, output != label, batches),
            "loss": np.bincount(unit, _losses(count, label, output), batches),
        }
    found |= {"items": count.online.sizes, **_effort(count, phase)}
    nothing = np.zeros(batches)
    return {
        name: np.asarray(found.get(name, nothing), np.int64 if name in COUNTS else np.float64)
        for name in (*COUNTS, *SUMS)
    }


def _table(unit: Array, label: Array, output: Array, batches: int) -> dict[str, Array]:
    """Right and wrong decisions on targets and others by batch, counted in one pass."""
    cell = unit * np.int64(4) + 2 * label + output
    others, false, missed, hits = np.bincount(cell, minlength=4 * batches).reshape(-1, 4).T
    wrong = false + missed
    return {
        "n": others + hits + wrong,
        "targets": missed + hits,
        "fp": false,
        "fn": missed,
        "wrong": wrong,
        "loss": wrong,
    }


def _losses(count: Counted, label: Array, output: Array) -> Array:
    """The cost of each output in annotations."""
    if count.online.kind == "numbers":
        return np.asarray(np.abs(output - label) / (count.how.tolerance or np.nan))
    costs = count.application.matrix(len(count.online.classes))
    if costs.shape[1] > len(count.online.classes):
        raise UsageError("event logs have no abstentions: leave out the last column of the costs")
    return np.asarray(costs[label, output])


def _effort(count: Counted, phase: str) -> dict[str, Array]:
    """Annotations and their seconds, and computing, where the score of a phase counts them.

    Before adaptation those of the batch before count, unless the own batch is asked for: those of
    the last batch never reach a prequential score.
    """
    questions, batches = count.online.questions, count.online.batches
    unit, rows = questions["unit"].to_numpy(), batches.height
    seconds = questions["seconds"].fill_null(np.nan).to_numpy()
    timed = np.isfinite(seconds)
    found = {
        "annotations": np.bincount(unit, minlength=rows),
        "timed": np.bincount(unit[timed], minlength=rows),
        "seconds": np.bincount(unit[timed], seconds[timed], rows),
        **{key: batches[f"{key}_rest"].to_numpy().copy() for key in COMPUTING},
        "waited": np.bincount(unit, questions["waited"].fill_null(0.0).to_numpy(), rows),
    }
    if "queries" not in count.how.annotations:
        found |= {name: np.zeros_like(found[name]) for name in ("annotations", "timed", "seconds")}
    if phase == "pre" and not count.how.current_batch:
        found = {name: _shifted(count, column) for name, column in found.items()}
    for key in COMPUTING:
        found[key] = found[key] + batches[f"{key}_pre"].to_numpy()
    return found | {"batches": (count.online.sizes > 0).astype(np.int64)}


def _shifted(count: Counted, column: Array) -> Array:
    """The value of each batch, at the next batch of its stream."""
    keys = count.online.batches.select("seed", "stream")
    first = keys.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
    moved = np.concatenate([np.zeros(1, column.dtype), column[:-1]])[: len(column)]
    return np.asarray(np.where(first, 0, moved))


def before(count: Counted) -> dict[str, Array]:
    """The annotations before the streams, and computing outside events, by seed and stream."""
    online = count.online
    shape = (len(online.seeds), len(online.streams))
    found = {n: np.zeros(shape, np.int64 if n in COUNTS else np.float64) for n in (*COUNTS, *SUMS)}
    for row in online.before.iter_rows(named=True):
        cell = (row["seed"], row["stream"])
        for key in COMPUTING:
            found[key][cell] += row[key]
        if row["set"] in count.how.annotations:
            found["annotations"][cell] += row["count"]
            found["timed"][cell] += row["timed"]
            found["seconds"][cell] += row["seconds"]
    present = _present(online)
    for name, number in count.how.before:
        if name in count.how.annotations:
            found["annotations"] += number * present
    for key in COMPUTING:
        if hours := online.took.get(key):
            found[key] += HOUR * hours / max(1, present.sum()) * present
    return found


def _present(online: Online) -> Array:
    """Whether each seed has each stream."""
    found = np.zeros((len(online.seeds), len(online.streams)), np.int64)
    places = online.batches.select("seed", "stream").unique().to_numpy()
    found[places[:, 0], places[:, 1]] = 1
    return found
