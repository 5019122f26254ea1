"""What was scored, and what a system said of it, as hashes that know no files and no order of rows.

Two studies have the same evaluation set when ids and labels (or references) are the same, whatever
the files, their formats and the names of systems. Trials without ids are told apart by their row.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import singledispatch

import numpy as np
import polars as pl

from truecost.tasks.abba.records import Deployment
from truecost.tasks.items import Items
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.records import Trials
from truecost.tasks.streams.records import Online
from truecost.tasks.systems import System
from truecost.tasks.terms.records import Search

ROWS = 1_000_000  # rows of texts that are hashed at once
Frames = tuple[pl.DataFrame, ...]


class Hasher:
    """Hashes of what systems were scored on, and of what they put out.

    To sort texts is what takes long: systems with the same ids share one sort of them.
    """

    def __init__(self) -> None:
        self._known: tuple[pl.Series, pl.Series | None] | None = None

    def evaluation_of(self, system: System) -> str:
        """The hash of what a system was scored on.

        Parameters
        ----------
        system : Trials, Items, Deployment, Search, Online or Lifelong

        Returns
        -------
        str
            Sha256 over sorted ids with their labels or references.
        """
        return self._hash(right_of(system))

    def output_of(self, system: System) -> str:
        """The hash of what a system put out.

        Parameters
        ----------
        system : Trials, Items, Deployment, Search, Online or Lifelong

        Returns
        -------
        str
            Sha256 over ids with their scores, sorted.
        """
        return self._hash(said_by(system))

    def _hash(self, frames: Frames) -> str:
        found = hashlib.sha256()
        for frame in frames:
            plain = frame.select(map(_plain, frame.iter_columns()))
            rows = self._order(plain.to_series(0))
            for column in plain.sort(plain.columns) if rows is None else plain[rows]:
                found.update(f"{column.name}\0{column.dtype}\0{len(column)}\0".encode())
                for piece in _pieces(column):
                    found.update(piece)
        return found.hexdigest()

    def _order(self, names: pl.Series) -> pl.Series | None:
        """The order of rows by their first column; None where it does not tell all of them."""
        if names.dtype != pl.String:
            return None
        if self._known is None or not self._known[0].equals(names):
            self._known = names, _order(names)
        return self._known[1]


def _order(names: pl.Series) -> pl.Series | None:
    """The order of texts; None where two are the same."""
    rows = pl.Series("row", np.arange(len(names)))
    # By two columns, of which polars makes keys, it takes half as long as by texts alone.
    found = pl.DataFrame([names.alias("name"), rows]).sort("name", "row")
    same = found["name"] == found["name"].shift()
    return None if same.any() else found["row"]


def joined(hashes: Sequence[str]) -> str:
    """One hash for several, whatever their order: of the runs of a method, say."""
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()


@singledispatch
def right_of(system: System) -> Frames:
    """What is right, as frames whose rows have no order."""
    raise TypeError(f"no evaluation set is known of {type(system).__name__}")


@singledispatch
def said_by(system: System) -> Frames:
    """What a system said, as frames whose rows have no order."""
    raise TypeError(f"no output is known of {type(system).__name__}")


@right_of.register
def _(system: Trials) -> Frames:
    columns = {"id": _ids(system), "label": _named(system.labels, system.classes)}
    if system.annotation is not None or system.origin is not None:  # a trial has several labels
        weights = np.ones(len(system.labels)) if system.weights is None else system.weights
        columns["weight"] = pl.Series(weights)
    return (pl.DataFrame(columns),)


@said_by.register
def _(system: Trials) -> Frames:
    scores = system.scores.reshape(len(system.scores), -1).T
    return (pl.DataFrame({"id": _ids(system), **{f"{k}": s for k, s in enumerate(scores)}}),)


@right_of.register
def _(system: Items) -> Frames:
    ids = pl.DataFrame({"id": [str(one) for one in system.ids.tolist()]})
    return ids, *system.sources[:-1], pl.DataFrame({"reference": [system.reference]})


@said_by.register
def _(system: Items) -> Frames:
    return system.sources[-1:] or (
        pl.DataFrame({f"{p}.{n}": v for p, of in system.parts.items() for n, v in of.items()}),
    )


@right_of.register
def _(system: Deployment) -> Frames:
    return (pl.DataFrame({"id": system.ids, "arm": system.arm, "label": system.label}),)


@said_by.register
def _(system: Deployment) -> Frames:
    columns = {"id": system.ids, "other": system.other}
    scores = {"a": system.score_a, "b": system.score_b, "machine": system.machine}
    return (pl.DataFrame({**columns, **{k: v for k, v in scores.items() if v is not None}}),)


@right_of.register
def _(system: Search) -> Frames:
    reference = system.reference
    documents = reference.documents.select("document", "source", "seconds")
    return reference.queries.select("query"), documents, _placed(system, reference.targets)


@said_by.register
def _(system: Search) -> Frames:
    columns = {name: getattr(system, name) for name in ("query", "place", "start", "duration")}
    found = _placed(system, pl.DataFrame(columns))
    return (found.with_columns(score=pl.Series(system.score), yes=pl.Series(system.accepted)),)


def _placed(system: Search, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with the names of their queries and documents."""
    reference = system.reference
    names = (
        reference.queries["query"].gather(frame["query"]),
        reference.documents["document"].gather(frame["place"]).alias("place"),
    )
    times = [c for c in ("channel", "start", "end", "duration") if c in frame.columns]
    return pl.DataFrame(names).hstack(frame.select(times))


