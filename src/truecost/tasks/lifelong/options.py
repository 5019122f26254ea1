"""How a life cycle is scored, beside its records: every choice with its default."""

from dataclasses import dataclass
from typing import Literal, get_args

from truecost.errors import UsageError
from truecost.names import LifelongFactor
from truecost.tasks.lifelong.policies import Policy

Cost = Literal["seconds", "words", "actions", "answers", "cost"]
Compat = Literal["", "allies-2020"]


@dataclass(frozen=True)
class LifelongScoring:
    """How a life cycle is scored.

    Parameters
    ----------
    score : str
        What is measured of the outputs, `NAME` or `NAME:PARAMETER`; the first of the kind when left
        out.
    policies : tuple of Policy
        Rows are made under each.
    resample : {"item", "seed", "both"}, optional
        What is resampled; items unless no time has several, then seeds.
    unit : str
        Column of the items whose values are resampled together (a document, a speaker).
    compat : {"", "allies-2020"}
        `allies-2020` penalises BLEU as the organisers' program of 2020 did: n-grams of the
        corrections are taken from the matches of the adapted output.
    item_seconds : float, optional
        Seconds that correcting a part of an item takes, for a minimal supervision rate in seconds.
    cost : {"seconds", "words", "actions", "answers", "cost"}, optional
        What the minimal supervision rate and the learning curve count; the first of cost, words and
        answers of which there are any when left out.
    max_cost : float, optional
        Where the learning curve ends; at its own largest cost when left out.
    every_version : bool
        Rows for each version, in place of the last alone.
    """

    score: str = ""
    policies: tuple[Policy, ...] = (Policy(),)
    resample: LifelongFactor | None = None
    unit: str = ""
    compat: Compat = ""
    item_seconds: float | None = None
    cost: Cost | None = None
    max_cost: float | None = None
    every_version: bool = False

    def __post_init__(self) -> None:
        if self.resample is not None and self.resample not in get_args(LifelongFactor):
            factors = ", ".join(get_args(LifelongFactor))
            raise UsageError(f"resample is {self.resample!r}: choose one of {factors}")
        for name, known in (("cost", get_args(Cost)), ("compat", get_args(Compat)[1:])):
            said = getattr(self, name)
            if said and said not in known:
                raise UsageError(f"{name} is {said!r}: choose one of {', '.join(known)}")
        if not self.policies:
            raise UsageError("a score across time needs a policy: uniform, for one")
        names = [policy.name for policy in self.policies]
        if double := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two policies are named {double!r}: give one of them another name")
        for name in ("item_seconds", "max_cost"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name} is {value:g}: it must be a number above 0")
