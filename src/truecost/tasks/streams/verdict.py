"""The verdict on systems that learn with a person's help, and on a sweep of budgets."""

import re
from dataclasses import replace

from truecost.core.digits import amount, counted, percent, scale_of, uncertain
from truecost.core.results import Row
from truecost.outputs.page import of_part
from truecost.report.section import Group, Line
from truecost.report.story import Part, Story, goodness, without_dims
from truecost.report.verdict import costs, lead_of, worst_subset
from truecost.report.verdict import line_of as common_line
from truecost.report.words import (
    AFTER,
    BEFORE,
    SAID,
    against_naive,
    isolated,
    listed,
    resampled_of,
    titles_of,
    value,
)
from truecost.tasks.streams.advice import SweepAdvice, SweepPoint
from truecost.tasks.streams.describing import OnlineDescription
from truecost.tasks.streams.sweep import (
    LEAVES_OUT,
    UNDERSTATED,
    WITHOUT_QUESTIONS,
    against,
    asked,
    best_of,
    budget_hint,
    is_swept,
    questions,
    shares_understate,
    swept_of,
)

CHIPS = {  # against doing all by hand
    "better": "less than by hand",
    "worse": "more than by hand",
    "same": "same as by hand",
    "inconclusive": "inconclusive",
}
OTHERWISE = ("act_dcf", "total_cost")  # the naive baseline of others labels everything by hand
MANY = 4  # systems; of more, over several budgets, the best are told of
COUNTED = ("n_missed", "n_false_alarms")


def online_of(story: Story, part: Part) -> list[OnlineDescription]:
    """The systems of a part as they were described, in their order."""
    return of_part(story.described_as(OnlineDescription), part)


def measures_beside(story: Story, row: Row) -> dict[tuple[str, str], Row]:
    """All measures of what a row is about, by label and phase; gaps have none."""
    about = without_dims(row, ("phase",)).dims
    beside = (r for r in story.whole if without_dims(r, ("phase",)).dims == about)
    return {(r.label, r.dims.get("phase", "")): r for r in beside}


def about_imlm(story: Story, row: Row) -> str:
    """The explanation of the main figure, after its naive baseline."""
    weight = re.search(r"\|q:([^|]+)", row.signature)
    if row.measure != "imlm" or weight is None or "targets" not in row.counts:
        return ""
    targets = {r.counts.get("targets", 0) for r in story.whole}
    said = "items / targets times"
    if weight[1] != "prevalence":
        said = f"{weight[1]} times"
    elif len(targets) == 1 and (number := targets.pop()):
        said = f"{amount(round(row.n_trials / number, 1))} times: items / targets"
    return (
        f"It is the sum of annotations, false alarms and misses (each miss counts {said}), divided "
        f"by the number of items. "
    )


def lead(story: Story, row: Row) -> str:
    """The explanation of the figures of systems on streams."""
    return lead_of(story, row, about_imlm(story, row))


def titles(story: Story) -> tuple[str, str] | None:
    """Title and heading of a sweep (`margin, random with 8 budgets; passive`), if it is one."""
    rows = [row for part in story.parts for row in story.mains(part)]
    if not is_swept(rows):
        return None
    budgets = {asked(row) for row in rows} - {None}
    asking = dict.fromkeys(r.dims.get("strategy", "") for r in rows if asked(r) is not None)
    names = dict.fromkeys(r.dims.get("strategy", r.dims["system"]) for r in rows if not asked(r))
    others = [name for name in names if name not in asking]
    said = f"{listed([*filter(None, asking)], 3)} with {counted(len(budgets), 'budget')}".strip()
    return titles_of("; ".join(filter(None, (said, listed(others, 3)))))


def text_of(story: Story, row: Row) -> str:
    """`0.25 [0.21, 0.29] after adapting, 0.29 [..] before; act_dcf 0.16 [..]`."""
    found = measures_beside(story, row)
    phase = row.dims.get("phase", "")
    said = value(row)
    earlier = found.get((row.label, BEFORE))
    adapts = earlier is None or phase != AFTER or earlier.value != row.value
    if phase and adapts:
        said += f" {SAID[phase]}"
    if phase == AFTER and earlier is not None and adapts:
        said += f", {value(earlier)} before"
    cost = found.get(("act_dcf", phase))
    if cost is not None and cost is not row:
        said += f"; act_dcf {value(cost)}"
    return said


