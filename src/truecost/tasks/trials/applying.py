"""Calibrations of trials, and their application: to scores without labels, and across folds that
share no unit.

All that a fit takes from labels, the shares of the classes too, comes from its training trials.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.calibration import METHODS, Calibrator, Kind, TwoClasses
from truecost.core.application import Application, log_normalise
from truecost.core.factors import encode, encode_sides, sizes_of
from truecost.core.scoring import Scoring
from truecost.core.subsets import folds as deal
from truecost.errors import InputError, UsageError, counted, first_five, near, the_columns
from truecost.formats import Table
from truecost.formats.table import refuse_rows
from truecost.names import POSTERIORS, ScoreType
from truecost.study.columns import Options, scores_of
from truecost.tasks.trials.counting import llrs
from truecost.tasks.trials.labels import log_odds
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Array, Floats, Ints, Mask, Trials


@dataclass(frozen=True)
class Fitting:
    """A method of calibration with all that enters the fit.

    `method`: a key of `truecost.calibration.METHODS`. `detection`: whether likelihood ratios are
    wanted, rather than log-posteriors of classes. `training_prior`: priors of the classes that
    posteriors contain; the shares in the training trials when left out, which `of` fills in.
    `priors`: of the classes in the loss; filled in by `of`. `clip`: least probability that
    posteriors give a class. `options`: options of the method; those that are 0 or False change
    nothing, nor the signature.
    """

    method: str
    detection: bool
    training_prior: tuple[float, ...] | None = None
    priors: tuple[float, ...] = ()
    clip: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(
                f"method {self.method!r} is not known: choose one of {', '.join(METHODS)}"
            )
        for name, value in self.options.items():
            _check_option(self.method, name, value)

    @property
    def kind(self) -> Kind:
        """The method."""
        return METHODS[self.method]

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that change something, in the order of the method."""
        given = self.options
        return {name: given[name] for name in self.kind.options if given.get(name)}

    def with_priors(self, shares: Floats, application: Application) -> "Fitting":
        """With the priors that the training trials and the application give.

        `shares` (K,) are of the training trials and no others, each above 0. For detection the
        effective prior of the application counts, for classes its priors.
        """
        if len(shares) != 2 and self.kind.of_classes is None:
            others = [name for name, kind in METHODS.items() if kind.of_classes is not None]
            raise UsageError(
                f"method {self.method} needs two classes, the data have {len(shares)}: "
                f"name one with --target, or choose {' or '.join(others)}"
            )
        contained = tuple(shares.tolist()) if self.training_prior is None else self.training_prior
        if self.detection and application.plain_detection:
            p = application.with_priors(shares).effective_prior
            priors = (1 - p, p)
        else:
            application.matrix(len(shares))  # refuses costs for other classes
            priors = tuple(application.class_priors(shares[None])[0].tolist())
        return replace(self, priors=priors, training_prior=contained)

    def inputs(self, trials: Trials) -> Floats:
        """The scores to calibrate: likelihood ratios or scores (N,), or log-scores (N, K)."""
        if trials.detection:
            # The shares of these trials are of no effect beside a training prior: none are taken.
            shares = self.priors or None
            own = TrialsScoring(self.training_prior, clip=self.clip, whole_shares=shares)
            return llrs(trials, Scoring(choices=own))
        with np.errstate(divide="ignore"):
            logs = np.log(trials.scores) if trials.kind == "posterior" else trials.scores
        if self.clip is not None:
            logs = log_normalise(np.maximum(log_normalise(logs), np.log(self.clip)))
        return logs

    def fit(self, scores: Floats, labels: Ints, weights: Floats | None, where: str) -> Calibrator:
        """The calibrator of training data (`inputs`); `where` names them in messages."""
        try:
            if self.detection:
                return self._fit_scores(scores, labels, weights)
            if self.kind.of_classes is None:
                with np.errstate(invalid="ignore"):
                    odds = scores[:, 1] - scores[:, 0]
                return TwoClasses(self._fit_scores(odds, labels, weights), self.priors)
            own = {"priors": self.priors, "training": self.training_prior, **self.chosen}
            return self.kind.of_classes(scores, labels, weights=weights, **own)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def _fit_scores(self, scores: Floats, labels: Ints, weights: Floats | None) -> Calibrator:
        prior = {"prior": self.priors[1]} if self.kind.at_prior else {}
        return self.kind.of_scores(scores, labels, weights=weights, **prior, **self.chosen)

    def signature(
        self, trained: str, kind: str, given: tuple[float, ...] | None, empirical: str = ""
    ) -> str:
        """The words of the signature.

        `kind`: score type of the trials as they were; `given`: the training prior as the user gave
        it; `empirical` stands in place of the priors where each fit has those of its own training
        trials.
        """
        words = ["calibrated", self.method, trained]
        words += [n if v is True else f"{n}-{v:g}" for n, v in self.chosen.items()]
        if self.kind.at_prior:
            own = _numbers(self.priors[1:] if self.detection else self.priors)
            words.append(f"prior-{empirical or own}")
        said = [":".join(words)]
        if given is not None and kind not in ("llr", "score"):
            said.append(f"training-prior:{_numbers(given)}")
        if self.clip is not None:
            said.append(f"clip:{self.clip:g}")
        return "|".join(said)


