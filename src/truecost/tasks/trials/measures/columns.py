"""The mean of a column of numbers: a metric that each trial has already, in place of a label.

`column NAME` is a tally of `n` and `value`. With a machine's judgement beside few human ones
(`--machine`) it holds `machine` of all trials, and of those that a human judged `labelled`, `value`
and `covered` (the machine's judgement of them).
"""

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Measure, Result, Rule, Told, share

UNDEFINED = "there are no trials that weigh anything"


def part_of(column: str) -> str:
    """The part of the evidence that holds a column."""
    return f"column {column}"


def mean(totals: Totals, _: Application, column: str) -> Result:
    """Mean of a column: sum_i w_i x_i / sum_i w_i over the trials, weights of one unless mapped.

    In the range and the unit of the column; which values are better is said by the user. There is
    no naive baseline: nothing is known of how the numbers were made. Undefined (NaN) without any
    weight.
    """
    return share(totals.sums(part_of(column), "value"), totals.sums(part_of(column), "n")), NONE


def predicted_mean(totals: Totals, _: Application, column: str) -> Told:
    """Prediction-powered mean: that of the machine's judgement of all trials, plus the mean of
    human minus machine over the trials that a human judged.

    Right whatever the machine is worth, where the judged trials are a random sample; the better the
    machine, the narrower the interval. Undefined (NaN) without a human judgement. Beside it:
    `human`, the mean of the human judgements alone, and `machine`, that of the machine.
    Angelopoulos et al. 2023, with the machine's mean over all trials.
    """
    part = part_of(column)
    labelled, machine = totals.sums(part, "labelled"), totals.sums(part, "machine")
    machine = share(machine, totals.sums(part, "n"))
    human, covered = (share(totals.sums(part, name), labelled) for name in ("value", "covered"))
    return machine + human - covered, NONE, {"human": human, "machine": machine}


MEASURES = (
    Measure(
        name="mean",
        function=mean,
        parts=("columns",),
        title="Mean of a column",
        direction="lower",
        source="mean of numbers that the data give",
        parameter="value",
        open=True,
        follows=True,
        uses=(),
        undefined=UNDEFINED,
        interval=Rule("identity"),
    ),
)