@right_of.register
def _(system: Online) -> Frames:
    label = _named(system.items["label"].to_numpy(), system.classes)
    found = pl.DataFrame({**_where(system, "stream"), "id": system.items["id"], "label": label})
    return (found.unique(),)  # runs with other seeds see the same items


@said_by.register
def _(system: Online) -> Frames:
    said = [c for c in system.items.columns if c.startswith(("decision_", "score_"))]
    items = pl.DataFrame({**_where(system, "seed", "stream"), "id": system.items["id"]})
    asked = system.questions.select("unit", "item").with_columns(pl.all().cast(pl.Int64))
    return items.hstack(system.items.select(said)), asked


def _where(system: Online, *names: str) -> dict[str, pl.Series]:
    """The names of the stream and the run of each item."""
    known = {"seed": system.seeds, "stream": system.streams}
    rows = system.items["unit"]
    return {n: pl.Series(known[n]).gather(system.batches[n].gather(rows)) for n in names}


@right_of.register
def _(system: Lifelong) -> Frames:
    times = pl.Series(system.test.times).gather(system.test.items["time"])
    return (pl.DataFrame({"id": system.test.items["id"], "time": times}),)


@said_by.register
def _(system: Lifelong) -> Frames:
    test = system.test
    of = {f"{p}.{n}": c for p, part in test.statistics.items() for n, c in part.items()}
    return (test.rows.hstack(pl.DataFrame(of)),)


def _ids(system: Trials) -> pl.Series:
    """Ids as text; places where there are none."""
    ids = np.arange(len(system.labels)) if system.ids is None else system.ids
    return pl.Series("id", ids).cast(pl.String)


def _named(
    labels: "np.ndarray[tuple[int], np.dtype[np.generic]]", classes: Sequence[str]
) -> pl.Series:
    """Labels by their names, numbers as they are."""
    found = pl.Series(labels)
    if not classes:
        return found.cast(pl.Float64)
    return pl.Series([*classes], dtype=pl.String).gather(found.cast(pl.Int64))


def _plain(column: pl.Series) -> pl.Series:
    """Numbers as float64 with one zero and one NaN (no value is NaN too), the rest as text."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return (column.cast(pl.Float64) + 0.0).fill_null(float("nan"))
    if column.dtype.is_nested():
        return column.map_elements(str, pl.String)
    return column.cast(pl.String).fill_null("")


def _pieces(column: pl.Series) -> Iterator[bytes]:
    """The bytes of a column: little-endian numbers, or lengths of texts and the texts."""
    if column.dtype == pl.Float64:
        values = column.to_numpy()
        yield np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes()
        return
    for start in range(0, len(column), ROWS):
        some = column[start : start + ROWS]
        yield some.str.len_bytes().to_numpy().astype("<u4").tobytes()
        yield some.str.join("")[0].encode()
