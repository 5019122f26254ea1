"""The page of searches for terms: the verdict, error rates, values by threshold and by query,
scores, and resources.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from truecost.core.digits import amount, counted, figure
from truecost.core.results import Row
from truecost.report.section import Line, Section, joined
from truecost.report.sections import comparison, gates, of_each, spending, subsets
from truecost.report.story import Naive, Page, Part, Story, goodness, part_of
from truecost.report.sums import clock
from truecost.report.verdict import lead_of, line_of
from truecost.report.words import at_best, counts, isolated, searched_of, units_of, value
from truecost.resources.loads import Load
from truecost.resources.records import Machine
from truecost.tasks.terms import pictures
from truecost.tasks.terms.curves import REJECTING, with_false_alarms
from truecost.tasks.terms.describing import SearchDescription
from truecost.tasks.terms.pictures import PHASES, QUANTITIES, VALUES, of_phases

FEW = 4  # systems that stay in the order in which they were given
ENTROPIES = ("cnxe", "min_cnxe")  # they and the values share an axis
LEAST = 1e-9  # gain that is more than rounding


def best_first(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows with the systems of each part in the order of the first measure, where they are many."""
    mains = [r for r in rows if r.kind == "value" and "subset" not in r.dims]
    mains = [r for r in mains if r.label == mains[0].label]
    if len({r.dims["system"] for r in mains}) <= FEW:
        return rows
    places = {(part_of(r), r.dims["system"]): k for k, r in enumerate(sorted(mains, key=goodness))}
    parts = [*dict.fromkeys(map(part_of, rows))]

    def place(row: Row) -> tuple[bool, int, int]:
        part = part_of(row)
        at = places.get((part, row.dims["system"]), len(places))
        return row.kind != "value", parts.index(part), at

    return tuple(sorted(rows, key=place))  # stable


def searches_of(story: Story, part: Part) -> list[SearchDescription]:
    """The searches of a part in the order of its rows: the best first where they are many."""
    dims = dict(part.dims)
    found = [
        d
        for d in story.described_as(SearchDescription)
        if all(getattr(d, name) == dims.get(name, "") for name in ("collection", "application"))
    ]
    order = [row.dims["system"] for row in story.mains(part)]
    return sorted(found, key=lambda d: order.index(d.system) if d.system in order else len(order))


def rows_beside(story: Story, row: Row) -> dict[str, Row]:
    """All measures of what a row is about, by label."""
    return {r.label: r for r in story.whole if r.dims == row.dims}


def about_values(story: Story) -> str:
    """The explanation of the main figure of a search, after its direction."""
    if at_best(story.main):
        return (
            "It uses the best threshold for these data, and does not show the quality of "
            "decisions in use. "
        )
    if story.main in VALUES:
        return "1 is a perfect system; false alarms can make it far below 0. "
    return ""


def lead(story: Story, row: Row) -> str:
    """The explanation of the figures of searches."""
    return lead_of(story, row, about_values(story), decided=True)


def line(story: Story, row: Row) -> Line:
    """The verdict on one search."""
    return line_of(row, text_of(story, row), more_of(story, row))


def text_of(story: Story, row: Row) -> str:
    """The value of a search, and what another threshold would give."""
    best = rows_beside(story, row).get("mtwv")
    if row.label not in VALUES[:2] or row.value is None or best is None or best.value is None:
        return value(row)
    return f"{value(row)}; {_gain(row.value, best)}"


def _gain(actual: float, best: Row) -> str:
    """`best for these data 0.39 [0.27, 0.52] at threshold 0.53 (mtwv)`."""
    assert best.value is not None
    if best.threshold is None and best.value == 0:
        return "no threshold is better than rejecting everything"
    if best.value - actual <= LEAST:
        return "no single threshold would be better (mtwv)"
    at = "" if best.threshold is None else f" at threshold {figure(best.threshold)}"
    return f"best for these data {value(best)}{at} (mtwv)"


