"""Input beside the file of a log, or instead of it: arrays, labels in a file of their own, and the
names of a log for its two models and a true accept.

`to_fill_in` makes the file of a choice of items, with an empty column `label`; `join_labels` lays
what was filled in over the log, with the probabilities of the choice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, checked, counted, first_five, near
from truecost.formats import Table
from truecost.names import NO_NUMBER, Mismatch
from truecost.study.arguments import column_in, columns_in, further_columns, ids_in
from truecost.study.tables import DataTable
from truecost.tasks.abba import MAP_KEYS
from truecost.tasks.abba.columns import ONE_LABEL, LogOptions, is_one_label, load
from truecost.tasks.abba.log import Log
from truecost.tasks.abba.records import (
    ARMS,
    LABEL_WORDS,
    NO_CHANCE,
    Deployment,
    Floats,
    LogRows,
    Mask,
    named_column,
)
from truecost.tasks.abba.selecting import Selection


@dataclass(frozen=True)
class Words:
    """The names of the deployed model and the candidate in the log, and the label of a true accept;
    any other label is a false one.
    """

    models: tuple[str, str] | None = None
    target: str | None = None

    @staticmethod
    def from_data(data: DataTable) -> "Words":
        """The names of the models in a study: UsageError where only one has a name, or both are
        equal.
        """
        given = data.a, data.b
        if (data.a is None) != (data.b is None):
            raise UsageError("the name of one model is given: give both --a and --b")
        if data.a is not None and data.a == data.b:
            raise UsageError(f"--a and --b are both {data.a!r}: name two models")
        return Words(None if None in given else given, data.target)  # type: ignore[arg-type]

    def recoded(self, table: Table, columns: Mapping[str, str], *, beside: bool = False) -> Table:
        """A table with A and B for its models, and 1 and 0 for its labels.

        InputError where a model or the target does not occur; of a file `beside` the log labels
        may be 1 and 0 already, as people fill them in.
        """
        models = columns.get("collected_by", "collected_by")
        if self.models is not None and models in table.columns:
            table = self._with_arms(table, models)
        label = columns.get("label", "label")
        if self.target is not None and label in table.columns:
            table = self._with_labels(table, label, beside=beside)
        return table

    def _with_arms(self, table: Table, column: str) -> Table:
        texts = table.texts(column, "collected_by")
        there = texts.drop_nulls().unique().sort().to_list()
        for flag, name in zip("ab", self.models or (), strict=True):
            if name not in there:
                raise InputError(
                    f"{table.source}: --{flag} {name}: no item was collected by "
                    f"{name!r}{near(name, there)}; column {column!r} has {first_five(there)}"
                )
        kept = texts.replace([*(self.models or ())], [*ARMS])
        return replace(table, frame=table.frame.with_columns(kept.alias(column)))

    def _with_labels(self, table: Table, column: str, *, beside: bool) -> Table:
        texts = table.texts(column, "label")
        none = texts.str.to_lowercase().is_in(list(NO_NUMBER)).fill_null(value=False)
        texts = texts.set(none, None)
        there = texts.drop_nulls().unique().sort().to_list()
        if beside and {*there} <= {"0", "1"}:
            return table
        if there and self.target not in there:
            raise InputError(
                f"{table.source}: --target {self.target}: no item has the label "
                f"{self.target!r}{near(self.target, there)}; column {column!r} has "
                f"{first_five(there)}"
            )
        kept = (texts == self.target).cast(pl.Int8).cast(pl.String)
        return replace(table, frame=table.frame.with_columns(kept.alias(column)))


USERS = "give columns, {'unit': [...], 'collected_by': [...]}, or a frame of polars or pandas"


def collected_items(
    collected_by: npt.ArrayLike,
    *,
    score_a: npt.ArrayLike | None = None,
    score_b: npt.ArrayLike | None = None,
    accept_a: npt.ArrayLike | None = None,
    accept_b: npt.ArrayLike | None = None,
    label: npt.ArrayLike | None = None,
    machine: npt.ArrayLike | None = None,
    inclusion: npt.ArrayLike | None = None,
    stratum: npt.ArrayLike | None = None,
    active_seconds: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    threshold_a: float | None = None,
    threshold_b: float | None = None,
    exposure: tuple[float, float] | None = None,
    units: tuple[int, int] | None = None,
    split: float | None = None,
    users: Mapping[str, npt.ArrayLike] | pl.DataFrame | Any | None = None,
    mismatch: Mismatch = "error",
    raw_machine: bool = False,
    unlabelled: bool = False,
    name: str = "deployment",
    **columns: npt.ArrayLike,
) -> Deployment:
    """Make a deployment from arrays, with the same checks as for files.

    Parameters
    ----------
    collected_by : array_like of str, shape (N,)
        Model that collected each item: "A" (deployed) or "B" (candidate).
    score_a, score_b : array_like of float, shape (N,), optional
        Scores of both models. Without scores, decisions are necessary.
    accept_a, accept_b : array_like, shape (N,), optional
        Decisions of both models: whether each accepts the item.
    label : array_like, shape (N,), optional
        1 for a true accept, 0 for a false accept, NaN or None without a label.
    machine : array_like of float, shape (N,), optional
        Probability of label 1 that a machine assigned.
    inclusion : array_like of float, shape (N,), optional
        Probability that the item was chosen for a label, in (0, 1]. Default: the labels
        are regarded as a simple random sample of each stratum.
    stratum : array_like, shape (N,), optional
        Stratum in which items were or will be chosen for labels. Default: the cells.
    active_seconds : array_like of float, shape (N,), optional
        Seconds that a person needed for the label; NaN without a measurement.
    unit : array_like, shape (N,), optional
        User or device of the item, which is resampled as a whole.
    ids : array_like, shape (N,), optional
        Ids of the items. Default: their positions.
    threshold_a, threshold_b : float, optional
        Deployed thresholds. Default: the lowest score of a model among the items that it collected.
    exposure : (float, float), optional
        Amounts of traffic of A and of B, for example both in hours.
    units : (int, int), optional
        Number of units of A and of B, including units without an accepted item.
    split : float, optional
        Intended share of units for A, between 0 and 1.
    users : mapping of str to array_like, or frame of polars or pandas, optional
        All units, including units without an accepted item: columns `unit`, `collected_by` and,
        if it differs between units, `exposure`.
    mismatch : {"error", "drop"}
        Handling of items that their collecting model rejects offline. `error`: raise InputError.
        `drop`: leave them out.
    raw_machine : bool
        True: `machine` can contain any finite numbers, which `calibrate_machine` turns into
        probabilities. False: `machine` must contain probabilities.
    unlabelled : bool
        Whether a log may have neither labels nor machine scores (to select items for labels).
    name : str
        Name of the deployment.
    **columns : array_like, shape (N,)
        Further columns, for subsets.

    Returns
    -------
    Deployment
        Items in the order of their ids. `problems` contains warnings for the reader.

    Raises
    ------
    InputError
        If lengths differ, an arm has no items, a collecting model is neither A nor B, an item lacks
        a value or is rejected by its collecting model, a label or a probability is out of range,
        ids repeat, or there are neither labels nor machine scores.
    UsageError
        If scores and decisions are both given, or only those of one model, a number is out of
        range, or the name of a column is similar to that of an option.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.tasks.abba.arrays import collected_items
    >>> deployment = collected_items(
    ...     ["A", "A", "B", "B"],
    ...     score_a=[0.9, 0.6, 0.7, 0.2],
    ...     score_b=[0.8, 0.1, 0.9, 0.7],
    ...     label=[1, 0, 1, None],
    ...     threshold_a=0.5,
    ...     threshold_b=0.6,
    ... )
    >>> deployment.summary, deployment.cell.tolist()
    ('4 collected items, 3 labels', [0, 1, 2, 3])
    """
    arrays = {key: array for key, array in locals().items() if key in MAP_KEYS}
    further = further_columns(columns, collected_items, "item", MAP_KEYS)
    given = {key: column_in(key, array) for key, array in arrays.items() if array is not None}
    if ids is not None:
        given["id"] = ids_in(ids, "item")
    known: dict[str, Any] = {"threshold_a": threshold_a, "threshold_b": threshold_b, "split": split}
    for parameter, number in known.items():
        if number is not None:
            checked(parameter, number, Real, "a number")
    known |= {"exposure": _pair("exposure", exposure), "units": _pair("units", units)}
    switches: dict[str, Any] = {"raw_machine": raw_machine, "unlabelled": unlabelled}
    for parameter, switch in switches.items():
        checked(parameter, switch, (bool, np.bool_), "True or False")
    options = LogOptions({key: key for key in given}, mismatch=mismatch, **known, **switches)
    checked("name", name, str, "a text")
    listed = None if users is None else Table("users", columns_in("users", users, lambda: USERS))
    return load(Table(name, _frame(given | further)), options, name, listed)


def _frame(columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Columns of one length."""
    size = len(columns["collected_by"])
    for name, column in columns.items():
        if len(column) != size:
            what = "ids" if name == "id" else name
            raise InputError(
                f"{what} has {counted(len(column), 'entry')}, but collected_by has {size}: give "
                "one for each item"
            )
    return pl.DataFrame(dict(columns))


