"""Calibration of a study's last system, and what the calibrated scores cost beside the raw ones."""

from dataclasses import dataclass, replace
from typing import Any

from truecost.comparison import compare
from truecost.errors import UsageError
from truecost.study.advice import problems_of
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.reader import Reader
from truecost.study.running import configuration, read_systems
from truecost.study.settings import Progress, scoring_of
from truecost.tasks.calibrating import Calibrated, calibrate
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring
from truecost.tasks.trials import score


@dataclass(frozen=True)
class Fitting:
    """What is fitted, and to which trials (see `truecost.calibrate`).

    Parameters
    ----------
    method : {"affine", "temperature", "pav", "spline"}
    folds : int
        Folds of whole units, when the study has one system.
    fold : str, optional
        Column with the fold of each trial.
    in_sample : bool
        Fit on the trials that are scored.
    laplace : bool
        Laplace's rule (pav).
    ridge : float
        Ridge on the scale (affine).
    """

    method: str = "affine"
    folds: int = 5
    fold: str | None = None
    in_sample: bool = False
    laplace: bool = False
    ridge: float = 0.0


def run_calibration(
    study: Study, fitting: Fitting, progress: Progress | None = None
) -> tuple[Calibrated, Outcome]:
    """Calibrate the last system of a study, on the first or cross-fitted, and score it.

    Parameters
    ----------
    study : Study
        With one system, or two: where it is fitted, and where it is applied.
    fitting : Fitting
    progress : callable, optional
        As for `run`.

    Returns
    -------
    calibrated : Calibrated
    outcome : Outcome
        Rows of the raw scores, where their type has a cost, and of the calibrated ones; what the
        difference lies below 0 is the calibration loss.

    Raises
    ------
    UsageError
        When the study has more systems, or the choices contradict each other.
    InputError
        As `truecost.calibrate` does.
    """
    if len(study.systems) not in (1, 2):
        raise UsageError(
            f"calibrate takes one file (cross-fitted) or two (TRAIN and EVAL), not "
            f"{len(study.systems)}"
        )
    reader = Reader()
    *train, raw = read_systems(study, reader)
    if train and fitting.in_sample:
        raise UsageError("--in-sample fits on the trials that are scored: give one file")
    if fitting.fold is not None and (train or fitting.in_sample):
        raise UsageError("--fold is for cross-fitting: give one file, and no --in-sample")
    scoring = scoring_of(study, study.application, study.data, progress)
    found = calibrate(
        raw,
        fitting.method,
        train=train[0] if train else ("self" if fitting.in_sample else None),
        folds=fitting.folds,
        fold=fitting.fold,
        application=scoring.application,
        training_prior=scoring.training_prior,
        clip=scoring.clip,
        seed=study.interval.seed or 0,
        laplace=fitting.laplace,
        ridge=fitting.ridge,
    )
    part = _part(found, raw, scoring)
    faults = [Problem(kind="data", message=f"{t.name}: {p}") for t in train for p in t.problems]
    return found, Outcome(
        (part,),
        (*faults, *problems_of([part])),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(reader.readings),
        calibration=found.summary(),
    )


def _part(found: Calibrated, raw: Trials, scoring: Scoring) -> Part:
    """The calibrated system, and beside it the raw one where its type has a cost."""
    after = found.scoring(scoring)
    rows = score(found.trials, after)
    if raw.kind == "score":  # of which only the ranks are known: no cost before calibration
        return Part({}, (found.trials,), {found.trials.name: after}, tuple(rows))
    before = score(raw, scoring)
    pairs = [compare(a, b) for a, b in zip(rows, before, strict=True)]
    # What is wrong with the data is said of the raw system.
    systems = (raw, replace(found.trials, problems=found.problems))
    scorings: dict[str, Any] = {found.trials.name: after, raw.name: scoring}
    return Part({}, systems, scorings, (*before, *rows), tuple(pairs))
