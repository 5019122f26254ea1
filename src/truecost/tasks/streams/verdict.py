"""What the verdict says of systems that learn with a person's help, and of a sweep of budgets."""

import re
from typing import TYPE_CHECKING

from truecost.core.digits import Scale, amount, between, counted, figure, percent, scale_of
from truecost.core.results import Row, figures
from truecost.report.resampled import resampled_of
from truecost.report.section import Group, Line
from truecost.report.story import Part, Story, goodness
from truecost.report.verdict import costs, lead_of, worst
from truecost.report.words import (
    AFTER,
    BEFORE,
    SAID,
    against_naive,
    caveats,
    isolated,
    listed,
    titles_of,
)
from truecost.tasks.streams.describing import OnlineDescription
from truecost.tasks.streams.sweep import SweepAdvice
from truecost.tasks.streams.swept import WITHOUT_QUESTIONS, asked, best_of, is_swept, swept_of

if TYPE_CHECKING:
    from truecost.tasks.streams.sweep import SweepDifference, SweepPoint


CHIPS = {  # against doing all by hand
    "better": "less than by hand",
    "worse": "more than by hand",
    "same": "same as by hand",
    "inconclusive": "inconclusive",
}


COSTS = {  # against rejecting or accepting everything
    "better": "better than naive",
    "worse": "worse than naive",
    "same": "same as naive",
    "inconclusive": "inconclusive",
}


MANY = 4  # systems; of more, over several budgets, the best are told of


COUNTED = ("n_missed", "n_false_alarms")


def online_of(story: Story, part: Part) -> list[OnlineDescription]:
    """The systems of a part as they were described, in their order."""
    dims = dict(part.dims)
    return [
        d
        for d in story.described_as(OnlineDescription)
        if all(d.dims.get(name, "") == dims.get(name, "") for name in ("collection", "application"))
    ]


def beside(story: Story, row: Row) -> dict[tuple[str, str], Row]:
    """All measures of what a row is about, by label and phase; gaps have none."""
    about = _about(row)
    return {(r.label, r.dims.get("phase", "")): r for r in story.whole if _about(r) == about}


def _about(row: Row) -> dict[str, str]:
    return {name: text for name, text in row.dims.items() if name != "phase"}


def about_imlm(story: Story, row: Row) -> str:
    """What the main figure counts, after what its naive value is."""
    weight = re.search(r"\|q:([^|]+)", row.signature)
    if row.measure != "imlm" or weight is None or "targets" not in row.counts:
        return ""
    targets = {r.counts.get("targets", 0) for r in story.whole}
    said = "as often as there are items to a target"
    if weight[1] != "prevalence":
        said = f"{weight[1]} times"
    elif len(targets) == 1 and (number := targets.pop()):
        said = f"{amount(round(row.n_trials / number, 1))} times (items over targets)"
    return (
        f"It adds up annotations, false alarms and misses, which count {said}, and divides by the "
        f"number of items. "
    )


def lead(story: Story, row: Row) -> str:
    """What the figures of systems on streams are."""
    return lead_of(story, row, about_imlm(story, row))


def titles(story: Story) -> tuple[str, str] | None:
    """Title and heading of a sweep; None where there is none."""
    said = swept_said(story)
    return titles_of(said) if said else None


def text_of(story: Story, row: Row) -> str:
    """`0.25 [0.21, 0.29] after adapting, 0.29 [..] before; act_dcf 0.16 [..]`."""
    found = beside(story, row)
    phase = row.dims.get("phase", "")
    said = plain(row)
    earlier = found.get((row.label, BEFORE))
    adapts = earlier is None or phase != AFTER or earlier.value != row.value
    if phase and adapts:
        said += f" {SAID[phase]}"
    if phase == AFTER and earlier is not None and adapts:
        said += f", {plain(earlier)} before"
    cost = found.get(("act_dcf", phase))
    if cost is not None and cost is not row:
        said += f"; act_dcf {plain(cost)}"
    return said


def plain(row: Row) -> str:
    """A value with its interval, or why there is none."""
    if row.value is None:
        return row.reason or "undefined"
    return " ".join(filter(None, figures(row)))


def more_of(story: Story, row: Row) -> str:
    """Annotations, errors, and what was resampled."""
    phase = row.dims.get("phase", "")
    found = {name: r for (name, p), r in beside(story, row).items() if p == phase}
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
    """The verdict on one system."""
    state = against_naive(row)
    more = more_of(story, row)
    if state != "same" and (beware := caveats(row)):
        more = f"{more}. But {beware}."
    look = {"better": "good", "worse": "bad"}.get(state, "open")
    return Line(look, chip_of(row), isolated(row.dims["system"]), text_of(story, row), more)


