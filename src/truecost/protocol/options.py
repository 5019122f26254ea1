"""What the data protocol leaves open: splits, checks, spurious correlations, trainings, ledger."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import msgspec

from truecost.names import number_pairs, pairs, words
from truecost.options import FOLDS, PRIOR, SEED, Option, PartialTable

Model = Literal["logistic", "boosting"]
Vad = Literal["energy", "silero"]


class SpuriousTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[spurious]`: predict the class from what should not tell it (paper 003, section 2.4)."""

    __table__: ClassVar[str] = "spurious"
    __group__: ClassVar[str] = "Samples"

    samples: Annotated[str | None, Option(help="Table of samples with their ids.", file=True)] = (
        None
    )
    map: Annotated[
        dict[str, str],
        Option(
            help="Columns of the samples, as KEY=COLUMN,...: id, label, group (a+b for several).",
            read=pairs,
        ),
    ] = msgspec.field(default_factory=dict)
    conditions: Annotated[
        tuple[str, ...],
        Option(
            help="Columns that should not tell the class, comma-separated: "
            "device,session,sex,duration.",
            read=words,
        ),
    ] = ()
    audio: Annotated[
        str | None,
        Option(
            help="Column with the path of the wav file of each sample, from the folder of the "
            "samples; its non-speech part is listened to."
        ),
    ] = None
    vad: Annotated[
        Vad | None,
        Option(
            help="What finds speech; silero needs the extra vad.",
            default="energy",
            needs={"audio": ()},
        ),
    ] = None
    model: Annotated[
        Model | None,
        Option(
            help="What predicts; boosting follows interactions, and needs the extra learn.",
            default="logistic",
        ),
    ] = None
    folds: Annotated[
        int | None,
        replace(
            FOLDS,
            help="Folds of whole groups that predictions are made across; the seed deals them too.",
        ),
    ] = None
    seed: Annotated[int | None, replace(SEED, help="Seed of the folds.")] = None


class TrainingTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[training]`: how the runs of methods are made (paper 003, section 4.2)."""

    __table__: ClassVar[str] = "training"

    commands: Annotated[
        dict[str, tuple[str, ...]],
        Option(
            help="Program and arguments of each method, by name, with the placeholders {train}, "
            "{seed} and {out}."
        ),
    ] = msgspec.field(default_factory=dict)
    list: Annotated[
        str | None,
        Option(help="Training list: one row for each sample, with a header.", file=True),
    ] = None
    group: Annotated[
        str | None,
        Option(help="Column of the list whose groups are drawn whole (speaker).", shown="rows"),
    ] = None
    seeds: Annotated[
        int | tuple[int, ...] | None, Option(help="Number of seeds, or the seeds.", default=1)
    ] = None
    bootstraps: Annotated[
        int | None,
        Option(
            help="Number of training sets that are drawn with replacement from the list.",
            shown="the list itself",
            ge=2,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(help="Seed of the draws of training sets.", default=0, shown="0", ge=0),
    ] = None
    workers: Annotated[
        int | None,
        Option(help="Trainings that run at the same time.", shown="all cores", ge=1),
    ] = None
    timeout: Annotated[
        float | None,
        Option(
            help="Seconds after which a training is ended.",
            shown="never",
            gt=0,
            le=1e8,  # three years; systems cannot wait for 1e10
        ),
    ] = None
    folder: Annotated[
        str | None,
        Option(
            help="Folder where the commands run; not part of a result.",
            shown="that of the study",
            file=True,
        ),
    ] = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same with every path replaced; commands run in the folder of the study."""
        found = super().moved(place)
        if self.commands and self.folder is None:
            return msgspec.structs.replace(found, folder=place(""))
        return found


class LedgerTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[ledger]`: how often an evaluation set was scored (paper 003, section 2.1)."""

    __table__: ClassVar[str] = "ledger"

    file: Annotated[
        str | None,
        Option(help="File of the ledger.", shown="ledger.jsonl beside the study", file=True),
    ] = None
    kept: Annotated[
        bool | None, Option(help="Keep a ledger.", shown="yes for studies from files")
    ] = None
    purpose: Annotated[
        Literal["evaluation", "development"] | None,
        Option(
            help="Purpose of the data; choices may be made on development data, without a warning.",
            default="evaluation",
        ),
    ] = None


class SplitTable(PartialTable, frozen=True, kw_only=True):
    """What samples are split into: sets, unless folds are asked for."""

    __group__: ClassVar[str] = "Split"

    map: Annotated[
        dict[str, str],
        Option(
            help="Columns, as KEY=COLUMN,...: id, label, group (a+b for several), source, content.",
            group="Data",
            read=pairs,
        ),
    ] = msgspec.field(default_factory=dict)
    conditions: Annotated[
        tuple[str, ...],
        Option(
            help="Columns of conditions to spread evenly too, comma-separated; numbers by their "
            "quartiles.",
            group="Data",
            read=words,
        ),
    ] = ()
    shares: Annotated[
        dict[str, float] | None,
        Option(
            help="Share of each set, as NAME=SHARE,...; they sum to 1.",
            shown="train=0.8,dev=0.1,eval=0.1",
            read=number_pairs,
            gt=0,
        ),
    ] = None
    folds: Annotated[
        int | None, Option(help="Number of folds for cross-validation, in place of sets.", ge=2)
    ] = None
    inner: Annotated[
        int | None,
        Option(
            help="Number of inner folds of the rest of each fold, for choices (nested "
            "cross-validation).",
            ge=2,
        ),
    ] = None
    eval: Annotated[
        float | None,
        Option(
            help="Share of an evaluation set that is held out before the rest is dealt to folds.",
            gt=0,
            lt=1,
        ),
    ] = None
    seed: Annotated[
        int | None, replace(SEED, help="Seed of the order of groups of equal size.")
    ] = None


class CheckTable(PartialTable, frozen=True, kw_only=True):
    """What a check of a split looks for."""

    __group__: ClassVar[str] = "Copies"

    map: Annotated[
        dict[str, str],
        Option(
            help="Columns, as KEY=COLUMN,...: id, label, set, group (a+b for several), source, "
            "content.",
            group="Data",
            read=pairs,
        ),
    ] = msgspec.field(default_factory=dict)
    conditions: Annotated[
        tuple[str, ...],
        Option(
            help="Columns of conditions that every set should have, comma-separated.",
            group="Data",
            read=words,
        ),
    ] = ()
    nested: Annotated[
        bool | None,
        Option(
            help="Check the inner folds of a nested plan too.",
            shown="where they are there",
            group="Data",
            negative="--no-nested",
        ),
    ] = None
    features: Annotated[
        str | None,
        Option(
            help="Columns (f* for all that begin with f), or a file with a row for each sample."
        ),
    ] = None
    near: Annotated[
        float | None,
        Option(
            help="Largest distance of a near copy; unrelated samples are about 1 apart.",
            default=0.1,
            ge=0,
            lt=1,
        ),
    ] = None
    files: Annotated[
        str | None,
        Option(help="Column of paths of files to compare; wav files by their samples."),
    ] = None
    audio: Annotated[
        str | None,
        Option(
            help="Column of paths of wav files, of which shared stretches and near copies are "
            "looked for."
        ),
    ] = None
    shared: Annotated[
        tuple[str, ...],
        Option(
            help="Group column that sets may share, because it is known in use; may be repeated.",
            split=True,
        ),
    ] = ()
    prior: Annotated[
        float | None, replace(PRIOR, help="Prior of the target in use.", group="Use")
    ] = None
    priors: Annotated[
        dict[str, float] | None,
        Option(
            help="Prior of each class in use, as CLASS=P,...",
            group="Use",
            read=number_pairs,
            ge=0,
            le=1,
        ),
    ] = None
