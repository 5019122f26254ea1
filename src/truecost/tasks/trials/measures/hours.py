"""False alarms by the hour, of the decisions of a system; `audio` has the hours."""

from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.digits import HOUR
from truecost.core.evidence import Totals
from truecost.core.measure import FALSE_ALARM, NONE, NONTARGETS, Rate, Result, Rule, share
from truecost.tasks.trials.measures.decisions import measure


def fa_per_hour(totals: Totals, _: Application) -> Result:
    """False alarms an hour: accepted nontargets / hours of audio.

    Range [0, inf), lower is better; no reference. Where only the sum H of the hours is known, the N
    nontargets share it: Pfa N / H. Undefined without hours.
    """
    hours = totals.sums("audio", "hours").sum(axis=(1, 2))
    return share(totals.sums("audio", "n")[:, 0, 1], hours), NONE


def _heard(*_: Any) -> list[Rate]:
    """False alarms as events in hours of audio, of nontargets."""
    every = np.ones(4)
    return [
        Rate(
            "audio",
            FALSE_ALARM,
            every,
            statistics=("n", "hours"),
            what="false alarm",
            of=HOUR,
            chances=NONTARGETS,
        )
    ]


MEASURES = (
    measure(
        ("decisions", "audio"),
        fa_per_hour,
        "False alarms an hour",
        "false alarms / hours of audio",
        Rule(rates=_heard),
        detection=True,
        errors="false_alarms",
        uses=(),
    ),
)
