"""Checks of a deployment: what its estimates, and calibrations of its machine scores, take for
granted, held against the data.

A check that finds nothing says so too, with its figures: a reader sees that it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np

from truecost.core.digits import figure, figures, percent, uncertain
from truecost.core.results import Estimate
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.tasks.abba.records import (
    CELL_WORDS,
    CELLS,
    FEW,
    Array,
    Deployment,
    Floats,
    Ints,
    Traffic,
)

JOINT = 0.05  # chance of a false alarm over the four cells together
GAP = 0.02  # a smaller difference matters to no ratio


@dataclass(frozen=True)
class LabelledCell:
    """The labels of humans and of a machine for the labelled items of a cell.

    Means are weighted, and NaN without labels. The difference is the share of label 1 less the mean
    probability; its error is the larger of that by units and that of labels drawn with the
    machine's probabilities (few labels that happen to be alike have no error of their own), NaN
    with fewer than two units; the interval is by Student's law.
    """

    labels: int = 0
    units: int = 0  # of the labelled items
    mean_probability: float = np.nan
    share_positive: float = np.nan
    difference: float = np.nan
    standard_error: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    off: bool = False  # above `GAP` and beyond chance, at a joint level of 5% over the four cells


def hold_against(
    labels: Floats, probabilities: Floats, weights: Floats, units: Array, level: float
) -> LabelledCell:
    """Hold a machine against the N labelled items of a cell; units are codes, the level is that of
    the interval.
    """
    from scipy.special import stdtrit

    if not len(labels):
        return LabelledCell()
    total = weights.sum()
    machine = float((weights * probabilities).sum() / total)
    share = float((weights * labels).sum() / total)
    difference = share - machine
    names, codes = np.unique(units, return_inverse=True)
    groups = len(names)
    held = LabelledCell(len(labels), groups, machine, share, difference)
    if groups < 2:
        return held
    apart = weights * (labels - probabilities - difference)
    between = groups / (groups - 1) * (np.bincount(codes, apart) ** 2).sum()
    drawn = (weights**2 * probabilities * (1 - probabilities)).sum()
    error = float(np.sqrt(max(between, drawn)) / total)
    reach = error * float(stdtrit(groups - 1, (1 + level) / 2))
    far = -error * float(stdtrit(groups - 1, JOINT / len(CELLS) / 2))
    lower, upper = max(difference - reach, -1.0), min(difference + reach, 1.0)
    off = abs(difference) > max(GAP, far)
    return replace(held, standard_error=error, lower=lower, upper=upper, off=off)


def hold_cells(log: Deployment, probabilities: Floats, level: float) -> list[LabelledCell]:
    """A machine that gives each item a probability, held against the labels of each cell."""
    found = []
    for code in range(len(CELLS)):
        known = (log.cell == code) & log.labelled
        units = log.unit_codes[1][known]
        sides = log.label[known], probabilities[known], log.label_weights[known]
        found.append(hold_against(*sides, units, level))
    return found


State = Literal["ok", "note", "warning"]
MIX = 0.01  # of the test of the label mix: the pooled estimator is not trusted below
SPLIT = 0.001  # of the test of the traffic split, as is usual for sample-ratio mismatches
MOST_EXACT = 100_000  # units for which every outcome is summed; the normal law is as good beyond
TIES = 1e-7  # outcomes so nearly as likely as the one seen count as equally likely
APART = 1.5  # factor between the widths of two intervals on the scale of the logarithm
LEAST, FEW_LABELS = 10, 100  # labels to calibrate on; below 100 two parameters are all
BIASED = ": soft estimates are biased; trust the corrected ones, or calibrate the machine"
FIXED_SIZE = (
    "intervals are valid if the number of items was fixed beforehand: they are too narrow if "
    "collection stops at a good daily result"
)


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The finding of a check, with its figures and advice; `p` is the p-value of its test.

    The name is `label mix`, `traffic split`, `labels CELL`, `machine CELL`, `intervals`, `narrower
    MEASURE` or `fixed size`. The state `note` stands for a condition that no data can show.
    """

    name: str
    state: State
    text: str
    p: float | None = None


@dataclass(frozen=True)
class Mix:
    """The shares of label 1 among what both models accept, by arm.

    They are those of the labelled items, weighted by inverse inclusion probabilities. The p-value
    is two-sided, of the normal law; the square of the statistic is chi-square with one degree of
    freedom.
    """

    share_a: float
    share_b: float
    difference: float  # of B less that of A
    error: float  # standard error of it by units, were the shares of both arms equal
    p: float

    @property
    def differs(self) -> bool:
        """Whether the pooled estimator is not to be trusted."""
        return self.p < MIX


