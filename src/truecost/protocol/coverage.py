"""The classes and conditions that a set lacks, whether dev was made by other rules than eval, and
how frequent each class is: in the evaluation set against use, and in dev against eval.

Shares are resampled by whole groups. The classes share the level (Bonferroni). Percentiles of the
replicates cover too little for rare classes: a class that is absent is absent in every replicate.
So the replicates give an effective number of samples, and the intervals are exact for it (Korn and
Graubard 1998).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.digits import figure, uncertain
from truecost.core.evidence import Evidence, totals
from truecost.core.factors import Factor, encode
from truecost.core.measure import share
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import UsageError, counted, first_five, near
from truecost.options import check
from truecost.protocol.findings import FOLD, Division, Finding, listing
from truecost.protocol.grouping import EMPTY, Axis, axes_of
from truecost.protocol.options import CheckTable
from truecost.protocol.samples import Floats, Ints, Marks, Samples
from truecost.protocol.sharing import warning

FEWEST_GROUPS = 20
FEWEST_OF_CLASS = 10


def present(axis: Axis, division: Division) -> Ints:
    """Number of samples of each level in each set; int64 (sets, levels)."""
    inside, size = division.codes >= 0, len(axis.levels)
    flat = division.codes[inside] * size + axis.codes[inside]
    return np.bincount(flat, minlength=len(division) * size).reshape(len(division), size)


def missing(axis: Axis, division: Division) -> list[Finding]:
    """Levels that are judged and not learnt, or learnt and not judged; with folds those of one fold
    only, which nobody has learnt when it is judged, and those that some folds lack.
    """
    counts = present(axis, division) > 0
    known = np.array([level != EMPTY for level in axis.levels], bool)
    learnt, judged = division.learnt, division.judged
    folds = division.having(FOLD)
    if judged and judged == folds:
        alone = known & (counts[folds].sum(axis=0) == 1)
        rare = known & ~alone & (counts[folds].sum(axis=0) < len(folds)) & counts[folds].any(axis=0)
        found = (
            (alone, "only in one fold", "systems that are tested there did not learn {}"),
            (rare, "not in every fold", "the other folds do not test {}"),
        )
    elif learnt and judged:
        there, here = counts[learnt].any(axis=0), counts[judged].any(axis=0)
        one, other = listing(division.named(judged)), listing(division.named(learnt))
        found = (
            (known & here & ~there, f"in {one} and not in {other}", "systems do not learn {}"),
            (known & there & ~here, f"in {other} and not in {one}", "no system is tested on {}"),
        )
    else:
        return []
    return [finding for said in found for finding in _missing(axis, division, counts, *said)]


def _number(axis: Axis, levels: Sequence[str]) -> str:
    """Number of classes, or levels of a condition."""
    label = axis.name == "label"
    return counted(len(levels), "class" if label else "level") + f" of {axis.name}" * (not label)


def _missing(
    axis: Axis, division: Division, counts: Marks, levels: Marks, where: str, so: str
) -> list[Finding]:
    """The finding about some levels; none when there are none."""
    places = np.flatnonzero(levels)
    if not len(places):
        return []
    names = [axis.levels[k] for k in places]
    rule = "missing-classes" if axis.name == "label" else "missing-conditions"
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    message = (
        f"{division.prefix}{_number(axis, names)} {are} {where}: {first_five(names)}; "
        f"{so.format(them)}: split anew (truecost protocol split) or collect more samples of {them}"
    )
    having = np.flatnonzero(counts[:, places].any(axis=1))
    return [warning(rule, message, division.named(having), names)]


def few_units(samples: Samples, division: Division) -> list[Finding]:
    """Sets with too few groups, and classes with too few samples or groups; folds count as one."""
    findings, folds = [], division.having(FOLD)
    parts = [[k] for k in range(len(division)) if k not in folds] + ([folds] if folds else [])
    for part in parts:
        rows, sets = np.flatnonzero(np.isin(division.codes, part)), division.named(part)
        about = f"{division.prefix}{_titled(division, part)}"
        found = {column: encode(texts[rows]) for column, texts in samples.groups.items()}
        for column, (groups, _) in found.items():
            if len(groups) < FEWEST_GROUPS:
                message = (
                    f"{about}: {counted(len(groups), column)} ({first_five(groups)}); "
                    f"with fewer than {FEWEST_GROUPS}, a 95% interval may be too narrow: "
                    f"collect more, or cross-validate and pool"
                )
                findings.append(warning("too-few-units", message, sets, groups.tolist()))
        if examples := _few_of_class(samples, rows, found):
            message = (
                f"{about}: {counted(len(examples), 'class', 'have')} fewer than {FEWEST_OF_CLASS} "
                f"samples or groups: {first_five(examples)}; figures of such a class have "
                f"few data: collect more"
            )
            findings.append(warning("too-few-units", message, sets, examples))
    return findings


def _titled(division: Division, part: Sequence[int]) -> str:
    """A set, or the folds as one."""
    return division.names[part[0]] if len(part) == 1 else "all folds together"


def _few_of_class(samples: Samples, rows: Ints, found: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Classes with fewer than 10 samples, or than 10 groups where the set has enough groups."""
    if samples.labels is None:
        return []
    classes, codes = encode(samples.labels[rows])
    counts = np.bincount(codes, minlength=len(classes)).tolist()
    short = {k: counted(n, "sample") for k, n in enumerate(counts) if n < FEWEST_OF_CLASS}
    for column, (groups, of_group) in found.items():
        if len(groups) >= FEWEST_GROUPS:  # else it is said already
            pairs = np.unique(codes.astype(np.int64) * len(groups) + of_group) // len(groups)
            for k, number in enumerate(np.bincount(pairs, minlength=len(classes)).tolist()):
                if number < FEWEST_OF_CLASS:
                    short.setdefault(k, f"{counted(number, column)}")
    return [f"{classes[k]} ({said})" for k, said in sorted(short.items())]


