"""Pictures as functions that take results and optional axes, for the report and for papers.

`cost_bars`, `forest`, `runs`, `differences`, `gates`, `leaderboard`, `error_breakdown` and
`matching` draw rows; `det`, `roc`, `cost_against_threshold` and `reliability` draw curves
(`truecost.report.curves`), `by_unit` and `paired_units` single units (`truecost.report.units`).
Of AB/BA `ratios` draws rows, `trade_off` and `ratios_by_threshold` planes, `collected` and
`machine_labels` what was collected, `probability_mapping` a calibration of machine scores.
Of searches for terms `det_of_terms`, `twv_by_threshold`, `queries_in_order`, `query_forest` and
`score_map` draw what a result says of them (`ResultFile.described`), `resources` what they took.
Of systems on streams `budgets` draws rows, `phases` and `streams_forest` what a result says of
them (`ResultFile.described`).
Of life cycles `score_matrix`, `policy_times`, `policy_shares`, `policy_versions`,
`lifelong_sequence` and `learning_curves` draw what a result says of them (`ResultFile.described`),
`policy_scores` and `penalised_bars` rows. `stacks` draws counts of several kinds of any task.
Each returns the axes on which it drew, on a new figure when it is given none; `save` writes PDF,
PNG or SVG, `style` sets the colours. The functions `..._height` say how high a figure has to be.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.report.plots.bars import Bar as Bar
    from truecost.report.plots.bars import bars_height as bars_height
    from truecost.report.plots.bars import bars_of as bars_of
    from truecost.report.plots.bars import cost_bars as cost_bars
    from truecost.report.plots.board import leaderboard as leaderboard
    from truecost.report.plots.board import leaderboard_height as leaderboard_height
    from truecost.report.plots.budgets import budgets as budgets
    from truecost.report.plots.budgets import budgets_height as budgets_height
    from truecost.report.plots.by_version import policy_versions as policy_versions
    from truecost.report.plots.by_version import policy_versions_height as policy_versions_height
    from truecost.report.plots.calibration import decomposed as decomposed
    from truecost.report.plots.calibration import reliability as reliability
    from truecost.report.plots.calibration import reliability_height as reliability_height
    from truecost.report.plots.cells import collected as collected
    from truecost.report.plots.cells import collected_height as collected_height
    from truecost.report.plots.cells import held_cells as held_cells
    from truecost.report.plots.cells import machine_labels as machine_labels
    from truecost.report.plots.cells import machine_labels_height as machine_labels_height
    from truecost.report.plots.cells import parts_of as parts_of
    from truecost.report.plots.chosen import by_threshold_height as by_threshold_height
    from truecost.report.plots.chosen import ratios_by_threshold as ratios_by_threshold
    from truecost.report.plots.det_terms import det_of_terms as det_of_terms
    from truecost.report.plots.det_terms import det_of_terms_height as det_of_terms_height
    from truecost.report.plots.det_terms import with_false_alarms as with_false_alarms
    from truecost.report.plots.errors import breakdown_height as breakdown_height
    from truecost.report.plots.errors import error_breakdown as error_breakdown
    from truecost.report.plots.errors import matching as matching
    from truecost.report.plots.errors import matching_height as matching_height
    from truecost.report.plots.errors import shares_of as shares_of
    from truecost.report.plots.errors import with_ngrams as with_ngrams
    from truecost.report.plots.learning_curves import curves_with as curves_with
    from truecost.report.plots.learning_curves import learning_curves as learning_curves
    from truecost.report.plots.learning_curves import (
        learning_curves_height as learning_curves_height,
    )
    from truecost.report.plots.lifelong_sequence import lifelong_sequence as lifelong_sequence
    from truecost.report.plots.lifelong_sequence import (
        lifelong_sequence_height as lifelong_sequence_height,
    )
    from truecost.report.plots.limits import gates as gates
    from truecost.report.plots.limits import gates_height as gates_height
    from truecost.report.plots.load import parts_of_load as parts_of_load
    from truecost.report.plots.load import resources as resources
    from truecost.report.plots.load import resources_height as resources_height
    from truecost.report.plots.look import COLOURS as COLOURS
    from truecost.report.plots.look import INK as INK
    from truecost.report.plots.look import MARKERS as MARKERS
    from truecost.report.plots.look import STYLE as STYLE
    from truecost.report.plots.look import new_axes as new_axes
    from truecost.report.plots.look import save as save
    from truecost.report.plots.look import short as short
    from truecost.report.plots.look import style as style
    from truecost.report.plots.mapping import mapping_height as mapping_height
    from truecost.report.plots.mapping import probability_mapping as probability_mapping
    from truecost.report.plots.penalised import penalised_bars as penalised_bars
    from truecost.report.plots.penalised import penalised_bars_height as penalised_bars_height
    from truecost.report.plots.phases import curves_of as curves_of
    from truecost.report.plots.phases import phases as phases
    from truecost.report.plots.phases import phases_height as phases_height
    from truecost.report.plots.plane import names_of as names_of
    from truecost.report.plots.plane import trade_off as trade_off
    from truecost.report.plots.plane import trade_off_height as trade_off_height
    from truecost.report.plots.policies import policy_shares as policy_shares
    from truecost.report.plots.policies import policy_shares_height as policy_shares_height
    from truecost.report.plots.policies import policy_times as policy_times
    from truecost.report.plots.policies import policy_times_height as policy_times_height
    from truecost.report.plots.policy_forest import policy_scores as policy_scores
    from truecost.report.plots.policy_forest import policy_scores_height as policy_scores_height
    from truecost.report.plots.query_forest import query_forest as query_forest
    from truecost.report.plots.query_forest import query_forest_height as query_forest_height
    from truecost.report.plots.ratio_rows import ratios as ratios
    from truecost.report.plots.ratio_rows import ratios_height as ratios_height
    from truecost.report.plots.rows import differences as differences
    from truecost.report.plots.rows import differences_height as differences_height
    from truecost.report.plots.rows import forest as forest
    from truecost.report.plots.rows import forest_height as forest_height
    from truecost.report.plots.runs import having_runs as having_runs
    from truecost.report.plots.runs import runs as runs
    from truecost.report.plots.runs import runs_height as runs_height
    from truecost.report.plots.score_map import crossing_of as crossing_of
    from truecost.report.plots.score_map import score_map as score_map
    from truecost.report.plots.score_map import score_map_height as score_map_height
    from truecost.report.plots.score_matrix import figures_fit as figures_fit
    from truecost.report.plots.score_matrix import score_matrix as score_matrix
    from truecost.report.plots.score_matrix import score_matrix_height as score_matrix_height
    from truecost.report.plots.shares import having_shares as having_shares
    from truecost.report.plots.shares import variance_shares as variance_shares
    from truecost.report.plots.shares import variance_shares_height as variance_shares_height
    from truecost.report.plots.stacks import Stacks as Stacks
    from truecost.report.plots.stacks import stacks as stacks
    from truecost.report.plots.stacks import stacks_height as stacks_height
    from truecost.report.plots.streams_forest import streams_forest as streams_forest
    from truecost.report.plots.streams_forest import streams_height as streams_height
    from truecost.report.plots.streams_forest import streams_in_order as streams_in_order
    from truecost.report.plots.thresholds import cost_against_threshold as cost_against_threshold
    from truecost.report.plots.thresholds import threshold_height as threshold_height
    from truecost.report.plots.tradeoff import det as det
    from truecost.report.plots.tradeoff import det_height as det_height
    from truecost.report.plots.tradeoff import roc as roc
    from truecost.report.plots.twv import MARKED as MARKED
    from truecost.report.plots.twv import alike as alike
    from truecost.report.plots.twv import in_order_height as in_order_height
    from truecost.report.plots.twv import points_of as points_of
    from truecost.report.plots.twv import queries_in_order as queries_in_order
    from truecost.report.plots.twv import twv_by_threshold as twv_by_threshold
    from truecost.report.plots.twv import twv_height as twv_height
    from truecost.report.plots.units import beyond as beyond
    from truecost.report.plots.units import by_unit as by_unit
    from truecost.report.plots.units import by_unit_height as by_unit_height
    from truecost.report.plots.units import paired_units as paired_units
    from truecost.report.plots.units import paired_units_height as paired_units_height
    from truecost.report.plots.units import sides_of as sides_of
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".bars": ("Bar", "bars_height", "bars_of", "cost_bars"),
            ".board": ("leaderboard", "leaderboard_height"),
            ".budgets": ("budgets", "budgets_height"),
            ".by_version": ("policy_versions", "policy_versions_height"),
            ".calibration": ("decomposed", "reliability", "reliability_height"),
            ".cells": (
                "collected",
                "collected_height",
                "held_cells",
                "machine_labels",
                "machine_labels_height",
                "parts_of",
            ),
            ".chosen": ("by_threshold_height", "ratios_by_threshold"),
            ".det_terms": ("det_of_terms", "det_of_terms_height", "with_false_alarms"),
            ".errors": (
                "breakdown_height",
                "error_breakdown",
                "matching",
                "matching_height",
                "shares_of",
                "with_ngrams",
            ),
            ".learning_curves": ("curves_with", "learning_curves", "learning_curves_height"),
            ".lifelong_sequence": ("lifelong_sequence", "lifelong_sequence_height"),
            ".limits": ("gates", "gates_height"),
            ".load": ("parts_of_load", "resources", "resources_height"),
            ".look": ("COLOURS", "INK", "MARKERS", "STYLE", "new_axes", "save", "short", "style"),
            ".mapping": ("mapping_height", "probability_mapping"),
            ".penalised": ("penalised_bars", "penalised_bars_height"),
            ".phases": ("curves_of", "phases", "phases_height"),
            ".plane": ("names_of", "trade_off", "trade_off_height"),
            ".policies": (
                "policy_shares",
                "policy_shares_height",
                "policy_times",
                "policy_times_height",
            ),
            ".policy_forest": ("policy_scores", "policy_scores_height"),
            ".query_forest": ("query_forest", "query_forest_height"),
            ".ratio_rows": ("ratios", "ratios_height"),
            ".rows": ("differences", "differences_height", "forest", "forest_height"),
            ".runs": ("having_runs", "runs", "runs_height"),
            ".score_map": ("crossing_of", "score_map", "score_map_height"),
            ".score_matrix": ("figures_fit", "score_matrix", "score_matrix_height"),
            ".shares": ("having_shares", "variance_shares", "variance_shares_height"),
            ".stacks": ("Stacks", "stacks", "stacks_height"),
            ".streams_forest": ("streams_forest", "streams_height", "streams_in_order"),
            ".thresholds": ("cost_against_threshold", "threshold_height"),
            ".tradeoff": ("det", "det_height", "roc"),
            ".twv": (
                "MARKED",
                "alike",
                "in_order_height",
                "points_of",
                "queries_in_order",
                "twv_by_threshold",
                "twv_height",
            ),
            ".units": (
                "beyond",
                "by_unit",
                "by_unit_height",
                "paired_units",
                "paired_units_height",
                "sides_of",
            ),
        },
    )
