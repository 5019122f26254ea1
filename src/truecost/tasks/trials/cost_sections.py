"""The section on normalised costs, and how the verdict tells of trials."""

from dataclasses import replace

from truecost.core.results import Row
from truecost.report import plots
from truecost.report.lines import Line
from truecost.report.numbers import of_rows
from truecost.report.plots.bars import costs_of, minima
from truecost.report.section import Section, drawing_of
from truecost.report.sections import in_words
from truecost.report.story import Story, bare, means, part_of
from truecost.report.tables import of_numbers
from truecost.report.verdict import line_of
from truecost.report.words import at_best, listed, measure_of
from truecost.tasks.trials.descriptions import Claim
from truecost.tasks.trials.spurious_sections import TITLE as UNTOLD
from truecost.tasks.trials.spurious_sections import is_predictor
from truecost.tasks.trials.spurious_sections import line_of as line_of_predictor

MOST_BARS = 16  # of one picture; more are drawn by application
ANOTHER = "what one more run would give"


def main_of(story: Story) -> str:
    """Label of the measure that a page of trials speaks of.

    The first cost whose naive value is 1 (a minimum only when its actual cost is not there), then
    the first with any naive value (one that judges decisions before one that judges the order of
    scores), then the first.
    """
    labels = list(dict.fromkeys(r.label for r in story.whole))
    dropped = {least for actual, least in minima().items() if actual in story.costs}
    costs = sorted((c for c in story.costs if c not in dropped), key=at_best)
    known = [r.label for r in story.whole if r.naive is not None]
    judged = [name for name in known if not at_best(name)]
    return next(iter([*costs, *judged, *known, *labels, *(r.label for r in story.rows)]), "")


def titles(story: Story) -> tuple[str, str] | None:
    """Title and heading where the data are judged and no system is; None otherwise."""
    if story.values and all(map(is_predictor, story.values)):
        return UNTOLD, UNTOLD
    return None


def line(story: Story, row: Row) -> Line:
    """The verdict on one system, method or predictor."""
    del story
    if is_predictor(row):
        return line_of_predictor(row)
    if row.dims.get("estimator") == "run":  # its counts stand with the mean
        return replace(line_of(row), more=ANOTHER)
    return line_of(row)


def remarks(story: Story) -> list[str]:
    """The remarks without claims where these have a section of their own."""
    below = ("claim", "single runs") if story.described_as(Claim) else ()
    return [text for text in story.result.remarks if not text.startswith(below)]


def bars(story: Story) -> Section | None:
    """Actual and minimum normalised costs; one picture, or one an application."""
    costs = [r for r in means(story.whole) if r.label in story.costs and not is_predictor(r)]
    rows = [bare(r, ("estimator",)) for r in costs_of(costs)]
    # Costs of one kind together, and the collections of an application side by side.
    rows.sort(key=lambda r: (story.costs.index(r.label), story.parts.index(part_of(r))))
    rows = list({(r.label, *r.dims.items()): r for r in map(_bound, rows)}.values())
    if not rows:
        return None
    groups = {"": rows}
    if len(plots.bars_of(rows)) > MOST_BARS:
        groups = {}
        for row in rows:
            groups.setdefault(row.dims.get("application", ""), []).append(
                bare(row, ("application",))
            )
    drawings = [
        drawing_of(
            plots.cost_bars,
            of,
            plots.bars_height,
            in_words("Bars with intervals", of),
            of_numbers("Normalised costs: numbers", [of_rows(of)]),
            title=name or ("in every application" if len(groups) > 1 else ""),
        )
        for name, of in groups.items()
    ]
    naive = story.page.naive.output(story.main)
    text = f"1 is the naive baseline: {naive}. The thin line is the interval."
    if any("estimator" in r.dims for r in story.whole):
        text += " Means over runs."
    alone = [b.actual.label for b in plots.bars_of(rows) if b.minimum is None]
    if best := [name for name in dict.fromkeys(alone) if at_best(name)]:
        text += (
            f" {listed(best)} {'takes' if len(best) == 1 else 'take'} what is best for these very "
            f"data and {'stays' if len(best) == 1 else 'stay'} below 1 even with random scores."
        )
    if any(bar.minimum is not None for bar in plots.bars_of(rows)):
        text += (
            " The full part of a bar is the least cost that another threshold or calibration would "
            "give."
        )
    return Section("Normalised costs", text, tuple(drawings))


def _bound(row: Row) -> Row:
    """A row without its application when that does not enter the value."""
    measure = measure_of(row.label, row.task)
    return bare(row, ("application",)) if measure is not None and not measure.uses else row
