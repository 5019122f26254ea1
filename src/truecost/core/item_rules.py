"""Rates of sums over items, used by the measures of several tasks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Floats, Function, Measure, Rate, Result, Rule, share
from truecost.core.tally import Tally

Parts = Mapping[str, Mapping[str, Array]]  # statistics of items by part


def of_sums(totals: Totals, part: str, errors: str, trials: str, weight: float = 1.0) -> list[Rate]:
    """A rate of errors over trials, both sums of statistics (joined by +) of one part without
    cells.

    For figures of items without errors, or without errors when one unit is left out; totals have
    weights of 1. None where errors exceed trials, or where items have weights, as their number of
    trials is then not known.
    """
    tally = totals.evidence.parts[part]
    seen = [sum(float(totals.sums(part, n)[0]) for n in s.split("+")) for s in (errors, trials)]
    if not isinstance(tally, Tally) or tally.squares is not None or not 0 < seen[1] >= seen[0]:
        return []
    one = np.ones(1)
    of = {"words": "word", "characters": "character", "cp_words": "word"}.get(part, "")
    return [Rate(part, one, one, weight=weight, statistics=(errors, trials), of=of)]


def over_reference(part: str, errors: str, more: str, **rule: Any) -> Rule:
    """The rule of errors over the size of the reference in a part. Without errors it is a rate over
    reference plus surplus (`more`), so that no item has more errors than trials.
    """

    def rates(totals: Totals, _: Application) -> list[Rate]:
        right, added = (float(totals.sums(part, n)[0]) for n in ("reference", more))
        both = (right + added) / right if right > 0 else 1.0
        return of_sums(totals, part, errors, f"reference+{more}", both)

    return Rule(rates=rates, edge=True, size=(part, "reference"), **rule)


def error_rule(part: str, errors: str, whole: str, most: float = math.inf) -> Rule:
    """The rule of errors over the size of items, statistics joined by +; a rate where there are no
    errors. `most`: largest possible value.
    """
    return Rule(
        rates=lambda totals, _: of_sums(totals, part, errors, whole),
        edge=True,
        size=(part, whole),
        bounds=(0.0, most),
    )


def rate_measure(
    name: str,
    title: str,
    part: str,
    over: tuple[str, str],
    source: str,
    direction: Literal["lower", "higher"] = "lower",
    *,
    naive: float = math.nan,
    most: float = math.inf,
) -> Measure:
    """A measure in percent that divides two sums over items: errors over items, say.

    Parameters
    ----------
    part : str
        Name of the tally that the measure reads.
    over : (str, str)
        Statistics above and below the line of the fraction; several names joined by + are added.
    naive, most : float
        Value of an empty output, NaN where there is no naive baseline; largest possible value.
    """

    def divided(totals: Totals, _: Application) -> Result:
        return ratio(totals, part, *over), naive

    divided.__name__ = name
    lower = error_rule(part, *over, most)
    rule = lower if direction == "lower" else Rule(scale="logit", bounds=(0.0, most))
    return percentage(divided, part, title, source, rule, direction)


def percentage(
    function: Function,
    part: str,
    title: str,
    source: str,
    interval: Rule,
    direction: Literal["lower", "higher"] = "lower",
    **more: Any,
) -> Measure:
    """A measure in percent of one part of items, named like its function."""
    more |= {"uses": (), "shown_in": "percent", "interval": interval}
    return Measure(function.__name__, function, (part,), title, direction, source, **more)


def ratio(totals: Totals, part: str, errors: str, whole: str) -> Floats:
    """Errors over size, both sums of statistics (joined by +), in every replicate."""
    return share(*(_summed(totals, part, text.split("+")) for text in (errors, whole)))


def _summed(totals: Totals, part: str, statistics: Sequence[str]) -> Array:
    """The sum of some statistics in every replicate."""
    return np.asarray(np.sum([totals.sums(part, name) for name in statistics], axis=0))


@dataclass(frozen=True)
class _Each:
    """Statistics of items instead of sums: every item is a replicate of its own."""

    parts: Parts

    def sums(self, part: str, statistic: str) -> Array:
        return self.parts[part][statistic]


def each(measure: Measure, parts: Parts) -> Floats:
    """The value of a measure that uses sums only, for each row of statistics of items or sums of
    units; float64 (N,), NaN where undefined.
    """
    return measure(cast("Totals", _Each(parts)), Application()).values
