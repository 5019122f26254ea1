"""Processing resources: how fast a search indexes and searches, and what it weighs in memory.

The measures read the tally `resources`, whose statistics are `cpu_indexing` and `cpu_searching`
(seconds of CPU of all processes on all nodes), `peak_indexing` and `peak_searching` (bytes of the
largest single process), `audio` and `query` (seconds). Amounts that were not measured are NaN.

Times are turned into hours, as Rodriguez-Fuentes & Penagarikano 2013 does: of ratios of two times
it makes no difference, but the searching speed factor divides by two of them. A GB is 1e9 bytes.
"""

import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.intervals.smooth import finite
from truecost.core.measure import NONE, SMOOTH, Floats, Measure, Result, Rule, share
from truecost.core.results import Estimate
from truecost.errors import UsageError
from truecost.resources.records import Resources
from truecost.version import __version__

HOUR = 3600.0  # seconds
GIGA = 1e9  # bytes
WEIGHT = (
    0.1  # of indexing in the processing load, as Rodriguez-Fuentes & Penagarikano 2013 suggests
)


def indexing_speed_factor(cpu_s: npt.ArrayLike, audio_s: npt.ArrayLike) -> Any:
    """ISF: seconds of CPU that indexing takes for a second of audio.

    T_indexing / T_audio, T_indexing as if on a single CPU. Range [0, inf), lower is better.
    Rodriguez-Fuentes & Penagarikano 2013, section 4.3.

    Parameters
    ----------
    cpu_s, audio_s : array_like
        Seconds of CPU of all cores and nodes together; seconds of the audio that is searched. The
        factor is NaN where there is no audio.

    Examples
    --------
    14 hours on 16 cores for 300 hours of audio (Rodriguez-Fuentes & Penagarikano 2013):

    >>> from truecost.resources.measures import indexing_speed_factor
    >>> print(f"{indexing_speed_factor(14 * 16 * 3600, 300 * 3600):.4f}")
    0.7467
    """
    return share(cpu_s, audio_s)[()]


def searching_speed_factor(
    cpu_s: npt.ArrayLike, query_s: npt.ArrayLike, audio_s: npt.ArrayLike
) -> Any:
    """SSF: hours of CPU that searching takes for an hour of queries in an hour of audio.

    T_searching / (T_queries T_audio), all three in hours: its unit is 1/hour. T_queries counts all
    examples of all queries. Range [0, inf), lower is better. Rodriguez-Fuentes & Penagarikano 2013,
    Eq. 46-47.

    Parameters
    ----------
    cpu_s, query_s, audio_s : array_like
        Seconds of CPU of all cores and nodes together; of all spoken examples of all queries; of
        the audio that is searched. The factor is NaN where there is no audio or no query.

    Examples
    --------
    3 hours on 16 cores for 900 seconds of queries in 300 hours: 48 / (0.25 x 300).
    Rodriguez-Fuentes & Penagarikano 2013 prints 0.8 here, which does not follow from its own
    numbers.

    >>> from truecost.resources.measures import searching_speed_factor
    >>> print(f"{searching_speed_factor(3 * 16 * 3600, 900, 300 * 3600):.4f}")
    0.6400
    """
    hours = np.multiply(np.divide(query_s, HOUR), np.divide(audio_s, HOUR))
    return share(np.divide(cpu_s, HOUR), hours)[()]


def processing_load(
    isf: npt.ArrayLike,
    pmu_indexing: npt.ArrayLike,
    ssf: npt.ArrayLike,
    pmu_searching: npt.ArrayLike,
    weight: float = WEIGHT,
) -> Any:
    """PL: the resources of a system in a single figure.

    weight ISF PMU_indexing + (1 - weight) SSF PMU_searching. Range [0, inf), lower is better. It
    adds GB and GB/hour, so it orders systems of one evaluation and means nothing else.
    Rodriguez-Fuentes & Penagarikano 2013, Eq. 48.

    Parameters
    ----------
    isf, ssf : array_like
        Speed factors, SSF in 1/hour.
    pmu_indexing, pmu_searching : array_like
        Peak memory of the largest single process in GB (1e9 bytes).
    weight : float
        Lambda, of indexing, between 0 and 1.

    Raises
    ------
    UsageError
        When the weight does not lie between 0 and 1.

    Examples
    --------
    >>> from truecost.resources.measures import processing_load
    >>> print(f"{processing_load(0.7467, 4, 0.64, 2):.4f}")
    1.4507
    """
    if not 0 <= weight <= 1:
        raise UsageError(f"weight of indexing is {weight:g}: it must lie between 0 and 1")
    indexing = weight * np.multiply(isf, pmu_indexing)
    return (indexing + (1 - weight) * np.multiply(ssf, pmu_searching))[()]


