"""Which life cycles can be compared: those of the same items at the same times, of versions that
learnt at the same times, and of the same help.
"""

from collections.abc import Sequence

import numpy as np

from truecost.errors import InputError, first_five, plural
from truecost.tasks.lifelong.records import OWN, Lifelong


def pair_lifelong(systems: Sequence[Lifelong]) -> list[Lifelong]:
    """Systems that were scored on the same items, with the help of the same people."""
    for other in systems[1:]:
        _refuse_unlike(systems[0], other)
    return [*systems]


def _refuse_unlike(one: Lifelong, other: Lifelong) -> None:
    """Refuse what cannot be compared item by item."""
    named = f"{one.name} and {other.name}"
    if one.kind is not other.kind or one.higher != other.higher:
        raise InputError(
            f"{named} have different kinds of output, or higher scores are better for only one"
        )
    for what, a, b in (
        ("test times", one.test.times, other.test.times),
        ("seeds", one.seeds, other.seeds),
    ):
        if a != b:
            raise InputError(
                f"{named} have different {what} ({first_five(a) or 'none'} against "
                f"{first_five(b) or 'none'}): only runs of the same life cycle can be compared"
            )
    _refuse_other_windows(one, other)
    if one.experts and other.experts and one.experts != other.experts:
        raise InputError(
            f"different people helped {named} ({first_five(one.experts)} against "
            f"{first_five(other.experts)}): a comparison needs the same simulation of the person "
            f"(Prokopalo et al. 2020, section 4)"
        )
    mine, theirs = (system.test.items.select(OWN) for system in (one, other))
    if not mine.equals(theirs):
        pairs = ((one, mine, theirs), (other, theirs, mine))
        only = [
            f"only in {of.name}: {first_five(a.join(b, on=OWN, how='anti')['id']) or 'none'}"
            for of, a, b in pairs
        ]
        raise InputError(
            f"{named} are not scored on the same {plural(one.kind.item)} at the same times: "
            f"{'; '.join(only)}"
        )
    for part in one.signatures.keys() & other.signatures.keys():
        if one.signatures[part] != other.signatures[part]:
            raise InputError(
                f"{named} were counted with different settings: {one.signatures[part]} "
                f"against {other.signatures[part]}"
            )


def _refuse_other_windows(one: Lifelong, other: Lifelong) -> None:
    """Refuse versions that learnt at other times: the same policy weighs other tests of theirs."""
    if "cost" in one.offline.columns and "cost" in other.offline.columns:
        return  # points of learning curves are versions by their cost alone
    mine, theirs = (system.learnt[np.isfinite(system.learnt)] for system in (one, other))
    if not np.array_equal(mine, theirs):
        said, told = (first_five(f"{t:g}" for t in times) or "never" for times in (mine, theirs))
        raise InputError(
            f"{one.name} and {other.name} have versions that learnt at different times ({said} "
            f"against {told}): only runs of the same life cycle can be compared"
        )
