"""What human-assisted online learning costs: errors and the person's time in one measure.

All read the tallies `online` (counts) and `online_sums` of one phase, before (`pre`, prequential)
or after (`post`, postquential) adaptation, with the axes seed and stream: `n` items that are
scored, of all `items`, `targets`, `fp` and `fn` (false alarms and misses), `wrong` outputs,
`annotations`, of which `timed` have measured `seconds`, `batches`, `loss` (the sum of a cost
matrix, or of absolute errors over the tolerance) and seconds of `cpu`.

How streams are pooled and what a miss costs comes as `how` (`effort_pools.Effort`).
Source: paper 000.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Array, Floats, Measure, Rate, Result, Rule, share
from truecost.tasks.streams.measures.effort_pools import PLAIN, Effort, Sums, joined

HOUR = 3600.0
TASK = "stream"
PARTS = ("online", "online_sums")
Value = Callable[[Sums], Array]


def missed(sums: Sums, how: Effort) -> Array:
    """What misses come to, in annotations: q N_fn, with q = N / N_target unless it is given.

    A pool without targets has no misses and adds nothing.
    """
    fn = np.asarray(sums["fn"], np.float64)
    if how.q is not None:
        return how.q * fn
    none = np.asarray(sums["targets"]) == 0
    return np.asarray(np.where(none, 0.0, share(sums["n"] * fn, sums["targets"])))


def errors(sums: Sums, how: Effort) -> Array:
    """What errors come to, in annotations: N_fp + q N_fn, or the sum of losses."""
    if how.missing:
        return np.asarray(sums["fp"] + missed(sums, how))
    return np.asarray(sums["loss"], np.float64)


def imlm_value(how: Effort, application: Application) -> Value:
    """The person's time over that of doing all by hand, of any sums."""
    del application
    return lambda s: share(s["annotations"] + errors(s, how), s["n"])


def dcf_value(how: Effort, application: Application) -> Value:
    """The detection cost of the decisions, of any sums."""
    del how
    miss, fa = weights_of(application)

    def value(sums: Sums) -> Floats:
        missed_share, false_share = _rates(sums)
        return miss * missed_share + fa * false_share

    return value


VALUES = {"imlm": imlm_value, "act_dcf": dcf_value}


