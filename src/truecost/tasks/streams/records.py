"""`Online`: what a system said on its streams, what it asked, and what is right; labels as
codes.

A *batch* is what arrives together; a *stream* is a sequence of batches (a language, say); a *run*
is one pass of the method with its own seed. Each item of a batch is predicted before the system
adapts to the batch (`pre`, prequential) and afterwards (`post`, postquential).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.costs import HOUR
from truecost.core.factors import Factor
from truecost.core.measure import Array
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.task import Rows, named_labels

Kind = Literal["detection", "classes", "numbers"]
PHASES = ("pre", "post")
OWN = (
    *("unit", "id", "label", "answer"),
    *(f"{what}_{phase}" for what in ("decision", "score") for phase in PHASES),
)  # columns of the items; others come with the labels


@dataclass(frozen=True, eq=False, repr=False)
class Online(Rows):
    """The runs of one system over its streams.

    Attributes
    ----------
    kind : {"detection", "classes", "numbers"}
    classes : tuple of str
        (other, target) for detection; empty for numbers.
    seeds, streams : tuple of str
        Names of the runs and of the streams, sorted.
    batches : polars.DataFrame
        Sorted by `seed` and `stream` (places in the above) and `batch` (its number): `cpu_pre`
        (seconds of the predictions before adaptation) and `cpu_rest`, `gpu_pre` and `gpu_rest`.
    items : polars.DataFrame
        In order of their batches: `unit` (row of `batches`), `id`, `label`, `decision_pre` and
        `decision_post` (codes of classes, or numbers), `score_pre` and `score_post`, `answer`
        (what the person answered in time for the postquential prediction; null otherwise), and the
        further columns of the labels.
    questions : polars.DataFrame
        `unit` (row of `batches`) in which it was asked, `item` (row of `items`; null where the
        item was never predicted), the `seconds` that the person was active (null where
        unmeasured) and `waited`, those until the answer came (0 without one, null where the log
        does not time it).
    before : polars.DataFrame
        What was done before the streams: `seed`, `stream`, `set`, the `count` of its annotations,
        their `seconds`, how many of them are `timed`, and seconds of `cpu` and `gpu`.
    phases : tuple of {"pre", "post"}
        Those that were predicted.
    about : mapping of str to str
        Further dims of the rows: `strategy`, `budget`.
    signature : str
        Choices made while reading, separated by bars.
    timing : str
        Settings of the active time on a page; empty if no page measured it.
    took : mapping of str to float
        What all runs took and no event tells (records of `truecost resources`): hours of `cpu` and
        `gpu`, GB-hours of `memory`.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    seeds: tuple[str, ...]
    streams: tuple[str, ...]
    batches: pl.DataFrame
    items: pl.DataFrame
    questions: pl.DataFrame
    before: pl.DataFrame
    phases: tuple[str, ...] = PHASES
    about: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    problems: tuple[str, ...] = ()
    took: Mapping[str, float] = field(default_factory=dict)
    timing: str = ""
    item: ClassVar[str] = "item"
    task: ClassVar[str] = "streams"

    def __len__(self) -> int:
        return self.items.height

    @property
    def summary(self) -> str:
        """The content in a few words."""
        several = [(self.seeds, "run"), (self.streams, "stream")]
        of = " and ".join(counted(len(names), what) for names, what in several if len(names) > 1)
        said = f"{counted(len(self), 'item')} in {counted(self.batches.height, 'batch')}"
        return f"{said}{f' of {of}' if of else ''}; {counted(self.questions.height, 'question')}"

    def right(self) -> tuple[pl.DataFrame, ...]:
        """The items of each stream with their labels, as a frame whose rows have no order."""
        label = named_labels(self.items["label"].to_numpy(), self.classes)
        found = pl.DataFrame({**self._where("stream"), "id": self.items["id"], "label": label})
        return (found.unique(),)  # runs with other seeds see the same items

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Outputs and questions of each run, as frames whose rows have no order."""
        said = [c for c in self.items.columns if c.startswith(("decision_", "score_"))]
        items = pl.DataFrame({**self._where("seed", "stream"), "id": self.items["id"]})
        asked = self.questions.select("unit", "item").with_columns(pl.all().cast(pl.Int64))
        return items.hstack(self.items.select(said)), asked

    def _where(self, *names: str) -> dict[str, pl.Series]:
        """The names of the stream and the run of each item."""
        known = {"seed": self.seeds, "stream": self.streams}
        rows = self.items["unit"]
        return {n: pl.Series(known[n]).gather(self.batches[n].gather(rows)) for n in names}

    def computing(self, key: str) -> float:
        """Seconds of `cpu` or `gpu` that were recorded: in the events, before the streams, of whole
        runs.
        """
        of_events = (self.batches[f"{key}_pre"], self.batches[f"{key}_rest"], self.before[key])
        return sum(float(of.sum()) for of in of_events) + HOUR * self.took.get(key, 0.0)

    @cached_property
    def sizes(self) -> Array:
        """Number of items of each batch."""
        return np.bincount(self.items["unit"].to_numpy(), minlength=self.batches.height)

    @cached_property
    def shared(self) -> bool:
        """Whether all runs have the same items in the same batches, so that batches are shared."""
        if len(self.seeds) < 2:
            return True
        keys = ["stream", "batch"]
        by_seed = (
            self.items.select(
                "id", *(self.batches[c].gather(self.items["unit"]) for c in ("seed", *keys))
            )
            .sort("seed", *keys, "id")
            .partition_by("seed", include_key=False, maintain_order=True)
        )
        return all(part.equals(by_seed[0]) for part in by_seed[1:])

    @cached_property
    def factor(self) -> tuple[Factor, npt.NDArray[np.int32]]:
        """The batches as units, in time order within each stream, and the unit of each batch.

        Moving blocks stay within a stream of a run, or of all runs where these share batches.
        """
        columns = ("stream", "batch") if self.shared else ("seed", "stream", "batch")
        named = self.batches.select(columns)
        units = named.unique().sort(columns)
        codes = units.select(pl.struct(columns[:-1]).rle_id()).to_series()  # they are sorted
        place = units.with_row_index("place")
        places = named.join(place, on=columns, maintain_order="left")["place"]
        labels = np.array([self._named(row) for row in units.iter_rows(named=True)])
        return (
            Factor("batch", labels, codes.to_numpy().astype(np.int64)),
            places.to_numpy().astype(np.int32),
        )

    def _named(self, row: Mapping[str, int]) -> str:
        """A batch in words that sort as time does."""
        seed = f"{self.seeds[row['seed']]}/" if "seed" in row else ""
        return f"{seed}{self.streams[row['stream']]}/{row['batch']:010d}"

    @property
    def frame(self) -> pl.DataFrame:
        """The columns of subsets: stream, seed, batch, and the columns of the labels."""
        return pl.DataFrame(
            {
                **self._where("stream", "seed"),
                "batch": self.batches["batch"].gather(self.items["unit"]),
                **{name: self.items[name] for name in self.items.columns if name not in OWN},
            }
        )

    def take(self, mask: npt.NDArray[np.bool_]) -> "Online":
        """The items of a subset, with what was annotated before the streams that it touches."""
        kept, unit, item = pl.Series(mask), self.items["unit"], self.questions["item"]
        filled = np.bincount(unit.filter(kept).to_numpy(), minlength=self.batches.height) > 0
        part = self._part(kept, pl.Series(filled), kept.gather(item).fill_null(value=False))
        seen = part.batches.select("seed", "stream").unique()
        before = self.before.join(seen, on=["seed", "stream"], how="semi", maintain_order="left")
        return replace(part, before=before)

    def _part(self, items: pl.Series, batches: pl.Series, asked: pl.Series) -> "Online":
        """Some batches with some of their items and questions; what of an item that is gone was
        asked has none.
        """
        unit, item = self.items["unit"].dtype, self.questions["item"].dtype
        batch_places, item_places = (
            (kept.cast(pl.Int64).cum_sum() - 1).set(~kept, None) for kept in (batches, items)
        )
        left, questions = self.items.filter(items), self.questions.filter(asked)
        return replace(
            self,
            batches=self.batches.filter(batches),
            items=left.with_columns(unit=batch_places.gather(left["unit"]).cast(unit)),
            questions=questions.with_columns(
                unit=batch_places.gather(questions["unit"]).cast(unit),
                item=item_places.gather(questions["item"]).cast(item),
            ),
        )

    def without_short_ends(self) -> "Online":
        """Without the last batch of each stream where it has fewer items than the first."""
        ends = self.batches.with_columns(size=self.sizes).with_row_index("row")
        groups = ends.group_by("seed", "stream", maintain_order=True)
        found = groups.agg(
            first=pl.col("size").first(), last=pl.col("size").last(), row=pl.col("row").last()
        )
        short = found.filter(pl.col("last") < pl.col("first"))["row"]
        kept = ~ends["row"].is_in(short.implode())
        items, asked = (kept.gather(of["unit"]) for of in (self.items, self.questions))
        return self._part(items, kept, asked)


NONE = -1


def texts_of(column: pl.Series) -> list[str]:
    """The different texts of a column, sorted."""
    return sorted(column.drop_nulls().unique().cast(pl.String).to_list())


def code_of(column: pl.Series, codes: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """The code of each text of a column; -1 where there is none.

    Only the different texts are looked at as texts where the column holds categories.
    """
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.Categorical)
    found = column.unique().drop_nulls()
    places = found.to_physical().to_numpy().astype(np.int64)
    table = np.full(int(places.max(initial=-1)) + 2, NONE, np.int32)
    table[places] = [codes.get(text, NONE) for text in found.cast(pl.String)]
    physical = column.to_physical().fill_null(len(table) - 1).to_numpy()
    return np.asarray(table[physical])


def numbered(column: pl.Series, unnamed: str) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """The sorted names of a column and the place of each row's; `unnamed` where it has none."""
    names = texts_of(column)
    if not column.null_count():
        return tuple(names), code_of(column, {text: place for place, text in enumerate(names)})
    every = sorted({*names, unnamed})
    codes = code_of(column, {text: place for place, text in enumerate(every)})
    return tuple(every), np.where(codes == NONE, every.index(unnamed), codes).astype(np.int32)


