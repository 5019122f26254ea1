"""The gap between the scores before and after adaptation, and how it changes over the stream.

The measures read the tallies of both phases: `online_pre`, `online_post` and the like by window,
`online_pre_windows` and `online_post_windows`, with the sums beside each (`..._sums`).
Source: paper 000, section III and Fig. 4.
"""

from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Floats, Measure, Result, Rule, share
from truecost.tasks.streams.measures.effort import VALUES, dcf_value, imlm_value
from truecost.tasks.streams.measures.effort_pools import (
    PLAIN,
    Effort,
    Sums,
    joined,
    mean_of,
    of_part,
    outer,
    pooled,
)

PHASES = ("pre", "post")
PARTS = tuple(f"online_{phase}{end}" for phase in PHASES for end in ("", "_sums"))
WINDOWS = tuple(f"online_{phase}_windows{end}" for phase in PHASES for end in ("", "_sums"))


def by_window(
    totals: Totals, application: Application, how: Effort, name: str, phase: str, *, so_far: bool
) -> Floats:
    """A measure window by window, pooled as the whole is; q is that of the whole stream.

    Parameters
    ----------
    name : {"imlm", "act_dcf"}
    phase : {"pre", "post"}
    so_far : bool
        Everything up to the end of each window, in place of the window alone; reads what was
        annotated before the streams from the tallies `online_{phase}_before`.

    Returns
    -------
    ndarray, shape (replicates, windows)
        NaN where a window has no items, or no targets where rates need them.
    """
    sums: Sums = of_part(totals, f"online_{phase}_windows")
    whole: Sums = of_part(totals, f"online_{phase}")
    streams = outer(totals, "stream", sums["n"].shape[2])
    if so_far:
        start = of_part(totals, f"online_{phase}_before")
        sums = {k: x.cumsum(axis=-1) + start[k][..., None] for k, x in sums.items()}
    return valued(totals, sums, prevalence(whole, streams, how), application, how, name)


def prevalence(whole: Sums, streams: Floats, how: Effort) -> Floats:
    """Q of each pool: N / N_target of its whole stream unless it is given; 0 without targets.

    Parameters
    ----------
    whole : mapping of str to ndarray, shape (replicates, seeds, streams)
    streams : ndarray, shape (replicates, streams)
        Weights.

    Returns
    -------
    ndarray, shape (replicates, seeds), or (replicates, seeds, streams) where values are averaged
    """
    over = whole if how.macro else pooled(whole, streams)
    q = share(over["n"], over["targets"])
    return np.nan_to_num(q) if how.q is None else np.full(q.shape, how.q)


def valued(
    totals: Totals, sums: Sums, q: Floats, application: Application, how: Effort, name: str
) -> Floats:
    """A measure of sums of shape (replicates, seeds, streams, ...) with a q of each pool."""
    streams = outer(totals, "stream", sums["n"].shape[2])
    over = sums if how.macro else pooled(sums, streams)
    further = over["n"].ndim - q.ndim
    values = value_at(over, q[(..., *(None,) * further)], application, how, name)
    if how.macro:
        values = _averaged(values, 2, streams[:, None])
    return _averaged(values, 1, outer(totals, "seed", values.shape[1]))


def _averaged(values: Floats, axis: int, weights: Floats) -> Floats:
    """The weighted mean over one axis; the weights have the axes up to it."""
    last = np.moveaxis(values, axis, -1)
    lean = weights.reshape(*weights.shape[:-1], *(1,) * (last.ndim - weights.ndim), -1)
    return mean_of(last, np.broadcast_to(lean, last.shape))


def value_at(sums: Sums, q: Floats, application: Application, how: Effort, name: str) -> Floats:
    """Values of sums where q is known already, of a shape that broadcasts with theirs."""
    if name == "act_dcf":
        return np.asarray(dcf_value(how, application)(sums))
    if not how.missing:
        return np.asarray(imlm_value(how, application)(sums))
    return share(sums["annotations"] + sums["fp"] + q * sums["fn"], sums["n"])


def _gap(name: str) -> Any:
    """Value before adaptation minus value after it."""

    def function(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
        value = VALUES[name](how, application)
        before, after = (joined(totals, how, value, part=f"online_{phase}") for phase in PHASES)
        return before - after, NONE

    function.__doc__ = f"""{name} before adaptation minus {name} after it: what adapting brings.

    Range (-inf, inf), higher is better: the answers are put to use at once. Paper 000, section III.
    """
    return function


def _trend(name: str) -> Any:
    """Change of the gap over the stream."""

    def function(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
        before, after = (
            by_window(totals, application, how, name, phase, so_far=False) for phase in PHASES
        )
        return slope(before - after), NONE

    function.__doc__ = f"""Change of the gap in {name} over the stream, from its start to its end.

    Slope of the least-squares line through the gap of each window against its place between 0 and
    1; windows without a value are left out. Range (-inf, inf); below 0 the gap narrows, and the
    direction says so. Paper 000, section IV.C and Fig. 4.
    """
    return function


def slope(values: Floats) -> Floats:
    """Least-squares slope of each row of values over places from 0 to 1; NaN with fewer than two.

    Parameters
    ----------
    values : ndarray, shape (replicates, windows)

    Returns
    -------
    ndarray, shape (replicates,)
    """
    known = np.isfinite(values)
    place = np.linspace(0.0, 1.0, values.shape[1]) if values.shape[1] > 1 else np.zeros(1)
    number = known.sum(axis=1)
    x = np.where(known, place, 0.0)
    y = np.where(known, values, 0.0)
    mean_x, mean_y = (share(column.sum(axis=1), number) for column in (x, y))
    lean = np.where(known, place - mean_x[:, None], 0.0)
    over = (lean**2).sum(axis=1)
    return share((lean * np.where(known, y - mean_y[:, None], 0.0)).sum(axis=1), over)


def _measure(name: str, function: Any, title: str, direction: Any, parts: Any) -> Measure:
    """One measure of the gap."""
    uses = ("costs", "prior") if name.startswith("act_dcf") else ()
    source = "paper 000, section III and Fig. 4"
    return Measure(
        name,
        function,
        parts,
        title,
        direction,
        source,
        task="stream",
        uses=uses,
        undefined="fewer than two windows have a value" if "trend" in name else "",
        interval=Rule("identity"),
    )


MEASURES = tuple(
    _measure(f"{name}_{end}", make(name), f"{title} {said}", direction, parts)
    for name, said in (("imlm", "the person's time"), ("act_dcf", "the detection cost"))
    for end, make, title, direction, parts in (
        ("gap", _gap, "What adapting saves of", "higher", PARTS),
        ("gap_trend", _trend, "Change over the stream of what adapting saves of", "lower", WINDOWS),
    )
)
