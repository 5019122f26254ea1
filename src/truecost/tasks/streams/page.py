"""The page of systems on streams: budgets, before and after adaptation, streams one by one."""

from collections.abc import Sequence

from truecost.core.digits import amount, figures
from truecost.core.results import Row, verdict_of
from truecost.names import PARTS
from truecost.outputs.page import MOST_CURVES, left_out_of
from truecost.pictures.tables import without_empty_columns
from truecost.report.section import Line, Section, joined
from truecost.report.sections import comparison, gates, spending, subsets
from truecost.report.story import Naive, Page, Part, Story, part_of
from truecost.report.words import isolated, resampled_of, value
from truecost.tasks.streams import verdict
from truecost.tasks.streams.describing import OnlineDescription, frame_of_streams
from truecost.tasks.streams.pictures import budgets, phases, streams_forest
from truecost.tasks.streams.sweep import (
    WITHOUT_QUESTIONS,
    asked,
    budget_of,
    is_swept,
)
from truecost.tasks.streams.verdict import is_chosen, main_rows, objective_of, online_of

DRAWN = ("imlm", "act_dcf")
SAVING = {
    "better": ("good", "adapting helps"),
    "worse": ("bad", "adapting harms"),
    "same": ("open", "no difference"),
}


def by_hand(measure: str) -> str:
    """The naive baseline in words: the same decision for all, or asking about everything."""
    both = "rejecting or accepting everything"
    cheaper = "the cheaper of rejecting everything and labelling everything by hand"
    return {"act_dcf": both, "total_cost": cheaper}.get(measure, "labelling everything by hand")


def drawn_of(story: Story) -> list[str]:
    """The measures whose differences are drawn, as far as there are rows of them."""
    return [name for name in DRAWN if any(r.label == name for r in story.whole)]


def by_budget(story: Story) -> Section:
    """Each measure against the questions a batch (Lindsey et al., Fig. 3)."""
    drawings = [
        budgets(rows, title=joined(label, part.name))
        for part in story.parts
        for label in _drawn_measures(story)
        if is_swept(rows := _after(story, part, label))
        if any(row.value is not None for row in rows)
    ]
    objective = _drawn_measures(story)[0]
    text = "After adaptation. More questions cost more and leave fewer errors"
    if objective not in WITHOUT_QUESTIONS:
        text += (
            f"; beyond the minimum of {objective}, which adds up both, more questions no "
            f"longer pay off"
        )
    text += "; act_dcf does not include the cost of questions."
    if any(r.dims.get("strategy") and asked(r) is None for r in story.whole):
        text += " The passive baseline is trained once and asks no questions."
    return Section("Questions and costs", text, tuple(drawings))


def _drawn_measures(story: Story) -> tuple[str, ...]:
    """The measures that are drawn by budget, the objective of the sweep first."""
    return tuple(dict.fromkeys((objective_of(story) or DRAWN[0], DRAWN[-1])))


def _after(story: Story, part: Part, label: str) -> list[Row]:
    """A measure of the whole data in the phase that the verdict speaks of."""
    rows = [r for r in story.whole if r.label == label and part_of(r) == part]
    return [r for r in rows if story.in_phase(r)]


def over_the_stream(story: Story) -> Section | None:
    """Both phases over the stream, so far and by window (Lindsey et al., Fig. 4)."""
    every = [(part, d) for part in story.parts for d in _adapting(story, part) if d.curves]
    if not every:
        return None
    shown = every[:MOST_CURVES]
    beside = [d for _, d in shown]  # all share the axis of values
    chosen = any(is_chosen(story, part) for part in story.parts)
    several = len(every) > 1 or chosen
    named = [((isolated(d.dims["system"]), part.name) * several, d) for part, d in shown]
    drawings = [
        phases(d, measure, so_far=so_far, beside=beside, title=joined(*names, f"{measure} {which}"))
        for so_far, which in ((True, "so far"), (False, "by window"))
        for measure in dict.fromkeys(c.measure for d in beside for c in d.curves)
        for names, d in named
        if any(c.measure == measure for c in d.curves)
    ]
    lines = tuple(line for part, d in shown for line in _gap_lines(story, part, d))
    text = _windows_caption(beside[0])
    if chosen:
        text += " The pictures show the best budget of each strategy."
    text += left_out_of(len(shown), len(every))
    return Section("Over the stream", text, tuple(drawings), lines=lines)


def _drawn_streams(story: Story, part: Part) -> list[OnlineDescription]:
    """Systems whose streams are drawn: all, or of a sweep the best budgets and the baseline."""
    known = {d.dims.get("system", ""): d for d in online_of(story, part)}
    rows = main_rows(story, part)
    return [known[r.dims["system"]] for r in rows if r.dims["system"] in known]


