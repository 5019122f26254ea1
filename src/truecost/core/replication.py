"""Replication: what is computed from the totals of every replicate, block by block, in threads."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.measure import Measure, Values
from truecost.core.weights import Weights

Progress = Callable[[int, int], None]
Found = TypeVar("Found")


def by_block(
    evidence: Evidence,
    weights: Weights,
    run: Callable[[Totals], Found],
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Found]:
    """What a function gives for each block of replicates, in order, computed in threads.

    Parameters
    ----------
    run : callable
        From the totals of a block to anything.
    jobs : int, optional
        Threads; all cores by default. The result does not depend on their number.
    progress : callable, optional
        Told the replicates done and all of them, after each block.

    Returns
    -------
    list
        One entry for each block.
    """
    workers = jobs or os.cpu_count() or 1
    ranges = [*weights.blocks(evidence.cells)]

    def block(bounds: tuple[int, int]) -> Found:
        return run(totals(evidence, weights.block(*bounds)))

    def told(found: Iterable[Found]) -> list[Found]:
        parts = []
        for (_, stop), part in zip(ranges, found, strict=True):
            parts.append(part)
            if progress is not None:
                progress(stop, weights.count)
        return parts

    if workers == 1 or weights.count == 1:
        return told(map(block, ranges))
    evidence.prepare()
    with ThreadPoolExecutor(workers) as pool:
        return told(pool.map(block, ranges))


def replicate(
    evidence: Evidence,
    measures: Sequence[Measure],
    application: Application,
    weights: Weights,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Values]:
    """Values of each measure for every replicate.

    Parameters
    ----------
    jobs : int, optional
        Threads for the blocks of replicates; all cores by default. The result does not depend on
        their number.
    progress : callable, optional
        Told the replicates done and all of them, after each block.

    Returns
    -------
    list of Values
        One for each measure, over all replicates in order.
    """

    def run(seen: Totals) -> list[Values]:
        return [measure(seen, application) for measure in measures]

    parts = by_block(evidence, weights, run, jobs, progress)
    return [Values.joined([part[m] for part in parts]) for m in range(len(measures))]