def more_of(story: Story, row: Row) -> str:
    """Annotations, errors, and what was resampled."""
    phase = row.dims.get("phase", "")
    found = {name: r for (name, p), r in measures_beside(story, row).items() if p == phase}
    resampled = resampled_of(row)
    said = (_effort(found, row), _errors(found, row), resampled and f"resampled: {resampled}")
    return "; ".join(filter(None, said))


def _effort(found: dict[str, Row], row: Row) -> str:
    """`165 annotations for 7500 items` of a run, or the questions of all runs."""
    runs = row.counts.get("runs", 1)
    made = found.get("n_annotations")
    if made is not None and made.value is not None and made.naive is not None:
        mean = " a run" if runs > 1 else ""
        return f"{counted(made.value, 'annotation')} for {counted(made.naive, 'item')}{mean}"
    asked = counted(row.counts.get("queries", 0), "question")
    return f"{asked} about {counted(row.n_trials, 'item')}"


def _errors(found: dict[str, Row], row: Row) -> str:
    """`146 of 738 targets missed, 226 false alarms` of a run."""
    missed, false = (found.get(name) for name in COUNTED)
    if missed is None or false is None or missed.value is None or false.value is None:
        return ""
    targets = row.counts.get("targets", 0) / max(row.counts.get("runs", 1), 1)
    of = f"{amount(missed.value)} of {counted(targets, 'target')} missed"
    return f"{of}, {counted(false.value, 'false alarm')}"


def line_of(story: Story, row: Row) -> Line:
    """The verdict on one system; of most measures what is naive is to do all by hand."""
    line = common_line(row, text_of(story, row), more_of(story, row))
    if row.measure in OTHERWISE:
        return line
    return replace(line, chip=CHIPS.get(against_naive(row), ""))


def is_chosen(story: Story, part: Part) -> bool:
    """Whether there are so many budgets that only the best ones are shown."""
    rows = story.mains(part)
    return len(rows) > MANY and is_swept(rows)


def main_rows(story: Story, part: Part) -> list[Row]:
    """The main measure of the shown systems: all, or of a sweep the best budgets.

    Of a sweep the best budget of each strategy, and what asks nothing.
    """
    rows = story.mains(part)
    if not is_chosen(story, part):
        return rows
    found = swept_of(rows)
    best = [b for own in found.strategies.values() if (b := best_of(own)) is not None]
    return [*sorted(best, key=goodness), *found.baselines]


def system_groups(story: Story) -> list[Group]:
    """A line for the best budget of each strategy of a sweep; nothing without one."""
    title = f"The best budget of each strategy by {story.main}"
    return [
        Group(
            f"{title}: {part.name}" if part.name else title,
            tuple(line_of(story, row) for row in main_rows(story, part)),
        )
        for part in story.parts
        if is_chosen(story, part)
    ]


def objective_of(story: Story) -> str:
    """The measure by which the budgets of a sweep are judged; empty where there is none."""
    return next((a.measure for a in story.described_as(SweepAdvice) if a.objective), "")


def main_of(story: Story) -> str:
    """Label of the measure that a page speaks of: the objective of a sweep, or the first."""
    return objective_of(story) or next((r.label for r in story.whole or story.rows), "")


RIVAL = 0.05  # share of the replicates from which on another budget is named


def verdict(story: Story) -> list[Group]:
    """Best budget, what each system costs, and the worst subset."""
    return [*advice_groups(story), *(system_groups(story) or costs(story)), *worst_subset(story)]


def remarks(story: Story) -> list[str]:
    """The remarks without the advice, which stands above them."""
    advised = {advice.text for advice in story.described_as(SweepAdvice)}
    return [text for text in story.result.remarks if text not in advised]


def advice_groups(story: Story) -> list[Group]:
    """The advice of a sweep by measure, for each application; other strategies are folded."""
    found: dict[str, dict[str, list[SweepAdvice]]] = {}
    for advice in story.described_as(SweepAdvice):
        found.setdefault(advice.application, {}).setdefault(advice.measure, []).append(advice)
    groups, by = [], objective_of(story)
    for name, measures in found.items():
        said = [[_advice(story, *pair) for pair in _advice_pairs(own)] for own in measures.values()]
        title = f"Best budget{f' by {by}' if by else ''}{f': {name}' if name else ''}"
        first = tuple(lines[0] for lines in said)
        folded = tuple(line for lines in said for line in lines[1:])
        groups.append(Group(title, first, folded, "Other strategies"))
    return groups


Advised = tuple[SweepAdvice, SweepAdvice | None]  # of a strategy, and over all of them