def label_mix(deployment: Deployment) -> Mix | None:
    """The test of what the pooled estimator assumes: an equal label mix in both arms.

    Items that both models accept do not depend on which of them collects, so that in a randomised
    deployment their shares of label 1 are equal but for chance. The error is by units and that of
    equal shares: each unit's labels less the share of both arms together. With 60 users of 8 items
    the test rejects 5.7% at 0.05, with the error at unequal shares 7.4%; and arms of one label
    each have an error too. None when an arm has no label among these items.
    """
    rows = np.flatnonzero(deployment.labelled & deployment.other)
    columns = deployment.arm, deployment.label, deployment.label_weights
    arm, label, weight = (column[rows] for column in columns)
    labelled = np.bincount(arm, weight, 2)
    if not labelled.all():
        return None
    a, b = np.bincount(arm, weight * label, 2) / labelled
    common = np.average(label, weights=weight)
    own = weight * (label - common) / labelled[arm]
    # The influence of each item on the difference; their mean is 0.
    by_unit = np.bincount(deployment.unit_codes[1][rows], np.where(arm == 1, own, -own))
    error = float(np.sqrt((by_unit**2).sum()))
    return Mix(float(a), float(b), float(b - a), error, two_sided(float(b - a), error))


def mix_differs(deployment: Deployment) -> bool:
    """Whether the label mix of the arms speaks against the pooled estimate."""
    mix = label_mix(deployment)
    return mix is not None and mix.differs


def two_sided(difference: float, error: float) -> float:
    """Probability of a difference as large as this, either way, by the normal law."""
    from scipy.special import ndtr

    if error == 0:
        return float(difference == 0)
    return float(2 * ndtr(-abs(difference) / error))


def split_check(traffic: Traffic) -> float | None:
    """Probability of numbers of units in the arms as far from the plan as those there are.

    The exact binomial test, two-sided: the sum over all outcomes that are no likelier than the one
    seen; for more than 100,000 units chi-square with one degree of freedom. Units that collected
    something are not enough, for a model that accepts more has more of them: all must be known.
    None when the planned share or the numbers of units are not.
    """
    from scipy.special import gammaln, xlog1py, xlogy

    units = units_of(traffic)
    if units is None or traffic.split is None:
        return None
    n, share = sum(units), traffic.split
    if n > MOST_EXACT:
        return two_sided(units[0] - n * share, float(np.sqrt(n * share * (1 - share))))
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    likely = np.exp(ways + xlogy(k, share) + xlog1py(n - k, -share))
    return float(min(1.0, likely[likely <= likely[units[0]] * (1 + TIES)].sum()))


def units_of(traffic: Traffic) -> tuple[int, int] | None:
    """All units of A and of B, those of which nothing was accepted included; None if unknown."""
    if traffic.users is None:
        return traffic.units
    a, b = np.bincount(traffic.users["arm"].to_numpy(), minlength=2).tolist()
    return a, b


def mix_found(mix: Mix | None) -> list[CheckFinding]:
    """The check of the label mix; None where it cannot be tested."""
    if mix is None:
        return []
    shares = f"{figure(mix.share_a, '%')} in arm A and {figure(mix.share_b, '%')} in arm B"
    text = f"items that both models accept: the share of true accepts is {shares} (p = {mix.p:.2g})"
    told = ", but the pooled estimate assumes equal shares: trust the direct estimate"
    text += told if mix.differs else ": no evidence against the pooled estimate"
    return [CheckFinding(name="label mix", state=state(mix.differs), text=text, p=mix.p)]


def split_found(traffic: Traffic) -> list[CheckFinding]:
    """The check of the numbers of units; None where they or the plan are unknown."""
    p, units = split_check(traffic), units_of(traffic)
    if p is None or units is None or traffic.split is None:
        return []
    planned = f"{percent(traffic.split)} were planned (p = {p:.2g})"
    text = f"A has {units[0]} of {counted(sum(units), 'unit')}, and {planned}"
    if p < SPLIT:
        text += (
            ", a sample-ratio mismatch: the randomisation or the logging is faulty; do not trust "
            "the ratios"
        )
    return [CheckFinding(name="traffic split", state=state(p < SPLIT), text=text, p=p)]


def labels_found(deployment: Deployment) -> list[CheckFinding]:
    """Findings about cells without a label, or with fewer than `FEW` of one; or about a log without
    any.
    """
    if not deployment.labelled.any():
        text = "no item has a human label: machine labels alone, without correction"
        return [CheckFinding(name="labels", state="warning", text=text)]
    found = []
    for k, cell in enumerate(CELLS):
        labels = deployment.label[deployment.cell == k]
        ones, zeros = (int((labels == y).sum()) for y in (1, 0))
        if not len(labels) or min(ones, zeros) >= FEW:
            continue
        text = f"{ones} of label 1 and {zeros} of label 0: intervals are rough"
        if not ones + zeros:
            text = "none of which has a human label: human labels alone give no ratio"
        text = f"{cell} ({CELL_WORDS[cell]}) has {counted(len(labels), 'item')}, {text}"
        found.append(CheckFinding(name=f"labels {cell}", state="warning", text=text))
    return found


