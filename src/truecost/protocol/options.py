"""The options of the data protocol: splits, checks, spurious correlations, trainings, ledger; and
`SplitPlan`, the checked plan of a split.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from truecost.errors import UsageError, counted
from truecost.names import Estimator, joined, number_pairs, pairs, words
from truecost.options import FOLDS, PRIOR, SEED, Option, PartialTable, check

Model = Literal["logistic", "boosting"]
Vad = Literal["energy", "silero"]
SHARES: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "eval": 0.1}  # unless anything is given


def keys_of(keys: str, whose: str = "", group: str = "Data") -> Option:
    """The columns of samples by their keys."""
    return Option(f"Columns{whose}, as KEY=COLUMN,...: {keys}.", read=pairs, group=group)


def conditions_of(which: str, group: str = "Data") -> Option:
    """Columns of conditions."""
    return Option(f"Columns {which}", read=words, group=group)


class SpuriousTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[spurious]`: predict the class from what should not tell it (Ferrer et al. 2024, section
    2.4).
    """

    __table__: ClassVar[str] = "spurious"
    __group__: ClassVar[str] = "Samples"

    samples: Annotated[str | None, Option("Table of samples with their ids.", file=True)] = None
    map: Annotated[
        dict[str, str],
        keys_of("id, label, group (a+b for several)", " of the samples", group=""),
    ] = msgspec.field(default_factory=dict)
    conditions: Annotated[
        tuple[str, ...],
        conditions_of(
            "that should not predict the class, comma-separated: device,session,sex,duration.", ""
        ),
    ] = ()
    audio: Annotated[
        str | None,
        Option(
            "Column with the wav file of each sample, relative to the folder of the table; the "
            "part without speech is analysed."
        ),
    ] = None
    vad: Annotated[
        Vad | None,
        Option(
            "Detector of speech; silero needs the extra vad.", default="energy", needs={"audio": ()}
        ),
    ] = None
    model: Annotated[
        Model | None,
        Option(
            "Kind of predictor; boosting finds interactions, and needs the extra learn.",
            default="logistic",
        ),
    ] = None
    folds: Annotated[
        int | None,
        replace(
            FOLDS,
            help="Number of folds for cross-fitted predictions; all samples of a group are in one "
            "fold. --seed also decides the folds.",
        ),
    ] = None
    seed: Annotated[int | None, replace(SEED, help="Seed of the folds.")] = None


class TrainingTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[training]`: how the runs of methods are made (Ferrer et al. 2024, section 4.2)."""

    __table__: ClassVar[str] = "training"

    commands: Annotated[
        dict[str, tuple[str, ...]],
        Option(
            "Program and arguments of each method, by name, with the placeholders {train}, "
            "{seed} and {out}."
        ),
    ] = msgspec.field(default_factory=dict)
    list: Annotated[
        str | None, Option("Training list: one row for each sample, with a header.", file=True)
    ] = None
    group: Annotated[
        str | None,
        Option("Column of the list whose groups are drawn whole (speaker).", shown="rows"),
    ] = None
    seeds: Annotated[
        int | tuple[int, ...] | None, Option("Number of seeds, or the seeds.", default=1)
    ] = None
    bootstraps: Annotated[
        int | None,
        Option(
            "Number of training sets that are drawn with replacement from the list.",
            shown="the list itself",
            ge=2,
        ),
    ] = None
    seed: Annotated[
        int | None, Option("Seed of the draws of training sets.", default=0, shown="0", ge=0)
    ] = None
    workers: Annotated[
        int | None, Option("Number of trainings at the same time.", shown="all cores", ge=1)
    ] = None
    timeout: Annotated[
        float | None,
        Option(
            "Seconds after which a training is ended.",
            shown="never",
            gt=0,
            le=1e8,  # three years; systems cannot wait for 1e10
        ),
    ] = None
    folder: Annotated[
        str | None,
        Option(
            "Working folder of the commands; not part of a result.",
            shown="that of the study",
            file=True,
        ),
    ] = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The table with each path replaced; commands run in the folder of the study."""
        found = super().moved(place)
        if self.commands and self.folder is None:
            return msgspec.structs.replace(found, folder=place(""))
        return found


class MethodsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[methods]`: files of runs over seeds and training sets, in place of `[systems]`."""

    __table__: ClassVar[str] = "methods"

    files: Annotated[
        tuple[str, ...],
        Option(
            "Files of runs: PATH, a pattern such as runs/*.csv, or NAME= either of these.",
            file=True,
            sided="NAME=FILE or FILE",
        ),
    ] = ()
    runs: Annotated[
        tuple[str, ...],
        Option(
            "Column that distinguishes runs (seed), or two columns, the training sets last "
            "(seed+training: both are resampled), or the word file if each file is "
            "a run. A column that --hold names is not resampled.",
            read=joined,
        ),
    ] = ()
    column: Annotated[
        str | None,
        Option("Column that names the method of each row, instead of NAME=PATH.", flag="methods"),
    ] = None
    compare: Annotated[bool | None, Option("Compare each method with the first.")] = None
    estimator: Annotated[
        Estimator | None,
        Option("Compare the means of runs (mean), or one run of each (run).", default="mean"),
    ] = None


class LedgerTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[ledger]`: how often an evaluation set was scored (Ferrer et al. 2024, section 2.1)."""

    __table__: ClassVar[str] = "ledger"

    file: Annotated[
        str | None, Option("File of the ledger.", shown="ledger.jsonl beside the study", file=True)
    ] = None
    kept: Annotated[bool | None, Option("Keep a ledger.", shown="yes for studies from files")] = (
        None
    )
    purpose: Annotated[
        Literal["evaluation", "development"] | None,
        Option(
            "Purpose of the data; choices on development data raise no warning.",
            default="evaluation",
        ),
    ] = None