def isf(totals: Totals, _: Application) -> Result:
    """Indexing speed factor: seconds of CPU that indexing takes for a second of audio.

    Range [0, inf), lower is better; there is no naive baseline. Rodriguez-Fuentes & Penagarikano
    2013, section 4.3.
    """
    return indexing_speed_factor(_sum(totals, "cpu_indexing"), _sum(totals, "audio")), NONE


def ssf(totals: Totals, _: Application) -> Result:
    """Searching speed factor: hours of CPU for an hour of queries in an hour of audio (1/hour).

    Range [0, inf), lower is better; there is no naive baseline. Rodriguez-Fuentes & Penagarikano
    2013, Eq. 46-47.
    """
    sums = (_sum(totals, name) for name in ("cpu_searching", "query", "audio"))
    return searching_speed_factor(*sums), NONE


def pmu_indexing(totals: Totals, _: Application) -> Result:
    """Peak memory of the largest single process of indexing in GB (1e9 bytes).

    Range [0, inf), lower is better; there is no naive baseline. Rodriguez-Fuentes & Penagarikano
    2013, section 4.3.
    """
    return _sum(totals, "peak_indexing") / GIGA, NONE


def pmu_searching(totals: Totals, _: Application) -> Result:
    """Peak memory of the largest single process of searching in GB (1e9 bytes).

    Range [0, inf), lower is better; there is no naive baseline. Rodriguez-Fuentes & Penagarikano
    2013, section 4.3.
    """
    return _sum(totals, "peak_searching") / GIGA, NONE


def pl(totals: Totals, application: Application) -> Result:
    """Processing load: 0.1 ISF PMU_indexing + 0.9 SSF PMU_searching.

    Range [0, inf), lower is better; there is no naive baseline. Rodriguez-Fuentes & Penagarikano
    2013, Eq. 48.
    """
    parts: list[Any] = [f(totals, application)[0] for f in (isf, pmu_indexing, ssf, pmu_searching)]
    return processing_load(*parts), NONE


def _sum(totals: Totals, statistic: str) -> Floats:
    return np.asarray(totals.sums("resources", statistic), np.float64)


def _measure(function: Any, title: str, source: str, advice: str = "") -> Measure:
    name = function.__name__
    return Measure(
        name,
        function,
        ("resources",),
        title,
        "lower",
        source,
        advice=advice,
        uses=(),
        cites=("002",),
        undefined="undefined: there is no record of a phase",
        interval=SMOOTH if name in ("isf", "ssf") else Rule("none"),
    )


MEASURES = (
    _measure(isf, "Indexing speed factor", "paper 002, 4.3"),
    _measure(
        ssf,
        "Searching speed factor in 1/hour",
        "paper 002, Eq. 46-47",
        "it falls as queries or audio grow where a part of the work is done once: compare systems "
        "on the same queries and audio",
    ),
    _measure(pmu_indexing, "Peak memory of indexing in GB", "paper 002, 4.3"),
    _measure(pmu_searching, "Peak memory of searching in GB", "paper 002, 4.3"),
    _measure(
        pl,
        "Processing load",
        "paper 002, Eq. 48",
        "it adds different units: it orders systems of one evaluation and means nothing else",
    ),
)
MEASURED_ONCE = "no interval: measured once"
NO_RECORD = "undefined: there is no record of {}"
NO_QUERIES = "undefined: how long the spoken queries are is not known"
NO_AUDIO = "undefined: there is no audio"
UNITS = {  # of the figures, in the order of the rows, for signatures; `unit` is that of trials
    "isf": "",
    "ssf": "in:1/hour",
    "pmu_indexing": "in:1e9-bytes",
    "pmu_searching": "in:1e9-bytes",
    "pl": "in:1e9-bytes,hour",
}


class Load(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="load"):
    """The resources of a search (Rodriguez-Fuentes & Penagarikano 2013, section 4.3); amounts that
    were not measured are None.

    Attributes
    ----------
    system : str
        Name of the search, after that of its collection where there are several; empty where a
        load stands alone.
    isf, ssf : float or None
        Speed factors of indexing, and of searching in 1/hour.
    pmu_indexing, pmu_searching : float or None
        Peak memory of the largest single process in GB (1e9 bytes).
    pl : float or None
        Processing load.
    reasons : dict of str to str
        Why a figure is None, by its name.
    weight, audio_s, query_s
        As `load_of` takes them.
    indexing, searching : Resources or None
        Measured values, without the commands.
    """

    system: str = ""
    isf: float | None = None
    ssf: float | None = None
    pmu_indexing: float | None = None
    pmu_searching: float | None = None
    pl: float | None = None
    reasons: dict[str, str] = {}
    weight: float = WEIGHT
    audio_s: float
    query_s: float | None = None
    indexing: Resources | None = None
    searching: Resources | None = None


