"""True classes, decisions and posterior odds from mapped columns, and which score types fit."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, TruecostError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.table import mapped_column, refuse_rows
from truecost.names import SCORE_TYPES
from truecost.study.columns import Options

Floats = npt.NDArray[np.float64]


TARGET_WORDS = {"target": 1, "nontarget": 0, "non-target": 0, "1": 1, "0": 0, "true": 1, "false": 0}


def truth_of(table: Table, options: Options) -> tuple[str, str]:
    """The key that gives the truth, one of label, soft and annotators, and its column."""
    found = {"label": options.column("label", table)}
    if "annotators" in options.columns and "label" not in options.columns:
        found = {}  # annotators replace a column that was not asked for
    found |= {key: options.columns.get(key) for key in ("soft", "annotators")}
    given = [(key, column) for key, column in found.items() if column is not None]
    if len(given) == 1:
        return given[0]
    keys = [key for key, _ in given]
    raise UsageError(
        f"{table.source}: "
        + (
            f"both {' and '.join(keys)} are mapped; map one"
            if keys
            else f"no column gives the labels; {table.listed}: --map label=COLUMN, "
            + ("labels=ARRAY, " if table.in_memory else "")
            + "or give a --key"
        )
    )


def labels_of(
    table: Table, options: Options, column: str, scores: Floats, columns: tuple[str, ...] | None
) -> tuple[npt.NDArray[np.int64], tuple[str, ...], bool]:
    """Class index of each trial, class names, and whether this is detection.

    Parameters
    ----------
    column : str
        Holds the labels.
    scores : ndarray of float64, shape (N,) or (N, K)
    columns : tuple of str or None
        Class names that the score columns give.

    Returns
    -------
    labels : ndarray of int64, shape (N,)

    Raises
    ------
    InputError
        When a label is empty, none of the classes, or neither target nor nontarget.
    UsageError
        When there are not as many classes as scores a trial.
    """
    texts = table.texts(column, "label")
    if texts.null_count():
        raise InputError(
            f"{table.source}: {counted(texts.null_count(), 'label', 'are')} empty, the first at "
            f"{table.where(int(texts.is_null().arg_true()[0]))}"
        )
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

    Parameters
    ----------
    texts : polars.Series of str, length L
        Labels, none of them empty; any number of them for each trial.
    places : ndarray of int64, shape (L,)
        The row of the table in which each stands.
    scores : ndarray of float64, shape (N,) or (N, K)
    columns : tuple of str or None
        Class names that the score columns give.

    Returns
    -------
    labels : ndarray of int64, shape (L,)

    Raises
    ------
    InputError
        When a label is none of the classes, or neither target nor nontarget.
    UsageError
        When there are not as many classes as scores a trial.
    """
    present = sorted(texts.unique().to_list())
    if options.target is not None:
        if options.target not in present:
            raise InputError(
                f"{table.source}: no trial has the label {options.target!r}; the "
                f"labels are {first_five(present)}"
            )
        return (
            _code(texts, {t: int(t == options.target) for t in present}),
            ("nontarget", "target"),
            True,
        )
    binary = {t: TARGET_WORDS[t.lower()] for t in present if t.lower() in TARGET_WORDS}
    if (
        options.kind in ("llr", "score")
        or (scores.ndim == 1 and options.kind != "decision")
        or (options.kind == "decision" and options.classes is None and len(binary) == len(present))
    ):
        outside = [t for t in present if t not in binary]
        if outside:
            raise InputError(
                f"{table.source}: {named('label', outside, 'are')} neither target "
                f"nor nontarget ({', '.join(TARGET_WORDS)}): say which label is the "
                f"target with --target"
            )
        return _code(texts, binary), ("nontarget", "target"), True
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
    outside = [t for t in present if t not in names]
    if outside:
        rows = texts.is_in(outside).arg_true()
        raise InputError(
            f"{table.source}: {counted(len(rows), 'label', 'are')} none of the classes "
            f"{first_five(names)}: "
            + first_five(f"{texts[r]!r} at {table.where(int(places[r]))}" for r in rows.head(6))
        )
    return _code(texts, {n: k for k, n in enumerate(names)}), names, False