def _numbers(values: tuple[float, ...]) -> str:
    return ",".join(f"{value:.6g}" for value in values)


def _check_option(method: str, name: str, value: Any) -> None:
    """Refuse an option that the method does not have, unless it is off: UsageError."""
    if name in METHODS[method].options:
        return
    takers = [other for other, kind in METHODS.items() if name in kind.options]
    if not takers:
        own = ", ".join(METHODS[method].options) or "none"
        raise UsageError(f"method {method} has no option {name!r}: its options are {own}")
    if value:
        raise UsageError(f"option {name} is for method {' and '.join(takers)}, not for {method}")


Fold = str | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of trials.

    `codes` (sides, N): fold of each trial on each side; folds of different factors have different
    numbers. `names` are for messages, `said` is for the signature.
    """

    codes: Ints
    names: tuple[str, ...]
    said: str
    problems: tuple[str, ...] = ()


def dealt_folds(trials: Trials, k: int, seed: int) -> Folds:
    """Whole units dealt to k folds, stratified by class; each trial a unit when none is named."""
    rows: list[Ints] = []
    for number, columns in enumerate(trials.units.values()):
        classes = np.tile(trials.labels, len(columns))
        codes = deal(np.concatenate(encode_sides(columns)[1]), k, seed, classes)
        rows += [part + number * k for part in np.split(codes, len(columns))]
    several = len(trials.units) > 1
    folds = [f"{j + 1} of {unit}" for unit in trials.units for j in range(k)] if several else []
    names = tuple(folds or map(str, range(1, k + 1)))
    rows = rows or [deal(trials.places, k, seed, trials.labels)]
    by = "-".join(trials.units) or "trial"
    return Folds(np.stack(rows), names, f"folds{k}:by-{by}:seed{seed}")


def given_folds(trials: Trials, fold: Fold) -> Folds:
    """Folds as the user gives them, with a note when they divide units.

    `fold` is a column of `trials.frame`, or a label for each trial.
    """
    column = fold if isinstance(fold, str) else "given"
    labels = _column(trials, fold) if isinstance(fold, str) else np.asarray(fold)
    if labels.shape != trials.labels.shape:
        raise InputError(
            f"{trials.name}: {counted(len(labels), 'fold')} for "
            f"{counted(len(trials.labels), 'trial')}: give one for each"
        )
    names, codes = encode(labels)
    if len(names) < 2:
        raise InputError(
            f"{trials.name}: all trials lie in the fold {names[0]}: at least 2 folds are needed"
        )
    problems = []
    for unit, columns in trials.units.items():
        of_sides = encode(np.concatenate(columns))
        pairs = np.unique(np.stack([of_sides[1], np.tile(codes, len(columns))], axis=1), axis=0)
        divided = of_sides[0][np.flatnonzero(np.bincount(pairs[:, 0]) > 1)]
        if len(divided):
            problems.append(
                f"{counted(len(divided), 'unit')} of {unit!r} "
                f"{'lies' if len(divided) == 1 else 'lie'} in more than one fold "
                f"({first_five(divided)}): the calibration was fitted on them, so the figures are "
                f"optimistic"
            )
    said = f"folds{len(names)}:column-{column}" if column != "given" else f"folds{len(names)}:given"
    own = tuple(str(name) for name in names)
    return Folds(codes.astype(np.int64)[None, :], own, said, tuple(problems))


def _column(trials: Trials, name: str) -> Array:
    if name not in trials.frame.columns:
        raise UsageError(
            f"{trials.place}: there is no column {name!r} for the folds"
            f"{near(name, trials.frame.columns)}; {the_columns(trials.frame.columns)}"
        )
    column = trials.frame[name].cast(pl.String)
    empty = int(column.is_null().sum())
    if empty:
        raise InputError(
            f"{trials.place}: {counted(empty, 'trial')} without a fold in column {name!r}"
        )
    return column.to_numpy()


def cross_fit(
    trials: Trials, folds: Folds, plain: Fitting, application: Application
) -> tuple[tuple[tuple[Fitting, Calibrator], ...], Ints, Floats]:
    """Calibrate each trial by what was fitted to the trials that share none of its folds.

    `plain` has no priors: each fit takes those that the application or the user does not give from
    its own training trials, so that no label of a fold has a say in its scores. There is a fit for
    each combination of folds that a trial has; `used` (N,) says which one calibrated a trial.
    Calibrated log-posteriors of classes are at the priors of their fit.
    """
    cells, used = np.unique(np.sort(folds.codes, axis=0), axis=1, return_inverse=True)
    used = used.ravel()
    out = np.empty_like(trials.scores, np.float64)
    fits = []
    for number, cell in enumerate(cells.T):
        apart = np.asarray(~np.isin(folds.codes, cell).any(axis=0))
        names = [folds.names[c] for c in dict.fromkeys(cell.tolist())]
        where = f"{trials.name}, without fold{'s' * (len(names) > 1)} {' and '.join(names)}"
        fitting = plain.with_priors(training_shares(trials, apart, where), application)
        scores = fitting.inputs(trials)
        weights = None if trials.weights is None else trials.weights[apart]
        found = fitting.fit(scores[apart], trials.labels[apart], weights, where)
        rows = used == number
        out[rows] = found(scores[rows])
        fits.append((fitting, found))
    return tuple(fits), used.astype(np.int64), out


def training_shares(trials: Trials, rows: Mask, where: str) -> Floats:
    """Share of each class in the training trials at these rows, weights included, shape (K,).

    InputError when a class does not occur there; `where` says where that is.
    """
    from truecost.kernels.exact import exact_sums

    labels, width = trials.labels[rows], len(trials.classes)
    counts = (
        sizes_of(labels, width)
        if trials.weights is None
        else exact_sums(labels, trials.weights[rows], width)
    )
    empty = [trials.classes[k] for k in np.flatnonzero(counts == 0)]
    if empty:
        raise InputError(
            f"{where}: no trials of {first_five(empty)} to train on; every class is needed: use "
            f"other folds, or train on other data"
        )
    return np.asarray(counts / counts.sum())


def has_truth(table: Table, options: Options) -> bool:
    """Whether a table has any column that the options take labels from."""
    columns = [options.column("label", table), options.columns.get("soft")]
    columns += options.columns.get("annotators", "").split("+")
    return any(column in table.columns for column in columns if column)


def bare_trials(
    scores: npt.ArrayLike | Table, options: Options | None, kind: ScoreType, like: Trials
) -> Trials:
    """Trials without labels, for what looks at scores alone.

    `kind` is the type that is wanted, `like` has the same classes. A score is NaN where it is
    missing and the options say "drop"; `labels` is empty.
    """
    table = scores if isinstance(scores, Table) else _table(np.asarray(scores))
    options = options or Options(kind)
    if options.kind != kind:
        raise UsageError(
            f"{table.source}: scores of type {options.kind}: a calibration is for scores of the "
            f"type that it was trained on, {kind}"
        )
    if options.missing == "worst":
        raise UsageError(
            f"{table.source}: --missing worst needs labels, there are none: use --missing drop or "
            f"error"
        )
    found, columns = scores_of(table, options)
    if like.detection:
        if found.ndim == 2 and options.target is None:
            raise UsageError(f"{table.source}: one score a class: name the target with --target")
        if kind in POSTERIORS:
            found = log_odds(found, columns, options)
    else:
        _refuse_other_classes(table, found, options.classes or columns, like)
    if options.missing == "error":
        refuse_rows(table, ~present(found), ("score", "are", "missing or NaN"), None)
    none = np.empty(0, np.int64)
    return Trials(table.source, kind, found, none, like.classes, like.detection)


def _table(scores: npt.NDArray[np.generic]) -> Table:
    """Scores as the only column of a table."""
    if scores.ndim not in (1, 2):
        raise InputError(
            f"scores have the shape {scores.shape}: give one entry for each trial, shape (N,) or "
            f"(N, K)"
        )
    if scores.ndim == 1:
        return Table("scores", pl.DataFrame({"score": scores}), ordered=True)
    rows = pl.DataFrame({"row": np.arange(len(scores))})
    return Table("scores", rows, {"score": scores}, ordered=True)


def _refuse_other_classes(
    table: Table, scores: Floats, names: tuple[str, ...] | None, like: Trials
) -> None:
    """Refuse scores of other classes than those trained on, or in another order: InputError."""
    expected = f"the calibration was trained on the classes {first_five(like.classes)}"
    if scores.ndim == 1 or scores.shape[1] != len(like.classes):
        count = 1 if scores.ndim == 1 else scores.shape[1]
        raise InputError(f"{table.source}: {count} scores a trial, but {expected}: one for each")
    if names is not None and names != like.classes:
        raise InputError(
            f"{table.source}: the score columns are for the classes {first_five(names)}, but "
            f"{expected}: name them in this order with --classes"
        )


def present(scores: Floats) -> Mask:
    """Whether each trial has a score, shape (N,), from scores (N,) or (N, K)."""
    return np.asarray(~np.isnan(scores.reshape(len(scores), -1)).any(axis=1))


def calibrated_table(frame: pl.DataFrame, calibrated: Floats, like: Trials) -> Table:
    """Columns as they were read, with calibrated scores.

    A column `score`, or one for each class, named by the class; a column that had the name before
    becomes `raw_NAME`. `like` is a calibrated system of the same classes.
    """
    names = ("score",) if like.detection else like.classes
    scores = calibrated.reshape(len(calibrated), -1)
    taken = set(frame.columns)
    for name in names:
        raw = f"raw_{name}"
        while name in frame.columns and raw in taken:
            raw = f"raw_{raw}"
        frame = frame.rename({name: raw}, strict=False)
        taken.add(raw)
    new = [pl.Series(name, scores[:, k]) for k, name in enumerate(names)]
    return Table(like.name, frame.with_columns(new), kind=like.kind)


def problems_of_scores(name: str, scores: Floats) -> list[str]:
    """A note on likelihood ratios and posteriors without end; InputError on what is no number."""
    if not present(scores).all():
        undefined = int((~present(scores)).sum())
        raise InputError(
            f"{name}: {counted(undefined, 'calibrated score', 'are')} undefined (because of "
            "posteriors of 0?): use --clip"
        )
    endless = int(np.isinf(scores.reshape(len(scores), -1)).any(axis=1).sum())
    if not endless:
        return []
    return [
        f"{counted(endless, 'trial', 'get')} an infinite likelihood ratio: with method "
        f"pav, --laplace (Laplace's rule) keeps likelihood ratios finite"
    ]
