"""Labels in a file of their own: the items that people are to label, and what they filled in.

`to_fill_in` makes the file of a choice of items, with an empty column `label`; `join_labels` lays
what was filled in over the log, with the probabilities of the choice.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.formats.table import refuse_repeated
from truecost.tasks.abba.columns import ONE_LABEL, LogOptions, is_one_label
from truecost.tasks.abba.log import Log
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.selecting import Selection
from truecost.tasks.abba.traffic import LABEL_WORDS, Floats, Mask, Rows

FURTHER = {"inclusion": ("inclusion_probability",)}  # names beside that of the key itself
CLASSES = "1 for a true accept and 0 for a false one"


@dataclass(frozen=True, eq=False)
class Joined:
    """A log with the labels of a file.

    Attributes
    ----------
    log : Table
        With the columns of `label` and, where the file has them, of `inclusion`.
    said : str
        How many labels came from the file; empty without one.
    problems : tuple of str
        What a reader should know.
    """

    log: Table
    said: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Filled:
    """A file of labels, held against the log.

    Attributes
    ----------
    rows : Rows
        Of the file, by their ids.
    places : ndarray of int64, shape (rows,)
        Row of each item in the log.
    label : ndarray of float64, shape (rows,)
        1, 0, or NaN where nothing is filled in.
    inclusion : ndarray of float64, shape (rows,)
        NaN where it has none.
    asked : ndarray of bool, shape (rows,)
        Which items were to be labelled.
    """

    rows: Rows
    places: npt.NDArray[np.int64]
    label: Floats
    inclusion: Floats
    asked: Mask


def to_fill_in(deployment: Deployment, found: Selection, *, every: bool = False) -> pl.DataFrame:
    """The items to label, as a file that people fill in.

    Parameters
    ----------
    deployment : Deployment
        That was chosen from.
    every : bool
        All items of the log, in the order of their ids.

    Returns
    -------
    polars.DataFrame
        The columns of `Selection.items`, and `label`, empty for items to label. With earlier labels
        these stand behind the items to label, for their probabilities have changed too; `state`
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

    Items that are not in the file keep what the log says of them, but for the inclusion
    probabilities of those without a label: the log's own say nothing of the choice in the file.

    Parameters
    ----------
    log : Table
        With or without labels.
    labels : Table
        Column `id`, or as it is called in the log; `label` (0, 1 or empty); where items were chosen
        with known probabilities `inclusion_probability` or `inclusion`; and `state`, where not all
        items were `chosen` for a label, as `to_fill_in` writes it.
    options : LogOptions
        What the columns of the log mean.

    Raises
    ------
    UsageError
        When a column is not found.
    InputError
        When ids are empty, repeat, or are not in the log; a label is neither 0 nor 1, or another
        than that of the log; a probability lies outside (0, 1], or a label has none while others
        have; or nothing is filled in yet.
    """
    own = Log(log, options)
    filled = _filled(labels, log, own.ids, options)
    name, texts, theirs = _labels_of_log(log, labels, options)
    _refuse_other(filled, theirs[filled.places], log.source)
    known = theirs.copy()
    known[filled.places] = np.where(np.isnan(filled.label), theirs[filled.places], filled.label)
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
    said = f"{counted(int((~np.isnan(filled.label)).sum()), 'label')} from {labels.source}"
    return Joined(found, said, _problems(labels, filled, known, waiting, changed))


def _filled(labels: Table, log: Table, known: pl.Series, options: LogOptions) -> Filled:
    """What the file says, held against the ids of the log."""
    ids = labels.texts(_column("id", labels, options.column("id", log)), "id")
    rows = Rows(labels, ids)
    Rows(labels).refuse(ids.is_null().to_numpy(), ("id", "are", "empty"))
    refuse_repeated(labels.source, ids, "each item stands once", labels.where)
    places = _places(ids, known)
    rows.refuse(places.is_null().to_numpy(), ("item", "are", f"not in {log.source}"))
    column = _column("label", labels, options.columns.get("label"))
    codes, texts, unknown = rows.coded(column, "label", LABEL_WORDS)
    hint = f"{CLASSES}; leave the cell empty where there is no label"
    rows.refuse(unknown, ("label", "are", f"outside {{0, 1}} (column {column!r})"), hint, texts)
    asked = np.ones(len(labels), bool)
    if "state" in labels.columns:
        asked = labels.texts("state", "state").eq_missing("chosen").to_numpy()
    return Filled(rows, places.to_numpy(), codes, _inclusion(rows, options), asked)


def _inclusion(rows: Rows, options: LogOptions) -> Floats:
    """The inclusion probabilities of the file; NaN where there are none."""
    column = _found("inclusion", rows.table, options.columns.get("inclusion"))
    if column is None:
        return np.full(len(rows.table), np.nan)
    chances = rows.table.numbers(column, "inclusion")
    outside = ~np.isnan(chances) & ~((chances > 0) & (chances <= 1))
    hint = "it is the chance with which the item was chosen for a label"
    said = ("inclusion probability", "lie", "outside (0, 1]")
    rows.refuse(outside, said, hint, chances)
    return chances


def _found(key: str, labels: Table, mapped: str | None) -> str | None:
    """The column of a key: called as in the log, or by the key."""
    names = (mapped, *FURTHER.get(key, ()), key)
    return next((name for name in names if name in labels.columns), None)


def _column(key: str, labels: Table, mapped: str | None) -> str:
    """The column of a key that has to be there."""
    column = _found(key, labels, mapped)
    if column is None:
        names = " or ".join(dict.fromkeys(repr(name) for name in (mapped, key) if name))
        raise UsageError(
            f"{labels.source}: there is no column {names}; {labels.listed}: a file of labels has "
            f"the columns id and label, as truecost abba select writes them"
        )
    return column


def _places(wanted: pl.Series, known: pl.Series) -> pl.Series:
    """Row of each id in the log; null where it is not there."""
    rows = known.alias("id").to_frame().with_row_index("row")
    found = wanted.alias("id").to_frame().join(rows, on="id", how="left", maintain_order="left")
    return found["row"].cast(pl.Int64)


def _labels_of_log(log: Table, labels: Table, options: LogOptions) -> tuple[str, pl.Series, Floats]:
    """Name, texts and codes of the log's own labels; none where it has no such column."""
    name = options.columns.get("label", "label")
    file_has = {name, "label"} & {*labels.columns}
    if name in log.columns or not file_has:
        codes, texts, _ = Rows(log).coded(name, "label", LABEL_WORDS)
        return name, texts, codes
    return name, pl.Series([None] * len(log), dtype=pl.String), np.full(len(log), np.nan)