def intervals_found(rows: Sequence[Estimate]) -> list[CheckFinding]:
    """Whether the intervals of the bootstrap and of the delta method are alike.

    A warning for each row whose widths, on the scale of the logarithm, differ by more than a factor
    of 1.5; one line that all is well otherwise; nothing without rows to compare. Intervals that are
    widened for few labels are meant to be wider, and are left out.
    """
    both = [r for r in rows if r.method != "delta" and "few_labels" not in r.flags]
    both = [r for r in both if "delta_upper" in r.counts and r.lower is not None]
    apart = []
    for row in both:
        ends = row.counts["delta_lower"], row.counts["delta_upper"]
        widths = log_width(row.lower, row.upper), log_width(*ends)
        if max(widths) > APART * min(widths):
            text = (
                f"{row.measure} ({row.dims['estimator']}): the bootstrap gives "
                f"{figures(row)[1]}, the delta method {uncertain(row.value, *ends)[1]}: few units, "
                f"or one with most of the data; trust neither interval"
            )
            apart.append(CheckFinding(name="intervals", state="warning", text=text))
    text = "bootstrap and delta method agree"
    return apart or [CheckFinding(name="intervals", state="ok", text=text)] * bool(both)


def log_width(lower: float | None, upper: float | None) -> float:
    """Width of an interval of a ratio on the scale of the logarithm; NaN where it has no ends."""
    if lower is None or upper is None or upper <= 0:
        return float("nan")
    return float(np.log(upper / lower)) if lower > 0 else float("inf")


def narrower_found(rows: Sequence[Estimate]) -> list[CheckFinding]:
    """The narrower one of the intervals of the direct and the pooled estimate, for each ratio.

    The pooled one has by the theory of single items; with users as units it may be the other.
    """
    found = []
    for measure in dict.fromkeys(row.measure for row in rows):
        own = {r.dims["estimator"]: r for r in rows if r.measure == measure}
        width = {
            e: log_width(r.lower, r.upper) for e, r in own.items() if e in ("direct", "pooled")
        }
        if len(width) == 2 and np.isfinite([*width.values()]).all():
            less, more = sorted(width, key=lambda e: (width[e], e))
            text = f"{measure}: the {less} interval is the narrower one (width of the logarithm "
            text += f"{figure(width[less])}, {more} {figure(width[more])})"
            found.append(CheckFinding(name=f"narrower {measure}", state="ok", text=text))
    return found


def state(bad: bool) -> State:
    """The state of a check that finds something bad, or does not."""
    return "warning" if bad else "ok"


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """The labelled items of a log, arrays of shape (n,)."""

    name: str  # of the log
    scores: Floats  # of the machine
    labels: Ints
    weights: Floats  # inverse inclusion probabilities
    units: Array


def machine_scores(log: Deployment) -> Floats:
    """The scores of the machine, shape (N,): InputError unless all are there and finite."""
    if log.machine is None:
        raise InputError(
            f"{log.name}: there are no machine scores to calibrate: name their column, "
            f"--map machine=COLUMN"
        )
    bad = ~np.isfinite(log.machine)
    if bad.any():
        raise InputError(
            f"{log.name}: {counted(int(bad.sum()), 'item', 'have')} no finite machine score "
            f"({first_five(log.ids[bad])}): each item needs one, or has to be left out"
        )
    return log.machine


def labelled_items(log: Deployment) -> LabelledItems:
    """The data that a map can be fitted on: InputError for fewer than 10 labels, labels of one
    class, or equal scores.
    """
    rows = log.labelled
    scores, labels = machine_scores(log)[rows], log.label[rows].astype(np.int64)
    count, positive = len(labels), int(labels.sum())
    if count == 0:
        raise InputError(
            f"{log.name}: no item has a label to calibrate on: label some (truecost abba select "
            f"chooses them), or give labelled data to train on"
        )
    if count < LEAST:
        raise InputError(
            f"{log.name}: {counted(count, 'label')}: at least {LEAST} are needed to calibrate "
            f"machine scores, and better {FEW_LABELS} or more"
        )
    if positive in (0, count):
        raise InputError(
            f"{log.name}: all {count} labels are {labels[0]}: a calibration needs true accepts (1) "
            f"and false ones (0)"
        )
    if scores.min() == scores.max():
        raise InputError(
            f"{log.name}: all labelled items have the machine score {scores[0]:g}: equal scores "
            f"distinguish nothing"
        )
    weights = log.label_weights[rows]
    return LabelledItems(log.name, scores, labels, weights, units_of_items(log)[rows])


def units_of_items(log: Deployment) -> Array:
    """The unit of each item, itself when none is named."""
    columns = [side for sides in log.units.values() for side in sides]
    if len(columns) > 1:
        raise UsageError(
            f"{log.name}: an item has {len(columns)} units, but a calibration uses one unit "
            f"column: name the user or the device alone"
        )
    return columns[0] if columns else log.ids
