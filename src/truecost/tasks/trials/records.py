"""Trial records: checked trials of one system, from a file (`loading.load`) or from arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import Labels, sizes_of
from truecost.core.unit_index import digest_of
from truecost.errors import InputError, UsageError, counted, first_five, refuse_forked
from truecost.formats import Table
from truecost.names import Annotators, ScoreType
from truecost.study.columns import Options
from truecost.task import Rows, named_labels
from truecost.tasks.trials import MAP_KEYS
from truecost.tasks.trials.labels import Annotation

if TYPE_CHECKING:
    from truecost.tasks.trials.audio import Audio
    from truecost.tasks.trials.further import Spoofing
    from truecost.tasks.trials.machine import Machine

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

SIMILAR = {"units": "unit", "weights": "weight", "targets": "labels", "strata": "stratum"}


@dataclass(frozen=True, eq=False, repr=False)
class Trials(Rows):
    """Trials of one system, with their scores and labels.

    Attributes
    ----------
    name : str
        Name of the system.
    kind : str
        Type of the scores (see `Options`).
    scores : ndarray of float64, shape (N,) or (N, K)
        Scores. For decisions: the index of the decided class, or the number of classes if the
        system abstains. For detection from posteriors: the log posterior odds of the target.
    labels : ndarray, shape (N,)
        Index of the true class, or the true number.
    classes : tuple of str
        Class names: (nontarget, target) for detection; empty for the types `number` and `values`.
    detection : bool
        Whether the task is detection; class 1 is then the target.
    units : mapping of str to tuple of ndarray
        For each unit column, an array with the unit of each trial, or two arrays if each trial has
        two units (two speakers). Empty: each trial is its own unit.
    ids : ndarray, shape (N,), optional
        Trial ids as text, or row numbers.
    strata, weights : ndarray, shape (N,), optional
        Stratum of the unit of each trial (units are drawn within each stratum); weight of each
        trial.
    frame : polars.DataFrame
        Columns of the trials, for subsets.
    signature : str
        Settings with which the trials were loaded, separated by `|`.
    problems : tuple of str
        Warnings about the data.
    origin : ndarray of int, shape (N,), optional
        Index of the trial of each row, from 0, if soft labels or votes make several rows of one
        trial.
    annotation : Annotation, optional
        Labels of several annotators. If a trial can have several right labels (`several_right`),
        `labels` contains the most frequent label of each trial; of equally frequent labels, the one
        that is first in `classes`.
    ascending : bool
        Whether the rows are in ascending order of score.
    machine : Machine, optional
        Labels by a machine for all trials, in addition to human labels for some of them.
    spoofing : Spoofing, optional
        Spoofed trials, and the decisions of the speaker verification system on them.
    made : dict
        Cache of derived data, such as the ranking of the trials by score.
    source : str
        Names of the files of the trials and of their labels. For arrays: the name of the system.
    took : mapping of str to float
        Resources that the decisions used, if recorded: `cpu`, `gpu` and `waiting` in hours,
        `memory` in GB-hours.
    audio : Audio, optional
        Hours of audio of the trials.
    rows : ndarray of int, shape (N,), optional
        For a subset: positions of its rows in the trials that it was taken from.
    """

    name: str
    kind: ScoreType
    scores: Floats
    labels: Array
    classes: tuple[str, ...]
    detection: bool
    units: Mapping[str, tuple[Labels, ...]] = field(default_factory=dict)
    ids: Array | None = None
    strata: Labels | None = None
    weights: Floats | None = None
    frame: pl.DataFrame = field(default_factory=pl.DataFrame)
    signature: str = ""
    problems: tuple[str, ...] = ()
    origin: Ints | None = None
    annotation: Annotation | None = None
    source: str = ""
    took: Mapping[str, float] = field(default_factory=dict)
    audio: "Audio | None" = None
    rows: Ints | None = None
    ascending: bool = False
    machine: "Machine | None" = None
    spoofing: "Spoofing | None" = None
    made: dict[Any, Any] = field(default_factory=dict, init=False)
    about: ClassVar[Mapping[str, str]] = {}
    item: ClassVar[str] = "trial"
    task: ClassVar[str] = "trials"

    def __len__(self) -> int:
        """Number of trials; one with a soft label counts once though it has several rows."""
        return len(self.scores) if self.origin is None else len(np.unique(self.origin))

    @cached_property
    def class_sizes(self) -> Floats:
        """Total weight of the trials of each class, shape (K,)."""
        from truecost.kernels.exact import exact_sums

        if self.weights is None:
            return sizes_of(self.labels, len(self.classes)).astype(np.float64)
        return exact_sums(self.labels, self.weights, len(self.classes))

    @property
    def place(self) -> str:
        """File of the trials, or the name of the system if there is no file, for messages."""
        return self.source or self.name

    @property
    def places(self) -> Array:
        """Id of the trial of each row, or the number of the trial if there are no ids."""
        places = np.arange(len(self.labels)) if self.origin is None else self.origin
        return places if self.ids is None else self.ids

    @property
    def summary(self) -> str:
        """Number of trials, type of the scores and classes, in words."""
        classes = ", ".join(self.classes) or "none"
        read = ", read in parts" if self.ascending else ""
        return f"{counted(len(self), 'trial')}{read}, type {self.kind}, classes {classes}"

    @property
    def several_right(self) -> bool:
        """Whether a trial can have several right labels, so that it has no single class."""
        return self.annotation is not None and self.annotation.rule == "any"

    @staticmethod
    def from_arrays(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        kind: ScoreType,
        name: str = "system",
        unit: npt.ArrayLike | None = None,
        unit2: npt.ArrayLike | None = None,
        stratum: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        target: str | None = None,
        annotators: Annotators | None = None,
        accept: float | None = None,
        **columns: npt.ArrayLike,
    ) -> "Trials":
        """Make trials from arrays, with the same checks as for files.

        Parameters
        ----------
        scores : array_like, shape (N,) or (N, K)
            Score of each trial, higher for targets; for K classes a column for each class.
        labels : array_like, shape (N,) or (N, A)
            Labels. Detection: 1 or "target", 0 or "nontarget". Several classes: class names, or
            indices of score columns. Numbers: true numbers. With `annotators`: a column for each of
            the A annotators (None, "" or NaN without an answer), or texts with labels separated by
            `|`.
        kind : {"llr", "posterior", "log-posterior", "log-score", "score", "decision", "number"}
            Type of the scores (see `Options`).
        name : str
            Name of the system.
        unit, unit2 : array_like, shape (N,), optional
            Unit of each trial, and a unit of a second kind, such as the recording device.
        stratum, ids, weight : array_like, shape (N,), optional
            Stratum of the unit, or for moving blocks the stream of the unit (see `Plan`); id and
            weight of each trial.
        target : str, optional
            Label of the class to detect; necessary if the labels do not determine it.
        annotators : {"votes", "any"}, optional
            Rule for the right labels of a trial with several annotators (see `Options`).
        accept : float, optional
            For "any": smallest share of the annotators that makes a label right. Default: one
            annotator suffices.
        **columns : array_like, shape (N,)
            Further columns, for subsets.

        Raises
        ------
        InputError
            If lengths differ, or scores, labels, units, ids or weights are invalid.
        UsageError
            If the score type does not exist or does not fit the arrays, or a further column has
            (almost) the name of an argument, which is probably a typing error.

        Examples
        --------
        >>> import truecost as tc
        >>> labels = ["target", "nontarget", "target"]
        >>> trials = tc.Trials.from_arrays([2.0, -1.0, 0.5], labels, kind="llr")
        >>> len(trials), trials.classes, trials.labels.tolist()
        (3, ('nontarget', 'target'), [1, 0, 1])
        """
        from truecost.study.arguments import further_columns

        refuse_forked()
        given = {"unit": unit, "unit2": unit2, "stratum": stratum, "id": ids, "weight": weight}
        given |= columns
        said, matrix = np.asarray(labels), np.asarray(scores)
        _check_shapes(name, {"scores": matrix, "labels": said}, 2)
        _check_shapes(name, {k: np.asarray(v) for k, v in given.items() if v is not None}, 1)
        people = [f"annotator {a}" for a in range(said.shape[1])] if said.ndim == 2 else []
        flat = dict(zip(people, said.T, strict=True)) if people else {"label": said}
        if near := {k: SIMILAR[k] for k in columns if k in SIMILAR}:
            meant = ", ".join(f"{k} (did you mean {v}?)" for k, v in near.items())
            raise UsageError(
                f"{name}: there is no argument {meant}; give a further column another name"
            )
        if taken := [k for k in columns if k in (*flat, "label", "score", "id", "unit", "weight")]:
            raise UsageError(
                f"{name}: a further column cannot be named {first_five(taken)}, as arguments have "
                f"these "
                f"names: use another name"
            )
        further_columns(columns, Trials.from_arrays, "trial", MAP_KEYS)
        flat |= {k: np.asarray(v) for k, v in given.items() if v is not None}
        if matrix.ndim == 1:
            flat["score"] = matrix
        sizes = {k: len(v) for k, v in flat.items()} | {"score": len(matrix)}
        if len(set(sizes.values())) != 1:
            raise InputError(
                f"{name}: the arrays have different lengths ({sizes}): each trial needs one entry "
                "in each array"
            )
        table = Table(
            name,
            pl.DataFrame({k: pl.Series(v) for k, v in flat.items()}),
            {"score": matrix} if matrix.ndim == 2 else {},
            ordered=True,
        )
        mapped = {k: k for k in ("unit2", "stratum", "weight") if given[k] is not None}
        if people or annotators is not None:
            mapped["annotators"] = "+".join(people or ["label"])
        options = Options(kind, mapped, target=target, annotators=annotators, accept=accept)
        from truecost.tasks.trials.loading import load

        return load(table, options, name)

    def take(self, rows: Array) -> "Trials":
        """Trials of some rows.

        Parameters
        ----------
        rows : ndarray of int or bool
            Indices of the rows, or a mask of shape (N,).
        """

        def part(array: Any) -> Any:
            return None if array is None else array[rows]

        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        found = replace(
            self,
            scores=self.scores[rows],
            labels=self.labels[rows],
            units={k: tuple(s[rows] for s in v) for k, v in self.units.items()},
            ids=part(self.ids),
            strata=part(self.strata),
            weights=part(self.weights),
            origin=part(self.origin),
            audio=None if self.audio is None else self.audio.take(rows),
            rows=places,
            annotation=None if self.annotation is None else self.annotation.take(rows),
            machine=None if self.machine is None else self.machine.take(rows),
            spoofing=None if self.spoofing is None else self.spoofing.take(rows),
            frame=self.frame[places] if self.frame.width else self.frame,
        )
        return found if rows.dtype != bool else found._as_part_of(self, rows)

    def _as_part_of(self, whole: "Trials", mask: Mask) -> "Trials":
        """The subset, with the counts from when it was taken before, and a reference to the whole;
        counts of data that are read in parts are too large to keep.
        """
        WHOLES[self] = ref(whole)
        if not whole.ascending:
            kept = whole.made.setdefault(("part", digest_of(mask)), {})
            object.__setattr__(self, "made", kept)
        return self

    @property
    def in_order(self) -> bool:
        """Whether the rows are in ascending order of score, and the trials have no weights."""
        return self.ascending and self.weights is None

    @property
    def taken_from(self) -> "Trials | None":
        """Trials that this subset was taken from, if they are still in memory; else None."""
        return WHOLES[self]() if self in WHOLES else None

    def subset(self, expression: str) -> "list[tuple[str, Trials]]":
        """Trials of each value of a column, or of a condition such as `snr < 10`.

        Parameters
        ----------
        expression : str
            Name of a column, or an SQL condition on columns.

        Returns
        -------
        list of (str, Trials)
            Name and trials of each subset, such as "noise=babble", in order of the values; for a
            condition one pair with the condition as its name.

        Raises
        ------
        UsageError
            If the expression is neither a column nor a condition, or the column has more than 50
            values.
        InputError
            If a condition is true for no trial.
        """
        return [(name, self.take(mask)) for name, mask in self.masks(expression)]

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Ids and labels, as a frame without a defined order of rows."""
        columns = {"id": self._ids, "label": named_labels(self.labels, self.classes)}
        if self.annotation is not None or self.origin is not None:  # a trial has several labels
            weights = np.ones(len(self.labels)) if self.weights is None else self.weights
            columns["weight"] = pl.Series(weights)
        return (pl.DataFrame(columns),)

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Ids and scores, as a frame without a defined order of rows."""
        scores = self.scores.reshape(len(self.scores), -1).T
        return (pl.DataFrame({"id": self._ids, **{f"{k}": s for k, s in enumerate(scores)}}),)

    @property
    def _ids(self) -> pl.Series:
        """Ids as text; places where there are none."""
        ids = np.arange(len(self.labels)) if self.ids is None else self.ids
        return pl.Series("id", ids).cast(pl.String)


# Of each subset the trials that a mask took it from: no attribute, so that what is made of a subset
# with other scores, or pickled, is a whole by itself.
WHOLES: "WeakKeyDictionary[Trials, ref[Trials]]" = WeakKeyDictionary()


def _check_shapes(name: str, arrays: Mapping[str, Array], most: int) -> None:
    """Refuse single values and arrays of more dimensions than they may have."""
    for what, array in arrays.items():
        if not 1 <= array.ndim <= most:
            has = f"the shape {array.shape}" if array.ndim else f"a single value, {array.item()!r}"
            form = "(N,) or (N, K)" if most == 2 else "(N,)"
            raise InputError(
                f"{name}: {what} has {has}: give one entry for each trial, shape {form}"
            )
