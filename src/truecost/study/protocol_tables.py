"""The tables of the data protocol: spurious correlations, trainings of methods, and the ledger."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from truecost.options import Option
from truecost.study.tables import PartialTable


class SpuriousTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[spurious]`: predict the class from what should not tell it (paper 003, section 2.4).

    Attributes
    ----------
    samples : str, optional
        Table of samples: id, label, groups and conditions.
    map : dict of str to str
        Its columns by key: id, label, group.
    conditions : tuple of str
        Columns that should not tell the class: device, session, sex, duration.
    audio : str, optional
        Column with the path of the wav file of each sample; its non-speech part is listened to.
    vad : {"energy", "silero"}, optional
        What finds speech: energy unless given.
    model : {"logistic", "boosting"}, optional
        What predicts: logistic unless given.
    folds : int, optional
        Folds of whole groups that predictions are made across; 5 unless given.
    seed : int, optional
        Of the folds.
    """

    __table__: ClassVar[str] = "spurious"

    samples: Annotated[str | None, Option(help="Table of samples with their ids.", file=True)] = (
        None
    )
    map: dict[str, str] = msgspec.field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    audio: str | None = None
    vad: Literal["energy", "silero"] | None = None
    model: Literal["logistic", "boosting"] | None = None
    folds: int | None = None
    seed: int | None = None


class TrainingTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[training]`: how the runs of methods are made (paper 003, section 4.2).

    Attributes
    ----------
    commands : dict of str to tuple of str
        Of each method, by name: the program and its arguments, with the placeholders {train},
        {seed} and {out}.
    list : str, optional
        The training list: one row for each sample, with a header.
    group : str, optional
        Column of the list whose groups are drawn whole (speaker); rows unless given.
    seeds : int or tuple of int, optional
        How many seeds, or which.
    bootstraps : int, optional
        Training sets drawn with replacement from the list; the list itself unless given.
    seed : int, optional
        Of the draws of training sets.
    workers : int, optional
        Trainings that run at the same time.
    timeout : float, optional
        Seconds after which a training is ended.
    folder : str, optional
        Where the commands run: the folder of the study unless given. Not part of a result.
    """

    commands: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    list: str | None = None
    group: str | None = None
    seeds: int | tuple[int, ...] | None = None
    bootstraps: int | None = None
    seed: int | None = None
    workers: int | None = None
    timeout: float | None = None
    folder: str | None = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same table with every path of a file replaced by `place(path)`."""
        changed: dict[str, Any] = {
            name: place(getattr(self, name))
            for name in ("list", "folder")
            if getattr(self, name) is not None
        }
        if self.commands and self.folder is None:
            changed["folder"] = place("")
        return msgspec.structs.replace(self, **changed)


class LedgerTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[ledger]`: how often an evaluation set was scored (paper 003, section 2.1).

    Attributes
    ----------
    file : str, optional
        The ledger; `ledger.jsonl` beside the study unless given.
    kept : bool, optional
        Whether one is kept; true for studies from files unless given.
    purpose : {"evaluation", "development"}, optional
        What the data are for: evaluation unless given. Choices may be made on development data, so
        that nothing is warned of.
    """

    file: str | None = None
    kept: bool | None = None
    purpose: Literal["evaluation", "development"] | None = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same table with every path of a file replaced by `place(path)`."""
        return msgspec.structs.replace(self, file=None if self.file is None else place(self.file))
