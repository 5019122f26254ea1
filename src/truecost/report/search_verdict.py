"""What the verdict says of searches for terms: what a better threshold would gain, and counts."""

from truecost.digits import figure
from truecost.report.many import amount, counted
from truecost.report.story import Part, Story
from truecost.report.words import at_best, counts, searched_of, units_of, value
from truecost.results import Row, figures
from truecost.tasks.terms.describing import SearchDescription

VALUES = ("atwv", "twv_bayes", "mtwv", "otwv", "stwv")


def searches_of(story: Story, part: Part) -> list[SearchDescription]:
    """The searches of a part in the order of its rows: the best first where they are many."""
    dims = dict(part.dims)
    found = [
        d
        for d in story.result.searches
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


def text_of(story: Story, row: Row) -> str:
    """The value of a search, and what another threshold would give."""
    best = rows_beside(story, row).get("mtwv")
    if row.label not in VALUES[:2] or row.value is None or best is None or best.value is None:
        return value(row)
    return f"{value(row)}; {_gain(row.value, best)}"


def _gain(actual: float, best: Row) -> str:
    """`at threshold 0.53 it would be 0.39 [0.27, 0.52] (mtwv), 0.02 more`."""
    assert best.value is not None
    gap = best.value - actual
    if best.threshold is None and best.value == 0:
        more = f": {figure(gap)} more" if gap > 0 else ""
        return f"no threshold does better than rejecting everything{more}"
    if gap <= 0:
        return "no single threshold would do better (mtwv)"
    at = "" if best.threshold is None else f" {figure(best.threshold)}"
    return (
        f"at threshold{at}, the best for these data, it would be {plain(best)} (mtwv), "
        f"{figure(gap)} more"
    )


def plain(row: Row) -> str:
    """A value with its interval, where it has one."""
    return " ".join(filter(None, figures(row)))


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
