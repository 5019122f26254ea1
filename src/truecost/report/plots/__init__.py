"""Pictures as functions that take results and optional axes, for the report and for papers.

`cost_bars`, `forest`, `runs`, `differences`, `gates` and `leaderboard` draw rows; `det`, `roc`,
`cost_against_threshold` and `reliability` draw curves (`truecost.report.curves`). Each returns the
axes on which it drew, on a new figure when it is given none; `save` writes PDF, PNG or SVG, `style`
sets the colours. The functions `..._height` say how high a figure has to be.
"""

from truecost.report.plots.bars import Bar, bars_height, bars_of, cost_bars
from truecost.report.plots.board import leaderboard, leaderboard_height
from truecost.report.plots.calibration import decomposed, reliability, reliability_height
from truecost.report.plots.limits import gates, gates_height
from truecost.report.plots.look import COLOURS, INK, MARKERS, STYLE, new_axes, save, short, style
from truecost.report.plots.rows import (
    differences,
    differences_height,
    forest,
    forest_height,
)
from truecost.report.plots.runs import having_runs, runs, runs_height
from truecost.report.plots.thresholds import cost_against_threshold, threshold_height
from truecost.report.plots.tradeoff import det, det_height, roc

__all__ = [
    "COLOURS",
    "INK",
    "MARKERS",
    "STYLE",
    "Bar",
    "bars_height",
    "bars_of",
    "cost_against_threshold",
    "cost_bars",
    "decomposed",
    "det",
    "det_height",
    "differences",
    "differences_height",
    "forest",
    "forest_height",
    "gates",
    "gates_height",
    "having_runs",
    "leaderboard",
    "leaderboard_height",
    "new_axes",
    "reliability",
    "reliability_height",
    "roc",
    "runs",
    "runs_height",
    "save",
    "short",
    "style",
    "threshold_height",
]
