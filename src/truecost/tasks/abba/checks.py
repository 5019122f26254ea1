"""Checks of a deployment: what its estimates take for granted, held against the data.

A check that finds nothing says so too, with its figures: a reader sees that it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.core.digits import between, figure, percent, signed
from truecost.core.results import Estimate
from truecost.errors import counted
from truecost.tasks.abba.records import CELLS, FEW, Deployment, Traffic

Array = npt.NDArray[Any]
State = Literal["ok", "note", "warning"]
MIX = 0.01  # of the test of the label mix: the pooled estimator is not trusted below
SPLIT = 0.001  # of the test of the traffic split, as is usual for sample-ratio mismatches
MOST_EXACT = 100_000  # units for which every outcome is summed; the normal law is as good beyond
TIES = 1e-7  # outcomes so nearly as likely as the one seen count as equally likely
APART = 1.5  # factor between the widths of two intervals on the scale of the logarithm
BIASED = ": soft estimates are biased; trust the corrected ones, or calibrate the machine"
FIXED_SIZE = (
    "intervals hold for a number of items that was fixed beforehand: who looks at them every day "
    "and stops when they suit has intervals that are too narrow"
)


class Found(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check found.

    Attributes
    ----------
    name : str
        `label mix`, `traffic split`, `labels CELL`, `machine CELL`, `intervals`,
        `narrower MEASURE` or `fixed size`.
    state : {"ok", "note", "warning"}
        A note is what nobody can check in the data.
    text : str
        With its figures, and what to do.
    p : float or None
        Of a test.
    """

    name: str
    state: State
    text: str
    p: float | None = None


