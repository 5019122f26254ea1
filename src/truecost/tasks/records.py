"""Trial records: what a row of a table means, checked before anything is counted.

`load` joins a table of scores with an optional key by id, reads the mapped columns, and refuses
what cannot be scored: missing, extra or repeated ids, scores that are not finite, labels outside
the set. Nothing is guessed; `missing` says what to do with trials that have no score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.names import POSTERIORS, Annotators, ScoreType
from truecost.tasks import columns as read
from truecost.tasks.annotators import Annotation, annotation_of, answers_of
from truecost.tasks.columns import Options
from truecost.tasks.joining import join, join_metadata
from truecost.tasks.labels import (
    decisions_of,
    labels_of,
    log_odds,
    other_labels,
    soft_labels,
    truth_of,
)
from truecost.tasks.subsets import Masks, masks_of, typed

Floats = npt.NDArray[np.float64]
SIMILAR = {"units": "unit", "weights": "weight", "targets": "labels"}


@dataclass(frozen=True, eq=False)
class Trials:
    """Checked trials of one system.

    Attributes
    ----------
    name : str
        Name of the system.
    kind : str
        Score type, a key of `SCORE_TYPES`.
    scores : ndarray of float64, shape (N,) or (N, K)
        For decisions the index of the decided class (K = abstain); for detection from
        posteriors of any kind the log posterior odds of the target.
    labels : ndarray, shape (N,)
        Index of the true class, or the true number.
    classes : tuple of str
        Class names; (nontarget, target) for detection, empty for numbers.
    detection : bool
        Whether class 1 is to be detected.
    units : mapping of str to tuple of ndarray
        For each factor the unit labels of each side; each trial its own unit when empty.
    ids : ndarray, shape (N,), optional
        Trial ids as text, or row numbers.
    strata, weights : ndarray, shape (N,), optional
        Stratum of the unit of each trial, and its weight.
    frame : polars.DataFrame
        The other columns, for subsets.
    signature : str
        Choices that entered while loading.
    problems : tuple of str
        What a reader should know.
    origin : ndarray of int, shape (N,), optional
        The trial that each row stands for, when soft labels or votes make several rows of one.
    annotation : Annotation, optional
        What several annotators said of the trials. When any label that they gave is right
        (`several_right`), `labels` is the one of most votes, the first of those that tie.
    """

    name: str
    kind: ScoreType
    scores: Floats
    labels: npt.NDArray[Any]
    classes: tuple[str, ...]
    detection: bool
    units: Mapping[str, tuple[npt.NDArray[Any], ...]] = field(default_factory=dict)
    ids: npt.NDArray[Any] | None = None
    strata: npt.NDArray[Any] | None = None
    weights: Floats | None = None
    frame: pl.DataFrame = field(default_factory=pl.DataFrame)
    signature: str = ""
    problems: tuple[str, ...] = ()
    origin: npt.NDArray[np.int64] | None = None
    annotation: Annotation | None = None

    def __len__(self) -> int:
        """Number of trials; one with a soft label counts once though it has several rows."""
        return len(self.scores) if self.origin is None else len(np.unique(self.origin))

    @property
    def several_right(self) -> bool:
        """Whether several labels of a trial may be right, so that it has no one class."""
        return self.annotation is not None and self.annotation.rule == "any"

    @staticmethod
    def of(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        kind: ScoreType,
        name: str = "system",
        unit: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        target: str | None = None,
        annotators: Annotators | None = None,
        accept: float | None = None,
        **columns: npt.ArrayLike,
    ) -> "Trials":
        """Trials from arrays, with the same checks as files.

        Parameters
        ----------
        scores : array_like, shape (N,) or (N, K)
            Higher means target; one column a class for several classes.
        labels : array_like, shape (N,) or (N, A)
            1 or "target" and 0 or "nontarget" for detection; class names, or the place of the class
            among the score columns; true numbers. With `annotators` one column an annotator, with
            None, "" or NaN where one did not answer, or texts with labels separated by `|`.
        kind : {"llr", "posterior", "log-posterior", "log-score", "score", "decision", "number"}
            What the scores are (see `Options`).
        name : str
            Name of the system.
        unit, ids, weight : array_like, shape (N,), optional
            What is resampled together, trial ids, trial weights.
        target : str, optional
            Label of the class to detect, where it is not clear.
        annotators : {"votes", "any"}, optional
            What counts as right when there are several annotators (see `Options`).
        accept : float, optional
            Least share of the annotators that makes a label right.
        **columns : array_like, shape (N,)
            Further columns, for subsets.

        Returns
        -------
        Trials

        Raises
        ------
        InputError
            When lengths differ, or scores, labels, units, ids or weights cannot be used.
        UsageError
            When the score type is not known or does not go with the arrays.

        Examples
        --------
        >>> import truecost as tc
        >>> trials = tc.Trials.of([2.0, -1.0, 0.5], ["target", "nontarget", "target"], kind="llr")
        >>> len(trials), trials.classes, trials.labels.tolist()
        (3, ('nontarget', 'target'), [1, 0, 1])
        """
        given = {"unit": unit, "id": ids, "weight": weight, **columns}
        said, matrix = np.asarray(labels), np.asarray(scores)
        _check_shapes(name, {"scores": matrix, "labels": said}, 2)
        _check_shapes(name, {k: np.asarray(v) for k, v in given.items() if v is not None}, 1)
        people = [f"annotator {a}" for a in range(said.shape[1])] if said.ndim == 2 else []
        flat = dict(zip(people, said.T, strict=True)) if people else {"label": said}
        if near := {k: SIMILAR[k] for k in columns if k in SIMILAR}:
            meant = ", ".join(f"{k} (did you mean {v}?)" for k, v in near.items())
            raise UsageError(
                f"{name}: there is no argument {meant}; call a further column otherwise"
            )
        if taken := [k for k in columns if k in (*flat, "label", "score", "id", "unit", "weight")]:
            raise UsageError(
                f"{name}: a further column cannot be named {first_five(taken)}: this is the name "
                f"of what the arguments give; call it otherwise"
            )
        flat |= {k: np.asarray(v) for k, v in given.items() if v is not None}
        if matrix.ndim == 1:
            flat["score"] = matrix
        sizes = {k: len(v) for k, v in flat.items()} | {"score": len(matrix)}
        if len(set(sizes.values())) != 1:
            raise InputError(
                f"{name}: the arrays have different lengths ({sizes}); each needs one entry a trial"
            )
        table = Table(
            name,
            pl.DataFrame({k: pl.Series(v) for k, v in flat.items()}),
            {"score": matrix} if matrix.ndim == 2 else {},
            ordered=True,
        )
        mapped = {"weight": "weight"} if weight is not None else {}
        if people or annotators is not None:
            mapped["annotators"] = "+".join(people or ["label"])
        options = Options(kind, mapped, target=target, annotators=annotators, accept=accept)
        return load(table, options, name)

    def take(self, rows: npt.NDArray[Any]) -> "Trials":
        """The trials at these rows.

        Parameters
        ----------
        rows : ndarray of int or bool
            Indices, or a mask of shape (N,).

        Returns
        -------
        Trials
        """

        def part(array: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
            return None if array is None else array[rows]

        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(
            self,
            scores=self.scores[rows],
            labels=self.labels[rows],
            units={k: tuple(s[rows] for s in v) for k, v in self.units.items()},
            ids=part(self.ids),
            strata=part(self.strata),
            weights=part(self.weights),
            origin=part(self.origin),
            annotation=None if self.annotation is None else self.annotation.take(rows),
            frame=self.frame[places] if self.frame.width else self.frame,
        )

    def empty_cells(self, column: str) -> int:
        """How many trials have nothing in a column (0 when it is no column)."""
        if column not in self.frame.columns:
            return 0
        return typed(self.frame.select(column))[column].null_count()

    def subset(self, expression: str) -> "list[tuple[str, Trials]]":
        """The trials of each level of a column, or of a condition such as `snr < 10`.

        Parameters
        ----------
        expression : str
            Name of a column, or an SQL condition on columns.

        Returns
        -------
        list of (str, Trials)
            Names such as "noise=babble", in order of the levels; the condition itself.

        Raises
        ------
        UsageError
            When it is neither, or a column with very many levels.
        InputError
            When a condition holds for no trial.
        """
        return [(name, self.take(mask)) for name, mask in self.masks(expression)]

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Name and rows of each subset; as `subset`, for trials that others are aligned with."""
        return masks_of(self.frame, subset, self.name)