def _advice_pairs(found: list[SweepAdvice]) -> list[Advised]:
    """The advice on each strategy, that on the best of all first, with what is said over all."""
    over = next((a for a in found if not a.strategy), None)
    alone = [a for a in found if a.strategy]
    if over is None:
        return [(a, None) for a in alone]
    own = next((a for a in alone if a.strategy == over.best.strategy), over)
    return [(own, over), *((a, None) for a in alone if a is not own)]


def _advice(story: Story, own: SweepAdvice, over: SweepAdvice | None) -> Line:
    """The best budget of a strategy against its neighbours, and the other strategies."""
    best, row = own.best, _row_of(story, own)
    if own.measure in WITHOUT_QUESTIONS and not own.objective:
        return _cost_free_best(own, row)
    others = [(other, own is over) for other in own.others]
    if over is not None and over is not own:
        others += [(other, True) for other in over.others]
    edge = (over or own).edge or own.edge
    look, chip = _outcome([other.verdict for other, _ in others])
    if edge:
        look, chip = "open", "at the edge"
    text = f"{isolated(best.strategy)}, {questions(best.budget)}"
    text += "" if row is None else f": {value(row)}"
    scale = scale_of("" if row is None else row.shown_in, True)
    said = []
    for other, named in others:
        name = questions(other.budget)
        if named:
            name = f"{isolated(other.strategy)} and {name}"
        figures = uncertain(other.value, other.lower, other.upper, scale, apart=0.0)
        said.append(f"With {name}, {against(other, own.measure, figures)}.")
    if own.measure in WITHOUT_QUESTIONS:
        said.append(f"{own.measure} {LEAVES_OUT}.")
    said += [_share(over or own), _edge_sentence(edge, best), _passive(own, row)]
    return Line(look, chip, own.measure, text, " ".join(filter(None, said)))


def _outcome(verdicts: list[str]) -> tuple[str, str]:
    """Whether the best is told apart: what is equal in every replicate undoes nothing."""
    if verdicts and {*verdicts} <= {"worse", "same"}:
        return ("good", "best") if "worse" in verdicts else ("open", "the same")
    return "open", "inconclusive"


def _cost_free_best(own: SweepAdvice, row: Row | None) -> Line:
    """The best budget by a measure without the cost of questions; this is no verdict on a
    budget.
    """
    best = own.best
    where = "highest" if row is not None and row.direction == "higher" else "lowest"
    text = f"{LEAVES_OUT}; with {isolated(best.strategy)} it is {where} at "
    text += questions(best.budget) + ("" if row is None else f": {value(row)}")
    return Line("open", "", own.measure, text, _passive(own, row))


def _row_of(story: Story, advice: SweepAdvice) -> Row | None:
    """The row of the best budget."""
    wanted = {"phase": advice.phase, "strategy": advice.best.strategy}
    wanted |= {"application": advice.application} if advice.application else {}
    own = (r for r in story.whole if r.label == advice.measure and wanted.items() <= r.dims.items())
    return next((r for r in own if asked(r) == advice.best.budget), None)


def _share(advice: SweepAdvice) -> str:
    """A sentence: how often the budget is the best of all tried ones, and which others may be."""
    if advice.best.best is None:
        return ""
    several = len({p.strategy for p in advice.points}) > 1
    others = sorted(advice.points, key=lambda p: -(p.best or 0))
    rivals = [
        f"{isolated(p.strategy)} {amount(p.budget or 0)}" if several else amount(p.budget or 0)
        for p in others
        if p != advice.best and (p.best or 0) >= RIVAL
    ]
    said = f"It is the best in {percent(round(advice.best.best, 2))} of the replicates"
    if rivals:
        said += f"; in the others, the best is {' or '.join(rivals[:4])}"
    if shares_understate(advice):
        said += f"; {UNDERSTATED}"
    return f"{said}."


def _edge_sentence(edge: str, best: SweepPoint) -> str:
    """A sentence that a better budget may be outside the tried ones."""
    return f"It is the {edge} budget that was tried{budget_hint(edge, best)}." if edge else ""


def _passive(advice: SweepAdvice, row: Row | None) -> str:
    """The value of the passive baseline, by the measure of a row."""
    if advice.passive is None or advice.passive.value is None:
        return ""
    found = advice.passive
    scale = "" if row is None else row.scale
    said = " ".join(uncertain(found.value, found.lower, found.upper, scale)).strip()
    return f"The passive baseline has {said}."