def imlm(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Interactive machine learning metric: the person's time over that of doing all by hand.

    (N_ann + N_fp + q N_fn) / N. q is a number, or N / N_target; of several classes N_fp + q N_fn is
    the sum of a cost matrix, of numbers that of absolute errors over the tolerance. Range [0, inf),
    lower is better; 1 is labelling everything by hand. Paper 000, Eq. 3-5.
    """
    return joined(totals, how, imlm_value(how, application)), 1.0


def item_seconds(sums: Sums, how: Effort) -> Array:
    """Seconds that an item takes: as stated, or the mean of the measured annotations."""
    if how.item_seconds is not None:
        return np.full(np.shape(sums["n"]), how.item_seconds)
    return share(sums["seconds"], sums["timed"])


def person_seconds(sums: Sums, how: Effort) -> Array:
    """Seconds of the person: measured annotations, the others and the errors at the mean."""
    untimed = sums["annotations"] - sums["timed"]
    return np.asarray(sums["seconds"] + item_seconds(sums, how) * (untimed + errors(sums, how)))


def imlm_seconds(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """The same with measured annotation times: seconds of the person over those of all by hand.

    (seconds of the annotations + mean seconds (N_fp + q N_fn)) / (mean seconds N). Range [0, inf),
    lower is better; 1 is labelling everything by hand. Annotations without a measured time take
    the mean. The seconds of an item are stated, or else the mean over the annotations, and then
    this is `imlm` again, as their sum is that mean times their number. Undefined where no time was
    measured and none is stated. Paper 000, Eq. 2.
    """
    del application

    def value(sums: Sums) -> Floats:
        return share(person_seconds(sums, how), item_seconds(sums, how) * sums["n"])

    return joined(totals, how, value), 1.0


def price(sums: Sums, how: Effort) -> Array:
    """What it all costs in a currency: person, CPU and operation."""
    person = person_seconds(sums, how) / HOUR * (how.person or np.nan)
    machine = sums["cpu"] / HOUR * how.cpu + sums["batches"] * how.operating
    return np.asarray(person + machine)


def by_hand(sums: Sums, how: Effort) -> Array:
    """What labelling everything by hand costs, in the same currency."""
    return np.asarray(item_seconds(sums, how) * sums["n"] / HOUR * (how.person or np.nan))


def imlm_money(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Person, computing and operation over labelling everything by hand, in one currency.

    (hours of the person x price + hours of CPU x price + batches x price) / (hours of labelling all
    x price). Range [0, inf), lower is better; 1 is labelling everything by hand. Undefined without
    the price of the person's hour, or the seconds of an item. Paper 000, section V.
    """
    del application
    return joined(totals, how, lambda s: share(price(s, how), by_hand(s, how))), 1.0


def total_price(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """What errors, annotations and computing cost together, in the currency of the prices.

    Mean over runs, summed over streams. Range [0, inf), lower is better; the reference is labelling
    everything by hand. Undefined without prices. Paper 000, section V.
    """
    del application
    return _summed(totals, lambda s: price(s, how)), _summed(totals, lambda s: by_hand(s, how))


def _rates(sums: Sums) -> tuple[Floats, Floats]:
    """Shares of missed targets and of falsely accepted others."""
    targets = sums["targets"]
    return share(sums["fn"], targets), share(sums["fp"], sums["n"] - targets)


def p_miss(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Share of the targets that are missed: N_fn / N_target.

    Range [0, 1], lower is better; there is no reference. Undefined without targets. Paper 000,
    section I.
    """
    del application
    return joined(totals, how, lambda s: _rates(s)[0]), NONE


def p_fa(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Share of the nontargets that are accepted: N_fp / N_nontarget.

    Range [0, 1], lower is better; there is no reference. Undefined without nontargets. Paper 000,
    section I.
    """
    del application
    return joined(totals, how, lambda s: _rates(s)[1]), NONE


def weights_of(application: Application) -> tuple[float, float]:
    """Weights of Pmiss and Pfa that sum to 1: Cm P and Cf (1 - P) over their sum."""
    application.require_detection()
    miss = application.cost_miss * application.prior
    fa = application.cost_fa * (1 - application.prior)
    total = miss + fa
    return miss / total, fa / total


def act_dcf(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Detection cost of the decisions: w Pmiss + (1 - w) Pfa, 0.75 Pmiss + 0.25 Pfa unless asked.

    w = Cm P / (Cm P + Cf (1 - P)). Range [0, 1], lower is better; the reference rejects or accepts
    everything, min(w, 1 - w). Undefined without targets, or without nontargets. Paper 000, section
    IV.C (OpenSAD 2015).
    """
    miss, fa = weights_of(application)
    return joined(totals, how, dcf_value(how, application)), min(miss, fa)


def error_rate(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Share of the outputs that are wrong.

    Range [0, 1], lower is better; there is no reference. Paper 000, section V.
    """
    del application
    return joined(totals, how, lambda s: share(s["wrong"], s["n"])), NONE


def mean_loss(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Mean loss of an item in annotations: of a cost matrix, or absolute error over the tolerance.

    Range [0, inf), lower is better; there is no reference. Paper 000, section V.
    """
    del application
    return joined(totals, how, lambda s: share(s["loss"], s["n"])), NONE


def _summed(totals: Totals, value: Any) -> Floats:
    """Sum over the streams, mean over the runs."""
    return joined(totals, PLAIN, value)


def _of_all(statistic: str) -> Any:
    """A function that sums one statistic."""

    def function(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
        del application, how
        return _summed(totals, lambda s: s[statistic]), NONE

    return function


def n_annotations(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Number of annotations: N_ann, those made before the streams included as asked.

    Mean over runs, summed over streams. Range [0, inf), lower is better; the reference labels every
    item. Paper 000, Eq. 2.
    """
    del application, how
    return _summed(totals, lambda s: s["annotations"]), _summed(totals, lambda s: s["items"])


def _rate(totals: Totals, errors: str, trials: str = "n", weight: float = 1.0) -> Rate:
    """Errors among all items, or among the targets, of all runs and streams together."""
    ones = np.ones(totals.sums("online", "n")[0].size)
    of = "target" if trials == "targets" else "item"
    what = {"fn": "miss", "fp": "false alarm"}.get(errors, "error")
    return Rate("online", ones, ones, weight, (errors, trials), what, of)


def _whole(totals: Totals, statistic: str) -> float:
    return float(totals.sums("online", statistic).sum())


def _missing(totals: Totals, weight: float = 1.0) -> Rate:
    return _rate(totals, "fn", "targets", weight)


def _alarming(totals: Totals, weight: float = 1.0) -> Rate:
    """False alarms among items, weighed so that they are a share of the nontargets."""
    items = _whole(totals, "n")
    return _rate(totals, "fp", weight=weight * items / max(items - _whole(totals, "targets"), 1))


def _priced(totals: Totals, application: Application) -> list[Rate]:
    miss, fa = weights_of(application)
    return [_missing(totals, miss), _alarming(totals, fa)]


def _numbered(errors: str, trials: str) -> Callable[..., list[Rate]]:
    """Errors of a run as a number, where there are any."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        del application
        if not _whole(totals, errors):
            return []
        runs = totals.sums("online", "n").shape[1]
        return [_rate(totals, errors, trials, _whole(totals, trials) / runs)]

    return rates


def _at_zero(rates: Callable[..., list[Rate]], most: float = 1.0) -> Rule:
    """The rule of a rate: on logarithms, but where there are no errors, or in one batch only."""
    return Rule(rates=rates, edge=True, bounds=(0.0, most))


def _measure(name: str, function: Any, title: str, source: str, **more: Any) -> Measure:
    """A measure of event logs, lower is better."""
    parts = more.pop("parts", PARTS)
    uses = more.pop("uses", ())
    return Measure(name, function, parts, title, "lower", source, task=TASK, uses=uses, **more)


MEASURES = (
    _measure("imlm", imlm, "Person's time over that of doing all by hand", "paper 000, Eq. 3-5"),
    _measure(
        "imlm_seconds",
        imlm_seconds,
        "Person's time, as measured, over that of doing all by hand",
        "paper 000, Eq. 2",
        undefined="no annotation time was measured: state the seconds of an item (--item-seconds)",
    ),
    _measure(
        "imlm_money",
        imlm_money,
        "Cost of person and machine over that of doing all by hand",
        "paper 000, section V",
        undefined="no price of the person's hour (--person-price), or no time of an item",
    ),
    _measure(
        "total_price",
        total_price,
        "Cost of person and machine",
        "paper 000, section V",
        undefined="no price of the person's hour (--person-price), or no time of an item",
        total=True,
    ),
    _measure(
        "act_dcf",
        act_dcf,
        "Detection cost of the decisions",
        "paper 000, section IV.C",
        uses=("costs", "prior"),
        detection=True,
        interval=_at_zero(_priced),
    ),
    _measure(
        "p_miss",
        p_miss,
        "Missed targets",
        "paper 000, section I",
        shown_in="percent",
        interval=_at_zero(lambda totals, _: [_missing(totals)]),
    ),
    _measure(
        "p_fa",
        p_fa,
        "False alarms among nontargets",
        "paper 000, section I",
        shown_in="percent",
        interval=_at_zero(lambda totals, _: [_alarming(totals)]),
    ),
    _measure(
        "error_rate",
        error_rate,
        "Wrong outputs",
        "paper 000, section V",
        shown_in="percent",
        interval=_at_zero(lambda totals, _: [_rate(totals, "wrong")]),
    ),
    _measure("mean_loss", mean_loss, "Mean loss in annotations", "paper 000, section V"),
    _measure("n_annotations", n_annotations, "Annotations", "paper 000, Eq. 2", total=True),
    _measure("n_items", _of_all("n"), "Items", "paper 000, Eq. 1", total=True),
    *(
        _measure(
            name,
            _of_all(errors),
            title,
            "paper 000, Eq. 2",
            total=True,
            interval=_at_zero(_numbered(errors, trials), np.inf),
        )
        for name, errors, trials, title in (
            ("n_missed", "fn", "targets", "Missed targets, counted"),
            ("n_false_alarms", "fp", "n", "False alarms, counted"),
        )
    ),
)
