"""The mapped columns of a table: checks of their values, with the line of an invalid one; the join
of scores with a key by trial ids, and of trials with metadata by any column.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost import names
from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.compound import STEM, matrix_of, stem_hint
from truecost.formats.table import mapped_column, refuse_repeated, refuse_rows
from truecost.formats.text import refuse_unnamed
from truecost.names import POSTERIORS, SCORE_TYPES, Annotators, Missing, ScoreType, full_name
from truecost.options import check_fields, check_keys
from truecost.study.tables import DataTable
from truecost.tasks.trials import MAP_KEYS

Floats = npt.NDArray[np.float64]
NONE_BELOW = "no log likelihood ratio is below 0"  # said where such scores look odd
A_PART = (
    "; if the key is a part of it, give the whole key with a column of the part, and use --subset "
    "(in a study [subsets]), or cut the files to the ids of the key"
)


@dataclass(frozen=True)
class Options:
    """How to read trials.

    Parameters
    ----------
    kind : {"llr", "posterior", "log-posterior", "log-score", "score", "decision", "number", ...}
        Type of the scores: natural-log likelihood ratios; posteriors of the target or of each
        class; natural logarithms of posteriors; one log-score per class (softmax gives posteriors);
        scores that only rank trials; decided classes; predicted numbers; no scores, only columns of
        numbers (values).
    columns : mapping of str to str
        Column for each of these keys, as far as they are there. `id`: trial id, joins files and
        pairs systems. `score`: the score; `a+b+c` for one column a class. `label`: true class or
        number. `soft`: probability that the trial is a target, instead of a label. `annotators`:
        labels of several annotators, in place of a label; `a+b+c` for one column each, empty where
        one did not answer, or one column with labels separated by `|`. `unit`: the unit that a
        trial belongs to, by which trials are resampled; `a+b` for a unit of one population on each
        side. `unit2`: second unit, crossed with the first. `stratum`: stratum of the unit, or
        stream. `weight`: weight of the trial, at least 0. Columns named `score`, `label`, `id` and
        `unit` need no mapping.
    target : str, optional
        Label of the class to detect; every other one is a nontarget.
    classes : tuple of str, optional
        Class names in the order of score columns and cost-matrix rows.
    missing : {"error", "drop", "worst"}
        Handling of trials without a score: an error, leave them out, or give them the worst score
        of the system (lowest for a target, highest for a nontarget).
    llr_base : float, optional
        Base of the logarithm of likelihood ratios, above 1; e when left out.
    annotators : {"votes", "any"}, optional
        Right labels, if annotators are mapped (required then): each label with its share of the
        annotators, or any label that enough annotators gave (Ferrer et al. 2024, section 3.7).
    accept : float, optional
        Least share of the annotators that makes a label right (rule "any"), above 0 and at most 1;
        one annotator is enough when left out.
    values : tuple of str
        Columns of numbers whose means are asked for.
    machine : str, optional
        Column with a machine's judgement of every trial; human judgements may be missing.

    Raises
    ------
    UsageError
        When a choice or a key is not known, or `llr_base`, `annotators` or `accept` does not fit.
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
            raise UsageError("--llr-base needs --type llr and a base above 1 (10 or 2, say)")
        self._check_annotators()

    def _check_annotators(self) -> None:
        """Refuse annotators without a rule, a rule without annotators, and shares out of range."""
        rule, accept, mapped = self.annotators, self.accept, "annotators" in self.columns
        if mapped and rule is None:
            raise UsageError(
                "several annotators are mapped: use --annotators any (a label that any of them "
                "gave is right) or --annotators votes (each label counts with its share of them)"
            )
        if rule is not None and not mapped:
            raise UsageError(
                f"--annotators {rule} needs the labels of the annotators: --map annotators=a+b+c, "
                f"one column each, or one column with labels separated by |"
            )
        if mapped and self.kind == "number":
            raise UsageError(
                "annotators choose classes; type number has true numbers: map one column, their "
                "mean or median say, with --map label=COLUMN"
            )
        if accept is not None and rule != "any":
            raise UsageError("--accept is for --annotators any: votes count every label")

    def column(self, key: str, table: Table) -> str | None:
        """Column that is mapped to a key (one of `MAP_KEYS`). Default: the column with the name of
        the key, or None if there is none.
        """
        return mapped_column(self.columns, key, table)


