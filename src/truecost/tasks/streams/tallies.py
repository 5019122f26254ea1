"""Evidence of an online system: its counts by batch, laid out by run, stream and window.

Batches stand on the side of the tallies where they are resampled; where only streams or seeds are,
all counts are fixed and a replicate costs next to nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence
from truecost.core.tally import Tally
from truecost.core.unit_index import Slots
from truecost.tasks.streams.counting import Counted, before
from truecost.tasks.streams.measures.effort_pools import COUNTS, SUMS

Array = npt.NDArray[Any]


def evidence_of(count: Counted, phase: str, *, windows: bool = False) -> Evidence:
    """The tallies `online` and `online_sums` of a phase.

    Parameters
    ----------
    phase : {"pre", "post"}
    windows : bool
        With a third axis, `window`; what was annotated before the streams is then left out.
    """
    parts = parts_of(count, phase, "online", windows=windows)
    return Evidence(parts, outer=count.outer)


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

    Parameters
    ----------
    phase : {"pre", "post"}
    windows : bool
        With a third axis, `window`, and without what was before the streams.
    kept : ndarray of bool, shape (batches,), optional
        Batches that are counted, and resampled among each other; all when left out.
    started : bool
        Whether what was before the streams counts.
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
        part: _tally(count, {n: values[n] for n in COUNTS}, axes, fixed, kept),
        f"{part}_sums": _tally(count, {n: values[n] for n in SUMS}, axes, fixed, kept),
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
    shape = tuple(len(labels) for labels, _ in axes.values())
    flat = np.ravel_multi_index(tuple(codes for _, codes in axes.values()), shape)
    columns = []
    for column in statistics.values():
        whole = np.zeros(int(np.prod(shape)), column.dtype)
        np.add.at(whole, flat, column)
        columns.append(whole)
    values = np.stack(columns, axis=-1).reshape(*shape, len(columns)) + always
    return _fixed(values, {name: tuple(labels) for name, (labels, _) in axes.items()}, statistics)


def _fixed(values: Array, axes: Mapping[str, tuple[str, ...]], names: Iterable[str]) -> Tally:
    """A tally of what no resampling of batches changes."""
    none = Slots((), np.zeros((0, 1), np.int32))
    empty = np.zeros((0, values.shape[-1]), values.dtype)
    return Tally(none, np.zeros(0, np.int64), empty, axes, tuple(names), values)


def before_parts(count: Counted, part: str) -> dict[str, Tally]:
    """What was annotated before the streams alone, as the two tallies of a part."""
    fixed = before(count)
    axes = {"seed": count.online.seeds, "stream": count.online.streams}
    return {
        f"{part}{end}": _fixed(np.stack([fixed[n] for n in names], axis=-1), axes, names)
        for end, names in (("", COUNTS), ("_sums", SUMS))
    }
