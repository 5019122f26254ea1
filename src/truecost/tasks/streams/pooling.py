"""The sums of streams and runs, and the values that they are joined into: effort, errors, prices.

The tallies of event logs have the axes seed (runs of a method) and stream. *Micro* pooling adds the
sums of the streams of a run and then divides; *macro* divides stream by stream and takes the mean.
Runs are always averaged. Where streams or seeds are resampled they are outer factors: their weights
multiply sums (micro) or means, never the inside of a ratio.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import COMPUTING, HOUR
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats, share
from truecost.tasks.streams.options import StreamScoring

COUNTS = ("n", "items", "targets", "fp", "fn", "wrong", "annotations", "timed", "batches")
SUMS = ("loss", "seconds", *COMPUTING, "waited")
Sums = Mapping[str, Array]
Value = Callable[[Sums], Array]


@dataclass(frozen=True)
class Effort:
    """The settings that join errors and effort: how logs are scored, and whether misses and false
    alarms are separate (`missing`, of detection); else losses are summed.
    """

    scoring: StreamScoring = field(default_factory=StreamScoring)
    missing: bool = True

    @property
    def macro(self) -> bool:
        """Whether values of streams are averaged in place of adding their counts."""
        return self.scoring.pooling == "macro"


PLAIN = Effort()


def outer(totals: Totals, factor: str, units: int) -> Floats:
    """Weights of seeds or streams where they are resampled, ones where they are not."""
    if factor in totals.block.rows:
        return totals.weights(factor)
    return np.ones((totals.block.count, units))


def mean_of(values: Floats, weights: Floats) -> Floats:
    """Weighted mean over the last axis of what is defined; NaN where nothing is."""
    known = np.isfinite(values) & (weights > 0)
    over = np.where(known, weights, 0.0).sum(axis=-1)
    total = np.where(known, np.where(known, values, 0.0) * weights, 0.0).sum(axis=-1)
    return np.asarray(np.where(over > 0, total / np.where(over > 0, over, 1.0), np.nan))


def joined_value(
    totals: Totals, how: Effort, divide: Callable[[Sums], Array], *, part: str = "online"
) -> Floats:
    """A value of each replicate from a value of one pool of sums by name, of any shape (`divide`).

    The tallies `part` and `part`_sums have the axes seed and stream; further ones, if any, stay.
    """
    return joined_sums(totals, how, of_part(totals, part), divide)


def joined_sums(totals: Totals, how: Effort, sums: Sums, divide: Callable[[Sums], Array]) -> Floats:
    """The joined sums over streams, from sums of shape (replicates, seeds, streams, ...)."""
    streams = outer(totals, "stream", sums["n"].shape[2])
    values = np.asarray(divide(sums if how.macro else pooled(sums, streams)), np.float64)
    if how.macro:
        values = mean_over(2, values, streams[:, None])
    return mean_over(1, values, outer(totals, "seed", values.shape[1]))


def mean_over(axis: int, values: Floats, weights: Floats) -> Floats:
    """The weighted mean over one axis; the weights have the axes up to it."""
    last = np.moveaxis(values, axis, -1)
    lean = weights.reshape(*weights.shape[:-1], *(1,) * (last.ndim - weights.ndim), -1)
    return mean_of(last, np.broadcast_to(lean, last.shape))


def of_part(totals: Totals, part: str) -> dict[str, Array]:
    """All sums of a phase by name."""
    found = {name: totals.sums(part, name) for name in COUNTS}
    return found | {name: totals.sums(f"{part}_sums", name) for name in SUMS}


def pooled(sums: Sums, streams: Floats) -> dict[str, Array]:
    """Sums over the streams (axis 2), each weighed."""
    return {name: np.einsum("rsk...,rk->rs...", x, streams) for name, x in sums.items()}


def rates_of(sums: Sums) -> tuple[Floats, Floats]:
    """Shares of missed targets and of falsely accepted others."""
    targets = sums["targets"]
    return share(sums["fn"], targets), share(sums["fp"], sums["n"] - targets)


def weights_of(application: Application) -> tuple[float, float]:
    """Weights of Pmiss and Pfa that sum to 1: Cm P and Cf (1 - P) over their sum."""
    application.require_detection()
    miss = application.cost_miss * application.prior
    fa = application.cost_fa * (1 - application.prior)
    total = miss + fa
    return miss / total, fa / total


def missed(sums: Sums, how: Effort) -> Array:
    """The cost of misses in annotations: q N_fn, with q = N / N_target by default.

    A pool without targets has no misses and adds nothing.
    """
    fn = np.asarray(sums["fn"], np.float64)
    if how.scoring.q is not None:
        return how.scoring.q * fn
    none = np.asarray(sums["targets"]) == 0
    return np.asarray(np.where(none, 0.0, share(sums["n"] * fn, sums["targets"])))


def errors(sums: Sums, how: Effort) -> Array:
    """The cost of errors in annotations: N_fp + q N_fn, or the sum of losses."""
    if how.missing:
        return np.asarray(sums["fp"] + missed(sums, how))
    return np.asarray(sums["loss"], np.float64)


def imlm_value(how: Effort, _: Application) -> Value:
    """The person's time over that of doing all by hand, of any sums."""
    return lambda s: share(s["annotations"] + errors(s, how), s["n"])