def refuse_empty(table: Table, texts: pl.Series, what: str) -> None:
    """Refuse a column of a table with empty cells: InputError."""
    if texts.null_count():
        raise InputError(
            f"{table.source}: {counted(texts.null_count(), what, 'are')} empty, the first at "
            f"{table.where(int(texts.is_null().arg_true()[0]))}"
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
    refuse_repeated(table.source, ids)
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
            f"{table.source}: no column gives the scores; {table.listed}: --map score="
            f"{_columns_of_classes(table, options) or 'COLUMN'}"
            f"{arrays if table.in_memory else ''}; {names.A_METRIC}"
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


def check_scores(table: Table, options: Options, scores: Floats) -> None:
    """Refuse scores outside the range of their type; NaN means missing, and is handled later."""
    if options.kind == "log-posterior":
        bad = np.isposinf(scores) | (scores > 1e-6)
        noun, verb, said = "log-posterior", "are", "above 0"
    elif options.kind == "posterior":
        bad = (scores < 0) | (scores > 1)
        known = scores[np.isfinite(scores)]
        percent = len(known) > 0 and known.min() >= 0 and 1 < known.max() <= 100
        noun, verb = "posterior", "lie"
        said = "outside 0 to 1" + (" (percentages? divide by 100)" if percent else "")
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


def join(scores: Table, key: Table, options: Options, role: str = "the key") -> Table:
    """Scores with the columns of the key, row by row in the order of the key.

    Parameters
    ----------
    role : str
        Name of the second table, for messages.

    Returns
    -------
    Table
        Trials of the key without a score have empty cells, unless `missing` is "error". A column
        of both that agrees row by row (enroll, test) is kept once.

    Raises
    ------
    InputError
        When the ids are not the same set, or repeat, or a column of both differs.
    UsageError
        When there is no id column.
    """
    column = options.column("id", scores)
    if column is None:
        raise UsageError(f"{scores.source}: a key joins by id; {scores.listed}: --map id=COLUMN")
    left, right = scores.texts(column, "id"), key.texts(column, "id")
    same = not left.null_count() and left.equals(right)  # in one order: nothing is joined
    for table, ids in ((scores, left), *(((key, right),) * (not same))):
        refuse_repeated(table.source, ids)
    places = pl.int_range(len(left), eager=True) if same else _places(right, left)
    absent = right.filter(places.is_null()).fill_null("(empty)")
    if len(left) > len(right) - len(absent):  # ids do not repeat, so that counts tell
        known = left.is_in(right.implode()).fill_null(value=False)
        extra = left.filter(~known).fill_null("(empty)")
        part = "" if len(absent) or role != "the key" else A_PART
        raise InputError(
            f"{scores.source}: {counted(len(extra), 'id', 'are')} not in {role} {key.source}: "
            f"{first_five(extra)}{stem_hint(extra, absent, {'id': column}) or part}"
        )
    if len(absent) and options.missing == "error":
        advice = ", or use --missing drop|worst" if role == "the key" else ""
        raise InputError(
            f"{scores.source}: {counted(len(absent), 'trial')} of {role} {key.source} without a "
            f"score: {first_five(absent)}; score them{advice}"
        )
    placed = scores.frame.drop(column)
    placed = placed if same else placed.select(pl.all().gather(places))
    both = [name for name in placed.columns if name in key.frame.columns]
    for name in (n for n in both if n != column.removesuffix(STEM)):
        here, there = (t.texts(name, name) for t in (replace(scores, frame=placed), key))
        rows = (~(here.eq_missing(there) | places.is_null())).arg_true()
        if len(rows):
            examples = first_five(f"{right[r]} ({here[r]!r}, {there[r]!r})" for r in rows.head(6))
            raise InputError(
                f"column {name!r} stands in both {scores.source} and {key.source} and differs in "
                f"{counted(len(rows), 'row')}: {examples}; rename it in one of them, or leave it "
                f"out there"
            )
    first = pl.DataFrame({column: right})
    frame = pl.concat([first, placed.drop(both), key.frame.drop(column)], how="horizontal")
    matrices = {name: _rows(matrix, places) for name, matrix in scores.matrices.items()}
    return Table(
        f"{scores.source} with {key.source}",
        frame,
        key.matrices | matrices,
        layout=scores.layout,
        kind=scores.kind,
        ids=column,
    )


def _places(wanted: pl.Series, known: pl.Series) -> pl.Series:
    """Row of each wanted value among known unique ones; null for an unknown value."""
    rows = pl.DataFrame({"value": known}).with_row_index("row")
    asked = pl.DataFrame({"value": wanted})
    return asked.join(rows, on="value", how="left", maintain_order="left")["row"]


def _rows(matrix: npt.NDArray[Any], places: pl.Series) -> npt.NDArray[Any]:
    """Rows of a matrix, NaN for a missing one."""
    rows = matrix[places.fill_null(0).to_numpy()]
    return np.where(places.is_null().to_numpy()[:, None], np.nan, rows)


def join_metadata(
    table: Table, metadata: Table, column: str = "id", id_column: str = "id"
) -> Table:
    """A table with the columns of a metadata file, looked up by the value of one column.

    Parameters
    ----------
    metadata : Table
        Its column `id`, or else that of the looked-up column's name, or else its first one, holds
        the values that are looked up. It may have more rows than are needed.
    column : str
        Column of the table whose values are looked up; "id" means the ids of the trials. Columns
        looked up by id keep their names; those looked up by another one (enroll, say) are named
        after it: `enroll.speaker`. Where no column has the name, what stands behind its last point
        names the new one: `test.cond` looks up `test`. The end of a name is enough.
    id_column : str
        The column of the table that holds the ids.

    Raises
    ------
    UsageError
        When there is no such column, or a column of that name is there already.
    InputError
        When values repeat in the metadata, or are missing there.
    """
    column, name = _looked_up(table, metadata, column, id_column)
    asked, file = "id" if column == id_column else column, metadata.source
    there = metadata.frame.columns
    by = next((name for name in ("id", column) if name in there), there[0])
    known, wanted = metadata.texts(by, by), table.texts(column, column)
    refuse_repeated(file, known.drop_nulls(), "each may name one row only")
    absent = wanted.filter(~wanted.is_in(known.implode()).fill_null(value=False))
    if len(absent):
        values = absent.fill_null("(empty)").unique(maintain_order=True)
        hint = stem_hint(values, known, {"id": column})
        if "enroll" in table.columns:
            hint = f"; to look up a side of a trial use --metadata enroll={file} or test={file}"
        raise InputError(
            f"{table.source}: {counted(len(values), 'value')} of the column {column!r} without a "
            f"row in the column {by!r} of {file}: {first_five(values)}"
            f"{hint if asked == 'id' else ''}"
        )
    found = metadata.frame.drop(by).select(pl.all().gather(_places(wanted, known)))
    if name:
        if found.width != 1:
            raise UsageError(
                f"{file}: --metadata {column}.{name}= names one column, and the file has "
                f"{', '.join(found.columns)} beside {by}: use --metadata {column}={file}, and the "
                f"columns are {column}.NAME"
            )
        found.columns = [name]
    else:
        refuse_unnamed(metadata, asked)
    if asked != "id":
        found = found.rename(lambda name: f"{column}.{name}")
    clash = [name for name in found.columns if name in table.columns]
    if clash:
        how = f"give another name with --metadata {asked}.NAME={file}"
        how = how if found.width == 1 else "give other names in one of the two files"
        raise UsageError(f"{file}: {named('column', clash, 'are')} in {table.source} too: {how}")
    return replace(table, frame=pl.concat([table.frame, found], how="horizontal"))


def _looked_up(table: Table, metadata: Table, asked: str, id_column: str) -> tuple[str, str]:
    """The column with the wanted metadata, and the name of the new column, if one is given."""
    known = table.frame.columns
    for column, name in ((asked, ""), asked.rpartition(".")[::2]):
        found = id_column if column == "id" else full_name(column, known)
        if found in known:
            return found, name
    raise UsageError(
        f"{table.source}: there is no column {asked!r} to look up in {metadata.source}; "
        f"{table.listed}: --metadata COLUMN={metadata.source}, or COLUMN.NAME={metadata.source}, "
        f"which names the new column"
    )
