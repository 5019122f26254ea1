"""`Online`: what a system said on its streams, what it asked, and what is right; labels as
codes.

A *batch* is what arrives together; a *stream* is a sequence of batches (a language, say); a *run*
is one pass of the method with its own seed. Each item of a batch is predicted before the system
adapts to the batch (`pre`, prequential) and afterwards (`post`, postquential).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.costs import HOUR
from truecost.core.factors import Factor
from truecost.core.measure import Array
from truecost.errors import counted
from truecost.task import Rows, named_labels

Kind = Literal["detection", "classes", "numbers"]
PHASES = ("pre", "post")
OWN = (
    *("unit", "id", "label", "answer"),
    *(f"{what}_{phase}" for what in ("decision", "score") for phase in PHASES),
)  # columns of the items; others come with the labels


@dataclass(frozen=True, eq=False, repr=False)
class Online(Rows):
    """Record of the event logs of one system: its runs and streams, with reference labels.

    Attributes
    ----------
    name : str
        Name of the system.
    kind : {"detection", "classes", "numbers"}
        Kind of the labels and outputs.
    classes : tuple of str
        Names of the classes. For detection, the class of nontargets, then that of targets. Empty
        for numbers.
    seeds : tuple of str
        Names of the runs (for example their seeds), sorted.
    streams : tuple of str
        Names of the streams, sorted.
    batches : polars.DataFrame
        One row for each batch of each run, sorted by `seed`, `stream` and `batch`.

        - `seed`, `stream`: positions in the attributes `seeds` and `streams`, from 0.
        - `batch`: number of the batch in the log.
        - `cpu_pre`, `gpu_pre`: seconds of CPU and GPU for the predictions before adaptation.
        - `cpu_rest`, `gpu_rest`: all other seconds of CPU and GPU of the batch.
    items : polars.DataFrame
        One row for each item of each run, in the order of the batches.

        - `unit`: row of the item's batch in `batches`.
        - `id`: name of the item.
        - `label`: reference label, as a position in `classes` (or a number).
        - `decision_pre`, `decision_post`: decision before and after adaptation, as a position in
          `classes` (or a number).
        - `score_pre`, `score_post`: score before and after adaptation.
        - `answer`: the person's answer in the item's own batch, coded as in `label`; null without
          an answer.
        - Further columns of the label file, for subsets.
    questions : polars.DataFrame
        One row for each question to the person.

        - `unit`: row of `batches` in which the system asked.
        - `item`: row of `items`; null if the system never predicted the item.
        - `seconds`: active time of the person in seconds; null if not measured.
        - `waited`: seconds from the question to the answer; 0 without an answer, null if the log
          contains no times.
    before : polars.DataFrame
        Annotations and computation before the streams, one row for each run, stream and set.

        - `seed`, `stream`: positions in the attributes `seeds` and `streams`, from 0.
        - `set`: origin of the labels: bootstrap, development, training or pretraining.
        - `count`: number of annotations.
        - `seconds`: active time of the person in seconds, summed over the timed annotations.
        - `timed`: number of annotations with a measured time.
        - `cpu`, `gpu`: seconds of CPU and GPU.
    phases : tuple of {"pre", "post"}
        Phases with predictions: `pre` is before adaptation to a batch, `post` is after it.
    about : mapping of str to str
        Further entries for the column `dims` of result rows, such as `strategy` and `budget`.
    signature : str
        Settings with which the logs were read, separated by `|`; part of the signature of each row.
    problems : tuple of str
        Warnings about the logs and labels.
    took : mapping of str to float
        Resources of all runs together, measured outside the event logs with `truecost resources`:
        `cpu` and `gpu` in hours, `memory` in GB-hours.
    timing : str
        Settings with which an annotation page measured the active time; empty without a page.
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
        """Numbers of items, batches, runs, streams and questions as text."""
        several = [(self.seeds, "run"), (self.streams, "stream")]
        of = " and ".join(counted(len(names), what) for names, what in several if len(names) > 1)
        said = f"{counted(len(self), 'item')} in {counted(self.batches.height, 'batch')}"
        return f"{said}{f' of {of}' if of else ''}; {counted(self.questions.height, 'question')}"

    def right(self) -> tuple[pl.DataFrame, ...]:
        """Reference labels of the items of each stream, as a tuple with one frame, which has the
        columns stream, id and label.

        The order of the rows has no meaning.
        """
        label = named_labels(self.items["label"].to_numpy(), self.classes)
        found = pl.DataFrame({**self._where("stream"), "id": self.items["id"], "label": label})
        return (found.unique(),)  # runs with other seeds see the same items

    def outputs(self) -> tuple[pl.DataFrame, ...]:
        """Outputs and questions of all runs, as a tuple of two frames.

        The order of the rows has no meaning.
        """
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
        """Total seconds of CPU or GPU in the batches, before the streams and in `took`.

        Parameters
        ----------
        key : {"cpu", "gpu"}
            Resource to add up.
        """
        of_events = (self.batches[f"{key}_pre"], self.batches[f"{key}_rest"], self.before[key])
        return sum(float(of.sum()) for of in of_events) + HOUR * self.took.get(key, 0.0)

    @cached_property
    def sizes(self) -> Array:
        """Number of items of each batch, in the order of `batches`."""
        return np.bincount(self.items["unit"].to_numpy(), minlength=self.batches.height)

    @cached_property
    def shared(self) -> bool:
        """Whether all runs have identical items in identical batches. If so, a bootstrap replicate
        draws the same batches for all runs.
        """
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
        """Batches as units of resampling: a tuple of the factor and, for each row of `batches`, the
        index of its unit.

        Units are in time order within each stream. Blocks of the moving-block bootstrap never cross
        the end of a stream. If `shared` is True, a unit is a batch of all runs; otherwise, each run
        has units of its own.
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
        """Columns that can define subsets, one row for each item.

        The columns are stream, seed, batch and the additional columns of the label file.
        """
        return pl.DataFrame(
            {
                **self._where("stream", "seed"),
                "batch": self.batches["batch"].gather(self.items["unit"]),
                **{name: self.items[name] for name in self.items.columns if name not in OWN},
            }
        )

    def take(self, mask: npt.NDArray[np.bool_]) -> "Online":
        """Record of a subset of the items.

        Batches without a selected item are left out. Annotations before a stream are included if
        the subset contains an item of this stream.

        Parameters
        ----------
        mask : ndarray of bool, shape (items,)
            True for the selected rows of `items`.
        """
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
        """Record without the last batch of each stream, if that batch is smaller than the first
        one.
        """
        ends = self.batches.with_columns(size=self.sizes).with_row_index("row")
        groups = ends.group_by("seed", "stream", maintain_order=True)
        found = groups.agg(
            first=pl.col("size").first(), last=pl.col("size").last(), row=pl.col("row").last()
        )
        short = found.filter(pl.col("last") < pl.col("first"))["row"]
        kept = ~ends["row"].is_in(short.implode())
        items, asked = (kept.gather(of["unit"]) for of in (self.items, self.questions))
        return self._part(items, kept, asked)