def _pair(parameter: str, given: Any) -> Any:
    """Numbers of A and of B, as they are; UsageError for anything else."""
    if given is None:
        return None
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__len__"):
        raise UsageError(f"{parameter}: give two numbers, of arm A and of arm B")
    for k, number in enumerate(given):
        checked(f"{parameter}[{k}]", number, Real, "a number")
    return tuple(given)


COLUMNS = "a file of labels has the columns id and label, as truecost abba select writes them"
CLASSES = "1 for a true accept and 0 for a false one"


@dataclass(frozen=True, eq=False)
class Joined:
    """A log with the labels and, where the file has them, the inclusion probabilities of a file."""

    log: Table
    said: str = ""  # how many labels came from the file; empty without one
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Filled:
    """A file of labels, held against the log; arrays of shape (rows,)."""

    rows: LogRows  # of the file, by their ids
    places: npt.NDArray[np.int64]  # row of each item in the log
    label: Floats  # 1, 0, or NaN where nothing is filled in
    inclusion: Floats  # NaN where it has none
    asked: Mask  # which items were to be labelled


def to_fill_in(deployment: Deployment, found: Selection, *, every: bool = False) -> pl.DataFrame:
    """The items to label, or every item of the log, as a file that people fill in.

    It has the columns of `Selection.items`, and `label`, empty for items to label. With earlier
    labels these stand behind the items to label, for their probabilities have changed too; `state`
    tells both apart and is left out otherwise.
    """
    earlier = pl.Series(deployment.label).fill_nan(None).cast(pl.Int64)
    done = pl.col("state") == "labelled"
    items = found.items.with_columns(label=pl.when(done).then(earlier))
    if every:
        return items
    chosen, labelled = items.filter(pl.col("state") == "chosen"), items.filter(done)
    return pl.concat([chosen, labelled]) if len(labelled) else chosen.drop("state")


