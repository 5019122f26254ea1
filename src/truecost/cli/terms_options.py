"""Options of `truecost terms`: searches for terms, their reference and what they took."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.cli.options import Flag, Whole, pairs
from truecost.errors import UsageError
from truecost.names import Method, Normalise, SearchFactor, TrialUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.study.tables import ApplicationTable, DataTable, IntervalTable


@Parameter(name="*", group="Reference")
@dataclass(frozen=True, kw_only=True)
class Sought:
    """What is to be found, and in what audio."""

    ecf: str | None = None
    """ECF with the audio that is scored, or a table: document, duration (seconds)."""
    rttm: str | None = None
    """RTTM with the words that were said, of which the occurrences are made."""
    kwlist: str | None = None
    """List of the queries (kwlist or tlist)."""
    occurrences: str | None = None
    """Table of the occurrences, in place of an RTTM: document, query, start, end."""


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Submitted:
    """What the lists of detections hold."""

    type: Annotated[Literal["llr", "score"] | None, Parameter(show_choices=True)] = None
    """Whether scores claim to be natural-log likelihood ratios (score unless given)."""
    map: str = ""
    """Columns of a table of detections, as KEY=COLUMN,...: query, document, start, duration, ...
    See: truecost list map"""
    reference_map: str = ""
    """Columns of the occurrences, where they are others than --map says."""
    input_format: str | None = None
    """Format of the lists; recognised unless given. See: truecost list formats"""

    def table(self, sought: Sought) -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        return DataTable(
            type=self.type,
            map=pairs(self.map),
            reference_map=pairs(self.reference_map, "--reference-map"),
            input_format=self.input_format,
            **vars(sought),
        )


@Parameter(name="*", group="Terms")
@dataclass(frozen=True, kw_only=True)
class Matching:
    """What a trial is, and which detections are right."""

    unit: TrialUnit | None = None
    """What a trial is (occurrence unless given)."""
    trials_per_second: float | None = None
    """Trials of a query in a second of audio (1 unless given)."""
    tolerance: float | None = None
    """Seconds around an occurrence that the middle of a detection may lie in (0.5 unless given)."""
    max_gap: float | None = None
    """Longest gap between the words of a term, in seconds (0.5 unless given)."""
    normalise: Normalise | None = None
    """Whether case is ignored (as the list of queries says unless given)."""
    split_characters: Annotated[bool, Flag] = False
    """Every character is a word, of texts without blanks between words."""
    compat: Annotated[tuple[str, ...], Flag] = ()
    """Follow quirks of another tool: f4de for all of them, or single ones; may be repeated."""

    def keys(self) -> dict[str, Any]:
        """The keys of `[terms]` that were given."""
        compat = tuple(name for text in self.compat for name in text.split(","))
        return _given(self) | ({"compat": compat} if compat else {})


@Parameter(name="*", group="Terms")
@dataclass(frozen=True, kw_only=True)
class Tallying:
    """What counts, and in what share."""

    count_all_queries: Annotated[bool, Flag] = False
    """False alarms of queries without occurrences count too."""
    pooled: Annotated[bool, Flag] = False
    """Count all queries as one."""
    floor: float | None = None
    """Score of trials that were not submitted, for Cnxe (the least submitted one unless given)."""
    query_seconds: float | None = None
    """Length of all spoken queries together, for the searching speed."""
    indexing: Annotated[tuple[str, ...], Flag] = ()
    """FILE, or SYSTEM=FILE where there are several: what indexing took, as truecost resources says;
    repeat for each node."""
    searching: Annotated[tuple[str, ...], Flag] = ()
    """FILE, or SYSTEM=FILE where there are several: what searching took."""

    def keys(self) -> dict[str, Any]:
        """The keys of `[terms]` that were given."""
        return {k: v for k, v in _given(self).items() if k not in ("indexing", "searching")}


@Parameter(name="*", group="Application")
@dataclass(frozen=True, kw_only=True)
class Detecting:
    """What errors cost and how often a term is there."""

    preset: str | None = None
    """A named application: truecost list presets."""
    cost_miss: float | None = None
    """Cost of a miss (1 unless given)."""
    cost_fa: float | None = None
    """Cost of a false alarm (1 unless given)."""
    prior: float | None = None
    """Prior of a target (its share in the data unless given)."""

    def table(self) -> "ApplicationTable":
        """`[application]` of the study."""
        from truecost.study.tables import ApplicationTable

        return ApplicationTable(**vars(self))


OF_TERMS = ("resample", "query_unit")  # options of the interval that `[terms]` holds


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How the intervals are made: what goes with other tasks is no option."""

    resample: SearchFactor | None = None
    """What is resampled (query unless given)."""
    query_unit: str | None = None
    """Attribute that queries share which are drawn together: a voice, a topic."""
    level: float | None = None
    """Level of the intervals (0.95 unless given)."""
    replicates: Whole = None
    """Number of bootstrap replicates (2,000 unless given)."""
    seed: Whole = None
    """Seed of all random numbers (0 unless given)."""
    method: Method | None = None
    """auto: by the kind of measure; percentile or bca: of replicates. Default: auto."""
    icc: float | None = None
    """Correlation of the trials of a unit that auto assumes where the data do not show it.
    Default: 0.1."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""

    def table(self) -> "IntervalTable":
        """`[interval]` of the study."""
        from truecost.study.tables import IntervalTable

        return IntervalTable(**{k: v for k, v in vars(self).items() if k not in OF_TERMS})

    def keys(self) -> dict[str, Any]:
        """The keys of `[terms]` that were given."""
        return {k: v for k in OF_TERMS if (v := getattr(self, k)) is not None}


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Tables:
    """Tables that are written beside the result; existing ones are replaced."""

    alignment: str | None = None
    """File (.csv, .tsv, .parquet, .ndjson) for every detection and occurrence, and their pairs."""
    per_query: str | None = None
    """File for the counts and values of every query."""


def records_of(
    given: "Sequence[str]", systems: "Sequence[str]", option: str
) -> dict[str, tuple[str, ...]]:
    """Records of what a phase took, by system: FILE where there is one, SYSTEM=FILE otherwise.

    Raises
    ------
    UsageError
        When a system is not known, or not named among several.
    """
    if given and not systems:
        raise UsageError(
            f"{option} goes with lists of detections that are named beside it; a study names "
            f"records under [systems.NAME]"
        )
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, mark, file = text.partition("=")
        if mark and name not in systems and Path(text).exists():
            mark = ""  # a file whose own name has an equals sign
        if not mark and len(systems) == 1:
            name, file = systems[0], text
        elif mark and name not in systems:
            raise UsageError(f"{option} {text}: {_no_system(name, systems)}")
        elif name not in systems:
            raise UsageError(
                f"{option} {text}: say whose record it is, {option} SYSTEM={file or text}; the "
                f"systems are {', '.join(systems)}"
            )
        found[name] = (*found.get(name, ()), file)
    return found


def _no_system(name: str, systems: "Sequence[str]") -> str:
    """That there is no such system, and which there are."""
    from difflib import get_close_matches

    close = get_close_matches(name, systems, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return f"there is no system {name!r}{meant}; the systems are {', '.join(systems)}"


def _given(options: object) -> dict[str, Any]:
    """Options that were given, by name."""
    given = vars(options).items()
    return {k: v for k, v in given if v is not None and v is not False and v != ()}


NO_SOUGHT, NO_SUBMITTED, NO_MATCHING = Sought(), Submitted(), Matching()
NO_TALLYING, NO_DETECTING, RESAMPLING, NO_TABLES = Tallying(), Detecting(), Resampling(), Tables()