def more_of(story: Story, row: Row) -> str:
    """Targets found and false alarms, queries, audio, and what was resampled."""
    beside = rows_beside(story, row)
    n = {name: beside[name].value for name in ("n_correct", "n_targets") if name in beside}
    if len(n) < 2 or None in n.values():
        return counts(row)
    said = f"{amount(n['n_correct'] or 0)} of {counted(n['n_targets'] or 0, 'target')} found"
    false = beside.get("n_false_alarms")
    if false is not None and false.value is not None:
        said += f", {counted(false.value, 'false alarm')}"
    resampled = "" if row.factors == ("query",) else units_of(row)
    return "; ".join(filter(None, (said, searched_of(row), resampled)))


def drawn_measures(story: Story) -> list[str]:
    """The measures whose differences are drawn: values, and the entropies that share their axis."""
    return [*VALUES, *(r.label for r in story.whole if r.measure in ENTROPIES)]


FEWEST = 3  # queries that are put in order
Found = list[SearchDescription]


def side_by_side(story: Story) -> Section:
    """The term-weighted values of each search in a row; a picture a part."""
    found: dict[str, dict[str, dict[str, Row]]] = {part.name: {} for part in story.parts}
    for row in (r for r in story.whole if r.label in VALUES):
        found[part_of(row).name].setdefault(row.dims["system"], {})[row.label] = row
    text = (
        "Term-weighted values (TWV) at the system's decisions (atwv), at the Bayes threshold "
        "(twv_bayes), at the best threshold of all queries (mtwv) and of each query (otwv); with "
        "any score accepted (stwv)."
    )
    return Section("Term-weighted values", text, of_each(pictures.term_weighted, found))


def _by_part(story: Story, chosen: Callable[[SearchDescription], Any]) -> dict[str, Found]:
    """The searches of each part that a picture can show."""
    return {p.name: [d for d in searches_of(story, p) if chosen(d)] for p in story.parts}


def det_of_terms(story: Story) -> Section:
    """Mean miss rate against mean false-alarm rate, for each part."""
    text = (
        "Every threshold is a point; lower and further left is better. Bands are intervals of the "
        "miss rate at each false-alarm rate."
    )
    drawings = of_each(pictures.det_of_terms, _by_part(story, lambda d: with_false_alarms([d])))
    return Section("Detection error trade-off", text, drawings)


def value_by_threshold(story: Story) -> Section:
    """TWV against the threshold: systems whose scores share an axis together, others alone."""
    found: dict[str, Found] = {}
    for name, some in _by_part(story, lambda d: d.curve).items():
        alone = {joined(isolated(d.system), name): [d] for d in some}
        found |= {name: some} if pictures.alike(some) else alone
    text = (
        "The dot is at the lowest accepted score; its distance below the ring is the gain of the "
        "best threshold. Bands are pointwise intervals."
    )
    drawings = of_each(pictures.twv_by_threshold, found)
    return Section("Term-weighted value against threshold", text, drawings)


def all_queries(story: Story) -> Section:
    """The values of all queries in order."""
    text = (
        "All queries have the same weight: a few rare ones with false alarms can dominate the mean."
    )
    found = _by_part(story, lambda d: len(d.values) >= FEWEST)
    return Section("All queries", text, of_each(pictures.queries_in_order, found))


def _searches(story: Story, part: str) -> dict[str, SearchDescription]:
    """The searches that have a part of a description, by system and part of the data."""
    return {
        joined(isolated(d.system), p.name): d
        for p in story.parts
        for d in searches_of(story, p)
        if getattr(d, part)
    }


def worst_queries(story: Story) -> Section:
    """The queries that cost most, a picture a system."""
    found = _searches(story, "worst")
    which = "All queries, those with the lowest values first"
    if any(len(d.worst) < d.queries_with_targets for d in found.values()):
        most = max(len(d.worst) for d in found.values())
        which = f"The {most} queries with the lowest values"
    return Section("Costliest queries", f"{which}.", of_each(pictures.query_forest, found))


