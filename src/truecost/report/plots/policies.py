"""The scores of a version across time under the policies of users (paper 004, Fig. 5, Eq. 2 and 3).

`policy_times` draws its first panel, scores over the test times with the weights above them,
`policy_shares` the second, what each time adds to the weighted score. `policy_scores` draws the
third, the weighted scores themselves, of all systems side by side, and `policy_versions` the
weighted scores from version to version (`by_version.py`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.errors import UsageError
from truecost.report.plots.look import (
    COLOURS,
    DASHES,
    MARKERS,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    needed,
    new_axes,
    short,
    width_of,
)
from truecost.report.plots.score_matrix import POLICIES, cells_of, half_width
from truecost.report.plots.shades import scale_in
from truecost.report.plots.timeline import name_times, upright
from truecost.tasks.lifelong.descriptions import Cell, LifelongDescription

Found = LifelongDescription
Floats = npt.NDArray[np.float64]
BESIDE = 0.5  # inches that labels of values take, and as much as their figures
ABOVE = 0.32  # of the height of scores: the weights


def state_of(found: Found) -> str:
    """The state that policies weigh: with the penalty of the person's help where there is one."""
    known = {c.state for c in found.cells}
    return "penalised" if "penalised" in known else "base"


def version_of(found: Found) -> str:
    """The last version: it has the whole window."""
    needed(found.versions, "there is no version")
    return found.versions[-1]


def row_of(found: Found, version: str, state: str) -> list[Cell]:
    """The cells of a version in the order of the test times; UsageError where there are none."""
    if version not in found.versions:
        raise UsageError(
            f"there is no version {version!r}: draw one of {', '.join(found.versions)}"
        )
    cells = [c for c in cells_of(found, state) if c.version == version]
    needed([c for c in cells if c.value is not None], f"version {version} has no score")
    return cells


def policy_times(found: Found, ax: Axes | None = None, *, version: str = "") -> Axes:
    """Scores of a version over the test times with their band, the weights of policies above.

    What is later than the version is dashed: no policy weighs it.

    Parameters
    ----------
    found : LifelongDescription
        Of a system of a result.
    version : str
        The last one when left out.

    Raises
    ------
    UsageError
        When there is no such version, or it has no cells.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.lifelong.descriptions import Cell, LifelongDescription
    >>> mine = LifelongDescription(
    ...     dims={"system": "mine"},
    ...     score="wer",
    ...     title="Word error rate",
    ...     direction="lower",
    ...     versions=["1"],
    ...     learnt=[3.0],
    ...     times=["1.5", "2.5"],
    ...     at=[1.5, 2.5],
    ...     cells=[Cell(version="1", time=t, value=0.2) for t in ("1.5", "2.5")],
    ... )
    >>> ax = plots.policy_times(mine)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('test time', 'wer of version 1')
    """
    version = version or version_of(found)
    state = state_of(found)
    cells = row_of(found, version, state)
    ax = ax or new_axes(WIDE, policy_times_height(found))
    _scores(ax, found, cells)
    _set_times(ax, found)
    top = _set_scores(ax, cells, found, room=bool(found.policies))
    _weights(ax, found, version, top)
    said = f"{penalised(state)}{found.score} of version {version}"
    ax.set_ylabel(upright(said, 18), loc="bottom")
    legend_below(ax, _time_handles(found, cells, version))
    return finish(ax, grid="y")


def penalised(state: str) -> str:
    """What stands before the name of a score that has the penalty."""
    return "penalised " if state == "penalised" else ""


def floats(values: Sequence[float | None]) -> Floats:
    """Figures to draw: what is not known is NaN."""
    return np.array([np.nan if v is None else v for v in values], np.float64)


