"""Cross entropy of term detection scores: the scores are natural-log likelihood ratios.

Clog(llr) = ln(1 + exp(-(llr + logit Ptar))) for a target, ln(1 + exp(llr + logit Ptar)) for a
nontarget, in nats, Ptar the effective prior of the application (Rodriguez-Fuentes & Penagarikano
2013, Eq. 23 and 37). All trials count: those that were not submitted have the floor, the lowest
submitted score (Eq. 42). `term_targets` and `term_nontargets` have the `cost` of the submitted
trials, `term_floor` that of one at the floor. Variants join the queries: `pooled` takes one mean
over all targets and one over all nontargets (Eq. 43), `by_query` means over queries of the means of
each.

The least cross entropy over llr' = gamma llr + delta (Eq. 44-45) is found once on the data; a
replicate takes one Newton step from there, with the gradient and the second derivatives of its own
units (`term_fit_targets_VARIANT` and `term_fit_nontargets_VARIANT`: loss and derivatives).

Every trial counts: those that were not submitted stand at the floor, as one row for the targets and
one for the nontargets, with their number as weight (Rodriguez-Fuentes & Penagarikano 2013, Eq.
42-45).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from truecost.calibration.affine import Affine, separable
from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats, Measure, Result, Told, one_of, share
from truecost.tasks.terms.measures import COUNTS
from truecost.tasks.terms.pooling import MEAN, SHARE, Averaging, Shares, rule
from truecost.tasks.terms.records import Search

VARIANTS = ("pooled", "by_query")
FREE = "unconstrained"
FIT_VARIANTS = (*VARIANTS, FREE, f"by_query_{FREE}")
DERIVATIVES = ("loss", "a", "b", "aa", "ab", "bb")
ENTROPY = (*COUNTS, "term_floor")


def cnxe(totals: Totals, application: Application, variant: str, how: Averaging = MEAN) -> Told:
    """Cross entropy of the scores, as log-likelihood ratios, divided by the entropy H of the
    effective prior: `(Ptar mean_tar Clog + (1-Ptar) mean_non Clog) / H(Ptar)`.

    H is in nats, as Clog. A trial without a submitted score gets the lowest submitted score (or
    `--floor`). Queries without targets count only with `--count-all-queries`. The parameter is the
    kind of the means. `pooled`: means over all trials. `by_query`: means of each query, averaged
    over the queries. Range [0, inf); lower is better. Naive baseline: 1.0 (llr = 0 for every
    trial). A value above 1 means that the scores are worse than no scores. Rodriguez-Fuentes &
    Penagarikano 2013, Eq. 37-43.
    """
    shares, missing, rest = _shares(totals, variant, how)
    floor = {c: totals.sums("term_floor", c)[:, None] for c in ("target", "nontarget")}
    of_targets = totals.sums("term_targets", "cost") + missing * floor["target"]
    of_nontargets = totals.sums("term_nontargets", "cost") + rest * floor["nontarget"]
    value = _weighed(shares, of_targets, of_nontargets, application.effective_prior)
    value[_has_too_many(shares, rest, variant)] = np.nan
    value /= prior_entropy(application.effective_prior)
    return value, 1.0, {"vanished": shares.vanished}


def min_cnxe(totals: Totals, application: Application, variant: str, how: Averaging = MEAN) -> Told:
    """Lowest `cnxe` over all affine maps `gamma llr + delta` of the scores with `gamma >= 0`.

    The parameter is the kind of the means. `pooled`, `by_query`: as for `cnxe`; the value is 1
    (`gamma = 0`) if the scores are uninformative or reversed. `unconstrained`,
    `by_query_unconstrained`: the means of `pooled` and of `by_query`, without the condition `gamma
    >= 0`. Range [0, 1]; lower is better. Naive baseline: 1.0 (llr = 0 for every trial).
    Rodriguez-Fuentes & Penagarikano 2013, Eq. 44-45.
    """
    shares, missing, rest = _shares(totals, variant, how)
    floor, prior = f"term_fit_floor_{variant}", application.effective_prior

    def of_class(what: str, derivative: str, unsubmitted: Floats) -> Floats:
        at_floor = totals.sums(floor, f"{what}_{derivative}")[:, None]
        submitted = totals.sums(f"term_fit_{what}_{variant}", derivative)
        return np.asarray(submitted + unsubmitted * at_floor)

    targets, others = (
        [(weight * of_class(what, d, unsubmitted)).sum(axis=1) for d in DERIVATIVES]
        for what, weight, unsubmitted in (
            ("targets", shares.gain, missing),
            ("nontargets", shares.loss, rest),
        )
    )
    found = [prior * t + (1 - prior) * n for t, n in zip(targets, others, strict=True)]
    least = _newton_step(found, totals.sums(floor, "scale"), free=FREE in variant)
    tied = _tie_entropy(prior * targets[0], (1 - prior) * others[0])
    value = np.where(totals.sums(floor, "separated") > 0, tied, least) / prior_entropy(prior)
    value[_has_too_many(shares, rest, variant)] = np.nan
    return np.clip(value, 0.0, 1.0), 1.0, {"vanished": shares.vanished}


def _tie_entropy(targets: Floats, others: Floats) -> Floats:
    """Least cross entropy of trials of one score: A ln((A+B)/A) + B ln((A+B)/B) of weights A, B."""
    whole = targets + others

    def weighed_entropy(part: Floats) -> Floats:
        return np.where(part > 0, -part * np.log(share(part, whole)), part)

    return np.asarray(weighed_entropy(targets) + weighed_entropy(others))


def cnxe_loss(
    totals: Totals, application: Application, variant: str, how: Averaging = MEAN
) -> Result:
    """Cnxe minus minimum Cnxe: the part of Cnxe that the best affine map of the scores removes.

    The parameter is that of `cnxe`. Range [0, inf); lower is better. Naive baseline: 0.0 (llr = 0
    for every trial). Rodriguez-Fuentes & Penagarikano 2013, section 4.2.5.
    """
    actual = cnxe(totals, application, variant, how)[0]
    least = min_cnxe(totals, application, variant, how)[0]
    return np.asarray(actual) - least, 0.0


def prior_entropy(prior: float) -> float:
    """Cross entropy of llr = 0 everywhere, in nats (Rodriguez-Fuentes & Penagarikano 2013, Eq. 39,
    before ln 2 divides).
    """
    return float(-prior * np.log(prior) - (1 - prior) * np.log1p(-prior))


def _shares(totals: Totals, variant: str, how: Averaging) -> tuple[Shares, Floats, Floats]:
    """Weight of a trial of each query in the means of a variant; numbers of targets and nontargets
    that were not submitted, by query.
    """
    pooled = not variant.startswith("by_query")
    shares = Shares.from_totals(totals, replace(how, pooled=pooled, one_query=False), both=True)
    missing = shares.targets - totals.sums("term_targets", "found")
    rest = shares.trials - shares.targets - totals.sums("term_nontargets", "submitted")
    return shares, missing, rest


def _has_too_many(shares: Shares, rest: Floats, variant: str) -> Array:
    """Replicates with more detections of nontargets than there are nontargets."""
    if variant.startswith("by_query"):
        return np.asarray(((shares.loss > 0) & (rest < 0)).any(axis=1))
    return np.asarray((shares.loss * rest).sum(axis=1) < 0)


def _weighed(shares: Shares, targets: Floats, nontargets: Floats, prior: float) -> Floats:
    """Ptar mean over targets + (1 - Ptar) mean over nontargets."""
    of_targets = (shares.gain * targets).sum(axis=1)
    of_nontargets = (shares.loss * nontargets).sum(axis=1)
    return np.asarray(prior * of_targets + (1 - prior) * of_nontargets)


def _newton_step(found: list[Floats], scale: Floats, *, free: bool) -> Floats:
    """Least loss of the parabola through a point; that of gamma = 0 (infinite here) beyond it."""
    loss, a, b, aa, ab, bb = found
    determinant = aa * bb - ab**2
    flat = determinant <= 1e-12 * aa * bb  # equal scores: the offset alone moves the loss
    step_a = np.where(flat, 0.0, share(ab * b - bb * a, determinant))
    step_b = np.where(flat, -share(b, bb), share(ab * a - aa * b, determinant))
    least = loss + (a * step_a + b * step_b) / 2
    return least if free else np.where(scale + step_a < 0, np.inf, least)


_NOTHING = (
    "no query has both targets and nontargets, or nothing was submitted (then give the score of "
    "unsubmitted trials, --floor)"
)
_POOLED: dict[str, Any] = {"parameter": "pooled", "undefined": _NOTHING}
MEASURES = (
    Measure(
        *("cnxe", cnxe, ENTROPY, "Normalised cross entropy", "lower", "paper 002, Eq. 37-43"),
        **_POOLED,
        parse=partial(one_of, VARIANTS),
        advice="it treats scores as natural-log likelihood ratios, and counts unsubmitted trials",
        task="terms",
        interval=rule("log"),
    ),
    Measure(
        *("min_cnxe", min_cnxe, COUNTS, "Minimum normalised cross entropy (affine)"),
        *("lower", "paper 002, Eq. 44-45"),
        **_POOLED,
        parse=partial(one_of, FIT_VARIANTS),
        advice="its calibration is fitted on the evaluation data: it shows the best possible "
        "calibration, not the quality in use",
        rule="threshold-on-evaluation-data",
        minimum_of="cnxe",
        interval=rule("log", optimistic=True, bounds=SHARE),
    ),
    Measure(
        *("cnxe_loss", cnxe_loss, ENTROPY, "Calibration loss of Cnxe", "lower", "paper 002, 4.2.5"),
        **_POOLED,
        parse=partial(one_of, VARIANTS),
        advice="it shows how much an affine calibration of the scores can save",
        interval=rule("identity", excess=True, bounds=(0.0, np.inf)),
    ),
)


@dataclass(frozen=True)
class Fit:
    """llr' = gamma llr + delta (NaN where there is no least cross entropy), and where it was found.

    Scores are standardised, (score - middle) / spread, before derivatives are taken; the prior is
    the effective one. `separated`: no target lies below a nontarget, so that cross entropy falls as
    gamma grows, to what the trials at `tie` cost, the score at which targets and nontargets meet
    (NaN where they do not). `reversed`: the best gamma is not above 0, as the scores are
    uninformative or reversed.
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
        """Log odds of the effective prior, in nats."""
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
    def best(search: Search, prior: float, floor: float, every: bool, variant: str) -> "Fit":
        """The best map of a search for a variant, one of `FIT_VARIANTS`.

        `prior` is the effective prior of the application, `floor` the score of the trials that were
        not submitted (NaN where it is not known); with `every` queries without targets count too.
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


def derivatives(scores: Floats, fit: Fit, *, target: bool) -> tuple[Floats, ...]:
    """Clog of each score at a fit, and its derivatives by scale and offset of standard scores.

    Loss in nats, d/da, d/db, d2/da2, d2/dadb, d2/db2, each of the shape of the scores, which are
    those of targets or of nontargets; of a fit that separates the classes 1 for each trial at its
    tie, and zeros.
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
