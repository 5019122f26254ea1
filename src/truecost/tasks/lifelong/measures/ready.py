"""Scores that were computed elsewhere; `scored` has `score`, a sum by weight, and `weight`."""

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Measure, Result, Rule, share


def mean_score(totals: Totals, application: Application) -> Result:
    """Weighted mean of scores that came ready-made: sum_i w_i s_i / sum_i w_i.

    In the range and the unit of the scores; lower is better unless the user says otherwise. There
    is no naive baseline: nothing is known of what was scored. Undefined (NaN) without any weight.
    Paper 004, section 3.1, for s(M_i, t_j).
    """
    del application
    weight = totals.sums("scored", "weight")
    return share(totals.sums("scored", "score"), weight), NONE


MEASURES = (
    Measure(
        "mean_score",
        mean_score,
        ("scored",),
        "Mean score",
        "lower",
        "paper 004, 3.1",
        uses=(),
        undefined="there are no scores",
        interval=Rule("identity", size=("scored", "weight")),  # their range is not known
    ),
)
