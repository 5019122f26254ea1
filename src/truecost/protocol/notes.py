"""The notes on a split for its reader: what is kept whole, what is spread badly, and how far each
column is from its shares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from truecost.core.digits import figure
from truecost.errors import counted, first_five
from truecost.protocol.dealing import Balance, Profiles
from truecost.protocol.grouping import Units
from truecost.protocol.samples import Samples


@dataclass(frozen=True)
class Note:
    """Warning about a split.

    Attributes
    ----------
    rule : str
        Id of the rule in `truecost list advice`; empty if the note belongs to no rule.
    message : str
        Text of the warning.
    kind : {"advice", "data"}
        ``advice``: a choice of the user is questionable; ``data``: something in the samples is
        unusual.
    """

    rule: str
    message: str
    kind: str = "advice"

    def to_dict(self) -> dict[str, str]:
        """The note as a dictionary with the keys ``rule``, ``kind`` and ``message``."""
        return {"rule": self.rule, "kind": self.kind, "message": self.message}


def notes_on_units(
    samples: Samples, units: Units, profiles: Profiles, first: Balance, odd: Sequence[str]
) -> list[Note]:
    """The notes on what is kept whole."""
    found = [Note("", text, "data") for text in odd]
    if not units.columns:
        found.append(
            Note(
                "no-groups-named",
                "no groups are named, so each sample is assigned on its own, and samples of one "
                "speaker, session or recording may be on both sides: name the column, --map "
                "group=COLUMN",
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
    """The notes on how one column is spread."""
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
    alone = f"all samples are in one {units.noun}, and so in one of the {sets}; collect more"
    lacking = f"missing in some {sets}, because too few samples or groups have it; collect more"
    if not units.columns:
        alone = f"only one sample, and so in one of the {sets}; collect more"
    return [
        Note(
            "missing-classes" if axis == "label" else "missing-conditions",
            f"{axis} {first_five(levels)}: {said}",
        )
        for by_axis, said in ((lone, alone), (few, lacking))
        for axis, levels in by_axis.items()
    ]


def deviation_sentence(column: str, balance: Balance, units: Units) -> str:
    """The largest deviation of a column, in one sentence, and what one unit amounts to there."""
    worst = balance.worst
    if worst.deviation < 1:
        return "every share is met to within one sample"
    where = worst.part if column == "set" else f"{column} {worst.part}"
    most = (
        f"; one {units.noun} has up to {worst.largest_unit} of these samples"
        if units.columns
        else ""
    )
    of = counted(sum(worst.counts), "sample")
    off = figure(worst.deviation)
    return f"the largest deviation from a share is {off} of {of} ({worst.title} in {where}){most}"


def balance_sentences(balances: Mapping[str, Balance], units: Units) -> list[str]:
    """The largest deviation of each column, and of all inner folds together; the imbalance."""
    inner = {c: b for c, b in balances.items() if c.startswith("inner_")}
    said = [
        f"{c}: {deviation_sentence(c, b, units)}" for c, b in balances.items() if c not in inner
    ]
    if inner:
        column = max(inner, key=lambda name: inner[name].worst.deviation)
        said.append(f"inner folds: {deviation_sentence(column, inner[column], units)}")
    worst = max(balance.imbalance for balance in balances.values())
    return [*said, f"imbalance {figure(worst)} (a random split has 1 on average)"]
