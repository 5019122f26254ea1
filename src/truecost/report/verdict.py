"""The verdict: what a reader learns in ten seconds. Gates, then costs, then comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass

from truecost.core.captions import assumed
from truecost.core.digits import between, counted, figure, percent, scale_of, signed
from truecost.core.results import Row, shown, verdict_of
from truecost.gates import Verdict as Gated
from truecost.report.plots.look import short
from truecost.report.plots.rows import WEAK
from truecost.report.section import Group, Line
from truecost.report.story import Part, Story, goodness, means, part_of
from truecost.report.tables import of_pairs, of_systems
from truecost.report.words import (
    against_naive,
    at_best,
    caveats,
    counts,
    isolated,
    listed,
    phase_of,
    searched_of,
    shortest,
    system_of,
    value,
)

MOST = 14  # lines; more are summed up by system and folded
FEW = 3  # gates that all passed stand open up to so many
MOST_CHIP = 16  # letters of a name on a chip
OPEN_ROWS = 12  # of a table in the verdict
NAIVE = {
    "better": "better than naive",
    "worse": "worse than naive",
    "same": "same as naive",
    "inconclusive": "inconclusive",
    "best": "at best",
    "": "",
}
BEST = (
    "this takes the threshold or calibration that is best for these very data. With it even random "
    "scores come out no worse than the naive baseline, so nothing is said to be better than naive. "
)
NONE_MADE = "the scores came without a threshold and are no probabilities, so none was made"
Case = tuple[str, str, Row]  # how it turned out, where, and the row
GOOD = {"pass": "good", "better": "good", "fail": "bad", "worse": "bad"}


@dataclass(frozen=True)
class Verdict:
    """All of it.

    Attributes
    ----------
    lead : str
        What the figures are.
    """

    lead: str
    groups: tuple[Group, ...]
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]
    signatures: tuple[str, ...]


def verdict(story: Story) -> Verdict:
    """What the page says first."""
    page = story.page
    mains = [r for part in story.parts for r in story.mains(part)]
    groups = [_gates(story.result.gates)] if story.result.gates else []
    if story.result.leaderboard and mains:
        groups += [_first(story), *worst(story)]
    else:
        groups += (page.verdict or groups_of)(story)
    return Verdict(
        (page.lead or lead_of)(story, mains[0]) if mains else "",
        tuple(groups),
        _assumed(story),
        tuple(story.result.remarks if page.remarks is None else page.remarks(story)),
        tuple(dict.fromkeys(r.signature for r in mains)),
    )


def groups_of(story: Story) -> list[Group]:
    """What each system costs, how they compare, and the worst subset."""
    return [*costs(story), *worst(story)]


def lead_of(story: Story, row: Row, more: str = "", *, decided: bool = False) -> str:
    """Which measure, which way is better, what naive means.

    Parameters
    ----------
    row : Row
        Of the main measure.
    more : str
        What else the figures are.
    decided : bool
        Whether nothing is to be said of measures that judge no decision.
    """
    title = story.title.removesuffix(" (normalised)")
    if not title[1:2].isupper():  # but BLEU stays as it is
        title = f"{title[:1].lower()}{title[1:]}"
    said = f"{story.main}" + (f" ({title})" if differs(title, story) else "")
    said += f": {row.direction} is better. "
    best = at_best(story.main, story.result.task)
    if best and not decided:
        judged = any(not at_best(r.label) for r in story.whole)
        said += f"No decision is judged{'' if judged else f' ({NONE_MADE})'}: {BEST}"
    references = {r.naive for part in story.parts for r in story.mains(part)} - {None}
    if len(references) == 1 and not best:
        naive = shown(row, next(iter(references)))
        what = story.page.naive.output(story.main)
        said += f"{naive} is the naive baseline: {what}{shortest(row)}. "
    return f"{said}{more}In brackets the {percent(row.level)} interval."


def differs(title: str, story: Story) -> bool:
    """Whether the title of the main measure says more than its name."""
    return title.lower() != story.main.lower()


def _gates(gates: Sequence[Gated]) -> Group:
    """Failed and undecided ones first; of many that passed only how many."""
    order = {"fail": 0, "undecided": 1, "pass": 2}
    ranked = sorted(gates, key=lambda g: order[g.state])  # stable
    lines = [_gate(g) for g in ranked]
    open_ones = sum(g.state != "pass" for g in gates)
    shown = min(open_ones, MOST) or (len(lines) if len(lines) <= FEW else 0)
    states = {s: sum(g.state == s for g in gates) for s in order}
    said = {"fail": "failed", "undecided": "undecided", "pass": "passed"}
    title = ", ".join(f"{n} {said[s]}" for s, n in states.items() if n)
    folded = tuple(lines[shown:])
    passed = counted(states["pass"], "passed gate")
    summary = (
        f"The {passed}" if len(folded) == states["pass"] else counted(len(folded), "more gate")
    )
    return Group(f"Gates: {title}", tuple(lines[:shown]), folded, summary)


def _gate(gate: Gated) -> Line:
    chip = gate.state + (" (let pass)" if gate.passed and gate.state != "pass" else "")
    measure = gate.measure if gate.gate.baseline is None else f"difference in {gate.measure}"
    about = ", ".join((measure, *map(isolated, filter(None, gate.about.split(", ")))))
    name = gate.gate.name or about
    of = f"{about} " if gate.gate.name else ""
    bound = gate.bound.replace(" ", "\N{NO-BREAK SPACE}")
    text = f"{of}{gate.found}, wanted {bound}"
    return Line(GOOD.get(gate.state, "open"), chip, name, text, gate.message)


def _first(story: Story) -> Group:
    """The first of a leaderboard, and who is not told apart from it."""
    board = story.result.leaderboard
    row = story.mains(story.parts[0])[0]
    ties = [s.system for s in board[1:] if s.rank == 1]
    more = f"the first of {counted(len(board), 'submission')}"
    if ties:
        more += f"; {listed(ties)} {'shares' if len(ties) == 1 else 'share'} its rank"
    if (able := sum(s.may_be_best is True for s in board)) > 1:
        more += f"; {able} may be the best"
    more += f". Each was scored on {_size(row)}."
    if story.left_out:
        more += f" {counted(len(story.left_out), 'further one')} could not be scored: see below."
    said = NAIVE[against_naive(row)]
    best = board[0]
    scale = scale_of(best.shown_in)
    text = f"{figure(best.value, scale)} {between(best.lower, best.upper, scale)}"
    text += f", {said}" if said else ""
    return Group("", (Line("good", "rank 1", best.system, text, more),))


def _size(row: Row) -> str:
    """How much data each submission was scored on."""
    found = row.counts
    if "trials_of_a_query" in found:
        return searched_of(row)
    if "targets" not in found:
        return counted(row.n_trials, row.item)
    return f"{counted(found['targets'], 'target')} and {counted(found['nontargets'], 'nontarget')}"


def costs(story: Story) -> list[Group]:
    """Lines by part; of many systems a table, of many parts how often each system is better."""
    groups = []
    for part in story.parts:
        lines = [_line(story, r) for r in story.mains(part)]
        lines += [_difference(*pair) for pair in story.main_pairs(part)]
        groups.append(Group(part.title, tuple(lines)))
    if sum(len(g.lines) for g in groups) <= MOST:
        best = _best(story)
        return [Group("", (best,)), *groups] if best else groups
    if len(groups) == 1:
        return [_tabled(story, story.parts[0])]
    every = [
        Line(x.look, x.chip, f"{g.title}: {x.name}", x.text, x.more)
        for g in groups
        for x in g.lines
    ]
    best = _best(story)
    sums = ([best] if best else []) + _sums(story)
    folded = tuple(sums[MOST:] + every)
    title = f"In {_cases(story.parts)}"
    return [Group(title, tuple(sums[:MOST]), folded, f"Each of the {len(every)}")]


def _tabled(story: Story, part: Part) -> Group:
    """Value and interval of each of many systems, best first, and its difference."""
    rows = story.ranked(part)
    said = [_line(story, r).chip for r in rows]
    tables = [of_systems(f"{story.main} of each system, best first", rows, said)]
    pairs = sorted(story.main_pairs(part), key=lambda pair: goodness(pair[0]))
    if pairs:
        tables.append(of_pairs(f"Differences in {story.main}, best first", pairs, len(pairs)))
    return Group("", tables=tuple(tables))


def _best(story: Story) -> Line | None:
    """Which system has the best value, and in how many of several cases."""
    firsts: dict[str, list[str]] = {}
    for part in story.parts:
        ranked = [r for r in story.ranked(part) if r.value is not None and story.page.judged(r)]
        if len(ranked) > 1:
            firsts.setdefault(ranked[0].dims["system"], []).append(part.name)
    total = sum(map(len, firsts.values()))
    if total < 2:
        return None
    ordered = sorted(firsts.items(), key=lambda item: -len(item[1]))
    said = [
        f"{isolated(name)} in "
        + (f"all {total}" if len(places) == total else f"{len(places)} of {total}")
        + (f" ({'; '.join(places)})" if len(places) < total and len(places) <= 2 else "")
        for name, places in ordered[:3]
    ]
    more = "This is the order of the values; what the data tell apart stands below."
    direction = story.mains(story.parts[0])[0].direction
    end = "Lowest" if direction == "lower" else "Highest"
    return Line("open", "", f"{end} {story.main}", ", ".join(said), more)


def worst(story: Story, before: str = "") -> list[Group]:
    """The subset that fares worst, of those that rest on enough; nothing without subsets.

    Parameters
    ----------
    before : str
        What stands before its value.
    """
    rows = [
        r
        for r in means(story.values)
        if "subset" in r.dims
        and r.label == story.main
        and r.value is not None
        and story.in_phase(r)
    ]
    strong = [r for r in rows if not WEAK & {*r.flags}]
    if len(strong) < 2:
        return []
    row = max(strong, key=goodness)
    part = part_of(row)
    where = f", {part.name}" if part.name else ""
    whole = next((r for r in story.ranked(part) if r.dims["system"] == row.dims["system"]), None)
    text = f"{isolated(row.dims['subset'])} ({system_of(row)}{where}): "
    text += before + value(row)
    if whole is not None and whole.value is not None:
        text += f"; on all data {shown(whole, whole.value)}"
    more = f"{counts(row)}. Of {counted(len(strong), 'subset value')} that rest on enough."
    return [Group("", (Line("open", "", "Worst subset", text, more),))]


def _cases(parts: Sequence[Part]) -> str:
    """`2 collections (a, b) and 3 applications (x, y, z)`."""
    names: dict[str, dict[str, None]] = {}
    for part in parts:
        for key, name in part.dims:
            names.setdefault(key, {})[name] = None
    return " and ".join(f"{counted(len(n), key)} ({listed([*n])})" for key, n in names.items())


def _sums(story: Story) -> list[Line]:
    """A line for each system and each comparison, over all parts."""
    found: dict[tuple[str, str], list[Case]] = {}
    for part in story.parts:
        for row in filter(story.page.judged, story.mains(part)):
            key = (system_of(row), " than naive")
            found.setdefault(key, []).append((against_naive(row), part.name, row))
        for row, _ in story.main_pairs(part):
            key = (
                f"{system_of(row)} against {row.baseline}",
                f" than {short(row.baseline or '', MOST_CHIP)}",
            )
            found.setdefault(key, []).append((verdict_of(row), part.name, row))
    return [_sum(name, than, cases) for (name, than), cases in found.items()]


def _sum(name: str, than: str, cases: Sequence[Case]) -> Line:
    """How often better, worse and inconclusive, and where it is what it seldom is."""
    found: dict[str, list[str]] = {}
    for state, place, _ in cases:
        found.setdefault(state or "inconclusive", []).append(place)
    said = []
    for state in (s for s in ("better", "worse", "same", "inconclusive", "best") if s in found):
        places = found[state]
        where = f" ({'; '.join(places[:3])})" if len(places) < min(4, len(cases) / 2) else ""
        said.append(f"{state} in {len(places)} of {len(cases)}{where}")
    values = [row.value for *_, row in cases if row.value is not None]
    kind = "difference " if cases[0][2].kind == "difference" else ""
    row = cases[0][2]
    text = f"{kind}{shown(row, min(values))} to {shown(row, max(values))}; " if values else ""
    better = len(found.get("better", ()))
    if len(found) == 1:
        [state] = found
        chip = f"{state}{than}" if state in ("better", "worse") else NAIVE.get(state, state)
        return Line(GOOD.get(state, "open"), chip, name, f"{text}in all {len(cases)}")
    return Line("open", f"{better} of {len(cases)} better{than}", name, text + ", ".join(said))


def _line(story: Story, row: Row) -> Line:
    """The verdict on one system, as the page of the task has it."""
    return line_of(row) if story.page.line is None else story.page.line(story, row)


def line_of(row: Row, text: str = "", more: str = "") -> Line:
    """The verdict on one system: its value, and what that rests on unless more is said."""
    state = against_naive(row)
    more = more or counts(row)
    if state != "same" and (beware := caveats(row)):
        more = f"{more}. But {beware}."
    look = GOOD.get(state, "open")
    return Line(look, NAIVE[state], system_of(row), text or value(row), more)


def _difference(row: Row, ratio: Row | None) -> Line:
    said = verdict_of(row)
    chip = (
        f"{said} than {short(row.baseline or '', MOST_CHIP)}"
        if said in ("better", "worse")
        else {"same": "the same"}.get(said, said)
    )
    name = f"{system_of(row)}, against {row.baseline}"
    more = f"But {beware}." if (beware := caveats(row)) else ""
    of = f" in {phased}" if (phased := phase_of(row)) else ""
    if row.value is None:
        return Line("open", chip, name, f"difference{of} {value(row)}")
    text = (
        f"difference{of} {signed(row.value, row.scale)} {between(row.lower, row.upper, row.scale)}"
    )
    if ratio is not None and ratio.value is not None:
        text += f", ratio {figure(ratio.value)} {between(ratio.lower, ratio.upper)}"
    return Line(GOOD.get(said, "open"), chip, name, text, more)


def _assumed(story: Story) -> tuple[str, ...]:
    """What the values rest on, for each application."""
    found: dict[str, list[Row]] = {}
    for row in story.values:
        found.setdefault(dict(part_of(row).dims).get("application", ""), []).append(row)
    said = [(name, assumed(rows)) for name, rows in found.items()]
    return tuple(f"{name}: {text}" if name else text for name, text in said if text)
