"""Human-assisted online learning: errors and the person's time in one measure.

All read the tallies `online` (counts) and `online_sums` of one phase, before (`pre`, prequential)
or after (`post`, postquential) adaptation, with the axes seed and stream: `n` items that are
scored, of all `items`, `targets`, `fp` and `fn` (false alarms and misses), `wrong` outputs,
`annotations`, of which `timed` have measured `seconds`, `batches`, `loss` (the sum of a cost
matrix, or of absolute errors over the tolerance) and seconds of `cpu` and `gpu`. The gap between
before and after adaptation reads `online_pre` and `online_post`, and by window `online_pre_windows`
and `online_post_windows`. `pooling.Effort` joins streams and errors. Source: Lindsey et al.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import COMPUTING, HOUR, Spent, cost_measures, took
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Floats, Measure, Rate, Result, Rule, share
from truecost.tasks.streams.pooling import (
    PLAIN,
    VALUES,
    Effort,
    Sums,
    annotation_seconds,
    by_hand,
    by_window,
    dcf_value,
    imlm_value,
    item_seconds,
    joined_value,
    person_seconds,
    rates_of,
    weights_of,
)

TASK = "streams"
PARTS = ("online", "online_sums")
PHASES = ("pre", "post")
BOTH = tuple(f"online_{phase}{end}" for phase in PHASES for end in ("", "_sums"))
WINDOWS = tuple(f"online_{phase}_windows{end}" for phase in PHASES for end in ("", "_sums"))
Direction = Literal["lower", "higher"]


def imlm(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Person's time relative to labelling all items by hand (interactive machine learning metric):
    `(N_ann + N_fp + q N_fn) / N`.

    q (`--q`) is the cost of a miss, as a number of annotations. Default: N / N_target. For several
    classes, the sum of the costs of the decisions (cost matrix) replaces N_fp + q N_fn; for
    numbers, the sum of the absolute errors, divided by `--tolerance`. Range [0, inf); lower is
    better. Naive baseline: 1 (all items labelled by hand). Lindsey et al., Eq. 3-5.
    """
    return joined_value(totals, how, imlm_value(how, application)), 1.0


