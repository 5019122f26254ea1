"""`split`: samples into sets or folds, groups whole, classes and conditions spread evenly.

Four plans: sets with shares (train, dev, eval); folds for cross-validation; a held-out evaluation
set and folds of the rest; and, with either kind of folds, inner folds for the choices that are made
within each outer fold. `dealing.py` says what is made small and how.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError
from truecost.formats.table import Table
from truecost.protocol.dealing import Balance, Profiles, balance_of, deal_shares, profiles_of
from truecost.protocol.grouping import Axis, Units, axes_of, odd_groups, people, units_of
from truecost.protocol.planning import (
    HELD_OUT,
    REST,
    SHARES,
    Note,
    SplitPlan,
    notes_on,
    notes_on_units,
    plan_of,
)
from truecost.protocol.samples import Samples
from truecost.version import __version__

__all__ = ["SHARES", "Note", "Split", "SplitPlan", "split"]
Texts = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """A split of samples.

    Attributes
    ----------
    plan : SplitPlan
        What was asked for.
    assignments : mapping of str to ndarray of str, shape (N,)
        By column: `set`, `fold`, `inner_1`, ...; "" where a sample has no place in it.
    balances : mapping of str to Balance
        How well each column is spread.
    units : Units
        What was kept whole.
    notes : tuple of Note
        What a reader should know.
    """

    samples: Samples
    plan: SplitPlan
    assignments: Mapping[str, Texts]
    balances: Mapping[str, Balance]
    units: Units
    notes: tuple[Note, ...] = ()

    @property
    def signature(self) -> str:
        """How the split was made, in one line."""
        kept = "+".join(self.units.columns) or "none"
        label = ["label"] if self.samples.labels is not None else []
        strata = "+".join([*label, *self.plan.strata]) or "none"
        parts = (*self.plan.signature, f"group:{kept}", f"strata:{strata}")
        return "|".join(("split", *parts, f"seed:{self.plan.seed}", f"truecost:{__version__}"))

    @cached_property
    def table(self) -> Table:
        """The table that was read, in its order, with a column for each assignment."""
        table = self.samples.table
        added = [
            pl.Series(name, values, dtype=pl.String).replace("", None)
            for name, values in self.assignments.items()
        ]
        return replace(table, frame=table.frame.with_columns(added))

    def to_dict(self) -> dict[str, Any]:
        """The plan that is stored beside a split."""
        return {
            "schema_version": 1,
            "signature": self.signature,
            "plan": self.plan.to_dict(),
            "samples": len(self.samples),
            "units": {
                "number": len(self.units),
                "columns": dict(zip(self.units.columns, self.units.levels, strict=True)),
            },
            "columns": {name: balance.to_dict() for name, balance in self.balances.items()},
            "notes": [note.to_dict() for note in self.notes],
        }


KINDS = {"set": "sets", "inner": "inner folds"}  # of what is dealt; folds otherwise


@dataclass
class _Work:
    """What is dealt, and what has been."""

    samples: Samples
    units: Units
    axes: tuple[Axis, ...]
    profiles: Profiles
    seed: int
    assignments: dict[str, Texts] = field(default_factory=dict)
    balances: dict[str, Balance] = field(default_factory=dict)

    def deal(
        self, column: str, shares: Mapping[str, float], among: npt.NDArray[np.bool_], purpose: str
    ) -> Texts:
        """Deal some of the units to named sets; the set of each unit, "" for the others."""
        # Sets in an order of their own, so that the order in which they are named means nothing.
        names = tuple(sorted(shares, key=lambda name: -shares[name]))
        wanted = np.array([shares[name] for name in names])
        own = self.profiles if among.all() else self.profiles.of(among)
        self.refuse_few(len(own), len(names), column)
        places = deal_shares(own, wanted, self.seed, purpose)
        place = {name: k for k, name in enumerate(names)}
        back = np.array([place[name] for name in shares])  # as they were named
        ranks = np.argsort(back)
        found = np.full(len(self.units), "", object)
        found[among] = np.array(names, object)[places]
        self.assignments[column] = found[self.units.codes]
        self.balances[column] = balance_of(
            own, ranks[places], wanted[back], tuple(shares), self.axes
        )
        return found

    def refuse_few(self, units: int, sets: int, column: str) -> None:
        """Refuse more sets than units."""
        if units >= sets:
            return
        what = f"{sets} {KINDS.get(column, 'folds')}"
        where = f" within outer fold {column.removeprefix('inner_')}" if "_" in column else ""
        why = f" ({self.units.joined})" if self.units.joined else ""
        raise InputError(
            f"{self.samples.table.source}: {people(self.units, units)} for {what}{where}{why}: "
            f"each lies in one as a whole; "
            + (f"use at most {units}" if units > 1 else "there is nothing to split")
        )


def split(
    samples: Samples,
    *,
    shares: Mapping[str, float] | None = None,
    folds: int | None = None,
    inner: int | None = None,
    held_out: float | None = None,
    seed: int = 0,
    strata: Sequence[str] | None = None,
) -> Split:
    """Split samples into sets or folds.

    A unit is what hangs together over the group columns, over copies (`content`) and over what was
    made of one another (`source`); it lies in one set as a whole. Without any of these, every
    sample is a unit. The classes, the levels of the conditions and the samples themselves are
    spread as the shares say, as far as whole units allow: `truecost.protocol.dealing` gives the
    objective. The same samples, in any order of rows, and the same seed give the same split.

    Parameters
    ----------
    shares : mapping of str to float, optional
        Share of each set; they sum to 1. Train 0.8, dev 0.1, eval 0.1 unless anything is given.
    folds : int, optional
        Number of folds, at least 2, in place of sets.
    inner : int, optional
        Number of inner folds of what is left of each outer fold.
    held_out : float, optional
        Share of an evaluation set that is held out before the rest is dealt to folds.
    seed : int
        From 0 up; it decides among units of equal size only.
    strata : sequence of str, optional
        Conditions that are spread too; all of `samples` when left out.

    Raises
    ------
    UsageError
        When the plan is none: shares that do not sum to 1, less than 2 folds, and so on; when a
        condition is not known, or the table has a column that is to be written.
    InputError
        When there are fewer units than sets, or every label is another one.

    Examples
    --------
    >>> import truecost as tc
    >>> samples = tc.protocol.Samples.of(
    ...     labels=["yes", "no"] * 6, groups={"speaker": [*"aabbccddeeff"]}
    ... )
    >>> found = tc.protocol.split(samples, folds=3)
    >>> found.signature
    'split|folds:3|group:speaker|strata:label|seed:0|truecost:0.1.0'
    >>> [(part.samples, part.units) for part in found.balances["fold"].parts]
    [(4, 2), (4, 2), (4, 2)]
    """
    names = [*samples.conditions] if strata is None else [*dict.fromkeys(strata)]
    plan = plan_of(shares, folds, inner, held_out, seed, names)
    axes, units = axes_of(samples, names), units_of(samples)
    work = _Work(samples, units, axes, profiles_of(units.codes, axes), seed)
    for sets, column in ((plan.folds, "fold"), (plan.inner, "inner")):
        work.refuse_few(len(units), sets, column)  # before anything is made for each of them
    _refuse_columns(samples, plan)
    everyone = np.ones(len(units), bool)
    if plan.shares:
        work.deal("set", plan.shares, everyone, "sets")
    if plan.folds:
        _deal_folds(work, plan, everyone)
    first = next(iter(work.balances.values()))
    notes = (
        *notes_on_units(samples, units, work.profiles, first, odd_groups(samples)),
        *(
            note
            for column, found in work.balances.items()
            for note in notes_on(column, found, units)
        ),
    )
    return Split(samples, plan, work.assignments, work.balances, units, notes)


def _deal_folds(work: _Work, plan: SplitPlan, everyone: npt.NDArray[np.bool_]) -> None:
    """The held-out set if there is one, the folds of the rest, and the inner folds of each."""
    rest = everyone
    if plan.held_out is not None:
        shares = {REST: 1 - plan.held_out, HELD_OUT: plan.held_out}
        rest = work.deal("set", shares, everyone, "held out") == REST
    outer = work.deal("fold", _equal(plan.folds), rest, "folds")
    if plan.inner:
        for k in range(1, plan.folds + 1):
            among = rest & (outer != str(k))
            work.deal(f"inner_{k}", _equal(plan.inner), among, f"inner {k}")
    if plan.held_out is not None:  # said, so that no reader takes it for a fold
        fold = work.assignments["fold"]
        work.assignments["fold"] = np.where(fold == "", HELD_OUT, fold)


def _equal(k: int) -> dict[str, float]:
    """Folds 1 to k."""
    return {str(number): 1 / k for number in range(1, k + 1)}


def _refuse_columns(samples: Samples, plan: SplitPlan) -> None:
    """Refuse a table that has a column which is to be written."""
    there = [name for name in plan.columns if name in samples.table.columns]
    if there:
        raise UsageError(
            f"{samples.table.source}: there is a column {there[0]!r} already, and a split writes "
            f"one: give it another name (truecost convert --map old_{there[0]}={there[0]})"
        )
