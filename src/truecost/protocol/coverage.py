"""What a set lacks, and whether dev was made by other rules than eval."""

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import counted, first_five
from truecost.protocol.findings import FOLD, Division, Finding, listing
from truecost.protocol.grouping import EMPTY, Axis, axes_of
from truecost.protocol.samples import Samples
from truecost.protocol.sharing import SHOWN

Ints = npt.NDArray[np.int64]


Marks = npt.NDArray[np.bool_]


FEWEST_GROUPS = 20


FEWEST_OF_CLASS = 10


def axes(samples: Samples) -> tuple[Axis, ...]:
    """The classes and the levels of each condition."""
    return axes_of(samples)[1:]  # the first is the samples themselves


def present(axis: Axis, division: Division) -> Ints:
    """How many samples of each level each set has; int64 (sets, levels)."""
    inside = division.codes >= 0
    size = len(axis.levels)
    flat = division.codes[inside] * size + axis.codes[inside]
    return np.bincount(flat, minlength=len(division) * size).reshape(len(division), size)


def missing(axis: Axis, division: Division) -> list[Finding]:
    """Levels that are judged and not learnt, or learnt and not judged.

    With folds: levels that are in one fold only, which nobody has learnt when it is judged, and
    levels that some folds lack.
    """
    counts = present(axis, division) > 0
    known = np.array([level != EMPTY for level in axis.levels], bool)
    learnt, judged = division.learnt, division.judged
    folds = division.having(FOLD)
    if judged and judged == folds:
        alone = known & (counts[folds].sum(axis=0) == 1)
        rare = known & ~alone & (counts[folds].sum(axis=0) < len(folds)) & counts[folds].any(axis=0)
        return [
            *_missing(axis, division, alone, counts, "only in one fold", "not learnt when judged"),
            *_missing(axis, division, rare, counts, "not in every fold", "not judged there"),
        ]
    if not learnt or not judged:
        return []
    there, here = counts[learnt].any(axis=0), counts[judged].any(axis=0)
    of_judged, of_learnt = listing(division.named(judged)), listing(division.named(learnt))
    said = (f"in {of_judged} and not in {of_learnt}", f"in {of_learnt} and not in {of_judged}")
    return [
        *_missing(axis, division, known & here & ~there, counts, said[0], "not learnt"),
        *_missing(axis, division, known & there & ~here, counts, said[1], "not measured"),
    ]


def _missing(
    axis: Axis, division: Division, levels: Marks, counts: Marks, where: str, so: str
) -> list[Finding]:
    """The finding about some levels; none when there are none."""
    places = np.flatnonzero(levels)
    if not len(places):
        return []
    names = [axis.levels[k] for k in places]
    noun = "class" if axis.name == "label" else f"level of {axis.name}"
    noun = noun if len(names) == 1 or noun == "class" else f"levels of {axis.name}"
    number = counted(len(names), noun) if noun == "class" else f"{len(names)} {noun}"
    rule = "missing-classes" if axis.name == "label" else "missing-conditions"
    message = (
        f"{division.prefix}{number} {'is' if len(names) == 1 else 'are'} {where}: "
        f"{first_five(names)}; {so}: split anew, stratified, or collect what is lacking"
    )
    having = np.flatnonzero(counts[:, places].any(axis=1))
    sets = division.named(having)
    return [Finding(rule, "warning", message, sets, len(names), tuple(names[:SHOWN]))]


def few_units(samples: Samples, division: Division) -> list[Finding]:
    """Sets with too few groups, and classes with too few samples or groups; folds count as one."""
    findings = []
    folds = division.having(FOLD)
    parts = [[k] for k in range(len(division)) if k not in folds] + ([folds] if folds else [])
    for part in parts:
        rows = np.flatnonzero(np.isin(division.codes, part))
        name = division.names[part[0]] if len(part) == 1 else "all folds together"
        sets = division.named(part)
        findings += _few_groups(samples, division, rows, name, sets)
        findings += _few_of_class(samples, division, rows, name, sets)
    return findings


def _few_groups(
    samples: Samples, division: Division, rows: Ints, name: str, sets: tuple[str, ...]
) -> list[Finding]:
    findings = []
    for column, texts in samples.groups.items():
        groups = encode(texts[rows])[0]
        if len(groups) >= FEWEST_GROUPS:
            continue
        message = (
            f"{division.prefix}{name}: {counted(len(groups), 'group')} of {column} "
            f"({first_five(groups)}); with fewer than {FEWEST_GROUPS} an interval covers less than "
            f"it says: collect more, or cross-validate and pool"
        )
        found = Finding(
            "too-few-units", "warning", message, sets, len(groups), tuple(map(str, groups[:SHOWN]))
        )
        findings.append(found)
    return findings


def _few_of_class(
    samples: Samples, division: Division, rows: Ints, name: str, sets: tuple[str, ...]
) -> list[Finding]:
    """Classes with fewer than 10 samples, or than 10 groups where the set has enough groups."""
    if samples.labels is None:
        return []
    classes, codes = encode(samples.labels[rows])
    counts = np.bincount(codes, minlength=len(classes))
    short = {
        int(k): counted(int(counts[k]), "sample")
        for k in range(len(classes))
        if counts[k] < FEWEST_OF_CLASS
    }
    for column, texts in samples.groups.items():
        groups, of_group = encode(texts[rows])
        if len(groups) < FEWEST_GROUPS:
            continue  # said already
        pairs = np.unique(codes.astype(np.int64) * len(groups) + of_group) // len(groups)
        for k, number in enumerate(np.bincount(pairs, minlength=len(classes))):
            if number < FEWEST_OF_CLASS:
                short.setdefault(k, f"{counted(int(number), 'group')} of {column}")
    if not short:
        return []
    examples = tuple(f"{classes[k]} ({said})" for k, said in sorted(short.items()))
    message = (
        f"{division.prefix}{name}: {counted(len(short), 'class', 'have')} fewer than "
        f"{FEWEST_OF_CLASS} samples or groups: {first_five(examples)}; what is said of "
        f"{'it' if len(short) == 1 else 'them'} rests on a few: collect more"
    )
    return [Finding("too-few-units", "warning", message, sets, len(short), examples[:SHOWN])]


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