def _scores(ax: Axes, found: Found, cells: Sequence[Cell]) -> None:
    """Line and band of the scores; what is later is dashed."""
    at = np.array(found.at, np.float64)
    lower, upper = (floats([getattr(c, n) for c in cells]) for n in ("lower", "upper"))
    known = np.isfinite(lower) & np.isfinite(upper)
    ax.fill_between(at, lower, upper, where=known.tolist(), color=ink(), alpha=0.2, linewidth=0)
    values = floats([c.value for c in cells])
    seen = np.array([c.seen for c in cells])
    marks: dict[str, Any] = {"marker": "o", "markersize": 4.5} if len(cells) <= 30 else {}
    look: dict[str, Any] = {"color": ink(), "linewidth": 1.6, **marks}
    ax.plot(at, np.where(seen, values, np.nan), **look)
    for k in range(len(at) - 1):  # the way to what is later, and from what was before
        if not (seen[k] and seen[k + 1]):
            ax.plot(at[k : k + 2], values[k : k + 2], color=ink(), linestyle=(0, (2, 1.5)))
    look = {"marker": "o", "markersize": 4.5, "markerfacecolor": "none", "linestyle": "none"}
    if marks:
        ax.plot(at[~seen], values[~seen], color=ink(), **look)


def _set_scores(ax: Axes, cells: Sequence[Cell], found: Found, *, room: bool) -> float:
    """Limits of the scores from 0 on, and room for weights above; where the room begins."""
    ends = [v for c in cells for v in (c.value, c.lower, c.upper) if v is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends]) or 1.0
    top = high + 0.06 * (high - low)
    ax.set_ylim(low, top + (ABOVE * (top - low) / (1 - ABOVE) if room else 0.0))
    below = top - (0.09 * (top - low) if room else 0.0)  # room for the name of the weights
    ticks = [t for t in _round_ticks(low, high) if low <= t <= below]
    scale = scale_in(found.shown_in)
    ax.set_yticks(ticks, [plain(t, scale) for t in ticks])
    return top


def _round_ticks(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    return [float(t) for t in MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)).tick_values(low, high)]


def plain(value: float, scale: str) -> str:
    """A figure beside an axis."""
    return f"{100 * value:.4g}%" if scale == "%" else f"{value:.4g}"


def _weights(ax: Axes, found: Found, version: str, top: float) -> None:
    """The weights of each policy as lines in the room above the scores, from 0 to the largest."""
    curves = weights_of(found, version)
    if not curves:
        return
    base = top + 0.04 * (ax.get_ylim()[1] - top)
    room = 0.9 * (ax.get_ylim()[1] - base)
    largest = max((max(w) for w in curves.values() if w), default=0.0) or 1.0
    ax.axhline(base, color=ink(), linewidth=0.6)
    for k, weights in enumerate(curves.values()):
        heights = base + room * np.array(weights, np.float64) / largest
        look: dict[str, Any] = {"color": COLOURS[k], "linestyle": DASHES[k % len(DASHES)]}
        marks: dict[str, Any] = {"marker": MARKERS[k], "markersize": 4.5}
        marks = marks if len(weights) <= 30 else {}
        ax.plot(found.at, heights, linewidth=1.6, **look, **marks)
    ax.set_yticks(
        [*ax.get_yticks(), base, base + room],
        [*(t.get_text() for t in ax.get_yticklabels()), "weight 0", f"{largest:.2g}"],
    )


def weights_of(found: Found, version: str) -> dict[str, list[float]]:
    """The weights that each of the first policies gives the test times for a version."""
    place = found.versions.index(version)
    return {p.name: p.weights[place] for p in found.policies[:POLICIES] if len(p.weights) > place}


def _set_times(ax: Axes, found: Found) -> None:
    """Limits and names of the test times."""
    ends = (min(found.at), max(found.at))
    edge = 0.03 * (ends[1] - ends[0]) or 0.5
    ax.set_xlim(ends[0] - edge, ends[1] + edge)
    name_times(ax, found.at, found.times, width_of(ax) - 2 * BESIDE)
    ax.set_xlabel("test time")


def _time_handles(found: Found, cells: Sequence[Cell], version: str) -> list[Any]:
    handles: list[Any] = [
        Line2D([], [], color=ink(), marker="o", markersize=4.5, label=f"{found.score}")
    ]
    if any(not c.seen for c in cells):
        look: Any = {"markerfacecolor": "none", "linestyle": (0, (2, 1.5)), "markersize": 4.5}
        handles.append(Line2D([], [], color=ink(), marker="o", label="the future", **look))
    return handles + policy_handles(list(weights_of(found, version)))


