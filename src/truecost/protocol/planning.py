"""`SplitPlan`: what a split is to be, checked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truecost.errors import UsageError, counted
from truecost.options import check
from truecost.protocol.options import SplitTable

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
