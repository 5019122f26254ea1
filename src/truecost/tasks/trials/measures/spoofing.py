"""Spoofing-aware speaker verification: a-DCF and t-DCF.

`spoofed` is a tally of `n` by kind (target, nontarget, spoof) and `reached`: how many of the scores
that targets have a trial reaches; `bonafide` the same of bona fide speech against spoofed, by the
scores of the bona fide. `asv` counts how the speaker verification decides, by kind and decision.
Between two scores of targets a higher threshold misses no more and accepts less, so that these and
rejecting everything are all the thresholds there are.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats, Measure, Rate, Result, Rule, share
from truecost.tasks.trials.options import ASV, BONAFIDE, SPOOFED

KINDS, SIDES = ("target", "nontarget", "spoof"), ("bona fide", "spoof")
JOINED = "+"  # between the choices of a parameter


@dataclass(frozen=True)
class Costs:
    """Priors of the three kinds of trials and what their errors cost."""

    target: float
    nontarget: float
    spoof: float
    miss: float = 1.0
    fa: float = 10.0
    spoof_fa: float = 10.0

    @property
    def weights(self) -> tuple[float, float, float]:
        """The costs of all misses, all accepted nontargets and all accepted spoofs."""
        return (
            self.target * self.miss,
            self.nontarget * self.fa,
            self.spoof * self.spoof_fa,
        )


NAMED = {
    "shim-2024": Costs(0.9, 0.05, 0.05, 1, 10, 20),
    "asvspoof-2021": Costs(0.9405, 0.0095, 0.05, 1, 10, 10),
}


def costs_of(text: str) -> Costs:
    """Priors and costs by name, or `target=0.9+nontarget=0.05+spoof=0.05+miss=1+fa=10+spoof_fa=20`
    (costs that are left out are 1, 10 and 10).
    """
    if text in NAMED:
        return NAMED[text]
    known = [one.name for one in fields(Costs)]
    given = {}
    for part in text.split(JOINED):
        name, mark, number = part.partition("=")
        if not mark or name not in known:
            raise ValueError(
                f"choose {' or '.join(NAMED)}, or give {JOINED.join(f'{n}=...' for n in known)}"
            )
        given[name] = float(number)
    if not {"target", "nontarget", "spoof"} <= {*given}:
        raise ValueError("give the priors of target, nontarget and spoof")
    found = Costs(**given)
    priors = (found.target, found.nontarget, found.spoof)
    if abs(sum(priors) - 1) > 1e-9 or not all(0 < p < 1 for p in priors):
        raise ValueError("the priors of target, nontarget and spoof lie above 0 and sum to 1")
    if min(found.miss, found.fa, found.spoof_fa) <= 0:
        raise ValueError("costs lie above 0")
    return found


def _rates(totals: Totals, part: str) -> tuple[Floats, Floats]:
    """Misses of the first kind and acceptances of the others at every threshold.

    Shapes (replicates, thresholds) and (replicates, other kinds, thresholds); rejecting everything
    is the last threshold. NaN where a kind has no trials.
    """
    n = np.asarray(totals.sums(part, "n"), np.float64)
    above = np.cumsum(n[..., ::-1], axis=-1)[..., ::-1]
    accepted = np.concatenate([above[..., 1:], np.zeros((*n.shape[:2], 1))], axis=-1)
    rates = share(accepted, np.broadcast_to(above[..., :1], accepted.shape))
    return 1 - rates[:, 0], rates[:, 1:]


def _costs_at(totals: Totals, costs: Costs) -> Floats:
    """The cost at every threshold, over that of the better constant answer."""
    miss, accepted = _rates(totals, SPOOFED)
    of_miss, of_fa, of_spoof = costs.weights
    found = of_miss * miss + of_fa * accepted[:, 0] + of_spoof * accepted[:, 1]
    return np.asarray(found / min(of_miss, of_fa + of_spoof))


def a_dcf(totals: Totals, _: Application, costs: Costs) -> Result:
    """Architecture-agnostic detection cost of a system that rejects spoofed speech by its score:
    `min_t C(t) / min(Cm Pt, Cf Pn + Cs Ps)`.

    The cost at the threshold t is: `C(t) = Cm Pt Pmiss(t) + Cf Pn Pfa(t) + Cs Ps Pspoof(t)`. Pt, Pn
    and Ps are the priors of targets, nontargets and spoofed trials; Cm, Cf and Cs are the costs of
    a rejected target, an accepted nontarget and an accepted spoofed trial; Pspoof is the share of
    spoofed trials that are accepted. The parameter states the priors and costs:
    `target=0.9+nontarget=0.05+spoof=0.05+miss=1+fa=10+spoof_fa=20`. The default `shim-2024` stands
    for these values. Range [0, 1]; lower is better. Naive baseline: 1 (all rejected or all
    accepted). Undefined without targets, nontargets or spoofed trials. Shim et al. 2024, Eq. 3.
    """
    return _least(_costs_at(totals, costs)), 1.0


def _least(costs: Floats) -> Array:
    """The least of each replicate, NaN where any is undefined."""
    return np.asarray(costs.min(axis=-1))


def t_dcf(totals: Totals, _: Application, costs: Costs) -> Result:
    """Tandem detection cost of a spoofing countermeasure followed by speaker verification: `min_t
    (C0 + C1 Pmiss(t) + C2 Pfa(t)) / (C0 + min(C1, C2))`.

    t is the threshold of the countermeasure, `C0 = Pt Cm Pmiss_asv + Pn Cf Pfa_asv`, `C1 = Pt Cm -
    C0`, and `C2 = Ps Cs Pspoof_asv`. Pmiss is the share of trials without spoofing that the
    countermeasure rejects, and Pfa the share of spoofed trials that it accepts. The rates with the
    mark asv are those of the speaker verification at its fixed threshold (`--asv-threshold`). The
    priors Pt, Pn and Ps, the costs Cm, Cf and Cs, the rate Pspoof and the form of the parameter are
    those of `a_dcf`. Default, `asvspoof-2021`: Pt = 0.9405, Pn = 0.0095, Ps = 0.05, Cm = 1, Cf =
    10, Cs = 10. With a perfect countermeasure, the value is `C0 / (C0 + min(C1, C2))`. Range (0,
    1]; lower is better. Naive baseline: 1 (a countermeasure that rejects all or accepts all).
    Undefined without targets, nontargets or spoofed trials. Kinnunen et al. 2020.
    """
    decisions = np.asarray(totals.sums(ASV, "n"), np.float64)
    rates = share(decisions, decisions.sum(axis=-1, keepdims=True))
    of_miss, of_fa, of_spoof = costs.weights
    c0 = of_miss * rates[:, 0, 0] + of_fa * rates[:, 1, 1]
    c1, c2 = of_miss - c0, of_spoof * rates[:, 2, 1]
    miss, accepted = _rates(totals, BONAFIDE)
    found = c0[:, None] + c1[:, None] * miss + c2[:, None] * accepted[:, 0]
    whole = c0 + np.minimum(c1, c2)
    return share(_least(found), whole), 1.0


def _at_least(totals: Totals, _: Application, costs: Costs) -> list[Rate]:
    """The rates that the least cost adds up, at its threshold."""
    found = _costs_at(totals, costs)[0]
    if np.isnan(found).any():
        return []
    reached, (of_miss, of_fa, of_spoof) = int(np.argmin(found)), costs.weights
    norm = min(of_miss, of_fa + of_spoof)
    accepted = (np.arange(len(found)) > reached).astype(np.float64)
    said = (("miss", "target", of_miss), ("false alarm", "nontarget", of_fa))
    made = []
    for kind, (what, of, weight) in enumerate((*said, ("acceptance", "spoof", of_spoof))):
        errors, trials = np.zeros((3, len(found))), np.zeros((3, len(found)))
        errors[kind] = accepted if kind else 1 - accepted
        trials[kind] = 1.0
        made.append(Rate(SPOOFED, errors.ravel(), trials.ravel(), weight / norm, what=what, of=of))
    return made


_CHOSEN = (
    "its threshold is chosen on the evaluation data, so it does not show the quality of decisions "
    "in use"
)
_LACKING = "there is no target, no nontarget or no spoofed trial"
_A_DCF = Measure(
    name="a_dcf",
    function=a_dcf,
    parts=(SPOOFED,),
    title="Architecture-agnostic detection cost (normalised)",
    direction="lower",
    source="Shim et al. 2024",
    parameter="shim-2024",
    parse=costs_of,
    advice=_CHOSEN,
    rule="threshold-on-evaluation-data",
    uses=(),
    cites=("a_dcf",),
    undefined=_LACKING,
    interval=Rule(rates=_at_least, optimistic=True),
)
MEASURES = (
    _A_DCF,
    replace(
        _A_DCF,
        name="t_dcf",
        function=t_dcf,
        parts=(BONAFIDE, ASV),
        title="Tandem detection cost (normalised)",
        source="Kinnunen et al. 2020",
        parameter="asvspoof-2021",
        cites=("t_dcf",),
        interval=Rule(optimistic=True, bounds=(0.0, float("inf"))),
    ),
)
