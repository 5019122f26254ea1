"""The sections of systems on streams: before and after adaptation, budgets, the stream, streams."""

from collections.abc import Sequence

from truecost.core.digits import amount, figure
from truecost.core.results import Row, figures
from truecost.names import PARTS
from truecost.report import plots
from truecost.report.section import Drawing, Section, drawing_of, told
from truecost.report.story import Part, Story, part_of
from truecost.report.tables import Table, used
from truecost.report.words import AFTER, BEFORE, listed, value
from truecost.tasks.streams.swept import (
    WITHOUT_QUESTIONS,
    asked,
    best_of,
    budget_of,
    is_swept,
    swept_of,
)
from truecost.tasks.streams.verdict import MANY, objective_of, told_of

DRAWN = ("imlm", "act_dcf")
GAPS = {"imlm": "imlm_gap", "act_dcf": "act_dcf_gap"}


def drawn_of(story: Story) -> list[str]:
    """The measures whose differences are drawn, as far as there are rows of them."""
    return [name for name in DRAWN if any(r.label == name for r in story.whole)]


def before_and_after(story: Story) -> Section | None:
    """All measures of each system in both phases, side by side."""
    if not any("phase" in r.dims for r in story.whole):
        return None
    systems = len({(part_of(r), r.dims["system"]) for r in story.whole})
    phased = list(dict.fromkeys(r.label for r in story.whole if "phase" in r.dims))
    groups = [phased] if systems <= MANY else [[name] for name in phased]
    text = (
        "Before (pre) is what a system says of a batch that it has not learnt from; after (post) "
        "what it says of the same batch once it has the answers to its questions."
    )
    if len({r.dims["phase"] for r in story.whole if "phase" in r.dims}) == 1:
        text += f" The logs have predictions of one phase only: {story.phase}."
    tables = tuple(_side_by_side(story, labels) for labels in groups)
    return Section("Before and after adaptation", text, tables=tables)


def _side_by_side(story: Story, labels: Sequence[str]) -> Table:
    """A row for each of some measures of each system: before, after, and what adapting saves."""
    gaps = {(_about(r), r.measure): r for r in story.whole if r.measure in GAPS.values()}
    found: dict[tuple[tuple[str, ...], str], dict[str, Row]] = {}
    for row in story.whole:
        if row.label in labels and "phase" in row.dims:
            found.setdefault((_about(row), row.label), {})[row.dims["phase"]] = row
    cells = []
    for (about, label), phases in found.items():
        gap = gaps.get((about, GAPS.get(label, "")))
        some = next(iter(phases.values()))
        cells.append(
            (
                *about,
                label if len(labels) > 1 else "",
                *(text for p in (BEFORE, AFTER) for text in _figures(phases.get(p))),
                *_figures(gap),
                "" if some.naive is None else _figures(some, some.naive)[0],
            )
        )
    columns = ("before", "its interval", "after", "its interval", "saved", "its interval")
    header = (*ABOUT, "measure", *columns, "naive")
    return used(labels[0] if len(labels) == 1 else "All measures", header, cells)


ABOUT = ("collection", "application", "system", "strategy", "questions a batch")


def _about(row: Row) -> tuple[str, ...]:
    """What a row is about, by the columns of a table; a system that its strategy names, once."""
    dims = dict(row.dims)
    if dims.get("strategy"):
        dims["system"] = _own_name(dims)
    return tuple(dims.get(name, "") for name in (*PARTS, "system", "strategy", "budget"))


def _own_name(dims: dict[str, str]) -> str:
    """The name of a system, unless it is its strategy and budget."""
    said = "-".join(dims[key] for key in ("strategy", "budget") if key in dims)
    name = dims.get("system", "")
    return "" if name.replace(" ", "-") == said else name


def _figures(row: Row | None, figure_: float | None = None) -> tuple[str, str]:
    """A value, or another figure of a row, and its interval."""
    if row is None:
        return "", ""
    if figure_ is not None:
        return figure(figure_, row.scale), ""
    return figures(row)


