"""Terms: spoken words and phrases found in audio (spoken term detection, keyword search).

Paper 002, as `spec/terms.md` corrects it::

    reference = tc.terms.read_reference("e.ecf.xml", "t.kwlist.xml", rttm="r.rttm")
    search = tc.terms.read_search("s.kwslist.xml", reference)
    for row in tc.score(search, tc.Scoring(tc.preset("nist-std-2006"))):
        print(row)

- `read_reference` says what the queries should find, `read_search` aligns what a system found;
  both take files or polars frames, `ReferenceOptions` and `SearchOptions` say how;
- `tc.score` gives the term-weighted values, error rates and cross entropies with their intervals,
  `TermsScoring` says how queries are joined and what is resampled;
- `per_query` is the table by query, `alignment_of` every detection with what it is aligned with;
- `describe` makes what reports draw; `COMPAT` names the quirks of the reference scorer.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.tasks.scoring import TermsScoring
    from truecost.tasks.terms.alignment_file import alignment_of
    from truecost.tasks.terms.by_query import per_query
    from truecost.tasks.terms.compat import COMPAT
    from truecost.tasks.terms.describing import SearchDescription, describe
    from truecost.tasks.terms.files import read_reference, read_search
    from truecost.tasks.terms.records import Reference, Search
    from truecost.tasks.terms.reference import ReferenceOptions
    from truecost.tasks.terms.searching import SearchOptions

_HOME = {
    "truecost.tasks.scoring": ("TermsScoring",),
    "truecost.tasks.terms.alignment_file": ("alignment_of",),
    "truecost.tasks.terms.compat": ("COMPAT",),
    "truecost.tasks.terms.describing": ("SearchDescription", "describe"),
    "truecost.tasks.terms.files": ("read_reference", "read_search"),
    "truecost.tasks.terms.by_query": ("per_query",),
    "truecost.tasks.terms.records": ("Reference", "Search"),
    "truecost.tasks.terms.reference": ("ReferenceOptions",),
    "truecost.tasks.terms.searching": ("SearchOptions",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "COMPAT",
    "Reference",
    "ReferenceOptions",
    "Search",
    "SearchDescription",
    "SearchOptions",
    "TermsScoring",
    "alignment_of",
    "describe",
    "per_query",
    "read_reference",
    "read_search",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE[name]), name)