def _check_shapes(name: str, arrays: Mapping[str, npt.NDArray[Any]], most: int) -> None:
    """Refuse single values and arrays of more dimensions than they may have."""
    for what, array in arrays.items():
        if not 1 <= array.ndim <= most:
            has = f"the shape {array.shape}" if array.ndim else f"a single value, {array.item()!r}"
            form = "(N,) or (N, K)" if most == 2 else "(N,)"
            raise InputError(f"{name}: {what} has {has}: one entry a trial is needed, shape {form}")


def load(
    table: Table,
    options: Options,
    name: str,
    key: Table | None = None,
    metadata: Sequence[tuple[str, Table]] = (),
) -> Trials:
    """Trials of one system from its table and, where given, a key joined by id.

    Parameters
    ----------
    table : Table
        Scores, as `truecost.read` gives them; labels and units too when there is no key.
    options : Options
        What the columns mean.
    name : str
        Name of the system.
    key : Table, optional
        Labels, units and other columns.
    metadata : sequence of (str, Table)
        Further columns, each table with the column of the trials whose values are its ids.

    Returns
    -------
    Trials
        In the order of the key, or of the table without one. A soft label makes two rows of a
        trial: target with weight p, nontarget with weight 1 - p. Votes of annotators make one for
        each class that has any, with its share of them as weight.

    Raises
    ------
    InputError
        When ids do not match or repeat, or scores, labels, units or weights cannot be used; names
        the file and the first five lines or ids.
    UsageError
        When columns are not found, or the options do not go together or with the table.
    """
    if len(table) == 0:
        raise InputError(f"{table.source}: there are no trials")
    if key is not None:
        table = join(table, key, options)
    for column, further in metadata:
        table = join_metadata(table, further, column, options.column("id", table) or "id")
    truth, column = truth_of(table, options)
    scores, classes = read.scores_of(table, options)
    ids = read.trial_ids(table, options)
    labels: npt.NDArray[Any]
    names: tuple[str, ...]
    annotation = None
    if truth == "soft":
        labels, names, detection = soft_labels(table, options, column)
    elif truth == "annotators":
        annotation, names, detection = annotation_of(table, options, scores, classes, ids)
        labels = annotation.majority
    elif options.kind == "number":
        labels, names, detection = table.numbers(column, "label"), (), False
        wrong = ("true number", "are", "missing or not finite")
        read.refuse_rows(table, ~np.isfinite(labels), wrong, ids)
    else:
        labels, names, detection = labels_of(table, options, column, scores, classes)
    if options.kind == "decision":
        scores = decisions_of(table, options, names)
    if detection and options.kind in POSTERIORS:
        scores = log_odds(scores, classes, options)
    trials = Trials(
        name,
        options.kind,
        scores,
        labels,
        names,
        detection,
        read.unit_columns(table, options),
        ids,
        read.optional_texts(table, options, "stratum"),
        read.weights_of(table, options, ids),
        table.frame,
        _signature(options),
        annotation=annotation,
    )
    if options.target is not None and truth != "soft":
        said = table.texts(column, "label") if annotation is None else answers_of(table, column)[1]
        trials = replace(trials, problems=other_labels(said, options))
    trials = _missing(trials, table, options)
    if truth == "soft":
        p = np.asarray(trials.labels, np.float64)
        return _by_share(trials, np.stack([1 - p, p], axis=1))
    if trials.annotation is not None and trials.annotation.rule == "votes":
        return _by_share(trials, trials.annotation.shares)
    return trials


