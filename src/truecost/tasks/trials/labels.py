"""True classes, decisions and posterior odds from mapped columns, which score types fit, and which
labels of several annotators count as right.

Ferrer et al. 2024, 3.7, asks whether a user takes a decision for a mistake if some annotators,
perhaps not most of them, gave that label. The answer is the user's, so it is never guessed:

- "any": every label that enough annotators gave is right. A trial then has a set of right labels
  and no one class; a decision costs the least that any of them makes it cost.
- "votes": each label counts with its share of the annotators, as a soft label. A trial then has
  one class in each of its rows, so that every measure can be computed.

Conventions: votes are counts, trials x classes; class 1 is the target of a detection task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.application import Application
from truecost.errors import InputError, TruecostError, UsageError, counted, first_five, named, near
from truecost.formats import Table
from truecost.formats.compound import matrix_of, without_prefix
from truecost.formats.table import mapped_column, refuse_rows, refuse_values
from truecost.names import SCORE_TYPES, Annotators
from truecost.study.columns import Options, name_scores, refuse_empty

Floats = npt.NDArray[np.float64]
BINARY = ("nontarget", "target")  # the classes of a detection task
TARGETS, NONTARGETS = "target, 1, true, bonafide", "nontarget, non-target, 0, false, spoof"
TARGET_WORDS = dict.fromkeys(TARGETS.split(", "), 1) | dict.fromkeys(NONTARGETS.split(", "), 0)


def truth_of(table: Table, options: Options) -> tuple[str, str]:
    """The key that gives the truth, one of label, soft and annotators, and its column."""
    found = {"label": options.column("label", table)}
    if {"annotators", "soft"} & {*options.columns} and "label" not in options.columns:
        found = {}  # both replace a column that was not asked for
    found |= {key: options.columns.get(key) for key in ("soft", "annotators")}
    given = [(key, column) for key, column in found.items() if column is not None]
    if len(given) == 1:
        return given[0]
    keys = [key for key, _ in given]
    if keys:
        raise UsageError(f"{table.source}: {' and '.join(keys)} are both named: name one")
    array = "labels=ARRAY, " if table.in_memory else ""
    raise UsageError(
        f"{table.source}: {table.headless}no column gives the labels; {table.listed}: name it "
        f"with --map label=COLUMN, {array}or give a --key FILE"
    )


def labels_of(
    table: Table, options: Options, column: str, scores: Floats, columns: tuple[str, ...] | None
) -> tuple[npt.NDArray[np.int64], tuple[str, ...], bool]:
    """Class index of each trial, class names, and whether this is detection.

    `column` holds the labels; `columns` are the class names that the score columns give.
    """
    texts = table.texts(column, "label")
    refuse_empty(table, texts, "label")
    kind = table.frame[column].dtype
    if columns is None and scores.ndim == 2 and isinstance(kind, pl.Enum):  # ClassLabel, say
        columns = tuple(kind.categories)
    return classes_of(table, options, texts, np.arange(len(texts)), scores, columns)


def classes_of(
    table: Table,
    options: Options,
    texts: pl.Series,
    places: npt.NDArray[np.int64],
    scores: Floats,
    columns: tuple[str, ...] | None,
) -> tuple[npt.NDArray[np.int64], tuple[str, ...], bool]:
    """Class index of each label, class names, and whether this is detection.

    No label is empty; a trial may have any number of them. `places` (L,): the row of the table in
    which each stands; `columns`: class names that the score columns give.
    """
    present = sorted(texts.unique().to_list())
    if options.target is not None:
        if options.target not in present:
            raise InputError(
                f"{table.source}: no trial has the label {options.target!r}"
                f"{near(options.target, present)}; the labels are {first_five(map(repr, present))}"
            )
        return _code(texts, {t: int(t == options.target) for t in present}), BINARY, True
    binary = {t: TARGET_WORDS[t.lower()] for t in present if t.lower() in TARGET_WORDS}
    if (
        options.kind in ("llr", "score")
        or (scores.ndim == 1 and options.kind != "decision")
        or (options.kind == "decision" and options.classes is None and len(binary) == len(present))
    ):
        if outside := [t for t in present if t not in binary]:
            first = int(texts.is_in(outside).arg_true()[0])
            refuse_labels(table, outside, table.where(int(places[first])))
        return _code(texts, binary), BINARY, True
    names = (
        options.classes
        or columns
        or (tuple(str(k) for k in range(scores.shape[1])) if scores.ndim == 2 else tuple(present))
    )
    if scores.ndim == 2 and len(names) != scores.shape[1]:
        raise UsageError(
            f"{table.source}: {counted(len(names), 'class')} named, but "
            f"{counted(scores.shape[1], 'score')} a trial"
        )
    names = without_prefix(names, present) if columns and options.classes is None else names
    outside = [t for t in present if t not in names]
    if outside:
        rows = texts.is_in(outside).arg_true()
        where = first_five(f"{texts[r]!r} at {table.where(int(places[r]))}" for r in rows.head(6))
        raise InputError(
            f"{table.source}: {counted(len(rows), 'label', 'are')} none of the classes "
            f"{first_five(map(repr, names))}: {where}; name the classes in the order of the "
            f"scores with --classes"
        )
    return _code(texts, {n: k for k, n in enumerate(names)}), names, False


def refuse_labels(table: Table, outside: Sequence[str], first: str = "") -> NoReturn:
    """Refuse labels that are neither target nor nontarget; `first`: place of one: InputError."""
    at = f" (the first at {first})" if first else ""
    raise InputError(
        f"{table.source}: {named('label', [*map(repr, outside)])}{at} "
        f"{'is' if len(outside) == 1 else 'are'} neither target ({TARGETS}) nor nontarget "
        f"({NONTARGETS}): name the label of the targets with --target LABEL"
    )


def _code(texts: pl.Series, codes: Mapping[str, int]) -> npt.NDArray[np.int64]:
    return texts.replace_strict(list(codes), list(codes.values()), return_dtype=pl.Int64).to_numpy()


def decisions_of(table: Table, options: Options, classes: Sequence[str]) -> Floats:
    """Index of the decided class, shape (N,); `abstain` is one more, NaN is missing. InputError
    when a decision is none of the classes.
    """
    texts = table.texts(options.column("score", table) or "", "score")
    codes = {name: k for k, name in enumerate(classes)} | {"abstain": len(classes)}
    if classes == BINARY:
        codes |= {"reject": 0, "accept": 1, "no": 0, "yes": 1, **TARGET_WORDS}
        if options.target is not None:
            codes = {t: int(t == options.target) for t in texts.drop_nulls().unique()}
            codes["abstain"] = 2
    known = all(t in codes for t in texts.drop_nulls().unique())
    lower = texts if known else texts.str.to_lowercase()
    unknown = lower.is_not_null() & ~lower.is_in(list(codes))
    fault = f"none of {first_five(codes)}"
    numbers = texts.filter(unknown).cast(pl.Float64, strict=False).null_count() == 0
    advice = "; name the decision for the target with --target, or the classes with --classes"
    advice = "; if these numbers are scores, use --type llr|posterior|score" if numbers else advice
    refuse_values(table, unknown, "decision", fault, lambda r: repr(texts[r]), advice, verb="are")
    values = [float(value) for value in codes.values()]
    coded = lower.replace_strict(list(codes), values, default=None, return_dtype=pl.Float64)
    return coded.fill_null(float("nan")).to_numpy()


def log_odds(scores: Floats, classes: tuple[str, ...] | None, options: Options) -> Floats:
    """Log posterior odds of the target against the rest, in nats: ln p / (1 - p), shape (N,); from
    posteriors or their logarithms, one column or one a class.
    """
    if scores.ndim == 1:
        with np.errstate(divide="ignore"):
            if options.kind == "posterior":
                return np.asarray(np.log(scores) - np.log1p(-scores))
            logs = np.minimum(scores, 0.0)  # rounding may leave them a little above
            return np.asarray(logs - np.log(-np.expm1(logs)))
    names = options.classes or classes or tuple(str(k) for k in range(scores.shape[1]))
    if options.target not in names:
        raise UsageError(f"--target {options.target}: choose one of {first_five(names)}")
    with np.errstate(divide="ignore"):
        logs = np.log(scores) if options.kind == "posterior" else scores
    k = names.index(str(options.target))
    others = np.delete(logs, k, axis=1)
    return np.asarray(logs[:, k] - np.logaddexp.reduce(others, axis=1))


def soft_labels(
    table: Table, options: Options, column: str
) -> tuple[Floats, tuple[str, ...], bool]:
    """Probabilities of being a target, shape (N,), in place of labels; class names; detection."""
    if options.kind not in ("llr", "score", "posterior", "log-posterior", "decision"):
        raise UsageError(f"soft labels need two classes, and are not for type {options.kind}")
    labels = table.numbers(column, "soft")
    outside = ~((labels >= 0) & (labels <= 1))
    refuse_rows(table, outside, ("soft label", "lie", "outside 0 to 1"), None, labels)
    return labels, BINARY, True


def merged_labels(sizes: Mapping[str, int], target: str) -> tuple[str, ...]:
    """The labels that count as nontarget, when they are several; `sizes`: trials of each label."""
    ordered = sorted(sizes.items(), key=lambda one: (-one[1], one[0]))
    others = [f"{name} ({n})" for name, n in ordered if name != target]
    return (f"counted as nontarget: {first_five(others)}",) if len(others) > 1 else ()


TOLERANCE = 1e-3  # of the sum of posteriors


def refuse_untyped(table: Table, columns: Mapping[str, str]) -> NoReturn:
    """Refuse scores whose type is not stated: with the plausible types, all of them where there are
    no scores to look at, and the columns where none has the scores.
    """
    names = (mapped_column(columns, "score", table) or "").split("+")
    types, why, lost = tuple(SCORE_TYPES), "", ""
    if {*names} <= {*table.columns}:
        types, why = _plausible_types(table, names)
    else:
        lost = f"; no column gives the scores; {table.listed}: {name_scores(table)}"
    raise UsageError(
        f"{table.source}: {table.headless}the type of the scores is not stated{why}: use --type "
        f"{'|'.join(types)}, or type = ... under [data] (see truecost list types){lost}"
    )


def _plausible_types(table: Table, names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The types that the scores of some columns may have, and what they are, if that is known."""
    try:
        scores = _scores(table, names)
    except TruecostError:
        return ("decision",), " (they are texts)"
    known = scores[np.isfinite(scores).all(axis=1)]
    if not len(known):
        return tuple(SCORE_TYPES), ""
    why = f" (they range from {known.min():.3g} to {known.max():.3g})"
    return (_types_of_several(known) if known.shape[1] > 1 else _types_of_one(known[:, 0])), why


