"""How the sums of streams and runs are joined into one value.

The tallies of event logs have the axes seed (runs of a method) and stream. *Micro* pooling adds the
sums of the streams of a run and then divides; *macro* divides stream by stream and takes the mean.
Runs are always averaged. Where streams or seeds are resampled they are outer factors: their weights
multiply sums (micro) or means, never the inside of a ratio.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats

COUNTS = ("n", "items", "targets", "fp", "fn", "wrong", "annotations", "timed", "batches")
SUMS = ("loss", "seconds", "cpu")
Sums = Mapping[str, Array]


@dataclass(frozen=True)
class Effort:
    """What joins errors and effort.

    Attributes
    ----------
    q : float, optional
        Cost of a miss in annotations; N / N_target of what is pooled when left out.
    macro : bool
        Values of streams are averaged, in place of adding their counts.
    item_seconds : float, optional
        Seconds that reviewing an item takes; the mean annotation time when left out.
    person, cpu, operating : float
        Prices of an hour of the person, of an hour of CPU, and of a batch.
    missing : bool
        Whether misses and false alarms are told apart (detection); losses are summed otherwise.
    """

    q: float | None = None
    macro: bool = False
    item_seconds: float | None = None
    person: float | None = None
    cpu: float = 0.0
    operating: float = 0.0
    missing: bool = True


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


def joined(
    totals: Totals, how: Effort, divide: Callable[[Sums], Array], *, part: str = "online"
) -> Floats:
    """A value of each replicate from a value of one pool of sums.

    Parameters
    ----------
    totals : Totals
        With the tallies `part` and `part`_sums, axes seed and stream (further axes may follow).
    divide : callable
        From sums by name, of any shape, to values of that shape.

    Returns
    -------
    ndarray, shape (replicates, ...)
        The further axes of the tallies, if any, stay.
    """
    sums = of_part(totals, part)
    one = sums["n"]
    seeds = outer(totals, "seed", one.shape[1])
    streams = outer(totals, "stream", one.shape[2])
    if how.macro:
        values = np.moveaxis(np.asarray(divide(sums), np.float64), 2, -1)
        lean = (slice(None), None, *(None,) * (values.ndim - 3), slice(None))
        by_seed = mean_of(values, np.broadcast_to(streams[lean], values.shape))
    else:
        by_seed = np.asarray(divide(pooled(sums, streams)), np.float64)
    last = np.moveaxis(by_seed, 1, -1)
    lean = (slice(None), *(None,) * (last.ndim - 2), slice(None))
    return mean_of(last, np.broadcast_to(seeds[lean], last.shape))


def of_part(totals: Totals, part: str) -> dict[str, Array]:
    """All sums of a phase by name."""
    found = {name: totals.sums(part, name) for name in COUNTS}
    return found | {name: totals.sums(f"{part}_sums", name) for name in SUMS}


def pooled(sums: Sums, streams: Floats) -> dict[str, Array]:
    """Sums over the streams (axis 2), each weighed."""
    return {name: np.einsum("rsk...,rk->rs...", x, streams) for name, x in sums.items()}