def _by_share(trials: Trials, shares: Floats) -> Trials:
    """A trial counted once for each class that has a share of it, with the share as weight."""
    own = np.ones(len(trials)) if trials.weights is None else trials.weights
    # Class by class, the last first: all targets before all nontargets.
    places, rows = np.nonzero(shares.T[::-1])
    codes = shares.shape[1] - 1 - places
    kept = own[rows] * shares[rows, codes]
    return replace(trials.take(rows), labels=codes, weights=kept, origin=rows).take(kept > 0)


def _missing(trials: Trials, table: Table, options: Options) -> Trials:
    """What to do with trials that have no score."""
    absent = np.isnan(trials.scores if trials.scores.ndim == 1 else trials.scores.sum(axis=1))
    if not absent.any():
        return trials
    rows = np.flatnonzero(absent)
    if options.missing == "error":
        names = [
            str(trials.ids[r]) if trials.ids is not None else table.where(int(r)) for r in rows[:6]
        ]
        raise InputError(
            f"{table.source}: {counted(len(rows), 'score', 'are')} missing or NaN: "
            f"{first_five(names)}; score them, or say --missing drop|worst"
        )
    said = f"{len(rows)} of {counted(len(trials), 'trial')} had no score"
    if options.missing == "drop":
        kept = trials.take(~absent)
        if len(kept) == 0:
            raise InputError(f"{table.source}: no trial has a score")
        return replace(kept, problems=(*trials.problems, f"{said}: left out (--missing drop)"))
    if trials.scores.ndim == 2 or not trials.detection:
        raise UsageError(
            "--missing worst needs one score a trial and a target class; "
            "use --missing drop or error"
        )
    scores = trials.scores.copy()
    target = np.asarray(trials.labels, np.float64) > 0.5
    scores[absent & target] = np.nanmin(scores)
    scores[absent & ~target] = np.nanmax(scores)
    return replace(
        trials,
        scores=scores,
        problems=(
            *trials.problems,
            f"{said}: given the worst score of the system (--missing worst)",
        ),
    )


def _signature(options: Options) -> str:
    said = [f"type:{options.kind}"]
    if options.llr_base is not None:
        said.append(f"llr-base:{options.llr_base:g}")
    if options.target is not None:
        said.append(f"target:{options.target}")
    if options.missing != "error":
        said.append(f"missing:{options.missing}")
    if "soft" in options.columns:
        said.append("labels:soft")
    if options.annotators == "votes":
        said.append("labels:votes")
    if options.annotators == "any":
        share = "" if options.accept is None else f":accept{options.accept:g}"
        said.append(f"annotators:any{share}")
    if "weight" in options.columns and ("soft" in options.columns or options.annotators == "votes"):
        said.append("weighted")  # beside the shares, which are weights of rows
    return "|".join(said)