def _scores(table: Table, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """The scores, a column a class: InputError where they are no numbers."""
    if (matrix := matrix_of(table, names[0])) is not None:
        return matrix.astype(np.float64)
    return np.stack([table.numbers(name, "score") for name in names], axis=1)


def _types_of_one(scores: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """The types of one score a trial."""
    if {*np.unique(scores)} <= {0.0, 1.0}:
        return ("decision",)
    if scores.min() >= 0 and scores.max() <= 1:
        return ("posterior", "score")
    if scores.min() < 0 < scores.max():
        return ("llr", "score")
    if scores.max() <= 0:
        return ("llr", "log-posterior", "score")
    return ("score", "llr", "number")


def _types_of_several(scores: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """The types of one score a class."""
    if (scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) < TOLERANCE).all():
        return ("posterior",)
    if (scores <= 0).all() and (np.abs(np.exp(scores).sum(axis=1) - 1) < TOLERANCE).all():
        return ("log-posterior",)
    return ("log-score",)


SEPARATOR = "|"  # between the labels of one cell


@dataclass(frozen=True, eq=False)
class Annotation:
    """The labels of the annotators of each trial.

    `votes` (N, K): how many annotators gave each class; each trial has at least one. `rule`: what
    counts as right. `accept`: least share of the annotators that makes a label right; any vote does
    when left out.
    """

    votes: npt.NDArray[np.int64]
    rule: Annotators
    accept: float | None = None

    @cached_property
    def answers(self) -> npt.NDArray[np.int64]:
        """Number of annotators of each trial, shape (N,)."""
        return np.asarray(self.votes.sum(axis=1))

    @cached_property
    def shares(self) -> Floats:
        """Share of the annotators of a trial that gave each class, shape (N, K)."""
        return np.asarray(self.votes / self.answers[:, None])

    @cached_property
    def accepted(self) -> npt.NDArray[np.bool_]:
        """Whether a class counts as right, shape (N, K)."""
        if self.accept is None:
            return self.votes > 0
        # 7 of 100 are a share of 0.07, whatever 0.07 * 100 is in floating point.
        return (self.votes > 0) & (self.shares >= self.accept - 1e-9)

    @property
    def majority(self) -> npt.NDArray[np.int64]:
        """The class of most votes, shape (N,); the first of those that tie."""
        return np.asarray(self.votes.argmax(axis=1))

    def take(self, rows: npt.NDArray[Any]) -> "Annotation":
        """The labels of some rows (indices, or a mask)."""
        return replace(self, votes=self.votes[rows])

    def agreement(self, origin: npt.NDArray[np.int64] | None) -> dict[str, float]:
        """Mean number of annotators, and how many trials have several labels.

        `origin` (N,): the trial that each row stands for, when votes make several rows of one. The
        keys: `annotators_per_trial`, and `several_accepted` (rule "any": trials of which several
        labels are right) or `several_labels` (rule "votes": trials whose annotators do not agree).
        """
        one = self if origin is None else self.take(np.unique(origin, return_index=True)[1])
        name, held = "several_labels", one.votes > 0
        if self.rule == "any":
            name, held = "several_accepted", one.accepted
        several = int((held.sum(axis=1) > 1).sum())
        return {"annotators_per_trial": float(one.answers.mean()), name: several}


def answers_of(table: Table, mapped: str) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """All labels that annotators gave, and the row of each.

    `mapped` is `a+b+c`, one column an annotator, empty where one did not answer; or a single column
    with labels separated by `|`.
    """
    names = mapped.split("+")
    if len(set(names)) < len(names):
        raise UsageError(f"--map annotators={mapped} names a column twice: each annotator has one")
    columns = [table.texts(name, "annotators") for name in names]
    if len(names) > 1:
        for column, name in zip(columns, names, strict=True):
            _refuse_several(table, column, name)
    rows = np.arange(len(table))
    said = pl.concat(pl.DataFrame({"row": rows, "label": c.str.split(SEPARATOR)}) for c in columns)
    given = said.explode("label").with_columns(pl.col("label").str.strip_chars())
    given = given.filter(pl.col("label").is_not_null() & (pl.col("label") != ""))
    return given["row"].to_numpy(), given["label"]


def _refuse_several(table: Table, column: pl.Series, name: str) -> None:
    """Refuse several labels in a cell when each annotator has a column."""
    bad = column.str.contains(SEPARATOR, literal=True).fill_null(False)
    fault = f"of the annotator {name!r} with {SEPARATOR!r}"
    advice = "; where each annotator has a column, a cell contains one label"
    refuse_values(table, bad, "cell", fault, lambda r: repr(column[r]), advice)


def annotation_of(
    table: Table,
    options: Options,
    scores: Floats,
    columns: tuple[str, ...] | None,
    ids: npt.NDArray[Any] | None,
) -> tuple[Annotation, tuple[str, ...], bool]:
    """The votes of each trial, class names, and whether this is detection; `columns`: class names
    that the score columns give; `ids` are for messages.
    """
    rows, texts = answers_of(table, options.columns["annotators"])
    silent = ~np.isin(np.arange(len(table)), rows)
    _refuse_trials(table, silent, ids, "no label of any annotator", "label them")
    codes, names, detection = classes_of(table, options, texts, rows, scores, columns)
    votes = np.bincount(rows * len(names) + codes, minlength=len(table) * len(names))
    rule = options.annotators or "any"  # `Options` refuses a mapping without a rule
    annotation = Annotation(votes.reshape(len(table), len(names)), rule, options.accept)
    lacking = f"no label that a share of {options.accept or 0:g} of their annotators gave"
    none = np.equal(annotation.accepted.sum(axis=1), 0)
    _refuse_trials(table, none, ids, lacking, "give a lower --accept")
    return annotation, names, detection


def _refuse_trials(
    table: Table,
    bad: npt.NDArray[np.bool_],
    ids: npt.NDArray[Any] | None,
    lacking: str,
    advice: str,
) -> None:
    """Refuse trials that lack something: how many, what, the first five, and what to do."""
    if not len(rows := np.flatnonzero(bad)):
        return
    where = [table.where(int(r)) for r in rows[:6]]
    if ids is not None:
        where = [f"{ids[r]} ({place})" for r, place in zip(rows, where, strict=False)]
    raise InputError(
        f"{table.source}: {counted(len(rows), 'trial', 'have')} {lacking}: {first_five(where)}; "
        f"{advice}, or leave such trials out"
    )


def refuse_priors(application: Application) -> None:
    """Refuse priors that are given where a trial may have several classes: UsageError."""
    if application.priors is not None:
        raise UsageError(
            "priors cannot be given with --annotators any, as a trial with several right labels "
            "has no single class: leave out --prior, --priors and --preset, or use --annotators "
            "votes (--threshold sets the operating point of a detector)"
        )
