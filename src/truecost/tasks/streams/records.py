"""`Online`: what a system said on its streams, what it asked, and what is right.

A *batch* is what arrives together; a *stream* is a sequence of batches (a language, say); a *run*
is one pass of the method with its own seed. Each item of a batch is predicted before the system
adapts to the batch (`pre`, prequential) and afterwards (`post`, postquential).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import Factor
from truecost.core.subsets import Masks, masks_of
from truecost.errors import InputError, counted, first_five
from truecost.task import named_labels

Array = npt.NDArray[Any]
Kind = Literal["detection", "classes", "numbers"]
PHASES = ("pre", "post")
OWN = (
    *("unit", "id", "label", "answer"),
    *(f"{what}_{phase}" for what in ("decision", "score") for phase in PHASES),
)  # columns of the items; others come with the labels
SUBSETS = ("stream", "seed", "batch")  # what items can always be told apart by


@dataclass(frozen=True, eq=False)
class Online:
    """The runs of one system over its streams.

    Attributes
    ----------
    kind : {"detection", "classes", "numbers"}
    classes : tuple of str
        (other, target) for detection; empty for numbers.
    seeds, streams : tuple of str
        Names of the runs and of the streams, sorted.
    batches : polars.DataFrame
        One row for each batch, sorted by `seed` and `stream` (places in the above) and `batch`
        (its number): `cpu_pre` (seconds of the predictions before adaptation) and `cpu_rest`.
    items : polars.DataFrame
        One row for each item in order of its batch: `unit` (row of `batches`), `id`, `label`,
        `decision_pre` and `decision_post` (codes of classes, or numbers), `score_pre` and
        `score_post`, `answer` (what the person answered in time for the postquential prediction;
        null otherwise), and the further columns of the labels.
    questions : polars.DataFrame
        One row for each question: `unit` (row of `batches`) in which it was asked, `item` (row of
        `items`; null where the item was never predicted) and the `seconds` that the person was
        active (null where unmeasured).
    before : polars.DataFrame
        What was done before the streams: `seed`, `stream`, `set`, the `count` of its annotations,
        their `seconds`, how many of them are `timed`, and seconds of `cpu`.
    phases : tuple of {"pre", "post"}
        Those that were predicted.
    about : mapping of str to str
        Further dims of the rows: `strategy`, `budget`.
    signature : str
        Choices made while reading, separated by bars.
    problems : tuple of str
        What a reader should know.
    cpu_s : float
        Seconds of CPU of the whole run that no event tells (records of `truecost resources`).
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
    cpu_s: float = 0.0
    item: ClassVar[str] = "item"
    task: ClassVar[str] = "stream"

    def __len__(self) -> int:
        return self.items.height

    @property
    def summary(self) -> str:
        """What there is, in a few words."""
        several = [(self.seeds, "run"), (self.streams, "stream")]
        of = " and ".join(counted(len(names), what) for names, what in several if len(names) > 1)
        said = f"{counted(len(self), 'item')} in {counted(self.batches.height, 'batch')}"
        return f"{said}{f' of {of}' if of else ''}; {counted(self.questions.height, 'question')}"

    def frames(self) -> tuple[tuple[pl.DataFrame, str], ...]:
        """The columns that subsets are told by, and what a row of them is."""
        return ((self.columns(), self.item),)

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

    @property
    def cpu_seconds(self) -> float:
        """Seconds of CPU that were recorded: in the events, before the streams, of whole runs."""
        told = self.batches.select(pl.col("cpu_pre").sum() + pl.col("cpu_rest").sum()).item()
        return float(told + self.before["cpu"].sum() + self.cpu_s)

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
        strata = units.select(columns[:-1])
        stratum = strata.unique().sort(columns[:-1]).with_row_index("code")
        codes = strata.join(stratum, on=columns[:-1], maintain_order="left")["code"]
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

    def columns(self) -> pl.DataFrame:
        """What subsets are made of: stream, seed, batch, and what came with the labels."""
        unit = self.items["unit"]
        return pl.DataFrame(
            {
                "stream": pl.Series(self.streams).gather(self.batches["stream"].gather(unit)),
                "seed": pl.Series(self.seeds).gather(self.batches["seed"].gather(unit)),
                "batch": self.batches["batch"].gather(unit),
                **{name: self.items[name] for name in self.items.columns if name not in OWN},
            }
        )

    def masks(self, subset: str | tuple[str, str]) -> Masks:
        """Name and items of each subset; UsageError and InputError as `masks_of` says."""
        return masks_of(self.columns(), subset, self.name, "item")

    def take(self, mask: npt.NDArray[np.bool_]) -> "Online":
        """The items of a subset, with what was annotated before the streams that it touches."""
        kept = pl.Series(mask)
        place = kept.cast(pl.Int64).cum_sum() - 1
        asked = self.questions.filter(pl.col("item").is_not_null())
        asked = asked.filter(kept.gather(asked["item"]))
        items = asked["item"]
        part = replace(
            self,
            items=self.items.filter(kept),
            questions=asked.with_columns(item=place.gather(items).cast(items.dtype)),
        )
        filled = part.sizes > 0
        seen = self.batches.filter(pl.Series(filled)).select("seed", "stream").unique()
        before = self.before.join(seen, on=["seed", "stream"], how="semi", maintain_order="left")
        return replace(part, before=before)._of_batches(filled)

    def _of_batches(self, filled: npt.NDArray[np.bool_]) -> "Online":
        """Some batches alone, with their items and the questions that were asked in them."""
        kept = pl.Series(filled)
        place = kept.cast(pl.Int64).cum_sum() - 1
        row = self.items["unit"]
        stays = kept.gather(row)
        row_place = stays.cast(pl.Int64).cum_sum() - 1
        items = self.items.filter(stays)
        asked = self.questions.filter(kept.gather(self.questions["unit"]))
        at = asked["item"]
        return replace(
            self,
            batches=self.batches.filter(kept),
            items=items.with_columns(unit=place.gather(items["unit"]).cast(row.dtype)),
            questions=asked.with_columns(
                unit=place.gather(asked["unit"]).cast(row.dtype),
                item=pl.when(stays.gather(at)).then(row_place.gather(at)).cast(at.dtype),
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
        return self._of_batches(~ends["row"].is_in(short.implode()).to_numpy())


def pair_online(systems: Sequence[Online]) -> list[Online]:
    """Systems that saw the same items in the same batches, these in one order.

    Raises
    ------
    UsageError
        When some systems are of another task.
    InputError
        When items, batches or labels do not agree.
    """
    first = systems[0]
    return [first, *(_alike(first, other) for other in systems[1:])]


def _alike(one: Online, other: Online) -> Online:
    """The other with its items in the order of the first."""
    named = f"{one.name} and {other.name}"
    for what in ("kind", "classes", "seeds", "streams", "phases"):
        a, b = getattr(one, what), getattr(other, what)
        if a != b:
            raise InputError(
                f"{named} have different {what} ({_said(a)} against {_said(b)}): only logs of the "
                f"same streams and runs can be compared item by item"
            )
    keys = ("seed", "stream", "batch")
    if not one.batches.select(keys).equals(other.batches.select(keys)):
        raise InputError(
            f"{named} have other batches ({counted(one.batches.height, 'batch')} "
            f"against {other.batches.height}): they must have seen the same stream"
        )
    if not one.items.select("unit", "id").equals(other.items.select("unit", "id")):
        other = _ordered(one, other)
    if not one.items["label"].equals(other.items["label"]):
        differ = one.items.filter(one.items["label"].ne_missing(other.items["label"]))["id"]
        raise InputError(
            f"{named} have other labels for {counted(len(differ), 'item')}: {first_five(differ)}"
        )
    return other


def _ordered(one: Online, other: Online) -> Online:
    """The items of the other in the order of the first; InputError where they are others."""
    keys = ["unit", "id"]
    found = one.items.select(keys).join(other.items, on=keys, how="inner", maintain_order="left")
    if found.height != max(one.items.height, other.items.height):
        lost = pl.concat(
            [
                one.items.select(keys).join(other.items, on=keys, how="anti"),
                other.items.select(keys).join(one.items, on=keys, how="anti"),
            ]
        )["id"].unique(maintain_order=True)
        raise InputError(
            f"{one.name} and {other.name} do not have the same items in the same batches: "
            f"{first_five(lost)}: only logs of one stream can be compared"
        )
    return replace(other, items=found.select(other.items.columns))


def _said(value: object) -> str:
    """Names, the first few."""
    return first_five(value) if isinstance(value, tuple) and value else str(value or "none")
