"""`split`: samples into sets or folds, groups whole, classes and conditions spread evenly;
its file with the plan beside it, and whether a split is still the file that was written.

Four plans: sets with shares (train, dev, eval); folds for cross-validation; a held-out evaluation
set and folds of the rest; and, with either kind of folds, inner folds for the choices that are made
within each outer fold. `dealing.py` says what is made small and how.

Beside `split.csv` lies `split.csv.json`: the signature, what was asked for, how well it is spread,
and the hashes of what was read and written. Both are written, or none.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError
from truecost.formats import sha256
from truecost.formats.opening import json_text
from truecost.formats.publishing import publish
from truecost.formats.table import Table
from truecost.formats.writers import check_target, content_of, format_of
from truecost.names import real
from truecost.protocol import dealing, notes
from truecost.protocol.dealing import Balance, Profiles
from truecost.protocol.findings import Finding
from truecost.protocol.grouping import Axis, Units, axes_of, odd_groups, people, units_of
from truecost.protocol.notes import Note
from truecost.protocol.options import SplitPlan, SplitTable, plan_of
from truecost.protocol.samples import Marks, Samples, Texts
from truecost.version import __version__

HELD_OUT, REST = "eval", "train"  # sets of a plan with a held-out evaluation set and folds
KINDS = {"set": "sets", "inner": "inner folds"}  # of what is dealt; folds otherwise
FORMATS = ("csv", "tsv", "parquet", "ndjson", "npz")  # those that have room for any column


@dataclass(frozen=True, eq=False)
class Split:
    """Assignment of samples to sets or folds.

    Attributes
    ----------
    samples : Samples
        Samples that were split.
    plan : SplitPlan
        Options of the split.
    assignments : mapping of str to ndarray of str, shape (N,)
        Set or fold of each sample, for each new column (``set``, ``fold``, ``inner_1``, ...). The
        value is "" if the sample is in no set of the column.
    balances : mapping of str to Balance
        Sizes and deviations from the wanted shares, for each new column.
    units : Units
        Groups of samples that stay together.
    notes : tuple of Note
        Warnings about the split.
    """

    samples: Samples
    plan: SplitPlan
    assignments: Mapping[str, Texts]
    balances: Mapping[str, Balance]
    units: Units
    notes: tuple[Note, ...] = ()

    @property
    def signature(self) -> str:
        """Settings of the split in one line, with the version of truecost."""
        kept = "+".join(self.units.columns) or "none"
        label = ["label"] if self.samples.labels is not None else []
        strata = "+".join([*label, *self.plan.strata]) or "none"
        parts = (*self.plan.signature, f"group:{kept}", f"strata:{strata}")
        return "|".join(("split", *parts, f"seed:{self.plan.seed}", f"truecost:{__version__}"))

    @cached_property
    def table(self) -> Table:
        """The table of the samples, in its original order, with the new columns."""
        table = self.samples.table
        added = [
            pl.Series(name, values, dtype=pl.String).replace("", None)
            for name, values in self.assignments.items()
        ]
        return replace(table, frame=table.frame.with_columns(added))

    def to_dict(self) -> dict[str, Any]:
        """The split as a dictionary: the content of the JSON file that
        :func:`truecost.protocol.write_split` writes, without the hashes of the files.
        """
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


@dataclass
class _Work:
    """The units to be dealt, and those dealt so far."""

    samples: Samples
    units: Units
    axes: tuple[Axis, ...]
    profiles: Profiles
    seed: int
    assignments: dict[str, Texts] = field(default_factory=dict)
    balances: dict[str, Balance] = field(default_factory=dict)

    def deal(self, column: str, shares: Mapping[str, float], among: Marks, purpose: str) -> Texts:
        """Deal some of the units to named sets; the set of each unit, "" for the others."""
        # Sets in an order of their own, so that the order in which they are named means nothing.
        names = tuple(sorted(shares, key=lambda name: -shares[name]))
        wanted = np.array([shares[name] for name in names])
        own = self.profiles if among.all() else self.profiles.take(among)
        self.refuse_few(len(own), len(names), column)
        places = dealing.deal_shares(own, wanted, self.seed, purpose)
        place = {name: k for k, name in enumerate(names)}
        back = np.array([place[name] for name in shares])  # as they were named
        ranks = np.argsort(back)
        found = np.full(len(self.units), "", object)
        found[among] = np.array(names, object)[places]
        self.assignments[column] = found[self.units.codes]
        self.balances[column] = dealing.balance_of(
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
            f"{self.samples.table.source}: {people(self.units, units)} cannot fill "
            f"{what}{where}{why}: "
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
    """Split samples into sets or folds, so that related samples stay together.

    Samples are related if they share a level of a group column, have the same content, or come from
    the same source. Samples that are connected by such relations form a unit (statisticians:
    cluster), and all samples of a unit are in the same set. Without groups, contents and sources,
    each sample is a unit.

    The share of a set in all samples, in each class and in each level of a condition is close to
    the wanted share of the set (see :func:`truecost.protocol.dealing.deal_shares`). The result does
    not depend on the order of the rows.

    Parameters
    ----------
    samples : Samples
    shares : mapping of str to float, optional
        Share of the samples of each set; the shares sum to 1. Default: train 0.8, dev 0.1, eval
        0.1.
    folds : int, optional
        Number of folds, at least 2, instead of sets.
    inner : int, optional
        Number of inner folds. For each fold, the samples of all other folds are divided into inner
        folds. Default: no inner folds.
    held_out : float, optional
        Share of the samples in an evaluation set; only the other samples are divided into folds.
        Default: no such set.
    seed : int
        Seed, from 0 up. It only changes the order in which units of equal size are assigned.
    strata : sequence of str, optional
        Columns of conditions whose levels are distributed evenly. Default: all conditions of the
        samples.

    Raises
    ------
    UsageError
        If the options are invalid (shares that do not sum to 1, fewer than 2 folds), a condition
        does not exist, or the table already has one of the new columns.
    InputError
        If there are fewer units than sets, or each sample has a class of its own.

    Examples
    --------
    >>> import truecost as tc
    >>> samples = tc.protocol.Samples.from_arrays(
    ...     labels=["yes", "no"] * 6, groups={"speaker": [*"aabbccddeeff"]}
    ... )
    >>> found = tc.protocol.split(samples, folds=3)
    >>> found.signature
    'split|folds:3|group:speaker|strata:label|seed:0|truecost:0.2.0'
    >>> [(part.samples, part.units) for part in found.balances["fold"].parts]
    [(4, 2), (4, 2), (4, 2)]
    """
    names = [*samples.conditions] if strata is None else [*dict.fromkeys(strata)]
    named = None if shares is None else dict(shares)
    asked = SplitTable(shares=named, folds=folds, inner=inner, eval=held_out, seed=seed)
    plan = plan_of(asked, names)
    axes, units = axes_of(samples, names), units_of(samples)
    work = _Work(samples, units, axes, dealing.profiles_of(units.codes, axes), seed)
    for sets, column in ((plan.folds, "fold"), (plan.inner, "inner")):
        work.refuse_few(len(units), sets, column)  # before anything is made for each of them
    _refuse_columns(samples, plan)
    everyone = np.ones(len(units), bool)
    if plan.shares:
        work.deal("set", plan.shares, everyone, "sets")
    if plan.folds:
        _deal_folds(work, plan, everyone)
    first = next(iter(work.balances.values()))
    said = (
        *notes.notes_on_units(samples, units, work.profiles, first, odd_groups(samples)),
        *(
            note
            for column, found in work.balances.items()
            for note in notes.notes_on(column, found, units)
        ),
    )
    return Split(samples, plan, work.assignments, work.balances, units, said)


def _deal_folds(work: _Work, plan: SplitPlan, everyone: Marks) -> None:
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
            f"one: give it another name (truecost convert {samples.table.source} -o FILE "
            f"--map old_{there[0]}={there[0]})"
        )


def plan_path(path: str) -> str:
    """Path of the plan of a split."""
    return f"{path}.json"


def check_split_target(
    path: str, output_format: str | None, sources: tuple[str, ...] = (), *, force: bool = False
) -> str:
    """The format of a split's file, once nothing stands against it."""
    kind = format_of(path, output_format, FORMATS)
    if kind not in FORMATS:
        raise UsageError(
            f"{path}: a file of format {kind} cannot have the columns of a split: choose one of "
            f"{', '.join(FORMATS)}"
        )
    for place in (path, plan_path(path)):
        check_target(place, sources, force=force)
    if Path(path).is_dir():
        raise UsageError(f"{path}: is a folder: name a file")
    return kind