def _code(texts: pl.Series, codes: Mapping[str, int]) -> npt.NDArray[np.int64]:
    return texts.replace_strict(list(codes), list(codes.values()), return_dtype=pl.Int64).to_numpy()


def decisions_of(table: Table, options: Options, classes: Sequence[str]) -> Floats:
    """Index of the decided class, shape (N,); `abstain` is one more, NaN is missing. InputError
    when a decision is none of the classes.
    """
    texts = table.texts(options.column("score", table) or "", "score")
    codes = {name: k for k, name in enumerate(classes)} | {"abstain": len(classes)}
    if classes == ("nontarget", "target"):
        codes |= {"reject": 0, "accept": 1, "no": 0, "yes": 1, **TARGET_WORDS}
        if options.target is not None:
            codes = {t: int(t == options.target) for t in texts.drop_nulls().unique()}
            codes["abstain"] = 2
    lower = (
        texts if all(t in codes for t in texts.drop_nulls().unique()) else texts.str.to_lowercase()
    )
    unknown = lower.is_not_null() & ~lower.is_in(list(codes))
    if unknown.any():
        rows = unknown.arg_true()
        raise InputError(
            f"{table.source}: {counted(len(rows), 'decision', 'are')} none of "
            f"{first_five(codes)}: "
            + first_five(f"{texts[r]!r} at {table.where(r)}" for r in rows.head(6))
        )
    return (
        lower.replace_strict(
            list(codes), [float(v) for v in codes.values()], default=None, return_dtype=pl.Float64
        )
        .fill_null(float("nan"))
        .to_numpy()
    )


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
        raise UsageError(f"--target {options.target}: the classes are {first_five(names)}")
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
        raise UsageError(f"soft labels need two classes; type {options.kind} has others")
    labels = table.numbers(column, "soft")
    refuse_rows(
        table,
        ~((labels >= 0) & (labels <= 1)),
        ("soft label", "lie", "outside 0 to 1"),
        None,
        labels,
    )
    return labels, ("nontarget", "target"), True


def other_labels(texts: pl.Series, options: Options) -> tuple[str, ...]:
    """Which labels count as nontarget, when they are several."""
    labels = texts.rename("label")
    counts = labels.value_counts().sort("count", "label", descending=[True, False])
    others = [f"{name} ({n})" for name, n in counts.iter_rows() if name != options.target]
    return (f"counted as nontarget: {first_five(others)}",) if len(others) > 1 else ()


Types = tuple[tuple[str, ...], str]


TOLERANCE = 1e-3  # of the sum of posteriors


def plausible_types(table: Table, columns: Mapping[str, str]) -> Types:
    """The score types that the scores of a table may have, and what these are.

    Parameters
    ----------
    columns : mapping of str to str
        The map.

    Returns
    -------
    types : tuple of str
        All where there are no scores to look at.
    why : str
        Behind "what the scores are", such as " (-10.8 to 7.91)"; empty where nothing is known.
    """
    column = mapped_column(columns, "score", table)
    names = () if column is None else tuple(column.split("+"))
    if not names or not {*names} <= {*table.columns}:
        return tuple(SCORE_TYPES), ""
    try:
        scores = _scores(table, names)
    except TruecostError:
        return ("decision",), " (they are texts)"
    known = scores[np.isfinite(scores).all(axis=1)]
    if not len(known):
        return tuple(SCORE_TYPES), ""
    why = f" ({known.min():.3g} to {known.max():.3g})"
    return (_of_several(known) if known.shape[1] > 1 else _of_one(known[:, 0])), why


def _scores(table: Table, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """The scores, a column a class: InputError where they are no numbers."""
    if names[0] in table.matrices:
        matrix = table.matrices[names[0]].astype(np.float64)
        return matrix.reshape(len(matrix), -1)
    return np.stack([table.numbers(name, "score") for name in names], axis=1)


def _of_one(scores: npt.NDArray[np.float64]) -> tuple[str, ...]:
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


def _of_several(scores: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """The types of one score a class."""
    if (scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) < TOLERANCE).all():
        return ("posterior",)
    if (scores <= 0).all() and (np.abs(np.exp(scores).sum(axis=1) - 1) < TOLERANCE).all():
        return ("log-posterior",)
    return ("log-score",)
