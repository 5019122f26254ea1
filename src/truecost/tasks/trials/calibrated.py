"""Calibration of a study's last system, and what the calibrated scores cost beside the raw ones.

A system without labels is calibrated by a fit to the first and not scored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from truecost.calibration.options import OF_METHODS, CalibrationTable
from truecost.core.comparison import compare
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, counted
from truecost.formats import Table
from truecost.running import score
from truecost.study.advice import problems_of
from truecost.study.columns import Options
from truecost.study.config import Study
from truecost.study.joining import join_metadata
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.reader import Reader
from truecost.study.running import check_study, configuration
from truecost.study.settings import Progress, Source, scoring_of, sources_of
from truecost.study.tables import MethodsTable
from truecost.tasks.trials.applying import has_truth, problems_of_scores
from truecost.tasks.trials.calibrating import Calibrated, calibrate, scoring_after
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.read import options_of, read
from truecost.tasks.trials.records import Trials
from truecost.tasks.trials.work import Fitted


@dataclass(frozen=True)
class Fitting:
    """What is fitted, and to which trials (see `truecost.calibrate`).

    Parameters
    ----------
    method : str
        A key of `truecost.calibration.METHODS`.
    folds : int, optional
        Folds of whole units, when the study has one system; 5 when left out.
    fold : str, optional
        Column with the fold of each trial.
    in_sample : bool
        Fit on the trials that are scored.
    options : mapping of str to number
        Of the method.
    """

    method: str = "affine"
    folds: int | None = None
    fold: str | None = None
    in_sample: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def fitting_of(table: CalibrationTable) -> Fitting:
    """What the options of a calibration say."""
    given = table.given()
    named = {key: given[key] for key in ("method", "folds", "fold", "in_sample") if key in given}
    return Fitting(**named, options={key: given[key] for key in OF_METHODS if key in given})


def run_calibration(
    study: Study, fitting: Fitting, progress: Progress | None = None
) -> tuple[Table, Outcome]:
    """Calibrate the last system of a study, on the first or cross-fitted, and score it.

    Where the last of two systems has no labels (no such column and no key) it is only calibrated.

    Parameters
    ----------
    study : Study
        With one system, or two: where it is fitted, and where it is applied.
    progress : callable, optional
        As for `run`.

    Returns
    -------
    calibrated : Table
        The columns as they were read, with the calibrated scores.
    outcome : Outcome
        Rows of the raw scores, where their type has a cost, and of the calibrated ones; what the
        difference lies below 0 is the calibration loss. The gates of the study are checked. Of a
        system without labels what was fitted, and no parts.

    Raises
    ------
    UsageError
        When the study has more systems, the choices contradict each other, or there are gates and
        no labels.
    InputError
        As `truecost.calibrate` does.
    """
    if len(study.systems) not in (1, 2):
        raise UsageError(
            f"calibrate takes one file (cross-fitted) or two (TRAIN and EVAL), not "
            f"{len(study.systems)}"
        )
    if study.task not in (None, "trials"):
        raise UsageError(f"calibrate takes scores of trials; the task of the study is {study.task}")
    if study.applications or study.collections or study.table(MethodsTable).given():
        raise UsageError(
            "calibrate is for one application and one collection: leave out [applications.NAME], "
            "[collections.NAME] and [methods]"
        )
    reader = Reader()
    check_study(study)
    sources = sources_of(study)
    if len(sources) > 1 and fitting.in_sample:
        raise UsageError("--in-sample fits on the trials that are scored: give one file")
    if fitting.fold is not None and (len(sources) > 1 or fitting.in_sample):
        raise UsageError("--fold is for cross-fitting: give one file, and no --in-sample")
    if fitting.folds is not None and (len(sources) > 1 or fitting.in_sample or fitting.fold):
        raise UsageError(
            "--folds is for cross-fitting with dealt folds: give one file, and no --in-sample or "
            "--fold"
        )
    train = [read(source, reader, study) for source in sources[:-1]]
    if train and (bare := _without_labels(sources[-1], reader)) is not None:
        return _unscored(study, fitting, train[0], sources[-1], bare, reader)
    raw = read(sources[-1], reader, study)
    scoring = scoring_of(study, study.application, sources[-1].data, progress)
    found = calibrate(
        raw,
        fitting.method,
        train=train[0] if train else ("self" if fitting.in_sample else None),
        folds=5 if fitting.folds is None else fitting.folds,
        fold=fitting.fold,
        application=scoring.application,
        training_prior=scoring.chosen(TrialsScoring).training_prior,
        clip=scoring.chosen(TrialsScoring).clip,
        seed=study.interval.seed or 0,
        **fitting.options,
    )
    part = _part(found, raw, scoring)
    return found.table(), Outcome(
        (part,),
        (*_faults(train), *problems_of([part])),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(reader.readings),
        described=(Fitted(summary=found.summary()),),
    ).judged(study.gate)


def _part(found: Calibrated, raw: Trials, scoring: Scoring) -> Part:
    """The calibrated system, and beside it the raw one where its type has a cost."""
    after = scoring_after(scoring)
    rows = score(found.trials, after)
    if raw.kind == "score":  # of which only the ranks are known: no cost before calibration
        return Part({}, (found.trials,), {found.trials.name: after}, tuple(rows))
    before = score(raw, scoring)
    pairs = [compare(a, b) for a, b in zip(rows, before, strict=True)]
    # What is wrong with the data is said of the raw system.
    systems = (raw, replace(found.trials, problems=found.problems))
    scorings: dict[str, Any] = {found.trials.name: after, raw.name: scoring}
    return Part({}, systems, scorings, (*before, *rows), tuple(pairs))


def _faults(systems: Sequence[Trials]) -> list[Problem]:
    """What the data of training trials suffer from."""
    return [Problem(kind="data", message=f"{t.name}: {p}") for t in systems for p in t.problems]


def _without_labels(source: Source, reader: Reader) -> tuple[Table, Options] | None:
    """A system that has no labels, metadata joined, and how to read it; None where it has some."""
    if source.data.key is not None:
        return None
    table = reader.table(source.file, source.data.input_format)
    options = options_of(source.data, table)
    reader.note(source.file, source.name, source.collection)
    for column, further in reader.joined(source.data, source.collection)[1]:
        table = join_metadata(table, further, column)
    return None if has_truth(table, options) else (table, options)


def _unscored(
    study: Study,
    fitting: Fitting,
    train: Trials,
    source: Source,
    bare: tuple[Table, Options],
    reader: Reader,
) -> tuple[Table, Outcome]:
    """The calibrated scores of a system without labels, and what was fitted to the other."""
    table, options = bare
    if study.gate:
        raise UsageError(
            f"{source.name} has no labels, so that no gate can be checked: give its labels "
            f"(--map label=COLUMN, or a --key), or leave out [[gate]]"
        )
    scoring = scoring_of(study, study.application, source.data)
    found = calibrate(
        train,
        fitting.method,
        train="self",
        application=scoring.application,
        training_prior=scoring.chosen(TrialsScoring).training_prior,
        clip=scoring.chosen(TrialsScoring).clip,
        **fitting.options,
    )
    calibrated = found.applied(table, options)
    count, names = len(calibrated), ("score",) if train.detection else train.classes
    scores = np.stack([calibrated.numbers(name, "score") for name in names], axis=1)
    own = [*found.calibrators[0].problems, *problems_of_scores(source.name, scores)]
    if count < len(table):
        n = f"{len(table) - count} of {counted(len(table), 'trial')}"
        own.append(f"{n} had no score: left out (--missing drop)")
    named = options.columns.get("label")
    own.append("no labels" + (f" (column {named!r})" if named else "") + ": nothing scored")
    # The same fit, as it was applied to these trials.
    applied = replace(found, trained=f"train-{train.name}", used=np.zeros(count, np.int64))
    faults = [Problem(kind="data", message=f"{source.name}: {text}") for text in own]
    return calibrated, Outcome(
        (),
        (*_faults([train]), *faults),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(reader.readings),
        described=(Fitted(summary=applied.summary()),),
    )
