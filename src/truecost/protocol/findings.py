"""What a check of a split found: findings, the sets, and what was looked at.

A *leak* is what makes the figures of a split wrong: something of one set is in another one. A
*warning* is what makes them say less than they seem to; a *note* is what a reader should know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Kind = Literal["leak", "warning", "note"]

ORDER: tuple[Kind, ...] = ("leak", "warning", "note")
NO_ROWS = np.zeros(0, np.int64)
MOST_NAMED = 6  # sets that a message names


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    rule : str
        Id of the rule of `truecost list advice` that it belongs to.
    kind : {"leak", "warning", "note"}
    message : str
        What, how many, the first five with their places, and what to do.
    sets : tuple of str
        The sets that it is about.
    count : int
        How many there are (groups, samples, classes: the message says which).
    examples : tuple of str
        The first five, in the order of the rows, with the places of their rows.
    rows : ndarray of int64
        Every row that it is about, where it is about rows; not part of the JSON.
    """

    rule: str
    kind: Kind
    message: str
    sets: tuple[str, ...] = ()
    count: int = 0
    examples: tuple[str, ...] = ()
    rows: Ints = field(default_factory=NO_ROWS.copy, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What JSON says of it."""
        return {
            "rule": self.rule,
            "kind": self.kind,
            "message": self.message,
            "sets": [*self.sets],
            "count": self.count,
            "examples": [*self.examples],
        }


@dataclass(frozen=True, eq=False)
class SetSummary:
    """One set in figures.

    Attributes
    ----------
    name : str
        As the table has it.
    role : {"train", "dev", "eval", "fold"}
        What it is used for; folds are all used alike.
    groups : mapping of str to int
        Number of groups, by column.
    classes : mapping of str to int
        Number of samples of each class.
    """

    name: str
    role: str
    samples: int
    groups: Mapping[str, int] = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """What JSON says of it."""
        return {
            "name": self.name,
            "role": self.role,
            "samples": self.samples,
            "groups": dict(self.groups),
            "classes": dict(self.classes),
        }


@dataclass(frozen=True, eq=False)
class Checked:
    """A split that was checked.

    Attributes
    ----------
    sets : tuple of SetSummary
        Train, dev and eval first, then folds in their order.
    findings : tuple of Finding
        Leaks first, then warnings, then notes.
    looked_at, not_looked_at : tuple of str
        What can hide a leak, and whether it was looked at; for the latter, what to give.
    ids : ndarray of str
        Of all rows, so that `ids[finding.rows]` names them.
    """

    sets: tuple[SetSummary, ...]
    findings: tuple[Finding, ...]
    looked_at: tuple[str, ...]
    not_looked_at: tuple[str, ...]
    signature: str
    ids: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, object), repr=False)

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """The findings that are leaks."""
        return tuple(finding for finding in self.findings if finding.kind == "leak")

    def to_dict(self) -> dict[str, Any]:
        """What `truecost protocol check --json` prints, but for the inputs."""
        return {
            "schema_version": 1,
            "sets": [found.to_dict() for found in self.sets],
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
