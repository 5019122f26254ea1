"""The sections of systems over their streams: both phases batch by batch, streams one by one."""

from collections.abc import Sequence
from functools import partial

from msgspec import structs

from truecost.core.digits import amount, between, figure
from truecost.core.results import Row, verdict_of
from truecost.report import plots
from truecost.report.plots.streams_forest import sizes_of
from truecost.report.section import MOST_LINES, Drawing, Line, Section, comma, drawing_of, told
from truecost.report.story import Part, Story, part_of
from truecost.report.tables import Table, used
from truecost.report.words import BEFORE, isolated, value
from truecost.tasks.streams.describing import Curve, OfStream, OnlineDescription
from truecost.tasks.streams.sections import DRAWN, GAPS
from truecost.tasks.streams.verdict import is_chosen, online_of, told_of

MOST_SYSTEMS = 4  # whose curves over the stream are drawn
POINTS = 24  # windows of a table


def over_the_stream(story: Story) -> Section | None:
    """Both phases over the stream, so far and by window (paper 000, Fig. 4)."""
    every = [(part, d) for part in story.parts for d in _adapting(story, part) if d.curves]
    if not every:
        return None
    shown = every[:MOST_SYSTEMS]
    beside = [d for _, d in shown]  # all share the axis of values
    chosen = any(is_chosen(story, part) for part in story.parts)
    drawings = [
        _phases(d, measure, so_far, _title(d, part, alone=len(every) == 1 and not chosen), beside)
        for so_far in (True, False)
        for measure in dict.fromkeys(c.measure for _, d in shown for c in d.curves)
        for part, d in shown
        if any(c.measure == measure for c in d.curves)
    ]
    lines = tuple(line for part, d in shown for line in _gap_lines(story, part, d))
    text = _of_windows(shown[0][1])
    if chosen:
        text += " Of each strategy the best budget is drawn."
    if any(len(d.ends) > POINTS for d in beside):
        text += f" Tables have {POINTS} windows of each; curves.parquet has all."
    if len(shown) < len(every):
        text += f" The first {len(shown)} of {len(every)} systems are drawn."
    return Section("Over the stream", text, tuple(drawings), lines=lines)


def _told_of(story: Story, part: Part) -> list[OnlineDescription]:
    """Systems whose streams are drawn: all, or of a sweep the best budgets and the baseline."""
    known = {d.dims.get("system", ""): d for d in online_of(story, part)}
    names = [row.dims["system"] for row in told_of(story, part)]
    return [known[name] for name in names if name in known]


def _adapting(story: Story, part: Part) -> list[OnlineDescription]:
    """Those of them that ask: the passive baseline is the same before and after."""
    found = _told_of(story, part)
    return [d for d in found if d.queries or "budget" in d.dims or "strategy" not in d.dims]


def _title(found: OnlineDescription, part: Part, *, alone: bool) -> str:
    """System and part; nothing where there is one."""
    return "" if alone else ", ".join(filter(None, (isolated(found.dims["system"]), part.name)))


def _of_windows(found: OnlineDescription) -> str:
    """What is drawn, and what a window and its band are."""
    batches = "batch" if found.window == 1 else f"{found.window} batches"
    text = (
        "Before and after adaptation, over everything so far and over each window of "
        f"{batches} by itself. The rungs between are what adapting to a batch saves on it. "
    )
    banded = [c for c in found.curves if any(v is not None for v in c.lower)]
    if banded:
        text += "Bands are pointwise intervals"
        if any(not c.so_far for c in found.curves if c not in banded):
            text += "; a single window has too few batches for one"
        text += "."
    return text.strip()


def _phases(
    found: OnlineDescription,
    measure: str,
    so_far: bool,
    name: str,
    beside: Sequence[OnlineDescription],
) -> Drawing:
    """One picture with its table."""
    curves = plots.curves_of(found, measure, so_far=so_far)
    ends = {c.phase: _ends_of(c) for c in curves}
    words = f"{measure} over the stream{' so far' if so_far else ' by window'}: " + "; ".join(
        f"{'before' if phase == BEFORE else 'after'} adaptation {said}"
        for phase, said in ends.items()
    )
    what = f"{measure} {'so far' if so_far else 'by window'}"
    title = ", ".join(filter(None, (name, what)))
    table = _windows(found, curves, f"{title}: numbers")
    return drawing_of(
        plots.phases,
        found,
        partial(plots.phases_height, measure=measure, so_far=so_far, beside=beside),
        words,
        table,
        title=title,
        measure=measure,
        so_far=so_far,
        beside=beside,
    )


def _ends_of(curve: Curve) -> str:
    """Where a curve begins and ends."""
    known = [v for v in curve.values if v is not None]
    return f"from {figure(known[0])} to {figure(known[-1])}" if known else "undefined"