def join_labels(log: Table, labels: Table, options: LogOptions) -> Joined:
    """A log with the labels that a file has for some of its items.

    Items that are not in the file keep their labels of the log, except the inclusion probabilities
    of those without a label: the log's own say nothing of the choice in the file. The file has a
    column `id`, or as it is called in the log; `label` (0, 1 or empty); where items were chosen
    with known probabilities `inclusion_probability` or `inclusion`; `active_seconds` where the
    labels were timed; and `state`, where not all items were `chosen` for a label, as `to_fill_in`
    writes it.
    """
    own = Log(log, options)
    filled = _filled(labels, log, own.ids, options)
    name = options.columns.get("label", "label")
    texts, theirs = pl.Series([None] * len(log), dtype=pl.String), np.full(len(log), np.nan)
    if name in log.columns:
        theirs, texts, _ = LogRows(log).coded(name, "label", LABEL_WORDS)
    there = theirs[filled.places]
    filled.rows.refuse(
        ~np.isnan(filled.label) & ~np.isnan(there) & (filled.label != there),
        ("label", "differ", f"from the label in {log.source}"),
        "correct one of the two, or empty it",
        filled.label,
    )
    known = theirs.copy()
    known[filled.places] = np.where(np.isnan(filled.label), there, filled.label)
    waiting = filled.asked & np.isnan(known[filled.places])
    judged = filled.asked & ~waiting if filled.asked.any() else ~np.isnan(filled.label)
    if not judged.any():
        raise InputError(
            f"{labels.source}: no item has a label yet: fill in its column 'label', {CLASSES}"
        )
    new = pl.Series(["0", "1"]).gather(pl.Series(known).fill_nan(None).cast(pl.UInt32))
    frame = log.frame.with_columns(pl.coalesce(texts, new).alias(name))
    found, changed = replace(log, frame=frame), 0
    if not np.isnan(filled.inclusion).all():
        found, changed = _with_inclusion(found, filled, known, options, own.ids)
    found = _with_seconds(found, labels, filled, options)
    said = f"{counted(int((~np.isnan(filled.label)).sum()), 'label')} from {labels.source}"
    return Joined(found, said, tuple(_problems(labels, filled, known, waiting, changed)))


