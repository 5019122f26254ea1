"""The mapped columns of a table, and checks of their values, with the line of an invalid one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost import names
from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.formats.compound import matrix_of
from truecost.formats.table import mapped_column, refuse_repeated, refuse_rows
from truecost.names import POSTERIORS, SCORE_TYPES, Annotators, Missing, ScoreType
from truecost.options import check_fields, check_keys
from truecost.study.tables import DataTable
from truecost.tasks import find
from truecost.tasks import names as task_names
from truecost.tasks.trials import MAP_KEYS

Floats = npt.NDArray[np.float64]
NONE_BELOW = "no log likelihood ratio is below 0"  # said where such scores look odd


@dataclass(frozen=True)
class Options:
    """Meaning of the columns of trials, and handling of missing values.

    Parameters
    ----------
    kind : str
        Type of the scores.

        - `llr`: natural-log likelihood ratios.
        - `posterior`, `log-posterior`: probabilities of the target or of each class, or their
          natural logarithms.
        - `log-score`: one score for each class; the softmax of the scores gives the posteriors.
        - `score`: scores that only rank the trials.
        - `decision`: decided classes.
        - `number`: predicted numbers.
        - `values`: no scores, only columns of numbers, whose means are measures (`mean:COLUMN`).
    columns : mapping of str to str
        Column for each key. Columns with the names `score`, `label`, `id` and `unit` need no entry.

        - `id`: trial id, by which files are joined and systems paired.
        - `score`: column of scores; `a+b+c`: one column for each class.
        - `label`: true class or number.
        - `soft`: probability that the trial is a target, in place of a label.
        - `annotators`: labels of several annotators, in place of a label. `a+b+c`: a column for
          each annotator, empty without an answer; a single column: labels separated by `|`.
        - `unit`: unit of the trial, which is resampled as a whole; `a+b` if each trial has two
          units of one kind (enrolled and test speaker).
        - `unit2`: unit of a second kind, such as the recording device beside the speaker.
        - `stratum`: stratum of the unit: units are drawn within each stratum; for moving blocks
          (see `Plan`), the stream of the unit.
        - `weight`: weight of the trial, at least 0.
    target : str, optional
        Label of the class to detect. All other labels are nontargets.
    classes : tuple of str, optional
        Class names, in the order of the score columns and of the rows of the cost matrix.
    missing : {"error", "drop", "worst"}
        Handling of trials without a score. `error`: they raise InputError. `drop`: they are
        excluded. `worst`: they get the worst score of the system (lowest for a target, highest for
        a nontarget).
    llr_base : float, optional
        Base of the logarithm of likelihood ratios, above 1. Default: e.
    annotators : {"votes", "any"}, optional
        Rule for the right labels of a trial with several annotators. `votes`: each given label,
        weighted by the share of the annotators who gave it. `any`: every label that enough
        annotators gave (Ferrer et al. 2024, section 3.7).
    accept : float, optional
        For `any`: smallest share of the annotators that makes a label right, above 0 and at most 1.
        Default: one annotator suffices.
    values : tuple of str
        Columns of numbers, for the measures `mean:COLUMN`.
    machine : str, optional
        Column with labels by a machine for all trials; human labels may then be missing.

    Raises
    ------
    UsageError
        If a choice or a key does not exist, or choices contradict each other.
    """

    kind: ScoreType
    columns: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    classes: tuple[str, ...] | None = None
    missing: Missing = "error"
    llr_base: float | None = None
    annotators: Annotators | None = None
    accept: float | None = None
    values: tuple[str, ...] = ()
    machine: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in SCORE_TYPES:
            raise UsageError(
                f"score type {self.kind!r} is not known: choose one of {', '.join(SCORE_TYPES)}"
            )
        check_keys(self.columns, MAP_KEYS)
        check_fields(self, DataTable)
        if self.llr_base is not None and self.kind != "llr":
            raise UsageError("--llr-base needs --type llr and a base above 1 (such as 10)")
        self._check_annotators()

    def _check_annotators(self) -> None:
        """Refuse annotators without a rule, a rule without annotators, and shares out of range."""
        rule, accept, mapped = self.annotators, self.accept, "annotators" in self.columns
        if mapped and rule is None:
            raise UsageError(
                "several annotators are named: use --annotators any (each label that an annotator "
                "gave is right) or --annotators votes (each label counts with its share of the "
                "annotators)"
            )
        if rule is not None and not mapped:
            raise UsageError(
                f"--annotators {rule} needs the labels of the annotators: use --map "
                f"annotators=a+b+c, "
                f"one column each, or one column with labels separated by |"
            )
        if mapped and self.kind == "number":
            raise UsageError(
                "annotators choose classes; type number has true numbers: map one column, such "
                "as their mean or median, with --map label=COLUMN"
            )
        if accept is not None and rule != "any":
            raise UsageError(
                "--accept is for --annotators any, as votes count every label: leave it out"
            )

    def column(self, key: str, table: Table) -> str | None:
        """Column for a key: its entry in `columns`, else a column with the name of the key, else
        None.
        """
        return mapped_column(self.columns, key, table)


def refuse_empty(table: Table, texts: pl.Series, what: str) -> None:
    """Refuse a column of a table with empty cells: InputError."""
    if texts.null_count():
        raise InputError(
            f"{table.source}: {counted(texts.null_count(), what, 'are')} empty, the first at "
            f"{table.where(int(texts.is_null().arg_true()[0]))}: fill them, or leave these rows out"
        )


def trial_ids(table: Table, options: Options) -> npt.NDArray[Any] | None:
    """Trial ids as text, shape (N,); row numbers where rows of two tables correspond; None
    otherwise. InputError when ids are empty or repeat.
    """
    column = options.column("id", table)
    if column is None:
        return np.arange(len(table)) if table.ordered else None
    ids = table.texts(column, "id")
    refuse_empty(table, ids, "id")
    refuse_repeated(table.source, ids, where=table.where)
    return ids.to_numpy()


def _columns_of_classes(table: Table, options: Options) -> str:
    """The columns named after the labels, joined: the scores of the classes in a table of
    posteriors; empty for any other table.
    """
    label = options.column("label", table)
    if label is None or options.kind not in POSTERIORS:
        return ""
    found = [c for c in table.columns if c in {*table.texts(label, "label").unique()}]
    return "+".join(found) if len(found) > 1 else ""


def name_scores(table: Table, column: str = "") -> str:
    """Advice where no column gives the scores; `column`: the column of the scores, if known."""
    faces = (find(name) for name in task_names())
    fit = (f for f in faces if f.formats.columns and {*f.formats.columns} <= {*table.columns})
    other = next((f", or use truecost {f.name}, whose files have such columns" for f in fit), "")
    return f"name it with --map score={column or 'COLUMN'}{other or f'; {names.A_METRIC}'}"


def scores_of(table: Table, options: Options) -> tuple[Floats, tuple[str, ...] | None]:
    """Scores, and the class names of their columns.

    Returns
    -------
    scores : ndarray of float64, shape (N,) or (N, K)
        Likelihood ratios in nats; NaN where missing; zeros for decisions.
    classes : tuple of str or None
    """
    column = options.column("score", table)
    if column is None:
        arrays = ", or scores=ARRAY; of several systems scores={NAME: ARRAY, ...}"
        raise UsageError(
            f"{table.source}: {table.headless}no column gives the scores; {table.listed}: "
            + name_scores(table, _columns_of_classes(table, options))
            + arrays * table.in_memory
        )
    table.require(column.split("+")[0], "score")
    if options.kind == "decision":
        return np.zeros(len(table)), None
    if (several := matrix_of(table, column)) is not None:
        scores, classes = several.astype(np.float64), None
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
    elif "+" in column:
        columns = column.split("+")
        scores = np.stack([table.numbers(n, "score") for n in columns], axis=1)
        classes = tuple(columns)
    else:
        scores, classes = table.numbers(column, "score"), None
    if scores.ndim == 2 and options.kind not in POSTERIORS:
        raise InputError(
            f"{table.source}: {counted(scores.shape[1], 'score')} a trial, but type {options.kind} "
            f"has one; give one column, or --type log-score, log-posterior or posterior"
        )
    if scores.ndim == 1 and options.kind == "log-score":
        raise InputError(
            f"{table.source}: type log-score needs one score a class; give all columns "
            f"(--map score=a+b+c), or --type llr or score for a single score"
        )
    if options.llr_base is not None:
        scores = scores * np.log(options.llr_base)
    check_scores(table, options, scores)
    return scores, classes


_OTHER_TYPES = " (likelihood ratios? --type llr; other scores? --type score)"


def check_scores(table: Table, options: Options, scores: Floats) -> None:
    """Refuse scores outside the range of their type; NaN means missing, and is handled later."""
    if options.kind == "log-posterior":
        bad = np.isposinf(scores) | (scores > 1e-6)
        noun, verb, said = "log-posterior", "are", f"above 0{_OTHER_TYPES}"
    elif options.kind == "posterior":
        bad = (scores < 0) | (scores > 1)
        known = scores[np.isfinite(scores)]
        percent = len(known) > 0 and known.min() >= 0 and known.max() <= 100
        percent = percent and (known > 1).mean() > 0.05  # a few are wrong values
        noun, verb = "posterior", "lie"
        hint = " (percentages? divide by 100)" if percent else ""
        if len(known) and known.min() < 0:
            hint = _OTHER_TYPES if known.max() > 0 else " (logarithms? --type log-posterior)"
        said = f"outside 0 to 1{hint}"
    else:
        bad, noun, verb, said = np.isinf(scores), "score", "are", "infinite"
    rows = np.asarray(bad if bad.ndim == 1 else bad.any(axis=1))
    refuse_rows(table, rows, (noun, verb, said), None, values=scores)
    if scores.ndim == 2 and options.kind in ("posterior", "log-posterior"):
        sums = (np.exp(scores) if options.kind == "log-posterior" else scores).sum(axis=1)
        with np.errstate(invalid="ignore"):
            off = np.abs(sums - 1) > 1e-3
        said = "posteriors that do not sum to 1 (use --type log-score if they are not normalised)"
        refuse_rows(table, off, ("trial", "have", said), None, values=sums)


def weights_of(
    table: Table, columns: Mapping[str, str], ids: npt.NDArray[Any] | None
) -> Floats | None:
    """Trial weights, shape (N,), finite and at least 0 (InputError otherwise); None without."""
    mapped = columns.get("weight")
    if mapped is None:
        return None
    weights = table.numbers(mapped, "weight")
    said = ("weight", "are", "missing, negative or infinite")
    refuse_rows(table, ~(np.isfinite(weights) & (weights >= 0)), said, ids, weights)
    return weights
