"""Pictures as functions that take results and optional axes, for the report and for papers.

`cost_bars`, `forest`, `runs`, `differences`, `gates`, `leaderboard`, `error_breakdown` and
`matching` draw rows; `det`, `roc`, `cost_against_threshold` and `reliability` draw curves
(`truecost.report.curves`), `by_unit` and `paired_units` single units (`truecost.report.units`).
Each returns the axes on which it drew, on a new figure when it is given none; `save` writes PDF,
PNG or SVG, `style` sets the colours. The functions `..._height` say how high a figure has to be.
"""

from truecost.report.plots.bars import Bar, bars_height, bars_of, cost_bars
from truecost.report.plots.board import leaderboard, leaderboard_height
from truecost.report.plots.calibration import decomposed, reliability, reliability_height
from truecost.report.plots.errors import (
    breakdown_height,
    error_breakdown,
    matching,
    matching_height,
    shares_of,
    with_ngrams,
)
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
from truecost.report.plots.units import (
    beyond,
    by_unit,
    by_unit_height,
    paired_units,
    paired_units_height,
    sides_of,
)

__all__ = [
    "COLOURS",
    "INK",
    "MARKERS",
    "STYLE",
    "Bar",
    "bars_height",
    "bars_of",
    "beyond",
    "breakdown_height",
    "by_unit",
    "by_unit_height",
    "cost_against_threshold",
    "cost_bars",
    "decomposed",
    "det",
    "det_height",
    "differences",
    "differences_height",
    "error_breakdown",
    "forest",
    "forest_height",
    "gates",
    "gates_height",
    "having_runs",
    "leaderboard",
    "leaderboard_height",
    "matching",
    "matching_height",
    "new_axes",
    "paired_units",
    "paired_units_height",
    "reliability",
    "reliability_height",
    "roc",
    "runs",
    "runs_height",
    "save",
    "shares_of",
    "short",
    "sides_of",
    "style",
    "threshold_height",
    "with_ngrams",
]
