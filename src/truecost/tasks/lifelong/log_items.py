"""The items of a set with what is right of each, and what every version said; what is the same
counts once.

A version says most of what the version before it said: a log of 20 versions has few more outputs
than one of 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.events import Labels
from truecost.tasks.lifelong.kinds.base import Statistics
from truecost.tasks.lifelong.log_events import SAID, time_name
from truecost.tasks.lifelong.log_runs import Told

Array = npt.NDArray[Any]


Codes = npt.NDArray[np.int64]


Reference = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct outputs beside what is right.

    Attributes
    ----------
    mended : list of tuple of str
        Parts that were put right.
    place : ndarray of int64, shape (rows,)
        Which of these each row is.
    """

    texts: list[str]
    right: list[Reference]
    mended: list[Reference]
    place: Codes

    @classmethod
    def of(
        cls,
        said: pl.Series,
        item: pl.Series,
        right: Sequence[Reference],
        mended: Sequence[Reference] = (),
    ) -> "Distinct":
        """The distinct ones of some rows.

        Parameters
        ----------
        right : sequence of tuple of str
            Of each item.
        mended : sequence of tuple of str
            Of each row; none when left out.
        """
        texts = said.unique().sort()
        codes = said.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
        sides, wanted = numbered(right)
        parts, put = numbered(mended) if mended else ([()], np.zeros(len(codes), np.int64))
        keys = (codes * len(sides) + wanted[item.to_numpy()]) * len(parts) + put
        found, place = np.unique(keys, return_inverse=True)
        pairs = found // len(parts)
        return cls(
            texts.gather(pairs // len(sides)).to_list(),
            [sides[k] for k in pairs % len(sides)],
            [parts[k] for k in found % len(parts)],
            place.astype(np.int64),
        )

    def spread(self, count: Callable[[list[str], list[Reference]], Statistics]) -> dict[str, Array]:
        """The statistics of each row, counted once."""
        return {n: values[self.place] for n, values in count(self.texts, self.right).items()}


def numbered(values: Sequence[Reference]) -> tuple[list[Reference], Codes]:
    """The distinct values, in the order in which they come, and the number of each."""
    codes = {value: k for k, value in enumerate(dict.fromkeys(values))}
    return list(codes), np.array([codes[value] for value in values], np.int64)


Floats = npt.NDArray[np.float64]


OWN = ("id", "time")


_PREDICT = pl.col("event") == "predict"


@dataclass(frozen=True, eq=False)
class Items:
    """The items of one of the two sets, sorted by time and id.

    Attributes
    ----------
    at : ndarray of float64, shape (times,)
    frame : polars.DataFrame
        `id`, `time` (its place), and columns for units and subsets.
    right : tuple of (tuple of str)
        What is right of each item; several outputs may be.
    """

    times: tuple[str, ...]
    at: Floats
    frame: pl.DataFrame
    right: tuple[tuple[str, ...], ...]
    problems: tuple[str, ...] = ()


def items_of(
    told: Told, where: str, labels: Labels | None = None, references: Sequence[Labels] = ()
) -> Items | None:
    """The items of the lifelong set (`stream`) or of the test set (`test`).

    Parameters
    ----------
    where : {"stream", "test"}
    labels : Labels, optional
        What is right; the labels of the predictions when left out.
    references : sequence of Labels
        Further right outputs.

    Returns
    -------
    Items or None
        None where nothing is predicted there.

    Raises
    ------
    InputError
        When an item has other times or labels in other predictions, or none.
    """
    told_there = told.events.filter(_PREDICT & (pl.col("where") == where))
    if not told_there.height:
        return None
    _refuse_other(told, told_there, "t")
    _refuse_other(told, told_there.filter(pl.col("label").is_not_null()), "label")
    found = told_there.group_by("id").agg(pl.col("t").first(), pl.col("label").drop_nulls().first())
    at = found["t"].unique().sort().to_numpy()
    codes = np.searchsorted(at, found["t"].to_numpy())
    frame = found.with_columns(time=pl.Series(codes, dtype=pl.Int64)).sort("time", "id")
    own, problems = frame["label"], tuple[str, ...]()
    frame = frame.select(OWN)
    if labels is not None:
        frame = _joined(frame, labels, told, where)
        problems = _others(own, frame, labels)
        own = frame["label"]
        frame = frame.drop("label")
    elif own.null_count():
        lost = frame.filter(own.is_null())["id"]
        raise InputError(
            f"{told.source}: {counted(len(lost), 'item')} {SAID[where]} have no label: "
            f"{first_five(lost)}: give a file of labels (--labels), or labels in the predictions"
        )
    further = [_joined(frame.select(OWN), more, told, where)["label"] for more in references]
    right = tuple(zip(own.to_list(), *(more.to_list() for more in further), strict=True))
    return Items(tuple(map(time_name, at)), at, frame, right, problems)


def _refuse_other(told: Told, predicted: pl.DataFrame, what: str) -> None:
    """Refuse an item of which two predictions say something else that has to be the same."""
    first = pl.col(what, "log", "row").first().over("id").name.prefix("first_")
    # Looked at item by item only where some item has several.
    if predicted.n_unique(["id", what]) == predicted["id"].n_unique():
        return
    differ = predicted.with_columns(first).filter(pl.col(what) != pl.col(f"first_{what}"))
    now, then = differ[what][0], differ[f"first_{what}"][0]
    before = differ.select(log="first_log", row="first_row")
    named = {"t": "time", "label": "label"}[what]
    raise InputError(
        f"{told.where(differ)}: item {differ['id'][0]!r} has the {named} {now!r}, but {then!r} in "
        f"{told.where(before)}; an item has one ({counted(differ['id'].n_unique(), 'such item')})"
    )


def _joined(frame: pl.DataFrame, labels: Labels, told: Told, where: str) -> pl.DataFrame:
    """Items with the columns of a table of labels."""
    right = labels.frame.with_columns(pl.col("id", "label").cast(pl.String))
    if right["id"].n_unique() != right.height:
        double = right.filter(right["id"].is_duplicated())["id"].unique(maintain_order=True)
        raise InputError(
            f"{labels.source}: {counted(len(double), 'id')} with several rows: "
            f"{first_five(double)}: each item has one; further right outputs stand in further files"
        )
    further = [c for c in right.columns if c not in OWN]
    joined = frame.join(right.select("id", *further), on="id", how="left", maintain_order="left")
    if joined["label"].null_count():
        lost = joined.filter(pl.col("label").is_null())["id"]
        raise InputError(
            f"{labels.source}: nothing is right for {counted(len(lost), 'item')} {SAID[where]} of "
            f"{told.source}: {first_five(lost)}: every item that is predicted needs its label"
        )
    return joined


def _others(own: pl.Series, frame: pl.DataFrame, labels: Labels) -> tuple[str, ...]:
    """A note where the labels of a file are others than those in the log."""
    differ = frame.filter((own != frame["label"]).fill_null(value=False))["id"]
    if not len(differ):
        return ()
    return (
        f"{labels.source}: {counted(len(differ), 'item', 'have')} another label than in the log: "
        f"{first_five(differ)}: the file is right",
    )


def outputs_of(told: Told, where: str, items: Items) -> pl.DataFrame:
    """What each version said of each item, before and after help.

    On the lifelong set a version says nothing new of its own data before it came to be: the row of
    version M_i has what M_(i-1) said before (`base`), and what M_i said after (`adapted`).

    Parameters
    ----------
    where : {"stream", "test"}

    Returns
    -------
    polars.DataFrame
        `seed`, `version` (its place), `item` (its row), `base` and `adapted` (null where nothing
        was said after help), sorted by these.
    """
    predicted = told.events.filter(_PREDICT & (pl.col("where") == where))
    rows = items.frame.select("id").with_row_index("item").with_columns(pl.col("item").cast(int))
    predicted = predicted.join(rows, on="id", how="inner")
    key = ["seed", "item"]
    if where == "test":
        key.append("said")
        predicted = predicted.with_columns(said="version")
    before, after = (
        predicted.filter(pl.col("phase") == phase).select(*key, pl.col("decision").alias(name))
        for phase, name in (("pre", "base"), ("post", "adapted"))
    )
    both = before.join(after, on=key, how="left")
    if where == "test":
        both = told.speaks.join(both, on=["seed", "said"], how="inner").drop("said")
    else:
        both = both.with_columns(version=came_of(items, told, both["item"]))
    return both.select("seed", "version", "item", "base", "adapted").sort("version", "seed", "item")


def came_of(items: Items, told: Told, item: pl.Series) -> pl.Series:
    """The place of the version that came of the data of each item of the lifelong set."""
    when = items.at[items.frame["time"].gather(item).to_numpy()]
    return pl.Series(np.searchsorted(told.learnt, when).astype(np.int64))
