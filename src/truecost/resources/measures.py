"""Processing resources: how fast a search indexes and searches, and what it weighs in memory.

The measures read the tally `resources`, whose statistics are `cpu_indexing` and `cpu_searching`
(seconds of CPU of all processes on all nodes), `peak_indexing` and `peak_searching` (bytes of the
largest single process), `audio` and `query` (seconds). What was not measured is NaN.

Times are turned into hours, as paper 002 does: of ratios of two times it makes no difference, but
the searching speed factor divides by two of them. A GB is 1e9 bytes.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, SMOOTH, Floats, Measure, Result, Rule, share
from truecost.errors import UsageError

HOUR = 3600.0  # seconds
GIGA = 1e9  # bytes
WEIGHT = 0.1  # of indexing in the processing load, as paper 002 suggests


def indexing_speed_factor(cpu_s: npt.ArrayLike, audio_s: npt.ArrayLike) -> Any:
    """ISF: seconds of CPU that indexing takes for a second of audio.

    T_indexing / T_audio, T_indexing as if on a single CPU. Range [0, inf), lower is better. Paper
    002, section 4.3.

    Parameters
    ----------
    cpu_s : array_like
        Seconds of CPU of all cores and nodes together.
    audio_s : array_like
        Seconds of the audio that is searched.

    Returns
    -------
    float or ndarray of float64
        NaN where there is no audio.

    Examples
    --------
    14 hours on 16 cores for 300 hours of audio (paper 002):

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
    examples of all queries. Range [0, inf), lower is better. Paper 002, Eq. 46-47.

    Parameters
    ----------
    cpu_s : array_like
        Seconds of CPU of all cores and nodes together.
    query_s : array_like
        Seconds of all spoken examples of all queries.
    audio_s : array_like
        Seconds of the audio that is searched.

    Returns
    -------
    float or ndarray of float64
        NaN where there is no audio or no query.

    Examples
    --------
    3 hours on 16 cores for 900 seconds of queries in 300 hours: 48 / (0.25 x 300). Paper 002 prints
    0.8 here, which does not follow from its own numbers.

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
    """PL: what a system takes in a single figure.

    weight ISF PMU_indexing + (1 - weight) SSF PMU_searching. Range [0, inf), lower is better. It
    adds GB and GB/hour, so it orders systems of one evaluation and means nothing else. Paper 002,
    Eq. 48.

    Parameters
    ----------
    isf, ssf : array_like
        Speed factors, SSF in 1/hour.
    pmu_indexing, pmu_searching : array_like
        Peak memory of the largest single process in GB (1e9 bytes).
    weight : float
        Lambda, of indexing, between 0 and 1.

    Returns
    -------
    float or ndarray of float64
        NaN where one of them is.

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


def isf(totals: Totals, application: Application) -> Result:
    """Indexing speed factor: seconds of CPU that indexing takes for a second of audio.

    Range [0, inf), lower is better; there is no naive baseline. Paper 002, section 4.3.
    """
    del application
    return indexing_speed_factor(_sum(totals, "cpu_indexing"), _sum(totals, "audio")), NONE


def ssf(totals: Totals, application: Application) -> Result:
    """Searching speed factor: hours of CPU for an hour of queries in an hour of audio (1/hour).

    Range [0, inf), lower is better; there is no naive baseline. Paper 002, Eq. 46-47.
    """
    del application
    sums = (_sum(totals, name) for name in ("cpu_searching", "query", "audio"))
    return searching_speed_factor(*sums), NONE


def pmu_indexing(totals: Totals, application: Application) -> Result:
    """Peak memory of the largest single process of indexing in GB (1e9 bytes).

    Range [0, inf), lower is better; there is no naive baseline. Paper 002, section 4.3.
    """
    del application
    return _sum(totals, "peak_indexing") / GIGA, NONE


def pmu_searching(totals: Totals, application: Application) -> Result:
    """Peak memory of the largest single process of searching in GB (1e9 bytes).

    Range [0, inf), lower is better; there is no naive baseline. Paper 002, section 4.3.
    """
    del application
    return _sum(totals, "peak_searching") / GIGA, NONE


def pl(totals: Totals, application: Application) -> Result:
    """Processing load: 0.1 ISF PMU_indexing + 0.9 SSF PMU_searching.

    Range [0, inf), lower is better; there is no naive baseline. Paper 002, Eq. 48.
    """
    one, peak, other, further = (
        measure(totals, application)[0] for measure in (isf, pmu_indexing, ssf, pmu_searching)
    )
    return processing_load(one, peak, other, further), NONE


def _sum(totals: Totals, statistic: str) -> Floats:
    return np.asarray(totals.sums("resources", statistic), np.float64)


def _measure(name: str, function: Any, title: str, source: str, advice: str = "") -> Measure:
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
    _measure("isf", isf, "Indexing speed factor", "paper 002, 4.3"),
    _measure(
        "ssf",
        ssf,
        "Searching speed factor in 1/hour",
        "paper 002, Eq. 46-47",
        "it falls as queries or audio grow where a part of the work is done once: compare systems "
        "on the same queries and audio",
    ),
    _measure("pmu_indexing", pmu_indexing, "Peak memory of indexing in GB", "paper 002, 4.3"),
    _measure("pmu_searching", pmu_searching, "Peak memory of searching in GB", "paper 002, 4.3"),
    _measure(
        "pl",
        pl,
        "Processing load",
        "paper 002, Eq. 48",
        "it adds different units: it orders systems of one evaluation and means nothing else",
    ),
)