class SplitTable(PartialTable, frozen=True, kw_only=True):
    """The parts that samples are split into: sets, or folds where these are asked for."""

    __group__: ClassVar[str] = "Split"

    map: Annotated[
        dict[str, str], keys_of("id, label, group (a+b for several), source, content")
    ] = msgspec.field(default_factory=dict)
    conditions: Annotated[
        tuple[str, ...],
        conditions_of(
            "of conditions to spread evenly over the sets, comma-separated; numbers by quartile."
        ),
    ] = ()
    shares: Annotated[
        dict[str, float] | None,
        Option(
            "Share of each set, as NAME=SHARE,...; they sum to 1.",
            shown="train=0.8,dev=0.1,eval=0.1",
            read=number_pairs,
            gt=0,
        ),
    ] = None
    folds: Annotated[
        int | None, Option("Number of folds for cross-validation, instead of sets.", ge=2)
    ] = None
    inner: Annotated[
        int | None,
        Option(
            "Number of inner folds in the training part of each fold, for choices such as "
            "hyperparameters (nested cross-validation).",
            ge=2,
        ),
    ] = None
    eval: Annotated[
        float | None,
        Option(
            "Share of the samples to hold out as an evaluation set; folds divide the rest.",
            gt=0,
            lt=1,
        ),
    ] = None
    seed: Annotated[
        int | None, replace(SEED, help="Seed of the order of groups of equal size.")
    ] = None


class CheckTable(PartialTable, frozen=True, kw_only=True):
    """The choices of a check of a split."""

    __group__: ClassVar[str] = "Copies"

    map: Annotated[
        dict[str, str], keys_of("id, label, set, group (a+b for several), source, content")
    ] = msgspec.field(default_factory=dict)
    conditions: Annotated[
        tuple[str, ...],
        conditions_of("of conditions, comma-separated; every set should have all of their levels."),
    ] = ()
    nested: Annotated[
        bool | None,
        Option(
            "Check the inner folds of a nested plan too.",
            shown="if there are any",
            group="Data",
            negative="--no-nested",
        ),
    ] = None
    features: Annotated[
        str | None,
        Option(
            "Feature columns (f* for all that begin with f), or a file with a row for each "
            "sample, to find near copies."
        ),
    ] = None
    near: Annotated[
        float | None,
        Option(
            "Largest distance of a near copy; unrelated samples are about 1 apart.",
            default=0.1,
            ge=0,
            lt=1,
        ),
    ] = None
    files: Annotated[
        str | None,
        Option("Column with paths of files to compare by content; wav files by their samples."),
    ] = None
    audio: Annotated[
        str | None,
        Option("Column with paths of wav files, to find shared stretches and near copies."),
    ] = None
    shared: Annotated[
        tuple[str, ...],
        Option(
            "Group column whose groups may be in several sets, because the system will know them "
            "in use; may be repeated.",
            split=True,
        ),
    ] = ()
    prior: Annotated[
        float | None, replace(PRIOR, help="Prior probability of the target in use.", group="Use")
    ] = None
    priors: Annotated[
        dict[str, float] | None,
        Option(
            "Prior of each class in use, as CLASS=P,...", group="Use", read=number_pairs, ge=0, le=1
        ),
    ] = None


