"""Applications: the cost of each decision and the prior of each class, and the decisions of least
expected cost.

Conventions: rows of a cost matrix are true classes, columns are decisions; a column more than
there are classes is "abstain". A detection application has the classes (nontarget, target) and the
decisions (reject, accept). Priors of `None` mean the shares found in the data, taken anew in each
replicate. Sources: Rodriguez-Fuentes & Penagarikano 2013, sections 2.3-2.6 and Eq. 6-24; Ferrer et
al. 2024, sections 3.1 and 3.5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.digits import matrix_text
from truecost.errors import UsageError, counted, near
from truecost.options import check
from truecost.prices import Prices

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Application:
    """Costs and priors of an application.

    Parameters
    ----------
    costs : tuple of tuple of float, optional
        Cost matrix (classes x decisions), at least 0. Default: 0 for right, 1 for wrong decisions.
    priors : tuple of float, optional
        Prior of each class; their sum is 1. Default: the shares in the data.
    name : str
        Name of a preset, for signatures.
    prices : Prices
        Prices of errors, people, computing and waiting, in a currency, for measures such as
        `total_cost`.

    Raises
    ------
    UsageError
        If the costs are not a cost matrix, or the priors do not sum to 1.
    """

    costs: tuple[tuple[float, ...], ...] | None = None
    priors: tuple[float, ...] | None = None
    name: str = ""
    prices: Prices = field(default_factory=Prices)

    def __post_init__(self) -> None:
        check(self.prices, place="prices")
        if self.costs is not None:  # numbers of any kind become plain ones
            costs = tuple(tuple(float(c) for c in row) for row in self.costs)
            object.__setattr__(self, "costs", costs)
        if self.priors is not None:
            object.__setattr__(self, "priors", tuple(float(p) for p in self.priors))
            check_priors(self.priors)
        if self.costs is not None:
            _check_costs(self.costs)
            if self.priors is not None and len(self.priors) != len(self.costs):
                raise UsageError(
                    f"{counted(len(self.priors), 'prior')} for a cost matrix of "
                    f"{counted(len(self.costs), 'class')}: give one prior per class"
                )

    @staticmethod
    def detection(
        cost_miss: float = 1.0, cost_fa: float = 1.0, prior: float | None = None, name: str = ""
    ) -> "Application":
        """Application of a detector: classes (nontarget, target), decisions (reject, accept).

        Parameters
        ----------
        cost_miss, cost_fa : float
            Costs of a miss (Cm) and of a false alarm (Cf), above 0.
        prior : float, optional
            Prior of a target (P), between 0 and 1. Default: the share of the targets in the data.
        name : str
            Name of a preset, for signatures.

        Raises
        ------
        UsageError
            If a cost or the prior is out of range.

        Examples
        --------
        >>> import truecost as tc
        >>> search = tc.Application.detection(cost_miss=100, cost_fa=1, prior=0.00015)
        >>> round(search.beta, 2), round(search.effective_prior, 4), round(search.threshold, 2)
        (66.66, 0.0148, 4.2)
        """
        for label, cost in (("cost of a miss", cost_miss), ("cost of a false alarm", cost_fa)):
            if not (_in_range(cost) and cost > 0):
                raise UsageError(f"{label} is {cost:g}: it must be a finite number above 0{RANGE}")
        if prior is not None and not (_in_range(prior) and 0 < prior < 1):
            raise UsageError(
                f"prior is {prior:g}: it must lie between 0 and 1, neither included"
                + (" (did you mean a percentage?)" if 1 < prior < 100 else "")
                + (RANGE if 0 < prior < SMALLEST else "")
            )
        priors = None if prior is None else (1.0 - prior, prior)
        return Application(((0.0, cost_fa), (cost_miss, 0.0)), priors, name)

    @property
    def cost_miss(self) -> float:
        """Cost of a miss, Cm. Raises UsageError unless `plain_detection` is true."""
        return self.require_detection()[1][0]

    @property
    def cost_fa(self) -> float:
        """Cost of a false alarm, Cf. Raises UsageError unless `plain_detection` is true."""
        return self.require_detection()[0][1]

    @property
    def prior(self) -> float:
        """Prior of a target, P. Raises UsageError if no prior was given."""
        if self.priors is None or len(self.priors) != 2:
            raise UsageError(
                "this application has no target prior of its own, but uses the share "
                "in the data: give a prior, or call with_priors first"
            )
        return self.priors[1]

    @property
    def plain_detection(self) -> bool:
        """Whether a threshold determines all decisions: two classes, no option to abstain, right
        decisions cost 0 and wrong ones more than 0.
        """
        costs = ((0.0, 1.0), (1.0, 0.0)) if self.costs is None else self.costs
        return (
            len(costs) == 2
            and len(costs[0]) == 2
            and costs[0][0] == 0 == costs[1][1]
            and costs[0][1] > 0
            and costs[1][0] > 0
        )

    def require_detection(self) -> tuple[tuple[float, ...], ...]:
        """Cost matrix of a plain detection. Raises UsageError for other applications."""
        costs = ((0.0, 1.0), (1.0, 0.0)) if self.costs is None else self.costs
        if not self.plain_detection:
            raise UsageError(
                f"{matrix_text(costs)} is not a cost matrix of detection, which needs two classes, "
                "two decisions, cost 0 for right decisions and costs above 0 for wrong ones"
            )
        return costs

    @property
    def effective_prior(self) -> float:
        """Effective prior, Ptar = Cm P / (Cm P + Cf (1-P)), in [0, 1] (Rodriguez-Fuentes &
        Penagarikano 2013, Eq. 23).
        """
        miss = self.cost_miss * self.prior
        return miss / (miss + self.cost_fa * (1 - self.prior))

    @property
    def beta(self) -> float:
        """Ratio of the weights of the error rates, Cf (1-P) / (Cm P) (Rodriguez-Fuentes &
        Penagarikano 2013, Eq. 7 and 22).
        """
        miss = self.cost_miss * self.prior
        return self.cost_fa * (1 - self.prior) / miss if miss > 0 else math.inf

    @property
    def threshold(self) -> float:
        """Bayes threshold on natural-log likelihood ratios: ln(beta) = -logit(Ptar), in nats
        (Rodriguez-Fuentes & Penagarikano 2013, Eq. 30-31).
        """
        return math.log(self.beta) if self.beta > 0 else -math.inf

    @property
    def naive_cost(self) -> float:
        """Cost of the naive baseline (reject all or accept all trials): min(Cm P, Cf (1-P))
        (Rodriguez-Fuentes & Penagarikano 2013, Eq. 9).
        """
        return min(self.cost_miss * self.prior, self.cost_fa * (1 - self.prior))

    def matrix(self, classes: int) -> Floats:
        """Cost matrix, float64, shape (classes, decisions): the given costs, else 0 for right and 1
        for wrong decisions. With more decisions than classes, the last decision is to abstain.

        Raises
        ------
        UsageError
            If the given costs are for another number of classes.
        """
        if self.costs is None:
            return np.ones((classes, classes)) - np.eye(classes)
        if len(self.costs) != classes and self.plain_detection:
            raise UsageError(
                "these costs and this prior are for detection, which has two classes, but the "
                f"data have {classes}: name the target (--target), or give costs of all {classes} "
                "classes, a row for each (--cost-matrix)"
            )
        if len(self.costs) != classes:
            raise UsageError(
                f"the cost matrix has {counted(len(self.costs), 'row')} but the data have "
                f"{counted(classes, 'class')}: give one row per class"
            )
        return np.array(self.costs, np.float64)

    def class_priors(self, counts: npt.NDArray[Any]) -> Floats:
        """Priors of the classes in each replicate, float64 (replicates, classes); without given
        priors, the shares in the replicate (NaN without trials). The array may be read-only.

        Parameters
        ----------
        counts : ndarray, shape (replicates, classes)
            Weight of each class.

        Raises
        ------
        UsageError
            If the number of priors differs from the number of classes.
        """
        weights = np.asarray(counts, np.float64)
        if self.priors is not None:
            if len(self.priors) != weights.shape[-1]:
                raise UsageError(
                    f"{counted(len(self.priors), 'prior')} for "
                    f"{counted(weights.shape[-1], 'class')}: give one prior per class"
                )
            return np.broadcast_to(np.array(self.priors), weights.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def with_priors(self, priors: Sequence[float] | Floats) -> "Application":
        """Application with the given priors; unchanged if it already has priors.

        Raises
        ------
        UsageError
            If the priors do not sum to 1, or the cost matrix has another number of rows.
        """
        if self.priors is not None:
            return self
        return replace(self, priors=tuple(float(p) for p in priors))

    @property
    def unweighed(self) -> bool:
        """Whether neither costs nor priors were given."""
        return self.costs is None and self.priors is None

    def describe(self) -> dict[str, Any]:
        """Dictionary with the keys `preset` (name), `costs` ("0/1", the costs of "miss" and
        "fa", or rows of the matrix), `prior` (of the target; "empirical": its share in the data) or
        `priors` (of more than two classes), and `prices`. `Row.parameters` contains these keys.
        """
        said: dict[str, Any] = {"preset": self.name} if self.name else {}
        costs = self.costs
        if costs is None:
            said["costs"] = "0/1"
        elif len(costs) == 2 and len(costs[0]) == 2 and costs[0][0] == costs[1][1] == 0:
            said["costs"] = {"miss": costs[1][0], "fa": costs[0][1]}
        else:
            said["costs"] = [list(row) for row in costs]
        if self.priors is None:
            said["prior"] = "empirical"
        elif len(self.priors) == 2:
            said["prior"] = self.priors[1]
        else:
            said["priors"] = list(self.priors)
        return said | ({"prices": prices} if (prices := self.prices.given()) else {})


SMALLEST = 1e-70  # of priors and costs, whose ratios and squares must be numbers
RANGE = f", from {SMALLEST:g} to {1 / SMALLEST:g}"


def _in_range(number: float) -> bool:
    """Whether a prior or a cost is 0, or of a size that floats can be computed with."""
    return number == 0 or SMALLEST <= abs(number) <= 1 / SMALLEST


def check_priors(priors: Sequence[float]) -> None:
    """Refuse priors outside 0 to 1, or that do not sum to 1: UsageError."""
    given = ", ".join(f"{p:g}" for p in priors)
    if not all(_in_range(p) and 0 <= p <= 1 for p in priors):
        raise UsageError(f"class priors {given}: each must be 0, or from {SMALLEST:g} to 1")
    if abs(sum(priors) - 1) > 1e-6:
        raise UsageError(f"class priors {given} sum to {sum(priors):g}: they must sum to 1")


def _check_costs(costs: Sequence[Sequence[float]]) -> None:
    widths = {len(row) for row in costs}
    if len(costs) < 2 or len(widths) != 1:
        raise UsageError(
            f"the cost matrix has rows of lengths {[len(row) for row in costs]}: give two or more "
            f"rows, one for each true class, each with one cost for each decision"
        )
    if next(iter(widths)) not in (len(costs), len(costs) + 1):
        raise UsageError(
            f"the cost matrix is {len(costs)} x {next(iter(widths))}: give as many columns as "
            f"rows, or one more column to abstain"
        )
    if not all(_in_range(c) and c >= 0 for row in costs for c in row):
        shown = matrix_text(costs)
        said = f"has an entry below 0, or a positive one that is not{RANGE[1:]}"
        raise UsageError(f"the cost matrix {shown} {said}")


@dataclass(frozen=True)
class Preset:
    """A named application, and who set its costs and prior (`source`)."""

    application: Application
    source: str


PRESETS: dict[str, Preset] = {
    name: Preset(Application.detection(miss, 1, prior, name), source)
    for name, miss, prior, source in (
        ("equal", 1, 0.5, "equal costs, equal priors: the mean of Pmiss and Pfa"),
        (
            *("nist-std-2006", 10, 1e-4),
            "NIST STD 2006 (cost/value ratio 0.1; Cmiss = 10 as in Rodriguez-Fuentes & "
            "Penagarikano 2013, section 2.5)",
        ),
        (
            *("nist-openkws-2013", 10, 1e-4),
            "NIST OpenKWS 2013 (cost/value ratio 0.1, beta 999.9; one trial a second, 0.5 s around "
            "an occurrence and between words: the defaults of NIST's scorer KWSEval, F4DE; "
            "Rodriguez-Fuentes & Penagarikano 2013, "
            "section 2.2.1)",
        ),
        (
            "sws-2012",
            1,
            None,
            "MediaEval SWS 2012: prior from the data (Rodriguez-Fuentes & "
            "Penagarikano 2013, Eq. 17)",
        ),
        (
            "sws-2013",
            100,
            0.00015,
            "MediaEval SWS 2013 (Rodriguez-Fuentes & Penagarikano 2013, Eq. 21)",
        ),
        ("quesst-2014", 100, 0.0008, "MediaEval QUESST 2014"),
        ("opensad", 1, 0.75, "NIST OpenSAD: 0.75 Pmiss + 0.25 Pfa"),
        (
            "sre-2010",
            1,
            0.001,
            "NIST SRE 2010 core condition (Rodriguez-Fuentes & Penagarikano 2013, ref. 2)",
        ),
    )
}
"""Named applications, each with its source: `PRESETS[name].application` and `PRESETS[name].source`.