def load_of(
    audio_s: float,
    *,
    indexing: Resources | None = None,
    searching: Resources | None = None,
    query_s: float | None = None,
    weight: float = WEIGHT,
) -> Load:
    """The resources of a search, from records of its two phases.

    Parameters
    ----------
    audio_s : float
        Seconds of the searched audio; without it, the speed factors are undefined.
    indexing, searching : Resources, optional
        As `phase_of` reads them. A system that does not index has a record of a program that does
        nothing (`truecost resources -- true`): a phase without a record is unknown, not free.
    query_s : float, optional
        Seconds of all spoken examples of all queries; queries that are typed have none.
    weight : float
        Of indexing in the processing load, between 0 and 1.

    Raises
    ------
    UsageError
        When the audio has no length from 0, the queries have none above 0, or the weight does not
        lie between 0 and 1.
    """
    if not 0 <= audio_s < math.inf:
        raise UsageError(f"audio of {audio_s:g} seconds: expected a finite number from 0")
    if query_s is not None and not 0 < query_s < math.inf:
        raise UsageError(f"queries of {query_s:g} seconds: expected a finite number above 0")
    found = dict.fromkeys(UNITS, math.nan)
    if indexing is not None:
        found["isf"] = indexing_speed_factor(indexing.cpu_s, audio_s)
        found["pmu_indexing"] = indexing.peak_gb
    if searching is not None:
        found["ssf"] = searching_speed_factor(searching.cpu_s, query_s or math.nan, audio_s)
        found["pmu_searching"] = searching.peak_gb
    del found["pl"]
    found["pl"] = processing_load(weight=weight, **found)
    values: dict[str, Any] = {name: finite(float(value)) for name, value in found.items()}
    reasons = _reasons(audio_s, indexing, searching, query_s)
    return Load(
        **values,
        reasons={n: reasons.get(n, "infinite") for n, value in values.items() if value is None},
        weight=weight,
        audio_s=audio_s,
        query_s=query_s,
        indexing=_published(indexing),
        searching=_published(searching),
    )


def _reasons(
    audio_s: float, indexing: Resources | None, searching: Resources | None, query_s: float | None
) -> dict[str, str]:
    """Why figures may be None: the reasons that weigh least first."""
    found: dict[str, str] = {}
    if not audio_s > 0:
        found |= dict.fromkeys(("isf", "ssf", "pl"), NO_AUDIO)
    if query_s is None:
        found |= dict.fromkeys(("ssf", "pl"), NO_QUERIES)
    if searching is None:
        found |= dict.fromkeys(("ssf", "pmu_searching", "pl"), NO_RECORD.format("searching"))
    if indexing is None:
        found |= dict.fromkeys(("isf", "pmu_indexing", "pl"), NO_RECORD.format("indexing"))
    return found


def _published(record: Resources | None) -> Resources | None:
    """A record as results hold it: a command may name paths."""
    return record and msgspec.structs.replace(record, command=())


def rows_of(load: Load, system: str, level: float = 0.95) -> list[Estimate]:
    """The rows `isf`, `ssf`, `pmu_indexing`, `pmu_searching` and `pl` of a system.

    They have no intervals: a program is measured once, and what it takes varies with the machine,
    not with the queries that are drawn.

    Parameters
    ----------
    level : float
        Of the rows that they stand beside.
    """
    return [_row(load, name, system, level) for name in UNITS]


def _row(load: Load, name: str, system: str, level: float) -> Estimate:
    """One figure as a row."""
    value: float | None = getattr(load, name)
    phases = {"indexing": load.indexing, "searching": load.searching}
    record = phases["indexing" if name in ("isf", "pmu_indexing") else "searching"]
    nodes = max(map(_nodes, phases.values())) if name == "pl" else _nodes(record)
    weight = {"weight": load.weight} if name == "pl" else {}
    said = [name, *(f"lambda:{w:g}" for w in weight.values()), UNITS[name], f"nodes:{nodes}"]
    return Estimate(
        measure=name,
        parameters=dict(weight),
        dims={"system": system},
        value=value,
        point=math.nan if value is None else value,
        lower=None,
        upper=None,
        level=level,
        method="percentile",
        naive=None,
        direction="lower",
        factors=(),
        n_units=0,
        n_trials=nodes,
        item="node",
        counts=_counts(load, record, name),
        n_replicates=0,
        n_undefined=0,
        reason=load.reasons[name] if value is None else MEASURED_ONCE,
        flags=(),
        signature="|".join(filter(None, [*said, f"truecost:{__version__}"])),
        replicates=np.empty(0),
    )


def _nodes(record: Resources | None) -> int:
    """How many nodes a phase ran on; 0 where it was not measured."""
    return 0 if record is None else sum(machine.count for machine in record.nodes)


def _counts(load: Load, record: Resources | None, name: str) -> dict[str, float]:
    """The seconds that a speed factor divides, as far as they are known."""
    if name not in ("isf", "ssf"):
        return {}
    query_s = load.query_s if name == "ssf" else None
    cpu_s = None if record is None else record.cpu_s
    known = {"cpu_s": cpu_s, "query_s": query_s, "audio_s": load.audio_s}
    return {key: number for key, number in known.items() if number is not None}
