"""Cost of decisions and effort of people (lifelong learning): corrections, seconds, words, simple
actions, and a score under every version, at every time, in every state (`Across`).

The parts that the score reads are tallies with the cell axes version x time x state, so that the
score itself, which divides sums, comes out for all cells at once. `Across` says which of them make
a figure.

`effort` is a tally of the help on the whole test set (whatever the window of a policy), with the
cell axis version and the statistics that `truecost.tasks.lifelong.records` names; `offline` of the
help away from it, up to each version: `answers`, `seconds`, `words`, `actions`. Help is never added
to a score here; the penalty of a penalised score is its cost in the unit of the score. Source:
Prokopalo et al. 2020, section 2.2.

`by_hand` holds the `parts` and `words` that correcting an empty output of each test item puts in.

`classified` holds the `cost` of the decisions made about `n` items, and `constant0`, `constant1`,
...: what each decision would cost if it were made of every item. Costs come with the items
(`truecost.tasks.lifelong.kind_whole`), so that corrected and impaired decisions are sums with rows
exchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.costs import HOUR, ONCE, TOOK, Spent, cost_measures, took
from truecost.core.evidence import Evidence, Totals
from truecost.core.measure import (
    NONE,
    ROUNDING,
    Array,
    Floats,
    Function,
    Measure,
    Rate,
    Result,
    Rule,
    share,
)
from truecost.core.tally import Tally

BASE, ADAPTED, IMPAIRED, CORRECTED = range(4)  # the axis `state`
STREAM = "stream_"  # what parts of the lifelong set are called
CURVE = "curve_"  # and those of all test items together
TASK = "lifelong"
EFFORT, OFFLINE = "effort", "offline"
BY_HAND = "by_hand"  # part: what correcting empty outputs takes
OF_EFFORT: tuple[tuple[str, str, str, str], ...] = (  # on the test set; offline, up to a version
    ("n_corrections", "Parts corrected or confirmed", EFFORT, "corrections"),
    ("help_seconds", "Seconds of help", EFFORT, "seconds"),
    ("help_words", "Words entered", EFFORT, "words"),
    ("help_actions", "Simple actions (such as edits)", EFFORT, "actions"),
    ("offline_answers", "Offline answers", OFFLINE, "answers"),
    ("offline_seconds", "Seconds of offline help", OFFLINE, "seconds"),
    ("offline_words", "Offline words entered", OFFLINE, "words"),
    ("offline_actions", "Offline simple actions (such as edits)", OFFLINE, "actions"),
)


class Errors(NamedTuple):
    """The statistics of a part that add up to errors, what a unit of them is worth, and the state
    of the output that a user gets.
    """

    part: str
    statistics: tuple[str, ...]
    unit: float
    state: int


@dataclass(frozen=True, eq=False)
class Across:
    """The cells of a figure of one version, by their indices.

    Attributes
    ----------
    version : int
        Index of the version, M_i.
    weights : ndarray of float64, shape (times,)
        Policy weights P(t_j) in the window; all 0 where the window is empty, never NaN.
    initial : int
        Index of the initial version M_0; -1 without one.
    own : ndarray of int64, shape (times,)
        Index of the newest version at each time t_j; -1 where there was none.
    learnt : int
        Index of the first version that learnt anything.
    higher : bool, optional
        Whether a higher score is better, where the score does not define it.
    cost, item_seconds
        Unit of help of the minimal supervision rate; seconds that correcting a part takes.
    runs : int
        Number of seeds.
    costs : ndarray of float64, shape (seeds, versions)
        Cost of the help up to each version, for the learning curve, which ends at `maximum`.
    errors : Errors, optional
        Statistics that count the errors of an output, for their cost.
    by_words : bool
        Whether people put in words; the cost of a person who does everything is then counted by
        words.
    """

    version: int
    weights: Floats
    initial: int = -1
    own: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    learnt: int = 0
    higher: bool | None = None
    compat: str = ""
    cost: str = "words"
    item_seconds: float | None = None
    runs: int = 1
    costs: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    maximum: float = np.inf
    errors: "Errors | None" = None
    by_words: bool = False

    @cached_property
    def window(self) -> npt.NDArray[np.int64]:
        """Places of the times that have a weight."""
        return np.flatnonzero(self.weights > 0)

    def weighed(self, scores: Floats) -> Floats:
        """Sum over the window of score x weight; undefined where the window is empty.

        From shape (replicates, times) to (replicates,).
        """
        if not len(self.window):
            return np.full(len(scores), np.nan)
        return np.asarray((scores[:, self.window] * self.weights[self.window]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class View:
    """Totals of which a score reads other parts or cells than those of its own names.

    `prefix` begins the names of the parts in the evidence, `change` gives other sums of a
    statistic.
    """

    totals: Totals
    prefix: str = ""
    change: "Callable[[Array, str], Array] | None" = None

    @property
    def evidence(self) -> Evidence:
        """The counts."""
        return self.totals.evidence

    def sums(self, part: str, statistic: str) -> Array:
        """Sums of a statistic, as `Totals.sums`."""
        found = self.totals.sums(self.prefix + part, statistic)
        return found if self.change is None else self.change(found, statistic)


def scores(
    totals: Totals, application: Application, inner: Measure, prefix: str = ""
) -> tuple[Floats, Floats]:
    """The score of every cell, and the naive baseline there: (replicates, versions, times,
    states).

    NaN where a cell is empty; `prefix` begins the names of the parts.
    """
    view = cast("Totals", View(totals, prefix))
    # Costs enter when items are counted: the label says all that decides a score.
    found = totals.once(f"{prefix}{inner.label}", lambda: inner(view, application))
    return found.values, found.naive


def allies_2020(totals: Totals, application: Application, inner: Measure, how: Across) -> Floats:
    """BLEU of the adapted output without the n-grams of the corrections, shape (R, times).

    The program of the organisers (2020) takes the n-grams of the corrected references from the
    matches of the adapted output; all other sums are those of the adapted output. Fewer matches
    than none are none.
    """

    def less(sums: Array, statistic: str) -> Array:
        of = sums[:, how.version]
        if not statistic.startswith("matches"):
            return np.asarray(of[..., ADAPTED])
        left: Array = np.maximum(of[..., ADAPTED] + of[..., IMPAIRED] - of[..., CORRECTED], 0)
        return left

    found = inner(cast("Totals", View(totals, change=less)), application)
    return np.asarray(found.values)


def averaged(values: Floats, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Mean over the chosen times, 0 where it is no more than rounding; undefined without any.

    From shape (replicates, times) to (replicates,).
    """
    if not chosen.any():
        return np.full(len(values), np.nan)
    kept = values[:, chosen]
    means, size = kept.mean(axis=1), np.abs(kept).mean(axis=1)
    return np.asarray(np.where(np.abs(means) <= ROUNDING * size, 0.0, means))


