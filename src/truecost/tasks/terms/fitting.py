"""The affine map of the scores of a search that makes its cross entropy least.

Every trial counts: those that were not submitted stand at the floor, as one row for the targets and
one for the nontargets, with their number as weight (paper 002, Eq. 42-45).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from truecost.calibration.affine import Affine, separable
from truecost.tasks.terms.measures.term_entropy import FREE
from truecost.tasks.terms.records import Floats, Search


@dataclass(frozen=True)
class Fit:
    """llr' = gamma llr + delta, and where it was found.

    Attributes
    ----------
    gamma, delta : float
        NaN where there is no least cross entropy.
    middle, spread : float
        Scores are standardised, (score - middle) / spread, before derivatives are taken.
    prior : float
        Effective prior.
    separated : bool
        No target lies below a nontarget: cross entropy falls as gamma grows, to what the trials at
        `tie` cost.
    tie : float
        The score at which targets and nontargets meet, where they are separated but for it; NaN
        where they do not meet.
    reversed : bool
        The best gamma is not above 0: the scores tell nothing, or the opposite.
    """

    gamma: float
    delta: float
    middle: float
    spread: float
    prior: float
    separated: bool = False
    tie: float = np.nan
    reversed: bool = False

    @property
    def logit(self) -> float:
        """Of the effective prior, in nats."""
        return float(np.log(self.prior) - np.log1p(-self.prior))

    @property
    def scale(self) -> float:
        """Gamma of the standardised scores."""
        return self.gamma * self.spread

    @property
    def offset(self) -> float:
        """Delta of the standardised scores."""
        return self.delta + self.gamma * self.middle

    @staticmethod
    def of(search: Search, prior: float, floor: float, every: bool, variant: str) -> "Fit":
        """The best map of a search.

        Parameters
        ----------
        prior : float
            Effective prior of the application.
        floor : float
            Score of the trials that were not submitted; NaN where it is not known.
        every : bool
            Queries without targets count too.
        variant : str
            One of `truecost.tasks.terms.measures.term_entropy.FIT_VARIANTS`.
        """
        scores, labels, weights = _trials(search, floor, every, variant)
        known = weights > 0
        scores, labels, weights = scores[known], labels[known], weights[known]
        if np.isnan(scores).any() or len(np.unique(labels)) < 2:
            return Fit(np.nan, np.nan, 0.0, 1.0, prior)
        middle = float(scores.mean())
        spread = float(scores.std()) or 1.0
        if len(np.unique(scores)) == 1:  # they tell nothing
            return Fit(0.0, 0.0, middle, spread, prior, reversed=True)
        if separable(scores, labels.astype(np.uint8)):
            return _separated(scores, labels, Fit(1.0, 0.0, middle, spread, prior), FREE in variant)
        found = Affine.fit(scores, labels, prior=prior, weights=weights)
        if found.scale > 0 or FREE in variant:
            reverse = found.scale <= 0
            return Fit(found.scale, found.offset, middle, spread, prior, reversed=reverse)
        return Fit(0.0, 0.0, middle, spread, prior, reversed=True)


def _separated(scores: Floats, labels: Floats, fit: Fit, free: bool) -> Fit:
    """The fit of scores that tell targets from nontargets, but for ties at one score."""
    targets, others = scores[labels == 1], scores[labels == 0]
    right = targets.min() >= others.max()
    if not right and not free:
        return replace(fit, gamma=0.0, reversed=True)
    ends = (targets.min(), others.max()) if right else (targets.max(), others.min())
    return replace(fit, separated=True, tie=ends[0] if ends[0] == ends[1] else np.nan)


@dataclass(frozen=True, eq=False)
class Fits:
    """The best maps of a search, each found once.

    Attributes
    ----------
    prior : float
        Effective prior of the application.
    floor : float
        Score of the trials that were not submitted; NaN where it is not known.
    every : bool
        Queries without targets count too.
    """

    search: Search
    prior: float
    floor: float
    every: bool
    _found: dict[str, Fit] = field(default_factory=dict, init=False, repr=False)

    def of(self, variant: str) -> Fit:
        """The best map of a variant."""
        if variant not in self._found:
            fit = Fit.of(self.search, self.prior, self.floor, self.every, variant)
            self._found[variant] = fit
        return self._found[variant]


def derivatives(scores: Floats, fit: Fit, *, target: bool) -> tuple[Floats, ...]:
    """Clog of each score at a fit, and its derivatives by scale and offset of standard scores.

    Parameters
    ----------
    scores : ndarray of float64, shape (N,)
    target : bool
        Whether they are those of targets.

    Returns
    -------
    tuple of ndarray of float64, shape (N,)
        Loss in nats, d/da, d/db, d2/da2, d2/dadb, d2/db2; of a fit that separates the classes 1 for
        each trial at its tie, and zeros.
    """
    if fit.separated:  # only trials at the tie cost anything: those are counted
        at_tie, none = (scores == fit.tie).astype(np.float64), np.zeros(len(scores))
        return at_tie, none, none, none, none, none
    x = (scores - fit.middle) / fit.spread
    sign = -1.0 if target else 1.0
    z = sign * (fit.scale * x + fit.offset + fit.logit)
    with np.errstate(invalid="ignore"):  # nothing is known of a floor that is missing
        loss = np.logaddexp(0.0, z)
    wrong = np.exp(z - loss)  # the probability of the other class
    slope, curve = sign * wrong, wrong * np.exp(-loss)
    return loss, slope * x, slope, curve * x * x, curve * x, curve


def _trials(
    search: Search, floor: float, every: bool, variant: str
) -> tuple[Floats, Floats, Floats]:
    """Scores, labels and weights of the trials; those at the floor are one row for each class."""
    reference = search.reference
    targets = reference.targets_by_query.astype(np.float64)
    others = reference.trials - targets
    found = np.bincount(search.query[search.is_target], minlength=len(targets))
    false = np.bincount(search.query[~search.is_target], minlength=len(targets))
    used = (np.ones(len(targets)) if every else targets > 0).astype(np.float64)
    right, wrong = used, used
    if variant.startswith("by_query"):
        right = np.divide(used, targets, out=np.zeros_like(used), where=targets > 0)
        wrong = np.divide(used, others, out=np.zeros_like(used), where=others > 0)
    at_floor = [(right * (targets - found)).sum(), (wrong * (others - false)).sum()]
    own = np.where(search.is_target, right[search.query], wrong[search.query])
    return (
        np.append(search.score, [floor, floor] if max(at_floor) > 0 else [0.0, 0.0]),
        np.append(search.is_target.astype(np.float64), [1.0, 0.0]),
        np.append(own, np.maximum(at_floor, 0.0)),
    )