UNLIKE = "dev-unlike-eval"
REMEDY = "the best system on one may not be the best on the other: make both by the same rules"


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
            f"{one} shares {counted(len(groups), column)} with train "
            f"({first_five(groups)}), and {other} none; {REMEDY}"
        )
        findings.append(warning(UNLIKE, message, sets, groups))
    for axis in axes_of(samples)[1:]:  # the first is the samples themselves
        counts = present(axis, division)
        known = np.array([level != EMPTY for level in axis.levels], bool)
        lacking = known & (counts[judged].sum(axis=0) > 0) & (counts[dev].sum(axis=0) == 0)
        if levels := [axis.levels[k] for k in np.flatnonzero(lacking)]:
            said = f"{names[1]} has {_number(axis, levels)} that {names[0]} lacks"
            message = f"{said}: {first_five(levels)}; {REMEDY}"
            findings.append(warning(UNLIKE, message, sets, levels))
    return findings


LEVEL = 0.95
MOST_CLASSES = 200  # of more (speakers, say) the shares say little, and take much memory
TARGETS = ("1", "target", "true", "yes")  # labels of a detection task whose prior one number gives


@dataclass(frozen=True, eq=False)
class Shares:
    """Share of each class in each part of the data: points, shape (parts, classes), and replicates,
    shape (replicates, parts, classes); `units` of `unit` were resampled, and `sizes`, shape (2,
    parts), are the samples and units of each part.
    """

    classes: tuple[str, ...]
    points: Floats
    replicates: Floats
    unit: str
    units: int
    sizes: Ints

    @staticmethod
    def count(samples: Samples, parts: Sequence[Ints], plan: Plan) -> "Shares":
        """Those of parts, given by their rows; labels are needed."""
        names, labels = encode(samples.labels if samples.labels is not None else ())
        rows = np.concatenate(parts)
        part = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
        unit, factor, codes = _factor(samples, rows)
        classes = tuple(map(str, names))
        axes: dict[str, tuple[Sequence[str], Ints]] = {
            "part": (tuple(map(str, range(len(parts)))), part),
            "class": (classes, labels[rows].astype(np.int64)),
        }
        tally = Tally.count([(factor, codes)], {"n": np.ones(len(rows), np.int64)}, axes)
        evidence = Evidence({"samples": tally})
        weights = plan.weights(evidence.factors)
        blocks = [weights.block(*ends) for ends in weights.blocks(evidence.cells)]
        ones = Weights.ones(evidence.factors).block()
        counts = [totals(evidence, block).sums("samples", "n") for block in (ones, *blocks)]
        points, *drawn = (share(n, n.sum(axis=-1, keepdims=True)) for n in counts)
        held = [len(np.unique(codes[part == k])) for k in range(len(parts))]
        sizes = np.array([[len(p) for p in parts], held], np.int64)
        return Shares(classes, points[0], np.concatenate(drawn), unit, len(factor), sizes)

    @property
    def known(self) -> bool:
        """Whether there are intervals: each part has several units."""
        return bool((self.sizes[1] > 1).all())

    def ends(self, part: int, level: float) -> Floats:
        """Intervals of the shares p of a part, shape (2, classes).

        Clopper and Pearson's for n* = p (1 - p) / v (z / t)^2 samples, with v the variance of the
        replicates times U / (U - 1) for U units, and z and t the quantiles of a normal deviate and
        of Student's with U - 1 degrees of freedom; n* is the number of samples at most, and that
        of units where all or none are of the class.
        """
        from scipy.special import betaincinv, ndtri, stdtrit

        size, units = self.sizes[:, part]
        own, tail = self.points[part], (1 - level) / 2
        spread = np.nanvar(self.replicates[:, part], axis=0) * units / (units - 1)
        within = own * (1 - own) * (ndtri(tail) / stdtrit(units - 1, tail)) ** 2
        worth = np.full(own.shape, float(size))
        np.divide(within, spread, out=worth, where=spread > 0)
        worth = np.where((own > 0) & (own < 1), np.minimum(worth, size), units)
        of, others = own * worth, (1 - own) * worth
        low = np.where(own > 0, betaincinv(np.where(own > 0, of, 1), others + 1, tail), 0)
        high = betaincinv(of + 1, np.where(own < 1, others, 1), 1 - tail)
        return np.array([low, np.where(own < 1, high, 1)])

    def apart(self, level: float) -> Floats:
        """Intervals of how much more frequent classes are in part 1 than in part 0, (2, classes),
        from those of the parts and the correlation of their replicates (Zou and Donner 2008).
        """
        both = self.replicates[np.isfinite(self.replicates).all(axis=(1, 2))]
        off = both - both.mean(axis=0) if len(both) else np.zeros((1, *self.points.shape))
        spread = np.sqrt(np.square(off).sum(axis=0).prod(axis=0))
        alike = np.zeros(len(self.classes))
        np.divide((off[:, 0] * off[:, 1]).sum(axis=0), spread, out=alike, where=spread > 0)
        one, other = self.points
        lows, highs = np.stack([self.ends(k, level) for k in (0, 1)], axis=1)
        sides = [(other - lows[1], highs[0] - one), (highs[1] - other, one - lows[0])]
        reach = [np.sqrt(np.maximum(a**2 + b**2 - 2 * alike * a * b, 0)) for a, b in sides]
        return np.array([other - one - reach[0], other - one + reach[1]])