PAIRS = (("0", "1"), ("nontarget", "target"), ("false", "true"), ("reject", "accept"))
DECIDED = tuple(f"decision_{phase}" for phase in PHASES)


@dataclass(frozen=True)
class Naming:
    """How texts become codes: detection, classes (in the order of the codes) or numbers.

    Detection of one class among several has a `target`: every other text is the other class.
    """

    kind: Kind
    classes: tuple[str, ...]
    target: str | None = None
    source: str = "log"

    @property
    def signature(self) -> str:
        """Its form in signatures."""
        target = f"|target:{self.target}" if self.target is not None else ""
        return f"kind:{self.kind}{target}"

    def coded(self, items: pl.DataFrame) -> pl.DataFrame:
        """The items with codes (or numbers) for labels and decisions."""
        named = {c: "label" if c == "label" else "decision" for c in ("label", *DECIDED)}
        return items.with_columns(
            self.code(items[c], what, items["id"])
            for c, what in named.items()
            if c in items.columns
        )

    def code(self, texts: pl.Series, what: str, ids: pl.Series) -> pl.Series:
        """Codes of texts (int32; numbers as float64), null where there is none."""
        if self.kind == "numbers":
            return self._numbers(texts, what, ids)
        codes = {text: code for code, text in enumerate(self.classes)}
        if self.kind == "detection":
            present = texts_of(texts)
            codes |= {text: said for text in present if (said := plain(text)) is not None}
            if self.target is not None and (self.target in present or set(present) - set(codes)):
                codes = {text: int(text == self.target) for text in present}
        found = pl.Series(texts.name, code_of(texts, codes))
        if found.min() == NONE:
            found = found.set(texts.is_null(), None)
            self._refuse(found == NONE, texts, what, ids)
        return found

    def _numbers(self, texts: pl.Series, what: str, ids: pl.Series) -> pl.Series:
        """The numbers that texts are."""
        found = texts.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        known = found.is_finite().fill_null(False)
        self._refuse(texts.is_not_null() & ~known, texts, what, ids)
        return found

    def _refuse(self, wrong: pl.Series, texts: pl.Series, what: str, ids: pl.Series) -> None:
        """Refuse texts that are not what is wanted, naming the first item."""
        if not wrong.any():
            return
        others = texts.filter(wrong).unique(maintain_order=True)
        wanted = "finite numbers" if self.kind == "numbers" else ", ".join(self.classes)
        hint = "" if self.kind == "numbers" else " (--classes, --target)"
        raise InputError(
            f"{self.source}: {what} {first_five(others)}, the first of item "
            f"{ids.filter(wrong)[0]}: expected {wanted}{hint}"
        )


