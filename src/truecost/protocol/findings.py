"""The findings of a check of a split, and the division of samples: sets, folds, nested plans.

A *leak* makes the figures of a split wrong: something of one set is in another one. A *warning*
makes them say less than they seem to; a *note* is what a reader should know. A set called train,
dev or eval, or one of their usual synonyms, has that role. Any other name is a fold: all folds are
used alike, each of them once to be judged on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.table import is_whole
from truecost.protocol.samples import Ints, Marks, Samples, Texts

Kind = Literal["leak", "warning", "note"]
ORDER: tuple[Kind, ...] = ("leak", "warning", "note")
NO_ROWS = np.zeros(0, np.int64)
MOST_NAMED = 6  # sets that a message names


@dataclass(frozen=True, eq=False)
class Finding:
    """One leak, warning or note that a check of a split found.

    Attributes
    ----------
    rule : str
        Id of the rule in `truecost list advice`.
    kind : {"leak", "warning", "note"}
        ``leak``: two sets share data, so results on this split are wrong; ``warning``: results are
        less reliable than they look; ``note``: further information.
    message : str
        Description of the finding: the number of cases, the first five with their files and lines,
        and the recommended action.
    sets : tuple of str
        Names of the sets concerned.
    count : int
        Number of cases. The message names what is counted: groups, samples or classes.
    examples : tuple of str
        First five cases, in the order of the rows, with their files and lines.
    rows : ndarray of int64
        Indices of all samples concerned; empty if the finding is not about single samples. Not part
        of the JSON output.
    """

    rule: str
    kind: Kind
    message: str
    sets: tuple[str, ...] = ()
    count: int = 0
    examples: tuple[str, ...] = ()
    rows: Ints = field(default_factory=NO_ROWS.copy, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The finding as a dictionary with all attributes except ``rows``."""
        return {name: value for name, value in vars(self).items() if name != "rows"}


@dataclass(frozen=True, eq=False)
class SetSummary:
    """Sizes of one set of a split.

    Attributes
    ----------
    name : str
        Name of the set.
    role : {"train", "dev", "eval", "fold"}
        Use of the set, derived from its name.
    samples : int
        Number of samples.
    groups : mapping of str to int
        Number of different groups (speakers, sessions) in each group column.
    classes : mapping of str to int
        Number of samples of each class.
    """

    name: str
    role: str
    samples: int
    groups: Mapping[str, int] = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Checked:
    """Result of the check of a split (:func:`truecost.protocol.check`).

    Attributes
    ----------
    sets : tuple of SetSummary
        Sizes of each set: train, dev and eval first, then the folds.
    findings : tuple of Finding
        Problems that the check found: leaks first, then warnings, then notes.
    looked_at : tuple of str
        Names of the checks that were done.
    not_looked_at : tuple of str
        Names of the checks that were not done, each with the option that it needs.
    signature : str
        Settings of the check in one line, with the version of truecost.
    ids : ndarray of str, shape (N,)
        Ids of all samples; `ids[finding.rows]` are the samples of a finding.
    set_of : ndarray of str, shape (N,)
        Name of the set of each sample; empty if the sample is in no set.
    use : mapping of str to float
        Expected share of each class in later use of the system; empty if it was not given.
    """

    sets: tuple[SetSummary, ...]
    findings: tuple[Finding, ...]
    looked_at: tuple[str, ...]
    not_looked_at: tuple[str, ...]
    signature: str
    ids: Texts = field(default_factory=lambda: np.zeros(0, object), repr=False)
    set_of: Texts = field(default_factory=lambda: np.zeros(0, object), repr=False)
    use: Mapping[str, float] = field(default_factory=dict)

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """The findings of the kind ``leak``."""
        return tuple(finding for finding in self.findings if finding.kind == "leak")

    def to_dict(self) -> dict[str, Any]:
        """The check as a dictionary: the JSON output of `truecost protocol check`, without its list
        of input files.
        """
        return {
            "schema_version": 1,
            "sets": [vars(found) for found in self.sets],
            "findings": [found.to_dict() for found in self.findings],
            "looked_at": [*self.looked_at],
            "not_looked_at": [*self.not_looked_at],
            "signature": self.signature,
        }


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Leaks first, then warnings, then notes; otherwise as they were found."""
    return tuple(sorted(findings, key=lambda found: ORDER.index(found.kind)))


def listing(names: Sequence[str]) -> str:
    """Names of sets: `train and eval`, `1, 2 and 3`, or how many there are."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} sets"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


ROLES: Mapping[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "dev": ("dev", "development", "valid", "validation", "val"),
    "eval": ("eval", "evaluation", "test", "testing"),
}
FOLD = "fold"
INNER = "inner_"
_ROLE_OF = {word: role for role, words in ROLES.items() for word in words}