def imlm_seconds(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """Person's measured time relative to labelling all items by hand: `(seconds of all annotations
    + d (N_fp + q N_fn)) / (d N)`.

    q is the cost of a miss in annotations; d (`--item-seconds`) is the time of a person for one
    item, in seconds. By default, d is the mean time of an annotation, and the value equals `imlm`.
    An annotation without a measured time counts d seconds. Range [0, inf); lower is better. Naive
    baseline: 1 (all items labelled by hand). Undefined if d is unknown. Lindsey et al., Eq. 2.
    """

    def value(sums: Sums) -> Floats:
        return share(person_seconds(sums, how), item_seconds(sums, how) * sums["n"])

    return joined_value(totals, how, value), 1.0


def imlm_money(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Cost of person and computing relative to labelling all items by hand: `(cost of the person +
    cost of CPU and GPU) / cost to label all items`.

    A cost is hours times the price of an hour. Errors cost the person's time, as in `imlm_seconds`.
    Range [0, inf); lower is better. Naive baseline: 1 (all items labelled by hand). Undefined
    without a price of the person's hour, or without the time of an item. Lindsey et al., section V.
    """
    given = application.prices.amounts
    person = given.get("person") or np.nan

    def value(sums: Sums) -> Floats:
        computing = sum(sums[key] * given.get(key, 0.0) for key in COMPUTING)
        spent = person_seconds(sums, how) * person + computing
        return share(spent / HOUR, by_hand(sums, how) * person)

    return joined_value(totals, how, value), 1.0


def spending(totals: Totals, _: Application, how: Effort = PLAIN) -> Spent:
    """Errors, and hours of people, computing and waiting: summed over streams, mean over runs."""
    each = {
        "person": lambda s: annotation_seconds(s, how) / HOUR,
        "cpu": lambda s: s["cpu"] / HOUR,
        "gpu": lambda s: s["gpu"] / HOUR,
        "waiting": lambda s: s["waited"] / HOUR,
        **(
            {"miss": lambda s: s["fn"], "false_alarm": lambda s: s["fp"]}
            if how.missing
            else {"error": lambda s: s["loss"]}
        ),
    }
    made = {key: _summed(totals, value) for key, value in each.items()}
    hand = {"person": _summed(totals, lambda s: by_hand(s, how))}
    reject = {"miss": _summed(totals, lambda s: s["targets"])} if how.missing else None
    return Spent({**took(totals), **made}, reject, hand)


def p_miss(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """Share of targets that are missed: `N_fn / N_target`.

    Range [0, 1]; lower is better. No naive baseline. Undefined without targets. Lindsey et al.,
    section I.
    """
    return joined_value(totals, how, lambda s: rates_of(s)[0]), NONE


def p_fa(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """Share of nontargets that are accepted: `N_fp / N_nontarget`.

    Range [0, 1]; lower is better. No naive baseline. Undefined without nontargets. Lindsey et al.,
    section I.
    """
    return joined_value(totals, how, lambda s: rates_of(s)[1]), NONE


def fa_per_hour(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """False alarms per hour, for items of d seconds (`--item-duration`): `3600 N_fp / (N d)`.

    Range [0, inf); lower is better. No naive baseline. Lindsey et al., section I.
    """
    hours = (how.scoring.item_duration or np.nan) / HOUR
    return joined_value(totals, how, lambda s: share(s["fp"], s["n"] * hours)), NONE


def hourly(seconds: float) -> Rule:
    """The rule of false alarms per hour of items of so many seconds."""
    return _at_zero(lambda totals, _: [_rate(totals, "fp", weight=HOUR / seconds)], np.inf)


def act_dcf(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
    """Detection cost of the decisions, not divided by the naive cost: `w Pmiss + (1 - w) Pfa`.

    The weight is `w = Cm P / (Cm P + Cf (1 - P))`; default: 0.75 (OpenSAD 2015). Range [0, 1];
    lower is better. Naive baseline: `min(w, 1 - w)` (all rejected or all accepted). Undefined
    without targets or nontargets. Lindsey et al., section IV.C.
    """
    miss, fa = weights_of(application)
    return joined_value(totals, how, dcf_value(how, application)), min(miss, fa)


def error_rate(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """Share of outputs that are wrong.

    Range [0, 1]; lower is better. No naive baseline. Lindsey et al., section V.
    """
    return joined_value(totals, how, lambda s: share(s["wrong"], s["n"])), NONE


def mean_loss(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """Mean loss per item, in annotations.

    The loss is the cost in the cost matrix, or for numbers the absolute error divided by
    `--tolerance`. Range [0, inf); lower is better. No naive baseline. Lindsey et al., section V.
    """
    return joined_value(totals, how, lambda s: share(s["loss"], s["n"])), NONE


def _summed(totals: Totals, value: Any) -> Floats:
    """Sum over the streams, mean over the runs."""
    return joined_value(totals, PLAIN, value)


def _sum_of(statistic: str, counted: str) -> Any:
    """A function that sums one statistic."""

    def function(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
        del how
        return _summed(totals, lambda s: s[statistic]), NONE

    function.__doc__ = f"Number of {counted}: sum over streams, mean over runs. No naive baseline."
    return function


def n_annotations(totals: Totals, _: Application, how: Effort = PLAIN) -> Result:
    """Number of annotations of the kinds in `--annotations`: sum over streams, mean over runs.

    Range [0, inf); lower is better. Naive baseline: the number of items. Lindsey et al., Eq. 2.
    """
    del how
    return _summed(totals, lambda s: s["annotations"]), _summed(totals, lambda s: s["items"])


def _rate(totals: Totals, errors: str, trials: str = "n", weight: float = 1.0) -> Rate:
    """Errors among all items, or among the targets, of all runs and streams together."""
    ones = np.ones(totals.sums("online", "n")[0].size)
    of = "target" if trials == "targets" else "item"
    what = {"fn": "miss", "fp": "false alarm"}.get(errors, "error")
    return Rate("online", ones, ones, weight, (errors, trials), what, of)


def _total(totals: Totals, statistic: str) -> float:
    return float(totals.sums("online", statistic).sum())


def _missing(totals: Totals, weight: float = 1.0) -> Rate:
    return _rate(totals, "fn", "targets", weight)


def _alarming(totals: Totals, weight: float = 1.0) -> Rate:
    """False alarms among items, weighed so that they are a share of the nontargets."""
    items = _total(totals, "n")
    return _rate(totals, "fp", weight=weight * items / max(items - _total(totals, "targets"), 1))


def _priced(totals: Totals, application: Application) -> list[Rate]:
    miss, fa = weights_of(application)
    return [_missing(totals, miss), _alarming(totals, fa)]


def _numbered(errors: str, trials: str, price: str = "") -> Callable[..., list[Rate]]:
    """Errors of a run as a number, where there are any; what they cost where they have a price."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        worth = application.prices.amounts.get(price, 0.0) if price else 1.0
        if not _total(totals, errors) or not worth:
            return []
        runs = totals.sums("online", "n").shape[1]
        return [_rate(totals, errors, trials, worth * _total(totals, trials) / runs)]

    return rates


def _at_zero(rates: Callable[..., list[Rate]], most: float = 1.0) -> Rule:
    """The rule of a rate: on logarithms, but where there are no errors, or in one batch only."""
    return Rule(rates=rates, edge=True, bounds=(0.0, most))


def _gap(name: str) -> Any:
    """Value before adaptation minus value after it."""

    def function(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
        value = VALUES[name](how, application)
        before, after = (
            joined_value(totals, how, value, part=f"online_{phase}") for phase in PHASES
        )
        return before - after, NONE

    function.__doc__ = f"""Saving by adaptation: `{name}` before adaptation minus `{name}` after it.

    Range (-inf, inf); higher is better. No naive baseline. Lindsey et al., section III.
    """
    return function


def _trend(name: str) -> Any:
    """Change of the gap over the stream."""

    def function(totals: Totals, application: Application, how: Effort = PLAIN) -> Result:
        before, after = (
            by_window(totals, application, how, name, phase, so_far=False) for phase in PHASES
        )
        return slope(before - after), NONE

    function.__doc__ = f"""Change of `{name}_gap` from the start to the end of the stream.

    Slope of a least-squares line through the gaps of the windows (`--window`), at positions from 0
    to 1. Below 0, the saving shrinks: the outputs before adaptation get closer to those after it.
    Range (-inf, inf); lower is better. No naive baseline. Lindsey et al., section IV.C and Fig. 4.
    """
    return function


def slope(values: Floats) -> Floats:
    """Least-squares slope of each row of values over places from 0 to 1; NaN with fewer than two.

    From shape (replicates, windows) to (replicates,).
    """
    known = np.isfinite(values)
    place = np.linspace(0.0, 1.0, values.shape[1]) if values.shape[1] > 1 else np.zeros(1)
    number = known.sum(axis=1)
    x = np.where(known, place, 0.0)
    y = np.where(known, values, 0.0)
    mean_x, mean_y = (share(column.sum(axis=1), number) for column in (x, y))
    lean = np.where(known, place - mean_x[:, None], 0.0)
    over = (lean**2).sum(axis=1)
    return share((lean * np.where(known, y - mean_y[:, None], 0.0)).sum(axis=1), over)


def _measure(
    function: Any,
    title: str,
    source: str,
    parts: tuple[str, ...] = PARTS,
    direction: Direction = "lower",
    **more: Any,
) -> Measure:
    """A measure of event logs, named as its function unless it has a name of its own."""
    about = {"name": function.__name__, "task": TASK, "uses": (), **more}
    return Measure(
        function=function, parts=parts, title=title, direction=direction, source=source, **about
    )


GAPS: tuple[tuple[str, Any, str, Direction, tuple[str, ...], str], ...] = (
    ("gap", _gap, "Saving by adaptation in", "higher", BOTH, ""),
    (
        "gap_trend",
        _trend,
        "Change over the stream of the saving by adaptation in",
        "lower",
        WINDOWS,
        "fewer than two windows have a value",
    ),
)
SECTION_V = "paper 000, section V"
IN_MONEY = {
    "cost_misses": _at_zero(_numbered("fn", "targets", "miss"), np.inf),
    "cost_false_alarms": _at_zero(_numbered("fp", "n", "false_alarm"), np.inf),
}
UNPRICED = "no price of the person's hour (--price person=NUMBER), or no time of an item"
PRICES = ("miss", "false_alarm", "error", "person", "cpu", "gpu", "memory", "waiting")
MEASURES = (
    _measure(imlm, "Person's time relative to labelling everything by hand", "paper 000, Eq. 3-5"),
    _measure(
        imlm_seconds,
        "Measured person's time relative to labelling everything by hand",
        "paper 000, Eq. 2",
        undefined="no annotation time was measured: state the seconds of an item (--item-seconds)",
    ),
    _measure(
        imlm_money,
        "Cost of person and machine relative to labelling everything by hand",
        SECTION_V,
        uses=("prices",),
        undefined=UNPRICED,
    ),
    *cost_measures(TASK, spending, PARTS, PRICES, source=SECTION_V, intervals=IN_MONEY),
    _measure(
        act_dcf,
        "Detection cost of the decisions",
        "paper 000, section IV.C",
        uses=("costs", "prior"),
        detection=True,
        interval=_at_zero(_priced),
    ),
    *(
        _measure(
            function,
            title,
            source,
            shown_in="percent",
            interval=_at_zero(lambda totals, _, rate=rate: [rate(totals)]),
        )
        for function, title, source, rate in (
            (p_miss, "Missed targets", "paper 000, section I", _missing),
            (p_fa, "False alarms among nontargets", "paper 000, section I", _alarming),
            (error_rate, "Wrong outputs", SECTION_V, partial(_rate, errors="wrong")),
        )
    ),
    _measure(fa_per_hour, "False alarms per hour", "paper 000, section I"),
    _measure(mean_loss, "Mean loss in annotations", SECTION_V),
    _measure(n_annotations, "Annotations", "paper 000, Eq. 2", total=True, steady=True),
    _measure(
        _sum_of("n", "items"), "Items", "paper 000, Eq. 1", name="n_items", total=True, steady=True
    ),
    *(
        _measure(
            _sum_of(errors, title.split(",")[0].lower()),
            title,
            "paper 000, Eq. 2",
            name=name,
            total=True,
            interval=_at_zero(_numbered(errors, trials), np.inf),
        )
        for name, errors, trials, title in (
            ("n_missed", "fn", "targets", "Missed targets, counted"),
            ("n_false_alarms", "fp", "n", "False alarms, counted"),
        )
    ),
    *(
        _measure(
            make(name),
            f"{title} {said}",
            "paper 000, section III and Fig. 4",
            parts,
            direction,
            name=f"{name}_{end}",
            uses=("costs", "prior") if name == "act_dcf" else (),
            undefined=undefined,
            interval=Rule("identity"),
        )
        for name, said in (("imlm", "the person's time"), ("act_dcf", "the detection cost"))
        for end, make, title, direction, parts, undefined in GAPS
    ),
)