def _windows(found: OnlineDescription, curves: Sequence[Curve], caption: str) -> Table:
    """Both phases at some windows; at all where they are few."""
    count = len(found.ends)
    kept = sorted({round(k * (count - 1) / (POINTS - 1)) for k in range(POINTS)})
    places = range(count) if count <= POINTS else kept
    cells = [
        (str(found.ends[k]), *(text for c in curves for text in _window(c, k))) for k in places
    ]
    columns = [
        name for c in curves for name in ("before" if c.phase == BEFORE else "after", "interval")
    ]
    return used(caption, ("up to batch", *columns), cells)


def _window(curve: Curve, place: int) -> tuple[str, str]:
    known = curve.values[place]
    said = "" if known is None else figure(known)
    return said, between(curve.lower[place], curve.upper[place])


def _gap_lines(story: Story, part: Part, found: OnlineDescription) -> list[Line]:
    """What adapting saves, and whether that gets less over the stream."""
    rows = {
        r.label: r
        for r in story.whole
        if part_of(r) == part and r.dims["system"] == found.dims["system"]
    }
    lines = []
    for measure, gap in GAPS.items():
        row, trend = rows.get(gap), rows.get(f"{gap}_trend")
        if row is None or row.value is None:
            continue
        look, chip = _saving(row)
        name = ", ".join(filter(None, (isolated(found.dims["system"]), part.name, measure)))
        lines.append(Line(look, chip, name, f"adapting saves {value(row)}", _trend(trend)))
    return lines


def _saving(row: Row) -> tuple[str, str]:
    """Whether adapting helps: the interval of the gap against 0."""
    said = {
        "better": ("good", "adapting helps"),
        "worse": ("bad", "adapting harms"),
        "same": ("open", "no difference"),
    }
    return said.get(verdict_of(row), ("open", "inconclusive"))


def _trend(row: Row | None) -> str:
    """How the gap changes from the start of the stream to its end."""
    if row is None or row.value is None:
        return ""
    said = {"better": "gets smaller", "worse": "gets larger", "same": "stays"}.get(verdict_of(row))
    change = f"its change from the start of the stream to its end is {value(row)}"
    return f"The gap {said}: {change}." if said else f"Whether the gap changes is open: {change}."


def streams(story: Story) -> Section | None:
    """Streams one by one, those that cost most first."""
    drawings = [
        _forest(found, measure, part)
        for part in story.parts
        if (found := [d for d in _told_of(story, part) if d.by_stream][:MOST_SYSTEMS])
        for measure in DRAWN
        if any(of.measure == measure for d in found for of in d.by_stream)
    ]
    if not drawings:
        return None
    text = "Each stream alone, with its own interval; those that cost most come first."
    if any(d.runs > 1 for d in story.described_as(OnlineDescription)):
        text += " Items and targets are those of a run, in the mean."
    return Section("Streams one by one", text, tuple(drawings))


def _forest(found: Sequence[OnlineDescription], measure: str, part: Part) -> Drawing:
    """One measure of the streams, of many those that cost most."""
    order = plots.streams_in_order(found, measure)
    kept = order[:MOST_LINES]
    shown = [
        structs.replace(d, by_stream=tuple(of for of in d.by_stream if of.stream in kept))
        for d in found
    ]
    title = ", ".join(filter(None, (measure, part.name)))
    if len(kept) < len(order):
        title += f": the {len(kept)} of {len(order)} streams that cost most"
    rows = [
        (d.dims.get("system", ""), of)
        for name in kept
        for d in shown
        for of in d.by_stream
        if of.stream == name and of.measure == measure
    ]
    words = f"{measure} by stream: " + told(
        f"{of.stream} {system} {of.phase} {_said(of)}" for system, of in rows
    )
    header = ("stream", "system", "phase", "items", "targets", measure, "its interval")
    sizes = {
        name: (amount(items), "" if targets is None else amount(targets))
        for name, (items, targets) in sizes_of(found).items()
    }
    cells = [
        (
            *(of.stream, system if len(found) > 1 else "", of.phase, *sizes[of.stream]),
            *("undefined" if of.value is None else figure(of.value), between(of.lower, of.upper)),
        )
        for system, of in rows
    ]
    return drawing_of(
        plots.streams_forest,
        shown,
        partial(plots.streams_height, measure=measure),
        words,
        used(f"Streams{comma(title)}: numbers", header, cells),
        title=title,
        measure=measure,
    )


def _said(of: OfStream) -> str:
    return f"{'undefined' if of.value is None else figure(of.value)} {between(of.lower, of.upper)}"
