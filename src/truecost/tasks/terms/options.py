"""Options of a search for terms, and the quirks of the reference scorer.

Where a quirk is switched on, figures equal those of that tool, and the signature says so. One
quirk is not on offer: the tool adds to mean average precision in the order of scores as texts,
where 10 comes before 9.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

from truecost.errors import UsageError, near
from truecost.names import Normalise, SearchFactor, TrialUnit
from truecost.options import Option, PartialTable, check_fields

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome

Split = Literal["words", "characters"]
_OCCURRENCE = {"trial": ("occurrence",)}
OF_WORDS = {"words": ("--rttm",)}  # a list of occurrences says where queries occur


class TermsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[terms]`` of a study: definition of trials, and alignment and counting of detections
    in keyword search.
    """

    __table__: ClassVar[str] = "terms"

    trial: Annotated[
        TrialUnit | None,
        Option(
            "Definition of a trial: an occurrence of a query, a segment, or an audio file "
            "(document).",
            default="occurrence",
        ),
    ] = None
    trials_per_second: Annotated[
        float | None,
        Option(
            "If trials are occurrences: number of trials of a query per second of audio.",
            default=1,
            gt=0,
            needs=_OCCURRENCE,
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Option(
            "Largest distance in seconds from an occurrence to the middle of its detection.",
            default=0.5,
            ge=0,
            le=60,
            thousandths=True,
            needs=_OCCURRENCE,
        ),
    ] = None
    max_gap: Annotated[
        float | None,
        Option(
            "Longest gap between the words of a term, in seconds.",
            default=0.5,
            ge=0,
            needs=OF_WORDS,
        ),
    ] = None
    normalise: Annotated[
        Normalise | None,
        Option(
            "Case of letters: ignored (lowercase), or not (none).",
            shown="as the list of queries states",
            needs=OF_WORDS,
        ),
    ] = None
    split_characters: Annotated[
        bool | None,
        Option(
            "Treat every character as a word, for texts without blanks between words.",
            needs=OF_WORDS,
        ),
    ] = None
    compat: Annotated[
        tuple[str, ...],
        Option(
            "Reproduce quirks of NIST's scorer F4DE: f4de for all, or their names, such as "
            "channels-once.",
            split=True,
        ),
    ] = ()
    floor: Annotated[
        float | None,
        Option(
            "For the cross entropy Cnxe: score of the trials that a system did not submit.",
            group="Counting",
            shown="the lowest submitted score",
            needs={"measure": ("cnxe", "min_cnxe", "cnxe_loss")},
        ),
    ] = None
    count_all_queries: Annotated[
        bool | None,
        Option("Count also the false alarms of queries without occurrences.", group="Counting"),
    ] = None
    pooled: Annotated[
        bool | None,
        Option("Pool the trials of all queries, as if they were one query.", group="Counting"),
    ] = None
    factors: Annotated[
        SearchFactor | None,
        Option(
            "Factors to resample; their order has no effect.", default="query", group="Interval"
        ),
    ] = None
    query_unit: Annotated[
        str | None,
        Option(
            "Attribute of the queries (voice, topic): queries with the same value are resampled "
            "together.",
            shown="each query is a unit",
            group="Interval",
            needs={"factors": ("query", "query,document", "document,query")},
        ),
    ] = None
    query_seconds: Annotated[
        float | None,
        Option(
            "Total length of the spoken queries in seconds, for the searching speed.",
            group="Counting",
            gt=0,
            needs={"resources": ("--searching",)},
        ),
    ] = None


class Tables(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Tables that are written beside the result; existing ones are replaced."""

    __group__: ClassVar[str] = "Output"

    alignment: Annotated[
        str | None,
        Option(
            "File (.csv, .tsv, .parquet, .ndjson) for all detections and occurrences, and their "
            "pairs."
        ),
    ] = None
    per_query: Annotated[str | None, Option("File for the counts and values of every query.")] = (
        None
    )

    def writer(self, study: "Study") -> "Callable[[Outcome], None] | None":
        """The writer of tables from an outcome; None if none is asked for."""
        from truecost.tasks.terms.tables import tables_writer

        return tables_writer(study, self.given())


@dataclass(frozen=True)
class ReferenceOptions:
    """Options for reading the reference of a keyword search.

    Attributes
    ----------
    trial : {"occurrence", "segment", "document"}
        Definition of a trial. ``occurrence``: each second of audio counts as ``trials_per_second``
        trials, and each occurrence is a target; ``segment``: each segment of the audio is a trial;
        ``document``: each audio file is a trial. Default: ``occurrence``.
    trials_per_second : float
        Number of trials of a query in each second of audio, above 0, if trials are occurrences.
        Default: 1.
    max_gap : float
        Longest pause between the words of a query, in seconds. Default: 0.5.
    normalise : {"lowercase", "none"}, optional
        ``lowercase``: ignore case. ``none``: distinguish upper and lower case. Default: the setting
        ``compareNormalize`` in the list of queries.
    split : {"words", "characters"}
        ``words``: words are separated by spaces. ``characters``: each character is a word, in
        queries and in spoken words. Default: ``words``.
    compat : iterable of str
        Quirks of the scorer F4DE that are reproduced: names in ``COMPAT``, or ``f4de`` for all.
        Default: none.

    Raises
    ------
    UsageError
        If a number is out of its range, or a choice does not exist.
    """

    trial: TrialUnit = "occurrence"
    trials_per_second: float = 1.0
    max_gap: float = 0.5
    normalise: Normalise | None = None
    split: Split = "words"
    compat: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "compat", parse_compat(self.compat))
        _choose(self.split, get_args(Split), "split")
        check_fields(self, TermsTable)


@dataclass(frozen=True)
class SearchOptions:
    """Options for the alignment of detections with occurrences.

    Attributes
    ----------
    tolerance : float
        Seconds by which the middle of a detection may be outside an occurrence. Default: 0.5.
    compat : iterable of str
        Quirks of the scorer F4DE that are reproduced: names in ``COMPAT``, or ``f4de`` for all.
        Default: none.

    Raises
    ------
    UsageError
        If the tolerance is not between 0 and 60, or a name in ``compat`` does not exist.
    """

    tolerance: float = 0.5
    compat: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "compat", parse_compat(self.compat))
        check_fields(self, TermsTable)


@dataclass(frozen=True)
class TermsScoring:
    """Settings for the scores of a keyword search, in addition to the application.

    Parameters
    ----------
    llr : bool
        Whether the scores are natural-log likelihood ratios. Default: False.
    floor : float, optional
        Score of all trials that were not submitted, for cross entropies. Default: the lowest
        submitted score.
    every : bool
        Whether the mean false-alarm rate and the cross entropies include queries without targets.
        Default: False.
    pooled : bool
        Whether all queries count as one: errors and trials are summed before the division. Default:
        False, the mean over queries.
    factors : {"query", "document", "query,document"}
        Resampled factors. ``query,document`` resamples both, as crossed factors. Default:
        ``query``.
    query_unit : str
        Attribute of the queries, such as the voice or topic. Queries with the same value are
        resampled together. Default: each query is a unit.
    """

    llr: bool = False
    floor: float | None = None
    every: bool = False
    pooled: bool = False
    factors: SearchFactor = "query"
    query_unit: str = ""

    def __post_init__(self) -> None:
        if self.floor is not None and not isfinite(self.floor):
            raise UsageError(f"floor is {self.floor:g}: it must be a finite score")
        check_fields(self, TermsTable)


def _choose(given: object, known: Sequence[str], what: str) -> None:
    """Refuse what is none of the choices."""
    if given not in known:
        raise UsageError(
            f"{what} {given!r} is not known{near(given, known)}: give {', '.join(known)}"
        )


F4DE = "f4de"
#: Quirks of NIST's scorer F4DE that an argument ``compat`` can name, each with a description
#: (:ref:`table <compat-of-terms>`). The name ``f4de`` stands for all of them. ``compat`` can also
#: name ``refuse-inconsistent``, which is not in ``COMPAT``: a list is then refused if a rejected
#: detection has a higher score than an accepted one.
COMPAT: Mapping[str, str] = {
    "fold-later-words": (
        "upper and lower case differ in the first word of a term only, if they do in the queries"
    ),
    "file-order-chains": ("the next word of a term is the next one in the file, not in time"),
    "first-word-in-ecf": "only the first word decides whether an occurrence is within the audio",
    "channels-once": "seconds of several channels of a document count once",
    "nested-excerpts": (
        "an excerpt ends where the next one of its document begins, and detections across the "
        "boundary are in neither"
    ),
    "divide-trials": "trials are seconds divided by the trials per second",
    "no-reject-all": "the maximum leaves out the threshold that accepts nothing",
    "false-alarms-first": "among tied detections, false alarms rank first in average precision",
    "pool-trials": "pooled queries have the number of trials of a single query",
}
ALONE: Mapping[str, str] = {
    "refuse-inconsistent": "a list is refused if a rejected detection scores above an accepted one"
}


def parse_compat(texts: Iterable[str] | str) -> frozenset[str]:
    """The quirks that are asked for: names of `COMPAT` or `ALONE`; `f4de` is all of `COMPAT`.

    Several may stand in one text, apart by commas.
    """
    known = (F4DE, *COMPAT, *ALONE)
    given = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else [*texts]
    if not all(isinstance(text, str) for text in given):
        raise UsageError(f"compat is {texts!r}: give names among {', '.join(known)}")
    found: set[str] = set()
    for name in (part.strip() for text in given for part in text.split(",")):
        _choose(name, known, "--compat")
        found |= set(COMPAT) if name == F4DE else {name}
    return frozenset(found)
