"""Scores of a search against the log-likelihood ratios that the data show."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.report.plots.look import (
    COLOURS,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    needed,
    new_axes,
    width_of,
)
from truecost.report.plots.twv import BAYES, IN_USE
from truecost.tasks.terms.describing import SearchDescription

Span = tuple[float, float]
AFFINE = (0, (5, 2))
EDGE = 0.06
LABEL = "log-likelihood ratio\nthat the data show (nats)"  # in two lines: it fits low pictures too


def score_map(found: SearchDescription, ax: Axes | None = None) -> Axes:
    """What the data show against the submitted score, in bins, with the best affine calibration.

    A marker is a bin of about equally many targets: ln of the share of all targets in it over that
    of all nontargets, with two standard errors; the faint line is how far the scores of its targets
    reach. On the thin diagonal scores are the log-likelihood ratios that they claim to be. A line
    across is the Bayes threshold; the best affine calibration crosses it at the score from which on
    detections are worth accepting.

    Parameters
    ----------
    found : SearchDescription
        Of a search of a result.

    Raises
    ------
    UsageError
        When the detections are too few for a bin.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.terms.describing import ScoreBin, SearchDescription
    >>> names = ("score", "lowest", "highest", "targets", "nontargets", "llr", "lower", "upper")
    >>> rows = [(0.6, 0.2, 0.9, 15, 23, 6.7, 6.1, 7.4), (0.95, 0.91, 0.97, 16, 10, 7.6, 6.8, 8.4)]
    >>> search = SearchDescription(
    ...     system="mine",
    ...     unit="occurrence",
    ...     queries=30,
    ...     queries_with_targets=28,
    ...     queries_answered=30,
    ...     documents=10,
    ...     seconds=12000.0,
    ...     trials=12000,
    ...     detections=300,
    ...     accepted=200,
    ...     bayes=6.9,
    ...     effective_prior=0.001,
    ...     beta=999.9,
    ...     gamma=11.5,
    ...     delta=-3.3,
    ...     bins=tuple(ScoreBin(**dict(zip(names, row, strict=True))) for row in rows),
    ... )
    >>> ax = plots.score_map(search)
    >>> ax.get_xlabel(), ax.get_ylabel().splitlines()
    ('submitted score', ['log-likelihood ratio', 'that the data show (nats)'])
    """
    needed(found.bins, "the detections are too few for a bin of scores")
    ax = ax or new_axes(6.4, score_map_height(found, 6.4))
    across, up = _across(found), _up(found)
    ax.set_xlim(*across)
    ax.set_ylim(*up)
    ends = np.array(across)
    if found.llr:
        ax.plot(ends, ends, color=ink(), linewidth=0.8)
    if found.gamma is not None and found.delta is not None:
        line = found.gamma * ends + found.delta
        ax.plot(ends, line, color=COLOURS[1], linewidth=1.6, linestyle=AFFINE)
    ax.axhline(found.bayes, color=ink(), linewidth=1.2, linestyle=BAYES, zorder=1.5)
    if found.least_accepted is not None:
        ax.axvline(found.least_accepted, color=ink(), linewidth=1.0, linestyle=IN_USE, zorder=1.5)
    for b in found.bins:
        ax.plot([b.lowest, b.highest], [b.llr, b.llr], color=COLOURS[0], linewidth=3, alpha=0.3)
        ax.plot([b.score, b.score], [b.lower, b.upper], color=COLOURS[0], linewidth=1.4)
        ax.plot(b.score, b.llr, "o", color=COLOURS[0], markersize=6)
    ax.set_xlabel("submitted score" + (", said to be an LLR (nats)" if found.llr else ""))
    ax.set_ylabel(LABEL)
    ax.locator_params(axis="x", nbins=7 if width_of(ax) > 5 else 4)
    legend_below(ax, _handles(found))
    return finish(ax, grid="both")


def crossing_of(found: SearchDescription) -> float | None:
    """The score that the best affine calibration puts on the Bayes threshold."""
    if found.gamma is None or found.delta is None or found.gamma <= 0:
        return None
    at = (found.bayes - found.delta) / found.gamma
    return at if math.isfinite(at) else None


def _across(found: SearchDescription) -> Span:
    """Scores of the bins, those that matter for decisions, and some room."""
    scores = [v for b in found.bins for v in (b.lowest, b.highest)]
    low, high = min(scores), max(scores)
    wide = high - low
    matter = (found.least_accepted, crossing_of(found), found.bayes if found.llr else None)
    near = [at for at in matter if at is not None and low - wide <= at <= high + wide]
    low, high = min([low, *near]), max([high, *near])
    edge = EDGE * (high - low) or 0.05 * abs(high) or 0.5
    return low - edge, high + edge


def _up(found: SearchDescription) -> Span:
    """Bins with their errors, the Bayes threshold, and what scores that are LLRs say."""
    ends = [v for b in found.bins for v in (b.lower, b.upper)]
    ends += [b.score for b in found.bins if found.llr]
    low, high = min(*ends, found.bayes), max(*ends, found.bayes)
    edge = EDGE * (high - low) or 0.5
    return low - edge, high + edge


def _handles(found: SearchDescription) -> list[Any]:
    """The bins, and the lines that there are."""
    handles: list[Any] = [
        Line2D([], [], color=COLOURS[0], marker="o", label="bins of scores, two standard errors")
    ]
    if found.gamma is not None and found.delta is not None:
        said = "best affine calibration"
        handles.append(Line2D([], [], color=COLOURS[1], linestyle=AFFINE, label=said))
    lines: list[tuple[str, Any, float]] = [("Bayes threshold", BAYES, 1.2)]
    if found.least_accepted is not None:
        lines.append(("lowest accepted score", IN_USE, 1.0))
    handles += [
        Line2D([], [], color=ink(), linestyle=dashes, linewidth=wide, label=said)
        for said, dashes, wide in lines  # as wide as they are drawn: dashes grow with the width
    ]
    if found.llr:
        said = "scores are what they claim"
        handles.append(Line2D([], [], color=ink(), linewidth=0.8, label=said))
    return handles


def score_map_height(found: SearchDescription, width: float = WIDE) -> float:
    """Height in inches that shows these bins about square at a width in inches."""
    labels = [str(handle.get_label()) for handle in _handles(found)]
    return min(width, 5.6) * 0.8 + legend_height(labels, width)