@dataclass(frozen=True)
class Mix:
    """The shares of label 1 among what both models accept, by arm.

    Attributes
    ----------
    share_a, share_b : float
        Of the labelled items, weighted by their inverse inclusion probabilities.
    difference : float
        That of B less that of A.
    error : float
        Its standard error by units, were the shares of both arms equal.
    p : float
        Two-sided, of the normal law; its square is chi-square with one degree of freedom.
    """

    share_a: float
    share_b: float
    difference: float
    error: float
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
    the test rejects 5.7 % at 0.05, with the error at unequal shares 7.4 %; and arms of one label
    each have an error too.

    Returns
    -------
    Mix or None
        None when an arm has no label among these items.
    """
    rows = np.flatnonzero(deployment.labelled & deployment.other)
    arm, label, weight = (
        deployment.arm[rows],
        deployment.label[rows],
        deployment.label_weights[rows],
    )
    labelled = np.bincount(arm, weight, 2)
    if not labelled.all():
        return None
    a, b = np.bincount(arm, weight * label, 2) / labelled
    common = np.average(label, weights=weight)
    own = weight * (label - common) / labelled[arm]
    error = error_by_units(deployment, rows, np.where(arm == 1, own, -own))
    return Mix(float(a), float(b), float(b - a), error, two_sided(float(b - a), error))


def error_by_units(deployment: Deployment, rows: Array, influence: Array) -> float:
    """Standard error of a figure: the root of the sum over units of their influences squared.

    Parameters
    ----------
    rows : ndarray of int
        The items that enter it.
    influence : ndarray of float64, shape (rows,)
        Of each item on the figure; their mean is 0.
    """
    influence = np.bincount(deployment.unit_codes[1][rows], influence)
    return float(np.sqrt((influence**2).sum()))


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

    Returns
    -------
    float or None
        None when the planned share or the numbers of units are not known.
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


def mix_found(mix: Mix | None) -> list[Found]:
    """What to say of the label mix; nothing where it cannot be tested."""
    if mix is None:
        return []
    shares = f"{figure(mix.share_a, '%')} of A's and {figure(mix.share_b, '%')} of B's"
    text = f"of the items that both models accept {shares} are true accepts (p = {mix.p:.2g}): "
    told = "the pooled estimate assumes that these are equal; trust the direct one"
    text += told if mix.differs else "nothing speaks against the pooled estimate"
    return [Found(name="label mix", state=state(mix.differs), text=text, p=mix.p)]


def split_found(traffic: Traffic) -> list[Found]:
    """What to say of the numbers of units; nothing where they or the plan are unknown."""
    p, units = split_check(traffic), units_of(traffic)
    if p is None or units is None or traffic.split is None:
        return []
    planned = f"{percent(traffic.split)} were planned (p = {p:.2g})"
    text = f"A has {units[0]} of {counted(sum(units), 'unit')} where {planned}"
    if p < SPLIT:
        text += (
            ", a sample-ratio mismatch: the randomisation or the logging is broken; do not trust "
            "the ratios"
        )
    return [Found(name="traffic split", state=state(p < SPLIT), text=text, p=p)]


def labels_found(deployment: Deployment) -> list[Found]:
    """Which cells have no label, or fewer than `FEW` of one; or that there is none at all."""
    if not deployment.labelled.any():
        text = "no item has a human label: machine labels alone, which nothing corrects"
        return [Found(name="labels", state="warning", text=text)]
    found = [_labels_of_cell(deployment, k) for k in range(len(CELLS))]
    return [f for f in found if f is not None]


def _labels_of_cell(deployment: Deployment, k: int) -> Found | None:
    labels = deployment.label[deployment.cell == k]
    counts = [int((labels == y).sum()) for y in (1, 0)]
    if not len(labels) or min(counts) >= FEW:
        return None
    text = f"{CELLS[k]} has {counted(len(labels), 'item')}, "
    if not sum(counts):
        text += "none of which has a human label: human labels alone give no ratio"
    else:
        text += f"{counts[0]} of label 1 and {counts[1]} of label 0: intervals are rough"
    return Found(name=f"labels {CELLS[k]}", state="warning", text=text)


def machine_found(
    cell: str,
    shares: tuple[float, float],
    ends: tuple[float | None, float | None],
    level: float,
    off: bool,
) -> Found:
    """How far the machine's mean probability is from what humans say of the same items.

    Parameters
    ----------
    shares : tuple of float
        Share of label 1 that humans and the machine see.
    ends : tuple of float or None
        Of the interval of their difference.
    off : bool
        Whether they differ by more than chance explains (`agreement.Held`).

    Returns
    -------
    Found
        A warning when they differ.
    """
    human, machine = shares
    text = f"{cell}: humans find {figure(human, '%')} true accepts where the machine expects "
    text += f"{figure(machine, '%')}, a difference of {signed(human - machine, 'pp')} "
    text += f"({percent(level)} interval {between(*ends, scale='pp')})"
    if off:
        text += BIASED
    return Found(name=f"machine {cell}", state=state(off), text=text)


def intervals_found(rows: Sequence[Estimate]) -> list[Found]:
    """Whether the intervals of the bootstrap and of the delta method are alike.

    Those that are widened for few labels are meant to be wider, and are left out.

    Returns
    -------
    list of Found
        A warning for each row whose widths, on the scale of the logarithm, differ by more than a
        factor of 1.5; one line that all is well otherwise; nothing without rows to compare.
    """
    both = [r for r in rows if r.method != "delta" and "few_labels" not in r.flags]
    both = [r for r in both if "delta_upper" in r.counts and r.lower is not None]
    apart = [f for r in both if (f := _apart(r)) is not None]
    if apart or not both:
        return apart
    text = "those of the bootstrap and of the delta method are alike"
    return [Found(name="intervals", state="ok", text=text)]


def _apart(row: Estimate) -> Found | None:
    ends = row.counts["delta_lower"], row.counts["delta_upper"]
    widths = log_width(row.lower, row.upper), log_width(*ends)
    if not max(widths) > APART * min(widths):
        return None
    text = (
        f"{row.measure} ({row.dims['estimator']}): the bootstrap gives "
        f"{between(row.lower, row.upper)}, the delta method {between(*ends)}: few units, or one "
        f"that outweighs the others; rely on neither end"
    )
    return Found(name="intervals", state="warning", text=text)


def log_width(lower: float | None, upper: float | None) -> float:
    """Width of an interval of a ratio on the scale of the logarithm; NaN where it has no ends."""
    if lower is None or upper is None or upper <= 0:
        return float("nan")
    return float(np.log(upper / lower)) if lower > 0 else float("inf")


def narrower_found(rows: Sequence[Estimate]) -> list[Found]:
    """Which of the direct and the pooled estimate has the narrower interval, for each ratio.

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
            found.append(Found(name=f"narrower {measure}", state="ok", text=text))
    return found


def state(bad: bool) -> State:
    """The state of a check that finds something bad, or does not."""
    return "warning" if bad else "ok"
