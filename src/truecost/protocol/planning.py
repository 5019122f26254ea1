"""`SplitPlan`: what a split is to be, checked, and what a reader of a split should know."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truecost.core.digits import figure
from truecost.errors import UsageError, counted, first_five
from truecost.options import check
from truecost.protocol.dealing import Balance, Profiles
from truecost.protocol.grouping import Units
from truecost.protocol.options import SplitTable
from truecost.protocol.samples import Samples

SHARES: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "eval": 0.1}  # unless anything is given


HELD_OUT, REST = "eval", "train"  # sets of a plan with a held-out evaluation set and folds


@dataclass(frozen=True)
class SplitPlan:
    """What a split is to be.

    Attributes
    ----------
    shares : mapping of str to float
        Share of each set; empty for folds.
    folds : int
        Number of folds; 0 for sets.
    inner : int
        Number of inner folds; 0 for none.
    held_out : float, optional
        Share of the evaluation set that is held out of the folds.
    strata : tuple of str
        Conditions that are spread besides the classes.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    folds: int = 0
    inner: int = 0
    held_out: float | None = None
    seed: int = 0
    strata: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it writes."""
        sets = ("set",) if self.shares or self.held_out is not None else ()
        inner = (f"inner_{k}" for k in range(1, self.folds + 1) if self.inner)
        return (*sets, *(("fold",) if self.folds else ()), *inner)

    @property
    def signature(self) -> tuple[str, ...]:
        """Its part of the signature."""
        sets = "+".join(f"{name}={share:g}" for name, share in self.shares.items())
        parts = {
            "sets": sets,
            "eval": "" if self.held_out is None else f"{self.held_out:g}",
            "folds": str(self.folds or ""),
            "inner": str(self.inner or ""),
        }
        return tuple(f"{key}:{value}" for key, value in parts.items() if value)

    def to_dict(self) -> dict[str, Any]:
        """Every option that is given."""
        found: dict[str, Any] = {"shares": dict(self.shares), "folds": self.folds}
        found |= {"inner": self.inner, "held_out": self.held_out}
        given = {key: value for key, value in found.items() if value}
        return {**given, "seed": self.seed, "strata": [*self.strata]}


def plan_of(
    shares: Mapping[str, float] | None,
    folds: int | None,
    inner: int | None,
    held_out: float | None,
    seed: int,
    strata: Sequence[str],
) -> SplitPlan:
    """A plan, refused (UsageError) where it makes no sense; see `split`."""
    named = None if shares is None else dict(shares)
    check(SplitTable(shares=named, folds=folds, inner=inner, eval=held_out, seed=seed))
    if folds is None:
        _refuse_without_folds(inner, held_out)
        found = _checked(SHARES if shares is None else shares)
        return SplitPlan(found, seed=seed, strata=tuple(strata))
    if shares is not None:
        raise UsageError(
            "shares of sets and folds exclude each other: give --shares or --folds; a held-out "
            "evaluation set beside folds is --eval SHARE"
        )
    return SplitPlan({}, int(folds), int(inner or 0), held_out, seed, tuple(strata))


def _refuse_without_folds(inner: int | None, held_out: float | None) -> None:
    """Refuse what goes with folds only."""
    if inner is not None:
        raise UsageError(
            "--inner goes with --folds: inner folds are folds of each outer one's rest"
        )
    if held_out is not None:
        raise UsageError(
            f"--eval goes with --folds; for sets say its share: "
            f"--shares train={_plain(1 - held_out)},eval={held_out:g}"
        )


def _checked(shares: Mapping[str, float]) -> dict[str, float]:
    """Shares that are above 0 and sum to 1."""
    if len(shares) < 2:
        raise UsageError(f"{counted(len(shares), 'set')}: a split has at least 2")
    for name in shares:
        if not name or name != name.strip():
            raise UsageError(f"set name {name!r}: write a word, such as train")
    total = math.fsum(shares.values())
    if abs(total - 1) > 1e-9:
        right = ",".join(f"{name}={_plain(share / total)}" for name, share in shares.items())
        raise UsageError(f"the shares sum to {_plain(total)}, not to 1: {right} would do")
    return {name: float(share) for name, share in shares.items()}


def _plain(share: float) -> str:
    return f"{share:.6g}"


@dataclass(frozen=True)
class Note:
    """Something that a reader of a split should know.

    Attributes
    ----------
    rule : str
        Id of the rule of `truecost.advice`; empty where there is none.
    kind : {"advice", "data"}
        Advice on a choice, or something odd about the data.
    """

    rule: str
    message: str
    kind: str = "advice"

    def to_dict(self) -> dict[str, str]:
        """As it is stored."""
        return {"rule": self.rule, "kind": self.kind, "message": self.message}


def notes_on_units(
    samples: Samples, units: Units, profiles: Profiles, first: Balance, odd: Sequence[str]
) -> list[Note]:
    """What there is to say of what is kept whole."""
    found = [Note("", text, "data") for text in odd]
    if not units.columns:
        found.append(
            Note(
                "no-groups-named",
                "no groups are named, so each sample is dealt by itself: samples of one speaker, "
                "session or recording will lie on both sides; name the column, "
                "--map group=COLUMN",
            )
        )
    if units.chained:
        found.append(Note("", units.joined, "data"))
    largest = int(np.argmax(profiles.sizes))
    share = profiles.sizes[largest] / len(samples)
    most = max(part.target for part in first.parts)
    if share > most:
        found.append(
            Note(
                "too-few-units",
                f"{units.noun} {units.title(largest)} has {figure(share, '%')} of the samples, "
                f"more than the share of any set ({figure(most, '%')}): no split can be even",
                "data",
            )
        )
    return found


def notes_on(column: str, balance: Balance, units: Units) -> list[Note]:
    """What there is to say of how one column is spread."""
    if column.startswith("inner_"):
        return []  # what holds of the rest of a fold was said of the whole
    sets = "folds" if column == "fold" else "sets"
    lone: dict[str, list[str]] = {}
    few: dict[str, list[str]] = {}
    for level in balance.levels:
        if level.units == 1:
            lone.setdefault(level.axis, []).append(level.level)
        elif not all(level.counts):
            few.setdefault(level.axis, []).append(level.level)
    alone = f"all in one {units.noun}, and so in one of the {sets} only; collect more"
    lacking = f"not in every one of the {sets}, as too few have any; collect more"
    if not units.columns:
        alone = f"one sample only, and so in one of the {sets}; collect more"
    return [
        Note(_rule(axis), f"{axis} {first_five(levels)}: {said}")
        for by_axis, said in ((lone, alone), (few, lacking))
        for axis, levels in by_axis.items()
    ]


def _rule(axis: str) -> str:
    """The rule about a class, or a condition, that one side lacks."""
    return "missing-classes" if axis == "label" else "missing-conditions"


def said_of(column: str, balance: Balance, units: Units) -> str:
    """The largest deviation of a column, in one sentence, and what one unit amounts to there."""
    worst = balance.worst
    if worst.deviation < 1:
        return "every share is met to within one sample"
    where = worst.part if column == "set" else f"{column} {worst.part}"
    most = f"; one {units.noun} has up to {worst.largest_unit} of it" if units.columns else ""
    of = counted(sum(worst.counts), "sample")
    off = figure(worst.deviation)
    return f"furthest from its share by {off} of {of}: {worst.title} in {where}{most}"
