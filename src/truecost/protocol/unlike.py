"""Whether the development set was made by other rules than the evaluation set."""

import numpy as np

from truecost.errors import counted, first_five
from truecost.protocol.coverage import axes, present
from truecost.protocol.divisions import Division
from truecost.protocol.findings import Finding, listing
from truecost.protocol.samples import Samples
from truecost.protocol.sharing import SHOWN
from truecost.protocol.strata import EMPTY

RULE = "dev-unlike-eval"
REMEDY = "what is best on the one is not on the other: make both by the same rules"


def unlike(samples: Samples, division: Division) -> list[Finding]:
    """Differences of rule: groups shared with train on one side only; classes or levels of
    conditions that eval has and dev lacks.
    """
    dev, judged, learnt = (division.having(role) for role in ("dev", "eval", "train"))
    if not dev or not judged:
        return []
    names = [listing(division.named(side)) for side in (dev, judged)]
    sets = division.named([*dev, *judged])
    findings = []
    for column, texts in samples.groups.items():
        inside = [set(texts[np.isin(division.codes, s)]) for s in (dev, judged, learnt)]
        common = [inside[0] & inside[2], inside[1] & inside[2]]
        if bool(common[0]) == bool(common[1]):
            continue
        one, other = names if common[0] else names[::-1]
        groups = sorted(common[0] or common[1])
        message = (
            f"{one} shares {counted(len(groups), 'group')} of {column} with train "
            f"({first_five(groups)}), and {other} none; {REMEDY}"
        )
        findings.append(
            Finding(RULE, "warning", message, sets, len(groups), tuple(map(str, groups[:SHOWN])))
        )
    for axis in axes(samples):
        counts = present(axis, division)
        known = np.array([level != EMPTY for level in axis.levels], bool)
        lacking = known & (counts[judged].sum(axis=0) > 0) & (counts[dev].sum(axis=0) == 0)
        levels = [axis.levels[k] for k in np.flatnonzero(lacking)]
        if not levels:
            continue
        label = axis.name == "label"
        number = counted(len(levels), "class" if label else "level")
        number += "" if label else f" of {axis.name}"
        message = f"{names[1]} has {number} that {names[0]} lacks: {first_five(levels)}; {REMEDY}"
        findings.append(Finding(RULE, "warning", message, sets, len(levels), tuple(levels[:SHOWN])))
    return findings
