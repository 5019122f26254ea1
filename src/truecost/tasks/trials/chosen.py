"""Subsets at the threshold of the whole: what a system does there depends on no subset.

In every replicate the threshold is that which all trials choose, and the rates are those of the
trials of the subset. The evidence has both rankings, `whole` and `ranking`, over the units of all
trials.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from truecost.core.evidence import Evidence
from truecost.core.flags import raised
from truecost.core.intervals.auto import FEW_UNITS
from truecost.core.intervals.smooth import ONE_UNIT
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.tasks.trials import counting
from truecost.tasks.trials.audio import audio_tally
from truecost.tasks.trials.measures.thresholds import WHOLE, chosen_threshold
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.parts import among_whole
from truecost.tasks.trials.records import Floats, Trials

if TYPE_CHECKING:
    from truecost.core.estimates import Context

KINDS = ("misses", "false_alarms")


def chosen_evidence(trials: Trials, scoring: Scoring, measures: Sequence[Measure]) -> Evidence:
    """The ranking of a subset, that of the whole, and the hours of the whole where a measure counts
    by them; of the subset alone where that chooses.
    """
    whole = scoring.chosen(TrialsScoring).whole
    if whole is None or trials.rows is None:
        return counting.evidence_of(trials, scoring, measures)
    sides = counting.sides_of(whole, scoring)
    ranking, key = counting.ranking_of(whole, scoring, sides), counting.ranking_key(whole, scoring)
    own = among_whole(trials, key, lambda: counting.llrs(trials, scoring), sides, trials.rows)
    parts = {"ranking": own, WHOLE: ranking}
    if any("audio" in measure.parts for measure in measures):
        return Evidence({**parts, "audio": audio_tally(whole, scoring, sides)})
    return Evidence({**parts})


def chosen_batch(
    trials: Trials,
    scoring: Scoring,
    measures: Sequence[Measure],
    evidence: Evidence,
    context: "Context",
) -> Batch:
    """Measures of a subset that choose a threshold; each row has the origin of its threshold, and
    the subset's values there.
    """
    whole = (WHOLE,) if WHOLE in evidence.parts else ()
    by = "whole" if whole else "subset"
    seen = counting.point_of(evidence)
    thresholds = [chosen_threshold(seen, measure) for measure in measures]
    scores = counting.llrs(trials, scoring)
    counts = [_counts(trials, scores, at) for at in thresholds]
    units = {factor.name: factor.count for factor, _ in counting.sides_of(trials, scoring)}
    return Batch(
        evidence=evidence,
        measures=[replace(m, parts=(*m.parts, *whole)) for m in measures],
        context=replace(context, signature=f"{context.signature}|threshold-of:{by}"),
        finish=partial(_finished, thresholds, counts, units),
    )


def _counts(trials: Trials, scores: Floats, threshold: float) -> dict[str, float]:
    """Misses and false alarms of the trials of a subset at a threshold."""
    own = np.ones(len(scores)) if trials.weights is None else trials.weights
    accepted = (scores >= threshold) & np.isfinite(threshold)
    missed = fsum(own[~accepted & (trials.labels == 1)])
    false = fsum(own[accepted & (trials.labels == 0)])
    return {k: int(n) if n.is_integer() else n for k, n in zip(KINDS, (missed, false), strict=True)}


def _finished(
    thresholds: Sequence[float],
    counts: Sequence[Mapping[str, float]],
    units: Mapping[str, int],
    rows: list[Estimate],
) -> list[Estimate]:
    """Rows with the threshold and what the subset has there; their units are those of the subset,
    whatever those of the whole, among which replicates draw.
    """
    return [
        _with_units(
            msgspec.structs.replace(
                row,
                threshold=at if np.isfinite(at) else None,
                counts={**row.counts, **own},
            ),
            units,
        )
        for row, at, own in zip(rows, thresholds, counts, strict=True)
    ]


def _with_units(row: Estimate, units: Mapping[str, int]) -> Estimate:
    held = {name: units[name] for name in row.factors}
    fewest = min(held.values(), default=0)
    few = raised(few_units=row.method != "auto" and 0 < fewest < FEW_UNITS)
    row = msgspec.structs.replace(
        row,
        n_units=fewest,
        units_by_factor=held if len(held) > 1 else {},
        flags=tuple(dict.fromkeys((*row.flags, *few))),
    )
    if not held or max(held.values()) > 1:
        return row
    return msgspec.structs.replace(row, lower=None, upper=None, reason=ONE_UNIT)