def chip_of(row: Row) -> str:
    """On which side of doing all by hand, or of the naive baseline, the interval lies."""
    return (COSTS if row.measure == "act_dcf" else CHIPS).get(against_naive(row), "")


def swept_said(story: Story) -> str:
    """`margin, random with 8 budgets; passive`; empty where there is no sweep."""
    rows = [row for part in story.parts for row in story.mains(part)]
    if not is_swept(rows):
        return ""
    budgets = {asked(row) for row in rows} - {None}
    asking = dict.fromkeys(r.dims.get("strategy", "") for r in rows if asked(r) is not None)
    names = dict.fromkeys(r.dims.get("strategy", r.dims["system"]) for r in rows if not asked(r))
    others = [name for name in names if name not in asking]
    said = f"{listed([*filter(None, asking)], 3)} with {counted(len(budgets), 'budget')}".strip()
    return "; ".join(filter(None, (said, listed(others, 3))))


def is_chosen(story: Story, part: Part) -> bool:
    """Whether there are so many budgets that only the best ones are told of."""
    rows = story.mains(part)
    return len(rows) > MANY and is_swept(rows)


def told_of(story: Story, part: Part) -> list[Row]:
    """The main measure of the systems that are told of: all, or of a sweep the best budgets.

    Of a sweep the best budget of each strategy, and what asks nothing.
    """
    rows = story.mains(part)
    if not is_chosen(story, part):
        return rows
    found = swept_of(rows)
    best = [b for own in found.strategies.values() if (b := best_of(own)) is not None]
    return [*sorted(best, key=goodness), *found.baselines]


def system_groups(story: Story) -> list[Group]:
    """Of a sweep a line for the best budget of each strategy; nothing where there is none."""
    groups = []
    for part in story.parts:
        if is_chosen(story, part):
            title = f"The best budget of each strategy by {story.main}"
            lines = tuple(line_of(story, row) for row in told_of(story, part))
            groups.append(Group(": ".join(filter(None, (title, part.name))), lines))
    return groups


def objective_of(story: Story) -> str:
    """The measure by which the budgets of a sweep are judged; empty where there is none."""
    return next((a.measure for a in story.described_as(SweepAdvice) if a.objective), "")


def main_of(story: Story) -> str:
    """Label of the measure that a page speaks of: the objective of a sweep, or the first."""
    return objective_of(story) or next((r.label for r in story.whole or story.rows), "")


RIVAL = 0.05  # share of the replicates from which on another budget is named


def verdict(story: Story) -> list[Group]:
    """Which budget pays off, what each system costs, and the worst subset."""
    return [*advice_groups(story), *(system_groups(story) or costs(story)), *worst(story)]


def remarks(story: Story) -> list[str]:
    """The remarks without the advice, which stands above them."""
    advised = {advice.text for advice in story.described_as(SweepAdvice)}
    return [text for text in story.result.remarks if text not in advised]


def advice_groups(story: Story) -> list[Group]:
    """The advice of a sweep by measure, for each application; other strategies are folded."""
    groups = []
    every = story.described_as(SweepAdvice)
    for name in dict.fromkeys(a.application for a in every):
        own = [a for a in every if a.application == name]
        lines: list[Line] = []
        folded: list[Line] = []
        for measure in dict.fromkeys(a.measure for a in own):
            first, *others = _of_measure([a for a in own if a.measure == measure])
            lines.append(_advice(story, *first))
            folded += [_advice(story, *other) for other in others]
        title = "Which budget pays off"
        if objective := objective_of(story):
            title += f" by {objective}"
        groups.append(
            Group(
                f"{title}: {name}" if name else title,
                tuple(lines),
                tuple(folded),
                "The other strategies",
            )
        )
    return groups


Advised = tuple[SweepAdvice, SweepAdvice | None]  # of a strategy, and over all of them


def _of_measure(found: list[SweepAdvice]) -> list[Advised]:
    """The advice on each strategy, that on the best of all first, with what is said over all."""
    over = next((a for a in found if not a.strategy), None)
    alone: list[Advised] = [(a, None) for a in found if a.strategy]
    if over is None:
        return alone
    own = next((a for a, _ in alone if a.strategy == over.best.strategy), over)
    return [(own, over), *(pair for pair in alone if pair[0] is not own)]


