"""What the page of searches for terms shows, and what searches took."""

from collections.abc import Mapping
from typing import Any

from truecost.core.digits import counted, figure
from truecost.report import plots
from truecost.report.declared import Naive, Page
from truecost.report.plots.load import Quantity
from truecost.report.section import Line, Section, drawing_of, told
from truecost.report.sections import comparison, gates, subsets
from truecost.report.story import Story
from truecost.report.sums import clock
from truecost.report.tables import Table, used
from truecost.report.words import isolated
from truecost.resources.load import Load
from truecost.resources.records import Machine, Resources
from truecost.tasks.terms.sections import (
    all_queries,
    det_of_terms,
    scores,
    side_by_side,
    value_by_threshold,
    worst_queries,
)
from truecost.tasks.terms.verdict import best_first, drawn, lead, line

OF_LOAD: Mapping[Quantity, str] = {
    "time": "CPU time",
    "memory": "Peak memory",
    "load": "Parts of the processing load",
}


def resources(story: Story) -> Section | None:
    """What searches took, by phase."""
    found = {load.system: load for load in story.described_as(Load)}
    if not found:
        return None
    order = {name: k for k, name in enumerate(story.systems)}
    loads = dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))
    kinds = [
        kind
        for kind in OF_LOAD
        if any(v is not None for load in loads.values() for v in plots.parts_of_load(load, kind))
    ]
    drawings = tuple(
        drawing_of(
            *(plots.resources, loads, plots.resources_height, _told_load(loads, kind)),
            _of_load(loads, kind),
            title=OF_LOAD[kind] if len(kinds) > 1 else "",
            of=kind,
        )
        for kind in kinds
    )
    lines = [line for name, load in loads.items() for line in _hardware(name, load)]
    text = (
        "Indexing speed factor (isf): CPU time over audio. Searching speed factor (ssf): hours of "
        "CPU for an hour of queries in an hour of audio. Peak memory (pmu) of the largest process "
        "in GB. Processing load (pl): their weighted products. Measured once: no intervals."
    )
    return Section("Resources", text, drawings, (_load_table(loads),), lines=tuple(lines))


def _told_load(loads: Mapping[str, Load], kind: Quantity) -> str:
    return f"{OF_LOAD[kind]} by phase: " + told(
        f"{name}: indexing {_amount(kind, one)}, searching {_amount(kind, other)}"
        for name, load in loads.items()
        for one, other in [plots.parts_of_load(load, kind)]
    )


def _amount(kind: Quantity, found: float | None) -> str:
    """A figure with its unit."""
    if found is None:
        return "not measured"
    return clock(found) if kind == "time" else figure(found) + (" GB" if kind == "memory" else "")


def _of_load(loads: Mapping[str, Load], kind: Quantity) -> Table:
    cells = [
        (name, *(_amount(kind, part) for part in plots.parts_of_load(load, kind)))
        for name, load in loads.items()
    ]
    caption = f"{OF_LOAD[kind]} by phase: numbers"
    return used(caption, ("system", "indexing", "searching"), cells)


def _load_table(loads: Mapping[str, Load]) -> Table:
    names = ("isf", "ssf", "pmu_indexing", "pmu_searching", "pl")
    cells = [
        (
            *(name, *(figure(getattr(load, key)) for key in names), clock(load.audio_s)),
            *("" if load.query_s is None else clock(load.query_s), _reasons(load)),
        )
        for name, load in loads.items()
    ]
    header = ("system", "isf", "ssf (1/hour)", "pmu of indexing (GB)", "pmu of searching (GB)")
    return used("Processing resources", (*header, "pl", "audio", "queries", "note"), cells)


def _reasons(load: Load) -> str:
    """Why figures are undefined, each reason once."""
    said = (reason.removeprefix("undefined: ") for reason in load.reasons.values())
    return "; ".join(dict.fromkeys(said))


def _hardware(system: str, load: Load) -> list[Line]:
    """What each phase ran on, in words."""
    phases: dict[str, Resources | None] = {"indexing": load.indexing, "searching": load.searching}
    return [
        Line(
            *("open", phase, isolated(system), "; ".join(map(machine_said, record.nodes))),
            f"{clock(record.cpu_s)} of CPU in {clock(record.wall_s)}.",
        )
        for phase, record in phases.items()
        if record is not None
    ]


def machine_said(machine: Machine) -> str:
    """A type of computing node in words; what the system did not tell is left out.

    Examples
    --------
    >>> from truecost.tasks.terms.page import machine_said
    >>> from truecost.resources import Machine
    >>> machine_said(Machine(count=2, cpu="Xeon", cores=16, memory_bytes=64 * 10**9))
    '2 nodes: Xeon, 16 cores, 64 GB of memory'
    """
    facts: list[Any] = [
        machine.brand,
        machine.cpu,
        machine.cores and counted(machine.cores, "core"),
        machine.clock_ghz and f"{machine.clock_ghz:g} GHz",
        machine.memory_bytes and f"{machine.memory_bytes / 1e9:.3g} GB of memory",
        machine.system,
    ]
    said = ", ".join(str(fact) for fact in facts if fact)
    return f"{counted(machine.count, 'node')}: {said or 'nothing is known of it'}"


def rejecting(measure: str) -> str:
    """What the naive baseline does."""
    del measure
    return "rejecting everything"


PAGE = Page(
    sections=(
        *(side_by_side, det_of_terms, value_by_threshold, scores),
        *(subsets, comparison, gates, all_queries, worst_queries, resources),
    ),
    lead=lead,
    line=line,
    rows=best_first,
    drawn=drawn,
    naive=Naive(output=rejecting),
)
