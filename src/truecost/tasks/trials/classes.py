"""Output for systems with several classes: recall and precision of each class with intervals, and
the cost of each decision.

Counted from the one tally of decisions. Intervals are those of `class_recall` and
`class_precision` by the method `auto`, whatever the method of the rows: no errors never mean
certainty.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from truecost.core.application import Application
from truecost.core.digits import Scale
from truecost.core.evidence import Totals
from truecost.core.intervals.auto import Auto
from truecost.core.measure import Floats, Measure
from truecost.core.scoring import Scoring
from truecost.study.outcome import Part
from truecost.tasks.measures import find
from truecost.tasks.trials import counting
from truecost.tasks.trials.records import Trials

if TYPE_CHECKING:
    from truecost.study.config import Study

DIGITS = 6  # significant ones of what is stored


class Ends(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A share with its confidence interval; None if undefined."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def scale(self) -> Scale:
        """The unit in which reports show the value."""
        return "%"

    @property
    def reason(self) -> str | None:
        """The reason why there is no value."""
        return None


class OneClass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Results of one class: trials of the class, decisions for the class, recall, precision, and
    the share of the total cost that wrong decisions on its trials cause.
    """

    name: str
    trials: float
    decided: float
    recall: Ends = Ends()
    precision: Ends = Ends()
    cost_share: float = 0.0


class Decided(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Trials of the class `truth` with one decision (a class, or `abstain`): number, share of the
    trials of the class, and share of the total cost.
    """

    truth: str
    decision: str
    trials: float
    share: float
    cost_share: float = 0.0


class ByClass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="classes"):
    """The results of a system by class, and all its decisions, the costliest first.

    Attributes
    ----------
    system, dims : str, dict of str to str
        Name of the system; its collection and application, where there are several.
    level : float
        Level of the intervals.
    classes : tuple of OneClass
        Results of each class, in the order of the classes.
    decisions : tuple of Decided
        Decisions that occur.
    costs : tuple of tuple of float
        Cost matrix, rows for classes and columns for decisions; empty for 0/1 costs.
    """

    system: str
    dims: dict[str, str] = {}
    level: float = 0.95
    classes: tuple[OneClass, ...]
    decisions: tuple[Decided, ...]
    costs: tuple[tuple[float, ...], ...] = ()

    @property
    def wrong(self) -> tuple[Decided, ...]:
        """The decisions for another class, and abstentions."""
        return tuple(d for d in self.decisions if d.truth != d.decision)

    @property
    def costliest(self) -> tuple[OneClass, ...]:
        """The classes, those first that make up most of the cost; then by recall."""

        def key(one: OneClass) -> tuple[float, float]:
            return -one.cost_share, 1.0 if one.recall.value is None else one.recall.value

        return tuple(sorted(self.classes, key=key))


def described(part: Part, _: "Study") -> Part:
    """A part with its systems by class, of those that tell several classes apart."""
    found = [
        by_class(trials, part.scoring[trials.name], dict(part.dims))
        for trials in part.systems
        if isinstance(trials, Trials) and has_classes(trials, part.scoring[trials.name])
    ]
    return replace(part, described=(*part.described, *found))


def has_classes(trials: Trials, scoring: Scoring) -> bool:
    """Whether trials are of several classes, none of which is a target, and decided."""
    several = bool(trials.classes) and not trials.detection
    return several and "decisions" in counting.parts_of(trials, scoring)


def by_class(trials: Trials, scoring: Scoring, dims: dict[str, str] | None = None) -> ByClass:
    """A system by class."""
    recall, precision = find("class_recall:?", "trials"), find("class_precision:?", "trials")
    seen = counting.point_of(counting.evidence_of(trials, scoring, [recall]))
    auto = Auto(seen, scoring.application, scoring.plan, scoring.level, scoring.icc)
    table = np.asarray(seen.sums("decisions", "n")[0], np.float64)
    shares = _shares_of_cost(table, scoring.application)
    classes = [
        OneClass(
            name=name,
            trials=_number(table[k].sum()),
            decided=_number(table[:, k].sum()),
            recall=_ends(recall.at(name), auto, seen),
            precision=_ends(precision.at(name), auto, seen),
            cost_share=_rounded(float(shares[k].sum())),
        )
        for k, name in enumerate(trials.classes)
    ]
    costs = scoring.application.costs
    return ByClass(
        system=trials.name,
        dims=dims or {},
        level=scoring.level,
        classes=tuple(classes),
        decisions=_decisions(table, shares, trials.classes),
        costs=() if _plain(costs) else tuple(costs or ()),
    )


def _plain(costs: Sequence[Sequence[float]] | None) -> bool:
    """Whether every wrong decision costs the same and a right one nothing."""
    return costs is None or bool((np.asarray(costs) == 1 - np.eye(*np.shape(costs))).all())


def _shares_of_cost(table: Floats, application: Application) -> Floats:
    """Share of each decision on each class in the cost: P_k c[k, d] R[k, d] over their sum."""
    sizes = table.sum(axis=1)
    priors = np.asarray(application.class_priors(sizes[None, :]))[0]
    rates = table / np.where(sizes > 0, sizes, 1.0)[:, None]
    costs = priors[:, None] * application.matrix(len(table)) * rates
    return np.asarray(costs / (costs.sum() or 1.0))


def _decisions(table: Floats, shares: Floats, names: Sequence[str]) -> tuple[Decided, ...]:
    """The decisions that occur, the costliest first, then those of most trials."""
    columns = (*names, "abstain")
    sizes = table.sum(axis=1)
    found = [
        Decided(
            truth=names[k],
            decision=columns[d],
            trials=_number(table[k, d]),
            share=_rounded(float(table[k, d] / sizes[k])),
            cost_share=_rounded(float(shares[k, d])),
        )
        for k, d in zip(*map(np.ndarray.tolist, np.nonzero(table)), strict=True)
    ]
    return tuple(sorted(found, key=lambda d: (-d.cost_share, -d.trials)))


def _ends(measure: Measure, auto: Auto, seen: Totals) -> Ends:
    value = float(measure(seen, auto.application).values[0])
    if np.isnan(value):
        return Ends()
    found = auto.ends(measure, value, (), np.zeros(0))
    ends = (value, found.lower, found.upper)
    value_, lower, upper = (None if v is None else _rounded(v) for v in ends)
    return Ends(value=value_, lower=lower, upper=upper)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)
