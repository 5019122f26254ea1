"""Decisions that no threshold could have made: a NO scored above a YES."""

import numpy as np

from truecost.core.digits import figure
from truecost.errors import InputError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.tasks.terms.records import Floats

REFUSED = "refuse-inconsistent"


def check_decisions(detections: DetectionList, compat: frozenset[str]) -> tuple[str, ...]:
    """What is said of decisions that contradict the scores.

    Parameters
    ----------
    compat : frozenset of str
        With `refuse-inconsistent` they are refused.

    Returns
    -------
    tuple of str
        Of queries that have a NO above a YES of their own; where there are none, of the whole list.

    Raises
    ------
    InputError
        When they are refused.
    """
    least, most = _bounds(detections)
    odd = np.flatnonzero(most > least)
    if len(odd):
        said = f"{counted(len(odd), 'query', 'have')} a NO scored above a YES"
        note = f"{said}, which no threshold does: {first_five(detections.queries[q] for q in odd)}"
    elif len(least) and most.max() > least.min():
        low, high = detections.queries[least.argmin()], detections.queries[most.argmax()]
        note = (
            f"no threshold on the scores makes all decisions: a NO of query {high} scores "
            f"{figure(most.max())}, a YES of query {low} {figure(least.min())}"
        )
    else:
        return ()
    if REFUSED in compat:
        raise InputError(
            f"{detections.source}: {note}: mend the decisions, or leave out --compat {REFUSED}"
        )
    return (note,)


def _bounds(detections: DetectionList) -> tuple[Floats, Floats]:
    """The least score of a YES and the largest of a NO of each query; infinite without any."""
    least = np.full(len(detections.queries), np.inf)
    most = np.full(len(detections.queries), -np.inf)
    yes = detections.accepted
    np.minimum.at(least, detections.query[yes], detections.score[yes])
    np.maximum.at(most, detections.query[~yes], detections.score[~yes])
    return least, most
