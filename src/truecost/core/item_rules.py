"""Rates of sums over items, which measures of several tasks are made of."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Array, Measure, Rate, Result, Rule, share
from truecost.core.tally import Tally


def of_sums(
    totals: Totals, part: str, errors: str, trials: str, weight: float = 1.0, what: str = "error"
) -> list[Rate]:
    """Errors over trials, both sums of statistics of one part without cells, as a rate.

    For figures of items where there are no errors, or none without one unit. None where the errors
    are more than the trials, or items have weights (how many trials they amount to is not known).

    Parameters
    ----------
    totals : Totals
        With weights of one.
    errors, trials : str
        Statistics, joined by + where there are several.
    weight : float
        What the rate weighs in the figure.
    what : str
        What an error is, for a reader.
    """
    tally = totals.evidence.parts[part]
    seen = [sum(float(totals.sums(part, n)[0]) for n in s.split("+")) for s in (errors, trials)]
    if not isinstance(tally, Tally) or tally.squares is not None or not 0 < seen[1] >= seen[0]:
        return []
    one = np.ones(1)
    of = {"words": "word", "characters": "character"}.get(part, "")
    return [Rate(part, one, one, weight=weight, statistics=(errors, trials), what=what, of=of)]


def error_rule(part: str, errors: str, whole: str, most: float = math.inf) -> Rule:
    """The rule of errors over what items hold of something; a rate of it where there are none.

    Parameters
    ----------
    errors, whole : str
        Statistics, joined by + where there are several.
    most : float
        The largest value that there can be.
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
    """A measure that divides sums of items: errors over what there is, in percent.

    Parameters
    ----------
    part : str
        Which counts it reads.
    over : (str, str)
        What is divided by what: statistics, joined by + where there are several.
    source : str
        Paper and equation.
    direction : {"lower", "higher"}
        Which values are better.
    naive : float
        What an empty output gets; NaN where nothing is to be said of it.
    most : float
        The largest value that there can be.
    """

    def divided(totals: Totals, application: Application) -> Result:
        del application
        errors, whole = (_summed(totals, part, text.split("+")) for text in over)
        return share(errors, whole), naive

    lower = error_rule(part, *over, most)
    return Measure(
        name=name,
        function=divided,
        parts=(part,),
        title=title,
        direction=direction,
        source=source,
        uses=(),
        shown_in="percent",
        interval=lower if direction == "lower" else Rule(scale="logit", bounds=(0.0, most)),
    )


def _summed(totals: Totals, part: str, statistics: Sequence[str]) -> Array:
    """The sum of some statistics in every replicate."""
    return np.asarray(np.sum([totals.sums(part, name) for name in statistics], axis=0))
