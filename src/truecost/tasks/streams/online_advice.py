"""The advice of a sweep in the verdict: which budget pays off, and how sure it is."""

from typing import TYPE_CHECKING

from truecost.core.digits import Scale, between, figure, percent, scale_of
from truecost.core.many import amount, counted
from truecost.core.results import Row
from truecost.report.lines import Group, Line
from truecost.report.story import Story
from truecost.report.verdict import costs, worst
from truecost.report.words import isolated, listed
from truecost.tasks.streams.online_verdict import objective_of, plain, system_groups
from truecost.tasks.streams.sweep import SweepAdvice
from truecost.tasks.streams.swept import WITHOUT_QUESTIONS, asked

if TYPE_CHECKING:
    from truecost.tasks.streams.sweep import SweepDifference, SweepPoint

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
    return "open", "undecided"


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
    """`6 cost 0.01 more [-0.01, 0.03]: undecided.`"""
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