The command `truecost list presets` prints them."""


def preset(name: str) -> Application:
    """Application of a preset, by its name in `PRESETS`. Raises UsageError for other names."""
    if str(name) not in PRESETS:
        raise UsageError(
            f"preset {name!r} is not known{near(name, PRESETS)}: choose one of {', '.join(PRESETS)}"
        )
    return PRESETS[name].application


def move_posteriors(log_posteriors: Floats, old: npt.ArrayLike, new: npt.ArrayLike) -> Floats:
    """Log-posteriors, natural, (trials, classes), under new priors: log p + log(new/old),
    normalised again.

    A class whose old prior is 0 cannot be moved: its posterior only takes part in the normalisation
    (a value that gives such a class a prior is undefined anyway). A probability of 0 stays 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.log(np.asarray(new, np.float64)) - np.log(np.asarray(old, np.float64))
        step = np.where(np.isneginf(step) | np.isfinite(step), step, 0.0)
        moved = np.where(np.isneginf(log_posteriors), -np.inf, log_posteriors + step)
    return log_normalise(moved)


def log_normalise(logs: Floats) -> Floats:
    """Rows of logarithms shifted so that their exponentials sum to one (softmax, in logs)."""
    top = logs.max(axis=1, keepdims=True)
    shifted = logs - np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def bayes_decisions(log_posteriors: Floats, costs: Floats) -> npt.NDArray[np.int64]:
    """Decisions of least expected cost: argmin_d sum_k c[k, d] p_k; the lowest wins ties.

    Rodriguez-Fuentes & Penagarikano 2013, Eq. 25-26, for any number of classes and decisions:
    log-posteriors (trials, classes), costs (classes, decisions), decisions int64 (trials,).
    """
    posteriors = np.exp(log_posteriors)
    expected = np.zeros((len(posteriors), costs.shape[1]))
    for k in range(costs.shape[0]):  # by class: a sum in fixed order, whatever the thread count
        expected += posteriors[:, k, None] * costs[k]
    return np.asarray(expected.argmin(axis=1))
