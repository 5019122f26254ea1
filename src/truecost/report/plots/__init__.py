"""Pictures as functions that take results and optional axes, for the report and for papers.

`cost_bars`, `forest`, `runs`, `differences`, `gates`, `leaderboard`, `error_breakdown` and
`matching` draw rows; `det`, `roc`, `cost_against_threshold` and `reliability` draw curves
(`truecost.report.curves`), `by_unit` and `paired_units` single units (`truecost.report.units`).
Of AB/BA `ratios` draws rows, `trade_off` and `ratios_by_threshold` planes, `collected` and
`machine_labels` what was collected, `probability_mapping` a calibration of machine scores.
Each returns the axes on which it drew, on a new figure when it is given none; `save` writes PDF,
PNG or SVG, `style` sets the colours. The functions `..._height` say how high a figure has to be.
"""

from truecost.report.plots.bars import Bar, bars_height, bars_of, cost_bars
from truecost.report.plots.board import leaderboard, leaderboard_height
from truecost.report.plots.calibration import decomposed, reliability, reliability_height
from truecost.report.plots.cells import (
    collected,
    collected_height,
    held_cells,
    machine_labels,
    machine_labels_height,
    parts_of,
)
from truecost.report.plots.chosen import by_threshold_height, ratios_by_threshold
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
from truecost.report.plots.mapping import mapping_height, probability_mapping
from truecost.report.plots.plane import names_of, trade_off, trade_off_height
from truecost.report.plots.ratio_rows import ratios, ratios_height
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
    "by_threshold_height",
    "by_unit",
    "by_unit_height",
    "collected",
    "collected_height",
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
    "held_cells",
    "leaderboard",
    "leaderboard_height",
    "machine_labels",
    "machine_labels_height",
    "mapping_height",
    "matching",
    "matching_height",
    "names_of",
    "new_axes",
    "paired_units",
    "paired_units_height",
    "parts_of",
    "probability_mapping",
    "ratios",
    "ratios_by_threshold",
    "ratios_height",
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
    "trade_off",
    "trade_off_height",
    "with_ngrams",
]
