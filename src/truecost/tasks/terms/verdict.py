"""What the verdict says of searches for terms: what a better threshold would gain, and counts."""

from collections.abc import Sequence

from truecost.core.digits import amount, counted, figure
from truecost.core.results import Row
from truecost.report.section import Line
from truecost.report.story import Part, Story, goodness, part_of
from truecost.report.verdict import lead_of, line_of
from truecost.report.words import at_best, counts, searched_of, units_of, value
from truecost.tasks.terms.describing import SearchDescription
from truecost.tasks.terms.pictures import VALUES

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
    """What the main figure of a search is, after which way is better."""
    if at_best(story.main):
        return "It takes what is best for these very data, and says nothing of decisions in use. "
    if story.main in VALUES:
        return "1 is a perfect search; false alarms can take it far below 0. "
    return ""


def lead(story: Story, row: Row) -> str:
    """What the figures of searches are."""
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
        return "no threshold does better than rejecting everything"
    if best.value - actual <= LEAST:
        return "no single threshold would do better (mtwv)"
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
