"""Both models on a labelled test set: their ratios at equal false-positive rate or recall.

A stands at its deployed threshold and B at each of a grid, so that both are held against each other
at an equal false-positive rate (rRecall where rFPR <= 1) or at equal recall (rFPR where rRecall >=
1), beside what AB/BA finds (paper 001, 3.2.2, Table 4). They hold for the trials of the set: one
that older models collected lacks what B alone accepts, and tells less of B than AB/BA does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.core.application import Application
from truecost.core.estimates import Context, Setting
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor
from truecost.core.flags import raised
from truecost.core.replication import by_block
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import InputError, UsageError, named
from truecost.formats import Table
from truecost.formats.table import filled
from truecost.tasks.abba.choosing import Choosing, Curve
from truecost.tasks.abba.counting import OTHER
from truecost.tasks.abba.describing import Plane
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.scoring import placed
from truecost.tasks.abba.thresholds import Choice
from truecost.tasks.abba.traffic import LABEL_WORDS, Rows

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
COLUMNS = ("score_a", "score_b", "label")
LABELS = ("0", "1")


@dataclass(frozen=True, eq=False)
class LabelledTrials:
    """Labelled trials with the scores of both models.

    Attributes
    ----------
    score_a, score_b : ndarray of float64, shape (N,)
    label : ndarray of int64, shape (N,)
        1 or 0; there are trials of both.
    units : tuple of (Factor, codes), optional
        Of the column `unit`.
    """

    score_a: Floats
    score_b: Floats
    label: npt.NDArray[np.int64]
    units: tuple[Factor, npt.NDArray[np.int32]] | None = None

    @staticmethod
    def of(table: Table) -> "LabelledTrials":
        """The trials of a table with columns `score_a`, `score_b`, `label` and, maybe, `unit`.

        Raises
        ------
        UsageError
            When a column is missing.
        InputError
            When a score is missing or infinite, a label is not 0 or 1, a unit is empty, or a label
            has no trial.
        """
        lacking = [name for name in COLUMNS if name not in table.columns]
        if lacking:
            raise UsageError(
                f"{table.source}: {named('column', lacking, 'are')} missing; a test set has "
                f"score_a, score_b, label and, where trials hang together, unit, by these names: "
                f"{table.listed}"
            )
        rows = Rows(table)
        label, texts, _ = rows.coded("label", "label", LABEL_WORDS)
        rows.refuse(np.isnan(label), ("label", "are", "not 0 or 1"), values=texts)
        for value in (0, 1):
            if not (label == value).any():
                raise InputError(f"{table.source}: no trial has label {value}: both are needed")
        units = None
        if "unit" in table.columns:
            units = Factor.of("unit", filled(table, "unit", "unit").to_numpy())
        a, b = (_scores(rows, name) for name in COLUMNS[:2])
        return LabelledTrials(a, b, label.astype(np.int64), units)

    def evidence(self, threshold_a: float, grid: Floats) -> Evidence:
        """Numbers of trials by label, by what A says and by how many thresholds B's score reaches.

        Parameters
        ----------
        grid : ndarray, shape (thresholds,)
            Ascending.

        Returns
        -------
        Evidence
            With the one part `trials`.
        """
        shape = (len(LABELS), len(OTHER), len(grid) + 1)
        reached = np.searchsorted(grid, self.score_b, side="right")
        cell = np.ravel_multi_index((self.label, self.score_a < threshold_a, reached), shape)
        if self.units is None:  # equal trials are units of one row
            cell, sizes = np.unique(cell, return_counts=True)
            factor = Factor("trial", np.arange(len(cell)), sizes=sizes.astype(np.int64))
            codes = np.arange(len(cell), dtype=np.int32)
        else:
            factor, codes = self.units
        names = ("label", "a", "grid")
        labels = (LABELS, OTHER, tuple(map(str, range(shape[2]))))
        places = np.unravel_index(cell, shape)
        axes = {n: (of, at) for n, of, at in zip(names, labels, places, strict=True)}
        one = np.ones(len(cell), np.int64)
        return Evidence({"trials": Tally.count([(factor, codes)], {"n": one}, axes)})


def _scores(rows: Rows, name: str) -> Floats:
    scores = rows.table.numbers(name, name)
    bad = ~np.isfinite(scores)
    rows.refuse(bad, (name, "are", "missing or infinite"), values=scores)
    return scores


def ratios(seen: Totals) -> tuple[Array, Array]:
    """Both ratios, rRecall and rFPR, of B at each threshold of the grid over A at its own.

    Parameters
    ----------
    seen : Totals
        Of the evidence of a test set.

    Returns
    -------
    rrecall, rfpr : ndarray of float64, shape (replicates, thresholds)
        NaN where A accepts no trial of the label.
    """
    counts = seen.sums("trials", "n")  # (replicates, label, a, reached)
    a = counts[:, :, 0].sum(axis=-1)
    b = counts.sum(axis=2)[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(a[..., None] > 0, b / a[..., None], np.nan)
    return found[:, 1], found[:, 0]


def compared(
    deployment: Deployment, choice: Choice, scoring: Scoring, about: Mapping[str, str]
) -> tuple[list[Estimate], Plane]:
    """The ratios of a test set, by the rules by which a threshold is chosen for a deployment.

    Parameters
    ----------
    deployment : Deployment
        Of which the threshold of A is taken.
    choice : Choice
        With a test set. Unless it gives thresholds, the grid has as many quantiles of the scores of
        B on the test set.
    scoring : Scoring
        Replicates, seed, level and jobs.
    about : mapping of str to str
        Dimensions of the rows.

    Returns
    -------
    rows : list of Estimate
        `rrecall` and `rfpr` by rule with the estimator `test_set`, chosen again in every replicate.

    Raises
    ------
    UsageError, InputError
        When A has no threshold, or as `LabelledTrials.of` says.
    """
    table, threshold = choice.test_set, deployment.threshold_a
    assert table is not None
    if threshold is None:
        raise UsageError(
            f"{deployment.name}: a test set needs the deployed threshold of A: --threshold-a"
        )
    trials = LabelledTrials.of(table)
    grid = _grid(trials, choice)
    evidence = trials.evidence(threshold, grid)
    plan = Plan(scoring.plan.replicates, scoring.plan.seed)
    dims = placed(about, "test_set")
    context = _context(trials, dims, f"test-set|threshold-a:{threshold:g}")
    setting = Setting(
        plan, scoring.level, "percentile", scoring.icc, context, Application(), evidence
    )
    curves = _curves(evidence, plan, scoring)
    made = Choosing(grid, choice.rules, choice.by, curves, setting)
    rows = [_explained(row, trials, threshold) for row in made.rows()]
    return rows, made.plane(None)


def _grid(trials: LabelledTrials, choice: Choice) -> Floats:
    """The thresholds given, or quantiles of B's scores."""
    if isinstance(choice.grid, tuple):
        return np.unique(np.array(choice.grid, np.float64))
    shares = np.arange(choice.grid) / choice.grid
    return np.unique(np.quantile(trials.score_b, shares, method="lower"))