def _filled(labels: Table, log: Table, known: pl.Series, options: LogOptions) -> Filled:
    """The values of the file, joined with the ids of the log."""
    mapped = {"id": options.column("id", log), "label": options.columns.get("label")}
    columns = {key: named_column(labels, key, name, COLUMNS) for key, name in mapped.items()}
    file = Log(labels, LogOptions(columns))
    ids, every = (of.alias("id").to_frame() for of in (file.ids, known))
    found = ids.join(every.with_row_index("row"), on="id", how="left", maintain_order="left")
    places, codes, rows = found["row"].cast(pl.Int64), file.label, file.rows
    rows.refuse(places.is_null().to_numpy(), ("item", "are", f"not in {log.source}"))
    asked, inclusion = np.ones(len(labels), bool), np.full(len(labels), np.nan)
    if "state" in labels.columns:
        asked = labels.texts("state", "state").eq_missing("chosen").to_numpy()
    names = (options.columns.get("inclusion"), "inclusion_probability", "inclusion")
    column = next((name for name in names if name in labels.columns), None)
    if column is not None:
        inclusion = rows.chances(column)
    return Filled(rows, places.to_numpy(), codes, inclusion, asked)


def _with_seconds(log: Table, labels: Table, filled: Filled, options: LogOptions) -> Table:
    """The log with the seconds that the file has of its labels."""
    name = options.columns.get("active_seconds", "active_seconds")
    if name not in labels.columns:
        return log
    own = log.numbers(name, "active_seconds") if name in log.columns else np.full(len(log), np.nan)
    own[filled.places] = labels.numbers(name, "active_seconds")
    return replace(log, frame=log.frame.with_columns(pl.Series(name, own).fill_nan(None)))


def _with_inclusion(
    log: Table, filled: Filled, known: Floats, options: LogOptions, ids: pl.Series
) -> tuple[Table, int]:
    """The log with the probabilities of the file, and how many of its own they replace."""
    name, there = options.columns.get("inclusion", "inclusion"), ~np.isnan(filled.inclusion)
    source, labelled = filled.rows.table.source, ~np.isnan(known)
    own = log.numbers(name, "inclusion") if name in log.columns else np.full(len(log), np.nan)
    found = np.where(labelled, own, np.nan)
    found[filled.places] = np.where(there, filled.inclusion, own[filled.places])
    lacking, said = labelled & np.isnan(found), ("item", "have", NO_CHANCE)
    filled.rows.refuse(lacking[filled.places], said, "other items of the file have one")
    hint = "the file that truecost abba select writes also has the items that were labelled earlier"
    said = ("item", "have", f"{NO_CHANCE}, not being in {source}")
    LogRows(log, ids).refuse(lacking, said, hint)
    changed = there & (own[filled.places] != filled.inclusion) & ~np.isnan(own[filled.places])
    column = pl.Series(name, found).fill_nan(None)
    return replace(log, frame=log.frame.with_columns(column)), int(changed.sum())


def _problems(
    labels: Table, filled: Filled, known: Floats, waiting: Mask, changed: int
) -> Iterator[str]:
    """Warnings about the file; `known` are all labels, those of the log included."""
    own, every = (y[~np.isnan(y)] for y in (filled.label, known))
    if is_one_label(own) and not is_one_label(every):  # else it is said of the deployment
        yield f"all {len(own)} labels of {labels.source} are {own[0]:g}: {ONE_LABEL}"
    if waiting.any():
        asked = counted(int(filled.asked.sum()), "item")
        yield (
            f"{int(waiting.sum())} of the {asked} to label in {labels.source} "
            f"{'has' if waiting.sum() == 1 else 'have'} no label: estimates are valid only if "
            f"labels are missing at random"
        )
    if changed:
        yield (
            f"the inclusion probabilities of {labels.source} replace those of the log for "
            f"{counted(changed, 'item')}"
        )