def _refuse_other(filled: Filled, theirs: Floats, log: str) -> None:
    """Refuse labels of the file that are not those of the log."""
    both = ~np.isnan(filled.label) & ~np.isnan(theirs)
    filled.rows.refuse(
        both & (filled.label != theirs),
        ("label", "differ", f"from the label in {log}"),
        "mend one of the two, or empty it",
        filled.label,
    )


def _with_inclusion(
    log: Table, filled: Filled, known: Floats, options: LogOptions, ids: pl.Series
) -> tuple[Table, int]:
    """The log with the probabilities of the file, and how many of its own they replace."""
    name, there = options.columns.get("inclusion", "inclusion"), ~np.isnan(filled.inclusion)
    source, labelled = filled.rows.table.source, ~np.isnan(known)
    own = np.full(len(log), np.nan)
    if name in log.columns:
        own = log.numbers(name, "inclusion")
    found = np.where(labelled, own, np.nan)
    found[filled.places] = np.where(there, filled.inclusion, own[filled.places])
    lacking = labelled & np.isnan(found)
    what = "a label and no inclusion probability"
    filled.rows.refuse(
        lacking[filled.places], ("item", "have", what), "others of the file have one"
    )
    hint = "the file that truecost abba select writes holds items that were labelled earlier too"
    Rows(log, ids).refuse(lacking, ("item", "have", f"{what}, not being in {source}"), hint)
    changed = there & (own[filled.places] != filled.inclusion) & ~np.isnan(own[filled.places])
    column = pl.Series(name, found).fill_nan(None)
    return replace(log, frame=log.frame.with_columns(column)), int(changed.sum())


def _problems(
    labels: Table, filled: Filled, known: Floats, waiting: Mask, changed: int
) -> tuple[str, ...]:
    """What a reader should know of the file; `known` are all labels, those of the log included."""
    said = []
    own, every = (y[~np.isnan(y)] for y in (filled.label, known))
    if is_one_label(own) and not is_one_label(every):  # else it is said of the deployment
        said.append(f"all {len(own)} labels of {labels.source} are {own[0]:g}: {ONE_LABEL}")
    if waiting.any():
        asked = counted(int(filled.asked.sum()), "item")
        said.append(
            f"{int(waiting.sum())} of the {asked} to label in {labels.source} "
            f"{'has' if waiting.sum() == 1 else 'have'} no label: right only if chance decided "
            f"which"
        )
    if changed:
        said.append(
            f"the inclusion probabilities of {labels.source} take the place of the log's own for "
            f"{counted(changed, 'item')}"
        )
    return tuple(said)