def stepped(costs: Floats, values: Floats, maximum: float) -> Floats:
    """Area under a step function, divided by the range of its costs; NaN where that is empty.

    Costs of shape (points,) ascend; values, (replicates, points), hold to the next cost, the last
    one to the maximum.
    """
    ends = np.minimum(np.append(costs[1:], maximum), maximum)
    widths = np.maximum(ends - np.minimum(costs, maximum), 0.0)
    held = widths > 0
    area = (values[:, held] * widths[held]).sum(axis=1)
    return share(area, np.full(len(values), widths.sum()))


def msr(totals: Totals, _: Application, how: Across) -> Result:
    """Minimal supervision rate: `cost of the corrections until the output is right / cost to
    correct everything`.

    The cost (`--cost`) is the number of words that people enter (`words`, the default if the data
    have words), the number of corrected parts (`answers`, the default otherwise), or the seconds of
    help (`seconds`; to correct everything then takes `--item-seconds` for each part). Range [0,
    inf); lower is better. Naive baseline: 1 (everything is corrected). Undefined if an output is
    still wrong after the corrections. Geoffrois 2016; Prokopalo et al. 2020, section 2.2.
    """
    sums = {
        name: totals.sums(EFFORT, name)[:, how.version]
        for name in ("corrections", "seconds", "words", "all_parts", "all_words", "wrong")
    }
    made, whole = {
        "words": ("words", sums["all_words"]),
        "answers": ("corrections", sums["all_parts"]),
        "seconds": ("seconds", sums["all_parts"] * (how.item_seconds or np.nan)),
    }.get(how.cost, ("words", np.full(len(sums["words"]), np.nan)))
    return np.where(sums["wrong"] > 0, np.nan, share(sums[made], whole)), 1.0


def _mean_per_run(part: str, statistic: str, title: str) -> Function:
    """What people did in a run, on average over the runs."""

    def function(totals: Totals, _: Application, how: Across) -> Result:
        return totals.sums(part, statistic)[:, how.version] / how.runs, NONE

    where, more = "by people on the test set", ""
    if part != EFFORT:
        where = "for all versions up to the scored one"
        more = "Offline help is about data outside the test set. "
    function.__doc__ = f"""{title} {where}; mean over runs.

    {more}Range [0, inf); lower is better. No naive baseline. Undefined if not measured.
    Prokopalo et al. 2020, section 2.2.
    """
    return function


