"""Rates of sums over items, which measures of several tasks are made of."""

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
    """Errors over trials, both sums of statistics (joined by +) of one part without cells, as a
    rate.

    For figures of items where there are no errors, or none without one unit; totals have weights of
    one. None where the errors are more than the trials, or items have weights (how many trials they
    amount to is not known).
    """
    tally = totals.evidence.parts[part]
    seen = [sum(float(totals.sums(part, n)[0]) for n in s.split("+")) for s in (errors, trials)]
    if not isinstance(tally, Tally) or tally.squares is not None or not 0 < seen[1] >= seen[0]:
        return []
    one = np.ones(1)
    of = {"words": "word", "characters": "character", "cp_words": "word"}.get(part, "")
    return [Rate(part, one, one, weight=weight, statistics=(errors, trials), of=of)]


def over_reference(part: str, errors: str, more: str, **rule: Any) -> Rule:
    """The rule of errors over what the reference holds of a part. Without errors a rate of that and
    of what is too much (`more`), so that no item has more errors than trials.
    """

    def rates(totals: Totals, _: Application) -> list[Rate]:
        right, added = (float(totals.sums(part, n)[0]) for n in ("reference", more))
        both = (right + added) / right if right > 0 else 1.0
        return of_sums(totals, part, errors, f"reference+{more}", both)

    return Rule(rates=rates, edge=True, size=(part, "reference"), **rule)


def error_rule(part: str, errors: str, whole: str, most: float = math.inf) -> Rule:
    """The rule of errors over what items hold of something, statistics joined by +; a rate of it
    where there are none. `most` is the largest value that there can be.
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
    """A measure of one part of items in percent, under the name of its function."""
    more |= {"uses": (), "shown_in": "percent", "interval": interval}
    return Measure(function.__name__, function, (part,), title, direction, source, **more)


def ratio(totals: Totals, part: str, errors: str, whole: str) -> Floats:
    """Errors over what there is, both sums of statistics (joined by +), in every replicate."""
    return share(*(_summed(totals, part, text.split("+")) for text in (errors, whole)))


def _summed(totals: Totals, part: str, statistics: Sequence[str]) -> Array:
    """The sum of some statistics in every replicate."""
    return np.asarray(np.sum([totals.sums(part, name) for name in statistics], axis=0))


@dataclass(frozen=True)
class _Each:
    """Statistics of items in the place of sums: every item a replicate of its own."""

    parts: Parts

    def sums(self, part: str, statistic: str) -> Array:
        return self.parts[part][statistic]


def each(measure: Measure, parts: Parts) -> Floats:
    """The value of a measure that asks for sums alone, for each row of statistics of items, or of
    sums of units; float64 (N,), NaN where undefined.
    """
    return measure(cast("Totals", _Each(parts)), Application()).values
