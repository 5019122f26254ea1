"""Pictures as functions that take results and optional axes, for the report and for papers.

`cost_bars`, `forest`, `runs`, `differences`, `gates`, `leaderboard`, `error_breakdown` and
`matching` draw rows; `det`, `roc`, `cost_against_threshold` and `reliability` draw curves
(`truecost.report.curves`), `by_unit` and `paired_units` single units (`truecost.report.units`).
Of AB/BA `ratios` draws rows, `trade_off` and `ratios_by_threshold` planes, `collected` and
`machine_labels` what was collected, `probability_mapping` a calibration of machine scores.
Of searches for terms `det_of_terms`, `twv_by_threshold`, `queries_in_order`, `query_forest` and
`score_map` draw what a result says of them (`ResultFile.searches`), `resources` what they took.
Of systems on streams `budgets` draws rows, `phases` and `streams_forest` what a result says of
them (`ResultFile.online`).
Of life cycles `score_matrix`, `policy_times`, `policy_shares`, `policy_versions`,
`lifelong_sequence` and `learning_curves` draw what a result says of them (`ResultFile.lifelong`),
`policy_scores` and `penalised_bars` rows.
Each returns the axes on which it drew, on a new figure when it is given none; `save` writes PDF,
PNG or SVG, `style` sets the colours. The functions `..._height` say how high a figure has to be.
"""

from truecost.report.plots.bars import Bar, bars_height, bars_of, cost_bars
from truecost.report.plots.board import leaderboard, leaderboard_height
from truecost.report.plots.budgets import budgets, budgets_height
from truecost.report.plots.by_version import policy_versions, policy_versions_height
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
from truecost.report.plots.det_terms import (
    det_of_terms,
    det_of_terms_height,
    with_false_alarms,
)
from truecost.report.plots.errors import (
    breakdown_height,
    error_breakdown,
    matching,
    matching_height,
    shares_of,
    with_ngrams,
)
from truecost.report.plots.learning_curves import (
    curves_with,
    learning_curves,
    learning_curves_height,
)
from truecost.report.plots.lifelong_sequence import lifelong_sequence, lifelong_sequence_height
from truecost.report.plots.limits import gates, gates_height
from truecost.report.plots.load import parts_of_load, resources, resources_height
from truecost.report.plots.look import COLOURS, INK, MARKERS, STYLE, new_axes, save, short, style
from truecost.report.plots.mapping import mapping_height, probability_mapping
from truecost.report.plots.penalised import penalised_bars, penalised_bars_height
from truecost.report.plots.phases import curves_of, phases, phases_height
from truecost.report.plots.plane import names_of, trade_off, trade_off_height
from truecost.report.plots.policies import (
    policy_shares,
    policy_shares_height,
    policy_times,
    policy_times_height,
)
from truecost.report.plots.policy_forest import policy_scores, policy_scores_height
from truecost.report.plots.query_forest import query_forest, query_forest_height
from truecost.report.plots.ratio_rows import ratios, ratios_height
from truecost.report.plots.rows import (
    differences,
    differences_height,
    forest,
    forest_height,
)
from truecost.report.plots.runs import having_runs, runs, runs_height
from truecost.report.plots.score_map import crossing_of, score_map, score_map_height
from truecost.report.plots.score_matrix import (
    figures_fit,
    score_matrix,
    score_matrix_height,
)
from truecost.report.plots.shares import having_shares, variance_shares, variance_shares_height
from truecost.report.plots.streams_forest import (
    streams_forest,
    streams_height,
    streams_in_order,
)
from truecost.report.plots.thresholds import cost_against_threshold, threshold_height
from truecost.report.plots.tradeoff import det, det_height, roc
from truecost.report.plots.twv import (
    MARKED,
    alike,
    in_order_height,
    points_of,
    queries_in_order,
    twv_by_threshold,
    twv_height,
)
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
    "MARKED",
    "MARKERS",
    "STYLE",
    "Bar",
    "alike",
    "bars_height",
    "bars_of",
    "beyond",
    "breakdown_height",
    "budgets",
    "budgets_height",
    "by_threshold_height",
    "by_unit",
    "by_unit_height",
    "collected",
    "collected_height",
    "cost_against_threshold",
    "cost_bars",
    "crossing_of",
    "curves_of",
    "curves_with",
    "decomposed",
    "det",
    "det_height",
    "det_of_terms",
    "det_of_terms_height",
    "differences",
    "differences_height",
    "error_breakdown",
    "figures_fit",
    "forest",
    "forest_height",
    "gates",
    "gates_height",
    "having_runs",
    "having_shares",
    "held_cells",
    "in_order_height",
    "leaderboard",
    "leaderboard_height",
    "learning_curves",
    "learning_curves_height",
    "lifelong_sequence",
    "lifelong_sequence_height",
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
    "parts_of_load",
    "penalised_bars",
    "penalised_bars_height",
    "phases",
    "phases_height",
    "points_of",
    "policy_scores",
    "policy_scores_height",
    "policy_shares",
    "policy_shares_height",
    "policy_times",
    "policy_times_height",
    "policy_versions",
    "policy_versions_height",
    "probability_mapping",
    "queries_in_order",
    "query_forest",
    "query_forest_height",
    "ratios",
    "ratios_by_threshold",
    "ratios_height",
    "reliability",
    "reliability_height",
    "resources",
    "resources_height",
    "roc",
    "runs",
    "runs_height",
    "save",
    "score_map",
    "score_map_height",
    "score_matrix",
    "score_matrix_height",
    "shares_of",
    "short",
    "sides_of",
    "streams_forest",
    "streams_height",
    "streams_in_order",
    "style",
    "threshold_height",
    "trade_off",
    "trade_off_height",
    "twv_by_threshold",
    "twv_height",
    "variance_shares",
    "variance_shares_height",
    "with_false_alarms",
    "with_ngrams",
]
