"""Calibration of a study's last system, and what the calibrated scores cost beside the raw
ones; losses split into discrimination and calibration (`decompose`).

Sources: Brümmer and du Preez (2006); Rodriguez-Fuentes & Penagarikano 2013, Eq. 44-45.

A system without labels is calibrated by a fit to the first and not scored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from truecost.calibration import OF_METHODS, CalibrationTable
from truecost.core.comparison import compare
from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, checked, counted
from truecost.formats import Table
from truecost.running import score
from truecost.study.columns import Options
from truecost.study.config import Study
from truecost.study.joining import join_metadata
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.running import check_study, outcome_of, problems_of
from truecost.study.settings import Progress, Reader, Source, scoring_of, sources_of
from truecost.tasks.trials.applying import has_truth, problems_of_scores
from truecost.tasks.trials.calibrating import Calibrated, calibrate, fitted_by, scoring_after
from truecost.tasks.trials.records import Trials
from truecost.tasks.trials.work import Fitted, options_of, parts_read, read


@dataclass(frozen=True)
class Decomposition:
    """Measures before and after calibration: actual = minimum + calibration loss.

    Attributes
    ----------
    actual : tuple of Estimate
        Measures of the scores.
    minimum : tuple of Estimate
        Measures of the scores after calibration on the trials themselves.
    losses : tuple of Comparison
        Comparison of actual with minimum; its difference is the calibration loss.
    calibrated : Calibrated
        Calibrated trials and calibrator.
    """

    actual: tuple[Estimate, ...]
    minimum: tuple[Estimate, ...]
    losses: tuple[Comparison, ...]
    calibrated: Calibrated


def decompose(
    trials: Trials, scoring: Scoring | None = None, method: str = "affine", **options: Any
) -> Decomposition:
    """Decompose measures into minimum and calibration loss.

    The calibration is fitted once, to all trials, and is the same in all replicates. (The measures
    `min_cllr` and `cllr_loss` fit it again in each replicate.)

    Parameters
    ----------
    trials : Trials
        Trials of the type `llr`, `posterior`, `log-posterior` or `log-score`.
    scoring : Scoring, optional
        Measures, application and intervals.
    method : str
        Method of the calibration: "pav" for the best monotone map (two classes), "affine" for the
        best affine map (two or more classes; Rodriguez-Fuentes & Penagarikano 2013, Eq. 44-45).
    **options
        Options of `calibrate`.

    Returns
    -------
    Decomposition
        Actual and minimum measures, and the losses.

    Raises
    ------
    UsageError
        If the scores are of type "score", or `calibrate` or `score_system` raises this error.
    InputError
        If `calibrate` or `score_system` raises this error.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(1000) % 2
    >>> trials = tc.Trials.from_arrays(3 * rng.normal(labels), labels, kind="llr")
    >>> found = tc.decompose(trials, tc.Scoring(measures=("cllr",), plan=tc.Plan(200)), "pav")
    >>> [loss] = found.losses
    >>> print(found.actual[0].value > 1, loss.difference.lower > 0)
    True True
    """
    checked(
        "trials",
        trials,
        Trials,
        "Trials (truecost.trials.load or truecost.Trials.from_arrays makes them)",
    )
    if trials.kind == "score":
        raise UsageError(
            f"{trials.name}: type score has no actual cost to decompose; name the type of the "
            f"scores, such as llr, or calibrate them"
        )
    from truecost.tasks.trials.work import WORK

    chosen = scoring or Scoring()
    calibrated = calibrate(trials, method, train="self", **(fitted_by(chosen) | options))
    actual = WORK.score(trials, chosen)
    minimum = WORK.score(calibrated.trials, scoring_after(chosen))
    losses = tuple(compare(a, b) for a, b in zip(actual, minimum, strict=True))
    return Decomposition(tuple(actual), tuple(minimum), losses, calibrated)


def run_calibration(
    study: Study,
    fitting: CalibrationTable,
    progress: Progress | None = None,
    *,
    tabled: bool = True,
) -> tuple[Table | None, Outcome]:
    """Calibrate the last system of a study, on the first or cross-fitted, and score it.

    The study has one system, or two: where it is fitted, and where it is applied. The table has the
    columns as they were read, with the calibrated scores; the outcome the rows of the raw scores,
    where their type has a cost, and of the calibrated ones: what the difference lies below 0 is the
    calibration loss. The gates of the study are checked. Of a system without labels there is what
    was fitted, and no parts. There is no table unless it is asked for.
    """
    if len(study.systems) not in (1, 2):
        raise UsageError(
            f"calibrate needs one file (cross-fitted) or two (TRAIN and EVAL), and there are "
            f"{len(study.systems)}"
        )
    if study.task not in (None, "trials"):
        raise UsageError(
            f"calibrate is for scores of trials; the task of the study is {study.task}"
        )
    if study.applications or study.collections or study.given("methods"):
        raise UsageError(
            "calibrate is for one application and one collection: leave out [applications.NAME], "
            "[collections.NAME] and [methods]"
        )
    reader = Reader()
    check_study(study)
    sources = sources_of(study)
    one_fit = len(sources) > 1 or fitting.in_sample
    if len(sources) > 1 and fitting.in_sample:
        raise UsageError("--in-sample fits on the trials that are scored: give one file")
    if fitting.fold is not None and one_fit:
        raise UsageError("--fold is for cross-fitting: give one file, and no --in-sample")
    if fitting.folds is not None and (one_fit or fitting.fold):
        raise UsageError(
            "--folds is for cross-fitting with random folds: give one file, and no --in-sample "
            "or --fold"
        )
    if paths := parts_read(sources[-1], reader, study):
        _refuse_in_parts(sources[-1], paths, fitting, tabled=tabled)
    train = [read(source, reader, study) for source in sources[:-1]]
    if train and not paths and (bare := _without_labels(sources[-1], reader)) is not None:
        return _unscored(study, fitting, train[0], sources[-1], bare, reader)
    raw = read(sources[-1], reader, study)
    scoring = scoring_of(study, study.application, sources[-1].data, progress)
    found = calibrate(
        raw,
        fitting.settled("method"),
        train=train[0] if train else ("self" if fitting.in_sample else None),
        folds=fitting.settled("folds"),
        fold=fitting.fold,
        seed=study.interval.seed or 0,
        **_fitted_by(scoring, fitting),
    )
    part = _part(found, raw, scoring)
    problems = (*_faults(train), *problems_of([part]))
    described = (Fitted(summary=found.summary()),)
    table = found.table() if tabled else None
    return table, outcome_of(study, reader, (part,), problems, described=described)


def calibrated_systems(
    systems: Sequence[Trials],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    study: Study,
    reader: Reader,
) -> tuple[tuple[Trials, ...], dict[str, Scoring], tuple[Fitted, ...]]:
    """The systems of a part after the calibration of a study, their scoring, and what was fitted:
    to the dev data of each, or cross-fitted by unit.
    """
    table = study.table(CalibrationTable)
    files = _train_files(table, systems)
    sources = {source.name: source for source in sources_of(study, dims.get("collection", ""))}
    made, after, fits = [], {}, []
    for system in systems:
        train: Trials | Literal["self"] | None = "self" if table.in_sample else None
        if (file := files.get(system.name)) is not None:
            source = sources[system.name]
            given = {"key": table.train_key, "metadata": table.train_metadata}
            own = {k: v for k, v in given.items() if v} | {"hours": None, "background": None}
            data = msgspec.structs.replace(source.data, **own)
            train = read(replace(source, file=file, data=data), reader, study)
            train = replace(train, name=Path(file).stem)
        fitted = calibrate(
            system,
            table.settled("method"),
            train=train,
            folds=table.settled("folds"),
            fold=table.fold,
            seed=study.interval.seed or 0,
            **_fitted_by(scoring[system.name], table),
        )
        made.append(replace(fitted.trials, name=system.name, problems=fitted.problems))
        after[system.name] = scoring_after(scoring[system.name])
        fits.append(Fitted(summary={"system": system.name, **dims, **fitted.summary()}))
    return tuple(made), after, tuple(fits)


def _train_files(table: CalibrationTable, systems: Sequence[Trials]) -> Mapping[str, str]:
    """The dev data of each system; UsageError where one has none, or there is one for several."""
    names = [system.name for system in systems]
    if isinstance(table.train, str):
        if len(names) > 1:
            raise UsageError(
                f"[calibration] train is one file for {counted(len(names), 'system')}, whose "
                f"scores differ: write train = {{ {names[0]} = FILE, ... }}"
            )
        files: Mapping[str, str] = {names[0]: table.train}
    else:
        files = table.train or {}
    if unlike := {*files} ^ {*names} if files else set():
        raise UsageError(
            f"[calibration] train names {', '.join(files)}; the systems are {', '.join(names)}: "
            f"give one file for each ({', '.join(sorted(unlike))})"
        )
    if files and (clash := [k for k in ("folds", "fold", "in_sample") if k in table.given()]):
        raise UsageError(
            f"[calibration] {clash[0]} cannot be used with train: leave one of them out"
        )
    return files


def _refuse_in_parts(
    source: Source, paths: Sequence[str], fitting: CalibrationTable, *, tabled: bool
) -> None:
    """Refuse what a calibration cannot do with files that are read in parts: UsageError."""
    from truecost.engines.partitions import partitions_of
    from truecost.tasks.trials.large import refuse_parts

    first = partitions_of(paths, source.data.input_format)[0].table()
    why = {
        "--output FILE (give each file by itself after TRAIN)": tabled,
        "--fold COLUMN (folds are dealt by unit)": fitting.fold is not None,
        "a file without labels (give each by itself after TRAIN)": not has_truth(
            first, options_of(source.data, first)
        ),
    }
    refuse_parts(source, why)


def _fitted_by(scoring: Scoring, fitting: CalibrationTable) -> dict[str, Any]:
    """The settings of a fit: those of the scoring, and the options of the method."""
    given = fitting.given()
    return fitted_by(scoring) | {key: given[key] for key in OF_METHODS if key in given}


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
    """Faults of the training trials."""
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
    fitting: CalibrationTable,
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
    entering = _fitted_by(scoring, fitting)
    found = calibrate(train, fitting.settled("method"), train="self", **entering)
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
    described = (Fitted(summary=applied.summary()),)
    problems = (*_faults([train]), *faults)
    return calibrated, outcome_of(study, reader, (), problems, described=described)