def scores(story: Story) -> Section:
    """Scores against what the data show, and cross entropy in words."""
    found, lines, text = _searches(story, "bins"), tuple(_entropies(story)), ""
    if found:
        text = (
            "Above the Bayes threshold (the horizontal line), accepting a detection costs less "
            "than rejecting it."
        )
    if any(d.llr for d in found.values()):
        text += " On the diagonal, scores are calibrated log-likelihood ratios."
    if lines:
        text += (
            " Cnxe is the cross entropy of the scores as log-likelihood ratios; 1 is the naive "
            "baseline, which knows the prior only; the minimum is that of the best affine "
            "calibration."
        )
    drawings = of_each(pictures.score_map, found)
    return Section("Calibration of the scores", text.strip(), drawings, lines=lines)


def _entropies(story: Story) -> Iterator[Line]:
    """The cross entropy of each search, with its minimum and the loss."""
    for row in (r for r in story.whole if r.measure == "cnxe"):
        beside, said = rows_beside(story, row), [value(row)]
        for name, words in (("min_cnxe", "minimum"), ("cnxe_loss", "loss")):
            other = beside.get(row.label.replace("cnxe", name, 1))
            if other is not None and other.value is not None:
                said.append(f"{words} {value(other)}")
        told = line_of(row, "; ".join(said))
        yield replace(told, name=joined(told.name, part_of(row).name, row.label))


def resources(story: Story) -> Section:
    """The resources of searches, by phase."""
    found = {load.system: load for load in story.described_as(Load)}
    loads = {name: found[name] for name in (*story.systems, *found) if name in found}
    kinds = {
        words: kind
        for kind, words in QUANTITIES.items()
        if any(any(of_phases(load, kind)) for load in loads.values())
    }
    text = (
        "Indexing speed factor (isf): CPU time over audio. Searching speed factor (ssf): hours of "
        "CPU for an hour of queries in an hour of audio. Processing load (pl): their weighted "
        "products with peak memory. Measured once: no intervals."
    )
    drawings = of_each(partial(pictures.resources, loads), kinds)
    lines = tuple(_load_line(name, load) for name, load in loads.items())
    return Section("Resources", text, drawings, lines=lines)


def _load_line(name: str, load: Load) -> Line:
    """The resources of a search and the amount of audio, reasons for unknown figures, and
    machines.
    """
    speed = f"isf {figure(load.isf)}, ssf {figure(load.ssf)} (1/hour), pl {figure(load.pl)}"
    queries = "" if load.query_s is None else f"{clock(load.query_s)} of queries"
    more = dict.fromkeys(r.removeprefix("undefined: ") for r in load.reasons.values())
    for phase, record in zip(PHASES, (load.indexing, load.searching), strict=True):
        for node in () if record is None else record.nodes:
            more[f"{phase} on {machine_words(node)}"] = None
    text = joined(speed, f"{clock(load.audio_s)} of audio", queries)
    return Line("open", "", isolated(name), text, "; ".join(more))


def machine_words(machine: Machine) -> str:
    """A type of computing node in words; what the system did not tell is left out."""
    facts: list[Any] = [
        machine.brand,
        machine.cpu,
        machine.cores and counted(machine.cores, "core"),
        machine.clock_ghz and f"{machine.clock_ghz:g} GHz",
        machine.memory_bytes and f"{machine.memory_bytes / 1e9:.3g} GB of memory",
        machine.system,
    ]
    said = ", ".join(str(fact) for fact in facts if fact)
    return f"{counted(machine.count, 'node')}: {said or 'no details known'}"


PAGE = Page(
    sections=(
        *(side_by_side, det_of_terms, value_by_threshold, scores, spending),
        *(subsets, comparison, gates, all_queries, worst_queries, resources),
    ),
    lead=lead,
    line=line,
    rows=best_first,
    drawn=drawn_measures,
    naive=Naive(output=lambda _: REJECTING),
)
