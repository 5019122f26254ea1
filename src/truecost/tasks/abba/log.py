"""The log of a deployment: each of its columns read and checked when it is first asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.digits import figure
from truecost.errors import InputError, TruecostError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import filled, refuse_repeated, unit_columns
from truecost.tasks.abba.records import (
    ARMS,
    LABEL_WORDS,
    NO_CHANCE,
    Floats,
    LogRows,
    Mask,
    Traffic,
    read_users,
)

if TYPE_CHECKING:
    from truecost.tasks.abba.columns import LogOptions

NO_SCORE = (
    "every item needs the score of both models; if a model finds nothing offline, write -inf or a "
    "score below its threshold"
)
KINDS = ("score", "accept")  # what the two models say: columns score_a and score_b, or accept_...
PARTS = (  # everything that may be at fault, in the order in which it is looked at
    *(
        "ids",
        "arm",
        "a",
        "b",
        "rejected_a",
        "rejected_b",
        "label",
        "machine",
        "inclusion",
        "seconds",
    ),
    *("judged", "units", "strata", "traffic"),
)


@dataclass(frozen=True, eq=False)
class Model:
    """The scores or decisions of one of the two models for each of the N items."""

    accepts: Mask
    scores: Floats | None = None  # None where only decisions are known
    threshold: float | None = None  # deployed; the least score collected where it was not given


@dataclass(frozen=True, eq=False)
class Log:
    """The columns of a log, each read and checked when it is first asked for."""

    table: Table
    options: "LogOptions"
    users: Table | None = None  # every unit and its arm

    def faults(self) -> Iterator[tuple[str, TruecostError]]:
        """Each part that cannot be used, and why; what one fault spoils fails for the same."""
        for part in PARTS:
            try:
                getattr(self, part)
            except TruecostError as error:
                yield part, error

    @cached_property
    def ids(self) -> pl.Series:
        """Ids as text; the places of the rows ("row 0") without a column."""
        column = self.options.column("id", self.table)
        if column is None:
            return pl.select(pl.format("row {}", pl.int_range(len(self.table)))).to_series()
        ids = self.rows.ids if self.rows.ids is not None else self.table.texts(column, "id")
        places = ids.is_not_null().arg_true()
        refuse_repeated(
            self.table.source,
            ids[places],
            "each item occurs once",
            lambda row: self.table.where(int(places[row])),
        )
        LogRows(self.table).refuse(ids.is_null().to_numpy(), ("id", "are", "empty"))
        return ids

    @cached_property
    def rows(self) -> LogRows:
        """The rows, named by their ids where there are some."""
        column = self.options.column("id", self.table)
        known = column in self.table.frame.columns
        return LogRows(self.table, self.table.texts(str(column), "id") if known else None)

    @cached_property
    def arm(self) -> npt.NDArray[np.uint8]:
        """The model that collected each item, 0 for A and 1 for B; both must have some."""
        column = self._needed("collected_by")
        what = f"collected by neither A nor B (column {column!r})"
        arm = self.rows.arms(column, "collected_by", ("item", "were", what))
        for k, model in enumerate(ARMS):
            if not (arm == k).any():
                raise InputError(
                    f"{self.table.source}: no item was collected by {model}: AB/BA needs both arms"
                )
        return arm

    @cached_property
    def kind(self) -> str:
        """Whether scores or decisions count: those that are mapped, else those found by name."""
        named = [k for k in KINDS if all(f"{k}_{arm}" in self.table.columns for arm in "ab")]
        found = self.options.mapped_kinds or named
        if not found:
            raise UsageError(
                f"{self.table.source}: no columns have the scores of both models; "
                f"{self.table.listed}: name them with --map score_a=COLUMN,score_b=COLUMN, or "
                f"accept_a and accept_b where only decisions are known"
            )
        return found[0]

    @cached_property
    def a(self) -> Model:
        """The scores or decisions of A for each item."""
        return self._model(0)

    @cached_property
    def b(self) -> Model:
        """The scores or decisions of B for each item."""
        return self._model(1)

    def _model(self, k: int) -> Model:
        name, given = ARMS[k], self.options.thresholds[k]
        key = f"{self.kind}_{name.lower()}"
        column = self._needed(key)
        if self.kind == "score":
            scores = self.table.numbers(column, key)
            said = ("score", "are", f"missing or infinite (column {column!r}, model {name})")
            self.rows.refuse(~(scores < np.inf), said, NO_SCORE, scores)  # -inf: finds nothing
            if given is None:  # the least that it collected
                own = self.arm == k
                hint = (
                    f"{name} collects no item with such a score; correct it, or leave the item out"
                )
                self.rows.refuse(own & np.isinf(scores), said, hint, scores)
                given = scores[own].min()
            return Model(scores >= given, scores, float(given))
        if given is not None:
            raise UsageError(
                f"--threshold-{name.lower()} is for scores, and column {column!r} has "
                f"decisions: map score_a and score_b, or leave it out"
            )
        codes, texts, _ = self.rows.coded(column, key, LABEL_WORDS)
        what = f"neither 1 nor 0 (column {column!r}: whether {name} accepts)"
        self.rows.refuse(np.isnan(codes), ("decision", "are", what), values=texts)
        return Model(codes == 1)

    @cached_property
    def rejected_a(self) -> Mask:
        """Items that A collected and rejects offline."""
        return self._rejected(0, self.a)

    @cached_property
    def rejected_b(self) -> Mask:
        """Items that B collected and rejects offline."""
        return self._rejected(1, self.b)

    def _rejected(self, k: int, model: Model) -> Mask:
        own = self.arm == k
        bad: Mask = own & ~model.accepts
        if bad.any() and self.options.mismatch == "error":
            option, below, cause, mend = f"--threshold-{ARMS[k].lower()}", "", "", "the decisions"
            if model.scores is not None:
                below = f", below its threshold {model.threshold}"
                cause = f", scores are rounded, or {option} is not the deployed one"
                mend = f"the scores or {option}"
            raise InputError(
                f"{self.table.source}: {self._share(k, bad)} rejected offline{below}: "
                f"{self.rows.places(np.flatnonzero(bad), model.scores)}; the model decides "
                f"differently offline and online{cause}: correct {mend}, or leave these items out "
                f"with --mismatch drop"
            )
        if (bad == own).all():
            raise InputError(
                f"{self.table.source}: all items collected by {ARMS[k]} are rejected by it "
                f"offline: nothing is left with --mismatch drop"
            )
        return bad

    def _share(self, k: int, bad: Mask) -> str:
        """The number of items of an arm, and their share."""
        own = int((self.arm == k).sum())
        many, share = int(bad.sum()), figure(bad.sum() / own, "%")
        are = "is" if many == 1 else "are"
        return f"{many} of {counted(own, 'item')} collected by {ARMS[k]} ({share}) {are}"

    @cached_property
    def label(self) -> Floats:
        """1, 0, or NaN where nobody labelled an item; NaN everywhere without a column."""
        column = self.options.column("label", self.table)
        if column is None:
            return np.full(len(self.table), np.nan)
        codes, texts, unknown = self.rows.coded(column, "label", LABEL_WORDS)
        what = f"neither 0 nor 1 (column {column!r})"
        hint = (
            "1 is a true accept and 0 a false one (--target names another label of a true one; for "
            "abba select, target under [data] of a study file does); leave the cell empty where "
            "there is no label"
        )
        self.rows.refuse(unknown, ("label", "are", what), hint, texts)
        return codes

    @cached_property
    def machine(self) -> Floats | None:
        """The machine's probability for each item; None without a column."""
        column = self.options.column("machine", self.table)
        if column is None:
            return None
        scores = self.table.numbers(column, "machine")
        refuse, noun = self.rows.refuse, "machine score"
        hint = "every item needs one, or leave them all out"
        refuse(~np.isfinite(scores), (noun, "are", "missing or infinite"), hint, scores)
        if not self.options.raw_machine:
            hint = "turn scores into probabilities first: truecost abba calibrate"
            refuse((scores < 0) | (scores > 1), (noun, "lie", "outside 0 to 1"), hint, scores)
        return scores

    @cached_property
    def inclusion(self) -> Floats | None:
        """Probability of being chosen for a label; NaN may stand where there is no label."""
        column = self.options.column("inclusion", self.table)
        if column is None:
            return None
        chances = self.rows.chances(column)
        lacking = np.isnan(chances) & ~np.isnan(self.label)
        hint = "write 1 where all items were labelled"
        self.rows.refuse(lacking, ("item", "have", NO_CHANCE), hint)
        return chances

    @cached_property
    def seconds(self) -> Floats | None:
        """Seconds that a person took for each label; NaN where a cell is empty."""
        column = self.options.column("active_seconds", self.table)
        if column is None:
            return None
        found = self.table.numbers(column, "active_seconds")
        wrong = ~np.isnan(found) & ~((found >= 0) & np.isfinite(found))
        self.rows.refuse(wrong, ("time", "are", "below 0 or infinite"), "seconds are meant", found)
        return found

    @cached_property
    def judged(self) -> bool:
        """Whether anything is known of the truth; a log without is refused."""
        known = self.machine is not None or not np.isnan(self.label).all()
        if not (known or self.options.unlabelled):
            raise InputError(
                f"{self.table.source}: there are neither labels nor machine scores: map them "
                f"(--map label=COLUMN, --map machine=COLUMN), or give a file of labels (--labels "
                f"FILE); choose items to label with truecost abba select"
            )
        return known

    @cached_property
    def units(self) -> dict[str, tuple[npt.NDArray[Any], ...]]:
        """The user or device of each item, by the name of its column; empty without."""
        column = self.options.column("unit", self.table)
        if column is None:
            return {}
        if "+" in column:
            raise UsageError(
                f"--map unit={column}: an item has one unit (user or device): map one column"
            )
        return unit_columns(self.table, {"unit": column})

    @cached_property
    def strata(self) -> pl.Series | None:
        """Stratum of each item; None without a column."""
        column = self.options.column("stratum", self.table)
        return None if column is None else filled(self.table, column, "stratum")

    @cached_property
    def seen(self) -> pl.DataFrame | None:
        """Each unit once for each arm in which it collected; None without units."""
        if not self.units:
            return None
        units = filled(self.table, next(iter(self.units)), "unit")
        return pl.DataFrame({"unit": units, "arm": self.arm}).unique().sort("unit", "arm")

    @cached_property
    def traffic(self) -> Traffic:
        """Exposures and numbers of units, held against the units of the log."""
        given, units, users = self.options, self.options.units, self._listed()
        if units is None:
            return Traffic(given.exposure, units, given.split, users)
        seen, noun = self.arm, "item"
        if self.seen is not None:
            seen, noun = self.seen["arm"].to_numpy(), "unit"
        for number, found, model in zip(units, np.bincount(seen, minlength=2), ARMS, strict=True):
            if number < found:
                raise UsageError(
                    f"--units-{model.lower()} is {int(number)}, but the log has "
                    f"{counted(int(found), noun)} in arm {model}: count every unit of the arm, "
                    f"also "
                    "units without accepted items"
                )
        return Traffic(given.exposure, (int(units[0]), int(units[1])), given.split, users)

    def _listed(self) -> pl.DataFrame | None:
        """Every user, held against the units of the log."""
        if self.users is None:
            return None
        if self.seen is None:
            raise UsageError(
                f"{self.users.source}: a list of users needs the unit of each item: name it "
                f"with --map unit=COLUMN"
            )
        if self.options.units is not None:
            raise UsageError("a list of users has their number: leave out --units-a, --units-b")
        if self.options.exposure is not None and "exposure" in self.users.columns:
            raise UsageError(
                f"{self.users.source} has the exposure of each user: leave out --exposure-a and "
                f"--exposure-b, or the column"
            )
        users = read_users(self.users, self.options.columns)
        absent = self.seen.join(users, on=["unit", "arm"], how="anti").sort("unit", "arm")
        if absent.height:
            shown = first_five(f"{unit} ({ARMS[arm]})" for unit, arm in absent.iter_rows())
            raise InputError(
                f"{self.users.source}: {counted(absent.height, 'unit')} of {self.table.source} not "
                f"listed in the arm that collected their items: {shown}; list every unit of each "
                "arm, also units without accepted items"
            )
        return users

    def _needed(self, key: str) -> str:
        column = self.options.column(key, self.table)
        if column is None:
            raise UsageError(
                f"{self.table.source}: there is no column for {key}; {self.table.listed}: "
                f"name it with --map {key}=COLUMN"
            )
        return column

    @property
    def signature(self) -> str:
        """Choices made while reading."""
        said = ["accepts"] if self.kind == "accept" else []
        for model, name, given in zip((self.a, self.b), "ab", self.options.thresholds, strict=True):
            if model.threshold is not None:
                value = "least" if given is None else f"{model.threshold:.10g}"
                said.append(f"threshold-{name}:{value}")
        if self.options.mismatch != "error":
            said.append(f"mismatch:{self.options.mismatch}")
        return "|".join(said)

    def problems(self) -> Iterator[str]:
        """Warnings about the log."""
        for k, model in enumerate((self.a, self.b)):
            if model.threshold is not None and self.options.thresholds[k] is None:
                yield (
                    f"the deployed threshold of {ARMS[k]} was not given. The lowest score that "
                    f"{ARMS[k]} collected is used, {model.threshold:.10g}, so it cannot be checked "
                    f"that {ARMS[k]} accepts offline what it collected; use "
                    f"--threshold-{ARMS[k].lower()}"
                )
        for k, bad in enumerate((self.rejected_a, self.rejected_b)):
            if bad.any():
                yield f"{self._share(k, bad)} rejected offline: left out (--mismatch drop)"
        unused = [f"accept_{arm}" for arm in "ab" if f"accept_{arm}" in self.table.columns]
        if self.kind == "score" and unused and not self.options.mapped_kinds:
            yield f"scores decide; {', '.join(unused)} are not used (map them to use them)"
        if self.seen is not None:
            yield from self._oddities(self.seen, self.traffic.users)

    def _oddities(self, seen: pl.DataFrame, users: pl.DataFrame | None) -> Iterator[str]:
        """Units that collected in both arms, or without any exposure."""
        both = seen.filter(pl.col("unit").is_duplicated())["unit"].unique().sort()
        if len(both):
            yield (
                f"{len(both)} of {counted(seen['unit'].n_unique(), 'unit')} collected in both arms "
                f"({first_five(both)}): units were not randomised as wholes, or have several "
                f"devices; the items of one are resampled together"
            )
        if users is None:
            return
        idle = seen.join(users.filter(pl.col("exposure") == 0), on=["unit", "arm"])
        if idle.height:
            yield (
                f"{counted(idle.height, 'unit', 'have')} items but the exposure 0 "
                f"({first_five(idle.sort('unit', 'arm')['unit'])}): the A/B-only estimate counts "
                f"the items all the same"
            )
