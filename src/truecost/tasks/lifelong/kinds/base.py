"""What a kind of output is to penalised scores, and the kinds found in the modules of the
package.

A correction exchanges rows of additive statistics: those of the corrected part as it was against
those of the part made strictly wrong (`impaired`) or put in place (`corrected`). Nothing is run
again. Where outputs are corrected as a whole, the statistics of the output say both (`Swap`).
"""

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from truecost.core.measure import Measure
from truecost.errors import InputError, UsageError, near
from truecost.tasks.lifelong import kinds as package
from truecost.tasks.measures import find

Array = npt.NDArray[Any]


Mask = npt.NDArray[np.bool_]


Statistics = Mapping[str, Array]  # by name, each of shape (rows,)


Reference = tuple[str, ...]  # the right outputs of a row; several may be right


References = Sequence[Reference]


Both = tuple[Statistics, Statistics]  # impaired, corrected


Count = Callable[[Sequence[str], References, Any, str], Statistics]


Exchange = Callable[[Sequence[str], References, Sequence[tuple[str, ...]], Any, str], Both]


Swap = Callable[[Statistics, str], Both]


T = TypeVar("T", bound=Hashable)


WHOLE = ""  # the part that is the whole output


def _as_given(options: Any, outputs: Sequence[str], references: References) -> Any:
    """Options that need to know nothing of the data."""
    del outputs, references
    return options


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of output.

    Attributes
    ----------
    name : str
        As a user names it.
    item : str
        What is counted by, in the singular.
    parts : mapping of str to float
        Parts of the evidence that it can count, with the factor that turns sums into what readers
        see.
    scores : tuple of str
        Measures of these parts that can be penalised, the default first.
    count : callable
        `count(outputs, references, options, part)`: the statistics of each row.
    exchange : callable
        `exchange(outputs, references, corrected, options, part)`: the statistics of each row with
        its corrected parts made strictly wrong, and put in place; `corrected` names the parts of
        each row, "" the whole of it, none leaves it as it is.
    signature : callable
        `signature(options, part)`: the choices that enter a part.
    options : type
        Of the choices; its defaults are made by calling it.
    refused : mapping of str to str
        Why a measure is not penalised.
    prepared : callable
        `prepared(options, outputs, references)`: the options with what has to be the same for all
        outputs that are scored together (which classes there are). To be called once, with all of
        them, before counting.
    swap : callable, optional
        `swap(statistics, part)`: the statistics of rows with the whole output made strictly wrong,
        and put in place, where those of the output tell them.
    """

    name: str
    item: str
    parts: Mapping[str, float]
    scores: tuple[str, ...]
    count: Count
    exchange: Exchange
    signature: Callable[[Any, str], str]
    options: Callable[[], Any]
    refused: Mapping[str, str] = field(default_factory=dict)
    prepared: Callable[[Any, Sequence[str], References], Any] = _as_given
    swap: Swap | None = None


def once(
    outputs: Sequence[str],
    references: References,
    count: Callable[[list[str], list[Reference]], Statistics],
) -> Statistics:
    """What `count` finds of each row, each distinct pair of output and references counted once.

    Parameters
    ----------
    count : callable
        From outputs and their references to statistics.

    Returns
    -------
    mapping of str to ndarray, shape (rows,)
    """
    pairs, rows = distinct(zip(outputs, references, strict=True))
    found = count([output for output, _ in pairs], [right for _, right in pairs])
    return {name: values[rows] for name, values in found.items()}


def distinct(rows: Iterable[T]) -> tuple[list[T], npt.NDArray[np.int64]]:
    """Each distinct row, in the order in which they come, and which of them each row is."""
    places: dict[T, int] = {}
    codes = [places.setdefault(row, len(places)) for row in rows]
    return [*places], np.array(codes, np.int64)


def exchange_whole(count: Count, swap: Swap, noun: str) -> Exchange:
    """The exchange of a kind whose outputs are corrected as a whole.

    Parameters
    ----------
    noun : str
        What an output is, for messages.

    Returns
    -------
    callable
        As `Kind.exchange`; it raises InputError when a part of an output is corrected.
    """

    def exchange(
        outputs: Sequence[str],
        references: References,
        corrected: Sequence[tuple[str, ...]],
        options: Any,
        part: str,
    ) -> Both:
        return swapped(
            count(outputs, references, options, part), whole(corrected, noun), part, swap
        )

    return exchange


def swapped(statistics: Statistics, rows: Mask, part: str, swap: Swap) -> Both:
    """Statistics with those of some rows exchanged: impaired, and corrected.

    Parameters
    ----------
    statistics : mapping of str to ndarray, shape (rows,)
    rows : ndarray of bool, shape (rows,)

    Returns
    -------
    impaired, corrected : mapping of str to ndarray, shape (rows,)
    """
    impaired, corrected = swap(statistics, part)
    return _put(statistics, impaired, rows), _put(statistics, corrected, rows)


def _put(statistics: Statistics, others: Statistics, rows: Mask) -> Statistics:
    """Statistics with those of some rows taken from others."""
    return {n: np.where(rows, others.get(n, values), values) for n, values in statistics.items()}


def whole(corrected: Sequence[tuple[str, ...]], noun: str) -> Mask:
    """Which rows were corrected, of outputs that are corrected as a whole.

    Parameters
    ----------
    noun : str
        What an output is.

    Returns
    -------
    ndarray of bool, shape (rows,)

    Raises
    ------
    InputError
        When a part is named, or an output is corrected twice.
    """
    for row, parts in enumerate(corrected):
        if parts not in ((), (WHOLE,)):
            named = next((part for part in parts if part != WHOLE), None)
            said = "it is corrected twice" if named is None else f"its part {named!r} is corrected"
            raise InputError(
                f"{noun} {row + 1} of those that are counted: {said}; a {noun} is corrected as a "
                f"whole, once: leave the part empty"
            )
    return np.array([bool(parts) for parts in corrected], np.bool_)


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