def _factor(samples: Samples, rows: Ints) -> tuple[str, Factor, npt.NDArray[np.int32]]:
    """The resampled factor: the group column with the fewest groups, or each sample by itself."""
    found = [
        (column, *Factor.encode(column, texts[rows])) for column, texts in samples.groups.items()
    ]
    if not found:
        return "sample", *Factor.trials(len(rows), "sample")
    return min(found, key=lambda one: len(one[1]))


def deployment(
    samples: Samples, prior: float | None, priors: Mapping[str, float], target: str | None
) -> dict[str, float]:
    """The prevalence of each class in use, empty where nothing is given: from that of the target of
    two classes (`prior`; 1, target, true or yes where no target is named), or of each class.
    """
    check(CheckTable(prior=prior, priors=dict(priors)))
    if prior is None and not priors:
        if target is not None:
            raise UsageError(f"--target {target} needs --prior, its prevalence in use")
        return {}
    if prior is not None and priors:
        raise UsageError("--prior and --priors give the same frequencies: keep one of them")
    if samples.labels is None:
        raise UsageError(
            f"{samples.table.source}: a prior needs classes, and the column of the classes is "
            f"not named: use --map label=COLUMN; {samples.table.listed}"
        )
    classes = [str(name) for name in encode(samples.labels)[0]]
    if prior is not None:
        return _target_priors(classes, prior, target)
    if target is not None:
        raise UsageError("--target needs --prior; --priors names every class itself")
    for name in priors:
        if name not in classes:
            raise UsageError(
                f"--priors names {name!r}, which is not a class of "
                f"{samples.table.source}{near(name, classes)}: the "
                f"classes are {first_five(classes)}"
            )
    if lacking := [name for name in classes if name not in priors]:
        raise UsageError(f"--priors lacks {first_five(lacking)}: give the prior of every class")
    if abs(sum(priors.values()) - 1) > 1e-6:
        raise UsageError(f"--priors sum to {sum(priors.values()):g}: they must sum to 1")
    return dict(priors)