def _adapting(story: Story, part: Part) -> list[OnlineDescription]:
    """The systems that ask: the passive baseline is the same before and after."""
    found = _drawn_streams(story, part)
    return [d for d in found if d.queries or "budget" in d.dims or "strategy" not in d.dims]


def _windows_caption(found: OnlineDescription) -> str:
    """The content of the picture, and the meaning of a window and its band."""
    windows = "batch" if found.window == 1 else f"window of {found.window} batches"
    text = f"Values of all batches so far, and of each {windows} alone."
    bare = [c for c in found.curves if all(v is None for v in c.lower)]
    if len(bare) == len(found.curves):
        return text
    few = any(not c.so_far for c in bare)
    more = "; a single window has too few batches for an interval" if few else ""
    return f"{text} Bands are pointwise intervals{more}."


def _gap_lines(story: Story, part: Part, found: OnlineDescription) -> list[Line]:
    """The gain by adapting, and whether it shrinks over the stream."""
    own = [r for r in story.whole if r.dims["system"] == found.dims["system"]]
    rows = {r.label: r for r in own if part_of(r) == part}
    lines = []
    for measure in DRAWN:
        row, trend = (rows.get(f"{measure}_gap{end}") for end in ("", "_trend"))
        more = ""
        if row is None or row.value is None:
            continue
        if trend is not None and trend.value is not None:
            more = f"Change of this saving over the stream: {value(trend)}, {verdict_of(trend)}."
        look, chip = SAVING.get(verdict_of(row), ("open", "inconclusive"))
        name = joined(isolated(found.dims["system"]), part.name, measure)
        lines.append(Line(look, chip, name, f"adapting saves {value(row)}", more))
    return lines


def streams(story: Story) -> Section:
    """Streams one by one, those that cost most first."""
    drawings = [
        streams_forest(found, measure, title=joined(measure, part.name))
        for part in story.parts
        if (found := [d for d in _drawn_streams(story, part) if d.by_stream][:MOST_CURVES])
        for measure in DRAWN
        if any(of.measure == measure for d in found for of in d.by_stream)
    ]
    text = "Each stream alone, the costliest first."
    if any(d.runs > 1 for d in story.described_as(OnlineDescription)):
        text += " Items and targets are means over runs."
    return Section("Streams one by one", text, tuple(drawings))


def passive_and_active(story: Story) -> Section:
    """Annotations and costs of the passive baseline and of the best (Lindsey et al., Table II)."""
    names = _drawn_measures(story)[::-1]
    cells = [cell for part in story.parts for cell in _compared(story, part, names)]
    header = ("collection", "application", "strategy", "questions a batch", "annotations")
    columns = (text for name in names for text in (name, "its interval"))
    table = without_empty_columns("Passive against active", (*header, *columns), cells)
    text = (
        "The passive baseline is trained once on a pool of its own and asks no questions; active "
        f"is the best budget of each strategy by {story.main}. After adaptation; annotations of a "
        "run."
    )
    chosen = (m for r in story.whole for m in r.signature.split("|"))
    sets = next((m for m in chosen if m.startswith("annotations:")), "").partition(":")[2]
    if "training" not in sets.split("+"):
        text += (
            " The labels that the passive baseline was trained on are not counted; to count them, "
            f"set annotations = {','.join((*sets.split('+'), 'training'))!r} under [streams]."
        )
    return Section("Passive against active", text, tables=(table,))


def _compared(story: Story, part: Part, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The passive baseline, then the best budget of each strategy by the main measure."""
    rows = sorted(main_rows(story, part), key=lambda row: asked(row) is not None)
    if not rows or asked(rows[0]) is not None or not is_swept(story.mains(part)):
        return []
    cells = []
    for row in rows:
        beside = {r.label: r for r in story.whole if r.dims == row.dims}
        made = beside.get("n_annotations")
        cells.append(
            (
                *(row.dims.get(name, "") for name in PARTS),
                row.dims.get("strategy") or row.dims["system"],
                "none" if asked(row) is None else amount(budget_of(row)),
                "" if made is None or made.value is None else amount(made.value),
                *(t for n in names for t in (figures(beside[n]) if n in beside else ("", ""))),
            )
        )
    return cells


PAGE = Page(
    sections=(
        *(by_budget, spending, over_the_stream, streams, passive_and_active),
        *(subsets, comparison, gates),
    ),
    main=verdict.main_of,
    titles=verdict.titles,
    lead=verdict.lead,
    verdict=verdict.verdict,
    line=verdict.line_of,
    remarks=verdict.remarks,
    drawn=drawn_of,
    named=("strategy", "budget"),
    resampled=resampled_of,
    naive=Naive(output=by_hand),
    curves=frame_of_streams,
)