def write_split(
    split: Split, path: str, output_format: str | None = None, *, force: bool = False
) -> None:
    """Write the table of a split, and its plan as JSON.

    The table has the rows and columns of the input table, plus the new columns.

    Parameters
    ----------
    split : Split
    path : str
        Path of the table; a path that ends in .gz is compressed. The plan is written to the same
        path with .json added.
    output_format : {"csv", "tsv", "parquet", "ndjson", "npz"}, optional
        Format of the table. Default: derived from the file extension.
    force : bool
        Replace existing files. Default: an existing file is an error.

    Raises
    ------
    UsageError
        If the format is not possible, the path is a folder or the input file, or a file exists
        already.
    InputError
        If the format cannot store a value, or a file cannot be written.
    """
    source = split.samples.table.source
    check_split_target(path, output_format, (source,), force=force)
    content = content_of(split.table, path, output_format)
    plan = plan_text(split, (Path(path).name, content))
    # A link stays, and what it points to is replaced.
    publish({real(path): content, real(plan_path(path)): plan})


def plan_text(split: Split, written: tuple[str, bytes] | None = None) -> str:
    """The plan of a split as JSON; `written` is the name of its file and what is in it."""
    said: dict[str, Any] = {"truecost": __version__, **split.to_dict()}
    source = Path(split.samples.table.source)
    if source.is_file():
        said["input"] = {"file": source.name, "sha256": sha256(str(source))}
    if written is not None:
        said["output"] = {"file": written[0], "sha256": hashlib.sha256(written[1]).hexdigest()}
    return json_text(said)


def changed(path: str) -> tuple[Finding | None, str]:
    """Check whether a split file was changed after :func:`truecost.protocol.write_split` wrote it.

    The hash of the file is compared with the hash in its plan, the file PATH.json.

    Returns
    -------
    finding : Finding or None
        Warning if the file was changed.
    signature : str
        Signature of the split; empty if there is no plan.

    Raises
    ------
    InputError
        If the plan cannot be read.
    """
    beside = Path(plan_path(path))
    if not beside.is_file() or not Path(path).is_file():
        return None, ""
    try:
        plan = msgspec.json.decode(beside.read_bytes())
        wanted, signature = plan["output"]["sha256"], str(plan["signature"])
    except (
        OSError,
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        KeyError,
        TypeError,
    ) as error:
        raise InputError(
            f"{beside}: is not the plan of a split ({type(error).__name__}: {error}); move it "
            f"away, or write the split again"
        ) from error
    if wanted == sha256(path):
        return None, signature
    message = (
        f"{path} is not the file that truecost protocol split wrote: its hash is not the one in "
        f"{beside.name}; split again with this plan, or remove {beside.name} and state who made "
        f"the split"
    )
    return Finding("split-changed", "warning", message), signature
