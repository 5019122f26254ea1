"""What should not tell the class: what predictors made of conditions or silence cost, by the page.

Their rows are told by their signature. A cost below the naive one, good news of a system, is bad
news of such a predictor.
"""

from dataclasses import replace

from truecost.core.digits import between, signed
from truecost.core.results import Row, shown, verdict_of
from truecost.report import plots
from truecost.report.lines import Line
from truecost.report.numbers import of_rows
from truecost.report.section import MOST_LINES, Section, comma, drawing_of, told
from truecost.report.story import Part, Story, bare, part_of
from truecost.report.svg import Drawing
from truecost.report.tables import of_numbers
from truecost.report.words import against_naive, caveats, counts, system_of, value

TITLE = "What should not tell the class"
MARK = "|predicted:"  # in the signature of a predictor's rows
JUDGED = ("nce", "nec")  # the first that there is decides
CHIPS = {
    "better": ("bad", "tells the class"),
    "worse": ("open", "nothing found"),
    "same": ("open", "nothing found"),
    "undecided": ("open", "nothing found"),
}


def is_predictor(row: Row) -> bool:
    """Whether a row is of a predictor that knows only what should not tell the class."""
    return MARK in row.signature


def line_of(row: Row) -> Line:
    """What a predictor's value says of the data."""
    look, chip = CHIPS.get(against_naive(row), ("open", "undecided"))
    if row.outside:
        chip = "no conclusion"
    more = f"{counts(row)}. It knows nothing of the content."
    if beware := caveats(row):
        more += f" But {beware}."
    return Line(look, chip, system_of(row), value(row), more)


def spurious(story: Story) -> Section | None:
    """Predictors and systems by the measure that is judged, and how systems do beside them."""
    rows = [r for r in story.whole if is_predictor(r)]
    label = next((name for name in JUDGED if any(r.label == name for r in rows)), story.main)
    if not any(r.label == label for r in rows):
        return None
    drawings, lines = [], []
    for part in story.parts:
        own = [r for r in story.whole if r.label == label and part_of(r) == part]
        drawings.append(_drawing(own[:MOST_LINES], part, label))
        if len(story.parts) > 1:  # else they stand in the verdict
            lines += [_titled(line_of(r), part) for r in own if is_predictor(r)]
            lines += _beside(story, part, label)
    text = (
        f"What each predictor knows is said by its name: device, duration or the like, or how the "
        f"recording sounds where nobody speaks, and nothing else. Each sample is predicted by what "
        f"samples of other groups say. {label} below 1 means that the class can be told without "
        f"the content, so that a system may have learnt just that; 1 or more is no proof that "
        f"nothing tells it."
    )
    return Section(TITLE, text, tuple(drawings), lines=tuple(lines))


def _drawing(rows: list[Row], part: Part, label: str) -> Drawing:
    """Values with intervals, the naive value as a line."""
    words = f"{label} with intervals: " + told(
        f"{r.dims['system']} {shown(r, r.value)} {between(r.lower, r.upper, r.scale)}" for r in rows
    )
    table = of_numbers(f"{label}{comma(part.name)}: numbers", [of_rows(rows)])
    return drawing_of(
        plots.cost_bars, [bare(r) for r in rows], plots.bars_height, words, table, title=part.name
    )


def _beside(story: Story, part: Part, label: str) -> list[Line]:
    """Each system against the predictors."""
    predicted = {r.dims["system"] for r in story.whole if is_predictor(r)}
    found = []
    for row, _ in story.pairs:
        if row.label != label or part_of(row) != part or "subset" in row.dims:
            continue
        if row.baseline not in predicted:
            continue
        said = verdict_of(row)
        look = {"better": "good", "worse": "bad"}.get(said, "open")
        text = f"difference {signed(row.value, row.scale)} "
        text += between(row.lower, row.upper, row.scale)
        name = f"{system_of(row)}, against {row.baseline}"
        found.append(_titled(Line(look, said, name, text), part))
    return found


def _titled(line: Line, part: Part) -> Line:
    """A line with its collection and application."""
    return replace(line, name=f"{part.name}: {line.name}") if part.name else line
