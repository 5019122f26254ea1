"""Quirks of the reference scorer (NIST F4DE 3.5.0, `KWSEval`), each by its name, off by default.

Where a quirk is switched on, figures equal those of that tool, and the signature says so. One
quirk is not on offer: the tool adds to mean average precision in the order of scores as texts,
where 10 comes before 9.
"""

from collections.abc import Iterable, Mapping

from truecost.errors import UsageError, near

F4DE = "f4de"
COMPAT: Mapping[str, str] = {
    "fold-later-words": (
        "case counts in the first word of a term only, where the list of queries says it counts"
    ),
    "file-order-chains": (
        "a word is followed by the one that comes after its place in the file, not in time"
    ),
    "first-word-in-ecf": "the first word alone says whether an occurrence lies within the audio",
    "channels-once": "seconds of several channels of a document count once",
    "nested-excerpts": (
        "an excerpt ends where the next one of its document begins, and what lies across the two "
        "is in neither"
    ),
    "divide-trials": "trials are seconds divided by the trials per second",
    "no-reject-all": "the maximum leaves out the threshold that accepts nothing",
    "false-alarms-first": "of tied detections false alarms rank first in average precision",
    "pool-trials": "all queries counted as one have the trials of one",
}
"""Names of the quirks that `f4de` stands for, and what each does."""
ALONE: Mapping[str, str] = {
    "refuse-inconsistent": "a detection that was rejected scores above an accepted one: refused",
}


def parse_compat(texts: Iterable[str] | str) -> frozenset[str]:
    """The quirks that are asked for.

    Parameters
    ----------
    texts : iterable of str, or str
        Names of `COMPAT` or `ALONE`; `f4de` stands for all of `COMPAT`. Several may stand in one
        text, apart by commas.

    Raises
    ------
    UsageError
        When a name is not known, or something is no text.

    Examples
    --------
    >>> from truecost.tasks.terms.compat import parse_compat
    >>> sorted(parse_compat(["channels-once,divide-trials"]))
    ['channels-once', 'divide-trials']
    """
    known = (F4DE, *COMPAT, *ALONE)
    given = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else [*texts]
    if not all(isinstance(text, str) for text in given):
        raise UsageError(f"compat is {texts!r}: give names, of {', '.join(known)}")
    found: set[str] = set()
    for name in (part.strip() for text in given for part in text.split(",")):
        if name not in known:
            raise UsageError(
                f"--compat {name!r} is not known{near(name, known)}: give {', '.join(known)}"
            )
        found |= set(COMPAT) if name == F4DE else {name}
    return frozenset(found)