def _advice(story: Story, own: SweepAdvice, over: SweepAdvice | None) -> Line:
    """The best budget of a strategy against its neighbours, and the other strategies."""
    best, row = own.best, _row_of(story, own)
    if own.measure in WITHOUT_QUESTIONS and not own.objective:
        return _beside(own, row)
    against = [(own, other) for other in own.others]
    if over is not None and over is not own:
        against += [(over, other) for other in over.others]
    edge = (over or own).edge or own.edge
    look, chip = _outcome([other.verdict for _, other in against])
    if edge:
        look, chip = "open", "at the edge"
    text = f"{isolated(best.strategy)}, {questions(best)}"
    text += "" if row is None else f": {plain(row)}"
    scale = scale_of("" if row is None else row.shown_in, True)
    said = [_against(other, scale, named=a is not own or a is over) for a, other in against]
    if own.measure in WITHOUT_QUESTIONS:
        said.append(f"{own.measure} leaves out what questions cost.")
    said += [_share(over or own), _edge(edge, best), _passive(own)]
    return Line(look, chip, own.measure, text, " ".join(filter(None, said)))


def _outcome(verdicts: "list[str]") -> tuple[str, str]:
    """Whether the best is told apart: what is equal in every replicate undoes nothing."""
    if verdicts and {*verdicts} <= {"worse", "same"}:
        return ("good", "best") if "worse" in verdicts else ("open", "the same")
    return "open", "inconclusive"


def _beside(own: SweepAdvice, row: Row | None) -> Line:
    """Where a measure is best that leaves out what questions cost; no verdict on a budget."""
    best = own.best
    where = "highest" if row is not None and row.direction == "higher" else "lowest"
    text = f"leaves out what questions cost; with {isolated(best.strategy)} it is {where} at "
    text += questions(best) + ("" if row is None else f": {plain(row)}")
    return Line("open", "", own.measure, text, _passive(own))


def _row_of(story: Story, advice: SweepAdvice) -> Row | None:
    """The row of the best budget."""
    return next(
        (
            r
            for r in story.whole
            if r.label == advice.measure
            and r.dims.get("phase", advice.phase) == advice.phase
            and r.dims.get("application", "") == advice.application
            and r.dims.get("strategy") == advice.best.strategy
            and asked(r) == advice.best.budget
        ),
        None,
    )


def questions(point: "SweepPoint | SweepDifference") -> str:
    """`4 questions a batch`."""
    if point.budget is None:
        return "no questions"
    return f"{counted(point.budget, 'question')} a batch"


def _against(other: "SweepDifference", scale: Scale, *, named: bool) -> str:
    """`6 cost 0.01 more [-0.01, 0.03]: inconclusive.`"""
    name = f"{isolated(other.strategy)}, {questions(other)}," if named else amount(other.budget)
    if other.value is None:
        return f"{name} cannot be compared."
    verb = "costs" if named or other.budget == 1 else "cost"
    if other.verdict == "same":
        return f"{name} {verb} the same in every replicate."
    more = f"{figure(other.value, scale)} more {between(other.lower, other.upper, scale)}".strip()
    return f"{name} {verb} {more}: {other.verdict}."


def _share(advice: SweepAdvice) -> str:
    """How often it is the best of all that were tried, and which others are."""
    if advice.best.best is None:
        return ""
    several = len({p.strategy for p in advice.points}) > 1
    others = sorted(advice.points, key=lambda p: -(p.best or 0))
    rivals = [
        f"{isolated(p.strategy)} {amount(p.budget or 0)}" if several else amount(p.budget or 0)
        for p in others
        if p != advice.best and (p.best or 0) >= RIVAL
    ]
    said = f"Of all that were tried it is the best in {percent(round(advice.best.best, 2))} of the "
    said += "replicates"
    if rivals:
        said += f"; {listed(rivals, 4)} {'is' if len(rivals) == 1 else 'are'} in others"
    return f"{said}."


def _edge(edge: str, best: "SweepPoint") -> str:
    """That a better budget may lie beyond those that were tried."""
    if not edge:
        return ""
    tried = f"It is the {edge} budget that was tried"
    if edge == "lowest" and not best.budget:
        return f"{tried}."
    return f"{tried}: try {'fewer' if edge == 'lowest' else 'more'}."


def _passive(advice: SweepAdvice) -> str:
    """What the passive baseline has."""
    if advice.passive is None or advice.passive.value is None:
        return ""
    ends = between(advice.passive.lower, advice.passive.upper)
    return f"The passive baseline has {figure(advice.passive.value)} {ends}".strip() + "."