def _target_priors(classes: list[str], prior: float, target: str | None) -> dict[str, float]:
    if len(classes) != 2:
        raise UsageError(
            f"--prior is for two classes, but there are {len(classes)} "
            f"({first_five(classes)}): give --priors {classes[0]}=P,..."
        )
    known = [name for name in classes if name.lower() in TARGETS]
    if target is None and len(known) == 1:
        target = known[0]
    if target not in classes:
        said = "--prior needs a target" if target is None else f"there is no class {target!r}"
        raise UsageError(f"{said}: use --target {classes[0]} or --target {classes[1]}")
    return {name: prior if name == target else 1 - prior for name in classes}


def against_use(
    samples: Samples, division: Division, priors: Mapping[str, float], plan: Plan
) -> list[Finding]:
    """Whether what is judged has the classes as often as use has; folds count as one set."""
    parts = [[k] for k in division.judged if division.roles[k] != FOLD]
    parts = parts or [division.having(FOLD)]
    if not priors or not parts[0]:
        return []
    findings = []
    for part in parts:
        rows = np.flatnonzero(np.isin(division.codes, part))
        shares = Shares.count(samples, [rows], plan)
        if not shares.known:
            continue  # there is no interval: too-few-units says so
        said = []
        intervals = shares.ends(0, _level(len(shares.classes)))
        for k, name in _looked_at(shares.classes, priors):
            ends = intervals[:, k]
            if not ends[0] <= priors[name] <= ends[1]:
                point, low, high = map(float, (shares.points[0, k], *ends))
                held = " ".join(uncertain(point, low, high, "%"))
                said.append(f"{name} with {held} against {figure(priors[name], '%')} in use")
        if said:
            message = (
                f"{_titled(division, part)}: {counted(len(said), 'class', 'are')} not as frequent "
                f"as in use: {first_five(said)} ({_intervals(len(shares.classes))} over "
                f"{counted(shares.units, 'unit')} ({shares.unit})); score with the prior in use, "
                f"or draw the set with the class shares in use"
            )
            findings.append(warning("prevalence-shift", message, division.named(part), said))
    return findings


def _looked_at(classes: Sequence[str], priors: Mapping[str, float]) -> list[tuple[int, str]]:
    """The classes whose shares are looked at: of two the one that is rarer in use, or the last."""
    places = [*enumerate(classes)]
    if len(classes) == 2:
        return [places[0] if priors[classes[0]] < priors[classes[1]] else places[1]]
    return places


def _level(classes: int) -> float:
    """The level of each interval: two classes have one share, of more each has its own."""
    return 1 - (1 - LEVEL) / (1 if classes <= 2 else classes)


def _intervals(classes: int, what: str = "") -> str:
    """The intervals in words, each with its own level: `98.3333% intervals`."""
    said = f"{100 * _level(classes):.6g}% intervals{what and ' '}{what}"
    return said if classes <= 2 else f"{said}, {100 * LEVEL:g}% for the {classes} classes together,"


def dev_against_eval(samples: Samples, division: Division, plan: Plan) -> list[Finding]:
    """Whether dev has the classes as often as eval has."""
    sides = [division.having("dev"), division.having("eval")]
    if samples.labels is None or not all(sides) or len(set(samples.labels)) > MOST_CLASSES:
        return []
    parts = [np.flatnonzero(np.isin(division.codes, side)) for side in sides]
    shares = Shares.count(samples, parts, plan)
    if not shares.known:
        return []
    intervals = shares.apart(_level(len(shares.classes)))
    said = []
    for k, name in [*enumerate(shares.classes)][1 if len(shares.classes) == 2 else 0 :]:
        low, high = intervals[:, k]
        if low > 0 or high < 0:
            dev, judged = shares.points[:, k]
            said.append(f"{name} with {figure(dev, '%')} against {figure(judged, '%')}")
    if not said:
        return []
    names = [listing(division.named(side)) for side in sides]
    message = (
        f"{counted(len(said), 'class', 'are')} not as frequent in {names[0]} as in {names[1]}: "
        f"{first_five(said)} ({_intervals(len(shares.classes), 'of the difference')} over "
        f"{counted(shares.units, 'unit')} ({shares.unit})); {REMEDY}"
    )
    return [warning(UNLIKE, message, division.named([*sides[0], *sides[1]]), said)]