def dcf_value(_: Effort, application: Application) -> Value:
    """The detection cost of the decisions, of any sums."""
    miss, fa = weights_of(application)

    def value(sums: Sums) -> Floats:
        missed_share, false_share = rates_of(sums)
        return miss * missed_share + fa * false_share

    return value


VALUES = {"imlm": imlm_value, "act_dcf": dcf_value}


def item_seconds(sums: Sums, how: Effort) -> Array:
    """Seconds that an item takes: as stated, or the mean of the measured annotations."""
    if how.scoring.item_seconds is not None:
        return np.full(np.shape(sums["n"]), how.scoring.item_seconds)
    return share(sums["seconds"], sums["timed"])


def person_seconds(sums: Sums, how: Effort) -> Array:
    """Seconds of the person: measured annotations, the others and the errors at the mean."""
    untimed = sums["annotations"] - sums["timed"]
    return np.asarray(sums["seconds"] + item_seconds(sums, how) * (untimed + errors(sums, how)))


def annotation_seconds(sums: Sums, how: Effort) -> Array:
    """Seconds of the annotations alone: as measured, the others at those of an item."""
    untimed = sums["annotations"] - sums["timed"]
    others = np.where(untimed == 0, 0.0, item_seconds(sums, how) * untimed)
    return np.asarray(sums["seconds"] + others)


def by_hand(sums: Sums, how: Effort) -> Array:
    """Hours of labelling everything by hand."""
    return np.asarray(item_seconds(sums, how) * sums["n"] / HOUR)


def by_window(
    totals: Totals, application: Application, how: Effort, name: str, phase: str, *, so_far: bool
) -> Floats:
    """A measure (imlm, act_dcf) window by window, pooled as the whole is; q is that of the whole
    stream.

    Of everything up to the end of each window where `so_far`: then what was annotated before the
    streams is read from the tallies `online_{phase}_before`. Shape (replicates, windows); NaN
    where a window has no items, or no targets where rates need them.
    """
    sums: Sums = of_part(totals, f"online_{phase}_windows")
    if so_far:
        start = of_part(totals, f"online_{phase}_before")
        sums = {k: x.cumsum(axis=-1) + start[k][..., None] for k, x in sums.items()}
    return valued(totals, sums, prevalence(totals, f"online_{phase}", how), application, how, name)


def prevalence(totals: Totals, part: str, how: Effort) -> Floats:
    """Q of each pool: N / N_target of its whole stream unless it is given; 0 without targets.

    Of shape (replicates, seeds), or (replicates, seeds, streams) where values are averaged.
    """
    whole = of_part(totals, part)
    over = whole if how.macro else pooled(whole, outer(totals, "stream", whole["n"].shape[2]))
    q = share(over["n"], over["targets"])
    return np.nan_to_num(q) if how.scoring.q is None else np.full(q.shape, how.scoring.q)


def valued(
    totals: Totals, sums: Sums, q: Floats, application: Application, how: Effort, name: str
) -> Floats:
    """A measure of sums of shape (replicates, seeds, streams, ...) with a known q of each pool."""
    plain = VALUES[name](how, application)

    def value(over: Sums) -> Array:
        if name == "act_dcf" or not how.missing:
            return plain(over)
        own = q[(..., *(None,) * (over["n"].ndim - q.ndim))]
        return share(over["annotations"] + over["fp"] + own * over["fn"], over["n"])

    return joined_sums(totals, how, sums, value)
