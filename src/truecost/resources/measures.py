"""Processing resources: speed of indexing and searching, and memory.

The measures read the tally `resources`, whose statistics are `cpu_indexing` and `cpu_searching`
(seconds of CPU of all processes on all nodes), `peak_indexing` and `peak_searching` (bytes of the
largest single process), `audio` and `query` (seconds). Amounts that were not measured are NaN.

Times are turned into hours, as Rodriguez-Fuentes & Penagarikano 2013 does: of ratios of two times
it makes no difference, but the searching speed factor divides by two of them. A GB is 1e9 bytes.
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
WEIGHT = 0.1  # of indexing in the processing load, as Rodriguez-Fuentes & Penagarikano suggest


def indexing_speed_factor(cpu_s: npt.ArrayLike, audio_s: npt.ArrayLike) -> Any:
    """Indexing speed factor (ISF): CPU seconds of indexing for each second of audio.

        ISF = T_indexing / T_audio

    with T_indexing the CPU time of all cores, and T_audio the duration of the audio. Range: [0,
    inf), lower is better. NaN if there is no audio. Source: Rodriguez-Fuentes & Penagarikano 2013,
    section 4.3.

    Parameters
    ----------
    cpu_s : array_like
        CPU seconds of indexing, over all cores and nodes.
    audio_s : array_like
        Duration of the searched audio in seconds.

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
    """Searching speed factor (SSF): CPU hours of searching for each hour of queries and each hour
    of audio.

        SSF = T_searching / (T_queries T_audio)

    with T_searching the CPU time of all cores, T_queries the duration of all spoken examples of all
    queries, and T_audio the duration of the audio, all in hours. Unit: 1/hour. Range: [0, inf),
    lower is better. NaN if there is no audio or no query. Source: Rodriguez-Fuentes & Penagarikano
    2013, Eq. 46-47.

    Parameters
    ----------
    cpu_s : array_like
        CPU seconds of searching, over all cores and nodes.
    query_s : array_like
        Duration of all spoken examples of all queries in seconds.
    audio_s : array_like
        Duration of the searched audio in seconds.

    Examples
    --------
    3 hours on 16 cores for 900 seconds of queries in 300 hours: 48 / (0.25 x 300).
    Rodriguez-Fuentes & Penagarikano 2013 prints 0.8, which does not follow from these numbers.

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
    """Processing load (PL): CPU time and memory of a search system in one number.

        PL = weight ISF PMU_indexing + (1 - weight) SSF PMU_searching

    Range: [0, inf), lower is better. The two terms have different units (GB and GB/hour), so PL can
    only rank systems of the same evaluation. Source: Rodriguez-Fuentes & Penagarikano 2013, Eq. 48.

    Parameters
    ----------
    isf, ssf : array_like
        Indexing speed factor, and searching speed factor in 1/hour.
    pmu_indexing, pmu_searching : array_like
        Peak memory of the largest single process of each phase, in GB (1e9 bytes).
    weight : float
        Weight of indexing (lambda in the paper), from 0 to 1. Default: 0.1.

    Raises
    ------
    UsageError
        If the weight is not between 0 and 1.

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
    """Indexing speed factor: CPU seconds of indexing for each second of audio.

    Range [0, inf); lower is better. No naive baseline. Rodriguez-Fuentes & Penagarikano 2013,
    section 4.3.
    """
    return indexing_speed_factor(_sum(totals, "cpu_indexing"), _sum(totals, "audio")), NONE


def ssf(totals: Totals, _: Application) -> Result:
    """Searching speed factor in 1/hour: CPU hours / hours of queries / hours of audio.

    Range [0, inf); lower is better. No naive baseline. Rodriguez-Fuentes & Penagarikano 2013, Eq.
    46-47.
    """
    sums = (_sum(totals, name) for name in ("cpu_searching", "query", "audio"))
    return searching_speed_factor(*sums), NONE


def pmu_indexing(totals: Totals, _: Application) -> Result:
    """Peak memory of the largest single process of indexing, in GB (1e9 bytes).

    Range [0, inf); lower is better. No naive baseline. Rodriguez-Fuentes & Penagarikano 2013,
    section 4.3.
    """
    return _sum(totals, "peak_indexing") / GIGA, NONE


def pmu_searching(totals: Totals, _: Application) -> Result:
    """Peak memory of the largest single process of searching, in GB (1e9 bytes).

    Range [0, inf); lower is better. No naive baseline. Rodriguez-Fuentes & Penagarikano 2013,
    section 4.3.
    """
    return _sum(totals, "peak_searching") / GIGA, NONE


def pl(totals: Totals, application: Application) -> Result:
    """Processing load: `0.1 ISF PMU_indexing + 0.9 SSF PMU_searching`.

    ISF and SSF are the speed factors `isf` and `ssf`; PMU is the peak memory of a phase in GB.
    Range [0, inf); lower is better. No naive baseline. Rodriguez-Fuentes & Penagarikano 2013, Eq.
    48.
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
        "it is lower for more queries or audio if a part of the work is done once: compare "
        "systems on the same queries and audio",
    ),
    _measure(pmu_indexing, "Peak memory of indexing in GB", "paper 002, 4.3"),
    _measure(pmu_searching, "Peak memory of searching in GB", "paper 002, 4.3"),
    _measure(
        pl,
        "Processing load",
        "paper 002, Eq. 48",
        "it adds different units: use it only to rank systems of the same evaluation",
    ),
)