def plain(text: str) -> int | None:
    """1 for a text that says target, 0 for one that says nontarget, None for any other."""
    bare = text.strip().casefold().removesuffix(".0")
    for pair in PAIRS:
        if bare in pair:
            return pair.index(bare)
    return None


def naming_of(
    items: pl.DataFrame,
    target: str | None,
    classes: Sequence[str],
    *,
    numbers: bool,
    source: str,
) -> Naming:
    """The kind of the labels of some items."""
    if numbers:
        if target is not None or classes:
            raise UsageError("numbers have no target and no classes: leave out one or the other")
        return Naming("numbers", (), source=source)
    present = texts_of(items["label"])
    decided = sorted({text for c in DECIDED if c in items.columns for text in texts_of(items[c])})
    if target is not None:
        if target not in present:
            raise InputError(
                f"{source}: no item has the target label {target!r}; the labels are "
                f"{first_five(present)}"
            )
        words = [t for t in decided if plain(t) is None]
        _refuse_strange(words, present, source)
        _refuse_unknown(words, {*present, *classes}, source)
        return Naming("detection", ("other", target), target, source)
    if not classes and all(plain(text) is not None for text in present):
        return Naming("detection", PAIRS[0], source=source)
    found = tuple(classes) or tuple(sorted({*present, *decided}))
    if len(found) < 2:
        raise InputError(
            f"{source}: the only label is {first_five(found)}: two classes are needed at least "
            f"(name the target with --target, or the classes with --classes)"
        )
    if len(set(found)) < len(found):
        raise UsageError(f"classes {', '.join(found)}: name each once")
    _refuse_strange(decided, present, source)
    folded = {text.strip().casefold() for text in present}
    near = [t for t in decided if t not in present and t.strip().casefold() in folded]
    _refuse_unknown(near, {*present, *classes}, source)
    return Naming("classes", found, source=source)


def _refuse_unknown(decided: Sequence[str], known: Collection[str], source: str) -> None:
    """Refuse a decision that is no label, and most often one that is spelled in another way."""
    for text in decided:
        if text not in known:
            hint = near(text.strip(), sorted(known))
            raise InputError(
                f"{source}: decision {text!r} is no label{hint}: the labels are "
                f"{first_five(sorted(known))}; a class that no item has is named with --classes"
            )


def _refuse_strange(decided: Sequence[str], present: Sequence[str], source: str) -> None:
    """Refuse decisions of which none is a label: they are written in another way."""
    if decided and not set(decided) & set(present):
        raise InputError(
            f"{source}: no decision is one of the labels: decisions are {first_five(decided)}, "
            f"labels {first_five(present)}: write both alike (or name the target with --target and "
            f"decide 1 or 0)"
        )
