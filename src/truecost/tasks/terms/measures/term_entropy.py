"""Cross entropy of the scores of a term search, taken as natural-log likelihood ratios.

Clog(llr) = ln(1 + exp(-(llr + logit Ptar))) for a target, ln(1 + exp(llr + logit Ptar)) for a
nontarget, in nats, Ptar the effective prior of the application (paper 002, Eq. 23 and 37). All
trials count: those that were not submitted have the floor, the lowest submitted score (Eq. 42).
`term_targets` and `term_nontargets` have the `cost` of the submitted trials, `term_floor` that of
one at the floor. Variants join the queries: `pooled` takes one mean over all targets and one over
all nontargets (Eq. 43), `by_query` means over queries of the means of each.

The least cross entropy over llr' = gamma llr + delta (Eq. 44-45) is found once on the data; a
replicate takes one Newton step from there, with the gradient and the second derivatives of its own
units (`term_fit_targets_VARIANT` and `term_fit_nontargets_VARIANT`: loss and derivatives).
"""

from dataclasses import replace

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats, Measure, Result, Told, share
from truecost.tasks.terms.measures.term_shares import MEAN, SHARE, Averaging, Shares, rule
from truecost.tasks.terms.measures.terms import COUNTS

VARIANTS = ("pooled", "by_query")
FREE = "unconstrained"
FIT_VARIANTS = (*VARIANTS, FREE, f"by_query_{FREE}")
DERIVATIVES = ("loss", "a", "b", "aa", "ab", "bb")
ENTROPY = (*COUNTS, "term_floor")


def cnxe(totals: Totals, application: Application, variant: str, how: Averaging = MEAN) -> Told:
    """Normalised cross entropy of the scores as log-likelihood ratios.

    (Ptar mean over targets of Clog + (1-Ptar) mean over nontargets of Clog) / prior entropy. Range
    [0, inf), lower is better; 1.0 is the prior alone (llr = 0 everywhere); above 1 the scores do
    harm. Paper 002, Eq. 37-43.
    """
    shares = _shares(totals, variant, how)
    missing, rest = _unsubmitted(totals, shares)
    floor = {c: totals.sums("term_floor", c)[:, None] for c in ("target", "nontarget")}
    of_targets = totals.sums("term_targets", "cost") + missing * floor["target"]
    of_nontargets = totals.sums("term_nontargets", "cost") + rest * floor["nontarget"]
    value = _weighed(shares, of_targets, of_nontargets, application.effective_prior)
    value[_short(shares, rest, variant)] = np.nan
    told = {"vanished": shares.vanished}
    return value / prior_entropy(application.effective_prior), 1.0, told


def min_cnxe(totals: Totals, application: Application, variant: str, how: Averaging = MEAN) -> Told:
    """Least Cnxe over affine maps of the scores, gamma llr + delta.

    gamma >= 0, so that it is at most 1 (gamma = 0: reversed or uninformative scores); any gamma for
    the variants `unconstrained`. Range [0, 1], lower is better; 1.0 is the prior alone. Paper 002,
    Eq. 44-45.
    """
    shares = _shares(totals, variant, how)
    missing, rest = _unsubmitted(totals, shares)
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
    tied = _of_ties(prior * targets[0], (1 - prior) * others[0])
    value = np.where(totals.sums(floor, "separated") > 0, tied, least) / prior_entropy(prior)
    value[_short(shares, rest, variant)] = np.nan
    return np.clip(value, 0.0, 1.0), 1.0, {"vanished": shares.vanished}


def _of_ties(targets: Floats, others: Floats) -> Floats:
    """Least cross entropy of trials of one score: A ln((A+B)/A) + B ln((A+B)/B) of weights A, B."""
    whole = targets + others

    def of(part: Floats) -> Floats:
        return np.where(part > 0, -part * np.log(share(part, whole)), part)

    return np.asarray(of(targets) + of(others))


def cnxe_loss(
    totals: Totals, application: Application, variant: str, how: Averaging = MEAN
) -> Result:
    """Calibration loss: Cnxe less its minimum over affine maps.

    Range [0, inf), lower is better; 0.0 is the prior alone. Paper 002, section 4.2.5.
    """
    actual = cnxe(totals, application, variant, how)[0]
    least = min_cnxe(totals, application, variant, how)[0]
    return np.asarray(actual) - least, 0.0


def prior_entropy(prior: float) -> float:
    """Cross entropy of llr = 0 everywhere, in nats (paper 002, Eq. 39, before ln 2 divides)."""
    return float(-prior * np.log(prior) - (1 - prior) * np.log1p(-prior))


def _shares(totals: Totals, variant: str, how: Averaging) -> Shares:
    """What one trial of each query weighs in the means of a variant."""
    pooled = not variant.startswith("by_query")
    return Shares.of(totals, replace(how, pooled=pooled, one_query=False), both=True)


def _unsubmitted(totals: Totals, shares: Shares) -> tuple[Floats, Floats]:
    """Targets and nontargets that were not submitted, by query."""
    missing = shares.targets - totals.sums("term_targets", "found")
    rest = shares.trials - shares.targets - totals.sums("term_nontargets", "submitted")
    return missing, rest


def _short(shares: Shares, rest: Floats, variant: str) -> Array:
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


def _variant(text: str) -> str:
    if text not in VARIANTS:
        raise ValueError(f"choose one of {', '.join(VARIANTS)}")
    return text


def _fit_variant(text: str) -> str:
    if text not in FIT_VARIANTS:
        raise ValueError(f"choose one of {', '.join(FIT_VARIANTS)}")
    return text


_SCORES = "it takes scores as natural-log likelihood ratios and counts unsubmitted trials too"
_NOTHING = (
    "no query has both targets and nontargets, or nothing was submitted, so that the score of "
    "unsubmitted trials must be given (--floor)"
)

MEASURES = (
    Measure(
        "cnxe",
        cnxe,
        ENTROPY,
        "Normalised cross entropy",
        "lower",
        "paper 002, Eq. 37-43",
        parameter="pooled",
        parse=_variant,
        advice=_SCORES,
        undefined=_NOTHING,
        task="terms",
        interval=rule("log"),
    ),
    Measure(
        "min_cnxe",
        min_cnxe,
        COUNTS,
        "Least normalised cross entropy of affine maps",
        "lower",
        "paper 002, Eq. 44-45",
        parameter="pooled",
        parse=_fit_variant,
        advice="it calibrates on the evaluation data: what the scores could tell, not what they do",
        rule="threshold-on-evaluation-data",
        minimum_of="cnxe",
        undefined=_NOTHING,
        interval=rule("log", optimistic=True, bounds=SHARE),
    ),
    Measure(
        "cnxe_loss",
        cnxe_loss,
        ENTROPY,
        "Calibration loss of Cnxe",
        "lower",
        "paper 002, 4.2.5",
        parameter="pooled",
        parse=_variant,
        advice="what a better affine map of the scores would save",
        undefined=_NOTHING,
        interval=rule("identity", excess=True, bounds=(0.0, np.inf)),
    ),
)