@dataclass(frozen=True, eq=False)
class Division:
    """One way in which samples are divided: the names of the sets (train, dev and eval first, then
    the others, numbers in their order), their roles, and the set of each sample, shape (N,), -1
    where it is in none. `title` is empty for the sets, and says in messages what else it is.
    """

    title: str
    names: tuple[str, ...]
    roles: tuple[str, ...]
    codes: Ints

    @staticmethod
    def from_labels(labels: Texts, title: str = "") -> "Division":
        """The division that labels make; None is in no set."""
        column = pl.Series(labels.tolist(), dtype=pl.String)
        inside = column.is_not_null().to_numpy()
        found = column.drop_nulls().unique()
        whole = is_whole(found)

        def place(name: str) -> tuple[int, int, str]:
            role = [*ROLES, FOLD].index(role_of(name))
            return role, int(name) if whole else 0, name

        names = sorted(found.to_list(), key=place)
        codes = np.full(len(labels), -1, np.int64)
        known, own = encode(np.asarray(column.drop_nulls().to_numpy(), object))
        places = np.array([names.index(name) for name in known], np.int64)
        codes[inside] = places[own] if len(places) else own
        return Division(title, tuple(names), tuple(map(role_of, names)), codes)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def prefix(self) -> str:
        """The beginning of a message about it."""
        return f"{self.title}: " if self.title else ""

    def having(self, *roles: str) -> list[int]:
        """The sets that have one of these roles."""
        return [k for k, role in enumerate(self.roles) if role in roles]

    def called(self, place: int) -> str:
        """The name of a set in messages: `eval`, `fold 3`."""
        name = self.names[place]
        return f"{FOLD} {name}" if self.roles[place] == FOLD else name

    def listed(self, names: Sequence[str]) -> str:
        """Sets in messages: `train and eval`, `folds 1, 2 and 3`, or how many there are."""
        roles = {role_of(name) for name in names}
        if len(names) > MOST_NAMED or roles != {FOLD}:
            return listing(names)
        return f"{FOLD}{'s' * (len(names) > 1)} {listing(names)}"

    @property
    def judged(self) -> list[int]:
        """The sets that are reported: those of evaluation, else dev, else the folds."""
        return next(filter(None, (self.having(role) for role in ("eval", "dev", FOLD))), [])

    @property
    def learnt(self) -> list[int]:
        """The sets that are learnt from: train, and folds, which are so but for one."""
        return self.having("train", FOLD)

    def named(self, places: Any) -> tuple[str, ...]:
        """Names of sets."""
        return tuple(self.names[int(k)] for k in places)


def role_of(name: str) -> str:
    """Role of a set of this name: train, dev, eval or fold."""
    return _ROLE_OF.get(name.strip().lower(), FOLD)


def sets_of(samples: Samples) -> Division:
    """The sets of samples."""
    table = samples.table
    if samples.sets is None:
        raise UsageError(
            f"{table.source}: the column of the sets is not named: use --map set=COLUMN, or "
            f"give a file for each set, NAME=FILE; {table.listed}"
        )
    found = Division.from_labels(samples.sets)
    if len(found) < 2:
        column = samples.columns.get("set", "set")
        raise InputError(
            f"{table.source}: all samples are in one set ({found.names[0]}, column {column!r}): "
            f"a check needs two sets or more"
        )
    return found


def inner_divisions(samples: Samples, sets: Division, nested: bool | None) -> list[Division]:
    """The inner folds of a nested plan, columns inner_F for each fold F; where `nested` is left
    out, there are some when every fold has its column.
    """
    held, outer = [], sets
    if not sets.having(FOLD) and (folds := _folds_of_rest(samples, sets, nested)) is not None:
        held, outer = [folds], folds
    names = [outer.names[k] for k in outer.having(FOLD)]
    wanted = {fold: f"{INNER}{fold}" for fold in names}
    lacking = [column for column in wanted.values() if column not in samples.table.columns]
    if nested and (not names or (lacking and not held)):
        what = f"is no column {first_five(lacking)}" if lacking else "are no folds among the sets"
        raise UsageError(
            f"{samples.table.source}: --nested, but there {what}: a nested plan has a column "
            f"{INNER}F for each fold F, as truecost protocol split --inner writes them; "
            f"{samples.table.listed}"
        )
    if nested is False or lacking:
        return [] if nested is False else held
    return [*held, *(_inner(samples, outer, fold, column) for fold, column in wanted.items())]


def _folds_of_rest(samples: Samples, sets: Division, nested: bool | None) -> Division | None:
    """The column `fold` of a plan with a held-out set: a fold for all that is not held out."""
    if nested is False or FOLD not in samples.table.columns:
        return None
    texts, given = _fold_column(samples, sets, FOLD)
    if not given.any() or (given & np.isin(sets.codes, sets.having("eval"))).any():
        return None
    return Division.from_labels(texts, "folds")


def _fold_column(samples: Samples, sets: Division, column: str) -> tuple[Texts, Marks]:
    """A column of folds, None where it is empty or says the sample's own set: it is held out."""
    texts = samples.table.texts(column, "fold").to_numpy().copy()
    for place in sets.having("eval", "dev"):
        texts[(texts == sets.names[place]) & (sets.codes == place)] = None
    return texts, np.array([text is not None for text in texts], bool)


def _inner(samples: Samples, sets: Division, fold: str, column: str) -> Division:
    """The inner folds of one fold."""
    texts, given = _fold_column(samples, sets, column)
    inside = sets.codes == sets.names.index(fold)
    held = (sets.codes < 0) | np.isin(sets.codes, sets.having("eval", "dev"))
    wrong = np.flatnonzero((given & (inside | held)) | (~given & ~inside & ~held))
    if len(wrong):
        places = first_five(samples.table.where(int(row)) for row in wrong)
        raise InputError(
            f"{samples.table.source}: column {column!r} must be empty for samples of fold {fold} "
            f"(and of held-out sets) and filled for all others, but "
            f"{counted(len(wrong), 'sample', 'are')} not: {places}"
        )
    return Division.from_labels(texts, f"inner folds of fold {fold}")
