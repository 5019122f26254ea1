"""Citations: the papers that measures and intervals come from, as BibTeX."""

import re
from collections.abc import Sequence
from importlib.resources import files

from truecost.errors import UsageError
from truecost.version import __version__

_BIB = (files("truecost.report") / "papers.bib").read_text(encoding="utf-8")
_FOUND = re.findall(r"^% (\S+) ?([^\n]*)\n(@.*?^})$", _BIB, re.DOTALL | re.MULTILINE)
PAPERS: dict[str, str] = {key: entry for key, _, entry in _FOUND}
OWN = PAPERS.pop("truecost").replace("__version__", __version__)
AUTHORS = {key: named for key, named, _ in _FOUND if named}  # as a sentence names them
INTERVALS = "003"  # section 4: bootstrap intervals by unit
MARKS = {  # what a signature says of intervals, and what is cited for it
    "|bca:": ("bca",),
    ":blocks": ("blocks",),
    ":corrected|": ("ppi",),
}


def authors(source: str) -> str:
    """The source of a measure with authors and year in place of the number of a paper.

    Examples
    --------
    >>> from truecost.report.citations import authors
    >>> authors("paper 002, Eq. 1")
    'Rodriguez-Fuentes & Penagarikano 2013, Eq. 1'
    """
    return re.sub(r"\bpaper (\d{3})\b", lambda m: AUTHORS.get(m[1], m[0]), source)


def bibtex(measures: Sequence[str] = (), signatures: Sequence[str] = ()) -> str:
    """The BibTeX entries of truecost and of the papers that define measures, intervals and
    calibrations.

    Parameters
    ----------
    measures : sequence of str
        Names of measures, with or without a parameter. Default: all papers.
    signatures : sequence of str
        Signatures of result rows, for the papers of their intervals and calibrations.

    Returns
    -------
    str
        BibTeX entries, separated by empty lines.

    Raises
    ------
    UsageError
        If a measure does not exist.

    Examples
    --------
    >>> from truecost.report.citations import bibtex
    >>> print(bibtex(["act_dcf"]).split(",")[0])
    @software{truecost
    """
    keys = [*PAPERS] if not measures else _keys(measures, " ".join(signatures))
    return "\n\n".join([OWN, *(PAPERS.get(key, key) for key in keys)]) + "\n"


def _keys(measures: Sequence[str], signatures: str) -> list[str]:
    """Keys of `PAPERS` in their order."""
    from truecost.calibration import METHODS
    from truecost.tasks.measures import find_of_any_task

    marks = MARKS | {f"|calibrated:{name}:": kind.cites for name, kind in METHODS.items()}
    cited = {INTERVALS}
    for name in measures:
        measure = find_of_any_task(name)
        cited |= set(measure.cites or re.findall(r"\bpaper (\d{3})\b", measure.source))
    cited |= {key for mark, keys in marks.items() if mark in signatures for key in keys}
    own = {text for text in cited if text.startswith("@")}  # of tasks of other distributions
    unknown = cited - set(PAPERS) - own
    if unknown:
        raise UsageError(f"no source is known under {', '.join(sorted(unknown))}")
    return [*(key for key in PAPERS if key in cited), *sorted(own)]
