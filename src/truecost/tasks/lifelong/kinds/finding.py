"""The kinds of output, found in the modules of the package, and the measures that fit them."""

import importlib
import pkgutil
from functools import cache

from truecost.core.measure import Measure
from truecost.errors import UsageError, near
from truecost.tasks.lifelong import kinds as package
from truecost.tasks.lifelong.kinds.base import Kind
from truecost.tasks.measures import find

# Why scores of other tasks have no place here, by the evidence that they are made of.
NOT_ADDED = {
    "errors": "the error of a number has no largest value, so that there is no strictly wrong "
    "output to penalise by",
    "llr": "a likelihood ratio may be as wrong as one likes, so that there is no strictly wrong "
    "output to penalise by",
    "losses": "the loss of a probability has no largest value, so that there is no strictly wrong "
    "output to penalise by",
    "ranking": "it is made of the order of all outputs, which is no sum over what was corrected",
}


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of output by its name, in the order of the names."""
    modules = (
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    )
    found = [module.KIND for module in modules if hasattr(module, "KIND")]
    return {kind.name: kind for kind in sorted(found, key=lambda kind: str(kind.name))}


def kind_of(name: str) -> Kind:
    """The kind of output of a name.

    Parameters
    ----------
    name : str
        classes, diarization, transcripts, translation, ...

    Raises
    ------
    UsageError
        When there is none.

    Examples
    --------
    >>> from truecost.tasks.lifelong.kinds import kind_of
    >>> kind_of("translation").scores
    ('bleu', 'chrf', 'ter')
    """
    known = kinds()
    if name not in known:
        raise UsageError(
            f"kind of output {name!r} is not known{near(name, known)}: choose one of "
            f"{', '.join(known)}"
        )
    return known[name]


def penalisable(kind: Kind, score: str = "") -> Measure:
    """The measure that a score of a kind names.

    Parameters
    ----------
    score : str
        `NAME` or `NAME:PARAMETER`; the first score of the kind when empty.

    Raises
    ------
    UsageError
        When there is no such measure, or it cannot be penalised: says why.
    """
    measure = find(score or kind.scores[0])
    if measure.name in kind.scores:
        return measure
    reason = kind.refused.get(measure.name, "")
    reason = reason or next((NOT_ADDED[p] for p in measure.parts if p in NOT_ADDED), "")
    of = f"it is no score of {kind.name}"
    raise UsageError(
        f"{measure.label} cannot be penalised: {reason or of}; penalised scores of {kind.name} are "
        f"{', '.join(kind.scores)}"
    )