def policy_handles(names: Sequence[str]) -> list[Any]:
    """Lines of the legend, one for each policy."""
    return [
        Line2D(
            [],
            [],
            color=COLOURS[k],
            marker=MARKERS[k],
            linestyle=DASHES[k % len(DASHES)],
            markersize=5,
            label=short(name),
        )
        for k, name in enumerate(names)
    ]


def policy_times_height(found: Found, width: float = WIDE) -> float:
    """Height in inches that shows these scores at a width in inches."""
    version = version_of(found)
    handles = _time_handles(found, row_of(found, version, state_of(found)), version)
    return 3.4 + legend_height([str(h.get_label()) for h in handles], width)


def policy_shares(found: Found, ax: Axes | None = None, *, version: str = "") -> Axes:
    """What each test time adds to the weighted score: s(M_i, t_j) P(t_j), for each policy.

    The score under a policy is the sum of its marks. Whiskers are the interval of the score of
    that time, weighted alike; they do not add up, as times may share what was resampled.

    Parameters
    ----------
    found : LifelongDescription
        Of a system of a result.
    version : str
        The last one when left out.

    Raises
    ------
    UsageError
        When there is no such version, it has no cells, or there is no policy.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.lifelong.descriptions import Cell, LifelongDescription, PolicyCurve
    >>> mine = LifelongDescription(
    ...     dims={"system": "mine"},
    ...     score="wer",
    ...     title="Word error rate",
    ...     direction="lower",
    ...     versions=["1"],
    ...     learnt=[3.0],
    ...     times=["1.5", "2.5"],
    ...     at=[1.5, 2.5],
    ...     cells=[Cell(version="1", time=t, value=0.2) for t in ("1.5", "2.5")],
    ...     policies=[PolicyCurve(name="uniform", says="all alike", weights=[[0.5, 0.5]])],
    ... )
    >>> plots.policy_shares(mine).get_ylabel()
    'wer x weight'
    """
    version = version or version_of(found)
    weights = weights_of(found, version)
    needed([*weights], "there is no policy")
    cells = row_of(found, version, state_of(found))
    ax = ax or new_axes(WIDE, policy_shares_height(found))
    _set_times(ax, found)
    step = _step(found, len(weights))
    low, high = ax.get_xlim()
    ax.set_xlim(low - step * len(weights) / 2, high + step * len(weights) / 2)
    for k, of in enumerate(weights.values()):
        _share(ax, found, cells, of, k, step * (k - (len(weights) - 1) / 2))
    ax.axhline(0, color=ink(), linewidth=0.6)
    scale = scale_in(found.shown_in)
    ax.yaxis.set_major_formatter(lambda y, _: plain(y, scale))
    ax.locator_params(axis="y", nbins=6)
    ax.set_ylabel(upright(f"{penalised(state_of(found))}{found.score} x weight"))
    legend_below(ax, policy_handles(list(weights)))
    return finish(ax, grid="y")


def _step(found: Found, count: int) -> float:
    """How far marks of policies at one time stand apart."""
    gaps = np.diff(np.array(found.at, np.float64))
    return float(gaps.min()) * 0.6 / count if len(gaps) else 0.2 / count


def _share(
    ax: Axes, found: Found, cells: Sequence[Cell], weights: Sequence[float], k: int, aside: float
) -> None:
    """The stems of one policy."""
    kept = [
        (t, c, w)
        for t, c, w in zip(found.at, cells, weights, strict=True)
        if w > 0 and c.value is not None
    ]
    if not kept:
        return
    places = [t + aside for t, _, _ in kept]
    values = [w * c.value for _, c, w in kept if c.value is not None]
    ax.vlines(places, 0, values, color=COLOURS[k], linewidth=1.2, alpha=0.6)
    for x, (_, cell, w) in zip(places, kept, strict=True):
        if half_width(cell) is not None:
            ax.vlines(x, w * cell.lower, w * cell.upper, color=COLOURS[k], linewidth=2.4)  # type: ignore[operator]
    size = 4.5 if len(kept) <= 30 else 2.5
    ax.plot(places, values, MARKERS[k], color=COLOURS[k], markersize=size)


def policy_shares_height(found: Found, width: float = WIDE) -> float:
    """Height in inches that shows these weighted scores at a width in inches."""
    names = [short(p.name) for p in found.policies[:POLICIES]] or ["none"]
    return 2.9 + legend_height(names, width)
