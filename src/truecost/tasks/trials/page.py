"""What the page of trials shows: normalised costs, methods, spurious correlations.

Their rows are told by their signature. A cost below the naive one, good news of a system, is bad
news of such a predictor.
"""

from dataclasses import replace

from truecost.core.claims import SingleRuns
from truecost.core.digits import between, figure, percent, signed
from truecost.core.results import Row, shown, verdict_of
from truecost.core.variance import Share, Variance
from truecost.report import plots
from truecost.report.curves import frame_of_outcome
from truecost.report.declared import Naive, Page
from truecost.report.plots.bars import costs_of, minima
from truecost.report.section import MOST_LINES, Drawing, Line, Section, comma, drawing_of, told
from truecost.report.sections import comparison, gates, in_words, runs, subsets
from truecost.report.story import Part, Story, bare, means, part_of
from truecost.report.tables import of_numbers, of_rows, used
from truecost.report.verdict import line_of as verdict_line_of
from truecost.report.words import (
    against_naive,
    at_best,
    caveats,
    counts,
    listed,
    measure_of,
    system_of,
    value,
)
from truecost.tasks.trials.curve_sections import calibration, det, threshold
from truecost.tasks.trials.work import Claim

TITLE = "What should not tell the class"


MARK = "|predicted:"  # in the signature of a predictor's rows


JUDGED = ("nce", "nec")  # the first that there is decides


CHIPS = {
    "better": ("bad", "tells the class"),
    "worse": ("open", "nothing found"),
    "same": ("open", "nothing found"),
    "inconclusive": ("open", "nothing found"),
}


def is_predictor(row: Row) -> bool:
    """Whether a row is of a predictor that knows only what should not tell the class."""
    return MARK in row.signature


def line_of(row: Row) -> Line:
    """What a predictor's value says of the data."""
    look, chip = CHIPS.get(against_naive(row), ("open", "inconclusive"))
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
        return TITLE, TITLE
    return None


def line(story: Story, row: Row) -> Line:
    """The verdict on one system, method or predictor."""
    del story
    if is_predictor(row):
        return line_of(row)
    if row.dims.get("estimator") == "run":  # its counts stand with the mean
        return replace(verdict_line_of(row), more=ANOTHER)
    return verdict_line_of(row)


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


LOOKS = {"better": "good", "worse": "bad"}  # of a verdict; others leave it open


def claims(story: Story) -> Section | None:
    """What may be claimed, and what comparing single runs would have said."""
    if not story.described_as(Claim):
        return None
    lines = tuple(
        Line(
            LOOKS.get(claim.verdict, "open"),
            claim.verdict,
            ", ".join([*claim.dims.values(), f"{claim.system} against {claim.against}"]),
            claim.text[:1].upper() + claim.text[1:] + ".",
        )
        for claim in story.described_as(Claim)
    )
    pairs = [s for s in story.described_as(SingleRuns) if s.pairs > 1]
    rows = [
        (
            *(", ".join(s.dims.values()), s.system, s.against, s.measure, str(s.pairs)),
            *(percent(round(n / s.pairs, 4)) for n in (s.better, s.worse, s.inconclusive)),
        )
        for s in pairs
    ]
    names = ("of", "method", "against", "measure", "pairs", "better", "worse", "inconclusive")
    caption = "Had one run of each been compared: how many pairs of runs decide, and how"
    tables = (used(caption, names, rows),) if rows else ()
    text = (
        "A claim is about methods when it holds over seeds and training sets, and about one "
        "training list when that was held."
    )
    if rows:
        text += (
            " Single runs are compared by the units of the test alone: where pairs decide for both "
            "sides, one run of each misleads."
        )
    return Section("What may be claimed", text, tables=tables, lines=lines)


def variance(story: Story) -> Section | None:
    """What seed, training set and test add to the variance of one run."""
    found = [one for one in story.described_as(Variance) if one.shares]
    main = plots.having_shares([one for one in found if one.measure == story.main])
    if not found:
        return None
    names = ("method", "of", "measure", "varied by", "share", "interval", "standard deviation")
    rows = [
        (one.system, ", ".join(one.dims.values()), one.measure, *_cells(share))
        for one in found
        for share in one.shares
    ]
    table = used("Shares of variance: numbers", names, rows)
    text = (
        "The variance of one more run: with another seed, another training set and another test. "
        "What the test adds is what the intervals of a single run show; the rest they leave out."
    )
    if not main:
        return Section("What makes runs vary", text, tables=(table,))
    words = f"Shares of the variance of {story.main}: " + told(_words(one) for one in main)
    drawing = drawing_of(plots.variance_shares, main, plots.variance_shares_height, words, table)
    return Section("What makes runs vary", text, (drawing,))


def _cells(share: Share) -> tuple[str, str, str, str]:
    """The source, its share, the interval and the standard deviation."""
    lower, upper = (None if end is None else round(end, 3) for end in (share.lower, share.upper))
    of = "undefined" if share.share is None else figure(round(share.share, 3), "%")
    return share.source, of, between(lower, upper, "%"), figure(share.variance**0.5)


def _words(one: Variance) -> str:
    shares = (f"{s.source} {_cells(s)[1]}" for s in one.shares)
    return f"{', '.join([*one.dims.values(), one.system])} {', '.join(shares)}"


def costs(story: Story) -> tuple[str, ...]:
    """The measures whose differences are drawn."""
    return story.costs


def is_system(row: Row) -> bool:
    """Whether a row is of a system, no predictor that knows only what should tell nothing."""
    return not is_predictor(row)


def best_constant(measure: str) -> str:
    """What the naive baseline puts out."""
    del measure
    return "the best constant answer"


PAGE = Page(
    sections=(
        *(claims, bars, spurious, runs, variance, det, threshold),
        *(calibration, subsets, comparison, gates),
    ),
    main=main_of,
    titles=titles,
    line=line,
    remarks=remarks,
    judged=is_system,
    drawn=costs,
    conventions=False,
    naive=Naive(output=best_constant),
    curves=frame_of_outcome,
    draws=True,
)
