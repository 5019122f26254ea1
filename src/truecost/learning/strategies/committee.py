"""Query by committee: the items on which the members of a committee disagree most.

Seung, Opper and Sompolinsky, COLT 1992. Members are the learner's: probabilities of shape
(members, items, classes), or one predicted number for each (members, items, 1).
"""

import numpy as np

from truecost.errors import UsageError
from truecost.learning.strategies import settings as reading
from truecost.learning.strategies import uncertainty
from truecost.learning.strategies.settings import Kind, Settings
from truecost.learning.strategies.uncertainty import ByUtility
from truecost.learning.system import Batch, Floats, Outputs


def vote_entropy(members: Floats) -> Floats:
    """-sum_k V_k/C ln(V_k/C) in nats, V_k of C members voting for class k; in [0, ln min(C, K)].

    A member votes for its most probable class, the first of equal ones. Dagan and Engelson, ICML
    1995.
    """
    votes = members.argmax(axis=2)
    shares = [(votes == k).mean(axis=0) for k in range(members.shape[2])]
    return uncertainty.entropy(np.column_stack(shares))


def mean_divergence(members: Floats) -> Floats:
    """1/C sum_c KL(p_c || mean of the p_c) in nats; in [0, ln min(C, K)].

    McCallum and Nigam, ICML 1998.
    """
    consensus = members.mean(axis=0)
    ratio = np.where(members > 0, members, 1.0) / np.where(consensus > 0, consensus, 1.0)
    terms = np.where(members > 0, members * np.log(ratio), 0.0)
    return np.asarray(terms.sum(axis=2).mean(axis=0))


def variance(members: Floats) -> Floats:
    """1/C sum_c |p_c - mean of the p_c|^2; for predicted numbers their variance, squared units.

    Burbidge, Rowland and King, IDEAL 2007.
    """
    return np.asarray(members.var(axis=0).sum(axis=1))


DISAGREEMENTS = {
    "vote-entropy": vote_entropy,
    "divergence": mean_divergence,
    "variance": variance,
}


def build_committee(settings: Settings) -> ByUtility:
    """Query by committee with the disagreement that the options name."""
    chosen = settings.choice("disagreement", "vote-entropy", tuple(DISAGREEMENTS))
    disagreement = DISAGREEMENTS[chosen]

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        lowest = -np.inf if chosen == "variance" else 0.0
        values = reading.members(settings.strategy, batch, outputs, lowest)
        if chosen != "variance" and values.shape[2] == 1:
            raise UsageError(
                f"strategy {settings.strategy}: the members of the committee give one number an "
                f"item, and {chosen} compares classes; set disagreement = 'variance'"
            )
        return disagreement(values)

    return ByUtility(settings.strategy, utility)


STRATEGIES = {
    "committee": Kind(
        "greatest disagreement of the learner's committee",
        build_committee,
        {"disagreement": "vote-entropy (the default), divergence or variance"},
    )
}
