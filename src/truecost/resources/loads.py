"""`Load`: the speed factors, peak memory and processing load of a search, and their rows."""

import math
from typing import Any

import msgspec
import numpy as np

from truecost.core.intervals.smooth import finite
from truecost.core.results import Estimate
from truecost.errors import UsageError
from truecost.resources.measures import (
    WEIGHT,
    indexing_speed_factor,
    processing_load,
    searching_speed_factor,
)
from truecost.resources.records import Resources
from truecost.version import __version__

MEASURED_ONCE = "no interval: measured once"
NO_RECORD = "undefined: there is no record of {}"
NO_QUERIES = "undefined: the length of the spoken queries is not known"
NO_AUDIO = "undefined: there is no audio"
UNITS = {  # of the figures, in the order of the rows, for signatures; `unit` is that of trials
    "isf": "",
    "ssf": "in:1/hour",
    "pmu_indexing": "in:1e9-bytes",
    "pmu_searching": "in:1e9-bytes",
    "pl": "in:1e9-bytes,hour",
}


class Load(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="load"):
    """Speed factors, peak memory and processing load of a search system (Rodriguez-Fuentes &
    Penagarikano 2013, section 4.3).

    Attributes
    ----------
    system : str
        Name of the system; empty if there is only one system. With several collections, the name
        of the collection stands before it.
    isf : float or None
        Indexing speed factor. Like each of the following values, it is None if it is not known.
    ssf : float or None
        Searching speed factor, in 1/hour.
    pmu_indexing, pmu_searching : float or None
        Peak memory of the largest single process of each phase, in GB (1e9 bytes).
    pl : float or None
        Processing load.
    reasons : dict of str to str
        Reason for each value that is None, by the name of the value.
    weight, audio_s, query_s : float
        Arguments of ``truecost.resources.load_of``.
    indexing, searching : Resources or None
        Measured resources of each phase, without the commands.
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
    """The speed factors, peak memory and processing load of a search system.

    Parameters
    ----------
    audio_s : float
        Duration of the searched audio in seconds. If it is 0, the speed factors are undefined.
    indexing, searching : Resources, optional
        Resources of each phase, from :func:`truecost.resources.phase_of`. If one is missing, the
        values of its phase are None. For a system without an indexing phase, record a program that
        does nothing (`truecost resources -- true`).
    query_s : float, optional
        Duration of all spoken examples of all queries in seconds. Leave it out if queries are
        typed.
    weight : float
        Weight of indexing in the processing load, from 0 to 1. Default: 0.1.

    Raises
    ------
    UsageError
        If the duration of the audio is negative, the duration of the queries is not above 0, or the
        weight is not between 0 and 1.
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
    """Reasons why figures may be None, the weakest first."""
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
    """The values of a :class:`Load` as result rows: ``isf``, ``ssf``, ``pmu_indexing``,
    ``pmu_searching`` and ``pl``.

    The rows have no confidence intervals, because a program is measured once.

    Parameters
    ----------
    load : Load
        Speed factors, peak memory and processing load.
    system : str
        Name of the system.
    level : float
        Confidence level to store in the rows (that of other rows in the same table).
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
    """Number of nodes of a phase; 0 where it was not measured."""
    return 0 if record is None else sum(machine.count for machine in record.nodes)


def _counts(load: Load, record: Resources | None, name: str) -> dict[str, float]:
    """The seconds that a speed factor divides, as far as they are known."""
    if name not in ("isf", "ssf"):
        return {}
    query_s = load.query_s if name == "ssf" else None
    cpu_s = None if record is None else record.cpu_s
    known = {"cpu_s": cpu_s, "query_s": query_s, "audio_s": load.audio_s}
    return {key: number for key, number in known.items() if number is not None}