def _curves(evidence: Evidence, plan: Plan, scoring: Scoring) -> dict[str, Curve]:
    """Both ratios over the grid, of the data and of each replicate."""
    [point] = by_block(evidence, Weights.ones(evidence.factors), ratios, 1)
    drawn = by_block(evidence, plan.weights(evidence.factors), ratios, scoring.jobs)
    rrecall, rfpr = (np.concatenate(blocks) for blocks in zip(*drawn, strict=True))
    return {
        "rrecall": Curve.plain(point[0][0], rrecall),
        "rfpr": Curve.plain(point[1][0], rfpr),
    }


def _context(trials: LabelledTrials, dims: dict[str, str], signature: str) -> Context:
    """What the rows of a test set say besides their values."""
    positives = int(trials.label.sum())
    return Context(
        dims,
        len(trials.label),
        counts={"positives": positives, "negatives": len(trials.label) - positives},
        signature=signature,
        flags=raised(trials_as_units=trials.units is None),
    )


def _explained(row: Estimate, trials: LabelledTrials, threshold: float) -> Estimate:
    """A row that is undefined since A accepts no trial of a label says so."""
    accepted = trials.label[trials.score_a >= threshold]
    lacking = [label for label in LABELS if not (accepted == int(label)).any()]
    if row.value is not None or not lacking:
        return row
    why = f"undefined: on the test set A accepts no trial of label {' or '.join(lacking)}"
    return structs.replace(row, reason=f"{why} at its deployed threshold {threshold:g}")