@dataclass(frozen=True)
class SplitPlan:
    """Options of a split.

    Attributes
    ----------
    shares : mapping of str to float
        Share of the samples of each set; empty if the samples are split into folds.
    folds, inner : int
        Number of folds, and of inner folds for each fold; 0 for none.
    held_out : float, optional
        Share of the samples in an evaluation set that belongs to no fold. Default: no such set.
    seed : int
        Seed of the assignment.
    strata : tuple of str
        Columns of conditions whose levels are distributed evenly, in addition to the classes.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    folds: int = 0
    inner: int = 0
    held_out: float | None = None
    seed: int = 0
    strata: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the split adds to the table: ``set``, ``fold``, ``inner_1``,
        ...
        """
        sets = ("set",) if self.shares or self.held_out is not None else ()
        inner = (f"inner_{k}" for k in range(1, self.folds + 1) if self.inner)
        return (*sets, *(("fold",) if self.folds else ()), *inner)

    @property
    def signature(self) -> tuple[str, ...]:
        """Settings of the plan, such as ``folds:5``, for the signature of the split."""
        sets = "+".join(f"{name}={share:g}" for name, share in self.shares.items())
        parts = {
            "sets": sets,
            "eval": "" if self.held_out is None else f"{self.held_out:g}",
            "folds": str(self.folds or ""),
            "inner": str(self.inner or ""),
        }
        return tuple(f"{key}:{value}" for key, value in parts.items() if value)

    def to_dict(self) -> dict[str, Any]:
        """The plan as a dictionary; options that were not given are left out."""
        found = {key: getattr(self, key) for key in ("shares", "folds", "inner", "held_out")}
        given = {key: value for key, value in found.items() if value}
        return {**given, "seed": self.seed, "strata": [*self.strata]}


def plan_of(asked: SplitTable, strata: Sequence[str]) -> SplitPlan:
    """A plan, refused (UsageError) where it makes no sense; see `split`."""
    check(asked)
    common: dict[str, Any] = {"seed": asked.seed or 0, "strata": tuple(strata)}
    if asked.folds is None:
        _refuse_without_folds(asked.inner, asked.eval)
        return SplitPlan(_checked(SHARES if asked.shares is None else asked.shares), **common)
    if asked.shares is not None:
        raise UsageError(
            "shares of sets and folds exclude each other: give --shares or --folds; a held-out "
            "evaluation set beside folds is --eval SHARE"
        )
    return SplitPlan({}, int(asked.folds), int(asked.inner or 0), asked.eval, **common)


def _refuse_without_folds(inner: int | None, held_out: float | None) -> None:
    """Refuse what goes with folds only."""
    if inner is not None:
        raise UsageError("--inner needs --folds: inner folds divide the training part of each fold")
    if held_out is not None:
        raise UsageError(
            f"--eval needs --folds; without folds, give the share of the evaluation set: "
            f"--shares train={1 - held_out:.6g},eval={held_out:g}"
        )


def _checked(shares: Mapping[str, float]) -> dict[str, float]:
    """Shares that are above 0 and sum to 1."""
    if len(shares) < 2:
        raise UsageError(f"--shares has {counted(len(shares), 'set')}: a split has at least 2")
    for name in shares:
        if not name or name != name.strip():
            raise UsageError(f"set name {name!r}: write a word, such as train")
    total = math.fsum(shares.values())
    if abs(total - 1) > 1e-9:
        right = ",".join(f"{name}={share / total:.6g}" for name, share in shares.items())
        raise UsageError(f"the shares sum to {total:.6g}, not to 1: change them, such as {right}")
    return {name: float(share) for name, share in shares.items()}
