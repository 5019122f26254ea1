"""The mean of a column of numbers: a metric that each trial or item already has.

`column NAME` is a tally of `n` and `value`. The user states which values of a column are better
(`Scoring.directions`); this is never guessed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Array, Floats, Measure, Rate, Result, Rule, share
from truecost.errors import UsageError
from truecost.names import MEAN, VALUE, Direction

A_METRIC = (
    "for a table with a metric in each row use --measure mean:COLUMN with --higher or --lower"
)
UNSAID = "state whether higher values are better (--higher) or lower ones (--lower)"
UNDEFINED = "all trials have weight 0"


def part_of(column: str) -> str:
    """The part of the evidence that holds a column."""
    return f"column {column}"


def mean(totals: Totals, _: Application, column: str) -> Result:
    """Weighted mean of a column of numbers: `sum_i w_i x_i / sum_i w_i`.

    x_i is the value of trial i in the column, and w_i the weight of the trial (default: 1). The
    parameter is the name of the column. Range and unit are those of the column; the user states
    which values are better (`--higher`, `--lower`). No naive baseline. Undefined if all weights are
    0.
    """
    return share(totals.sums(part_of(column), "value"), totals.sums(part_of(column), "n")), NONE


def finished(
    measure: Measure, values: Floats, directions: Mapping[str, Direction], *, weighted: bool
) -> Measure:
    """A mean with its direction, its part of the evidence, and the interval that suits its values.

    UsageError where the direction is not stated.
    """
    column = str(measure.parameter)
    direction = directions.get(column, directions.get(""))
    if direction is None:
        raise UsageError(
            f"{MEAN}:{column}: {UNSAID}. For several columns use --direction. The better "
            "direction is never guessed"
        )
    part = part_of(column)
    own: dict[str, Any] = {"direction": direction, "parts": (part,)}
    if not weighted and _ones_and_zeros(values):
        own["interval"] = Rule(rates=_ones, size=(part, "n"), bounds=(0.0, 1.0))
    elif values.min(initial=np.inf) > 0:  # seconds, scores from 1 to 5
        own["interval"] = Rule("log", size=(part, "n"), bounds=(0.0, np.inf))
    else:
        own["interval"] = Rule("identity", size=(part, "n"))
    return replace(measure, **own)


def _ones(_totals: Totals, _: object, column: str) -> list[Rate]:
    """The share of ones in a column of zeros and ones."""
    one = np.ones(1)
    return [Rate(part_of(column), one, one, statistics=("value", "n"), what="1")]


def _ones_and_zeros(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def sums_of(values: Floats) -> dict[str, Array]:
    """The statistics of each row of a column; zeros and ones become whole numbers, whose sums are
    exact.
    """
    plain = values.astype(np.int64) if _ones_and_zeros(values) else values
    return {"n": np.ones(len(values), np.int64), "value": plain}


MEASURES = (
    Measure(
        name=MEAN,
        function=mean,
        parts=("columns",),
        title="Mean of a column",
        direction="lower",
        source="definition: weighted mean of the values",
        parameter=VALUE,
        open=True,
        follows=True,
        uses=(),
        undefined=UNDEFINED,
        interval=Rule("identity"),
    ),
)
