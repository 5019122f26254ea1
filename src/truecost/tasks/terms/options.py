"""What options of a search for terms may be, and the quirks of the reference scorer.

Where a quirk is switched on, figures equal those of that tool, and the signature says so. One
quirk is not on offer: the tool adds to mean average precision in the order of scores as texts,
where 10 comes before 9.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Annotated, ClassVar

from truecost.errors import UsageError, near
from truecost.names import Normalise, SearchFactor, TrialUnit
from truecost.options import Option, PartialTable, check_fields


class TermsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[terms]`: what a trial of a search is, and how detections are aligned and counted."""

    __table__: ClassVar[str] = "terms"

    unit: Annotated[TrialUnit | None, Option(help="What a trial is.", default="occurrence")] = None
    trials_per_second: Annotated[
        float | None,
        Option(
            help="Trials of a query in a second of audio.",
            default=1,
            gt=0,
            needs={"unit": ("occurrence",)},
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Option(
            help="Seconds around an occurrence that the middle of a detection may lie in.",
            default=0.5,
            ge=0,
            le=60,
            thousandths=True,
            needs={"unit": ("occurrence",)},
        ),
    ] = None
    max_gap: Annotated[
        float | None,
        Option(help="Longest gap between the words of a term, in seconds.", default=0.5, ge=0),
    ] = None
    normalise: Annotated[
        Normalise | None,
        Option(help="Whether case is ignored.", shown="as the list of queries says"),
    ] = None
    split_characters: Annotated[
        bool | None,
        Option(help="Every character is a word, of texts without blanks between words."),
    ] = None
    compat: Annotated[
        tuple[str, ...],
        Option(
            help="Follow quirks of another tool: f4de for all of them, or single ones; may be "
            "repeated.",
            split=True,
        ),
    ] = ()
    floor: Annotated[
        float | None,
        Option(
            group="Counting",
            help="Score of trials that were not submitted, for Cnxe.",
            shown="the least submitted one",
            needs={"measure": ("cnxe", "min_cnxe", "cnxe_loss")},
        ),
    ] = None
    count_all_queries: Annotated[
        bool | None,
        Option(group="Counting", help="False alarms of queries without occurrences count too."),
    ] = None
    pooled: Annotated[bool | None, Option(group="Counting", help="Count all queries as one.")] = (
        None
    )
    resample: Annotated[
        SearchFactor | None,
        Option(help="What is resampled.", default="query", group="Interval"),
    ] = None
    query_unit: Annotated[
        str | None,
        Option(
            help="Attribute that queries share which are drawn together: a voice, a topic.",
            group="Interval",
            needs={"resample": ("query", "both")},
        ),
    ] = None
    query_seconds: Annotated[
        float | None,
        Option(
            group="Counting",
            help="Length of all spoken queries together, for the searching speed.",
            gt=0,
        ),
    ] = None


class Tables(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Tables that are written beside the result; existing ones are replaced."""

    __group__: ClassVar[str] = "Output"

    alignment: Annotated[
        str | None,
        Option(
            help="File (.csv, .tsv, .parquet, .ndjson) for every detection and occurrence, and "
            "their pairs."
        ),
    ] = None
    per_query: Annotated[
        str | None, Option(help="File for the counts and values of every query.")
    ] = None


@dataclass(frozen=True)
class TermsScoring:
    """How a search for terms is scored, beside its application.

    Parameters
    ----------
    llr : bool
        Whether the scores claim to be natural-log likelihood ratios.
    floor : float, optional
        Score of the trials that were not submitted, for cross entropies; the lowest submitted one
        when left out.
    every : bool
        False alarms of queries without targets enter the mean of Pfa, and such queries the cross
        entropies.
    pooled : bool
        All queries are one: errors are added up before dividing.
    resample : {"query", "document", "both"}
        What is resampled; both are crossed.
    query_unit : str
        Attribute that queries share which are drawn together (a voice, a topic); each query by
        itself when left out.
    """

    llr: bool = False
    floor: float | None = None
    every: bool = False
    pooled: bool = False
    resample: SearchFactor = "query"
    query_unit: str = ""

    def __post_init__(self) -> None:
        if self.floor is not None and not isfinite(self.floor):
            raise UsageError(f"floor is {self.floor:g}: it must be a finite score")
        check_fields(self, TermsTable)


def choose(given: object, known: Sequence[str], what: str) -> None:
    """Refuse what is none of the choices.

    Parameters
    ----------
    what : str
        What is chosen, for the message.

    Raises
    ------
    UsageError
    """
    if given not in known:
        raise UsageError(
            f"{what} {given!r} is not known{near(given, known)}: give {', '.join(known)}"
        )


def is_number(given: object) -> bool:
    """Whether something is a finite number; truth values are none."""
    if isinstance(given, bool):
        return False
    return isinstance(given, Real) and isfinite(given)


def told(given: object) -> str:
    """How what was given stands in messages."""
    return f"{given:g}" if isinstance(given, Real) else repr(given)


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
    >>> from truecost.tasks.terms.options import parse_compat
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