def classification_cost(totals: Totals, _: Application) -> Result:
    """Mean cost of a decision: sum of the costs of the decisions, divided by the number of items.

    The costs are those of the cost matrix. Default: a wrong decision costs 1, so that the value is
    the share of errors. Range [0, largest cost]; lower is better. Naive baseline: the constant
    decision with the lowest cost on these items, chosen again in each replicate. Undefined without
    items. Prokopalo et al. 2020, sections 2.2 and 4; Rodriguez-Fuentes & Penagarikano 2013, section
    2.3.
    """
    items = totals.sums("classified", "n")
    constant = _constant(totals)
    least = np.min(constant, axis=0) if constant else np.full(np.shape(items), np.nan)
    return share(totals.sums("classified", "cost"), items), share(least, items)


def _constant(totals: Totals) -> list[Array]:
    """The cost of each constant decision, as far as there are any."""
    found: list[Array] = []
    for decision in count():
        try:
            found.append(totals.sums("classified", f"constant{decision}"))
        except KeyError:
            break
    return found


def _costly(totals: Totals, _: Application) -> list[Rate]:
    """The cost over the largest that a decision of these items could have: a rate of one kind."""
    tally = totals.evidence.parts["classified"]
    assert isinstance(tally, Tally)
    own = tally.statistics.index("n")
    costs = np.delete(tally.values, own, axis=1).max(axis=1, initial=0)
    most = float(share(costs, tally.values[:, own]).max(initial=0.0))
    if most <= 0:
        return []
    ones = np.ones(int(np.prod(tally.shape)))
    names = ("cost", "n")
    return [Rate("classified", ones / most, ones, most, names, "error", "item")]


def spending(totals: Totals, _: Application, how: Across) -> Spent:
    """Errors of the version in what users get of the whole test set, hours of help up to it, and of
    computing; mean over runs.

    Where nobody helps, the initial version stays as it is. The hours of labelling everything by
    hand are `_hours_by_hand`.
    """
    assert how.errors is not None
    part, statistics, unit, state = how.errors

    def errors(version: int, of: int) -> Floats:
        sums = (totals.sums(part, name)[:, version, :, of].sum(axis=1) for name in statistics)
        return np.asarray(sum(sums) * unit / how.runs, np.float64)

    run = {key: value / how.runs for key, value in took(totals).items()}
    here = totals.sums(EFFORT, "seconds")[:, how.version]
    made = {"error": errors(how.version, state), "person": here / how.runs / HOUR + run["seconds"]}
    frozen = {"error": errors(how.initial, BASE)} if how.initial >= 0 else None
    hand = {"person": _hours_by_hand(totals, how)} if BY_HAND in totals.evidence.parts else None
    return Spent({**{key: run[key] for key in ONCE if key in run}, **made}, frozen, hand)


def _hours_by_hand(totals: Totals, how: Across) -> Array:
    """Hours of a person who does everything, mean over runs: all that correcting empty outputs of
    the test set puts in.

    Each part takes the stated seconds of one, or each word as long as the words of all timed help
    took on average (each part as long as an answer, where help is not counted in words). Undefined
    where nothing was timed and nothing is stated. Lindsey et al., Eq. 3; Prokopalo et al. 2020,
    section 2.2.
    """
    if how.item_seconds is not None:
        return totals.sums(BY_HAND, "parts") * how.item_seconds / HOUR / how.runs
    own, away, whole = (
        ("words", "words", "words") if how.by_words else ("corrections", "answers", "parts")
    )
    done = totals.sums(EFFORT, own)[:, how.version] + totals.sums(TOOK, away)
    took = totals.sums(EFFORT, "seconds")[:, how.version] / HOUR + totals.sums(TOOK, "helped")
    return share(took, done) * totals.sums(BY_HAND, whole) / how.runs


PRICES = ("error", "person", "cpu", "gpu", "memory")
CLASSIFICATION_COST = Measure(
    "classification_cost",
    classification_cost,
    ("classified",),
    "Cost of decisions",
    "lower",
    "paper 004, 2.2",
    uses=(),
    undefined="there are no items",
    interval=Rule(rates=_costly, size=("classified", "n")),
)
OF_HELP = (
    Measure(
        "msr",
        msr,
        (EFFORT,),
        "Minimal supervision rate",
        "lower",
        "Geoffrois 2016; Prokopalo et al. 2020, section 2.2",
        uses=(),
        undefined="an output is not right in the end, or the cost of correcting all is not known",
        cites=("msr", "004"),
        shown_in="percent",
        task=TASK,
    ),
    *(
        Measure(
            name,
            _mean_per_run(part, statistic, title),
            (part,),
            title,
            "lower",
            "paper 004, section 2.2",
            uses=(),
            undefined="it was not measured",
            task=TASK,
            total=True,
        )
        for name, title, part, statistic in OF_EFFORT
    ),
    *cost_measures(TASK, spending, (EFFORT, TOOK), PRICES, source="paper 004, section 2.2"),
)