def by_budget(story: Story) -> Section | None:
    """Each measure against the questions a batch (paper 000, Fig. 3)."""
    drawings = [
        _budgets(rows, part)
        for part in story.parts
        for label in _drawn(story)
        if is_swept(rows := _after(story, part, label)) and _has_values(rows)
    ]
    if not drawings:
        return None
    objective = _drawn(story)[0]
    text = "After adaptation. More questions cost more and leave fewer errors"
    if objective not in WITHOUT_QUESTIONS:
        text += (
            f": where {objective}, which adds both up, is least, further questions no longer pay"
        )
    text += (
        "; act_dcf leaves out what questions cost. The filled mark is the lowest value of a "
        "strategy; neighbours that are not told apart from the best budget stand in the verdict."
    )
    if any(r.dims.get("strategy") and asked(r) is None for r in story.whole):
        text += (
            " The passive baseline, trained once, is a line across with its interval, or, where it "
            "is far off, a figure in the legend."
        )
    return Section("Questions and costs", text, tuple(drawings))


def _drawn(story: Story) -> tuple[str, ...]:
    """The measures that are drawn by budget, the objective of the sweep first."""
    return tuple(dict.fromkeys((objective_of(story) or DRAWN[0], DRAWN[-1])))


def _after(story: Story, part: Part, label: str) -> list[Row]:
    """A measure of the whole data in the phase that the verdict speaks of."""
    rows = [r for r in story.whole if r.label == label and part_of(r) == part]
    return [r for r in rows if story.in_phase(r)]


def _has_values(rows: Sequence[Row]) -> bool:
    return any(r.value is not None for r in rows)


def _budgets(rows: Sequence[Row], part: Part) -> Drawing:
    """One picture, with a table of all budgets."""
    found = swept_of(rows)
    best = [b for own in found.strategies.values() if (b := best_of(own)) is not None]
    mark = "lowest" if rows[0].measure in WITHOUT_QUESTIONS else "best"
    words = f"{rows[0].label} against the questions a batch. " + told(
        f"{r.dims.get('strategy', '')} {mark} with {amount(budget_of(r))} questions a batch: "
        f"{value(r)}"
        for r in best
    )
    cells = [
        (
            *(r.dims.get("strategy", ""), "none" if asked(r) is None else amount(budget_of(r))),
            *(*figures(r), mark if any(r is b for b in best) else ""),
        )
        for r in (*found.asking, *found.baselines)
    ]
    header = ("strategy", "questions a batch", rows[0].label, "its interval", "of its strategy")
    title = ", ".join(filter(None, (rows[0].label, part.name)))
    table = used(f"{title} by budget: numbers", header, cells)
    return drawing_of(plots.budgets, rows, plots.budgets_height, words, table, title=title)


def passive_and_active(story: Story) -> Section | None:
    """Annotations and costs of the passive baseline and of the best (paper 000, Table II)."""
    cells = [cell for part in story.parts for cell in _compared(story, part)]
    if not cells:
        return None
    header = ("collection", "application", "strategy", "questions a batch", "annotations")
    names = (text for name in reversed(_drawn(story)) for text in (name, "its interval"))
    table = used("Passive against active", (*header, *names), cells)
    return Section("Passive against active", _about_passive(story), tables=(table,))


def _compared(story: Story, part: Part) -> list[tuple[str, ...]]:
    """The passive baseline, then the best budget of each strategy by the main measure."""
    rows = told_of(story, part)
    passive = [row for row in rows if asked(row) is None]
    if not passive or not is_swept(story.mains(part)):
        return []
    cells = []
    for row in (*passive, *(row for row in rows if row not in passive)):
        beside = {r.label: r for r in story.whole if r.dims == row.dims}
        made = beside.get("n_annotations")
        cells.append(
            (
                *(row.dims.get(name, "") for name in PARTS),
                row.dims.get("strategy") or row.dims["system"],
                "none" if asked(row) is None else amount(budget_of(row)),
                "" if made is None or made.value is None else amount(made.value),
                *(text for name in reversed(_drawn(story)) for text in _figures(beside.get(name))),
            )
        )
    return cells


def _about_passive(story: Story) -> str:
    """Which annotations count."""
    text = (
        "The passive baseline is trained once on a pool of its own and asks nothing; active is the "
        f"best budget of each strategy by {story.main}. After adaptation; annotations of a run."
    )
    counted_ = next(
        (m for r in story.whole for m in r.signature.split("|") if m.startswith("annotations:")), ""
    )
    sets = counted_.partition(":")[2].split("+")
    if "training" not in sets:
        text += (
            f" The labels that the passive baseline was trained on do not count (annotations: "
            f"{listed(sets)}); [stream] annotations can name training."
        )
    return text
