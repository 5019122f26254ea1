"""Terms: spoken words and phrases found in audio (spoken term detection, keyword search).

Rodriguez-Fuentes & Penagarikano 2013, as docs/errata.md corrects it::

    reference = tc.terms.read_reference("e.ecf.xml", "t.kwlist.xml", rttm="r.rttm")
    search = tc.terms.read_search("s.kwslist.xml", reference)
    for row in tc.score_system(search, tc.Scoring(tc.preset("nist-std-2006"))):
        print(row)

- `read_reference` says what the queries should find, `read_search` aligns what a system found;
  both take files or polars frames, `ReferenceOptions` and `SearchOptions` say how;
- `tc.score` gives the term-weighted values, error rates and cross entropies with their intervals,
  `TermsScoring` says how queries are joined and what is resampled;
- `per_query` is the table by query, `alignment_of` every detection with what it is aligned with;
- `describe` makes what reports draw; `COMPAT` names the quirks of the reference scorer.
"""

from typing import TYPE_CHECKING

from truecost.face import Face
from truecost.formats.declared import SEARCHES
from truecost.lazy import attach

MAP_KEYS: dict[str, str] = {
    "query": "id of the query",
    "document": "audio file; its folder and ending are ignored",
    "channel": "channel of the document; 1 if there is no such column",
    "start": "start of a detection, occurrence or excerpt in seconds",
    "end": "end of a detection, occurrence or excerpt in seconds",
    "duration": "length of a detection, occurrence or excerpt in seconds, instead of its end",
    "score": "score of a detection, higher if an occurrence is more probable",
    "decision": "decision about a detection: YES or NO, 1 or 0, true or false",
}

_REFERENCE = "--ecf e.ecf.xml --rttm r.rttm.gz --kwlist t.kwlist.xml"
_PRESET = "--preset quesst-2014"
_BOTH = "plain.kwslist.xml.gz full.kwslist.xml.gz"
FACE = Face(
    name="terms",
    title="Terms",
    work="truecost.tasks.terms.work:WORK",
    measures=(
        "truecost.resources.measures",
        "truecost.tasks.terms.entropy",
        "truecost.tasks.terms.measures",
    ),
    map_keys=MAP_KEYS,
    formats=SEARCHES,
    data=(
        *("ecf", "rttm", "occurrences", "kwlist", "type", "threshold"),
        *("map", "reference_map", "input_format"),
    ),
    systems=("indexing", "searching"),
    tables={"terms": "truecost.tasks.terms.options:TermsTable"},
    options=("terms", "systems"),
    outputs="truecost.tasks.terms.options:Tables",
    application=("cost_miss", "cost_fa", "prior", "preset"),
    prices=("miss", "false_alarm", "cpu", "gpu", "memory", "waiting"),
    words={"type": ("llr", "score")},
    shown={"type": "score", "threshold": "the decisions in the files"},
    folders=True,
    about={
        "": "Keyword search: spoken words and phrases found in audio.",
        "score": "Score systems: term-weighted values, error rates and cross-entropy, with "
        "confidence intervals.",
        "compare": "Compare each further system with the first: paired difference and ratio, with "
        "intervals.",
        "plan": "Estimate how many more queries or documents would narrow the interval.",
        "validate": "Check submissions against the queries and the audio, without the reference.",
        "files": "Lists of detections (kwslist, stdlist or tables); a folder means the files in it",
        "subset": "Attribute of the queries, or source (each value is a subset), or condition on "
        "these; may be repeated.",
        "resampling": "counts of queries in documents are weighted; thresholds are swept in every "
        "replicate",
    },
    examples={
        "score": f"{_REFERENCE} plain.kwslist.xml.gz {_PRESET}",
        "compare": f"{_REFERENCE} {_BOTH} {_PRESET}",
        "plan": f"{_REFERENCE} plain.kwslist.xml.gz {_PRESET}",
        "validate": "--ecf e.ecf.xml --kwlist t.kwlist.xml plain.kwslist.xml.gz",
        "leaderboard": f"{_REFERENCE} {_BOTH} {_PRESET} -o board",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.tasks.terms.describing import SearchDescription as SearchDescription
    from truecost.tasks.terms.describing import describe as describe
    from truecost.tasks.terms.files import read_reference as read_reference
    from truecost.tasks.terms.files import read_search as read_search
    from truecost.tasks.terms.options import COMPAT as COMPAT
    from truecost.tasks.terms.options import ReferenceOptions as ReferenceOptions
    from truecost.tasks.terms.options import SearchOptions as SearchOptions
    from truecost.tasks.terms.options import TermsScoring as TermsScoring
    from truecost.tasks.terms.records import Reference as Reference
    from truecost.tasks.terms.records import Search as Search
    from truecost.tasks.terms.tables import alignment_of as alignment_of
    from truecost.tasks.terms.tables import per_query as per_query
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
